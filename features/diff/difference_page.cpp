#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/graph/diagnostics.hpp"
#include "viz/page/table_page.hpp"
#include "viz/report/words.hpp"

#include "features/diff/difference_report.hpp"

namespace pipesim::viz {
namespace {

using models::RunEndFigures;
using Part = TablePage::Part;

/// Side A or B of the difference: a run, or a report.
struct Side {
  const char* letter;
  const std::string& name;
  const RunEndFigures& end;
  const models::Explanation* explanation;  // null: the side comes from a report
};

std::string place_text(const std::optional<models::Place>& place) {
  return place ? models::line_text(*place) : "";
}

// Returns the waits of `side`, each marked if `other` has the same wait.
Part waits_of(const Side& side, const Side& other) {
  Part part;
  if (side.explanation != nullptr) {
    part = cycle_part("", "", side.explanation->cycle);
  } else {
    part.sorts = false;
    part.columns = {{"cycle", "cycle"}, {"op"}};
    for (const std::string& name : side.end.cycle) {
      part.rows.push_back({static_cast<std::int64_t>(part.rows.size() + 1), name});
    }
  }
  part.id = fmt::format("cycle-{}", side.letter);
  part.title = side.end.cycle.empty() ? fmt::format("{}: no cycle", side.letter)
                                      : fmt::format("{}: a cycle of {}", side.letter,
                                                    counted(side.end.cycle.size(), "wait"));
  if (part.rows.empty()) part.lines = {"No ops wait for each other in a cycle."};
  if (!part.rows.empty() && !other.end.cycle.empty()) {
    const std::set<std::string> names(other.end.cycle.begin(), other.end.cycle.end());
    part.columns.push_back({fmt::format("in {}", other.letter)});
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
      part.rows[i].emplace_back(names.count(side.end.cycle[i]) > 0 ? "yes" : "no");
    }
  }
  return part;
}

Part end_table(const Side& a, const Side& b) {
  Part part{.id = "end", .name = "The end", .title = "How both end"};
  part.sorts = false;
  part.columns = {{""}, {"A"}, {"B"}, {"change"}};
  const auto add = [&](const char* what, const std::string& before, const std::string& after,
                       const std::string& change = "") {
    part.rows.push_back({what, before, after, change});
  };
  add("verdict", a.end.verdict, b.end.verdict);
  if (a.end.cause != b.end.cause) add("cause", a.end.cause, b.end.cause);
  add("time", time_text(a.end.time_ns), time_text(b.end.time_ns),
      a.end.time_ns == b.end.time_ns ? "" : delta_of(a.end.time_ns, b.end.time_ns));
  const auto ops = [](const RunEndFigures& end) {
    return fmt::format("{} of {}", end.ops_done, end.ops_expected);
  };
  add("ops done", ops(a.end), ops(b.end));
  add("fingerprint", fingerprint_text(a.end.fingerprint), fingerprint_text(b.end.fingerprint));
  return part;
}

Part graph_table(const models::GraphDifference& graph) {
  Part part{.id = "graph-changes", .name = "Task graph", .title = "The task graph"};
  part.about = "What the files say differently, by name and meaning.";
  part.columns = {{"what"}, {"name"}, {"key"}, {"A"}, {"B"}, {"line in A"}, {"line in B"}};
  for (const models::KeyChange& change : graph.top) {
    part.rows.push_back(
        {"scenario", "", change.key, value_text(change.before), value_text(change.after), "", ""});
  }
  for (const models::TemplateChange& change : graph.templates) {
    const std::string before = place_text(change.before);
    const std::string after = place_text(change.after);
    if (!change.before || !change.after) {
      part.rows.push_back({change.what, change.name, "", change.before ? "is there" : "nothing",
                           change.after ? "is there" : "nothing", before, after});
    }
    for (const models::KeyChange& key : change.keys) {
      part.rows.push_back({change.what, change.name, key.key, value_text(key.before),
                           value_text(key.after), before, after});
    }
  }
  return part;
}

Part count_table(const Difference& difference) {
  Part part{.id = "counts", .name = "Ops done", .title = "Ops done"};
  part.columns = {{"op"}, {"A"}, {"B"}, {"ranks"}};
  for (const CountRow& row : count_rows(difference)) {
    part.rows.push_back({row.op, row.before, row.after, ranks_text(row.ranks)});
  }
  return part;
}

Part first_part(const models::RunDifference& run) {
  Part part{.id = "first", .name = "First", .title = "Where they first differ"};
  if (run.empty()) {
    part.lines = {fmt::format("All {} that both runs have are at the same times.",
                              counted(run.ops_in_both, "op"))};
    return part;
  }
  part.lines = first_lines(run);
  part.lines.push_back(fmt::format("{} of the {} that both runs have are at other times.",
                                   run.ops_moved, counted(run.ops_in_both, "op")));
  return part;
}

Part pace_table(const models::RunDifference& run) {
  Part part{.id = "pace", .name = "Slower, faster", .title = "What got slower or faster"};
  part.about = "Each op over all ranks, as far as both runs ended it.";
  part.columns = {{"op"},
                  {"runs", "number"},
                  {"A", "time"},
                  {"B", "time"},
                  {"change", "time"},
                  {"most on rank", "rank"},
                  {"in run", "number"},
                  {"there", "time"}};
  for (const models::PaceChange& change : run.pace) {
    part.rows.push_back({change.op, static_cast<std::int64_t>(change.ops), change.before_ns,
                         change.after_ns, change.after_ns - change.before_ns,
                         std::int64_t{change.largest.rank}, std::int64_t{change.largest.number},
                         change.largest_ns});
  }
  return part;
}

Part order_table(const models::RunDifference& run) {
  Part part{.id = "orders", .name = "Order", .title = "First change of order on each stream"};
  part.columns = {{"rank", "rank"}, {"stream"}, {"position", "number"}, {"A"}, {"B"}};
  for (const models::OrderChange& change : run.orders) {
    part.rows.push_back({std::int64_t{change.rank}, change.stream,
                         static_cast<std::int64_t>(change.position), change.before, change.after});
  }
  return part;
}

}  // namespace

