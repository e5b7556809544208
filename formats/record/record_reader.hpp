// Records that `pipesim record` writes: docs/reference/record-format.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/record/record.hpp"

namespace pipesim::formats {

/// Larger files are refused, and so are longer lines.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxRecordLineBytes = std::size_t{4} << 20;

/// The name of the file that describes a record.
inline constexpr std::string_view kRecordFile = "record.json";

/// A file of a record.
struct RecordText {
  std::string path;
  std::string text;
};

/// The rank whose file has this name: "rank3.jsonl". Nothing for other names.
std::optional<std::uint32_t> rank_of_record_file(std::string_view name);

/// The record of which `files` are the files: first record.json, then those of ranks, in any order.
/// Places in the n-th file, from 0, are of file n. Nothing where they have mistakes, for what
/// `diagnostics` says. All text in it is printable.
std::optional<models::Record> read_record(const std::vector<RecordText>& files,
                                          models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
