// NCCL's behavior at first use and with its buffers (docs/reference/rules.md, 9.5 and 9.7), in the
// three readings contract, real and cold. The expectations are derived by hand from NCCL's rules;
// comments explain the derivations that are not obvious.
#include <algorithm>
#include <string>
#include <vector>

#include "models/lowering/transport.hpp"
#include "models/result/explanation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/rank_programs.hpp"

using namespace pipesim;
using sim::Verdict;
using sim::WaitKind;
using testing::explanation_of;
using testing::group;
using testing::recv;
using testing::reduce;
using testing::scenario;
using testing::send;

namespace {

std::string verdict_in(const std::string& text, const char* mode) {
  const Verdict verdict = explanation_of(text, {{"reading", mode}}).verdict;
  if (verdict == Verdict::kCompleted) return "ok";
  if (verdict == Verdict::kMismatch) return "mismatch";
  return verdict == Verdict::kStarved ? "missing" : "hang";
}

// Returns the verdicts in the readings contract, real and cold.
std::string verdicts(const std::string& text) {
  return verdict_in(text, "contract") + " " + verdict_in(text, "real") + " " +
         verdict_in(text, "cold");
}

// Returns a send and a recv between ranks 0 and 1 in a group, which connects both directions.
std::string warm(int peer) { return group(send(peer) + ", " + recv(peer)); }

// Returns a scenario in which ranks 0 and 1 are connected, and each sends before it receives. The
// first `ranks` ranks are the members of the communicator.
std::string crossing(const std::string& bytes, int ranks = 2, const std::string& top = {}) {
  std::vector<std::string> programs;
  for (int rank = 0; rank < ranks; ++rank) {
    // The initialization of pp needs all ranks.
    std::string program = reduce("pp");
    if (rank < 2) {
      const int peer = 1 - rank;
      program +=
          ", " + warm(peer) + ", " + send(peer, "pp", bytes) + ", " + recv(peer, "pp", bytes);
    }
    programs.push_back(program);
  }
  return scenario(programs, "pp: all", top);
}

}  // namespace

TEST_CASE("readings: a communicator is initialized by the hosts of all its ranks",
          "[scenarios][readings]") {
  const std::string pair = group(send(1) + ", " + recv(1));
  const std::string other = group(send(0) + ", " + recv(0));
  CHECK(verdicts(scenario({pair, other, "", ""}, "pp: all")) == "ok ok missing");
  const std::string all = reduce("pp");
  CHECK(verdicts(scenario({all + ", " + pair, all + ", " + other, all, all}, "pp: all")) ==
        "ok ok ok");
}

// The legacy backend makes a communicator per pair: each host waits for its left neighbor to
// initialize their communicator.
TEST_CASE("readings: lazy pairs in a ring", "[scenarios][readings]") {
  std::vector<std::string> pairs;
  std::vector<std::string> shared;
  for (int rank = 0; rank < 4; ++rank) {
    const int left = (rank + 3) % 4;
    const int right = (rank + 1) % 4;
    pairs.push_back(recv(left, "p" + std::to_string(left)) + ", " +
                    send(right, "p" + std::to_string(rank)));
    shared.push_back(recv(left) + ", " + send(right));
  }
  CHECK(verdicts(scenario(pairs, "p0: [0, 1], p1: [1, 2], p2: [2, 3], p3: [0, 3]")) ==
        "ok ok hang");
  // A single communicator has one queue of calls.
  CHECK(verdicts(scenario(shared, "pp: all")) == "hang hang hang");
}

