// Compares task graphs: describes every template as a list of keys and values, and compares the
// lists. The rows of a struct describe its members; see models/graph/fields.hpp.
#include "features/diff/graph_difference.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "models/graph/parts.hpp"

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

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// Formats a list of tensors, sorted, because their order in the file has no meaning.
KeyValue tensors(const ShortList<std::string>& tensors) {
  std::vector<std::string> names(tensors.begin(), tensors.end());
  std::sort(names.begin(), names.end());
  return text(names.empty() ? "none" : listed(names));
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

/// A template, as keys and values.
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
    for (const auto& lock : graph_.locks) {
      if (lock.of_rank) keys.emplace_back("lock " + lock.name, text("scope: rank"));
    }
    if (!graph_.destroy_meets) keys.emplace_back("nccl", text("2.30"));
    if (!graph_.process_groups.backend.empty()) {
      keys.emplace_back("backend", text(graph_.process_groups.backend));
    }
    if (graph_.process_groups.device_id) keys.emplace_back("device_id", truth(true));
    keys.emplace_back("reading", text(std::string(nccl_mode_name(graph_.nccl_mode))));
    keys.emplace_back("defaults launch_queue", numbers(graph_.launch_queue, all_));
    add(fields_of(graph_.init, all_), "communicators ", keys);
    DeviceRule device = graph_.device;
    device.hardware_queues = graph_.hardware_queues();
    add(fields_of(device, all_), "device ", keys);
    add(fields_of(graph_.timeouts, all_), "guards ", keys);
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
      result.push_back({"stream", stream.name, stream.place, fields_of(stream, all_)});
    }
    for (const CommunicatorTemplate& item : graph_.communicators) {
      Keys keys = fields_of(item, all_);
      add(fields_of(item.init, all_), "", keys);
      result.push_back({"communicator", item.name, item.place, std::move(keys)});
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
  // Returns each member of `part` under the key of its row. `on`: the ranks on which its
  // expressions have values.
  template <typename T>
  Keys fields_of(const T& part, const RankSet& on) const {
    Keys keys;
    for (const Field<T>& field : kFields<T>) {
      visit_member(field, part, [&](const auto& member) {
        std::optional<KeyValue> value;
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, std::uint32_t>) {
          value = value_of_index(field.value, field.otherwise, member);
        } else {
          value = value_of(field.value, member, on);
        }
        if (value) keys.emplace_back(field.name, std::move(*value));
      });
    }
    return keys;
  }

  // Adds `more`, with `prefix` before its keys.
  static void add(Keys&& more, const std::string& prefix, Keys& keys) {
    for (auto& [key, value] : more) keys.emplace_back(prefix + key, std::move(value));
  }

  using Traits = const FieldTraits&;
  using Value = std::optional<KeyValue>;

  static Unit unit_of(Traits traits) {
    if (traits.unit == models::Unit::kNumber) return Unit::kNumber;
    return traits.unit == models::Unit::kTime ? Unit::kTime : Unit::kBytes;
  }

  // Return the value of a member; nullopt if the member has none to show.
  static Value value_of(Traits, bool member, const RankSet&) { return truth(member); }
  static Value value_of(Traits traits, std::int64_t member, const RankSet&) {
    return number(member, unit_of(traits));
  }
  static Value value_of(Traits traits, std::optional<std::int64_t> member, const RankSet&) {
    return member ? Value(number(*member, unit_of(traits))) : std::nullopt;
  }
  Value value_of_index(Traits traits, std::string_view otherwise, std::uint32_t member) const {
    if (traits.to == To::kNothing) return number(member);
    if (member != kNoIndex) return text(name_of(graph_, traits.to, member));
    if (traits.type.ends_with("|~")) return text("~");
    if (otherwise.empty() || otherwise == kRequired) return std::nullopt;
    return text(std::string(otherwise.substr(0, otherwise.find(','))));  // "its own, `nccl NAME`"
  }
  Value value_of(Traits traits, std::span<const std::uint32_t> members, const RankSet&) const {
    std::vector<std::string> names;
    for (const std::uint32_t index : members) names.push_back(name_of(graph_, traits.to, index));
    return text(listed(names));
  }
  static Value value_of(Traits traits, const Expr& member, const RankSet& on) {
    return numbers(member, on, unit_of(traits));
  }
  static Value value_of(Traits traits, const Boxed<Expr>& member, const RankSet& on) {
    return member ? Value(numbers(*member, on, unit_of(traits))) : std::nullopt;
  }
  static Value value_of(Traits, const std::string& member, const RankSet&) { return text(member); }
  static Value value_of(Traits, const ShortList<std::string>& member, const RankSet&) {
    return member.empty() ? std::nullopt : Value(tensors(member));
  }
  static Value value_of(Traits, const RankSet& member, const RankSet&) { return ranks(member); }
  static Value value_of(Traits traits, Word member, const RankSet&) {
    return text(member.index < 0 ? "by default" : std::string(word_at(traits.words, member.index)));
  }

  // Adds the memory of a schedule. Its other properties appear in its actors and programs.
  static void add_memory(const Pipeline& pipeline, Keys& keys) {
    const auto add = [&](const char* key, std::int64_t StageCost::*bytes) {
      keys.emplace_back(key, of_costs(pipeline.costs, bytes));
    };
    add("schedule activation", &StageCost::activation_bytes);
    add("schedule weights", &StageCost::weight_bytes);
    add("schedule unsharded", &StageCost::unsharded_bytes);
  }

  // Formats the member `bytes` of all costs, in order: "2 x 1024, 512".
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
    keys.emplace_back("cluster hosts", text(listed(cluster.hosts)));
    keys.emplace_back("cluster devices", number(cluster.devices));
    keys.emplace_back("cluster algorithm",
                      text(std::string(word_at(kAlgorithms, static_cast<int>(cluster.algorithm)))));
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
      std::vector<std::string> list;
      for (const std::uint32_t link : links) list.push_back(cluster.links[link].name);
      return text(listed(list));
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
      const std::string key = "fault: link " + graph_.cluster->links[fault.link].name + ", ";
      add(fields_of(fault, all_), key, keys);
      if (fault.hosts) {
        keys.emplace_back(key + "hosts", text(graph_.cluster->host_name(fault.hosts->first) + ", " +
                                              graph_.cluster->host_name(fault.hosts->second)));
      }
    }
    for (const PortFault& fault : faults.ports) {
      add(fields_of(fault, all_), "fault: port " + std::to_string(fault.port) + ", ", keys);
    }
    for (const DeniedFault& fault : faults.denied) {
      add(fields_of(fault, all_),
          "fault: communicator " + graph_.communicators[fault.communicator].name + ", ", keys);
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

  Description of_actor(const ActorTemplate& actor) const {
    Keys keys = {{"kind", text(std::string(actor.kind))}};
    add(fields_of(actor, actor.on), "", keys);
    if (actor.input) add(fields_of(*actor.input, actor.on), "input ", keys);
    if (actor.numbers) keys.emplace_back("numbers", text(numbering(*actor.numbers)));
    for (const AfterTemplate& after : actor.after) {
      keys.emplace_back("waits for " + graph_.actors[after.actor].name,
                        text("ahead " + std::to_string(after.ahead)));
    }
    if (actor.collective) {
      keys.emplace_back("collective", text(operation_name(actor.collective->operation)));
      add(fields_of(*actor.collective, actor.on), "", keys);
    }
    if (actor.step) add_step(*actor.step, actor.on, keys);
    for (const RegisterTemplate& reg : actor.registers) {
      for (auto& [key, value] : fields_of(reg, actor.on)) {
        const bool is_key_of_actor = reg.name == "out" && key != "bytes";
        keys.emplace_back(is_key_of_actor ? key : key + " of " + reg.name, std::move(value));
      }
    }
    for (const ReadTemplate& read : actor.reads) add_read(read, keys);
    return {"actor", actor.name, actor.place, std::move(keys)};
  }

  void add_step(const StepTemplate& step, const RankSet& on, Keys& keys) const {
    keys.emplace_back("step", text(std::string(sim::facts(step.role).name)));
    add(fields_of(step, on), "", keys);
    for (std::size_t i = 0; i < step.calls.size(); ++i) {
      const CallTemplate& call = step.calls[i];
      const std::string prefix = i == 0 ? "" : "call " + std::to_string(i + 1) + " ";
      keys.emplace_back(prefix + "operation", text(operation_name(call.operation)));
      for (auto& [key, value] : fields_of(call, on)) {
        // A call of 0 bytes differs from a call without a stated size.
        if (key == "bytes" && !call.sized && call.bytes == Expr()) continue;
        const bool is_first_time = i == 0 && key == "takes";  // the step also has a `takes`
        keys.emplace_back(is_first_time ? "call takes" : prefix + key, std::move(value));
      }
      if (call.tag_numbers) {
        keys.emplace_back(prefix + "tag numbers", text(numbering(*call.tag_numbers)));
      }
    }
  }

  // Adds a read under the name of its source, so that an added or removed read is a single change.
  void add_read(const ReadTemplate& read, Keys& keys) const {
    const ActorTemplate& from = graph_.actors[read.actor];
    const RegisterTemplate& reg = from.registers[read.reg];
    std::string key = (reg.control ? "after " : "reads ") + from.name;
    if (reg.name != "out") key += "." + reg.name;
    keys.emplace_back(key, ranks(read.on));
    for (auto& [name, value] : fields_of(read, read.on)) {
      if (name != "from" && name != "on") keys.emplace_back(key + ", " + name, std::move(value));
    }
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
  // Templates on different ranks can share a name. Compares the n-th templates of each name.
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
