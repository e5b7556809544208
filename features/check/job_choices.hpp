// The ways in which a job can go. A way assigns a value to each parameter that is a choice, either
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

#include "features/check/check_text.hpp"
#include "features/check/nccl_modes.hpp"

namespace pipesim::app {

/// All ways in which `scenario` can go, except for choices fixed by a setting. The scenario's own
/// way is first, then the ways with one choice flipped, two flipped, and so on. Ways with the same
/// number of flips are in the order of parameters, then ranks.
class JobChoices {
 public:
  explicit JobChoices(const formats::Scenario& scenario);

  bool empty() const { return bits_.empty(); }

  /// Returns the number of ways; nullopt if it exceeds 64 bits.
  std::optional<std::uint64_t> count() const;

  /// Returns the settings of the next way; nullopt after the last.
  std::optional<std::vector<formats::Setting>> next();

 private:
  struct Bit {
    std::size_t parameter = 0;
    std::uint32_t rank = 0;  // rank, if each rank chooses
    bool by_rank = false;
    bool usual = false;  // value in the scenario itself
  };

  std::vector<std::string> names_;  // parameter names
  std::vector<Bit> bits_;
  std::uint32_t ranks_ = 0;
  std::vector<std::uint8_t> turned_;  // flipped choices; same indexes as bits_
  bool begun_ = false;
};

/// Formats `settings` as command-line options, `--set 'name=value'`.
std::string settings_text(const std::vector<formats::Setting>& settings);

bool has_hang(const models::NcclModesReport& found);

/// Describes the assumption of `found` about empty parts in an all_to_all: PyTorch's version
/// decides whether they are sent, according to its source. Returns nullopt if the answer does not
/// depend on this. `check_other` checks the job with the other rule; if it returns nullopt, the
/// text says so.
std::optional<std::string> empty_parts_basis(
    const models::ProcessGroups& groups, const models::NcclModesReport& found,
    const std::function<std::optional<models::NcclModesReport>()>& check_other);

/// The combined result of all checked ways.
struct CheckedWays {
  viz::WaysView view;
  std::vector<formats::Setting> settings;  // settings of the way that is shown
};

/// Checks the ways of `choices` after the default way, which has the answer `found`. Stops at a
/// hang, after `max_ways` ways, or when `stop` is set. `found` becomes the worst answer. `check`
/// gets the settings of a way. `keep` is called when the way just checked becomes the shown one.
CheckedWays check_ways(
    JobChoices choices, std::uint64_t max_ways, const std::atomic<bool>* stop,
    const std::function<models::NcclModesReport(const std::vector<formats::Setting>&)>& check,
    const std::function<void()>& keep, models::NcclModesReport& found);

}  // namespace pipesim::app
