// Collects all tables as names and numbers, which are bytes in the model. A table has the size that
// the plan gives, and at least 1: Promela has no empty arrays.
#include "tests/oracle/promela_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

using sim::ActorId;
using sim::CallId;
using sim::CollectiveId;
using sim::CommunicatorId;
using sim::DeviceId;
using sim::EdgeId;
using sim::Plan;
using sim::RankId;
using sim::RegisterId;
using sim::Role;
using sim::StreamId;
using sim::ThreadId;

// Limits of SPIN: numbers of processes and channels, and of messages in a channel.
constexpr std::size_t kMaxProcesses = 250;
constexpr std::size_t kMaxChannels = 250;
constexpr std::size_t kMaxInChannel = 255;
constexpr std::uint32_t kNothing = 0xffffffff;  // written as NONE, 255
constexpr std::uint32_t kMaxNumber = 254;
constexpr std::uint32_t kMaxShort = 32766;

/// One table, or a single number.
struct Table {
  std::string name;
  std::string size;  // macro of the array size; empty: a single number
  std::vector<std::uint32_t> numbers;
  bool is_short = false;  // whether the type is short instead of byte
};

class Tables {
 public:
  explicit Tables(const Plan& plan) : plan_(plan) {
    add_counts();
    add_hosts();
    add_actors();
    add_registers();
    add_collectives();
    add_communicators();
    add_calls();
    add_queues();
  }

  std::string text() const;
  bool too_large() const {
    return largest() > kMaxNumber ||
           std::max({size_of("INBOX"), size_of("QUEUE"), size_of("MAILBOX"), size_of("ROOM")}) >
               kMaxInChannel;
  }

 private:
  void add_counts();
  void add_hosts();
  void add_devices();
  void add_actors();
  void add_needs();
  void add_registers();
  void add_collectives();
  void add_communicators();
  void add_calls();
  void add_sorts();
  void add_queues();

  void add_number(const std::string& name, std::uint32_t number) {
    tables_.push_back({name, "", {number}});
  }
  void add_size(const std::string& macro, std::size_t size) {
    sizes_.emplace_back(macro, std::max<std::size_t>(size, 1));
  }
  std::vector<std::uint32_t>& add(const std::string& name, const std::string& size) {
    tables_.push_back({name, size, {}});
    return tables_.back().numbers;
  }

  /// Adds a table with a number for each item of `items`.
  template <typename Items, typename NumberOf>
  void add_each(const std::string& name, const std::string& size, const Items& items,
                NumberOf number_of) {
    std::vector<std::uint32_t>& numbers = add(name, size);
    for (const auto& item : items) numbers.push_back(number_of(item));
  }

  std::uint32_t largest() const;
  std::size_t size_of(const std::string& macro) const;
  std::uint32_t member_of(CommunicatorId id, RankId rank) const;
  std::uint32_t signature_of(const sim::Signature& signature);
  bool starts(const sim::Actor& actor) const;

  const Plan& plan_;
  std::vector<std::pair<std::string, std::size_t>> sizes_;
  std::vector<Table> tables_;
  std::vector<sim::Signature> signatures_;  // the distinct signatures
};

void Tables::add_counts() {
  add_size("THREADS", plan_.threads.size());
  add_size("STREAMS", plan_.streams.size());
  add_size("ACTORS", plan_.actors.size());
  add_size("INPUTS", plan_.inputs.size());
  add_size("REGISTERS", plan_.registers.size());
  add_size("EDGES", plan_.edges.size());
  add_size("COLLECTIVES", plan_.collectives.size());
  add_size("MEMBERS", plan_.members.size());
  add_size("COMMUNICATORS", plan_.communicators.size());
  add_size("RANKS_IN", plan_.communicator_ranks.size());
  add_size("AFTERS", plan_.afters.size());
  add_size("DEPENDENTS", plan_.dependents.size());
  add_size("SYNCHRONIZED", plan_.synchronized.size());
  add_size("SIGNALS", plan_.signals.size());
  add_size("LOCKS", plan_.locks.size());
  add_size("CALLS", plan_.calls.size());
  add_size("CHANNELS", plan_.channels.size());
  add_size("PROGRAM", plan_.op_count);
  add_number("threads", plan_.threads.size());
  add_number("streams", plan_.streams.size());
  add_number("actors", plan_.actors.size());
  add_number("collectives", plan_.collectives.size());
  add_number("communicators", plan_.communicators.size());
  add_number("calls", plan_.calls.size());
  add_number("channels", plan_.channels.size());
  tables_.push_back({"acts", "", {static_cast<std::uint32_t>(plan_.op_count)}, true});
}

