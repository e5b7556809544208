// Lowering in five passes: place the actors, connect the reads, balance the rates, check the
// programs, build. Each pass reports all its errors; later passes run only if there are none.
#include "models/lowering/lowering.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/lowering/balance.hpp"
#include "models/lowering/call_lowering.hpp"
#include "models/lowering/placement.hpp"
#include "models/lowering/programs.hpp"
#include "models/lowering/rank_diagnostics.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::RankId;

// Limit on a rank's memory, so that sums cannot overflow.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

class Lowering {
 public:
  // `kept`: null, or the ranks of lower_some(), to which the actors of `graph` are already
  // restricted.
  Lowering(const TaskGraph& graph, const RankSet* kept, Diagnostics& diagnostics)
      : graph_(graph),
        kept_(kept),
        diagnostics_(diagnostics),
        builder_(graph.ranks),
        placement_(graph, diagnostics_),
        programs_(graph, placement_, diagnostics_),
        calls_(graph, kept, placement_, diagnostics_, builder_) {}

  std::optional<Lowered> run();

 private:
  void balance_rates();
  void report(const BalanceError& error);
  void make_threads_and_streams();
  bool launches_nothing(const ActorTemplate& from, std::uint32_t rank) const;
  bool has_sms() const { return graph_.device.sms != Expr(); }
  std::uint32_t slots_of(ActorId id);
  std::uint32_t gang_of(ActorId id, std::uint32_t slots);
  void make_actors();
  void check_sizes();
  void check_size_of(ActorId id, const RegisterTemplate& reg, std::int64_t& all);
  void make_registers();
  void make_edges();
  void make_devices();
  void make_workers();
  std::map<std::uint32_t, std::vector<sim::StreamId>> streams_by_device(std::uint32_t rank) const;
  void make_step(ActorId id, sim::ThreadId thread);
  bool changes_communicator(const StepTemplate& step) const;
  sim::Role role_of(ActorId id, const CallTemplate& call);
  void change_communicator(ActorId id, sim::ThreadId thread);
  sim::OutsideInput input_of(ActorId id);
  void synchronize(ActorId id);
  bool name_object(ActorId id, sim::StepSpec& spec);
  sim::LockId lock_of(ActorId id);
  sim::SignalId signal_of(ActorId id);
  void check_record(ActorId id, const sim::StepSpec& spec);
  void make_collectives();
  void make_collective(std::uint32_t actor_template, std::uint32_t list);
  void make_waits();
  bool can_wait(ActorId id, ActorId other, std::uint32_t ahead);
  void make_rank_faults();
  void make_rank_fault(const RankFault& fault, std::uint32_t rank);

  const ActorTemplate& actor(ActorId id) const { return placement_.actor(id); }
  std::uint32_t rank_of(ActorId id) const { return placement_.rank_of(id); }
  std::int64_t ops(ActorId id) const { return ops_[id.value]; }
  bool is_kept(std::uint32_t rank) const { return kept_ == nullptr || kept_->contains(rank); }
  // Returns the rank's stream; an invalid id if the rank does not use it.
  sim::StreamId stream_of(std::uint32_t rank, std::uint32_t stream) const;

  const TaskGraph& graph_;
  const RankSet* kept_;
  RankDiagnostics diagnostics_;
  sim::PlanBuilder builder_;
  Placement placement_;
  Programs programs_;
  CallLowering calls_;
  Lowered lowered_;
  std::vector<std::int64_t> ops_;  // indexed by ActorId
  // Threads and streams of the plan, keyed by rank, then template; empty for a rank that is not
  // kept. `streams_` holds only the streams that the rank uses, in order, because a job can have a
  // stream per rank.
  std::vector<std::vector<sim::ThreadId>> threads_;
  std::vector<std::vector<std::pair<std::uint32_t, sim::StreamId>>> streams_;
  // Registers in the builder, keyed by actor, then by index in the template.
  sim::IdVector<ActorId, std::vector<sim::PlanBuilder::Output>> outputs_;
  // Signals and locks of steps, made at first use. Rank kNoIndex: all ranks share the object.
  // Keyed by event and rank.
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::SignalId> signals_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::LockId> locks_;  // keyed by lock and owner
  std::map<std::uint32_t, sim::StreamId> record_streams_;  // stream of its records, keyed by signal
  // Ranks that have finalized or revoked a communicator, with the template of the communicator.
  std::set<std::pair<std::uint32_t, std::uint32_t>> ended_;
};

