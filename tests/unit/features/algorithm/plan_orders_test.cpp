// Compares the verdicts on small MSCCL++ execution plans, and on every small change to them, with a
// program that tries all interleavings of their threads over several launches. The program shares
// only the parsed plan with the code under test.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/algorithms.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"

#include "features/algorithm/algorithm_file.hpp"
#include "features/algorithm/verify_algorithm.hpp"

using namespace pipesim;
using models::AlgoBuffer;
using models::AlgoStep;
using models::AlgoVerdict;
using models::CollectiveAlgorithm;
using testing::PlanAlgorithm;
using testing::PlanOp;

namespace {

CollectiveAlgorithm read(const PlanAlgorithm& plan) {
  models::Diagnostics diagnostics;
  auto algorithm = formats::read_algorithm(testing::plan_text(plan), diagnostics);
  for (const models::Diagnostic& diagnostic : diagnostics.sorted()) {
    UNSCOPED_INFO(diagnostic.message);
  }
  REQUIRE(algorithm);
  return *algorithm;
}

// Returns a plan in which each rank puts its chunk into the other's scratch, and adds the chunk it
// receives. A signal at the start tells the other rank that the previous launch has finished with
// the scratch.
PlanAlgorithm put_all_reduce() {
  PlanAlgorithm of;
  for (const int rank : {0, 1}) {
    const int peer = 1 - rank;
    of.ranks.push_back({{{"signal", {peer}},
                         {"wait", {peer}},
                         {"nop"},
                         {"put", {}, {"i0"}, {std::to_string(peer) + ":s0"}},
                         {"nop"},
                         {"signal", {peer}},
                         {"wait", {peer}},
                         {"nop"},
                         {"re", {}, {"i0", "s0"}, {"o0"}}}});
  }
  return of;
}

// Returns the plan of put_all_reduce() with packets, which need no signals. If launches alternate
// between two halves of the scratch, a fast rank does not overwrite unread packets.
PlanAlgorithm packet_all_reduce(bool double_scratch) {
  PlanAlgorithm of;
  of.more = std::string(", \"use_double_scratch_buffer\": ") + (double_scratch ? "true" : "false");
  for (const int rank : {0, 1}) {
    of.ranks.push_back({{{"ppkt", {}, {"i0"}, {std::to_string(1 - rank) + ":s0"}},
                         {"repkt", {}, {"i0", "s0"}, {"o0"}}}});
  }
  return of;
}

// Returns a plan in which each rank reads the other's chunk itself. A second thread block copies
// the rank's own chunk after a semaphore, and both blocks meet in a barrier before they signal the
// other rank.
PlanAlgorithm get_all_gather() {
  PlanAlgorithm of;
  of.collective = "allgather";
  of.output = 2;
  of.semaphores = {0};
  const std::string semaphore = ", \"semaphore_ids\": [0]";
  const std::string barrier = ", \"barrier_id\": 0, \"num_threadblocks\": 2";
  for (const int rank : {0, 1}) {
    const int peer = 1 - rank;
    of.ranks.push_back({{{"signal", {peer}},
                         {"wait", {peer}},
                         {"sem_release", {}, {}, {}, semaphore},
                         {"nop"},
                         {"get", {}, {std::to_string(peer) + ":i0"}, {"o" + std::to_string(peer)}},
                         {"barrier", {}, {}, {}, barrier},
                         {"signal", {peer}},
                         {"wait", {peer}}},
                        {{"sem_acquire", {}, {}, {}, semaphore},
                         {"nop"},
                         {"copy", {}, {"i0"}, {"o" + std::to_string(rank)}},
                         {"barrier", {}, {}, {}, barrier}}});
  }
  return of;
}

/// Runs a plan in every interleaving. A block has two kinds of threads: threads that signal and
/// wait, and threads that move data. Each kind runs its ops in order; a `nop` or `barrier`
/// synchronizes both kinds. Kernels on each rank's stream write the inputs before a launch and read
/// the outputs after it.
class AllPlanOrders {
 public:
  AllPlanOrders(const CollectiveAlgorithm& plan, int launches) : plan_(plan), launches_(launches) {
    for (std::uint32_t rank = 0; rank < plan.ranks.size(); ++rank) {
      for (std::uint32_t block = 0; block < plan.ranks[rank].blocks.size(); ++block) {
        blocks_.emplace_back(rank, block);
      }
    }
  }

