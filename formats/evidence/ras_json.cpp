#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "formats/evidence/ras_report.hpp"

namespace pipesim::formats {
namespace {

using Json = nlohmann::json;

std::string string_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number_integer() ? std::to_string(found->get<std::int64_t>()) : std::string();
}

std::optional<std::int64_t> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();
  return value < 0 ? std::nullopt : std::optional(value);
}

// The objects of a list; none where there is no list.
std::vector<const Json*> objects_of(const Json& object, const char* key) {
  std::vector<const Json*> objects;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return objects;
  for (const Json& it : *found) {
    if (it.is_object()) objects.push_back(&it);
  }
  return objects;
}

models::ProcessId process_of(const Json& object) {
  return {string_of(object, "host"), string_of(object, "pid"), string_of(object, "cuda_dev")};
}

// The member that an object of a list of ranks is about.
RasMember* member_of(const Json& object, std::uint32_t file, RasCommunicator& communicator) {
  const auto rank = ras_rank(number_of(object, "rank"));
  if (!rank) return nullptr;
  RasMember& member = communicator.member(*rank);
  member.place = {file, 0};
  if (models::ProcessId id = process_of(object); !id.pid.empty()) member.process = std::move(id);
  return &member;
}

void take_counts(const Json& object, RasMember& member) {
  const auto counts = object.find("collective_counts");
  if (counts == object.end() || !counts->is_object()) return;
  for (const auto& [name, count] : counts->items()) {
    if (count.is_number_integer() && count.get<std::int64_t>() >= 0) {
      member.counts[models::printable(name)] = count.get<std::int64_t>();
    }
  }
}

models::ProcessState state_of_missing(const Json& object) {
  const auto status = object.find("status");
  const bool dead = status != object.end() && status->is_object() &&
                    status->value("considered_dead", Json()) == Json(true);
  return dead ? models::ProcessState::kDead : models::ProcessState::kSilent;
}

void take_communicator(const Json& object, std::uint32_t file, RasReport& report) {
  std::string hash = models::printable(string_of(object, "hash"));
  if (hash.starts_with("0x")) hash = hash.substr(2);
  // Communicators that were split may share a hash.
  while (report.communicators.count(hash) > 0) hash += "'";
  RasCommunicator& communicator = report.communicators[hash];
  communicator.hash = hash;
  communicator.size = ras_rank(number_of(object, "size")).value_or(0);
  for (const Json* it : objects_of(object, "ranks")) {
    if (RasMember* member = member_of(*it, file, communicator)) take_counts(*it, *member);
  }
  for (const Json* it : objects_of(object, "missing_ranks")) {
    RasMember* member = member_of(*it, file, communicator);
    if (member != nullptr) member->state = state_of_missing(*it);
  }
}

// RAS gives no number of GPUs here: each that is in a communicator counts.
std::uint32_t gpus_of(const RasReport& report) {
  std::set<models::ProcessId> known;
  std::uint32_t others = 0;
  for (const auto& [hash, communicator] : report.communicators) {
    std::uint32_t told = 0;
    for (const auto& [rank, member] : communicator.members) {
      if (member.process.pid.empty()) continue;
      known.insert(member.process);
      ++told;
    }
    others = std::max(others, communicator.size - std::min(communicator.size, told));
  }
  return static_cast<std::uint32_t>(known.size()) + others;
}

std::optional<RasReport> report_of(const Json& root, std::uint32_t file) {
  if (!root.is_object() || !root.contains("communicators") || !root["communicators"].is_array()) {
    return std::nullopt;
  }
  RasReport report;
  for (const Json* it : objects_of(root, "communicators")) take_communicator(*it, file, report);
  report.gpus = gpus_of(report);
  return report;
}

}  // namespace

std::vector<RasReport> read_ras_json(const std::string& text, std::uint32_t file,
                                     models::Diagnostics& diagnostics) {
  std::vector<RasReport> reports;
  // Several objects may follow each other, each from the beginning of a line on.
  for (std::size_t begin = text.find('{'); begin != std::string::npos;) {
    const auto parsed = [&](std::size_t end) {
      return Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                         text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    };
    std::size_t end = std::min(text.find("\n{", begin), text.size());
    auto report = report_of(parsed(end), file);
    if (!report && end < text.size()) report = report_of(parsed(end = text.size()), file);
    if (!report) {
      diagnostics
          .error({}, models::Code::kNoEvidence,
                 "no report of NCCL RAS: it has no list 'communicators'")
          .notes.emplace_back("'ncclras -f json' prints one");
      return {};
    }
    reports.push_back(std::move(*report));
    begin = text.find('{', end);
  }
  return reports;
}

}  // namespace pipesim::formats
