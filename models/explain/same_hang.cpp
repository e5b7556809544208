#include "models/explain/same_hang.hpp"

#include "models/lowering/names.hpp"

namespace pipesim::models {
namespace {

class Shaper {
 public:
  Shaper(const TaskGraph& graph, const Lowered& lowered) : graph_(graph), names_(graph, lowered) {}

  std::string wait(const Wait& it) const {
    std::string text =
        std::to_string(static_cast<int>(it.kind)) + " " + party(it.from) + " > " + party(it.to);
    if (it.needed) text += " for " + act(*it.needed);
    return text;
  }

  // Names of calls may tell the rank of a peer.
  std::string act(const ActInfo& info) const {
    if (!info.actor.valid()) return info.op;
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

 private:
  std::string party(const WaitParty& it) const {
    switch (it.kind) {
      case sim::WaitNodeKind::kAct:
        return act(it.act);
      case sim::WaitNodeKind::kRank:
        return "a rank";
      case sim::WaitNodeKind::kOutside:
        break;
    }
    return "the outside";
  }

  const TaskGraph& graph_;
  const Names names_;
};

// Who notices a hang, and when, differs between jobs that hang alike.
bool is_of_a_guard(sim::DeathCause cause) {
  return cause == sim::DeathCause::kWatchdog || cause == sim::DeathCause::kTimeout ||
         cause == sim::DeathCause::kLauncher;
}

}  // namespace

HangShape hang_shape(const TaskGraph& graph, const Lowered& lowered,
                     const Explanation& explanation) {
  const Shaper shaper(graph, lowered);
  HangShape shape;
  shape.verdict = explanation.verdict;
  shape.cause = explanation.cause;
  for (const Wait& wait : explanation.cycle) shape.waits.insert(shaper.wait(wait));
  for (const Misfit& misfit : explanation.mismatches) {
    shape.waits.insert(shaper.act(misfit.first) + " against " + shaper.act(misfit.second));
  }
  if (!explanation.cycle.empty()) return shape;
  for (const Root& root : explanation.roots) shape.waits.insert(shaper.wait(root.first));
  for (const DeathReport& death : explanation.deaths) {
    if (death.after_rest || is_of_a_guard(death.cause)) continue;
    shape.waits.insert("death of " + death.what + (death.in ? " in " + shaper.act(*death.in) : ""));
  }
  for (const DeviceErrorReport& error : explanation.device_errors) {
    shape.waits.insert("error " + error.what + " in " + shaper.act(error.in));
  }
  return shape;
}

}  // namespace pipesim::models
