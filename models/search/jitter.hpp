// Random timings in words: what users write behind --jitter, and what reports show.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/jitter.hpp"

namespace pipesim::models {

/// The most that durations can vary by, in permille.
inline constexpr std::uint32_t kMaxJitter = 1'000'000;

/// "10%", "0.5%", "0" or "free"; the seed is 0. Nothing where `text` is none of them, or larger
/// than kMaxJitter.
std::optional<sim::Jitter> parse_jitter(std::string_view text);

/// What parse_jitter() reads, for messages.
inline constexpr std::string_view kJitterForms = "0, a percentage (10%, 0.5%) or free";

/// The same in the shortest words, without the seed.
std::string jitter_text(const sim::Jitter& jitter);

}  // namespace pipesim::models
