// Lowering of faults and timeouts from their templates to a plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// The faults that affect each part of a plan. A link of the plan is created only when something
/// uses it.
class FaultLowering {
 public:
  FaultLowering(const TaskGraph& graph, sim::PlanBuilder& builder)
      : graph_(graph), builder_(builder) {}

  /// Sets the faults of a new communicator: the link of its collectives, the links over which its
  /// ranks join its initialization, and its timeouts. `communicator` is an index in
  /// TaskGraph::communicators or kNoIndex; `members` are in group order.
  void set_up(sim::CommunicatorId id, std::uint32_t communicator,
              const std::vector<std::uint32_t>& members);

  /// Returns the link of sends between two ranks, if that link can be down.
  sim::LinkId link_of_message(std::uint32_t communicator, std::uint32_t a, std::uint32_t b);

  /// Return the slowdown factor of a send between `a` and `b`, or of a collective of `members`. For
  /// a collective, this is the largest factor between neighbors.
  std::int64_t slower(std::uint32_t communicator, std::uint32_t a, std::uint32_t b) const;
  std::int64_t slower(std::uint32_t communicator, const std::vector<std::uint32_t>& members) const;

  /// Whether `rank` dies in a call because it is not permitted to read the memory of other ranks on
  /// its host.
  bool dies_reading(const CallTemplate& call, std::uint32_t rank,
                    const std::vector<std::uint32_t>& members, const sim::CallSpec& spec) const;

  void set_timeouts();

  /// Returns the descriptions of the created links, by LinkId: "infiniband between node0 and node1,
  /// which is down".
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
