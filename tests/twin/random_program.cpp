// Makes programs from operations. An operation belongs to several threads: all ranks of a
// communicator call it, one rank sends and another receives, a stream records an event and another
// waits for it. Each operation appends its steps to the lists of its threads. The usual thread and
// stream of each rank's calls on a communicator are drawn once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/twin/random_spec.hpp"

namespace pipesim::twin {
namespace {

constexpr int kMaxSteps = 70;

class ProgramGenerator {
 public:
  ProgramGenerator(Spec& spec, Random& random) : spec_(spec), random_(random) {}

  void add() {
    draw_temper();
    add_hosts();
    add_devices();
    add_communicators();
    add_signals();
    const int operations = random_.chance(50) ? random_.between(2, 6) : random_.between(5, 14);
    for (int i = 0; i < operations; ++i) add_operation(0);
    if (random_.chance(perturb_percent_)) {
      for (int i = random_.between(1, 3); i > 0; --i) perturb();
    }
    const int rounds = random_.chance(30) ? random_.between(2, 3) : 1;
    for (int i = random_.below(3); i > 0; --i) add_register();
    if (random_.chance(12)) add_outside();
    write_lists(rounds);
    note_recorded();
    if (random_.chance(30)) need_slots();
  }

 private:
  /// Sets the kernel slots of ops and devices, so that ops need several slots at a time, or none.
  void need_slots() {
    for (Device& device : spec_.devices) {
      if (device.resident > 0) device.resident = random_.between(2, 4);
    }
    for (Actor& actor : spec_.actors) {
      if (actor.role != Role::kOp && actor.role != Role::kCalls) continue;
      if (at(spec_.streams, actor.stream).device < 0) continue;
      const int most = at(spec_.devices, at(spec_.streams, actor.stream).device).resident;
      if (most == 0) continue;
      actor.kernel_slots = std::min(most, random_.pick<int>({0, 1, 1, 2, 3, 4}));
      if (actor.kernel_slots > 1 && random_.chance(20)) actor.gang = actor.kernel_slots;
      if (actor.kernel_slots == 4 && random_.chance(30)) actor.gang = 2;
      actor.unordered = actor.role == Role::kCalls && random_.chance(15);
    }
  }

  // Hosts -----------------------------------------------------------------------------------------

  void draw_temper() {
    instant_percent_ = random_.pick<int>({0, 0, 30});
    overhead_percent_ = random_.pick<int>({0, 20, 60});
    blocking_percent_ = random_.pick<int>({0, 0, 10, 30});
    buffered_percent_ = random_.pick<int>({0, 0, 30, 70, 100});
    buffer_percent_ = random_.pick<int>({0, 50, 100});
    flow_percent_ = random_.pick<int>({0, 0, 0, 80});
    connect_percent_ = random_.pick<int>({0, 0, 60, 100});
    first_use_percent_ = random_.pick<int>({0, 40, 80});
    other_thread_percent_ = random_.pick<int>({0, 10, 50});
    other_stream_percent_ = random_.pick<int>({0, 0, 10, 40});
    perturb_percent_ = random_.pick<int>({0, 50, 90});
    favourite_ = random_.chance(25) ? random_.below(kOperations) : -1;
  }

  template <typename T>
  static T& change(std::vector<T>& items, int number) {
    return items.at(static_cast<std::size_t>(number));
  }

  void add_hosts() {
    while (spec_.ranks < 2) ++spec_.ranks;
    if (spec_.actors.empty()) spec_.ranks = random_.between(2, 4);
    const bool short_queues = random_.chance(30);
    threads_.resize(static_cast<std::size_t>(spec_.ranks));
    streams_.resize(static_cast<std::size_t>(spec_.ranks));
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      for (int i = random_.pick<int>({1, 1, 2, 2, 2, 3, 4}); i > 0; --i) {
        change(threads_, rank).push_back(count_of(spec_.threads));
        spec_.threads.push_back({rank, true, {}});
      }
      for (int i = random_.pick<int>({1, 2, 2, 3, 3, 4}); i > 0; --i) {
        const int limit = short_queues && random_.chance(60) ? random_.between(1, 3) : 1024;
        Stream stream;
        stream.rank = rank;
        stream.launch_queue = limit;
        spec_.streams.push_back(stream);
      }
      for (int s = 0; s < count_of(spec_.streams); ++s) {
        if (at(spec_.streams, s).rank == rank) change(streams_, rank).push_back(s);
      }
      if (random_.chance(75)) spec_.locks.push_back({rank});
    }
    lists_.resize(spec_.threads.size());
    lock_is_held_.resize(spec_.locks.size());
  }

