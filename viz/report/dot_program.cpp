#include "viz/report/dot_program.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "models/codes.hpp"

namespace pipesim::viz {
namespace {

namespace fs = std::filesystem;

models::UserError failure(const std::string& why) {
  return {models::Code::kGraphviz, why, ".svg files need no other program"};
}

/// A temporary folder, deleted with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "pipesim-dot-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
      throw failure(fmt::format("cannot make a temporary folder for 'dot': {}",
                                error ? error.message() : std::strerror(errno)));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Runs a command, found in PATH, and returns its exit status; -1 if the program does not exist.
int run(std::array<std::string, 6> command, const std::string& errors) {
  std::array<char*, 7> words{};
  for (std::size_t i = 0; i < command.size(); ++i) words[i] = command[i].data();
  ::posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
  ::pid_t child = 0;
  const int problem = ::posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (problem != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // The C library cannot always report a missing program: under qemu-user its child exits with 127.
  return code == 127 ? -1 : code;
}

}  // namespace

std::string drawn_by_dot(const std::string& graph, const std::string& engine,
                         const std::string& format) {
  const ScratchFolder folder;
  const std::string source = folder / "graph.dot";
  const std::string picture = folder / "picture";
  const std::string errors = folder / "errors";
  if (!(std::ofstream(source, std::ios::binary) << graph).flush()) {
    throw failure(fmt::format("cannot write '{}': {}", source, std::strerror(errno)));
  }
  const int status = run({"dot", "-K" + engine, "-T" + format, "-o", picture, source}, errors);
  if (status == -1) {
    throw models::UserError(
        models::Code::kGraphviz,
        fmt::format("the program 'dot', which makes .{} files, is not in PATH", format),
        "install Graphviz (apt, dnf or conda install graphviz), or write .svg, which "
        "needs no other program");
  }
  std::string drawn = content_of(picture);
  if (status == 0 && !drawn.empty()) return drawn;
  throw failure(
      fmt::format("the program 'dot' of Graphviz cannot draw this as .{} (exit status {}): {}",
                  format, status, content_of(errors)));
}

}  // namespace pipesim::viz
