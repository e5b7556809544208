// Small programs for the rules of NCCL, PyTorch and CUDA, one section after another, with the
// answer of `check` in each reading: contract, real and cold. The expectations follow from the
// rules (docs/explanation/models-nccl.md) by hand; comments explain the derivations that are not
// obvious.
//
// The labels A1, A2 and so on number the cases by topic. Cases in other files:
//
//   A2  table of backends, device_id    nccl_modes_test.cpp
//   A6  destroy                         nccl_modes_test.cpp
//   B1  PCIe, several nodes, channels   nccl_modes_test.cpp
//   B2  effects of a larger recv        device_rules_test.cpp
//   B3  collectives come first          device_rules_test.cpp
//   B5  reduce, gather, scatter, rings  nccl_modes_test.cpp
//   C2  records, waits, 32 queues       device_rules_test.cpp
//   C3  three groups in a cycle         device_rules_test.cpp; tests/reports/rccl_2191.yaml
//   D1  modes of messages               device_rules_test.cpp
//   D2  deferred recvs                  message_placement_test.cpp
//   D3  batches, overlap, shapes        message_placement_test.cpp
//   D4, D9  orders of the authors       schedules_of_authors_test.cpp
//   D5 to D7  collectives of a stage    tests/unit/models/schedules/stage_collectives_test.cpp
//   F   lint                            tests/unit/features/lint/
//
// rests_on_test.cpp tests verdicts that name the rules on which they rest.
//
// Not modeled, so without a case: B1 between nodes; and A5, the proxy's pool, where a host never
// waits for another rank. See docs/explanation/models-nccl.md.
#include <string>
#include <utility>
#include <vector>

#include "tests/support/answers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/rank_programs.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"

using namespace pipesim;
using testing::answers;
using testing::connect;
using testing::group;
using testing::joined;
using testing::kHangs;
using testing::kMayHang;
using testing::kOk;
using testing::recv;
using testing::reduce;
using testing::scenario;
using testing::send;
using testing::Settings;

namespace {

constexpr const char* kLargeBytes = "1GiB";  // exceeds every buffer
constexpr const char* kMismatch = "mismatch mismatch mismatch";

std::string on_stream(const std::string& call, const std::string& stream) {
  return call.substr(0, call.size() - 1) + ", stream: " + stream + "}";
}

}  // namespace

TEST_CASE("cases A1: an initialization can wait for kernels", "[scenarios][cases]") {
  // Rank 0's device runs a recv. Rank 1 makes the matching send only after the first use of dp,
  // which both hosts have reached.
  const auto with = [](const std::string& waits) {
    return answers(scenario(
        {joined({connect(1), recv(1), reduce("dp")}), joined({connect(0), reduce("dp"), send(0)})},
        "pp: all, dp: all", "communicators: {waits_for_device: " + waits + "}\n"));
  };
  CHECK(with("off") == kOk);
  CHECK(with("on") == "ok ok hang");
}

TEST_CASE("cases A2: the backend decides which communicator is made when", "[scenarios][cases]") {
  std::vector<std::string> ring;
  for (int rank = 0; rank < 4; ++rank) {
    ring.push_back(joined({recv((rank + 3) % 4), send((rank + 1) % 4)}));
  }
  // A ring in which each pair has its own communicator. In reading cold, each host waits to
  // initialize the communicator with its left neighbor.
  CHECK(answers(scenario(ring, "pp: all", "backend: nccl-legacy\n")) == "ok ok hang");
  CHECK(answers(scenario(ring, "pp: all", "backend: nccl2\n")) == kHangs);
  // The initialization of the group's communicator needs all four ranks.
  const std::string zero = group(joined({send(1), recv(1)}));
  const std::string one = group(joined({send(0), recv(0)}));
  CHECK(answers(scenario({zero, one, "", ""}, "pp: all")) == "ok ok hang");
  const std::string all = reduce("pp");
  CHECK(answers(scenario({joined({all, zero}), joined({all, one}), all, all}, "pp: all")) == kOk);
}

TEST_CASE("cases A3: first messages meet on the hosts", "[scenarios][cases]") {
  const std::string zero = joined({send(1), reduce("dp")});
  const std::string one = joined({reduce("dp"), "{synchronize: nccl dp}", recv(0)});
  CHECK(answers(scenario({zero, one}, "pp: all, dp: all")) == "ok ok hang");
  // Runs the programs as a second iteration: everything is connected.
  const std::string before_zero = joined({send(1), reduce("dp"), "{synchronize: device}"});
  const std::string before_one = joined({recv(0), reduce("dp"), "{synchronize: device}"});
  CHECK(answers(scenario({joined({before_zero, zero}), joined({before_one, one})},
                         "pp: all, dp: all")) == kOk);
  // A group makes all its connections at once.
  CHECK(answers(scenario({group(joined({send(1), send(2)})),
                          joined({reduce("x"), "{synchronize: nccl x}", recv(0)}),
                          joined({reduce("x"), recv(0)})},
                         "pp: all, x: [1, 2]")) == kOk);
  // A group makes all its connections before it launches anything: here, rank 1 waits for its recv,
  // and rank 2 for rank 1. If the ranks are connected, the group is two sends, and each send needs
  // only its own recv.
  const std::vector<std::string> all = {group(joined({send(1), send(2)})),
                                        joined({recv(0), "{synchronize: nccl pp}", reduce("x")}),
                                        joined({reduce("x"), "{synchronize: nccl x}", recv(0)})};
  CHECK(answers(scenario(all, "pp: all, x: [1, 2]")) == "ok ok hang");
  // An empty send also connects.
  CHECK(answers(scenario({joined({send(1, "pp", "0B"), reduce("dp")}),
                          joined({reduce("dp"), "{synchronize: nccl dp}", recv(0, "pp", "0B")})},
                         "pp: all, dp: all")) == "ok ok hang");
  // Two sends between ranks 0 and 1 cross.
  CHECK(answers(scenario({joined({send(1), recv(1)}), joined({send(0), recv(0)})}, "pp: all")) ==
        "hang ok hang");
}

