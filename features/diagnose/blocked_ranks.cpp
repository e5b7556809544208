#include "features/diagnose/blocked_ranks.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "features/diagnose/collective_match.hpp"

namespace pipesim::models {
namespace {

constexpr std::string_view kWait = ".wait(";
// Calls of PyTorch that wait in C++, most of them for the device.
constexpr std::array kHiddenWaits = {kWait,
                                     std::string_view(".item("),
                                     std::string_view(".cpu("),
                                     std::string_view(".tolist("),
                                     std::string_view("synchronize("),
                                     std::string_view(".allreduce("),
                                     std::string_view(".barrier(")};

// Whether another rank has certainly not made the call. A call in a group of unknown members has a
// further member if it does not end.
bool lacks_a_member(const Evidence& evidence, const CallIndex& index, std::uint32_t rank,
                    const RecordedCall& call) {
  const EvidenceGroup& group = evidence.groups[call.group];
  const auto called_by = [&](std::uint32_t member) {
    std::uint32_t theirs = 0;
    return member == rank ? Called::kYes : index.collective(member, key_of(call), &theirs);
  };
  const bool all_called =
      std::none_of(group.ranks.begin(), group.ranks.end(),
                   [&](std::uint32_t member) { return called_by(member) == Called::kNo; });
  return !all_called || (!group.all_members && group.ranks.size() < evidence.ranks.size());
}

// Returns the facts about the main thread of a rank; all false and empty if there are none.
MainThreadFacts main_thread_of(const Evidence& evidence, std::uint32_t rank) {
  const auto found = evidence.main_threads.find(rank);
  return found == evidence.main_threads.end() ? MainThreadFacts{} : found->second;
}

bool waits_for_a_rank(const Evidence& evidence, const CallIndex& index, std::uint32_t rank) {
  const RankEvidence& it = evidence.ranks[rank];
  const bool is_blocked = it.host && it.host->waits && it.host->alone &&
                          main_thread_of(evidence, rank).still &&
                          it.process.state == ProcessState::kNotTold;
  if (!is_blocked) return false;
  if (it.host->message && !it.host->collective) return true;
  if (!it.host->collective || !it.has_dump || !it.complete) return false;
  const auto first = std::find_if(it.calls.begin(), it.calls.end(), [](const RecordedCall& call) {
    return call.state != CallState::kCompleted && !call.messages;
  });
  return first == it.calls.end() ? it.host->message : lacks_a_member(evidence, index, rank, *first);
}

}  // namespace

void add_hidden_waits(Evidence& evidence) {
  for (std::uint32_t i = 0; i < evidence.ranks.size(); ++i) {
    RankEvidence& rank = evidence.ranks[i];
    if (!rank.host || !rank.host->in_line) continue;
    const MainThreadFacts thread = main_thread_of(evidence, i);
    const std::string_view line = thread.line;
    const bool blocked = thread.in_futex && thread.still;
    const bool is_wait = line.find(kWait) != std::string_view::npos;
    if (blocked && is_wait) {
      rank.host->waits = rank.host->blocked = true;
      rank.host->collective = rank.host->message = true;  // the line does not say which
      rank.host->at = "work.wait(), called in " + rank.host->at;
      continue;
    }
    rank.host->may_wait = (blocked && line.empty()) ||
                          std::any_of(kHiddenWaits.begin(), kHiddenWaits.end(), [&](auto call) {
                            return line.find(call) != std::string_view::npos;
                          });
  }
}

bool all_ranks_wait(const Evidence& evidence) {
  const auto count = static_cast<std::uint32_t>(evidence.ranks.size());
  if (count < 2 || evidence.world_size != count || !evidence.unplaced.empty()) return false;
  const CallIndex index(evidence);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    if (!waits_for_a_rank(evidence, index, rank)) return false;
  }
  return true;
}

}  // namespace pipesim::models
