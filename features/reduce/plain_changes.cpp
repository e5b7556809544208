#include "features/reduce/plain_changes.hpp"

#include <cstdint>

namespace pipesim::models {
namespace {

template <typename Change>
void change_calls(TaskGraph& graph, const Change& change) {
  for (ActorTemplate& actor : graph.actors) {
    if (!actor.step) continue;
    for (CallTemplate& call : actor.step->calls) change(call);
  }
}

// Drops the cluster. Calls then take the time that the scenario states.
void drop_cluster(TaskGraph& graph) {
  graph.cluster.reset();
  for (ActorTemplate& actor : graph.actors) {
    if (actor.collective) actor.collective->timed = false;
  }
  change_calls(graph, [](CallTemplate& call) { call.timed = false; });
}

void drop_memory(TaskGraph& graph) {
  graph.memory.reset();
  for (ActorTemplate& actor : graph.actors) {
    for (RegisterTemplate& reg : actor.registers) reg.bytes.reset();
  }
}

void drop_tensors(TaskGraph& graph) {
  for (ActorTemplate& actor : graph.actors) {
    for (RegisterTemplate& reg : actor.registers) reg.carries.clear();
    for (ReadTemplate& read : actor.reads) read.needs.reset();
  }
}

void drop_tags(TaskGraph& graph) {
  change_calls(graph, [](CallTemplate& call) {
    call.tag.clear();
    call.tag_number.reset();
    call.tag_numbers.reset();
  });
}

void drop_sizes_of_collectives(TaskGraph& graph) {
  for (ActorTemplate& actor : graph.actors) {
    if (!actor.collective) continue;
    actor.collective->bytes = 0;
    actor.collective->timed = false;
  }
  change_calls(graph, [](CallTemplate& call) {
    if (call.kind != sim::CallKind::kCollective) return;
    call.bytes = Expr();
    call.sized = call.timed = false;
  });
}

// Resets the communicator to its defaults. Collectives of actors then get one communicator each.
void plain_communicator(TaskGraph& graph, std::uint32_t index) {
  CommunicatorTemplate& it = graph.communicators[index];
  CommunicatorTemplate plain;
  plain.on_host = it.on_host;
  for (const auto& field : kFields<CommunicatorTemplate>) {
    const bool keeps = field.value.to == To::kGroup || field.value.to == To::kStream;
    if (!keeps) reset(field, it, plain);
  }
  it.init = graph.init;
}

void drop_communicator_of_actors(TaskGraph& graph, std::uint32_t index) {
  for (ActorTemplate& actor : graph.actors) {
    if (actor.collective && actor.collective->communicator == index) {
      actor.collective->communicator = kNoIndex;
    }
  }
}

}  // namespace

std::vector<std::function<void(TaskGraph&)>> plain_changes(const TaskGraph& graph) {
  std::vector<std::function<void(TaskGraph&)>> changes = {
      [](TaskGraph& it) { it.timeouts = {}; },
      drop_cluster,
      [](TaskGraph& it) { it.device = {}; },
      [](TaskGraph& it) { it.init = {}; },
      [](TaskGraph& it) { it.launch_queue = TaskGraph().launch_queue; },
      [](TaskGraph& it) {
        for (StreamTemplate& stream : it.streams) stream.launch_queue = it.launch_queue;
      },
      drop_memory,
      drop_tensors,
      [](TaskGraph& it) {
        for (ActorTemplate& actor : it.actors) actor.phase = kNoIndex;
      },
      [](TaskGraph& it) {
        for (ActorTemplate& actor : it.actors) actor.numbers.reset();
      },
      [](TaskGraph& it) {
        for (ActorTemplate& actor : it.actors) actor.behind = kNoIndex;
      },
      drop_tags,
      drop_sizes_of_collectives,
      [](TaskGraph& it) { change_calls(it, [](CallTemplate& call) { call.type.clear(); }); },
      [](TaskGraph& it) {
        if (it.micro_batches == 1) it.micro_batches = 0;
      },
  };
  for (std::uint32_t i = 0; i < graph.communicators.size(); ++i) {
    changes.emplace_back([i](TaskGraph& it) { plain_communicator(it, i); });
    changes.emplace_back([i](TaskGraph& it) { drop_communicator_of_actors(it, i); });
  }
  return changes;
}

}  // namespace pipesim::models
