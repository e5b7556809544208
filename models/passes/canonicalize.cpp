// Nothing that goes has a part in a run: its fingerprint stays.
#include <algorithm>
#include <vector>

#include "models/graph_edit.hpp"
#include "models/passes/shipped_passes.hpp"

namespace pipesim::models {
namespace {

void drop_actors_on_no_rank(TaskGraph& graph) {
  std::vector<bool> keep;
  for (ActorTemplate& actor : graph.actors) {
    keep.push_back(!actor.on.empty());
    auto& reads = actor.reads;
    reads.erase(std::remove_if(reads.begin(), reads.end(),
                               [](const ReadTemplate& read) { return read.on.empty(); }),
                reads.end());
  }
  // What a fault names stays, or the fault would go too.
  for (const RankFault& fault : graph.faults.ranks) {
    if (!fault.at) keep[fault.actor] = true;
  }
  keep_actors(graph, keep);
}

// The first register is the output that every actor has.
void drop_registers_without_readers(TaskGraph& graph) {
  std::vector<std::vector<bool>> read_by_someone;
  for (const ActorTemplate& actor : graph.actors) {
    read_by_someone.emplace_back(actor.registers.size(), false);
    if (!actor.registers.empty()) read_by_someone.back().front() = true;
  }
  for (const ActorTemplate& actor : graph.actors) {
    for (const ReadTemplate& read : actor.reads) read_by_someone[read.actor][read.reg] = true;
  }
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
    keep_registers(graph, i, read_by_someone[i]);
  }
}

void drop_streams(TaskGraph& graph) {
  std::vector<bool> used(graph.streams.size(), false);
  const auto use = [&used](std::uint32_t stream) {
    if (stream != kNoIndex) used[stream] = true;
  };
  for (const CommunicatorTemplate& communicator : graph.communicators) use(communicator.stream);
  for (const ActorTemplate& actor : graph.actors) {
    use(actor.stream);
    use(actor.behind);
    if (!actor.step) continue;
    for (const std::uint32_t stream : actor.step->streams) use(stream);
  }
  keep_streams(graph, used);
}

void drop_threads(TaskGraph& graph) {
  std::vector<bool> used(graph.threads.size(), false);
  for (const StreamTemplate& stream : graph.streams) {
    if (stream.thread != kNoIndex) used[stream.thread] = true;
  }
  for (const ActorTemplate& actor : graph.actors) {
    if (actor.thread != kNoIndex) used[actor.thread] = true;
  }
  keep_threads(graph, used);
}

void run(TaskGraph& graph, const PassOptions& /*options*/, Diagnostics& /*diagnostics*/) {
  drop_actors_on_no_rank(graph);
  drop_registers_without_readers(graph);
  drop_streams(graph);
  drop_threads(graph);
}

}  // namespace

Pass canonicalize_pass() {
  return {"canonicalize",
          "drops what has no part in a run: actors and reads on no rank, registers that nobody "
          "reads, streams and threads that nothing is on",
          {},
          run};
}

}  // namespace pipesim::models
