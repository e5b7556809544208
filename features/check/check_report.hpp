// The verdict over all interleavings, for terminals, JSON and pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viz/page/html_page.hpp"
#include "viz/report/report.hpp"
#include "viz/report/section.hpp"

#include "features/check/check.hpp"
#include "features/check/nccl_modes.hpp"

namespace pipesim::viz {

/// The checked ways of a job with choices. A way gives a value to each choice.
struct WaysView {
  std::uint64_t checked = 0;
  std::optional<std::uint64_t> all;  // number of all ways; nullopt: too many to count
  std::string shown;                 // settings of the way that is shown
  std::uint64_t number = 1;          // number of the shown way, from 1

  bool complete() const { return all == checked; }
};

/// Contents of the report of a check. `hang` is the report of a hanging run; null if no run hangs.
struct CheckView {
  const models::TaskGraph& graph;
  const models::CheckReport& check;
  const Report* hang = nullptr;
  std::uint64_t max_states = 0;      // limit on the number of explored states
  bool out_of_time = false;          // whether the time limit, not the user, ended the search
  bool of_record = false;            // whether the program was recorded from a script
  std::vector<std::string> basis{};  // further assumptions of the answer, from the scenario
  const models::NcclModesReport* modes = nullptr;  // answers of all readings; null: one reading
  // Whether the program consists of the last calls of a real job, read from dumps.
  bool of_dumps = false;
  std::optional<WaysView> ways{};  // for scenarios with choices
  bool by_buffers = false;         // whether the only checked reading relies on NCCL's buffers
  // Reason for an undecided answer; empty: the exploration decides.
  std::string undecided{};
  bool needs_loaded_kernels = false;  // whether a proof assumes loaded kernels
};

/// Returns the words for the combined answer of all readings: "runs by buffers".
std::string answer_text(models::JobAnswer answer);

/// Returns the assumptions of the answer about the hosts: loads of kernels, and the progress of a
/// library.
std::vector<std::string> host_lines(const models::NcclModesReport& found);

/// Returns the data of the report. docs/reference/json.md describes every key.
Section check_report(const CheckView& view);

/// Returns the answer, the method, the run with the scenario's own times, and the run that hangs.
std::string check_text(const CheckView& view, const TextOptions& options);

/// Returns the texts of the page of `check`, which also shows a run. `steps` describes the
/// interleaving that hangs.
CheckPage check_page(const CheckView& view, std::vector<std::string> steps);

}  // namespace pipesim::viz
