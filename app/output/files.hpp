// Reading and writing whole files. Output is written beside its place and renamed, so that nobody
// ever sees half of it.
#pragma once

#include <cstddef>
#include <fstream>
#include <istream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pipesim::app {

/// A file could not be read or written. The message names it and says why.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the file holds; `-` is all of `standard_input`. Of a file with more than `most` bytes, so
/// many and one more. Throws FileError.
std::string read_file(const std::string& path, std::istream& standard_input,
                      std::size_t most = std::numeric_limits<std::size_t>::max() - 1);

/// Makes `text` the content of the file. Throws FileError, and then leaves what was there. A path
/// that is no regular file (a pipe, /dev/stdout) is written to directly.
void write_file(const std::string& path, const std::string& text);

/// Makes a file with `text`. Throws FileError, also where there is something of that name, whatever
/// it is: that stays as it is.
void write_new_file(const std::string& path, const std::string& text);

/// Writes a file part by part. What was there stays until close(), and if that is never called.
class FileWriter {
 public:
  /// Throws FileError, as do the others.
  explicit FileWriter(std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view part);
  void close();

 private:
  [[noreturn]] void give_up();

  std::string path_;
  std::string target_;  // what is replaced: behind a link the file
  std::string beside_;  // where it is written, if not straight to `path_`
  std::ofstream file_;
};

/// Removes the file that a FileWriter of this process has begun, for a process that a signal ends.
/// Does only what a signal handler may.
void remove_begun_file();

/// Makes the folder, and those that it is in, where they are not there. Throws FileError.
void make_folder(const std::string& path);

}  // namespace pipesim::app
