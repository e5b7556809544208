// The task graph: the symbolic form that users write and passes rewrite.
//
// All parts are templates: one actor, with its name and its place in the file, represents all its
// ranks and all its ops. Lowering turns the task graph into a plan.
//
// The rows below a struct describe its members, see models/graph/fields.hpp. A row without a
// meaning is not a separate key: the reader of host programs, or of the section, sets the member.
//
// Equality of task graphs includes places. To ignore places, compare the results of
// without_places().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/boxed.hpp"
#include "models/graph/cluster.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/faults.hpp"
#include "models/graph/fields.hpp"
#include "models/graph/logical_graph.hpp"
#include "models/graph/operation.hpp"
#include "models/graph/pipeline.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/recorded.hpp"
#include "models/short_list.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// Ranks that communicate: one or more disjoint lists. A template that names a group refers to the
/// list that contains the rank of the template.
struct Group {
  std::string name;
  Place place;
  std::vector<std::vector<std::uint32_t>> lists;  // each in member order

  /// Returns the index of the list that contains `rank`, or kNoIndex. Needs index().
  std::uint32_t list_of(std::uint32_t rank) const {
    const std::uint32_t at = rank - first_;  // wraps around below the first rank
    return at < list_of_rank_.size() ? list_of_rank_[at] : kNoIndex;
  }

  /// Prepares list_of(): call once when the lists are complete.
  void index();

  /// Returns all ranks of the group. Needs index().
  RankSet members() const;

  friend bool operator==(const Group&, const Group&) = default;

 private:
  // Covers only the ranks from the first to the last, because some jobs have a group per pair of
  // ranks.
  std::uint32_t first_ = 0;
  std::vector<std::uint32_t> list_of_rank_;
};

/// Numbers for the ops of an actor: op k (from 0) has number `first` + k * `step`.
struct Numbering {
  std::int64_t first = 0;
  std::int64_t step = 1;

  std::int64_t number(std::uint32_t k) const { return first + step * k; }

  /// Returns the op (from 0) with this number, out of `ops` ops; kNoIndex if there is none.
  std::uint32_t op(std::int64_t number, std::uint32_t ops) const {
    const std::int64_t far = number - first;
    if (ops == 0 || far == 0) return ops == 0 ? kNoIndex : 0;
    if (step == 0 || far % step != 0 || far / step < 0 || far / step >= ops) return kNoIndex;
    return static_cast<std::uint32_t>(far / step);
  }

  friend bool operator==(const Numbering&, const Numbering&) = default;
};

/// A step of a host program: one op, a block of steps, or a list of ops.
struct ProgramStep {
  Place place;
  std::uint32_t actor = kNoIndex;  // index in TaskGraph::actors, or kNoIndex
  std::int64_t times = 1;          // repetitions of a block
  Boxed<RankSet> on;               // ranks that run a block
  std::vector<ProgramStep> block;
  ShortList<std::uint32_t> list;  // actors of a list step: 4 bytes per op

  friend bool operator==(const ProgramStep&, const ProgramStep&) = default;
};

/// A host thread, one per rank that has an actor on this thread.
struct HostThread {
  std::string name;
  Place place;
  sim::ThreadOrder order = sim::ThreadOrder::kArrival;
  std::vector<ProgramStep> program;

  friend bool operator==(const HostThread&, const HostThread&) = default;
};

/// The maximum index of a device within its rank.
inline constexpr std::int64_t kMaxDevice = 1 << 20;

/// A stream, one per rank that has an actor on this stream.
struct StreamTemplate {
  std::string name;
  Place place;
  std::uint32_t thread = kNoIndex;  // index of the thread for actors that name no thread
  Expr launch_queue = Expr::constant(1024);
  std::uint32_t device = 0;  // index within its rank
  bool on_host = false;      // whether its ops run on the host and keep no device busy

  friend bool operator==(const StreamTemplate&, const StreamTemplate&) = default;
};

template <>
inline constexpr Field<StreamTemplate> kFields<StreamTemplate>[] = {
    {"thread", by_hand(ref(&StreamTemplate::thread, To::kThread, "name|~")),
     "Thread that launches on it; `~`: only programs launch on it", "a thread of the same name"},
    {"launch_queue", integer_by_rank(&StreamTemplate::launch_queue),
     "Launched ops that may be pending before a launch blocks", "1024"},
    {"device", integer(&StreamTemplate::device, {"integer", kMaxDevice}),
     "Which of its rank's devices it is on", "0"},
    {"host", on_off(&StreamTemplate::on_host),
     "on: the host does its work, and no device is busy with it", "off"},
    {"about", for_people<StreamTemplate>(), "For people"},
};
static_assert(describes_all<StreamTemplate>(2), "all members but name and place have a row");

