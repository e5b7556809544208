// Random timings as text: the argument of --jitter, also used in reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/jitter.hpp"

namespace pipesim::models {

/// The maximum variation of durations, in permille.
inline constexpr std::uint32_t kMaxJitter = 1'000'000;

/// Parses "10%", "0.5%", "0" or "free"; sets the seed to 0. Returns nullopt for other text, and
/// above kMaxJitter.
std::optional<sim::Jitter> parse_jitter(std::string_view text);

/// The forms that parse_jitter() accepts, for error messages.
inline constexpr std::string_view kJitterForms = "0, a percentage (10%, 0.5%) or free";

/// Formats `jitter` in its shortest form, without the seed.
std::string jitter_text(const sim::Jitter& jitter);

}  // namespace pipesim::models
