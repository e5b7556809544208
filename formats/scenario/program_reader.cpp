// Reads programs. A step is a map; its first key selects the kind of step: `{compute: qkv, takes:
// 3us}`.
#include "formats/scenario/program_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/document/parameters.hpp"
#include "formats/scenario/keys.hpp"
#include "models/characters.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::formats {

using models::ActorTemplate;
using models::CallTemplate;
using models::Expr;
using models::kNoIndex;
using models::Place;
using models::ProgramStep;
using models::RankSet;
using sim::Role;

namespace {

// Limits on the iterations of a loop with an index, on visits (see visits_), on steps (counted once
// per rank) and on nesting: far above real programs, and low enough for fast reading.
constexpr std::int64_t kMaxCopies = 100'000;
constexpr std::size_t kMaxVisits = 1'000'000;
constexpr std::uint64_t kMaxPlaced = 100'000'000;
constexpr std::size_t kMaxDepth = 200;

// Collects all words in the expressions of `value` that could name a parameter.
void collect_names(const YamlValue& value, std::set<std::string>& names) {
  const auto part_of_name = [](char c) { return models::is_alphanumeric(c) || c == '_'; };
  const std::string_view text = value.text();
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), part_of_name);
    at = std::find_if_not(begin, text.end(), part_of_name);
    if (begin != at) names.emplace(begin, at);
  }
  for (const YamlValue& item : value.items()) collect_names(item, names);
}

// Collects the choices in `value` that decide the form of a step. Skips choices that belong to
// inner steps, or that are parts of an expression.
void collect_choices(const YamlValue& value, std::vector<YamlValue>& choices) {
  if (ValueReader::is_choice(value)) choices.push_back(value);
  if (value.is_list()) {
    for (const YamlValue& item : value.items()) collect_choices(item, choices);
  }
  const KeyTable* table = table_with_head(value, keys::steps());
  for (const YamlValue::Entry& entry : value.entries()) {
    const std::string_view name = entry.key.text();
    const Key* key = table == nullptr ? nullptr : table->find(name);
    const bool is_expression = key != nullptr && is_by_rank(key->type);
    const bool has_steps = name == "do" && !ValueReader::is_choice(entry.value);
    if (!is_expression && !has_steps) collect_choices(entry.value, choices);
  }
}

}  // namespace

ProgramReader::ProgramReader(const ValueReader& values, const ActorDefaults& defaults,
                             bool open_streams, models::TaskGraph& graph)
    : parameters_(*values.scope().parameters),
      scope_(values.scope()),
      values_(scope_, values.diagnostics()),
      defaults_(defaults),
      graph_(graph),
      call_times_(graph_),
      names_(values_, open_streams, graph) {
  scope_.parameters = &parameters_;
  names_.set_on_host(defaults.on_host, defaults.is_gloo);
  names_.set_barriers_on_device(defaults.of_nccl);
}

void ProgramReader::read_blocks(const YamlValue& blocks) {
  names_.look_ahead(blocks);
  for (const YamlValue::Entry& entry : named_entries(blocks, "'blocks'", diagnostics())) {
    blocks_.emplace(std::string(entry.key.text()), entry.value);
  }
}

// Returns the number of steps of programs, without the steps in blocks and loops, as an estimate of
// the number of actors.
static std::size_t steps_in(const YamlValue& programs) {
  std::size_t steps = 0;
  const auto count = [&](const YamlValue& program) {
    program.for_each_entry([&](const YamlValue::Entry& entry) {
      if (entry.key.text() == "do") steps += entry.value.size();
    });
  };
  if (programs.is_list()) {
    programs.for_each_item(count);
  } else {
    count(programs);
  }
  return steps;
}

void ProgramReader::read(const YamlValue& programs) {
  names_.look_ahead(programs);
  graph_.actors.reserve(graph_.actors.size() + steps_in(programs));
  for (const YamlValue& program :
       programs.is_list() ? programs.items() : std::vector<YamlValue>{programs}) {
    read_program(program);
  }
  names_.check_streams();
  names_.check_events();
  connect_waits();
}

