// The data is compact, because it is most of a large page. Ops, waits and words are numbered;
// slices are rows of numbers. viz/page/files/model.js reads the data.
#include "viz/page/html_page.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/lowering/rank_classes.hpp"
#include "models/result/expectation.hpp"
#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "viz/page/page_frame.hpp"
#include "viz/page/page_story.hpp"
#include "viz/page/slice_parts.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/pictures/slice_look.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/data_table.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/timeline_facts.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using Json = nlohmann::ordered_json;
using models::Explanation;
using models::OpInfo;
using models::Wait;
using sim::Verdict;
using sim::WaitNodeKind;

const char* device_text(const models::RankReport& rank, Verdict verdict) {
  if (rank.dead) return "dead";
  if (verdict == Verdict::kCompleted) return "done";
  if (verdict == Verdict::kLimit) return "still running";
  return rank.spins ? "100% (spinning)" : "idle";
}

/// The data of a page. Assigns numbers to ops and words, and collects notes on parts that do not
/// fit.
class PageData {
 public:
  PageData(const Report& report, const models::Simulation& run, const models::Timeline& timeline,
           const PageLimits& limits)
      : report_(report),
        end_(report.explanation),
        run_(&run),
        timeline_(timeline),
        limits_(limits),
        kinds_(models::work_kinds(report.graph, run.lowered)),
        look_(std::in_place, report.graph, run.lowered),
        headline_(ending_word(report.explanation.verdict)),
        story_(page_story(report)) {}

  PageData(const Report& report, const models::Simulation& run, const models::Timeline& timeline,
           const CheckPage& check, const PageLimits& limits)
      : PageData(report, run, timeline, limits) {
    check_ = &check;
    headline_ = check.headline;
    verdict_ = check.verdict;
    story_.insert(story_.begin(), check.story.begin(), check.story.end());
  }

  PageData(const Report& report, const JobPage& job, const PageLimits& limits)
      : report_(report),
        end_(report.explanation),
        timeline_(none_),
        limits_(limits),
        headline_(job.headline),
        verdict_(job.verdict),
        story_(job.story),
        report_text_(job.text) {}

  Json run() {
    Json json = {
        {"name", report_.graph.name},
        {"verdict", verdict_.empty() ? std::string(models::verdict_name(end_.verdict)) : verdict_},
        {"cause", models::cause_name(end_.cause)},
        {"headline", headline_},
        {"story", story_},
        {"ranks", report_.graph.ranks},
        {"rest_ns", end_.time_ns},
        {"end_ns", timeline_.end_ns},
        {"at_rest", timeline_.quiescent},
        {"fingerprint", run_ == nullptr ? "" : fingerprint_text(end_.fingerprint)},
        {"made_by", models::printable(report_.made_by)}};
    if (!report_text_.empty()) json["report"] = report_text_;
    if (check_ != nullptr) json["check"] = check();
    json["kinds"] = Json::object();
    for (int i = 0; i < models::kWorkKindCount; ++i) {
      const auto kind = static_cast<models::WorkKind>(i);
      json["kinds"][kind_word(kind)] = style_of(kind).name;
    }
    json["sections"] = sections();
    json["sources"] = sources();
    json["cycle_heading"] = end_.cycle.empty() ? "" : cycle_text(end_);
    json["cycle_note"] = cycle_note(end_);
    json["look_at"] = Json::array();
    for (const models::Misplacement& found : report_.misplacements) {
      json["look_at"].push_back(misplacement_text(found) + ".");
    }
    json["remedies_heading"] = kRemediesHeading;
    json["remedies"] = Json::array();
    for (const models::Remedy& remedy : report_.remedies) {
      json["remedies"].push_back(remedy_text(remedy));
    }
    json["deaths"] = deaths();
    json["waits"] = waits();
    json["lanes"] = lanes();
    json["shades"] = Json::array();
    if (look_) {
      for (const SliceLook::Key& key : look_->legend()) {
        json["shades"].push_back({kind_word(key.kind), key.shade, key.name});
      }
    }
    json["idle"] = run_ == nullptr ? "" : idle_text(report_.graph, *run_, timeline_);
    json["guilty"] = Json::array();
    for (const auto& [rank, root] : missing_ranks(end_)) {
      json["guilty"].push_back({rank, fmt::format("rank {} never joins", rank)});
    }
    json["tables"] = tables();
    json["acts"] = std::move(ops_);
    json["words"] = std::move(words_);
    json["left_out"] = left_out_;
    return json;
  }

