#include <nlohmann/json.hpp>

#include "viz/report/json_report.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/diagnosis_reasons.hpp"
#include "features/diagnose/diagnosis_text.hpp"
#include "features/diagnose/next_steps.hpp"

namespace pipesim::viz {
namespace {

using Json = nlohmann::ordered_json;

Json standing_json(const models::RankStanding& rank) {
  Json json = {{"rank", rank.rank}, {"dump", rank.has_dump}, {"pending", rank.pending}};
  json["spins"] = rank.spins;
  if (rank.at) {
    json["at"] = {{"op", rank.at->name},
                  {"act", rank.at->number},
                  {"stream", rank.at->stream},
                  {"state", stage_name(rank.at->stage)}};
    if (!rank.at->at.empty()) json["at"]["at"] = rank.at->at;
  }
  return json;
}

Json group_json(const models::EvidenceGroup& group, const models::GroupStanding& standing) {
  Json json = {{"name", group.name}, {"description", group.description}, {"ranks", standing.ranks}};
  // `called` and `completed` are null if there is no such call, or if its number is unknown.
  json["called"] = standing.called < 0 ? Json() : Json(standing.called);
  json["completed"] = standing.completed < 0 ? Json() : Json(standing.completed);
  json["pending"] = standing.pending;
  if (standing.at_least) json["at_least"] = true;
  return json;
}

Json check_json(const models::Evidence& evidence, const models::CollectiveCheck& check) {
  const models::EvidenceGroup& group = evidence.groups[check.group];
  Json json = {{"group", group.name},
               {"description", group.description},
               {"sequence", check.sequence},
               {"op", check.op},
               {"record", check.record},
               {"result", check_name(check.result)},
               {"called", check.called},
               {"missing", check.missing},
               {"without_dump", check.without_dump}};
  json["culprits"] = Json::array();
  for (const models::Culprit& culprit : check.culprits) {
    json["culprits"].push_back({{"rank", culprit.rank},
                                {"class", match_name(culprit.result.match)},
                                {"difference", culprit.result.difference}});
  }
  if (!check.other_side.empty()) json["other_side"] = check.other_side;
  return json;
}

}  // namespace

// Copies the keys that a diagnosis shares with the end of a run from json_report().
std::string diagnosis_json(const DiagnosisReport& report) {
  const models::Diagnosis& diagnosis = report.diagnosis;
  models::TaskGraph graph;
  Report end{graph, diagnosis.explanation, {}, {}, {}, {}, {}};
  if (report.all) end.all_waits = diagnosis.waits;
  const Json of_end = Json::parse(json_report(end));
  Json json = {{"schema", of_end["schema"]},   {"evidence", report.evidence.format},
               {"name", report.evidence.name}, {"verdict", diagnosis_verdict(diagnosis)},
               {"cause", of_end["cause"]},     {"pending", diagnosis.pending},
               {"notes", report.notes}};
  for (const char* key : {"cycle", "cycle_is_shortest", "cycle_groups", "roots", "mismatches"}) {
    json[key] = of_end[key];
  }
  for (std::size_t i = 0; i < diagnosis.roots.size(); ++i) {
    const models::DiagnosisRoot& root = diagnosis.roots[i];
    json["roots"][i]["rank"] = root.rank;
    json["roots"][i]["reason"] = reason_name(root.reason);
    const std::string place = place_text(report.evidence, root.place);
    if (!place.empty()) json["roots"][i]["evidence"] = place;
    if (root.reason != models::RootReason::kDeviceStopped) continue;
    json["roots"][i]["peer"] = {{"rank", root.peer}, {"act", root.peer_came}};
  }
  json["suspects"] = Json::array();
  for (const models::Suspect& suspect : diagnosis.suspects) {
    json["suspects"].push_back({{"rank", suspect.rank},
                                {"not_called", suspect.behind},
                                {"waiting", suspect.waiting},
                                {"evidence", place_text(report.evidence, suspect.place)}});
  }
  json["processes"] = Json::array();
  for (const models::ProcessStanding& process : diagnosis.unplaced) {
    json["processes"].push_back({{"name", process.name},
                                 {"host", process.id.host},
                                 {"pid", process.id.pid},
                                 {"state", unplaced_text(process)},
                                 {"evidence", place_text(report.evidence, process.place)}});
  }
  json["collateral"] = of_end["collateral"];
  json["checks"] = Json::array();
  for (const models::CollectiveCheck& check : diagnosis.checks) {
    if (check.result == models::CheckResult::kMatched) continue;
    json["checks"].push_back(check_json(report.evidence, check));
  }
  json["ranks"] = Json::array();
  for (const auto& rank : diagnosis.ranks) json["ranks"].push_back(standing_json(rank));
  json["groups"] = Json::array();
  for (const auto& standing : diagnosis.groups) {
    json["groups"].push_back(group_json(report.evidence.groups[standing.group], standing));
  }
  json["next"] = next_steps(report.evidence, diagnosis);
  if (of_end.contains("waits")) json["waits"] = of_end["waits"];
  // Names from a file can be invalid UTF-8.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
