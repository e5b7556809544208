// A step is a map whose first word says what it does: `{compute: qkv, takes: 3us}`.
#include "formats/scenario/program_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/scenario/keys.hpp"
#include "formats/scenario/lookup.hpp"
#include "formats/yaml/parameters.hpp"

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

// What loops with an index and blocks that call each other may come to. Nobody writes so much, and
// none of this size can hurt.
constexpr std::int64_t kMaxCopies = 100'000;
constexpr std::size_t kMaxVisits = 1'000'000;
constexpr std::uint64_t kMaxPlaced = 100'000'000;
constexpr std::size_t kMaxDepth = 200;

RankSet intersection(const RankSet& a, const RankSet& b) {
  std::vector<std::uint32_t> ranks;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(ranks));
  return RankSet(std::move(ranks));
}

// All that expressions in `value` could call a parameter.
void collect_names(const YamlValue& value, std::set<std::string>& names) {
  const auto part_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const std::string_view text = value.text();
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), part_of_name);
    at = std::find_if_not(begin, text.end(), part_of_name);
    if (begin != at) names.emplace(begin, at);
  }
  for (const YamlValue& item : value.items()) collect_names(item, names);
}

}  // namespace

ProgramReader::ProgramReader(const ValueReader& values, const ActorDefaults& defaults,
                             bool open_streams, models::TaskGraph& graph)
    : parameters_(*values.scope().parameters),
      scope_(values.scope()),
      values_(scope_, values.sets(), values.diagnostics()),
      defaults_(defaults),
      graph_(graph),
      names_(values_, open_streams, graph) {
  scope_.parameters = &parameters_;
}

void ProgramReader::read_blocks(const YamlValue& blocks) {
  names_.look_ahead(blocks);
  for (const YamlValue::Entry& entry : named_entries(blocks, "'blocks'", diagnostics())) {
    blocks_.emplace(std::string(entry.key.text()), entry.value);
  }
}

void ProgramReader::read(const YamlValue& programs) {
  names_.look_ahead(programs);
  for (const YamlValue& program :
       programs.is_list() ? programs.items() : std::vector<YamlValue>{programs}) {
    read_program(program);
  }
  names_.check_streams();
  names_.check_events();
  connect_waits();
}

// One program: on these ranks, by this host thread. Several programs of one thread are for
// different ranks, or follow each other.
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
        .error(value.place(),
               fmt::format("thread '{}' takes its work up by arrival, so it has no program", name))
        .notes.push_back(fmt::format("under 'threads' say '{}: {{order: program}}'", name));
    return;
  }
  const auto steps = map.require("do");
  map.finish();
  if (!steps) return;
  ProgramStep block;
  block.place = value.place();
  block.on = context.on;
  read_steps(*steps, context, block.block);
  models::collapse(block.block);
  graph_.threads[context.thread].program.push_back(std::move(block));
}

void ProgramReader::read_steps(const YamlValue& value, const Context& context, Steps& steps) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || (picked->is_null() && !value.is_null())) return;
  if (!picked->is_list()) {
    diagnostics().error(picked->place(),
                        fmt::format("'do' must be a list of steps, found {}", picked->described()));
    return;
  }
  if (!count_visit(value.place())) return;
  ++depth_;
  for (const YamlValue& item : picked->items()) {
    if (!count_visit(item.place())) break;
    read_step(item, context, steps);
  }
  --depth_;
}

// False where the programs come to more than can be read, which is told once.
bool ProgramReader::count_visit(Place place) {
  if (visits_ > kMaxVisits) return false;
  ++visits_;
  if (depth_ > kMaxDepth) {
    diagnostics().error(place, fmt::format("steps nest more than {} deep", kMaxDepth));
    visits_ = kMaxVisits + 1;
  } else if (visits_ > kMaxVisits || placed_ > kMaxPlaced) {
    const auto [most, what] =
        visits_ > kMaxVisits
            ? std::pair<std::uint64_t, const char*>(kMaxVisits, "steps to read")
            : std::pair<std::uint64_t, const char*>(kMaxPlaced, "steps of all ranks");
    diagnostics()
        .error(place, fmt::format("the programs come to more than {} {}", most, what))
        .notes.emplace_back(
            "a step counts for each call of its block, and for each round of a loop with an index");
    visits_ = kMaxVisits + 1;
  }
  return visits_ <= kMaxVisits;
}