  void run() {
    State start;
    start.launch.assign(plan_.ranks.size(), 0);
    start.running.assign(plan_.ranks.size(), false);
    start.at.assign(blocks_.size(), {0, 0});
    start.signals.assign(plan_.channels.size(), 0);
    for (const models::AlgoRank& rank : plan_.ranks) {
      start.semaphores.emplace_back(rank.semaphores.begin(), rank.semaphores.end());
    }
    std::vector<State> open = {start};
    seen_.insert(start.key());
    while (!open.empty() && (good() || !hangs)) {
      const State state = std::move(open.back());
      open.pop_back();
      std::vector<State> next;
      add_streams(state, next);
      for (std::size_t i = 0; i < blocks_.size(); ++i) add_block(state, i, next);
      add_barriers(state, next);
      if (next.empty()) finish(state);
      for (State& one : next) {
        if (seen_.insert(one.key()).second) open.push_back(std::move(one));
      }
    }
  }

  bool good() const { return !hangs && !wrong && !left_over; }

  bool hangs = false;
  bool wrong = false;
  bool left_over = false;

 private:
  struct State {
    std::vector<int> launch;    // by rank: index of the current launch
    std::vector<bool> running;  // by rank: whether the plan runs, not the kernels around it
    // The positions of both kinds of threads, by block.
    std::vector<std::pair<std::size_t, std::size_t>> at;
    std::vector<int> signals;  // by channel: signals that no wait has consumed
    std::vector<std::vector<int>> semaphores;
    std::map<std::string, std::string> memory;
    std::map<std::string, int> packets;  // the launch that wrote each packet

    std::string key() const {
      std::string text;
      for (const int n : launch) text += std::to_string(n) + ",";
      for (const bool is : running) text += is ? "+" : "-";
      for (const auto& [control, data] : at) {
        text += std::to_string(control) + "/" + std::to_string(data) + ",";
      }
      for (const int n : signals) text += std::to_string(n) + ",";
      for (const auto& rank : semaphores) {
        for (const int n : rank) text += std::to_string(n) + ",";
      }
      for (const auto& [cell, value] : memory) text.append(cell).append("=").append(value + ";");
      for (const auto& [cell, n] : packets) text += cell + ":" + std::to_string(n) + ";";
      return text;
    }
  };

  const std::vector<AlgoStep>& steps(std::size_t block) const {
    return plan_.ranks[blocks_[block].first].blocks[blocks_[block].second].steps;
  }
  static bool meets(const AlgoStep& step) {
    const std::string_view name = models::step_name(step.kind);
    return name == "nop" || name == "barrier";
  }
  static bool is_control(const AlgoStep& step) {
    const std::string_view name = models::step_name(step.kind);
    return name == "signal" || name == "wait" || name == "sem_acquire" || name == "sem_release";
  }
  // Returns the position of the next op of one kind of threads, skipping the ops of the other kind.
  std::size_t next_of(std::size_t block, std::size_t from, bool control) const {
    const auto& all = steps(block);
    while (from < all.size() && !meets(all[from]) && is_control(all[from]) != control) ++from;
    return from;
  }

  static std::string cell(std::uint32_t rank, AlgoBuffer buffer, std::uint32_t index) {
    return std::to_string(rank) + "ios"[static_cast<int>(buffer)] + std::to_string(index);
  }
  std::string input(std::uint32_t rank, std::uint32_t chunk, int launch) const {
    return std::to_string(rank) + "." + std::to_string(chunk) + "@" + std::to_string(launch);
  }

