#include "features/fix/fix_candidates.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "models/graph/graph_edit.hpp"

namespace pipesim::models {
namespace {

using Kind = Change::Kind;

constexpr std::int64_t kMaxDoublings = 1 << 12;    // largest factor for a size
constexpr std::int64_t kMaxNumberFactor = 1 << 6;  // largest factor for a parameter
constexpr std::int64_t kMaxOrderSlots = 4;

class Candidates {
 public:
  Candidates(const TaskGraph& graph, const Lowered& lowered, const Explanation& explanation)
      : graph_(graph), lowered_(lowered), explanation_(explanation) {}

  std::vector<Candidate> run();

 private:
  void add(Change change, std::int64_t most = 0, bool doubling = false);
  void add(Candidate candidate);
  std::uint32_t template_of(const WaitParty& party) const;
  const ActorTemplate* actor_of(const WaitParty& party) const;
  void add_streams(std::uint32_t index);
  void add_stream(const ActorTemplate& actor, std::uint32_t stream);
  void add_slots(const Wait& wait);
  void add_fewer_slots(const WaitParty& party);
  void add_init();
  void add_buffering(const ActorTemplate& step, std::uint32_t rank);
  void add_slots();
  void add_launch_queue();
  void add_orders();
  void add_order(std::uint32_t first, std::uint32_t second);
  void add_after(std::uint32_t first, std::uint32_t second);
  RankSet ranks_at(Place place) const;
  std::string stream_name(std::uint32_t stream) const {
    return stream == kNoIndex ? std::string() : graph_.streams[stream].name;
  }

