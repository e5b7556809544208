// Plans made by hand in which some interleavings hang and others complete, in ways that random
// plans reach too rarely.
#include "sim/interleavings/exploration.hpp"

#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/twin/sketch.hpp"
#include "tests/twin/to_plan.hpp"

namespace pipesim::twin {
namespace {

void check_some_hang(const Spec& spec) {
  const sim::Plan plan = to_plan(spec);
  for (const bool reduce : {false, true}) {
    for (const bool look_for_cycles : {false, true}) {
      sim::ExploreOptions options;
      options.walks = 0;
      options.reduce = reduce;
      options.look_for_cycles = look_for_cycles;
      const sim::Exploration found = sim::explore(plan, options);
      INFO("reduce " << reduce << ", look for cycles " << look_for_cycles);
      CHECK(found.answer == sim::Answer::kHangPossible);
      CHECK(found.completion_found);
    }
  }
}

int add_gated(Sketch& sketch, int thread, int stream) {
  const int actor = sketch.add_actor(thread, stream, 1, 1);
  sketch.actor(actor).immediate = false;
  return actor;
}

void add_reader(Sketch& sketch, int producer, const std::vector<int>& consumers) {
  const int reg = sketch.add_register(producer, 1);
  for (const int consumer : consumers) sketch.add_edge(reg, consumer);
}

void add_collective(Sketch& sketch, const std::vector<int>& actors) {
  Collective collective;
  for (int rank = 0; rank < count_of(actors); ++rank) {
    sketch.actor(at(actors, rank)).collective = count_of(sketch.spec.collectives);
    collective.members.push_back({rank, at(actors, rank)});
  }
  sketch.spec.collectives.push_back(collective);
}

/// Returns two ranks, each with a thread of order arrival, and a communicator.
Sketch two_arrival_ranks() {
  Sketch sketch;
  sketch.spec.ranks = 2;
  for (int rank : {0, 1}) sketch.add_thread(rank);
  sketch.spec.communicators.push_back({{0, 1}, false, false});
  return sketch;
}

/// Adds sources `early` and `late` to thread `sources` of rank 0. Thread 0 runs a first collective
/// after `early` and a second one after `late`. Rank 1 runs the second collective after the first.
/// Returns rank 0's actor of the second collective.
int add_two_collectives(Sketch& sketch, int sources, int first_stream, int second_stream) {
  const int early = add_gated(sketch, sources, sketch.add_stream(0));
  const int late = add_gated(sketch, sources, sketch.add_stream(0));
  const int first = add_gated(sketch, 0, first_stream);
  const int second = add_gated(sketch, 0, second_stream);
  const int first_peer = add_gated(sketch, 1, sketch.add_stream(1));
  const int second_peer = add_gated(sketch, 1, sketch.add_stream(1));
  add_collective(sketch, {first, first_peer});
  add_collective(sketch, {second, second_peer});
  add_reader(sketch, early, {first});
  add_reader(sketch, late, {second});
  add_reader(sketch, first_peer, {second_peer});
  return second;
}

// Checks a device that runs one op at a time. While the device runs a collective, two threads queue
// two more ops on two streams; the op launched first runs next. If this op is the other collective,
// the remaining op never runs, and rank 1 waits for the remaining op before it calls the
// collective.
void check_next_on_device(const Device& kind, bool sends) {
  Sketch sketch = two_ranks();
  for (int i = 0; i < 2; ++i) sketch.spec.communicators.push_back({{0, 1}, false, false});
  for (int i = 0; i < 4; ++i) sketch.spec.signals.push_back({false});
  const auto await = [&](int thread, int signal) {
    sketch.actor(sketch.add_signal_step(Role::kAwait, thread, signal)).times = 1;
  };
  const int first = sketch.add_program(0);
  const int of_call = sketch.add_program(0);
  const int own = sketch.add_stream(0);
  const int calls = sketch.add_stream(0);
  sketch.add_device(0, {0, own, calls}, 0, 0, false);
  sketch.spec.devices.back() = kind;
  sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
  for (int i = 0; i < 2; ++i) sketch.add_signal_step(Role::kSet, 0, i);
  await(first, 0);
  if (sends) {
    sketch.add_calls(first, own, {message_call(CallKind::kSend, 1, 1, true)});
    sketch.spec.actors.back().calls.front().communicator = 2;
  } else {
    sketch.add_kernel(first, own, 1);
  }
  sketch.add_signal_step(Role::kSet, first, 2);
  sketch.actor(sketch.add_step(Role::kSynchronize, first)).synchronized = {own};
  sketch.add_signal_step(Role::kSet, first, 3);
  await(of_call, 1);
  sketch.add_calls(of_call, calls, {collective_call(1, 0, 1)});
  sketch.add_signal_step(Role::kSet, of_call, 2);
  sketch.actor(sketch.add_signal_step(Role::kAwait, 1, 2)).times = 2;
  sketch.add_calls(1, 1, {collective_call(0, 0, 1)});
  await(1, 3);
  sketch.add_calls(1, 1, {collective_call(1, 0, 1)});
  check_some_hang(sketch.spec);
}

}  // namespace

// If `late` ends first, rank 0 launches `second`, fills the launch queue of its stream, and blocks
// in `last`. Rank 0 can then not launch its part of the first collective, for which rank 1 waits
// before it launches the second collective.
TEST_CASE("by hand: a thread that waits for a launch queue is part of a cycle", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int early = add_gated(sketch, 0, sketch.add_stream(0));
  const int late = add_gated(sketch, 0, sketch.add_stream(0));
  const int queue_of_one = sketch.add_stream(0, 1);
  const int first = add_gated(sketch, 0, sketch.add_stream(0));
  const int second = add_gated(sketch, 0, queue_of_one);
  const int last = add_gated(sketch, 0, queue_of_one);
  const int first_peer = add_gated(sketch, 1, sketch.add_stream(1));
  const int second_peer = add_gated(sketch, 1, sketch.add_stream(1));
  add_collective(sketch, {first, first_peer});
  add_collective(sketch, {second, second_peer});
  add_reader(sketch, early, {first});
  add_reader(sketch, late, {second, last});
  add_reader(sketch, first_peer, {second_peer});
  check_some_hang(sketch.spec);
}

// Two threads share a launch queue with one place. If `first` takes the place, it waits for rank 1,
// which waits for `second`.
TEST_CASE("by hand: who takes the last place of a launch queue of a device", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int other_thread = sketch.add_thread(0);
  const int streams[] = {sketch.add_stream(0), sketch.add_stream(0)};
  const int first = add_gated(sketch, 0, streams[0]);
  const int second = add_gated(sketch, other_thread, streams[1]);
  const int first_peer = add_gated(sketch, 1, sketch.add_stream(1));
  const int second_peer = add_gated(sketch, 1, sketch.add_stream(1));
  add_collective(sketch, {first, first_peer});
  add_collective(sketch, {second, second_peer});
  add_reader(sketch, second_peer, {first_peer});
  sketch.add_device(0, {streams[0], streams[1]}, 0, 0, false);
  sketch.spec.devices[0].launch_queue = 1;
  check_some_hang(sketch.spec);
}

// Two programs share a launch queue with one place; nothing else depends on timing.
TEST_CASE("by hand: which program takes the last place of a launch queue of a device", "[twin]") {
  Sketch sketch = two_ranks();
  const int other = sketch.add_program(0);
  const int stream = sketch.add_stream(0);
  sketch.spec.communicators.push_back({{0, 1}, false, false});
  sketch.add_device(0, {0, stream}, 0, 0, false);
  sketch.spec.devices[0].launch_queue = 1;
  sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
  sketch.add_calls(other, stream, {collective_call(1, 0, 1)});
  sketch.add_calls(1, 1, {collective_call(1, 0, 1)});
  sketch.actor(sketch.add_step(Role::kSynchronize, 1)).synchronized = {1};
  sketch.add_calls(1, 1, {collective_call(0, 0, 1)});
  check_some_hang(sketch.spec);
  CHECK(sim::explore_as_planned(to_plan(sketch.spec)).answer == sim::Answer::kHangPossible);
}

// Each rank can reach the initialization of either communicator first, and blocks there.
TEST_CASE("by hand: communicators may be created in opposite orders", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  sketch.spec.communicators.push_back({{0, 1}, false, false});
  for (const int communicator : {0, 1}) {
    sketch.communicator(communicator).at_first_use = true;
    std::vector<int> members;
    for (const int rank : {0, 1}) {
      const int source = add_gated(sketch, rank, sketch.add_stream(rank));
      members.push_back(add_gated(sketch, rank, sketch.add_stream(rank)));
      add_reader(sketch, source, {members.back()});
    }
    add_collective(sketch, members);
    sketch.spec.collectives.back().communicator = communicator;
  }
  check_some_hang(sketch.spec);
}

// If `early` ends first, rank 0 blocks in a communicator init. It cannot launch its part of the
// collective for which rank 1 waits before it arrives.
TEST_CASE("by hand: an init blocks the other ops of its thread", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  sketch.spec.communicators.push_back({{0, 1}, true, false});
  const int early = add_gated(sketch, 0, sketch.add_stream(0));
  const int late = add_gated(sketch, 0, sketch.add_stream(0));
  const int creating = add_gated(sketch, 0, sketch.add_stream(0));
  const int first = add_gated(sketch, 0, sketch.add_stream(0));
  const int first_peer = add_gated(sketch, 1, sketch.add_stream(1));
  const int creating_peer = add_gated(sketch, 1, sketch.add_stream(1));
  add_collective(sketch, {first, first_peer});
  add_collective(sketch, {creating, creating_peer});
  sketch.spec.collectives.back().communicator = 1;
  add_reader(sketch, early, {creating});
  add_reader(sketch, late, {first});
  add_reader(sketch, first_peer, {creating_peer});
  check_some_hang(sketch.spec);
}

// If `late` ends first, the thread of rank 0 blocks in the second collective and cannot launch the
// first.
TEST_CASE("by hand: a blocking launch blocks the other ops of its thread", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int second = add_two_collectives(sketch, 0, sketch.add_stream(0), sketch.add_stream(0));
  sketch.actor(second).blocking = true;
  check_some_hang(sketch.spec);
}

// If `late` ends first, the first collective is queued behind the second.
TEST_CASE("by hand: the order of launches on a stream is that of messages", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int stream = sketch.add_stream(0);
  add_two_collectives(sketch, 0, stream, stream);
  check_some_hang(sketch.spec);
}

// The collectives are on separate streams of a device with one hardware queue, which each op holds
// to its end.
TEST_CASE("by hand: the order of launches on a device is that of messages", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int left = sketch.add_stream(0);
  const int right = sketch.add_stream(0);
  add_two_collectives(sketch, 0, left, right);
  sketch.add_device(0, {left, right}, 1, 0, false);
  sketch.spec.devices.back().holds_queues = true;
  check_some_hang(sketch.spec);
}

// The collectives are on separate streams. The first collective stays behind the stream of the
// second, if the second is launched first.
TEST_CASE("by hand: what a launch stays behind depends on the order of messages", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int stream = sketch.add_stream(0);
  const int second = add_two_collectives(sketch, 0, sketch.add_stream(0), stream);
  sketch.actor(second - 1).behind = stream;
  check_some_hang(sketch.spec);
}

// At its launch, `sender` sends to the thread of `first`; at its end, `slow` sends to the thread of
// `second`. If a thread reaches `slow` first, `slow` can end before `sender` is launched.
TEST_CASE("by hand: what is launched early may end before something else is launched", "[twin]") {
  for (const bool slow_first : {false, true}) {
    for (const bool first_is_called_first : {false, true}) {
      Sketch sketch = two_arrival_ranks();
      const int sources = sketch.add_thread(0);
      std::vector<int> told;
      for (int i = 0; i < 2; ++i) {
        const int source = add_gated(sketch, sources, sketch.add_stream(0));
        told.push_back(sketch.add_actor(0, sketch.add_stream(0), 1, 1));
        add_reader(sketch, source, {told.back()});
      }
      const int sender = told[slow_first ? 1 : 0];
      const int slow = told[slow_first ? 0 : 1];
      sketch.actor(slow).immediate = false;
      const int stream = sketch.add_stream(0);
      const int first = add_gated(sketch, 0, stream);
      const int second = add_gated(sketch, 0, stream);
      add_reader(sketch, sender, {first});
      add_reader(sketch, slow, {second});
      const int peers = sketch.add_stream(1);
      const int first_peer = add_gated(sketch, 1, peers);
      const int second_peer = add_gated(sketch, 1, peers);
      add_collective(sketch, {first, first_peer});
      add_collective(sketch, {second, second_peer});
      if (first_is_called_first) {
        add_reader(sketch, first_peer, {second_peer});
      } else {
        add_reader(sketch, second_peer, {first_peer});
      }
      INFO("slow first " << slow_first << ", first is called first " << first_is_called_first);
      check_some_hang(sketch.spec);
    }
  }
}

// The thread of rank 0 blocks until both messages are in its inbox; the order of the messages
// decides whether the run hangs. An unrelated op runs meanwhile.
TEST_CASE("by hand: the order of messages in an inbox is part of a state", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int gate = add_gated(sketch, 0, sketch.add_stream(0));
  sketch.actor(gate).blocking = true;
  const int gate_peer = add_gated(sketch, 1, sketch.add_stream(1));
  add_collective(sketch, {gate, gate_peer});
  const int early = count_of(sketch.spec.actors);
  const int stream = sketch.add_stream(0);
  add_two_collectives(sketch, sketch.add_thread(0), stream, stream);
  for (const int source : {early, early + 1}) add_reader(sketch, source, {gate_peer});
  add_gated(sketch, sketch.add_thread(1), sketch.add_stream(1));
  check_some_hang(sketch.spec);
}

// `left` and `right` use different streams and block nothing. But they send messages at their
// launch, so the messages are in the inbox in launch order. The two collectives are on one stream,
// in the order of the messages.
TEST_CASE("by hand: the order of launches is that of messages that leave at launch", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int early = add_gated(sketch, 0, sketch.add_stream(0));
  const int late = add_gated(sketch, 0, sketch.add_stream(0));
  const int left = sketch.add_actor(0, sketch.add_stream(0), 1, 1);
  const int right = sketch.add_actor(0, sketch.add_stream(0), 1, 1);
  const int shared = sketch.add_stream(0);
  const int first = add_gated(sketch, 0, shared);
  const int second = add_gated(sketch, 0, shared);
  const int stream = sketch.add_stream(1);
  const int first_peer = add_gated(sketch, 1, stream);
  const int second_peer = add_gated(sketch, 1, stream);
  add_collective(sketch, {first, first_peer});
  add_collective(sketch, {second, second_peer});
  add_reader(sketch, early, {left});
  add_reader(sketch, late, {right});
  add_reader(sketch, left, {first});
  add_reader(sketch, right, {second});
  add_reader(sketch, first_peer, {second_peer});
  check_some_hang(sketch.spec);
}

// A device with two kernel slots. If the longer kernel ends first, the slots go to two collectives
// that rank 1 calls only after the third is done.
TEST_CASE("by hand: the order of ends on a device decides who gets its slots", "[twin]") {
  Sketch sketch;
  sketch.spec.ranks = 2;
  for (int rank : {0, 1}) {
    sketch.add_program(rank);
    for (int i = 0; i < 3; ++i) sketch.add_stream(rank);
  }
  for (int i = 0; i < 3; ++i) sketch.spec.communicators.push_back({{0, 1}, false, false});
  sketch.add_device(0, {0, 1, 2}, 0, 2, false);
  sketch.add_kernel(0, 0, 5);
  const int longer = sketch.add_kernel(0, 1, 9);
  const int held = sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
  sketch.actor(held).afters = {{longer, 0}};
  sketch.add_calls(0, 1, {collective_call(1, 0, 1)});
  sketch.add_calls(0, 2, {collective_call(2, 0, 1)});
  sketch.add_calls(1, 5, {collective_call(2, 0, 1)});
  const int synchronize = sketch.add_step(Role::kSynchronize, 1);
  sketch.actor(synchronize).synchronized = {5};
  sketch.add_calls(1, 4, {collective_call(1, 0, 1)});
  sketch.add_calls(1, 3, {collective_call(0, 0, 1)});
  check_some_hang(sketch.spec);
}

// If the record is launched first, the second call waits for the first, which rank 1 makes only
// after the second is done.
TEST_CASE("by hand: a wait may be launched before the record of another thread", "[twin]") {
  Sketch sketch = two_ranks();
  const int other = sketch.add_program(0);
  const int stream = sketch.add_stream(0);
  sketch.spec.communicators.push_back({{0, 1}, false, false});
  sketch.spec.signals.push_back({true});
  sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
  sketch.add_signal_step(Role::kRecord, 0, 0, 0);
  sketch.add_signal_step(Role::kWait, other, 0, stream);
  sketch.add_calls(other, stream, {collective_call(1, 0, 1)});
  sketch.add_calls(1, 1, {collective_call(1, 0, 1)});
  sketch.actor(sketch.add_step(Role::kSynchronize, 1)).synchronized = {1};
  sketch.add_calls(1, 1, {collective_call(0, 0, 1)});
  check_some_hang(sketch.spec);
}

// Two threads launch on one device. If the first thread launches both of its ops before the second
// thread's launch, the second thread's op waits for an op on another stream.
TEST_CASE("by hand: threads that share a device launch in some order", "[twin]") {
  for (const bool implicit_order : {false, true}) {
    Sketch sketch = two_ranks();
    const int other = sketch.add_program(0);
    const int stream = sketch.add_stream(0);
    sketch.spec.communicators.push_back({{0, 1}, false, false});
    sketch.add_device(0, {0, stream}, implicit_order ? 0 : 1, 0, implicit_order);
    for (int i = 0; i < 2; ++i) sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
    sketch.add_calls(other, stream, {collective_call(1, 0, 1)});
    sketch.add_calls(1, 1, {collective_call(1, 0, 1)});
    sketch.actor(sketch.add_step(Role::kSynchronize, 1)).synchronized = {1};
    for (int i = 0; i < 2; ++i) sketch.add_calls(1, 1, {collective_call(0, 0, 1)});
    INFO("implicit order " << implicit_order);
    check_some_hang(sketch.spec);
  }
}

// After its first collective, rank 0 can call the other collective or, once the slot of the first
// is free, the first again. The slot is used in place: `taker` reads the acknowledgement of
// `reader`, and only the acknowledgement of `taker` lets `first` continue.
TEST_CASE("by hand: an acknowledgement in place goes before or after a message", "[twin]") {
  Sketch sketch = two_arrival_ranks();
  const int stream = sketch.add_stream(0);
  const auto add_twice = [&](int thread, int of_stream) {
    const int actor = add_gated(sketch, thread, of_stream);
    sketch.actor(actor).ops = 2;
    return actor;
  };
  const int first = add_twice(0, stream);
  const int other = add_twice(0, stream);
  const int taker = add_twice(sketch.add_thread(0), sketch.add_stream(0));
  const int reader = add_twice(sketch.add_thread(0), sketch.add_stream(0));
  const int between = add_twice(sketch.add_thread(0), sketch.add_stream(0));
  sketch.add_edge(sketch.add_register(first, 1), taker);
  sketch.add_edge(sketch.add_register(taker, 1), reader);
  sketch.spec.registers.back().in_place = 0;
  sketch.add_edge(sketch.add_register(first, 2), between);
  sketch.add_edge(sketch.add_register(between, 2), other);
  const int peers = sketch.add_program(1);
  const int peer_stream = sketch.add_stream(1);
  std::vector<int> of_peers;
  for (int i = 0; i < 2; ++i) {
    of_peers.push_back(add_twice(peers, peer_stream));
    sketch.actor(of_peers.back()).blocking = true;
  }
  sketch.spec.threads.back().list = {of_peers[0], of_peers[1], of_peers[0], of_peers[1]};
  add_collective(sketch, {first, of_peers[0]});
  add_collective(sketch, {other, of_peers[1]});
  check_some_hang(sketch.spec);
}

// Thread `twice` takes the lock, and later tries to take it again; `other` releases the lock before
// or after this second attempt. The positions of the threads do not show which thread holds the
// lock.
TEST_CASE("by hand: who holds a lock is part of a state", "[twin]") {
  Sketch sketch;
  const int twice = sketch.add_program();
  const int other = sketch.add_program();
  const int beside = sketch.add_program();
  sketch.spec.locks.push_back({0});
  sketch.spec.signals.push_back({false});
  sketch.add_lock_step(Role::kLock, twice, 0);
  sketch.add_signal_step(Role::kSet, twice, 0);
  sketch.add_lock_step(Role::kLock, twice, 0);
  sketch.add_lock_step(Role::kUnlock, other, 0);
  sketch.actor(sketch.add_signal_step(Role::kAwait, beside, 0)).times = 1;
  check_some_hang(sketch.spec);
}

// Two threads take two locks in opposite orders.
TEST_CASE("by hand: who takes a lock first decides whether two threads hang", "[twin]") {
  Sketch sketch = two_ranks();
  const int other = sketch.add_program(0);
  sketch.spec.locks.push_back({0});
  sketch.spec.locks.push_back({0});
  for (const auto& [thread, first] : {std::pair(0, 0), std::pair(other, 1)}) {
    sketch.add_lock_step(Role::kLock, thread, first);
    sketch.add_lock_step(Role::kLock, thread, 1 - first);
    sketch.add_lock_step(Role::kUnlock, thread, 1 - first);
    sketch.add_lock_step(Role::kUnlock, thread, first);
  }
  check_some_hang(sketch.spec);
}

// `keeper` takes the second lock and never releases it. `second` can take that lock earlier only if
// it gets the first lock in time. `first` releases the first lock, and shares a third lock with
// `beside`.
TEST_CASE("by hand: a lock is taken after one that another thread has to release", "[twin]") {
  Sketch sketch = two_ranks();
  for (int i = 0; i < 3; ++i) sketch.spec.locks.push_back({0});
  sketch.spec.signals.push_back({false});
  const int first = 0;
  const int second = sketch.add_program(0);
  const int keeper = sketch.add_program(0);
  const int beside = sketch.add_program(0);
  sketch.add_lock_step(Role::kLock, first, 0);
  sketch.add_signal_step(Role::kSet, first, 0);
  sketch.actor(sketch.add_signal_step(Role::kAwait, second, 0)).times = 1;
  sketch.add_lock_step(Role::kLock, second, 0);
  sketch.add_lock_step(Role::kLock, second, 1);
  for (const int lock : {1, 0}) sketch.add_lock_step(Role::kUnlock, second, lock);
  sketch.add_lock_step(Role::kLock, keeper, 1);
  for (const int thread : {first, beside}) {
    sketch.add_lock_step(Role::kLock, thread, 2);
    sketch.add_lock_step(Role::kUnlock, thread, 2);
  }
  sketch.add_lock_step(Role::kUnlock, first, 0);
  check_some_hang(sketch.spec);
}

// Two threads send on one stream, in either order; rank 1 receives in one order. The run continues
// after a mismatch as if the tags had matched, and two threads that take a lock then continue in
// either order.
TEST_CASE("by hand: messages that did not match are part of a state", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.locks.push_back({0});
  sketch.spec.signals.push_back({false});
  for (const int tag : {1, 2}) {
    const int thread = tag == 1 ? 0 : sketch.add_program(0);
    Call send = message_call(CallKind::kSend, 1, 1);
    Call receive = message_call(CallKind::kReceive, 0, 1);
    send.tag = receive.tag = tag;
    sketch.add_calls(thread, 0, {send});
    sketch.add_calls(1, 1, {receive});
  }
  sketch.actor(sketch.add_step(Role::kSynchronize, 1)).synchronized = {1};
  sketch.add_signal_step(Role::kSet, 1, 0);
  for (int i = 0; i < 2; ++i) {
    const int thread = sketch.add_program(0);
    sketch.actor(sketch.add_signal_step(Role::kAwait, thread, 0)).times = 1;
    sketch.add_lock_step(Role::kLock, thread, 0);
    sketch.add_lock_step(Role::kUnlock, thread, 0);
  }
  check_some_hang(sketch.spec);
}

// Two threads of rank 0 each arrive once at a meeting of hosts. Rank 1 arrives once, and again
// after thread 0 has signaled that it continues.
TEST_CASE("by hand: which thread comes to a meeting first decides who goes on", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.meetings.push_back({{0, 1}, 0});
  sketch.spec.signals.push_back({false});
  const int other = sketch.add_program(0);
  const auto meet = [&](int thread) {
    sketch.actor(sketch.add_step(Role::kMeet, thread)).meeting = 0;
  };
  meet(0);
  sketch.add_signal_step(Role::kSet, 0, 0);
  meet(other);
  meet(1);
  sketch.actor(sketch.add_signal_step(Role::kAwait, 1, 0)).times = 1;
  meet(1);
  check_some_hang(sketch.spec);
}

// If thread 0 reaches `told` before `other`, another thread can launch `between` on the stream of
// `other` before `other` is launched.
TEST_CASE("by hand: another thread may launch between two launches of a thread", "[twin]") {
  for (const bool other_first : {false, true}) {
    Sketch sketch = two_arrival_ranks();
    const int sources = sketch.add_thread(0);
    const int first_source = add_gated(sketch, sources, sketch.add_stream(0));
    const int second_source = add_gated(sketch, sources, sketch.add_stream(0));
    const int shared = sketch.add_stream(0);
    const int told = add_gated(sketch, 0, sketch.add_stream(0));
    const int other = add_gated(sketch, 0, shared);
    const int between = add_gated(sketch, sketch.add_thread(0), shared);
    add_reader(sketch, other_first ? second_source : first_source, {told});
    add_reader(sketch, other_first ? first_source : second_source, {other});
    add_reader(sketch, told, {between});
    const int stream = sketch.add_stream(1);
    const int between_peer = add_gated(sketch, 1, stream);
    const int other_peer = add_gated(sketch, 1, stream);
    add_collective(sketch, {between, between_peer});
    add_collective(sketch, {other, other_peer});
    add_reader(sketch, between_peer, {other_peer});
    INFO("other first " << other_first);
    check_some_hang(sketch.spec);
  }
}

// The calls of rank 0 run in the order in which its threads launch them; rank 1 has a fixed order.
TEST_CASE("by hand: threads that call a communicator on two streams do so in some order",
          "[twin]") {
  Sketch sketch = two_ranks();
  const int other = sketch.add_program(0);
  sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
  sketch.add_calls(other, sketch.add_stream(0), {collective_call(0, 1, 1)});
  for (const int operation : {0, 1}) sketch.add_calls(1, 1, {collective_call(0, operation, 1)});
  check_some_hang(sketch.spec);
}

// Rank 1 calls the collective only after the thread that synchronizes with the stream has
// continued. This thread continues only if it reaches `synchronize` before the launch of the
// collective.
TEST_CASE("by hand: a thread may wait for a stream before or after a launch on it", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.signals.push_back({false});
  const int other = sketch.add_program(0);
  sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
  sketch.actor(sketch.add_step(Role::kSynchronize, other)).synchronized = {0};
  sketch.add_signal_step(Role::kSet, other, 0);
  sketch.actor(sketch.add_signal_step(Role::kAwait, 1, 0)).times = 1;
  sketch.add_calls(1, 1, {collective_call(0, 0, 1)});
  check_some_hang(sketch.spec);
}

// An op stays behind a stream on which another thread makes a call. Rank 1 joins this call only
// after the op is done.
TEST_CASE("by hand: an op may stay behind what another thread launches", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.communicators.push_back({{0, 1}, false, false});
  const int other = sketch.add_program(0);
  sketch.add_calls(0, 0, {collective_call(0, 0, 1)});
  const int behind = sketch.add_calls(other, sketch.add_stream(0), {collective_call(1, 0, 1)});
  sketch.actor(behind).behind = 0;
  sketch.add_calls(1, 1, {collective_call(1, 0, 1)});
  sketch.actor(sketch.add_step(Role::kSynchronize, 1)).synchronized = {1};
  sketch.add_calls(1, 1, {collective_call(0, 0, 1)});
  check_some_hang(sketch.spec);
}

TEST_CASE("by hand: which op was launched first on a device is part of a state", "[twin]") {
  check_next_on_device({0, 0, 1, Order::kImplicit, false}, false);
}

TEST_CASE("by hand: the order in a hardware queue is part of a state", "[twin]") {
  check_next_on_device({0, 1, 0, Order::kNone, true}, false);
}

TEST_CASE("by hand: the launch order of a device is part of a state", "[twin]") {
  check_next_on_device({0, 0, 0, Order::kSerial, false}, true);
}

// If the first recv matches the send of rank 1, no send is left for the second recv. Buffered sends
// arrive one after the other; rendezvous sends wait at the same time.
TEST_CASE("by hand: a recv from any rank may take what a later one needs", "[twin]") {
  for (const bool buffered : {false, true}) {
    Sketch sketch = some_ranks(3);
    sketch.add_calls(0, 0, {message_call(CallKind::kReceive, -1, 1)});
    sketch.add_calls(0, 0, {message_call(CallKind::kReceive, 1, 1)});
    for (const int rank : {1, 2}) {
      sketch.add_kernel(rank, rank, 1);
      sketch.add_calls(rank, rank, {message_call(CallKind::kSend, 0, 1, buffered)});
    }
    check_some_hang(sketch.spec);
  }
}

TEST_CASE("by hand: a search that is given up proves nothing", "[twin]") {
  Sketch small = two_ranks();
  for (const int rank : {0, 1}) small.add_calls(rank, rank, {collective_call(0, 0, 1)});
  sim::ExploreOptions options;
  options.walks = 0;
  options.look_for_cycles = false;
  options.max_steps = 2;
  options.reduce = false;
  CHECK(sim::explore_as_planned(to_plan(small.spec), options).answer == sim::Answer::kUndecided);
}

// The plan exceeds the size up to which happens-before is computed.
TEST_CASE("by hand: a recv from any rank of a large plan may take any send", "[twin]") {
  Sketch sketch = some_ranks(3);
  sketch.add_calls(0, 0, {message_call(CallKind::kReceive, -1, 1)});
  sketch.add_calls(0, 0, {message_call(CallKind::kReceive, 1, 1)});
  for (const int rank : {1, 2}) {
    sketch.add_calls(rank, rank, {message_call(CallKind::kSend, 0, 1)});
  }
  const int thread = sketch.add_thread(2);
  sketch.add_actor(thread, sketch.add_stream(2), 1, 9'000);
  sim::ExploreOptions options;
  options.walks = 0;
  const sim::Exploration found = sim::explore(to_plan(sketch.spec), options);
  CHECK(found.answer == sim::Answer::kHangPossible);
  CHECK(found.completion_found);
}

}  // namespace pipesim::twin
