// The final contents of the cells: sums of chunks, as trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "features/algorithm/algorithm_network.hpp"

namespace pipesim::models {

/// The index of a sum or an input. Equal sums have equal indices. As in floating point, a+b equals
/// b+a, but (a+b)+c differs from a+(b+c).
using AlgoValue = std::uint32_t;

/// The value of a cell that no step has written.
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
  /// Applies all moves of `network`, in `order`. The cells of the input buffers start with the
  /// inputs.
  AlgoValues(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
             const std::vector<std::uint32_t>& order);

  AlgoValue at(std::uint32_t cell) const { return cells_[cell]; }

  /// The inputs of a sum, ascending, with the number of times each one is added (at most
  /// kMaxCount). `unwritten`: the sum also has an unwritten value.
  struct Parts {
    bool unwritten = false;
    std::vector<std::pair<AlgoInput, std::uint32_t>> inputs;
  };
  static constexpr std::uint32_t kMaxCount = 1'000'000;
  Parts parts(AlgoValue value) const;

  /// Returns the sum as text: "(0+1)+2" names the ranks whose inputs were added, in this order.
  /// Cuts the text after `most` characters, and then adds "...".
  std::string tree(AlgoValue value, std::size_t most) const;

  /// Returns the node, or the cell, of the first read of an unwritten cell; kNoAlgoIndex if there
  /// is no such read.
  std::uint32_t unwritten_node() const { return unwritten_node_; }
  std::uint32_t unwritten_cell() const { return unwritten_cell_; }

 private:
  struct Sum {
    AlgoValue left = 0, right = 0;  // operands; for an input, its index + 1 and 0
    bool by_switch = false;
  };
  void do_move(const AlgoNetwork& network, std::uint32_t node, std::uint32_t m);
  AlgoValue sum(AlgoValue a, AlgoValue b, bool by_switch);
  bool is_input(AlgoValue value) const { return value != 0 && value <= inputs_.size(); }
  void add_tree(AlgoValue value, std::size_t most, std::string& text) const;

  std::vector<AlgoInput> inputs_;                          // input i is value i + 1
  std::vector<Sum> sums_;                                  // their values follow the inputs
  std::unordered_map<std::uint64_t, AlgoValue> known_[2];  // ordinary sums, sums by switches
  std::vector<AlgoValue> cells_;
  std::uint32_t unwritten_node_ = kNoAlgoIndex;
  std::uint32_t unwritten_cell_ = kNoAlgoIndex;
};

}  // namespace pipesim::models
