#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/document/json_reader.hpp"

#include "features/diagnose/ras_report.hpp"

namespace pipesim::formats {
namespace {

// Returns a text, or an integer as text.
std::string string_of(const YamlValue& object, std::string_view key) {
  const auto found = object.find(key);
  const bool known = found && (found->is_text() || found->integer<std::int64_t>());
  return known ? std::string(found->text()) : std::string();
}

std::optional<std::int64_t> number_of(const YamlValue& object, std::string_view key) {
  const auto found = object.find(key);
  const auto number = found ? found->integer<std::int64_t>() : std::nullopt;
  return number >= 0 ? number : std::nullopt;
}

// Returns the objects in a list; empty if the list is missing.
std::vector<YamlValue> objects_of(const YamlValue& object, std::string_view key) {
  std::vector<YamlValue> objects;
  const auto found = object.find(key);
  if (!found || !found->is_list()) return objects;
  found->for_each_item([&](const YamlValue& item) {
    if (item.is_map()) objects.push_back(item);
  });
  return objects;
}

models::ProcessId process_of(const YamlValue& object) {
  return {string_of(object, "host"), string_of(object, "pid"), string_of(object, "cuda_dev")};
}

// Returns the member that an object in a list of ranks describes, or nullptr.
RasMember* member_of(const YamlValue& object, std::uint32_t file, RasCommunicator& communicator) {
  const auto rank = ras_rank(number_of(object, "rank"));
  if (!rank) return nullptr;
  RasMember& member = communicator.member(*rank);
  member.place = {file, 0};
  if (models::ProcessId id = process_of(object); !id.pid.empty()) {
    member.process = std::move(id);
  }
  return &member;
}

void take_counts(const YamlValue& object, RasMember& member) {
  const auto counts = object.find("collective_counts");
  if (!counts) return;
  counts->for_each_entry([&](const YamlValue::Entry& entry) {
    const auto count = entry.value.integer<std::int64_t>();
    if (count >= 0) member.counts[models::printable(entry.key.text())] = *count;
  });
}

models::ProcessState state_of_missing(const YamlValue& object) {
  const auto status = object.find("status");
  const auto dead = status ? status->find("considered_dead") : std::nullopt;
  return dead && dead->truth().value_or(false) ? models::ProcessState::kDead
                                               : models::ProcessState::kSilent;
}

void take_communicator(const YamlValue& object, std::uint32_t file, RasReport& report) {
  std::string hash = models::printable(string_of(object, "hash"));
  if (hash.starts_with("0x")) hash = hash.substr(2);
  // Communicators from a split can share a hash.
  while (report.communicators.count(hash) > 0) hash += "'";
  RasCommunicator& communicator = report.communicators[hash];
  communicator.hash = hash;
  communicator.size = ras_rank(number_of(object, "size")).value_or(0);
  for (const YamlValue& it : objects_of(object, "ranks")) {
    if (RasMember* member = member_of(it, file, communicator)) take_counts(it, *member);
  }
  for (const YamlValue& it : objects_of(object, "missing_ranks")) {
    RasMember* member = member_of(it, file, communicator);
    if (member != nullptr) member->state = state_of_missing(it);
  }
}

// Returns the number of GPUs that are in communicators, because this report has no total.
std::uint32_t gpus_of(const RasReport& report) {
  std::set<const models::ProcessId*, ByProcess> known;
  std::uint32_t others = 0;
  for (const auto& [hash, communicator] : report.communicators) {
    std::uint32_t told = 0;
    for (const auto& [rank, member] : communicator.members) {
      if (member.process.pid.empty()) continue;
      known.insert(&member.process);
      ++told;
    }
    others = std::max(others, communicator.size - std::min(communicator.size, told));
  }
  return static_cast<std::uint32_t>(known.size()) + others;
}

std::optional<RasReport> report_of(std::string_view text, std::uint32_t file) {
  const std::optional<YamlDocument> json = read_json(text);
  const auto communicators = json ? json->root().find("communicators") : std::nullopt;
  if (!communicators || !communicators->is_list()) return std::nullopt;
  RasReport report;
  for (const YamlValue& it : objects_of(json->root(), "communicators")) {
    take_communicator(it, file, report);
  }
  return report;
}

}  // namespace

std::vector<RasReport> read_ras_json(const std::string& text, std::uint32_t file,
                                     models::Diagnostics& diagnostics) {
  const std::string_view all = text;
  std::vector<RasReport> reports;
  // The text can have several objects, each at the beginning of a line.
  for (std::size_t begin = text.find('{'); begin != std::string::npos;) {
    std::size_t end = std::min(text.find("\n{", begin), text.size());
    auto report = report_of(all.substr(begin, end - begin), file);
    if (!report && end < text.size()) {
      end = text.size();
      report = report_of(all.substr(begin), file);
    }
    if (!report) {
      diagnostics
          .error({}, models::Code::kNoEvidence,
                 "no report of NCCL RAS: it has no list 'communicators'")
          .notes.emplace_back("'ncclras -f json' prints one");
      return {};
    }
    report->gpus = gpus_of(*report);
    reports.push_back(std::move(*report));
    begin = text.find('{', end);
  }
  return reports;
}

}  // namespace pipesim::formats
