#include "formats/scenario/order_file.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;
using formats::SavedOrder;

namespace {

std::string error_of(const std::string& text) {
  models::Diagnostics diagnostics;
  CHECK_FALSE(formats::read_order(text, diagnostics));
  REQUIRE(diagnostics.sorted().size() == 1);
  return diagnostics.sorted().front().message;
}

}  // namespace

TEST_CASE("an order is read back as it was written", "[order]") {
  SavedOrder order;
  order.scenario = "a \"name\"";
  order.settings = {{"acc", "4"}, {"text", "a\nb"}};
  order.steps = {{{sim::EventKind::kThreadWakes, 3}, "rank 0: a#1 is launched"},
                 {{sim::EventKind::kCollectiveEnds, 0}, "gather#1 ends"},
                 {{sim::EventKind::kOpStarts, 7}, ""}};
  order.reading.serial_collectives = true;
  order.reading.shared_launches = true;
  order.reading.queues = {0, 1, 0};
  models::Diagnostics diagnostics;
  const auto read = formats::read_order(formats::write_order(order), diagnostics);
  REQUIRE(read);
  CHECK(read->scenario == order.scenario);
  CHECK(read->settings == order.settings);
  CHECK(read->reading.serial_collectives);
  CHECK(read->reading.shared_launches);
  CHECK(read->reading.queues == order.reading.queues);
  REQUIRE(read->steps.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(read->steps[i].event == order.steps[i].event);
    CHECK(read->steps[i].what == order.steps[i].what);
  }
}

TEST_CASE("what is no order file is refused", "[order]") {
  CHECK(error_of("").find("truncated") != std::string::npos);
  CHECK(error_of("{\"pipesim_order\": 1,").find("truncated") != std::string::npos);
  CHECK(error_of("{]").find("invalid JSON") != std::string::npos);
  CHECK(error_of("[1e999]").find("too large") != std::string::npos);
  CHECK(error_of("[1]").find("no 'pipesim_order'") != std::string::npos);
  CHECK(error_of("{\"pipesim_order\": 2}").find("schema 1") != std::string::npos);
  CHECK(error_of("{\"pipesim_order\": 1}").find("'steps'") != std::string::npos);
  CHECK(error_of("{\"pipesim_order\": 1, \"count\": 1, \"steps\": []}").find("truncated") !=
        std::string::npos);
  const std::string begin = "{\"pipesim_order\": 1, \"count\": 1, \"steps\": [{\"event\": ";
  CHECK(error_of(begin + "\"op begins\", \"id\": 1}]}").find("step 1") != std::string::npos);
  CHECK(error_of(begin + "\"op ends\", \"id\": -1}]}").find("step 1") != std::string::npos);
  CHECK(error_of(begin + "\"op ends\", \"id\": 5000000000}]}").find("step 1") != std::string::npos);
  CHECK(error_of(begin + "7, \"id\": 1}]}").find("step 1") != std::string::npos);
  const std::string queues =
      "{\"pipesim_order\": 1, \"count\": 0, \"steps\": [], \"hardware_queues\": ";
  CHECK(error_of(queues + "1}").find("list of numbers") != std::string::npos);
  CHECK(error_of(queues + "[-1]}").find("list of numbers") != std::string::npos);
}
