#include "features/algorithm/algorithm_values.hpp"

#include <algorithm>

namespace pipesim::models {

AlgoValues::AlgoValues(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                       const std::vector<std::uint32_t>& order)
    : cells_(network.memory.cell_count, kUnwritten) {
  const AlgoMemory& memory = network.memory;
  const bool known = algorithm.collective != AlgoCollective::kOther;
  for (std::uint32_t rank = 0; rank < algorithm.ranks.size(); ++rank) {
    const std::uint32_t chunks = known ? memory.input_chunks : algorithm.ranks[rank].input_chunks;
    for (std::uint32_t i = 0; i < chunks * memory.parts; ++i) {
      inputs_.push_back({rank, i / memory.parts, i % memory.parts});
      cells_[cell_of(algorithm, memory, rank, AlgoBuffer::kInput, 0, 0) + i] =
          static_cast<AlgoValue>(inputs_.size());
    }
  }
  for (const std::uint32_t node : order) {
    for (std::uint32_t m = network.nodes[node].moves_begin; m < network.nodes[node + 1].moves_begin;
         ++m) {
      do_move(network, node, m);
    }
  }
}

void AlgoValues::do_move(const AlgoNetwork& network, std::uint32_t node, std::uint32_t m) {
  const AlgoMove& move = network.moves[m];
  const AlgoMove& next = network.moves[m + 1];
  std::vector<AlgoValue> operands;
  for (std::uint32_t i = move.reads_begin; i < next.reads_begin; ++i) {
    operands.push_back(cells_[network.reads[i]]);
    if (operands.back() != kUnwritten || unwritten_node_ != kNoAlgoIndex) continue;
    unwritten_node_ = node;
    unwritten_cell_ = network.reads[i];
  }
  if (operands.empty()) return;
  // A switch adds in its own order, which is one order for all ranks.
  if (move.by_switch) std::sort(operands.begin(), operands.end());
  AlgoValue value = operands.front();
  for (std::size_t i = 1; i < operands.size(); ++i) value = sum(value, operands[i], move.by_switch);
  for (std::uint32_t i = move.writes_begin; i < next.writes_begin; ++i) {
    cells_[network.writes[i]] = value;
  }
}

AlgoValue AlgoValues::sum(AlgoValue a, AlgoValue b, bool by_switch) {
  if (a > b && !by_switch) std::swap(a, b);
  const auto next = static_cast<AlgoValue>(inputs_.size() + sums_.size() + 1);
  const auto [found, is_new] = known_[by_switch ? 1 : 0].emplace(std::uint64_t{a} << 32 | b, next);
  if (is_new) sums_.push_back({a, b, by_switch});
  return found->second;
}

// Counts the inputs of a sum. Operands have smaller numbers than their sum, so values are visited
// from large to small: each value comes after all its uses.
AlgoValues::Parts AlgoValues::parts(AlgoValue value) const {
  Parts result;
  std::vector<std::pair<AlgoValue, std::uint32_t>> open = {{value, 1}};  // a heap
  while (!open.empty()) {
    std::pop_heap(open.begin(), open.end());
    const AlgoValue top = open.back().first;
    std::uint32_t times = open.back().second;
    open.pop_back();
    while (!open.empty() && open.front().first == top) {
      std::pop_heap(open.begin(), open.end());
      times = std::min(kMaxCount, times + open.back().second);
      open.pop_back();
    }
    if (top == kUnwritten) {
      result.unwritten = true;
    } else if (is_input(top)) {
      result.inputs.emplace_back(inputs_[top - 1], times);
    } else {
      const Sum& of = sums_[top - inputs_.size() - 1];
      for (const AlgoValue operand : {of.left, of.right}) {
        open.emplace_back(operand, times);
        std::push_heap(open.begin(), open.end());
      }
    }
  }
  std::reverse(result.inputs.begin(), result.inputs.end());
  return result;
}

std::string AlgoValues::tree(AlgoValue value, std::size_t most) const {
  std::string text;
  add_tree(value, most, text);
  if (text.size() > most) text.replace(most, std::string::npos, "...");
  return text;
}

void AlgoValues::add_tree(AlgoValue value, std::size_t most, std::string& text) const {
  // Iterative, because sums can be as deep as the number of steps.
  struct Piece {
    AlgoValue value;
    char letter;  // printed instead of a value, unless 0
  };
  std::vector<Piece> open = {{value, '\0'}};
  while (!open.empty() && text.size() <= most) {
    const Piece piece = open.back();
    open.pop_back();
    if (piece.letter != '\0') {
      text += piece.letter;
    } else if (piece.value == kUnwritten) {
      text += '?';
    } else if (is_input(piece.value)) {
      text += std::to_string(inputs_[piece.value - 1].rank);
    } else {
      const Sum& of = sums_[piece.value - inputs_.size() - 1];
      const bool outer = piece.value == value;
      if (!outer) open.push_back({0, ')'});
      // Writes the operand that was added first before the other operand.
      const bool swapped = is_input(of.left) && !is_input(of.right);
      open.push_back({swapped ? of.left : of.right, '\0'});
      open.push_back({0, '+'});
      open.push_back({swapped ? of.right : of.left, '\0'});
      if (!outer) open.push_back({0, '('});
    }
  }
}

}  // namespace pipesim::models
