// Outcomes that gloo and its store leave to timing: check reports them as neither proved nor
// certain.
#include "features/record/free_order.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/record.hpp"

#include "features/record/record_checks.hpp"
#include "features/record/record_doubts.hpp"

using namespace pipesim;
using models::RecordRules;
using testing::is_proved;
using testing::record_of;
using Sentences = std::vector<std::string>;

namespace {

const std::string kPlace = "{\"def\": \"l\", \"at\": \"a.py:3\"}\n";
const std::string kRecv =
    "{\"call\": \"recv\", \"g\": \"g0\", \"n\": 1, \"peer\": 0, \"bytes\": 4, \"sync\": true}\n";

std::string isend(int work) {
  return "{\"call\": \"send\", \"g\": \"g0\", \"n\": 1, \"peer\": 1, \"bytes\": 4, \"w\": " +
         std::to_string(work) + ", \"l\": \"l\"}\n";
}

std::string wait(int work, const std::string& keys = "") {
  return "{\"wait\": " + std::to_string(work) + keys + "}\n";
}

std::string store(const std::string& what, const std::string& keys = "") {
  return "{\"store\": \"" + what + "\", \"key\": \"k\"" + keys + "}\n";
}

// Returns a record in which all ranks finish.
models::Record ended(std::vector<std::string> ranks) {
  for (std::string& rank : ranks) rank += "{\"end\": \"finished\"}\n";
  return record_of("gloo", ranks);
}

models::RecordDoubts doubts(const models::Record& record) {
  return models::record_doubts(record, RecordRules::kGloo, models::record_basis(record));
}

}  // namespace

TEST_CASE("a send whose Work is dropped may be cancelled", "[models][free_order]") {
  const auto kept = ended({kPlace + isend(1) + wait(1), kRecv});
  CHECK(models::dropped_sends(kept).empty());
  const auto dropped = ended({kPlace + isend(1) + "{\"drop\": 1}\n", kRecv});
  CHECK(models::dropped_sends(dropped) ==
        Sentences{"rank 0: nothing keeps the Work of a send (a.py:3), so gloo cancels the message "
                  "unless its recv was posted before"});
  CHECK(is_proved(dropped, "gloo"));
  CHECK_FALSE(is_proved(models::with_cancelled_sends(dropped), "gloo"));
  CHECK_FALSE(doubts(dropped).proved.empty());
  // A recv whose handle is dropped still matches its send.
  const auto recv = record_of(
      "gloo",
      {kPlace + isend(1) + wait(1),
       "{\"call\": \"recv\", \"g\": \"g0\", \"n\": 1, \"peer\": 0, \"bytes\": 4, \"w\": 1}\n"
       "{\"drop\": 1}\n"});
  CHECK(models::dropped_sends(recv).empty());
  CHECK(is_proved(recv, "gloo"));
}

TEST_CASE("a wait that has timed out is not one", "[models][free_order]") {
  const std::string late = ", \"timed_out\": true";
  CHECK_FALSE(is_proved(ended({kPlace + isend(1) + wait(1), ""}), "gloo"));
  CHECK(is_proved(ended({store("get", late), ""}), "gloo"));
  CHECK_FALSE(is_proved(ended({store("get"), ""}), "gloo"));
}

TEST_CASE("a dropped recv that a send meets may break a connection", "[models][free_order]") {
  const auto sentences = [](const std::string& receiver, RecordRules rules = RecordRules::kGloo) {
    return models::dropped_recvs(ended({kPlace + isend(1) + wait(1), receiver}), rules).breaking;
  };
  const std::string recv =
      "{\"call\": \"recv\", \"g\": \"g0\", \"n\": 1, \"peer\": 0, \"bytes\": 4, \"w\": 1, \"l\": "
      "\"l\"}\n";
  const std::string drop = "{\"drop\": 1}\n";
  const std::string barrier = "{\"call\": \"barrier\", \"g\": \"g0\", \"n\": 1, \"sync\": true}\n";
  CHECK(
      sentences(kPlace + recv + drop + barrier) ==
      Sentences{"rank 1: nothing keeps the Work of a recv (a.py:3), so gloo breaks the connection "
                "of its ranks if the send comes later"});
  CHECK(sentences(kPlace + recv + drop).empty());               // no call uses the dropped handle
  CHECK(sentences(kPlace + recv + barrier + wait(1)).empty());  // the handle is kept
  CHECK(sentences(kPlace + recv + drop + barrier, RecordRules::kNccl).empty());
  CHECK(models::dropped_recvs(ended({"", kPlace + recv + drop + barrier}), RecordRules::kGloo)
            .breaking.empty());  // no rank sends
  const auto record = ended({kPlace + isend(1) + wait(1), kPlace + recv + drop + barrier});
  CHECK_FALSE(doubts(record).proved.empty());
  CHECK(doubts(record).hang.empty());
}

