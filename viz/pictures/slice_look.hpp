// The look of an op in a timeline: its color, and the part of its name that fits.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"

namespace pipesim::viz {

struct SliceColour {
  std::string fill;
  std::string ink;
};

/// Number of colors for the chunks of a rank, or for several pipelines; further chunks reuse the
/// colors.
inline constexpr std::uint32_t kShades = 4;

/// Returns the color of pipeline work, which depends on the chunk; each of the other kinds has a
/// single color.
SliceColour shaded_colour(models::WorkKind kind, std::uint32_t shade);

/// Returns the name of an op in pictures: its name in a recorded script, else op_label().
std::string op_name(const models::TaskGraph& graph, const models::Lowered& lowered,
                    sim::ActorId actor, std::uint32_t k);

/// Colors and labels of the slices of a timeline. Names of one kind are cut alike: either all are
/// whole, or all are cut.
class SliceLook {
 public:
  SliceLook(const models::TaskGraph& graph, const models::Lowered& lowered);

  /// Registers an op and the width of its box. The caller registers every op before it calls other
  /// functions.
  void see(const models::Slice& slice, double width);

  std::string name(const models::Slice& slice) const;

  /// Returns the part of the name that fits `width`, and its font size.
  std::pair<std::string, double> label(const models::Slice& slice, double width) const;

  SliceColour colour(const models::Slice& slice) const;

  /// Returns the index, from 0, of the slice's color among the colors of its kind.
  std::uint32_t shade(const models::Slice& slice) const { return shade_of(slice) % kShades; }

  struct Key {
    models::WorkKind kind = models::WorkKind::kCompute;
    std::uint32_t shade = 0;
    std::string name;
  };

  /// Returns all registered colors, sorted by kind.
  std::vector<Key> legend() const;

  /// Registers the first color of `kind` for the legend.
  void see_kind(models::WorkKind kind) { seen_.emplace(kind, 0); }

  /// Registers the color of `slice` for the legend.
  void see_colour(const models::Slice& slice) { seen_.emplace(slice.kind, shade(slice)); }

 private:
  struct Fit {
    std::size_t count = 0;
    std::vector<std::size_t> fitting;  // number of ops whose boxes each form of the name fits
  };

  static bool computes(const models::Slice& slice);
  std::vector<std::string> forms(const models::Slice& slice) const;
  std::uint32_t group_of(const models::Slice& slice) const;
  std::uint32_t shade_of(const models::Slice& slice) const;

  const models::TaskGraph& graph_;
  const models::Lowered& lowered_;
  // Index of the chunk of each stage; with two pipelines, index of its pipeline.
  std::vector<std::uint32_t> shade_of_stage_;
  std::uint32_t shades_ = 1;
  std::map<std::uint32_t, Fit> fits_;  // keyed by the group of names cut alike
  std::set<std::pair<models::WorkKind, std::uint32_t>> seen_;
};

}  // namespace pipesim::viz
