#include "features/fix/order_changes.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "models/lowering/program_walk.hpp"

namespace pipesim::models {
namespace {

using Communicators = std::vector<std::uint32_t>;

constexpr std::size_t kMaxOrders = 4;
constexpr std::size_t kMaxCommunicators = 16;
constexpr std::uint32_t kMaxRanks = 4'096;
constexpr std::size_t kMaxOrdered = 200;  // maximum number of steps in the sorted part of a program

// Returns the communicator of `step` if the step is a single collective call; else kNoIndex.
std::uint32_t communicator_of(const ActorTemplate& step) {
  if (!step.step || step.step->implied || step.step->calls.size() != 1) return kNoIndex;
  const CallTemplate& call = step.step->calls.front();
  return call.kind == sim::CallKind::kCollective && step.place.line > 0 ? call.communicator
                                                                        : kNoIndex;
}

class OrderChanges {
 public:
  OrderChanges(const TaskGraph& graph, const Lowered& lowered, const Explanation& explanation)
      : graph_(graph),
        lowered_(lowered),
        explanation_(explanation),
        awaited_(awaited_streams(graph)) {}

  std::vector<Candidate> run();

 private:
  // The steps of a thread of `rank`, from the first to the last call to sort.
  struct Program {
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> steps;  // indices in TaskGraph::actors
  };

  Communicators of_cycle() const;
  Communicators near(const Communicators& cycle) const;
  void add_orders(const Communicators& communicators, std::vector<Candidate>& result);
  void read_programs(const Communicators& communicators);
  Communicators order_of(const Program& program, const Communicators& communicators) const;
  Change change_to(const Communicators& order) const;
  void put_in_order(const Program& program, const Communicators& order,
                    std::set<std::vector<Place>>& known, std::vector<std::uint32_t>& ranks,
                    Change& change) const;

