// Tests the readers of MSCCL XML and MSCCL++ plans. tests/golden/errors_in_algorithms covers their
// error messages.
#include "features/algorithm/algorithm_file.hpp"

#include <string>

#include "tests/support/algorithms.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/scenario.hpp"

#include "features/algorithm/verify_algorithm.hpp"

using namespace pipesim;
using models::AlgoStepKind;
using models::AlgoVerdict;

namespace {

models::CollectiveAlgorithm read(const std::string& text) {
  models::Diagnostics diagnostics;
  auto algorithm = formats::read_algorithm(text, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(algorithm);
  return *algorithm;
}

// Returns a plan of two ranks with a memory channel in each direction. `ops` are the ops of both
// ranks; %P is the other rank.
std::string plan(const std::string& ops, const std::string& more = "") {
  std::string text =
      R"({"name": "p", "collective": "allreduce", "protocol": "LL", "inplace": true)" + more +
      R"(, "gpus": [)";
  for (const char* peer : {"1", "0"}) {
    std::string gpu = R"({"id": %I, "input_chunks": 1, "output_chunks": 1, "scratch_chunks": 1,
      "semaphores": [{"init_value": 0}],
      "channels": [{"channel_type": "memory", "connected_to": [%P]}],
      "remote_buffers": [{"rank": %P, "type": "s", "access_channel_types": ["memory"]}],
      "threadblocks": [)" +
                      ops + "]}";
    for (std::size_t at = gpu.find("%I"); at != std::string::npos; at = gpu.find("%I")) {
      gpu.replace(at, 2, *peer == '1' ? "0" : "1");
    }
    for (std::size_t at = gpu.find("%P"); at != std::string::npos; at = gpu.find("%P")) {
      gpu.replace(at, 2, peer);
    }
    text += (*peer == '0' ? ", " : "") + gpu;
  }
  return text + "]}";
}

std::string block(int id, const std::string& ops) {
  return R"({"id": )" + std::to_string(id) +
         R"(, "channels": [{"channel_type": "memory", "channel_ids": [0]}],
          "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
          "ops": [)" +
         ops + "]}";
}

const std::string kPut =
    R"({"name": "ppkt", "channel_type": "memory", "src_buff": [{"type": "i", "index": 0, "size": 1}],
        "dst_buff": [{"buffer_id": 0, "index": 0, "size": 1}]})";
const std::string kSum =
    R"({"name": "repkt", "src_buff": [{"type": "i", "index": 0, "size": 1},
        {"type": "s", "index": 0, "size": 1}], "dst_buff": [{"type": "i", "index": 0, "size": 1}]})";

models::VerifyReport verified(const std::string& text) { return models::verify(read(text), {}); }

}  // namespace

TEST_CASE("MSCCL's XML is read", "[formats][algorithm_file]") {
  testing::XmlAlgorithm small;
  small.protocol = "LL128";
  small.more = "inplace=\"0\" outofplace=\"1\" minBytes=\"8\" maxBytes=\"0\" redop=\"sum\"";
  small.output = 1;
  small.ranks = {{{1, -1, 3, {{"s", "i0", "i0", 1, -1, -1, true}}}},
                 {{-1, 0, 3, {{"nop", "i0", "i0", 0, 0, 0}, {"rrc", "i0", "o0", 1, 0, 0}}}}};
  const models::CollectiveAlgorithm read_back = read(testing::xml_text(small));
  CHECK(read_back.protocol == models::AlgoProtocol::kLl128);
  CHECK_FALSE(read_back.in_place);
  CHECK(read_back.out_of_place);
  CHECK(read_back.min_bytes == 8);
  CHECK(read_back.max_bytes == std::uint64_t{0x7fffffffffffffff});
  const models::AlgoBlock& sender = read_back.ranks[0].blocks[0];
  CHECK(sender.send_peer == 1);
  CHECK(sender.receive_peer == models::kNoPeer);
  CHECK(sender.channel == 3);
  CHECK(sender.steps[0].publishes);
  const models::AlgoStep& sum = read_back.ranks[1].blocks[0].steps[1];
  CHECK(sum.kind == AlgoStepKind::kReceiveReduceCopy);
  CHECK(sum.place.line == 10);
  CHECK(sum.dependencies.size() == 1);
  CHECK(models::step_text(read_back, 1, sum) == "rrc i[0] to o[0]");
  // Without `outofplace`, `inplace` decides both in-place and out-of-place runs.
  small.more = "inplace=\"1\"";
  CHECK_FALSE(read(testing::xml_text(small)).out_of_place);
}

