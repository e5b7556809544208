#include <algorithm>

#include <fmt/format.h>

#include "formats/document/versions.hpp"
#include "formats/document/yaml_writer.hpp"

#include "features/diagnose/nccl_calls.hpp"

namespace pipesim::formats {
namespace {

using models::Operation;

// Returns a name that needs no quotes.
std::string plain(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    result += good ? c : '_';
  }
  return result;
}

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
    if (list.empty()) return list;
    YamlNode wait = YamlNode::map();
    wait.add("synchronize", YamlNode::text("device"));
    list.add(std::move(wait));
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
  YamlNode step = YamlNode::map();
  step.add(models::operation_name(call.operation), YamlNode::text(plain(group.name)));
  if (is_message || models::has_root(call.operation)) {
    const char* key = call.operation == Operation::kSend      ? "to"
                      : call.operation == Operation::kReceive ? "from"
                                                              : "root";
    const std::uint32_t rank = known ? peer->second : group.members.begin()->first;
    step.add(key, YamlNode::value(std::to_string(rank)));
  }
  const std::uint64_t size = call.type < kNcclTypes.size() ? kNcclTypes.at(call.type).second : 1;
  step.add("bytes",
           YamlNode::value(fmt::format("{}B", std::max<std::uint64_t>(1, call.count) * size)));
  const std::string& stream = stream_of_.emplace(call.communicator, call.stream).first->second;
  const std::size_t number = streams_.emplace(stream, streams_.size()).first->second;
  step.add("stream", YamlNode::text(fmt::format("stream{}", number)));
  list.add(std::move(step));
}

}  // namespace

std::string nccl_call_scenario(const std::vector<NcclGroup>& groups,
                               const models::Diagnosis& diagnosis) {
  std::map<std::uint32_t, const NcclProcess*> processes;
  YamlNode groups_node = YamlNode::map();
  for (const NcclGroup& group : groups) {
    YamlNode members = YamlNode::list();
    for (const auto& [rank, member] : group.members) {
      members.add(YamlNode::value(std::to_string(rank)));
      processes[rank] = member.first;
    }
    groups_node.add(plain(group.name), std::move(members));
  }
  YamlNode programs = YamlNode::list();
  for (const auto& [rank, process] : processes) {
    YamlNode steps = CallProgram(groups, rank).steps(process->calls);
    if (steps.empty()) continue;
    YamlNode program = YamlNode::map();
    program.add("on", YamlNode::value(std::to_string(rank)));
    program.add("do", std::move(steps));
    programs.add(std::move(program));
  }
  if (programs.empty()) return {};
  YamlNode top = YamlNode::map();
  top.add("schema", YamlNode::value(kScenarioSchema));
  top.add("name", YamlNode::text("nccl_calls"));
  top.add("ranks", YamlNode::value(std::to_string(processes.rbegin()->first + 1)));
  top.add("groups", std::move(groups_node));
  top.add("programs", std::move(programs));
  const sim::Verdict verdict = diagnosis.explanation.verdict;
  if (verdict == sim::Verdict::kMismatch || verdict == sim::Verdict::kStarved) {
    YamlNode expect = YamlNode::map();
    expect.add("verdict",
               YamlNode::text(verdict == sim::Verdict::kMismatch ? "mismatch" : "starved"));
    top.add("expect", std::move(expect));
  }
  return top.document({"groups", "programs"});
}

}  // namespace pipesim::formats
