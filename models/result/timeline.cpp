#include "models/result/timeline.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/lowering/names.hpp"
#include "models/result/device_times.hpp"
#include "models/schedules/pipeline_ops.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::kNever;
using sim::OpTimes;

WorkKind kind_of_calls(const StepTemplate& step) {
  const bool meets_all =
      std::any_of(step.calls.begin(), step.calls.end(),
                  [](const CallTemplate& call) { return call.kind == sim::CallKind::kCollective; });
  return meets_all ? WorkKind::kCollective : WorkKind::kMessage;
}

WorkKind kind_of_slot(const Actions& actions, std::size_t slot) {
  bool forward = false;
  bool backward = false;
  bool weights = false;
  for (std::size_t i = slot; i < slot_end(actions, slot); ++i) {
    const ActionKind kind = actions[i].kind;
    if (is_message(kind)) return WorkKind::kMessage;
    forward |= kind == ActionKind::kForward;
    backward |= gives_gradient(kind);
    weights |= kind == ActionKind::kWeightGrad;
  }
  if (forward && (backward || weights)) return WorkKind::kOverlapped;
  if (forward) return WorkKind::kForward;
  if (backward) return WorkKind::kBackward;
  return weights ? WorkKind::kWeightGrad : WorkKind::kCollective;  // gathers and reductions of FSDP
}

// Returns the kind of a part of a slot. In an overlapped slot, the name of a part such as
// "attention of 0F7" tells its action and thus its kind; all other parts have the kind of the slot.
WorkKind kind_of_part(const std::string& name, WorkKind slot) {
  const std::size_t of = name.rfind(" of ");
  if (slot != WorkKind::kOverlapped || of == std::string::npos) return slot;
  const std::size_t word = name.find_first_not_of("0123456789", of + 4);
  if (word == std::string::npos || name[word] == '(') return slot;
  if (name[word] == 'F') return WorkKind::kForward;
  return name[word] == 'W' ? WorkKind::kWeightGrad : WorkKind::kBackward;
}

/// The ops of a run, distributed over lanes.
class Lanes {
 public:
  Lanes(const TaskGraph& graph, const Simulation& run, const TimelineOptions& options)
      : graph_(graph),
        plan_(run.lowered.plan),
        run_(run),
        options_(options),
        names_(graph, run.lowered),
        device_(graph, run.lowered, run.outcome),
        kinds_(work_kinds(graph, run.lowered)) {}

  Timeline run() {
    Timeline result;
    result.quiescent = run_.outcome.end == sim::RunEnd::kStuck;
    make_lanes(result);
    result.end_ns = end_of_all();
    for (const ActorId id : ids_of(plan_.actors)) {
      if (!shows(plan_.actors[id].rank.value)) continue;
      for (std::uint32_t k = 0; k < plan_.actors[id].ops; ++k) add_op(id, k, result);
    }
    add_stuck(result);
    for (Lane& lane : result.lanes) sort(lane);
    if (const auto* parts = dynamic_cast<const RecordedParts*>(graph_.recorded.get())) {
      add_parts(*parts, result);
    }
    const auto is_empty = [](const Lane& lane) {
      return lane.slices.empty() && lane.stuck.empty();
    };
    result.lanes.erase(std::remove_if(result.lanes.begin(), result.lanes.end(), is_empty),
                       result.lanes.end());
    return result;
  }

 private:
  const OpTimes& times(ActorId id, std::uint32_t k) const {
    return run_.outcome.op_times.of(id, k);
  }

  bool shows(std::uint32_t rank) const { return !options_.ranks || options_.ranks->contains(rank); }

