// Tests the reader and the writer of PyTorch's schedule files on our own samples.
// tests/scenarios/schedules_test.cpp reads PyTorch's samples.
#include "formats/scenario/schedule_csv.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

std::string table_mistakes(const std::string& text) {
  models::Diagnostics diagnostics;
  formats::read_schedule(formats::schedule_rows(text), 1, diagnostics);
  return testing::text_of(diagnostics);
}

models::Schedule schedule_in(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto schedule = formats::read_schedule(formats::schedule_rows(text), 1, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(schedule.has_value());
  return *schedule;
}

}  // namespace

TEST_CASE("a schedule file is written as it was read", "[formats][schedule_csv]") {
  const std::string text =
      "0UNSHARD,0F0,0SEND_F0,,0F1,0SEND_F1,3RECV_F0,3F0,3I0,3SEND_B0,0RECV_B0,3RECV_F1,3W0,"
      "(3F1;0B0)OVERLAP_F_B,3B1,3SEND_B1,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\r\n"
      ",1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0,1RECV_F1,1F1,2F1,2SEND_F1,2RECV_B1,"
      "2B1,1B1,1SEND_B1\r\n";
  const models::Schedule schedule = schedule_in(text);
  CHECK(schedule.stages == 4);
  CHECK(schedule.micro_batches == 2);
  CHECK(schedule.rank_of_stage == std::vector<std::uint32_t>{0, 1, 1, 0});
  CHECK(schedule.has_messages());
  CHECK(formats::write_schedule(schedule) == text);
  CHECK(schedule_in(formats::write_schedule(schedule)).ranks == schedule.ranks);
}

TEST_CASE("spaces, quotes, line ends and a byte order mark do not matter",
          "[formats][schedule_csv]") {
  const models::Schedule plain = schedule_in("0F0,,0B0\n,1F0,1B0\n");
  CHECK(schedule_in("0F0, ,0B0\r\n ,\"1F0\", 1B0\r\n\r\n").ranks == plain.ranks);
  CHECK(schedule_in("\xEF\xBB\xBF"
                    "0F0,,0B0\n,1F0,1B0")
            .ranks == plain.ranks);
}

TEST_CASE("files in the old vocabulary are recognized by BW, or by B and W of one micro-batch",
          "[formats][schedule_csv]") {
  const std::string split = "0F0,0F1,0I0,0W0,0I1,0W1\r\n";
  CHECK(formats::write_schedule(schedule_in("0F0,0F1,0B0,0W0,0B1,0W1\n")) == split);
  const std::string mixed = "0F0,0F1,0I0,0B1,0W0\r\n";
  CHECK(formats::write_schedule(schedule_in("0F0,0F1,0B0,0BW1,0W0\n")) == mixed);
  CHECK(table_mistakes("0F0,0F1,0I0,0BW1,0W0\n") ==
        "1:9: '0I0' and 'BW' cannot be used together: one is of newer files, the other of older "
        "ones\n");
}

TEST_CASE("what is no action is reported with its place", "[formats][schedule_csv]") {
  CHECK(table_mistakes("0F0,0X0,0B0\n") == "1:5: '0X0' is not an action\n");
  CHECK(table_mistakes("0F0,0B0\n1F0, 1B\n") == "2:6: '1B' is not an action\n");
  CHECK(table_mistakes("F0\n") == "1:1: 'F0' is not an action\n");
  CHECK(table_mistakes("0F0x\n") == "1:1: '0F0x' is not an action\n");
  CHECK(table_mistakes("0UNSHARD0\n") == "1:1: '0UNSHARD0' is not an action\n");
  CHECK(table_mistakes("(0F0;0B0)OVERLAP\n") ==
        "1:1: '(0F0;0B0)OVERLAP' is not an action: '(' needs ')OVERLAP_F_B' at the end\n");
  CHECK(table_mistakes("(0F0;0SEND_F0)OVERLAP_F_B\n") ==
        "1:6: '0SEND_F0' cannot overlap: it computes nothing\n");
  CHECK(table_mistakes("99999999999F0\n") == "1:1: a schedule can have at most 16384 stages\n");
  CHECK(table_mistakes("0F99999999\n") ==
        "1:1: a schedule can have at most 16777216 micro-batches\n");
  CHECK(table_mistakes("") == "0:0: the schedule has no rows; it needs one per rank\n");
  CHECK(table_mistakes("0F0,0B0\n\n1F0,1B0\n") == "2:1: rank 1 has no actions\n");
}

TEST_CASE("what PyTorch refuses is refused, with the place", "[formats][schedule_csv]") {
  CHECK(table_mistakes("0B0,0F0\n") == "1:1: '0B0' comes before '0F0' on its rank\n");
  CHECK(table_mistakes("0F0,0W0,0I0\n") == "1:5: '0W0' comes before '0I0' on its rank\n");
  CHECK(table_mistakes("0F0,0F0,0B0\n") ==
        "1:5: '0F0': the forward of stage 0 and micro-batch 0 appears twice\n");
  CHECK(table_mistakes("0F0,0B0,1F0\n1B0\n") ==
        "2:1: '1B0' is on rank 1, but stage 1 is on rank 0\n");
  CHECK(table_mistakes("0F0,0F1,0B0\n") ==
        "1:1: stage 0 lacks the backward of micro-batch 1 of 2\n");
  CHECK(table_mistakes("0F0,0I0\n") ==
        "1:1: stage 0 lacks the weight gradient of micro-batch 0 of 1\n");
  CHECK(table_mistakes("0F0,0B0\n2F0,2B0\n") == "1:1: no rank has stage 1 of stages 0 to 2\n");
}

TEST_CASE("messages that can never serve are mistakes", "[formats][schedule_csv]") {
  const std::string rest = "\n1RECV_F0,1F0,1B0,1SEND_B0\n";
  CHECK(table_mistakes("0F0,0SEND_F0,0RECV_B0,0B0" + rest).empty());
  CHECK(table_mistakes("0F0,0SEND_F0,0B0,0RECV_B0" + rest) ==
        "1:14: '0B0' comes before '0RECV_B0' on its rank\n");
  CHECK(table_mistakes("0SEND_F0,0F0,0RECV_B0,0B0" + rest) ==
        "1:1: '0SEND_F0' comes before '0F0' on its rank\n");
  CHECK(table_mistakes("0F0,0SEND_F0,0RECV_B0,0RECV_B0,0B0" + rest) ==
        "1:23: '0RECV_B0' appears twice\n");
  CHECK(table_mistakes("0RECV_F0,0F0,0SEND_F0,0RECV_B0,0B0" + rest) ==
        "1:1: '0RECV_F0': there is no stage to exchange it with\n");
  CHECK(table_mistakes("0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n") ==
        "1:5: '0SEND_F0': stage 1 is on the same rank, which needs no message\n"
        "1:14: '1RECV_F0': stage 0 is on the same rank, which needs no message\n");
}
