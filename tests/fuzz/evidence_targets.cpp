// Fuzz targets that read evidence of real jobs. An input is several files, separated by lines
// "%%%": rank 0's file, rank 1's file and so on.
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/fuzz/target.hpp"
#include "viz/page/html_page.hpp"
#include "viz/pictures/wait_for_dot.hpp"

#include "features/diagnose/boxing_log_text.hpp"
#include "features/diagnose/boxing_reader.hpp"
#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/diagnosis_text.hpp"
#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/evidence_writer.hpp"
#include "features/diagnose/facts_reader.hpp"
#include "features/diagnose/flight_recorder_file.hpp"
#include "features/diagnose/job_places_text.hpp"
#include "features/diagnose/job_standing.hpp"
#include "features/diagnose/launch_log.hpp"
#include "features/diagnose/launch_log_reader.hpp"
#include "features/diagnose/launch_log_text.hpp"
#include "features/diagnose/nccl_log_reader.hpp"
#include "features/diagnose/pickle.hpp"
#include "features/diagnose/ras_reader.hpp"
#include "features/diagnose/record_of_dumps.hpp"
#include "features/diagnose/stack_evidence.hpp"
#include "features/diagnose/stack_groups_text.hpp"
#include "features/diagnose/stack_reader.hpp"
#include "features/record/record_scenario.hpp"