/// The vendor of the devices: decides the default number of hardware queues, and how long an op
/// holds a queue.
enum class Vendor : std::uint8_t { kNvidia, kAmd };

/// Limits of each device, see sim::Device. 0: no limit.
struct DeviceRule {
  Vendor vendor = Vendor::kNvidia;
  Boxed<Expr> hardware_queues;  // empty: the driver's number, see TaskGraph::hardware_queues()
  Expr resident;
  Expr sms;           // alternative to `resident`: an op takes one SM per CTA
  Expr launch_queue;  // size of a launch queue for all streams of the device
  sim::LaunchOrder order = sim::LaunchOrder::kNone;
  bool eager_loading = false;  // whether all kernels are loaded before the first launch

  friend bool operator==(const DeviceRule&, const DeviceRule&) = default;
};

template <>
inline constexpr Field<DeviceRule> kFields<DeviceRule>[] = {
    {"vendor", words<&DeviceRule::vendor>("'nvidia'|'amd'"),
     "On `amd` an op holds its hardware queue until it ends, on `nvidia` until it starts",
     "`nvidia`"},
    {"hardware_queues", integer_by_rank(&DeviceRule::hardware_queues),
     "`CUDA_DEVICE_MAX_CONNECTIONS`, `GPU_MAX_HW_QUEUES`: hardware queues that the streams share, "
     "each first in, first out; 0: one per stream",
     "8, `amd`: 4; without host programs 0"},
    {"resident", integer_by_rank(&DeviceRule::resident),
     "Kernels that can run at the same time; a collective keeps its slot until it is done; 0: no "
     "limit in a run; `check` then takes no room for granted",
     "0"},
    {"sms", integer_by_rank(&DeviceRule::sms),
     "Instead of `resident`: SMs. An op takes one for each of its `ctas`, those that are free "
     "first, and starts with all of them; 0: no limit",
     "0"},
    {"launch_queue", integer_by_rank(&DeviceRule::launch_queue),
     "Launched ops of all its streams that may be pending before a launch blocks, in place of the "
     "`launch_queue` of each; 0: each stream has its own in a run; `check` tries both",
     "0"},
    {"launch_order", words<&DeviceRule::order>("'none'|'implicit'|'serial'"),
     "`implicit`: calls start in launch order (`NCCL_LAUNCH_ORDER_IMPLICIT`); `serial`: each also "
     "after those before it have ended (the same before CUDA 12.3)",
     "`none`"},
    {"loading", words<&DeviceRule::eager_loading>("'lazy'|'eager'"),
     "`lazy`: in a cold run, the first launch of a kernel may load it (see "
     "[check](../explanation/check.md#kernels-that-are-loaded)); `eager`: never "
     "(`CUDA_MODULE_LOADING=EAGER`, or a warm-up)",
     "`lazy`"},
};
static_assert(describes_all<DeviceRule>(0), "each member has a row");

/// An output of an actor.
struct RegisterTemplate {
  std::string name = "out";
  Place place;
  bool control = false;
  Expr slots = Expr::constant(1);
  UsualExpr<1> ops_per_slot;       // ops of the producer that fill one slot
  UsualExpr<0> drain_every;        // drain interval, see sim::Register
  Boxed<Expr> bytes;               // size per slot; empty: unknown
  ShortList<std::string> carries;  // names of its tensors; empty: unnamed

  friend bool operator==(const RegisterTemplate&, const RegisterTemplate&) = default;
};

template <>
inline constexpr Field<RegisterTemplate> kFields<RegisterTemplate>[] = {
    {"slots", integer_by_rank(&RegisterTemplate::slots), "Its credits", "1"},
    {"control", on_off(&RegisterTemplate::control), "on: it carries no data, only order", "off"},
    {"every", integer_by_rank(&RegisterTemplate::ops_per_slot),
     "Ops of the actor that fill it once", "1"},
    {"drain_every", integer_by_rank(&RegisterTemplate::drain_every),
     "After this many ops, all slots must be back before the next one; 0: never", "0"},
    {"bytes", size_by_rank(&RegisterTemplate::bytes),
     "Size of a slot; a control register has none"},
    {"carries", tensors(&RegisterTemplate::carries), "Names of the tensors in it"},
};
static_assert(describes_all<RegisterTemplate>(2), "all members but name and place have a row");

