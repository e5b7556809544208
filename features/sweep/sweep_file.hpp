// A file with the runs of a sweep: the sweep's inputs in the first line, then a line for each
// finished run. Runs are appended in the order in which they end. So an interrupted sweep can
// resume, and parts made on different machines can be merged. docs/how-to/sweep.md has the details.
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

#include "features/sweep/parameter_sweep.hpp"

namespace pipesim::formats {

/// Size limit of a sweep file, about 30 million runs.
inline constexpr std::size_t kMaxSweepBytes = std::size_t{4} << 30;

/// Limit on the parts of a sweep.
inline constexpr std::uint32_t kMaxShards = 1'000'000;

/// Part `index` of `count`, from 1: the cases with number modulo `count` equal to `index` - 1.
struct Shard {
  std::uint32_t index = 1;
  std::uint32_t count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// The inputs of a sweep.
struct SweepHead {
  std::string made_by;            // version of pipesim
  std::string path;               // path of the scenario, as given; only shown
  std::string name;               // name of the scenario
  std::uint64_t scenario = 0;     // text_hash() of the scenario
  std::vector<Setting> settings;  // settings of all runs
  models::ParameterGrid grid;
  Shard shard;

  /// Whether runs of `other` belong to the same sweep. Ignores the path, the name and the index of
  /// the shard.
  bool same_sweep(const SweepHead& other) const;
};

/// Returns a hash of `text` that is equal on all machines.
std::uint64_t text_hash(std::string_view text);

/// Returns the first line of a sweep file, with its line break.
std::string sweep_head_line(const SweepHead& head);

/// Returns the line of a case, with its line break.
std::string sweep_case_line(std::uint64_t number, const models::CaseResult& result);

struct SweepFile {
  SweepHead head;
  // Numbers and results of the finished runs, sorted by number, without duplicates.
  std::vector<std::pair<std::uint64_t, models::CaseResult>> cases;
  std::size_t whole_bytes = 0;  // bytes up to the end of the last complete line
};

/// Reads a sweep file. Returns nullopt for other text; `diagnostics` gets the reason.
std::optional<SweepFile> read_sweep_file(const std::string& text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
