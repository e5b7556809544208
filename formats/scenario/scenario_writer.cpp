// Writes the top level of the file here, actors in actor_writer.cpp, host programs in
// program_writer.cpp.
//
// Declares every thread, stream and communicator, so that all keep their indices when the file is
// read. Declares events, locks and phases only if their first uses are in another order.
#include "formats/scenario/scenario_writer.hpp"

#include <algorithm>
#include <set>

#include "formats/document/value_writer.hpp"
#include "formats/document/versions.hpp"
#include "formats/document/yaml_writer.hpp"
#include "formats/scenario/cluster_reader.hpp"
#include "formats/scenario/field_writer.hpp"
#include "formats/scenario/section_writers.hpp"

namespace pipesim::formats {
namespace {

using models::Expr;
using models::kNoIndex;
using models::TaskGraph;

class ScenarioWriter {
 public:
  ScenarioWriter(const TaskGraph& graph, bool brief);

  std::string run();

 private:
  YamlNode groups() const;
  YamlNode cluster(const models::Cluster& cluster) const;
  static YamlNode link_classes(const models::Cluster& cluster);
  YamlNode seats(const models::Cluster& cluster) const;
  bool comes_with_programs(const models::StreamTemplate& stream) const;
  bool comes_with_programs(const models::CommunicatorTemplate& communicator) const;
  bool threads_follow_from_streams() const;
  YamlNode threads() const;
  YamlNode program(const std::vector<models::ProgramStep>& steps) const;
  YamlNode streams() const;
  YamlNode communicators() const;
  YamlNode communicator(const models::CommunicatorTemplate& communicator) const;
  YamlNode device() const;
  YamlNode timeouts() const;
  YamlNode faults() const;
  YamlNode rank_fault(const models::RankFault& fault) const;
  YamlNode link_fault(const models::LinkFault& fault) const;
  YamlNode links(const std::vector<std::uint32_t>& indices) const;
  void add_declared(YamlNode& top) const;
  YamlNode locks() const;