void Tables::add_hosts() {
  std::vector<std::uint32_t> is_program;
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> end;
  std::vector<std::uint32_t> program;
  for (const sim::Thread& thread : plan_.threads) {
    is_program.push_back(thread.order == sim::ThreadOrder::kProgram ? 1 : 0);
    begin.push_back(static_cast<std::uint32_t>(program.size()));
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      program.push_back(plan_.op(thread, i).value);
    }
    end.push_back(static_cast<std::uint32_t>(program.size()));
  }
  tables_.push_back({"thread_program", "THREADS", is_program});
  tables_.push_back({"thread_acts", "THREADS", begin, true});
  tables_.push_back({"thread_acts_end", "THREADS", end, true});
  tables_.push_back({"program", "PROGRAM", program});
  std::vector<std::uint32_t> limits;
  for (const sim::Stream& stream : plan_.streams) {
    // A launch queue never holds more ops than the plan has.
    limits.push_back(std::min(stream.launch_queue, static_cast<std::uint32_t>(plan_.op_count)));
  }
  tables_.push_back({"stream_limit", "STREAMS", limits, true});
  add_each("stream_dependents", "STREAMS", plan_.streams,
           [](const sim::Stream& stream) { return stream.dependents; });
  add_each("stream_dependents_end", "STREAMS", plan_.streams,
           [](const sim::Stream& stream) { return stream.dependents_end; });
  add_each("dependents", "DEPENDENTS", plan_.dependents,
           [](StreamId stream) { return stream.value; });
  add_devices();
}

// Adds devices with limited kernel slots or queues; other devices are not in the model. All
// hardware queues share one numbering.
void Tables::add_devices() {
  std::vector<std::uint32_t> device_of(plan_.devices.size(), kNothing);
  std::vector<std::uint32_t> first_queue(plan_.devices.size(), 0);
  std::vector<std::uint32_t> resident;
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> holds;
  std::vector<std::uint32_t> free;
  std::uint32_t queues = 0;
  for (const DeviceId id : ids_of(plan_.devices)) {
    const sim::Device& device = plan_.devices[id];
    if (!device.limited()) continue;
    device_of[id.value] = static_cast<std::uint32_t>(resident.size());
    first_queue[id.value] = queues;
    queues += device.hardware_queues;
    resident.push_back(device.resident == 0 ? kMaxShort : std::min(device.resident, kMaxShort));
    order.push_back(static_cast<std::uint32_t>(device.order));
    holds.push_back(device.holds_queues ? 1 : 0);
    free.push_back(device.starts_freely() ? 1 : 0);
  }
  std::vector<std::uint32_t> devices;
  std::vector<std::uint32_t> queue_of;
  for (const sim::Stream& stream : plan_.streams) {
    const bool limited = stream.device.valid() && plan_.devices[stream.device].limited();
    const bool queued = limited && plan_.devices[stream.device].hardware_queues > 0;
    devices.push_back(limited ? device_of[stream.device.value] : kNothing);
    queue_of.push_back(queued ? first_queue[stream.device.value] + stream.hardware_queue
                              : kNothing);
  }
  add_size("DEVICES", resident.size());
  add_size("HARDWARE_QUEUES", queues);
  add("stream_device", "STREAMS") = devices;
  add("stream_hardware_queue", "STREAMS") = queue_of;
  tables_.push_back({"device_resident", "DEVICES", resident, true});
  add("device_order", "DEVICES") = order;
  add("device_holds", "DEVICES") = holds;
  add("device_free", "DEVICES") = free;
}

