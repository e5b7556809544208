// The kinds of files and folders that commands read. A kind is a row in input_kinds.cpp, and most
// kinds are features.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/command.hpp"
#include "app/output/console.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/recorded.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::app {

/// A job of another tool, read as a scenario.
class ForeignJob {
 public:
  ForeignJob() = default;
  ForeignJob(const ForeignJob&) = delete;
  ForeignJob& operator=(const ForeignJob&) = delete;
  virtual ~ForeignJob() = default;

  /// Returns the scenario of the job. `rules` is "gloo" or "nccl"; if empty, each group keeps its
  /// backend in the script.
  virtual std::string scenario(const std::string& rules) const = 0;

  /// Returns the document that is read from scenario(`rules`), without writing the text. Returns
  /// nullopt if reading the text reports an error.
  virtual std::optional<formats::YamlDocument> document(const std::string& rules) const = 0;

  /// Returns names for the steps of `graph`, which was read from scenario(`rules`).
  virtual std::shared_ptr<const models::Recorded> names(const std::string& rules,
                                                        const models::TaskGraph& graph) const = 0;

  /// Prints the findings about the job, before anything runs. Skips findings about differing lines
  /// if `names` has a first difference: reports begin with this difference.
  virtual void report_findings(const Console& console,
                               const models::Recorded* names = nullptr) const = 0;
};

/// A kind of input other than a scenario. Members that do not apply are null.
struct InputKind {
  const char* name;  // as in `pipesim import NAME`

  /// Endings of its files; empty: none, or its inputs are folders.
  std::array<std::string_view, 4> endings{};

  /// Whether the file at `path` with such an ending, or the folder at `path` if the kind has `job`,
  /// is of this kind. Null: the ending decides. Throws FileError.
  bool (*contains)(const std::string& path) = nullptr;

  /// Reads a folder as a job, which all commands take as its scenario. Throws FileError and
  /// InputError. If the job's files have mistakes, prints them and throws ReportedMistakes.
  std::unique_ptr<const ForeignJob> (*job)(const std::string& path,
                                           const Console& console) = nullptr;

  /// Returns the scenario for `pipesim import`. Throws FileError, InputError and ReportedMistakes.
  std::string (*import)(const Arguments& arguments, const std::string& path,
                        const Console& console) = nullptr;

  /// Executes `pipesim run` and returns the exit status. Throws UsageError, FileError and
  /// ReportedMistakes.
  int (*run)(const Arguments& arguments, const Console& console) = nullptr;

  /// The option of `pipesim run` that only this kind has; it also selects the kind for standard
  /// input.
  const char* run_option = nullptr;

  /// The error of commands that need a scenario: message and help, with {command} and {path}.
  const char* refusal = nullptr;
  const char* instead = nullptr;
  models::Code code = models::Code::kOptionConflict;

  /// Whether the input at `path` is of this kind. Throws FileError.
  bool matches(const std::string& path) const;
};

std::span<const InputKind> input_kinds();

/// Whether commands read `path` as a job of another tool: a folder, or the file that describes a
/// record.
bool is_foreign_path(const std::string& path);

/// Whether `path` holds a job of another tool. False for a folder of scenarios.
bool has_foreign_job(const std::string& path);

/// Reads the job at `path`; see InputKind::job. Throws InputError if `path` holds no job.
std::unique_ptr<const ForeignJob> read_foreign_job(const std::string& path, const Console& console);

/// Throws UsageError if `command` does not take the kind of the input at `path` as a scenario.
/// Throws FileError.
void require_scenario(const Command& command, const std::string& path);

}  // namespace pipesim::app
