// cgraph keeps nodes and clusters in the order of their ids, and by default an id is an address on
// the heap: the same graph then comes out in another order now and then. So ids are given here,
// in the order in which names are first seen (graphviz 2.42; its own discipline is in
// lib/cgraph/id.c).
#include "viz/wait_for_dot.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <graphviz/cgraph.h>

#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::Wait;
using models::WaitParty;
using sim::WaitKind;
using sim::WaitNodeKind;

constexpr const char* kStrong = "#c1121f";
constexpr const char* kGrey = "#8d99ae";
constexpr const char* kGreyText = "#5c677d";

/// Names to ids and back, for one graph. cgraph calls these. Names must be strings of cgraph's own
/// (agstrdup): it looks at what stands before them in memory.
struct Ids {
  Agraph_t* graph = nullptr;
  std::map<std::pair<int, std::string>, IDTYPE> by_name;
  std::map<std::pair<int, IDTYPE>, char*> names;
  IDTYPE next = 2;

  static void* open(Agraph_t* graph, Agdisc_t* discipline) {
    Ids* ids = reinterpret_cast<Discipline*>(discipline)->ids;  // NOLINT: a C interface
    ids->graph = graph;
    return ids;
  }
  static long map(void* state, int type, char* name, IDTYPE* id, int create) {
    Ids& ids = *static_cast<Ids*>(state);
    if (name == nullptr) {
      *id = ids.next;
      ids.next += 2;
      return 1;
    }
    const auto key = std::pair(type, std::string(name));
    const auto known = ids.by_name.find(key);
    if (known != ids.by_name.end()) {
      *id = known->second;
      return 1;
    }
    if (create == 0) return 0;
    *id = ids.next;
    ids.next += 2;
    ids.by_name.emplace(key, *id);
    ids.names.emplace(std::pair(type, *id), agstrdup(ids.graph, name));
    return 1;
  }
  static long alloc(void* /*state*/, int /*type*/, IDTYPE /*id*/) { return 0; }
  static void free(void* /*state*/, int /*type*/, IDTYPE /*id*/) {}
  static char* print(void* state, int type, IDTYPE id) {
    Ids& ids = *static_cast<Ids*>(state);
    const auto known = ids.names.find({type, id});
    return known == ids.names.end() ? nullptr : known->second;
  }
  static void close(void* /*state*/) {}
  static void idregister(void* /*state*/, int /*type*/, void* /*object*/) {}

  /// cgraph hands the discipline back as Agdisc_t; ours carries the ids behind it.
  struct Discipline {
    Agdisc_t cgraph;
    Ids* ids;
  };
};

Agiddisc_t id_discipline = {Ids::open,  Ids::map,   Ids::alloc,     Ids::free,
                            Ids::print, Ids::close, Ids::idregister};

int append_text(void* target, const char* text) {
  *static_cast<std::string*>(target) += text;
  return 0;
}

int no_flush(void* /*target*/) { return 0; }

class Drawing {
 public:
  explicit Drawing(const WaitPicture& picture) : picture_(picture) {
    discipline_ = {{&AgMemDisc, &id_discipline, &AgIoDisc}, &ids_};
    graph_.reset(agopen(text("wait_for"), Agstrictdirected, &discipline_.cgraph));
  }

  std::string run();

 private:
  struct Closer {
    void operator()(Agraph_t* graph) const { agclose(graph); }
  };

  void add_graph_style();
  std::string node_name(const WaitParty& party) const;
  void choose_strong();
  void count_folded();
  void add_node(const WaitParty& party);
  void add_folded_node(const std::string& name, const WaitParty& party);
  void add_edge(const Wait& wait, std::size_t number);
  std::string dot_text();
  Agraph_t* cluster(std::uint32_t rank);

  // cgraph takes char* and copies it.
  static char* text(const std::string& value) { return const_cast<char*>(value.c_str()); }
  void set(void* object, const char* name, const std::string& value) {
    agsafeset(object, text(name), text(value), text(""));
  }

  const WaitPicture& picture_;
  std::set<std::string> strong_;                         // what is never folded
  std::map<std::string, std::set<std::string>> folded_;  // node to what is folded in it
  std::size_t ranks_ = 0;                                // with a node
  Ids ids_;
  Ids::Discipline discipline_{};
  std::unique_ptr<Agraph_t, Closer> graph_;
};

void Drawing::add_graph_style() {
  set(graph_.get(), "label", picture_.title);
  set(graph_.get(), "labelloc", "t");
  set(graph_.get(), "rankdir", "TB");
  set(graph_.get(), "fontname", "Helvetica");
  set(graph_.get(), "nodesep", "0.35");
  agattr(graph_.get(), AGNODE, text("shape"), text("box"));
  agattr(graph_.get(), AGNODE, text("style"), text("rounded"));
  agattr(graph_.get(), AGNODE, text("fontname"), text("Helvetica"));
  agattr(graph_.get(), AGEDGE, text("fontname"), text("Helvetica"));
  agattr(graph_.get(), AGEDGE, text("fontsize"), text("10"));
}

Agraph_t* Drawing::cluster(std::uint32_t rank) {
  Agraph_t* result = agsubg(graph_.get(), text(fmt::format("cluster_rank_{}", rank)), 1);
  set(result, "label", fmt::format("rank {}", rank));
  set(result, "color", kGrey);
  return result;
}

