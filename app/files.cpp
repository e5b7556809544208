#include "app/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
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

// `likely`: how many bytes there will be, as far as that is known.
std::string read_stream(std::istream& stream, std::size_t most, std::size_t likely) {
  std::string text;
  text.reserve(std::min(likely, most));
  std::array<char, std::size_t{1} << 16> part{};
  while (stream && text.size() <= most) {
    const std::size_t wanted = std::min(part.size(), most - text.size() + 1);
    stream.read(part.data(), static_cast<std::streamsize>(wanted));
    text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

}  // namespace

std::string read_file(const std::string& path, std::istream& standard_input, std::size_t most) {
  if (path == "-") return read_stream(standard_input, most, 0);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    errno = EISDIR;
    fail("read", path);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read", path);
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  errno = 0;
  std::string text = read_stream(file, most, error ? 0 : static_cast<std::size_t>(size));
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

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (std::filesystem::is_directory(path)) return;
  errno = error ? error.value() : ENOTDIR;
  fail("make folder", path);
}

}  // namespace pipesim::app
