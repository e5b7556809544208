// An action that computes is an op on stream `compute`, a message a call on its communicator. A
// message waits for what was computed before it, and what consumes a message waits for its receive,
// not for what was posted behind that.
//
// All actions of one kind and stage whose micro-batches go up (or down) one by one are one actor:
// act k is its k-th micro-batch. A schedule of millions of actions has thousands of actors, and
// their order takes 4 bytes for each action. Other actions have an actor each.
#include "models/graph/pipeline.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {
namespace {

constexpr std::array<std::pair<const char*, MessageModel>, 6> kModels = {{
    {"dir", MessageModel::kDir},
    {"edge", MessageModel::kEdge},
    {"pair", MessageModel::kPair},
    {"direction", MessageModel::kDirection},
    {"pg", MessageModel::kPg},
    {"sync", MessageModel::kSync},
}};

// The runtime's own queues hold a whole step here: what a schedule promises is not about them.
constexpr std::int64_t kLaunchQueue = std::int64_t{1} << 30;

constexpr std::size_t kActionKinds = 12;  // of actions

bool sends(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kSendBackward;
}

// What brings the input of a forward or gradient from another rank; kNone for other kinds.
ActionKind receive_for(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
      return ActionKind::kRecvForward;
    case ActionKind::kInputGrad:
    case ActionKind::kBackward:
      return ActionKind::kRecvBackward;
    default:
      return ActionKind::kNone;
  }
}

// The actions of one kind in one stage, which are all on one rank. Those that overlap with others
// are not among them.
struct Sort {
  std::uint32_t count = 0;
  Numbering numbers;  // of their micro-batches, as far as `regular`
  bool regular = true;
  std::uint32_t actor = kNoIndex;                 // of all of them, if they share one
  std::map<std::uint32_t, std::uint32_t> actors;  // else of each micro-batch

  void add(std::uint32_t micro_batch) {
    if (count == 0) numbers.first = micro_batch;
    if (count == 1) numbers.step = std::int64_t{micro_batch} - numbers.first;
    regular = regular && numbers.number(count) == micro_batch;
    ++count;
  }
};

class Programs {
 public:
  Programs(Pipeline& pipeline, TaskGraph& graph)
      : pipeline_(pipeline),
        schedule_(pipeline.schedule),
        graph_(graph),
        sorts_(schedule_.stages * kActionKinds) {}

  bool run(Diagnostics& diagnostics) {
    if (!find_thread(diagnostics)) return false;
    compute_ = stream("compute");
    for (const Actions& actions : schedule_.ranks) collect(actions);
    for (std::uint32_t stage = 0; stage < schedule_.stages; ++stage)
      split_where_inputs_differ(stage);
    pipeline_.first_actor = static_cast<std::uint32_t>(graph_.actors.size());
    for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) add_rank(rank);
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

  Sort& sort(ActionKind kind, std::uint32_t stage) {
    return sorts_[stage * kActionKinds + static_cast<std::size_t>(kind)];
  }
  Sort& sort(const Action& action) { return sort(action.kind, action.stage); }

