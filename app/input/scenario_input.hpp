// The scenario that a command works on: its file, patches that change it, and settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/input/record_input.hpp"
#include "app/input/text_input.hpp"
#include "app/output/console.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::app {

/// As on the command line. A path `-` is standard input.
struct ScenarioFiles {
  std::string path;
  std::vector<std::string> patches;  // in the order in which they change the scenario
  std::vector<formats::Setting> settings;
  std::string rules{};  // of a record: "gloo", "nccl", or empty for what its script asked for
};

/// Whether the name of the file says that it is a GOAL file, which is not a scenario.
bool is_goal_path(const std::string& path);

/// The file of a scenario, or of a pipeline schedule, by its name: as much as its reader takes, and
/// a byte more of a larger one. Of a record, the scenario that it is by these rules. Throws
/// FileError.
TextInput read_scenario_text(const std::string& path, const Console& console,
                             const std::string& rules = {});

class ScenarioInput : public TextInput {
 public:
  /// Reads the files. Throws FileError.
  ScenarioInput(const ScenarioFiles& files, const Console& console);

  /// The path of the scenario as messages show it.
  const std::string& path() const { return path_; }
  const std::vector<formats::Setting>& settings() const { return settings_; }

  /// Reads the scenario; fails if it has mistakes. A pipeline schedule of PyTorch (*.csv) becomes a
  /// scenario first: text() is that then. What a record shows by itself is printed first.
  formats::Scenario read();

  /// The same, but returns nothing if it has mistakes, which diagnostics() then has.
  std::optional<formats::Scenario> try_read();

  /// The record that the scenario is, or null.
  const RecordInput* record() const { return record_ ? &*record_ : nullptr; }

  /// Reads a variant of the record instead, likewise with patches and settings.
  std::optional<formats::Scenario> read_variant(const models::Record& variant) const;

  /// What --rules said.
  const std::string& rules() const { return rules_; }

  /// Reads the scenario again, but keeps its model instead of building its tasks. Only after
  /// read().
  std::optional<formats::Scenario> read_model(models::Diagnostics& diagnostics) const;

  /// Reads it again with one more patch, or with more settings. Only after read().
  std::optional<formats::Scenario> read_with(formats::PatchText patch) const;
  std::optional<formats::Scenario> read_with(const std::vector<formats::Setting>& more) const;

  /// Likewise; empty parts of an all_to_all are messages, or are not.
  std::optional<formats::Scenario> read_with(const std::vector<formats::Setting>& more,
                                             bool sends_empty_parts) const;

 private:
  std::string path_;
  std::optional<RecordInput> record_;
  std::string rules_;
  bool is_schedule_ = false;
  std::vector<formats::Setting> settings_;
};

}  // namespace pipesim::app
