// The `params:` of a scenario, and what `--set` makes of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/yaml/expression.hpp"
#include "formats/yaml/key_table.hpp"
#include "formats/yaml/settings.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// The keys of a parameter in long form, and the names that a parameter cannot have.
const KeyTable& parameter_keys();
std::span<const std::string_view> reserved_names();

/// Reports a name that expressions cannot use, or use otherwise.
bool check_parameter_name(const std::string& name, models::Place place,
                          models::Diagnostics& diagnostics);

/// A setting and where it stands: in a patch, or nowhere (`--set`).
struct GivenSetting {
  Setting setting;
  models::Place place;
};

/// The parameters of `value` (the map below `params:`) with their values: those of `settings`, or
/// their defaults, which may use the parameters before them.
std::vector<Parameter> read_parameters(const YamlValue& value,
                                       const std::vector<GivenSetting>& settings,
                                       models::Diagnostics& diagnostics);

/// Reports the settings whose name no parameter has.
void check_settings(const std::vector<Parameter>& parameters,
                    const std::vector<GivenSetting>& settings, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
