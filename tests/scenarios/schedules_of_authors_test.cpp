// Pipeline schedules compared with the programs of their authors, action by action: the head of
// schedules_of_authors.tsv describes the comparison.
#include <cstdint>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/scenario/schedule_csv.hpp"
#include "models/schedules/generators.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"

using namespace pipesim;
using models::Schedule;
using models::ScheduleKind;
using models::ScheduleShape;

namespace {

std::string rows_of(const Schedule& schedule) {
  std::string text;
  for (const std::string& row : formats::schedule_row_texts(models::without_empty(schedule))) {
    text += row + "\n";
  }
  return text;
}

std::string fnv_1a(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

ScheduleShape shape(const std::string& kind, std::uint32_t ranks, std::uint32_t micro_batches) {
  ScheduleShape shape;
  shape.kind = *models::find_schedule_kind(kind);
  shape.chunks = models::usual_chunks(shape.kind);
  shape.stages = ranks * shape.chunks;
  shape.micro_batches = micro_batches;
  return shape;
}

}  // namespace

TEST_CASE("schedules are those of their authors' programs, action by action",
          "[scenarios][schedules]") {
  std::istringstream lines(testing::file_text("tests/scenarios/schedules_of_authors.tsv"));
  std::map<std::string, int> counts;
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '#') continue;
    INFO(line);
    std::istringstream cells(line);
    std::string kind;
    std::uint32_t ranks = 0;
    std::uint32_t chunks = 0;
    ScheduleShape of = shape("1f1b", 1, 1);
    REQUIRE(cells >> kind >> ranks >> chunks);
    of = shape(kind, ranks, 1);
    of.chunks = chunks;
    of.stages = ranks * chunks;
    std::string micro_batches;
    std::string fingerprint;
    REQUIRE(cells >> of.group >> of.combined >> of.costs.forward_ns >> of.costs.input_grad_ns >>
            of.costs.weight_grad_ns >> of.costs.message_ns >> micro_batches >> fingerprint);
    std::istringstream numbers(micro_batches);
    std::string found;
    for (std::string number; std::getline(numbers, number, ',');) {
      of.micro_batches = static_cast<std::uint32_t>(std::stoul(number));
      CHECK(models::shape_problem(of).empty());
      found += fnv_1a(rows_of(models::make_schedule(of)));
      ++counts[kind];
    }
    CHECK(fnv_1a(found) == fingerprint);
  }
  const std::map<std::string, int> expected = {
      {"1f1b", 59}, {"interleaved_1f1b", 274}, {"v_half", 67}, {"v_min", 67}, {"zbv_greedy", 164}};
  CHECK(counts == expected);
}

TEST_CASE("Megatron's groups of as many micro-batches as ranks are PyTorch's rounds",
          "[scenarios][schedules]") {
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    ScheduleShape of = shape("interleaved_1f1b", ranks, 3 * ranks);
    const std::string rounds = rows_of(models::make_schedule(of));
    of.group = ranks;
    CHECK(rows_of(models::make_schedule(of)) == rounds);
  }
}

// Compares with the paper's Table 1, in activations of a stage. A rank has two stages, so 1F1B
// keeps 2p activations.
TEST_CASE("V-Half keeps about half of the activations of 1F1B, V-Min about a third",
          "[scenarios][schedules]") {
  for (const std::uint32_t ranks : {4U, 6U, 8U, 9U, 12U}) {
    INFO(ranks << " ranks");
    const auto most = [&](const char* kind) {
      std::uint32_t found = 0;
      const std::string text = testing::scenario_of_shape(shape(kind, ranks, 4 * ranks), {1, 1, 1});
      for (const std::int64_t peak : testing::found(text).peaks) {
        found = std::max(found, static_cast<std::uint32_t>(peak));
      }
      return found;
    };
    CHECK(most("v_half") <= ranks + 2);
    CHECK(3 * most("v_min") <= 2 * ranks + 3 * 4);
    CHECK(most("zbv_greedy") <= 2 * ranks);
  }
}

// Compares time and memory with those of another simulation, which ran rows from the authors'
// generator.
TEST_CASE("V-Half and V-Min take the time and the memory that others find",
          "[scenarios][schedules]") {
  const std::string path = testing::shared_data("schedules/v_half_v_min.json");
  if (path.empty()) return;
  const auto table = nlohmann::json::parse(testing::file_text(path));
  REQUIRE(table["rows"].size() == 18);
  for (const auto& row : table["rows"]) {
    INFO(row.dump());
    const std::string kind = row["schedule"] == "v-half" ? "v_half" : "v_min";
    const std::string text = testing::scenario_of_shape(
        shape(kind, row["ranks"].get<std::uint32_t>(), row["micro_batches"].get<std::uint32_t>()),
        {row["F"].get<std::int64_t>(), row["B"].get<std::int64_t>(), row["W"].get<std::int64_t>()});
    const testing::Found found = testing::found(text);
    CHECK(found.makespan == row["makespan"].get<std::int64_t>());
    CHECK(found.peaks ==
          row["peak_half_stage_activations_per_rank"].get<std::vector<std::int64_t>>());
  }
}

TEST_CASE("ZB-V by its authors follows the costs, PyTorch's does not", "[scenarios][schedules]") {
  const auto rows = [](const std::string& kind, const std::string& costs) {
    const std::string text = "schema: 1\nschedule: {kind: " + kind +
                             ", stages: 8, micro_batches: 12, message_takes: 10us, " + costs + "}";
    return testing::scenario_of(text).graph.pipeline->schedule.ranks;
  };
  const std::string equal = "forward: 100us";
  const std::string other = "forward: 100us, input_grad: 150us, weight_grad: 60us";
  CHECK(rows("zbv", equal) == rows("zbv", other));
  CHECK(rows("zbv_greedy", equal) != rows("zbv_greedy", other));
  // The generator averages the costs over a rank's two stages, and takes the median rank.
  CHECK(rows("zbv_greedy",
             "forward: [50us, 1us, 100us, 100us, 100us, 100us, 1us, 150us], "
             "input_grad: 100us, weight_grad: 100us") == rows("zbv_greedy", equal));
}
