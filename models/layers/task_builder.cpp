// Task builder: turns each op into one actor on all ranks of its stage. The actor reads tensors on
// the same ranks in the same signature directly. For other tensors, boxing inserts tasks:
//
//   OneToOne          for another rank: D2H on the producer, COMM_NET and H2D on the reader
//   SliceBoxing       the tasks of OneToOne for each piece, and a task that joins (or adds up) the
//                     pieces
//   CollectiveBoxing  one collective on the thread NCCL
//   NaiveB2P          the tensor itself on the first rank of a group, and a task that gives zeros
//                     on the other ranks; through a control register, this task waits for the
//                     producer on its own rank, or on the corresponding rank of another stage
//
// Streams are OneFlow's: COMPUTE and the streams of hints; H2D, D2H, COMM_NET (on the receiving
// rank), NCCL; CPU_COMPUTE for host tasks. The user's input and output have separate threads.
#include "models/layers/task_builder.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/graph/actor_kinds.hpp"
#include "models/graph/by_name.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/layers/boxing.hpp"
#include "models/layers/chains.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {
namespace {

// OneFlow's #8455 gates the collectives of a stage that has at least these numbers of ops and
// streams.
constexpr std::int64_t kOpsOfAutomaticGating = 1000;
constexpr std::size_t kStreamsOfAutomaticGating = 2;

// The location of a tensor: a register on the ranks of a stage.
struct Source {
  std::uint32_t actor = kNoIndex;
  std::uint32_t reg = 0;
  std::uint32_t stage = 0;
  bool on_host = false;
  std::int64_t ops = 1;  // ops of the actor per step
};

// A location at which a reader needs a tensor, and the reader's place in the file.
struct Target {
  std::uint32_t stage = 0;
  bool on_host = false;
  Place place;
};

// The reads of an actor so far.
using Reads = std::vector<ReadTemplate>;

class TaskBuilder {
 public:
  TaskBuilder(TaskGraph& graph, const TaskOptions& options, Diagnostics& diagnostics)
      : graph_(graph),
        logical_(*graph.logical),
        options_(options),
        diagnostics_(diagnostics),
        hierarchy_(logical_.layout.hierarchy) {}

  bool run() {
    if (graph_.micro_batches == 0) graph_.micro_batches = logical_.training.accumulation;
    actors_.assign(logical_.ops.size(), kNoIndex);
    find_streams_of_readers();
    for (const std::uint32_t op : topological_order(logical_)) {
      add(op);
      if (placed_ <= kMaxPlacedActors) continue;
      diagnostics_
          .error(logical_.ops[op].place, Code::kLimit,
                 "up to '" + logical_.ops[op].name +
                     "' the tasks of this model come to more than " +
                     std::to_string(kMaxPlacedActors) + " on all ranks together")
          .notes.emplace_back("simulate fewer ranks, or fewer layers");
      break;
    }
    if (diagnostics_.has_errors()) return false;
    add_chain_order(graph_, links_, options_.memory_guard);
    return true;
  }

 private:
  // -------------------------------------------------------------------------------------------
  // Ranks, streams, groups

  RankSet ranks_of(std::uint32_t stage) const {
    return RankSet::range(stage * hierarchy_.size(), (stage + 1) * hierarchy_.size());
  }

  std::uint32_t stream(const std::string& name) {
    const std::uint32_t known = index_of(graph_.streams, name);
    if (known != kNoIndex) return known;
    const std::uint32_t made = add_stream(graph_, name);
    graph_.streams[made].on_host = name == "CPU_COMPUTE";
    return made;
  }

  std::uint32_t phase(const std::string& name) {
    const auto known = std::find(graph_.phases.begin(), graph_.phases.end(), name);
    if (known != graph_.phases.end()) {
      return static_cast<std::uint32_t>(known - graph_.phases.begin());
    }
    graph_.phases.push_back(name);
    return static_cast<std::uint32_t>(graph_.phases.size() - 1);
  }