// Reads one program of a host thread, for its ranks. Several programs of one thread are for
// different ranks, or run one after another.
void ProgramReader::read_program(const YamlValue& value) {
  MapReader map(value, keys::kProgram, diagnostics());
  map.take_text("about");
  Context context;
  context.on = RankSet::range(0, graph_.ranks);
  if (const auto on = map.take("on")) context.on = values_.rank_set(*on).value_or(context.on);
  std::string name = "main";
  if (const auto thread = map.take("thread")) name = values_.word(*thread).value_or(name);
  context.thread = index_of(graph_.threads, name);
  if (context.thread == kNoIndex) {
    context.thread = static_cast<std::uint32_t>(graph_.threads.size());
    models::HostThread thread;
    thread.name = name;
    thread.place = value.place();
    thread.order = sim::ThreadOrder::kProgram;
    graph_.threads.push_back(std::move(thread));
  } else if (graph_.threads[context.thread].order != sim::ThreadOrder::kProgram) {
    diagnostics()
        .error(value.place(), models::Code::kThreadOrder,
               fmt::format("thread '{}' launches by arrival, so it cannot have a program", name))
        .notes.push_back(fmt::format("under 'threads' say '{}: {{order: program}}'", name));
    return;
  }
  read_one_thread(map, context, name);
  const auto steps = map.require("do");
  map.finish();
  if (!steps) return;
  ProgramStep block;
  block.place = value.place();
  block.on = context.on;
  block.block.reserve(steps->size());
  read_steps(*steps, context, block.block);
  turns_.reset();
  models::collapse(block.block);
  graph_.threads[context.thread].program.push_back(std::move(block));
}

void ProgramReader::read_steps(const YamlValue& value, const Context& context, Steps& steps) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || (picked->is_null() && !value.is_null())) return;
  if (!picked->is_list()) {
    diagnostics().error(picked->place(), models::Code::kWrongType,
                        fmt::format("'do' must be a list of steps, found {}", picked->described()));
    return;
  }
  if (!count_visit(value.place())) return;
  ++depth_;
  bool fits = true;
  picked->for_each_item([&](const YamlValue& item) {
    fits = fits && count_visit(item.place());
    if (fits) read_step(item, context, steps);
  });
  --depth_;
}

// Counts a visit, see visits_. Returns false if the programs exceed a limit, and reports the limit
// once.
bool ProgramReader::count_visit(Place place) {
  if (visits_ > kMaxVisits) return false;
  ++visits_;
  if (depth_ > kMaxDepth) {
    diagnostics().error(place, models::Code::kLimit,
                        fmt::format("steps are nested more than {} deep", kMaxDepth));
    visits_ = kMaxVisits + 1;
  } else if (visits_ > kMaxVisits || placed_ > kMaxPlaced) {
    const auto [most, what] =
        visits_ > kMaxVisits
            ? std::pair<std::uint64_t, const char*>(kMaxVisits, "steps to read")
            : std::pair<std::uint64_t, const char*>(kMaxPlaced, "steps of all ranks");
    diagnostics()
        .error(place, models::Code::kLimit,
               fmt::format("the programs have more than {} {}", most, what))
        .notes.emplace_back(
            "a step counts for each call of its block, and for each round of a loop with an index");
    visits_ = kMaxVisits + 1;
  }
  return visits_ <= kMaxVisits;
}

// Reads a step. A step that chooses by rank becomes one step for each option that some rank takes.
void ProgramReader::read_step(const YamlValue& value, const Context& context, Steps& steps) {
  const std::optional<std::uint32_t> outer = std::exchange(scope_.chosen_for, std::nullopt);
  const auto [parts, has_choices] = ranks_by_choice(value, context.on);
  const auto is_group = [](const YamlValue::Entry& entry) { return entry.key.text() == "group"; };
  const std::vector<YamlValue::Entry> entries = value.entries();
  if (turns_ && parts.size() > 1 && std::any_of(entries.begin(), entries.end(), is_group)) {
    diagnostics()
        .error(value.place(), models::Code::kDependsOnRank,
               "a group of ranks that one thread drives cannot choose by rank")
        .notes.emplace_back("give its calls 'on': {send: pp, to: 1, on: 0}");
    return;
  }
  for (const RankSet& part : parts) {
    if (has_choices && !part.empty()) scope_.chosen_for = part[0];
    read_step_of_some(value, {context.thread, part}, steps);
  }
  scope_.chosen_for = outer;
}

