#include "viz/report/summary.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/diagnostics.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Cause;
using models::Explanation;
using models::OpInfo;
using models::Wait;

// Names an op and its rank: "rank 0's nccl-1998#3 (micro-batch 3)".
std::string owned(const OpInfo& op) {
  const std::string detail = op_detail(op);
  return fmt::format("rank {}'s {}{}", op.rank, op_text(op),
                     detail.empty() ? "" : fmt::format(" ({})", detail));
}

// Explains why the target of `crossing`, a wait for another rank, does not happen. `own` are the
// waits of the other rank, up to its wait for the next rank.
std::string reason_on_other_rank(const Wait& crossing, const std::vector<const Wait*>& own) {
  if (own.empty()) return "";
  const Wait& last = *own.back();
  if (own.size() == 1) {
    if (!sim::facts(crossing.kind).joins) return fmt::format(", which {}", wait_predicate(last));
    const std::string call =
        crossing.needed ? op_text(last.from.op) : fmt::format("rank {}'s call", last.from.rank);
    return fmt::format(", but {} {}", call, wait_predicate(last));
  }
  const std::string first =
      sim::facts(last.kind).of_register
          ? op_text(last.to.op)
          : fmt::format("{}, which {}", op_text(last.from.op), wait_predicate(last));
  return fmt::format(", but rank {} first needs {}", last.from.rank, first);
}

std::string cycle_of_one_rank(const std::vector<Wait>& cycle) {
  const auto part = [](const Wait& wait) {
    return fmt::format("{} {}", op_text(wait.from.op), wait_predicate(wait));
  };
  if (cycle.size() == 1) return part(cycle.front());
  const std::string between = cycle.size() == 2 ? "" : "which leads to ";
  return fmt::format("{}, {}and {}", part(cycle.front()), between, part(cycle.back()));
}

std::string cycle_summary(const std::vector<Wait>& cycle) {
  constexpr std::size_t kMaxParts = 2;
  std::set<std::uint32_t> ranks;
  std::vector<std::size_t> crossings;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    ranks.insert(cycle[i].from.rank);
    if (cycle[i].from.rank != cycle[i].to.rank) crossings.push_back(i);
  }
  const std::string who = capitalized(ranks_text({ranks.begin(), ranks.end()}));
  if (crossings.empty())
    return fmt::format("{} waits for itself: {}.", who, cycle_of_one_rank(cycle));
  std::vector<std::string> parts;
  for (std::size_t c = 0; c < std::min(crossings.size(), kMaxParts); ++c) {
    const Wait& crossing = cycle[crossings[c]];
    const std::size_t next =
        c + 1 < crossings.size() ? crossings[c + 1] : crossings.front() + cycle.size();
    std::vector<const Wait*> own;
    for (std::size_t i = crossings[c] + 1; i < next; ++i) own.push_back(&cycle[i % cycle.size()]);
    parts.push_back(fmt::format("{} {}{}", owned(crossing.from.op), wait_text(crossing),
                                reason_on_other_rank(crossing, own)));
  }
  const std::string rest =
      crossings.size() <= kMaxParts
          ? ""
          : fmt::format("; and so on, back to rank {}", cycle[crossings.front()].from.rank);
  return fmt::format("{} wait for each other: {}{}.", who, fmt::join(parts, "; "), rest);
}

}  // namespace

std::string summary_text(const Explanation& explanation) {
  const auto sentence = [](const std::vector<std::string>& lines) {
    return lines.empty() ? std::string() : capitalized(lines.front()) + ".";
  };
  switch (explanation.cause) {
    case Cause::kMismatch:
      return sentence(mismatch_lines(explanation));
    case Cause::kCycle:
      return cycle_summary(explanation.cycle);
    case Cause::kDeadRank: {
      const std::vector<std::string> broken = broken_lines(explanation);
      return sentence(broken.empty() ? root_lines(explanation) : broken);
    }
    case Cause::kFailedLink:
    case Cause::kAbsentMember:
    case Cause::kOutsideInput:
      return sentence(root_lines(explanation));
    case Cause::kNone:
    case Cause::kLimit:
    case Cause::kUntil:
    case Cause::kInterrupted:
      break;
  }
  return sentence(broken_lines(explanation));
}

namespace {

std::string mismatch_advice(const std::vector<models::Misfit>& mismatches) {
  if (mismatches.empty() || mismatches.front().other_operation) {
    return "Fix: make the same calls in the same order on every rank. The nth call on a "
           "communicator matches the nth call of every other rank.";
  }
  return mismatches.front().message
             ? "Fix: pass the same size, type and tag to the send and to its recv."
             : "Fix: pass the same size, type and root on every rank.";
}

}  // namespace

std::string advice_text(const Report& report) {
  switch (report.explanation.cause) {
    case Cause::kMismatch:
      return mismatch_advice(report.explanation.mismatches);
    case Cause::kCycle: {
      if (report.remedies.empty()) {
        return report.graph.actors.empty()
                   ? "Fix: change the order of the ops on one of these ranks."
                   : "Next: run 'pipesim fix' to search for a change that lets this run complete.";
      }
      // Users first suspect an op on the wrong stream.
      const auto moves = std::find_if(report.remedies.begin(), report.remedies.end(),
                                      [](const models::Remedy& remedy) {
                                        return remedy.kind == models::Remedy::Kind::kStream;
                                      });
      const auto& best = moves == report.remedies.end() ? report.remedies.front() : *moves;
      return fmt::format("Fix: {} (tried: the run completes).", remedy_text(best));
    }
    case Cause::kDeadRank:
      return "Next: find the cause of this failure; the other ranks are only waiting.";
    case Cause::kFailedLink:
      return "Next: fix the network; no change to the job can open this path.";
    case Cause::kAbsentMember:
      return std::string(root_advice(report.explanation.roots.front().first.kind));
    case Cause::kOutsideInput:
      return "Next: look at what should provide this input.";
    case Cause::kNone:
    case Cause::kLimit:
    case Cause::kUntil:
    case Cause::kInterrupted:
      break;
  }
  return "";
}

}  // namespace pipesim::viz
