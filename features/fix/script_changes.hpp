// Changes of the script that a record was made of. The Python package finds and proves them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipesim::app {

inline constexpr std::uint64_t kMaxScriptChanges = 3;  // shown

struct ScriptChanges {
  std::string text;     // the report
  std::string json;     // the same, as a JSON object
  std::string problem;  // why there is no answer; empty if there is one
  bool proved = false;
};

struct RecordedScript {
  std::string name;                 // as in the recorded command: "train.py", "package.train"
  std::optional<std::string> path;  // here or next to the record; nullopt: in neither place
};

/// Returns the script of a record; nullopt if `record` is none, or is of a function.
std::optional<RecordedScript> script_of_record(const std::string& record);

/// Runs the script again, with changes that could remove its hang. `options` is passed on to
/// python/pipesim/fix/__main__.py. Throws InputError if Python cannot be run.
ScriptChanges find_script_changes(const std::string& record, const std::string& script,
                                  const std::string& python,
                                  const std::vector<std::string>& options);

}  // namespace pipesim::app
