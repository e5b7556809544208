// Tests like those of actors_and_programs_test.cpp, for section 10 of docs/reference/rules.md.
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/twin/sketch.hpp"

namespace pipesim::twin {

// A on rank 0 takes 10; B on rank 1 reads A's output and takes 5. If rank 0 dies at time 5, A never
// ends. If rank 0 dies at time 10, the end of A comes first, and its message is sent: B runs 10-15,
// so all work is done despite the dead rank. If rank 1 dies at time 15, the end of B comes first,
// and no timer counts after this end.
TEST_CASE("twin by hand: what ends at the time of a death has ended", "[twin]") {
  Sketch sketch;
  sketch.spec.ranks = 2;
  const int a = sketch.add_actor(sketch.add_thread(0), sketch.add_stream(0), 10, 1);
  const int b = sketch.add_actor(sketch.add_thread(1), sketch.add_stream(1), 5, 1);
  sketch.add_edge(sketch.add_register(a, 1), b);
  sketch.spec.deaths = {{0, 5}};
  const Result early = simulate(sketch.spec);
  CHECK(early.verdict == Verdict::kStarved);
  CHECK(times_of(early, {a, 0}) == Times{0, 0, -1});
  CHECK(early.last_progress == 0);
  CHECK(waits_of(early) == Lines{"act 1#0 -> rank 0: dead rank"});
  CHECK(deaths_of(early) == Deaths{"rank 0 at 5: at a time"});

  sketch.spec.deaths = {{0, 10}};
  const Result same = simulate(sketch.spec);
  CHECK(same.verdict == Verdict::kCompleted);
  CHECK(times_of(same, {b, 0}) == Times{10, 10, 15});
  CHECK(deaths_of(same) == Deaths{"rank 0 at 10: at a time"});

  sketch.spec.deaths = {{1, 15}};
  const Result late = simulate(sketch.spec);
  CHECK(late.verdict == Verdict::kCompleted);
  CHECK(late.deaths.empty());
}

// Rank 1 continues until time 20. No rank waits for rank 0, which dies at time 5 and does not die
// again at time 7.
TEST_CASE("twin by hand: a death that makes nobody wait is a crash", "[twin]") {
  Sketch sketch = two_ranks();
  const int dead = sketch.add_kernel(0, 0, 10);
  const int behind = sketch.add_kernel(0, 0, 10);
  const int other = sketch.add_kernel(1, 1, 20);
  sketch.spec.deaths = {{0, 5}, {0, 7}};
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kCrashed);
  CHECK(times_of(result, {dead, 0}) == Times{0, 0, -1});
  CHECK(times_of(result, {behind, 0}) == Times{0, -1, -1});
  CHECK(times_of(result, {other, 0}) == Times{0, 0, 20});
  CHECK(result.waits.empty());
  CHECK(deaths_of(result) == Deaths{"rank 0 at 5: at a time"});
}

// Rank 0 works until time 5 and dies instead of setting the event, so rank 1 waits forever. In the
// second plan, rank 0 dies instead of a kernel that must wait for its launch queue until time 20.
TEST_CASE("twin by hand: a rank dies instead of an op", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.signals.push_back({false});
  sketch.add_work(0, 5);
  const int set = sketch.add_signal_step(Role::kSet, 0, 0);
  const int await = sketch.add_signal_step(Role::kAwait, 1, 0);
  sketch.actor(await).times = 1;
  sketch.actor(set).dies_at = 0;
  const Result host = simulate(sketch.spec);
  CHECK(host.verdict == Verdict::kStarved);
  CHECK(times_of(host, {set, 0}) == Times{-1, -1, -1});
  CHECK(waits_of(host) == Lines{"act 2#0 -> rank 0: dead rank"});
  CHECK(deaths_of(host) == Deaths{"rank 0 at 5: at an act in act 1#0"});

  Sketch queue = two_ranks();
  queue.spec.streams[0].launch_queue = 1;
  queue.add_kernel(0, 0, 20);
  const int second = queue.add_kernel(0, 0, 1);
  queue.actor(second).dies_at = 0;
  const Result stream = simulate(queue.spec);
  CHECK(times_of(stream, {second, 0}) == Times{-1, -1, -1});
  CHECK(deaths_of(stream) == Deaths{"rank 0 at 20: at an act in act 1#0"});
  CHECK(stream.verdict == Verdict::kCrashed);
}

