// Folders that `pipesim record` wrote, or dumps of a real job, where a command takes a scenario.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/record/record_reader.hpp"
#include "models/graph/task_graph.hpp"
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

  const models::Record& record() const { return *record_; }

  /// It is made of dumps of a real job.
  bool of_dumps() const { return record_->waits_assumed; }

  /// Its scenario; `rules` is "gloo", "nccl", or empty for what the script asked for, group by
  /// group.
  std::string scenario(const std::string& rules) const;

  /// Names for the steps of that scenario, which is `graph`.
  std::shared_ptr<const models::Recorded> names(const std::string& rules,
                                                const models::TaskGraph& graph) const;

  /// The scenario of a variant of it.
  std::string scenario_of(const models::Record& record, const std::string& rules) const;

  /// The rules of this name; see scenario().
  static models::RecordRules rules_of(const std::string& rules);

  /// Prints what the record shows before anything runs, but for lines that differ before a call
  /// that does not match: reports lead with those, if they have `names`.
  void report_findings(const Console& console, const models::Recorded* names = nullptr) const;

 private:
  void read_record(const std::string& about, const Console& console);
  void read_dumps(const Console& console);

  std::string path_;
  std::shared_ptr<const models::Record> record_;
  std::vector<std::string> basis_;  // what the verdict rests on, in words
};

}  // namespace pipesim::app
