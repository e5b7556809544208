// Tests options of a run, such as an early end, and ops that wait for other streams
// (docs/reference/rules.md, 5.4): the order of their edges in the wait-for graph, which the twin
// does not compare. tests/twin covers the results of runs.
#include "sim/engine.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "sim/wait_graph.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using sim::ActorId;
using sim::DeviceId;
using sim::LaunchOrder;
using sim::LogEntry;
using sim::PlanBuilder;
using sim::RankId;
using sim::RunEnd;
using sim::StreamId;
using sim::ThreadId;
using sim::Time;

namespace {

// Actor b reads the output of actor a; both are on one thread and one stream.
const char* const kTwo =
    "schema: 1\nstreams: {s: {}}\nactors:\n"
    "  a: {stream: s, source: 3, slots: 1, takes: 2us, launch_overhead: 1us}\n"
    "  b: {stream: s, reads: [a], takes: 3us}\n";

// A plan under construction, with one program and several streams per rank, and a communicator of
// all ranks.
struct Programs {
  explicit Programs(std::uint32_t ranks, std::uint32_t streams) : builder(ranks) {
    std::vector<RankId> all;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      all.push_back(RankId{r});
      builder.add_thread(RankId{r}, sim::ThreadOrder::kProgram);
      for (std::uint32_t i = 0; i < streams; ++i) builder.add_stream(RankId{r}, 1024);
    }
    builder.add_communicator(all, false, false);
    programs.resize(ranks);
  }

  ActorId op(std::uint32_t rank, std::uint32_t stream, std::int64_t takes, std::uint32_t ops = 1,
             bool blocking = false) {
    sim::ActorSpec spec;
    spec.thread = ThreadId{rank};
    spec.stream = StreamId{stream};
    spec.takes = sim::Duration{takes};
    spec.ops = ops;
    spec.blocking = blocking;
    return builder.add_actor(spec);
  }

  ActorId calls(std::uint32_t rank, std::uint32_t stream, const sim::CallSpec& call,
                std::uint32_t ops = 1) {
    sim::StepSpec spec;
    spec.role = sim::Role::kCalls;
    spec.thread = ThreadId{rank};
    spec.stream = StreamId{stream};
    spec.ops = ops;
    const ActorId id = builder.add_step(spec);
    builder.add_call(call);
    return id;
  }

  void device(std::uint32_t hardware_queues, std::uint32_t resident,
              const std::vector<std::uint32_t>& streams) {
    const DeviceId id = builder.add_device(
        RankId{0}, {hardware_queues, resident, LaunchOrder::kNone, false, false});
    for (const std::uint32_t stream : streams) builder.put_on_device(StreamId{stream}, id);
  }

  sim::Plan plan() {
    for (std::uint32_t t = 0; t < programs.size(); ++t) {
      builder.set_program(ThreadId{t}, programs[t]);
    }
    return builder.build();
  }

  PlanBuilder builder;
  std::vector<std::vector<ActorId>> programs;  // steps by rank
};

// Returns the start and end of all ops, as "0-10 10-20"; a time that never happened is empty.
std::string times_of(const sim::Outcome& outcome) {
  const auto text = [](Time time) { return time == sim::kNever ? "" : std::to_string(time.ns); };
  std::string all;
  for (const sim::OpTimes& times : outcome.op_times.all()) {
    all += (all.empty() ? "" : " ") + text(times.start) + '-' + text(times.end);
  }
  return all;
}

std::string times_of(const sim::Plan& plan) {
  return times_of(sim::run(plan, {.keep_op_times = true}));
}

