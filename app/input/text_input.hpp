// Input file of a command, and the mistakes found in it.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/output/console.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "viz/report/diagnostic_text.hpp"

namespace pipesim::app {

/// Thrown if the mistakes in an input have already been printed.
class ReportedMistakes : public std::exception {};

class TextInput {
 public:
  /// Holds the text of a file. `shown_path` is the file's name in messages.
  TextInput(std::string shown_path, std::string text, const Console& console)
      : shown_path_(std::move(shown_path)), text_(std::move(text)), console_(console) {}

  /// Reads the file at `path` with read_file(). Throws FileError.
  static TextInput read(const std::string& path, std::size_t max_bytes, const Console& console);

  const std::string& text() const {
    if (write_text_) text_ = std::exchange(write_text_, nullptr)();
    return text_;
  }
  const std::string& title() const { return shown_path_; }
  const std::vector<formats::PatchText>& patches() const { return patches_; }

  /// Collects the mistakes of readers of the text. report() and fail() print them.
  models::Diagnostics& diagnostics() { return diagnostics_; }

  /// Returns the value of `found`; calls fail() if `found` is empty.
  template <typename T>
  T require(std::optional<T> found) {
    if (!found) fail();
    return std::move(*found);
  }

  /// Prints the diagnostics and clears them.
  void report();

  /// Prints the diagnostics, and throws ReportedMistakes.
  [[noreturn]] void fail();

  /// Adds an error about the whole file, prints the diagnostics, and throws ReportedMistakes.
  [[noreturn]] void fail(models::Code code, const std::string& message);

  /// Returns the files to which diagnostics can refer. Their text lives as long as this object.
  std::vector<viz::SourceText> sources() const;

  /// Formats `diagnostics` with excerpts of the source.
  std::string excerpts(const models::Diagnostics& diagnostics, bool colour) const;

 protected:
  std::string shown_path_;  // path as shown in messages
  mutable std::string text_;
  mutable std::function<std::string()> write_text_;  // writes the text when it is first needed
  std::vector<formats::PatchText> patches_;  // further files, to which diagnostics can refer
  const Console& console_;
  models::Diagnostics diagnostics_;
};

}  // namespace pipesim::app
