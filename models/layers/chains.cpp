#include "models/layers/chains.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "models/graph/graph_edit.hpp"

namespace pipesim::models {
namespace {

bool reads(const ActorTemplate& reader, std::uint32_t producer) {
  return std::any_of(reader.reads.begin(), reader.reads.end(),
                     [&](const ReadTemplate& read) { return read.actor == producer; });
}

bool is_data(const TaskGraph& graph, const ReadTemplate& read) {
  return !graph.actors[read.actor].registers[read.reg].control;
}

bool can_join(const TaskGraph& graph, const std::vector<ChainLink>& links, std::uint32_t a,
              std::uint32_t b) {
  return links[a].may_chain && links[b].may_chain && links[a].stage == links[b].stage &&
         links[a].ops == links[b].ops && graph.actors[a].stream == graph.actors[b].stream;
}

std::vector<std::vector<std::uint32_t>> chains_of(const TaskGraph& graph,
                                                  const std::vector<ChainLink>& links) {
  std::vector<std::uint32_t> parent(graph.actors.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](std::uint32_t actor) {
    while (parent[actor] != actor) actor = parent[actor] = parent[parent[actor]];
    return actor;
  };
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
    for (const ReadTemplate& read : graph.actors[i].reads) {
      const bool joins = is_data(graph, read) && can_join(graph, links, read.actor, i);
      if (!joins) continue;
      // Makes the first actor of a chain its root, so that chains are sorted by their first actors.
      const auto [first, other] = std::minmax({root(read.actor), root(i)});
      parent[other] = first;
    }
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_root;
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
    if (links[i].may_chain) by_root[root(i)].push_back(i);
  }
  std::vector<std::vector<std::uint32_t>> chains;
  for (auto& [first, members] : by_root) chains.push_back(std::move(members));
  return chains;
}

// Returns the readers of the chain's data that feed no other reader of this data.
std::vector<std::uint32_t> sinks_of(const TaskGraph& graph,
                                    const std::vector<std::uint32_t>& chain) {
  const std::set<std::uint32_t> members(chain.begin(), chain.end());
  std::set<std::uint32_t> readers;
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
    for (const ReadTemplate& read : graph.actors[i].reads) {
      if (is_data(graph, read) && members.count(read.actor) > 0) readers.insert(i);
    }
  }
  std::set<std::uint32_t> sinks = readers;
  for (const std::uint32_t reader : readers) {
    for (const ReadTemplate& read : graph.actors[reader].reads) sinks.erase(read.actor);
  }
  return {sinks.begin(), sinks.end()};
}

}  // namespace

ReadTemplate& add_control(TaskGraph& graph, std::uint32_t producer, std::uint32_t reader,
                          const std::string& name) {
  ShortList<RegisterTemplate>& registers = graph.actors[producer].registers;
  auto reg = std::find_if(registers.begin(), registers.end(), [&](const RegisterTemplate& known) {
    return known.name == name && known.control;
  });
  if (reg == registers.end()) {
    RegisterTemplate made;
    made.name = free_name(registers, name);
    made.place = graph.actors[producer].place;
    made.control = true;
    reg = &registers.emplace_back(std::move(made));
  }
  ReadTemplate read;
  read.place = graph.actors[reader].place;
  read.actor = producer;
  read.reg = static_cast<std::uint32_t>(reg - registers.begin());
  read.on = graph.actors[reader].on;
  return graph.actors[reader].reads.emplace_back(std::move(read));
}

void add_chain_order(TaskGraph& graph, const std::vector<ChainLink>& links, bool memory_guard) {
  for (const std::vector<std::uint32_t>& chain : chains_of(graph, links)) {
    for (std::size_t i = 1; i < chain.size(); ++i) {
      if (reads(graph.actors[chain[i]], chain[i - 1])) continue;
      add_control(graph, chain[i - 1], chain[i], "ctrl-" + graph.actors[chain[i]].name);
    }
    // A chain of one task shares no memory.
    if (!memory_guard || chain.size() < 2) continue;
    for (const std::uint32_t sink : sinks_of(graph, chain)) {
      if (sink == chain.front() || reads(graph.actors[sink], chain.front())) continue;
      add_control(graph, chain.front(), sink, "guard");
    }
  }
}

}  // namespace pipesim::models
