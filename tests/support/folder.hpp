// A folder of its own for a test, gone after it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <unistd.h>

namespace pipesim::testing {

/// Tests run side by side, and so may whole test runs: the process is in the name.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("pipesim_test_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string operator/(const char* name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace pipesim::testing
