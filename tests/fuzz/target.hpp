// Fuzz targets: functions that are given any bytes, and must come back. What they find is read by
// the same readers, and shown by the same printers, as in the command.
//
// fuzzer.cpp runs them in libFuzzer; replay.cpp runs them over files, with any compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::fuzz {

struct Target {
  std::string_view name;
  void (*run)(const std::string& bytes);
};

/// All of them.
std::vector<Target> targets();

std::vector<Target> scenario_targets();
std::vector<Target> file_targets();
std::vector<Target> output_targets();
std::vector<Target> evidence_targets();

/// Ends the process, as a finding, unless `good`.
void require(bool good, std::string_view what);

/// Reports go to terminals: nothing in them may be a control character but ends of lines.
void require_printable(std::string_view text);

/// Prints mistakes in `text` as the command does.
void show(const models::Diagnostics& diagnostics, const std::string& text);

/// What came out of a reader is a scenario without mistakes.
void require_scenario(const std::string& text);

/// The parts of an input that stands for several files: between lines "%%%". At least one.
std::vector<std::string> parts(const std::string& bytes);

}  // namespace pipesim::fuzz
