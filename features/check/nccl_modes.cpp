#include "features/check/nccl_modes.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "models/graph/cluster.hpp"
#include "models/result/job_run.hpp"
#include "sim/meeting_layout.hpp"

#include "features/check/kernel_loads.hpp"

namespace pipesim::models {
namespace {

// Maximum number of ops of a job that find_assumptions() examines.
constexpr std::uint64_t kMaxOpsOfModes = 1'000'000;

constexpr std::array<NcclMode, 3> kNcclModes = {NcclMode::kContract, NcclMode::kReal,
                                                NcclMode::kCold};

bool hangs(sim::Answer answer) {
  return answer == sim::Answer::kHangPossible || answer == sim::Answer::kHangCertain ||
         answer == sim::Answer::kMismatch;
}

// Returns the index of the deciding reading: the first reading that hangs, else the first undecided
// one. The search starts with cold, because a fresh job meets a cold hang first. If the scenario
// says that its communicators have connected before (`asked` is real), a hang in the reading real
// takes precedence.
std::size_t deciding(const std::array<CheckReport, 3>& reports, NcclMode asked) {
  if (asked == NcclMode::kReal && hangs(reports[1].exploration.answer)) return 1;
  for (const std::size_t i : {2u, 1u, 0u}) {
    if (hangs(reports[i].exploration.answer)) return i;
  }
  for (const std::size_t i : {2u, 1u, 0u}) {
    if (reports[i].exploration.answer == sim::Answer::kUndecided) return i;
  }
  return 2;
}

// Drops everything except the answer, because the plans and reports of all readings would take most
// of the memory.
void keep_answer_only(CheckReport& report) {
  Explanation kept;
  kept.verdict = report.usual.explanation.verdict;
  kept.time_ns = report.usual.explanation.time_ns;
  report.usual = {};
  report.usual.explanation = std::move(kept);
}

// Whether the plan buffers any send to another host.
bool is_buffered_far(const TaskGraph& graph, const sim::Plan& plan) {
  return graph.cluster &&
         std::any_of(plan.calls.begin(), plan.calls.end(), [&](const sim::Call& call) {
           return call.kind == sim::CallKind::kSend && call.steps > 0 &&
                  !graph.cluster->same_host(plan.actors[call.actor].rank.value,
                                            call.signature.root);
         });
}

// Returns a copy of `graph` in which collectives of zero bytes synchronize like other collectives;
// nullopt if the graph has none.
std::optional<TaskGraph> with_empty_calls(const TaskGraph& graph) {
  std::optional<TaskGraph> result;
  for (std::size_t a = 0; a < graph.actors.size(); ++a) {
    const ActorTemplate& actor = graph.actors[a];
    if (!actor.step) continue;
    for (std::size_t c = 0; c < actor.step->calls.size(); ++c) {
      const CallTemplate& call = actor.step->calls[c];
      const bool empty = call.sized && call.kind == sim::CallKind::kCollective &&
                         !graph.communicators[call.communicator].on_host &&
                         std::any_of(actor.on.begin(), actor.on.end(), [&](std::uint32_t rank) {
                           return call.bytes.value(rank) == 0;
                         });
      if (!empty) continue;
      if (!result) result = graph;
      result->actors[a].step->calls[c].sized = false;
    }
  }
  return result;
}

// Whether `graph`, which is proved, could hang if NCCL also launched collectives of zero bytes.
bool rests_on_empty_calls(const TaskGraph& graph, const sim::ExploreOptions& options) {
  const std::optional<TaskGraph> other = with_empty_calls(graph);
  if (!other) return false;
  Diagnostics ignored;
  std::optional<LaidOutJob> job = lay_out_job(*other, ignored);
  return job && check(*other, std::move(*job), options).exploration.answer != sim::Answer::kProved;
}

// Whether `plan` hangs with its own durations if communicator init waits for the kernels on the
// devices of its ranks. `plan` has these waits, and is proved without them. Runs once; does not
// search interleavings.
bool hangs_by_init(const sim::Plan& plan, const sim::ExploreOptions& options) {
  const auto waits = [](const sim::Communicator& communicator) {
    return communicator.at_first_use && communicator.waits_for_device;
  };
  if (std::none_of(plan.communicators.begin(), plan.communicators.end(), waits)) return false;
  sim::RunOptions run;
  run.stop = options.stop;
  return sim::run(plan, run).end == sim::RunEnd::kStuck;
}

// Whether `cold`, the plan of the cold reading, hangs if NCCL's communicator init waits for kernels
// (see hangs_by_init()). Leaves `cold` unchanged. Returns nullopt if the plan does not show which
// communicators are NCCL's.
std::optional<bool> rests_on_init(sim::Plan& cold, const sim::ExploreOptions& options) {
  const bool says_all = std::all_of(cold.communicators.begin(), cold.communicators.end(),
                                    [](const sim::Communicator& communicator) {
                                      return !communicator.at_first_use || communicator.connects;
                                    });
  if (!says_all) return std::nullopt;
  std::vector<bool> before;
  for (sim::Communicator& communicator : cold.communicators) {
    before.push_back(communicator.waits_for_device);
    communicator.waits_for_device = communicator.connects;
  }
  const bool rests = hangs_by_init(cold, options);
  std::size_t next = 0;
  for (sim::Communicator& communicator : cold.communicators) {
    communicator.waits_for_device = before[next++];
  }
  return rests;
}

bool rests_on_init(TaskGraph graph, const sim::ExploreOptions& options) {
  graph.init.waits_for_device = true;
  for (CommunicatorTemplate& communicator : graph.communicators) {
    communicator.init.waits_for_device = !communicator.on_host;
  }
  Diagnostics ignored;
  const std::optional<Lowered> lowered = lower(graph, ignored);
  return lowered && hangs_by_init(lowered->plan, options);
}

// Whether NCCL may buffer any call of the graph, fully or in part.
bool may_be_buffered(const TaskGraph& graph) {
  if (graph.pipeline) return true;
  return std::any_of(graph.actors.begin(), graph.actors.end(), [&](const ActorTemplate& actor) {
    return actor.step &&
           std::any_of(actor.step->calls.begin(), actor.step->calls.end(),
                       [&](const CallTemplate& call) {
                         return (call.kind == sim::CallKind::kSend || has_root(call.operation)) &&
                                !graph.communicators[call.communicator].on_host;
                       });
  });
}

// Returns the call to report: a call whose size differs from that of the first call on the same
// connection. Prefers a call whose host is blocked while it connects in `end`. `connections`: the
// connection of each call.
LaterSize later_size(const TaskGraph& graph, const Lowered& lowered, const sim::State& end,
                     const sim::Connections& connections) {
  const sim::Plan& plan = lowered.plan;
  std::optional<LaterSize> result;
  std::map<std::tuple<sim::CommunicatorId, std::uint32_t, std::uint32_t>, std::int64_t> first;
  for (const sim::CallId id : ids_of(plan.calls)) {
    const sim::Call& call = plan.calls[id];
    if (call.kind != sim::CallKind::kCollective || !plan.communicators[call.communicator].connects)
      continue;
    const std::int64_t bytes = call.signature.count;
    const auto known =
        first.try_emplace({call.communicator, call.member, connections[id]}, bytes).first;
    if (known->second == bytes) continue;
    const sim::Actor& actor = plan.actors[call.actor];
    const sim::ThreadState& thread = end.threads[actor.thread];
    const bool waits = thread.at == call.actor && thread.step == sim::Step::kConnection;
    if (result && !waits) continue;
    result = {graph.actors[lowered.actor_template[call.actor]].name, actor.rank.value, bytes,
              known->second};
    if (waits) break;
  }
  return result.value_or(LaterSize());
}

// Whether some operation has several sizes on one NCCL communicator.
bool has_several_sizes(const TaskGraph& graph) {
  std::map<std::pair<std::uint32_t, Operation>, const Expr*> sizes;
  for (const ActorTemplate& actor : graph.actors) {
    if (!actor.step) continue;
    for (const CallTemplate& call : actor.step->calls) {
      const bool is_nccl = !graph.communicators[call.communicator].on_host;
      if (call.kind != sim::CallKind::kCollective || !is_nccl) continue;
      const bool barrier = call.operation == Operation::kBarrier;
      const Operation connects = barrier ? Operation::kAllReduce : call.operation;
      const Expr* first =
          sizes.try_emplace({call.communicator, connects}, &call.bytes).first->second;
      if (!call.bytes.is_constant() || call.bytes != *first) return true;
    }
  }
  return false;
}

// Returns the call to report if `graph`, which is proved, hangs when NCCL connects separately for
// each size of an operation; else nullopt. NCCL selects algorithms by size, at undocumented
// thresholds. `cold`: the lowered graph in the cold reading, unchanged on return.
std::optional<LaterSize> rests_on_sizes(const TaskGraph& graph, Lowered& cold,
                                        sim::ExploreOptions options) {
  constexpr std::uint64_t kMaxStates = 2'000;
  sim::Plan& plan = cold.plan;
  const std::optional<sim::Connections> connections = sim::connect_by_size(plan);
  if (!connections) return std::nullopt;
  options.max_states = std::min(options.max_states, kMaxStates);
  sim::RunOptions run;
  run.stop = options.stop;
  sim::Outcome end = sim::run(plan, run);
  const sim::Exploration found = sim::explore_in_place(plan, options, &end);
  std::optional<LaterSize> result;
  if (found.hang_found) {
    if (!found.hang.empty()) run.order = &found.hang;
    const bool is_usual = found.hang.empty() && !found.reading.any();
    if (!is_usual) end = sim::run(sim::with_reading(plan, found.reading), run);
    result = later_size(graph, cold, end.state, *connections);
  }
  sim::connect_as(plan, *connections);
  return result;
}

// Whether representative ranks show that rests_on_sizes() finds nothing. Leaves `few` unchanged.
bool is_proved_by_size(sim::Plan& few, const sim::ExploreOptions& options) {
  const std::optional<sim::Connections> connections = sim::connect_by_size(few);
  if (!connections) return true;
  const auto found = explore_folded(few, options);
  sim::connect_as(few, *connections);
  return found && found->answer == sim::Answer::kProved;
}

// Whether communicator init can only wait for computes of its own ranks, which end: a rank has one
// communicator with kernels, and connects only with its first call. `few` has the representative
// ranks of a proved job in which timing decides nothing.
bool init_waits_for_computes(const sim::Plan& few) {
  if (!few.collectives.empty()) return false;
  std::vector<std::uint32_t> communicators(few.rank_count, 0);
  for (const sim::Communicator& communicator : few.communicators) {
    if (communicator.on_host) continue;
    for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
      if (++communicators[few.communicator_ranks[i].value] > 1) return false;
    }
  }
  std::vector<std::optional<std::uint32_t>> connections(few.rank_count);
  return std::all_of(few.calls.begin(), few.calls.end(), [&](const sim::Call& call) {
    if (few.communicators[call.communicator].on_host) return true;
    auto& first = connections[few.actors[call.actor].rank.value];
    if (!first) first = call.connection;
    return call.kind == sim::CallKind::kCollective && first == call.connection;
  });
}

// Lowers `graph` in its reading. `folding`: the folding of the job in another reading, if known.
LaidOutJob lay_out_mode(const TaskGraph& graph, const std::optional<RankFolding>& folding) {
  if (folding) {
    if (auto job = fold_job(graph, *folding)) return std::move(*job);
  }
  return lower_all(graph);
}

// Checks `graph` in its reading. `laid_out`: the lowered job, if the caller has it. If nothing is
// buffered, returns nullopt in the real reading, which then equals the contract reading.
std::optional<CheckReport> check_mode(const TaskGraph& graph, std::optional<LaidOutJob> laid_out,
                                      const std::optional<RankFolding>& folding,
                                      const sim::ExploreOptions& options,
                                      sim::RunProgress* progress, FoldHangs fold_hangs) {
  const bool is_real = graph.nccl_mode == NcclMode::kReal;
  if (is_real && !may_be_buffered(graph)) return std::nullopt;
  LaidOutJob job = laid_out ? std::move(*laid_out) : lay_out_mode(graph, folding);
  if (is_real && !is_buffered(lowered_of(job).plan)) return std::nullopt;
  if (auto* folded = std::get_if<FoldedJob>(&job)) {
    auto report = check_folded(graph, std::move(*folded), options, progress, fold_hangs);
    if (report) return report;
    job = lower_all(graph);
  }
  sim::RunOptions run;
  run.stop = options.stop;
  run.progress = progress;
  run.keep_op_times = is_real;
  return check(graph, simulate(graph, std::get<Lowered>(std::move(job)), run), options);
}

// Returns the number of ranks that `rank` represents.
std::int64_t count_of(const std::vector<std::uint32_t>& copies, sim::RankId rank) {
  return copies.empty() ? 1 : copies[rank.value];
}

// Returns the maximum running sum of (time, change) pairs. At equal times, additions come before
// removals.
std::int64_t most_at_a_time(std::vector<std::pair<std::int64_t, std::int64_t>> changes) {
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [time, bytes] : changes) most = std::max(most, now += bytes);
  return most;
}