TEST_CASE("cases A4 and C3: communicators in opposite orders", "[scenarios][cases]") {
  const std::string xy = joined({reduce("x"), reduce("y")});
  const std::string yx = joined({reduce("y"), reduce("x")});
  const std::string groups = "x: all, y: all";
  CHECK(answers(scenario({xy, yx}, groups)) == "may may hang");
  CHECK(answers(scenario({xy, xy}, groups)) == kOk);
  const std::string warm = joined({xy, "{synchronize: device}"});
  CHECK(answers(scenario({joined({warm, xy}), joined({warm, yx})}, groups)) == kMayHang);
  // If there are slots for both calls, only the first use can hang.
  const std::string two_slots = "device: {resident: 2}\n";
  CHECK(answers(scenario({xy, yx}, groups, two_slots)) == "ok ok hang");
  CHECK(answers(scenario({joined({warm, xy}), joined({warm, yx})}, groups, two_slots)) == kOk);
}

TEST_CASE("cases A6: a split is on the hosts of its parent", "[scenarios][cases]") {
  const std::string split = "{split: w}";
  const std::string first = joined({reduce("w"), split});
  const std::string second = joined({split, reduce("w")});
  // In reading cold, the first all_reduce waits for all hosts.
  CHECK(answers(scenario({first, second}, "w: all")) == "ok ok hang");
  CHECK(answers(scenario({joined({reduce("w"), first}), joined({reduce("w"), second})},
                         "w: all")) == kOk);
  CHECK(answers(scenario({joined({split, split}), joined({split, split}), split}, "w: all")) ==
        kHangs);
}

TEST_CASE("cases A7: a synchronous collective is on the current stream", "[scenarios][cases]") {
  const auto with = [](const std::string& all_reduce, bool connected) {
    const std::string before = connected ? connect(1) + ", " + reduce("dp") + ", " : "";
    const std::string before_one = connected ? connect(0) + ", " + reduce("dp") + ", " : "";
    const std::string sends = "{send: pp, to: 1, bytes: 4KiB, after: [compute]}";
    const std::string uses = "{compute: uses, after: [nccl pp]}";
    return answers(scenario({before + joined({all_reduce, "{compute: makes}", sends}),
                             before_one + joined({recv(0), uses, all_reduce})},
                            "pp: all, dp: all"));
  };
  const std::string synchronous = "{all_reduce: dp, stream: compute}";
  CHECK(with(synchronous, false) == kHangs);
  CHECK(with(synchronous, true) == kHangs);
  // Makes the all_reduce with async_op=True, and wait() at the end. If nothing is connected, one
  // host is in the all_reduce, the other in the recv.
  const std::string asynchronous = "{all_reduce: dp}";
  CHECK(with(asynchronous, true) == kOk);
  CHECK(with(asynchronous, false) == "ok ok hang");
}

TEST_CASE("cases A7: wait() holds the current stream and not the host", "[scenarios][cases]") {
  // The program calls dist.recv, then a kernel and a synchronous all_reduce: the stream waits for
  // the recv, and the host continues to the send for which the other rank waits.
  const auto with = [](const std::string& wait) {
    const std::string zero =
        connect(1) + ", " + connect(1, "qq") + ", " + recv(1) + ", " + wait + send(1, "qq");
    const std::string one =
        connect(0) + ", " + connect(0, "qq") + ", " + recv(0, "qq") +
        ", {compute: uses, after: [nccl qq]}, {send: pp, to: 0, bytes: 4KiB, after: [compute]}";
    return answers(scenario({zero, one}, "pp: all, qq: all"));
  };
  CHECK(with("{compute: x, after: [nccl pp]}, ") == kOk);
  CHECK(with("{synchronize: nccl pp}, ") == kHangs);  // TORCH_NCCL_BLOCKING_WAIT=1
}