  const TaskGraph& graph_;
  const FieldWriter fields_{graph_};
  const bool brief_;
  bool programs_name_all_ = false;  // whether the form is brief and all actors are steps
  std::set<std::uint32_t> called_;  // communicators that calls can name by their group
};

ScenarioWriter::ScenarioWriter(const TaskGraph& graph, bool brief) : graph_(graph), brief_(brief) {
  programs_name_all_ =
      brief && std::all_of(graph.actors.begin(), graph.actors.end(),
                           [](const auto& actor) { return actor.step.has_value(); });
  std::set<std::uint32_t> barriers;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (!actor.step) continue;
    for (const models::CallTemplate& call : actor.step->calls) {
      called_.insert(call.communicator);
      // The file names no backend, so a barrier over a group would be a barrier of hosts.
      if (call.operation == models::Operation::kBarrier) barriers.insert(call.communicator);
    }
  }
  for (const std::uint32_t communicator : barriers) called_.erase(communicator);
}

std::string ScenarioWriter::run() {
  YamlNode top = YamlNode::map();
  const auto add = [&top](const char* key, YamlNode value) {
    if (!value.empty()) top.add(key, std::move(value));
  };
  top.add("schema", YamlNode::value(kScenarioSchema));
  if (!graph_.name.empty()) top.add("name", YamlNode::text(graph_.name));
  top.add("ranks", number(graph_.ranks));
  if (graph_.micro_batches != 0) top.add("micro_batches", number(graph_.micro_batches));
  if (graph_.nccl_mode != models::NcclMode::kCold) {
    const bool contract = graph_.nccl_mode == models::NcclMode::kContract;
    top.add("reading", YamlNode::text(contract ? "contract" : "real"));
  }
  if (!graph_.destroy_meets) top.add("nccl", YamlNode::text("2.30"));
  if (graph_.memory) top.add("memory", expression(*graph_.memory, ValueType::kBytes));
  add("groups", groups());
  if (graph_.processes.group != kNoIndex) {
    top.add("processes", YamlNode::text(graph_.groups[graph_.processes.group].name));
  }
  if (graph_.cluster) top.add("cluster", cluster(*graph_.cluster));
  if (graph_.launch_queue != Expr::constant(1024)) {
    YamlNode defaults = YamlNode::map();
    defaults.add("launch_queue", expression(graph_.launch_queue, ValueType::kNumber));
    top.add("defaults", std::move(defaults));
  }
  if (!programs_name_all_ && !threads_follow_from_streams()) add("threads", threads());
  const bool all_come = std::all_of(graph_.streams.begin(), graph_.streams.end(),
                                    [&](const auto& it) { return comes_with_programs(it); });
  if (!programs_name_all_ || !all_come) top.add("streams", streams());
  add("communicators", communicators());
  add("device", device());
  add("guards", timeouts());
  add_declared(top);
  YamlNode actors = write_actors(graph_);
  YamlNode programs = write_programs(graph_, brief_);
  if (!actors.empty() || programs.empty()) top.add("actors", std::move(actors));
  add("programs", std::move(programs));
  add("faults", faults());
  if (brief_) return top.document({"actors", "programs"}, true);
  return top.document(
      {"groups", "threads", "streams", "communicators", "actors", "programs", "faults"});
}

// ---------------------------------------------------------------------------------------------
// Groups and cluster

YamlNode ScenarioWriter::groups() const {
  YamlNode map = YamlNode::map();
  for (const models::Group& each : graph_.groups) {
    map.add(each.name, group_lists(each.lists, graph_.ranks));
  }
  return map;
}

YamlNode ScenarioWriter::links(const std::vector<std::uint32_t>& indices) const {
  YamlNode list = YamlNode::list();
  for (const std::uint32_t link : indices) {
    list.add(YamlNode::text(graph_.cluster->links[link].name));
  }
  return list;
}

YamlNode ScenarioWriter::cluster(const models::Cluster& cluster) const {
  YamlNode map = YamlNode::map();
  YamlNode hosts = YamlNode::list();
  bool usual = true;
  for (std::size_t host = 0; host < cluster.hosts.size(); ++host) {
    usual = usual && cluster.hosts[host] == "node" + std::to_string(host);
    hosts.add(YamlNode::text(cluster.hosts[host]));
  }
  map.add("hosts", usual ? number(static_cast<std::int64_t>(cluster.hosts.size())) : hosts);
  const auto host_count = static_cast<std::uint32_t>(cluster.hosts.size());
  if (cluster.devices != (graph_.ranks + host_count - 1) / host_count) {
    map.add("devices", number(cluster.devices));
  }
  map.add("ranks", seats(cluster));
  const auto& known = models::known_links();
  if (!std::equal(cluster.links.begin(), cluster.links.end(), known.begin(), known.end())) {
    map.add("links", link_classes(cluster));
  }
  if (cluster.inside_host != usual_links(cluster, true)) {
    map.add("inside_host", links(cluster.inside_host));
  }
  if (cluster.between_hosts != usual_links(cluster, false)) {
    map.add("between_hosts", links(cluster.between_hosts));
  }
  if (cluster.algorithm != models::Algorithm::kRing) {
    map.add("algorithm", YamlNode::text(algorithm_name(cluster.algorithm)));
  }
  if (!cluster.interfaces.empty()) {
    YamlNode interfaces = YamlNode::map();
    for (const models::NetworkInterface& interface : cluster.interfaces) {
      interfaces.add(interface.name,
                     YamlNode::text(interface.link ? cluster.links[*interface.link].name
                                                   : std::string("nowhere")));
    }
    map.add("interfaces", std::move(interfaces));
  }
  return map;
}

YamlNode ScenarioWriter::link_classes(const models::Cluster& cluster) {
  YamlNode classes = YamlNode::map();
  for (const models::LinkClass& link : cluster.links) {
    YamlNode fields = YamlNode::map();
    fields.add("latency", time(link.latency_ns));
    fields.add("bandwidth", bandwidth(link.bytes_per_second));
    classes.add(link.name, std::move(fields));
  }
  return classes;
}

// Writes the placement of ranks.
YamlNode ScenarioWriter::seats(const models::Cluster& cluster) const {
  const auto& hosts = cluster.host_of_rank;
  const auto per_host =
      static_cast<std::uint32_t>(std::count(hosts.begin(), hosts.end(), hosts.front()));
  const auto count = static_cast<std::uint32_t>(cluster.hosts.size());
  bool filled = true;
  bool dealt = true;
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
    filled = filled && hosts[rank] == rank / per_host;
    dealt = dealt && hosts[rank] == rank % count;
  }
  if (filled) return YamlNode::text(std::to_string(per_host) + " per host");
  if (dealt) return YamlNode::text("round robin");
  YamlNode list = YamlNode::list();
  for (const std::uint32_t host : hosts) list.add(number(host));
  return list;
}

// ---------------------------------------------------------------------------------------------
// Threads, streams, communicators, devices

// Whether declaring the streams adds exactly these threads, in this order.
bool ScenarioWriter::threads_follow_from_streams() const {
  std::uint32_t made = 0;
  for (const models::StreamTemplate& stream : graph_.streams) {
    if (stream.thread == kNoIndex || stream.thread < made) continue;
    if (stream.thread > made) return false;
    ++made;
  }
  return made == graph_.threads.size() &&
         std::all_of(graph_.threads.begin(), graph_.threads.end(),
                     [](const models::HostThread& thread) {
                       return thread.order == sim::ThreadOrder::kArrival;
                     });
}

