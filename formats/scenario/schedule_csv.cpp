#include "formats/scenario/schedule_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace pipesim::formats {

using models::Action;
using models::ActionKind;
using models::Diagnostics;
using models::Place;
using models::Schedule;

namespace {

constexpr std::uint32_t kMaxCsvStages = 1 << 14;
constexpr std::uint32_t kMaxMicroBatches = 1 << 24;

struct Word {
  std::string_view text;
  ActionKind kind;
};

// Longer words come first: otherwise a prefix would match.
constexpr std::array<Word, 12> kWords = {{
    {"REDUCE_GRAD", ActionKind::kReduceGrad},
    {"UNSHARD", ActionKind::kUnshard},
    {"RESHARD", ActionKind::kReshard},
    {"SEND_F", ActionKind::kSendForward},
    {"RECV_F", ActionKind::kRecvForward},
    {"SEND_B", ActionKind::kSendBackward},
    {"RECV_B", ActionKind::kRecvBackward},
    {"BW", ActionKind::kBackward},
    {"F", ActionKind::kForward},
    {"B", ActionKind::kBackward},
    {"I", ActionKind::kInputGrad},
    {"W", ActionKind::kWeightGrad},
}};

Place moved(Place place, std::size_t by) {
  place.column += static_cast<std::uint32_t>(by);
  return place;
}

class ScheduleParser {
 public:
  ScheduleParser(std::uint32_t pipelines, bool partial, Diagnostics& diagnostics)
      : diagnostics_(diagnostics) {
    schedule_.pipelines = pipelines;
    schedule_.partial = partial;
  }

  std::optional<Schedule> run(const std::vector<ScheduleRow>& rows) {
    if (rows.empty()) {
      diagnostics_.error({}, models::Code::kEmpty,
                         "the schedule has no rows; it needs one per rank");
    }
    for (const ScheduleRow& row : rows) read_row(row);
    if (diagnostics_.has_errors()) return std::nullopt;
    translate();
    if (diagnostics_.has_errors()) return std::nullopt;
    if (schedule_.stages % schedule_.pipelines != 0) {
      diagnostics_.error(rows.front().place, models::Code::kScheduleShape,
                         fmt::format("{} stages cannot be divided among {} pipelines",
                                     schedule_.stages, schedule_.pipelines));
      return std::nullopt;
    }
    if (!models::validate(schedule_, diagnostics_)) return std::nullopt;
    return std::move(schedule_);
  }

 private:
  void read_row(const ScheduleRow& row) {
    actions_.clear();
    places_.clear();
    std::size_t begin = 0;
    while (begin <= row.text.size()) {
      const std::size_t end = std::min(row.text.find(',', begin), row.text.size());
      read_cell(row.text.substr(begin, end - begin), moved(row.place, begin));
      begin = end + 1;
    }
    const bool idle =
        std::all_of(actions_.begin(), actions_.end(), [](const Action& a) { return a.none(); });
    if (idle && !schedule_.partial) {
      diagnostics_.error(row.place, models::Code::kEmpty,
                         fmt::format("rank {} has no actions", schedule_.ranks.size()));
    }
    schedule_.ranks.push_back(actions_);
    schedule_.places.push_back(places_);
  }

  void add(const Action& action, Place place) {
    actions_.push_back(action);
    places_.push_back(place);
  }

  // Reads a cell, which can be in quotes, with blanks around it.
  void read_cell(std::string_view text, Place place) {
    const auto trim = [&](std::string_view around) {
      const std::size_t first = text.find_first_not_of(around);
      if (first == std::string_view::npos) {
        text = {};
        return;
      }
      place = moved(place, first);
      text = text.substr(first, text.find_last_not_of(around) - first + 1);
    };
    trim(" \t");
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
      text = text.substr(1, text.size() - 2);
      place = moved(place, 1);
      trim(" \t");
    }
    if (text.empty()) {
      models::add_empty(actions_, 1);
      if (places_.size() < actions_.size()) places_.push_back(place);
      return;
    }
    if (text.front() == '(') return read_overlap(text, place);
    add(read_action(text, place), place);
  }

  void read_overlap(std::string_view text, Place place) {
    constexpr std::string_view kEnd = ")OVERLAP_F_B";
    if (text.size() <= kEnd.size() || text.substr(text.size() - kEnd.size()) != kEnd) {
      diagnostics_.error(
          place, models::Code::kScheduleAction,
          fmt::format("'{}' is not an action: '(' needs ')OVERLAP_F_B' at the end", text));
      return add({ActionKind::kForward, false, 0, 0}, place);
    }
    const std::string_view inner = text.substr(1, text.size() - kEnd.size() - 1);
    std::size_t begin = 0;
    while (begin <= inner.size()) {
      const std::size_t end = std::min(inner.find(';', begin), inner.size());
      const Place at = moved(place, begin + 1);
      Action part = read_action(inner.substr(begin, end - begin), at);
      if (!models::is_compute(part.kind)) {
        diagnostics_.error(at, models::Code::kScheduleAction,
                           fmt::format("'{}' cannot overlap: it computes nothing",
                                       inner.substr(begin, end - begin)));
      }
      part.overlaps_next = end < inner.size();
      add(part, at);
      begin = end + 1;
    }
  }

