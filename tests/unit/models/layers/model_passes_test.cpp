// Passes that make tasks from a model, each alone on a small model. The expectations are worked out
// by hand from OneFlow's rules (docs/explanation/model-to-tasks.md).
#include <string>
#include <vector>

#include "formats/scenario/scenario_writer.hpp"
#include "models/layers/pass_pipeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::Diagnostics;

namespace {

std::string told(const Diagnostics& diagnostics) {
  std::string text;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    text += item.message + "\n";
    for (const std::string& note : item.notes) text += "  " + note + "\n";
  }
  return text;
}

// Returns the ops of the model after `passes`, or the tasks made from the ops, or the error.
std::string after(const std::string& passes, const std::string& text) {
  Diagnostics diagnostics;
  const models::PassRegistry registry = models::shipped_passes();
  const auto calls = models::parse_passes(passes, registry, diagnostics);
  auto scenario =
      formats::read_scenario("schema: 1\n" + text, {}, diagnostics, {.build_model = false});
  if (!calls || !scenario) return told(diagnostics);
  models::TaskGraph& graph = scenario->graph;
  if (!models::run_passes(graph, *calls, {}, diagnostics)) return told(diagnostics);
  return graph.logical ? models::logical_text(*graph.logical) : formats::write_scenario(graph);
}

// Returns the lines of `text` that start with `name:`.
std::string line(const std::string& text, const std::string& name) {
  std::string found;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    if (one.rfind(name + ": ", 0) == 0) found += one;
    begin = end + 1;
  }
  return found;
}

// Returns a model with a column-parallel op followed by a row-parallel op.
std::string two_layers(const std::string& pipeline, const std::string& train) {
  return "model:\n"
         "  input: {shape: [8, 4]}\n"
         "  layers:\n"
         "    - {name: a, ops: {up: {out: [S(0), S(1)], variables: {w: {shape: [4, 4], "
         "signature: [B, S(1)]}}}}}\n"
         "    - {name: b, ops: {down: {out: [S(0), P]}}}\n"
         "parallel: {data: 2, tensor: 2, pipeline: " +
         pipeline + "}\ntrain: {" + train + "}\n";
}

const std::string kForward = "build-forward,pipeline-stages";
const std::string kBackward = kForward + ",gradient-accumulation,autograd";

// Returns a model of two stages, each with an all-gather in its forward and its backward.
std::string gathers(const std::string& train, const std::string& layers = "2") {
  return "model:\n"
         "  input: {shape: [8, 4]}\n"
         "  layers:\n"
         "    - name: l\n"
         "      count: " +
         layers +
         "\n"
         "      ops:\n"
         "        cut: {out: [S(0), S(1)], gradient: {in: [S(0), B], out: [S(0), B]}}\n"
         "        all: {in: [S(0), B], gradient: {out: [S(0), S(1)]}}\n"
         "parallel: {tensor: 2, data: 2, pipeline: 2}\ntrain: {" +
         train + "}\n";
}

}  // namespace

TEST_CASE("build-forward makes a chain of the layers, with their variables",
          "[models][model_passes]") {
  CHECK(after("build-forward", two_layers("1", "")) ==
        "images: input, forward, stage 0; gives (S(0), B)\n"
        "a-up-w: variable, forward, stage 0; gives (B, S(1))\n"
        "a-up: compute, forward, stage 0; reads images as (S(0), B), a-up-w as (B, S(1)); gives "
        "(S(0), S(1))\n"
        "b-down: compute, forward, stage 0; reads a-up as (S(0), S(1)); gives (S(0), P)\n"
        "output: output, forward, stage 0; reads b-down as (S(0), P)\n");
}

TEST_CASE(
    "pipeline-stages shares layers out, and a stage takes up what comes in by an op of its own",
    "[models][model_passes]") {
  const std::string text = after(kForward, two_layers("2", ""));
  CHECK(line(text, "a-up") ==
        "a-up: compute, forward, stage 0; reads images as (S(0), B), a-up-w as (B, S(1)); gives "
        "(S(0), S(1))");
  CHECK(line(text, "a-up-to_stage1") ==
        "a-up-to_stage1: compute, forward, stage 1; reads a-up as (S(0), S(1)); gives (S(0), "
        "S(1))");
  CHECK(line(text, "b-down") ==
        "b-down: compute, forward, stage 1; reads a-up-to_stage1 as (S(0), S(1)); gives (S(0), P)");
  CHECK(line(text, "output") == "output: output, forward, stage 1; reads b-down as (S(0), P)");
}