  std::uint32_t size_of(Dimensions over) const {
    if (over == Dimensions::kBoth) return hierarchy_.size();
    return over == Dimensions::kData ? hierarchy_.data : hierarchy_.tensor;
  }

  std::uint32_t stride_of(Dimensions over) const {
    return over == Dimensions::kData ? hierarchy_.tensor : 1;
  }

  std::uint32_t group(Dimensions over) {
    const std::string name = over == Dimensions::kBoth   ? "stage"
                             : over == Dimensions::kData ? "data"
                                                         : "tensor";
    const auto known = groups_.find(name);
    if (known != groups_.end()) return known->second;
    Group made;
    made.name = free_name(graph_.groups, name);
    const std::uint32_t stride = stride_of(over);
    const std::uint32_t size = size_of(over);
    for (std::uint32_t first = 0; first < graph_.ranks; ++first) {
      if (first / stride % size != 0) continue;
      std::vector<std::uint32_t>& members = made.lists.emplace_back();
      for (std::uint32_t i = 0; i < size; ++i) members.push_back(first + i * stride);
    }
    made.index();
    graph_.groups.push_back(std::move(made));
    return groups_[name] = static_cast<std::uint32_t>(graph_.groups.size() - 1);
  }

  // Returns the communicator of a group and a stream hint: OneFlow has a communicator for each such
  // pair.
  std::uint32_t communicator(std::uint32_t group, const std::string& stream) {
    const std::string name = graph_.groups[group].name + "-" + stream;
    const std::uint32_t known = index_of(graph_.communicators, name);
    if (known != kNoIndex) return known;
    CommunicatorTemplate made;
    made.name = name;
    made.group = group;
    made.init = graph_.init;
    graph_.communicators.push_back(std::move(made));
    return static_cast<std::uint32_t>(graph_.communicators.size() - 1);
  }

  // Sets the stream of buffers that use the stream of their reader, and so have no stream hint.
  void find_streams_of_readers() {
    for (LogicalOp& op : graph_.logical->ops) {
      for (const LogicalInput& input : op.inputs) {
        LogicalOp& from = graph_.logical->ops[input.op];
        if (from.stream_of_reader && from.stage == op.stage) from.stream = op.stream;
      }
    }
  }

  // -------------------------------------------------------------------------------------------
  // Actors

  std::uint32_t add_actor(ActorTemplate actor, ChainLink link) {
    actor.name = free_name(graph_.actors, actor.name);
    placed_ += actor.on.size();
    graph_.actors.push_back(std::move(actor));
    links_.push_back(link);
    return static_cast<std::uint32_t>(graph_.actors.size() - 1);
  }

  static ActorTemplate made(std::string name, Place place, RankSet on, std::int64_t takes) {
    ActorTemplate actor;
    actor.name = std::move(name);
    actor.place = place;
    actor.on = std::move(on);
    actor.takes = Expr::constant(takes);
    actor.registers.emplace_back();
    actor.registers.front().place = place;
    return actor;
  }

  static void set_kind(ActorTemplate& actor, std::string_view kind, std::int64_t times) {
    apply_kind(*find_actor_kind(kind), Expr::constant(times), actor);
  }

  void add(std::uint32_t index) {
    const LogicalOp& op = logical_.ops[index];
    Reads reads;
    for (const LogicalInput& input : op.inputs) {
      if (!input.control) box(op, input, reads);
    }
    ActorTemplate actor = made(op.name, op.place, ranks_of(op.stage), op.takes_ns);
    if (op.counts && op.pass == OpPass::kForward) actor.phase = phase("forward");
    if (op.counts && op.pass == OpPass::kBackward) actor.phase = phase("backward");
    for (std::size_t i = 1; i < op.outputs.size(); ++i) {
      actor.registers.emplace_back();
      actor.registers.back().name = op.outputs[i].name;
      actor.registers.back().place = op.place;
    }
    set_stream(op, actor);
    set_kind_of(op, actor);
    actor.reads = std::move(reads);
    const bool is_chained =
        op.kind == OpKind::kCompute || op.kind == OpKind::kCollective || op.kind == OpKind::kUpdate;
    const std::uint32_t made = add_actor(std::move(actor), {is_chained, op.stage, op.executions});
    actors_[index] = made;
    for (const LogicalInput& input : op.inputs) {
      if (input.control) add_order(logical_.ops[input.op], actors_[input.op], made);
    }
  }