 private:
  Json sources() const {
    Json json = Json::array();
    for (const SourceExcerpt& source : report_.sources) {
      json.push_back({source.title, ranks_text(source.ranks), source.text});
    }
    return json;
  }

  Json deaths() const {
    Json json = Json::array();
    for (const models::DeathReport& death : end_.deaths) {
      json.push_back({death.rank, death.time_ns,
                      fmt::format("rank {} died at {}{}{}", death.rank, time_text(death.time_ns),
                                  death.what.empty() ? "" : ": ", death.what)});
    }
    return json;
  }

  Json check() {
    Json modes = Json::array();
    for (const CheckPage::NcclMode& mode : check_->modes) {
      modes.push_back({mode.name, mode.about, mode.answer, mode.end, mode.why});
    }
    const std::size_t shown = std::min(check_->steps.size(), limits_.rows);
    if (shown < check_->steps.size()) {
      leave_out("steps", fmt::format("The last {} of {} steps are here. All of them: --order FILE.",
                                     shown, check_->steps.size()));
    }
    Json steps = Json::array();
    for (std::size_t i = check_->steps.size() - shown; i < check_->steps.size(); ++i) {
      steps.push_back(check_->steps[i]);
    }
    return {{"readings", modes},
            {"rests_on", check_->rests_on},
            {"first_step", check_->steps.size() - shown + 1},
            {"steps", steps}};
  }

  // Key of an op. Ops of real jobs have no actor, only a name.
  using OpKey = std::tuple<sim::ActorId, std::uint32_t, std::string, std::uint32_t>;

  std::size_t word(const std::string& text) {
    const auto [known, is_new] = word_numbers_.emplace(text, words_.size());
    if (is_new) words_.push_back(text);
    return known->second;
  }

  std::size_t op(const OpInfo& info) {
    const auto [known, is_new] =
        op_numbers_.emplace(OpKey(info.actor, info.rank, info.name, info.number), ops_.size());
    if (!is_new) return known->second;
    ops_.push_back({word(info.name), info.number, info.rank, word(info.stream), word(info.thread),
                    info.micro_batch, word(kind_word(kind_of(info))), word(stage_text(info)),
                    word(info.at), word(models::printable(info.statement)),
                    is_alone(info) ? 1 : 0});
    return known->second;
  }

  models::WorkKind kind_of(const OpInfo& info) const {
    if (run_ != nullptr) return kinds_[info.actor];
    return info.collective ? models::WorkKind::kCollective : models::WorkKind::kMessage;
  }

  // Whether the name of the op needs no #k: the op runs once, or its name already has a number.
  bool is_alone(const OpInfo& info) const {
    if (run_ == nullptr) return false;
    const std::uint32_t index = run_->lowered.actor_template[info.actor];
    return run_->lowered.plan.actors[info.actor].ops == 1 ||
           report_.graph.actors[index].numbers.has_value();
  }

  Json sections() const {
    Json result = Json::array();
    const auto add = [&](const char* id, std::string title, const std::vector<std::string>& lines) {
      if (lines.empty()) return;
      if (!title.empty() && title.back() == ':') title.pop_back();
      result.push_back({{"id", id}, {"title", title}, {"lines", lines}});
    };
    add("broken", "What broke", broken_lines(end_));
    add("mismatches", "Mismatched calls", mismatch_lines(end_));
    add("roots", roots_heading(end_), root_lines(end_));
    add("end", "How the job ends", end_lines(end_));
    add("differs", "Who differs", difference_lines());
    return result;
  }

