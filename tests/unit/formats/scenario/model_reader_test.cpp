// Models in scenarios: the keys, and the message for each error.
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using testing::mistakes_in;

namespace {

std::string with_layers(const std::string& layers, const std::string& rest) {
  return "schema: 1\nmodel:\n  input: {shape: [8, 4]}\n  layers:\n" + layers + rest;
}

const std::string kThree = "    - {name: l, count: 3, ops: {mul: {takes: 1us}}}\n";

}  // namespace

TEST_CASE("layouts that cannot be are reported at their place", "[formats][model_reader]") {
  CHECK(mistakes_in(with_layers(kThree, "parallel: {pipeline: 4}\n")) ==
        "6:22: 4 stages cannot share 3 layers: each needs at least one\n"
        "  pass 'pipeline-stages' reports this\n");
  CHECK(mistakes_in(with_layers(kThree, "parallel: {data: 2, pipeline: 2}\n")) ==
        "6:31: 3 layers cannot be divided among 2 stages\n"
        "  layers that say 'stage' are not counted: those before the first and after the last "
        "block do\n"
        "  pass 'pipeline-stages' reports this\n");
  CHECK(mistakes_in(with_layers(kThree + "    - {name: x, stage: 2, ops: {a: {}}}\n",
                                "parallel: {pipeline: 1}\n")) ==
        "6:7: layer 'x' is in stage 2, but there are 1 stages\n"
        "  pass 'pipeline-stages' reports this\n");
  CHECK(mistakes_in(with_layers(kThree + "    - {name: x, stage: 0, ops: {a: {}}}\n",
                                "parallel: {pipeline: 3}\n")) ==
        "6:7: layer 'x' is in stage 0, after one in stage 2\n"
        "  pass 'pipeline-stages' reports this\n");
  CHECK(mistakes_in(with_layers("    - {name: x, stage: 0, ops: {a: {}}}\n",
                                "parallel: {pipeline: 2}\n")) ==
        "6:22: stage 1 has no op\n  pass 'pipeline-stages' reports this\n");
  CHECK(mistakes_in(with_layers(kThree, "ranks: 4\nparallel: {data: 2}\n")) ==
        "6:8: the layout under 'parallel' needs 2 ranks, but 'ranks' is 4\n");
  CHECK(mistakes_in(with_layers(kThree, "parallel: {data: 1048576, tensor: 2}\n")) ==
        "6:11: a job can have at most 1048576 ranks, and 1048576 x 2 x 1 are more\n");
}

TEST_CASE("tensors that cannot be cut are reported once for all layers of an entry",
          "[formats][model_reader]") {
  CHECK(mistakes_in(with_layers("    - {name: l, count: 2, ops: {mul: {out: [S(0), S(1)]}}}\n",
                                "parallel: {tensor: 3}\n")) ==
        "5:33: 'l0-mul' cannot be split into 3 equal parts along axis 1 of its shape (8 4)\n"
        "  pass 'build-forward' reports this\n");
  CHECK(mistakes_in(with_layers("    - {name: l, ops: {mul: {out: [S(0), S(2)]}}}\n",
                                "parallel: {tensor: 2}\n")) ==
        "5:23: 'l-mul' is split along axis 2, but its shape is (8 4)\n"
        "  pass 'build-forward' reports this\n");
  CHECK(mistakes_in(with_layers(kThree, "parallel: {data: 3}\n")) ==
        "3:3: the input cannot be split into 3 equal parts along axis 0 of its shape (8 4)\n"
        "  pass 'build-forward' reports this\n"
        "5:33: 'l0-mul' cannot be split into 3 equal parts along axis 0 of its shape (8 4)\n"
        "  pass 'build-forward' reports this\n");
}

TEST_CASE("what no builder boxes is reported with both signatures", "[formats][model_reader]") {
  CHECK(mistakes_in(with_layers("    - {name: l, ops: {a: {}, b: {in: [P, P]}}}\n",
                                "parallel: {data: 2, tensor: 1}\n")) ==
        "5:30: 'l-b' reads 'l-a' as (P, P), which lies as (S(0), B): no builder makes P of S(0)\n"
        "  'l-a' is in line 5\n"
        "  pass 'build-tasks' reports this\n");
}

TEST_CASE("a model is all that there is to do in a scenario", "[formats][model_reader]") {
  CHECK(mistakes_in(with_layers(kThree, "actors: {a: {source: 1}}\n")) ==
        "6:9: 'actors' cannot be used with 'model', whose passes build everything\n");
  CHECK(mistakes_in("schema: 1\nmodel: {}\n") == "2:8: 'model' needs the key 'layers'\n");
  CHECK(mistakes_in("schema: 1\nmodel: {layers: []}\n") ==
        "2:17: a model needs at least one layer\n");
  CHECK(mistakes_in(with_layers("    - {name: a, ops: {}}\n", "")) ==
        "5:22: a layer needs at least one op\n");
  CHECK(mistakes_in(with_layers("    - {name: a, ops: {x: {}}}\n    - {name: a, ops: {x: {}}}\n",
                                "")) == "6:7: duplicate layer 'a'\n");
}

TEST_CASE("parameters stand in a model and in the options of its passes",
          "[formats][model_reader]") {
  const std::string text =
      "schema: 1\n"
      "params:\n"
      "  acc: 2\n"
      "  rule: {default: first_use, one_of: [first_use, start]}\n"
      "model: {layers: [{name: l, ops: {a: {takes: acc * 1us}}}]}\n"
      "train: {accumulation: acc}\n"
      "passes: {insert-nccl-logical: {communicators: $rule}}\n";
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  CHECK(graph.micro_batches == 2);
  CHECK(graph.init.at_first_use);
  CHECK_FALSE(graph.logical);
  const models::TaskGraph other =
      testing::scenario_of(text, {{"acc", "3"}, {"rule", "start"}}).graph;
  CHECK(other.micro_batches == 3);
  CHECK_FALSE(other.init.at_first_use);
  for (const models::ActorTemplate& actor : other.actors) {
    if (actor.name == "l-a") CHECK(actor.takes.value(0) == 3000);
  }
}

TEST_CASE("with a cluster the time of a collective follows from its tensor",
          "[formats][model_reader]") {
  // 1024 floats, split in half over two ranks: each rank passes 2 KiB.
  const models::TaskGraph graph = testing::scenario_of(
                                      "schema: 1\n"
                                      "cluster: {links: {nvlink: {latency: 1us, bandwidth: "
                                      "1GB/s}}, inside_host: [nvlink]}\n"
                                      "model:\n  layers:\n    - name: l\n      ops:\n"
                                      "        a: {shape: [1024], out: [B, S(0)]}\n"
                                      "        b: {in: [B, B]}\n"
                                      "  input: {shape: [1], signature: [B, B]}\n"
                                      "parallel: {tensor: 2}\n")
                                      .graph;
  bool found = false;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (!actor.collective || actor.name != "NCCL-S2B-l-a") continue;
    found = true;
    CHECK(actor.collective->timed);
    CHECK(actor.collective->bytes == 2048);
    CHECK(actor.collective->operation == models::Operation::kAllGather);
  }
  CHECK(found);
}
