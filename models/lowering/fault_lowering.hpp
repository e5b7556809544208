// From faults and guards, as people write them, to those of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// Says of what lowering is about to build what can go wrong with it. Links come into being where
/// something is found to run over them.
class FaultLowering {
 public:
  FaultLowering(const TaskGraph& graph, sim::PlanBuilder& builder)
      : graph_(graph), builder_(builder) {}

  /// For a communicator that was just built: what its collectives run over, how its ranks arrive at
  /// its creation, and its timeouts. `communicator` is an index in TaskGraph::communicators or
  /// kNoIndex, `members` are in the order of the group.
  void set_up(sim::CommunicatorId id, std::uint32_t communicator,
              const std::vector<std::uint32_t>& members);

  /// What a message between two ranks runs over, if that can be down.
  sim::LinkId link_of_message(std::uint32_t communicator, std::uint32_t a, std::uint32_t b);

  /// How many times as long as otherwise a message takes, or a collective: that of the slowest
  /// link between neighbours.
  std::int64_t slower(std::uint32_t communicator, std::uint32_t a, std::uint32_t b) const;
  std::int64_t slower(std::uint32_t communicator, const std::vector<std::uint32_t>& members) const;

  /// Whether `rank` dies in a call because it may not read what others of its host give.
  bool dies_reading(const CallTemplate& call, std::uint32_t rank,
                    const std::vector<std::uint32_t>& members, const sim::CallSpec& spec) const;

  void set_guards();

  /// What the links that were made are, by LinkId: "infiniband between node0 and node1".
  std::vector<std::string> take_link_names() { return std::move(names_); }

 private:
  const CommunicatorTemplate* named(std::uint32_t communicator) const;
  std::uint32_t link_class(std::uint32_t communicator, std::uint32_t a, std::uint32_t b) const;
  std::uint32_t interface_of(std::uint32_t communicator) const;
  bool affects(const LinkFault& fault, std::uint32_t a, std::uint32_t b) const;
  sim::LinkId down_link(std::uint32_t link, std::uint32_t a, std::uint32_t b);
  sim::LinkId arrival_link(std::uint32_t communicator, std::uint32_t rank, std::uint32_t root);
  sim::LinkId make(std::uint32_t a, std::uint32_t b, std::int64_t down_ns, std::int64_t retry_ns,
                   std::string name);

  const TaskGraph& graph_;
  sim::PlanBuilder& builder_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, sim::LinkId> links_;
  std::vector<std::string> names_;
};

}  // namespace pipesim::models
