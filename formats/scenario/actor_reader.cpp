// Reads actors in two passes, because they refer to each other in any order: first each actor
// alone, then its reads.
#include "formats/scenario/actor_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/scenario/cluster_reader.hpp"
#include "formats/scenario/keys.hpp"
#include "formats/scenario/section_readers.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::formats {

using models::ActorTemplate;
using models::Expr;
using models::kNoIndex;
using models::Place;
using models::ReadTemplate;
using models::RegisterTemplate;

void ActorReader::read(const YamlValue& actors) {
  first_ = static_cast<std::uint32_t>(graph_.actors.size());
  graph_.actors.reserve(graph_.actors.size() + actors.size() / 2);
  by_name_.reserve(actors.size() / 2);
  bool fits = true;
  for_each_named_entry(actors, "'actors'", diagnostics(),
                       [&](const YamlValue::Entry& entry) { fits = fits && read_entry(entry); });
  if (fits) read_pending();
}

// Resolves the remaining reads. Counts the ranks of all reads in file order, including reads that
// are already resolved.
void ActorReader::read_pending() {
  auto pending = pending_.begin();
  for (std::uint32_t i = first_; i < graph_.actors.size(); ++i) {
    if (pending != pending_.end() && pending->actor == i) {
      read_reads(*pending, pending->reads, false);
      read_reads(*pending, pending->after, true);
      ++pending;
      continue;
    }
    const ActorTemplate& actor = graph_.actors[i];
    for (const ReadTemplate& read : actor.reads) values_.keep(read.on.size(), read.place);
  }
}

// Reads one actor. Returns false if the scenario is too large.
bool ActorReader::read_entry(const YamlValue::Entry& entry) {
  if (!values_.keep(graph_.ranks, entry.key.place())) return false;
  MapReader map(entry.value, keys::kActor, diagnostics());
  if (!exists(map)) {
    left_out_.emplace_back(entry.key.text());
    return true;
  }
  Pending pending;
  pending.actor = static_cast<std::uint32_t>(graph_.actors.size());
  ActorTemplate& actor = graph_.actors.emplace_back();
  actor.name = entry.key.text();
  actor.place = entry.key.place();
  by_name_.add(pending.actor);
  read_actor(map, actor, pending);
  map.finish();
  if (read_known(pending)) {
    document_.release(entry);
  } else {
    pending_.push_back(std::move(pending));
  }
  return true;
}

bool ActorReader::exists(MapReader& map) const {
  const std::optional<YamlValue> when = map.take("when");
  return !when || values_.truth(*when).value_or(true);
}

void ActorReader::read_actor(MapReader& map, ActorTemplate& actor, Pending& pending) {
  actor.on = all_ranks_;
  if (const auto on = map.take("on")) actor.on = values_.rank_set(*on).value_or(actor.on);
  actor.registers.emplace_back().place = actor.place;
  if (const auto registers = map.take("registers")) {
    for (const YamlValue::Entry& entry : named_entries(*registers, "'registers'", diagnostics())) {
      RegisterTemplate reg;
      reg.name = entry.key.text();
      reg.place = entry.key.place();
      if (reg.name != "out") actor.registers.push_back(std::move(reg));
    }
  }
  read_kind(map, actor, pending);
  read_registers(map, actor);
  read_stream(map, actor);
  if (const auto collective = map.take("collective")) {
    const std::optional<YamlValue> picked = values_.resolved(*collective);
    if (picked && !picked->is_null()) read_collective(*picked, actor);
  }
  const bool has_time = map.has("takes");
  read_behaviour(map, actor);
  if (!has_time) warn_of_free_collective(actor);
  read_input(map, actor);
  pending.reads = map.take("reads");
  pending.after = map.take("after");
}

