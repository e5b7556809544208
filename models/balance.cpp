#include "models/balance.hpp"

#include <limits>

namespace pipesim::models {
namespace {

// One act beyond an actor's work must still be countable in 32 bits.
constexpr std::int64_t kMostActs = std::numeric_limits<std::uint32_t>::max() - 1;

// The edges at each actor, of both directions, in CSR form.
struct Neighbours {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> edges;

  Neighbours(std::size_t actors, const std::vector<RatedEdge>& all) : begin(actors + 1, 0) {
    for (const RatedEdge& edge : all) {
      ++begin[edge.producer + 1];
      ++begin[edge.consumer + 1];
    }
    for (std::size_t i = 0; i < actors; ++i) begin[i + 1] += begin[i];
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    edges.resize(2 * all.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      edges[next[all[i].producer]++] = i;
      edges[next[all[i].consumer]++] = i;
    }
  }
};

}  // namespace

std::vector<std::int64_t> balance(const std::vector<std::int64_t>& given,
                                  const std::vector<RatedEdge>& edges,
                                  std::vector<BalanceError>& errors) {
  std::vector<std::int64_t> acts = given;
  const Neighbours neighbours(given.size(), edges);
  std::vector<std::uint8_t> blamed(edges.size(), 0);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t actor = 0; actor < given.size(); ++actor) {
    if (given[actor] >= 0) queue.push_back(actor);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::uint32_t actor = queue[at];
    for (std::size_t i = neighbours.begin[actor]; i < neighbours.begin[actor + 1]; ++i) {
      const std::uint32_t index = neighbours.edges[i];
      const RatedEdge& edge = edges[index];
      const bool forward = edge.producer == actor;
      const std::uint32_t other = forward ? edge.consumer : edge.producer;
      const std::int64_t here = forward ? edge.acts_per_fill : edge.acts_per_take;
      const std::int64_t there = forward ? edge.acts_per_take : edge.acts_per_fill;
      if (blamed[index] != 0) continue;
      BalanceError error;
      error.edge = index;
      error.actor = other;
      error.found = acts[actor];
      if (acts[actor] % here != 0) {
        blamed[index] = 1;
        error.kind = BalanceError::Kind::kUneven;
        error.actor = actor;
        error.wanted = here;
        errors.push_back(error);
        continue;
      }
      const std::int64_t groups = acts[actor] / here;
      if (groups > kMostActs / there) {
        blamed[index] = 1;
        error.kind = BalanceError::Kind::kTooMany;
        errors.push_back(error);
      } else if (acts[other] < 0) {
        acts[other] = groups * there;
        queue.push_back(other);
      } else if (acts[other] != groups * there) {
        blamed[index] = 1;
        error.kind = BalanceError::Kind::kContradiction;
        error.found = acts[other];
        error.wanted = groups * there;
        errors.push_back(error);
      }
    }
  }
  if (!errors.empty()) return acts;
  for (std::uint32_t actor = 0; actor < acts.size(); ++actor) {
    if (acts[actor] >= 0) continue;
    BalanceError error;
    error.actor = actor;
    errors.push_back(error);
  }
  return acts;
}

}  // namespace pipesim::models
