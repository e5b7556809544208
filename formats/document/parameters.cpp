#include "formats/document/parameters.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/document/map_reader.hpp"
#include "models/characters.hpp"

namespace pipesim::formats {

using models::Diagnostics;
using models::Expr;

namespace {

constexpr std::array<std::string_view, 12> kReserved = {
    "rank", "ranks", "on", "off", "true", "false", "and", "or", "not", "min", "max", "if"};

constexpr std::size_t kMaxParameters = 10'000;

constexpr Key kParameterRows[] = {
    {"default", "value",
     "Its value unless `--set` changes it: a number, a time, a size, on or off, an expression of "
     "these and earlier parameters, or one of the words",
     "required"},
    {"about", "text", "What it means, for `--params`"},
    {"one_of", "[value]+", "The words that it can be"},
    {"at_least", "expression", "Its minimum"},
    {"choice", "'each_rank'|'all_ranks'",
     "Of on or off: the job may go either way, and `pipesim check` tries both, of each rank or of "
     "all ranks together. With `each_rank` the value may use `rank`"},
};
constexpr KeyTable kParameter{"parameter", "a parameter", "A parameter in long form",
                              kParameterRows};

class ParameterReader {
 public:
  ParameterReader(const std::vector<GivenSetting>& settings, Diagnostics& diagnostics)
      : settings_(settings), diagnostics_(diagnostics) {
    scope_.parameters = &parameters_;
  }

  std::vector<Parameter> run(const YamlValue& value) {
    if (value.is_map() && value.entries().size() > kMaxParameters) {
      diagnostics_.error(value.place(), models::Code::kLimit,
                         fmt::format("a scenario has at most {} parameters", kMaxParameters));
      return {};
    }
    for (const YamlValue::Entry& entry : named_entries(value, "'params'", diagnostics_)) {
      read(entry);
    }
    return std::move(parameters_);
  }

 private:
  void read(const YamlValue::Entry& entry);
  bool read_fields(const YamlValue& value, Parameter& parameter);
  bool read_options(const YamlValue& value, Parameter& parameter);
  bool read_default(const YamlValue& value, Parameter& parameter);
  bool apply_setting(Parameter& parameter);
  Scope scope_of(const Parameter& parameter) const {
    Scope scope = scope_;
    scope.rank = parameter.choice == JobChoice::kEachRank;
    return scope;
  }
  bool check(const Parameter& parameter, models::Place place, const std::string& source);

  const std::vector<GivenSetting>& settings_;
  Diagnostics& diagnostics_;
  std::vector<Parameter> parameters_;
  Scope scope_;
};

bool is_parameter_name(std::string_view name) {
  const auto good = [](char c) { return models::is_alphanumeric(c) || c == '_'; };
  return !name.empty() && !models::is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), good) &&
         std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end();
}

std::string source_text(const GivenSetting& given) {
  return fmt::format("{}set {}={}", given.place.line == 0 ? "--" : "", given.setting.first,
                     given.setting.second);
}

void ParameterReader::read(const YamlValue::Entry& entry) {
  Parameter parameter;
  parameter.name = entry.key.text();
  parameter.place = entry.key.place();
  if (!check_parameter_name(parameter.name, parameter.place, diagnostics_)) return;
  // An invalid parameter stays known, so that its uses cause no further errors.
  if (!read_fields(entry.value, parameter)) {
    parameter.value.expr = Expr::constant(0);
  } else {
    apply_setting(parameter);
  }
  parameters_.push_back(std::move(parameter));
}

bool ParameterReader::read_fields(const YamlValue& value, Parameter& parameter) {
  if (!value.is_map()) return read_default(value, parameter);
  MapReader map(value, kParameter, diagnostics_);
  parameter.about = map.take_text("about");
  const auto options = map.take("one_of");
  const auto at_least = map.take("at_least");
  const auto choice = map.take("choice");
  const std::vector<std::string> choices = map.words("choice");
  const auto given = map.require("default");
  map.finish();
  if (!given || (options && !read_options(*options, parameter))) return false;
  if (at_least) {
    const TextPlace place{at_least->place(), at_least->quoted()};
    const auto least = parse_expression(at_least->text(), place, scope_, diagnostics_);
    if (!least) return false;
    parameter.at_least = least->expr.value(0);
  }
  if (choice) {
    const auto found = std::find(choices.begin(), choices.end(), choice->text());
    if (found == choices.end()) {
      diagnostics_.error(choice->place(), models::Code::kUnknownWord,
                         fmt::format("expected one of {}, found {}", fmt::join(choices, ", "),
                                     choice->described()));
      return false;
    }
    parameter.choice = found == choices.begin() ? JobChoice::kEachRank : JobChoice::kAllRanks;
  }
  if (!read_default(*given, parameter)) return false;
  if (!choice || parameter.value.type == ValueType::kTruth) return true;
  diagnostics_.error(choice->place(), models::Code::kWrongType,
                     fmt::format("a choice is between on and off, but '{}' is {}", parameter.name,
                                 type_name(parameter.value.type)));
  return false;
}

bool ParameterReader::read_options(const YamlValue& value, Parameter& parameter) {
  const std::vector<YamlValue> options = value.items();
  const bool words = std::all_of(options.begin(), options.end(),
                                 [](const YamlValue& option) { return option.is_scalar(); });
  if (!value.is_list() || options.empty() || !words) {
    diagnostics_.error(value.place(), models::Code::kWrongType, "'one_of' must be a list of words");
    return false;
  }
  bool good = true;
  for (const YamlValue& option : options) {
    good = check_name(option.text(), option, diagnostics_) && good;
    parameter.options.emplace_back(option.text());
  }
  return good;
}

