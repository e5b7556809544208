// Fuzz targets: functions that take any bytes and must return. Targets read inputs with the readers
// of the command, and print errors with its printers.
//
// fuzzer.cpp runs the targets in libFuzzer; replay.cpp runs them over files, with any compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"

#include "features/diagnose/evidence.hpp"

namespace pipesim::fuzz {

struct Target {
  std::string_view name;
  void (*run)(const std::string& bytes);
};

/// Returns the targets of scenario_targets() and of the other functions below.
std::vector<Target> targets();

std::vector<Target> scenario_targets();
std::vector<Target> file_targets();
std::vector<Target> output_targets();
std::vector<Target> evidence_targets();

/// Ends the process with a finding unless `good`.
void require(bool good, std::string_view what);

/// Requires that `text` has no control characters except line ends, because users read it in a
/// terminal.
void require_printable(std::string_view text);

/// Prints errors in `text` as the command does.
void show(const models::Diagnostics& diagnostics, const std::string& text);

/// Requires that a reader's output is a scenario without errors.
void require_scenario(const std::string& text);

/// Splits an input into its files, which are separated by lines "%%%". Returns at least one file.
std::vector<std::string> parts(const std::string& bytes);

}  // namespace pipesim::fuzz
