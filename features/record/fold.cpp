#include "features/record/fold.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <utility>

namespace pipesim::models {
namespace {

using StepSpan = std::span<const std::uint32_t>;

// Maximum number of later occurrences of a step that are tried as the start of a loop's second
// iteration. This bounds the work. A loop is found only if its iteration contains its first step at
// most this many times.
constexpr std::size_t kMaxRounds = 256;

// Minimum number of steps that a loop must save. A loop that saves a single step is harder to read
// than the repeated step.
constexpr std::size_t kMinSaved = 2;

// Compares ranges of steps in constant time, by hashes of all prefixes. Equal hashes are no proof;
// really_repeats() compares the steps.
class PartHashes {
 public:
  explicit PartHashes(StepSpan steps)
      : steps_(steps), prefix_(steps.size() + 1, 0), power_(steps.size() + 1, 1) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      prefix_[i + 1] = prefix_[i] * kBase + steps[i] + 1;
      power_[i + 1] = power_[i] * kBase;
    }
  }

  /// Returns the number of times that the `size` steps from `at` occur in a row, at least 1.
  std::size_t rounds(std::size_t at, std::size_t size) const {
    // All iterations are equal if the range without its last iteration equals the range without its
    // first.
    const auto repeats = [&](std::size_t rounds) {
      return hash(at, (rounds - 1) * size) == hash(at + size, (rounds - 1) * size);
    };
    std::size_t alike = 1;
    std::size_t differ = (steps_.size() - at) / size + 1;
    if (differ > 2 && !repeats(2)) return 1;
    while (differ - alike > 1) {
      const std::size_t middle = alike + (differ - alike) / 2;
      (repeats(middle) ? alike : differ) = middle;
    }
    return alike;
  }

  /// Whether the steps really repeat, by comparing them one by one.
  bool really_repeats(std::size_t at, std::size_t size, std::size_t rounds) const {
    const auto part = steps_.subspan(at, size * rounds);
    return std::equal(part.begin(), part.end() - static_cast<std::ptrdiff_t>(size),
                      part.begin() + static_cast<std::ptrdiff_t>(size));
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

// Returns, for each step, the index of its next occurrence, or the number of steps if there is
// none.
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
  // Returns the loop at `at` that saves the most steps; if several tie, the shortest one.
  const auto best_at = [&](std::size_t at) {
    Loop best;
    Loop shortest;
    std::size_t place = next[at];
    for (std::size_t tried = 0; place < steps.size() && tried < kMaxRounds; ++tried) {
      const std::size_t size = place - at;
      if (at + 2 * size > steps.size()) break;
      place = next[place];
      // A loop whose iteration consists of several iterations of the shortest loop saves no more.
      const bool within = size < shortest.size * shortest.times && size % shortest.size == 0;
      if (shortest.times > 1 && within) continue;
      const Loop loop{size, hashes.rounds(at, size)};
      if (shortest.times == 1) shortest = loop;
      if (loop.saved() > best.saved() && loop.saved() >= kMinSaved) best = loop;
    }
    return best;
  };
  // Returns the start of a loop that saves more than twice as many steps as `loop`, within the
  // first iteration of `loop` or right after it; the size of `steps` if there is no such loop. This
  // keeps a small loop from taking the beginning of a large one.
  const auto find_rival = [&](std::size_t at, const Loop& loop) {
    for (std::size_t later = at + 1; later <= at + loop.size; ++later) {
      // A loop saves less than the number of steps left.
      if (2 * loop.saved() >= steps.size() - later) break;
      if (best_at(later).saved() > 2 * loop.saved()) return later;
    }
    return steps.size();
  };
  std::vector<FoldedStep> folded;
  for (std::size_t at = 0; at < steps.size();) {
    const Loop loop = best_at(at);
    if (loop.times == 1 || !hashes.really_repeats(at, loop.size, loop.times)) {
      folded.push_back({steps[at], 1, {}});
      ++at;
      continue;
    }
    if (const std::size_t rival = find_rival(at, loop); rival < steps.size()) {
      for (FoldedStep& step : fold(steps.subspan(at, rival - at)))
        folded.push_back(std::move(step));
      at = rival;
      continue;
    }
    folded.push_back({0, loop.times, fold(steps.subspan(at, loop.size))});
    at += loop.size * loop.times;
  }
  return folded;
}

}  // namespace

std::vector<FoldedStep> fold_loops(const std::vector<std::uint32_t>& steps) { return fold(steps); }

}  // namespace pipesim::models
