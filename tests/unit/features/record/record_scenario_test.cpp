// Verdicts of waits in small records. The expectations follow from the rules of gloo (sends and
// recvs match by tag; async calls run next to the program) and of NCCL (each pair of ranks has a
// communicator with one queue of calls; a batch is on the group's communicator).
#include "features/record/record_scenario.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/record.hpp"

#include "features/record/any_source.hpp"
#include "features/record/record_checks.hpp"

using namespace pipesim;
using testing::is_proved;
using testing::record_of;

namespace {

std::string end(const std::string& keys = "\"end\": \"finished\"") { return "{" + keys + "}\n"; }

// Returns a send or recv with these additional keys.
std::string message(const std::string& op, int number, int peer, const std::string& keys) {
  return "{\"call\": \"" + op + "\", \"g\": \"g0\", \"n\": " + std::to_string(number) +
         ", \"peer\": " + std::to_string(peer) + ", \"bytes\": 400, " + keys + "}\n";
}

std::string collective(const std::string& group, int number, const std::string& keys) {
  return "{\"call\": \"all_reduce\", \"g\": \"" + group + "\", \"n\": " + std::to_string(number) +
         ", \"bytes\": 400, " + keys + "}\n";
}

const std::string kSync = "\"sync\": true";

std::string scenario_of(const models::Record& record, models::RecordRules rules) {
  return formats::record_scenario(record, rules, "job");
}

}  // namespace

TEST_CASE("ranks that send to each other first hang", "[formats][record_scenario]") {
  const auto record =
      record_of("gloo", {message("send", 1, 1, kSync) + message("recv", 2, 1, kSync) + end(),
                         message("send", 1, 0, kSync) + message("recv", 2, 0, kSync) + end()});
  CHECK_FALSE(is_proved(record, "gloo"));
  CHECK_FALSE(is_proved(record, "nccl"));
  CHECK_FALSE(is_proved(record, "nccl", {{"p2p", "group"}}));
}

TEST_CASE("sends that nothing waits for at once pass by in gloo alone",
          "[formats][record_scenario]") {
  const auto program = [](int peer) {
    return message("send", 1, peer, "\"w\": 1") + message("recv", 2, peer, "\"w\": 2") +
           "{\"wait\": [1, 2]}\n" + end();
  };
  const auto record = record_of("gloo", {program(1), program(0)});
  CHECK(is_proved(record, "gloo"));
  CHECK_FALSE(is_proved(record, "nccl"));
}

TEST_CASE("gloo matches messages by tag", "[formats][record_scenario]") {
  const auto record = record_of(
      "gloo", {message("send", 1, 1, "\"tag\": 1, \"w\": 1") +
                   message("send", 2, 1, "\"tag\": 2, \"w\": 2") + "{\"wait\": [1, 2]}\n" + end(),
               message("recv", 1, 0, "\"tag\": 2, " + kSync) +
                   message("recv", 2, 0, "\"tag\": 1, " + kSync) + end()});
  CHECK(is_proved(record, "gloo"));
  const auto missing = record_of("gloo", {message("send", 1, 1, "\"tag\": 1, " + kSync) + end(),
                                          message("recv", 1, 0, "\"tag\": 2, " + kSync) + end()});
  CHECK_FALSE(is_proved(missing, "gloo"));
}

TEST_CASE("a batch of NCCL is on the communicator of the group", "[formats][record_scenario]") {
  const auto batch = [](int peer) {
    return message("send", 1, peer, "\"w\": 1, \"batch\": 0") +
           message("recv", 2, peer, "\"w\": 2, \"batch\": 0") + "{\"wait\": [1, 2]}\n" + end();
  };
  CHECK(is_proved(record_of("nccl", {batch(1), batch(0)}), "nccl"));
  // A call outside a batch is on the pair's communicator, so it never matches a call of a batch.
  const auto mixed = record_of("nccl", {message("send", 1, 1, "\"w\": 1, \"batch\": 0") + end(),
                                        message("recv", 1, 0, kSync) + end()});
  CHECK_FALSE(is_proved(mixed, "nccl"));
  CHECK(is_proved(mixed, "nccl", {{"p2p", "group"}}));
  CHECK(is_proved(mixed, "gloo"));
}

