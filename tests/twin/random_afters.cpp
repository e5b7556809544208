// Adds random waits for other streams to a plan. Actors with smaller numbers mostly run earlier, in
// programs and along registers: a wait for such an actor mostly ends, and a wait for a later actor
// often does not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tests/twin/random_spec.hpp"

namespace pipesim::twin {
namespace {

class AfterGenerator {
 public:
  AfterGenerator(Spec& spec, Random& random) : spec_(spec), random_(random) {}

  void add() {
    backwards_percent_ = random_.pick<int>({0, 0, 0, 5, 5, 30});
    if (random_.chance(40)) add_tag_steps();
    if (random_.chance(20)) split_device();
    if (random_.chance(40)) take_ops_away();
    if (random_.chance(25)) add_crowd();
    const int percent = random_.pick<int>({0, 30, 50, 100});
    for (int i = random_.pick<int>({1, 1, 2, 3, 6}); i > 0; --i) {
      if (random_.chance(percent)) {
        add_behind();
      } else if (random_.chance(30)) {
        add_fan_out();
      } else {
        add_after();
      }
    }
  }

 private:
  template <typename T>
  static T& change(std::vector<T>& items, int number) {
    return items.at(static_cast<std::size_t>(number));
  }

  int rank_of(int actor) const { return at(spec_.threads, at(spec_.actors, actor).thread).rank; }

  std::vector<int> waiting_actors() const {
    return actors_that(spec_, [](const Actor& actor) {
      return actor.role == Role::kOp || actor.role == Role::kCalls;
    });
  }

  /// Whether `actor` can name `other` in `afters` or `behind`.
  bool fits(int actor, int other) const {
    const Actor& from = at(spec_.actors, actor);
    const Actor& to = at(spec_.actors, other);
    return rank_of(actor) == rank_of(other) && to.stream >= 0 && from.stream != to.stream &&
           from.ops <= to.ops;
  }

  void add_after(int actor, int other) {
    const int most = at(spec_.actors, other).ops - at(spec_.actors, actor).ops;
    const int ahead = random_.chance(30) ? 0 : random_.between(0, most);
    change(spec_.actors, actor).afters.push_back({other, ahead});
  }

  void add_after() {
    const std::vector<int> waiting = waiting_actors();
    if (waiting.empty()) return;
    const int actor = random_.pick(waiting);
    const bool backwards = random_.chance(backwards_percent_);
    std::vector<int> others;
    for (int other = 0; other < count_of(spec_.actors); ++other) {
      if ((other < actor) != backwards && fits(actor, other)) others.push_back(other);
    }
    if (!others.empty()) add_after(actor, random_.pick(others));
  }

  /// Lets several actors wait for one actor.
  void add_fan_out() {
    const std::vector<int> awaited =
        actors_that(spec_, [](const Actor& actor) { return actor.stream >= 0; });
    if (awaited.empty()) return;
    const int other = random_.pick(awaited);
    for (int actor : waiting_actors()) {
      if (actor > other && fits(actor, other) && random_.chance(60)) add_after(actor, other);
    }
  }

  /// Adds a kernel, and on each other thread of the rank a kernel on its own stream that waits for
  /// the first kernel. The threads return in the order in which their kernels start.
  void add_crowd() {
    const int rank = random_.below(spec_.ranks);
    std::vector<int> threads;
    std::vector<int> streams;
    for (int t = 0; t < count_of(spec_.threads); ++t) {
      if (at(spec_.threads, t).rank == rank && at(spec_.threads, t).program) threads.push_back(t);
    }
    for (int s = 0; s < count_of(spec_.streams); ++s) {
      if (at(spec_.streams, s).rank == rank) streams.push_back(s);
    }
    random_.shuffle(threads);
    random_.shuffle(streams);
    if (threads.size() < 3 || streams.size() < 3) return;
    const int awaited = add_kernel(threads[0], streams[0], 60);
    for (std::size_t i = 1; i < std::min(threads.size(), streams.size()); ++i) {
      Actor& actor = change(spec_.actors, add_kernel(threads[i], streams[i], 10));
      actor.blocking = random_.chance(80);
      if (random_.chance(70)) {
        actor.afters = {{awaited, 0}};
      } else {
        actor.behind = streams[0];
      }
    }
  }

