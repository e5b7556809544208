#include "features/oneflow/oneflow_plan_reader.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

const std::string kTask = "task { task_type: kTick machine_id: 1 thrd_id: 2 task_id: 3 ";

std::string problem(const std::string& text) {
  models::Diagnostics diagnostics;
  if (formats::read_oneflow_plan(text, diagnostics)) return "read";
  return testing::text_of(diagnostics);
}

}  // namespace

TEST_CASE("a plan says its tasks, registers and ops", "[formats][oneflow_plan]") {
  const std::string text = testing::file_text("tests/golden/import_plan/job_step_plan");
  models::Diagnostics diagnostics;
  const auto plan = formats::read_oneflow_plan(text, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(plan);
  REQUIRE(plan->tasks.size() == 13);
  const formats::PlanTask& repeat = plan->tasks[5];
  CHECK(repeat.id == 22);
  CHECK(repeat.type == "kRepeat");
  CHECK(repeat.rank == 1);
  CHECK(repeat.thread == 17829888);  // rank 1, CUDA, device 1, stream 0
  CHECK(repeat.op == "bias_repeat");
  CHECK(repeat.op_type == "repeat");
  CHECK(repeat.times == 4);
  REQUIRE(repeat.registers.size() == 2);
  CHECK_FALSE(repeat.registers[0].control);
  CHECK(repeat.registers[0].ops == 4);
  CHECK(repeat.registers[1].control);
  CHECK(repeat.registers[1].slots == 1);
  const formats::PlanTask& copy = plan->tasks[3];
  CHECK(copy.op == "copy_hd_1");
  CHECK(copy.op_type == "D2H");
  REQUIRE(copy.takes.size() == 1);
  CHECK(copy.takes[0].id == 104);
  CHECK(plan->tasks[2].registers.at(0).slots == 2);
  CHECK(plan->tasks[4].stream_hint == "NCCL_COMPUTE_0");
}

TEST_CASE("fields of a plan that nobody knows are skipped", "[formats][oneflow_plan]") {
  CHECK(problem(kTask + "news { task_id: \"x\" } also: [1, 2] } other: 3") == "read");
}

TEST_CASE("tasks have their place in the graph or, since OneFlow #10102, in their chain",
          "[formats][oneflow_plan]") {
  const auto order = [](const std::string& set) {
    models::Diagnostics diagnostics;
    const auto plan =
        formats::read_oneflow_plan(kTask + "task_set_info { " + set + " } }", diagnostics);
    REQUIRE(plan);
    return plan->tasks.front().order;
  };
  CHECK(order("chain_id: 4 order_in_graph: 7") == 7);
  CHECK(order("chain_id: 4 order_in_chain: 9") == 9);
  CHECK(order("chain_id: 4 order_in_graph: 7 order_in_chain: 9") == 7);
  CHECK(order("chain_id: 4") == 0);
}

TEST_CASE("a light plan is refused, with the name of the plan", "[formats][oneflow_plan]") {
  models::Diagnostics diagnostics;
  const std::string light = "rank : 0\n i : 0 , actor id : 1099511627776 thrd : 524288 name : a\n";
  CHECK_FALSE(formats::read_oneflow_plan(light, diagnostics));
  REQUIRE(diagnostics.sorted().size() == 1);
  const models::Diagnostic found = diagnostics.sorted().front();
  CHECK(found.message == "this is a light plan, which leaves out what a run needs");
  REQUIRE(found.notes.size() == 1);
  CHECK(found.notes.front() ==
        "give the plan itself: 'job_<graph>_plan', beside 'job_<graph>_plan_rank_<n>_light_plan'");
}

TEST_CASE("mistakes in a plan are reported with their places", "[formats][oneflow_plan]") {
  CHECK(problem("") == "1:1: not a OneFlow plan: it has no 'task { ... }'\n");
  CHECK(problem("{\"task\": 1}") == "1:1: expected the name of a field, found '{'\n");
  CHECK(problem("job_conf { name: 'x' }") == "1:1: not a OneFlow plan: it has no 'task { ... }'\n");
  CHECK(problem("task: 1") == "1:1: 'task' must be a message: 'task { ... }'\n");
  CHECK(problem("\ntask { task_type: kTick thrd_id: 1 }") ==
        "2:1: 'task' needs 'task_id'\n2:1: 'task' needs 'machine_id'\n");
  CHECK(problem("task { task_id: 1 machine_id: -1 thrd_id: 1.5 }") ==
        "1:1: 'task' needs 'task_type'\n"
        "1:19: 'machine_id' is -1, and from 0 to 65535 is possible\n"
        "1:34: 'thrd_id' must be an integer\n");
  CHECK(problem(kTask + "}\n" + kTask + "}") == "2:1: duplicate task_id 3\n");
  CHECK(problem(kTask + "produced_regst_desc { key: 'out' value { register_num: 0 } } }") ==
        "1:94: 'value' needs 'regst_desc_id'\n"
        "1:102: 'register_num' is 0, and from 1 to 1048576 is possible\n");
  CHECK(problem(kTask + "\nproduced_regst_desc { value { regst_desc_id: 1\n"
                        "time_shape { dim: 1048576 dim: 2 } } } }") ==
        "3:27: a time shape must have 1 to 1048576 elements\n");
}
