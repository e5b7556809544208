// The calls that the ranks of a job made on their communicators, as `pipesim record` wrote them:
// facts only. The rules of a backend decide the waits; see host_steps.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/operation.hpp"
#include "models/outside_text.hpp"

#include "features/record/rare_list.hpp"

namespace pipesim::models {

/// Value of an index, a root or a peer that is not given.
inline constexpr std::uint32_t kNotSaid = 0xffffffff;

/// A line of the user's program.
struct RecordPlace {
  OutsideText at;         // file and line: "train.py:20"
  OutsideText in;         // function name; empty: top level of the module
  OutsideText call;       // the callee; may be empty
  OutsideText library{};  // line of an installed package that makes the call; may be empty

  friend bool operator==(const RecordPlace&, const RecordPlace&) = default;
  friend auto operator<=>(const RecordPlace&, const RecordPlace&) = default;
};

/// Returns the text of a place: "train.py:20 backward", "train.py:56 main > evaluate, in
/// accelerate/utils/operations.py:355 _gpu_gather_one".
std::string place_text(const RecordPlace& place);

/// A frame of a stack: a line, and the calling frame. Stacks share their outer frames. Frames of
/// torch, the standard library and wrappers are omitted.
struct RecordFrame {
  OutsideText at;
  OutsideText in;
  OutsideText call;
  bool library = false;         // whether the line is in an installed package
  std::uint32_t up = kNotSaid;  // frame of the caller, in Record::frames

  friend auto operator<=>(const RecordFrame&, const RecordFrame&) = default;
};

/// Returns the text of a list of ranks: "rank 3", "ranks 0, 4..7".
std::string rank_list_text(const std::vector<std::uint32_t>& ranks);

/// The backend whose rules decide the waits. kOwn: the backend of each group.
enum class RecordRules : std::uint8_t { kGloo, kNccl, kOwn };

/// A process group. Groups in the files of different ranks are one group if their names, ranks and
/// backends agree.
struct RecordGroup {
  OutsideText name;                  // name in torch: "0", "11"
  std::vector<std::uint32_t> ranks;  // members in the order of their group ranks
  OutsideText description;           // description in torch: "mesh_tp"; may be empty
  std::uint32_t place = kNotSaid;    // line that created the group, in Record::places
  bool init_at_once = false;         // whether NCCL initializes its communicator at creation
  bool nccl = false;                 // whether its backend is NCCL; otherwise gloo

  /// Returns the index of `rank` in `ranks`, or kNotSaid.
  std::uint32_t position(std::uint32_t rank) const;

  bool under_nccl(RecordRules rules) const {
    return rules == RecordRules::kOwn ? nccl : rules == RecordRules::kNccl;
  }
};

/// A line of a rank's file, except definitions. A long record has millions of entries, so flags are
/// bits.
struct RecordEntry {
  enum class Kind : std::uint8_t {
    kInit,
    kNewGroup,
    kDestroy,
    kCall,
    kWait,
    kPoll,
    kDrop,  // Python collected the Work of a send or recv before a wait
    kRecordEvent,
    kStreamWait,
    kWaitForEvent,   // host wait
    kWaitForStream,  // host wait
    kWaitForDevice,  // host wait
    kRead,           // host wait for the entry's stream
    kStoreSet,
    kStoreGet,  // get or wait
    kStoreAdd,
    kBackward,
    kStep,
    kNote,
  };

