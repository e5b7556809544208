#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::Explanation;
using sim::Verdict;
using testing::explanation_of;
using testing::mistakes_in;

namespace {

const std::string kTwo = "schema: 1\nranks: 2\ngroups: {g: all, h: all}\n";

std::string mistakes(const std::string& steps, const std::string& top = {}) {
  return mistakes_in(kTwo + top + "programs: {do: [" + steps + "]}\n");
}

Explanation run(const std::string& steps, const std::string& top = {}) {
  return explanation_of(kTwo + top + "programs: {do: [" + steps + "]}\n");
}

}  // namespace

TEST_CASE("a group of which nothing is left is no step", "[formats][program_reader]") {
  CHECK(mistakes("{group: []}") == "4:25: a group without calls\n");
  CHECK(mistakes("{group: g}") == "4:25: 'group' is a list of calls, found 'g'\n");
  CHECK(mistakes("{group: [{compute: a}]}").find("a group holds collectives, send and recv only") !=
        std::string::npos);
  CHECK(run("{group: [~], after: [compute]}, {compute: a}").acts_expected == 2);
  CHECK(run("{group: [{all_reduce: g, when: off}]}, {compute: a}").acts_expected == 2);
  CHECK(run("{group: [{case: p, on: {all_reduce: g}, off: ~}]}, {compute: a}", "params: {p: off}\n")
            .acts_expected == 2);
}

TEST_CASE("a call of a group may be on some ranks only", "[formats][program_reader]") {
  // Rank 0 sends, rank 1 receives, and rank 2 has nothing of the group.
  const Explanation found = explanation_of(
      "schema: 1\nranks: 3\ngroups: {g: all}\nprograms: {do: [{group: [{send: g, to: rank + 1, on: "
      "0}, {recv: g, from: rank - 1, on: 1, takes: 2us}]}, {compute: a, after: [nccl g]}]}\n");
  CHECK(found.verdict == Verdict::kCompleted);
  CHECK(found.time_ns == 2'000);
  CHECK(found.ranks[2].actors.size() + 1 == found.ranks[0].actors.size());
}
