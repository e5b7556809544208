// Makes two kinds of plans: small plans of tests/twin, without features that the SPIN model lacks
// (tests/oracle); and plans made by this file, in which several ops become ready in any order on
// shared threads and streams. The number of states multiplies with each rank, so plans of many
// ranks must have few ops.
#include "tests/orders/small_spec.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/twin/random.hpp"
#include "tests/twin/random_spec.hpp"

namespace pipesim::twin {
namespace {

// Limits of a small plan: those of the generic SPIN model (tests/oracle/plan.pml), or lower.
constexpr int kMaxHosts = 8;  // also the limit of communicators and collectives
constexpr int kMaxCalls = 20;
constexpr int kMaxActors = 24;

int max_ops(int ranks) { return ranks == 2 ? 22 : ranks == 3 ? 18 : 15; }

int ops_of(const Spec& spec) {
  int ops = 0;
  for (const Actor& actor : spec.actors) ops += actor.ops;
  return ops;
}

int calls_of(const Spec& spec) {
  int calls = 0;
  for (const Actor& actor : spec.actors) calls += count_of(actor.calls);
  return calls;
}

bool is_small(const Spec& spec) {
  return spec.ranks >= 2 && ops_of(spec) > 0 && ops_of(spec) <= max_ops(spec.ranks) &&
         count_of(spec.threads) <= kMaxHosts && count_of(spec.streams) <= kMaxHosts &&
         count_of(spec.actors) <= kMaxActors && calls_of(spec) <= kMaxCalls &&
         count_of(spec.collectives) <= kMaxHosts && count_of(spec.communicators) <= kMaxHosts &&
         count_of(spec.edges) <= kMaxActors && count_of(spec.registers) <= kMaxActors;
}

/// Puts the streams of each rank on a device that cannot run all of them at once.
void add_devices(Spec& spec, Random& random) {
  Device kind;
  kind.hardware_queues = random.pick<int>({0, 1, 1, 2});
  kind.resident = random.pick<int>({0, 1, 1, 2});
  kind.order = random.pick<Order>({Order::kNone, Order::kNone, Order::kImplicit, Order::kImplicit,
                                   Order::kSerial, Order::kSerialCollectives});
  kind.holds_queues = random.chance(30);
  kind.launch_queue = random.pick<int>({0, 0, 0, 1, 2});
  for (int rank = 0; rank < spec.ranks; ++rank) {
    if (random.chance(20)) continue;
    kind.rank = rank;
    int index = 0;
    for (Stream& stream : spec.streams) {
      if (stream.rank != rank) continue;
      stream.device = count_of(spec.devices);
      stream.hardware_queue = kind.hardware_queues > 0 ? index++ % kind.hardware_queues : 0;
    }
    spec.devices.push_back(kind);
  }
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed ^ 0x0dde75) {}

  /// Makes collectives whose members become ready in any order, mostly on threads of order arrival.
  Spec make_collectives() {
    spec_.ranks = random_.pick<int>({2, 2, 2, 3, 3, 4});
    add_hosts(random_.chance(85) ? 0 : 30);
    const int collectives = random_.pick<int>({2, 2, 2, 3});
    for (int i = 0; i < collectives; ++i) add_collective();
    if (random_.chance(20)) add_chain(random_.below(spec_.ranks));
    write_programs();
    return spec_;
  }

  /// Makes actors on one or two ranks; the actors share threads, streams and credits.
  Spec make_chains() {
    spec_.ranks = 2;
    add_hosts(random_.pick<int>({0, 0, 30}));
    for (int i = random_.between(1, 3); i > 0; --i) add_chain(random_.below(2));
    if (random_.chance(50)) add_collective();
    write_programs();
    return spec_;
  }