  void set_stream(const LogicalOp& op, ActorTemplate& actor) {
    if (op.kind == OpKind::kInput || op.kind == OpKind::kOutput) return;
    if (op.on_host) {
      actor.stream = stream("CPU_COMPUTE");
    } else {
      actor.stream = stream(op.stream.empty() ? "COMPUTE" : op.stream);
    }
  }

  void set_kind_of(const LogicalOp& op, ActorTemplate& actor) {
    switch (op.kind) {
      case OpKind::kInput:
      case OpKind::kVariable:
        actor.phase = kNoIndex;
        actor.ops = Expr::constant(1);
        return;
      case OpKind::kUnpack:
        return set_kind(actor, "unpack", op.times);
      case OpKind::kRepeat:
        return set_kind(actor, "repeat", op.times);
      case OpKind::kAccumulate:
        return set_kind(actor, "accumulate", op.times);
      case OpKind::kAccTick:
        return set_kind(actor, "acc_tick", op.times);
      case OpKind::kPack:
        return set_kind(actor, "pack", op.times);
      case OpKind::kBuffer:
        set_kind(actor, "buffer", 1);
        actor.registers.front().slots = Expr::constant(op.slots);
        return;
      case OpKind::kCollective:
        return set_collective(op, actor);
      case OpKind::kOutput:
        actor.phase = kNoIndex;
        return;
      case OpKind::kCompute:
      case OpKind::kUpdate:
        return;
    }
  }

  void set_collective(const LogicalOp& op, ActorTemplate& actor) {
    CollectiveTemplate collective;
    collective.place = op.place;
    collective.operation = op.operation;
    collective.group = group(op.over);
    collective.communicator =
        communicator(collective.group, op.stream.empty() ? "COMPUTE" : op.stream);
    set_time(op.outputs.front().type, op.inputs.front().signature, op.takes_ns, collective, actor);
    actor.immediate = is_immediate(op.stage);
    actor.collective = std::move(collective);
  }

  // Sets the time of a collective. With a cluster, the time follows from the bytes.
  void set_time(const TensorType& type, const NdSbp& from, std::int64_t takes,
                CollectiveTemplate& collective, ActorTemplate& actor) const {
    collective.bytes = type.bytes_on_a_rank(from, hierarchy_);
    collective.timed = graph_.cluster.has_value();
    actor.takes = Expr::constant(collective.timed ? 0 : takes);
  }

  bool is_immediate(std::uint32_t stage) const {
    const std::string& rule = logical_.decisions.collective_messages;
    if (rule != "auto") return rule == "immediate";
    std::int64_t ops = 0;
    std::vector<std::string> streams;
    for (const LogicalOp& op : logical_.ops) {
      if (op.stage != stage || op.on_host) continue;
      ++ops;
      const bool known = std::find(streams.begin(), streams.end(), op.stream) != streams.end();
      if (!op.stream.empty() && !known) streams.push_back(op.stream);
    }
    return streams.size() < kStreamsOfAutomaticGating || ops < kOpsOfAutomaticGating;
  }

  // Makes `reader` wait for `producer` through a separate control register, as in OneFlow. If
  // `from` is a tick, uses the tick's output instead.
  void add_order(const LogicalOp& from, std::uint32_t producer, std::uint32_t reader) {
    if (from.kind == OpKind::kAccTick) {
      graph_.actors[reader].reads.push_back(
          read_of({producer, 0, from.stage, false, 1}, graph_.actors[reader].on));
      return;
    }
    add_control(graph_, producer, reader, "ctrl-" + graph_.actors[reader].name);
  }

  // -------------------------------------------------------------------------------------------
  // Boxing

