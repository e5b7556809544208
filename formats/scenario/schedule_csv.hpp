// Reads and writes PyTorch's CSV files of pipeline schedules (torch.distributed.pipelining): one
// row per rank, one action per cell, empty cells for slots without work.
// docs/reference/schedules.md describes the cells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::formats {

/// Size limit of a schedule file.
inline constexpr std::size_t kMaxScheduleBytes = std::size_t{1} << 28;

/// One row, from any source.
struct ScheduleRow {
  std::string_view text;
  models::Place place;  // place of its first character
};

/// Returns the rows of the file `text`, which must outlive the rows. Empty lines at the end are not
/// rows.
std::vector<ScheduleRow> schedule_rows(std::string_view text);

/// Reads a schedule of `pipelines` pipelines (see models::Schedule), and validates it
/// (models::validate). The largest stage and micro-batch in the rows give the numbers of stages and
/// micro-batches. Understands both vocabularies. Since November 2024, I is the input gradient and B
/// the whole backward; before, B was the input gradient and BW the whole backward. `partial`: see
/// models::Schedule. Returns nullopt after mistakes, which `diagnostics` lists.
std::optional<models::Schedule> read_schedule(const std::vector<ScheduleRow>& rows,
                                              std::uint32_t pipelines,
                                              models::Diagnostics& diagnostics,
                                              bool partial = false);

/// Returns the row of each rank, without the line end.
std::vector<std::string> schedule_row_texts(const models::Schedule& schedule);

/// Returns the whole file in the new vocabulary, with PyTorch's line ends (CRLF).
std::string write_schedule(const models::Schedule& schedule);

}  // namespace pipesim::formats