std::optional<Lowered> Lowering::run() {
  placement_.run();
  if (diagnostics_.has_errors()) return std::nullopt;
  balance_rates();
  if (diagnostics_.has_errors()) return std::nullopt;
  programs_.check_counts(ops_);
  programs_.check_size(ops_);
  if (diagnostics_.has_errors()) return std::nullopt;
  make_threads_and_streams();
  make_devices();
  make_workers();
  calls_.find_tag_range(ops_);
  make_actors();
  if (diagnostics_.has_errors()) return std::nullopt;
  make_registers();
  check_sizes();
  if (diagnostics_.has_errors()) return std::nullopt;
  make_edges();
  make_collectives();
  if (diagnostics_.has_errors()) return std::nullopt;
  make_waits();
  programs_.make(threads_, builder_);
  make_rank_faults();
  if (diagnostics_.has_errors()) return std::nullopt;
  calls_.faults().set_timeouts();
  lowered_.link_names = calls_.faults().take_link_names();
  lowered_.plan = builder_.build();
  lowered_.register_template =
      sim::IdVector<sim::RegisterId, std::uint32_t>(lowered_.plan.registers.size());
  for (const ActorId id : ids_of(lowered_.plan.actors)) {
    std::uint32_t index = 0;
    for (const sim::RegisterId reg : lowered_.plan.registers_of(id)) {
      lowered_.register_template[reg] = index++;
    }
  }
  return std::move(lowered_);
}

// ---------------------------------------------------------------------------------------------
// Rates

void Lowering::balance_rates() {
  std::vector<std::int64_t> given(placement_.ids().size(), -1);
  for (const ActorId id : placement_.ids()) {
    if (actor(id).step) given[id.value] = programs_.count(id);
    if (!actor(id).ops) continue;
    given[id.value] = diagnostics_.number(*actor(id).ops, rank_of(id), 0, kMax32, actor(id).place,
                                          "the number of ops");
  }
  std::vector<BalanceError> errors;
  ops_ = balance(given, placement_.edges(), errors);
  for (const BalanceError& error : errors) report(error);
}

void Lowering::report(const BalanceError& error) {
  const ActorTemplate& from = actor(ActorId{error.actor});
  const std::string name = "'" + from.name + "'";
  const std::string where = " on " + rank_text(rank_of(ActorId{error.actor}));
  if (error.kind == BalanceError::Kind::kUnknown) {
    Diagnostic* told = diagnostics_.error_once(
        from.place, Code::kRates, "nothing determines how often " + name + " runs" + where);
    if (told != nullptr) {
      told->notes.emplace_back("add 'source: N' to it, or to an actor that feeds it");
    }
    return;
  }
  const RatedEdge& edge = placement_.edges()[error.edge];
  const std::string ends = "'" + actor(ActorId{edge.producer}).name + "' to '" +
                           actor(ActorId{edge.consumer}).name + "'";
  const std::string count = std::to_string(error.found);
  const std::string rates = "the rates from " + ends + " do not balance: ";
  const std::string wanted = std::to_string(error.wanted);
  const Place place = placement_.read_of(error.edge).place;
  switch (error.kind) {
    case BalanceError::Kind::kUneven:
      diagnostics_.error_once(
          place, Code::kRates,
          rates + name + where + " runs " + count + " times, which is not a multiple of " + wanted);
      break;
    case BalanceError::Kind::kContradiction:
      diagnostics_.error_once(place, Code::kRates,
                              rates + name + where + " runs " + count +
                                  " times, but this edge needs it to run " + wanted + " times");
      break;
    case BalanceError::Kind::kTooMany:
      diagnostics_.error_once(
          place, Code::kRates,
          rates + name + where + " would run more than " + std::to_string(kMax32) + " times");
      break;
    case BalanceError::Kind::kUnknown:
      break;
  }
}

// ---------------------------------------------------------------------------------------------
// Building

// Makes the named threads and streams, rank by rank and then in file order. Skips threads and
// streams that no actor of the rank uses.
void Lowering::make_threads_and_streams() {
  threads_.resize(graph_.ranks);
  streams_.resize(graph_.ranks);
  auto next = placement_.ids().begin();  // sorted by rank
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    if (!is_kept(rank)) continue;
    std::set<std::uint32_t> used_threads;
    std::set<std::uint32_t> used_streams;
    for (; next != placement_.ids().end() && rank_of(*next) == rank; ++next) {
      const std::uint32_t thread = placement_.thread_of(*next);
      if (thread != kNoIndex) used_threads.insert(thread);
      if (actor(*next).stream != kNoIndex) used_streams.insert(actor(*next).stream);
    }
    threads_[rank].resize(graph_.threads.size());
    for (const std::uint32_t t : used_threads) {
      threads_[rank][t] = builder_.add_thread(RankId{rank}, graph_.threads[t].order);
      lowered_.thread_template.push_back(t);
      lowered_.thread_owner.push_back(kNoIndex);
    }
    for (const std::uint32_t s : used_streams) {
      const StreamTemplate& stream = graph_.streams[s];
      const std::int64_t queue = diagnostics_.number(stream.launch_queue, rank, 1, kMax32,
                                                     stream.place, "the launch queue");
      streams_[rank].emplace_back(
          s, builder_.add_stream(RankId{rank}, static_cast<std::uint32_t>(queue)));
      lowered_.stream_template.push_back(s);
      lowered_.stream_owner.push_back(kNoIndex);
    }
  }
}

