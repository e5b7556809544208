#include "features/record/attached_record.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/whole_number.hpp"

namespace pipesim::formats {
namespace {

// Seconds without a new line after which a rank counts as blocked.
constexpr std::int64_t kSecondsToRest = 10;
// The number of first steps that remain of a repeated step. Its last step also remains.
constexpr std::int64_t kFirstSteps = 3;

constexpr std::size_t kNone = ~std::size_t{0};

// A line of the record that the rank's file will contain.
struct Entry {
  const AttachedLine* of = nullptr;
  std::int64_t number = 0;          // number of the call or step
  std::int64_t work = 0;            // work of a call
  std::int64_t batch = 0;           // batch of a call; 0: none
  std::int64_t source = -1;         // source of a recv from any source
  std::vector<std::int64_t> works;  // works of a wait, a poll or a drop
  bool sync = false;
  bool timed_out = false;
  bool dropped = false;
};

// The end of a rank.
struct End {
  std::string text;           // the line of the record; empty: not known yet
  bool in_a_call = false;     // whether it waits in a call, or another rank's error ended its call
  bool lost_another = false;  // whether an error shows that another rank died
};

// The state of a thread.
struct ThreadState {
  std::vector<std::size_t> calls;     // entries
  std::vector<std::int64_t> futures;  // works whose futures were taken
  std::vector<std::int64_t> native;   // works of C++ callers that the current backward waits for
  std::size_t last = kNone;           // entry of the last call or wait
  bool in_batch = false;
  bool in_backward = false;
};

bool is_step(const AttachedRank& rank, const AttachedRun& run) {
  return !run.lines.empty() && rank.lines[run.lines.back()].kind == 'S';
}

// Makes the entries of one rank.
class RankEntries {
 public:
  explicit RankEntries(const AttachedRank& rank) : rank_(rank) {}

  // Makes the entries. `skipped`: how many steps were removed, by the number of the step before
  // them.
  void run(const std::map<std::int64_t, std::int64_t>& skipped);

  // Removes what follows step `number`.
  void cut_after(std::int64_t number);
  std::string text(const End& end) const;
  End end() const;

  // Moves the entries that threads wait in to the end, as the format requires for blocked ranks.
  void rest();

 private:
  void add(const AttachedLine& line);
  void add_call(const AttachedLine& line);
  void add_wait(const AttachedLine& line);
  void add_wait_for(const AttachedLine& line, std::vector<std::int64_t> works);
  void finish_call(const AttachedLine& line);
  void move_to_end(const AttachedLine& line);
  void add_failure(const AttachedLine& line);
  void add_mark(const AttachedLine& line);
  void skip_steps(const AttachedRun& run);
  void add_step(const AttachedLine& line);
  std::string text_of(const Entry& entry) const;

  std::size_t push(Entry entry) {
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
  }
  ThreadState& thread(const AttachedLine& line) { return threads_[line.thread]; }
  std::size_t call_before(const AttachedLine& line, const std::string& back);

  const AttachedRank& rank_;
  std::vector<Entry> entries_;
  std::map<std::uint32_t, ThreadState> threads_;
  std::map<std::string, std::int64_t> numbers_;  // number of calls, by group and kind
  std::map<std::int64_t, std::int64_t> skipped_;
  std::int64_t works_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t steps_ = 0;
  bool is_over_ = false;        // whether another rank's error ended a call
  bool is_incomplete_ = false;  // whether lines were lost, or a line refers to a lost one
  const AttachedLine* end_ = nullptr;
};

void RankEntries::run(const std::map<std::int64_t, std::int64_t>& skipped) {
  skipped_ = skipped;
  is_incomplete_ = rank_.has_lost_lines;
  for (const AttachedRun& run : rank_.runs) {
    for (std::int64_t i = 0; i < run.times; ++i) {
      if (is_step(rank_, run)) skip_steps(run);
      for (const std::uint32_t line : run.lines) {
        if (is_over_) return;
        add(rank_.lines[line]);
      }
    }
  }
}

void RankEntries::cut_after(std::int64_t number) {
  const auto last = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.of->kind == 'S' && entry.number == number && entry.works.empty();
  });
  if (last != entries_.end()) entries_.erase(last + 1, entries_.end());
}

