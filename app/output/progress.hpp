// A line on the terminal that says how far a command has come, if that takes longer than a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "app/output/console.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"

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
  /// `text`: what the line says, instead of how far run() is.
  explicit ProgressLine(const Console& console, std::function<std::string()> text = {});
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
  const std::function<std::string()> text_;
  sim::RunProgress run_;
  sim::ExploreProgress exploration_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread thread_;  // the last: it uses the others
};

/// What a command that simulates does around it: a terminal shows how far it is, and the user can
/// interrupt it.
class WatchedRun {
 public:
  explicit WatchedRun(const Console& console) : now_(console), progress_(console) {
    options.stop = console.interrupted;
    options.progress = progress_.run();
  }

  sim::RunOptions options;  // for the run, while this lives

 private:
  Simulating now_;
  ProgressLine progress_;
};

}  // namespace pipesim::app
