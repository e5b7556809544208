// Merged slices of a page that has no space for each op.
#include "viz/page/slice_parts.hpp"

#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;
using models::Slice;
using models::WorkKind;

namespace {

Slice slice(std::int64_t begin, std::int64_t end, WorkKind kind, bool done = true) {
  Slice result;
  result.kind = kind;
  result.done = done;
  result.begin_ns = begin;
  result.work_ns = begin;
  result.end_ns = end;
  return result;
}

}  // namespace

TEST_CASE("few slices are parts by themselves", "[viz][html]") {
  const Slice a = slice(0, 10, WorkKind::kForward);
  const Slice b = slice(10, 15, WorkKind::kBackward);
  const std::vector<viz::SlicePart> parts = viz::slice_parts({&a, &b}, 2);
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].first == &b);
  CHECK(parts[1].count == 1);
  CHECK(parts[1].end_ns == 15);
  CHECK(viz::slice_parts({}, 2).empty());
}

// The time has two windows, from 0 to 50 ns and from 50 to 100 ns. In the first window, forwards
// take 20 of 35 ns.
TEST_CASE("a part looks like what takes most of its time", "[viz][html]") {
  const Slice a = slice(0, 10, WorkKind::kForward);
  const Slice b = slice(10, 25, WorkKind::kBackward);
  const Slice c = slice(25, 35, WorkKind::kForward);
  const Slice d = slice(90, 95, WorkKind::kBackward);
  const Slice open = slice(95, 100, WorkKind::kBackward, false);
  const std::vector<viz::SlicePart> parts = viz::slice_parts({&a, &b, &c, &d, &open}, 2);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].first == &a);
  CHECK(parts[0].count == 3);
  CHECK(parts[0].end_ns == 35);
  CHECK(parts[0].looks_like->kind == WorkKind::kForward);
  CHECK(parts[1].first == &d);
  CHECK(parts[1].count == 1);
  CHECK(parts[2].first == &open);
}
