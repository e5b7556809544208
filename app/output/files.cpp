#include "app/output/files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/graph/diagnostics.hpp"

namespace pipesim::app {
namespace {

// Returns "did you mean 'x'?" if the folder of `path` has a file of a similar name; else nothing.
std::string similar_file(const std::string& path) {
  constexpr std::size_t kMaxNames = 10'000;
  const std::filesystem::path wanted(path);
  const std::filesystem::path folder = wanted.parent_path();
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, error), end;
       !error && at != end && names.size() < kMaxNames; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());  // the order of a folder differs between machines
  const std::string nearest = models::nearest_name(wanted.filename().string(), names);
  return nearest.empty() ? "" : fmt::format("did you mean '{}'?", (folder / nearest).string());
}

[[noreturn]] void fail(const char* what, const std::string& path) {
  const int reason = errno;
  throw FileError(models::Code::kFile,
                  fmt::format("cannot {} '{}': {}", what, path,
                              reason == 0 ? "input/output error" : std::strerror(reason)),
                  reason == ENOENT && std::string_view(what) == "read" ? similar_file(path) : "");
}

// Path of the temporary file, for remove_temporary_file(); commands write one file at a time. Files
// with longer paths are not removed.
constexpr std::size_t kMaxPath = 4096;
std::array<char, kMaxPath> temporary_file{};
std::atomic<bool> has_temporary_file{false};

void remember_temporary(const std::string& path) {
  if (path.empty() || path.size() >= kMaxPath) return;
  has_temporary_file = false;
  std::copy(path.c_str(), path.c_str() + path.size() + 1, temporary_file.begin());
  has_temporary_file = true;
}

// Opens a new file in the folder of `target` and sets `path` to its name. On failure, returns null
// and sets errno. In a shared folder, another user could place a link at a guessable name. So the
// name is random, and O_EXCL rejects existing names, links included.
std::FILE* create_beside(const std::string& target, std::string& path) {
  std::random_device random;
  for (int attempts = 0; attempts < 16; ++attempts) {
    const std::string candidate = fmt::format("{}.{:08x}{:08x}.tmp", target, random(), random());
    remember_temporary(candidate);  // before open(): a signal can arrive at any time
    const int file = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) break;
    path = candidate;
    return ::fdopen(file, "w");
  }
  has_temporary_file = false;
  return nullptr;
}

// Reads at most `max_bytes` + 1 bytes. `expected`: the probable size; 0 if unknown.
std::string read_stream(std::istream& stream, std::size_t max_bytes, std::size_t expected) {
  std::string text;
  text.reserve(std::min(expected, max_bytes));
  std::array<char, std::size_t{1} << 16> part{};
  while (stream && text.size() <= max_bytes) {
    const std::size_t wanted = std::min(part.size(), max_bytes - text.size() + 1);
    stream.read(part.data(), static_cast<std::streamsize>(wanted));
    text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

}  // namespace

std::string read_file(const std::string& path, std::istream& standard_input,
                      std::size_t max_bytes) {
  if (path == "-") return read_stream(standard_input, max_bytes, 0);
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
  std::string text = read_stream(file, max_bytes, error ? 0 : static_cast<std::size_t>(size));
  if (file.bad()) fail("read", path);
  return text;
}

bool file_contains(const std::string& path, std::string_view word, std::size_t max_bytes) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read", path);
  const std::boyer_moore_horspool_searcher searcher(word.begin(), word.end());
  std::vector<char> piece(std::size_t{1} << 16);
  std::size_t kept = 0;  // bytes kept from the previous piece, because `word` can begin in them
  for (std::size_t seen = 0; file && seen < max_bytes;) {
    file.read(piece.data() + kept, static_cast<std::streamsize>(piece.size() - kept));
    const auto read = static_cast<std::size_t>(file.gcount());
    const char* const end = piece.data() + kept + read;
    if (std::search(std::as_const(piece).data(), end, searcher) != end) return true;
    seen += read;
    kept = std::min(word.size() - 1, kept + read);
    std::copy(end - kept, end, piece.data());
  }
  if (file.bad()) fail("read", path);
  return false;
}

FileWriter::FileWriter(std::string path) : path_(std::move(path)), target_(path_) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path_, error);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  errno = 0;
  if (special) {
    file_ = std::fopen(path_.c_str(), "we");
  } else {
    if (std::filesystem::exists(status)) {
      target_ = std::filesystem::canonical(path_, error).string();
    }
    file_ = create_beside(target_, temporary_);
  }
  if (file_ == nullptr) give_up();
}

FileWriter::~FileWriter() {
  if (file_ != nullptr) std::fclose(file_);
  if (file_ != nullptr && !temporary_.empty()) ::unlink(temporary_.c_str());
  has_temporary_file = false;
}

void FileWriter::give_up() {
  const int reason = errno;
  if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  errno = reason;
  fail("write", path_);
}

void FileWriter::write(std::string_view part) {
  errno = 0;
  if (std::fwrite(part.data(), 1, part.size(), file_) != part.size()) give_up();
}

void FileWriter::close() {
  errno = 0;
  if (std::fclose(std::exchange(file_, nullptr)) != 0) give_up();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) give_up();
  has_temporary_file = false;
}

void remove_temporary_file() {
  static_assert(std::atomic<bool>::is_always_lock_free, "read in a signal handler");
  if (has_temporary_file) ::unlink(temporary_file.data());
}

void write_file(const std::string& path, const std::string& text) {
  FileWriter file(path);
  file.write(text);
  file.close();
}

bool write_or_print(const std::string& path, const std::string& text,
                    std::ostream& standard_output) {
  if (path == "-") {
    standard_output << text;
    return true;
  }
  write_file(path, text);
  return false;
}

void write_new_file(const std::string& path, const std::string& text) {
  errno = 0;
  // "x" checks that the file is new and creates it in one atomic step.
  std::FILE* file = std::fopen(path.c_str(), "wxe");
  if (file == nullptr && errno == EEXIST) {
    throw FileError(models::Code::kFileExists,
                    fmt::format("'{}' already exists; not overwritten", path));
  }
  if (file == nullptr) fail("write", path);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && is_written) return;
  const int reason = errno;
  ::unlink(path.c_str());
  errno = reason;
  fail("write", path);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (std::filesystem::is_directory(path)) return;
  errno = error ? error.value() : ENOTDIR;
  fail("create folder", path);
}

}  // namespace pipesim::app