// Groups the ranks of `on` by the options that the step's choices pick. A choice by `rank` gives
// a single group if all ranks of `on` pick the same option.
ProgramReader::ChoiceParts ProgramReader::ranks_by_choice(const YamlValue& step,
                                                          const RankSet& on) {
  const auto [choices, is_new] = choices_.try_emplace({step.place().line, step.place().column});
  if (is_new) collect_choices(step, choices->second);
  ChoiceParts result{{on}, false};
  for (const YamlValue& choice : choices->second) {
    const std::optional<Value> by = values_.choice_condition(choice);
    if (!by || by->type == ValueType::kWord) continue;
    result.has_choices = true;  // set even if `rank` is multiplied by 0, or a set is empty
    if (!by->expr.depends_on_rank()) continue;
    std::vector<RankSet> smaller;
    for (const RankSet& part : result.parts) {
      const auto of_part = values_.by_value(by->expr, part);
      if (!of_part) return {{on}, false};
      for (const auto& [number, ranks] : *of_part) smaller.push_back(ranks);
    }
    result.parts = std::move(smaller);
  }
  return result;
}

void ProgramReader::read_step_of_some(const YamlValue& value, const Context& context,
                                      Steps& steps) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return;
  const KeyTable* table = table_with_head(*picked, keys::steps());
  MapReader map(*picked, table == nullptr ? *keys::steps().front() : *table, diagnostics());
  if (!picked->is_map()) return;
  const std::optional<RankSet> exists = read_when(map, context.on);
  Context inner = context;
  inner.on = read_on(map, exists.value_or(context.on));
  if (!exists) return;
  if (table == nullptr) {
    refuse_step(*picked);
    return;
  }
  if (turns_ && takes_one_turn(map, inner.on)) {
    read_in_turn(map, *picked, inner, steps);
  } else {
    read_known_step(map, *picked, inner, steps);
  }
}

// Whether the calls of `part` are on another communicator than the calls of `step`.
static bool is_of_other_communicator(const ActorTemplate& part, const ActorTemplate& step) {
  return step.step->role == Role::kCalls &&
         part.step->calls.front().communicator != step.step->calls.front().communicator;
}

void ProgramReader::read_known_step(MapReader& map, const YamlValue& value, const Context& inner,
                                    Steps& steps) {
  if (read_block(map, inner, steps) || read_call_of_block(map, inner, steps) ||
      read_again(map, inner, steps)) {
    map.finish();
    return;
  }
  ActorTemplate actor;
  actor.place = value.place();
  actor.step.emplace();
  actor.launch_overhead = defaults_.launch_overhead;
  split_parts_.reset();
  const bool known = read_abort_or_shrink(map, actor, inner, steps) ||
                     read_symmetric(map, actor, inner) || read_device_step(map, actor, inner);
  if (!known) read_host_step(map, actor);
  check_ended(actor, inner);
  if (!read_common(map, actor)) return;
  const std::vector<PendingWait> waits = read_waits(map, actor);
  const bool by_pairs = defaults_.by_pairs && !map.has("group");
  std::vector<Part> parts = by_pairs ? pairs_of(actor, inner.on) : parts_of(actor, inner.on);
  const auto after = on_host(actor.step->role) ? std::nullopt : map.take("after");
  if (after && !by_pairs) read_after(*after, actor, {inner.thread, ranks_of(parts)}, steps);
  if (!by_pairs) wait_for_pairs(actor, {inner.thread, ranks_of(parts)}, steps);
  refuse_event_of_pairs(actor, inner.on);
  map.finish();
  if (by_pairs && actor.step->role == Role::kSynchronize) {
    return add_synchronize(actor, inner, steps);
  }
  for (Part& part : parts) {
    ActorTemplate copy = actor;
    copy.step->calls = std::move(part.calls);
    if (by_pairs && is_of_other_communicator(copy, actor) && !map.has("stream")) {
      copy.stream = names_.stream_of_calls(copy.step->calls.front());
    }
    if (after && by_pairs) read_after(*after, copy, {inner.thread, part.on}, steps);
    if (by_pairs) wait_for_pairs(copy, {inner.thread, part.on}, steps);
    add_step(std::move(copy), waits, {inner.thread, std::move(part.on)}, steps);
  }
}

