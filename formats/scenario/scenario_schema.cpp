// Converts each type in the tables of keys to a definition of the schema, together with the types
// it uses.
#include "formats/scenario/scenario_schema.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/document/parameters.hpp"
#include "formats/document/versions.hpp"
#include "formats/scenario/keys.hpp"

namespace pipesim::formats {
namespace {

// ---------------------------------------------------------------------------------------------
// Scalars

// Pattern for expressions; parameters that are words are in quotes.
constexpr std::string_view kExpression = R"((?:[A-Za-z0-9_ \\n.+*/%()<>=!,-]|'[^']*')+$)";
constexpr std::string_view kSameOnAllRanks = R"((?![^']*\\brank\\b))";
constexpr std::string_view kNoTruth = "(?!(?:on|off|true|false)$)";
constexpr std::string_view kNoNumber = "(?! *-?[0-9_.]*[1-9][0-9_.]*$)";  // 0 needs no unit
constexpr std::string_view kTimes = "ns|us|ms|s|min";
constexpr std::string_view kSizes = "B|kB|MB|GB|KiB|MiB|GiB";
constexpr std::string_view kBandwidths = "(?:B|kB|MB|GB|KiB|MiB|GiB|Mb|Gb)/s";

std::string no_unit(std::initializer_list<std::string_view> units) {
  return fmt::format("(?! *-?[0-9][0-9_.]* *(?:{})$)", fmt::join(units, "|"));
}

std::string when(std::string_view condition, std::string_view then, std::string_view otherwise) {
  return fmt::format(R"("if": {{{}}}, "then": {{{}}}{})", condition, then,
                     otherwise.empty() ? "" : fmt::format(",\n  \"else\": {{{}}}", otherwise));
}

// Returns keywords that let a map be a choice of values of the definition `name`. `otherwise`: the
// keywords for a map without `case`; by default each of its keys is an error, so that the message
// names a mistyped `case`.
std::string choice_rules(std::string_view name, bool by_rank, std::string otherwise = "") {
  const std::string decides =
      fmt::format(R"("properties": {{"case": {{"$ref": "#/definitions/{}"}}}})",
                  by_rank ? "condition_by_rank" : "condition");
  if (otherwise.empty())
    otherwise = fmt::format(R"("required": ["case"], {}, "additionalProperties": false)", decides);
  return when(
      R"("required": ["case"])",
      fmt::format(R"({}, "additionalProperties": {{"$ref": "#/definitions/{}"}})", decides, name),
      otherwise);
}

// Returns the definition `body`, extended to allow a choice of values of the definition `name`.
std::string with_choice(std::string_view name, std::string_view body, bool by_rank) {
  return fmt::format("{}, {}", body, choice_rules(name, by_rank));
}

std::string pattern(std::string_view types, bool by_rank, std::string_view refused,
                    std::string_view expected) {
  return fmt::format(R"("type": [{}], "pattern": "^{}{}{}", "patternErrorMessage": "{}")", types,
                     by_rank ? "" : kSameOnAllRanks, refused, kExpression, expected);
}

// Returns the limits in a type such as "integer 1..65535"; the maximum is optional.
std::string limits_of(std::string_view type) {
  const std::size_t dots = type.find("..");
  const std::size_t space = type.find(' ');
  if (dots == std::string_view::npos) return {};
  std::string text = fmt::format(R"(, "minimum": {})", type.substr(space + 1, dots - space - 1));
  const std::string_view maximum = type.substr(dots + 2);
  if (!maximum.empty()) text += fmt::format(R"(, "maximum": {})", maximum);
  return text;
}

std::optional<std::string> quantity(std::string_view type, std::string_view name) {
  if (type.find_first_of("|*?[{") != std::string_view::npos) return std::nullopt;
  const bool by_rank = is_by_rank(type);
  const std::string_view of = type.substr(0, type.find_first_of(" ("));
  std::string body;
  if (of == "integer") {
    body = pattern(R"("integer", "string", "object")", by_rank,
                   std::string(kNoTruth) + no_unit({kTimes, kSizes, kBandwidths}),
                   "an integer, or an expression: 4, 2 * acc") +
           limits_of(type);
  } else if (of == "time" || of == "size") {
    const bool time = of == "time";
    body = pattern(R"("number", "string", "object")", by_rank,
                   fmt::format("{}{}{}", kNoTruth, kNoNumber,
                               no_unit({time ? kSizes : kTimes, kBandwidths})),
                   time ? "a time such as 20us, 2ms or 1.5s, or an expression"
                        : "a size such as 64KiB or 8MiB, or an expression") +
           R"(, "minimum": 0, "maximum": 0)";
  } else if (of == "bandwidth") {
    body = pattern(R"("string", "object")", by_rank,
                   fmt::format("{}(?! *-?[0-9_.]+$){}", kNoTruth, no_unit({kTimes, kSizes})),
                   "a bandwidth such as 300GB/s or 400Gb/s, or an expression");
  } else {
    return std::nullopt;
  }
  return with_choice(name, body, by_rank);
}

std::string text_like(std::string_view form, std::string_view expected) {
  return fmt::format(R"("type": "string", "pattern": "{}", "patternErrorMessage": "{}")", form,
                     expected);
}

std::optional<std::string> scalar(std::string_view type) {
  constexpr std::string_view kScalar = R"("type": ["string", "number", "boolean")";
  const auto expression = [&](bool by_rank) {
    return pattern(R"("string", "number", "boolean")", by_rank, "",
                   "a number, a time, a size, on or off, or an expression of these");
  };
  if (type == "schema_version") {
    return fmt::format(R"("enum": [{0}, "{0}"], "default": {0})", kScenarioSchema);
  }
  if (type == "value") return fmt::format("{}]", kScalar);
  if (type == "text") return fmt::format(R"({}, "null"])", kScalar);
  if (type == "name") return with_choice(type, fmt::format(R"({}, "object"])", kScalar), false);
  if (type.starts_with("condition")) {
    return R"("description": "What decides which of the values is taken", )" +
           expression(type != "condition");
  }
  if (type == "expression") return expression(true);
  if (type == "host") {
    return with_choice(type, R"("type": ["string", "integer", "boolean", "object"], "minimum": 0)",
                       false);
  }
  if (type == "ranks") {
    return with_choice(type,
                       R"("type": ["string", "integer", "boolean", "array", "null", "object"], )"
                       R"("minimum": 0, "items": {"$ref": "#/definitions/ranks"})",
                       false);
  }
  if (type.starts_with("on/off")) {
    const bool by_rank = is_by_rank(type);
    return fmt::format(
        R"("anyOf": [{{"enum": [true, false, "on", "off"]}}, {{{}}}, {{"type": "object"}}], {})",
        pattern(R"("string")", by_rank, no_unit({kTimes, kSizes, std::string(kBandwidths) + "|"}),
                "on, off or a condition: acc > 1"),
        choice_rules(by_rank ? "on_off_rank" : "on_off", by_rank));
  }
  if (type == "share") {
    return text_like(
        R"(^(?:100(?:\\.0{1,4})?|[0-9]{1,2}(?:\\.[0-9]{1,4})?|0[0-9]{2}(?:\\.[0-9]{1,4})?) *%$)",
        "a share such as 20% or 12.5%");
  }
  if (type == "op_text") {
    return text_like(R"(^(?:\\$.+|[^#]+|.+#[1-9][0-9]*)$)", "an op is written forward#3");
  }
  if (type == "ordered_op_text") {
    return text_like(R"(^(?:\\$.+|.+#0*[1-9][0-9]*)$)",
                     "an op is written name#1 or rank 0 name#1, counted from 1");
  }
  if (type == "sbp") return text_like(R"(^(?:B|P|S\\([0-9]+\\))$)", "S(axis), B or P");
  if (type == "per_host") {
    return text_like(fmt::format("^{}{} per host$", kSameOnAllRanks,
                                 kExpression.substr(0, kExpression.size() - 1)),
                     "8 per host, round robin, or a list: the host of each rank");
  }
  if (type == "tag") {  // the condition can depend on the rank; then all options are numbers
    return R"("anyOf": [{"$ref": "#/definitions/value"}, {"type": "object"}], )" +
           choice_rules("integer_rank", true);
  }
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------
// Named types

std::string names_of_tables(std::span<const KeyTable* const> tables) {
  std::string names;
  for (const KeyTable* table : tables) names += fmt::format("{}|", table->name);
  names.pop_back();
  return names;
}

// Returns the definition of a named type, which is recursive or shared by other types.
std::string named_type(std::string_view type) {
  static const std::map<std::string, std::string, std::less<>> kTypes = {
      {"params", "{expression|parameter}"},
      {"group", "regular_group|ranks*"},
      {"cluster", "cluster_map?"},
      {"thread_step", "thread_block|value?"},
      {"reads", "[read_item]?"},
      {"read_item", "read|value?"},
      {"steps", "[step]*"},
      {"step", names_of_tables(keys::steps()) + "?"},
      {"waits", "wait_item|[wait_item]?"},
      {"wait_item", "wait|value*"},
      {"calls", "[call]+?"},
      {"call", names_of_tables(keys::calls_of_group()) + "?"},
      {"signature", "[sbp]2*"},
      {"fault", names_of_tables(keys::faults()) + "?"},
      {"op_number", "op_text*"},
      {"ordered_op", "ordered_op_text*"},
      {"expected_memory", "size|memory_bounds?"}};
  const auto found = kTypes.find(type);
  return found == kTypes.end() ? std::string() : found->second;
}

// Returns the name of a definition: only letters, digits, '_' and '-'.
std::string definition_name(std::string_view type) {
  std::string name;
  char before = ' ';
  for (const char c : type) {
    if (c == '[') {
      name += "list_of_";
    } else if (c == '{') {
      name += "map_of_";
    } else if (c == '|') {
      name += "_or_";
    } else if (c == '?' || c == '*') {
      name += c == '?' ? "_or_choice_or_nothing" : "_or_choice";
    } else if (c == '~') {
      name += "nothing";
    } else if ((c == '+' || c == '2') && before == ']') {
      name += c == '+' ? "_not_empty" : "_pair";
    } else if (c == '.') {
      name += name.ends_with("_to") ? "_" : "_to";
    } else if (c == ' ' || c == '/' || c == '(') {
      name += '_';
    } else if (std::string_view("')]}").find(c) == std::string_view::npos) {
      name += c;
    }
    before = c;
  }
  return name;
}

// Splits "a|[b|c]|d" at its top-level bars.
std::vector<std::string_view> alternatives(std::string_view type) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= type.size(); ++i) {
    const char c = i < type.size() ? type[i] : '|';
    depth += c == '[' || c == '{' ? 1 : 0;
    depth -= c == ']' || c == '}' ? 1 : 0;
    if (c != '|' || depth > 0) continue;
    parts.push_back(type.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

// ---------------------------------------------------------------------------------------------

class SchemaWriter {
 public:
  std::string run() {
    for (const KeyTable* table : keys::all_tables()) tables_.emplace(table->name, table);
    std::string text = fmt::format(
        "{{\"$schema\": \"http://json-schema.org/draft-07/schema#\",\n\"title\": {},\n"
        "\"description\": \"docs/reference/scenario-format.md as far as an editor can check it; "
        "only pipesim "
        "knows what names refer to\",\n{},\n\"definitions\": {{\n",
        quoted(keys::kScenario.meaning), object(keys::kScenario));
    refer("condition");
    while (!pending_.empty()) {
      const std::string type = std::move(pending_.front());
      pending_.pop_front();
      text += fmt::format("{}\"{}\": {{{}}}", separator_, definition_name(type), define(type));
      separator_ = ",\n";
    }
    return text + "\n}}\n";
  }

 private:
  // Converts Markdown to quoted plain text.
  static std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool link = text.substr(i).starts_with("](");
      if (link) i = std::min(text.find(')', i), text.size());
      if (link || text[i] == '`') continue;
      if (text[i] == '[' && text.find("](", i) < text.find(']', i) + 1) continue;
      if (text[i] == '"' || text[i] == '\\') result += '\\';
      result += text[i];
    }
    return result + '"';
  }

  std::string refer(std::string_view type) {
    if (known_.emplace(type).second) pending_.emplace_back(type);
    return fmt::format(R"("$ref": "#/definitions/{}")", definition_name(type));
  }

  std::string object(const KeyTable& table) {
    std::vector<std::string> required;
    std::string properties;
    for (const Key* key : table.all()) {
      if (key->otherwise == "required") required.push_back(quoted(key->name));
      const std::string about = key->otherwise.empty() || key->otherwise == "required"
                                    ? std::string(key->meaning)
                                    : fmt::format("{} (default: {})", key->meaning, key->otherwise);
      properties +=
          fmt::format("{}\n  {}: {{\"description\": {}, {}}}", properties.empty() ? "" : ",",
                      quoted(key->name), quoted(about), refer(key->type));
    }
    std::string rules = table.rules.empty() ? "" : fmt::format(",\n  {}", table.rules);
    const std::vector<const Key*> rows = table.all();
    std::vector<std::string> heads;
    for (std::size_t i = 0; i < table.heads; ++i) {
      heads.push_back(fmt::format("{{\"required\": [\"{}\"]}}", rows[i]->name));
    }
    if (table.heads == 1) required.insert(required.begin(), quoted(rows.front()->name));
    if (table.heads > 1) rules += fmt::format(",\n  \"oneOf\": [{}]", fmt::join(heads, ", "));
    return fmt::format(
        "\"type\": \"object\",{}\n  \"properties\": {{{}}},\n  \"additionalProperties\": false{}",
        required.empty() ? "" : fmt::format("\n  \"required\": [{}],", fmt::join(required, ", ")),
        properties, rules);
  }

  std::string define(const std::string& type) {
    const auto table = tables_.find(type);
    if (table != tables_.end()) {
      const std::string rules = type == "parameter"
                                    ? ",\n  \"if\": {\"not\": {\"required\": [\"one_of\"]}},\n  "
                                      "\"then\": {\"properties\": {\"default\": {" +
                                          refer("expression") + "}}}"
                                    : "";
      return fmt::format("\"description\": {}, {}{}", quoted(table->second->meaning),
                         object(*table->second), rules);
    }
    if (auto found = quantity(type, definition_name(type))) {
      refer(is_by_rank(type) ? "condition_by_rank" : "condition");
      return *found;
    }
    if (auto found = scalar(type)) {
      if (type == "tag") refer("integer(rank)");
      if (type == "tag") refer("value");
      return *found;
    }
    if (const auto words = keys::words_of(type); !words.empty()) return choice_of(type, words);
    const std::string form = named_type(type);
    std::string rules;
    if (type == "params") {
      rules = fmt::format(
          ", \"propertyNames\": {{\"pattern\": \"^(?!(?:{})$)[A-Za-z_][A-Za-z0-9_]*$\"}}",
          fmt::join(reserved_names(), "|"));
    }
    return compound(form.empty() ? type : form, definition_name(type)) + rules;
  }

  static std::string choice_of(std::string_view type, const std::vector<std::string>& words) {
    std::string values;
    for (const std::string& word : words) {
      values += fmt::format(R"({}"{}")", values.empty() ? "" : ", ", word);
      // YAML reads a version, such as 2.31, as a number.
      const bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
      if (is_number) values += ", " + word;
    }
    return fmt::format(R"("anyOf": [{{"enum": [{}]}}, {{"type": "string", "pattern": "^\\$."}}, )"
                       R"({{"type": "object"}}], {})",
                       values, choice_rules(definition_name(type), false));
  }

  // Returns the keys that tell a map of this table from maps of other tables.
  static std::vector<const Key*> heads_of(const KeyTable& table) {
    std::vector<const Key*> heads;
    for (const Key* key : table.all()) {
      if (heads.size() < table.heads || (heads.empty() && key->otherwise == "required"))
        heads.push_back(key);
    }
    return heads;
  }

  // Returns the definition of a map of one of several tables: its head decides which table. A map
  // without a head gets an error for each key that no table has. If the map has no such key,
  // `anyOf` fails: it asks for the first head, and editors show the message of `anyOf`.
  std::string map_of_one(const std::vector<const KeyTable*>& tables) {
    std::map<std::string_view, std::string> keys;
    std::vector<std::string_view> heads;
    std::vector<std::string> conditions;
    for (const KeyTable* table : tables) {
      std::vector<std::string> required;
      for (const Key* key : heads_of(*table)) {
        keys[key->name] = fmt::format(R"("description": {})", quoted(key->meaning));
        heads.push_back(key->name);
        required.push_back(fmt::format(R"({{"required": ["{}"]}})", key->name));
      }
      conditions.push_back(fmt::format(R"("anyOf": [{}])", fmt::join(required, ", ")));
      // Editors offer heads only.
      for (const Key* key : table->all()) keys.try_emplace(key->name, R"("doNotSuggest": true)");
    }
    std::vector<std::string_view> names;
    std::vector<std::string> properties;
    for (const auto& [key, body] : keys) {
      names.push_back(key);
      properties.push_back(fmt::format("\"{}\": {{{}}}", key, body));
    }
    std::string text = when(
        fmt::format(R"("propertyNames": {{"enum": ["{}"]}})", fmt::join(names, "\", \"")),
        fmt::format(R"("anyOf": [{{"required": ["{}"], "errorMessage": "expected one of {}"}}])",
                    heads.front(), fmt::join(heads, ", ")),
        fmt::format(R"("additionalProperties": false, "properties": {{{}}})",
                    fmt::join(properties, ", ")));
    for (std::size_t i = tables.size(); i-- > 0;)
      text = when(conditions[i], refer(tables[i]->name), text);
    return text;
  }

  // Returns the definition of a value with alternatives. `anyOf` has the types; the contents of
  // maps and lists are in `if`, because validators do not report errors inside an `anyOf`.
  std::string compound(std::string_view type, const std::string& name) {
    const bool nothing = type.back() == '?';
    const bool choice = nothing || type.back() == '*';
    const std::vector<std::string_view> parts =
        alternatives(choice ? type.substr(0, type.size() - 1) : type);
    const auto is_word = [](std::string_view part) { return part.front() == '\''; };
    if (!choice && std::all_of(parts.begin(), parts.end(), is_word))
      return choice_of(type, quoted_words(type));
    if (!choice && parts.size() == 1) return one(parts.front());
    std::vector<const KeyTable*> tables;
    std::vector<std::string> lists;
    std::vector<std::string> forms;
    std::string map;
    for (const std::string_view part : parts) {
      const auto table = tables_.find(part);
      if (table != tables_.end()) {
        tables.push_back(table->second);
      } else if (part.front() == '[') {
        lists.push_back(one(part));
      } else if (part.front() == '{') {
        map = one(part);
      } else {
        forms.push_back(fmt::format("{{{}}}", one(part)));
        if (part == "name" || quantity(part, "") || !named_type(part).empty()) map = refer(part);
      }
    }
    if (tables.size() == 1) map = refer(tables.front()->name);
    if (tables.size() > 1) map = map_of_one(tables);
    if (choice) map = choice_rules(name, name == "step" || name == "steps", map);
    if (nothing) forms.emplace_back(R"({"type": "null"})");
    std::string contents;
    if (!lists.empty()) {
      forms.emplace_back(R"({"type": "array"})");
      const std::string several = fmt::format(R"("anyOf": [{{{}}}])", fmt::join(lists, "}, {"));
      contents = when(R"("type": "array")", lists.size() == 1 ? lists.front() : several, "");
    }
    if (!map.empty()) {
      forms.emplace_back(R"({"type": "object"})");
      contents = when(R"("type": "object")", map, contents);
    }
    return fmt::format(R"("anyOf": [{}], {})", fmt::join(forms, ", "), contents);
  }

  // Returns the definition of one alternative.
  std::string one(std::string_view part) {
    if (part == "~") return R"("type": "null")";
    if (part.front() == '\'') return fmt::format(R"("enum": ["{}"])", quoted_words(part)[0]);
    if (part.front() != '[' && part.front() != '{') return refer(part);
    const bool list = part.front() == '[';
    const std::size_t end = part.rfind(list ? ']' : '}');
    const std::string_view after = part.substr(end + 1);
    std::string size;
    if (after == "+") size = list ? R"(, "minItems": 1)" : R"(, "minProperties": 1)";
    if (after == "2") size = R"(, "minItems": 2, "maxItems": 2)";
    return fmt::format(R"("type": "{}", "{}": {{{}}}{})", list ? "array" : "object",
                       list ? "items" : "additionalProperties", refer(part.substr(1, end - 1)),
                       size);
  }

  std::map<std::string, const KeyTable*, std::less<>> tables_;
  std::set<std::string, std::less<>> known_;
  std::deque<std::string> pending_;
  std::string_view separator_;
};

}  // namespace

std::string scenario_schema() { return SchemaWriter().run(); }

}  // namespace pipesim::formats