void RankEntries::add(const AttachedLine& line) {
  switch (line.kind) {
    case 'C':
    case 'N':
      return add_call(line);
    case 'W':
    case 'P':
    case 'X':
    case 'F':
      return add_wait(line);
    case 'A':
      return add_wait_for(line, std::exchange(thread(line).futures, {}));
    case 'Y':
      return finish_call(line);
    case 'Z':
      return move_to_end(line);
    case 'R':
      return add_failure(line);
    case 'S':
      return add_step(line);
    default:
      return add_mark(line);
  }
}

void RankEntries::add_call(const AttachedLine& line) {
  if (line.words.size() < 2) return;
  ThreadState& caller = thread(line);
  Entry entry;
  entry.of = &line;
  entry.number = ++numbers_[line.words[0] + " " + line.words[1]];
  entry.work = ++works_;
  entry.batch = caller.in_batch ? batches_ : 0;
  if (line.kind == 'N') {
    if (caller.in_backward) {
      caller.native.push_back(entry.work);
    } else {
      entry.sync = true;
    }
  }
  caller.last = push(std::move(entry));
  caller.calls.push_back(caller.last);
}

// Returns the entry of the call that the thread named by `line` made `back` calls before its last
// one, or kNone.
std::size_t RankEntries::call_before(const AttachedLine& line, const std::string& back) {
  const auto of = models::whole_number<std::uint32_t>(line.words.front());
  const auto number = models::whole_number<std::size_t>(back);
  const std::vector<std::size_t>& calls = threads_[of.value_or(0)].calls;
  if (!of || !number || *number >= calls.size()) return kNone;
  return calls[calls.size() - 1 - *number];
}

void RankEntries::add_wait(const AttachedLine& line) {
  std::vector<std::int64_t> works;
  std::string backs = line.words.size() > 1 ? line.words[1] : "";
  while (!backs.empty()) {
    const std::size_t comma = std::min(backs.find(','), backs.size());
    const std::size_t call = call_before(line, backs.substr(0, comma));
    backs.erase(0, comma + 1);
    if (call == kNone) {
      is_incomplete_ = true;
    } else if (!entries_[call].dropped && !entries_[call].sync) {
      works.push_back(entries_[call].work);
    }
  }
  if (line.kind == 'F') {
    std::vector<std::int64_t>& futures = thread(line).futures;
    futures.insert(futures.end(), works.begin(), works.end());
  } else {
    add_wait_for(line, std::move(works));
  }
}

void RankEntries::add_wait_for(const AttachedLine& line, std::vector<std::int64_t> works) {
  if (works.empty()) return;
  Entry entry;
  entry.of = &line;
  entry.works = std::move(works);
  const std::size_t at = push(std::move(entry));
  if (line.kind == 'W' || line.kind == 'A') thread(line).last = at;
}

// Makes the thread's last call synchronous. If other threads have called since, adds a wait for the
// call instead.
void RankEntries::finish_call(const AttachedLine& line) {
  ThreadState& of = thread(line);
  if (of.calls.empty()) return;
  const std::size_t call = of.calls.back();
  if (call + 1 == entries_.size()) {
    entries_[call].sync = true;
    return;
  }
  Entry wait;  // another thread has called since
  wait.of = entries_[call].of;
  wait.works = {entries_[call].work};
  of.last = push(std::move(wait));
}

// Moves the thread's last wait after the calls that other threads made during the wait.
void RankEntries::move_to_end(const AttachedLine& line) {
  ThreadState& of = thread(line);
  if (of.last == kNone || of.last + 1 == entries_.size()) return;
  Entry wait = entries_[of.last];
  if (entries_[of.last].sync) {
    wait.works = {wait.work};
    wait.sync = entries_[of.last].sync = false;
  } else if (wait.works.empty()) {
    return;
  } else {
    entries_[of.last].dropped = true;
  }
  of.last = push(std::move(wait));
}