std::string difference_page(const Difference& difference, const models::Explanation* before,
                            const models::Explanation* after, std::string made_by) {
  const Side a{"A", difference.before_name, difference.before, before};
  const Side b{"B", difference.after_name, difference.after, after};
  TablePage page;
  page.name = "A and B";
  page.good = difference.same();
  page.headline = page.good ? "are the same" : "differ";
  page.verdict = page.good ? "the same" : "different";
  for (const Side& side : {a, b}) {
    page.story.push_back(fmt::format("{}: {}: {} at {}.", side.letter, side.name, side.end.verdict,
                                     time_text(side.end.time_ns)));
  }
  page.parts.push_back(end_table(a, b));
  if (!a.end.cycle.empty() || !b.end.cycle.empty()) {
    page.parts.push_back(waits_of(a, b));
    page.parts.back().name = "Cycles";
    page.parts.push_back(waits_of(b, a));
    page.parts.back().beside = true;
  }
  for (const Side& side : {a, b}) {
    Part part{.id = fmt::format("reasons-{}", side.letter),
              .name = "",
              .title = fmt::format("{}: why it does not complete", side.letter)};
    if (side.explanation != nullptr) part.lines = reason_lines(*side.explanation);
    page.parts.push_back(std::move(part));
  }
  if (difference.graph) page.parts.push_back(graph_table(*difference.graph));
  if (difference.run) {
    page.parts.push_back(first_part(*difference.run));
    page.parts.push_back(pace_table(*difference.run));
    page.parts.push_back(order_table(*difference.run));
  }
  page.parts.push_back(count_table(difference));
  page.text = difference_text(difference, {{}, true});
  page.made_by = std::move(made_by);
  return html_page(page);
}

}  // namespace pipesim::viz
