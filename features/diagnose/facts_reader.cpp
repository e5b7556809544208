#include "features/diagnose/facts_reader.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "formats/document/json_reader.hpp"
#include "viz/report/words.hpp"

namespace pipesim::formats {
namespace {

using models::ProcessState;

std::string fact_text(const YamlValue& object, std::string_view key) {
  const auto found = object.find(key);
  return found && found->is_text() ? models::printable(found->text()) : std::string();
}

std::optional<std::uint32_t> fact_number(const YamlValue& object, std::string_view key) {
  const auto found = object.find(key);
  const auto number = found ? found->integer<std::uint32_t>() : std::nullopt;
  return number && *number <= models::kMaxEvidenceRanks ? number : std::nullopt;
}

std::optional<std::uint32_t> fact_rank(const YamlValue& object) {
  const auto rank = fact_number(object, "rank");
  return rank && *rank < models::kMaxEvidenceRanks ? rank : std::nullopt;
}

models::ProcessId fact_process(const YamlValue& object, const std::string& host) {
  const auto pid = object.find("pid");
  const bool known = pid && pid->integer<std::uint32_t>();
  return {host, known ? std::string(pid->text()) : std::string(), {}};
}

}  // namespace

models::RankEvidence& FactsReader::at(std::uint32_t rank) {
  if (evidence_.ranks.size() <= rank) {
    models::RankEvidence unknown;
    unknown.complete = false;
    evidence_.ranks.resize(rank + 1, unknown);
  }
  return evidence_.ranks[rank];
}

bool FactsReader::read(const std::string& text, models::Diagnostics& diagnostics,
                       const std::string& name) {
  if (text.size() > kMaxFactsBytes) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a file of facts can have at most {} MiB", kMaxFactsBytes >> 20));
    return false;
  }
  const auto document =
      read_json(text, {"a file of facts", models::Code::kNoEvidence}, diagnostics);
  if (!document) return false;
  const YamlValue root = document->root();
  if (!root.find("pipesim_facts")) {
    diagnostics.error({}, models::Code::kNoEvidence, "no facts of 'pipesim collect' in this file");
    return false;
  }
  evidence_.format = "facts";
  const models::EvidencePlace place{static_cast<std::uint32_t>(evidence_.files.size()), 0};
  evidence_.files.emplace_back(name);
  const std::string host = fact_text(root, "host");
  if (const auto size = fact_number(root, "world_size"); size && *size > 0) {
    at(*size - 1);
    std::uint32_t& known = evidence_.world_size;
    if (known != 0 && known != *size) {
      notes_.emplace_back(
          fmt::format("The number of ranks is {} on {}, but {} on another host: it must be equal",
                      *size, host, known));
    }
    known = std::max(known, *size);
  }
  for (const YamlValue& it : objects_of(root, "ranks")) add_process(it, host, place);
  for (const YamlValue& it : objects_of(root, "gone")) add_gone(it, host, place);
  if (const auto conflicts = root.find("conflicts"); conflicts && conflicts->is_list()) {
    for (const YamlValue& it : conflicts->items()) {
      if (it.is_text()) notes_.emplace_back(it.text());
    }
  }
  return true;
}

// Adds the process of a rank. If the rank is unknown, adds the process only if it is stopped.
void FactsReader::add_process(const YamlValue& object, const std::string& host,
                              models::EvidencePlace place) {
  models::ProcessStanding process;
  process.id = fact_process(object, host);
  process.name = models::process_name(process.id);
  process.place = place;
  const auto rank = fact_rank(object);
  const std::string state = fact_text(object, "state");
  if (state == "stopped") {
    process.state = ProcessState::kStopped;
    process.reason =
        fmt::format("a signal stopped it; 'kill -CONT {}' lets it continue", process.id.pid);
  } else if (state == "tracing stop") {
    process.state = ProcessState::kStopped;
    process.reason = "a debugger stopped it";
  } else if (state == "disk sleep") {
    const std::string who = rank ? fmt::format("rank {} ({})", *rank, process.name) : process.name;
    const std::string wait = fact_text(object, "wchan");
    notes_.emplace_back(
        fmt::format("The kernel blocks {}: state D{}", who, wait.empty() ? "" : ", in " + wait));
  }
  if (rank) {
    named_.insert(*rank);
    at(*rank).process = std::move(process);
    const auto moved = object.find("moved");
    const bool still = state == "sleeping" && moved && moved->truth() == false;
    const bool runs = state == "running" || (moved && moved->truth() == true);
    const bool in_futex = fact_text(object, "wchan").find("futex") != std::string::npos;
    models::MainThreadFacts thread{still, in_futex, fact_text(object, "line"), runs};
    if (still || runs || in_futex || !thread.line.empty()) {
      evidence_.main_threads[*rank] = std::move(thread);
    }
  } else if (process.state == ProcessState::kStopped) {
    evidence_.unplaced.push_back(std::move(process));
  }
}

void FactsReader::add_gone(const YamlValue& object, const std::string& host,
                           models::EvidencePlace place) {
  const auto rank = fact_rank(object);
  if (!rank) return;
  named_.insert(*rank);
  models::ProcessStanding& process = at(*rank).process;
  // Keeps the process that is already known: an elastic job may have started the rank again on
  // another host.
  if (!process.id.pid.empty()) return;
  process.state = ProcessState::kDead;
  process.place = place;
  process.id = fact_process(object, host);
  process.name = models::process_name(process.id);
  const std::string why = fact_text(object, "why");
  process.reason = why.empty() ? fmt::format("no process of it is on {}", host) : why;
}

std::vector<models::OutsideText> FactsReader::notes() const {
  std::vector<models::OutsideText> notes = notes_;
  std::vector<std::uint32_t> others;
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    if (named_.count(rank) == 0) others.push_back(rank);
  }
  if (!others.empty() && !named_.empty()) {
    notes.emplace_back(
        fmt::format("No facts about {}: run 'pipesim collect' on {} too, with the same folder",
                    viz::ranks_text(others), others.size() == 1 ? "its host" : "their hosts"));
  }
  return notes;
}

}  // namespace pipesim::formats