// Makes the host wait for the streams of `actor` and, for a group, for the streams of its two-rank
// communicators. Adds one step for each set of streams that some rank has.
void ProgramReader::add_synchronize(const ActorTemplate& actor, const Context& context,
                                    Steps& steps) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> more;  // streams, by rank
  for (const std::uint32_t stream : actor.step->streams) {
    for (const auto& [pair, on] : names_.pair_streams(stream, context.on)) {
      for (const std::uint32_t rank : on) more[rank].push_back(pair);
    }
  }
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> ranks;  // ranks, by streams
  for (const std::uint32_t rank : context.on) ranks[more[rank]].push_back(rank);
  for (auto& [streams, on] : ranks) {
    ActorTemplate copy = actor;
    for (const std::uint32_t stream : streams) copy.step->streams.push_back(stream);
    add_step(std::move(copy), {}, {context.thread, RankSet(std::move(on))}, steps);
  }
}

// Reports a map that does not begin with the key of a step.
void ProgramReader::refuse_step(const YamlValue& value) {
  std::vector<std::string> words;
  for (const KeyTable* table : keys::steps()) {
    for (std::size_t i = 0; i < table->heads; ++i) words.emplace_back(table->own[i].name);
  }
  models::Diagnostic& error =
      diagnostics().error(value.place(), models::Code::kEmpty, "this step has no operation");
  for (const YamlValue::Entry& entry : value.entries()) {
    const std::string_view word = entry.key.text();
    if (word == "on" || word == "when") continue;
    models::suggest_name(error, word, words);
    break;
  }
  error.notes.push_back(fmt::format("a step begins with one of {}", fmt::join(words, ", ")));
}

// Returns the ranks of `outer` that have the step; nullopt if no rank has it. After an error,
// returns `outer`.
std::optional<RankSet> ProgramReader::read_when(MapReader& map, const RankSet& outer) {
  const std::optional<YamlValue> when = map.take("when");
  if (!when) return outer;
  std::optional<RankSet> on = values_.ranks_where(*when, outer);
  if (!on) return outer;  // already reported
  return on->empty() ? std::nullopt : on;
}

RankSet ProgramReader::read_on(MapReader& map, const RankSet& outer) {
  const std::optional<YamlValue> on = map.take("on");
  return on ? models::both(outer, values_.rank_set(*on).value_or(outer)) : outer;
}

// Splits a step with calls into one part for each set of calls that some rank makes. A rank without
// calls gets no part.
std::vector<ProgramReader::Part> ProgramReader::parts_of(const ActorTemplate& actor,
                                                         const RankSet& on) const {
  if (split_parts_) return *split_parts_;
  const models::ShortList<CallTemplate>& calls = actor.step->calls;
  if (actor.step->role != Role::kCalls) return {{on, {}}};
  const bool alike = std::all_of(calls_on_.begin(), calls_on_.end(),
                                 [&](const RankSet& of_call) { return of_call == on; });
  if (alike && !calls.empty()) return {{on, calls}};
  std::map<std::vector<std::size_t>, std::vector<std::uint32_t>> ranks;  // ranks, by their calls
  for (const std::uint32_t rank : on) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls_on_[i].contains(rank)) own.push_back(i);
    }
    if (!own.empty()) ranks[std::move(own)].push_back(rank);
  }
  std::vector<Part> parts;
  for (auto& [own, of] : ranks) {
    Part part{RankSet(std::move(of)), {}};
    for (const std::size_t i : own) part.calls.push_back(calls[i]);
    parts.push_back(std::move(part));
  }
  return parts;
}

