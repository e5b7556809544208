#include "features/check/job_choices.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pipesim::app {
namespace {

// Returns the condition that holds exactly on `ranks` in a job of `of` ranks: "off", "on", "rank ==
// 3 or rank == 5", "rank != 0".
std::string condition_text(const std::vector<std::uint32_t>& ranks, std::uint32_t of) {
  if (ranks.empty()) return "off";
  if (ranks.size() == of) return "on";
  const bool most = ranks.size() > of / 2;
  std::string text;
  for (std::uint32_t rank = 0; rank < of; ++rank) {
    const bool is_on = std::binary_search(ranks.begin(), ranks.end(), rank);
    if (is_on == most) continue;
    if (!text.empty()) text += most ? " and " : " or ";
    text += fmt::format("rank {} {}", most ? "!=" : "==", rank);
  }
  return text;
}

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

JobChoices::JobChoices(const formats::Scenario& scenario) : ranks_(scenario.graph.ranks) {
  for (const formats::Parameter& parameter : scenario.parameters) {
    if (parameter.choice == formats::JobChoice::kNone || parameter.is_set) continue;
    const bool by_rank = parameter.choice == formats::JobChoice::kEachRank;
    for (std::uint32_t rank = 0; rank < (by_rank ? ranks_ : 1); ++rank) {
      const bool usual = parameter.value.expr.value(rank).value_or(0) != 0;
      bits_.push_back({names_.size(), rank, by_rank, usual});
    }
    names_.push_back(parameter.name);
  }
  turned_.assign(bits_.size(), 0);
}

std::optional<std::uint64_t> JobChoices::count() const {
  if (bits_.size() > 63) return std::nullopt;
  return std::uint64_t{1} << bits_.size();
}

std::optional<std::vector<formats::Setting>> JobChoices::next() {
  // Among ways with the same number of flipped choices, flips of earlier choices come first.
  if (begun_ && !std::prev_permutation(turned_.begin(), turned_.end())) {
    // prev_permutation() wrapped around and left all flips at the front: flip one more choice.
    const auto stays = std::find(turned_.begin(), turned_.end(), 0);
    if (stays == turned_.end()) return std::nullopt;
    *stays = 1;
  }
  begun_ = true;
  // Ranks with the choice on, by parameter.
  std::vector<std::vector<std::uint32_t>> on(names_.size());
  std::vector<formats::Setting> settings;
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    const Bit& bit = bits_[i];
    const bool is_on = bit.usual != (turned_[i] != 0);
    if (is_on) on[bit.parameter].push_back(bit.rank);
    const bool last = i + 1 == bits_.size() || bits_[i + 1].parameter != bit.parameter;
    if (last) {
      settings.emplace_back(names_[bit.parameter],
                            condition_text(on[bit.parameter], bit.by_rank ? ranks_ : 1));
    }
  }
  return settings;
}

std::string settings_text(const std::vector<formats::Setting>& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += fmt::format("{}--set '{}={}'", text.empty() ? "" : " ", name, value);
  }
  return text;
}

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