// The collective would end at time 5. Rank 1 dies instead, or both ranks die.
TEST_CASE("twin by hand: a fatal call kills its rank and is not done", "[twin]") {
  Sketch sketch = two_ranks();
  const int first = sketch.add_calls(0, 0, {collective_call(0, 1, 5)});
  const int second = sketch.add_calls(1, 1, {collective_call(0, 1, 5)});
  sketch.call(second).fatal = true;
  const Result one = simulate(sketch.spec);
  CHECK(one.verdict == Verdict::kStarved);
  CHECK(times_of(one, {first, 0}) == Times{0, 0, -1});
  CHECK(waits_of(one) == Lines{"act 0#0 -> rank 1: dead rank"});
  CHECK(deaths_of(one) == Deaths{"rank 1 at 5: fatal call in act 1#0"});

  sketch.call(first).fatal = true;
  const Result both = simulate(sketch.spec);
  CHECK(both.verdict == Verdict::kCrashed);
  CHECK(deaths_of(both) ==
        Deaths{"rank 0 at 5: fatal call in act 0#0", "rank 1 at 5: fatal call in act 1#0"});
}

// Rank 0 arrives at the collective at time 0 and is dead at time 3. Rank 1 arrives at time 10; the
// collective would end at time 15, but does not. A send that ends at time 6 can be received at time
// 10, even if its sender is dead at time 8, but not if its sender is dead at time 5.
TEST_CASE("twin by hand: nothing ends in which a dead rank takes part", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.add_calls(0, 0, {collective_call(0, 1, 5)});
  sketch.add_kernel(1, 1, 10);
  const int last = sketch.add_calls(1, 1, {collective_call(0, 1, 5)});
  sketch.spec.deaths = {{0, 3}};
  const Result round = simulate(sketch.spec);
  CHECK(times_of(round, {last, 0}) == Times{0, 10, -1});
  CHECK(waits_of(round) == Lines{"act 2#0 -> rank 0: dead rank"});

  Sketch message = two_ranks();
  message.add_calls(0, 0, {message_call(CallKind::kSend, 1, 6, true)});
  message.add_kernel(1, 1, 10);
  const int receive = message.add_calls(1, 1, {message_call(CallKind::kReceive, 0, 4)});
  message.spec.deaths = {{0, 8}};
  CHECK(times_of(simulate(message.spec), {receive, 0}) == Times{0, 10, 14});
  message.spec.deaths = {{0, 5}};
  const Result lost = simulate(message.spec);
  CHECK(times_of(lost, {receive, 0}) == Times{0, 10, -1});
  CHECK(waits_of(lost) == Lines{"act 2#0 -> rank 0: dead rank"});
}

// Rank 0 arrives at time 0 and is dead at time 3; rank 1 arrives at time 5. If rank 0 were alive,
// the communicator would be initialized at time 5.
TEST_CASE("twin by hand: a communicator with a dead rank is not created", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.communicator(0).at_first_use = true;
  sketch.add_create(0, 0);
  sketch.add_work(1, 5);
  const int last = sketch.add_create(1, 0);
  CHECK(times_of(simulate(sketch.spec), {last, 0}) == Times{5, 5, 5});
  sketch.spec.deaths = {{0, 3}};
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kStarved);
  CHECK(result.last_progress == 5);
  CHECK(waits_of(result) == Lines{"act 2#0 -> rank 0: dead rank"});
}

