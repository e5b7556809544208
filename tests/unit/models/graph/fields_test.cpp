#include "models/graph/fields.hpp"

#include <optional>
#include <string>
#include <vector>

#include "models/graph/graph_edit.hpp"
#include "models/graph/keep_ranks.hpp"
#include "models/graph/parts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

namespace pipesim::models {

/// A struct with a member of each kind.
struct AllKinds {
  bool truth = false;
  std::int64_t number = 1;
  std::optional<std::int64_t> limit;
  std::uint32_t stream = kNoIndex;
  std::vector<std::uint32_t> links;
  ShortList<std::uint32_t> streams;
  Expr takes;
  Boxed<Expr> bytes;
  UsualExpr<0> drain;
  UsualExpr<1> rate;
  std::string what;
  ShortList<std::string> names;
  RankSet on;
  bool second = false;
  std::optional<Algorithm> algorithm;

  friend bool operator==(const AllKinds&, const AllKinds&) = default;
};

template <>
inline constexpr Field<AllKinds> kFields<AllKinds>[] = {
    {"truth", on_off(&AllKinds::truth)},
    {"number", integer(&AllKinds::number, "integer 1..64")},
    {"limit", timeout(&AllKinds::limit)},
    {"stream", ref(&AllKinds::stream, To::kStream)},
    {"links", ref(&AllKinds::links, To::kLink)},
    {"streams", ref(&AllKinds::streams, To::kStream)},
    {"takes", time_by_rank(&AllKinds::takes)},
    {"bytes", size_by_rank(&AllKinds::bytes)},
    {"drain", integer_by_rank(&AllKinds::drain)},
    {"rate", integer_by_rank(&AllKinds::rate)},
    {"what", text(&AllKinds::what)},
    {"names", tensors(&AllKinds::names)},
    {"on", ranks(&AllKinds::on)},
    {"second", words<&AllKinds::second>("'first'|'second'")},
    {"algorithm", words<&AllKinds::algorithm>("algorithm", kAlgorithms)},
};
static_assert(describes_all<AllKinds>(0));
static_assert(!describes_all<AllKinds>(1));

}  // namespace pipesim::models

using namespace pipesim;
using namespace pipesim::models;

namespace {

// Returns an object in which each member differs from its default.
AllKinds changed() {
  AllKinds it;
  it.truth = true;
  it.number = 2;
  it.limit = 0;
  it.stream = 3;
  it.links = {1};
  it.streams = {3, 4};
  it.takes = Expr::rank();
  it.bytes = Expr::constant(0);
  it.drain = Expr::constant(1);
  it.rate = Expr::constant(0);
  it.what = "x";
  it.names = {"t"};
  it.on = RankSet::range(0, 2);
  it.second = true;
  it.algorithm = Algorithm::kRing;
  return it;
}

}  // namespace

TEST_CASE("a field of each kind is compared and reset alone", "[models][fields]") {
  const AllKinds plain;
  const AllKinds all = changed();
  for (const Field<AllKinds>& field : kFields<AllKinds>) {
    INFO(field.name);
    CHECK_FALSE(same(field, all, plain));
    AllKinds one = all;
    reset(field, one, plain);
    CHECK(same(field, one, plain));
    for (const Field<AllKinds>& other : kFields<AllKinds>) {
      if (&other != &field) CHECK(same(other, one, all));
    }
    reset(field, one, all);
    CHECK(one == all);
  }
}

TEST_CASE("a walk visits each member once, and stores changed words", "[models][fields]") {
  AllKinds it = changed();
  std::size_t visits = 0;
  for (const Field<AllKinds>& field : kFields<AllKinds>) {
    visit_member(field, it, [&](auto& member) {
      ++visits;
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Word>) {
        member.index = field.name == "second" ? 0 : -1;
      }
    });
  }
  CHECK(visits == std::size(kFields<AllKinds>));
  CHECK_FALSE(it.second);
  CHECK_FALSE(it.algorithm);
}