// A ring of unbatched sends and recvs: the backend decides which communicators they use.
TEST_CASE("readings: the backend decides the communicator of a message", "[scenarios][readings]") {
  const auto ring = [](const std::string& top, bool batched) {
    std::vector<std::string> programs;
    for (int rank = 0; rank < 4; ++rank) {
      const std::string both = recv((rank + 3) % 4) + ", " + send((rank + 1) % 4);
      programs.push_back(batched ? group(both) : both);
    }
    return verdicts(scenario(programs, "pp: all", top));
  };
  // Each rank has two communicators, and two hosts initialize each communicator: all hosts wait for
  // their left neighbor.
  CHECK(ring("backend: nccl-legacy\n", false) == "ok ok hang");
  CHECK(ring("backend: nccl-lazy\ndevice_id: on\n", false) == "ok ok hang");
  // A single communicator has one queue of calls.
  CHECK(ring("backend: nccl2\n", false) == "hang hang hang");
  CHECK(ring("backend: nccl-legacy\ndevice_id: on\n", false) == "hang hang hang");
  // Every backend puts a batch on the group's communicator.
  for (const char* backend : {"nccl2", "nccl-legacy", "nccl-lazy"}) {
    CHECK(ring("backend: " + std::string(backend) + "\n", true) == "ok ok ok");
  }
  // A gloo host waits in its recv, with or without NCCL's buffers.
  CHECK(ring("backend: gloo\n", false) == "hang hang hang");
}

TEST_CASE("readings: with device_id a group is initialized at the start", "[scenarios][readings]") {
  const auto with = [](const std::string& device_id) {
    const std::string zero = group(send(1) + ", " + recv(1));
    const std::string one = group(send(0) + ", " + recv(0));
    return verdicts(scenario({zero, one, "", ""}, "pp: all", "device_id: " + device_id + "\n"));
  };
  CHECK(with("off") == "ok ok missing");
  CHECK(with("on") == "ok ok ok");
}

TEST_CASE("readings: a pair has one communicator for both directions", "[scenarios][readings]") {
  const std::string text =
      scenario({send(1) + ", " + recv(2), recv(0) + ", " + send(2), recv(1) + ", " + send(0)},
               "pp: all", "backend: nccl-legacy\n");
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  std::vector<std::string> names;
  for (const models::CommunicatorTemplate& communicator : graph.communicators) {
    if (communicator.name != "pp") names.push_back(communicator.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"pp 0-1", "pp 0-2", "pp 1-2"});
  CHECK(verdicts(text) == "ok ok ok");
}

TEST_CASE("readings: the first message of a connection blocks the host of its sender",
          "[scenarios][readings]") {
  const std::string zero = send(1) + ", " + reduce("dp");
  const std::string one = reduce("dp") + ", {synchronize: nccl dp}, " + recv(0);
  const std::string text = scenario({zero, one}, "pp: all, dp: all");
  CHECK(verdicts(text) == "ok ok hang");
  // The communicators are initialized at the start, so each host waits only for a connection.
  const models::Explanation found = explanation_of(
      scenario({zero, one}, "pp: all, dp: all", "communicators: {creation: start}\n"));
  REQUIRE(!found.cycle.empty());
  bool first = false;
  for (const models::Wait& wait : found.cycle)
    first = first || wait.kind == WaitKind::kFirstMessage;
  CHECK(first);
  // If an earlier send has connected the same direction, nothing hangs; a connection in the other
  // direction does not help.
  CHECK(verdicts(scenario({send(1) + ", " + reduce("dp") + ", " + zero,
                           recv(0) + ", " + reduce("dp") + ", " + one},
                          "pp: all, dp: all")) == "ok ok ok");
  CHECK(verdicts(scenario({recv(1) + ", " + reduce("dp") + ", " + zero,
                           send(0) + ", " + reduce("dp") + ", " + one},
                          "pp: all, dp: all")) == "ok ok hang");
}

TEST_CASE("readings: a group connects all its messages at once", "[scenarios][readings]") {
  const std::string both = group(send(1) + ", " + send(2));
  CHECK(verdicts(scenario({both, reduce("x") + ", {synchronize: nccl x}, " + recv(0),
                           reduce("x") + ", " + recv(0)},
                          "pp: all, x: [1, 2]")) == "ok ok ok");
  // A ring of groups: if a group connected its calls one after the other, it would hang.
  std::vector<std::string> ring;
  for (int rank = 0; rank < 3; ++rank) {
    ring.push_back(group(send((rank + 1) % 3) + ", " + recv((rank + 2) % 3)));
  }
  CHECK(verdicts(scenario(ring, "pp: all")) == "ok ok ok");
}

