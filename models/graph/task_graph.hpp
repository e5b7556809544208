// The task graph: the symbolic form that users write and passes rewrite.
//
// All parts are templates: one actor, with its name and its place in the file, represents all its
// ranks and all its ops. Lowering turns the task graph into a plan.
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
#include "models/graph/logical_graph.hpp"
#include "models/graph/operation.hpp"
#include "models/graph/pipeline.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/recorded.hpp"
#include "models/short_list.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// The index that refers to nothing.
inline constexpr std::uint32_t kNoIndex = 0xffffffff;

/// Ranks that communicate: one or more disjoint lists. A template that names a group means the list
/// that contains its own rank.
struct Group {
  std::string name;
  Place place;
  std::vector<std::vector<std::uint32_t>> lists;  // each in member order

  /// Returns the index of the list that contains `rank`, or kNoIndex. Needs index().
  std::uint32_t list_of(std::uint32_t rank) const {
    const std::uint32_t at = rank - first_;  // wraps below the first rank
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

/// The vendor of the devices: decides the default number of hardware queues, and how long an op
/// holds a queue.
enum class Vendor : std::uint8_t { kNvidia, kAmd };

/// Limits of each device, see sim::Device. 0: no limit.
struct DeviceRule {
  Vendor vendor = Vendor::kNvidia;
  Expr hardware_queues;
  bool has_queues = false;  // whether hardware_queues is set; see TaskGraph::hardware_queues()
  Expr resident;
  Expr sms;           // alternative to `resident`: an op takes one SM per CTA
  Expr launch_queue;  // size of a launch queue for all streams of the device
  sim::LaunchOrder order = sim::LaunchOrder::kNone;

  friend bool operator==(const DeviceRule&, const DeviceRule&) = default;
};

/// Returns "none", "implicit" or "serial".
const char* launch_order_name(sim::LaunchOrder order);

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

/// The collective that an actor runs.
struct CollectiveTemplate {
  Place place;
  Operation operation = Operation::kAllReduce;
  std::int64_t bytes = 0;  // input of one rank, see models/lowering/cost.hpp
  std::uint32_t group = kNoIndex;
  std::uint32_t communicator = kNoIndex;  // index; kNoIndex: a communicator for this actor only
  // Algorithm that decides the time; empty: the communicator's or, without one, the cluster's.
  std::optional<Algorithm> algorithm;
  bool timed = false;  // whether bytes and cluster decide the time, not ActorTemplate::takes

  friend bool operator==(const CollectiveTemplate&, const CollectiveTemplate&) = default;
};

/// The outside input of a source, see sim::OutsideInput.
struct OutsideInputTemplate {
  Expr items;
  Expr first;  // time in ns
  Expr every;  // interval in ns

  friend bool operator==(const OutsideInputTemplate&, const OutsideInputTemplate&) = default;
};

/// Assumptions about NCCL that the scenario leaves open.
enum class NcclMode : std::uint8_t {
  kContract,  // a send waits for its recv; all connections exist
  kReal,      // sends complete into buffers; all connections exist
  kCold,      // sends complete into buffers; first use connects the ranks
};

/// Returns the name of a mode: "contract", "real" or "cold".
std::string_view nccl_mode_name(NcclMode nccl_mode);

/// The moment at which communicators initialize.
struct InitRule {
  // Whether the scenario sets this rule. If not, communicators of programs initialize at first use
  // in a cold run.
  bool said = false;
  bool at_first_use = false;
  bool waits_for_device = false;

  friend bool operator==(const InitRule&, const InitRule&) = default;
};

/// The scenario's settings of PyTorch's process groups. Communicators and calls already reflect
/// them, so two graphs do not differ in them.
struct ProcessGroups {
  std::string backend;  // backend name; empty: unknown
  bool device_id = false;
  bool has_empty_parts = false;  // whether an all_to_all has parts of 0 bytes
  bool sends_them = false;       // whether empty parts are sent as messages

  friend bool operator==(const ProcessGroups&, const ProcessGroups&) { return true; }
};

/// A communicator that several collectives share, one for each list of its group.
struct CommunicatorTemplate {
  std::string name;
  Place place;
  std::uint32_t group = kNoIndex;
  InitRule init;
  std::uint32_t stream = kNoIndex;                    // stream of its calls in programs, by default
  bool on_host = false;                               // whether its calls run on the host
  bool is_gloo = false;                               // whether its calls follow gloo's rules
  std::optional<std::int64_t> eager_bytes;            // maximum size of host sends that do not wait
  std::optional<std::int64_t> p2p_channels;           // NCCL's number; empty: from the cluster
  std::optional<std::int64_t> p2p_channels_per_peer;  // NCCL's number; empty: from the cluster
  bool registered = false;             // whether sends use registered user buffers, not NCCL's
  std::int64_t ctas = 16;              // CTAs (SMs) that each of its kernels holds
  std::optional<Algorithm> algorithm;  // algorithm of its calls; empty: the cluster's
  std::vector<std::uint32_t> over;     // links that it uses, in Cluster::links; empty: all
  // Interface that connects the ranks: index in Cluster::interfaces.
  std::uint32_t interface = kNoIndex;
  std::int64_t port = 0;                   // bootstrap port on the first member's host
  std::optional<std::int64_t> timeout_ns;  // timeout of its calls and its initialization

  friend bool operator==(const CommunicatorTemplate&, const CommunicatorTemplate&) = default;
};

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
  std::string tag;                     // purpose of a message; empty: unknown
  Boxed<Expr> tag_number;              // the tag, if it is a number
  Boxed<Numbering> tag_numbers;        // number appended to the tag of each op
  Expr takes;                          // duration in ns
  std::optional<Algorithm> algorithm;  // algorithm of a collective; empty: the communicator's
  bool timed = false;                  // whether bytes and cluster decide the time, not `takes`
  bool registered = false;             // whether a send bypasses NCCL's buffers

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
  Boxed<Expr> ctas;  // kOp, kCalls: number of CTAs; empty: kernels 0, calls the communicators'
  std::string dies;  // kWork: cause of death, if its rank dies here; else empty
  std::optional<std::int64_t> timeout_ns;  // timeout of a host step; 0: none

  friend bool operator==(const StepTemplate&, const StepTemplate&) = default;
};

/// An event, separate on each rank, or a key that all ranks share.
struct EventTemplate {
  std::string name;
  Place place;
  bool shared = false;

