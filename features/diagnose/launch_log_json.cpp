#include <nlohmann/json.hpp>

#include "viz/report/json_report.hpp"

#include "features/diagnose/launch_log_text.hpp"
#include "features/diagnose/next_steps.hpp"

namespace pipesim::viz {
namespace {

using Json = nlohmann::ordered_json;

Json rank_json(const LaunchLogReport& report, const models::LoggedStanding& standing) {
  Json json = {{"rank", standing.rank}, {"log", standing.has_log}, {"rounds", standing.rounds}};
  json["progress"] = Json::array();
  for (const models::LoggedProgress& progress : standing.progress) {
    Json item = {{"what", report.diagnosis.columns[progress.column]},
                 {"launched", progress.rounds},
                 {"expected", progress.expected}};
    if (!progress.next.empty()) {
      item["next"] = progress.next;
      item["entered"] = progress.open;
    }
    if (!progress.launched.empty()) item["after"] = progress.launched;
    json["progress"].push_back(std::move(item));
  }
  json["threads"] = Json::array();
  const models::LoggedRank& rank = report.log.ranks[standing.rank];
  for (const models::LoggedThread& thread : rank.threads) {
    Json item = {{"name", thread.name},
                 {"last_entered", thread.last_entered},
                 {"last_launched", thread.last_launched}};
    item["open"] = Json::array();
    for (const std::uint32_t op : thread.open) item["open"].push_back(rank.ops[op].name);
    json["threads"].push_back(std::move(item));
  }
  json["actors"] = Json::array();
  for (const models::LoggedOp& op : rank.ops) {
    json["actors"].push_back(
        {{"name", op.name}, {"entered", op.entered}, {"launched", op.launched}});
  }
  return json;
}

}  // namespace

std::string launch_log_json(const LaunchLogReport& report) {
  const models::LaunchLogDiagnosis& diagnosis = report.diagnosis;
  models::TaskGraph graph;
  Report end{graph, diagnosis.explanation, {}, {}, {}, {}, {}};
  if (report.all) end.all_waits = diagnosis.waits;
  const Json of_end = Json::parse(json_report(end));
  std::string verdict = of_end["verdict"].get<std::string>();
  if (verdict == "completed") verdict = "nothing wrong found";
  if (verdict == "limit") verdict = "undecided";
  Json json = {{"schema", of_end["schema"]},    {"evidence", report.log.format},
               {"name", report.log.name},       {"verdict", verdict},
               {"cause", of_end["cause"]},      {"notes", report.notes},
               {"root_ranks", diagnosis.roots}, {"behind", diagnosis.behind}};
  for (const char* key : {"cycle", "cycle_is_shortest", "cycle_groups", "roots", "collateral"}) {
    json[key] = of_end[key];
  }
  json["ranks"] = Json::array();
  for (const auto& rank : diagnosis.ranks) json["ranks"].push_back(rank_json(report, rank));
  json["next"] = next_steps(diagnosis);
  if (of_end.contains("waits")) json["waits"] = of_end["waits"];
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