// Splits a send or recv with different peers into one part for each pair of ranks, on the pair's
// communicator.
std::vector<ProgramReader::Part> ProgramReader::pairs_of(const ActorTemplate& actor,
                                                         const RankSet& on) {
  if (split_parts_) return *split_parts_;
  const models::ShortList<CallTemplate>& calls = actor.step->calls;
  const bool message = actor.step->role == Role::kCalls && calls.size() == 1 && calls[0].peer &&
                       calls[0].kind != sim::CallKind::kCollective;
  if (!message) return parts_of(actor, on);
  std::map<std::uint32_t, std::vector<std::uint32_t>> ranks;  // ranks, by communicator
  for (const std::uint32_t rank : on) {
    const std::int64_t peer = calls[0].peer->value(rank).value_or(-1);
    const bool known = peer >= 0 && peer < graph_.ranks;
    const std::uint32_t other = known ? static_cast<std::uint32_t>(peer) : rank;
    ranks[names_.pair_of(calls[0].communicator, rank, other)].push_back(rank);
  }
  std::vector<Part> parts;
  for (auto& [communicator, of] : ranks) {
    parts.push_back({RankSet(std::move(of)), calls});
    parts.back().calls[0].communicator = communicator;
  }
  return parts;
}

RankSet ProgramReader::ranks_of(const std::vector<Part>& parts) {
  std::vector<std::uint32_t> ranks;
  for (const Part& part : parts) ranks.insert(ranks.end(), part.on.begin(), part.on.end());
  return RankSet(std::move(ranks));
}

// ---------------------------------------------------------------------------------------------
// Blocks

bool ProgramReader::read_block(MapReader& map, const Context& context, Steps& steps) {
  if (const auto times = map.take("repeat")) {
    read_repeat(map, *times, context, steps);
    return true;
  }
  const auto block = map.take("do");
  if (!block) return false;
  if (turns_) {  // the other ranks of a list take turns after each step of the block
    read_steps(*block, context, steps);
    return true;
  }
  ProgramStep step;
  step.place = block->place();
  step.on = context.on;
  read_steps(*block, context, step.block);
  steps.push_back(std::move(step));
  return true;
}

// Reads {again: NAME}: repeats an earlier step on the same ranks.
bool ProgramReader::read_again(MapReader& map, const Context& context, Steps& steps) {
  const auto again = map.take("again");
  if (!again) return false;
  const std::optional<std::string> name = values_.word(*again);
  if (!name) return true;
  const std::uint32_t actor = names_.step_of(*name, context.on);
  if (actor != kNoIndex && graph_.actors[actor].on == context.on &&
      graph_.actors[actor].thread == context.thread) {
    if (place_step(actor, again->place(), context.on.size(), steps)) {
      steps.back().place = graph_.actors[actor].place;
    }
    return true;
  }
  models::Diagnostic& error = diagnostics().error(
      again->place(), models::Code::kUnknownActor,
      fmt::format("no step '{}' precedes this one on the same ranks and thread", *name));
  models::suggest_name(error, *name, names_of(graph_.actors));
  return true;
}

struct ProgramReader::Loop {
  Place place;
  std::int64_t times = 1;
  std::string index;  // name of the index; empty: none
  YamlValue block;
};

// Reads a loop. Iterations of a loop with an index can differ, so each is read separately. The
// number of iterations can differ between ranks.
void ProgramReader::read_repeat(MapReader& map, const YamlValue& times, const Context& context,
                                Steps& steps) {
  const std::optional<Expr> count = values_.expr(times, ValueType::kNumber);
  const auto index = map.take("index");
  const auto block = map.require("do");
  if (!count || !block) return;
  Loop loop;
  loop.place = times.place();
  loop.block = *block;
  if (index) {
    loop.index = values_.word(*index).value_or("");
    if (!check_parameter_name(loop.index, index->place(), diagnostics())) return;
  }
  const bool by_rank = count->depends_on_rank();
  const auto ranks = values_.by_value(*count, by_rank ? context.on : RankSet({0}));
  if (!ranks) return;
  const std::int64_t most = index ? kMaxCopies : std::numeric_limits<std::uint32_t>::max();
  for (const auto& [number, on] : *ranks) {
    if (number < 0 || number > most) {
      diagnostics().error(times.place(), models::Code::kOutOfRange,
                          fmt::format("'repeat' must be between 0 and {}{}, found {}", most,
                                      index ? " where it has an index" : "", number));
      return;
    }
    if (by_rank && number == 0) continue;  // these ranks have no iterations
    loop.times = number;
    read_turns_of_rounds(loop, {context.thread, by_rank ? on : context.on}, steps);
  }
}

