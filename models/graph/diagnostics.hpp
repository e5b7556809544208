// A user's mistakes: collected with their places, so that all of a phase are shown at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/codes.hpp"
#include "models/outside_text.hpp"

namespace pipesim::models {

/// A place in the file that the task graph came from. Lines and columns count from 1, columns in
/// bytes. Line 0: no place (a graph that was built in code).
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t file = 0;  // 0: the scenario; else the n-th of its patches

  friend constexpr bool operator==(const Place&, const Place&) = default;
  friend constexpr auto operator<=>(const Place& a, const Place& b) {
    return std::tuple(a.file, a.line, a.column) <=> std::tuple(b.file, b.line, b.column);
  }
};

/// A Place in 8 bytes, for what a scenario has millions of. A scenario and a patch have at most 128
/// MiB, so 28 bits are enough for a line, and 27 for a column. One bit is left for whoever keeps
/// it.
class SmallPlace {
 public:
  SmallPlace() = default;
  explicit SmallPlace(Place place, bool mark = false)
      : bits_(std::uint64_t{std::min(place.line, kMaxLine)} << kLineShift |
              std::uint64_t{std::min(place.column, kMaxColumn)} << kColumnShift |
              std::uint64_t{place.file & kMaxFile} << 1U | (mark ? 1U : 0U)) {}

  Place place() const {
    return {static_cast<std::uint32_t>(bits_ >> kLineShift),
            static_cast<std::uint32_t>(bits_ >> kColumnShift) & kMaxColumn,
            static_cast<std::uint32_t>(bits_ >> 1U) & kMaxFile};
  }
  bool mark() const { return (bits_ & 1U) != 0; }

 private:
  static constexpr std::uint32_t kMaxLine = (1U << 28U) - 1;
  static constexpr std::uint32_t kMaxColumn = (1U << 27U) - 1;
  static constexpr std::uint32_t kMaxFile = 0xff;
  static constexpr unsigned kColumnShift = 9;
  static constexpr unsigned kLineShift = kColumnShift + 27;

  std::uint64_t bits_ = 0;
};

/// "line 3", "line 3 of patch 2"; for notes, which have no place of their own.
std::string line_text(Place place);

enum class Severity : std::uint8_t {
  kError,
  kWarning,
  kSuspect,  // legal, and perhaps not what was meant: see lint.hpp
};

struct Diagnostic {
  Severity severity = Severity::kError;
  Place place;
  Code code = Code::kNone;
  std::string message;             // lower case, no full stop, names in 'quotes'
  std::vector<std::string> notes;  // what to do, and other places
};

/// Collects. What follows a phase with errors does not run.
class Diagnostics {
 public:
  /// Adds an error; the result stays valid until the next call and takes notes.
  Diagnostic& error(Place place, Code code, std::string message);
  Diagnostic& warning(Place place, Code code, std::string message);
  Diagnostic& suspect(Place place, std::string message);

  bool has_errors() const { return error_count_ > 0; }
  std::size_t error_count() const { return error_count_; }

  /// In the order of places; those of one place in the order they were found, each once.
  std::vector<Diagnostic> sorted() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t error_count_ = 0;
};

/// The one of `known` that `name` was probably meant to be, or an empty string: the first with the
/// smallest edit distance, if that is at most a third of the length; or that with other capitals.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// Adds "did you mean 'x'?" where nearest_name finds one, else the list if it has at most `most`.
void suggest_name(Diagnostic& diagnostic, std::string_view name,
                  const std::vector<std::string>& known, std::size_t most = 12);

}  // namespace pipesim::models