/// A register that an actor consumes.
struct ReadTemplate {
  Place place;
  std::uint32_t actor = kNoIndex;         // the producer
  std::uint32_t reg = 0;                  // index in the producer's registers
  std::uint32_t group = kNoIndex;         // reads from all members of the rank's list of this group
  RankSet on;                             // ranks of the consumer that read
  Boxed<Expr> rank;                       // rank of the producer; empty: the consumer's own
  Expr ops_per_slot = Expr::constant(1);  // ops of the consumer that share one slot
  Boxed<ShortList<std::string>> needs;    // names of tensors; empty: all that the register carries

  friend bool operator==(const ReadTemplate&, const ReadTemplate&) = default;
};

template <>
inline constexpr Field<ReadTemplate> kFields<ReadTemplate>[] = {
    {"from", by_hand(ref(&ReadTemplate::actor, To::kActor)), "Actor, or `actor.register`",
     kRequired},
    {"register", by_hand<ReadTemplate>("name"),
     "Register of the actor `from`, if `from.register` would be ambiguous"},
    {"rank", rank_by_rank(&ReadTemplate::rank), "Rank that it is read from", "the same rank"},
    {"each", ref(&ReadTemplate::group, To::kGroup),
     "Group: read from every member of the rank's own list"},
    {"on", by_hand(ranks(&ReadTemplate::on)), "Ranks that read it", "all"},
    {"when", by_hand<ReadTemplate>("on/off"), "off: it is not read", "on"},
    {"per", integer_by_rank(&ReadTemplate::ops_per_slot), "Ops of the reader that share one slot",
     "1"},
    {"needs", by_hand<ReadTemplate>("[name]?"), "Tensors it is read for",
     "those that the register carries"},
};
static_assert(describes_all<ReadTemplate>(3),
              "all members but place, register and tensors have a row");

/// The collective that an actor runs.
struct CollectiveTemplate {
  Place place;
  Operation operation = Operation::kAllReduce;
  std::int64_t bytes = 0;  // input of one rank, see models/lowering/cost.hpp
  std::uint32_t group = kNoIndex;
  std::uint32_t communicator = kNoIndex;  // index; kNoIndex: a communicator for this actor only
  // Algorithm that decides the time; empty: the communicator's algorithm or, if it has none, the
  // cluster's.
  std::optional<Algorithm> algorithm;
  bool timed = false;  // whether bytes and cluster decide the time, not ActorTemplate::takes

  friend bool operator==(const CollectiveTemplate&, const CollectiveTemplate&) = default;
};

template <>
inline constexpr Field<CollectiveTemplate> kFields<CollectiveTemplate>[] = {
    // In a scenario, the key is the operation, and its value is the group.
    {"collective group", by_hand(ref(&CollectiveTemplate::group, To::kGroup)), "", kRequired},
    // Lowering checks the size, together with the sizes of calls.
    {"bytes", by_hand(size(&CollectiveTemplate::bytes)),
     "Size; with a `cluster`, the time follows from it"},
    {"communicator", ref(&CollectiveTemplate::communicator, To::kCommunicator),
     "A communicator listed under `communicators`"},
    {"algorithm", words<&CollectiveTemplate::algorithm>("algorithm", kAlgorithms), "Algorithm",
     "that of the communicator"},
    {"time follows from bytes", by_hand(on_off(&CollectiveTemplate::timed))},
};
static_assert(describes_all<CollectiveTemplate>(2),
              "all members but place and operation have a row");

/// The outside input of a source, see sim::OutsideInput.
struct OutsideInputTemplate {
  Expr items;
  Expr first;  // time in ns
  Expr every;  // interval in ns

  friend bool operator==(const OutsideInputTemplate&, const OutsideInputTemplate&) = default;
};

template <>
inline constexpr Field<OutsideInputTemplate> kFields<OutsideInputTemplate>[] = {
    {"items", integer_by_rank(&OutsideInputTemplate::items), "Number of items", kRequired},
    {"first", time_by_rank(&OutsideInputTemplate::first), "Arrival of the first item", "0"},
    {"every", time_by_rank(&OutsideInputTemplate::every), "Time between items", "0"},
};
static_assert(describes_all<OutsideInputTemplate>(0), "each member has a row");

