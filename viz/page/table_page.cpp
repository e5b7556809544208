#include "viz/page/table_page.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/outside_text.hpp"
#include "viz/page/page_frame.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using TableJson = nlohmann::ordered_json;

TableJson cell_json(const TablePage::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return models::printable(*text);
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
  return nullptr;
}

std::vector<std::string> printable_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) result.push_back(models::printable(line));
  return result;
}

TableJson part_json(const TablePage::Part& part) {
  TableJson json = {{"id", part.id},
                    {"name", part.name},
                    {"title", models::printable(part.title)},
                    {"about", models::printable(part.about)},
                    {"left_out", TableJson::array()},
                    {"svg", part.svg},
                    {"lines", printable_lines(part.lines)},
                    {"columns", TableJson::array()},
                    {"rows", TableJson::array()},
                    {"sorts", part.sorts},
                    {"beside", part.beside}};
  if (!part.left_out.empty()) json["left_out"].push_back(part.left_out);
  // Removes the XML header in front of the <svg> element.
  json["svg"] = part.svg.substr(std::min(part.svg.find("<svg"), part.svg.size()));
  for (const TablePage::Column& column : part.columns) {
    json["columns"].push_back({{"name", models::printable(column.name)}, {"type", column.type}});
  }
  const std::size_t shown = std::min(part.rows.size(), kMaxPageRows);
  for (std::size_t i = 0; i < shown; ++i) {
    TableJson row = TableJson::array();
    for (const TablePage::Cell& cell : part.rows[i]) row.push_back(cell_json(cell));
    json["rows"].push_back(std::move(row));
  }
  if (shown < part.rows.size()) {
    json["left_out"].push_back(
        fmt::format("The table has the first {} of {} rows. All of them: --json.", grouped(shown),
                    grouped(part.rows.size())));
  }
  return json;
}

}  // namespace

TablePage::Part cycle_part(std::string id, std::string title,
                           const std::vector<models::Wait>& cycle) {
  const bool has_source = std::any_of(cycle.begin(), cycle.end(), [](const models::Wait& wait) {
    return !wait.from.op.at.empty();
  });
  TablePage::Part part{.id = std::move(id), .name = "", .title = std::move(title)};
  part.sorts = false;
  part.columns = {{"cycle", "cycle"}, {"rank", "rank"}, {"op"}, {"waits"}};
  if (has_source) part.columns.push_back({"source"});
  for (const models::Wait& wait : cycle) {
    std::vector<TablePage::Cell> row = {static_cast<std::int64_t>(part.rows.size() + 1),
                                        std::int64_t{wait.from.rank}, op_text(wait.from.op),
                                        wait_text(wait)};
    if (has_source) row.emplace_back(std::string(wait.from.op.at));
    part.rows.push_back(std::move(row));
  }
  return part;
}

std::vector<std::string> reason_lines(const models::Explanation& end) {
  std::vector<std::string> lines = broken_lines(end);
  for (const auto& more : {mismatch_lines(end), root_lines(end)}) {
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

std::string html_page(const TablePage& page) {
  // The scripts expect all keys of a run; the values of a table page are empty.
  TableJson json = {{"name", models::printable(page.name)},
                    {"verdict", page.verdict},
                    {"tone", page.good ? "good" : "bad"},
                    {"headline", page.headline},
                    {"story", printable_lines(page.story)},
                    {"ranks", 0},
                    {"at_rest", false},
                    {"end_ns", 0},
                    {"fingerprint", ""},
                    {"made_by", models::printable(page.made_by)},
                    {"kinds", TableJson::object()}};
  for (const char* list : {"sections", "look_at", "remedies", "deaths", "waits", "lanes", "tables",
                           "acts", "words", "left_out", "parts"}) {
    json[list] = TableJson::array();
  }
  for (const TablePage::Part& part : page.parts) {
    if (part.lines.empty() && part.rows.empty() && part.svg.empty()) continue;
    json["parts"].push_back(part_json(part));
  }
  return framed_page(
      {.title = models::printable(fmt::format("{} {}", page.name, page.headline)),
       .graph = "",
       .graph_note = "",
       .text = page.text,
       // Names from a file can be invalid UTF-8, which must not make the page fail.
       .data = page_data_text(json.dump(-1, ' ', true, TableJson::error_handler_t::replace))});
}

}  // namespace pipesim::viz