  ReadTemplate read_of(const Source& source, RankSet on) const {
    ReadTemplate read;
    read.actor = source.actor;
    read.reg = source.reg;
    read.on = std::move(on);
    return read;
  }

  // Returns `read` with the place of `op` and the rate of its kind.
  static ReadTemplate placed(ReadTemplate read, const LogicalOp& op) {
    read.place = op.place;
    if (op.kind == OpKind::kRepeat || op.kind == OpKind::kUnpack) {
      read.ops_per_slot = Expr::constant(op.times);
    }
    return read;
  }

  void box(const LogicalOp& op, const LogicalInput& input, Reads& reads) {
    const LogicalOp& from = logical_.ops[input.op];
    const LogicalOutput& tensor = from.outputs[input.output];
    const BoxingEdge edge = edge_of(logical_, op, input);
    Source source = {actors_[input.op], input.output, from.stage, from.on_host, edge.ops};
    if (!needs_boxing(edge, hierarchy_)) {
      reads.push_back(placed(read_of(source, ranks_of(op.stage)), op));
      return;
    }
    const Target target = {op.stage, op.on_host, op.place};
    const BoxingRoute route =
        boxing_route(edge, hierarchy_, !logical_.decisions.collectives_on_compute_streams);
    if (route.steps.empty()) {
      diagnostics_
          .error(op.place, Code::kSignature,
                 "'" + op.name + "' reads '" + from.name + "' as " + nd_sbp_text(edge.to) +
                     ", which lies as " + nd_sbp_text(edge.from) + ": " + route.why)
          .notes.emplace_back("'" + from.name + "' is in " + line_text(from.place));
      return;
    }
    for (std::size_t i = 0; i + 1 < route.steps.size(); ++i) {
      source = boxed(route.steps[i], source, {from.stage, from.on_host, op.place}, from, tensor);
    }
    const BoxingStep& last = route.steps.back();
    const bool all_zeros = options_.zeros_on_all_ranks;
    if (last.builder == BoxingBuilder::kNaiveB2P) {
      add_partial_sum(last, source, op, from, tensor, all_zeros, reads);
    } else if (last.builder == BoxingBuilder::kOneToOne) {
      source = moved(source, target, from, Dimensions::kBoth, 0);
      reads.push_back(placed(read_of(source, ranks_of(op.stage)), op));
    } else {
      source = boxed(last, source, target, from, tensor);
      reads.push_back(placed(read_of(source, ranks_of(op.stage)), op));
    }
  }

  // Returns the tensor of `source` after the change of `step`, at `target`.
  Source boxed(const BoxingStep& step, const Source& source, const Target& target,
               const LogicalOp& from, const LogicalOutput& tensor) {
    const auto key = std::make_tuple(source.actor, source.reg, target.stage, step.change.over,
                                     sbp_text(step.change.to));
    const auto known = boxed_.find(key);
    if (known != boxed_.end()) return known->second;
    Source result = {kNoIndex, 0, target.stage, target.on_host, source.ops};
    result.actor = step.builder == BoxingBuilder::kCollectiveBoxing
                       ? add_collective_boxing(step, source, target, from, tensor)
                       : add_slice_boxing(step, source, target, from);
    return boxed_[key] = result;
  }

  std::uint32_t add_collective_boxing(const BoxingStep& step, const Source& source,
                                      const Target& target, const LogicalOp& from,
                                      const LogicalOutput& tensor) {
    const auto form = logical_collective({step.change.from, step.change.from},
                                         {step.change.to, step.change.to}, hierarchy_);
    ActorTemplate actor =
        made("CollectiveBoxing-" + from.name, target.place, ranks_of(source.stage), 0);
    set_kind(actor, "collective_boxing", 1);
    actor.stream = stream("NCCL");
    CollectiveTemplate collective;
    collective.place = target.place;
    collective.operation = form->operation;
    collective.group = group(step.change.over);
    collective.communicator = communicator(collective.group, "NCCL");
    set_time(tensor.type, tensor.signature, logical_.model.costs.collective_ns, collective, actor);
    actor.collective = std::move(collective);
    actor.reads.push_back(read_of(source, actor.on));
    actor.reads.back().place = target.place;
    return add_actor(std::move(actor), {false, source.stage, source.ops});
  }

