// Changes of a recorded script. The Python package finds and proves them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipesim::app {

inline constexpr std::uint64_t kMaxScriptChanges = 3;  // number of changes that the report shows

struct ScriptChanges {
  std::string text;     // the report
  std::string json;     // the same, as a JSON object
  std::string problem;  // why there is no answer; empty if there is one
  bool proved = false;
};

struct RecordedScript {
  std::string name;                 // as in the recorded command: "train.py", "package.train"
  std::optional<std::string> path;  // in this folder or next to the record; nullopt: not found
};

/// Returns the script of a record. Returns nullopt if `record` is not a record, or is the record of
/// a function.
std::optional<RecordedScript> script_of_record(const std::string& record);

/// Runs the script again with changes that could remove its hang. python/pipesim/fix/__main__.py
/// gets the words in `options`. Throws InputError if Python cannot run.
ScriptChanges find_script_changes(const std::string& record, const std::string& script,
                                  const std::string& python,
                                  const std::vector<std::string>& options);

}  // namespace pipesim::app