void ProgramReader::read_step(const YamlValue& value, const Context& context, Steps& steps) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return;
  const KeyTable* table = table_with_head(*picked, keys::steps());
  MapReader map(*picked, table == nullptr ? *keys::steps().front() : *table, diagnostics());
  if (!picked->is_map()) return;
  const bool exists = read_when(map);
  Context inner = context;
  inner.on = read_on(map, context.on);
  if (!exists) return;
  if (table == nullptr) {
    refuse_step(*picked);
    return;
  }
  if (read_block(map, inner, steps) || read_call_of_block(map, inner, steps) ||
      read_again(map, inner, steps)) {
    map.finish();
    return;
  }
  ActorTemplate actor;
  actor.place = picked->place();
  actor.step.emplace();
  actor.launch_overhead = defaults_.launch_overhead;
  if (!read_device_step(map, actor, inner)) read_host_step(map, actor);
  if (!read_common(map, actor)) return;
  std::vector<PendingWait> waits = read_waits(map, actor);
  std::vector<Part> parts = parts_of(actor, inner.on);
  read_after(map, actor, {inner.thread, ranks_of(parts)}, steps);
  map.finish();
  for (Part& part : parts) {
    ActorTemplate copy = actor;
    copy.step->calls = std::move(part.calls);
    const auto index = static_cast<std::uint32_t>(graph_.actors.size());
    for (const PendingWait& wait : waits) pending_waits_.emplace_back(index, wait);
    add_step(std::move(copy), {inner.thread, std::move(part.on)}, steps);
  }
}

// A map that begins like no step.
void ProgramReader::refuse_step(const YamlValue& value) {
  std::vector<std::string> words;
  for (const KeyTable* table : keys::steps()) {
    for (std::size_t i = 0; i < table->heads; ++i) words.emplace_back(table->own[i].name);
  }
  models::Diagnostic& error = diagnostics().error(value.place(), "this step does nothing");
  for (const YamlValue::Entry& entry : value.entries()) {
    const std::string_view word = entry.key.text();
    if (word == "on" || word == "when") continue;
    models::suggest_name(error, word, words);
    break;
  }
  error.notes.push_back(fmt::format("a step begins with one of {}", fmt::join(words, ", ")));
}

bool ProgramReader::read_when(MapReader& map) {
  const std::optional<YamlValue> when = map.take("when");
  return !when || values_.truth(*when).value_or(true);
}

RankSet ProgramReader::read_on(MapReader& map, const RankSet& outer) {
  const std::optional<YamlValue> on = map.take("on");
  return on ? intersection(outer, values_.rank_set(*on).value_or(outer)) : outer;
}

// A group of which ranks have different calls is a step for each set of calls that some rank has.
// Where a rank has none, it has no step.
std::vector<ProgramReader::Part> ProgramReader::parts_of(const ActorTemplate& actor,
                                                         const RankSet& on) const {
  const std::vector<CallTemplate>& calls = actor.step->calls;
  if (actor.step->role != Role::kCalls) return {{on, {}}};
  std::map<std::vector<std::size_t>, std::vector<std::uint32_t>> ranks;  // by what they call
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
  ProgramStep step;
  step.place = block->place();
  step.on = context.on;
  read_steps(*block, context, step.block);
  steps.push_back(std::move(step));
  return true;
}

// {again: NAME}: one more act of a step that stands before on the same ranks.
bool ProgramReader::read_again(MapReader& map, const Context& context, Steps& steps) {
  const auto again = map.take("again");
  if (!again) return false;
  const std::optional<std::string> name = values_.word(*again);
  if (!name) return true;
  const std::uint32_t actor = step_of(*name, context.on);
  if (actor != kNoIndex && graph_.actors[actor].on == context.on &&
      graph_.actors[actor].thread == context.thread) {
    placed_ += context.on.size();
    if (!count_visit(again->place())) return true;
    ProgramStep step;
    step.place = graph_.actors[actor].place;
    step.actor = actor;
    steps.push_back(std::move(step));
    return true;
  }
  models::Diagnostic& error = diagnostics().error(
      again->place(),
      fmt::format("no step '{}' stands before this one on the same ranks and thread", *name));
  models::suggest_name(error, *name, names_of(graph_.actors));
  return true;
}

// The last step of this name on the first of `on`.
std::uint32_t ProgramReader::step_of(const std::string& name, const RankSet& on) const {
  const auto found = on.empty() ? steps_.end() : steps_.find({name, *on.begin()});
  return found == steps_.end() ? kNoIndex : found->second;
}