sim::StreamId Lowering::stream_of(std::uint32_t rank, std::uint32_t stream) const {
  const auto& streams = streams_[rank];
  const auto found =
      std::lower_bound(streams.begin(), streams.end(), stream,
                       [](const auto& used, std::uint32_t of) { return used.first < of; });
  return found != streams.end() && found->first == stream ? found->second : sim::StreamId();
}

std::map<std::uint32_t, std::vector<sim::StreamId>> Lowering::streams_by_device(
    std::uint32_t rank) const {
  std::map<std::uint32_t, std::vector<sim::StreamId>> devices;
  for (const auto& [s, stream] : streams_[rank]) {
    if (!graph_.streams[s].on_host) devices[graph_.streams[s].device].push_back(stream);
  }
  return devices;
}

// Makes a device only if it has limits or if host programs of the job make calls; other devices
// have no effect.
void Lowering::make_devices() {
  const bool calls = std::any_of(
      graph_.actors.begin(), graph_.actors.end(),
      [](const ActorTemplate& actor) { return actor.step && !actor.step->calls.empty(); });
  const Expr hardware_queues = graph_.hardware_queues();
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    if (!is_kept(rank)) continue;
    const auto limit = [&](const Expr& expr, const char* what) {
      return static_cast<std::uint32_t>(diagnostics_.number(expr, rank, 0, kMax32, Place(), what));
    };
    sim::DeviceSpec spec;
    spec.resident = limit(graph_.device.resident, "the number of resident kernels");
    if (has_sms()) spec.resident = limit(graph_.device.sms, "the number of SMs");
    spec.launch_queue = limit(graph_.device.launch_queue, "the launch queue of a device");
    spec.order = graph_.device.order;
    spec.holds_queues = graph_.device.vendor == Vendor::kAmd;
    const std::uint32_t queues = limit(hardware_queues, "the number of hardware queues");
    for (const auto& [number, streams] : streams_by_device(rank)) {
      // A queue per stream has no effect.
      const bool shared = queues > 0 && streams.size() > queues;
      const bool limited = shared || spec.resident > 0 || spec.launch_queue > 0 ||
                           spec.order != sim::LaunchOrder::kNone;
      if (!limited && !calls) continue;
      spec.hardware_queues = shared ? queues : 0;
      spec.any_queue = shared && queues > 1;
      const sim::DeviceId device = builder_.add_device(RankId{rank}, spec);
      for (const sim::StreamId stream : streams) builder_.put_on_device(stream, device);
    }
  }
}

// Models the two worker threads of each gloo group, which take its collectives in call order. If a
// group uses more than two streams, puts them on a separate device with two slots.
void Lowering::make_workers() {
  constexpr std::uint32_t kWorkers = 2;
  std::map<std::uint32_t, std::uint32_t> group_of;  // keyed by stream of collectives
  for (const ActorTemplate& actor : graph_.actors) {
    if (!actor.step || actor.step->calls.empty()) continue;
    const CallTemplate& call = actor.step->calls.front();
    const CommunicatorTemplate& communicator = graph_.communicators[call.communicator];
    const bool collective = call.kind == sim::CallKind::kCollective || actor.step->calls.size() > 1;
    if (communicator.is_gloo && collective) group_of[actor.stream] = communicator.group;
  }
  for (std::uint32_t rank = 0; rank < graph_.ranks && !group_of.empty(); ++rank) {
    std::map<std::uint32_t, std::vector<sim::StreamId>> streams;  // keyed by group
    for (const auto& [stream, group] : group_of) {
      const sim::StreamId id = stream_of(rank, stream);
      if (id.valid()) streams[group].push_back(id);
    }
    for (const auto& [group, of_group] : streams) {
      if (of_group.size() <= kWorkers) continue;
      sim::DeviceSpec spec;
      spec.resident = kWorkers;
      spec.order = sim::LaunchOrder::kImplicit;
      spec.launch_queue = kMax32;  // the library's queue has no limit
      const sim::DeviceId device = builder_.add_device(RankId{rank}, spec);
      for (const sim::StreamId id : of_group) builder_.put_on_device(id, device);
    }
  }
}