TEST_CASE("gradient-accumulation repeats variables, unpacks the input and packs the output",
          "[models][model_passes]") {
  const std::string passes = kForward + ",gradient-accumulation";
  CHECK(after(passes, two_layers("1", "accumulation: 3")) ==
        "images: input, forward, stage 0; gives (S(0), B)\n"
        "a-up-w: variable, forward, stage 0; gives (B, S(1))\n"
        "a-up: compute, forward, stage 0, acts 3; reads Unpack-images as (S(0), B), Repeat-a-up-w "
        "as (B, S(1)); gives (S(0), S(1))\n"
        "b-down: compute, forward, stage 0, acts 3; reads a-up as (S(0), S(1)); gives (S(0), P)\n"
        "output: output, forward, stage 0; reads Pack-b-down as (S(0), P)\n"
        "Unpack-images: unpack, forward, stage 0, acts 3; reads images as (S(0), B); gives (S(0), "
        "B)\n"
        "Repeat-a-up-w: repeat, forward, stage 0, acts 3; reads a-up-w as (B, S(1)); gives (B, "
        "S(1))\n"
        "Pack-b-down: pack, forward, stage 0, acts 3; reads b-down as (S(0), P); gives (S(0), "
        "P)\n");
  // One micro-batch needs no change.
  CHECK(after(passes, two_layers("1", "")) == after(kForward, two_layers("1", "")));
}

TEST_CASE("autograd adds the gradients, which are accumulated where a variable is repeated",
          "[models][model_passes]") {
  const std::string text = after(kBackward, two_layers("2", "accumulation: 2, optimizer: on"));
  CHECK(line(text, "b-down_grad") ==
        "b-down_grad: compute, backward, stage 1, gradient of b-down, acts 2; reads b-down as "
        "(S(0), P), "
        "a-up-to_stage1 as (S(0), S(1)); gives (S(0), S(1))");
  CHECK(line(text, "a-up_grad") ==
        "a-up_grad: compute, backward, stage 0, gradient of a-up, acts 2; reads b-down_grad as "
        "(S(0), S(1)), "
        "Unpack-images as (S(0), B), Repeat-a-up-w as (B, S(1)); gives out (S(0), P), w_grad (P, "
        "S(1))");
  CHECK(line(text, "Acc-a-up-w") ==
        "Acc-a-up-w: accumulate, backward, stage 0, gradient of Repeat-a-up-w, acts 2; reads "
        "a-up_grad.w_grad as (P, S(1)); "
        "gives (P, S(1))");
  CHECK(line(text, "Update-a-up-w") ==
        "Update-a-up-w: update, optimizer, stage 0; reads Acc-a-up-w as (B, S(1))");
  // One micro-batch needs no accumulation.
  const std::string one = after(kBackward, two_layers("1", "optimizer: on"));
  CHECK(line(one, "Acc-a-up-w").empty());
  CHECK(line(one, "Update-a-up-w") ==
        "Update-a-up-w: update, optimizer, stage 0; reads a-up_grad.w_grad as (B, S(1))");
}

