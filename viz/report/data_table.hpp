// Tables of numbers with units. Terminals and pages render the same tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::viz {

struct DataTable {
  /// A cell. A number has the unit of its column; std::monostate is an empty cell.
  using Cell = std::variant<std::monostate, std::string, std::int64_t>;
  struct Column {
    std::string name;
    const char* type = "text";  // "number", "time", "bytes", "rank" or "cycle", as in tables.js
  };

  std::string id;
  std::string title;
  std::string about{};
  std::vector<Column> columns{};
  std::vector<std::vector<Cell>> rows{};
};

/// Returns the idle time of each rank by cause, without causes that no rank has, and the memory
/// that the rank held.
DataTable schedule_table(const models::PipelineReport& pipeline);

/// Returns the memory of each rank.
DataTable memory_table(const models::MemoryReport& memory);

/// Returns a table whose first column is the rank, for a terminal. Adjacent ranks with equal cells
/// share a row: "0-3".
std::string table_text(const DataTable& table, const TextOptions& options, std::size_t indent);

}  // namespace pipesim::viz