TEST_CASE("references, expressions and sets of ranks are found by their rows", "[models][fields]") {
  AllKinds it = changed();
  for_each_ref(it, To::kStream, [](std::uint32_t& index) { index += 10; });
  CHECK(it.stream == 13);
  CHECK(it.streams == ShortList<std::uint32_t>{13, 14});
  CHECK(it.links == std::vector<std::uint32_t>{1});
  std::string names;
  for_each_expr(it, [&](Expr& expr, const auto& field) {
    names += std::string(field.name) + " ";
    expr = Expr::constant(7);
  });
  CHECK(names == "takes bytes drain rate ");
  CHECK(it.takes == Expr::constant(7));
  CHECK(*it.bytes == Expr::constant(7));
  CHECK(it.drain == UsualExpr<0>(Expr::constant(7)));
  CHECK(it.rate == UsualExpr<1>(Expr::constant(7)));
  std::size_t sets = 0;
  for_each_rank_set(it, [&](const RankSet& set) { sets += set.size(); });
  CHECK(sets == 2);
}

TEST_CASE("the type of an integer has its limits", "[models][fields]") {
  static_assert(Integer("integer 1..64").least == 1 && Integer("integer 1..64").most == 64);
  static_assert(Integer("integer 2..").least == 2);
  static_assert(Integer("integer 2..").most == std::numeric_limits<std::int64_t>::max());
  static_assert(Integer("integer").least == 0);
  static_assert(Integer("integer 1..", 8).most == 8);
  CHECK(word_at("'a'|'b c'|'d'", 0) == "a");
  CHECK(word_at("'a'|'b c'|'d'", 1) == "b c");
  CHECK(word_at("'a'|'b c'|'d'", 2) == "d");
}

TEST_CASE("things without a reference are dropped, and references follow", "[models][parts]") {
  TaskGraph graph = testing::scenario_of(R"(
schema: 1
ranks: 2
groups: {spare: all, g: all}
streams: {idle: {thread: ~}, s: {thread: ~}, t: {thread: ~}}
communicators: {named: {unused: {group: spare}, c: {group: g, stream: t}}}
locks: [none, mutex]
programs: {do: [{lock: mutex}, {compute: f, stream: s, behind: t}, {all_reduce: c}, {synchronize: [s]}, {unlock: mutex}]}
)")
                        .graph;
  for (const To to : {To::kCommunicator, To::kGroup, To::kStream, To::kLock}) {
    drop_unused(graph, to);
  }
  CHECK(names_of(graph, To::kCommunicator) == std::vector<std::string>{"c"});
  CHECK(names_of(graph, To::kGroup) == std::vector<std::string>{"g"});
  CHECK(names_of(graph, To::kStream) == std::vector<std::string>{"s", "t"});
  CHECK(names_of(graph, To::kLock) == std::vector<std::string>{"mutex"});
  CHECK(graph.communicators[0].group == 0);
  CHECK(graph.communicators[0].stream == 1);
  CHECK(graph.actors[1].stream == 0);
  CHECK(graph.actors[1].behind == 1);
  CHECK(graph.actors[2].step->calls.front().communicator == 0);
  CHECK(graph.actors[3].step->streams == ShortList<std::uint32_t>{0});
  CHECK(graph.actors[4].step->lock == 0);
  CHECK(find_thing(graph, To::kStream, "t") == 1);
  CHECK(find_thing(graph, To::kStream, "idle") == kNoIndex);
  CHECK(count_of(graph, To::kLink) == 0);  // no cluster
}

TEST_CASE("the CTAs of a step follow the new numbers of the ranks", "[models][parts]") {
  TaskGraph graph =
      testing::scenario_of("schema: 1\nranks: 4\nprograms: {do: [{compute: f, ctas: rank + 4}]}\n")
          .graph;
  const RankSet kept({1, 3});
  keep_ranks(graph, kept);
  const auto renumbered = renumbered_ranks(graph, kept);
  REQUIRE(renumbered);
  CHECK(renumbered->actors[0].step->ctas->value(0) == 5);
  CHECK(renumbered->actors[0].step->ctas->value(1) == 7);
}
