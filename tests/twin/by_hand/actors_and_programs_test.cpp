// Compares the twin with answers worked out by hand from docs/reference/rules.md, so that the twin
// is a valid reference for the engine. The tests need nothing from sim/.
#include <initializer_list>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/twin/sketch.hpp"

namespace pipesim::twin {

// Two stages on their own threads and streams, which take 10 and 20. A message between threads
// leaves at the end of an op. With one slot, the producer waits for the acknowledgement: A0 0-10,
// B0 10-30, A1 30-40, B1 40-60. With two slots, A0 and A1 are launched at time 0, and A1 starts
// when its stream is free. B1 is launched at time 20, when A1 ends, and waits on its stream until
// time 30.
TEST_CASE("twin by hand: a second slot lets two stages overlap", "[twin]") {
  Sketch sketch;
  const int a = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 10, 2);
  const int b = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 20, 2);
  sketch.add_edge(sketch.add_register(a, 1), b);

  const Result one_slot = simulate(sketch.spec);
  CHECK(one_slot.verdict == Verdict::kCompleted);
  CHECK(times_of(one_slot, {a, 0}) == Times{0, 0, 10});
  CHECK(times_of(one_slot, {b, 0}) == Times{10, 10, 30});
  CHECK(times_of(one_slot, {a, 1}) == Times{30, 30, 40});
  CHECK(times_of(one_slot, {b, 1}) == Times{40, 40, 60});
  CHECK(one_slot.last_progress == 60);
  CHECK(one_slot.ops_done == 4);

  sketch.spec.registers.front().slots = 2;
  const Result two_slots = simulate(sketch.spec);
  CHECK(times_of(two_slots, {a, 1}) == Times{0, 10, 20});
  CHECK(times_of(two_slots, {b, 1}) == Times{20, 30, 50});
}

// Two actors, each of which reads the other: neither gets a start message, so neither runs.
TEST_CASE("twin by hand: a ring without tokens is a deadlock on data", "[twin]") {
  Sketch sketch;
  const int thread = sketch.add_thread();
  const int stream = sketch.add_stream();
  const int a = sketch.add_actor(thread, stream, 10, 1);
  const int b = sketch.add_actor(thread, stream, 10, 1);
  sketch.add_edge(sketch.add_register(a, 1), b);
  sketch.add_edge(sketch.add_register(b, 1), a);

  const Result result = simulate(sketch.spec);
  CHECK(result.end == End::kStuck);
  CHECK(result.verdict == Verdict::kDeadlock);
  CHECK(result.last_progress == 0);
  CHECK(result.times.empty());
  CHECK(waits_of(result) == Lines{"act 0#0 -> act 1#0: data", "act 1#0 -> act 0#0: data"});
}

// Two collectives over two ranks, which launch them in opposite orders on one stream each. Actors 0
// and 1 belong to collective 0, actors 2 and 3 to collective 1. The heads 0#0 and 3#0 wait for
// their peers, which are queued behind the other head.
TEST_CASE("twin by hand: collectives in opposite orders deadlock", "[twin]") {
  Sketch sketch;
  sketch.spec.ranks = 2;
  for (int rank : {0, 1}) {
    sketch.spec.threads.push_back({rank, true, {}});
    sketch.add_stream(rank);
  }
  for (int collective : {0, 1}) {
    for (int rank : {0, 1}) {
      sketch.actor(sketch.add_actor(rank, rank, 5, 1)).collective = collective;
    }
  }
  sketch.spec.threads[0].list = {0, 2};
  sketch.spec.threads[1].list = {3, 1};
  sketch.spec.communicators.push_back({{0, 1}, false, false});
  sketch.spec.collectives.push_back({0, {{0, 0}, {1, 1}}});
  sketch.spec.collectives.push_back({0, {{0, 2}, {1, 3}}});

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kDeadlock);
  CHECK(times_of(result, {0, 0}) == Times{0, 0, -1});
  CHECK(times_of(result, {1, 0}) == Times{0, -1, -1});
  CHECK(waits_of(result) ==
        Lines{"act 0#0 -> act 1#0: peer of a collective", "act 2#0 -> act 0#0: stream order",
              "act 3#0 -> act 2#0: peer of a collective", "act 1#0 -> act 3#0: stream order"});
}

