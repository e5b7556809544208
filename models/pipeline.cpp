// An action that computes is an op on stream `compute`, a message a call on its communicator.
// Events hold them together as a framework's work handles do: a message waits for what was computed
// before it, and what consumes a message waits for its receive, not for what was posted behind
// that.
#include "models/pipeline.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "models/task_graph.hpp"

namespace pipesim::models {
namespace {

constexpr std::array<std::pair<const char*, MessageModel>, 4> kModels = {{
    {"dir", MessageModel::kDir},
    {"pair", MessageModel::kPair},
    {"pg", MessageModel::kPg},
    {"sync", MessageModel::kSync},
}};

// The runtime's own queues hold a whole step here: what a schedule promises is not about them.
constexpr std::int64_t kLaunchQueue = std::int64_t{1} << 30;

bool sends(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kSendBackward;
}

class Programs {
 public:
  Programs(Pipeline& pipeline, TaskGraph& graph) : pipeline_(pipeline), graph_(graph) {}

  bool run(Diagnostics& diagnostics) {
    if (!find_thread(diagnostics)) return false;
    compute_ = stream("compute");
    pipeline_.actors.resize(pipeline_.schedule.ranks.size());
    for (std::uint32_t rank = 0; rank < pipeline_.schedule.ranks.size(); ++rank) add_rank(rank);
    return true;
  }

 private:
  // What a rank has done so far, as its program is made.
  struct Row {
    std::uint32_t rank = 0;
    std::vector<ProgramStep> steps;
    std::uint32_t computed = 0;                    // ops on the compute stream
    std::map<std::uint32_t, std::uint32_t> known;  // by stream: how many of them it waited for
    std::map<std::string, std::uint32_t> done;     // how often: FSDP gathers a stage again
  };

  bool find_thread(Diagnostics& diagnostics) {
    const auto found = std::find_if(graph_.threads.begin(), graph_.threads.end(),
                                    [](const HostThread& thread) { return thread.name == "main"; });
    thread_ = static_cast<std::uint32_t>(found - graph_.threads.begin());
    if (found != graph_.threads.end()) {
      if (found->order == sim::ThreadOrder::kProgram) return true;
      diagnostics.error(pipeline_.place,
                        "the schedule is a program of thread 'main', which takes its work up by "
                        "arrival");
      return false;
    }
    HostThread thread;
    thread.name = "main";
    thread.place = pipeline_.place;
    thread.order = sim::ThreadOrder::kProgram;
    graph_.threads.push_back(std::move(thread));
    return true;
  }

  void add_rank(std::uint32_t rank) {
    Row row;
    row.rank = rank;
    for (const Action& action : pipeline_.schedule.ranks[rank]) {
      std::uint32_t actor = kNoIndex;
      if (is_message(action.kind)) {
        actor = add_message(row, action);
      } else if (!action.none()) {
        actor = add_compute(row, action);
      }
      pipeline_.actors[rank].push_back(actor);
    }
    ActorTemplate end;
    end.name = "synchronize device";
    end.place = pipeline_.place;
    end.step.emplace();
    end.step->role = sim::Role::kSynchronize;
    add(row, std::move(end));
    ProgramStep block;
    block.place = pipeline_.place;
    block.on = RankSet({rank});
    block.block = std::move(row.steps);
    graph_.threads[thread_].program.push_back(std::move(block));
  }

  std::uint32_t add_compute(Row& row, const Action& action) {
    for (const Action& part : parts_of(action)) wait_for_inputs(row, part);
    ActorTemplate actor;
    actor.place = action.place;
    actor.name = action_text(action);
    actor.stream = compute_;
    actor.takes = Expr::constant(pipeline_.takes(action));
    actor.step.emplace();
    ++row.computed;
    const std::uint32_t times = ++row.done[actor.name];
    if (times > 1) actor.name += "." + std::to_string(times);
    return add(row, std::move(actor));
  }

  void wait_for_inputs(Row& row, const Action& part) {
    Action receive = part;
    if (part.kind == ActionKind::kForward) {
      receive.kind = ActionKind::kRecvForward;
    } else if (part.kind == ActionKind::kInputGrad || part.kind == ActionKind::kBackward) {
      receive.kind = ActionKind::kRecvBackward;
    } else {
      return;
    }
    const auto event = events_.find(action_text(receive));
    if (event == events_.end()) return;  // it was computed on this rank, or comes from outside
    ActorTemplate wait;
    wait.name = "wait for " + event->first;
    wait.place = part.place;
    wait.stream = compute_;
    wait.step.emplace();
    wait.step->role = sim::Role::kWait;
    wait.step->event = event->second;
    add(row, std::move(wait));
  }