  bool plan_ended(const State& state, std::uint32_t rank) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].first != rank) continue;
      const auto [control, data] = state.at[i];
      if (next_of(i, control, true) != steps(i).size()) return false;
      if (next_of(i, data, false) != steps(i).size()) return false;
    }
    return true;
  }

  void add_streams(const State& state, std::vector<State>& next) {
    for (std::uint32_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      State one = state;
      if (state.running[rank]) {
        if (!plan_ended(state, rank)) continue;
        check_output(state, rank);
        one.running[rank] = false;
        ++one.launch[rank];
      } else {
        if (state.launch[rank] == launches_) continue;
        for (std::uint32_t i = 0; i < plan_.ranks[rank].input_chunks; ++i) {
          one.memory[cell(rank, AlgoBuffer::kInput, i)] = input(rank, i, state.launch[rank]);
        }
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
          if (blocks_[i].first == rank) one.at[i] = {0, 0};
        }
        one.running[rank] = true;
      }
      next.push_back(std::move(one));
    }
  }

  void check_output(const State& state, std::uint32_t rank) {
    const auto ranks = static_cast<std::uint32_t>(plan_.ranks.size());
    for (std::uint32_t i = 0; i < plan_.ranks[rank].output_chunks; ++i) {
      std::multiset<std::string> wanted;
      const bool gathers = plan_.collective == models::AlgoCollective::kAllGather;
      for (std::uint32_t from = 0; from < ranks; ++from) {
        if (!gathers) wanted.insert(input(from, i, state.launch[rank]));
        if (gathers && from == i) wanted.insert(input(from, 0, state.launch[rank]));
      }
      const auto found = state.memory.find(cell(rank, AlgoBuffer::kOutput, i));
      const std::string value = found == state.memory.end() ? "?" : found->second;
      std::multiset<std::string> leaves;
      std::string leaf;
      for (const char c : value + "+") {
        if (c != '+') {
          leaf += c;
        } else {
          leaves.insert(std::exchange(leaf, ""));
        }
      }
      wrong = wrong || leaves != wanted;
    }
  }

  void add_block(const State& state, std::size_t block, std::vector<State>& next) {
    if (!state.running[blocks_[block].first]) return;
    const auto& all = steps(block);
    const std::size_t control = next_of(block, state.at[block].first, true);
    const std::size_t data = next_of(block, state.at[block].second, false);
    if (control == data && control < all.size()) {
      if (models::step_name(all[control].kind) != "nop") return;
      State one = state;
      one.at[block] = {control + 1, data + 1};
      next.push_back(std::move(one));
      return;
    }
    for (const bool is_control_thread : {true, false}) {
      const std::size_t at = is_control_thread ? control : data;
      if (at == all.size() || meets(all[at])) continue;
      State one = state;
      const bool done = is_control_thread ? signal_or_wait(one, blocks_[block].first, all[at])
                                          : move(one, blocks_[block].first, all[at]);
      if (!done) continue;
      (is_control_thread ? one.at[block].first : one.at[block].second) = at + 1;
      next.push_back(std::move(one));
    }
  }

  // Lets all thread blocks of a barrier continue together.
  void add_barriers(const State& state, std::vector<State>& next) {
    for (std::uint32_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      if (!state.running[rank]) continue;
      std::map<std::uint32_t, std::vector<std::pair<std::size_t, std::size_t>>> there;
      std::map<std::uint32_t, std::uint32_t> wanted;
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (blocks_[i].first != rank) continue;
        const std::size_t at = next_of(i, state.at[i].first, true);
        if (at == steps(i).size() || at != next_of(i, state.at[i].second, false)) continue;
        const AlgoStep& step = steps(i)[at];
        if (models::step_name(step.kind) != "barrier") continue;
        there[step.barrier].emplace_back(i, at);
        wanted[step.barrier] = step.barrier_blocks;
      }
      for (const auto& [barrier, members] : there) {
        if (members.size() < wanted[barrier]) continue;
        State one = state;
        for (const auto& [block, at] : members) one.at[block] = {at + 1, at + 1};
        next.push_back(std::move(one));
      }
    }
  }

  bool signal_or_wait(State& state, std::uint32_t rank, const AlgoStep& step) const {
    const std::string_view name = models::step_name(step.kind);
    if (name == "signal") {
      for (const models::AlgoChannelId id : step.channels) {
        if (plan_.channels[id].other) ++state.signals[*plan_.channels[id].other];
      }
    } else if (name == "wait") {
      for (const models::AlgoChannelId id : step.channels) {
        if (state.signals[id]-- == 0) return false;
      }
    } else {
      for (const std::uint32_t semaphore : step.semaphores) {
        int& value = state.semaphores[rank][semaphore];
        if (name == "sem_acquire" && value == 0) return false;
        value += name == "sem_acquire" ? -1 : 1;
      }
    }
    return true;
  }

  std::string packet(const models::AlgoRange& range, int launch) const {
    return "p" + std::to_string(plan_.double_scratch ? launch % 2 : 0) +
           cell(range.rank, range.buffer, range.index);
  }

  bool move(State& state, std::uint32_t rank, const AlgoStep& step) const {
    const std::string_view name = models::step_name(step.kind);
    const int launch = state.launch[rank];
    std::string sum;
    for (std::size_t i = 0; i < step.sources.size(); ++i) {
      const models::AlgoRange& from = step.sources[i];
      std::string at = cell(from.rank, from.buffer, from.index);
      if (name == "repkt" && i > 0) {
        at = packet(from, launch);
        const auto written = state.packets.find(at);
        if (written == state.packets.end() || written->second != launch) return false;
      }
      const auto found = state.memory.find(at);
      sum += (i == 0 ? "" : "+") + (found == state.memory.end() ? "?" : found->second);
    }
    for (const models::AlgoRange& to : step.targets) {
      if (name == "ppkt") {
        const std::string at = packet(to, launch);
        state.memory[at] = sum;
        state.packets[at] = launch;
      } else {
        state.memory[cell(to.rank, to.buffer, to.index)] = sum;
      }
    }
    return true;
  }

  void finish(const State& state) {
    for (std::uint32_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      if (state.launch[rank] == launches_) continue;
      hangs = true;
      return;
    }
    const auto is_left = [](int value) { return value != 0; };
    left_over = left_over || std::any_of(state.signals.begin(), state.signals.end(), is_left);
    for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      const auto& initial = plan_.ranks[rank].semaphores;
      left_over =
          left_over || !std::equal(initial.begin(), initial.end(), state.semaphores[rank].begin());
    }
  }

  const CollectiveAlgorithm& plan_;
  const int launches_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks_;
  std::set<std::string> seen_;
};

