// Appends values to a document, in the order in which a parser reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document/yaml_document.hpp"

namespace pipesim::formats {

/// Limit on the nesting of lists and maps, in levels; real files nest far less deeply.
inline constexpr std::size_t kMaxDocumentDepth = 100;

inline std::string too_deep_text() {
  return "nested more than " + std::to_string(kMaxDocumentDepth) + " deep";
}

class DocumentBuilder {
 public:
  DocumentBuilder(YamlDocument& document, std::uint32_t file) : document_(document), file_(file) {}

  /// Thrown when the text exceeds a limit, and caught in YamlDocument::add().
  struct Stop {
    models::Place place;
    models::Code code;
    std::string message;
    std::string help{};  // advice; can be empty
  };

  std::uint32_t file() const { return file_; }

  /// Removes all values of the document.
  void clear() {
    document_.clear();
    open_.clear();
  }

  std::uint32_t add(YamlValue::Kind kind, models::Place place) {
    count();
    return document_.add_node(kind, place);
  }

  /// Adds a scalar. Its text is the `size` bytes at `first`, an offset from add_text() or use().
  std::uint32_t add_scalar(models::Place place, std::size_t first, std::size_t size, bool quoted) {
    count();
    return document_.add_scalar(models::SmallPlace(place, quoted), first, size);
  }

  std::uint32_t add_alias(models::Place place, std::uint32_t target) {
    const std::uint32_t index = add(YamlValue::Kind::kAlias, place);
    document_.nodes_[index].link = target;
    document_.has_aliases_ = true;
    return index;
  }

  std::uint32_t open(YamlValue::Kind kind, models::Place place) {
    if (open_.size() >= kMaxDocumentDepth) {
      throw Stop{place, models::Code::kLimit, too_deep_text()};
    }
    const std::uint32_t index = add(kind, place);
    open_.push_back(index);
    return index;
  }

  void close() {
    document_.nodes_[open_.back()].link = static_cast<std::uint32_t>(document_.nodes_.size());
    open_.pop_back();
  }

  /// Returns the beginning of the innermost open list or map.
  std::optional<models::Place> innermost() const {
    if (open_.empty()) return std::nullopt;
    return document_.nodes_[open_.back()].place.place();
  }

  /// Stores text for scalars, and returns its offset.
  std::size_t add_text(std::string_view text) {
    const std::size_t begin = document_.source_.size() + document_.text_.size();
    document_.text_ += text;
    return begin;
  }

  /// Stores the whole text that a parser reads, and returns its offset. The text of an empty
  /// document is not copied, and must outlive the document.
  std::size_t use(std::string_view text) {
    if (!document_.nodes_.empty()) return add_text(text);
    document_.source_ = text;
    return 0;
  }

 private:
  void count() {
    if (!open_.empty()) ++document_.nodes_[open_.back()].size;
  }

  YamlDocument& document_;
  std::uint32_t file_;
  std::vector<std::uint32_t> open_;  // indices of open nodes
};

}  // namespace pipesim::formats
