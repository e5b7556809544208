#include "app/input/job_choices.hpp"

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

}  // namespace

JobChoices::JobChoices(const formats::Scenario& scenario) : ranks_(scenario.graph.ranks) {
  for (const formats::Parameter& parameter : scenario.parameters) {
    if (!parameter.is_free_choice()) continue;
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

}  // namespace pipesim::app
