// A timeline in Chrome's trace format, with the conventions of PyTorch's profiler (Kineto).
// docs/how-to/trace.md explains the mapping.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"

namespace pipesim::viz {

class TraceIndex;

/// A function that receives text in parts.
using TextSink = std::function<void(std::string_view)>;

/// Writes the trace of one run, for all ranks or rank by rank. All arguments must outlive it;
/// `timeline` has all ranks.
class TraceWriter {
 public:
  TraceWriter(const models::TaskGraph& graph, const models::Simulation& run,
              const models::Timeline& timeline, const std::vector<models::Flow>& flows);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Writes one JSON object with all ranks, in parts of about 64 KiB.
  void write(const TextSink& sink) const;

  /// Writes a trace of `rank` alone, as each process of a real job does: without flows to other
  /// ranks, and with the rank in `distributedInfo`.
  void write_rank(std::uint32_t rank, const TextSink& sink) const;

 private:
  std::unique_ptr<const TraceIndex> index_;
};

}  // namespace pipesim::viz