// Marks the thread's last call or wait as one that raised an error.
void RankEntries::add_failure(const AttachedLine& line) {
  const ThreadState& of = thread(line);
  if (of.last == kNone || line.words.empty()) return;
  Entry& last = entries_[of.last];
  if (line.words[0] == "others") {
    is_over_ = true;
    const bool waits_for_native = of.in_backward && !of.native.empty();
    last.sync = last.works.empty() && !waits_for_native;
  } else if (line.words[0] == "timeout") {
    last.timed_out = true;
  } else {  // the arguments are wrong: no rank waits for the call
    last.dropped = true;
    for (const std::size_t call : of.calls) {
      if (last.works == std::vector{entries_[call].work}) entries_[call].dropped = true;
    }
    const bool refused = last.works.empty() && !last.sync && last.of->words.size() > 1;
    if (refused) --numbers_[last.of->words[0] + " " + last.of->words[1]];
  }
}

// Counts the steps that were left out before the next step, and their calls. They are like it.
void RankEntries::skip_steps(const AttachedRun& run) {
  const auto skipped = skipped_.find(steps_);
  if (skipped == skipped_.end()) return;
  steps_ += skipped->second;
  for (const std::uint32_t number : run.lines) {
    const AttachedLine& line = rank_.lines[number];
    if ((line.kind != 'C' && line.kind != 'N') || line.words.size() < 2) continue;
    numbers_[line.words[0] + " " + line.words[1]] += skipped->second;
  }
}

void RankEntries::add_step(const AttachedLine& line) {
  Entry entry;
  entry.of = &line;
  entry.number = ++steps_;
  push(std::move(entry));
}

void RankEntries::add_mark(const AttachedLine& line) {
  ThreadState& of = thread(line);
  const bool begins = !line.words.empty() && line.words[0] == "begin";
  if (line.kind == 'G') {
    of.in_batch = begins;
    batches_ += begins ? 1 : 0;
    return;
  }
  if (line.kind == 'V') {
    const std::size_t call = line.words.size() < 3 ? kNone : call_before(line, line.words[1]);
    const auto source =
        call == kNone ? std::nullopt : models::whole_number<std::int64_t>(line.words[2]);
    if (source) entries_[call].source = *source;
    return;
  }
  if (line.kind == 'B') {
    of.in_backward = begins;
    std::vector<std::int64_t> native = begins ? of.native : std::exchange(of.native, {});
    // A backward that has raised ("stop") waits for none of its calls.
    if (!line.words.empty() && line.words[0] == "end") add_wait_for(line, std::move(native));
  }
  if (line.kind != 'B' && line.kind != 'E') return;
  if (line.entry.starts_with("\"end\"")) {
    end_ = &line;
    is_over_ = true;
    return;
  }
  Entry entry;
  entry.of = &line;
  push(std::move(entry));
}

void RankEntries::rest() {
  for (const std::uint32_t number : rank_.in_a_call) {
    const AttachedLine& line = rank_.lines[number - 1];
    const ThreadState& of = thread(line);
    if (of.last == kNone || line.kind == 'E') continue;
    // In a backward, a wait for all its calls follows below.
    const bool waits = line.kind == 'C' || (line.kind == 'N' && !of.in_backward);
    if (waits && entries_[of.last].of == &line) {
      entries_[of.last].sync = true;
    }
    move_to_end(line);
  }
  for (auto& [number, of] : threads_) {
    if (!of.in_backward || of.native.empty() || of.last == kNone) continue;
    Entry wait;
    wait.of = entries_[of.last].of;
    wait.works = std::exchange(of.native, {});
    push(std::move(wait));
  }
}

