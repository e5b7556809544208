// Tests like those of actors_and_programs_test.cpp, for the limits of devices [5.3] and waits for
// other streams [5.4] of docs/reference/rules.md.
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/twin/sketch.hpp"

namespace pipesim::twin {

// Two communicators on two streams of each rank, which the ranks launch in opposite orders. With
// one kernel slot, each rank runs the call that it launched first, and the other call finds no
// slot.
TEST_CASE("twin by hand: slots for one of two communicators deadlocks", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.communicators.push_back({{0, 1}, false, false});
  const int other0 = sketch.add_stream(0);
  const int other1 = sketch.add_stream(1);
  sketch.add_calls(0, 0, {collective_call(0, 1, 5)});
  sketch.add_calls(0, other0, {collective_call(1, 1, 5)});
  sketch.add_calls(1, other1, {collective_call(1, 1, 5)});
  sketch.add_calls(1, 1, {collective_call(0, 1, 5)});
  sketch.add_device(0, {0, other0}, 0, 1, false);
  sketch.add_device(1, {1, other1}, 0, 1, false);

  const Result one = simulate(sketch.spec);
  CHECK(one.verdict == Verdict::kDeadlock);
  CHECK(times_of(one, {1, 0}) == Times{0, -1, -1});
  CHECK(waits_of(one) ==
        Lines{"act 0#0 -> act 3#0: peer of a collective", "act 3#0 -> act 2#0: device room",
              "act 2#0 -> act 1#0: peer of a collective", "act 1#0 -> act 0#0: device room"});

  for (Device& device : sketch.spec.devices) device.resident = 2;
  const Result two = simulate(sketch.spec);
  CHECK(two.verdict == Verdict::kCompleted);
  for (int actor : {0, 1, 2, 3}) CHECK(times_of(two, {actor, 0}) == Times{0, 0, 5});
}

// Stream 0: a kernel 0-10, then a call that takes 3. Stream 1: a call that takes 2, launched after
// the call on stream 0. A kernel that takes 1 on a third stream starts at once. Each communicator
// has one rank.
TEST_CASE("twin by hand: with an implicit order calls start as they were launched", "[twin]") {
  Sketch sketch;
  sketch.add_program();
  for (int i = 0; i < 3; ++i) sketch.add_stream();
  for (int i = 0; i < 2; ++i) sketch.spec.communicators.push_back({{0}, false, false});
  sketch.add_kernel(0, 0, 10);
  const int first = sketch.add_calls(0, 0, {collective_call(0, 1, 3)});
  const int second = sketch.add_calls(0, 1, {collective_call(1, 1, 2)});
  const int kernel = sketch.add_kernel(0, 2, 1);
  sketch.add_device(0, {0, 1, 2}, 0, 0, false);
  CHECK(times_of(simulate(sketch.spec), {second, 0}) == Times{0, 0, 2});

  sketch.spec.devices[0].order = Order::kImplicit;
  const Result result = simulate(sketch.spec);
  CHECK(times_of(result, {first, 0}) == Times{0, 10, 13});
  CHECK(times_of(result, {second, 0}) == Times{0, 10, 12});
  CHECK(times_of(result, {kernel, 0}) == Times{0, 0, 1});
}

// Stream 0: kernels that take 10 and 1. Stream 1: a kernel that takes 2. In one hardware queue, the
// kernel of stream 1 is queued behind the second kernel, which waits for its stream until time 10.
// If the first kernel never ends, both other kernels wait.
TEST_CASE("twin by hand: one hardware queue holds up what could run", "[twin]") {
  Sketch sketch = two_ranks();
  const int other = sketch.add_stream(0);
  const int first = sketch.add_kernel(0, 0, 10);
  sketch.add_kernel(0, 0, 1);
  const int last = sketch.add_kernel(0, other, 2);
  sketch.add_device(0, {0, other}, 0, 0, false);
  CHECK(times_of(simulate(sketch.spec), {last, 0}) == Times{0, 0, 2});

  sketch.spec.devices[0].hardware_queues = 1;
  CHECK(times_of(simulate(sketch.spec), {last, 0}) == Times{0, 10, 12});

  sketch.actor(first).role = Role::kCalls;
  sketch.actor(first).calls = {collective_call(0, 1, 1)};
  CHECK(waits_of(simulate(sketch.spec)) == Lines{"act 0#0 -> rank 1: peer of a collective",
                                                 "act 1#0 -> act 0#0: stream order",
                                                 "act 2#0 -> act 1#0: device room"});
}

// A wait stays in its hardware queue until the event fires at time 20. The kernel queued behind the
// wait runs 20-22.
TEST_CASE("twin by hand: a wait stays in its hardware queue", "[twin]") {
  Sketch sketch;
  sketch.add_program();
  for (int i = 0; i < 3; ++i) sketch.add_stream();
  sketch.spec.signals.push_back({true});
  sketch.add_kernel(0, 0, 20);
  sketch.add_signal_step(Role::kRecord, 0, 0, 0);
  const int wait = sketch.add_signal_step(Role::kWait, 0, 0, 1);
  const int behind = sketch.add_kernel(0, 2, 2);
  sketch.add_device(0, {1, 2}, 1, 0, false);
  const Result result = simulate(sketch.spec);
  CHECK(times_of(result, {wait, 0}) == Times{0, 0, 20});
  CHECK(times_of(result, {behind, 0}) == Times{0, 20, 22});
}

// a (stream 0, takes 10) runs 0-10, 10-20, 20-30. b (stream 1, takes 1) has two ops. With `ahead`
// 0, b#k waits for a#k; with `ahead` 1, b#k waits for a#(k+1).
TEST_CASE("twin by hand: an op waits for the op of its number on another stream", "[twin]") {
  Sketch sketch;
  sketch.add_program();
  for (int i = 0; i < 2; ++i) sketch.add_stream();
  const int a = sketch.add_kernel(0, 0, 10);
  const int b = sketch.add_kernel(0, 1, 1);
  sketch.actor(a).ops = 3;
  sketch.actor(b).ops = 2;
  sketch.spec.threads[0].list = {b, b, a, a, a};
  sketch.actor(b).afters = {{a, 0}};
  const Result same = simulate(sketch.spec);
  CHECK(times_of(same, {a, 2}) == Times{0, 20, 30});
  CHECK(times_of(same, {b, 0}) == Times{0, 10, 11});
  CHECK(times_of(same, {b, 1}) == Times{0, 20, 21});

  sketch.actor(b).afters = {{a, 1}};
  const Result ahead = simulate(sketch.spec);
  CHECK(times_of(ahead, {b, 0}) == Times{0, 20, 21});
  CHECK(times_of(ahead, {b, 1}) == Times{0, 30, 31});
  CHECK(ahead.last_progress == 31);
}

// Actors a and b as in the test above, but b stays behind stream 0: it waits only for the ops
// launched on stream 0 before it. The program is a, b, a, b, a: b#0 is behind a#0, which ends at
// time 10; b#1 is behind a#1. If b comes first, it does not wait. With a launch overhead of 15 for
// a, a#0 runs 15-25 and a#1 30-40.
TEST_CASE("twin by hand: an op stays behind what was launched before it", "[twin]") {
  Sketch sketch;
  sketch.add_program();
  for (int i = 0; i < 2; ++i) sketch.add_stream();
  const int a = sketch.add_kernel(0, 0, 10);
  const int b = sketch.add_kernel(0, 1, 1);
  sketch.actor(a).ops = 3;
  sketch.actor(b).ops = 2;
  sketch.actor(b).behind = 0;
  sketch.spec.threads[0].list = {a, b, a, b, a};
  const Result between = simulate(sketch.spec);
  CHECK(times_of(between, {b, 0}) == Times{0, 10, 11});
  CHECK(times_of(between, {b, 1}) == Times{0, 20, 21});

  sketch.spec.threads[0].list = {b, a, a, a, b};
  const Result around = simulate(sketch.spec);
  CHECK(times_of(around, {b, 0}) == Times{0, 0, 1});
  CHECK(times_of(around, {b, 1}) == Times{0, 30, 31});

  sketch.actor(a).launch_overhead = 15;
  sketch.spec.threads[0].list = {b, a, a, b, a};
  const Result late = simulate(sketch.spec);
  CHECK(times_of(late, {b, 0}) == Times{0, 0, 1});
  CHECK(times_of(late, {a, 1}) == Times{30, 30, 40});
  CHECK(times_of(late, {b, 1}) == Times{30, 40, 41});
}

// k (stream 0, takes 10), then w (stream 1, takes 2), which waits for k, and l (stream 2, takes 3).
// In one hardware queue l is queued behind w: both start at time 10. With two slots, w takes no
// slot while it waits: l 0-3. With one slot, w and l can start at time 10, and w is on the smaller
// stream: 10-12, then l 12-15.
TEST_CASE("twin by hand: what waits for another stream has its queue but no slot", "[twin]") {
  Sketch sketch;
  sketch.add_program();
  for (int i = 0; i < 3; ++i) sketch.add_stream();
  const int k = sketch.add_kernel(0, 0, 10);
  const int w = sketch.add_kernel(0, 1, 2);
  const int l = sketch.add_kernel(0, 2, 3);
  sketch.actor(w).afters = {{k, 0}};
  sketch.add_device(0, {0, 1, 2}, 1, 0, false);
  const Result queue = simulate(sketch.spec);
  CHECK(times_of(queue, {w, 0}) == Times{0, 10, 12});
  CHECK(times_of(queue, {l, 0}) == Times{0, 10, 13});

  sketch.spec.devices = {{0, 0, 2, Order::kNone, false}};
  const Result slots = simulate(sketch.spec);
  CHECK(times_of(slots, {w, 0}) == Times{0, 10, 12});
  CHECK(times_of(slots, {l, 0}) == Times{0, 0, 3});

  sketch.spec.devices = {{0, 0, 1, Order::kNone, false}};
  const Result slot = simulate(sketch.spec);
  CHECK(times_of(slot, {w, 0}) == Times{0, 10, 12});
  CHECK(times_of(slot, {l, 0}) == Times{0, 12, 15});
}

// k (stream 0) ends at time 10. Each op that then starts takes 5, so the threads return at time 15
// in the order in which their ops started: n, the next op of k's stream, then the ops that wait for
// k on stream 1 and stream 2. On a limited device n starts last.
TEST_CASE("twin by hand: the own stream goes first, then the others in order", "[twin]") {
  Sketch sketch;
  for (int i = 0; i < 4; ++i) sketch.add_program();
  for (int i = 0; i < 3; ++i) sketch.add_stream();
  const int k = sketch.add_kernel(0, 0, 10);
  const int second = sketch.add_kernel(1, 2, 5);
  const int first = sketch.add_kernel(2, 1, 5);
  const int n = sketch.add_kernel(3, 0, 5);
  for (int a : {second, first}) sketch.actor(a).afters = {{k, 0}};
  for (int a : {second, first, n}) sketch.actor(a).blocking = true;
  const auto returns_at_15 = [&] {
    std::vector<int> actors;
    for (const LogLine& line : simulate(sketch.spec).log) {
      if (line.time == 15 && line.returns) actors.push_back(line.op.actor);
    }
    return actors;
  };
  CHECK(returns_at_15() == std::vector<int>{n, first, second});

  sketch.add_device(0, {0}, 0, 1, false);
  CHECK(returns_at_15() == std::vector<int>{first, second, n});
}

// c, on stream 0, is a call that rank 1 never makes; it holds the only slot. b, on stream 1, stays
// behind stream 0 and also waits for a later step, which is queued behind c. l is the next op of
// stream 1.
TEST_CASE("twin by hand: who stays behind a stream that hangs, hangs", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.add_stream();
  sketch.spec.threads[1].list.clear();
  const int c = sketch.add_calls(0, 0, {collective_call(0, 1, 5)});
  const int b = sketch.add_kernel(0, 2, 2);
  const int l = sketch.add_kernel(0, 2, 2);
  const int later = sketch.add_kernel(0, 0, 1);
  sketch.actor(b).behind = 0;
  const Result behind = simulate(sketch.spec);
  CHECK(behind.verdict == Verdict::kStarved);
  CHECK(times_of(behind, {b, 0}) == Times{0, -1, -1});
  CHECK(times_of(behind, {l, 0}) == Times{0, -1, -1});
  CHECK(waits_of(behind) ==
        Lines{"act 0#0 -> rank 1: peer of a collective", "act 1#0 -> act 0#0: stream order",
              "act 2#0 -> act 1#0: stream order", "act 3#0 -> act 0#0: stream order"});

  sketch.actor(b).afters = {{later, 0}, {c, 0}};
  sketch.add_device(0, {0, 2}, 0, 1, false);
  CHECK(waits_of(simulate(sketch.spec)) ==
        Lines{"act 0#0 -> rank 1: peer of a collective", "act 1#0 -> act 3#0: data",
              "act 1#0 -> act 0#0: data", "act 1#0 -> act 0#0: stream order",
              "act 1#0 -> act 0#0: device room", "act 2#0 -> act 1#0: stream order",
              "act 3#0 -> act 0#0: stream order"});
}

// The thread is blocked in w, which waits for the next step of its program.
TEST_CASE("twin by hand: an op that waits for a later one deadlocks a thread in it", "[twin]") {
  Sketch sketch;
  sketch.add_program();
  for (int i = 0; i < 2; ++i) sketch.add_stream();
  const int w = sketch.add_kernel(0, 1, 2);
  const int later = sketch.add_kernel(0, 0, 3);
  sketch.actor(w).afters = {{later, 0}};
  const Result completes = simulate(sketch.spec);
  CHECK(times_of(completes, {w, 0}) == Times{0, 3, 5});

  sketch.actor(w).blocking = true;
  const Result hangs = simulate(sketch.spec);
  CHECK(hangs.verdict == Verdict::kDeadlock);
  CHECK(waits_of(hangs) == Lines{"act 0#0 -> act 1#0: data", "act 1#0 -> act 0#0: host wait"});
}

}  // namespace pipesim::twin
