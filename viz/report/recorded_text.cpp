#include "viz/report/recorded_text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::CallOfRanks;

// Returns the ranks in `sides` that do not make the call.
std::vector<std::uint32_t> missing(const std::vector<CallOfRanks>& sides) {
  std::vector<std::uint32_t> ranks;
  for (const CallOfRanks& side : sides) {
    if (side.call.empty()) ranks.insert(ranks.end(), side.ranks.begin(), side.ranks.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// A group of ranks with the same text and line.
struct RankBlock {
  std::vector<std::uint32_t> ranks;
  std::string what;
  std::string at;
};

std::string blocks_text(const std::vector<RankBlock>& blocks, const TextOptions& options) {
  constexpr std::size_t kIndent = 2;
  std::size_t widest = 0;
  for (const RankBlock& block : blocks) widest = std::max(widest, ranks_text(block.ranks).size());
  const std::size_t column = kIndent + widest + 2;
  std::string text;
  for (const RankBlock& block : blocks) {
    text += paragraph(fmt::format("{:<{}}  {}", ranks_text(block.ranks), widest, block.what),
                      options.width, kIndent, column);
    text += paragraph(block.at, options.width, column, column + 2);
  }
  return text;
}

std::string sides_text(const std::vector<CallOfRanks>& sides, const TextOptions& options) {
  std::vector<RankBlock> blocks;
  for (const CallOfRanks& side : sides) {
    if (side.call.empty()) {
      blocks.push_back({side.ranks, side.at, ""});
      continue;
    }
    std::string lines = side.at;
    for (const std::string& line : side.lines) {
      lines += (&line == &side.lines.front() ? ", called from " : ", from ") + line;
    }
    blocks.push_back({side.ranks, side.call, std::move(lines)});
  }
  return blocks_text(blocks, options);
}

// Returns a heading: "Call 23 on the world group does not match:", or "Rank 1 does not make call 11
// on the world group:".
std::string mismatch_heading(std::int64_t number, const std::string& group,
                             const std::vector<CallOfRanks>& sides) {
  const std::vector<std::uint32_t> absent = missing(sides);
  if (absent.empty()) return fmt::format("Call {} on {} does not match:", number, group);
  return fmt::format("{} {} not make call {} on {}:", capitalized(ranks_text(absent)),
                     absent.size() == 1 ? "does" : "do", number, group);
}

}  // namespace

std::string first_difference_text(const models::FirstDifference& difference,
                                  const TextOptions& options) {
  const std::string& group = difference.group;
  const auto heading = [&](const std::string& text) {
    return paragraph(styled(options, ansi::kBold, text), options.width, 0, 2);
  };
  if (difference.number == difference.mismatch) {
    return heading(mismatch_heading(difference.number, group, difference.sides)) +
           sides_text(difference.sides, options);
  }
  return heading(fmt::format("Call {} on {} is the first that ranks make from different lines:",
                             difference.number, group)) +
         sides_text(difference.sides, options) +
         heading(mismatch_heading(difference.mismatch, group, difference.there)) +
         sides_text(difference.there, options);
}

std::string failures_text(const std::vector<models::FailedRanks>& failures,
                          const std::vector<const models::RankReport*>& waiting,
                          const TextOptions& options) {
  std::vector<RankBlock> blocks;
  for (const models::FailedRanks& failed : failures) {
    const std::string what =
        failed.message.empty() ? std::string(failed.what) : "raised " + failed.message;
    blocks.push_back({failed.ranks, what, failed.at});
  }
  std::vector<RankBlock> waits;
  for (const models::RankReport* rank : waiting) {
    for (const models::ThreadReport& thread : rank->threads) {
      if (thread.finished || !thread.at) continue;
      const std::string op = op_text(*thread.at);
      const auto alike = std::find_if(waits.begin(), waits.end(), [&](const RankBlock& block) {
        return block.what == op && block.at == thread.at->at;
      });
      if (alike == waits.end()) {
        waits.push_back({{rank->rank}, op, thread.at->at});
      } else {
        alike->ranks.push_back(rank->rank);
      }
      break;
    }
  }
  for (RankBlock& block : waits) {
    block.what.insert(0, block.ranks.size() == 1 ? "waits in " : "wait in ");
    blocks.push_back(std::move(block));
  }
  return blocks_text(blocks, options);
}

}  // namespace pipesim::viz