  Kind kind = Kind::kNote;
  Operation operation = Operation::kAllReduce;  // kCall
  bool sync : 1 = false;                        // whether the call waits for its own completion
  bool blocks_host : 1 = false;  // whether the host waits although the backend is NCCL
  bool on_device : 1 = false;    // kCall of gloo: whether its tensors are on the device
  bool made_up : 1 = false;      // whether its result is made up
  bool later : 1 = false;        // whether add_later_calls() added it
  bool sized : 1 = false;        // whether `bytes` is given, so that 0 is a size
  bool any_source : 1 = false;   // whether it is a recv from any source
  bool read_made_up : 1 =
      false;                 // kNote: whether it reads a made-up value, of a call of `bytes` bytes
  bool never : 1 = false;    // kPoll: whether it never returned true
  bool at_exit : 1 = false;  // kWait: whether it runs at the exit of the process or of its group
  bool differs : 1 = false;  // kStoreSet: whether another rank had set another value
  bool outside : 1 = false;  // kStoreGet: whether it represents work outside torch.distributed
  bool timed_out : 1 = false;  // kWait, kStoreGet: whether the host gave up waiting
  bool store_barrier : 1 =
      false;  // kNewGroup, kInit: whether it ends in a store barrier of all ranks
  std::uint32_t place = kNotSaid;   // index in Record::places
  std::uint32_t frame = kNotSaid;   // innermost frame, in Record::frames
  std::uint32_t group = kNotSaid;   // index in Record::groups
  std::uint32_t parent = kNotSaid;  // kNewGroup: group whose communicator is split
  std::uint32_t thread = kNotSaid;  // name in Record::texts; kNotSaid: the main thread
  std::uint32_t stream = 0;         // index in RankRecord::streams; 0: the default stream
  std::uint32_t event = kNotSaid;   // index in RankRecord::events
  std::uint32_t type = kNotSaid;    // data type, in Record::texts
  std::uint32_t text = kNotSaid;    // a key or a note, in Record::texts
  std::uint32_t peer = kNotSaid;    // peer of a send or recv, or root: rank of the job
  std::uint32_t kernels = 0;        // kernels launched since the previous entry
  std::uint32_t batch = kNotSaid;
  std::int64_t tag = 0;
  // kCall: sequence number; kStep: step number; kNewGroup: `key`; kStoreAdd: addend.
  std::int64_t number = 0;
  std::int64_t result = 0;  // kStoreAdd: sum
  std::int64_t bytes = 0;
  std::int64_t work = -1;  // the call's work; -1: nothing waits for it
  // kWait, kPoll, kDrop: works; all_to_all: bytes to each member, then bytes from each member.
  RareList<std::int64_t> amounts;
  // kCall: other threads, and the number of their calls that certainly precede this call.
  RareList<std::pair<std::uint32_t, std::int64_t>> after;
};

/// The end of a rank's record.
struct RecordEnd {
  enum class Kind : std::uint8_t { kFinished, kExited, kRaised, kKilled, kCut };
  enum class Cut : std::uint8_t { kQuiescent, kOutside, kSteps, kSeconds, kMadeUp, kKilled };

  Kind kind = Kind::kCut;
  Cut cut = Cut::kKilled;
  std::int64_t code = 0;
  OutsideText text;
  std::uint32_t place = kNotSaid;
  std::uint32_t frame = kNotSaid;
};

struct RecordStream {
  OutsideText name;
  std::uint32_t device = 0;
};

/// An answer that the environment gave and that can differ in another run: a comparison with a
/// clock, a random number, a queue, the order of two accesses to a key or a file.
struct FreeAnswer {
  std::uint32_t kind = kNotSaid;  // its name, in Record::texts
  std::uint32_t path = kNotSaid;  // a file, in Record::texts; kNotSaid: not about a file
  bool writes = false;            // whether the rank changes the file
};

struct RankRecord {
  std::vector<RecordStream> streams;   // all streams; the first one is the default stream
  std::vector<OutsideText> events;     // event names
  std::vector<std::uint32_t> defined;  // groups, in the order of the rank's file
  std::vector<RecordEntry> entries;
  std::vector<FreeAnswer> free_answers;  // free answers that have no entry
  RecordEnd end;
};

/// All ranks of a job.
struct Record {
  OutsideText command;
  OutsideText backend;  // choice of the script: "gloo" or "nccl"
  OutsideText torch;    // version of torch
  bool device_is_cuda = false;
  std::int64_t limit = 0;      // largest value to exchange, in bytes; 0: not given
  std::int64_t steps = 0;      // step limit of the recording; 0: not given
  std::int64_t seconds = 0;    // seconds without progress after which ranks are cut; 0: not given
  bool waits_assumed = false;  // whether record_of_dumps() added the waits for calls
  std::vector<RecordPlace> places;
  std::vector<RecordFrame> frames;  // callers precede callees
  std::vector<RecordGroup> groups;
  std::vector<OutsideText> texts;
  std::vector<RankRecord> ranks;

  /// Whether some group, or the script itself, is under NCCL's rules, so that devices run calls.
  bool uses_nccl(RecordRules rules) const;

  /// Returns the text of an entry's place; empty if it has none.
  std::string place_of(std::uint32_t place) const {
    return place == kNotSaid ? std::string() : place_text(places[place]);
  }
};

/// Returns the user's innermost line of a stack, with the line of a package that it calls. Without
/// a line of the user, returns the innermost frame.
RecordPlace place_of_stack(const std::vector<RecordFrame>& frames, std::uint32_t innermost);

}  // namespace pipesim::models
