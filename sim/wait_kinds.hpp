// The kinds of waits (docs/reference/rules.md, 7), one row each: the name in JSON, and the facts by
// which waits are explained and removed. viz/report/wait_words.cpp has the sentences.
//
// To add a kind, add an enumerator, its row here and its row there, and the code that finds such
// waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/ids.hpp"

namespace pipesim::sim {

/// The reason why a node waits.
enum class WaitKind : std::uint8_t {
  kStreamOrder,
  kData,
  kCreditData,
  kCreditControl,
  kPeerOfCollective,
  kCommunicatorInit,
  kFirstMessage,     // the peer's host, at the first use of a connection
  kFirstCollective,  // the hosts of the other ranks, at the first collective of a connection
  kHostMeeting,      // the hosts of other ranks, in a step of role kMeet
  kLaunchQueue,
  kHostWait,
  kOutsideInput,
  kKernelSlots,
  kPeerOfMessage,
  kLock,
  kProgress,  // the next call of a rank, in which its library advances
  kDeadRank,
  kFailedLink,
  kAborted,    // a rank that has aborted the communicator
  kRequires,   // the end of an op (GOAL `requires`, docs/reference/goal.md)
  kIRequires,  // the start of an op (GOAL `irequires`)
  kCallOrder,  // diagnosis of a real job: a later call of the same rank (docs/how-to/diagnose.md)
  // Waits of collective algorithms (docs/reference/algorithms.md):
  kSlot,        // a free slot of a full connection
  kDependency,  // a step of the same rank
  kSignal,
  kSemaphore,
  kBarrier,
  kPacket,
  kCount,  // the number of kinds
};
inline constexpr std::size_t kWaitKindCount = static_cast<std::size_t>(WaitKind::kCount);

/// The setting of a job that decides whether an op waits: changing it can remove the wait.
enum class Setting : std::uint8_t {
  kNone,
  kStreams,      // the streams of the waiting op and its target
  kSlots,        // slots of a register
  kInit,         // time of communicator init
  kLaunchQueue,  // length of the launch queue
  kDevice,       // limits of the device
  kBuffering,    // size of a communicator's buffers
};

/// The reason why a rank that others wait for never arrives.
enum class Absence : std::uint8_t { kMissing, kDead, kUnreachable };

/// The facts about a kind of wait.
struct WaitKindFacts {
  WaitKind kind;
  std::string_view name;  // in JSON: never changes
  Setting setting = Setting::kNone;
  Absence absence = Absence::kMissing;  // if the target is a rank
  bool of_message = false;              // whether a send waits for its recv or the reverse
  // Whether the wait ends when another rank joins the waiter's collective or communicator.
  bool joins = false;
  bool of_register = false;  // whether the waiter lacks data or a free slot of a register
  bool behind = false;       // whether the target was launched earlier and is in the way
};

inline constexpr std::array<WaitKindFacts, kWaitKindCount> kWaitKinds = {{
    {.kind = WaitKind::kStreamOrder,
     .name = "stream order",
     .setting = Setting::kStreams,
     .behind = true},
    {.kind = WaitKind::kData, .name = "data", .of_register = true},
    {.kind = WaitKind::kCreditData,
     .name = "credit (data)",
     .setting = Setting::kSlots,
     .of_register = true},
    {.kind = WaitKind::kCreditControl,
     .name = "credit (control)",
     .setting = Setting::kSlots,
     .of_register = true},
    {.kind = WaitKind::kPeerOfCollective, .name = "peer of a collective", .joins = true},
    {.kind = WaitKind::kCommunicatorInit,
     .name = "communicator creation",
     .setting = Setting::kInit,
     .joins = true},
    {.kind = WaitKind::kFirstMessage, .name = "first message", .of_message = true},
    {.kind = WaitKind::kFirstCollective, .name = "first collective"},
    {.kind = WaitKind::kHostMeeting, .name = "host meeting"},
    {.kind = WaitKind::kLaunchQueue,
     .name = "launch queue",
     .setting = Setting::kLaunchQueue,
     .behind = true},
    {.kind = WaitKind::kHostWait, .name = "host wait", .setting = Setting::kStreams},
    {.kind = WaitKind::kOutsideInput, .name = "outside input"},
    {.kind = WaitKind::kKernelSlots,
     .name = "device room",
     .setting = Setting::kDevice,
     .behind = true},
    {.kind = WaitKind::kPeerOfMessage,
     .name = "peer of a message",
     .setting = Setting::kBuffering,
     .of_message = true},
    {.kind = WaitKind::kLock, .name = "lock"},
    {.kind = WaitKind::kProgress, .name = "progress"},
    {.kind = WaitKind::kDeadRank, .name = "dead rank", .absence = Absence::kDead},
    {.kind = WaitKind::kFailedLink, .name = "failed link", .absence = Absence::kUnreachable},
    {.kind = WaitKind::kAborted, .name = "aborted communicator"},
    {.kind = WaitKind::kRequires, .name = "requires"},
    {.kind = WaitKind::kIRequires, .name = "irequires"},
    {.kind = WaitKind::kCallOrder, .name = "order of calls"},
    {.kind = WaitKind::kSlot, .name = "slot"},
    {.kind = WaitKind::kDependency, .name = "dependency"},
    {.kind = WaitKind::kSignal, .name = "signal"},
    {.kind = WaitKind::kSemaphore, .name = "semaphore"},
    {.kind = WaitKind::kBarrier, .name = "barrier"},
    {.kind = WaitKind::kPacket, .name = "packet"},
}};

static_assert(has_row_per_kind(kWaitKinds), "each kind of wait has its row, in their order");

/// Returns the row of `kind`.
constexpr const WaitKindFacts& facts(WaitKind kind) {
  return kWaitKinds[static_cast<std::size_t>(kind)];
}

}  // namespace pipesim::sim