// Returns the edges in the order of the graph, as "1#0 -> 0#0 data".
std::vector<std::string> waits_of(const sim::Plan& plan) {
  const sim::WaitGraph graph = sim::wait_graph(plan, sim::run(plan).state);
  const auto text = [&](std::uint32_t index) {
    const sim::WaitNode& node = graph.nodes[index];
    if (node.kind == sim::WaitNodeKind::kOutside) return std::string("outside");
    if (node.kind == sim::WaitNodeKind::kRank) return "rank " + std::to_string(node.rank.value);
    return std::to_string(node.actor.value) + '#' + std::to_string(node.k);
  };
  const auto kind = [](sim::WaitKind wait) -> std::string {
    switch (wait) {
      case sim::WaitKind::kStreamOrder:
        return "stream order";
      case sim::WaitKind::kData:
        return "data";
      case sim::WaitKind::kHostWait:
        return "host wait";
      case sim::WaitKind::kKernelSlots:
        return "device room";
      case sim::WaitKind::kPeerOfCollective:
        return "peer of a collective";
      default:
        return "other";
    }
  };
  std::vector<std::string> lines;
  for (const sim::WaitEdge& edge : graph.edges) {
    lines.push_back(text(edge.from) + " -> " + text(edge.to) + ' ' + kind(edge.kind));
  }
  return lines;
}

}  // namespace

TEST_CASE("a run can be ended after any number of events", "[sim][engine]") {
  const models::Lowered lowered = testing::lowered_of(kTwo);
  const sim::Outcome whole = sim::run(lowered.plan);
  REQUIRE(whole.end == RunEnd::kCompleted);
  for (std::uint64_t events = 0; events <= whole.events; ++events) {
    const sim::Outcome part = sim::run(lowered.plan, {.max_events = events});
    CHECK(part.events == events);
    CHECK((part.end == RunEnd::kInterrupted) == (events < whole.events));
  }
}

// The thread enters a#1 at time 0 and launches it at time 1. With one slot, a#2 must wait for b#1.
// The launch of b#1 at time 1 gives the slot back, because its message leaves at launch on the same
// thread. So a#2 is entered at time 1 and launched at time 2, and a#3 is entered at time 2 and
// launched at time 3.
TEST_CASE("a run can be ended at the moment when an op is entered", "[sim][engine]") {
  const models::Lowered lowered = testing::lowered_of(kTwo);
  const sim::ActorId a{0};
  const sim::Outcome stopped =
      sim::run(lowered.plan, {.keep_op_times = true, .until_actor = a, .until_k = 2});
  CHECK(stopped.end == RunEnd::kUntil);
  CHECK(stopped.state.in_launch(lowered.plan, a));
  CHECK(stopped.state.actors[a].launched == 2);
  CHECK(stopped.op_times.all()[2].enter == Time{2000});
  CHECK(stopped.op_times.all()[2].launch == sim::kNever);
  // An op that is never entered does not end the run.
  CHECK(sim::run(lowered.plan, {.until_actor = a, .until_k = 3}).end == RunEnd::kCompleted);
  // The earlier of two limits counts.
  const sim::Outcome earlier = sim::run(
      lowered.plan, {.keep_op_times = true, .until = Time{1999}, .until_actor = a, .until_k = 2});
  CHECK(earlier.end == RunEnd::kUntil);
  CHECK(earlier.op_times.all()[2].enter == sim::kNever);
}

TEST_CASE("the log has the lines of the host threads in their order", "[sim][engine]") {
  const models::Lowered lowered = testing::lowered_of(kTwo);
  const sim::ActorId a{0};
  const sim::ActorId b{1};
  const sim::Outcome outcome = sim::run(lowered.plan, {.keep_log = true});
  CHECK(outcome.log == std::vector<LogEntry>{{Time{0}, a, 0, false},
                                             {Time{1000}, a, 0, true},
                                             {Time{1000}, b, 0, false},
                                             {Time{1000}, b, 0, true},
                                             {Time{1000}, a, 1, false},
                                             {Time{2000}, a, 1, true},
                                             {Time{2000}, b, 1, false},
                                             {Time{2000}, b, 1, true},
                                             {Time{2000}, a, 2, false},
                                             {Time{3000}, a, 2, true},
                                             {Time{3000}, b, 2, false},
                                             {Time{3000}, b, 2, true}});
  CHECK(sim::run(lowered.plan).log.empty());
}

