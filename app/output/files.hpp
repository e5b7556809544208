// Reading and writing whole files. Output is written to a temporary file beside its target and then
// renamed, so that nobody ever sees half of it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <istream>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>

#include "models/codes.hpp"

namespace pipesim::app {

/// A file could not be read or written. The message names it and says why.
class FileError : public models::UserError {
 public:
  using UserError::UserError;
};

/// The path as messages show it.
inline std::string shown_path(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

/// The content of a file; `-` is all of `standard_input`. Of a file larger than `max_bytes`, that
/// many bytes and one more, so that the caller can tell. Throws FileError.
std::string read_file(const std::string& path, std::istream& standard_input,
                      std::size_t max_bytes = std::numeric_limits<std::size_t>::max() - 1);

/// Whether `word`, which is not empty, stands in the file, of which about so many bytes are looked
/// at. Throws FileError.
bool file_contains(const std::string& path, std::string_view word, std::size_t max_bytes);

/// Makes `text` the content of the file. Throws FileError, and then the old content stays. A pipe,
/// or a device such as /dev/stdout, is written to directly.
void write_file(const std::string& path, const std::string& text);

/// The same, but `-` is `standard_output`. Returns whether that was written to.
bool write_or_print(const std::string& path, const std::string& text,
                    std::ostream& standard_output);

/// Creates a file with `text`. Throws FileError, also if there is anything of that name, which is
/// not overwritten.
void write_new_file(const std::string& path, const std::string& text);

/// Writes a file part by part. The old content stays until close(), and for good if that is never
/// called.
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
  std::string target_;     // the file to replace: `path_`, with links followed
  std::string temporary_;  // where it is written; empty: straight to `path_`
  std::FILE* file_ = nullptr;
};

/// Removes the temporary file of a FileWriter, if there is one. Safe to call in a signal handler.
void remove_temporary_file();

/// Creates the folder and its parents, as far as they do not exist. Throws FileError.
void make_folder(const std::string& path);

}  // namespace pipesim::app
