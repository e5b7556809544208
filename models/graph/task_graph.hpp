// The task graph: the symbolic form that people write and passes rewrite.
//
// Everything here is a template: an actor stands once, with its name and its place in the file,
// for all ranks that it is on and all acts that it does. Lowering turns it into a plan.
//
// Two task graphs are equal if they hold the same, places among it: without_places() of both leaves
// those out.
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

/// What refers to nothing.
inline constexpr std::uint32_t kNoIndex = 0xffffffff;

/// Ranks that communicate: one or more disjoint lists. Where a template says the group's name, the
/// list that contains its own rank is meant.
struct Group {
  std::string name;
  Place place;
  std::vector<std::vector<std::uint32_t>> lists;  // each in the order of the members

  /// The list that contains `rank`, or kNoIndex. Needs index().
  std::uint32_t list_of(std::uint32_t rank) const {
    const std::uint32_t at = rank - first_;  // wraps below the first one
    return at < list_of_rank_.size() ? list_of_rank_[at] : kNoIndex;
  }

  /// Prepares list_of(): call once when the lists are complete.
  void index();

  /// All of its ranks. Needs index().
  RankSet members() const;

  friend bool operator==(const Group&, const Group&) = default;

 private:
  // From the first of its ranks to the last: there are as many groups as pairs of ranks.
  std::uint32_t first_ = 0;
  std::vector<std::uint32_t> list_of_rank_;
};

/// Gives each act of an actor a number: act k (from 0) has `first` + k * `step`.
struct Numbering {
  std::int64_t first = 0;
  std::int64_t step = 1;

  std::int64_t number(std::uint32_t k) const { return first + step * k; }

  /// The act with this number, of so many acts; kNoIndex if none has it.
  std::uint32_t act(std::int64_t number, std::uint32_t acts) const {
    const std::int64_t far = number - first;
    if (acts == 0 || far == 0) return acts == 0 ? kNoIndex : 0;
    if (step == 0 || far % step != 0 || far / step < 0 || far / step >= acts) return kNoIndex;
    return static_cast<std::uint32_t>(far / step);
  }

  friend bool operator==(const Numbering&, const Numbering&) = default;
};

/// One act, a block of acts, or a list of acts, of a host program.
struct ProgramStep {
  Place place;
  std::uint32_t actor = kNoIndex;  // index in TaskGraph::actors, or kNoIndex
  std::int64_t times = 1;          // of a block
  Boxed<RankSet> on;               // of a block: only on these ranks
  std::vector<ProgramStep> block;
  ShortList<std::uint32_t> list;  // of actors, where it is one: acts take 4 bytes each in it

  friend bool operator==(const ProgramStep&, const ProgramStep&) = default;
};

/// A host thread. Each rank that has an actor on it has one.
struct HostThread {
  std::string name;
  Place place;
  sim::ThreadOrder order = sim::ThreadOrder::kArrival;
  std::vector<ProgramStep> program;

  friend bool operator==(const HostThread&, const HostThread&) = default;
};

/// A stream. Each rank that has an actor on it has one.
struct StreamTemplate {
  std::string name;
  Place place;
  std::uint32_t thread = kNoIndex;  // that launches what says nothing else
  Expr launch_queue = Expr::constant(1024);
  std::uint32_t device = 0;  // of its rank
  bool on_host = false;      // what runs here is done by the host: no device is busy with it

  friend bool operator==(const StreamTemplate&, const StreamTemplate&) = default;
};

/// Whose devices they are: how many hardware queues one has, and how long an op holds one.
enum class Vendor : std::uint8_t { kNvidia, kAmd };

/// The room of each device, see sim::Device. 0: no limit.
struct DeviceRule {
  Vendor vendor = Vendor::kNvidia;
  Expr hardware_queues;
  bool has_queues = false;  // else hardware_queues says nothing: see TaskGraph::hardware_queues()
  Expr resident;
  Expr sms;           // instead: of which ops take as many as they have CTAs
  Expr launch_queue;  // of all its streams, in place of theirs
  sim::LaunchOrder order = sim::LaunchOrder::kNone;