  Action read_action(std::string_view text, Place place) {
    Action action;
    action.kind = ActionKind::kForward;
    std::string_view rest = text;
    const bool has_stage = take_number(rest, kMaxCsvStages, "stages", place, action.stage);
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](const Word& candidate) {
      return rest.substr(0, candidate.text.size()) == candidate.text;
    });
    if (!has_stage || word == kWords.end()) return no_action(text, place, action);
    action.kind = word->kind;
    rest.remove_prefix(word->text.size());
    if (models::has_micro_batch(action.kind)) {
      if (!take_number(rest, kMaxMicroBatches, "micro-batches", place, action.micro_batch)) {
        return no_action(text, place, action);
      }
      schedule_.micro_batches = std::max(schedule_.micro_batches, action.micro_batch + 1);
    }
    if (!rest.empty()) return no_action(text, place, action);
    schedule_.stages = std::max(schedule_.stages, action.stage + 1);
    if (word->text == "BW") old_words_ = true;
    if (action.kind == ActionKind::kInputGrad && !new_word_) new_word_.emplace(action, place);
    if (word->text == "B") backwards_.emplace(action.stage, action.micro_batch);
    if (word->text == "W") weights_.emplace(action.stage, action.micro_batch);
    is_bw_.push_back(word->text == "BW");
    return action;
  }

  // Reads a number. Returns false if there is none; reports a number that is too large.
  bool take_number(std::string_view& text, std::uint32_t most, const char* what, Place place,
                   std::uint32_t& value) {
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem == std::errc::invalid_argument) return false;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (problem == std::errc() && value < most) return true;
    diagnostics_.error(place, models::Code::kLimit,
                       fmt::format("a schedule can have at most {} {}", most, what));
    value = 0;
    return true;
  }

  Action no_action(std::string_view text, Place place, Action action) {
    diagnostics_
        .error(place, models::Code::kScheduleAction, fmt::format("'{}' is not an action", text))
        .notes.emplace_back(
            "an action is a stage, a kind and a micro-batch: 0F1. Kinds: F, B, I, W, SEND_F, "
            "RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD");
    return action;
  }

  // Translates the old vocabulary to the new one. BW exists only in the old vocabulary. A file
  // without BW is old if some micro-batch has both a B and a W, because B includes W in the new
  // vocabulary.
  void translate() {
    if (!old_words_) {
      old_words_ = std::any_of(weights_.begin(), weights_.end(),
                               [&](const auto& key) { return backwards_.count(key) > 0; });
      if (new_word_) return;  // validation reports this mistake
    }
    if (!old_words_) return;
    if (new_word_) {
      diagnostics_.error(new_word_->second, models::Code::kScheduleAction,
                         fmt::format("'{}' and 'BW' cannot be used together: one is of newer "
                                     "files, the other of older ones",
                                     models::action_text(new_word_->first)));
      return;
    }
    std::size_t next = 0;
    for (models::Actions& actions : schedule_.ranks) {
      for (Action& action : actions) {
        if (!action.none()) translate(action, is_bw_[next++]);
      }
    }
  }

  static void translate(Action& action, bool is_bw) {
    if (action.kind == ActionKind::kBackward && !is_bw) action.kind = ActionKind::kInputGrad;
  }

  Diagnostics& diagnostics_;
  Schedule schedule_;
  bool old_words_ = false;
  models::Actions actions_;  // actions of the current row
  std::vector<Place> places_;
  std::optional<std::pair<Action, Place>> new_word_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> backwards_;  // stage, micro-batch
  std::set<std::pair<std::uint32_t, std::uint32_t>> weights_;
  std::vector<bool> is_bw_;  // whether the word of each action is BW, in file order
};

}  // namespace

std::vector<ScheduleRow> schedule_rows(std::string_view text) {
  std::vector<ScheduleRow> rows;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::size_t begin = text.substr(0, 3) == kByteOrderMark ? 3 : 0;
  Place place{1, static_cast<std::uint32_t>(begin + 1)};
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    rows.push_back({line, place});
    begin = end + 1;
    place = {place.line + 1, 1};
  }
  while (!rows.empty() && rows.back().text.find_first_not_of(" \t") == std::string_view::npos) {
    rows.pop_back();
  }
  return rows;
}

std::optional<Schedule> read_schedule(const std::vector<ScheduleRow>& rows, std::uint32_t pipelines,
                                      Diagnostics& diagnostics, bool partial) {
  return ScheduleParser(pipelines, partial, diagnostics).run(rows);
}

std::vector<std::string> schedule_row_texts(const Schedule& schedule) {
  std::vector<std::string> rows;
  for (const models::Actions& actions : schedule.ranks) {
    std::string row;
    for (std::size_t i = 0; i < actions.size();) {
      if (i > 0) row += ',';
      // PyTorch's files do not group sends and recvs.
      const bool message = models::is_message(actions[i].kind);
      row += message ? models::action_text(actions[i]) : models::slot_text(actions, i);
      i = message ? i + 1 : models::slot_end(actions, i);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string write_schedule(const Schedule& schedule) {
  std::string text;
  for (const std::string& row : schedule_row_texts(schedule)) text += row + "\r\n";
  return text;
}

}  // namespace pipesim::formats
