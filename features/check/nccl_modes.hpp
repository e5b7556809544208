// The three readings of a program (docs/explanation/check.md#readings): NCCL's guarantees, NCCL's
// buffers, and a fresh job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"

#include "features/check/check.hpp"

namespace pipesim::models {

/// The combined answer of all readings.
enum class JobAnswer : std::uint8_t {
  kProved,     // proved in all readings
  kByBuffers,  // can hang by contract, but not with NCCL's buffers
  kHangPossible,
  kHangCertain,
  kMismatch,
  kUndecided,
};

/// Converts the answer of one reading.
JobAnswer job_answer_of(sim::Answer answer);

struct NcclModeAnswer {
  NcclMode mode = NcclMode::kCold;
  sim::Answer answer = sim::Answer::kUndecided;
  sim::Verdict verdict = sim::Verdict::kCompleted;  // verdict with the scenario's own durations
  std::int64_t time_ns = 0;
  std::optional<Explanation> hang{};  // explanation of the hanging run, if found
};

/// A collective call whose size differs from that of the first call of its operation on its
/// communicator.
struct LaterSize {
  std::string op;
  std::uint32_t rank = 0;
  std::int64_t bytes = 0;
  std::int64_t before = 0;  // bytes of the first call of the operation
};

/// The answers of the cold reading if launches load kernels (kernel_loads.hpp). Exists only if the
/// proof without loads then fails.
struct LoadAnswers {
  sim::Answer each_kernel = sim::Answer::kUndecided;
  sim::Answer each_phase = sim::Answer::kUndecided;
  std::string op;  // the first load on the cycle; empty: unknown
  std::uint32_t rank = 0;
};

struct NcclModesReport {
  JobAnswer answer = JobAnswer::kUndecided;
  std::vector<NcclModeAnswer> modes;  // in the order contract, real, cold
  NcclMode shown = NcclMode::kCold;   // the reading of `check`
  CheckReport check;                  // report of the deciding reading
  std::int64_t buffered_bytes = 0;    // maximum buffered bytes at any time in the `real` run
  bool by_flows = false;  // whether `real` may complete only because ranks leave a collective early
  bool by_network = false;      // whether `real` may complete only because of buffers between hosts
  bool by_empty_calls = false;  // whether the proof fails if collectives of zero bytes wait
  bool by_init = false;         // whether the proof fails if communicator init waits for kernels
  // Whether the hang occurs only if kernel loads wait for the device. Not every load waits.
  bool by_waiting_loads = false;
  // The answers if first launches load kernels; empty: the job is then also proved.
  std::optional<LoadAnswers> by_loads{};
  // Whether the proof fails if asynchronous calls of a host communicator advance only within calls.
  bool by_progress = false;
  // The call that could hang if NCCL connected separately for each size of an operation.
  std::optional<LaterSize> by_size{};
};

/// Parts that a scenario lacks; an answer without a hang depends on them.
struct LeftOut {
  // Whether a schedule's messages have unlimited buffers. No runtime has such buffers.
  bool endless_buffers = false;
  std::vector<std::string> actions{};  // actions of the schedule whose collectives are missing
  std::uint64_t sends = 0;             // number of sends without a size, over all ranks
  // Number of collectives without a size that ranks can leave early, over all ranks.
  std::uint64_t rooted = 0;
};
LeftOut left_out(const TaskGraph& graph);

/// Whether any call of the plan uses NCCL's buffers, at least for a part of its data.
bool is_buffered(const sim::Plan& plan);

/// Converts `check`, a check of `graph` in a single reading, to a report on one reading.
NcclModesReport one_nccl_mode(const TaskGraph& graph, CheckReport check,
                              const sim::ExploreOptions& options);

/// Checks `graph`, which must lower without errors, in each reading with the budget of `options`.
/// If nothing is buffered, reuses the result of the reading contract for the reading real.
/// `contract`: the lowered job in the reading contract, if the caller has it.
NcclModesReport check_nccl_modes(TaskGraph graph, const sim::ExploreOptions& options,
                                 sim::RunProgress* progress = nullptr,
                                 std::optional<LaidOutJob> contract = std::nullopt,
                                 FoldHangs fold_hangs = FoldHangs::kNo);

/// Returns the maximum number of bytes in NCCL's buffers at any time: data of sends that have ended
/// and whose recv has not started. `simulation` must have kept the times of its ops. `copies`: for
/// each rank, the number of ranks that the rank represents; empty: 1 each.
std::int64_t buffered_bytes(const Simulation& simulation,
                            const std::vector<std::uint32_t>& copies = {});

}  // namespace pipesim::models
