// Stacks of all ranks of a job that hangs: which ranks stand in the same place, and who does not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/outside_text.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::models {

/// "step (train.py:88)"; of native frames the place is a library.
struct StackFrame {
  OutsideText function;
  OutsideText place;

  friend auto operator<=>(const StackFrame&, const StackFrame&) = default;
};

struct ThreadStack {
  std::uint32_t rank = 0;
  OutsideText process;             // "1234: python train.py"
  OutsideText thread;              // its name, or its number
  bool active = false;             // it runs
  std::vector<StackFrame> frames;  // the innermost first
  EvidencePlace source;            // in StackDumps::files
};

struct StackDumps {
  OutsideText name;  // of the report
  std::vector<ThreadStack> threads;
  bool numbered = false;  // some ranks were not told: they are counted in the order of processes
  std::map<std::uint32_t, OutsideText> names;  // of these: "process 41"
  std::map<std::uint32_t, OutsideText> pids;   // of the other ranks, where they are told
  std::vector<OutsideText> files;
  std::uint64_t helpers = 0;  // processes that are no ranks: launchers, data workers
};

/// What a thread waits in, as far as its frames say so.
enum class WaitPlace : std::uint8_t {
  kUnknown,
  kCollective,  // also a barrier
  kMessage,
  kCreation,  // of a communicator or group
  kDevice,
  kStore,
  kLock,
  kInput,     // of data
  kMessages,  // an idle thread of an actor runtime
  kFinished,
};

/// "in a collective".
std::string_view place_name(WaitPlace place);

struct StackGroup {
  OutsideText thread;
  std::vector<std::uint32_t> ranks;  // ascending
  std::vector<StackFrame> frames;
  WaitPlace place = WaitPlace::kUnknown;
  OutsideText op;  // the frame that says so: "all_reduce"
};

enum class StackVerdict : std::uint8_t {
  kOddOnes,    // most wait in a collective, and some do not
  kDifferent,  // all wait in collectives, but not in the same one: nobody is to blame more
  kAlike,      // all stand in the same place
  kUndecided,  // nobody is seen to wait in a collective
};

/// "odd ones out".
std::string_view verdict_name(StackVerdict verdict);

struct StackDiagnosis {
  StackVerdict verdict = StackVerdict::kUndecided;
  std::vector<StackGroup> groups;    // the largest of each thread first
  std::vector<std::uint32_t> roots;  // ranks to look at first
  std::uint32_t ranks = 0;
  /// With kOddOnes the ranks that wait, each for every odd one: who is in which collective is not
  /// in a stack. Else nobody is known to wait for anybody.
  Explanation explanation;
  std::vector<Wait> waits;
};

/// Whether who stands there waits for other ranks. A device does because others wait: for a
/// collective, most likely.
bool waits_for_others(WaitPlace place);

/// Groups threads of one name by equal stacks. Of a rank with a main thread that one counts; where
/// it waits for the backward pass or for another thread, the thread that does the work.
StackDiagnosis diagnose(const StackDumps& dumps);

/// What stacks say of calls: each rank that waits is in the first call of a group of its op, which
/// the odd ones have not called. Of a diagnosis without odd ones there are no calls.
Evidence stack_evidence(const StackDumps& dumps, const StackDiagnosis& diagnosis);

/// Where the host of each rank stands. What says neither that it waits nor where it is instead (an
/// idle thread of an actor runtime, a finished one) is left out.
std::map<std::uint32_t, HostStanding> host_standings(const StackDumps& dumps);

}  // namespace pipesim::models