  const TaskGraph& graph_;
  const Lowered& lowered_;
  const Explanation& explanation_;
  std::vector<std::set<std::uint32_t>> awaited_;
  std::vector<Program> programs_;
};

// Returns the communicators of the calls on the cycle.
Communicators OrderChanges::of_cycle() const {
  std::set<std::uint32_t> found;
  const auto add = [&](const OpInfo& op) {
    if (!op.actor.valid() || op.actor.value >= lowered_.actor_template.size()) return;
    const ActorTemplate& step = graph_.actors[lowered_.actor_template[op.actor]];
    const std::uint32_t communicator = communicator_of(step);
    if (communicator != kNoIndex) found.insert(communicator);
  };
  for (const Wait& wait : explanation_.cycle) {
    if (wait.from.kind == sim::WaitNodeKind::kOp) add(wait.from.op);
    if (wait.to.kind == sim::WaitNodeKind::kOp) add(wait.to.op);
    if (wait.needed) add(*wait.needed);
  }
  return {found.begin(), found.end()};
}

// Returns the communicators on the cycle and all communicators that the ranks of the cycle call.
Communicators OrderChanges::near(const Communicators& cycle) const {
  std::set<std::uint32_t> found(cycle.begin(), cycle.end());
  std::set<std::uint32_t> ranks;
  for (const Wait& wait : explanation_.cycle) ranks.insert(wait.from.rank);
  for (const ActorTemplate& step : graph_.actors) {
    const std::uint32_t communicator = communicator_of(step);
    const bool is_theirs = std::any_of(ranks.begin(), ranks.end(),
                                       [&](std::uint32_t rank) { return step.on.contains(rank); });
    if (communicator != kNoIndex && is_theirs) found.insert(communicator);
  }
  return {found.begin(), found.end()};
}

void OrderChanges::read_programs(const Communicators& communicators) {
  programs_.clear();
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    for (const HostThread& thread : graph_.threads) {
      Program program{rank, {}};
      std::size_t first = 0;
      std::size_t last = 0;
      for (const WalkedStep& step : walk_program(thread, graph_, rank)) {
        const std::uint32_t communicator = communicator_of(graph_.actors[step.actor]);
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

// Returns the communicators in the order of the program's calls; communicators without calls come
// last.
Communicators OrderChanges::order_of(const Program& program,
                                     const Communicators& communicators) const {
  Communicators order;
  const auto add = [&](std::uint32_t communicator) {
    if (std::find(order.begin(), order.end(), communicator) == order.end()) {
      order.push_back(communicator);
    }
  };
  for (const std::uint32_t step : program.steps) {
    const std::uint32_t communicator = communicator_of(graph_.actors[step]);
    if (std::binary_search(communicators.begin(), communicators.end(), communicator)) {
      add(communicator);
    }
  }
  for (const std::uint32_t communicator : communicators) add(communicator);
  return order;
}

// Adds the calls of `program` to `change`, in the order of their communicators in `order`. A call
// that is out of order moves to an earlier position, never to a later one.
void OrderChanges::put_in_order(const Program& program, const Communicators& order,
                                std::set<std::vector<Place>>& known,
                                std::vector<std::uint32_t>& ranks, Change& change) const {
  const auto place_of = [&](std::uint32_t step) {
    return static_cast<std::size_t>(
        std::find(order.begin(), order.end(), communicator_of(graph_.actors[step])) -
        order.begin());
  };
  std::vector<std::uint32_t> sorted;
  for (const std::uint32_t step : program.steps) {
    const bool again = std::find(sorted.begin(), sorted.end(), step) != sorted.end();
    if (!again && place_of(step) < order.size()) sorted.push_back(step);
  }
  const std::vector<std::uint32_t> before = sorted;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return place_of(a) < place_of(b); });
  if (sorted == before) return;
  ranks.push_back(program.rank);
  std::vector<Place> places;
  for (const std::uint32_t step : sorted) places.push_back(graph_.actors[step].place);
  places.emplace_back();
  if (!known.insert(places).second) return;
  change.places.insert(change.places.end(), places.begin(), places.end());
  std::vector<std::uint32_t> steps = program.steps;
  for (std::size_t k = 0; k + 1 < sorted.size(); ++k) {
    const auto later =
        std::find_first_of(steps.begin(), steps.end(),
                           sorted.begin() + static_cast<std::ptrdiff_t>(k) + 1, sorted.end());
    const auto moved = std::find(steps.begin(), steps.end(), sorted[k]);
    if (moved < later) continue;
    change.alters = change.alters || std::any_of(later, moved, [&](std::uint32_t crossed) {
                      return may_need(graph_, awaited_, sorted[k], crossed);
                    });
    std::rotate(later, moved, moved + 1);
  }
}

Change OrderChanges::change_to(const Communicators& order) const {
  Change change;
  change.kind = Change::Kind::kOneOrder;
  std::set<std::vector<Place>> known;
  std::vector<std::uint32_t> ranks;
  for (const Program& program : programs_) put_in_order(program, order, known, ranks, change);
  for (const std::uint32_t communicator : order) {
    change.what += (change.what.empty() ? "" : ", ") + graph_.communicators[communicator].name;
  }
  change.on = RankSet(std::move(ranks));
  return change;
}

void OrderChanges::add_orders(const Communicators& communicators, std::vector<Candidate>& result) {
  read_programs(communicators);
  std::vector<Communicators> orders;
  for (const Program& program : programs_) {
    Communicators order = order_of(program, communicators);
    if (std::find(orders.begin(), orders.end(), order) != orders.end()) continue;
    orders.push_back(std::move(order));
    if (orders.size() == kMaxOrders) break;
  }
  for (const Communicators& order : orders) {
    Candidate candidate;
    candidate.change = change_to(order);
    // Swaps of two steps already cover the change of a single rank.
    if (candidate.change.on.size() > 1) result.push_back(std::move(candidate));
  }
}

std::vector<Candidate> OrderChanges::run() {
  std::vector<Candidate> result;
  const Communicators cycle = of_cycle();
  if (cycle.size() < 2 || graph_.ranks > kMaxRanks) return result;
  add_orders(cycle, result);
  const Communicators all = near(cycle);
  if (all != cycle && all.size() <= kMaxCommunicators) add_orders(all, result);
  return result;
}

}  // namespace

std::vector<Candidate> order_candidates(const TaskGraph& graph, const Lowered& lowered,
                                        const Explanation& explanation) {
  return OrderChanges(graph, lowered, explanation).run();
}

}  // namespace pipesim::models