  // Lists the lines of a recorded script at which ranks make different numbers of calls. Lines with
  // few deviating ranks come first. Returns nothing for other runs, whose ranks need not be alike.
  std::vector<std::string> difference_lines() const {
    constexpr std::size_t kMaxLines = 12;
    std::vector<std::string> lines;
    if (run_ == nullptr || report_.graph.recorded == nullptr) return lines;
    const sim::Plan& plan = run_->lowered.plan;
    std::map<std::string, std::vector<std::uint64_t>> calls;  // line -> calls by rank
    for (const sim::ActorId id : ids_of(plan.actors)) {
      const models::ActorTemplate& actor = report_.graph.actors[run_->lowered.actor_template[id]];
      if (!actor.step || actor.step->calls.empty() || actor.step->at.empty()) continue;
      std::vector<std::uint64_t>& of = calls[actor.step->at];
      of.resize(plan.rank_count, 0);
      of[plan.actors[id].rank.value] += plan.actors[id].ops;
    }
    std::vector<std::pair<std::size_t, std::string>> found;  // number of deviating ranks, sentence
    for (const auto& [at, of] : calls) {
      std::map<std::uint64_t, std::vector<std::uint32_t>> ranks_of;
      for (std::uint32_t rank = 0; rank < of.size(); ++rank) ranks_of[of[rank]].push_back(rank);
      if (ranks_of.size() < 2) continue;
      std::vector<std::pair<std::size_t, std::string>> parts;
      std::size_t most = 0;
      for (const auto& [count, ranks] : ranks_of) {
        most = std::max(most, ranks.size());
        parts.emplace_back(ranks.size(), fmt::format("{} {}", ranks_text(ranks),
                                                     count == 0 ? "none" : grouped(count)));
      }
      std::stable_sort(parts.begin(), parts.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      std::string sentence = fmt::format("{}: calls of ", models::printable(at));
      for (std::size_t i = 0; i < parts.size(); ++i) {
        sentence += (i == 0 ? "" : ", of ") + parts[i].second;
      }
      found.emplace_back(of.size() - most, std::move(sentence));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < std::min(found.size(), kMaxLines); ++i) {
      lines.push_back(found[i].second);
    }
    if (found.size() > kMaxLines) {
      lines.push_back(fmt::format("and {}", counted(found.size() - kMaxLines, "more line")));
    }
    return lines;
  }

  // Returns the waits as JSON. The cycle comes first: its waits have the numbers 1, 2, ... in
  // order. Waits for roots follow, since all other waits depend on them.
  Json waits() {
    Json result = Json::array();
    std::set<std::pair<std::string, std::string>> on_cycle;
    const auto add = [&](const Wait& wait, std::size_t number) {
      Json to = wait.to.kind == WaitNodeKind::kOp ? Json(op(wait.to.op)) : Json(nullptr);
      std::string kind(kind_label(wait.kind));
      if (wait.any) kind += ", any";
      if (!wait.link.empty()) kind += ": " + wait.link;
      result.push_back({op(wait.from.op), std::move(to), word(wait_text(wait)),
                        word(party_text(wait.to)), word(kind), number});
    };
    for (const Wait& wait : end_.cycle) {
      on_cycle.emplace(party_text(wait.from), party_text(wait.to));
      add(wait, result.size() + 1);
    }
    std::size_t left = 0;
    for (const bool roots : {true, false}) {
      for (const Wait& wait : report_.all_waits) {
        if ((wait.to.kind != WaitNodeKind::kOp) != roots) continue;
        if (on_cycle.count({party_text(wait.from), party_text(wait.to)}) > 0) continue;
        if (result.size() < limits_.waits) {
          add(wait, 0);
        } else {
          ++left;
        }
      }
    }
    if (left > 0) {
      leave_out("waits", fmt::format("{} of {} waits are on this page. All of them: --all --json.",
                                     result.size(), result.size() + left));
    }
    return result;
  }

  std::vector<std::uint32_t> ranks_of_hang() const {
    std::vector<std::uint32_t> result;
    std::set<std::uint32_t> known;
    const auto add = [&](std::uint32_t rank) {
      if (known.insert(rank).second) result.push_back(rank);
    };
    for (const Wait& wait : end_.cycle) add(wait.from.rank);
    for (const models::DeathReport& death : end_.deaths) {
      if (!death.after_quiescence) add(death.rank);
    }
    for (const models::Root& root : end_.roots) {
      add(root.first.from.rank);
      if (root.party.kind == WaitNodeKind::kRank) add(root.party.rank);
    }
    return result;
  }

  // Groups ranks with equal lanes into classes; the page has the lanes of each class's first rank.
  // Does not group the ranks of the hang, or the ranks of a small job.
  std::vector<models::RankSet> classes() const {
    std::map<std::uint32_t, std::vector<const models::Lane*>> lanes_of;
    for (const models::Lane& lane : timeline_.lanes) lanes_of[lane.rank].push_back(&lane);
    std::vector<std::uint32_t> ranks;
    for (const auto& [rank, lanes] : lanes_of) ranks.push_back(rank);
    const bool fold = ranks.size() > kMaxRanksUnfolded;
    const std::vector<std::uint32_t> own = ranks_of_hang();
    const std::set<std::uint32_t> alone(own.begin(), own.end());
    return models::ranks_by_key(models::RankSet(ranks), [&](std::uint32_t rank) {
      std::string key;
      if (!fold || alone.count(rank) > 0) return std::to_string(rank);
      for (const models::Lane* lane : lanes_of[rank]) {
        key += lane_key(report_.graph, *run_, *lane,
                        [](const models::StuckOp& op) { return op.on_cycle; }) +
               "\n\n";
      }
      return key;
    });
  }

  // Returns the order in which classes get space on the page: classes of the hang first, then
  // classes from both ends of the pipeline.
  std::vector<std::size_t> by_weight(const std::vector<models::RankSet>& classes) const {
    std::map<std::uint32_t, std::size_t> class_of_first;
    for (std::size_t i = 0; i < classes.size(); ++i) class_of_first[*classes[i].begin()] = i;
    std::vector<std::size_t> result;
    std::set<std::size_t> known;
    const auto add = [&](std::size_t index) {
      if (known.insert(index).second) result.push_back(index);
    };
    for (const std::uint32_t rank : ranks_of_hang()) {
      const auto found = class_of_first.find(rank);
      if (found != class_of_first.end()) add(found->second);
    }
    for (std::size_t i = 0; i < classes.size(); ++i) {
      add(i);
      add(classes.size() - 1 - i);
    }
    return result;
  }

  using Slices = std::vector<const models::Slice*>;

  struct PageLane {
    const models::Lane* lane = nullptr;
    Slices slices;
  };

  // Returns the lanes of each rank, without empty lanes. A rank with only empty lanes keeps its
  // first lane.
  std::map<std::uint32_t, std::vector<PageLane>> lanes_to_show() const {
    std::map<std::uint32_t, std::vector<PageLane>> result;
    for (const models::Lane& lane : timeline_.lanes) {
      Slices slices;
      for (const models::Slice& slice : lane.slices) {
        if (!is_idle(*run_, slice)) slices.push_back(&slice);
      }
      result[lane.rank].push_back({&lane, std::move(slices)});
    }
    for (auto& [rank, lanes] : result) {
      const auto is_empty = [](const PageLane& of) {
        return of.slices.empty() && of.lane->stuck.empty();
      };
      const auto rest = std::remove_if(lanes.begin(), lanes.end(), is_empty);
      lanes.erase(std::max(rest, lanes.begin() + 1), lanes.end());
    }
    return result;
  }

  // Returns the lanes that compute or are stuck; if there are none, the first lane.
  static std::vector<PageLane> lanes_that_work(const std::vector<PageLane>& lanes) {
    std::vector<PageLane> result;
    std::copy_if(lanes.begin(), lanes.end(), std::back_inserter(result), [](const PageLane& of) {
      return !of.lane->stuck.empty() ||
             std::any_of(of.slices.begin(), of.slices.end(), [](const models::Slice* slice) {
               return slice->kind <= models::WorkKind::kOverlapped;
             });
    });
    if (result.empty()) result.push_back(lanes.front());
    return result;
  }

  // Returns the lanes of the page. Ranks of the hang, then ranks from both ends of the pipeline,
  // show each op. The other ranks show merged ops, so that the page has every rank.
  Json lanes() {
    const std::vector<models::RankSet> classes = this->classes();
    std::map<std::uint32_t, std::vector<PageLane>> lanes_of = lanes_to_show();
    std::map<std::uint32_t, const models::RankSet*> alike;  // keyed by the first rank
    for (const models::RankSet& ranks : classes) alike.emplace(*ranks.begin(), &ranks);
    std::set<std::uint32_t> whole;
    std::size_t whole_ranks = 0;  // number of ranks in the classes of `whole`
    std::size_t space = limits_.slices;
    std::size_t most_of_lane = limits_.slices;
    for (const std::size_t index : by_weight(classes)) {
      const std::uint32_t first = *classes[index].begin();
      std::size_t needed = 0;
      for (const PageLane& lane : lanes_of[first]) needed += lane.slices.size();
      // The first class is always in `whole`. If its ops do not fit, the page shows the last ops of
      // each lane.
      if (needed > space && !whole.empty()) break;
      if (needed > space) most_of_lane = std::max<std::size_t>(1, limits_.slices / 10);
      whole.insert(first);
      whole_ranks += classes[index].size();
      space -= std::min(space, needed);
    }
    const std::size_t others = std::max<std::size_t>(1, alike.size() - whole.size());
    const std::size_t parts_of_rank = std::max<std::size_t>(2, limits_.parts / others);
    Json result = Json::array();
    bool cut = false;
    for (const auto& [rank, ranks] : alike) {
      const bool is_whole = whole.count(rank) > 0;
      std::vector<PageLane> lanes =
          is_whole ? std::move(lanes_of[rank]) : lanes_that_work(lanes_of[rank]);
      const std::size_t begin = result.size();
      for (PageLane& lane : lanes) {
        if (is_whole && lane.slices.size() > most_of_lane) {
          cut = true;
          lane.slices.erase(lane.slices.begin(),
                            lane.slices.end() - static_cast<std::ptrdiff_t>(most_of_lane));
        }
        const std::size_t most =
            is_whole ? lane.slices.size() : std::max<std::size_t>(2, parts_of_rank / lanes.size());
        result.push_back(lane_json(lane, most, is_whole));
      }
      if (ranks->size() == 1) continue;
      result[begin]["alike"] = std::vector<std::uint32_t>(ranks->begin(), ranks->end());
    }
    if (whole.size() < alike.size()) {
      leave_out("timeline",
                fmt::format("{} of {} ranks are shown op by op, those of a hang first, then from "
                            "both ends. Of the others, streams that compute are here, with several "
                            "ops drawn as one. All ops: --trace, or fewer ranks or micro-batches "
                            "by --set.",
                            grouped(whole_ranks), grouped(lanes_of.size())));
    }
    if (cut) {
      leave_out("timeline",
                fmt::format("The timeline has the last {} ops of each stream.", most_of_lane));
    }
    return result;
  }

  // Returns a lane with a row per slice: op, begin, waiting time, duration, done, kind. A shade and
  // a number of ops follow unless they are 0 and 1.
  Json lane_json(const PageLane& of, std::size_t most, bool is_whole) {
    const models::Lane& lane = *of.lane;
    Json slices = Json::array();
    for (const SlicePart& part : slice_parts(of.slices, most)) {
      const models::Slice& slice = *part.first;
      const std::size_t number =
          op(describe_op(report_.graph, run_->lowered, run_->outcome.state, slice.actor, slice.k));
      const std::int64_t waits = part.count == 1 ? slice.work_ns - slice.begin_ns : 0;
      look_->see_colour(*part.looks_like);
      Json row = {number,
                  slice.begin_ns,
                  waits,
                  part.end_ns - slice.begin_ns,
                  slice.done ? 1 : 0,
                  word(kind_word(part.looks_like->kind))};
      const std::uint32_t shade = look_->shade(*part.looks_like);
      if (shade > 0 || part.count > 1) row.push_back(shade);
      if (part.count > 1) row.push_back(part.count);
      slices.push_back(std::move(row));
    }
    // The most important stuck ops come first; the page only counts those beyond `most_stuck`.
    const std::size_t most_stuck =
        is_whole ? std::max<std::size_t>(4, limits_.waits / timeline_.lanes.size()) : 1;
    Json stuck = Json::array();
    for (const models::StuckOp& item : lane.stuck) {
      if (stuck.size() == most_stuck) break;
      stuck.push_back(op(item.waits.front().from.op));
    }
    return {{"rank", lane.rank},         {"name", word(lane.name)},
            {"thread", lane.is_thread},  {"slices", std::move(slices)},
            {"stuck", std::move(stuck)}, {"stuck_count", lane.stuck.size()}};
  }

  // Returns a column head. In columns of times or bytes, cells are numbers.
  static Json column(const char* name, const char* type) {
    return {{"name", name}, {"type", type}};
  }

  // Merges rows that differ only in the rank, their first cell. The first cell of a merged row has
  // the first and last rank of each range.
  void fold_ranks(std::vector<Json>& rows, Json& heads) const {
    if (report_.graph.ranks <= kMaxRanksUnfolded) return;
    std::map<std::string, std::size_t> known;
    std::vector<Json> result;
    for (Json& row : rows) {
      const auto rank = row[0].get<std::uint32_t>();
      row[0] = nullptr;
      const auto [place, is_new] =
          known.emplace(row.dump(-1, ' ', true, Json::error_handler_t::replace), result.size());
      if (is_new) {
        row[0] = Json::array({Json::array({rank, rank})});
        result.push_back(std::move(row));
        continue;
      }
      Json& ranks = result[place->second][0];
      Json& last = ranks.back()[1];
      if (last.get<std::uint32_t>() + 1 == rank) {
        last = rank;
      } else {
        ranks.push_back(Json::array({rank, rank}));
      }
    }
    rows = std::move(result);
    heads[0] = column("ranks", "ranks");
  }

  // Cuts a table to the maximum number of rows, and adds a note on the omitted rows. `order`: which
  // rows come first.
  void cut_rows(const char* id, const char* order, std::vector<Json>& rows) {
    if (rows.size() <= limits_.rows) return;
    leave_out(id, fmt::format("{} of {} rows are in the table, {} first. All of them: --json.",
                              limits_.rows, rows.size(), order));
    rows.resize(limits_.rows);
  }

  Json tables() {
    Json result = Json::array();
    if (end_.verdict != Verdict::kCompleted) result.push_back(rank_table());
    if (report_.pipeline) result.push_back(table(schedule_table(*report_.pipeline)));
    if (report_.memory) result.push_back(table(memory_table(*report_.memory)));
    result.push_back(actor_table());
    return result;
  }

  // Lists the progress of `rank` in each sequence with missing ops; empty if all ops are done.
  static std::string missing_text(const models::RankReport& rank) {
    std::string text;
    for (const models::Progress& progress : rank.progress) {
      if (progress.done == progress.expected) continue;
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", progress.what,
                          progress_text(rank, progress));
    }
    return text;
  }

