// The host program of each rank: a record under the rules of gloo or NCCL.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/graph/operation.hpp"

#include "features/record/channels.hpp"
#include "features/record/record.hpp"

namespace pipesim::models {

/// Name of the last step of a rank whose record ends while it waits.
inline constexpr const char* kEndOfRecord = "end of the record";

/// The other rank of a call, relative to the channel's list that contains the calling rank. This
/// makes the peers of ranks with equal programs equal.
struct RecordPeer {
  enum class Kind : std::uint8_t { kNone, kPosition, kDistance, kAny };
  Kind kind = Kind::kNone;
  std::uint32_t value = 0;

  /// Returns the peer of `rank`, as a rank of the job.
  std::uint32_t of(std::uint32_t rank, const std::vector<std::uint32_t>& list) const;
};

struct HostCall {
  Operation operation = Operation::kAllReduce;
  std::uint32_t channel = kNotSaid;
  // The group's channel, if parameter p2p chooses between `channel` and this channel.
  std::uint32_t shared = kNotSaid;
  RecordPeer peer;
  std::int64_t bytes = 0;
  bool sized = false;  // for a collective: whether `bytes` is known, so that 0 is a size
  std::string type;
};

/// A step of a host program, as in the scenario.
struct HostStep {
  enum class Kind : std::uint8_t {
    kCalls,
    kCompute,
    kRecord,
    kWait,
    kAwait,
    kSynchronize,  // a stream; if `stream` is empty, the device
    kCreate,
    kSplit,    // splits the communicator of a channel
    kDestroy,  // destroys the communicator of a channel
    kSet,
    kGet,
    kRaise,
    kExit,
  };

  Kind kind = Kind::kCalls;
  bool later = false;    // whether the step comes from a call that add_later_calls() added
  bool blocking = true;  // for a call: whether the host waits for it
  bool assumed = false;  // whether the step belongs to an assumed wait; dumps record no waits
  std::uint32_t place = kNotSaid;  // index in Record::places
  std::string thread;              // thread name; empty: the main thread
  // Channel of kCreate and kSplit, or of the calls whose stream this step uses.
  std::uint32_t channel = kNotSaid;
  std::uint32_t shared = kNotSaid;  // like HostCall::shared
  std::uint32_t slot = 0;           // number of the channel's event, from 1; 0: `name` is the event
  // kCompute: kernels; kGet: number of sets to wait for; kExit: code; kDestroy: the setting of
  // parameter p2p under which the step exists, 0: both, 1: pair, 2: group.
  std::int64_t number = 1;
  std::string name;    // name of an event, a key or an exception
  std::string stream;  // stream name, if no channel determines the stream
  std::vector<HostCall> calls;
};

/// The programs of all ranks. Equal steps share a number.
struct HostPrograms {
  RecordRules rules = RecordRules::kOwn;
  bool device = false;  // whether devices run some of the calls, under NCCL's rules
  Channels channels;
  std::vector<HostStep> steps;
  // Each distinct program, as step numbers in program order. Programs are sorted by their first
  // ranks.
  std::vector<std::vector<std::uint32_t>> programs{};
  std::vector<std::uint32_t> ranks{};  // [rank]: index in `programs`
  // If requested, [rank]: the entry of each step of its program. A batch has its first entry; the
  // end of the rank has kNotSaid.
  std::vector<std::vector<std::uint32_t>> entries{};
  bool has_pairs = false;  // whether parameter p2p chooses the channel of some sends
  bool has_kernels = false;
  bool destroys = false;  // whether some rank destroys a group of NCCL
  bool lazy = true;  // under NCCL: whether no group initializes its communicator at its creation

  const std::vector<std::uint32_t>& program_of(std::uint32_t rank) const {
    return programs[ranks[rank]];
  }
};

/// Returns the channels of a record, except the channel of the store.
Channels channels_of(const Record& record, RecordRules rules);

HostPrograms host_programs(const Record& record, RecordRules rules, bool with_entries = false);

}  // namespace pipesim::models
