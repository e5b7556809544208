// Checks that every shipped scenario meets its `expect:`, in each setting that `expect:` names.
#include <string>

#include "models/result/expectation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

TEST_CASE("every scenario expects something, in each setting a verdict", "[scenarios]") {
  const std::vector<std::string> paths = testing::scenario_paths();
  REQUIRE(!paths.empty());
  for (const std::string& path : paths) {
    const formats::Scenario scenario = testing::load(path);
    INFO(path);
    REQUIRE(!scenario.expectations.empty());
    for (const models::Expectation& expectation : scenario.expectations) {
      INFO("the expectation in line " << expectation.place.line);
      CHECK(expectation.verdict.has_value());
    }
  }
}

TEST_CASE("every scenario meets its expectations", "[scenarios]") {
  const testing::CommandResult result = testing::command({"test", "scenarios", "--quiet"});
  INFO(result.out);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
}

// Runs jobs whose end does not depend on the number of ranks.
TEST_CASE("jobs of today end in the same way on 1,024 ranks", "[scenarios]") {
  struct Job {
    const char* scenario;
    std::vector<std::string> sizes;
    const char* verdict;
  };
  const std::vector<Job> jobs = {
      {"megatron_expert_overlap", {"pipeline=32", "expert=32", "micro_batches=64"}, "COMPLETED"},
      {"fsdp_pipeline", {"pipeline=32", "shards=32", "micro_batches=64"}, "COMPLETED"},
      {"vllm_idle_rank", {"engines=512"}, "HANGS (missing call)"},
      {"rl_weight_sync", {"trainers=512", "generators=512"}, "MISMATCH"},
      {"compiled_recv_first", {"size=1024"}, "DEADLOCK"},
      {"xla_two_streams", {"columns=256", "rows=4"}, "DEADLOCK"},
      {"megatron_expert_overlap_hang", {"pipeline=32", "expert=32", "layers=127"}, "MISMATCH"},
      {"megatron_expert_overlap_hang",
       {"pipeline=32", "expert=32", "layers=127", "groups=two"},
       "DEADLOCK"},
      {"ray_cross_send", {"actors=1024"}, "DEADLOCK"},
      {"deepep_beside_nccl", {"size=1024"}, "DEADLOCK"}};
  for (const Job& job : jobs) {
    const std::string path = "scenarios/" + std::string(job.scenario) + ".yaml";
    std::vector<std::string> arguments = {"run", path};
    for (const std::string& size : job.sizes) arguments.insert(arguments.end(), {"--set", size});
    const std::string report = testing::command(arguments).out;
    INFO(report.substr(0, 200));
    CHECK(report.find(std::string("  ") + job.verdict + " at ") < 80);
    CHECK(report.find("1,024 ranks") < 160);
  }
}

TEST_CASE("an inference engine's expectations follow its size", "[scenarios]") {
  // The idle engine is the third from the end in every size.
  for (const char* size : {"engines=3", "engines=4", "tensor=1", "tensor=4", "engines=16"}) {
    const auto result = testing::command({"run", "scenarios/vllm_idle_rank.yaml", "--set", size});
    INFO(size << "\n" << result.out << result.err);
    CHECK(result.code == 1);
    CHECK(result.out.find("  HANGS (missing call) at ") < 80);
  }
}

TEST_CASE("every scenario says in a comment what it shows", "[scenarios]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    CHECK(testing::file_text(path).substr(0, 2) == "# ");
    // A scenario has the name of its file, because reports show the name and users type the file.
    CHECK("scenarios/" + testing::load(path).graph.name + ".yaml" == path);
  }
}
