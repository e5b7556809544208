#include "models/result/event_order.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "models/lowering/names.hpp"
#include "sim/stepper.hpp"

namespace pipesim::models {
namespace {

std::string op_text(const Names& names, const sim::Plan& plan, sim::ActorId id, std::uint32_t k) {
  const OpName op = names.op(id, k);
  return "rank " + std::to_string(plan.actors[id].rank.value) + ": " + op.name + "#" +
         std::to_string(op.number);
}

// An entry of describe_run(). At equal times, entries are in the order of `When`. kEnd: the end of
// a device op; kEndAtOnce: the end of a device op at the time of its launch.
struct Happening {
  enum class When : std::uint8_t { kEnd, kHost, kDeath, kEndAtOnce };

  sim::Time time;
  When when = When::kHost;
  std::string what;
};

class Happenings {
 public:
  Happenings(const TaskGraph& graph, const Simulation& run)
      : names_(graph, run.lowered), plan_(run.lowered.plan), times_(run.outcome.op_times) {}

  void add_op(sim::ActorId id, std::uint32_t k) {
    using When = Happening::When;
    const sim::OpTimes& times = times_.of(id, k);
    const bool on_host = sim::on_host(plan_.actors[id].role);
    const std::string name = op_text(names_, plan_, id, k);
    if (times.launch == sim::kNever) {
      if (times.enter != sim::kNever) add(times.enter, When::kHost, name + " is entered");
      return;
    }
    add(times.launch, When::kHost, name + (on_host ? " is done" : " is launched"));
    if (on_host || times.end == sim::kNever) return;
    add(times.end, times.end == times.launch ? When::kEndAtOnce : When::kEnd, name + " ends");
  }

  void add(sim::Time time, Happening::When when, std::string what) {
    found_.push_back({time, when, std::move(what)});
  }

  std::vector<std::string> in_order() {
    std::stable_sort(found_.begin(), found_.end(), [](const Happening& a, const Happening& b) {
      return std::pair(a.time, a.when) < std::pair(b.time, b.when);
    });
    std::vector<std::string> texts;
    for (Happening& each : found_) texts.push_back(std::move(each.what));
    return texts;
  }

 private:
  Names names_;
  const sim::Plan& plan_;
  const sim::OpTimesTable& times_;
  std::vector<Happening> found_;
};

class Teller {
 public:
  Teller(const TaskGraph& graph, const Lowered& lowered)
      : names_(graph, lowered),
        plan_(lowered.plan),
        stepper_(lowered.plan),
        actors_(lowered.plan.threads.size()) {
    for (const sim::ActorId id : sim::ids_of(plan_.actors)) {
      actors_[plan_.actors[id].thread].push_back(id);
    }
  }

  // Describes `event` in `what` and takes the step. Returns false if the event cannot happen.
  bool tell(const sim::Event& event, std::string& what) {
    const auto& pending = stepper_.pending();
    const auto found = std::find(pending.begin(), pending.end(), event);
    if (found == pending.end()) return false;
    const auto index = static_cast<std::size_t>(found - pending.begin());
    if (event.kind != sim::EventKind::kThreadWakes) {
      what = end_text(event);
      stepper_.step(index);
      return true;
    }
    const sim::ThreadId id{event.target};
    const std::vector<std::uint32_t> before = launches(id);
    stepper_.step(index);
    what = thread_text(id, before);
    return true;
  }

 private:
  std::string op_text(sim::ActorId id, std::uint32_t k) const {
    return models::op_text(names_, plan_, id, k);
  }

  std::string done_text(sim::ActorId id) const {
    return op_text(id, stepper_.state().actors[id].done);
  }

  std::string call_text(sim::CallId id) const {
    const sim::ActorId actor = plan_.calls[id].actor;
    return done_text(actor) + ", call " + std::to_string(id.value - plan_.actors[actor].calls + 1) +
           " of it";
  }

