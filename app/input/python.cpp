#include "app/input/python.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "app/command.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

fs::path this_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the Python of the environment in which the program is installed. If PATH contains the
// program's folder, PATH selects the Python. A virtual environment always uses its own Python,
// because PATH can belong to another active environment.
std::string own_python(const fs::path& program) {
  const fs::path folder = program.parent_path();
  const fs::path beside = folder / "python3";
  const std::string path = ":" + environment("PATH") + ":";
  std::error_code error;
  const bool is_own = fs::exists(folder.parent_path() / "pyvenv.cfg", error) ||
                      path.find(":" + folder.string() + ":") == std::string::npos;
  return is_own && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

// Returns the folder of the package `pipesim`: next to the program in a source tree, or the
// installed one. Returns an empty string if Python finds the package by itself, or if the package
// is missing.
std::string package_folder(const fs::path& program) {
  std::error_code error;
  fs::path above = program.parent_path();
  for (; above.has_relative_path(); above = above.parent_path()) {
    for (const fs::path& folder : {above / "python", above / "share" / "pipesim" / "python"}) {
      if (fs::exists(folder / "pipesim" / "record.py", error)) return folder.string();
    }
  }
  return {};
}

// Returns the words as exec takes them. `words` must outlive the result.
std::vector<char*> raw_words(const std::vector<std::string>& words) {
  std::vector<char*> raw;
  for (const std::string& word : words) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  return raw;
}

// Starts a program with its standard output in `output`. Returns its process id, or -1 with errno
// set.
pid_t start(const std::vector<std::string>& words, int output) {
  const std::vector<char*> raw = raw_words(words);
  ::posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  pid_t child = -1;
  const int problem = ::posix_spawnp(&child, raw[0], &files, nullptr, raw.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  errno = problem;
  return problem == 0 ? child : -1;
}

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 65536> part{};
  while (true) {
    const ssize_t count = ::read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string default_python() {
  const std::string given = environment("PYTHON");
  return given.empty() ? own_python(this_program()) : given;
}

void export_package() {
  const fs::path program = this_program();
  if (program.empty()) return;
  ::setenv("PIPESIM", program.c_str(), 1);
  const std::string folder = package_folder(program);
  const std::string before = environment("PYTHONPATH");
  if (!folder.empty()) {
    ::setenv("PYTHONPATH", (before.empty() ? folder : folder + ":" + before).c_str(), 1);
  }
}

void become_python_module(const std::string& python, const std::string& module,
                          const std::vector<std::string>& words, const char* hint) {
  export_package();
  std::vector<std::string> all = {python, "-m", module};
  all.insert(all.end(), words.begin(), words.end());
  ::execvp(python.c_str(), raw_words(all).data());
  throw InputError(models::Code::kFile,
                   fmt::format("cannot run '{}': {}", python, std::strerror(errno)), hint);
}

std::string run_python_module(const std::string& module, const std::vector<std::string>& words,
                              const std::string& python) {
  export_package();
  // A script's folder can have files with the names of standard modules.
  ::setenv("PYTHONSAFEPATH", "1", 1);
  std::vector<std::string> all = {python, "-m", module};
  all.insert(all.end(), words.begin(), words.end());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw InputError(models::Code::kFile, fmt::format("pipe: {}", std::strerror(errno)));
  }
  const pid_t child = start(all, ends[1]);
  const int problem = errno;
  ::close(ends[1]);
  std::string output = child < 0 ? "" : read_to_end(ends[0]);
  ::close(ends[0]);
  if (child < 0) {
    throw InputError(models::Code::kFile,
                     fmt::format("cannot run '{}': {}", all[0], std::strerror(problem)),
                     "install Python 3.9 or newer, or set PYTHON to the path of one");
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) {
    throw InputError(models::Code::kFile, fmt::format("'{} -m {}' failed", all[0], module),
                     "it needs Python 3.9 or newer; PYTHON can name one");
  }
  return output;
}

}  // namespace pipesim::app
