// Signatures and boxing compared with the rules in OneFlow's source, worked out by hand.
#include "models/layers/boxing.hpp"

#include <string>

#include "models/graph/sbp.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;
using models::BoxingEdge;
using models::Hierarchy;
using models::NdSbp;
using models::Sbp;

namespace {

constexpr Sbp kB = Sbp::broadcast();
constexpr Sbp kP = Sbp::partial_sum();
constexpr Sbp kS0 = Sbp::split(0);
constexpr Sbp kS1 = Sbp::split(1);
constexpr Hierarchy kGrid = {2, 2};

// Returns the NCCL op as its operation, its form and the dimensions of its groups; or "none".
std::string nccl(const NdSbp& from, const NdSbp& to, Hierarchy hierarchy = kGrid) {
  const auto found = models::logical_collective(from, to, hierarchy);
  if (!found) return "none";
  const std::string over = found->over == models::Dimensions::kBoth     ? "both"
                           : found->over == models::Dimensions::kTensor ? "tensor"
                                                                        : "data";
  return models::operation_name(found->operation) + " " + found->form + " " + over;
}

// Returns the builders with their dispatcher, in order; or the reason why there is no boxing.
std::string route(const NdSbp& from, const NdSbp& to, bool collective_boxing = false,
                  std::int64_t ops = 4, Hierarchy hierarchy = kGrid) {
  BoxingEdge edge;
  edge.from = from;
  edge.to = to;
  edge.ops = ops;
  const models::BoxingRoute found = models::boxing_route(edge, hierarchy, collective_boxing);
  std::string text;
  for (const models::BoxingStep& step : found.steps) {
    text += step.dispatcher + " " + std::string(models::builder_name(step.builder)) + " " +
            models::sbp_text(step.change.from) + "2" + models::sbp_text(step.change.to) + "; ";
  }
  return text.empty() ? found.why : text;
}

}  // namespace

TEST_CASE("signatures are read and written", "[models][boxing]") {
  CHECK(models::find_sbp("B") == kB);
  CHECK(models::find_sbp("P") == kP);
  CHECK(models::find_sbp("S(1)") == kS1);
  for (const char* wrong : {"", "S", "S()", "S(x)", "S(-1)", "S(1", "b", "S(1)x"}) {
    CHECK_FALSE(models::find_sbp(wrong));
  }
  CHECK(models::nd_sbp_text({kS0, kB}) == "(S(0), B)");
}

TEST_CASE("the gradient of what is cut is cut, of a copy a sum unless all is copied",
          "[models][boxing]") {
  // In a column-parallel op, the input is copied and the output split. The gradient of the input is
  // a sum over the tensor ranks.
  CHECK(models::gradient_taken({kS0, kS1}) == NdSbp{kS0, kS1});
  CHECK(models::gradient_given({kS0, kB}, {kS0, kS1}) == NdSbp{kS0, kP});
  // In a row-parallel op, the input is split and the output is a partial sum.
  CHECK(models::gradient_taken({kS0, kP}) == NdSbp{kS0, kB});
  CHECK(models::gradient_given({kS0, kS1}, {kS0, kP}) == NdSbp{kS0, kS1});
  // In a replicated op, all ranks have computed the same values.
  CHECK(models::gradient_given({kS0, kB}, {kS0, kB}) == NdSbp{kS0, kB});
  CHECK(models::gradient_given({kS0, kP}, {kS0, kP}) == NdSbp{kS0, kB});
}

TEST_CASE("a change of signature is reduced before it is boxed", "[models][boxing]") {
  using models::Dimensions;
  const auto both = models::reduced({kB, kB}, {kP, kP}, kGrid);
  CHECK_FALSE(both.two_dimensional);
  REQUIRE(both.changes.size() == 1);
  CHECK(both.changes[0] == models::Transition{kB, kP, Dimensions::kBoth});

  const auto inner = models::reduced({kS0, kS1}, {kS0, kB}, kGrid);
  CHECK(inner.two_dimensional);
  REQUIRE(inner.changes.size() == 1);
  CHECK(inner.changes[0] == models::Transition{kS1, kB, Dimensions::kTensor});

  // A dimension of one rank does not count.
  const auto flat = models::reduced({kS0, kP}, {kB, kP}, {4, 1});
  CHECK_FALSE(flat.two_dimensional);
  REQUIRE(flat.changes.size() == 1);
  CHECK(flat.changes[0] == models::Transition{kS0, kB, Dimensions::kData});
  CHECK(models::reduced({kS0, kP}, {kB, kP}, {1, 4}).changes.empty());

  // The two dimensions change, one after the other: first within the tensor groups.
  const auto two = models::reduced({kP, kS0}, {kB, kB}, kGrid);
  REQUIRE(two.changes.size() == 2);
  CHECK(two.changes[0] == models::Transition{kS0, kB, Dimensions::kTensor});
  CHECK(two.changes[1] == models::Transition{kP, kB, Dimensions::kData});
}

