#include "models/passes/pass.hpp"

#include <charconv>
#include <utility>

#include "sim/check.hpp"

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
  PIPESIM_CHECK(found != values_.end());  // a pass asks for what it declares
  return found->second;
}

std::int64_t PassOptions::number(std::string_view name) const {
  const std::optional<std::int64_t> value = parsed_number(text(name));
  PIPESIM_CHECK(value.has_value());
  return *value;
}

bool PassOptions::truth(std::string_view name) const { return text(name) == "on"; }

bool is_option_value(std::string_view text, OptionType type) {
  switch (type) {
    case OptionType::kNumber:
      return parsed_number(text).has_value();
    case OptionType::kTruth:
      return text == "on" || text == "off";
    case OptionType::kText:
      break;
  }
  return true;
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