  void add_devices() {
    if (random_.chance(25)) return;
    Device kind;
    kind.hardware_queues = random_.pick<int>({0, 0, 1, 1, 2});
    kind.resident = random_.pick<int>({0, 0, 1, 2});
    kind.order = random_.pick<Order>({Order::kNone, Order::kNone, Order::kNone, Order::kNone,
                                      Order::kImplicit, Order::kImplicit, Order::kSerial,
                                      Order::kSerialCollectives});
    kind.holds_queues = random_.chance(30);
    kind.launch_queue = random_.pick<int>({0, 0, 0, 1, 2, 3});
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      if (random_.chance(10)) continue;
      kind.rank = rank;
      const int number = count_of(spec_.devices);
      spec_.devices.push_back(kind);
      int index = 0;
      for (int s : at(streams_, rank)) {
        if (random_.chance(10)) continue;
        Stream& stream = change(spec_.streams, s);
        stream.device = number;
        if (kind.hardware_queues > 0) stream.hardware_queue = index++ % kind.hardware_queues;
      }
    }
  }

  void add_communicators() {
    first_communicator_ = count_of(spec_.communicators);
    const int old = first_communicator_;
    if (old > 0 && random_.chance(40)) first_communicator_ = random_.below(old);
    for (int i = random_.between(1, 3); i > 0; --i) {
      std::vector<int> ranks;
      for (int rank = 0; rank < spec_.ranks; ++rank) ranks.push_back(rank);
      random_.shuffle(ranks);
      const int least = random_.chance(8) ? 1 : 2;
      ranks.resize(static_cast<std::size_t>(
          random_.chance(50) ? spec_.ranks : random_.between(least, spec_.ranks)));
      std::sort(ranks.begin(), ranks.end());
      const bool at_first_use = random_.chance(first_use_percent_);
      spec_.communicators.push_back({ranks, at_first_use, at_first_use && random_.chance(40)});
      spec_.communicators.back().connects = random_.chance(connect_percent_);
      spec_.communicators.back().on_host = random_.chance(30);
      spec_.communicators.back().in_calls = flow_percent_ == 0 && random_.chance(20);
    }
    for (int c = first_communicator_; c < count_of(spec_.communicators); ++c) {
      for (int rank : at(spec_.communicators, c).ranks) {
        places_[{c, rank}] = {random_.pick(at(threads_, rank)), random_.pick(at(streams_, rank))};
      }
    }
  }

  void add_signals() {
    for (int i = random_.between(1, 4); i > 0; --i) {
      const bool recorded = random_.chance(60);
      const int rank = random_.below(spec_.ranks);
      spec_.signals.push_back({recorded});
      signal_streams_.push_back(random_.pick(at(streams_, rank)));
    }
    sets_.resize(spec_.signals.size());
  }

  // Steps -----------------------------------------------------------------------------------------

  int rank_of_thread(int t) const { return at(spec_.threads, t).rank; }

  int thread_of(int rank) { return random_.pick(at(threads_, rank)); }

  std::int64_t some_time() {
    if (random_.chance(instant_percent_)) return 0;
    return random_.pick<std::int64_t>({10, 10, 10, 5, 20, 7, 0});
  }