// Item 0 arrives at time 7, item 1 never arrives. When op 0 ends at time 17, its message to the
// consumer leaves. The consumer is on the same thread, which is then blocked in op 1 of the source
// and does not read the message.
TEST_CASE("twin by hand: a source without items starves who shares its thread", "[twin]") {
  Sketch sketch;
  const int thread = sketch.add_thread();
  const int stream = sketch.add_stream();
  const int source = sketch.add_actor(thread, stream, 10, 2);
  sketch.actor(source).outside = {true, 1, 7, 100};
  sketch.actor(source).immediate = false;
  sketch.add_edge(sketch.add_register(source, 2), sketch.add_actor(thread, stream, 10, 2));

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kStarved);
  CHECK(times_of(result, {source, 0}) == Times{7, 7, 17});
  CHECK(result.last_progress == 17);
  CHECK(waits_of(result) ==
        Lines{"act 0#1 -> outside: outside input", "act 1#0 -> act 0#1: host wait"});

  // The log: the thread is in op 0 from time 0 to 7, when item 0 arrives, and then in op 1 forever.
  CHECK(result.log == std::vector<LogLine>{{0, {source, 0}, false},
                                           {7, {source, 0}, true},
                                           {7, {source, 1}, false}});

  // After both items the thread still blocks, in op 2 of the source, although the source has only
  // two ops.
  sketch.actor(source).outside.items = 2;
  const Result beyond = simulate(sketch.spec);
  CHECK(times_of(beyond, {source, 1}) == Times{107, 107, 117});
  CHECK(times_of(beyond, {1, 0}) == Times{107, 117, 127});
  CHECK(beyond.verdict == Verdict::kStarved);
  // The consumer acknowledged at its launch, so the source had a free slot.
  CHECK(beyond.log.back() == LogLine{107, {source, 2}, false});
  CHECK(waits_of(beyond) ==
        Lines{"act 0#2 -> outside: outside input", "act 1#1 -> act 0#2: host wait"});
}

// Two streams of a device share a launch queue of two. The third launch waits for the end of b's
// first op at time 4, the fourth for the end of a's first op at time 10.
TEST_CASE("twin by hand: the streams of a device share a launch queue", "[twin]") {
  Sketch sketch;
  const int thread = sketch.add_program();
  const int streams[] = {sketch.add_stream(), sketch.add_stream()};
  const int a = sketch.add_actor(thread, streams[0], 10, 2);
  const int b = sketch.add_actor(thread, streams[1], 4, 2);
  sketch.add_device(0, {streams[0], streams[1]}, 0, 0, false);
  sketch.spec.devices[0].launch_queue = 2;
  sketch.spec.threads.front().list = {a, b, a, b};

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kCompleted);
  CHECK(times_of(result, {a, 0}) == Times{0, 0, 10});
  CHECK(times_of(result, {b, 0}) == Times{0, 0, 4});
  CHECK(times_of(result, {a, 1}) == Times{4, 10, 20});
  CHECK(times_of(result, {b, 1}) == Times{10, 10, 14});
}

// One thread, three ops with overhead 3 on a stream with a launch queue of two; each op takes 10.
// Launches are at times 3 and 6. The overhead of the third op ends at time 9, and its launch waits
// until the first op ends at time 13. Only then does the thread read the start message of a second
// actor. This actor blocks the thread from its launch at time 13 to its end: 13-15 on its own
// stream.
TEST_CASE("twin by hand: overhead, launch queue and blocking hold the thread", "[twin]") {
  Sketch sketch;
  const int thread = sketch.add_thread();
  const int a = sketch.add_actor(thread, sketch.add_stream(0, 2), 10, 3);
  sketch.actor(a).launch_overhead = 3;
  const int b = sketch.add_actor(thread, sketch.add_stream(), 2, 2);
  sketch.actor(b).blocking = true;

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kCompleted);
  CHECK(times_of(result, {a, 0}) == Times{3, 3, 13});
  CHECK(times_of(result, {a, 1}) == Times{6, 13, 23});
  CHECK(times_of(result, {a, 2}) == Times{13, 23, 33});
  CHECK(times_of(result, {b, 0}) == Times{13, 13, 15});
  CHECK(times_of(result, {b, 1}) == Times{15, 15, 17});
  CHECK(result.log == std::vector<LogLine>{{0, {a, 0}, false},
                                           {3, {a, 0}, true},
                                           {3, {a, 1}, false},
                                           {6, {a, 1}, true},
                                           {6, {a, 2}, false},
                                           {13, {a, 2}, true},
                                           {13, {b, 0}, false},
                                           {15, {b, 0}, true},
                                           {15, {b, 1}, false},
                                           {17, {b, 1}, true}});
}

