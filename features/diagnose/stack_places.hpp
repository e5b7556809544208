// Finds the wait and the line of the user's program that the frames of a stack show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// A frame of a stack: "step (train.py:88)". For native frames, the place is a library.
struct StackFrame {
  OutsideText function;
  OutsideText place;

  friend auto operator<=>(const StackFrame&, const StackFrame&) = default;
};

/// The wait of a thread, as far as its frames show it.
enum class WaitPlace : std::uint8_t {
  kUnknown,
  kCollective,  // includes barriers
  kMessage,
  kInit,      // initialization of a communicator or group
  kTeardown,  // the end of a communicator or group
  kDevice,
  kStore,
  kBackward,  // the backward pass, which computes or waits in a collective
  kLock,
  kInput,     // input of data
  kDebugger,  // commands for a debugger
  kMessages,  // an idle thread of an actor runtime
  kFinished,
};

/// Returns the text of a place for reports: "in a collective".
std::string_view place_name(WaitPlace place);

/// Whether a thread at `place` waits for other ranks. A wait for the device counts, because the
/// device most likely waits in a collective.
bool waits_for_others(WaitPlace place);

/// Whether a thread at `place` waits for anything.
bool is_wait(WaitPlace place);

/// A wait, and the frame that shows it.
struct FoundPlace {
  WaitPlace place = WaitPlace::kUnknown;
  OutsideText op;                     // "all_reduce"; empty without a wait
  const StackFrame* frame = nullptr;  // the frame of `op`
  bool only_waits_for_work = false;   // whether the frame may wait for a call of another thread
};

/// Finds the wait of a stack. `frames` begins with the innermost frame.
FoundPlace find_place(const std::vector<StackFrame>& frames);

/// Whether a stack waits for another thread of its process: for a thread to end, for a result, or
/// for the backward pass.
bool waits_for_thread(const std::vector<StackFrame>& frames);

/// Whether a frame belongs to the user's program, not to PyTorch, Python's own modules or a
/// library.
bool is_of_user(const StackFrame& frame);

/// Returns the position of a host for reports: "all_reduce, called in step (train.py:88)".
OutsideText host_text(const std::vector<StackFrame>& frames, const FoundPlace& found);

/// Returns the position of a host with these frames; nullopt for an idle or finished thread.
std::optional<HostStanding> host_at(const std::vector<StackFrame>& frames,
                                    const EvidencePlace& place);

/// Returns a native name without its parameters and, if it is long, its template arguments.
std::string short_function(std::string_view name);

}  // namespace pipesim::models
