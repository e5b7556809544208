// The verdict over all interleavings, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viz/report/report.hpp"

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
};

/// Whether the only checked reading is proved, but relies on NCCL's buffers. The report then states
/// "NO HANG" instead of "PROVED", because NCCL does not promise buffers.
bool is_proved_by_buffers(const CheckView& view);

/// Whether failed ranks of a recorded script are the only problem: no calls mismatch, and other
/// ranks wait only for the failed ranks. A failed rank raised an exception or exited with an error.
bool is_failed(const CheckView& view);

/// Returns "FAILED: rank 1 raised ValueError at train.py:3; ranks 0 and 2 wait for it". Requires
/// is_failed().
std::string failed_text(const CheckView& view);

/// Returns the words for an answer: "proved", "hang possible", "hang certain", "undecided".
std::string answer_text(sim::Answer answer);

/// Returns the words for the combined answer of all readings: "runs by buffers", or the words for a
/// sim::Answer.
std::string answer_text(models::JobAnswer answer);

/// Returns the words for `one` of the readings in `all`. If only NCCL's buffers prevent a hang,
/// returns "runs, thanks to 8 KiB of buffers" or, with `short_form`, "runs by buffers".
std::string answer_text(const models::NcclModesReport& all, const models::NcclModeAnswer& one,
                        bool short_form);

/// Describes the parts that the scenario lacks (models::LeftOut), one per line.
std::vector<std::string> left_out_lines(const CheckView& view);

/// States the assumption that ranks can leave a broadcast or reduce before others arrive.
std::string flows_text();

/// States the assumption that sends to other hosts do not wait for each other.
std::string network_text();

/// States the assumption that an empty collective waits for no other rank.
std::string empty_calls_text();

/// States the assumption that communicator init waits for no kernels.
std::string init_text();

/// States the assumption that NCCL connects once per operation, not once per size. `call` is a call
/// whose size differs from the first.
std::string size_text(const models::LaterSize& call);

/// States the assumption that an event record occupies no hardware queue.
std::string records_text();

/// States that the owner of a launch queue, a stream or the device, is not documented.
std::string launches_text(const sim::Exploration& found);

/// Describes undocumented or unmeasured assumptions of the answer, in addition to the assumptions
/// of the hanging run, which unmeasured_lines() lists.
std::vector<std::string> rests_on_lines(const CheckView& view);

/// Formats the end of a run: "completes at 24 us".
std::string run_end_text(const models::Explanation& end);

/// Returns the number of explored interleavings, and their outcome.
std::string interleavings_text(const CheckView& view);

/// Returns the answer, the method, the run with the scenario's own times, and the run that hangs.
std::string check_text(const CheckView& view, const TextOptions& options);

}  // namespace pipesim::viz
