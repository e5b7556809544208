#include "features/check/check_json.hpp"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"
#include "models/result/expectation.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/summary.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using Json = nlohmann::ordered_json;

Json rests_on_json(const CheckView& view) {
  const sim::Exploration& found = view.check.exploration;
  Json rests_on = Json::array();
  if (view.modes != nullptr && view.modes->by_flows) rests_on.push_back(flows_text());
  if (view.modes != nullptr && view.modes->by_network) rests_on.push_back(network_text());
  if (view.modes != nullptr && view.modes->by_empty_calls) {
    rests_on.push_back(empty_calls_text());
  }
  if (view.modes != nullptr && view.modes->by_init) rests_on.push_back(init_text());
  if (view.modes != nullptr && view.modes->by_size) {
    rests_on.push_back(size_text(*view.modes->by_size));
  }
  const bool by_buffers =
      view.modes != nullptr && view.modes->answer == models::JobAnswer::kByBuffers;
  if (!found.hang_found || by_buffers) {
    for (std::string& line : left_out_lines(view)) rests_on.push_back(std::move(line));
  }
  if (found.rests_on.slots) rests_on.push_back("rule 5.5: room for collectives");
  if (found.rests_on.queues) rests_on.push_back("rule 5.5: hardware queues");
  if (found.rests_on.launches) rests_on.push_back(launches_text(found));
  if (found.rests_on.records) rests_on.push_back(records_text());
  if (view.hang != nullptr) {
    for (std::string& line : unmeasured_lines(view.hang->explanation)) {
      rests_on.push_back(std::move(line));
    }
  }
  for (const std::string& line : view.basis) rests_on.push_back(line);
  return rests_on;
}

}  // namespace

std::string check_json(const CheckView& view) {
  const sim::Exploration& found = view.check.exploration;
  const models::Explanation& usual = view.check.usual.explanation;
  const char* method = "one run";
  if (found.method == sim::Method::kNoCycle) method = "no circle";
  if (found.method == sim::Method::kExploration) method = "exploration";
  if (found.method == sim::Method::kSearch) method = "search";
  Json json = {{"schema", models::kReportSchema},
               {"scenario", view.graph.name},
               {"answer", answer_text(found.answer)},
               {"method", method},
               {"timing", found.timing == nullptr ? Json() : Json(found.timing)},
               {"forks", found.states},
               {"steps", found.steps},
               {"orders", found.orders},
               {"longest_order", found.longest},
               {"max_forks", found.budget > 0 ? found.budget : view.max_states},
               {"stopped", found.stopped},
               {"some_hang", found.hang_found},
               {"some_complete", found.completion_found}};
  if (view.modes != nullptr) {
    json["answer"] = answer_text(view.modes->answer);
    json["reading"] = models::nccl_mode_name(view.modes->shown);
    json["buffered_bytes"] = view.modes->buffered_bytes;
    for (const models::NcclModeAnswer& each : view.modes->modes) {
      json["readings"][std::string(models::nccl_mode_name(each.mode))] = {
          {"answer", answer_text(*view.modes, each, true)},
          {"verdict", models::verdict_name(each.verdict)},
          {"time_ns", each.time_ns}};
      if (!each.hang) continue;
      json["readings"][std::string(models::nccl_mode_name(each.mode))]["why"] =
          summary_text(*each.hang);
    }
  }
  if (is_proved_by_buffers(view)) {
    json["answer"] = "no hang";
    json["reading"] = models::nccl_mode_name(view.graph.nccl_mode);
  }
  if (const models::ProcessGroups& groups = view.graph.process_groups;
      !groups.backend.empty() || groups.device_id) {
    json["backend"] = groups.backend.empty() ? Json() : Json(groups.backend);
    json["device_id"] = groups.device_id;
  }
  if (view.ways) {
    json["ways"] = {{"checked", view.ways->checked},
                    {"all", view.ways->all ? Json(*view.ways->all) : Json()},
                    {"shown", view.ways->shown},
                    {"number", view.ways->number}};
  }
  if (is_failed(view)) json["answer"] = "failed";
  json["own_times"] = {{"verdict", models::verdict_name(usual.verdict)},
                       {"time_ns", usual.time_ns},
                       {"fingerprint", fingerprint_text(usual.fingerprint)}};
  Json rests_on = rests_on_json(view);
  if (view.of_record || !rests_on.empty()) json["rests_on"] = std::move(rests_on);
  json["hang"] = Json();
  if (view.hang != nullptr) {
    json["hang"] = Json::parse(json_report(*view.hang));
    json["hang"]["steps"] = found.hang.size();
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
