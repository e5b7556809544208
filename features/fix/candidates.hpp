// Candidates: edits that may remove a hang. Each finder passes on each candidate at once, because
// the patches of all candidates together can be large.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "formats/document/expression.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/explanation.hpp"

#include "features/fix/edit.hpp"
#include "features/fix/scenario_edits.hpp"

namespace pipesim::models {

/// Numbers to try for an edit.
struct Numbers {
  enum class Search : std::uint8_t {
    kUp,        // the smallest number that works
    kDoubling,  // like kUp, but only `first` doubled again and again
    kDown,      // the largest number that works and leaves the number of ops unchanged
  };
  std::int64_t before = 0;  // the number in the scenario
  std::int64_t first = 0;   // the first number to try
  std::int64_t last = 0;    // the largest number to try; unused for kDown
  std::function<Edit(std::int64_t)> edit{};
  Search search = Search::kUp;
  // Value for Edit::range if no number up to `last` helps.
  std::string_view range = ", or anything in between";
};

struct Candidate {
  Edit edit;                       // if there are numbers: the edit with the first number
  std::optional<Numbers> numbers;  // nullopt: the edit has no number to vary
  // Indices in Explanation::cycle of the waits that the edit should break.
  std::vector<std::uint32_t> waits{};
};

/// A job that hangs, and its scenario.
struct HangingJob {
  const TaskGraph& graph;
  const Lowered& lowered;
  const Explanation& explanation;
  const formats::ScenarioEdits& edits;
};

/// Passes candidates on to the search. Skips duplicates: candidates with the same description and
/// the same steps.
class CandidateSink {
 public:
  using Try = std::function<void(const Candidate&)>;
  using MakePatch = std::function<formats::PatchKeys()>;

  explicit CandidateSink(Try try_candidate) : try_(std::move(try_candidate)) {}

  /// Adds `edit` with the patch from `make_patch`. `waits`: waits that the edit should break.
  void add(Edit edit, const MakePatch& make_patch, std::vector<std::uint32_t> waits = {});
  void add(Numbers numbers);

 private:
  bool is_new(const Edit& edit);

  Try try_;
  std::set<std::tuple<std::string, std::array<Place, 2>, bool>> known_;
};

/// Adds the edit that initializes all communicators at the start.
void add_init_at_start(const formats::ScenarioEdits& edits, CandidateSink& sink);

/// Finds other values of the parameters, in their order. Excludes times and bandwidths.
void find_parameter_edits(const std::vector<formats::Parameter>& parameters,
                          const CandidateSink::Try& try_candidate);

/// Finds edits of actors, communicators and devices near the cycle, in the order of the cycle.
void find_graph_edits(const HangingJob& job, const CandidateSink::Try& try_candidate);

/// Finds edits of host programs and schedules near the waits, the most local edits first: two calls
/// swapped or grouped, a call on all ranks or on none, arguments made equal. Such edits are typical
/// of a PyTorch or Megatron-LM script; the place of a step stands for a line of the script.
void find_program_edits(const HangingJob& job, const CandidateSink::Try& try_candidate);

/// Finds fixed orders of the collective calls of several communicators on all ranks. If each rank
/// begins with a different communicator, swapping two calls on one rank is not enough.
void find_order_edits(const HangingJob& job, const CandidateSink::Try& try_candidate);

}  // namespace pipesim::models
