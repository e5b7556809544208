// Records as `pipesim record` writes them. tests/golden/errors_in_records has all errors.
#include "features/record/record_reader.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/record.hpp"

using namespace pipesim;
using models::RecordEnd;
using models::RecordEntry;

namespace {

std::string mistakes_in(const std::vector<formats::RecordText>& files) {
  models::Diagnostics diagnostics;
  CHECK_FALSE(formats::read_record(files, diagnostics).has_value());
  return testing::text_of(diagnostics);
}

}  // namespace

TEST_CASE("a record is read as it was written", "[formats][record_reader]") {
  const models::Record record = testing::record_of(
      "nccl", {R"({"def": "l1", "at": "train.py:20", "in": "step", "call": "backward"}
{"def": "s1", "stream": "side"}
{"call": "broadcast", "g": "g0", "n": 3, "bytes": 64, "type": "int64", "root": 1, "w": 7, "l": "l1", "s": "s1", "k": 12}
{"wait": [7], "l": "l1"}
{"end": "raised", "text": "ValueError: x", "l": "l1"}
)",
               R"({"call": "send", "g": "g0", "n": 1, "peer": 0, "tag": 5, "bytes": 8, "sync": true}
)"});
  REQUIRE(record.ranks.size() == 2);
  CHECK(record.backend == "nccl");
  CHECK(record.command == "job.py");
  REQUIRE(record.ranks[0].entries.size() == 2);
  const RecordEntry& call = record.ranks[0].entries[0];
  CHECK(call.operation == models::Operation::kBroadcast);
  CHECK(call.number == 3);
  CHECK(call.bytes == 64);
  CHECK(record.texts[call.type] == "int64");
  CHECK(call.peer == 1);
  CHECK(call.work == 7);
  CHECK(call.kernels == 12);
  CHECK(record.ranks[0].streams[call.stream].name == "side");
  CHECK(record.place_of(call.place) == "train.py:20 step > backward");
  CHECK(record.ranks[0].entries[1].amounts == std::vector<std::int64_t>{7});
  CHECK(record.ranks[0].end.kind == RecordEnd::Kind::kRaised);
  const RecordEntry& send = record.ranks[1].entries[0];
  CHECK(send.tag == 5);
  CHECK(send.sync);
  CHECK(record.ranks[1].end.cut == RecordEnd::Cut::kKilled);  // a file without an end line
}

