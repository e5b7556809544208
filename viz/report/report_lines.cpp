#include "viz/report/report_lines.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/diagnostics.hpp"
#include "models/result/jitter.hpp"
#include "viz/report/table.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Explanation;
using models::OpInfo;
using models::Progress;
using models::Wait;
using sim::WaitNodeKind;

// Describes the death of ranks: "ranks 1 to 3 were taken down at 600 s by the NCCL watchdog:
// all_reduce#2 (train.py:88) timed out".
std::string death_text(const models::DeathReport& death, const std::vector<std::uint32_t>& ranks) {
  const bool one = ranks.size() == 1;
  const std::string who = ranks_text(ranks);
  const std::string when = time_text(death.time_ns);
  std::string op = death.in ? op_text(*death.in) : "";
  if (death.in && !death.in->at.empty()) op += fmt::format(" ({})", death.in->at);
  const std::string what = death.what.empty() ? "" : ": " + death.what;
  switch (death.cause) {
    case sim::DeathCause::kAtTime:
      return fmt::format("{} died at {}{}", who, when, what);
    case sim::DeathCause::kAtOp:
    case sim::DeathCause::kFatalCall:
      return fmt::format("{} died at {} in {}{}", who, when, op, what);
    case sim::DeathCause::kDeviceError:
      return fmt::format("{} died at {} in {}, where the device error surfaced{}", who, when, op,
                         what);
    case sim::DeathCause::kLinkError:
      return fmt::format("{} died at {}: {} failed after all retries", who, when, op);
    case sim::DeathCause::kWatchdog:
      // A host op that times out raises an exception in the host's program.
      if (!death.in->collective)
        return fmt::format("{} gave up at {}: {} timed out", who, when, op);
      return fmt::format("{} {} taken down at {} by the NCCL watchdog: {} timed out", who,
                         one ? "was" : "were", when, op);
    case sim::DeathCause::kTimeout:
      return fmt::format("{} gave up at {}: {} timed out", who, when, op);
    case sim::DeathCause::kLauncher:
      break;
  }
  return fmt::format("{} {} killed at {} by the launcher", who, one ? "was" : "were", when);
}

// Adds a line per group of ranks that died alike.
void add_deaths(const std::vector<models::DeathReport>& deaths, bool after_quiescence,
                std::vector<std::string>& lines) {
  const auto alike = [](const models::DeathReport& a, const models::DeathReport& b) {
    const auto op = [](const models::DeathReport& death) {
      return death.in ? op_text(*death.in) + death.in->at : "";
    };
    return a.after_quiescence == b.after_quiescence && a.time_ns == b.time_ns &&
           a.cause == b.cause && a.what == b.what && op(a) == op(b);
  };
  for (std::size_t i = 0; i < deaths.size();) {
    std::size_t end = i;
    std::vector<std::uint32_t> ranks;
    while (end < deaths.size() && alike(deaths[i], deaths[end]))
      ranks.push_back(deaths[end++].rank);
    std::sort(ranks.begin(), ranks.end());
    if (deaths[i].after_quiescence == after_quiescence) {
      lines.push_back(death_text(deaths[i], ranks));
    }
    i = end;
  }
}

std::string missing_text(const models::Root& root) {
  return root.missing ? op_text(*root.missing) + " " + root.missing->at : "";
}

// Whether the missing call of a root differs from the call that waits for the root.
bool leaves_out(const models::Root& root) {
  return root.missing &&
         missing_text(root) != op_text(root.first.from.op) + " " + root.first.from.op.at;
}

// Whether the target of `wait` cannot be reached.
bool is_cut_off(const Wait& wait) {
  return sim::facts(wait.kind).absence == sim::Absence::kUnreachable;
}

