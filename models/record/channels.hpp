// The communicators of a recorded job, as a scenario has them: groups that one line made for
// different ranks are one communicator with several lists, named after that line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/record/record.hpp"

namespace pipesim::models {

/// A communicator for each of several disjoint lists of ranks.
struct Channel {
  std::string name;
  std::vector<std::vector<std::uint32_t>> lists;
  bool used = false;
  bool on_host = false;            // the hosts do its calls,
  bool is_gloo = false;            // as gloo does them
  std::uint32_t group = kNotSaid;  // the channel of the same group that `lists` are written for

  /// The list that `rank` is in, or null.
  const std::vector<std::uint32_t>* list_of(std::uint32_t rank) const;
};

/// All communicators of a record. A channel is an index in `all()`.
class Channels {
 public:
  /// Finds those of groups. In a group under gloo's rules, each sender, receiver and tag of
  /// messages has a channel of its own, as gloo matches messages by these alone; all that is sent
  /// to a rank that receives from any has one for each tag. Under NCCL's rules, each pair of ranks
  /// has one for messages that are not batched.
  Channels(const Record& record, RecordRules rules);

  const std::vector<Channel>& all() const { return channels_; }
  std::vector<Channel>& all() { return channels_; }

  /// Of the collectives of a group, and of messages in batches.
  std::uint32_t of_group(std::uint32_t group) const { return of_group_[group]; }

  /// Of a collective. gloo matches collectives by their number alone and runs two at a time, which
  /// end in any order: those that are pending together on some rank have channels of their own.
  std::uint32_t of_collective(const RecordEntry& entry) const;

  /// Whether ranks call all_reduce and reduce_scatter under one number.
  bool sums_differ(const RecordEntry& entry) const {
    return sums_differ_.count({entry.group, entry.number}) > 0;
  }

  /// Whether more calls were pending than there are channels for: some then wait for each other
  /// that need not.
  bool in_one_line() const { return in_one_line_; }

  /// Of a message that `rank` sends or receives.
  std::uint32_t of_message(std::uint32_t rank, const RecordEntry& entry) const;

  /// "the world group", "messages with rank 1": what a rank has the channel for.
  std::string text(std::uint32_t channel, std::uint32_t rank) const;

  /// A channel of all ranks over the store; made when it is first asked for.
  std::uint32_t store();

  /// One more channel, of the kind of `like`. A name that is taken is given a number.
  std::uint32_t add(const std::string& name, std::vector<std::vector<std::uint32_t>> lists,
                    const Channel& like);

 private:
  using MessageKey =
      std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t>;  // channel of the
                                                                              // group, tag, ends;
                                                                              // kNotSaid: any
  MessageKey key_of(std::uint32_t rank, const RecordEntry& entry) const;
  std::uint32_t add_to_family(std::vector<std::uint32_t>& family, const std::string& name,
                              const std::vector<std::uint32_t>& ranks, const Channel& like);
  bool nccl(std::uint32_t group) const { return record_.groups[group].under_nccl(rules_); }
  void find_groups();
  void find_messages();
  void find_pending_collectives();
  void find_uneven_collectives();
  std::uint32_t beside(std::uint32_t channel);
  std::string source_of(const RecordGroup& group) const;
  std::string name_of(const RecordGroup& group) const;

  const Record& record_;
  RecordRules rules_;
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> of_group_;
  // Beside of_group_: channels of calls that are pending beside others; and whose they are, by
  // number.
  std::map<std::uint32_t, std::vector<std::uint32_t>> beside_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> of_collective_;
  std::set<std::pair<std::uint32_t, std::int64_t>> sums_differ_;
  bool in_one_line_ = false;
  std::set<MessageKey> from_any_;
  std::map<MessageKey, std::uint32_t> of_message_;
  std::map<std::string, std::uint32_t> names_;  // and how many have each
  std::uint32_t store_ = kNotSaid;
};

}  // namespace pipesim::models
