// Reads the kinds of steps: kernels, calls, and the work and waits of the host.
#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "formats/document/expression_writer.hpp"
#include "formats/scenario/cluster_reader.hpp"
#include "formats/scenario/keys.hpp"
#include "formats/scenario/program_reader.hpp"
#include "models/graph/by_name.hpp"
#include "models/graph/parts.hpp"

namespace pipesim::formats {

using models::ActorTemplate;
using models::CallTemplate;
using models::Expr;
using models::kNoIndex;
using models::Operation;
using models::Place;
using models::RankSet;
using models::StepTemplate;
using sim::CallKind;
using sim::Role;

bool ProgramReader::read_device_step(MapReader& map, ActorTemplate& actor, const Context& context) {
  StepTemplate& step = *actor.step;
  if (const auto name = map.take("compute")) {
    step.role = Role::kOp;
    actor.name = read_name(*name).value_or("compute");
    if (!map.has("stream")) actor.stream = names_.stream("compute", name->place());
    take_expr(map, "takes", ValueType::kTime, actor.takes);
    return true;
  }
  return read_object_step(map, actor) || read_calls(map, actor, context);
}

// Reads a step that names an event, a lock or a communicator. Returns false for other steps.
bool ProgramReader::read_object_step(MapReader& map, ActorTemplate& actor) {
  StepTemplate& step = *actor.step;
  for (const keys::ObjectStep& kind : keys::object_steps()) {
    const auto name = map.take(kind.word);
    if (!name) continue;
    step.role = kind.role;
    if (const auto implied = on_host(step.role) ? std::nullopt : map.take("implied")) {
      step.implied = values_.truth(*implied).value_or(false);
    }
    step.*models::object_of(step.role).index = names_.object(*name, kind, step.implied);
    actor.name = fmt::format("{} {}", kind.word, values_.word(*name).value_or(""));
    if (!on_host(step.role) && !map.has("stream")) {
      actor.stream = names_.stream("compute", name->place());
    }
    if (kind.role == Role::kAwait && kind.shared) read_times(map, step);
    if (kind.role == Role::kCreate) create_later(step.communicator);
    return true;
  }
  return false;
}

bool ProgramReader::read_calls(MapReader& map, ActorTemplate& actor, const Context& context) {
  StepTemplate& step = *actor.step;
  if (const auto group = map.take("group")) {
    actor.name = "group";
    read_group(*group, step, context);
  } else {
    CallTemplate call;
    call.place = actor.place;
    if (!read_one_call(map, call)) return false;
    if (const auto implied = map.take("implied")) {
      step.implied = values_.truth(*implied).value_or(false);
    }
    if (const auto splits = map.take("splits")) read_splits(*splits, call, context.on);
    make_messages(call, context.on);
    step.calls.push_back(std::move(call));
    calls_on_ = {context.on};
  }
  step.role = Role::kCalls;
  if (split_parts_ && split_parts_->empty()) return true;  // no rank has the step
  if (step.calls.empty() || step.calls.front().communicator == kNoIndex) return true;
  const CallTemplate& first = step.calls.front();
  refuse_on_host(first);
  const models::CommunicatorTemplate& used = graph_.communicators[first.communicator];
  if (actor.name.empty())
    actor.name = fmt::format("{} {}", operation_name(first.operation), used.name);
  actor.stream = names_.stream_of_calls(first);
  // PyTorch puts barriers on the current stream.
  const bool barrier = first.operation == Operation::kBarrier;
  if (barrier && defaults_.of_nccl && names_.is_of_group(first.communicator)) {
    actor.stream = names_.stream("compute", first.place);
  }
  // A call on the host blocks the host; so do torch's barrier and NCCL's split and destroy.
  const bool waits = graph_.streams[actor.stream].on_host || blocks_host(first.operation);
  actor.blocking = waits || defaults_.blocking.value_or(false);
  return true;
}

void ProgramReader::read_group(const YamlValue& value, StepTemplate& step, const Context& context) {
  calls_on_.clear();
  const std::optional<YamlValue> group = values_.resolved(value);
  if (!group || group->is_null()) return;
  if (!group->is_list()) {
    diagnostics().error(
        group->place(), models::Code::kWrongType,
        fmt::format("'group' must be a list of calls, found {}", group->described()));
    return;
  }
  const std::vector<YamlValue> items = group->items();
  if (items.empty())
    diagnostics().error(group->place(), models::Code::kEmpty, "this group has no calls");
  for (const YamlValue& item : items) {
    if (!count_visit(item.place())) return;
    const std::optional<YamlValue> picked = values_.resolved(item);
    if (!picked || picked->is_null()) continue;
    const KeyTable* table = table_with_head(*picked, keys::calls_of_group());
    if (picked->is_map() && table == nullptr) {
      const std::vector<YamlValue::Entry> entries = picked->entries();
      diagnostics().error(
          picked->place(), models::Code::kWrongType,
          fmt::format("a group can only contain collectives, 'send' and 'recv', found {}",
                      entries.empty() ? "nothing" : entries.front().key.described()));
      continue;
    }
    MapReader fields(*picked, table == nullptr ? *keys::calls_of_group().front() : *table,
                     diagnostics());
    if (!picked->is_map()) continue;
    const std::optional<RankSet> exists = read_when(fields, context.on);
    const RankSet on = read_on(fields, exists.value_or(context.on));
    if (!exists) continue;
    CallTemplate call;
    call.place = picked->place();
    read_one_call(fields, call);
    if (call.from_any() && fields.has("from")) {
      diagnostics().error(call.place, models::Code::kConflictingKeys,
                          "a recv from any rank cannot be in a group: make it a step of its own");
    }
    if (const auto name = fields.take("name")) call.name = read_name(*name).value_or("");
    if (const auto splits = fields.take("splits")) read_splits(*splits, call, on);
    make_messages(call, on);
    fields.finish();
    add_call(std::move(call), on, step);
  }
}

// Adds a call of a group, or the sends and recvs that replace a collective call.
void ProgramReader::add_call(CallTemplate call, const RankSet& on, StepTemplate& step) {
  if (!split_parts_) {
    step.calls.push_back(std::move(call));
    calls_on_.push_back(on);
    return;
  }
  for (Part& part : *split_parts_) {
    for (CallTemplate& message : part.calls) {
      step.calls.push_back(std::move(message));
      calls_on_.push_back(part.on);
    }
  }
  split_parts_.reset();
}

bool ProgramReader::read_one_call(MapReader& map, CallTemplate& call) {
  std::vector<std::string> words = models::collective_names();
  words.insert(words.end(), {"send", "recv", "split", "destroy", "finalize", "revoke", "suspend",
                             "resume", "drain"});
  for (const std::string& word : words) {
    const auto value = map.take(word);
    if (!value) continue;
    call.operation = models::find_operation(word).value();
    if (call.operation == Operation::kSend) call.kind = CallKind::kSend;
    if (call.operation == Operation::kReceive) call.kind = CallKind::kReceive;
    call.communicator = names_.communicator(*value, call.operation == Operation::kBarrier);
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
    const auto value = map.require(peer);
    const bool any =
        value && call.kind == CallKind::kReceive && value->is_scalar() && value->text() == "any";
    if (value && !any) call.peer = values_.expr(*value, ValueType::kNumber).value_or(Expr());
  }
  if (call.kind == CallKind::kSend) {
    if (const auto registered = map.take("registered")) {
      call.registered = values_.truth(*registered).value_or(false);
    }
  }
  call.timed = graph_.cluster && !map.has("takes") &&
               (map.has("bytes") || call.operation == Operation::kBarrier);
  call.sized = map.has("bytes");
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

// Reads `splits`: each rank sends a part to every other rank, as PyTorch does with split sizes. The
// step becomes a group of sends and recvs.
void ProgramReader::read_splits(const YamlValue& splits, const CallTemplate& call,
                                const RankSet& on) {
  if (call.sized) {
    diagnostics().error(splits.place(), models::Code::kConflictingKeys,
                        "'splits' and 'bytes' cannot be used together");
  }
  std::vector<Expr> parts;
  for (const YamlValue& item : listed(splits)) {
    parts.push_back(values_.expr(item, ValueType::kBytes).value_or(Expr()));
    parts.back().set_place(item.place());
  }
  if (call.communicator == kNoIndex) return;
  const models::Group& group = graph_.groups[graph_.communicators[call.communicator].group];
  const auto bytes = [&](std::size_t part, std::uint32_t rank) {
    const std::int64_t size = parts[part].value(rank).value_or(-1);
    if (size < 0) {
      diagnostics().error(
          parts[part].place(), models::Code::kOutOfRange,
          fmt::format("a part of 'splits' must be at least 0B; on rank {} it is not", rank));
    }
    return size;
  };
  split_parts_.emplace();
  for (const std::uint32_t rank : on) {
    const std::uint32_t list = group.list_of(rank);
    if (list == kNoIndex) {
      split_parts_.reset();  // lowering reports the mistake
      return;
    }
    const std::vector<std::uint32_t>& members = group.lists[list];
    if (members.size() != parts.size()) {
      diagnostics().error(splits.place(), models::Code::kWrongType,
                          fmt::format("'splits' must have a size for each of the {} ranks of "
                                      "group '{}', found {}",
                                      members.size(), group.name, parts.size()));
      return;
    }
    const auto own = std::find(members.begin(), members.end(), rank);
    Part part{RankSet({rank}), {}};
    const auto add = [&](CallKind kind, std::uint32_t peer, std::int64_t size) {
      const models::CommunicatorTemplate& communicator = graph_.communicators[call.communicator];
      if (size == 0 && !communicator.on_host) graph_.process_groups.has_empty_parts = true;
      if (size == 0 && !defaults_.sends_empty && !communicator.is_gloo) return;
      CallTemplate message = call;
      message.kind = kind;
      message.operation = kind == CallKind::kSend ? Operation::kSend : Operation::kReceive;
      message.peer = Expr::constant(peer);
      message.bytes = Expr::constant(std::max<std::int64_t>(size, 0));
      message.sized = true;
      message.timed = graph_.cluster && call.takes == Expr();
      part.calls.push_back(std::move(message));
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::int64_t size = bytes(i, rank);
      if (members[i] == rank) continue;
      if (!count_visit(splits.place())) return;
      add(CallKind::kSend, members[i], size);
      add(CallKind::kReceive, members[i],
          bytes(static_cast<std::size_t>(own - members.begin()), members[i]));
    }
    if (!part.calls.empty()) split_parts_->push_back(std::move(part));
  }
}

// Replaces a gather or scatter by sends and recvs with the root, as NCCL and PyTorch do. They match
// by order, together with all other sends and recvs between two ranks. Lowering reports mistakes in
// the call.
void ProgramReader::make_messages(const CallTemplate& call, const RankSet& on) {
  const bool gathers = call.operation == Operation::kGather;
  if ((!gathers && call.operation != Operation::kScatter) || !call.peer ||
      call.communicator == kNoIndex || graph_.communicators[call.communicator].on_host) {
    return;
  }
  const models::Group& group = graph_.groups[graph_.communicators[call.communicator].group];
  std::vector<Part> parts;
  std::vector<std::vector<std::uint32_t>> ranks;  // ranks of each part
  // Indices of parts, by (rank is the root, root, size).
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::size_t> known;
  for (const std::uint32_t rank : on) {
    const std::uint32_t list = group.list_of(rank);
    if (list == kNoIndex) return;
    const std::vector<std::uint32_t>& members = group.lists[list];
    const std::int64_t root = call.peer->value(rank).value_or(-1);
    const std::int64_t bytes = call.bytes.value(rank).value_or(-1);
    if (bytes < 0 || std::find(members.begin(), members.end(), root) == members.end()) return;
    const auto [part, is_new] = known.try_emplace({root == rank, root, bytes}, parts.size());
    if (is_new) {
      parts.push_back({RankSet(), messages_of(call, members, rank)});
      ranks.emplace_back();
    }
    ranks[part->second].push_back(rank);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].on = RankSet(std::move(ranks[i]));
  split_parts_ = std::move(parts);
}

// Returns the sends and recvs of a gather or scatter on `rank`. Two cases stay collectives: zero
// bytes, for which NCCL launches nothing, and a group of one rank.
models::ShortList<CallTemplate> ProgramReader::messages_of(
    const CallTemplate& call, const std::vector<std::uint32_t>& members, std::uint32_t rank) {
  const bool gathers = call.operation == Operation::kGather;
  const auto root = static_cast<std::uint32_t>(call.peer->value(rank).value_or(0));
  const std::int64_t bytes = call.bytes.value(rank).value_or(0);
  models::ShortList<CallTemplate> messages;
  CallTemplate message = call;
  if (members.size() == 1 || (call.sized && bytes == 0)) {
    messages.push_back(std::move(message));
    return messages;
  }
  message.kind = (rank == root) == gathers ? CallKind::kReceive : CallKind::kSend;
  message.operation = message.kind == CallKind::kSend ? Operation::kSend : Operation::kReceive;
  if (call.timed) {  // the root's port transfers one part after another
    sim::CallSpec spec;
    spec.signature.count = bytes;
    const auto time = call_times_.of(call, rank, spec, nullptr);
    message.timed = !time;
    if (time) message.takes = Expr::constant(*time);
  }
  const auto parts = static_cast<std::int64_t>(gathers ? 1 : members.size());
  message.bytes = Expr::constant(bytes / parts + (bytes % parts == 0 ? 0 : 1));
  message.bytes.set_place(call.bytes.place());
  for (const std::uint32_t member : members) {
    if ((rank == root) == (member == root)) continue;
    if (!count_visit(call.place)) break;
    message.peer = Expr::constant(member);
    message.peer->set_place(call.peer->place());
    messages.push_back(message);
  }
  return messages;
}

// Reads a tag: a number, which can depend on the rank, or any other text. If `tag_numbers` is
// given, the tag is always text.
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
    call.tag_number->set_place(tag.place());
    call.tag = expression_text(value->expr, ValueType::kNumber);
  }
}

