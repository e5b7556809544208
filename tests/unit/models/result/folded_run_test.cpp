// Runs with a few representative ranks, compared with runs of all ranks.
#include "models/result/folded_run.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/codes.hpp"
#include "models/result/pipeline_report.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/sanitized.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/text_report.hpp"

#include "features/check/check.hpp"
#include "features/check/nccl_modes.hpp"
#include "features/sweep/parameter_sweep.hpp"

namespace pipesim {
namespace {

using testing::load;
using testing::scenario_of;
using testing::scenario_paths;

// Returns the printed report of a run, and its data by class.
std::string text_of(const models::TaskGraph& graph, const models::Explanation& explanation,
                    std::vector<models::RankSet> alike) {
  viz::Report report{graph, explanation, {}, {}, {}, {}, {}};
  report.alike = std::move(alike);
  return viz::text_report(report, {}) + viz::json_report(report, true);
}

// Whether the job folds. Checks that the report of the folded run equals the report of a run of all
// ranks.
bool compare(const models::TaskGraph& graph, const std::string& text, std::size_t& hangs) {
  INFO(text);
  const auto folded = models::run_folded(graph);
  if (!folded) return false;
  if (const auto result = models::run_case_folded(graph, *models::fold_job(graph), nullptr)) {
    models::Diagnostics mistakes;
    CHECK(*result == models::run_case(graph, *models::lower(graph, mistakes), {}, nullptr));
  }
  const models::Simulation whole = testing::simulate(graph);
  CHECK(text_of(graph, folded->simulation.explanation, folded->alike) ==
        text_of(graph, whole.explanation, {}));
  if (!whole.outcome.completed()) ++hangs;
  return true;
}

// Whether the check folds in some reading. Checks that a run of all ranks ends as the check
// reports.
bool compare_checks(models::TaskGraph graph, const std::string& text, std::size_t& hangs) {
  bool any = false;
  for (const auto mode :
       {models::NcclMode::kContract, models::NcclMode::kReal, models::NcclMode::kCold}) {
    graph.nccl_mode = mode;
    INFO(text << "reading: " << models::nccl_mode_name(mode));
    auto job = models::fold_job(graph);
    if (!job) continue;
    auto few = models::check_folded(graph, std::move(*job), {}, nullptr, models::FoldHangs::kYes);
    if (!few) continue;
    any = true;
    sim::RunOptions run;
    run.keep_op_times = true;
    const models::CheckReport all = models::check(graph, testing::simulate(graph, run), {});
    CHECK(few->exploration.answer == all.exploration.answer);
    CHECK(all.exploration.method == sim::Method::kOneRun);
    CHECK(few->exploration.orders == all.exploration.orders);
    if (const models::Simulation* hanging = all.hanging()) {
      ++hangs;
      CHECK(all.exploration.answer == sim::Answer::kHangCertain);
      CHECK(text_of(graph, few->usual.explanation, few->alike) ==
            text_of(graph, hanging->explanation, {}));
      CHECK_FALSE(models::check_folded(graph, *models::fold_job(graph), {}));
      continue;
    }
    CHECK(few->exploration.rests_on.slots == all.exploration.rests_on.slots);
    CHECK(few->exploration.rests_on.queues == all.exploration.rests_on.queues);
    CHECK(few->exploration.rests_on.records == all.exploration.rests_on.records);
    CHECK(few->exploration.rests_on.launches == all.exploration.rests_on.launches);
    CHECK(few->usual.explanation.time_ns == all.usual.explanation.time_ns);
    CHECK(few->usual.explanation.fingerprint == all.usual.explanation.fingerprint);
    CHECK(few->usual.explanation.ops_expected == all.usual.explanation.ops_expected);
    CHECK(models::buffered_bytes(few->usual, few->copies()) == models::buffered_bytes(all.usual));
  }
  return any;
}

// Draws a random job of tensor, data and pipeline parallel ranks.
class DrawnJob : testing::Draws {
 public:
  explicit DrawnJob(std::uint64_t seed) : Draws(seed) {}

