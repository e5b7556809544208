// Tests of passes that a user's C++ program runs on task graphs.
#include <string>

#include "pipesim/catch2.hpp"
#include "pipesim/pipesim.hpp"
#include "pipesim/task_graph.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

Graph hang() { return load_scenario("scenarios/buffer_on_the_wrong_stream.yaml"); }

template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("passes make a new graph and leave the old one", "[library][passes]") {
  const Graph graph = hang();
  CHECK_THAT(run(run_passes(graph, "move-to-stream=buffer:stream=backward")), completes());
  CHECK_THAT(run(graph), deadlocks());
  CHECK(graph == hang());
  CHECK(run_passes(graph, "") == graph);
}

TEST_CASE("an error about a pass says how passes are written", "[library][passes]") {
  CHECK(error_of([] { run_passes(hang(), "move-to-steam=buffer"); }) ==
        "passes:1:1: error[E0703]: unknown pass 'move-to-steam'\n  move-to-steam=buffer\n  ^\n"
        "  help: did you mean 'move-to-stream'?\n");
  CHECK(error_of([] { run_passes(hang(), "set-slots=bufer:slots=2"); }) ==
        "scenarios/buffer_on_the_wrong_stream.yaml: error[E0707]: unknown actor 'bufer'\n"
        "  help: did you mean 'buffer'?\n  help: pass 'set-slots=bufer:slots=2' reports this\n");
}

TEST_CASE("a registry of one's own has more passes", "[library][passes]") {
  models::PassRegistry passes = models::shipped_passes();
  passes.add({"twice", "", {}, [](auto& graph, const auto&, auto&) { graph.name += "_twice"; }});
  CHECK(run_passes(hang(), "twice,twice", passes).name() ==
        "buffer_on_the_wrong_stream_twice_twice");
}

TEST_CASE("a function is a pass", "[library][passes]") {
  std::uint32_t seen = 0;
  const Graph graph = run_pass(hang(), "rename", [&](models::TaskGraph& inside, auto&) {
    seen = inside.ranks;
    inside.name = "other";
  });
  CHECK(seen == 2);
  CHECK(graph.name() == "other");
}

TEST_CASE("a function that breaks a rule or refuses is named", "[library][passes]") {
  CHECK(error_of([] {
          run_pass(hang(), "copy", [](models::TaskGraph& inside, auto&) {
            inside.actors.push_back(inside.actors.back());
          });
        }) ==
        "scenarios/buffer_on_the_wrong_stream.yaml:24:3: error[E0708]: there are two actors "
        "'reduce'\n"
        "    reduce: {phase: backward, stream: backward, takes: 1us, collective: {a...\n"
        "    ^\n  help: the first is in line 24\n"
        "  help: pass 'copy' broke this rule: before it the graph kept it\n");
  CHECK(error_of([] {
          run_pass(hang(), "lost",
                   [](models::TaskGraph& inside, auto&) { inside.actors.at(0).stream = 99; });
        }).find("pass 'lost' broke this rule") != std::string::npos);
  CHECK(error_of([] {
          run_pass(hang(), "refuse", [](auto&, models::Diagnostics& diagnostics) {
            diagnostics.error({}, models::Code::kPassTarget, "not today");
          });
        }) ==
        "scenarios/buffer_on_the_wrong_stream.yaml: error[E0707]: not today\n"
        "  help: pass 'refuse' reports this\n");
}
