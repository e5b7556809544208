#include "models/schedules/ring_exchange.hpp"

#include <algorithm>
#include <vector>

namespace pipesim::models {
namespace {

bool is_evenly_spaced(const std::vector<std::uint32_t>& list, std::uint32_t size,
                      std::uint32_t stride) {
  if (list.size() != size) return false;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (list[i] / stride % size != i || list[i] != list.front() + i * stride) return false;
  }
  return true;
}

}  // namespace

std::optional<Ring> ring_of(const Group& group) {
  Ring ring;
  if (group.lists.empty()) return ring;
  const std::vector<std::uint32_t>& first = group.lists.front();
  ring.size = static_cast<std::uint32_t>(first.size());
  const std::uint32_t stride = first.size() > 1 && first[1] > first[0] ? first[1] - first[0] : 1;
  const bool alike = std::all_of(group.lists.begin(), group.lists.end(), [&](const auto& list) {
    return is_evenly_spaced(list, ring.size, stride);
  });
  const bool alone = std::all_of(group.lists.begin(), group.lists.end(),
                                 [](const auto& list) { return list.size() == 1; });
  if (alone || !alike) return alone ? std::optional(ring) : std::nullopt;
  const auto of = [](Expr::Op op, const Expr& a, std::int64_t b) {
    return Expr::binary(op, a, Expr::constant(b));
  };
  const Expr position =
      of(Expr::Op::kModulo, of(Expr::Op::kDivide, Expr::rank(), stride), ring.size);
  const auto rank_at = [&](std::uint32_t further) {
    const Expr other = of(Expr::Op::kModulo, of(Expr::Op::kAdd, position, further), ring.size);
    const Expr steps = Expr::binary(Expr::Op::kSubtract, other, position);
    return Expr::binary(Expr::Op::kAdd, Expr::rank(), of(Expr::Op::kMultiply, steps, stride));
  };
  ring.next = rank_at(1);
  ring.previous = rank_at(ring.size - 1);
  return ring;
}

std::uint32_t exchanges_of(const StageCollective& collective, const Ring& ring) {
  if (ring.size == 1 || collective.times > 0) return ring.size == 1 ? 0 : collective.times;
  return collective.moment == StageMoment::kBackward ? ring.size : ring.size - 1;
}

}  // namespace pipesim::models