bool ParameterReader::read_default(const YamlValue& value, Parameter& parameter) {
  if (!value.is_scalar()) {
    diagnostics_.error(
        value.place(), models::Code::kWrongType,
        fmt::format("a parameter must be a number, a time, a size, on or off, or a word, found {}",
                    value.described()));
    return false;
  }
  parameter.default_text = value.text();
  if (!parameter.options.empty()) {
    parameter.value.type = ValueType::kWord;
    parameter.value.word = value.text();
  } else {
    const TextPlace place{value.place(), value.quoted()};
    const std::optional<Value> found =
        parse_expression(value.text(), place, scope_of(parameter), diagnostics_);
    if (!found) return false;
    parameter.value = *found;
  }
  return check(parameter, value.place(), "the default");
}

bool ParameterReader::apply_setting(Parameter& parameter) {
  const GivenSetting* given = nullptr;
  for (const GivenSetting& setting : settings_) {
    if (setting.setting.first == parameter.name) given = &setting;
  }
  if (given == nullptr) return true;
  const std::string* text = &given->setting.second;
  const models::Place place = given->place;
  const std::string source = source_text(*given);
  // After a rejected value, the parameter keeps its default, to avoid further errors.
  const Value before = parameter.value;
  const auto accepted = [&] {
    const bool good = check(parameter, place, source);
    if (!good) parameter.value = before;
    return good;
  };
  if (parameter.value.type == ValueType::kWord) {
    parameter.value.word = *text;
    return accepted();
  }
  Diagnostics problems;
  const std::optional<Value> found = parse_expression(*text, {}, scope_of(parameter), problems);
  if (!found) {
    const models::Diagnostic problem = problems.sorted().front();
    models::Diagnostic& error = diagnostics_.error(place, models::Code::kParameterValue,
                                                   fmt::format("{}: {}", source, problem.message));
    error.notes = problem.notes;
    error.notes.push_back(
        fmt::format("'{}' is {}", parameter.name, type_name(parameter.value.type)));
    return false;
  }
  const bool zero_time = found->type == ValueType::kNumber && found->expr.value(0) == 0;
  if (found->type != parameter.value.type && !zero_time) {
    models::Diagnostic& error =
        diagnostics_.error(place, models::Code::kParameterValue,
                           fmt::format("{}: expected {}, found {}", source,
                                       type_name(parameter.value.type), type_name(found->type)));
    suggest_unit(error, found->type, parameter.value.type);
    return false;
  }
  parameter.value.expr = found->expr;
  parameter.is_set = true;
  return accepted();
}

bool ParameterReader::check(const Parameter& parameter, models::Place place,
                            const std::string& source) {
  const auto& options = parameter.options;
  if (!options.empty() &&
      std::find(options.begin(), options.end(), parameter.value.word) == options.end()) {
    models::Diagnostic& error =
        diagnostics_.error(place, models::Code::kParameterValue,
                           fmt::format("{}: '{}' is not one of {}", source, parameter.value.word,
                                       fmt::join(options, ", ")));
    const std::string nearest = models::nearest_name(parameter.value.word, options);
    if (!nearest.empty()) error.notes.push_back(fmt::format("did you mean '{}'?", nearest));
    return false;
  }
  if (parameter.value.type == ValueType::kWord) return true;
  std::string why;
  const std::optional<std::int64_t> value = parameter.value.expr.value(0, &why);
  if (!value) {
    diagnostics_.error(place, models::Code::kParameterValue, fmt::format("{}: {}", source, why));
    return false;
  }
  const std::int64_t least =
      parameter.at_least.value_or(parameter.value.type == ValueType::kNumber ? *value : 0);
  if (*value >= least) return true;
  Value limit = parameter.value;
  limit.expr = Expr::constant(least);
  diagnostics_.error(place, models::Code::kParameterValue,
                     fmt::format("{}: must be at least {}", source, to_text(limit)));
  return false;
}

}  // namespace

bool check_parameter_name(const std::string& name, models::Place place, Diagnostics& diagnostics) {
  if (is_parameter_name(name)) return true;
  diagnostics
      .error(place, models::Code::kBadName,
             fmt::format("'{}' cannot be the name of a parameter", name))
      .notes.emplace_back("a name has letters, digits and _, and is not a word of expressions");
  return false;
}

std::vector<Parameter> read_parameters(const YamlValue& value,
                                       const std::vector<GivenSetting>& settings,
                                       Diagnostics& diagnostics) {
  return ParameterReader(settings, diagnostics).run(value);
}

void check_settings(const std::vector<Parameter>& parameters,
                    const std::vector<GivenSetting>& settings, Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters) known.push_back(parameter.name);
  for (const GivenSetting& given : settings) {
    const std::string& name = given.setting.first;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (name == "reading") continue;  // `reading` is known in all scenarios
    models::Diagnostic& error = diagnostics.error(
        given.place, models::Code::kUnknownParameter,
        fmt::format("{}: {}", source_text(given),
                    known.empty() ? "the scenario has no parameters" : "unknown parameter"));
    models::suggest_name(error, name, known);
  }
}

const KeyTable& parameter_keys() { return kParameter; }

std::span<const std::string_view> reserved_names() { return kReserved; }

}  // namespace pipesim::formats
