#include "viz/pictures/wait_for_dot.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "viz/pictures/graphviz.hpp"
#include "viz/pictures/lanes.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"
#include "viz/report/xml.hpp"

namespace pipesim::viz {
namespace {

using models::Wait;
using models::WaitParty;
using sim::WaitNodeKind;

constexpr std::size_t kMaxDrawnCycles = 4;  // maximum number of drawn cycles, one per shape
constexpr std::size_t kMaxDrawnRoots = 8;
constexpr std::uint64_t kMinRepeats = 4;  // minimum number of repetitions to fold
constexpr std::size_t kNodeLine = 40;     // characters per line of a place in a node
constexpr std::size_t kEdgeLine = 22;     // characters per line of an edge label

// Returns the label of an edge: lines of text between two empty table cells. The cells keep the
// text off the edge in every renderer; space characters would not.
std::string edge_label(const std::string& text) {
  constexpr std::string_view kAway = R"(<TD WIDTH="9"></TD>)";  // points
  std::string label = fmt::format(
      R"(<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{}<TD BALIGN="LEFT">)",
      kAway);
  bool first = true;
  for (const std::string& line : wrapped(text, kEdgeLine)) {
    label += (first ? "" : "<BR/>") + xml_text(models::printable(line));
    first = false;
  }
  return fmt::format("{}</TD>{}</TR></TABLE>", label, kAway);
}

// Returns the list of ranks, shortened to fit a node.
std::string short_list(const std::vector<std::uint32_t>& ranks) {
  const std::string list = short_ranges(ranks);
  return fmt::format("({})", list.substr(0, list.find(" (")));
}

/// Ops folded into a node.
struct Folded {
  std::set<std::string> ops;
  std::set<std::uint32_t> ranks;
};

/// Cycles that differ only in their ranks; only the first is drawn.
struct CycleGroup {
  const std::vector<Wait>* cycle = nullptr;
  std::size_t count = 1;
};

/// Inner repetitions of a cycle's pattern from rank to rank, or whole cycles, drawn as one node.
struct Repeated {
  std::size_t first = 0;  // numbers of the first and last folded wait, from 1
  std::size_t last = 0;
  std::set<std::uint32_t> ranks;
  std::string cycles;  // "3 more cycles\nlike cycle 1"; empty: waits within one cycle
};

bool is_dashed(const Wait& wait) { return wait.any || wait.control; }

class Drawing {
 public:
  explicit Drawing(const WaitPicture& picture)
      : picture_(picture), graph_("wait_for", /*one_edge=*/true) {}

  std::string run(PictureFormat format) {
    graph_.set_dark(picture_.dark);
    graph_.set_font_scale(picture_.font_scale);
    choose_cycles();
    choose_strong();
    add_style();
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
    if (picture_.fold && format != PictureFormat::kDot) graph_.fit(kPageWidth, kPageHeight);
    return graph_.drawing(format);
  }

 private:
  void add_style();
  void choose_cycles();
  void fold_cycles(const AlikeCycles& cycles, std::size_t from, const std::string& node,
                   const std::string& label);
  void fold_repeats(const std::vector<Wait>& cycle, const std::string& name);
  void choose_strong();
  void look_at_all();
  void add_all();
  std::string node_name(const WaitParty& party) const;
  void add_node(const WaitParty& party);
  void add_folded_node(const std::string& name, const WaitParty& party);
  void add_repeated_node(const std::string& name);
  void add_edge(const Wait& wait, const std::string& number, bool closes = false);
  bool waits_back(const Wait& wait) const;
  void add_cycle(std::size_t index);
  Graphviz::Cluster cluster(std::uint32_t rank);

