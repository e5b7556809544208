// Our own samples; PyTorch's own cases, with the assertions of its analyzer; and two real hangs of
// 16 ranks, with faults injected into known ranks.
#include "features/diagnose/flight_recorder_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence_calls.hpp"

using namespace pipesim;
using formats::FlightRecorderDump;
using models::CheckResult;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads the dumps in `folder` whose names end with `ending` or, if `ending` is empty, with a
// number.
models::Evidence evidence_of(const std::string& folder, const std::string& ending) {
  std::vector<FlightRecorderDump> dumps;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const auto rank = formats::rank_of_dump(path);
    if (!rank || entry.path().extension() != ending) continue;
    models::Diagnostics diagnostics;
    const auto dump = formats::read_flight_recorder(text_of(path), rank, diagnostics);
    INFO(path);
    REQUIRE(dump);
    dumps.push_back(*dump);
  }
  std::sort(dumps.begin(), dumps.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return formats::flight_recorder_evidence(dumps);
}

std::set<std::uint32_t> roots_of(const models::Diagnosis& diagnosis) {
  std::set<std::uint32_t> ranks;
  for (const models::DiagnosisRoot& root : diagnosis.roots) ranks.insert(root.rank);
  return ranks;
}

std::string dump_problem(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto dump = formats::read_flight_recorder(text, 3, diagnostics);
  if (dump) return "read";
  REQUIRE(diagnostics.sorted().size() == 1);
  const models::Diagnostic found = diagnostics.sorted().front();
  return std::to_string(found.place.line) + ":" + std::to_string(found.place.column) + " " +
         found.message;
}

std::string entry(const std::string& fields) {
  return R"({"version":"2.9","entries":[{)" + fields + "}]}";
}

// Returns, for each collective, whether it matched, as `check` in EXPECTED.json lists it.
std::vector<bool> passed(const std::vector<models::CollectiveCheck>& checks) {
  std::vector<bool> result;
  for (const auto& check : checks) result.push_back(check.result == CheckResult::kMatched);
  return result;
}

}  // namespace

TEST_CASE("the rank of a dump is in its name", "[formats][flight_recorder_file]") {
  using formats::rank_of_dump;
  CHECK(rank_of_dump("/tmp/nccl_trace_rank_3") == 3);
  CHECK(rank_of_dump("_dump_12.json") == 12);
  CHECK(rank_of_dump("a/17.pickle") == 17);
  CHECK(rank_of_dump("9/fault_injection.log") == std::nullopt);
  CHECK(rank_of_dump("EXPECTED.json") == std::nullopt);
  CHECK(rank_of_dump("rank_99999999999") == std::nullopt);
}

TEST_CASE("mistakes of a dump say where", "[formats][flight_recorder_file]") {
  CHECK(dump_problem("") == "1:1 truncated Flight Recorder dump: it ends too early");
  CHECK(dump_problem("{\"version\":\n\"2.9\", \"ent") ==
        "2:12 truncated Flight Recorder dump: it ends too early");
  CHECK(dump_problem("{\"version\" 3}") == "1:12 not a Flight Recorder dump: invalid JSON");
  CHECK(dump_problem("{}") == "0:0 not a Flight Recorder dump: it has no 'version'");
  CHECK(dump_problem("[]") == "0:0 not a Flight Recorder dump: it has no 'version'");
  CHECK(dump_problem(R"({"version":"2.9"})") ==
        "0:0 not a Flight Recorder dump: it has neither 'pg_config' nor 'entries'");
  CHECK(dump_problem(R"({"version":"2.9","entries":3})") == "1:28 'entries' must be a list");
  CHECK(dump_problem(R"({"version":"2.9","entries":[3]})") == "1:29 entry 1 must be a map");
  CHECK(dump_problem(entry("")) == "1:29 entry 1 has no 'process_group'");
  CHECK(dump_problem(entry(R"("process_group":["0","dp"])")) ==
        "1:29 entry 1 has no 'profiling_name'");
  const std::string named = R"("process_group":["0","dp"],"profiling_name":)";
  CHECK(
      dump_problem(entry(named + R"("nccl:send 1")")) ==
      "1:74 'profiling_name' of entry 1 must say who sends to whom, as in 'nccl:send 1->2', found "
      "'nccl:send 1'");
  CHECK(dump_problem(entry(named + R"("nccl:barrier","state":"lost")")) ==
        "1:97 'state' of entry 1 must be scheduled, started or completed, found 'lost'");
  CHECK(
      dump_problem(entry(named + R"("nccl:barrier","state":"started","collective_seq_id":"x")")) ==
      "1:127 'collective_seq_id' of entry 1 must be an integer");
  CHECK(dump_problem(entry(named + R"("nccl:barrier","state":"started","record_id":-1)")) ==
        "1:119 'record_id' of entry 1 must not be negative");
  CHECK(
      dump_problem(entry(named + R"("nccl:barrier","state":"started","input_sizes":[[1,"x"]])")) ==
      "1:125 'input_sizes' of entry 1 must be lists of integers");
  CHECK(dump_problem(R"({"version":"2.9","rank":-1,"entries":[]})") ==
        "1:25 the dump has rank -1: ranks go from 0 to 1048575");
  CHECK(dump_problem(R"({"version":"2.9","pg_config":{"7":{"ranks":"[0, x]"}}})") ==
        "1:44 'ranks' of group '7' must be integers");
  CHECK(
      dump_problem("cos\nsystem\n.") ==
      "0:0 byte 0: refused: this pickle imports or calls code, which a Flight Recorder dump never "
      "does; nothing was executed");
  CHECK(dump_problem("\x7f"
                     "ELF") == "0:0 byte 0: invalid pickle: unknown opcode 0x7f");
  CHECK(dump_problem(std::string(100, '[')) ==
        "1:101 truncated Flight Recorder dump: it ends too early");
  CHECK(dump_problem(std::string(1'000'000, '[')) == "1:101 nested more than 100 deep");
}