bool Tables::starts(const sim::Actor& actor) const {
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    if (!plan_.registers[plan_.edges[plan_.inputs[i]].source].control) return false;
  }
  return true;
}

void Tables::add_actors() {
  const auto each = [&](const std::string& name, auto number_of) {
    add_each(name, "ACTORS", plan_.actors, number_of);
  };
  using Actor = sim::Actor;
  each("actor_thread", [](const Actor& actor) { return actor.thread.value; });
  each("actor_stream", [](const Actor& actor) { return actor.stream.value; });
  each("actor_role", [](const Actor& actor) { return static_cast<std::uint32_t>(actor.role); });
  // A source that waits for outside input requests one item more than its work needs.
  each("actor_limit", [](const Actor& actor) { return actor.ops + (actor.input.waits ? 1 : 0); });
  each("actor_items",
       [](const Actor& actor) { return actor.input.waits ? actor.input.items : kNothing; });
  each("actor_blocking", [](const Actor& actor) { return actor.blocking ? 1U : 0U; });
  each("actor_starts", [&](const Actor& actor) { return starts(actor) ? 1U : 0U; });
  each("actor_collective", [](const Actor& actor) { return actor.collective.value; });
  each("actor_object", [](const Actor& actor) {
    return actor.signal.valid() ? actor.signal.value : actor.lock.value;
  });
  each("actor_times", [&](const Actor& actor) {
    const bool counts = actor.signal.valid() && plan_.signals[actor.signal].recorded();
    return counts ? kNothing : actor.times;
  });
  each("actor_inputs", [](const Actor& actor) { return actor.inputs; });
  each("actor_inputs_end", [](const Actor& actor) { return actor.inputs_end; });
  each("actor_registers", [](const Actor& actor) { return actor.registers; });
  each("actor_registers_end", [](const Actor& actor) { return actor.registers_end; });
  each("actor_behind", [](const Actor& actor) { return actor.behind.value; });
  each("actor_afters", [](const Actor& actor) { return actor.afters; });
  each("actor_afters_end", [](const Actor& actor) { return actor.afters_end; });
  each("actor_streams", [](const Actor& actor) { return actor.streams; });
  each("actor_streams_end", [](const Actor& actor) { return actor.streams_end; });
  each("actor_collects", [](const Actor& actor) { return actor.collects ? 1U : 0U; });
  each("actor_calls", [](const Actor& actor) { return actor.calls; });
  each("actor_calls_end", [](const Actor& actor) { return actor.calls_end; });
  add_each("inputs", "INPUTS", plan_.inputs, [](EdgeId edge) { return edge.value; });
  add_each("synchronized", "SYNCHRONIZED", plan_.synchronized,
           [](StreamId stream) { return stream.value; });
  add_each("after_actor", "AFTERS", plan_.afters,
           [](const sim::After& after) { return after.actor.value; });
  add_each("after_ahead", "AFTERS", plan_.afters,
           [](const sim::After& after) { return after.ahead; });
  add_needs();
}

// Adds the communicators that each op needs, in order.
void Tables::add_needs() {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> end;
  std::vector<std::uint32_t> communicators;
  std::vector<std::uint32_t> ranks;
  const auto need = [&](CommunicatorId id, std::uint32_t rank) {
    communicators.push_back(id.value);
    ranks.push_back(rank);
  };
  for (const ActorId id : ids_of(plan_.actors)) {
    const sim::Actor& actor = plan_.actors[id];
    begin.push_back(static_cast<std::uint32_t>(ranks.size()));
    if (actor.collective.valid()) {
      const CommunicatorId communicator = plan_.collectives[actor.collective].communicator;
      need(communicator, member_of(communicator, actor.rank));
    } else if (actor.communicator.valid()) {
      need(actor.communicator, member_of(actor.communicator, actor.rank));
    }
    for (const CallId call : plan_.calls_of(id)) {
      need(plan_.calls[call].communicator, plan_.calls[call].member);
    }
    end.push_back(static_cast<std::uint32_t>(ranks.size()));
  }
  add_size("NEEDS", ranks.size());
  add("actor_needs", "ACTORS") = begin;
  add("actor_needs_end", "ACTORS") = end;
  add("need_communicator", "NEEDS") = communicators;
  add("need_rank", "NEEDS") = ranks;
}