  const WaitPicture& picture_;
  std::vector<CycleGroup> cycles_;  // cycles to draw
  std::size_t cycles_left_out_ = 0;
  std::map<std::string, std::string> repeats_;  // folded op of a cycle -> its node
  std::map<std::string, Repeated> repeated_;    // keyed by node
  // Ops and nodes that are highlighted and never folded.
  std::set<std::string> strong_;
  std::set<std::uint32_t> strong_ranks_;                  // ranks with highlighted ops
  std::map<std::uint32_t, std::string_view> rank_roots_;  // target rank of a wait -> reason
  std::map<std::string, Folded> folded_;                  // keyed by node
  std::set<std::string> folded_with_an_edge_;  // folded nodes that already have their edge
  Graphviz graph_;
};

void Drawing::add_style() {
  std::vector<std::string> lines;
  if (!picture_.subtitle.empty()) lines.push_back(picture_.subtitle);
  constexpr std::string_view kOneCycle = "The cycle";
  if (cycles_.size() > 1 && picture_.subtitle.starts_with(kOneCycle)) {
    lines.back().replace(0, kOneCycle.size(), "The first cycle");
  }
  if (!picture_.model.empty()) lines.push_back(capitalized(picture_.model) + ".");
  lines.emplace_back(picture_.all_waits.empty()
                         ? "No op waits for another."
                         : "An arrow points from an op to what it waits for.");
  if (cycles_.size() > 1) {
    lines.push_back(fmt::format(
        "Waits of the second cycle are numbered 2.1, 2.2, ...{}",
        cycles_left_out_ == 0
            ? ""
            : fmt::format("; {} are left out (--all)", counted(cycles_left_out_, "more cycle"))));
  }
  for (std::size_t i = 0; i < cycles_.size(); ++i) {
    if (cycles_[i].count == 1) continue;
    lines.push_back(fmt::format("There are {} like cycle {}, on other ranks.",
                                counted(cycles_[i].count - 1, "more cycle"), i + 1));
  }
  if (std::any_of(picture_.all_waits.begin(), picture_.all_waits.end(), is_dashed)) {
    lines.emplace_back("Dashed: a control register, or any one of several suffices.");
  }
  graph_.set_html(graph_.root(), "label",
                  legend_html(picture_.title, lines, {}, picture_.made_by, picture_.font_scale));
  graph_.set(graph_.root(), "labelloc", "t");
  graph_.set(graph_.root(), "labeljust", "l");
  graph_.set(graph_.root(), "rankdir", "TB");
  if (picture_.aspect > 0) graph_.set_aspect(picture_.aspect, true);
  graph_.set(graph_.root(), "fontname", "Helvetica");
  graph_.set(graph_.root(), "newrank", "true");  // aligns waits from top to bottom across all ranks
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
  graph_.set(result, "labeljust", "r");
  graph_.set(result, "color", kGrey);
  graph_.set(result, "margin", "16");
  return result;
}

void Drawing::choose_cycles() {
  std::size_t shape = 0;
  for (const AlikeCycles& alike : alike_cycles(picture_.cycle, picture_.other_cycles)) {
    const std::size_t count = shape < picture_.alike.size() ? picture_.alike[shape] : alike.size();
    ++shape;
    if (!picture_.fold) {
      for (const std::vector<Wait>* cycle : alike) cycles_.push_back({cycle});
      continue;
    }
    cycles_.push_back({alike.front(), count});
    const std::size_t number = cycles_.size();
    if (number > kMaxDrawnCycles) {
      fold_cycles(alike, 0, "more cycles", "more cycles");
    } else if (alike.size() > 1) {
      fold_cycles(alike, 1, fmt::format("like cycle {}", number),
                  fmt::format("{}\nlike cycle {}", counted(count - 1, "more cycle"), number));
    }
  }
  if (picture_.fold && cycles_.size() > kMaxDrawnCycles) {
    for (std::size_t i = kMaxDrawnCycles; i < cycles_.size(); ++i) {
      cycles_left_out_ += cycles_[i].count;
    }
    cycles_.resize(kMaxDrawnCycles);
  }
  if (!picture_.fold) return;
  for (std::size_t i = 0; i < cycles_.size(); ++i) {
    fold_repeats(*cycles_[i].cycle, fmt::format("repeats {}", i));
  }
}

// Folds all cycles except the first `from` into one node.
void Drawing::fold_cycles(const AlikeCycles& cycles, std::size_t from, const std::string& node,
                          const std::string& label) {
  Repeated& folded = repeated_[node];
  folded.cycles = label;
  for (std::size_t i = from; i < cycles.size(); ++i) {
    for (const Wait& wait : *cycles[i]) {
      folded.ranks.insert(wait.from.rank);
      repeats_.emplace(party_text(wait.from), node);
    }
  }
}

// Folds the inner repetitions of a pattern that the cycle repeats from rank to rank, so that only
// the first and the last are drawn.
void Drawing::fold_repeats(const std::vector<Wait>& cycle, const std::string& name) {
  std::map<std::string, std::uint32_t> known;
  std::vector<std::uint32_t> tokens;
  for (const Wait& wait : cycle) {
    const auto number = static_cast<std::uint32_t>(known.size());
    tokens.push_back(known.emplace(shape_of(wait), number).first->second);
  }
  for (const Repeat& repeat : find_repeats(tokens)) {
    if (repeat.times < kMinRepeats) continue;
    Repeated folded;
    folded.first = repeat.first + repeat.period + 1;
    folded.last = repeat.first + (repeat.times - 1) * repeat.period;
    const std::string node = fmt::format("{} {}", name, folded.first);
    for (std::size_t i = folded.first - 1; i < folded.last; ++i) {
      folded.ranks.insert(cycle[i].from.rank);
      repeats_.emplace(party_text(cycle[i].from), node);
    }
    repeated_.emplace(node, std::move(folded));
  }
}

// Highlights the cycles. If there are none, highlights the roots, each with its first waiter.
void Drawing::choose_strong() {
  const auto choose = [&](const WaitParty& party) {
    if (party.kind != WaitNodeKind::kOutside) strong_ranks_.insert(party.rank);
    return strong_.insert(party_text(party)).second;
  };
  for (const CycleGroup& group : cycles_) {
    for (const Wait& wait : *group.cycle) {
      if (repeats_.count(party_text(wait.from)) == 0) choose(wait.from);
    }
  }
  for (const auto& [node, what] : repeated_) strong_.insert(node);
  if (!cycles_.empty()) return;
  std::size_t roots = 0;
  for (const Wait& wait : picture_.all_waits) {
    if (wait.to.kind == WaitNodeKind::kOp) continue;
    if (picture_.fold && roots >= kMaxDrawnRoots && strong_.count(party_text(wait.to)) == 0) {
      repeats_.emplace(party_text(wait.to), "more roots");
      repeated_["more roots"].ranks.insert(wait.to.rank);
      continue;
    }
    // One waiter is enough to show a root; a thousand would hide the root.
    if (!choose(wait.to)) continue;
    ++roots;
    choose(wait.from);
  }
}

void Drawing::look_at_all() {
  for (const Wait& wait : picture_.all_waits) {
    if (wait.to.kind == WaitNodeKind::kRank) {
      rank_roots_.emplace(wait.to.rank, root_label(wait));
    }
    for (const WaitParty* party : {&wait.from, &wait.to}) {
      const std::string name = node_name(*party);
      if (name == party_text(*party) || repeated_.count(name) > 0) continue;
      folded_[name].ops.insert(party_text(*party));
      folded_[name].ranks.insert(party->rank);
    }
  }
}

// Returns the node of an op. Folded ops share a node per rank with highlighted ops; folded ops of
// all other ranks share a single node.
std::string Drawing::node_name(const WaitParty& party) const {
  std::string own = party_text(party);
  const auto repeated = repeats_.find(own);
  if (repeated != repeats_.end()) return repeated->second;
  if (!picture_.fold || party.kind != WaitNodeKind::kOp || strong_.count(own) > 0) return own;
  const bool alone = strong_ranks_.count(party.rank) > 0 && strong_ranks_.size() <= kMaxFoldedRanks;
  return alone ? fmt::format("rank {} the rest", party.rank) : "the rest";
}

void Drawing::add_repeated_node(const std::string& name) {
  const Repeated& of = repeated_.at(name);
  const std::vector<std::uint32_t> ranks(of.ranks.begin(), of.ranks.end());
  const Graphviz::Node node = graph_.node(graph_.root(), name);
  std::string label = fmt::format("x {} ranks\n{}\n", ranks.size(), short_list(ranks));
  label += !of.cycles.empty() ? of.cycles
           : of.first == 0    ? "also wait for nobody"
                              : fmt::format("the same: waits {} to {}", of.first, of.last);
  graph_.set(node, "label", label);
  graph_.set(node, "peripheries", "2");
  graph_.set(node, "color", kStrong);
}

void Drawing::add_folded_node(const std::string& name, const WaitParty& party) {
  const Folded& folded = folded_.at(name);
  const bool one_rank = folded.ranks.size() == 1;
  const Graphviz::Node node = graph_.node(one_rank ? cluster(party.rank) : graph_.root(), name);
  std::string label = fmt::format("{}\nbehind", counted(folded.ops.size(), "more op"));
  if (!one_rank) {
    label = fmt::format("x {} ranks\n{}\n{}", folded.ranks.size(),
                        short_list({folded.ranks.begin(), folded.ranks.end()}), label);
  }
  graph_.set(node, "label", label);
  graph_.set(node, "shape", "note");
  graph_.set(node, "color", kGrey);
  graph_.set(node, "fontcolor", kGreyText);
}

void Drawing::add_node(const WaitParty& party) {
  const std::string name = node_name(party);
  if (graph_.find(name) != nullptr) return;
  if (repeated_.count(name) > 0) {
    add_repeated_node(name);
    return;
  }
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
  if (party.kind == WaitNodeKind::kOp) {
    label = op_text(party.op);
    if (!party.op.stream.empty()) label += "\n" + party.op.stream;
    if (party.op.micro_batch > 0) label += fmt::format(", micro-batch {}", party.op.micro_batch);
    if (!party.op.statement.empty()) label += "\n" + models::printable(party.op.statement);
    if (!party.op.at.empty()) {
      for (const std::string& line : wrapped(models::printable(party.op.at), kNodeLine)) {
        label += "\n" + line;
      }
    }
    label += fmt::format("\n{}", stage_text(party.op));
  }
  const bool strong = strong_.count(name) > 0;
  graph_.set(node, "label", label_text(label));
  graph_.set(node, "color", strong ? kStrong : kGrey);
  graph_.set(node, "fontcolor", strong ? "#000000" : kGreyText);
  if (strong) graph_.set(node, "penwidth", "2.5");
}

// Whether the target of a wait also waits for the waiter, so that two edges connect their nodes,
// one in each direction.
bool Drawing::waits_back(const Wait& wait) const {
  const auto leads_back = [&](const Wait& other) {
    return node_name(other.from) == node_name(wait.to) &&
           node_name(other.to) == node_name(wait.from);
  };
  const auto any = [&](const std::vector<Wait>& waits) {
    return std::any_of(waits.begin(), waits.end(), leads_back);
  };
  return any(picture_.all_waits) || std::any_of(cycles_.begin(), cycles_.end(),
                                                [&](const auto& of) { return any(*of.cycle); });
}

// Adds the edge of a wait. `number`: position of the wait on its cycle. `closes`: the edge leads
// back to the first op of the cycle, which stays on top.
void Drawing::add_edge(const Wait& wait, const std::string& number, bool closes) {
  const std::string from_name = node_name(wait.from);
  const std::string to_name = node_name(wait.to);
  if (from_name == to_name) return;  // folded into the same node
  const bool from_folded = folded_.count(from_name) > 0;
  const bool folded = from_folded || folded_.count(to_name) > 0;
  // Folded ops wait for most other ops, and most other ops wait for folded ops. One edge per folded
  // node is enough.
  if (folded && (!from_folded || !folded_with_an_edge_.insert(from_name).second)) return;
  const bool strong = strong_.count(from_name) > 0 && strong_.count(to_name) > 0;
  // Waiting ops are drawn above their targets. An edge that closes a cycle leads up, but is laid
  // out as if it led down: otherwise Graphviz finds no place for its label.
  const bool below = folded || (closes && !waits_back(wait));
  const Graphviz::Node from = graph_.find(from_name);
  const Graphviz::Node to = graph_.find(to_name);
  const Graphviz::Edge edge = below ? graph_.edge(to, from) : graph_.edge(from, to);
  if (below) graph_.set(edge, "dir", "back");
  if (closes && !below) graph_.set(edge, "constraint", "false");
  if (!folded) {
    std::string text = edge_text(wait);
    if (!number.empty()) text = fmt::format("{}: {}", number, text);
    graph_.set_html(edge, "label", edge_label(text));
  }
  graph_.set(edge, "color", strong ? kStrong : kGrey);
  graph_.set(edge, "fontcolor", strong ? kStrong : kGreyText);
  if (strong) graph_.set(edge, "penwidth", "2.5");
  if (!folded && is_dashed(wait)) graph_.set(edge, "style", "dashed");
}

// Adds a cycle; the first cycle is numbered as in the report.
void Drawing::add_cycle(std::size_t index) {
  const std::vector<Wait>& cycle = *cycles_[index].cycle;
  for (const Wait& wait : cycle) add_node(wait.from);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::string number =
        index == 0 ? std::to_string(i + 1) : fmt::format("{}.{}", index + 1, i + 1);
    add_edge(cycle[i], number, cycle.size() > 1 && i + 1 == cycle.size());
  }
}

void Drawing::add_all() {
  // Adds the cycles first: Graphviz lays out the first nodes of the DOT text first.
  std::set<std::pair<std::string, std::string>> drawn;
  for (std::size_t i = 0; i < cycles_.size(); ++i) {
    add_cycle(i);
    for (const Wait& wait : *cycles_[i].cycle) {
      drawn.emplace(party_text(wait.from), party_text(wait.to));
    }
  }
  for (const Wait& wait : picture_.all_waits) {
    add_node(wait.from);
    add_node(wait.to);
    if (drawn.count({party_text(wait.from), party_text(wait.to)}) == 0) add_edge(wait, "");
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
  for (const models::CycleClass& it : explanation.cycle_classes) {
    picture.alike.push_back(it.ranks.size());
  }
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
