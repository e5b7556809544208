#include "app/input/scenario_files.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "app/input/input_kinds.hpp"
#include "app/output/files.hpp"
#include "formats/scenario/scenario.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

bool has_schema(const std::string& path) {
  std::istringstream none;
  try {
    const std::string text = read_file(path, none, formats::kMaxScenarioBytes);
    return text.rfind("schema:", 0) == 0 || text.find("\nschema:") != std::string::npos;
  } catch (const FileError&) {
    return true;  // the later read reports the error
  }
}

bool is_hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.size() > 1 && name.front() == '.' && name != "..";
}

std::vector<std::string> scenarios_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const fs::path& path = entry->path();
    std::error_code status;
    if (is_hidden(path)) {
      entry.disable_recursion_pending();
    } else if (const auto type = path.extension();
               (type == ".yaml" || type == ".yml") && fs::is_regular_file(path, status)) {
      files.push_back(folder == "." ? path.lexically_relative(".").string() : path.string());
    }
    entry.increment(error);
  }
  if (error) {
    throw FileError(models::Code::kFile,
                    fmt::format("cannot read '{}': {}", folder, error.message()));
  }
  files.erase(std::remove_if(files.begin(), files.end(),
                             [](const std::string& file) { return !has_schema(file); }),
              files.end());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> scenario_paths(const std::vector<std::string>& paths) {
  std::error_code error;
  const bool has_scenarios = fs::is_directory("scenarios", error);
  const std::vector<std::string> from =
      paths.empty() ? std::vector<std::string>{has_scenarios ? "scenarios" : "."} : paths;
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& path : from) {
    const bool folder = path != "-" && fs::is_directory(path, error) && !has_foreign_job(path);
    for (const std::string& file :
         folder ? scenarios_below(path) : std::vector<std::string>{path}) {
      if (seen.insert(fs::path(file).lexically_normal().string()).second) files.push_back(file);
    }
  }
  return files;
}

}  // namespace pipesim::app