std::uint32_t Tables::member_of(CommunicatorId id, RankId rank) const {
  const auto begin = plan_.communicator_ranks.begin();
  const auto found = std::lower_bound(begin + plan_.communicators[id].ranks,
                                      begin + plan_.communicators[id].ranks_end, rank);
  return static_cast<std::uint32_t>(found - begin);
}

void Tables::add_registers() {
  const auto each = [&](const std::string& name, auto number_of) {
    add_each(name, "REGISTERS", plan_.registers, number_of);
  };
  using Register = sim::Register;
  each("register_producer", [](const Register& reg) { return reg.producer.value; });
  each("register_slots", [](const Register& reg) { return reg.slots; });
  each("register_acts", [](const Register& reg) { return reg.ops_per_slot; });
  each("register_drain", [](const Register& reg) { return reg.drain_every; });
  each("register_in_place", [](const Register& reg) { return reg.in_place.value; });
  each("register_edges", [](const Register& reg) { return reg.edges; });
  each("register_edges_end", [](const Register& reg) { return reg.edges_end; });
  const auto each_edge = [&](const std::string& name, auto number_of) {
    add_each(name, "EDGES", plan_.edges, number_of);
  };
  using Edge = sim::Edge;
  each_edge("edge_register", [](const Edge& edge) { return edge.source.value; });
  each_edge("edge_consumer", [](const Edge& edge) { return edge.consumer.value; });
  each_edge("edge_acts", [](const Edge& edge) { return edge.ops_per_slot; });
  each_edge("edge_data_at_launch", [](const Edge& edge) { return edge.data_at_launch ? 1U : 0U; });
  each_edge("edge_ack_at_launch", [](const Edge& edge) { return edge.ack_at_launch ? 1U : 0U; });
  each_edge("edge_in_place", [](const Edge& edge) { return edge.in_place.valid() ? 1U : 0U; });
}

void Tables::add_collectives() {
  const auto each = [&](const std::string& name, auto number_of) {
    add_each(name, "COLLECTIVES", plan_.collectives, number_of);
  };
  each("collective_members", [](const sim::Collective& it) { return it.members; });
  each("collective_members_end", [](const sim::Collective& it) { return it.members_end; });
  add_each("member_actor", "MEMBERS", plan_.members,
           [](const sim::Member& member) { return member.actor.value; });
}

void Tables::add_communicators() {
  const auto each = [&](const std::string& name, auto number_of) {
    add_each(name, "COMMUNICATORS", plan_.communicators, number_of);
  };
  using Communicator = sim::Communicator;
  each("communicator_exists", [](const Communicator& it) { return it.at_first_use ? 0U : 1U; });
  each("communicator_waits", [](const Communicator& it) { return it.waits_for_device ? 1U : 0U; });
  each("communicator_ranks", [](const Communicator& it) { return it.ranks; });
  each("communicator_ranks_end", [](const Communicator& it) { return it.ranks_end; });
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> end;
  std::vector<std::uint32_t> streams;
  for (const Communicator& communicator : plan_.communicators) {
    begin.push_back(static_cast<std::uint32_t>(streams.size()));
    for (const StreamId stream : ids_of(plan_.streams)) {
      if (!communicator.waits_for_device) continue;
      const auto ranks = plan_.communicator_ranks.begin();
      if (std::binary_search(ranks + communicator.ranks, ranks + communicator.ranks_end,
                             plan_.streams[stream].rank)) {
        streams.push_back(stream.value);
      }
    }
    end.push_back(static_cast<std::uint32_t>(streams.size()));
  }
  add_size("STREAMS_IN", streams.size());
  add("communicator_streams", "COMMUNICATORS") = begin;
  add("communicator_streams_end", "COMMUNICATORS") = end;
  add("stream_of_communicator", "STREAMS_IN") = streams;
}

