#include "viz/pictures/slice_look.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "models/lowering/names.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/pictures/scene.hpp"
#include "viz/report/text_width.hpp"

namespace pipesim::viz {
namespace {

using models::Slice;
using models::WorkKind;

constexpr double kSliceLabel = 11;
constexpr double kSmallest = 8;

// Colors of pipeline work, per chunk.
struct Shade {
  const char* fill;
  const char* ink;
};
constexpr std::array<Shade, kShades> kForwards = {{{"#5aa9dd", "#000000"},
                                                   {"#b3daf4", "#000000"},
                                                   {"#2a6fa3", "#ffffff"},
                                                   {"#7d8fe0", "#000000"}}};
constexpr std::array<Shade, kShades> kBackwards = {{{"#f8cb7d", "#000000"},
                                                    {"#fdebc8", "#000000"},
                                                    {"#d9932b", "#000000"},
                                                    {"#f0a08a", "#000000"}}};
constexpr std::array<Shade, kShades> kWeightGrads = {{{"#00705a", "#ffffff"},
                                                      {"#7cc4b3", "#000000"},
                                                      {"#00463a", "#ffffff"},
                                                      {"#4d8f3f", "#ffffff"}}};

const Shade* shade_of_kind(WorkKind kind, std::uint32_t index) {
  const std::uint32_t at = index % kShades;
  if (kind == WorkKind::kForward) return &kForwards[at];
  if (kind == WorkKind::kBackward) return &kBackwards[at];
  return kind == WorkKind::kWeightGrad ? &kWeightGrads[at] : nullptr;
}

// Returns the names of an overlapped action "(0F7;7B3)OVERLAP_F_B": the whole name as "0F7 7B3",
// and the micro-batches as "7+3".
std::vector<std::string> overlapped_forms(const std::string& name) {
  std::string whole;
  std::string numbers;
  const std::size_t end = std::min(name.find(')'), name.size());
  for (std::size_t begin = 1; begin < end;) {
    const std::size_t part_end = std::min(name.find(';', begin), end);
    const std::string part = name.substr(begin, part_end - begin);
    whole += (whole.empty() ? "" : " ") + part;
    numbers += (numbers.empty() ? "" : "+") + part.substr(part.find_last_not_of("0123456789") + 1);
    begin = part_end + 1;
  }
  return {name, whole, numbers};
}

// Returns the names of a recorded call: "all_reduce #23 on the world group" whole, without its
// group or peer, and without its number.
std::vector<std::string> recorded_forms(const std::string& name) {
  std::vector<std::string> forms = {name};
  for (const char* end : {" on ", " from ", " to ", " #"}) {
    const std::size_t cut = forms.back().find(end);
    if (cut != std::string::npos) forms.push_back(forms.back().substr(0, cut));
  }
  return forms;
}

}  // namespace

std::string op_name(const models::TaskGraph& graph, const models::Lowered& lowered,
                    sim::ActorId actor, std::uint32_t k) {
  if (graph.recorded) {
    const models::OpName op = models::Names(graph, lowered).op(actor, k);
    std::string name =
        graph.recorded->name(lowered.plan.actors[actor].rank.value, op.name, op.number);
    if (!name.empty()) return name;
    // The numbers of these steps have no meaning.
    for (const char* numbered : {"kernels", "synchronize compute", "synchronize device"}) {
      if (op.name.starts_with(numbered)) return numbered;
    }
  }
  return models::op_label(graph, lowered, actor, k);
}

SliceLook::SliceLook(const models::TaskGraph& graph, const models::Lowered& lowered)
    : graph_(graph), lowered_(lowered) {
  if (!graph.pipeline) return;
  const models::Schedule& schedule = graph.pipeline->schedule;
  std::vector<std::uint32_t> chunks(schedule.ranks.size(), 0);
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
    const std::uint32_t chunk = chunks[schedule.rank_of_stage[stage]]++;
    const bool both_ways = schedule.pipelines > 1;
    shade_of_stage_.push_back(both_ways ? stage / std::max(1U, schedule.depth()) : chunk);
    shades_ = std::max(shades_, shade_of_stage_.back() + 1);
  }
}

