#include "models/result/explanation.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "models/lowering/missing_call.hpp"
#include "models/lowering/names.hpp"
#include "models/lowering/transport.hpp"
#include "models/result/peer_errors.hpp"
#include "models/units.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::WaitEdge;
using sim::WaitGraph;
using sim::WaitNode;
using sim::WaitNodeKind;

bool spins(const TaskGraph& graph, const Lowered& lowered, ActorId id);
void say_call(const TaskGraph& graph, const Lowered& lowered, sim::CallId id, OpInfo& op);

bool is_implied(const ActorTemplate& actor) { return actor.step && actor.step->implied; }

class Explainer {
 public:
  Explainer(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome,
            const WaitGraph& waits, const std::vector<std::uint32_t>* copies)
      : graph_(graph),
        lowered_(lowered),
        plan_(lowered.plan),
        outcome_(outcome),
        state_(outcome.state),
        waits_(waits),
        copies_(copies),
        names_(graph, lowered) {}

  Explanation run();

 private:
  void decide();
  void count_calls(Root& root);
  void find_missing(Root& root, sim::CommunicatorId communicator, sim::CallId waiting);
  void explain_mismatches();
  void explain_deaths();
  std::string what_killed(const sim::RankDeath& death) const;
  std::string fault_that_killed(const sim::RankDeath& death) const;
  std::string denial_that_killed(const sim::RankDeath& death) const;
  std::string what_failed(const sim::DeviceError& error) const;
  void report_ranks();
  void report_actor(RankReport& report, ActorId actor);
  void report_thread(RankReport& report, sim::ThreadId id);
  Progress phase_progress(std::uint32_t phase, const std::vector<ActorId>& actors) const;
  Progress phase_of_steps(std::uint32_t phase, const std::vector<ActorId>& actors) const;
  void add_ops(Progress& progress, ActorId actor) const;
  void add_phases(RankReport& report, const std::vector<ActorId>& actors) const;
  void add_programs(RankReport& report, const std::vector<ActorId>& actors) const;
  std::uint32_t steps_in(const sim::Thread& thread, std::uint32_t begin, std::uint32_t end) const;
  void add_streams(RankReport& report, const std::vector<ActorId>& actors) const;
  void stand_at_head(Progress& progress, sim::StreamId stream) const;
  const CallTemplate& call_template(sim::CallId id) const;
  void see_rules();
  bool sends_first(const Wait& wait) const;
  bool waits_registered(const Wait& wait) const;
  std::optional<Operation> meeting_of(const Wait& wait) const;
  bool waits_to_destroy(const Wait& wait) const;
  bool waits_to_suspend(const Wait& wait) const;
  std::optional<Wait> first_wait(ActorId actor, std::uint32_t k) const;
  Wait wait(const WaitEdge& edge) const {
    return describe_wait(graph_, lowered_, state_, waits_, edge);
  }

  const TaskGraph& graph_;
  const Lowered& lowered_;
  const sim::Plan& plan_;
  const sim::Outcome& outcome_;
  const sim::State& state_;
  const WaitGraph& waits_;
  const std::vector<std::uint32_t>* copies_;
  Names names_;
  std::optional<CollectiveCalls> collective_calls_;
  // For each communicator, the numbers of calls that the ranks made: as pairs of rank and number,
  // highest number first; and by rank.
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> made_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> made_of_rank_;
  // The communicator and rank of `calls_of_waiter_`.
  std::pair<std::uint32_t, std::uint32_t> waiter_ = {kNoIndex, kNoIndex};
  CallsOfRank calls_of_waiter_;
  Explanation result_;
};

Explanation Explainer::run() {
  result_.time_ns = outcome_.last_progress.ns;
  result_.ops_done = outcome_.ops_done;
  result_.ops_expected = plan_.op_count;
  result_.stuck = stuck_ops(waits_, copies_);
  decide();
  result_.fingerprint = sim::Fingerprint::of(outcome_.digests, result_.verdict);
  report_ranks();
  return std::move(result_);
}