TEST_CASE("communicators that are made lazily need one order", "[formats][record_scenario]") {
  const auto program = [](const std::string& first, const std::string& second) {
    return "{\"def\": \"g1\", \"group\": \"1\", \"ranks\": [0, 1]}\n"
           "{\"def\": \"g2\", \"group\": \"2\", \"ranks\": [0, 1]}\n"
           "{\"new_group\": \"g1\", \"key\": 1}\n{\"new_group\": \"g2\", \"key\": 2}\n" +
           collective(first, 1, "\"w\": 1") + collective(second, 1, "\"w\": 2") +
           "{\"wait\": [1, 2]}\n" + end();
  };
  const auto record = record_of("nccl", {program("g1", "g2"), program("g2", "g1")});
  CHECK_FALSE(is_proved(record, "nccl"));
  // Communicators that are initialized at the start still need kernel slots for both calls.
  CHECK_FALSE(is_proved(record, "nccl", {{"lazy", "off"}, {"reading", "real"}}));
  CHECK(is_proved(record, "gloo"));
}

TEST_CASE("the store makes hosts wait", "[formats][record_scenario]") {
  const std::string wait = "{\"store\": \"wait\", \"keys\": [\"go\", \"now\"]}\n" + end();
  const std::string set = "{\"store\": \"set\", \"key\": \"go\"}\n";
  const std::string add = "{\"store\": \"add\", \"key\": \"now\", \"amount\": 1, \"result\": 1}\n";
  CHECK(is_proved(record_of("gloo", {set + add + end(), wait}), "gloo"));
  CHECK_FALSE(is_proved(record_of("gloo", {set + end(), wait}), "gloo"));
  // A loop that adds 0 ends when all ranks have added 1.
  const std::string poll = "{\"store\": \"add\", \"key\": \"n\", \"amount\": 0, \"result\": ";
  const std::string count = "{\"store\": \"add\", \"key\": \"n\", \"amount\": 1, \"result\": 1}\n";
  const std::string loop = count + poll + "1}\n" + poll + "2}\n" + end();
  CHECK(is_proved(record_of("gloo", {loop, loop}), "gloo"));
  CHECK_FALSE(is_proved(record_of("gloo", {loop, end()}), "gloo"));
}

TEST_CASE("a rank that was cut is not missed, one that ended is", "[formats][record_scenario]") {
  const std::string waits = collective("g0", 1, kSync) + end();
  const std::string cut = end("\"end\": \"cut\", \"why\": \"steps\"");
  CHECK(is_proved(record_of("gloo", {waits, cut}), "gloo"));
  CHECK_FALSE(is_proved(record_of("gloo", {waits, end()}), "gloo"));
}

TEST_CASE("ranks that stood still are never proved", "[formats][record_scenario]") {
  const std::string rest = end("\"end\": \"cut\", \"why\": \"rest\"");
  CHECK_FALSE(is_proved(record_of("gloo", {rest, rest}), "gloo"));
  const std::string send = message("send", 1, 1, kSync) + rest;
  const std::string other = message("send", 1, 0, kSync) + rest;
  const auto text = [&] {
    models::Record record = record_of("gloo", {send, other});
    models::add_later_calls(record);
    return scenario_of(record, models::RecordRules::kGloo);
  }();
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text, {}, diagnostics);
  REQUIRE(scenario.has_value());
  CHECK(testing::simulate(scenario->graph).explanation.verdict == sim::Verdict::kDeadlock);
}

// Rank 1 is blocked in the store before the call that rank 0 has made. NCCL's rules give this call
// more steps: an event is recorded and waited for.
TEST_CASE("a call that comes later has its events under NCCL's rules",
          "[formats][record_scenario]") {
  const std::string rest = end("\"end\": \"cut\", \"why\": \"rest\"");
  const auto record = [&] {
    models::Record made = record_of("nccl", {collective("g0", 1, kSync) + rest,
                                             "{\"store\": \"get\", \"key\": \"go\"}\n" + rest});
    models::add_later_calls(made);
    return made;
  }();
  const std::string text = scenario_of(record, models::RecordRules::kNccl);
  CHECK(testing::contains(text, "name: later all_reduce"));
  CHECK_FALSE(testing::contains(text, "work 1 of world, stream: nccl world, name"));
  CHECK_FALSE(is_proved(record, "nccl"));
}