TEST_CASE("pipeline-buffers has OneFlow's buffers with their sizes", "[models][model_passes]") {
  // The model has two stages, so 2 S is 4. The last stage has no buffers between forward and
  // backward.
  const std::string text =
      after(kBackward + ",pipeline-buffers", two_layers("2", "accumulation: 2"));
  CHECK(line(text, "Buffer-Unpack-images-stage0") ==
        "Buffer-Unpack-images-stage0: buffer, backward, stage 0, slots 4, acts 2; reads "
        "Unpack-images as (S(0), B); gives (S(0), B)");
  // Each tensor has one buffer per stage, so the forward reads the input through the backward's
  // buffer.
  CHECK(line(text, "a-up") ==
        "a-up: compute, forward, stage 0, acts 2; reads Buffer-Unpack-images-stage0 as (S(0), B), "
        "Repeat-a-up-w as (B, S(1)); gives (S(0), S(1))");
  CHECK(line(text, "Buffer-a-up") ==
        "Buffer-a-up: buffer, forward, stage 0, slots 1, acts 2; reads a-up as (S(0), S(1)); gives "
        "(S(0), S(1))");
  CHECK(line(text, "Buffer-a-up-stage1") ==
        "Buffer-a-up-stage1: buffer, forward, stage 1, slots 1, acts 2; reads Buffer-a-up as "
        "(S(0), S(1)); gives (S(0), S(1))");
  CHECK(line(text, "Buffer-b-down_grad") ==
        "Buffer-b-down_grad: buffer, backward, stage 1, slots 1, acts 2; reads b-down_grad as "
        "(S(0), S(1)); gives (S(0), S(1))");
  CHECK(line(text, "Buffer-b-down_grad-stage0") ==
        "Buffer-b-down_grad-stage0: buffer, backward, stage 0, slots 1, acts 2; reads "
        "Buffer-b-down_grad as (S(0), S(1)); gives (S(0), S(1))");
  CHECK(line(text, "a-up_grad") ==
        "a-up_grad: compute, backward, stage 0, gradient of a-up, acts 2; reads "
        "Buffer-b-down_grad-stage0 as (S(0), "
        "S(1)), Buffer-Unpack-images-stage0 as (S(0), B), Repeat-a-up-w as (B, S(1)); gives out "
        "(S(0), P), w_grad (P, S(1))");
  CHECK(line(text, "b-down_grad") ==
        "b-down_grad: compute, backward, stage 1, gradient of b-down, acts 2; reads b-down as "
        "(S(0), P), "
        "a-up-to_stage1 as (S(0), S(1)); gives (S(0), S(1))");

  SECTION("#8484: none for the forward between the user's input and the first stage") {
    const std::string without =
        after(kBackward + ",pipeline-buffers:input_buffer=off", two_layers("2", "accumulation: 2"));
    CHECK(line(without, "a-up") ==
          "a-up: compute, forward, stage 0, acts 2; reads Unpack-images as (S(0), B), "
          "Repeat-a-up-w as (B, S(1)); gives (S(0), S(1))");
  }
  SECTION("#8087: on a stream of their own") {
    const std::string own =
        after(kBackward + ",pipeline-buffers=PIPELINE_BUFFER", two_layers("2", "accumulation: 2"));
    CHECK(line(own, "Buffer-a-up") ==
          "Buffer-a-up: buffer, forward, stage 0, slots 1, acts 2, on PIPELINE_BUFFER; reads a-up "
          "as (S(0), S(1)); gives (S(0), S(1))");
  }
  SECTION("none with one stage, or with one micro-batch") {
    CHECK(after(kBackward + ",pipeline-buffers", two_layers("2", "")) ==
          after(kBackward, two_layers("2", "")));
    CHECK(after(kBackward + ",pipeline-buffers", two_layers("1", "accumulation: 2")) ==
          after(kBackward, two_layers("1", "accumulation: 2")));
  }
}

