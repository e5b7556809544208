#include "viz/text_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/expectation.hpp"
#include "models/jitter.hpp"
#include "viz/table.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::ActInfo;
using models::Explanation;
using models::Progress;
using models::RankReport;
using models::Wait;
using sim::Verdict;
using sim::WaitKind;
using sim::WaitNodeKind;

constexpr const char* kRed = "31;1";
constexpr const char* kGreen = "32;1";
constexpr const char* kYellow = "33;1";
constexpr const char* kBold = "1";
constexpr const char* kDim = "2";

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

std::string timing_text(const sim::Jitter& jitter) {
  return jitter.free ? fmt::format("All durations are drawn at random: seed {}", jitter.seed)
                     : fmt::format("Durations vary by {} at most: seed {}",
                                   models::jitter_text(jitter), jitter.seed);
}

class TextReport {
 public:
  TextReport(const Report& report, const TextOptions& options)
      : report_(report), explanation_(report.explanation), options_(options) {}

  std::string run() {
    add_verdict();
    add_deaths(false);
    if (!explanation_.mismatches.empty()) add_mismatches();
    if (!explanation_.cycle.empty()) add_cycle();
    if (!explanation_.roots.empty()) add_roots();
    if (!report_.misplacements.empty() || !report_.remedies.empty()) add_hints();
    add_ranks();
    add_finish_times();
    if (report_.pipeline) add_pipeline(*report_.pipeline);
    if (report_.memory) add_memory(*report_.memory);
    if (explanation_.stuck > 0) add_collateral();
    add_deaths(true);
    if (!report_.all_waits.empty()) add_all_waits();
    text_ += styled(kDim, "fingerprint " + fingerprint_text(explanation_.fingerprint)) + "\n";
    return std::move(text_);
  }

  std::string hang() {
    if (!explanation_.mismatches.empty()) add_mismatches();
    if (!explanation_.cycle.empty()) add_cycle();
    return std::move(text_);
  }

  std::string stuck() {
    if (explanation_.stuck > 0) add_collateral();
    if (!report_.all_waits.empty()) add_all_waits();
    return std::move(text_);
  }

 private:
  void add_verdict();
  void add_deaths(bool after_rest);
  void add_mismatches();
  void add_cycle();
  void add_roots();
  static bool same_wait(const models::Root& a, const models::Root& b);
  static std::string root_text(const Wait& first, const std::vector<std::uint32_t>& ranks);
  void add_hints();
  void add_ranks();
  void add_finish_times();
  void add_pipeline(const models::PipelineReport& pipeline);
  void add_memory(const models::MemoryReport& memory);
  void add_collateral();
  std::string distances_text(std::uint32_t behind) const;
  void add_all_waits();
  void add_heading(const std::string& text) { text_ += fmt::format("\n{}\n", styled(kBold, text)); }
  std::vector<std::string> cycle_row(const std::string& number, const ActInfo& act) const;
  std::string progress_text(const Progress& progress) const;
  std::string device_text(const RankReport& rank) const;
  // What more is known of an act.
  std::string detail(const ActInfo& act) const {
    if (act.micro_batch == 0) return models::printable(act.statement);
    return fmt::format("micro-batch {}", act.micro_batch);
  }
  std::string styled(const char* style, const std::string& text) const {
    return options_.colour ? fmt::format("\033[{}m{}\033[0m", style, text) : text;
  }

  const Report& report_;
  const Explanation& explanation_;
  const TextOptions& options_;
  std::string text_;
};