std::vector<NcclModeAnswer> answers_of(const std::array<CheckReport, 3>& reports) {
  std::vector<NcclModeAnswer> answers;
  for (std::size_t i = 0; i < kNcclModes.size(); ++i) {
    const Explanation& usual = reports[i].usual.explanation;
    answers.push_back({kNcclModes[i], reports[i].exploration.answer, usual.verdict, usual.time_ns});
    if (const Simulation* hanging = reports[i].hanging()) {
      answers.back().hang = hanging->explanation;
    }
  }
  return answers;
}

// Checks `graph` with a small budget. Returns nullopt if it has mistakes.
std::optional<CheckReport> check_briefly(const TaskGraph& graph, sim::ExploreOptions options) {
  constexpr std::uint64_t kMaxStates = 2'000;
  options.max_states = std::min(options.max_states, kMaxStates);
  Diagnostics ignored;
  std::optional<LaidOutJob> job = lay_out_job(graph, ignored);
  if (!job) return std::nullopt;
  return check(graph, std::move(*job), options);
}

// Sets `op` and `rank` of `result` to the first kernel load on the cycle of `hang`.
void find_load(const Explanation& hang, LoadAnswers& result) {
  const auto is_load = [](const Wait& wait) { return wait.from.op.name.starts_with("load "); };
  const auto found = std::find_if(hang.cycle.begin(), hang.cycle.end(), is_load);
  if (found == hang.cycle.end()) return;
  result.op = found->from.op.name;
  result.rank = found->from.rank;
}