TEST_CASE("neighbouring reductions are fused as the parsers do", "[formats][algorithm_file]") {
  models::AlgoStep first;
  first.kind = AlgoStepKind::kReduce;
  first.targets = {{0, models::AlgoBuffer::kInput, 2, 1}};
  first.sources = {{0, models::AlgoBuffer::kScratch, 0, 1}};
  models::AlgoStep second = first;
  second.sources[0].index = 5;
  CHECK(models::can_be_fused(first, second));
  second.targets[0].index = 3;
  CHECK_FALSE(models::can_be_fused(first, second));
  second = first;
  second.dependencies = {{0, 0}};
  CHECK_FALSE(models::can_be_fused(first, second));
  second.dependencies.clear();
  first.publishes = true;
  CHECK_FALSE(models::can_be_fused(first, second));
}

TEST_CASE("an execution plan is read and verified", "[formats][algorithm_file]") {
  // Each rank puts its chunk into the other's scratch as packets, and adds the chunk it receives.
  // With a single buffer, a fast rank overwrites unread packets, unless the scratch is doubled.
  const std::string ops = block(0, kPut + "," + kSum);
  models::VerifyReport report = verified(plan(ops));
  CHECK(report.verdict == AlgoVerdict::kUnsafeLaunches);
  CHECK(report.races == models::AlgoAnswer::kNo);
  CHECK(report.right_result == models::AlgoAnswer::kYes);
  CHECK(report.same_bits == models::AlgoAnswer::kYes);
  report = verified(plan(ops, R"(, "use_double_scratch_buffer": true)"));
  CHECK(report.verdict == AlgoVerdict::kCorrect);
  CHECK(report.launches == 3);
}

TEST_CASE("targets that the executor ignores are not written", "[formats][algorithm_file]") {
  // Each rank reads the other rank's chunk and writes the sum to both ranks; with `re`, `rre`,
  // `repkt` and `recpkt` only to itself.
  struct Sum {
    const char* name;
    const char* name_to_all;
    bool packets;
    std::size_t kept;
  };
  for (const Sum& sum : {Sum{"re", "res", false, 1}, Sum{"rre", "rres", false, 1},
                         Sum{"repkt", "respkt", true, 1}, Sum{"recpkt", "recspkt", true, 2}}) {
    CAPTURE(sum.name);
    const auto plan_with = [&](const std::string& name) {
      std::vector<std::string> targets = {"i0", "1:s1"};
      if (sum.kept == 2) targets.insert(targets.begin() + 1, "s1");
      const bool remote = name.substr(0, 2) == "rr";
      testing::PlanAlgorithm of;
      of.scratch = 2;
      of.in_place = true;
      of.more = ", \"use_double_scratch_buffer\": true";
      of.ranks.resize(2);
      std::vector<testing::PlanOp> first;
      std::vector<testing::PlanOp> second;
      if (sum.packets) {
        second = {{"ppkt", {}, {"i0"}, {"0:s0"}}, {"upkt", {}, {"s1"}, {"i0"}}};
        first = {{name, {}, {"i0", "s0"}, targets}};
      } else {
        second = {{"signal", {0}}, {"wait", {0}}, {"nop"}, {"re", {}, {"s1"}, {"i0"}}};
        first = {{"wait", {1}},
                 {"nop"},
                 {name, {}, {"i0", remote ? "1:i0" : "s0"}, targets},
                 {"nop"},
                 {"signal", {1}}};
        if (!remote) {
          second.insert(second.begin(), {{"put", {}, {"i0"}, {"0:s0"}}, {"nop"}});
        }
      }
      of.ranks[0] = {first};
      of.ranks[1] = {second};
      return testing::plan_text(of);
    };
    models::Diagnostics diagnostics;
    const auto algorithm = formats::read_algorithm(plan_with(sum.name), diagnostics);
    REQUIRE(algorithm);
    REQUIRE(diagnostics.sorted().size() == 1);
    CHECK(diagnostics.sorted()[0].message == "'" + std::string(sum.name) + "' uses " +
                                                 (sum.kept == 2 ? "the first two" : "the first") +
                                                 " of 'dst_buff' only");
    const models::AlgoVerdict wanted =
        sum.packets ? models::AlgoVerdict::kDeadlock : models::AlgoVerdict::kWrongResult;
    CHECK(models::verify(*algorithm, {}).verdict == wanted);
    const models::VerifyReport to_all = verified(plan_with(sum.name_to_all));
    CHECK(to_all.right_result == models::AlgoAnswer::kYes);
  }
}