void TextReport::add_verdict() {
  std::string verdict = models::verdict_name(explanation_.verdict);
  std::transform(verdict.begin(), verdict.end(), verdict.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  const char* colour = explanation_.verdict == Verdict::kCompleted ? kGreen
                       : explanation_.verdict == Verdict::kLimit   ? kYellow
                                                                   : kRed;
  const std::string why = explanation_.verdict == Verdict::kLimit
                              ? fmt::format(" ({})", models::cause_name(explanation_.cause))
                              : "";
  text_ += fmt::format("{}{}{}{} at {}   {}, {} of {} done\n",
                       report_.graph.name.empty() ? "" : styled(kBold, report_.graph.name),
                       report_.graph.name.empty() ? "" : "  ", styled(colour, verdict), why,
                       time_text(explanation_.time_ns), counted(report_.graph.ranks, "rank"),
                       explanation_.acts_done, counted(explanation_.acts_expected, "act"));
  if (report_.jitter.varies()) text_ += timing_text(report_.jitter) + "\n";
}

std::vector<std::string> TextReport::cycle_row(const std::string& number,
                                               const ActInfo& act) const {
  return {number, fmt::format("rank {}", act.rank), act.stream, styled(kBold, act_text(act)),
          detail(act)};
}

void TextReport::add_cycle() {
  std::set<std::uint32_t> ranks;
  std::set<std::uint32_t> micro_batches;
  for (const Wait& wait : explanation_.cycle) {
    ranks.insert(wait.from.rank);
    if (wait.from.act.micro_batch > 0) micro_batches.insert(wait.from.act.micro_batch);
  }
  const auto listed = [](const char* what, const std::set<std::uint32_t>& numbers) {
    return fmt::format("{}{} {}", what, numbers.size() == 1 ? "" : "s",
                       ranges({numbers.begin(), numbers.end()}));
  };
  std::string heading = fmt::format("The cycle: {}, {}", counted(explanation_.cycle.size(), "wait"),
                                    listed("rank", ranks));
  if (!micro_batches.empty()) heading += ", " + listed("micro-batch", micro_batches);
  if (micro_batches.size() > 1) heading.replace(heading.rfind("batchs"), 6, "batches");
  if (!explanation_.cycle_is_shortest) heading += " (there may be a shorter one)";
  add_heading(heading);
  Table table;
  std::size_t number = 0;
  for (const Wait& wait : explanation_.cycle) {
    std::vector<std::string> row = cycle_row(std::to_string(++number), wait.from.act);
    row.push_back(stage_text(wait.from.act));
    row.push_back(wait_text(wait) + (number == explanation_.cycle.size() ? " 1" : ""));
    row.push_back(
        styled(kDim, fmt::format("[{}{}]", kind_name(wait.kind), wait.any ? ", any" : "")));
    table.add(std::move(row));
  }
  text_ += table.text(2, true);
  if (explanation_.cycle_groups > 1) {
    text_ += fmt::format(
        "  There are {} groups of acts that wait for each other in circles; this is "
        "the shortest circle.\n",
        explanation_.cycle_groups);
  }
}

// Ranks that died alike are told once.
void TextReport::add_deaths(bool after_rest) {
  std::vector<std::string> lines;
  if (!after_rest) {
    for (const models::DeviceErrorReport& error : explanation_.device_errors) {
      lines.push_back(fmt::format("rank {} {} ended at {} in an error of the device: {}",
                                  error.rank, act_text(error.in), time_text(error.time_ns),
                                  error.what));
    }
  }
  const std::vector<models::DeathReport>& deaths = explanation_.deaths;
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
  if (lines.empty()) return;
  add_heading(after_rest ? "How the job ends" : "What broke");
  for (const std::string& line : lines) text_ += fmt::format("  {}\n", line);
}

void TextReport::add_mismatches() {
  constexpr std::size_t kMost = 20;
  add_heading("What met and does not fit");
  const std::size_t shown = std::min(kMost, explanation_.mismatches.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const models::Misfit& misfit = explanation_.mismatches[i];
    const auto side = [&](const std::vector<std::uint32_t>& ranks, const ActInfo& act) {
      return fmt::format("rank{} {} {}{}", ranks.size() == 1 ? "" : "s", viz::ranges(ranks),
                         act_text(act),
                         act.at.empty() ? "" : fmt::format(" ({})", models::printable(act.at)));
    };
    std::vector<std::uint32_t> ranks = misfit.ranks;
    std::sort(ranks.begin(), ranks.end());
    text_ += fmt::format("  {} {} {}: {}\n", side({misfit.first.rank}, misfit.first),
                         misfit.message ? "was received by" : "met", side(ranks, misfit.second),
                         fmt::join(misfit.differences, ", "));
  }
  if (shown < explanation_.mismatches.size()) {
    text_ += fmt::format("  and {} more\n", explanation_.mismatches.size() - shown);
  }
}

void TextReport::add_roots() {
  add_heading(explanation_.verdict == Verdict::kMismatch ? "Waits that end elsewhere:"
              : explanation_.cycle.empty() ? "No cycle. What everything waits for in the end:"
                                           : "Beside the cycle, waits that end elsewhere:");
  std::vector<std::vector<const models::Root*>> groups;
  for (const models::Root& root : explanation_.roots) {
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
    text_ += fmt::format("  {}; {}{} behind {}\n", root_text(group.front()->first, ranks),
                         least == most ? "" : fmt::format("{} to ", least), counted(most, "act"),
                         ranks.size() == 1 ? "it" : "each");
  }
}

// Whether one sentence does for both.
bool TextReport::same_wait(const models::Root& a, const models::Root& b) {
  if (a.first.kind == WaitKind::kFailedLink) return a.first.link == b.first.link;
  return a.party.kind == b.party.kind && a.first.kind == b.first.kind &&
         a.first.from.act.actor == b.first.from.act.actor &&
         a.first.from.act.act == b.first.from.act.act;
}

// What `first` waits for in vain, of `ranks` where it is ranks.
std::string TextReport::root_text(const Wait& first, const std::vector<std::uint32_t>& ranks) {
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

void TextReport::add_hints() {
  add_heading("What to look at");
  for (const models::Misplacement& found : report_.misplacements) {
    text_ +=
        fmt::format("  {} feeds stream '{}' but runs on '{}', where {}{} stands in front of it.\n",
                    found.act.op, found.feeds_stream, found.act.stream, found.behind.op,
                    found.behind.micro_batch == 0 ? std::string() : " of " + detail(found.behind));
  }
  if (report_.remedies.empty()) return;
  text_ += "  Each of these changes alone lets this run complete (tried):\n";
  for (const models::Remedy& remedy : report_.remedies) {
    text_ += remedy.kind == models::Remedy::Kind::kStream
                 ? fmt::format("    {} on stream '{}' instead of '{}'\n", remedy.op,
                               remedy.to_stream, remedy.from_stream)
                 : fmt::format("    {} slots instead of {} in register '{}' of {}\n", remedy.slots,
                               remedy.slots_before, remedy.reg, remedy.op);
  }
}

std::string TextReport::device_text(const RankReport& rank) const {
  if (explanation_.verdict == Verdict::kLimit) return "not at rest";
  if (rank.dead) return styled(kRed, "dead");
  return rank.spins ? styled(kRed, "100 % (spins)") : "idle";
}

// "2 done, 3rd at nccl-1998 (started, spins)": as people tell it.
std::string TextReport::progress_text(const Progress& progress) const {
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

// Ranks that say the same are told once, where the first of them stands.
void TextReport::add_ranks() {
  if (explanation_.verdict == Verdict::kCompleted) return;
  // A thread and a phase or stream may have one name.
  std::vector<std::pair<std::string, bool>> columns;
  for (const RankReport& rank : explanation_.ranks) {
    for (const Progress& progress : rank.progress) {
      const std::pair column(progress.what, progress.program);
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
    }
  }
  std::vector<std::string> header = {styled(kBold, "rank"), styled(kBold, "device")};
  for (const auto& [what, program] : columns) header.push_back(styled(kBold, what));
  std::vector<std::pair<const std::vector<std::string>*, std::vector<std::uint32_t>>> rows;
  std::map<std::vector<std::string>, std::size_t> row_of;
  for (const RankReport& rank : explanation_.ranks) {
    std::vector<std::string> row(header.size());
    row[1] = device_text(rank);
    for (const Progress& progress : rank.progress) {
      const auto column =
          std::find(columns.begin(), columns.end(), std::pair(progress.what, progress.program));
      row[2 + static_cast<std::size_t>(column - columns.begin())] = progress_text(progress);
    }
    const auto [known, is_new] = row_of.emplace(std::move(row), rows.size());
    if (is_new) rows.emplace_back(&known->first, std::vector<std::uint32_t>());
    rows[known->second].second.push_back(rank.rank);
  }
  Table table(header);
  for (const auto& [text, ranks] : rows) {
    std::vector<std::string> row = *text;
    row.front() = short_ranges(ranks);
    table.add(row);
  }
  text_ += "\n" + table.text();
}

// In nanoseconds, to be held against what another tool prints. Ranks in a row that end at the same
// moment are told once.
void TextReport::add_finish_times() {
  if (explanation_.verdict != Verdict::kCompleted) return;
  constexpr std::size_t kMostRows = 64;
  const std::vector<RankReport>& ranks = explanation_.ranks;
  Table table({styled(kBold, "rank"), styled(kBold, "finishes at")});
  std::size_t rows = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    if (!ranks[i].finish_ns) return;
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end].finish_ns == ranks[i].finish_ns) ++end;
    if (rows++ == kMostRows) {
      table.add({fmt::format("{}-{}", i, ranks.size() - 1), "see --json"});
      break;
    }
    table.add({end - i == 1 ? std::to_string(i) : fmt::format("{}-{}", i, end - 1),
               fmt::format("{} ns", *ranks[i].finish_ns)});
    i = end;
  }
  text_ += "\n" + table.text();
}

