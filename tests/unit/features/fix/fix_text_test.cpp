// Output of `pipesim fix` for fixes with the same text: one step in several places.
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"

#include "features/fix/fix.hpp"
#include "features/fix/fix_report.hpp"

using namespace pipesim;
using testing::contains;

namespace {

models::Edit drop(const std::string& what) {
  return {.kind = &models::edit_kinds::kDrop, .text = "no rank calls " + what};
}

models::Fix fix_of(const models::Edit& edit, std::uint32_t variant) {
  models::Fix fix;
  fix.edits = {edit};
  fix.variant = variant;
  fix.time_ns = 1000;
  fix.orders.answer = sim::Answer::kProved;
  return fix;
}

std::size_t count(const std::string& text, const std::string& of) {
  std::size_t found = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("fixes that read the same are reported once, with all their numbers", "[viz][fix_text]") {
  models::FixReport report;
  report.found = models::FixCase::kHangs;
  report.explanation.verdict = sim::Verdict::kDeadlock;
  report.fixes = {fix_of(drop("a"), 0), fix_of(drop("b"), 1), fix_of(drop("a"), 2),
                  fix_of(drop("b"), 3), fix_of(drop("b"), 4), fix_of(drop("c"), 5)};
  report.partial = {fix_of(drop("d"), 0), fix_of(drop("d"), 0)};
  report.without_use = {drop("e"), drop("e")};
  const std::string text = viz::fix_text(report, "job");
  INFO(text);
  CHECK(count(text, "no rank calls a") == 1);
  CHECK(contains(text, "also   in another place: fix 3 (patches with -o DIR)"));
  CHECK(count(text, "no rank calls b") == 1);
  CHECK(contains(text, "\n2, 4 and 5  no rank calls b: proved"));
  CHECK(contains(text, "\n6  no rank calls c: proved"));
  CHECK(count(text, "no rank calls d") == 1);
  CHECK(count(text, "no rank calls e") == 1);
}

TEST_CASE("a fix names all waits that it breaks", "[viz][fix_text]") {
  models::FixReport report;
  report.found = models::FixCase::kHangs;
  report.explanation.verdict = sim::Verdict::kDeadlock;
  report.explanation.cycle.resize(4);
  report.fixes = {fix_of(drop("a"), 0), fix_of(drop("b"), 0)};
  report.fixes[0].waits = {0, 1, 3};
  report.fixes[1].waits = {2};
  const std::string text = viz::fix_text(report, "job");
  INFO(text);
  CHECK(contains(text, "why    breaks waits 1, 2 and 4; wait 1: "));
  CHECK(contains(text, "why    breaks wait 3: "));
}