void ProgramReader::read_host_step(MapReader& map, ActorTemplate& actor) {
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
    actor.name = read_name(*value).value_or("host");
    actor.launch_overhead = Expr();
    take_expr(map, "takes", ValueType::kTime, actor.takes);
  } else if (const auto streams = named("synchronize", Role::kSynchronize)) {
    read_synchronize(*streams, actor);
  } else if (named("load", Role::kSynchronize)) {
    step.only_cold = true;
  } else if (const auto raised = named("raise", Role::kWork)) {
    actor.name = "raise";
    step.dies = raised->is_scalar() ? std::string(raised->text()) : "an exception";
  } else if (const auto exits = named("exit", Role::kWork)) {
    actor.name = "exit";
    step.dies = exits->is_scalar() ? fmt::format("exit {}", exits->text()) : "exit";
  } else if (named("input", Role::kWork)) {
    read_input(map, actor);
  }
}

// Reads `times` of a wait for a key: the number of times that hosts must have set the key.
void ProgramReader::read_times(MapReader& map, StepTemplate& step) {
  const auto times = map.take("times");
  if (!times) return;
  constexpr std::int64_t kMaxTimes = std::numeric_limits<std::uint32_t>::max();
  step.times = values_.integer(*times, "times", 0, kMaxTimes).value_or(1);
}

