#include "app/commands/job_choices.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pipesim::app {
namespace {

// As people write it: "off", "rank == 3 or rank == 5", "rank != 0".
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
  // Of those that turn equally many, first the one that turns the first.
  if (begun_ && !std::prev_permutation(turned_.begin(), turned_.end())) {
    // prev_permutation() has gone round, to those that are turned at the front.
    const auto stays = std::find(turned_.begin(), turned_.end(), 0);
    if (stays == turned_.end()) return std::nullopt;
    *stays = 1;
  }
  begun_ = true;
  std::vector<std::vector<std::uint32_t>> on(names_.size());  // ranks of each parameter
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

}  // namespace pipesim::app
