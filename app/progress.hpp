// A line on the terminal that says how far a command has come, if that takes longer than a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "app/console.hpp"
#include "sim/engine.hpp"
#include "sim/exploration.hpp"

namespace pipesim::app {

/// What the line says before, in and after the run of `progress`. `acts_per_s` is 0 where it is not
/// known.
std::string progress_text(const sim::RunProgress& progress, double acts_per_s);

/// The same of an exploration that has begun.
std::string progress_text(const sim::ExploreProgress& progress);

/// While this lives, `console.err` is its own; nothing of it stays there. Where that is no terminal
/// it does nothing.
class ProgressLine {
 public:
  explicit ProgressLine(const Console& console);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// For sim::RunOptions::progress.
  sim::RunProgress* run() { return &run_; }
  /// For sim::ExploreOptions::progress.
  sim::ExploreProgress* exploration() { return &exploration_; }

 private:
  using Clock = std::chrono::steady_clock;

  void show();

  const Console& console_;
  sim::RunProgress run_;
  sim::ExploreProgress exploration_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace pipesim::app