TEST_CASE("insert-nccl-logical puts in collectives, in one order, with their streams",
          "[models][model_passes]") {
  const std::string until = kBackward + ",pipeline-buffers";
  const std::string text = after(until + ",insert-nccl-logical", gathers("accumulation: 4"));
  // On stage 0, the forward is the first subgraph and has no stream of its own; the backward has
  // its own stream.
  CHECK(line(text, "NCCL-(*S1)2(*B)-l0-cut") ==
        "NCCL-(*S1)2(*B)-l0-cut: collective, forward, stage 0, (*S1)2(*B), acts 4; reads l0-cut as "
        "(S(0), S(1)); gives (S(0), B)");
  CHECK(line(text, "l0-all") ==
        "l0-all: compute, forward, stage 0, acts 4; reads NCCL-(*S1)2(*B)-l0-cut as (S(0), B); "
        "gives (S(0), B)");
  CHECK(line(text, "NCCL-(*S1)2(*B)-l0-all_grad") ==
        "NCCL-(*S1)2(*B)-l0-all_grad: collective, backward, stage 0, (*S1)2(*B), acts 4, on "
        "NCCL_COMPUTE_0; reads l0-all_grad as (S(0), S(1)); gives (S(0), B)");
  CHECK(line(text, "l0-cut_grad") ==
        "l0-cut_grad: compute, backward, stage 0, gradient of l0-cut, acts 4, on NCCL_COMPUTE_0; "
        "reads "
        "NCCL-(*S1)2(*B)-l0-all_grad as (S(0), B), Buffer-Unpack-images-stage0 as (S(0), B); gives "
        "(S(0), B)");
  // On stage 1, forward and backward are one subgraph, the first.
  CHECK(line(text, "NCCL-(*S1)2(*B)-l1-all_grad") ==
        "NCCL-(*S1)2(*B)-l1-all_grad: collective, backward, stage 1, (*S1)2(*B), acts 4; reads "
        "l1-all_grad as (S(0), S(1)); gives (S(0), B)");

  SECTION("#8226: the first subgraph has a stream of its own too") {
    const std::string own = after(until + ",insert-nccl-logical:first_subgraph=NCCL_COMPUTE",
                                  gathers("accumulation: 4"));
    CHECK(line(own, "l0-cut").find("on NCCL_COMPUTE_0") != std::string::npos);
    CHECK(line(own, "l0-cut_grad").find("on NCCL_COMPUTE_1") != std::string::npos);
    CHECK(line(own, "l1-cut").find("on NCCL_COMPUTE_0") != std::string::npos);
    CHECK(line(own, "l1-cut_grad").find("on NCCL_COMPUTE_0") != std::string::npos);
    CHECK(line(own, "Buffer-l0-all").find(" on ") == std::string::npos);
  }
  SECTION("nccl_use_compute_stream off: nothing") {
    CHECK(after(until + ",insert-nccl-logical=off", gathers("accumulation: 4")) ==
          after(until, gathers("accumulation: 4")));
  }
}

TEST_CASE("insert-nccl-logical reduces what was accumulated, one after the other",
          "[models][model_passes]") {
  const std::string text = after(
      kBackward + ",pipeline-buffers,insert-nccl-logical",
      "model:\n  layers:\n    - name: l\n      count: 2\n      ops: {mul: {variables: {w: {}}}}\n"
      "  input: {shape: [8]}\n"
      "parallel: {data: 4}\ntrain: {accumulation: 2, optimizer: on}\n");
  // The last op of the backward is the gradient of the first layer's op.
  CHECK(line(text, "AccTick-l0-mul_grad") ==
        "AccTick-l0-mul_grad: acc_tick, optimizer, stage 0, acts 2; reads l0-mul_grad for its "
        "order");
  CHECK(line(text, "NCCL-P2B-Acc-l1-mul-w") ==
        "NCCL-P2B-Acc-l1-mul-w: collective, optimizer, stage 0, P2B; reads Acc-l1-mul-w as (P, B), "
        "AccTick-l0-mul_grad for its order; gives (B, B)");
  CHECK(line(text, "NCCL-P2B-Acc-l0-mul-w") ==
        "NCCL-P2B-Acc-l0-mul-w: collective, optimizer, stage 0, P2B; reads Acc-l0-mul-w as (P, B), "
        "NCCL-P2B-Acc-l1-mul-w for its order; gives (B, B)");
  CHECK(line(text, "Update-l0-mul-w") ==
        "Update-l0-mul-w: update, optimizer, stage 0; reads NCCL-P2B-Acc-l0-mul-w as (B, B)");
}

TEST_CASE("a model pass says what it needs before it", "[models][model_passes]") {
  CHECK(after("autograd", two_layers("1", "")) ==
        "'autograd' must come after 'build-forward'\n  pass 'autograd' reports this\n");
  CHECK(after(kForward + ",autograd,gradient-accumulation", two_layers("1", "")) ==
        "'gradient-accumulation' must come before 'autograd'\n"
        "  pass 'gradient-accumulation' reports this\n");
  CHECK(after("build-forward,build-forward", two_layers("1", "")) ==
        "'build-forward' can run only once\n  pass 'build-forward' reports this\n");
  CHECK(after("build-forward", "actors: {a: {source: 1}}\n") ==
        "'build-forward' works on a model, but this is a task graph\n"
        "  only a scenario with the key 'model' has one\n  pass 'build-forward' reports this\n");
}

