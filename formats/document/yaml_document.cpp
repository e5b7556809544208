#include "formats/document/yaml_document.hpp"

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "formats/document/document_builder.hpp"
#include "formats/document/json_reader.hpp"
#include "formats/document/settings.hpp"
#include "models/characters.hpp"

namespace pipesim::formats {

using models::Diagnostics;
using models::Place;
using Kind = YamlValue::Kind;

namespace {

// Limits on the values and the bytes of text that aliases repeat, because readers walk and copy
// them. The limits of a document also grow with its size.
constexpr std::uint64_t kRepeatedValues = 100'000;
constexpr std::uint64_t kRepeatedText = std::uint64_t{1} << 20;
constexpr std::uint64_t kBytesPerRepeatedValue = 32;

Place place_of(const YAML::Mark& mark, std::uint32_t file) {
  if (mark.is_null()) return {0, 0, file};
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1),
          file};
}

// Checks that `text` is UTF-8, as YAML and all outputs (JSON, HTML, SVG) require. Skips UTF-16 and
// UTF-32, which yaml-cpp recognizes by their first bytes. yaml-cpp does not check other bytes.
bool check_encoding(const std::string& text, std::uint32_t file, Diagnostics& diagnostics) {
  const std::string begin = text.substr(0, 4);
  const bool is_wide = begin.find('\0') != std::string::npos || begin.substr(0, 2) == "\xfe\xff" ||
                       begin.substr(0, 2) == "\xff\xfe";
  if (is_wide) return true;
  Place place{1, 1, file};
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = models::character_size(text, i);
    if (length == 0) {
      diagnostics.error(place, models::Code::kInvalidUtf8, "invalid UTF-8")
          .notes.emplace_back("convert the file to UTF-8");
      return false;
    }
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
    i += length;
  }
  return true;
}

// Rejects a file with too many open brackets. yaml-cpp keeps all open brackets as tokens until it
// knows the meaning of the first bracket: 20 MB of '[' take 4 GB. Brackets in strings also count,
// so the limit is far above the depth limit.
bool check_brackets(const std::string& text, std::uint32_t file, Diagnostics& diagnostics) {
  constexpr std::size_t kMaxOpen = 10'000;
  std::size_t open = 0;
  Place place{1, 1, file};
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMaxOpen) {
      diagnostics.error(place, models::Code::kLimit, too_deep_text());
      return false;
    }
    place = c == '\n' ? Place{place.line + 1, 1, file} : Place{place.line, place.column + 1, file};
  }
  return true;
}

// Explains yaml-cpp's `problem`, in a list or map that begins at `open`.
std::string explained(const std::string& problem, std::optional<Place> open) {
  const bool map = problem == "end of map flow not found";
  if (open && (map || problem == "end of sequence flow not found")) {
    return fmt::format("invalid YAML: expected '{}' to close the {} opened at {}:{}",
                       map ? '}' : ']', map ? "mapping" : "list", open->line, open->column);
  }
  if (problem == "end of map not found" || problem == "end of sequence not found") {
    return "invalid YAML: indentation matches no enclosing block";
  }
  return fmt::format("invalid YAML: {}", problem);
}

// A stream buffer over a string in memory, because yaml-cpp reads streams.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(const std::string& text) {
    char* begin = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    setg(begin, begin, begin + text.size());
  }
};

// Whether the line of `place` is indented with a tab. yaml-cpp's own message hides this cause.
bool has_tab_before(const std::string& text, Place place) {
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < place.line && begin < text.size(); ++line) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  const std::size_t end = std::min(text.find_first_not_of(" \t", begin), text.size());
  return text.find('\t', begin) < end;
}

