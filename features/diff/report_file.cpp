#include "features/diff/report_file.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "formats/document/json_reader.hpp"
#include "models/report_schema.hpp"

namespace pipesim::formats {
namespace {

using models::kReportSchema;
using models::RunEndFigures;

// Exception for an unexpected value in a report, caught in this file.
struct NoReport {
  NoReport(const YamlValue& value, std::string says)
      : place(value.place()), message(std::move(says)) {}

  models::Place place;
  std::string message;
};

constexpr JsonKind kReportKind = {"a report", models::Code::kOwnFile,
                                  "reports are what 'pipesim run --json' writes"};

YamlValue value(const YamlValue& map, const char* key) {
  const auto found = map.find(key);
  if (!found) throw NoReport(map, fmt::format("this report has no '{}'", key));
  return *found;
}

std::string text(const YamlValue& map, const char* key) {
  const YamlValue found = value(map, key);
  if (!found.is_text()) throw NoReport(found, fmt::format("'{}' must be a string", key));
  return std::string(found.text());
}

std::uint64_t natural(const YamlValue& map, const char* key,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  const YamlValue found = value(map, key);
  const auto number = found.integer<std::uint64_t>();
  if (!number || *number > most) {
    throw NoReport(found, fmt::format("'{}' must be an integer from 0 to {}", key, most));
  }
  return *number;
}

std::uint32_t small_number(const YamlValue& json, const char* key) {
  return static_cast<std::uint32_t>(natural(json, key, std::numeric_limits<std::uint32_t>::max()));
}

std::vector<YamlValue> list(const YamlValue& map, const char* key) {
  const YamlValue found = value(map, key);
  if (!found.is_list()) throw NoReport(found, fmt::format("'{}' must be a list", key));
  return found.items();
}

std::string party(const YamlValue& json) {
  if (json.find("outside")) return "the outside";
  std::string rank = fmt::format("rank {}", small_number(json, "rank"));
  if (!json.find("op")) return rank;
  return fmt::format("{} {}#{}", rank, text(json, "op"), small_number(json, "act"));
}

RunEndFigures figures(const YamlValue& json) {
  if (natural(json, "schema") != kReportSchema) {
    throw NoReport(value(json, "schema"),
                   fmt::format("this pipesim reads reports of schema {}, found {}", kReportSchema,
                               natural(json, "schema")));
  }
  RunEndFigures result;
  result.verdict = text(json, "verdict");
  result.cause = text(json, "cause");
  result.time_ns =
      static_cast<std::int64_t>(natural(json, "time_ns", std::numeric_limits<std::int64_t>::max()));
  const std::string digits = text(json, "fingerprint");
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, result.fingerprint, 16);
  if (problem != std::errc() || stop != end) {
    throw NoReport(value(json, "fingerprint"), "a fingerprint has 16 hexadecimal digits");
  }
  result.ops_done = natural(value(json, "acts"), "done");
  result.ops_expected = natural(value(json, "acts"), "expected");
  for (const YamlValue& wait : list(json, "cycle")) result.cycle.push_back(party(wait));
  for (const YamlValue& root : list(json, "roots")) result.roots.push_back(party(root));
  for (const YamlValue& rank : list(json, "ranks")) {
    for (const YamlValue& actor : list(rank, "actors")) {
      result.counts.push_back({small_number(rank, "rank"), text(actor, "name"),
                               small_number(actor, "done"), small_number(actor, "expected")});
    }
  }
  return result;
}

}  // namespace

bool looks_like_report(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return false;
  constexpr std::size_t kBeginning = 1000;
  return text.substr(first, kBeginning).find("\"fingerprint\"") != std::string::npos;
}

std::optional<RunEndFigures> read_report(const std::string& text,
                                         models::Diagnostics& diagnostics) {
  if (text.size() > kMaxReportBytes) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a report can have at most {} MiB", kMaxReportBytes >> 20));
    return std::nullopt;
  }
  const std::optional<YamlDocument> document = read_json(text, kReportKind, diagnostics);
  if (!document) return std::nullopt;
  try {
    return figures(document->root());
  } catch (const NoReport& problem) {
    diagnostics.error(problem.place, kReportKind.code, problem.message)
        .notes.emplace_back(kReportKind.hint);
    return std::nullopt;
  }
}

}  // namespace pipesim::formats
