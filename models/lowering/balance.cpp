#include "models/lowering/balance.hpp"

#include <limits>
#include <utility>

namespace pipesim::models {
namespace {

// The maximum number of ops of an actor, so that one more op is countable in 32 bits.
constexpr std::int64_t kMaxOps = std::numeric_limits<std::uint32_t>::max() - 1;

// The edges of each actor, in both directions, in CSR form.
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

class Balance {
 public:
  Balance(const std::vector<std::int64_t>& given, const std::vector<RatedEdge>& edges,
          std::vector<BalanceError>& errors)
      : edges_(edges), errors_(errors), ops_(given), blamed_(edges.size(), 0) {}

  std::vector<std::int64_t> run() {
    const Neighbours neighbours(ops_.size(), edges_);
    for (std::uint32_t actor = 0; actor < ops_.size(); ++actor) {
      if (ops_[actor] >= 0) queue_.push_back(actor);
    }
    // The queue grows inside the loop, which rules out a range-based loop.
    // NOLINTNEXTLINE(modernize-loop-convert)
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const std::uint32_t actor = queue_[at];
      for (std::size_t i = neighbours.begin[actor]; i < neighbours.begin[actor + 1]; ++i) {
        follow(neighbours.edges[i], actor);
      }
    }
    if (errors_.empty()) find_unknown();
    return std::move(ops_);
  }

 private:
  void follow(std::uint32_t index, std::uint32_t actor);
  void find_unknown();
  void blame(BalanceError::Kind kind, std::uint32_t index, std::uint32_t actor, std::int64_t found,
             std::int64_t wanted) {
    blamed_[index] = 1;
    errors_.push_back({kind, index, actor, found, wanted});
  }

  const std::vector<RatedEdge>& edges_;
  std::vector<BalanceError>& errors_;
  std::vector<std::int64_t> ops_;
  std::vector<std::uint8_t> blamed_;  // by edge: 1 if reported; both actors visit the edge
  std::vector<std::uint32_t> queue_;  // actors whose number of ops is known
};

// Derives the number of ops at the other end of an edge from the ops of `actor`.
void Balance::follow(std::uint32_t index, std::uint32_t actor) {
  if (blamed_[index] != 0) return;
  const RatedEdge& edge = edges_[index];
  const bool forward = edge.producer == actor;
  const std::uint32_t other = forward ? edge.consumer : edge.producer;
  const std::int64_t here = forward ? edge.ops_per_fill : edge.ops_per_take;
  const std::int64_t there = forward ? edge.ops_per_take : edge.ops_per_fill;
  if (ops_[actor] % here != 0) {
    blame(BalanceError::Kind::kUneven, index, actor, ops_[actor], here);
    return;
  }
  const std::int64_t groups = ops_[actor] / here;
  if (groups > kMaxOps / there) {
    blame(BalanceError::Kind::kTooMany, index, other, ops_[actor], kMaxOps);
    return;
  }
  if (ops_[other] < 0) {
    ops_[other] = groups * there;
    queue_.push_back(other);
  } else if (ops_[other] != groups * there) {
    blame(BalanceError::Kind::kContradiction, index, other, ops_[other], groups * there);
  }
}

void Balance::find_unknown() {
  for (std::uint32_t actor = 0; actor < ops_.size(); ++actor) {
    if (ops_[actor] < 0) errors_.push_back({BalanceError::Kind::kUnknown, 0, actor, 0, 0});
  }
}

}  // namespace

std::vector<std::int64_t> balance(const std::vector<std::int64_t>& given,
                                  const std::vector<RatedEdge>& edges,
                                  std::vector<BalanceError>& errors) {
  return Balance(given, edges, errors).run();
}

}  // namespace pipesim::models
