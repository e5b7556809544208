// Functions that read and write whole files. Output is written to a temporary file next to its
// target and then renamed: no reader ever sees half of a file.
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

/// Error in reading or writing a file. The message names the path and the reason.
class FileError : public models::UserError {
 public:
  using UserError::UserError;
};

/// Returns the path as shown in messages.
inline std::string shown_path(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

/// Returns the content of a file; `-` is all of `standard_input`. If a file is larger than
/// `max_bytes`, returns its first `max_bytes` + 1 bytes, so that the caller notices. Throws
/// FileError.
std::string read_file(const std::string& path, std::istream& standard_input,
                      std::size_t max_bytes = std::numeric_limits<std::size_t>::max() - 1);

/// Whether the file contains `word` (not empty) in about its first `max_bytes` bytes. Throws
/// FileError.
bool file_contains(const std::string& path, std::string_view word, std::size_t max_bytes);

/// Replaces the content of the file by `text`. On failure, throws FileError and keeps the old
/// content. A pipe, or a device such as /dev/stdout, is written directly.
void write_file(const std::string& path, const std::string& text);

/// Writes the file like write_file(), but a path `-` is `standard_output`. Returns whether the text
/// went to `standard_output`.
bool write_or_print(const std::string& path, const std::string& text,
                    std::ostream& standard_output);

/// Creates a file with `text`. Throws FileError, for example if the path already exists: never
/// overwrites a file.
void write_new_file(const std::string& path, const std::string& text);

/// Writes a file part by part. The file gets its new content in close(); if close() is never
/// called, the file keeps its old content.
class FileWriter {
 public:
  /// Opens the file. Throws FileError, as do write() and close().
  explicit FileWriter(std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view part);
  void close();

 private:
  [[noreturn]] void give_up();

  std::string path_;
  std::string target_;     // file to replace: `path_`, with links followed
  std::string temporary_;  // temporary file; empty: `path_` is written directly
  std::FILE* file_ = nullptr;
};

/// Removes the temporary file of a FileWriter, if any. Safe to call in a signal handler.
void remove_temporary_file();

/// Creates the folder and its missing parents. Throws FileError.
void make_folder(const std::string& path);

}  // namespace pipesim::app
