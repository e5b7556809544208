// The names in programs. The first use of a stream, event, key or lock adds the thing.
#include "formats/scenario/program_names.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "models/graph/by_name.hpp"

namespace pipesim::formats {

using models::ActorTemplate;
using models::CallTemplate;
using models::kNoIndex;
using models::Place;
using models::RankSet;
using sim::Role;

namespace {

// Collects the words under `key` anywhere in `value`, even if `when` is off or a choice picks
// another branch.
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

}  // namespace

void refuse_stream_of_host(models::Diagnostics& diagnostics, Place place) {
  diagnostics.error(place, models::Code::kConflictingKeys, "calls of the host run on no stream")
      .notes.emplace_back(
          "gloo and MPI wait for the stream that writes the data, then call on the host: for "
          "'stream: compute', write {synchronize: compute} before the call");
}

ProgramNames::ProgramNames(const ValueReader& values, bool open_streams, models::TaskGraph& graph)
    : values_(values),
      diagnostics_(values.diagnostics()),
      open_streams_(open_streams),
      graph_(graph),
      declared_streams_(graph.streams.size()),
      declared_communicators_(graph.communicators.size()),
      steps_(graph),
      only_(graph) {
  for (const ActorTemplate& actor : graph.actors) actor_names_.insert(actor.name);
  for (std::uint32_t i = 0; i < graph.events.size(); ++i) events_.emplace(graph.events[i].name, i);
  implied_events_ = events_;
}

void ProgramNames::look_ahead(const YamlValue& value) {
  collect_words(value, "stream", stream_words_);
  collect_words(value, "record", record_words_);
}

// Returns a name that is unique on each rank of `on`. The second step called "name" on a rank
// becomes "name.2", or "name.3" if "name.2" is taken. Steps of different ranks can share a name.
std::string ProgramNames::unique_name(const std::string& name, const RankSet& on) {
  std::vector<std::uint32_t>& copies = counted_copies_of(name);
  std::uint32_t copy = 0;
  for (const std::uint32_t rank : on) copy = std::max(copy, copies[rank]);
  const auto named = [&] { return copy == 1 ? name : fmt::format("{}.{}", name, copy); };
  ++copy;
  while (is_taken(named(), on)) ++copy;
  for (const std::uint32_t rank : on) copies[rank] = copy;
  return named();
}

void ProgramNames::make_name_unique() {
  const auto index = static_cast<std::uint32_t>(graph_.actors.size() - 1);
  ActorTemplate& step = graph_.actors.back();
  const bool is_first = copies_.count(step.name) == 0 && only_.find(step.name) == kNoIndex;
  if (is_first && !is_taken(step.name, step.on)) {
    only_.add(index);
  } else {
    step.name = unique_name(step.name, step.on);
  }
  steps_.add(index);
}

std::uint32_t ProgramNames::step_of(const std::string& name, const models::RankSet& on) const {
  return steps_.find(name, [&](std::uint32_t step) {
    const models::RankSet& ranks = graph_.actors[step].on;
    return on.empty() ? ranks.empty() : ranks.contains(on[0]);
  });
}

// Whether `name` was given at least `least` times (not 0) on some rank of `on`.
bool ProgramNames::is_given(const std::string& name, const RankSet& on, std::uint64_t least) const {
  const auto counted = copies_.find(name);
  if (counted != copies_.end()) {
    return std::any_of(on.begin(), on.end(),
                       [&](std::uint32_t rank) { return counted->second[rank] >= least; });
  }
  const std::uint32_t only = only_.find(name);
  return least == 1 && only != kNoIndex && meet(graph_.actors[only].on, on);
}

std::vector<std::uint32_t>& ProgramNames::counted_copies_of(const std::string& name) {
  const auto [counted, is_new] = copies_.try_emplace(name);
  if (!is_new) return counted->second;
  counted->second.resize(graph_.ranks, 0);
  const std::uint32_t only = only_.find(name);
  if (only == kNoIndex) return counted->second;
  for (const std::uint32_t rank : graph_.actors[only].on) counted->second[rank] = 1;
  return counted->second;
}

// Whether `name` belongs to an actor, or to a step on some rank of `on`: as its given name, or as a
// numbered copy of another name. Copies of `name` itself do not count.
bool ProgramNames::is_taken(const std::string& name, const RankSet& on) const {
  if (actor_names_.count(name) > 0) return true;
  if (is_given(name, on, 1)) return true;
  const std::size_t dot = name.rfind('.');
  std::uint64_t copy = 0;
  if (dot == std::string::npos || dot + 1 == name.size() || name[dot + 1] == '0') return false;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + dot + 1, end, copy);
  return parsed.ec == std::errc() && parsed.ptr == end && copy > 1 &&
         is_given(name.substr(0, dot), on, copy);
}