TEST_CASE("only of a rank that was cut after --steps is it known that it goes on",
          "[formats][record_scenario]") {
  const auto is_unknown = [](const std::string& keys) {
    return models::ends_unknown(record_of("gloo", {end(keys)}).ranks.front());
  };
  CHECK_FALSE(is_unknown("\"end\": \"cut\", \"why\": \"steps\""));
  CHECK_FALSE(is_unknown("\"end\": \"cut\", \"why\": \"rest\""));
  CHECK_FALSE(is_unknown("\"end\": \"raised\", \"text\": \"ValueError\""));
  CHECK(is_unknown("\"end\": \"cut\", \"why\": \"seconds\""));
  CHECK(is_unknown("\"end\": \"cut\", \"why\": \"killed\""));
  CHECK(is_unknown("\"end\": \"cut\", \"why\": \"made_up\""));
}

TEST_CASE("of a long exception a scenario has the beginning", "[formats][record_scenario]") {
  std::string pages;
  for (int i = 0; i < 5000; ++i) pages += "\u00e9";
  const auto record = record_of("gloo", {end("\"end\": \"raised\", \"text\": \"" + pages + "\"")});
  CHECK_FALSE(is_proved(record, "gloo"));  // the rank failed, but the record is readable
  std::string shown;
  for (int i = 0; i < 500; ++i) shown += "\u00e9";
  CHECK(testing::contains(scenario_of(record, models::RecordRules::kGloo), shown + "...\""));
}

// Rank 0 destroys the group while its second all_reduce is pending. Rank 1 makes this all_reduce
// only after it reads a key, which rank 0 sets after the destroy.
TEST_CASE("destroy_process_group of NCCL waits for the rank's calls",
          "[formats][record_scenario]") {
  const auto record = [](const std::string& destroy) {
    const std::string set = "{\"store\": \"set\", \"key\": \"k\"}\n";
    const std::string get = "{\"store\": \"get\", \"key\": \"k\"}\n";
    const std::string first = collective("g0", 1, kSync);
    return record_of("nccl", {first + collective("g0", 2, "\"w\": 1") + destroy + set + end(),
                              first + get + collective("g0", 2, "\"w\": 1") + end()});
  };
  const std::string destroy = "{\"destroy\": \"g0\"}\n";
  CHECK(is_proved(record(""), "nccl"));
  CHECK_FALSE(is_proved(record(destroy), "nccl"));
  CHECK(is_proved(record(destroy), "gloo"));  // the recorder has its waits
  CHECK(testing::contains(scenario_of(record(destroy), models::RecordRules::kNccl), "finalize: "));
  // From NCCL 2.31 on, the ranks of a host wait for each other when they destroy a communicator.
  const auto one = record_of(
      "nccl", {collective("g0", 1, kSync) + destroy + end(), collective("g0", 1, kSync) + end()});
  CHECK(is_proved(one, "nccl"));
  CHECK_FALSE(is_proved(one, "nccl", {{"nccl", "2.31"}}));
}

// After destroy_process_group, the sequence numbers restart.
TEST_CASE("a group that is made again has calls of its own", "[formats][record_scenario]") {
  const std::string again =
      "{\"destroy\": \"g0\"}\n{\"def\": \"g1\", \"group\": \"0\", "
      "\"ranks\": [0, 1]}\n{\"init\": \"g1\"}\n";
  const std::string first =
      "{\"def\": \"l\", \"at\": \"a.py:1\"}\n"
      "{\"def\": \"m\", \"at\": \"a.py:2\"}\n" +
      collective("g0", 1, "\"l\": \"l\", " + kSync) + again;
  const std::string program = first + collective("g1", 1, "\"l\": \"m\", " + kSync) + end();
  const auto record = record_of("gloo", {program, program});
  CHECK(record.groups.size() == 2);
  CHECK(models::check_record(record).empty());
  CHECK(is_proved(record, "gloo"));
  CHECK_FALSE(is_proved(record_of("gloo", {program, first + end()}), "gloo"));
}

