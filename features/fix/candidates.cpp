#include "features/fix/candidates.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "formats/document/value_writer.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/outside_text.hpp"
#include "viz/report/words.hpp"

namespace pipesim::models {
namespace {

using formats::below;
using formats::YamlNode;

constexpr std::int64_t kMaxDoublings = 1 << 12;    // maximum factor for a size in bytes
constexpr std::int64_t kMaxNumberFactor = 1 << 6;  // maximum factor for another parameter
constexpr std::int64_t kMaxOrderSlots = 4;

// Finds edits of actors, communicators and devices.
class GraphEdits {
 public:
  GraphEdits(const HangingJob& job, const CandidateSink::Try& try_candidate)
      : job_(job), sink_(try_candidate) {}

  void run();

 private:
  std::uint32_t template_of(const WaitParty& party) const;
  const ActorTemplate* actor_of(const WaitParty& party) const;
  void add_streams(std::uint32_t index);
  void add_stream(const ActorTemplate& actor, std::uint32_t stream);
  void add_slots(const Wait& wait);
  void add_fewer_slots(const WaitParty& party);
  void add_buffering(const ActorTemplate& step, std::uint32_t rank);
  void add_kernel_slots();
  void add_launch_queue();
  void add_orders();
  void add_order(std::uint32_t first, std::uint32_t second);
  void add_after(std::uint32_t first, std::uint32_t second);
  RankSet ranks_at(Place place) const;
  std::string stream_name(std::uint32_t stream) const {
    return stream == kNoIndex ? std::string() : job_.graph.streams[stream].name;
  }

