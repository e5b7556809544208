// Checks every kind of fault in files of a few steps, and compares every small change to such files
// with a program that tries all interleavings.
#include "features/algorithm/verify_algorithm.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/algorithms.hpp"
#include "tests/support/catch.hpp"

#include "features/algorithm/algorithm_file.hpp"

using namespace pipesim;
using models::AlgoAnswer;
using models::AlgoStepKind;
using models::AlgoVerdict;
using models::CollectiveAlgorithm;
using testing::XmlAlgorithm;
using testing::XmlBlock;
using testing::XmlStep;

namespace {

CollectiveAlgorithm algorithm_in(const std::string& text) {
  models::Diagnostics diagnostics;
  auto algorithm = formats::read_algorithm(text, diagnostics);
  std::string messages;
  for (const models::Diagnostic& diagnostic : diagnostics.sorted()) {
    messages += diagnostic.message + "\n";
  }
  INFO(messages);
  REQUIRE(algorithm);
  return *algorithm;
}

CollectiveAlgorithm algorithm_in(const XmlAlgorithm& algorithm) {
  return algorithm_in(testing::xml_text(algorithm));
}

// Returns an algorithm of two ranks and two chunks: each rank sums one chunk and gives the sum to
// the other rank.
XmlAlgorithm pair() {
  XmlAlgorithm of;
  of.chunks = of.input = 2;
  of.ranks = {{{1, 1, 0, {{"s", "i1"}, {"rrc", "i0", "i0"}, {"s", "i0"}, {"r", "i1", "i1"}}}},
              {{0, 0, 0, {{"s", "i0"}, {"rrc", "i1", "i1"}, {"s", "i1"}, {"r", "i0", "i0"}}}}};
  return of;
}

// Returns the algorithm of pair() with one thread block per half. The second block waits for the
// sum of the first; only the other rank orders the second block's last write after the first send.
XmlAlgorithm pair_of_blocks() {
  XmlAlgorithm of;
  of.chunks = of.input = 2;
  for (const int rank : {0, 1}) {
    const std::string own = "i" + std::to_string(rank);
    const std::string other = "i" + std::to_string(1 - rank);
    of.ranks.push_back({{1 - rank, 1 - rank, 0, {{"s", other}, {"rrc", own, own, 1, -1, -1, true}}},
                        {1 - rank, 1 - rank, 1, {{"s", own, own, 1, 0, 1}, {"r", other, other}}}});
  }
  return of;
}

// Returns an algorithm in which each of three ranks gives its chunk to both other ranks, and sums
// the chunks in the order of its thread blocks: rank 0 has (0+1)+2, rank 1 (1+0)+2, rank 2 (2+0)+1.
XmlAlgorithm one_shot() {
  XmlAlgorithm of;
  of.scratch = 2;
  for (const int rank : {0, 1, 2}) {
    const int first = rank == 0 ? 1 : 0;
    const int second = rank == 2 ? 1 : 2;
    of.ranks.push_back({{first, first, 0, {{"s", "i0"}, {"r", "s0", "s0"}}},
                        {second, second, 0, {{"s", "i0"}, {"r", "s1", "s1", 1, -1, -1, true}}},
                        {}});
    XmlBlock& sum = of.ranks.back()[2];
    sum.channel = 1;
    sum.steps = {{"nop", "i0", "i0", 0, 0, 1}, {"re", "s0", "i0", 1, 1, 1}, {"re", "s1", "i0"}};
    of.ranks.back()[0].steps[1].publishes = true;
  }
  return of;
}

XmlAlgorithm ring_all_gather() {
  XmlAlgorithm of;
  of.collective = "allgather";
  of.chunks = of.output = 3;
  of.input = 0;
  for (const int rank : {0, 1, 2}) {
    const auto chunk = [&](int back) { return "o" + std::to_string((rank + 3 - back) % 3); };
    of.ranks.push_back(
        {{(rank + 1) % 3,
          (rank + 2) % 3,
          0,
          {{"s", chunk(0)}, {"rcs", chunk(1), chunk(1)}, {"r", chunk(2), chunk(2)}}}});
  }
  return of;
}

AlgoVerdict verdict(const CollectiveAlgorithm& algorithm,
                    const models::VerifyOptions& options = {}) {
  return models::verify(algorithm, options).verdict;
}

/// Runs the steps of an MSCCL file in every interleaving, as its interpreter does: one step at a
/// time, with flags that hold the last published step. Shares only the file with the code under
/// test.
class AllOrders {
 public:
  AllOrders(const CollectiveAlgorithm& algorithm, std::uint32_t slots)
      : algorithm_(algorithm), slots_(slots) {}

