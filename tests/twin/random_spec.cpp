// Adds actors one after the other. Each draws a kind and, if it needs data, an existing register.
// In the whole run, a register fills (its producer's ops / Np) slots. This number limits the ops of
// the new actor, so rates balance by construction. Rings come last: an edge from a later actor to
// an earlier one, if the rates allow it.
#include "tests/twin/random_spec.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/twin/random.hpp"

namespace pipesim::twin {
namespace {

constexpr int kMaxActors = 20;
constexpr int kMaxOps = 12;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Spec make() {
    draw_temper();
    add_hosts();
    if (random_.chance(10)) add_lent_slots();
    if (random_.chance(6)) add_waiting_inits();
    const int target = random_.chance(50) ? random_.between(2, 9) : random_.between(8, kMaxActors);
    while (count_of(spec_.actors) < target) add_something(target);
    for (int i = random_.below(3); i > 0; --i) add_extra_edge();
    if (random_.chance(7)) add_ring();
    for (int t = 0; t < count_of(spec_.threads); ++t) make_program(t);
    return std::move(spec_);
  }

  /// Makes a plan of host programs, alone or with a few actors.
  Spec make_with_programs() {
    if (random_.chance(30)) {
      draw_temper();
      add_hosts();
      const int target = random_.between(2, 6);
      while (count_of(spec_.actors) < target) add_something(target);
      for (int t = 0; t < count_of(spec_.threads); ++t) make_program(t);
    }
    add_random_programs(spec_, random_);
    return std::move(spec_);
  }

 private:
  // Hosts -----------------------------------------------------------------------------------------

  /// Draws the plan's preferences, so that rare features occur both alone and in crowds.
  void draw_temper() {
    base_ops_ = random_.between(1, 4);
    rate_ = random_.between(2, 3);
    instant_percent_ = random_.pick<int>({0, 0, 0, 60});
    gated_percent_ = random_.pick<int>({0, 20, 80});
    blocking_percent_ = random_.pick<int>({0, 0, 10, 30});
    overhead_percent_ = random_.pick<int>({0, 20, 70});
    collective_percent_ = random_.pick<int>({0, 10, 20, 50});
    shared_communicator_percent_ = random_.pick<int>({20, 50, 80});
    first_use_percent_ = random_.pick<int>({40, 60, 80});
    waits_for_device_percent_ = random_.pick<int>({20, 50, 100});
    late_member_percent_ = random_.pick<int>({3, 3, 30});
    absent_percent_ = random_.pick<int>({2, 2, 20});
    absent_at_init_percent_ = random_.pick<int>({2, 2, 10});
    few_streams_ = random_.chance(25);
    program_percent_ = random_.pick<int>({0, 30, 100});
    if (random_.chance(20)) favourite_ = random_.pick(kinds());
  }

  void add_hosts() {
    spec_.ranks = random_.between(1, 4);
    const bool short_queues = random_.chance(40);
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      const int threads = few_streams_ ? random_.between(2, 3) : random_.between(1, 3);
      const int own = random_.chance(70) ? threads : random_.between(1, 3);
      const int streams = few_streams_ ? 1 : own;
      for (int i = 0; i < threads; ++i) {
        spec_.threads.push_back({rank, random_.chance(program_percent_), {}});
      }
      for (int i = 0; i < streams; ++i) {
        const int limit = short_queues && random_.chance(60) ? random_.between(1, 3) : 1024;
        spec_.streams.push_back({rank, limit});
      }
    }
  }

  template <typename T>
  static std::vector<int> of_rank(const std::vector<T>& items, int rank) {
    std::vector<int> found;
    for (int i = 0; i < count_of(items); ++i) {
      if (at(items, i).rank == rank) found.push_back(i);
    }
    return found;
  }

  int rank_of(int actor) const { return at(spec_.threads, at(spec_.actors, actor).thread).rank; }

  // Actors ----------------------------------------------------------------------------------------

  /// Returns one of a few times, so that many events coincide.
  std::int64_t some_time() {
    if (random_.chance(instant_percent_)) return 0;
    return random_.chance(60) ? 10 : random_.pick<std::int64_t>({0, 0, 5, 20, 30, 7});
  }