  const HangingJob& job_;
  CandidateSink sink_;
};

std::uint32_t GraphEdits::template_of(const WaitParty& party) const {
  return party.kind == sim::WaitNodeKind::kOp ? job_.lowered.actor_template[party.op.actor]
                                              : kNoIndex;
}

const ActorTemplate* GraphEdits::actor_of(const WaitParty& party) const {
  const std::uint32_t index = template_of(party);
  return index == kNoIndex ? nullptr : &job_.graph.actors[index];
}

// Returns the edit that sets the value at `path` to `number`.
Edit number_edit(const EditKind& kind, std::string text, const formats::Path& path,
                 std::int64_t number) {
  Edit edit{.kind = &kind, .text = std::move(text)};
  edit.patch = below(path, formats::number(number)).document({});
  return edit;
}

std::string stream_text(const std::string& name) {
  return name.empty() ? "a stream of its own" : fmt::format("stream '{}'", name);
}

void GraphEdits::add_stream(const ActorTemplate& actor, std::uint32_t stream) {
  if (stream == actor.stream) return;
  const std::string to = stream_name(stream);
  sink_.add({.kind = &edit_kinds::kStream,
             .text = fmt::format("{} on {} instead of {}", actor.name, stream_text(to),
                                 stream_text(stream_name(actor.stream)))},
            [&] {
              return below({"actors", actor.name, "stream"},
                           to.empty() ? YamlNode::nothing() : YamlNode::text(to));
            });
}

// Tries to move an actor of a wait to the streams of its readers or sources, or to its own stream.
void GraphEdits::add_streams(std::uint32_t index) {
  if (index == kNoIndex) return;
  const ActorTemplate& actor = job_.graph.actors[index];
  if (actor.step || actor.stream == kNoIndex) return;
  for (const std::uint32_t stream : streams_fed_by(job_.graph, index)) {
    if (stream != kNoIndex) add_stream(actor, stream);
  }
  for (const ReadTemplate& read : actor.reads) {
    const std::uint32_t stream = job_.graph.actors[read.actor].stream;
    if (stream != kNoIndex) add_stream(actor, stream);
  }
  add_stream(actor, kNoIndex);
}

// Returns the edits of a register's slots; the caller sets the range to try.
Numbers slot_numbers(const ActorTemplate& actor, const RegisterTemplate& reg, std::int64_t before) {
  const std::string name = reg.name;
  // The slots of the first output are a key of the actor itself.
  const formats::Path path = name == "out"
                                 ? formats::Path{"actors", actor.name, "slots"}
                                 : formats::Path{"actors", actor.name, "registers", name, "slots"};
  Numbers slots{.before = before};
  slots.edit = [=, actor = actor.name](std::int64_t number) {
    return number_edit(
        edit_kinds::kSlots,
        fmt::format("{} slots instead of {} in register '{}' of {}", number, before, name, actor),
        path, number);
  };
  return slots;
}

void GraphEdits::add_slots(const Wait& wait) {
  const ActorTemplate* actor = actor_of(wait.from);
  if (actor == nullptr || actor->step) return;
  for (const RegisterTemplate& reg : actor->registers) {
    if (reg.name != wait.reg) continue;
    Numbers slots = slot_numbers(*actor, reg, reg.slots.value(wait.from.rank).value_or(1));
    slots.first = slots.before + 1;
    // Slots beyond the number of ops that fill the register never help.
    slots.last = job_.lowered.plan.actors[wait.from.op.actor].ops;
    if (slots.last > slots.before) sink_.add(std::move(slots));
  }
}

// Tries fewer slots: the actor then runs less far ahead and blocks other actors less.
void GraphEdits::add_fewer_slots(const WaitParty& party) {
  const ActorTemplate* actor = actor_of(party);
  if (actor == nullptr || actor->step) return;
  for (const RegisterTemplate& reg : actor->registers) {
    Numbers fewer = slot_numbers(*actor, reg, reg.slots.value(party.rank).value_or(1));
    fewer.first = 1;
    fewer.search = Numbers::Search::kDown;
    if (fewer.before > 1) sink_.add(std::move(fewer));
  }
}

// Returns the step's only call, if this call is a send or recv.
const CallTemplate* message_of(const ActorTemplate* actor) {
  if (actor == nullptr || !actor->step || actor->step->calls.size() != 1) return nullptr;
  const CallTemplate& call = actor->step->calls.front();
  return call.kind == sim::CallKind::kSend || call.kind == sim::CallKind::kReceive ? &call
                                                                                   : nullptr;
}

void GraphEdits::add_buffering(const ActorTemplate& step, std::uint32_t rank) {
  const CallTemplate* call = message_of(&step);
  if (call == nullptr || call->communicator == kNoIndex) return;
  const CommunicatorTemplate& communicator = job_.graph.communicators[call->communicator];
  const std::int64_t bytes = call->bytes.value(rank).value_or(0);
  if (!communicator.on_host || !communicator.eager_bytes || *communicator.eager_bytes >= bytes)
    return;
  const std::int64_t before = *communicator.eager_bytes;
  Edit edit{
      .kind = &edit_kinds::kEager,
      .text = fmt::format("sends of up to {} instead of {} on '{}' are buffered",
                          viz::bytes_text(bytes), viz::bytes_text(before), communicator.name)};
  if (bytes > before + 1) edit.range = Numbers().range;
  sink_.add(std::move(edit), [&] {
    return below({"communicators", "named", communicator.name, "eager"}, formats::bytes(bytes));
  });
}

// Returns the edits of a number in the device, from the present number plus 1 to `last`.
Numbers device_numbers(const EditKind& kind, const char* key, const char* what, std::int64_t before,
                       std::int64_t last) {
  Numbers numbers{.before = before, .first = before + 1, .last = last};
  numbers.edit = [=, &kind](std::int64_t number) {
    return number_edit(kind, fmt::format("{} {} instead of {} on a device", number, what, before),
                       {"device", key}, number);
  };
  return numbers;
}

void GraphEdits::add_kernel_slots() {
  const auto add = [&](const EditKind& kind, const char* key, const char* what, const Expr& limit) {
    const std::int64_t before = limit.value(0).value_or(0);
    const auto streams = static_cast<std::int64_t>(job_.graph.streams.size());
    if (before != 0) sink_.add(device_numbers(kind, key, what, before, before + streams));
  };
  add(edit_kinds::kResident, "resident", "communication kernel slots", job_.graph.device.resident);
  add(edit_kinds::kHardwareQueues, "hardware_queues", "hardware queues",
      job_.graph.hardware_queues());
}

void GraphEdits::add_launch_queue() {
  const bool of_device = job_.graph.device.launch_queue != Expr();
  const Expr& size = of_device ? job_.graph.device.launch_queue : job_.graph.launch_queue;
  Numbers sizes{.before = size.value(0).value_or(1)};
  sizes.first = sizes.before + 1;
  // A queue needs at most one launch per op of the busiest rank.
  for (const RankReport& rank : job_.explanation.ranks) {
    std::int64_t all = 0;
    for (const ActorCounts& counts : rank.actors) all += counts.expected;
    sizes.last = std::max(sizes.last, all);
  }
  sizes.edit = [of_device, before = sizes.before](std::int64_t number) {
    return number_edit(edit_kinds::kLaunchQueue,
                       fmt::format("{} pending launches instead of {} on a {}", number, before,
                                   of_device ? "device" : "stream"),
                       {of_device ? "device" : "defaults", "launch_queue"}, number);
  };
  if (sizes.last > sizes.before) sink_.add(std::move(sizes));
}

void GraphEdits::add_order(std::uint32_t first, std::uint32_t second) {
  const ActorTemplate& before = job_.graph.actors[first];
  const ActorTemplate& behind = job_.graph.actors[second];
  const RankSet common = both(before.on, behind.on);
  if (common.empty()) return;
  const RankSet on = common.size() < behind.on.size() ? common : RankSet();
  Numbers ahead{.first = 1, .last = kMaxOrderSlots, .range = ", or fewer"};
  ahead.edit = [=, &edits = job_.edits, first = before.name,
                second = behind.name](std::int64_t number) {
    Edit edit{.kind = &edit_kinds::kActorOrder,
              .text = fmt::format("{} after {} on {}, and {} at most {} ahead", second, first,
                                  on.empty() ? "all its ranks" : ranks_text(on), first,
                                  viz::counted(static_cast<std::uint64_t>(number), "op"))};
    const auto keys = edits.actor_order(first, second, on, number);
    if (keys) edit.patch = keys->document({});
    return edit;
  };
  sink_.add(std::move(ahead));
}

void GraphEdits::add_after(std::uint32_t first, std::uint32_t second) {
  const ActorTemplate& before = job_.graph.actors[first];
  const ActorTemplate& behind = job_.graph.actors[second];
  const bool calls = before.step->role == sim::Role::kCalls &&
                     behind.step->role == sim::Role::kCalls && before.stream != behind.stream &&
                     before.stream != kNoIndex;
  if (!calls || before.step->implied || behind.step->implied) return;
  const std::string stream = stream_name(before.stream);
  RankSet ranks = ranks_at(behind.place);
  if (ranks.size() == job_.graph.ranks) ranks = {};
  sink_.add({.kind = &edit_kinds::kAfter,
             .text = fmt::format("{}{} waits for all earlier work on stream '{}'",
                                 ranks_prefix(ranks), step_text(behind), stream),
             .steps = {behind.place}},
            [&] { return job_.edits.wait(behind.place, stream); });
}

// Returns the ranks with a step at `place`. Each rank can have its own actor for the step.
RankSet GraphEdits::ranks_at(Place place) const {
  std::set<std::uint32_t> ranks;
  for (const ActorTemplate& actor : job_.graph.actors) {
    if (actor.step && actor.place == place) ranks.insert(actor.on.begin(), actor.on.end());
  }
  return RankSet(std::vector<std::uint32_t>(ranks.begin(), ranks.end()));
}

// Tries a fixed order on all ranks for each pair of collectives on the cycle. For actors, tries
// both orders. For steps of programs, tries one order: the stream of the step that is later in the
// file waits for the stream of the other step.
void GraphEdits::add_orders() {
  std::vector<std::uint32_t> collectives;
  for (const Wait& wait : job_.explanation.cycle) {
    const std::uint32_t index = template_of(wait.from);
    if (index == kNoIndex) continue;
    const ActorTemplate& actor = job_.graph.actors[index];
    const bool is_collective =
        actor.collective || (actor.step && actor.step->role == sim::Role::kCalls);
    const bool known =
        std::find(collectives.begin(), collectives.end(), index) != collectives.end();
    if (is_collective && !known) collectives.push_back(index);
  }
  std::sort(collectives.begin(), collectives.end());
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    for (std::size_t j = i + 1; j < collectives.size(); ++j) {
      const bool step = job_.graph.actors[collectives[i]].step.has_value();
      if (step != job_.graph.actors[collectives[j]].step.has_value()) continue;
      if (step) {
        add_after(collectives[i], collectives[j]);
      } else {
        add_order(collectives[i], collectives[j]);
        add_order(collectives[j], collectives[i]);
      }
    }
  }
}

void GraphEdits::run() {
  for (const Wait& wait : job_.explanation.cycle) {
    switch (sim::facts(wait.kind).setting) {
      case sim::Setting::kNone:
        break;
      case sim::Setting::kStreams:
        add_streams(template_of(wait.from));
        add_streams(template_of(wait.to));
        break;
      case sim::Setting::kSlots:
        add_slots(wait);
        break;
      case sim::Setting::kInit:
        add_init_at_start(job_.edits, sink_);
        break;
      case sim::Setting::kLaunchQueue:
        add_launch_queue();
        break;
      case sim::Setting::kDevice:
        add_kernel_slots();
        break;
      case sim::Setting::kBuffering:
        if (const ActorTemplate* step = actor_of(wait.from)) add_buffering(*step, wait.from.rank);
        break;
    }
  }
  add_orders();
  for (const Wait& wait : job_.explanation.cycle) {
    for (const WaitParty* party : {&wait.from, &wait.to}) add_fewer_slots(*party);
  }
}

// Finds other values of one parameter. Times and bandwidths are excluded.
class ParameterEdits {
 public:
  ParameterEdits(const formats::Parameter& parameter, CandidateSink& sink)
      : name_(parameter.name), now_(to_text(parameter.value)), sink_(sink) {}