// A source S (takes 4, one slot) feeds a repeat R, which has two ops per slot (takes 1) and drains
// its two slots every two ops. A pack P (takes 2) fills its slot every second op; the end E (takes
// 1) reads this slot. Each actor has its own thread and stream. S0 0-4. R0 and R1 are launched at
// time 4: 4-5, 5-6; R1 acknowledges at time 6: S1 6-10. P0 5-7, P1 is launched at time 6: 7-9. R
// drains before R2, so R2 waits until both slots of R are free at time 9, and for S1 until time 10.
// E0 9-10. R2 10-11, R3 11-12, P2 11-13, P3 13-15, E1 15-16.
TEST_CASE("twin by hand: repeat drains, pack fills a slot every second op", "[twin]") {
  Sketch sketch;
  const int s = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 4, 2);
  const int r = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 1, 4);
  const int p = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 2, 4);
  const int e = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 1, 2);
  sketch.add_edge(sketch.add_register(s, 1), r, 2);
  const int repeated = sketch.add_register(r, 2);
  sketch.spec.registers.back().drain_every = 2;
  sketch.add_edge(repeated, p);
  sketch.add_edge(sketch.add_register(p, 1, 2), e);

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kCompleted);
  CHECK(times_of(result, {s, 1}) == Times{6, 6, 10});
  CHECK(times_of(result, {r, 1}) == Times{4, 5, 6});
  CHECK(times_of(result, {p, 1}) == Times{6, 7, 9});
  CHECK(times_of(result, {e, 0}) == Times{9, 9, 10});
  CHECK(times_of(result, {r, 2}) == Times{10, 10, 11});
  CHECK(times_of(result, {r, 3}) == Times{10, 11, 12});
  CHECK(times_of(result, {p, 3}) == Times{12, 13, 15});
  CHECK(times_of(result, {e, 1}) == Times{15, 15, 16});
}

// A (takes 1) -> B in place (takes 1) -> C (takes 5), with one slot each and their own threads and
// streams. B0 1-2 keeps A's slot until C0 has acknowledged at time 7. B then acknowledges A at
// once, because its stream is empty: A1 7-8, B1 8-9, C1 9-14. If B were not in place, A1 would
// start at time 2. The second part adds a consumer D of B's other register, on B's thread and
// stream, which takes 20. D0 is launched with B0 at time 1 and runs 2-22. The acknowledgement
// becomes a mark after D0: A1 22-23.
TEST_CASE("twin by hand: an output in place holds the input back", "[twin]") {
  Sketch sketch;
  const int a = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 1, 2);
  const int b = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 1, 2);
  const int c = sketch.add_actor(sketch.add_thread(), sketch.add_stream(), 5, 2);
  sketch.add_edge(sketch.add_register(a, 1), b);
  sketch.add_edge(sketch.add_register(b, 1), c);
  sketch.spec.registers.back().in_place = 0;

  const Result empty = simulate(sketch.spec);
  CHECK(empty.verdict == Verdict::kCompleted);
  CHECK(times_of(empty, {c, 0}) == Times{2, 2, 7});
  CHECK(times_of(empty, {a, 1}) == Times{7, 7, 8});
  CHECK(times_of(empty, {b, 1}) == Times{8, 8, 9});
  CHECK(times_of(empty, {c, 1}) == Times{9, 9, 14});

  const int d = sketch.add_actor(1, 1, 20, 2);
  sketch.add_edge(sketch.add_register(b, 1), d);
  const Result mark = simulate(sketch.spec);
  CHECK(times_of(mark, {d, 0}) == Times{1, 2, 22});
  CHECK(times_of(mark, {a, 1}) == Times{22, 22, 23});
}

