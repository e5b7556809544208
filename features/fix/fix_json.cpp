#include "features/fix/fix_json.hpp"

#include <string_view>

#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"
#include "models/result/expectation.hpp"

#include "features/check/nccl_modes.hpp"

namespace pipesim::viz {
namespace {

using models::Change;
using models::Fix;
using models::FixCase;
using models::FixReport;
using sim::Answer;
using Json = nlohmann::ordered_json;
using Kind = Change::Kind;

std::string_view kind_of(Kind kind) {
  switch (kind) {
    case Kind::kSwitch:
      return "switch";
    case Kind::kStream:
      return "stream";
    case Kind::kSlots:
      return "slots";
    case Kind::kInit:
      return "communicators at the start";
    case Kind::kOrder:
    case Kind::kAfter:
      return "order";
    case Kind::kBatch:
      return "batch";
    case Kind::kBuffer:
      return "eager";
    case Kind::kResident:
      return "resident";
    case Kind::kHardwareQueues:
      return "hardware queues";
    case Kind::kLaunchQueue:
      return "launch queue";
    case Kind::kMove:
      return "move";
    case Kind::kCommunicator:
      return "communicator";
    case Kind::kEverywhere:
      return "on all ranks";
    case Kind::kCopy:
      return "add";
    case Kind::kOtherEnd:
      return "other end";
    case Kind::kOneOrder:
      return "one order";
    case Kind::kDrop:
      return "drop";
    case Kind::kValue:
      return "value";
    case Kind::kLaunchOrder:
      return "launch order";
    case Kind::kMessages:
      return "messages";
    case Kind::kRow:
      return "row";
  }
  return "";
}

std::string_view sure_name(const sim::Exploration& orders) {
  if (orders.answer == Answer::kProved) return "proved";
  return orders.answer == Answer::kUndecided ? "no hang found" : "other orders hang";
}

Json json_of(const Change& change) {
  return {{"kind", kind_of(change.kind)}, {"text", change_text(change)}};
}

Json json_of(const Fix& fix, const std::string& patch) {
  Json json = json_of(fix.changes.front());
  json["text"] = changes_text(fix.changes);
  json["changes"] = Json::array();
  for (const Change& change : fix.changes) json["changes"].push_back(json_of(change));
  json["alters"] = alters(fix);
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
  for (const Change& same : fix.same) json["same"].push_back(change_text(same));
  json["patch"] = patch;
  return json;
}

std::string_view case_name(FixCase found) {
  switch (found) {
    case FixCase::kNothing:
      return "nothing to fix";
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

std::string fix_json(const FixReport& report, const FixView& view) {
  Json json = {{"schema", models::kReportSchema},
               {"scenario", view.scenario},
               {"case", case_name(report.found)}};
  json["verdict"] = models::verdict_name(report.explanation.verdict);
  json["cause"] = models::cause_name(report.explanation.cause);
  json["fixes"] = Json::array();
  for (std::size_t i = 0; i < report.fixes.size(); ++i) {
    json["fixes"].push_back(json_of(report.fixes[i], view.patches[i]));
  }
  json["partial"] = Json::array();
  for (std::size_t i = 0; i < report.partial.size(); ++i) {
    json["partial"].push_back(json_of(report.partial[i], view.partial[i]));
  }
  json["without_use"] = Json::array();
  for (const Change& change : report.without_use) json["without_use"].push_back(json_of(change));
  json["not_in_this_file"] = report.unwritten;
  if (report.stopped) json["interrupted"] = true;
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
