#include "features/reduce/reduce_report.hpp"

#include <fmt/format.h>

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

Section reduce_report(const Reduction& reduction, const std::string& name) {
  const auto size = [](const JobSize& of) {
    return Section().say("ranks", of.ranks).say("actors", of.actors).say("acts", of.ops).data();
  };
  Section parameters;
  for (const auto& [parameter, value] : reduction.parameters) {
    parameters.say(parameter, std::stoll(value));
  }
  Section report = report_about("scenario", name);
  report.line((name.empty() ? "" : models::printable(name) + "  ") + hang_text(reduction));
  report.say("verdict", models::verdict_name(reduction.hang.verdict));
  report.say("cycle_length", reduction.explanation.cycle.size());
  report.say("before", size(reduction.before), size_text(reduction.before));
  report.say("after", size(reduction.after), "became " + size_text(reduction.after));
  report.say("parameters", parameters.data());
  if (!reduction.parameters.empty()) {
    report.line("Parameters alone get part of the way: " + parameters_text(reduction));
  }
  report.line(counted(reduction.runs, "run") + " tried; only those with the same hang were kept");
  report.say("layers_once", reduction.layers == models::Layers::kOnce);
  if (reduction.layers == models::Layers::kOnce) report.line(kLayersOnce);
  report.say("runs", reduction.runs);
  if (reduction.stopped) report.line("Interrupted: not everything was tried");
  if (reduction.out_of_budget) {
    report.line(
        "Not everything was tried: the runs had too many ops in all; reduce the result again");
  }
  return report.say("all_tried", !reduction.stopped && !reduction.out_of_budget);
}

}  // namespace pipesim::viz