/// Assumptions about NCCL that the scenario leaves open.
enum class NcclMode : std::uint8_t {
  kContract,  // a send waits for its recv; all connections exist
  kReal,      // sends complete into buffers; all connections exist
  kCold,      // sends complete into buffers; first use connects the ranks
};

/// Returns the name of a mode: "contract", "real" or "cold".
std::string_view nccl_mode_name(NcclMode nccl_mode);

/// The way in which communicators initialize.
struct InitRule {
  // Whether the scenario sets the moment of initialization. If not, communicators of programs
  // initialize at first use in a cold run.
  bool said = false;
  bool at_first_use = false;
  bool waits_for_device = false;
  // Interface that connects the ranks: index in Cluster::interfaces.
  std::uint32_t interface = kNoIndex;

  friend bool operator==(const InitRule&, const InitRule&) = default;
};

template <>
inline constexpr Field<InitRule> kFields<InitRule>[] = {
    {"creation",
     words<InitRule>("'start'|'first_use'", {[](const InitRule& it) {
                                               return Word{it.at_first_use ? 1 : it.said ? 0 : -1};
                                             },
                                             [](InitRule& it, Word word) {
                                               it.said = word.index >= 0;
                                               it.at_first_use = word.index == 1;
                                             }}),
     "When communicators are initialized",
     "`first_use` for NCCL calls of programs in a cold run, else `start`"},
    {"waits_for_device", on_off(&InitRule::waits_for_device),
     "on: initialization waits until the device is idle", "off"},
    {"interface", ref(&InitRule::interface, To::kInterface),
     "Network interface of the cluster over which ranks find each other. Over one that leads "
     "nowhere, only ranks of the same host do"},
};
static_assert(describes_all<InitRule>(1), "each member has a row; `creation` sets two");

/// The scenario's settings of PyTorch's process groups. Communicators and calls already reflect
/// them, so a comparison of two graphs ignores them.
struct ProcessGroups {
  std::string backend;  // backend name; empty: unknown
  bool device_id = false;
  bool has_empty_parts = false;  // whether an all_to_all has parts of 0 bytes
  bool sends_them = false;       // whether empty parts are sent

  friend bool operator==(const ProcessGroups&, const ProcessGroups&) { return true; }
};

/// A communicator that several collectives share, one for each list of its group.
struct CommunicatorTemplate {
  std::string name;
  Place place;
  std::uint32_t group = kNoIndex;
  InitRule init;
  std::uint32_t stream = kNoIndex;  // stream of its calls in programs, by default
  bool on_host = false;             // whether its calls run on the host
  bool is_gloo = false;             // whether its calls follow gloo's rules
  bool in_calls = false;            // whether host calls advance only while their ranks make calls
  std::optional<std::int64_t> eager_bytes;            // maximum size of host sends that do not wait
  std::optional<std::int64_t> p2p_channels;           // NCCL's number; empty: from the cluster
  std::optional<std::int64_t> p2p_channels_per_peer;  // NCCL's number; empty: from the cluster
  bool registered = false;                 // whether sends use registered user buffers, not NCCL's
  bool one_sided = false;                  // sends are puts, and recvs wait for signals
  std::int64_t ctas = 16;                  // CTAs (SMs) that each of its kernels holds
  std::optional<Algorithm> algorithm;      // algorithm of its calls; empty: the cluster's
  std::vector<std::uint32_t> over;         // links that it uses, in Cluster::links; empty: all
  std::int64_t port = 0;                   // bootstrap port on the first member's host
  std::optional<std::int64_t> timeout_ns;  // timeout of its calls and its initialization

  friend bool operator==(const CommunicatorTemplate&, const CommunicatorTemplate&) = default;
};

/// NCCL's MAXCHANNELS.
inline constexpr std::int64_t kMaxChannels = 64;

