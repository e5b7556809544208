#include "features/diagnose/boxing_reader.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

using models::LoggedBoxing;

constexpr std::string_view kHeader =
    "src_op_name,dst_op_name,src_parallel_desc,dst_parallel_desc,src_nd_sbp,dst_nd_sbp,lbi,dtype,"
    "shape,builder,comment";
constexpr std::size_t kFields = 11;

// Returns the quoted field at `at`, and moves `at` past its closing quote.
std::string quoted_field(std::string_view line, std::size_t& at) {
  std::string field;
  for (++at; at < line.size(); ++at) {
    if (line[at] == '"' && (at + 1 == line.size() || line[at + 1] != '"')) break;
    if (line[at] == '"') ++at;
    field += line[at];
  }
  at = std::min(at + 1, line.size());
  return field;
}

// Splits a row into fields. OneFlow quotes nothing; pipesim quotes text that a spreadsheet would
// read as a formula. Commas within parentheses belong to a field. The last field, a comment, is the
// rest of the line.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  std::size_t at = 0;
  while (fields.size() < kFields) {
    const bool is_last = fields.size() + 1 == kFields;
    if (at < line.size() && line[at] == '"') {
      fields.push_back(quoted_field(line, at));
    } else {
      const std::size_t begin = at;
      int depth = 0;
      for (; at < line.size() && (is_last || line[at] != ',' || depth > 0); ++at) {
        if (line[at] == '(') ++depth;
        if (line[at] == ')') --depth;
      }
      fields.emplace_back(line.substr(begin, at - begin));
    }
    if (at >= line.size()) break;
    ++at;  // skips the comma
  }
  return fields;
}

constexpr std::string_view kRoute = "Boxing route: ";
constexpr std::string_view kShape = "Logical shape: ";
constexpr std::string_view kSignatures = "Altered state of sbp: ";
constexpr std::string_view kPlacements = "Altered state of placement: ";

// Returns the rest of the line after `mark`; nullopt if the line lacks the mark.
std::optional<std::string_view> behind(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  return line.substr(found + mark.size());
}

// Splits "a -> b -> c".
std::vector<std::string> stations(std::string_view text) {
  constexpr std::string_view kArrow = " -> ";
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(kArrow, begin), text.size());
    result.emplace_back(text.substr(begin, end - begin));
    begin = end + kArrow.size();
  }
  return result;
}

/// Reads the four lines that an eager boxing logs: its route, shape, signatures and placements.
class RouteReader {
 public:
  void read(std::string_view line, std::uint32_t number) {
    if (const auto route = behind(line, kRoute)) {
      route_ = stations(*route);
      shape_.clear();
      first_ = rows_.size();
    } else if (const auto shape = behind(line, kShape)) {
      shape_ = *shape;
    } else if (const auto signatures = behind(line, kSignatures)) {
      add(stations(*signatures), number);
    } else if (const auto placements = behind(line, kPlacements)) {
      const std::vector<std::string> where = stations(*placements);
      for (std::size_t i = first_; i < rows_.size(); ++i) {
        rows_[i].placement = where[std::min(i - first_ + 1, where.size() - 1)];
      }
    }
  }

  std::vector<LoggedBoxing> take() { return std::move(rows_); }

 private:
  // Adds a row for each step of the route.
  void add(const std::vector<std::string>& signatures, std::uint32_t number) {
    for (std::size_t i = 1; i < signatures.size(); ++i) {
      LoggedBoxing row;
      row.line = number;
      row.from = signatures[i - 1];
      row.to = signatures[i];
      row.shape = shape_;
      if (!route_.empty()) row.builder = route_[std::min(i, route_.size()) - 1];
      rows_.push_back(std::move(row));
    }
  }

  std::vector<std::string> route_;
  std::string shape_;
  std::size_t first_ = 0;  // first row of the current boxing
  std::vector<LoggedBoxing> rows_;
};

std::vector<LoggedBoxing> read_routes(std::string_view text) {
  RouteReader reader;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    reader.read(line, ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.take();
}

}  // namespace

std::optional<std::vector<LoggedBoxing>> read_boxing(const std::string& text,
                                                     models::Diagnostics& diagnostics) {
  if (text.size() > kMaxBoxingBytes) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a boxing log can have at most {} MiB", kMaxBoxingBytes >> 20));
    return std::nullopt;
  }
  if (text.find(kSignatures) != std::string::npos) return read_routes(text);
  std::vector<LoggedBoxing> rows;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (number == 1) {
      if (line == kHeader) continue;
      diagnostics
          .error({1, 1}, models::Code::kLogFormat,
                 "not a boxing log: the columns of its first line differ")
          .notes.push_back(
              fmt::format("they are {}; or it is a log with lines '{}...'", kHeader, kRoute));
      return std::nullopt;
    }
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != kFields) {
      diagnostics.error({number, 1}, models::Code::kLogFormat,
                        fmt::format("a row has {} fields, found {}", kFields, fields.size()));
      return std::nullopt;
    }
    const auto field = [&](std::size_t i) { return fields[i]; };
    rows.push_back(
        {number, field(0), field(1), field(3), field(4), field(5), field(6), field(8), field(9)});
  }
  if (number > 0) return rows;
  diagnostics.error({}, models::Code::kLogFormat, "not a boxing log: the file is empty");
  return std::nullopt;
}

}  // namespace pipesim::formats
