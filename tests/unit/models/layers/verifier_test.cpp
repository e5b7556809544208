#include "models/layers/verifier.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::TaskGraph;

namespace {

std::string broken_rules(const TaskGraph& graph) {
  models::Diagnostics diagnostics;
  const bool good = models::verify(graph, diagnostics);
  CHECK(good == !diagnostics.has_errors());
  std::string text;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    text += item.message + "\n";
    for (const std::string& note : item.notes) text += "  " + note + "\n";
  }
  return text;
}

TaskGraph graph_of(const std::string& text) {
  return testing::scenario_of("schema: 1\n" + text).graph;
}

const char* const kChain = "streams: [s]\nactors:\n  a: {source: 2}\n  b: {reads: [a]}\n";

}  // namespace

TEST_CASE("every scenario keeps the rules", "[models][verifier]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    // partial_sum_boxing breaks a rule on purpose, as its comment explains.
    if (path == "scenarios/partial_sum_boxing.yaml") continue;
    CHECK(broken_rules(testing::load(path).graph) == "");
  }
}

TEST_CASE("an index of nothing is reported, and nothing else is looked at", "[models][verifier]") {
  TaskGraph graph = graph_of(kChain);
  graph.actors[0].stream = 7;
  graph.actors[1].reads[0].reg = 3;
  graph.actors[1].name = "a";
  CHECK(broken_rules(graph) ==
        "'a' refers to stream number 7, but there are 1\n"
        "what 'a' reads has no producer: 'a' has 1 registers, and this is number 3\n"
        "  'a' is in line 4\n");
  graph = graph_of(kChain);
  graph.actors[1].reads[0].actor = 9;
  CHECK(broken_rules(graph) == "what 'b' reads refers to actor number 9, but there are 2\n");
  graph = graph_of("ranks: 2\ngroups: {tp: all}\n" + std::string(kChain));
  graph.groups[0].lists[0].push_back(2);
  graph.actors[1].reads[0].group = 1;
  CHECK(broken_rules(graph) ==
        "group 'tp' refers to rank number 2, but there are 2\n"
        "what 'b' reads refers to group number 1, but there are 1\n");
}

TEST_CASE("names are unique", "[models][verifier]") {
  TaskGraph graph = graph_of(kChain);
  graph.actors[1].name = "a";
  graph.streams.push_back(graph.streams.front());
  graph.phases = {"x", "y", "x"};
  graph.actors[0].registers.push_back(graph.actors[0].registers.front());
  CHECK(broken_rules(graph) ==
        "there are two phases 'x'\n"
        "there are two streams 's'\n  the first is in line 2\n"
        "there are two registers of 'a' 'out'\n  the first is in line 4\n"
        "there are two actors 'a'\n  the first is in line 4\n");
}

TEST_CASE("steps of different ranks may share a name, those of one rank may not",
          "[models][verifier]") {
  TaskGraph graph = graph_of(
      "ranks: 2\nprograms:\n  - {on: 0, do: [{host: a}]}\n  - {on: 1, do: [{host: a}, {host: "
      "b}]}\n");
  CHECK(broken_rules(graph) == "");
  graph.actors[2].name = "a";
  CHECK(broken_rules(graph) == "there are two actors 'a'\n  the first is in line 5\n");
}

TEST_CASE("actors and programs have the form that files can have", "[models][verifier]") {
  TaskGraph graph = graph_of(kChain);
  graph.actors[0].registers[0].name = "data";
  graph.actors[1].kind = "zeros";
  CHECK(broken_rules(graph) ==
        "the first register of 'a' is not its output 'out'\n"
        "'b' is of the kind 'zeros', which reads no data, but it reads 'a'\n"
        "  'a' is in line 4\n");
  graph = graph_of(kChain);
  graph.actors[0].kind = "wait_and_send_ids";
  graph.actors[1].input.emplace();
  graph.actors[1].ops.reset();
  CHECK(broken_rules(graph) ==
        "'a' is of the kind 'wait_and_send_ids', but waits for no input\n"
        "'b' waits for input, but nothing determines how often it runs\n");
  graph = graph_of("programs: {do: [{host: a}]}\nactors: {x: {source: 1}}\n");
  graph.threads[0].program[0].block[0].actor = 0;
  graph.threads[0].program.push_back(graph.threads[0].program[0]);
  graph.threads[0].program[1].block[0].actor = 1;
  graph.actors[1].registers.emplace_back();
  CHECK(broken_rules(graph) ==
        "the program of thread 'main' has actors and steps of a host program\n"
        "'a' is a step of a host program, which has no registers and reads nothing\n");
}

TEST_CASE("an edge names exactly the tensors that its register carries", "[models][verifier]") {
  const auto told = [](const char* carries, const char* needs) {
    return broken_rules(
        graph_of("actors:\n  Repeat: {source: 1, carries: " + std::string(carries) +
                 "}\n  Zeros: {reads: [{from: Repeat, needs: " + std::string(needs) + "}]}\n"));
  };
  CHECK(told("[bias]", "[bias]") == "");
  CHECK(told("[a, b]", "[b, a]") == "");
  CHECK(told("[]", "[]") == "");
  CHECK(told("[bias]", "[]") ==
        "the edge from 'Repeat' to 'Zeros' and its register do not match: the register 'out' "
        "carries 'bias', the edge names none (1 vs. 0)\n"
        "  'Repeat' is in line 3\n  'Zeros' is in line 4\n"
        "  if only the order matters, read a control register; else say what is needed\n");
  CHECK(told("[a]", "[b]") ==
        "the edge from 'Repeat' to 'Zeros' and its register do not match: the register 'out' "
        "carries 'a', the edge names 'b' (1 vs. 1)\n"
        "  'Repeat' is in line 3\n  'Zeros' is in line 4\n");
  CHECK(
      broken_rules(graph_of("actors: {a: {source: 1, registers: {c: {control: on, carries: [x]}}},"
                            " b: {source: 1, after: [{from: a.c, needs: [x]}]}}\n")) ==
      "the control register 'c' of 'a' carries no data, but names 'x'\n");
}

TEST_CASE("the builder of partial sums broke that rule, and the corrected one keeps it",
          "[models][verifier]") {
  const std::string path = "scenarios/partial_sum_boxing.yaml";
  CHECK(broken_rules(testing::load(path).graph) ==
        "the edge from 'Repeat' to 'Zeros' and its register do not match: the register 'out' "
        "carries 'bias_table', the edge names none (1 vs. 0)\n"
        "  'Repeat' is in line 31\n  'Zeros' is in line 34\n"
        "  if only the order matters, read a control register; else say what is needed\n");
  CHECK(broken_rules(testing::load(path, {{"builder", "names_tensor"}}).graph) == "");
}

TEST_CASE("what cannot be lowered breaks a rule", "[models][verifier]") {
  CHECK(broken_rules(graph_of("actors:\n  a: {source: 2}\n  b: {source: 3, reads: [a]}\n")) ==
        "the rates from 'a' to 'b' do not balance: 'b' on rank 0 runs 3 times, but this edge "
        "needs it to run 2 times\n");
}
