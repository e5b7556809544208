// The end of a run as a file that somebody else can open: the core file of a simulated job.
//
// It holds no memory of the engine. A run is a pure function of scenario, settings and limits, so
// the file holds these, and what came of them as a check: small, readable, and good for every view
// that there is or will be. docs/how-to/inspect.md says more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "sim/fingerprint.hpp"
#include "sim/jitter.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMaxStateBytes = std::size_t{256} << 20;

/// What a run was made from, and how it ended.
struct SavedState {
  std::string made_by;   // the version of pipesim
  std::string path;      // of the scenario, as reports show it
  std::string scenario;  // its text
  std::vector<PatchText> patches;
  std::vector<Setting> settings;
  std::string until;         // --until, as it was given; empty: nothing
  sim::Jitter jitter{};      // how durations varied
  bool interrupted = false;  // by the user, after `events`
  std::uint64_t events = 0;  // that were handled
  sim::Verdict verdict = sim::Verdict::kCompleted;
  std::uint64_t fingerprint = 0;

  friend bool operator==(const SavedState&, const SavedState&) = default;
};

/// `state` as JSON. Nothing where its scenario is no UTF-8, which JSON cannot hold; `diagnostics`
/// then says so.
std::optional<std::string> write_state(const SavedState& state, models::Diagnostics& diagnostics);

/// What write_state() wrote. Nothing where `text` is something else; `diagnostics` says why.
std::optional<SavedState> read_state(const std::string& text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