// Returns the number of kernel slots that an op needs: its CTAs if the device has SMs, else 1; 0 if
// the op runs on copy engines.
std::uint32_t Lowering::slots_of(ActorId id) {
  if (actor(id).step && runs_on_copy_engines(graph_, *actor(id).step, rank_of(id))) return 0;
  if (!has_sms() || !actor(id).step) return 1;
  const StepTemplate& step = *actor(id).step;
  const std::uint32_t rank = rank_of(id);
  std::int64_t ctas = 0;
  std::vector<std::uint32_t> communicators;  // each has its own kernel
  for (const CallTemplate& call : step.calls) communicators.push_back(call.communicator);
  std::sort(communicators.begin(), communicators.end());
  communicators.erase(std::unique(communicators.begin(), communicators.end()), communicators.end());
  for (const std::uint32_t each : communicators) ctas += graph_.communicators[each].ctas;
  const Place place = actor(id).place;
  if (step.ctas) ctas = diagnostics_.number(*step.ctas, rank, 0, kMax32, place, "its CTAs");
  const std::int64_t sms =
      diagnostics_.number(graph_.device.sms, rank, 0, kMax32, Place(), "the number of SMs");
  if (sms > 0 && ctas > sms) {
    diagnostics_.error_once(place, Code::kOutOfRange,
                            "'" + actor(id).name + "' has " + std::to_string(ctas) +
                                " CTAs, which never fit on the " + std::to_string(sms) +
                                " SMs of " + rank_text(rank));
    return 1;
  }
  return static_cast<std::uint32_t>(ctas);
}

// Returns the number of slots that an op takes at a time: the size of its clusters of CTAs; for a
// cooperative launch, all slots.
std::uint32_t Lowering::gang_of(ActorId id, std::uint32_t slots) {
  const ActorTemplate& from = actor(id);
  if (!has_sms() || !from.step || slots == 0) return 1;
  if (from.step->cooperative) return slots;
  if (slots % from.step->cluster == 0) return from.step->cluster;
  diagnostics_.error_once(from.place, Code::kOutOfRange,
                          "'" + from.name + "' has " + std::to_string(slots) +
                              " CTAs, which are not a multiple of its clusters of " +
                              std::to_string(from.step->cluster));
  return 1;
}

// Whether the step is a collective of 0 elements that waits for no other rank.
bool Lowering::launches_nothing(const ActorTemplate& from, std::uint32_t rank) const {
  const ShortList<CallTemplate>& calls = from.step->calls;
  if (calls.size() != 1 || calls.front().kind != sim::CallKind::kCollective) return false;
  const CallTemplate& call = calls.front();
  return call.sized && call.bytes.value(rank) == 0 &&
         !waits_without_elements(graph_.communicators[call.communicator], call.operation);
}

void Lowering::make_actors() {
  for (const ActorId id : placement_.ids()) {
    const ActorTemplate& from = actor(id);
    const std::uint32_t rank = rank_of(id);
    const std::uint32_t thread = placement_.thread_of(id);
    if (from.step && from.step->role != sim::Role::kOp && !launches_nothing(from, rank)) {
      make_step(id, threads_[rank][thread]);
      continue;
    }
    sim::ActorSpec spec;
    if (thread == kNoIndex) {
      spec.thread = builder_.add_thread(RankId{rank}, sim::ThreadOrder::kArrival);
      lowered_.thread_template.push_back(kNoIndex);
      lowered_.thread_owner.push_back(placement_.template_of(id));
    } else {
      spec.thread = threads_[rank][thread];
    }
    if (from.stream == kNoIndex) {
      const std::int64_t queue =
          diagnostics_.number(graph_.launch_queue, rank, 1, kMax32, from.place, "the launch queue");
      spec.stream = builder_.add_stream(RankId{rank}, static_cast<std::uint32_t>(queue));
      lowered_.stream_template.push_back(kNoIndex);
      lowered_.stream_owner.push_back(placement_.template_of(id));
    } else {
      spec.stream = stream_of(rank, from.stream);
    }
    spec.takes = {
        diagnostics_.number(from.takes, rank, 0, kMaxNs, from.place, "the time it takes", " ns")};
    spec.launch_overhead = {diagnostics_.number(from.launch_overhead, rank, 0, kMaxNs, from.place,
                                                "the launch overhead", " ns")};
    if (from.collective) spec.takes.ns = calls_.time_of(id, *from.collective, spec.takes.ns);
    spec.ops = static_cast<std::uint32_t>(ops(id));
    spec.immediate = from.immediate;
    spec.blocking = from.blocking;
    spec.input = input_of(id);
    spec.kernel_slots = slots_of(id);
    spec.gang = gang_of(id, spec.kernel_slots);
    builder_.add_actor(spec);
    lowered_.actor_template.push_back(placement_.template_of(id));
  }
}

// ---------------------------------------------------------------------------------------------
// Steps

