#include "viz/report_lines.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/diagnostics.hpp"
#include "models/search/jitter.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::ActInfo;
using models::Explanation;
using models::Progress;
using models::Wait;
using sim::WaitKind;
using sim::WaitNodeKind;

// "ranks 1 to 3 were taken down at 600 s by the watchdog: all_reduce#2 (train.py:88) ...".
std::string death_text(const models::DeathReport& death, const std::vector<std::uint32_t>& ranks) {
  const bool one = ranks.size() == 1;
  const std::string who = fmt::format("rank{} {}", one ? "" : "s", viz::ranges(ranks));
  const std::string when = time_text(death.time_ns);
  std::string act = death.in ? act_text(*death.in) : "";
  if (death.in && !death.in->at.empty()) act += fmt::format(" ({})", death.in->at);
  const std::string what = death.what.empty() ? "" : ": " + death.what;
  switch (death.cause) {
    case sim::DeathCause::kAtTime:
      return fmt::format("{} died at {}{}", who, when, what);
    case sim::DeathCause::kAtAct:
    case sim::DeathCause::kFatalCall:
      return fmt::format("{} died at {} in {}{}", who, when, act, what);
    case sim::DeathCause::kDeviceError:
      return fmt::format("{} died at {} in {}, where the error of the device surfaced{}", who, when,
                         act, what);
    case sim::DeathCause::kLinkError:
      return fmt::format("{} died at {}: {} ended in an error, after all retries", who, when, act);
    case sim::DeathCause::kWatchdog:
      // What hosts do themselves raises an exception in the host's program.
      if (!death.in->collective)
        return fmt::format("{} gave up at {}: {} timed out", who, when, act);
      return fmt::format("{} {} taken down at {} by the watchdog: {} was not done in time", who,
                         one ? "was" : "were", when, act);
    case sim::DeathCause::kTimeout:
      return fmt::format("{} gave up at {}: {} timed out", who, when, act);
    case sim::DeathCause::kLauncher:
      break;
  }
  return fmt::format("{} {} ended at {} by the launcher", who, one ? "was" : "were", when);
}

// Ranks that died alike are told once.
void add_deaths(const std::vector<models::DeathReport>& deaths, bool after_rest,
                std::vector<std::string>& lines) {
  const auto alike = [](const models::DeathReport& a, const models::DeathReport& b) {
    const auto act = [](const models::DeathReport& death) {
      return death.in ? act_text(*death.in) + death.in->at : "";
    };
    return a.after_rest == b.after_rest && a.time_ns == b.time_ns && a.cause == b.cause &&
           a.what == b.what && act(a) == act(b);
  };
  for (std::size_t i = 0; i < deaths.size();) {
    std::size_t end = i;
    std::vector<std::uint32_t> ranks;
    while (end < deaths.size() && alike(deaths[i], deaths[end]))
      ranks.push_back(deaths[end++].rank);
    std::sort(ranks.begin(), ranks.end());
    if (deaths[i].after_rest == after_rest) lines.push_back(death_text(deaths[i], ranks));
    i = end;
  }
}

// Whether one sentence does for both.
bool same_wait(const models::Root& a, const models::Root& b) {
  if (a.first.kind == WaitKind::kFailedLink) return a.first.link == b.first.link;
  return a.party.kind == b.party.kind && a.first.kind == b.first.kind &&
         a.first.from.act.actor == b.first.from.act.actor &&
         a.first.from.act.act == b.first.from.act.act;
}

// What `first` waits for in vain, of `ranks` where it is ranks.
std::string root_text(const Wait& first, const std::vector<std::uint32_t>& ranks) {
  const std::string waiter = party_text(first.from);
  const std::string stage = stage_text(first.from.act);
  if (first.to.kind != WaitNodeKind::kRank) {
    if (first.kind == WaitKind::kPeerOfMessage) {
      return fmt::format("{} waits for a message that no rank sends ({})", waiter, stage);
    }
    return first.kind == WaitKind::kHostWait
               ? fmt::format("{} waits for a key that no rank comes to set", waiter)
               : fmt::format("{} waits for input from outside that never comes", waiter);
  }
  const bool one = ranks.size() == 1;
  const std::string come =
      fmt::format("rank{} {} never come{} to", one ? "" : "s", viz::ranges(ranks), one ? "s" : "");
  switch (first.kind) {
    case WaitKind::kLock:
      return fmt::format(
          "rank {} thread '{}' never comes to unlock '{}', for which {} waits first ({})",
          first.to.rank, first.holder, first.lock, waiter, stage);
    case WaitKind::kDeadRank:
      if (first.from.rank == first.to.rank) {
        return fmt::format("rank {} has a device that failed, on which {} stands first ({})",
                           first.to.rank, waiter, stage);
      }
      return fmt::format("rank{} {} {} dead, for which {} waits first ({})", one ? "" : "s",
                         viz::ranges(ranks), one ? "is" : "are", waiter, stage);
    case WaitKind::kFailedLink:
      return fmt::format("{} cannot reach rank {} over {} ({})", waiter, first.to.rank, first.link,
                         stage);
    case WaitKind::kPeerOfMessage:
      return fmt::format("{} the other end of a message, for which {} waits first ({})", come,
                         waiter, stage);
    case WaitKind::kCommunicatorCreation:
      return fmt::format("{} the creation of a communicator, for which {} waits first ({})", come,
                         waiter, stage);
    default:
      return fmt::format("{} {}, for which {} waits first ({})", come, act_text(first.from.act),
                         waiter, stage);
  }
}

}  // namespace

std::string timing_text(const sim::Jitter& jitter) {
  return jitter.free ? fmt::format("All durations are drawn at random: seed {}", jitter.seed)
                     : fmt::format("Durations vary by {} at most: seed {}",
                                   models::jitter_text(jitter), jitter.seed);
}

