#include "app/commands/check_command.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "formats/files/order_file.hpp"
#include "formats/promela/promela_writer.hpp"
#include "models/search/check.hpp"
#include "viz/json/check_json.hpp"
#include "viz/text/check_text.hpp"

namespace pipesim::app {
namespace {

// Says that work is to stop, when the user interrupts it or time is up.
class Deadline {
 public:
  Deadline(const Console& console, std::uint32_t seconds)
      : interrupted_(console.interrupted), seconds_(seconds), thread_([this] { watch(); }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    ends_.notify_one();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  const std::atomic<bool>* stop() const { return &stop_; }

 private:
  void watch() {
    constexpr auto kInterval = std::chrono::milliseconds(20);
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, kInterval, [this] { return is_over_; })) {
      const auto passed = std::chrono::steady_clock::now() - begin;
      const bool late = passed >= std::chrono::seconds(seconds_);
      if (late || (interrupted_ != nullptr && *interrupted_)) stop_ = true;
    }
  }

  const std::atomic<bool>* interrupted_;
  std::uint32_t seconds_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread thread_;  // the last: it uses the others
};

int exit_code_of(const sim::Exploration& exploration, bool interrupted) {
  switch (exploration.answer) {
    case sim::Answer::kProved:
      return kExitGood;
    case sim::Answer::kHangPossible:
    case sim::Answer::kHangCertain:
      return kExitBad;
    case sim::Answer::kUndecided:
      break;
  }
  return interrupted ? kExitInterrupted : kExitUndecided;
}

std::string order_text(const CheckCommand& command, const models::TaskGraph& graph,
                       const models::CheckReport& check) {
  formats::SavedOrder order;
  order.scenario = graph.name;
  order.settings = command.files.settings;
  order.steps = models::describe_order(graph, check.usual.lowered, check.exploration.hang);
  return formats::write_order(order);
}

// True where `text` went to standard output, where nothing else goes then.
bool is_printed(const std::string& path, const std::string& text, const Console& console) {
  if (path != "-") {
    write_file(path, text);
    return false;
  }
  console.out << text;
  return true;
}

// What `command` asks to see of the answer. The exit code.
int show(const CheckCommand& command, const models::TaskGraph& graph,
         const models::CheckReport& check, const Console& console) {
  const bool interrupted = console.interrupted != nullptr && *console.interrupted;
  const int code = exit_code_of(check.exploration, interrupted);
  std::optional<viz::Report> hang;
  if (const models::Simulation* simulation = check.hanging()) {
    if (command.dot_path) {
      write_file(*command.dot_path, dot_of_end(graph, *simulation, command.all));
    }
    hang.emplace(report_of_end(graph, *simulation, command.all));
  }
  const bool has_order = !check.exploration.hang.empty();
  if (command.order_path && has_order &&
      is_printed(*command.order_path, order_text(command, graph, check), console)) {
    return code;
  }
  const viz::CheckView view{graph, check, hang ? &*hang : nullptr, command.max_states,
                            check.exploration.stopped && !interrupted};
  console.out << (command.json ? viz::check_json(view)
                               : viz::check_text(view, {console.out_colour, console.out_columns}));
  if (command.order_path && !has_order) {
    console.err << fmt::format("pipesim: no order is written: {}\n",
                               check.exploration.hang_found
                                   ? "the run in its own times hangs, and needs none"
                                   : "none was found that hangs");
  }
  return code;
}

}  // namespace

int run_check(const CheckCommand& command, const Console& console) {
  ScenarioInput input(command.files, console);
  models::Diagnostics diagnostics;
  const auto complain = [&] { return input.complain(diagnostics, console); };
  const auto scenario = input.read(diagnostics);
  if (!scenario) return complain();
  const models::TaskGraph& graph = scenario->graph;
  auto lowered = models::lower(graph, diagnostics);
  complain();
  if (!lowered) return kExitUsage;

  if (command.promela_path) {
    const std::string obstacle = formats::promela_obstacle(lowered->plan);
    if (!obstacle.empty()) {
      diagnostics.error({}, fmt::format("it cannot be written for SPIN: {}", obstacle));
      return complain();
    }
    const bool printed =
        is_printed(*command.promela_path, formats::write_promela(lowered->plan), console);
    if (printed) return kExitGood;
  }

  const models::CheckReport check = [&] {
    const Simulating now(console);
    std::optional<Deadline> deadline;
    if (command.seconds) deadline.emplace(console, *command.seconds);
    ProgressLine progress(console);
    sim::ExploreOptions options;
    options.max_states = command.max_states;
    options.stop = deadline ? deadline->stop() : console.interrupted;
    options.progress = progress.exploration();
    return models::check(graph, std::move(*lowered), options, progress.run());
  }();
  return show(command, graph, check, console);
}

}  // namespace pipesim::app
