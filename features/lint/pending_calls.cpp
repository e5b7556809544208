#include "features/lint/pending_calls.hpp"

#include <algorithm>

namespace pipesim::models {

void PendingCall::follow(const ActorTemplate& actor) {
  const StepTemplate& step = *actor.step;
  const bool behind = actor.behind != kNoIndex && streams.contains(actor.behind);
  const bool waits = step.role == sim::Role::kWait && events.contains(step.event);
  if (behind || waits) streams.insert(actor.stream);
  const bool records = step.role == sim::Role::kRecord && streams.contains(actor.stream);
  if (records) events.insert(step.event);
}

bool PendingCall::is_awaited(const StepTemplate& step) const {
  if (step.role == sim::Role::kAwait) return events.contains(step.event);
  if (step.role != sim::Role::kSynchronize) return false;
  return step.streams.empty() ||
         std::any_of(step.streams.begin(), step.streams.end(),
                     [&](std::uint32_t stream) { return streams.contains(stream); });
}

}  // namespace pipesim::models
