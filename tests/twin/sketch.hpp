// Tools for plans made by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/twin/twin.hpp"

namespace pipesim::twin {

/// A plan under construction; each add_ function returns the number of the new item.
struct Sketch {
  Spec spec;

  int add_thread(int rank = 0) {
    spec.threads.push_back({rank, false, {}});
    return count_of(spec.threads) - 1;
  }
  int add_stream(int rank = 0, int launch_queue = 1024) {
    spec.streams.push_back({rank, launch_queue});
    return count_of(spec.streams) - 1;
  }
  int add_actor(int thread, int stream, std::int64_t takes, int ops) {
    Actor actor;
    actor.thread = thread;
    actor.stream = stream;
    actor.takes = takes;
    actor.ops = ops;
    spec.actors.push_back(actor);
    return count_of(spec.actors) - 1;
  }
  int add_register(int producer, int slots, int ops_per_slot = 1) {
    Register reg;
    reg.producer = producer;
    reg.slots = slots;
    reg.ops_per_slot = ops_per_slot;
    spec.registers.push_back(reg);
    return count_of(spec.registers) - 1;
  }
  void add_edge(int reg, int consumer, int ops_per_slot = 1) {
    spec.edges.push_back({reg, consumer, ops_per_slot});
  }
  int add_program(int rank = 0) {
    spec.threads.push_back({rank, true, {}});
    return count_of(spec.threads) - 1;
  }
  /// Adds a step of one op at the end of the thread's program.
  int add_step(Role role, int thread, int stream = -1) {
    const int step = add_actor(thread, stream, 0, 1);
    actor(step).role = role;
    spec.threads.at(static_cast<std::size_t>(thread)).list.push_back(step);
    return step;
  }
  int add_kernel(int thread, int stream, std::int64_t takes) {
    const int step = add_step(Role::kOp, thread, stream);
    actor(step).takes = takes;
    return step;
  }
  int add_work(int thread, std::int64_t overhead) {
    const int step = add_step(Role::kWork, thread);
    actor(step).launch_overhead = overhead;
    return step;
  }
  void add_lock_step(Role role, int thread, int lock) { actor(add_step(role, thread)).lock = lock; }
  int add_signal_step(Role role, int thread, int signal, int stream = -1) {
    const int step = add_step(role, thread, stream);
    actor(step).signal = signal;
    return step;
  }
  int add_calls(int thread, int stream, const std::vector<Call>& calls) {
    const int step = add_step(Role::kCalls, thread, stream);
    actor(step).calls = calls;
    return step;
  }
  /// Removes the last step from its program.
  void drop_last_step() {
    spec.threads.at(static_cast<std::size_t>(spec.actors.back().thread)).list.pop_back();
    spec.actors.back().ops = 0;
  }
  void add_device(int rank, const std::vector<int>& streams, int hardware_queues, int resident,
                  bool implicit_order) {
    const Order order = implicit_order ? Order::kImplicit : Order::kNone;
    spec.devices.push_back({rank, hardware_queues, resident, order, false, 0});
    for (int s : streams) {
      spec.streams.at(static_cast<std::size_t>(s)).device = count_of(spec.devices) - 1;
    }
  }
  int add_link(int a, int b, std::int64_t down, std::int64_t retry = 0) {
    spec.links.push_back({a, b, down, retry});
    return count_of(spec.links) - 1;
  }
  Communicator& communicator(int c) { return spec.communicators.at(static_cast<std::size_t>(c)); }
  int add_create(int thread, int c) {
    const int step = add_step(Role::kCreate, thread);
    actor(step).communicator = c;
    return step;
  }
  Call& call(int a) { return actor(a).calls.front(); }
  Actor& actor(int a) { return spec.actors.at(static_cast<std::size_t>(a)); }
};

inline std::set<std::string> waits_of(const Result& result) {
  std::set<std::string> lines;
  for (const auto& [edge, any] : result.waits) lines.insert(text(edge) + (any ? " (any)" : ""));
  return lines;
}

inline std::vector<std::string> deaths_of(const Result& result) {
  std::vector<std::string> lines;
  for (const Died& died : result.deaths) lines.push_back(text(died));
  return lines;
}

using Lines = std::set<std::string>;
using Deaths = std::vector<std::string>;  // sorted by time

inline Call collective_call(int communicator, int operation, std::int64_t takes) {
  Call call;
  call.communicator = communicator;
  call.signature.operation = operation;
  call.takes = takes;
  return call;
}

inline Call message_call(CallKind kind, int peer, std::int64_t takes, bool buffered = false) {
  Call call;
  call.kind = kind;
  call.peer = peer;
  call.takes = takes;
  call.buffered = buffered;
  return call;
}

/// Returns a plan of `ranks` ranks, and communicator 0 with all ranks. Each rank has a program and
/// a stream, both with the number of the rank.
inline Sketch some_ranks(int ranks) {
  Sketch sketch;
  sketch.spec.ranks = ranks;
  sketch.spec.communicators.push_back({{}, false, false});
  for (int rank = 0; rank < ranks; ++rank) {
    sketch.add_program(rank);
    sketch.add_stream(rank);
    sketch.spec.communicators.front().ranks.push_back(rank);
  }
  return sketch;
}
inline Sketch two_ranks() { return some_ranks(2); }

}  // namespace pipesim::twin