  void make_lanes(Timeline& result) {
    std::vector<std::tuple<std::uint32_t, bool, std::uint32_t>> all;  // rank, whether a stream, id
    for (const sim::ThreadId id : ids_of(plan_.threads)) {
      all.emplace_back(plan_.threads[id].rank.value, false, id.value);
    }
    for (const sim::StreamId id : ids_of(plan_.streams)) {
      all.emplace_back(plan_.streams[id].rank.value, true, id.value);
    }
    std::sort(all.begin(), all.end());
    lane_of_thread_ = sim::IdVector<sim::ThreadId, std::uint32_t>(plan_.threads.size(), kNoIndex);
    lane_of_stream_ = sim::IdVector<sim::StreamId, std::uint32_t>(plan_.streams.size(), kNoIndex);
    for (const auto& [rank, is_stream, id] : all) {
      if (!shows(rank)) continue;
      const auto index = static_cast<std::uint32_t>(result.lanes.size());
      Lane lane;
      lane.rank = rank;
      lane.is_thread = !is_stream;
      lane.id = id;
      if (is_stream) {
        lane_of_stream_[sim::StreamId{id}] = index;
        lane.name = names_.stream(sim::StreamId{id});
      } else {
        lane_of_thread_[sim::ThreadId{id}] = index;
        lane.name = names_.thread(sim::ThreadId{id});
      }
      result.lanes.push_back(std::move(lane));
    }
  }

  // Returns the end of the timeline, which can be later than the last progress: a watchdog can
  // still end ranks.
  std::int64_t end_of_all() {
    std::int64_t end = run_.outcome.last_progress.ns;
    for (const OpTimes& op : run_.outcome.op_times.all()) {
      for (const sim::Time time : {op.enter, op.launch, op.start, op.end}) {
        if (time != kNever) end = std::max(end, time.ns);
      }
    }
    // A death is not progress, but extends the timeline.
    for (const sim::RankDeath& death : run_.outcome.deaths) {
      if (!death.after_quiescence) end = std::max(end, death.at.ns);
    }
    end_of_rank_.assign(plan_.rank_count, end);
    died_.assign(plan_.rank_count, 0);
    for (const sim::RankDeath& death : run_.outcome.deaths) {
      if (death.after_quiescence) continue;
      end_of_rank_[death.rank.value] = death.at.ns;
      died_[death.rank.value] = 1;
    }
    return end;
  }

  // Returns the end of the slice of an unfinished op.
  std::int64_t end_of(const sim::Actor& actor, sim::Time begin) const {
    return std::max(end_of_rank_[actor.rank.value], begin.ns);
  }

  void add_op(ActorId id, std::uint32_t k, Timeline& result) {
    const OpTimes& op = times(id, k);
    const sim::Actor& actor = plan_.actors[id];
    if (actor.stream.valid() && op.start != kNever) {
      result.lanes[lane_of_stream_[actor.stream]].slices.push_back(on_stream(id, k, op));
    }
    if (op.enter == kNever) return;
    const bool on_host = sim::on_host(actor.role);
    const sim::Time back = on_host || actor.blocking ? op.end : op.launch;
    const std::int64_t end = back == kNever ? end_of(actor, op.enter) : back.ns;
    const bool takes_time = end > op.enter.ns || back == kNever;
    if (!takes_time && !options_.all_of_threads) return;
    const WorkKind kind = on_host ? kinds_[id] : WorkKind::kHost;
    // If the run is quiescent, a thread still inside an op counts as waiting, unless its rank died
    // in the op.
    const bool dies = back == kNever && died_[actor.rank.value] != 0;
    const bool stands = back == kNever && result.quiescent && !dies;
    const bool waits = sim::facts(actor.role).only_waits || stands;
    result.lanes[lane_of_thread_[actor.thread]].slices.push_back(
        {id, k, kind, back != kNever, op.enter.ns, waits ? end : op.enter.ns, end, dies});
  }

  Slice on_stream(ActorId id, std::uint32_t k, const OpTimes& op) const {
    Slice slice{id, k, kinds_[id], op.end != kNever, op.start.ns, op.start.ns, 0};
    slice.end_ns = slice.done ? op.end.ns : end_of(plan_.actors[id], op.start);
    slice.dies = !slice.done && died_[plan_.actors[id].rank.value] != 0;
    if (sim::needs_slot(plan_.actors[id].role)) {
      const Interval work = device_.work(id, k);
      const bool never = work.empty() && slice.end_ns > slice.begin_ns;
      slice.work_ns =
          never ? slice.end_ns : std::clamp(work.begin_ns, slice.begin_ns, slice.end_ns);
    } else {
      slice.work_ns = slice.end_ns;  // the op is a wait for an event
    }
    return slice;
  }

