#include "tests/oracle/families.hpp"

#include <algorithm>
#include <vector>

namespace pipesim::oracle {
namespace {

using sim::ActorId;
using sim::RankId;
using sim::Role;
using sim::StreamId;
using sim::ThreadId;
using sim::ThreadOrder;

/// The sends and recvs in a step of a stage.
enum class Part {
  kReceiveForward,
  kSendForward,
  kReceiveBackward,
  kSendBackward,
  kForwardOutBackwardIn,  // PAIRED
  kBackwardOutForwardIn,
};

constexpr std::size_t kParts = 6;

/// Returns the parts of a step of stage `s`, in order.
std::vector<Part> parts_of(const OneFOneB& what, std::uint32_t s) {
  std::vector<Part> parts;
  const bool first = s == 0;
  const bool last = s + 1 == what.stages;
  const auto add = [&](bool is_there, Part part) {
    if (is_there) parts.push_back(part);
  };
  const auto forward = [&] {
    add(!first, Part::kReceiveForward);
    add(!last, Part::kSendForward);
  };
  const auto backward = [&] {
    add(!last, Part::kReceiveBackward);
    add(!first, Part::kSendBackward);
  };
  const std::uint32_t warm_up =
      what.greedy && first ? what.micro_batches : std::min(what.stages - 1 - s, what.micro_batches);
  std::uint32_t forwards = 0;
  std::uint32_t backwards = 0;
  for (; forwards < warm_up; ++forwards) forward();
  if (what.paired) {
    if (forwards < what.micro_batches) add(!first, Part::kReceiveForward);
    while (forwards < what.micro_batches) {
      ++forwards;
      add(!last, Part::kForwardOutBackwardIn);
      const bool more = forwards < what.micro_batches;
      add(!first, more ? Part::kBackwardOutForwardIn : Part::kSendBackward);
      ++backwards;
    }
  }
  for (; backwards < what.micro_batches; ++backwards) {
    if (forwards < what.micro_batches) {
      forward();
      ++forwards;
    }
    backward();
  }
  return parts;
}

std::uint32_t times(const std::vector<Part>& parts, Part part) {
  return static_cast<std::uint32_t>(std::count(parts.begin(), parts.end(), part));
}

/// The ops of one stage, on the thread of its rank.
class Stage {
 public:
  Stage(sim::PlanBuilder& builder, const OneFOneB& what, std::uint32_t s)
      : builder_(builder), parts_(parts_of(what, s)), rank_{s} {
    thread_ = builder.add_thread(rank_, ThreadOrder::kProgram);
    stream_ = builder.add_stream(rank_, 1024);
    actors_.resize(kParts);
  }

  void add_op(Part part) {
    if (times(parts_, part) == 0) return;
    sim::ActorSpec spec;
    spec.thread = thread_;
    spec.stream = stream_;
    spec.ops = times(parts_, part);
    actor(part) = builder_.add_actor(spec);
  }

  void add_calls(Part part, const std::vector<sim::CallSpec>& calls) {
    if (times(parts_, part) == 0) return;
    sim::StepSpec spec;
    spec.role = Role::kCalls;
    spec.thread = thread_;
    spec.stream = stream_;
    spec.ops = times(parts_, part);
    spec.blocking = true;
    actor(part) = builder_.add_step(spec);
    for (const sim::CallSpec& call : calls) builder_.add_call(call);
  }

  void set_program() {
    std::vector<ActorId> ops;
    for (const Part part : parts_) ops.push_back(actor(part));
    builder_.set_program(thread_, ops);
  }

  ActorId& actor(Part part) { return actors_.at(static_cast<std::size_t>(part)); }

