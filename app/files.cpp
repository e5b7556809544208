#include "app/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <fmt/format.h>

namespace pipesim::app {
namespace {

[[noreturn]] void fail(const char* what, const std::string& path) {
  const int reason = errno;
  throw FileError(fmt::format("cannot {} '{}': {}", what, path,
                              reason == 0 ? "input/output error" : std::strerror(reason)));
}

void write_stream(const std::string& path, const std::string& target, const std::string& text) {
  errno = 0;
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file.fail()) {
    const int reason = errno;
    if (target != path) ::unlink(target.c_str());
    errno = reason;
    fail("write", path);
  }
}

}  // namespace

std::string read_file(const std::string& path, std::istream& standard_input) {
  if (path == "-") return {std::istreambuf_iterator<char>(standard_input), {}};
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    errno = EISDIR;
    fail("read", path);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read", path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) fail("read", path);
  return text;
}

void write_file(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  if (special) {
    write_stream(path, path, text);
    return;
  }
  // Behind a link the file is replaced, not the link.
  const std::filesystem::path target = std::filesystem::exists(status)
                                           ? std::filesystem::canonical(path, error)
                                           : std::filesystem::path(path);
  const std::string beside = fmt::format("{}.{}.tmp", target.string(), ::getpid());
  write_stream(path, beside, text);
  if (::rename(beside.c_str(), target.c_str()) != 0) {
    const int reason = errno;
    ::unlink(beside.c_str());
    errno = reason;
    fail("write", path);
  }
}

}  // namespace pipesim::app