  // Returns the key of a progress column: its name, and whether it is the column of a thread. A
  // thread can have the same name as a phase or stream.
  static std::pair<std::string, bool> column_of(const models::Progress& progress) {
    return {progress.what, progress.of == models::Progress::Of::kHost};
  }

  Json rank_table() {
    std::vector<std::pair<std::string, bool>> columns;
    for (const models::RankReport& rank : end_.ranks) {
      for (const models::Progress& progress : rank.progress) {
        const std::pair column = column_of(progress);
        const bool is_new = std::find(columns.begin(), columns.end(), column) == columns.end();
        if (is_new && columns.size() <= kMaxProgressColumns) columns.push_back(column);
      }
    }
    // A column for each stream between two ranks would give a table of mostly empty cells.
    const bool together = columns.size() > kMaxProgressColumns;
    if (together) columns.clear();
    Json heads = {column("rank", "rank"), column("device", "text")};
    for (const auto& [what, host] : columns) heads.push_back(column(what.c_str(), "text"));
    if (together) heads.push_back(column("not done", "text"));
    std::vector<Json> rows;
    for (const models::RankReport& rank : end_.ranks) {
      std::vector<std::string> cells(columns.size());
      for (const models::Progress& progress : rank.progress) {
        const auto found = std::find(columns.begin(), columns.end(), column_of(progress));
        if (found == columns.end()) continue;
        cells[static_cast<std::size_t>(found - columns.begin())] = progress_text(rank, progress);
      }
      if (together) cells.push_back(missing_text(rank));
      Json row = {rank.rank, device_text(rank, end_.verdict)};
      for (const std::string& cell : cells) row.push_back(cell);
      rows.push_back(std::move(row));
    }
    fold_ranks(rows, heads);
    cut_rows("ranks", "low ranks", rows);
    return {{"id", "ranks"},
            {"title", "Progress of each rank"},
            {"about", ""},
            {"columns", heads},
            {"rows", rows}};
  }

