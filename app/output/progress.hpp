// A line on the terminal that shows how far a command has come, if it takes longer than a second.
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

/// The line before, during and after the run of `progress`. `ops_per_s` is 0 if it is not known.
std::string progress_text(const sim::RunProgress& progress, double ops_per_s);

/// The line during an exploration.
std::string progress_text(const sim::ExploreProgress& progress);

/// Owns `console.err` while it lives, and clears the line at the end. Does nothing if that is not a
/// terminal.
class ProgressLine {
 public:
  /// `text`: what the line shows instead of the progress of run().
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

/// A simulation that the user can watch on the terminal and interrupt.
class WatchedRun {
 public:
  explicit WatchedRun(const Console& console) : now_(console), progress_(console) {
    options.stop = console.interrupted;
    options.progress = progress_.run();
  }

  sim::RunOptions options;  // for a run that ends before this does

 private:
  Simulating now_;
  ProgressLine progress_;
};

}  // namespace pipesim::app
