#include "features/diagnose/nccl_call_reader.hpp"

#include <string>

#include "tests/support/catch.hpp"

#include "features/diagnose/diagnosis.hpp"

using namespace pipesim;

namespace {

formats::NcclCallReader calls_in(const std::string& text) {
  formats::NcclCallReader reader;
  formats::each_log_line(text, [&](const formats::LogLine& line) { reader.take(line, 0); });
  return reader;
}

std::string created(int rank) {
  const std::string r = std::to_string(rank);
  return "n0:4" + r + ":9 [" + r + "] NCCL INFO comm 0x5" + r + " rank " + r +
         " nranks 2 cudaDev " + r + " busId 0 commId 0xab - Init COMPLETE\n";
}

std::string call(int rank, const std::string& op, int count, const std::string& op_count = "0") {
  const std::string r = std::to_string(rank);
  return "n0:4" + r + ":9 [" + r + "] NCCL INFO " + op + ": opCount " + op_count +
         " sendbuff 0x1 recvbuff 0x2 count " + std::to_string(count) +
         " datatype 7 op 0 root 0 comm 0x5" + r + " [nranks=2] stream 0x9\n";
}

models::Diagnosis diagnosed(const formats::NcclCallReader& reader) {
  return models::diagnose(reader.evidence({"job.log"}));
}

}  // namespace

TEST_CASE("calls are put together by the init of their communicator",
          "[formats][nccl_call_reader]") {
  const std::string start = created(0) + created(1);
  const std::string both = call(0, "AllReduce", 4) + call(1, "AllReduce", 4);
  // All ranks have made the same calls, so the log does not show how far the devices are.
  CHECK(diagnosed(calls_in(start + both)).explanation.verdict == sim::Verdict::kLimit);
  const auto reader = calls_in(start + both + call(0, "AllGather", 2));
  const auto behind = diagnosed(reader);
  REQUIRE(behind.roots.size() == 1);
  CHECK(behind.roots[0].rank == 1);
  CHECK(behind.roots[0].place.line == 5);
  const std::string scenario = reader.scenario(behind);
  CHECK(scenario.find("{all_gather: comm_0xab, bytes: 8B, stream: stream0}") != std::string::npos);
  CHECK(scenario.find("expect: {verdict: starved}") != std::string::npos);
  const auto differ =
      diagnosed(calls_in(start + call(0, "AllReduce", 4) + call(1, "AllReduce", 5)));
  CHECK(differ.explanation.verdict == sim::Verdict::kMismatch);
}

TEST_CASE("ranks of communicators that do not span the job are not its ranks",
          "[formats][nccl_call_reader]") {
  // Log lines of one rank of a communicator of two ranks. No line says how many ranks the job has.
  const auto made = [](int pid, int rank, const std::string& hash) {
    const std::string p = std::to_string(pid);
    return "n0:" + p + ":9 [0] NCCL INFO comm 0x5" + p + " rank " + std::to_string(rank) +
           " nranks 2 cudaDev 0 busId 0 commId " + hash + " - Init COMPLETE\n" + "n0:" + p +
           ":9 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 4 datatype 7 op "
           "0 root 0 comm 0x5" +
           p + " [nranks=2] stream 0x9\n";
  };
  CHECK(calls_in(made(40, 0, "0xab") + made(41, 1, "0xab")).evidence({}).ranks[1].has_dump);
  for (const std::string& text :
       {made(40, 0, "0xab") + made(41, 1, "0xcd"),
        made(40, 0, "0xab") + made(41, 1, "0xab") + made(42, 0, "0xcd") + made(43, 1, "0xcd")}) {
    const auto reader = calls_in(text);
    for (const auto& rank : reader.evidence({}).ranks) CHECK_FALSE(rank.has_dump);
    CHECK(reader.notes().front().find("do not tell their rank") != std::string::npos);
  }
  // Labels name the ranks, so the calls of the two communicators are not merged.
  const auto labelled = calls_in("0: " + made(40, 0, "0xab") + "[rank3]: " + made(43, 1, "0xcd"));
  CHECK(labelled.evidence({}).groups.size() == 2);
}

TEST_CASE("a rank whose last call is a message may wait in it", "[formats][nccl_call_reader]") {
  const std::string start = created(0) + created(1);
  const auto message = [](int rank, const char* op, int peer) {
    std::string text = call(rank, op, 4);
    text.replace(text.find("root 0"), 6, "root " + std::to_string(peer));
    return text;
  };
  // Rank 1 waits in a recv for a send that rank 0 never makes; rank 0 waits for rank 1 in a
  // collective.
  auto found = diagnosed(calls_in(start + message(1, "Recv", 0) + call(0, "AllReduce", 4)));
  CHECK(found.roots.empty());
  // The send of rank 1 may be buffered, so rank 1 is only a suspect.
  found = diagnosed(calls_in(start + message(1, "Send", 0) + call(0, "AllReduce", 4)));
  CHECK(found.roots.empty());
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects[0].rank == 1);
  CHECK(found.suspects[0].behind);
  found = diagnosed(
      calls_in(start + message(1, "Send", 0) + message(0, "Recv", 1) + call(0, "AllReduce", 4)));
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots[0].rank == 1);
}

TEST_CASE("without its beginning a log is put together by opCount, or not at all",
          "[formats][nccl_call_reader]") {
  const auto cut = calls_in(call(0, "AllReduce", 4, "1b") + call(0, "AllReduce", 4, "1c") +
                            call(1, "AllReduce", 4, "1c"));
  CHECK(diagnosed(cut).roots.empty());
  CHECK(diagnosed(cut).explanation.verdict == sim::Verdict::kLimit);
  const auto open =
      calls_in(call(0, "AllReduce", 4) + call(0, "AllReduce", 4) + call(1, "Reduce", 1));
  CHECK(diagnosed(open).roots.empty());
  CHECK(diagnosed(open).explanation.verdict == sim::Verdict::kLimit);
  CHECK(open.notes().back().find("cannot be put together") != std::string::npos);
}