  friend bool operator==(const DeviceRule&, const DeviceRule&) = default;
};

/// "none", "implicit" or "serial".
const char* launch_order_name(sim::LaunchOrder order);

/// An output of an actor.
struct RegisterTemplate {
  std::string name = "out";
  Place place;
  bool control = false;
  Expr slots = Expr::constant(1);
  UsualExpr<1> acts_per_slot;      // it is filled once per so many acts
  UsualExpr<0> drain_every;        // see sim::Register
  Boxed<Expr> bytes;               // of a slot; nothing: nobody has said it
  ShortList<std::string> carries;  // tensors; none: nobody has named them

  friend bool operator==(const RegisterTemplate&, const RegisterTemplate&) = default;
};

/// A register that an actor consumes.
struct ReadTemplate {
  Place place;
  std::uint32_t actor = kNoIndex;          // the producer
  std::uint32_t reg = 0;                   // index in its registers
  std::uint32_t group = kNoIndex;          // all members of its list of this group
  RankSet on;                              // only on these ranks of the consumer
  Boxed<Expr> rank;                        // of the producer; its own where nothing is said
  Expr acts_per_slot = Expr::constant(1);  // it takes a slot per so many acts
  Boxed<ShortList<std::string>> needs;     // tensors; nothing: those that the register has

  friend bool operator==(const ReadTemplate&, const ReadTemplate&) = default;
};

/// That an actor is a collective, and which.
struct CollectiveTemplate {
  Place place;
  Operation operation = Operation::kAllReduce;
  std::int64_t bytes = 0;  // what one rank gives, see models/lowering/cost.hpp
  std::uint32_t group = kNoIndex;
  std::uint32_t communicator = kNoIndex;  // kNoIndex: one of its own
  std::optional<Algorithm> algorithm;     // that of the communicator where nothing is said
  bool timed = false;  // its time follows from bytes and cluster, and not from ActorTemplate::takes

  friend bool operator==(const CollectiveTemplate&, const CollectiveTemplate&) = default;
};

/// Outside input of a source, see sim::OutsideInput.
struct OutsideInputTemplate {
  Expr items;
  Expr first;  // ns
  Expr every;  // ns

  friend bool operator==(const OutsideInputTemplate&, const OutsideInputTemplate&) = default;
};

/// What of NCCL a run assumes, where the scenario does not say it.
enum class Reading : std::uint8_t {
  kContract,  // a send waits for its receive; all connections exist
  kReal,      // sends end in buffers; all connections exist
  kCold,      // sends end in buffers; what is used first is connected first
};

/// When communicators come into being.
struct CreationRule {
  bool said = false;  // else at first use those of programs, in a cold run
  bool at_first_use = false;
  bool waits_for_device = false;

  friend bool operator==(const CreationRule&, const CreationRule&) = default;
};

/// What the scenario says of PyTorch's process groups. Its communicators and calls are what follows
/// from it, so two graphs do not differ in it.
struct ProcessGroups {
  std::string backend;  // empty: not said
  bool device_id = false;
  bool has_empty_parts = false;  // some all_to_all has parts of no bytes,
  bool sends_them = false;       // which are messages, too

  friend bool operator==(const ProcessGroups&, const ProcessGroups&) { return true; }
};

/// A communicator that several collectives share, one for each list of its group.
struct CommunicatorTemplate {
  std::string name;
  Place place;
  std::uint32_t group = kNoIndex;
  CreationRule creation;
  std::uint32_t stream = kNoIndex;           // of its calls in programs, where those name none
  bool on_host = false;                      // its calls are done by the host,
  bool is_gloo = false;                      // as gloo does them
  std::optional<std::int64_t> eager_bytes;   // of the host: sends of at most so many do not wait
  std::optional<std::int64_t> p2p_channels;  // of NCCL; else those of the cluster
  std::optional<std::int64_t> p2p_channels_per_peer;  // likewise
  bool registered = false;                            // buffers of users: NCCL's are not used
  std::int64_t ctas = 16;                             // of its kernels: SMs that they hold
  std::optional<Algorithm> algorithm;                 // that of the cluster where nothing is said
  std::vector<std::uint32_t> over;         // the only links of the cluster it uses; empty: all
  std::uint32_t interface = kNoIndex;      // in Cluster::interfaces: over which ranks meet
  std::int64_t port = 0;                   // of the first member's host, at which they do
  std::optional<std::int64_t> timeout_ns;  // of its calls and its creation

