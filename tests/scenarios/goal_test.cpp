// GOAL files compared with results of LogGOPSim: files that were run with LogGOPSim
// (../shared/data/goal/LogGOPSim_reference_output.txt), and collectives of its generator Schedgen,
// which this file generates again.
#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"

#include "features/goal/goal_reader.hpp"
#include "features/goal/loggops.hpp"

using namespace pipesim;

namespace {

std::vector<std::int64_t> finish_times(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto file = formats::read_goal(text, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(file.has_value());
  const sim::LogGopsOutcome outcome = sim::run(file->program, {});
  REQUIRE(outcome.end == sim::RunEnd::kCompleted);
  std::vector<std::int64_t> times;
  for (const sim::Time time : outcome.finish) times.push_back(time.ns);
  return times;
}

class Program {
 public:
  explicit Program(int ranks) : text_("num_ranks " + std::to_string(ranks) + "\n") {}

  void begin_rank(int rank) {
    text_ += "rank " + std::to_string(rank) + " {\n";
    last_ = 0;
  }
  void end_rank() { text_ += "}\n"; }
  int send(int bytes, int to) { return add("send", bytes, "to", to); }
  int receive(int bytes, int from) { return add("recv", bytes, "from", from); }
  void require(int op, int other) {
    text_ += "l" + std::to_string(op) + " requires l" + std::to_string(other) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  int add(const std::string& what, int bytes, const std::string& where, int rank) {
    text_ += "l" + std::to_string(++last_) + ": " + what + " " + std::to_string(bytes) + "b " +
             where + " " + std::to_string(rank) + " tag 42001\n";
    return last_;
  }

  std::string text_;
  int last_ = 0;
};

// Returns Schedgen's binomial_tree_reduce: in step r, rank 2^r + i sends to rank i.
std::string binomial_reduce(int ranks, int bytes) {
  Program program(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    program.begin_rank(rank);
    int send = 0;
    int receive = 0;
    for (int offset = 1; offset < ranks; offset *= 2) {
      if (rank + offset < ranks && rank < offset) receive = program.receive(bytes, rank + offset);
      if (send > 0 && receive > 0) program.require(send, receive);
      if (rank >= offset && rank < 2 * offset) send = program.send(bytes, rank - offset);
    }
    program.end_rank();
  }
  return program.text();
}

// Returns Schedgen's allreduce_ring: twice around the ring; each send follows the recv before it.
std::string ring_allreduce(int ranks, int bytes) {
  Program program(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    program.begin_rank(rank);
    int receive = 0;
    for (int step = 0; step < 2 * (ranks - 1); ++step) {
      const int send = program.send(bytes / ranks, (rank + 1) % ranks);
      if (receive > 0) program.require(send, receive);
      receive = program.receive(bytes / ranks, (rank + ranks - 1) % ranks);
    }
    program.end_rank();
  }
  return program.text();
}

// Returns an all-to-all in which each rank goes through its peers in ascending order.
std::string alltoall(int ranks, int bytes) {
  Program program(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    program.begin_rank(rank);
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      program.send(bytes, peer);
      program.receive(bytes, peer);
    }
    program.end_rank();
  }
  return program.text();
}

}  // namespace

TEST_CASE("GOAL files finish as LogGOPSim says", "[scenarios][goal][shared]") {
  const std::string folder = testing::shared_data("goal/");
  if (folder.empty()) return;
  const auto times = [&](const std::string& name) {
    return finish_times(testing::file_text(folder + name + ".goal"));
  };
  using Times = std::vector<std::int64_t>;
  CHECK(times("allreduce_recdoub_p8_b4096") == Times(8, 75972));
  CHECK(times("bcast_binomialtree_p8_b1024") ==
        Times{15776, 20276, 20276, 24776, 25914, 30414, 30414, 34914});
  CHECK(times("headtohead_eager_ok") == Times{11638, 11638});
  CHECK(times("irequires") == Times{6500, 11294});
  const Times tree = times("binary_tree_32");
  REQUIRE(tree.size() == 32);
  CHECK(tree[31] == 27500);
  for (const std::int64_t time : tree) CHECK(time <= 27500);
}

TEST_CASE("large messages head to head get the verdict that LogGOPSim cannot give",
          "[scenarios][goal][shared]") {
  const std::string folder = testing::shared_data("goal/");
  if (folder.empty()) return;
  const auto hangs = testing::command({"run", folder + "headtohead_deadlock.goal"});
  CHECK(hangs.code == 1);
  CHECK(testing::contains(hangs.out, "DEADLOCK"));
  CHECK(testing::contains(hangs.out, "The cycle: 4 waits, ranks 0 and 1"));
  CHECK(testing::command({"run", folder + "headtohead_eager_ok.goal"}).code == 0);
  CHECK(testing::command({"run", folder + "headtohead_deadlock.goal", "--loggops", "S=131072"})
            .code == 0);
}

TEST_CASE("collectives of Schedgen finish as LogGOPSim says", "[scenarios][goal]") {
  using Times = std::vector<std::int64_t>;
  CHECK(finish_times(binomial_reduce(8, 1024)) ==
        Times{34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500});
  CHECK(finish_times(ring_allreduce(8, 65536)) == Times(8, 765044));
  CHECK(finish_times(alltoall(4, 4096)) == Times{85210, 85210, 113780, 139850});
}