  void add_stuck(Timeline& result) {
    // A WaitParty identifies an op by name and number, not by its index `k`.
    const auto key = [](const OpInfo& op) { return std::tuple(op.actor, op.name, op.number); };
    std::set<std::tuple<ActorId, std::string, std::uint32_t>> cycle;
    for (const Wait& wait : run_.explanation.cycle) cycle.insert(key(wait.from.op));
    const std::vector<sim::WaitNode>& nodes = run_.waits.nodes;
    for (const sim::WaitEdge& edge : run_.waits.edges) {
      const sim::WaitNode& node = nodes[edge.from];
      const sim::Actor& actor = plan_.actors[node.actor];
      if (node.kind != sim::WaitNodeKind::kOp || !shows(actor.rank.value)) continue;
      const std::uint32_t lane =
          actor.stream.valid() ? lane_of_stream_[actor.stream] : lane_of_thread_[actor.thread];
      std::vector<StuckOp>& stuck = result.lanes[lane].stuck;
      const Wait wait = describe_wait(graph_, run_.lowered, run_.outcome.state, run_.waits, edge);
      // Edges are grouped by source node.
      if (stuck.empty() || stuck.back().actor != node.actor || stuck.back().k != node.k) {
        stuck.push_back({node.actor, node.k, cycle.count(key(wait.from.op)) > 0, {}});
      }
      stuck.back().waits.push_back(wait);
    }
  }

  static bool only_sends(const ActorTemplate& actor) {
    const auto is_send = [](const CallTemplate& call) { return call.kind == sim::CallKind::kSend; };
    return actor.step && !actor.step->calls.empty() &&
           std::all_of(actor.step->calls.begin(), actor.step->calls.end(), is_send);
  }

  // Adds the times of the parts of recorded steps. A send can end long after the code that made it,
  // so it counts only in a part without other ops.
  void add_parts(const RecordedParts& parts, Timeline& result) const {
    struct Span {
      PartSpan all;
      bool only_sends = true;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, Span> spans;
    for (const Lane& lane : result.lanes) {
      for (const Slice& slice : lane.slices) {
        const sim::Actor& actor = plan_.actors[slice.actor];
        if (lane.is_thread && actor.stream.valid()) continue;  // the launch of an op
        const OpName op = names_.op(slice.actor, slice.k);
        const auto part = parts.part(lane.rank, op.name, op.number);
        if (!part) continue;
        const bool sends = only_sends(names_.actor(slice.actor));
        const PartSpan own{lane.rank, parts.parts(lane.rank)[*part], slice.done, slice.begin_ns,
                           slice.end_ns};
        const auto [at, is_new] = spans.try_emplace({lane.rank, *part}, Span{own, sends});
        Span& span = at->second;
        if (is_new || (sends && !span.only_sends)) continue;
        if (span.only_sends && !sends) {
          span = {own, false};
          continue;
        }
        span.all.done = span.all.done && own.done;
        span.all.begin_ns = std::min(span.all.begin_ns, own.begin_ns);
        span.all.end_ns = std::max(span.all.end_ns, own.end_ns);
      }
    }
    for (const auto& [key, span] : spans) {
      PartSpan next = span.all;
      if (!result.parts.empty() && result.parts.back().rank == next.rank) {
        next.begin_ns = std::max(next.begin_ns, result.parts.back().end_ns);
        next.end_ns = std::max(next.end_ns, next.begin_ns);
      }
      if (next.end_ns > next.begin_ns || !next.done) result.parts.push_back(next);
    }
  }

  void sort(Lane& lane) const {
    std::stable_sort(lane.slices.begin(), lane.slices.end(), [](const Slice& a, const Slice& b) {
      return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns);
    });
    const auto key = [&](const StuckOp& op) {
      const bool launched = run_.outcome.state.actors[op.actor].launched > op.k;
      return std::tuple(!op.on_cycle, !launched, op.k, op.actor);
    };
    std::sort(lane.stuck.begin(), lane.stuck.end(),
              [&](const StuckOp& a, const StuckOp& b) { return key(a) < key(b); });
  }