std::uint32_t ProgramNames::stream(const std::string& name, Place place) {
  const std::uint32_t known = index_of(graph_.streams, name);
  if (known != kNoIndex) return known;
  if (name.find_first_of("{}") != std::string::npos) {
    diagnostics_
        .error(
            place, models::Code::kBadName,
            fmt::format("the stream name '{}' has braces, but only the names of steps may contain "
                        "expressions",
                        name))
        .notes.emplace_back(
            "choose a stream by rank or index: stream: {case: rank, 0: s0, else: s1}");
    return add_stream(name, place);
  }
  if (!open_streams_ && name != "compute" && !is_stream_of_calls(name)) {
    models::Diagnostic& error = diagnostics_.error(place, models::Code::kUnknownStream,
                                                   fmt::format("unknown stream '{}'", name));
    models::suggest_name(error, name, names_of(graph_.streams));
    error.notes.emplace_back("the scenario lists its streams under 'streams'");
  }
  return add_stream(name, place);
}

// Returns the stream of a wait. The first use of the stream can come later in the file, or only in
// steps that `when` omits. `item` contains the name.
std::uint32_t ProgramNames::awaited_stream(const std::string& name, const YamlValue& item) {
  const std::uint32_t index = stream(name, item.place());
  const bool known = index < declared_streams_ || name == "compute" || is_stream_of_calls(name) ||
                     stream_words_.count(name) > 0 || stream_words_.count(item.text()) > 0;
  if (!known) awaited_.try_emplace(index, item.place());
  return index;
}

// Whether `name` is the default stream of a communicator's calls.
bool ProgramNames::is_stream_of_calls(const std::string& name) const {
  const auto is_own = [&](const auto& item) { return models::calls_stream(item.name) == name; };
  return std::any_of(graph_.groups.begin(), graph_.groups.end(), is_own) ||
         std::any_of(graph_.communicators.begin(), graph_.communicators.end(), is_own);
}

std::uint32_t ProgramNames::add_stream(const std::string& name, Place place) {
  models::StreamTemplate stream;
  stream.name = name;
  stream.place = place;
  stream.launch_queue = graph_.launch_queue;
  graph_.streams.push_back(std::move(stream));
  return static_cast<std::uint32_t>(graph_.streams.size() - 1);
}

// Returns the stream of a call. Each communicator has its own stream, as in PyTorch, unless the
// communicator or the step names another stream.
std::uint32_t ProgramNames::stream_of_calls(const CallTemplate& call) {
  models::CommunicatorTemplate& used = graph_.communicators[call.communicator];
  if (used.stream != kNoIndex) return used.stream;
  const std::string name = used.on_host ? used.name : models::calls_stream(used.name);
  used.stream = index_of(graph_.streams, name);
  if (used.stream == kNoIndex) used.stream = add_stream(name, used.place);
  if (used.on_host) graph_.streams[used.stream].on_host = true;
  return used.stream;
}

void ProgramNames::check_streams() {
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
    models::Diagnostic& error = diagnostics_.error(place, models::Code::kUnknownStream,
                                                   fmt::format("no step uses stream '{}'", name));
    models::suggest_name(error, name, names);
  }
}

