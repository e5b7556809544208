// Patches compared with the same change made by hand: both give the same graph.
#include "formats/document/patch.hpp"

#include <string>
#include <vector>

#include "formats/scenario/scenario_writer.hpp"
#include "models/lowering/lowering.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

const char* const kActors = R"(schema: 1
name: two
params: {acc: 4, mode: {default: a, one_of: [a, b]}, t: 1us}
ranks: 2
groups: {tp: all}
streams: [forward, backward]
actors:
  batch:  {source: acc, takes: t}
  gather: {stream: {case: mode, a: forward, b: backward}, slots: 3, collective: {all_gather: tp}, reads: [batch]}
  reduce: {stream: backward, takes: 2us, reads: [gather], registers: {side: {slots: 2}}}
  last:   {stream: backward, reads: [reduce, reduce.side]}
)";

const char* const kProgram = R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  do:
    - {compute: a}
    - repeat: 2
      do:
        - {compute: b}
        - {send: pp, to: 1 - rank, bytes: 8B}
        - {recv: pp, from: 1 - rank, bytes: 8B}
        - {compute: c}
    - {synchronize: device}
)";

std::vector<formats::PatchText> patches_of(const std::vector<std::string>& texts) {
  std::vector<formats::PatchText> patches;
  for (const std::string& text : texts) patches.push_back({"a patch", text});
  return patches;
}

// Returns the patched graph as text; or the errors, each after the index of its file.
std::string patched(const std::string& scenario, const std::vector<std::string>& patches,
                    const testing::Settings& settings = {}) {
  models::Diagnostics diagnostics;
  const auto found =
      formats::read_scenario(scenario, settings, diagnostics, {.patches = patches_of(patches)});
  if (found) models::lower(found->graph, diagnostics);
  if (found && !diagnostics.has_errors()) return formats::write_scenario(found->graph);
  std::string text;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    text += std::to_string(item.place.file) + ":" + std::to_string(item.place.line) + ":" +
            std::to_string(item.place.column) + ": " + item.message + "\n";
    for (const std::string& note : item.notes) text += "  " + note + "\n";
  }
  return text;
}

std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  if (at == std::string::npos) throw std::runtime_error("the text has no '" + old + "'");
  return text.replace(at, old.size(), now);
}

std::string edited(const std::string& text, const std::string& old, const std::string& now) {
  return patched(with(text, old, now), {});
}

std::string actors(const std::string& patch) { return patched(kActors, {"patch: 1\n" + patch}); }
std::string program(const std::string& patch) { return patched(kProgram, {"patch: 1\n" + patch}); }

}  // namespace

TEST_CASE("a patch that says nothing changes nothing", "[patch]") {
  CHECK(patched(kActors, {"patch: 1\nof: two\nabout: nothing\n"}) == patched(kActors, {}));
  CHECK(patched(kProgram, {"patch: 1\n"}) == patched(kProgram, {}));
}

TEST_CASE("a map changes single keys", "[patch]") {
  CHECK(actors("actors: {reduce: {takes: 9us}}\n") == edited(kActors, "takes: 2us", "takes: 9us"));
  CHECK(actors("actors: {reduce: {registers: {side: {slots: 5}}}}\n") ==
        edited(kActors, "side: {slots: 2}", "side: {slots: 5}"));
  CHECK(actors("actors: {batch: {slots: 7}}\n") ==
        edited(kActors, "takes: t}", "takes: t, slots: 7}"));
  CHECK(actors("ranks: 1\n") == edited(kActors, "ranks: 2", "ranks: 1"));
  CHECK(actors("communicators: {creation: first_use}\n") ==
        edited(kActors, "ranks: 2\n", "ranks: 2\ncommunicators: {creation: first_use}\n"));
}

TEST_CASE("nothing takes a key out", "[patch]") {
  CHECK(actors("actors: {gather: {slots: ~}}\n") == edited(kActors, "slots: 3, ", ""));
  CHECK(actors("actors: {gather: {collective: null}}\n") ==
        edited(kActors, "collective: {all_gather: tp}, ", ""));
}

TEST_CASE("a choice is one value", "[patch]") {
  CHECK(actors("actors: {gather: {stream: backward}}\n") ==
        edited(kActors, "{case: mode, a: forward, b: backward}", "backward"));
  CHECK(actors("actors: {gather: {stream: {case: acc, 4: backward, else: forward}}}\n") ==
        edited(kActors, "{case: mode, a: forward, b: backward}", "backward"));
  // No part of the previous choice remains.
  CHECK(actors("actors: {reduce: {takes: {case: rank, 1: 5us, else: 6us}}}\n") ==
        edited(kActors, "takes: 2us", "takes: {case: rank, 1: 5us, else: 6us}"));
}

