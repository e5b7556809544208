// Only this list and the list of commands include features.
#include "app/input/input_kinds.hpp"

#include <array>

#include <fmt/format.h>

#include "features/algorithm/algorithm_input.hpp"
#include "features/diagnose/dumps_input.hpp"
#include "features/goal/goal_command.hpp"
#include "features/oneflow/oneflow_input.hpp"
#include "features/record/record_input.hpp"
#include "features/record/record_reader.hpp"

namespace pipesim::app {
namespace {

struct ForeignKind {
  bool (*matches)(const std::string& path);
  std::unique_ptr<const ForeignJob> (*read)(const std::string& path, const Console& console);
};

constexpr std::array<ForeignKind, 2> kForeignKinds = {{
    {has_record, read_record_job},
    {has_dumps, read_dumped_job},
}};

constexpr std::array<ImportKind, 1> kImportKinds = {{{"oneflow-plan", oneflow_scenario}}};

constexpr std::array<RunKind, 1> kRunKinds = {{{takes_goal, run_goal}}};

const ForeignKind* foreign_kind_of(const std::string& path) {
  for (const ForeignKind& kind : kForeignKinds) {
    if (kind.matches(path)) return &kind;
  }
  return nullptr;
}

}  // namespace

bool is_foreign_path(const std::string& path) { return is_record_path(path); }

bool has_foreign_job(const std::string& path) {
  return is_foreign_path(path) && foreign_kind_of(path) != nullptr;
}

std::unique_ptr<const ForeignJob> read_foreign_job(const std::string& path,
                                                   const Console& console) {
  const ForeignKind* kind = foreign_kind_of(path);
  if (kind == nullptr) {
    throw InputError(models::Code::kRecordRanks,
                     fmt::format("'{}' is a directory without {}: expected a record written by "
                                 "'pipesim record', or Flight Recorder dumps",
                                 path, formats::kRecordFile));
  }
  return kind->read(path, console);
}

std::span<const ImportKind> import_kinds() { return kImportKinds; }

std::span<const RunKind> run_kinds() { return kRunKinds; }

void require_scenario(const std::string& path) { refuse_algorithm(path); }

}  // namespace pipesim::app