void Lowering::make_step(ActorId id, sim::ThreadId thread) {
  const ActorTemplate& from = actor(id);
  const StepTemplate& step = *from.step;
  const std::uint32_t rank = rank_of(id);
  if (changes_communicator(step)) return change_communicator(id, thread);
  sim::StepSpec spec;
  const bool loaded = graph_.device.eager_loading || graph_.nccl_mode != NcclMode::kCold;
  const bool skipped = step.only_cold && loaded;
  spec.role = skipped ? sim::Role::kWork : step.role;
  if (step.role == sim::Role::kCalls) {
    spec.kernel_slots = slots_of(id);
    spec.gang = gang_of(id, spec.kernel_slots);
    spec.unordered = runs_on_copy_engines(graph_, step, rank);
  }
  spec.thread = thread;
  if (!on_host(step.role)) spec.stream = stream_of(rank, from.stream);
  spec.launch_overhead = {diagnostics_.number(from.launch_overhead, rank, 0, kMaxNs, from.place,
                                              "the launch overhead", " ns")};
  // To the engine, launch overhead and duration are both host thread time.
  if (step.role == sim::Role::kWork) {
    spec.launch_overhead.ns +=
        diagnostics_.number(from.takes, rank, 0, kMaxNs - spec.launch_overhead.ns, from.place,
                            "the time it takes", " ns");
  }
  spec.ops = static_cast<std::uint32_t>(ops(id));
  spec.blocking = from.blocking;
  // An event that this rank never records does not block, as in CUDA.
  const bool shared = step.event != kNoIndex && graph_.events[step.event].shared;
  spec.times = shared ? static_cast<std::uint32_t>(step.times) : 0;
  if (on_host(step.role)) {
    const bool reads_store = step.role == sim::Role::kAwait && shared;
    // A thread that loads a kernel blocks its watchdog. The heartbeat monitor then kills the rank,
    // after a dump and one more interval.
    const bool loads = step.only_cold && !skipped;
    const std::int64_t usual = reads_store ? graph_.timeouts.store_ns
                               : loads     ? 2 * graph_.timeouts.heartbeat_ns
                                           : 0;
    spec.timeout = {step.timeout_ns.value_or(usual)};
  }
  spec.input = input_of(id);
  if (!name_object(id, spec)) return;
  if (diagnostics_.has_errors()) return;  // a step with errors cannot be built
  const ActorId added = builder_.add_step(spec);
  if (!step.dies.empty() && spec.ops > 0) builder_.set_dies_at(added, 0);
  lowered_.actor_template.push_back(placement_.template_of(id));
  if (spec.role == sim::Role::kSynchronize) synchronize(id);
  for (const CallTemplate& call : step.calls) calls_.add(id, call);
}

// Sets the object that the step names. Returns false after an error.
bool Lowering::name_object(ActorId id, sim::StepSpec& spec) {
  const StepTemplate& step = *actor(id).step;
  switch (sim::facts(step.role).object) {
    case sim::Object::kSignal:
      spec.signal = signal_of(id);
      if (step.role == sim::Role::kRecord) check_record(id, spec);
      return true;
    case sim::Object::kLock:
      spec.lock = lock_of(id);
      return true;
    case sim::Object::kCommunicator: {
      const std::uint32_t list = calls_.list_of(id, step.communicator, actor(id).place);
      if (list == kNoIndex) return false;
      spec.communicator = calls_.communicator_of(step.communicator, list,
                                                 graph_.communicators[step.communicator].group);
      return true;
    }
    case sim::Object::kNone:
    case sim::Object::kCount:
      break;
  }
  return true;
}

// Whether the step is a host operation that changes a communicator. MPI's operations of this kind
// are collectives.
bool Lowering::changes_communicator(const StepTemplate& step) const {
  if (step.calls.size() != 1 || !is_of_host(step.calls[0].operation)) return false;
  const CommunicatorTemplate& communicator = graph_.communicators[step.calls[0].communicator];
  return !communicator.on_host || communicator.is_gloo ||
         step.calls[0].operation == Operation::kDrain;
}

// Returns the role of a step that changes a communicator: meeting the hosts of other ranks, ending
// the rank's calls, or waiting for them. A destroy after a finalize or revoke does nothing.
sim::Role Lowering::role_of(ActorId id, const CallTemplate& call) {
  const bool ended = ended_.count({rank_of(id), call.communicator}) > 0;
  if (call.operation == Operation::kFinalize || call.operation == Operation::kRevoke) {
    ended_.insert({rank_of(id), call.communicator});
  }
  switch (call.operation) {
    case Operation::kAbort:
    case Operation::kRevoke:
      return sim::Role::kAbort;
    case Operation::kShrink:
      return call.aborts ? sim::Role::kAbort : sim::Role::kDrain;
    case Operation::kDrain:
      return sim::Role::kDrain;
    case Operation::kDestroy:
    case Operation::kFinalize:
      if (ended) return sim::Role::kWork;
      return graph_.destroy_meets && !graph_.communicators[call.communicator].on_host
                 ? sim::Role::kMeet
                 : sim::Role::kDrain;
    default:
      return sim::Role::kMeet;
  }
}

