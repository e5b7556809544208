// Host programs, rule by rule (docs/reference/rules.md, 5.3 and 9), from the YAML to the verdict.
// The expectations are derived by hand; comments explain the derivations that are not obvious.
#include <string>

#include "models/result/explanation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::Explanation;
using sim::Verdict;
using sim::WaitKind;
using testing::explanation_in_contract;
using testing::mistakes_in;

namespace {

// The head of each scenario of two ranks. The tests use the reading contract; nccl_modes_test.cpp
// tests the other readings.
const std::string kTwo = "schema: 1\nranks: 2\ngroups: {g: all, h: all}\n";

// Returns a scenario of two ranks with a program each, one step per line.
std::string two_programs(const std::string& zero, const std::string& one,
                         const std::string& top = {}) {
  return kTwo + top + "programs:\n  - on: 0\n    do:\n" + zero + "  - on: 1\n    do:\n" + one;
}

std::string step(const std::string& fields) { return "      - {" + fields + "}\n"; }

bool on_cycle(const Explanation& found, WaitKind kind) {
  for (const models::Wait& wait : found.cycle) {
    if (wait.kind == kind) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a collective call starts with its last member and takes the longest time",
          "[scenarios][programs]") {
  // Rank 1 arrives after 5 us, and the call takes the longer of 2 and 3 us: 8 us.
  const std::string zero = step("all_reduce: g, takes: 2us") + step("synchronize: device");
  const std::string one = step("compute: late, takes: 5us") +
                          step("all_reduce: g, takes: 3us, after: [compute]") +
                          step("synchronize: device");
  const Explanation found = explanation_in_contract(two_programs(zero, one));
  CHECK(found.verdict == Verdict::kCompleted);
  CHECK(found.time_ns == 8'000);
}

TEST_CASE("collective calls match by order: another operation, root, size or type never ends",
          "[scenarios][programs]") {
  const auto differences = [](const std::string& zero, const std::string& one) {
    const Explanation found = explanation_in_contract(two_programs(step(zero), step(one)));
    CHECK(found.verdict == Verdict::kMismatch);
    CHECK(found.cause == models::Cause::kMismatch);
    CHECK(found.ops_done == 0);
    REQUIRE(found.mismatches.size() == 1);
    CHECK(!found.mismatches[0].message);
    CHECK(found.mismatches[0].first.rank + found.mismatches[0].second.rank == 1);
    return found.mismatches[0].differences;
  };
  using Texts = std::vector<std::string>;
  CHECK(differences("all_reduce: g", "all_gather: g") == Texts{"all_reduce and all_gather"});
  CHECK(differences("broadcast: g, root: 0", "broadcast: g, root: 1") ==
        Texts{"root 0 and root 1"});
  CHECK(differences("all_reduce: g, bytes: 8B", "all_reduce: g, bytes: 4B") ==
        Texts{"8 B and 4 B"});
  CHECK(differences("all_reduce: g, type: bf16", "all_reduce: g") ==
        Texts{"type bf16 and type none"});
}

TEST_CASE("the mismatch is the cause also where there is a cycle", "[scenarios][programs]") {
  const std::string zero =
      step("all_reduce: g") + step("send: h, to: 1") + step("recv: h, from: 1");
  const std::string one = step("all_gather: g") + step("send: h, to: 0") + step("recv: h, from: 0");
  const Explanation found = explanation_in_contract(two_programs(zero, one));
  CHECK(found.verdict == Verdict::kMismatch);
  CHECK(found.cycle.empty());
}

TEST_CASE("many ranks that differ alike from the first are one mismatch", "[scenarios][programs]") {
  const Explanation found = explanation_in_contract(
      "schema: 1\nranks: 64\ngroups: {g: all}\nprograms:\n  do:\n    - {on: 0, "
      "do: [{all_reduce: "
      "g, bytes: 1B}]}\n    - {on: rank > 0, do: [{all_reduce: g, bytes: 2B}]}\n");
  REQUIRE(found.mismatches.size() == 1);
  CHECK(found.mismatches[0].first.rank == 0);
  CHECK(found.mismatches[0].ranks.size() == 63);
}

TEST_CASE("a message of another size or tag arrives and is a mismatch", "[scenarios][programs]") {
  const Explanation size = explanation_in_contract(
      two_programs(step("send: g, to: 1, bytes: 8B"), step("recv: g, from: 0, bytes: 4B")));
  CHECK(size.verdict == Verdict::kMismatch);
  CHECK(size.ops_done == 2);
  REQUIRE(size.mismatches.size() == 1);
  CHECK(size.mismatches[0].message);
  CHECK(size.mismatches[0].first.rank == 0);
  CHECK(size.mismatches[0].differences == std::vector<std::string>{"8 B and 4 B"});
  // The two sends have the same size, and their recvs come in the opposite order: only the tags
  // differ.
  const auto both = [](const char* call, const char* end, const char* a, const char* b) {
    const std::string start = std::string(call) + ": g, " + end + ", bytes: 4B, tag: ";
    return step(start + a) + step(start + b);
  };
  const Explanation swapped = explanation_in_contract(
      two_programs(both("send", "to: 1", "x", "y"), both("recv", "from: 0", "y", "x")));
  CHECK(swapped.verdict == Verdict::kMismatch);
  CHECK(swapped.ops_done == 4);
  CHECK(swapped.mismatches.size() == 2);
}

TEST_CASE("a tag may differ from rank to rank", "[scenarios][programs]") {
  const std::string send = step("send: g, to: 1, tag: rank + 1");
  CHECK(explanation_in_contract(two_programs(send, step("recv: g, from: 0, tag: rank"))).verdict ==
        Verdict::kCompleted);
  const Explanation other =
      explanation_in_contract(two_programs(send, step("recv: g, from: 0, tag: 10 * rank")));
  REQUIRE(other.mismatches.size() == 1);
  CHECK(other.mismatches[0].differences == std::vector<std::string>{"tag 1 and tag 10"});
  CHECK(mistakes_in(two_programs(step("send: g, to: 1, tag: [a]"), ""))
            .find("expected a value, found a list") != std::string::npos);
}

TEST_CASE("a cycle beside messages that do not fit is reported, too", "[scenarios][programs]") {
  const auto program = [](const std::string& message, const std::string& a, const std::string& b) {
    return step(message) + step("all_reduce: " + a) + step("synchronize: device") +
           step("all_reduce: " + b);
  };
  const Explanation found =
      explanation_in_contract(two_programs(program("send: g, to: 1, bytes: 8B", "g", "h"),
                                           program("recv: g, from: 0, bytes: 4B", "h", "g")));
  CHECK(found.verdict == Verdict::kMismatch);
  CHECK(found.cause == models::Cause::kMismatch);
  CHECK(found.mismatches.size() == 1);
  CHECK(found.cycle.size() == 4);
}

TEST_CASE("an event that a rank never records holds its host up as little as its streams",
          "[scenarios][programs]") {
  const Explanation found = explanation_in_contract(
      two_programs(step("record: e"), step("wait: e") + step("await: e") + step("compute: a")));
  CHECK(found.verdict == Verdict::kCompleted);
}

TEST_CASE("a communicator cannot be used once it is destroyed", "[scenarios][programs]") {
  const auto mistakes = [](const std::string& steps) {
    return mistakes_in(kTwo + "programs:\n  do:\n" + steps);
  };
  const std::string destroy = step("destroy: g");
  for (const char* use :
       {"all_reduce: g", "create: g", "destroy: g", "group: [{all_reduce: g}, {all_reduce: h}]"}) {
    INFO(use);
    const std::string found = mistakes(destroy + step(use));
    CHECK(
        found.find("communicator 'g' is used after it was destroyed, on rank 0\n  it is destroyed "
                   "in line 6") != std::string::npos);
  }
  CHECK(mistakes("      - {repeat: 2, do: [{all_reduce: g}, {destroy: g}]}\n")
            .find("6:26: communicator 'g' is used after") == 0);
  CHECK(mistakes(step("all_reduce: g") + destroy + step("all_reduce: h")).empty());
  CHECK(mistakes(step("on: 0, do: [{destroy: g}]") + step("on: 1, do: [{all_reduce: g}]")).empty());
}

TEST_CASE("sends above the threshold wait for their receive, those up to it do not",
          "[scenarios][programs]") {
  const auto verdict = [](const std::string& bytes) {
    const std::string top = "communicators: {named: {c: {group: g, eager: 64KiB, host: on}}}\n";
    const auto program = [&](const std::string& other) {
      return step("send: c, to: " + other + ", bytes: " + bytes + ", takes: 1us") +
             step("recv: c, from: " + other + ", bytes: " + bytes);
    };
    return explanation_in_contract(two_programs(program("1"), program("0"), top)).verdict;
  };
  CHECK(verdict("64KiB") == Verdict::kCompleted);
  CHECK(verdict("65537B") == Verdict::kDeadlock);
}

TEST_CASE("a group of calls progresses together and blocks its stream until all are done",
          "[scenarios][programs]") {
  const auto exchange = [](const std::string& other) {
    return "      - group: [{send: g, to: " + other + ", takes: 4us}, {recv: g, from: " + other +
           "}]\n" + step("compute: next, takes: 1us, after: [nccl g]");
  };
  const Explanation found = explanation_in_contract(two_programs(exchange("1"), exchange("0")));
  CHECK(found.verdict == Verdict::kCompleted);
  CHECK(found.time_ns == 5'000);
}

TEST_CASE("calls of a group to one rank keep their order", "[scenarios][programs]") {
  const auto group = [](const std::string& call, const std::string& first,
                        const std::string& second) {
    return "      - group: [{" + call + ", bytes: " + first + "}, {" + call + ", bytes: " + second +
           "}]\n";
  };
  const std::string sends = group("send: g, to: 1", "1B", "2B");
  const Explanation same =
      explanation_in_contract(two_programs(sends, group("recv: g, from: 0", "1B", "2B")));
  CHECK(same.verdict == Verdict::kCompleted);
  const Explanation other =
      explanation_in_contract(two_programs(sends, group("recv: g, from: 0", "2B", "1B")));
  // The first recv waits for more bytes than the first send has, so the second pair never meets.
  CHECK(other.verdict == Verdict::kMismatch);
  CHECK(other.mismatches.size() == 1);
}

TEST_CASE("a communicator that is made at first use blocks the host until all ranks come",
          "[scenarios][programs]") {
  // Each rank initializes a different communicator first, so neither host reaches its second call.
  const std::string zero = step("all_reduce: g") + step("all_reduce: h");
  const std::string one = step("all_reduce: h") + step("all_reduce: g");
  const Explanation lazy =
      explanation_in_contract(two_programs(zero, one, "communicators: {creation: first_use}\n"));
  CHECK(lazy.verdict == Verdict::kDeadlock);
  CHECK(on_cycle(lazy, WaitKind::kCommunicatorInit));
  CHECK(explanation_in_contract(two_programs(zero, one)).verdict == Verdict::kCompleted);
}

TEST_CASE("create and split need every rank of the communicator", "[scenarios][programs]") {
  for (const char* word : {"create", "split", "destroy"}) {
    INFO(word);
    const std::string call = step(std::string(word) + ": g");
    CHECK(explanation_in_contract(two_programs(call, call)).verdict == Verdict::kCompleted);
    const Explanation found = explanation_in_contract(two_programs(call, step("host: other")));
    CHECK(found.verdict == Verdict::kStarved);
    REQUIRE(found.roots.size() == 1);
    CHECK(found.roots[0].party.rank == 1);
  }
}

TEST_CASE("slots for one kernel: two communicators in opposite order hang, slots for two is enough",
          "[scenarios][programs]") {
  const std::string zero = step("all_reduce: g") + step("all_reduce: h");
  const std::string one = step("all_reduce: h") + step("all_reduce: g");
  const Explanation found =
      explanation_in_contract(two_programs(zero, one, "device: {resident: 1}\n"));
  CHECK(found.verdict == Verdict::kDeadlock);
  CHECK(found.cycle.size() == 4);
  CHECK(on_cycle(found, WaitKind::kKernelSlots));
  CHECK(explanation_in_contract(two_programs(zero, one, "device: {resident: 2}\n")).verdict ==
        Verdict::kCompleted);
}

TEST_CASE("in one hardware queue a wait holds up what other streams have",
          "[scenarios][programs]") {
  // Rank 0's stream `a` waits for an event of stream `nccl g`. With one hardware queue, the call on
  // h is queued behind this wait. Rank 1 calls g only after its call on h is done.
  const std::string zero = step("all_reduce: g") +
                           step("compute: next, stream: a, after: [nccl g]") +
                           step("all_reduce: h");
  const std::string one =
      step("all_reduce: h") + step("synchronize: device") + step("all_reduce: g");
  const auto with = [&](const std::string& queues) {
    return explanation_in_contract(
        two_programs(zero, one, "device: {hardware_queues: " + queues + "}\n"));
  };
  CHECK(with("1").verdict == Verdict::kDeadlock);
  CHECK(on_cycle(with("1"), WaitKind::kKernelSlots));
  CHECK(with("0").verdict == Verdict::kCompleted);
}

TEST_CASE("the implicit launch order starts calls as the host launched them",
          "[scenarios][programs]") {
  // On rank 0 the input of g is late: when x frees its slot at 90 us, g still waits for the event,
  // and h takes the slot. On rank 1, g starts at 10 us.
  const auto program = [](const std::string& takes) {
    return step("compute: x, takes: " + takes) + step("host: python, takes: 10us") +
           step("all_reduce: g, after: [compute]") + step("host: python, takes: 1us") +
           step("all_reduce: h");
  };
  const auto verdict = [&](const std::string& device) {
    return explanation_in_contract(
               two_programs(program("90us"), program("1us"), "device: {" + device + "}\n"))
        .verdict;
  };
  CHECK(verdict("resident: 1") == Verdict::kDeadlock);
  CHECK(verdict("resident: 1, launch_order: implicit") == Verdict::kCompleted);
}

TEST_CASE("locks are taken in order, and two in opposite order can be a cycle",
          "[scenarios][programs]") {
  const auto threads = [](const std::string& first, const std::string& second) {
    const auto program = [](const std::string& name, const std::string& a, const std::string& b) {
      return "  - {thread: " + name + ", do: [{lock: " + a +
             "}, {host: work, takes: 5us}, {lock: " + b + "}, {unlock: " + b + "}, {unlock: " + a +
             "}]}\n";
    };
    return "schema: 1\nprograms:\n" + program("one", "gil", "cuda") + program("two", first, second);
  };
  const Explanation found = explanation_in_contract(threads("cuda", "gil"));
  CHECK(found.verdict == Verdict::kDeadlock);
  CHECK(found.cycle.size() == 2);
  CHECK(on_cycle(found, WaitKind::kLock));
  const Explanation same = explanation_in_contract(threads("gil", "cuda"));
  CHECK(same.verdict == Verdict::kCompleted);
  CHECK(same.time_ns == 10'000);
}

TEST_CASE("hosts meet at a barrier, wait for keys, events and input", "[scenarios][programs]") {
  CHECK(explanation_in_contract(
            two_programs(step("host: a, takes: 3us") + step("barrier: g"), step("barrier: g")))
            .time_ns == 3'000);
  CHECK(explanation_in_contract(two_programs(step("host: a, takes: 2us") + step("set: port"),
                                             step("get: port") + step("host: b, takes: 1us")))
            .time_ns == 3'000);
  const Explanation never =
      explanation_in_contract(two_programs(step("host: a"), step("get: port")));
  CHECK(never.verdict == Verdict::kStarved);
  CHECK(never.cause == models::Cause::kOutsideInput);
  CHECK(explanation_in_contract("schema: 1\nprograms: {do: [{compute: a, takes: 4us}, "
                                "{record: e}, {await: "
                                "e}, {host: b, takes: 1us}]}\n")
            .time_ns == 5'000);
  CHECK(explanation_in_contract("schema: 1\nprograms: {do: [{repeat: 2, do: [{input: "
                                "data, items: 2, first: "
                                "3us, every: 4us}]}]}\n")
            .time_ns == 7'000);
  CHECK(explanation_in_contract("schema: 1\nprograms: {do: [{repeat: 2, do: [{input: "
                                "data, items: 1}]}]}\n")
            .verdict == Verdict::kStarved);
}

TEST_CASE("blocks take parameters, and a loop with an index has steps of its own",
          "[scenarios][programs]") {
  const Explanation found = explanation_in_contract(
      "schema: 1\nblocks: {twice: [{compute: a, takes: t}, {compute: b, takes: "
      "2 * t}]}\n"
      "programs: {do: [{repeat: 3, index: i, do: [{call: twice, with: {t: (i + 1) * 1us}}]}, "
      "{synchronize: device}]}\n");
  CHECK(found.verdict == Verdict::kCompleted);
  CHECK(found.time_ns == 18'000);  // 3 us for each of 1 + 2 + 3 iterations
  CHECK(found.ops_expected == 7);
}

TEST_CASE("one absent rank of 1,024 is one root", "[scenarios][programs]") {
  const Explanation found = explanation_in_contract(
      "schema: 1\nranks: 1024\ngroups: {g: all}\nprograms: {do: [{on: rank != "
      "700, do: "
      "[{all_reduce: g, at: here}]}, {synchronize: device}]}\n");
  CHECK(found.verdict == Verdict::kStarved);
  CHECK(found.cause == models::Cause::kAbsentMember);
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots[0].party.rank == 700);
  CHECK(found.roots[0].first.from.op.at == "here");
  // Each of the 1023 other ranks has two blocked ops: its all-reduce and its synchronize.
  CHECK(found.roots[0].waiting == 2 * 1023);
}

TEST_CASE("programs and actors mix", "[scenarios][programs]") {
  const Explanation found = explanation_in_contract(
      "schema: 1\nactors: {a: {source: 2, takes: 3us}, b: {reads: [a], takes: "
      "1us}}\n"
      "programs: {do: [{compute: c, takes: 9us}, {synchronize: device}]}\n");
  CHECK(found.verdict == Verdict::kCompleted);
  CHECK(found.time_ns == 9'000);
  CHECK(found.ops_expected == 6);
}

TEST_CASE("what a program cannot mean is a mistake with its place", "[scenarios][programs]") {
  const auto mistakes = [](const std::string& fields) {
    return mistakes_in(kTwo + "programs:\n  do:\n" + step(fields));
  };
  CHECK(mistakes("al_reduce: g")
            .find("6:9: this step has no operation\n  did you mean 'all_reduce'?") == 0);
  CHECK(mistakes("on: 0, when: on, al_reduce: g")
            .find("6:9: this step has no operation\n  did you mean 'all_reduce'?") == 0);
  CHECK(mistakes("all_reduce: tp").find("unknown communicator or group 'tp'") != std::string::npos);
  CHECK(mistakes("broadcast: g").find("a step needs the key 'root'") != std::string::npos);
  CHECK(mistakes("send: g, to: 5").find("the other rank is 5 on rank 0, but must be at most 1") !=
        std::string::npos);
  CHECK(mistakes("call: step").find("unknown block 'step'") != std::string::npos);
  CHECK(mistakes("unlock: gil").find("'gil' is unlocked by a thread that does not hold it") !=
        std::string::npos);
  CHECK(mistakes("compute: a, color: red").find("unknown key 'color' in a step") !=
        std::string::npos);
  CHECK(mistakes_in("schema: 1\nblocks: {a: [{call: a}]}\nprograms: {do: [{call: a}]}\n")
            .find("block 'a' calls itself") != std::string::npos);
  CHECK(mistakes_in("schema: 1\nprograms: {do: [{record: e}, {record: e, stream: x}]}\n")
            .find("event 'e' is recorded on two streams of rank 0") != std::string::npos);
  CHECK(mistakes_in("schema: 1\nname: x\n") ==
        "1:1: a scenario needs the key 'actors', 'programs', 'schedule' or 'model'\n");
}

TEST_CASE("rooted collectives of gloo wait for whom gloo's do, and MPI's for all",
          "[scenarios][programs]") {
  // Rank 1's call returns once the root has made its call; rank 2 calls only after that.
  for (const char* op : {"gather", "scatter", "broadcast"}) {
    const auto verdict = [&](const std::string& backend) {
      const std::string call = "{" + std::string(op) + ": w, root: 0, bytes: 16B}";
      return explanation_in_contract(
                 "schema: 1\nranks: 3\ngroups: {w: all}\nbackend: " + backend +
                 "\nprograms:\n  - {on: 0, do: [" + call + "]}\n  - {on: 1, do: [" + call +
                 ", {send: w, to: 2, bytes: 16B}]}\n" +
                 "  - {on: 2, do: [{recv: w, from: 1, bytes: 16B}, " + call + "]}\n")
          .verdict;
    };
    CAPTURE(op);
    CHECK(verdict("gloo") == Verdict::kCompleted);
    CHECK(verdict("mpi") == Verdict::kDeadlock);
  }
}

TEST_CASE("two workers do the calls of a group of gloo", "[scenarios][programs]") {
  // Rank 0 makes its calls without waiting; rank 1 calls in the opposite order and waits for each
  // call.
  const auto verdict = [](const std::string& names, const std::string& kind) {
    std::string named;
    std::string zero;
    std::string one;
    for (const char name : names) {
      named += std::string("    ") + name + ": {group: g, " + kind + ": on}\n";
      zero += step(std::string("all_reduce: ") + name + ", bytes: 4B, blocking: off");
      one.insert(0, step(std::string("all_reduce: ") + name + ", bytes: 4B"));
    }
    return explanation_in_contract(two_programs(zero, one, "communicators:\n  named:\n" + named))
        .verdict;
  };
  CHECK(verdict("ab", "gloo") == Verdict::kCompleted);
  CHECK(verdict("abc", "gloo") == Verdict::kDeadlock);  // the third call never starts on rank 0
  CHECK(verdict("abc", "host") == Verdict::kCompleted);
}