// Marks a communicator that a program creates: it does not exist from the start.
void ProgramReader::create_later(std::uint32_t communicator) {
  if (communicator == kNoIndex) return;
  graph_.communicators[communicator].init.said = true;
  graph_.communicators[communicator].init.at_first_use = true;
}

// Returns a step in which the host performs `operation` on a communicator.
ActorTemplate ProgramReader::communicator_step(const YamlValue& name, Operation operation,
                                               const ActorTemplate& like) {
  ActorTemplate step = like;
  step.step->role = Role::kCalls;
  step.name = fmt::format("{} {}", operation_name(operation), values_.word(name).value_or(""));
  step.blocking = true;
  CallTemplate call;
  call.place = name.place();
  call.operation = operation;
  call.communicator = names_.communicator(name, false);
  if (call.communicator == kNoIndex) return step;
  step.stream = names_.stream_of_calls(call);
  refuse_on_host(call);
  step.step->calls.push_back(std::move(call));
  return step;
}

// Adds a step before the step that is being read. Both come from the same map.
void ProgramReader::add_before(ActorTemplate step, const Context& context, Steps& steps) {
  check_ended(step, context);
  calls_on_ = {context.on};
  if (!step.step->calls.empty()) add_step(std::move(step), {}, context, steps);
}

// Reads `abort`, also of several communicators in one NCCL group: all calls end before the host
// waits for any of them. Reads `shrink`; `into` creates a communicator of the ranks that stay.
// Returns false for other steps.
bool ProgramReader::read_abort_or_shrink(MapReader& map, ActorTemplate& actor,
                                         const Context& context, Steps& steps) {
  if (const auto shrunk = map.take("shrink")) {
    ActorTemplate shrink = communicator_step(*shrunk, Operation::kShrink, actor);
    const auto aborts = map.take("aborts");
    const bool ends_calls = aborts && values_.truth(*aborts).value_or(false);
    for (CallTemplate& call : shrink.step->calls) call.aborts = ends_calls;
    const auto into = map.take("into");
    if (!into) {
      actor = std::move(shrink);
      calls_on_ = {context.on};
      return true;
    }
    add_before(std::move(shrink), context, steps);
    actor.step->role = Role::kCreate;
    actor.step->communicator = names_.communicator(*into, false);
    actor.name = fmt::format("create {}", values_.word(*into).value_or(""));
    create_later(actor.step->communicator);
    return true;
  }
  const auto aborted = map.take("abort");
  if (!aborted) return false;
  const auto waits = map.take("waits");
  const std::vector<YamlValue> items = listed(*aborted);
  const bool several = items.size() > 1;
  for (const YamlValue& item : items) {
    ActorTemplate abort = communicator_step(item, Operation::kAbort, actor);
    for (CallTemplate& call : abort.step->calls) {
      call.waits = !several && (!waits || values_.truth(*waits).value_or(true));
    }
    if (several) add_before(std::move(abort), context, steps);
    if (!several) actor = std::move(abort);
  }
  for (std::size_t i = 0; several && i + 1 < items.size(); ++i) {
    add_before(communicator_step(items[i], Operation::kDrain, actor), context, steps);
  }
  if (several) actor = communicator_step(items.back(), Operation::kDrain, actor);
  actor.step->role = Role::kCalls;
  calls_on_ = {context.on};
  return true;
}