  /// Appends a step to the list of its thread. The reference is valid until the next step.
  Actor& add_step(Role role, int thread, int stream = -1) {
    Actor actor;
    actor.role = role;
    actor.kind = role == Role::kOp ? "kernel" : text(role);
    actor.thread = thread;
    actor.stream = stream;
    if (random_.chance(overhead_percent_)) actor.launch_overhead = random_.pick<int>({3, 5, 10});
    actor.blocking = stream >= 0 && random_.chance(blocking_percent_);
    change(lists_, thread).push_back(count_of(spec_.actors));
    spec_.actors.push_back(actor);
    return spec_.actors.back();
  }

  void add_kernel(int rank) {
    const std::int64_t takes = some_time();
    const int thread = thread_of(rank);
    add_step(Role::kOp, thread, random_.pick(at(streams_, rank))).takes = takes;
  }

  /// Adds calls, mostly on the usual thread and stream of the rank's calls on the communicator.
  void add_calls(int rank, const std::vector<Call>& calls) {
    auto [thread, stream] = places_.at({calls.front().communicator, rank});
    if (random_.chance(other_thread_percent_)) thread = thread_of(rank);
    if (random_.chance(other_stream_percent_)) stream = random_.pick(at(streams_, rank));
    add_step(Role::kCalls, thread, stream).calls = calls;
  }

  Signature some_signature() {
    return {random_.below(3), random_.below(2), std::int64_t{64} * random_.between(1, 3),
            random_.below(2)};
  }

  int some_communicator() {
    return random_.between(first_communicator_, count_of(spec_.communicators) - 1);
  }

  // Operations ------------------------------------------------------------------------------------

  static constexpr int kOperations = 15;

  /// Adds an operation; `depth` is the number of locks held around it.
  void add_operation(int depth) {
    if (count_of(spec_.actors) >= kMaxSteps) return;
    const int drawn =
        favourite_ >= 0 && random_.chance(40) ? favourite_ : random_.below(kOperations);
    switch (drawn) {
      case 0:
        return add_kernel(random_.below(spec_.ranks));
      case 1:
      case 2:
        return random_.chance(50) ? add_flows() : add_collectives();
      case 3:
        return add_message();
      case 4:
        return add_exchange();
      case 5:
        return add_group();
      case 6:
        return add_record();
      case 7:
        return add_synchronize();
      case 8:
        return add_set();
      case 9:
        return add_locked(depth);
      case 10:
        return add_contention();
      case 11:
        return add_fan_out();
      case 12:
        return add_scatter();
      case 13:
        return add_late_wait();
      default:
        if (random_.chance(25)) return add_end();
        return random_.chance(40) ? add_create() : random_.chance(50) ? add_meet() : add_work();
    }
  }

  Call collective_call(int communicator, const Signature& signature) {
    Call call;
    call.communicator = communicator;
    call.signature = signature;
    call.connection = random_.chance(90) ? signature.operation : signature.type;
    call.connects_pairs = random_.chance(20);
    call.takes = some_time();
    return call;
  }

  /// Returns a collective call: with a root, or one that no rank leaves before all have arrived.
  Call some_flow(int communicator, const Signature& signature) {
    Call call = collective_call(communicator, signature);
    if (!random_.chance(flow_percent_)) return call;
    call.flow = random_.pick<Flow>({Flow::kFromRoot, Flow::kToRoot, Flow::kTree, Flow::kStar});
    call.peer = random_.pick(at(spec_.communicators, communicator).ranks);
    const int steps = random_.pick<int>({0, 1, 1, 2, 3, 4, 5, 8});
    // Only flows along a ring have buffers.
    if (call.flow == Flow::kFromRoot || call.flow == Flow::kToRoot) call.steps = steps;
    return call;
  }

  /// Adds several calls with a root, one after the other; some ranks are late.
  void add_flows() {
    if (flow_percent_ == 0) return add_collectives();
    const int communicator = some_communicator();
    for (int i = random_.between(1, 5); i > 0; --i) {
      Call call = some_flow(communicator, some_signature());
      for (int rank : at(spec_.communicators, communicator).ranks) {
        const auto [thread, stream] = places_.at({communicator, rank});
        if (random_.chance(15)) add_step(Role::kOp, thread, stream).takes = 20;
        call.takes = some_time();
        add_calls(rank, {call});
      }
    }
  }

