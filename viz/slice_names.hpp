// What an act is called where there is little room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/names.hpp"
#include "models/measure/timeline.hpp"

namespace pipesim::viz {

/// A sort of work in a picture of letters.
struct KindLook {
  char letter;
  const char* style;  // for a terminal with colours
  const char* meaning;
};

KindLook look(models::WorkKind kind);

/// See words_of().
struct SliceWords {
  std::vector<std::string> choices;  // from the longest; at least one
  char letter;                       // where none of them fits
  const char* meaning;               // of the letter
  bool numbered;                     // a choice is the letter and the number of a micro-batch
};

/// Names the acts of one run. Both must outlive it.
class SliceNames {
 public:
  SliceNames(const models::TaskGraph& graph, const models::Simulation& run);

  /// An action of a schedule as in its file ("0F3", "F3"), what has a micro-batch by its kind and
  /// that ("F3"), all else by its name.
  SliceWords words_of(const models::Slice& slice) const;

  /// Says stages only if half of the actions have room for them, of so much time each column: some
  /// here and some there confuse.
  void fit_stages(const models::Timeline& timeline, std::int64_t ns_per_column);

 private:
  bool is_action(const models::Slice& slice) const;
  std::vector<std::string> words_of_action(const std::string& label, std::uint32_t rank) const;

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  models::Names names_;
  std::vector<std::uint32_t> stages_of_rank_;  // of a schedule
  bool says_stages_ = true;
};

}  // namespace pipesim::viz
