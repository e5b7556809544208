// Shipped passes, each with the graph before and after it.
#include <string>
#include <vector>

#include "formats/scenario/scenario_writer.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/pass_pipeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::Diagnostics;
using models::TaskGraph;

namespace {

std::string told_by_pass(const Diagnostics& diagnostics) {
  std::string text;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    text += item.message + "\n";
    for (const std::string& note : item.notes) text += "  " + note + "\n";
  }
  return text;
}

// Returns the actors of the graph after `passes`, as the scenario writer writes them; or the error.
std::string after_pass(const std::string& passes, const std::string& text) {
  Diagnostics diagnostics;
  const models::PassRegistry registry = models::shipped_passes();
  const auto calls = models::parse_passes(passes, registry, diagnostics);
  if (!calls) return told_by_pass(diagnostics);
  TaskGraph graph = testing::scenario_of("schema: 1\nranks: 2\ngroups: {tp: all}\n" + text).graph;
  if (!models::run_passes(graph, *calls, {}, diagnostics)) return told_by_pass(diagnostics);
  const std::string written = formats::write_scenario(graph);
  const TaskGraph again = testing::scenario_of(written).graph;
  CHECK(models::without_places(again) == models::without_places(graph));
  return written.substr(written.find("streams:"));
}

TaskGraph changed(const std::string& path, const std::string& passes) {
  Diagnostics diagnostics;
  const models::PassRegistry registry = models::shipped_passes();
  TaskGraph graph = testing::load(path).graph;
  const auto calls = models::parse_passes(passes, registry, diagnostics);
  const bool good = calls && models::run_passes(graph, *calls, {}, diagnostics);
  INFO(told_by_pass(diagnostics));
  CHECK(good);
  return graph;
}

const std::string kTwo =
    "streams: [s, t]\nactors:\n  a: {stream: s, source: 2}\n  b: {stream: t, reads: [a]}\n";

}  // namespace

TEST_CASE("move-to-stream puts an op on another stream", "[models][passes]") {
  CHECK(after_pass("move-to-stream=b:stream=s", kTwo) ==
        "streams: [s, t]\nactors:\n  a: {stream: s, source: 2}\n  b: {stream: s, reads: [a]}\n");
  CHECK(after_pass("move-to-stream=b:stream=u", kTwo) ==
        "unknown stream 'u'\n  did you mean 's'?\n"
        "  pass 'move-to-stream=b:stream=u' reports this\n");
  CHECK(after_pass("move-to-stream=h:stream=s", "streams: [s]\nprograms: {do: [{host: h}]}\n") ==
        "'h' runs on the host, not on a stream\n  pass 'move-to-stream=h:stream=s' reports this\n");
}

TEST_CASE("use-own-stream gives an op a stream that nothing else is on", "[models][passes]") {
  CHECK(after_pass("use-own-stream=b", kTwo) ==
        "streams: [s, t]\nactors:\n  a: {stream: s, source: 2}\n  b: {reads: [a]}\n");
  CHECK(after_pass("use-own-stream=b:name=s", kTwo) ==
        "streams: [s, t, s.2]\nactors:\n  a: {stream: s, source: 2}\n"
        "  b: {stream: s.2, reads: [a]}\n");
}

TEST_CASE("set-slots sets the credits of a register", "[models][passes]") {
  CHECK(after_pass("set-slots=a:slots=3", kTwo) ==
        "streams: [s, t]\nactors:\n  a: {stream: s, source: 2, slots: 3}\n"
        "  b: {stream: t, reads: [a]}\n");
  CHECK(after_pass("set-slots=a:slots=3:register=ctrl", kTwo) ==
        "'a' has no register 'ctrl'\n  known here: out\n"
        "  pass 'set-slots=a:slots=3:register=ctrl' reports this\n");
  CHECK(after_pass("set-slots=a:slots=0", kTwo) ==
        "a register needs at least 1 slot, found 0\n  pass 'set-slots=a:slots=0' reports this\n");
}

TEST_CASE("insert-buffer puts a buffer before the reader, which reads as the reader did",
          "[models][passes]") {
  CHECK(after_pass("insert-buffer=a:to=b:slots=2", kTwo) ==
        "streams: [s, t]\nactors:\n  a: {stream: s, source: 2}\n"
        "  a-buffer: {kind: buffer, stream: t, slots: 2, reads: [a]}\n"
        "  b: {stream: t, reads: [a-buffer]}\n");
  CHECK(after_pass("insert-buffer=a:to=b:name=x:stream=s",
                   "streams: [s]\nactors:\n"
                   "  b: {reads: [c, {from: a.r, rank: 1 - rank, on: 0, per: 2, needs: [t]}]}\n"
                   "  a: {source: 2, registers: {r: {carries: [t]}}}\n  c: {source: 4}\n") ==
        "there is no edge from 'a' to 'b' that carries the register 'out'\n"
        "  pass 'insert-buffer=a:to=b:name=x:stream=s' reports this\n");
  CHECK(
      after_pass("insert-buffer=a:to=b:name=x:stream=s:register=r",
                 "streams: [s]\nactors:\n"
                 "  b: {reads: [c, {from: a.r, rank: 1 - rank, on: 0, per: 2, needs: [t]}]}\n"
                 "  a: {source: 2, registers: {r: {carries: [t]}}}\n  c: {source: 4}\n") ==
      "streams: [s]\nactors:\n"
      "  x: {on: 0, kind: buffer, stream: s, carries: [t], reads: [{from: a.r, rank: 1 - rank}]}\n"
      "  b: {reads: [c, {from: x, on: 0, per: 2, needs: [t]}]}\n"
      "  a: {source: 2, registers: {r: {carries: [t]}}}\n  c: {source: 4}\n");
  CHECK(
      after_pass("insert-buffer=a:to=b:register=c",
                 "actors: {a: {source: 1, registers: {c: {control: on}}}, b: {after: [a.c]}}\n") ==
      "a buffer holds data, but 'c' is a control register, from 'a' to 'b'\n"
      "  pass 'insert-buffer=a:to=b:register=c' reports this\n");
}