// Warns of a collective without a time. Users easily mistake the size of an actor's output for the
// number of bytes that its collective moves.
void ActorReader::warn_of_free_collective(const ActorTemplate& actor) {
  const bool is_free = graph_.cluster && actor.collective && !actor.collective->timed;
  if (!is_free || !actor.registers.front().bytes) return;
  diagnostics()
      .warning(actor.collective->place, models::Code::kNoTime,
               "this collective takes no time: it has no 'bytes'")
      .notes.push_back(fmt::format(
          "'bytes' of the actor is the size of its output; for a time write {{{}: {}, bytes: ...}}",
          operation_name(actor.collective->operation),
          graph_.groups[actor.collective->group].name));
}

void ActorReader::read_kind(MapReader& map, ActorTemplate& actor, Pending& pending) {
  const std::optional<YamlValue> kind_value = map.take("kind");
  const std::optional<YamlValue> times = map.take("times");
  if (defaults_.immediate) actor.immediate = *defaults_.immediate;
  if (defaults_.blocking) actor.blocking = *defaults_.blocking;
  const models::ActorKind* kind = nullptr;
  if (kind_value) {
    std::vector<std::string> names;
    for (const models::ActorKind& known : models::actor_kinds()) names.emplace_back(known.name);
    const std::optional<std::string> name = values_.word(*kind_value);
    if (!name) return;
    kind = models::find_actor_kind(*name);
    if (kind == nullptr) {
      models::Diagnostic& error =
          diagnostics().error(kind_value->place(), models::Code::kUnknownKind,
                              fmt::format("unknown kind of actor '{}'", *name));
      models::suggest_name(error, *name, names);
      if (error.notes.empty()) {
        error.notes.push_back(fmt::format("the kinds are {}", fmt::join(names, ", ")));
      }
      return;
    }
    pending.kind.emplace().kind = kind;
  }
  const bool has_rate = kind != nullptr && kind->rate != models::Rate::kOneToOne;
  if (times) {
    const auto found = values_.expr(*times, ValueType::kNumber);
    if (found && kind != nullptr) pending.kind->times = *found;
    if (!has_rate) {
      diagnostics()
          .error(times->place(), models::Code::kConflictingKeys,
                 "'times' cannot be used here: this actor runs once per input")
          .notes.emplace_back(
              "'times' goes with the kinds repeat, unpack, accumulate, pack, acc_tick");
    }
  } else if (has_rate) {
    diagnostics().error(kind_value->place(), models::Code::kMissingKey,
                        fmt::format("the kind '{}' needs the key 'times'", kind->name));
  }
  if (kind == nullptr) return;
  models::apply_kind(*kind, pending.kind->times, actor);
  if (kind->waits_for_input) {
    actor.input.emplace();
    actor.input->items = Expr::constant(0);
  }
}

void ActorReader::read_stream(MapReader& map, ActorTemplate& actor) {
  if (const auto value = map.take("stream")) {
    const std::optional<std::string> name = values_.word(*value);
    if (!name) return;
    actor.stream = index_of(graph_.streams, *name);
    if (actor.stream == kNoIndex && open_streams_) {
      models::HostThread thread;
      thread.name = *name;
      thread.place = value->place();
      models::StreamTemplate stream;
      stream.name = *name;
      stream.place = value->place();
      stream.launch_queue = graph_.launch_queue;
      stream.thread = index_of(graph_.threads, *name);
      if (stream.thread == kNoIndex) {
        stream.thread = static_cast<std::uint32_t>(graph_.threads.size());
        graph_.threads.push_back(std::move(thread));
      }
      actor.stream = static_cast<std::uint32_t>(graph_.streams.size());
      graph_.streams.push_back(std::move(stream));
    } else if (actor.stream == kNoIndex) {
      models::Diagnostic& error = diagnostics().error(value->place(), models::Code::kUnknownStream,
                                                      fmt::format("unknown stream '{}'", *name));
      models::suggest_name(error, *name, names_of(graph_.streams));
      error.notes.emplace_back("the scenario lists its streams under 'streams'");
    }
  }
}