// What each rank waited for, as far as any did, and how much it held.
void TextReport::add_pipeline(const models::PipelineReport& pipeline) {
  using models::IdleTime;
  const std::vector<std::pair<const char*, std::int64_t IdleTime::*>> causes = {
      {"at the start", &IdleTime::start_ns},     {"for inputs", &IdleTime::input_ns},
      {"for gradients", &IdleTime::gradient_ns}, {"for messages", &IdleTime::message_ns},
      {"for the host", &IdleTime::host_ns},      {"at the end", &IdleTime::finished_ns},
  };
  std::vector<std::string> header = {"rank", "busy", "idle"};
  std::vector<std::int64_t IdleTime::*> shown;
  for (const auto& [name, time] : causes) {
    const bool any = std::any_of(
        pipeline.ranks.begin(), pipeline.ranks.end(),
        [field = time](const models::PipelineRank& rank) { return rank.idle.*field > 0; });
    if (!any) continue;
    header.emplace_back(name);
    shown.push_back(time);
  }
  header.emplace_back("peak activations");
  if (pipeline.has_memory) header.emplace_back("peak memory");
  for (std::string& cell : header) cell = styled(kBold, cell);
  Table table(header);
  for (std::size_t i = 0; i < pipeline.ranks.size(); ++i) {
    const models::PipelineRank& rank = pipeline.ranks[i];
    std::vector<std::string> row = {std::to_string(i), time_text(rank.busy_ns),
                                    time_text(rank.idle.all())};
    for (const auto time : shown) row.push_back(time_text(rank.idle.*time));
    row.push_back(std::to_string(rank.peak_activations));
    if (pipeline.has_memory) row.push_back(bytes_text(rank.peak_bytes));
    table.add(std::move(row));
  }
  add_heading(fmt::format("The schedule takes {}", time_text(pipeline.makespan_ns)));
  text_ += table.text(2);
}

