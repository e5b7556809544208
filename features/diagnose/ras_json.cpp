#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/document/json_tree.hpp"

#include "features/diagnose/ras_report.hpp"

namespace pipesim::formats {
namespace {

using Index = PlainTree::Index;
using Kind = PlainTree::Kind;

std::optional<Index> of_kind(const PlainTree& tree, Index object, std::string_view key, Kind kind) {
  const auto found = tree.find(object, key);
  return found && tree.kind(*found) == kind ? found : std::nullopt;
}

std::string string_of(const PlainTree& tree, Index object, std::string_view key) {
  if (const auto text = of_kind(tree, object, key, Kind::kText)) {
    return std::string(tree.text(*text));
  }
  const auto number = of_kind(tree, object, key, Kind::kInteger);
  return number ? std::to_string(tree.integer(*number)) : std::string();
}

std::optional<std::int64_t> number_of(const PlainTree& tree, Index object, std::string_view key) {
  const auto found = of_kind(tree, object, key, Kind::kInteger);
  return found && tree.integer(*found) >= 0 ? std::optional(tree.integer(*found)) : std::nullopt;
}

// Returns the objects in a list; empty if the list is missing.
std::vector<Index> objects_of(const PlainTree& tree, Index object, std::string_view key) {
  std::vector<Index> objects;
  const auto found = of_kind(tree, object, key, Kind::kList);
  if (!found) return objects;
  for (const Index it : tree.items(*found)) {
    if (tree.kind(it) == Kind::kMap) objects.push_back(it);
  }
  return objects;
}

models::ProcessId process_of(const PlainTree& tree, Index object) {
  return {string_of(tree, object, "host"), string_of(tree, object, "pid"),
          string_of(tree, object, "cuda_dev")};
}

// Returns the member that an object in a list of ranks describes, or nullptr.
RasMember* member_of(const PlainTree& tree, Index object, std::uint32_t file,
                     RasCommunicator& communicator) {
  const auto rank = ras_rank(number_of(tree, object, "rank"));
  if (!rank) return nullptr;
  RasMember& member = communicator.member(*rank);
  member.place = {file, 0};
  if (models::ProcessId id = process_of(tree, object); !id.pid.empty()) {
    member.process = std::move(id);
  }
  return &member;
}

void take_counts(const PlainTree& tree, Index object, RasMember& member) {
  const auto counts = of_kind(tree, object, "collective_counts", Kind::kMap);
  if (!counts) return;
  const auto items = tree.items(*counts);  // alternating names and counts
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const Index count = items[i + 1];
    if (tree.kind(count) == Kind::kInteger && tree.integer(count) >= 0) {
      member.counts[models::printable(tree.text(items[i]))] = tree.integer(count);
    }
  }
}

models::ProcessState state_of_missing(const PlainTree& tree, Index object) {
  const auto status = of_kind(tree, object, "status", Kind::kMap);
  const auto dead = status ? of_kind(tree, *status, "considered_dead", Kind::kTruth) : std::nullopt;
  return dead && tree.truth(*dead) ? models::ProcessState::kDead : models::ProcessState::kSilent;
}

void take_communicator(const PlainTree& tree, Index object, std::uint32_t file, RasReport& report) {
  std::string hash = models::printable(string_of(tree, object, "hash"));
  if (hash.starts_with("0x")) hash = hash.substr(2);
  // Communicators from a split can share a hash.
  while (report.communicators.count(hash) > 0) hash += "'";
  RasCommunicator& communicator = report.communicators[hash];
  communicator.hash = hash;
  communicator.size = ras_rank(number_of(tree, object, "size")).value_or(0);
  for (const Index it : objects_of(tree, object, "ranks")) {
    if (RasMember* member = member_of(tree, it, file, communicator)) take_counts(tree, it, *member);
  }
  for (const Index it : objects_of(tree, object, "missing_ranks")) {
    RasMember* member = member_of(tree, it, file, communicator);
    if (member != nullptr) member->state = state_of_missing(tree, it);
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
  JsonProblem problem;
  const std::optional<JsonTree> json = read_json_tree(text, problem);
  if (!json || !of_kind(json->tree, json->root, "communicators", Kind::kList)) return std::nullopt;
  RasReport report;
  for (const Index it : objects_of(json->tree, json->root, "communicators")) {
    take_communicator(json->tree, it, file, report);
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
