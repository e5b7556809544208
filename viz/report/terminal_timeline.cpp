#include "viz/report/terminal_timeline.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/characters.hpp"
#include "viz/report/slice_names.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Lane;
using models::Slice;
using models::StuckOp;
using models::WorkKind;
using sim::ActorId;

constexpr std::size_t kMinColumns = 60;
constexpr std::size_t kMaxRows = 64;
constexpr std::size_t kMaxName = 18;  // maximum length of a name of a stream or stuck op

constexpr char kGoesOn = '-';
constexpr char kWaits = '.';
constexpr char kStuck = '!';        // stuck on the cycle, or at the end of wait chains
constexpr char kStuckBehind = ':';  // waits for the ops marked with kStuck

struct Cell {
  char shown = ' ';
  const char* style = nullptr;
};

// A line of the timeline, without its rank.
struct Row {
  std::string name;
  std::vector<Cell> cells;
  std::string note;  // the stuck op at the end
  const char* note_style = nullptr;
  std::set<WorkKind> kinds;  // kinds visible in this row
  // Entries needed in the legend:
  std::map<std::pair<WorkKind, char>, const char*> letters;
  std::set<char> marks;
  bool numbers = false;  // shows micro-batch numbers

  std::string key() const {
    std::string key = name + '\n';
    for (const Cell& cell : cells) key += cell.shown;
    return key + '\n' + note;
  }
};

struct Block {
  std::vector<std::uint32_t> ranks;
  std::vector<Row> rows;
  bool on_cycle = false;
};