  void add_words(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (word != now_) sink_.add(edit(word, YamlNode::text(word)), nullptr);
    }
  }
  void add_numbers(std::int64_t now, std::optional<std::int64_t> at_least, bool bytes);

 private:
  Edit edit(const std::string& value, YamlNode node) const {
    return {.kind = &edit_kinds::kParameter,
            .text = fmt::format("{}={} instead of {}", name_, printable(value), printable(now_)),
            .patch = below({"set", name_}, std::move(node)).document({}),
            .turns_on = now_ == "off" && value == "on"};
  }
  std::function<Edit(std::int64_t)> number_edits(bool alters) const {
    return [copy = *this, alters](std::int64_t number) {
      Edit edit = copy.edit(std::to_string(number), formats::number(number));
      edit.alters = alters;
      return edit;
    };
  }

  std::string name_;
  std::string now_;
  CandidateSink& sink_;
};

void ParameterEdits::add_numbers(std::int64_t now, std::optional<std::int64_t> at_least,
                                 bool bytes) {
  // A parameter with value 1 that can be 0 may be a switch.
  if (now == 1 && at_least == 0) sink_.add(edit("0", formats::number(0)), nullptr);
  // Tries smaller values, such as fewer warm-up micro-batches. The number of ops must stay the
  // same.
  const std::int64_t least = std::max<std::int64_t>(at_least.value_or(1), 1);
  if (!bytes && now > least) {
    sink_.add(Numbers{.before = now,
                      .first = least,
                      .edit = number_edits(true),
                      .search = Numbers::Search::kDown});
  }
  const std::int64_t start = std::max<std::int64_t>(now, 1);
  if (start > std::int64_t{1} << 40) return;
  sink_.add(Numbers{.before = now,
                    .first = bytes ? start * 2 : now + 1,
                    .last = start * (bytes ? kMaxDoublings : kMaxNumberFactor),
                    .edit = number_edits(false),
                    .search = bytes ? Numbers::Search::kDoubling : Numbers::Search::kUp});
}

}  // namespace

