// Draws one kind of fault or timeout for a plan, or several kinds. Alone, each kind shows its own
// effect; together, they interact. Timeouts need a fault or a hanging plan, and many plans hang.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/twin/random_spec.hpp"

namespace pipesim::twin {
namespace {

class FaultGenerator {
 public:
  FaultGenerator(Spec& spec, Random& random) : spec_(spec), random_(random) {}

  void add() {
    for (int i = random_.pick<int>({1, 1, 2, 3, 6}); i > 0; --i) add_something();
    if (random_.chance(25)) spec_.poll = random_.pick<int>({2, 4, 5, 7, 10});
    if (random_.chance(30)) add_launcher();
  }

 private:
  void add_something() {
    switch (random_.below(12)) {
      case 0:
        return add_death();
      case 1:
        return add_op_of_death();
      case 2:
      case 3:
        return add_error();
      case 4:
        return add_fatal_call();
      case 5:
        return add_link_of_communicator();
      case 6:
        return add_link_of_init();
      case 7:
        return add_links_of_messages();
      case 8:
        return add_timeout();
      case 9:
        return add_init_timeout();
      case 10:
        return add_link_of_init();
      default:
        return add_step_timeouts();
    }
  }

  template <typename T>
  static T& change(std::vector<T>& items, int number) {
    return items.at(static_cast<std::size_t>(number));
  }

  int rank_of(int actor) const { return at(spec_.threads, at(spec_.actors, actor).thread).rank; }

  /// Returns a time at which ops often start or end, or a time one before or after it.
  std::int64_t some_time() {
    if (random_.chance(15)) return random_.pick<int>({60, 90, 150, 400});
    const int time = random_.pick<int>({0, 3, 5, 7, 10, 10, 13, 15, 17, 20, 20, 25, 30, 40});
    return random_.chance(60) ? time : std::max(0, time + random_.pick<int>({-1, 1}));
  }

  std::int64_t some_timeout() {
    if (random_.chance(15)) return random_.pick<int>({50, 100, 300});
    return random_.pick<int>({1, 2, 3, 5, 5, 9, 10, 10, 11, 15, 20, 21, 30});
  }

  // Deaths ----------------------------------------------------------------------------------------

  void add_death() {
    if (random_.chance(30)) add_death_of_lender();
    for (int i = random_.pick<int>({1, 1, 2, 3}); i > 0; --i) {
      spec_.deaths.push_back({random_.below(spec_.ranks), some_time()});
    }
  }

  /// Kills a rank that reuses the memory of another rank's output, if there is one.
  void add_death_of_lender() {
    for (int r = 0; r < count_of(spec_.registers); ++r) {
      const int edge = in_place_edge(spec_, r);
      if (edge < 0) continue;
      const int own = rank_of(at(spec_.registers, r).producer);
      const int owner = at(spec_.registers, at(spec_.edges, edge).reg).producer;
      if (rank_of(owner) != own) spec_.deaths.push_back({own, some_time()});
    }
  }

  void add_op_of_death() {
    const std::vector<int> actors = actors_that(spec_, [](const Actor&) { return true; });
    if (actors.empty()) return;
    for (int i = random_.pick<int>({1, 1, 2}); i > 0; --i) {
      Actor& actor = change(spec_.actors, random_.pick(actors));
      actor.dies_at = random_.below(actor.ops);
    }
  }

  /// Lets an op fail; in a collective, perhaps several members at the same op.
  void add_error() {
    const std::vector<int> ops =
        actors_that(spec_, [](const Actor& actor) { return actor.role == Role::kOp; });
    if (ops.empty()) return;
    const std::vector<int> kernels =
        actors_that(spec_, [](const Actor& actor) { return actor.kind == "kernel"; });
    const int first = random_.pick(kernels.empty() || random_.chance(20) ? ops : kernels);
    Actor& actor = change(spec_.actors, first);
    actor.fails_at = random_.below(actor.ops);
    if (actor.collective < 0 || random_.chance(50)) return;
    for (const Member& member : at(spec_.collectives, actor.collective).members) {
      if (member.actor < 0 || random_.chance(30)) continue;
      Actor& other = change(spec_.actors, member.actor);
      if (other.ops > actor.fails_at) other.fails_at = actor.fails_at;
    }
  }