template <>
inline constexpr Field<CommunicatorTemplate> kFields<CommunicatorTemplate>[] = {
    {"group", ref(&CommunicatorTemplate::group, To::kGroup),
     "Group that it connects; each list of the group has one communicator", kRequired},
    {"stream", by_hand(ref(&CommunicatorTemplate::stream, To::kStream)),
     "Stream of its calls in programs", "its own, `nccl NAME`"},
    {"eager", size(&CommunicatorTemplate::eager_bytes),
     "For calls of the host: sends up to this size complete without their recv. NCCL has no such "
     "threshold",
     "no sends do"},
    {"progress", words<&CommunicatorTemplate::in_calls>("'always'|'in_calls'"),
     "For calls of the host that do not block: `always`: they advance by themselves; `in_calls`: "
     "only while a thread of the rank is in a call of the library, as in MPI",
     "`in_calls` with the backend `mpi`"},
    {"p2p_channels", integer(&CommunicatorTemplate::p2p_channels, {"integer 1..", kMaxChannels}),
     "NCCL: p2p channels, as `NCCL_DEBUG=INFO` prints them", "by link"},
    {"p2p_channels_per_peer",
     integer(&CommunicatorTemplate::p2p_channels_per_peer, {"integer 1..", kMaxChannels}),
     "NCCL: p2p channels per peer, as printed there", "by link"},
    {"ctas", integer(&CommunicatorTemplate::ctas, {"integer 1..", kMaxChannels}),
     "SMs that a call takes, where the `device` says `sms`: its channels", "16"},
    {"registered", on_off(&CommunicatorTemplate::registered),
     "on: user buffers are registered with NCCL, so that sends wait for their recvs", "off"},
    {"one_sided", on_off(&CommunicatorTemplate::one_sided),
     "on: sends are `ncclPutSignal` or `ncclSignal`, which wait for no rank, and recvs are "
     "`ncclWaitSignal` of one signal. They connect no ranks and take no SMs",
     "off"},
    {"host", by_hand(on_off(&CommunicatorTemplate::on_host)),
     "on: the host does its calls (gloo, MPI) and waits for each", "off"},
    {"gloo", by_hand(on_off(&CommunicatorTemplate::is_gloo)),
     "on: as `host`, and its calls wait for the ranks that gloo's wait for",
     "on with the backend `gloo`"},
    {"algorithm", words<&CommunicatorTemplate::algorithm>("algorithm", kAlgorithms),
     "Algorithm of its collectives", "that of the cluster"},
    {"over", ref(&CommunicatorTemplate::over, To::kLink, "link|[link]?"),
     "The only link classes it uses. Calls of the host take no time of their own without it",
     "all"},
    {"port", integer(&CommunicatorTemplate::port, "integer 1..65535"),
     "Port on which its first rank listens"},
    {"timeout", timeout(&CommunicatorTemplate::timeout_ns),
     "Timeout of its calls and its initialization; 0: none", "those of `guards`"},
};
static_assert(describes_all<CommunicatorTemplate>(3),
              "all members but name, place and init have a row");

/// Returns the name of a communicator's default stream for calls.
inline std::string calls_stream(const std::string& communicator) { return "nccl " + communicator; }

/// A call on a communicator in a host program, see sim::Call.
struct CallTemplate {
  Place place;
  std::string name;  // name of a call within a group, for reports; empty: unnamed
  sim::CallKind kind = sim::CallKind::kCollective;
  Operation operation = Operation::kAllReduce;
  std::uint32_t communicator = kNoIndex;
  Boxed<Expr> peer;  // rank to send to, rank to receive from (empty: any), or root
  Expr bytes;
  bool sized = false;                  // whether `bytes` is known: 0 is a size
  std::string type;                    // element type; empty: unknown
  std::string tag;                     // tag of a send or recv; empty: unknown
  Boxed<Expr> tag_number;              // the tag, if it is a number
  Boxed<Numbering> tag_numbers;        // number appended to the tag of each op
  Expr takes;                          // duration in ns
  std::optional<Algorithm> algorithm;  // algorithm of a collective; empty: the communicator's
  bool timed = false;                  // whether bytes and cluster decide the time, not `takes`
  bool registered = false;             // whether a send bypasses NCCL's buffers
  bool aborts = false;                 // kShrink: whether it ends the calls on the communicator
  bool waits = true;                   // kAbort: whether it waits for the calls that it ends

  bool from_any() const { return kind == sim::CallKind::kReceive && !peer; }

  std::string tag_on(std::uint32_t rank) const {
    const auto number = tag_number ? tag_number->value(rank) : std::nullopt;
    return number ? std::to_string(*number) : tag;
  }

  /// Returns the tag of op `k`, from 0.
  std::string tag_of(std::uint32_t rank, std::uint32_t k) const {
    return tag_on(rank) + (tag_numbers ? std::to_string(tag_numbers->number(k)) : "");
  }

  friend bool operator==(const CallTemplate&, const CallTemplate&) = default;
};