// The writer replaces characters that YAML names cannot have, and shortens long names; different
// names never become equal.
TEST_CASE("keys and groups that differ in a character have names of their own",
          "[formats][record_scenario]") {
  const auto key = [](const std::string& op, const std::string& name) {
    return "{\"store\": \"" + op + "\", \"key\": \"" + name + "\"}\n";
  };
  const auto proved = [&](const std::string& set, const std::string& asked) {
    return is_proved(record_of("gloo", {key("set", set) + end(), key("get", asked) + end()}),
                     "gloo");
  };
  const std::string same(300, 'k');
  CHECK(proved("a:b", "a:b"));
  CHECK_FALSE(proved("a:b", "a_b"));
  CHECK(proved(same + "1", same + "1"));
  CHECK_FALSE(proved(same + "1", same + "2"));
  CHECK_FALSE(proved("\u03b1", "\u03b2"));

  const auto group = [](const std::string& id, const std::string& name, const std::string& desc,
                        int rank) {
    return "{\"def\": \"" + id + "\", \"group\": \"" + name + "\", \"ranks\": [" +
           std::to_string(rank) + "], \"desc\": \"" + desc + "\"}\n";
  };
  const std::string text = scenario_of(
      record_of("gloo", {group("g1", "1", "\u03b1", 0) + collective("g1", 1, kSync) + end(),
                         group("g1", "2", "\u03b2", 1) + collective("g1", 1, kSync) + end()}),
      models::RecordRules::kGloo);
  CHECK(testing::contains(text, "all_reduce: __,"));
  CHECK(testing::contains(text, "all_reduce: __ 2,"));
}

// ncclCommSplit waits for all ranks of the parent, even for ranks outside the new communicator.
TEST_CASE("a split waits for all ranks of its parent under NCCL's rules",
          "[formats][record_scenario]") {
  const std::string split =
      "{\"def\": \"g1\", \"group\": \"0:1\", \"ranks\": [0, 1]}\n"
      "{\"new_group\": \"g1\", \"parent\": \"g0\"}\n";
  const std::string call = collective("g0", 1, kSync);
  const std::string inner = collective("g1", 1, kSync);
  const std::string member = split + inner + call + end();
  CHECK(is_proved(record_of("nccl", {member, member, split + call + end()}), "nccl"));
  const auto missing = record_of("nccl", {member, member, call + end()});
  CHECK_FALSE(is_proved(missing, "nccl"));
  CHECK(is_proved(missing, "gloo"));
  CHECK(testing::contains(scenario_of(missing, models::RecordRules::kNccl), "{split: world}"));
  CHECK_FALSE(testing::contains(scenario_of(missing, models::RecordRules::kGloo), "split"));
}

// A blocked rank may still call the split; a rank whose record was cut is not counted as missing.
TEST_CASE("a split of a rank whose record ends before it", "[formats][record_scenario]") {
  const std::string split =
      "{\"def\": \"g1\", \"group\": \"0:1\", \"ranks\": [0]}\n"
      "{\"new_group\": \"g1\", \"parent\": \"g0\"}\n";
  const auto steps =
      record_of("nccl", {split + end(), end("\"end\": \"cut\", \"why\": \"steps\"")});
  CHECK(is_proved(steps, "nccl"));
  auto rest = record_of("nccl", {split + end(), end("\"end\": \"cut\", \"why\": \"rest\"")});
  CHECK_FALSE(is_proved(rest, "nccl"));
  models::add_later_calls(rest);
  REQUIRE(rest.ranks[1].entries.size() == 1);
  CHECK(rest.ranks[1].entries[0].later);
  CHECK(rest.ranks[1].entries[0].parent == rest.ranks[0].entries[0].parent);
}

TEST_CASE("equal ranks have one program, and repeated steps are loops",
          "[formats][record_scenario]") {
  const auto ring = [](int rank) {
    const std::string wait = "{\"wait\": ";
    std::string text;
    for (int i = 0; i < 3; ++i) {
      const int work = 2 * i;
      text += message("send", 2 * i + 1, (rank + 1) % 4,
                      "\"w\": " + std::to_string(work) + ", \"batch\": " + std::to_string(i)) +
              message("recv", 2 * i + 2, (rank + 3) % 4,
                      "\"w\": " + std::to_string(work + 1) + ", \"batch\": " + std::to_string(i)) +
              wait + std::to_string(work) + "}\n" + wait + std::to_string(work + 1) + "}\n";
    }
    return text + end();
  };
  const auto record = record_of("nccl", {ring(0), ring(1), ring(2), ring(3)});
  CHECK(scenario_of(record, models::RecordRules::kNccl) ==
        R"yaml(schema: 1
name: job
about: "recorded from job.py, under the rules of NCCL"
params:
  lazy:
    default: on
    about: "on: the first call makes a communicator; off: it is made at once (device_id=)"
ranks: 4
groups:
  world: all
communicators:
  creation: {case: lazy, on: first_use, off: start}
programs:
  - do:
      - repeat: 3
        do:
          - group:
              - {send: world, to: (rank + 1) % ranks, bytes: 400B}
              - {recv: world, from: (rank + 3) % ranks, bytes: 400B}
            after: [compute]
          - {record: work 1 of world, stream: nccl world}
          - {wait: work 1 of world}
)yaml");
}

