#include "models/result/jitter.hpp"

#include <cstdint>

#include "models/graph/whole_number.hpp"

namespace pipesim::models {
std::optional<sim::Jitter> parse_jitter(std::string_view text) {
  sim::Jitter jitter;
  if (text == "free") {
    jitter.free = true;
    return jitter;
  }
  if (text == "0") return jitter;
  if (text.empty() || text.back() != '%') return std::nullopt;
  text.remove_suffix(1);
  const std::size_t point = text.find('.');
  std::uint32_t tenths = 0;
  if (point != std::string_view::npos) {
    const auto digit = whole_number<std::uint32_t>(text.substr(point + 1));
    if (!digit || text.size() != point + 2) return std::nullopt;
    tenths = *digit;
    text = text.substr(0, point);
  }
  const auto percent = whole_number<std::uint32_t>(text);
  if (!percent || *percent > kMaxJitter / 10) return std::nullopt;
  jitter.permille = *percent * 10 + tenths;
  if (jitter.permille > kMaxJitter) return std::nullopt;
  return jitter;
}

std::string jitter_text(const sim::Jitter& jitter) {
  if (jitter.free) return "free";
  if (jitter.permille == 0) return "0";
  std::string text = std::to_string(jitter.permille / 10);
  if (jitter.permille % 10 > 0) text += "." + std::to_string(jitter.permille % 10);
  return text + "%";
}

}  // namespace pipesim::models