void ProgramNames::check_events() {
  std::set<std::uint32_t> recorded;
  for (const ActorTemplate& actor : graph_.actors) {
    if (actor.step && actor.step->role == Role::kRecord) recorded.insert(actor.step->event);
  }
  const std::vector<std::string> names(record_words_.begin(), record_words_.end());
  for (const std::uint32_t index : awaited_events_) {
    if (recorded.count(index) > 0) continue;
    const models::EventTemplate& event = graph_.events[index];
    models::Diagnostic& error =
        diagnostics_.error(event.place, models::Code::kUnknownEvent,
                           fmt::format("event '{}' is never recorded", event.name));
    models::suggest_name(error, event.name, names);
  }
}

// Returns a named communicator, or the communicator shared by all steps with this group. A barrier
// over a group is a barrier of hosts, unless the backend is known to be NCCL, or the scenario
// declares a communicator of the group's name.
std::uint32_t ProgramNames::communicator(const YamlValue& value, bool barrier) {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return kNoIndex;
  const std::uint32_t group = index_of(graph_.groups, *name);
  const bool named = index_of(graph_.communicators, *name) < declared_communicators_;
  const bool of_hosts = barrier && !barriers_on_device_ && !named && group != kNoIndex;
  const std::string wanted = of_hosts ? "hosts of " + *name : *name;
  const std::uint32_t known = index_of(graph_.communicators, wanted);
  if (known != kNoIndex) return known;
  if (group == kNoIndex) {
    std::vector<std::string> names = names_of(graph_.groups);
    for (std::uint32_t i = 0; i < declared_communicators_; ++i) {
      names.push_back(graph_.communicators[i].name);
    }
    models::Diagnostic& error =
        diagnostics_.error(value.place(), models::Code::kUnknownGroup,
                           fmt::format("unknown communicator or group '{}'", *name));
    models::suggest_name(error, *name, names);
    if (names.empty()) error.notes.emplace_back("a group of all ranks is groups: {NAME: all}");
    return kNoIndex;
  }
  models::CommunicatorTemplate communicator;
  communicator.name = wanted;
  communicator.place = value.place();
  communicator.group = group;
  communicator.on_host = on_host_ || wanted != *name;
  communicator.is_gloo = is_gloo_ && wanted == *name;
  communicator.in_calls = on_host_ && !is_gloo_;
  communicator.init.said = graph_.init.said;
  if (!communicator.on_host) communicator.init = graph_.init;
  graph_.communicators.push_back(std::move(communicator));
  return static_cast<std::uint32_t>(graph_.communicators.size() - 1);
}

std::uint32_t ProgramNames::hosts_of(std::uint32_t communicator, const std::string& what) {
  const models::CommunicatorTemplate& of = graph_.communicators[communicator];
  return hosts_of_group(what + " of " + of.name, of.group, of.place);
}

std::uint32_t ProgramNames::hosts_of_all(const std::string& name, Place place) {
  const std::uint32_t known = index_of(graph_.groups, name);
  if (known != kNoIndex) return hosts_of_group(name, known, place);
  models::Group all;
  all.name = name;
  all.place = place;
  all.lists.emplace_back();
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) all.lists.front().push_back(rank);
  all.index();
  graph_.groups.push_back(std::move(all));
  return hosts_of_group(name, static_cast<std::uint32_t>(graph_.groups.size() - 1), place);
}

std::uint32_t ProgramNames::hosts_of_group(const std::string& name, std::uint32_t group,
                                           Place place) {
  models::CommunicatorTemplate hosts;
  hosts.name = name;
  hosts.place = place;
  hosts.group = group;
  hosts.on_host = true;
  hosts.init.said = graph_.init.said;
  const std::uint32_t known = index_of(graph_.communicators, hosts.name);
  if (known != kNoIndex) return known;
  graph_.communicators.push_back(std::move(hosts));
  return static_cast<std::uint32_t>(graph_.communicators.size() - 1);
}

