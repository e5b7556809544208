#include <string_view>

#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"
#include "models/result/expectation.hpp"

#include "features/check/nccl_modes.hpp"
#include "features/fix/fix_report.hpp"

namespace pipesim::viz {
namespace {

using models::Edit;
using models::Fix;
using models::FixCase;
using models::FixReport;
using sim::Answer;
using Json = nlohmann::ordered_json;

std::string_view sure_name(const sim::Exploration& orders) {
  if (orders.answer == Answer::kProved) return "proved";
  return orders.answer == Answer::kUndecided ? "no hang found" : "other orders hang";
}

Json json_of(const Edit& edit) { return {{"kind", edit.kind->name}, {"text", edit.text}}; }

Json json_of(const Fix& fix) {
  Json json = json_of(fix.edits.front());
  json["text"] = models::text_of(fix.edits);
  json["changes"] = Json::array();
  for (const Edit& edit : fix.edits) json["changes"].push_back(json_of(edit));
  json["alters"] = models::alters_any(fix.edits);
  json["by_buffers"] = fix.by_buffers;
  json["certainty"] = sure_name(fix.orders);
  if (!fix.proved_in.empty()) {
    json["proved_in"] = Json::array();
    for (const models::NcclMode mode : fix.proved_in) {
      json["proved_in"].push_back(models::nccl_mode_name(mode));
    }
  }
  json["orders"] = fix.orders.orders;
  json["states"] = fix.orders.states;
  json["time_ns"] = fix.time_ns;
  json["memory"] = fix.memory ? Json(*fix.memory) : Json(nullptr);
  json["wait"] = fix.waits.empty() ? Json(nullptr) : Json(fix.waits.front() + 1);
  json["waits"] = Json::array();
  for (const std::uint32_t wait : fix.waits) json["waits"].push_back(wait + 1);
  json["same"] = Json::array();
  for (const Edit& same : fix.same) json["same"].push_back(same.text);
  json["patch"] = fix.patch;
  return json;
}

Json json_of(const models::LineChange& change) {
  using Kind = models::LineChange::Kind;
  const char* const kind = change.kind == Kind::kDrop    ? "drop"
                           : change.kind == Kind::kIsend ? "isend"
                                                         : "order";
  return {{"kind", kind}, {"text", change.text}, {"later_calls", change.later_calls}};
}

std::string_view case_name(FixCase found) {
  switch (found) {
    case FixCase::kNothing:
      return "nothing to fix";
    case FixCase::kSomeWays:
    case FixCase::kNothingFound:
      return "nothing found to fix";
    case FixCase::kHangs:
      return "hangs";
    case FixCase::kHangsInAnother:
      return "hangs in another order";
    case FixCase::kByBuffers:
      return "runs by buffers";
  }
  return "";
}

}  // namespace

std::string fix_json(const FixReport& report, const std::string& scenario,
                     const std::string& script) {
  Json json = {{"schema", models::kReportSchema},
               {"scenario", scenario},
               {"case", case_name(report.found)},
               {"verdict", models::verdict_name(report.explanation.verdict)},
               {"cause", models::cause_name(report.explanation.cause)}};
  const auto add = [&](const char* key, const auto& items) {
    json[key] = Json::array();
    for (const auto& item : items) json[key].push_back(json_of(item));
  };
  add("fixes", report.fixes);
  add("partial", report.partial);
  add("without_use", report.without_use);
  json["not_in_this_file"] = report.unwritten;
  if (report.lines) {
    add("lines", report.lines->found);
    add("lines_without_use", report.lines->tried);
  }
  if (!report.way.empty()) json["way"] = report.way;
  if (report.stopped) json["interrupted"] = true;
  if (!script.empty()) json["script"] = Json::parse(script);
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