  void collect(const Actions& actions) {
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      if (!actions[i].none() && slot_end(actions, i) == i + 1)
        sort(actions[i]).add(actions[i].micro_batch);
    }
  }

  // Act k of an actor waits for a fixed act k + n of another. Where receives come in another order
  // than what consumes them, each has an actor for itself.
  void split_where_inputs_differ(std::uint32_t stage) {
    for (const ActionKind kind :
         {ActionKind::kForward, ActionKind::kInputGrad, ActionKind::kBackward}) {
      Sort& consumers = sort(kind, stage);
      const Sort& receives = sort(receive_for(kind), stage);
      if (consumers.count < 2 || receives.count == 0) continue;
      const bool alike = receives.regular && receives.numbers.step == consumers.numbers.step &&
                         receives.numbers.act(consumers.numbers.first, receives.count) != kNoIndex;
      consumers.regular = consumers.regular && alike;
    }
  }

  void add_rank(std::uint32_t rank) {
    rank_ = rank;
    first_of_rank_ = graph_.actors.size();
    list_.clear();
    const Actions& actions = schedule_.ranks[rank];
    list_.reserve(actions.size() + 1);
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      if (!actions[i].none()) list_.push_back(actor_of(i));
    }
    ActorTemplate end;
    end.name = "synchronize device";
    end.place = pipeline_.place;
    end.step.emplace();
    end.step->role = sim::Role::kSynchronize;
    list_.push_back(add(std::move(end)));
    ProgramStep block;
    block.place = pipeline_.place;
    block.on = RankSet({rank});
    add_steps(block.block);
    graph_.threads[thread_].program.push_back(std::move(block));
  }

  // As collapse() makes them.
  void add_steps(std::vector<ProgramStep>& steps) const {
    const std::size_t actors = graph_.actors.size() - first_of_rank_;
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

  // Of the slot that begins at `i`; made when it is first met.
  std::uint32_t actor_of(std::size_t i) {
    const Actions& actions = schedule_.ranks[rank_];
    const Action& action = actions[i];
    if (slot_end(actions, i) > i + 1) return add_compute(i, false);
    Sort& all = sort(action);
    if (!all.regular) {
      const std::uint32_t actor = add_actor(i, all, false);
      all.actors.emplace(action.micro_batch, actor);
      return actor;
    }
    if (all.actor == kNoIndex) all.actor = add_actor(i, all, true);
    return all.actor;
  }

  std::uint32_t add_actor(std::size_t i, const Sort& all, bool shared) {
    const Action& action = schedule_.ranks[rank_][i];
    return is_message(action.kind) ? add_message(i, all, shared) : add_compute(i, shared);
  }

  // What all kinds of actions have in common. A shared one is the first of its acts.
  ActorTemplate started(std::size_t i, bool shared) const {
    const Actions& actions = schedule_.ranks[rank_];
    const Action& action = actions[i];
    ActorTemplate actor;
    const Place place = schedule_.place(rank_, i);
    actor.place = place.line == 0 ? pipeline_.place : place;
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

  std::uint32_t add_compute(std::size_t i, bool shared) {
    const Actions& actions = schedule_.ranks[rank_];
    ActorTemplate actor = started(i, shared);
    actor.stream = compute_;
    actor.takes = Expr::constant(pipeline_.takes(actions, i));
    for (std::size_t part = i; part < slot_end(actions, i); ++part) {
      wait_for_input(actions[part], actor);
    }
    return add(std::move(actor));
  }

  // Unless it was computed on this rank, or comes from outside.
  void wait_for_input(const Action& part, ActorTemplate& actor) {
    const ActionKind kind = receive_for(part.kind);
    if (kind == ActionKind::kNone) return;
    const Sort& receives = sort(kind, part.stage);
    if (receives.count == 0) return;
    if (receives.regular) {
      const std::uint32_t ahead = receives.numbers.act(part.micro_batch, receives.count);
      if (ahead != kNoIndex && receives.actor != kNoIndex) {
        actor.after.push_back({receives.actor, ahead});
      }
      return;
    }
    const auto found = receives.actors.find(part.micro_batch);
    if (found != receives.actors.end()) actor.after.push_back({found->second, 0});
  }

  std::uint32_t add_message(std::size_t i, const Sort& all, bool shared) {
    const Action& action = schedule_.ranks[rank_][i];
    const bool next =
        action.kind == ActionKind::kSendForward || action.kind == ActionKind::kRecvBackward;
    const std::uint32_t other = next ? action.stage + 1 : action.stage - 1;
    const std::uint32_t peer = schedule_.rank_of_stage[other];
    const bool send = sends(action.kind);
    CallTemplate call;
    call.place = started(i, shared).place;
    call.kind = send ? sim::CallKind::kSend : sim::CallKind::kReceive;
    call.operation = send ? Operation::kSend : Operation::kReceive;
    const bool forward =
        action.kind == ActionKind::kSendForward || action.kind == ActionKind::kRecvForward;
    call.communicator =
        send ? communicator(rank_, peer, forward) : communicator(peer, rank_, forward);
    call.peer = Expr::constant(peer);
    call.bytes = Expr::constant(pipeline_.message_bytes.value_or(0));
    call.sized = pipeline_.message_bytes.has_value();
    // Of a buffered message the send takes all its time: a receive that comes late waits no more.
    const bool waits = send || pipeline_.messages != MessageModel::kDir;
    call.takes = Expr::constant(waits ? pipeline_.message_ns.value_or(0) : 0);
    call.timed = graph_.cluster && pipeline_.message_bytes && !pipeline_.message_ns;
    // A schedule may send in another order than it receives: then what arrives is the wrong thing.
    call.tag = std::to_string(send ? action.stage : other) +
               action_word(forward ? ActionKind::kForward : ActionKind::kBackward);
    call.tag_numbers = shared ? all.numbers : Numbering{action.micro_batch, 0};
    ActorTemplate actor = started(i, shared);
    actor.stream = graph_.communicators[call.communicator].stream;
    actor.behind = compute_;
    actor.blocking = pipeline_.messages == MessageModel::kSync;
    actor.step->role = sim::Role::kCalls;
    actor.step->calls.push_back(std::move(call));
    return add(std::move(actor));
  }

  // The communicator of messages from one rank to another, of forwards or of backwards.
  std::uint32_t communicator(std::uint32_t from, std::uint32_t to, bool forward) {
    std::string name;
    std::vector<std::uint32_t> ranks;
    switch (pipeline_.messages) {
      case MessageModel::kDir:
      case MessageModel::kEdge:
        ranks = {from, to};
        name = std::to_string(from) + " to " + std::to_string(to);
        break;
      case MessageModel::kPair:
        ranks = {std::min(from, to), std::max(from, to)};
        name = std::to_string(ranks[0]) + " and " + std::to_string(ranks[1]);
        break;
      case MessageModel::kDirection:
        name = forward ? "forward" : "backward";
        break;
      case MessageModel::kPg:
      case MessageModel::kSync:
        name = "pipeline";
        break;
    }
    const auto [found, is_new] = communicators_.try_emplace(name, kNoIndex);
    if (!is_new) return found->second;
    if (ranks.empty()) {
      for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) ranks.push_back(rank);
    }
    Group group;
    group.name = std::move(name);
    group.place = pipeline_.place;
    group.lists.push_back(std::move(ranks));
    group.index(graph_.ranks);
    CommunicatorTemplate made;
    made.name = group.name;
    made.place = pipeline_.place;
    made.group = static_cast<std::uint32_t>(graph_.groups.size());
    made.creation = graph_.creation;
    made.stream = stream(calls_stream(group.name));
    if (pipeline_.messages == MessageModel::kDir) {
      made.eager_bytes = std::numeric_limits<std::int64_t>::max();
    }
    graph_.groups.push_back(std::move(group));
    found->second = static_cast<std::uint32_t>(graph_.communicators.size());
    graph_.communicators.push_back(std::move(made));
    return found->second;
  }

  std::uint32_t stream(const std::string& name) {
    const auto found =
        std::find_if(graph_.streams.begin(), graph_.streams.end(),
                     [&](const StreamTemplate& known) { return known.name == name; });
    if (found != graph_.streams.end()) {
      return static_cast<std::uint32_t>(found - graph_.streams.begin());
    }
    StreamTemplate made;
    made.name = name;
    made.place = pipeline_.place;
    made.launch_queue = Expr::constant(kLaunchQueue);
    graph_.streams.push_back(std::move(made));
    return static_cast<std::uint32_t>(graph_.streams.size() - 1);
  }

  std::uint32_t add(ActorTemplate actor) {
    actor.thread = thread_;
    actor.on = RankSet({rank_});
    graph_.actors.push_back(std::move(actor));
    return static_cast<std::uint32_t>(graph_.actors.size() - 1);
  }

  Pipeline& pipeline_;
  const Schedule& schedule_;
  TaskGraph& graph_;
  std::vector<Sort> sorts_;  // by stage and kind
  std::uint32_t thread_ = kNoIndex;
  std::uint32_t compute_ = kNoIndex;
  std::uint32_t rank_ = 0;           // whose program is made
  std::size_t first_of_rank_ = 0;    // of its actors
  std::vector<std::uint32_t> list_;  // its actors so far
  std::map<std::string, std::uint32_t> communicators_;
};

}  // namespace