TEST_CASE("build-tasks makes actors with their registers, streams, chains and control edges",
          "[models][model_passes]") {
  const std::string all = kBackward + ",pipeline-buffers,insert-nccl-logical,build-tasks";
  // One rank and two micro-batches: forward and backward form one chain. The first op of the chain
  // has a control edge (guard) to the consumers of the chain that do not feed the chain: the
  // accumulate and the pack.
  CHECK(after(all,
              "model:\n  input: {shape: [8]}\n  layers:\n    - name: l\n      ops:\n"
              "        a: {takes: 1us, variables: {w: {}}}\n        b: {takes: 2us}\n"
              "  system: {copy: 3us}\ntrain: {accumulation: 2}\n") ==
        "schema: 1\n"
        "ranks: 1\n"
        "micro_batches: 2\n"
        "streams:\n"
        "  COMPUTE: {}\n"
        "  CPU_COMPUTE: {host: on}\n"
        "  H2D: {}\n"
        "  D2H: {}\n"
        "communicators:\n"
        "  creation: first_use\n"
        "actors:\n"
        "  images: {source: 1}\n"
        "  l-a-w: {stream: COMPUTE, source: 1}\n"
        "  Unpack-images: {kind: unpack, times: 2, stream: CPU_COMPUTE, reads: [images]}\n"
        "  Repeat-l-a-w: {kind: repeat, times: 2, stream: COMPUTE, reads: [l-a-w]}\n"
        "  H2D-Unpack-images: {kind: copy, stream: H2D, takes: 3us, reads: [Unpack-images]}\n"
        "  l-a:\n"
        "    phase: forward\n"
        "    stream: COMPUTE\n"
        "    takes: 1us\n"
        "    registers: {guard: {control: on}}\n"
        "    reads: [H2D-Unpack-images, Repeat-l-a-w]\n"
        "  l-b: {phase: forward, stream: COMPUTE, takes: 2us, reads: [l-a]}\n"
        "  Pack-l-b: {kind: pack, times: 2, stream: COMPUTE, reads: [l-b], after: [l-a.guard]}\n"
        "  D2H-Pack-l-b: {kind: copy, stream: D2H, takes: 3us, reads: [Pack-l-b]}\n"
        "  output: {reads: [D2H-Pack-l-b]}\n"
        "  l-b_grad: {phase: backward, stream: COMPUTE, takes: 4us, reads: [l-b, l-a]}\n"
        "  l-a_grad:\n"
        "    phase: backward\n"
        "    stream: COMPUTE\n"
        "    takes: 2us\n"
        "    registers: {w_grad: {}}\n"
        "    reads: [l-b_grad, H2D-Unpack-images, Repeat-l-a-w]\n"
        "  Acc-l-a-w:\n"
        "    kind: accumulate\n"
        "    times: 2\n"
        "    stream: COMPUTE\n"
        "    reads: [l-a_grad.w_grad]\n"
        "    after: [l-a.guard]\n");
}

