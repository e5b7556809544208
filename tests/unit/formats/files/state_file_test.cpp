#include "formats/files/state_file.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using formats::SavedState;

namespace {

SavedState example() {
  SavedState state;
  state.made_by = "1.2.3";
  state.path = "some/where.yaml";
  state.scenario = "schema: 1\nname: x\n";
  state.settings = {{"acc", "2"}, {"acc", "4"}};
  state.until = "rank0:a b#3";
  state.interrupted = true;
  state.events = 18446744073709551615u;
  state.verdict = sim::Verdict::kLimit;
  state.fingerprint = 0x00000000deadbeef;
  return state;
}

std::string written(const SavedState& state) {
  models::Diagnostics diagnostics;
  const auto text = formats::write_state(state, diagnostics);
  return text ? *text : testing::text_of(diagnostics);
}

std::string mistakes_in(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto state = formats::read_state(text, diagnostics);
  CHECK(!state.has_value());
  CHECK(diagnostics.error_count() == 1);
  return testing::text_of(diagnostics);
}

// Returns the example with `part` replaced.
std::string changed(const std::string& part, const std::string& by) {
  std::string text = written(example());
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

}  // namespace

TEST_CASE("a state file is short and can be read by people", "[formats][state_file]") {
  CHECK(written(example()) == R"({
  "pipesim_state": 1,
  "made_by": "1.2.3",
  "verdict": "limit",
  "fingerprint": "00000000deadbeef",
  "events": 18446744073709551615,
  "interrupted": true,
  "until": "rank0:a b#3",
  "settings": [
    {
      "name": "acc",
      "value": "2"
    },
    {
      "name": "acc",
      "value": "4"
    }
  ],
  "path": "some/where.yaml",
  "scenario": [
    "schema: 1",
    "name: x",
    ""
  ]
}
)");
}

TEST_CASE("what is written to a state file is read from it", "[formats][state_file]") {
  using std::string_literals::operator""s;
  const std::vector<std::string> texts = {
      ""s,
      "\n"s,
      "\n\n"s,
      "no end of line"s,
      "a\r\nb\r\n"s,
      "a\rb"s,
      "\ttab \"quotes\" 'single' back\\slash /\n"s,
      "\x01\x1f\x7f\x00 control"s,
      "gr\u00fc\u00df \u4f60\u597d \U0001f600 \u2028 \ufeff"s,
      "\"pipesim_state\": 2"s,
      "{}[]:,#&*!|>%@`"s,
  };
  for (const std::string& text : texts) {
    INFO(text);
    SavedState state = example();
    state.scenario = text;
    state.settings = {{text, text}, {"", ""}};
    state.until = text;
    state.path = text;
    state.made_by = text;
    models::Diagnostics diagnostics;
    const auto back = formats::read_state(written(state), diagnostics);
    REQUIRE(back.has_value());
    CHECK(*back == state);
  }
  // Another program's style: one line, non-ASCII characters escaped.
  models::Diagnostics diagnostics;
  const auto back = formats::read_state(
      R"({"pipesim_state":1,"new key":[1],"made_by":"\u00e9","verdict":"deadlock","events":0,)"
      R"("interrupted":false,"fingerprint":"0123456789ABCDEF","settings":[],"path":"",)"
      R"("scenario":["\ud83d\ude00"]})",
      diagnostics);
  REQUIRE(back.has_value());
  CHECK(back->scenario == "\U0001f600");
  CHECK(back->fingerprint == 0x0123456789abcdef);
}

TEST_CASE("what is no UTF-8 cannot be saved, but as a path it does not matter",
          "[formats][state_file]") {
  SavedState state = example();
  state.path = "\xff";
  CHECK(written(state).find("\"\\ufffd\"") != std::string::npos);
  state.scenario = "\xff";
  CHECK(written(state) == "0:0: cannot save a scenario that is not UTF-8\n");
}

