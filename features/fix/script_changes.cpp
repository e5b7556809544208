#include "features/fix/script_changes.hpp"

#include <algorithm>
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
  if (command == description.end() || !command->is_array()) return std::nullopt;
  const auto word = [&](std::size_t i) {
    const bool is_word = i < command->size() && (*command)[i].is_string();
    return is_word ? (*command)[i].get<std::string>() : std::string();
  };
  std::string name = word(0);
  std::vector<std::string> files = {name};
  if (name == "-m") {
    name = word(1);
    std::string path = name;
    std::replace(path.begin(), path.end(), '.', '/');
    files = {path + ".py", path + "/__main__.py"};
  } else if (!name.ends_with(".py")) {
    return std::nullopt;  // a function was recorded, not a script
  }
  std::error_code error;
  for (const std::string& file : files) {
    for (const fs::path& path : {fs::path(file), folder / ".." / file}) {
      if (fs::is_regular_file(path, error)) return RecordedScript{name, path.string()};
    }
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