TEST_CASE("signals, barriers and semaphores of plans", "[formats][algorithm_file]") {
  const std::string signal = R"({"name": "signal", "channel_type": "memory", "channel_ids": [0]})";
  const std::string wait = R"({"name": "wait", "channel_type": "memory", "channel_ids": [0]})";
  const std::string nop = R"({"name": "nop"})";
  const auto put = [](const char* from, const std::string& to) {
    return std::string(R"({"name": "put", "channel_type": "memory", "src_buff": [{"type": ")") +
           from + R"(", "index": 0, "size": 1}], "dst_buff": [)" + to + "]}";
  };
  const std::string there = R"({"buffer_id": 0, "index": 0, "size": 1})";
  const std::string add =
      R"({"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 1},
         {"type": "s", "index": 0, "size": 1}], "dst_buff": [{"type": "i", "index": 0, "size": 1}]})";
  const auto list = [](const std::vector<std::string>& ops) {
    std::string text;
    for (const std::string& op : ops) text += (text.empty() ? "" : ",") + op;
    return text;
  };
  // The good plan has a handshake, the data, and a second signal after the data.
  const std::vector<std::string> good = {signal, wait, nop, put("i", there), nop, signal,
                                         wait,   nop,  add};
  CHECK(verified(plan(block(0, list(good)))).verdict == AlgoVerdict::kCorrect);
  // Without the `nop` after the wait, other threads add before the data arrives.
  std::vector<std::string> bad = good;
  bad.erase(bad.begin() + 7);
  CHECK(verified(plan(block(0, list(bad)))).verdict == AlgoVerdict::kRace);
  // Without the second signal, nothing orders the sum after the data.
  bad = {signal, wait, nop, put("i", there), nop, add};
  CHECK(verified(plan(block(0, list(bad)))).verdict == AlgoVerdict::kRace);
  // Without the handshake, the next launch overwrites unread data.
  bad = {put("i", there), nop, signal, wait, nop, add};
  CHECK(verified(plan(block(0, list(bad)))).verdict == AlgoVerdict::kUnsafeLaunches);
  bad = good;
  bad.push_back(signal);
  CHECK(verified(plan(block(0, list(bad)))).verdict == AlgoVerdict::kUnbalanced);
  bad = good;
  bad.push_back(wait);
  CHECK(verified(plan(block(0, list(bad)))).verdict == AlgoVerdict::kDeadlock);

  const std::string barrier = R"({"name": "barrier", "barrier_id": 0, "num_threadblocks": 2})";
  const std::string two_blocks = block(0, list(good) + "," + barrier) + "," + block(1, barrier);
  CHECK(verified(plan(two_blocks)).verdict == AlgoVerdict::kCorrect);
  CHECK(verified(plan(block(0, list(good) + "," + barrier))).verdict == AlgoVerdict::kDeadlock);
  const models::VerifyReport uneven = verified(plan(two_blocks + "," + block(2, barrier)));
  CHECK(uneven.verdict == AlgoVerdict::kUndecided);
  CHECK(uneven.uneven_barrier);

  const std::string acquire = R"({"name": "sem_acquire", "semaphore_ids": [0]})";
  const std::string release = R"({"name": "sem_release", "semaphore_ids": [0]})";
  CHECK(verified(plan(block(0, list(good) + "," + release) + "," + block(1, acquire))).verdict ==
        AlgoVerdict::kCorrect);
  // Two thread blocks acquire the same semaphore. The order matters, so verify tries both.
  const models::VerifyReport both =
      verified(plan(block(0, list(good) + "," + release + "," + release) + "," + block(1, acquire) +
                    "," + block(2, acquire)));
  CHECK(both.verdict == AlgoVerdict::kCorrect);
  CHECK(both.searched);
  CHECK(both.states > 1);
  // The first acquirer decides the result: block 2 releases the semaphore again, block 1 does not.
  const models::VerifyReport either =
      verified(plan(block(0, list(good) + "," + release) + "," + block(1, acquire) + "," +
                    block(2, acquire + "," + release)));
  CHECK(either.verdict == AlgoVerdict::kDeadlock);
}
