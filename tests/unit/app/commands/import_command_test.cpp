// `pipesim import torch-schedule` and `pipesim run FILE.csv` from the command line.
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::CommandResult;
using testing::contains;

namespace {

const std::string kRows = "0F0,0F1,,0B0,,0B1\r\n,1F0,1B0,1F1,1B1\r\n";
const std::string kLowered =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\r\n"
    "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\r\n";

// kRows lowered by its slots: the empty slot lets rank 0 send twice before rank 1 starts.
const std::string kLoweredWithSlots =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\r\n"
    "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\r\n";

// Returns what an imported record shares with its record: names, and the number of waits and steps,
// differ.
nlohmann::json answer_of(const nlohmann::json& report) {
  nlohmann::json answer;
  for (const char* key : {"answer", "reading", "readings", "some_hang", "some_complete", "stopped",
                          "buffered_bytes", "method", "orders"}) {
    answer[key] = report.value(key, nlohmann::json());
  }
  for (nlohmann::json& reading : answer["readings"]) reading.erase("why");
  answer["rests_on"] = report.value("rests_on", nlohmann::json::array());
  answer["verdict"] = report.at("own_times").at("verdict");
  answer["time_ns"] = report.at("own_times").at("time_ns");
  return answer;
}

}  // namespace

TEST_CASE("an imported schedule runs, and as the file itself does", "[app][import_command]") {
  const testing::Folder folder;
  const std::string path = folder / "rows.csv";
  std::ofstream(path, std::ios::binary) << kRows;
  const CommandResult imported = command({"import", "torch-schedule", path});
  CHECK(imported.code == 0);
  CHECK(imported.err.empty());
  const CommandResult ran = command({"run", "-", "--set", "forward=2us"}, imported.out);
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "The schedule takes 18 us"));
  // The reports are identical except for the command in the last line.
  const std::string both = ran.out.substr(0, ran.out.find("pipesim "));
  CHECK(contains(command({"run", path, "--set", "forward=2us"}).out, both));
}

TEST_CASE("a schedule file is written again with what PyTorch adds", "[app][import_command]") {
  const auto csv = [](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"import", "torch-schedule", "-", "--csv"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return command(arguments, kRows).out;
  };
  CHECK(csv({}) == kRows);
  CHECK(csv({"--lower"}) == kLoweredWithSlots);
  CHECK(csv({"--lower", "--fsdp"}) ==
        "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\r\n"
        "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD,1RESHARD\r\n");
}

TEST_CASE("the schedule that ran is written with its messages", "[app][import_command]") {
  const testing::Folder folder;
  const std::string path = folder / "written.csv";
  const std::string text =
      "schema: 1\nschedule: {rows: [\"0F0,0F1,0B0,0B1\", \"1F0,1B0,1F1,1B1\"]}\n";
  CHECK(command({"run", "-", "--schedule", path}, text).code == 0);
  CHECK(testing::file_text(path) == kLowered);
  const std::string none = "schema: 1\nprograms: {do: [{compute: k}]}\n";
  const CommandResult refused = command({"run", "-", "--schedule", path}, none);
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "--schedule: the scenario has no pipeline schedule"));
}

TEST_CASE("mistakes of an import are reported with their place", "[app][import_command]") {
  const CommandResult bad = command({"import", "torch-schedule", "-"}, "0F0,0B0\n1F0,1X0\n");
  CHECK(bad.code == 2);
  CHECK(bad.out.empty());
  CHECK(contains(bad.err, "standard input:2:5: error[E0802]: '1X0' is not an action\n"));
  CHECK(contains(command({"import"}).err,
                 "needs a format and a file\n  help: possible values: torch-schedule"));
  CHECK(contains(command({"import", "goal", "x"}).err, "unknown format 'goal'"));
  CHECK(contains(command({"import", "torch-schedule"}).err, "takes one file"));
  CHECK(contains(command({"import", "torch-schedule", "-", "--fsdp"}).err,
                 "'--fsdp' needs '--lower'"));
  CHECK(command({"import", "torch-schedule", "/nowhere.csv"}).code == 74);
  CHECK(contains(command({"import", "--help"}).out, "torch-schedule FILE"));
}