void Explainer::decide() {
  explain_mismatches();
  explain_deaths();
  const bool mismatch = !result_.mismatches.empty();
  switch (outcome_.end) {
    case sim::RunEnd::kCompleted:
      if (mismatch) {
        result_.verdict = sim::Verdict::kMismatch;
        result_.cause = Cause::kMismatch;
      }
      return;
    case sim::RunEnd::kTimeLimit:
      result_.verdict = sim::Verdict::kLimit;
      result_.cause = Cause::kLimit;
      return;
    case sim::RunEnd::kUntil:
      result_.verdict = sim::Verdict::kLimit;
      result_.cause = Cause::kUntil;
      return;
    case sim::RunEnd::kInterrupted:
      result_.verdict = sim::Verdict::kLimit;
      result_.cause = Cause::kInterrupted;
      return;
    case sim::RunEnd::kStuck:
      break;
  }
  // Ops that wait for a collective that never ends can look like a cycle. A mismatched send and
  // recv still meet, so a cycle is real despite such a mismatch.
  const bool hangs_itself = std::any_of(result_.mismatches.begin(), result_.mismatches.end(),
                                        [](const Misfit& misfit) { return !misfit.message; });
  explain_waits(
      waits_, [this](const WaitEdge& edge) { return wait(edge); }, !hangs_itself, result_, copies_);
  for (Root& root : result_.roots) count_calls(root);
  if (copies_ == nullptr) result_.peer_errors = peer_errors(graph_, lowered_, state_, waits_);
  see_rules();
  if (mismatch) {
    result_.verdict = sim::Verdict::kMismatch;
    result_.cause = Cause::kMismatch;
  }
}

// Records whether the verdict depends on rules that come from NCCL's source and were never
// measured.
void Explainer::see_rules() {
  const auto decides = [&](bool (Explainer::*rule)(const Wait&) const) {
    const auto holds = [&](const Wait& wait) { return (this->*rule)(wait); };
    return std::any_of(result_.cycle.begin(), result_.cycle.end(), holds) ||
           std::any_of(result_.roots.begin(), result_.roots.end(),
                       [&](const Root& root) { return holds(root.first); });
  };
  result_.crossing_first_sends = decides(&Explainer::sends_first);
  result_.registered_send = decides(&Explainer::waits_registered);
  result_.destroys = decides(&Explainer::waits_to_destroy);
  result_.suspends = decides(&Explainer::waits_to_suspend);
}

// Whether a first send waits for a first send in the opposite direction, on a communicator of two
// ranks.
bool Explainer::sends_first(const Wait& wait) const {
  const auto sends = [](const WaitParty& party) { return party.op.call == sim::CallKind::kSend; };
  if (wait.kind != sim::WaitKind::kFirstMessage || !sends(wait.from) || !sends(wait.to)) {
    return false;
  }
  const auto call_of = [&](const WaitParty& party) -> const sim::Call& {
    return plan_.calls[*plan_.calls_of(party.op.actor).begin()];
  };
  const sim::Call& mine = call_of(wait.from);
  const sim::Communicator& on = plan_.communicators[mine.communicator];
  return call_of(wait.to).communicator == mine.communicator && on.ranks_end - on.ranks == 2;
}

// Returns the operation on a communicator in which the waiting host meets other hosts; nullopt if
// the wait is not in such a step.
std::optional<Operation> Explainer::meeting_of(const Wait& wait) const {
  if (!wait.from.op.actor.valid()) return std::nullopt;
  const ActorTemplate& actor = names_.actor(wait.from.op.actor);
  if (plan_.actors[wait.from.op.actor].role != sim::Role::kMeet || !actor.step) return std::nullopt;
  return actor.step->calls.front().operation;
}

bool Explainer::waits_to_destroy(const Wait& wait) const {
  const std::optional<Operation> meets = meeting_of(wait);
  return meets == Operation::kDestroy || meets == Operation::kFinalize;
}

bool Explainer::waits_to_suspend(const Wait& wait) const {
  const std::optional<Operation> meets = meeting_of(wait);
  return meets == Operation::kSuspend || meets == Operation::kResume;
}

bool Explainer::waits_registered(const Wait& wait) const {
  if (wait.kind != sim::WaitKind::kPeerOfMessage || graph_.nccl_mode == NcclMode::kContract ||
      !wait.from.op.actor.valid()) {
    return false;
  }
  const auto calls = plan_.calls_of(wait.from.op.actor);
  return std::any_of(calls.begin(), calls.end(), [&](sim::CallId id) {
    return plan_.calls[id].kind == sim::CallKind::kSend &&
           waits_as_registered(graph_, call_template(id), plan_.calls[id],
                               plan_.actors[plan_.calls[id].actor].rank.value);
  });
}

