// Fixes that `fix` finds with a few representative ranks, compared with those that it finds with
// all ranks.
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/result/folded_run.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/sanitized.hpp"

#include "features/fix/fix.hpp"
#include "features/fix/fix_report.hpp"
#include "features/fix/scenario_edits.hpp"

namespace pipesim {
namespace {

using models::FixCase;
using models::FixReport;
using testing::file_text;
using testing::scenario_of;
using testing::scenario_paths;

struct Fixed {
  FixReport report;
  std::string printed;  // text, JSON and patches
};

Fixed fix(const std::string& text, const testing::Settings& settings, bool fold) {
  const formats::Scenario scenario = scenario_of(text, settings);
  const formats::EditedScenario edited(scenario, text, {}, [&](const formats::PatchText& patch) {
    formats::ReadOptions patched;
    patched.patches.push_back(patch);
    models::Diagnostics unheard;
    return formats::read_scenario(text, settings, unheard, patched);
  });
  models::FixOptions options;
  options.max_states = options.max_sure_states = 200;
  options.max_steps = options.max_sure_steps = 20'000;
  options.walks = 10;
  options.max_pairs = 40;
  options.fold = fold;
  models::Diagnostics diagnostics;
  auto report = models::find_fixes(scenario.parameters, edited, options, diagnostics);
  if (!report) throw std::runtime_error(testing::text_of(diagnostics));
  const std::string& name = scenario.graph.name;
  std::string printed = viz::fix_text(*report, name) + viz::fix_json(*report, name);
  return {std::move(*report), std::move(printed)};
}

struct Counts {
  std::size_t jobs = 0;   // jobs that fold
  std::size_t fixes = 0;  // fixes found in these jobs
  std::size_t pairs = 0;
  std::size_t altering = 0;  // fixes by parameters that skip calls
  std::map<FixCase, std::size_t> cases;
  std::map<models::Cause, std::size_t> causes;
};

void compare(const std::string& text, const testing::Settings& settings, Counts& counts) {
  if (!models::fold_job(scenario_of(text, settings).graph)) return;
  INFO(text);
  const Fixed few = fix(text, settings, true);
  CHECK(few.printed == fix(text, settings, false).printed);
  ++counts.jobs;
  ++counts.cases[few.report.found];
  ++counts.causes[few.report.explanation.cause];
  counts.fixes += few.report.fixes.size();
  for (const models::Fix& found : few.report.fixes) {
    counts.pairs += found.edits.size() > 1 ? 1 : 0;
    const models::Edit& edit = found.edits.front();
    const bool is_parameter = edit.kind == &models::edit_kinds::kParameter;
    counts.altering += is_parameter && edit.alters ? 1 : 0;
  }
}

// Draws replicas of a job of tensor and data parallel ranks that hangs in a random way: on one
// rank, or on many identical ranks.
class HangingJob : testing::Draws {
 public:
  explicit HangingJob(std::uint64_t seed) : Draws(seed) {}

  std::string text() {
    const int tensor = pick({2, 4});
    const int data = pick({8, 16, 32});
    ranks_ = tensor * data;
    // The odd rank is often in the first replica, so that it precedes its peers.
    odd_ = below(chance(2) ? tensor : ranks_);
    const std::string repeat = pick({"rounds", "2"});
    std::string text = fmt::format("schema: 1\nname: drawn\nranks: {}\n", ranks_);
    text +=
        "params: {extra: on, ahead: {default: 3, at_least: 1}, rounds: {default: 2, at_least: 1}, "
        "size: 8MiB}\n";
    text += fmt::format(
        "groups: {{tp: {{size: {0}}}, dp: {{size: {1}, stride: {0}}}, pp: {{size: 2, stride: "
        "{2}}}}}\n",
        tensor, data, ranks_ / 2);
    if (chance(3)) text += fmt::format("reading: {}\n", pick({"contract", "real", "cold"}));
    if (chance(3)) text += fmt::format("device: {{resident: {}}}\n", pick({1, 2}));
    text += "programs:\n  do:\n";
    if (chance(3)) text += exchange("1KiB", true, "    ");
    text += fmt::format("    - repeat: {}\n      do:\n", repeat);
    text += "        - {compute: work, takes: 1ms}\n";
    if (chance(2)) text += all_reduce("tp", "");
    for (int i = chance(3) ? 2 : 1; i > 0; --i) text += hang();
    if (chance(2)) text += all_reduce("dp", ", when: extra");
    return text + "        - {synchronize: device}\n";
  }

 private:
  static std::string all_reduce(const std::string& group, const std::string& more) {
    return fmt::format("        - {{all_reduce: {}, bytes: size, takes: 100us{}}}\n", group, more);
  }