End RankEntries::end() const {
  if (end_ != nullptr) return {"{" + end_->entry + "}\n", false, false};
  if (is_over_) return {"{\"end\": \"cut\", \"why\": \"rest\"}\n", true, true};
  End end;
  const bool in_backward = std::any_of(threads_.begin(), threads_.end(), [](const auto& thread) {
    return thread.second.in_backward && !thread.second.native.empty();
  });
  end.in_a_call = rank_.idle >= kSecondsToRest && (!rank_.in_a_call.empty() || in_backward);
  return end;
}

// Returns the keys of an entry from `l` on, with a comma before them; empty if it has no `l`.
std::string place_of(const AttachedLine& line) {
  const std::size_t at = line.entry.find("\"l\": ");
  return at == std::string::npos ? "" : ", " + line.entry.substr(at);
}

std::string RankEntries::text_of(const Entry& entry) const {
  const AttachedLine& line = *entry.of;
  const auto works = [&](const char* key) {
    return entry.works.size() == 1
               ? fmt::format("{{\"{}\": {}", key, entry.works[0])
               : fmt::format("{{\"{}\": [{}]", key, fmt::join(entry.works, ", "));
  };
  std::string text;
  if (!entry.works.empty()) {
    text = works(line.kind == 'P' ? "poll" : line.kind == 'X' ? "drop" : "wait") + place_of(line);
    if (entry.timed_out) text += ", \"timed_out\": true";
  } else if (line.kind == 'S') {
    text = fmt::format("{{\"step\": {}", entry.number) + place_of(line);
  } else {
    text = "{" + line.entry;
  }
  if (entry.works.empty() && (line.kind == 'C' || line.kind == 'N')) {
    if (entry.source >= 0) {
      const std::size_t peer = text.find("\"peer\": ") + 8;
      text.replace(peer, text.find(',', peer) - peer, std::to_string(entry.source));
    }
    text += fmt::format(", \"n\": {}", entry.number);
    text += entry.sync ? ", \"sync\": true" : fmt::format(", \"w\": {}", entry.work);
    if (entry.batch > 0) text += fmt::format(", \"batch\": {}", entry.batch);
  }
  return text + "}\n";
}

std::string RankEntries::text(const End& end) const {
  std::string text =
      fmt::format("{{\"record\": 1, \"rank\": {}, \"world\": {}}}\n", rank_.rank, rank_.world);
  std::uint32_t number = 0;
  for (const AttachedLine& line : rank_.lines) {
    ++number;
    if (line.kind == 'L') text += fmt::format("{{\"def\": \"l{}\", {}}}\n", number, line.entry);
    if (line.kind == 'D') text += "{" + line.entry + "}\n";
  }
  for (const Entry& entry : entries_) {
    if (!entry.dropped) text += text_of(entry);
  }
  if (is_incomplete_) text += "{\"note\": \"incomplete\", \"text\": \"lines were lost\"}\n";
  return text + end.text;
}

// ---------------------------------------------------------------------------------------------
// The job

using Interval = std::pair<std::int64_t, std::int64_t>;  // steps: first, end

// Returns the steps of each run of equal steps, except its first kFirstSteps steps and its last
// one.
std::vector<Interval> repeated_steps(const AttachedRank& rank) {
  std::vector<Interval> result;
  std::int64_t step = 0;
  for (const AttachedRun& run : rank.runs) {
    if (!is_step(rank, run)) continue;
    if (run.times > kFirstSteps + 1) result.emplace_back(step + kFirstSteps, step + run.times - 1);
    step += run.times;
  }
  return result;
}

std::vector<Interval> common(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> result;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval both{std::max(a[i].first, b[j].first), std::min(a[i].second, b[j].second)};
    if (both.first < both.second) result.push_back(both);
    if (a[i].second < b[j].second) {
      ++i;
    } else {
      ++j;
    }
  }
  return result;
}