void ActorReader::read_behaviour(MapReader& map, ActorTemplate& actor) {
  if (const auto takes = map.take("takes")) {
    actor.takes = values_.expr(*takes, ValueType::kTime).value_or(actor.takes);
    if (actor.collective) actor.collective->timed = false;
  }
  actor.launch_overhead = defaults_.launch_overhead;
  // Since OneFlow's #7924, an op after a collective waits for the collective's end, even on the
  // same thread.
  if (actor.collective && !defaults_.immediate) actor.immediate = false;
  fields_.read(map, actor);
  if (const auto phase = map.take("phase")) {
    const std::optional<std::string> name = values_.word(*phase);
    if (!name) return;
    const auto found = std::find(graph_.phases.begin(), graph_.phases.end(), *name);
    actor.phase = static_cast<std::uint32_t>(found - graph_.phases.begin());
    if (found == graph_.phases.end()) graph_.phases.push_back(*name);
  }
}

void ActorReader::read_input(MapReader& map, ActorTemplate& actor) {
  const std::optional<YamlValue> value = map.take("waits_for_input");
  if (value) {
    actor.input.emplace();
    MapReader input(*value, keys::kOutsideInput, diagnostics());
    fields_.read(input, *actor.input);
    input.finish();
  } else if (actor.input) {
    diagnostics()
        .error(actor.place, models::Code::kNoCount,
               fmt::format("'{}' waits for input but has no 'items'", actor.name))
        .notes.emplace_back(
            "add 'waits_for_input: {items: 4}', with 'first' and 'every' if it comes late");
  }
  if (actor.input && !actor.ops) {
    diagnostics()
        .error(actor.place, models::Code::kNoCount,
               fmt::format("'{}' waits for input, but nothing says how often it runs", actor.name))
        .notes.emplace_back("add 'source: N'");
  }
}

void ActorReader::read_collective(const YamlValue& value, ActorTemplate& actor) {
  MapReader map(value, keys::kCollective, diagnostics());
  models::CollectiveTemplate collective;
  collective.place = value.place();
  std::optional<models::Operation> operation;
  for (const std::string& name : models::collective_names()) {
    const std::optional<YamlValue> group = map.take(name);
    if (!group) continue;
    if (operation) {
      diagnostics().error(group->place(), models::Code::kConflictingKeys,
                          fmt::format("a collective has one operation, and '{}' is already given",
                                      operation_name(*operation)));
      continue;
    }
    operation = collective.operation = models::find_operation(name).value();
    collective.group = find_group(*group);
  }
  fields_.read(map, collective);
  if (const auto bytes = map.take("bytes")) {
    collective.bytes = values_.constant(*bytes, ValueType::kBytes).value_or(0);
    collective.timed = graph_.cluster.has_value();
  }
  if (operation == models::Operation::kBarrier) collective.timed = graph_.cluster.has_value();
  const std::uint32_t communicator = collective.communicator;
  if (communicator != kNoIndex && graph_.communicators[communicator].group != collective.group) {
    diagnostics().error(map.place_of("communicator"), models::Code::kConflictingKeys,
                        fmt::format("communicator '{}' belongs to another group",
                                    graph_.communicators[communicator].name));
  }
  map.finish();
  if (!operation) {
    diagnostics()
        .error(collective.place, models::Code::kMissingKey,
               "a collective needs its operation and group")
        .notes.push_back(fmt::format("for example {{all_gather: tp}}; the operations are {}",
                                     fmt::join(models::collective_names(), ", ")));
  } else if (collective.group != kNoIndex) {
    actor.collective = collective;
  }
}

std::uint32_t ActorReader::find_group(const YamlValue& value) const {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return kNoIndex;
  const std::uint32_t group = index_of(graph_.groups, *name);
  if (group == kNoIndex) {
    models::Diagnostic& error = diagnostics().error(value.place(), models::Code::kUnknownGroup,
                                                    fmt::format("unknown group '{}'", *name));
    models::suggest_name(error, *name, names_of(graph_.groups));
  }
  return group;
}