// Returns the answers of `graph` in the cold reading if its launches load kernels; nullopt if it is
// then also proved. Without these loads, `graph` is proved.
std::optional<LoadAnswers> rests_on_loads(TaskGraph graph, const sim::ExploreOptions& options) {
  graph.nccl_mode = NcclMode::kCold;
  if (!has_nccl_modes(graph)) return std::nullopt;
  std::optional<TaskGraph> each = with_loads(graph, LoadsAt::kEachKernel);
  if (!each) return std::nullopt;
  add_context_locks(*each);
  const std::optional<CheckReport> report = check_briefly(*each, options);
  if (!report || report->exploration.answer == sim::Answer::kProved) return std::nullopt;
  LoadAnswers result;
  result.each_kernel = report->exploration.answer;
  if (const Simulation* hanging = report->hanging()) find_load(hanging->explanation, result);
  std::optional<TaskGraph> few = with_loads(graph, LoadsAt::kEachPhase);
  if (few) add_context_locks(*few);
  const auto of_few = few ? check_briefly(*few, options) : std::nullopt;
  if (of_few) result.each_phase = of_few->exploration.answer;
  return result;
}

// Whether `graph`, which hangs in the cold reading, is proved there if kernel loads do not wait.
bool hangs_by_loads(TaskGraph graph, const sim::ExploreOptions& options) {
  graph.nccl_mode = NcclMode::kCold;
  if (!has_loads(graph)) return false;
  graph.device.eager_loading = true;
  const std::optional<CheckReport> report = check_briefly(graph, options);
  return report && report->exploration.answer == sim::Answer::kProved;
}