TEST_CASE("cases A7: streams wait with every backend", "[scenarios][cases]") {
  // Connects everything that the programs use: a batch, single sends and recvs, and the all_reduce.
  const auto warm = [](int peer, const std::string& on) {
    const std::string first = peer == 1 ? send(peer, on) : recv(peer, on);
    const std::string second = peer == 1 ? recv(peer, on) : send(peer, on);
    return joined({connect(peer, on), first, second, "{synchronize: device}"});
  };
  for (const char* backend :
       {"nccl2", "nccl2\ndevice_id: on", "nccl-legacy", "nccl-legacy\ndevice_id: on", "nccl-lazy",
        "nccl-lazy\ndevice_id: on"}) {
    INFO(backend);
    const std::string top = "backend: " + std::string(backend) + "\n";
    const auto with = [&](const std::string& all_reduce, const std::string& wait) {
      const std::string sends = "{send: pp, to: 1, bytes: 4KiB, after: [compute]}";
      return answers(scenario({joined({warm(1, "pp"), reduce("dp"), "{synchronize: device}",
                                       all_reduce, "{compute: makes}", sends}),
                               joined({warm(0, "pp"), reduce("dp"), "{synchronize: device}",
                                       recv(0), wait, all_reduce})},
                              "pp: all, dp: all", top));
    };
    // A synchronous collective is on the current stream, queued behind the kernel that waits for
    // the recv.
    const std::string synchronous = "{all_reduce: dp, stream: compute}";
    const std::string uses = "{compute: uses, after: [nccl pp]}";
    CHECK(with(synchronous, uses) == kHangs);
    CHECK(with(synchronous, "{compute: other}") == kOk);
    CHECK(with("{all_reduce: dp}", uses) == kOk);
    // A host that waits for the recv does not reach the send for which the other host waits.
    const auto waits = [&](const std::string& wait) {
      return answers(
          scenario({joined({warm(1, "pp"), warm(1, "qq"), recv(1, "qq"), "{synchronize: nccl qq}",
                            send(1, "pp")}),
                    joined({warm(0, "pp"), warm(0, "qq"), recv(0, "pp"), wait, send(0, "qq")})},
                   "pp: all, qq: all", top));
    };
    CHECK(waits("{synchronize: nccl pp}") == kHangs);
    CHECK(waits("{synchronize: compute}") == kOk);
  }
}

TEST_CASE("cases A7: a barrier of NCCL is a call of its communicator", "[scenarios][cases]") {
  // Rank 0's barrier is queued behind its recv, and the matching send comes only after rank 1's
  // barrier. A barrier of hosts would complete.
  const auto barrier = [](const std::string& top) {
    return answers(scenario(
        {joined({connect(1), recv(1, "pp", kLargeBytes), "{barrier: pp}", "{synchronize: device}"}),
         joined(
             {connect(0), "{barrier: pp}", send(0, "pp", kLargeBytes), "{synchronize: device}"})},
        "pp: all", top));
  };
  CHECK(barrier("") == kOk);
  CHECK(barrier("backend: nccl2\n") == kHangs);
  CHECK(barrier("backend: nccl-legacy\ndevice_id: on\n") == kHangs);
  // A send or recv has its own communicator. The barrier is on the group's communicator, and waits
  // for the work on the current stream.
  const auto current = [](const std::string& top, const std::string& stream) {
    const std::string meet = "{barrier: dp" + stream + "}";
    return answers(
        scenario({joined({connect(1), reduce("dp"), "{synchronize: device}",
                          recv(1, "pp", kLargeBytes), "{compute: k, after: [nccl pp]}", meet}),
                  joined({connect(0), reduce("dp"), "{synchronize: device}", meet,
                          send(0, "pp", kLargeBytes)})},
                 "pp: all, dp: all", top));
  };
  CHECK(current("", "") == kOk);
  CHECK(current("backend: nccl2\n", "") == kHangs);
  CHECK(current("backend: nccl2\n", ", stream: side") == kOk);
  CHECK(current("backend: nccl-legacy\ndevice_id: on\n", "") == kHangs);
}

TEST_CASE("cases B1: sends end in eight steps of buffer", "[scenarios][cases]") {
  const auto crossing = [](int count, const std::string& bytes, int ranks) {
    std::vector<std::string> programs;
    for (int rank = 0; rank < ranks; ++rank) {
      const int peer = 1 - rank;
      std::vector<std::string> steps = {reduce("pp")};
      if (rank < 2) steps.push_back(group(joined({send(peer), recv(peer)})));
      for (int i = 0; rank < 2 && i < count; ++i) steps.push_back(send(peer, "pp", bytes));
      for (int i = 0; rank < 2 && i < count; ++i) steps.push_back(recv(peer, "pp", bytes));
      programs.push_back(joined(steps));
    }
    return answers(scenario(programs, "pp: all"));
  };
  CHECK(crossing(1, "64MiB", 2) == "hang ok ok");
  CHECK(crossing(1, "65MiB", 2) == kHangs);
  CHECK(crossing(2, "24MiB", 2) == "hang ok ok");  // 3 steps per send
  CHECK(crossing(3, "24MiB", 2) == kHangs);
  CHECK(crossing(1, "17MiB", 8) == kHangs);  // 4 channels per pair
  CHECK(crossing(1, "17MiB", 2) == "hang ok ok");
}

