// Threads build, run and report graphs side by side, and get what one of them alone gets.
#include <string>
#include <thread>
#include <vector>

#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

const std::vector<std::string> kScenarios = {
    "buffer_on_the_wrong_stream", "two_groups_opposite_order", "rank_segfault", "pipeline_1f1b",
    "nccl_order_1f1b_send_first",
};

// All that a result says, and what is thrown of a mistake.
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

TEST_CASE("threads run and draw graphs side by side", "[library][threads]") {
  const std::vector<std::string> alone = reports();
  REQUIRE(alone.size() == 4 * kScenarios.size() + 1);
  std::vector<std::vector<std::string>> found(4);
  std::vector<std::thread> threads;
  for (auto& own : found) threads.emplace_back([&own] { own = reports(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : found) CHECK(own == alone);
}