// Reports an operation that only NCCL has, on a communicator whose calls the host executes.
void ProgramReader::refuse_on_host(const CallTemplate& call) {
  const models::CommunicatorTemplate& communicator = graph_.communicators[call.communicator];
  const bool works = !is_of_host(call.operation) || call.operation == Operation::kDestroy ||
                     call.operation == Operation::kFinalize ||
                     call.operation == Operation::kSplit || call.operation == Operation::kDrain;
  if (works || !communicator.on_host) return;
  diagnostics().error(call.place, models::Code::kConflictingKeys,
                      fmt::format("'{}' needs a communicator of NCCL, but '{}' is one of the host",
                                  operation_name(call.operation), communicator.name));
}

namespace {

// Whether a rank can perform `use` on a communicator after `end`.
bool is_allowed_after(Operation end, Operation use) {
  if (use == Operation::kAbort || use == Operation::kDrain) return true;
  if (end == Operation::kFinalize) return use == Operation::kDestroy;
  return end == Operation::kRevoke &&
         (use == Operation::kDestroy || use == Operation::kSplit || use == Operation::kShrink);
}

const char* participle(Operation end) {
  return end == Operation::kFinalize ? "finalized"
         : end == Operation::kRevoke ? "revoked"
                                     : "aborted";
}

}  // namespace