void Lowering::change_communicator(ActorId id, sim::ThreadId thread) {
  const ActorTemplate& from = actor(id);
  const CallTemplate& call = from.step->calls[0];
  const std::uint32_t rank = rank_of(id);
  sim::StepSpec spec;
  spec.role = role_of(id, call);
  spec.thread = thread;
  spec.launch_overhead = {diagnostics_.number(from.launch_overhead, rank, 0, kMaxNs, from.place,
                                              "the launch overhead", " ns")};
  spec.launch_overhead.ns +=
      diagnostics_.number(call.takes, rank, 0, kMaxNs - spec.launch_overhead.ns, call.place,
                          "the time it takes", " ns");
  spec.ops = static_cast<std::uint32_t>(ops(id));
  const std::uint32_t list = calls_.list_of(id, call.communicator, call.place);
  if (list == kNoIndex) return;
  const bool meets = spec.role == sim::Role::kMeet;
  if (meets) spec.meeting = calls_.meeting_of(id, call, list);
  const bool suspends =
      call.operation == Operation::kSuspend || call.operation == Operation::kResume;
  // A split needs an initialized communicator.
  if (spec.role != sim::Role::kWork && !suspends) {
    spec.communicator = calls_.communicator_of(call.communicator, list,
                                               graph_.communicators[call.communicator].group);
  }
  spec.drains = call.waits && call.operation != Operation::kSplit && !suspends;
  if (diagnostics_.has_errors()) return;
  builder_.add_step(spec);
  lowered_.actor_template.push_back(placement_.template_of(id));
  if (call.operation == Operation::kSuspend) synchronize(id);
}

// Returns the outside input of a source, if it waits for any.
sim::OutsideInput Lowering::input_of(ActorId id) {
  sim::OutsideInput result;
  const ActorTemplate& from = actor(id);
  const std::uint32_t rank = rank_of(id);
  if (!from.input) return result;
  result.waits = true;
  result.items = static_cast<std::uint32_t>(
      diagnostics_.number(from.input->items, rank, 0, ops(id), from.place, "the number of inputs"));
  result.first = {diagnostics_.number(from.input->first, rank, 0, kMaxNs, from.place,
                                      "the time of the first input", " ns")};
  result.every = {diagnostics_.number(from.input->every, rank, 0, kMaxNs, from.place,
                                      "the time between inputs", " ns")};
  return result;
}

// Sets the streams that the most recently added step synchronizes.
void Lowering::synchronize(ActorId id) {
  const StepTemplate& step = *actor(id).step;
  const auto is_meant = [&](std::uint32_t s) {
    if (step.streams.empty()) return !graph_.streams[s].on_host;
    return std::find(step.streams.begin(), step.streams.end(), s) != step.streams.end();
  };
  std::vector<sim::StreamId> streams;
  for (const auto& [s, stream] : streams_[rank_of(id)]) {
    if (is_meant(s)) streams.push_back(stream);
  }
  builder_.set_synchronized(std::move(streams));
}

sim::LockId Lowering::lock_of(ActorId id) {
  const std::uint32_t of = actor(id).step->lock;
  const std::uint32_t rank =
      graph_.locks[of].of_rank ? rank_of(id) : graph_.process_of(rank_of(id));
  const auto [lock, is_new] = locks_.try_emplace({of, rank});
  if (is_new) lock->second = builder_.add_lock(RankId{rank});
  return lock->second;
}

sim::SignalId Lowering::signal_of(ActorId id) {
  const std::uint32_t event = actor(id).step->event;
  const std::uint32_t rank = graph_.events[event].shared ? kNoIndex : rank_of(id);
  const auto [signal, is_new] = signals_.try_emplace({event, rank});
  if (is_new) signal->second = builder_.add_signal();
  return signal->second;
}

// Reports an event recorded on two streams: the last record would depend on the interleaving.
void Lowering::check_record(ActorId id, const sim::StepSpec& spec) {
  const auto [known, is_new] = record_streams_.try_emplace(spec.signal.value, spec.stream);
  if (is_new || known->second == spec.stream) return;
  diagnostics_.error_once(actor(id).place, Code::kTwoStreams,
                          "event '" + graph_.events[actor(id).step->event].name +
                              "' is recorded on two streams of " + rank_text(rank_of(id)));
}

// ---------------------------------------------------------------------------------------------
// Waits for other streams

void Lowering::make_waits() {
  for (const ActorId id : placement_.ids()) {
    const ActorTemplate& from = actor(id);
    const std::uint32_t rank = rank_of(id);
    if (from.behind != kNoIndex && from.behind != from.stream) {
      const sim::StreamId behind = stream_of(rank, from.behind);
      if (behind.valid()) builder_.set_behind(id, behind);
    }
    for (const AfterTemplate& after : from.after) {
      const ActorId other = placement_.find(after.actor, rank);
      if (can_wait(id, other, after.ahead)) builder_.add_after(id, other, after.ahead);
    }
  }
}