  void run() {
    State start;
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      const models::AlgoRank& of = algorithm_.ranks[rank];
      start.memory.emplace_back();
      const std::uint32_t data = algorithm_.chunks_per_loop;
      for (std::uint32_t i = 0; i < data; ++i) {
        const bool gathers = algorithm_.collective == models::AlgoCollective::kAllGather;
        start.memory[rank].push_back(
            gathers && i != rank ? "?" : std::to_string(rank) + "." + std::to_string(i));
      }
      for (std::uint32_t i = 0; i < of.scratch_chunks; ++i) start.memory[rank].push_back("?");
      for (std::uint32_t block = 0; block < of.blocks.size(); ++block) {
        blocks_.emplace_back(rank, block);
        start.next.push_back(0);
        start.published.push_back(-1);
      }
    }
    std::vector<State> open = {start};
    seen_.insert(key(start));
    while (!open.empty()) {
      State state = std::move(open.back());
      open.pop_back();
      bool any = false;
      bool done = true;
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (state.next[i] == steps(i).size()) continue;
        done = false;
        State next = state;
        if (!step(next, i)) continue;
        any = true;
        if (seen_.insert(key(next)).second) open.push_back(std::move(next));
      }
      if (any) continue;
      if (!done) {
        hangs = true;
      } else {
        ends.insert(state.memory);
        left_over =
            left_over || std::any_of(state.queues.begin(), state.queues.end(),
                                     [](const auto& queue) { return !queue.second.empty(); });
      }
    }
  }

  // Whether every interleaving ends with the right sums, identical on all ranks.
  bool good() const {
    if (hangs || left_over || ends.size() != 1) return false;
    const Memory& end = *ends.begin();
    for (std::uint32_t chunk = 0; chunk < algorithm_.chunks_per_loop; ++chunk) {
      for (const auto& rank : end) {
        if (rank[chunk] != end[0][chunk]) return false;
      }
      std::multiset<std::string> wanted;
      for (std::uint32_t rank = 0; rank < end.size(); ++rank) {
        const bool gathers = algorithm_.collective == models::AlgoCollective::kAllGather;
        if (!gathers || rank == chunk) {
          wanted.insert(std::to_string(rank) + "." + std::to_string(chunk));
        }
      }
      if (leaves(end[0][chunk]) != wanted) return false;
    }
    return true;
  }

  using Memory = std::vector<std::vector<std::string>>;
  bool hangs = false;
  bool left_over = false;
  std::set<Memory> ends;

 private:
  using Connection = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  struct State {
    std::vector<std::size_t> next;
    std::vector<int> published;
    std::map<Connection, std::deque<std::vector<std::string>>> queues;
    Memory memory;
  };

  static std::multiset<std::string> leaves(const std::string& sum) {
    std::multiset<std::string> result;
    std::string leaf;
    for (const char c : sum + "+") {
      if (c != '+' && c != '(' && c != ')') {
        leaf += c;
      } else if (!leaf.empty()) {
        result.insert(leaf);
        leaf.clear();
      }
    }
    return result;
  }

  static std::string add(const std::string& a, const std::string& b) {
    return "(" + std::min(a, b) + "+" + std::max(a, b) + ")";
  }

  const models::AlgoBlock& block(std::size_t i) const {
    return algorithm_.ranks[blocks_[i].first].blocks[blocks_[i].second];
  }
  const std::vector<models::AlgoStep>& steps(std::size_t i) const { return block(i).steps; }

  std::string& chunk(State& state, const models::AlgoRange& range, std::uint32_t i) const {
    const bool scratch = range.buffer == models::AlgoBuffer::kScratch;
    return state.memory[range.rank][(scratch ? algorithm_.chunks_per_loop : 0) + range.index + i];
  }

  bool step(State& state, std::size_t i) const {
    const models::AlgoStep& step = steps(i)[state.next[i]];
    const std::uint32_t rank = blocks_[i].first;
    for (const models::AlgoDependency& on : step.dependencies) {
      std::size_t other = 0;
      while (blocks_[other] != std::pair(rank, on.block)) ++other;
      if (state.published[other] < static_cast<int>(on.step)) return false;
    }
    const std::string_view type = models::step_name(step.kind);
    const bool receives = type[0] == 'r' && type != "re";
    const bool sends = type == "s" || type == "rcs" || type == "rrs" || type == "rrcs";
    std::vector<std::string> values(step.count);
    if (receives) {
      auto& queue = state.queues[{block(i).receive_peer, rank, block(i).channel}];
      if (queue.empty()) return false;
      values = queue.front();
      values.resize(step.count, "?");
      queue.pop_front();
    }
    for (std::uint32_t c = 0; c < step.count; ++c) {
      if (type == "s" || type == "cpy") values[c] = chunk(state, step.sources[0], c);
      if (type == "rrc" || type == "rrs" || type == "rrcs") {
        values[c] = add(values[c], chunk(state, step.sources[0], c));
      }
      if (type == "re") {
        values[c] = add(chunk(state, step.targets[0], c), chunk(state, step.sources[0], c));
      }
      const bool writes = type != "s" && type != "rrs" && type != "nop";
      if (writes) chunk(state, step.targets[0], c) = values[c];
    }
    if (sends) {
      auto& queue = state.queues[{rank, block(i).send_peer, block(i).channel}];
      if (queue.size() >= slots_) return false;
      queue.push_back(values);
    }
    if (step.publishes && type != "nop") state.published[i] = static_cast<int>(state.next[i]);
    ++state.next[i];
    return true;
  }

  static std::string key(const State& state) {
    std::string text;
    for (const std::size_t next : state.next) text += std::to_string(next) + ",";
    for (const auto& rank : state.memory) {
      for (const std::string& value : rank) text += value + ";";
    }
    for (const auto& [connection, queue] : state.queues) {
      text += "|" + std::to_string(std::get<0>(connection)) + "-" +
              std::to_string(std::get<1>(connection)) + "-" +
              std::to_string(std::get<2>(connection));
      for (const auto& message : queue) {
        for (const std::string& value : message) text += value + ";";
        text += "/";
      }
    }
    return text;
  }

  const CollectiveAlgorithm& algorithm_;
  const std::size_t slots_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks_;
  std::set<std::string> seen_;
};