void ActorReader::read_registers(MapReader& map, ActorTemplate& actor) {
  RegisterTemplate& out = actor.registers.front();
  if (map.has("slots")) out.place = map.place_of("slots");
  for (const auto& field : models::kFields<RegisterTemplate>) {
    if (is_key_of_actor(field.name)) fields_.read(map, field, out);
  }
  const std::optional<YamlValue> registers = map.take("registers");
  if (!registers || !registers->is_map()) return;
  for (const YamlValue::Entry& entry : registers->entries()) {
    const std::uint32_t index = index_of(actor.registers, entry.key.text());
    if (index == kNoIndex) continue;
    RegisterTemplate& reg = actor.registers[index];
    MapReader fields(entry.value, keys::kRegister, diagnostics());
    const bool twice = std::any_of(
        std::begin(models::kFields<RegisterTemplate>), std::end(models::kFields<RegisterTemplate>),
        [&](const auto& field) { return is_key_of_actor(field.name) && fields.has(field.name); });
    if (index == 0 && twice) {
      diagnostics()
          .error(entry.key.place(), models::Code::kDuplicateName,
                 "'out' is reserved for the output of an actor")
          .notes.emplace_back(
              "its credits, size and tensors are set by the actor's own keys 'slots', 'bytes' and "
              "'carries'");
      continue;
    }
    fields_.read(fields, reg);
    fields.finish();
  }
}

// ---------------------------------------------------------------------------------------------
// Reads of an actor

// Resolves the reads at once if they are plain names of earlier actors, as most are. The document
// then need not keep the actor. Returns false after a mistake, or if a read is not such a name;
// then no read is resolved.
bool ActorReader::read_known(const Pending& pending) {
  if (pending.reads && !read_known(pending, *pending.reads, false)) return false;
  return !pending.after || read_known(pending, *pending.after, true);
}

bool ActorReader::read_known(const Pending& pending, const YamlValue& list, bool control) {
  models::ShortList<ReadTemplate>& reads = graph_.actors[pending.actor].reads;
  bool known = list.is_list() && !(!control && pending.is_control_only());
  if (known) reads.reserve(reads.size() + list.size());
  list.for_each_item([&](const YamlValue& item) {
    const std::string_view name = item.text();
    if (!known || name.empty() || name.front() == '$') {
      known = false;
      return;
    }
    ReadTemplate read = new_read(pending, item.place());
    read.actor = by_name_.find(name);
    known =
        read.actor != kNoIndex && graph_.actors[read.actor].registers.front().control == control;
    if (known) reads.push_back(std::move(read));
  });
  if (!known) reads.clear();
  return known;
}

ReadTemplate ActorReader::new_read(const Pending& pending, Place place) const {
  ReadTemplate read;
  read.place = place;
  read.on = graph_.actors[pending.actor].on;
  if (pending.kind)
    read.ops_per_slot = models::ops_per_read(*pending.kind->kind, pending.kind->times);
  return read;
}

void ActorReader::read_reads(const Pending& pending, const std::optional<YamlValue>& value,
                             bool control) {
  if (!value) return;
  const std::optional<YamlValue> picked = values_.resolved(*value);
  if (!picked || picked->is_null()) return;
  if (!picked->is_list()) {
    diagnostics().error(picked->place(), models::Code::kWrongType,
                        fmt::format("'{}' must be a list, found {}", control ? "after" : "reads",
                                    picked->described()));
    return;
  }
  models::ShortList<ReadTemplate>& reads = graph_.actors[pending.actor].reads;
  reads.reserve(reads.size() + picked->size());
  picked->for_each_item([&](const YamlValue& item) { read_read(pending, item, control); });
}

