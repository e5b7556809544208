// Writes changes of a scenario as patches. formats/document/patch.hpp applies them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/document/yaml_document.hpp"
#include "formats/scenario/scenario.hpp"

#include "features/fix/fix.hpp"

namespace pipesim::formats {

/// Writes changes of one scenario.
class PatchWriter {
 public:
  /// Takes the scenario in `text`, for `ranks` ranks, after the valid `patches`.
  PatchWriter(std::string text, std::vector<PatchText> patches, std::uint32_t ranks);

  /// Returns the patch that makes `changes` in order, after the patches of the constructor. Returns
  /// nullopt if a change has no place in the scenario, because the steps are generated or a list
  /// depends on a parameter.
  std::optional<std::string> write(const std::vector<models::Change>& changes) const;

 private:
  std::string text_;
  std::vector<PatchText> patches_;
  std::uint32_t ranks_;
  std::optional<YamlDocument> document_;
};

/// Returns the parameters of `scenario` that have other values worth trying.
std::vector<models::Switch> switches_of(const Scenario& scenario);

}  // namespace pipesim::formats