  std::string end_text(const sim::Event& event) const {
    const sim::State& state = stepper_.state();
    switch (event.kind) {
      case sim::EventKind::kOpEnds: {
        const sim::StreamId stream{event.target};
        return done_text(state.streams[stream].items.front().actor()) + " ends";
      }
      case sim::EventKind::kCollectiveEnds: {
        const sim::Collective& collective = plan_.collectives[sim::CollectiveId{event.target}];
        return done_text(plan_.members[collective.members].actor) +
               " ends, on all ranks of the collective";
      }
      case sim::EventKind::kRoundEnds: {
        const sim::Communicator& of = plan_.communicators[sim::CommunicatorId{event.target}];
        return call_text(state.in_round[of.ranks]) + " ends, on all ranks";
      }
      case sim::EventKind::kPairEnds:
        return call_text(state.channels[sim::ChannelId{event.target}].sender) +
               " ends, with its receive";
      case sim::EventKind::kCallEnds:
        return call_text(sim::CallId{event.target}) + " ends";
      case sim::EventKind::kOpStarts: {
        const sim::StreamId stream{event.target};
        return done_text(state.streams[stream].items.front().actor()) + " starts";
      }
      case sim::EventKind::kSourceTaken: {
        const sim::ChannelId source{event.target};
        const sim::ChannelState& channel = state.channels[source];
        const sim::CallId sender =
            channel.messages.empty() ? channel.sender : channel.messages.front().call;
        return call_text(state.channels[plan_.channels[source].any].receiver) +
               " takes the message of " + call_text(sender);
      }
      case sim::EventKind::kThreadWakes:
        break;
    }
    return {};
  }

  std::vector<std::uint32_t> launches(sim::ThreadId id) const {
    std::vector<std::uint32_t> counts;
    for (const sim::ActorId actor : actors_[id]) {
      counts.push_back(stepper_.state().actors[actor].launched);
    }
    return counts;
  }

  std::string thread_text(sim::ThreadId id, const std::vector<std::uint32_t>& before) const {
    const sim::ThreadState& state = stepper_.state().threads[id];
    for (std::size_t i = 0; i < before.size(); ++i) {
      const sim::ActorId actor = actors_[id][i];
      if (stepper_.state().actors[actor].launched == before[i]) continue;
      const bool on_host = sim::on_host(plan_.actors[actor].role);
      return op_text(actor, before[i]) + (on_host ? " is done" : " is launched");
    }
    if (state.mode == sim::ThreadMode::kBlocked) {
      const std::uint32_t k = stepper_.state().actors[state.at].launched;
      return op_text(state.at, k) + " is entered";
    }
    return "rank " + std::to_string(plan_.threads[id].rank.value) + ": thread " +
           names_.thread(id) + " reads a message";
  }

  Names names_;
  const sim::Plan& plan_;
  sim::Stepper stepper_;
  sim::IdVector<sim::ThreadId, std::vector<sim::ActorId>> actors_;  // by thread: its actors
};

}  // namespace

std::vector<std::string> describe_run(const TaskGraph& graph, const Simulation& run,
                                      std::size_t limit) {
  const sim::Plan& plan = run.lowered.plan;
  if (plan.op_count > limit) return {};
  Happenings happenings(graph, run);
  sim::IdVector<sim::ActorId, std::uint32_t> next(plan.actors.size(), 0);
  for (const sim::Thread& thread : plan.threads) {
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const sim::ActorId id = plan.op(thread, i);
      happenings.add_op(id, next[id]++);
    }
  }
  for (const sim::ActorId id : sim::ids_of(plan.actors)) {
    while (next[id] < plan.actors[id].ops) happenings.add_op(id, next[id]++);
  }
  for (const sim::RankDeath& death : run.outcome.deaths) {
    happenings.add(death.at, Happening::When::kDeath,
                   "rank " + std::to_string(death.rank.value) + ": dies");
  }
  return happenings.in_order();
}

std::vector<sim::Event> any_order(const sim::Plan& plan, std::size_t limit) {
  sim::Stepper stepper(plan);
  std::vector<sim::Event> order;
  while (!stepper.pending().empty()) {
    if (order.size() == limit) return {};
    order.push_back(stepper.pending().front());
    stepper.step(0);
  }
  return order;
}

std::vector<OrderStep> describe_order(const TaskGraph& graph, const Lowered& lowered,
                                      const std::vector<sim::Event>& order) {
  Teller teller(graph, lowered);
  std::vector<OrderStep> steps;
  for (const sim::Event& event : order) {
    std::string what;
    if (!teller.tell(event, what)) break;
    steps.push_back({event, std::move(what)});
  }
  return steps;
}

}  // namespace pipesim::models