  // Converts a table of numbers to JSON.
  Json table(const DataTable& table) const {
    Json heads = Json::array();
    for (const DataTable::Column& head : table.columns) {
      heads.push_back(column(head.name.c_str(), head.type));
    }
    std::vector<Json> rows;
    for (const std::vector<DataTable::Cell>& cells : table.rows) {
      Json& row = rows.emplace_back(Json::array());
      for (const DataTable::Cell& cell : cells) row.push_back(std::get<std::int64_t>(cell));
    }
    fold_ranks(rows, heads);
    return {{"id", table.id},
            {"title", table.title},
            {"about", table.about},
            {"columns", heads},
            {"rows", rows}};
  }

  Json actor_table() {
    std::vector<Json> rows;
    std::vector<Json> done;
    for (const models::RankReport& rank : end_.ranks) {
      for (const models::ActorCounts& actor : rank.actors) {
        Json row = {rank.rank,      actor.name,
                    actor.expected, actor.entered,
                    actor.launched, actor.started,
                    actor.done,     std::int64_t{actor.expected} - std::int64_t{actor.done}};
        (actor.done < actor.expected ? rows : done).push_back(std::move(row));
      }
    }
    rows.insert(rows.end(), done.begin(), done.end());
    Json heads = {column("rank", "rank"),       column("actor", "text"),
                  column("ops", "number"),      column("entered", "number"),
                  column("launched", "number"), column("started", "number"),
                  column("done", "number"),     column("missing", "number")};
    fold_ranks(rows, heads);
    cut_rows("actors", "unfinished actors", rows);
    return {{"id", "actors"},
            {"title", "Actors: how many ops of each are done"},
            {"about",
             "An op is entered by its host thread, launched to its stream, started and "
             "done by the device."},
            {"columns", heads},
            {"rows", rows}};
  }

