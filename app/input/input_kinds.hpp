// The kinds of files and folders that commands read in place of a scenario. Each kind is a feature,
// which input_kinds.cpp lists.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "app/command.hpp"
#include "app/input/foreign_job.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

/// Whether commands read `path` as a job of another tool: a folder, or the file that describes a
/// record.
bool is_foreign_path(const std::string& path);

/// Whether `path` holds a job of another tool. False for a folder of scenarios.
bool has_foreign_job(const std::string& path);

/// Reads the job at `path`. Throws FileError and InputError. If the job's files have mistakes,
/// prints the mistakes and throws ReportedMistakes.
std::unique_ptr<const ForeignJob> read_foreign_job(const std::string& path, const Console& console);

/// A format of `pipesim import`.
struct ImportKind {
  const char* name;  // first argument of the command
  /// Returns the scenario in the file at `path`. Throws FileError, InputError and ReportedMistakes.
  std::string (*scenario)(const std::string& path, const Console& console);
};

/// Returns the import formats that features add to pipeline schedules and records.
std::span<const ImportKind> import_kinds();

/// A kind of file that `pipesim run` executes without a scenario.
struct RunKind {
  /// Whether run() executes the file at `path`, which `arguments` name. Throws FileError.
  bool (*takes)(const Arguments& arguments, const std::string& path);
  /// Executes `pipesim run` and returns the exit status. Throws UsageError, FileError and
  /// ReportedMistakes.
  int (*run)(const Arguments& arguments, const Console& console);
};

std::span<const RunKind> run_kinds();

/// Throws UsageError if the file at `path` is of a kind that only another command reads; the
/// message names this command. Throws FileError.
void require_scenario(const std::string& path);

}  // namespace pipesim::app
