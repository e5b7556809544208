// Behavior of NCCL, PyTorch and CUDA on a device, rule by rule: small programs with the verdict
// that the rule gives, as a run and over all interleavings (docs/reference/rules.md).
#include <ostream>
#include <string>
#include <vector>

#include "sim/interleavings/exploration.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

#include "features/check/check.hpp"

using namespace pipesim;
using sim::Answer;
using sim::Verdict;
using testing::Settings;

namespace {

struct Said {
  Verdict run = Verdict::kCompleted;
  Answer check = Answer::kProved;

  friend bool operator==(const Said&, const Said&) = default;
};

std::ostream& operator<<(std::ostream& out, const Said& said) {
  return out << "verdict " << static_cast<int>(said.run) << ", answer "
             << static_cast<int>(said.check);
}

constexpr Said kCompletes{Verdict::kCompleted, Answer::kProved};
constexpr Said kAlwaysHangs{Verdict::kDeadlock, Answer::kHangCertain};
constexpr Said kSometimesHangs{Verdict::kCompleted, Answer::kHangPossible};

Said said_of(const models::TaskGraph& graph) {
  models::Diagnostics diagnostics;
  auto lowered = models::lower(graph, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(lowered.has_value());
  const models::CheckReport report = models::check(graph, std::move(*lowered), {});
  return {report.usual.explanation.verdict, report.exploration.answer};
}

// The reading contract; nccl_modes_test.cpp tests first uses and buffers in the other readings.
const Settings kContract = {{"reading", "contract"}};

Said said(const std::string& text, Settings settings = {}) {
  settings.insert(settings.end(), kContract.begin(), kContract.end());
  return said_of(testing::scenario_of(text, settings).graph);
}

// Returns a scenario with a program for each rank; steps are flow maps, one per line.
std::string programs(const std::string& top, const std::vector<std::string>& ranks) {
  std::string text =
      "schema: 1\nranks: " + std::to_string(ranks.size()) + "\n" + top + "programs:\n";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    text += "  - {on: " + std::to_string(rank) + ", do: [" + ranks[rank] +
            ", {synchronize: device}]}\n";
  }
  return text;
}

}  // namespace

TEST_CASE("messages of a schedule: who shares a communicator decides", "[scenarios][device]") {
  // The looped schedule of pytorch#172668: rank 0 sends twice before it receives; rank 1 answers
  // the first send before it receives the second.
  const std::string looped = R"(schema: 1
params: {messages: {default: pg, one_of: [dir, edge, pair, direction, pg, sync]}}
schedule:
  messages: $messages
  rows:
    - 0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,2RECV_B0,2B0,2SEND_B0,2RECV_B1,2B1,2SEND_B1,0RECV_B0,0B0,0RECV_B1,0B1
    - 1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,3F1,3B1,3SEND_B1,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1
)";
  CHECK(said(looped) == kAlwaysHangs);
  CHECK(said(looped, {{"messages", "sync"}}) == kAlwaysHangs);
  CHECK(said(looped, {{"messages", "pair"}}) == kAlwaysHangs);
  CHECK(said(looped, {{"messages", "direction"}}) == kAlwaysHangs);
  CHECK(said(looped, {{"messages", "edge"}}) == kCompletes);
  CHECK(said(looped, {{"messages", "dir"}}) == kCompletes);
  // The same schedule without `messages`.
  std::string plain = looped;
  plain.erase(plain.find("  messages: $messages\n"), std::string("  messages: $messages\n").size());
  plain.erase(plain.find("params:"), plain.find("schedule:") - plain.find("params:"));
  CHECK(said(plain) == kAlwaysHangs);
  // A forward crosses a backward: their directions differ.
  const std::string crossing = R"(schema: 1
params: {messages: {default: pg, one_of: [dir, edge, pair, direction, pg, sync]}}
schedule:
  messages: $messages
  rows:
    - 0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1
    - 1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1
)";
  CHECK(said(crossing) == kAlwaysHangs);
  CHECK(said(crossing, {{"messages", "pair"}}) == kAlwaysHangs);
  CHECK(said(crossing, {{"messages", "direction"}}) == kCompletes);
  CHECK(said(crossing, {{"messages", "edge"}}) == kCompletes);
}

