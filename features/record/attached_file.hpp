// The two files of a rank that `pipesim attach` writes: docs/reference/record-format.md. This file
// decodes them; attached_record.hpp makes a record of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::formats {

/// The beginning of a rank's first file.
inline constexpr std::string_view kAttachedMagic = "pipesim1";

/// A line that a rank noted: its kind, the number of its thread, the arguments of its kind, and the
/// keys of its entry in the record, without braces.
struct AttachedLine {
  char kind = 0;
  std::uint32_t thread = 0;
  std::vector<std::string> words;
  std::string entry;
};

/// A block of lines that the rank noted `times` times in a row. Lines are indices in
/// AttachedRank::lines.
struct AttachedRun {
  std::vector<std::uint32_t> lines;
  std::int64_t times = 1;
};

/// The notes of a rank.
struct AttachedRank {
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::int64_t alive_at = 0;             // seconds since 1970
  std::int64_t idle = 0;                 // seconds without a new line, before `alive_at`
  std::uint32_t place = 0;               // line of the main thread's place, from 1; 0: unknown
  std::vector<std::uint32_t> in_a_call;  // lines of the calls that threads were in, from 1
  bool has_lost_lines = false;
  std::vector<AttachedLine> lines;
  std::vector<AttachedRun> runs;
};

/// Returns the rank of a file with this name: "rank3.calls". Returns nullopt for other names.
std::optional<std::uint32_t> rank_of_attached_file(std::string_view name);

/// Decodes the two files of a rank; `steps` can be cut anywhere. Returns nullopt if `calls` is not
/// a file of `pipesim attach`.
std::optional<AttachedRank> read_attached_rank(std::string_view calls, std::string_view steps);

}  // namespace pipesim::formats