  int add_actor(const std::string& kind, int rank, int ops) {
    const std::vector<int> threads = of_rank(spec_.threads, rank);
    const std::vector<int> streams = of_rank(spec_.streams, rank);
    const int place = random_.below(count_of(threads));
    const bool own = place < count_of(streams) && random_.chance(80);
    Actor actor;
    actor.kind = kind;
    actor.thread = at(threads, place);
    actor.stream = own ? at(streams, place) : random_.pick(streams);
    actor.takes = some_time();
    if (random_.chance(overhead_percent_)) actor.launch_overhead = random_.pick<int>({3, 5, 10});
    actor.ops = ops;
    actor.immediate = !random_.chance(gated_percent_);
    actor.blocking = random_.chance(blocking_percent_);
    spec_.actors.push_back(actor);
    return count_of(spec_.actors) - 1;
  }

  int some_ops() { return base_ops_ * (random_.chance(35) ? rate_ : 1); }

  /// Returns the number of slots of a register that are filled in the whole run.
  int slots_filled(int reg) const {
    const Register& output = at(spec_.registers, reg);
    return at(spec_.actors, output.producer).ops / output.ops_per_slot;
  }

  bool fits(int reg, int ops) const { return ops > 0 && ops % slots_filled(reg) == 0; }

  int add_register(int producer, int slots, int ops_per_slot, bool control = false) {
    Register output;
    output.producer = producer;
    output.slots = slots;
    output.ops_per_slot = ops_per_slot;
    output.control = control;
    if (random_.chance(5)) output.drain_every = ops_per_slot * random_.between(1, 3);
    spec_.registers.push_back(output);
    return count_of(spec_.registers) - 1;
  }

  void consume(int reg, int consumer) {
    const int ops = at(spec_.actors, consumer).ops;
    spec_.edges.push_back({reg, consumer, ops / slots_filled(reg)});
  }

  void add_outputs(int actor) {
    const int count = random_.chance(80) ? 1 : random_.pick<int>({0, 2});
    for (int i = 0; i < count; ++i) add_register(actor, random_.pick<int>({1, 1, 2, 3}), 1);
  }

  /// Returns a data register that a new actor can read, mostly on rank `rank` (-1: any rank).
  std::optional<int> some_data(int rank) {
    std::vector<int> near;
    std::vector<int> all;
    for (int r = 0; r < count_of(spec_.registers); ++r) {
      if (at(spec_.registers, r).control) continue;
      all.push_back(r);
      if (rank_of(at(spec_.registers, r).producer) == rank) near.push_back(r);
    }
    if (all.empty()) return std::nullopt;
    return !near.empty() && random_.chance(85) ? random_.pick(near) : random_.pick(all);
  }

  /// Adds a control input from another actor, if there is one.
  void add_control_input(int consumer) {
    const int ops = at(spec_.actors, consumer).ops;
    const int producer = random_.below(count_of(spec_.actors));
    if (producer >= consumer || ops == 0 || at(spec_.actors, producer).ops == 0) return;
    std::vector<int> groups;
    for (int slots = 1; slots <= ops; ++slots) {
      const int produced = at(spec_.actors, producer).ops;
      if (ops % slots == 0 && produced % slots == 0) groups.push_back(produced / slots);
    }
    const int group = random_.chance(70) ? groups.back() : random_.pick(groups);
    consume(add_register(producer, random_.between(1, 2), group, true), consumer);
  }

  void add_source(const std::string& kind) {
    const int ops = some_ops();
    const int rank = random_.below(spec_.ranks);
    const int actor = add_actor(kind, rank, ops);
    add_outputs(actor);
    if (kind == "zeros" && actor > 0) add_control_input(actor);
    if (kind == "outside") add_outside(actor);
  }

  void add_outside(int actor) {
    Actor& source = spec_.actors[static_cast<std::size_t>(actor)];
    source.outside.waits = true;
    source.outside.items = random_.chance(75) ? source.ops : random_.between(0, source.ops);
    source.outside.first = random_.pick<int>({0, 0, 10, 45});
    source.outside.every = random_.pick<int>({0, 10, 25});
    if (random_.chance(20)) {
      const int other = add_actor("plain", rank_of(actor), at(spec_.actors, actor).ops);
      spec_.actors.back().thread = at(spec_.actors, actor).thread;
      if (random_.chance(50)) consume(add_register(actor, 2, 1), other);
      add_outputs(other);
    }
  }

