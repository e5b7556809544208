// Cases of the rules of runtimes, in a shorthand (tests/support/shorthand.hpp), each with the
// answer of `check` and next to a control that differs in one step. The expectations follow from
// the documented rules and from real gloo (torch 2.13) by hand.
#include <string>
#include <vector>

#include "tests/support/answers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/shorthand.hpp"

using namespace pipesim;
using testing::kHangs;
using testing::kMayHang;
using testing::kOk;

namespace {

struct RuntimeCase {
  const char* programs;
  const char* answer;
  const char* groups = "";
  const char* top = "";
};

void check_cases(const std::vector<RuntimeCase>& cases, const std::string& top = {}) {
  for (const RuntimeCase& each : cases) {
    INFO(each.programs << " | " << each.groups << " | " << each.top);
    CHECK(testing::answers(testing::Shorthand::scenario(each.programs, each.groups,
                                                        top + each.top)) == each.answer);
  }
}

// Only a fresh job hangs: a first use blocks the host, which never reaches its abort.
constexpr const char* kNotCold = "ok ok hang";

constexpr const char* kX = "communicators: {named: {x: {group: w, creation: start}}}\n";
constexpr const char* kXOfOneHost =
    "communicators: {named: {x: {group: w, creation: start}}}\nnccl: 2.30\n";
// Two communicators of ranks 0 and 1 whose calls share a stream.
constexpr const char* kOneStream =
    "streams: [compute]\n"
    "communicators: {creation: start, named: {c0: {group: w, stream: compute}, "
    "c1: {group: w, stream: compute}}}\n";

}  // namespace

TEST_CASE("runtimes: destroy and finalize wait for the streams, and for the host from 2.31 on",
          "[scenarios][cases]") {
  check_cases({
      {"r0: destroy x; r1: host a", kHangs, "", kX},
      {"r0: destroy x; r1: host a", kOk, "", kXOfOneHost},
      {"r0: destroy x; r1: destroy x", kOk, "", kX},
      {"r0: destroy x; r1: host a", kOk, "",
       "cluster: {hosts: 2, devices: 1}\ncommunicators: {named: {x: {group: w, creation: "
       "start}}}\n"},
      {"r0: finalize x; r1: host a", kHangs, "", kX},
      {"r0: finalize x; r1: host a", kOk, "", kXOfOneHost},
      // After a finalize, destroy skips its job and waits for no rank.
      {"r0: finalize x, destroy x; r1: finalize x", kOk, "", kX},
      {"r0: finalize x, destroy x; r1: destroy x", kOk, "", kX},
      // Destroy and finalize wait for the rank's own calls.
      {"r0: AR(x), destroy x, set k; r1: get k, AR(x), destroy x", kHangs, "", kXOfOneHost},
      {"r0: AR(x), set k, destroy x; r1: get k, AR(x), destroy x", kNotCold, "", kXOfOneHost},
      {"r0: AR(x), finalize x, set k; r1: get k, AR(x)", kHangs, "", kXOfOneHost},
  });
}

TEST_CASE("runtimes: nccl-lazy destroys the communicators of pairs in any order",
          "[scenarios][cases]") {
  constexpr const char* kGroups = "a: [0, 1], b: [1, 2], c: [0, 2]";
  const std::string pairs =
      "communicators: {creation: start, named: {x: {group: a}, y: {group: b}, z: {group: c}}}\n";
  const auto answers = [&](const char* programs, const std::string& top = {}) {
    return testing::answers(testing::Shorthand::scenario(programs, kGroups, pairs + top));
  };
  constexpr const char* kCycle =
      "r0: destroy x, destroy z; r1: destroy y, destroy x; r2: destroy z, destroy y";
  CHECK(answers(kCycle) == kHangs);
  CHECK(answers(kCycle, "nccl: 2.30\n") == kOk);
  CHECK(answers("r0: destroy x, destroy z; r1: destroy x, destroy y; r2: destroy y, destroy z") ==
        kOk);
}