std::optional<MessageModel> find_message_model(std::string_view name) {
  for (const auto& [known, model] : kModels) {
    if (name == known) return model;
  }
  return std::nullopt;
}

std::vector<std::string> message_model_names() {
  std::vector<std::string> names;
  for (const auto& [name, model] : kModels) names.emplace_back(name);
  return names;
}

std::int64_t Pipeline::takes(const Action& action) const {
  const StageCost& cost = stages[action.stage];
  switch (action.kind) {
    case ActionKind::kForward:
      return cost.forward_ns;
    case ActionKind::kBackward:
      return cost.input_grad_ns + cost.weight_grad_ns;
    case ActionKind::kInputGrad:
      return cost.input_grad_ns;
    case ActionKind::kWeightGrad:
      return cost.weight_grad_ns;
    default:
      return 0;
  }
}

std::int64_t Pipeline::takes(const Actions& actions, std::size_t slot) const {
  const std::size_t end = slot_end(actions, slot);
  if (overlap_ns && end > slot + 1) return *overlap_ns;
  std::int64_t sum = 0;
  for (std::size_t i = slot; i < end; ++i) sum += takes(actions[i]);
  return sum;
}

bool add_pipeline(Pipeline pipeline, TaskGraph& graph, Diagnostics& diagnostics) {
  if (!Programs(pipeline, graph).run(diagnostics)) return false;
  graph.pipeline = std::move(pipeline);
  return true;
}

}  // namespace pipesim::models
