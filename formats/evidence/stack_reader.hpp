// Stacks as `py-spy dump` prints them, of one process or many, also collected by srun or pdsh; and
// what `pipesim run --stacks` prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"
#include "models/postmortem/stack_evidence.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMostStackBytes = std::size_t{256} << 20;

/// Puts stacks of several files together. The rank of a process is what its line says (`rank 3 of`,
/// `--rank 3`, `--local_rank=3`), what stands before its lines (`3: `, `[host:3]`), or the number
/// at the end of the file's name; else processes are counted.
class StackReader {
 public:
  /// Reads a file. False, with an error, where there is no stack in it.
  bool read(const std::string& text, const std::string& path, models::Diagnostics& diagnostics);

  /// Lines that were passed over.
  std::uint64_t other_lines() const { return other_lines_; }

  models::StackDumps take() { return std::move(dumps_); }

 private:
  /// Lines with different labels may be mixed.
  struct Stream {
    std::optional<std::uint32_t> rank;
    std::string process;
    bool has_process = false;
    std::optional<std::size_t> thread;  // in dumps_.threads
  };

  bool take_line(Stream& stream, std::string_view line, std::optional<std::uint32_t> rank);
  void begin_process(Stream& stream, std::string_view line, std::optional<std::uint32_t> rank);

  models::StackDumps dumps_;
  std::uint32_t next_rank_ = 0;  // of processes that say none
  std::uint64_t other_lines_ = 0;
};

}  // namespace pipesim::formats
