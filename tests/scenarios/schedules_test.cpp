// Pipeline schedules against what is known of them from elsewhere: PyTorch's own files, and tables
// that an independent program made (../shared/data/torch_csv).
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/schedule_csv.hpp"
#include "models/schedule_lowering.hpp"
#include "models/schedules/generators.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"

using namespace pipesim;
using models::Schedule;
using models::ScheduleKind;

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

// The kind of schedule that a file is called after: "izb_p4_v2_m8".
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