// Rank 0 arrives at time 0. Rank 1 arrives at time 2, when the data of its source X (0-2) is there.
// By then a long op L (0-50) runs on another stream of rank 0. Initialization waits for L, so both
// members are launched at time 50. They take 3 and 4, so both run for 4.
TEST_CASE("twin by hand: init waits for all ranks and for their devices", "[twin]") {
  Sketch sketch;
  sketch.spec.ranks = 2;
  const int stream0 = sketch.add_stream(0);
  const int stream1 = sketch.add_stream(1);
  const int other0 = sketch.add_stream(0);
  const int first = sketch.add_actor(sketch.add_thread(0), stream0, 3, 1);
  const int thread1 = sketch.add_thread(1);
  const int second = sketch.add_actor(thread1, stream1, 4, 1);
  const int x = sketch.add_actor(thread1, stream1, 2, 1);
  sketch.actor(x).immediate = false;
  sketch.add_edge(sketch.add_register(x, 1), second);
  sketch.add_actor(sketch.add_thread(0), other0, 50, 1);
  sketch.actor(first).collective = 0;
  sketch.actor(second).collective = 0;
  sketch.spec.communicators.push_back({{0, 1}, true, true});
  sketch.spec.collectives.push_back({0, {{0, first}, {1, second}}});

  const Result waits = simulate(sketch.spec);
  CHECK(waits.verdict == Verdict::kCompleted);
  CHECK(times_of(waits, {first, 0}) == Times{50, 50, 54});
  CHECK(times_of(waits, {second, 0}) == Times{50, 50, 54});

  sketch.spec.communicators.front().waits_for_device = false;
  const Result does_not = simulate(sketch.spec);
  CHECK(times_of(does_not, {first, 0}) == Times{2, 2, 6});

  // Without rank 1's member, the collective never runs. The last progress is the end of L at time
  // 50.
  sketch.spec.collectives.front().members[1].actor = -1;
  sketch.actor(second).collective = -1;
  const Result never = simulate(sketch.spec);
  CHECK(never.verdict == Verdict::kStarved);
  CHECK(never.last_progress == 50);
  CHECK(waits_of(never) == Lines{"act 0#0 -> rank 1: communicator creation"});
}

// A program runs its producer twice before its consumer, but the producer has only one slot: the
// program waits for its own next op.
TEST_CASE("twin by hand: a program can wait for its own next op", "[twin]") {
  Sketch sketch;
  sketch.spec.threads.push_back({0, true, {0, 0, 1, 1}});
  const int stream = sketch.add_stream();
  const int a = sketch.add_actor(0, stream, 10, 2);
  const int b = sketch.add_actor(0, stream, 10, 2);
  sketch.add_edge(sketch.add_register(a, 1), b);

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kDeadlock);
  CHECK(waits_of(result) == Lines{"act 0#1 -> act 0#1: credit (data)"});

  sketch.spec.threads.front().list = {0, 1, 0, 1};
  const Result other = simulate(sketch.spec);
  // If messages on one thread are immediate, all ops are launched at time 0, and the stream orders
  // them.
  CHECK(other.verdict == Verdict::kCompleted);
  CHECK(times_of(other, {b, 1}) == Times{0, 30, 40});
}

// Rank 1 arrives after a kernel of 7. The first calls take 5 and 4, so both run 7-12; the second
// calls run 12-18. If rank 1 swaps the operations, the first calls do not match, and never end.
TEST_CASE("twin by hand: collective calls match by the order of issue", "[twin]") {
  Sketch sketch = two_ranks();
  const int a = sketch.add_calls(0, 0, {collective_call(0, 1, 5)});
  const int b = sketch.add_calls(0, 0, {collective_call(0, 2, 3)});
  sketch.add_kernel(1, 1, 7);
  const int c = sketch.add_calls(1, 1, {collective_call(0, 1, 4)});
  const int d = sketch.add_calls(1, 1, {collective_call(0, 2, 6)});

  const Result matches = simulate(sketch.spec);
  CHECK(matches.verdict == Verdict::kCompleted);
  CHECK(times_of(matches, {a, 0}) == Times{0, 0, 12});
  CHECK(times_of(matches, {c, 0}) == Times{0, 7, 12});
  CHECK(times_of(matches, {b, 0}) == Times{0, 12, 18});
  CHECK(times_of(matches, {d, 0}) == Times{0, 12, 18});

  sketch.call(c).signature.operation = 2;
  sketch.call(d).signature.operation = 1;
  const Result differs = simulate(sketch.spec);
  CHECK(differs.end == End::kStuck);
  CHECK(differs.verdict == Verdict::kMismatch);
  CHECK(differs.mismatches == std::vector<Mismatch>{{false, {a, 0}, {c, 0}}});
  CHECK(times_of(differs, {c, 0}) == Times{0, 7, -1});
  CHECK(differs.last_progress == 7);
  CHECK(waits_of(differs) == Lines{"act 0#0 -> act 3#0: peer of a collective",
                                   "act 3#0 -> act 0#0: peer of a collective",
                                   "act 1#0 -> act 0#0: stream order",
                                   "act 4#0 -> act 3#0: stream order"});
}

