// Reads records that `pipesim record` wrote: docs/reference/record-format.md.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"

#include "features/record/record.hpp"

namespace pipesim::formats {

/// The maximum sizes of a file and of a line, in bytes.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxRecordLineBytes = std::size_t{4} << 20;

/// The name of the file that describes a record.
inline constexpr std::string_view kRecordFile = "record.json";

/// A file of a record.
struct RecordText {
  std::string path;
  std::string text;
  bool is_in_file = false;  // whether the text must still be read from the file
};

/// Returns the rank in the name of a file: 3 in "rank3.jsonl", where `ending` is ".jsonl". Returns
/// nullopt for other names.
std::optional<std::uint32_t> rank_in_name(std::string_view name, std::string_view ending);

/// Returns the rank of a file with this name: "rank3.jsonl". Returns nullopt for other names.
std::optional<std::uint32_t> rank_of_record_file(std::string_view name);

/// Reads a record from its files: first record.json, then the files of the ranks, in any order.
/// Places in the n-th file (from 0) have file n. Returns nullopt after mistakes, which
/// `diagnostics` lists. All strings in the record are printable. `read` reads the files whose text
/// is not given, one at a time, so that a long record is never in memory as text.
using ReadText = std::function<std::string(const std::string& path)>;
std::optional<models::Record> read_record(const std::vector<RecordText>& files,
                                          models::Diagnostics& diagnostics,
                                          const ReadText& read = {});

}  // namespace pipesim::formats
