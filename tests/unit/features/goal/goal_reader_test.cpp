// Tests the reader of GOAL files: the grammar and the error messages. tests/golden/goal_errors has
// more errors.
#include "features/goal/goal_reader.hpp"

#include <cstdint>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "viz/report/diagnostic_text.hpp"

using namespace pipesim;
using sim::LogGopsKind;

namespace {

formats::GoalFile read(const std::string& text) {
  models::Diagnostics diagnostics;
  auto file = formats::read_goal(text, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(file.has_value());
  return *file;
}

std::string mistakes_in(const std::string& text) {
  models::Diagnostics diagnostics;
  CHECK(!formats::read_goal(text, diagnostics).has_value());
  return viz::diagnostic_text(diagnostics, "a.goal", text, false);
}

// Returns the ops as lines such as "0 send 10 1 7 0 0", then the dependencies: "1>0" if op 1
// depends on the end of op 0, "2~0" if op 2 depends on the start of op 0.
std::string text_of(const sim::LogGopsProgram& program) {
  std::string text;
  const auto number = [](std::uint32_t value) {
    return value == 0xffffffff ? std::string("any") : std::to_string(value);
  };
  for (const sim::LogGopsOp& op : program.ops) {
    const char* kind = op.kind == LogGopsKind::kSend      ? "send"
                       : op.kind == LogGopsKind::kReceive ? "recv"
                                                          : "calc";
    text += std::to_string(op.rank) + " " + kind + " " + std::to_string(op.size);
    if (op.kind != LogGopsKind::kCalculate) text += " " + number(op.peer) + " " + number(op.tag);
    text += " " + std::to_string(op.cpu) + " " + std::to_string(op.nic) + "\n";
  }
  for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
    const std::uint32_t end = program.dependents_begin[op + 1];
    for (std::uint32_t i = program.dependents_begin[op]; i < end; ++i) {
      const bool start = (program.dependents[i] & sim::LogGopsProgram::kAtStart) != 0;
      text += std::to_string(program.dependents[i] & ~sim::LogGopsProgram::kAtStart);
      text += (start ? "~" : ">") + std::to_string(op) + "\n";
    }
  }
  return text;
}

}  // namespace

TEST_CASE("all statements of GOAL are read", "[formats][goal_reader]") {
  const std::string text =
      "// a comment\n"
      "/* another\n over lines */ num_ranks 3\n"
      "\n"
      "rank 0 { // not behind a statement: a rank's brace is none\n"
      "l1: calc 5000 cpu 3\n"
      "\tl2 :send 100 b to 1 tag 7 cpu 1 nic 2\r\n"
      "  l2 requires l1  \n"
      "send 0b to 0\n"
      "/* here too */ l_3:calc 300\n"
      "l_3 irequires l1\n"
      "l1 requires l_3\n"
      "}\n"
      "rank 2 {\n"
      "l1: recv 100b from 0 tag -1 nic 1\n"
      "recv 1b from -1\n"
      "send 1b to 1 tag -1 cpu 255\n"
      "}\n"
      "rank 1 {}";
  const formats::GoalFile file = read(text);
  CHECK(text_of(file.program) ==
        "0 calc 5000 3 0\n0 send 100 1 7 1 2\n0 send 0 0 0 0 0\n0 calc 300 0 0\n"
        "2 recv 100 0 any 0 1\n2 recv 1 any 0 0 0\n2 send 1 1 any 255 0\n"
        "1>0\n3~0\n0>3\n");
  CHECK(file.program.rank_count == 3);
  CHECK(file.program.has_wildcards);
  CHECK(file.program.many_units);
  CHECK(file.program.required == std::vector<std::uint32_t>{1, 1, 0, 1, 0, 0, 0});
  CHECK(file.program.rank_begin[sim::RankId{2}] == 4);
  CHECK(file.program.rank_end[sim::RankId{2}] == 7);
  CHECK(file.program.rank_begin[sim::RankId{1}] == file.program.rank_end[sim::RankId{1}]);
  const formats::GoalNames names(file, text);
  CHECK(names.name(sim::ActorId{1}) == "l2");
  CHECK(names.statement(sim::ActorId{1}) == "send 100 b to 1 tag 7 cpu 1 nic 2");
  CHECK(names.place(sim::ActorId{1}) == models::Place{7, 2});
  CHECK(names.name(sim::ActorId{2}) == "send@9");
  CHECK(names.statement(sim::ActorId{2}) == "send 0b to 0");
  CHECK(names.place(sim::ActorId{3}) == models::Place{10, 16});
}