TEST_CASE("cases B2: sizes that differ", "[scenarios][cases]") {
  CHECK(answers(scenario({send(1, "pp", "1MiB"), recv(0, "pp", "2MiB")}, "pp: all")) == kMismatch);
  CHECK(answers(scenario({send(1, "pp", "2MiB"), recv(0, "pp", "1MiB")}, "pp: all")) == kMismatch);
}

TEST_CASE("cases B3: epochs of a group", "[scenarios][cases]") {
  const std::string out = send(1, "pp", kLargeBytes);
  const std::string in = recv(1, "pp", kLargeBytes);
  const std::string answers_it =
      joined({recv(0, "pp", kLargeBytes), recv(0, "pp", kLargeBytes), send(0, "pp", kLargeBytes)});
  CHECK(answers(scenario({group(joined({out, out, in})), answers_it}, "pp: all")) == kHangs);
  CHECK(answers(scenario({joined({group(joined({out, out})), group(in)}), answers_it},
                         "pp: all")) == kOk);
  const std::string both = joined({recv(0, "pp", kLargeBytes), send(0, "pp", kLargeBytes)});
  CHECK(answers(scenario({group(joined({out, in, out, in})), group(joined({both, both}))},
                         "pp: all")) == kOk);
}

TEST_CASE("cases B4: a communicator on two streams", "[scenarios][cases]") {
  const auto with = [](const std::string& back, bool connected) {
    std::vector<std::string> programs;
    for (int rank = 0; rank < 2; ++rank) {
      const int peer = 1 - rank;
      const std::string out = rank == 0 ? "pp" : back;
      const std::string in = rank == 0 ? back : "pp";
      std::vector<std::string> steps;
      if (connected) steps = {connect(peer, "pp"), connect(peer, "qq")};
      steps.push_back(on_stream(send(peer, out, kLargeBytes), "s1"));
      steps.push_back(on_stream(recv(peer, in, kLargeBytes), "s2"));
      programs.push_back(joined(steps));
    }
    return answers(scenario(programs, "pp: all, qq: all"));
  };
  CHECK(with("pp", true) == kHangs);
  CHECK(with("qq", true) == kOk);
  // Without a connection, each host waits in its first send.
  CHECK(with("qq", false) == "ok ok hang");
}

TEST_CASE("cases B5: who waits for whom in a collective", "[scenarios][cases]") {
  const std::string broadcast = "{broadcast: w, root: 0, bytes: 4KiB}";
  const auto with = [&](bool connected) {
    const std::string zero = connected ? joined({connect(1, "w"), broadcast}) + ", " : "";
    const std::string one = connected ? joined({connect(0, "w"), broadcast}) + ", " : "";
    return answers(scenario(
        {zero + joined({broadcast, send(1, "w")}), one + joined({recv(0, "w"), broadcast})},
        "w: all"));
  };
  CHECK(with(true) == "hang ok ok");
  CHECK(with(false) == "hang ok hang");
  CHECK(answers(scenario({"{all_reduce: w, bytes: 0B}", ""}, "w: all")) == kOk);
}

TEST_CASE("cases B5: parts of an all_to_all", "[scenarios][cases]") {
  // Rank 2 exchanges no bytes with rank 0 and joins late: it first waits for a send from rank 0,
  // which is queued behind rank 0's exchange.
  const auto exchange = [](const std::string& call, const std::string& backend) {
    const std::string before =
        "{all_to_all: ep, splits: [1KiB, 1KiB, 1KiB]}, {all_to_all: ep}, {synchronize: device}, ";
    return answers(scenario(
        {before + joined({call, "{send: pp, to: 2, bytes: 1GiB, after: [nccl ep]}"}), before + call,
         before + joined({"{recv: pp, from: 0, bytes: 1GiB}, {synchronize: nccl pp}", call})},
        "ep: all, pp: [0, 2]", backend));
  };
  const std::string parts =
      "{all_to_all: ep, splits: [\"if(rank == 2, 0B, 1KiB)\", 1KiB, \"if(rank == 0, 0B, 1KiB)\"]}";
  CHECK(exchange(parts, "") == kOk);
  // Since PyTorch 2.15, an empty part is sent, and its recv waits for it.
  CHECK(exchange(parts, "backend: nccl2\n") == kHangs);
  CHECK(exchange("{all_to_all: ep}", "") == kHangs);
  // The same exchanges, in a group.
  const auto grouped = [](const std::string& calls, const std::string& backend) {
    const std::string both = group(calls);
    const std::string before = group("{all_to_all: ep, splits: [1KiB, 1KiB, 1KiB]}") +
                               ", {all_to_all: ep}, {synchronize: device}, ";
    return answers(scenario(
        {before + joined({both, "{send: pp, to: 2, bytes: 1GiB, after: [nccl ep]}"}), before + both,
         before + joined({"{recv: pp, from: 0, bytes: 1GiB}, {synchronize: nccl pp}", both})},
        "ep: all, pp: [0, 2]", backend));
  };
  CHECK(grouped(parts, "") == kOk);
  CHECK(grouped(parts, "backend: nccl2\n") == kHangs);
  // One exchange of tokens and one exchange of their weights: the second sends between ranks 0 and
  // 1 are in another epoch (B3), so rank 1 first waits for rank 2.
  CHECK(grouped(joined({parts, parts}), "") == kHangs);
}

