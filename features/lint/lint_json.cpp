#include "features/lint/lint_json.hpp"

#include <nlohmann/json.hpp>

#include "models/report_schema.hpp"

#include "features/lint/lint_text.hpp"

namespace pipesim::viz {

std::string lint_json(const std::vector<models::LintFinding>& findings, std::string_view scenario) {
  using Json = nlohmann::ordered_json;
  Json json = {
      {"schema", models::kReportSchema}, {"scenario", scenario}, {"findings", Json::array()}};
  for (const models::LintFinding& finding : findings) {
    Json item = {
        {"rule", finding.rule}, {"line", finding.place.line}, {"column", finding.place.column}};
    if (finding.place.file > 0) item["patch"] = finding.place.file;
    item["message"] = finding.message;
    item["ops"] = finding.ops;
    item["ranks"] = std::vector<std::uint32_t>(finding.ranks.begin(), finding.ranks.end());
    item["why"] = finding.why;
    if (!finding.advice.empty()) item["advice"] = finding.advice;
    item["reports"] = models::lint_rule(finding.rule).reports;
    item["page"] = lint_page(finding.rule);
    json["findings"].push_back(std::move(item));
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