// The recv starts at time 10, after a kernel. A rendezvous send meets the recv at that time, and
// both run for 6. A buffered send runs 0-6 and frees its stream; the recv then takes its own 4:
// 10-14. After a kernel of 3, the recv waits for the buffered send, 3-6, and runs 6-10. A different
// tag is recorded as a mismatch and changes nothing else. Without the recv, the send waits for the
// missing rank.
TEST_CASE("twin by hand: a send waits for its receive unless it is eager", "[twin]") {
  Sketch sketch = two_ranks();
  const int send = sketch.add_calls(0, 0, {message_call(CallKind::kSend, 1, 6)});
  const int behind = sketch.add_kernel(0, 0, 1);
  const int before = sketch.add_kernel(1, 1, 10);
  const int receive = sketch.add_calls(1, 1, {message_call(CallKind::kReceive, 0, 4)});

  const Result meets = simulate(sketch.spec);
  CHECK(times_of(meets, {send, 0}) == Times{0, 0, 16});
  CHECK(times_of(meets, {behind, 0}) == Times{0, 16, 17});
  CHECK(times_of(meets, {receive, 0}) == Times{0, 10, 16});

  sketch.call(send).buffered = true;
  const Result buffered = simulate(sketch.spec);
  CHECK(times_of(buffered, {send, 0}) == Times{0, 0, 6});
  CHECK(times_of(buffered, {behind, 0}) == Times{0, 6, 7});
  CHECK(times_of(buffered, {receive, 0}) == Times{0, 10, 14});

  sketch.actor(before).takes = 3;
  sketch.call(receive).tag = 1;
  const Result early = simulate(sketch.spec);
  CHECK(times_of(early, {receive, 0}) == Times{0, 3, 10});
  CHECK(early.end == End::kCompleted);
  CHECK(early.verdict == Verdict::kMismatch);
  CHECK(early.mismatches == std::vector<Mismatch>{{true, {send, 0}, {receive, 0}}});

  sketch.call(send).buffered = false;
  sketch.drop_last_step();
  const Result never = simulate(sketch.spec);
  CHECK(never.verdict == Verdict::kStarved);
  CHECK(waits_of(never) ==
        Lines{"act 0#0 -> rank 1: peer of a message", "act 1#0 -> act 0#0: stream order"});
}

