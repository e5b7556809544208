#include "features/diagnose/launcher_report.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

formats::LauncherReport report_in(const std::string& text) {
  formats::LauncherReport report;
  formats::each_log_line(text, [&](const formats::LogLine& line) {
    report.take(line, {0, line.number});
  });
  return report;
}

std::string entry(int rank, const std::string& code, const std::string& time) {
  return "[0]:\n  time      : " + time +
         "\n  host      : n0\n  rank      : " + std::to_string(rank) +
         " (local_rank: 0)\n  exitcode  : " + code + "\n  error_file: <N/A>\n";
}

}  // namespace

TEST_CASE("torchrun names the rank that ended first, and how", "[formats][launcher_report]") {
  const auto report =
      report_in("Failures:\n" + entry(0, "-15 (pid: 5)  (SIGTERM)", "2026-11-26_14:39:21") +
                "Root Cause (first observed failure):\n" +
                entry(2, "-9 (pid: 7)  (SIGKILL)", "2026-11-26_14:39:20"));
  CHECK(report.first() == 2);
  CHECK(report.ranks() == 3);
  CHECK(report.ends().at(2).text() == "exit code -9 (SIGKILL) at 2026-11-26_14:39:20");
  CHECK(report.ends().at(2).is_death());
  CHECK_FALSE(report.ends().at(0).first);
  CHECK_FALSE(report.ends().at(0).is_death());
  // Without torchrun's heading, the values belong to another report.
  CHECK(report_in("  rank      : 2\n  exitcode  : -9\n").ends().empty());
}

TEST_CASE("PyTorch's watchdog and launchers end processes with other signals",
          "[formats][launcher_report]") {
  for (const auto& [code, death] : {std::pair("1 (pid: 7)", false),
                                    {"-6 (pid: 7)", false},
                                    {"-11 (pid: 7)", true},
                                    {"-15 (pid: 7)", false}}) {
    const auto report =
        report_in("Root Cause (first observed failure):\n" + entry(1, code, "2026-11-26_14:39:20"));
    INFO(code);
    CHECK(report.ends().at(1).is_death() == death);
  }
}

TEST_CASE("mpirun and spawn name a signal", "[formats][launcher_report]") {
  const auto mpi = report_in(
      "mpirun noticed that process rank 3 with PID 41 on node n0 exited on signal 9 (Killed).\n");
  CHECK(mpi.first() == 3);
  CHECK(mpi.ends().at(3).text() == "exit code -9 (SIGKILL)");
  const auto spawn = report_in(
      "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal "
      "SIGSEGV\n");
  CHECK(spawn.ends().at(1).text() == "exit code -11 (SIGSEGV)");
}

TEST_CASE("times of day are compared in seconds", "[formats][launcher_report]") {
  CHECK(formats::time_of_day("2026-11-26_14:39:20") == 52760);
  CHECK(formats::time_of_day("[E1126 14:22:10.728446636 P.cpp:2901] [Rank 0]") == 51730);
  CHECK_FALSE(formats::time_of_day("gloo.cpp:29 a:b"));
}