// Counts the collective calls of the ranks on the communicator of the waiting call, and finds the
// missing call.
void Explainer::count_calls(Root& root) {
  if (root.party.kind != WaitNodeKind::kRank || !root.first.from.op.actor.valid()) return;
  const auto waiting = plan_.calls_of(root.first.from.op.actor);
  const auto call = std::find_if(waiting.begin(), waiting.end(), [&](sim::CallId id) {
    return plan_.calls[id].kind == sim::CallKind::kCollective;
  });
  if (call == waiting.end()) return;
  const sim::CommunicatorId communicator = plan_.calls[*call].communicator;
  root.communicator = graph_.communicators[call_template(*call).communicator].name;
  if (graph_.recorded != nullptr) {
    root.group = graph_.recorded->stream_name(root.party.rank, root.communicator);
  }
  if (!collective_calls_) collective_calls_.emplace(graph_, lowered_);
  const auto [made, is_new] = made_.try_emplace(communicator.value);
  if (is_new) {
    made->second = collective_calls_->made(
        communicator, [&](ActorId actor) { return state_.entered(plan_, actor); });
    std::sort(made->second.begin(), made->second.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    std::vector<std::uint32_t>& counts = made_of_rank_[communicator.value];
    counts.assign(plan_.rank_count, 0);
    for (const auto& [rank, count] : made->second) counts[rank] = count;
  }
  root.made = made_of_rank_[communicator.value][root.party.rank];
  for (const auto& [rank, count] : made->second) {
    if (rank == root.party.rank) continue;
    root.others_made = count;
    break;
  }
  const bool absent = cause_of(root) == Cause::kAbsentMember;
  if (absent && !sim::facts(root.first.kind).of_message) find_missing(root, communicator, *call);
}

void Explainer::find_missing(Root& root, sim::CommunicatorId communicator, sim::CallId waiting) {
  const std::pair<std::uint32_t, std::uint32_t> waiter(communicator.value, root.first.from.rank);
  if (waiter != waiter_) calls_of_waiter_ = collective_calls_->of(communicator, waiter.second);
  waiter_ = waiter;
  const CallsOfRank& others = calls_of_waiter_;
  const CallsOfRank own = collective_calls_->of(communicator, root.party.rank);
  const auto found = missing_call(graph_, lowered_, others, own);
  if (!found) return;
  const auto waits_there = [&](const CallOfRank& made) {
    return made.call == waiting && made.k + 1 == root.first.from.op.number;
  };
  // A call that is missing after the hanging call cannot be the cause of the hang.
  const auto past = others.begin() + static_cast<std::ptrdiff_t>(found->made);
  if (std::none_of(past, others.end(), waits_there)) return;
  const auto info = [&](const CallOfRank& made) {
    OpInfo op = describe_op(graph_, lowered_, state_, plan_.calls[made.call].actor, made.k);
    say_call(graph_, lowered_, made.call, op);
    return op;
  };
  root.missing = info(others[found->made]);
  if (found->before < own.size()) root.before = info(own[found->before]);
}

void Explainer::explain_mismatches() {
  for (const sim::Mismatch& found : outcome_.mismatches) {
    Misfit misfit;
    misfit.message = found.message;
    misfit.first = describe_op(graph_, lowered_, state_, found.first, found.first_k);
    misfit.second = describe_op(graph_, lowered_, state_, found.second, found.second_k);
    const CallTemplate& first = call_template(found.first_call);
    const CallTemplate& second = call_template(found.second_call);
    misfit.first.call_name = first.name;
    misfit.second.call_name = second.name;
    const sim::Signature& a = plan_.calls[found.first_call].signature;
    const sim::Signature& b = plan_.calls[found.second_call].signature;
    const auto differ = [&](bool differs, const std::string& x, const std::string& y) {
      if (differs) misfit.differences.push_back(std::string(x).append(" and ").append(y));
    };
    const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
    // NCCL's barrier is an all_reduce; a record models new_group as a collective of its members.
    const auto called = [](const CallTemplate& call) {
      if (call.type.rfind("ranks ", 0) == 0) return "new_group of " + call.type;
      return call.type == "barrier" ? call.type : operation_name(call.operation);
    };
    misfit.other_operation = !found.message && called(first) != called(second);
    if (misfit.other_operation) {
      // Sizes and types of different operations are not comparable: a barrier has neither.
      differ(true, called(first), called(second));
    } else {
      differ(!found.message && a.root != b.root, "root " + std::to_string(a.root),
             "root " + std::to_string(b.root));
      if (a.count != b.count) {
        misfit.sizes = exact_bytes_text(a.count) + " and " + exact_bytes_text(b.count);
        misfit.differences.push_back(misfit.sizes);
        const sim::Call& recv = plan_.calls[found.second_call];
        if (found.message && plan_.communicators[recv.communicator].on_host) {
          misfit.outcome = a.count < b.count
                               ? "the recv completes, and the rest of its buffer stays as it is"
                               : "the recv has no room, which ends the process of rank " +
                                     std::to_string(misfit.second.rank);
        }
      }
      differ(a.type != b.type, "type " + or_none(first.type), "type " + or_none(second.type));
    }
    if (found.message) {
      const std::string sent = first.tag_of(misfit.first.rank, found.first_k);
      const std::string expected = second.tag_of(misfit.second.rank, found.second_k);
      differ(sent != expected, "tag " + or_none(sent), "tag " + or_none(expected));
    }
    misfit.ranks = {misfit.second.rank};
    // Ranks that differ from the same op in the same way are a single mismatch.
    const auto alike = [&](const Misfit& other) {
      return !misfit.message && !other.message && other.first.actor == misfit.first.actor &&
             other.first.number == misfit.first.number && other.second.name == misfit.second.name &&
             other.differences == misfit.differences;
    };
    const auto known = std::find_if(result_.mismatches.begin(), result_.mismatches.end(), alike);
    if (known != result_.mismatches.end()) {
      known->ranks.push_back(misfit.second.rank);
    } else {
      result_.mismatches.push_back(std::move(misfit));
    }
  }
}

void Explainer::explain_deaths() {
  for (const sim::DeviceError& error : outcome_.device_errors) {
    result_.device_errors.push_back({error.rank.value, error.at.ns, what_failed(error),
                                     describe_op(graph_, lowered_, state_, error.actor, error.k)});
  }
  for (const sim::RankDeath& death : outcome_.deaths) {
    DeathReport report;
    report.rank = death.rank.value;
    report.time_ns = death.at.ns;
    report.cause = death.cause;
    report.after_quiescence = death.after_quiescence;
    report.what = what_killed(death);
    if (death.actor.valid()) {
      report.in = describe_op(graph_, lowered_, state_, death.actor, death.k);
    }
    result_.deaths.push_back(std::move(report));
  }
}

// Describes the cause of a death in the scenario's words. Returns an empty string if the kind of
// death is enough.
std::string Explainer::what_killed(const sim::RankDeath& death) const {
  switch (death.cause) {
    case sim::DeathCause::kAtTime:
    case sim::DeathCause::kAtOp:
      return fault_that_killed(death);
    case sim::DeathCause::kFatalCall:
      return denial_that_killed(death);
    case sim::DeathCause::kDeviceError:
      for (const DeviceErrorReport& error : result_.device_errors) {
        if (error.rank == death.rank.value) return error.what;
      }
      return "";
    case sim::DeathCause::kLinkError:
    case sim::DeathCause::kWatchdog:
    case sim::DeathCause::kTimeout:
    case sim::DeathCause::kLauncher:
      break;  // the kind of death is enough
  }
  return "";
}

std::string Explainer::fault_that_killed(const sim::RankDeath& death) const {
  const bool at_time = death.cause == sim::DeathCause::kAtTime;
  const std::uint32_t actor = death.actor.valid() ? lowered_.actor_template[death.actor] : kNoIndex;
  for (const RankFault& fault : graph_.faults.ranks) {
    if (fault.device_error || !fault.ranks.contains(death.rank.value)) continue;
    const bool meant = at_time ? fault.at && fault.at->value(death.rank.value) == death.at.ns
                               : !fault.at && fault.actor == actor && fault.op == death.k;
    if (meant) return fault.what;
  }
  return graph_.actors[actor].step->dies;
}

std::string Explainer::denial_that_killed(const sim::RankDeath& death) const {
  const ShortList<CallTemplate>& calls = names_.actor(death.actor).step->calls;
  for (const DeniedFault& fault : graph_.faults.denied) {
    const bool is_its = std::any_of(calls.begin(), calls.end(), [&](const CallTemplate& call) {
      return call.communicator == fault.communicator;
    });
    if (is_its) return fault.what;
  }
  return "";
}

std::string Explainer::what_failed(const sim::DeviceError& error) const {
  const std::uint32_t actor = lowered_.actor_template[error.actor];
  for (const RankFault& fault : graph_.faults.ranks) {
    const bool meant = fault.device_error && fault.actor == actor && fault.op == error.k;
    if (meant && fault.ranks.contains(error.rank.value)) return fault.what;
  }
  return "";
}

const CallTemplate& Explainer::call_template(sim::CallId id) const {
  const ActorId actor = plan_.calls[id].actor;
  return names_.actor(actor).step->calls[id.value - plan_.actors[actor].calls];
}

void Explainer::report_ranks() {
  std::vector<std::vector<ActorId>> actors(plan_.rank_count);
  for (const ActorId id : ids_of(plan_.actors)) {
    actors[plan_.actors[id].rank.value].push_back(id);
  }
  std::vector<std::vector<sim::ThreadId>> threads(plan_.rank_count);
  for (const sim::ThreadId id : ids_of(plan_.threads)) {
    threads[plan_.threads[id].rank.value].push_back(id);
  }
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    if (copies_ != nullptr && (*copies_)[rank] == 0) continue;
    RankReport report;
    report.rank = rank;
    report.dead = state_.health[sim::RankId{rank}] == sim::Health::kDead;
    for (const ActorId actor : actors[rank]) report_actor(report, actor);
    for (const sim::ThreadId thread : threads[rank]) report_thread(report, thread);
    add_phases(report, actors[rank]);
    const bool phases = !report.progress.empty();
    add_programs(report, actors[rank]);
    if (!phases) add_streams(report, actors[rank]);
    result_.ranks.push_back(std::move(report));
  }
}

