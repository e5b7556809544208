// Runs fuzz targets over files, with any compiler: what was found once must not come back.
//
//   fuzz_replay --list
//   fuzz_replay TARGET FILE_OR_FOLDER...
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace {

std::vector<std::string> files_in(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int replay(const std::string& name, const std::vector<std::string>& paths) {
  const auto all = pipesim::fuzz::targets();
  const auto target =
      std::find_if(all.begin(), all.end(), [&](const auto& it) { return it.name == name; });
  if (target == all.end()) {
    std::fprintf(stderr, "there is no target '%s'\n", name.c_str());
    return 2;
  }
  const std::vector<std::string> files = files_in(paths);
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read '%s'\n", path.c_str());
      return 2;
    }
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s\n", path.c_str());  // so that a crash says where
    target->run(bytes);
  }
  std::printf("%s: %zu inputs\n", name.c_str(), files.size());
  return files.empty() ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (arguments.size() == 1 && arguments[0] == "--list") {
      for (const auto& target : pipesim::fuzz::targets()) {
        std::printf("%.*s\n", static_cast<int>(target.name.size()), target.name.data());
      }
      return 0;
    }
    if (arguments.size() >= 2) {
      return replay(arguments[0], {arguments.begin() + 1, arguments.end()});
    }
    std::fputs("usage: fuzz_replay --list | TARGET FILE_OR_FOLDER...\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 2;
}
