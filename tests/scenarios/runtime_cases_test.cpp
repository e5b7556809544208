// Cases of the rules of runtimes, in a shorthand (tests/support/shorthand.hpp), each with the
// answer of `check` and next to a control that differs in one step. The expectations follow from
// the documented rules and from real gloo (torch 2.13) by hand.
#include <string>
#include <vector>

#include "tests/support/answers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shorthand.hpp"

using namespace pipesim;

namespace {

struct Case {
  const char* programs;
  const char* answer;
  const char* groups = "";
  const char* top = "";
};

void check_cases(const std::vector<Case>& cases, const std::string& top = {}) {
  for (const Case& each : cases) {
    INFO(each.programs << " | " << each.groups << " | " << each.top);
    CHECK(testing::answers(testing::Shorthand::scenario(each.programs, each.groups,
                                                        top + each.top)) == each.answer);
  }
}

constexpr const char* kOk = "ok ok ok";
constexpr const char* kHangs = "hang hang hang";
constexpr const char* kMayHang = "may may may";
// A first use blocks the host, so it cannot get to its abort.
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
      // A destroy after a finalize skips the job, so it waits for nobody.
      {"r0: finalize x, destroy x; r1: finalize x", kOk, "", kX},
      {"r0: finalize x, destroy x; r1: destroy x", kOk, "", kX},
      // Both wait for the rank's own calls.
      {"r0: AR(x), destroy x, set k; r1: get k, AR(x), destroy x", kHangs, "", kXOfOneHost},
      {"r0: AR(x), set k, destroy x; r1: get k, AR(x), destroy x", kNotCold, "", kXOfOneHost},
      {"r0: AR(x), finalize x, set k; r1: get k, AR(x)", kHangs, "", kXOfOneHost},
  });
}

TEST_CASE("runtimes: an abort ends calls, and waits for what precedes them in their streams",
          "[scenarios][cases]") {
  check_cases({
      // The other communicator's recv is in the way of the send that is aborted first.
      {"r0: R1(c0), S1(c1), abort c1, abort c0; r1: host a", kHangs, "", kOneStream},
      {"r0: R1(c0), S1(c1), abort c0, abort c1; r1: host a", kNotCold, "", kOneStream},
      {"r0: R1(c0), S1(c1), abort c1+c0; r1: host a", kNotCold, "", kOneStream},
      {"r0: R1(c0), S1(c1); r1: host a", kHangs, "", kOneStream},
      // A send that is aborted is not delivered, unless it ended before.
      {"r0: S1(x), abort x; r1: R0(x)", kMayHang, "", kX},
      {"r0: S1(x), sync, abort x; r1: R0(x), sync, abort x", kOk, "", kX},
      {"r0: S1(x), sync; r1: R0(x)", kOk, "", kX},
      // The calls of other ranks go on waiting until these ranks abort, too.
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

TEST_CASE("runtimes: suspend waits for the device and for all ranks", "[scenarios][cases]") {
  check_cases({
      {"r0: suspend x; r1: AR(x), sync, suspend x", kHangs, "", kX},
      {"r0: AR(x), suspend x; r1: AR(x), sync, suspend x", kOk, "", kX},
      {"r0: suspend x, resume x; r1: suspend x", kHangs, "", kX},
      {"r0: suspend x, resume x; r1: suspend x, resume x", kOk, "", kX},
      // Other streams of the device count, too.
      {"r0: R1(w), suspend x; r1: suspend x, S0(w)", kHangs, "", kX},
      {"r0: R1(w), suspend x; r1: S0(w), suspend x", kOk, "", kX},
  });
}
