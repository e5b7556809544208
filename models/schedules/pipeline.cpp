// Host programs of a pipeline. A compute action becomes an op on stream `compute`. A send or recv
// becomes a call on its communicator, and waits for all earlier computation. The consumer of an
// input waits for its recv, not for calls posted after the recv.
//
// All actions of one kind and stage share an actor if their micro-batches have a constant step: op
// k is the k-th micro-batch. A schedule of millions of actions has thousands of actors, and their
// order takes 4 bytes per action. Other actions have an actor each.
//
// An action with collectives inside is computed in parts, one actor each, with the calls between
// the parts. The actions of a slot alternate their parts, so that the calls of one action overlap
// the computation of the other action. An exchange in a ring is called before the part that it
// overlaps. With layer ops, each op is an actor instead: see stage_ops.hpp.
#include "models/graph/pipeline.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/by_name.hpp"
#include "models/graph/task_graph.hpp"
#include "models/schedules/action_body.hpp"
#include "models/schedules/pipeline_links.hpp"
#include "models/schedules/ring_exchange.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "models/schedules/stage_ops.hpp"

namespace pipesim::models {
namespace {

constexpr std::int64_t kShapeBytes = 24;  // size of the send of a shape: three numbers
constexpr std::size_t kActionKinds = 12;

// Reasons (bits) why an action does not share an actor.
constexpr std::uint8_t kNotAlone = 0;
constexpr std::uint8_t kLastOfStage = 1;
constexpr std::uint8_t kFirstAfterUnshard = 2;

class PipelinePrograms {
 public:
  PipelinePrograms(Pipeline& pipeline, const LayerOps& ops, TaskGraph& graph)
      : pipeline_(pipeline),
        ops_(ops),
        schedule_(pipeline.schedule),
        graph_(graph),
        ranks_of_rows_(pipeline.ranks_of_rows()),
        links_(pipeline, graph),
        sorts_(schedule_.stages * kActionKinds),
        has_layers_(std::any_of(pipeline.layers.begin(), pipeline.layers.end(),
                                [](std::uint32_t layers) { return layers > 1; })) {}

  bool run(Diagnostics& diagnostics) {
    if (!has_its_groups(diagnostics) || !find_rings(diagnostics) || !find_thread(diagnostics)) {
      return false;
    }
    compute_ = links_.stream("compute");
    for (const StageCollective& one : pipeline_.collectives) {
      communicator_of_.push_back(links_.over(one.over));
    }
    for_each_op_call(
        [&](const StageCollective& call) { communicator_of_op_[&call] = links_.over(call.over); });
    for (std::uint32_t row = 0; row < schedule_.ranks.size(); ++row) find_alone(row);
    for (std::uint32_t row = 0; row < schedule_.ranks.size(); ++row) collect(row);
    split_where_ops_differ();
    for (std::uint32_t stage = 0; stage < schedule_.stages; ++stage)
      split_where_inputs_differ(stage);
    pipeline_.first_actor = static_cast<std::uint32_t>(graph_.actors.size());
    for (std::uint32_t row = 0; row < schedule_.ranks.size(); ++row) add_row(row);
    pipeline_.end_actor = static_cast<std::uint32_t>(graph_.actors.size());
    return true;
  }

 private:
  bool find_thread(Diagnostics& diagnostics) {
    const auto found = std::find_if(graph_.threads.begin(), graph_.threads.end(),
                                    [](const HostThread& thread) { return thread.name == "main"; });
    thread_ = static_cast<std::uint32_t>(found - graph_.threads.begin());
    if (found != graph_.threads.end()) {
      if (found->order == sim::ThreadOrder::kProgram) return true;
      diagnostics
          .error(pipeline_.place, Code::kThreadOrder,
                 "the schedule runs as a program on thread 'main', which launches by arrival")
          .notes.emplace_back("under 'threads' say 'main: {order: program}'");
      return false;
    }
    HostThread thread;
    thread.name = "main";
    thread.place = pipeline_.place;
    thread.order = sim::ThreadOrder::kProgram;
    graph_.threads.push_back(std::move(thread));
    return true;
  }

  ActionSort& sort(ActionKind kind, std::uint32_t stage) {
    return sorts_[stage * kActionKinds + static_cast<std::size_t>(kind)];
  }
  ActionSort& sort(const Action& action) { return sort(action.kind, action.stage); }

  template <typename Visit>
  void for_each_op_call(const Visit& visit) const {
    for (const std::vector<StageOp>* list : {&ops_.forward, &ops_.backward}) {
      for (const StageOp& op : *list) {
        if (op.call) visit(*op.call);
      }
    }
  }

