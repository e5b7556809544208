// Checks the random plans of twin_test.cpp: they have enough of every feature, and every cause of a
// hang.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/twin/random_spec.hpp"
#include "tests/twin/twin.hpp"

namespace pipesim::twin {
namespace {

constexpr std::uint64_t kFeaturePlans = 50000;

// Statistics --------------------------------------------------------------------------------------

std::set<std::string> features_of(const Spec& spec, const Actor& actor) {
  std::set<std::string> found;
  found.insert("actor: " + actor.kind);
  if (actor.blocking) found.insert("blocking");
  if (!actor.immediate) found.insert("gated");
  if (actor.launch_overhead > 0) found.insert("launch overhead");
  if (actor.outside.waits) found.insert("outside input");
  if (actor.outside.waits && actor.outside.items < actor.ops) found.insert("too few items");
  if (actor.takes == 0) found.insert("takes no time");
  found.insert(at(spec.threads, actor.thread).program ? "order program" : "order arrival");
  if (actor.stream >= 0 && at(spec.streams, actor.stream).launch_queue <= 3) {
    found.insert("launch queue");
  }
  return found;
}

std::set<std::string> features_of(const Spec& spec, const Call& call) {
  std::set<std::string> found;
  switch (call.kind) {
    case CallKind::kCollective:
      found.insert("call: collective");
      break;
    case CallKind::kSend:
      found.insert(call.buffered    ? "call: eager"
                   : call.steps > 0 ? "call: in steps"
                                    : "call: rendezvous");
      break;
    case CallKind::kReceive:
      found.insert("call: receive");
      break;
  }
  const Communicator& communicator = at(spec.communicators, call.communicator);
  if (communicator.at_first_use) found.insert("call: creation at first use");
  if (communicator.waits_for_device) found.insert("call: creation waits for devices");
  if (communicator.connects) found.insert("call: connects at first use");
  if (communicator.ranks.size() == 1) found.insert("call: communicator of one rank");
  return found;
}

/// Returns the features of host programs [9] that a step has.
std::set<std::string> features_of_step(const Spec& spec, const Actor& step) {
  std::set<std::string> found;
  if (step.role == Role::kOp) return found;
  if (step.blocking) found.insert("step: blocking");
  if (step.launch_overhead > 0) found.insert("step: launch overhead");
  if (step.outside.waits) found.insert("step: outside input");
  if (step.ops > 1) found.insert("step: several acts");
  if (step.calls.size() > 1) found.insert("group of calls");
  for (const Call& call : step.calls) {
    const Call& first = step.calls.front();
    if (call.communicator != first.communicator) found.insert("group on two communicators");
    if (call.kind != first.kind) found.insert("group of several sorts");
    if (call.peer == at(spec.threads, step.thread).rank) found.insert("call: to itself");
    found.merge(features_of(spec, call));
  }
  return found;
}

std::set<std::string> features_of_devices(const Spec& spec) {
  std::set<std::string> found;
  for (const Device& device : spec.devices) {
    if (device.hardware_queues == 1) found.insert("device: one hardware queue");
    if (device.hardware_queues > 1) found.insert("device: several hardware queues");
    if (device.resident == 1) found.insert("device: resident 1");
    if (device.resident > 1) found.insert("device: resident 2");
    if (device.order == Order::kImplicit) found.insert("device: implicit order");
    if (device.order == Order::kSerial) found.insert("device: serial order");
    if (device.order == Order::kSerialCollectives) found.insert("device: serial collectives");
    if (device.launch_queue > 0) found.insert("device: launch queue");
    if (device.hardware_queues > 0 && device.holds_queues) found.insert("device: holds queues");
  }
  return found;
}

std::set<std::string> features_of_registers(const Spec& spec) {
  std::set<std::string> found;
  for (const Register& reg : spec.registers) {
    if (reg.in_place >= 0) found.insert("in place");
    if (reg.ops_per_slot > 1) found.insert("several acts fill a slot");
    if (reg.drain_every > 0) found.insert("drain");
    if (reg.control) found.insert("control");
  }
  for (const Edge& edge : spec.edges) {
    if (edge.ops_per_slot > 1) found.insert("several acts take a slot");
  }
  return found;
}

/// Returns the features of waits for other streams [5.4] and of tags that step [9.5].
std::set<std::string> features_of_afters(const Spec& spec) {
  std::set<std::string> found;
  for (const Actor& actor : spec.actors) {
    if (actor.behind >= 0) found.insert("behind");
    if (!actor.afters.empty()) found.insert("after: " + text(actor.role));
    if (actor.afters.size() > 1) found.insert("after: several");
    for (const After& after : actor.afters) {
      found.insert("after: of " + text(at(spec.actors, after.actor).role));
      if (after.ahead > 0) found.insert("after: ahead");
    }
    for (const Call& call : actor.calls) {
      if (call.tag_step > 0 && actor.ops > 1) found.insert("call: stepping tag");
    }
  }
  return found;
}

std::set<std::string> features_of_groups(const Spec& spec) {
  std::set<std::string> found;
  for (const Communicator& communicator : spec.communicators) {
    if (communicator.at_first_use) found.insert("creation at first use");
    if (communicator.waits_for_device) found.insert("creation waits for devices");
  }
  for (const Collective& collective : spec.collectives) {
    for (const Member& member : collective.members) {
      if (member.actor < 0) found.insert("member that never comes");
    }
  }
  return found;
}

std::set<std::string> features_of_timeouts(const Spec& spec) {
  std::set<std::string> found;
  for (const Communicator& communicator : spec.communicators) {
    if (communicator.timeout > 0) found.insert("guard: communicator");
    if (communicator.init_timeout > 0) found.insert("guard: creation");
  }
  if (spec.poll > 0) found.insert("guard: poll");
  const std::set<int> hosts(spec.host_of_rank.begin(), spec.host_of_rank.end());
  if (spec.launcher > 0 && hosts.size() > 1) found.insert("guard: launcher of several hosts");
  return found;
}

std::set<std::string> features_of_faults(const Spec& spec) {
  std::set<std::string> found = features_of_timeouts(spec);
  if (has_faults(spec)) found.insert("faults");
  if (!spec.deaths.empty()) found.insert("fault: death");
  for (const Actor& actor : spec.actors) {
    if (actor.dies_at >= 0) found.insert("fault: dies at an act");
    if (actor.fails_at >= 0) found.insert("fault: fails at an act");
    if (actor.timeout > 0) found.insert("guard: step");
    for (const Call& call : actor.calls) {
      if (call.fatal) found.insert("fault: call");
      if (call.link >= 0) found.insert("link: of a message");
    }
  }
  for (const Communicator& communicator : spec.communicators) {
    if (communicator.link >= 0) found.insert("link: of a communicator");
    if (!communicator.links.empty()) found.insert("link: of a creation");
  }
  return found;
}

/// Returns the features of the end of a run.
std::set<std::string> features_of(const Result& result) {
  std::set<std::string> found;
  if (result.end == End::kCompleted && !result.mismatches.empty()) {
    found.insert("mismatch: all work is done");
  }
  for (const Mismatch& mismatch : result.mismatches) {
    found.insert(mismatch.message ? "mismatch: message" : "mismatch: collective");
  }
  for (const Died& died : result.deaths) {
    const std::string when = died.after_quiescence ? "after the rest: " : "before the rest: ";
    found.insert("death " + when + twin::text(died.why));
  }
  if (result.verdict == Verdict::kCrashed) found.insert("crashed");
  if (result.end == End::kCompleted && !result.deaths.empty()) found.insert("completed, one dead");
  for (const auto& [edge, any] : result.waits) {
    const std::string line = twin::text(edge);
    found.insert("wait:" + line.substr(line.rfind(':') + 1));
    if (any) found.insert("any set:" + line.substr(line.rfind(':') + 1));
    if (edge.kind == Wait::kDeadRank && result.verdict == Verdict::kStarved) {
      found.insert("starved by a dead rank");
    }
  }
  return found;
}

/// Returns the features of a plan and its run, among those that the plans must cover.
std::set<std::string> features_of(const Spec& spec, const Result& result) {
  std::set<std::string> found;
  for (const Actor& actor : spec.actors) {
    found.merge(features_of(spec, actor));
    found.merge(features_of_step(spec, actor));
  }
  found.merge(features_of_afters(spec));
  found.merge(features_of_devices(spec));
  found.merge(features_of_registers(spec));
  found.merge(features_of_groups(spec));
  found.merge(features_of_faults(spec));
  found.merge(features_of(result));
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
    "actor: calls",
    "actor: record",
    "actor: wait",
    "actor: work",
    "actor: synchronize",
    "actor: await",
    "actor: set",
    "actor: lock",
    "actor: unlock",
    "actor: create",
    "actor: meet",
    "actor: kernel",
    "step: blocking",
    "step: launch overhead",
    "step: outside input",
    "step: several acts",
    "group of calls",
    "group on two communicators",
    "group of several sorts",
    "call: collective",
    "call: receive",
    "call: eager",
    "call: rendezvous",
    "call: in steps",
    "call: connects at first use",
    "9.4 types differ on hosts",
    "9.4 star",
    "9.4 tree",
    "9.5 sizes differ on hosts",
    "call: to itself",
    "call: creation at first use",
    "call: creation waits for devices",
    "call: communicator of one rank",
    "call: stepping tag",
    "behind",
    "after: op",
    "after: calls",
    "after: several",
    "after: ahead",
    "after: of op",
    "after: of calls",
    "after: of record",
    "after: of wait",
    "5.4 starts",
    "5.4 starts on a limited device",
    "5.4 waits for another act",
    "5.4 stays behind a stream",
    "5.4 waits for room only",
    "7 act of another stream is launched",
    "7 act of another stream is not launched",
    "7 behind another stream",
    "7 several reasons not to start",
    "device: one hardware queue",
    "device: several hardware queues",
    "device: resident 1",
    "device: resident 2",
    "device: implicit order",
    "device: serial order",
    "device: serial collectives",
    "device: holds queues",
    "device: launch queue",
    "7 any act of a device makes room",
    "5.3 ends in a serial order",
    "5.3 takes some of its slots",
    "5.3 holds its hardware queue to its end",
    "9.3 next of a line",
    "mismatch: collective",
    "mismatch: message",
    "mismatch: all work is done",
    "wait: device room",
    "wait: peer of a message",
    "wait: lock",
    "wait: progress",
    "9.5 a pair is stalled",
    "9.5 a round is stalled",
    "9.5 a stalled call advances",
    "9.7 connects all pairs",
    "9.1 synchronizes",
    "9.1 awaits a stream",
    "9.1 awaits hosts",
    "9.1 line of a lock",
    "9.2 wait has to wait",
    "9.3 call is held back",
    "9.4 all together on an open communicator",
    "9.4 mismatch on an open communicator",
    "9.4 runs alone",
    "9.4 runs before all have arrived",
    "9.5 receive waits for a send",
    "9.5 send waits for a receive",
    "9.5 message waits for a receive",
    "9.5 receive waits for a message",
    "9.5 send waits for room",
    "9.7 first message",
    "9.7 first collective",
    "9.7 step waits",
    "9.7 several at once",
    "wait: first message",
    "wait: first collective",
    "wait: host meeting",
    "fault: death",
    "fault: dies at an act",
    "fault: fails at an act",
    "fault: call",
    "link: of a message",
    "link: of a communicator",
    "link: of a creation",
    "guard: step",
    "guard: communicator",
    "guard: creation",
    "guard: poll",
    "guard: launcher of several hosts",
    "crashed",
    "completed, one dead",
    "starved by a dead rank",
    "wait: dead rank",
    "wait: failed link",
    "death before the rest: at a time",
    "death before the rest: at an act",
    "death before the rest: fatal call",
    "death before the rest: device error",
    "death before the rest: link error",
    "death before the rest: watchdog",
    "death before the rest: timeout",
    "death before the rest: launcher",
    "death after the rest: at a time",
    "death after the rest: link error",
    "death after the rest: watchdog",
    "death after the rest: timeout",
    "death after the rest: launcher",
    "10.2 a dead thread is woken",
    "10.2 a message is lost",
    "10.2 an event of a dead rank",
    "10.4 hangs",
    "10.4 rank cannot arrive",
    "10.5 event at the time of a timer",
    "10.5 deaths of two kinds at one time",
};

/// Rare branches of the rules. At least a few plans must take each branch.
const std::vector<std::string> kRare = {
    "any set: communicator creation",
    "any set: device room",
    "5.3 takes some of its gangs",
    "any set: host wait",
    "any set: peer of a collective",
    "any set: peer of a message",
    "3.3 second thread of a rank",
    "3.3 no device to wait for",
    "3.3 waits for devices",
    "3.4 blocked by a place that is kept",
    "3.4 blocked by the queue of a device",
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
    "9.1 nothing to synchronize",
    "9.2 wait of a later record",
    "7 behind in a line",
    "9.5 message goes before a send that waits",
    "9.5 receive is larger than its message",
    "9.5 receive is larger than the send that it met",
    "9.5 send gets room",
    "9.7 second thread of a rank",
    "9.7 a dead rank",
    "9.7 a rank that never comes",
    "9.7 several that may come",
    "9.6 behind in a hardware queue",
    "9.6 behind in the launch order",
    "9.6 no slot is free",
    "9.6 coming call is launched",
    "9.6 coming call of several threads",
    "9.6 call that never comes",
    "9.6 lock stays locked",
    "9.6 one of several sets",
    "9.6 set that never comes",
    "9.6 duplicate in an ANY set",
    "any set: dead rank",
    "10.2 the last mark leaves and a rank is dead",
    "10.2 the last rank arrives and one is dead",
    "10.3 an event of a device",
    "10.3 does not surface at once",
    "10.3 surfaces at once: await",
    "10.3 surfaces at once: blocking",
    "10.3 surfaces at once: launch queue",
    "10.3 surfaces at once: synchronize",
    "10.3 surfaces in a thread that was freed",
    "10.3 surfaces later: await",
    "10.3 surfaces later: calls",
    "10.3 surfaces later: op",
    "10.3 surfaces later: record",
    "10.3 surfaces later: synchronize",
    "10.3 surfaces later: wait",
    "10.4 second thread cannot arrive",
    "10.4 would end when the link goes down",
    "10.6 a member that started has stopped",
    "10.6 a message that has met a rank that has stopped",
    "10.6 a rank that arrived in the round has stopped",
    "10.6 creation with a dead rank that had arrived",
    "10.6 in place: of a dead rank",
};

}  // namespace

TEST_CASE("the random plans hang often, and in every way there is", "[twin]") {
  std::uint64_t hung = 0;
  std::uint64_t completed = 0;
  std::map<std::string, int> plans_with;
  for (std::uint64_t seed = 1; seed <= kFeaturePlans; ++seed) {
    const Spec spec = random_spec(seed);
    const Result result = simulate(spec);
    ++(result.end == End::kStuck ? hung : completed);
    for (const std::string& feature : features_of(spec, result)) ++plans_with[feature];
    for (const std::string& branch : result.branches) ++plans_with[branch];
  }
  CHECK(hung * 4 >= kFeaturePlans);
  CHECK(completed * 4 >= kFeaturePlans);
  CHECK(plans_with["faults"] * 4 >= static_cast<int>(kFeaturePlans));
  for (const std::string& feature : kFrequent) {
    INFO(feature);
    CHECK(plans_with[feature] >= 100);
  }
  for (const std::string& branch : kRare) {
    INFO(branch);
    CHECK(plans_with[branch] >= 2);
  }
}

}  // namespace pipesim::twin
