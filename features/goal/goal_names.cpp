#include "features/goal/goal_names.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

// Bytes of text per entry of `lines_before_`.
constexpr std::size_t kBlock = std::size_t{1} << 16;

}  // namespace

GoalNames::GoalNames(const GoalFile& file, std::string_view text) : file_(file), text_(text) {
  std::uint32_t lines = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += kBlock) {
    lines_before_.push_back(lines);
    const std::string_view block = text.substr(begin, kBlock);
    lines += static_cast<std::uint32_t>(std::count(block.begin(), block.end(), '\n'));
  }
}

std::string GoalNames::name(sim::ActorId op) const {
  const std::size_t begin = file_.offsets[op.value];
  const std::string_view statement_here = statement(op);
  if (statement_here.data() == text_.data() + begin) {
    return fmt::format("{}@{}", statement_here.substr(0, 4), place(op).line);
  }
  // The label ends at the colon, or at a blank before it.
  const std::size_t end = text_.find_first_of(" \t:", begin);
  return std::string(text_.substr(begin, end - begin));
}

models::Place GoalNames::place(sim::ActorId op) const {
  const std::size_t offset = file_.offsets[op.value];
  const std::size_t block = offset / kBlock;
  const std::string_view before = text_.substr(block * kBlock, offset - block * kBlock);
  const std::uint32_t line =
      lines_before_[block] +
      static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t newline = text_.substr(0, offset).rfind('\n');
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  return {line, static_cast<std::uint32_t>(offset - line_begin + 1)};
}

std::string_view GoalNames::statement(sim::ActorId op) const {
  const std::size_t begin = file_.offsets[op.value];
  const std::size_t line_end = std::min(text_.find('\n', begin), text_.size());
  std::string_view line = text_.substr(begin, line_end - begin);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line;
  return line.substr(line.find_first_not_of(" \t", colon + 1));
}

}  // namespace pipesim::formats