TEST_CASE("cases B6: calls that differ meet", "[scenarios][cases]") {
  const auto meet = [](const std::string& zero, const std::string& one) {
    return answers(scenario({zero, one}, "w: all"));
  };
  const std::string call = "{all_reduce: w, bytes: 1KiB, type: f32}";
  CHECK(meet(call, call) == kOk);
  CHECK(meet(call, "{all_reduce: w, bytes: 2KiB, type: f32}") == kMismatch);
  CHECK(meet(call, "{all_gather: w, bytes: 1KiB, type: f32}") == kMismatch);
  CHECK(meet(call, "{all_reduce: w, bytes: 1KiB, type: f16}") == kMismatch);
  CHECK(meet("{reduce: w, root: 0, bytes: 1KiB}", "{reduce: w, root: 1, bytes: 1KiB}") ==
        kMismatch);
}

TEST_CASE("cases C2: streams that share a hardware queue", "[scenarios][cases]") {
  const std::string groups = "up: all, down: all";
  const std::string before_zero = joined({send(1, "up"), recv(1, "down"), "{synchronize: device}"});
  const std::string before_one = joined({recv(0, "up"), send(0, "down"), "{synchronize: device}"});
  const std::string answers_it =
      "{recv: up, from: 0, bytes: 4KiB}, {send: down, to: 0, bytes: 4KiB, after: [nccl up]}";
  std::string streams;
  for (int i = 0; i < 9; ++i) {
    streams += ", {compute: w" + std::to_string(i) + ", stream: k" + std::to_string(i) + "}";
  }
  const std::string zero = before_zero + streams +
                           ", {recv: down, from: 1, bytes: 4KiB}, "
                           "{compute: uses, stream: k0, after: [nccl down]}, "
                           "{compute: makes, stream: k8}, "
                           "{send: up, to: 1, bytes: 4KiB, after: [k8]}";
  const std::vector<std::string> nine = {zero, joined({before_one, answers_it})};
  CHECK(answers(scenario(nine, groups)) == kMayHang);
  CHECK(answers(scenario(nine, groups, "device: {hardware_queues: 0}\n")) == kOk);
  const std::vector<std::string> shared = {
      before_zero +
          ", {recv: down, from: 1, bytes: 4KiB}, {compute: makes}, "
          "{send: up, to: 1, bytes: 4KiB, after: [compute]}",
      joined({before_one, answers_it})};
  const auto on = [](const std::string& vendor) {
    return "device: {vendor: " + vendor + ", hardware_queues: 1}\n";
  };
  CHECK(answers(scenario(shared, groups, on("amd"))) == kHangs);
  CHECK(answers(scenario(shared, groups, on("nvidia"))) == kOk);
}

TEST_CASE("cases C3 and C4: one order is enough with slots, or with an order of starts",
          "[scenarios][cases]") {
  const std::string warm = joined({reduce("x"), reduce("y"), "{synchronize: device}"});
  const auto with = [&](const std::string& device, bool one_order) {
    const std::string xy = joined({warm, reduce("x"), reduce("y")});
    const std::string yx = joined({warm, reduce("y"), reduce("x")});
    return answers(
        scenario({xy, one_order ? xy : yx}, "x: all, y: all", "device: {" + device + "}\n"));
  };
  CHECK(with("resident: 1", true) == kMayHang);
  CHECK(with("resident: 2", true) == kOk);
  CHECK(with("resident: 1, launch_order: implicit", true) == kOk);
  CHECK(with("resident: 1, launch_order: serial", true) == kOk);
  // If the hosts launch in opposite orders, the job hangs with one kernel slot, or if each op must
  // end before the next starts. Two slots are enough.
  CHECK(with("resident: 1, launch_order: implicit", false) == kHangs);
  CHECK(with("launch_order: serial", false) == kHangs);
  CHECK(with("resident: 2, launch_order: implicit", false) == kOk);
  CHECK(with("resident: 2", false) == kOk);
}

TEST_CASE("cases C5: two kernels that each hold some SMs", "[scenarios][cases]") {
  const auto with = [](const std::string& ctas) {
    const auto call = [&](const std::string& on) {
      return "{all_reduce: " + on + ", ctas: " + ctas + "}";
    };
    const std::string warm =
        joined({call("x"), "{synchronize: device}", call("y"), "{synchronize: device}"});
    return answers(
        scenario({joined({warm, call("x"), call("y")}), joined({warm, call("y"), call("x")})},
                 "x: all, y: all", "device: {sms: 16}\n"));
  };
  // If both ranks start the same call first, the job completes.
  CHECK(with("10") == kMayHang);
  CHECK(with("8") == kOk);
}