// With an index each round may differ, so it has steps of its own.
void ProgramReader::read_repeat(MapReader& map, const YamlValue& times, const Context& context,
                                Steps& steps) {
  const std::int64_t count = values_.constant(times, ValueType::kNumber).value_or(1);
  const auto index = map.take("index");
  const auto block = map.require("do");
  const std::int64_t most = index ? kMaxCopies : std::numeric_limits<std::uint32_t>::max();
  if (count < 0 || count > most) {
    diagnostics().error(times.place(),
                        fmt::format("'repeat' must be between 0 and {}{}, found {}", most,
                                    index ? " where it has an index" : "", count));
    return;
  }
  if (!block) return;
  ProgramStep step;
  step.place = times.place();
  step.on = context.on;
  if (!index) {
    step.times = count;
    read_steps(*block, context, step.block);
  } else if (const std::optional<std::string> name = values_.word(*index);
             name && check_parameter_name(*name, index->place(), diagnostics())) {
    for (std::int64_t i = 0; i < count && !diagnostics().has_errors(); ++i) {
      Parameter parameter;
      parameter.name = *name;
      parameter.value = Value::number(i);
      parameters_.insert(parameters_.begin(), std::move(parameter));
      read_steps(*block, context, step.block);
      parameters_.erase(parameters_.begin());
    }
  }
  steps.push_back(std::move(step));
}

// {call: BLOCK, with: {name: value}}: the steps of the block, where `name` is `value`.
bool ProgramReader::read_call_of_block(MapReader& map, const Context& context, Steps& steps) {
  const auto called = map.take("call");
  if (!called) return false;
  const std::optional<std::string> name = values_.word(*called);
  if (!name) return true;
  const auto block = blocks_.find(*name);
  if (block == blocks_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, value] : blocks_) names.push_back(known);
    models::Diagnostic& error =
        diagnostics().error(called->place(), fmt::format("unknown block '{}'", *name));
    models::suggest_name(error, *name, names);
    return true;
  }
  const bool calls_itself =
      std::find(open_blocks_.begin(), open_blocks_.end(), *name) != open_blocks_.end();
  if (calls_itself) {
    diagnostics().error(called->place(), fmt::format("block '{}' calls itself", *name));
    return true;
  }
  std::optional<std::vector<Parameter>> given = std::vector<Parameter>();
  if (const auto with = map.take("with")) given = read_with(*with, *name);
  if (!given) return true;  // without what it needs all of the block would be wrong
  const std::size_t count = given->size();
  parameters_.insert(parameters_.begin(), given->begin(), given->end());
  open_blocks_.push_back(*name);
  read_steps(block->second, context, steps);
  open_blocks_.pop_back();
  parameters_.erase(parameters_.begin(), parameters_.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

// Nothing where something is wrong.
std::optional<std::vector<Parameter>> ProgramReader::read_with(const YamlValue& with,
                                                               const std::string& block) {
  const auto [names, is_new] = names_in_.try_emplace(block);
  if (is_new) collect_names(blocks_.find(block)->second, names->second);
  std::vector<Parameter> given;
  bool good = with.is_map();
  for (const YamlValue::Entry& entry : named_entries(with, "'with'", diagnostics())) {
    Parameter parameter;
    parameter.name = entry.key.text();
    good = check_parameter_name(parameter.name, entry.key.place(), diagnostics()) && good;
    if (names->second.count(parameter.name) == 0) {
      good = false;
      models::Diagnostic& error = diagnostics().error(
          entry.key.place(), fmt::format("block '{}' does not use '{}'", block, parameter.name));
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

// An expression, or one of the words that a parameter may be.
std::optional<Value> ProgramReader::read_given(const YamlValue& value) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked) return std::nullopt;
  if (!picked->is_scalar()) {
    diagnostics().error(picked->place(),
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

// A list, or what a list of one would hold; nothing is an empty list.
std::vector<YamlValue> ProgramReader::listed(const YamlValue& value) const {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return {};
  return picked->is_list() ? picked->items() : std::vector<YamlValue>{*picked};
}

void ProgramReader::add_step(ActorTemplate actor, const Context& context, Steps& steps) {
  placed_ += context.on.size();
  if (!count_visit(actor.place)) return;
  actor.name = names_.unique_name(actor.name, context.on);
  actor.thread = context.thread;
  actor.on = context.on;
  ProgramStep step;
  step.place = actor.place;
  step.actor = static_cast<std::uint32_t>(graph_.actors.size());
  for (const std::uint32_t rank : actor.on) steps_[{actor.name, rank}] = step.actor;
  graph_.actors.push_back(std::move(actor));
  steps.push_back(std::move(step));
}

}  // namespace pipesim::formats