TEST_CASE("a dropped recv that is too small may be cancelled first", "[models][free_order]") {
  const auto recv = [](const std::string& peer, int bytes) {
    return "{\"call\": \"recv\", \"g\": \"g0\", \"n\": 1, " + peer +
           ", \"bytes\": " + std::to_string(bytes) + ", \"w\": 1}\n";
  };
  const auto drops = [](const std::string& receiver, RecordRules rules = RecordRules::kGloo) {
    return models::dropped_recvs(ended({kPlace + isend(1) + wait(1), receiver}), rules).any_smaller;
  };
  const std::string drop = "{\"drop\": 1}\n";
  CHECK(drops(recv("\"peer\": 0", 2) + drop));
  CHECK(drops(recv("\"peer\": 0, \"any\": true", 2) + drop));
  CHECK_FALSE(drops(recv("\"peer\": 0", 4) + drop));
  CHECK_FALSE(drops(recv("\"peer\": 0", 2) + wait(1)));  // the handle is kept
  CHECK_FALSE(drops(recv("\"peer\": 0", 2) + drop, RecordRules::kNccl));
  const auto record = ended({kPlace + isend(1) + wait(1), recv("\"peer\": 0", 2) + drop});
  CHECK_FALSE(doubts(record).possible.empty());
}

TEST_CASE("a wait for a message that times out closes connections", "[models][free_order]") {
  const std::string late = ", \"timed_out\": true";
  const auto message = ended({kPlace + isend(1) + wait(1, late + ", \"l\": \"l\""), kRecv});
  CHECK(models::closed_connections(message, RecordRules::kGloo) ==
        Sentences{"rank 0: a wait for a message timed out (a.py:3), so gloo closes the rank's "
                  "connections in this group"});
  CHECK(models::closed_connections(message, RecordRules::kNccl).empty());
  CHECK_FALSE(doubts(message).proved.empty());
  CHECK_FALSE(doubts(message).hang.empty());
  const auto collective =
      ended({"{\"call\": \"all_reduce\", \"g\": \"g0\", \"n\": 1, \"bytes\": 4, \"w\": 1}\n" +
                 wait(1, late),
             ""});
  CHECK(models::closed_connections(collective, RecordRules::kGloo).empty());
}

TEST_CASE("keys that are set twice", "[models][free_order]") {
  const std::string set = store("set");
  const std::string other = store("set", ", \"differs\": true");
  const auto twice = ended({set + store("get"), other});
  CHECK(models::keys_set_twice(twice) ==
        Sentences{"several ranks set the key 'k'; a get returns what was set last"});
  CHECK_FALSE(doubts(twice).possible.empty());
  CHECK(models::keys_set_twice(ended({set, other})).empty());
}

TEST_CASE("a read of a made-up value decides nothing", "[models][free_order]") {
  const auto record =
      ended({kPlace + "{\"note\": \"cut_read\", \"bytes\": 400000, \"l\": \"l\"}\n", ""});
  CHECK(doubts(record).rests_on ==
        Sentences{"rank 0 reads a value that was made up (a.py:3); --limit 400000B carries it"});
  CHECK(doubts(record).proved == "a value that was made up was read");
  CHECK(doubts(record).hang == "a value that was made up was read");
}

TEST_CASE("threads that stood still hang, if not for certain", "[models][free_order]") {
  const auto reduce = [](int number, const std::string& keys) {
    return "{\"call\": \"all_reduce\", \"g\": \"g0\", \"n\": " + std::to_string(number) +
           ", \"bytes\": 4, \"sync\": true" + keys + "}\n";
  };
  const std::string threads = reduce(1, "") + reduce(2, ", \"th\": \"io\"");
  const auto ran = doubts(ended({threads, ""}));
  CHECK(ran.hang == "it hangs if threads call in this order");
  const std::string rest = "{\"end\": \"cut\", \"why\": \"rest\"}\n";
  const auto stood = doubts(record_of("gloo", {threads + rest, ""}));
  CHECK(stood.hang.empty());
  CHECK_FALSE(stood.possible.empty());
}
