// Builds evidence for tests, with a short line per call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "features/diagnose/evidence.hpp"

namespace pipesim::testing {

/// A builder of evidence. Every rank has a dump unless no_dump() is called for it.
class EvidenceBuilder {
 public:
  explicit EvidenceBuilder(std::uint32_t ranks) {
    evidence_.ranks.resize(ranks);
    for (auto& rank : evidence_.ranks) rank.has_dump = true;
  }

  std::uint32_t group(const std::string& name, std::vector<std::uint32_t> ranks) {
    evidence_.groups.push_back({name, "", std::move(ranks)});
    return static_cast<std::uint32_t>(evidence_.groups.size() - 1);
  }

  void no_dump(std::uint32_t rank) { evidence_.ranks[rank].has_dump = false; }

  /// Adds a call by `rank` with sequence number `sequence` on `group`.
  models::RecordedCall& call(std::uint32_t rank, std::uint32_t group, std::uint64_t sequence,
                             const std::string& op,
                             models::CallState state = models::CallState::kScheduled) {
    auto& calls = evidence_.ranks[rank].calls;
    models::RecordedCall call;
    call.group = group;
    call.sequence = sequence;
    call.state = state;
    models::RecordedOp it;
    it.name = op;
    it.record = calls.empty() ? 1 : calls.back().last_record + 1;
    it.state = state;
    call.last_record = it.record;
    call.ops.push_back(it);
    calls.push_back(call);
    return calls.back();
  }

  /// Adds a send from `rank` to `other`, or a recv by `rank` from `other`.
  models::RecordedCall& message(std::uint32_t rank, std::uint32_t group, bool sends,
                                std::uint32_t other,
                                models::CallState state = models::CallState::kScheduled) {
    const auto number = static_cast<std::uint64_t>(evidence_.ranks[rank].calls.size() + 1);
    models::RecordedCall& made = call(rank, group, number, sends ? "send" : "recv", state);
    made.messages = true;
    made.ops.front().message = true;
    made.ops.front().source = sends ? rank : other;
    made.ops.front().target = sends ? other : rank;
    return made;
  }

  models::Evidence& evidence() { return evidence_; }

 private:
  models::Evidence evidence_;
};

}  // namespace pipesim::testing
