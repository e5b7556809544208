// Short names of ops, for narrow columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/names.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"

namespace pipesim::viz {

/// The look of a kind of work in a timeline of letters.
struct KindLook {
  char letter;
  const char* style;  // style in a terminal with colors
  const char* meaning;
};

KindLook look(models::WorkKind kind);

/// The possible names of a slice; see words_of().
struct SliceWords {
  std::vector<std::string> choices;  // longest first; at least one
  char letter;                       // used if no choice fits
  const char* meaning;               // meaning of the letter
  bool numbered;                     // whether a choice is the letter and the micro-batch number
};

/// Names the ops of one run. The graph and the run must outlive it.
class SliceNames {
 public:
  SliceNames(const models::TaskGraph& graph, const models::Simulation& run);

  /// Returns the names of a slice. An action of a schedule is named as in its file ("0F3", "F3").
  /// An op with a micro-batch is named by its kind and micro-batch ("F3"), any other op by its
  /// name.
  SliceWords words_of(const models::Slice& slice) const;

  /// Shows stages only if at least half of the actions have space for them, at `ns_per_column` ns
  /// per column. Showing stages on only some actions would confuse.
  void fit_stages(const models::Timeline& timeline, std::int64_t ns_per_column);

 private:
  bool is_action(const models::Slice& slice) const;
  std::vector<std::string> words_of_action(const std::string& label, std::uint32_t rank) const;

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  models::Names names_;
  std::vector<std::uint32_t> stages_of_rank_;  // number of stages of each rank in the schedule
  bool says_stages_ = true;
};

}  // namespace pipesim::viz