namespace pipesim::fuzz {
namespace {

// Limit for the report, which shows all ranks from 0 to the largest rank in the evidence.
constexpr std::size_t kMaxRanks = 2'000;

void explain(const models::Evidence& evidence) {
  if (evidence.ranks.size() > kMaxRanks) return;
  const models::Diagnosis diagnosis = models::diagnose(evidence);
  models::TaskGraph graph;
  graph.name = "input";
  graph.ranks = static_cast<std::uint32_t>(evidence.ranks.size());
  const models::Explanation& explanation = diagnosis.explanation;
  const viz::Report report{graph, explanation, {}, {}, diagnosis.waits, {}, {}};
  for (const bool all : {false, true}) {
    const std::string text = viz::diagnosis_text({evidence, diagnosis, {}, all}, {});
    require_printable(text);
    require(nlohmann::json::accept(viz::diagnosis_json({evidence, diagnosis, {}, all})),
            "what was written is no JSON");
    const std::string dot =
        viz::wait_for_dot(viz::wait_picture("input", explanation, diagnosis.waits, !all));
    require(dot.find('\x1b') == std::string::npos, "an escape in DOT");
    require_printable(viz::html_page(report, {"hangs", {}, text}, all));
  }
  const std::string scenario = formats::write_evidence_scenario(evidence, diagnosis);
  if (!scenario.empty()) require_scenario(scenario);
}

// Writes the calls of the ranks as programs, and prints the position of the job in these programs.
void run_again(const models::Evidence& evidence) {
  if (evidence.ranks.size() > kMaxRanks) return;
  const models::DumpedRecord dumped = models::record_of_dumps(evidence);
  if (!dumped.absent.empty()) return;
  for (const auto rules : {models::RecordRules::kGloo, models::RecordRules::kNccl}) {
    require_scenario(formats::record_scenario(dumped.record, rules, "dumps"));
  }
  const auto places = models::job_places(dumped.record, evidence);
  require_printable(viz::job_places_text(dumped.record, places));
}

void flight_recorder(const std::string& bytes) {
  std::vector<formats::FlightRecorderDump> dumps;
  std::set<std::uint32_t> ranks;
  std::uint32_t next = 0;
  for (const std::string& part : parts(bytes)) {
    models::Diagnostics diagnostics;
    auto dump = formats::read_flight_recorder(part, next++, diagnostics);
    require(dump.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
    show(diagnostics, part);
    if (!dump || !ranks.insert(dump->rank).second) continue;
    if (dump->rank > kMaxRanks) continue;
    dumps.push_back(std::move(*dump));
  }
  if (dumps.empty()) return;
  const models::Evidence evidence = formats::flight_recorder_evidence(dumps);
  explain(evidence);
  run_again(evidence);
}

void pickle(const std::string& bytes) {
  formats::PickleProblem problem;
  const auto document = formats::read_pickle(bytes, problem);
  require(document || problem.byte <= bytes.size(), "a problem behind the end");
}

void nccl_log(const std::string& bytes) {
  formats::NcclLogReader reader;
  bool any = false;
  for (const std::string& part : parts(bytes)) {
    models::Diagnostics diagnostics;
    any = reader.read(part, diagnostics) || any;
    show(diagnostics, part);
  }
  if (!any) return;
  reader.notes();
  models::Evidence evidence = reader.evidence();
  explain(evidence);
  if (reader.calls().empty()) return;
  reader.calls().notes();
  const models::Evidence calls = reader.call_evidence();
  if (calls.ranks.size() > kMaxRanks) return;
  const std::string scenario = reader.calls().scenario(models::diagnose(calls));
  if (!scenario.empty()) require_scenario(scenario);
  std::vector<models::OutsideText> notes;
  models::merge_evidence(evidence, calls, notes);
  explain(evidence);
}

void facts(const std::string& bytes) {
  formats::FactsReader reader;
  bool any = false;
  for (const std::string& part : parts(bytes)) {
    models::Diagnostics diagnostics;
    const bool read = reader.read(part, diagnostics, "facts.json");
    require(read != diagnostics.has_errors(), "read, and with errors; or neither");
    any = any || read;
    show(diagnostics, part);
  }
  if (!any) return;
  for (const std::string& note : reader.notes()) require_printable(note);
  explain(reader.evidence());
}

void ras(const std::string& bytes) {
  formats::RasReader reader;
  bool any = false;
  for (const std::string& part : parts(bytes)) {
    models::Diagnostics diagnostics;
    const bool read = reader.read(part, diagnostics);
    require(read != diagnostics.has_errors(), "read, and with errors; or neither");
    any = any || read;
    show(diagnostics, part);
  }
  if (!any) return;
  for (const std::string& note : reader.notes()) require_printable(note);
  for (const bool hangs : {false, true}) explain(reader.evidence(hangs));
}

void launch_log(const std::string& bytes) {
  formats::LaunchLogReader reader;
  std::uint32_t next = 0;
  bool any = false;
  for (const std::string& part : parts(bytes)) {
    models::Diagnostics diagnostics;
    const std::string path = "rank_" + std::to_string(next++) + ".log";
    any = reader.read(part, path, diagnostics) || any;
    show(diagnostics, part);
  }
  if (!any) return;
  const models::LaunchLog log = reader.take();
  if (log.ranks.size() > kMaxRanks) return;
  models::LaunchLogHints hints;
  hints.groups = {{0, 1}};
  const models::LaunchLogDiagnosis diagnosis = models::diagnose(log, hints);
  for (const bool all : {false, true}) {
    require_printable(viz::launch_log_text({log, diagnosis, {}, all}, {}));
    viz::launch_log_json({log, diagnosis, {}, all});
  }
}

void stacks(const std::string& bytes) {
  formats::StackReader reader;
  bool any = false;
  for (const std::string& part : parts(bytes)) {
    models::Diagnostics diagnostics;
    any = reader.read(part, "stacks", diagnostics) || any;
    show(diagnostics, part);
  }
  if (!any) return;
  const models::StackDumps dumps = reader.take();
  const models::StackDiagnosis diagnosis = models::diagnose(dumps);
  explain(models::stack_evidence(dumps, diagnosis));
  models::host_standings(dumps);
  for (const bool all : {false, true}) {
    require_printable(viz::stack_groups_text({dumps, diagnosis, {}, all}, {}));
    viz::stack_groups_json({dumps, diagnosis, {}, all});
  }
}

void boxing(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto rows = formats::read_boxing(bytes, diagnostics);
  require(rows.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!rows) return;
  for (const bool all : {false, true}) {
    const viz::BoxingReport report{"input", *rows, {}, all};
    require_printable(viz::boxing_log_text(report));
    require_printable(viz::boxing_log_json(report));
  }
}

}  // namespace

std::vector<Target> evidence_targets() {
  return {{"flight_recorder", flight_recorder},
          {"pickle", pickle},
          {"nccl_log", nccl_log},
          {"launch_log", launch_log},
          {"stacks", stacks},
          {"facts", facts},
          {"ras", ras},
          {"boxing", boxing}};
}

}  // namespace pipesim::fuzz
