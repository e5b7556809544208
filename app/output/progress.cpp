#include "app/output/progress.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "viz/report/words.hpp"

namespace pipesim::app {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kInterval = std::chrono::milliseconds(250);

// Moves to the first column and clears the line.
constexpr const char* kClearLine = "\r\x1b[K";

std::string millions(std::uint64_t count) {
  return fmt::format("{:.1f}", static_cast<double>(count) / 1e6);
}

}  // namespace

std::string progress_text(const sim::RunProgress& progress, double ops_per_s) {
  const std::uint64_t ops = progress.ops;
  if (ops == 0) return "reading and lowering ...";
  if (progress.over) return "explaining ...";
  const std::uint64_t done = std::min<std::uint64_t>(ops, progress.ops_done);
  std::string text = fmt::format("{} of {} million ops, {} simulated", millions(done),
                                 millions(ops), viz::time_text(progress.time_ns));
  if (ops_per_s > 0) {
    text += fmt::format(", {:.1f} million ops/s, {:.0f} s left if it completes", ops_per_s / 1e6,
                        static_cast<double>(ops - done) / ops_per_s);
  }
  return text;
}

std::string progress_text(const sim::ExploreProgress& progress) {
  return fmt::format("exploring: {:.2f} million branch points, {} million steps",
                     static_cast<double>(progress.states) / 1e6, millions(progress.steps));
}

ProgressLine::ProgressLine(const Console& console, std::function<std::string()> text)
    : console_(console), text_(std::move(text)) {
  if (console.err_terminal) thread_ = std::thread([this] { show(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

void ProgressLine::show() {
  std::unique_lock lock(mutex_);
  const auto is_over = [this] { return is_over_; };
  if (ends_.wait_for(lock, kPatience, is_over)) return;
  // Start of the measured rate: the time at which this loop first saw an op done, and the number of
  // ops done then.
  Clock::time_point since{};
  std::uint64_t done_before = 0;
  while (!ends_.wait_for(lock, kInterval, is_over)) {
    const std::uint64_t done = run_.ops_done;
    double rate = 0;
    if (done_before > 0) {
      const std::chrono::duration<double> seconds = Clock::now() - since;
      rate = static_cast<double>(done - done_before) / seconds.count();
    } else {
      since = Clock::now();
      done_before = done;
    }
    const bool explores = exploration_.steps > 0;
    const std::string text = explores ? progress_text(exploration_) : progress_text(run_, rate);
    console_.err << kClearLine << (text_ ? text_() : text) << std::flush;
  }
  console_.err << kClearLine << std::flush;
}

}  // namespace pipesim::app
