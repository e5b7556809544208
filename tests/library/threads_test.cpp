// Threads build, run and report graphs in parallel, with the same results as a single thread.
#include <string>
#include <thread>
#include <vector>

#include "pipesim/check.hpp"
#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

const std::vector<std::string> kScenarios = {
    "buffer_on_the_wrong_stream", "two_groups_opposite_order", "rank_segfault", "pipeline_1f1b",
    "nccl_order_1f1b_send_first",
};

// Returns all outputs of the results, and the message of the exception for an error.
std::vector<std::string> reports() {
  std::vector<std::string> found;
  for (const std::string& name : kScenarios) {
    const Result result = run(load_scenario("scenarios/" + name + ".yaml"));
    found.push_back(std::to_string(result.fingerprint()));
    found.push_back(result.text());
    found.push_back(result.json());
    found.push_back(result.dot());
  }
  try {
    parse_scenario("schema: 1\nactors: {a: {reads: [b]}}\n");
  } catch (const Error& error) {
    found.push_back(error.what());
  }
  return found;
}

}  // namespace

TEST_CASE("threads check side by side", "[library][threads]") {
  // One scenario per method of check(): a single run, no potential cycles, exploration and search.
  const auto answers = [] {
    std::vector<std::string> found;
    for (const char* name : {"pipeline_1f1b", "two_groups_opposite_order", "swin_2x2x2",
                             "buffer_on_the_right_stream", "buffer_on_the_wrong_stream"}) {
      CheckOptions options;
      options.max_states = 2'000;
      const CheckResult result =
          check(load_scenario("scenarios/" + std::string(name) + ".yaml"), options);
      found.push_back(result.report);
      found.push_back(result.json);
    }
    return found;
  };
  const std::vector<std::string> alone = answers();
  std::vector<std::vector<std::string>> found(4);
  std::vector<std::thread> threads;
  for (auto& own : found) threads.emplace_back([&] { own = answers(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : found) CHECK(own == alone);
}

TEST_CASE("threads run and draw graphs side by side", "[library][threads]") {
  const std::vector<std::string> alone = reports();
  REQUIRE(alone.size() == 4 * kScenarios.size() + 1);
  std::vector<std::vector<std::string>> found(4);
  std::vector<std::thread> threads;
  for (auto& own : found) threads.emplace_back([&own] { own = reports(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : found) CHECK(own == alone);
}
