// `pipesim sweep`: a scenario in many settings and timings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/files/sweep_file.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/search/parameter_sweep.hpp"

namespace pipesim::app {

/// Where results go, in addition to standard output.
struct SweepViews {
  bool json = false;  // standard output has JSON instead of the text
  std::optional<std::string> csv_path;
  std::optional<std::string> plot_path;
};

struct SweepCommand {
  std::string path;  // `-`: standard input
  std::vector<formats::Setting> settings;
  models::ParameterGrid grid;
  unsigned jobs = 0;                    // threads; 0: as many as the machine has cores
  std::optional<formats::Shard> shard;  // only this part; then `output` is given
  std::optional<std::string> output;    // where runs are kept as they end; {shard}: its number
  SweepViews views;
};

struct MergeCommand {
  std::vector<std::string> paths;  // the outputs of all shards of a sweep
  SweepViews views;
};

/// Run the command and return its exit code. Throw FileError.
int run_sweep(const SweepCommand& command, const Console& console);
int run_merge(const MergeCommand& command, const Console& console);

}  // namespace pipesim::app
