#include "features/check/checked_ways.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pipesim::app {
namespace {

int badness(models::JobAnswer answer) {
  switch (answer) {
    case models::JobAnswer::kProved:
      return 0;
    case models::JobAnswer::kUndecided:
      return 1;
    case models::JobAnswer::kByBuffers:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

bool has_hang(const models::NcclModesReport& found) {
  return found.answer == models::JobAnswer::kHangPossible ||
         found.answer == models::JobAnswer::kHangCertain;
}

std::optional<std::string> empty_parts_basis(
    const models::ProcessGroups& groups, const models::NcclModesReport& found,
    const std::function<std::optional<models::NcclModesReport>()>& check_other) {
  if (!groups.has_empty_parts || found.answer == models::JobAnswer::kUndecided) return std::nullopt;
  std::string otherwise = "was not checked";
  if (const auto other = check_other()) {
    if (other->answer == models::JobAnswer::kUndecided || has_hang(*other) == has_hang(found)) {
      return std::nullopt;
    }
    otherwise = has_hang(found) ? "does not hang" : "can hang";
  }
  return fmt::format(
      "an empty part of an all_to_all is {}; otherwise this {} (from PyTorch's source; not "
      "measured)",
      groups.sends_them ? "sent, and its recv waits for it, as in PyTorch 2.15 and later"
                        : "not sent, as in PyTorch up to 2.14; nccl2, the default since 2.15, "
                          "sends it",
      otherwise);
}

CheckedWays check_ways(
    JobChoices choices, std::uint64_t max_ways, const std::atomic<bool>* stop,
    const std::function<models::NcclModesReport(const std::vector<formats::Setting>&)>& check,
    const std::function<void()>& keep, models::NcclModesReport& found) {
  CheckedWays ways;
  ways.view.all = choices.count();
  ways.settings = *choices.next();
  ways.view.checked = 1;
  while (!has_hang(found) && ways.view.checked < max_ways && !(stop != nullptr && *stop)) {
    const auto settings = choices.next();
    if (!settings) break;
    models::NcclModesReport of_other = check(*settings);
    ++ways.view.checked;
    if (badness(of_other.answer) <= badness(found.answer)) continue;
    found = std::move(of_other);
    ways.settings = *settings;
    ways.view.number = ways.view.checked;
    keep();
  }
  // A certain hang in one way is only a possible hang of the job. Proofs of some ways prove nothing
  // about the other ways.
  if (found.answer == models::JobAnswer::kHangCertain && ways.view.all != 1) {
    found.answer = models::JobAnswer::kHangPossible;
    found.check.exploration.answer = sim::Answer::kHangPossible;
  }
  if (found.answer == models::JobAnswer::kProved && !ways.view.complete()) {
    found.answer = models::JobAnswer::kUndecided;
    found.check.exploration.answer = sim::Answer::kUndecided;
  }
  ways.view.shown = settings_text(ways.settings);
  return ways;
}

}  // namespace pipesim::app