// Rank 0 receives from any rank at time 10, after a kernel. Rank 2's send is there at time 3, rank
// 1's send at time 5. The recvs run 10-14 and 14-20, each for the longer time of send and recv. If
// both sends are there at time 3, the smaller rank is first: 10-16 and 16-20. A waiting recv takes
// the next send: 0-7, and then 7-13. A third recv waits for a rank that sends no more.
TEST_CASE("twin by hand: a receive from any rank takes what was there first", "[twin]") {
  Sketch sketch = some_ranks(3);
  const int before = sketch.add_kernel(0, 0, 10);
  const int first = sketch.add_calls(0, 0, {message_call(CallKind::kReceive, -1, 4)});
  const int second = sketch.add_calls(0, 0, {message_call(CallKind::kReceive, -1, 4)});
  const int late = sketch.add_kernel(1, 1, 5);
  const int send = sketch.add_calls(1, 1, {message_call(CallKind::kSend, 0, 6)});
  sketch.add_kernel(2, 2, 3);
  const int other = sketch.add_calls(2, 2, {message_call(CallKind::kSend, 0, 2)});

  const Result by_time = simulate(sketch.spec);
  CHECK(times_of(by_time, {first, 0}) == Times{0, 10, 14});
  CHECK(times_of(by_time, {second, 0}) == Times{0, 14, 20});
  CHECK(times_of(by_time, {other, 0}) == Times{0, 3, 14});
  CHECK(times_of(by_time, {send, 0}) == Times{0, 5, 20});

  sketch.actor(late).takes = 3;
  const Result by_rank = simulate(sketch.spec);
  CHECK(times_of(by_rank, {send, 0}) == Times{0, 3, 16});
  CHECK(times_of(by_rank, {other, 0}) == Times{0, 3, 20});

  sketch.actor(late).takes = 5;
  sketch.actor(before).takes = 0;
  const Result waits = simulate(sketch.spec);
  CHECK(times_of(waits, {first, 0}) == Times{0, 0, 7});
  CHECK(times_of(waits, {second, 0}) == Times{0, 7, 13});

  const int third = sketch.add_calls(0, 0, {message_call(CallKind::kReceive, -1, 4)});
  const Result never = simulate(sketch.spec);
  CHECK(never.verdict == Verdict::kStarved);
  const std::string op = "act " + std::to_string(third) + "#0 -> rank ";
  CHECK(waits_of(never) ==
        Lines{op + "1: peer of a message (any)", op + "2: peer of a message (any)"});
}

// Two groups. Rank 0: buffered sends x (takes 5) and y (2) to rank 1, and a recv r (1). Rank 1:
// recvs p (3) and q (1), with a buffered send s (4) between them. x holds y back, p holds q back. x
// 0-5, s 0-4, r 4-5, p 5-8, y 5-7, which ends the group of rank 0, q 8-9.
TEST_CASE("twin by hand: calls of a group to one peer go one after the other", "[twin]") {
  Sketch sketch = two_ranks();
  const int first = sketch.add_calls(
      0, 0,
      {message_call(CallKind::kSend, 1, 5, true), message_call(CallKind::kSend, 1, 2, true),
       message_call(CallKind::kReceive, 1, 1)});
  const int second = sketch.add_calls(
      1, 1,
      {message_call(CallKind::kReceive, 0, 3), message_call(CallKind::kSend, 0, 4, true),
       message_call(CallKind::kReceive, 0, 1)});

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kCompleted);
  CHECK(times_of(result, {first, 0}) == Times{0, 0, 7});
  CHECK(times_of(result, {second, 0}) == Times{0, 0, 9});
}

// Stream 0: a kernel 0-10 and a record, at time 10. Stream 1: a wait, which is the head from time 0
// to 10, and a kernel 10-15. The host awaits the event until time 10, and works until time 12. A
// wait launched before the record does not wait. If the kernel never ends, the wait and the await
// wait for the record.
TEST_CASE("twin by hand: streams and hosts wait for an event that is recorded", "[twin]") {
  Sketch sketch = two_ranks();
  const int other = sketch.add_stream();
  sketch.spec.signals.push_back({true});
  const int kernel = sketch.add_kernel(0, 0, 10);
  const int record = sketch.add_signal_step(Role::kRecord, 0, 0, 0);
  const int wait = sketch.add_signal_step(Role::kWait, 0, 0, other);
  const int behind = sketch.add_kernel(0, other, 5);
  const int await = sketch.add_signal_step(Role::kAwait, 0, 0);
  const int work = sketch.add_work(0, 2);

  const Result result = simulate(sketch.spec);
  CHECK(times_of(result, {record, 0}) == Times{0, 10, 10});
  CHECK(times_of(result, {wait, 0}) == Times{0, 0, 10});
  CHECK(times_of(result, {behind, 0}) == Times{0, 10, 15});
  CHECK(times_of(result, {await, 0}) == Times{10, 10, 10});
  CHECK(times_of(result, {work, 0}) == Times{12, 12, 12});

  sketch.actor(kernel).role = Role::kCalls;
  sketch.actor(kernel).calls = {collective_call(0, 1, 1)};
  const Result stuck = simulate(sketch.spec);
  CHECK(stuck.verdict == Verdict::kStarved);
  CHECK(waits_of(stuck) ==
        Lines{"act 0#0 -> rank 1: peer of a collective", "act 1#0 -> act 0#0: stream order",
              "act 2#0 -> act 1#0: stream order", "act 3#0 -> act 2#0: stream order",
              "act 4#0 -> act 1#0: host wait"});

  sketch.actor(kernel).role = Role::kOp;
  sketch.actor(kernel).calls.clear();
  sketch.spec.threads[0].list = {kernel, wait, behind, record, await, work};
  const Result too_early = simulate(sketch.spec);
  CHECK(times_of(too_early, {wait, 0}) == Times{0, 0, 0});
  CHECK(times_of(too_early, {behind, 0}) == Times{0, 0, 5});
  CHECK(times_of(too_early, {await, 0}) == Times{10, 10, 10});
}