// Returns a key that is equal for roots with the same sentence: everything in the sentence except
// the ranks. Details of the waiting op are part of the key.
std::string sentence_key(const models::Root& root) {
  const Wait& first = root.first;
  if (is_cut_off(first)) return "link " + first.link;
  std::string key =
      fmt::format("{} {} {}\n{}\n", static_cast<int>(root.party.kind), static_cast<int>(first.kind),
                  op_text(first.from.op), models::printable(first.from.op.at));
  const bool missing_call =
      sim::facts(first.kind).of_message ? !first.from.op.from_any : !root.communicator.empty();
  if (root.party.kind != WaitNodeKind::kRank || !missing_call)
    return key + fmt::format("{} {}", first.from.rank, first.from.op.actor.value);
  key +=
      fmt::format("{}\n{}\n{}\n", root.communicator, missing_text(root), stage_text(first.from.op));
  // The ranks that omit the call can have made different numbers of calls.
  const bool counts = leaves_out(root);
  return counts ? key + fmt::format("{} {}", root.made, root.others_made) : key;
}

// Returns "made 3 calls on 'dp', the others 4" if all roots have made the same number of calls;
// else returns an empty string.
std::string calls_text(const std::vector<const models::Root*>& roots) {
  const models::Root& first = *roots.front();
  const bool alike = std::all_of(roots.begin(), roots.end(), [&](const models::Root* root) {
    return root->made == first.made && root->others_made == first.others_made;
  });
  if (!alike || first.communicator.empty() || first.made >= first.others_made) return "";
  const std::string on = first.group.empty()
                             ? fmt::format("'{}'", models::printable(first.communicator))
                             : first.group;
  return fmt::format("made {} on {}, the others {}", counted(first.made, "call"), on,
                     first.others_made);
}

// Returns the details in brackets: " (train.py:66; made 3 calls on 'dp', the others 4)".
std::string in_brackets(const std::string& at, const std::string& calls) {
  if (at.empty() && calls.empty()) return "";
  return fmt::format(" ({}{}{})", at, at.empty() || calls.empty() ? "" : "; ", calls);
}

// Describes a missing call: "rank 5 made 2 calls on 'dp', the others 3; the one missing is
// all_reduce dp.2#1 (train.py:66)".
std::string left_out_text(const std::vector<const models::Root*>& roots, const std::string& who,
                          const char* s) {
  const models::Root& first = *roots.front();
  const std::string missing =
      op_text(*first.missing) + in_brackets(models::printable(first.missing->at), "");
  const std::string calls = calls_text(roots);
  if (calls.empty()) return fmt::format("{} leave{} out {}", who, s, missing);
  const bool one = first.made + 1 == first.others_made;
  return fmt::format("{} {}; {} is {}", who, calls, one ? "the one missing" : "the first missing",
                     missing);
}

// Returns "rank 0's all_reduce#1", or "the all_reduce#1 of ranks 1 and 2".
std::string owned_by(const std::vector<std::uint32_t>& ranks, const std::string& call) {
  return ranks.size() == 1 ? fmt::format("{}'s {}", ranks_text(ranks), call)
                           : fmt::format("the {} of {}", call, ranks_text(ranks));
}

// Names the first waiting call, with the first waiter of each root: "rank 1's all_reduce#1".
std::string first_waiters(const std::vector<const models::Root*>& roots) {
  std::set<std::uint32_t> ranks;
  for (const models::Root* root : roots) ranks.insert(root->first.from.rank);
  return owned_by({ranks.begin(), ranks.end()}, op_text(roots.front()->first.from.op));
}

// Explains why the target of the first wait never happens. `ranks` are the ranks that are roots;
// may be empty.
std::string text_of_roots(const std::vector<const models::Root*>& roots,
                          const std::vector<std::uint32_t>& ranks) {
  const Wait& first = roots.front()->first;
  RootNames names;
  names.ranks = ranks_text(ranks);
  names.one = ranks.size() == 1;
  if (first.to.kind == WaitNodeKind::kRank && leaves_out(*roots.front())) {
    return left_out_text(roots, names.ranks, names.one ? "s" : "");
  }
  names.waiter = sim::facts(first.kind).of_message ? first_waiters(roots) : phrase_of(first.from);
  names.details = in_brackets(models::printable(first.from.op.at), calls_text(roots));
  return root_text(first, names);
}

// Groups the roots that share a sentence.
std::vector<std::vector<const models::Root*>> root_groups(const Explanation& explanation) {
  std::vector<std::vector<const models::Root*>> groups;
  std::map<std::string, std::size_t> group_of;
  for (const models::Root& root : explanation.roots) {
    const auto [known, is_new] = group_of.try_emplace(sentence_key(root), groups.size());
    if (is_new) groups.emplace_back();
    groups[known->second].push_back(&root);
  }
  return groups;
}

}  // namespace