std::uint32_t ProgramNames::pair_of(std::uint32_t communicator, std::uint32_t a, std::uint32_t b) {
  if (communicator == kNoIndex || communicator < declared_communicators_) return communicator;
  const models::CommunicatorTemplate& of = graph_.communicators[communicator];
  if (of.on_host || a == b || graph_.groups[of.group].list_of(a) == kNoIndex ||
      graph_.groups[of.group].list_of(a) != graph_.groups[of.group].list_of(b)) {
    return communicator;
  }
  models::CommunicatorTemplate pair;
  pair.name = fmt::format("{} {}-{}", of.name, std::min(a, b), std::max(a, b));
  pair.place = of.place;
  // A pair's communicator never exists from the start, so only a rule of first use applies to it.
  pair.init = graph_.init;
  pair.init.said = graph_.init.at_first_use;
  const std::uint32_t known = index_of(graph_.communicators, pair.name);
  if (known != kNoIndex) return known;
  models::Group group;
  group.name = pair.name;
  group.place = of.place;
  group.lists = {{std::min(a, b), std::max(a, b)}};
  group.index();
  pair.group = static_cast<std::uint32_t>(graph_.groups.size());
  graph_.groups.push_back(std::move(group));
  graph_.communicators.push_back(std::move(pair));
  const auto index = static_cast<std::uint32_t>(graph_.communicators.size() - 1);
  pairs_[communicator].push_back(index);
  return index;
}

std::vector<std::pair<std::uint32_t, RankSet>> ProgramNames::pair_streams(std::uint32_t stream,
                                                                          const RankSet& on) const {
  std::vector<std::pair<std::uint32_t, RankSet>> result;
  for (const auto& [communicator, pairs] : pairs_) {
    if (graph_.communicators[communicator].stream != stream) continue;
    for (const std::uint32_t pair : pairs) {
      const models::CommunicatorTemplate& of_two = graph_.communicators[pair];
      std::vector<std::uint32_t> ranks = graph_.groups[of_two.group].lists[0];
      std::erase_if(ranks, [&](std::uint32_t rank) { return !on.contains(rank); });
      if (of_two.stream == kNoIndex || ranks.empty()) continue;
      result.emplace_back(of_two.stream, RankSet(std::move(ranks)));
    }
  }
  return result;
}

std::uint32_t ProgramNames::object(const YamlValue& value, const keys::ObjectStep& kind,
                                   bool implied) {
  switch (sim::facts(kind.role).object) {
    case sim::Object::kSignal: {
      if (!implied) return event(value, kind.shared);
      const std::optional<std::string> name = values_.word(value);
      return name ? implied_event(*name, value.place()) : kNoIndex;
    }
    case sim::Object::kLock:
      return lock(value);
    case sim::Object::kCommunicator:
      return communicator(value, false);
    case sim::Object::kNone:
    case sim::Object::kCount:
      break;
  }
  return kNoIndex;
}

std::uint32_t ProgramNames::event(const YamlValue& value, bool shared) {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return kNoIndex;
  if (shared && name->find('$') != std::string::npos) {
    diagnostics_
        .error(value.place(), models::Code::kStoreKey,
               fmt::format("'{}': a key must have the same name on all ranks", *name))
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
    diagnostics_
        .error(value.place(), models::Code::kStoreKey,
               fmt::format("'{}' is {} elsewhere", *name,
                           shared ? "an event of streams" : "a key of the store"))
        .notes.push_back(
            fmt::format("that is in {}", models::line_text(graph_.events[index].place)));
  }
  return index;
}

// Returns the event that an `after` adds. Its name cannot collide with the user's events, which are
// stored separately.
std::uint32_t ProgramNames::implied_event(const std::string& name, Place place) {
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

std::uint32_t ProgramNames::lock(const YamlValue& value) {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return kNoIndex;
  const std::uint32_t known = index_of(graph_.locks, *name);
  if (known != kNoIndex) return known;
  models::LockTemplate lock;
  lock.name = *name;
  graph_.locks.push_back(std::move(lock));
  return static_cast<std::uint32_t>(graph_.locks.size() - 1);
}

}  // namespace pipesim::formats
