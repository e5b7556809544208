// What names in programs stand for: streams, communicators, events, keys, locks, and steps.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/scenario/actor_index.hpp"
#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Finds things by name in a graph, and adds those that exist once they are named.
class ProgramNames {
 public:
  /// `graph` has what is declared; streams that are not are added only if `open_streams` is set.
  ProgramNames(const ValueReader& values, bool open_streams, models::TaskGraph& graph);

  /// Collects what `value` names anywhere. To be called before anything in it is read.
  void look_ahead(const YamlValue& value);

  /// Reports streams that are waited for but never used, and events that are never recorded.
  void check_streams();
  void check_events();

  /// A name that no other step on the ranks of `on` has: `name`, or `name.2`. It is taken from now
  /// on.
  std::string unique_name(const std::string& name, const models::RankSet& on);

  /// The same for an actor of the graph, whose name is changed: the last one.
  void make_name_unique();

  /// The step of this name on `rank`, or kNoIndex.
  std::uint32_t step_of(const std::string& name, std::uint32_t rank) const;

  // The index of each; models::kNoIndex after a message.
  std::uint32_t stream(const std::string& name, models::Place place);
  std::uint32_t awaited_stream(const std::string& name, const YamlValue& item);
  std::uint32_t stream_of_calls(const models::CallTemplate& call);
  std::uint32_t communicator(const YamlValue& value, bool barrier);

  /// Communicators of groups are ones whose calls the host does.
  void set_on_host(bool on_host, bool is_gloo) {
    on_host_ = on_host;
    is_gloo_ = is_gloo;
  }

  /// A barrier over a group is a call on the group's communicator, as NCCL's is.
  void set_barriers_on_device(bool on_device) { barriers_on_device_ = on_device; }

  /// Whether steps made it by naming their group.
  bool is_of_group(std::uint32_t communicator) const {
    return communicator != models::kNoIndex && communicator >= declared_communicators_;
  }

  /// On which the hosts of its ranks meet.
  std::uint32_t hosts_of(std::uint32_t communicator);

  /// That of two ranks, where PyTorch sends messages of `communicator` over one of their own: of a
  /// group that has no named communicator. Otherwise `communicator`.
  std::uint32_t pair_of(std::uint32_t communicator, std::uint32_t a, std::uint32_t b);

  /// If `stream` is that of a group's calls: the streams of messages that have communicators of two
  /// ranks of `on` instead, as far as steps have made them, each with its ranks of `on`.
  std::vector<std::pair<std::uint32_t, models::RankSet>> pair_streams(
      std::uint32_t stream, const models::RankSet& on) const;
  std::uint32_t event(const YamlValue& value, bool shared);
  std::uint32_t implied_event(const std::string& name, models::Place place);
  std::uint32_t lock(const YamlValue& value);

 private:
  bool is_given(const std::string& name, const models::RankSet& on, std::uint64_t least) const;
  std::vector<std::uint32_t>& counted_copies_of(const std::string& name);
  bool is_taken(const std::string& name, const models::RankSet& on) const;
  bool is_stream_of_calls(const std::string& name) const;
  std::uint32_t add_stream(const std::string& name, models::Place place);

  const ValueReader& values_;
  models::Diagnostics& diagnostics_;
  bool open_streams_;
  models::TaskGraph& graph_;
  std::size_t declared_streams_;                     // those that exist before any program is read
  std::size_t declared_communicators_;               // likewise
  std::set<std::string, std::less<>> stream_words_;  // every value of a key `stream`
  std::set<std::string, std::less<>> record_words_;  // every value of a key `record`
  std::map<std::uint32_t, models::Place> awaited_;   // streams that may never be used
  std::vector<std::uint32_t> awaited_events_;        // events that may never be recorded
  using Names = std::map<std::string, std::uint32_t, std::less<>>;
  Names events_;          // by name, without those of `after`
  Names implied_events_;  // those of `after`
  std::set<std::string> actor_names_;
  ActorIndex steps_;
  // How often a name was given, on each rank. Most are given once: these steps are in `only_`.
  std::map<std::string, std::vector<std::uint32_t>> copies_;
  ActorIndex only_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> pairs_;  // by the communicator of a group
  bool on_host_ = false;
  bool is_gloo_ = false;
  bool barriers_on_device_ = false;
};

/// A call of gloo or MPI has been given a stream.
void refuse_stream_of_host(models::Diagnostics& diagnostics, models::Place place);

}  // namespace pipesim::formats
