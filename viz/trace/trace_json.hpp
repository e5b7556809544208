// A timeline in the trace format of Chrome, in the conventions of PyTorch's profiler (Kineto):
// docs/how-to/trace.md says what stands for what, and why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/timeline.hpp"

namespace pipesim::viz {

class TraceIndex;

/// Takes a text part by part.
using TextSink = std::function<void(std::string_view)>;

/// Writes the trace of one run, of all ranks or rank by rank. All that it is given must outlive it;
/// `timeline` is of all ranks.
class TraceWriter {
 public:
  TraceWriter(const models::TaskGraph& graph, const models::Simulation& run,
              const models::Timeline& timeline, const std::vector<models::Flow>& flows);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// One JSON object with all ranks, in parts of some 64 KiB.
  void write(const TextSink& sink) const;

  /// One with this rank alone, as each process of a real job writes it: flows to other ranks are
  /// left out, and `distributedInfo` says the rank.
  void write_rank(std::uint32_t rank, const TextSink& sink) const;

 private:
  std::unique_ptr<const TraceIndex> index_;
};

}  // namespace pipesim::viz