YamlNode ScenarioWriter::threads() const {
  YamlNode map = YamlNode::map();
  for (const models::HostThread& thread : graph_.threads) {
    YamlNode fields = YamlNode::map();
    if (thread.order == sim::ThreadOrder::kProgram) {
      if (is_host_program(graph_, thread)) {
        fields.add("order", YamlNode::text("program"));
      } else {
        fields.add("program", program(thread.program));
      }
    }
    map.add(thread.name, std::move(fields));
  }
  return map;
}

YamlNode ScenarioWriter::program(const std::vector<models::ProgramStep>& steps) const {
  YamlNode list = YamlNode::list();
  for (const models::ProgramStep& step : steps) {
    if (step.actor != kNoIndex) {
      list.add(YamlNode::text(graph_.actors[step.actor].name));
      continue;
    }
    YamlNode block = YamlNode::map();
    if (step.on) block.add("on", ranks(*step.on, graph_.ranks));
    if (step.times != 1 || !step.on) block.add("repeat", number(step.times));
    block.add("do", program(step.block));
    list.add(std::move(block));
  }
  return list;
}

YamlNode ScenarioWriter::streams() const {
  YamlNode names = YamlNode::list();
  YamlNode map = YamlNode::map();
  bool says_more = false;
  for (const models::StreamTemplate& stream : graph_.streams) {
    YamlNode fields = YamlNode::map();
    if (stream.thread == kNoIndex) {
      fields.add("thread", YamlNode::nothing());
    } else if (graph_.threads[stream.thread].name != stream.name) {
      fields.add("thread", YamlNode::text(graph_.threads[stream.thread].name));
    }
    models::StreamTemplate plain;
    plain.launch_queue = graph_.launch_queue;
    fields_.write(stream, plain, fields);
    says_more = says_more || !fields.empty();
    names.add(YamlNode::text(stream.name));
    map.add(stream.name, std::move(fields));
  }
  return says_more ? map : names;
}

// Whether the first use of the stream in a program adds an identical stream.
bool ScenarioWriter::comes_with_programs(const models::StreamTemplate& stream) const {
  models::StreamTemplate plain;
  plain.name = stream.name;
  plain.place = stream.place;
  plain.launch_queue = graph_.launch_queue;
  plain.on_host = stream.on_host &&
                  std::any_of(graph_.communicators.begin(), graph_.communicators.end(),
                              [&](const auto& it) { return it.on_host && it.name == stream.name; });
  return stream == plain;
}

// Whether the first use of the group's name adds an identical communicator.
bool ScenarioWriter::comes_with_programs(const models::CommunicatorTemplate& communicator) const {
  const std::string& name = communicator.name;
  models::CommunicatorTemplate plain;
  plain.name = name;
  plain.place = communicator.place;
  plain.group = communicator.group;
  plain.init = graph_.init;
  plain.stream = communicator.stream;
  const bool has_own_stream =
      communicator.stream == kNoIndex ||
      graph_.streams[communicator.stream].name == models::calls_stream(name);
  const auto index = static_cast<std::uint32_t>(&communicator - graph_.communicators.data());
  return communicator == plain && has_own_stream && called_.contains(index) &&
         graph_.groups[communicator.group].name == name;
}

YamlNode ScenarioWriter::communicators() const {
  YamlNode map = YamlNode::map();
  fields_.write(graph_.init, {}, map);
  YamlNode named = YamlNode::map();
  for (const models::CommunicatorTemplate& each : graph_.communicators) {
    if (brief_ && comes_with_programs(each)) continue;
    named.add(each.name, communicator(each));
  }
  if (!named.empty()) map.add("named", std::move(named));
  return map;
}

YamlNode ScenarioWriter::communicator(const models::CommunicatorTemplate& communicator) const {
  YamlNode map = YamlNode::map();
  fields_.write(communicator, {}, map, [&](std::string_view key) {
    // The stream of calls on the host has the communicator's name; no key can change it.
    if (key == "stream" && communicator.stream != kNoIndex && !communicator.on_host) {
      map.add(key, YamlNode::text(graph_.streams[communicator.stream].name));
    }
    if (key == (communicator.is_gloo ? "gloo" : "host") && communicator.on_host) {
      map.add(key, truth(true));
    }
  });
  fields_.write(communicator.init, graph_.init, map);
  return map;
}

YamlNode ScenarioWriter::device() const {
  YamlNode map = YamlNode::map();
  fields_.write(graph_.device, {}, map);
  return map;
}

// Tracks whether first uses are in the order of indices, without gaps.
class FirstUses {
 public:
  void see(std::uint32_t index) {
    if (index == kNoIndex || index < next_) return;
    in_order_ = in_order_ && index == next_;
    next_ = index + 1;
  }
  bool in_order(std::size_t count) const { return in_order_ && next_ == count; }

