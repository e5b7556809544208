#include "features/diagnose/left_out_calls.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/evidence.hpp"

using namespace pipesim;

namespace {

// Returns the sentences about left-out calls in a job of three ranks, given the source lines of
// each rank's calls.
std::vector<models::OutsideText> said_of(const std::vector<std::vector<std::string>>& lines) {
  testing::EvidenceBuilder job(3);
  const auto all = job.group("0", {0, 1, 2});
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < lines[rank].size(); ++i) {
      const bool last = i + 1 == lines[rank].size() && rank != 2;
      job.call(rank, all, i + 1, "all_reduce",
               last ? models::CallState::kScheduled : models::CallState::kCompleted)
          .at = lines[rank][i];
    }
  }
  return models::left_out_calls(job.evidence(), models::diagnose(job.evidence()));
}

}  // namespace

TEST_CASE("a call that a rank left out is named by its line", "[models][left_out_calls]") {
  const std::vector<std::string> all = {"a.py:1 f", "a.py:2 f", "a.py:64 step", "a.py:3 f"};
  CHECK(said_of({all, all, {"a.py:1 f", "a.py:2 f", "a.py:3 f"}}) ==
        std::vector<models::OutsideText>{
            "Ranks 0 and 1 called all_reduce at a.py:64 step as #3, which rank 2 left out: after "
            "it, its numbers are one behind"});
  // Rank 2 made the call in addition.
  CHECK(said_of({{"a.py:1 f", "a.py:2 f", "a.py:3 f", "a.py:4 f"},
                 {"a.py:1 f", "a.py:2 f", "a.py:3 f", "a.py:4 f"},
                 {"a.py:1 f", "a.py:9 g", "a.py:2 f", "a.py:3 f"}}) ==
        std::vector<models::OutsideText>{
            "Rank 2 called all_reduce at a.py:9 g as #2, which ranks 0 and 1 left out: after it, "
            "their numbers are one behind"});
}

TEST_CASE("without other lines nothing is left out", "[models][left_out_calls]") {
  // All calls come from one line of a loop.
  CHECK(said_of({{"a.py:1 f", "a.py:1 f"}, {"a.py:1 f", "a.py:1 f"}, {"a.py:1 f"}}).empty());
  // The programs differ in more than one call.
  CHECK(said_of({{"a.py:1 f", "a.py:2 f", "a.py:3 f"},
                 {"a.py:1 f", "a.py:2 f", "a.py:3 f"},
                 {"a.py:1 f", "a.py:7 f"}})
            .empty());
  CHECK(said_of({{"", ""}, {"", ""}, {""}}).empty());
}
