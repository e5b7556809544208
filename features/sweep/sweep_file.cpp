// Reads and writes sweep files. They are JSON Lines: each line is an object. Each line is appended
// in a single write, so all lines except the last are complete, whatever happens to the process.
// Each line ends with a checksum of its text, so that results damaged by an editor or a disk do not
// count.
#include "features/sweep/sweep_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/document/json_reader.hpp"
#include "models/result/expectation.hpp"

namespace pipesim::formats {
namespace {

using Json = nlohmann::ordered_json;
using models::CaseResult;

// Schema of sweep files. Increases when a key changes its meaning or is removed, but not for new
// keys.
constexpr int kSweepSchema = 2;

constexpr JsonKind kSweepKind = {"a sweep file", models::Code::kOwnFile,
                                 "such files are what 'pipesim sweep -o' writes"};

std::string hex(std::uint64_t number) { return fmt::format("{:016x}", number); }

// Returns the end of a line: the checksum and the closing brace. `object` is the text of the line
// before this end.
std::string checksum(std::string_view object) {
  return fmt::format(R"(,"sum":"{}"}})", hex(text_hash(object)));
}

// Returns `json` as a line with a checksum. Replaces bytes that are not UTF-8.
std::string line_of(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  text.pop_back();
  return text + checksum(text) + "\n";
}

bool has_its_checksum(std::string_view line) {
  const std::size_t length = checksum("").size();
  if (line.size() < length) return false;
  const std::string_view object = line.substr(0, line.size() - length);
  return line.substr(object.size()) == checksum(object);
}

// Exception for a line with a missing or wrong value, caught in this file.
struct BadLine {};

template <typename T>
T required(std::optional<T> found) {
  if (!found) throw BadLine();
  return *std::move(found);
}

YamlValue value(const YamlValue& map, const char* key) { return required(map.find(key)); }

std::string text(const YamlValue& value) {
  if (!value.is_text()) throw BadLine();
  return std::string(value.text());
}
std::string text(const YamlValue& map, const char* key) { return text(value(map, key)); }

std::vector<YamlValue> list(const YamlValue& map, const char* key) {
  const YamlValue found = value(map, key);
  if (!found.is_list()) throw BadLine();
  return found.items();
}

// Returns the two items of a list.
std::pair<YamlValue, YamlValue> pair(const YamlValue& list) {
  if (!list.is_list() || list.size() < 2) throw BadLine();
  const std::vector<YamlValue> items = list.items();
  return {items[0], items[1]};
}

template <typename Number>
Number whole(const YamlValue& value) {
  return required(value.integer<Number>());
}

std::uint64_t from_hex(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value, 16);
  if (problem != std::errc() || stop != end || text.size() != 16) throw BadLine();
  return value;
}

SweepHead head_of(const YamlValue& line) {
  SweepHead head;
  head.made_by = text(line, "made_by");
  head.path = text(line, "path");
  head.name = text(line, "name");
  head.scenario = from_hex(text(line, "scenario"));
  for (const YamlValue& setting : list(line, "settings")) {
    const auto [name, given] = pair(setting);
    head.settings.emplace_back(text(name), text(given));
  }
  for (const YamlValue& variable : list(line, "variables")) {
    models::SweptVariable& swept = head.grid.variables.emplace_back();
    swept.name = text(variable, "name");
    for (const YamlValue& item : list(variable, "values")) swept.values.push_back(text(item));
  }
  head.grid.jitter = text(line, "jitter");
  head.grid.seeds = whole<std::uint64_t>(value(line, "seeds"));
  head.grid.first_seed = whole<std::uint64_t>(value(line, "first_seed"));
  const auto [index, count] = pair(value(line, "shard"));
  head.shard.index = whole<std::uint32_t>(index);
  head.shard.count = whole<std::uint32_t>(count);
  if (head.shard.index == 0 || head.shard.index > head.shard.count ||
      head.shard.count > kMaxShards) {
    throw BadLine();
  }
  return head;
}

std::pair<std::uint64_t, CaseResult> case_of(const YamlValue& line) {
  CaseResult result;
  result.verdict = required(models::find_verdict(text(line, "verdict")));
  result.time_ns = whole<std::int64_t>(value(line, "time_ns"));
  const auto [done, expected] = pair(value(line, "acts"));
  result.ops_done = whole<std::uint64_t>(done);
  result.ops_expected = whole<std::uint64_t>(expected);
  result.fingerprint = from_hex(text(line, "fingerprint"));
  if (const auto peak = line.find("peak_bytes")) result.peak_bytes = whole<std::int64_t>(*peak);
  if (const auto why = line.find("why")) result.why = text(*why);
  return {whole<std::uint64_t>(value(line, "case")), result};
}

class SweepReader {
 public:
  SweepReader(const std::string& text, models::Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  std::optional<SweepFile> read() {
    const std::size_t last = text_.rfind('\n');
    file_.whole_bytes = last == std::string::npos ? 0 : last + 1;
    if (file_.whole_bytes == 0) {
      refuse(1, models::Code::kOwnFile,
             "not a sweep file: its first line is missing or incomplete");
      return std::nullopt;
    }
    std::uint32_t number = 0;
    for (std::size_t begin = 0; begin < file_.whole_bytes;) {
      const std::size_t end = text_.find('\n', begin);
      ++number;
      if (!read_line(std::string_view(text_).substr(begin, end - begin), number)) {
        return std::nullopt;
      }
      begin = end + 1;
    }
    return sorted() ? std::optional(std::move(file_)) : std::nullopt;
  }

 private:
  bool refuse(std::uint32_t line, models::Code code, const std::string& message) {
    diagnostics_.error({line, 1}, code, message).notes.emplace_back(kSweepKind.hint);
    return false;
  }

  bool read_line(std::string_view line, std::uint32_t number) {
    const bool is_head = number == 1;
    // Checks the checksum of the head last, because a file of another kind or schema is not a
    // damaged file.
    if (!is_head && !has_its_checksum(line)) return refuse_damaged(number);
    const std::optional<YamlDocument> document =
        read_json(line, kSweepKind, diagnostics_, {number, 1});
    if (!document) return false;
    const YamlValue root = document->root();
    if (is_head && !check_schema(root)) return false;
    if (is_head && !has_its_checksum(line)) return refuse_damaged(number);
    try {
      if (is_head) {
        file_.head = head_of(root);
      } else {
        file_.cases.push_back(case_of(root));
      }
    } catch (const BadLine&) {
      return refuse(
          number, models::Code::kOwnFile,
          is_head ? "this line does not describe a sweep" : "this line is not a run of a sweep");
    }
    return true;
  }

  bool check_schema(const YamlValue& head) {
    const auto schema = head.find("pipesim_sweep");
    if (!schema) {
      return refuse(1, models::Code::kOwnFile, "not a sweep file: it has no 'pipesim_sweep'");
    }
    if (schema->integer<int>() == kSweepSchema) return true;
    return refuse(1, models::Code::kSchema,
                  fmt::format("this pipesim reads sweeps of schema {}, found {}", kSweepSchema,
                              schema->is_scalar() ? schema->text() : schema->described()));
  }

  bool refuse_damaged(std::uint32_t number) {
    return refuse(number, models::Code::kOwnFile,
                  "this line is damaged: its checksum does not match");
  }

  // Sorts the runs. Fails if a run occurs twice with different results.
  bool sorted() {
    auto& cases = file_.cases;
    std::stable_sort(cases.begin(), cases.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < cases.size(); ++i) {
      if (cases[i].first != cases[i - 1].first || cases[i].second == cases[i - 1].second) continue;
      return refuse(1, models::Code::kOtherRun,
                    fmt::format("two results of run {} differ", cases[i].first));
    }
    cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
    return true;
  }

  const std::string& text_;
  models::Diagnostics& diagnostics_;
  SweepFile file_;
};

}  // namespace

bool SweepHead::same_sweep(const SweepHead& other) const {
  return made_by == other.made_by && scenario == other.scenario && settings == other.settings &&
         grid == other.grid && shard.count == other.shard.count;
}

// Implements FNV-1a (Fowler, Noll, Vo 1991).
std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string sweep_head_line(const SweepHead& head) {
  Json json = {{"pipesim_sweep", kSweepSchema},
               {"made_by", head.made_by},
               {"path", head.path},
               {"name", head.name},
               {"scenario", hex(head.scenario)},
               {"settings", Json::array()}};
  for (const auto& [name, value] : head.settings) {
    json["settings"].push_back(Json::array({name, value}));
  }
  json["variables"] = Json::array();
  for (const models::SweptVariable& variable : head.grid.variables) {
    json["variables"].push_back({{"name", variable.name}, {"values", variable.values}});
  }
  json["jitter"] = head.grid.jitter;
  json["seeds"] = head.grid.seeds;
  json["first_seed"] = head.grid.first_seed;
  json["shard"] = {head.shard.index, head.shard.count};
  return line_of(json);
}

std::string sweep_case_line(std::uint64_t number, const CaseResult& result) {
  Json json = {{"case", number},
               {"verdict", models::verdict_name(result.verdict)},
               {"time_ns", result.time_ns},
               {"acts", {result.ops_done, result.ops_expected}},
               {"fingerprint", hex(result.fingerprint)}};
  if (result.peak_bytes) json["peak_bytes"] = *result.peak_bytes;
  if (!result.why.empty()) json["why"] = result.why;
  return line_of(json);
}

std::optional<SweepFile> read_sweep_file(const std::string& text,
                                         models::Diagnostics& diagnostics) {
  if (text.size() > kMaxSweepBytes) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a file of runs can have at most {} GiB", kMaxSweepBytes >> 30));
    return std::nullopt;
  }
  return SweepReader(text, diagnostics).read();
}

}  // namespace pipesim::formats
