// The runs of a sweep in a file: what was asked for in its first line, then a line for each run
// that is done. Lines are added as runs end, in any order, so a sweep that was interrupted goes on
// where it stopped, and parts that were made on different machines become one. docs/how-to/sweep.md
// says more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/search/parameter_sweep.hpp"

namespace pipesim::formats {

/// Larger files are refused: so much have some 30 million runs.
inline constexpr std::size_t kMaxSweepBytes = std::size_t{4} << 30;

/// A sweep has at most this many parts.
inline constexpr std::uint32_t kMaxShards = 1'000'000;

/// Part `index` of `count`, from 1: it has the cases whose number leaves index - 1 when divided by
/// count.
struct Shard {
  std::uint32_t index = 1;
  std::uint32_t count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// What a sweep is of.
struct SweepHead {
  std::string made_by;            // the version of pipesim
  std::string path;               // of the scenario, as it was given; only shown
  std::string name;               // of the scenario
  std::uint64_t scenario = 0;     // see text_hash()
  std::vector<Setting> settings;  // of all runs
  models::ParameterGrid grid;
  Shard shard;

  /// Whether runs of `other` belong to the same sweep. Neither the path nor the part counts.
  bool same_sweep(const SweepHead& other) const;
};

/// A number for a text, the same everywhere.
std::uint64_t text_hash(std::string_view text);

/// The first line, with its end.
std::string sweep_head_line(const SweepHead& head);

/// The line of a case, with its end.
std::string sweep_case_line(std::uint64_t number, const models::CaseResult& result);

struct SweepFile {
  SweepHead head;
  std::vector<std::pair<std::uint64_t, models::CaseResult>> cases;  // by number, each once
  std::size_t whole_bytes = 0;  // of `text`; behind them is a line that was not written to its end
};

/// What was written with these. Nothing where `text` is something else; `diagnostics` says why.
std::optional<SweepFile> read_sweep_file(const std::string& text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
