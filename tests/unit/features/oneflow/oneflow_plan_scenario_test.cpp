#include "features/oneflow/oneflow_plan_scenario.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/lowering/lowering.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::Settings;

namespace {

std::string step_plan() { return testing::file_text("tests/golden/import_plan/job_step_plan"); }

std::optional<std::string> scenario(const std::string& text, std::string& told) {
  models::Diagnostics diagnostics;
  const auto plan = formats::read_oneflow_plan(text, diagnostics);
  auto result =
      plan ? formats::plan_scenario(*plan, "", diagnostics) : std::optional<std::string>();
  told = testing::text_of(diagnostics);
  return result;
}

std::string scenario_of(const std::string& text) {
  std::string told;
  auto result = scenario(text, told);
  INFO(told);
  REQUIRE(result);
  return *result;
}

std::string scenario_problem(const std::string& text) {
  std::string told;
  CHECK_FALSE(scenario(text, told));
  return told;
}

models::Explanation run(const std::string& plan, const Settings& settings = {}) {
  return testing::simulate(testing::scenario_of(scenario_of(plan), settings).graph).explanation;
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::runtime_error("not found: " + what);
  text.replace(at, what.size(), by);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string task(const std::string& type, int rank, int id, const std::string& rest,
                 std::uint32_t stream = 0) {
  return "task { task_type: " + type + " machine_id: " + std::to_string(rank) +
         " thrd_id: " + std::to_string(static_cast<std::uint32_t>(rank << 24 | 2 << 19) + stream) +
         " task_id: " + std::to_string(id) + " " + rest + " }\n";
}

std::string op(const std::string& name, const std::string& type, const std::string& more = {}) {
  return "exec_sequence { exec_node { kernel_conf { op_attribute { op_conf { name: '" + name +
         "' user_conf { op_type_name: '" + type + "' " + more + " } } " +
         "parallel_conf_signature { op_parallel_conf { hierarchy { dim: [2, 2] } } } } } } } ";
}

std::string produces(int id, const std::string& shape = "1") {
  return "produced_regst_desc { key: 'out' value { regst_desc_id: " + std::to_string(id) +
         " register_num: 1 regst_desc_type { data_regst_desc { time_shape { dim: [" + shape +
         "] } } } } } ";
}

std::string takes(int id) {
  return "consumed_regst_desc_id { key: 'in' value { regst_desc_id: " + std::to_string(id) +
         " } } ";
}

// Returns step_plan() in which `bw` also reads the whole table, in pieces cut from all four copies.
std::string plan_with_table(const std::string& control_slots) {
  std::string text = step_plan();
  replace(text, "regst_desc_id: 203 regst_desc_id: 205", "regst_desc_id: [203, 205, 302]");
  text += task("kPack", 1, 31,
               op("pack", "pack", "attr { key: 'pack_num' value { at_int32: 4 } }") + takes(201) +
                   produces(301));
  text += task("kUnpack", 1, 32,
               op("unpack", "unpack", "attr { key: 'unpack_num' value { at_int32: 4 } }") +
                   takes(301) + produces(302, "1, 4"));
  replace(text,
          "consumer_task_id: 23 min_register_num: 1\n      max_register_num: 1 register_num: 1\n",
          "consumer_task_id: 23 register_num: " + control_slots + "\n");
  return text;
}

std::string task_type(const std::string& kind) {
  if (kind == "repeat") return "kRepeat";
  if (kind == "zeros") return "kBoxingZeros";
  if (kind == "copy") return "kCopyHd";
  if (kind == "comm_net") return "kCopyCommNet";
  return kind == "accumulate" ? "kAcc" : "kNormalForward";
}

std::string collective_type(const sim::Plan& plan, sim::CollectiveId id) {
  const std::uint32_t first = plan.collectives[id].members;
  const bool neighbours = plan.members[first].rank.value + 1 == plan.members[first + 1].rank.value;
  return neighbours ? "_nccl_logical_2D_same_dim0_all_gather"
                    : "_nccl_logical_2D_same_dim1_all_reduce";
}

std::string edges_text(const sim::Plan& plan, const sim::Actor& actor, const std::string& type) {
  std::string rest;
  for (std::uint32_t r = actor.registers; r < actor.registers_end; ++r) {
    const sim::Register& reg = plan.registers[sim::RegisterId{r}];
    std::string produced = produces(static_cast<int>(r), type == "kAcc" ? "1" : "1, 4");
    const bool repeated = type == "kRepeat" && !reg.control;
    if (!repeated) {
      replace(produced, "register_num: 1", "register_num: " + std::to_string(reg.slots));
    }
    if (reg.control) replace(produced, "data_regst_desc {", "ctrl_regst_desc {");
    rest += produced;
  }
  for (std::uint32_t e = actor.inputs; e < actor.inputs_end; ++e) {
    rest += takes(static_cast<int>(plan.edges[plan.inputs[e]].source.value));
  }
  return rest;
}

// Returns the lowered scenario as a plan dump in OneFlow's format, without times. Supports only
// ordinary actors, and collectives along one dimension of a 2 x 2 hierarchy.
std::string plan_of(const models::TaskGraph& graph) {
  models::Diagnostics diagnostics;
  const auto lowered = models::lower(graph, diagnostics);
  REQUIRE(lowered);
  const sim::Plan& plan = lowered->plan;
  std::string text;
  for (std::uint32_t i = 0; i < plan.actors.size(); ++i) {
    const sim::Actor& actor = plan.actors[sim::ActorId{i}];
    const auto& known = graph.actors[lowered->actor_template[sim::ActorId{i}]];
    const std::uint32_t stream = lowered->stream_template[actor.stream];
    const std::string kind(known.kind);
    const std::string type = task_type(kind);
    const std::string op_type = actor.collective.valid() ? collective_type(plan, actor.collective)
                                : kind == "buffer"       ? "identity_buffer"
                                                         : kind;
    std::string rest = op(known.name, op_type,
                          type == "kRepeat" ? "attr { key: 'repeat_num' value { at_int32: 4 } }"
                          : type == "kAcc"  ? "attr { key: 'max_acc_num' value { at_int32: 4 } }"
                                            : "");
    if (stream < graph.streams.size()) {
      replace(rest, "user_conf",
              "stream_name_hint: '" + graph.streams[stream].name + "' user_conf");
    }
    rest += "task_set_info { order_in_graph: " +
            std::to_string(lowered->actor_template[sim::ActorId{i}]) + " } ";
    rest += edges_text(plan, actor, type);
    text += task(type, static_cast<int>(actor.rank.value), static_cast<int>(i), rest,
                 actor.thread.value);
  }
  return text;
}

}  // namespace

// Checks that the cycle equals the cycle of the reconstructed hang, op by op, although all times
// differ.
TEST_CASE("the dump of the Swin job hangs in the known cycle", "[formats][oneflow_plan]") {
  const std::string path = "scenarios/swin_2x2x2.yaml";
  const models::Explanation found = run(plan_of(testing::load(path).graph));
  CHECK(found.verdict == sim::Verdict::kDeadlock);
  std::vector<std::string> cycle;
  for (const models::Wait& wait : found.cycle) {
    cycle.push_back(std::to_string(wait.from.rank) + " " + wait.from.op.name + "#" +
                    std::to_string(wait.from.op.number));
  }
  CHECK(cycle == std::vector<std::string>{"0 nccl-1998#3", "1 nccl-1998#3", "1 F1#3", "1 Repeat#3",
                                          "1 Zeros#2", "1 B2#1", "1 nccl-2108#1", "0 nccl-2108#1",
                                          "0 B0#1", "0 BdstBuf#1"});
  for (const testing::Settings& fix :
       {Settings{{"bwd_dst_buffer", "backward"}}, Settings{{"repeat_ctrl_credits", "4"}}}) {
    CHECK(run(plan_of(testing::load(path, fix).graph)).verdict == sim::Verdict::kCompleted);
  }
}

// The times are worked out by hand. Repeat of rank 0 has 4 credits although its register_num is 1,
// so its four ops run before fw#1, which runs from 4 to 14 us. After fw#1: buffer 1 us, D2H 2,
// COMM_NET 5, H2D 2, bw 10, then the collective 10. The end of the collective lets the next fw
// start, because fw has one slot. That makes four iterations of 40 us after 4 us, and 1 us for
// the Acc after the last iteration.
TEST_CASE("a plan of two ranks takes the time that its credits give it",
          "[formats][oneflow_plan]") {
  const models::Explanation found = run(step_plan());
  CHECK(found.verdict == sim::Verdict::kCompleted);
  CHECK(found.time_ns == 165'000);
  // A longer COMM_NET lengthens each iteration; a longer Repeat lengthens only its four ops at the
  // start.
  CHECK(run(step_plan(), {{"t_comm_net", "6us"}}).time_ns == 169'000);
  CHECK(run(step_plan(), {{"t_repeat", "2us"}}).time_ns == 169'000);
}

TEST_CASE("actors follow the order in their chain where the plan has no other",
          "[formats][oneflow_plan]") {
  std::string plan = step_plan();
  const std::string graph = "order_in_graph";
  for (std::size_t at = plan.find(graph); at != std::string::npos; at = plan.find(graph)) {
    plan.replace(at, graph.size(), "order_in_chain");
  }
  CHECK(scenario_of(plan) == scenario_of(step_plan()));
  // `order_in_chain` decides the order, not the file.
  std::string turned = plan;
  replace(turned, "order_in_chain: 1 }", "order_in_chain: 9 }");
  replace(turned, "order_in_chain: 1 }", "order_in_chain: 9 }");
  CHECK(scenario_of(turned) != scenario_of(plan));
}

// bw#1 needs all four copies of the table. Repeat#k needs a slot of its control register. Zeros#1
// returns the first slot at once, but Zeros#2 waits for its own slot until bw#1 has read. So with 1
// or 2 slots Repeat stops after op 1 or 2, and with 3 slots it runs all four ops.
TEST_CASE("a control register with one slot is kept, and hangs", "[formats][oneflow_plan]") {
  CHECK(contains(scenario_of(plan_with_table("1")), "registers: {ctrl: {control: on, slots: 1}}"));
  CHECK(run(plan_with_table("1")).verdict == sim::Verdict::kDeadlock);
  CHECK(run(plan_with_table("2")).verdict == sim::Verdict::kDeadlock);
  CHECK(run(plan_with_table("3")).verdict == sim::Verdict::kCompleted);
}

TEST_CASE("tasks of one op are one actor, its credits those of each rank",
          "[formats][oneflow_plan]") {
  std::string plan = task("kNormalForward", 0, 1, op("a", "matmul") + produces(10)) +
                     task("kNormalForward", 1, 2, op("a", "matmul") + produces(20)) +
                     task("kNormalForward", 0, 3, op("b", "matmul") + takes(10)) +
                     task("kNormalForward", 1, 4, op("b", "matmul") + takes(20));
  replace(plan, "regst_desc_id: 20 register_num: 1", "regst_desc_id: 20 register_num: 3");
  const std::string text = scenario_of(plan);
  CHECK(contains(text,
                 "  a: {source: 1, stream: COMPUTE, takes: t_op, slots: {case: rank, 1: 3, "
                 "else: 1}}\n"
                 "  b: {stream: COMPUTE, takes: t_op, reads: [a]}\n"));
  CHECK(contains(text,
                 "default: 1, at_least: 1, about: \"micro-batches per step; the plan does "
                 "not say\""));
  CHECK(run(plan).time_ns == 20'000);
}

TEST_CASE("collectives along one dimension of four ranks meet in pairs",
          "[formats][oneflow_plan]") {
  const auto groups = [](const std::string& type) {
    std::string plan;
    for (int rank = 0; rank < 4; ++rank) {
      plan += task("kNormalForward", rank, rank,
                   op("c", type) + "parallel_ctx { parallel_id: " + std::to_string(rank) + " }");
    }
    CHECK(run(plan).time_ns == 10'000);
    const std::string text = scenario_of(plan);
    const std::size_t at = text.find("group_1: [") + 9;
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(groups("_nccl_logical_all_reduce") == "[[0, 1, 2, 3]]");
  CHECK(groups("_nccl_logical_2D_same_dim0_all_gather") == "[[0, 1], [2, 3]]");
  CHECK(groups("_nccl_logical_2D_same_dim1_all_reduce") == "[[0, 2], [1, 3]]");
}

TEST_CASE("a repeat whose op says no number has that of its time shapes",
          "[formats][oneflow_plan]") {
  const std::string plan =
      task("kNormalForward", 0, 1, op("variable", "variable") + produces(1)) +
      task("kRepeat", 0, 2, op("r", "repeat") + takes(1) + produces(2, "1, 8")) +
      task("kNormalForward", 0, 3, op("use", "matmul") + takes(2));
  CHECK(contains(scenario_of(plan), "acc: {default: 8,"));
  // The variable takes 10 us, each repeat 1 us, each use 10 us. The repeats run ahead, because they
  // have 8 credits.
  CHECK(run(plan).time_ns == 98'000);
  CHECK(run(plan, {{"acc", "2"}}).time_ns == 32'000);
}

TEST_CASE("an op that works in place gives its input back with its output",
          "[formats][oneflow_plan]") {
  std::string relu = produces(3);
  replace(relu, "register_num: 1", "register_num: 1 inplace_consumed_regst_desc_id: 2");
  const std::string plan =
      task("kNormalForward", 0, 1, op("a", "matmul") + produces(1)) +
      task("kNormalForward", 0, 2, op("b", "matmul") + produces(2)) +
      task("kNormalForward", 0, 3, op("relu", "relu") + takes(1) + takes(2) + relu) +
      task("kNormalForward", 0, 4, op("c", "matmul") + takes(3));
  const std::string text = scenario_of(plan);
  CHECK(contains(text, "in_place: on, slots: 1, reads: [b, a]}"));
  CHECK(run(plan).time_ns == 40'000);
}

TEST_CASE("a plan that does not fit together is refused with places", "[formats][oneflow_plan]") {
  CHECK(scenario_problem(task("kTick", 0, 1, takes(7))) == "1:110: no task produces register 7\n");
  CHECK(scenario_problem(task("kTick", 0, 1, produces(7)) + task("kTick", 0, 2, produces(7))) ==
        "2:1: register 7 is already produced by another task\n");
  std::string hinted = op("c", "_nccl_logical_all_reduce");
  replace(hinted, "name: 'c'", "name: 'c' stream_name_hint: 'OWN'");
  CHECK(scenario_problem(task("kNormalForward", 0, 1, op("c", "_nccl_logical_all_reduce")) +
                         task("kNormalForward", 1, 2, hinted)) ==
        "2:1: the tasks of collective 'c' differ: on rank 1 all_reduce on stream OWN, on "
        "rank 0 all_reduce on stream COMPUTE\n");
  std::string told;
  CHECK(scenario(task("kNew", 0, 1, ""), told));
  CHECK(told ==
        "1:1: task type 'kNew' is unknown: it is treated as an op that runs once per "
        "input\n");
}

TEST_CASE("each beginning of a plan is read or refused", "[formats][oneflow_plan]") {
  const std::string text = step_plan();
  for (std::size_t size = 0; size < text.size(); size += 37) {
    std::string told;
    const auto result = scenario(text.substr(0, size), told);
    CHECK(result.has_value() == told.empty());
  }
}
