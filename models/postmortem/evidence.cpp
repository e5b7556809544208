#include "models/postmortem/evidence.hpp"

#include <algorithm>

#include "models/characters.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::models {
namespace {

// PyTorch numbers its groups, or names them by a hash: a number alone says too little.
std::string short_name(const EvidenceGroup& group) {
  const bool number =
      !group.name.empty() && std::all_of(group.name.begin(), group.name.end(), is_digit);
  return number ? "pg" + group.name : group.name;
}

}  // namespace

std::string process_name(const ProcessId& id) {
  if (id.pid.empty()) return {};
  std::string name = "process " + id.pid;
  if (!id.host.empty()) name += " on " + id.host;
  if (!id.gpu.empty()) name += ", GPU " + id.gpu;
  return printable(name);
}

std::string call_name(const RecordedCall& call, const EvidenceGroup& group, std::uint32_t rank) {
  std::string name = call.end_name.empty() ? "coalesced" : call.end_name;
  if (call.ops.empty() && call.end_name.empty()) name = call.messages ? "message" : "call";
  if (!call.coalesced && !call.ops.empty()) {
    const RecordedOp& op = call.ops.front();
    name = op.name;
    if (op.message) {
      name += op.source == rank ? " to " + std::to_string(op.target)
                                : " from " + std::to_string(op.source);
    }
  }
  const std::string of = short_name(group);
  return printable(of.empty() ? name : name + " " + of);
}

std::string group_name(const EvidenceGroup& group) {
  if (group.name.empty() && group.description.empty()) return "group not told";
  if (group.description.empty() || group.description == "undefined") {
    return printable(short_name(group));
  }
  if (group.name.empty() || group.name == group.description) return printable(group.description);
  return printable(group.description + " (" + short_name(group) + ")");
}

std::string place_text(const Evidence& evidence, const EvidencePlace& place) {
  if (place.file >= evidence.files.size()) return {};
  const std::string file = printable(evidence.files[place.file]);
  return place.line == 0 ? file : file + ":" + std::to_string(place.line);
}

}  // namespace pipesim::models