  /// Makes threads of order program that take locks, and send and receive while they hold them.
  Spec make_locks() {
    spec_.ranks = random_.pick<int>({2, 2, 3});
    std::vector<int> everybody;
    for (int rank = 0; rank < spec_.ranks; ++rank) everybody.push_back(rank);
    for (int i = 0; i < 2; ++i) {
      spec_.communicators.push_back({everybody, random_.chance(20), false});
    }
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      const int threads = random_.pick<int>({1, 2, 2, 3});
      for (int i = 0; i < threads; ++i) spec_.threads.push_back({rank, true, {}});
      spec_.streams.push_back({rank, random_.chance(20) ? 1 : 1024});
      spec_.streams.push_back({rank, 1024});
      for (int i = 0; i < 2; ++i) spec_.locks.push_back({rank});
    }
    spec_.signals.push_back({false});
    for (int t = 0; t < count_of(spec_.threads); ++t) {
      if (random_.chance(60)) add_locked(t);
    }
    for (int i = random_.below(3); i > 0; --i) add_message();
    for (int communicator = 0; communicator < 2; ++communicator) {
      if (random_.chance(50)) add_meeting(communicator);
    }
    if (random_.chance(30)) add_set();
    return spec_;
  }

  /// Makes sends, mostly to one rank, which receives most of them from any rank.
  Spec make_any_source() {
    spec_.ranks = random_.pick<int>({3, 3, 4});
    std::vector<int> everybody;
    for (int rank = 0; rank < spec_.ranks; ++rank) everybody.push_back(rank);
    for (int i = 0; i < 2; ++i) spec_.communicators.push_back({everybody, false, false});
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      for (int i = random_.chance(25) ? 2 : 1; i > 0; --i)
        spec_.threads.push_back({rank, true, {}});
      for (int i = 0; i < 2; ++i) spec_.streams.push_back({rank, 1024});
    }
    spec_.signals.push_back({false});
    for (int i = random_.between(2, 5); i > 0; --i) add_message_to_any();
    if (random_.chance(30)) add_meeting(random_.below(2));
    if (random_.chance(30)) add_set();
    return spec_;
  }

  /// Makes groups of sends, recvs and collectives, in which a call can wait for another call that
  /// is queued behind it, in its group or on its device.
  Spec make_groups() {
    spec_.ranks = random_.pick<int>({2, 2, 2, 3});
    std::vector<int> everybody;
    for (int rank = 0; rank < spec_.ranks; ++rank) everybody.push_back(rank);
    for (int i = 0; i < 2; ++i) spec_.communicators.push_back({everybody, false, false});
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      for (int i = random_.chance(20) ? 2 : 1; i > 0; --i) {
        spec_.threads.push_back({rank, true, {}});
      }
      for (int i = 0; i < 2; ++i) spec_.streams.push_back({rank, 1024});
    }
    for (int i = random_.between(2, 4); i > 0; --i) {
      if (random_.chance(75)) {
        add_exchange();
      } else {
        for (int rank = 0; rank < spec_.ranks; ++rank) add_group(rank, {call_on(i % 2)});
      }
    }
    return spec_;
  }

 private:
  template <typename T>
  static std::vector<int> of_rank(const std::vector<T>& items, int rank) {
    std::vector<int> found;
    for (int i = 0; i < count_of(items); ++i) {
      if (at(items, i).rank == rank) found.push_back(i);
    }
    return found;
  }

  Actor& actor(int a) { return spec_.actors.at(static_cast<std::size_t>(a)); }

  void add_hosts(int program_percent) {
    const bool short_queues = random_.chance(30);
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      const int threads = random_.pick<int>({1, 2, 2});
      const int streams = random_.pick<int>({1, 2, 2});
      for (int i = 0; i < threads; ++i) {
        spec_.threads.push_back({rank, random_.chance(program_percent), {}});
      }
      for (int i = 0; i < streams; ++i) {
        const int limit = short_queues && random_.chance(50) ? random_.between(1, 2) : 1024;
        spec_.streams.push_back({rank, limit});
      }
    }
    gated_percent_ = random_.pick<int>({0, 30, 80});
    blocking_percent_ = random_.pick<int>({0, 0, 25});
    first_use_percent_ = random_.pick<int>({0, 30, 80});
  }

  int add_actor(int rank, int ops) {
    Actor made;
    const std::vector<int> threads = of_rank(spec_.threads, rank);
    const std::vector<int> streams = of_rank(spec_.streams, rank);
    made.thread = random_.chance(60) ? threads.front() : random_.pick(threads);
    made.stream = random_.pick(streams);
    made.ops = ops;
    made.takes = random_.below(30);
    made.immediate = !random_.chance(gated_percent_);
    made.blocking = random_.chance(blocking_percent_);
    if (random_.chance(3)) {
      made.outside = {true, random_.chance(50) ? ops : random_.below(ops + 1), 0, 10};
    }
    spec_.actors.push_back(made);
    return count_of(spec_.actors) - 1;
  }

  int add_register(int producer, int slots, int ops_per_slot) {
    Register output;
    output.producer = producer;
    output.slots = slots;
    output.ops_per_slot = ops_per_slot;
    spec_.registers.push_back(output);
    return count_of(spec_.registers) - 1;
  }

  /// Adds a producer for the actor. The producer has the same number of ops; or twice that number,
  /// and two ops fill a slot; or half of it, and the consumer uses each slot twice.
  void feed(int consumer) {
    const int ops = at(spec_.actors, consumer).ops;
    const int rank = at(spec_.threads, at(spec_.actors, consumer).thread).rank;
    const int slots = random_.pick<int>({1, 1, 2});
    const int sort = random_.below(10);
    if (sort < 2) {
      const int producer = add_actor(rank, 2 * ops);
      spec_.edges.push_back({add_register(producer, slots, 2), consumer, 1});
    } else if (sort < 4 && ops % 2 == 0) {
      const int producer = add_actor(rank, ops / 2);
      spec_.edges.push_back({add_register(producer, slots, 1), consumer, 2});
    } else {
      const int producer = add_actor(rank, ops);
      const int reg = add_register(producer, slots, 1);
      spec_.edges.push_back({reg, consumer, 1});
      if (random_.chance(15)) add_sink(reg, ops);
    }
  }

  /// Adds another consumer of a register with one slot per op.
  void add_sink(int reg, int ops) {
    const int producer = at(spec_.registers, reg).producer;
    const int rank = at(spec_.threads, at(spec_.actors, producer).thread).rank;
    spec_.edges.push_back({reg, add_actor(rank, ops), 1});
  }

  std::vector<int> some_ranks() {
    std::vector<int> ranks;
    for (int rank = 0; rank < spec_.ranks; ++rank) ranks.push_back(rank);
    random_.shuffle(ranks);
    if (random_.chance(40)) ranks.resize(2);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  void add_collective() {
    int communicator = count_of(spec_.communicators);
    if (communicator > 0 && random_.chance(40)) {
      communicator = random_.below(communicator);
    } else {
      const bool at_first_use = random_.chance(first_use_percent_);
      const bool waits = at_first_use && random_.chance(30);
      spec_.communicators.push_back({some_ranks(), at_first_use, waits});
    }
    const int number = count_of(spec_.collectives);
    const int ops = random_.pick<int>({1, 1, 2});
    spec_.collectives.push_back({communicator, {}});
    const std::vector<int> ranks = at(spec_.communicators, communicator).ranks;
    for (int rank : ranks) {
      int member = -1;
      if (!random_.chance(2)) {
        member = add_actor(rank, ops);
        actor(member).collective = number;
        if (random_.chance(80)) feed(member);
        if (random_.chance(10)) add_sink(add_register(member, 1, 1), ops);
      }
      spec_.collectives.back().members.push_back({rank, member});
    }
  }

  /// Adds a chain of actors; the output of an actor can reuse the slot of its input.
  void add_chain(int rank) {
    int ops = random_.between(1, 3);
    int last = add_actor(rank, ops);
    for (int i = random_.between(1, 2); i > 0; --i) {
      const bool accumulates = ops % 2 == 0 && random_.chance(30);
      const bool repeats = ops < 3 && random_.chance(20);
      const int reg = add_register(last, random_.pick<int>({1, 1, 2}), accumulates ? 2 : 1);
      if (random_.chance(25)) {
        spec_.registers.back().slots = 2;
        spec_.registers.back().drain_every = accumulates ? 4 : random_.pick<int>({1, 2});
      }
      ops = accumulates ? ops / 2 : repeats ? ops * 2 : ops;
      const int next = add_actor(random_.chance(70) ? rank : random_.below(spec_.ranks), ops);
      spec_.edges.push_back({reg, next, repeats && !accumulates ? 2 : 1});
      if (accumulates || repeats || !random_.chance(20)) {
        last = next;
        continue;
      }
      const int kept = add_register(next, 1, 1);
      spec_.registers.back().in_place = 0;
      add_sink(kept, ops);
      last = next;
    }
  }

  void write_programs() {
    for (int t = 0; t < count_of(spec_.threads); ++t) {
      Thread& thread = spec_.threads.at(static_cast<std::size_t>(t));
      if (!thread.program) continue;
      for (int a = 0; a < count_of(spec_.actors); ++a) {
        const bool own = at(spec_.actors, a).thread == t;
        for (int k = 0; own && k < at(spec_.actors, a).ops; ++k) thread.list.push_back(a);
      }
      random_.shuffle(thread.list);
    }
  }

  // Host programs ---------------------------------------------------------------------------------

  Actor& add_step(Role role, int thread, int stream = -1) {
    Actor step;
    step.role = role;
    step.thread = thread;
    step.stream = stream;
    step.blocking = stream >= 0 && random_.chance(40);
    step.takes = stream >= 0 ? random_.below(30) : 0;
    spec_.threads.at(static_cast<std::size_t>(thread)).list.push_back(count_of(spec_.actors));
    spec_.actors.push_back(step);
    return spec_.actors.back();
  }

  /// Adds steps in which a thread takes one or both locks of its rank, in any order, perhaps waits
  /// for the streams, and releases the locks. Rarely, a release is missing.
  void add_locked(int thread) {
    std::vector<int> locks = of_rank(spec_.locks, at(spec_.threads, thread).rank);
    random_.shuffle(locks);
    if (random_.chance(30)) locks.pop_back();
    for (int lock : locks) add_step(Role::kLock, thread).lock = lock;
    if (random_.chance(30)) {
      add_step(Role::kSynchronize, thread).synchronized =
          of_rank(spec_.streams, at(spec_.threads, thread).rank);
    }
    for (int lock : locks) {
      if (!random_.chance(4)) add_step(Role::kUnlock, thread).lock = lock;
    }
  }

  /// Adds a call to a random thread of the rank. Each communicator has its own stream.
  void add_call(int communicator, int rank, CallKind kind, int peer, bool buffered) {
    Call call;
    call.communicator = communicator;
    call.kind = kind;
    call.peer = peer;
    call.buffered = buffered;
    const int thread = random_.pick(of_rank(spec_.threads, rank));
    const int stream = at(of_rank(spec_.streams, rank), communicator);
    Actor& step = add_step(Role::kCalls, thread, stream);
    step.calls = {call};
    // Swaps the call with a random step of the thread, perhaps into the range of a lock.
    std::vector<int>& list = spec_.threads.at(static_cast<std::size_t>(thread)).list;
    if (count_of(list) > 1 && random_.chance(60)) {
      std::swap(list.back(), list.at(static_cast<std::size_t>(random_.below(count_of(list)))));
    }
  }

  void add_message() {
    const int from = random_.below(spec_.ranks);
    const int to = (from + random_.between(1, spec_.ranks - 1)) % spec_.ranks;
    const int communicator = random_.below(2);
    add_call(communicator, from, CallKind::kSend, to, random_.chance(40));
    add_call(communicator, to, CallKind::kReceive, from, false);
  }

  void add_message_to_any() {
    const int to = random_.chance(75) ? 0 : random_.below(spec_.ranks);
    const int from = (to + random_.between(1, spec_.ranks - 1)) % spec_.ranks;
    const int communicator = random_.chance(75) ? 0 : 1;
    const bool sends = !random_.chance(8);
    if (sends) add_call(communicator, from, CallKind::kSend, to, random_.chance(30));
    if (sends && random_.chance(5)) return;
    add_call(communicator, to, CallKind::kReceive, random_.chance(65) ? -1 : from, false);
    spec_.actors.back().calls.front().takes = random_.below(20);
  }

  void add_meeting(int communicator) {
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      add_call(communicator, rank, CallKind::kCollective, -1, false);
    }
  }

  static Call call_on(int communicator) {
    Call call;
    call.communicator = communicator;
    return call;
  }

  void add_group(int rank, const std::vector<Call>& calls) {
    const int thread = random_.pick(of_rank(spec_.threads, rank));
    const int stream = at(of_rank(spec_.streams, rank), calls.front().communicator);
    Actor& step = add_step(Role::kCalls, thread, stream);
    step.calls = calls;
    step.blocking = random_.chance(15);
  }

  /// Adds one to three sends and their recvs between two ranks, perhaps with a collective. Each
  /// rank mostly makes all its calls in one group.
  void add_exchange() {
    const int from = random_.below(spec_.ranks);
    const int to = (from + random_.between(1, spec_.ranks - 1)) % spec_.ranks;
    const int communicator = random_.below(2);
    std::vector<Call> of_from;
    std::vector<Call> of_to;
    for (int i = random_.between(1, 3); i > 0; --i) {
      const bool back = random_.chance(40);
      Call send = call_on(communicator);
      send.kind = CallKind::kSend;
      send.peer = back ? from : to;
      send.buffered = random_.chance(10);
      if (!send.buffered && random_.chance(50)) send.steps = random_.pick<int>({1, 2, 3, 4, 5, 8});
      Call receive = call_on(communicator);
      receive.kind = CallKind::kReceive;
      receive.peer = back ? to : from;
      (back ? of_to : of_from).push_back(send);
      (back ? of_from : of_to).push_back(receive);
    }
    if (spec_.ranks == 2 && random_.chance(25)) {
      for (std::vector<Call>* calls : {&of_from, &of_to}) calls->push_back(call_on(communicator));
    }
    for (auto& [rank, calls] : {std::pair(from, of_from), std::pair(to, of_to)}) {
      std::vector<Call> its = calls;
      if (random_.chance(40)) random_.shuffle(its);
      if (random_.chance(70)) {
        add_group(rank, its);
      } else {
        for (const Call& call : its) add_group(rank, {call});
      }
    }
  }

  void add_set() {
    add_step(Role::kSet, random_.below(count_of(spec_.threads))).signal = 0;
    Actor& await = add_step(Role::kAwait, random_.below(count_of(spec_.threads)));
    await.signal = 0;
    await.times = 1;
  }

  Random random_;
  Spec spec_;
  int gated_percent_ = 0;
  int blocking_percent_ = 0;
  int first_use_percent_ = 0;
};

