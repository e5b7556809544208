// The scenario: the YAML form of a task graph with parameters and expectations.
// docs/reference/scenario-format.md describes every key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/yaml/expression.hpp"
#include "formats/yaml/settings.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/expectation.hpp"
#include "models/outside_text.hpp"

namespace pipesim::formats {

/// Why `check` is undecided in place of an answer, for which a scenario does not say enough. Empty:
/// it says enough.
struct Undecided {
  models::OutsideText proved;
  models::OutsideText hang;
  models::OutsideText possible;  // why a hang is not certain
};

/// A scenario with its parameters put in.
struct Scenario {
  Scenario();
  Scenario(const Scenario&);
  Scenario(Scenario&&) noexcept;
  Scenario& operator=(const Scenario&);
  Scenario& operator=(Scenario&&) noexcept;
  ~Scenario();

  models::TaskGraph graph;
  std::string about;
  std::vector<models::OutsideText> rests_on;  // what `check` says of its answer, a sentence each
  Undecided undecided;
  std::vector<Parameter> parameters;
  RankSets sets;  // and groups
  std::vector<models::Expectation> expectations;
  std::string passes;  // that make tasks of a model, see models/passes/pass_pipeline.hpp
};

struct ReadOptions {
  bool build_model = true;  // else a model stays one, and faults and expectations are not read
  std::vector<PatchText> patches{};         // in the order in which they change the scenario
  std::optional<bool> sends_empty_parts{};  // of an all_to_all, whatever the backend does
};

/// The scenario in `text` after the patches, with `settings` in place of its defaults (the last of
/// a name counts, and these above those of patches). Places in the n-th patch are of file n.
/// Nothing where it has mistakes; `diagnostics` then has all that could be found. Mistakes in
/// settings have no place.
std::optional<Scenario> read_scenario(const std::string& text, const std::vector<Setting>& settings,
                                      models::Diagnostics& diagnostics,
                                      const ReadOptions& options = {});

/// The parameters of that scenario with their defaults. The rest of it is not read, so that this is
/// fast. None where they cannot be read, for what `diagnostics` says.
std::vector<Parameter> read_parameters_of(const std::string& text,
                                          models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