// Returns the smallest step of 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 and so on that is at least
// `least`. Most durations that people choose are multiples of such a step.
std::int64_t nice(std::int64_t least) {
  if (least > 1'000'000'000'000'000) return least;  // more than 11 days: no rounding
  constexpr std::array<std::int64_t, 10> kNice = {100, 125, 150, 200, 250, 300, 400, 500, 600, 800};
  for (std::int64_t ten = 1;; ten *= 10) {
    for (const std::int64_t step : kNice) {
      const std::int64_t value = step * ten;
      if (value % 100 == 0 && value / 100 >= least) return value / 100;
    }
  }
}

std::string cut(const std::string& text) {
  if (display_width(text) <= kMaxName) return text;
  std::string result = text.substr(0, kMaxName - 2);
  // Does not split a UTF-8 character.
  while (!result.empty() && models::continues_character(text[result.size()])) {
    result.pop_back();
  }
  return result + "..";
}

std::string name_of(const Lane& lane) {
  return cut(lane.is_thread ? lane.name + " (host)" : lane.name);
}

class TerminalDrawing {
 public:
  TerminalDrawing(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::Timeline& timeline, const TerminalTimelineOptions& options)
      : graph_(graph),
        plan_(run.lowered.plan),
        run_(run),
        timeline_(timeline),
        options_(options),
        names_(graph, run) {
    for (const Lane& lane : timeline.lanes) {
      for (const StuckOp& op : lane.stuck) {
        has_cycle_ = has_cycle_ || op.on_cycle;
        if (op.on_cycle) on_cycle_.emplace(op.actor, op.k);
      }
    }
    for (const sim::RankDeath& death : run.outcome.deaths) {
      if (!death.after_quiescence) dead_.insert(death.rank.value);
    }
  }

  std::string run();

 private:
  // A part of a slice, all work or all waiting, and its time in a column.
  struct Part {
    const Slice* slice = nullptr;
    bool waits = false;
    std::int64_t ns = 0;
    std::int64_t busy_ns = 0;  // time of all work in the column
  };

  void lay_out();
  Row draw(const Lane& lane) const;
  void spread(const Slice& slice, bool waits, std::int64_t begin, std::int64_t end,
              std::vector<Part>& parts) const;
  void fill(const std::vector<Part>& parts, Row& row) const;
  void write(const Slice& slice, bool waits, std::size_t begin, std::size_t end, Row& row) const;
  bool lasts_for_ever(const Slice& slice) const {
    return timeline_.quiescent && !slice.done && !is_dead(plan_.actors[slice.actor].rank.value);
  }
  void mark_end(const Lane& lane, Row& row) const;
  bool is_dead(std::uint32_t rank) const { return dead_.count(rank) > 0; }
  static bool worth_it(const Row& row);
  void fold();
  void thin_out();
  std::string fitting(const Slice& slice, std::size_t width, Row& row) const;
  char stuck_mark(ActorId id, std::uint32_t k, bool started) const;
  std::string axis() const;
  std::string legend() const;
  std::string text_of(const Row& row) const;
  std::string styled(const char* style, const std::string& text) const {
    const bool has_style = style != nullptr && !text.empty();
    return viz::styled(has_style ? style : "", text, options_.colour && has_style);
  }

  const models::TaskGraph& graph_;
  const sim::Plan& plan_;
  const models::Simulation& run_;
  const models::Timeline& timeline_;
  const TerminalTimelineOptions& options_;
  SliceNames names_;
  std::set<std::pair<ActorId, std::uint32_t>> on_cycle_;
  std::set<std::uint32_t> dead_;
  bool has_cycle_ = false;
  std::size_t space_ = 0;    // columns available for time
  std::size_t width_ = 0;    // columns used for time
  std::int64_t per_ns_ = 1;  // nanoseconds per column
  std::vector<Block> blocks_;
  std::size_t lanes_left_out_ = 0;
  std::size_t ranks_left_out_ = 0;
};

// Chooses the column widths from the whole timeline, so that omitting rows later does not change
// them.
void TerminalDrawing::lay_out() {
  std::size_t name = 6;
  std::size_t note = 0;
  for (const Lane& lane : timeline_.lanes) {
    name = std::max(name, display_width(name_of(lane)));
    if (!lane.stuck.empty()) note = kMaxName + 1;
  }
  constexpr std::size_t kRanks = 7;
  const std::size_t columns = std::max(options_.columns, kMinColumns);
  const std::size_t beside = kRanks + 2 + name + 2 + (note == 0 ? 0 : note + 2);
  space_ = columns > beside + 20 ? columns - beside : 20;
  const auto width = static_cast<std::int64_t>(space_);
  // Rounds up without overflow, even close to the maximum time.
  const auto parts_of = [](std::int64_t all, std::int64_t part) {
    return all / part + (all % part == 0 ? 0 : 1);
  };
  per_ns_ = nice(std::max<std::int64_t>(parts_of(timeline_.end_ns, width), 1));
  width_ = static_cast<std::size_t>(parts_of(timeline_.end_ns, per_ns_));
}

void TerminalDrawing::spread(const Slice& slice, bool waits, std::int64_t begin, std::int64_t end,
                             std::vector<Part>& parts) const {
  if (begin >= end) return;
  for (std::int64_t column = begin / per_ns_; column <= (end - 1) / per_ns_; ++column) {
    const std::int64_t first = column * per_ns_;
    const std::int64_t ns =
        std::min(end - first, per_ns_) - std::max<std::int64_t>(begin - first, 0);
    Part& part = parts[static_cast<std::size_t>(column)];
    part.busy_ns += ns;
    if (ns <= part.ns) continue;
    part.slice = &slice;
    part.waits = waits;
    part.ns = ns;
  }
}

char TerminalDrawing::stuck_mark(ActorId id, std::uint32_t k, bool started) const {
  const bool first = has_cycle_ ? on_cycle_.count({id, k}) > 0 : started;
  return first ? kStuck : kStuckBehind;
}

Row TerminalDrawing::draw(const Lane& lane) const {
  std::vector<Part> parts(width_);
  for (const Slice& slice : lane.slices) {
    const bool waits = lasts_for_ever(slice) ||
                       (lane.is_thread && sim::facts(plan_.actors[slice.actor].role).only_waits);
    const std::int64_t work = waits            ? slice.end_ns
                              : lane.is_thread ? slice.begin_ns
                                               : slice.work_ns;
    spread(slice, true, slice.begin_ns, work, parts);
    spread(slice, false, work, slice.end_ns, parts);
  }
  Row row;
  row.name = name_of(lane);
  row.cells.resize(width_);
  fill(parts, row);
  mark_end(lane, row);
  return row;
}

// Fills the cells of a row. A column that is used less than half stays empty.
void TerminalDrawing::fill(const std::vector<Part>& parts, Row& row) const {
  const auto is_empty = [&](std::size_t i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * per_ns_;
    return 2 * parts[i].busy_ns < std::min(per_ns_, timeline_.end_ns - begin);
  };
  for (std::size_t i = 0; i < parts.size();) {
    if (is_empty(i)) {
      ++i;
      continue;
    }
    const Part& part = parts[i];
    std::size_t end = i + 1;
    while (end < parts.size() && !is_empty(end) && parts[end].slice == part.slice &&
           parts[end].waits == part.waits) {
      ++end;
    }
    write(*part.slice, part.waits, i, end, row);
    i = end;
  }
}

// Writes a slice into the columns [begin, end).
void TerminalDrawing::write(const Slice& slice, bool waits, std::size_t begin, std::size_t end,
                            Row& row) const {
  const bool for_ever = lasts_for_ever(slice);
  const char mark = for_ever ? stuck_mark(slice.actor, slice.k, true) : kWaits;
  const KindLook kind = look(slice.kind);
  const std::string words = waits && !for_ever ? "" : fitting(slice, end - begin, row);
  for (std::size_t at = begin; at < end; ++at) {
    const bool in_words = at - begin < words.size();
    Cell& cell = row.cells[at];
    cell.shown = in_words ? words[at - begin] : waits ? mark : kGoesOn;
    cell.style = waits ? (mark == kStuck ? ansi::kRed : ansi::kDim) : kind.style;
    if (!in_words) row.marks.insert(cell.shown);
  }
}

// Adds the note of a row: the op that is stuck forever, or "died" for a dead rank.
void TerminalDrawing::mark_end(const Lane& lane, Row& row) const {
  if (is_dead(lane.rank)) {
    row.note = "died";
    row.note_style = ansi::kRed;
    return;
  }
  const Slice* last = lane.slices.empty() ? nullptr : &lane.slices.back();
  const bool runs = timeline_.quiescent && last != nullptr && !last->done;
  if (!runs && lane.stuck.empty()) return;
  const std::pair op = runs ? std::pair(last->actor, last->k)
                            : std::pair(lane.stuck.front().actor, lane.stuck.front().k);
  const char mark = stuck_mark(op.first, op.second, runs);
  row.note =
      cut(fmt::format("{} {}", mark, models::op_label(graph_, run_.lowered, op.first, op.second)));
  row.note_style = mark == kStuck ? ansi::kRed : ansi::kDim;
  row.marks.insert(mark);
  if (runs) return;
  const std::int64_t since = last == nullptr ? 0 : last->end_ns;
  const std::int64_t first = since / per_ns_ + (2 * (since % per_ns_) >= per_ns_ ? 1 : 0);
  for (auto at = static_cast<std::size_t>(first); at < row.cells.size(); ++at) {
    if (row.cells[at].shown == ' ') row.cells[at] = {mark, row.note_style};
  }
}

// Whether a row is shown. A row with an op marked kStuck is always shown. A row of messages and
// copies must work in more than 5% of its columns, any other row in at least one column.
bool TerminalDrawing::worth_it(const Row& row) {
  if (!row.note.empty() && row.note.front() == kStuck) return true;
  const bool only_moves = std::all_of(row.kinds.begin(), row.kinds.end(), [](WorkKind kind) {
    return kind == WorkKind::kMessage || kind == WorkKind::kBuffer || kind == WorkKind::kControl;
  });
  const auto works = std::count_if(row.cells.begin(), row.cells.end(), [](const Cell& cell) {
    return cell.shown != ' ' && cell.shown != kWaits && cell.shown != kStuck &&
           cell.shown != kStuckBehind;
  });
  const std::size_t least = only_moves ? row.cells.size() / 20 : 0;
  return static_cast<std::size_t>(works) > least;
}

void TerminalDrawing::fold() {
  std::map<std::string, std::size_t> known;
  for (auto lane = timeline_.lanes.begin(); lane != timeline_.lanes.end();) {
    Block block;
    const std::uint32_t rank = lane->rank;
    std::string key;
    for (; lane != timeline_.lanes.end() && lane->rank == rank; ++lane) {
      Row row = draw(*lane);
      if (!worth_it(row)) {
        ++lanes_left_out_;
        continue;
      }
      block.on_cycle = block.on_cycle || (!row.note.empty() && row.note.front() == kStuck);
      key += row.key() + '\n';
      block.rows.push_back(std::move(row));
    }
    if (block.rows.empty()) continue;
    const auto [place, is_new] = known.emplace(key, blocks_.size());
    if (is_new) blocks_.push_back(std::move(block));
    blocks_[place->second].ranks.push_back(rank);
  }
}

// Keeps the rows of only some ranks if there are too many rows: ranks of the cycle in up to half of
// the space, and an even sample of all ranks in the rest.
void TerminalDrawing::thin_out() {
  std::size_t rows = 0;
  std::size_t most = 1;
  for (const Block& block : blocks_) {
    rows += block.rows.size();
    most = std::max(most, block.rows.size());
  }
  if (rows <= kMaxRows) return;
  const std::size_t space = std::max<std::size_t>(kMaxRows / most, 1);
  const auto begin = blocks_.begin();
  std::vector<bool> keep(blocks_.size(), false);
  std::size_t left = space;
  for (std::size_t i = 0; i < blocks_.size() && left > space / 2; ++i) {
    if (!blocks_[i].on_cycle) continue;
    keep[i] = true;
    --left;
  }
  for (std::size_t i = 0; i < left; ++i) {
    keep[left == 1 ? 0 : i * (blocks_.size() - 1) / (left - 1)] = true;
  }
  std::vector<Block> kept;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (keep[i]) {
      kept.push_back(std::move(*(begin + static_cast<std::ptrdiff_t>(i))));
    } else {
      ranks_left_out_ += blocks_[i].ranks.size();
    }
  }
  blocks_ = std::move(kept);
}

