#include <algorithm>

#include <fmt/format.h>

#include "models/outside_text.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

std::string done_text(const sim::OpTimes& times) {
  std::string text;
  // A host step has no separate launch.
  if (times.launch != sim::kNever)
    text += fmt::format("launched at {}, ", time_text(times.launch.ns));
  if (times.start != sim::kNever) text += fmt::format("started at {}, ", time_text(times.start.ns));
  return text + fmt::format("done at {}", time_text(times.end.ns));
}

std::string end_text(const models::Explanation& explanation, const models::Why& why) {
  const models::Wait& last = why.chain.back();
  switch (last.to.kind) {
    case sim::WaitNodeKind::kRank: {
      const auto root =
          std::find_if(explanation.roots.begin(), explanation.roots.end(),
                       [&](const models::Root& it) { return it.party.rank == last.to.rank; });
      return root == explanation.roots.end() ? fmt::format("It ends at rank {}.", last.to.rank)
                                             : capitalized(root_sentence(*root)) + ".";
    }
    case sim::WaitNodeKind::kOutside:
      return "It ends at outside input.";
    case sim::WaitNodeKind::kOp:
      break;
  }
  return fmt::format("It ends at {} ({}).", phrase_of(last.to), stage_text(last.to.op));
}

}  // namespace

std::string why_text(const models::Explanation& explanation, const models::Why& why,
                     const TextOptions& options) {
  const std::string name = fmt::format("rank {} {}", why.op.rank, op_text(why.op));
  if (why.times) return fmt::format("{} is done: {}\n", name, done_text(*why.times));
  std::string text = fmt::format("{} is not done ({} at {}): {}\n", name, verdict_text(explanation),
                                 time_text(explanation.time_ns), stage_text(why.op));
  if (why.earlier) {
    text +=
        fmt::format("{} must finish first: {}\n", op_text(*why.earlier), stage_text(*why.earlier));
  }
  if (why.host_at) {
    const std::string at =
        why.host_at->at.empty() ? "" : fmt::format(" ({})", models::printable(why.host_at->at));
    text += paragraph(fmt::format("Its host has not reached it yet: it is at {}{}, {}",
                                  op_text(*why.host_at), at, stage_text(*why.host_at)),
                      options.width, 0, 2);
  }
  if (why.chain.empty() && why.cycle.empty()) {
    return text + "This run does not show what it waits for.\n";
  }
  if (!why.chain.empty()) {
    text += fmt::format("\nThe chain: {}\n", counted(why.chain.size(), "wait"));
    text += waits_text(why.chain, false, true, options);
    if (why.cycle.empty()) {
      text += "\n" + paragraph(end_text(explanation, why), options.width, 0, 2);
    }
  }
  if (!why.cycle.empty()) {
    text += fmt::format("\n{}: {}\n",
                        why.chain.empty() ? "It is on a cycle" : "The chain leads into a cycle",
                        counted(why.cycle.size(), "wait"));
    text += waits_text(why.cycle, true, true, options);
  }
  return text;
}

}  // namespace pipesim::viz
