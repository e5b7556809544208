// Host threads that drive several ranks, compared with one thread of one rank that launches on the
// same number of streams, and with NCCL's rules for calls of several devices.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::contains;
using testing::mistakes_in;

namespace {

// Returns a job of two ranks driven by one thread.
std::string two(const std::string& steps, const std::string& more = {}) {
  return "schema: 1\nranks: 2\ngroups: {node: all}\n" + more +
         "programs:\n  one_thread: node\n  do:\n" + steps;
}

models::Simulation run_of(const std::string& text, const testing::Settings& settings = {}) {
  return testing::simulate(testing::scenario_of(text, settings).graph);
}

sim::Verdict verdict(const std::string& text) { return run_of(text).explanation.verdict; }

std::int64_t end_of(const std::string& text) {
  const models::Simulation run = run_of(text);
  REQUIRE(run.outcome.end == sim::RunEnd::kCompleted);
  return run.outcome.last_progress.ns;
}

const std::string kCall = "    - {all_reduce: node, bytes: 1MiB, takes: 10us}\n";
const std::string kGroup = "    - {group: [{all_reduce: node, bytes: 1MiB, takes: 10us}]}\n";

}  // namespace

TEST_CASE("one thread: first calls of several ranks need a group", "[scenario][turns]") {
  // The thread is blocked in rank 0's call, which waits for rank 1's host. Rank 1's host is the
  // same thread.
  CHECK(verdict(two(kCall)) == sim::Verdict::kDeadlock);
  CHECK(verdict(two(kGroup)) == sim::Verdict::kCompleted);
  // If each rank has its own thread, no group is needed.
  std::string own = two(kCall);
  own.replace(own.find("  one_thread: node\n"), 19, "");
  CHECK(verdict(own) == sim::Verdict::kCompleted);
  // Once the ranks are connected, launches return at once.
  CHECK(verdict(two(kCall, "reading: contract\n")) == sim::Verdict::kCompleted);
  CHECK(verdict(two(kGroup + kCall + kCall)) == sim::Verdict::kCompleted);
}

TEST_CASE("one thread: a communicator is made by all of its ranks in a group",
          "[scenario][turns]") {
  const std::string first = "reading: contract\ncommunicators: {creation: first_use}\n";
  CHECK(verdict(two(kCall, first)) == sim::Verdict::kDeadlock);
  CHECK(verdict(two(kGroup, first)) == sim::Verdict::kCompleted);
}

TEST_CASE("one thread: messages between its ranks connect in a group", "[scenario][turns]") {
  const std::string send = "{send: node, to: 1, bytes: 1GiB, on: 0}";
  const std::string receive = "{recv: node, from: 0, bytes: 1GiB, on: 1}";
  const std::string apart = "    - " + send + "\n    - " + receive + "\n";
  CHECK(verdict(two(apart)) == sim::Verdict::kDeadlock);
  CHECK(verdict(two("    - {group: [" + send + ", " + receive + "]}\n")) ==
        sim::Verdict::kCompleted);
  CHECK(verdict(two(apart, "reading: contract\n")) == sim::Verdict::kCompleted);
}

TEST_CASE("one thread: it waits for one rank before it launches on the next", "[scenario][turns]") {
  const std::string each =
      "    - {on: 0, do: [{all_reduce: node, bytes: 1MiB}, {synchronize: device}]}\n"
      "    - {on: 1, do: [{all_reduce: node, bytes: 1MiB}, {synchronize: device}]}\n";
  CHECK(verdict(two(each, "reading: contract\n")) == sim::Verdict::kDeadlock);
  const std::string last = kGroup + "    - {synchronize: device}\n";
  CHECK(verdict(two(last, "reading: contract\n")) == sim::Verdict::kCompleted);
  // If launches block, a group does not help either: NVIDIA/nccl#750.
  const std::string blocking = "reading: contract\ndefaults: {blocking: on}\n";
  CHECK(verdict(two(kGroup, blocking)) == sim::Verdict::kDeadlock);
  std::string own = two(kGroup, blocking);
  own.replace(own.find("  one_thread: node\n"), 19, "");
  CHECK(verdict(own) == sim::Verdict::kCompleted);
}

