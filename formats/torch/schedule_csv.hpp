// PyTorch's CSV files of pipeline schedules (torch.distributed.pipelining): one row per rank, one
// action per cell, empty cells for slots without work. docs/reference/schedules.md describes the
// cells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::formats {

/// Above so many bytes a file is no schedule.
inline constexpr std::size_t kMaxScheduleBytes = std::size_t{1} << 28;

/// One row, wherever it stands.
struct ScheduleRow {
  std::string_view text;
  models::Place place;  // of its first character
};

/// The rows of a file, which must outlive them. Empty lines at the end are none.
std::vector<ScheduleRow> schedule_rows(std::string_view text);

/// The schedule in `rows`, valid (models::validate), of so many pipelines (see models::Schedule).
/// Stages and micro-batches are as many as the rows name. Both vocabularies are understood: since
/// November 2024 I is the input gradient and B the whole backward; before, B was the input gradient
/// and BW the whole. `partial`: see models::Schedule. Nothing where there are mistakes, which
/// `diagnostics` then has.
std::optional<models::Schedule> read_schedule(const std::vector<ScheduleRow>& rows,
                                              std::uint32_t pipelines,
                                              models::Diagnostics& diagnostics,
                                              bool partial = false);

/// The row of each rank, without the end of the line.
std::vector<std::string> schedule_row_texts(const models::Schedule& schedule);

/// The whole file, in the new vocabulary; lines end as PyTorch ends them (CRLF).
std::string write_schedule(const models::Schedule& schedule);

}  // namespace pipesim::formats
