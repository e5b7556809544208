#include "features/diagnose/launch_log_reader.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

struct Read {
  bool good = false;
  models::LaunchLog log;
  std::string problem;
  std::uint64_t others = 0;
};

Read log_in(const std::string& text, const std::string& path = "all.log") {
  formats::LaunchLogReader reader;
  models::Diagnostics diagnostics;
  Read result;
  result.good = reader.read(text, path, diagnostics);
  if (diagnostics.has_errors()) {
    const auto found = diagnostics.sorted().front();
    result.problem = std::to_string(found.place.line) + " " + found.message;
  }
  result.others = reader.other_lines();
  result.log = reader.take();
  return result;
}

}  // namespace

TEST_CASE("the log of pipesim is read, whatever names hold", "[formats][launch_log_reader]") {
  const Read found = log_in(
      " 0.000 us [node0:1] main before: send down#1, stream nccl down, at pipeline.py:120 f\n"
      " 0.000 us [node0:1] main after: send down#1, stream nccl down, at pipeline.py:120 f\n"
      "20.400 us [node0:1] a thread before: nccl-2108#7, stream backward, micro-batch 7\n");
  REQUIRE(found.good);
  REQUIRE(found.log.ranks.size() == 2);
  CHECK_FALSE(found.log.ranks[0].has_log);
  const models::LoggedRank& rank = found.log.ranks[1];
  REQUIRE(rank.ops.size() == 2);
  CHECK(rank.ops[0].name == "send down");
  CHECK(rank.ops[0].stream == "nccl down");
  CHECK(rank.ops[0].launched == 1);
  CHECK(rank.ops[1].name == "nccl-2108");
  CHECK(rank.ops[1].entered == 7);
  CHECK(rank.ops[1].launched == 0);
  REQUIRE(rank.threads.size() == 2);
  CHECK(rank.threads[0].open.empty());
  CHECK(rank.threads[1].name == "a thread");
  CHECK(rank.threads[1].open == std::vector<std::uint32_t>{1});
  CHECK(rank.threads[1].last_entered == "nccl-2108#7");
}

TEST_CASE("glog's lines are read, of one rank or with a label", "[formats][launch_log_reader]") {
  const std::string line = "I20220419 10:11:12.123456  1234 kernel.cpp:52] ";
  const std::string both = line + "before: System-F0\n" + line + "after: System-F0\n";
  const Read one = log_in(both + both, "logs/rank_3.log");
  REQUIRE(one.log.ranks.size() == 4);
  CHECK(one.log.ranks[3].ops.front().name == "System-F0");
  CHECK(one.log.ranks[3].ops.front().launched == 2);
  CHECK(one.log.ranks[3].threads.front().name == "1234");
  // Labels of ranks: of srun -l, in words, and pipesim's own.
  for (const char* label : {"2: ", " 2: ", "rank 2: ", "[node7:2] "}) {
    const Read found = log_in(label + line + "before: F\r\n");
    REQUIRE(found.log.ranks.size() == 3);
    CHECK(found.log.ranks[2].ops.front().name == "F");
  }
  // glog's own format has no year.
  CHECK(log_in("3: W0419 10:11:12.123456 77 kernel.cpp:52] before: F").good);
}

TEST_CASE("other lines are passed over and counted", "[formats][launch_log_reader]") {
  const Read found = log_in(
      "Log file created at: 2022/04/19\n\n"
      "I20220419 10:11:12.123456 12 thread.cpp:9] Thread 3 construct Actor kTick 4\n"
      "I20220419 10:11:12.123456 12 kernel.cpp:52] before: F\n"
      "someone writes before: noon\n" +
          std::string(100'000, 'x') + "before: y\n",
      "0.log");
  CHECK(found.good);
  CHECK(found.others == 4);
  CHECK(found.log.ranks[0].ops.size() == 1);
}

TEST_CASE("a log that begins in the middle has launches that nobody entered",
          "[formats][launch_log_reader]") {
  const std::string line = "I20220419 10:11:12.123456 1 kernel.cpp:52] ";
  const Read found = log_in(line + "after: F\n" + line + "before: F\n" + line + "after: F", "0");
  CHECK(found.log.ranks[0].ops.front().launched == 2);
  CHECK(found.log.ranks[0].ops.front().entered == 2);
  CHECK(found.log.ranks[0].threads.front().open.empty());
}

TEST_CASE("mistakes of logs say where", "[formats][launch_log_reader]") {
  CHECK(log_in("").problem == "0 no line of this file records a launch");
  CHECK(log_in("hello\n").problem == "0 no line of this file records a launch");
  CHECK(log_in("x\nI20220419 10:11:12.1 1 k.cpp:5] before: F\n").problem ==
        "2 this line has no rank");
  CHECK(log_in("4000000000: I20220419 10:11:12.1 1 k.cpp:5] before: F\n").problem ==
        "1 there is no rank 4000000000");
  CHECK(log_in(std::string(1 << 20, '\0')).problem == "0 no line of this file records a launch");
}