// Each send leaves its work pending until all sends are made, as a 1F1B pipeline with isend does.
TEST_CASE("people read one wait for pending sends on a stream, and a loop of sends",
          "[formats][record_scenario]") {
  std::string sends;
  std::string recvs;
  std::string waits;
  for (int i = 0; i < 6; ++i) {
    sends += message("send", i + 1, 1, "\"w\": " + std::to_string(i));
    recvs += message("recv", i + 1, 0, kSync);
    waits += "{\"wait\": " + std::to_string(i) + "}\n";
  }
  const auto record = record_of("nccl", {sends + waits + end(), recvs + end()});
  const auto rules = models::RecordRules::kNccl;
  const std::string text = formats::record_scenario(record, rules, "job", {}, true);
  const auto at = text.find("  - on: 0\n");
  CHECK(text.substr(at, text.find("  - on: 1\n") - at) == R"yaml(  - on: 0
    do:
      - repeat: 6
        do:
          - {send: {case: p2p, pair: world pair, group: world}, to: 1, bytes: 400B,
            after: [compute]}
      - {record: work 1 of world pair,
        stream: {case: p2p, pair: nccl world pair, group: nccl world}}
      - {wait: work 1 of world pair}
)yaml");
  // gloo completes sends in any order, so each wait stays.
  const std::string gloo =
      formats::record_scenario(record, models::RecordRules::kGloo, "job", {}, true);
  CHECK(gloo.find("await: work 1 of") != std::string::npos);
  CHECK(gloo.find("await: work 6 of") != std::string::npos);
}

// Ranks 1 and 2 each send to rank 0, whose first recv is from any source.
TEST_CASE("a recv from any source may take each message under gloo's rules",
          "[formats][record_scenario]") {
  const auto job = [](const std::string& second) {
    return record_of(
        "gloo",
        {message("recv", 1, 2, "\"any\": true, " + kSync) + message("recv", 2, 1, second) + end(),
         message("send", 1, 0, kSync) + end(), message("send", 1, 0, kSync) + end()});
  };
  CHECK(is_proved(job("\"any\": true, " + kSync), "gloo"));
  // The second recv is from rank 1, whose send the first recv can match.
  CHECK_FALSE(is_proved(job(kSync), "gloo"));
  CHECK(is_proved(models::with_recorded_sources(job(kSync)), "gloo"));
  // NCCL has no recv from any source, so the recorded source counts.
  CHECK(is_proved(job(kSync), "nccl"));
  const std::string text = scenario_of(job(kSync), models::RecordRules::kGloo);
  CHECK(testing::contains(text, "world messages: all"));
  CHECK(testing::contains(text, "{recv: world messages, from: any, bytes: 400B}"));
  CHECK(testing::contains(text, "{recv: world messages, from: 1, bytes: 400B}"));
}

TEST_CASE("a recv that may be overtaken is noticed where a rank also receives from any",
          "[formats][record_scenario]") {
  const std::string wait = "{\"wait\": [1]}\n";
  // Whether recvs may be overtaken, with lines `between` the two recvs of rank 0 and `behind` them.
  const auto overtakes = [](const std::string& first, const std::string& between,
                            const std::string& behind) {
    const std::string any = message("recv", 2, 2, "\"any\": true, " + kSync);
    return models::may_overtake_recvs(record_of(
        "gloo", {message("recv", 1, 1, first) + between + any + behind + end(),
                 message("send", 1, 0, kSync) + end(), message("send", 1, 0, kSync) + end()}));
  };
  CHECK(overtakes("\"w\": 1", "", wait));
  CHECK_FALSE(overtakes("\"w\": 1", wait, ""));
  CHECK_FALSE(overtakes(kSync, "", ""));
  CHECK_FALSE(overtakes("\"w\": 1, \"tag\": 3", "", wait));
}
