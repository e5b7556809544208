#include "features/oneflow/oneflow_input.hpp"

#include "app/input/schedule_input.hpp"
#include "app/input/text_input.hpp"

#include "features/oneflow/oneflow_plan_reader.hpp"
#include "features/oneflow/oneflow_plan_scenario.hpp"

namespace pipesim::app {

std::string import_oneflow_plan(const Arguments& /*arguments*/, const std::string& path,
                                const Console& console) {
  TextInput input = TextInput::read(path, formats::kMaxPlanBytes, console);
  if (input.text().size() > formats::kMaxPlanBytes) {
    input.fail(models::Code::kLimit, "larger than a plan dump of 512 MiB");
  }
  const auto plan = input.require(formats::read_oneflow_plan(input.text(), input.diagnostics()));
  std::string scenario =
      input.require(formats::plan_scenario(plan, scenario_name_of(path), input.diagnostics()));
  input.report();
  return scenario;
}

}  // namespace pipesim::app