void Explainer::report_actor(RankReport& report, ActorId actor) {
  ActorCounts counts;
  counts.name = names_.name(actor);
  counts.entered = state_.entered(plan_, actor);
  counts.launched = state_.actors[actor].launched;
  counts.started = state_.started(plan_, actor);
  counts.done = state_.actors[actor].done;
  counts.expected = plan_.actors[actor].ops;
  // No op is running at the end of a hang: an op that started and is not done waits for peers.
  const bool started = counts.started > counts.done && outcome_.end == sim::RunEnd::kStuck;
  if (started && !report.dead && spins(graph_, lowered_, actor)) report.spins = true;
  report.actors.push_back(std::move(counts));
}

void Explainer::report_thread(RankReport& report, sim::ThreadId id) {
  const sim::Thread& thread = plan_.threads[id];
  const sim::ThreadState& state = state_.threads[id];
  ThreadReport result;
  result.name = names_.thread(id);
  result.blocked = state.mode == sim::ThreadMode::kBlocked;
  ActorId at;
  if (result.blocked) {
    at = state.at;
  } else if (thread.order == sim::ThreadOrder::kProgram) {
    const std::uint32_t next = thread.program + state.next_op;
    result.finished = next == thread.program_end;
    if (!result.finished) at = plan_.op(thread, next);
  }
  if (at.valid()) {
    const bool launched = state.step == sim::Step::kCompletion;
    result.at =
        describe_op(graph_, lowered_, state_, at, state_.actors[at].launched - (launched ? 1 : 0));
  }
  report.threads.push_back(std::move(result));
}

