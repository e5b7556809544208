// A step is a map whose first word says what it does: `{compute: qkv, takes: 3us}`.
#include "formats/scenario/program_reader.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/scenario/cluster_reader.hpp"
#include "formats/scenario/lookup.hpp"
#include "formats/yaml/expression_writer.hpp"
#include "formats/yaml/parameters.hpp"

namespace pipesim::formats {

using models::ActorTemplate;
using models::CallTemplate;
using models::Expr;
using models::kNoIndex;
using models::Operation;
using models::Place;
using models::ProgramStep;
using models::RankSet;
using models::StepTemplate;
using sim::CallKind;
using sim::Role;

namespace {

// What loops with an index and blocks that call each other may come to. Nobody writes so much, and
// none of this size can hurt.
constexpr std::int64_t kMostCopies = 100'000;
constexpr std::size_t kMostVisits = 1'000'000;
constexpr std::uint64_t kMostPlaced = 100'000'000;
constexpr std::size_t kDeepest = 200;

RankSet intersection(const RankSet& a, const RankSet& b) {
  std::vector<std::uint32_t> ranks;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(ranks));
  return RankSet(std::move(ranks));
}

// Every word that a step can begin with, for messages.
std::vector<std::string> step_words() {
  std::vector<std::string> words = {
      "compute", "send", "recv", "group",  "record",      "wait",    "host",  "await",
      "set",     "get",  "lock", "unlock", "create",      "destroy", "split", "input",
      "repeat",  "call", "on",   "do",     "synchronize", "raise",   "exit",  "again"};
  const std::vector<std::string>& collectives = models::collective_names();
  words.insert(words.end(), collectives.begin(), collectives.end());
  return words;
}

// The words that stand as `key` anywhere in `value`, also where `when` is off or a choice takes
// another.
void collect_words(const YamlValue& value, std::string_view key,
                   std::set<std::string, std::less<>>& words, bool below = false) {
  if (below && value.is_scalar()) words.emplace(value.text());
  if (value.is_list()) {
    for (const YamlValue& item : value.items()) collect_words(item, key, words, below);
  }
  for (const YamlValue::Entry& entry : value.entries()) {
    collect_words(entry.value, key, words, below || entry.key.text() == key);
  }
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

// The reader of a map keeps views of the keys that it is asked for, so these live on.
const std::vector<std::string>& words_of_calls(bool in_group) {
  const auto with = [](std::initializer_list<const char*> more) {
    std::vector<std::string> words = models::collective_names();
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  static const std::vector<std::string> kOfGroups = with({"send", "recv"});
  static const std::vector<std::string> kOfSteps = with({"send", "recv", "split", "destroy"});
  return in_group ? kOfGroups : kOfSteps;
}

}  // namespace

ProgramReader::ProgramReader(const ValueReader& values, const ActorDefaults& defaults,
                             bool open_streams, models::TaskGraph& graph)
    : parameters_(*values.scope().parameters),
      scope_(values.scope()),
      values_(scope_, values.sets(), values.diagnostics()),
      defaults_(defaults),
      open_streams_(open_streams),
      graph_(graph),
      declared_streams_(graph.streams.size()),
      declared_communicators_(graph.communicators.size()) {
  scope_.parameters = &parameters_;
  for (const ActorTemplate& actor : graph.actors) actor_names_.insert(actor.name);
  for (std::uint32_t i = 0; i < graph.events.size(); ++i) events_.emplace(graph.events[i].name, i);
  implied_events_ = events_;
}

void ProgramReader::read_blocks(const YamlValue& blocks) {
  collect_words(blocks, "stream", stream_words_);
  collect_words(blocks, "record", record_words_);
  for (const YamlValue::Entry& entry : named_entries(blocks, "'blocks'", diagnostics())) {
    blocks_.emplace(std::string(entry.key.text()), entry.value);
  }
}

void ProgramReader::read(const YamlValue& programs) {
  collect_words(programs, "stream", stream_words_);
  collect_words(programs, "record", record_words_);
  for (const YamlValue& program :
       programs.is_list() ? programs.items() : std::vector<YamlValue>{programs}) {
    read_program(program);
  }
  check_streams();
  check_events();
  connect_waits();
}

// One program: on these ranks, by this host thread. Several programs of one thread are for
// different ranks, or follow each other.
void ProgramReader::read_program(const YamlValue& value) {
  MapReader map(value, "a program", diagnostics());
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
                        fmt::format("'do' is a list of steps, found {}", picked->described()));
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
  if (visits_ > kMostVisits) return false;
  ++visits_;
  if (depth_ > kDeepest) {
    diagnostics().error(place, fmt::format("steps nest more than {} deep", kDeepest));
    visits_ = kMostVisits + 1;
  } else if (visits_ > kMostVisits || placed_ > kMostPlaced) {
    const auto [most, what] =
        visits_ > kMostVisits
            ? std::pair<std::uint64_t, const char*>(kMostVisits, "steps to read")
            : std::pair<std::uint64_t, const char*>(kMostPlaced, "steps of all ranks");
    diagnostics()
        .error(place, fmt::format("the programs come to more than {} {}", most, what))
        .notes.emplace_back(
            "a step counts for each call of its block, and for each round of a loop with an index");
    visits_ = kMostVisits + 1;
  }
  return visits_ <= kMostVisits;
}

void ProgramReader::read_step(const YamlValue& value, const Context& context, Steps& steps) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return;
  MapReader map(*picked, "a step", diagnostics());
  if (!picked->is_map()) return;
  const bool exists = read_when(map);
  Context inner = context;
  inner.on = read_on(map, context.on);
  if (!exists) return;
  if (read_block(map, inner, steps) || read_call_of_block(map, inner, steps) ||
      read_again(map, inner, steps)) {
    map.finish();
    return;
  }
  ActorTemplate actor;
  actor.place = picked->place();
  actor.step.emplace();
  actor.launch_overhead = defaults_.launch_overhead;
  const bool known = read_device_step(map, actor, inner) || read_host_step(map, actor);
  if (!known) {
    models::Diagnostic& error = diagnostics().error(picked->place(), "this step does nothing");
    const std::vector<std::string> words = step_words();
    // The first key that is not right where it stands, as `on` is.
    for (const YamlValue::Entry& entry : picked->entries()) {
      const std::string word(entry.key.text());
      if (word == "when" || std::find(words.begin(), words.end(), word) != words.end()) continue;
      models::suggest_name(error, word, words);
      break;
    }
    error.notes.push_back(fmt::format("a step begins with one of {}", fmt::join(words, ", ")));
    return;
  }
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
  const std::int64_t most = index ? kMostCopies : std::numeric_limits<std::uint32_t>::max();
  if (count < 0 || count > most) {
    diagnostics().error(times.place(),
                        fmt::format("a block is done 0 to {} times{}, found {}", most,
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
        diagnostics().error(called->place(), fmt::format("there is no block '{}'", *name));
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

// ---------------------------------------------------------------------------------------------
// Steps

bool ProgramReader::read_device_step(MapReader& map, ActorTemplate& actor, const Context& context) {
  StepTemplate& step = *actor.step;
  if (const auto name = map.take("compute")) {
    step.role = Role::kOp;
    actor.name = values_.word(*name).value_or("compute");
    if (!map.has("stream")) actor.stream = stream("compute", name->place());
    take_expr(map, "takes", ValueType::kTime, actor.takes);
    return true;
  }
  if (const auto name = map.take("record")) {
    step.role = Role::kRecord;
    step.event = event_of_step(map, *name, step);
    actor.name = fmt::format("record {}", values_.word(*name).value_or(""));
    if (!map.has("stream")) actor.stream = stream("compute", name->place());
    return true;
  }
  if (const auto name = map.take("wait")) {
    step.role = Role::kWait;
    step.event = event_of_step(map, *name, step);
    actor.name = fmt::format("wait {}", values_.word(*name).value_or(""));
    if (!map.has("stream")) actor.stream = stream("compute", name->place());
    return true;
  }
  return read_calls(map, actor, context);
}

bool ProgramReader::read_calls(MapReader& map, ActorTemplate& actor, const Context& context) {
  StepTemplate& step = *actor.step;
  if (const auto group = map.take("group")) {
    actor.name = "group";
    read_group(*group, step, context);
  } else {
    CallTemplate call;
    call.place = actor.place;
    if (!read_one_call(map, call, false)) return false;
    step.calls.push_back(std::move(call));
    calls_on_ = {context.on};
  }
  step.role = Role::kCalls;
  if (step.calls.empty() || step.calls.front().communicator == kNoIndex) return true;
  const CallTemplate& first = step.calls.front();
  const models::CommunicatorTemplate& used = graph_.communicators[first.communicator];
  if (actor.name.empty())
    actor.name = fmt::format("{} {}", operation_name(first.operation), used.name);
  actor.stream = stream_of_calls(first);
  // What the host does itself it does before it goes on; so does torch's barrier, and NCCL where
  // it splits and destroys.
  const bool waits = graph_.streams[actor.stream].on_host || blocks_host(first.operation);
  actor.blocking = waits || defaults_.blocking.value_or(false);
  return true;
}

void ProgramReader::read_group(const YamlValue& value, StepTemplate& step, const Context& context) {
  calls_on_.clear();
  const std::optional<YamlValue> group = values_.resolved(value);
  if (!group || group->is_null()) return;
  if (!group->is_list()) {
    diagnostics().error(group->place(),
                        fmt::format("'group' is a list of calls, found {}", group->described()));
    return;
  }
  const std::vector<YamlValue> items = group->items();
  if (items.empty()) diagnostics().error(group->place(), "a group without calls");
  for (const YamlValue& item : items) {
    if (!count_visit(item.place())) return;
    const std::optional<YamlValue> picked = values_.resolved(item);
    if (!picked || picked->is_null()) continue;
    MapReader fields(*picked, "a call", diagnostics());
    if (!picked->is_map()) continue;
    const bool exists = read_when(fields);
    const RankSet on = read_on(fields, context.on);
    if (!exists) continue;
    CallTemplate call;
    call.place = picked->place();
    if (!read_one_call(fields, call, true)) {
      const std::vector<YamlValue::Entry> entries = picked->entries();
      diagnostics().error(
          picked->place(),
          fmt::format("a group holds collectives, 'send' and 'recv', found {}",
                      entries.empty() ? "nothing" : entries.front().key.described()));
      continue;
    }
    fields.finish();
    step.calls.push_back(std::move(call));
    calls_on_.push_back(on);
  }
}

bool ProgramReader::read_one_call(MapReader& map, CallTemplate& call, bool in_group) {
  for (const std::string& word : words_of_calls(in_group)) {
    const auto value = map.take(word);
    if (!value) continue;
    call.operation = models::find_operation(word).value();
    if (call.operation == Operation::kSend) call.kind = CallKind::kSend;
    if (call.operation == Operation::kReceive) call.kind = CallKind::kReceive;
    call.communicator = communicator(*value, call.operation == Operation::kBarrier);
    read_call_fields(map, call);
    return true;
  }
  return false;
}

void ProgramReader::read_call_fields(MapReader& map, CallTemplate& call) {
  const char* peer = call.kind == CallKind::kSend      ? "to"
                     : call.kind == CallKind::kReceive ? "from"
                     : has_root(call.operation)        ? "root"
                                                       : nullptr;
  if (peer != nullptr) {
    if (const auto value = map.require(peer)) {
      call.peer = values_.expr(*value, ValueType::kNumber).value_or(Expr());
    }
  }
  call.timed = graph_.cluster && !map.has("takes") &&
               (map.has("bytes") || call.operation == Operation::kBarrier);
  take_expr(map, "bytes", ValueType::kBytes, call.bytes);
  take_expr(map, "takes", ValueType::kTime, call.takes);
  if (const auto type = map.take("type")) call.type = values_.word(*type).value_or("");
  if (call.kind == CallKind::kCollective) {
    const auto algorithm = map.take("algorithm");
    if (algorithm) call.algorithm = read_algorithm(*algorithm, values_);
    return;
  }
  if (const auto numbers = map.take("tag_numbers")) call.tag_numbers = read_numbers(*numbers);
  if (const auto tag = map.take("tag")) read_tag(*tag, call);
}

// A tag is a number, which may differ from rank to rank, or any other text. One before numbers is
// text.
void ProgramReader::read_tag(const YamlValue& tag, CallTemplate& call) {
  if (!tag.is_scalar()) {
    call.tag_number = values_.expr(tag, ValueType::kNumber);
    if (call.tag_number) call.tag = expression_text(*call.tag_number, ValueType::kNumber);
    return;
  }
  call.tag = values_.word(tag).value_or("");
  if (call.tag_numbers) return;
  models::Diagnostics unheard;
  const TextPlace place{tag.place(), tag.quoted()};
  const auto value = parse_expression(tag.text(), place, scope_, unheard);
  if (!value) return;
  if (value->type == ValueType::kWord) {
    call.tag = value->word;
  } else if (value->type != ValueType::kTruth) {
    call.tag_number = value->expr;
    call.tag_number->place = tag.place();
    call.tag = expression_text(value->expr, ValueType::kNumber);
  }
}

bool ProgramReader::read_host_step(MapReader& map, ActorTemplate& actor) {
  StepTemplate& step = *actor.step;
  const auto named = [&](const char* word, Role role) -> std::optional<YamlValue> {
    const auto value = map.take(word);
    if (!value) return std::nullopt;
    step.role = role;
    actor.name = word;
    const bool has_name = role != Role::kSynchronize || value->is_scalar();
    if (has_name) actor.name += " " + values_.word(*value).value_or("");
    return value;
  };
  if (const auto value = named("host", Role::kWork)) {
    actor.name = values_.word(*value).value_or("host");
    actor.launch_overhead = Expr();
    take_expr(map, "takes", ValueType::kTime, actor.launch_overhead);
  } else if (const auto streams = named("synchronize", Role::kSynchronize)) {
    read_synchronize(*streams, actor);
  } else if (const auto recorded = named("await", Role::kAwait)) {
    step.event = event(*recorded, false);
  } else if (const auto key = named("get", Role::kAwait)) {
    step.event = event(*key, true);
    read_times(map, step);
  } else if (const auto set = named("set", Role::kSet)) {
    step.event = event(*set, true);
  } else if (const auto locked = named("lock", Role::kLock)) {
    step.lock = lock(*locked);
  } else if (const auto unlocked = named("unlock", Role::kUnlock)) {
    step.lock = lock(*unlocked);
  } else if (const auto created = named("create", Role::kCreate)) {
    step.communicator = communicator(*created, false);
    create_later(step.communicator);
  } else if (const auto raised = named("raise", Role::kWork)) {
    actor.name = "raise";
    step.dies = raised->is_scalar() ? std::string(raised->text()) : "an exception";
  } else if (const auto exits = named("exit", Role::kWork)) {
    actor.name = "exit";
    step.dies = exits->is_scalar() ? fmt::format("exit {}", exits->text()) : "exit";
  } else if (named("input", Role::kWork)) {
    read_input(map, actor);
  } else {
    return false;
  }
  return true;
}

// How often the key must have been set.
void ProgramReader::read_times(MapReader& map, StepTemplate& step) {
  const auto times = map.take("times");
  if (!times) return;
  step.times = values_.constant(*times, ValueType::kNumber).value_or(1);
  if (step.times >= 0 && step.times <= std::numeric_limits<std::uint32_t>::max()) return;
  diagnostics().error(times->place(),
                      fmt::format("a key is set 0 to 4294967295 times, found {}", step.times));
  step.times = 1;
}

// What a program creates is not there from the start.
void ProgramReader::create_later(std::uint32_t communicator) {
  if (communicator == kNoIndex) return;
  graph_.communicators[communicator].creation.at_first_use = true;
}

// `device` is all streams of the rank's devices, which no names stand for in the step.
void ProgramReader::read_synchronize(const YamlValue& value, ActorTemplate& actor) {
  const std::vector<YamlValue> items = listed(value);
  if (items.empty()) {
    diagnostics().error(value.place(), "'synchronize' needs a stream, or 'device' for all of them");
  }
  bool all = false;
  for (const YamlValue& item : items) {
    if (!count_visit(item.place())) return;
    const std::optional<std::string> name = values_.word(item);
    if (!name) continue;
    all = all || *name == "device";
    if (*name != "device") actor.step->streams.push_back(awaited_stream(*name, item));
  }
  if (all) actor.step->streams.clear();
}

// A list, or what a list of one would hold; nothing is an empty list.
std::vector<YamlValue> ProgramReader::listed(const YamlValue& value) const {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return {};
  return picked->is_list() ? picked->items() : std::vector<YamlValue>{*picked};
}

void ProgramReader::read_input(MapReader& map, ActorTemplate& actor) {
  actor.input.emplace();
  if (const auto items = map.require("items")) {
    actor.input->items = values_.expr(*items, ValueType::kNumber).value_or(Expr());
  }
  take_expr(map, "first", ValueType::kTime, actor.input->first);
  take_expr(map, "every", ValueType::kTime, actor.input->every);
}

// What every step may say.
bool ProgramReader::read_common(MapReader& map, ActorTemplate& actor) {
  map.take_text("about");
  actor.step->at = map.take_text("at");
  if (const auto timeout = on_host(actor.step->role) ? map.take("timeout") : std::nullopt) {
    actor.step->timeout_ns = values_.constant(*timeout, ValueType::kTime);
    if (actor.step->timeout_ns.value_or(0) < 0) {
      diagnostics()
          .error(timeout->place(),
                 fmt::format("'timeout' is a time of at least 0s, found {}", timeout->described()))
          .notes.emplace_back("0s: none");
      actor.step->timeout_ns = 0;
    }
  }
  if (const auto name = map.take("name")) actor.name = values_.word(*name).value_or(actor.name);
  if (const auto phase = map.take("phase")) {
    const std::optional<std::string> name = values_.word(*phase);
    if (!name) return false;
    const auto found = std::find(graph_.phases.begin(), graph_.phases.end(), *name);
    actor.phase = static_cast<std::uint32_t>(found - graph_.phases.begin());
    if (found == graph_.phases.end()) graph_.phases.push_back(*name);
  }
  take_expr(map, "launch_overhead", ValueType::kTime, actor.launch_overhead);
  if (on_host(actor.step->role)) return true;
  if (actor.step->role == Role::kOp && defaults_.blocking) actor.blocking = *defaults_.blocking;
  if (const auto blocking = map.take("blocking")) {
    actor.blocking = values_.truth(*blocking).value_or(actor.blocking);
  }
  if (const auto value = map.take("stream")) {
    const std::optional<std::string> name = values_.word(*value);
    if (!name) return false;
    if (actor.stream != kNoIndex && graph_.streams[actor.stream].on_host) {
      diagnostics().error(value->place(), "what the host does itself is on no stream");
      return false;
    }
    actor.stream = stream(*name, value->place());
  }
  return true;
}

// `after: [S]`: the step's stream first waits for what stream S has been given, as
// cudaStreamWaitEvent after cudaEventRecord does.
void ProgramReader::read_after(MapReader& map, const ActorTemplate& actor, const Context& context,
                               Steps& steps) {
  if (on_host(actor.step->role)) return;
  const auto after = map.take("after");
  if (!after) return;
  for (const YamlValue& item : listed(*after)) {
    const std::optional<std::string> name = values_.word(item);
    if (!name) continue;
    const std::uint32_t awaited = awaited_stream(*name, item);
    // Programs of different ranks may come to the same name: each rank has its events for itself.
    const std::string event =
        unique_name(fmt::format("{} before {}", *name, actor.name), context.on);
    const std::uint32_t index = implied_event(event, item.place());
    for (const Role role : {Role::kRecord, Role::kWait}) {
      ActorTemplate part;
      part.place = item.place();
      part.name = fmt::format("{} {}", role == Role::kRecord ? "record" : "wait for", event);
      part.stream = role == Role::kRecord ? awaited : actor.stream;
      part.step.emplace();
      part.step->implied = true;
      part.step->role = role;
      part.step->event = index;
      part.step->at = actor.step->at;
      add_step(std::move(part), context, steps);
    }
  }
}

// What stands behind names: [first, step].
std::optional<models::Numbering> ProgramReader::read_numbers(const YamlValue& value) {
  const std::vector<YamlValue> items = listed(value);
  if (items.size() != 2) {
    diagnostics().error(value.place(),
                        "numbers of acts are [first, step]: that of the first, and what is added "
                        "with each act");
    return std::nullopt;
  }
  const auto first = values_.constant(items[0], ValueType::kNumber);
  const auto step = values_.constant(items[1], ValueType::kNumber);
  if (!first || !step) return std::nullopt;
  constexpr std::int64_t kMost = 1 << 24;
  if (*first >= 0 && *first <= kMost && *step >= -kMost && *step <= kMost) {
    return models::Numbering{*first, *step};
  }
  diagnostics().error(value.place(), fmt::format("numbers of acts go from 0 to {}, found [{}, {}]",
                                                 kMost, *first, *step));
  return std::nullopt;
}

// What a step on a stream waits for there: `behind` a stream, or acts of other steps.
std::vector<ProgramReader::PendingWait> ProgramReader::read_waits(MapReader& map,
                                                                  ActorTemplate& actor) {
  std::vector<PendingWait> result;
  if (const auto numbers = map.take("numbers")) actor.numbers = read_numbers(*numbers);
  if (!sim::needs_slot(actor.step->role)) return result;
  if (const auto behind = map.take("behind")) {
    const std::optional<std::string> name = values_.word(*behind);
    if (name) actor.behind = awaited_stream(*name, *behind);
  }
  const auto waits = map.take("waits_for");
  if (!waits) return result;
  for (const YamlValue& item : listed(*waits)) {
    PendingWait wait = read_wait(item);
    if (!wait.step.empty()) result.push_back(std::move(wait));
  }
  return result;
}

// The name of a step, or a map. Without a step where it cannot be read.
ProgramReader::PendingWait ProgramReader::read_wait(const YamlValue& value) {
  PendingWait wait;
  wait.place = value.place();
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked) return wait;
  if (picked->is_scalar()) {
    wait.step = values_.word(*picked).value_or("");
    return wait;
  }
  MapReader fields(*picked, "a wait", diagnostics());
  if (const auto step = fields.require("step")) wait.step = values_.word(*step).value_or("");
  if (const auto ahead = fields.take("ahead")) {
    const std::int64_t acts = values_.constant(*ahead, ValueType::kNumber).value_or(0);
    constexpr std::int64_t kMost = 1 << 30;
    if (acts < 0 || acts > kMost) {
      diagnostics().error(ahead->place(),
                          fmt::format("'ahead' is 0 to {} acts, found {}", kMost, acts));
    } else {
      wait.ahead = static_cast<std::uint32_t>(acts);
    }
  }
  fields.finish();
  return wait;
}

// Steps may wait for others that come later in the file.
void ProgramReader::connect_waits() {
  for (const auto& [index, wait] : pending_waits_) {
    ActorTemplate& actor = graph_.actors[index];
    const std::uint32_t other = step_of(wait.step, actor.on);
    if (other != kNoIndex) {
      actor.after.push_back({other, wait.ahead});
      continue;
    }
    models::Diagnostic& error = diagnostics().error(
        wait.place, fmt::format("no step '{}' is on the ranks of this one", wait.step));
    models::suggest_name(error, wait.step, names_of(graph_.actors));
  }
}

void ProgramReader::take_expr(MapReader& map, const char* key, ValueType type, Expr& target) {
  const std::optional<YamlValue> value = map.take(key);
  if (!value) return;
  if (std::optional<Expr> found = values_.expr(*value, type)) target = std::move(*found);
}

// ---------------------------------------------------------------------------------------------
// Names

void ProgramReader::add_step(ActorTemplate actor, const Context& context, Steps& steps) {
  placed_ += context.on.size();
  if (!count_visit(actor.place)) return;
  actor.name = unique_name(actor.name, context.on);
  actor.thread = context.thread;
  actor.on = context.on;
  ProgramStep step;
  step.place = actor.place;
  step.actor = static_cast<std::uint32_t>(graph_.actors.size());
  for (const std::uint32_t rank : actor.on) steps_[{actor.name, rank}] = step.actor;
  graph_.actors.push_back(std::move(actor));
  steps.push_back(std::move(step));
}

// The second of a name on a rank is called "name.2", unless something else is. Steps of different
// ranks may share one.
std::string ProgramReader::unique_name(const std::string& name, const RankSet& on) {
  std::vector<std::uint32_t>& copies = copies_[name];
  copies.resize(graph_.ranks, 0);
  std::uint32_t copy = 0;
  for (const std::uint32_t rank : on) copy = std::max(copy, copies[rank]);
  const auto named = [&] { return copy == 1 ? name : fmt::format("{}.{}", name, copy); };
  ++copy;
  while (is_taken(named(), on)) ++copy;
  for (const std::uint32_t rank : on) copies[rank] = copy;
  return named();
}

// Whether an actor, or a step on one of these ranks, has been given `name`: as its own, or as the
// second or later of another. Copies of `name` itself do not count.
bool ProgramReader::is_taken(const std::string& name, const RankSet& on) const {
  if (actor_names_.count(name) > 0) return true;
  const auto on_any = [&](const std::string& base, std::uint64_t least) {
    const auto found = copies_.find(base);
    if (found == copies_.end()) return false;
    return std::any_of(on.begin(), on.end(),
                       [&](std::uint32_t rank) { return found->second[rank] >= least; });
  };
  if (on_any(name, 1)) return true;
  const std::size_t dot = name.rfind('.');
  std::uint64_t copy = 0;
  if (dot == std::string::npos || dot + 1 == name.size() || name[dot + 1] == '0') return false;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + dot + 1, end, copy);
  return parsed.ec == std::errc() && parsed.ptr == end && copy > 1 &&
         on_any(name.substr(0, dot), copy);
}

std::uint32_t ProgramReader::stream(const std::string& name, Place place) {
  const std::uint32_t known = index_of(graph_.streams, name);
  if (known != kNoIndex) return known;
  if (!open_streams_ && name != "compute" && !is_stream_of_calls(name)) {
    models::Diagnostic& error =
        diagnostics().error(place, fmt::format("there is no stream '{}'", name));
    models::suggest_name(error, name, names_of(graph_.streams));
    error.notes.emplace_back("the scenario lists its streams under 'streams'");
  }
  return add_stream(name, place);
}

// A stream may be waited for before anything has been put on it, and where the steps that would are
// left out this time. `item` is what names it.
std::uint32_t ProgramReader::awaited_stream(const std::string& name, const YamlValue& item) {
  const std::uint32_t index = stream(name, item.place());
  const bool known = index < declared_streams_ || name == "compute" || is_stream_of_calls(name) ||
                     stream_words_.count(name) > 0 || stream_words_.count(item.text()) > 0;
  if (!known) awaited_.try_emplace(index, item.place());
  return index;
}

// Whether `name` is the stream that the calls of a communicator have of their own.
bool ProgramReader::is_stream_of_calls(const std::string& name) const {
  const auto is_own = [&](const auto& item) { return models::calls_stream(item.name) == name; };
  return std::any_of(graph_.groups.begin(), graph_.groups.end(), is_own) ||
         std::any_of(graph_.communicators.begin(), graph_.communicators.end(), is_own);
}

std::uint32_t ProgramReader::add_stream(const std::string& name, Place place) {
  models::StreamTemplate stream;
  stream.name = name;
  stream.place = place;
  stream.launch_queue = graph_.launch_queue;
  graph_.streams.push_back(std::move(stream));
  return static_cast<std::uint32_t>(graph_.streams.size() - 1);
}

// A communicator has a stream of its own, unless it or the step says otherwise, as in PyTorch.
std::uint32_t ProgramReader::stream_of_calls(const CallTemplate& call) {
  models::CommunicatorTemplate& used = graph_.communicators[call.communicator];
  if (used.stream != kNoIndex) return used.stream;
  const std::string name = used.on_host ? used.name : models::calls_stream(used.name);
  used.stream = index_of(graph_.streams, name);
  if (used.stream == kNoIndex) used.stream = add_stream(name, used.place);
  if (used.on_host) graph_.streams[used.stream].on_host = true;
  return used.stream;
}

void ProgramReader::check_streams() {
  std::set<std::uint32_t> used;
  for (const ActorTemplate& actor : graph_.actors) {
    if (!actor.step || !actor.step->implied) used.insert(actor.stream);
  }
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < graph_.streams.size(); ++i) {
    if (i < declared_streams_ || used.count(i) > 0) names.push_back(graph_.streams[i].name);
  }
  for (const auto& [index, place] : awaited_) {
    if (used.count(index) > 0) continue;
    const std::string& name = graph_.streams[index].name;
    models::Diagnostic& error =
        diagnostics().error(place, fmt::format("nothing is ever put on stream '{}'", name));
    models::suggest_name(error, name, names);
  }
}

void ProgramReader::check_events() {
  std::set<std::uint32_t> recorded;
  for (const ActorTemplate& actor : graph_.actors) {
    if (actor.step && actor.step->role == Role::kRecord) recorded.insert(actor.step->event);
  }
  const std::vector<std::string> names(record_words_.begin(), record_words_.end());
  for (const std::uint32_t index : awaited_events_) {
    if (recorded.count(index) > 0) continue;
    const models::EventTemplate& event = graph_.events[index];
    models::Diagnostic& error =
        diagnostics().error(event.place, fmt::format("event '{}' is recorded nowhere", event.name));
    models::suggest_name(error, event.name, names);
  }
}

// A named communicator, or the one that all steps share which name the group. A barrier over a
// group is one of the hosts, also where other steps have made a communicator of its name.
std::uint32_t ProgramReader::communicator(const YamlValue& value, bool host_barrier) {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return kNoIndex;
  const std::uint32_t group = index_of(graph_.groups, *name);
  const bool named = index_of(graph_.communicators, *name) < declared_communicators_;
  const std::string wanted =
      host_barrier && !named && group != kNoIndex ? "hosts of " + *name : *name;
  const std::uint32_t known = index_of(graph_.communicators, wanted);
  if (known != kNoIndex) return known;
  if (group == kNoIndex) {
    std::vector<std::string> names = names_of(graph_.groups);
    for (std::uint32_t i = 0; i < declared_communicators_; ++i) {
      names.push_back(graph_.communicators[i].name);
    }
    models::Diagnostic& error = diagnostics().error(
        value.place(), fmt::format("there is no communicator and no group '{}'", *name));
    models::suggest_name(error, *name, names);
    if (names.empty()) error.notes.emplace_back("a group of all ranks is groups: {NAME: all}");
    return kNoIndex;
  }
  models::CommunicatorTemplate communicator;
  communicator.name = wanted;
  communicator.place = value.place();
  communicator.group = group;
  communicator.on_host = wanted != *name;
  if (!communicator.on_host) communicator.creation = graph_.creation;
  graph_.communicators.push_back(std::move(communicator));
  return static_cast<std::uint32_t>(graph_.communicators.size() - 1);
}

std::uint32_t ProgramReader::event(const YamlValue& value, bool shared) {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return kNoIndex;
  if (shared && name->find('$') != std::string::npos) {
    diagnostics()
        .error(value.place(), fmt::format("'{}': a key has one name on all ranks", *name))
        .notes.emplace_back(
            "for a key of each rank, write a step for each: {on: 0, do: [{set: key_0}]}");
  }
  const auto [known, is_new] =
      events_.try_emplace(*name, static_cast<std::uint32_t>(graph_.events.size()));
  const std::uint32_t index = known->second;
  if (is_new) {
    models::EventTemplate event;
    event.name = *name;
    event.place = value.place();
    event.shared = shared;
    graph_.events.push_back(std::move(event));
    const bool may_be_recorded =
        record_words_.count(*name) > 0 || record_words_.count(value.text()) > 0;
    if (!shared && !may_be_recorded) awaited_events_.push_back(index);
  } else if (graph_.events[index].shared != shared) {
    diagnostics()
        .error(value.place(), fmt::format("'{}' is {} elsewhere", *name,
                                          shared ? "an event of streams" : "a key that hosts set"))
        .notes.push_back(
            fmt::format("that is in {}", models::line_text(graph_.events[index].place)));
  }
  return index;
}

// An event of `after`. Nobody else's can be called like it.
std::uint32_t ProgramReader::implied_event(const std::string& name, Place place) {
  const auto [known, is_new] =
      implied_events_.try_emplace(name, static_cast<std::uint32_t>(graph_.events.size()));
  if (is_new) {
    models::EventTemplate event;
    event.name = name;
    event.place = place;
    graph_.events.push_back(std::move(event));
  }
  return known->second;
}

// `implied: on` makes of a `record` and a `wait` what `after` makes.
std::uint32_t ProgramReader::event_of_step(MapReader& map, const YamlValue& value,
                                           StepTemplate& step) {
  if (const auto implied = map.take("implied")) {
    step.implied = values_.truth(*implied).value_or(false);
  }
  if (!step.implied) return event(value, false);
  const std::optional<std::string> name = values_.word(value);
  return name ? implied_event(*name, value.place()) : kNoIndex;
}

std::uint32_t ProgramReader::lock(const YamlValue& value) {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return kNoIndex;
  const auto found = std::find(graph_.locks.begin(), graph_.locks.end(), *name);
  const auto index = static_cast<std::uint32_t>(found - graph_.locks.begin());
  if (found == graph_.locks.end()) graph_.locks.push_back(*name);
  return index;
}

}  // namespace pipesim::formats