  void add_collectives() {
    const int communicator = some_communicator();
    std::vector<Call> calls(random_.chance(80) ? 1 : 2);
    for (Call& call : calls) call = some_flow(communicator, some_signature());
    std::vector<int> ranks = at(spec_.communicators, communicator).ranks;
    random_.shuffle(ranks);
    for (int rank : ranks) {
      for (Call& call : calls) call.takes = some_time();
      add_calls(rank, calls);
    }
  }

  /// Returns a send and the matching recv.
  std::pair<Call, Call> some_message(int communicator, int from, int to) {
    Call send;
    send.communicator = communicator;
    send.kind = CallKind::kSend;
    send.peer = to;
    send.buffered = random_.chance(buffered_percent_);
    if (!send.buffered && random_.chance(buffer_percent_)) {
      send.steps = random_.pick<int>({1, 1, 2, 3, 4, 5, 8});
    }
    send.signature.count = std::int64_t{32} * random_.between(1, 2);
    send.signature.type = random_.below(2);
    send.tag = random_.below(3);
    send.takes = some_time();
    Call receive = send;
    receive.kind = CallKind::kReceive;
    receive.peer = from;
    receive.buffered = false;
    receive.steps = 0;
    receive.takes = some_time();
    return {send, receive};
  }

  /// Adds one or several sends and their recvs. Sends of a rank to itself are mostly in one group
  /// with their recvs.
  void add_message() {
    const int communicator = some_communicator();
    const std::vector<int>& ranks = at(spec_.communicators, communicator).ranks;
    const int from = random_.pick(ranks);
    const int to = random_.pick(ranks);
    std::vector<Call> sends;
    std::vector<Call> receives;
    for (int i = random_.chance(70) ? 1 : 2; i > 0; --i) {
      const auto [send, receive] = some_message(communicator, from, to);
      sends.push_back(send);
      receives.push_back(receive);
    }
    if (from == to && random_.chance(70)) {
      sends.insert(random_.chance(50) ? sends.begin() : sends.end(), receives.begin(),
                   receives.end());
      return add_calls(from, sends);
    }
    add_calls(from, sends);
    add_calls(to, receives);
  }

  /// Lets each rank send to the next rank and receive from the previous one, in one group.
  void add_exchange() {
    const int communicator = some_communicator();
    add_groups(ring_of(communicator));
  }

  std::map<int, std::vector<Call>> ring_of(int communicator) {
    std::map<int, std::vector<Call>> calls;
    const std::vector<int>& ranks = at(spec_.communicators, communicator).ranks;
    for (int i = 0; i < count_of(ranks); ++i) {
      const int from = at(ranks, i);
      const int to = at(ranks, (i + 1) % count_of(ranks));
      const auto [send, receive] = some_message(communicator, from, to);
      calls[from].push_back(send);
      calls[to].push_back(receive);
    }
    return calls;
  }

  /// Adds several operations on one or two communicators, in one group if their streams allow it.
  void add_group() {
    std::map<int, std::vector<Call>> calls;
    for (int i = random_.between(2, 3); i > 0; --i) {
      const int communicator = some_communicator();
      if (random_.chance(50)) {
        for (const auto& [rank, more] : ring_of(communicator)) {
          calls[rank].insert(calls[rank].end(), more.begin(), more.end());
        }
        continue;
      }
      const Signature signature = some_signature();
      for (int rank : at(spec_.communicators, communicator).ranks) {
        calls[rank].push_back(collective_call(communicator, signature));
      }
    }
    add_groups(calls);
  }

  /// Adds groups. A group must be on one stream, so a call on another stream starts a new group.
  void add_groups(const std::map<int, std::vector<Call>>& calls) {
    for (const auto& [rank, all] : calls) {
      std::map<int, std::vector<Call>> of_stream;
      for (const Call& call : all) {
        of_stream[places_.at({call.communicator, rank}).second].push_back(call);
      }
      for (const auto& [stream, group] : of_stream) add_calls(rank, group);
    }
  }

