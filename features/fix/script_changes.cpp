#include "features/fix/script_changes.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/input/python.hpp"

#include "features/record/record_input.hpp"

namespace pipesim::app {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::optional<RecordedScript> script_of_record(const std::string& record) {
  if (!has_record(record)) return std::nullopt;
  const fs::path folder = record_folder(record);
  std::ifstream file(folder / "record.json");
  const Json description = Json::parse(file, nullptr, false);
  if (!description.is_object()) return std::nullopt;
  const auto command = description.find("command");
  if (command == description.end() || !command->is_array() || command->empty() ||
      !command->front().is_string()) {
    return std::nullopt;
  }
  const auto name = command->front().get<std::string>();
  if (!name.ends_with(".py")) return std::nullopt;  // a module, `-m`, or a function
  std::error_code error;
  for (const fs::path& path : {fs::path(name), folder / ".." / name}) {
    if (fs::is_regular_file(path, error)) return RecordedScript{name, path.string()};
  }
  return RecordedScript{name, std::nullopt};
}

ScriptChanges find_script_changes(const std::string& record, const std::string& script,
                                  const std::string& python,
                                  const std::vector<std::string>& options) {
  std::vector<std::string> words = {record_folder(record), "--script", script};
  words.insert(words.end(), options.begin(), options.end());
  Json answer = Json::parse(run_python_module("pipesim.fix", words, python));
  ScriptChanges changes;
  if (const auto problem = answer.find("problem"); problem != answer.end()) {
    changes.problem = problem->get<std::string>();
    return changes;
  }
  changes.text = answer.at("text").get<std::string>();
  changes.proved = answer.at("proved").get<bool>();
  answer.erase("text");
  answer.erase("proved");
  changes.json = answer.dump();
  return changes;
}

}  // namespace pipesim::app
