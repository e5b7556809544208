#include "viz/draw/wait_for_dot.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "viz/draw/graphviz.hpp"
#include "viz/draw/legend.hpp"
#include "viz/draw/palette.hpp"
#include "viz/report_lines.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::Wait;
using models::WaitParty;
using sim::WaitKind;
using sim::WaitNodeKind;

constexpr std::size_t kEdgeLine = 22;  // characters of a line beside an edge

// Keeps the label of an edge away from it; plain spaces are lost in SVG.
const std::string kAway = "&#160;&#160;&#160;";

/// What is folded into a node.
struct Folded {
  std::set<std::string> acts;
  std::set<std::uint32_t> ranks;
};

bool is_dashed(const Wait& wait) {
  return wait.any || wait.control || wait.kind == WaitKind::kCreditControl;
}

// Why a rank that is waited for does not come.
const char* root_name(const Wait& wait) {
  if (wait.kind == WaitKind::kFailedLink) return "cannot be reached";
  if (wait.kind != WaitKind::kDeadRank) return "never calls it";
  return wait.from.rank == wait.to.rank ? "its device failed" : "died";
}

class Drawing {
 public:
  explicit Drawing(const WaitPicture& picture)
      : picture_(picture), graph_("wait_for", /*one_edge=*/true) {}

  std::string run(PictureFormat format) {
    add_style();
    choose_strong();
    look_at_all();
    add_all();
    if (format != PictureFormat::kDot && graph_.node_count() > kMaxWaitNodes) {
      throw DrawingError(
          models::Code::kPictureSize,
          fmt::format("the wait-for graph has {} nodes, and a picture can have at most {}: {}, or "
                      "write it as .dot",
                      graph_.node_count(), kMaxWaitNodes,
                      picture_.fold ? "make the scenario smaller with --set" : "leave out --all"));
    }
    return graph_.drawing(format);
  }

 private:
  void add_style();
  void choose_strong();
  void look_at_all();
  void add_all();
  std::string node_name(const WaitParty& party) const;
  void add_node(const WaitParty& party);
  void add_folded_node(const std::string& name, const WaitParty& party);
  void add_edge(const Wait& wait, std::size_t number);
  Graphviz::Cluster cluster(std::uint32_t rank);

  const WaitPicture& picture_;
  std::set<std::string> strong_;                     // what is never folded
  std::set<std::uint32_t> strong_ranks_;             // that have some of it
  std::map<std::uint32_t, const char*> rank_roots_;  // ranks that are waited for, and why
  std::map<std::string, Folded> folded_;             // by node
  std::set<std::string> folded_with_an_edge_;        // to something strong
  Graphviz graph_;
};

void Drawing::add_style() {
  std::vector<std::string> lines;
  if (!picture_.subtitle.empty()) lines.push_back(picture_.subtitle);
  lines.emplace_back(picture_.all_waits.empty()
                         ? "No op waits for another."
                         : "An arrow points from an op to what it waits for.");
  if (std::any_of(picture_.all_waits.begin(), picture_.all_waits.end(), is_dashed)) {
    lines.emplace_back("Dashed: a control register, or any one of several suffices.");
  }
  graph_.set_html(graph_.root(), "label", legend_html(picture_.title, lines));
  graph_.set(graph_.root(), "labelloc", "t");
  graph_.set(graph_.root(), "rankdir", "TB");
  graph_.set(graph_.root(), "fontname", "Helvetica");
  graph_.set(graph_.root(), "nodesep", "0.35");
  graph_.set_nodes("shape", "box");
  graph_.set_nodes("style", "rounded");
  graph_.set_nodes("fontname", "Helvetica");
  graph_.set_edges("fontname", "Helvetica");
  graph_.set_edges("fontsize", "10");
}

Graphviz::Cluster Drawing::cluster(std::uint32_t rank) {
  const Graphviz::Cluster result = graph_.cluster(graph_.root(), fmt::format("rank_{}", rank));
  graph_.set(result, "label", fmt::format("rank {}", rank));
  graph_.set(result, "labeljust", "l");
  graph_.set(result, "color", kGrey);
  graph_.set(result, "margin", "16");
  return result;
}

// The cycle; without one, what the waits end at, and who waits for that straight.
void Drawing::choose_strong() {
  const auto choose = [&](const WaitParty& party) {
    if (party.kind != WaitNodeKind::kOutside) strong_ranks_.insert(party.rank);
    return strong_.insert(party_text(party)).second;
  };
  for (const Wait& wait : picture_.cycle) choose(wait.from);
  for (const std::vector<Wait>& cycle : picture_.other_cycles) {
    for (const Wait& wait : cycle) choose(wait.from);
  }
  if (!picture_.cycle.empty()) return;
  for (const Wait& wait : picture_.all_waits) {
    if (wait.to.kind == WaitNodeKind::kAct) continue;
    // One waiter shows what a root does; a thousand would hide it.
    if (choose(wait.to)) choose(wait.from);
  }
}

void Drawing::look_at_all() {
  for (const Wait& wait : picture_.all_waits) {
    if (wait.to.kind == WaitNodeKind::kRank) {
      rank_roots_.emplace(wait.to.rank, root_name(wait));
    }
    for (const WaitParty* party : {&wait.from, &wait.to}) {
      const std::string name = node_name(*party);
      if (name == party_text(*party)) continue;
      folded_[name].acts.insert(party_text(*party));
      folded_[name].ranks.insert(party->rank);
    }
  }
}

// Ranks that have nothing strong are all folded into one node.
std::string Drawing::node_name(const WaitParty& party) const {
  std::string own = party_text(party);
  if (!picture_.fold || party.kind != WaitNodeKind::kAct || strong_.count(own) > 0) return own;
  const bool alone = strong_ranks_.count(party.rank) > 0 && strong_ranks_.size() <= kMaxFoldedRanks;
  return alone ? fmt::format("rank {} the rest", party.rank) : "the rest";
}