/// Receives yaml-cpp's events.
class YamlEvents : public YAML::EventHandler {
 public:
  /// Receives the events of a document of `bytes` bytes.
  YamlEvents(DocumentBuilder& builder, std::size_t bytes)
      : builder_(builder),
        max_repeated_({kRepeatedValues + bytes / kBytesPerRepeatedValue, kRepeatedText + bytes}) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    count(builder_.add(Kind::kNull, place(mark)), 0, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) {
      throw DocumentBuilder::Stop{place(mark), models::Code::kYamlAlias,
                                  "an alias cannot be used inside the value it refers to"};
    }
    builder_.add_alias(place(mark), target->second.node);
    const Amount& of = target->second.amount;
    read_ += of;
    repeated_ += {of.values - 1, of.text};
    if (repeated_.values > max_repeated_.values) stop_at(mark, max_repeated_.values, "values");
    if (repeated_.text > max_repeated_.text) stop_at(mark, max_repeated_.text, "bytes of text");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const std::size_t first = builder_.add_text(value);
    count(builder_.add_scalar(place(mark), first, value.size(), tag == "!"), value.size(), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Kind::kList, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Amount {
    std::uint64_t values = 0;
    std::uint64_t text = 0;  // size of the text of scalars, in bytes

    void operator+=(const Amount& other) {
      values += other.values;
      text += other.text;
    }
  };

  struct Open {
    std::uint32_t node;
    YAML::anchor_t anchor;
    Amount before;
  };

  struct Anchored {
    std::uint32_t node = 0;
    Amount amount;  // size of the value, including the value itself
  };

  Place place(const YAML::Mark& mark) const { return place_of(mark, builder_.file()); }

  [[noreturn]] void stop_at(const YAML::Mark& mark, std::uint64_t max, const char* what) const {
    throw DocumentBuilder::Stop{
        place(mark), models::Code::kLimit,
        fmt::format("the aliases of this file expand to more than {} {}", max, what),
        "write out what this alias stands for: a file of 128 MiB is read"};
  }

  void count(std::uint32_t node, std::size_t text, YAML::anchor_t anchor) {
    read_ += {1, text};
    if (anchor != 0) anchors_[anchor] = {node, {1, text}};
  }
  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    open_.push_back({builder_.open(kind, place(mark)), anchor, read_});
    ++read_.values;
  }
  // Closes a value. Its anchor is only defined now, so no value can contain itself.
  void close() {
    const Open& last = open_.back();
    if (last.anchor != 0) {
      anchors_[last.anchor] = {last.node,
                               {read_.values - last.before.values, read_.text - last.before.text}};
    }
    open_.pop_back();
    builder_.close();
  }

  DocumentBuilder& builder_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  Amount max_repeated_;
  Amount read_;      // sum over the document, with aliases expanded
  Amount repeated_;  // part of `read_` inside aliases
};

}  // namespace

std::optional<YamlDocument> YamlDocument::parse(const std::string& text, Diagnostics& diagnostics) {
  YamlDocument document;
  if (!document.add(text, 0, diagnostics)) return std::nullopt;
  return document;
}

std::optional<YamlValue> YamlDocument::add(const std::string& text, std::uint32_t file,
                                           Diagnostics& diagnostics) {
  const auto first = static_cast<std::uint32_t>(nodes_.size());
  const char* const what = file == 0 ? "scenario" : "patch";
  if (text.size() > kMaxScenarioBytes) {
    diagnostics.error({0, 0, file}, models::Code::kLimit,
                      std::string("a ") + what + " can have at most " +
                          std::to_string(kMaxScenarioBytes >> 20) + " MiB");
    return std::nullopt;
  }
  const std::size_t text_before = text_.size();
  try {
    DocumentBuilder json(*this, file);
    if (add_json(text, json)) return YamlValue(this, first);
  } catch (const DocumentBuilder::Stop& stop) {
    diagnostics.error(stop.place, stop.code, stop.message);
    return std::nullopt;
  }
  nodes_.shrink(first);
  text_.resize(text_before);
  if (file == 0) source_ = {};
  return add_yaml(text, file, diagnostics);
}

std::optional<YamlValue> YamlDocument::add_yaml(const std::string& text, std::uint32_t file,
                                                Diagnostics& diagnostics) {
  const auto first = static_cast<std::uint32_t>(nodes_.size());
  const char* const what = file == 0 ? "scenario" : "patch";
  if (!check_encoding(text, file, diagnostics)) return std::nullopt;
  if (!check_brackets(text, file, diagnostics)) return std::nullopt;
  text_.reserve(text_.size() + text.size());
  DocumentBuilder builder(*this, file);
  YamlEvents events(builder, text.size());
  TextBuffer buffer(text);
  std::istream stream(&buffer);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(events) || nodes_.size() == first) {
      models::Diagnostic& told = diagnostics.error({1, 1, file}, models::Code::kOneDocument,
                                                   std::string("the file holds no ") + what);
      if (file == 0) told.notes.emplace_back("'pipesim new' writes one to begin with");
      return std::nullopt;
    }
    YamlDocument rest;
    DocumentBuilder rest_builder(rest, file);
    YamlEvents rest_events(rest_builder, text.size());
    if (parser.HandleNextDocument(rest_events) && !rest.nodes_.empty()) {
      diagnostics
          .error(rest.root().place(), models::Code::kOneDocument, "a second document in one file")
          .notes.emplace_back(std::string("a ") + what +
                              " is one document: remove the '---' before this");
      return std::nullopt;
    }
  } catch (const YAML::Exception& error) {
    models::Diagnostic& told =
        diagnostics.error(place_of(error.mark, file), models::Code::kYamlSyntax,
                          explained(error.msg, builder.innermost()));
    if (has_tab_before(text, told.place)) {
      told.notes.emplace_back("indent with spaces: this line begins with a tab");
    } else if (error.msg == "end of map flow not found" ||
               error.msg == "end of sequence flow not found") {
      told.notes.emplace_back("close the bracket, or a quote after it");
    } else if (error.msg == "illegal flow end") {
      told.notes.emplace_back("the '[' or '{' that is open here ends with another bracket");
    } else if (error.msg == "end of map not found" || error.msg == "end of sequence not found") {
      told.notes.emplace_back("align this line with the one that it continues");
    }
    return std::nullopt;
  } catch (const DocumentBuilder::Stop& stop) {
    auto& told = diagnostics.error(stop.place, stop.code, stop.message);
    if (!stop.help.empty()) told.notes.push_back(stop.help);
    return std::nullopt;
  }
  return YamlValue(this, first);
}