TEST_CASE("a pickle may share texts, but not fill memory with them",
          "[formats][flight_recorder_file]") {
  // Returns entries whose group has a description of `size` bytes, which the file stores once.
  const auto shared = [](std::size_t size) {
    const auto text = [](const std::string& value) {
      std::string written = "X";
      for (int shift = 0; shift < 32; shift += 8) {
        written += static_cast<char>(value.size() >> shift);
      }
      return written + value;
    };
    std::string entry = "}(" + text("process_group") + "](" + text("0");
    std::string bytes = "\x80\x02}(" + text("version") + text("2.9") + text("entries") + "](";
    for (int i = 0; i < 100; ++i) {
      bytes += entry + (i == 0 ? text(std::string(size, 'x')) + "q\1" : std::string("h\1")) + "e" +
               text("profiling_name") + text("nccl:all_reduce") + text("state") +
               text("scheduled") + "u";
    }
    return bytes + "eu.";
  };
  CHECK(dump_problem(shared(5'000)) == "read");
  const std::string refused = dump_problem(shared(50'000));
  CAPTURE(refused);
  CHECK(refused.find("share texts of at most twice its size") != std::string::npos);
}

TEST_CASE("no part of a dump, and no changed byte of it, is too much for the reader",
          "[formats][flight_recorder_file]") {
  const std::string folder = "tests/golden/diagnose_cycle/dumps/";
  for (const char* name : {"trace_rank_0.json", "trace_rank_1"}) {
    const std::string whole = text_of(folder + name);
    REQUIRE(dump_problem(whole) == "read");
    for (std::size_t size = 0; size < whole.size(); size += 7) {
      CHECK(dump_problem(whole.substr(0, size)) != "");
    }
    for (std::size_t at = 0; at < whole.size(); at += 3) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      models::Diagnostics diagnostics;
      const auto dump = formats::read_flight_recorder(changed, 0, diagnostics);
      CHECK((dump || diagnostics.has_errors()));
      if (dump) models::diagnose(formats::flight_recorder_evidence({*dump}));
    }
  }
}

TEST_CASE("one name with other members is another group", "[formats][flight_recorder_file]") {
  std::vector<FlightRecorderDump> dumps(2);
  dumps[1].rank = 1;
  dumps[0].groups = {{"1", "sub", {0}}};
  dumps[1].groups = {{"1", "sub", {1}}};
  CHECK(formats::flight_recorder_evidence(dumps).groups.size() == 2);
  dumps[1].groups = {{"1", "sub", {0}}};
  CHECK(formats::flight_recorder_evidence(dumps).groups.size() == 1);
}

TEST_CASE("who calls something in a group is in it", "[formats][flight_recorder_file]") {
  FlightRecorderDump dump;
  dump.rank = 5;
  dump.groups = {{"1", "sub", {0, 1}}, {"2", "others", {0, 1}}};
  FlightRecorderDump::Entry entry;
  entry.op.name = "barrier";
  entry.group = "1";
  dump.entries.push_back(entry);
  const auto evidence = formats::flight_recorder_evidence({dump});
  CHECK(evidence.groups[0].ranks == std::vector<std::uint32_t>{0, 1, 5});
  CHECK(evidence.groups[1].ranks == std::vector<std::uint32_t>{0, 1});
  // Ranks 0 and 1 have no dump, so they are suspects only.
  const auto found = models::diagnose(evidence);
  CHECK(roots_of(found).empty());
  REQUIRE(found.suspects.size() == 2);
  CHECK(found.suspects[0].rank == 0);
  CHECK(found.suspects[1].rank == 1);
}

namespace {

// Returns a dump as gloo writes it: without the members of groups, and with `retired` in place of
// `completed`.
FlightRecorderDump dump_of_gloo(std::uint32_t rank, const std::vector<std::string>& entries) {
  std::string text = R"({"version":"2.10","pg_config":{"":{"name":"","desc":"","ranks":"[0, 1]"}},)"
                     R"("entries":[)";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::string(R"({"record_id":)") + std::to_string(i) +
            R"(,"state":"scheduled",)" + entries[i] + "}";
  }
  models::Diagnostics diagnostics;
  const auto dump = formats::read_flight_recorder(text + "]}", rank, diagnostics);
  REQUIRE(dump);
  return *dump;
}

std::string gloo_call(const std::string& group, const std::string& description, int number,
                      bool retired) {
  return R"("process_group":[")" + group + R"(",")" + description + R"("],"collective_seq_id":)" +
         std::to_string(number) + R"(,"profiling_name":"gloo:all_reduce","retired":)" +
         (retired ? "true" : "false");
}

}  // namespace

TEST_CASE("the groups of gloo's dumps have at least the ranks that called something",
          "[formats][flight_recorder_file]") {
  const auto evidence =
      formats::flight_recorder_evidence({dump_of_gloo(0, {gloo_call("0", "default_pg", 1, true),
                                                          gloo_call("1", "undefined", 1, false)}),
                                         dump_of_gloo(2, {gloo_call("0", "default_pg", 1, true)})});
  REQUIRE(evidence.groups.size() == 2);
  // The default group has all ranks of the job, also rank 1, which left no dump.
  CHECK(evidence.groups[0].ranks == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(evidence.groups[1].ranks == std::vector<std::uint32_t>{0});
  CHECK_FALSE(evidence.groups[0].all_members);
  CHECK_FALSE(evidence.groups[1].all_members);
  // Other evidence can show that the job is larger.
  auto larger = evidence;
  larger.ranks.resize(5);
  models::fill_default_groups(larger);
  CHECK(larger.groups[0].ranks == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(larger.groups[1].ranks == std::vector<std::uint32_t>{0});
  REQUIRE(evidence.gaps.size() == 1);
  CHECK(evidence.gaps.front() ==
        "dumps of gloo record no sends, no recvs and no monitored_barrier");
}

TEST_CASE("groups without a name are never the same on two ranks",
          "[formats][flight_recorder_file]") {
  const auto evidence =
      formats::flight_recorder_evidence({dump_of_gloo(0, {gloo_call("", "", 1, false)}),
                                         dump_of_gloo(1, {gloo_call("", "", 1, true)})});
  CHECK(evidence.groups.size() == 2);
  CHECK(evidence.gaps.size() == 2);
  CHECK(models::diagnose(evidence).explanation.verdict == sim::Verdict::kLimit);
}

TEST_CASE("a retired call is over, and cannot be done without all members",
          "[formats][flight_recorder_file]") {
  auto evidence =
      formats::flight_recorder_evidence({dump_of_gloo(0, {gloo_call("0", "default_pg", 1, true),
                                                          gloo_call("0", "default_pg", 2, true)}),
                                         dump_of_gloo(1, {gloo_call("0", "default_pg", 1, true)})});
  CHECK(evidence.ranks[0].calls[1].over);
  CHECK(evidence.ranks[0].calls[1].state == models::CallState::kCompleted);
  const auto notes = models::reopen_failed_calls(evidence);
  REQUIRE(notes.size() == 1);
  CHECK(
      notes.front() ==
      "Rank 0's all_reduce pg0#2 is over, but cannot be done: rank 1 has not called it. It failed "
      "or timed out");
  CHECK(evidence.ranks[0].calls[0].state == models::CallState::kCompleted);
  CHECK(evidence.ranks[0].calls[1].state == models::CallState::kScheduled);
  CHECK(roots_of(models::diagnose(evidence)) == std::set<std::uint32_t>{1});
}

TEST_CASE("dumps without calls never show that nothing is wrong",
          "[formats][flight_recorder_file]") {
  const std::string text = R"({"version":"2.10","pg_config":{},"pg_status":{}})";
  models::Diagnostics diagnostics;
  const auto dump = formats::read_flight_recorder(text, 0, diagnostics);
  REQUIRE(dump);
  const auto evidence = formats::flight_recorder_evidence({*dump});
  CHECK(evidence.gaps ==
        std::vector<models::OutsideText>{"a dump without calls shows nothing of its rank"});
  CHECK(models::diagnose(evidence).explanation.verdict == sim::Verdict::kLimit);
}

TEST_CASE("a recv may be from any rank", "[formats][flight_recorder_file]") {
  const auto evidence = formats::flight_recorder_evidence(
      {dump_of_gloo(1, {R"("process_group":["0","default_pg"],"p2p_seq_id":1,"is_p2p":true,)"
                        R"("profiling_name":"nccl:recv 1<-?")"})});
  const models::RecordedOp& op = evidence.ranks[1].calls.front().ops.front();
  CHECK(op.source == models::kAnyRank);
  CHECK(op.target == 1);
  CHECK(dump_problem(
            entry(R"("record_id":0,"process_group":["0"],"profiling_name":"nccl:send 1->?")"))
            .find("must say who sends to whom") != std::string::npos);
}

TEST_CASE("ops of one number are one call", "[formats][flight_recorder_file]") {
  FlightRecorderDump dump;
  dump.groups = {{"pp", "", {2, 4, 6}}};
  const auto add = [&](const char* name, std::uint64_t number, models::CallState state) {
    FlightRecorderDump::Entry entry;
    entry.op.name = name;
    entry.op.message = entry.op.name == "send" || entry.op.name == "recv";
    entry.op.record = dump.entries.size();
    entry.op.state = state;
    entry.group = "pp";
    entry.messages = true;
    entry.sequence = number;
    entry.local_source = entry.op.name == "send" ? 0 : 2;
    entry.local_target = entry.op.name == "send" ? 2 : 0;
    dump.entries.push_back(entry);
  };
  using models::CallState;
  add("send", 1, CallState::kCompleted);
  add("send", 2, CallState::kScheduled);
  add("recv", 2, CallState::kScheduled);
  add("coalesced", 2, CallState::kStarted);
  dump.rank = 2;
  const auto evidence = formats::flight_recorder_evidence({dump});
  const auto& calls = evidence.ranks[2].calls;
  REQUIRE(calls.size() == 2);
  CHECK_FALSE(calls[0].coalesced);
  CHECK(calls[1].coalesced);
  CHECK(calls[1].ops.size() == 2);
  CHECK(calls[1].state == CallState::kStarted);
  CHECK(calls[1].last_record == 3);
  // The entries number peers within the group.
  CHECK(calls[1].ops[0].target == 6);
  CHECK(calls[1].ops[1].source == 6);
}

TEST_CASE("PyTorch's own cases give what its analyzer asserts",
          "[formats][flight_recorder_file][shared]") {
  const std::string folder = testing::shared_data("flight_recorder/torch_unit");
  if (folder.empty()) return;
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    INFO(entry.path().string());
    ++cases;
    const auto expected = nlohmann::json::parse(text_of(entry.path() / "EXPECTED.json"));
    const models::Diagnosis found = models::diagnose(evidence_of(entry.path().string(), ".json"));
    CHECK(found.checks.size() == expected["n_collectives"].get<std::size_t>());
    if (expected.contains("pass_check")) {
      CHECK(passed(found.checks) == expected["pass_check"].get<std::vector<bool>>());
    }
    for (std::size_t i = 0; expected.contains("record_id") && i < found.checks.size(); ++i) {
      CHECK(found.checks[i].record == expected["record_id"][i].get<std::uint64_t>());
    }
    if (expected.contains("collective")) {
      CHECK(found.checks.front().op == expected["collective"].get<std::string>());
    }
    if (expected.contains("second_collective")) {
      REQUIRE(found.checks.size() == 2);
      CHECK(found.checks[1].op == expected["second_collective"].get<std::string>());
      CHECK(passed(found.checks)[1] == expected["second_pass_check"].get<bool>());
    }
  }
  CHECK(cases == 6);
}

TEST_CASE("pairs of calls match as PyTorch's analyzer asserts",
          "[formats][flight_recorder_file][shared]") {
  const std::string path = testing::shared_data("flight_recorder/torch_unit/pairwise_match.json");
  if (path.empty()) return;
  const auto pairs = nlohmann::json::parse(text_of(path));
  CHECK(pairs.size() == 9);
  for (const auto& pair : pairs) {
    INFO(pair["name"].get<std::string>());
    const auto op = [&](const char* event) {
      const nlohmann::json dump = {{"version", "2.8"}, {"entries", {pair[event]}}};
      models::Diagnostics diagnostics;
      const auto read = formats::read_flight_recorder(dump.dump(), 0, diagnostics);
      REQUIRE(read);
      return read->entries.front().op;
    };
    // The two ops are in a group of two, as in PyTorch's test.
    const models::MatchResult found = match_ops(op("event_a"), op("event_b"), 2);
    CHECK(std::string(match_name(found.match)) == pair["expected"].get<std::string>());
  }
}

TEST_CASE("real hangs have the ranks as roots whose faults were injected",
          "[formats][flight_recorder_file][shared]") {
  const std::string folder = testing::shared_data("flight_recorder/nvrx/");
  if (folder.empty()) return;
  // Each fault_injection.log names the ranks.
  for (const char* ending : {"", ".json"}) {
    const auto gil = models::diagnose(evidence_of(folder + "lock_gil_1st", ending));
    CHECK(roots_of(gil) == std::set<std::uint32_t>{9, 14});
    CHECK(gil.explanation.verdict == sim::Verdict::kStarved);
    CHECK(gil.explanation.cause == models::Cause::kAbsentMember);
    const auto gpu = models::diagnose(evidence_of(folder + "gpu_error_1st", ending));
    CHECK(roots_of(gpu) == std::set<std::uint32_t>{12, 14});
    CHECK(gpu.explanation.verdict == sim::Verdict::kStarved);
    CHECK(gpu.explanation.cause == models::Cause::kDeadRank);
    // The reference verdicts name the collective of the experts and the ranks that lack it.
    const auto missing = [](const models::Diagnosis& diagnosis, const std::string& op,
                            std::size_t members) {
      for (const auto& check : diagnosis.checks) {
        const bool is_it = check.op == op && check.called.size() + check.missing.size() == members;
        if (is_it && !check.missing.empty()) return check.missing;
      }
      return std::vector<std::uint32_t>();
    };
    CHECK(missing(gil, "all_to_all", 8) == std::vector<std::uint32_t>{9, 14});
    CHECK(missing(gpu, "all_to_all", 4) == std::vector<std::uint32_t>{12});
  }
}

TEST_CASE("no text of a dump reaches a terminal raw", "[formats][flight_recorder]") {
  const std::string bad = R"(\u001b[31m\u009b\u202e)";
  const std::string text =
      R"({"version": "2.10", "pg_config": {"0": {"name": "0", "desc": ")" + bad +
      R"(", "ranks": "[0, 1]"}}, "entries": [{"record_id": 1, "pg_id": 0,
      "process_group": ["0", ")" +
      bad + R"("], "collective_seq_id": 1, "profiling_name": "nccl:)" + bad +
      R"(", "input_sizes": [[4]], "output_sizes": [[4]], "input_dtypes": [")" + bad +
      R"("], "output_dtypes": ")" + bad + R"(", "state": "scheduled", "frames": [{"filename": ")" +
      bad + R"(", "line": 1, "name": ")" + bad + R"("}]}]})";
  models::Diagnostics diagnostics;
  const auto dump = formats::read_flight_recorder(text, 0, diagnostics);
  REQUIRE(dump);
  REQUIRE(dump->entries.size() == 1);
  const FlightRecorderDump::Entry& entry = dump->entries.front();
  const std::string shown = "?[31m?????";
  CHECK(entry.op.name == shown);
  CHECK(entry.op.input_types == std::vector<models::OutsideText>{shown});
  CHECK(entry.op.output_types == std::vector<models::OutsideText>{shown});
  CHECK(entry.description == shown);
  CHECK(entry.at == shown + ":1 " + shown);
  CHECK(dump->groups.front().description == shown);
}
