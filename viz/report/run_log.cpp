#include "viz/report/run_log.hpp"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "models/lowering/names.hpp"

namespace pipesim::viz {
namespace {

// Replaces control characters, so that a name cannot break a line of the log.
std::string in_one_line(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return result;
}

class Log {
 public:
  Log(const models::TaskGraph& graph, const models::Lowered& lowered, const sim::Outcome& outcome)
      : names_(graph, lowered), plan_(lowered.plan) {
    for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
      hosts_.push_back(fmt::format("[{}:{}]", in_one_line(models::host_name(graph, rank)), rank));
    }
    // Pads all times to the width of the last time, so that they are aligned and sort as text.
    if (!outcome.log.empty()) width_ = std::to_string(outcome.log.back().time.ns / 1000).size();
  }

  void add(const sim::LogEntry& entry, std::string& text) const {
    const sim::Actor& actor = plan_.actors[entry.actor];
    const models::OpName op = names_.op(entry.actor, entry.k);
    auto out = std::back_inserter(text);
    fmt::format_to(out, "{:{}}.{:03} us {} {} {}: {}#{}", entry.time.ns / 1000, width_,
                   entry.time.ns % 1000, hosts_[actor.rank.value],
                   in_one_line(names_.thread(actor.thread)), entry.after ? "after" : "before",
                   in_one_line(op.name), op.number);
    if (actor.stream.valid()) {
      fmt::format_to(out, ", stream {}", in_one_line(names_.stream(actor.stream)));
    }
    // The log can name an op after the last op of a source. Such an op has no micro-batch.
    const std::uint32_t micro_batch =
        entry.k < actor.ops ? names_.micro_batch(entry.actor, entry.k) : 0;
    if (micro_batch > 0) fmt::format_to(out, ", micro-batch {}", micro_batch);
    const auto& step = names_.actor(entry.actor).step;
    if (step && !step->at.empty()) fmt::format_to(out, ", at {}", in_one_line(step->at));
    text += '\n';
  }

 private:
  models::Names names_;
  const sim::Plan& plan_;
  std::vector<std::string> hosts_;  // host and rank as in the log, indexed by rank
  std::size_t width_ = 1;
};

}  // namespace

std::string run_log(const models::TaskGraph& graph, const models::Lowered& lowered,
                    const sim::Outcome& outcome) {
  const Log log(graph, lowered, outcome);
  std::string text;
  for (const sim::LogEntry& entry : outcome.log) log.add(entry, text);
  return text;
}

std::vector<std::string> run_logs(const models::TaskGraph& graph, const models::Lowered& lowered,
                                  const sim::Outcome& outcome) {
  const Log log(graph, lowered, outcome);
  std::vector<std::string> texts(lowered.plan.rank_count);
  for (const sim::LogEntry& entry : outcome.log) {
    log.add(entry, texts[lowered.plan.actors[entry.actor].rank.value]);
  }
  return texts;
}

}  // namespace pipesim::viz