// The kernel fails at time 10. If the thread is then in synchronize, the rank dies there. If the
// thread works until time 20, the rank dies at its next launch, or at its next await of a stream's
// event, even if the event has fired. If the thread makes no such step, the error stays unnoticed.
TEST_CASE("twin by hand: an error of a device kills who looks at it", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.signals = {{true}, {false}};
  const int first = sketch.add_signal_step(Role::kRecord, 0, 0, 0);
  const int kernel = sketch.add_kernel(0, 0, 10);
  sketch.actor(kernel).fails_at = 0;
  const int synchronize = sketch.add_step(Role::kSynchronize, 0);
  sketch.actor(synchronize).synchronized = {0};
  const int work = sketch.add_work(0, 20);
  const int next = sketch.add_kernel(0, 0, 1);
  const int await = sketch.add_signal_step(Role::kAwait, 0, 0);
  std::vector<int>& list = sketch.spec.threads[0].list;

  list = {first, kernel, synchronize};
  const Result at_once = simulate(sketch.spec);
  CHECK(times_of(at_once, {kernel, 0}) == Times{0, 0, -1});
  CHECK(deaths_of(at_once) == Deaths{"rank 0 at 10: device error in act 2#0"});

  list = {first, kernel, work, next};
  CHECK(deaths_of(simulate(sketch.spec)) == Deaths{"rank 0 at 20: device error in act 4#0"});
  sketch.actor(next).launch_overhead = 7;
  CHECK(deaths_of(simulate(sketch.spec)) == Deaths{"rank 0 at 27: device error in act 4#0"});
  list = {first, kernel, work, await};
  CHECK(deaths_of(simulate(sketch.spec)) == Deaths{"rank 0 at 20: device error in act 5#0"});

  for (int unused : {synchronize, next, await}) sketch.actor(unused).ops = 0;
  list = {first, kernel, work};
  const Result unseen = simulate(sketch.spec);
  CHECK(unseen.verdict == Verdict::kStarved);
  CHECK(times_of(unseen, {work, 0}) == Times{20, 20, 20});
  CHECK(waits_of(unseen) == Lines{"act 1#0 -> rank 0: dead rank"});
  CHECK(unseen.deaths.empty());
}

// The kernel fails at time 10, which frees no thread. A rank dies if its thread is blocked in the
// launch queue, in the launch itself, or in an await of a stream's event. The rank does not die in
// an await of an event that hosts set.
TEST_CASE("twin by hand: an error of a device is seen where a thread waits for it", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.signals = {{true}, {false}};
  const int kernel = sketch.add_kernel(0, 0, 10);
  sketch.actor(kernel).fails_at = 0;

  Sketch queue = sketch;
  queue.spec.streams[0].launch_queue = 1;
  queue.add_kernel(0, 0, 1);
  CHECK(deaths_of(simulate(queue.spec)) == Deaths{"rank 0 at 10: device error in act 1#0"});

  Sketch blocking = sketch;
  blocking.actor(kernel).blocking = true;
  CHECK(deaths_of(simulate(blocking.spec)) == Deaths{"rank 0 at 10: device error in act 0#0"});

  Sketch recorded = sketch;
  recorded.add_signal_step(Role::kRecord, 0, 0, 0);
  recorded.add_signal_step(Role::kAwait, 0, 0);
  CHECK(deaths_of(simulate(recorded.spec)) == Deaths{"rank 0 at 10: device error in act 2#0"});

  Sketch set = sketch;
  set.actor(set.add_signal_step(Role::kAwait, 0, 1)).times = 1;
  const Result lives = simulate(set.spec);
  CHECK(lives.deaths.empty());
  CHECK(waits_of(lives) == Lines{"act 0#0 -> rank 0: dead rank", "act 1#0 -> outside: host wait"});
  CHECK(lives.verdict == Verdict::kStarved);
}

// The first of two members of a collective fails at time 5. The thread of this member has ended, so
// its rank lives on.
TEST_CASE("twin by hand: a collective waits for a member that has failed", "[twin]") {
  Sketch sketch = two_ranks();
  for (int rank : {0, 1}) sketch.actor(sketch.add_kernel(rank, rank, 5)).collective = 0;
  sketch.spec.collectives.push_back({0, {{0, 0}, {1, 1}}});
  sketch.actor(0).fails_at = 0;
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kStarved);
  CHECK(result.deaths.empty());
  CHECK(waits_of(result) ==
        Lines{"act 0#0 -> rank 0: dead rank", "act 1#0 -> act 0#0: peer of a collective"});

  sketch.actor(0).blocking = sketch.actor(1).blocking = true;
  sketch.actor(1).fails_at = 0;
  CHECK(deaths_of(simulate(sketch.spec)) ==
        Deaths{"rank 0 at 5: device error in act 0#0", "rank 1 at 5: device error in act 1#0"});
}

