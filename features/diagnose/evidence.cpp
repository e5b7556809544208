#include "features/diagnose/evidence.hpp"

#include <algorithm>

#include "models/characters.hpp"

namespace pipesim::models {
namespace {

// Adds "pg" to a group name that is only a number, because PyTorch names groups by a number or a
// hash.
std::string short_name(const EvidenceGroup& group) {
  const bool number =
      !group.name.empty() && std::all_of(group.name.begin(), group.name.end(), is_digit);
  return (number ? "pg" : "") + group.name;
}

}  // namespace

OutsideText process_name(const ProcessId& id) {
  if (id.pid.empty()) return {};
  std::string name = "process " + id.pid;
  if (!id.host.empty()) name += " on " + id.host;
  if (!id.gpu.empty()) name += ", GPU " + id.gpu;
  return name;
}

OutsideText call_name(const RecordedCall& call, const EvidenceGroup& group, std::uint32_t rank) {
  std::string name = call.end_name.empty() ? "coalesced" : call.end_name;
  if (call.ops.empty() && call.end_name.empty()) name = call.messages ? "message" : "call";
  if (!call.coalesced && !call.ops.empty()) {
    const RecordedOp& op = call.ops.front();
    name = op.name;
    if (op.message) {
      name += op.source == rank       ? " to " + std::to_string(op.target)
              : op.source == kAnyRank ? " from any"
                                      : " from " + std::to_string(op.source);
    }
  }
  const std::string of = short_name(group);
  // Groups of calls that only stacks show have the names of these calls.
  return of.empty() || of == name ? name : name + " " + of;
}

OutsideText group_name(const EvidenceGroup& group) {
  if (group.name.empty() && group.description.empty()) return "unknown group";
  if (group.description.empty() || group.description == "undefined") {
    return short_name(group);
  }
  if (group.name.empty() || group.name == group.description) return group.description;
  return group.description + " (" + short_name(group) + ")";
}

void add_gap(Evidence& evidence, std::string_view gap) {
  const auto known = std::find(evidence.gaps.begin(), evidence.gaps.end(), gap);
  if (known == evidence.gaps.end()) evidence.gaps.emplace_back(std::string(gap));
}

bool has_pending_call(const Evidence& evidence) {
  return std::any_of(evidence.ranks.begin(), evidence.ranks.end(), [](const auto& rank) {
    return std::any_of(rank.calls.begin(), rank.calls.end(),
                       [](const auto& call) { return call.state != CallState::kCompleted; });
  });
}

OutsideText place_text(const Evidence& evidence, const EvidencePlace& place) {
  if (place.file >= evidence.files.size()) return {};
  const std::string file = evidence.files[place.file];
  return place.line == 0 ? file : file + ":" + std::to_string(place.line);
}

}  // namespace pipesim::models