  void add_reader(const std::string& kind) {
    const std::optional<int> input = some_data(random_.below(spec_.ranks));
    if (!input) return add_source("source");
    const int filled = slots_filled(*input);
    const int from = rank_of(at(spec_.registers, *input).producer);
    const bool more = kind == "repeat" || kind == "unpack";
    if (more && filled * rate_ > kMaxOps) return;
    const bool moves = kind == "copy" || random_.chance(kind == "in place" ? 15 : 7);
    const int rank = moves && spec_.ranks > 1
                         ? (from + random_.between(1, spec_.ranks - 1)) % spec_.ranks
                         : from;
    if (kind == "copy" && rank == from) return;
    const int actor = add_actor(kind, rank, more ? filled * rate_ : filled);
    consume(*input, actor);
    add_reader_outputs(kind, actor, *input);
    if (random_.chance(20)) add_second_input(actor);
    if (random_.chance(12)) add_control_input(actor);
    if (random_.chance(2)) add_outside(actor);
  }

  void add_reader_outputs(const std::string& kind, int actor, int input) {
    const int filled = slots_filled(input);
    if (kind == "repeat") {
      const int reg =
          add_register(actor, random_.chance(70) ? rate_ : random_.between(1, rate_), 1);
      spec_.registers.back().drain_every = rate_;
      if (random_.chance(30)) add_register(actor, 1, rate_, true);
      if (random_.chance(50)) add_plain_reader(reg);
    } else if (kind == "accumulate" && filled % rate_ == 0) {
      add_register(actor, random_.between(1, 2), rate_);
    } else if (kind == "buffer") {
      add_register(actor, random_.between(2, 6), 1);
    } else if (kind == "in place") {
      if (random_.chance(40)) ++spec_.registers[static_cast<std::size_t>(input)].slots;
      const int reg = add_register(actor, random_.between(1, 3), 1);
      spec_.registers.back().in_place = 0;
      if (random_.chance(75)) add_plain_reader(reg);
      if (random_.chance(20)) add_outputs(actor);
    } else {
      add_outputs(actor);
    }
  }

  /// Adds an actor that reads the register, unless the plan has enough actors.
  void add_plain_reader(int reg) {
    if (count_of(spec_.actors) >= kMaxActors) return;
    const int producer = at(spec_.registers, reg).producer;
    const int actor = add_actor("plain", rank_of(producer), slots_filled(reg));
    if (random_.chance(40)) spec_.actors.back().stream = at(spec_.actors, producer).stream;
    consume(reg, actor);
    if (random_.chance(25)) add_second_input(actor);
    add_outputs(actor);
  }

  /// Adds a second input to an actor. Perhaps the actor's output reuses this input instead of the
  /// first.
  void add_second_input(int actor) {
    const std::optional<int> reg = some_data(rank_of(actor));
    const int ops = at(spec_.actors, actor).ops;
    if (!reg || at(spec_.registers, *reg).producer >= actor || !fits(*reg, ops)) return;
    consume(*reg, actor);
    if (spec_.edges.back().ops_per_slot != 1 || !random_.chance(30)) return;
    const int last_input = count_of(inputs_of(spec_, actor)) - 1;
    const int output = add_register(actor, random_.between(1, 2), 1);
    spec_.registers.back().in_place = last_input;
    add_plain_reader(output);
  }

  // Collectives -----------------------------------------------------------------------------------