 private:
  sim::PlanBuilder& builder_;
  std::vector<Part> parts_;
  RankId rank_;
  ThreadId thread_;
  StreamId stream_;
  std::vector<ActorId> actors_;
};

void add_channel(sim::PlanBuilder& builder, std::uint32_t capacity, ActorId from, ActorId to) {
  sim::RegisterSpec spec;
  spec.slots = capacity;
  builder.add_consumer(builder.add_register(from, spec), to, 1);
}

void add_registers(sim::PlanBuilder& builder, std::vector<Stage>& stages, std::uint32_t capacity) {
  for (Stage& stage : stages) {
    for (const Part part :
         {Part::kReceiveForward, Part::kSendForward, Part::kReceiveBackward, Part::kSendBackward}) {
      stage.add_op(part);
    }
  }
  for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
    Stage& next = stages[s + 1];
    add_channel(builder, capacity, stages[s].actor(Part::kSendForward),
                next.actor(Part::kReceiveForward));
    add_channel(builder, capacity, next.actor(Part::kSendBackward),
                stages[s].actor(Part::kReceiveBackward));
  }
}

void add_rendezvous(sim::PlanBuilder& builder, std::vector<Stage>& stages) {
  std::vector<RankId> ranks;
  for (std::uint32_t s = 0; s < stages.size(); ++s) ranks.push_back(RankId{s});
  sim::CallSpec call;
  call.communicator = builder.add_communicator(ranks, false, false);
  const auto with = [&](sim::CallKind kind, std::uint32_t peer) {
    call.kind = kind;
    // The first and the last stage lack a peer, but parts with this peer are never added.
    call.peer = RankId{std::min(peer, static_cast<std::uint32_t>(stages.size() - 1))};
    return call;
  };
  for (std::uint32_t s = 0; s < stages.size(); ++s) {
    const std::uint32_t before = s == 0 ? 0 : s - 1;
    const sim::CallSpec receive_forward = with(sim::CallKind::kReceive, before);
    const sim::CallSpec send_forward = with(sim::CallKind::kSend, s + 1);
    const sim::CallSpec receive_backward = with(sim::CallKind::kReceive, s + 1);
    const sim::CallSpec send_backward = with(sim::CallKind::kSend, before);
    stages[s].add_calls(Part::kReceiveForward, {receive_forward});
    stages[s].add_calls(Part::kSendForward, {send_forward});
    stages[s].add_calls(Part::kReceiveBackward, {receive_backward});
    stages[s].add_calls(Part::kSendBackward, {send_backward});
    stages[s].add_calls(Part::kForwardOutBackwardIn, {send_forward, receive_backward});
    stages[s].add_calls(Part::kBackwardOutForwardIn, {send_backward, receive_forward});
  }
}

}  // namespace

sim::Plan one_f_one_b(const OneFOneB& what) {
  sim::PlanBuilder builder(what.stages);
  std::vector<Stage> stages;
  for (std::uint32_t s = 0; s < what.stages; ++s) stages.emplace_back(builder, what, s);
  if (what.capacity > 0) {
    add_registers(builder, stages, what.capacity);
  } else {
    add_rendezvous(builder, stages);
  }
  for (Stage& stage : stages) stage.set_program();
  return builder.build();
}

namespace {

void add_table(sim::PlanBuilder& builder, RankId rank, std::uint32_t count, std::uint32_t rounds,
               bool ordered) {
  std::vector<sim::LockId> forks;
  for (std::uint32_t i = 0; i < count; ++i) forks.push_back(builder.add_lock(rank));
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool turned = ordered && i + 1 == count;
    const sim::LockId first = forks[turned ? 0 : i];
    const sim::LockId second = forks[turned ? i : (i + 1) % count];
    const ThreadId thread = builder.add_thread(rank, ThreadOrder::kProgram);
    const auto step = [&](Role role, sim::LockId lock) {
      sim::StepSpec spec;
      spec.role = role;
      spec.thread = thread;
      spec.ops = rounds;
      spec.lock = lock;
      return builder.add_step(spec);
    };
    const std::vector<ActorId> round = {step(Role::kLock, first), step(Role::kLock, second),
                                        step(Role::kUnlock, second), step(Role::kUnlock, first)};
    std::vector<ActorId> ops;
    for (std::uint32_t r = 0; r < rounds; ++r) ops.insert(ops.end(), round.begin(), round.end());
    builder.set_program(thread, ops);
  }
}

}  // namespace

sim::Plan philosophers(std::uint32_t count, std::uint32_t rounds, bool ordered,
                       std::uint32_t tables) {
  sim::PlanBuilder builder(tables);
  for (std::uint32_t table = 0; table < tables; ++table) {
    add_table(builder, RankId{table}, count, rounds, ordered);
  }
  return builder.build();
}

sim::Plan collectives(std::uint32_t ranks, std::uint32_t count, bool ordered) {
  sim::PlanBuilder builder(ranks);
  std::vector<RankId> everybody;
  for (std::uint32_t r = 0; r < ranks; ++r) everybody.push_back(RankId{r});
  std::vector<std::vector<sim::Member>> members(count);
  for (const RankId rank : everybody) {
    const ThreadId thread =
        builder.add_thread(rank, ordered ? ThreadOrder::kProgram : ThreadOrder::kArrival);
    sim::ActorSpec spec;
    spec.thread = thread;
    spec.stream = builder.add_stream(rank, 1024);
    std::vector<ActorId> ops;
    for (std::uint32_t c = 0; c < count; ++c) {
      ops.push_back(builder.add_actor(spec));
      members[c].push_back({rank, ops.back()});
    }
    if (ordered) builder.set_program(thread, ops);
    // Adds an input for each collective; the input arrives at any time.
    for (std::uint32_t c = 0; c < count && !ordered; ++c) {
      sim::ActorSpec input;
      input.thread = builder.add_thread(rank, ThreadOrder::kArrival);
      input.stream = builder.add_stream(rank, 1024);
      builder.add_consumer(builder.add_register(builder.add_actor(input), {}), ops[c], 1);
    }
  }
  const sim::CommunicatorId all = builder.add_communicator(everybody, false, false);
  for (const std::vector<sim::Member>& of_one : members) builder.add_collective(all, of_one);
  return builder.build();
}

}  // namespace pipesim::oracle
