// What is known of a real job that hangs: which calls each of its ranks made, and how far it saw
// them come. Readers of dumps and logs (formats/) make it, models/postmortem/diagnosis.hpp explains
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/operation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/outside_text.hpp"

namespace pipesim::models {

/// How far a rank saw one of its calls come.
enum class CallState : std::uint8_t { kScheduled, kStarted, kCompleted };

/// The sizes of tensors, one list of dimensions each.
using TensorSizes = std::vector<std::vector<std::int64_t>>;

/// One operation of a communicator, as the rank that called it recorded it.
struct RecordedOp {
  std::uint64_t record = 0;  // its place in the order of this rank's calls
  OutsideText name;          // "all_reduce", "send", "recv"
  bool message = false;      // a send or a receive, from `source` to `target` (ranks of the job)
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  TensorSizes input_sizes;
  TensorSizes output_sizes;
  std::vector<OutsideText> input_types;
  std::vector<OutsideText> output_types;
  CallState state = CallState::kScheduled;

  /// What its name says that it does; nothing of "coalesced".
  std::optional<Operation> operation() const { return operation_in(name); }
  bool is_send() const { return name == "send"; }
  bool is_receive() const { return name == "recv"; }
};

/// Where a fact stands: a line of a file, or a whole file, as of a dump.
struct EvidencePlace {
  std::uint32_t file = kNoIndex;  // index in Evidence::files
  std::uint64_t line = 0;         // from 1; 0: the whole file
};

/// What a rank called at once: one operation, or several that were coalesced.
struct RecordedCall {
  std::uint32_t group = 0;     // index in Evidence::groups
  bool messages = false;       // it has a number of its own kind: see `sequence`
  std::uint64_t sequence = 0;  // of the collectives of the group, or of this rank's messages in it
  std::uint32_t repeat = 0;    // how many calls before it had that number, which is not usual
  bool coalesced = false;
  std::vector<RecordedOp> ops;    // in the order of calls, without the mark that ends coalescing
  std::uint64_t last_record = 0;  // that of the last op, or of that mark
  OutsideText end_name;           // of that mark: "coalesced", "ALLGATHER_coalesced"; or empty
  CallState state = CallState::kScheduled;
  OutsideText at;  // the place in the user's program, "train.py:88 step", if it is known
  EvidencePlace place;
};

/// Members ascend.
struct EvidenceGroup {
  OutsideText name;  // empty: calls of it do not say
  OutsideText description;
  std::vector<std::uint32_t> ranks;
  bool all_members = true;  // else there may be more
  bool in_dumps = true;     // a complete rank's evidence has all that it called in it
};

/// Of a count: the evidence does not give it.
inline constexpr std::int64_t kUncounted = -2;

/// The numbers of the last calls of a rank in a group, as it counted them itself.
struct GroupProgress {
  std::uint32_t group = 0;
  std::int64_t called = -1;  // -1: none
  std::int64_t started = -1;
  std::int64_t completed = -1;  // kUncounted: not given
  bool at_least = false;        // it may have called more
  EvidencePlace place;
};

/// Where the host of a rank stands, from its stack.
struct HostStanding {
  bool waits = false;  // for other ranks, or for its device
  OutsideText at;      // "load_config (data.py:40)"
  EvidencePlace place;
};

enum class ProcessState : std::uint8_t {
  kNotTold,
  kSilent,  // it did not answer once
  kBehind,  // others wait for it; only of processes whose rank is not known
  kFailed,  // it ended in an error of its own
  kDead,
};

/// A process as NCCL's log, its RAS and stacks name it. Empty: not told.
struct ProcessId {
  OutsideText host;
  OutsideText pid;
  OutsideText gpu;

  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// "process 41 on node1, GPU 3"; empty without a pid.
OutsideText process_name(const ProcessId& id);

/// The process of a rank.
struct ProcessStanding {
  ProcessState state = ProcessState::kNotTold;
  OutsideText name;    // "process 41 on node1, GPU 3"
  OutsideText reason;  // kFailed: the last line of its traceback
  EvidencePlace place;
  ProcessId id;
};

struct RankEvidence {
  bool has_dump = false;            // something is known of what it called
  bool complete = true;             // what is not here, it has not called; else that is not known
  bool may_wait = false;            // in a call that is here, and nothing says whether it is done
  OutsideText source;               // the file
  std::vector<RecordedCall> calls;  // in the order of records
  std::vector<GroupProgress> progress;  // by group; not of all
  std::optional<HostStanding> host;
  ProcessStanding process;
};

struct Evidence {
  OutsideText name;    // of the report: the folder or file
  OutsideText format;  // "Flight Recorder 2.9"
  std::vector<EvidenceGroup> groups;
  std::vector<RankEvidence> ranks;  // of all ranks of the job, whether they left a dump or not
  std::vector<OutsideText> files;   // that facts stand in
  std::vector<ProcessStanding> unplaced;  // that others wait for, or may; the rank is not known
};

/// "job.log:41", "dump_3"; empty where no place is known.
OutsideText place_text(const Evidence& evidence, const EvidencePlace& place);

/// The number of ranks of a job that any reader takes.
inline constexpr std::uint32_t kMaxEvidenceRanks = 1U << 20;

/// "all_reduce dp", "all_to_all pg74": an op of a group, as reports name it. The names that
/// PyTorch gives are numbers.
OutsideText call_name(const RecordedCall& call, const EvidenceGroup& group, std::uint32_t rank);

/// "TENSOR_MODEL_PARALLEL_GROUP (pg38)".
OutsideText group_name(const EvidenceGroup& group);

}  // namespace pipesim::models