  std::uint32_t add_slice_boxing(const BoxingStep& step, const Source& source, const Target& target,
                                 const LogicalOp& from) {
    // A broadcast tensor is cut on each rank; other tensors are joined from the pieces of the whole
    // group.
    const std::uint32_t pieces = step.change.from.is_broadcast() ? 1 : size_of(step.change.over);
    Reads reads;
    for (std::uint32_t distance = 0; distance < pieces; ++distance) {
      const Source piece = moved(source, target, from, step.change.over, distance);
      reads.push_back(read_of(piece, ranks_of(target.stage)));
      reads.back().place = target.place;
    }
    ActorTemplate actor = made("SliceBoxing-" + from.name, target.place, ranks_of(target.stage),
                               logical_.model.costs.slice_ns);
    actor.stream = stream(target.on_host ? "CPU_COMPUTE" : "COMPUTE");
    actor.reads = std::move(reads);
    return add_actor(std::move(actor), {false, target.stage, source.ops});
  }

  // Adds zeros on all ranks of a group except the first, which reads the tensor. With `all_zeros`,
  // the first rank also gets zeros.
  void add_partial_sum(const BoxingStep& step, const Source& source, const LogicalOp& op,
                       const LogicalOp& from, const LogicalOutput& tensor, bool all_zeros,
                       Reads& reads) {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> others;
    const std::uint32_t stride = stride_of(step.change.over);
    const std::uint32_t size = size_of(step.change.over);
    for (const std::uint32_t rank : ranks_of(op.stage)) {
      (rank / stride % size == 0 && !all_zeros ? first : others).push_back(rank);
    }
    const std::string lbi = from.name + "/" + tensor.name;
    graph_.actors[source.actor].registers[source.reg].carries = {lbi};
    if (!first.empty()) {
      const Target target = {op.stage, op.on_host, op.place};
      const Source near = moved(source, target, from, Dimensions::kBoth, 0);
      reads.push_back(placed(read_of(near, RankSet(std::move(first))), op));
    }
    ActorTemplate zeros = made("Zeros-" + from.name, op.place, RankSet(std::move(others)),
                               logical_.model.costs.zeros_ns);
    const RankSet on = zeros.on;
    zeros.stream = stream("COMPUTE");
    if (options_.partial_sums_name_tensor) {
      set_kind(zeros, "zeros", 1);
    } else {
      zeros.reads.push_back(read_of(source, zeros.on));  // a bare edge: names no tensor
      zeros.reads.back().needs.emplace();
      zeros.reads.back().place = op.place;
    }
    zeros.registers.front().slots = Expr::constant(options_.zeros_slots);
    const std::uint32_t made = add_actor(std::move(zeros), {false, op.stage, source.ops});
    ReadTemplate& order = add_control(graph_, source.actor, made, "ctrl");
    set_control_of(from, graph_.actors[source.actor].registers[order.reg]);
    if (source.stage != op.stage) order.rank = like(source.stage, op.stage);
    reads.push_back(placed(read_of({made, 0, op.stage, false, source.ops}, on), op));
  }

  // Sets the slots of a repeat's control register: the number that the pass gradient-accumulation
  // was given or, if this is 0, `times` (OneFlow's #8226). The register drains with the data.
  void set_control_of(const LogicalOp& from, RegisterTemplate& reg) const {
    if (from.kind != OpKind::kRepeat) return;
    const std::int64_t slots = logical_.decisions.repeat_control_slots;
    reg.slots = Expr::constant(slots == 0 ? from.times : slots);
    reg.drain_every = Expr::constant(from.times);
  }

  // Returns the rank in stage `from` that corresponds to the actor's own rank in stage `to`.
  Expr like(std::uint32_t from, std::uint32_t to) const {
    const auto distance = (std::int64_t{from} - std::int64_t{to}) * hierarchy_.size();
    return Expr::binary(distance < 0 ? Expr::Op::kSubtract : Expr::Op::kAdd, Expr::rank(),
                        Expr::constant(distance < 0 ? -distance : distance));
  }