// Rank 0 sets the event at times 5 and 10. Rank 1 awaits two sets, or three sets, the last of which
// never comes.
TEST_CASE("twin by hand: a host awaits what another sets", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.signals.push_back({false});
  for (int i = 0; i < 2; ++i) {
    sketch.add_work(0, 5);
    sketch.add_signal_step(Role::kSet, 0, 0);
  }
  const int await = sketch.add_signal_step(Role::kAwait, 1, 0);
  sketch.actor(await).times = 2;
  CHECK(times_of(simulate(sketch.spec), {await, 0}) == Times{10, 10, 10});

  sketch.actor(await).times = 3;
  const Result never = simulate(sketch.spec);
  CHECK(never.verdict == Verdict::kStarved);
  CHECK(waits_of(never) == Lines{"act 4#0 -> outside: host wait"});
}

// The first thread holds the lock from time 0 to 10, then the second thread holds it until time 14.
// If the first thread never unlocks, the second waits for a program that has ended. Two locks in
// opposite orders deadlock.
TEST_CASE("twin by hand: threads stand in the line of a lock", "[twin]") {
  Sketch sketch;
  sketch.spec.locks = {{0}, {0}};
  for (int thread : {0, 1}) {
    sketch.add_program();
    sketch.add_lock_step(Role::kLock, thread, 0);
    sketch.add_work(thread, thread == 0 ? 10 : 4);
    sketch.add_lock_step(Role::kUnlock, thread, 0);
  }
  const Result result = simulate(sketch.spec);
  CHECK(times_of(result, {0, 0}) == Times{0, 0, 0});
  CHECK(times_of(result, {2, 0}) == Times{10, 10, 10});
  CHECK(times_of(result, {3, 0}) == Times{10, 10, 10});
  CHECK(times_of(result, {5, 0}) == Times{14, 14, 14});

  Sketch kept = sketch;
  kept.spec.threads[0].list.pop_back();
  kept.actor(2).ops = 0;
  const Result never = simulate(kept.spec);
  CHECK(never.verdict == Verdict::kStarved);
  CHECK(waits_of(never) == Lines{"act 3#0 -> rank 0: lock"});

  sketch.actor(2).role = sketch.actor(5).role = Role::kLock;
  sketch.actor(2).lock = sketch.actor(3).lock = 1;
  const Result cycle = simulate(sketch.spec);
  CHECK(cycle.verdict == Verdict::kDeadlock);
  CHECK(waits_of(cycle) == Lines{"act 2#0 -> act 5#0: lock", "act 5#0 -> act 2#0: lock"});
}

// Kernels 0-10 and 0-4 on two streams; a third stream is empty, and adds no wait.
TEST_CASE("twin by hand: synchronize waits for the streams it names", "[twin]") {
  Sketch sketch = two_ranks();
  const int other = sketch.add_stream();
  const int empty = sketch.add_stream();
  const int kernel = sketch.add_kernel(0, 0, 10);
  sketch.add_kernel(0, other, 4);
  const int synchronize = sketch.add_step(Role::kSynchronize, 0);
  sketch.actor(synchronize).synchronized = {0, other, empty};
  CHECK(times_of(simulate(sketch.spec), {synchronize, 0}) == Times{10, 10, 10});
  sketch.actor(synchronize).synchronized = {other};
  CHECK(times_of(simulate(sketch.spec), {synchronize, 0}) == Times{4, 4, 4});
  sketch.actor(synchronize).synchronized = {empty};
  CHECK(times_of(simulate(sketch.spec), {synchronize, 0}) == Times{0, 0, 0});

  sketch.actor(synchronize).synchronized = {0, other};
  sketch.actor(kernel).role = Role::kCalls;
  sketch.actor(kernel).calls = {collective_call(0, 1, 1)};
  CHECK(waits_of(simulate(sketch.spec)) ==
        Lines{"act 0#0 -> rank 1: peer of a collective", "act 2#0 -> act 0#0: host wait"});
}