TEST_CASE("labels hold in one rank, and there may be many", "[formats][goal_reader]") {
  std::string text = "num_ranks 2\n";
  for (int rank = 0; rank < 2; ++rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    for (int i = 0; i < 5000; ++i) text += "l" + std::to_string(i) + ": calc 1\n";
    for (int i = 1; i < 5000; ++i) {
      text += "l" + std::to_string(i) + " requires l" + std::to_string(i - 1) + "\n";
    }
    text += "}\n";
  }
  const formats::GoalFile file = read(text);
  REQUIRE(file.program.ops.size() == 10'000);
  CHECK(file.program.dependents.size() == 9998);
  CHECK(file.program.dependents[file.program.dependents_begin[7123]] == 7124);
  CHECK(
      mistakes_in("num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\nb: calc 1\nb requires a\n}\n") ==
      "a.goal:7:12: error[E1203]: label 'a' is not defined in rank 1 above this line\n"
      "  b requires a\n"
      "             ^\n"
      "  help: 'LABEL: send ...' defines it; labels hold in their rank, from there on\n");
}

TEST_CASE("what a GOAL file lacks is reported", "[formats][goal_reader]") {
  CHECK(mistakes_in("") ==
        "a.goal:1:1: error[E1202]: 'num_ranks' is missing\n"
        "  \n"
        "  ^\n"
        "  help: a GOAL file begins with 'num_ranks N', then 'rank 0 {'\n");
  CHECK(mistakes_in("rank 0 {\ncalc 1\n}\n") ==
        "a.goal:1:1: error[E1202]: expected 'num_ranks' before the first rank\n"
        "  rank 0 {\n"
        "  ^\n"
        "  help: a GOAL file begins with 'num_ranks N'\n");
  CHECK(mistakes_in("num_ranks 2\nrank 1 {\ncalc 1") ==
        "a.goal:3:7: error[E1201]: the file ends inside rank 1: expected '}' to close it\n"
        "  calc 1\n"
        "        ^\n"
        "  help: the rank begins in line 2\n");
  CHECK(mistakes_in("num_ranks 0\n") ==
        "a.goal:1:11: error[E1202]: 'num_ranks' must be at least 1\n"
        "  num_ranks 0\n"
        "            ^\n"
        "  help: see 'pipesim help E1202'\n");
  CHECK(mistakes_in("num_ranks 99999999\n") ==
        "a.goal:1:11: error[E0107]: the number of ranks must be at most 1048576, found '99999999'\n"
        "  num_ranks 99999999\n"
        "            ^\n"
        "  help: see 'pipesim help E0107'\n");
  CHECK(mistakes_in("num_ranks 1\n}\n") ==
        "a.goal:2:1: error[E1201]: unmatched '}'\n"
        "  }\n"
        "  ^\n"
        "  help: see 'pipesim help E1201'\n");
  CHECK(
      mistakes_in("num_ranks 1\nrank 0 {\nl1 send 5b to 0\nl2: sent 5b to 0\nl3: calc\n5\n}\n") ==
      "a.goal:3:4: error[E1201]: expected ':', 'requires' or 'irequires' after 'l1', found 'send'\n"
      "  l1 send 5b to 0\n"
      "     ^\n"
      "  help: see 'pipesim help E1201'\n"
      "a.goal:4:5: error[E1201]: expected 'send', 'recv' or 'calc', found 'sent'\n"
      "  l2: sent 5b to 0\n"
      "      ^\n"
      "a.goal:5:9: error[E1201]: expected a number: the duration in nanoseconds, found the end of "
      "the line\n"
      "  l3: calc\n"
      "          ^\n"
      "a.goal:6:1: error[E1201]: expected a statement: an op, a label, 'rank', '}' or a comment, "
      "found '5'\n"
      "  5\n"
      "  ^\n");
}

TEST_CASE("no more than 20 mistakes are collected", "[formats][goal_reader]") {
  std::string text = "num_ranks 1\n";
  for (int i = 0; i < 1000; ++i) text += "!\n";
  models::Diagnostics diagnostics;
  CHECK(!formats::read_goal(text, diagnostics).has_value());
  CHECK(diagnostics.error_count() == 20);
}

TEST_CASE("a damaged GOAL file is read or refused", "[formats][goal_reader]") {
  const std::string good =
      "num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 3 cpu 1 nic 1\nl2: calc 5 cpu 2\n"
      "l2 requires l1\n/* c */ l3: recv 7b from -1 tag -1\nl3 irequires l2\n}\n"
      "// c\nrank 1 {\r\nl1: recv 10b from 0 tag 3\n}\n";
  const std::string bytes = std::string("\n\r {}:/*-10b_lz\x80") + '\0';
  std::uint64_t state = 1;
  const auto below = [&](std::size_t count) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::size_t>(state >> 33) % count;
  };
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (std::size_t i = 0; i <= below(3) && !text.empty(); ++i) {
      const std::size_t at = below(text.size());
      const std::size_t way = below(4);
      if (way == 0) text.erase(at, 1 + below(8));
      if (way == 1) text[at] = bytes[below(bytes.size())];
      if (way == 2) text.insert(at, 1, bytes[below(bytes.size())]);
      if (way == 3) text.resize(at + 1);
    }
    models::Diagnostics diagnostics;
    const auto file = formats::read_goal(text, diagnostics);
    REQUIRE(file.has_value() == !diagnostics.has_errors());
    if (!file) {
      ++refused;
      continue;
    }
    const sim::LogGopsOutcome outcome = sim::run(file->program, {});
    sim::wait_graph(file->program, outcome);
    const formats::GoalNames names(*file, text);
    for (std::uint32_t op = 0; op < file->program.ops.size(); ++op) {
      REQUIRE(!names.name(sim::ActorId{op}).empty());
      REQUIRE(!names.statement(sim::ActorId{op}).empty());
    }
  }
  CHECK(refused > 5000);
}