// Whether `graph`, which is proved, can hang if the calls of host communicators advance only while
// the host is in a call, as MPI's do. gloo's calls always advance.
bool rests_on_progress(TaskGraph graph, const sim::ExploreOptions& options) {
  const bool waits_later =
      std::any_of(graph.actors.begin(), graph.actors.end(), [&](const ActorTemplate& actor) {
        if (!actor.step || actor.step->calls.empty() || actor.blocking) return false;
        const CommunicatorTemplate& of =
            graph.communicators[actor.step->calls.front().communicator];
        return of.on_host && !of.is_gloo && !of.in_calls;
      });
  if (!waits_later) return false;
  for (CommunicatorTemplate& communicator : graph.communicators) {
    communicator.in_calls = communicator.on_host && !communicator.is_gloo;
  }
  const std::optional<CheckReport> report = check_briefly(graph, options);
  return report && report->hanging() != nullptr;
}

// Finds the assumptions behind an answer without a hang. `cold`: the check of `graph` in the cold
// reading.
void find_assumptions(TaskGraph graph, CheckReport& cold, const sim::ExploreOptions& options,
                      NcclModesReport& result) {
  if (cold.usual.explanation.ops_expected > kMaxOpsOfModes) return;
  sim::Plan& plan = cold.usual.lowered.plan;
  bool may_by_size = has_several_sizes(graph);
  bool may_by_init = true;
  if (cold.folding) {
    may_by_size = may_by_size && !is_proved_by_size(plan, options);
    may_by_init = !init_waits_for_computes(plan);
  }
  Diagnostics ignored;
  std::optional<Lowered> all;  // all ranks, lowered if the representatives do not decide
  if (cold.folding && (may_by_size || may_by_init)) all = lower(graph, ignored);
  Lowered& lowered = all ? *all : cold.usual.lowered;
  if (may_by_size) result.by_size = rests_on_sizes(graph, lowered, options);
  if (may_by_init) {
    const std::optional<bool> rests = rests_on_init(lowered.plan, options);
    result.by_init = rests ? *rests : rests_on_init(graph, options);
  }
  result.by_loads = rests_on_loads(graph, options);
  result.by_progress = rests_on_progress(std::move(graph), options);
}

