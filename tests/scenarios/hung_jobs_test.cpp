// Evidence of jobs that really hung: each folder gives the verdict that its expected.txt states,
// and no part of the evidence gives a false one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"
#include "tests/twin/random.hpp"

using namespace pipesim;
using nlohmann::json;
using testing::command;
using testing::contains;
using Ranks = std::set<int>;
using Texts = std::vector<std::string>;

namespace {

/// The words that the report of some evidence must and must not have.
struct EvidenceOfJob {
  std::string evidence;  // path below ../shared/data
  std::string verdict;
  Texts says{};
  Texts never{};
};

// Returns the text with single spaces in place of line ends and indentation.
std::string unwrapped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!result.empty() && result.back() != ' ')) result += blank ? ' ' : c;
  }
  return result;
}

void check(const std::vector<EvidenceOfJob>& all) {
  for (const EvidenceOfJob& it : all) {
    const auto found = command({"diagnose", testing::shared_data(it.evidence)});
    INFO(it.evidence << "\n" << found.out << found.err);
    const std::string text = unwrapped(found.out);
    CHECK(contains(text, " " + it.verdict + " "));
    for (const std::string& part : it.says) {
      INFO(part);
      CHECK(contains(text, part));
    }
    for (const std::string& part : it.never) {
      INFO(part);
      CHECK_FALSE(contains(text, part));
    }
    const bool undecided =
        it.verdict == "UNDECIDED" || it.verdict == "ALL ALIKE" || it.verdict == "DIFFERENT WAITS";
    CHECK(found.code == (undecided ? 3 : 1));
  }
}

// Returns the ranks that a diagnosis blames.
Ranks blamed_ranks(const json& found) {
  Ranks ranks;
  if (found.contains("root_ranks")) {
    for (const json& rank : found["root_ranks"]) ranks.insert(rank.get<int>());
    return ranks;
  }
  for (const json& root : found["roots"]) {
    if (root["reason"] != "unexplained") ranks.insert(root["rank"].get<int>());
  }
  for (const json& wait : found["cycle"]) ranks.insert(wait["rank"].get<int>());
  return ranks;
}

/// A job that hung, and the ranks that its faults concern: only these may be blamed.
struct HungJob {
  std::string folder;
  Ranks truth;
  bool differs = false;  // whether calls of the job differ: a mismatch is then right
};

const std::vector<HungJob> kJobs = {
    {"01_gloo_no_config", {0, 1}},
    {"03_recv_cycle_dumps_and_stacks", {0, 1, 2}},
    {"05_debug_page_fr_json", {1}, true},
    {"07_native_addresses", {0, 1, 2}},
    {"09_gloo_timeout_is_not_own_error", {1}, true},
    {"11_self_mismatch", {}},
    {"13_first_error_is_the_printed_one", {1}},
    {"15_future_result", {2}},
    {"17_gdb_gloo", {1}},
    {"19_warning_taken_as_error", {3}},
    {"21_data_loader", {3}},
    {"23_gloo_sizes_abort", {1}},
    {"25_recv_from_any", {0, 1}},
    {"27_gloo_timed_out_is_retired", {1}},
    {"29_stack_line_taken_as_error", {2}},
    {"31_wait_tensor", {0}},
    // Rank 2 never reaches the barrier: it waits for a send that rank 1 omits.
    {"33_timeout_makes_a_victim_the_root", {1, 2}},
    {"35_torchrun_root_cause", {2}},
};

/// A piece of evidence: a file, or lines of one rank in a file.
struct Piece {
  std::string file;
  std::string text;
};

std::string label_of_line(const std::string& line) {
  const std::size_t end = line.find("]:");
  return line.starts_with("[default") && end != std::string::npos ? line.substr(0, end + 2) : "";
}

// Splits the evidence of a job. Lines of a log belong to the rank in their label.
std::vector<Piece> pieces_of(const std::string& folder) {
  std::vector<Piece> pieces;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const std::string name = file.filename().string();
    const std::string text = testing::file_text(file.string());
    if (!name.ends_with(".log")) {
      pieces.push_back({name, text});
      continue;
    }
    std::map<std::string, std::string> of_label;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      of_label[label_of_line(line)] += line + "\n";
      begin = end + 1;
    }
    for (const auto& [label, lines] : of_label) pieces.push_back({name, lines});
  }
  return pieces;
}

