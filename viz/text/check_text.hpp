// The verdict over all orders, for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/search/check.hpp"
#include "models/search/readings.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// Of a job that can go in several ways, those that were checked.
struct WaysView {
  std::uint64_t checked = 0;
  std::optional<std::uint64_t> all;  // nothing: more than are counted
  std::string shown;                 // the settings that make the way that is shown
  std::uint64_t number = 1;          // of that way, from 1

  bool complete() const { return all == checked; }
};

/// What is shown of a check. `hang` is the report of the run that hangs, if there is one.
struct CheckView {
  const models::TaskGraph& graph;
  const models::CheckReport& check;
  const Report* hang = nullptr;
  std::uint64_t max_states = 0;      // the budget
  bool out_of_time = false;          // rather than interrupted
  bool of_record = false;            // the program was recorded, and nobody wrote it
  std::vector<std::string> basis{};  // what the answer rests on besides, as the scenario says
  const models::ReadingsReport* readings = nullptr;  // of a program with calls that NCCL does
  bool of_dumps = false;                             // likewise, of a real job: its last calls
  std::optional<WaysView> ways{};                    // of a scenario with choices
  bool by_buffers = false;  // only one reading was checked, in which NCCL's buffers take messages
  std::string undecided{};  // why, where a record does not say enough
};

/// What an answer without a hang in this one reading is worth: "no hang" rather than "proved",
/// since NCCL promises no buffers.
bool is_proved_by_buffers(const CheckView& view);

/// Whether ranks of a recorded script raised or exited with an error, and nothing else keeps it
/// from completing: no call mismatches, and others wait for these ranks at most.
bool is_failed(const CheckView& view);

/// "FAILED: rank 1 raised ValueError at train.py:3; ranks 0 and 2 wait for it", of such a script.
std::string failed_text(const CheckView& view);

/// The words for an answer: "proved", "hang possible", "hang certain", "undecided".
std::string answer_text(sim::Answer answer);

/// Likewise of all readings together: also "runs by buffers".
std::string answer_text(models::JobAnswer answer);

/// Of one of several readings: without a hang but not by contract, "runs, by 8 KiB of buffers".
/// `short_form`: as for all together.
std::string answer_text(const models::ReadingsReport& all, const models::ReadingAnswer& one,
                        bool short_form);

/// What the scenario leaves out, a line each.
std::vector<std::string> left_out_lines(const CheckView& view);

/// That ranks leave a broadcast or reduce before others have come: what rests on it.
std::string flows_text();

/// That sends to other hosts wait for no others.
std::string network_text();

/// That a collective of no bytes waits for nobody.
std::string empty_calls_text();

/// That the initialization of a communicator waits for no kernels.
std::string creation_text();

/// That an operation connects once, and not for each size.
std::string size_text(const models::LaterSize& call);

/// That a record holds no hardware queue.
std::string records_text();

/// Whose a launch queue is.
std::string launches_text(const sim::Exploration& found);

/// What the answer rests on that nobody promises or has measured, beside what the run that hangs
/// does (unmeasured_lines).
std::vector<std::string> rests_on_lines(const CheckView& view);

/// "completes at 24 us".
std::string run_end_text(const models::Explanation& end);

/// "a send waits for its recv, as NCCL promises".
std::string reading_about(models::Reading reading);

/// How many were explored, and how they end.
std::string interleavings_text(const CheckView& view);

/// Answer, how it was found, the run in the scenario's own times, the run that hangs.
std::string check_text(const CheckView& view, const TextOptions& options);

}  // namespace pipesim::viz