YamlValue YamlDocument::make_scalar(Place place, std::string_view text) {
  const std::string copy(text);  // `text` can be part of text_, which moves when it grows
  const std::uint32_t index =
      add_scalar(models::SmallPlace(place), source_.size() + text_.size(), copy.size());
  text_ += copy;
  return {this, index};
}

// Adds a new parent with aliases of its children, because a node has only one parent.
YamlValue YamlDocument::make_parent(Kind kind, Place place,
                                    const std::vector<YamlValue>& children) {
  const std::uint32_t parent = add_node(kind, place);
  nodes_[parent].size = static_cast<std::uint32_t>(children.size()) & kMaxSize;
  for (const YamlValue& child : children) {
    const std::uint32_t alias = add_node(Kind::kAlias, child.place());
    nodes_[alias].link = resolved(child.index_);
  }
  has_aliases_ = true;
  nodes_[parent].link = static_cast<std::uint32_t>(nodes_.size());
  return {this, parent};
}

YamlValue YamlDocument::make_list(Place place, const std::vector<YamlValue>& items) {
  return make_parent(Kind::kList, place, items);
}

YamlValue YamlDocument::make_map(Place place, const std::vector<YamlValue::Entry>& entries) {
  std::vector<YamlValue> children;
  children.reserve(2 * entries.size());
  for (const YamlValue::Entry& entry : entries) {
    children.push_back(entry.key);
    children.push_back(entry.value);
  }
  return make_parent(Kind::kMap, place, children);
}

void YamlDocument::release(const YamlValue::Entry& entry) {
  if (has_aliases_) return;
  if (entry.key.index_ != released_end_) released_ = released_end_ = entry.key.index_;
  const std::uint32_t end = behind(entry.value.index_);
  nodes_.release(released_, released_end_, end);
  released_end_ = end;
}

std::optional<YamlValue> YamlValue::find(std::string_view key) const {
  std::optional<YamlValue> found;
  if (!is_map()) return found;
  const std::uint32_t parent = document_->resolved(index_);
  std::uint32_t name = parent + 1;
  for (std::uint32_t i = 0; i < document_->nodes_[parent].size; i += 2) {
    const std::uint32_t value = document_->behind(name);
    const YamlDocument::Node& node = document_->nodes_[document_->resolved(name)];
    // Compares the lengths first, because most keys differ in length.
    const bool fits = static_cast<Kind>(node.kind) == Kind::kScalar && node.size == key.size();
    if (fits && YamlValue(document_, name).text() == key) found = YamlValue(document_, value);
    name = document_->behind(value);
  }
  return found;
}

std::vector<YamlValue> YamlValue::items() const {
  std::vector<YamlValue> result;
  result.reserve(size());
  for_each_item([&](const YamlValue& item) { result.push_back(item); });
  return result;
}

std::vector<YamlValue::Entry> YamlValue::entries() const {
  std::vector<Entry> result;
  if (!is_map()) return result;
  result.reserve(size() / 2);
  for_each_entry([&](const Entry& entry) { result.push_back(entry); });
  return result;
}

std::string YamlValue::described() const {
  switch (kind()) {
    case Kind::kNull:
      return "nothing";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kScalar:
    case Kind::kAlias:
      break;
  }
  constexpr std::size_t kMaxShown = 60;
  const std::string_view value = text();
  if (value.size() <= kMaxShown) return "'" + std::string(value) + "'";
  return "'" + std::string(value.substr(0, kMaxShown)) + "...'";
}

bool check_name(std::string_view name, const YamlValue& value, Diagnostics& diagnostics) {
  if (name.size() > kMaxName) {
    diagnostics.error(value.place(), models::Code::kBadName,
                      "a name can have at most " + std::to_string(kMaxName) + " bytes, found " +
                          std::to_string(name.size()));
    return false;
  }
  if (!models::has_control_characters(name)) return true;
  diagnostics.error(value.place(), models::Code::kBadName,
                    "a name cannot contain line breaks or other control characters");
  return false;
}

}  // namespace pipesim::formats
