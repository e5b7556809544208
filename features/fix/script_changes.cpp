#include "features/fix/script_changes.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/input/python.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Returns the folder of a record, which can be named by its record.json; "" if it is no record.
fs::path record_folder(const std::string& record) {
  constexpr const char* kFile = "record.json";
  std::error_code error;
  const fs::path path(record);
  if (fs::is_regular_file(path / kFile, error)) return path;
  if (path.filename() != kFile) return {};
  return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

std::optional<RecordedScript> script_of_record(const std::string& record) {
  const fs::path folder = record_folder(record);
  if (folder.empty()) return std::nullopt;
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
  std::vector<std::string> words = {record_folder(record).string(), "--script", script};
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
