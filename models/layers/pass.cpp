#include "models/layers/pass.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/assert.hpp"

namespace pipesim::models {
namespace {

std::optional<std::int64_t> parsed_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

const std::string& PassOptions::text(std::string_view name) const {
  const auto found = values_.find(name);
  PIPESIM_CHECK(found != values_.end());  // passes ask only for options that they declare
  return found->second;
}

std::int64_t PassOptions::number(std::string_view name) const {
  const std::optional<std::int64_t> value = parsed_number(text(name));
  PIPESIM_CHECK(value.has_value());
  return *value;
}

bool PassOptions::truth(std::string_view name) const { return text(name) == "on"; }

bool is_option_value(std::string_view text, const PassOption& option) {
  switch (option.type) {
    case OptionType::kNumber: {
      const std::optional<std::int64_t> value = parsed_number(text);
      return value && *value >= option.at_least;
    }
    case OptionType::kTruth:
      return text == "on" || text == "off";
    case OptionType::kText:
      break;
  }
  return option.one_of.empty() ||
         std::find(option.one_of.begin(), option.one_of.end(), text) != option.one_of.end();
}

std::string option_values(const PassOption& option) {
  switch (option.type) {
    case OptionType::kNumber:
      return option.at_least == std::numeric_limits<std::int64_t>::min()
                 ? "an integer"
                 : "an integer of at least " + std::to_string(option.at_least);
    case OptionType::kTruth:
      return "on or off";
    case OptionType::kText:
      break;
  }
  if (option.one_of.empty()) return "a text";
  std::string text = "one of";
  for (std::size_t i = 0; i < option.one_of.size(); ++i) {
    text += i == 0 ? " '" : i + 1 == option.one_of.size() ? " and '" : ", '";
    text += option.one_of[i] + "'";
  }
  return text;
}

bool PassRegistry::add(Pass pass) {
  std::string name = pass.name;
  return passes_.emplace(std::move(name), std::move(pass)).second;
}

const Pass* PassRegistry::find(std::string_view name) const {
  const auto found = passes_.find(name);
  return found == passes_.end() ? nullptr : &found->second;
}

std::vector<std::string> PassRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, pass] : passes_) names.push_back(name);
  return names;
}

}  // namespace pipesim::models
