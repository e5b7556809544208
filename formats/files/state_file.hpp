// The end of a run as a file that other people can open: the core file of a simulated job.
//
// The file stores no memory of the engine. A run is a pure function of scenario, settings and
// limits, so the file stores these inputs, and the result as a check. The file is therefore small
// and readable, and supports every present and future view. docs/how-to/inspect.md has the details.
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

/// Size limit of a state file.
inline constexpr std::size_t kMaxStateBytes = std::size_t{256} << 20;

/// The inputs of a run, and its end.
struct SavedState {
  std::string made_by;   // version of pipesim
  std::string path;      // path of the scenario, as shown in reports
  std::string scenario;  // text of the scenario
  std::vector<PatchText> patches;
  std::vector<Setting> settings;
  std::string until;         // value of --until; empty: none
  sim::Jitter jitter{};      // variation of durations
  bool interrupted = false;  // interrupted by the user, after `events`
  std::uint64_t events = 0;  // number of handled events
  sim::Verdict verdict = sim::Verdict::kCompleted;
  std::uint64_t fingerprint = 0;

  friend bool operator==(const SavedState&, const SavedState&) = default;
};

/// Writes `state` as JSON. nullopt if the scenario is not UTF-8, which JSON requires; `diagnostics`
/// gets the error.
std::optional<std::string> write_state(const SavedState& state, models::Diagnostics& diagnostics);

/// Reads the output of write_state(). nullopt for other text; `diagnostics` gets the reason.
std::optional<SavedState> read_state(const std::string& text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