void ActorReader::read_read(const Pending& pending, const YamlValue& value, bool control) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return;
  ActorTemplate& actor = graph_.actors[pending.actor];
  if (!values_.keep(actor.on.size(), picked->place())) return;
  ReadTemplate read = new_read(pending, picked->place());
  std::string from;
  std::string reg;
  if (picked->is_map()) {
    if (!read_long_read(*picked, read, from, reg)) return;
  } else {
    const std::optional<std::string> name = values_.word(*picked);
    if (!name) return;
    from = *name;
  }
  if (!find_register(from, reg, read.place, read)) return;
  const bool is_control = graph_.actors[read.actor].registers[read.reg].control;
  if (is_control != control) {
    diagnostics()
        .error(read.place, models::Code::kControlAndData,
               fmt::format("'{}' is a {} register", from, is_control ? "control" : "data"))
        .notes.emplace_back(is_control ? "list it under 'after'" : "list it under 'reads'");
    return;
  }
  if (!control && pending.is_control_only()) {
    diagnostics().error(read.place, models::Code::kControlAndData,
                        fmt::format("actors of kind '{}' read no data", pending.kind->kind->name));
    return;
  }
  actor.reads.push_back(std::move(read));
}

// Reads a read in the form of a map. Returns false if `when` is off or after a mistake.
bool ActorReader::read_long_read(const YamlValue& value, ReadTemplate& read, std::string& from,
                                 std::string& reg) {
  MapReader map(value, keys::kRead, diagnostics());
  const std::optional<YamlValue> when = map.take("when");
  const std::optional<YamlValue> name = map.require("from");
  if (const auto on = map.take("on")) {
    const std::optional<models::RankSet> ranks = values_.rank_set(*on);
    if (ranks) read.on = models::both(*ranks, read.on);
  }
  fields_.read(map, read);
  if (const auto needs = map.take("needs")) read.needs.emplace() = read_tensors(*needs, values_);
  if (const auto name_of_register = map.take("register")) {
    reg = values_.word(*name_of_register).value_or("");
  }
  map.finish();
  if (read.rank && read.group != kNoIndex) {
    diagnostics().error(value.place(), models::Code::kConflictingKeys,
                        "'rank' and 'each' cannot be used together");
  }
  if (!name || (when && !values_.truth(*when).value_or(true))) return false;
  const std::optional<std::string> word = values_.word(*name);
  if (word) from = *word;
  return word.has_value();
}

// Finds a register by name. `actor` means the register 'out' of an actor, `actor.register` another
// register. `given` is the register's name from the key `register`; empty without that key. Returns
// false after an error.
bool ActorReader::find_register(const std::string& name, const std::string& given, Place place,
                                ReadTemplate& read) {
  read.actor = by_name_.find(name);
  if (read.actor != kNoIndex && given.empty()) return true;
  const std::size_t dot = given.empty() ? name.rfind('.') : std::string::npos;
  const std::string actor_name = name.substr(0, dot);
  if (dot != std::string::npos) read.actor = by_name_.find(actor_name);
  if (read.actor == kNoIndex) {
    const bool left_out =
        std::find(left_out_.begin(), left_out_.end(), actor_name) != left_out_.end();
    models::Diagnostic& error = diagnostics().error(
        place, models::Code::kUnknownActor,
        left_out ? fmt::format("the actor '{}' is not there: its 'when' is off", actor_name)
                 : fmt::format("unknown actor '{}'", actor_name));
    if (left_out) {
      error.notes.push_back(
          fmt::format("give this the same condition: {{from: {}, when: ...}}", name));
    } else {
      models::suggest_name(error, actor_name, names_of(graph_.actors));
    }
    return false;
  }
  const ActorTemplate& actor = graph_.actors[read.actor];
  const std::string reg = given.empty() ? name.substr(dot + 1) : given;
  read.reg = index_of(actor.registers, reg);
  if (read.reg != kNoIndex) return true;
  models::Diagnostic& error =
      diagnostics().error(place, models::Code::kUnknownRegister,
                          fmt::format("'{}' has no register '{}'", actor.name, reg));
  models::suggest_name(error, reg, names_of(actor.registers));
  return false;
}

}  // namespace pipesim::formats