  /// Records an event on a stream, and then adds a wait on another stream or a host.
  void add_record() {
    const int signal = random_.below(count_of(spec_.signals));
    if (!at(spec_.signals, signal).recorded) return add_set();
    const int stream = at(signal_streams_, signal);
    const int rank = at(spec_.streams, stream).rank;
    const int thread = thread_of(rank);
    if (random_.chance(60)) add_step(Role::kOp, thread, stream).takes = 10;
    for (int i = random_.chance(85) ? 1 : 2; i > 0; --i) {
      add_step(Role::kRecord, thread, stream).signal = signal;
    }
    const int other = random_.chance(90) ? rank : random_.below(spec_.ranks);
    const int waits = random_.chance(80) ? thread : thread_of(rank);
    if (random_.chance(65)) {
      const int its_stream = random_.pick(at(streams_, other));
      const int its_thread = other == rank ? waits : thread_of(other);
      add_step(Role::kWait, its_thread, its_stream).signal = signal;
    } else {
      add_step(Role::kAwait, other == rank ? waits : thread_of(other)).signal = signal;
    }
  }

  void add_synchronize() {
    const int rank = random_.below(spec_.ranks);
    std::vector<int> streams = at(streams_, rank);
    if (random_.chance(60)) streams = {random_.pick(streams)};
    if (random_.chance(4)) streams.clear();
    add_step(Role::kSynchronize, thread_of(rank)).synchronized = streams;
  }

  /// Lets a host set an event, and then another host thread await it.
  void add_set() {
    const int signal = random_.below(count_of(spec_.signals));
    if (at(spec_.signals, signal).recorded) return add_record_if(signal);
    add_step(Role::kSet, thread_of(random_.below(spec_.ranks))).signal = signal;
    const int times = ++change(sets_, signal);
    if (random_.chance(20)) return;
    Actor& await = add_step(Role::kAwait, thread_of(random_.below(spec_.ranks)));
    await.signal = signal;
    await.times = random_.chance(95) ? times : times + 1;
  }

  void add_record_if(int signal) {
    const int stream = at(signal_streams_, signal);
    add_step(Role::kRecord, thread_of(at(spec_.streams, stream).rank), stream).signal = signal;
  }

  void add_work() {
    add_step(Role::kWork, thread_of(random_.below(spec_.ranks))).launch_overhead = 10;
  }

  /// Adds operations within a lock for which another thread may also wait.
  void add_locked(int depth) {
    if (spec_.locks.empty()) return add_work();
    const int lock = random_.below(count_of(spec_.locks));
    const bool of_process = random_.chance(15);  // a lock that ranks of one process share
    const int thread =
        thread_of(of_process ? random_.below(spec_.ranks) : at(spec_.locks, lock).rank);
    if (at(lock_is_held_, lock) != 0 && random_.chance(80)) return add_work();
    change(lock_is_held_, lock) = 1;
    add_step(Role::kLock, thread).lock = lock;
    if (random_.chance(60)) add_kernel(rank_of_thread(thread));
    if (random_.chance(40))
      add_step(Role::kSynchronize, thread).synchronized = at(streams_, rank_of_thread(thread));
    for (int i = random_.below(3); i > 0 && depth < 2; --i) add_operation(depth + 1);
    if (random_.chance(3)) return;  // no unlock: the lock is held forever
    add_step(Role::kUnlock, thread).lock = lock;
    change(lock_is_held_, lock) = 0;
    if (random_.chance(50)) add_lock_of_other(lock, thread);
  }

  /// Lets another thread of the rank take the lock, so that one of the two threads may wait.
  void add_lock_of_other(int lock, int thread) {
    for (int other : at(threads_, rank_of_thread(thread))) {
      if (other == thread) continue;
      add_step(Role::kLock, other).lock = lock;
      add_step(Role::kWork, other).launch_overhead = 5;
      add_step(Role::kUnlock, other).lock = lock;
    }
  }