std::string missing_call_text(const Explanation& explanation) {
  const std::vector<const models::Root*> group = root_groups(explanation).front();
  const models::Root& first = *group.front();
  const Wait& wait = first.first;
  if (first.party.kind != WaitNodeKind::kRank) return "this call is missing";
  std::vector<std::uint32_t> ranks;
  for (const models::Root* root : group) ranks.push_back(root->party.rank);
  const char* s = ranks.size() == 1 ? "s" : "";
  if (sim::facts(wait.kind).of_message) {
    return fmt::format("{} never post{} {}", ranks_text(ranks), s, matching_text(wait.from.op));
  }
  return fmt::format("{} skip{} {}", ranks_text(ranks), s,
                     op_text(first.missing ? *first.missing : wait.from.op));
}

std::vector<std::string> unmeasured_lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view rule) {
    const bool known = std::find(lines.begin(), lines.end(), rule) != lines.end();
    if (!rule.empty() && !known) lines.emplace_back(rule);
  };
  for (const Wait& wait : explanation.cycle) add(unmeasured_rule(wait.kind));
  for (const models::Root& root : explanation.roots) add(unmeasured_rule(root.first.kind));
  if (explanation.crossing_first_sends) {
    lines.emplace_back(
        "two first sends in opposite directions on a communicator of two ranks hang (rule 9.7; "
        "from NCCL's source; NCCL may fail instead)");
  }
  if (explanation.destroys) {
    lines.emplace_back(
        "from NCCL 2.31 on, destroying a communicator waits for the other ranks of the host (rule "
        "9.9; 'nccl: 2.30' waits for none; from NCCL's source and a report)");
  }
  if (explanation.suspends) {
    lines.emplace_back(
        "suspending or resuming a communicator waits for the hosts of all its ranks (rule 9.9; "
        "from NCCL's source; not measured)");
  }
  if (explanation.registered_send) {
    lines.emplace_back(
        "a send from a registered buffer bypasses NCCL's own buffers, so it waits for its recv "
        "(rule 9.5; from NCCL's source; not measured)");
  }
  return lines;
}

std::string head_line(const std::string& left, const std::string& rest, std::size_t width) {
  constexpr std::string_view kBetween = "   ";
  if (display_width(left) > width) return paragraph(left, width, 0, 2) + rest + "\n";
  const bool fits = display_width(left) + kBetween.size() + rest.size() <= width;
  return fmt::format("{}{}{}\n", left, fits ? kBetween : "\n", rest);
}

std::string timing_text(const sim::Jitter& jitter) {
  return jitter.free ? fmt::format("All durations are random: seed {}", jitter.seed)
                     : fmt::format("Durations vary by up to {}: seed {}",
                                   models::jitter_text(jitter), jitter.seed);
}

std::string op_detail(const models::OpInfo& op) {
  if (op.micro_batch > 0) return fmt::format("micro-batch {}", op.micro_batch);
  return models::printable(op.statement.empty() ? op.at : op.statement);
}

std::string shape_of(const Wait& wait) {
  return fmt::format("{} {} {}", static_cast<int>(wait.from.kind), static_cast<int>(wait.kind),
                     op_id(wait.from.op));
}

std::vector<AlikeCycles> alike_cycles(const std::vector<Wait>& first,
                                      const std::vector<std::vector<Wait>>& others) {
  std::vector<AlikeCycles> result;
  std::map<std::string, std::size_t> known;
  const auto add = [&](const std::vector<Wait>& cycle) {
    if (cycle.empty()) return;
    std::string shape;
    for (const Wait& wait : cycle) shape += shape_of(wait) + "\n";
    const auto [found, is_new] = known.emplace(std::move(shape), result.size());
    if (is_new) result.emplace_back();
    result[found->second].push_back(&cycle);
  };
  add(first);
  for (const std::vector<Wait>& cycle : others) add(cycle);
  return result;
}