std::uint64_t wanted_subsets() {
  constexpr std::uint64_t kEvidenceSubsets = 60;
  const char* value = std::getenv("PIPESIM_EVIDENCE_SUBSETS");
  return value == nullptr ? kEvidenceSubsets : std::strtoull(value, nullptr, 10);
}

void check_part(const HungJob& job, const std::vector<Piece>& part) {
  const testing::Folder folder;
  std::map<std::string, std::string> files;
  std::string names;
  for (const Piece& piece : part) {
    files[piece.file] += piece.text;
    names += " " + piece.file + " (" + label_of_line(piece.text) + ")";
  }
  for (const auto& [name, text] : files) folder.write("e/" + name, text);
  const auto ran = command({"diagnose", folder / "e", "--json"});
  INFO(job.folder << names << "\n" << ran.out << ran.err);
  if (ran.code == 2) return;  // some pieces say nothing
  REQUIRE((ran.code == 1 || ran.code == 3));
  const json found = json::parse(ran.out);
  const Ranks ranks = blamed_ranks(found);
  CHECK(std::includes(job.truth.begin(), job.truth.end(), ranks.begin(), ranks.end()));
  CHECK((job.differs || found["verdict"] != "mismatch"));
}

}  // namespace

TEST_CASE("dumps of hung jobs give what they show", "[diagnose][shared]") {
  if (testing::shared_data("").empty()) return;
  check({
      {"hung_jobs/01_gloo_no_config/evidence",
       "UNDECIDED",
       {"nothing shows who else is in the groups in which ranks 0 and 1 wait",
        "not called by ranks 0 and 1, called by rank 2"},
       {"all members called", "check the devices", "xid"}},
      {"hung_jobs/03_recv_cycle_dumps_and_stacks/evidence",
       "UNDECIDED",
       {"Ranks 0 to 2 wait in recv, called in sendrecv_cycle (jobs.py:71).",
        "Dumps of gloo record no sends"}},
      {"hung_jobs/05_debug_page_fr_json/evidence",
       "MISMATCH",
       {"3 ranks", "does not match broadcast pg0#3 on rank 1"}},
      {"hung_jobs/11_self_mismatch/evidence", "UNDECIDED", {}, {"does not match"}},
      {"hung_jobs/25_recv_from_any/evidence",
       "DEADLOCK",
       {"recv from any pg0#1 (running)"},
       {"No dump from"}},
      {"hung_jobs/27_gloo_timed_out_is_retired/evidence",
       "HANGS",
       {"The job waits for rank 1.", "1 call not done",
        "Rank 0's all_reduce pg0#3 is over, but cannot be done", "Next:"},
       {"#3 #3"}},
      {"hung_jobs/21_data_loader/evidence",
       "HANGS",
       {"The job waits for rank 3, whose host waits in its data loader (_try_get_data), called in "
        "loader (jobs.py:100).",
        "where are its data workers?"},
       {"selectors.py"}},
  });
}

TEST_CASE("stacks of hung jobs give what they show", "[diagnose][shared]") {
  if (testing::shared_data("").empty()) return;
  check({
      {"hung_jobs/07_native_addresses/evidence",
       "ALL ALIKE",
       {"1 different stack", "waits in a message: recv"},
       {"in a collective"}},
      {"hung_jobs/15_future_result/evidence",
       "DIFFERENT WAITS",
       {"ranks 0, 1 and 3 checkpoint_0 waits in a collective: all_gather",
        "rank 2 MainThread waits in a collective: all_reduce"},
       {"look first"}},
      {"hung_jobs/17_gdb_gloo/evidence",
       "STRAGGLERS",
       {"look first at rank 1", "rank 0 pt_gloo_runloop waits in a collective: all_reduce",
        "rank 1 MainThread waits for a lock"}},
      {"hung_jobs/31_wait_tensor/evidence",
       "DIFFERENT WAITS",
       {"rank 0 MainThread waits in a collective: wait_tensor",
        "ranks 1 to 3 MainThread waits in a collective: barrier"}},
      {"faults3/py_min.txt", "ALL ALIKE", {"waits in a collective: all_gather_into_tensor"}},
      {"faults3/py_min_hook.txt", "ALL ALIKE", {"Dummy-2 waits in a collective"}},
      {"faults3/py_full.txt", "ALL ALIKE", {"backward waits in a collective"}},
      {"faults3/launcher.txt", "ALL ALIKE", {"1 process is left out", "process 11, process 12"}},
      {"faults3/ray_min.txt", "ALL ALIKE", {"process 200 MainThread waits in a collective"}},
      {"faults3/ray_cmd.txt", "ALL ALIKE", {"step (train.py:88)"}},
      {"faults3/ray_pod.txt", "ALL ALIKE", {"step (train.py:88)"}},
      {"faults3/py_graph.txt", "ALL ALIKE", {"backward waits in a collective: all_gather_into"}},
      {"faults3/py_min_idle.txt", "ALL ALIKE", {"backward waits in a collective: all_gather_into"}},
      {"faults3/py_named.txt", "ALL ALIKE", {"backward waits in a collective: all_gather_into"}},
      {"faults3/ray_strip.txt", "ALL ALIKE", {"process 200 MainThread waits in a collective"}},
      {"faults3/ray_w.txt", "ALL ALIKE", {"process 200 MainThread waits in a collective"}},
      {"faults3/one.txt", "ALL ALIKE", {"the stack of one rank"}, {"All ranks are in the same"}},
      {"reports/KempnerForge_104",
       "ALL ALIKE",
       {"Two threads are in collectives at once on rank 0: MainThread in barrier, "
        "AsyncCheckpointExecutor_0 in",
        "on rank 1: MainThread in barrier, AsyncCheckpointExecutor_0 in"}},
      {"reports/own_stacks_native", "DIFFERENT WAITS", {"waits in a collective: barrier"}},
  });
}

