// The engine against the twin: two implementations of docs/rules.md that share no code must agree
// on random plans, in every time, every wait and the fingerprint. twin_by_hand_test.cpp says why
// the twin can be trusted.
//
// PIPESIM_TWIN_PLANS and PIPESIM_TWIN_FIRST_SEED choose other plans, for a long run or to repeat
// one: PIPESIM_TWIN_FIRST_SEED=123 PIPESIM_TWIN_PLANS=1.
#include "tests/twin/twin.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "sim/wait_graph.hpp"
#include "tests/support/catch.hpp"
#include "tests/twin/random_spec.hpp"
#include "tests/twin/to_plan.hpp"

namespace pipesim::twin {
namespace {

constexpr std::uint64_t kPlans = 50000;
constexpr std::uint64_t kFirstSeed = 1;
constexpr std::size_t kDifferencesShown = 12;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// The engine's answer in the twin's words ---------------------------------------------------------

int number(std::uint32_t value) { return static_cast<int>(value); }

Node node_of(const sim::WaitNode& node) {
  switch (node.kind) {
    case sim::WaitNodeKind::kAct:
      return act_node({number(node.actor.value), number(node.k)});
    case sim::WaitNodeKind::kRank:
      return rank_node(number(node.rank.value));
    case sim::WaitNodeKind::kOutside:
      break;
  }
  return outside_node();
}

Wait kind_of(sim::WaitKind kind) {
  switch (kind) {
    case sim::WaitKind::kStreamOrder:
      return Wait::kStreamOrder;
    case sim::WaitKind::kData:
      return Wait::kData;
    case sim::WaitKind::kCreditData:
      return Wait::kCreditData;
    case sim::WaitKind::kCreditControl:
      return Wait::kCreditControl;
    case sim::WaitKind::kPeerOfCollective:
      return Wait::kPeerOfCollective;
    case sim::WaitKind::kCommunicatorCreation:
      return Wait::kCommunicatorCreation;
    case sim::WaitKind::kLaunchQueue:
      return Wait::kLaunchQueue;
    case sim::WaitKind::kHostWait:
      return Wait::kHostWait;
    case sim::WaitKind::kOutsideInput:
      break;
  }
  return Wait::kOutsideInput;
}

Times times_of(const sim::Outcome& outcome, Act act) {
  const std::uint64_t first =
      outcome.first_act[sim::ActorId{static_cast<std::uint32_t>(act.actor)}];
  const sim::ActTimes& times = outcome.act_times.at(first + static_cast<std::uint64_t>(act.k));
  return {times.launch.ns, times.start.ns, times.end.ns};
}

/// The engine's run, and the edges that it reports more than once.
struct Answer {
  Result result;
  std::vector<WaitEdge> repeated;
};

WaitEdges waits_of(const sim::WaitGraph& graph, std::vector<WaitEdge>& repeated) {
  WaitEdges waits;
  std::vector<bool> has_edge(graph.nodes.size());
  for (const sim::WaitEdge& edge : graph.edges) {
    has_edge.at(edge.from) = has_edge.at(edge.to) = true;
    const WaitEdge in_words{node_of(graph.nodes.at(edge.from)), node_of(graph.nodes.at(edge.to)),
                            kind_of(edge.kind)};
    if (!waits.emplace(in_words, edge.any_set != 0).second) repeated.push_back(in_words);
  }
  CHECK(std::find(has_edge.begin(), has_edge.end(), false) == has_edge.end());
  return waits;
}

Answer answer_of_engine(const Spec& spec) {
  const sim::Plan plan = to_plan(spec);
  const sim::Outcome outcome = sim::run(plan, {.keep_act_times = true});
  Answer answer;
  Result& result = answer.result;
  REQUIRE((outcome.end == sim::RunEnd::kCompleted || outcome.end == sim::RunEnd::kStuck));
  result.end = outcome.end == sim::RunEnd::kCompleted ? End::kCompleted : End::kStuck;
  result.verdict = Verdict::kCompleted;
  if (result.end == End::kStuck) {
    result.waits = waits_of(sim::wait_graph(plan, outcome.state), answer.repeated);
    result.verdict = has_cycle(result.waits) ? Verdict::kDeadlock : Verdict::kStarved;
  }
  result.last_progress = outcome.last_progress.ns;
  result.acts_done = static_cast<std::int64_t>(outcome.acts_done);
  for (int a = 0; a < count_of(spec.actors); ++a) {
    for (int k = 0; k < at(spec.actors, a).acts; ++k) {
      result.times[{a, k}] = times_of(outcome, {a, k});
    }
  }
  result.fingerprint = outcome.fingerprint.value(static_cast<sim::Verdict>(result.verdict));
  return answer;
}

// Differences -------------------------------------------------------------------------------------

class Differences {
 public:
  template <typename T>
  void compare(const std::string& what, const T& engine, const T& twin) {
    if (engine == twin) return;
    std::ostringstream line;
    line << what << ": engine " << engine << ", twin " << twin;
    lines_.push_back(line.str());
  }