  void leave_out(const char* where, std::string text) {
    left_out_.push_back({{"where", where}, {"text", std::move(text)}});
  }

  static constexpr std::size_t kMaxProgressColumns = 6;
  static constexpr std::size_t kMaxRanksUnfolded =
      16;  // maximum number of ranks shown without merging

  const Report& report_;
  const Explanation& end_;
  const models::Simulation* run_ = nullptr;  // null: a real job
  const models::Timeline none_;
  const models::Timeline& timeline_;
  const PageLimits& limits_;
  sim::IdVector<sim::ActorId, models::WorkKind> kinds_;
  std::optional<SliceLook> look_;
  std::string headline_;
  std::string verdict_;  // empty: the verdict of the explanation
  std::vector<std::string> story_;
  const CheckPage* check_ = nullptr;
  // Full report of a real job, for facts without another place on the page.
  std::string report_text_;
  std::map<OpKey, std::size_t> op_numbers_;
  std::map<std::string, std::size_t> word_numbers_;
  Json ops_ = Json::array();
  Json words_ = Json::array();
  Json left_out_ = Json::array();
};

struct GraphPart {
  std::string svg;   // empty: no graph
  std::string note;  // note on omitted parts of the graph
};

// Returns upper bounds on the nodes and edges of the wait-for graph.
std::pair<std::size_t, std::size_t> size_of(const WaitPicture& picture) {
  std::set<std::string> nodes;
  std::set<std::uint32_t> ranks;
  if (!picture.fold) {
    for (const Wait& wait : picture.all_waits) {
      nodes.insert(party_text(wait.from));
      nodes.insert(party_text(wait.to));
    }
    return {nodes.size(), picture.all_waits.size()};
  }
  for (const Wait& wait : picture.cycle) nodes.insert(party_text(wait.from));
  for (const Wait& wait : picture.all_waits) {
    ranks.insert(wait.from.rank);
    const bool is_root = wait.to.kind != WaitNodeKind::kOp;
    if (!is_root) continue;
    if (nodes.insert(party_text(wait.to)).second) nodes.insert(party_text(wait.from));
  }
  const std::size_t size = nodes.size() + std::min(ranks.size(), kMaxFoldedRanks);
  return {size, size};
}