bool Lowering::can_wait(ActorId id, ActorId other, std::uint32_t ahead) {
  const std::string name = "'" + actor(id).name + "'";
  const std::string where = " on " + rank_text(rank_of(id));
  if (!other.valid()) {
    diagnostics_.error_once(actor(id).place, Code::kUnknownActor,
                            name + " waits for a step that does not exist" + where);
    return false;
  }
  const std::string its = "'" + actor(other).name + "'";
  if (actor(other).stream == kNoIndex || actor(other).stream == actor(id).stream) {
    diagnostics_.error_once(
        actor(id).place, Code::kTwoStreams,
        name + " waits for " + its + ", which is not on another stream" + where);
    return false;
  }
  if (ops(id) + ahead > ops(other)) {
    diagnostics_.error_once(actor(id).place, Code::kUnknownOp,
                            name + " waits for " + std::to_string(ops(id) + ahead) + " ops of " +
                                its + ", which runs " + std::to_string(ops(other)) + " times" +
                                where);
    return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// Faults of ranks

void Lowering::make_rank_faults() {
  for (const RankFault& fault : graph_.faults.ranks) {
    for (const std::uint32_t rank : fault.ranks) make_rank_fault(fault, rank);
  }
}

void Lowering::make_rank_fault(const RankFault& fault, std::uint32_t rank) {
  if (fault.at) {
    const std::int64_t at =
        diagnostics_.number(*fault.at, rank, 0, kMaxNs, fault.place, "the time", " ns");
    builder_.add_death(RankId{rank}, {at});
    return;
  }
  const ActorTemplate& from = graph_.actors[fault.actor];
  const ActorId id = placement_.find(fault.actor, rank);
  if (!id.valid()) {
    diagnostics_.error_once(fault.place, Code::kUnknownActor,
                            rank_text(rank) + " has no '" + from.name + "'");
    return;
  }
  if (fault.op >= ops(id)) {
    diagnostics_.error_once(fault.place, Code::kUnknownOp,
                            "'" + from.name + "' runs " + std::to_string(ops(id)) + " times on " +
                                rank_text(rank) + ", so there is no #" +
                                std::to_string(fault.op + 1));
    return;
  }
  if (!fault.device_error) {
    builder_.set_dies_at(id, fault.op);
  } else if (!from.step || from.step->role == sim::Role::kOp) {
    builder_.set_fails_at(id, fault.op);
  } else {
    diagnostics_.error_once(fault.place, Code::kFault,
                            "'" + from.name + "' is not a kernel, so a device error cannot end it");
  }
}

// ---------------------------------------------------------------------------------------------
// Registers and edges

void Lowering::make_registers() {
  outputs_ = decltype(outputs_)(placement_.ids().size());
  for (const ActorId id : placement_.ids()) {
    for (const RegisterTemplate& reg : actor(id).registers) {
      sim::RegisterSpec spec;
      const auto value = [&](const Expr& expr, std::int64_t least, const char* what) {
        return static_cast<std::uint32_t>(
            diagnostics_.number(expr, rank_of(id), least, kMax32, reg.place, what));
      };
      spec.slots = value(reg.slots, 1, "the number of slots");
      spec.ops_per_slot = value(reg.ops_per_slot, 1, "the ops per slot");
      spec.drain_every = value(reg.drain_every, 0, "the ops per drain");
      spec.control = reg.control;
      if (spec.drain_every % spec.ops_per_slot != 0) {
        diagnostics_.error_once(reg.place, Code::kRates,
                                "register '" + reg.name + "' of '" + actor(id).name +
                                    "' is filled every " + std::to_string(spec.ops_per_slot) +
                                    " ops, which does not divide the " +
                                    std::to_string(spec.drain_every) + " that it repeats");
        continue;
      }
      outputs_[id].push_back(builder_.add_register(id, spec));
    }
  }
}

// Checks memory sizes here, because a plan has no memory sizes: no op waits for memory.
void Lowering::check_sizes() {
  std::vector<std::int64_t> all(graph_.ranks, 0);
  for (std::uint32_t rank = 0; graph_.memory && rank < graph_.ranks; ++rank) {
    all[rank] = diagnostics_.number(*graph_.memory, rank, 0, kMaxBytes, {},
                                    "the memory held all the time", " bytes");
  }
  for (const ActorId id : placement_.ids()) {
    for (const RegisterTemplate& reg : actor(id).registers) {
      if (reg.bytes) check_size_of(id, reg, all[rank_of(id)]);
    }
  }
}

// Adds the bytes of the register's slots to `all`, the total of its rank.
void Lowering::check_size_of(ActorId id, const RegisterTemplate& reg, std::int64_t& all) {
  const std::uint32_t rank = rank_of(id);
  const Place place = reg.bytes->place().line == 0 ? reg.place : reg.bytes->place();
  if (reg.control) {
    diagnostics_.error_once(place, Code::kControlAndData,
                            "the control register '" + reg.name + "' of '" + actor(id).name +
                                "' carries no data, so it has no size");
    return;
  }
  const std::int64_t bytes =
      diagnostics_.number(*reg.bytes, rank, 0, kMaxBytes, place, "the size of a slot", " bytes");
  const std::int64_t slots =
      diagnostics_.number(reg.slots, rank, 1, kMax32, reg.place, "the number of slots");
  if (bytes <= (kMaxBytes - all) / slots) {
    all += bytes * slots;
    return;
  }
  diagnostics_.error_once(place, Code::kLimit,
                          "with the slots of '" + actor(id).name + "' " + rank_text(rank) +
                              " holds more than 1024 PiB");
}

void Lowering::make_edges() {
  sim::IdVector<ActorId, std::uint8_t> has_data(placement_.ids().size(), 0);
  for (std::size_t i = 0; i < placement_.edges().size(); ++i) {
    const RatedEdge& edge = placement_.edges()[i];
    const ActorId producer{edge.producer};
    const ActorId consumer{edge.consumer};
    const std::uint32_t reg = placement_.read_of(i).reg;
    builder_.add_consumer(outputs_[producer][reg], consumer, edge.ops_per_take);
    if (actor(producer).registers[reg].control || has_data[consumer] != 0) continue;
    has_data[consumer] = 1;
    const ActorTemplate& from = actor(consumer);
    if (!from.in_place) continue;
    const Expr& fills = from.registers.front().ops_per_slot;
    if (edge.ops_per_take != 1 || fills.value(rank_of(consumer)) != 1) {
      diagnostics_.error_once(
          from.place, Code::kInPlace,
          "'" + from.name + "' cannot work in place: it does not produce one output per input");
      continue;
    }
    builder_.set_in_place(outputs_[consumer].front());
  }
}

// Makes the collectives of actors: one per list of the actor's group, if a member of the list has
// the actor.
void Lowering::make_collectives() {
  for (std::uint32_t t = 0; t < graph_.actors.size(); ++t) {
    if (!graph_.actors[t].collective) continue;
    const Group& group = graph_.groups[graph_.actors[t].collective->group];
    for (std::uint32_t list = 0; list < group.lists.size(); ++list) make_collective(t, list);
    for (const std::uint32_t rank : graph_.actors[t].on) {
      if (group.list_of(rank) != kNoIndex) continue;
      diagnostics_.error_once(graph_.actors[t].collective->place, Code::kNotInGroup,
                              "'" + graph_.actors[t].name + "' is on " + rank_text(rank) +
                                  ", which is not in group '" + group.name + "'");
    }
  }
}

void Lowering::make_collective(std::uint32_t actor_template, std::uint32_t list) {
  const CollectiveTemplate& from = *graph_.actors[actor_template].collective;
  std::vector<sim::Member> members;
  bool anyone = false;
  for (const std::uint32_t rank : graph_.groups[from.group].lists[list]) {
    if (!is_kept(rank)) continue;
    const ActorId id = placement_.find(actor_template, rank);
    anyone = anyone || id.valid();
    members.push_back({RankId{rank}, id});
  }
  if (!anyone) return;
  builder_.add_collective(calls_.communicator_of(from.communicator, list, from.group),
                          std::move(members));
}

}  // namespace

Lowered::Lowered() = default;
Lowered::Lowered(const Lowered&) = default;
Lowered::Lowered(Lowered&&) noexcept = default;
Lowered& Lowered::operator=(const Lowered&) = default;
Lowered& Lowered::operator=(Lowered&&) noexcept = default;
Lowered::~Lowered() = default;

std::optional<Lowered> lower(const TaskGraph& graph, Diagnostics& diagnostics) {
  return Lowering(graph, nullptr, diagnostics).run();
}

std::optional<Lowered> lower_some(const TaskGraph& graph, const RankSet& kept,
                                  Diagnostics& diagnostics) {
  TaskGraph some = graph;
  // The restricted sets, keyed by the storage of the original sets, because steps share their sets.
  std::map<const std::uint32_t*, RankSet> sets;
  for (ActorTemplate& actor : some.actors) {
    const auto [set, is_new] = sets.try_emplace(actor.on.begin());
    if (is_new) set->second = both(actor.on, kept);
    actor.on = set->second;
  }
  return Lowering(some, &kept, diagnostics).run();
}

}  // namespace pipesim::models
