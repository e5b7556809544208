#include "features/diagnose/log_stacks.hpp"

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"

using namespace pipesim;
using formats::stacks_in_log;

namespace {

const std::string kHead = "Current thread 0x00007f (most recent call first):\n";
const std::string kStack =
    "[default1]:" + kHead + "[default1]:  File \"/app/train.py\", line 88 in step\n";

}  // namespace

TEST_CASE("the last stacks of each rank in a log keep their lines", "[formats][log_stacks]") {
  const std::string stacks =
      "1: Current thread 0x00007f (most recent call first):\n"
      "1:   File \"/app/train.py\", line 88 in step\n";
  CHECK(formats::has_log_stacks(kStack));
  CHECK(stacks_in_log(kStack, "job.log") == stacks);
  CHECK(stacks_in_log("step 3\n" + kStack, "job.log") == "\n" + stacks);
  // The next dump replaces the one before.
  CHECK(stacks_in_log(kStack + kStack, "job.log") == "\n\n" + stacks);
  // A watchdog speaks while its rank waits.
  const std::string watchdog = "[default1]:[E1126 14:22:10.7 ProcessGroupNCCL.cpp:1] x\n";
  CHECK(stacks_in_log(kStack + watchdog, "job.log") == stacks);
  // Another rank says nothing about this one.
  CHECK(stacks_in_log(kStack + "[default0]:step 4\n", "job.log") == stacks);
}

TEST_CASE("stacks that say nothing about the hang are left out", "[formats][log_stacks]") {
  CHECK(stacks_in_log(kStack + "[default1]:step 4\n", "job.log").empty());
  CHECK(stacks_in_log("[default1]:Fatal Python error: Segmentation fault\n" + kStack, "job.log")
            .empty());
  const std::string plain = kHead + "  File \"/app/train.py\", line 88 in step\n";
  CHECK(stacks_in_log(plain, "job.log").empty());
  CHECK(stacks_in_log(plain, "rank_2.log").starts_with("2: Current thread"));
  CHECK_FALSE(formats::has_log_stacks("Traceback (most recent call last):"));
}

TEST_CASE("diagnose reads the stacks in the log of a job", "[formats][log_stacks]") {
  const testing::Folder folder;
  std::string log =
      "[rank0]:[E1 ProcessGroupNCCL.cpp:1] [Rank 0] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=6) ran for 6 "
      "milliseconds before timing out.\n"
      "[rank0]:[E1 ProcessGroupNCCL.cpp:2] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure "
      "detected by watchdog at work sequence id: 9 PG status: last enqueued work: 9, last "
      "completed work: 8\n"
      "[rank1]:[E1 ProcessGroupNCCL.cpp:2] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump "
      "signal due to a collective timeout from  rank 0 and we will try our best to dump the debug "
      "info. Last enqueued NCCL work: 8, last completed NCCL work: 8.\n";
  const auto verdict = [&](const std::string& more) {
    folder.write("job.log", log + more);
    const auto ran = testing::command({"diagnose", folder / "job.log"});
    return ran.out;
  };
  CHECK_FALSE(testing::contains(verdict(""), "whose host is in"));
  const std::string read =
      "[default1]:Thread 0x01 (most recent call first):\n"
      "[default1]:  File \"/app/data.py\", line 40 in load_shard\n"
      "[default1]:  File \"/app/train.py\", line 9 in <module>\n";
  CHECK(testing::contains(
      verdict(read), "The job waits for rank 1, whose host is in load_shard (app/data.py:40)."));
}