// Changes "hang certain" to "hang possible" if the hang needs kernel loads to wait, because not
// every load waits.
void weaken_hang_of_loads(const TaskGraph& graph, const sim::ExploreOptions& options,
                          NcclModesReport& result) {
  if (result.answer != JobAnswer::kHangCertain || result.shown != NcclMode::kCold) return;
  result.by_waiting_loads = hangs_by_loads(graph, options);
  if (!result.by_waiting_loads) return;
  result.answer = JobAnswer::kHangPossible;
  result.check.exploration.answer = sim::Answer::kHangPossible;
  if (!result.modes.empty()) result.modes.back().answer = sim::Answer::kHangPossible;
}

bool has_action(const Schedule& schedule, ActionKind kind) {
  return std::any_of(schedule.ranks.begin(), schedule.ranks.end(), [&](const Actions& row) {
    return std::any_of(row.begin(), row.end(),
                       [&](const Action& action) { return action.kind == kind; });
  });
}

bool has_moment(const Pipeline& pipeline, std::initializer_list<StageMoment> moments) {
  return std::any_of(
      pipeline.collectives.begin(), pipeline.collectives.end(), [&](const StageCollective& one) {
        return std::find(moments.begin(), moments.end(), one.moment) != moments.end();
      });
}

}  // namespace