std::string alike_text(const models::CycleClass& cycles) {
  constexpr std::size_t kMax = 20;
  const std::size_t count = cycles.ranks.size();
  if (count < 2) return "";
  std::string text;
  for (std::size_t i = 1; i < count; ++i) {
    const bool told = count <= kMax || i < 3 || i + 1 == count;
    if (told) text += (i == 1 ? "" : "; ") + ranks_text(cycles.ranks[i]);
    if (!told && i == 3) text += "; ...";
  }
  return fmt::format("x {}: the same on {}", grouped(count), text);
}

std::string cycle_note(const Explanation& explanation) {
  if (explanation.cycle_groups <= 1) return "";
  const bool alike = explanation.cycle_classes.size() == 1;
  return fmt::format("{} independent cycles{}", grouped(explanation.cycle_groups),
                     alike
                         ? " that differ only in their ranks; one is shown (--all lists the ranks)."
                         : "; the shortest is shown (--all shows all).");
}

namespace {

// Describes an error without its ranks.
std::string peer_error_text(const models::PeerError& error, bool several) {
  using Kind = models::PeerError::Kind;
  const std::string in = op_text(error.in);
  if (error.kind == Kind::kAborts) {
    return fmt::format("abort{} in {}: the message does not fit", several ? "" : "s", in);
  }
  const bool may = error.kind == Kind::kMayRaise;
  return fmt::format(
      "{}raise{} \"Connection closed by peer\" in {}: the process of rank {} has "
      "ended{}",
      may ? "may " : "", may || several ? "" : "s", in, error.peer,
      may ? ", but others that the call needs have not" : "");
}

// Describes errors of gloo, those with equal words in one line.
std::vector<std::string> peer_error_lines(const std::vector<models::PeerError>& errors) {
  std::vector<std::pair<std::string, std::vector<const models::PeerError*>>> groups;
  for (const models::PeerError& error : errors) {
    const std::string words = peer_error_text(error, false);
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == words; });
    if (known == groups.end()) {
      groups.push_back({words, {&error}});
    } else {
      known->second.push_back(&error);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [words, alike] : groups) {
    std::vector<std::uint32_t> ranks;
    for (const models::PeerError* error : alike) ranks.push_back(error->rank);
    std::sort(ranks.begin(), ranks.end());
    lines.push_back(
        fmt::format("{} {}", ranks_text(ranks), peer_error_text(*alike.front(), ranks.size() > 1)));
  }
  return lines;
}

}  // namespace

std::vector<std::string> broken_lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  for (const models::DeviceErrorReport& error : explanation.device_errors) {
    lines.push_back(fmt::format("rank {} {} ended at {} in a device error: {}", error.rank,
                                op_text(error.in), time_text(error.time_ns), error.what));
  }
  add_deaths(explanation.deaths, false, lines);
  return lines;
}

std::vector<std::string> end_lines(const Explanation& explanation) {
  std::vector<std::string> lines = peer_error_lines(explanation.peer_errors);
  add_deaths(explanation.deaths, true, lines);
  return lines;
}

std::vector<std::string> mismatch_lines(const Explanation& explanation) {
  constexpr std::size_t kMax = 20;
  std::vector<std::string> lines;
  const std::size_t shown = std::min(kMax, explanation.mismatches.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const models::Misfit& misfit = explanation.mismatches[i];
    const auto call = [](const OpInfo& op) {
      return fmt::format("{}{}", op_text(op),
                         op.at.empty() ? "" : fmt::format(" ({})", models::printable(op.at)));
    };
    std::vector<std::uint32_t> ranks = misfit.ranks;
    std::sort(ranks.begin(), ranks.end());
    std::vector<std::uint32_t> first = misfit.other_side;
    if (first.empty()) first = {misfit.first.rank};
    lines.push_back(fmt::format("{} does not match {} on {}: {}{}{}",
                                owned_by(first, call(misfit.first)), call(misfit.second),
                                ranks_text(ranks), fmt::join(misfit.differences, ", "),
                                misfit.outcome.empty() ? "" : "; ", misfit.outcome));
  }
  if (shown < explanation.mismatches.size()) {
    lines.push_back(fmt::format("and {} more", explanation.mismatches.size() - shown));
  }
  return lines;
}

