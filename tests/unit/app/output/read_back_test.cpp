// For each kind of file: the reader accepts the written file and refuses a file that reads back
// differently.
#include "app/output/read_back.hpp"

#include <functional>

#include "app/command.hpp"
#include "formats/torch/schedule_csv.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

std::string refusal(const std::function<void()>& require) {
  try {
    require();
  } catch (const app::InputError& error) {
    return error.what();
  }
  return {};
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("an interleaving that opens as another one is not put in place", "[app][read_back]") {
  formats::SavedOrder order;
  order.scenario = "a";
  order.settings = {{"n", "2"}};
  order.reading.queues = {0, 1};
  order.steps = {{{sim::EventKind::kOpEnds, 4}, "rank 0: a#0 ends"},
                 {{sim::EventKind::kThreadWakes, 1}, "rank 0: thread main reads a message"}};
  const std::string text = formats::write_order(order);
  CHECK(refusal([&] { app::require_order(text, order); }).empty());
  for (const auto& [what, by] : {std::pair("\"id\": 4", "\"id\": 5"),
                                 {"\"value\": \"2\"", "\"value\": \"3\""},
                                 {"\"hardware_queues\": [0, 1]", "\"hardware_queues\": [0, 0]"}}) {
    const std::string other = replaced(text, what, by);
    CHECK(refusal([&] { app::require_order(other, order); }) ==
          "the interleaving was not written: it reads back as something else");
  }
}

TEST_CASE("a schedule that opens as another one is not put in place", "[app][read_back]") {
  const std::string rows = "0F0,,0B0\r\n,1F0,1B0\r\n";
  models::Diagnostics diagnostics;
  const auto schedule =
      formats::read_schedule(formats::schedule_rows(rows), 1, diagnostics).value();
  const std::string text = formats::write_schedule(schedule);
  CHECK(refusal([&] { app::require_schedule(text, schedule); }).empty());
  CHECK(refusal([&] { app::require_schedule(replaced(text, ",,", ","), schedule); }) ==
        "the schedule was not written: it reads back as something else");
  CHECK(refusal([&] {
          app::require_schedule(replaced(text, "0F0", "0G0"), schedule);
        }).starts_with("the schedule was not written: "));
}

TEST_CASE("a scenario that new figures would break keeps its old ones", "[app][read_back]") {
  const std::string text = "schema: 1\nactors: {a: {source: 1}}\nexpect: {time: 0ns}\n";
  CHECK(refusal([&] { app::require_updated(text, "a.yaml"); }).empty());
  CHECK(refusal([&] {
          app::require_updated(replaced(text, "0ns", "0 sec"), "a.yaml");
        }).starts_with("a.yaml with its new figures was not written: "));
}