// Returns every small change to an algorithm.
std::vector<CollectiveAlgorithm> changes_of(const CollectiveAlgorithm& of) {
  std::vector<CollectiveAlgorithm> result;
  for (std::size_t rank = 0; rank < of.ranks.size(); ++rank) {
    for (std::size_t block = 0; block < of.ranks[rank].blocks.size(); ++block) {
      const std::size_t count = of.ranks[rank].blocks[block].steps.size();
      for (std::size_t i = 0; i < count; ++i) {
        const auto change = [&](const auto& edit) {
          CollectiveAlgorithm changed = of;
          std::vector<models::AlgoStep>& steps = changed.ranks[rank].blocks[block].steps;
          edit(steps);
          result.push_back(std::move(changed));
        };
        const models::AlgoStep& step = of.ranks[rank].blocks[block].steps[i];
        if (!step.dependencies.empty()) {
          change([&](auto& steps) { steps[i].dependencies.clear(); });
        }
        if (step.publishes) change([&](auto& steps) { steps[i].publishes = false; });
        if (i + 1 < count) change([&](auto& steps) { std::swap(steps[i], steps[i + 1]); });
        const auto move = [&](auto ranges) {
          if ((step.*ranges).empty()) return;
          const models::AlgoRange& range = (step.*ranges)[0];
          const std::uint32_t size =
              models::buffer_chunks(of, static_cast<std::uint32_t>(rank), range.buffer);
          if (size < 2) return;
          change([&](auto& steps) { (steps[i].*ranges)[0].index = (range.index + 1) % size; });
        };
        move(&models::AlgoStep::sources);
        move(&models::AlgoStep::targets);
        // Adds one chunk to the step, if its buffers have space.
        std::uint32_t space = 0xffffffff;
        for (const auto* ranges : {&step.sources, &step.targets}) {
          for (const models::AlgoRange& range : *ranges) {
            space = std::min(space, models::buffer_chunks(of, range.rank, range.buffer) -
                                        range.index - range.size);
          }
        }
        if (space == 0 || step.kind == AlgoStepKind::kNop) continue;
        change([&](auto& steps) {
          ++steps[i].count;
          for (auto* ranges : {&steps[i].sources, &steps[i].targets}) {
            for (models::AlgoRange& range : *ranges) ++range.size;
          }
        });
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("correct algorithms are proved", "[models][verify_algorithm]") {
  for (const XmlAlgorithm& algorithm : {pair(), pair_of_blocks(), ring_all_gather()}) {
    const models::VerifyReport report = models::verify(algorithm_in(algorithm), {});
    CHECK(report.verdict == AlgoVerdict::kCorrect);
    CHECK(report.hangs == AlgoAnswer::kNo);
    CHECK(report.left_over == AlgoAnswer::kNo);
    CHECK(report.races == AlgoAnswer::kNo);
    CHECK(report.right_result == AlgoAnswer::kYes);
    // The ring needs two slots, the other algorithms one.
    CHECK(report.slots_needed == (algorithm.collective == "allgather" ? 2U : 1U));
  }
}

TEST_CASE("the order of a sum is compared between ranks", "[models][verify_algorithm]") {
  const models::VerifyReport report = models::verify(algorithm_in(one_shot()), {});
  CHECK(report.verdict == AlgoVerdict::kRanksDiffer);
  CHECK(report.right_result == AlgoAnswer::kYes);
  REQUIRE(report.difference);
  // The sums of ranks 0 and 1 differ only in the order of two operands, which changes no bit.
  CHECK(report.difference->second_rank == 2);
  CHECK(report.difference->first == "(0+1)+2");
  CHECK(report.difference->second == "(0+2)+1");
}

TEST_CASE("a hang tells the slots that it needs", "[models][verify_algorithm]") {
  // Each rank sends three chunks before it receives one.
  XmlAlgorithm of;
  of.chunks = of.input = 3;
  of.scratch = 3;
  for (const int rank : {0, 1}) {
    XmlBlock block{1 - rank, 1 - rank, 0, {}};
    for (const char* chunk : {"0", "1", "2"}) {
      block.steps.push_back({"s", std::string("i") + chunk});
    }
    for (const char* chunk : {"0", "1", "2"}) {
      const std::string input = std::string("i") + chunk;
      block.steps.push_back({"rrc", input, input});
    }
    of.ranks.push_back({block});
  }
  const CollectiveAlgorithm algorithm = algorithm_in(of);
  const models::VerifyReport report = models::verify(algorithm, {});
  CHECK(report.verdict == AlgoVerdict::kDeadlock);
  CHECK(report.slots == 2);
  CHECK(report.slots_needed == 3);
  REQUIRE(report.hang);
  CHECK(report.hang->explanation.cycle.size() == 2);
  CHECK(report.hang->explanation.cycle[0].kind == sim::WaitKind::kSlot);
  models::VerifyOptions three;
  three.slots = 3;
  CHECK(verdict(algorithm, three) == AlgoVerdict::kCorrect);
  // A channel of protocol LL has eight slots.
  XmlAlgorithm low_latency = of;
  low_latency.protocol = "LL";
  CHECK(verdict(algorithm_in(low_latency)) == AlgoVerdict::kCorrect);
  const auto changes = models::try_changes(algorithm, report, {});
  REQUIRE_FALSE(changes.empty());
  CHECK(changes[0].what == "3 slots instead of 2");
  CHECK(changes[0].verdict == AlgoVerdict::kCorrect);
}

TEST_CASE("a hang without slots is a cycle, or a wait for what nobody does",
          "[models][verify_algorithm]") {
  XmlAlgorithm of = pair();
  for (auto& rank : of.ranks) std::swap(rank[0].steps[0], rank[0].steps[1]);
  models::VerifyReport report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kDeadlock);
  CHECK_FALSE(report.slots_needed);
  REQUIRE(report.hang);
  CHECK(report.hang->explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(report.steps_done == 0);

  of = pair_of_blocks();
  of.ranks[0][0].steps[1].publishes = false;
  const CollectiveAlgorithm untold = algorithm_in(of);
  report = models::verify(untold, {});
  CHECK(report.verdict == AlgoVerdict::kDeadlock);
  REQUIRE(report.hang);
  CHECK(report.hang->explanation.verdict == sim::Verdict::kStarved);
  const auto changes = models::try_changes(untold, report, {});
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].what == "hasdep=\"1\" at rank 0 tb 0 step 1");
  CHECK(changes[0].verdict == AlgoVerdict::kCorrect);
}

TEST_CASE("a step of many chunks needs more slots the larger the message",
          "[models][verify_algorithm]") {
  XmlAlgorithm of;
  of.chunks = of.input = 8;
  of.scratch = 8;
  for (const int rank : {0, 1}) {
    of.ranks.push_back({{1 - rank, 1 - rank, 0, {{"s", "i0", "i0", 8}, {"rrc", "i0", "i0", 8}}}});
  }
  // If only 3 of the 8 chunks fit in a slot, they need 3 slots, but the channel has 2. Only 3
  // chunks fit in a slot if each has more than 2 MiB / 4 bytes.
  models::VerifyReport report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kHangsForLarge);
  CHECK(report.hangs_from == (std::uint64_t{2} << 20) / 4 * 8 + 1);
  const auto changes = models::try_changes(algorithm_in(of), report, {});
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].verdict == AlgoVerdict::kCorrect);
  CHECK(changes[1].verdict == AlgoVerdict::kCorrect);
  // No size in the algorithm's range hangs, so the report only states the limit.
  of.more = "inplace=\"1\" maxBytes=\"4194304\"";
  report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kCorrect);
  CHECK(report.hangs_from == 4'194'305);
  models::VerifyOptions larger;
  larger.bytes = 4'194'305;
  CHECK(verdict(algorithm_in(of), larger) == AlgoVerdict::kDeadlock);
}

