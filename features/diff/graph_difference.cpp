// Describes every template as a list of keys and values, and compares the lists. New members of the
// task graph need a description here to be compared.
#include "features/diff/graph_difference.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "models/graph/actor_kinds.hpp"

namespace pipesim::models {
namespace {

using Unit = KeyValue::Unit;
using Keys = std::vector<std::pair<std::string, KeyValue>>;

KeyValue text(std::string value) {
  KeyValue result;
  result.text = std::move(value);
  return result;
}

KeyValue truth(bool value) { return text(value ? "on" : "off"); }

KeyValue number(std::int64_t value, Unit unit = Unit::kNumber) {
  KeyValue result;
  result.unit = unit;
  result.numbers = {{value, {}}};
  return result;
}

// Formats a list of tensors, independent of their order in the file.
KeyValue tensors(ShortList<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return text(list.empty() ? "none" : list);
}

KeyValue ranks(const RankSet& set) {
  KeyValue result;
  result.unit = Unit::kRanks;
  result.ranks.assign(set.begin(), set.end());
  return result;
}

std::string numbering(const Numbering& numbers) {
  return "from " + std::to_string(numbers.first) + " by " + std::to_string(numbers.step);
}

KeyValue numbers(const Expr& expr, const RankSet& on, Unit unit = Unit::kNumber) {
  if (expr.is_constant() || on.empty()) return number(expr.value(0).value_or(0), unit);
  std::map<std::int64_t, std::vector<std::uint32_t>> by_value;
  for (const std::uint32_t rank : on) by_value[expr.value(rank).value_or(0)].push_back(rank);
  if (by_value.size() == 1) return number(by_value.begin()->first, unit);
  KeyValue result;
  result.unit = unit;
  result.numbers.assign(by_value.begin(), by_value.end());
  return result;
}

template <typename Items>
std::string name_in(const Items& items, std::uint32_t index) {
  return index == kNoIndex ? std::string("its own") : items[index].name;
}

const char* nccl_mode_text(NcclMode mode) {
  constexpr std::array<const char*, 3> kNames = {"contract", "real", "cold"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::string algorithm_text(const std::optional<Algorithm>& algorithm) {
  constexpr std::array<const char*, 3> kNames = {"ring", "tree", "direct"};
  return algorithm ? kNames[static_cast<std::size_t>(*algorithm)] : "";
}

/// A template as text.
struct Description {
  std::string what;
  std::string name;
  Place place;
  Keys keys;
};

/// A step of a program, or the begin or end of a block.
struct ProgramWord {
  std::string text;
  bool is_step = false;

  friend bool operator==(const ProgramWord&, const ProgramWord&) = default;
};

class Describer {
 public:
  explicit Describer(const TaskGraph& graph) : graph_(graph) {
    all_ = RankSet::range(0, graph.ranks);
  }

  Keys top() const {
    Keys keys = {{"ranks", number(graph_.ranks)}, {"micro_batches", number(graph_.micro_batches)}};
    if (graph_.memory) keys.emplace_back("memory", numbers(*graph_.memory, all_, Unit::kBytes));
    if (!graph_.process_groups.backend.empty()) {
      keys.emplace_back("backend", text(graph_.process_groups.backend));
    }
    if (graph_.process_groups.device_id) keys.emplace_back("device_id", truth(true));
    keys.emplace_back("reading", text(nccl_mode_text(graph_.nccl_mode)));
    keys.emplace_back("defaults launch_queue", numbers(graph_.launch_queue, all_));
    keys.emplace_back("communicators creation", init(graph_.init));
    if (graph_.interface != kNoIndex) {
      keys.emplace_back("communicators interface",
                        text(graph_.cluster->interfaces[graph_.interface].name));
    }
    keys.emplace_back("device hardware_queues", numbers(graph_.hardware_queues(), all_));
    keys.emplace_back("device resident", numbers(graph_.device.resident, all_));
    keys.emplace_back("device sms", numbers(graph_.device.sms, all_));
    keys.emplace_back("device launch_queue", numbers(graph_.device.launch_queue, all_));
    keys.emplace_back("device launch_order", text(launch_order_name(graph_.device.order)));
    keys.emplace_back("device vendor",
                      text(graph_.device.vendor == Vendor::kAmd ? "amd" : "nvidia"));
    const TimeoutRules& timeouts = graph_.timeouts;
    keys.emplace_back("guards watchdog", number(timeouts.watchdog_ns, Unit::kTime));
    keys.emplace_back("guards poll", number(timeouts.poll_ns, Unit::kTime));
    keys.emplace_back("guards heartbeat", number(timeouts.heartbeat_ns, Unit::kTime));
    keys.emplace_back("guards store", number(timeouts.store_ns, Unit::kTime));
    keys.emplace_back("guards launcher", number(timeouts.launcher_ns, Unit::kTime));
    keys.emplace_back("guards launcher_ends", text(timeouts.launcher_ends_job ? "job" : "host"));
    if (graph_.cluster) add_cluster(*graph_.cluster, keys);
    add_faults(keys);
    if (graph_.pipeline) add_memory(*graph_.pipeline, keys);
    return keys;
  }

  std::vector<Description> templates() const {
    std::vector<Description> result;
    for (const Group& group : graph_.groups) result.push_back(of_group(group));
    for (const HostThread& thread : graph_.threads) {
      const char* order = thread.order == sim::ThreadOrder::kArrival ? "arrival" : "program";
      result.push_back({"thread", thread.name, thread.place, {{"order", text(order)}}});
    }
    for (const StreamTemplate& stream : graph_.streams) {
      result.push_back({"stream",
                        stream.name,
                        stream.place,
                        {{"thread", text(name_in(graph_.threads, stream.thread))},
                         {"launch_queue", numbers(stream.launch_queue, all_)},
                         {"device", number(stream.device)},
                         {"host", truth(stream.on_host)}}});
    }
    for (const CommunicatorTemplate& item : graph_.communicators) {
      result.push_back(of_communicator(item));
    }
    for (const ActorTemplate& actor : graph_.actors) result.push_back(of_actor(actor));
    return result;
  }

  /// Returns the steps of a program as text, in order.
  std::vector<ProgramWord> program(const HostThread& thread) const {
    std::vector<ProgramWord> steps;
    add_steps(thread.program, steps);
    return steps;
  }

 private:
  // Formats an init rule. Without a stated rule, init depends on the reading and the kind of call.
  static KeyValue init(const InitRule& rule) {
    const char* when = rule.at_first_use ? "first_use" : rule.said ? "start" : "by default";
    return text(when + std::string(rule.waits_for_device ? ", waits for the device" : ""));
  }

  // Adds the memory of a schedule; all other properties of a schedule are in its actors and
  // programs.
  static void add_memory(const Pipeline& pipeline, Keys& keys) {
    const auto add = [&](const char* key, std::int64_t StageCost::*bytes) {
      keys.emplace_back(key, of_costs(pipeline.costs, bytes));
    };
    add("schedule activation", &StageCost::activation_bytes);
    add("schedule weights", &StageCost::weight_bytes);
    add("schedule unsharded", &StageCost::unsharded_bytes);
  }

  // Formats member `bytes` of all costs, in order: "2 x 1024, 512".
  static KeyValue of_costs(const std::vector<StageCost>& costs, std::int64_t StageCost::*bytes) {
    std::string list;
    for (auto first = costs.begin(); first != costs.end();) {
      const auto end = std::find_if(first, costs.end(), [&](const StageCost& cost) {
        return cost.*bytes != (*first).*bytes;
      });
      if (first == costs.begin() && end == costs.end())
        return number((*first).*bytes, Unit::kBytes);
      if (!list.empty()) list += ", ";
      if (end - first > 1) list += std::to_string(end - first) + " x ";
      list += std::to_string((*first).*bytes);
      first = end;
    }
    return text(list);
  }

  void add_cluster(const Cluster& cluster, Keys& keys) const {
    std::string hosts;
    for (const std::string& host : cluster.hosts) hosts += (hosts.empty() ? "" : ", ") + host;
    keys.emplace_back("cluster hosts", text(hosts));
    keys.emplace_back("cluster devices", number(cluster.devices));
    keys.emplace_back("cluster algorithm", text(algorithm_text(cluster.algorithm)));
    std::map<std::int64_t, std::vector<std::uint32_t>> of_host;
    for (std::uint32_t rank = 0; rank < cluster.host_of_rank.size(); ++rank) {
      of_host[cluster.host_of_rank[rank]].push_back(rank);
    }
    KeyValue placed;
    placed.unit = Unit::kNumber;
    placed.numbers.assign(of_host.begin(), of_host.end());
    keys.emplace_back("cluster ranks", placed);
    for (const LinkClass& link : cluster.links) {
      keys.emplace_back("link " + link.name + " latency", number(link.latency_ns, Unit::kTime));
      keys.emplace_back("link " + link.name + " bandwidth, in a second",
                        number(link.bytes_per_second, Unit::kBytes));
    }
    const auto names = [&](const std::vector<std::uint32_t>& links) {
      std::string list;
      for (const std::uint32_t link : links) {
        list += (list.empty() ? "" : ", ") + cluster.links[link].name;
      }
      return text(list);
    };
    keys.emplace_back("cluster inside_host", names(cluster.inside_host));
    keys.emplace_back("cluster between_hosts", names(cluster.between_hosts));
    for (const NetworkInterface& item : cluster.interfaces) {
      keys.emplace_back("interface " + item.name,
                        text(item.link ? cluster.links[*item.link].name : "nowhere"));
    }
  }

  void add_faults(Keys& keys) const {
    const Faults& faults = graph_.faults;
    for (const RankFault& fault : faults.ranks) {
      const std::string key =
          (fault.device_error ? "fault: fails, " : "fault: dies, ") + fault.what;
      keys.emplace_back(key, ranks(fault.ranks));
      if (fault.at) {
        keys.emplace_back(key + ", at", numbers(*fault.at, fault.ranks, Unit::kTime));
      } else {
        const OpName op = op_name(graph_.actors[fault.actor], fault.op);
        keys.emplace_back(key + ", act", text(op.name + "#" + std::to_string(op.number)));
      }
    }
    for (const LinkFault& fault : faults.links) {
      const std::string key = "fault: link " + graph_.cluster->links[fault.link].name;
      keys.emplace_back(
          key + (fault.slower > 0 ? ", slower" : ", down"),
          fault.slower > 0 ? number(fault.slower) : number(fault.down_ns, Unit::kTime));
      keys.emplace_back(key + ", retry", number(fault.retry_ns, Unit::kTime));
      if (fault.hosts) {
        keys.emplace_back(key + ", hosts",
                          text(graph_.cluster->host_name(fault.hosts->first) + ", " +
                               graph_.cluster->host_name(fault.hosts->second)));
      }
    }
    for (const PortFault& fault : faults.ports) {
      keys.emplace_back("fault: port " + std::to_string(fault.port) + ", closed_on",
                        text(graph_.cluster ? graph_.cluster->host_name(fault.host)
                                            : std::to_string(fault.host)));
    }
    for (const DeniedFault& fault : faults.denied) {
      const std::string key =
          "fault: communicator " + graph_.communicators[fault.communicator].name;
      keys.emplace_back(key + ", denied", text(fault.what));
      keys.emplace_back(key + ", slower", number(fault.slower));
    }
  }

  static Description of_group(const Group& group) {
    std::string lists;
    for (const std::vector<std::uint32_t>& list : group.lists) {
      std::string members;
      for (const std::uint32_t rank : list) {
        members += (members.empty() ? "" : ", ") + std::to_string(rank);
      }
      lists += (lists.empty() ? "[" : ", [") + members + "]";
    }
    return {"group", group.name, group.place, {{"members", text(lists)}}};
  }

  Description of_communicator(const CommunicatorTemplate& item) const {
    Keys keys = {{"group", text(name_in(graph_.groups, item.group))},
                 {"creation", init(item.init)},
                 {"stream", text(name_in(graph_.streams, item.stream))},
                 {"host", truth(item.on_host)},
                 {"gloo", truth(item.is_gloo)},
                 {"algorithm", text(algorithm_text(item.algorithm))},
                 {"port", number(item.port)}};
    if (item.eager_bytes) keys.emplace_back("eager", number(*item.eager_bytes, Unit::kBytes));
    if (item.p2p_channels) keys.emplace_back("p2p_channels", number(*item.p2p_channels));
    if (item.p2p_channels_per_peer) {
      keys.emplace_back("p2p_channels_per_peer", number(*item.p2p_channels_per_peer));
    }
    keys.emplace_back("registered", truth(item.registered));
    keys.emplace_back("ctas", number(item.ctas));
    if (item.timeout_ns) keys.emplace_back("timeout", number(*item.timeout_ns, Unit::kTime));
    if (graph_.cluster) {
      std::string over;
      for (const std::uint32_t link : item.over) {
        over += (over.empty() ? "" : ", ") + graph_.cluster->links[link].name;
      }
      keys.emplace_back("over", text(over));
      if (item.interface != kNoIndex) {
        keys.emplace_back("interface", text(graph_.cluster->interfaces[item.interface].name));
      }
    }
    return {"communicator", item.name, item.place, std::move(keys)};
  }

  Description of_actor(const ActorTemplate& actor) const {
    Keys keys = {{"kind", text(std::string(actor.kind))},
                 {"on", ranks(actor.on)},
                 {"stream", text(name_in(graph_.streams, actor.stream))},
                 {"thread", text(actor.thread == kNoIndex ? "that of the stream"
                                                          : name_in(graph_.threads, actor.thread))},
                 {"takes", numbers(actor.takes, actor.on, Unit::kTime)},
                 {"launch_overhead", numbers(actor.launch_overhead, actor.on, Unit::kTime)},
                 {"messages", text(actor.immediate ? "immediate" : "gated")},
                 {"blocking", truth(actor.blocking)},
                 {"in_place", truth(actor.in_place)}};
    const ActorKind* kind = find_actor_kind(actor.kind);
    if (kind != nullptr && kind->rate != Rate::kOneToOne) {
      keys.emplace_back("times", numbers(actor.times, actor.on));
    }
    if (actor.ops) keys.emplace_back("source", numbers(*actor.ops, actor.on));
    if (actor.phase != kNoIndex) keys.emplace_back("phase", text(graph_.phases[actor.phase]));
    if (actor.input) {
      keys.emplace_back("input items", numbers(actor.input->items, actor.on));
      keys.emplace_back("input first", numbers(actor.input->first, actor.on, Unit::kTime));
      keys.emplace_back("input every", numbers(actor.input->every, actor.on, Unit::kTime));
    }
    if (actor.numbers) keys.emplace_back("numbers", text(numbering(*actor.numbers)));
    for (const AfterTemplate& after : actor.after) {
      keys.emplace_back("waits for " + graph_.actors[after.actor].name,
                        text("ahead " + std::to_string(after.ahead)));
    }
    if (actor.behind != kNoIndex) {
      keys.emplace_back("behind", text(graph_.streams[actor.behind].name));
    }
    if (actor.collective) add_collective(*actor.collective, keys);
    if (actor.step) add_step(*actor.step, actor.on, keys);
    for (const RegisterTemplate& reg : actor.registers) add_register(reg, actor.on, keys);
    for (const ReadTemplate& read : actor.reads) add_read(read, keys);
    return {"actor", actor.name, actor.place, std::move(keys)};
  }

  void add_collective(const CollectiveTemplate& item, Keys& keys) const {
    keys.emplace_back("collective", text(operation_name(item.operation)));
    keys.emplace_back("collective group", text(name_in(graph_.groups, item.group)));
    keys.emplace_back("communicator", text(name_in(graph_.communicators, item.communicator)));
    keys.emplace_back("bytes", number(item.bytes, Unit::kBytes));
    if (item.algorithm) keys.emplace_back("algorithm", text(algorithm_text(item.algorithm)));
    keys.emplace_back("time follows from bytes", truth(item.timed));
  }

  void add_step(const StepTemplate& step, const RankSet& on, Keys& keys) const {
    constexpr std::array<const char*, 11> kRoles = {"compute", "call",        "record", "wait",
                                                    "host",    "synchronize", "await",  "set",
                                                    "lock",    "unlock",      "create"};
    keys.emplace_back("step", text(kRoles[static_cast<std::size_t>(step.role)]));
    if (!step.at.empty()) keys.emplace_back("at", text(step.at));
    if (step.event != kNoIndex) keys.emplace_back("event", text(graph_.events[step.event].name));
    if (step.lock != kNoIndex) keys.emplace_back("lock", text(graph_.locks[step.lock]));
    if (step.communicator != kNoIndex) {
      keys.emplace_back("communicator", text(graph_.communicators[step.communicator].name));
    }
    keys.emplace_back("times", number(step.times));
    for (const std::uint32_t stream : step.streams) {
      keys.emplace_back("synchronize " + graph_.streams[stream].name, truth(true));
    }
    if (step.ctas) keys.emplace_back("ctas", numbers(*step.ctas, on));
    if (step.cooperative) keys.emplace_back("cooperative", truth(true));
    if (step.cluster != 1) keys.emplace_back("cluster", number(step.cluster));
    if (!step.dies.empty()) keys.emplace_back("raise", text(step.dies));
    if (step.timeout_ns) keys.emplace_back("timeout", number(*step.timeout_ns, Unit::kTime));
    for (std::size_t i = 0; i < step.calls.size(); ++i) {
      const CallTemplate& call = step.calls[i];
      const std::string prefix = i == 0 ? "" : "call " + std::to_string(i + 1) + " ";
      if (!call.name.empty()) keys.emplace_back(prefix + "name", text(call.name));
      keys.emplace_back(prefix + "operation", text(operation_name(call.operation)));
      keys.emplace_back(prefix + "communicator",
                        text(name_in(graph_.communicators, call.communicator)));
      if (call.peer) keys.emplace_back(prefix + "peer", numbers(*call.peer, on));
      // A call of 0 bytes differs from a call without a stated size.
      if (call.sized || call.bytes != Expr()) {
        keys.emplace_back(prefix + "bytes", numbers(call.bytes, on, Unit::kBytes));
      }
      keys.emplace_back(prefix + "type", text(call.type));
      keys.emplace_back(prefix + "tag",
                        call.tag_number ? numbers(*call.tag_number, on) : text(call.tag));
      if (call.tag_numbers) {
        keys.emplace_back(prefix + "tag numbers", text(numbering(*call.tag_numbers)));
      }
      keys.emplace_back(prefix + (i == 0 ? "call takes" : "takes"),
                        numbers(call.takes, on, Unit::kTime));
      keys.emplace_back(prefix + "algorithm", text(algorithm_text(call.algorithm)));
      keys.emplace_back(prefix + "time follows from bytes", truth(call.timed));
      if (call.registered) keys.emplace_back(prefix + "registered", truth(true));
    }
  }

  static void add_register(const RegisterTemplate& reg, const RankSet& on, Keys& keys) {
    const std::string of = reg.name == "out" ? "" : " of " + reg.name;
    keys.emplace_back("slots" + of, numbers(reg.slots, on));
    keys.emplace_back("every" + of, numbers(reg.ops_per_slot, on));
    keys.emplace_back("drain" + of, numbers(reg.drain_every, on));
    keys.emplace_back("control" + of, truth(reg.control));
    if (reg.bytes) keys.emplace_back("bytes of " + reg.name, numbers(*reg.bytes, on, Unit::kBytes));
    if (!reg.carries.empty()) keys.emplace_back("carries" + of, tensors(reg.carries));
  }

  // Uses the source of a read as the key, so that an added or removed read is a single change.
  void add_read(const ReadTemplate& read, Keys& keys) const {
    const ActorTemplate& from = graph_.actors[read.actor];
    const RegisterTemplate& reg = from.registers[read.reg];
    const std::string key =
        (reg.control ? "after " : "reads ") + from.name + (reg.name == "out" ? "" : "." + reg.name);
    keys.emplace_back(key, ranks(read.on));
    if (read.rank) keys.emplace_back(key + ", rank", numbers(*read.rank, read.on));
    if (read.group != kNoIndex) {
      keys.emplace_back(key + ", each", text(graph_.groups[read.group].name));
    }
    keys.emplace_back(key + ", per", numbers(read.ops_per_slot, read.on));
    if (read.needs) keys.emplace_back(key + ", needs", tensors(*read.needs));
  }

  void add_steps(const std::vector<ProgramStep>& program, std::vector<ProgramWord>& steps) const {
    for (const ProgramStep& step : program) {
      if (step.actor != kNoIndex) {
        steps.push_back({graph_.actors[step.actor].name, true});
        continue;
      }
      for (const std::uint32_t actor : step.list) {
        steps.push_back({graph_.actors[actor].name, true});
      }
      if (!step.list.empty()) continue;
      std::string head = "repeat " + std::to_string(step.times);
      if (step.on) {
        head += " on";
        for (const std::uint32_t rank : *step.on) head += " " + std::to_string(rank);
      }
      steps.push_back({head, false});
      add_steps(step.block, steps);
      steps.push_back({"end of a block", false});
    }
  }

  const TaskGraph& graph_;
  RankSet all_;
};

// Compares two lists of keys. If a key occurs several times (two reads of one register), compares
// the n-th occurrences.
std::vector<KeyChange> compare_keys(const Keys& before, const Keys& after) {
  using Numbered = std::map<std::pair<std::string, std::size_t>, const KeyValue*>;
  const auto numbered = [](const Keys& keys) {
    Numbered result;
    for (const auto& [key, value] : keys) {
      std::size_t n = 0;
      while (result.count({key, n}) > 0) ++n;
      result[{key, n}] = &value;
    }
    return result;
  };
  const Numbered first = numbered(before);
  const Numbered second = numbered(after);
  std::vector<KeyChange> result;
  std::map<std::string, std::size_t> seen;
  for (const auto& [key, value] : before) {
    const auto other = second.find({key, seen[key]++});
    if (other == second.end()) {
      result.push_back({key, value, std::nullopt});
    } else if (*other->second != value) {
      result.push_back({key, value, *other->second});
    }
  }
  seen.clear();
  for (const auto& [key, value] : after) {
    if (first.count({key, seen[key]++}) == 0) result.push_back({key, std::nullopt, value});
  }
  return result;
}

// Returns the first difference between two programs.
std::optional<KeyChange> compare_programs(const std::vector<ProgramWord>& before,
                                          const std::vector<ProgramWord>& after) {
  const auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  if (a == before.end() && b == after.end()) return std::nullopt;
  const auto steps =
      std::count_if(before.begin(), a, [](const ProgramWord& word) { return word.is_step; });
  KeyChange change;
  change.key = "program, from step " + std::to_string(steps + 1) + " on";
  if (a != before.end()) change.before = text(a->text);
  if (b != after.end()) change.after = text(b->text);
  return change;
}

const HostThread* find_thread(const TaskGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.threads.begin(), graph.threads.end(),
                                  [&](const HostThread& thread) { return thread.name == name; });
  return found == graph.threads.end() ? nullptr : &*found;
}

}  // namespace

GraphDifference compare_graphs(const TaskGraph& before, const TaskGraph& after) {
  const Describer first(before);
  const Describer second(after);
  GraphDifference result;
  result.top = compare_keys(first.top(), second.top());

  const std::vector<Description> olds = first.templates();
  const std::vector<Description> news = second.templates();
  // Templates on different ranks can share a name; the n-th templates of a name are compared.
  using ByName = std::map<std::tuple<std::string, std::string, std::size_t>, const Description*>;
  const auto by_name = [](const std::vector<Description>& items) {
    ByName names;
    std::map<std::pair<std::string, std::string>, std::size_t> counts;
    for (const Description& item : items) {
      names[{item.what, item.name, counts[{item.what, item.name}]++}] = &item;
    }
    return names;
  };
  const ByName old_names = by_name(olds);
  const ByName new_names = by_name(news);
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const Description& item : olds) {
    const auto other = new_names.find({item.what, item.name, counts[{item.what, item.name}]++});
    if (other == new_names.end()) {
      result.templates.push_back({item.what, item.name, item.place, std::nullopt, {}});
      continue;
    }
    std::vector<KeyChange> keys = compare_keys(item.keys, other->second->keys);
    if (item.what == "thread") {
      const auto program = compare_programs(first.program(*find_thread(before, item.name)),
                                            second.program(*find_thread(after, item.name)));
      if (program) keys.push_back(*program);
    }
    if (keys.empty()) continue;
    result.templates.push_back(
        {item.what, item.name, item.place, other->second->place, std::move(keys)});
  }
  counts.clear();
  for (const Description& item : news) {
    const std::size_t n = counts[{item.what, item.name}]++;
    if (old_names.count({item.what, item.name, n}) > 0) continue;
    result.templates.push_back({item.what, item.name, std::nullopt, item.place, {}});
  }
  return result;
}

}  // namespace pipesim::models