bool is_buffered(const sim::Plan& plan) {
  return std::any_of(plan.calls.begin(), plan.calls.end(),
                     [](const sim::Call& call) { return call.steps > 0; });
}

LeftOut left_out(const TaskGraph& graph) {
  LeftOut result;
  if (graph.pipeline) {
    const Pipeline& pipeline = *graph.pipeline;
    result.endless_buffers = pipeline.messages == MessageModel::kDir;
    const auto add = [&](ActionKind kind, std::initializer_list<StageMoment> moments) {
      if (!has_action(pipeline.schedule, kind) || has_moment(pipeline, moments)) return;
      result.actions.emplace_back(action_word(kind));
    };
    add(ActionKind::kUnshard, {StageMoment::kUnshard});
    add(ActionKind::kReduceGrad,
        {StageMoment::kGradients, StageMoment::kLastBackward, StageMoment::kStep});
  }
  for (const ActorTemplate& actor : graph.actors) {
    if (!actor.step) continue;
    for (const CallTemplate& call : actor.step->calls) {
      if (call.sized || graph.communicators[call.communicator].on_host) continue;
      if (call.kind == sim::CallKind::kSend) result.sends += actor.on.size();
      if (has_root(call.operation)) result.rooted += actor.on.size();
    }
  }
  return result;
}

std::int64_t buffered_bytes(const Simulation& simulation,
                            const std::vector<std::uint32_t>& copies) {
  const sim::Plan& plan = simulation.lowered.plan;
  const sim::OpTimesTable& times = simulation.outcome.op_times;
  // Times of the sends and recvs on one channel, in ascending order.
  struct Ends {
    std::vector<std::pair<std::int64_t, std::int64_t>> sends;  // end time and bytes
    std::vector<std::int64_t> receives;
  };
  sim::IdVector<sim::ChannelId, Ends> channels(plan.channels.size());
  for (const sim::Call& call : plan.calls) {
    if (call.kind == sim::CallKind::kCollective) continue;
    Ends& ends = channels[call.channel];
    const std::int64_t times_counted = count_of(copies, plan.actors[call.actor].rank);
    for (std::uint32_t k = 0; k < plan.actors[call.actor].ops; ++k) {
      const sim::OpTimes& op = times.of(call.actor, k);
      if (call.kind == sim::CallKind::kReceive && op.start != sim::kNever) {
        ends.receives.push_back(op.start.ns);
      } else if (call.kind == sim::CallKind::kSend && op.end != sim::kNever) {
        const std::int64_t bytes = call.steps > 0 ? call.signature.count : 0;
        ends.sends.emplace_back(op.end.ns, bytes * times_counted);
      }
    }
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (Ends& ends : channels) {
    std::sort(ends.sends.begin(), ends.sends.end());
    std::sort(ends.receives.begin(), ends.receives.end());
    for (std::size_t i = 0; i < ends.sends.size(); ++i) {
      const auto [end, bytes] = ends.sends[i];
      const std::int64_t taken = i < ends.receives.size() ? ends.receives[i] : sim::kEndOfTime.ns;
      if (end > taken) continue;
      changes.emplace_back(end, bytes);
      changes.emplace_back(taken, -bytes);
    }
  }
  return most_at_a_time(std::move(changes));
}

JobAnswer job_answer_of(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return JobAnswer::kProved;
    case sim::Answer::kHangPossible:
      return JobAnswer::kHangPossible;
    case sim::Answer::kHangCertain:
      return JobAnswer::kHangCertain;
    case sim::Answer::kMismatch:
      return JobAnswer::kMismatch;
    case sim::Answer::kUndecided:
      break;
  }
  return JobAnswer::kUndecided;
}