// Ranks in a row that say the same are told once. That of a schedule alone is in its own table.
void TextReport::add_memory(const models::MemoryReport& memory) {
  if (!models::has_sizes_beside_schedule(report_.graph)) return;
  const bool any_held = std::any_of(memory.begin(), memory.end(),
                                    [](const models::RankMemory& rank) { return rank.held > 0; });
  std::vector<std::string> header = {styled(kBold, "rank")};
  if (any_held) header.push_back(styled(kBold, "all the time"));
  for (const char* name : {"reserved", "peak", "at"}) header.push_back(styled(kBold, name));
  Table table(header);
  for (std::size_t i = 0; i < memory.size();) {
    const models::RankMemory& rank = memory[i];
    const auto differs = [&](const models::RankMemory& other) { return other != rank; };
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end =
        static_cast<std::size_t>(std::find_if(from, memory.end(), differs) - memory.begin());
    std::vector<std::string> row = {end - i == 1 ? std::to_string(i)
                                                 : fmt::format("{}-{}", i, end - 1)};
    if (any_held) row.push_back(bytes_text(rank.held));
    row.push_back(bytes_text(rank.reserved));
    row.push_back(bytes_text(rank.peak));
    row.push_back(time_text(rank.peak_ns));
    table.add(std::move(row));
    i = end;
  }
  add_heading("Memory");
  text_ += table.text(2);
}

void TextReport::add_collateral() {
  text_ += "\n";
  if (explanation_.cycle.empty()) {
    text_ += fmt::format("Stuck: {}.\n", counted(explanation_.stuck, "act"));
    return;
  }
  if (explanation_.collateral == 0) {
    text_ += "Nothing else is stuck.\n";
    return;
  }
  const auto& distances = explanation_.collateral_by_distance;
  const std::uint32_t behind =
      std::accumulate(distances.begin(), distances.end(), std::uint32_t{0});
  const std::uint32_t elsewhere = explanation_.collateral - behind;
  if (behind > 0) {
    text_ += fmt::format("Behind the cycle: {} ({})", counted(behind, "more act"),
                         distances_text(behind));
  }
  if (elsewhere > 0) {
    text_ += fmt::format("{} not behind this cycle: {}", behind > 0 ? "; stuck, but" : "Stuck, but",
                         counted(elsewhere, "act"));
  }
  text_ += report_.all_waits.empty() ? "; --all lists them.\n" : ".\n";
}

// "3 at 1 wait, 2 at 2 waits, 4 farther".
std::string TextReport::distances_text(std::uint32_t behind) const {
  constexpr std::size_t kMostDistances = 4;
  std::string text;
  std::uint32_t told = 0;
  for (std::size_t i = 0; i < explanation_.collateral_by_distance.size() && i < kMostDistances;
       ++i) {
    const std::uint32_t count = explanation_.collateral_by_distance[i];
    told += count;
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", count, counted(i + 1, "wait"));
  }
  if (told < behind) text += fmt::format(", {} farther", behind - told);
  return text;
}

void TextReport::add_all_waits() {
  add_heading("All waits");
  Table table;
  for (const Wait& wait : report_.all_waits) {
    const std::string to = party_text(wait.to);
    table.add({party_text(wait.from), wait.from.act.stream, stage_text(wait.from.act),
               fmt::format("{} {}", wait_text(wait), to),
               fmt::format("[{}]", kind_name(wait.kind))});
  }
  text_ += table.text(2);
}

}  // namespace

std::string text_report(const Report& report, const TextOptions& options) {
  return TextReport(report, options).run();
}

std::string hang_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).hang();
}

std::string stuck_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).stuck();
}

}  // namespace pipesim::viz