// A collective that takes 9 ends before the link goes down at time 10; a collective that takes 10
// does not. The error is due at time 17, and the next poll, at time 20, finds it on both streams.
// By then the run is quiescent, unless a kernel runs until time 30.
TEST_CASE("twin by hand: what runs over a link that goes down hangs", "[twin]") {
  Sketch sketch = two_ranks();
  const int first = sketch.add_calls(0, 0, {collective_call(0, 1, 9)});
  const int second = sketch.add_calls(1, 1, {collective_call(0, 1, 3)});
  sketch.communicator(0).link = sketch.add_link(0, 1, 10);
  CHECK(times_of(simulate(sketch.spec), {first, 0}) == Times{0, 0, 9});

  sketch.call(second).takes = 10;
  const Result hangs = simulate(sketch.spec);
  CHECK(hangs.verdict == Verdict::kStarved);
  CHECK(times_of(hangs, {first, 0}) == Times{0, 0, -1});
  CHECK(waits_of(hangs) ==
        Lines{"act 0#0 -> rank 1: failed link", "act 1#0 -> rank 0: failed link"});
  CHECK(hangs.deaths.empty());

  sketch.spec.links[0].retry = 7;
  sketch.spec.poll = 5;
  CHECK(deaths_of(simulate(sketch.spec)) ==
        Deaths{"rank 0 at 20: link error in act 0#0, after the rest",
               "rank 1 at 20: link error in act 1#0, after the rest"});
  sketch.add_kernel(1, sketch.add_stream(1), 30);
  const Result before = simulate(sketch.spec);
  CHECK(deaths_of(before) ==
        Deaths{"rank 0 at 20: link error in act 0#0", "rank 1 at 20: link error in act 1#0"});
  CHECK(before.verdict == Verdict::kCrashed);
}

// The link goes down at time 10. A send of 6 that meets its recv at time 5 hangs. The link of the
// send counts; the link of the recv counts only if the send has no link. A buffered send of 10
// hangs alone; a recv of data that is already buffered uses no link.
TEST_CASE("twin by hand: messages hang on a link as well", "[twin]") {
  Sketch sketch = two_ranks();
  const int send = sketch.add_calls(0, 0, {message_call(CallKind::kSend, 1, 6)});
  const int before = sketch.add_kernel(1, 1, 5);
  const int receive = sketch.add_calls(1, 1, {message_call(CallKind::kReceive, 0, 4)});
  const int early = sketch.add_link(0, 1, 10);
  const int late = sketch.add_link(1, 0, 100);
  sketch.call(receive).link = early;
  const Result met = simulate(sketch.spec);
  CHECK(met.verdict == Verdict::kStarved);
  CHECK(waits_of(met) == Lines{"act 0#0 -> rank 1: failed link", "act 2#0 -> rank 0: failed link"});
  sketch.call(send).link = late;
  CHECK(times_of(simulate(sketch.spec), {receive, 0}) == Times{0, 5, 11});

  sketch.call(send).buffered = true;
  sketch.call(send).link = early;
  sketch.call(send).takes = 9;
  sketch.actor(before).takes = 50;
  CHECK(times_of(simulate(sketch.spec), {receive, 0}) == Times{0, 50, 54});
  sketch.call(send).takes = 10;
  const Result alone = simulate(sketch.spec);
  CHECK(waits_of(alone) ==
        Lines{"act 0#0 -> rank 1: failed link", "act 2#0 -> act 0#0: peer of a message"});
}

// Rank 0 cannot arrive at time 5, because its link is down; rank 1 arrives at time 7 and waits for
// rank 0. At time 4, rank 0 arrives in time. If a second thread of rank 0 arrives at time 0, the
// communicator is initialized at time 7, but the first thread stays blocked.
TEST_CASE("twin by hand: a rank does not arrive at an init over a link that is down", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.communicator(0).at_first_use = true;
  sketch.communicator(0).links = {sketch.add_link(1, 0, 5), -1};
  const int work = sketch.add_work(0, 5);
  const int cut_off = sketch.add_create(0, 0);
  sketch.add_work(1, 7);
  const int other = sketch.add_create(1, 0);
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kStarved);
  CHECK(result.last_progress == 7);
  CHECK(waits_of(result) ==
        Lines{"act 1#0 -> rank 1: failed link", "act 3#0 -> act 1#0: communicator creation"});
  sketch.actor(work).launch_overhead = 4;
  CHECK(simulate(sketch.spec).verdict == Verdict::kCompleted);

  sketch.actor(work).launch_overhead = 5;
  const int first = sketch.add_create(sketch.add_program(0), 0);
  const Result second = simulate(sketch.spec);
  CHECK(times_of(second, {first, 0}) == Times{7, 7, 7});
  CHECK(times_of(second, {other, 0}) == Times{7, 7, 7});
  CHECK(times_of(second, {cut_off, 0}) == Times{-1, -1, -1});
  CHECK(waits_of(second) == Lines{"act 1#0 -> rank 1: failed link"});
}

