// Records and dumps as scenarios: folders that `pipesim record` wrote, or dumps of a real job.
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

/// Whether the path holds a record rather than dumps.
bool has_record(const std::string& path);

/// A record, its own findings, and its scenario.
class RecordInput {
 public:
  /// Reads the files of the folder. Throws FileError and InputError; prints mistakes in the files,
  /// then throws ReportedMistakes.
  RecordInput(const std::string& path, const Console& console);

  const models::Record& record() const { return *record_; }

  /// Whether the record was made from dumps of a real job.
  bool of_dumps() const { return record_->waits_assumed; }

  /// Returns the scenario of the record. `rules` is "gloo", "nccl", or empty for the backend of
  /// each group in the script.
  std::string scenario(const std::string& rules) const;

  /// Returns names for the steps of that scenario, read as `graph`.
  std::shared_ptr<const models::Recorded> names(const std::string& rules,
                                                const models::TaskGraph& graph) const;

  /// Returns the scenario of `record`, a variant of this record.
  std::string scenario_of(const models::Record& record, const std::string& rules) const;

  /// Returns the rules named `rules`; see scenario().
  static models::RecordRules rules_of(const std::string& rules);

  /// Prints the record's findings before anything runs. Skips lines that differ before a mismatched
  /// call if reports with `names` already lead with them.
  void report_findings(const Console& console, const models::Recorded* names = nullptr) const;

 private:
  void read_record(const std::string& about, const Console& console);
  void read_dumps(const Console& console);

  std::string path_;
  std::shared_ptr<const models::Record> record_;
  std::vector<std::string> basis_;  // the basis of the verdict, in words
};

}  // namespace pipesim::app