// Returns all variants of a plan in which one op is dropped, swapped with the next op, or uses
// another chunk.
std::vector<CollectiveAlgorithm> changes(const CollectiveAlgorithm& of) {
  std::vector<CollectiveAlgorithm> result;
  for (std::size_t block = 0; block < of.ranks[0].blocks.size(); ++block) {
    const std::size_t count = of.ranks[0].blocks[block].steps.size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto change = [&](const auto& edit) {
        CollectiveAlgorithm changed = of;
        edit(changed.ranks[0].blocks[block].steps);
        result.push_back(std::move(changed));
      };
      using Steps = std::vector<AlgoStep>;
      const auto at = static_cast<std::ptrdiff_t>(i);
      change([&](Steps& steps) { steps.erase(steps.begin() + at); });
      change([&](Steps& steps) { steps.insert(steps.begin() + at, steps[i]); });
      if (i + 1 < count) change([&](Steps& steps) { std::swap(steps[i], steps[i + 1]); });
      for (auto ranges : {&AlgoStep::sources, &AlgoStep::targets}) {
        for (std::size_t r = 0; r < (of.ranks[0].blocks[block].steps[i].*ranges).size(); ++r) {
          const models::AlgoRange range = (of.ranks[0].blocks[block].steps[i].*ranges)[r];
          const std::uint32_t size = models::buffer_chunks(of, range.rank, range.buffer);
          if (size > 1) {
            change([&](Steps& steps) { (steps[i].*ranges)[r].index = (range.index + 1) % size; });
          }
          change([&](Steps& steps) { (steps[i].*ranges)[r].rank = 1 - range.rank; });
        }
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("correct plans are proved", "[models][verify_plan]") {
  for (const PlanAlgorithm& plan : {put_all_reduce(), packet_all_reduce(true), get_all_gather()}) {
    const CollectiveAlgorithm algorithm = read(plan);
    const models::VerifyReport report = models::verify(algorithm, {});
    CHECK(report.verdict == AlgoVerdict::kCorrect);
    AllPlanOrders all(algorithm, 3);
    all.run();
    CHECK(all.good());
  }
  // If the scratch is not doubled, a fast rank overwrites packets in the next launch.
  const CollectiveAlgorithm single = read(packet_all_reduce(false));
  CHECK(models::verify(single, {}).verdict == AlgoVerdict::kUnsafeLaunches);
  AllPlanOrders all(single, 2);
  all.run();
  CHECK_FALSE(all.good());
}

TEST_CASE("changed plans are found wrong, or all orders of them are right",
          "[models][verify_plan]") {
  std::size_t noticed = 0;
  std::size_t harmless = 0;
  for (const PlanAlgorithm& plan : {put_all_reduce(), packet_all_reduce(true), get_all_gather()}) {
    for (const CollectiveAlgorithm& changed : changes(read(plan))) {
      const models::VerifyReport report = models::verify(changed, {});
      AllPlanOrders all(changed, changed.double_scratch ? 3 : 2);
      all.run();
      std::string steps;
      for (const models::AlgoBlock& block : changed.ranks[0].blocks) {
        for (const AlgoStep& step : block.steps) steps += step_text(changed, 0, step) + "; ";
      }
      CAPTURE(steps, models::words_of(report.verdict).name, all.hangs, all.wrong, all.left_over);
      if (report.verdict == AlgoVerdict::kCorrect) {
        ++harmless;
        CHECK(all.good());
      } else {
        ++noticed;
      }
      if (report.verdict == AlgoVerdict::kDeadlock) CHECK(all.hangs);
      // A race can exist although no interleaving shows a fault.
      if (report.verdict != AlgoVerdict::kRace && report.verdict != AlgoVerdict::kUndecided) {
        CHECK((report.verdict == AlgoVerdict::kCorrect) == all.good());
      }
    }
  }
  CHECK(noticed > 50);
  CHECK(harmless > 5);
}

TEST_CASE("a hang of a plan gets proposals that were tried", "[models][verify_plan]") {
  const auto first_change = [](const PlanAlgorithm& plan) {
    const CollectiveAlgorithm algorithm = read(plan);
    const models::VerifyReport report = models::verify(algorithm, {});
    CHECK(report.verdict == AlgoVerdict::kDeadlock);
    const auto changes = models::try_changes(algorithm, report, {});
    for (const models::TriedChange& change : changes) {
      UNSCOPED_INFO(change.what << ": " << models::words_of(change.verdict).name);
    }
    return changes.empty() || changes[0].verdict != AlgoVerdict::kCorrect ? "" : changes[0].what;
  };
  // Each rank waits before it signals.
  PlanAlgorithm of = put_all_reduce();
  for (auto& rank : of.ranks) std::swap(rank[0][0], rank[0][1]);
  CHECK(first_change(of) == "signal before the wait in each of these thread blocks");
  // Rank 1 makes one wait too many.
  of = put_all_reduce();
  of.ranks[1][0].push_back({"wait", {0}});
  CHECK(first_change(of) == "without rank 1 tb 0 step 9 (wait)");
  // A semaphore that is released too late, and a barrier that expects too many blocks.
  of = get_all_gather();
  for (auto& rank : of.ranks) {
    rank[0].erase(rank[0].begin() + 2);
    rank[1].insert(rank[1].begin() + 3, {"sem_release", {}, {}, {}, ", \"semaphore_ids\": [0]"});
  }
  of.ranks[1][0].insert(of.ranks[1][0].begin() + 2,
                        {"sem_release", {}, {}, {}, ", \"semaphore_ids\": [0]"});
  of.ranks[1][1].erase(of.ranks[1][1].begin() + 3);
  CHECK(first_change(of) == "init_value 1 of semaphore 0 of rank 0");
  of = get_all_gather();
  for (auto& rank : of.ranks) {
    for (auto& block : rank) {
      for (PlanOp& op : block) {
        if (op.name == "barrier") op.more = ", \"barrier_id\": 0, \"num_threadblocks\": 2";
      }
    }
  }
  for (auto& block : of.ranks[0]) {
    for (PlanOp& op : block) {
      if (op.name == "barrier") op.more = ", \"barrier_id\": 0, \"num_threadblocks\": 3";
    }
  }
  CHECK(first_change(of) == "num_threadblocks 2 in barrier 0 of rank 0");
}
