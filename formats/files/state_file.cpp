// The file is laid out for people: one key a line, and the scenario line by line.
#include "formats/files/state_file.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/json_parse.hpp"
#include "formats/json_text.hpp"
#include "models/measure/expectation.hpp"
#include "models/search/jitter.hpp"

namespace pipesim::formats {
namespace {

using Json = nlohmann::ordered_json;
using models::Diagnostics;
using models::Place;

// Incremented when a key changes its meaning or is removed; new keys need no increment.
constexpr int kStateSchema = 1;

constexpr JsonKind kStateKind = {
    "a state file", models::Code::kOwnFile,
    "state files are what 'pipesim run --save-state' writes; 'pipesim run' reads scenarios"};

Json lines_of(const std::string& text) {
  Json lines = Json::array();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

class StateReader {
 public:
  StateReader(const std::string& text, Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  std::optional<SavedState> read() {
    if (!parse() || !check_schema()) return std::nullopt;
    SavedState state;
    state.made_by = text_of("made_by");
    state.path = text_of("path");
    if (const Json* lines = find("scenario")) state.scenario = text_of_lines("scenario", *lines);
    state.patches = patches();
    state.settings = settings();
    if (json_.contains("until")) state.until = text_of("until");
    if (json_.contains("jitter")) state.jitter = jitter();
    state.interrupted = truth("interrupted");
    state.events = count_in("events", "a number of events");
    const std::string verdict = text_of("verdict");
    const auto known = models::find_verdict(verdict);
    if (known) state.verdict = *known;
    if (!known && good_)
      refuse("verdict", models::Code::kOwnFile, fmt::format("unknown verdict '{}'", verdict));
    state.fingerprint = fingerprint();
    if (!good_) return std::nullopt;
    return state;
  }

 private:
  // Reports only the first mistake: people do not write such files by hand.
  void refuse(std::string_view key, models::Code code, const std::string& message) {
    if (!good_) return;
    good_ = false;
    diagnostics_.error(place_of_key(key), code, message).notes.emplace_back(kStateKind.hint);
  }

  bool parse() {
    if (text_.size() > kMaxStateBytes) {
      refuse("", models::Code::kLimit,
             fmt::format("a state file can have at most {} MiB", kMaxStateBytes >> 20));
      return false;
    }
    std::optional<Json> json = parse_json<Json>(text_, kStateKind, diagnostics_);
    if (json) json_ = *std::move(json);
    return good_ = json.has_value();
  }

  bool check_schema() {
    if (!json_.is_object() || !json_.contains("pipesim_state")) {
      refuse("", models::Code::kOwnFile, "not a state file: it has no 'pipesim_state'");
    } else if (json_["pipesim_state"] != kStateSchema) {
      refuse("pipesim_state", models::Code::kSchema,
             fmt::format("this pipesim reads state files of schema {}, found {}", kStateSchema,
                         described(json_["pipesim_state"])));
    }
    return good_;
  }

  static std::string described(const Json& value) {
    if (value.is_number_integer()) return value.dump();
    return value.type_name();
  }

  const Json* find(const char* key) {
    const auto found = json_.find(key);
    if (found != json_.end()) return &*found;
    refuse("", models::Code::kOwnFile, fmt::format("this state file has no '{}'", key));
    return nullptr;
  }

  void refuse_type(const char* key, const char* what, const Json& found) {
    refuse(key, models::Code::kOwnFile,
           fmt::format("'{}' must be {}, found {}", key, what, described(found)));
  }

  std::string text_of(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    refuse_type(key, "a text", *value);
    return {};
  }

  bool truth(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    refuse_type(key, "true or false", *value);
    return false;
  }

  std::uint64_t count_in(const char* key, const char* what) {
    const Json* value = find(key);
    if (value == nullptr) return 0;
    if (value->is_number_unsigned()) return value->get<std::uint64_t>();
    refuse_type(key, what, *value);
    return 0;
  }

  sim::Jitter jitter() {
    const std::string text = text_of("jitter");
    const auto found = models::parse_jitter(text);
    if (!found) {
      refuse("jitter", models::Code::kOwnFile,
             fmt::format("jitter must be {}, found '{}'", models::kJitterForms, text));
    }
    sim::Jitter result = found.value_or(sim::Jitter());
    result.seed = count_in("seed", "a seed");
    return result;
  }

  std::string text_of_lines(const char* key, const Json& value) {
    const auto is_text = [](const Json& line) { return line.is_string(); };
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_text)) {
      refuse_type(key, "a list of lines", value);
      return {};
    }
    std::string text;
    for (const Json& line : value) {
      if (&line != &value.front()) text += '\n';
      text += line.get_ref<const std::string&>();
    }
    return text;
  }

  // Reads the patches. A state without patches lacks the key.
  std::vector<PatchText> patches() {
    const auto value = json_.find("patches");
    if (value == json_.end()) return {};
    const auto is_patch = [](const Json& item) {
      return item.is_object() && item.contains("path") && item["path"].is_string() &&
             item.contains("lines");
    };
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_patch)) {
      refuse_type("patches", "a list of paths and lines", *value);
      return {};
    }
    std::vector<PatchText> result;
    for (const Json& item : *value) {
      result.push_back({item["path"].get<std::string>(), text_of_lines("lines", item["lines"])});
    }
    return result;
  }