  std::string text() {
    const int tensor = pick({1, 2, 4});
    const int data = pick({4, 8, 16, 32});
    const int stages = pick({1, 2, 3, 4});
    of_stage_ = tensor * data;
    ranks_ = of_stage_ * stages;
    std::string text = fmt::format("schema: 1\nranks: {}\n", ranks_);
    text += fmt::format(
        "groups: {{world: {{size: {}}}, tp: {{size: {}}}, dp: {{size: {}, stride: {}}}, pp: "
        "{{size: {}, stride: "
        "{}}}}}\n",
        ranks_, tensor, data, tensor, stages, of_stage_);
    if (chance(3)) {
      const int devices = pick({1, 2, 4, 8});
      text += fmt::format("cluster: {{hosts: {}, devices: {}}}\n", (ranks_ + devices - 1) / devices,
                          devices);
      timed_ = true;
    }
    text += "communicators: {named: {side: {group: dp, stream: side}}}\n";
    text += "programs:\n";
    if (chance(3)) {
      text += fmt::format("  on: rank != {}\n", below(ranks_));
    }
    text += "  do:\n";
    const int steps = pick({1, 2, 3, 5});
    for (int i = 0; i < steps; ++i) text += step("    ");
    if (chance(2)) {
      text += fmt::format("    - repeat: {}\n      do:\n", pick({1, 2, 3}));
      for (int i = 0; i < 2; ++i) text += step("        ");
    }
    if (chance(3)) {
      text += fmt::format("    - {{compute: late, takes: 7us, on: {}}}\n", below(ranks_));
    }
    return text + step("    ");
  }

 private:
  std::string takes() { return pick({"3us", "5us", "1us * (rank % 2 + 1)", "1us * (rank / 4)"}); }
  std::string on() {
    switch (pick({0, 0, 0, 1, 2, 3})) {
      case 1:
        return fmt::format(", on: rank < {}", of_stage_);
      case 2:
        return ", on: rank % 2 == 0";
      case 3:
        return fmt::format(", on: rank >= {}", ranks_ / 2);
      default:
        return "";
    }
  }
  std::string size() {
    return timed_ ? fmt::format("bytes: {}", pick({"1KiB", "8MiB"})) : "bytes: 1KiB, takes: 2us";
  }

  std::string step(const std::string& in) {
    switch (pick({0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5})) {
      case 0:
        return fmt::format("{}- {{compute: work, takes: {}{}}}\n", in, takes(), on());
      case 1:
        return fmt::format("{}- {{all_reduce: {}, {}}}\n", in, pick({"tp", "dp", "side"}), size());
      case 2:  // a send to the next pipeline rank
        return fmt::format(
            "{0}- {{recv: pp, from: rank - {1}, {2}, on: rank >= {1}}}\n"
            "{0}- {{send: pp, to: rank + {1}, {2}, on: rank < {3}}}\n",
            in, of_stage_, size(), ranks_ - of_stage_);
      case 3:
        return fmt::format("{}- {{broadcast: {}, root: {}, {}}}\n", in, pick({"world", "tp", "tp"}),
                           pick({"0", "rank - rank % 4", "rank - rank % 2"}), size());
      case 4:
        return fmt::format("{}- {{synchronize: device{}}}\n", in, on());
      default:
        return fmt::format(
            "{0}- group:\n{0}    - {{send: world, to: (rank + 1) % {1}, {2}}}\n"
            "{0}    - {{recv: world, from: (rank + {1} - 1) % {1}, {2}}}\n",
            in, ranks_, size());
    }
  }