TEST_CASE("build-tasks gives zeros to all ranks of a partial sum but the first",
          "[models][model_passes]") {
  const std::string model =
      "model:\n  input: {shape: [8]}\n  layers:\n    - name: l\n      ops:\n"
      "        g: {variables: {t: {gradient: [P, P], like: [P, P]}}}\n"
      "parallel: {data: 2, tensor: 2}\ntrain: {accumulation: 3}\n";
  const auto actor = [](const std::string& text, const std::string& name) {
    const std::size_t begin = text.find("\n  " + name + ":") + 1;
    std::size_t end = text.find("\n", begin);
    while (text.compare(end, 5, "\n    ") == 0) end = text.find("\n", end + 1);
    return text.substr(begin, end - begin + 1);
  };
  const std::string text = after(kBackward + ",build-tasks", model);
  CHECK(actor(text, "Repeat-l-g-t") ==
        "  Repeat-l-g-t:\n    kind: repeat\n    times: 3\n    stream: COMPUTE\n"
        "    carries: [Repeat-l-g-t/out]\n    registers: {ctrl: {control: on}}\n"
        "    reads: [l-g-t]\n");
  CHECK(actor(text, "Zeros-Repeat-l-g-t") ==
        "  Zeros-Repeat-l-g-t: {on: 1..3, kind: zeros, stream: COMPUTE, after: "
        "[Repeat-l-g-t.ctrl]}\n");
  CHECK(actor(text, "l-g_grad").find("{from: Repeat-l-g-t, on: 0}") != std::string::npos);
  CHECK(actor(text, "l-g_grad").find("{from: Zeros-Repeat-l-g-t, on: 1..3}") != std::string::npos);

  SECTION("#8226: as many control slots as data slots") {
    const std::string slots = after(
        "build-forward,pipeline-stages,gradient-accumulation=0,autograd,"
        "build-tasks",
        model);
    CHECK(actor(slots, "Repeat-l-g-t").find("ctrl: {slots: 3, control: on}") != std::string::npos);
  }
  SECTION("all ranks alike") {
    const std::string all = after(kBackward + ",build-tasks:zeros=all:zeros_slots=2", model);
    CHECK(actor(all, "Zeros-Repeat-l-g-t") ==
          "  Zeros-Repeat-l-g-t: {kind: zeros, stream: COMPUTE, slots: 2, after: "
          "[Repeat-l-g-t.ctrl]}\n");
  }
  SECTION("before #8052 the edge names no tensor") {
    CHECK(after(kBackward + ",build-tasks:partial_sums_name_tensor=off", model)
              .find("carries 'Repeat-l-g-t/out', the edge names none (1 vs. 0)") !=
          std::string::npos);
  }
}

TEST_CASE("build-tasks copies pieces between ranks where there is no collective",
          "[models][model_passes]") {
  // If there are three tensor-parallel ranks, each rank gets one piece from each other rank, around
  // the group.
  const std::string text =
      after(kForward + ",build-tasks",
            "model:\n  input: {shape: [3, 3]}\n  layers:\n    - name: l\n      ops:\n"
            "        a: {out: [S(0), S(1)]}\n        b: {in: [S(0), B]}\n"
            "parallel: {tensor: 3}\n");
  const auto has = [&text](const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has("  D2H-l-a: {kind: copy, stream: D2H, reads: [l-a]}\n");
  has("reads: [{from: D2H-l-a, rank: \"if(rank % 3 >= 2, rank - 2, rank + 1)\"}]");
  has("reads: [{from: D2H-l-a, rank: \"if(rank % 3 >= 1, rank - 1, rank + 2)\"}]");
  has("  SliceBoxing-l-a: {stream: COMPUTE, reads: [l-a, H2D-l-a, H2D-l-a.2]}\n");
  has("  l-b: {phase: forward, stream: COMPUTE, reads: [SliceBoxing-l-a]}\n");
}

TEST_CASE("#8455: collectives tell their successors at once but on large stages",
          "[models][model_passes]") {
  const auto gated = [](const std::string& options, const std::string& layers = "2") {
    const std::string text =
        after(kBackward + ",pipeline-buffers,insert-nccl-logical:" + options + ",build-tasks",
              gathers("accumulation: 4", layers));
    const std::size_t begin = text.find("\n  \"NCCL-(*S1)2(*B)-l0-cut\":");
    REQUIRE(begin != std::string::npos);
    return text.substr(begin, text.find("reads:", begin) - begin).find("immediate") ==
           std::string::npos;
  };
  CHECK(gated("messages=gated"));
  CHECK_FALSE(gated("messages=immediate"));
  CHECK_FALSE(gated("messages=auto"));
  // The first stage has 150 layers, each with at least 2 ops, 2 gradients, 2 collectives and a
  // buffer: more than 1000 ops. With #8226, the ops are on two streams.
  CHECK(gated("messages=auto:first_subgraph=NCCL_COMPUTE", "300"));
  CHECK_FALSE(gated("messages=auto:first_subgraph=COMPUTE", "300"));
}