  std::vector<Setting> settings() {
    const Json* value = find("settings");
    if (value == nullptr) return {};
    const auto is_setting = [](const Json& item) {
      return item.is_object() && item.contains("name") && item["name"].is_string() &&
             item.contains("value") && item["value"].is_string();
    };
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_setting)) {
      refuse_type("settings", "a list of names and values", *value);
      return {};
    }
    std::vector<Setting> result;
    for (const Json& item : *value) {
      result.emplace_back(item["name"].get<std::string>(), item["value"].get<std::string>());
    }
    return result;
  }

  std::uint64_t fingerprint() {
    const std::string text = text_of("fingerprint");
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value, 16);
    if (problem != std::errc() || stop != end || text.size() != 16) {
      refuse("fingerprint", models::Code::kOwnFile, "a fingerprint has 16 hexadecimal digits");
    }
    return value;
  }

  // Returns the place of a key of the outermost map. Inside a text, its quotes would be escaped, or
  // no colon would follow.
  Place place_of_key(std::string_view key) const {
    const std::string quoted = fmt::format("\"{}\"", key);
    for (std::size_t at = text_.find(quoted); at != std::string::npos && !key.empty();
         at = text_.find(quoted, at + 1)) {
      const std::size_t next = text_.find_first_not_of(" \t\r\n", at + quoted.size());
      if (next != std::string::npos && text_[next] == ':') return place_of_byte(text_, at);
    }
    return {1, 1};
  }

  const std::string& text_;
  Diagnostics& diagnostics_;
  Json json_;
  bool good_ = true;
};

}  // namespace

std::optional<std::string> write_state(const SavedState& state, Diagnostics& diagnostics) {
  Json json = {{"pipesim_state", kStateSchema},
               {"made_by", state.made_by},
               {"verdict", models::verdict_name(state.verdict)},
               {"fingerprint", fmt::format("{:016x}", state.fingerprint)},
               {"events", state.events},
               {"interrupted", state.interrupted}};
  if (!state.until.empty()) json["until"] = state.until;
  if (state.jitter.varies()) {
    json["jitter"] = models::jitter_text(state.jitter);
    json["seed"] = state.jitter.seed;
  }
  json["settings"] = Json::array();
  for (const auto& [name, value] : state.settings) {
    json["settings"].push_back({{"name", name}, {"value", value}});
  }
  // A path is only shown, so it need not be exact.
  const auto shown = [](const std::string& path) {
    return Json::parse(Json(path).dump(-1, ' ', true, Json::error_handler_t::replace));
  };
  json["path"] = shown(state.path);
  json["scenario"] = lines_of(state.scenario);
  for (const PatchText& patch : state.patches) {
    json["patches"].push_back({{"path", shown(patch.path)}, {"lines", lines_of(patch.text)}});
  }
  try {
    return json.dump(2, ' ', true) + "\n";
  } catch (const Json::type_error&) {
    diagnostics.error({}, models::Code::kInvalidUtf8, "cannot save a scenario that is not UTF-8")
        .notes.emplace_back("convert the file to UTF-8, then run it again");
    return std::nullopt;
  }
}

std::optional<SavedState> read_state(const std::string& text, Diagnostics& diagnostics) {
  return StateReader(text, diagnostics).read();
}

}  // namespace pipesim::formats
