#include "features/algorithm/algorithm_edits.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pipesim::models {
namespace {

template <typename Edit>
void for_each_dependency(AlgoRank& rank, const Edit& edit) {
  for (AlgoBlock& block : rank.blocks) {
    for (AlgoStep& step : block.steps) {
      for (AlgoDependency& on : step.dependencies) edit(on);
    }
  }
}

void move_before(std::vector<AlgoStep>& steps, std::uint32_t from, std::uint32_t to) {
  std::rotate(steps.begin() + to, steps.begin() + from, steps.begin() + from + 1);
}

bool moves_only_messages(const AlgoStep& step) { return sends(step.kind) != receives(step.kind); }

AlgoStep piece_of(const AlgoStep& step, std::uint32_t begin, std::uint32_t size) {
  AlgoStep part = step;
  part.count = std::min(size, step.count - std::min(begin, step.count));
  for (auto* ranges : {&part.sources, &part.targets}) {
    for (AlgoRange& range : *ranges) {
      range.index += begin;
      range.size = part.count;
    }
  }
  if (begin > 0) part.dependencies.clear();
  part.publishes = step.publishes && begin + size >= step.count;
  return part;
}

// Whether split_block() lets the pieces of two adjacent steps alternate.
bool in_turn(const AlgoStep& first, const AlgoStep& second, std::uint32_t most) {
  return first.count == second.count && first.count > most && second.dependencies.empty() &&
         moves_only_messages(first) && moves_only_messages(second) &&
         sends(first.kind) != sends(second.kind);
}

// Splits steps into pieces of at most `most` chunks. Sets `place` to the index of the last piece of
// each old step.
std::vector<AlgoStep> split_block(const std::vector<AlgoStep>& old, std::uint32_t most,
                                  std::vector<std::uint32_t>& place) {
  std::vector<AlgoStep> steps;
  place.resize(old.size());
  for (std::size_t i = 0; i < old.size();) {
    const std::size_t together = i + 1 < old.size() && in_turn(old[i], old[i + 1], most) ? 2 : 1;
    const bool message = sends(old[i].kind) || receives(old[i].kind);
    const std::uint32_t size = message && old[i].count > most ? most : std::max(1U, old[i].count);
    for (std::uint32_t begin = 0; begin < std::max(1U, old[i].count); begin += size) {
      for (std::size_t k = i; k < i + together; ++k) {
        steps.push_back(piece_of(old[k], begin, size));
        place[k] = static_cast<std::uint32_t>(steps.size() - 1);
      }
    }
    i += together;
  }
  return steps;
}

}  // namespace

AlgoBlock& block_of(CollectiveAlgorithm& algorithm, std::uint32_t rank, std::uint32_t block) {
  return algorithm.ranks[rank].blocks[block];
}

std::optional<std::uint32_t> move_opposite(CollectiveAlgorithm& algorithm, const AlgoStepRef& ref) {
  std::vector<AlgoStep>& steps = block_of(algorithm, ref.rank, ref.block).steps;
  const bool wants_receive = sends(steps[ref.step].kind);
  const auto can_move = [&](const AlgoStep& step) {
    const bool fits = wants_receive ? receives(step.kind) : sends(step.kind);
    return fits && moves_only_messages(step) && step.dependencies.empty();
  };
  const auto found = std::find_if(steps.begin() + ref.step + 1, steps.end(), can_move);
  if (found == steps.end()) return std::nullopt;
  const auto from = static_cast<std::uint32_t>(found - steps.begin());
  move_before(steps, from, ref.step);
  for_each_dependency(algorithm.ranks[ref.rank], [&](AlgoDependency& on) {
    if (on.block != ref.block || on.step < ref.step || on.step > from) return;
    on.step = on.step == from ? ref.step : on.step + 1;
  });
  return from;
}

std::optional<std::uint32_t> move_signal(CollectiveAlgorithm& algorithm, const AlgoStepRef& ref) {
  std::vector<AlgoStep>& steps = block_of(algorithm, ref.rank, ref.block).steps;
  const AlgoStepKind kind = steps[ref.step].kind;
  if (kind != AlgoStepKind::kWait && kind != AlgoStepKind::kRelaxedWait) return std::nullopt;
  const auto found =
      std::find_if(steps.begin() + ref.step + 1, steps.end(), [](const AlgoStep& step) {
        return step.kind == AlgoStepKind::kSignal || step.kind == AlgoStepKind::kRelaxedSignal;
      });
  if (found == steps.end()) return std::nullopt;
  const auto from = static_cast<std::uint32_t>(found - steps.begin());
  move_before(steps, from, ref.step);
  return from;
}

void split_steps(CollectiveAlgorithm& algorithm, std::uint32_t most) {
  for (AlgoRank& rank : algorithm.ranks) {
    std::vector<std::vector<std::uint32_t>> place(rank.blocks.size());
    for (std::size_t i = 0; i < rank.blocks.size(); ++i) {
      rank.blocks[i].steps = split_block(rank.blocks[i].steps, most, place[i]);
    }
    for_each_dependency(rank, [&](AlgoDependency& on) {
      if (on.step < place[on.block].size()) on.step = place[on.block][on.step];
    });
  }
}

void insert_nop(std::vector<AlgoStep>& steps, std::uint32_t before) {
  AlgoStep nop;
  nop.kind = AlgoStepKind::kSyncThreads;
  if (before < steps.size()) {
    nop.in_pipeline = steps[before].in_pipeline;
    nop.pipeline = steps[before].pipeline;
  }
  steps.insert(steps.begin() + before, nop);
}

}  // namespace pipesim::models
