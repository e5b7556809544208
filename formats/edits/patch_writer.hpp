// Changes of a scenario as patches: the other direction of formats/yaml/patch.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/search/fix.hpp"

namespace pipesim::formats {

/// Writes changes of one scenario.
class PatchWriter {
 public:
  /// Of the scenario in `text` after `patches`, which can be read.
  PatchWriter(const std::string& text, const std::vector<PatchText>& patches);

  /// The patch that makes `change`, which goes behind those of the constructor. Nothing where the
  /// scenario has no place for it: steps that are made of something else, a list that depends on a
  /// parameter.
  std::optional<std::string> write(const models::Change& change) const;

 private:
  std::optional<YamlDocument> document_;
};

/// The parameters of `scenario` of which other values are worth a try.
std::vector<models::Switch> switches_of(const Scenario& scenario);

}  // namespace pipesim::formats