  // Whether the communicator or group of every collective exists. Reports each name that does not
  // exist.
  bool has_its_groups(Diagnostics& diagnostics) const {
    bool has_all = true;
    const auto check = [&](const StageCollective& one) {
      if (index_of(graph_.communicators, one.over) != kNoIndex) return;
      if (index_of(graph_.groups, one.over) != kNoIndex) return;
      Diagnostic& error =
          diagnostics.error(one.place, Code::kUnknownGroup, "unknown group '" + one.over + "'");
      suggest_name(error, one.over, names_of(graph_.groups));
      has_all = false;
    };
    for (const StageCollective& one : pipeline_.collectives) check(one);
    for_each_op_call(check);
    return has_all;
  }

  // Finds the rings of all exchanges. Returns false after an error.
  bool find_rings(Diagnostics& diagnostics) {
    bool has_all = true;
    const auto find = [&](const StageCollective& one) {
      if (one.ring == RingOrder::kNone) return;
      const std::uint32_t communicator = index_of(graph_.communicators, one.over);
      const Group& group =
          graph_.groups[communicator == kNoIndex ? index_of(graph_.groups, one.over)
                                                 : graph_.communicators[communicator].group];
      if (auto ring = ring_of(group)) {
        rings_.emplace(one.over, std::move(*ring));
        return;
      }
      diagnostics
          .error(
              one.place, Code::kUnknownGroup,
              "a ring exchange needs evenly spaced ranks, and those of '" + one.over + "' are not")
          .notes.emplace_back("use a group of 'parallel', such as 'context'");
      has_all = false;
    };
    for (const StageCollective& one : pipeline_.collectives) find(one);
    for_each_op_call(find);
    return has_all;
  }

  // Marks the actions of a row that need their own actor: of each stage, the last action that
  // completes gradients, if collectives belong to this action; and the first computation after each
  // unshard.
  void find_alone(std::uint32_t row) {
    if (pipeline_.collectives.empty()) return;
    alone_.emplace_back(schedule_.ranks[row].size(), kNotAlone);
    const auto any = [&](StageMoment moment) {
      return std::any_of(pipeline_.collectives.begin(), pipeline_.collectives.end(),
                         [&](const StageCollective& one) { return one.moment == moment; });
    };
    const Actions& actions = schedule_.ranks[row];
    if (any(StageMoment::kLastBackward)) {
      std::map<std::uint32_t, std::size_t> last;
      for (std::size_t i = 0; i < actions.size(); ++i) {
        if (completes_gradients(actions[i].kind)) last[actions[i].stage] = i;
      }
      for (const auto& [stage, i] : last) alone_[row][i] = kLastOfStage;
    }
    if (!any(StageMoment::kUnshard)) return;
    std::map<std::uint32_t, bool> gathered;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      bool& now = gathered[actions[i].stage];
      if (actions[i].kind == ActionKind::kUnshard) now = true;
      if (!now || !is_compute(actions[i].kind)) continue;
      alone_[row][i] |= kFirstAfterUnshard;
      now = false;
    }
  }

  std::uint8_t alone(std::uint32_t row, std::size_t i) const {
    return alone_.empty() ? kNotAlone : alone_[row][i];
  }

  bool is_shared(std::uint32_t row, std::size_t i) const {
    return slot_end(schedule_.ranks[row], i) == i + 1 && alone(row, i) == kNotAlone;
  }

  void collect(std::uint32_t row) {
    const Actions& actions = schedule_.ranks[row];
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      if (actions[i].none()) continue;
      if (!is_shared(row, i)) {
        collect_group(actions, i);
        continue;
      }
      sort(actions[i]).add(actions[i].micro_batch);
    }
  }

  // Gives actions separate actors if their ops would take different times, or if an action needs
  // several ops.
  void split_where_ops_differ() {
    for (std::size_t i = 0; i < kActionKinds; ++i) {
      const auto kind = static_cast<ActionKind>(i);
      const bool exchanges = pipeline_.shape_exchange && is_message(kind);
      if (!exchanges && !differs_by_micro_batch(kind)) continue;
      for (std::uint32_t stage = 0; stage < schedule_.stages; ++stage) {
        sort(kind, stage).regular = false;
      }
    }
  }

