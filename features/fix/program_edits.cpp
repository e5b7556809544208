#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "formats/document/value_writer.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/lowering/program_walk.hpp"
#include "models/outside_text.hpp"
#include "viz/report/words.hpp"

#include "features/fix/candidates.hpp"

namespace pipesim::models {
namespace {

using formats::YamlNode;
using sim::Role;

// A step of one rank.
struct At {
  std::uint32_t rank = 0;
  std::uint32_t step = kNoIndex;  // index in TaskGraph::actors
};

// A new value for a key of a step, as a string; a size is a number of bytes without unit.
struct NewValue {
  std::string key;
  std::string from;
  std::string to;
};

bool is_message(const CallTemplate& call) {
  return call.kind == sim::CallKind::kSend || call.kind == sim::CallKind::kReceive;
}

bool has_only_messages(const ActorTemplate& step) {
  return step.step->role == Role::kCalls && !step.step->calls.empty() &&
         std::all_of(step.step->calls.begin(), step.step->calls.end(), is_message);
}

class ProgramEdits {
 public:
  ProgramEdits(const HangingJob& job, const CandidateSink::Try& try_candidate)
      : job_(job), sink_(try_candidate), awaited_(awaited_streams(job.graph)) {
    for (std::uint32_t i = 0; i < job_.graph.actors.size(); ++i) {
      const ActorTemplate& step = job_.graph.actors[i];
      if (step.step && !step.step->implied && step.place.line > 0)
        at_place_[step.place].push_back(i);
    }
  }

  void run();

 private:
  // Functions that access the steps of each rank's program.
  const std::vector<WalkedStep>& program(std::uint32_t rank, std::uint32_t thread);
  std::optional<At> step_of(const OpInfo& op, std::uint32_t rank);
  std::optional<At> step_of(const WaitParty& party) {
    return party.kind == sim::WaitNodeKind::kOp ? step_of(party.op, party.rank) : std::nullopt;
  }
  std::size_t place_in(const At& at);
  const std::vector<std::uint32_t>* alike(std::uint32_t step) const;
  std::uint32_t first_alike(std::uint32_t step) const;
  RankSet on(const At& at) const;
  RankSet affected(const At& at, const RankSet& on) const;
  std::string prefix(const At& at, const RankSet& on = {}) const {
    return ranks_prefix(affected(at, on));
  }
  At on_rank(const At& at, std::uint32_t rank) const;

  void add_wait(const Wait& wait, std::uint32_t number);
  std::vector<At> waited_for(const At& at);
  void find_waits();
  void add_rows(const Wait& wait, const OpInfo& late);
  void add_pair(const At& early, const At& late);
  void add_batches(const At& early, const At& late);
  void add_moves(const At& early, const At& late);
  void add_move(const At& moved, const At& other, bool behind, const RankSet& on, bool alters);
  std::vector<RankSet> parts_of(const At& early, const At& late);
  bool crosses(const At& early, const At& late, bool late_moves);
  void add_communicator(const At& early, const At& late);

  void add_root(const Root& root);
  void add_missing(const At& made, std::uint32_t rank);
  bool add_other_end(const At& made, std::uint32_t rank);
  void add_skipped(const Root& root);
  void add_rounds(const At& made, std::uint32_t rank);
  void add_everywhere(const At& made);
  void add_drop(const At& made, const RankSet& on = {});
  void add_copy(const At& made, const RankSet& on, const At& next, bool behind);
  std::optional<At> stands_at(std::uint32_t rank, bool& behind);

  void add_misfit(const Misfit& misfit);
  std::size_t calls_on(std::uint32_t communicator, std::uint32_t rank);
  void add_values(const At& a, const At& b);
  void add_later_match(const At& wanted, const At& here);
  void add_schedule();

  void add_new_values(const At& at, const std::vector<NewValue>& values);
  void add(Edit edit, const CandidateSink::MakePatch& make_patch);

  const ActorTemplate& actor(const At& at) const { return job_.graph.actors[at.step]; }
  const ShortList<CallTemplate>& calls(const At& at) const { return actor(at).step->calls; }