TEST_CASE("runtimes: an abort ends calls, and waits for what precedes them in their streams",
          "[scenarios][cases]") {
  check_cases({
      // The recv on c0 blocks the send on c1, which is aborted first.
      {"r0: R1(c0), S1(c1), abort c1, abort c0; r1: host a", kHangs, "", kOneStream},
      {"r0: R1(c0), S1(c1), abort c0, abort c1; r1: host a", kNotCold, "", kOneStream},
      {"r0: R1(c0), S1(c1), abort c1+c0; r1: host a", kNotCold, "", kOneStream},
      {"r0: R1(c0), S1(c1); r1: host a", kHangs, "", kOneStream},
      // A send that is aborted is not delivered, unless it ended before.
      {"r0: S1(x), abort x; r1: R0(x)", kMayHang, "", kX},
      {"r0: S1(x), sync, abort x; r1: R0(x), sync, abort x", kOk, "", kX},
      {"r0: S1(x), sync; r1: R0(x)", kOk, "", kX},
      // The calls of other ranks keep waiting until these ranks also abort.
      {"r0: abort x; r1: AR(x)", kHangs, "", kX},
      {"r0: abort x; r1: AR(x), abort x", kNotCold, "", kX},
      {"r0: AR(x), abort x; r1: AR(x)", kMayHang, "", kX},
      {"r0: AR(x), abort x; r1: AR(x), abort x", kOk, "", kX},
      {"r0: revoke x; r1: R0(x)", kHangs, "", kX},
      {"r0: revoke x; r1: R0(x), revoke x", kNotCold, "", kX},
  });
}

TEST_CASE("runtimes: once a rank aborts a communicator, all have to", "[scenarios][cases]") {
  constexpr const char* kXY =
      "communicators: {named: {x: {group: w, creation: start}, y: {group: g}}}\n";
  constexpr const char* kXY30 =
      "communicators: {named: {x: {group: w, creation: start}, y: {group: g}}}\nnccl: 2.30\n";
  check_cases({
      {"r0: abort x; r1: destroy x", kHangs, "", kX},
      {"r0: abort x; r1: destroy x", kOk, "", kXOfOneHost},
      {"r0: abort x; r1: abort x", kOk, "", kX},
  });
  // The ranks that stay wait for the excluded one in destroy, because shrink clears the flag.
  const auto shrink = [](const std::string& end) {
    return "r2: abort x; r0-1: shrink x y, AR(y), " + end + " x";
  };
  CHECK(testing::answers(testing::Shorthand::scenario(shrink("destroy"), "g: [0, 1]", kXY)) ==
        kHangs);
  CHECK(testing::answers(testing::Shorthand::scenario(shrink("abort"), "g: [0, 1]", kXY)) == kOk);
  CHECK(testing::answers(testing::Shorthand::scenario(shrink("destroy"), "g: [0, 1]", kXY30)) ==
        kOk);
  check_cases({
      // After a revoke, destroy skips its job.
      {"r0: revoke x, destroy x; r1: revoke x", kOk, "", kX},
      // A shrink meets the ranks that stay, and waits for the calls on the parent.
      {"r0: shrink x y; r1: host a; r2: host a", kHangs, "g: [0, 1]", kXY},
      {"r0-1: shrink x y; r2: host a", kOk, "g: [0, 1]", kXY},
      {"r0: R2(x), shrink x y; r1: shrink x y; r2: host a", kHangs, "g: [0, 1]", kXY},
  });
}

TEST_CASE("runtimes: puts wait for nobody, and waits for signals count", "[scenarios][cases]") {
  constexpr const char* kSignals =
      "communicators: {creation: start, named: {s: {group: w, one_sided: on}}}\n";
  check_cases({
      {"r0: R1(s), S1(s); r1: R0(s), S0(s)", kHangs, "", kSignals},
      {"r0: S1(s), R1(s); r1: R0(s), S0(s)", kOk, "", kSignals},
      {"r0: S1(s):1GiB, R1(s); r1: S0(s):1GiB, R0(s)", kOk, "", kSignals},
      {"r0: S1:1GiB, R1; r1: S0:1GiB, R0", kHangs, "", kSignals},
      // The target makes no call while the signal arrives. Its next wait takes the signal.
      {"r0: S1(s), sync, set k; r1: get k, R0(s), sync", kOk, "", kSignals},
      {"r0: S1, sync, set k; r1: get k, R0, sync", "hang ok hang", "", kSignals},
      {"r0: S1(s), S1(s); r1: R0(s), sync", kOk, "", kSignals},
      {"r0: S1(s); r1: R0(s), R0(s), sync", kHangs, "", kSignals},
      // A stream is in order: the signal is queued behind the all_reduce.
      {"r0: R1(s), AR(t); r1: AR(t), S0(s)", kHangs, "",
       "communicators: {creation: start, named: {s: {group: w, one_sided: on, stream: nccl t}, "
       "t: {group: w}}}\n"},
  });
}