bool SliceLook::computes(const Slice& slice) {
  return slice.kind == WorkKind::kForward || slice.kind == WorkKind::kBackward ||
         slice.kind == WorkKind::kWeightGrad;
}

std::string SliceLook::name(const Slice& slice) const {
  return models::op_label(graph_, lowered_, slice.actor, slice.k);
}

// Returns the names of a slice, longest first.
std::vector<std::string> SliceLook::forms(const Slice& slice) const {
  if (graph_.recorded) return recorded_forms(op_name(graph_, lowered_, slice.actor, slice.k));
  const std::string whole = name(slice);
  if (slice.kind == WorkKind::kOverlapped) return overlapped_forms(whole);
  if (!computes(slice)) return {whole};
  const std::size_t of = whole.rfind(" of ");  // an op within an action
  if (of != std::string::npos && !whole.starts_with("part ")) return {whole, whole.substr(0, of)};
  const std::size_t number = whole.find_last_not_of("0123456789");
  const bool has_number = number != std::string::npos && number + 1 < whole.size();
  return has_number ? std::vector{whole, whole.substr(number + 1)} : std::vector{whole};
}

// Returns the group of slices whose names are cut alike. Overlapped actions form one group, and
// other computing slices of programs and schedules form another. All other slices are grouped by
// actor.
std::uint32_t SliceLook::group_of(const Slice& slice) const {
  if (slice.kind == WorkKind::kOverlapped) return models::kNoIndex - 1;
  const std::uint32_t index = lowered_.actor_template[slice.actor];
  return computes(slice) && graph_.actors[index].step ? models::kNoIndex : index;
}

std::uint32_t SliceLook::shade_of(const Slice& slice) const {
  if (shades_ == 1 || !computes(slice)) return 0;
  const std::string whole = name(slice);
  const std::size_t of = whole.rfind(" of ");
  const std::size_t begin = of == std::string::npos ? 0 : of + 4;
  const auto stage = static_cast<std::size_t>(std::strtoul(whole.c_str() + begin, nullptr, 10));
  return stage < shade_of_stage_.size() ? shade_of_stage_[stage] : 0;
}

void SliceLook::see(const Slice& slice, double width) {
  Fit& fit = fits_[group_of(slice)];
  ++fit.count;
  const std::vector<std::string> all = forms(slice);
  fit.fitting.resize(std::max(fit.fitting.size(), all.size()), 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (text_width(all[i], kSliceLabel) <= width) ++fit.fitting[i];
  }
  see_colour(slice);
}

std::pair<std::string, double> SliceLook::label(const Slice& slice, double width) const {
  const std::vector<std::string> all = forms(slice);
  const Fit& fit = fits_.at(group_of(slice));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size();
    // Skips a form that fits less than 95% of the slices in the group, because all slices in a
    // group use the same form.
    if (!last && fit.fitting[i] * 20 < fit.count * 19) continue;
    for (const double size : {kSliceLabel, kSmallest}) {
      if (text_width(all[i], size) <= width) return {all[i], size};
    }
  }
  return {"", kSliceLabel};
}

SliceColour shaded_colour(WorkKind kind, std::uint32_t shade) {
  const Shade* of = shade_of_kind(kind, shade);
  const KindStyle& style = style_of(kind);
  return of == nullptr ? SliceColour{style.fill, style.text} : SliceColour{of->fill, of->ink};
}

SliceColour SliceLook::colour(const Slice& slice) const {
  return shaded_colour(slice.kind, shade_of(slice));
}

std::vector<SliceLook::Key> SliceLook::legend() const {
  const bool both_ways = graph_.pipeline && graph_.pipeline->schedule.pipelines > 1;
  std::vector<Key> result;
  for (const auto& [kind, shade] : seen_) {
    std::string name = style_of(kind).name;
    if (shades_ > 1 && shade_of_kind(kind, 0) != nullptr) {
      name += fmt::format(", {} {}", both_ways ? "pipeline" : "chunk", shade);
      for (std::uint32_t more = shade + kShades; more < shades_; more += kShades) {
        name += fmt::format(", {}", more);
      }
    }
    result.push_back({kind, shade, std::move(name)});
  }
  return result;
}

}  // namespace pipesim::viz
