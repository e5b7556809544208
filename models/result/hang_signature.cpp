#include "models/result/hang_signature.hpp"

#include "models/characters.hpp"
#include "models/lowering/names.hpp"
#include "models/result/end_names.hpp"

namespace pipesim::models {
namespace {

class SignatureWriter {
 public:
  SignatureWriter(const TaskGraph& graph, const Lowered& lowered, Layers layers)
      : graph_(graph), names_(graph, lowered), layers_(layers) {}

  std::string wait(const Wait& it) const {
    std::string text =
        std::to_string(static_cast<int>(it.kind)) + " " + party(it.from) + " > " + party(it.to);
    if (it.needed) text += " for " + op(*it.needed);
    return text;
  }

  // Names the op with its line in the user's program: the same call at another line is a different
  // hang.
  std::string op(const OpInfo& info) const {
    const std::string name =
        layers_ == Layers::kOnce ? without_numbers(name_of(info)) : name_of(info);
    return info.at.empty() ? name : name + " at " + info.at;
  }

 private:
  // Names calls by operation and communicator: their own names can contain the rank of a peer.
  std::string name_of(const OpInfo& info) const {
    if (!info.actor.valid()) return info.name;
    const ActorTemplate& actor = names_.actor(info.actor);
    if (!actor.step || actor.step->calls.empty()) return actor.name;
    std::string text;
    for (const CallTemplate& call : actor.step->calls) {
      if (!text.empty()) text += ", ";
      text += operation_name(call.operation);
      if (call.communicator != kNoIndex) text += " " + graph_.communicators[call.communicator].name;
    }
    return text;
  }

  std::string party(const WaitParty& it) const {
    switch (it.kind) {
      case sim::WaitNodeKind::kOp:
        return op(it.op);
      case sim::WaitNodeKind::kRank:
        return "a rank";
      case sim::WaitNodeKind::kOutside:
        break;
    }
    return "the outside";
  }

  const TaskGraph& graph_;
  const Names names_;
  const Layers layers_;
};

// Whether a watchdog, timeout or launcher caused the death. Such deaths differ between jobs that
// hang alike.
bool is_of_a_timeout(sim::DeathCause cause) {
  return cause == sim::DeathCause::kWatchdog || cause == sim::DeathCause::kTimeout ||
         cause == sim::DeathCause::kLauncher;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Returns the names of the first ops that wait for the deciding roots.
std::string roots_of(const Explanation& explanation) {
  std::set<std::string> names;
  for (const Root& root : explanation.roots) {
    if (cause_of(root) == explanation.cause) names.insert(root.first.from.op.name);
  }
  return joined(names);
}

}  // namespace

HangSignature hang_signature(const TaskGraph& graph, const Lowered& lowered,
                             const Explanation& explanation, Layers layers) {
  const SignatureWriter writer(graph, lowered, layers);
  HangSignature result;
  result.verdict = explanation.verdict;
  result.cause = explanation.cause;
  for (const Wait& wait : explanation.cycle) result.waits.insert(writer.wait(wait));
  for (const Misfit& misfit : explanation.mismatches) {
    std::string text = writer.op(misfit.first) + " against " + writer.op(misfit.second);
    // Differences can contain rank numbers, which change in a smaller job.
    for (const std::string& it : misfit.differences) {
      text += ": " + (it == misfit.sizes ? "sizes" : without_numbers(it));
    }
    result.waits.insert(std::move(text));
  }
  if (!explanation.cycle.empty()) return result;
  for (const Root& root : explanation.roots) result.waits.insert(writer.wait(root.first));
  for (const DeathReport& death : explanation.deaths) {
    if (death.after_quiescence || is_of_a_timeout(death.cause)) continue;
    result.waits.insert("death of " + death.what + (death.in ? " in " + writer.op(*death.in) : ""));
  }
  for (const DeviceErrorReport& error : explanation.device_errors) {
    result.waits.insert("error " + error.what + " in " + writer.op(error.in));
  }
  return result;
}

std::string reason_of(const Explanation& explanation) {
  if (explanation.verdict == sim::Verdict::kCompleted) return "";
  std::string cause = cause_name(explanation.cause);
  std::set<std::string> names;
  switch (explanation.cause) {
    case Cause::kMismatch:
      names = {explanation.mismatches.front().first.name,
               explanation.mismatches.front().second.name};
      return cause + ": " + joined(names);
    case Cause::kCycle:
      for (const Wait& wait : explanation.cycle) names.insert(wait.from.op.name);
      return cause + ": " + joined(names);
    case Cause::kDeadRank:
    case Cause::kFailedLink:
    case Cause::kAbsentMember:
    case Cause::kOutsideInput:
      return cause + ": " + roots_of(explanation);
    case Cause::kNone:
      return explanation.deaths.empty() ? cause : "dead rank";
    case Cause::kLimit:
    case Cause::kUntil:
    case Cause::kInterrupted:
      break;
  }
  return cause;
}

std::set<std::uint32_t> blamed_ranks(const Explanation& explanation) {
  std::set<std::uint32_t> ranks;
  for (const Wait& wait : explanation.cycle) ranks.insert(wait.from.rank);
  if (!ranks.empty()) return ranks;
  for (const Root& root : explanation.roots) {
    if (root.party.kind == sim::WaitNodeKind::kRank) ranks.insert(root.party.rank);
  }
  for (const Misfit& misfit : explanation.mismatches) {
    ranks.insert(misfit.ranks.begin(), misfit.ranks.end());
    ranks.insert(misfit.other_side.begin(), misfit.other_side.end());
  }
  return ranks;
}

}  // namespace pipesim::models