void Explainer::add_phases(RankReport& report, const std::vector<ActorId>& actors) const {
  for (std::uint32_t phase = 0; phase < graph_.phases.size(); ++phase) {
    std::vector<ActorId> members;
    for (const ActorId actor : actors) {
      if (names_.actor(actor).phase == phase) members.push_back(actor);
    }
    if (!members.empty()) report.progress.push_back(phase_progress(phase, members));
  }
}

// Returns the progress in a phase: the iterations that all actors have completed or, for steps of
// programs, the sum of the ops done.
Progress Explainer::phase_progress(std::uint32_t phase, const std::vector<ActorId>& actors) const {
  if (names_.actor(actors.front()).step) return phase_of_steps(phase, actors);
  Progress progress;
  progress.what = graph_.phases[phase];
  progress.done = kNoIndex;
  for (const ActorId actor : actors) {
    progress.done = std::min(progress.done, state_.actors[actor].done);
    progress.expected = std::max(progress.expected, plan_.actors[actor].ops);
  }
  for (const ActorId actor : actors) {
    const bool has_round = progress.done < plan_.actors[actor].ops;
    if (!has_round || state_.actors[actor].done > progress.done) continue;
    progress.stuck = describe_op(graph_, lowered_, state_, actor, progress.done);
    progress.wait = first_wait(actor, progress.done);
    break;
  }
  return progress;
}

