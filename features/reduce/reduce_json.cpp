#include "features/reduce/reduce_json.hpp"

#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"
#include "models/result/expectation.hpp"

namespace pipesim::viz {

std::string reduce_json(const models::Reduction& reduction, const std::string& name) {
  using Json = nlohmann::ordered_json;
  const auto size = [](const models::JobSize& of) {
    return Json{{"ranks", of.ranks}, {"actors", of.actors}, {"acts", of.ops}};
  };
  Json json = {{"schema", models::kReportSchema},
               {"scenario", name},
               {"verdict", models::verdict_name(reduction.hang.verdict)},
               {"cycle_length", reduction.explanation.cycle.size()},
               {"before", size(reduction.before)},
               {"after", size(reduction.after)}};
  json["parameters"] = Json::object();
  for (const auto& [parameter, value] : reduction.parameters) {
    json["parameters"][parameter] = std::stoll(value);
  }
  json["layers_once"] = reduction.layers == models::Layers::kOnce;
  json["runs"] = reduction.runs;
  json["all_tried"] = !reduction.stopped && !reduction.out_of_budget;
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