  std::uint32_t add_message(Row& row, const Action& action) {
    const Schedule& schedule = pipeline_.schedule;
    const bool next =
        action.kind == ActionKind::kSendForward || action.kind == ActionKind::kRecvBackward;
    const std::uint32_t other = next ? action.stage + 1 : action.stage - 1;
    const std::uint32_t peer = schedule.rank_of_stage[other];
    const bool send = sends(action.kind);
    CallTemplate call;
    call.place = action.place;
    call.kind = send ? sim::CallKind::kSend : sim::CallKind::kReceive;
    call.operation = send ? "send" : "recv";
    call.communicator = send ? communicator(row.rank, peer) : communicator(peer, row.rank);
    call.peer = Expr::constant(peer);
    call.bytes = Expr::constant(pipeline_.message_bytes.value_or(0));
    // Of a buffered message the send takes all its time: a receive that comes late waits no more.
    const bool waits = send || pipeline_.messages != MessageModel::kDir;
    call.takes = Expr::constant(waits ? pipeline_.message_ns.value_or(0) : 0);
    call.timed = graph_.cluster && pipeline_.message_bytes && !pipeline_.message_ns;
    // A schedule may send in another order than it receives: then what arrives is the wrong thing.
    const bool forward =
        action.kind == ActionKind::kSendForward || action.kind == ActionKind::kRecvForward;
    const Action sent{forward ? ActionKind::kForward : ActionKind::kBackward,
                      send ? action.stage : other,
                      action.micro_batch,
                      {},
                      {}};
    call.tag = action_text(sent);
    const std::uint32_t used = graph_.communicators[call.communicator].stream;
    wait_for_compute(row, action, used);
    ActorTemplate actor;
    actor.place = action.place;
    actor.name = action_text(action);
    actor.stream = used;
    actor.blocking = pipeline_.messages == MessageModel::kSync;
    actor.step.emplace();
    actor.step->role = sim::Role::kCalls;
    actor.step->calls.push_back(std::move(call));
    const std::uint32_t index = add(row, std::move(actor));
    if (!send) record_receive(row, action, used);
    return index;
  }

  // What was computed so far comes before the message, which goes on `stream`.
  void wait_for_compute(Row& row, const Action& message, std::uint32_t stream) {
    std::uint32_t& known = row.known[stream];
    if (known == row.computed) return;
    known = row.computed;
    if (computed_event_ == kNoIndex) computed_event_ = event("compute");
    for (const sim::Role role : {sim::Role::kRecord, sim::Role::kWait}) {
      ActorTemplate part;
      const bool record = role == sim::Role::kRecord;
      part.name = (record ? "record before " : "compute before ") + action_text(message);
      part.place = message.place;
      part.stream = record ? compute_ : stream;
      part.step.emplace();
      part.step->role = role;
      part.step->event = computed_event_;
      add(row, std::move(part));
    }
  }

  void record_receive(Row& row, const Action& action, std::uint32_t stream) {
    const std::string name = action_text(action);
    const std::uint32_t index = event(name);
    events_.emplace(name, index);
    ActorTemplate record;
    record.name = "record " + name;
    record.place = action.place;
    record.stream = stream;
    record.step.emplace();
    record.step->role = sim::Role::kRecord;
    record.step->event = index;
    add(row, std::move(record));
  }

  // The communicator of messages from one rank to another.
  std::uint32_t communicator(std::uint32_t from, std::uint32_t to) {
    const bool all =
        pipeline_.messages == MessageModel::kPg || pipeline_.messages == MessageModel::kSync;
    if (all) from = to = 0;
    if (pipeline_.messages == MessageModel::kPair && from > to) std::swap(from, to);
    const auto [found, is_new] = communicators_.try_emplace({from, to}, kNoIndex);
    if (!is_new) return found->second;
    const char* between = pipeline_.messages == MessageModel::kDir ? " to " : " and ";
    Group group;
    group.name = all ? "pipeline" : std::to_string(from) + between + std::to_string(to);
    group.place = pipeline_.place;
    group.lists.emplace_back();
    if (all) {
      for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) group.lists[0].push_back(rank);
    } else {
      group.lists[0] = {from, to};
    }
    group.index(graph_.ranks);
    CommunicatorTemplate made;
    made.name = group.name;
    made.place = pipeline_.place;
    made.group = static_cast<std::uint32_t>(graph_.groups.size());
    made.creation = graph_.creation;
    made.stream = stream("nccl " + group.name);
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

  std::uint32_t event(const std::string& name) {
    EventTemplate made;
    made.name = name;
    made.place = pipeline_.place;
    graph_.events.push_back(std::move(made));
    return static_cast<std::uint32_t>(graph_.events.size() - 1);
  }

  std::uint32_t add(Row& row, ActorTemplate actor) {
    const auto index = static_cast<std::uint32_t>(graph_.actors.size());
    ProgramStep step;
    step.place = actor.place;
    step.actor = index;
    row.steps.push_back(std::move(step));
    actor.thread = thread_;
    actor.on = RankSet({row.rank});
    graph_.actors.push_back(std::move(actor));
    return index;
  }

  Pipeline& pipeline_;
  TaskGraph& graph_;
  std::uint32_t thread_ = kNoIndex;
  std::uint32_t compute_ = kNoIndex;
  std::uint32_t computed_event_ = kNoIndex;
  std::map<std::string, std::uint32_t> events_;  // of receives
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> communicators_;
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
    case ActionKind::kOverlap: {
      if (overlap_ns) return *overlap_ns;
      std::int64_t sum = 0;
      for (const Action& part : action.parts) sum += takes(part);
      return sum;
    }
    default:
      return 0;
  }
}

bool add_pipeline(Pipeline pipeline, TaskGraph& graph, Diagnostics& diagnostics) {
  if (!Programs(pipeline, graph).run(diagnostics)) return false;
  graph.pipeline = std::move(pipeline);
  return true;
}

}  // namespace pipesim::models