TEST_CASE("runtimes: suspend waits for the device and for all ranks", "[scenarios][cases]") {
  check_cases({
      {"r0: suspend x; r1: AR(x), sync, suspend x", kHangs, "", kX},
      {"r0: AR(x), suspend x; r1: AR(x), sync, suspend x", kOk, "", kX},
      {"r0: suspend x, resume x; r1: suspend x", kHangs, "", kX},
      {"r0: suspend x, resume x; r1: suspend x, resume x", kOk, "", kX},
      // Other streams of the device also count.
      {"r0: R1(w), suspend x; r1: suspend x, S0(w)", kHangs, "", kX},
      {"r0: R1(w), suspend x; r1: S0(w), suspend x", kOk, "", kX},
  });
}

namespace {

constexpr const char* kGloo = "backend: gloo\n";
// Communicators of one group of gloo: for calls that can end in any order.
constexpr const char* kParts =
    "communicators: {named: {a: {group: w}, b: {group: w}, c: {group: w}, t1: {group: w}, "
    "t2: {group: w}}}\n";
constexpr const char* kGlooHangs = "hang";
constexpr const char* kGlooOk = "ok";

// Checks the answer of the first reading. All readings have the same answer, because no call is
// NCCL's.
void check_gloo(const std::vector<RuntimeCase>& cases) {
  for (const RuntimeCase& each : cases) {
    INFO(each.programs << " | " << each.groups << " | " << each.top);
    const std::string all = testing::answers(
        testing::Shorthand::scenario(each.programs, each.groups, std::string(kGloo) + each.top));
    CHECK(all.substr(0, all.find(' ')) == each.answer);
  }
}

}  // namespace

TEST_CASE("runtimes: gloo's rooted collectives wait for ancestors and children",
          "[scenarios][cases]") {
  check_gloo({
      // Rank 3 is a child of rank 1 in the tree of root 0, rank 1 a child of the root.
      {"r0: B0, S3; r1: B0; r2: B0; r3: R0, B0", kGlooOk},
      {"r0: B0, S1; r1: R0, B0; r2: B0; r3: B0", kGlooHangs},
      // If a rank is missing, only its ancestors and its descendants wait.
      {"r0: B0; r1: host a; r2: B0, set k; r3: B0", kGlooHangs},
      {"r0: G0; r1: G0, S2; r2: R1, G0", kGlooOk},
      {"r0: G0, S2; r1: G0; r2: R0, G0", kGlooHangs},
      {"r0: SC0; r1: SC0, S2; r2: R1, SC0", kGlooOk},
      {"r0: SC0, S2; r1: SC0; r2: R0, SC0", kGlooHangs},
      {"r0: AR, S2; r1: AR; r2: R0, AR", kGlooHangs},
      {"r0: AR:0B, S2; r1: AR:0B; r2: R0, AR:0B", kGlooOk},
      {"r0: AG:0B, S2; r1: AG:0B; r2: R0, AG:0B", kGlooOk},
      {"r0: A2A:0B, S2; r1: A2A:0B; r2: R0, A2A:0B", kGlooHangs},
      {"r0: BAR, S2; r1: BAR; r2: R0, BAR", kGlooHangs},
  });
}

TEST_CASE("runtimes: two workers run the collectives of a gloo group", "[scenarios][cases]") {
  check_gloo({
      {"r0: iB2(a), iB0(b), w1, w2; r1: iB2(a), iB0(b), w2, S2, w1; r2: R1, B2(a), B0(b)", kGlooOk,
       "", kParts},
      // Two broadcasts from rank 2 occupy both workers of ranks 0 and 1.
      {"r0: iB2(a), iB2(b), iB0(c), w1, w2, w3; r1: iB2(a), iB2(b), iB0(c), w3, S2, w1, w2; "
       "r2: R1, B2(a), B2(b), B0(c)",
       kGlooHangs, "", kParts},
      {"r0: iB2(a), iB2(b), iB0(c), w1, w2, w3; r1: iB2(a), iB2(b), iB0(c), S2, w1, w2, w3; "
       "r2: R1, B2(a), B2(b), B0(c)",
       kGlooOk, "", kParts},
      // Groups never block each other.
      {"r0: AR(g), AR(h); r1: AR(h), AR(g)", kGlooHangs, "g: all, h: all"},
      {"r0: iAR(g), iAR(h), w, w; r1: iAR(h), iAR(g), w, w", kGlooOk, "g: all, h: all"},
      // Collectives of one number whose algorithms differ never meet.
      {"r0: AR, B0; r1: B0, AR", "mismatch"},
      {"r0: AR, B0; r1: AR, B0", kGlooOk},
  });
}

