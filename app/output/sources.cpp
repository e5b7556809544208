#include "app/output/sources.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/output/files.hpp"
#include "models/characters.hpp"
#include "models/graph/whole_number.hpp"
#include "viz/report/report_lines.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxExcerpts = 8;
constexpr std::size_t kAround = 3;  // lines before and after
constexpr std::size_t kMaxSourceBytes = 4'000'000;

struct SourceLine {
  std::string file;
  std::size_t line = 0;
};

// Reads a place: "train.py:20 step > backward". Returns nullopt unless the file is a Python file
// below the current folder: a record from elsewhere must not put other files into a page.
std::optional<SourceLine> line_of(const std::string& place) {
  constexpr std::string_view kColon = ".py:";
  const std::size_t end = place.find(kColon);
  if (end == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(place).substr(end + kColon.size());
  const auto line =
      models::whole_number<std::uint32_t>(rest.substr(0, rest.find_first_not_of("0123456789")));
  SourceLine result{place.substr(0, end + kColon.size() - 1), line.value_or(0)};
  const fs::path path(result.file);
  const bool leaves =
      std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  if (path.is_absolute() || leaves || result.line == 0) return std::nullopt;
  return result;
}

// Returns the lines around a line, with their numbers; empty if the file has no such line.
std::string excerpt_of(const SourceLine& of) {
  std::error_code error;
  if (!fs::is_regular_file(of.file, error)) return "";
  std::istringstream none;
  std::istringstream lines;
  try {
    lines.str(read_file(of.file, none, kMaxSourceBytes));
  } catch (const FileError&) {
    return "";
  }
  std::string text;
  std::string line;
  bool found = false;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (number + kAround < of.line || number > of.line + kAround) continue;
    found = found || number == of.line;
    text += fmt::format("{} {:>4}  {}\n", number == of.line ? '>' : ' ', number,
                        models::printable(line));
  }
  return found ? text : "";
}

class Excerpts {
 public:
  void add(const std::string& place, const std::vector<std::uint32_t>& ranks) {
    const auto known = std::find_if(result_.begin(), result_.end(),
                                    [&](const auto& excerpt) { return excerpt.title == place; });
    if (known != result_.end()) {
      for (const std::uint32_t rank : ranks) add_rank(known->ranks, rank);
      return;
    }
    const std::optional<SourceLine> line = line_of(place);
    if (!line || result_.size() == kMaxExcerpts) return;
    std::string text = excerpt_of(*line);
    if (!text.empty()) result_.push_back({place, ranks, std::move(text)});
  }

  void add(const models::OpInfo& op) { add(op.at, {op.rank}); }

  std::vector<viz::SourceExcerpt> take() { return std::move(result_); }

 private:
  static void add_rank(std::vector<std::uint32_t>& ranks, std::uint32_t rank) {
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
    if (at == ranks.end() || *at != rank) ranks.insert(at, rank);
  }

  std::vector<viz::SourceExcerpt> result_;
};

}  // namespace

std::vector<viz::SourceExcerpt> source_excerpts(const viz::Report& report) {
  if (report.graph.recorded == nullptr) return {};
  Excerpts excerpts;
  if (const models::FirstDifference* difference = viz::shown_difference(report)) {
    for (const auto* sides : {&difference->sides, &difference->there}) {
      for (const models::CallOfRanks& side : *sides) excerpts.add(side.at, side.ranks);
    }
  }
  const models::Explanation& end = report.explanation;
  for (const models::Wait& wait : end.cycle) excerpts.add(wait.from.op);
  for (const models::Misfit& misfit : end.mismatches) {
    excerpts.add(misfit.first);
    excerpts.add(misfit.second);
  }
  for (const models::Root& root : end.roots) {
    excerpts.add(root.first.from.op);
    if (root.missing) excerpts.add(*root.missing);
  }
  for (const models::FailedRanks& failed : report.graph.recorded->failures) {
    excerpts.add(failed.at, failed.ranks);
  }
  return excerpts.take();
}

}  // namespace pipesim::app