 private:
  std::uint32_t next_ = 0;
  bool in_order_ = true;
};

void ScenarioWriter::add_declared(YamlNode& top) const {
  FirstUses phases;
  FirstUses events;
  FirstUses locks;
  std::vector<bool> recorded(graph_.events.size(), false);
  std::vector<bool> awaited(graph_.events.size(), false);
  for (const models::ActorTemplate& actor : graph_.actors) {
    phases.see(actor.phase);
    if (actor.step) events.see(actor.step->event);
    if (actor.step) locks.see(actor.step->lock);
    if (!actor.step || actor.step->event == kNoIndex) continue;
    (actor.step->role == sim::Role::kRecord ? recorded : awaited)[actor.step->event] = true;
  }
  if (!phases.in_order(graph_.phases.size())) top.add("phases", text_list(graph_.phases));
  YamlNode list = YamlNode::list();
  for (const models::EventTemplate& event : graph_.events) {
    YamlNode item = YamlNode::map();
    item.add(event.shared ? "key" : "event", YamlNode::text(event.name));
    list.add(std::move(item));
  }
  // A wait for an event that is never recorded is an error, unless the event is declared.
  bool waits_in_vain = false;
  for (std::size_t i = 0; i < graph_.events.size(); ++i) {
    waits_in_vain = waits_in_vain || (awaited[i] && !recorded[i] && !graph_.events[i].shared);
  }
  const bool events_in_order = brief_ || events.in_order(graph_.events.size());
  if (!events_in_order || waits_in_vain) top.add("events", std::move(list));
  const bool scoped = std::any_of(graph_.locks.begin(), graph_.locks.end(),
                                  [](const models::LockTemplate& lock) { return lock.of_rank; });
  if (scoped || !locks.in_order(graph_.locks.size())) top.add("locks", this->locks());
}

YamlNode ScenarioWriter::locks() const {
  YamlNode list = YamlNode::list();
  for (const models::LockTemplate& lock : graph_.locks) {
    YamlNode item = YamlNode::text(lock.name);
    if (lock.of_rank) {
      item = YamlNode::map();
      item.add("lock", YamlNode::text(lock.name));
      item.add("scope", YamlNode::text("rank"));
    }
    list.add(std::move(item));
  }
  return list;
}

// ---------------------------------------------------------------------------------------------
// Faults and timeouts

YamlNode ScenarioWriter::timeouts() const {
  YamlNode map = YamlNode::map();
  fields_.write(graph_.timeouts, {}, map);
  return map;
}

YamlNode ScenarioWriter::faults() const {
  YamlNode list = YamlNode::list();
  for (const models::RankFault& fault : graph_.faults.ranks) list.add(rank_fault(fault));
  for (const models::LinkFault& fault : graph_.faults.links) list.add(link_fault(fault));
  const auto add = [&](const auto& fault) {
    YamlNode map = YamlNode::map();
    fields_.write(fault, {}, map);
    list.add(std::move(map));
  };
  for (const models::PortFault& fault : graph_.faults.ports) add(fault);
  for (const models::DeniedFault& fault : graph_.faults.denied) add(fault);
  return list;
}

YamlNode ScenarioWriter::rank_fault(const models::RankFault& fault) const {
  YamlNode map = YamlNode::map();
  map.add("rank", ranks(fault.ranks, graph_.ranks));
  map.add(fault.device_error ? "fails" : "dies", YamlNode::text(fault.what));
  if (fault.at) {
    map.add("at", expression(*fault.at, ValueType::kTime));
  } else {
    const models::OpName op = op_name(graph_.actors[fault.actor], fault.op);
    map.add("act", YamlNode::text(op.name + '#' + std::to_string(op.number)));
  }
  return map;
}

YamlNode ScenarioWriter::link_fault(const models::LinkFault& fault) const {
  YamlNode map = YamlNode::map();
  models::LinkFault plain;
  if (fault.slower == 0) plain.down_ns = -1;  // writes `down`: a fault needs `down` or `slower`
  fields_.write(fault, plain, map, [&](std::string_view) {
    if (!fault.hosts) return;
    YamlNode hosts = YamlNode::list();
    hosts.add(YamlNode::text(graph_.cluster->hosts[fault.hosts->first]));
    hosts.add(YamlNode::text(graph_.cluster->hosts[fault.hosts->second]));
    map.add("hosts", std::move(hosts));
  });
  return map;
}

}  // namespace

std::string write_scenario(const TaskGraph& graph, ScenarioForm form) {
  return ScenarioWriter(graph, form == ScenarioForm::kBrief).run();
}

}  // namespace pipesim::formats