std::string roots_heading(const Explanation& explanation) {
  return explanation.verdict == sim::Verdict::kMismatch ? "Other waits end at:"
         : explanation.cycle.empty()                    ? "No cycle. All waits end at:"
                                                        : "Waits outside the cycle end at:";
}

std::vector<std::string> root_lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  for (const auto& group : root_groups(explanation)) {
    std::vector<std::uint32_t> ranks;
    std::uint32_t least = group.front()->waiting;
    std::uint32_t most = least;
    for (const models::Root* root : group) {
      ranks.push_back(root->party.rank);
      least = std::min(least, root->waiting);
      most = std::max(most, root->waiting);
    }
    // A failed link is a single cause, even if both of its ends are unreachable.
    if (is_cut_off(group.front()->first)) {
      least = most;
      ranks.resize(1);
    }
    const Wait& first = group.front()->first;
    lines.push_back(fmt::format(
        "{}; {}{} wait{} for {}{}", text_of_roots(group, ranks),
        least == most ? "" : fmt::format("{} to ", least), counted(most, "op"),
        most == 1 ? "s" : "", ranks.size() == 1 ? "it" : "each",
        names_waiter(first) ? ""
                            : fmt::format(", {}{} ({})", most == 1 ? "" : "the first of them ",
                                          first_waiters(group), stage_text(first.from.op))));
  }
  return lines;
}

std::string root_sentence(const models::Root& root) {
  return text_of_roots({&root}, {root.party.rank});
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
      "{} feeds stream '{}' but runs on '{}', queued behind {}{}", found.op.name,
      found.feeds_stream, found.op.stream, found.behind.name,
      found.behind.micro_batch == 0 ? "" : fmt::format(" ({})", op_detail(found.behind)));
}

std::string remedy_text(const models::Remedy& remedy) {
  return remedy.kind == models::Remedy::Kind::kStream
             ? fmt::format("{} on stream '{}' instead of '{}'", remedy.op, remedy.to_stream,
                           remedy.from_stream)
             : fmt::format("{} slots instead of {} in register '{}' of {}", remedy.slots,
                           remedy.slots_before, remedy.reg, remedy.op);
}

std::string progress_text(const models::RankReport& rank, const Progress& progress) {
  using Of = Progress::Of;
  std::string text = fmt::format("{} of {} {}", grouped(progress.done), grouped(progress.expected),
                                 progress.of == Of::kHost    ? "calls returned"
                                 : progress.of == Of::kPhase ? "iterations"
                                                             : "done");
  if (!progress.stuck) return text;
  const models::OpInfo& op = *progress.stuck;
  const bool in_call = progress.of == Of::kHost && op.stage == models::OpStage::kEntered;
  if (in_call) {
    text += fmt::format(", {} {}", rank.dead ? "died in" : "now in", op_text(op));
  } else if (progress.of == Of::kPhase) {
    text += fmt::format("; iteration {} is at {}", op.number, op.name);
  } else if (progress.of == Of::kStream) {
    text += fmt::format(", {} at {}", ordinal(op.number), op.name);
  } else {
    text += fmt::format(", at {}", op_text(op));
  }
  const bool says_place = progress.of == Of::kHost || progress.of == Of::kOps;
  if (says_place && !op.at.empty()) text += ", " + models::printable(op.at);
  if (in_call && op.step == sim::Step::kHostStep) return text;
  const std::string stage = stage_text(op);
  const bool was_busy = rank.dead && op.stage >= models::OpStage::kLaunched;
  if (was_busy) return fmt::format("{} ({} when it died)", text, stage);
  if (!progress.tells_wait()) return fmt::format("{} ({})", text, stage);
  return fmt::format("{} ({}, {})", text, stage, wait_text(*progress.wait));
}

const models::FirstDifference* shown_difference(const Report& report) {
  const sim::Verdict verdict = report.explanation.verdict;
  const models::Recorded* recorded = report.graph.recorded.get();
  const bool hangs = verdict == sim::Verdict::kDeadlock || verdict == sim::Verdict::kStarved ||
                     verdict == sim::Verdict::kMismatch;
  return hangs && recorded != nullptr ? recorded->first_difference() : nullptr;
}

}  // namespace pipesim::viz
