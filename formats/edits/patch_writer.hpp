// Changes of a scenario as patches: the other direction of formats/yaml/patch.hpp.
#pragma once

#include <cstdint>
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
  /// Of the scenario in `text`, of so many ranks, after `patches`, which can be read.
  PatchWriter(std::string text, std::vector<PatchText> patches, std::uint32_t ranks);

  /// The patch that makes `changes`, one after the other, which goes behind those of the
  /// constructor. Nothing where the scenario has no place for one: steps that are made of something
  /// else, a list that depends on a parameter.
  std::optional<std::string> write(const std::vector<models::Change>& changes) const;

 private:
  std::string text_;
  std::vector<PatchText> patches_;
  std::uint32_t ranks_;
  std::optional<YamlDocument> document_;
};

/// The parameters of `scenario` of which other values are worth a try.
std::vector<models::Switch> switches_of(const Scenario& scenario);

}  // namespace pipesim::formats
