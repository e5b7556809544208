#include "features/record/record_doubts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "features/record/any_source.hpp"
#include "features/record/channels.hpp"
#include "features/record/free_order.hpp"
#include "features/record/record_checks.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/thread_order.hpp"

namespace pipesim::models {
namespace {

bool is_outside(const RankRecord& rank) {
  return rank.end.kind == RecordEnd::Kind::kCut && rank.end.cut == RecordEnd::Cut::kOutside;
}

// Whether a thread raised in a job whose ranks destroy groups: the thread could have called before.
bool may_call_before_destroy(const Record& record, const std::vector<std::string>& basis) {
  const auto of_thread = [](const std::string& text) {
    return text.find("' ended with ") != std::string::npos;
  };
  if (std::none_of(basis.begin(), basis.end(), of_thread)) return false;
  return std::any_of(record.ranks.begin(), record.ranks.end(), [](const RankRecord& rank) {
    return std::any_of(rank.entries.begin(), rank.entries.end(), [](const RecordEntry& entry) {
      return entry.kind == RecordEntry::Kind::kDestroy;
    });
  });
}

// Notes doubts that come from several threads of a rank.
void doubt_order_of_threads(const Record& record, RecordRules rules, RecordDoubts& doubts) {
  // The scenario has all calls of a rank in one program, in the recorded order. A hang may exist
  // only in this order, because no other order of the threads is checked. Ranks that were quiescent
  // in the recorded run hang in this order.
  std::vector<std::string> threads = threads_that_race(record, rules);
  const bool race = !threads.empty();
  if (race) doubts.proved = "several threads call, in an unknown order";
  if (threads.empty()) threads = threads_that_call(record);
  if (!threads.empty()) {
    const bool stood_still = std::any_of(record.ranks.begin(), record.ranks.end(), stands_still);
    if (!stood_still || record.uses_nccl(rules)) {
      doubts.hang = "it hangs if threads call in this order";
    } else if (race) {
      doubts.possible = "threads call concurrently; in another order it may complete";
    }
    std::erase(doubts.rests_on, kThreadsBasis);
    doubts.rests_on.insert(doubts.rests_on.end(), std::make_move_iterator(threads.begin()),
                           std::make_move_iterator(threads.end()));
  }
  const std::vector<std::string>& all = doubts.rests_on;
  if (std::find(all.begin(), all.end(), kLockOrderBasis) != all.end()) {
    doubts.proved = "threads use a lock, a queue or a store in an unknown order";
    doubts.possible = "threads use a lock, a queue or a store in one of several orders";
  }
  if (may_call_before_destroy(record, all)) {
    doubts.possible = "a thread that raised may call before a group is destroyed";
  }
  if (std::find(all.begin(), all.end(), kRunningThreadsBasis) != all.end()) {
    doubts.hang = "another thread may end the hang";
  }
}

// Notes doubts that come from messages whose Works end before they do.
void doubt_messages(const Record& record, RecordRules rules, RecordDoubts& doubts) {
  std::vector<std::string> dropped = dropped_sends(record);
  if (!dropped.empty() && rules != RecordRules::kNccl) {
    doubts.proved = "a message may be cancelled";
    std::move(dropped.begin(), dropped.end(), std::back_inserter(doubts.rests_on));
  }
  std::vector<std::string> closed = closed_connections(record, rules);
  if (!closed.empty()) {
    doubts.proved = doubts.hang = "gloo closes connections after a wait for a message timed out";
    std::move(closed.begin(), closed.end(), std::back_inserter(doubts.rests_on));
  }
  DroppedRecvs recvs = dropped_recvs(record, rules);
  if (!recvs.breaking.empty()) {
    doubts.proved = "a dropped recv may break a connection";
    std::move(recvs.breaking.begin(), recvs.breaking.end(), std::back_inserter(doubts.rests_on));
  }
  if (recvs.any_smaller) {
    doubts.possible = "gloo may cancel a dropped recv before a message comes that is too large";
  }
}

}  // namespace

RecordDoubts record_doubts(const Record& record, RecordRules rules,
                           std::vector<std::string> basis) {
  RecordDoubts doubts;
  doubts.rests_on = std::move(basis);
  doubt_order_of_threads(record, rules, doubts);
  const std::vector<std::string>& all = doubts.rests_on;
  if (std::any_of(record.ranks.begin(), record.ranks.end(), is_outside)) {
    doubts.hang = "a rank that is outside torch.distributed may come back";
  }
  if (std::any_of(all.begin(), all.end(),
                  [](const std::string& basis) { return basis.starts_with(kIncompleteBasis); })) {
    doubts.proved = doubts.hang = "the record lacks calls";
  }
  if (std::find(all.begin(), all.end(), kDeletedKeyBasis) != all.end()) {
    doubts.proved = "a key may be deleted before a rank waits for it";
  }
  if (std::any_of(record.ranks.begin(), record.ranks.end(), ends_unknown)) {
    doubts.proved = "nothing hangs before the record ends";
  }
  if (only_disjoint_groups_clash(record)) {
    doubts.possible =
        "groups of different ranks share a key in the store; timing decides whether they connect";
  }
  if (Channels(record, rules).in_one_line()) {
    doubts.hang = "too many calls of a group are pending at once";
  }
  std::vector<std::string> reads = reads_of_made_up(record);
  if (!reads.empty()) {
    doubts.proved = doubts.hang = "a value that was made up was read";
    std::erase(doubts.rests_on, "cut_read");
    std::move(reads.begin(), reads.end(), std::back_inserter(doubts.rests_on));
  }
  doubt_messages(record, rules, doubts);
  std::vector<std::string> set_twice = keys_set_twice(record);
  if (!set_twice.empty()) {
    doubts.proved = "a key of the store may have another value";
    doubts.possible = "another order of the ranks in the store may complete";
    std::move(set_twice.begin(), set_twice.end(), std::back_inserter(doubts.rests_on));
  }
  if (!has_any_source(record, rules)) return doubts;
  // Under gloo's rules, a recv from any source takes any matching send of the scenario, and check
  // tries all of these sends.
  std::erase(doubts.rests_on, kAnySourceBasis);
  if (may_overtake_recvs(record)) {
    doubts.proved = "recvs may be served in another order";
    doubts.rests_on.emplace_back(
        "a recv is posted while one from another rank is pending; gloo may serve it first, which "
        "was not tried");
  }
  return doubts;
}

}  // namespace pipesim::models
