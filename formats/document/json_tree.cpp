#include "formats/document/json_tree.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/document/json_text.hpp"

namespace pipesim::formats {
namespace {

using Index = PlainTree::Index;

/// Builds a tree with places. The parser reports tokens without places, but in text order, so the
/// builder follows them in the text.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) at_ = kByteOrderMark.size();
  }

  bool null() override { return add(tree_.tree.add_null(), word()); }
  bool boolean(bool value) override { return add(tree_.tree.add_truth(value), word()); }
  bool number_integer(number_integer_t value) override {
    return add(tree_.tree.add_integer(value), word());
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add(tree_.tree.add_real(static_cast<double>(value)), word());
    }
    return add(tree_.tree.add_integer(static_cast<std::int64_t>(value)), word());
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(tree_.tree.add_real(value), word());
  }
  bool string(string_t& value) override { return add(tree_.tree.add_text(value), quoted()); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(string_t& value) override { return add(tree_.tree.add_text(value), quoted()); }
  bool start_object(std::size_t /*count*/) override { return open(PlainTree::Kind::kMap); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*count*/) override { return open(PlainTree::Kind::kList); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t byte, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    problem_byte_ = byte == 0 ? 0 : byte - 1;
    return false;
  }

  JsonTree take() { return std::move(tree_); }
  std::size_t problem_byte() const { return problem_byte_; }
  std::string limit() const {
    if (open_.size() > kMaxJsonDepth) return too_deep_text();
    if (!too_large()) return {};
    return fmt::format("this file has more than {} values", kMaxPlainValues);
  }

 private:
  bool too_large() const { return tree_.tree.size() > kMaxPlainValues; }
  std::size_t begin() {
    at_ = std::min(text_.size(), text_.find_first_not_of(" \t\r\n,:", at_));
    return at_;
  }
  std::size_t word() {
    const std::size_t first = begin();
    at_ = std::min(text_.size(), text_.find_first_of(" \t\r\n,:]}", first));
    return first;
  }
  std::size_t quoted() {
    const std::size_t first = begin();
    for (at_ = first + 1; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
    return first;
  }
  std::size_t bracket() {
    const std::size_t first = begin();
    ++at_;
    return first;
  }

  bool add(Index index, std::size_t byte) {
    tree_.bytes.push_back(static_cast<std::uint32_t>(byte));
    if (open_.empty()) {
      tree_.root = index;
    } else {
      items_.push_back(index);
    }
    if (too_large()) problem_byte_ = byte;
    return !too_large();
  }
  bool open(PlainTree::Kind kind) {
    const std::size_t byte = bracket();
    const Index index = tree_.tree.add_items(kind);
    const bool fits = add(index, byte);
    open_.push_back({index, items_.size()});
    if (open_.size() > kMaxJsonDepth) problem_byte_ = byte;
    return fits && open_.size() <= kMaxJsonDepth;
  }
  bool close() {
    bracket();
    const auto [index, first] = open_.back();
    tree_.tree.append(index, std::span(items_).subspan(first));
    items_.resize(first);
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;  // offset after the last token
  JsonTree tree_;
  struct Open {
    Index index;
    std::size_t first;  // index of its first item in items_
  };
  std::vector<Open> open_;
  // Items of all open values, so that each value gets all its items at once.
  std::vector<Index> items_;
  std::size_t problem_byte_ = 0;
};

}  // namespace

std::optional<JsonTree> read_json_tree(std::string_view text, JsonProblem& problem) {
  TreeBuilder builder(text);
  if (nlohmann::json::sax_parse(text, &builder)) return builder.take();
  problem.byte = builder.problem_byte();
  problem.limit = builder.limit();
  return std::nullopt;
}

}  // namespace pipesim::formats