// Returns the number of a signature among the distinct signatures. The model only compares these
// numbers for equality.
std::uint32_t Tables::signature_of(const sim::Signature& signature) {
  const auto found = std::find(signatures_.begin(), signatures_.end(), signature);
  const auto number = static_cast<std::uint32_t>(found - signatures_.begin());
  if (found == signatures_.end()) signatures_.push_back(signature);
  return number;
}

// Adds, for each execution of a send or recv, a number for the properties that must match: those of
// its signature, with the tag in place of the root.
void Tables::add_sorts() {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> sorts;
  std::vector<std::size_t> mailbox(plan_.channels.size(), 0);
  for (const sim::Call& call : plan_.calls) {
    begin.push_back(static_cast<std::uint32_t>(sorts.size()));
    if (call.kind == sim::CallKind::kCollective) continue;
    sim::Signature sort = call.signature;
    sort.operation = 0;
    for (std::uint32_t k = 0; k < plan_.actors[call.actor].ops; ++k) {
      sort.root = call.tag + k * call.tag_step;
      sorts.push_back(signature_of(sort));
    }
    if (call.buffered || call.steps > 0) {
      mailbox[call.channel.value] += plan_.actors[call.actor].ops;
    }
  }
  add_size("SORTS", sorts.size());
  add("call_sorts", "CALLS") = begin;
  add("sorts", "SORTS") = sorts;
  add_size("MAILBOX", mailbox.empty() ? 0 : *std::max_element(mailbox.begin(), mailbox.end()));
}

void Tables::add_calls() {
  const auto each = [&](const std::string& name, auto number_of) {
    add_each(name, "CALLS", plan_.calls, number_of);
  };
  using Call = sim::Call;
  each("call_actor", [](const Call& call) { return call.actor.value; });
  each("call_kind", [](const Call& call) { return static_cast<std::uint32_t>(call.kind); });
  each("call_eager", [](const Call& call) { return call.buffered ? 1U : 0U; });
  each("call_steps", [](const Call& call) { return std::uint32_t{call.steps}; });
  each("call_communicator", [](const Call& call) { return call.communicator.value; });
  each("call_rank", [](const Call& call) { return call.member; });
  each("call_channel", [](const Call& call) { return call.channel.value; });
  // The first call of a chain identifies the chain.
  each("call_chain", [this](const Call& call) {
    return call.chain.valid() ? plan_.chained[plan_.chains[call.chain].calls].value : kNothing;
  });
  each("call_stage", [](const Call& call) { return call.stage; });
  each("call_signature", [this](const Call& call) { return signature_of(call.signature); });
  add_sorts();
}

// Adds the capacities of queues: the largest number of messages in an inbox, and of ops and marks
// in a stream.
void Tables::add_queues() {
  std::vector<std::size_t> inbox(plan_.threads.size(), 0);
  std::vector<std::size_t> queue(plan_.streams.size(), 0);
  std::size_t synchronizes = 0;
  const auto add_to = [](std::vector<std::size_t>& sums, std::uint32_t place, std::size_t more) {
    sums[place] += more;
  };
  for (const sim::Actor& actor : plan_.actors) {
    add_to(inbox, actor.thread.value, 1);  // the start message
    if (actor.stream.valid()) add_to(queue, actor.stream.value, actor.ops);
    if (actor.role == Role::kSynchronize) ++synchronizes;
  }
  for (const StreamId id : ids_of(plan_.streams)) {
    queue[id.value] = std::min<std::size_t>(queue[id.value], plan_.streams[id].launch_queue);
  }
  for (const sim::Edge& edge : plan_.edges) {
    const sim::Register& reg = plan_.registers[edge.source];
    const sim::Actor& consumer = plan_.actors[edge.consumer];
    add_to(inbox, consumer.thread.value, reg.slots);
    add_to(inbox, plan_.actors[reg.producer].thread.value, reg.slots);
    if (edge.in_place.valid()) add_to(queue, consumer.stream.value, reg.slots);
  }
  const std::size_t marks =
      plan_.communicators.size() + std::min<std::size_t>(synchronizes, plan_.threads.size());
  const auto most = [](const std::vector<std::size_t>& sums) {
    return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  };
  std::size_t device_queue = 0;
  for (const sim::Device& device : plan_.devices) {
    std::size_t ops = 0;
    for (std::uint32_t i = device.streams; i < device.streams_end && device.limited(); ++i) {
      ops += queue[plan_.device_streams[i].value];
    }
    device_queue = std::max(device_queue, ops);
  }
  add_size("ROOM", device_queue);
  add_size("INBOX", most(inbox));
  add_size("QUEUE", most(queue) + marks);
}