  int ranks_ = 1;
  int of_stage_ = 1;
  bool timed_ = false;
};

TEST_CASE("what folds ends as the whole does") {
  std::size_t folded = 0;
  std::size_t hangs = 0;
  const std::uint64_t jobs = testing::kSanitized ? 100 : 600;
  for (std::uint64_t seed = 1; seed <= jobs; ++seed) {
    const std::string text = DrawnJob(seed).text();
    models::TaskGraph graph = scenario_of(text).graph;
    graph.nccl_mode = static_cast<models::NcclMode>(seed % 3);
    if (compare(graph, text, hangs)) ++folded;
  }
  if (testing::kSanitized) return;  // too few jobs for these numbers
  CHECK(folded - hangs > 100);
  CHECK(hangs > 20);
}

TEST_CASE("shipped scenarios end folded as they do") {
  std::size_t hangs = 0;
  for (const std::string& path : scenario_paths()) {
    compare(load(path).graph, path, hangs);
    compare_checks(load(path).graph, path, hangs);
  }
}

TEST_CASE("few ranks are checked for all where one run decides") {
  std::size_t folded = 0;
  std::size_t hangs = 0;
  std::size_t buffered = 0;
  const std::uint64_t jobs = testing::kSanitized ? 60 : 300;
  for (std::uint64_t seed = 1; seed <= jobs; ++seed) {
    const std::string text = DrawnJob(seed).text();
    const models::TaskGraph graph = scenario_of(text).graph;
    if (!compare_checks(graph, text, hangs)) continue;
    ++folded;
    if (models::check_nccl_modes(graph, {}).buffered_bytes > 0) ++buffered;
  }
  if (testing::kSanitized) return;  // too few jobs for these numbers
  CHECK(folded > 50);
  CHECK(hangs > 10);
  CHECK(buffered > 10);
}

// Even and odd ranks make their calls in another order. Nothing hangs, unless communicator
// init waits for kernels (the first job), or a new size connects again (the second).
TEST_CASE("representatives find the assumptions of a proof that all ranks find") {
  const std::string head = "schema: 1\nranks: 16\ngroups: {a: {size: 2}, b: {size: 2}}\n";
  const std::string hosts = "communicators: {named: {hosts: {group: a, host: true}}}\n";
  const std::string first = "programs:\n  do:\n    - {all_reduce: a, bytes: 1KiB, takes: 1us}\n";
  const std::string by_init = first +
                              "    - {synchronize: device}\n"
                              "    - {all_reduce: a, bytes: 1KiB, takes: 1us, on: rank % 2 == 0}\n"
                              "    - {create: b}\n"
                              "    - {all_reduce: a, bytes: 1KiB, takes: 1us, on: rank % 2 == 1}\n";
  const std::string by_size = hosts + first +
                              "    - {all_reduce: a, bytes: 8MiB, takes: 1us, on: rank % 2 == 0}\n"
                              "    - {barrier: hosts, takes: 1us}\n"
                              "    - {all_reduce: a, bytes: 8MiB, takes: 1us, on: rank % 2 == 1}\n";
  const std::string neither = first + "    - {all_reduce: a, bytes: 8MiB, takes: 1us}\n";
  for (const std::string& steps : {by_init, by_size, neither}) {
    const models::TaskGraph graph = scenario_of(head + steps).graph;
    INFO(steps);
    REQUIRE(models::fold_job(graph));
    models::TaskGraph all = graph;  // a limit of memory keeps ranks from being folded
    all.memory = models::Expr::constant(std::int64_t{1} << 50);
    REQUIRE_FALSE(models::fold_job(all));
    for (const models::TaskGraph& each : {graph, all}) {
      const models::NcclModesReport report = models::check_nccl_modes(each, {});
      CHECK(report.answer == models::JobAnswer::kProved);
      CHECK(report.by_init == (steps == by_init));
      CHECK(report.by_size.has_value() == (steps == by_size));
    }
  }
}

TEST_CASE("a long job of few ranks folds, and a short one does not") {
  const auto graph_of = [](int steps) {
    std::string text = "schema: 1\nranks: 8\ngroups: {world: all}\nprograms:\n  do:\n";
    for (int i = 0; i < steps; ++i) {
      text += fmt::format("    - {{all_reduce: world, bytes: {}B, takes: 1us}}\n", i + 1);
    }
    text += "    - {compute: last, takes: 7us, on: 3}\n";
    return scenario_of(text).graph;
  };
  std::size_t hangs = 0;
  CHECK_FALSE(compare(graph_of(100), "short", hangs));
  CHECK(compare(graph_of(1000), "long", hangs));
}

TEST_CASE("a folded schedule says of all its ranks what each waited for") {
  const models::TaskGraph graph = scenario_of(R"(schema: 1
parallel: {tensor: 2, data: 8, pipeline: 4}
schedule:
  kind: 1f1b
  micro_batches: 6
  forward: 1ms
  input_grad: 2ms
  weights: 1GiB
  activation: 10MiB
  collectives:
    - {call: all_reduce, over: tensor, in: forward, takes: 50us}
    - {call: all_reduce, over: data, in: last_backward, takes: 5ms}
)")
                                      .graph;
  const auto folded = models::run_folded(graph);
  REQUIRE(folded);
  CHECK(folded->folding.kept.size() == 4);
  sim::RunOptions options;
  options.keep_op_times = true;
  const models::Simulation whole = testing::simulate(graph, options);
  CHECK(models::pipeline_report(graph, folded->simulation.lowered, folded->simulation.outcome,
                                &folded->folding) ==
        models::pipeline_report(graph, whole.lowered, whole.outcome));
}

// Groups of four ranks. In all groups except the second, the ranks form a ring, and each rank sends
// to the next rank. In the second group, each rank has the same two peers as in a ring, but the
// rank to which it sends receives from a third rank.
TEST_CASE("ranks differ where their peers know them as another peer") {
  static constexpr const char* kText = R"(schema: 1
ranks: 64
groups: {world: {size: 64}}
programs:
  do:
    - group:
        - {send: world, bytes: 1B, takes: 1us,
           to: 'rank - rank % 4 + if(rank / 4 != 1, (rank + 1) % 4, rank % 2 == 0, rank % 4 + 1, rank % 4 - 1)'}
        - {recv: world, bytes: 1B, takes: 1us,
           from: 'rank - rank % 4 + if(rank / 4 != 1, (rank + 3) % 4, 3 - rank % 4)'}
)";
  const auto folding = models::fold_ranks(scenario_of(kText).graph);
  REQUIRE(folding);
  CHECK(folding->kept == models::RankSet({0, 1, 2, 3, 4, 5, 6, 7}));
  CHECK(folding->stands_for[63] == 0);
}

// The contract makes a broadcast wait for all ranks. Every four ranks name their first rank as the
// root, so the representatives alone would agree.
TEST_CASE("ranks of one list that name different roots are not folded") {
  static constexpr const char* kText = R"(schema: 1
reading: contract
ranks: 32
groups: {world: {size: 32}}
programs:
  do:
    - {broadcast: world, root: ROOT, bytes: 1KiB, takes: 2us}
)";
  const auto with_root = [&](const std::string& root) {
    std::string text = kText;
    text.replace(text.find("ROOT"), 4, root);
    return scenario_of(text).graph;
  };
  CHECK(models::fold_ranks(with_root("0")));
  CHECK(models::fold_ranks(with_root("rank - rank")));
  CHECK_FALSE(models::fold_ranks(with_root("rank - rank % 4")));
}

