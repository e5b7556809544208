// What the cells hold at the end: sums of chunks, as trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/algorithm/algorithm_network.hpp"

namespace pipesim::models {

/// A sum, or an input: an index. Equal sums have equal indices; a+b is b+a, as floating point has
/// it, and (a+b)+c is not a+(b+c).
using AlgoValue = std::uint32_t;

/// What a cell holds that nobody has written.
inline constexpr AlgoValue kUnwritten = 0;

/// Part `part` of chunk `chunk` of the input of `rank`.
struct AlgoInput {
  std::uint32_t rank = 0;
  std::uint32_t chunk = 0;
  std::uint32_t part = 0;

  friend auto operator<=>(const AlgoInput&, const AlgoInput&) = default;
};

class AlgoValues {
 public:
  /// Makes all moves of `network`, in `order`. Inputs are in the cells of the input buffers.
  AlgoValues(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
             const std::vector<std::uint32_t>& order);

  AlgoValue at(std::uint32_t cell) const { return cells_[cell]; }

  /// How often each input is in a sum; at most kMaxCount times are counted. Inputs ascend, first
  /// what nobody wrote, if `unwritten`.
  struct Parts {
    bool unwritten = false;
    std::vector<std::pair<AlgoInput, std::uint32_t>> inputs;
  };
  static constexpr std::uint32_t kMaxCount = 1'000'000;
  Parts parts(AlgoValue value) const;

  /// "((0+1)+2)": the ranks whose inputs were added, in which order. At most `most` characters.
  std::string tree(AlgoValue value, std::size_t most) const;

  /// The first step that read what nobody wrote: a node and a cell, or kNoAlgoIndex twice.
  std::uint32_t unwritten_node() const { return unwritten_node_; }
  std::uint32_t unwritten_cell() const { return unwritten_cell_; }

 private:
  struct Sum {
    AlgoValue left = 0, right = 0;  // of an input: its index + 1 and 0
    bool by_switch = false;
  };
  void do_move(const AlgoNetwork& network, std::uint32_t node, std::uint32_t m);
  AlgoValue sum(AlgoValue a, AlgoValue b, bool by_switch);
  bool is_input(AlgoValue value) const { return value != 0 && value <= inputs_.size(); }
  void add_tree(AlgoValue value, std::size_t most, std::string& text) const;

  std::vector<AlgoInput> inputs_;                          // value i + 1
  std::vector<Sum> sums_;                                  // values behind those
  std::unordered_map<std::uint64_t, AlgoValue> known_[2];  // sums, and those of switches
  std::vector<AlgoValue> cells_;
  std::uint32_t unwritten_node_ = kNoAlgoIndex;
  std::uint32_t unwritten_cell_ = kNoAlgoIndex;
};

}  // namespace pipesim::models