TEST_CASE("a buffer is as large as what it buffers, where that can be said", "[models][passes]") {
  const auto buffer_of = [](const std::string& bytes, const std::string& read) {
    const std::string text = after_pass("insert-buffer=a:to=b:name=x",
                                        "streams: []\nactors:\n  a: {source: 2, bytes: " + bytes +
                                            "}\n  b: {reads: [" + read + "]}\n");
    const std::size_t begin = text.find("  x: ");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK(buffer_of("4MiB", "a") == "  x: {kind: buffer, bytes: 4MiB, reads: [a]}");
  CHECK(buffer_of("4MiB * (rank + 1)", "a") ==
        "  x: {kind: buffer, bytes: 4MiB * (rank + 1), reads: [a]}");
  CHECK(buffer_of("4MiB", "{from: a, rank: 1 - rank}").find("bytes: 4MiB,") != std::string::npos);
  CHECK(buffer_of("4MiB * rank", "{from: a, rank: 1 - rank}").find("bytes") == std::string::npos);
}

TEST_CASE("order-collectives chains the collectives of a group in the order of their data",
          "[models][passes]") {
  CHECK(after_pass("order-collectives=tp",
                   "streams: []\nactors:\n"
                   "  last: {reads: [x], collective: {all_reduce: tp}}\n"
                   "  x: {source: 2}\n"
                   "  one: {source: 2, collective: {all_gather: tp}}\n"
                   "  two: {source: 2, on: 0, collective: {all_gather: tp}}\n") ==
        "streams: []\nactors:\n"
        "  last: {collective: {all_reduce: tp}, registers: {order: {control: on}}, reads: [x]}\n"
        "  x: {source: 2}\n"
        "  one:\n    source: 2\n    collective: {all_gather: tp}\n"
        "    registers: {order: {control: on}}\n    after: [last.order]\n"
        "  two: {on: 0, source: 2, collective: {all_gather: tp}, after: [one.order]}\n");
  CHECK(after_pass("order-collectives=tp",
                   "actors: {a: {source: 2, collective: {all_reduce: tp}},\n"
                   "  b: {source: 3, collective: {all_reduce: tp}}}\n") ==
        "'a' runs 2 times and 'b' 3 times, so they cannot alternate\n"
        "  pass 'order-collectives=tp' reports this\n");
  const models::Explanation ordered =
      testing::simulate(changed("scenarios/swin_2x2x2.yaml", "order-collectives=tp")).explanation;
  CHECK(ordered.verdict == sim::Verdict::kCompleted);
}

TEST_CASE("canonicalize drops what has no part in a run", "[models][passes]") {
  CHECK(after_pass("canonicalize",
                   "threads: {unused: ~}\nstreams: {s: ~, t: {thread: other}}\nactors:\n"
                   "  gone: {source: 1, on: []}\n"
                   "  a: {source: 2, stream: s, registers: {c: {control: on}, d: {}, e: {}}}\n"
                   "  b: {reads: [a.e, {from: gone, on: []}]}\n") ==
        "streams: [s]\nactors:\n"
        "  a: {stream: s, source: 2, registers: {e: {}}}\n"
        "  b: {reads: [a.e]}\n");
  for (const std::string& path : testing::scenario_paths()) {
    if (path == "scenarios/partial_sum_boxing.yaml") continue;
    INFO(path);
    const TaskGraph graph = changed(path, "canonicalize");
    CHECK(testing::simulate(graph).explanation.fingerprint == testing::explain(path).fingerprint);
    const std::string text = formats::write_scenario(graph);
    CHECK(models::without_places(testing::scenario_of(text).graph) ==
          models::without_places(graph));
  }
}

TEST_CASE("what OneFlow did about the hang of Swin-T is a pass away", "[models][passes]") {
  for (const char* passes : {"move-to-stream=BdstBuf:stream=backward", "use-own-stream=BdstBuf",
                             "set-slots=Repeat:slots=4:register=ctrl"}) {
    INFO(passes);
    CHECK(testing::simulate(changed("scenarios/swin_2x2x2.yaml", passes)).explanation.verdict ==
          sim::Verdict::kCompleted);
  }
}

TEST_CASE("a list of passes that is wrong gets one message for each mistake", "[models][passes]") {
  const auto mistakes = [](const char* passes) { return after_pass(passes, kTwo); };
  CHECK(mistakes("mov-to-stream=b:stream=s") ==
        "unknown pass 'mov-to-stream'\n  did you mean 'move-to-stream'?\n");
  CHECK(mistakes("canonicalize=x,set-slots=a:slot=1:slots=1") ==
        "pass 'canonicalize' has no options\n"
        "pass 'set-slots' has no option 'slot'\n  did you mean 'slots'?\n");
  CHECK(mistakes("set-slots=a:slots=many") ==
        "option 'slots' of pass 'set-slots' is an integer, found 'many'\n");
  CHECK(mistakes("set-slots=a:slots=1:op=b") == "option 'op' of pass 'set-slots' is given twice\n");
  CHECK(mistakes("set-slots=a") == "pass 'set-slots' needs the option 'slots': number of slots\n");
  CHECK(mistakes("set-slots=a:slots") ==
        "option 'slots' of pass 'set-slots' needs a value: slots=...\n");
  CHECK(mistakes("canonicalize,") ==
        "expected the name of a pass\n"
        "  write passes as 'canonicalize,set-slots=Repeat:slots=4'\n");
  CHECK(mistakes("set-slots='a") == "unterminated quote in the list of passes\n");
  CHECK(mistakes("set-slots='a'b:slots=1") ==
        "did not expect 'b:slots=1' after pass 'set-slots'\n");
  CHECK(after_pass("set-slots='a:b,c=d':slots=2",
                   "streams: []\nactors: {'a:b,c=d': {source: 1}}\n") ==
        "streams: []\nactors:\n  \"a:b,c=d\": {source: 1, slots: 2}\n");
}

namespace {

void break_names(TaskGraph& graph, const models::PassOptions& /*options*/,
                 Diagnostics& /*diagnostics*/) {
  for (models::ActorTemplate& actor : graph.actors) actor.name = "same";
}

void break_references(TaskGraph& graph, const models::PassOptions& /*options*/,
                      Diagnostics& /*diagnostics*/) {
  graph.actors.back().reads.front().actor = 1000;
}

}  // namespace

TEST_CASE("a pass that breaks a rule is named", "[models][passes]") {
  models::PassRegistry registry = models::shipped_passes();
  REQUIRE(registry.add({"break-names", "breaks names", {}, break_names}));
  REQUIRE(registry.add({"break-references", "breaks references", {}, break_references}));
  CHECK(!registry.add({"break-names", "again", {}, break_names}));
  const auto mistakes = [&](const char* passes, bool verify_each) {
    Diagnostics diagnostics;
    const auto calls = models::parse_passes(passes, registry, diagnostics);
    TaskGraph graph = testing::scenario_of("schema: 1\n" + kTwo).graph;
    CHECK(!models::run_passes(graph, *calls, {verify_each, {}}, diagnostics));
    return told_by_pass(diagnostics);
  };
  const std::string same = "there are two actors 'same'\n  the first is in line 4\n";
  CHECK(mistakes("canonicalize,break-names,canonicalize", true) ==
        same + "  pass 'break-names' broke this rule: before it the graph kept it\n");
  CHECK(mistakes("canonicalize,break-names,canonicalize", false) ==
        same + "  one of the passes broke this rule; --verify-each says which\n");
  CHECK(mistakes("canonicalize,break-references,canonicalize", false) ==
        "what 'b' reads refers to actor number 1000, but there are 2\n"
        "  pass 'break-references' broke this rule: before it the graph kept it\n");
}

TEST_CASE("actors that are put in and taken out are so everywhere", "[models][passes]") {
  TaskGraph graph = testing::scenario_of(
                        "schema: 1\nranks: 2\nstreams: {s: {thread: t}}\n"
                        "threads: {t: {program: [a, {repeat: 1, do: [b]}]}}\n"
                        "actors: {a: {stream: s, source: 1}, b: {stream: s, reads: [a]},\n"
                        "  c: {reads: [b]}}\n"
                        "faults: [{rank: 0, dies: x, act: b}, {rank: 1, dies: y, act: a}]\n")
                        .graph;
  const TaskGraph before = graph;
  models::ActorTemplate made;
  made.name = "new";
  made.on = models::RankSet::range(0, 2);
  made.registers.emplace_back();
  made.reads = graph.actors[1].reads;
  models::insert_actor(graph, 0, made);
  CHECK(graph.actors[0].reads[0].actor == 1);
  CHECK(graph.actors[2].reads[0].actor == 1);
  CHECK(graph.threads[0].program[1].block[0].actor == 2);
  CHECK(graph.faults.ranks[1].actor == 1);
  models::keep_actors(graph, {false, true, true, true});
  CHECK(graph == before);
  models::keep_actors(graph, {true, false, true});
  CHECK(graph.actors[1].reads.empty());
  CHECK(graph.threads[0].program[1].block.empty());
  CHECK(graph.faults.ranks.size() == 1);
}
