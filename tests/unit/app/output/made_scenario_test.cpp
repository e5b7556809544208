#include "app/output/made_scenario.hpp"

#include "app/command.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

TEST_CASE("a scenario that contradicts itself is not written", "[app]") {
  const auto problem = [](const char* program) {
    try {
      app::require_readable(
          std::string("schema: 1\nranks: 3\ngroups: {pg1: [1, 2]}\nprograms:\n") + program,
          "dumps");
    } catch (const app::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(problem("  - {on: 1, do: [{send: pg1, to: 2}]}\n  - {on: 2, do: [{recv: pg1, from: 1}]}\n")
            .empty());
  // The first error is found when the file is read, the second when the scenario is lowered.
  CHECK(problem("  - {on: 1, do: [{sent: pg1, to: 2}]}\n")
            .find("not written: this step has no operation") != std::string::npos);
  CHECK(problem("  - {on: 0, do: [{recv: pg1, from: 1}]}\n") ==
        "dumps: the scenario made from it is not valid, and was not written: 'recv pg1' is on rank "
        "0, which is not in group 'pg1'");
}
