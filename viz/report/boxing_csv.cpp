#include "viz/report/boxing_csv.hpp"

#include <cstddef>
#include <string>

#include "models/layers/boxing.hpp"

namespace pipesim::viz {
namespace {

// Quotes a cell that a spreadsheet would take for a formula: names come from the user.
std::string cell(const std::string& text) {
  if (text.find_first_of("=+-@\"") != 0) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string boxing_csv(const models::LogicalGraph& graph) {
  std::string text =
      "src_op_name,dst_op_name,src_parallel_desc,dst_parallel_desc,src_nd_sbp,dst_nd_sbp,lbi,dtype,"
      "shape,builder,comment\n";
  for (const models::BoxingRow& row : models::boxing_rows(graph)) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + cell(row[i]);
    text += '\n';
  }
  return text;
}

}  // namespace pipesim::viz