Progress Explainer::phase_of_steps(std::uint32_t phase, const std::vector<ActorId>& actors) const {
  Progress progress;
  progress.what = graph_.phases[phase];
  for (const ActorId actor : actors) add_ops(progress, actor);
  return progress;
}

void Explainer::add_ops(Progress& progress, ActorId actor) const {
  const std::uint32_t done = state_.actors[actor].done;
  progress.done += done;
  progress.expected += plan_.actors[actor].ops;
  const bool started = state_.started(plan_, actor) > done;
  if (done == plan_.actors[actor].ops || (progress.stuck && !started)) return;
  progress.stuck = describe_op(graph_, lowered_, state_, actor, done);
  progress.wait = first_wait(actor, done);
}

// Adds the number of completed steps of each thread that runs a host program. Ops implied by
// `after` belong to the step that follows.
void Explainer::add_programs(RankReport& report, const std::vector<ActorId>& actors) const {
  std::vector<sim::ThreadId> threads;
  for (const ActorId actor : actors) {
    const sim::ThreadId thread = plan_.actors[actor].thread;
    const bool known = std::find(threads.begin(), threads.end(), thread) != threads.end();
    if (names_.actor(actor).step && !known) threads.push_back(thread);
  }
  for (const sim::ThreadId id : threads) {
    const sim::Thread& thread = plan_.threads[id];
    const sim::ThreadState& state = state_.threads[id];
    Progress progress;
    progress.what = names_.thread(id);
    progress.of = Progress::Of::kHost;
    const bool completing = state.step == sim::Step::kCompletion;
    const std::uint32_t next = thread.program + state.next_op - (completing ? 1 : 0);
    progress.done = steps_in(thread, thread.program, next);
    progress.expected = progress.done + steps_in(thread, next, thread.program_end);
    if (next < thread.program_end) {
      const ActorId at = plan_.op(thread, next);
      const std::uint32_t k = state_.actors[at].launched - (completing ? 1 : 0);
      progress.stuck = describe_op(graph_, lowered_, state_, at, k);
      progress.wait = first_wait(at, k);
    }
    report.progress.push_back(std::move(progress));
  }
}

// Counts the steps between two positions in the program of the thread.
std::uint32_t Explainer::steps_in(const sim::Thread& thread, std::uint32_t begin,
                                  std::uint32_t end) const {
  std::uint32_t count = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    if (!is_implied(names_.actor(plan_.op(thread, i)))) ++count;
  }
  return count;
}

// Adds the progress of each stream, in ops, to the report of a rank without named phases.
void Explainer::add_streams(RankReport& report, const std::vector<ActorId>& actors) const {
  const std::size_t first = report.progress.size();
  std::map<sim::StreamId, std::size_t> index_of;  // index in `report.progress`, minus `first`
  for (const ActorId actor : actors) {
    const sim::StreamId stream = plan_.actors[actor].stream;
    if (!stream.valid() || is_implied(names_.actor(actor))) continue;
    const auto [index, is_new] = index_of.emplace(stream, index_of.size());
    if (is_new) {
      Progress& added = report.progress.emplace_back();
      added.what = names_.stream(stream);
      if (graph_.recorded != nullptr) {
        added.name = graph_.recorded->stream_name(report.rank, added.what);
      }
      added.of = Progress::Of::kStream;
    }
    Progress& progress = report.progress[first + index->second];
    if (names_.actor(actor).step) progress.of = Progress::Of::kStreamOfSteps;
    add_ops(progress, actor);
  }
  for (const auto& [stream, index] : index_of)
    stand_at_head(report.progress[first + index], stream);
}

