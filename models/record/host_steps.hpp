// What the host program of each rank does: a record under the rules of gloo or NCCL.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/graph/operation.hpp"
#include "models/record/channels.hpp"
#include "models/record/record.hpp"

namespace pipesim::models {

/// The other rank of a call, as ranks with equal programs have it alike: by its place in the list
/// of the channel that its rank is in.
struct RecordPeer {
  enum class Kind : std::uint8_t { kNone, kPosition, kDistance, kAny };
  Kind kind = Kind::kNone;
  std::uint32_t value = 0;

  /// Of `rank`, as a rank of the job.
  std::uint32_t of(std::uint32_t rank, const std::vector<std::uint32_t>& list) const;
};

struct HostCall {
  Operation operation = Operation::kAllReduce;
  std::uint32_t channel = kNotSaid;
  std::uint32_t shared = kNotSaid;  // channel of its group, where a parameter decides between them
  RecordPeer peer;
  std::int64_t bytes = 0;
  bool sized = false;  // of a collective: 0 is a size
  std::string type;
};

/// A step of a host program, as a scenario has it.
struct HostStep {
  enum class Kind : std::uint8_t {
    kCalls,
    kCompute,
    kRecord,
    kWait,
    kAwait,
    kSynchronize,  // a stream; an empty one: the device
    kCreate,
    kSplit,  // the communicator of a channel
    kSet,
    kGet,
    kRaise,
    kExit,
  };

  Kind kind = Kind::kCalls;
  bool later = false;              // nobody recorded it
  bool blocking = true;            // a call that the host does: the program waits for it
  bool assumed = false;            // it belongs to a wait that nobody recorded
  std::uint32_t place = kNotSaid;  // in Record::places
  std::string thread;              // its name; empty: the main one
  std::uint32_t channel =
      kNotSaid;                     // kCreate, kSplit; or its stream is that of the channel's calls
  std::uint32_t shared = kNotSaid;  // as HostCall::shared
  std::uint32_t slot = 0;           // of the channel's events, from 1; 0: `name` is the event's
  std::int64_t number = 1;          // kCompute: kernels; kGet: how often it was set; kExit
  std::string name;                 // an event, a key, an exception
  std::string stream;               // where no channel says it
  std::vector<HostCall> calls;
};

/// All programs. Equal steps have the same number.
struct HostPrograms {
  RecordRules rules = RecordRules::kOwn;
  bool device = false;  // NCCL does some calls, and devices work
  Channels channels;
  std::vector<HostStep> steps;
  std::vector<std::vector<std::uint32_t>> ranks;  // numbers of steps
  // Beside `ranks`: the entry of each step, of a batch its first; kNotSaid: the rank's end.
  std::vector<std::vector<std::uint32_t>> entries{};
  bool has_pairs = false;  // messages of which p2p decides the channel
  bool has_kernels = false;
  bool lazy = true;  // under NCCL: no group was made with its communicator
};

HostPrograms host_programs(const Record& record, RecordRules rules);

}  // namespace pipesim::models
