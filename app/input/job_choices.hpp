// The ways of a job with choices. A way assigns a value to each parameter that is a choice, either
// per rank or for the whole job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/document/settings.hpp"
#include "formats/scenario/scenario.hpp"

namespace pipesim::app {

/// All ways of `scenario`. Choices that a setting fixes do not vary. The scenario's own way is
/// first, followed by the ways with one flipped choice, two flipped choices, and so on. Ways with
/// the same number of flips are in the order of parameters, then ranks.
class JobChoices {
 public:
  explicit JobChoices(const formats::Scenario& scenario);

  bool empty() const { return bits_.empty(); }

  /// Returns the number of ways; nullopt if there are more than 2^63.
  std::optional<std::uint64_t> count() const;

  /// Returns the settings of the next way; nullopt after the last way.
  std::optional<std::vector<formats::Setting>> next();

 private:
  struct Bit {
    std::size_t parameter = 0;
    std::uint32_t rank = 0;  // the rank that chooses, if `by_rank`
    bool by_rank = false;
    bool usual = false;  // value of the choice in the scenario itself
  };

  std::vector<std::string> names_;  // parameter names
  std::vector<Bit> bits_;
  std::uint32_t ranks_ = 0;
  std::vector<std::uint8_t> turned_;  // whether each choice in bits_ is flipped
  bool begun_ = false;
};

/// Formats `settings` as command-line options, `--set 'name=value'`.
std::string settings_text(const std::vector<formats::Setting>& settings);

}  // namespace pipesim::app
