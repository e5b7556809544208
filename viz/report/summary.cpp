#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/diagnostics.hpp"
#include "viz/report/command_text.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Cause;
using models::Explanation;
using models::OpInfo;
using models::Wait;
using sim::WaitKind;

// Names an op and its rank: "rank 0's nccl-1998#3 (micro-batch 3)".
std::string owned(const OpInfo& op) {
  const std::string detail = op_detail(op);
  return fmt::format("rank {}'s {}{}", op.rank, op_text(op),
                     detail.empty() ? "" : fmt::format(" ({})", detail));
}

// Whether the waiting op has not been called yet, because its host is blocked in an earlier call.
bool is_not_called(const Wait& wait) {
  return wait.kind == WaitKind::kHostWait && wait.from.op.step != sim::Step::kHostStep;
}

// Explains why `crossing`, a wait for another rank, does not end. `own` are the waits of the other
// rank, up to its wait for the next rank.
std::string reason_on_other_rank(const Wait& crossing, const std::vector<const Wait*>& own) {
  if (own.empty()) return "";
  const Wait& last = *own.back();
  if (own.size() == 1) {
    if (!sim::facts(crossing.kind).joins) return fmt::format(", which {}", wait_predicate(last));
    if (is_not_called(last)) {
      return fmt::format(", but rank {} has not made this call: {}", last.from.rank,
                         wait_text(last));
    }
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

// Describes a wait for another rank, and explains why it does not end.
std::string crossing_text(const Wait& crossing, const std::vector<const Wait*>& own) {
  const std::string waiter = owned(crossing.from.op);
  const bool host_blocks = sim::facts(crossing.kind).joins && crossing.needed && own.size() == 1 &&
                           own[0]->kind == WaitKind::kHostWait && !is_not_called(*own[0]);
  if (!host_blocks) {
    return fmt::format("{} {}{}", waiter, wait_text(crossing), reason_on_other_rank(crossing, own));
  }
  const OpInfo& at = own[0]->from.op;
  const std::string detail = op_detail(at);
  return fmt::format("{} waits for rank {}, whose host is blocked in {}{} until {} is done", waiter,
                     at.rank, op_text(at), detail.empty() ? "" : fmt::format(" ({})", detail),
                     op_text(own[0]->to.op));
}

// Returns `text` without the numbers of ranks: equal for parts of a cycle that differ in ranks
// only.
std::string without_ranks(std::string text) {
  constexpr std::string_view kRank = "rank ";
  for (std::size_t at = text.find(kRank); at != std::string::npos; at = text.find(kRank, at)) {
    at += kRank.size();
    const std::size_t end = text.find_first_not_of("0123456789", at);
    text.erase(at, std::min(end, text.size()) - at);
  }
  return text;
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
  for (std::size_t c = 0; c < crossings.size(); ++c) {
    const Wait& crossing = cycle[crossings[c]];
    const std::size_t next =
        c + 1 < crossings.size() ? crossings[c + 1] : crossings.front() + cycle.size();
    std::vector<const Wait*> own;
    for (std::size_t i = crossings[c] + 1; i < next; ++i) own.push_back(&cycle[i % cycle.size()]);
    parts.push_back(crossing_text(crossing, own));
  }
  const std::string first = without_ranks(parts.front());
  if (std::all_of(parts.begin(), parts.end(),
                  [&](const std::string& part) { return without_ranks(part) == first; })) {
    ranks.erase(cycle[crossings.front()].from.rank);
    return fmt::format("{} wait for each other: {}; the same holds for {}.", who, parts.front(),
                       ranks_text({ranks.begin(), ranks.end()}));
  }
  const bool cut = parts.size() > kMaxParts;
  parts.resize(std::min(parts.size(), kMaxParts));
  return fmt::format(
      "{} wait for each other: {}{}.", who, fmt::join(parts, "; "),
      cut ? fmt::format("; and so on, back to rank {}", cycle[crossings.front()].from.rank) : "");
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

// Returns the command that searches for a change: "'pipesim fix a.yaml'".
std::string fix_command(const Report& report) {
  std::vector<std::string> words = {"fix"};
  words.insert(words.end(), report.job.begin(), report.job.end());
  return fmt::format("'{}'", command_line_text(words));
}

std::string cycle_advice(const Report& report) {
  using models::Misplacement;
  using models::Remedy;
  if (report.remedies.empty()) {
    return report.graph.actors.empty()
               ? "Fix: change the order of the ops on one of these ranks."
               : fmt::format("Next: {} searches for a change that removes this hang.",
                             fix_command(report));
  }
  // Users first suspect an op on the wrong stream.
  const auto moves =
      std::find_if(report.remedies.begin(), report.remedies.end(),
                   [](const Remedy& remedy) { return remedy.kind == Remedy::Kind::kStream; });
  const Remedy& best = moves == report.remedies.end() ? report.remedies.front() : *moves;
  const auto found = std::find_if(report.misplacements.begin(), report.misplacements.end(),
                                  [&](const Misplacement& it) { return it.op.name == best.op; });
  if (moves == report.remedies.end() || found == report.misplacements.end()) {
    return fmt::format("Fix: {} (tried: the run completes).", remedy_text(best));
  }
  return fmt::format("Fix: {}. Run it on '{}' (tried: the run completes).",
                     misplacement_text(*found), best.to_stream);
}

std::string death_advice(const Explanation& explanation) {
  std::set<std::uint32_t> dead;
  for (const models::Root& root : explanation.roots) {
    if (root.first.kind == WaitKind::kDeadRank) dead.insert(root.party.rank);
  }
  return dead.empty()
             ? "Next: fix this failure first; the other ranks are only waiting."
             : fmt::format("Next: fix this failure first; the other ranks only wait for {}.",
                           ranks_text({dead.begin(), dead.end()}));
}

std::string absence_advice(const Report& report) {
  const WaitKind kind = report.explanation.roots.front().first.kind;
  if (!root_advice(kind).empty()) return std::string(root_advice(kind));
  std::string text = fmt::format("Next: find out why {}", missing_call_text(report.explanation));
  if (!report.graph.actors.empty()) {
    text += fmt::format("; {} searches for a change that removes this hang", fix_command(report));
  }
  return text + ".";
}

// Returns the keys of the store that steps of this role set or wait for.
std::vector<std::string> keys_of(const models::TaskGraph& graph, sim::Role role) {
  std::vector<std::string> keys;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (!actor.step || actor.step->role != role || actor.on.empty()) continue;
    const models::EventTemplate& event = graph.events[actor.step->event];
    if (event.shared) keys.push_back(event.name);
  }
  return keys;
}

// Advises on input that never comes. A key of the store may be set under a similar name, or too few
// times.
std::string input_advice(const Report& report) {
  const OpInfo& op = report.explanation.roots.front().first.from.op;
  if (!op.recorded_name.empty()) {
    return fmt::format("Next: find out why rank {} stays{}.", op.rank,
                       op.at.empty() ? " there" : " at " + models::printable(op.at));
  }
  const auto& actors = report.graph.actors;
  const auto waiter = std::find_if(actors.begin(), actors.end(), [&](const auto& actor) {
    return actor.name == op.name && actor.on.contains(op.rank);
  });
  const bool awaits =
      waiter != actors.end() && waiter->step && waiter->step->role == sim::Role::kAwait;
  if (awaits && report.graph.events[waiter->step->event].shared) {
    const std::string& key = report.graph.events[waiter->step->event].name;
    const std::vector<std::string> set = keys_of(report.graph, sim::Role::kSet);
    if (std::find(set.begin(), set.end(), key) != set.end()) {
      return fmt::format("Next: find out which rank does not set '{}': it is set too few times.",
                         key);
    }
    const std::vector<std::string> awaited = keys_of(report.graph, sim::Role::kAwait);
    std::vector<std::string> unused;
    std::copy_if(set.begin(), set.end(), std::back_inserter(unused), [&](const std::string& each) {
      return std::find(awaited.begin(), awaited.end(), each) == awaited.end();
    });
    const std::string near = models::nearest_name(key, unused);
    if (!near.empty()) {
      return fmt::format("Next: let one rank set '{}'; '{}', which is set, has no waiter.", key,
                         near);
    }
  }
  return "Next: check the source of this input.";
}

}  // namespace

std::string advice_text(const Report& report) {
  switch (report.explanation.cause) {
    case Cause::kMismatch:
      return mismatch_advice(report.explanation.mismatches);
    case Cause::kCycle:
      return cycle_advice(report);
    case Cause::kDeadRank:
      return death_advice(report.explanation);
    case Cause::kFailedLink:
      return "Next: fix the network; no change to the job can open this path.";
    case Cause::kAbsentMember:
      return absence_advice(report);
    case Cause::kOutsideInput:
      return input_advice(report);
    case Cause::kNone:
    case Cause::kLimit:
    case Cause::kUntil:
    case Cause::kInterrupted:
      break;
  }
  return "";
}

}  // namespace pipesim::viz