NcclModesReport one_nccl_mode(const TaskGraph& graph, CheckReport check,
                              const sim::ExploreOptions& options) {
  NcclModesReport result;
  result.answer = job_answer_of(check.exploration.answer);
  result.shown = graph.nccl_mode;
  result.check = std::move(check);
  const bool small = result.check.usual.explanation.ops_expected <= kMaxOpsOfModes;
  if (result.answer == JobAnswer::kProved && small) {
    const bool cold = graph.nccl_mode == NcclMode::kCold;
    if (cold) result.by_loads = rests_on_loads(graph, options);
    result.by_progress = rests_on_progress(graph, options);
  }
  weaken_hang_of_loads(graph, options, result);
  return result;
}

NcclModesReport check_nccl_modes(TaskGraph graph, const sim::ExploreOptions& options,
                                 sim::RunProgress* progress, std::optional<LaidOutJob> contract,
                                 FoldHangs fold_hangs) {
  std::array<CheckReport, 3> reports;
  bool real_is_open = false;  // whether ranks leave some collectives early in `real`
  bool real_is_far = false;   // whether some sends to other hosts are buffered in `real`
  NcclModesReport result;
  const NcclMode asked = graph.nccl_mode;
  graph.nccl_mode = kNcclModes.front();
  Diagnostics none;
  if (!contract) contract = lay_out_job(graph, none);
  std::optional<RankFolding> folding;
  if (const auto* folded = std::get_if<FoldedJob>(&*contract)) folding = folded->folding;
  for (std::size_t i = 0; i < kNcclModes.size(); ++i) {
    const bool is_last = i + 1 == kNcclModes.size();
    graph.nccl_mode = kNcclModes[i];
    std::optional<CheckReport> report = check_mode(graph, std::exchange(contract, std::nullopt),
                                                   folding, options, progress, fold_hangs);
    if (!report) {
      reports[i] = reports[0];
      continue;
    }
    reports[i] = std::move(*report);
    if (kNcclModes[i] == NcclMode::kReal) {
      const Simulation& usual = reports[i].usual;
      result.buffered_bytes = buffered_bytes(usual, reports[i].copies());
      real_is_open = usual.lowered.plan.open;
      real_is_far = is_buffered_far(graph, usual.lowered.plan);
    }
    // The report shows a proved reading only if all readings are proved, and then the last one.
    if (!is_last && reports[i].exploration.answer == sim::Answer::kProved) {
      keep_answer_only(reports[i]);
    }
  }
  result.modes = answers_of(reports);
  const std::size_t shown = deciding(reports, asked);
  result.shown = kNcclModes[shown];
  result.answer = job_answer_of(reports[shown].exploration.answer);
  const bool others_proved = reports[1].exploration.answer == sim::Answer::kProved &&
                             reports[2].exploration.answer == sim::Answer::kProved;
  if (shown == 0 && hangs(reports[0].exploration.answer)) {
    result.answer = others_proved ? JobAnswer::kByBuffers : JobAnswer::kUndecided;
  }
  const bool buffers_decide =
      hangs(reports[0].exploration.answer) && reports[1].exploration.answer == sim::Answer::kProved;
  result.by_flows = real_is_open && buffers_decide;
  result.by_network = real_is_far && buffers_decide;
  result.check = std::move(reports[shown]);
  result.by_empty_calls =
      result.answer == JobAnswer::kProved && rests_on_empty_calls(graph, options);
  const bool goes_well =
      result.answer == JobAnswer::kProved || result.answer == JobAnswer::kByBuffers;
  weaken_hang_of_loads(graph, options, result);
  CheckReport& cold = result.shown == NcclMode::kCold ? result.check : reports.back();
  if (goes_well) find_assumptions(std::move(graph), cold, options, result);
  return result;
}

}  // namespace pipesim::models