// Reads the iterations of a loop. If one thread drives several ranks, a loop for one rank per list
// takes one turn; in a loop for whole lists, each step takes its own turns.
void ProgramReader::read_turns_of_rounds(const Loop& loop, const Context& context, Steps& steps) {
  if (turns_ && is_of_one_each(context.on)) {
    take_turns(context.on, false, steps,
               [&](Steps& rounds) { read_rounds(loop, context, rounds); });
  } else if (turns_ && !has_whole_lists(context.on, turns_->group)) {
    diagnostics()
        .error(loop.place, models::Code::kDependsOnRank,
               "ranks that one thread drives must have the same rounds of a loop")
        .notes.emplace_back("give the steps in it 'on', or write a loop for each rank");
  } else {
    read_rounds(loop, context, steps);
  }
}

void ProgramReader::read_rounds(const Loop& loop, const Context& context, Steps& steps) {
  ProgramStep step;
  step.place = loop.place;
  step.on = context.on;
  if (loop.index.empty()) {
    step.times = loop.times;
    read_steps(loop.block, context, step.block);
  } else {
    ++open_loops_;
    for (std::int64_t i = 0; i < loop.times && !diagnostics().has_errors(); ++i) {
      Parameter parameter;
      parameter.name = loop.index;
      parameter.value = Value::number(i);
      parameters_.insert(parameters_.begin(), std::move(parameter));
      read_steps(loop.block, context, step.block);
      parameters_.erase(parameters_.begin());
    }
    --open_loops_;
    if (open_loops_ == 0) {
      made_.clear();
      made_events_.clear();
    }
  }
  steps.push_back(std::move(step));
}

// Reads {call: BLOCK, with: {name: value}}: the steps of the block, with `name` set to `value`.
bool ProgramReader::read_call_of_block(MapReader& map, const Context& context, Steps& steps) {
  const auto called = map.take("call");
  if (!called) return false;
  const std::optional<std::string> name = values_.word(*called);
  if (!name) return true;
  const auto block = blocks_.find(*name);
  if (block == blocks_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, value] : blocks_) names.push_back(known);
    models::Diagnostic& error = diagnostics().error(called->place(), models::Code::kUnknownBlock,
                                                    fmt::format("unknown block '{}'", *name));
    models::suggest_name(error, *name, names);
    return true;
  }
  const bool calls_itself =
      std::find(open_blocks_.begin(), open_blocks_.end(), *name) != open_blocks_.end();
  if (calls_itself) {
    diagnostics().error(called->place(), models::Code::kBlockCall,
                        fmt::format("block '{}' calls itself", *name));
    return true;
  }
  std::optional<std::vector<Parameter>> given = std::vector<Parameter>();
  if (const auto with = map.take("with")) given = read_with(*with, *name);
  if (!given) return true;  // without its parameters, the whole block would have errors
  const std::size_t count = given->size();
  parameters_.insert(parameters_.begin(), given->begin(), given->end());
  open_blocks_.push_back(*name);
  read_steps(block->second, context, steps);
  open_blocks_.pop_back();
  parameters_.erase(parameters_.begin(), parameters_.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

// Reads the values for a block's parameters. Returns nullopt after an error.
std::optional<std::vector<Parameter>> ProgramReader::read_with(const YamlValue& with,
                                                               const std::string& block) {
  const auto [names, is_new] = names_in_.try_emplace(block);
  if (is_new) collect_names_of_block(block, names->second);
  std::vector<Parameter> given;
  bool good = with.is_map();
  for (const YamlValue::Entry& entry : named_entries(with, "'with'", diagnostics())) {
    Parameter parameter;
    parameter.name = entry.key.text();
    good = check_parameter_name(parameter.name, entry.key.place(), diagnostics()) && good;
    if (names->second.count(parameter.name) == 0) {
      good = false;
      models::Diagnostic& error =
          diagnostics().error(entry.key.place(), models::Code::kBlockCall,
                              fmt::format("block '{}' does not use '{}'", block, parameter.name));
      const std::string nearest = models::nearest_name(
          parameter.name, std::vector<std::string>(names->second.begin(), names->second.end()));
      if (!nearest.empty()) error.notes.push_back(fmt::format("did you mean '{}'?", nearest));
    }
    const std::optional<Value> value = read_given(entry.value);
    good = good && value.has_value();
    if (value) parameter.value = *value;
    given.push_back(std::move(parameter));
  }
  return good ? std::optional(std::move(given)) : std::nullopt;
}

// Collects all words that could name a parameter in the block, and in the blocks that it calls.
void ProgramReader::collect_names_of_block(const std::string& block, std::set<std::string>& names) {
  std::set<std::string> seen = {block};
  for (std::vector<std::string> left = {block}; !left.empty();) {
    std::set<std::string> used;
    collect_names(blocks_.find(left.back())->second, used);
    left.pop_back();
    for (const std::string& name : used) {
      if (blocks_.count(name) > 0 && seen.insert(name).second) left.push_back(name);
    }
    names.merge(used);
  }
}

// Reads an expression, or a word that is an option of some parameter.
std::optional<Value> ProgramReader::read_given(const YamlValue& value) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked) return std::nullopt;
  if (!picked->is_scalar()) {
    diagnostics().error(picked->place(), models::Code::kWrongType,
                        fmt::format("expected a value, found {}", picked->described()));
    return std::nullopt;
  }
  const std::string text(picked->text());
  const bool word =
      std::any_of(parameters_.begin(), parameters_.end(), [&](const Parameter& known) {
        return std::find(known.options.begin(), known.options.end(), text) != known.options.end();
      });
  if (word && scope_.find(text) == nullptr) return Value{ValueType::kWord, Expr(), text};
  return parse_expression(text, {picked->place(), picked->quoted()}, scope_, diagnostics());
}