// All ranks send before they receive, which makes cycles of two. 79 * 131,072 steps exceed the
// limit of ten million.
TEST_CASE("a hang that only all ranks can tell is refused where they are too many") {
  std::string text = R"(schema: 1
ranks: 131072
reading: contract
groups: {pp: {size: 2, stride: 65536}}
programs:
  do:
)";
  for (int step = 0; step < 76; ++step) {
    text += fmt::format("    - {{compute: step_{}, takes: 1us}}\n", step);
  }
  text += R"(    - {send: pp, to: (rank + 65536) % 131072, bytes: 64MiB, takes: 1us}
    - {recv: pp, from: (rank + 65536) % 131072, bytes: 64MiB}
    - {synchronize: device}
)";
  const models::TaskGraph graph = scenario_of(text).graph;
  auto job = models::fold_job(graph);
  REQUIRE(job);
  CHECK_FALSE(models::run_case_folded(graph, *job, nullptr));
  CHECK_THROWS_AS(models::check(graph, std::move(*job), {}), models::UserError);
}

// The first even and the first odd rank are kept. They are in different pairs, so their peers are
// also kept.
TEST_CASE("with a rank those that it meets are kept") {
  std::string pairs;
  for (int rank = 0; rank < 16; ++rank) {
    pairs += fmt::format("{}[{}, {}]", rank == 0 ? "" : ", ", rank, 16 + (rank ^ 1));
  }
  const auto folding =
      models::fold_ranks(scenario_of("schema: 1\nranks: 32\ngroups: {pair: [" + pairs + R"(]}
programs:
  do:
    - {compute: late, takes: 1ms, on: rank % 2 == 1}
    - {all_reduce: pair, takes: 1us}
)")
                             .graph);
  REQUIRE(folding);
  CHECK(folding->kept == models::RankSet({0, 1, 16, 17}));
}

// Pairs on 18 hosts: ranks 0 to 7 and 8 to 15 are on two hosts of 8 devices, so a pair shares a
// host; each of ranks 16 to 31 is alone on its host.
TEST_CASE("lists fold by how they share hosts, and not by which devices they are on") {
  std::string hosts;
  for (int rank = 0; rank < 32; ++rank) {
    hosts += fmt::format("{}{}", rank == 0 ? "" : ", ", rank < 16 ? rank / 8 : rank - 14);
  }
  const models::TaskGraph graph =
      scenario_of(
          "schema: 1\nranks: 32\ngroups: {pair: {size: 2}}\ncluster: {hosts: 18, devices: 8, "
          "ranks: [" +
          hosts + "]}\nprograms: {do: [{all_reduce: pair, bytes: 1MiB}]}\n")
          .graph;
  const auto folding = models::fold_ranks(graph);
  REQUIRE(folding);
  CHECK(folding->kept == models::RankSet({0, 16}));
  CHECK(folding->stands_for[15] == 0);
  CHECK(folding->stands_for[31] == 16);
  std::size_t hangs = 0;
  CHECK(compare(graph, "two hosts of 8 devices, 16 of one", hangs));
}

// Ranks 0 to 3 differ from the other ranks: they send, receive, are late, or are paired with such a
// rank.
TEST_CASE("ranks that send to different sorts of ranks, or meet them in lists, differ") {
  static constexpr const char* kText = R"(schema: 1
ranks: 32
groups: {world: {size: 32}, pair: {size: 2}}
programs:
  do:
    - {compute: late, takes: 1ms, on: rank == 1}
    - {all_reduce: pair, takes: 1us}
    - {send: world, to: rank + 2, bytes: 1B, takes: 1us, on: rank == 0}
    - {recv: world, from: rank - 2, bytes: 1B, takes: 1us, on: rank == 2}
)";
  const auto folding = models::fold_ranks(scenario_of(kText).graph);
  REQUIRE(folding);
  // Ranks 0 and 2 send and receive, rank 1 is late, rank 3 is in rank 2's pair; all other ranks are
  // like rank 4.
  CHECK(folding->kept == models::RankSet({0, 1, 2, 3, 4}));
  CHECK(folding->stands_for[31] == 4);
}

}  // namespace
}  // namespace pipesim
