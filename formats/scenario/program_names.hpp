// The names in programs: streams, communicators, events, keys, locks, and steps.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/document/value_reader.hpp"
#include "formats/document/yaml_document.hpp"
#include "formats/scenario/actor_index.hpp"
#include "formats/scenario/keys.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Finds things by name in a graph. The first use of a name adds the thing.
class ProgramNames {
 public:
  /// `graph` has all declared things; undeclared streams are added only with `open_streams`.
  ProgramNames(const ValueReader& values, bool open_streams, models::TaskGraph& graph);

  /// Collects the names anywhere in `value`. The caller must do this before reading any part of
  /// `value`.
  void look_ahead(const YamlValue& value);

  /// Report streams that steps wait for but never use, and events that are never recorded.
  void check_streams();
  void check_events();

  /// Returns a name that no other step on the ranks of `on` has: `name`, or `name.2`. Reserves the
  /// name.
  std::string unique_name(const std::string& name, const models::RankSet& on);

  /// Makes the name of the graph's last actor unique, as unique_name() does.
  void make_name_unique();

  /// Returns the step of this name on the first rank of `on` or, if `on` is empty, a step that no
  /// rank has. Returns kNoIndex if there is no such step.
  std::uint32_t step_of(const std::string& name, const models::RankSet& on) const;

  // Return the index of the named thing; models::kNoIndex after an error.
  std::uint32_t stream(const std::string& name, models::Place place);
  std::uint32_t awaited_stream(const std::string& name, const YamlValue& item);
  std::uint32_t stream_of_calls(const models::CallTemplate& call);
  std::uint32_t communicator(const YamlValue& value, bool barrier);

  /// Sets whether the host executes calls on the communicators of groups, and whether it uses gloo.
  void set_on_host(bool on_host, bool is_gloo) {
    on_host_ = on_host;
    is_gloo_ = is_gloo;
  }

  /// Sets whether a barrier over a group is a call on the group's communicator, as with NCCL.
  void set_barriers_on_device(bool on_device) { barriers_on_device_ = on_device; }

  /// Whether the communicator was added for a step that names its group.
  bool is_of_group(std::uint32_t communicator) const {
    return communicator != models::kNoIndex && communicator >= declared_communicators_;
  }

  /// Returns the communicator on which the hosts of the ranks of `communicator` meet. Meetings for
  /// each purpose, `what`, have their own communicator.
  std::uint32_t hosts_of(std::uint32_t communicator, const std::string& what = "hosts");

  /// Returns the communicator called `name` on which the hosts of all ranks meet.
  std::uint32_t hosts_of_all(const std::string& name, models::Place place);

  /// Returns the communicator of ranks `a` and `b` if PyTorch uses one for their sends and recvs,
  /// else `communicator`. PyTorch does so for a group without a named communicator.
  std::uint32_t pair_of(std::uint32_t communicator, std::uint32_t a, std::uint32_t b);

  /// Returns the streams of a group's two-rank communicators that steps have used so far, each with
  /// its ranks in `on`. Returns an empty list unless `stream` is the stream of the group's calls.
  std::vector<std::pair<std::uint32_t, models::RankSet>> pair_streams(
      std::uint32_t stream, const models::RankSet& on) const;

  /// Returns the object that a step names, or kNoIndex after an error. Adds events and locks at
  /// their first use. `implied`: the event is one that `after` makes.
  std::uint32_t object(const YamlValue& value, const keys::ObjectStep& kind, bool implied);
  std::uint32_t implied_event(const std::string& name, models::Place place);

 private:
  std::uint32_t event(const YamlValue& value, bool shared);
  std::uint32_t lock(const YamlValue& value);
  bool is_given(const std::string& name, const models::RankSet& on, std::uint64_t least) const;
  std::vector<std::uint32_t>& counted_copies_of(const std::string& name);
  bool is_taken(const std::string& name, const models::RankSet& on) const;
  bool is_stream_of_calls(const std::string& name) const;
  std::uint32_t add_stream(const std::string& name, models::Place place);
  std::uint32_t hosts_of_group(const std::string& name, std::uint32_t group, models::Place place);

  const ValueReader& values_;
  models::Diagnostics& diagnostics_;
  bool open_streams_;
  models::TaskGraph& graph_;
  // Number of streams that exist before any program is read.
  std::size_t declared_streams_;
  // Number of communicators that exist before any program is read.
  std::size_t declared_communicators_;
  std::set<std::string, std::less<>> stream_words_;  // every value of a key `stream`
  std::set<std::string, std::less<>> record_words_;  // every value of a key `record`
  std::map<std::uint32_t, models::Place> awaited_;   // place of a wait, by awaited stream
  std::vector<std::uint32_t> awaited_events_;        // awaited events, perhaps never recorded
  using Names = std::map<std::string, std::uint32_t, std::less<>>;
  Names events_;          // by name, without the events of `after`
  Names implied_events_;  // events of `after`
  std::set<std::string> actor_names_;
  ActorIndex steps_;
  // Number of uses of a name on each rank. Most steps have unique names; those are in `only_`
  // instead.
  std::map<std::string, std::vector<std::uint32_t>> copies_;
  ActorIndex only_;
  // Two-rank communicators, by the communicator of their group.
  std::map<std::uint32_t, std::vector<std::uint32_t>> pairs_;
  bool on_host_ = false;
  bool is_gloo_ = false;
  bool barriers_on_device_ = false;
};

/// Reports that a call of gloo or MPI has no stream.
void refuse_stream_of_host(models::Diagnostics& diagnostics, models::Place place);

}  // namespace pipesim::formats