// An op of a takes 10 ns, an op of b 1 ns. With `ahead` 0, b#k starts at the end of a#k; with
// `ahead` 1, at the end of a#(k+1).
TEST_CASE("an op starts after an op of another stream", "[sim][engine]") {
  for (const std::uint32_t ahead : {0U, 1U}) {
    Programs programs(1, 2);
    const ActorId a = programs.op(0, 0, 10, 3);
    const ActorId b = programs.op(0, 1, 1, 2);
    programs.builder.add_after(b, a, ahead);
    programs.programs[0] = {b, b, a, a, a};
    const std::string of_b = ahead == 0 ? " 10-11 20-21" : " 20-21 30-31";
    CHECK(times_of(programs.plan()) == "0-10 10-20 20-30" + of_b);
  }
}

// c waits for a and b: the op that ends later counts, whatever the order of the waits.
TEST_CASE("an op starts after all ops that it names", "[sim][engine]") {
  for (const bool first : {false, true}) {
    Programs programs(1, 3);
    const ActorId a = programs.op(0, 0, 10);
    const ActorId b = programs.op(0, 1, 7);
    const ActorId c = programs.op(0, 2, 1);
    programs.builder.add_after(c, first ? a : b, 0);
    programs.builder.add_after(c, first ? b : a, 0);
    programs.programs[0] = {a, b, c};
    CHECK(times_of(programs.plan()) == "0-10 0-7 10-11");
  }
}

// b waits for the ops that are queued on a's stream when b is launched: none, one or two.
TEST_CASE("what an op stays behind is known at its launch", "[sim][engine]") {
  Programs programs(1, 2);
  const ActorId a = programs.op(0, 0, 10, 3);
  const ActorId b = programs.op(0, 1, 1, 3);
  programs.builder.set_behind(b, StreamId{0});
  programs.programs[0] = {b, a, b, a, b, a};
  CHECK(times_of(programs.plan()) == "0-10 10-20 20-30 0-1 10-11 20-21");

  Programs last(1, 2);
  last.op(0, 0, 10, 3);
  last.op(0, 1, 1, 3);
  last.builder.set_behind(b, StreamId{0});
  last.programs[0] = {a, a, a, b, b, b};
  CHECK(times_of(last.plan()) == "0-10 10-20 20-30 30-31 31-32 32-33");
}

// On three streams, k takes 10 ns, w 2 ns after k, and l 3 ns. With one hardware queue, l is queued
// behind w. With two slots, w takes no slot while it waits. With one slot, both w and l can start
// at 10 ns; w is first, because its stream has the smaller id.
TEST_CASE("what waits for another stream has its queue on the device, but no slot",
          "[sim][engine]") {
  const auto times = [](std::uint32_t hardware_queues, std::uint32_t resident) {
    Programs programs(1, 3);
    const ActorId k = programs.op(0, 0, 10);
    const ActorId w = programs.op(0, 1, 2);
    const ActorId l = programs.op(0, 2, 3);
    programs.builder.add_after(w, k, 0);
    programs.device(hardware_queues, resident, {0, 1, 2});
    programs.programs[0] = {k, w, l};
    return times_of(programs.plan());
  };
  CHECK(times(1, 0) == "0-10 10-12 10-13");
  CHECK(times(0, 2) == "0-10 10-12 0-3");
  CHECK(times(0, 1) == "0-10 10-12 12-15");
}

// k is on a stream without a device. w waits for k, on a stream of a device with one slot, where no
// other op ends.
TEST_CASE("an op that ends starts what waits on a limited device", "[sim][engine]") {
  Programs programs(1, 2);
  const ActorId k = programs.op(0, 0, 10);
  const ActorId w = programs.op(0, 1, 2);
  programs.builder.add_after(w, k, 0);
  programs.device(0, 1, {1});
  programs.programs[0] = {k, w};
  CHECK(times_of(programs.plan()) == "0-10 10-12");
}

