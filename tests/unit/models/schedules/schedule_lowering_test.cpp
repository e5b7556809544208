// PyTorch's lowering passes on our own small schedules. The expectations are worked out by hand
// from the rules in models/schedules/schedule_lowering.hpp.
#include "models/schedules/schedule_lowering.hpp"

#include <string>

#include "formats/scenario/schedule_csv.hpp"
#include "models/schedules/generators.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

models::Schedule schedule_in(const std::string& text, bool partial = false) {
  models::Diagnostics diagnostics;
  const auto schedule =
      formats::read_schedule(formats::schedule_rows(text), 1, diagnostics, partial);
  INFO(testing::text_of(diagnostics));
  REQUIRE(schedule.has_value());
  return *schedule;
}

std::string first_row(const models::Schedule& schedule) {
  return formats::schedule_row_texts(schedule).front();
}

}  // namespace

TEST_CASE("an input gradient and its weight gradient merge where nothing is between them",
          "[models][schedule_lowering]") {
  CHECK(first_row(models::merge_backwards(schedule_in("0F0,0F1,0I0,,0W0,0I1,0F2,0W1,0I2,0W2\n"))) ==
        "0F0,0F1,0B0,0I1,0F2,0W1,0B2");
}

TEST_CASE("empty slots come back as they were, and are one action however many there are",
          "[models][schedule_lowering]") {
  const models::Schedule schedule = schedule_in(",,0F0,,,,0B0,,\n");
  CHECK(first_row(schedule) == ",,0F0,,,,0B0,,");
  CHECK(schedule.ranks[0].size() == 5);
  CHECK(schedule.place(0, 3).column == 10);
  CHECK(first_row(models::without_empty(schedule)) == "0F0,0B0");
}

TEST_CASE("a schedule grows with its stages, not with their square",
          "[models][schedule_lowering]") {
  using models::ScheduleKind;
  for (const ScheduleKind kind :
       {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kInterleaved1f1b,
        ScheduleKind::kLoopedBfs, ScheduleKind::kZb1p, ScheduleKind::kZbH2}) {
    INFO(models::schedule_kind_name(kind));
    models::ScheduleShape shape;
    shape.kind = kind;
    shape.chunks = models::usual_chunks(kind);
    shape.stages = 2000;
    shape.micro_batches = 8;
    std::size_t actions = 0;
    for (const models::Actions& row : models::make_schedule(shape).ranks) actions += row.size();
    // Each micro-batch has a forward and two gradients, and at most the same number of empty slots.
    CHECK(actions <= std::size_t{2} * 3 * shape.micro_batches * shape.stages);
  }
}

TEST_CASE("weights of the next three stages are there", "[models][schedule_lowering]") {
  CHECK(first_row(models::add_unshard_reshard(schedule_in("0F0,1F0,2F0,3F0,3B0,,2B0,1B0,0B0\n"))) ==
        "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,2F0,3F0,3B0,3RESHARD,0UNSHARD,2B0,"
        "2RESHARD,"
        "1B0,1RESHARD,0B0,0RESHARD");
}

TEST_CASE("gradients are reduced after the last backward of their stage",
          "[models][schedule_lowering]") {
  CHECK(first_row(models::add_reduce_grad(schedule_in("0F0,1F0,0F1,1F1,1B0,1I1,0B0,1W1,0B1\n"))) ==
        "0F0,1F0,0F1,1F1,1B0,1I1,0B0,1W1,1REDUCE_GRAD,0B1,0REDUCE_GRAD");
}

TEST_CASE("a receive stands where the other rank is when the message is sent",
          "[models][schedule_lowering]") {
  models::Diagnostics diagnostics;
  const auto lowered =
      models::add_send_recv(schedule_in("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"), diagnostics);
  REQUIRE(lowered.has_value());
  CHECK(formats::write_schedule(*lowered) ==
        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\r\n"
        "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\r\n");
  CHECK(models::dry_run_steps(*lowered) == 10);
}

TEST_CASE("a schedule that no messages can save is reported", "[models][schedule_lowering]") {
  models::Diagnostics diagnostics;
  CHECK(!models::add_send_recv(schedule_in("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"), diagnostics));
  CHECK(testing::text_of(diagnostics) ==
        "1:5: this schedule cannot run: rank 0 reaches '0B0', but "
        "what it needs is never computed\n");
  CHECK(diagnostics.sorted()[0].notes == std::vector<std::string>{"rank 1 is at '1F1'"});
}