TEST_CASE("cases C5: kernels that end only delay, and cooperative ones wait for all SMs",
          "[scenarios][cases]") {
  const std::string x = "{all_reduce: x, ctas: 10}";
  const auto with = [&](const std::string& zero, const std::string& one) {
    const std::string warm =
        x + ", {synchronize: device}, {all_reduce: y}, {synchronize: device}, ";
    return answers(scenario({warm + zero, warm + one}, "x: all, y: all", "device: {sms: 16}\n"));
  };
  const std::string gemm = "{compute: gemm, stream: k, ctas: 16, takes: 1us}";
  CHECK(with(joined({gemm, x}), joined({x, gemm})) == kOk);
  // The dispatch takes all SMs and spins until the other rank's dispatch runs.
  const std::string dispatch = "{all_reduce: y, ctas: 16, cooperative: on}";
  CHECK(with(joined({x, dispatch}), joined({dispatch, x})) == kMayHang);
  const std::string in_turn = joined({x, "{synchronize: nccl x}", dispatch});
  CHECK(with(in_turn, in_turn) == kOk);
  // A dispatch that fits into the SMs that the other call leaves can start first on either rank.
  const std::string fewer = "{all_reduce: y, ctas: 6, cooperative: on}";
  CHECK(with(joined({x, fewer}), joined({fewer, x})) == kOk);
}

TEST_CASE("cases C5: a kernel of clusters takes no SMs that are less than one",
          "[scenarios][cases]") {
  // While x holds 10 of 16 SMs, a kernel of 8 CTAs takes the other 6 SMs. z needs these SMs, and
  // rank 1 waits for z before it calls x. A kernel that is one cluster waits for 8 SMs, so z finds
  // free SMs.
  const auto with = [](const std::string& cluster) {
    const std::string warm =
        "{all_reduce: x, ctas: 1}, {synchronize: device}, {all_reduce: z, ctas: 1}, "
        "{synchronize: device}, ";
    const std::string x = "{all_reduce: x, ctas: 10}";
    const std::string z = "{all_reduce: z, ctas: 4}";
    return answers(scenario(
        {warm + joined({x, "{compute: gemm, stream: k, ctas: 8, takes: 1us" + cluster + "}", z}),
         warm + joined({z, "{synchronize: nccl z}", x})},
        "x: all, z: all", "device: {sms: 16}\n"));
  };
  CHECK(with("") == kMayHang);
  CHECK(with(", cluster: 2") == kMayHang);  // three of the four clusters fit
  CHECK(with(", cluster: 8") == kOk);
  CHECK(with(", cooperative: on") == kOk);
}

TEST_CASE("cases C6: the first use of a kernel waits for the device", "[scenarios][cases]") {
  const std::string warm = joined({reduce("x"), reduce("y"), "{synchronize: device}"});
  const auto with = [&](const std::string& load, const std::string& top) {
    return answers(scenario({joined({warm, reduce("x"), load + "{compute: k}", reduce("y")}),
                             joined({warm, reduce("y"), "{synchronize: nccl y}", reduce("x")})},
                            "x: all, y: all", top));
  };
  CHECK(with("{load: k}, ", "device: {resident: 3}\n") == "ok ok may");
  CHECK(with("", "device: {resident: 3}\n") == kOk);
  // The number of kernel slots is not known.
  CHECK(with("", "") == kMayHang);
}

TEST_CASE("cases C6: .item() between calls of two communicators", "[scenarios][cases]") {
  const std::string warm = joined({reduce("x"), reduce("y"), "{synchronize: device}"});
  const auto with = [&](const std::string& between) {
    return answers(scenario({joined({warm, reduce("x"), between, reduce("y")}),
                             joined({warm, reduce("y"), between, reduce("x")})},
                            "x: all, y: all", "device: {resident: 3}\n"));
  };
  CHECK(with("{synchronize: device}") == kHangs);
  CHECK(with("{host: prepares}") == kOk);
  // A kernel on the legacy default stream waits for all blocking streams, and these streams wait
  // for the kernel.
  const auto on_legacy = [&](const std::string& after) {
    return answers(scenario({joined({warm, reduce("x"), "{compute: k, stream: legacy" + after + "}",
                                     "{all_reduce: y, after: [legacy]}"}),
                             joined({warm, reduce("y"), "{synchronize: nccl y}", reduce("x")})},
                            "x: all, y: all", "device: {resident: 3}\n"));
  };
  CHECK(on_legacy(", after: [nccl x, nccl y]") == kHangs);
  CHECK(on_legacy("") == kOk);
}

