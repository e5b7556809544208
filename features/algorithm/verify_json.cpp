#include "features/algorithm/verify_json.hpp"

#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/report.hpp"

namespace pipesim::viz {
namespace {

using VerifyJson = nlohmann::ordered_json;

std::string_view answer_name(models::AlgoAnswer answer) {
  switch (answer) {
    case models::AlgoAnswer::kYes:
      return "yes";
    case models::AlgoAnswer::kNo:
      return "no";
    case models::AlgoAnswer::kNotAsked:
      return "not asked";
    case models::AlgoAnswer::kUndecided:
      break;
  }
  return "undecided";
}

VerifyJson step_json(const models::CollectiveAlgorithm& algorithm,
                     const models::AlgoStepRef& step) {
  VerifyJson json = {{"rank", step.rank}};
  if (step.block != models::kNoAlgoIndex) {
    json["thread_block"] = step.block;
    if (step.step != models::kNoAlgoIndex) {
      json["step"] = step.step;
      json["line"] = algorithm.ranks[step.rank].blocks[step.block].steps[step.step].place.line;
    }
  }
  json["launch"] = step.launch + 1;
  return json;
}

VerifyJson races_json(const models::CollectiveAlgorithm& algorithm,
                      const std::vector<models::FoundRace>& races) {
  VerifyJson json = VerifyJson::array();
  constexpr const char* kBuffers = "ios";
  for (const models::FoundRace& race : races) {
    json.push_back({{"first", step_json(algorithm, race.first)},
                    {"first_writes", race.first_writes},
                    {"second", step_json(algorithm, race.second)},
                    {"second_writes", race.second_writes},
                    {"memory",
                     {{"rank", race.cell.rank},
                      {"buffer", std::string(1, kBuffers[static_cast<int>(race.cell.buffer)])},
                      {"chunk", race.cell.index},
                      {"packets", race.cell.packet}}}});
  }
  return json;
}

}  // namespace

std::string verify_json(const VerifyView& view) {
  const models::VerifyReport& report = view.report;
  VerifyJson json = {{"schema", models::kReportSchema},
                     {"algorithm", view.name},
                     {"collective", view.algorithm.collective_name},
                     {"verdict", models::verdict_words(report.verdict)},
                     {"ranks", view.algorithm.ranks.size()},
                     {"thread_blocks", view.algorithm.block_count()},
                     {"steps", report.steps},
                     {"steps_done", report.steps_done},
                     {"questions", VerifyJson::array()}};
  for (const VerifyLine& line : verify_lines(view)) {
    json["questions"].push_back({{"question", line.question},
                                 {"answer", answer_name(line.kind)},
                                 {"fault", line.fault},
                                 {"text", line.answer}});
  }
  if (report.slots > 0) json["slots"] = report.slots;
  if (report.slots_needed) json["slots_needed"] = *report.slots_needed;
  if (report.hangs_from) json["hangs_from_bytes"] = *report.hangs_from;
  json["races"] = races_json(view.algorithm, report.found_races);
  json["launch_races"] = races_json(view.algorithm, report.launch_races);
  if (report.hang) {
    models::TaskGraph graph;
    graph.ranks = static_cast<std::uint32_t>(view.algorithm.ranks.size());
    graph.name = view.name;
    const Report hang{graph,
                      report.hang->explanation,
                      {},
                      {},
                      view.all ? report.hang->waits : std::vector<models::Wait>(),
                      {},
                      {}};
    json["hang"] = VerifyJson::parse(json_report(hang));
  }
  json["changes"] = VerifyJson::array();
  for (const models::TriedChange& change : report.changes) {
    json["changes"].push_back(
        {{"change", change.what}, {"verdict", models::verdict_words(change.verdict)}});
  }
  return json.dump(2, ' ', true, VerifyJson::error_handler_t::replace) + "\n";
}

std::string unreadable_json(const std::string& name) {
  const VerifyJson json = {
      {"schema", models::kReportSchema}, {"algorithm", name}, {"verdict", "UNREADABLE"}};
  return json.dump(2, ' ', true, VerifyJson::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
