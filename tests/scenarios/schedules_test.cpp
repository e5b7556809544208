// Pipeline schedules compared with independent sources: PyTorch's own files, and tables made by an
// independent program (../shared/data/torch_csv).
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "formats/scenario/schedule_csv.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "models/schedules/generators.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"

using namespace pipesim;
using models::Schedule;
using models::ScheduleKind;
using testing::Found;
using testing::found;
using testing::scenario_of_shape;

namespace {

Schedule read(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto schedule = formats::read_schedule(formats::schedule_rows(text), 1, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(schedule.has_value());
  return *schedule;
}

Schedule with_messages(const Schedule& schedule) {
  models::Diagnostics diagnostics;
  const auto lowered = models::add_send_recv(schedule, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(lowered.has_value());
  return *lowered;
}

// Returns the shape that a file's name describes: "izb_p4_v2_m8".
models::ScheduleShape shape_of(const std::string& name) {
  const auto number = [&](const std::string& letter, std::uint32_t otherwise) {
    const std::size_t at = name.find("_" + letter);
    return at == std::string::npos
               ? otherwise
               : static_cast<std::uint32_t>(std::stoul(name.substr(at + 1 + letter.size())));
  };
  const std::vector<std::pair<std::string, const char*>> kinds = {
      {"gpipe", "gpipe"},          {"1f1b", "1f1b"}, {"interleaved1f1b", "interleaved_1f1b"},
      {"loopedbfs", "looped_bfs"}, {"izb", "zb1p"},  {"zbv", "zbv"},
      {"dualpipev", "dualpipe_v"}};
  const std::string word = name.substr(0, name.find('_'));
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const auto& entry) { return entry.first == word; });
  REQUIRE(found != kinds.end());
  models::ScheduleShape shape;
  shape.kind = *models::find_schedule_kind(found->second);
  shape.chunks = number("v", models::usual_chunks(shape.kind));
  if (shape.kind == ScheduleKind::kZb1p && shape.chunks > 1) {
    shape.kind = ScheduleKind::kInterleavedZeroBubble;
  }
  shape.stages = number("p", 1) * shape.chunks;
  shape.micro_batches = number("m", 1);
  return shape;
}

// Returns all numbers in a string: "[9, 9]", "F=2,I=3,W=1".
std::vector<std::int64_t> numbers_in(const std::string& text) {
  std::vector<std::int64_t> numbers;
  bool inside = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !inside) numbers.push_back(0);
    if (digit) numbers.back() = numbers.back() * 10 + (c - '0');
    inside = digit;
  }
  return numbers;
}

}  // namespace

TEST_CASE("PyTorch's zero-bubble files come out action by action, and so does their lowering",
          "[scenarios][schedules][shared]") {
  const std::string folder = testing::shared_data("torch_csv/");
  if (folder.empty()) return;
  const Schedule made = models::make_schedule({ScheduleKind::kInterleavedZeroBubble, 4, 8, 2});
  const Schedule lowered = with_messages(models::merge_backwards(made));
  for (const std::string words : {"", ".old_vocab_BW"}) {
    INFO("vocabulary" << words);
    const std::string path = folder + "zb1p_2rank_2stagep_";
    CHECK(read(testing::file_text(path + "compute" + words + ".csv")).ranks == made.ranks);
    CHECK(read(testing::file_text(path + "comms" + words + ".csv")).ranks == lowered.ranks);
  }
  CHECK(models::dry_run_steps(lowered) == 113);
}

TEST_CASE("PyTorch's DualPipeV file comes out action by action", "[scenarios][schedules][shared]") {
  const std::string folder = testing::shared_data("torch_csv/");
  if (folder.empty()) return;
  const Schedule made = models::make_schedule({ScheduleKind::kDualPipeV, 8, 10, 2});
  CHECK(read(testing::file_text(folder + "dualpipev_4rank_10mb.csv")).ranks == made.ranks);
}

TEST_CASE("the schedules of PyTorch's unit tests are lowered as there",
          "[scenarios][schedules][shared]") {
  const std::string folder = testing::shared_data("torch_csv/testcases/");
  if (folder.empty()) return;
  const std::vector<std::pair<std::string, std::size_t>> cases = {{"simple_2_rank_2_stage", 11},
                                                                  {"v_2_rank_4_stage", 24}};
  for (const auto& [name, steps] : cases) {
    INFO(name);
    const Schedule lowered =
        with_messages(read(testing::file_text(folder + name + "_compute.csv")));
    CHECK(lowered.ranks == read(testing::file_text(folder + name + "_comms.csv")).ranks);
    CHECK(models::dry_run_steps(lowered) == steps);
  }
}