TEST_CASE("there is an NCCL op for these changes of signature and no others", "[models][boxing]") {
  // Transitions along one dimension: P2B, P2S, S2B, S2S.
  CHECK(nccl({kP, kP}, {kB, kB}) == "all_reduce P2B both");
  CHECK(nccl({kP, kP}, {kS0, kS0}) == "reduce_scatter P2S both");
  CHECK(nccl({kS0, kS0}, {kB, kB}) == "all_gather S2B both");
  CHECK(nccl({kS0, kS0}, {kS1, kS1}) == "all_to_all S2S both");
  CHECK(nccl({kB, kP}, {kB, kS0}, {1, 4}) == "reduce_scatter P2S tensor");
  CHECK(nccl({kB, kB}, {kP, kP}) == "none");
  CHECK(nccl({kB, kB}, {kS0, kS0}) == "none");
  // Two dimensions, of which the first is unchanged: collectives in groups of neighbors.
  CHECK(nccl({kS0, kP}, {kS0, kB}) == "all_reduce (*P)2(*B) tensor");
  CHECK(nccl({kS0, kS0}, {kS0, kB}) == "all_gather (*S0)2(*B) tensor");
  CHECK(nccl({kS0, kS1}, {kS0, kB}) == "all_gather (*S1)2(*B) tensor");
  CHECK(nccl({kS0, kS0}, {kS0, kS1}) == "all_to_all (*S)2(*S) tensor");
  CHECK(nccl({kS0, kP}, {kS0, kS1}) == "none");
  CHECK(nccl({kS0, kB}, {kS0, kP}) == "none");
  // Two dimensions, of which the second is unchanged: only P to B has a collective.
  CHECK(nccl({kP, kB}, {kB, kB}) == "all_reduce (P*)2(B*) data");
  CHECK(nccl({kS0, kB}, {kB, kB}) == "none");
  CHECK(nccl({kS0, kS1}, {kS1, kS1}) == "none");
  // If both dimensions change, or none, there is no collective.
  CHECK(nccl({kP, kS0}, {kB, kB}) == "none");
  CHECK(nccl({kS0, kB}, {kS0, kB}) == "none");
}

TEST_CASE("the first builder of the chain that can box does", "[models][boxing]") {
  CHECK(route({kS0, kB}, {kS0, kB}) == "Flat OneToOne B2B; ");
  CHECK(route({kS0, kS1}, {kS0, kB}) == "IntraGroup SliceBoxing S(1)2B; ");
  CHECK(route({kP, kB}, {kB, kB}) == "InterGroup SliceBoxing P2B; ");
  CHECK(route({kB, kB}, {kP, kP}) == "Flat NaiveB2P B2P; ");
  CHECK(route({kB, kB}, {kS0, kS0}) == "Flat SliceBoxing B2S(0); ");
  CHECK(route({kB, kB}, {kB, kP}) == "IntraGroup NaiveB2P B2P; ");
  CHECK(route({kP, kS0}, {kB, kB}) ==
        "IntraGroup SliceBoxing S(0)2B; InterGroup SliceBoxing P2B; ");
  CHECK(route({kS0, kS0}, {kP, kP}) == "no builder makes P of S(0)");
}

TEST_CASE("the boxing executor takes part where nccl_use_compute_stream is off, once per step",
          "[models][boxing]") {
  CHECK(route({kP, kP}, {kB, kB}, true, 1) == "Flat CollectiveBoxing P2B; ");
  CHECK(route({kP, kP}, {kB, kB}, true, 4) == "Flat SliceBoxing P2B; ");
  CHECK(route({kP, kP}, {kB, kB}, false, 1) == "Flat SliceBoxing P2B; ");
  CHECK(route({kB, kB}, {kP, kP}, true, 1) == "Flat NaiveB2P B2P; ");
}