template <>
inline constexpr Field<CallTemplate> kFields<CallTemplate>[] = {
    {"name", text(&CallTemplate::name)},
    {"communicator", ref(&CallTemplate::communicator, To::kCommunicator), "", kRequired},
    {"peer", rank_by_rank(&CallTemplate::peer)},
    {"bytes", size_by_rank(&CallTemplate::bytes)},
    {"type", text(&CallTemplate::type)},
    {"tag", text(&CallTemplate::tag)},
    {"tag", integer_by_rank(&CallTemplate::tag_number)},
    {"takes", time_by_rank(&CallTemplate::takes)},
    {"algorithm", words<&CallTemplate::algorithm>("algorithm", kAlgorithms)},
    {"time follows from bytes", on_off(&CallTemplate::timed)},
    {"registered", on_off(&CallTemplate::registered)},
    {"abort", on_off(&CallTemplate::aborts)},
    {"waits", on_off(&CallTemplate::waits)},
};
static_assert(describes_all<CallTemplate>(5),
              "all members but place, kind, operation, sized and tag_numbers have a row");

/// The properties of an actor that is a step of a host program.
struct StepTemplate {
  sim::Role role = sim::Role::kOp;
  bool implied = false;            // whether it comes from `after` or `one_thread`
  std::string at;                  // location in the user's program
  ShortList<CallTemplate> calls;   // kCalls: calls that progress together
  std::uint32_t event = kNoIndex;  // kRecord, kWait, kAwait, kSet: index in TaskGraph::events
  std::int64_t times = 1;          // kAwait of a key: how often the key must have been set
  std::uint32_t lock = kNoIndex;   // kLock, kUnlock: index in TaskGraph::locks
  std::uint32_t communicator = kNoIndex;  // kCreate: the communicator to initialize
  ShortList<std::uint32_t> streams;       // kSynchronize; empty: all streams of the rank's devices
  bool only_cold = false;     // kSynchronize: whether it takes effect only in a cold run
  bool cooperative = false;   // kOp, kCalls: whether all CTAs start together
  std::uint32_t cluster = 1;  // kOp, kCalls: number of CTAs that start together, if not cooperative
  Boxed<Expr> ctas;  // kOp, kCalls: number of CTAs; default: 0 or, for calls, the communicators'
  std::string dies;  // kWork: cause of death, if its rank dies here; else empty
  std::optional<std::int64_t> timeout_ns;  // timeout of a host step; 0: none

  friend bool operator==(const StepTemplate&, const StepTemplate&) = default;
};

template <>
inline constexpr Field<StepTemplate> kFields<StepTemplate>[] = {
    {"implied", on_off(&StepTemplate::implied)},
    {"at", text(&StepTemplate::at)},
    {"event", ref(&StepTemplate::event, To::kEvent)},
    {"times", integer(&StepTemplate::times, "integer 0..")},
    {"lock", ref(&StepTemplate::lock, To::kLock)},
    {"communicator", ref(&StepTemplate::communicator, To::kCommunicator)},
    {"synchronize", ref(&StepTemplate::streams, To::kStream)},
    {"only in a cold run", on_off(&StepTemplate::only_cold)},
    {"cooperative", on_off(&StepTemplate::cooperative)},
    {"cluster", integer(&StepTemplate::cluster, "integer 1..")},
    {"ctas", integer_by_rank(&StepTemplate::ctas)},
    {"raise", text(&StepTemplate::dies)},
    {"timeout", timeout(&StepTemplate::timeout_ns)},
};
static_assert(describes_all<StepTemplate>(2), "all members but role and calls have a row");

/// An event, separate on each rank, or a key that all ranks share.
struct EventTemplate {
  std::string name;
  Place place;
  bool shared = false;

  friend bool operator==(const EventTemplate&, const EventTemplate&) = default;
};

/// A lock of a process. Each rank is a separate process, unless TaskGraph::processes says
/// otherwise.
struct LockTemplate {
  std::string name;
  bool of_rank = false;  // whether each rank of a process has its own

  friend bool operator==(const LockTemplate&, const LockTemplate&) = default;
};

/// The processes of the job: ranks that share locks and die together.
struct Processes {
  std::uint32_t group = kNoIndex;  // each list of this group is a process; kNoIndex: each rank

  friend bool operator==(const Processes&, const Processes&) = default;
};

template <>
inline constexpr Field<Processes> kFields<Processes>[] = {
    {"processes", by_hand(ref(&Processes::group, To::kGroup))},
};
static_assert(describes_all<Processes>(0), "each member has a row");