GraphPart graph_part(const Report& report, bool unfold, const PageLimits& limits) {
  constexpr std::size_t kMaxEdgesOfNode = 4;
  GraphPart part;
  if (report.all_waits.empty() && report.explanation.cycle.empty()) return part;
  WaitPicture picture = wait_picture(report.graph, report.explanation, report.all_waits, !unfold);
  const auto fits = [&](const auto& size) {
    return size.first <= limits.graph_nodes && size.second <= limits.graph_nodes * kMaxEdgesOfNode;
  };
  const auto size = size_of(picture);
  if (unfold && !fits(size)) {
    picture.fold = true;
    part.note = fmt::format(
        "{} and {} are too many to draw one by one, so those outside the cycle are "
        "folded. --all --dot FILE writes all of them.",
        counted(size.first, "op"), counted(size.second, "wait"));
  }
  const auto folded_size = size_of(picture);
  if (!fits(folded_size)) {
    part.note = fmt::format(
        "The wait-for graph is left out: with {} it takes long to draw and "
        "nobody can read it. The table of waits has them; --dot FILE writes "
        "the graph.",
        counted(folded_size.first, "node"));
    return part;
  }
  try {
    part.svg = wait_for_drawing(picture, PictureFormat::kSvg);
  } catch (const DrawingError& error) {
    // The rest of the page is still useful.
    part.note = fmt::format("The wait-for graph is left out. {}", error.what());
  }
  // Removes the XML header in front of the <svg> element.
  part.svg.erase(0, std::min(part.svg.find("<svg"), part.svg.size()));
  return part;
}

