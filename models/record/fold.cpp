#include "models/record/fold.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>

namespace pipesim::models {
namespace {

using StepSpan = std::span<const std::uint32_t>;

// How many further places of a step are tried as the next round of a loop that begins with it. It
// bounds the work, and the loops that are found: a round has each of its steps at most so often.
constexpr std::size_t kMaxRounds = 256;

// A loop that saves a single step reads worse than the step.
constexpr std::size_t kMinSaved = 2;

// Hashes of all prefixes: equal parts are found in constant time, and then compared.
class PartHashes {
 public:
  explicit PartHashes(StepSpan steps)
      : steps_(steps), prefix_(steps.size() + 1, 0), power_(steps.size() + 1, 1) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      prefix_[i + 1] = prefix_[i] * kBase + steps[i] + 1;
      power_[i + 1] = power_[i] * kBase;
    }
  }

  bool equal(std::size_t a, std::size_t b, std::size_t size) const {
    return hash(a, size) == hash(b, size) &&
           std::equal(steps_.begin() + static_cast<std::ptrdiff_t>(a),
                      steps_.begin() + static_cast<std::ptrdiff_t>(a + size),
                      steps_.begin() + static_cast<std::ptrdiff_t>(b));
  }

 private:
  static constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;
  std::uint64_t hash(std::size_t at, std::size_t size) const {
    return prefix_[at + size] - prefix_[at] * power_[size];
  }

  StepSpan steps_;
  std::vector<std::uint64_t> prefix_;
  std::vector<std::uint64_t> power_;
};

struct Loop {
  std::size_t size = 1;
  std::size_t times = 1;
  std::size_t saved() const { return size * (times - 1); }
};

// Where each step comes next: its index, or the size.
std::vector<std::size_t> next_places(StepSpan steps) {
  std::vector<std::size_t> next(steps.size(), steps.size());
  std::unordered_map<std::uint32_t, std::size_t> last;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const auto [known, is_new] = last.try_emplace(steps[i], i);
    if (is_new) continue;
    next[i] = known->second;
    known->second = i;
  }
  return next;
}

std::vector<FoldedStep> fold(StepSpan steps) {
  const PartHashes hashes(steps);
  const std::vector<std::size_t> next = next_places(steps);
  // The loop that begins at `at` and saves most; of equal ones the shortest.
  const auto best_at = [&](std::size_t at) {
    Loop best;
    std::size_t place = next[at];
    for (std::size_t tried = 0; place < steps.size() && tried < kMaxRounds; ++tried) {
      const std::size_t size = place - at;
      if (at + 2 * size > steps.size()) break;
      Loop loop{size, 1};
      while (at + (loop.times + 1) * size <= steps.size() &&
             hashes.equal(at, at + loop.times * size, size)) {
        ++loop.times;
      }
      if (loop.saved() > best.saved() && loop.saved() >= kMinSaved) best = loop;
      place = next[place];
    }
    return best;
  };
  std::vector<FoldedStep> folded;
  for (std::size_t at = 0; at < steps.size();) {
    const Loop loop = best_at(at);
    if (loop.times == 1) {
      folded.push_back({steps[at], 1, {}});
      ++at;
      continue;
    }
    // A little loop must not take the beginning of a large one.
    std::size_t rival = 0;
    const std::size_t end = at + loop.size * loop.times;
    if (loop.saved() < end - at + loop.size) {
      for (std::size_t later = at + 1; later < std::min(end, at + loop.size + 1); ++later) {
        if (best_at(later).saved() > 2 * loop.saved()) {
          rival = later;
          break;
        }
      }
    }
    if (rival > 0) {
      for (; at < rival; ++at) folded.push_back({steps[at], 1, {}});
      continue;
    }
    folded.push_back({0, loop.times, fold(steps.subspan(at, loop.size))});
    at = end;
  }
  return folded;
}

}  // namespace

std::vector<FoldedStep> fold_loops(const std::vector<std::uint32_t>& steps) { return fold(steps); }

}  // namespace pipesim::models