std::uint32_t Tables::largest() const {
  // Messages in inboxes and entries of streams share one numbering.
  std::uint32_t largest = plan_.actors.size() + 2 * plan_.edges.size() +
                          plan_.communicators.size() + plan_.threads.size();
  for (const Table& table : tables_) {
    for (const std::uint32_t number : table.numbers) {
      if (number != kNothing && !table.is_short) largest = std::max(largest, number);
    }
  }
  return std::max(largest, static_cast<std::uint32_t>(plan_.op_count));
}

std::size_t Tables::size_of(const std::string& macro) const {
  const auto is_it = [&](const auto& size) { return size.first == macro; };
  return std::find_if(sizes_.begin(), sizes_.end(), is_it)->second;
}

std::string Tables::text() const {
  const auto written = [](std::uint32_t number) {
    return number == kNothing ? "255" : fmt::to_string(number);
  };
  std::string text;
  const auto out = std::back_inserter(text);
  for (const Table& table : tables_) {
    const char* const type = table.is_short ? "short" : "NUMBER";
    if (table.size.empty()) {
      fmt::format_to(out, "hidden {} {} = {};\n", type, table.name, table.numbers.front());
      continue;
    }
    fmt::format_to(out, "hidden {} {}[{}] = {{", type, table.name, table.size);
    if (table.numbers.empty()) text += "0";
    for (std::size_t i = 0; i < table.numbers.size(); ++i) {
      fmt::format_to(out, "{}{}", i == 0 ? "" : ", ", written(table.numbers[i]));
    }
    text += "};\n";
  }
  return text;
}

}  // namespace

std::string promela_obstacle(const Plan& plan) {
  if (plan.faulty) return "it has faults or timeouts";
  if (!plan.sources.empty()) return "a recv takes the message of any rank";
  if (!plan.lines.empty()) return "calls of a communicator are on several streams";
  if (std::any_of(plan.devices.begin(), plan.devices.end(),
                  [](const sim::Device& device) { return device.launch_queue > 0; })) {
    return "the streams of a device share a launch queue";
  }
  if (!plan.meetings.empty()) return "hosts meet at first use or to split (try --reading contract)";
  if (plan.open) return "ranks leave a collective before others have come (try --reading contract)";
  if (std::any_of(plan.actors.begin(), plan.actors.end(), [&](const sim::Actor& actor) {
        const bool placed = actor.stream.valid() && plan.streams[actor.stream].device.valid();
        return placed && sim::needs_slot(actor.role) && actor.kernel_slots != 1 &&
               plan.devices[plan.streams[actor.stream].device].resident > 0;
      })) {
    return "kernels need several SMs";
  }
  const std::size_t processes = std::size_t{1} + plan.threads.size() + plan.streams.size() +
                                plan.collectives.size() + plan.communicators.size() +
                                plan.channels.size() + plan.calls.size();
  std::size_t hardware_queues = 0;
  for (const sim::Device& device : plan.devices) hardware_queues += device.hardware_queues;
  const std::size_t channels = plan.threads.size() + std::size_t{2} * plan.streams.size() +
                               plan.locks.size() + plan.channels.size() +
                               std::size_t{2} * plan.devices.size() + hardware_queues;
  if (processes > kMaxProcesses || channels > kMaxChannels || Tables(plan).too_large()) {
    return "it is too large for SPIN";
  }
  return "";
}

std::string promela_tables(const Plan& plan) { return Tables(plan).text(); }

}  // namespace pipesim::formats
