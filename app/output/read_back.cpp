#include "app/output/read_back.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/command.hpp"
#include "formats/scenario/scenario.hpp"
#include "formats/torch/schedule_csv.hpp"

namespace pipesim::app {
namespace {

constexpr const char* kReport = "this is a bug of pipesim: please report it with the scenario";

// Throws InputError. `why` has the mistakes in the text; if empty, the text reads back as something
// else.
[[noreturn]] void refuse(std::string_view what, models::Diagnostics& why) {
  const std::string problem =
      why.has_errors() ? why.sorted().front().message : "it reads back as something else";
  throw InputError(models::Code::kContradiction,
                   fmt::format("{} was not written: {}", what, problem),
                   why.has_errors() ? "" : kReport);
}

}  // namespace

void require_order(const std::string& text, const formats::SavedOrder& order) {
  models::Diagnostics why;
  const std::optional<formats::SavedOrder> read = formats::read_order(text, why);
  const auto same_event = [](const models::OrderStep& a, const models::OrderStep& b) {
    return a.event == b.event;
  };
  if (read && read->settings == order.settings && read->reading.queues == order.reading.queues &&
      read->reading.serial_collectives == order.reading.serial_collectives &&
      read->reading.shared_launches == order.reading.shared_launches &&
      std::equal(read->steps.begin(), read->steps.end(), order.steps.begin(), order.steps.end(),
                 same_event)) {
    return;
  }
  refuse("the interleaving", why);
}

void require_schedule(const std::string& text, const models::Schedule& schedule) {
  models::Diagnostics why;
  const auto read = formats::read_schedule(formats::schedule_rows(text), schedule.pipelines, why,
                                           schedule.partial);
  if (read && read->ranks == schedule.ranks) return;
  refuse("the schedule", why);
}

void require_updated(const std::string& text, const std::string& shown) {
  models::Diagnostics why;
  if (formats::read_scenario(text, {}, why)) return;
  refuse(fmt::format("{} with its new figures", shown), why);
}

}  // namespace pipesim::app
