// The communicators in the scenario of a recorded job. Groups that one line creates on different
// ranks become one communicator with several lists, named after that line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "features/record/record.hpp"

namespace pipesim::models {

/// Communicators with the same name, one per list of ranks. The lists are disjoint.
struct Channel {
  std::string name;
  std::vector<std::vector<std::uint32_t>> lists;
  bool used = false;
  bool on_host = false;            // whether host threads run the calls
  bool is_gloo = false;            // whether the calls follow gloo's rules
  std::uint32_t group = kNotSaid;  // for an additional channel: the group's first channel

  /// Returns the list that contains `rank`, or nullptr.
  const std::vector<std::uint32_t>* list_of(std::uint32_t rank) const;
};

/// All communicators of a record. A channel number is an index in `all()`.
class Channels {
 public:
  /// Finds the channels of groups, sends and recvs.
  /// * In a group under gloo's rules, each (sender, receiver, tag) has its own channel, because
  ///   gloo matches sends by these alone. All sends to a rank that receives from any source share
  ///   one channel per tag.
  /// * Under NCCL's rules, each pair of ranks has one channel for sends and recvs outside of
  ///   batches.
  Channels(const Record& record, RecordRules rules);

  const std::vector<Channel>& all() const { return channels_; }
  std::vector<Channel>& all() { return channels_; }

  /// Returns the channel of a group's collectives (see of_collective() for gloo) and of its batched
  /// sends and recvs.
  std::uint32_t of_group(std::uint32_t group) const { return of_group_[group]; }

  /// Returns the channel of a collective. gloo matches collectives by sequence number alone and
  /// runs two at a time, which end in any order. So collectives that are pending together on some
  /// rank get separate channels.
  std::uint32_t of_collective(const RecordEntry& entry) const;

  /// Whether, under the sequence number of `entry`, some ranks call all_reduce and others
  /// reduce_scatter.
  bool sums_differ(const RecordEntry& entry) const {
    return sums_differ_.count({entry.group, entry.number}) > 0;
  }

  /// Returns the bytes that the root passes to a gloo broadcast, gather or scatter whose ranks pass
  /// different sizes, if the data still fit into each receiver's buffer; else -1.
  std::int64_t bytes_of_root(const RecordEntry& entry) const;

  /// Whether some gloo collectives share a channel because too many calls of their group are
  /// pending at once, although they can end in any order. In the scenario, these calls wait for
  /// each other; in a real run, they do not.
  bool in_one_line() const { return in_one_line_; }

  /// Returns the channel of a send or recv that `rank` calls.
  std::uint32_t of_message(std::uint32_t rank, const RecordEntry& entry) const;

  /// Describes the purpose of the channel for `rank`: "the world group", "the world group, in
  /// parallel" for calls that run beside others of the group, "messages with rank 1".
  std::string text(std::uint32_t channel, std::uint32_t rank) const;

  /// Returns the store's channel, whose list has all ranks. The first call adds this channel.
  std::uint32_t store();

  /// Adds a channel with the properties of `like`. If `name` is taken, appends a number.
  std::uint32_t add(const std::string& name, std::vector<std::vector<std::uint32_t>> lists,
                    const Channel& like);

 private:
  // The group's channel, tag, sender and receiver; kNotSaid: any rank.
  using MessageKey = std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t>;
  MessageKey key_of(std::uint32_t rank, const RecordEntry& entry) const;
  std::uint32_t add_to_family(std::vector<std::uint32_t>& family, const std::string& name,
                              const std::vector<std::uint32_t>& ranks, const Channel& like);
  bool nccl(std::uint32_t group) const { return record_.groups[group].under_nccl(rules_); }
  bool is_gloo_collective(const RecordEntry& entry) const;
  void find_groups();
  void find_messages();
  void find_pending_collectives();
  void find_uneven_collectives();
  void find_partly_filled_collectives();
  std::uint32_t beside(std::uint32_t channel);
  std::string source_of(const RecordGroup& group) const;
  std::string name_of(const RecordGroup& group) const;

  const Record& record_;
  RecordRules rules_;
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> of_group_;
  // `beside_`: a group's additional channels for calls that are pending together, by its first
  // channel. `of_collective_`: the additional channel of a collective, by group and sequence
  // number.
  std::map<std::uint32_t, std::vector<std::uint32_t>> beside_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> of_collective_;
  std::set<std::pair<std::uint32_t, std::int64_t>> sums_differ_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> bytes_of_root_;
  std::set<std::uint32_t> for_collectives_;  // additional channels of groups for collectives
  bool in_one_line_ = false;
  std::set<MessageKey> from_any_;
  std::map<MessageKey, std::uint32_t> of_message_;
  std::map<std::string, std::uint32_t> names_;  // by name: number of its uses
  std::uint32_t store_ = kNotSaid;
};

}  // namespace pipesim::models