// Sets the blocked op of a stream: the first op in its queue.
void Explainer::stand_at_head(Progress& progress, sim::StreamId stream) const {
  for (const sim::StreamItem& item : state_.items_of(stream)) {
    if (item.kind() != sim::StreamItem::Kind::kOp || is_implied(names_.actor(item.actor()))) {
      continue;
    }
    const std::uint32_t done = state_.actors[item.actor()].done;
    progress.stuck = describe_op(graph_, lowered_, state_, item.actor(), done);
    progress.wait = first_wait(item.actor(), done);
    return;
  }
}

std::optional<Wait> Explainer::first_wait(ActorId actor, std::uint32_t k) const {
  const WaitNode node{WaitNodeKind::kOp, actor, k, plan_.actors[actor].rank};
  const auto before = [](const WaitNode& a, const WaitNode& b) {
    return a.kind != b.kind ? a.kind < b.kind : std::pair(a.actor, a.k) < std::pair(b.actor, b.k);
  };
  const auto found = std::lower_bound(waits_.nodes.begin(), waits_.nodes.end(), node, before);
  if (found == waits_.nodes.end() || before(node, *found)) return std::nullopt;
  const auto index = static_cast<std::uint32_t>(found - waits_.nodes.begin());
  const auto edge = std::lower_bound(waits_.edges.begin(), waits_.edges.end(), index,
                                     [](const WaitEdge& e, std::uint32_t n) { return e.from < n; });
  if (edge == waits_.edges.end() || edge->from != index) return std::nullopt;
  return wait(*edge);
}

// Whether a device looks busy while actor `id` waits for its peers. Host calls do not keep a device
// busy.
bool spins(const TaskGraph& graph, const Lowered& lowered, ActorId id) {
  const sim::Actor& actor = lowered.plan.actors[id];
  if (actor.role == sim::Role::kOp) return actor.collective.valid();
  if (actor.role != sim::Role::kCalls) return false;
  const std::uint32_t stream = lowered.stream_template[actor.stream];
  return stream == kNoIndex || !graph.streams[stream].on_host;
}

}  // namespace

Explanation::Explanation() = default;
Explanation::Explanation(const Explanation&) = default;
Explanation::Explanation(Explanation&&) noexcept = default;
Explanation& Explanation::operator=(const Explanation&) = default;
Explanation& Explanation::operator=(Explanation&&) noexcept = default;
Explanation::~Explanation() = default;

OpInfo describe_op(const TaskGraph& graph, const Lowered& lowered, const sim::State& state,
                   ActorId actor, std::uint32_t k) {
  const Names names(graph, lowered);
  const sim::Actor& from = lowered.plan.actors[actor];
  OpInfo info;
  info.actor = actor;
  info.rank = from.rank.value;
  const OpName op = names.op(actor, k);
  info.name = op.name;
  info.number = op.number;
  info.micro_batch = names.micro_batch(actor, k);
  info.stream = names.stream_of(actor);
  if (graph.recorded != nullptr) {
    info.recorded_name = graph.recorded->name(info.rank, info.name, info.number);
    info.of_group =
        !info.recorded_name.empty() && !graph.recorded->stream_name(info.rank, info.stream).empty();
  }
  info.on_host = !from.stream.valid();
  info.thread = names.thread(from.thread);
  info.in_program = lowered.plan.threads[from.thread].order == sim::ThreadOrder::kProgram;
  if (const auto& step = names.actor(actor).step) {
    info.at = step->at;
    info.implied = step->implied;
    if (step->calls.size() == 1) info.call = step->calls.front().kind;
  }
  info.collective = spins(graph, lowered, actor);
  if (k < state.actors[actor].done) {
    info.stage = OpStage::kDone;
  } else if (k < state.started(lowered.plan, actor)) {
    info.stage = OpStage::kStarted;
  } else if (k < state.actors[actor].launched) {
    info.stage = OpStage::kLaunched;
  } else if (k < state.entered(lowered.plan, actor)) {
    info.stage = OpStage::kEntered;
    info.step = state.threads[from.thread].step;
  }
  return info;
}

