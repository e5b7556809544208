// Races between threads, which depend on the rules by which a backend matches calls.
#include "features/record/thread_order.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/record.hpp"

using namespace pipesim;
using models::RecordRules;
using testing::record_of;

namespace {

const std::string kOther = ", \"th\": \"io\"";

std::string reduce(const std::string& group, int number, const std::string& keys) {
  return "{\"call\": \"all_reduce\", \"g\": \"" + group + "\", \"n\": " + std::to_string(number) +
         ", \"bytes\": 4, \"sync\": true" + keys + "}\n";
}

std::string message(const std::string& op, int tag, const std::string& keys) {
  return "{\"call\": \"" + op +
         "\", \"g\": \"g0\", \"n\": 1, \"peer\": 1, \"bytes\": 4, \"tag\": " + std::to_string(tag) +
         ", \"sync\": true" + keys + "}\n";
}

std::vector<std::string> racing(const std::string& first_rank, RecordRules rules) {
  return models::threads_that_race(record_of("gloo", {first_rank, ""}), rules);
}

}  // namespace

TEST_CASE("threads that call in one group race, and are named with their lines",
          "[models][thread_order]") {
  const std::string program =
      "{\"def\": \"l1\", \"at\": \"a.py:3\"}\n{\"def\": \"l2\", \"at\": \"a.py:9\"}\n" +
      reduce("g0", 1, ", \"l\": \"l1\"") + reduce("g0", 2, ", \"l\": \"l2\"" + kOther);
  CHECK(racing(program, RecordRules::kGloo) ==
        std::vector<std::string>{
            "rank 0: the main thread (a.py:3) and thread 'io' (a.py:9) call concurrently, in an "
            "order that may differ from the recorded one"});
  CHECK(models::threads_that_race(record_of("gloo", {program, program}), RecordRules::kGloo) ==
        std::vector<std::string>{
            "ranks 0, 1: the main thread (a.py:3) and thread 'io' (a.py:9) call concurrently, in "
            "an order that may differ from the recorded one"});
}

TEST_CASE("one thread alone races with nobody, whatever it is called", "[models][thread_order]") {
  const std::string program = reduce("g0", 1, kOther) + reduce("g0", 2, kOther);
  CHECK(racing(program, RecordRules::kGloo).empty());
  CHECK(racing(program, RecordRules::kNccl).empty());
  CHECK(models::threads_that_call(record_of("gloo", {program, ""})).empty());
}

// NCCL kernels are queued in the order of their launches.
TEST_CASE("groups of their own are enough for gloo, and not for NCCL", "[models][thread_order]") {
  const std::string program = "{\"def\": \"g1\", \"group\": \"1\", \"ranks\": [0, 1]}\n" +
                              reduce("g0", 1, "") + reduce("g1", 1, kOther);
  CHECK(racing(program, RecordRules::kGloo).empty());
  CHECK(racing(program, RecordRules::kNccl).size() == 1);
  CHECK(models::threads_that_call(record_of("gloo", {program, ""})).size() == 1);
}

TEST_CASE("calls that a start or a join orders do not race", "[models][thread_order]") {
  const std::string first = reduce("g0", 1, "") + reduce("g0", 2, "");
  const auto then = [&](int calls) {
    return first + reduce("g0", 3, ", \"after\": {\"\": " + std::to_string(calls) + "}" + kOther);
  };
  CHECK(racing(then(2), RecordRules::kGloo).empty());
  // The thread started after the first call of the main thread.
  CHECK(racing(then(1), RecordRules::kGloo).size() == 1);
  // If one call of a thread comes after calls of other threads, so do its later calls.
  CHECK(racing(then(2) + reduce("g0", 4, kOther), RecordRules::kNccl).empty());
  const std::string joined = then(2) + reduce("g0", 4, ", \"after\": {\"io\": 1}");
  CHECK(racing(joined, RecordRules::kGloo).empty());
  CHECK(racing(joined + reduce("g0", 5, kOther), RecordRules::kGloo).size() == 1);
}

TEST_CASE("threads of one name are distinguished", "[models][thread_order]") {
  const std::string second = ", \"th\": \"io#2\"";
  CHECK(racing(reduce("g0", 1, kOther) + reduce("g0", 2, second), RecordRules::kGloo) ==
        std::vector<std::string>{"rank 0: thread 'io' and thread 'io' call concurrently, in an "
                                 "order that may differ from the recorded one"});
}

TEST_CASE("gloo tells messages apart by tag and direction", "[models][thread_order]") {
  CHECK(racing(message("send", 1, "") + message("send", 2, kOther), RecordRules::kGloo).empty());
  CHECK(racing(message("send", 1, "") + message("recv", 1, kOther), RecordRules::kGloo).empty());
  CHECK(racing(message("send", 1, "") + message("send", 1, kOther), RecordRules::kGloo).size() ==
        1);
  CHECK(racing(message("recv", 1, "") + message("recv", 1, kOther), RecordRules::kGloo).size() ==
        1);
}

TEST_CASE("of many threads the first are named", "[models][thread_order]") {
  std::string program;
  for (int i = 1; i <= 6; ++i) {
    program += reduce("g0", i, ", \"th\": \"t" + std::to_string(i) + "\"");
  }
  CHECK(racing(program, RecordRules::kGloo) ==
        std::vector<std::string>{
            "rank 0: thread 't1', thread 't2', thread 't3', thread 't4' and 2 more call "
            "concurrently, in an order that may differ from the recorded one"});
}