  /// Lets all threads of a rank take a lock while the first thread holds it, so that they queue up.
  /// Each thread launches something afterwards.
  void add_contention() {
    if (spec_.locks.empty()) return add_work();
    const int lock = random_.below(count_of(spec_.locks));
    if (at(lock_is_held_, lock) != 0) return add_work();
    std::vector<int> threads = at(threads_, at(spec_.locks, lock).rank);
    random_.shuffle(threads);
    for (int thread : threads) {
      const int rank = rank_of_thread(thread);
      const bool first = thread == threads.front();
      if (!first && random_.chance(50)) add_step(Role::kWork, thread).launch_overhead = 3;
      add_step(Role::kLock, thread).lock = lock;
      add_step(Role::kWork, thread).launch_overhead = first ? 20 : random_.pick<int>({3, 5, 10});
      if (random_.chance(40)) add_kernel_on(thread, random_.pick(at(streams_, rank)));
      add_step(Role::kUnlock, thread).lock = lock;
      if (random_.chance(40)) add_kernel_on(thread, random_.pick(at(streams_, rank)));
    }
  }

  void add_kernel_on(int thread, int stream) {
    const std::int64_t takes = some_time();
    add_step(Role::kOp, thread, stream).takes = takes;
  }

  /// Adds one event for which several streams and hosts wait before different work.
  void add_fan_out() {
    const int signal = random_.below(count_of(spec_.signals));
    if (!at(spec_.signals, signal).recorded) return add_set();
    const int stream = at(signal_streams_, signal);
    const int thread = thread_of(at(spec_.streams, stream).rank);
    add_step(Role::kOp, thread, stream).takes = 20;
    add_step(Role::kRecord, thread, stream).signal = signal;
    std::vector<int> others;
    for (const std::vector<int>& streams : streams_) {
      for (int other : streams) {
        const bool near = at(spec_.streams, other).rank == at(spec_.streams, stream).rank;
        if (other != stream && random_.chance(near ? 90 : 30)) others.push_back(other);
      }
    }
    random_.shuffle(others);
    for (int other : others) {
      const int rank = at(spec_.streams, other).rank;
      const bool near = rank == at(spec_.streams, stream).rank && random_.chance(80);
      const int waits = near ? thread : thread_of(rank);
      add_step(Role::kWait, waits, other).signal = signal;
      if (random_.chance(80)) add_kernel_on(waits, other);
    }
    if (random_.chance(40)) {
      add_step(Role::kAwait, random_.chance(60) ? thread : thread_of(rank_of_thread(thread)))
          .signal = signal;
    }
  }

  /// Adds one group of sends from a rank to other ranks, or of recvs from them; some of the other
  /// ranks are late.
  void add_scatter() {
    const int communicator = some_communicator();
    std::vector<int> ranks = at(spec_.communicators, communicator).ranks;
    random_.shuffle(ranks);
    const int from = ranks.front();
    const bool gathers = random_.chance(30);
    const bool all_rendezvous = random_.chance(70);
    std::vector<Call> group;
    for (int to : ranks) {
      if (to == from) continue;
      for (int i = random_.chance(80) ? 1 : 2; i > 0; --i) {
        auto [send, receive] =
            gathers ? some_message(communicator, to, from) : some_message(communicator, from, to);
        if (all_rendezvous) {
          send.buffered = false;
          send.steps = 0;
        }
        group.push_back(gathers ? receive : send);
        const auto [thread, stream] = places_.at({communicator, to});
        if (random_.chance(50)) add_step(Role::kOp, thread, stream).takes = 20;
        add_calls(to, {gathers ? send : receive});
      }
    }
    if (!group.empty()) add_calls(from, group);
  }