  void note(const std::string& line) { lines_.push_back(line); }

  bool empty() const { return lines_.empty(); }

  std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < lines_.size() && i < kDifferencesShown; ++i) {
      all += lines_[i] + '\n';
    }
    if (lines_.size() > kDifferencesShown) all += "and more\n";
    return all;
  }

 private:
  std::vector<std::string> lines_;
};

std::string text(const Times& times) {
  return std::to_string(times.launch) + '/' + std::to_string(times.start) + '/' +
         std::to_string(times.end);
}

void compare_waits(const WaitEdges& engine, const WaitEdges& twin, Differences& differences) {
  for (const auto& [edge, any] : twin) {
    const auto found = engine.find(edge);
    if (found == engine.end()) {
      differences.note("only the twin has " + text(edge));
    } else if (found->second != any) {
      differences.note(std::string(any ? "only the twin" : "only the engine") +
                       " has in an ANY set " + text(edge));
    }
  }
  for (const auto& [edge, any] : engine) {
    if (!twin.contains(edge)) differences.note("only the engine has " + text(edge));
  }
}

Differences differences_of(const Spec& spec, const Answer& answer, const Result& twin) {
  const Result& engine = answer.result;
  Differences differences;
  differences.compare("end", static_cast<int>(engine.end), static_cast<int>(twin.end));
  differences.compare("verdict", static_cast<int>(engine.verdict), static_cast<int>(twin.verdict));
  differences.compare("last progress", engine.last_progress, twin.last_progress);
  differences.compare("acts done", engine.acts_done, twin.acts_done);
  for (int a = 0; a < count_of(spec.actors); ++a) {
    for (int k = 0; k < at(spec.actors, a).acts; ++k) {
      const Act act{a, k};
      differences.compare("times of " + text(act_node(act)), text(times_of(engine, act)),
                          text(times_of(twin, act)));
    }
  }
  compare_waits(engine.waits, twin.waits, differences);
  for (const WaitEdge& edge : answer.repeated) {
    differences.note("the engine repeats " + text(edge));
  }
  differences.compare("fingerprint", engine.fingerprint, twin.fingerprint);
  return differences;
}

// Statistics --------------------------------------------------------------------------------------

/// What a plan and its run contain, of the things that must not be missing among the plans.
std::set<std::string> features_of(const Spec& spec, const Result& result) {
  std::set<std::string> found;
  for (const Actor& actor : spec.actors) {
    found.insert("actor: " + actor.kind);
    if (actor.blocking) found.insert("blocking");
    if (!actor.immediate) found.insert("gated");
    if (actor.launch_overhead > 0) found.insert("launch overhead");
    if (actor.outside.waits) found.insert("outside input");
    if (actor.outside.waits && actor.outside.items < actor.acts) found.insert("too few items");
    if (actor.takes == 0) found.insert("takes no time");
    found.insert(at(spec.threads, actor.thread).program ? "order program" : "order arrival");
    if (at(spec.streams, actor.stream).launch_queue <= 3) found.insert("launch queue");
  }
  for (const Register& reg : spec.registers) {
    if (reg.in_place >= 0) found.insert("in place");
    if (reg.acts_per_slot > 1) found.insert("several acts fill a slot");
    if (reg.drain_every > 0) found.insert("drain");
    if (reg.control) found.insert("control");
  }
  for (const Edge& edge : spec.edges) {
    if (edge.acts_per_slot > 1) found.insert("several acts take a slot");
  }
  for (const Communicator& communicator : spec.communicators) {
    if (communicator.at_first_use) found.insert("creation at first use");
    if (communicator.waits_for_device) found.insert("creation waits for devices");
  }
  for (const Collective& collective : spec.collectives) {
    for (const Member& member : collective.members) {
      if (member.actor < 0) found.insert("member that never comes");
    }
  }
  for (const auto& [edge, any] : result.waits) {
    const std::string line = twin::text(edge);
    found.insert("wait:" + line.substr(line.rfind(':') + 1));
    if (any) found.insert("any set");
  }
  return found;
}

