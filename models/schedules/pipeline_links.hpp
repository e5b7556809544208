// Streams, groups and communicators of a pipeline's programs, created if they do not exist.
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
  /// Keeps references to both arguments.
  PipelineLinks(const Pipeline& pipeline, TaskGraph& graph);

  std::uint32_t stream(const std::string& name);

  /// Returns the communicator called `name`, or a communicator of the group called `name`.
  std::uint32_t over(const std::string& name);

  /// Returns the communicator for sends from row `from` to row `to`, of forwards or backwards.
  std::uint32_t between(std::uint32_t from, std::uint32_t to, bool forward);

 private:
  std::uint32_t with_stream(std::uint32_t communicator);
  std::uint32_t add_communicator(std::uint32_t group);
  std::vector<std::vector<std::uint32_t>> lists_of(const std::vector<std::uint32_t>& rows) const;
  std::uint32_t communicator_of_messages(Group group);

  const Pipeline& pipeline_;
  TaskGraph& graph_;
  RankSet first_row_;         // first rank of each pipeline
  std::size_t given_groups_;  // number of groups in the graph when this object was created
  std::map<std::string, std::uint32_t> communicators_;
  std::map<std::string, std::uint32_t> streams_;
};

}  // namespace pipesim::models