  /// Adds a kernel, and host work while it runs; then the host waits for an op that has mostly
  /// ended.
  void add_late_wait() {
    const int signal = random_.below(count_of(spec_.signals));
    const bool awaits = at(spec_.signals, signal).recorded && random_.chance(50);
    const int rank =
        awaits ? at(spec_.streams, at(signal_streams_, signal)).rank : random_.below(spec_.ranks);
    const int stream = awaits ? at(signal_streams_, signal) : random_.pick(at(streams_, rank));
    const int thread = thread_of(rank);
    add_kernel_on(thread, stream);
    if (awaits) add_step(Role::kRecord, thread, stream).signal = signal;
    add_step(Role::kWork, thread).launch_overhead = random_.pick<int>({5, 10, 30});
    if (awaits) {
      add_step(Role::kAwait, thread).signal = signal;
    } else {
      add_step(Role::kSynchronize, thread).synchronized = {stream};
    }
  }

  void add_create() {
    const int communicator = some_communicator();
    for (int rank : at(spec_.communicators, communicator).ranks) {
      add_step(Role::kCreate, thread_of(rank)).communicator = communicator;
    }
  }

  /// Adds a meeting, mostly of the ranks of a communicator, perhaps after a stream of each rank.
  void add_meet() {
    if (spec_.meetings.empty() || random_.chance(50)) {
      const int communicator = some_communicator();
      std::vector<int> ranks = at(spec_.communicators, communicator).ranks;
      if (ranks.size() > 1 && random_.chance(30)) ranks.pop_back();
      spec_.meetings.push_back({ranks, communicator});
    }
    const int meeting = random_.below(count_of(spec_.meetings));
    const bool synchronizes = random_.chance(30);
    const bool needs = random_.chance(50);
    for (int rank : at(spec_.meetings, meeting).ranks) {
      Actor& step = add_step(Role::kMeet, thread_of(rank));
      step.meeting = meeting;
      if (needs) step.communicator = at(spec_.meetings, meeting).communicator;
      if (synchronizes) step.synchronized = {random_.pick(at(streams_, rank))};
    }
  }

  /// Adds steps that abort a communicator of devices, wait for its calls, or destroy it.
  void add_end() {
    const int communicator = some_communicator();
    // Only hosts have calls that advance in calls, and only devices have aborts.
    const Communicator& kind = at(spec_.communicators, communicator);
    if (kind.on_host || kind.in_calls) return;
    const Role role = random_.pick<Role>({Role::kAbort, Role::kDrain, Role::kMeet});
    const bool waits = role != Role::kAbort || random_.chance(70);
    const std::vector<int> ranks = at(spec_.communicators, communicator).ranks;
    const int only = random_.chance(50) ? random_.pick(ranks) : -1;
    if (role == Role::kMeet) spec_.meetings.push_back({ranks, communicator});
    for (int rank : ranks) {
      if (only >= 0 && rank != only && role != Role::kMeet) continue;
      Actor& step = add_step(role, thread_of(rank));
      if (role == Role::kMeet) step.meeting = count_of(spec_.meetings) - 1;
      if (role == Role::kAbort) step.aborted = communicator;
      if (waits) step.drained = communicator;
    }
  }

  // Errors ----------------------------------------------------------------------------------------

  void perturb() {
    const int thread = random_.pick(random_.pick(threads_));
    std::vector<int>& list = change(lists_, thread);
    if (list.empty()) return;
    const int place = random_.below(count_of(list));
    switch (random_.below(5)) {
      case 0:
        std::swap(change(list, place), change(list, random_.below(count_of(list))));
        return;
      case 1:
        std::swap(change(list, place), change(list, (place + 1) % count_of(list)));
        return;
      case 2:
        change(spec_.actors, at(list, place)).ops = 0;
        list.erase(list.begin() + place);
        return;
      default:
        return perturb_calls();
    }
  }

