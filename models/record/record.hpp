// What the ranks of a job asked of their communicators, as `pipesim record` wrote it: facts only.
// What waits for what follows from the rules of a backend, see host_steps.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/operation.hpp"
#include "models/outside_text.hpp"

namespace pipesim::models {

/// What is not said: an index, a root, a peer.
inline constexpr std::uint32_t kNotSaid = 0xffffffff;

/// A line of the user's program.
struct RecordPlace {
  OutsideText at;         // "train.py:20"
  OutsideText in;         // the function; empty: the top level of its module
  OutsideText call;       // what is called there; may be empty
  OutsideText library{};  // the line of an installed package that makes the call; may be empty

  friend bool operator==(const RecordPlace&, const RecordPlace&) = default;
  friend auto operator<=>(const RecordPlace&, const RecordPlace&) = default;
};

/// "train.py:20 backward", "train.py:56 main > evaluate, in accelerate/utils/operations.py:355
/// _gpu_gather_one".
std::string place_text(const RecordPlace& place);

/// A frame of a stack: a line, and the frame that called its function. Stacks share their outer
/// frames. Frames of torch, of the standard library and of wrappers are left out.
struct RecordFrame {
  OutsideText at;
  OutsideText in;
  OutsideText call;
  bool library = false;         // of an installed package
  std::uint32_t up = kNotSaid;  // the caller, in Record::frames

  friend auto operator<=>(const RecordFrame&, const RecordFrame&) = default;
};

/// "rank 3", "ranks 0, 4..7".
std::string rank_list_text(const std::vector<std::uint32_t>& ranks);

/// Whose rules say what waits for what. kOwn: those of each group's own backend.
enum class RecordRules : std::uint8_t { kGloo, kNccl, kOwn };

/// A process group. Ranks of different machines name the same one if its name and ranks agree.
struct RecordGroup {
  OutsideText name;                  // in torch: "0", "11"
  std::vector<std::uint32_t> ranks;  // in the order of their ranks in the group
  OutsideText description;           // in torch: "mesh_tp"; may be empty
  std::uint32_t place = kNotSaid;    // that made it
  bool eager = false;                // NCCL makes its communicator at once
  bool nccl = false;                 // its backend; else gloo

  /// The place of `rank` in `ranks`, or kNotSaid.
  std::uint32_t position(std::uint32_t rank) const;

  bool under_nccl(RecordRules rules) const {
    return rules == RecordRules::kOwn ? nccl : rules == RecordRules::kNccl;
  }
};

/// A line of a rank's file that is no definition.
struct RecordEntry {
  enum class Kind : std::uint8_t {
    kInit,
    kNewGroup,
    kDestroy,
    kCall,
    kWait,
    kPoll,
    kDrop,  // the Work of a message was collected before a wait for it
    kRecordEvent,
    kStreamWait,
    kWaitForEvent,   // of the host
    kWaitForStream,  // likewise
    kWaitForDevice,  // likewise
    kRead,           // likewise, of the entry's stream
    kStoreSet,
    kStoreGet,  // or wait
    kStoreAdd,
    kBackward,
    kStep,
    kNote,
  };

  Kind kind = Kind::kNote;
  Operation operation = Operation::kAllReduce;  // kCall
  bool sync = false;                            // the call itself waits
  bool blocks_host = false;                     // although the backend is NCCL
  bool made_up = false;                         // its result
  bool later = false;                           // nobody recorded it, see record_ends.hpp
  bool sized = false;                           // `bytes` was said: 0 is a size
  bool any_source = false;                      // a receive that takes what comes first
  bool read_made_up = false;                    // kNote: of a value of a call of so many bytes
  bool never = false;                           // kPoll: it is never true
  bool at_exit = false;                         // kWait: of the process, or of its group
  bool differs = false;                         // kStoreSet: another rank had set another value
  bool timed_out = false;                       // kWait, kStoreGet: the host did not wait longer
  bool store_barrier = false;                   // kNewGroup, kInit: all ranks meet at its end
  std::uint32_t line = 0;                       // in the rank's file
  std::uint32_t place = kNotSaid;               // in Record::places
  std::uint32_t frame = kNotSaid;               // in Record::frames: the innermost
  std::uint32_t group = kNotSaid;               // in Record::groups
  std::uint32_t parent = kNotSaid;              // kNewGroup: whose communicator it is split from
  std::uint32_t thread = kNotSaid;              // not the main one: its name, in Record::texts
  std::uint32_t stream = 0;                     // in RankRecord::streams; 0: the default one
  std::uint32_t event = kNotSaid;               // in RankRecord::events
  std::uint32_t type = kNotSaid;                // of the data, in Record::texts
  std::uint32_t text = kNotSaid;                // a key, a note; in Record::texts
  std::uint32_t peer = kNotSaid;                // of a message, or the root: rank of the job
  std::uint32_t kernels = 0;                    // launched since the entry before
  std::uint32_t batch = kNotSaid;
  std::int64_t tag = 0;
  std::int64_t number = 0;  // of the call in its group; of a step; `key` of a group; what is added
  std::int64_t result = 0;  // of an addition
  std::int64_t bytes = 0;
  std::int64_t work = -1;  // that the call makes; -1: nothing waits for it
  // kWait, kPoll, kDrop: works; all_to_all: bytes to, then from, each member
  std::vector<std::int64_t> amounts;
  // kCall: other threads, and how many of their calls come before this one for certain
  std::vector<std::pair<std::uint32_t, std::int64_t>> after;
};

/// How a rank's record ends.
struct RecordEnd {
  enum class Kind : std::uint8_t { kFinished, kExited, kRaised, kCut };
  enum class Cut : std::uint8_t { kRest, kSteps, kSeconds, kMadeUp, kKilled };

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

struct RankRecord {
  std::vector<RecordStream> streams;   // the first is the default one
  std::vector<OutsideText> events;     // their names
  std::vector<std::uint32_t> defined;  // groups, in the order in which this rank heard of them
  std::vector<RecordEntry> entries;
  RecordEnd end;
};

/// All ranks of a job.
struct Record {
  OutsideText command;
  OutsideText backend;  // "gloo" or "nccl": what the script asked for
  OutsideText torch;    // its version
  bool device_is_cuda = false;
  std::int64_t limit = 0;      // of bytes that one value may have to be exchanged; 0: not said
  std::int64_t steps = 0;      // after which the recording ended; 0: not said
  std::int64_t seconds = 0;    // without progress, likewise
  bool waits_assumed = false;  // nobody recorded what waits for calls: see record_of_dumps.hpp
  std::vector<RecordPlace> places;
  std::vector<RecordFrame> frames;  // a caller comes before what it calls
  std::vector<RecordGroup> groups;
  std::vector<OutsideText> texts;
  std::vector<RankRecord> ranks;

  /// Whether a group, or the script itself, is under NCCL's rules: a device does the calls.
  bool uses_nccl(RecordRules rules) const;

  /// Of an entry; empty where it has none.
  std::string place_of(std::uint32_t place) const {
    return place == kNotSaid ? std::string() : place_text(places[place]);
  }
};

/// The user's innermost line of a stack, with the line of a package that it leads to. A stack
/// without a line of the user has its innermost frame.
RecordPlace place_of_stack(const std::vector<RecordFrame>& frames, std::uint32_t innermost);

}  // namespace pipesim::models
