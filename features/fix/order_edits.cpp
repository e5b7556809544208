#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/lowering/program_walk.hpp"

#include "features/fix/candidates.hpp"

namespace pipesim::models {
namespace {

using Communicators = std::vector<std::uint32_t>;

constexpr std::size_t kMaxOrders = 4;
constexpr std::size_t kMaxCommunicators = 16;
constexpr std::uint32_t kMaxRanks = 4'096;
constexpr std::size_t kMaxOrdered = 200;  // maximum number of steps in the sorted part of a program

// Returns the communicator of `step` if the step makes a single collective call; else kNoIndex.
std::uint32_t communicator_of(const ActorTemplate& step) {
  if (!step.step || step.step->implied || step.step->calls.size() != 1) return kNoIndex;
  const CallTemplate& call = step.step->calls.front();
  return call.kind == sim::CallKind::kCollective && step.place.line > 0 ? call.communicator
                                                                        : kNoIndex;
}

class OrderEdits {
 public:
  OrderEdits(const HangingJob& job, const CandidateSink::Try& try_candidate)
      : job_(job), sink_(try_candidate), awaited_(awaited_streams(job.graph)) {}

  void run();

 private:
  // The steps of one thread of `rank`, from the first call to sort to the last one.
  struct Program {
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> steps;  // indices in TaskGraph::actors
  };

  // The programs after sorting by one order of communicators.
  struct Sorted {
    std::vector<std::vector<Place>> lists;  // the calls of each program that changes, sorted
    std::vector<std::uint32_t> ranks;
    bool alters = false;
  };

  Communicators of_cycle() const;
  Communicators near(const Communicators& cycle) const;
  void add_orders(const Communicators& communicators);
  void add_order(const Communicators& order);
  void read_programs(const Communicators& communicators);
  Communicators order_of(const Program& program, const Communicators& communicators) const;
  void sort(const Program& program, const Communicators& order, Sorted& sorted) const;

