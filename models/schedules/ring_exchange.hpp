// Exchanges between neighbors in a ring of ranks. Each rank sends to the next rank of its list and
// receives from the previous rank, as attention does with context parallelism (TransformerEngine,
// transformer_engine/pytorch: flash_attn_p2p_communicate; Megatron-LM's cp_comm_type p2p).
#pragma once

#include <cstdint>
#include <optional>

#include "models/graph/pipeline.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

struct Ring {
  std::uint32_t size = 1;
  Expr next;  // rank of the next neighbor
  Expr previous;
};

/// Returns the ring that the lists of a group form. Returns nullopt unless the ranks of all lists
/// have the same even spacing: otherwise no formula gives the next rank.
std::optional<Ring> ring_of(const Group& group);

/// Returns the number of exchanges: 0 in a ring of one rank, else the number that `collective`
/// states, by default the number of an attention. Each exchange of an attention brings the keys and
/// values of another rank, while the rank computes with its current block. In the backward, the
/// gradients of keys and values travel once around the ring.
std::uint32_t exchanges_of(const StageCollective& collective, const Ring& ring);

}  // namespace pipesim::models