/// A dependency: op k of an actor starts only after op k + `ahead` of `actor` is done, see
/// sim::After.
struct AfterTemplate {
  std::uint32_t actor = kNoIndex;
  std::uint32_t ahead = 0;

  friend bool operator==(const AfterTemplate&, const AfterTemplate&) = default;
};

template <>
inline constexpr Field<AfterTemplate> kFields<AfterTemplate>[] = {
    {"step", ref(&AfterTemplate::actor, To::kActor), "", kRequired},
    {"ahead", integer(&AfterTemplate::ahead, "integer 0..")},
};
static_assert(describes_all<AfterTemplate>(0), "each member has a row");

/// An actor of an actor runtime, or a step of a host program.
struct ActorTemplate {
  std::string name;
  Boxed<Numbering> numbers;  // number appended to the name of each op
  Place place;
  bool immediate = true;
  bool blocking = false;
  bool in_place = false;  // whether output 0 reuses the memory of the first data input
  std::string_view kind;  // name of one of actor_kinds(), or empty
  UsualExpr<1> times;     // ratio, for kinds with a rate
  RankSet on;
  std::uint32_t stream = kNoIndex;  // index in TaskGraph::streams; kNoIndex: its own stream
  std::uint32_t thread = kNoIndex;  // index in TaskGraph::threads; kNoIndex: the stream's thread
  Expr takes;            // duration in ns; on its stream or, for a host step, on the thread
  Expr launch_overhead;  // duration in ns; on the thread, before each launch
  Boxed<Expr> ops;       // number of ops of a source; for other actors it follows from their inputs
  Boxed<OutsideInputTemplate> input;
  Boxed<CollectiveTemplate> collective;
  Boxed<StepTemplate> step;         // a step of a host program, which fixes the number of ops
  ShortList<AfterTemplate> after;   // dependencies on other streams of its rank
  std::uint32_t behind = kNoIndex;  // a stream's index: all its earlier launches must be done
  std::uint32_t phase = kNoIndex;   // index in TaskGraph::phases
  ShortList<RegisterTemplate> registers;
  ShortList<ReadTemplate> reads;  // data before control registers, in file order

  friend bool operator==(const ActorTemplate&, const ActorTemplate&) = default;
};

template <>
inline constexpr Field<ActorTemplate> kFields<ActorTemplate>[] = {
    {"on", by_hand(ranks(&ActorTemplate::on)), "Ranks that have the actor", "all"},
    {"when", by_hand<ActorTemplate>("on/off"), "off: the actor does not exist", "on"},
    {"about", for_people<ActorTemplate>(), "For people"},
    {"kind", by_hand<ActorTemplate>("actor_kind"),
     "Kind of the actor, which sets the defaults of its other keys: "
     "[kinds](../explanation/models.md#kinds-of-actor)",
     "`compute`"},
    {"times", by_hand(integer_by_rank(&ActorTemplate::times)),
     "Rate of the kinds `repeat`, `unpack`, `accumulate`, `pack` and `acc_tick`"},
    {"stream", by_hand(ref(&ActorTemplate::stream, To::kStream)), "Stream that its ops run on",
     "its own"},
    {"thread", ref(&ActorTemplate::thread, To::kThread), "Host thread that launches its ops",
     "that of the stream"},
    {"takes", by_hand(time_by_rank(&ActorTemplate::takes)), "Duration of an op", "0"},
    {"launch_overhead", time_by_rank(&ActorTemplate::launch_overhead),
     "Time that a launch takes on the thread", "0"},
    {"source", integer_by_rank(&ActorTemplate::ops), "How often it runs, if it has no inputs"},
    {"reads", by_hand<ActorTemplate>("reads"),
     "Its inputs: `name`, `name.register`, or `{from: D2H, rank: rank - 4}`"},
    {"after", by_hand<ActorTemplate>("reads"),
     "Control registers it waits for, written like `reads`"},
    {"slots", by_hand<ActorTemplate>("integer(rank)"), "Credits of its output `out`", "1"},
    {"bytes", by_hand<ActorTemplate>("size(rank)"),
     "Size of a slot of `out`; counted, but nothing waits for memory"},
    {"carries", by_hand<ActorTemplate>("[name]?"), "Names of the tensors in `out`"},
    {"registers", by_hand<ActorTemplate>("{register}"),
     "Further outputs; under `out`, what has no key of the actor"},
    {"collective", by_hand<ActorTemplate>("collective?"),
     "Its collective, in which all members of a group meet"},
    {"messages",
     words<ActorTemplate>("'immediate'|'gated'",
                          {[](const ActorTemplate& it) { return Word{it.immediate ? 0 : 1}; },
                           [](ActorTemplate& it, Word word) { it.immediate = word.index == 0; }}),
     "`immediate`: its own thread learns of an op at its launch; `gated`: at its end",
     "`gated` for collectives, else `immediate`"},
    {"blocking", on_off(&ActorTemplate::blocking), "on: a launch returns once its op is done",
     "off"},
    {"in_place", on_off(&ActorTemplate::in_place),
     "on: the output reuses the memory of the first input, which is returned with the output",
     "off"},
    {"waits_for_input", by_hand<ActorTemplate>("outside_input"),
     "Outside input that the thread of this source waits for"},
    {"phase", by_hand(ref(&ActorTemplate::phase, To::kPhase)),
     "Phase that its ops count for in reports: `forward`, `backward`"},
    {"behind", by_hand(ref(&ActorTemplate::behind, To::kStream))},
};
static_assert(describes_all<ActorTemplate>(10),
              "all members but name, numbers, place, kind and the structs within have a row");

