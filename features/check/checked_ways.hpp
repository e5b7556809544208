// Checks of all ways of a job with choices.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/input/job_choices.hpp"
#include "formats/document/settings.hpp"

#include "features/check/check_report.hpp"
#include "features/check/nccl_modes.hpp"

namespace pipesim::app {

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
