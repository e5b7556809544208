#include "viz/report/data_table.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using Cells = std::vector<DataTable::Cell>;

std::string cell_text(const DataTable::Cell& cell, std::string_view type) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* number = std::get_if<std::int64_t>(&cell);
  if (number == nullptr) return "";
  if (type == "time") return time_text(*number);
  return type == "bytes" ? bytes_text(*number) : std::to_string(*number);
}

}  // namespace

DataTable schedule_table(const models::PipelineReport& pipeline) {
  using models::IdleTime;
  using models::PipelineRank;
  static const std::vector<std::pair<const char*, std::int64_t IdleTime::*>> kCauses = {
      {"start", &IdleTime::start_ns},        {"inputs", &IdleTime::input_ns},
      {"gradients", &IdleTime::gradient_ns}, {"messages", &IdleTime::message_ns},
      {"host", &IdleTime::host_ns},          {"end", &IdleTime::finished_ns},
  };
  DataTable table{.id = "schedule",
                  .title = fmt::format("The schedule takes {}", time_text(pipeline.makespan_ns))};
  table.about = fmt::format(
      "Idle time is broken down by what a rank waited for; activations{} are "
      "peaks.",
      pipeline.has_memory ? " and memory" : "");
  table.columns = {{"rank", "rank"}, {"busy", "time"}, {"idle", "time"}};
  std::vector<std::int64_t IdleTime::*> shown;
  for (const auto& [name, time] : kCauses) {
    const bool any =
        std::any_of(pipeline.ranks.begin(), pipeline.ranks.end(),
                    [of = time](const PipelineRank& rank) { return rank.idle.*of > 0; });
    if (!any) continue;
    table.columns.push_back({name, "time"});
    shown.push_back(time);
  }
  table.columns.push_back({"activations", "number"});
  if (pipeline.has_memory) table.columns.push_back({"memory", "bytes"});
  for (const PipelineRank& rank : pipeline.ranks) {
    Cells row = {static_cast<std::int64_t>(table.rows.size()), rank.busy_ns, rank.idle.all()};
    for (const auto time : shown) row.emplace_back(rank.idle.*time);
    row.emplace_back(std::int64_t{rank.peak_activations});
    if (pipeline.has_memory) row.emplace_back(rank.peak_bytes);
    table.rows.push_back(std::move(row));
  }
  return table;
}

DataTable memory_table(const models::MemoryReport& memory) {
  const bool any_held = std::any_of(memory.begin(), memory.end(),
                                    [](const models::RankMemory& rank) { return rank.held > 0; });
  DataTable table{.id = "memory", .title = "Memory"};
  table.about = fmt::format("What each rank {}reserves and uses at its peak, and when.",
                            any_held ? "holds throughout, " : "");
  table.columns = {{"rank", "rank"}};
  if (any_held) table.columns.push_back({"held", "bytes"});
  for (const char* name : {"reserved", "peak"}) table.columns.push_back({name, "bytes"});
  table.columns.push_back({"at", "time"});
  for (const models::RankMemory& rank : memory) {
    Cells row = {static_cast<std::int64_t>(table.rows.size())};
    if (any_held) row.emplace_back(rank.held);
    row.insert(row.end(), {rank.reserved, rank.peak, rank.peak_ns});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string table_text(const DataTable& table, const TextOptions& options, std::size_t indent) {
  std::vector<std::string> heads;
  for (const DataTable::Column& column : table.columns) {
    heads.push_back(styled(options, ansi::kBold, column.name));
  }
  Table text(heads);
  const std::vector<Cells>& rows = table.rows;
  for (std::size_t i = 0; i < rows.size();) {
    const auto same = [&](const Cells& row) {
      return std::equal(row.begin() + 1, row.end(), rows[i].begin() + 1);
    };
    std::size_t end = i + 1;
    while (end < rows.size() && same(rows[end])) ++end;
    std::vector<std::string> cells = {cell_text(rows[i][0], "rank")};
    if (end - i > 1) cells[0] += "-" + cell_text(rows[end - 1][0], "rank");
    for (std::size_t cell = 1; cell < rows[i].size(); ++cell) {
      cells.push_back(cell_text(rows[i][cell], table.columns[cell].type));
    }
    text.add(std::move(cells));
    i = end;
  }
  return text.fitted(options.width, indent);
}

}  // namespace pipesim::viz