// Reports the use of a communicator after its end on the same thread, and stores the ends in
// `actor`. Ignores other threads, because the file does not fix the order between threads.
void ProgramReader::check_ended(const ActorTemplate& actor, const Context& context) {
  const auto check = [&](std::uint32_t communicator, Operation use) {
    for (const Ended& ended : ended_) {
      if (ended.communicator != communicator || ended.thread != context.thread) continue;
      if (is_allowed_after(ended.by, use) || models::both(ended.on, context.on).empty()) continue;
      const char* what = participle(ended.by);
      diagnostics()
          .error(actor.place, models::Code::kUseAfter,
                 fmt::format("communicator '{}' is used after it was {}",
                             graph_.communicators[communicator].name, what))
          .notes.push_back(fmt::format("it is {} in {}", what, models::line_text(ended.place)));
      return;
    }
  };
  check(actor.step->communicator, Operation::kAllReduce);
  for (const CallTemplate& call : actor.step->calls) {
    if (call.communicator == kNoIndex) continue;
    check(call.communicator, call.operation);
    if (call.operation != Operation::kFinalize && !aborts(call.operation)) continue;
    ended_.push_back({call.communicator, call.operation, context.thread, context.on, actor.place});
  }
}

// Reads `synchronize`. `device` means all streams of the rank's devices; the step then names no
// streams.
void ProgramReader::read_synchronize(const YamlValue& value, ActorTemplate& actor) {
  const std::vector<YamlValue> items = listed(value);
  if (items.empty()) {
    diagnostics().error(value.place(), models::Code::kWrongType,
                        "'synchronize' needs a stream, or 'device' for all streams");
  }
  bool all = false;
  for (const YamlValue& item : items) {
    if (!count_visit(item.place())) return;
    const std::optional<std::string> name = values_.word(item);
    if (!name) continue;
    all = all || *name == "device";
    if (*name != "device") actor.step->streams.push_back(names_.awaited_stream(*name, item));
  }
  if (all) actor.step->streams.clear();
}