TEST_CASE("the last rows of a log are imported with --partial", "[app][import_command]") {
  // Before the rows begin, micro-batch 0 went forward on both ranks and its gradient came back.
  const std::string rows = "0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F1,1F1,1B1,1SEND_B1\n";
  const CommandResult whole = command({"import", "torch-schedule", "-"}, rows);
  CHECK(whole.code == 2);
  CHECK(contains(whole.err, "import the file with --partial"));
  const CommandResult imported = command({"import", "torch-schedule", "-", "--partial"}, rows);
  CHECK(imported.code == 0);
  CHECK(contains(imported.out, "partial: on"));
  const CommandResult run = command({"run", "-", "--set", "forward=2us"}, imported.out);
  CAPTURE(run.out, run.err);
  CHECK(run.code == 0);
  // 0F1 2 us, 1F1 2 us, 1B1 4 us, 0B1 4 us; 0B0 runs at the same time.
  CHECK(contains(run.out, "COMPLETED at 12 us"));
  CHECK(contains(command({"import", "record", "x", "--partial"}).err,
                 "'--partial' is for 'pipesim import torch-schedule'"));
}

TEST_CASE("an imported record says what its answer rests on", "[app][import_command]") {
  const std::string record = "tests/golden/check_record/gloo";
  const CommandResult imported = command({"import", "record", record});
  CHECK(contains(imported.out,
                 "rests_on:\n  - \"the record of ranks 0..3 ends early: nothing could be delivered "
                 "any more\"\n"));
  const std::string said =
      "assumes         the record of ranks 0..3 ends early: nothing could be delivered\n"
      "                any more\n";
  CHECK(contains(command({"check", record}).out, said));
  CHECK(contains(command({"check", "-"}, imported.out).out, said));
  CHECK(contains(command({"check", "-", "--json"}, imported.out).out,
                 "\"the record of ranks 0..3 ends early: nothing could be delivered any more\""));
}

// `check` cannot decide some of these records: the record ends early, or several threads make
// calls.
TEST_CASE("an imported record has the answer of the record", "[app][import_command]") {
  for (const std::string record :
       {"check_record_cut/killed", "check_record_threads/race", "check_record_threads/crossing",
        "check_record_steps/steps", "check_record/gloo", "check_record/nccl"}) {
    for (const std::string rules : {"gloo", "nccl"}) {
      CAPTURE(record, rules);
      const std::string path = "tests/golden/" + record;
      const CommandResult imported = command({"import", "record", path, "--rules", rules});
      REQUIRE(imported.code == 0);
      const CommandResult of_record = command({"check", path, "--rules", rules, "--json"});
      const CommandResult of_scenario = command({"check", "-", "--json"}, imported.out);
      CHECK(of_scenario.code == of_record.code);
      CHECK(answer_of(nlohmann::json::parse(of_scenario.out)) ==
            answer_of(nlohmann::json::parse(of_record.out)));
    }
  }
}

TEST_CASE("a scenario that does not say enough is undecided", "[app][import_command]") {
  const std::string head = "schema: 1\nundecided: {proved: it ends early, hang: threads race}\n";
  const auto answer = [&](const std::string& programs) {
    const CommandResult result = command({"check", "-"}, head + programs);
    CHECK(result.code == 3);
    return result.out;
  };
  CHECK(contains(answer("programs: {do: [{compute: k}]}\n"), "UNDECIDED: it ends early "));
  CHECK(contains(answer("programs: {do: [{get: k}]}\n"), "UNDECIDED: threads race "));
}

TEST_CASE("an imported plan of OneFlow runs", "[app][import_command]") {
  const std::string plan = "tests/golden/import_plan/job_step_plan";
  const CommandResult imported = command({"import", "oneflow-plan", plan});
  CHECK(imported.code == 0);
  CHECK(imported.err.empty());
  CHECK(contains(command({"run", "-"}, imported.out).out, "COMPLETED at 165 us"));
  const CommandResult cut =
      command({"import", "oneflow-plan", "-"}, testing::file_text(plan).substr(0, 100));
  CHECK(cut.code == 2);
  CHECK(cut.out.empty());
  CHECK(contains(cut.err, "standard input:3:10: error[E1106]: 'task_ty' needs ':'"));
  CHECK(contains(command({"import", "oneflow-plan"}).err, "'pipesim import oneflow-plan' takes"));
  CHECK(contains(command({"import", "oneflow-plan", plan, "--csv"}).err,
                 "'--csv' is for 'pipesim import torch-schedule'"));
}