  // Returns the rank of like(), moved `steps` ranks around its group.
  Expr around(std::uint32_t from, std::uint32_t to, Dimensions over, std::uint32_t steps) const {
    const auto number = [](std::int64_t value) { return Expr::constant(value); };
    using Op = Expr::Op;
    const Expr own = from == to ? Expr::rank() : like(from, to);
    const std::uint32_t stride = stride_of(over);
    const std::uint32_t size = size_of(over);
    const Expr seat = Expr::binary(
        Op::kModulo,
        stride == 1 ? Expr::rank() : Expr::binary(Op::kDivide, Expr::rank(), number(stride)),
        number(size));
    // The first rank of the group follows the last rank.
    const Expr wraps = Expr::binary(Op::kGreaterEqual, seat, number(size - steps));
    const Expr forward = Expr::binary(Op::kAdd, own, number(std::int64_t{steps} * stride));
    const Expr back =
        Expr::binary(Op::kSubtract, own, number((std::int64_t{size} - steps) * stride));
    return Expr::select(wraps, back, forward);
  }

  // Returns the tensor of `source` at `target`. Data from another rank go over the host
  // (TaskGraph::GetProxyNode). `steps`: distance of the producer around the group over `over`.
  Source moved(const Source& source, const Target& target, const LogicalOp& from, Dimensions over,
               std::uint32_t steps) {
    const bool same_rank = source.stage == target.stage && steps == 0;
    if (same_rank && source.on_host == target.on_host) return source;
    Source at = source;
    if (!at.on_host) at = copied(at, "D2H", from, target, nullptr, "D2H");
    if (!same_rank) {
      const Expr rank = steps == 0 ? like(source.stage, target.stage)
                                   : around(source.stage, target.stage, over, steps);
      const std::string where = std::to_string(static_cast<int>(over)) + "/" +
                                std::to_string(steps) + "/" + std::to_string(target.stage);
      at = copied(at, "COMM_NET", from, target, &rank, where);
    }
    if (!target.on_host) at = copied(at, "H2D", from, target, nullptr, "H2D");
    return at;
  }

  // Returns the output of a copy task. All readers of the copy share one task.
  Source copied(const Source& source, const std::string& how, const LogicalOp& from,
                const Target& target, const Expr* rank, const std::string& where) {
    const auto key = std::make_tuple(source.actor, source.reg, where);
    const auto known = copies_.find(key);
    if (known != copies_.end()) return known->second;
    const bool fetches = how == "COMM_NET";
    const std::uint32_t stage = fetches ? target.stage : source.stage;
    ActorTemplate actor =
        made(how + "-" + from.name, target.place, ranks_of(stage), logical_.model.costs.copy_ns);
    set_kind(actor, fetches ? "comm_net" : "copy", 1);
    actor.stream = stream(how);
    actor.reads.push_back(read_of(source, actor.on));
    actor.reads.back().place = target.place;
    if (rank != nullptr) actor.reads.back().rank = *rank;
    Source result = {kNoIndex, 0, stage, how != "H2D", source.ops};
    result.actor = add_actor(std::move(actor), {false, stage, source.ops});
    return copies_[key] = result;
  }

  TaskGraph& graph_;
  const LogicalGraph& logical_;
  const TaskOptions& options_;
  Diagnostics& diagnostics_;
  const Hierarchy hierarchy_;
  std::vector<std::uint32_t> actors_;  // by op: its actor
  std::uint64_t placed_ = 0;           // number of actors, over all ranks
  std::vector<ChainLink> links_;       // by actor: its properties for chains
  std::map<std::string, std::uint32_t> groups_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, Source> copies_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Dimensions, std::string>, Source>
      boxed_;
};

}  // namespace

bool build_tasks(TaskGraph& graph, const TaskOptions& options, Diagnostics& diagnostics) {
  return TaskBuilder(graph, options, diagnostics).run();
}

}  // namespace pipesim::models