  const HangingJob& job_;
  CandidateSink sink_;
  std::vector<std::set<std::uint32_t>> awaited_;
  // Steps by their place in the file. Some inputs give each rank its own step at one place.
  std::map<Place, std::vector<std::uint32_t>> at_place_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<WalkedStep>> programs_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs_;  // pairs of steps already examined
  // Index in Explanation::cycle of the wait that new candidates should break.
  std::uint32_t wait_ = kNoIndex;
  // Waits that the order of two steps causes, by pair of steps: rank and index in
  // Explanation::cycle.
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      waits_of_;
  std::pair<std::uint32_t, std::uint32_t> pair_ = {kNoIndex, kNoIndex};
  // schedule rows already tried: number and text
  std::set<std::pair<std::uint32_t, std::string>> rows_;
};

// ---------------------------------------------------------------------------------------------
// Steps and programs

const std::vector<WalkedStep>& ProgramEdits::program(std::uint32_t rank, std::uint32_t thread) {
  const auto [found, is_new] = programs_.try_emplace({rank, thread});
  if (is_new) found->second = walk_program(job_.graph.threads[thread], job_.graph, rank);
  return found->second;
}

// Finds the step of an op. For an op that the key `after` implies, returns the step with this key.
std::optional<At> ProgramEdits::step_of(const OpInfo& op, std::uint32_t rank) {
  if (!op.actor.valid() || op.actor.value >= job_.lowered.actor_template.size())
    return std::nullopt;
  At at{rank, job_.lowered.actor_template[op.actor]};
  if (!actor(at).step || actor(at).thread == kNoIndex) return std::nullopt;
  if (!actor(at).step->implied) return at;
  const std::vector<WalkedStep>& steps = program(rank, actor(at).thread);
  auto next = std::find_if(steps.begin(), steps.end(),
                           [&](const WalkedStep& step) { return step.actor == at.step; });
  while (next != steps.end() && job_.graph.actors[next->actor].step->implied) ++next;
  if (next == steps.end()) return std::nullopt;
  return At{rank, next->actor};
}

std::size_t ProgramEdits::place_in(const At& at) {
  const std::vector<WalkedStep>& steps = program(at.rank, actor(at).thread);
  return static_cast<std::size_t>(
      std::find_if(steps.begin(), steps.end(),
                   [&](const WalkedStep& step) { return step.actor == at.step; }) -
      steps.begin());
}

const std::vector<std::uint32_t>* ProgramEdits::alike(std::uint32_t step) const {
  const auto found = at_place_.find(job_.graph.actors[step].place);
  return found == at_place_.end() ? nullptr : &found->second;
}

std::uint32_t ProgramEdits::first_alike(std::uint32_t step) const {
  const std::vector<std::uint32_t>* all = alike(step);
  return all == nullptr ? step : all->front();
}

// Returns the ranks with a step at the place of `at`.
RankSet ProgramEdits::on(const At& at) const {
  const std::vector<std::uint32_t>* all = alike(at.step);
  if (all == nullptr || all->size() == 1) return actor(at).on;
  std::set<std::uint32_t> ranks;
  for (const std::uint32_t step : *all) {
    ranks.insert(job_.graph.actors[step].on.begin(), job_.graph.actors[step].on.end());
  }
  return RankSet(std::vector<std::uint32_t>(ranks.begin(), ranks.end()));
}

// Returns the step of `rank` at the place of `at`.
At ProgramEdits::on_rank(const At& at, std::uint32_t rank) const {
  if (const std::vector<std::uint32_t>* all = alike(at.step)) {
    for (const std::uint32_t step : *all) {
      if (job_.graph.actors[step].on.contains(rank)) return {rank, step};
    }
  }
  return {rank, at.step};
}

// Returns the ranks that an edit of a step affects, for reports; empty: all ranks. `on`: the ranks
// to edit; empty: all ranks with the step.
RankSet ProgramEdits::affected(const At& at, const RankSet& on) const {
  if (!on.empty()) return on;
  RankSet has = this->on(at);
  return has.size() < job_.graph.ranks ? has : RankSet();
}

// Adds an edit that should break the current wait. Two steps can cause waits on several ranks; an
// edit on some ranks breaks only the waits of these ranks.
void ProgramEdits::add(Edit edit, const CandidateSink::MakePatch& make_patch) {
  std::vector<std::uint32_t> broken;
  const auto waits = waits_of_.find(pair_);
  if (wait_ != kNoIndex && waits != waits_of_.end()) {
    for (const auto& [rank, number] : waits->second) {
      if (edit.on.empty() || edit.on.contains(rank)) broken.push_back(number);
    }
  } else if (wait_ != kNoIndex) {
    broken.push_back(wait_);
  }
  sink_.add(std::move(edit), make_patch, std::move(broken));
}

// ---------------------------------------------------------------------------------------------
// Two steps of a rank in the wrong order

// Returns the later of the two ops whose order causes `wait`; null for other kinds of waits.
const OpInfo* later_of(const Wait& wait) {
  if (wait.to.kind != sim::WaitNodeKind::kOp) return nullptr;
  if (wait.needed) return &*wait.needed;
  const bool own = sim::facts(wait.kind).behind && wait.from.kind == sim::WaitNodeKind::kOp;
  return own ? &wait.from.op : nullptr;
}

void ProgramEdits::find_waits() {
  for (std::uint32_t number = 0; number < job_.explanation.cycle.size(); ++number) {
    const Wait& wait = job_.explanation.cycle[number];
    const OpInfo* later = later_of(wait);
    const std::optional<At> early = step_of(wait.to);
    const std::optional<At> late = later ? step_of(*later, later->rank) : std::nullopt;
    if (!early || !late) continue;
    waits_of_[{first_alike(early->step), first_alike(late->step)}].emplace_back(early->rank,
                                                                                number);
  }
}

void ProgramEdits::add_wait(const Wait& wait, std::uint32_t number) {
  wait_ = number;
  const OpInfo* later = later_of(wait);
  const std::optional<At> early = step_of(wait.to);
  const std::optional<At> late = later ? step_of(*later, later->rank) : std::nullopt;
  if (sim::facts(wait.kind).setting == sim::Setting::kDevice &&
      job_.graph.device.order == sim::LaunchOrder::kNone) {
    add({.kind = &edit_kinds::kLaunchOrder,
         .text = "calls start in launch order (NCCL_LAUNCH_ORDER_IMPLICIT=1)"},
        [] {
          return below({"device", "launch_order"}, YamlNode::text("implicit"));
        });
  }
  if (later != nullptr) add_rows(wait, *later);
  if (early && late && early->rank == late->rank && early->step != late->step) {
    add_pair(*early, *late);
    for (const At& call : waited_for(*early)) add_pair(call, *late);
    pair_ = {kNoIndex, kNoIndex};
  }
}

// Returns the calls that the host can wait for in step `at`, last call first; empty if `at` is not
// a host wait.
std::vector<At> ProgramEdits::waited_for(const At& at) {
  const auto is_wait = [&](std::uint32_t step) {
    return sim::facts(job_.graph.actors[step].step->role).awaits_work;
  };
  std::vector<At> result;
  if (!is_wait(at.step)) return result;
  const std::vector<WalkedStep>& steps = program(at.rank, actor(at).thread);
  for (std::size_t i = std::min(place_in(at), steps.size()); i-- > 0;) {
    if (is_wait(steps[i].actor)) break;
    const At before{at.rank, steps[i].actor};
    if (actor(before).step->role == Role::kCalls) result.push_back(before);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------
// Rows of a schedule

using Slots = std::vector<Actions>;

Slots slots_of(const Actions& actions) {
  Slots slots;
  for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
    slots.emplace_back(actions.begin() + static_cast<std::ptrdiff_t>(i),
                       actions.begin() + static_cast<std::ptrdiff_t>(slot_end(actions, i)));
  }
  return slots;
}

std::string row_text(const Slots& slots) {
  std::string text;
  for (const Actions& slot : slots) text += (text.empty() ? "" : ",") + slot_text(slot, 0);
  return text;
}

// Returns the index of the slot with the text `op`; the number of slots if there is none.
std::size_t find_slot(const Slots& slots, const std::string& op) {
  const auto found = std::find_if(slots.begin(), slots.end(),
                                  [&](const Actions& slot) { return slot_text(slot, 0) == op; });
  return static_cast<std::size_t>(found - slots.begin());
}

bool is_like(const Actions& slot, const Actions& other) {
  return slot.size() == 1 && other.size() == 1 && slot[0].kind == other[0].kind &&
         slot[0].stage == other[0].stage;
}

// Moves each slot like `late` ahead of preceding slots like `early`. A slot moves only past sends
// and recvs.
Slots each_before(const Slots& slots, const Actions& late, const Actions& early) {
  Slots result;
  for (const Actions& slot : slots) {
    std::size_t to = result.size();
    for (std::size_t i = result.size(); i-- > 0 && is_like(slot, late);) {
      if (result[i].size() != 1 || !is_message(result[i][0].kind)) break;
      if (is_like(result[i], early)) to = i;
    }
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(to), slot);
  }
  return result;
}

Slots reversed(Slots slots) {
  std::reverse(slots.begin(), slots.end());
  return slots;
}

// Returns the text of a slot without its micro-batch: "0SEND_F".
std::string like_text(const Actions& slot) {
  return std::to_string(slot[0].stage) + action_word(slot[0].kind);
}

void ProgramEdits::add_rows(const Wait& wait, const OpInfo& late) {
  if (!job_.graph.pipeline || wait.to.rank != late.rank) return;
  const Pipeline& pipeline = *job_.graph.pipeline;
  if (late.rank >= pipeline.rank_count()) return;
  const std::uint32_t row = pipeline.row_of(late.rank);
  const Slots slots = slots_of(pipeline.schedule.ranks[row]);
  const std::size_t from = find_slot(slots, wait.to.op.name);
  const std::size_t to = find_slot(slots, late.name);
  if (from >= to || to == slots.size()) return;
  const auto add_row = [&](const std::string& what, const std::string& other, bool behind,
                           const Slots& changed) {
    std::string text = row_text(changed);
    if (changed == slots || !rows_.emplace(row, text).second) return;
    add({.kind = &edit_kinds::kRow,
         .text = fmt::format("{}{} {} {} in the row", ranks_prefix(pipeline.ranks_of_rows()[row]),
                             what, behind ? "after" : "before", other)},
        [&] { return job_.edits.row(row + 1, text); });
  };
  const auto at = [](Slots& of, std::size_t i) {
    return of.begin() + static_cast<std::ptrdiff_t>(i);
  };
  Slots moved = slots;
  std::rotate(at(moved, from), at(moved, to), at(moved, to + 1));
  add_row(late.name, wait.to.op.name, false, moved);
  moved = slots;
  std::rotate(at(moved, from), at(moved, from + 1), at(moved, to + 1));
  add_row(wait.to.op.name, late.name, true, moved);
  const Actions& early_slot = slots[from];
  const Actions& late_slot = slots[to];
  const bool single = early_slot.size() == 1 && late_slot.size() == 1;
  if (!single || early_slot[0].none() || late_slot[0].none()) return;
  add_row("each " + like_text(late_slot), like_text(early_slot), false,
          each_before(slots, late_slot, early_slot));
  add_row("each " + like_text(early_slot), like_text(late_slot), true,
          reversed(each_before(reversed(slots), early_slot, late_slot)));
}

void ProgramEdits::add_pair(const At& early, const At& late) {
  pair_ = {first_alike(early.step), first_alike(late.step)};
  const bool known = !pairs_.insert(pair_).second;
  if (known || actor(early).thread != actor(late).thread) return;
  add_batches(early, late);
  add_moves(early, late);
  add_communicator(early, late);
}

void ProgramEdits::add_batches(const At& early, const At& late) {
  if (!has_only_messages(actor(early)) || !has_only_messages(actor(late))) return;
  const bool in_order = place_in(early) < place_in(late);
  const At& first = in_order ? early : late;
  const At& second = in_order ? late : early;
  for (const bool behind : {false, true}) {
    const std::string& at = actor(behind ? second : first).step->at;
    add({.kind = &edit_kinds::kBatch,
         .text = fmt::format("{}{} and {} in one group call{}{}", prefix(first), actor(first).name,
                             actor(second).name, behind ? ", with the second" : "",
                             at.empty() ? "" : fmt::format(" ({})", printable(at))),
         .steps = {actor(first).place, actor(second).place},
         .alters = crosses(first, second, !behind),
         .is_variant = behind},
        [&] { return job_.edits.batch(actor(first).place, actor(second).place, behind); });
  }
}

// Whether a move may break a dependency. If `late_moves`, `late` moves ahead of `early`; else
// `early` moves after `late`.
bool ProgramEdits::crosses(const At& early, const At& late, bool late_moves) {
  const std::vector<WalkedStep>& steps = program(early.rank, actor(early).thread);
  const std::size_t from = place_in(early);
  const std::size_t to = place_in(late);
  for (std::size_t i = from; i <= to && i < steps.size(); ++i) {
    const std::uint32_t step = steps[i].actor;
    if (step == (late_moves ? late.step : early.step)) continue;
    if (job_.graph.actors[step].step && job_.graph.actors[step].step->implied) continue;
    const bool needs = late_moves ? may_need(job_.graph, awaited_, late.step, step)
                                  : may_need(job_.graph, awaited_, step, early.step);
    if (needs) return true;
  }
  return false;
}

// Returns proper subsets of the ranks to swap the two steps on: the odd ranks, the even ranks, the
// ranks whose peer in step `late` is a higher rank, and the rank of `late` alone.
std::vector<RankSet> ProgramEdits::parts_of(const At& early, const At& late) {
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> even;
  std::vector<std::uint32_t> odd;
  std::vector<std::uint32_t> lower;
  const RankSet of_early = on(early);
  for (const std::uint32_t rank : on(late)) {
    if (!of_early.contains(rank)) continue;
    all.push_back(rank);
    (rank % 2 == 0 ? even : odd).push_back(rank);
    const ShortList<CallTemplate>& made = calls(on_rank(late, rank));
    const bool message = !made.empty() && made.front().peer.has_value();
    if (message && made.front().peer->value(rank).value_or(0) > rank) lower.push_back(rank);
  }
  std::vector<RankSet> result;
  const auto add_part = [&](std::vector<std::uint32_t> ranks) {
    RankSet part(std::move(ranks));
    const bool some = !part.empty() && part.size() < all.size();
    if (some && std::find(result.begin(), result.end(), part) == result.end()) {
      result.push_back(std::move(part));
    }
  };
  add_part(odd);
  add_part(even);
  add_part(lower);
  add_part({late.rank});
  return result;
}

void ProgramEdits::add_move(const At& moved, const At& other, bool behind, const RankSet& on,
                            bool alters) {
  const Place place = actor(moved).place;
  const Place next = actor(other).place;
  add({.kind = on.empty() ? &edit_kinds::kMove : &edit_kinds::kMoveOnSome,
       .text = fmt::format("{}{} {} {}", prefix(moved, on), step_text(actor(moved)),
                           behind ? "after" : "before", actor(other).name),
       .on = on,
       .steps = {place, next},
       .alters = alters,
       .is_variant = behind},
      [&] { return job_.edits.move(place, next, behind, on); });
}

void ProgramEdits::add_moves(const At& early, const At& late) {
  if (place_in(early) > place_in(late)) return;  // `late` is in the next iteration
  const bool late_alters = crosses(early, late, true);
  const bool early_alters = crosses(early, late, false);
  add_move(late, early, false, {}, late_alters);
  add_move(early, late, true, {}, early_alters);
  for (const RankSet& part : parts_of(early, late)) {
    add_move(late, early, false, part, late_alters);
    if (late_alters) add_move(early, late, true, part, early_alters);
  }
}

// Gives the sends and recvs of `late` and all calls that match them their own communicator, unless
// the calls of `early` are among these calls.
void ProgramEdits::add_communicator(const At& early, const At& late) {
  if (!has_only_messages(actor(early)) || !has_only_messages(actor(late))) return;
  const std::uint32_t communicator = calls(late).front().communicator;
  if (calls(early).front().communicator != communicator) return;
  using Message = std::pair<std::uint32_t, std::size_t>;  // step, and index of the call in the step
  std::map<std::uint32_t, std::set<Message>> of_channel;
  std::map<Message, std::set<std::uint32_t>> channels_of;
  for (std::uint32_t id = 0; id < job_.lowered.plan.actors.size(); ++id) {
    const std::uint32_t step = job_.lowered.actor_template[sim::ActorId{id}];
    std::size_t index = 0;
    for (const sim::CallId call : job_.lowered.plan.calls_of(sim::ActorId{id})) {
      const Message message(first_alike(step), index++);
      if (job_.lowered.plan.calls[call].kind == sim::CallKind::kCollective) continue;
      const std::uint32_t channel = job_.lowered.plan.calls[call].channel.value;
      of_channel[channel].insert(message);
      channels_of[message].insert(channel);
    }
  }
  const Message start(first_alike(late.step), 0);
  std::set<Message> found = {start};
  for (std::vector<Message> left = {start}; !left.empty();) {
    const Message message = left.back();
    left.pop_back();
    for (const std::uint32_t channel : channels_of[message]) {
      for (const Message& other : of_channel[channel]) {
        if (found.insert(other).second) left.push_back(other);
      }
    }
  }
  if (found.count({first_alike(early.step), 0}) > 0) return;
  const std::string& from = job_.graph.communicators[communicator].name;
  const auto separate = [&] {
    std::vector<Place> places;
    for (const auto& [step, index] : found) {
      const Place place = job_.graph.actors[step].step->calls[index].place;
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
    return job_.edits.communicator(places, from, free_name(job_.graph.communicators, from));
  };
  add({.kind = &edit_kinds::kCommunicator,
       .text = fmt::format("{} and its matching calls on a separate communicator",
                           step_text(actor(late))),
       .steps = {actor(late).place}},
      separate);
}

// ---------------------------------------------------------------------------------------------
// Calls that some ranks do not make

// Returns the step in which `rank` is stuck. If the rank's program is over, returns its last step
// and sets `behind`.
std::optional<At> ProgramEdits::stands_at(std::uint32_t rank, bool& behind) {
  behind = false;
  for (const RankReport& report : job_.explanation.ranks) {
    if (report.rank != rank) continue;
    for (const ThreadReport& thread : report.threads) {
      if (!thread.at) continue;
      if (const auto at = step_of(*thread.at, rank)) return at;
    }
  }
  behind = true;
  for (std::uint32_t thread = 0; thread < job_.graph.threads.size(); ++thread) {
    const std::vector<WalkedStep>& steps = program(rank, thread);
    if (!steps.empty()) return At{rank, steps.back().actor};
  }
  return std::nullopt;
}

void ProgramEdits::add_root(const Root& root) {
  if (root.party.kind != sim::WaitNodeKind::kRank) return;
  if (sim::facts(root.first.kind).setting == sim::Setting::kInit)
    add_init_at_start(job_.edits, sink_);
  add_skipped(root);
  const std::optional<At> made = step_of(root.first.from);
  if (made) add_missing(*made, root.party.rank);
}

// Tries to add the call that the rank of `root` skips, or to drop this call on all ranks.
void ProgramEdits::add_skipped(const Root& root) {
  if (!root.missing) return;
  const std::optional<At> made = step_of(*root.missing, root.missing->rank);
  if (!made) return;
  const std::uint32_t rank = root.party.rank;
  // Tries to run the step everywhere even if the rank has the step: a condition can exclude the
  // rank in some iterations only.
  add_everywhere(*made);
  const std::optional<At> next = root.before ? step_of(*root.before, rank) : std::nullopt;
  if (next && !actor(*made).on.contains(rank)) add_copy(*made, RankSet({rank}), *next, false);
  add_drop(*made);
}

// Tries to run a call on all ranks: first only its step, then the whole block around the step.
void ProgramEdits::add_everywhere(const At& made) {
  for (const bool block : {false, true}) {
    add({.kind = &edit_kinds::kEverywhere,
         .text =
             (block ? "all ranks run the block of " : "all ranks call ") + step_text(actor(made)),
         .steps = {actor(made).place}},
        [&] { return job_.edits.everywhere(actor(made).place, block); });
  }
}

// Tries to drop a step on the ranks `on`; empty: on all ranks.
void ProgramEdits::add_drop(const At& made, const RankSet& on) {
  const RankSet ranks = affected(made, on);
  const std::string step = step_text(actor(made));
  const auto drop = [&] {
    std::vector<std::uint32_t> left;
    for (const std::uint32_t rank : this->on(made)) {
      if (!on.contains(rank)) left.push_back(rank);
    }
    return job_.edits.drop(actor(made).place,
                           on.empty() ? std::nullopt : std::optional(RankSet(std::move(left))));
  };
  add({.kind = &edit_kinds::kDrop,
       .text = ranks.empty() ? "no rank calls " + step
                             : fmt::format("{} {} {}", ranks_text(ranks),
                                           ranks.size() == 1 ? "skips" : "skip", step),
       .on = on,
       .steps = {actor(made).place},
       .alters = true},
      drop);
}

// Tries to add the matching call on `rank`: after its last call on the communicator, and at the
// step in which it is stuck. Also tries to drop the send or recv `made`. Returns false if `made`
// has no send to or recv from `rank`.
bool ProgramEdits::add_other_end(const At& made, std::uint32_t rank) {
  const auto& all = calls(made);
  const auto call = std::find_if(all.begin(), all.end(), [&](const CallTemplate& it) {
    return is_message(it) && it.peer && it.peer->value(made.rank) == rank;
  });
  if (call == all.end()) return false;
  const RankSet on({rank});
  const auto add_at = [&](const At& next, bool behind) {
    add({.kind = &edit_kinds::kOtherEnd,
         .text = fmt::format("{}also calls the {} for {} of rank {}, {} {}", prefix(made, on),
                             call->kind == sim::CallKind::kSend ? "recv" : "send",
                             step_text(actor(made)), made.rank, behind ? "after" : "before",
                             actor(next).name),
         .on = on,
         .steps = {call->place, actor(next).place}},
        [&] {
          return job_.edits.matching_call(call->place, made.rank, actor(next).place, behind, on);
        });
  };
  std::optional<At> last;
  for (std::uint32_t thread = 0; thread < job_.graph.threads.size(); ++thread) {
    for (const WalkedStep& step : program(rank, thread)) {
      const At at{rank, step.actor};
      const auto& made_there = calls(at);
      if (!made_there.empty() && made_there.front().communicator == call->communicator) last = at;
    }
  }
  bool behind = false;
  const auto next = stands_at(rank, behind);
  if (last) add_at(*last, true);
  if (next) add_at(*next, behind);
  if (all.size() > 1) return true;
  add_drop(made, this->on(made).size() > 1 ? RankSet({made.rank}) : RankSet());
  return true;
}

void ProgramEdits::add_missing(const At& made, std::uint32_t rank) {
  if (add_other_end(made, rank) && !on(made).contains(rank)) return;
  if (on(made).contains(rank)) {
    add_rounds(made, rank);
  } else {
    add_everywhere(made);
    add_rounds(made, rank);
    bool behind = false;
    if (const auto next = stands_at(rank, behind)) add_copy(made, RankSet({rank}), *next, behind);
  }
  add_drop(made);
}

// Tries other repeat counts for a rank with too few calls: some loop may have too few or too many
// iterations.
void ProgramEdits::add_rounds(const At& made, std::uint32_t rank) {
  if (calls(made).empty()) return;
  const std::uint32_t communicator = calls(made).front().communicator;
  const ProgramStep* here = nullptr;
  const ProgramStep* there = nullptr;
  for (std::uint32_t thread = 0; thread < job_.graph.threads.size(); ++thread) {
    const auto last_block = [&](std::uint32_t of_rank) -> const ProgramStep* {
      const ProgramStep* block = nullptr;
      for (const WalkedStep& step : program(of_rank, thread)) {
        const auto& all = job_.graph.actors[step.actor].step->calls;
        if (!all.empty() && all.front().communicator == communicator) block = step.block;
      }
      return block;
    };
    if (here == nullptr) here = last_block(made.rank);
    if (there == nullptr) there = last_block(rank);
  }
  if (here == nullptr || there == nullptr || here->times == there->times) return;
  const auto set = [&](const ProgramStep& block, std::int64_t to) {
    add({.kind = &edit_kinds::kValue,
         .text = fmt::format("{}the loop around {}: repeat {} instead of {}",
                             ranks_prefix(block.on ? *block.on : RankSet()), step_text(actor(made)),
                             to, block.times),
         .steps = {block.place},
         .alters = to < block.times},
        [&] {
          return job_.edits.set(block.place, {{"repeat", formats::number(to)}});
        });
  };
  set(*there, here->times);
  set(*here, there->times);
}

void ProgramEdits::add_copy(const At& made, const RankSet& on, const At& next, bool behind) {
  if (calls(made).empty() || is_message(calls(made).front())) return;
  const Place place = actor(made).place;
  const Place at = actor(next).place;
  add({.kind = &edit_kinds::kCopy,
       .text = fmt::format("{}also calls {}, {} {}", prefix(made, on), step_text(actor(made)),
                           behind ? "after" : "before", actor(next).name),
       .on = on,
       .steps = {place, at}},
      [&] { return job_.edits.copy(place, at, behind, on); });
}

// ---------------------------------------------------------------------------------------------
// Mismatched calls

// Tries to give call `b` the differing arguments of call `a`, then the reverse.
void ProgramEdits::add_values(const At& a, const At& b) {
  const CallTemplate& x = calls(a).front();
  const CallTemplate& y = calls(b).front();
  std::vector<NewValue> as_a;
  std::vector<NewValue> as_b;
  const auto both = [&](const char* key, const std::string& of_a, const std::string& of_b) {
    if (of_a == of_b || of_a.empty() || of_b.empty()) return;
    as_a.push_back({key, of_b, of_a});
    as_b.push_back({key, of_a, of_b});
  };
  const auto text = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string();
  };
  if (!is_message(x) && has_root(x.operation) && x.peer && y.peer) {
    both("root", text(x.peer->value(a.rank)), text(y.peer->value(b.rank)));
  }
  if (x.sized && y.sized) both("bytes", text(x.bytes.value(a.rank)), text(y.bytes.value(b.rank)));
  both("type", x.type, y.type);
  add_new_values(b, as_a);
  add_new_values(a, as_b);
}

void ProgramEdits::add_new_values(const At& at, const std::vector<NewValue>& values) {
  if (values.empty()) return;
  std::string text;
  std::vector<std::pair<std::string, YamlNode>> nodes;
  for (const NewValue& value : values) {
    const bool bytes = value.key == "bytes";
    const auto shown = [&](const std::string& it) {
      return bytes ? viz::bytes_text(std::stoll(it)) : printable(it);
    };
    text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", value.key,
                        shown(value.to), shown(value.from));
    nodes.emplace_back(value.key, bytes                 ? formats::bytes(std::stoll(value.to))
                                  : value.key == "type" ? YamlNode::text(value.to)
                                                        : YamlNode::value(value.to));
  }
  add({.kind = &edit_kinds::kValue,
       .text = fmt::format("{}{}: {}", prefix(at), step_text(actor(at)), text),
       .steps = {actor(at).place}},
      [&] { return job_.edits.set(actor(at).place, nodes); });
}

// Whether the call `later` would match `wanted` if it were made in place of `here`.
bool does_what(const CallTemplate& later, std::uint32_t rank, const CallTemplate& here,
               const CallTemplate& wanted, std::uint32_t wanted_rank) {
  if (later.communicator != wanted.communicator || later.type != wanted.type) return false;
  if (later.bytes.value(rank) != wanted.bytes.value(wanted_rank)) return false;
  const auto peer = [&](const CallTemplate& call, std::uint32_t of) {
    return call.peer ? call.peer->value(of) : std::nullopt;
  };
  if (is_message(wanted)) return later.kind == here.kind && peer(later, rank) == peer(here, rank);
  return later.operation == wanted.operation && peer(later, rank) == peer(wanted, wanted_rank);
}

// Tries to move a later step ahead of `here` on its rank, if the step matches `wanted`.
void ProgramEdits::add_later_match(const At& wanted, const At& here) {
  const CallTemplate& call = calls(wanted).front();
  const std::vector<WalkedStep>& steps = program(here.rank, actor(here).thread);
  for (std::size_t i = place_in(here) + 1; i < steps.size(); ++i) {
    const At later{here.rank, steps[i].actor};
    if (calls(later).size() != 1 || later.step == here.step) continue;
    if (!does_what(calls(later).front(), later.rank, calls(here).front(), call, wanted.rank)) {
      continue;
    }
    add_moves(here, later);
    return;
  }
}

// Returns the number of steps of a rank that call a communicator.
std::size_t ProgramEdits::calls_on(std::uint32_t communicator, std::uint32_t rank) {
  std::size_t count = 0;
  for (std::uint32_t thread = 0; thread < job_.graph.threads.size(); ++thread) {
    for (const WalkedStep& step : program(rank, thread)) {
      const ShortList<CallTemplate>& made = job_.graph.actors[step.actor].step->calls;
      count += !made.empty() && made.front().communicator == communicator ? 1u : 0u;
    }
  }
  return count;
}

void ProgramEdits::add_misfit(const Misfit& misfit) {
  const std::optional<At> a = step_of(misfit.first, misfit.first.rank);
  const std::optional<At> b = step_of(misfit.second, misfit.second.rank);
  if (!a || !b || calls(*a).size() != 1 || calls(*b).size() != 1) return;
  if (calls(*a).front().operation == calls(*b).front().operation || misfit.message) {
    // The arguments that most ranks pass are more likely to be intended.
    const bool few_have_a = misfit.ranks.size() > 1;
    add_values(few_have_a ? *b : *a, few_have_a ? *a : *b);
  }
  add_later_match(*a, *b);
  add_later_match(*b, *a);
  const std::uint32_t communicator = calls(*a).front().communicator;
  const bool as_many = calls_on(communicator, a->rank) == calls_on(communicator, b->rank);
  if (misfit.message || a->step == b->step || as_many) return;
  const auto missing = [&](const At& made, const At& other, const RankSet& ranks) {
    if (on(made).contains(other.rank)) return;
    add_everywhere(made);
    add_copy(made, ranks, other, false);
    add_drop(made);
  };
  missing(*a, *b, RankSet(misfit.ranks));
  missing(*b, *a, on(*a));
}

void ProgramEdits::add_schedule() {
  if (!job_.graph.pipeline) return;
  using Model = MessageModel;
  const std::vector<std::string> names = message_model_names();
  // Omits kDir, which no runtime implements.
  for (const Model model : {Model::kDirection, Model::kEdge, Model::kPair}) {
    const auto index = static_cast<std::size_t>(model);
    if (model == job_.graph.pipeline->messages) continue;
    add({.kind = &edit_kinds::kMessages,
         .text = fmt::format("messages of the schedule: {} instead of {}", names[index],
                             names[static_cast<std::size_t>(job_.graph.pipeline->messages)])},
        [&] {
          return below({"schedule", "messages"}, YamlNode::text(names[index]));
        });
  }
}

void ProgramEdits::run() {
  // Starts with the waits for the lowest rank, so that the lower rank of a pair receives first.
  std::vector<std::uint32_t> order(job_.explanation.cycle.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return job_.explanation.cycle[a].to.rank < job_.explanation.cycle[b].to.rank;
  });
  find_waits();
  for (const std::uint32_t number : order) add_wait(job_.explanation.cycle[number], number);
  wait_ = kNoIndex;
  for (const Root& root : job_.explanation.roots) add_root(root);
  for (const Misfit& misfit : job_.explanation.mismatches) add_misfit(misfit);
  add_schedule();
}

}  // namespace

void find_program_edits(const HangingJob& job, const CandidateSink::Try& try_candidate) {
  ProgramEdits(job, try_candidate).run();
}

}  // namespace pipesim::models
