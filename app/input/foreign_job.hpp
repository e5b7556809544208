// Jobs of other tools, which commands take in place of a scenario.
#pragma once

#include <memory>
#include <string>

#include "app/output/console.hpp"
#include "models/graph/recorded.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::app {

/// A job of another tool, read as a scenario.
class ForeignJob {
 public:
  ForeignJob() = default;
  ForeignJob(const ForeignJob&) = delete;
  ForeignJob& operator=(const ForeignJob&) = delete;
  virtual ~ForeignJob() = default;

  /// Returns the scenario of the job. `rules` is "gloo" or "nccl"; if empty, each group keeps its
  /// backend in the script.
  virtual std::string scenario(const std::string& rules) const = 0;

  /// Returns names for the steps of `graph`, which was read from scenario(`rules`).
  virtual std::shared_ptr<const models::Recorded> names(const std::string& rules,
                                                        const models::TaskGraph& graph) const = 0;

  /// Prints the findings about the job, before anything runs. Skips findings about differing lines
  /// if `names` has a first difference: reports begin with this difference.
  virtual void report_findings(const Console& console,
                               const models::Recorded* names = nullptr) const = 0;
};

}  // namespace pipesim::app