TEST_CASE("case C7: the host waits for a launch queue that is full", "[scenarios][cases]") {
  // Rank 1 makes the send for rank 0's recv only after it has received rank 0's own send, which
  // comes after rank 0's kernels. Each kernel is three launches: a record on the stream of the
  // recv, and a wait and the kernel on its own stream.
  const auto text = [](int kernels, const std::string& top) {
    std::vector<std::string> zero = {connect(1), connect(1, "qq"), recv(1)};
    for (int i = 0; i < kernels; ++i) zero.emplace_back("{compute: k, after: [nccl pp]}");
    zero.push_back(send(1, "qq"));
    return scenario({joined(zero), joined({connect(0), connect(0, "qq"), recv(0, "qq"),
                                           "{send: pp, to: 0, bytes: 4KiB, after: [nccl qq]}"})},
                    "pp: all, qq: all", top);
  };
  const auto rests_on_launches = [](const std::string& file) {
    const models::NcclModesReport report =
        models::check_nccl_modes(testing::scenario_of(file).graph, {});
    return report.check.exploration.rests_on.launches;
  };
  const std::string of_streams = "defaults: {launch_queue: 8}\n";
  CHECK(answers(text(5, of_streams)) == kHangs);
  CHECK_FALSE(rests_on_launches(text(5, of_streams)));
  // Four kernels make eight launches on their stream. The recv and the records add five, so the
  // device has 13 launches.
  CHECK(answers(text(4, of_streams)) == kMayHang);
  CHECK(rests_on_launches(text(4, of_streams)));
  CHECK(answers(text(4, "defaults: {launch_queue: 13}\n")) == kMayHang);
  CHECK(answers(text(4, "defaults: {launch_queue: 14}\n")) == kOk);
  CHECK(answers(text(4, "device: {launch_queue: 13}\n")) == kHangs);
  CHECK_FALSE(rests_on_launches(text(4, "device: {launch_queue: 13}\n")));
  CHECK(answers(text(4, "device: {launch_queue: 14}\n")) == kOk);
  // A launch queue of the device replaces the launch queues of its streams.
  CHECK(answers(text(5, of_streams + "device: {launch_queue: 17}\n")) == kOk);
}

TEST_CASE("cases C8: graphs are replayed in one order, and without buffers", "[scenarios][cases]") {
  // Ranks replay two graphs of one communicator. If their orders differ, calls match the wrong
  // calls.
  const std::string blocks =
      "blocks: {a: [{all_reduce: w, bytes: 1KiB}], b: [{all_gather: w, bytes: 1KiB}]}\n";
  const std::string warm =
      "{all_reduce: w, bytes: 1KiB}, {all_gather: w, bytes: 1KiB}, {synchronize: device}, ";
  const std::string ab = warm + "{call: a}, {call: b}";
  const std::string ba = warm + "{call: b}, {call: a}";
  CHECK(answers(scenario({ab, ba}, "w: all", blocks)) == kMismatch);
  CHECK(answers(scenario({ab, ab}, "w: all", blocks)) == kOk);
  // Crossing sends complete through buffers, but not in a replayed graph.
  const auto crossing = [](const std::string& registered) {
    std::vector<std::string> programs;
    for (int rank = 0; rank < 2; ++rank) {
      const std::string out =
          "{send: pp, to: " + std::to_string(1 - rank) + ", bytes: 4KiB" + registered + "}";
      programs.push_back(joined({connect(1 - rank), out, recv(1 - rank)}));
    }
    return scenario(programs, "pp: all");
  };
  CHECK(answers(crossing("")) == "hang ok ok");
  CHECK(answers(crossing(", registered: on")) == kHangs);
}

TEST_CASE("cases C8: a replay begins when the one before it on its stream is done",
          "[scenarios][cases]") {
  // Each graph branches from the stream on which it is launched and joins this stream, as a capture
  // must. So two graphs with calls on separate streams run in launch order, and all ranks must
  // launch them in the same order.
  const std::string warm = joined({reduce("x"), reduce("y"), "{synchronize: device}"});
  const auto blocks = [](const std::string& fork, const std::string& join) {
    const auto graph = [&](const std::string& on) {
      return "[{compute: first}, {all_reduce: " + on + fork + "}, {compute: last" +
             (join.empty() ? "" : ", after: [nccl " + on + "]") + "}]";
    };
    return "device: {resident: 4}\nblocks: {a: " + graph("x") + ", b: " + graph("y") + "}\n";
  };
  const std::string ab = joined({warm, "{call: a}, {call: b}, {call: a}, {call: b}"});
  const std::string ba = joined({warm, "{call: b}, {call: a}, {call: b}, {call: a}"});
  const std::string captured = blocks(", after: [compute]", "join");
  CHECK(answers(scenario({ab, ba}, "x: all, y: all", captured)) == kHangs);
  CHECK(answers(scenario({ab, ab}, "x: all, y: all", captured)) == kOk);
  // Outside a graph and without waits, each call has its own stream, and there are kernel slots for
  // both calls.
  CHECK(answers(scenario({ab, ba}, "x: all, y: all", blocks("", ""))) == kOk);
}

