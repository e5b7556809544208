#include "features/diagnose/diagnosis_reasons.hpp"

#include <optional>

#include <fmt/format.h>

#include "viz/report/report_lines.hpp"
#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

std::string process_text(const models::ProcessStanding& process) {
  switch (process.state) {
    case models::ProcessState::kSilent:
      return "did not answer";
    case models::ProcessState::kDead:
      return "its process is dead" + (process.reason.empty() ? "" : ": " + process.reason);
    case models::ProcessState::kStopped:
      return "its process is stopped: " + process.reason;
    default:
      return process.reason;
  }
}

class Reasons {
 public:
  Reasons(const models::Evidence& evidence, const models::Diagnosis& diagnosis)
      : evidence_(evidence), diagnosis_(diagnosis) {}

  std::string table(std::size_t width);

 private:
  void add(const std::string& fact, const models::EvidencePlace& place);
  void add_wait(const models::Wait& wait, const models::EvidencePlace& place);
  void add_rank(std::uint32_t rank, std::uint32_t group);
  void add_call_of(const models::Wait& wait);

  const models::Evidence& evidence_;
  const models::Diagnosis& diagnosis_;
  Table table_;
};

void Reasons::add(const std::string& fact, const models::EvidencePlace& place) {
  const std::string where = place_text(evidence_, place);
  if (!where.empty()) table_.add({where, fact});
}

void Reasons::add_wait(const models::Wait& wait, const models::EvidencePlace& place) {
  add(fmt::format("rank {} waits in {}", wait.from.rank, models::printable(op_text(wait.from.op))),
      place);
}

void Reasons::add_rank(std::uint32_t rank, std::uint32_t group) {
  const models::RankEvidence& of = evidence_.ranks[rank];
  for (const models::GroupProgress& progress : of.progress) {
    if (progress.group != group) continue;
    add(fmt::format("rank {} called {} of {}", rank,
                    progress.called < 0 ? "nothing" : call_number_text(progress.called),
                    group_name(evidence_.groups[group])),
        progress.place);
  }
  if (of.host) add(host_standing_text(of, rank), of.host->place);
  if (of.process.state == models::ProcessState::kNotTold) return;
  add(fmt::format("rank {}: {}", rank, process_text(of.process)), of.process.place);
}

void Reasons::add_call_of(const models::Wait& wait) {
  for (const models::RecordedCall& call : evidence_.ranks[wait.from.rank].calls) {
    const bool same =
        call.sequence == wait.from.op.number &&
        call_name(call, evidence_.groups[call.group], wait.from.rank) == wait.from.op.name;
    if (same) add_wait(wait, call.place);
  }
}

std::string Reasons::table(std::size_t width) {
  for (const models::DiagnosisRoot& root : diagnosis_.roots) {
    add_wait(root.first, root.place);
    if (root.reason != models::RootReason::kUnexplained) add_rank(root.rank, root.group);
  }
  for (const models::Suspect& suspect : diagnosis_.suspects) {
    add_wait(suspect.first, suspect.place);
    add_rank(suspect.rank, suspect.group);
  }
  for (const models::Wait& wait : diagnosis_.explanation.cycle) add_call_of(wait);
  for (const models::ProcessStanding& process : diagnosis_.unplaced) {
    add(process.name + " " + std::string(unplaced_text(process)), process.place);
  }
  return table_.fitted(width, 2);
}

}  // namespace

std::string call_number_text(std::int64_t number) {
  if (number == models::kUncounted) return "?";
  return number < 0 ? "none" : fmt::format("#{}", number);
}

std::string_view unplaced_text(const models::ProcessStanding& process) {
  switch (process.state) {
    case models::ProcessState::kDead:
      return "is dead";
    case models::ProcessState::kBehind:
      return "is behind";
    case models::ProcessState::kStopped:
      return "is stopped";
    default:
      return "did not answer";
  }
}

std::string host_standing_text(const models::RankEvidence& of, std::uint32_t rank) {
  if (!of.host) return {};
  return fmt::format("rank {}'s host {} {}", rank, of.host->blocked ? "waits in" : "is in",
                     of.host->at);
}

std::string reasons_table(const models::Evidence& evidence, const models::Diagnosis& diagnosis,
                          std::size_t width) {
  return Reasons(evidence, diagnosis).table(width);
}

}  // namespace pipesim::viz