void Drawing::add_folded_node(const std::string& name, const WaitParty& party) {
  const Folded& folded = folded_.at(name);
  const bool one_rank = folded.ranks.size() == 1;
  const Graphviz::Node node = graph_.node(one_rank ? cluster(party.rank) : graph_.root(), name);
  std::string label = fmt::format("{}\nbehind", counted(folded.acts.size(), "more op"));
  if (!one_rank) {
    label = fmt::format("ranks {}:\n{}", short_ranges({folded.ranks.begin(), folded.ranks.end()}),
                        label);
  }
  graph_.set(node, "label", label);
  graph_.set(node, "shape", "note");
  graph_.set(node, "color", kGrey);
  graph_.set(node, "fontcolor", kGreyText);
}

void Drawing::add_node(const WaitParty& party) {
  const std::string name = node_name(party);
  if (graph_.find(name) != nullptr) return;
  if (folded_.count(name) > 0) {
    add_folded_node(name, party);
    return;
  }
  const Graphviz::Node node =
      graph_.node(party.kind == WaitNodeKind::kOutside ? graph_.root() : cluster(party.rank), name);
  std::string label = name;
  if (party.kind == WaitNodeKind::kRank) {
    label += fmt::format("\n{}", rank_roots_.at(party.rank));
  }
  if (party.kind == WaitNodeKind::kAct) {
    label = act_text(party.act);
    if (!party.act.stream.empty()) label += "\n" + party.act.stream;
    if (party.act.micro_batch > 0) label += fmt::format(", micro-batch {}", party.act.micro_batch);
    if (!party.act.statement.empty()) label += "\n" + models::printable(party.act.statement);
    label += fmt::format("\n{}", stage_text(party.act));
  }
  const bool strong = strong_.count(name) > 0;
  graph_.set(node, "label", label_text(label));
  graph_.set(node, "color", strong ? kStrong : kGrey);
  graph_.set(node, "fontcolor", strong ? "#000000" : kGreyText);
  if (strong) graph_.set(node, "penwidth", "2.5");
}

// `number` counts from 1 along the cycle; 0: not on it.
void Drawing::add_edge(const Wait& wait, std::size_t number) {
  const std::string from_name = node_name(wait.from);
  const std::string to_name = node_name(wait.to);
  if (from_name == to_name) return;  // both are folded into one
  const bool from_folded = folded_.count(from_name) > 0;
  const bool folded = from_folded || folded_.count(to_name) > 0;
  // What is folded waits for most of the rest, in both directions: one edge says that it is behind.
  if (folded && (!from_folded || !folded_with_an_edge_.insert(from_name).second)) return;
  const Graphviz::Edge edge = graph_.edge(graph_.find(from_name), graph_.find(to_name));
  const bool strong = strong_.count(from_name) > 0 && strong_.count(to_name) > 0;
  if (!folded) {
    std::string text = edge_text(wait);
    if (number > 0) text = fmt::format("{}: {}", number, text);
    std::string label;
    for (const std::string& line : wrapped(text, kEdgeLine))
      label += kAway + label_text(line) + "\\l";
    graph_.set(edge, "label", label);
  }
  graph_.set(edge, "color", strong ? kStrong : kGrey);
  graph_.set(edge, "fontcolor", strong ? kStrong : kGreyText);
  if (strong) graph_.set(edge, "penwidth", "2.5");
  if (!folded && is_dashed(wait)) graph_.set(edge, "style", "dashed");
}

void Drawing::add_all() {
  // The cycle first: what comes first in DOT is what Graphviz lays out first.
  std::map<std::pair<std::string, std::string>, std::size_t> numbers;
  for (std::size_t i = 0; i < picture_.cycle.size(); ++i) {
    const Wait& wait = picture_.cycle[i];
    numbers[{party_text(wait.from), party_text(wait.to)}] = i + 1;
    add_node(wait.from);
  }
  for (std::size_t i = 0; i < picture_.cycle.size(); ++i) add_edge(picture_.cycle[i], i + 1);
  for (const std::vector<Wait>& cycle : picture_.other_cycles) {
    for (const Wait& wait : cycle) add_node(wait.from);
  }
  for (const Wait& wait : picture_.all_waits) {
    add_node(wait.from);
    add_node(wait.to);
    const bool on_cycle = numbers.count({party_text(wait.from), party_text(wait.to)}) > 0;
    if (!on_cycle) add_edge(wait, 0);
  }
}

}  // namespace

WaitPicture wait_picture(const models::TaskGraph& graph, const models::Explanation& explanation,
                         std::vector<Wait> all_waits, bool fold) {
  return wait_picture(headline(graph, explanation), explanation, std::move(all_waits), fold);
}

WaitPicture wait_picture(std::string title, const models::Explanation& explanation,
                         std::vector<Wait> all_waits, bool fold) {
  WaitPicture picture;
  picture.title = std::move(title);
  picture.cycle = explanation.cycle;
  picture.other_cycles = explanation.other_cycles;
  picture.all_waits = std::move(all_waits);
  picture.fold = fold;
  picture.subtitle = first_reason(explanation);
  if (!picture.cycle.empty()) picture.subtitle += "; red, with numbers.";
  return picture;
}

std::string wait_for_drawing(const WaitPicture& picture, PictureFormat format) {
  return Drawing(picture).run(format);
}

std::string wait_for_dot(const WaitPicture& picture) {
  return wait_for_drawing(picture, PictureFormat::kDot);
}

}  // namespace pipesim::viz
