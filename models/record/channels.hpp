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

/// Whose rules say what waits for what.
enum class RecordRules : std::uint8_t { kGloo, kNccl };

/// A communicator for each of several disjoint lists of ranks.
struct Channel {
  std::string name;
  std::vector<std::vector<std::uint32_t>> lists;
  bool used = false;
  bool of_store = false;  // the store's: the hosts meet there, whatever the backend

  /// The list that `rank` is in, or null.
  const std::vector<std::uint32_t>* list_of(std::uint32_t rank) const;
};

/// All communicators of a record. A channel is an index in `all()`.
class Channels {
 public:
  /// Finds those of groups. Under the rules of gloo, each sender, receiver and tag that a group
  /// carries messages for has a channel of its own, as gloo matches messages by these alone; all
  /// that is sent to a rank that receives from any has one for each tag. Under those of NCCL, each
  /// pair of ranks has one for messages that are not batched.
  Channels(const Record& record, RecordRules rules);

  const std::vector<Channel>& all() const { return channels_; }
  std::vector<Channel>& all() { return channels_; }

  /// Of the collectives of a group, and of messages in batches.
  std::uint32_t of_group(std::uint32_t group) const { return of_group_[group]; }

  /// Of a message that `rank` sends or receives.
  std::uint32_t of_message(std::uint32_t rank, const RecordEntry& entry) const;

  /// A channel of all ranks over the store; made when it is first asked for.
  std::uint32_t store();

  /// One more channel. A name that is taken is given a number.
  std::uint32_t add(const std::string& name, std::vector<std::vector<std::uint32_t>> lists);

 private:
  using MessageKey =
      std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t>;  // channel of the
                                                                              // group, tag, ends;
                                                                              // kNotSaid: any
  MessageKey key_of(std::uint32_t rank, const RecordEntry& entry) const;
  std::uint32_t add_to_family(std::vector<std::uint32_t>& family, const std::string& name,
                              const std::vector<std::uint32_t>& ranks);
  void find_groups();
  void find_messages();
  std::string source_of(const RecordGroup& group) const;
  std::string name_of(const RecordGroup& group) const;

  const Record& record_;
  RecordRules rules_;
  std::vector<Channel> channels_;
  std::vector<std::uint32_t> of_group_;
  std::set<MessageKey> from_any_;
  std::map<MessageKey, std::uint32_t> of_message_;
  std::map<std::string, std::uint32_t> names_;  // and how many have each
  std::uint32_t store_ = kNotSaid;
};

}  // namespace pipesim::models
