// Folders that `pipesim record` wrote, or dumps of a real job, where a command takes a scenario.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/record/record_reader.hpp"
#include "models/record/host_steps.hpp"
#include "models/record/record.hpp"

namespace pipesim::app {

/// Whether `path` is a folder, or the file that describes a record.
bool is_record_path(const std::string& path);

/// Whether there is a record, rather than dumps.
bool has_record(const std::string& path);

/// A record, what it shows by itself, and the scenario that it is.
class RecordInput {
 public:
  /// Reads the files of the folder. Throws FileError, InputError, and ReportedMistakes after
  /// printing what is wrong in them.
  RecordInput(const std::string& path, const Console& console);

  const models::Record& record() const { return record_; }

  /// It is made of dumps of a real job.
  bool of_dumps() const { return record_.waits_assumed; }

  /// Its scenario; `rules` is "gloo", "nccl", or empty for what the script asked for, group by
  /// group.
  std::string scenario(const std::string& rules) const;

  /// The same of a variant of it.
  std::string scenario_of(const models::Record& record, const std::string& rules) const;

  /// The rules of this name; see scenario().
  static models::RecordRules rules_of(const std::string& rules);

  /// Prints what the record shows before anything runs.
  void report_findings(const Console& console) const;

 private:
  void read_record(const std::string& about, const Console& console);
  void read_dumps(const Console& console);

  std::string path_;
  models::Record record_;
  std::vector<std::string> basis_;  // what the verdict rests on, in words
};

}  // namespace pipesim::app