TEST_CASE("what is left over, and what differs in size", "[models][verify_algorithm]") {
  XmlAlgorithm of = pair();
  of.ranks[0][0].steps.push_back({"s", "i0"});
  models::VerifyReport report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kUnbalanced);
  REQUIRE(report.left.size() == 1);
  CHECK(report.left[0].sent == 3);
  CHECK(report.left[0].taken == 2);
  of = pair();
  of.ranks[0][0].steps[0] = {"s", "i0", "i0", 2};
  report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kUnbalanced);
  REQUIRE(report.left.size() == 1);
  CHECK(report.left[0].sizes_differ);
}

TEST_CASE("a race names both steps, and the dependency that orders them",
          "[models][verify_algorithm]") {
  XmlAlgorithm of = pair_of_blocks();
  of.ranks[1][1].steps[0].on_block = of.ranks[1][1].steps[0].on_step = -1;
  const CollectiveAlgorithm algorithm = algorithm_in(of);
  const models::VerifyReport report = models::verify(algorithm, {});
  CHECK(report.verdict == AlgoVerdict::kRace);
  REQUIRE(report.found_races.size() >= 1);
  const auto changes = models::try_changes(algorithm, report, {});
  REQUIRE_FALSE(changes.empty());
  CHECK(changes[0].verdict == AlgoVerdict::kCorrect);
  CHECK(report.right_result == AlgoAnswer::kNotAsked);
}

