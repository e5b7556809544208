#include "models/graph/operation.hpp"

#include <utility>

#include "tests/support/catch.hpp"

using namespace pipesim::models;

TEST_CASE("operations have names", "[models][operation]") {
  for (const std::string& name : collective_names()) {
    const auto operation = find_operation(name);
    REQUIRE(operation);
    CHECK(is_collective(*operation));
    CHECK(operation_name(*operation) == name);
  }
  CHECK(collective_names().size() == 9);
  CHECK(find_operation("recv") == Operation::kReceive);
  CHECK_FALSE(is_collective(Operation::kReceive));
  CHECK_FALSE(find_operation("ALLREDUCE").has_value());
}

TEST_CASE("a collective has a root or synchronizes all ranks", "[models][operation]") {
  CHECK(has_root(Operation::kGather));
  CHECK_FALSE(synchronizes_all(Operation::kGather));
  CHECK(synchronizes_all(Operation::kBarrier));
  CHECK_FALSE(synchronizes_all(Operation::kSend));
}

TEST_CASE("names of PyTorch, its logs and OneFlow say the operation", "[models][operation]") {
  using Case = std::pair<const char*, Operation>;
  const auto [name, operation] = GENERATE(
      Case{"_all_gather_base", Operation::kAllGather},
      Case{"all_gather_into_tensor_coalesced", Operation::kAllGather},
      Case{"ALLGATHER_coalesced", Operation::kAllGather},
      Case{"allgather_coalesced", Operation::kAllGather},  // not a gather
      Case{"allreduce_coalesced", Operation::kAllReduce},
      Case{"all_reduce_barrier", Operation::kAllReduce}, Case{"barrier", Operation::kBarrier},
      Case{"alltoall_base", Operation::kAllToAll},  // not an all_reduce
      Case{"_broadcast_oop", Operation::kBroadcast}, Case{"_reduce_oop", Operation::kReduce},
      Case{"_REDUCE_SCATTER_BASE", Operation::kReduceScatter},
      Case{"reduce_scatter_tensor_coalesced", Operation::kReduceScatter},
      Case{"_nccl_logical_2D_same_dim0_all2all", Operation::kAllToAll},
      Case{"kOpTypeReduceScatter", Operation::kReduceScatter}, Case{"send", Operation::kSend});
  CAPTURE(name);
  CHECK(operation_in(name) == operation);
}

TEST_CASE("a mark for coalesced ops says no operation", "[models][operation]") {
  CHECK_FALSE(operation_in("coalesced").has_value());
  CHECK_FALSE(operation_in("").has_value());
}
