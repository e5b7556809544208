#include "models/record/source_orders.hpp"

#include <map>
#include <tuple>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

// Receiver, group, tag.
using Inbox = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;

class OrderSearch {
 public:
  OrderSearch(const Record& record, std::size_t max) : record_(record), max_(max) {}

  SourceOrders run() {
    for (std::uint32_t rank = 0; rank < record_.ranks.size(); ++rank) {
      const auto& entries = record_.ranks[rank].entries;
      for (std::size_t i = 0; i < entries.size(); ++i) add(rank, i, entries[i]);
    }
    if (!result_.recvs.empty()) choose(0);
    return std::move(result_);
  }

 private:
  void add(std::uint32_t rank, std::size_t i, const RecordEntry& entry) {
    if (entry.kind != EntryKind::kCall) return;
    if (entry.operation == Operation::kSend) {
      ++messages_[{entry.peer, entry.group, entry.tag}][rank];
    } else if (entry.operation == Operation::kReceive && entry.any_source) {
      result_.recvs.emplace_back(rank, i);
    }
  }

  // All sources of the recvs from the `n`-th on.
  void choose(std::size_t n) {
    if (n == result_.recvs.size()) {
      if (result_.orders.size() == max_) {
        result_.complete = false;
      } else {
        result_.orders.push_back(chosen_);
      }
      return;
    }
    const auto [rank, i] = result_.recvs[n];
    const RecordEntry& entry = record_.ranks[rank].entries[i];
    for (auto& [source, left] : messages_[{rank, entry.group, entry.tag}]) {
      if (left == 0 || !result_.complete) continue;
      --left;
      chosen_.push_back(source);
      choose(n + 1);
      chosen_.pop_back();
      ++left;
    }
  }

  const Record& record_;
  std::size_t max_;
  SourceOrders result_;
  std::vector<std::uint32_t> chosen_;
  std::map<Inbox, std::map<std::uint32_t, std::size_t>> messages_;  // by source
};

}  // namespace

SourceOrders source_orders(const Record& record, std::size_t max) {
  return OrderSearch(record, max).run();
}

Record with_sources(Record record, const SourceOrders& all,
                    const std::vector<std::uint32_t>& order) {
  for (std::size_t n = 0; n < order.size(); ++n) {
    const auto [rank, i] = all.recvs[n];
    record.ranks[rank].entries[i].peer = order[n];
  }
  return record;
}

}  // namespace pipesim::models