  const TaskGraph& graph_;
  const sim::Plan& plan_;
  const Simulation& run_;
  const TimelineOptions& options_;
  Names names_;
  DeviceTimes device_;
  sim::IdVector<ActorId, WorkKind> kinds_;
  sim::IdVector<sim::ThreadId, std::uint32_t> lane_of_thread_;
  sim::IdVector<sim::StreamId, std::uint32_t> lane_of_stream_;
  std::vector<std::int64_t> end_of_rank_;
  std::vector<std::uint8_t> died_;  // by rank: whether the rank died before the run was quiescent
};

/// The flows between the ops of a run.
class Flows {
 public:
  explicit Flows(const Simulation& run) : plan_(run.lowered.plan), outcome_(run.outcome) {}

  std::vector<Flow> run() {
    collect_calls();
    for (const auto& [channel, sides] : channels_) {
      // A recv from any rank can have taken the sends of this channel.
      if (plan_.channels[channel].any.valid()) continue;
      const std::size_t count = std::min(sides.first.size(), sides.second.size());
      for (std::size_t i = 0; i < count; ++i) {
        add(Flow::Kind::kMessage, sides.first[i], sides.second[i]);
      }
    }
    for (const auto& [communicator, rounds] : rounds_) {
      for (const std::vector<Op>& round : rounds) add_meeting(round);
    }
    for (const sim::Collective& all : plan_.collectives) add_collective(all);
    for (const sim::EdgeId id : ids_of(plan_.edges)) add_register(plan_.edges[id]);
    return std::move(flows_);
  }

 private:
  struct Op {
    ActorId actor;
    std::uint32_t k = 0;
  };

  const OpTimes& times(const Op& op) const { return outcome_.op_times.of(op.actor, op.k); }

  void add(Flow::Kind kind, const Op& from, const Op& to) {
    if (times(from).end == kNever || times(to).end == kNever) return;
    flows_.push_back({kind, from.actor, from.k, to.actor, to.k});
  }

  // Collects the calls in program order: a rank's calls on one communicator run in this order.
  void collect_calls() {
    std::vector<std::uint32_t> done(plan_.actors.size(), 0);
    std::map<std::pair<sim::CommunicatorId, std::uint32_t>, std::size_t> round_of_member;
    for (const sim::Thread& thread : plan_.threads) {
      for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
        const ActorId id = plan_.op(thread, i);
        const Op op{id, done[id.value]++};
        for (const sim::CallId call_id : plan_.calls_of(id)) {
          const sim::Call& call = plan_.calls[call_id];
          if (call.kind == sim::CallKind::kSend) {
            channels_[call.channel].first.push_back(op);
          } else if (call.kind == sim::CallKind::kReceive) {
            channels_[call.channel].second.push_back(op);
          } else {
            const std::size_t round = round_of_member[{call.communicator, call.member}]++;
            auto& rounds = rounds_[call.communicator];
            if (round == rounds.size()) rounds.emplace_back();
            rounds[round].push_back(op);
          }
        }
      }
    }
  }

  void add_collective(const sim::Collective& all) {
    std::vector<Op> members;
    std::uint32_t ops = 0xffffffff;
    for (std::uint32_t i = all.members; i < all.members_end; ++i) {
      const ActorId id = plan_.members[i].actor;
      if (!id.valid()) return;
      members.push_back({id, 0});
      ops = std::min(ops, plan_.actors[id].ops);
    }
    for (std::uint32_t k = 0; k < ops; ++k) {
      for (Op& member : members) member.k = k;
      add_meeting(members);
    }
  }

  void add_meeting(const std::vector<Op>& members) {
    std::size_t last = 0;  // index of the last member to start
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (times(members[i]).end == kNever) return;
      if (times(members[i]).start > times(members[last]).start) last = i;
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i != last) add(Flow::Kind::kCollective, members[last], members[i]);
    }
  }

  void add_register(const sim::Edge& edge) {
    const sim::Register& reg = plan_.registers[edge.source];
    const sim::Actor& producer = plan_.actors[reg.producer];
    const sim::Actor& consumer = plan_.actors[edge.consumer];
    if (producer.rank == consumer.rank) return;
    const std::uint32_t slots =
        std::min(producer.ops / reg.ops_per_slot, consumer.ops / edge.ops_per_slot);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      add(Flow::Kind::kRegister, {reg.producer, (slot + 1) * reg.ops_per_slot - 1},
          {edge.consumer, slot * edge.ops_per_slot});
    }
  }

  const sim::Plan& plan_;
  const sim::Outcome& outcome_;
  std::map<sim::ChannelId, std::pair<std::vector<Op>, std::vector<Op>>> channels_;
  std::map<sim::CommunicatorId, std::vector<std::vector<Op>>> rounds_;
  std::vector<Flow> flows_;
};

}  // namespace