TEST_CASE("layouts that do not exist are reported in one sentence", "[models][schedules]") {
  using models::ScheduleKind;
  const auto problem = [](ScheduleKind kind, std::uint32_t stages, std::uint32_t micro_batches,
                          std::uint32_t chunks) {
    return models::shape_problem({kind, stages, micro_batches, chunks});
  };
  CHECK(problem(ScheduleKind::k1f1b, 4, 8, 1).empty());
  CHECK(problem(ScheduleKind::k1f1b, 4, 8, 2) == "1f1b has 1 chunk on each rank, found 2");
  CHECK(problem(ScheduleKind::kInterleaved1f1b, 6, 6, 4) ==
        "6 stages cannot be divided into 4 chunks on each rank");
  CHECK(problem(ScheduleKind::kInterleaved1f1b, 8, 9, 2) ==
        "interleaved_1f1b on 4 ranks takes its micro-batches in 2 rounds, but 9 is not "
        "divisible by that");
  CHECK(problem(ScheduleKind::kZbv, 4, 8, 1) == "zbv has 2 chunks on each rank, found 1");
  CHECK(problem(ScheduleKind::kDualPipeV, 8, 7, 2) ==
        "dualpipe_v needs at least as many micro-batches as stages: 8, found 7");
  CHECK(problem(ScheduleKind::kDualPipe, 4, 6, 1) ==
        "dualpipe needs at least twice as many micro-batches as stages: 8, found 6");
  CHECK(problem(ScheduleKind::kDualPipe, 3, 6, 1) ==
        "dualpipe needs an even number of stages, found 3");
  CHECK(problem(ScheduleKind::kChimera, 4, 5, 1) ==
        "chimera runs half of the micro-batches in each direction, so it needs an even number, "
        "found 5");
  CHECK(problem(ScheduleKind::kChimera, 4, 6, 1) ==
        "chimera repeats a unit of as many micro-batches as there are stages, and 4 does not "
        "divide 6");
}

TEST_CASE("every kind of schedule is valid and can be given messages, for every size",
          "[models][schedules]") {
  std::size_t made = 0;
  for (const std::string& name : models::schedule_kind_names()) {
    for (std::uint32_t stages = 1; stages <= 12; ++stages) {
      for (std::uint32_t chunks = 1; chunks <= 4; ++chunks) {
        for (std::uint32_t m = 1; m <= 26; ++m) {
          const models::ScheduleShape shape{*models::find_schedule_kind(name), stages, m, chunks};
          if (!models::shape_problem(shape).empty()) continue;
          INFO(name << " of " << stages << " stages, " << chunks << " chunks, " << m
                    << " micro-batches");
          models::Diagnostics diagnostics;
          // make_schedule() aborts if the schedule is invalid.
          const models::Schedule schedule = models::make_schedule(shape);
          const auto lowered = models::add_send_recv(schedule, diagnostics);
          if (!lowered) FAIL_CHECK(testing::text_of(diagnostics));
          if (lowered && schedule.pipelines == 1) {
            models::Schedule again = *lowered;
            if (!models::validate(again, diagnostics)) FAIL_CHECK(testing::text_of(diagnostics));
          }
          ++made;
        }
      }
    }
  }
  CHECK(made > 1000);
}

TEST_CASE("between the end of a schedule and what was done before it nothing is sent",
          "[models][schedule_lowering]") {
  models::Diagnostics diagnostics;
  const models::Schedule end = schedule_in("0F5,0B2,0F6,0B3\n1B2,1F5,1F6,1B4\n", true);
  const auto lowered = models::add_send_recv(end, diagnostics);
  REQUIRE(lowered.has_value());
  // The gradient of micro-batch 3 arrived earlier; the gradient of 4 goes to a backward outside the
  // tail.
  CHECK(formats::write_schedule(*lowered) ==
        "0F5,0SEND_F5,0RECV_B2,0B2,0F6,0SEND_F6,0B3\r\n"
        "1RECV_F5,1B2,1SEND_B2,1F5,1RECV_F6,1F6,1B4\r\n");
  const models::Schedule halves = models::without_half_messages(
      schedule_in("0RECV_B2,0B2,0F6,0SEND_F6\n1SEND_B3,1RECV_F6,1F6,1B4\n", true));
  CHECK(formats::write_schedule(halves) == "0B2,0F6,0SEND_F6\r\n1RECV_F6,1F6,1B4\r\n");
}

TEST_CASE("of the end of a schedule, gradients are reduced behind the last that it has",
          "[models][schedule_lowering]") {
  CHECK(first_row(models::add_reduce_grad(schedule_in("0B2,0F4,0B3,0B4\n", true))) ==
        "0B2,0F4,0B3,0B4,0REDUCE_GRAD");
}
