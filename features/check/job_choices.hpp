// The ways of a job with choices. A way assigns a value to each parameter that is a choice, either
// per rank or for the whole job.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/document/settings.hpp"
#include "formats/scenario/scenario.hpp"

#include "features/check/check_report.hpp"
#include "features/check/nccl_modes.hpp"

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

bool has_hang(const models::NcclModesReport& found);

/// Describes the assumption of `found` about empty parts in an all_to_all. According to PyTorch's
/// source, some versions of PyTorch send empty parts and others do not. Returns nullopt if the
/// answer does not depend on this rule. `check_other` checks the job with the opposite rule; if it
/// returns nullopt, the text says that this rule was not checked.
std::optional<std::string> empty_parts_basis(
    const models::ProcessGroups& groups, const models::NcclModesReport& found,
    const std::function<std::optional<models::NcclModesReport>()>& check_other);

/// The combined result of all checked ways.
struct CheckedWays {
  viz::WaysView view;
  std::vector<formats::Setting> settings;  // settings of the way that is shown
};

/// Checks the ways of `choices` after the default way, which has the answer `found`. Stops at a
/// hang, after `max_ways` ways, or when `stop` is set. `found` becomes the answer for the whole
/// job. `check` gets the settings of a way. `keep` is called when the way just checked becomes the
/// way to show.
CheckedWays check_ways(
    JobChoices choices, std::uint64_t max_ways, const std::atomic<bool>* stop,
    const std::function<models::NcclModesReport(const std::vector<formats::Setting>&)>& check,
    const std::function<void()>& keep, models::NcclModesReport& found);

}  // namespace pipesim::app