const std::vector<std::string> kFrequent = {
    "actor: plain",
    "actor: source",
    "actor: outside",
    "actor: repeat",
    "actor: accumulate",
    "actor: unpack",
    "actor: zeros",
    "actor: buffer",
    "actor: copy",
    "actor: in place",
    "actor: collective",
    "blocking",
    "gated",
    "launch overhead",
    "outside input",
    "too few items",
    "takes no time",
    "order program",
    "order arrival",
    "launch queue",
    "in place",
    "several acts fill a slot",
    "several acts take a slot",
    "drain",
    "control",
    "creation at first use",
    "creation waits for devices",
    "member that never comes",
    "wait: stream order",
    "wait: data",
    "wait: credit (data)",
    "wait: credit (control)",
    "wait: peer of a collective",
    "wait: communicator creation",
    "wait: launch queue",
    "wait: host wait",
    "wait: outside input",
};

/// Rare ways of the rules, which a few plans must take all the same.
const std::vector<std::string> kRare = {
    "any set",
    "3.3 second thread of a rank",
    "3.3 no device to wait for",
    "3.3 waits for devices",
    "3.4 blocked by a place that is kept",
    "4.4 in place: inbox of its own thread",
    "4.4 in place: stream is empty",
    "4.4 in place: mark",
    "7 act beyond its work",
    "7 creation waits for a mark",
    "7 data is unread",
    "7 acknowledgement is unread",
    "7 drain",
    "7 in place: through the register that reuses it",
    "7 in place: mark stands in the stream",
    "7 in place: unread",
    "7 program blocked in another act",
};

}  // namespace

TEST_CASE("the engine and the twin agree on random plans", "[twin]") {
  const std::uint64_t first = from_environment("PIPESIM_TWIN_FIRST_SEED", kFirstSeed);
  const std::uint64_t plans = from_environment("PIPESIM_TWIN_PLANS", kPlans);
  for (std::uint64_t seed = first; seed < first + plans; ++seed) {
    INFO("seed " << seed);
    const Spec spec = random_spec(seed);
    const Differences differences = differences_of(spec, answer_of_engine(spec), simulate(spec));
    if (!differences.empty()) {
      FAIL(text(spec) << '\n' << differences.text());
    }
  }
  SUCCEED();
}

TEST_CASE("the random plans hang often, and in every way there is", "[twin]") {
  std::uint64_t hung = 0;
  std::uint64_t completed = 0;
  std::map<std::string, int> plans_with;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kPlans; ++seed) {
    const Spec spec = random_spec(seed);
    const Result result = simulate(spec);
    ++(result.end == End::kStuck ? hung : completed);
    for (const std::string& feature : features_of(spec, result)) ++plans_with[feature];
    for (const std::string& branch : result.branches) ++plans_with[branch];
  }
  CHECK(hung * 4 >= kPlans);
  CHECK(completed * 4 >= kPlans);
  for (const std::string& feature : kFrequent) {
    INFO(feature);
    CHECK(plans_with[feature] >= 100);
  }
  for (const std::string& branch : kRare) {
    INFO(branch);
    CHECK(plans_with[branch] >= 5);
  }
}

}  // namespace pipesim::twin
