#include "features/reduce/reduce_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"
#include "models/result/expectation.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {

using models::JobSize;
using models::Reduction;

namespace {

const std::string kLayersOnce =
    "Ops whose names differ only in numbers were taken for equal layers, kept once";

std::string size_text(const JobSize& size) {
  return fmt::format("{}, {} and {}", counted(size.ranks, "rank"), counted(size.actors, "actor"),
                     counted(size.ops, "op"));
}

std::string hang_text(const Reduction& reduction) {
  const models::Explanation& end = reduction.explanation;
  std::string text = verdict_text(end);
  if (!end.cycle.empty()) text += ", " + counted(end.cycle.size(), "wait") + " in the cycle";
  return text;
}

std::string parameters_text(const Reduction& reduction) {
  std::string text;
  for (const auto& [name, value] : reduction.parameters) {
    text += fmt::format("{}--set {}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string became(const Reduction& reduction) {
  return fmt::format("{}\nbecame {}", size_text(reduction.before), size_text(reduction.after));
}

}  // namespace

std::string reduce_heading(const Reduction& reduction, const std::string& name) {
  std::string text =
      fmt::format("# {}, reduced to the same hang: {}.\n# {} became {}.\n",
                  name.empty() ? "A job" : models::printable(name), hang_text(reduction),
                  size_text(reduction.before), size_text(reduction.after));
  if (reduction.layers == models::Layers::kOnce) text += "# " + kLayersOnce + ".\n";
  return text;
}

std::string reduce_expectation(const Reduction& reduction) {
  return fmt::format("expect: {{verdict: {}}}\n", models::verdict_name(reduction.hang.verdict));
}

std::string reduce_text(const Reduction& reduction, const std::string& name) {
  std::string text = fmt::format("{}{}\n{}\n", name.empty() ? "" : models::printable(name) + "  ",
                                 hang_text(reduction), became(reduction));
  if (!reduction.parameters.empty()) {
    text += fmt::format("Parameters alone get part of the way: {}\n", parameters_text(reduction));
  }
  text += fmt::format("{} tried; only those with the same hang were kept\n",
                      counted(reduction.runs, "run"));
  if (reduction.layers == models::Layers::kOnce) text += kLayersOnce + '\n';
  if (reduction.stopped) text += "Interrupted: not everything was tried\n";
  if (reduction.out_of_budget) {
    text += "Not everything was tried: the runs had too many ops in all; reduce the result again\n";
  }
  return text;
}

std::string reduce_json(const Reduction& reduction, const std::string& name) {
  using Json = nlohmann::ordered_json;
  const auto size = [](const JobSize& of) {
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