TEST_CASE("logs of hung jobs give what they show", "[diagnose][shared]") {
  if (testing::shared_data("").empty()) return;
  const Texts no_errors = {"error of its own", "raised an error"};
  const Texts mila = {"rank 14 is in reduce#2070", "rank 11 is in reduce#2070",
                      "rank 15 is in reduce#2070"};
  check({
      {"hung_jobs/09_gloo_timeout_is_not_own_error/evidence",
       "UNDECIDED",
       {"rank 1 waits in broadcast, called in other_op (jobs.py:64)",
        "ank 2 waits in all_reduce, called in other_op (jobs.py:65)"},
       no_errors},
      {"hung_jobs/13_first_error_is_the_printed_one/evidence",
       "UNDECIDED",
       {"Rank 1 waits in barrier, called in raised_barrier (jobs.py:96)."},
       no_errors},
      {"hung_jobs/19_warning_taken_as_error/evidence",
       "HANGS",
       {"The job waits for rank 3."},
       no_errors},
      {"hung_jobs/23_gloo_sizes_abort/evidence",
       "HANGS",
       {"The job waits for rank 1, whose process ended: exit code -6 (SIGABRT) at "
        "2026-11-26_13:55:32",
        "2048 vs 2000. Received data size doesn't match expected size.",
        "Lost the connection to a peer in all_gather, called in sizes (jobs.py:58): ranks 0, 2"}},
      {"hung_jobs/29_stack_line_taken_as_error/evidence",
       "HANGS",
       {"The job waits for rank 2."},
       no_errors},
      {"hung_jobs/33_timeout_makes_a_victim_the_root/evidence",
       "UNDECIDED",
       {"rank 2: it has not called barrier monitoredBarrier#1",
        "rank 2's host waits in a recv, called in batch_p2p (jobs.py:211)"},
       {"error of its own", "The job waits for", "whose process ended"}},
      {"hung_jobs/35_torchrun_root_cause/evidence",
       "HANGS",
       {"The job waits for rank 2, whose process ended: exit code -9 (SIGKILL) at "
        "2026-11-26_14:39:20."}},
      {"faults3/calls_min.log",
       "UNDECIDED",
       {"do not show whether the job hangs", "look at rank 1 first"},
       {"The job waits for"}},
      {"faults3/a.log", "UNDECIDED", {"rank 9 is in _all_gather_base pg37#49387"}},
      {"faults3/c.log", "UNDECIDED", {"rank 9 is in _all_gather_base pg37#49387", "has 2 members"}},
      {"faults3/detail_new.log",
       "UNDECIDED",
       {"rank 0 all_reduce [41] Float#5 and rank 1 all_reduce [40] Float#5"}},
      {"faults3/jotr_unbroken.log", "MISMATCH", {"41x256x8x8x8 and 40x256x8x8x8"}},
      {"faults3/wrap_label.log", "UNDECIDED", {"rank 1 is in reduce#2070"}},
      {"faults3/mila_one.log", "UNDECIDED", {"rank 14 is in reduce#2070"}},
      // One job, with and without labels and broken lines: each form says the same.
      {"faults3/mila_node_only.log", "UNDECIDED", mila},
      {"faults3/mila_nolabel.log", "UNDECIDED", mila},
      {"faults3/mila_short_label.log", "UNDECIDED", mila},
      {"faults3/mila_unbroken.log", "UNDECIDED", mila},
      {"faults3/wrap_nolabel.log", "UNDECIDED", {"rank 1 is in reduce#2070"}},
      {"faults3/b.log", "UNDECIDED", {"rank 9 is in _all_gather_base pg37#49387"}},
      {"faults3/d.log", "UNDECIDED", {"rank 9 is in _all_gather_base pg37#49387"}},
      // All ranks of 32 but one have written a line.
      {"faults3/wd31.log", "UNDECIDED", {"look at rank 21 first", "all_reduce pg0#59"}},
      {"reports/accelerate_3250",
       "UNDECIDED",
       {"_reduce_scatter_base pg0#122", "_all_gather_base pg0#126"},
       {"no longer reports", "dmesg"}},
      {"reports/jax_6896",
       "UNDECIDED",
       {"look at rank 2 first", "no line shows that device 2 has arrived"}},
      {"reports/lightning_5155",
       "DEADLOCK",
       {"Horovod waits for rank 0 to submit broadcast.bool.sz",
        "Horovod waits for rank 1 to submit allreduce.c_d1.bias"}},
      {"reports/ms-swift_10183",
       "MISMATCH",
       {"rank 2's broadcast pg0#7219 does not match broadcast pg0#7219 on rank 3",
        "24084544 and 64"}},
      {"reports/vlm-training_26",
       "UNDECIDED",
       {"16 ranks", "look at ranks 0 to 8 and 10 to 15 first"}},
  });
}