TEST_CASE("an edge has one communicator for all stages of its two ranks", "[scenarios][device]") {
  // One micro-batch of two chunks per rank: rank 0 sends 0F0 and then 2F0 to rank 1.
  const std::string text = R"(schema: 1
schedule:
  messages: edge
  rows:
    - 0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,2RECV_B0,2B0,2SEND_B0,0RECV_B0,0B0
    - 1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,1RECV_B0,1B0,1SEND_B0
)";
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  REQUIRE(graph.communicators.size() == 2);
  CHECK(graph.communicators[0].name == "0 to 1");
  CHECK(graph.communicators[1].name == "1 to 0");
  CHECK(said(text) == kCompletes);
}

// ---------------------------------------------------------------------------------------------
// Hardware queues (rule 5.3)

namespace {

const std::string kUpDown = "groups: {up: all, down: all}\n";
const std::string kAnswers =
    "{recv: up, from: 0, bytes: 1MiB}, {send: down, to: 0, bytes: 1MiB, after: [nccl up]}";

}  // namespace

TEST_CASE("a recv leaves its hardware queue when it starts, on AMD when it ends",
          "[scenarios][device]") {
  const std::string text = programs("params: {vendor: {default: nvidia, one_of: [nvidia, amd]}}\n" +
                                        kUpDown + "device: {vendor: $vendor, hardware_queues: 1}\n",
                                    {"{recv: down, from: 1, bytes: 1MiB}, {compute: makes}, "
                                     "{send: up, to: 1, bytes: 1MiB, after: [compute]}",
                                     kAnswers});
  CHECK(said(text) == kCompletes);
  CHECK(said(text, {{"vendor", "amd"}}) == kAlwaysHangs);
}

TEST_CASE("a record holds no hardware queue, a wait does", "[scenarios][device]") {
  const auto with = [](const std::string& between) {
    return programs(kUpDown + "device: {hardware_queues: 1}\n",
                    {"{recv: down, from: 1, bytes: 1MiB}, " + between +
                         "{compute: makes, stream: k}, "
                         "{send: up, to: 1, bytes: 1MiB, after: [k]}",
                     kAnswers});
  };
  CHECK(said(with("{record: received, stream: nccl down}, ")) == kCompletes);
  CHECK(said(with("{compute: uses, stream: j, after: [nccl down]}, ")) == kAlwaysHangs);
}

TEST_CASE("more streams than the eight hardware queues of a device share them",
          "[scenarios][device]") {
  // Nine kernels on nine streams: eleven streams with those of the two communicators.
  std::string streams;
  for (int i = 0; i < 9; ++i) {
    streams += "{compute: w" + std::to_string(i) + ", stream: k" + std::to_string(i) + "}, ";
  }
  const auto with = [&](const std::string& device) {
    return programs(kUpDown + device, {streams + "{recv: down, from: 1, bytes: 1MiB}, "
                                                 "{compute: uses, stream: k0, after: [nccl down]}, "
                                                 "{compute: makes, stream: k8}, "
                                                 "{send: up, to: 1, bytes: 1MiB, after: [k8]}",
                                       kAnswers});
  };
  // In a run, k8 shares a queue with k0; another assignment separates them.
  CHECK(said(with("")) == Said{Verdict::kDeadlock, Answer::kHangPossible});
  CHECK(said(with("device: {hardware_queues: 32}\n")) == kCompletes);
  CHECK(said(with("device: {hardware_queues: 0}\n")) == kCompletes);
  // In a run with 8 queues, k8 shares a queue with k0; with 7 queues, it shares a queue with k1.
  // Another assignment can put k8 with k0.
  CHECK(said(with("device: {hardware_queues: 7}\n")) == kSometimesHangs);
  CHECK(said(with("device: {hardware_queues: 1}\n")) == kAlwaysHangs);
}

TEST_CASE("streams that share hardware queues in any way are proved", "[scenarios][device]") {
  std::string steps = "{all_reduce: g, bytes: 1MiB}";
  for (int i = 0; i < 12; ++i) {
    steps += ", {compute: w" + std::to_string(i) + ", stream: k" + std::to_string(i) + "}";
  }
  CHECK(said(programs("groups: {g: all}\n", {steps, steps})) == kCompletes);
}

