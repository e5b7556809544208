// Diagnoses of real evidence: each names the ranks that hold the job up, or the missing evidence,
// and never a wrong rank.
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/shared.hpp"

using namespace pipesim;
using nlohmann::json;
using testing::command;
using testing::contains;
using Ranks = std::set<int>;

namespace {

struct Sample {
  std::string file;
  std::string verdict;
  Ranks blamed;            // ranks that the report blames
  Ranks suspects;          // ranks named after "not enough, because"
  std::string in_account;  // text that the report contains
};

Ranks ranks_of(const json& list) {
  Ranks ranks;
  for (const json& it : list) ranks.insert(it.is_object() ? it["rank"].get<int>() : it.get<int>());
  return ranks;
}

Ranks blamed(const json& found) {
  if (found.contains("root_ranks")) return ranks_of(found["root_ranks"]);
  Ranks ranks;
  for (const json& root : found["roots"]) {
    if (root["reason"] != "unexplained") ranks.insert(root["rank"].get<int>());
  }
  return ranks;
}

}  // namespace

TEST_CASE("each sample gives its root, or says what is missing", "[diagnose][shared]") {
  const std::string data = testing::shared_data("evidence/");
  if (data.empty()) return;
  const std::vector<Sample> samples = {
      {"ras_straggler_rank7.txt", "starved", {7}, {}, "rank 7 is behind in AllReduce, at 60"},
      {"ras_exit_rank7_incomplete.txt", "undecided", {}, {7}, "process 3748990 on node1, GPU 3"},
      {"ras_exit_rank7_dead.txt", "starved", {}, {}, "Process 3748990 on node1, GPU 3 is dead"},
      {"ras_missing_rank1.json", "undecided", {}, {1}, "rank 1 (process 1524345"},
      {"nccl1911_ras_two_ahead.txt", "undecided", {}, {}, "30 ranks are behind in AllGather"},
      {"rccl429_calls.log", "mismatch", {}, {}, "all_gather comm0#652 on rank 2"},
      {"pytorch141069_watchdog.log", "undecided", {}, {0}, "look at rank 0 first"},
      {"pytorch152623_desync.log", "starved", {7}, {}, "The job waits for rank 7."},
      {"llamafactory7396_watchdog.log", "undecided", {}, {}, "all_reduce pg1#1580"},
      {"deepspeed6524_pyspy.txt", "undecided", {}, {}, "partition_grads"},
      {"torch_debug_server_stacks.txt", "undecided", {}, {}, "verify_flight_recorder.py:140"},
      {"torch_fr_trace_cli.txt", "starved", {1}, {}, "rank 1 never called all_reduce main_comm#4"},
      {"pyspy_form.json", "undecided", {}, {}, "process 4102"},
      {"faulthandler_form.txt", "odd ones out", {1}, {}, "look first at rank 1"},
  };
  for (const Sample& sample : samples) {
    INFO(sample.file);
    const auto told = command({"diagnose", data + sample.file});
    INFO(told.out + told.err);
    CHECK(contains(told.out, sample.in_account));
    CHECK(contains(told.out, "\nNext:\n"));
    const json found = json::parse(command({"diagnose", data + sample.file, "--json"}).out);
    CHECK(found["verdict"] == sample.verdict);
    CHECK(blamed(found) == sample.blamed);
    if (found.contains("suspects")) CHECK(ranks_of(found["suspects"]) == sample.suspects);
  }
}

TEST_CASE("dumps of innocent ranks may be missing", "[diagnose][shared]") {
  const std::string data = testing::shared_data("flight_recorder/nvrx/");
  if (data.empty()) return;
  const std::vector<std::pair<std::string, Ranks>> cases = {{"lock_gil_1st", {9, 14}},
                                                            {"gpu_error_1st", {12, 14}}};
  for (const auto& [name, roots] : cases) {
    for (const Ranks& missing : {Ranks{}, Ranks{1}, Ranks{0, 6, 10}, Ranks{1, 3, 4, 8, 13}}) {
      std::vector<std::string> words = {"diagnose", "flight-recorder", "--json"};
      for (int rank = 0; rank < 16; ++rank) {
        if (missing.count(rank) == 0) {
          words.push_back(data + name + "/_dump_" + std::to_string(rank));
        }
      }
      const json found = json::parse(command(words).out);
      INFO(name << " without " << missing.size() << " dumps");
      CHECK(blamed(found) == roots);
    }
  }
}