std::string TerminalDrawing::fitting(const Slice& slice, std::size_t width, Row& row) const {
  const SliceWords words = names_.words_of(slice);
  const std::pair key(slice.kind, words.letter);
  row.kinds.insert(slice.kind);
  for (const std::string& choice : words.choices) {
    if (choice.size() > width) continue;
    if (words.numbered) row.letters.emplace(key, words.meaning);
    row.numbers = row.numbers || words.numbered;
    return choice;
  }
  row.letters.emplace(key, words.meaning);
  return std::string(1, words.letter);
}

// Returns the axis: times at a fixed distance, each after a mark at its column.
std::string TerminalDrawing::axis() const {
  std::string line(width_, ' ');
  for (const std::size_t step : {std::size_t{10}, std::size_t{20}, std::size_t{40}}) {
    const auto label = [&](std::size_t at) {
      return "|" + time_text(static_cast<std::int64_t>(at) * per_ns_);
    };
    bool fits = true;
    for (std::size_t at = 0; at < width_; at += step) fits = fits && label(at).size() < step;
    if (!fits) continue;
    for (std::size_t at = 0; at < width_; at += step) {
      const std::string text = at == 0 ? "|0" : label(at);
      if (at + text.size() > (timeline_.quiescent ? width_ : space_)) break;
      if (line.size() < at + text.size()) line.resize(at + text.size(), ' ');
      line.replace(at, text.size(), text);
    }
    break;
  }
  if (timeline_.quiescent) line += fmt::format("| stuck at {}", time_text(timeline_.end_ns));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string TerminalDrawing::text_of(const Row& row) const {
  std::string text;
  for (std::size_t i = 0; i < row.cells.size();) {
    std::size_t end = i + 1;
    while (end < row.cells.size() && row.cells[end].style == row.cells[i].style) ++end;
    std::string part;
    for (std::size_t at = i; at < end; ++at) part += row.cells[at].shown;
    text += styled(row.cells[i].style, part);
    i = end;
  }
  if (timeline_.quiescent) {
    text += styled(ansi::kBold, "|") + " " + styled(row.note_style, row.note);
  }
  return text;
}

std::string TerminalDrawing::legend() const {
  Row all;
  for (const Block& block : blocks_) {
    for (const Row& row : block.rows) {
      all.letters.insert(row.letters.begin(), row.letters.end());
      all.marks.insert(row.marks.begin(), row.marks.end());
      all.numbers = all.numbers || row.numbers;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [letter, meaning] : all.letters) {
    parts.push_back(fmt::format("{} {}", letter.second, meaning));
  }
  if (all.numbers) parts.emplace_back("numbers are micro-batches");
  if (all.marks.count(kGoesOn) > 0) parts.emplace_back("- goes on");
  if (all.marks.count(kWaits) > 0) parts.emplace_back(". waits");
  if (all.marks.count(kStuck) > 0) {
    parts.emplace_back(has_cycle_ ? "! waits forever, on the cycle" : "! waits forever");
  }
  if (all.marks.count(kStuckBehind) > 0) parts.emplace_back(": waits forever, behind others");
  std::string text;
  std::string line = fmt::format("One column is {}.", time_text(per_ns_));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 == parts.size() ? "." : ",");
    if (line.size() + 1 + part.size() > std::max(options_.columns, kMinColumns)) {
      text += line + "\n";
      line = part;
    } else {
      line += " " + part;
    }
  }
  text += line + "\n";
  if (lanes_left_out_ > 0) {
    text += fmt::format("Left out: {} with nothing long enough to see.\n",
                        counted(lanes_left_out_, "row"));
  }
  if (ranks_left_out_ > 0) {
    text += fmt::format("Left out: {} of {}, evenly.\n", ranks_left_out_,
                        counted(plan_.rank_count, "rank"));
  }
  return text;
}

std::string TerminalDrawing::run() {
  lay_out();
  names_.fit_stages(timeline_, per_ns_);
  fold();
  thin_out();
  Table table(
      {styled(ansi::kBold, "rank"), styled(ansi::kBold, "stream"), styled(ansi::kBold, axis())});
  for (const Block& block : blocks_) {
    for (std::size_t i = 0; i < block.rows.size(); ++i) {
      table.add(
          {i == 0 ? short_ranges(block.ranks) : "", block.rows[i].name, text_of(block.rows[i])});
    }
  }
  return table.text() + legend();
}

}  // namespace

std::string terminal_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                              const models::Timeline& timeline,
                              const TerminalTimelineOptions& options) {
  return TerminalDrawing(graph, run, timeline, options).run();
}

}  // namespace pipesim::viz