  void perturb_calls() {
    std::vector<int> with_calls;
    for (int a = 0; a < count_of(spec_.actors); ++a) {
      if (!at(spec_.actors, a).calls.empty()) with_calls.push_back(a);
    }
    if (with_calls.empty()) return;
    Actor& actor = change(spec_.actors, random_.pick(with_calls));
    Call& call = change(actor.calls, random_.below(count_of(actor.calls)));
    switch (random_.below(6)) {
      case 0:
        ++call.signature.operation;
        return;
      case 1:
        ++call.signature.root;
        return;
      case 2:
        ++call.signature.type;
        return;
      case 3:
        ++call.tag;
        return;
      case 4:
        call.buffered = call.kind == CallKind::kSend && !call.buffered;
        call.steps = call.kind == CallKind::kSend && !call.buffered ? random_.below(9) : 0;
        return;
      default:
        ++call.signature.count;
    }
  }

  // The whole -------------------------------------------------------------------------------------

  /// Adds a register between two actors, at least one of which is a step of a program.
  void add_register() {
    std::vector<int> ops;
    for (int a = 0; a < count_of(spec_.actors); ++a) {
      const Actor& actor = at(spec_.actors, a);
      if (actor.role == Role::kOp && actor.ops > 0) ops.push_back(a);
    }
    if (count_of(ops) < 2 || random_.chance(50)) return;
    const int producer = random_.pick(ops);
    const int consumer = random_.pick(ops);
    const Actor& from = at(spec_.actors, producer);
    const Actor& to = at(spec_.actors, consumer);
    if (from.ops != 1 || to.ops != 1 || producer >= consumer) return;
    Register reg;
    reg.producer = producer;
    reg.control = random_.chance(30);
    spec_.edges.push_back({count_of(spec_.registers), consumer, 1});
    spec_.registers.push_back(reg);
  }

  void add_outside() {
    const std::vector<int>& list = at(lists_, random_.pick(random_.pick(threads_)));
    if (list.empty()) return;
    Actor& actor = change(spec_.actors, random_.pick(list));
    actor.outside = {true, random_.chance(80) ? actor.ops : 0, random_.pick<int>({0, 10, 45}), 10};
  }

  /// Writes the lists of the threads: each step once per iteration. A plan with registers has a
  /// single iteration, because rates would have to balance.
  void write_lists(int rounds) {
    if (!spec_.registers.empty()) rounds = 1;
    for (int t = 0; t < count_of(lists_); ++t) {
      for (int i = 0; i < rounds; ++i) {
        std::vector<int>& list = change(spec_.threads, t).list;
        list.insert(list.end(), at(lists_, t).begin(), at(lists_, t).end());
      }
      for (int a : at(lists_, t)) {
        Actor& actor = change(spec_.actors, a);
        actor.ops = rounds;
        if (actor.outside.items > 0) actor.outside.items = rounds;
      }
    }
  }

  /// Marks the events that a step records; all others are events of hosts.
  void note_recorded() {
    for (Signal& signal : spec_.signals) signal.recorded = false;
    for (const Actor& actor : spec_.actors) {
      if (actor.role == Role::kRecord) change(spec_.signals, actor.signal).recorded = true;
    }
  }

  Spec& spec_;
  Random& random_;
  int instant_percent_ = 0;
  int overhead_percent_ = 0;
  int blocking_percent_ = 0;
  int buffered_percent_ = 0;
  int buffer_percent_ = 0;
  int flow_percent_ = 0;
  int connect_percent_ = 0;
  int first_use_percent_ = 0;
  int other_thread_percent_ = 0;
  int other_stream_percent_ = 0;
  int perturb_percent_ = 0;
  int favourite_ = -1;                     // a preferred operation, or -1
  std::vector<std::vector<int>> threads_;  // by rank: threads with programs of steps
  std::vector<std::vector<int>> streams_;
  std::vector<std::vector<int>> lists_;  // steps by thread
  std::vector<int> lock_is_held_;        // by lock: 1 while an operation holds it
  std::vector<int> signal_streams_;
  std::vector<int> sets_;  // number of sets, by event
  int first_communicator_ = 0;
  // The usual thread and stream of calls, by communicator and rank.
  std::map<std::pair<int, int>, std::pair<int, int>> places_;
};

}  // namespace

void add_random_programs(Spec& spec, Random& random) { ProgramGenerator(spec, random).add(); }

}  // namespace pipesim::twin
