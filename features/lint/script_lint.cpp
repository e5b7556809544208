#include "features/lint/script_lint.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "app/input/python.hpp"

namespace pipesim::app {
namespace {

using Json = nlohmann::json;

models::Place place_of(const Json& item) {
  return {item.at("line").get<std::uint32_t>(), item.at("column").get<std::uint32_t>()};
}

ScriptFindings findings_of(const Json& file) {
  ScriptFindings result;
  if (const auto error = file.find("error"); error != file.end()) {
    result.errors.error(place_of(*error), models::Code::kFile,
                        "invalid Python: " + error->at("message").get<std::string>());
    return result;
  }
  for (const Json& item : file.at("findings")) {
    models::LintFinding& finding = result.findings.emplace_back();
    finding.rule = models::lint_rule(item.at("rule").get<std::string>()).name;
    finding.place = place_of(item);
    finding.message = item.at("message").get<std::string>();
    finding.why = item.at("why").get<std::string>();
    finding.advice = item.at("advice").get<std::string>();
  }
  return result;
}

}  // namespace

bool is_script(const std::string& path) { return path.ends_with(".py"); }

std::vector<ScriptFindings> lint_scripts(const std::vector<std::string>& paths) {
  if (paths.empty()) return {};
  const Json output = Json::parse(run_python_module("pipesim.lint", paths));
  std::vector<ScriptFindings> results;
  for (const Json& file : output.at("files")) results.push_back(findings_of(file));
  return results;
}

}  // namespace pipesim::app
