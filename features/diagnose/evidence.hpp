// Evidence of a real job that hangs: the calls of each rank, and their progress. Readers of dumps
// and logs produce the evidence; features/diagnose/diagnosis.hpp explains the hang.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/operation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/outside_text.hpp"

namespace pipesim::models {

/// The progress of a call, as its rank recorded it.
enum class CallState : std::uint8_t { kScheduled, kStarted, kCompleted };

/// The source of a recv from any rank.
inline constexpr std::uint32_t kAnyRank = kNoIndex;

/// The sizes of tensors, one list of dimensions each.
using TensorSizes = std::vector<std::vector<std::int64_t>>;

/// One operation on a communicator, as recorded by the rank that called it.
struct RecordedOp {
  std::uint64_t record = 0;  // position in the call order of this rank
  OutsideText name;          // operation: "all_reduce", "send", "recv"
  // Whether it is a send or recv, from `source` (or kAnyRank) to `target` (ranks of the job).
  bool message = false;
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  TensorSizes input_sizes;
  TensorSizes output_sizes;
  std::vector<OutsideText> input_types;
  std::vector<OutsideText> output_types;
  CallState state = CallState::kScheduled;

  /// Returns the operation with this name; nullopt for "coalesced".
  std::optional<Operation> operation() const { return operation_in(name); }
  bool is_send() const { return name == "send"; }
  bool is_receive() const { return name == "recv"; }
};

/// The source of a fact: a line of a file, or a whole file (for a dump).
struct EvidencePlace {
  std::uint32_t file = kNoIndex;  // index in Evidence::files
  std::uint64_t line = 0;         // line number, from 1; 0: the whole file
};

/// One call of a rank: a single operation, or several coalesced operations.
struct RecordedCall {
  std::uint32_t group = 0;  // index in Evidence::groups
  bool messages = false;  // whether it consists of sends and recvs, which have their own numbering
  // Number among the collectives of the group, or among this rank's sends and recvs in the group.
  std::uint64_t sequence = 0;
  std::uint32_t repeat = 0;  // number of earlier calls with this sequence number; usually 0
  bool coalesced = false;
  std::vector<RecordedOp> ops;    // ops in call order, without the mark that ends coalescing
  std::uint64_t last_record = 0;  // record number of the last op, or of the end mark
  OutsideText end_name;  // name of the end mark: "coalesced", "ALLGATHER_coalesced"; or empty
  CallState state = CallState::kScheduled;
  bool over = false;  // whether it ended in an unknown way: done, failed, or timed out
  OutsideText at;     // the line of the user's program, "train.py:88 step", if known
  EvidencePlace place;
};

/// A process group. `ranks` ascend.
struct EvidenceGroup {
  OutsideText name;  // empty: unknown
  OutsideText description;
  std::vector<std::uint32_t> ranks;
  bool all_members = true;  // whether the group has no further members
  bool in_dumps = true;  // whether the evidence of a complete rank has all its calls in this group
  std::uint32_t size = 0;  // number of members, if the evidence gives it; else 0
};

/// Value of a count that is not in the evidence.
inline constexpr std::int64_t kUncounted = -2;

/// The sequence numbers of a rank's last calls in a group, as logged by the rank.
struct GroupProgress {
  std::uint32_t group = 0;
  std::int64_t called = -1;  // -1: none
  std::int64_t started = -1;
  std::int64_t completed = -1;  // kUncounted: not given
  bool at_least = false;        // whether the rank may have called more
  EvidencePlace place;
};

/// The position of a rank's host thread, from its stack.
struct HostStanding {
  bool waits = false;    // whether it waits for other ranks or for its device
  bool blocked = false;  // whether it waits for anything: `waits`, a lock, input
  OutsideText at;        // function and line: "load_config (data.py:40)"
  EvidencePlace place;
  bool may_wait = false;    // whether it can wait for other ranks, though its stack shows no wait
  bool collective = false;  // whether it waits in a collective
  bool message = false;     // whether it waits in a send or a recv; with `collective`: in either
  bool alone = false;       // whether no other thread of the process can go on, as far as known
  bool in_line = false;  // whether its innermost frame is of the user's program: C++ is not visible
};

enum class ProcessState : std::uint8_t {
  kNotTold,
  kSilent,   // never answered
  kBehind,   // other ranks wait for it; only for processes of unknown rank
  kStopped,  // a signal or a debugger stopped it
  kFailed,   // ended with its own error
  kDead,
};

/// The identity of a process in NCCL's log, RAS reports and stacks. Empty fields are unknown.
struct ProcessId {
  OutsideText host;
  OutsideText pid;
  OutsideText gpu;

  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// Returns "process 41 on node1, GPU 3"; empty without a pid.
OutsideText process_name(const ProcessId& id);

/// The process of a rank.
struct ProcessStanding {
  ProcessState state = ProcessState::kNotTold;
  OutsideText name;  // "process 41 on node1, GPU 3"
  // The last line of its traceback, the process that stopped it, or the way it ended. Can be empty
  // for kDead.
  OutsideText reason;
  EvidencePlace place;
  ProcessId id;
};

/// Facts about the main thread of a rank, from 'pipesim collect'.
struct MainThreadFacts {
  bool still = false;     // whether it did not run between two looks
  bool in_futex = false;  // whether it waits for another thread, also of C++
  OutsideText line;       // text of its line
  bool runs = false;      // whether it ran between two looks, or is ready to run
};

struct RankEvidence {
  bool has_dump = false;  // whether the evidence has calls of the rank
  // Whether the evidence has all calls of the rank. If not, the rank may have made a missing call.
  bool complete = true;
  // Whether the rank may be blocked in one of `calls`, because their state is unknown.
  bool may_wait = false;
  OutsideText source;                   // name of its file
  std::vector<RecordedCall> calls;      // ordered by record number
  std::vector<GroupProgress> progress;  // sorted by group; some groups may be missing
  std::optional<HostStanding> host;
  ProcessStanding process;
};

struct Evidence {
  OutsideText name;    // title of the report: the folder or file
  OutsideText format;  // kind and version: "Flight Recorder 2.9"
  std::vector<EvidenceGroup> groups;
  std::vector<RankEvidence> ranks;  // all ranks of the job, with or without a dump
  std::uint32_t world_size = 0;     // number of ranks of the job; 0: unknown
  bool launched_alike = false;      // whether all ranks have launched the same collectives
  std::map<std::uint32_t, MainThreadFacts> main_threads;  // by rank; few kinds of evidence have any
  std::vector<OutsideText> files;                         // files that contain the facts
  // Reasons why the job can hang even if no call is pending: "gloo records no sends".
  std::vector<OutsideText> gaps;
  // Processes of unknown rank that other ranks wait for, or may wait for.
  std::vector<ProcessStanding> unplaced;
};

/// Returns the place as "job.log:41" or "dump_3"; empty if the place is unknown.
OutsideText place_text(const Evidence& evidence, const EvidencePlace& place);

/// Adds `gap` to Evidence::gaps if it is not listed yet.
void add_gap(Evidence& evidence, std::string_view gap);

/// Whether a call of any rank is not done.
bool has_pending_call(const Evidence& evidence);

/// Maximum number of ranks that a reader accepts.
inline constexpr std::uint32_t kMaxEvidenceRanks = 1U << 20;

/// Returns the name of a call in reports, its op and its group: "all_reduce dp", "all_to_all pg74".
/// Adds "pg" to a group name that is only a number, because PyTorch numbers groups.
OutsideText call_name(const RecordedCall& call, const EvidenceGroup& group, std::uint32_t rank);

/// Returns the name of a group in reports: "TENSOR_MODEL_PARALLEL_GROUP (pg38)".
OutsideText group_name(const EvidenceGroup& group);

}  // namespace pipesim::models
