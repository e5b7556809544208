#include "viz/report/wait_words.hpp"

#include <set>
#include <string>
#include <string_view>

#include "tests/support/catch.hpp"

namespace sim = pipesim::sim;
namespace viz = pipesim::viz;
using pipesim::models::Wait;
using sim::WaitNodeKind;

namespace {

Wait wait_of(sim::WaitKind kind, WaitNodeKind target) {
  Wait wait;
  wait.kind = kind;
  wait.from.op.name = "waiter";
  wait.to.kind = target;
  wait.to.rank = 1;
  wait.to.op.name = "target";
  wait.to.op.rank = 1;
  return wait;
}

bool has_gap(std::string_view text) { return text.find_first_of("{}") != std::string_view::npos; }

}  // namespace

TEST_CASE("each kind of wait has its own label", "[viz][words]") {
  std::set<std::string_view> labels;
  for (const sim::WaitKindFacts& row : sim::kWaitKinds) {
    CHECK(labels.insert(viz::kind_label(row.kind)).second);
  }
}

TEST_CASE("sentences about all kinds of waits have no gaps", "[viz][words]") {
  for (const sim::WaitKindFacts& row : sim::kWaitKinds) {
    for (const WaitNodeKind target :
         {WaitNodeKind::kOp, WaitNodeKind::kRank, WaitNodeKind::kOutside}) {
      const Wait wait = wait_of(row.kind, target);
      INFO(row.name << " for a node of kind " << static_cast<int>(target));
      const std::string text = viz::wait_text(wait);
      CHECK_FALSE(text.empty());
      CHECK_FALSE(has_gap(text));
      CHECK(viz::wait_predicate(wait).ends_with(text));
      CHECK_FALSE(has_gap(viz::edge_text(wait)));
      if (target == WaitNodeKind::kOp) continue;
      const std::string root = viz::root_text(wait, {"rank 1", true, "rank 0's waiter", ""});
      CHECK_FALSE(root.empty());
      CHECK_FALSE(has_gap(root));
      if (viz::names_waiter(wait)) CHECK(root.find("rank 0's waiter") != std::string::npos);
    }
    CHECK_FALSE(viz::root_label(wait_of(row.kind, WaitNodeKind::kRank)).empty());
  }
}

TEST_CASE("a sentence about several ranks is in the plural", "[viz][words]") {
  const Wait wait = wait_of(sim::WaitKind::kPeerOfCollective, WaitNodeKind::kRank);
  CHECK(viz::root_text(wait, {"rank 1", true, "", " (train.py:66)"}) ==
        "rank 1 never calls waiter (train.py:66)");
  CHECK(viz::root_text(wait, {"ranks 1 and 2", false, "", ""}) ==
        "ranks 1 and 2 never call waiter");
  const Wait dead = wait_of(sim::WaitKind::kDeadRank, WaitNodeKind::kRank);
  CHECK(viz::root_text(dead, {"rank 1", true, "", ""}) == "rank 1 is dead");
  CHECK(viz::root_text(dead, {"ranks 1 and 2", false, "", ""}) == "ranks 1 and 2 are dead");
}
