// Reads programs with `one_thread: GROUP`, in which one thread drives all ranks of each list of the
// group. In the task graph, each rank has its own thread; the threads of a list's ranks meet in a
// barrier between two steps. So only one of these threads runs at a time, in the order of the
// user's single thread.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "formats/scenario/program_reader.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::formats {

using models::ActorTemplate;
using models::kNoIndex;
using models::ProgramStep;
using models::RankSet;

// Reads {one_thread: GROUP}.
void ProgramReader::read_one_thread(MapReader& map, Context& context, const std::string& thread) {
  const auto value = map.take("one_thread");
  if (!value) return;
  const std::optional<std::string> name = values_.word(*value);
  if (!name) return;
  const std::uint32_t group = index_of(graph_.groups, *name);
  if (group == kNoIndex) {
    models::Diagnostic& error = diagnostics().error(value->place(), models::Code::kUnknownGroup,
                                                    fmt::format("unknown group '{}'", *name));
    models::suggest_name(error, *name, names_of(graph_.groups));
    error.notes.emplace_back(
        "it says which ranks share a thread: groups: {node: {size: 8}} for each 8 in a row");
    return;
  }
  if (!map.has("on")) context.on = graph_.groups[group].members();
  if (!has_whole_lists(context.on, group)) {
    diagnostics()
        .error(value->place(), models::Code::kGroupLayout,
               fmt::format("'on' has only some of the ranks that a list of '{}' has", *name))
        .notes.emplace_back("give all ranks of each list, or leave 'on' out");
    return;
  }
  Turns turns;
  turns.group = group;
  turns.thread = context.thread;
  turns.place = value->place();
  turns_ = std::move(turns);
  turns_->communicator = turn_communicator(fmt::format("thread {} of {}", thread, *name));
}

// Returns the communicator on which the hosts of a list's ranks meet. A meeting takes no time and
// has no timeout.
std::uint32_t ProgramReader::turn_communicator(const std::string& name) {
  const std::uint32_t known = index_of(graph_.communicators, name);
  if (known != kNoIndex) return known;
  models::CommunicatorTemplate meeting;
  meeting.name = name;
  meeting.place = turns_->place;
  meeting.group = turns_->group;
  meeting.on_host = true;
  meeting.init.said = graph_.init.said;
  meeting.timeout_ns = 0;
  graph_.communicators.push_back(std::move(meeting));
  return static_cast<std::uint32_t>(graph_.communicators.size() - 1);
}

// Returns the step in which the ranks `on` meet the other ranks of their lists.
std::uint32_t ProgramReader::turn_of(const RankSet& on) {
  const auto known =
      std::find_if(turns_->actors.begin(), turns_->actors.end(),
                   [&](std::uint32_t actor) { return graph_.actors[actor].on == on; });
  if (known != turns_->actors.end()) return *known;
  models::CallTemplate call;
  call.place = turns_->place;
  call.operation = models::Operation::kBarrier;
  call.communicator = turns_->communicator;
  ActorTemplate turn;
  turn.on = on;
  turn.name = "turn";
  turn.place = turns_->place;
  turn.thread = turns_->thread;
  turn.stream = names_.stream_of_calls(call);
  turn.blocking = true;
  turn.step.emplace();
  turn.step->implied = true;
  turn.step->role = sim::Role::kCalls;
  turn.step->calls.push_back(std::move(call));
  const auto actor = static_cast<std::uint32_t>(graph_.actors.size());
  graph_.actors.push_back(std::move(turn));
  names_.make_name_unique();
  turns_->actors.push_back(actor);
  return actor;
}

// Whether no two ranks of `on` share a thread.
bool ProgramReader::is_of_one_each(const RankSet& on) const {
  std::vector<std::uint32_t> lists;
  for (const std::uint32_t rank : on) {
    lists.push_back(graph_.groups[turns_->group].list_of(rank));
  }
  return RankSet(lists).size() == lists.size();
}

// Whether `on` contains all ranks that share a thread with one of its ranks.
bool ProgramReader::has_whole_lists(const RankSet& on, std::uint32_t group) const {
  const models::Group& of = graph_.groups[group];
  std::size_t ranks = 0;
  for (const std::vector<std::uint32_t>& list : of.lists) {
    const auto has = static_cast<std::size_t>(std::count_if(
        list.begin(), list.end(), [&](std::uint32_t rank) { return on.contains(rank); }));
    if (has != 0 && has != list.size()) return false;
    ranks += has;
  }
  return ranks == on.size();
}

// Whether the step as a whole takes one turn. In a block of steps for several ranks of a list, each
// step takes its own turns.
bool ProgramReader::takes_one_turn(const MapReader& map, const RankSet& on) const {
  const bool block = map.has("do") || map.has("call");
  return !block || is_of_one_each(on);
}

// Reads a step in turns. The calls of a `group` step start together: all ranks initialize and
// connect before the thread waits for any rank. They do not start together if launches block: the
// second launch then waits for the first (NVIDIA/nccl#750).
void ProgramReader::read_in_turn(MapReader& map, const YamlValue& value, const Context& context,
                                 Steps& steps) {
  if (context.on.empty()) return;
  bool blocking = defaults_.blocking.value_or(false) || defaults_.on_host;
  if (const auto own = map.take("blocking")) blocking = values_.truth(*own).value_or(blocking);
  const bool together = map.has("group") && !blocking;
  take_turns(context.on, together, steps,
             [&](Steps& unit) { read_known_step(map, value, context, unit); });
}

// Reads steps for the ranks of `on`, in list order or all together. All ranks of a list meet after
// each turn.
void ProgramReader::take_turns(const RankSet& on, bool together, Steps& steps,
                               const std::function<void(Steps&)>& read) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> before;  // ranks, by number of turns
  std::map<std::uint32_t, std::vector<std::uint32_t>> after;
  for (const std::vector<std::uint32_t>& list : graph_.groups[turns_->group].lists) {
    std::uint32_t turns = 0;
    for (const std::uint32_t rank : list) {
      if (on.contains(rank)) turns = together ? 1 : turns + 1;
    }
    std::uint32_t own = 0;
    for (const std::uint32_t rank : list) {
      const std::uint32_t first = on.contains(rank) && !together ? own++ : 0;
      before[first].push_back(rank);
      after[turns - first].push_back(rank);
    }
  }
  const auto add = [&](std::map<std::uint32_t, std::vector<std::uint32_t>>& ranks) {
    for (auto& [times, of] : ranks) {
      if (times == 0) continue;
      ProgramStep block;
      block.place = turns_->place;
      block.times = times;
      block.on = RankSet(std::move(of));
      const std::uint32_t turn = turn_of(*block.on);
      if (place_step(turn, block.place, block.on->size() * times, block.block)) {
        steps.push_back(std::move(block));
      }
    }
  };
  add(before);
  std::optional<Turns> turns = std::exchange(turns_, std::nullopt);
  read(steps);
  turns_ = std::move(turns);
  add(after);
}

}  // namespace pipesim::formats