TEST_CASE("each generated file is what its kind of schedule is, byte for byte",
          "[scenarios][schedules][shared]") {
  const std::string folder = testing::shared_data("torch_csv/generated/");
  if (folder.empty()) return;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::size_t end = name.find("_compute.csv");
    if (end == std::string::npos) continue;
    INFO(name);
    ++count;
    const std::string stem = name.substr(0, end);
    const Schedule made = models::make_schedule(shape_of(stem));
    const std::string compute = testing::file_text(folder + name);
    CHECK(formats::write_schedule(made) == compute);
    CHECK(formats::write_schedule(read(compute)) == compute);
    const std::string comms = testing::file_text(folder + stem + "_comms.csv");
    CHECK(formats::write_schedule(with_messages(made)) == comms);
    CHECK(formats::write_schedule(read(comms)) == comms);
  }
  CHECK(count == 15);
}

TEST_CASE("every row of the table comes out: from the name, and from both files",
          "[scenarios][schedules][shared]") {
  const std::string folder = testing::shared_data("torch_csv/generated/");
  if (folder.empty()) return;
  std::istringstream lines(testing::file_text(folder + "EXPECTED.tsv"));
  std::string line;
  std::getline(lines, line);
  std::size_t rows = 0;
  while (std::getline(lines, line)) {
    INFO(line);
    ++rows;
    std::vector<std::string> cells;
    std::istringstream fields(line);
    for (std::string cell; std::getline(fields, cell, '\t');) cells.push_back(cell);
    REQUIRE(cells.size() == 9);
    const std::string& name = cells[0];
    const std::vector<std::int64_t> costs = numbers_in(cells[5]);
    const Found expected{numbers_in(cells[6])[0], numbers_in(cells[7]), numbers_in(cells[8])};
    const Schedule made = models::make_schedule(shape_of(name));
    const std::vector<std::int64_t> steps = numbers_in(cells[4]);
    const auto found_steps = models::dry_run_steps(with_messages(made));
    if (cells[4].substr(0, 3) == "n/a") {
      CHECK(!found_steps);
    } else {
      CHECK(found_steps == static_cast<std::size_t>(steps[0]));
    }
    CHECK(found(scenario_of_shape(shape_of(name), costs)) == expected);
    for (const char* file : {"_compute.csv", "_comms.csv"}) {
      const Schedule read_back = read(testing::file_text(folder + name + file));
      const testing::Settings settings = {{"forward", std::to_string(costs[0]) + "ns"},
                                          {"input_grad", std::to_string(costs[1]) + "ns"},
                                          {"weight_grad", std::to_string(costs[2]) + "ns"},
                                          {"messages", "dir"}};
      CHECK(found(formats::pipeline_scenario(read_back, name), settings) == expected);
    }
  }
  CHECK(rows == 30);
}

TEST_CASE("all schedules complete under all models of messages", "[scenarios][schedules][shared]") {
  const std::string folder = testing::shared_data("torch_csv");
  if (folder.empty()) return;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".csv") continue;
    INFO(entry.path());
    ++count;
    const std::string text =
        formats::pipeline_scenario(read(testing::file_text(entry.path().string())), "s");
    for (const char* model : {"dir", "edge", "pair", "direction", "pg", "sync"}) {
      INFO(model);
      const models::Explanation end =
          testing::explanation_of(text, {{"messages", model}, {"message_takes", "300ns"}});
      CHECK(end.verdict == sim::Verdict::kCompleted);
      CHECK(end.mismatches.empty());
    }
  }
  CHECK(count == 39);
}

TEST_CASE("an imported schedule reads back to the same rows", "[scenarios][schedules]") {
  for (const std::string& name : models::schedule_kind_names()) {
    INFO(name);
    const ScheduleKind kind = *models::find_schedule_kind(name);
    const Schedule made = models::make_schedule({kind, 4, 8, models::usual_chunks(kind)});
    for (const Schedule& schedule : {made, with_messages(made)}) {
      const formats::Scenario again =
          testing::scenario_of(formats::pipeline_scenario(schedule, "again"));
      REQUIRE(again.graph.pipeline.has_value());
      CHECK(again.graph.pipeline->schedule.ranks == with_messages(made).ranks);
      CHECK(again.graph.pipeline->schedule.pipelines == made.pipelines);
    }
  }
}

TEST_CASE("the schedule of each scenario reads back as it was written", "[schedules]") {
  for (const std::string& path : testing::scenario_paths()) {
    const formats::Scenario scenario = testing::load(path);
    if (!scenario.graph.pipeline) continue;
    INFO(path);
    const Schedule& schedule = scenario.graph.pipeline->schedule;
    models::Diagnostics diagnostics;
    const auto again =
        formats::read_schedule(formats::schedule_rows(formats::write_schedule(schedule)),
                               schedule.pipelines, diagnostics, schedule.partial);
    REQUIRE(again.has_value());
    CHECK(again->ranks == schedule.ranks);
  }
}
