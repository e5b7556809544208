// The three readings of one program (docs/explanation/check.md#readings): what NCCL promises, what
// its buffers let through, and what a fresh job does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/search/check.hpp"

namespace pipesim::models {

/// contract, real, cold.
std::string_view reading_name(Reading reading);

/// Whether programs of `graph` have calls that NCCL does: without any, all readings are the same.
bool has_readings(const TaskGraph& graph);

/// What all readings together say.
enum class JobAnswer : std::uint8_t {
  kProved,     // of contract and cold
  kByBuffers,  // by contract it can hang; with NCCL's buffers it does not
  kHangPossible,
  kHangCertain,
  kMismatch,
  kUndecided,
};

struct ReadingAnswer {
  Reading reading = Reading::kCold;
  sim::Answer answer = sim::Answer::kUndecided;
  sim::Verdict verdict = sim::Verdict::kCompleted;  // of the run with the scenario's own durations
  std::int64_t time_ns = 0;
  std::optional<Explanation> hang{};  // of the run that hangs, if one was found
};

/// A collective call of a size that its operation has not had before on its communicator.
struct LaterSize {
  std::string op;
  std::uint32_t rank = 0;
  std::int64_t bytes = 0;
  std::int64_t before = 0;  // the size of the first
};

struct ReadingsReport {
  JobAnswer answer = JobAnswer::kUndecided;
  std::vector<ReadingAnswer> readings;  // contract, real, cold
  Reading shown = Reading::kCold;       // of `check`
  CheckReport check;                    // of the reading that decides
  std::int64_t buffered_bytes = 0;      // in the run of `real`: the most at a time
  bool by_flows = false;    // ranks that leave a collective early may be why `real` does not hang
  bool by_network = false;  // buffers between hosts may be
  bool by_empty_calls = false;  // proved because collectives of no bytes wait for nobody
  bool by_creation = false;     // it does not hang because initializations wait for no kernels
  // It does not hang because an operation connects once, and not for each size. This call would.
  std::optional<LaterSize> by_size{};
};

/// What a scenario takes to be or leaves out, on which an answer without a hang rests.
struct LeftOut {
  bool endless_buffers = false;        // of the messages of a schedule, which no runtime has
  std::vector<std::string> actions{};  // of its rows, whose collectives are not there
  std::uint64_t sends = 0;             // without a size, each on each of its ranks
  std::uint64_t rooted = 0;            // likewise, collectives that ranks can leave early
};
LeftOut left_out(const TaskGraph& graph);

/// Whether NCCL's buffers take some of what the plan sends.
bool is_buffered(const sim::Plan& plan);

/// That of `check`, which is of the reading of `graph`.
ReadingsReport one_reading(const TaskGraph& graph, CheckReport check);

/// Checks `graph`, which lowers without mistakes, in each reading with the budget of `options`.
/// Where two readings have the same plan, the second is not checked again. `contract`: the job laid
/// out in that reading, where somebody has it.
ReadingsReport check_readings(TaskGraph graph, const sim::ExploreOptions& options,
                              sim::RunProgress* progress = nullptr,
                              std::optional<LaidOutJob> contract = std::nullopt,
                              FoldHangs fold_hangs = FoldHangs::kNo);

/// The most bytes that lay in NCCL's buffers at a time: of messages whose send was done and whose
/// receive had not started before. `simulation` kept the times of its acts. `copies`: by rank, as
/// how many it counts, if that is not once.
std::int64_t buffered_bytes(const Simulation& simulation,
                            const std::vector<std::uint32_t>& copies = {});

}  // namespace pipesim::models