WorkKind work_kind(const TaskGraph& graph, const ActorTemplate& actor) {
  if (actor.step) {
    const sim::Role role = actor.step->role;
    if (role == sim::Role::kCalls) return kind_of_calls(*actor.step);
    if (sim::on_host(role)) return WorkKind::kHost;
    if (role != sim::Role::kOp) return WorkKind::kControl;
  }
  if (actor.collective || actor.kind == "collective_boxing") return WorkKind::kCollective;
  if (actor.kind == "copy" || actor.kind == "comm_net") return WorkKind::kMessage;
  if (actor.kind == "buffer") return WorkKind::kBuffer;
  const bool orders_only = actor.kind == "zeros" || actor.kind == "tick" ||
                           actor.kind == "source_tick" || actor.kind == "acc_tick";
  if (orders_only) return WorkKind::kControl;
  if (actor.phase == kNoIndex) return WorkKind::kCompute;
  const std::string& phase = graph.phases[actor.phase];
  if (phase.starts_with("forward")) return WorkKind::kForward;
  return phase.starts_with("backward") ? WorkKind::kBackward : WorkKind::kCompute;
}

sim::IdVector<ActorId, WorkKind> work_kinds(const TaskGraph& graph, const Lowered& lowered) {
  std::vector<WorkKind> of_template;
  of_template.reserve(graph.actors.size());
  for (const ActorTemplate& actor : graph.actors) of_template.push_back(work_kind(graph, actor));
  sim::IdVector<ActorId, WorkKind> kinds(lowered.plan.actors.size());
  for (const ActorId id : ids_of(lowered.plan.actors)) {
    kinds[id] = of_template[lowered.actor_template[id]];
  }
  if (!graph.pipeline) return kinds;
  const PipelineOps all(*graph.pipeline, lowered);
  for (std::uint32_t rank = 0; rank < graph.pipeline->rank_count(); ++rank) {
    const Actions& row = all.row(rank);
    all.for_each_slot(rank, [&](std::size_t slot, const SlotOps& ops) {
      for (std::uint32_t id = ops.first.value; id <= ops.last.value; ++id) {
        // Calls within a slot keep their own kind.
        const bool calls = lowered.plan.actors[ActorId{id}].role == sim::Role::kCalls;
        if (calls && (id != ops.first.value || is_compute(row[slot].kind))) continue;
        const std::string& name = graph.actors[lowered.actor_template[ActorId{id}]].name;
        kinds[ActorId{id}] = kind_of_part(name, kind_of_slot(row, slot));
      }
    });
  }
  return kinds;
}

Timeline timeline(const TaskGraph& graph, const Simulation& run, const TimelineOptions& options) {
  return Lanes(graph, run, options).run();
}

std::vector<Flow> flows(const Simulation& run) { return Flows(run).run(); }

std::string op_label(const TaskGraph& graph, const Lowered& lowered, ActorId id, std::uint32_t k) {
  const OpName op = Names(graph, lowered).op(id, k);
  const bool alone =
      lowered.plan.actors[id].ops == 1 || graph.actors[lowered.actor_template[id]].numbers;
  return alone ? op.name : op.name + "#" + std::to_string(op.number);
}

}  // namespace pipesim::models