// Formats JSON. Names from a file can be invalid UTF-8, which must not make the page fail.
std::string data_text(const Json& json) {
  return page_data_text(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string page_of(const Report& report, const JobPage& job, const std::string& data, bool unfold,
                    const PageLimits& limits) {
  const GraphPart graph = graph_part(report, unfold, limits);
  const std::string name = report.graph.name.empty() ? "The run" : report.graph.name;
  return framed_page({.title = fmt::format("{} {}", name, job.headline),
                      .graph = graph.svg,
                      .graph_note = graph.note,
                      .text = job.text,
                      .data = data});
}

}  // namespace

std::string html_page_data(const Report& report, const models::Simulation& run,
                           const models::Timeline& timeline, const PageLimits& limits) {
  return data_text(PageData(report, run, timeline, limits).run());
}

std::string html_page(const Report& report, const models::Simulation& run,
                      const models::Timeline& timeline, bool unfold, const PageLimits& limits) {
  Report text = report;
  text.all_waits.clear();  // omits the list of all waits, which can be very long
  return page_of(report, {ending_word(report.explanation.verdict), {}, text_report(text, {})},
                 html_page_data(report, run, timeline, limits), unfold, limits);
}

std::string html_page(const Report& report, const models::Simulation& run,
                      const models::Timeline& timeline, const CheckPage& check, bool unfold,
                      const PageLimits& limits) {
  return page_of(report, {check.headline, {}, check.text},
                 data_text(PageData(report, run, timeline, check, limits).run()), unfold, limits);
}

std::string html_page(const Report& report, const JobPage& job, bool unfold,
                      const PageLimits& limits) {
  return page_of(report, job, data_text(PageData(report, job, limits).run()), unfold, limits);
}

}  // namespace pipesim::viz
