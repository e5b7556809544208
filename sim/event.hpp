// What can happen in a run.
#pragma once

#include <cstdint>

namespace pipesim::sim {

enum class EventKind : std::uint32_t {
  kOpEnds,          // target: the stream whose head has run its time
  kCollectiveEnds,  // target: the collective
  kRoundEnds,       // target: the communicator whose round of collective calls has run its time
  kPairEnds,        // target: the channel on which a send and a receive have met
  kCallEnds,        // target: the call, an eager send or a receive with its message
  kThreadWakes,     // target: the thread
  kOpStarts,        // target: the stream whose head takes a slot (Stepper)
  kSourceTaken,     // target: the channel of which a receive from any rank takes a send (Stepper)
};

/// Of each kind and target at most one is pending at a time.
struct Event {
  EventKind kind = EventKind::kOpEnds;
  std::uint32_t target = 0;

  friend constexpr bool operator==(const Event&, const Event&) = default;
};

}  // namespace pipesim::sim