// Rank 1 never calls c (stream 0), which holds the only slot. Two more ops are queued behind c. b
// waits for the second of these ops, for c, and for the ops that are on stream 0 when b is
// launched: c and the first op. e is queued behind b.
TEST_CASE("the waits of an op for other streams come first, in order", "[sim][engine]") {
  Programs programs(2, 2);
  sim::CallSpec call;
  call.communicator = sim::CommunicatorId{0};
  const ActorId c = programs.calls(0, 0, call);
  const ActorId first = programs.op(0, 0, 1);
  const ActorId second = programs.op(0, 0, 1);
  const ActorId b = programs.op(0, 1, 1);
  const ActorId e = programs.op(0, 1, 1);
  programs.builder.add_after(b, second, 0);
  programs.builder.add_after(b, c, 0);
  programs.builder.set_behind(b, StreamId{0});
  programs.device(0, 1, {0, 1});
  programs.programs[0] = {c, first, b, e, second};
  const sim::Plan plan = programs.plan();
  CHECK(sim::run(plan).end == RunEnd::kStuck);
  CHECK(times_of(plan) == "0- - - - -");
  CHECK(waits_of(plan) ==
        std::vector<std::string>{"0#0 -> rank 1 peer of a collective", "1#0 -> 0#0 stream order",
                                 "2#0 -> 0#0 stream order", "3#0 -> 2#0 data", "3#0 -> 0#0 data",
                                 "3#0 -> 1#0 stream order", "3#0 -> 0#0 device room",
                                 "4#0 -> 3#0 stream order"});
}

// b needs the second op of a, which is launched after b. If b blocks its thread, a is never
// launched: b waits for the next op of the program (a#0), which waits for the thread.
TEST_CASE("an op may wait for one that its own thread has not launched", "[sim][engine]") {
  for (const bool blocking : {false, true}) {
    Programs programs(1, 2);
    const ActorId a = programs.op(0, 0, 3, 2);
    const ActorId b = programs.op(0, 1, 2, 1, blocking);
    programs.builder.add_after(b, a, 1);
    programs.programs[0] = {b, a, a};
    const sim::Plan plan = programs.plan();
    if (!blocking) {
      CHECK(times_of(plan) == "0-3 3-6 6-8");
      continue;
    }
    CHECK(times_of(plan) == "- - -");
    CHECK(waits_of(plan) == std::vector<std::string>{"0#0 -> 1#0 host wait", "1#0 -> 0#0 data"});
  }
}

// The tags of three ops of a call are 2^32 - 2, then 2^31 - 1 and 0, or 2^32 - 1 and 0.
TEST_CASE("tags step with each op, modulo 2^32", "[sim][engine]") {
  const auto mismatches = [](std::uint32_t step_of_send, std::uint32_t step_of_receive) {
    Programs programs(2, 1);
    sim::CallSpec call;
    call.communicator = sim::CommunicatorId{0};
    call.kind = sim::CallKind::kSend;
    call.peer = RankId{1};
    call.tag = 0xfffffffe;
    call.tag_step = step_of_send;
    const ActorId send = programs.calls(0, 0, call, 3);
    call.kind = sim::CallKind::kReceive;
    call.peer = RankId{0};
    call.tag_step = step_of_receive;
    const ActorId receive = programs.calls(1, 1, call, 3);
    programs.programs = {{send, send, send}, {receive, receive, receive}};
    const sim::Outcome outcome = sim::run(programs.plan());
    CHECK(outcome.end == RunEnd::kCompleted);
    std::vector<std::uint32_t> ops;
    for (const sim::Mismatch& mismatch : outcome.mismatches) {
      CHECK(mismatch.message);
      CHECK(mismatch.second_k == mismatch.first_k);
      ops.push_back(mismatch.first_k);
    }
    return ops;
  };
  using Ops = std::vector<std::uint32_t>;
  CHECK(mismatches(1, 1).empty());
  CHECK(mismatches(0x80000001, 0x80000001).empty());
  CHECK(mismatches(0x80000001, 1) == Ops{1});
  CHECK(mismatches(1, 0) == Ops{1, 2});
  CHECK(mismatches(0, 1) == Ops{1, 2});
}
