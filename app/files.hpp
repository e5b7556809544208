// Reading and writing whole files. Output is written beside its place and renamed, so that nobody
// ever sees half of it.
#pragma once

#include <cstddef>
#include <istream>
#include <limits>
#include <stdexcept>
#include <string>

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

/// Makes the folder, and those that it is in, where they are not there. Throws FileError.
void make_folder(const std::string& path);

}  // namespace pipesim::app