  /// Adds a kernel at the end of a program.
  int add_kernel(int thread, int stream, int takes) {
    Actor actor;
    actor.kind = "kernel";
    actor.thread = thread;
    actor.stream = stream;
    actor.takes = takes;
    spec_.actors.push_back(actor);
    change(spec_.threads, thread).list.push_back(count_of(spec_.actors) - 1);
    return count_of(spec_.actors) - 1;
  }

  void add_behind() {
    const std::vector<int> waiting = waiting_actors();
    if (waiting.empty()) return;
    const int actor = random_.pick(waiting);
    std::vector<int> others;
    for (int s = 0; s < count_of(spec_.streams); ++s) {
      if (at(spec_.streams, s).rank == rank_of(actor) && s != at(spec_.actors, actor).stream) {
        others.push_back(s);
      }
    }
    if (!others.empty()) change(spec_.actors, actor).behind = random_.pick(others);
  }

  /// Removes one op of a step that has several ops and no edges, so that other steps can be ahead
  /// of it.
  void take_ops_away() {
    const std::vector<int> kernels = actors_that(
        spec_, [](const Actor& actor) { return actor.kind == "kernel" && actor.ops > 1; });
    for (int a : kernels) {
      const bool has_edges = !registers_of(spec_, a).empty() || !inputs_of(spec_, a).empty();
      if (has_edges || at(spec_.actors, a).outside.waits || random_.chance(40)) continue;
      std::vector<int>& list = change(spec_.threads, at(spec_.actors, a).thread).list;
      if (random_.chance(60)) {
        list.erase(std::find(list.begin(), list.end(), a));
      } else {
        list.erase(std::find(list.rbegin(), list.rend(), a).base() - 1);
      }
      --change(spec_.actors, a).ops;
    }
  }

  /// Moves one stream of a device to another device of its rank, of the same kind or without
  /// limits.
  void split_device() {
    if (spec_.devices.empty()) return;
    const int from = random_.below(count_of(spec_.devices));
    std::vector<int> streams;
    for (int s = 0; s < count_of(spec_.streams); ++s) {
      if (at(spec_.streams, s).device == from) streams.push_back(s);
    }
    if (streams.size() < 2) return;
    Device device = at(spec_.devices, from);
    if (random_.chance(30)) device = {device.rank, 0, 0, Order::kNone, false};
    const int moved = random_.pick(streams);
    change(spec_.streams, moved).device = count_of(spec_.devices);
    change(spec_.streams, moved).hardware_queue = 0;
    spec_.devices.push_back(device);
    int index = 0;
    for (int s : streams) {
      const int queues = at(spec_.devices, from).hardware_queues;
      if (s != moved && queues > 0) change(spec_.streams, s).hardware_queue = index++ % queues;
    }
  }

  /// Sets one tag step for all sends and recvs from one rank to another, and a different tag step
  /// for some calls.
  void add_tag_steps() {
    std::map<std::tuple<int, int, int>, std::int64_t> steps;
    for (int a = 0; a < count_of(spec_.actors); ++a) {
      const int own = rank_of(a);
      for (Call& call : change(spec_.actors, a).calls) {
        if (call.kind == CallKind::kCollective) continue;
        const bool sends = call.kind == CallKind::kSend;
        std::int64_t& step =
            steps[{call.communicator, sends ? own : call.peer, sends ? call.peer : own}];
        if (step == 0) step = some_step();
        call.tag_step = random_.chance(92) ? step : some_step();
      }
    }
  }

  std::int64_t some_step() { return random_.pick<std::int64_t>({1, 2, 3, 0x80000001, 0xffffffff}); }

  Spec& spec_;
  Random& random_;
  int backwards_percent_ = 0;
};

}  // namespace

void add_random_afters(Spec& spec, Random& random) { AfterGenerator(spec, random).add(); }

}  // namespace pipesim::twin