// ---------------------------------------------------------------------------------------------
// Launch order (rules 5.3 and 5.5)

namespace {

const std::string kA = "{all_reduce: a, bytes: 64MiB, takes: 1ms}";
const std::string kB = "{all_reduce: b, bytes: 64MiB, takes: 1ms}";

std::string two_groups(const std::string& device, const std::string& zero, const std::string& one) {
  return programs("groups: {a: all, b: all}\n" + device, {zero, one});
}

}  // namespace

TEST_CASE("collectives of two groups need one order on all ranks", "[scenarios][device]") {
  CHECK(said(two_groups("", kA + ", " + kB, kA + ", " + kB)) == kCompletes);
  CHECK(said(two_groups("", kA + ", " + kB, kB + ", " + kA)) == kSometimesHangs);
  // Rank 1 waits for b before it calls a; rank 0 calls a first.
  CHECK(said(two_groups("", kA + ", " + kB, kB + ", {synchronize: nccl b}, " + kA)) ==
        kSometimesHangs);
  // If rank 0 also waits between its calls, only one order is possible.
  CHECK(said(two_groups("", kA + ", {synchronize: nccl a}, " + kB,
                        kB + ", {synchronize: nccl b}, " + kA)) == kAlwaysHangs);
  // Starting calls in launch order does not help if the ranks launch in different orders.
  CHECK(said(two_groups("device: {launch_order: implicit}\n", kA + ", " + kB, kB + ", " + kA)) ==
        kSometimesHangs);
  CHECK(said(two_groups("device: {launch_order: serial}\n", kA + ", " + kB, kB + ", " + kA)) ==
        kAlwaysHangs);
  CHECK(said(two_groups("device: {launch_order: serial}\n", kA + ", " + kB, kA + ", " + kB)) ==
        kCompletes);
}

TEST_CASE("with slots for both, collectives of two groups may have any order",
          "[scenarios][device]") {
  CHECK(said(two_groups("device: {resident: 2}\n", kA + ", " + kB, kB + ", " + kA)) == kCompletes);
}

TEST_CASE("without slots for both, one order does not help unless starts have one, too",
          "[scenarios][device]") {
  const auto with = [](const std::string& order) {
    return two_groups("device: {resident: 1" + order + "}\n", kA + ", " + kB, kA + ", " + kB);
  };
  CHECK(said(with("")) == kSometimesHangs);
  CHECK(said(with(", launch_order: implicit")) == kCompletes);
}

TEST_CASE("three groups have no order although no two of them contradict each other",
          "[scenarios][device]") {
  const auto call = [](const std::string& group) {
    return "{all_reduce: " + group + ", bytes: 1MiB}";
  };
  const std::string groups = "groups: {x: [0, 1], y: [1, 2], z: [0, 2]}\n";
  CHECK(said(programs(groups, {call("x") + ", " + call("z"), call("y") + ", " + call("x"),
                               call("z") + ", " + call("y")})) == kSometimesHangs);
  CHECK(said(programs(groups, {call("x") + ", " + call("z"), call("x") + ", " + call("y"),
                               call("y") + ", " + call("z")})) == kCompletes);
}

// ---------------------------------------------------------------------------------------------
// Groups (rule 9.3)

namespace {

const std::string kPp = "groups: {pp: all, qq: all}\n";
const std::string kSend = "{send: pp, to: 1 - rank, bytes: 1GiB}";
const std::string kRecv = "{recv: pp, from: 1 - rank, bytes: 1GiB}";

std::string grouped(const std::vector<std::string>& calls) {
  std::string text;
  for (const std::string& call : calls) text += (text.empty() ? "" : ", ") + call;
  return "{group: [" + text + "]}";
}

}  // namespace

TEST_CASE("the second message of a group to a rank waits for all first ones",
          "[scenarios][device]") {
  const std::string answers = kRecv + ", " + kRecv + ", " + kSend;
  CHECK(said(programs(kPp, {grouped({kSend, kSend, kRecv}), answers})) == kAlwaysHangs);
  CHECK(said(programs(kPp, {grouped({kSend, kSend}) + ", " + grouped({kRecv}), answers})) ==
        kCompletes);
  CHECK(said(programs(kPp, {grouped({kSend, kRecv, kSend, kRecv}),
                            grouped({kRecv, kSend, kRecv, kSend})})) == kCompletes);
}

