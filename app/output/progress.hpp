// A line on the terminal that shows the progress of a command that takes longer than a second.
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

/// Returns the progress line of a run. The line shows the current phase: reading, simulating or
/// explaining. `ops_per_s` is 0 if unknown.
std::string progress_text(const sim::RunProgress& progress, double ops_per_s);

/// Returns the progress line of an exploration.
std::string progress_text(const sim::ExploreProgress& progress);

/// A progress line on `console.err`, which nothing else may use during its lifetime. The destructor
/// clears the line. Shows no line if `console.err` is not a terminal.
class ProgressLine {
 public:
  /// Shows `text`, if set, instead of the progress of run().
  explicit ProgressLine(const Console& console, std::function<std::string()> text = {});
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Returns a value for sim::RunOptions::progress.
  sim::RunProgress* run() { return &run_; }
  /// Returns a value for sim::ExploreOptions::progress.
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
  std::thread thread_;  // last member: the thread uses all other members
};

/// A simulation that the user can interrupt, with a progress line.
class WatchedRun {
 public:
  explicit WatchedRun(const Console& console) : now_(console), progress_(console) {
    options.stop = console.interrupted;
    options.progress = progress_.run();
  }

  sim::RunOptions options;  // options for a run that ends before this object

 private:
  Simulating now_;
  ProgressLine progress_;
};

}  // namespace pipesim::app
