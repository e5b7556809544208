#include "app/compare_command.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "app/evidence_input.hpp"
#include "app/exit_codes.hpp"
#include "models/diagnosis.hpp"
#include "models/end_place.hpp"
#include "models/simulation.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

using models::EndPlace;

bool is_scenario(std::string_view path) {
  const bool has_name = path != ".yaml" && path != ".yml";
  return has_name && (path.ends_with(".yaml") || path.ends_with(".yml"));
}

std::optional<EndPlace> place_of(const std::string& path, const CompareCommand& command,
                                 const Console& console) {
  if (!is_scenario(path)) {
    std::optional<DumpReading> reading = read_dumps(command.kind, {path}, console);
    if (!reading) return std::nullopt;
    return models::end_place(models::diagnose(reading->evidence), path);
  }
  ScenarioInput input({path, {}, command.settings}, console);
  models::Diagnostics diagnostics;
  const auto scenario = input.read(diagnostics);
  std::optional<models::Simulation> simulation;
  if (scenario) simulation = models::simulate(scenario->graph, diagnostics);
  input.complain(diagnostics, console);
  if (!simulation) return std::nullopt;
  return models::end_place(simulation->explanation, path);
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", viz::ranges(ranks));
}

std::string told(const EndPlace& place) {
  std::string text =
      fmt::format("{}: {}, {}", place.name, place.verdict, viz::counted(place.at.size(), "rank"));
  if (!place.blamed.empty()) {
    text += fmt::format("; to blame: {}", ranks_text({place.blamed.begin(), place.blamed.end()}));
  }
  return text + "\n";
}

}  // namespace

int run_compare(const CompareCommand& command, const Console& console) {
  const auto a = place_of(command.a, command, console);
  const auto b = place_of(command.b, command, console);
  if (!a || !b) return kExitUsage;
  const models::EndDifference difference = models::compare(*a, *b);
  console.out << told(*a) << told(*b);
  if (!difference.any()) {
    console.out << "They stand in the same place.\n";
    return kExitGood;
  }
  console.out << "They do not stand in the same place:\n";
  if (difference.verdict) console.out << "  the verdicts differ\n";
  if (difference.blamed) console.out << "  other ranks are to blame\n";
  if (difference.ranks) console.out << "  they have not as many ranks\n";
  if (!difference.waits.empty()) {
    console.out << fmt::format("  {} wait{} in one and not in the other\n",
                               ranks_text(difference.waits),
                               difference.waits.size() == 1 ? "s" : "");
  }
  constexpr std::size_t kMostTold = 20;
  for (std::size_t i = 0; i < std::min(kMostTold, difference.at.size()); ++i) {
    const std::uint32_t rank = difference.at[i];
    console.out << fmt::format("  rank {} stands at {} and at {}\n", rank,
                               models::printable(a->at[rank]), models::printable(b->at[rank]));
  }
  if (difference.at.size() > kMostTold) {
    console.out << fmt::format("  and {} more ranks stand elsewhere\n",
                               difference.at.size() - kMostTold);
  }
  return kExitBad;
}

}  // namespace pipesim::app
