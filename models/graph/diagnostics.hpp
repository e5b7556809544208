// Mistakes in user input, collected with their places so that one phase reports all of them at
// once.
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
  std::uint32_t file = 0;  // 0: the scenario; n: its n-th patch

  friend constexpr bool operator==(const Place&, const Place&) = default;
  friend constexpr auto operator<=>(const Place& a, const Place& b) {
    return std::tuple(a.file, a.line, a.column) <=> std::tuple(b.file, b.line, b.column);
  }
};

/// A Place in 8 bytes, because a scenario can have millions of places. A scenario or patch has at
/// most 128 MiB, so a line fits in 28 bits and a column in 27. One bit, the mark, is free for the
/// owner.
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

/// Returns "line 3" or "line 3 of patch 2", for notes, which have no place.
std::string line_text(Place place);

enum class Severity : std::uint8_t {
  kError,
  kWarning,
  kSuspect,  // legal, but perhaps not intended: see lint.hpp
};

struct Diagnostic {
  Severity severity = Severity::kError;
  Place place;
  Code code = Code::kNone;
  std::string message;             // lower case, no full stop, names in 'quotes'
  std::vector<std::string> notes;  // advice, and other places
};

/// The diagnostics of a phase, such as reading or lowering. After a phase with errors, the next
/// phase does not run.
class Diagnostics {
 public:
  /// Adds an error. The returned diagnostic accepts notes and stays valid until the next one is
  /// added.
  Diagnostic& error(Place place, Code code, std::string message);
  Diagnostic& warning(Place place, Code code, std::string message);
  Diagnostic& suspect(Place place, std::string message);

  bool has_errors() const { return error_count_ > 0; }
  std::size_t error_count() const { return error_count_; }

  /// Returns the diagnostics without duplicates, sorted by place, then by the order in which they
  /// were found.
  std::vector<Diagnostic> sorted() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t error_count_ = 0;
};

/// Returns the name in `known` that `name` was probably meant to be, or an empty string. A name
/// that differs only in case wins; else the first name with the smallest edit distance, which is at
/// most a third of the length of `name` (at least 1).
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// Adds "did you mean 'x'?" if nearest_name finds a name; else lists `known` if it has at most
/// `most` names.
void suggest_name(Diagnostic& diagnostic, std::string_view name,
                  const std::vector<std::string>& known, std::size_t most = 12);

}  // namespace pipesim::models
