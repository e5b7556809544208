// Reads stacks of one or many processes from the output of these tools, with or without labels of
// srun or pdsh: `py-spy dump` (text or JSON), Python's faulthandler, torch.distributed's debug
// server, gdb, and `pipesim run --stacks`.
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

#include "features/diagnose/stack_evidence.hpp"

namespace pipesim::formats {

/// The maximum size of a file with stacks, in bytes.
inline constexpr std::size_t kMaxStackBytes = std::size_t{256} << 20;

/// Combines the stacks of several files, and drops launchers and data workers. The rank of a
/// process comes from the first of these sources:
/// * the label of its lines (`3: `, `[host:3]`, `=== Rank 3 ===`) or their text (`rank 3 of`);
/// * the number at the end of the file name, if the file has one process;
/// * its pid, if other evidence has the rank of this pid;
/// * an option of its command (`--rank 3`), if each process has a different value; `--local_rank=3`
///   is the rank on its host;
/// * its order among the remaining processes.
class StackReader {
 public:
  /// Reads a file. Returns false, with an error, if the file has no stack.
  bool read(const std::string& text, const std::string& path, models::Diagnostics& diagnostics);

  /// Returns the number of ignored lines.
  std::uint64_t other_lines() const { return other_lines_; }

  /// Sets facts from other evidence: the number of ranks of the job, and the ranks of processes by
  /// pid.
  void know(std::uint32_t job_ranks, std::map<std::string, std::uint32_t> rank_of_pid) {
    job_ranks_ = job_ranks;
    rank_of_pid_ = std::move(rank_of_pid);
  }

  /// Returns the threads of all files, each with its rank. Call once.
  models::StackDumps take();

 private:
  struct Process {
    std::string name;  // pid and command: "41: python train.py"
    std::string command;
    std::string pid;
    std::string parent;
    std::optional<std::uint32_t> told;     // rank from a label or a heading
    std::optional<std::uint32_t> by_name;  // rank from the file name
    std::uint32_t file = 0;
    std::vector<std::size_t> threads;  // indices in dumps_.threads
  };
  /// The state of reading the lines with one label. Lines with different labels can be mixed.
  struct Stream {
    std::optional<std::uint32_t> told;
    std::optional<std::size_t> process;
    std::optional<std::size_t> thread;  // index in dumps_.threads
  };

  bool read_text(const std::string& text);
  bool read_json(const std::string& text, models::Diagnostics& diagnostics);
  bool take_line(Stream& stream, std::string_view line, std::uint64_t number);
  bool take_head(Stream& stream, std::string_view line);
  bool take_frame(Stream& stream, std::string_view line, std::uint64_t number);
  Process& begin_process(Stream& stream, std::string name);
  void begin_thread(Stream& stream, std::string name, bool active, std::uint64_t number);
  void add_frame(Stream& stream, models::StackFrame frame);
  bool has_frame(const Process& process, std::string_view function) const;
  static bool is_launcher(const Process& process);
  bool is_data_worker(const Process& process) const { return has_frame(process, "_worker_loop"); }
  bool is_debug_server(const Process& process) const;
  bool is_helper(const Process& process) const;
  void add_helper(const Process& process, const std::vector<std::size_t>& kept,
                  const std::vector<std::uint32_t>& ranks);
  void choose_by_option(const std::vector<std::size_t>& processes,
                        std::vector<std::optional<std::uint32_t>>& ranks);
  void name_by_files(const std::vector<std::size_t>& processes,
                     const std::vector<std::optional<std::uint32_t>>& ranks);
  std::vector<std::uint32_t> choose_ranks(const std::vector<std::size_t>& processes);

  models::StackDumps dumps_;
  std::vector<Process> processes_;
  std::uint32_t job_ranks_ = 0;  // 0: unknown
  std::map<std::string, std::uint32_t> rank_of_pid_;
  std::optional<std::uint32_t> by_name_;  // rank from the name of the current file
  std::uint64_t other_lines_ = 0;
};

}  // namespace pipesim::formats