  std::vector<int> some_ranks(int count) {
    std::vector<int> ranks;
    for (int rank = 0; rank < spec_.ranks; ++rank) ranks.push_back(rank);
    random_.shuffle(ranks);
    ranks.resize(static_cast<std::size_t>(count));
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  int some_communicator() {
    if (!spec_.communicators.empty() && random_.chance(shared_communicator_percent_)) {
      return random_.below(count_of(spec_.communicators));
    }
    const std::vector<int> ranks = some_ranks(random_.between(2, spec_.ranks));
    const bool at_first_use = random_.chance(first_use_percent_);
    const bool waits_for_device = at_first_use && random_.chance(waits_for_device_percent_);
    spec_.communicators.push_back({ranks, at_first_use, waits_for_device});
    return count_of(spec_.communicators) - 1;
  }

  void add_collective() {
    if (spec_.ranks < 2) return;
    const int communicator = some_communicator();
    std::vector<int> ranks = at(spec_.communicators, communicator).ranks;
    if (count_of(spec_.actors) + count_of(ranks) > kMaxActors) return;
    random_.shuffle(ranks);
    const int number = count_of(spec_.collectives);
    const int ops = some_ops();
    const bool exists = !at(spec_.communicators, communicator).at_first_use;
    const int absent_percent = exists ? absent_percent_ : absent_at_init_percent_;
    Collective collective{communicator, {}};
    for (int rank : ranks) {
      const bool absent = random_.chance(absent_percent) && rank != ranks.front();
      const int member = absent ? -1 : add_member(number, rank, ops);
      collective.members.push_back({rank, member});
    }
    random_.shuffle(collective.members);
    spec_.collectives.push_back(collective);
  }

  int add_member(int collective, int rank, int ops) {
    const bool fewer = ops > 1 && random_.chance(3);
    const int actor = add_actor("collective", rank, fewer ? random_.between(0, ops - 1) : ops);
    spec_.actors.back().collective = collective;
    if (fewer && at(spec_.actors, actor).ops == 0) return actor;
    const std::optional<int> input = some_data(rank);
    if (input && fits(*input, at(spec_.actors, actor).ops) && random_.chance(75)) {
      consume(*input, actor);
    }
    if (random_.chance(8)) add_control_input(actor);
    add_outputs(actor);
    if (random_.chance(late_member_percent_)) add_outside(actor);
    return actor;
  }

  // Combinations of rare features -----------------------------------------------------------------

  /// Adds ops with a missing peer. At the head of a stream, such an op stops the stream.
  void stop_streams() {
    if (spec_.ranks < 2) return;
    const std::vector<int> ranks = some_ranks(2);
    for (int i = random_.between(1, 3); i > 0; --i) {
      const int who = random_.below(2);
      add_stop(at(ranks, who), at(ranks, 1 - who));
    }
  }

  /// Adds ops with a missing peer, which stop their stream; mostly with a control input from
  /// another actor.
  void add_stop(int rank, int other_rank) {
    const bool first = spec_.actors.empty();
    const int ops = first ? 1 : std::max(1, random_.pick(spec_.actors).ops);
    const int actor = add_actor("collective", rank, ops);
    spec_.actors.back().collective = count_of(spec_.collectives);
    if (random_.chance(85)) add_control_input(actor);
    const int communicator = count_of(spec_.communicators);
    spec_.communicators.push_back(
        {{std::min(rank, other_rank), std::max(rank, other_rank)}, false, false});
    spec_.collectives.push_back({communicator, {{rank, actor}, {other_rank, -1}}});
  }

  /// Adds two communicators whose initialization waits for devices, some of which have stopped.
  /// Perhaps one rank never arrives at the first initialization, and another arrives twice.
  void add_waiting_inits() {
    if (spec_.ranks < 2) return;
    stop_streams();
    stop_streams();
    for (int i = 0; i < 2; ++i) {
      const int communicator = count_of(spec_.communicators);
      const std::vector<int> ranks = some_ranks(2);
      spec_.communicators.push_back({ranks, true, true});
      const bool never = i == 0 && random_.chance(30);
      add_users(communicator, {ranks.front(), never ? -1 : ranks.back()});
      if (never) {
        add_users(communicator, {ranks.front()});
        add_outside(count_of(spec_.actors) - 1);
      }
    }
  }

  /// Adds a collective of one op, with a member on each given rank; a rank of -1 has no member.
  void add_users(int communicator, const std::vector<int>& ranks) {
    const int number = count_of(spec_.collectives);
    spec_.collectives.push_back({communicator, {}});
    for (int rank : ranks) {
      if (rank < 0) continue;
      const int actor = add_actor("collective", rank, 1);
      spec_.actors.back().collective = number;
      if (random_.chance(30)) add_control_input(actor);
      spec_.collectives.back().members.push_back({rank, actor});
    }
  }

  /// Adds slots that their consumer lends to a third actor. The thread to which the slots return,
  /// and the stream through which they return, can stop.
  void add_lent_slots() {
    const int rank = random_.below(spec_.ranks);
    const int ops = random_.between(2, kMaxOps);
    const std::vector<int> threads = of_rank(spec_.threads, rank);
    const int owner = add_actor("source", rank, ops);
    spec_.actors.back().thread = threads.front();
    const int slots = add_register(owner, random_.between(2, 3), 1);
    if (random_.chance(60)) {
      const int outside = add_actor("outside", rank, 1);
      spec_.actors.back().thread = threads.front();
      add_outside(outside);
    }
    const int lender = add_actor("in place", rank, ops);
    spec_.actors.back().thread = threads.back();
    consume(slots, lender);
    const int lent = add_register(lender, random_.pick<int>({1, 1, 2, 3}), 1);
    spec_.registers.back().in_place = 0;
    const int reader = add_actor("plain", rank, ops);
    if (random_.chance(60)) spec_.actors.back().thread = threads.back();
    if (random_.chance(60)) spec_.actors.back().stream = at(spec_.actors, lender).stream;
    consume(lent, reader);
    const bool calm = random_.chance(50);
    if (calm) set_calm({lender, reader});
    if (!calm && random_.chance(40)) spec_.actors.back().blocking = true;
    if (spec_.ranks < 2 || random_.chance(30)) return;
    add_stop(rank, (rank + 1) % spec_.ranks);
    spec_.actors.back().stream = at(spec_.actors, lender).stream;
  }

  /// Sets launch overheads of 0 for these actors, and messages that leave at launch if possible.
  void set_calm(const std::vector<int>& actors) {
    for (int a : actors) {
      Actor& actor = spec_.actors[static_cast<std::size_t>(a)];
      actor.launch_overhead = 0;
      actor.immediate = true;
      actor.blocking = false;
    }
  }

  // The whole -------------------------------------------------------------------------------------

  static const std::vector<std::string>& kinds() {
    static const std::vector<std::string> kKinds = {
        "plain",      "plain",  "plain", "plain",  "source", "outside",  "repeat",
        "accumulate", "unpack", "zeros", "buffer", "copy",   "in place", "in place"};
    return kKinds;
  }

  void add_something(int target) {
    std::string kind = random_.pick(kinds());
    if (!favourite_.empty() && random_.chance(50)) kind = favourite_;
    if (spec_.actors.empty()) kind = "source";
    if (random_.chance(collective_percent_) && count_of(spec_.actors) + 2 <= target) {
      add_collective();
    } else if (kind == "source" || kind == "outside" || kind == "zeros") {
      add_source(kind);
    } else {
      add_reader(kind);
    }
  }

  /// Adds a consumer of a register, or a control edge; never to an earlier actor.
  void add_extra_edge() {
    const int consumer = random_.below(count_of(spec_.actors));
    if (random_.chance(40)) return add_control_input(consumer);
    add_any_edge(consumer, [&](int producer) { return producer < consumer; });
  }

  /// Adds an edge that can close a ring, sometimes from an actor to itself.
  void add_ring() {
    const int consumer = random_.below(count_of(spec_.actors));
    const bool itself = random_.chance(10);
    add_any_edge(consumer, [&](int producer) {
      return producer > consumer || (itself && producer == consumer);
    });
  }

  template <typename Accepts>
  void add_any_edge(int consumer, Accepts accepts) {
    std::vector<int> fitting;
    for (int r = 0; r < count_of(spec_.registers); ++r) {
      if (accepts(at(spec_.registers, r).producer) && fits(r, at(spec_.actors, consumer).ops)) {
        fitting.push_back(r);
      }
    }
    if (!fitting.empty()) consume(random_.pick(fitting), consumer);
  }

  /// Makes a program that has each op once. The ops are sorted by progress (like a pipeline), by
  /// actor (one after the other), or at random.
  void make_program(int t) {
    Thread& thread = spec_.threads[static_cast<std::size_t>(t)];
    if (!thread.program) return;
    const int manner = random_.below(100);
    std::vector<std::pair<int, int>> ops;  // (place, actor)
    for (int a = 0; a < count_of(spec_.actors); ++a) {
      const Actor& actor = at(spec_.actors, a);
      for (int k = 0; k < actor.ops && actor.thread == t; ++k) {
        const int progress = (k + 1) * 1000 / actor.ops;
        ops.emplace_back(manner < 65 ? progress : manner < 80 ? a : random_.below(1000), a);
      }
    }
    std::stable_sort(ops.begin(), ops.end());
    for (const auto& [place, actor] : ops) thread.list.push_back(actor);
  }

  Random random_;
  Spec spec_;
  int base_ops_ = 1;
  int rate_ = 2;
  int instant_percent_ = 0;
  int gated_percent_ = 0;
  int blocking_percent_ = 0;
  int overhead_percent_ = 0;
  int collective_percent_ = 0;
  int shared_communicator_percent_ = 0;
  int first_use_percent_ = 0;
  int waits_for_device_percent_ = 0;
  int late_member_percent_ = 0;
  int absent_percent_ = 0;
  int absent_at_init_percent_ = 0;
  bool few_streams_ = false;
  std::string favourite_;  // kind of every second actor; or empty
  int program_percent_ = 0;
};

}  // namespace

Spec random_spec(std::uint64_t seed) {
  Generator generator(seed);
  Spec spec = seed % 2 == 0 ? generator.make_with_programs() : generator.make();
  Random afters(seed ^ 0xaf7e5);
  if (afters.chance(40)) add_random_afters(spec, afters);
  Random random(~seed);
  if (random.chance(33)) add_random_faults(spec, random);
  return spec;
}

}  // namespace pipesim::twin