  friend bool operator==(const CommunicatorTemplate&, const CommunicatorTemplate&) = default;
};

/// The stream of its own that a communicator's calls run on, unless it names another.
inline std::string calls_stream(const std::string& communicator) { return "nccl " + communicator; }

/// A call on a communicator in a host program, see sim::Call.
struct CallTemplate {
  Place place;
  std::string name;  // in reports, of a call of a group; empty: none
  sim::CallKind kind = sim::CallKind::kCollective;
  Operation operation = Operation::kAllReduce;
  std::uint32_t communicator = kNoIndex;
  Boxed<Expr> peer;  // a rank: whom to send to, whom to receive from (else any), the root
  Expr bytes;
  bool sized = false;                  // `bytes` was said: 0 is a size
  std::string type;                    // of the elements; empty: not said
  std::string tag;                     // what a message is for; empty: not said
  Boxed<Expr> tag_number;              // the same, where it is a number
  Boxed<Numbering> tag_numbers;        // what stands behind the tag of each act
  Expr takes;                          // ns
  std::optional<Algorithm> algorithm;  // that of the communicator where nothing is said
  bool timed = false;                  // its time follows from bytes and cluster, not from `takes`
  bool registered = false;             // of a send: goes through no buffer of NCCL

  bool from_any() const { return kind == sim::CallKind::kReceive && !peer; }

  std::string tag_on(std::uint32_t rank) const {
    const auto number = tag_number ? tag_number->value(rank) : std::nullopt;
    return number ? std::to_string(*number) : tag;
  }

  /// Of act `k`, from 0.
  std::string tag_of(std::uint32_t rank, std::uint32_t k) const {
    return tag_on(rank) + (tag_numbers ? std::to_string(tag_numbers->number(k)) : "");
  }

  friend bool operator==(const CallTemplate&, const CallTemplate&) = default;
};

/// What a step of a host program does beside being an actor.
struct StepTemplate {
  sim::Role role = sim::Role::kOp;
  bool implied = false;            // a part of what `after` means, which no user wrote as a step
  std::string at;                  // where it stands in the user's program
  ShortList<CallTemplate> calls;   // kCalls
  std::uint32_t event = kNoIndex;  // kRecord, kWait, kAwait, kSet: index in TaskGraph::events
  std::int64_t times = 1;          // kAwait of a key
  std::uint32_t lock = kNoIndex;   // kLock, kUnlock: index in TaskGraph::locks
  std::uint32_t communicator = kNoIndex;   // kCreate
  ShortList<std::uint32_t> streams;        // kSynchronize; none: all of the rank's devices
  bool only_cold = false;                  // kSynchronize: no work unless the reading is cold
  bool cooperative = false;                // kOp, kCalls: all CTAs start together
  std::uint32_t cluster = 1;               // likewise: else so many start together
  Boxed<Expr> ctas;                        // kOp, kCalls; else 0, or those of the communicators
  std::string dies;                        // kWork: not empty: its rank dies here, of this
  std::optional<std::int64_t> timeout_ns;  // of a step of the host; 0: none

  friend bool operator==(const StepTemplate&, const StepTemplate&) = default;
};

/// An event of streams, which each rank has for itself, or a key that all ranks share.
struct EventTemplate {
  std::string name;
  Place place;
  bool shared = false;

  friend bool operator==(const EventTemplate&, const EventTemplate&) = default;
};