TEST_CASE("results are compared with the definition of the collective",
          "[models][verify_algorithm]") {
  XmlAlgorithm of = ring_all_gather();
  of.ranks[1][0].steps[2].to = "o1";
  models::VerifyReport report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kWrongResult);
  REQUIRE_FALSE(report.wrong.empty());
  CHECK(report.wrong[0].rank == 1);
  // A step reads scratch that no step has written.
  of = pair();
  of.scratch = 1;
  of.ranks[0][0].steps.push_back({"cpy", "s0", "i0"});
  report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kWrongResult);
  CHECK(report.reads_unwritten);
  // The collective is unknown: verify checks everything except the result.
  of = pair();
  of.collective = "custom";
  report = models::verify(algorithm_in(of), {});
  CHECK(report.verdict == AlgoVerdict::kUndecided);
  CHECK(report.races == AlgoAnswer::kNo);
}

TEST_CASE("changed files are found wrong, or all orders of them are right",
          "[models][verify_algorithm]") {
  std::size_t noticed = 0;
  std::size_t harmless = 0;
  for (const XmlAlgorithm& of : {pair(), pair_of_blocks(), one_shot(), ring_all_gather()}) {
    std::vector<CollectiveAlgorithm> files = changes_of(algorithm_in(of));
    files.push_back(algorithm_in(of));
    for (const CollectiveAlgorithm& file : files) {
      for (const std::uint32_t slots : {1U, 2U}) {
        models::VerifyOptions options;
        options.slots = slots;
        options.bytes = 1024;  // all chunks of a step fit one slot
        const models::VerifyReport report = models::verify(file, options);
        AllOrders all(file, slots);
        all.run();
        CAPTURE(static_cast<int>(report.verdict), slots);
        if (report.verdict == AlgoVerdict::kCorrect) {
          ++harmless;
          CHECK(all.good());
        } else {
          ++noticed;
        }
        CHECK((report.hangs == AlgoAnswer::kYes) == all.hangs);
        // Without races, all interleavings end alike, and verify reports a wrong result.
        if (report.races == AlgoAnswer::kNo && !all.hangs) CHECK(all.ends.size() == 1);
        const bool differs = report.verdict == AlgoVerdict::kWrongResult ||
                             report.verdict == AlgoVerdict::kRanksDiffer;
        if (differs) CHECK_FALSE(all.good());
      }
    }
  }
  CHECK(noticed > 100);
  CHECK(harmless > 8);
}