// Rank 0 has a group on two communicators, and is blocked in the initialization of the first. Rank
// 1 initializes the second communicator first. If rank 1 swaps its initializations, both
// communicators are initialized.
TEST_CASE("twin by hand: communicators that are created in opposite orders deadlock", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.communicators = {{{0, 1}, true, false}, {{0, 1}, true, false}};
  const std::vector<Call> group = {collective_call(0, 1, 5), collective_call(1, 1, 3)};
  const int first = sketch.add_calls(0, 0, group);
  for (int communicator : {1, 0}) {
    sketch.actor(sketch.add_step(Role::kCreate, 1)).communicator = communicator;
  }
  const int second = sketch.add_calls(1, 1, group);

  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kDeadlock);
  CHECK(waits_of(result) == Lines{"act 0#0 -> act 1#0: communicator creation",
                                  "act 1#0 -> act 0#0: communicator creation"});

  sketch.spec.threads[1].list = {2, 1, second};
  const Result other = simulate(sketch.spec);
  CHECK(times_of(other, {first, 0}) == Times{0, 0, 5});
  CHECK(times_of(other, {second, 0}) == Times{0, 0, 5});
}

// Three sends whose tags increase by 2^31 + 1 modulo 2^32, from 2^32 - 2. A recv with steps of 1
// matches the first and the third tag.
TEST_CASE("twin by hand: tags step with each op", "[twin]") {
  Sketch sketch = two_ranks();
  const int send = sketch.add_calls(0, 0, {message_call(CallKind::kSend, 1, 6)});
  const int receive = sketch.add_calls(1, 1, {message_call(CallKind::kReceive, 0, 4)});
  for (int a : {send, receive}) {
    sketch.actor(a).ops = 3;
    sketch.call(a).tag = 0xfffffffe;
    sketch.call(a).tag_step = 0x80000001;
    sketch.spec.threads.at(static_cast<std::size_t>(sketch.actor(a).thread)).list = {a, a, a};
  }
  CHECK(simulate(sketch.spec).verdict == Verdict::kCompleted);

  sketch.call(receive).tag_step = 1;
  CHECK(simulate(sketch.spec).mismatches == std::vector<Mismatch>{{true, {send, 1}, {receive, 1}}});
  sketch.call(receive).tag_step = 0;
  CHECK(simulate(sketch.spec).mismatches ==
        std::vector<Mismatch>{{true, {send, 1}, {receive, 1}}, {true, {send, 2}, {receive, 2}}});
}

// Compares with the fingerprints of section 8, which other tools computed from words (a, k, launch,
// start, end) of ops. The first plan has the op (0, 0, 0, 0, 10) on rank 0. The second plan adds an
// idle rank 1, and rank 2 with the ops (0, 0, 0, 0, 20) and (2, 0, 0, 20, 25).
TEST_CASE("twin by hand: the fingerprint is that of section 8", "[twin]") {
  Sketch one;
  one.add_actor(one.add_thread(), one.add_stream(), 10, 1);
  CHECK(simulate(one.spec).fingerprint == 0x0e83b0cdcb9d8454ULL);

  Sketch two;
  two.spec.ranks = 3;
  const int thread = two.add_thread(2);
  const int stream = two.add_stream(2);
  two.add_actor(thread, stream, 20, 1);
  two.add_actor(two.add_thread(0), two.add_stream(0), 10, 1);
  two.add_actor(thread, stream, 5, 1);
  CHECK(simulate(two.spec).fingerprint == 0xbd123bbdd310f5ccULL);
}

}  // namespace pipesim::twin
