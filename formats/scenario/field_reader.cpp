#include "formats/scenario/field_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "formats/scenario/cluster_reader.hpp"
#include "formats/scenario/section_readers.hpp"
#include "models/graph/parts.hpp"

namespace pipesim::formats {

using models::FieldTraits;
using models::kNoIndex;
using models::To;

std::optional<YamlValue> FieldReader::take(MapReader& map, std::string_view name,
                                           const FieldTraits& traits, std::string_view otherwise) {
  if (traits.type == "text") {
    map.take_text(name);
    return std::nullopt;
  }
  return otherwise == models::kRequired ? map.require(name) : map.take(name);
}

ValueType value_type(models::Unit unit) {
  switch (unit) {
    case models::Unit::kNumber:
      break;
    case models::Unit::kTime:
      return ValueType::kTime;
    case models::Unit::kBytes:
      return ValueType::kBytes;
    case models::Unit::kBandwidth:
      return ValueType::kBandwidth;
  }
  return ValueType::kNumber;
}

// Returns nullopt after an error.
std::optional<std::int64_t> FieldReader::number(const Found& found) const {
  const FieldTraits& traits = found.traits;
  const std::optional<std::int64_t> number = values_.constant(found.value, value_type(traits.unit));
  if (!number || (*number >= traits.least && *number <= traits.most)) return number;
  std::string limits = fmt::format("between {} and {}", traits.least, traits.most);
  if (traits.most == std::numeric_limits<std::int64_t>::max()) {
    constexpr std::array<std::string_view, 4> kUnits = {"", "s", "B", "B/s"};
    limits =
        fmt::format("at least {}{}", traits.least, kUnits[static_cast<std::size_t>(traits.unit)]);
  }
  models::Diagnostic& error = values_.diagnostics().error(
      found.value.place(), models::Code::kOutOfRange,
      fmt::format("'{}' must be {}, found {}", found.name, limits,
                  traits.unit == models::Unit::kNumber ? std::to_string(*number)
                                                       : found.value.described()));
  if (traits.zero_is_none) error.notes.emplace_back("0s: none");
  return std::nullopt;
}

// Returns the index of the thing that the value names, kNoIndex after an error. Without a cluster,
// reports no error for a host or a link: the reader of faults does.
std::uint32_t FieldReader::index(const Found& found) const {
  const To to = found.traits.to;
  if (to == To::kHost) {
    return graph_.cluster ? read_host(found.value, values_, *graph_.cluster) : kNoIndex;
  }
  const std::optional<std::string> word = values_.word(found.value);
  if (!word || (to == To::kLink && !graph_.cluster)) return kNoIndex;
  if (to == To::kInterface && !graph_.cluster) {
    values_.diagnostics().error(found.value.place(), models::Code::kNoCluster,
                                fmt::format("'{}' needs a 'cluster'", found.name));
    return kNoIndex;
  }
  const std::uint32_t index = find_thing(graph_, to, *word);
  if (index != kNoIndex) return index;
  const models::Code code = to == To::kInterface || to == To::kLink  ? models::Code::kUnknownHost
                            : to == To::kStream || to == To::kThread ? models::Code::kUnknownStream
                                                                     : models::Code::kUnknownGroup;
  const std::string_view what = to == To::kThread ? "host thread"
                                : to == To::kLink ? "link class"
                                                  : noun(to);
  models::Diagnostic& error = values_.diagnostics().error(
      found.value.place(), code, fmt::format("unknown {} '{}'", what, *word));
  models::suggest_name(error, *word, names_of(graph_, to));
  return kNoIndex;
}

void FieldReader::set(const Found& found, bool& member) const {
  member = values_.truth(found.value).value_or(member);
}

void FieldReader::set(const Found& found, std::int64_t& member) const {
  member = number(found).value_or(member);
}

void FieldReader::set(const Found& found, std::optional<std::int64_t>& member) const {
  if (const auto value = number(found)) member = value;
}

void FieldReader::set(const Found& found, std::uint32_t& member) const {
  member = found.traits.to == To::kNothing
               ? static_cast<std::uint32_t>(number(found).value_or(member))
               : index(found);
}

void FieldReader::set(const Found& found, std::vector<std::uint32_t>& links) const {
  links = read_links_of(found.value, values_, graph_.cluster ? &*graph_.cluster : nullptr);
}

void FieldReader::set(const Found& found, models::ShortList<std::uint32_t>& indices) const {
  indices = {index(found)};
}

void FieldReader::set(const Found& found, std::string& member) const {
  if (found.value.is_scalar()) {
    member = found.value.text();
    return;
  }
  values_.diagnostics().error(
      found.value.place(), models::Code::kWrongType,
      fmt::format("'{}' must be text, found {}", found.name, found.value.described()));
}

void FieldReader::set(const Found& found, models::ShortList<std::string>& tensors) const {
  tensors = read_tensors(found.value, values_);
}

void FieldReader::set(const Found& found, models::RankSet& member) const {
  if (auto ranks = values_.rank_set(found.value)) member = std::move(*ranks);
}

void FieldReader::set(const Found& found, models::Word& member) const {
  const std::vector<std::string> words = quoted_words(found.traits.words);
  const std::optional<std::string> word = values_.one_of(found.value, words);
  if (!word) return;
  member.index = static_cast<int>(std::find(words.begin(), words.end(), *word) - words.begin());
}

std::vector<std::string> read_tensors(const YamlValue& value, const ValueReader& values) {
  std::vector<std::string> names;
  const std::optional<YamlValue> picked = values.resolved(value);
  if (!picked || picked->is_null()) return names;
  if (!picked->is_list()) {
    values.diagnostics().error(
        picked->place(), models::Code::kWrongType,
        fmt::format("tensors must be a list of names, found {}", picked->described()));
    return names;
  }
  for (const YamlValue& item : picked->items()) {
    const std::optional<std::string> name = values.word(item);
    if (!name) continue;
    if (std::find(names.begin(), names.end(), *name) != names.end()) {
      values.diagnostics().error(item.place(), models::Code::kDuplicateName,
                                 fmt::format("duplicate tensor '{}'", *name));
    }
    names.push_back(*name);
  }
  return names;
}

}  // namespace pipesim::formats
