// Stacks of one process or many: as `py-spy dump` prints them, as text or JSON, Python's
// faulthandler, torch.distributed's debug server, and gdb, also collected by srun or pdsh; and what
// `pipesim run --stacks` prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/postmortem/stack_evidence.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMaxStackBytes = std::size_t{256} << 20;

/// Puts stacks of several files together. The rank of a process is what stands before its lines
/// (`3: `, `[host:3]`, `=== Rank 3 ===`) or in them (`rank 3 of`); the number at the end of the
/// name of a file that has one process; or that of an option (`--rank 3`), if each process has
/// another one; of `--local_rank=3` it is the rank on its host; else processes are counted.
/// Launchers and data workers are none.
class StackReader {
 public:
  /// Reads a file. False, with an error, where there is no stack in it.
  bool read(const std::string& text, const std::string& path, models::Diagnostics& diagnostics);

  /// Lines that were passed over.
  std::uint64_t other_lines() const { return other_lines_; }

  /// Other evidence says how many ranks the job has, and which ranks its processes are, by their
  /// numbers.
  void know(std::uint32_t job_ranks, std::map<std::string, std::uint32_t> rank_of_pid) {
    job_ranks_ = job_ranks;
    rank_of_pid_ = std::move(rank_of_pid);
  }

  /// The threads of all files, each with its rank. Call once.
  models::StackDumps take();

 private:
  struct Process {
    std::string name;  // "41: python train.py"
    std::string command;
    std::string pid;
    std::string parent;
    std::optional<std::uint32_t> told;     // its rank, by a label or a heading
    std::optional<std::uint32_t> by_name;  // of its file
    std::uint32_t file = 0;
    std::vector<std::size_t> threads;  // in dumps_.threads
  };
  /// Lines with different labels may be mixed.
  struct Stream {
    std::optional<std::uint32_t> told;
    std::optional<std::size_t> process;
    std::optional<std::size_t> thread;  // in dumps_.threads
  };

  bool read_text(const std::string& text);
  bool read_json(const std::string& text, models::Diagnostics& diagnostics);
  bool take_line(Stream& stream, std::string_view line, std::uint64_t number);
  bool take_head(Stream& stream, std::string_view line);
  bool take_frame(Stream& stream, std::string_view line, std::uint64_t number);
  Process& begin_process(Stream& stream, std::string name);
  void begin_thread(Stream& stream, std::string name, bool active, std::uint64_t number);
  void add_frame(Stream& stream, models::StackFrame frame);
  bool is_helper(const Process& process) const;
  void choose_by_option(const std::vector<std::size_t>& processes,
                        std::vector<std::optional<std::uint32_t>>& ranks);
  std::vector<std::uint32_t> choose_ranks(const std::vector<std::size_t>& processes);

  models::StackDumps dumps_;
  std::vector<Process> processes_;
  std::uint32_t job_ranks_ = 0;  // 0: not known
  std::map<std::string, std::uint32_t> rank_of_pid_;
  std::optional<std::uint32_t> by_name_;  // of the file that is read
  std::uint64_t other_lines_ = 0;
};

}  // namespace pipesim::formats