namespace {

void say_call(const TaskGraph& graph, const Lowered& lowered, sim::CallId id, OpInfo& op) {
  const ActorId actor = lowered.plan.calls[id].actor;
  const StepTemplate& step = *graph.actors[lowered.actor_template[actor]].step;
  const CallTemplate& call = step.calls[id.value - lowered.plan.actors[actor].calls];
  op.call = call.kind;
  op.from_any = call.from_any();
  op.call_name = call.name;
}

// Returns the call of `actor` that matches `id`, if any.
sim::CallId matching_call(const sim::Plan& plan, sim::CallId id, ActorId actor) {
  if (!actor.valid()) return {};
  const sim::Call& call = plan.calls[id];
  for (const sim::CallId other : plan.calls_of(actor)) {
    const sim::Call& found = plan.calls[other];
    const bool collective = call.kind == sim::CallKind::kCollective;
    const bool meets = collective ? found.kind == call.kind
                                  : found.kind != call.kind &&
                                        (found.from_any() || found.peer == call.member) &&
                                        (call.from_any() || found.member == call.peer);
    if (found.communicator == call.communicator && meets) return other;
  }
  return {};
}

}  // namespace

Wait describe_wait(const TaskGraph& graph, const Lowered& lowered, const sim::State& state,
                   const WaitGraph& waits, const WaitEdge& edge) {
  const auto party = [&](const WaitNode& node) {
    WaitParty result;
    result.kind = node.kind;
    result.rank = node.rank.value;
    if (node.kind == WaitNodeKind::kOp) {
      result.op = describe_op(graph, lowered, state, node.actor, node.k);
    }
    return result;
  };
  Wait wait;
  wait.from = party(waits.nodes[edge.from]);
  wait.to = party(waits.nodes[edge.to]);
  if (edge.call.valid()) {
    say_call(graph, lowered, edge.call, wait.from.op);
    const sim::CallId other = matching_call(lowered.plan, edge.call, wait.to.op.actor);
    if (other.valid()) say_call(graph, lowered, other, wait.to.op);
  }
  // Ranks that share one host thread synchronize in implied steps. A rank that waits in an implied
  // step waits for the thread, which is in a step of another rank.
  const bool turn = edge.kind == sim::WaitKind::kPeerOfCollective && wait.from.op.actor.valid() &&
                    is_implied(Names(graph, lowered).actor(wait.from.op.actor));
  wait.kind = turn ? sim::WaitKind::kHostWait : edge.kind;
  wait.any = edge.any_set != 0;
  if (edge.link.valid()) wait.link = lowered.link_names[edge.link.value];
  if (edge.reg.valid()) {
    wait.reg = Names(graph, lowered).reg(edge.reg);
    wait.control = lowered.plan.registers[edge.reg].control;
  }
  if (edge.kind == sim::WaitKind::kLock) {
    const sim::LockId lock = lowered.plan.actors[waits.nodes[edge.from].actor].lock;
    wait.lock =
        graph.locks[Names(graph, lowered).actor(waits.nodes[edge.from].actor).step->lock].name;
    wait.holder = Names(graph, lowered).thread(state.locks[lock].holder);
  }
  const WaitNode& to = waits.nodes[edge.to];
  const bool stands_for = !turn && to.kind == WaitNodeKind::kOp && edge.needed_actor.valid() &&
                          (to.actor != edge.needed_actor || to.k != edge.needed_k);
  if (stands_for) {
    wait.needed = describe_op(graph, lowered, state, edge.needed_actor, edge.needed_k);
    if (edge.call.valid()) {
      const sim::CallId other = matching_call(lowered.plan, edge.call, edge.needed_actor);
      if (other.valid()) say_call(graph, lowered, other, *wait.needed);
    }
  }
  return wait;
}

Explanation explain(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome,
                    const WaitGraph& waits, const std::vector<std::uint32_t>* copies) {
  return Explainer(graph, lowered, outcome, waits, copies).run();
}

}  // namespace pipesim::models
