// What an op looks like in a timeline: its colour, and as much of its name as fits.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/timeline.hpp"

namespace pipesim::viz {

struct SliceColour {
  std::string fill;
  std::string ink;
};

/// Work of so many chunks of a rank, or pipelines, has a colour of its own; then they repeat.
inline constexpr std::uint32_t kShades = 4;

/// Work of a pipeline, by chunk; of all other kinds the one colour that the kind has.
SliceColour shaded_colour(models::WorkKind kind, std::uint32_t shade);

/// Names of one kind are cut alike: either all are whole, or none is.
class SliceLook {
 public:
  SliceLook(const models::TaskGraph& graph, const models::Lowered& lowered);

  /// To be called with each op that is drawn, and how wide it will be, before anything else.
  void see(const models::Slice& slice, double width);

  std::string name(const models::Slice& slice) const;

  /// As much of the name as fits into `width`, and its size.
  std::pair<std::string, double> label(const models::Slice& slice, double width) const;

  SliceColour colour(const models::Slice& slice) const;

  /// Which of its colours a kind has there, from 0.
  std::uint32_t shade(const models::Slice& slice) const { return shade_of(slice) % kShades; }

  struct Key {
    models::WorkKind kind = models::WorkKind::kCompute;
    std::uint32_t shade = 0;
    std::string name;
  };

  /// The colours of all that was seen, by kind.
  std::vector<Key> legend() const;

  /// Says that there is something of that colour.
  void see_colour(const models::Slice& slice) { seen_.emplace(slice.kind, shade(slice)); }

 private:
  struct Fit {
    std::size_t count = 0;
    std::vector<std::size_t> fitting;  // of how many each form fits
  };

  static bool computes(const models::Slice& slice);
  std::vector<std::string> forms(const models::Slice& slice) const;
  std::uint32_t group_of(const models::Slice& slice) const;
  std::uint32_t shade_of(const models::Slice& slice) const;

  const models::TaskGraph& graph_;
  const models::Lowered& lowered_;
  std::vector<std::uint32_t> shade_of_stage_;  // its chunk, or its pipeline of two
  std::uint32_t shades_ = 1;
  std::map<std::uint32_t, Fit> fits_;  // by what is cut alike
  std::set<std::pair<models::WorkKind, std::uint32_t>> seen_;
};

}  // namespace pipesim::viz
