// Exchanges with the neighbors in a ring of ranks: each sends to the next of its list and receives
// from the one before it, as attention does with context parallel ranks (TransformerEngine,
// transformer_engine/pytorch: flash_attn_p2p_communicate; Megatron-LM's cp_comm_type p2p).
#pragma once

#include <cstdint>
#include <optional>

#include "models/graph/pipeline.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

struct Ring {
  std::uint32_t size = 1;
  Expr next;  // ranks
  Expr previous;
};

/// That of the lists of a group. Nothing where its ranks are not evenly spaced, all lists alike:
/// then no formula says which rank is next.
std::optional<Ring> ring_of(const Group& group);

/// How many exchanges an attention has, unless `collective` says it: while it computes its own
/// block, keys and values of the first other one come, and so on for each. In the backward their
/// gradients go all the way round. None in a ring of one rank.
std::uint32_t exchanges_of(const StageCollective& collective, const Ring& ring);

}  // namespace pipesim::models