TEST_CASE("runtimes: a barrier of two threads orders their calls", "[scenarios][cases]") {
  // Each key is set by one thread of a rank and waited for by the other.
  check_gloo({
      {"r0 T1: AG, set a0, get b0; r0 T2: set b0, get a0, AR; "
       "r1 T1: AG, set a1, get b1; r1 T2: set b1, get a1, AR",
       kGlooOk},
      {"r0 T1: AG; r0 T2: AR; r1 T1: AG; r1 T2: AR", "may"},
  });
}

TEST_CASE("runtimes: gloo's messages are a rendezvous", "[scenarios][cases]") {
  check_gloo({
      {"r0: S1, R1; r1: S0, R0", kGlooHangs},
      {"r0: S1:0B, R1:0B; r1: S0:0B, R0:0B", kGlooHangs},
      {"r0: iS1(t1), R1(t2), w; r1: iS0(t2), R0(t1), w", kGlooOk, "", kParts},
      // Each tag is modeled as a communicator: asynchronous sends end in any order, blocking sends
      // only in the order of the recvs.
      {"r0: iS1(t1), iS1(t2), w, w; r1: R0(t2), R0(t1)", kGlooOk, "", kParts},
      {"r0: S1(t1), S1(t2); r1: R0(t2), R0(t1)", kGlooHangs, "", kParts},
      // A recv from any rank takes what came first.
      {"r0: Rany, R1; r1: S0; r2: S0", "may"},
      {"r0: Rany, Rany; r1: S0; r2: S0", kGlooOk},
      // A larger recv completes; a smaller one ends its process.
      {"r0: S1:4KiB, BAR; r1: R0:8KiB, BAR", "mismatch"},
  });
}

TEST_CASE("runtimes: a gloo group ends once its rank's collectives are done",
          "[scenarios][cases]") {
  check_gloo({
      {"r0: iAR, destroy w; r1: host a", kGlooHangs},
      {"r0: iAR, destroy w; r1: AR", kGlooOk},
      {"r0: iAR, destroy w, S1(g); r1: R0(g), AR", kGlooHangs, "g: all"},
      {"r0: iAR, S1(g), destroy w; r1: R0(g), AR", kGlooOk, "g: all"},
      // No rank waits for another rank's destroy.
      {"r0: AR, destroy w; r1: AR", kGlooOk},
      // A destroy does not wait for a pending send.
      {"r0: iS1, destroy w, S1(g); r1: R0(g), R0", kGlooOk, "g: all"},
      // The end of a process waits for its collectives.
      {"r0: iAR; r1: host a", kGlooHangs},
  });
}

