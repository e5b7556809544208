// Three families of plans that hang or complete, in growing sizes. Each family has a hand-written
// model for SPIN and an equivalent plan.
#include "tests/oracle/families.hpp"

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/interleavings/exploration.hpp"
#include "tests/oracle/spin.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"

namespace pipesim::oracle {
namespace {

/// Explores a hand-written model with SPIN; an invalid end state is a hang.
Verdict explore_by_hand(const std::string& model, const std::string& defines) {
  const testing::Folder folder;
  const std::string output = run_command(
      "cd '" + folder.path() + "' && '" PIPESIM_ORACLE_SPIN "' -a " + defines +
      " \"$OLDPWD/tests/oracle/" + model +
      "\" && '" PIPESIM_ORACLE_CC "' -O1 -w -DSAFETY -o pan pan.c && ./pan -n -c0 -w22 -m100000");
  Verdict verdict;
  const std::size_t errors = output.find("errors: ");
  REQUIRE(errors != std::string::npos);
  REQUIRE(output.find("max search depth too small") == std::string::npos);
  verdict.hangs = output[errors + 8] != '0';
  verdict.states = number_before(output, " states, stored");
  return verdict;
}

constexpr std::uint64_t kMaxFamilyStates = 50000;

/// Whether the plan fits into the limits of tests/oracle/plan.pml.
bool fits_generic_model(const sim::Plan& plan) {
  return plan.threads.size() <= 8 && plan.streams.size() <= 8 && plan.actors.size() <= 32;
}

std::string words_of(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return "never hangs";
    case sim::Answer::kHangPossible:
      return "can hang";
    case sim::Answer::kHangCertain:
      return "always hangs";
    case sim::Answer::kMismatch:
      return "never matches";
    case sim::Answer::kUndecided:
      break;
  }
  return "undecided";
}

struct Case {
  std::string defines;
  sim::Plan plan;
  bool hangs = false;
};

void compare(const std::string& model, const std::vector<Case>& cases) {
  if (!has_spin()) return;
  for (const Case& each : cases) {
    const std::string name = model + " " + each.defines;
    INFO(name);
    const Verdict by_hand = explore_by_hand(model, each.defines);
    CHECK(by_hand.hangs == each.hangs);
    const sim::Exploration ours = sim::explore(each.plan);
    CHECK((ours.answer != sim::Answer::kProved) == each.hangs);
    CHECK(ours.answer != sim::Answer::kUndecided);
    if (by_hand.hangs) CHECK(ours.hang_found);
    std::cout << name << ": " << words_of(ours.answer) << ", SPIN " << by_hand.states
              << " states, pipesim " << ours.states << " and " << ours.steps << " steps";
    if (fits_generic_model(each.plan)) {
      const Verdict exported = ask_spin(each.plan, kMaxFamilyStates);
      std::cout << ", of the plan " << (exported.gave_up ? "at least " : "") << exported.states;
      if (!exported.gave_up) CHECK(exported.hangs == each.hangs);
    }
    std::cout << '\n';
  }
}

std::string define(const std::string& name, std::uint32_t value) {
  return "-D" + name + "=" + std::to_string(value) + " ";
}

}  // namespace

TEST_CASE("1F1B with bounded channels and with rendezvous is as SPIN finds it by hand",
          "[oracle]") {
  std::vector<Case> cases;
  const auto add = [&](const OneFOneB& what, bool hangs) {
    std::string defines =
        define("S", what.stages) + define("M", what.micro_batches) + define("C", what.capacity);
    if (what.greedy) defines += "-DGREEDY ";
    if (what.paired) defines += "-DPAIRED ";
    cases.push_back({defines, one_f_one_b(what), hangs});
  };
  for (const auto& [stages, micro_batches] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 2}, {3, 4}, {4, 6}}) {
    for (std::uint32_t capacity = 0; capacity <= 2; ++capacity) {
      add({stages, micro_batches, capacity}, capacity == 0);
    }
    add({stages, micro_batches, 0, false, true}, false);
  }
  // The second stage holds one micro-batch, and each of the two channels holds `capacity`.
  for (const std::uint32_t capacity : {1U, 2U}) {
    add({2, 2 * capacity + 1, capacity, true}, false);
    add({2, 2 * capacity + 2, capacity, true}, true);
  }
  compare("one_f_one_b.pml", cases);
}

TEST_CASE("philosophers dine as SPIN finds it by hand", "[oracle]") {
  std::vector<Case> cases;
  for (const auto& [count, rounds] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {2, 1}, {3, 2}, {4, 2}, {5, 2}, {6, 2}}) {
    const std::string defines = define("N", count) + define("R", rounds);
    cases.push_back({defines, philosophers(count, rounds, false), true});
    cases.push_back({defines + "-DORDERED", philosophers(count, rounds, true), false});
  }
  compare("philosophers.pml", cases);
}

// Compares only numbers of states with limits, so it needs no SPIN.
TEST_CASE("the reductions leave few branch points of these families", "[oracle]") {
  const sim::Exploration dinner = sim::explore(philosophers(6, 2, true));
  CHECK(dinner.answer == sim::Answer::kProved);
  CHECK(dinner.states < 6'000);
  // Independent ranks add branch points; they do not multiply them.
  CHECK(sim::explore(philosophers(5, 2, true, 3)).states <
        4 * sim::explore(philosophers(5, 2, true)).states);
  for (std::uint32_t capacity = 0; capacity <= 2; ++capacity) {
    const sim::Exploration pipeline = sim::explore(one_f_one_b({4, 6, capacity}));
    CHECK(pipeline.answer != sim::Answer::kUndecided);
    CHECK(pipeline.states == 0);
  }
}

TEST_CASE("collectives in any order are as SPIN finds it by hand", "[oracle]") {
  std::vector<Case> cases;
  for (const auto& [ranks, count] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {2, 1}, {2, 2}, {3, 2}, {2, 3}, {4, 4}}) {
    const std::string defines = define("P", ranks) + define("K", count);
    cases.push_back({defines, collectives(ranks, count, false), count > 1});
    cases.push_back({defines + "-DORDERED", collectives(ranks, count, true), false});
  }
  compare("collectives.pml", cases);
}

}  // namespace pipesim::oracle