/// Returns the first small one of 20 random plans of tests/twin; the last plan if none is small.
Spec some_of_twin(std::uint64_t seed) {
  constexpr std::uint64_t kTries = 20;
  Spec spec;
  for (std::uint64_t i = 0; i < kTries && !is_small(spec); ++i) {
    spec = without_faults(random_spec(seed * kTries + i));
  }
  return spec;
}

Spec made(std::uint64_t seed) {
  Generator generator(seed);
  switch (seed % 6) {
    case 0:
      return some_of_twin(seed / 6);
    case 1:
      return generator.make_chains();
    case 2:
      return generator.make_locks();
    default:
      return generator.make_collectives();
  }
}

}  // namespace

Spec spec_with_any_source(std::uint64_t seed) { return Generator(seed).make_any_source(); }

std::optional<Spec> spec_with_groups(std::uint64_t seed) {
  Spec spec = Generator(seed ^ 0x6709).make_groups();
  Random random(seed ^ 0xde71ce);
  if (random.chance(60)) add_devices(spec, random);
  for (Device& device : spec.devices) device.launch_queue = 0;  // the SPIN model lacks it
  if (!is_small(spec)) return std::nullopt;
  return spec;
}

std::optional<Spec> small_spec(std::uint64_t seed) {
  Spec spec = made(seed);
  Random random(seed ^ 0xaf7e5);
  if (is_small(spec) && spec.devices.empty() && random.chance(25)) add_devices(spec, random);
  if (is_small(spec) && random.chance(25)) add_random_afters(spec, random);
  if (!is_small(spec)) return std::nullopt;
  return spec;
}

}  // namespace pipesim::twin
