#include "features/diagnose/boxing_log_text.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/graph/diagnostics.hpp"
#include "models/report_schema.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/next_steps.hpp"

namespace pipesim::viz {

using models::LoggedBoxing;

std::vector<LoggedBoxing> partial_sums(const BoxingReport& report) {
  std::vector<LoggedBoxing> result;
  std::copy_if(report.rows.begin(), report.rows.end(), std::back_inserter(result),
               [](const LoggedBoxing& row) { return row.makes_partial_sum(); });
  return result;
}

namespace {

constexpr const char* kNextStep =
    "pipesim diagnose oneflow LOGS, of the launches of all ranks: which ranks of a stage have "
    "drifted apart";

}  // namespace

std::string boxing_log_text(const BoxingReport& report) {
  constexpr std::size_t kMaxRows = 40;
  const std::vector<LoggedBoxing> found = partial_sums(report);
  std::string text = fmt::format("{}, {} from a broadcast\n", counted(report.rows.size(), "boxing"),
                                 counted(found.size(), "partial sum"));
  for (const std::string& note : report.notes) text += paragraph(note, kDefaultWidth, 0, 2);
  if (found.empty()) return text;
  Table table({"line", "from", "to", "tensor", "shape", "signatures", "placement"});
  const std::size_t shown = report.all ? found.size() : std::min(kMaxRows, found.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const LoggedBoxing& row = found[i];
    table.add({std::to_string(row.line), row.producer, row.consumer, row.tensor, row.shape,
               row.from + " to " + row.to, row.placement});
  }
  text +=
      "\nIn these, some ranks read the tensor and the others read zeros, which wait for\nsomething "
      "else:\n" +
      table.fitted(kDefaultWidth, 2);
  if (shown < found.size()) {
    text += fmt::format("  and {} more (--all lists them)\n", found.size() - shown);
  }
  return text + next_text({kNextStep}, {});
}

std::string boxing_log_json(const BoxingReport& report) {
  using Json = nlohmann::ordered_json;
  const std::vector<LoggedBoxing> found = partial_sums(report);
  Json json = {{"schema", models::kReportSchema},
               {"evidence", "boxing log"},
               {"name", report.name},
               {"verdict", found.empty() ? "nothing wrong found" : "partial sums from broadcasts"},
               {"notes", report.notes},
               {"boxings", report.rows.size()}};
  json["next"] = found.empty() ? Json::array() : Json{kNextStep};
  json["partial_sums"] = Json::array();
  for (const LoggedBoxing& row : found) {
    json["partial_sums"].push_back({{"line", row.line},
                                    {"from_op", row.producer},
                                    {"to_op", row.consumer},
                                    {"tensor", row.tensor},
                                    {"shape", row.shape},
                                    {"from", row.from},
                                    {"to", row.to},
                                    {"placement", row.placement},
                                    {"builder", row.builder}});
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