TEST_CASE("one thread: its work adds up, of each list for itself", "[scenario][turns]") {
  const std::string work = "  do: [{repeat: 3, do: [{host: work, takes: 2us}]}]\n";
  const auto with = [&](const std::string& group, const std::string& program) {
    return end_of("schema: 1\nranks: 4\ngroups: {node: " + group + "}\nprograms:\n" + program +
                  work);
  };
  CHECK(with("all", "  on: all\n") == 6'000);
  CHECK(with("all", "  one_thread: node\n") == 24'000);        // 3 iterations of 4 ranks
  CHECK(with("{size: 2}", "  one_thread: node\n") == 12'000);  // two threads in parallel
  // Ranks 0 and 2 are not in the list, so they have no thread.
  CHECK(with("[[3, 1]]", "  one_thread: node\n") == 12'000);
  CHECK(with("{size: 2}", "  on: 0..1\n  one_thread: node\n") == 12'000);
}

TEST_CASE("one thread: ranks take turns in the order of their list", "[scenario][turns]") {
  // Each launch takes 1 us; the kernel of the last rank in the list takes 10 us or 20 us.
  const auto with = [](const std::string& list) {
    return end_of("schema: 1\nranks: 2\ngroups: {node: [" + list +
                  "]}\nprograms:\n  one_thread: node\n  do:\n"
                  "    - {compute: k, takes: 10us * (rank + 1), launch_overhead: 1us}\n");
  };
  CHECK(with("[0, 1]") == 22'000);  // rank 1 launches at 2 us
  CHECK(with("[1, 0]") == 21'000);
}

// Compares a thread that drives ranks without calls between them with one thread of one rank that
// has the same number of streams.
TEST_CASE("one thread: several ranks are as several streams of one rank", "[scenario][turns]") {
  std::mt19937 random(20);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int sample = 0; sample < 60; ++sample) {
    const std::uint32_t ranks = 2 + below(3);
    std::string several;
    std::string one;
    const auto add = [&](const std::string& indent, std::uint32_t kind, std::uint32_t first,
                         std::uint32_t end, std::uint32_t takes) {
      // Adds a step of ranks [first, end): once to `several`, and once per rank to `one`.
      std::string step;
      if (kind == 0) step = fmt::format("host: w, takes: {}us", takes);
      if (kind == 1) step = "synchronize: STREAM";
      if (kind > 1) {
        step = fmt::format("compute: k, takes: {}us, launch_overhead: 1us, stream: STREAM", takes);
      }
      const auto on_stream = [&](const std::string& stream) {
        std::string text = step;
        if (const auto at = text.find("STREAM"); at != std::string::npos) {
          text.replace(at, 6, stream);
        }
        return text;
      };
      several += fmt::format("{}- {{{}, on: {}..{}}}\n", indent, on_stream("s"), first, end - 1);
      for (std::uint32_t rank = first; rank < end; ++rank) {
        one += fmt::format("{}- {{{}}}\n", indent, on_stream(fmt::format("s{}", rank)));
      }
    };
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t first = below(ranks);
      const std::uint32_t end = first + 1 + below(ranks - first);
      if (below(3) > 0) {
        add("    ", below(4), first, end, 1 + below(9));
        continue;
      }
      const std::string repeat = fmt::format("    - repeat: {}\n      do:\n", 1 + below(3));
      several += repeat;
      one += repeat;
      for (int k = 0; k < 2; ++k) add("        ", below(4), k == 0 ? 0 : first, end, 1 + below(9));
    }
    std::string streams = "streams: {s: {}";
    for (std::uint32_t rank = 0; rank < ranks; ++rank) streams += fmt::format(", s{}: {{}}", rank);
    const std::string head = "schema: 1\n" + streams + "}\ndevice: {hardware_queues: 0}\n";
    const std::int64_t expected = end_of(head + "programs:\n  do:\n" + one);
    CAPTURE(several);
    CHECK(end_of(head + fmt::format("ranks: {}\ngroups: {{node: all}}\n", ranks) +
                 "programs:\n  one_thread: node\n  do:\n" + several) == expected);
  }
}

TEST_CASE("one thread: check and its report", "[scenario][turns]") {
  // In the contract reading, the ranks are already connected; only a fresh job hangs.
  const auto found = testing::command({"check", "-"}, two(kCall));
  CHECK(contains(found.out,
                 "contract        proved (a send may block until its recv, as NCCL documents)\n"));
  CHECK(contains(
      found.out,
      "cold            hang certain (a fresh job, in which ranks connect at first use)\n"));
  const auto grouped = testing::command({"check", "-"}, two(kGroup + kGroup));
  CHECK(contains(grouped.out, "PROVED: no interleaving hangs"));
  const auto report = testing::command({"run", "-"}, two(kCall));
  CHECK(contains(report.out, "rank 0  all_reduce node#1"));
  CHECK(contains(report.out, "rank 1  turn#1"));
  CHECK(contains(report.out, "waits until its host thread has finished rank 0"));
}

TEST_CASE("one thread: mistakes", "[scenario][turns]") {
  const auto with = [](const std::string& program) {
    return mistakes_in("schema: 1\nranks: 4\ngroups: {node: {size: 2}}\nprograms:\n  " + program +
                       "\n");
  };
  CHECK(with("{one_thread: nodes, do: [{host: w}]}") ==
        "5:16: unknown group 'nodes'\n"
        "  did you mean 'node'?\n"
        "  it says which ranks share a thread: groups: {node: {size: 8}} for each 8 in a row\n");
  CHECK(with("{one_thread: node, on: 1..3, do: [{host: w}]}") ==
        "5:16: 'on' has only some of the ranks that a list of 'node' has\n"
        "  give all ranks of each list, or leave 'on' out\n");
  CHECK(with("{one_thread: node, do: [{repeat: rank + 1, on: 0..1, do: [{host: w}]}]}") == "");
  CHECK(with("{one_thread: node, do: [{repeat: 2, on: 0..2, do: [{host: w}]}]}") ==
        "5:36: ranks that one thread drives must have the same rounds of a loop\n"
        "  give the steps in it 'on', or write a loop for each rank\n");
}
