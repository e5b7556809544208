#include "features/diagnose/evidence_format.hpp"

#include <algorithm>

#include "features/diagnose/debug_page.hpp"
#include "features/diagnose/evidence_input.hpp"
#include "features/record/attached_file.hpp"

namespace pipesim::app {

namespace {

// Returns the parts of lines by which a log is recognized.
std::vector<Mark> marks_of_logs() {
  return {{"WorkNCCL("},
          {"NCCL INFO "},
          {"NCCL WARN "},
          {"NCCL work: "},
          {"last enqueued work: "},
          {"WorkHCCL("},
          {"HCCL work: "},
          {"ProcessGroupHCCL.cpp"},
          {"ProcessGroupNCCL.cpp"},
          {"ProcessGroupNCCL failed"},
          {"missing ranks: {"},
          {"Culprit rank "},
          {"--- Collectives ---"},
          {"failed to pass monitoredBarrier"},
          {"Detected mismatch between collectives"},
          {"Root Cause (first observed failure)"},
          {"mpirun noticed that process rank "},
          {"terminate called after throwing"},
          {"stall_inspector.cc"},
          {"server socket has failed to "},
          {"while trying to connect to "},
          {"client socket has failed to connect"},
          {"client failed to connect/validate"},
          {"waiting for clients. "},
          {"waiting for all participants to arrive at rendezvous"},
          {"This thread has been waiting for `"},
          {": Traceback (most"},
          {"]:Traceback (most"}};
}

}  // namespace

std::span<const EvidenceFormat> evidence_formats() {
  static const std::vector<EvidenceFormat> kFormats = {
      {.name = "flight-recorder",
       .about = "dumps of PyTorch's Flight Recorder, JSON or pickled: one file per rank, whose "
                "name ends with the rank, or the table of 'torchfrtrace -j -v'. Nothing in a "
                "pickle is executed",
       .text_marks = {{"collective_seq_id | p2p_seq_id=", 1}, {"(input_sizes=[", 2}},
       .json_marks = {{"\"entries\"", 1}, {"\"version\"", 1}},
       .pickled = true,
       .large = true,
       .read = read_flight_recorder},
      {.name = "attach",
       .about = "a folder of 'pipesim attach': the calls of each rank, with their lines",
       .text_marks = {},
       .large = true,
       .read = read_attached},
      {.name = "nccl-log",
       .about = "the output of a PyTorch job: the watchdog's timeouts, and NCCL's own lines",
       .text_marks = marks_of_logs(),
       .large = true,
       .read = read_nccl_logs},
      {.name = "oneflow",
       .about = "logs with a line before and after each launch, of all ranks together or one file "
                "per rank: OneFlow's with glog, or those of 'pipesim run --log'",
       .shows = Shows::kLaunches,
       .text_marks = {{" before: ", 1}, {" after: ", 1}, {"before: ", 3}, {"after: ", 3}}},
      {.name = "boxing",
       .about = "OneFlow's boxing log (CSV): partial sums made from broadcasts",
       .shows = Shows::kBoxings,
       .text_marks = {{"src_op_name,"}, {"Boxing route: "}}},
      {.name = "stacks",
       .about = "stacks of all ranks as 'py-spy dump' prints them, also collected by srun or pdsh, "
                "or those of 'pipesim run --stacks'; also py-spy's JSON, faulthandler's and gdb's: "
                "finds stragglers",
       .shows = Shows::kStacks,
       .text_marks = {{"\nPython v3.", -1},
                      {"Thread debugging using libthread_db", -1},
                      {"Thread ", 2},
                      {"(most recent call first)", 2},
                      {"=== Rank ", 2},
                      {"\"thread_id\"", 2}}},
      {.name = "facts",
       .about = "facts.json of 'pipesim collect': the processes of the ranks, and which are gone",
       .text_marks = {},
       .json_marks = {{"\"pipesim_facts\""}},
       .read = read_facts},
      {.name = "ras",
       .about = "reports of NCCL's RAS ('ncclras -v', or '-f json'): which ranks lag",
       .text_marks = {{"Communicators... ("}},
       .json_marks = {{"\"communicators\""}},
       .is_last = true,
       .read = read_ras},
  };
  return kFormats;
}

std::vector<std::string> evidence_names() {
  std::vector<std::string> names;
  for (const EvidenceFormat& format : evidence_formats()) names.push_back(format.name);
  return names;
}

const EvidenceFormat* find_evidence_format(std::string_view name) {
  for (const EvidenceFormat& format : evidence_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

const EvidenceFormat* recognised_format(std::string_view text) {
  constexpr char kPickle = '\x80';
  if (text.starts_with(formats::kAttachedMagic)) return find_evidence_format("attach");
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return nullptr;
  if (text[first] == '<' && formats::has_trace_tables(text))
    return find_evidence_format("nccl-log");
  if (text[first] == '<' && formats::is_debug_page(text)) {
    const std::vector<formats::DebugPagePart> parts = formats::debug_page_parts(text);
    return parts.empty() ? nullptr : recognised_format(parts.front().text);
  }
  const EvidenceFormat* best = nullptr;
  int level = 0;
  for (const EvidenceFormat& format : evidence_formats()) {
    if (text[first] == kPickle && format.pickled) return &format;
    for (const Mark& mark : text[first] == '{' ? format.json_marks : format.text_marks) {
      const bool is_better = best == nullptr || mark.level < level;
      if (!is_better || text.find(mark.text) == std::string_view::npos) continue;
      best = &format;
      level = mark.level;
    }
  }
  return best;
}

}  // namespace pipesim::app