  // Returns steps in which each half of the ranks exchanges with the other half.
  std::string exchange(const std::string& bytes, bool grouped, const std::string& in) const {
    const std::string peer = fmt::format("(rank + {}) % {}", ranks_ / 2, ranks_);
    const std::string inner = grouped ? in + "    " : in;
    return fmt::format("{4}{0}- {{send: pp, to: {1}, bytes: {2}{3}}}\n", inner, peer, bytes,
                       ", takes: 1us", grouped ? in + "- group:\n" : "") +
           fmt::format("{}- {{recv: pp, from: {}, bytes: {}}}\n", inner, peer, bytes);
  }

  // Returns steps in which some ranks make the tp all-reduce before the dp all-reduce, and the
  // others after it.
  static std::string in_two_orders(const std::string& some, const std::string& others) {
    const std::string wait = "        - {synchronize: device}\n";
    return all_reduce("tp", ", on: " + some) + wait + all_reduce("dp", "") + wait +
           all_reduce("tp", ", on: " + others);
  }

  // Returns sends that run ahead of their recvs; NCCL's contract allows only one send in flight.
  std::string ahead() const {
    const int half = ranks_ / 2;
    const auto call = [&](const char* what, const char* with, const std::string& on) {
      return fmt::format("{{{}: pp, {}: (rank + {}) % {}, bytes: 1MiB, on: {}}}", what, with, half,
                         ranks_, on);
    };
    const std::string low = fmt::format("rank < {}", half);
    const std::string high = fmt::format("rank >= {}", half);
    const auto loop = [](const char* times, const std::string& steps) {
      return fmt::format("        - {{repeat: {}, do: [{}]}}\n", times, steps);
    };
    const auto both = [&](const std::string& on) {
      return call("recv", "from", on) + ", " + call("send", "to", on);
    };
    return loop("ahead", call("send", "to", low)) + loop("4 - ahead", both(low)) +
           loop("ahead", call("recv", "from", low)) + loop("4", both(high));
  }

  std::string hang() {
    const std::string odd = fmt::format("rank == {}", odd_);
    const std::string not_odd = fmt::format("rank != {}", odd_);
    switch (pick({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) {
      case 0:
        return all_reduce("dp", ", when: " + not_odd);
      case 1:
        return all_reduce("dp", fmt::format(", when: extra and {}", not_odd));
      case 2:
        return in_two_orders("rank % 2 == 0", "rank % 2 == 1");
      case 3:
        return in_two_orders(odd, not_odd);
      case 4:
        return exchange("64MiB", false, "        ");
      case 5:
        return exchange("1KiB", false, "        ");
      case 6:
        return fmt::format(
            "        - {{all_reduce: dp, bytes: \"size * (1 + if({}, 1, 0))\", takes: 100us}}\n",
            odd);
      case 7:
        return fmt::format("        - {{send: pp, to: {}, bytes: 64MiB, takes: 1us, on: {}}}\n",
                           (odd_ + ranks_ / 2) % ranks_, odd_);
      case 8:
        return ahead();
      default:
        return fmt::format(
            "        - {{broadcast: dp, root: \"{} + if({}, {}, 0)\", bytes: size, takes: 1us}}\n",
            "rank % 2", odd, 2);
    }
  }

  int ranks_ = 1;
  int odd_ = 0;
};

TEST_CASE("with few ranks for all, the same fixes are found") {
  Counts counts;
  const std::uint64_t jobs = testing::kSanitized ? 10 : 80;
  for (std::uint64_t seed = 1; seed <= jobs; ++seed) compare(HangingJob(seed).text(), {}, counts);
  if (testing::kSanitized) return;  // too few jobs for these numbers
  CHECK(counts.jobs > 30);
  CHECK(counts.fixes > 60);
  CHECK(counts.pairs > 5);
  CHECK(counts.altering > 3);
  for (const FixCase found : {FixCase::kNothing, FixCase::kHangs, FixCase::kByBuffers}) {
    CHECK(counts.cases[found] > 1);
  }
  using models::Cause;
  for (const Cause cause : {Cause::kMismatch, Cause::kCycle, Cause::kAbsentMember}) {
    CHECK(counts.causes[cause] > 1);
  }
}

// Compares each scenario; if it has a parameter for the number of ranks, also with many ranks.
TEST_CASE("shipped scenarios are fixed with few ranks as with all") {
  Counts counts;
  for (const std::string& path : scenario_paths()) {
    if (path.substr(path.rfind('.') + 1) != "yaml") continue;
    const std::string text = file_text(path);
    compare(text, {}, counts);
    for (const char* ranks : {"actors", "engines", "gpus", "rows", "size", "trainers", "workers"}) {
      if (text.find(ranks) == std::string::npos) continue;
      const testing::Settings many = {{ranks, "32"}};
      models::Diagnostics unheard;
      if (formats::read_scenario(text, many, unheard)) compare(text, many, counts);
    }
  }
  CHECK(counts.jobs > 4);
  CHECK(counts.fixes > 1);
}

}  // namespace
}  // namespace pipesim