  bool differs_by_micro_batch(ActionKind kind) const {
    if (is_message(kind)) {
      return (pipeline_.message_bytes && pipeline_.message_bytes->by_micro_batch()) ||
             (pipeline_.message_ns && pipeline_.message_ns->by_micro_batch());
    }
    if (is_compute(kind) && (pipeline_.costs_differ || ops_.by_micro_batch())) return true;
    return std::any_of(pipeline_.collectives.begin(), pipeline_.collectives.end(),
                       [&](const StageCollective& one) {
                         return one.by_micro_batch() && is_within(one.moment, kind, false);
                       });
  }

  std::int64_t amount(const std::optional<StageAmounts>& of, std::uint32_t stage,
                      std::uint32_t micro_batch) const {
    return of ? of->of(stage % schedule_.depth(), micro_batch) : 0;
  }

  // Marks the sends and recvs of a group as irregular, because the group has one actor.
  void collect_group(const Actions& actions, std::size_t i) {
    if (!is_message(actions[i].kind)) return;
    for (std::size_t part = i; part < slot_end(actions, i); ++part) {
      ActionSort& like = sort(actions[part]);
      like.add(actions[part].micro_batch);
      like.regular = false;
    }
  }

  // Gives consumers separate actors if the recvs have a different order than the consumers: op k of
  // an actor can only wait for op k + n of another actor, with a fixed n.
  void split_where_inputs_differ(std::uint32_t stage) {
    for (const ActionKind kind :
         {ActionKind::kForward, ActionKind::kInputGrad, ActionKind::kBackward}) {
      ActionSort& consumers = sort(kind, stage);
      const ActionSort& receives = sort(receive_for(kind), stage);
      if (consumers.count < 2 || receives.count == 0) continue;
      const std::uint32_t ahead = receives.numbers.op(consumers.numbers.first, receives.count);
      const bool alike = receives.regular && receives.numbers.step == consumers.numbers.step &&
                         ahead != kNoIndex && consumers.count <= receives.count - ahead;
      consumers.regular = consumers.regular && alike;
    }
  }

