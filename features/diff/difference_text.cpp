#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/report_schema.hpp"
#include "viz/report/section.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

#include "features/diff/difference_report.hpp"

namespace pipesim::viz {
namespace {

using models::KeyChange;
using models::KeyValue;
using models::MovedOp;
using models::OpCount;
using models::PaceChange;
using models::TemplateChange;

// ---------------------------------------------------------------------------------------------
// Words

std::string whole_bytes_text(std::int64_t bytes) {
  for (const auto& [shift, unit] :
       {std::pair(30, "GiB"), std::pair(20, "MiB"), std::pair(10, "KiB")}) {
    const std::int64_t size = std::int64_t{1} << shift;
    if (bytes >= size && bytes % size == 0) return fmt::format("{} {}", bytes / size, unit);
  }
  return fmt::format("{} B", bytes);
}

std::string number_text(std::int64_t number, KeyValue::Unit unit) {
  if (unit == KeyValue::Unit::kTime) return time_text(number);
  return unit == KeyValue::Unit::kBytes ? whole_bytes_text(number) : std::to_string(number);
}

std::string became_text(const std::string& before, const std::string& after) {
  return fmt::format("{} -> {}", before, after);
}

std::string delta_text(std::int64_t ns) {
  return fmt::format("{}{}", ns < 0 ? "-" : "+", time_text(ns < 0 ? -ns : ns));
}

std::string moment_text(sim::Time time) {
  return time == sim::kNever ? "never" : time_text(time.ns);
}

std::string op_name(const MovedOp& op) {
  return fmt::format("rank {} {}#{}", op.rank, op.name, op.number);
}

struct Moment {
  const char* what;
  const char* key;
  sim::Time sim::OpTimes::*time;
};

constexpr std::array<Moment, 3> kMoments = {{{"launched", "launch", &sim::OpTimes::launch},
                                             {"started", "start", &sim::OpTimes::start},
                                             {"ended", "end", &sim::OpTimes::end}}};

// Returns the actors whose number of ops differs. Skips actors on one side only, because the
// difference of the graphs lists them.
std::vector<std::pair<OpCount, OpCount>> count_changes(const Difference& difference) {
  std::map<std::pair<std::uint32_t, std::string>, const OpCount*> others;
  for (const OpCount& count : difference.after.counts) others[{count.rank, count.op}] = &count;
  std::vector<std::pair<OpCount, OpCount>> result;
  for (const OpCount& count : difference.before.counts) {
    const auto other = others.find({count.rank, count.op});
    if (other != others.end() && *other->second != count)
      result.emplace_back(count, *other->second);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------
// Text

class Text {
 public:
  Text(const Difference& difference, const DifferenceOptions& options)
      : difference_(difference), options_(options) {}

  std::string run() {
    text_ = fmt::format("A  {}\nB  {}\n", models::printable(difference_.before_name),
                        models::printable(difference_.after_name));
    if (difference_.same()) {
      text_ += fmt::format(
          "\nThe same: {} at {}, fingerprint {}\n", models::printable(difference_.before.verdict),
          time_text(difference_.before.time_ns), fingerprint_text(difference_.before.fingerprint));
      return std::move(text_);
    }
    if (difference_.graph && !difference_.graph->empty()) add_graph();
    add_end();
    if (difference_.run) add_run();
    return std::move(text_);
  }

  std::string run_graph() {
    add_graph();
    return text_.substr(1);  // skips the empty line above the heading
  }

 private:
  void add_heading(const std::string& text) {
    text_ += fmt::format("\n{}\n", styled(options_.text, ansi::kBold, text));
  }

  std::size_t shown(std::size_t count) const {
    return options_.all ? count : std::min(count, kMaxDifferences);
  }

  void add_rest(std::size_t count) {
    if (shown(count) < count) text_ += fmt::format("  and {} more (--all)\n", count - shown(count));
  }

  void add_graph() {
    add_heading("The task graph");
    for (const KeyChange& change : difference_.graph->top) {
      text_ +=
          paragraph(fmt::format("{}: {}", change.key,
                                became_text(value_text(change.before), value_text(change.after))),
                    options_.text.width, 2, 6);
    }
    const std::vector<TemplateChange>& changes = difference_.graph->templates;
    for (std::size_t i = 0; i < shown(changes.size()); ++i) add_template(changes[i]);
    add_rest(changes.size());
  }

  void add_template(const TemplateChange& change) {
    if (!change.before || !change.after) {
      const bool added = !change.before;
      const models::Place place = added ? *change.after : *change.before;
      text_ += styled(options_.text, added ? ansi::kGreen : ansi::kRed,
                      fmt::format("  {} {} {} ({} {})", added ? "+" : "-", change.what, change.name,
                                  added ? "B" : "A", models::line_text(place))) +
               "\n";
      return;
    }
    const std::string before = models::line_text(*change.before);
    const std::string after = models::line_text(*change.after);
    text_ += fmt::format("  {} {} ({})\n", change.what, change.name,
                         before == after ? before : fmt::format("A {}, B {}", before, after));
    for (const KeyChange& key : change.keys) {
      text_ += paragraph(fmt::format("{}: {}", key.key,
                                     became_text(value_text(key.before), value_text(key.after))),
                         options_.text.width, 6, 8);
    }
  }

  void add_end() {
    const models::RunEndFigures& a = difference_.before;
    const models::RunEndFigures& b = difference_.after;
    add_heading("The end");
    Table table;
    const auto add = [&](const char* what, const std::string& before, const std::string& after) {
      // Texts can come from a report, which is untrusted input.
      table.add({what, models::printable(before == after ? before : became_text(before, after))});
    };
    add("verdict", a.verdict, b.verdict);
    if (a.cause != b.cause) add("cause", a.cause, b.cause);
    table.add({"time",
               a.time_ns == b.time_ns
                   ? time_text(a.time_ns)
                   : fmt::format("{} ({})", became_text(time_text(a.time_ns), time_text(b.time_ns)),
                                 delta_of(a.time_ns, b.time_ns))});
    add("ops", fmt::format("{} of {}", a.ops_done, a.ops_expected),
        fmt::format("{} of {}", b.ops_done, b.ops_expected));
    if (a.cycle != b.cycle) add("cycle", cycle_text(a.cycle), cycle_text(b.cycle));
    if (a.roots != b.roots) add("roots", list_text(a.roots), list_text(b.roots));
    if (!difference_.run && a.fingerprint != b.fingerprint) {
      add("fingerprint", fingerprint_text(a.fingerprint), fingerprint_text(b.fingerprint));
    }
    text_ += table.fitted(options_.text.width, 2);
    add_counts();
  }

  static std::string cycle_text(const std::vector<std::string>& cycle) {
    if (cycle.empty()) return "none";
    return fmt::format("{} from {}", counted(cycle.size(), "wait"), cycle.front());
  }

  static std::string list_text(const std::vector<std::string>& items) {
    return items.empty() ? "none" : fmt::format("{}", fmt::join(items, ", "));
  }

  void add_counts() {
    const std::vector<CountRow> rows = count_rows(difference_);
    if (rows.empty()) return;
    add_heading("Ops done");
    Table table;
    for (std::size_t i = 0; i < shown(rows.size()); ++i) {
      const CountRow& row = rows[i];
      table.add(
          {models::printable(row.op), became_text(row.before, row.after), ranks_text(row.ranks)});
    }
    text_ += table.fitted(options_.text.width, 2);
    add_rest(rows.size());
  }

  void add_run() {
    const models::RunDifference& run = *difference_.run;
    if (run.empty()) {
      text_ += fmt::format("\nAll {} in both runs are at the same times.\n",
                           counted(run.ops_in_both, "op"));
      return;
    }
    add_heading("Where they first differ");
    if (run.first) {
      for (const std::string& line : first_lines(run)) text_ += fmt::format("  {}\n", line);
    }
    text_ += fmt::format("  {} of the {} in both runs are at different times\n", run.ops_moved,
                         counted(run.ops_in_both, "op"));
    if (!run.pace.empty()) add_pace(run.pace);
    if (!run.orders.empty()) add_orders(run.orders);
  }

  void add_pace(const std::vector<PaceChange>& pace) {
    add_heading("What got slower or faster");
    Table table({"op", "runs", "A", "B", "change", "largest"});
    for (std::size_t i = 0; i < shown(pace.size()); ++i) {
      const PaceChange& change = pace[i];
      const std::int64_t delta = change.after_ns - change.before_ns;
      table.add({change.op, std::to_string(change.ops), time_text(change.before_ns),
                 time_text(change.after_ns),
                 styled(options_.text, delta > 0 ? ansi::kRed : ansi::kGreen,
                        delta_of(change.before_ns, change.after_ns)),
                 fmt::format("rank {} #{}, {}", change.largest.rank, change.largest.number,
                             delta_text(change.largest_ns))});
    }
    text_ += table.fitted(options_.text.width, 2);
    add_rest(pace.size());
  }

  void add_orders(const std::vector<models::OrderChange>& orders) {
    add_heading("First change of order on each stream");
    Table table;
    for (std::size_t i = 0; i < shown(orders.size()); ++i) {
      const models::OrderChange& change = orders[i];
      table.add({fmt::format("rank {}", change.rank), change.stream,
                 fmt::format("the {} op: {}", ordinal(static_cast<std::uint32_t>(change.position)),
                             became_text(change.before, change.after))});
    }
    text_ += table.fitted(options_.text.width, 2);
    add_rest(orders.size());
  }

  const Difference& difference_;
  const DifferenceOptions& options_;
  std::string text_;
};

// ---------------------------------------------------------------------------------------------
// JSON

JsonValue value_json(const std::optional<KeyValue>& value) {
  if (!value) return nullptr;
  const bool plain = value->unit == KeyValue::Unit::kNumber && value->numbers.size() == 1 &&
                     value->numbers.front().second.empty();
  if (plain) return value->numbers.front().first;
  return value_text(value);
}

Section key_data(const KeyChange& change) {
  return Section()
      .say("key", change.key)
      .say("a", value_json(change.before))
      .say("b", value_json(change.after));
}

JsonValue place_json(const std::optional<models::Place>& place) {
  if (!place) return nullptr;
  return Section().at(*place).data();
}

Section graph_data(const models::GraphDifference& graph) {
  const auto list = [](const auto& changes) {
    std::vector<JsonValue> items;
    for (const KeyChange& change : changes) items.push_back(key_data(change).data());
    return items;
  };
  std::vector<JsonValue> changes;
  for (const TemplateChange& change : graph.templates) {
    Section item;
    item.say("what", change.what).say("name", change.name);
    item.say("a", place_json(change.before)).say("b", place_json(change.after));
    changes.push_back(item.say("keys", list(change.keys)).data());
  }
  return Section().say("top", list(graph.top)).say("changes", changes);
}

JsonValue times_json(const sim::OpTimes& times) {
  Section data;
  for (const Moment& moment : kMoments) {
    const sim::Time time = times.*moment.time;
    data.say(std::string(moment.key) + "_ns",
             time == sim::kNever ? JsonValue(nullptr) : JsonValue(time.ns));
  }
  return data.data();
}

Section moved_data(const MovedOp& op) {
  Section data;
  data.say("rank", op.rank).say("op", op.name).say("act", op.number);
  return data.say("a", times_json(op.before)).say("b", times_json(op.after));
}

JsonValue done_json(std::uint64_t done, std::uint64_t expected) {
  return Section().say("done", done).say("expected", expected).data();
}

JsonValue end_json(const std::string& name, const models::RunEndFigures& end) {
  Section data;
  data.say("name", name).say("verdict", end.verdict).say("cause", end.cause);
  data.say("time_ns", end.time_ns).say("fingerprint", fingerprint_text(end.fingerprint));
  data.say("acts", done_json(end.ops_done, end.ops_expected));
  return data.say("cycle", end.cycle).say("roots", end.roots).data();
}

Section run_data(const models::RunDifference& run) {
  Section data;
  data.say("acts_in_both", run.ops_in_both).say("acts_moved", run.ops_moved);
  if (run.first) data.say("first", moved_data(*run.first).say("at_ns", run.first_ns).data());
  std::vector<JsonValue> paces;
  for (const PaceChange& change : run.pace) {
    Section item;
    item.say("op", change.op).say("acts", change.ops);
    item.say("a_ns", change.before_ns).say("b_ns", change.after_ns);
    item.say("largest", moved_data(change.largest).say("change_ns", change.largest_ns).data());
    paces.push_back(item.data());
  }
  std::vector<JsonValue> orders;
  for (const models::OrderChange& change : run.orders) {
    Section item;
    item.say("rank", change.rank).say("stream", change.stream).say("position", change.position);
    orders.push_back(item.say("a", change.before).say("b", change.after).data());
  }
  return data.say("pace", paces).say("orders", orders);
}

}  // namespace

bool Difference::same() const {
  models::RunEndFigures a = before;
  models::RunEndFigures b = after;
  // Ignores the fingerprint, which depends on the order of the actors in the file.
  if (run) a.fingerprint = b.fingerprint;
  const auto by_name = [](const OpCount& first, const OpCount& second) {
    return std::tie(first.rank, first.op) < std::tie(second.rank, second.op);
  };
  std::sort(a.counts.begin(), a.counts.end(), by_name);
  std::sort(b.counts.begin(), b.counts.end(), by_name);
  return a == b && (!graph || graph->empty()) && (!run || run->empty());
}

std::string value_text(const std::optional<KeyValue>& value) {
  if (!value) return "nothing";
  if (value->unit == KeyValue::Unit::kRanks) return ranks_text(value->ranks);
  if (value->unit == KeyValue::Unit::kText)
    return value->text.empty() ? "nothing" : models::printable(value->text);
  std::string text;
  for (const auto& [number, ranks] : value->numbers) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", number_text(number, value->unit),
                        ranks.empty() ? "" : fmt::format(" ({})", ranks_text(ranks)));
  }
  return text.empty() ? "nothing" : text;
}

std::string delta_of(std::int64_t before, std::int64_t after) {
  const std::int64_t delta = after - before;
  std::string text = delta_text(delta);
  constexpr std::int64_t kMaxExact = std::int64_t{1} << 50;
  if (before > 0 && std::abs(delta) < kMaxExact) {
    const std::int64_t tenths = std::abs(delta) * 1000 / before;
    text += fmt::format(", {}{}.{}%", delta < 0 ? "-" : "+", tenths / 10, tenths % 10);
  }
  return text;
}

std::vector<std::string> first_lines(const models::RunDifference& run) {
  std::vector<std::string> lines;
  if (!run.first) return lines;
  lines.push_back(fmt::format("{}, at {}", op_name(*run.first), time_text(run.first_ns)));
  for (const Moment& moment : kMoments) {
    const sim::Time before = run.first->before.*moment.time;
    const sim::Time after = run.first->after.*moment.time;
    if (before == after) continue;
    const bool both = before != sim::kNever && after != sim::kNever;
    lines.push_back(fmt::format(
        "    {}: {}{}", moment.what, became_text(moment_text(before), moment_text(after)),
        both ? fmt::format(" ({})", delta_text(after.ns - before.ns)) : ""));
  }
  return lines;
}

std::vector<CountRow> count_rows(const Difference& difference) {
  std::vector<CountRow> rows;
  std::map<std::array<std::string, 3>, std::size_t> known;
  for (const auto& [before, after] : count_changes(difference)) {
    const CountRow row = {before.op,
                          fmt::format("{} of {}", before.done, before.expected),
                          fmt::format("{} of {}", after.done, after.expected),
                          {}};
    const auto [place, is_new] =
        known.emplace(std::array{row.op, row.before, row.after}, rows.size());
    if (is_new) rows.push_back(row);
    rows[place->second].ranks.push_back(before.rank);
  }
  return rows;
}

std::string difference_text(const Difference& difference, const DifferenceOptions& options) {
  return Text(difference, options).run();
}

std::string graph_difference_text(const models::GraphDifference& graph,
                                  const DifferenceOptions& options) {
  if (graph.empty()) return {};
  Difference difference;
  difference.graph = graph;
  return Text(difference, options).run_graph();
}

std::string difference_json(const Difference& difference) {
  Section data;
  data.say("schema", models::kReportSchema).say("same", difference.same());
  data.say("a", end_json(difference.before_name, difference.before));
  data.say("b", end_json(difference.after_name, difference.after));
  std::vector<JsonValue> counts;
  for (const auto& [before, after] : count_changes(difference)) {
    Section item;
    item.say("rank", before.rank).say("op", before.op);
    item.say("a", done_json(before.done, before.expected));
    counts.push_back(item.say("b", done_json(after.done, after.expected)).data());
  }
  data.say("counts", counts);
  if (difference.graph) data.say("graph", graph_data(*difference.graph).data());
  if (difference.run) data.say("run", run_data(*difference.run).data());
  return data.json();
}

}  // namespace pipesim::viz