TEST_CASE("the user's line is the innermost one outside of packages", "[formats][record_reader]") {
  const models::Record record = testing::record_of("gloo", {R"({"def": "l1", "at": "train.py:9"}
{"def": "l2", "at": "train.py:5", "in": "run", "call": "train", "up": "l1"}
{"def": "l3", "at": "fast/trainer.py:7", "in": "train", "call": "reduce", "lib": true, "up": "l2"}
{"def": "l4", "at": "fast/ops.py:1", "in": "reduce", "call": "all_reduce", "lib": true, "up": "l3"}
{"def": "l5", "at": "comm/torch.py:2", "in": "all_reduce", "call": "all_reduce", "lib": true, "up": "l4"}
{"def": "l6", "at": "hooks.py:3", "in": "hook", "call": "barrier", "up": "l3"}
{"def": "l7", "at": "fast/ops.py:8", "in": "barrier", "call": "barrier", "lib": true}
{"call": "all_reduce", "g": "g0", "n": 1, "bytes": 8, "sync": true, "l": "l5"}
{"call": "barrier", "g": "g0", "n": 2, "sync": true, "l": "l6"}
{"call": "barrier", "g": "g0", "n": 3, "sync": true, "l": "l7"}
)"});
  const auto& entries = record.ranks[0].entries;
  REQUIRE(entries.size() == 3);
  // A package function named after the call it makes adds no information.
  CHECK(record.place_of(entries[0].place) == "train.py:5 run > train, in fast/ops.py:1 reduce");
  CHECK(record.place_of(entries[1].place) == "hooks.py:3 hook > barrier");
  CHECK(record.place_of(entries[2].place) == "fast/ops.py:8 barrier > barrier");
  std::string stack;
  for (std::uint32_t at = entries[1].frame; at != models::kNotSaid; at = record.frames[at].up) {
    stack += record.frames[at].at + (record.frames[at].library ? " lib\n" : "\n");
  }
  CHECK(stack == "hooks.py:3\nfast/trainer.py:7 lib\ntrain.py:5\ntrain.py:9\n");
}

TEST_CASE("a place is called from one that is defined before", "[formats][record_reader]") {
  const std::string line = "{\"def\": \"a\", \"at\": \"x.py:1\", \"up\": \"a\"}\n";
  const std::string found =
      mistakes_in({{"record.json", "{\"record\": 1, \"world\": 1}"},
                   {"rank0.jsonl", "{\"record\": 1, \"rank\": 0, \"world\": 1}\n" + line}});
  CHECK(found.find("no place 'a' is defined before this line") != std::string::npos);
}

TEST_CASE("groups of several ranks are one by name and members", "[formats][record_reader]") {
  const std::string first = "{\"def\": \"a\", \"group\": \"1\", \"ranks\": [0, 1]}\n";
  const std::string second = "{\"def\": \"b\", \"group\": \"1\", \"ranks\": [0, 1]}\n";
  const std::string other = "{\"def\": \"b\", \"group\": \"1\", \"ranks\": [1, 0]}\n";
  CHECK(testing::record_of("gloo", {first, second}).groups.size() == 2);
  CHECK(testing::record_of("gloo", {first, other}).groups.size() == 3);
}

TEST_CASE("what a terminal would act on is not passed on", "[formats][record_reader]") {
  const models::Record record = testing::record_of(
      "gloo", {"{\"def\": \"l\", \"at\": \"a\\u001b[2Jb.py:1\\u009b\", \"call\": \"f\\nx\"}\n"});
  REQUIRE(record.places.size() == 1);
  CHECK_FALSE(models::has_control_characters(record.place_of(0)));
}

TEST_CASE("mistakes have file, line and column", "[formats][record_reader]") {
  CHECK(mistakes_in(testing::record_files("gloo", {"\n{\"step\": 1, \"l\": \"l9\"}\n{]"})) ==
        "4:13: no place 'l9' is defined before this line\n5:2: not a line of a record: invalid "
        "JSON\n");
  CHECK(mistakes_in(testing::record_files("gloo", {"{\"step\": 1e999}"})) ==
        "3:10: invalid line of a record: a number is too large\n");
  std::vector<formats::RecordText> files = testing::record_files("gloo", {"", ""});
  files.pop_back();
  CHECK(mistakes_in(files) == "0:0: the record has no file of rank 1 (of 2 ranks)\n");
}

TEST_CASE("a rank calls in its own groups only", "[formats][record_reader]") {
  CHECK(mistakes_in(
            testing::record_files("gloo", {"{\"def\": \"a\", \"group\": \"1\", \"ranks\": [1]}\n"
                                           "{\"call\": \"barrier\", \"g\": \"a\", \"n\": 1}\n",
                                           ""})) == "4:21: rank 0 is not in group '1'\n");
}

TEST_CASE("a rank splits its own groups only", "[formats][record_reader]") {
  const std::string group = "{\"def\": \"g1\", \"group\": \"1\", \"ranks\": [0]}\n";
  const std::string split =
      "{\"def\": \"g2\", \"group\": \"1:1\", \"ranks\": [0]}\n"
      "{\"new_group\": \"g2\", \"parent\": \"g1\"}\n";
  CHECK(testing::record_of("nccl", {group + split, ""}).groups.size() == 3);
  CHECK(testing::contains(mistakes_in(testing::record_files("nccl", {"", group + split})),
                          "rank 1 is not in group '1'"));
}

TEST_CASE("many mistakes of a file are not all told", "[formats][record_reader]") {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "{\"step\": -1}\n";
  models::Diagnostics diagnostics;
  formats::read_record(testing::record_files("gloo", {lines}), diagnostics);
  CHECK(diagnostics.error_count() == 20);
}

TEST_CASE("deep lists are refused where they begin", "[formats][record_reader]") {
  const auto lists = [](std::size_t count) {
    const std::string line =
        "{\"wait\": " + std::string(count, '[') + std::string(count, ']') + "}";
    return mistakes_in(testing::record_files("gloo", {line}));
  };
  // The array is in an object, which is one more level.
  CHECK(lists(99) == "3:2: 'wait' must be an integer from 0 to 9007199254740992\n");
  CHECK(lists(100) == "3:109: nested more than 100 deep\n");
  CHECK(mistakes_in(testing::record_files("gloo", {"{\"wait\": " + std::string(100'000, '[')})) ==
        "3:109: nested more than 100 deep\n");
}