// The call of rank 1 is queued behind a kernel of 100, so the collective ends at time 105. Both
// calls are launched at time 0. With a timeout of 105, the end comes first; with 104, both calls
// time out at time 104. With a timeout of 20 and polls at multiples of 8, both calls time out at
// time 24.
TEST_CASE("twin by hand: the watchdog looks at what was launched long ago", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.add_calls(0, 0, {collective_call(0, 1, 5)});
  sketch.add_kernel(1, 1, 100);
  sketch.add_calls(1, 1, {collective_call(0, 1, 5)});
  sketch.communicator(0).timeout = 105;
  const Result completed = simulate(sketch.spec);
  CHECK(completed.verdict == Verdict::kCompleted);
  CHECK(completed.deaths.empty());

  sketch.communicator(0).timeout = 104;
  CHECK(deaths_of(simulate(sketch.spec)) ==
        Deaths{"rank 0 at 104: watchdog in act 0#0", "rank 1 at 104: watchdog in act 2#0"});

  sketch.communicator(0).timeout = 20;
  sketch.spec.poll = 8;
  const Result polled = simulate(sketch.spec);
  CHECK(polled.verdict == Verdict::kCrashed);
  CHECK(deaths_of(polled) ==
        Deaths{"rank 0 at 24: watchdog in act 0#0", "rank 1 at 24: watchdog in act 2#0"});
}

// Rank 0 makes calls at times 0 and 4, on two communicators; rank 1 makes none. The second op times
// out first, at time 14. The waits are those of the quiescent state at time 4.
TEST_CASE("twin by hand: the watchdog names the first op whose time has come", "[twin]") {
  Sketch sketch = two_ranks();
  sketch.spec.communicators.push_back(sketch.spec.communicators[0]);
  sketch.communicator(0).timeout = 30;
  sketch.communicator(1).timeout = 10;
  sketch.add_calls(0, 0, {collective_call(0, 1, 5)});
  sketch.add_work(0, 4);
  const int group = sketch.add_calls(0, 0, {collective_call(0, 1, 5), collective_call(1, 1, 5)});
  const Result result = simulate(sketch.spec);
  CHECK(deaths_of(result) == Deaths{"rank 0 at 14: watchdog in act 2#0, after the rest"});
  CHECK(result.verdict == Verdict::kStarved);
  CHECK(waits_of(result) ==
        Lines{"act 0#0 -> rank 1: peer of a collective", "act 2#0 -> act 0#0: stream order"});

  // The two ops time out at time 34, the first poll: the watchdog names the first op of the stream.
  sketch.communicator(1).timeout = 30;
  sketch.spec.poll = 34;
  CHECK(deaths_of(simulate(sketch.spec)) ==
        Deaths{"rank 0 at 34: watchdog in act 0#0, after the rest"});
  CHECK(times_of(result, {group, 0}) == Times{4, -1, -1});
}

// A thread that blocks in an initialization at time 5 times out at time 15; `poll` does not apply.
// The timeout of an await counts from the start of the await at time 5, and includes the launch
// overhead of the step. A step that ends exactly at its timeout completes.
TEST_CASE("twin by hand: threads have timeouts of their own", "[twin]") {
  Sketch init = two_ranks();
  init.spec.poll = 4;
  init.communicator(0).at_first_use = true;
  init.communicator(0).init_timeout = 10;
  init.add_work(0, 5);
  init.add_create(0, 0);
  CHECK(deaths_of(simulate(init.spec)) ==
        Deaths{"rank 0 at 15: timeout in act 1#0, after the rest"});

  // Rank 0 connects at time 5, and rank 1 never does: nothing ends the wait.
  Sketch connection = two_ranks();
  connection.communicator(0).connects = true;
  connection.communicator(0).init_timeout = 7;
  connection.add_work(0, 5);
  connection.add_calls(0, 0, {collective_call(0, 1, 10)});
  CHECK(deaths_of(simulate(connection.spec)).empty());

  Sketch await = two_ranks();
  await.spec.signals.push_back({false});
  await.add_work(0, 5);
  const int step = await.add_signal_step(Role::kAwait, 0, 0);
  await.actor(step).times = 1;
  await.actor(step).launch_overhead = 3;
  await.actor(step).timeout = 10;
  CHECK(deaths_of(simulate(await.spec)) ==
        Deaths{"rank 0 at 15: timeout in act 1#0, after the rest"});

  Sketch work = two_ranks();
  const int slow = work.add_work(0, 20);
  work.actor(slow).timeout = 19;
  CHECK(deaths_of(simulate(work.spec)) == Deaths{"rank 0 at 19: timeout in act 0#0"});
  work.actor(slow).timeout = 20;
  CHECK(simulate(work.spec).verdict == Verdict::kCompleted);
}

