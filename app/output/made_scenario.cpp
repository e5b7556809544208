#include "app/output/made_scenario.hpp"

#include <fmt/format.h>

#include "app/command.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::app {

void require_readable(const std::string& text, const std::string& source) {
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text, {}, diagnostics);
  if (scenario && models::lower(scenario->graph, diagnostics)) return;
  const models::Diagnostic first = diagnostics.sorted().front();
  throw InputError(
      models::Code::kContradiction,
      fmt::format("{}: the scenario made from it is not valid, and was not written: {}", source,
                  first.message));
}

}  // namespace pipesim::app