  const HangingJob& job_;
  CandidateSink sink_;
  std::vector<std::set<std::uint32_t>> awaited_;
  std::vector<Program> programs_;
};

// Returns the communicators of the calls on the cycle.
Communicators OrderEdits::of_cycle() const {
  std::set<std::uint32_t> found;
  const auto add = [&](const OpInfo& op) {
    if (!op.actor.valid() || op.actor.value >= job_.lowered.actor_template.size()) return;
    const ActorTemplate& step = job_.graph.actors[job_.lowered.actor_template[op.actor]];
    const std::uint32_t communicator = communicator_of(step);
    if (communicator != kNoIndex) found.insert(communicator);
  };
  for (const Wait& wait : job_.explanation.cycle) {
    if (wait.from.kind == sim::WaitNodeKind::kOp) add(wait.from.op);
    if (wait.to.kind == sim::WaitNodeKind::kOp) add(wait.to.op);
    if (wait.needed) add(*wait.needed);
  }
  return {found.begin(), found.end()};
}

// Returns the communicators on the cycle and all communicators that the ranks of the cycle call.
Communicators OrderEdits::near(const Communicators& cycle) const {
  std::set<std::uint32_t> found(cycle.begin(), cycle.end());
  std::set<std::uint32_t> ranks;
  for (const Wait& wait : job_.explanation.cycle) ranks.insert(wait.from.rank);
  for (const ActorTemplate& step : job_.graph.actors) {
    const std::uint32_t communicator = communicator_of(step);
    const bool is_theirs = std::any_of(ranks.begin(), ranks.end(),
                                       [&](std::uint32_t rank) { return step.on.contains(rank); });
    if (communicator != kNoIndex && is_theirs) found.insert(communicator);
  }
  return {found.begin(), found.end()};
}

void OrderEdits::read_programs(const Communicators& communicators) {
  programs_.clear();
  for (std::uint32_t rank = 0; rank < job_.graph.ranks; ++rank) {
    for (const HostThread& thread : job_.graph.threads) {
      Program program{rank, {}};
      std::size_t first = 0;
      std::size_t last = 0;
      for (const WalkedStep& step : walk_program(thread, job_.graph, rank)) {
        const std::uint32_t communicator = communicator_of(job_.graph.actors[step.actor]);
        const bool meant =
            std::binary_search(communicators.begin(), communicators.end(), communicator);
        program.steps.push_back(step.actor);
        if (meant && last == 0) first = program.steps.size() - 1;
        if (meant) last = program.steps.size();
      }
      if (last - first < 2 || last - first > kMaxOrdered) continue;
      program.steps.resize(last);
      program.steps.erase(program.steps.begin(),
                          program.steps.begin() + static_cast<std::ptrdiff_t>(first));
      programs_.push_back(std::move(program));
    }
  }
}

// Returns the communicators in the order of the program's first calls on them, followed by
// communicators without calls.
Communicators OrderEdits::order_of(const Program& program,
                                   const Communicators& communicators) const {
  Communicators order;
  const auto add = [&](std::uint32_t communicator) {
    if (std::find(order.begin(), order.end(), communicator) == order.end()) {
      order.push_back(communicator);
    }
  };
  for (const std::uint32_t step : program.steps) {
    const std::uint32_t communicator = communicator_of(job_.graph.actors[step]);
    if (std::binary_search(communicators.begin(), communicators.end(), communicator)) {
      add(communicator);
    }
  }
  for (const std::uint32_t communicator : communicators) add(communicator);
  return order;
}

// Sorts the calls of `program` by their communicators' positions in `order`. A call that is out of
// order moves to an earlier position, never to a later one.
void OrderEdits::sort(const Program& program, const Communicators& order, Sorted& sorted) const {
  const auto place_of = [&](std::uint32_t step) {
    return static_cast<std::size_t>(
        std::find(order.begin(), order.end(), communicator_of(job_.graph.actors[step])) -
        order.begin());
  };
  std::vector<std::uint32_t> calls;
  for (const std::uint32_t step : program.steps) {
    const bool again = std::find(calls.begin(), calls.end(), step) != calls.end();
    if (!again && place_of(step) < order.size()) calls.push_back(step);
  }
  const std::vector<std::uint32_t> before = calls;
  std::stable_sort(calls.begin(), calls.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return place_of(a) < place_of(b); });
  if (calls == before) return;
  sorted.ranks.push_back(program.rank);
  std::vector<Place> places;
  for (const std::uint32_t step : calls) places.push_back(job_.graph.actors[step].place);
  if (std::find(sorted.lists.begin(), sorted.lists.end(), places) != sorted.lists.end()) return;
  sorted.lists.push_back(std::move(places));
  std::vector<std::uint32_t> steps = program.steps;
  for (std::size_t k = 0; k + 1 < calls.size(); ++k) {
    const auto later =
        std::find_first_of(steps.begin(), steps.end(),
                           calls.begin() + static_cast<std::ptrdiff_t>(k) + 1, calls.end());
    const auto moved = std::find(steps.begin(), steps.end(), calls[k]);
    if (moved < later) continue;
    sorted.alters = sorted.alters || std::any_of(later, moved, [&](std::uint32_t crossed) {
                      return may_need(job_.graph, awaited_, calls[k], crossed);
                    });
    std::rotate(later, moved, moved + 1);
  }
}

void OrderEdits::add_order(const Communicators& order) {
  Sorted sorted;
  for (const Program& program : programs_) sort(program, order, sorted);
  const RankSet on(std::move(sorted.ranks));
  // Swaps of two steps already cover the edit of a single rank.
  if (on.size() < 2) return;
  std::string names;
  for (const std::uint32_t communicator : order) {
    names += (names.empty() ? "" : ", ") + job_.graph.communicators[communicator].name;
  }
  sink_.add(
      {.kind = &edit_kinds::kOneOrder,
       .text = fmt::format("one order on all ranks, changed on {}: {}", ranks_text(on), names),
       .on = on,
       .alters = sorted.alters},
      [&] { return job_.edits.reorder(sorted.lists); });
}

void OrderEdits::add_orders(const Communicators& communicators) {
  read_programs(communicators);
  std::vector<Communicators> orders;
  for (const Program& program : programs_) {
    Communicators order = order_of(program, communicators);
    if (std::find(orders.begin(), orders.end(), order) != orders.end()) continue;
    orders.push_back(std::move(order));
    if (orders.size() == kMaxOrders) break;
  }
  for (const Communicators& order : orders) add_order(order);
}

void OrderEdits::run() {
  const Communicators cycle = of_cycle();
  if (cycle.size() < 2 || job_.graph.ranks > kMaxRanks) return;
  add_orders(cycle);
  const Communicators all = near(cycle);
  if (all != cycle && all.size() <= kMaxCommunicators) add_orders(all);
}

}  // namespace

void find_order_edits(const HangingJob& job, const CandidateSink::Try& try_candidate) {
  OrderEdits(job, try_candidate).run();
}

}  // namespace pipesim::models