  const TaskGraph& graph_;
  const Lowered& lowered_;
  const Explanation& explanation_;
  std::vector<Candidate> result_;
};

void Candidates::add(Change change, std::int64_t most, bool doubling) {
  Candidate candidate{std::move(change), most};
  candidate.doubling = doubling;
  add(std::move(candidate));
}

void Candidates::add(Candidate candidate) {
  const bool known = std::any_of(result_.begin(), result_.end(),
                                 [&](const Candidate& c) { return c.change == candidate.change; });
  if (!known) result_.push_back(std::move(candidate));
}

std::uint32_t Candidates::template_of(const WaitParty& party) const {
  return party.kind == sim::WaitNodeKind::kOp ? lowered_.actor_template[party.op.actor] : kNoIndex;
}

const ActorTemplate* Candidates::actor_of(const WaitParty& party) const {
  const std::uint32_t index = template_of(party);
  return index == kNoIndex ? nullptr : &graph_.actors[index];
}

void Candidates::add_stream(const ActorTemplate& actor, std::uint32_t stream) {
  if (stream == actor.stream) return;
  Change change;
  change.kind = Kind::kStream;
  change.what = actor.name;
  change.from = stream_name(actor.stream);
  change.to = stream_name(stream);
  add(std::move(change));
}

// Tries to move a blocking or blocked actor to the streams of its readers or sources, or to its own
// stream.
void Candidates::add_streams(std::uint32_t index) {
  if (index == kNoIndex) return;
  const ActorTemplate& actor = graph_.actors[index];
  if (actor.step || actor.stream == kNoIndex) return;
  for (const std::uint32_t stream : streams_fed_by(graph_, index)) {
    if (stream != kNoIndex) add_stream(actor, stream);
  }
  for (const ReadTemplate& read : actor.reads) {
    const std::uint32_t stream = graph_.actors[read.actor].stream;
    if (stream != kNoIndex) add_stream(actor, stream);
  }
  add_stream(actor, kNoIndex);
}

void Candidates::add_slots(const Wait& wait) {
  const ActorTemplate* actor = actor_of(wait.from);
  if (actor == nullptr || actor->step) return;
  for (const RegisterTemplate& reg : actor->registers) {
    if (reg.name != wait.reg) continue;
    Change change;
    change.kind = Kind::kSlots;
    change.what = actor->name;
    change.part = reg.name;
    change.before = reg.slots.value(wait.from.rank).value_or(1);
    change.number = change.before + 1;
    // Slots beyond the number of ops that fill the register never help.
    const std::int64_t ops = lowered_.plan.actors[wait.from.op.actor].ops;
    if (ops > change.before) add(std::move(change), ops);
  }
}

// Tries fewer slots: the actor then runs less far ahead and blocks other actors less.
void Candidates::add_fewer_slots(const WaitParty& party) {
  const ActorTemplate* actor = actor_of(party);
  if (actor == nullptr || actor->step) return;
  for (const RegisterTemplate& reg : actor->registers) {
    Candidate fewer;
    fewer.change.kind = Kind::kSlots;
    fewer.change.what = actor->name;
    fewer.change.part = reg.name;
    fewer.change.before = reg.slots.value(party.rank).value_or(1);
    fewer.change.number = fewer.least = 1;
    if (fewer.change.before > 1) add(std::move(fewer));
  }
}

void Candidates::add_init() {
  Change change;
  change.kind = Kind::kInit;
  add(std::move(change));
}

// Returns the step's only call, if this call is a send or recv.
const CallTemplate* message_of(const ActorTemplate* actor) {
  if (actor == nullptr || !actor->step || actor->step->calls.size() != 1) return nullptr;
  const CallTemplate& call = actor->step->calls.front();
  return call.kind == sim::CallKind::kSend || call.kind == sim::CallKind::kReceive ? &call
                                                                                   : nullptr;
}

void Candidates::add_buffering(const ActorTemplate& step, std::uint32_t rank) {
  const CallTemplate* call = message_of(&step);
  if (call == nullptr || call->communicator == kNoIndex) return;
  const CommunicatorTemplate& communicator = graph_.communicators[call->communicator];
  const std::int64_t bytes = call->bytes.value(rank).value_or(0);
  if (!communicator.on_host || !communicator.eager_bytes || *communicator.eager_bytes >= bytes)
    return;
  Change change;
  change.kind = Kind::kBuffer;
  change.what = communicator.name;
  change.before = *communicator.eager_bytes;
  change.number = bytes;
  add(std::move(change));
}

void Candidates::add_slots() {
  const auto add_limit = [&](Kind kind, const Expr& limit) {
    const std::int64_t before = limit.value(0).value_or(0);
    if (before == 0) return;
    Change change;
    change.kind = kind;
    change.before = before;
    change.number = before + 1;
    add(std::move(change), before + static_cast<std::int64_t>(graph_.streams.size()));
  };
  add_limit(Kind::kResident, graph_.device.resident);
  add_limit(Kind::kHardwareQueues, graph_.hardware_queues());
}

void Candidates::add_launch_queue() {
  Change change;
  change.kind = Kind::kLaunchQueue;
  const Expr& of_device = graph_.device.launch_queue;
  if (of_device != Expr()) change.part = "device";
  change.before = (of_device != Expr() ? of_device : graph_.launch_queue).value(0).value_or(1);
  change.number = change.before + 1;
  std::int64_t ops = 0;  // ops of the busiest rank: an upper bound on pending launches
  for (const RankReport& rank : explanation_.ranks) {
    std::int64_t all = 0;
    for (const ActorCounts& counts : rank.actors) all += counts.expected;
    ops = std::max(ops, all);
  }
  if (ops > change.before) add(std::move(change), ops);
}

void Candidates::add_order(std::uint32_t first, std::uint32_t second) {
  const ActorTemplate& before = graph_.actors[first];
  const ActorTemplate& behind = graph_.actors[second];
  std::vector<std::uint32_t> common;
  for (const std::uint32_t rank : behind.on) {
    if (before.on.contains(rank)) common.push_back(rank);
  }
  if (common.empty()) return;
  Change change;
  change.kind = Kind::kOrder;
  change.what = behind.name;
  change.part = before.name;
  change.number = 1;
  if (common.size() < behind.on.size()) change.on = RankSet(std::move(common));
  add(std::move(change), kMaxOrderSlots);
}

void Candidates::add_after(std::uint32_t first, std::uint32_t second) {
  const ActorTemplate& before = graph_.actors[first];
  const ActorTemplate& behind = graph_.actors[second];
  const bool calls = before.step->role == sim::Role::kCalls &&
                     behind.step->role == sim::Role::kCalls && before.stream != behind.stream &&
                     before.stream != kNoIndex;
  if (!calls || before.step->implied || behind.step->implied) return;
  Change change;
  change.kind = Kind::kAfter;
  change.what = behind.name;
  change.part = stream_name(before.stream);
  change.place = behind.place;
  change.at = behind.step->at;
  RankSet has = ranks_at(behind.place);
  if (has.size() < graph_.ranks) change.has = std::move(has);
  add(std::move(change));
}

// Returns the ranks with a step at `place`; each rank can have its own actor for the step.
RankSet Candidates::ranks_at(Place place) const {
  std::set<std::uint32_t> ranks;
  for (const ActorTemplate& actor : graph_.actors) {
    if (actor.step && actor.place == place) ranks.insert(actor.on.begin(), actor.on.end());
  }
  return RankSet(std::vector<std::uint32_t>(ranks.begin(), ranks.end()));
}

// Tries a fixed order on all ranks for each pair of collectives of the cycle. For actors, tries
// both orders. For steps of programs, the stream of the step that is second in the file waits for
// the stream of the first step.
void Candidates::add_orders() {
  std::vector<std::uint32_t> collectives;
  for (const Wait& wait : explanation_.cycle) {
    const std::uint32_t index = template_of(wait.from);
    if (index == kNoIndex) continue;
    const ActorTemplate& actor = graph_.actors[index];
    const bool is_collective =
        actor.collective || (actor.step && actor.step->role == sim::Role::kCalls);
    const bool known =
        std::find(collectives.begin(), collectives.end(), index) != collectives.end();
    if (is_collective && !known) collectives.push_back(index);
  }
  std::sort(collectives.begin(), collectives.end());
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    for (std::size_t j = i + 1; j < collectives.size(); ++j) {
      const bool step = graph_.actors[collectives[i]].step.has_value();
      if (step != graph_.actors[collectives[j]].step.has_value()) continue;
      if (step) {
        add_after(collectives[i], collectives[j]);
      } else {
        add_order(collectives[i], collectives[j]);
        add_order(collectives[j], collectives[i]);
      }
    }
  }
}

std::vector<Candidate> Candidates::run() {
  for (const Wait& wait : explanation_.cycle) {
    switch (wait.kind) {
      case sim::WaitKind::kStreamOrder:
      case sim::WaitKind::kHostWait:
        add_streams(template_of(wait.from));
        add_streams(template_of(wait.to));
        break;
      case sim::WaitKind::kCreditData:
      case sim::WaitKind::kCreditControl:
        add_slots(wait);
        break;
      case sim::WaitKind::kCommunicatorInit:
        add_init();
        break;
      case sim::WaitKind::kLaunchQueue:
        add_launch_queue();
        break;
      case sim::WaitKind::kKernelSlots:
        add_slots();
        break;
      case sim::WaitKind::kPeerOfMessage:
        if (const ActorTemplate* step = actor_of(wait.from)) add_buffering(*step, wait.from.rank);
        break;
      default:
        break;
    }
  }
  add_orders();
  for (const Wait& wait : explanation_.cycle) {
    for (const WaitParty* party : {&wait.from, &wait.to}) add_fewer_slots(*party);
  }
  return std::move(result_);
}

}  // namespace

