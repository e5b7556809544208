// The streams, groups and communicators that the programs of a pipeline use. Those that are not
// there yet are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

class PipelineLinks {
 public:
  /// Keeps both.
  PipelineLinks(const Pipeline& pipeline, TaskGraph& graph);

  std::uint32_t stream(const std::string& name);

  /// The communicator of this name, or one for the group.
  std::uint32_t over(const std::string& name);

  /// The communicator of messages from one row to another, of forwards or of backwards.
  std::uint32_t between(std::uint32_t from, std::uint32_t to, bool forward);

 private:
  std::uint32_t with_stream(std::uint32_t communicator);
  std::uint32_t add_communicator(std::uint32_t group);
  std::vector<std::vector<std::uint32_t>> lists_of(const std::vector<std::uint32_t>& rows) const;
  std::uint32_t communicator_of_messages(Group group);

  const Pipeline& pipeline_;
  TaskGraph& graph_;
  RankSet first_row_;         // where pipelines begin
  std::size_t given_groups_;  // those from there on are ours
  std::map<std::string, std::uint32_t> communicators_;
  std::map<std::string, std::uint32_t> streams_;
};

}  // namespace pipesim::models
