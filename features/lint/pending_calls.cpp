#include "features/lint/pending_calls.hpp"

#include <algorithm>

namespace pipesim::models {

void follow(const ActorTemplate& actor, PendingCalls& pending) {
  const StepTemplate& step = *actor.step;
  for (auto& [where, call] : pending) {
    const bool records = step.role == sim::Role::kRecord && call.streams.contains(actor.stream);
    if (records) call.events.insert(step.event);
    const bool waits = step.role == sim::Role::kWait && call.events.contains(step.event);
    const bool behind = actor.behind != kNoIndex && call.streams.contains(actor.behind);
    if (waits || behind) call.streams.insert(actor.stream);
  }
}

bool is_synchronized(const StepTemplate& step, const PendingCall& call) {
  return step.streams.empty() ||
         std::any_of(step.streams.begin(), step.streams.end(),
                     [&](std::uint32_t stream) { return call.streams.contains(stream); });
}

}  // namespace pipesim::models