TEST_CASE("runtimes: ranks raise if processes that they wait for have ended",
          "[scenarios][cases]") {
  const auto errors = [](const std::string& programs, const std::string& groups = {}) {
    std::string text;
    const std::string scenario =
        testing::Shorthand::scenario(programs, groups, std::string(kGloo) + kParts);
    for (const models::PeerError& error : testing::explanation_of(scenario).peer_errors) {
      const char* const words[] = {" aborts", " raises", " may raise"};
      text += (text.empty() ? "r" : ", r") + std::to_string(error.rank) +
              words[static_cast<int>(error.kind)];
    }
    return text;
  };
  // Measured with torch 2.13, each program with five ranks or fewer.
  for (const std::string all : {"AR", "AG", "RS", "RD0", "BAR(a)", "A2A"}) {
    INFO(all);
    CHECK(errors("r0: host a; r1-4: " + all) == "r1 raises, r2 raises, r3 raises, r4 raises");
    CHECK(errors("r0-2,r4: " + all + "; r3: host a") ==
          "r0 raises, r1 raises, r2 raises, r4 raises");
  }
  CHECK(errors("r1-4: B0; r0: host a") == "r1 raises, r2 raises, r3 raises, r4 raises");
  CHECK(errors("r0,r2-4: B0; r1: host a") == "r0 raises, r3 raises");
  CHECK(errors("r0-2,r4: B0; r3: host a") == "r1 raises");
  CHECK(errors("r0,r2-4: G0; r1: host a") == "r0 raises");
  CHECK(errors("r0,r2-4: SC0; r1: host a") == "r0 raises");
  CHECK(errors("r0: host a; r1-4: G0") == "r1 raises, r2 raises, r3 raises, r4 raises");
  // Rank 2 lives and does not call: of the others, 1 and 3 hang in an all_reduce, 4 raises.
  CHECK(errors("r0: host a; r2: get k; r1,r3-4: AR") == "r1 may raise, r3 may raise, r4 may raise");
  CHECK(errors("r0: get k; r1-4: AR").empty());
  // Messages: rank 1's error ends its process, so rank 2 raises, too.
  CHECK(errors("r0: host a; r1: R0; r2: S1") == "r1 raises, r2 raises");
  CHECK(errors("r0: S1, R1; r1: S0, R0").empty());
  // A process waits for its pending collectives, also after an error.
  CHECK(errors("r0: host a; r1: iAR(g), R0; r2: R1; r3: get k", "g: [1, 3]") == "r1 raises");
  CHECK(errors("r0: host a; r1: iAR, R2(g); r2: AR", "g: [1, 2]") == "r2 raises, r1 raises");
  // Rank 1 waits for rank 0 and for its child 3. Which of both comes first is not modeled.
  CHECK(errors("r0: host a; r1: B0; r2-3: AR(g)", "g: [1, 2, 3]") == "r1 may raise");
  // No end of a process ends a recv from any rank, a new_group or a get.
  CHECK(errors("r0: host a; r1: host a; r2: Rany").empty());
  CHECK(errors("r0: host a; r1-2: create w").empty());
  // An error in one of several threads ends its process if it is the main thread's.
  CHECK(errors("r0: host a; r1 T1: R0; r1 T2: get k") == "r1 may raise");
  // A message that is too large for its recv.
  CHECK(errors("r0: S1:8KiB; r1: R0:4KiB; r2: R1") == "r1 aborts, r2 raises");
  CHECK(errors("r0: S1:4KiB; r1: R0:8KiB; r2: R1") == "r2 raises");
}

TEST_CASE("runtimes: the backends of a mixed group do not know each other", "[scenarios][cases]") {
  constexpr const char* kMixed =
      "communicators: {creation: start, named: {n: {group: w}, "
      "g: {group: w, gloo: on}}}\nreading: real\n";
  check_cases({
      // Unless a host waits, gloo's barrier and NCCL's call have no order.
      {"r0: AR(n), sync, BAR(g); r1: BAR(g), AR(n)", kHangs, "", kMixed},
      {"r0: AR(n), BAR(g); r1: BAR(g), AR(n)", kNotCold, "", kMixed},
      // A barrier is a call of NCCL if the group has `device_id=`.
      {"r0: AR(n), BAR(n); r1: BAR(n), AR(n)", "mismatch mismatch mismatch", "",
       "backend: nccl2\ndevice_id: on\ncommunicators: {named: {n: {group: w}}}\n"},
  });
}

TEST_CASE("runtimes: keys of the store", "[scenarios][cases]") {
  check_gloo({
      {"r0: set k; r1: get k", kGlooOk},
      {"r0: set k1; r1: get k2", kGlooHangs},
      // A barrier of the store adds to a counter, and waits until all ranks have added.
      {"r0-2: set b, get b:3", kGlooOk},
      {"r0-1: set b, get b:3; r2: host a", kGlooHangs},
      // A rank that comes again counts twice, and lets the others pass.
      {"r0: set b, set b, get b:3; r1: set b, get b:3; r2: host a", kGlooOk},
      {"r0: get k, set j; r1: get j, set k", kGlooHangs},
      {"r0: set j, get k; r1: get j, set k", kGlooOk},
      // One client makes one call at a time, so a set of another thread waits for a get.
      {"r0 T1: lock store, get k, unlock store; r0 T2: host a, lock store, set k, unlock store",
       "may"},
      {"r0 T1: lock store, get k, unlock store; r0 T2: lock clone, set k, unlock clone", kGlooOk},
  });
}
