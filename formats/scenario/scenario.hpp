// The scenario: the YAML form of a task graph with parameters and expectations.
// docs/reference/scenario-format.md describes every key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/document/expression.hpp"
#include "formats/document/settings.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/outside_text.hpp"
#include "models/result/expectation.hpp"

namespace pipesim::formats {

/// Reasons for which `check` weakens its answer: the scenario lacks information. A reason in
/// `proved` or `hang` makes that answer undecided; an empty reason does not change the answer.
struct Undecided {
  models::OutsideText proved;
  models::OutsideText hang;
  models::OutsideText possible;  // reason why a hang is not certain
};

/// A scenario, evaluated with its parameters.
struct Scenario {
  models::TaskGraph graph;
  std::string about;
  std::vector<models::OutsideText> rests_on;  // basis of `check`'s answer, one sentence each
  Undecided undecided;
  std::vector<Parameter> parameters;
  RankSets sets;  // also contains the groups
  std::vector<models::Expectation> expectations;
  std::string passes;  // passes that build tasks from a model, see models/layers/pass_pipeline.hpp
};

struct ReadOptions {
  // Whether to run the passes of a model. If false, the model's faults and expectations are not
  // read either.
  bool build_model = true;
  std::vector<PatchText> patches{};  // applied in this order
  // Whether an all_to_all sends empty parts; overrides the backend's default.
  std::optional<bool> sends_empty_parts{};
};

/// Reads the scenario in `text` after the patches, with `settings` instead of its defaults. If a
/// name is set twice, the last setting counts; `settings` override the settings of patches. Places
/// in the n-th patch have file number n. After mistakes, returns nullopt; `diagnostics` lists all
/// mistakes found. Mistakes in settings have no place.
std::optional<Scenario> read_scenario(const std::string& text, const std::vector<Setting>& settings,
                                      models::Diagnostics& diagnostics,
                                      const ReadOptions& options = {});

/// Reads the scenario in `document`, which YamlDocument::parse() could have returned.
std::optional<Scenario> read_scenario(YamlDocument document, const std::vector<Setting>& settings,
                                      models::Diagnostics& diagnostics,
                                      const ReadOptions& options = {});

/// Returns the scenario's parameters with their defaults. The call is fast, because the rest of
/// `text` is not read. Returns an empty list after an error, which `diagnostics` gets.
std::vector<Parameter> read_parameters_of(const std::string& text,
                                          models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