TEST_CASE("what is no state file is told with its place", "[formats][state_file]") {
  const std::string too_early = "truncated state file: it ends too early\n";
  CHECK(mistakes_in("") == "1:1: " + too_early);
  CHECK(mistakes_in(" \n\n") == "3:1: " + too_early);
  CHECK(mistakes_in("{\n  \"pipesim_state\": 1,\n") == "3:1: " + too_early);
  CHECK(mistakes_in("schema: 1\n") == "1:1: not a state file: invalid JSON\n");
  CHECK(mistakes_in("{\"a\": 1,\n 'b': 2}\n") == "2:2: not a state file: invalid JSON\n");
  CHECK(mistakes_in("[1]") == "1:1: not a state file: it has no 'pipesim_state'\n");
  CHECK(mistakes_in("{}") == "1:1: not a state file: it has no 'pipesim_state'\n");
  const std::string whole = written(example());
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    CHECK(mistakes_in(whole.substr(0, size)).find(too_early) != std::string::npos);
  }
  CHECK(mistakes_in(std::string(100, '[')).find(too_early) != std::string::npos);
  CHECK(mistakes_in(std::string(100000, '[')) == "1:101: nested more than 100 deep\n");
  CHECK(mistakes_in(std::string(formats::kMaxStateBytes + 1, ' ')) ==
        "1:1: a state file can have at most 256 MiB\n");
}

TEST_CASE("each key of a state file is checked", "[formats][state_file]") {
  CHECK(mistakes_in(changed(": 1,", ": 2,")) ==
        "2:3: this pipesim reads state files of schema 1, found 2\n");
  CHECK(mistakes_in(changed(": 1,", ": \"1\",")) ==
        "2:3: this pipesim reads state files of schema 1, found string\n");
  CHECK(mistakes_in(changed("\"limit\"", "\"lost\"")) == "4:3: unknown verdict 'lost'\n");
  CHECK(mistakes_in(changed("00000000deadbeef", "deadbeef")) ==
        "5:3: a fingerprint has 16 hexadecimal digits\n");
  CHECK(mistakes_in(changed("18446744073709551615", "-1")) ==
        "6:3: 'events' must be a number of events, found -1\n");
  CHECK(mistakes_in(changed("true", "\"yes\"")) ==
        "7:3: 'interrupted' must be true or false, found string\n");
  CHECK(mistakes_in(changed("\"name\": \"acc\"", "\"name\": 7")) ==
        "9:3: 'settings' must be a list of names and values, found array\n");
  CHECK(mistakes_in(changed("\"some/where.yaml\"", "null")) ==
        "19:3: 'path' must be a text, found null\n");
  CHECK(mistakes_in(changed("\"name: x\"", "8")) ==
        "20:3: 'scenario' must be a list of lines, found array\n");
  CHECK(mistakes_in(changed("\"events\"", "\"event\"")) ==
        "1:1: this state file has no 'events'\n");
}

TEST_CASE("a state has the patches of its run, where there are any", "[state]") {
  SavedState state = example();
  CHECK(written(state).find("patches") == std::string::npos);
  state.patches = {{"fix.yaml", "patch: 1\nset: {acc: 2}\n"}, {"\"b\".yaml", "patch: 1"}};
  const std::string text = written(state);
  models::Diagnostics diagnostics;
  const auto read = formats::read_state(text, diagnostics);
  REQUIRE(read.has_value());
  CHECK(*read == state);
  const auto with = [&](const std::string& patches) {
    std::string changed = written(example());
    return changed.insert(1, "\"patches\": " + patches + ",");
  };
  CHECK(mistakes_in(with("3")).find("'patches' must be a list of paths and lines, found 3") !=
        std::string::npos);
  CHECK(mistakes_in(with("[{\"path\": \"a\", \"lines\": [1]}]"))
            .find("'lines' must be a list of lines") != std::string::npos);
}
