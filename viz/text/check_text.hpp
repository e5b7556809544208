// The verdict over all orders, for people.
#pragma once

#include <cstdint>
#include <string>

#include "models/search/check.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// What is shown of a check. `hang` is the report of the run that hangs, if there is one.
struct CheckView {
  const models::TaskGraph& graph;
  const models::CheckReport& check;
  const Report* hang = nullptr;
  std::uint64_t max_states = 0;  // the budget
  bool out_of_time = false;      // rather than interrupted
};

/// The words for an answer: "proved", "hang possible", "hang certain", "undecided".
std::string answer_text(sim::Answer answer);

/// Answer, how it was found, the run in the scenario's own times, the run that hangs.
std::string check_text(const CheckView& view, const TextOptions& options);

}  // namespace pipesim::viz
