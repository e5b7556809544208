// The `params:` of a scenario, with the effect of `--set`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document/expression.hpp"
#include "formats/document/key_table.hpp"
#include "formats/document/settings.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Return the keys of a parameter in long form, or the names that a parameter cannot have.
const KeyTable& parameter_keys();
std::span<const std::string_view> reserved_names();

/// Returns false and reports `name` if expressions cannot use the name, or give it another meaning.
bool check_parameter_name(const std::string& name, models::Place place,
                          models::Diagnostics& diagnostics);

/// A setting and its place: in a patch, or none (`--set`).
struct GivenSetting {
  Setting setting;
  models::Place place;
};

/// Reads the parameters in `value` (the map below `params:`). Takes their values from `settings`,
/// or from their defaults, which can use earlier parameters.
std::vector<Parameter> read_parameters(const YamlValue& value,
                                       const std::vector<GivenSetting>& settings,
                                       models::Diagnostics& diagnostics);

/// Reports settings that name no parameter.
void check_settings(const std::vector<Parameter>& parameters,
                    const std::vector<GivenSetting>& settings, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