  void add_row(std::uint32_t row) {
    row_ = row;
    first_of_row_ = graph_.actors.size();
    list_.clear();
    const Actions& actions = schedule_.ranks[row];
    list_.reserve(actions.size() + 1);
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      if (actions[i].none()) continue;
      const std::uint32_t first = actor_of(i);
      if (actions[i].kind == ActionKind::kUnshard) ++unshards_[actions[i].stage];
      const std::uint32_t parts = pipeline_.parts[first - pipeline_.first_actor];
      for (std::uint32_t part = 0; part < parts; ++part) list_.push_back(first + part);
    }
    for (std::size_t i = 0; i < pipeline_.collectives.size(); ++i) add_step_calls(i);
    ActorTemplate end;
    end.name = "synchronize device";
    end.place = pipeline_.place;
    end.step.emplace();
    end.step->role = sim::Role::kSynchronize;
    list_.push_back(add(std::move(end)));
    ProgramStep block;
    block.place = pipeline_.place;
    block.on = ranks_of_rows_[row];
    add_steps(block.block);
    graph_.threads[thread_].program.push_back(std::move(block));
  }

  // Adds the steps of the row: as one list step if some actor has several ops, as in
  // models::collapse(), else as one step per actor.
  void add_steps(std::vector<ProgramStep>& steps) const {
    const std::size_t actors = graph_.actors.size() - first_of_row_;
    const bool is_list = list_.size() > actors;
    ProgramStep step;
    step.place = graph_.actors[list_.front()].place;
    if (is_list) {
      step.list = list_;
      steps.push_back(std::move(step));
      return;
    }
    for (const std::uint32_t actor : list_) {
      step.place = graph_.actors[actor].place;
      step.actor = actor;
      steps.push_back(step);
    }
  }

  // Returns the actor of the slot that begins at `i`: nearly always an existing actor.
  std::uint32_t actor_of(std::size_t i) {
    const ActionSort& all = sort(schedule_.ranks[row_][i]);
    return all.actor != kNoIndex && is_shared(row_, i) ? all.actor : new_actor(i);
  }

  std::uint32_t new_actor(std::size_t i) {
    const Action& action = schedule_.ranks[row_][i];
    const bool shared = is_shared(row_, i);
    if (is_message(action.kind) && (!shared || pipeline_.shape_exchange)) return add_group(i);
    if (!shared) return add_compute(i, false);
    ActionSort& all = sort(action);
    if (all.regular) return all.actor = add_actor(i, all, true);
    const std::uint32_t actor = add_actor(i, all, false);
    all.actors.emplace(action.micro_batch, actor);
    return actor;
  }

  std::uint32_t add_actor(std::size_t i, const ActionSort& all, bool shared) {
    const Action& action = schedule_.ranks[row_][i];
    return is_message(action.kind) ? add_message(i, all, shared) : add_compute(i, shared);
  }

  // Returns a template with the properties that all kinds of actions share. If `shared`, action `i`
  // is the first of the actor's ops.
  ActorTemplate started(std::size_t i, bool shared) const {
    const Actions& actions = schedule_.ranks[row_];
    const Action& action = actions[i];
    ActorTemplate actor;
    actor.place = place_of(i);
    actor.step.emplace();
    if (!shared) {
      actor.name = slot_text(actions, i);
      return actor;
    }
    actor.name = std::to_string(action.stage) + action_word(action.kind);
    if (has_micro_batch(action.kind)) actor.numbers = numbers_of(action);
    return actor;
  }

  Numbering numbers_of(const Action& action) const {
    return sorts_[action.stage * kActionKinds + static_cast<std::size_t>(action.kind)].numbers;
  }

  // Returns the body of action `i`. Calls of kGradients and kUnshard occur once. All other calls
  // occur in every layer of the stage, in the order of Pipeline::collectives.
  ActionBody body_of(std::size_t i) const {
    const Action& action = schedule_.ranks[row_][i];
    const bool is_last = (alone(row_, i) & kLastOfStage) != 0;
    ActionBody body;
    body.action = action;
    body.takes_ns = pipeline_.takes(action);
    for (std::uint32_t round = 0; round < pipeline_.layers_of(action.stage); ++round) {
      for (std::size_t one = 0; one < pipeline_.collectives.size(); ++one) {
        const StageCollective& collective = pipeline_.collectives[one];
        if (!is_within(collective.moment, action.kind, is_last)) continue;
        const bool in_layers = collective.moment != StageMoment::kGradients &&
                               collective.moment != StageMoment::kUnshard;
        if (!in_layers && round > 0) continue;
        const bool ring = collective.ring != RingOrder::kNone;
        const std::uint32_t times =
            ring ? exchanges_of(collective, rings_.at(collective.over)) : collective.times;
        for (std::uint32_t k = 0; k < times; ++k) body.add(one, ring, k == 0);
      }
    }
    return body;
  }

  // Adds the actors of the slot that begins at `i`, and returns the first actor.
  std::uint32_t add_compute(std::size_t i, bool shared) {
    const Actions& actions = schedule_.ranks[row_];
    if (!ops_.empty() && is_compute(actions[i].kind)) return add_ops(i, shared);
    const std::size_t end = slot_end(actions, i);
    std::vector<ActionBody> bodies;
    std::size_t steps = 0;
    for (std::size_t part = i; part < end; ++part) {
      bodies.push_back(body_of(part));
      steps += bodies.back().steps.size();
    }
    ActorTemplate head = started(i, shared);
    head.stream = compute_;
    for (std::size_t part = i; part < end; ++part) {
      wait_for_input(actions[part], head);
      if ((alone(row_, part) & kFirstAfterUnshard) != 0) wait_for_unshard(actions[part], head);
    }
    const std::int64_t takes_ns = pipeline_.takes(actions, i);
    if (steps == 0) {
      head.takes = Expr::constant(takes_ns);
      return add(std::move(head));
    }
    if (!is_compute(actions[i].kind)) return add_calls(head, bodies.front());
    share(takes_ns, bodies);
    return add_parts(head, bodies, steps);
  }

  // The most recent ops of an action.
  struct LastOps {
    std::uint32_t op = kNoIndex;        // last op that is neither a weight gradient nor an exchange
    std::uint32_t arrived = kNoIndex;   // exchange that the next op waits for
    std::uint32_t exchange = kNoIndex;  // exchange that overlaps the next op
  };

  // Adds the ops of a slot in launch order. Each op waits for the previous op of its action. The
  // slot's last op on stream `compute` comes after all other ops of the slot, as in Megatron-LM.
  std::uint32_t add_ops(std::size_t i, bool shared) {
    const Actions& actions = schedule_.ranks[row_];
    const ActorTemplate like = started(i, shared);
    const auto first = static_cast<std::uint32_t>(graph_.actors.size());
    std::vector<LastOps> all(slot_end(actions, i) - i);  // one entry per action
    for (const SlotOp& each : ops_of_slot(ops_, actions, i, pipeline_)) {
      const std::size_t at = i + each.action;
      const std::string of = " of " + (shared ? like.name : action_text(actions[at]));
      const std::string layer =
          has_layers_ ? "layer " + std::to_string(each.layer) + " " : std::string();
      add_op(at, *each.op, like, layer + each.op->name, of, all[each.action]);
      if (each.ends_layer) add_buckets(at, like, layer, of);
    }
    add_end_of_ops(like, all, first);
    close_slot(first);
    return first;
  }

  // Adds one op of the action at `at`, after the `last` ops of this action, and updates `last`.
  // Skips exchanges in a ring of one rank.
  void add_op(std::size_t at, const StageOp& op, const ActorTemplate& like, const std::string& name,
              const std::string& of, LastOps& last) {
    const Action& action = schedule_.ranks[row_][at];
    const bool ring = op.call && op.call->ring != RingOrder::kNone;
    if (ring && rings_.at(op.call->over).size == 1) return;
    ActorTemplate actor = like;
    actor.name = name + of;
    actor.stream = compute_;
    if (ring) {
      actor.stream = graph_.communicators[communicator_of_op_.at(&*op.call)].stream;
    } else if (op.call) {
      add_call(*op.call, communicator_of_op_.at(&*op.call), action, actor);
    } else {
      actor.takes =
          Expr::constant(op.takes_ns.of(action.stage % schedule_.depth(), action.micro_batch));
    }
    if (last.op == kNoIndex) {
      if (op.call) actor.behind = compute_;
      wait_for_input(action, actor);
      if ((alone(row_, at) & kFirstAfterUnshard) != 0) wait_for_unshard(action, actor);
    }
    for (const std::uint32_t before : {last.op, last.arrived, ring ? last.exchange : kNoIndex}) {
      if (before != kNoIndex) wait_for(before, actor);
    }
    if (ring) {
      last.exchange =
          add_ring(*op.call, communicator_of_op_.at(&*op.call), action, std::move(actor), name, of);
      return;
    }
    const std::uint32_t index = add(std::move(actor));
    if (!op.weight_grad) last = {index, std::exchange(last.exchange, kNoIndex), kNoIndex};
  }

  // Adds an op on stream `compute` after all ops of the slot, unless the slot already ends with
  // such an op. `first` is the first op of the slot.
  void add_end_of_ops(const ActorTemplate& like, const std::vector<LastOps>& all,
                      std::uint32_t first) {
    ActorTemplate end = like;
    end.stream = compute_;
    for (const LastOps& last : all) {
      for (const std::uint32_t op : {last.op, last.arrived, last.exchange}) {
        if (op != kNoIndex) wait_for(op, end);
      }
    }
    const bool none = graph_.actors.size() == first;
    if (!none) end.name.insert(0, "end of ");
    if (none || !end.after.empty() || graph_.actors.back().stream != compute_) add(std::move(end));
  }

  // Adds the collectives that a layer starts in the last backward of its stage. The layers that
  // follow do not wait for these collectives.
  void add_buckets(std::size_t i, const ActorTemplate& like, const std::string& layer,
                   const std::string& of) {
    if ((alone(row_, i) & kLastOfStage) == 0) return;
    const Action& action = schedule_.ranks[row_][i];
    std::uint32_t number = 0;
    for (std::size_t one = 0; one < pipeline_.collectives.size(); ++one) {
      const StageCollective& collective = pipeline_.collectives[one];
      if (collective.moment != StageMoment::kLastBackward) continue;
      for (std::uint32_t k = 0; k < collective.times; ++k) {
        ActorTemplate call = like;
        add_call(one, action, call);
        call.behind = compute_;
        call.name = layer;
        call.name += operation_name(collective.operation);
        call.name += " " + std::to_string(++number) + of;
        add(std::move(call));
      }
    }
  }

  // Adds the calls of an action that computes nothing.
  std::uint32_t add_calls(const ActorTemplate& head, const ActionBody& body) {
    const auto first = static_cast<std::uint32_t>(graph_.actors.size());
    for (std::size_t i = 0; i < body.steps.size(); ++i) {
      const std::size_t one = body.steps[i].call;
      const StageCollective& collective = pipeline_.collectives[one];
      ActorTemplate call = head;
      call.name = head.name + " " + operation_name(collective.operation);
      if (body.steps.size() > 1) call.name += " " + std::to_string(i + 1);
      add_call(one, body.action, call);
      // Weights are gathered ahead of computation, but gradients must be computed first.
      if (collective.moment == StageMoment::kGradients) call.behind = compute_;
      add(std::move(call));
    }
    close_slot(first);
    return first;
  }

  void close_slot(std::uint32_t first) {
    pipeline_.parts[first - pipeline_.first_actor] =
        static_cast<std::uint32_t>(graph_.actors.size()) - first;
  }

  // Adds the parts of the bodies in turns. In each body, a call follows a part, and the next part
  // waits for the call.
  std::uint32_t add_parts(const ActorTemplate& head, std::vector<ActionBody>& bodies,
                          std::size_t steps) {
    const std::string name = head.name;
    ActorTemplate like = head;
    like.after.clear();
    const auto first = static_cast<std::uint32_t>(graph_.actors.size());
    std::uint32_t number = 0;
    std::uint32_t call_number = 0;
    for (std::size_t turn = 0; turn <= steps; ++turn) {
      for (ActionBody& body : bodies) {
        if (turn > body.steps.size()) continue;
        const BodyStep step = turn < body.steps.size() ? body.steps[turn] : BodyStep();
        std::uint32_t exchange = kNoIndex;
        if (step.beside) {
          const StageCollective& ring = pipeline_.collectives[step.call];
          ActorTemplate call = like;
          call.stream = graph_.communicators[communicator_of_[step.call]].stream;
          call.behind = compute_;
          if (number == 0) call.after = head.after;
          if (body.call != kNoIndex) wait_for(body.call, call);
          exchange = add_ring(ring, communicator_of_[step.call], body.action, std::move(call),
                              ring.name(), " " + std::to_string(++call_number) + " of " + name);
        }
        ActorTemplate part = ++number == 1 ? head : like;
        if (number > 1) part.name = "part " + std::to_string(number) + " of " + name;
        part.takes = Expr::constant(body.next_part());
        if (body.call != kNoIndex) wait_for(body.call, part);
        add(std::move(part));
        body.call = exchange;
        if (step.beside || step.call == BodyStep::kNoCall) continue;
        const std::size_t one = step.call;
        ActorTemplate call = like;
        add_call(one, body.action, call);
        call.behind = compute_;
        call.name = operation_name(pipeline_.collectives[one].operation) + " " +
                    std::to_string(++call_number) + " of " + name;
        const std::uint32_t index = add(std::move(call));
        body.call = waits(pipeline_.collectives[one].moment) ? index : kNoIndex;
      }
    }
    close_slot(first);
    return first;
  }

  // Makes `actor` wait for `before`. On the same stream, the launch order suffices.
  void wait_for(std::uint32_t before, ActorTemplate& actor) const {
    if (graph_.actors[before].stream != actor.stream) actor.after.push_back({before, 0});
  }

  // Adds an exchange on the stream of `like`, with the dependencies of `like`. Returns the last
  // actor of the exchange.
  std::uint32_t add_ring(const StageCollective& ring, std::uint32_t communicator,
                         const Action& action, ActorTemplate like, const std::string& name,
                         const std::string& of) {
    like.place = ring.place;
    like.step->role = sim::Role::kCalls;
    const Ring& ranks = rings_.at(ring.over);
    std::vector<CallTemplate> calls;
    for (const bool send : {true, false}) {
      CallTemplate& call = calls.emplace_back(call_like(ring, communicator, action));
      call.kind = send ? sim::CallKind::kSend : sim::CallKind::kReceive;
      call.operation = send ? Operation::kSend : Operation::kReceive;
      call.peer = send ? ranks.next : ranks.previous;
    }
    if (ring.ring == RingOrder::kBatch) {
      like.name = name + of;
      for (CallTemplate& call : calls) like.step->calls.push_back(std::move(call));
      return add(std::move(like));
    }
    if (ring.ring == RingOrder::kRecvFirst) std::swap(calls.front(), calls.back());
    std::uint32_t last = kNoIndex;
    for (CallTemplate& call : calls) {
      ActorTemplate one = like;
      one.name = name + " " + operation_name(call.operation) + of;
      one.step->calls.push_back(std::move(call));
      last = add(std::move(one));
    }
    return last;
  }

  static bool waits(StageMoment moment) {
    return moment == StageMoment::kForward || moment == StageMoment::kBackward;
  }

  // Makes `actor` a call of the collective `one` within `action`.
  void add_call(std::size_t one, const Action& action, ActorTemplate& actor) const {
    add_call(pipeline_.collectives[one], communicator_of_[one], action, actor);
  }

  void add_call(const StageCollective& collective, std::uint32_t communicator, const Action& action,
                ActorTemplate& actor) const {
    CallTemplate call = call_like(collective, communicator, action);
    if (has_root(collective.operation)) call.peer = Expr::constant(0);
    actor.place = collective.place;
    actor.stream = graph_.communicators[call.communicator].stream;
    actor.step->role = sim::Role::kCalls;
    actor.step->calls.push_back(std::move(call));
  }

  CallTemplate call_like(const StageCollective& collective, std::uint32_t communicator,
                         const Action& action) const {
    CallTemplate call;
    call.place = collective.place;
    call.operation = collective.operation;
    call.communicator = communicator;
    call.bytes = Expr::constant(amount(collective.bytes, action.stage, action.micro_batch));
    call.sized = collective.bytes.has_value();
    call.takes = Expr::constant(amount(collective.takes_ns, action.stage, action.micro_batch));
    call.timed = graph_.cluster && collective.bytes && !collective.takes_ns;
    return call;
  }

  // Adds the calls of collective `one` if they run after all computation of the rank.
  void add_step_calls(std::size_t one) {
    const StageCollective& collective = pipeline_.collectives[one];
    if (collective.moment != StageMoment::kStep) return;
    for (std::uint32_t k = 0; k < collective.times; ++k) {
      ActorTemplate call;
      call.step.emplace();
      add_call(one, Action(), call);
      call.behind = compute_;
      call.name = operation_name(collective.operation) + " " + collective.over;
      if (collective.times > 1) call.name += " " + std::to_string(k + 1);
      list_.push_back(add(std::move(call)));
    }
  }

  // Makes `actor` wait for the calls of its stage's last unshard.
  void wait_for_unshard(const Action& action, ActorTemplate& actor) const {
    const ActionSort& unshards =
        sorts_[action.stage * kActionKinds + static_cast<std::size_t>(ActionKind::kUnshard)];
    if (unshards.actor == kNoIndex) return;
    const std::uint32_t parts = pipeline_.parts[unshards.actor - pipeline_.first_actor];
    for (std::uint32_t part = 0; part < parts; ++part) {
      actor.after.push_back({unshards.actor + part, unshards_[action.stage] - 1});
    }
  }

  // Makes `actor` wait for its input, unless this rank computes the input or the input comes from
  // outside.
  void wait_for_input(const Action& part, ActorTemplate& actor) {
    const ActionKind kind = receive_for(part.kind);
    if (kind == ActionKind::kNone) return;
    const ActionSort& receives = sort(kind, part.stage);
    if (receives.count == 0) return;
    if (receives.regular) {
      const std::uint32_t ahead = receives.numbers.op(part.micro_batch, receives.count);
      if (ahead != kNoIndex && receives.actor != kNoIndex) {
        actor.after.push_back({receives.actor, ahead});
      }
      return;
    }
    const auto found = receives.actors.find(part.micro_batch);
    if (found != receives.actors.end()) actor.after.push_back({found->second, 0});
  }

  std::uint32_t add_message(std::size_t i, const ActionSort& all, bool shared) {
    CallTemplate call = call_of(i);
    if (shared) call.tag_numbers = all.numbers;
    ActorTemplate actor = started(i, shared);
    add_message_call(std::move(call), actor);
    return add(std::move(actor));
  }

  void add_message_call(CallTemplate call, ActorTemplate& actor) const {
    actor.stream = graph_.communicators[call.communicator].stream;
    actor.behind = compute_;
    actor.blocking = actor.blocking || pipeline_.messages == MessageModel::kSync;
    actor.step->role = sim::Role::kCalls;
    actor.step->calls.push_back(std::move(call));
  }

  // Adds the sends and recvs of the slot that begins at `i` as one group. With a shape exchange,
  // sends and recvs of three numbers in each direction precede the group; the host waits for them,
  // then for the device.
  std::uint32_t add_group(std::size_t i) {
    const Actions& actions = schedule_.ranks[row_];
    const std::size_t end = slot_end(actions, i);
    ActorTemplate group = started(i, false);
    ActorTemplate shapes = group;
    shapes.name = "shapes of " + group.name;
    shapes.blocking = true;
    for (std::size_t part = i; part < end; ++part) {
      CallTemplate call = call_of(part);
      CallTemplate shape = call;
      shape.bytes = Expr::constant(kShapeBytes);
      shape.sized = true;
      shape.takes = Expr::constant(0);
      shape.timed = graph_.cluster.has_value();
      shape.tag = "shape of " + call.tag;
      add_message_call(std::move(shape), shapes);
      add_message_call(std::move(call), group);
    }
    const auto first = static_cast<std::uint32_t>(graph_.actors.size());
    if (pipeline_.shape_exchange) {
      ActorTemplate wait;
      wait.name = "synchronize after " + shapes.name;
      wait.place = group.place;
      wait.step.emplace();
      wait.step->role = sim::Role::kSynchronize;
      add(std::move(shapes));
      add(std::move(wait));
    }
    const std::uint32_t last = add(std::move(group));
    close_slot(first);
    for (std::size_t part = i; part < end; ++part) {
      sort(actions[part]).actors.emplace(actions[part].micro_batch, last);
    }
    return first;
  }

  CallTemplate call_of(std::size_t i) {
    const Action& action = schedule_.ranks[row_][i];
    const bool next =
        action.kind == ActionKind::kSendForward || action.kind == ActionKind::kRecvBackward;
    const std::uint32_t other = next ? action.stage + 1 : action.stage - 1;
    const std::uint32_t peer = schedule_.rank_of_stage[other];  // row of the peer
    const bool send = is_send(action.kind);
    CallTemplate call;
    call.place = place_of(i);
    call.kind = send ? sim::CallKind::kSend : sim::CallKind::kReceive;
    call.operation = send ? Operation::kSend : Operation::kReceive;
    const bool forward =
        action.kind == ActionKind::kSendForward || action.kind == ActionKind::kRecvForward;
    call.communicator =
        send ? links_.between(row_, peer, forward) : links_.between(peer, row_, forward);
    call.peer = rank_of_row(peer);
    const std::uint32_t earlier = std::min(action.stage, other);
    call.bytes = Expr::constant(amount(pipeline_.message_bytes, earlier, action.micro_batch));
    call.sized = pipeline_.message_bytes.has_value();
    // In kDir, sends are buffered: the send takes the whole transfer time, and the recv takes none.
    const bool waits = send || pipeline_.messages != MessageModel::kDir;
    call.takes =
        Expr::constant(waits ? amount(pipeline_.message_ns, earlier, action.micro_batch) : 0);
    call.timed = graph_.cluster && pipeline_.message_bytes && !pipeline_.message_ns;
    // The tag reveals a schedule that sends in a different order than it receives.
    call.tag = std::to_string(send ? action.stage : other) +
               action_word(forward ? ActionKind::kForward : ActionKind::kBackward);
    call.tag_numbers = Numbering{action.micro_batch, 0};
    return call;
  }

  Place place_of(std::size_t i) const {
    const Place place = schedule_.place(row_, i);
    return place.line == 0 ? pipeline_.place : place;
  }

  // Returns the rank that runs `row` in the same pipeline.
  Expr rank_of_row(std::uint32_t row) const {
    if (pipeline_.row_of_rank.empty()) return Expr::constant(row);
    const std::int64_t rows = std::int64_t{row} - row_;
    return Expr::binary(Expr::Op::kAdd, Expr::rank(), Expr::constant(rows * pipeline_.stride));
  }

  std::uint32_t add(ActorTemplate actor) {
    actor.thread = thread_;
    actor.on = ranks_of_rows_[row_];
    graph_.actors.push_back(std::move(actor));
    pipeline_.parts.push_back(1);
    return static_cast<std::uint32_t>(graph_.actors.size() - 1);
  }

  Pipeline& pipeline_;
  const LayerOps& ops_;
  const Schedule& schedule_;
  TaskGraph& graph_;
  std::vector<RankSet> ranks_of_rows_;
  PipelineLinks links_;
  std::vector<std::uint32_t> communicator_of_;  // by collective: its communicator
  std::map<const StageCollective*, std::uint32_t> communicator_of_op_;
  std::map<std::string, Ring> rings_;  // by StageCollective::over: its ring
  // Reasons (bits) by row and action; empty without collectives.
  std::vector<std::vector<std::uint8_t>> alone_;
  std::vector<ActionSort> sorts_;  // indexed by stage and kind
  bool has_layers_;                // whether some stage has several layers
  // Number of unshards so far, by stage.
  std::vector<std::uint32_t> unshards_ = std::vector<std::uint32_t>(schedule_.stages, 0);
  std::uint32_t thread_ = kNoIndex;
  std::uint32_t compute_ = kNoIndex;
  std::uint32_t row_ = 0;            // row of the current program
  std::size_t first_of_row_ = 0;     // first actor of this row
  std::vector<std::uint32_t> list_;  // actors of this row so far, in program order
};

}  // namespace

bool add_pipeline(Pipeline pipeline, const LayerOps& ops, TaskGraph& graph,
                  Diagnostics& diagnostics) {
  if (!PipelinePrograms(pipeline, ops, graph).run(diagnostics)) return false;
  graph.pipeline = std::move(pipeline);
  return true;
}

}  // namespace pipesim::models
