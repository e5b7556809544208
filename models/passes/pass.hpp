// What a pass over the task graph is, and the registry that knows passes by name.
//
// A shipped pass is one file in this folder, which ends in a function that returns its Pass, and a
// line in shipped_passes.cpp. A program of a user's own makes a registry of the shipped ones and
// adds to it; nothing registers itself behind anybody's back. See docs/how-to/passes.md.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// What the value of an option is: any text, a whole number, or on/off.
enum class OptionType : std::uint8_t { kText, kNumber, kTruth };

/// An option as a pass declares it.
struct PassOption {
  std::string name;
  OptionType type = OptionType::kText;
  std::optional<std::string> otherwise;  // its value where none is given; nothing: one must be
  std::string about;                     // one line
  std::vector<std::string> one_of = {};  // of a text: the words that it may be; none: any
  std::int64_t at_least = std::numeric_limits<std::int64_t>::min();  // of a number
};

/// The values of a pass's options: all that it declares are there, and are of their type.
class PassOptions {
 public:
  const std::string& text(std::string_view name) const;
  std::int64_t number(std::string_view name) const;
  bool truth(std::string_view name) const;

  /// `text` must be of the option's type, see is_option_value().
  void set(std::string name, std::string text) { values_[std::move(name)] = std::move(text); }
  bool has(std::string_view name) const { return values_.count(name) > 0; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Whether `text` is a value of `option`.
bool is_option_value(std::string_view text, const PassOption& option);

/// What its values are: "a whole number", "one of 'a' and 'b'".
std::string option_values(const PassOption& option);

/// A change of the task graph.
struct Pass {
  std::string name;                 // move-to-stream
  std::string about;                // one line
  std::vector<PassOption> options;  // the first may be given as `name=value`

  /// Changes `graph`, or says in `diagnostics` why it cannot. What it leaves is verified by others.
  void (*run)(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) = nullptr;
};

class PassRegistry {
 public:
  /// False, and nothing happens, if there is a pass of that name.
  bool add(Pass pass);

  /// The pass of this name, or nullptr. It stays where it is as long as the registry does.
  const Pass* find(std::string_view name) const;

  std::vector<std::string> names() const;

  /// By name.
  const std::map<std::string, Pass, std::less<>>& all() const { return passes_; }

 private:
  std::map<std::string, Pass, std::less<>> passes_;
};

/// The passes that come with pipesim.
PassRegistry shipped_passes();

}  // namespace pipesim::models