void ProgramReader::read_input(MapReader& map, ActorTemplate& actor) {
  actor.input.emplace();
  if (const auto items = map.require("items")) {
    actor.input->items = values_.expr(*items, ValueType::kNumber).value_or(Expr());
  }
  take_expr(map, "first", ValueType::kTime, actor.input->first);
  take_expr(map, "every", ValueType::kTime, actor.input->every);
}

// Reads the keys that steps of several kinds share. Returns false after an error that ends the
// step.
bool ProgramReader::read_common(MapReader& map, ActorTemplate& actor) {
  map.take_text("about");
  actor.step->at = map.take_text("at");
  if (const auto timeout = on_host(actor.step->role) ? map.take("timeout") : std::nullopt) {
    actor.step->timeout_ns = values_.constant(*timeout, ValueType::kTime);
    if (actor.step->timeout_ns.value_or(0) < 0) {
      diagnostics()
          .error(timeout->place(), models::Code::kOutOfRange,
                 fmt::format("'timeout' must be at least 0s, found {}", timeout->described()))
          .notes.emplace_back("0s: none");
      actor.step->timeout_ns = 0;
    }
  }
  if (const auto name = map.take("name")) actor.name = read_name(*name).value_or(actor.name);
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
      refuse_stream_of_host(diagnostics(), value->place());
      return false;
    }
    actor.stream = names_.stream(*name, value->place());
  }
  return true;
}

// Reads a name, which can contain expressions: `F{i}`.
std::optional<std::string> ProgramReader::read_name(const YamlValue& value) const {
  const std::optional<std::string> text = values_.word(value);
  if (!text) return std::nullopt;
  std::string name;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t open = text->find('{', at);
    const std::size_t close = text->find('}', open);
    name += text->substr(at, open - at);
    if (open == std::string::npos) break;
    if (close == std::string::npos) {
      diagnostics().error(value.place(), models::Code::kExpressionSyntax,
                          fmt::format("'{{' without '}}' in the name '{}'", *text));
      return std::nullopt;
    }
    TextPlace place{value.place(), value.quoted()};
    place.start = place.at(open + 1);
    place.quoted = false;
    const auto found = parse_expression(std::string_view(*text).substr(open + 1, close - open - 1),
                                        place, scope_, diagnostics());
    if (!found) return std::nullopt;
    if (found->type != ValueType::kWord && found->expr.depends_on_rank()) {
      diagnostics().error(place.start, models::Code::kDependsOnRank,
                          "a name must be the same on every rank: reports say the rank anyway");
      return std::nullopt;
    }
    name += to_text(*found);
    at = close + 1;
  }
  return name;
}