TEST_CASE("an equal sign puts a value in unmerged", "[patch]") {
  CHECK(actors("groups: {tp: {=: {size: 1}}}\n") == edited(kActors, "tp: all", "tp: {size: 1}"));
  CHECK(actors("actors: {reduce: {registers: {=: {side: {slots: 4}}}}}\n") ==
        edited(kActors, "side: {slots: 2}", "side: {slots: 4}"));
  // Null can also be set as a value: a stream without a thread, on which only programs launch.
  const std::string text =
      std::string(kProgram) + "streams: {copies: {thread: main}, compute: {}}\n";
  CHECK(patched(text, {"patch: 1\nstreams: {copies: {thread: {=: ~}}}\n"}) ==
        edited(text, "thread: main", "thread: ~"));
}

TEST_CASE("what is new has a plus", "[patch]") {
  CHECK(actors("actors: {+copy: {stream: forward, reads: [gather]}}\n") ==
        edited(kActors, "reduce.side]}\n",
               "reduce.side]}\n  copy: {stream: forward, reads: [gather]}\n"));
  // Adds a control edge, although the producer has no `registers` and the reader no `after`.
  CHECK(actors("actors: {batch: {registers: {+ctrl: {control: on}}}, last: {after: {+: "
               "[batch.ctrl]}}}\n") ==
        edited(with(kActors, "takes: t}", "takes: t, registers: {ctrl: {control: on}}}"),
               "reads: [reduce, reduce.side]",
               "reads: [reduce, reduce.side], after: [batch.ctrl]"));
}

TEST_CASE("positions change lists", "[patch]") {
  CHECK(actors("actors: {last: {reads: {2: gather}}}\n") ==
        edited(kActors, "[reduce, reduce.side]", "[reduce, gather]"));
  CHECK(actors("actors: {last: {reads: {-1: ~}}}\n") ==
        edited(kActors, "[reduce, reduce.side]", "[reduce]"));
  CHECK(actors("actors: {last: {reads: [gather]}}\n") ==
        edited(kActors, "[reduce, reduce.side]", "[gather]"));
  CHECK(actors("streams: {+: [extra], 0+: first}\n") ==
        edited(kActors, "[forward, backward]", "[first, forward, backward, extra]"));
  // All indices refer to the list before the patch.
  CHECK(actors("streams: {0+: [x, y], 2: backward, 1+: [w], -1+: [v]}\n") ==
        edited(kActors, "[forward, backward]", "[x, y, forward, w, backward, v]"));
}

TEST_CASE("steps of programs", "[patch]") {
  CHECK(program("programs: {do: {1: {takes: 3us}}}\n") ==
        edited(kProgram, "{compute: a}", "{compute: a, takes: 3us}"));
  CHECK(program("programs: {do: {2: {repeat: 5, do: {-1: ~}}}}\n") == patched(R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  do:
    - {compute: a}
    - repeat: 5
      do:
        - {compute: b}
        - {send: pp, to: 1 - rank, bytes: 8B}
        - {recv: pp, from: 1 - rank, bytes: 8B}
    - {synchronize: device}
)",
                                                                              {}));
  // A send and a recv become one group of calls.
  CHECK(
      program(R"(programs:
  do:
    2:
      do:
        2..3:
          - {group: [{send: pp, to: 1 - rank, bytes: 8B}, {recv: pp, from: 1 - rank, bytes: 8B}]}
)") ==
      edited(
          kProgram, R"(        - {send: pp, to: 1 - rank, bytes: 8B}
        - {recv: pp, from: 1 - rank, bytes: 8B}
)",
          R"(        - {group: [{send: pp, to: 1 - rank, bytes: 8B}, {recv: pp, from: 1 - rank, bytes: 8B}]}
)"));
  CHECK(program("programs: {do: {2: {do: {2..3: ~}}}}\n") ==
        edited(kProgram, R"(        - {send: pp, to: 1 - rank, bytes: 8B}
        - {recv: pp, from: 1 - rank, bytes: 8B}
)",
               ""));
  CHECK(program("programs: {do: {0+: {compute: first}}}\n") ==
        edited(kProgram, "    - {compute: a}\n", "    - {compute: first}\n    - {compute: a}\n"));
}

TEST_CASE("a patch changes one place of an alias", "[patch]") {
  const std::string text = R"(schema: 1
actors:
  a: &op {source: 2, takes: 1us}
  b: *op
)";
  CHECK(
      patched(text, {"patch: 1\nactors: {b: {takes: 5us}}\n"}) ==
      patched("schema: 1\nactors: {a: {source: 2, takes: 1us}, b: {source: 2, takes: 5us}}\n", {}));
  CHECK(
      patched(text, {"patch: 1\nactors: {a: {takes: 5us}}\n"}) ==
      patched("schema: 1\nactors: {a: {source: 2, takes: 5us}, b: {source: 2, takes: 1us}}\n", {}));
}

