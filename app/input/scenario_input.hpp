// What a command that works on one scenario is given: its file, patches that change it, and
// settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "viz/text/diagnostic_text.hpp"

namespace pipesim::app {

/// As on the command line. A path `-` is standard input, which is there once.
struct ScenarioFiles {
  std::string path;
  std::vector<std::string> patches;  // in the order in which they change the scenario
  std::vector<formats::Setting> settings;
};

/// The text of a scenario or, by its name, of a pipeline schedule: as much as its reader takes, and
/// a byte more of what is larger. Throws FileError.
std::string read_scenario_text(const std::string& path, const Console& console);

/// The same, read: texts, and the names that messages have for them.
class ScenarioInput {
 public:
  /// Reads the files. Throws FileError.
  ScenarioInput(const ScenarioFiles& files, const Console& console);

  /// Reads the scenario. Nothing, with errors in `diagnostics`, where it has mistakes. A pipeline
  /// schedule of PyTorch (*.csv) is made a scenario first.
  std::optional<formats::Scenario> read(models::Diagnostics& diagnostics, bool build_model = true);

  /// The same after one more patch, behind the others. Only once read() has read it.
  std::optional<formats::Scenario> read_with(formats::PatchText patch,
                                             models::Diagnostics& diagnostics) const;

  /// `diagnostics` with the lines that they are about. Where read() has made a scenario of a
  /// schedule, lines are those of the scenario.
  std::string text_of(const models::Diagnostics& diagnostics, bool colour) const;

  /// Says what `diagnostics` has, and returns the exit code of bad input.
  int complain(const models::Diagnostics& diagnostics, const Console& console) const;

  const std::string& path() const { return path_; }  // as it is shown
  const std::string& text() const { return text_; }
  const std::vector<formats::PatchText>& patches() const { return patches_; }
  const std::vector<formats::Setting>& settings() const { return settings_; }

 private:
  std::string path_;
  std::string source_path_;  // with what was made of the file
  std::string text_;
  bool is_schedule_ = false;
  std::vector<formats::PatchText> patches_;
  std::vector<formats::Setting> settings_;
};

/// The files that places of a scenario with these patches are in. All must outlive the result.
std::vector<viz::SourceText> sources_of(const std::string& path, const std::string& text,
                                        const std::vector<formats::PatchText>& patches);

}  // namespace pipesim::app
