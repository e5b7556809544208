#include "tests/twin/spec.hpp"

#include <sstream>

namespace pipesim::twin {
namespace {

void write_hosts(std::ostream& out, const Spec& spec) {
  for (int t = 0; t < count_of(spec.threads); ++t) {
    const Thread& thread = at(spec.threads, t);
    out << "thread " << t << ": rank " << thread.rank;
    if (thread.program) {
      out << ", program";
      for (int actor : thread.list) out << ' ' << actor;
    }
    out << '\n';
  }
  for (int s = 0; s < count_of(spec.streams); ++s) {
    out << "stream " << s << ": rank " << at(spec.streams, s).rank << ", launch queue "
        << at(spec.streams, s).launch_queue;
    if (at(spec.streams, s).device >= 0) {
      out << ", device " << at(spec.streams, s).device << ", hardware queue "
          << at(spec.streams, s).hardware_queue;
    }
    out << '\n';
  }
  for (int d = 0; d < count_of(spec.devices); ++d) {
    const Device& device = at(spec.devices, d);
    out << "device " << d << ": rank " << device.rank << ", hardware queues "
        << device.hardware_queues << ", resident " << device.resident
        << (device.order == Order::kNone ? "" : ", order ")
        << (device.order == Order::kImplicit            ? "implicit"
            : device.order == Order::kSerial            ? "serial"
            : device.order == Order::kSerialCollectives ? "serial collectives"
                                                        : "")
        << (device.holds_queues ? ", holds queues" : "");
    if (device.launch_queue > 0) out << ", launch queue " << device.launch_queue;
    out << '\n';
  }
  for (int l = 0; l < count_of(spec.locks); ++l) {
    out << "lock " << l << ": rank " << at(spec.locks, l).rank << '\n';
  }
  for (int s = 0; s < count_of(spec.signals); ++s) {
    out << "event " << s << (at(spec.signals, s).recorded ? ": recorded" : ": set by hosts")
        << '\n';
  }
}

void write_call(std::ostream& out, const Call& call) {
  const Signature& signature = call.signature;
  out << "  communicator " << call.communicator;
  if (call.kind == CallKind::kCollective) {
    out << ": collective, operation " << signature.operation << ", root " << signature.root
        << ", connection " << call.connection;
    if (call.flow != Flow::kAll) {
      out << ", flow " << static_cast<int>(call.flow) << " of rank " << call.peer << ", steps "
          << call.steps;
    }
    if (call.connects_pairs) out << ", connects pairs";
  } else {
    out << (call.kind == CallKind::kSend ? ": send to " : ": receive from ") << call.peer
        << ", tag " << call.tag;
    if (call.tag_step > 0) out << " and " << call.tag_step << " more with each act";
    out << (call.buffered ? ", eager" : "");
    if (call.steps > 0) out << ", steps " << call.steps;
  }
  out << ", count " << signature.count << ", type " << signature.type << ", takes " << call.takes
      << (call.fatal ? ", fatal" : "");
  if (call.link >= 0) out << ", link " << call.link;
  out << '\n';
}

void write_step(std::ostream& out, const Actor& actor) {
  out << ", " << text(actor.role);
  if (actor.signal >= 0) out << " of event " << actor.signal;
  if (actor.times > 0) out << ' ' << actor.times << " times";
  if (actor.lock >= 0) out << ' ' << actor.lock;
  if (actor.communicator >= 0) out << " communicator " << actor.communicator;
  for (int stream : actor.synchronized) out << ' ' << stream;
  if (actor.meeting >= 0) out << " at meeting " << actor.meeting;
}

void write_actor(std::ostream& out, const Spec& spec, int a) {
  const Actor& actor = at(spec.actors, a);
  out << "actor " << a << " (" << actor.kind << "): thread " << actor.thread << ", stream "
      << actor.stream << ", takes " << actor.takes << ", acts " << actor.ops;
  if (actor.launch_overhead > 0) out << ", overhead " << actor.launch_overhead;
  if (!actor.immediate) out << ", gated";
  if (actor.blocking) out << ", blocking";
  if (actor.outside.waits) {
    out << ", " << actor.outside.items << " items from " << actor.outside.first << " every "
        << actor.outside.every;
  }
  if (actor.collective >= 0) out << ", collective " << actor.collective;
  if (actor.role != Role::kOp) write_step(out, actor);
  for (const After& after : actor.afters) {
    out << ", after " << after.ahead << " ahead of actor " << after.actor;
  }
  if (actor.behind >= 0) out << ", behind stream " << actor.behind;
  if (actor.kernel_slots != 1) out << ", room " << actor.kernel_slots;
  if (actor.gang != 1) out << ", gang " << actor.gang;
  if (actor.unordered) out << ", unordered";
  if (actor.dies_at >= 0) out << ", dies at " << actor.dies_at;
  if (actor.fails_at >= 0) out << ", fails at " << actor.fails_at;
  if (actor.timeout > 0) out << ", timeout " << actor.timeout;
  out << '\n';
  for (const Call& call : actor.calls) write_call(out, call);
}

void write_register(std::ostream& out, const Spec& spec, int r) {
  const Register& reg = at(spec.registers, r);
  out << "register " << r << " of actor " << reg.producer << ": slots " << reg.slots << ", Np "
      << reg.ops_per_slot;
  if (reg.drain_every > 0) out << ", drain every " << reg.drain_every;
  if (reg.control) out << ", control";
  if (reg.in_place >= 0) out << ", in place of edge " << in_place_edge(spec, r);
  out << '\n';
}

void write_faults(std::ostream& out, const Communicator& communicator) {
  if (communicator.link >= 0) out << ", link " << communicator.link;
  if (communicator.timeout > 0) out << ", timeout " << communicator.timeout;
  if (communicator.init_timeout > 0) {
    out << ", creation timeout " << communicator.init_timeout;
  }
  if (communicator.links.empty()) return;
  out << ", arrives over links";
  for (int link : communicator.links) out << ' ' << link;
}

void write_groups(std::ostream& out, const Spec& spec) {
  for (int c = 0; c < count_of(spec.collectives); ++c) {
    out << "collective " << c << ": communicator " << at(spec.collectives, c).communicator
        << ", members";
    for (const Member& member : at(spec.collectives, c).members) {
      out << " (rank " << member.rank << ", actor " << member.actor << ')';
    }
    out << '\n';
  }
  for (int m = 0; m < count_of(spec.meetings); ++m) {
    out << "meeting " << m << ": communicator " << at(spec.meetings, m).communicator << ", ranks";
    for (int rank : at(spec.meetings, m).ranks) out << ' ' << rank;
    out << '\n';
  }
  for (int c = 0; c < count_of(spec.communicators); ++c) {
    out << "communicator " << c << ": ranks";
    for (int rank : at(spec.communicators, c).ranks) out << ' ' << rank;
    if (at(spec.communicators, c).at_first_use) out << ", at first use";
    if (at(spec.communicators, c).waits_for_device) out << ", waits for device";
    if (at(spec.communicators, c).connects) out << ", connects at first use";
    if (at(spec.communicators, c).on_host) out << ", calls of hosts";
    if (at(spec.communicators, c).in_calls) out << ", advances in calls";
    write_faults(out, at(spec.communicators, c));
    out << '\n';
  }
}

void write_faults(std::ostream& out, const Spec& spec) {
  for (const Death& death : spec.deaths) {
    out << "rank " << death.rank << " dies at " << death.at << '\n';
  }
  for (int l = 0; l < count_of(spec.links); ++l) {
    const Link& link = at(spec.links, l);
    out << "link " << l << ": ranks " << link.a << " and " << link.b << ", down at " << link.down
        << ", retry " << link.retry << '\n';
  }
  if (spec.poll > 0) out << "poll " << spec.poll << '\n';
  if (spec.launcher > 0) out << "launcher " << spec.launcher << '\n';
  for (int rank = 0; rank < count_of(spec.host_of_rank); ++rank) {
    out << "rank " << rank << " is on host " << at(spec.host_of_rank, rank) << '\n';
  }
}

}  // namespace

std::vector<int> registers_of(const Spec& spec, int actor) {
  std::vector<int> found;
  for (int r = 0; r < count_of(spec.registers); ++r) {
    if (at(spec.registers, r).producer == actor) found.push_back(r);
  }
  return found;
}

std::vector<int> edges_of(const Spec& spec, int reg) {
  std::vector<int> found;
  for (int e = 0; e < count_of(spec.edges); ++e) {
    if (at(spec.edges, e).reg == reg) found.push_back(e);
  }
  return found;
}

std::vector<int> inputs_of(const Spec& spec, int actor) {
  std::vector<int> found;
  for (int e = 0; e < count_of(spec.edges); ++e) {
    if (at(spec.edges, e).consumer == actor) found.push_back(e);
  }
  return found;
}

int in_place_edge(const Spec& spec, int reg) {
  const Register& output = at(spec.registers, reg);
  return output.in_place < 0 ? -1 : at(inputs_of(spec, output.producer), output.in_place);
}

bool has_faults(const Spec& spec) { return text(spec) != text(without_faults(spec)); }

Spec without_faults(Spec spec) {
  spec.deaths.clear();
  spec.links.clear();
  spec.poll = spec.launcher = 0;
  spec.host_of_rank.clear();
  for (Actor& actor : spec.actors) {
    actor.dies_at = actor.fails_at = -1;
    actor.timeout = 0;
    for (Call& call : actor.calls) {
      call.fatal = false;
      call.link = -1;
    }
  }
  for (Communicator& communicator : spec.communicators) {
    communicator.link = -1;
    communicator.timeout = communicator.init_timeout = 0;
    communicator.links.clear();
  }
  return spec;
}

bool on_host(Role role) { return role >= Role::kWork; }

std::string text(Role role) {
  static const std::vector<std::string> kNames = {
      "op",  "calls", "record", "wait",   "work", "synchronize", "await",
      "set", "lock",  "unlock", "create", "meet", "abort",       "drain"};
  return at(kNames, static_cast<int>(role));
}

std::string text(const Spec& spec) {
  std::ostringstream out;
  out << "ranks " << spec.ranks << '\n';
  write_hosts(out, spec);
  for (int a = 0; a < count_of(spec.actors); ++a) write_actor(out, spec, a);
  for (int r = 0; r < count_of(spec.registers); ++r) write_register(out, spec, r);
  for (int e = 0; e < count_of(spec.edges); ++e) {
    const Edge& edge = at(spec.edges, e);
    out << "edge " << e << ": register " << edge.reg << " (actor "
        << at(spec.registers, edge.reg).producer << ") to actor " << edge.consumer << ", Nc "
        << edge.ops_per_slot << '\n';
  }
  write_groups(out, spec);
  write_faults(out, spec);
  return out.str();
}

}  // namespace pipesim::twin