TEST_CASE("cases C8: messages of a graph share a communicator", "[scenarios][cases]") {
  // A pipeline with two stages on each of two ranks (pytorch/torchtitan#4671): rank 0 has the first
  // and the third stage.
  const auto with = [](const std::string& back, const std::string& registered) {
    const auto out = [&](int to, const std::string& on) {
      return "{send: " + on + ", to: " + std::to_string(to) + ", bytes: 4KiB" + registered + "}";
    };
    const std::string zero = joined({out(1, "up"), out(1, "up"), recv(1, back), recv(1, back)});
    const std::string one = joined({recv(0, "up"), out(0, back), recv(0, "up"), out(0, back)});
    const std::string blocks = "blocks: {zero: [" + zero + "], one: [" + one + "]}\n";
    const auto twice = [&](int peer, const std::string& name) {
      return joined({connect(peer, "up"), connect(peer, "down"), "{call: " + name + "}",
                     "{synchronize: device}", "{call: " + name + "}"});
    };
    return answers(scenario({twice(1, "zero"), twice(0, "one")}, "up: all, down: all", blocks));
  };
  CHECK(with("up", "") == "hang ok ok");
  CHECK(with("up", ", registered: on") == kHangs);
  CHECK(with("down", "") == kOk);
  CHECK(with("down", ", registered: on") == kOk);
}

TEST_CASE("cases C8: calls of a communicator have one order in a graph, too",
          "[scenarios][cases]") {
  // Across streams, only the communicator orders the nodes of the graph: case B4, without buffers.
  const auto with = [](const std::string& back) {
    std::vector<std::string> programs;
    std::string blocks = "blocks: {";
    for (int rank = 0; rank < 2; ++rank) {
      const int peer = 1 - rank;
      const std::string name = rank == 0 ? "zero" : "one";
      const std::string out = "{send: " + (rank == 0 ? std::string("pp") : back) +
                              ", to: " + std::to_string(peer) +
                              ", bytes: 4KiB, registered: on, stream: s1}";
      blocks += (rank == 0 ? "" : ", ") + name + ": [" + out + ", " +
                on_stream(recv(peer, rank == 0 ? back : "pp"), "s2") + "]";
      programs.push_back(
          joined({connect(peer, "pp"), connect(peer, "qq"), "{call: " + name + "}"}));
    }
    return answers(scenario(programs, "pp: all, qq: all", blocks + "}\n"));
  };
  CHECK(with("pp") == kHangs);
  CHECK(with("qq") == kOk);
}

TEST_CASE("cases D1: looped stages share a communicator", "[scenarios][cases]") {
  const std::string rows = R"(schema: 1
params: {messages: {default: pg, one_of: [dir, edge, pair, direction, pg, sync]}}
schedule:
  messages: $messages
  message: 1GiB
  rows:
    - 0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2RECV_F1,2F1
    - 1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1
  partial: on
)";
  CHECK(answers(rows, {{"messages", "pg"}}) == kHangs);
  CHECK(answers(rows, {{"messages", "direction"}}) == kHangs);
  CHECK(answers(rows, {{"messages", "edge"}}) == kOk);
}

TEST_CASE("cases D3: with two stages one direction goes over WORLD", "[scenarios][cases]") {
  const auto with = [](const std::string& messages, const std::string& bytes, bool connected) {
    const std::string zero = connected ? connect(1, "pp") + ", " + connect(1, "world") + ", " : "";
    const std::string one = connected ? connect(0, "pp") + ", " + connect(0, "world") + ", " : "";
    return answers(scenario({zero + joined({send(1, messages, bytes), reduce("world")}),
                             one + joined({reduce("world"), recv(0, messages, bytes)})},
                            "pp: all, world: all"));
  };
  CHECK(with("world", kLargeBytes, true) == kHangs);
  CHECK(with("world", "4KiB", true) == "hang ok ok");
  CHECK(with("pp", kLargeBytes, true) == kOk);
  // In reading cold, one host is in its first send, the other in its first all_reduce.
  CHECK(with("world", "4KiB", false) == "hang ok hang");
  CHECK(with("pp", "4KiB", false) == "ok ok hang");
}

// Programs in ../shared that an earlier check wrongly proved or refused.
TEST_CASE("cases of real jobs that were proved or refused wrongly", "[scenarios][cases][shared]") {
  const std::string folder = testing::shared_data("p2p/");
  if (folder.empty()) return;
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"fp1_first_use_send_blocks_host", "ok ok hang"},
      {"fp2_opposite_first_collectives", "may may hang"},
      {"fp3_group_epochs", kHangs},
      {"fp4_eager_without_end", kHangs},
      // Two sends of 8 MiB, with one step each, fit into buffers.
      {"fp5_schedule_default_messages", "hang ok ok"},
      // In reading cold, each host initializes a different communicator first.
      {"fp6_nine_streams", "may may hang"},
      {"fp7_lazy_pair_ring", "ok ok hang"},
      // In reading cold, the first all_reduce waits for all hosts (A4).
      {"fa1_split_is_on_the_host", "ok ok hang"},
      {"fa2_small_crossing_sends", "hang ok ok"},
      {"fa3_broadcast_root_leaves", "hang ok hang"},
  };
  for (const auto& [name, answers_of_it] : expected) {
    INFO(name);
    // The scenario normally has one hardware queue for each stream.
    const Settings settings = name == "fp6_nine_streams" ? Settings{{"queues", "8"}} : Settings();
    CHECK(answers(testing::load(folder + name + ".yaml", settings).graph) == answers_of_it);
  }
}