/// The task graph, see the head of this file. The order of the lists is the file's order and breaks
/// all ties.
struct TaskGraph {
  // Defined in the source: each translation unit would compile them again.
  TaskGraph();
  TaskGraph(const TaskGraph&);
  TaskGraph(TaskGraph&&) noexcept;
  TaskGraph& operator=(const TaskGraph&);
  TaskGraph& operator=(TaskGraph&&) noexcept;
  ~TaskGraph();

  std::string name;
  std::uint32_t ranks = 1;
  // Micro-batches per step: an actor with this number of ops has one op per micro-batch; 0: none.
  std::int64_t micro_batches = 0;
  Boxed<Expr> memory;  // bytes that a rank holds all the time; empty: unknown
  NcclMode nccl_mode = NcclMode::kCold;
  // Whether the ranks of a host wait for each other when they destroy a communicator, as they do
  // since NCCL 2.31.
  bool destroy_meets = true;
  InitRule init;  // default rule of communicators
  ProcessGroups process_groups;
  std::vector<Group> groups;
  std::vector<HostThread> threads;
  std::vector<StreamTemplate> streams;
  std::vector<CommunicatorTemplate> communicators;
  DeviceRule device;
  std::optional<Cluster> cluster;  // cluster; empty: only explicit durations count
  Faults faults;
  TimeoutRules timeouts;
  Expr launch_queue = Expr::constant(1024);  // default size of launch queues
  std::vector<EventTemplate> events;
  std::vector<LockTemplate> locks;
  Processes processes;
  std::vector<std::string> phases;  // names of the units of a rank's progress: forward, backward
  std::vector<ActorTemplate> actors;
  std::optional<Pipeline> pipeline;          // pipeline that some programs run
  std::optional<LogicalGraph> logical;       // a model whose tasks do not exist yet
  std::shared_ptr<const Recorded> recorded;  // the record that the scenario was made from

  /// Returns the first rank of the process that `rank` is in.
  std::uint32_t process_of(std::uint32_t rank) const;

  /// Returns the hardware queues per device; 0: one per stream. Default: the driver's number for
  /// host programs, 0 for actors.
  Expr hardware_queues() const;

  friend bool operator==(const TaskGraph&, const TaskGraph&);
};

/// Replaces `steps` by one step with a list, if all steps are single ops and some actor occurs
/// twice. A list stores a program with many ops of few actors in little memory.
void collapse(std::vector<ProgramStep>& steps);

/// The name of an op as users write it: the name of the actor, and a number from 1. If the actor's
/// ops have numbers, `name` ends with the op's number and `number` is 1.
struct OpName {
  std::string name;
  std::uint32_t number = 1;
};
OpName op_name(const ActorTemplate& actor, std::uint32_t k);

/// Returns the op (from 0) called `op` of an actor with `ops` ops, or kNoIndex. For an actor
/// without numbers, the result can exceed `ops`.
std::uint32_t find_op(const ActorTemplate& actor, std::uint32_t ops, const OpName& op);

/// Returns `graph` with all places cleared.
TaskGraph without_places(TaskGraph graph);

/// Whether programs of `graph` have NCCL calls; without NCCL calls, every NcclMode gives the same
/// result.
bool has_nccl_modes(const TaskGraph& graph);

}  // namespace pipesim::models
