// Scenarios of commands: their files, patches that change them, and settings.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/input/input_kinds.hpp"
#include "app/input/text_input.hpp"
#include "app/output/console.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::app {

/// Files and settings from the command line. A path `-` is standard input.
struct ScenarioFiles {
  std::string path;
  std::vector<std::string> patches;  // applied in this order
  std::vector<formats::Setting> settings;
  // Rules of a record: "gloo", "nccl", or empty for the backends in its script.
  std::string rules{};
  std::shared_ptr<const ForeignJob> job{};  // the job at `path`, if it has been read already
};

/// Reads a scenario or a pipeline schedule. The name of the file selects the format. Cuts a file
/// that is too large to one byte more than the format's limit. A record is read as its scenario
/// under `rules`. Throws FileError.
TextInput read_scenario_text(const std::string& path, const Console& console,
                             const std::string& rules = {});

/// Prints a note to standard error if the scenario has choices that no setting fixes. `check`,
/// `fix` and `lint` look at all ways to choose (job_choices.hpp), other commands at one.
void note_choices(const formats::Scenario& scenario, const Console& console);

class ScenarioInput : public TextInput {
 public:
  /// Reads the files. Throws FileError.
  ScenarioInput(const ScenarioFiles& files, const Console& console);

  /// Returns the path of the scenario as shown in messages.
  const std::string& path() const { return path_; }
  const std::vector<formats::Setting>& settings() const { return settings_; }

  /// Reads the scenario; fails on mistakes. Converts a pipeline schedule of PyTorch (*.csv) to a
  /// scenario first; text() is then that scenario. Prints the findings of a record first.
  formats::Scenario read();

  /// The same as read(), but on mistakes returns nullopt and keeps the mistakes in diagnostics().
  std::optional<formats::Scenario> try_read();

  /// Returns the job of another tool that the scenario was made from, or null.
  const ForeignJob* foreign_job() const { return job_.get(); }

  /// Reads `text`, another scenario of the same job, with the same patches and settings.
  std::optional<formats::Scenario> read_variant(const std::string& text) const;

  /// Returns the value of --rules.
  const std::string& rules() const { return rules_; }

  /// Reads the scenario again, but keeps its model and does not build its tasks. Requires read().
  std::optional<formats::Scenario> read_model(models::Diagnostics& diagnostics) const;

  /// Adds settings to those of the command line.
  void add_settings(const std::vector<formats::Setting>& more);

  /// Reads the scenario again with one more patch, with more settings, or both. Requires read().
  std::optional<formats::Scenario> read_with(formats::PatchText patch,
                                             const std::vector<formats::Setting>& more = {}) const;
  std::optional<formats::Scenario> read_with(const std::vector<formats::Setting>& more) const;

  /// Reads the scenario again with `more` settings, and with or without sends and recvs for empty
  /// parts of an all_to_all. Requires read().
  std::optional<formats::Scenario> read_with(const std::vector<formats::Setting>& more,
                                             bool sends_empty_parts) const;

 private:
  // Reads the scenario with settings_ and `more`.
  std::optional<formats::Scenario> read_as(const std::vector<formats::Setting>& more,
                                           models::Diagnostics& diagnostics,
                                           const formats::ReadOptions& options) const;
  std::optional<formats::YamlDocument> document() const;

  std::string path_;
  std::shared_ptr<const ForeignJob> job_;
  mutable std::optional<formats::YamlDocument> document_;  // the document of job_, for more reads
  mutable bool was_read_ = false;
  std::string rules_;
  bool is_schedule_ = false;
  std::vector<formats::Setting> settings_;
};

/// Returns the files of `paths` in the given order, without duplicates. For a folder, returns all
/// scenarios below it, sorted by path: files `*.yaml` and `*.yml` with a line that begins with
/// `schema:`, and all files that `is_wanted` accepts. Skips hidden files and folders. The folder of
/// a record is one scenario. Without paths, uses the folder `scenarios` if it exists, else the
/// current one. Throws FileError if a folder cannot be read. Does not open the files in `paths`.
std::vector<std::string> scenario_paths(const std::vector<std::string>& paths,
                                        bool (*is_wanted)(const std::string& path) = nullptr);

/// Throws InputError if `text`, a scenario made from `source`, cannot be read or lowered. A file of
/// another tool can contain contradictions that its reader cannot detect. Called before anything is
/// written.
void require_readable(const std::string& text, const std::string& source);

}  // namespace pipesim::app
