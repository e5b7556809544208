// The file of a sweep in progress. Each run is appended as soon as it ends.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "features/sweep/sweep_file.hpp"

namespace pipesim::app {

class SweepJournal {
 public:
  /// Opens or creates the file. Leaves the file alone if another process writes to the file, or if
  /// the file is not a sweep or belongs to another sweep. problem() is then the message to print,
  /// in color if `colour` is set. Throws FileError.
  SweepJournal(const std::string& path, const formats::SweepHead& head,
               const models::SweepCases& cases, bool colour);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  /// Returns the reason why the file cannot be used, or an empty string.
  const std::string& problem() const { return problem_; }

  /// Returns the runs that the file already had.
  const std::map<std::uint64_t, models::CaseResult>& done() const { return done_; }

  /// Appends a run. Any thread can call this function. Throws FileError.
  void add(std::uint64_t number, const models::CaseResult& result);

 private:
  bool read(const formats::SweepHead& head, const models::SweepCases& cases);
  bool leave_alone(std::string_view text, const models::Diagnostics& found);
  void write(const std::string& text);

  const std::string path_;
  const bool colour_;
  std::string problem_;
  int file_ = -1;
  std::mutex mutex_;
  std::map<std::uint64_t, models::CaseResult> done_;
};

/// Whether run `number` belongs to the shard.
inline bool is_in(const formats::Shard& shard, std::uint64_t number) {
  return number % shard.count == shard.index - 1;
}

}  // namespace pipesim::app