TEST_CASE("reports of RAS, and evidence of several kinds, give what they show",
          "[diagnose][shared]") {
  if (testing::shared_data("").empty()) return;
  check({
      {"faults3/ras1.txt", "UNDECIDED", {"look at ranks 21 and 22 first"}, {"sees nothing wrong"}},
      {"faults3/ras2.txt", "UNDECIDED", {"look at ranks 21 and 22 first"}, {"sees nothing wrong"}},
      {"faults3/ras3.txt", "UNDECIDED", {"look at rank 21 first"}},
      {"faults3/fin.txt",
       "UNDECIDED",
       {"4 ranks have status RUNNING", "2 ranks have status FINALIZE"},
       {"did not answer", "sees nothing wrong"}},
      {"faults3/n1730_ras.txt", "UNDECIDED", {"RAS sees nothing wrong", "256 ranks"}},
      {"faults3/fin_min.txt", "UNDECIDED", {"Rank 3 has status FINALIZE"}, {"did not answer"}},
      {"faults3/fin_min2.txt", "UNDECIDED", {"Rank 3 has status INIT"}, {"did not answer"}},
      {"reports/pytorch_196968/evidence",
       "HANGS",
       {"The job waits for rank 1, which raised an error.", "1 call not done",
        "RuntimeError: local failure", "rank 1's host waits in destroy_process_group"},
       {"process ended"}},
  });
}

TEST_CASE("a report in which all ranks launched as many leaves no suspect", "[diagnose][shared]") {
  if (testing::shared_data("").empty()) return;
  const auto found = command({"diagnose", testing::shared_data("faults3/n1730.log"),
                              testing::shared_data("faults3/n1730_ras.txt")});
  INFO(found.out << found.err);
  const std::string text = unwrapped(found.out);
  CHECK(found.code == 3);
  CHECK(contains(text, "256 ranks"));
  CHECK(contains(text, "xid"));
  CHECK_FALSE(contains(text, "look at ranks"));
}

TEST_CASE("no part of the evidence of a hung job blames a rank that is innocent",
          "[diagnose][shared]") {
  if (testing::shared_data("").empty()) return;
  twin::Random random(1);
  const std::uint64_t wanted = wanted_subsets();
  std::vector<std::vector<Piece>> pieces;
  for (const HungJob& job : kJobs) {
    pieces.push_back(pieces_of(testing::shared_data("hung_jobs/" + job.folder + "/evidence")));
  }
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const std::size_t job = i % kJobs.size();
    std::vector<Piece> part = pieces[job];
    random.shuffle(part);
    part.resize(static_cast<std::size_t>(random.between(1, static_cast<int>(part.size()))));
    check_part(kJobs[job], part);
  }
}
