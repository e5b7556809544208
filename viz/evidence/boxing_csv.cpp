#include "viz/evidence/boxing_csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/logical/boxing.hpp"

namespace pipesim::viz {

std::string boxing_csv(const models::LogicalGraph& graph) {
  std::string text =
      "src_op_name,dst_op_name,src_parallel_desc,dst_parallel_desc,src_nd_sbp,dst_nd_sbp,lbi,dtype,"
      "shape,builder,comment\n";
  for (const models::BoxingRow& row : models::boxing_rows(graph)) {
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  return text;
}

}  // namespace pipesim::viz
