#include "viz/report/stack_dump.hpp"

#include <fmt/format.h>

#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

// Converts a line to the form of py-spy: "engine.py:540 _aggregate_total_loss" becomes
// "_aggregate_total_loss (engine.py:540)".
std::string frame_of(const models::OutsideText& at) {
  const std::size_t space = at.find(' ');
  if (space == std::string::npos) return fmt::format("<module> ({})", at);
  return fmt::format("{} ({})", at.substr(space + 1), at.substr(0, space));
}

// Returns the state of an op in words that features/diagnose/stack_evidence can parse.
std::string state_of(const models::OpInfo& op) {
  if (op.stage == models::OpStage::kStarted) return op.collective ? "started, spins" : "started";
  if (op.stage == models::OpStage::kEntered && op.step == sim::Step::kInit) {
    return "creating the communicator";
  }
  return stage_text(op);
}

std::string frames(const models::ThreadReport& thread) {
  if (!thread.at) {
    return fmt::format("    {} (pipesim)\n",
                       thread.finished ? "<finished>" : "<waits for messages>");
  }
  const models::OpInfo& op = *thread.at;
  std::string text = fmt::format("    {} ({}) (pipesim)\n", op_text(op), state_of(op));
  if (!op.at.empty()) text += fmt::format("    {}\n", frame_of(op.at));
  return text;
}

}  // namespace

std::string stack_dump(const models::Explanation& explanation, std::string_view scenario) {
  std::string text;
  for (const models::RankReport& rank : explanation.ranks) {
    if (!text.empty()) text += "\n";
    text += fmt::format("Process {}: rank {} of {}\n", rank.rank, rank.rank, scenario);
    std::size_t number = 0;
    for (const models::ThreadReport& thread : rank.threads) {
      const bool active = !thread.blocked && !thread.finished && thread.at;
      text += fmt::format("\nThread {} ({}): \"{}\"\n{}", ++number, active ? "active" : "idle",
                          thread.name, frames(thread));
    }
  }
  return text;
}

}  // namespace pipesim::viz