// The cycle; without one, what the waits end at, and who waits for that straight.
void Drawing::choose_strong() {
  for (const Wait& wait : picture_.cycle) strong_.insert(party_text(wait.from));
  if (!picture_.cycle.empty()) return;
  for (const Wait& wait : picture_.all_waits) {
    if (wait.to.kind == WaitNodeKind::kAct) continue;
    // One waiter shows what a root does; a thousand would hide it.
    if (strong_.insert(party_text(wait.to)).second) strong_.insert(party_text(wait.from));
  }
}

void Drawing::count_folded() {
  std::set<std::uint32_t> ranks;
  for (const Wait& wait : picture_.all_waits) ranks.insert(wait.from.rank);
  ranks_ = ranks.size();
  for (const Wait& wait : picture_.all_waits) {
    for (const WaitParty* party : {&wait.from, &wait.to}) {
      const std::string name = node_name(*party);
      if (name != party_text(*party)) folded_[name].insert(party_text(*party));
    }
  }
}

std::string Drawing::node_name(const WaitParty& party) const {
  std::string own = party_text(party);
  if (!picture_.fold || party.kind != WaitNodeKind::kAct || strong_.count(own) > 0) return own;
  return ranks_ > kMostFoldedRanks ? "the rest" : fmt::format("rank {} the rest", party.rank);
}

void Drawing::add_folded_node(const std::string& name, const WaitParty& party) {
  Agraph_t* home = ranks_ > kMostFoldedRanks ? graph_.get() : cluster(party.rank);
  Agnode_t* node = agnode(home, text(name), 1);
  const std::size_t count = folded_[name].size();
  set(node, "label", fmt::format("{} behind", counted(count, "more act")));
  set(node, "shape", "note");
  set(node, "color", kGrey);
  set(node, "fontcolor", kGreyText);
}

void Drawing::add_node(const WaitParty& party) {
  const std::string name = node_name(party);
  if (agnode(graph_.get(), text(name), 0) != nullptr) return;
  if (folded_.count(name) > 0) {
    add_folded_node(name, party);
    return;
  }
  Agraph_t* home = party.kind == WaitNodeKind::kOutside ? graph_.get() : cluster(party.rank);
  Agnode_t* node = agnode(home, text(name), 1);
  std::string label = name;
  if (party.kind == WaitNodeKind::kAct) {
    label = fmt::format("{}\n{}", act_text(party.act), party.act.stream);
    if (party.act.micro_batch > 0) label += fmt::format(", micro-batch {}", party.act.micro_batch);
    if (!party.act.statement.empty()) label += "\n" + models::printable(party.act.statement);
    label += fmt::format("\n{}", stage_text(party.act));
  }
  const bool strong = strong_.count(name) > 0;
  set(node, "label", label);
  set(node, "color", strong ? kStrong : kGrey);
  set(node, "fontcolor", strong ? "#000000" : kGreyText);
  if (strong) set(node, "penwidth", "2.5");
}

// `number` counts from 1 along the cycle; 0: not on it.
void Drawing::add_edge(const Wait& wait, std::size_t number) {
  const std::string from_name = node_name(wait.from);
  const std::string to_name = node_name(wait.to);
  if (from_name == to_name) return;  // both are folded into one
  const bool folded = folded_.count(from_name) > 0 || folded_.count(to_name) > 0;
  Agnode_t* from = agnode(graph_.get(), text(from_name), 0);
  Agnode_t* to = agnode(graph_.get(), text(to_name), 0);
  Agedge_t* edge = agedge(graph_.get(), from, to, nullptr, 1);
  std::string kind(kind_name(wait.kind));
  if (!wait.link.empty()) kind += "\n" + wait.link;
  const bool strong = strong_.count(from_name) > 0 && strong_.count(to_name) > 0;
  if (number > 0) {
    set(edge, "label", fmt::format("  {}: {}", number, kind));
  } else if (!folded) {
    set(edge, "label", fmt::format("  {}", kind));
  }
  set(edge, "color", strong ? kStrong : kGrey);
  set(edge, "fontcolor", strong ? kStrong : kGreyText);
  if (strong) set(edge, "penwidth", "2.5");
  const bool dashed =
      !folded && (wait.any || wait.control || wait.kind == WaitKind::kCreditControl);
  if (dashed) set(edge, "style", "dashed");
}

std::string Drawing::dot_text() {
  std::string result;
  Agiodisc_t to_string = AgIoDisc;
  to_string.putstr = append_text;
  to_string.flush = no_flush;
  graph_->clos->disc.io = &to_string;
  agwrite(graph_.get(), &result);
  graph_->clos->disc.io = &AgIoDisc;
  return result;
}

std::string Drawing::run() {
  add_graph_style();
  choose_strong();
  count_folded();
  // The cycle first: what comes first in DOT is what Graphviz lays out first.
  std::map<std::pair<std::string, std::string>, std::size_t> numbers;
  for (std::size_t i = 0; i < picture_.cycle.size(); ++i) {
    const Wait& wait = picture_.cycle[i];
    numbers[{party_text(wait.from), party_text(wait.to)}] = i + 1;
    add_node(wait.from);
  }
  for (std::size_t i = 0; i < picture_.cycle.size(); ++i) add_edge(picture_.cycle[i], i + 1);
  for (const Wait& wait : picture_.all_waits) {
    add_node(wait.from);
    add_node(wait.to);
    const bool on_cycle = numbers.count({party_text(wait.from), party_text(wait.to)}) > 0;
    if (!on_cycle) add_edge(wait, 0);
  }
  return dot_text();
}

}  // namespace

std::string wait_for_dot(const WaitPicture& picture) { return Drawing(picture).run(); }

}  // namespace pipesim::viz