TEST_CASE("readings: messages to the own rank connect nothing", "[scenarios][readings]") {
  const std::string own = group(send(0) + ", " + recv(0)) + ", " + reduce("pp");
  CHECK(verdicts(scenario({own, reduce("pp")}, "pp: all")) == "ok ok ok");
}

TEST_CASE("readings: the first collective of each operation is a meeting of hosts",
          "[scenarios][readings]") {
  const std::string xy = reduce("x") + ", " + reduce("y");
  const std::string yx = reduce("y") + ", " + reduce("x");
  CHECK(verdicts(scenario({xy, yx}, "x: all, y: all")) == "ok ok hang");
  CHECK(verdicts(scenario({xy + ", " + xy, xy + ", " + yx}, "x: all, y: all")) == "ok ok ok");
  // Another operation makes another connection; a barrier has the connection of an all_reduce.
  const std::string gather_x = "{all_gather: x, takes: 1us}";
  const std::string gather_y = "{all_gather: y, takes: 1us}";
  CHECK(verdicts(scenario(
            {xy + ", " + gather_x + ", " + gather_y, xy + ", " + gather_y + ", " + gather_x},
            "x: all, y: all")) == "ok ok hang");
  const std::string barriers = "{barrier: x}, {barrier: y}";
  const std::string named = "communicators: {named: {x: {group: x}, y: {group: y}}}\n";
  CHECK(verdicts(scenario({barriers + ", " + xy, barriers + ", " + yx}, "x: all, y: all", named)) ==
        "ok ok ok");
  // Different operations are detected only when they run.
  CHECK(verdicts(scenario({reduce("x"), gather_x}, "x: all")) == "mismatch mismatch mismatch");
}

// An initialization at the start makes no connections: these are made at first use.
TEST_CASE("readings: init at the start does not connect", "[scenarios][readings]") {
  const std::string xy = reduce("x") + ", " + reduce("y");
  const std::string yx = reduce("y") + ", " + reduce("x");
  CHECK(verdicts(scenario({xy, yx}, "x: all, y: all", "communicators: {creation: start}\n")) ==
        "ok ok hang");
  const std::string first = "communicators: {creation: first_use}\n";
  CHECK(verdicts(scenario({xy, yx}, "x: all, y: all", first)) == "hang hang hang");
}

TEST_CASE("readings: what the host does itself knows no first use", "[scenarios][readings]") {
  const std::string host =
      "communicators: {named: {x: {group: x, host: on}, y: {group: y, host: on, eager: 64KiB}}}\n";
  const std::string zero = send(1, "y") + ", " + recv(1, "y") + ", " + reduce("x");
  const std::string one = send(0, "y") + ", " + recv(0, "y") + ", " + reduce("x");
  CHECK(verdicts(scenario({zero, one}, "x: all, y: all", host)) == "ok ok ok");
}

// A split is not ordered with the calls of its parent, but the first all_reduce waits for the other
// hosts.
TEST_CASE("readings: a split is a meeting of the hosts of its parent", "[scenarios][readings]") {
  const std::string split = "{split: w}";
  const std::string early = split + ", " + reduce("w");
  const std::string late = reduce("w") + ", " + split;
  CHECK(verdicts(scenario({late, early}, "w: all")) == "ok ok hang");
  CHECK(verdicts(scenario({reduce("w") + ", " + late, reduce("w") + ", " + early}, "w: all")) ==
        "ok ok ok");
  // Rank 2 gets no communicator from the first split and skips it, but all ranks of the parent must
  // call a split.
  CHECK(verdicts(scenario({split + ", " + split, split + ", " + split, split}, "w: all")) ==
        "missing missing missing");
}