/// Act k of an actor starts only once act k + `ahead` of another is done, see sim::After.
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
  Boxed<Numbering> numbers;  // what stands behind the name of each act
  Place place;
  bool immediate = true;
  bool blocking = false;
  bool in_place = false;  // its first output reuses the memory of its first data input
  std::string_view kind;  // that of one of actor_kinds(), or empty
  UsualExpr<1> times;     // of a kind with a rate
  RankSet on;
  std::uint32_t stream = kNoIndex;  // kNoIndex: one of its own
  std::uint32_t thread = kNoIndex;  // kNoIndex: that of the stream
  Expr takes;                       // ns; on its stream or, of a host step, on the thread
  Expr launch_overhead;             // ns; on the thread, before it starts
  Boxed<Expr> acts;                 // how often, of a source; of others it follows
  Boxed<OutsideInputTemplate> input;
  Boxed<CollectiveTemplate> collective;
  Boxed<StepTemplate> step;         // of a host program, which says how often it acts
  ShortList<AfterTemplate> after;   // on other streams of its rank
  std::uint32_t behind = kNoIndex;  // a stream: what is launched there before must be done
  std::uint32_t phase = kNoIndex;   // index in TaskGraph::phases
  ShortList<RegisterTemplate> registers;
  ShortList<ReadTemplate> reads;  // data and control, in order

  friend bool operator==(const ActorTemplate&, const ActorTemplate&) = default;
};

/// See the head of this file. Order is that of the file, and decides all ties.
struct TaskGraph {
  TaskGraph();
  TaskGraph(const TaskGraph&);
  TaskGraph(TaskGraph&&) noexcept;
  TaskGraph& operator=(const TaskGraph&);
  TaskGraph& operator=(TaskGraph&&) noexcept;
  ~TaskGraph();

  std::string name;
  std::uint32_t ranks = 1;
  std::int64_t micro_batches = 0;  // acts of actors that act so often have a micro-batch; 0: none
  std::optional<Expr> memory;      // bytes that a rank holds all the time; nothing: not said
  Reading reading = Reading::kCold;
  CreationRule creation;  // of communicators without an own rule
  ProcessGroups process_groups;
  std::vector<Group> groups;
  std::vector<HostThread> threads;
  std::vector<StreamTemplate> streams;
  std::vector<CommunicatorTemplate> communicators;
  DeviceRule device;
  std::optional<Cluster> cluster;  // without one only what is said takes time
  Faults faults;
  GuardRules guards;
  std::uint32_t interface = kNoIndex;        // of communicators that name none
  Expr launch_queue = Expr::constant(1024);  // of streams that say nothing else
  std::vector<EventTemplate> events;
  std::vector<std::string> locks;   // each rank has them for itself
  std::vector<std::string> phases;  // what people count a rank's progress in: forward, backward
  std::vector<ActorTemplate> actors;
  std::optional<Pipeline> pipeline;          // which some of the programs do
  std::optional<LogicalGraph> logical;       // a model of which tasks are still to be made
  std::shared_ptr<const Recorded> recorded;  // of the scenario that a record is

  /// Of each device; 0: one for each stream. If nothing is said: what drivers do by default with
  /// host programs; no limit for actors alone.
  Expr hardware_queues() const;

  friend bool operator==(const TaskGraph&, const TaskGraph&) = default;
};

/// Makes one list of the steps, if they are all single acts and one actor is there again: a list is
/// how a program of many acts of few actors is kept.
void collapse(std::vector<ProgramStep>& steps);

/// An act as people write it: of the actor `op`, from 1. Where acts have numbers, `op` ends with
/// its number and `act` is 1.
struct ActName {
  std::string op;
  std::uint32_t act = 1;
};
ActName act_name(const ActorTemplate& actor, std::uint32_t k);

/// The act (from 0) that is called so, of an actor that has so many; kNoIndex if none is. Where the
/// name fits, but there are fewer acts, the number is given all the same.
std::uint32_t find_act(const ActorTemplate& actor, std::uint32_t acts, const ActName& name);

/// `graph` as if it had been made in code.
TaskGraph without_places(TaskGraph graph);

}  // namespace pipesim::models
