// Tests of the twin's flows of collectives [9.4], and of ops that take their kernel slots one by
// one [5.3]. The expectations are counted by hand.
#include <string>

#include "tests/support/catch.hpp"
#include "tests/twin/sketch.hpp"
#include "tests/twin/twin.hpp"

namespace pipesim::twin {
namespace {

Call flow_call(Flow flow, int root, int steps, std::int64_t takes) {
  Call call = collective_call(0, 1, takes);
  call.flow = flow;
  call.peer = root;
  call.steps = steps;
  return call;
}

}  // namespace

// Rank 1 is busy until time 20. The root runs alone, 0-5, and rank 1 runs 20-25. If the flow has no
// buffer steps, or the root is late, each rank waits for the other.
TEST_CASE("twin by hand: the root of a broadcast does not wait", "[twin]") {
  Sketch sketch = two_ranks();
  const int root = sketch.add_calls(0, 0, {flow_call(Flow::kFromRoot, 0, 1, 5)});
  sketch.add_kernel(1, 1, 20);
  const int other = sketch.add_calls(1, 1, {flow_call(Flow::kFromRoot, 0, 1, 5)});
  const Result ahead = simulate(sketch.spec);
  CHECK(times_of(ahead, {root, 0}) == Times{0, 0, 5});
  CHECK(times_of(ahead, {other, 0}) == Times{0, 20, 25});

  sketch.call(root).steps = 0;
  const Result together = simulate(sketch.spec);
  CHECK(times_of(together, {root, 0}) == Times{0, 0, 25});

  sketch.call(root).steps = 1;
  sketch.call(root).peer = sketch.call(other).peer = 1;
  const Result late = simulate(sketch.spec);
  CHECK(times_of(late, {root, 0}) == Times{0, 0, 25});
}

// The buffer to rank 1 has 8 steps. The third broadcast of 4 steps waits until rank 1 has arrived
// at the first, at time 20, and runs 20-25.
TEST_CASE("twin by hand: flows share the eight steps of a buffer", "[twin]") {
  Sketch sketch = two_ranks();
  int last = 0;
  for (int i = 0; i < 3; ++i) {
    last = sketch.add_calls(0, 0, {flow_call(Flow::kFromRoot, 0, 4, 5)});
  }
  sketch.add_kernel(1, 1, 20);
  for (int i = 0; i < 3; ++i) sketch.add_calls(1, 1, {flow_call(Flow::kFromRoot, 0, 4, 5)});
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kCompleted);
  CHECK(times_of(result, {last, 0}) == Times{0, 10, 25});
}

// Rank 1 makes no call: in the second broadcast, the root waits for free steps in the buffer to
// rank 1.
TEST_CASE("twin by hand: who never takes a flow is waited for", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.add_calls(0, 0, {flow_call(Flow::kFromRoot, 0, 8, 5)});
  sketch.add_calls(0, 0, {flow_call(Flow::kFromRoot, 0, 8, 5)});
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kStarved);
  CHECK(waits_of(result) == Lines{"act 1#0 -> rank 1: peer of a collective"});
}

// Two kernels that need 3 slots each, on two streams of a device with 4 slots. The second kernel
// takes the remaining slot, and starts when the first kernel has ended. If the second kernel takes
// all its slots at once, it leaves the remaining slot free, and a third kernel of 1 slot starts
// first.
TEST_CASE("twin by hand: an op takes its slots one by one", "[twin]") {
  const auto with = [](bool whole) {
    Sketch sketch = two_ranks();
    for (int stream = 2; stream < 4; ++stream) sketch.spec.streams.push_back({0, 1024});
    sketch.add_device(0, {0, 2, 3}, 0, 4, false);
    const int first = sketch.add_kernel(0, 0, 10);
    const int second = sketch.add_kernel(0, 2, 10);
    const int third = sketch.add_kernel(0, 3, 10);
    sketch.actor(first).kernel_slots = sketch.actor(second).kernel_slots = 3;
    if (whole) sketch.actor(second).gang = 3;
    const Result result = simulate(sketch.spec);
    CHECK(times_of(result, {first, 0}) == Times{0, 0, 10});
    CHECK(times_of(result, {second, 0}) == (whole ? Times{0, 10, 20} : Times{0, 10, 20}));
    CHECK(times_of(result, {third, 0}) == (whole ? Times{0, 0, 10} : Times{0, 10, 20}));
  };
  with(false);
  with(true);
}

// A device with 6 slots, of which a kernel has 3. The next kernel needs 4 slots and takes `gang`
// slots at a time. One by one, it takes 3, and none is left. In pairs, it takes 2, and a third
// kernel gets the last slot. All at once, it takes none, so a fourth kernel also gets its 2 slots.
TEST_CASE("twin by hand: an op takes its slots in gangs", "[twin]") {
  struct Row {
    int gang;
    Times second, third, fourth;
  };
  for (const Row& row :
       {Row{1, {0, 10, 20}, {0, 10, 20}, {0, 20, 30}}, Row{2, {0, 10, 20}, {0, 0, 10}, {0, 10, 20}},
        Row{4, {0, 10, 20}, {0, 0, 10}, {0, 0, 10}}}) {
    INFO(row.gang);
    Sketch sketch = two_ranks();
    for (int stream = 2; stream < 5; ++stream) sketch.spec.streams.push_back({0, 1024});
    sketch.add_device(0, {0, 2, 3, 4}, 0, 6, false);
    const int first = sketch.add_kernel(0, 0, 10);
    const int second = sketch.add_kernel(0, 2, 10);
    const int third = sketch.add_kernel(0, 3, 10);
    const int fourth = sketch.add_kernel(0, 4, 10);
    sketch.actor(first).kernel_slots = 3;
    sketch.actor(second).kernel_slots = 4;
    sketch.actor(second).gang = row.gang;
    sketch.actor(fourth).kernel_slots = 2;
    const Result result = simulate(sketch.spec);
    CHECK(times_of(result, {second, 0}) == row.second);
    CHECK(times_of(result, {third, 0}) == row.third);
    CHECK(times_of(result, {fourth, 0}) == row.fourth);
  }
}

// Each rank has 4 slots, and makes calls of 3 slots on two communicators. The ranks make the calls
// in opposite orders, so each rank starts only a part of its second call.
TEST_CASE("twin by hand: half of a kernel holds its slots", "[twin]") {
  const auto with = [](int slots) {
    Sketch sketch = two_ranks();
    sketch.spec.communicators.push_back({{0, 1}});
    for (int rank = 0; rank < 2; ++rank) {
      sketch.spec.streams.push_back({rank, 1024});
      sketch.add_device(rank, {rank, 2 + rank}, 0, 4, false);
      for (int i = 0; i < 2; ++i) {
        const int call = sketch.add_calls(rank, i == 0 ? rank : 2 + rank,
                                          {collective_call(i == rank ? 0 : 1, 1, 5)});
        sketch.actor(call).kernel_slots = slots;
      }
    }
    return simulate(sketch.spec);
  };
  CHECK(with(2).verdict == Verdict::kCompleted);
  const Result hangs = with(3);
  CHECK(hangs.verdict == Verdict::kDeadlock);
  CHECK(waits_of(hangs) == Lines{"act 0#0 -> act 3#0: peer of a collective",
                                 "act 2#0 -> act 1#0: peer of a collective",
                                 "act 1#0 -> act 0#0: device room",
                                 "act 3#0 -> act 2#0: device room"});
}

}  // namespace pipesim::twin
