// Rebuilding of a schedule's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/graph/schedule.hpp"

namespace pipesim::models {

/// A new row, with the places of the old actions that it is made from.
class NewRow {
 public:
  NewRow(const Schedule& from, std::uint32_t rank) : from_(from), rank_(rank) {}

  Actions actions;
  std::vector<Place> places;

  std::uint32_t rank() const { return rank_; }

  /// Appends `action` with the place of action `i` of the old row.
  void add(const Action& action, std::size_t i) {
    actions.push_back(action);
    if (!from_.places.empty()) places.push_back(from_.place(rank_, i));
  }

 private:
  const Schedule& from_;
  std::uint32_t rank_;
};

/// Returns `schedule` without empty slots, with each row rebuilt by `make(old, new)`.
template <typename Make>
Schedule with_new_rows(const Schedule& schedule, const Make& make) {
  const Schedule from = without_empty(schedule);
  Schedule result = from;
  for (std::uint32_t rank = 0; rank < from.ranks.size(); ++rank) {
    NewRow row(from, rank);
    make(from.ranks[rank], row);
    result.ranks[rank] = std::move(row.actions);
    if (!from.places.empty()) result.places[rank] = std::move(row.places);
  }
  return result;
}

}  // namespace pipesim::models
