// The layout of ranks, compared with Megatron-LM's own: RankGenerator at d98e8a64
// (megatron/core/parallel_state.py) ran for each row of the table below, and its groups were
// hashed.
#include "models/schedules/rank_grid.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;
using models::ParallelSizes;

namespace {

struct Layout {
  const char* order;
  std::uint32_t tensor, context, data, pipeline, expert, expert_tensor;
  std::uint64_t hash;  // hash_of() all groups; 0: Megatron-LM refuses the row
};

constexpr Layout kLayouts[] = {
    {"dp-ep-cp-tp-pp", 2, 4, 1, 1, 6, 2, 0x0000000000000000ULL},
    {"dp-ep-cp-tp-pp", 1, 2, 1, 1, 4, 2, 0x0000000000000000ULL},
    {"tp-cp-ep-dp-pp", 2, 1, 4, 1, 6, 2, 0x0000000000000000ULL},
    {"tp-cp-ep-pp-dp", 1, 4, 1, 2, 1, 1, 0x0000000000000000ULL},
    {"cp-tp-ep-dp-pp", 4, 2, 1, 3, 6, 4, 0x0000000000000000ULL},
    {"tp-cp-ep-dp-pp", 2, 3, 1, 1, 6, 2, 0x0000000000000000ULL},
    {"tp-cp-ep-pp-dp", 4, 4, 3, 4, 6, 2, 0x0000000000000000ULL},
    {"dp-ep-cp-tp-pp", 3, 2, 2, 2, 1, 1, 0x28d964ac2b89ad14ULL},
    {"ep-tp-cp-dp-pp", 3, 4, 3, 1, 1, 2, 0x2ec037371642b960ULL},
    {"tp-cp-ep-dp-pp", 3, 2, 4, 4, 1, 3, 0xa315d67ecd6b74b0ULL},
    {"dp-ep-cp-tp-pp", 3, 3, 4, 4, 1, 3, 0x416b667208f869eaULL},
    {"cp-tp-ep-dp-pp", 4, 1, 1, 3, 8, 2, 0x0000000000000000ULL},
    {"cp-tp-ep-dp-pp", 4, 3, 1, 4, 3, 4, 0xc9ef82835090d45cULL},
    {"tp-cp-ep-dp-pp", 4, 1, 2, 3, 2, 4, 0xc035600fb5d218a0ULL},
    {"tp-dp-pp", 4, 1, 1, 2, 1, 2, 0x689172d5325d8bccULL},
    {"cp-tp-ep-dp-pp", 2, 4, 3, 4, 3, 2, 0xe5c7395cdad0bf5aULL},
    {"tp-cp-ep-pp-dp", 2, 1, 2, 2, 2, 2, 0x0000000000000000ULL},
    {"tp-cp-ep-dp-pp", 4, 2, 3, 3, 1, 4, 0xaddcba1e2a2e0eccULL},
    {"tp-dp-pp", 3, 1, 2, 1, 1, 2, 0x758db7907b380e13ULL},
    {"tp-dp-pp", 4, 1, 1, 4, 1, 2, 0xf6d51a1266e7a19aULL},
    {"tp-cp-ep-dp-pp", 2, 1, 2, 4, 2, 2, 0x68ee9fe0035b6196ULL},
    {"dp-ep-cp-tp-pp", 1, 1, 1, 2, 6, 1, 0x0000000000000000ULL},
    {"dp-ep-cp-tp-pp", 1, 1, 2, 4, 2, 1, 0x8a232d8bc8b87164ULL},
    {"dp-ep-cp-tp-pp", 3, 4, 1, 1, 4, 2, 0x0000000000000000ULL},
    {"ep-tp-cp-dp-pp", 4, 3, 1, 2, 1, 1, 0x084199bba9a4156aULL},
    {"cp-tp-ep-dp-pp", 4, 2, 1, 2, 6, 1, 0x0000000000000000ULL},
    {"tp-cp-ep-dp-pp", 3, 2, 3, 2, 6, 3, 0x4be94d82d117a38aULL},
    {"ep-tp-cp-dp-pp", 3, 3, 1, 2, 1, 3, 0x080276208d510278ULL},
    {"ep-tp-cp-dp-pp", 2, 3, 2, 4, 6, 2, 0x7c786b7c17725922ULL},
    {"ep-tp-cp-dp-pp", 4, 1, 2, 2, 2, 4, 0x7bc72be723fb3e1aULL},
    {"tp-cp-ep-dp-pp", 4, 2, 4, 3, 2, 4, 0xe72cb6f902d219f8ULL},
    {"tp-cp-ep-dp-pp", 1, 1, 2, 4, 2, 1, 0x8a232d8bc8b87164ULL},
    {"tp-cp-ep-dp-pp", 3, 2, 3, 2, 6, 1, 0xba8adfcac6ade7ceULL},
    {"cp-tp-ep-dp-pp", 4, 2, 1, 3, 4, 2, 0xe57e49b53473c57aULL},
    {"dp-ep-cp-tp-pp", 4, 1, 1, 2, 2, 1, 0x41b014d160d571dcULL},
    {"tp-cp-ep-dp-pp", 1, 4, 1, 1, 4, 1, 0x2a2bce3a3ee4ddebULL},
    {"tp-cp-ep-pp-dp", 4, 2, 4, 1, 4, 2, 0xd76e9e555a1b9a50ULL},
    {"dp-ep-cp-tp-pp", 1, 2, 4, 1, 2, 1, 0xde8e46a181291bdbULL},
    {"tp-cp-ep-dp-pp", 2, 3, 2, 3, 2, 2, 0x5861d2e00f5f7074ULL},
    {"tp-cp-ep-dp-pp", 4, 4, 3, 4, 2, 1, 0xa3c1cfc126cb5d62ULL},
    {"ep-tp-cp-dp-pp", 1, 4, 3, 3, 6, 1, 0x9c81dd10df45211cULL},
    {"tp-cp-ep-dp-pp", 3, 2, 4, 3, 4, 3, 0x0ead4190f7041149ULL},
    {"tp-dp-pp", 1, 1, 1, 1, 1, 1, 0x6b313b86c507210fULL},
    {"tp-dp-pp", 3, 1, 1, 2, 1, 3, 0xbff57c56ebcfce30ULL},
    {"tp-dp-pp", 3, 1, 2, 1, 1, 1, 0xc495af53f7ad20d0ULL},
    {"tp-dp-pp", 2, 1, 1, 4, 1, 1, 0xebeaa670bc29ffd4ULL},
    {"tp-cp-ep-dp-pp", 2, 4, 3, 4, 2, 1, 0xbe3906598f15eeb0ULL},
    {"tp-cp-ep-dp-pp", 1, 4, 2, 1, 8, 1, 0x1698f7d0d6b47324ULL},
    {"tp-cp-ep-dp-pp", 1, 1, 2, 3, 1, 2, 0x3e3006c9c2d67883ULL},
    {"cp-tp-ep-dp-pp", 2, 2, 2, 4, 4, 2, 0x410d4696b2f2f944ULL},
    {"tp-cp-ep-dp-pp", 4, 3, 1, 2, 1, 4, 0x6fbc0a306e0ceb54ULL},
    {"ep-tp-cp-dp-pp", 3, 1, 2, 4, 3, 1, 0xb481fb835c764250ULL},
    {"ep-tp-cp-dp-pp", 1, 3, 4, 1, 6, 2, 0x728cd9bb1f5cb778ULL},
    {"tp-cp-ep-dp-pp", 3, 3, 2, 3, 1, 1, 0xafe5644e054dec6aULL},
    {"tp-cp-ep-pp-dp", 4, 4, 4, 1, 2, 4, 0x62ba5a2a86ea8a5eULL},
    {"ep-tp-cp-dp-pp", 4, 4, 3, 2, 4, 1, 0x87e4c80eab40209aULL},
    {"tp-dp-pp", 3, 1, 3, 1, 1, 1, 0x63e468956b57db53ULL},
    {"tp-dp-pp", 1, 1, 1, 3, 1, 1, 0x153b12fdd2b76c32ULL},
    {"tp-cp-ep-dp-pp", 4, 4, 1, 3, 4, 1, 0x90e45c729d8ce67cULL},
    {"ep-tp-cp-dp-pp", 2, 3, 4, 1, 6, 2, 0xfd800a19a85bf75cULL},
};

ParallelSizes sizes_of(const Layout& layout) {
  ParallelSizes sizes;
  sizes.tensor = layout.tensor;
  sizes.context = layout.context;
  sizes.data = layout.data;
  sizes.pipeline = layout.pipeline;
  sizes.expert = layout.expert;
  sizes.expert_tensor = layout.expert_tensor;
  sizes.order = models::find_dimension_order(layout.order).value();
  return sizes;
}

// Returns the FNV-1a hash of "0,1;2,3|0,2;1,3|...": the lists of each group, sorted by first rank.
std::uint64_t hash_of(const models::RankGrid& grid) {
  std::string text;
  for (const models::Group& group : grid.groups) {
    if (&group != &grid.groups.front()) text += '|';
    std::vector<std::vector<std::uint32_t>> lists = group.lists;
    std::sort(lists.begin(), lists.end());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (i > 0) text += ';';
      for (std::size_t k = 0; k < lists[i].size(); ++k) {
        if (k > 0) text += ',';
        text += std::to_string(lists[i][k]);
      }
    }
  }
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace

TEST_CASE("ranks are laid out as Megatron does it", "[models][rank_grid]") {
  for (const Layout& layout : kLayouts) {
    INFO(layout.order << " tp " << layout.tensor << " cp " << layout.context << " dp "
                      << layout.data << " pp " << layout.pipeline << " ep " << layout.expert
                      << " etp " << layout.expert_tensor);
    std::string problem;
    const auto grid = models::make_rank_grid(sizes_of(layout), problem);
    REQUIRE(grid.has_value() == (layout.hash != 0));
    CHECK(problem.empty() == grid.has_value());
    if (grid) CHECK(hash_of(*grid) == layout.hash);
  }
}

// Checks the example in the docstring of initialize_model_parallel().
TEST_CASE("16 GPUs, 2 for tensors and 4 for the pipeline", "[models][rank_grid]") {
  ParallelSizes sizes;
  sizes.tensor = 2;
  sizes.expert_tensor = 2;
  sizes.data = 2;
  sizes.pipeline = 4;
  std::string problem;
  const auto grid = models::make_rank_grid(sizes, problem);
  REQUIRE(grid.has_value());
  const auto lists = [&](const std::string& name) {
    return std::find_if(grid->groups.begin(), grid->groups.end(),
                        [&](const models::Group& group) { return group.name == name; })
        ->lists;
  };
  using Lists = std::vector<std::vector<std::uint32_t>>;
  CHECK(lists("data") ==
        Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(lists("tensor") ==
        Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(lists("pipeline") == Lists{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  CHECK(grid->pipeline_stride == 4);
  CHECK(grid->row_of_rank[13] == 3);
}

TEST_CASE("an order names each dimension at most once", "[models][rank_grid]") {
  const auto text = [](const char* order) {
    const auto found = models::find_dimension_order(order);
    return found ? models::dimension_order_text(*found) : "none";
  };
  CHECK(text("tp-cp-ep-dp-pp") == "tp-cp-ep-dp-pp");
  CHECK(text("pp-tp") == "pp-tp-cp-ep-dp");
  CHECK(text("tp-tp") == "none");
  CHECK(text("tp-") == "none");
  CHECK(text("") == "none");
  CHECK(text("tp,pp") == "none");
}
