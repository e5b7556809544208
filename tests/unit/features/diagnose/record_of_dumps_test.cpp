// Programs made from the dumps of completed jobs. The expected programs follow from the ranks'
// calls. The tests use those of PyTorch's own dumps whose calls match according to its analyzer.
#include "features/diagnose/record_of_dumps.hpp"

#include <string>
#include <utility>

#include "tests/support/catch.hpp"
#include "tests/support/record.hpp"
#include "tests/support/shared.hpp"

#include "features/diagnose/flight_recorder_file.hpp"

using namespace pipesim;
using models::RecordedCall;
using models::RecordedOp;

namespace {

RecordedOp op(const std::string& name, std::int64_t floats) {
  RecordedOp made;
  made.name = name;
  made.input_sizes = made.output_sizes = {{floats}};
  made.input_types = made.output_types = {"Float"};
  made.state = models::CallState::kCompleted;
  return made;
}

RecordedOp message(const std::string& name, std::uint32_t source, std::uint32_t target,
                   std::int64_t floats = 1) {
  RecordedOp made = op(name, floats);
  made.message = true;
  made.source = source;
  made.target = target;
  return made;
}

RecordedCall call(std::uint64_t sequence, std::vector<RecordedOp> ops) {
  RecordedCall made;
  made.sequence = sequence;
  made.messages = ops.front().message;
  made.coalesced = ops.size() > 1;
  made.state = models::CallState::kCompleted;
  made.ops = std::move(ops);
  return made;
}

models::Evidence job(std::vector<std::vector<RecordedCall>> ranks) {
  models::Evidence evidence;
  models::EvidenceGroup world{"0", "default_pg", {}};
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    world.ranks.push_back(rank);
    models::RankEvidence of;
    of.has_dump = true;
    of.calls = std::move(ranks[rank]);
    evidence.ranks.push_back(std::move(of));
  }
  evidence.groups.push_back(std::move(world));
  return evidence;
}

// Returns a rank's calls as "all_reduce 4 float32, send 8 float32".
std::string calls_of(const models::DumpedRecord& dumped, std::size_t rank) {
  std::string text;
  for (const models::RecordEntry& entry : dumped.record.ranks.at(rank).entries) {
    text += (text.empty() ? "" : ", ") + models::operation_name(entry.operation);
    if (entry.type != models::kNotSaid) {
      text += " " + std::to_string(entry.bytes) + " " + dumped.record.texts[entry.type];
    }
  }
  return text;
}

}  // namespace

TEST_CASE("calls that not all rings still have are left out", "[models][record_of_dumps]") {
  const auto dumped = models::record_of_dumps(
      job({{call(4, {op("all_reduce", 1)}), call(5, {op("_allgather_base", 2)})},
           {call(5, {op("_allgather_base", 2)})}}));
  CHECK(dumped.left_out == 1);
  CHECK(calls_of(dumped, 0) == "all_gather 8 float32");
  CHECK(calls_of(dumped, 1) == "all_gather 8 float32");
}

TEST_CASE("of messages the last ones are those that met", "[models][record_of_dumps]") {
  const auto dumped = models::record_of_dumps(
      job({{call(1, {message("send", 0, 1, 1)}), call(2, {message("send", 0, 1, 2)}),
            call(3, {message("send", 0, 1, 3)})},
           {call(2, {message("recv", 0, 1, 2)}), call(3, {message("recv", 0, 1, 3)})}}));
  CHECK(dumped.left_out == 1);
  CHECK(calls_of(dumped, 0) == "send 8 float32, send 12 float32");
  CHECK(calls_of(dumped, 1) == "recv 8 float32, recv 12 float32");
}

TEST_CASE("a batch stays one", "[models][record_of_dumps]") {
  const auto exchange = [](std::uint32_t rank) {
    return call(1, {message("send", rank, 1 - rank), message("recv", 1 - rank, rank)});
  };
  auto dumped = models::record_of_dumps(job({{exchange(0)}, {exchange(1)}}));
  CHECK(testing::is_proved(dumped.record, "nccl"));
  // Outside a batch, both ranks' first sends block their hosts.
  const auto alone = [](std::uint32_t rank) {
    return std::vector{call(1, {message("send", rank, 1 - rank)}),
                       call(2, {message("recv", 1 - rank, rank)})};
  };
  dumped = models::record_of_dumps(job({alone(0), alone(1)}));
  CHECK_FALSE(testing::is_proved(dumped.record, "nccl"));
  CHECK_FALSE(testing::is_proved(dumped.record, "nccl", {{"waits", "off"}}));
}

TEST_CASE("what waits is not in dumps, so it is a parameter", "[models][record_of_dumps]") {
  // Rank 0 sends and then reduces; rank 1 reduces first. If the current stream waits for neither
  // call, the calls are on two streams.
  const auto reduce = call(1, {op("all_reduce", 1)});
  const auto dumped = models::record_of_dumps(job(
      {{call(1, {message("send", 0, 1)}), reduce}, {reduce, call(1, {message("recv", 0, 1)})}}));
  const auto verdict = [&](const std::string& waits) {
    models::Diagnostics diagnostics;
    const auto scenario = formats::read_scenario(
        formats::record_scenario(dumped.record, models::RecordRules::kNccl, "job"),
        {{"lazy", "off"}, {"reading", "contract"}, {"waits", waits}}, diagnostics);
    INFO(testing::text_of(diagnostics));
    REQUIRE(scenario.has_value());
    return testing::simulate(scenario->graph).explanation.verdict;
  };
  CHECK(verdict("on") == sim::Verdict::kDeadlock);
  CHECK(verdict("off") == sim::Verdict::kCompleted);
}

TEST_CASE("sizes that members may give differently agree", "[models][record_of_dumps]") {
  const auto dumped = models::record_of_dumps(
      job({{call(1, {op("all_to_all", 3)})}, {call(1, {op("all_to_all", 5)})}}));
  CHECK(calls_of(dumped, 0) == "all_to_all 20 float32");
  CHECK(calls_of(dumped, 1) == "all_to_all 20 float32");
}

TEST_CASE("PyTorch's own dumps that match are proved", "[models][record_of_dumps][shared]") {
  const std::string folder = testing::shared_data("flight_recorder/torch_unit");
  if (folder.empty()) return;
  for (const char* name :
       {"case1_matched_allreduce", "case2_matched_allreduce_coalesced",
        "case3_coalesced_two_broadcasts", "case5_matched_uneven_reducescatter"}) {
    INFO(name);
    std::vector<formats::FlightRecorderDump> dumps;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      models::Diagnostics diagnostics;
      const std::string path = folder + "/" + name + "/rank_" + std::to_string(rank) + ".json";
      auto dump = formats::read_flight_recorder(testing::file_text(path), rank, diagnostics);
      REQUIRE(dump);
      dumps.push_back(std::move(*dump));
    }
    const auto dumped = models::record_of_dumps(formats::flight_recorder_evidence(dumps));
    REQUIRE(dumped.absent.empty());
    CHECK_FALSE(dumped.record.ranks[1].entries.empty());
    CHECK(testing::is_proved(dumped.record, "nccl"));
  }
}

TEST_CASE("every rank needs a dump", "[models][record_of_dumps]") {
  models::Evidence evidence =
      job({{call(1, {op("all_reduce", 1)})}, {call(1, {op("all_reduce", 1)})}});
  evidence.ranks[1].has_dump = false;
  CHECK(models::record_of_dumps(evidence).absent == std::vector<std::uint32_t>{1});
}