std::string act_detail(const models::ActInfo& act) {
  if (act.micro_batch > 0) return fmt::format("micro-batch {}", act.micro_batch);
  return models::printable(act.statement.empty() ? act.at : act.statement);
}

std::vector<std::string> broken_lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  for (const models::DeviceErrorReport& error : explanation.device_errors) {
    lines.push_back(fmt::format("rank {} {} ended at {} in an error of the device: {}", error.rank,
                                act_text(error.in), time_text(error.time_ns), error.what));
  }
  add_deaths(explanation.deaths, false, lines);
  return lines;
}

std::vector<std::string> end_lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  add_deaths(explanation.deaths, true, lines);
  return lines;
}

std::vector<std::string> mismatch_lines(const Explanation& explanation) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> lines;
  const std::size_t shown = std::min(kMost, explanation.mismatches.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const models::Misfit& misfit = explanation.mismatches[i];
    const auto side = [&](const std::vector<std::uint32_t>& ranks, const ActInfo& act) {
      return fmt::format("rank{} {} {}{}", ranks.size() == 1 ? "" : "s", viz::ranges(ranks),
                         act_text(act),
                         act.at.empty() ? "" : fmt::format(" ({})", models::printable(act.at)));
    };
    std::vector<std::uint32_t> ranks = misfit.ranks;
    std::sort(ranks.begin(), ranks.end());
    lines.push_back(fmt::format("{} {} {}: {}", side({misfit.first.rank}, misfit.first),
                                misfit.message ? "was received by" : "met",
                                side(ranks, misfit.second), fmt::join(misfit.differences, ", ")));
  }
  if (shown < explanation.mismatches.size()) {
    lines.push_back(fmt::format("and {} more", explanation.mismatches.size() - shown));
  }
  return lines;
}

std::string roots_heading(const Explanation& explanation) {
  return explanation.verdict == sim::Verdict::kMismatch ? "Waits that end elsewhere:"
         : explanation.cycle.empty() ? "No cycle. What everything waits for in the end:"
                                     : "Beside the cycle, waits that end elsewhere:";
}

std::vector<std::string> root_lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  std::vector<std::vector<const models::Root*>> groups;
  for (const models::Root& root : explanation.roots) {
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return same_wait(*group.front(), root);
    });
    if (known == groups.end()) {
      groups.push_back({&root});
    } else {
      known->push_back(&root);
    }
  }
  for (const auto& group : groups) {
    std::vector<std::uint32_t> ranks;
    std::uint32_t least = group.front()->waiting;
    std::uint32_t most = least;
    for (const models::Root* root : group) {
      ranks.push_back(root->party.rank);
      least = std::min(least, root->waiting);
      most = std::max(most, root->waiting);
    }
    // One link is one cause, whichever end is out of reach.
    if (group.front()->first.kind == WaitKind::kFailedLink) {
      least = most;
      ranks.resize(1);
    }
    lines.push_back(fmt::format("{}; {}{} behind {}", root_text(group.front()->first, ranks),
                                least == most ? "" : fmt::format("{} to ", least),
                                counted(most, "act"), ranks.size() == 1 ? "it" : "each"));
  }
  return lines;
}

std::string first_reason(const models::Explanation& explanation) {
  if (!explanation.cycle.empty()) return cycle_text(explanation);
  const std::vector<std::string> misfits = mismatch_lines(explanation);
  if (!misfits.empty()) return misfits.front();
  const std::vector<std::string> roots = root_lines(explanation);
  return roots.empty() ? std::string() : roots.front();
}

std::string misplacement_text(const models::Misplacement& found) {
  return fmt::format(
      "{} feeds stream '{}' but runs on '{}', where {}{} stands in front of it.", found.act.op,
      found.feeds_stream, found.act.stream, found.behind.op,
      found.behind.micro_batch == 0 ? std::string() : " of " + act_detail(found.behind));
}

std::string remedy_text(const models::Remedy& remedy) {
  return remedy.kind == models::Remedy::Kind::kStream
             ? fmt::format("{} on stream '{}' instead of '{}'", remedy.op, remedy.to_stream,
                           remedy.from_stream)
             : fmt::format("{} slots instead of {} in register '{}' of {}", remedy.slots,
                           remedy.slots_before, remedy.reg, remedy.op);
}

std::string progress_text(const Progress& progress) {
  std::string text = fmt::format("{} of {} done", progress.done, progress.expected);
  if (!progress.stuck) return text;
  if (progress.program) {
    text += fmt::format(", at {}", act_text(*progress.stuck));
    if (!progress.stuck->at.empty()) text += ", " + models::printable(progress.stuck->at);
  } else if (progress.steps) {
    text += fmt::format(", at {}", act_text(*progress.stuck));
  } else {
    text += fmt::format(", {} at {}", ordinal(progress.stuck->act), progress.stuck->op);
  }
  const bool waits = progress.stuck->stage == models::ActStage::kNotEntered ||
                     progress.stuck->stage == models::ActStage::kLaunched;
  if (waits && progress.wait) {
    const std::string other = progress.wait->to.kind == WaitNodeKind::kAct
                                  ? act_text(progress.wait->to.act)
                                  : party_text(progress.wait->to);
    const bool launched = progress.stuck->stage == models::ActStage::kLaunched;
    text += fmt::format(" ({}{} {})", launched ? "launched, " : "",
                        launched ? "behind" : wait_text(*progress.wait), other);
  } else {
    text += fmt::format(" ({})", stage_text(*progress.stuck));
  }
  return text;
}

}  // namespace pipesim::viz
