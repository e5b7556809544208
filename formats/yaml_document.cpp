#include "formats/yaml_document.hpp"

#include <istream>
#include <map>
#include <streambuf>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace pipesim::formats {

using models::Diagnostics;
using models::Place;
using Kind = YamlValue::Kind;

namespace {

constexpr std::size_t kDeepest = 100;

// Values that aliases stand for: what a reader may come to walk through beside what was written,
// which is bounded by the size of files.
constexpr std::uint64_t kMostRepeated = 10'000'000;

// Thrown inside yaml-cpp's callbacks and caught where it is called, in this file only.
struct Stop {
  Place place;
  std::string message;
};

Place place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

// Lets yaml-cpp, which wants a stream, read text that is in memory already.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(const std::string& text) {
    char* begin = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace

/// Appends a node per event. Children are linked, since a parent's children are not consecutive.
class YamlBuilder : public YAML::EventHandler {
 public:
  explicit YamlBuilder(YamlDocument& document) : document_(document) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(Kind::kNull, mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end())
      throw Stop{place_of(mark), "an alias of something that is not complete"};
    document_.nodes_[add(Kind::kAlias, mark, 0)].first = target->second.node;
    values_ += target->second.values - 1;
    repeated_ += target->second.values - 1;
    if (repeated_ > kMostRepeated) {
      throw Stop{place_of(mark), "the aliases of a scenario stand for at most " +
                                     std::to_string(kMostRepeated) + " values"};
    }
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlDocument::Node& node = document_.nodes_[add(Kind::kScalar, mark, anchor)];
    node.quoted = tag == "!";
    node.first = static_cast<std::uint32_t>(document_.text_.size());
    node.size = static_cast<std::uint32_t>(value.size());
    document_.text_ += value;
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
  struct Open {
    std::uint32_t node;
    std::uint32_t last_child;
    YAML::anchor_t anchor;
    std::uint64_t values_before;
  };

  struct Anchored {
    std::uint32_t node = 0;
    std::uint64_t values = 0;  // in it, itself among them
  };

  std::uint32_t add(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto index = static_cast<std::uint32_t>(document_.nodes_.size());
    YamlDocument::Node node;
    node.kind = kind;
    node.place = place_of(mark);
    document_.nodes_.push_back(node);
    if (!open_.empty()) {
      Open& parent = open_.back();
      YamlDocument::Node& parent_node = document_.nodes_[parent.node];
      if (parent_node.size++ == 0) {
        parent_node.first = index;
      } else {
        document_.nodes_[parent.last_child].next = index;
      }
      parent.last_child = index;
    }
    ++values_;
    if (anchor != 0 && kind != Kind::kList && kind != Kind::kMap) anchors_[anchor] = {index, 1};
    return index;
  }

  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= kDeepest) {
      throw Stop{place_of(mark), "nested more than " + std::to_string(kDeepest) + " deep"};
    }
    const std::uint64_t before = values_;
    open_.push_back({add(kind, mark, anchor), 0, anchor, before});
  }

  // An anchor counts once its value is complete, so that nothing can contain itself.
  void close() {
    const Open& last = open_.back();
    if (last.anchor != 0) anchors_[last.anchor] = {last.node, values_ - last.values_before};
    open_.pop_back();
  }

  YamlDocument& document_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::uint64_t values_ = 0;    // each alias counted with all it stands for
  std::uint64_t repeated_ = 0;  // of those what aliases stand for
};

std::optional<YamlDocument> YamlDocument::parse(const std::string& text, Diagnostics& diagnostics) {
  YamlDocument document;
  document.text_.reserve(text.size());
  YamlBuilder builder(document);
  TextBuffer buffer(text);
  std::istream stream(&buffer);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder) || document.nodes_.empty()) {
      diagnostics.error({1, 1}, "the file holds no scenario");
      return std::nullopt;
    }
    YamlDocument rest;
    YamlBuilder rest_builder(rest);
    if (parser.HandleNextDocument(rest_builder) && !rest.nodes_.empty()) {
      diagnostics.error(rest.nodes_.front().place, "a second document in one file")
          .notes.emplace_back("a scenario is one document: remove the '---' before this");
      return std::nullopt;
    }
  } catch (const YAML::Exception& error) {
    diagnostics.error(place_of(error.mark), "this is no YAML: " + error.msg);
    return std::nullopt;
  } catch (const Stop& stop) {
    diagnostics.error(stop.place, stop.message);
    return std::nullopt;
  }
  return document;
}

Kind YamlValue::kind() const { return document_->resolved(index_).kind; }

Place YamlValue::place() const { return document_->nodes_[index_].place; }

std::string_view YamlValue::text() const {
  const YamlDocument::Node& node = document_->resolved(index_);
  if (node.kind != Kind::kScalar) return {};
  return std::string_view(document_->text_).substr(node.first, node.size);
}

bool YamlValue::quoted() const { return document_->resolved(index_).quoted; }

std::vector<YamlValue> YamlValue::items() const {
  const YamlDocument::Node& node = document_->resolved(index_);
  std::vector<YamlValue> result;
  if (node.kind != Kind::kList && node.kind != Kind::kMap) return result;
  result.reserve(node.size);
  std::uint32_t child = node.first;
  for (std::uint32_t i = 0; i < node.size; ++i) {
    result.emplace_back(document_, child);
    child = document_->nodes_[child].next;
  }
  return result;
}

std::vector<YamlValue::Entry> YamlValue::entries() const {
  std::vector<Entry> result;
  if (!is_map()) return result;
  const std::vector<YamlValue> children = items();
  result.reserve(children.size() / 2);
  for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
    result.push_back({children[i], children[i + 1]});
  }
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
  constexpr std::size_t kLongest = 60;
  const std::string_view value = text();
  if (value.size() <= kLongest) return "'" + std::string(value) + "'";
  return "'" + std::string(value.substr(0, kLongest)) + "...'";
}

bool check_name(std::string_view name, const YamlValue& value, Diagnostics& diagnostics) {
  if (!models::has_control_characters(name)) return true;
  diagnostics.error(value.place(), "a name has no control characters, such as ends of lines");
  return false;
}

}  // namespace pipesim::formats
