// Descriptions of the groups, calls and ends of a record, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/recorded.hpp"

#include "features/record/record.hpp"

namespace pipesim::models {

/// Returns the members of a group: "[0, 1]", "[0-7]", "[0, 8, ... 56]".
std::string members_text(std::vector<std::uint32_t> ranks);

/// Returns the name of a group: "the world group", "group [0, 1] of tp_dp.py:8", "group mesh_tp
/// [0-3]".
std::string group_text(const Record& record, std::uint32_t group);

/// Describes a collective call: "all_gather of 8 B, int64", "broadcast of 4 KiB, float32, from rank
/// 0", "barrier".
std::string call_text(const Record& record, const RecordEntry& entry);

/// Returns the bytes of one element: 4 for "float32", 1 for "bool".
std::int64_t bytes_of_type(const std::string& type);

/// Returns the ranks that raised an exception or exited with an error.
std::vector<FailedRanks> failures_of(const Record& record);

/// Returns the state of a rank at the end of its record: "finished", "raised ValueError: loss at
/// train.py:3", "is in train.py:44 evaluate > all_reduce".
std::string end_text(const Record& record, std::uint32_t rank);

}  // namespace pipesim::models
