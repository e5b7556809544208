// Reads records as scenarios: folders that `pipesim record` or `pipesim attach` wrote.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/input/input_kinds.hpp"
#include "app/output/console.hpp"
#include "models/graph/task_graph.hpp"

#include "features/record/host_steps.hpp"
#include "features/record/record.hpp"
#include "features/record/record_reader.hpp"

namespace pipesim::app {

/// Whether `path` is a record rather than dumps: a folder with record.json, or this file.
bool has_record(const std::string& path);

/// Whether the path holds the notes of `pipesim attach`, of a real job.
bool has_notes(const std::string& path);

/// Returns the folder of a record, given the folder or the file that describes the record.
std::string record_folder(const std::string& path);

/// A record, the mistakes that it shows, and its scenario.
class RecordInput : public ForeignJob {
 public:
  /// Reads the files of the folder. Throws FileError and InputError; prints mistakes in the files,
  /// then throws ReportedMistakes.
  RecordInput(const std::string& path, const Console& console);

  /// Reads the files of the ranks, which may be in memory only, and the file that describes the
  /// record in `folder`.
  RecordInput(std::string folder, std::vector<formats::RecordText> ranks, const Console& console);

  /// Takes a record that was made from other data in the folder `path`. `basis` has the verdict's
  /// assumptions, each a sentence without its period.
  RecordInput(std::string path, models::Record record, std::vector<std::string> basis);

  const models::Record& record() const { return *record_; }

  /// Whether the record was made from dumps of a real job.
  bool of_dumps() const { return record_->waits_assumed; }

  std::string scenario(const std::string& rules) const override;
  std::optional<formats::YamlDocument> document(const std::string& rules) const override;

  /// Returns a shorter scenario than scenario(), to read and edit; it lacks waits that others
  /// imply, so names() does not fit it.
  std::string scenario_for_people(const std::string& rules) const;

  std::shared_ptr<const models::Recorded> names(const std::string& rules,
                                                const models::TaskGraph& graph) const override;
  void report_findings(const Console& console,
                       const models::Recorded* names = nullptr) const override;

  /// Returns the scenario of `record`, a variant of this record. `for_people`: as
  /// scenario_for_people() does.
  std::string scenario_of(const models::Record& record, const std::string& rules,
                          bool for_people = false) const;

  /// Returns the rules named `rules`, an argument of scenario().
  static models::RecordRules rules_of(const std::string& rules);

 private:
  void read(std::vector<formats::RecordText> ranks, const Console& console);

  std::string path_;
  std::shared_ptr<const models::Record> record_;
  std::vector<std::string> basis_;  // assumptions of the verdict, each a sentence
};

/// A job that `pipesim attach` is noting.
struct FollowedJob {
  // Its record; while it goes on, as far as the steps that all ranks have finished. Null: none has.
  std::shared_ptr<const ForeignJob> job;
  bool goes_on = true;
  bool has_ended = false;  // whether each rank has ended, or no rank shows life any more
  std::int64_t steps = 0;  // number of optimizer steps that all ranks have finished
};

/// Reads the notes of a job that may be running. Throws like RecordInput.
FollowedJob follow_job(const std::string& path, const Console& console);

/// Returns the scenario of the record in the folder `path`, for `pipesim import record`.
std::string import_record(const Arguments& arguments, const std::string& path,
                          const Console& console);

/// Reads a record as a job; see RecordInput.
std::unique_ptr<const ForeignJob> read_record_job(const std::string& path, const Console& console);

/// Returns `job` if it is a record, else null.
const RecordInput* record_of(const ForeignJob* job);

}  // namespace pipesim::app