std::vector<Candidate> switch_candidates(const std::vector<Switch>& switches) {
  std::vector<Candidate> result;
  for (const Switch& given : switches) {
    Change change;
    change.what = given.name;
    change.from = given.value;
    for (const std::string& other : given.others) {
      change.to = other;
      result.push_back({change});
    }
    if (!given.number) continue;
    change.to.clear();
    change.before = *given.number;
    // A parameter of 1 that can be 0 is also a switch.
    if (*given.number == 1 && given.at_least == 0) {
      change.to = "0";
      result.push_back({change});
      change.to.clear();
    }
    // Tries smaller values, such as fewer warm-up micro-batches; the amount of work must not
    // shrink.
    const std::int64_t least = std::max<std::int64_t>(given.at_least.value_or(1), 1);
    if (!given.bytes && *given.number > least) {
      Candidate fewer{change};
      fewer.least = least;
      fewer.change.alters = true;
      fewer.change.number = least;
      result.push_back(std::move(fewer));
    }
    const std::int64_t start = std::max<std::int64_t>(*given.number, 1);
    if (start > std::int64_t{1} << 40) continue;
    change.number = given.bytes ? start * 2 : *given.number + 1;
    const std::int64_t times = given.bytes ? kMaxDoublings : kMaxNumberFactor;
    Candidate more{change, start * times};
    more.doubling = given.bytes;
    result.push_back(std::move(more));
  }
  return result;
}

std::vector<Candidate> graph_candidates(const TaskGraph& graph, const Lowered& lowered,
                                        const Explanation& explanation) {
  return Candidates(graph, lowered, explanation).run();
}

}  // namespace pipesim::models
