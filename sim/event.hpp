// The events of a run.
#pragma once

#include <cstdint>

namespace pipesim::sim {

enum class EventKind : std::uint32_t {
  kOpEnds,          // target: the stream whose head op has run its time
  kCollectiveEnds,  // target: the collective
  kRoundEnds,       // target: the communicator whose calls at the current sequence number have run
  kPairEnds,        // target: the channel on which a send and a recv have met
  kCallEnds,     // target: the call: a buffered send, a recv with its message, or a lone collective
  kThreadWakes,  // target: the thread
  kOpStarts,     // target: the stream whose head takes a slot (Stepper only)
  kSourceTaken,  // target: the channel whose send a recv from any rank takes (Stepper only)
};

/// An event. At most one event per kind and target is pending at a time.
struct Event {
  EventKind kind = EventKind::kOpEnds;
  std::uint32_t target = 0;

  friend constexpr bool operator==(const Event&, const Event&) = default;
};

}  // namespace pipesim::sim