bool CandidateSink::is_new(const Edit& edit) {
  return known_.emplace(edit.text, edit.steps, edit.alters).second;
}

void CandidateSink::add(Edit edit, const MakePatch& make_patch, std::vector<std::uint32_t> waits) {
  if (!is_new(edit)) return;
  if (const formats::PatchKeys keys = make_patch ? make_patch() : std::nullopt) {
    edit.patch = keys->document({});
  }
  try_({std::move(edit), std::nullopt, std::move(waits)});
}

void CandidateSink::add(Numbers numbers) {
  Edit first = numbers.edit(numbers.first);
  if (is_new(first)) try_({std::move(first), std::move(numbers), {}});
}

void add_init_at_start(const formats::ScenarioEdits& edits, CandidateSink& sink) {
  sink.add({.kind = &edit_kinds::kInit,
            .text = "communicators initialized at the start instead of at their first use"},
           [&] { return edits.init_at_start(); });
}

void find_parameter_edits(const std::vector<formats::Parameter>& parameters,
                          const CandidateSink::Try& try_candidate) {
  CandidateSink sink(try_candidate);
  for (const formats::Parameter& parameter : parameters) {
    ParameterEdits edits(parameter, sink);
    const formats::ValueType type = parameter.value.type;
    if (type == formats::ValueType::kWord) edits.add_words(parameter.options);
    if (type == formats::ValueType::kTruth) edits.add_words({"off", "on"});
    const bool bytes = type == formats::ValueType::kBytes;
    if (!bytes && type != formats::ValueType::kNumber) continue;
    const std::optional<std::int64_t> now = parameter.value.expr.value(0);
    if (now) edits.add_numbers(*now, parameter.at_least, bytes);
  }
}

void find_graph_edits(const HangingJob& job, const CandidateSink::Try& try_candidate) {
  GraphEdits(job, try_candidate).run();
}

}  // namespace pipesim::models