// Reads `after: [S]`: the step's stream first waits for the work on stream S so far, like
// cudaEventRecord and then cudaStreamWaitEvent.
void ProgramReader::read_after(const YamlValue& after, const ActorTemplate& actor,
                               const Context& context, Steps& steps) {
  for (const YamlValue& item : listed(after)) {
    const std::optional<std::string> name = values_.word(item);
    if (!name) continue;
    const std::uint32_t awaited = names_.awaited_stream(*name, item);
    add_wait_for(awaited, item.place(), actor, context, steps);
    for (auto& [stream, on] : names_.pair_streams(awaited, context.on)) {
      if (stream != actor.stream) {
        add_wait_for(stream, item.place(), actor, {context.thread, on}, steps);
      }
    }
  }
}

// If `actor` has `behind` with a group's stream, makes it also wait for the streams of the group's
// two-rank communicators.
void ProgramReader::wait_for_pairs(const ActorTemplate& actor, const Context& context,
                                   Steps& steps) {
  if (actor.behind == kNoIndex) return;
  for (auto& [stream, on] : names_.pair_streams(actor.behind, context.on)) {
    if (stream == actor.stream) continue;
    add_wait_for(stream, actor.place, actor, {context.thread, on}, steps);
  }
}

// Reports a `record` or `wait` on the stream of a group whose sends and recvs also use other
// streams: an event is on a single stream.
void ProgramReader::refuse_event_of_pairs(const ActorTemplate& actor, const RankSet& on) const {
  const Role role = actor.step->role;
  if (role != Role::kRecord && role != Role::kWait) return;
  const auto pairs = names_.pair_streams(actor.stream, on);
  if (pairs.empty()) return;
  const std::string& group = graph_.streams[actor.stream].name;
  const std::string& pair = graph_.streams[pairs.front().first].name;
  models::Diagnostic& error = diagnostics().error(
      actor.place, models::Code::kConflictingKeys,
      fmt::format("'{}' is on stream '{}', but with this backend messages of two ranks have a "
                  "stream of their own",
                  actor.name, group));
  error.notes.push_back(
      role == Role::kRecord
          ? fmt::format("for what comes after all of them, write 'after: [{}]' there; for those of "
                        "two ranks, 'stream: {}' here",
                        group, pair)
          : fmt::format("write 'stream: {}' here, for each pair of ranks", pair));
}

// Adds steps that make the stream of `actor` wait for the work on `stream`.
void ProgramReader::add_wait_for(std::uint32_t stream, Place place, const ActorTemplate& actor,
                                 const Context& context, Steps& steps) {
  const std::uint32_t index = event_before(
      fmt::format("{} before {}", graph_.streams[stream].name, actor.name), place, context.on);
  const std::string event = graph_.events[index].name;
  for (const Role role : {Role::kRecord, Role::kWait}) {
    ActorTemplate part;
    part.place = place;
    part.name = fmt::format("{} {}", role == Role::kRecord ? "record" : "wait for", event);
    part.stream = role == Role::kRecord ? stream : actor.stream;
    part.step.emplace();
    part.step->implied = true;
    part.step->role = role;
    part.step->event = index;
    part.step->at = actor.step->at;
    add_step(std::move(part), {}, context, steps);
  }
}

// Returns the event called `name` for a wait that a step at `place` implies. Programs of different
// ranks can use the same name, because each rank has its own events. All iterations of a loop share
// one event.
std::uint32_t ProgramReader::event_before(const std::string& name, Place place, const RankSet& on) {
  const std::tuple step(place.line, place.column, name, on.empty() ? 0 : on[0]);
  const auto made = made_events_.find(step);
  if (made != made_events_.end() && made->second.first == on) return made->second.second;
  const std::uint32_t event = names_.implied_event(names_.unique_name(name, on), place);
  if (open_loops_ > 0) made_events_.insert_or_assign(step, std::pair(on, event));
  return event;
}

