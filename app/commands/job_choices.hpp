// The ways in which a job can go: a value for each parameter that is a choice, of each rank or of
// all together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "formats/yaml/settings.hpp"
#include "models/search/readings.hpp"
#include "viz/text/check_text.hpp"

namespace pipesim::app {

/// All ways in which `scenario` can go, but for choices that were set. First that of the scenario
/// itself, then those with one choice made the other way, with two, and so on; ranks and parameters
/// in order.
class JobChoices {
 public:
  explicit JobChoices(const formats::Scenario& scenario);

  bool empty() const { return bits_.empty(); }

  /// How many ways there are; nothing: more than a number of 64 bits.
  std::optional<std::uint64_t> count() const;

  /// The settings that make the next way. Nothing behind the last.
  std::optional<std::vector<formats::Setting>> next();

 private:
  struct Bit {
    std::size_t parameter = 0;
    std::uint32_t rank = 0;  // of a choice of each rank
    bool by_rank = false;
    bool usual = false;  // in the scenario itself
  };

  std::vector<std::string> names_;  // of the parameters
  std::vector<Bit> bits_;
  std::uint32_t ranks_ = 0;
  std::vector<std::uint8_t> turned_;  // beside bits_: made the other way
  bool begun_ = false;
};

/// As options of a command, `--set 'name=value'`.
std::string settings_text(const std::vector<formats::Setting>& settings);

bool has_hang(const models::ReadingsReport& found);

/// Of a job in which parts of an all_to_all are empty: what its answer `found` assumes, if it
/// depends on whether these are sent. That depends on PyTorch's version, and was read in its code.
/// `check_other` checks the job that does otherwise; where it cannot, this is said.
std::optional<std::string> empty_parts_basis(
    const models::ProcessGroups& groups, const models::ReadingsReport& found,
    const std::function<std::optional<models::ReadingsReport>()>& check_other);

/// What the ways in which a job can go come to together.
struct CheckedWays {
  viz::WaysView view;
  std::vector<formats::Setting> settings;  // of the one that is shown
};

/// Checks the ways of `choices` behind the usual one, whose answer is `found`, until one hangs,
/// `max_ways` are checked or `stop` is set. `found` becomes the worst of them. `check` is called
/// with the settings of a way, and `keep` where the way checked last becomes the one that is shown.
CheckedWays check_ways(
    JobChoices choices, std::uint64_t max_ways, const std::atomic<bool>* stop,
    const std::function<models::ReadingsReport(const std::vector<formats::Setting>&)>& check,
    const std::function<void()>& keep, models::ReadingsReport& found);

}  // namespace pipesim::app