TEST_CASE("a patch sets parameters, and the command line goes above it", "[patch]") {
  const std::string set = "patch: 1\nset: {acc: 2, mode: b, t: 3us}\n";
  CHECK(patched(kActors, {set}) ==
        patched(kActors, {}, {{"acc", "2"}, {"mode", "b"}, {"t", "3us"}}));
  CHECK(patched(kActors, {set}, {{"acc", "6"}}) ==
        patched(kActors, {}, {{"acc", "6"}, {"mode", "b"}, {"t", "3us"}}));
  CHECK(patched(kActors, {set, "patch: 1\nset: {acc: 3}\n"}) ==
        patched(kActors, {}, {{"acc", "3"}, {"mode", "b"}, {"t", "3us"}}));
}

TEST_CASE("patches are done one after the other", "[patch]") {
  CHECK(patched(kActors, {"patch: 1\nactors: {+copy: {stream: forward, reads: [gather]}}\n",
                          "patch: 1\nactors: {copy: {reads: {1: reduce}}}\n"}) ==
        edited(kActors, "reduce.side]}\n",
               "reduce.side]}\n  copy: {stream: forward, reads: [reduce]}\n"));
}

TEST_CASE("mistakes are reported where they stand", "[patch]") {
  CHECK(actors("actors: {gathr: {slots: 2}}\n") ==
        "1:2:10: there is no actor 'gathr' to change\n  did you mean 'gather'?\n"
        "  '+gathr' adds a new one\n");
  CHECK(actors("actors: {gather: {slot: 2}}\n") ==
        "1:2:19: unknown key 'slot' in an actor\n  did you mean 'slots'?\n");
  CHECK(actors("actors: {gather: {slots: many}}\n").substr(0, 8) == "1:2:26: ");
  CHECK(actors("actors: {gather: {after: ~}}\n") ==
        "1:2:19: there is no key 'after' to remove\n"
        "  known here: stream, slots, collective, reads\n");
  CHECK(actors("actors: {+gather: {slots: 2}}\n") ==
        "1:2:10: actor 'gather' already exists\n  without the '+', its keys are changed\n");
  CHECK(actors("actors: {last: {reads: {3: gather}}}\n") ==
        "1:2:25: there is no position 3: the list has 2 items\n");
  CHECK(actors("actors: {last: {reads: {1..2: [gather], 2: ~}}}\n") ==
        "1:2:41: item 2 of the list is changed twice\n");
  CHECK(actors("set: {ac: 3}\n") ==
        "1:2:11: set ac=3: unknown parameter\n"
        "  did you mean 'acc'?\n");
  CHECK(actors("set: {mode: other}\n") == "1:2:13: set mode=other: 'other' is not one of a, b\n");
  CHECK(actors("actors: {last: {slots: 1, slots: 2}}\n") ==
        "1:2:27: duplicate key 'slots'\n  the first is in line 2 of patch 1\n");
  // Errors in the scenario itself keep their place. An error in the second patch has index 2.
  CHECK(patched(std::string(kActors) + "extra: 1\n", {"patch: 1\n"}).substr(0, 7) == "0:12:1:");
  CHECK(patched(kActors, {"patch: 1\n", "patch: 1\nactors: {x: {slots: 1}}\n"}).substr(0, 7) ==
        "2:2:10:");
  // If a patch removes a register, each read of the register is an error of the actor that reads
  // it.
  CHECK(actors("actors: {reduce: {registers: ~}}\n").substr(0, 5) == "0:11:");
}

TEST_CASE("aliases that nest deeper than a file can", "[patch]") {
  std::string patch = "patch: 1\nactors:\n  a0: &a0 {x: 1}\n";
  for (int i = 1; i < 50; ++i) {
    const std::string number = std::to_string(i);
    patch +=
        "  a" + number + ": &a" + number + " {x: {x: {x: {x: *a" + std::to_string(i - 1) + "}}}}\n";
  }
  CHECK(actors(patch.substr(9) + "model: *a49\n").find(": nested more than 100 deep\n") !=
        std::string::npos);
}

TEST_CASE("what is no patch, or one of another scenario", "[patch]") {
  CHECK(patched(kActors, {kProgram}) ==
        "1:1:1: not a patch: it does not begin with 'patch: 1'\n"
        "  this is a scenario; only one scenario is run, and patches change it\n");
  CHECK(patched(kActors, {"[1, 2]\n"}) == "1:1:1: a patch must be a map, found a list\n");
  CHECK(patched(kActors, {""}) == "1:1:1: the file holds no patch\n");
  CHECK(patched(kActors, {"patch: 2\n"}) ==
        "1:1:8: this pipesim reads patches of version 1, found '2'\n");
  CHECK(patched(kActors, {"patch: 1\nof: three\n"}) ==
        "1:2:5: this patch is of 'three', and the scenario is 'two'\n");
  CHECK(patched(kProgram, {"patch: 1\nof: three\n"}) ==
        "1:2:5: this patch is of 'three', and the scenario has no name\n");
  CHECK(actors("schema: 1\n") == "1:2:1: a patch cannot change 'schema'\n");
  CHECK(patched(kActors, {"patch: 1\nactors: {\n"}).substr(0, 2) == "1:");
}