TEST_CASE("readings: a communicator is destroyed by its ranks of one host",
          "[scenarios][readings]") {
  const std::string xy = "{destroy: x}, {destroy: y}";
  const std::string yx = "{destroy: y}, {destroy: x}";
  CHECK(verdicts(scenario({xy, yx}, "x: all, y: all")) == "hang hang hang");
  CHECK(verdicts(scenario({xy, yx}, "x: all, y: all", "cluster: {hosts: 2}\n")) == "ok ok ok");
  // destroy waits for the pending work of the communicator's stream.
  const std::string text = scenario({"{all_reduce: x, takes: 5us}, {destroy: x}, {host: after}",
                                     "{all_reduce: x, takes: 5us}, {destroy: x}"},
                                    "x: all");
  CHECK(explanation_of(text).time_ns == 5'000);
}

// An H100 with NVSwitch has 32 channels, with 8 steps of 512 KiB on each channel.
TEST_CASE("readings: sends end in buffers of eight steps", "[scenarios][readings]") {
  CHECK(verdicts(crossing("64MiB")) == "hang ok ok");
  CHECK(verdicts(crossing("65MiB")) == "hang hang hang");
  // If there are more ranks, each pair has fewer channels.
  CHECK(verdicts(crossing("16MiB", 8)) == "hang ok ok");
  CHECK(verdicts(crossing("17MiB", 8)) == "hang hang hang");
  CHECK(verdicts(crossing("17MiB", 2)) == "hang ok ok");
  // Without a connection, each host waits for the other host's recv.
  CHECK(verdicts(scenario({send(1) + ", " + recv(1), send(0) + ", " + recv(0)}, "pp: all")) ==
        "hang ok hang");
}

TEST_CASE("readings: messages that wait share the steps", "[scenarios][readings]") {
  const auto several = [](int count, const std::string& bytes) {
    std::vector<std::string> programs;
    for (int rank = 0; rank < 2; ++rank) {
      std::string program = warm(1 - rank);
      for (int i = 0; i < count; ++i) program += ", " + send(1 - rank, "pp", bytes);
      for (int i = 0; i < count; ++i) program += ", " + recv(1 - rank, "pp", bytes);
      programs.push_back(program);
    }
    return verdicts(scenario(programs, "pp: all"));
  };
  CHECK(several(2, "24MiB") == "hang ok ok");  // 3 steps per send
  CHECK(several(3, "24MiB") == "hang hang hang");
  // Each send takes at least one step, even an empty one.
  CHECK(several(8, "0B") == "hang ok ok");
  CHECK(several(9, "0B") == "hang hang hang");
}

TEST_CASE("readings: what is registered goes through no buffer", "[scenarios][readings]") {
  const std::string registered = "communicators: {named: {pp: {group: pp, registered: on}}}\n";
  CHECK(verdicts(crossing("4KiB", 2, registered)) == "hang hang hang");
}

TEST_CASE("readings: over PCIe and the network less fits", "[scenarios][readings]") {
  const std::string pcie = "cluster: {links: {pcie: ~}}\n";
  CHECK(verdicts(crossing("1MiB", 2, pcie)) == "hang ok ok");
  CHECK(verdicts(crossing("3MiB", 2, pcie)) == "hang hang hang");
  const std::string two = "cluster: {hosts: 2}\n";  // 400 Gb/s
  CHECK(verdicts(crossing("4MiB", 2, two)) == "hang ok ok");
  CHECK(verdicts(crossing("5MiB", 2, two)) == "hang hang hang");
  const auto crossing_in = [](int ranks) {
    return verdicts(crossing("3MiB", ranks,
                             "cluster: {hosts: " + std::to_string(ranks / 8) + ", devices: 8}\n"));
  };
  // Beyond 64 ranks, a pair has two channels instead of four.
  CHECK(crossing_in(64) == "hang ok ok");
  CHECK(crossing_in(72) == "hang hang hang");
  // Numbers of channels from the log of NCCL_DEBUG=INFO override the computed numbers.
  const std::string less =
      "communicators: {named: {pp: {group: pp, p2p_channels: 2, p2p_channels_per_peer: 1}}}\n";
  CHECK(verdicts(crossing("4MiB", 2, less)) == "hang ok ok");
  CHECK(verdicts(crossing("5MiB", 2, less)) == "hang hang hang");
}

// Checks numbers of steps, and the largest sizes that fit, against values worked out by hand from
// NCCL's sources.
TEST_CASE("readings: steps of a message", "[scenarios][readings]") {
  constexpr std::int64_t kMiB = 1 << 20;
  const models::Transport nvlink{512 << 10, 32, 32, false};
  CHECK(models::buffer_steps(nvlink, 0, 2, false) == 1);
  CHECK(models::buffer_steps(nvlink, 8 * kMiB, 2, false) == 1);   // 16 parts of 512 KiB
  CHECK(models::buffer_steps(nvlink, 24 * kMiB, 2, false) == 3);  // parts of 1.5 MiB
  CHECK(models::buffer_steps(nvlink, 64 * kMiB, 2, false) == 8);
  CHECK(models::buffer_steps(nvlink, 64 * kMiB + 1, 2, false) == 0);
  CHECK(models::buffer_steps(nvlink, 32 * kMiB, 4, false) == 8);
  CHECK(models::buffer_steps(nvlink, 32 * kMiB + 1, 4, false) == 0);
  const models::Transport network{128 << 10, 32, 4, true};
  CHECK(models::buffer_steps(network, 4 * kMiB, 2, true) == 8);
  CHECK(models::buffer_steps(network, 4 * kMiB + 1, 2, true) == 0);
  // A part of 512 KiB holds fewer than 8 chunks, so the chunks are halved: a send of half the size
  // takes the same number of steps.
  CHECK(models::buffer_steps(network, 2 * kMiB, 2, true) == 8);
  CHECK(models::buffer_steps(network, 2 * kMiB, 2, false) == 4);
}

TEST_CASE("readings: messages are as fast through the buffer", "[scenarios][readings]") {
  const std::string text = scenario({"{send: pp, to: 1, bytes: 1MiB, takes: 10us}",
                                     "{recv: pp, from: 0, bytes: 1MiB, takes: 10us}"},
                                    "pp: all");
  for (const char* mode : {"contract", "real", "cold"}) {
    CHECK(explanation_of(text, {{"reading", mode}}).time_ns == 10'000);
  }
}

// ---------------------------------------------------------------------------------------------
// Waits within a collective (rule 9.4)

namespace {

std::string rooted(const std::string& operation, int root, const std::string& bytes = "4KiB") {
  return "{" + operation + ": w, root: " + std::to_string(root) + ", bytes: " + bytes +
         ", takes: 5us}";
}

// Returns the programs after a first use of all communicators, edges and operations, so that the
// verdicts in readings cold and real are equal.
std::string connected(const std::vector<std::string>& programs) {
  std::vector<std::string> warmed;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    std::string all;
    for (const char* operation : {"broadcast", "reduce", "gather", "scatter"}) {
      all += rooted(operation, 0) + ", ";
    }
    for (const char* on : {"v", "w"}) {
      std::string edges;
      for (std::size_t other = 0; other < programs.size(); ++other) {
        if (other == rank) continue;
        edges += std::string(edges.empty() ? "" : ", ") + send(static_cast<int>(other), on) + ", " +
                 recv(static_cast<int>(other), on);
      }
      all += group(edges) + ", ";
    }
    warmed.push_back(all + "{all_reduce: w}, {synchronize: device}, {barrier: w}" +
                     (programs[rank].empty() ? "" : ", ") + programs[rank]);
  }
  return scenario(warmed, "w: all, v: all");
}

}  // namespace

TEST_CASE("readings: the root of a broadcast is gone once its bytes are in buffers",
          "[scenarios][readings]") {
  const auto with = [](const std::string& bytes) {
    return verdicts(connected({rooted("broadcast", 0, bytes) + ", " + send(1, "w"),
                               recv(0, "w") + ", " + rooted("broadcast", 0, bytes)}));
  };
  CHECK(with("4KiB") == "hang ok ok");
  CHECK(with("64MiB") == "hang ok ok");  // 16 channels, 8 steps of 512 KiB on each
  CHECK(with("65MiB") == "hang hang hang");
  // Without a connection, the first broadcast waits for all hosts.
  CHECK(verdicts(scenario({rooted("broadcast", 0) + ", " + send(1, "w"),
                           recv(0, "w") + ", " + rooted("broadcast", 0)},
                          "w: all")) == "hang ok hang");
  // If rank 1 makes the broadcast before its send, the broadcast waits for the root.
  CHECK(verdicts(connected({recv(1, "w") + ", " + rooted("broadcast", 0),
                            rooted("broadcast", 0) + ", " + send(0, "w")})) == "hang hang hang");
}

TEST_CASE("readings: a rank waits for those between the root and it", "[scenarios][readings]") {
  // The ring from the root is ranks 0, 1, 2. Rank 2 is late: it first waits for rank 1.
  const std::string call = rooted("broadcast", 0);
  CHECK(verdicts(connected({call, call + ", " + send(2, "w"), recv(1, "w") + ", " + call})) ==
        "hang ok ok");
  // Rank 1 is late, and rank 2 waits for rank 1 although the root has arrived.
  CHECK(verdicts(connected({call, recv(2, "w") + ", " + call, call + ", " + send(1, "w")})) ==
        "hang hang hang");
  // From root 2, the ring continues with rank 0, then rank 1.
  const std::string of_2 = rooted("broadcast", 2);
  CHECK(verdicts(connected({of_2 + ", " + send(1, "w"), recv(0, "w") + ", " + of_2, of_2})) ==
        "hang ok ok");
  CHECK(verdicts(connected({recv(1, "w") + ", " + of_2, of_2 + ", " + send(0, "w"), of_2})) ==
        "hang hang hang");
}

TEST_CASE("readings: a reduce is the mirror image", "[scenarios][readings]") {
  const std::string call = rooted("reduce", 0);
  // The data goes from rank 1 through rank 2 to the root, which waits for both ranks.
  CHECK(verdicts(connected({recv(1, "w") + ", " + call, call + ", " + send(0, "w"), call})) ==
        "hang ok ok");
  CHECK(verdicts(connected({call, call + ", " + send(2, "w"), recv(1, "w") + ", " + call})) ==
        "hang ok ok");
  CHECK(verdicts(connected({call, recv(2, "w") + ", " + call, call + ", " + send(1, "w")})) ==
        "hang hang hang");
  CHECK(verdicts(connected({call + ", " + send(1, "w"), recv(0, "w") + ", " + call, call})) ==
        "hang hang hang");
}

TEST_CASE("readings: gather and scatter are messages with the root", "[scenarios][readings]") {
  // The host of the late rank first waits in a recv on another communicator, whose send another
  // rank makes after the call.
  const auto past = [](const std::string& call, int to) {
    return call + ", {synchronize: nccl w}, " + send(to, "v");
  };
  const auto late = [](int from, const std::string& call) {
    return recv(from, "v") + ", {synchronize: nccl v}, " + call;
  };
  const std::string gather = rooted("gather", 0);
  // Rank 2 is late. The root waits for rank 2; rank 1 does not.
  CHECK(verdicts(connected({gather, past(gather, 2), late(1, gather)})) == "ok ok ok");
  CHECK(verdicts(connected({past(gather, 2), gather, late(0, gather)})) == "hang hang hang");
  // The root is late. The other ranks need not wait for it if their data fits into NCCL's buffers.
  CHECK(verdicts(connected({late(1, gather), past(gather, 0), gather})) == "hang ok ok");
  const std::string large = rooted("gather", 0, "65MiB");
  CHECK(verdicts(connected({late(1, large), past(large, 0), large})) == "hang hang hang");
  const std::string scatter = rooted("scatter", 0);
  CHECK(verdicts(connected({scatter, past(scatter, 2), late(1, scatter)})) == "ok ok ok");
  CHECK(verdicts(connected({past(scatter, 2), scatter, late(0, scatter)})) == "hang ok ok");
  CHECK(verdicts(connected({late(1, scatter), past(scatter, 0), scatter})) == "hang hang hang");
}

// Two ranks of one NVLink node have 16 channels, so 8 MiB take one step and 24 MiB take three
// steps.
TEST_CASE("readings: gather and scatter share the steps of their connection",
          "[scenarios][readings]") {
  // Rank 1 makes its recvs only after rank 0 has made all its sends.
  const auto with = [](const std::string& sends, const std::string& recvs) {
    const std::string ready =
        ", {group: [{send: up, to: 1, bytes: 4KiB}, "
        "{recv: up, from: 1, bytes: 4KiB}]}, {barrier: up}";
    const std::string ready_1 =
        ", {group: [{send: up, to: 0, bytes: 4KiB}, "
        "{recv: up, from: 0, bytes: 4KiB}]}, {barrier: up}";
    const std::string first = group(send(1, "w") + ", " + recv(1, "w")) + ready;
    const std::string first_1 = group(send(0, "w") + ", " + recv(0, "w")) + ready_1;
    return verdicts(
        scenario({first + ", " + sends + ", {synchronize: nccl w}, " + send(1, "up"),
                  first_1 + ", " + recv(0, "up") + ", {synchronize: nccl up}, " + recvs},
                 "w: all, up: all"));
  };
  const std::string sends = send(1, "w", "24MiB") + ", " + send(1, "w", "24MiB") + ", ";
  const std::string recvs = recv(0, "w", "24MiB") + ", " + recv(0, "w", "24MiB") + ", ";
  const auto behind = [&](const std::string& call) { return with(sends + call, recvs + call); };
  CHECK(behind(rooted("gather", 1, "16MiB")) == "hang ok ok");
  CHECK(behind(rooted("gather", 1, "24MiB")) == "hang hang hang");
  // The scatter has a part for each of the two ranks.
  CHECK(behind(rooted("scatter", 0, "32MiB")) == "hang ok ok");
  CHECK(behind(rooted("scatter", 0, "48MiB")) == "hang hang hang");
  // Each call takes at least one step, whatever its operation.
  const auto of = [&](int sent, const std::string& call) {
    std::string out;
    std::string in;
    for (int i = 0; i < sent; ++i) {
      out += send(1, "w") + ", ";
      in += recv(0, "w") + ", ";
    }
    return with(out + call, in + call);
  };
  const std::string both = rooted("gather", 1) + ", " + rooted("scatter", 0);
  CHECK(of(6, both) == "hang ok ok");
  CHECK(of(7, both) == "hang hang hang");
}

TEST_CASE("readings: a recv takes the message of a gather, and a gather that of a send",
          "[scenarios][readings]") {
  CHECK(verdicts(scenario({rooted("gather", 1), recv(0, "w")}, "w: all")) == "ok ok ok");
  CHECK(verdicts(scenario({send(1, "w"), rooted("gather", 1)}, "w: all")) == "ok ok ok");
  CHECK(verdicts(scenario({rooted("scatter", 0, "8KiB"), recv(0, "w")}, "w: all")) == "ok ok ok");
  CHECK(verdicts(scenario({rooted("gather", 1), recv(0, "w", "8KiB")}, "w: all")) ==
        "mismatch mismatch mismatch");
}

TEST_CASE("readings: in a group, messages of a gather are of an epoch", "[scenarios][readings]") {
  // In rank 0's group, the second send to rank 1 starts only after the first send and the recv are
  // done. The send that matches this recv comes after rank 1's own recv.
  const std::string large = rooted("gather", 1, "1GiB");
  const auto with = [&](const std::string& first) {
    return verdicts(scenario(
        {first, large + ", " + recv(0, "w", "1GiB") + ", " + send(0, "w", "1GiB")}, "w: all"));
  };
  const std::string out = send(1, "w", "1GiB");
  const std::string in = recv(1, "w", "1GiB");
  CHECK(with(group(large + ", " + out + ", " + in)) == "hang hang hang");
  CHECK(with(group(large + ", " + out) + ", " + in) == "ok ok ok");
}

TEST_CASE("readings: in a gather each rank connects with the root only", "[scenarios][readings]") {
  // Rank 2 reaches the gather only after rank 1 has left it.
  const auto with = [](const std::string& call) {
    return verdicts(
        scenario({reduce("w") + ", " + call, reduce("w") + ", " + call + ", " + reduce("x"),
                  reduce("w") + ", " + reduce("x") + ", {synchronize: nccl x}, " + call},
                 "w: all, x: [1, 2]"));
  };
  CHECK(with(rooted("gather", 0)) == "ok ok ok");
  CHECK(with(rooted("scatter", 0)) == "ok ok ok");
  // The root's host connects with all ranks, and so does each host of a ring.
  CHECK(with(rooted("gather", 1)) == "ok ok hang");
  CHECK(with(rooted("broadcast", 0)) == "ok ok hang");
}

TEST_CASE("readings: a gather of no bytes, or of one rank, waits for nobody",
          "[scenarios][readings]") {
  CHECK(verdicts(scenario({rooted("gather", 0, "0B"), ""}, "w: all")) == "ok ok ok");
  CHECK(verdicts(scenario({rooted("gather", 1, "0B"), ""}, "w: all")) == "ok ok ok");
  CHECK(verdicts(scenario({rooted("scatter", 0), ""}, "w: [0]")) == "ok ok ok");
}

TEST_CASE("readings: a gather takes the time that its root's port needs", "[scenarios][readings]") {
  // In a gather, three ranks send 1 GB each to the root, over 1 GB/s. In a scatter, the root sends
  // each of them 1 GB of its 4 GB.
  const std::string cluster =
      "cluster: {devices: 4, links: {nvlink: {latency: 0s, bandwidth: 1GB/s}}}\n";
  const auto with = [&](const std::string& call) {
    const std::string text = scenario({call, call, call, call}, "w: all", cluster);
    return explanation_of(text, {{"reading", "contract"}}).time_ns;
  };
  CHECK(with("{gather: w, root: 2, bytes: 1GB}") == 3'000'000'000);
  CHECK(with("{scatter: w, root: 2, bytes: 4GB}") == 3'000'000'000);
}

TEST_CASE("readings: a root can be eight steps ahead of the next rank", "[scenarios][readings]") {
  const auto with = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += rooted("broadcast", 0) + ", ";
    return verdicts(connected({all + send(1, "w"), recv(0, "w") + ", " + all + "{host: x}"}));
  };
  CHECK(with(8) == "hang ok ok");
  CHECK(with(9) == "hang hang hang");
}

TEST_CASE("readings: by contract a broadcast ends for all ranks at once", "[scenarios][readings]") {
  const auto broadcast = [](const std::string& takes) {
    return "{broadcast: w, root: 0, bytes: 4KiB, takes: " + takes + "}, {synchronize: device}";
  };
  const std::string text =
      scenario({broadcast("5us"), broadcast("3us") + ", {host: x, takes: 4us}"}, "w: all");
  CHECK(explanation_of(text, {{"reading", "contract"}}).time_ns == 9'000);
  CHECK(explanation_of(text, {{"reading", "real"}}).time_ns == 7'000);
}

TEST_CASE("readings: a rank that comes late takes its time alone", "[scenarios][readings]") {
  // The root is done at 5 us, and rank 1 arrives at 20 us.
  const std::string text = scenario({rooted("broadcast", 0) + ", {host: x, takes: 0us}",
                                     "{host: late, takes: 20us}, " + rooted("broadcast", 0)},
                                    "w: all");
  CHECK(explanation_of(text, {{"reading", "contract"}}).time_ns == 25'000);
  CHECK(explanation_of(text, {{"reading", "real"}}).time_ns == 25'000);
}
