#include "features/diff/report_file.hpp"

#include <charconv>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/document/json_parse.hpp"
#include "models/report_schema.hpp"

namespace pipesim::formats {
namespace {

using Json = nlohmann::ordered_json;
using models::kReportSchema;
using models::RunEndFigures;

// An unexpected value in a report. Only this file throws and catches it.
class NoReport : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

constexpr JsonKind kReportKind = {"a report", models::Code::kOwnFile,
                                  "reports are what 'pipesim run --json' writes"};

const Json& value(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end()) {
    throw NoReport(fmt::format("this report has no '{}'", key));
  }
  return *found;
}

std::string text(const Json& json, const char* key) {
  const Json& found = value(json, key);
  if (!found.is_string()) throw NoReport(fmt::format("'{}' must be a string", key));
  return found.get<std::string>();
}

std::uint64_t natural(const Json& json, const char* key,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  const Json& found = value(json, key);
  if (!found.is_number_unsigned() || found.get<std::uint64_t>() > most) {
    throw NoReport(fmt::format("'{}' must be an integer from 0 to {}", key, most));
  }
  return found.get<std::uint64_t>();
}

std::uint32_t small_number(const Json& json, const char* key) {
  return static_cast<std::uint32_t>(natural(json, key, std::numeric_limits<std::uint32_t>::max()));
}

const Json& list(const Json& json, const char* key) {
  const Json& found = value(json, key);
  if (!found.is_array()) throw NoReport(fmt::format("'{}' must be a list", key));
  return found;
}

std::string party(const Json& json) {
  if (json.contains("outside")) return "the outside";
  std::string rank = fmt::format("rank {}", small_number(json, "rank"));
  if (!json.contains("op")) return rank;
  return fmt::format("{} {}#{}", rank, text(json, "op"), small_number(json, "act"));
}

RunEndFigures figures(const Json& json) {
  if (natural(json, "schema") != kReportSchema) {
    throw NoReport(fmt::format("this pipesim reads reports of schema {}, found {}", kReportSchema,
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
    throw NoReport("a fingerprint has 16 hexadecimal digits");
  }
  result.ops_done = natural(value(json, "acts"), "done");
  result.ops_expected = natural(value(json, "acts"), "expected");
  for (const Json& wait : list(json, "cycle")) result.cycle.push_back(party(wait));
  for (const Json& root : list(json, "roots")) result.roots.push_back(party(root));
  for (const Json& rank : list(json, "ranks")) {
    for (const Json& actor : list(rank, "actors")) {
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
  const std::optional<Json> json = parse_json<Json>(text, kReportKind, diagnostics);
  if (!json) return std::nullopt;
  try {
    return figures(*json);
  } catch (const NoReport& problem) {
    diagnostics.error({}, kReportKind.code, problem.what()).notes.emplace_back(kReportKind.hint);
    return std::nullopt;
  }
}

}  // namespace pipesim::formats
