#include "formats/document/json_parse.hpp"

#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/document/json_text.hpp"

namespace pipesim::formats {
namespace {

// Returns the byte of the bracket that opens one list or map too many. Open lists take memory, so a
// file of brackets would take at least fifty times its size.
std::optional<std::size_t> too_deep_at(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return i;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

std::string without_article(std::string_view name) {
  return std::string(name.substr(name.find(' ') + 1));
}

// Describes the parser's error at `byte`.
std::string problem_text(std::string_view text, std::size_t byte, std::string_view name,
                         const nlohmann::json::parse_error& error) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos || byte > last) {
    return fmt::format("truncated {}: it ends too early", without_article(name));
  }
  const bool no_utf8 = std::string_view(error.what()).find("UTF-8") != std::string_view::npos;
  return fmt::format("not {}: invalid {}", name, no_utf8 ? "UTF-8" : "JSON");
}

}  // namespace

template <typename Json>
std::optional<Json> parse_json(std::string_view text, const JsonKind& kind,
                               models::Diagnostics& diagnostics, models::Place begin) {
  const auto refuse = [&](std::size_t byte, models::Code code, const std::string& message) {
    auto& told = diagnostics.error(place_of_byte(text, byte, begin), code, message);
    if (kind.hint != nullptr) told.notes.emplace_back(kind.hint);
    return std::nullopt;
  };
  if (const auto byte = too_deep_at(text)) {
    return refuse(*byte, models::Code::kLimit, too_deep_text());
  }
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    return refuse(byte, kind.code, problem_text(text, byte, kind.name, error));
  } catch (const nlohmann::json::out_of_range&) {
    // A number is too large, such as 1e999. The library does not report its place.
    return refuse(0, kind.code,
                  fmt::format("invalid {}: a number is too large", without_article(kind.name)));
  }
}

template std::optional<nlohmann::ordered_json> parse_json(std::string_view text,
                                                          const JsonKind& kind,
                                                          models::Diagnostics& diagnostics,
                                                          models::Place begin);

}  // namespace pipesim::formats