// Returns the items of a list; a single value is a list of one, null an empty list.
std::vector<YamlValue> ProgramReader::listed(const YamlValue& value) const {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return {};
  return picked->is_list() ? picked->items() : std::vector<YamlValue>{*picked};
}

void ProgramReader::add_step(ActorTemplate actor, const std::vector<PendingWait>& waits,
                             const Context& context, Steps& steps) {
  actor.thread = context.thread;
  actor.on = context.on;
  const std::optional<std::uint32_t> known = made_before(actor, waits);
  const auto index = known.value_or(static_cast<std::uint32_t>(graph_.actors.size()));
  if (!place_step(index, actor.place, actor.on.size(), steps) || known) return;
  if (open_loops_ > 0) {
    made_[{actor.place.line, actor.place.column}].push_back({actor.name, index, waits});
  }
  for (const PendingWait& wait : waits) pending_waits_.emplace_back(index, wait);
  graph_.actors.push_back(std::move(actor));
  names_.make_name_unique();
}

// Finds the actor of an identical step in an earlier iteration of a loop. The iterations then share
// the actor, and its op numbers continue from iteration to iteration.
std::optional<std::uint32_t> ProgramReader::made_before(
    const ActorTemplate& actor, const std::vector<PendingWait>& waits) const {
  constexpr std::ptrdiff_t kMaxTried = 8;  // most loops alternate between few steps
  const auto made = made_.find({actor.place.line, actor.place.column});
  if (made == made_.end()) return std::nullopt;
  const std::vector<MadeStep>& steps = made->second;
  const auto last =
      steps.rend() - steps.rbegin() > kMaxTried ? steps.rbegin() + kMaxTried : steps.rend();
  ActorTemplate renamed = actor;
  for (auto step = steps.rbegin(); step != last; ++step) {
    if (step->name != actor.name || step->waits != waits) continue;
    renamed.name = graph_.actors[step->actor].name;
    if (renamed == graph_.actors[step->actor]) return step->actor;
  }
  return std::nullopt;
}

bool ProgramReader::place_step(std::uint32_t actor, Place place, std::size_t ranks, Steps& steps) {
  placed_ += ranks;
  if (!count_visit(place)) return false;
  ProgramStep step;
  step.place = place;
  step.actor = actor;
  steps.push_back(std::move(step));
  return true;
}

}  // namespace pipesim::formats
