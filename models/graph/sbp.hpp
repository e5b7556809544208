// The distribution of a tensor over the ranks of a stage: OneFlow's SBP signatures.
//
// A stage's ranks form a grid, `data` x `tensor`; the ranks of a tensor-parallel group have
// adjacent numbers. A signature has one component per dimension of the grid. S(axis): the tensor is
// split along an axis. B: each rank has a copy. P: the tensor is the sum of the ranks' values. A
// forward usually has `[S(0), B]`: samples are split among the data-parallel ranks.
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
  std::uint32_t axis = 0;  // split axis, for kSplit

  static constexpr Sbp split(std::uint32_t axis) { return {Kind::kSplit, axis}; }
  static constexpr Sbp broadcast() { return {Kind::kBroadcast, 0}; }
  static constexpr Sbp partial_sum() { return {Kind::kPartialSum, 0}; }

  bool is_split() const { return kind == Kind::kSplit; }
  bool is_broadcast() const { return kind == Kind::kBroadcast; }
  bool is_partial_sum() const { return kind == Kind::kPartialSum; }

  friend bool operator==(const Sbp&, const Sbp&) = default;
};

/// A signature: the component of the data dimension, then of the tensor dimension.
using NdSbp = std::array<Sbp, 2>;

/// Parses `S(0)`, `B` or `P`; returns nullopt for other text.
std::optional<Sbp> find_sbp(std::string_view text);
std::string sbp_text(const Sbp& sbp);
/// Returns a string such as `(S(0), B)`.
std::string nd_sbp_text(const NdSbp& nd_sbp);

/// Returns the default signature in which an op reads the gradient of its output: split like the
/// output; B if the output is a copy or a sum.
NdSbp gradient_taken(const NdSbp& out);

/// Returns the default signature in which an op gives the gradient of its input. A split input has
/// a split gradient. The gradient of a partial sum is a copy. The gradient of a copy is a partial
/// sum; if the output is also a copy, the gradient is a copy, because all ranks compute the same
/// one.
NdSbp gradient_given(const NdSbp& in, const NdSbp& out);

/// The grid of a stage's ranks: data x tensor.
struct Hierarchy {
  std::uint32_t data = 1;
  std::uint32_t tensor = 1;

  std::uint32_t size() const { return data * tensor; }

  friend bool operator==(const Hierarchy&, const Hierarchy&) = default;
};

/// The dimensions of the grid that a group of ranks spans.
enum class Dimensions : std::uint8_t { kData, kTensor, kBoth };

/// A change of one component of a signature, among the ranks along the dimensions `over`.
struct Transition {
  Sbp from;
  Sbp to;
  Dimensions over = Dimensions::kBoth;

  friend bool operator==(const Transition&, const Transition&) = default;
};

/// A change of signature as reduced by OneFlow's InOutParallelDimReduce.
struct ReducedChange {
  bool two_dimensional = false;     // whether both dimensions remain
  std::vector<Transition> changes;  // changed dimensions; if two, the inner (tensor) one first
};

/// Drops dimensions of size 1, and merges two dimensions that change alike: (B, B) to (P, P) on 2 x
/// 2 ranks becomes B to P on 4.
ReducedChange reduced(const NdSbp& from, const NdSbp& to, Hierarchy hierarchy);

}  // namespace pipesim::models
