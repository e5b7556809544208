#include "viz/page/slice_parts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pipesim::viz {
namespace {

using models::Slice;

const Slice* longest_of_main_kind(const std::vector<const Slice*>& slices, std::size_t begin,
                                  std::size_t end) {
  std::array<std::int64_t, models::kWorkKindCount> times{};
  const auto length = [](const Slice* slice) { return slice->end_ns - slice->begin_ns; };
  for (std::size_t i = begin; i < end; ++i) {
    times[static_cast<std::size_t>(slices[i]->kind)] += length(slices[i]);
  }
  const auto of_kind = [&](const Slice* slice) {
    return times[static_cast<std::size_t>(slice->kind)];
  };
  const Slice* found = slices[begin];
  for (std::size_t i = begin + 1; i < end; ++i) {
    const auto rank = std::pair(of_kind(slices[i]), length(slices[i]));
    if (rank > std::pair(of_kind(found), length(found))) found = slices[i];
  }
  return found;
}

}  // namespace

std::vector<SlicePart> slice_parts(const std::vector<const Slice*>& slices, std::size_t most) {
  std::vector<SlicePart> result;
  if (slices.empty()) return result;
  const bool all = slices.size() <= most;
  const std::int64_t begin = slices.front()->begin_ns;
  const double span = std::max(1.0, static_cast<double>(slices.back()->end_ns - begin));
  const auto stretch = [&](const Slice* slice) {
    const double share = static_cast<double>(slice->begin_ns - begin) / span;
    return static_cast<std::size_t>(share * static_cast<double>(most));
  };
  for (std::size_t i = 0; i < slices.size();) {
    std::size_t end = i + 1;
    const auto belongs = [&](const Slice* next) {
      return !all && slices[i]->done && next->done && stretch(next) == stretch(slices[i]);
    };
    while (end < slices.size() && belongs(slices[end])) ++end;
    result.push_back(
        {slices[i], longest_of_main_kind(slices, i, end), end - i, slices[end - 1]->end_ns});
    i = end;
  }
  return result;
}

}  // namespace pipesim::viz
