#include <algorithm>

#include <fmt/format.h>

#include "formats/scenario/scenario_text.hpp"
#include "models/result/end_names.hpp"

#include "features/diagnose/nccl_calls.hpp"

namespace pipesim::formats {
namespace {

// The steps of one process. The stream of a communicator is the stream of its first call.
class CallProgram {
 public:
  CallProgram(const std::vector<NcclGroup>& groups, std::uint32_t rank) {
    for (const NcclGroup& group : groups) {
      const auto member = group.members.find(rank);
      if (member != group.members.end()) group_of_[member->second.second] = &group;
    }
  }

  YamlNode steps(const std::vector<NcclCall>& calls) {
    YamlNode list = YamlNode::list();
    for (const NcclCall& call : calls) add(call, list);
    if (!list.empty()) list.add(ScenarioMap("synchronize", "device"));
    return list;
  }

 private:
  void add(const NcclCall& call, YamlNode& list);

  std::map<std::string, const NcclGroup*> group_of_;  // groups by address
  std::map<std::string, std::string> stream_of_;      // stream names by address
  std::map<std::string, std::size_t> streams_;        // stream numbers
};

void CallProgram::add(const NcclCall& call, YamlNode& list) {
  const NcclGroup& group = *group_of_.at(call.communicator);
  const auto peer = group.job_rank.find(call.root);
  const bool known = peer != group.job_rank.end();
  const bool is_message = !models::is_collective(call.operation);
  if (is_message && !known) return;  // the other rank is unknown
  ScenarioMap step(models::operation_name(call.operation), plain_name(group.name));
  if (is_message || models::has_root(call.operation)) {
    step.number(peer_key(call.operation), known ? peer->second : group.members.begin()->first);
  }
  const std::uint64_t size = call.type < kNcclTypes.size() ? kNcclTypes.at(call.type).second : 1;
  step.value("bytes", fmt::format("{}B", std::max<std::uint64_t>(1, call.count) * size));
  const std::string& stream = stream_of_.emplace(call.communicator, call.stream).first->second;
  const std::size_t number = streams_.emplace(stream, streams_.size()).first->second;
  list.add(step.text("stream", fmt::format("stream{}", number)));
}

}  // namespace

std::string nccl_call_scenario(const std::vector<NcclGroup>& groups,
                               const models::Diagnosis& diagnosis) {
  std::map<std::uint32_t, const NcclProcess*> processes;
  ScenarioText scenario("nccl_calls");
  for (const NcclGroup& group : groups) {
    std::vector<std::uint32_t> members;
    for (const auto& [rank, member] : group.members) {
      members.push_back(rank);
      processes[rank] = member.first;
    }
    scenario.add("groups", plain_name(group.name), rank_list(members));
  }
  for (const auto& [rank, process] : processes) {
    scenario.add_program(rank, CallProgram(groups, rank).steps(process->calls));
  }
  if (!scenario.has("programs")) return {};
  scenario.set_ranks(std::size_t{processes.rbegin()->first} + 1);
  const sim::Verdict verdict = diagnosis.explanation.verdict;
  if (verdict == sim::Verdict::kMismatch || verdict == sim::Verdict::kStarved) {
    scenario.set("expect", ScenarioMap("verdict", models::verdict_name(verdict)));
  }
  return scenario.take_text();
}

}  // namespace pipesim::formats
