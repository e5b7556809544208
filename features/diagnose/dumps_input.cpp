#include "features/diagnose/dumps_input.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/command.hpp"
#include "app/output/files.hpp"
#include "models/result/end_names.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence_input.hpp"
#include "features/diagnose/flight_recorder_file.hpp"
#include "features/diagnose/record_of_dumps.hpp"
#include "features/record/record_input.hpp"

namespace pipesim::app {
namespace {

// Throws InputError if the job hangs or if calls do not match, because dumps do not show the calls
// that would have followed.
void require_completed(const models::Evidence& evidence, const std::string& path) {
  const sim::Verdict verdict = models::diagnose(evidence).explanation.verdict;
  if (verdict == sim::Verdict::kCompleted || verdict == sim::Verdict::kLimit) return;
  const std::string word = models::verdict_name(verdict);
  throw InputError(
      models::Code::kRecordRanks,
      verdict == sim::Verdict::kMismatch
          ? fmt::format("calls in these dumps do not match each other ({})", word)
          : fmt::format("these dumps are of a job that did not complete ({})", word),
      fmt::format(
          "only dumps of a job that completed are a program; 'pipesim diagnose {}' explains "
          "these",
          path));
}

}  // namespace

bool has_dumps(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 16;
  std::vector<models::OutsideText> notes;
  const auto files = evidence_files({record_folder(path)}, formats::rank_of_dump, notes);
  if (files.empty()) return false;
  std::istringstream no_input;
  return recognised_format(read_file(files.front().path, no_input, kMaxBytes)) ==
         find_evidence_format("flight-recorder");
}

std::unique_ptr<const ForeignJob> read_dumped_job(const std::string& path, const Console& console) {
  const std::string folder = record_folder(path);
  DumpReading reading = read_calls(*find_evidence_format("flight-recorder"), {folder}, console);
  require_completed(reading.evidence, folder);
  models::DumpedRecord dumped = models::record_of_dumps(reading.evidence);
  if (!dumped.absent.empty()) {
    throw InputError(
        models::Code::kRecordRanks,
        fmt::format("no dump of rank {}: {} of {} ranks have one", dumped.absent.front(),
                    reading.evidence.ranks.size() - dumped.absent.size(),
                    reading.evidence.ranks.size()),
        "copy the dumps of all ranks into one folder");
  }
  const bool empty = std::all_of(dumped.record.ranks.begin(), dumped.record.ranks.end(),
                                 [](const auto& rank) { return rank.entries.empty(); });
  if (empty) {
    throw InputError(
        models::Code::kRecordRanks,
        "the dumps have no call in common: the ring buffers of the ranks do not overlap",
        "use larger ring buffers (TORCH_FR_BUFFER_SIZE), and dump all ranks at the same time");
  }
  std::vector<std::string> basis(reading.notes.begin(), reading.notes.end());
  basis.emplace_back(
      "dumps do not show what waits for a call: here the current stream waits for each at once "
      "('--set waits=off': nothing does)");
  if (dumped.left_out > 0) {
    basis.push_back(fmt::format(
        "{} left out, because the dumps of other ranks lack them (ring buffers keep only the last "
        "calls)",
        viz::counted(dumped.left_out, "call") + (dumped.left_out == 1 ? " is" : " are")));
  }
  return std::make_unique<RecordInput>(folder, std::move(dumped.record), std::move(basis));
}

}  // namespace pipesim::app