  friend bool operator==(const EventTemplate&, const EventTemplate&) = default;
};

/// A dependency: op k of an actor starts only after op k + `ahead` of `actor` is done, see
/// sim::After.
struct AfterTemplate {
  std::uint32_t actor = kNoIndex;
  std::uint32_t ahead = 0;

  friend bool operator==(const AfterTemplate&, const AfterTemplate&) = default;
};

struct ActorTemplate {
  ActorTemplate();
  ActorTemplate(const ActorTemplate&);
  ActorTemplate(ActorTemplate&&) noexcept;
  ActorTemplate& operator=(const ActorTemplate&);
  ActorTemplate& operator=(ActorTemplate&&) noexcept;
  ~ActorTemplate();

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

/// The task graph, see the head of this file. The order of the lists is the file's order and breaks
/// all ties.
struct TaskGraph {
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
  std::optional<Expr> memory;  // bytes that a rank holds all the time; empty: unknown
  NcclMode nccl_mode = NcclMode::kCold;
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
  std::uint32_t interface = kNoIndex;        // default interface of communicators, by index
  Expr launch_queue = Expr::constant(1024);  // default size of launch queues
  std::vector<EventTemplate> events;
  std::vector<std::string> locks;   // names of locks, which are separate on each rank
  std::vector<std::string> phases;  // names of the units of a rank's progress: forward, backward
  std::vector<ActorTemplate> actors;
  std::optional<Pipeline> pipeline;          // pipeline that some programs run
  std::optional<LogicalGraph> logical;       // a model whose tasks do not exist yet
  std::shared_ptr<const Recorded> recorded;  // the record that the scenario was made from

  /// Returns the hardware queues per device; 0: one per stream. Default: the driver's number for
  /// host programs, 0 for actors.
  Expr hardware_queues() const;

  friend bool operator==(const TaskGraph&, const TaskGraph&) = default;
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