// Reads the numbers at the end of op names: [first, step].
std::optional<models::Numbering> ProgramReader::read_numbers(const YamlValue& value) {
  const std::vector<YamlValue> items = listed(value);
  if (items.size() != 2) {
    diagnostics().error(
        value.place(), models::Code::kWrongType,
        "'numbers' must be [first, step]: the number of the first op, and the increment");
    return std::nullopt;
  }
  const auto first = values_.constant(items[0], ValueType::kNumber);
  const auto step = values_.constant(items[1], ValueType::kNumber);
  if (!first || !step) return std::nullopt;
  constexpr std::int64_t kMaxNumber = 1 << 24;
  if (*first >= 0 && *first <= kMaxNumber && *step >= -kMaxNumber && *step <= kMaxNumber) {
    return models::Numbering{*first, *step};
  }
  diagnostics().error(value.place(), models::Code::kOutOfRange,
                      fmt::format("numbers of ops must be between 0 and {}, found [{}, {}]",
                                  kMaxNumber, *first, *step));
  return std::nullopt;
}

// Reads the number of CTAs that start together.
void ProgramReader::read_thread_blocks(const YamlValue& value, StepTemplate& step) {
  constexpr std::int64_t kMaxCluster = 16;  // limit of an H100 for kernels that ask for more than 8
  step.cluster =
      static_cast<std::uint32_t>(values_.integer(value, "cluster", 1, kMaxCluster).value_or(1));
}

// Reads `numbers` and, if the step needs kernel slots, its kernel settings, `behind` and
// `waits_for`. Returns the waits from `waits_for`.
std::vector<ProgramReader::PendingWait> ProgramReader::read_waits(MapReader& map,
                                                                  ActorTemplate& actor) {
  std::vector<PendingWait> result;
  if (const auto numbers = map.take("numbers")) actor.numbers = read_numbers(*numbers);
  if (!sim::needs_slot(actor.step->role)) return result;
  if (map.has("ctas")) take_expr(map, "ctas", ValueType::kNumber, actor.step->ctas.emplace());
  if (const auto cooperative = map.take("cooperative")) {
    actor.step->cooperative = values_.truth(*cooperative).value_or(false);
  }
  if (const auto cluster = map.take("cluster")) read_thread_blocks(*cluster, *actor.step);
  if (const auto behind = map.take("behind")) {
    const std::optional<std::string> name = values_.word(*behind);
    if (name) actor.behind = names_.awaited_stream(*name, *behind);
  }
  const auto waits = map.take("waits_for");
  if (!waits) return result;
  for (const YamlValue& item : listed(*waits)) {
    PendingWait wait = read_wait(item);
    if (!wait.step.empty()) result.push_back(std::move(wait));
  }
  return result;
}

// Reads a wait: the name of a step, or a map. After an error, the result's `step` is empty.
ProgramReader::PendingWait ProgramReader::read_wait(const YamlValue& value) {
  PendingWait wait;
  wait.place = value.place();
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked) return wait;
  if (picked->is_scalar()) {
    wait.step = values_.word(*picked).value_or("");
    return wait;
  }
  MapReader fields(*picked, keys::kWait, diagnostics());
  if (const auto step = fields.require("step")) wait.step = values_.word(*step).value_or("");
  if (const auto ahead = fields.take("ahead")) {
    constexpr std::int64_t kMaxAhead = 1 << 30;
    wait.ahead =
        static_cast<std::uint32_t>(values_.integer(*ahead, "ahead", 0, kMaxAhead).value_or(0));
  }
  fields.finish();
  return wait;
}

// Resolves waits, which can be for steps later in the file.
void ProgramReader::connect_waits() {
  for (const auto& [index, wait] : pending_waits_) {
    ActorTemplate& actor = graph_.actors[index];
    const std::uint32_t other = names_.step_of(wait.step, actor.on);
    if (other != kNoIndex) {
      actor.after.push_back({other, wait.ahead});
      continue;
    }
    models::Diagnostic& error =
        diagnostics().error(wait.place, models::Code::kUnknownActor,
                            fmt::format("no step '{}' is on the ranks of this one", wait.step));
    models::suggest_name(error, wait.step, names_of(graph_.actors));
  }
}

void ProgramReader::take_expr(MapReader& map, const char* key, ValueType type, Expr& target) {
  const std::optional<YamlValue> value = map.take(key);
  if (!value) return;
  if (std::optional<Expr> found = values_.expr(*value, type)) target = std::move(*found);
}

}  // namespace pipesim::formats
