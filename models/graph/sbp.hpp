// How a tensor lies on the ranks of a stage: OneFlow's SBP signatures.
//
// A stage's ranks are a grid: `data` x `tensor`, the ranks of a tensor-parallel group next to each
// other. A signature has one component for each dimension of that grid: S(axis), the tensor is cut
// along an axis; B, all have a copy; P, it is the sum of what they have. `[S(0), B]` is what a
// forward usually has: samples are shared out among the data-parallel ranks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::models {

/// One component of a signature.
struct Sbp {
  enum class Kind : std::uint8_t { kSplit, kBroadcast, kPartialSum };

  Kind kind = Kind::kBroadcast;
  std::uint32_t axis = 0;  // of kSplit

  static constexpr Sbp split(std::uint32_t axis) { return {Kind::kSplit, axis}; }
  static constexpr Sbp broadcast() { return {Kind::kBroadcast, 0}; }
  static constexpr Sbp partial_sum() { return {Kind::kPartialSum, 0}; }

  bool is_split() const { return kind == Kind::kSplit; }
  bool is_broadcast() const { return kind == Kind::kBroadcast; }
  bool is_partial_sum() const { return kind == Kind::kPartialSum; }

  friend bool operator==(const Sbp&, const Sbp&) = default;
};

/// Over the data dimension, then over the tensor dimension.
using NdSbp = std::array<Sbp, 2>;

/// `S(0)`, `B` or `P`.
std::optional<Sbp> find_sbp(std::string_view text);
std::string sbp_text(const Sbp& sbp);
/// `(S(0), B)`
std::string nd_sbp_text(const NdSbp& nd_sbp);

/// In which signature an op takes up the gradient of what it gives, if nothing else is said: cut as
/// that is; a gradient of a copy, or of a sum, is a copy.
NdSbp gradient_taken(const NdSbp& out);

/// In which it gives the gradient of what it takes: what was cut is cut; that of a copy is a
/// partial sum, unless what came out of it is a copy too, since then all have computed the same.
NdSbp gradient_given(const NdSbp& in, const NdSbp& out);

/// What lies across the ranks of a stage: data x tensor.
struct Hierarchy {
  std::uint32_t data = 1;
  std::uint32_t tensor = 1;

  std::uint32_t size() const { return data * tensor; }

  friend bool operator==(const Hierarchy&, const Hierarchy&) = default;
};

/// Which dimensions of the grid a group of ranks runs over.
enum class Dimensions : std::uint8_t { kData, kTensor, kBoth };

/// A change of one component, among the ranks of the groups over `over`.
struct Transition {
  Sbp from;
  Sbp to;
  Dimensions over = Dimensions::kBoth;

  friend bool operator==(const Transition&, const Transition&) = default;
};

/// What OneFlow's InOutParallelDimReduce leaves of a change of signature.
struct ReducedChange {
  bool two_dimensional = false;     // both dimensions count
  std::vector<Transition> changes;  // none: nothing changes; of two, the inner (tensor) one first
};

/// Drops dimensions of one rank, and makes one of two dimensions that change alike: (B, B) to (P,
/// P) on 2 x 2 ranks is B to P on 4.
ReducedChange reduced(const NdSbp& from, const NdSbp& to, Hierarchy hierarchy);

}  // namespace pipesim::models