// Removes the steps in `removed` from the runs of a rank. Returns how many steps were removed, by
// the number of the step before them.
std::map<std::int64_t, std::int64_t> remove_steps(AttachedRank& rank,
                                                  const std::vector<Interval>& removed) {
  std::map<std::int64_t, std::int64_t> skipped;
  std::int64_t step = 0;
  std::size_t next = 0;
  for (AttachedRun& run : rank.runs) {
    if (!is_step(rank, run)) continue;
    const std::int64_t end = step + run.times;
    for (; next < removed.size() && removed[next].first < end; ++next) {
      const std::int64_t count = removed[next].second - removed[next].first;
      skipped[removed[next].first] = count;
      run.times -= count;
    }
    step = end;
  }
  return skipped;
}

std::int64_t steps_of(const AttachedRank& rank) {
  std::int64_t steps = 0;
  for (const AttachedRun& run : rank.runs) steps += is_step(rank, run) ? run.times : 0;
  return steps;
}

std::string end_text(const AttachedRank& rank, const char* why) {
  std::string text = fmt::format("{{\"end\": \"cut\", \"why\": \"{}\"", why);
  if (rank.place > 0 && rank.place <= rank.lines.size() && rank.lines[rank.place - 1].kind == 'L') {
    text += fmt::format(", \"l\": \"l{}\"", rank.place);
  }
  return text + "}\n";
}

// Judges how each rank ended. Fills in the texts of `ends`, and sets whether the job has ended and
// whether it goes on.
void add_ends(const std::vector<AttachedRank>& ranks, std::vector<RankEntries>& entries,
              std::vector<End>& ends, AttachedJob& job) {
  for (const AttachedRank& rank : ranks) job.alive_at = std::max(job.alive_at, rank.alive_at);
  const bool any_in_a_call =
      std::any_of(ends.begin(), ends.end(), [](const End& end) { return end.in_a_call; });
  const bool any_lost_another =
      std::any_of(ends.begin(), ends.end(), [](const End& end) { return end.lost_another; });
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const AttachedRank& rank = ranks[i];
    const bool rests = rank.idle >= kSecondsToRest;
    const bool died = job.alive_at - rank.alive_at >= kSecondsToDie || (any_lost_another && !rests);
    const bool outside = any_in_a_call && rests;
    const bool is_known = !ends[i].text.empty() || died;
    job.has_ended = job.has_ended && is_known;
    job.goes_on = job.goes_on || !(is_known || ends[i].in_a_call || outside);
    if (ends[i].in_a_call) entries[i].rest();
    if (ends[i].text.empty()) {
      ends[i].text = died                ? "{\"end\": \"killed\"}\n"
                     : ends[i].in_a_call ? end_text(rank, "rest")
                     : outside           ? end_text(rank, "outside")
                                         : end_text(rank, "killed");
    }
  }
}

}  // namespace

AttachedJob attached_record(std::vector<AttachedRank> ranks, bool only_steps) {
  AttachedJob job;
  job.has_ended = true;
  job.steps = ranks.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
  std::vector<Interval> removed;
  for (const AttachedRank& rank : ranks) {
    removed =
        &rank == &ranks.front() ? repeated_steps(rank) : common(removed, repeated_steps(rank));
    job.steps = std::min(job.steps, steps_of(rank));
  }
  std::vector<RankEntries> entries;
  entries.reserve(ranks.size());
  std::vector<End> ends;
  for (AttachedRank& rank : ranks) {
    const auto skipped = remove_steps(rank, removed);
    entries.emplace_back(rank).run(skipped);
    ends.push_back(entries.back().end());
  }
  add_ends(ranks, entries, ends, job);
  const bool cut = only_steps && job.goes_on;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (cut) {
      entries[i].cut_after(job.steps);
      ends[i].text = "{\"end\": \"cut\", \"why\": \"steps\"}\n";
    }
    job.texts.push_back({ranks[i].rank, entries[i].text(ends[i])});
  }
  return job;
}

}  // namespace pipesim::formats
