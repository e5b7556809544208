#include "formats/boxing_reader.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

constexpr std::string_view kHeader =
    "src_op_name,dst_op_name,src_parallel_desc,dst_parallel_desc,src_nd_sbp,dst_nd_sbp,lbi,dtype,"
    "shape,builder,comment";
constexpr std::size_t kFields = 11;

// Nothing is quoted: commas within parentheses are a field's own. A comment is all that is left.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < line.size() && fields.size() + 1 < kFields; ++i) {
    if (line[i] == '(') ++depth;
    if (line[i] == ')') --depth;
    if (line[i] != ',' || depth > 0) continue;
    fields.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  fields.push_back(line.substr(begin));
  return fields;
}

// "(S(0), B)": the signature in each dimension.
std::vector<std::string_view> dimensions_of(std::string_view signature) {
  std::vector<std::string_view> result;
  if (!signature.empty() && signature.front() == '(') signature.remove_prefix(1);
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '(') ++depth;
    const bool ends = depth == 0 && (c == ',' || c == ')');
    if (c == ')') --depth;
    if (!ends) continue;
    std::string_view part = signature.substr(begin, i - begin);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    result.push_back(part);
    begin = i + 1;
  }
  if (result.empty()) result.push_back(signature);
  return result;
}

}  // namespace

bool BoxingRow::makes_partial_sum() const {
  const auto before = dimensions_of(from);
  const auto after = dimensions_of(to);
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] == "B" && after[i] == "P") return true;
  }
  return false;
}

std::optional<std::vector<BoxingRow>> read_boxing(const std::string& text,
                                                  models::Diagnostics& diagnostics) {
  if (text.size() > kMostBoxingBytes) {
    diagnostics.error({}, fmt::format("a boxing log has at most {} MiB", kMostBoxingBytes >> 20));
    return std::nullopt;
  }
  std::vector<BoxingRow> rows;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (number == 1) {
      if (line == kHeader) continue;
      diagnostics.error({1, 1}, "this is no boxing log: its first line has other columns")
          .notes.push_back(fmt::format("they are {}", kHeader));
      return std::nullopt;
    }
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != kFields) {
      diagnostics.error({number, 1},
                        fmt::format("a row has {} fields, found {}", kFields, fields.size()));
      return std::nullopt;
    }
    const auto field = [&](std::size_t i) { return std::string(fields[i]); };
    rows.push_back(
        {number, field(0), field(1), field(3), field(4), field(5), field(6), field(8), field(9)});
  }
  if (number > 0) return rows;
  diagnostics.error({}, "this is no boxing log: it is empty");
  return std::nullopt;
}

}  // namespace pipesim::formats
