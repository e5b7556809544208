// Passes over the task graph, and the registry that finds passes by name.
//
// A shipped pass consists of one file in this folder, which ends in a function that returns its
// Pass, and one line in shipped_passes.cpp. A user's program makes a registry of the shipped passes
// and adds its own passes; no pass registers itself. See docs/how-to/passes.md.
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

/// The type of an option's value: any text, an integer, or on/off.
enum class OptionType : std::uint8_t { kText, kNumber, kTruth };

/// An option that a pass declares.
struct PassOption {
  std::string name;
  OptionType type = OptionType::kText;
  std::optional<std::string> otherwise;  // default value; nullopt: the option is required
  std::string about;                     // description in one line
  std::vector<std::string> one_of = {};  // allowed words of a text; empty: any text
  std::int64_t at_least = std::numeric_limits<std::int64_t>::min();  // minimum of a number
};

/// The values of a pass's options: one per declared option, of its type.
class PassOptions {
 public:
  const std::string& text(std::string_view name) const;
  std::int64_t number(std::string_view name) const;
  bool truth(std::string_view name) const;

  /// Sets an option. `text` must be of the option's type, see is_option_value().
  void set(std::string name, std::string text) { values_[std::move(name)] = std::move(text); }
  bool has(std::string_view name) const { return values_.count(name) > 0; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Whether `text` is a value of `option`.
bool is_option_value(std::string_view text, const PassOption& option);

/// Describes the allowed values: "an integer", "one of 'a' and 'b'".
std::string option_values(const PassOption& option);

/// A change of the task graph.
struct Pass {
  std::string name;                 // name, for example move-to-stream
  std::string about;                // description in one line
  std::vector<PassOption> options;  // `name=value` sets the first option

  /// Changes `graph`, or reports in `diagnostics` why it cannot. run_passes() verifies the result.
  void (*run)(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) = nullptr;
};

class PassRegistry {
 public:
  /// Adds a pass. Returns false and changes nothing if the name is taken.
  bool add(Pass pass);

  /// Returns the pass called `name`, or nullptr. The pointer is valid as long as the registry.
  const Pass* find(std::string_view name) const;

  std::vector<std::string> names() const;

  /// Returns all passes, sorted by name.
  const std::map<std::string, Pass, std::less<>>& all() const { return passes_; }

 private:
  std::map<std::string, Pass, std::less<>> passes_;
};

/// Returns the passes that come with pipesim.
PassRegistry shipped_passes();

}  // namespace pipesim::models