  void add_fatal_call() {
    const std::vector<int> actors =
        actors_that(spec_, [](const Actor& actor) { return !actor.calls.empty(); });
    if (actors.empty()) return add_death();
    for (int i = random_.pick<int>({1, 1, 2, 4}); i > 0; --i) {
      Actor& actor = change(spec_.actors, random_.pick(actors));
      change(actor.calls, random_.below(count_of(actor.calls))).fatal = true;
    }
  }

  // Links -----------------------------------------------------------------------------------------

  int add_link(int a, int b) {
    if (random_.chance(50)) std::swap(a, b);
    spec_.links.push_back({a, b, some_time(), random_.chance(60) ? some_timeout() : 0});
    return count_of(spec_.links) - 1;
  }

  /// Adds a link between two of `ranks`, or between any two ranks.
  int add_link_among(std::vector<int> ranks) {
    if (ranks.size() < 2 || random_.chance(10)) {
      ranks.clear();
      for (int rank = 0; rank < spec_.ranks; ++rank) ranks.push_back(rank);
    }
    random_.shuffle(ranks);
    return add_link(at(ranks, 0), at(ranks, 1));
  }

  void add_link_of_communicator() {
    if (spec_.ranks < 2 || spec_.communicators.empty()) return add_death();
    const int c = random_.below(count_of(spec_.communicators));
    Communicator& communicator = change(spec_.communicators, c);
    communicator.link = add_link_among(communicator.ranks);
  }

  void add_link_of_init() {
    std::vector<int> created;
    for (int c = 0; c < count_of(spec_.communicators); ++c) {
      if (at(spec_.communicators, c).at_first_use) created.push_back(c);
    }
    if (spec_.ranks < 2 || created.empty()) return add_link_of_communicator();
    Communicator& communicator = change(spec_.communicators, random_.pick(created));
    communicator.links.clear();
    const int first = random_.below(count_of(communicator.ranks));
    for (int i = 0; i < count_of(communicator.ranks); ++i) {
      const bool has_link = i == first || random_.chance(40);
      communicator.links.push_back(has_link ? add_link_among(communicator.ranks) : -1);
    }
  }

  /// Adds one link for all sends and recvs between two ranks, or for about half of them.
  void add_links_of_messages() {
    const std::vector<int> actors = actors_that(spec_, [](const Actor& actor) {
      return std::any_of(actor.calls.begin(), actor.calls.end(),
                         [](const Call& call) { return call.kind != CallKind::kCollective; });
    });
    if (spec_.ranks < 2 || actors.empty()) return add_link_of_communicator();
    const int first = random_.pick(actors);
    const int own = rank_of(first);
    int other = own;
    for (const Call& call : at(spec_.actors, first).calls) {
      if (call.kind != CallKind::kCollective) other = call.peer;
    }
    const int link = own == other ? add_link_among({}) : add_link(own, other);
    const int percent = random_.pick<int>({50, 100});
    for (int a : actors) {
      for (Call& call : change(spec_.actors, a).calls) {
        const bool is_message = call.kind != CallKind::kCollective;
        const bool is_there =
            (rank_of(a) == own && call.peer == other) || (rank_of(a) == other && call.peer == own);
        if (is_message && is_there && random_.chance(percent)) call.link = link;
      }
    }
  }

  // Timeouts --------------------------------------------------------------------------------------

  void add_timeout() {
    for (Communicator& communicator : spec_.communicators) {
      if (random_.chance(70)) communicator.timeout = some_timeout();
    }
  }

  void add_init_timeout() {
    for (Communicator& communicator : spec_.communicators) {
      if (random_.chance(70)) communicator.init_timeout = some_timeout();
    }
  }

  void add_step_timeouts() {
    const int percent = random_.pick<int>({20, 60, 100});
    for (Actor& actor : spec_.actors) {
      if (on_host(actor.role) && random_.chance(percent)) actor.timeout = some_timeout();
    }
  }

  void add_launcher() {
    spec_.launcher = random_.pick<int>({1, 3, 5, 10, 10, 20});
    const int hosts = random_.pick<int>({1, 2, 2, 3});
    spec_.host_of_rank.clear();
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      spec_.host_of_rank.push_back(random_.below(hosts));
    }
  }

  Spec& spec_;
  Random& random_;
};

}  // namespace

void add_random_faults(Spec& spec, Random& random) { FaultGenerator(spec, random).add(); }

}  // namespace pipesim::twin