// Ranks 0, 1 and 3 are on one host. Rank 1 dies at time 3: the other ranks of its host follow at
// time 8, and start no launcher themselves. Rank 2 dies at time 8 by the list of deaths, which
// comes before the launcher; the host of rank 2 has no other rank.
TEST_CASE("twin by hand: the launcher ends the host of a dead rank", "[twin]") {
  Sketch sketch;
  sketch.spec.ranks = 4;
  for (int rank : {0, 1, 2, 3})
    sketch.add_kernel(sketch.add_program(rank), sketch.add_stream(rank), 50);
  sketch.spec.host_of_rank = {0, 0, 1, 0};
  sketch.spec.launcher = 5;
  sketch.spec.deaths = {{1, 3}, {2, 8}};
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kCrashed);
  CHECK(deaths_of(result) == Deaths{"rank 1 at 3: at a time", "rank 2 at 8: at a time",
                                    "rank 0 at 8: launcher", "rank 3 at 8: launcher"});
}

// Four timers are due at time 10: a timeout of a thread of rank 0; the watchdog of rank 1; a link
// error of rank 2, whose buffered send has hung since time 0; and the death of rank 3 in the list.
TEST_CASE("twin by hand: timers of one time come in their order", "[twin]") {
  Sketch sketch;
  sketch.spec.ranks = 4;
  for (int rank : {0, 1, 2, 3}) {
    sketch.add_program(rank);
    sketch.add_stream(rank);
  }
  sketch.spec.communicators.push_back({{1, 2}, false, false});
  sketch.spec.communicators.push_back({{2, 3}, false, false});
  sketch.actor(sketch.add_work(0, 20)).timeout = 10;
  sketch.add_calls(1, 1, {collective_call(0, 1, 5)});
  sketch.communicator(0).timeout = 10;
  const int send = sketch.add_calls(2, 2, {message_call(CallKind::kSend, 3, 5, true)});
  sketch.call(send).communicator = 1;
  sketch.call(send).link = sketch.add_link(2, 3, 1, 9);
  sketch.spec.deaths = {{3, 10}};
  CHECK(deaths_of(simulate(sketch.spec)) ==
        Deaths{"rank 3 at 10: at a time", "rank 2 at 10: link error in act 2#0",
               "rank 1 at 10: watchdog in act 1#0", "rank 0 at 10: timeout in act 0#0"});
}

// A (rank 0, takes 1) -> B in place (rank 1, takes 1) -> C (rank 1, takes 5), one slot each. B ends
// at time 2, and rank 1 is dead at time 4, before C acknowledges: the credit of A never returns.
TEST_CASE("twin by hand: what a dead rank has lent does not come back", "[twin]") {
  Sketch sketch;
  sketch.spec.ranks = 2;
  const int a = sketch.add_actor(sketch.add_thread(0), sketch.add_stream(0), 1, 2);
  const int b = sketch.add_actor(sketch.add_thread(1), sketch.add_stream(1), 1, 2);
  const int c = sketch.add_actor(sketch.add_thread(1), sketch.add_stream(1), 5, 2);
  sketch.add_edge(sketch.add_register(a, 1), b);
  sketch.add_edge(sketch.add_register(b, 1), c);
  sketch.spec.registers.back().in_place = 0;
  sketch.spec.deaths = {{1, 4}};
  const Result result = simulate(sketch.spec);
  CHECK(result.verdict == Verdict::kStarved);
  CHECK(times_of(result, {b, 0}) == Times{1, 1, 2});
  CHECK(times_of(result, {c, 0}) == Times{2, 2, -1});
  CHECK(waits_of(result) == Lines{"act 0#1 -> rank 1: dead rank"});
}

}  // namespace pipesim::twin
