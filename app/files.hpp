// Reading and writing whole files. Output is written beside its place and renamed, so that nobody
// ever sees half of it.
#pragma once

#include <istream>
#include <stdexcept>
#include <string>

namespace pipesim::app {

/// A file could not be read or written. The message names it and says why.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the file holds; `-` is all of `standard_input`. Throws FileError.
std::string read_file(const std::string& path, std::istream& standard_input);

/// Makes `text` the content of the file. Throws FileError, and then leaves what was there. A path
/// that is no regular file (a pipe, /dev/stdout) is written to directly.
void write_file(const std::string& path, const std::string& text);

}  // namespace pipesim::app