TEST_CASE("the collectives of a group come before its messages", "[scenarios][device]") {
  const std::string reduce = "{all_reduce: pp, bytes: 1KiB}";
  CHECK(said(programs(kPp, {grouped({kSend, reduce}), grouped({reduce, kRecv})})) == kCompletes);
  CHECK(said(programs(kPp, {grouped({kSend, reduce}), kRecv + ", " + reduce})) == kAlwaysHangs);
}

// ---------------------------------------------------------------------------------------------
// One communicator on several streams (rule 9.3)

TEST_CASE("calls of a communicator run one after the other, whatever their streams",
          "[scenarios][device]") {
  const auto on = [](const std::string& call, const std::string& stream) {
    return call.substr(0, call.size() - 1) + ", stream: " + stream + "}";
  };
  const std::string both = on(kSend, "s1") + ", " + on(kRecv, "s2");
  CHECK(said(programs(kPp, {both, both})) == kAlwaysHangs);
  std::string other = kRecv;
  other.replace(other.find("pp"), 2, "qq");
  const std::string zero = on(kSend, "s1") + ", " + on(other, "s2");
  std::string send = kSend;
  send.replace(send.find("pp"), 2, "qq");
  CHECK(said(programs(kPp, {zero, on(send, "s1") + ", " + on(kRecv, "s2")})) == kCompletes);
  // The second call starts after the first call, in host order, even if it could start at once.
  const std::string ordered = "{compute: x, stream: s1, takes: 5us}, " + on(kSend, "s1") + ", " +
                              on("{send: pp, to: 1 - rank, bytes: 1KiB, takes: 1us}", "s2");
  const std::string takes = kRecv + ", {recv: pp, from: 1 - rank, bytes: 1KiB}";
  CHECK(said(programs(kPp, {ordered, takes})) == kCompletes);
}

// ---------------------------------------------------------------------------------------------
// Sizes (rule 9.5)

TEST_CASE("a recv that is larger than its send waits for more", "[scenarios][device]") {
  const auto explained = [](const std::string& sent, const std::string& received) {
    return testing::explanation_of(programs(kPp, {"{send: pp, to: 1, bytes: " + sent + "}",
                                                  "{recv: pp, from: 0, bytes: " + received + "}"}));
  };
  const models::Explanation larger = explained("1MiB", "2MiB");
  CHECK(larger.verdict == Verdict::kMismatch);
  CHECK(larger.ops_done == 2);  // the send, and rank 0's synchronize
  const models::Explanation smaller = explained("2MiB", "1MiB");
  CHECK(smaller.verdict == Verdict::kMismatch);
  CHECK(smaller.ops_done == 4);
  CHECK(explained("1MiB", "1MiB").verdict == Verdict::kCompleted);
}

TEST_CASE("a collective of no bytes waits for nobody", "[scenarios][device]") {
  const auto with = [](const std::string& bytes) {
    return programs(kPp, {"{all_reduce: pp" + bytes + "}", "{compute: x}"});
  };
  CHECK(said(with(", bytes: 0B")) == kCompletes);
  // A call without a size counts as a call that moves some bytes.
  const Said starved{Verdict::kStarved, Answer::kHangCertain};
  CHECK(said(with("")) == starved);
  CHECK(said(with(", bytes: 1B")) == starved);
  // The all_reduce in a group, next to a send or alone.
  const auto grouped = [](const std::string& bytes) {
    return programs(
        kPp, {"{group: [{all_reduce: pp, bytes: " + bytes + "}, {send: pp, to: 1, bytes: 4KiB}]}",
              "{recv: pp, from: 0, bytes: 4KiB}"});
  };
  CHECK(said(grouped("0B")) == kCompletes);
  // Rank 1 never makes the all_reduce, so rank 0's send is held back.
  CHECK(said(grouped("1B")) == starved);
  CHECK(said(programs(kPp, {"{group: [{all_reduce: pp, bytes: 0B}, {all_gather: pp, bytes: 0B}]}",
                            "{compute: x}"})) == kCompletes);
}
