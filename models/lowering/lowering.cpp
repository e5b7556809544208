// Lowering in five passes: place the actors, find the two ends of every read, balance the rates,
// check the programs, build. What fails stops the passes after it; all mistakes of a pass are told.
#include "models/lowering/lowering.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/lowering/balance.hpp"
#include "models/lowering/call_times.hpp"
#include "models/lowering/fault_lowering.hpp"
#include "sim/assert.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::RankId;

constexpr std::int64_t kMost32 = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::int64_t kMostProgramActs = 100'000'000;  // each takes 4 bytes of the plan
constexpr std::int64_t kMostNs = std::numeric_limits<std::int64_t>::max();

// Of what a rank holds, so that figures can be added up without care.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

constexpr const char* kDestroy = "destroy";  // the operation after which a communicator is gone
constexpr std::int64_t kLeastTag = std::numeric_limits<std::int64_t>::min();

std::string rank_text(std::uint32_t rank) { return "rank " + std::to_string(rank); }

class Lowering {
 public:
  Lowering(const TaskGraph& graph, Diagnostics& diagnostics)
      : graph_(graph),
        diagnostics_(diagnostics),
        builder_(graph.ranks),
        call_times_(graph),
        faults_(graph, builder_) {}

  std::optional<Lowered> run();

 private:
  struct Placed {
    std::uint32_t actor_template;
    std::uint32_t rank;
  };

  void check_count();
  void place_actors();
  void connect_reads();
  void connect_read(std::uint32_t consumer, const ReadTemplate& read);
  void connect(std::uint32_t consumer, const ReadTemplate& read, std::int64_t rank);
  void balance_rates();
  void tell(const BalanceError& error);
  void check_programs();
  void check_size();
  void make_threads_and_streams();
  void make_actors();
  void check_sizes();
  void check_size_of(std::uint32_t id, const RegisterTemplate& reg, std::int64_t& all);
  void make_registers();
  void make_edges();
  void make_devices();
  void make_step(std::uint32_t id, sim::ThreadId thread);
  void make_calls(std::uint32_t id, sim::StreamId stream);
  void make_call(std::uint32_t id, const CallTemplate& from, sim::StreamId stream);
  void add_faults(std::uint32_t id, const CallTemplate& from, std::uint32_t list,
                  sim::CallSpec& spec);
  std::int64_t longer(std::int64_t takes, std::int64_t slower) const;
  void set_peer(std::uint32_t id, const CallTemplate& from, std::uint32_t list,
                sim::CallSpec& spec);
  void set_time(std::uint32_t id, const CallTemplate& from, sim::CallSpec& spec);
  std::int64_t time_of(std::uint32_t id, const CollectiveTemplate& from);
  std::uint32_t list_of(std::uint32_t id, std::uint32_t communicator, Place place);
  sim::OutsideInput input_of(std::uint32_t id);
  void synchronize(std::uint32_t id);
  sim::LockId lock_of(std::uint32_t id);
  sim::SignalId signal_of(std::uint32_t id);
  void check_record(std::uint32_t id, const sim::StepSpec& spec);
  void make_collectives();
  void make_collective(std::uint32_t actor_template, std::uint32_t list);
  sim::CommunicatorId communicator_of(std::uint32_t communicator, std::uint32_t list,
                                      std::uint32_t group);
  std::uint32_t number_of(const std::string& name);
  void find_tag_range();
  void set_tag(std::uint32_t id, const CallTemplate& from, sim::CallSpec& spec);
  void make_programs();
  void make_rank_faults();
  void make_rank_fault(const RankFault& fault, std::uint32_t rank);

  std::uint32_t find(std::uint32_t actor_template, std::uint32_t rank) const;
  std::int64_t number(const Expr& expr, std::uint32_t rank, std::int64_t least, std::int64_t most,
                      Place place, const char* what, const char* unit = "");
  Diagnostic* error_once(Place place, std::string message);
  const ActorTemplate& actor(std::uint32_t placed) const {
    return graph_.actors[placed_[placed].actor_template];
  }
  std::uint32_t rank_of(std::uint32_t placed) const { return placed_[placed].rank; }
  std::uint32_t thread_index(const ActorTemplate& actor) const {
    if (actor.thread != kNoIndex) return actor.thread;
    return actor.stream == kNoIndex ? kNoIndex : graph_.streams[actor.stream].thread;
  }
  using Counts = std::map<std::uint32_t, std::int64_t>;  // by actor template
  void count_steps(const std::vector<ProgramStep>& steps, std::uint32_t rank, std::int64_t times,
                   Counts& counts);
  void count_list(const std::vector<std::uint32_t>& list, std::int64_t times, Counts& counts);
  void expand(const std::vector<ProgramStep>& steps, std::uint32_t rank,
              std::vector<ActorId>& acts) const;
  void expand_list(const std::vector<std::uint32_t>& list, std::uint32_t rank,
                   std::vector<ActorId>& acts) const;
  void make_waits();
  bool can_wait(std::uint32_t id, std::uint32_t other, std::uint32_t ahead);
  void check_locks(std::uint32_t rank, const std::vector<ActorId>& acts);
  void check_destroyed(std::uint32_t rank, const std::vector<ActorId>& acts);
  bool destroys_any() const;
  std::int64_t count_in_program(std::uint32_t id);

  const TaskGraph& graph_;
  Diagnostics& diagnostics_;
  sim::PlanBuilder builder_;
  CallTimes call_times_;
  FaultLowering faults_;
  Lowered lowered_;
  std::vector<Placed> placed_;                          // by actor id
  std::vector<std::vector<std::uint32_t>> placed_ids_;  // by template, beside its ranks
  std::vector<RatedEdge> edges_;
  std::vector<const ReadTemplate*> edge_reads_;      // beside edges_
  std::vector<std::int64_t> acts_;                   // by actor id
  std::vector<std::vector<sim::ThreadId>> threads_;  // by rank, then thread template
  std::vector<std::vector<sim::StreamId>> streams_;
  std::vector<std::vector<sim::PlanBuilder::Output>> outputs_;  // by actor id, then register
  // By named communicator and list of its group.
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::CommunicatorId> shared_communicators_;
  // What steps refer to, made when a step first does. Keys that all ranks share have rank kNoIndex.
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::SignalId> signals_;  // event, rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::LockId> locks_;      // lock, rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::StreamId> call_streams_;
  std::map<std::uint32_t, sim::StreamId> record_streams_;  // by signal
  std::map<std::string, std::uint32_t> numbers_;           // of operations, types and tags
  std::map<std::string, std::uint32_t> numbered_tags_;     // likewise, of tags before a number
  std::uint32_t tag_range_ = 1;
  std::vector<std::int64_t> list_counts_;  // by actor template; 0 between uses
  std::map<std::pair<std::uint32_t, std::uint32_t>, Counts> program_counts_;  // by thread template
                                                                              // and rank
  std::set<std::pair<Place, std::string>> told_;  // one rank's word is enough
};

std::optional<Lowered> Lowering::run() {
  check_count();
  if (diagnostics_.has_errors()) return std::nullopt;
  place_actors();
  connect_reads();
  if (diagnostics_.has_errors()) return std::nullopt;
  balance_rates();
  if (diagnostics_.has_errors()) return std::nullopt;
  check_programs();
  check_size();
  if (diagnostics_.has_errors()) return std::nullopt;
  make_threads_and_streams();
  make_devices();
  find_tag_range();
  make_actors();
  if (diagnostics_.has_errors()) return std::nullopt;
  make_registers();
  check_sizes();
  if (diagnostics_.has_errors()) return std::nullopt;
  make_edges();
  make_collectives();
  if (diagnostics_.has_errors()) return std::nullopt;
  make_waits();
  make_programs();
  make_rank_faults();
  if (diagnostics_.has_errors()) return std::nullopt;
  faults_.set_guards();
  lowered_.link_names = faults_.take_link_names();
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

Diagnostic* Lowering::error_once(Place place, std::string message) {
  // The key leaves the numbers out: rank 3's and rank 4's form of one mistake are one.
  std::string key;
  for (const char c : message) {
    if (c < '0' || c > '9') key += c;
  }
  if (!told_.emplace(place, key).second) return nullptr;
  return &diagnostics_.error(place, std::move(message));
}

std::int64_t Lowering::number(const Expr& expr, std::uint32_t rank, std::int64_t least,
                              std::int64_t most, Place place, const char* what, const char* unit) {
  if (expr.place.line != 0) place = expr.place;
  std::string why;
  const std::optional<std::int64_t> value = expr.value(rank, &why);
  if (!value) {
    error_once(place, std::string(what) + " on " + rank_text(rank) + ": " + why);
    return least;
  }
  if (*value < least || *value > most) {
    const std::string limit =
        *value < least ? "at least " + std::to_string(least) : "at most " + std::to_string(most);
    error_once(place, std::string(what) + " is " + std::to_string(*value) + unit + " on " +
                          rank_text(rank) + ", but must be " + limit + unit);
    return least;
  }
  return *value;
}

// ---------------------------------------------------------------------------------------------
// Placing and connecting

void Lowering::check_count() {
  std::uint64_t count = 0;
  for (const ActorTemplate& actor : graph_.actors) {
    count += actor.on.size();
    if (count <= kMostPlacedActors) continue;
    diagnostics_
        .error(actor.place, "up to '" + actor.name + "' the actors and steps come to more than " +
                                std::to_string(kMostPlacedActors) + " on all ranks together")
        .notes.emplace_back("simulate fewer ranks, or fewer actors");
    return;
  }
}

void Lowering::place_actors() {
  std::vector<std::vector<std::uint32_t>> templates_on(graph_.ranks);
  placed_ids_.resize(graph_.actors.size());
  for (std::uint32_t t = 0; t < graph_.actors.size(); ++t) {
    placed_ids_[t].resize(graph_.actors[t].on.size());
    for (const std::uint32_t rank : graph_.actors[t].on) templates_on[rank].push_back(t);
  }
  std::vector<std::size_t> next(graph_.actors.size(), 0);
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    for (const std::uint32_t t : templates_on[rank]) {
      placed_ids_[t][next[t]++] = static_cast<std::uint32_t>(placed_.size());
      placed_.push_back({t, rank});
    }
  }
}

std::uint32_t Lowering::find(std::uint32_t actor_template, std::uint32_t rank) const {
  const RankSet& on = graph_.actors[actor_template].on;
  const auto found = std::lower_bound(on.begin(), on.end(), rank);
  if (found == on.end() || *found != rank) return kNoIndex;
  return placed_ids_[actor_template][static_cast<std::size_t>(found - on.begin())];
}

void Lowering::connect_reads() {
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    for (const ReadTemplate& read : actor(id).reads) {
      if (read.on.contains(rank_of(id))) connect_read(id, read);
    }
  }
}

void Lowering::connect_read(std::uint32_t consumer, const ReadTemplate& read) {
  const std::uint32_t rank = rank_of(consumer);
  if (read.group != kNoIndex) {
    const Group& group = graph_.groups[read.group];
    const std::uint32_t list = group.list_of(rank);
    if (list == kNoIndex) {
      error_once(read.place, rank_text(rank) + " is not in group '" + group.name + "'");
      return;
    }
    for (const std::uint32_t member : group.lists[list]) connect(consumer, read, member);
    return;
  }
  if (!read.rank) {
    connect(consumer, read, rank);
    return;
  }
  std::string why;
  const std::optional<std::int64_t> other = read.rank->value(rank, &why);
  if (!other) {
    error_once(read.place, "the rank to read from, on " + rank_text(rank) + ": " + why);
  } else {
    connect(consumer, read, *other);
  }
}

void Lowering::connect(std::uint32_t consumer, const ReadTemplate& read, std::int64_t rank) {
  const ActorTemplate& from = graph_.actors[read.actor];
  const std::uint32_t here = rank_of(consumer);
  const bool exists = rank >= 0 && rank < graph_.ranks;
  const std::uint32_t producer =
      exists ? find(read.actor, static_cast<std::uint32_t>(rank)) : kNoIndex;
  if (producer == kNoIndex) {
    Diagnostic* error = error_once(
        read.place, "'" + actor(consumer).name + "' on " + rank_text(here) + " reads '" +
                        from.name + "' of rank " + std::to_string(rank) +
                        (exists ? ", which has no such actor" : ", which does not exist"));
    if (error == nullptr) return;
    if (exists && !read.rank && read.group == kNoIndex) {
      error->notes.push_back("say which rank it reads from: {from: " + from.name +
                             ", rank: rank - 1}, or on which ranks it reads: {from: " + from.name +
                             ", on: ...}");
    }
    return;
  }
  RatedEdge edge;
  edge.producer = producer;
  edge.consumer = consumer;
  const RegisterTemplate& reg = from.registers[read.reg];
  edge.acts_per_fill = static_cast<std::uint32_t>(
      number(reg.acts_per_slot, rank_of(producer), 1, kMost32, reg.place, "the acts per slot"));
  edge.acts_per_take = static_cast<std::uint32_t>(
      number(read.acts_per_slot, here, 1, kMost32, read.place, "the acts per slot"));
  edges_.push_back(edge);
  edge_reads_.push_back(&read);
}

// ---------------------------------------------------------------------------------------------
// Rates

void Lowering::balance_rates() {
  std::vector<std::int64_t> given(placed_.size(), -1);
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    if (actor(id).step) given[id] = count_in_program(id);
    if (!actor(id).acts) continue;
    given[id] =
        number(*actor(id).acts, rank_of(id), 0, kMost32, actor(id).place, "the number of acts");
  }
  std::vector<BalanceError> errors;
  acts_ = balance(given, edges_, errors);
  for (const BalanceError& error : errors) tell(error);
}

void Lowering::tell(const BalanceError& error) {
  const std::string name = "'" + actor(error.actor).name + "'";
  const std::string where = " on " + rank_text(rank_of(error.actor));
  if (error.kind == BalanceError::Kind::kUnknown) {
    Diagnostic* told =
        error_once(actor(error.actor).place, "nothing says how often " + name + " acts" + where);
    if (told != nullptr) {
      told->notes.emplace_back(
          "it is not fed by a source: add 'source: N' to it or to one before it");
    }
    return;
  }
  const RatedEdge& edge = edges_[error.edge];
  const std::string ends =
      "'" + actor(edge.producer).name + "' to '" + actor(edge.consumer).name + "'";
  const std::string count = std::to_string(error.found);
  const std::string rates = "the rates from " + ends + " do not balance: ";
  const std::string wanted = std::to_string(error.wanted);
  const Place place = edge_reads_[error.edge]->place;
  switch (error.kind) {
    case BalanceError::Kind::kUneven:
      error_once(place, rates + name + where + " acts " + count +
                            " times, which is no multiple of " + wanted);
      break;
    case BalanceError::Kind::kContradiction:
      error_once(place, rates + name + where + " acts " + count +
                            " times, but here it would have to act " + wanted + " times");
      break;
    case BalanceError::Kind::kTooMany:
      error_once(place, rates + name + where + " would act more than " + std::to_string(kMost32) +
                            " times");
      break;
    case BalanceError::Kind::kUnknown:
      break;
  }
}

// ---------------------------------------------------------------------------------------------
// Programs

// How often each actor template stands in the program as `rank` does it.
void Lowering::count_steps(const std::vector<ProgramStep>& steps, std::uint32_t rank,
                           std::int64_t times, Counts& counts) {
  for (const ProgramStep& step : steps) {
    if (step.actor != kNoIndex) {
      counts[step.actor] += times;
    } else if (!step.list.empty()) {
      count_list(step.list, times, counts);
    } else if (!step.on || step.on->contains(rank)) {
      std::int64_t all = 0;
      if (__builtin_mul_overflow(times, step.times, &all)) all = kMostNs;
      count_steps(step.block, rank, std::min(all, kMost32), counts);
    }
  }
}

void Lowering::count_list(const std::vector<std::uint32_t>& list, std::int64_t times,
                          Counts& counts) {
  list_counts_.resize(graph_.actors.size(), 0);
  std::vector<std::uint32_t> found;
  for (const std::uint32_t actor : list) {
    if (list_counts_[actor]++ == 0) found.push_back(actor);
  }
  for (const std::uint32_t actor : found) {
    std::int64_t all = 0;
    const std::int64_t count = std::exchange(list_counts_[actor], 0);
    if (__builtin_mul_overflow(times, count, &all)) all = kMostNs;
    counts[actor] += std::min(all, kMost32);
  }
}

// How often a step acts: as often as it stands in its program.
std::int64_t Lowering::count_in_program(std::uint32_t id) {
  const std::uint32_t thread = actor(id).thread;
  const auto [found, is_new] = program_counts_.try_emplace({thread, rank_of(id)});
  if (is_new) count_steps(graph_.threads[thread].program, rank_of(id), 1, found->second);
  const std::int64_t count = found->second[placed_[id].actor_template];
  if (count < kMost32) return count;
  error_once(actor(id).place,
             "'" + actor(id).name + "' would act more than " + std::to_string(kMost32) + " times");
  return 0;
}

void Lowering::check_programs() {
  for (std::uint32_t t = 0; t < graph_.threads.size(); ++t) {
    const HostThread& thread = graph_.threads[t];
    if (thread.order != sim::ThreadOrder::kProgram) continue;
    Counts counts;
    std::uint32_t counted_rank = kNoIndex;
    for (std::uint32_t id = 0; id < placed_.size(); ++id) {
      if (thread_index(actor(id)) != t) continue;
      if (counted_rank != rank_of(id)) {
        counted_rank = rank_of(id);
        counts.clear();
        count_steps(thread.program, counted_rank, 1, counts);
      }
      const std::int64_t found = counts[placed_[id].actor_template];
      if (found == acts_[id]) continue;
      error_once(thread.place, "the program of thread '" + thread.name + "' has '" +
                                   actor(id).name + "' " + std::to_string(found) +
                                   " times, but it acts " + std::to_string(acts_[id]) +
                                   " times on " + rank_text(rank_of(id)));
    }
  }
}

void Lowering::expand(const std::vector<ProgramStep>& steps, std::uint32_t rank,
                      std::vector<ActorId>& acts) const {
  for (const ProgramStep& step : steps) {
    if (step.actor != kNoIndex) {
      const std::uint32_t id = find(step.actor, rank);
      if (id != kNoIndex) acts.push_back(ActorId{id});
      continue;
    }
    if (!step.list.empty()) {
      expand_list(step.list, rank, acts);
      continue;
    }
    if (step.on && !step.on->contains(rank)) continue;
    if (step.times == 0) continue;
    const std::size_t begin = acts.size();
    expand(step.block, rank, acts);
    const std::size_t round = acts.size() - begin;
    acts.reserve(begin + round * static_cast<std::size_t>(step.times));
    for (std::int64_t i = 1; i < step.times && round > 0; ++i) {
      acts.insert(acts.end(), acts.begin() + static_cast<std::ptrdiff_t>(begin),
                  acts.begin() + static_cast<std::ptrdiff_t>(begin + round));
    }
  }
}

// A list names few actors often: each is looked up once.
void Lowering::expand_list(const std::vector<std::uint32_t>& list, std::uint32_t rank,
                           std::vector<ActorId>& acts) const {
  std::uint32_t least = kNoIndex;
  std::uint32_t most = 0;
  for (const std::uint32_t actor : list) {
    least = std::min(least, actor);
    most = std::max(most, actor);
  }
  std::vector<std::uint32_t> ids(std::size_t{most} - least + 1, kNoIndex);
  for (std::uint32_t actor = least; actor <= most; ++actor) ids[actor - least] = find(actor, rank);
  acts.reserve(acts.size() + list.size());
  for (const std::uint32_t actor : list) {
    if (ids[actor - least] != kNoIndex) acts.push_back(ActorId{ids[actor - least]});
  }
}

// A program is laid out act by act.
void Lowering::check_size() {
  std::int64_t all = 0;
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    const std::uint32_t thread = thread_index(actor(id));
    if (thread == kNoIndex || graph_.threads[thread].order != sim::ThreadOrder::kProgram) continue;
    all += acts_[id];
    if (all <= kMostProgramActs) continue;
    error_once(actor(id).place, "the programs have more than " + std::to_string(kMostProgramActs) +
                                    " acts with this: '" + actor(id).name + "' acts " +
                                    std::to_string(acts_[id]) + " times on " +
                                    rank_text(rank_of(id)));
    return;
  }
}

// Only who holds a lock can unlock it.
void Lowering::check_locks(std::uint32_t rank, const std::vector<ActorId>& acts) {
  if (graph_.locks.empty()) return;
  std::vector<std::uint8_t> held(graph_.locks.size(), 0);
  for (const ActorId id : acts) {
    const auto& step = actor(id.value).step;
    if (!step || step->lock == kNoIndex) continue;
    if (step->role == sim::Role::kUnlock && held[step->lock] == 0) {
      error_once(actor(id.value).place,
                 "'" + graph_.locks[step->lock] +
                     "' is unlocked by a thread that has not locked it, on " + rank_text(rank));
    }
    held[step->lock] = step->role == sim::Role::kLock ? 1 : 0;
  }
}

// A communicator is gone once a call has destroyed it. One mistake of a program is enough: in a
// loop all that follows would be.
void Lowering::check_destroyed(std::uint32_t rank, const std::vector<ActorId>& acts) {
  std::map<std::uint32_t, Place> destroyed;
  const auto is_gone = [&](std::uint32_t communicator, Place place) {
    const auto found = destroyed.find(communicator);
    if (found == destroyed.end()) return false;
    Diagnostic* error =
        error_once(place, "communicator '" + graph_.communicators[communicator].name +
                              "' is used after it was destroyed, on " + rank_text(rank));
    if (error == nullptr) return true;
    error->notes.push_back("it is destroyed in " + line_text(found->second) +
                           "; a new one is listed under 'communicators', 'named'");
    return true;
  };
  for (const ActorId id : acts) {
    const auto& step = actor(id.value).step;
    if (!step) continue;
    if (is_gone(step->communicator, actor(id.value).place)) return;
    for (const CallTemplate& call : step->calls) {
      if (is_gone(call.communicator, call.place)) return;
      if (call.operation == kDestroy) destroyed.emplace(call.communicator, call.place);
    }
  }
}

bool Lowering::destroys_any() const {
  return std::any_of(graph_.actors.begin(), graph_.actors.end(), [](const ActorTemplate& from) {
    return from.step && from.step->calls.size() == 1 && from.step->calls[0].operation == kDestroy;
  });
}

void Lowering::make_programs() {
  const bool destroys = destroys_any();
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    for (std::uint32_t t = 0; t < graph_.threads.size(); ++t) {
      if (graph_.threads[t].order != sim::ThreadOrder::kProgram) continue;
      if (!threads_[rank][t].valid()) continue;
      std::vector<ActorId> acts;
      expand(graph_.threads[t].program, rank, acts);
      check_locks(rank, acts);
      if (destroys) check_destroyed(rank, acts);
      builder_.set_program(threads_[rank][t], acts);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Building

// Those that some actor of the rank uses, rank by rank, in the order of the file.
void Lowering::make_threads_and_streams() {
  threads_.assign(graph_.ranks, std::vector<sim::ThreadId>(graph_.threads.size()));
  streams_.assign(graph_.ranks, std::vector<sim::StreamId>(graph_.streams.size()));
  std::vector<std::set<std::uint32_t>> used_threads(graph_.ranks);
  std::vector<std::set<std::uint32_t>> used_streams(graph_.ranks);
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    const std::uint32_t thread = thread_index(actor(id));
    if (thread != kNoIndex) used_threads[rank_of(id)].insert(thread);
    if (actor(id).stream != kNoIndex) used_streams[rank_of(id)].insert(actor(id).stream);
  }
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    for (const std::uint32_t t : used_threads[rank]) {
      threads_[rank][t] = builder_.add_thread(RankId{rank}, graph_.threads[t].order);
      lowered_.thread_template.push_back(t);
      lowered_.thread_owner.push_back(kNoIndex);
    }
    for (const std::uint32_t s : used_streams[rank]) {
      const StreamTemplate& stream = graph_.streams[s];
      const std::int64_t queue =
          number(stream.launch_queue, rank, 1, kMost32, stream.place, "the launch queue");
      streams_[rank][s] = builder_.add_stream(RankId{rank}, static_cast<std::uint32_t>(queue));
      lowered_.stream_template.push_back(s);
      lowered_.stream_owner.push_back(kNoIndex);
    }
  }
}

// Only devices with limited room have to be told from others.
void Lowering::make_devices() {
  std::vector<std::map<std::uint32_t, sim::DeviceId>> devices(graph_.ranks);
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    const auto limit = [&](const Expr& expr, const char* what) {
      return static_cast<std::uint32_t>(number(expr, rank, 0, kMost32, Place(), what));
    };
    const std::uint32_t queues =
        limit(graph_.device.hardware_queues, "the number of hardware queues");
    const std::uint32_t resident = limit(graph_.device.resident, "the number of resident kernels");
    if (queues == 0 && resident == 0 && !graph_.device.implicit_order) continue;
    for (std::uint32_t s = 0; s < graph_.streams.size(); ++s) {
      if (!streams_[rank][s].valid() || graph_.streams[s].on_host) continue;
      const auto [device, is_new] = devices[rank].try_emplace(graph_.streams[s].device);
      if (is_new) {
        device->second =
            builder_.add_device(RankId{rank}, queues, resident, graph_.device.implicit_order);
      }
      builder_.put_on_device(streams_[rank][s], device->second);
    }
  }
}

void Lowering::make_actors() {
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    const ActorTemplate& from = actor(id);
    const std::uint32_t rank = rank_of(id);
    const std::uint32_t thread = thread_index(from);
    if (from.step && from.step->role != sim::Role::kOp) {
      make_step(id, threads_[rank][thread]);
      continue;
    }
    sim::ActorSpec spec;
    if (thread == kNoIndex) {
      spec.thread = builder_.add_thread(RankId{rank}, sim::ThreadOrder::kArrival);
      lowered_.thread_template.push_back(kNoIndex);
      lowered_.thread_owner.push_back(placed_[id].actor_template);
    } else {
      spec.thread = threads_[rank][thread];
    }
    if (from.stream == kNoIndex) {
      const std::int64_t queue =
          number(graph_.launch_queue, rank, 1, kMost32, from.place, "the launch queue");
      spec.stream = builder_.add_stream(RankId{rank}, static_cast<std::uint32_t>(queue));
      lowered_.stream_template.push_back(kNoIndex);
      lowered_.stream_owner.push_back(placed_[id].actor_template);
    } else {
      spec.stream = streams_[rank][from.stream];
    }
    spec.takes = {number(from.takes, rank, 0, kMostNs, from.place, "the time it takes", " ns")};
    spec.launch_overhead = {
        number(from.launch_overhead, rank, 0, kMostNs, from.place, "the launch overhead", " ns")};
    if (from.collective && from.collective->timed) spec.takes = {time_of(id, *from.collective)};
    spec.acts = static_cast<std::uint32_t>(acts_[id]);
    spec.immediate = from.immediate;
    spec.blocking = from.blocking;
    spec.input = input_of(id);
    if (from.collective) {
      const Group& group = graph_.groups[from.collective->group];
      const std::uint32_t list = group.list_of(rank);
      const std::vector<std::uint32_t> none;
      spec.takes.ns =
          longer(spec.takes.ns, faults_.slower(from.collective->communicator,
                                               list == kNoIndex ? none : group.lists[list]));
    }
    builder_.add_actor(spec);
    lowered_.actor_template.push_back(placed_[id].actor_template);
  }
}

// ---------------------------------------------------------------------------------------------
// Steps

void Lowering::make_step(std::uint32_t id, sim::ThreadId thread) {
  const ActorTemplate& from = actor(id);
  const StepTemplate& step = *from.step;
  const std::uint32_t rank = rank_of(id);
  sim::StepSpec spec;
  spec.role = step.role;
  spec.thread = thread;
  if (!on_host(step.role)) spec.stream = streams_[rank][from.stream];
  spec.launch_overhead = {
      number(from.launch_overhead, rank, 0, kMostNs, from.place, "the launch overhead", " ns")};
  if (step.role == sim::Role::kWork) {  // to the engine, both are time of the host thread
    spec.launch_overhead.ns += number(from.takes, rank, 0, kMostNs - spec.launch_overhead.ns,
                                      from.place, "the time it takes", " ns");
  }
  spec.acts = static_cast<std::uint32_t>(acts_[id]);
  spec.blocking = from.blocking;
  // An event that this rank never records holds nothing up, as in CUDA.
  const bool shared = step.event != kNoIndex && graph_.events[step.event].shared;
  spec.times = shared ? static_cast<std::uint32_t>(step.times) : 0;
  if (on_host(step.role)) {
    const bool reads_store = step.role == sim::Role::kAwait && shared;
    spec.timeout = {step.timeout_ns.value_or(reads_store ? graph_.guards.store_ns : 0)};
  }
  spec.input = input_of(id);
  if (step.event != kNoIndex) spec.signal = signal_of(id);
  if (step.role == sim::Role::kRecord) check_record(id, spec);
  if (step.lock != kNoIndex) spec.lock = lock_of(id);
  if (step.communicator != kNoIndex) {
    const std::uint32_t list = list_of(id, step.communicator, from.place);
    if (list == kNoIndex) return;
    spec.communicator =
        communicator_of(step.communicator, list, graph_.communicators[step.communicator].group);
  }
  if (diagnostics_.has_errors()) return;  // what follows would stand on what is not there
  const ActorId added = builder_.add_step(spec);
  if (!step.dies.empty() && spec.acts > 0) builder_.set_dies_at(added, 0);
  lowered_.actor_template.push_back(placed_[id].actor_template);
  if (step.role == sim::Role::kSynchronize) synchronize(id);
  make_calls(id, spec.stream);
}

// Of a source that waits for what comes from outside.
sim::OutsideInput Lowering::input_of(std::uint32_t id) {
  sim::OutsideInput result;
  const ActorTemplate& from = actor(id);
  const std::uint32_t rank = rank_of(id);
  if (!from.input) return result;
  result.waits = true;
  result.items = static_cast<std::uint32_t>(
      number(from.input->items, rank, 0, acts_[id], from.place, "the number of inputs"));
  result.first = {number(from.input->first, rank, 0, kMostNs, from.place,
                         "the time of the first input", " ns")};
  result.every = {
      number(from.input->every, rank, 0, kMostNs, from.place, "the time between inputs", " ns")};
  return result;
}

// The streams of the step that was added last.
void Lowering::synchronize(std::uint32_t id) {
  const StepTemplate& step = *actor(id).step;
  const auto& all = streams_[rank_of(id)];
  const auto is_meant = [&](std::uint32_t s) {
    if (step.streams.empty()) return !graph_.streams[s].on_host;
    return std::find(step.streams.begin(), step.streams.end(), s) != step.streams.end();
  };
  std::vector<sim::StreamId> streams;
  for (std::uint32_t s = 0; s < graph_.streams.size(); ++s) {
    if (all[s].valid() && is_meant(s)) streams.push_back(all[s]);
  }
  builder_.set_synchronized(std::move(streams));
}

sim::LockId Lowering::lock_of(std::uint32_t id) {
  const std::uint32_t rank = rank_of(id);
  const auto [lock, is_new] = locks_.try_emplace({actor(id).step->lock, rank});
  if (is_new) lock->second = builder_.add_lock(RankId{rank});
  return lock->second;
}

sim::SignalId Lowering::signal_of(std::uint32_t id) {
  const std::uint32_t event = actor(id).step->event;
  const std::uint32_t rank = graph_.events[event].shared ? kNoIndex : rank_of(id);
  const auto [signal, is_new] = signals_.try_emplace({event, rank});
  if (is_new) signal->second = builder_.add_signal();
  return signal->second;
}

// Which of two streams recorded last would depend on the order of their work.
void Lowering::check_record(std::uint32_t id, const sim::StepSpec& spec) {
  const auto [known, is_new] = record_streams_.try_emplace(spec.signal.value, spec.stream);
  if (is_new || known->second == spec.stream) return;
  error_once(actor(id).place, "event '" + graph_.events[actor(id).step->event].name +
                                  "' is recorded on two streams of " + rank_text(rank_of(id)));
}

void Lowering::make_calls(std::uint32_t id, sim::StreamId stream) {
  for (const CallTemplate& call : actor(id).step->calls) make_call(id, call, stream);
}

std::uint32_t Lowering::list_of(std::uint32_t id, std::uint32_t communicator, Place place) {
  const CommunicatorTemplate& from = graph_.communicators[communicator];
  const std::uint32_t list = graph_.groups[from.group].list_of(rank_of(id));
  if (list == kNoIndex) {
    error_once(place, "'" + actor(id).name + "' is on " + rank_text(rank_of(id)) +
                          ", which is not in group '" + graph_.groups[from.group].name + "'");
  }
  return list;
}

std::uint32_t Lowering::number_of(const std::string& name) {
  return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

void Lowering::make_call(std::uint32_t id, const CallTemplate& from, sim::StreamId stream) {
  const std::uint32_t list = list_of(id, from.communicator, from.place);
  if (list == kNoIndex) return;
  const CommunicatorTemplate& communicator = graph_.communicators[from.communicator];
  sim::CallSpec spec;
  spec.communicator = communicator_of(from.communicator, list, communicator.group);
  const auto [used, is_new] =
      call_streams_.try_emplace({spec.communicator.value, rank_of(id)}, stream);
  if (!is_new && used->second != stream) {
    Diagnostic* error =
        error_once(from.place, "communicator '" + communicator.name +
                                   "' is used on two streams of " + rank_text(rank_of(id)));
    if (error != nullptr) {
      error->notes.emplace_back("its calls run one after the other: give them one stream");
    }
    return;
  }
  const std::uint32_t rank = rank_of(id);
  spec.kind = from.kind;
  spec.signature.operation = number_of(from.operation);
  spec.signature.type = number_of(from.type);
  spec.signature.count = number(from.bytes, rank, 0, kMostNs, from.place, "the size", " bytes");
  set_tag(id, from, spec);
  spec.takes = {number(from.takes, rank, 0, kMostNs, from.place, "the time it takes", " ns")};
  spec.eager = communicator.eager_bytes && spec.signature.count <= *communicator.eager_bytes;
  set_peer(id, from, list, spec);
  if (from.timed) set_time(id, from, spec);
  add_faults(id, from, list, spec);
  if (!diagnostics_.has_errors()) builder_.add_call(spec);
}

// Tags with numbers come from the end of the plan's tags: a range for each text before the number.
void Lowering::set_tag(std::uint32_t id, const CallTemplate& from, sim::CallSpec& spec) {
  const std::uint32_t rank = rank_of(id);
  if (from.tag_number) number(*from.tag_number, rank, kLeastTag, kMostNs, from.place, "the tag");
  if (!from.tag_numbers) {
    spec.tag = number_of(from.tag_on(rank));
    return;
  }
  const std::uint32_t next = static_cast<std::uint32_t>(numbered_tags_.size());
  const std::uint32_t text = numbered_tags_.emplace(from.tag_on(rank), next).first->second;
  const std::uint32_t first = static_cast<std::uint32_t>(from.tag_numbers->first);
  spec.tag = ~(text * tag_range_ + first);
  spec.tag_step = ~static_cast<std::uint32_t>(from.tag_numbers->step) + 1;  // the other way
}

// As large as the largest number behind a tag asks for.
void Lowering::find_tag_range() {
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    if (!actor(id).step || acts_[id] == 0) continue;
    for (const CallTemplate& call : actor(id).step->calls) {
      if (!call.tag_numbers) continue;
      const std::int64_t last = call.tag_numbers->number(static_cast<std::uint32_t>(acts_[id]) - 1);
      const std::int64_t most = std::max(call.tag_numbers->first, last);
      tag_range_ = std::max(tag_range_, static_cast<std::uint32_t>(most) + 1);
    }
  }
}

void Lowering::set_peer(std::uint32_t id, const CallTemplate& from, std::uint32_t list,
                        sim::CallSpec& spec) {
  if (!from.peer) return;
  const std::uint32_t rank = rank_of(id);
  const std::int64_t peer =
      number(*from.peer, rank, 0, graph_.ranks - 1, from.place, "the other rank");
  const Group& group = graph_.groups[graph_.communicators[from.communicator].group];
  const auto& members = group.lists[list];
  if (std::find(members.begin(), members.end(), peer) == members.end()) {
    const Place place = from.peer->place.line == 0 ? from.place : from.peer->place;
    error_once(place, rank_text(static_cast<std::uint32_t>(peer)) +
                          " is not in the list of group '" + group.name + "' that " +
                          rank_text(rank) + " is in");
    return;
  }
  spec.peer = RankId{static_cast<std::uint32_t>(peer)};
  spec.signature.root = static_cast<std::uint32_t>(peer);
}

// From what it moves and the cluster.
void Lowering::set_time(std::uint32_t id, const CallTemplate& from, sim::CallSpec& spec) {
  if (diagnostics_.has_errors()) return;  // its peer or size may be what is wrong
  std::string why;
  const auto time = call_times_.of(from, rank_of(id), spec, &why);
  if (!time) error_once(from.place, "the time of '" + actor(id).name + "': " + why);
  spec.takes = {time.value_or(0)};
}

std::int64_t Lowering::time_of(std::uint32_t id, const CollectiveTemplate& from) {
  // That a rank is not in the group is told where the collectives are made.
  if (graph_.groups[from.group].list_of(rank_of(id)) == kNoIndex) return 0;
  std::string why;
  const auto time = call_times_.of(from, rank_of(id), &why);
  if (!time) error_once(from.place, "the time of '" + actor(id).name + "': " + why);
  return time.value_or(0);
}

// What can go wrong with a call.
void Lowering::add_faults(std::uint32_t id, const CallTemplate& from, std::uint32_t list,
                          sim::CallSpec& spec) {
  const std::uint32_t rank = rank_of(id);
  const auto& members = graph_.groups[graph_.communicators[from.communicator].group].lists[list];
  if (from.kind == sim::CallKind::kCollective) {
    spec.takes.ns = longer(spec.takes.ns, faults_.slower(from.communicator, members));
  } else if (spec.peer.valid()) {
    const std::uint32_t peer = spec.peer.value;
    const bool sends = from.kind == sim::CallKind::kSend;
    spec.link =
        faults_.link_of_message(from.communicator, sends ? rank : peer, sends ? peer : rank);
    spec.takes.ns = longer(spec.takes.ns, faults_.slower(from.communicator, rank, peer));
  }
  spec.fatal = faults_.dies_reading(from, rank, members, spec);
}

std::int64_t Lowering::longer(std::int64_t takes, std::int64_t slower) const {
  return takes > kMostNs / slower ? kMostNs : takes * slower;
}

// ---------------------------------------------------------------------------------------------
// Waits for other streams

void Lowering::make_waits() {
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    const ActorTemplate& from = actor(id);
    const std::uint32_t rank = rank_of(id);
    if (from.behind != kNoIndex && from.behind != from.stream &&
        streams_[rank][from.behind].valid()) {
      builder_.set_behind(ActorId{id}, streams_[rank][from.behind]);
    }
    for (const AfterTemplate& after : from.after) {
      const std::uint32_t other = find(after.actor, rank);
      if (can_wait(id, other, after.ahead)) {
        builder_.add_after(ActorId{id}, ActorId{other}, after.ahead);
      }
    }
  }
}

bool Lowering::can_wait(std::uint32_t id, std::uint32_t other, std::uint32_t ahead) {
  const std::string name = "'" + actor(id).name + "'";
  const std::string where = " on " + rank_text(rank_of(id));
  if (other == kNoIndex) {
    error_once(actor(id).place, name + " waits for a step that is not" + where);
    return false;
  }
  const std::string its = "'" + actor(other).name + "'";
  if (actor(other).stream == kNoIndex || actor(other).stream == actor(id).stream) {
    error_once(actor(id).place,
               name + " waits for " + its + ", which is not on another stream" + where);
    return false;
  }
  if (acts_[id] + ahead > acts_[other]) {
    error_once(actor(id).place, name + " waits for " + std::to_string(acts_[id] + ahead) +
                                    " acts of " + its + ", which acts " +
                                    std::to_string(acts_[other]) + " times" + where);
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
    const std::int64_t at = number(*fault.at, rank, 0, kMostNs, fault.place, "the time", " ns");
    builder_.add_death(RankId{rank}, {at});
    return;
  }
  const ActorTemplate& from = graph_.actors[fault.actor];
  const std::uint32_t id = find(fault.actor, rank);
  if (id == kNoIndex) {
    error_once(fault.place, rank_text(rank) + " has no '" + from.name + "'");
    return;
  }
  if (fault.act >= acts_[id]) {
    error_once(fault.place, "'" + from.name + "' acts " + std::to_string(acts_[id]) + " times on " +
                                rank_text(rank) + ", so there is no #" +
                                std::to_string(fault.act + 1));
    return;
  }
  if (!fault.device_error) {
    builder_.set_dies_at(ActorId{id}, fault.act);
  } else if (!from.step || from.step->role == sim::Role::kOp) {
    builder_.set_fails_at(ActorId{id}, fault.act);
  } else {
    error_once(fault.place, "'" + from.name + "' is no kernel, so no error of the device ends it");
  }
}

// ---------------------------------------------------------------------------------------------

void Lowering::make_registers() {
  outputs_.resize(placed_.size());
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    for (const RegisterTemplate& reg : actor(id).registers) {
      sim::RegisterSpec spec;
      const auto value = [&](const Expr& expr, std::int64_t least, const char* what) {
        return static_cast<std::uint32_t>(
            number(expr, rank_of(id), least, kMost32, reg.place, what));
      };
      spec.slots = value(reg.slots, 1, "the number of slots");
      spec.acts_per_slot = value(reg.acts_per_slot, 1, "the acts per slot");
      spec.drain_every = value(reg.drain_every, 0, "the acts per drain");
      spec.control = reg.control;
      if (spec.drain_every % spec.acts_per_slot != 0) {
        error_once(reg.place, "register '" + reg.name + "' of '" + actor(id).name +
                                  "' is filled every " + std::to_string(spec.acts_per_slot) +
                                  " acts, which does not divide the " +
                                  std::to_string(spec.drain_every) + " that it repeats");
        continue;
      }
      outputs_[id].push_back(builder_.add_register(ActorId{id}, spec));
    }
  }
}

// The plan has no sizes, since nothing waits for memory.
void Lowering::check_sizes() {
  std::vector<std::int64_t> all(graph_.ranks, 0);
  for (std::uint32_t rank = 0; graph_.memory && rank < graph_.ranks; ++rank) {
    all[rank] =
        number(*graph_.memory, rank, 0, kMostBytes, {}, "the memory held all the time", " bytes");
  }
  for (std::uint32_t id = 0; id < placed_.size(); ++id) {
    for (const RegisterTemplate& reg : actor(id).registers) {
      if (reg.bytes) check_size_of(id, reg, all[rank_of(id)]);
    }
  }
}

// Adds what the register's slots hold to `all`, which its rank holds.
void Lowering::check_size_of(std::uint32_t id, const RegisterTemplate& reg, std::int64_t& all) {
  const std::uint32_t rank = rank_of(id);
  const Place place = reg.bytes->place.line == 0 ? reg.place : reg.bytes->place;
  if (reg.control) {
    error_once(place, "the control register '" + reg.name + "' of '" + actor(id).name +
                          "' carries no data, so it has no size");
    return;
  }
  const std::int64_t bytes =
      number(*reg.bytes, rank, 0, kMostBytes, place, "the size of a slot", " bytes");
  const std::int64_t slots = number(reg.slots, rank, 1, kMost32, reg.place, "the number of slots");
  if (bytes <= (kMostBytes - all) / slots) {
    all += bytes * slots;
    return;
  }
  error_once(place, "with the slots of '" + actor(id).name + "' " + rank_text(rank) +
                        " holds more than 1024 PiB");
}

void Lowering::make_edges() {
  std::vector<std::uint8_t> has_data(placed_.size(), 0);
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const RatedEdge& edge = edges_[i];
    builder_.add_consumer(outputs_[edge.producer][edge_reads_[i]->reg], ActorId{edge.consumer},
                          edge.acts_per_take);
    const bool control = actor(edge.producer).registers[edge_reads_[i]->reg].control;
    if (control || has_data[edge.consumer] != 0) continue;
    has_data[edge.consumer] = 1;
    if (!actor(edge.consumer).in_place) continue;
    const Expr& fills = actor(edge.consumer).registers.front().acts_per_slot;
    if (edge.acts_per_take != 1 || fills.value(rank_of(edge.consumer)) != 1) {
      error_once(actor(edge.consumer).place, "'" + actor(edge.consumer).name +
                                                 "' cannot work in place: it has not one output "
                                                 "per input");
      continue;
    }
    builder_.set_in_place(outputs_[edge.consumer].front());
  }
}

// One for each list of its group that has a member with the actor.
void Lowering::make_collectives() {
  for (std::uint32_t t = 0; t < graph_.actors.size(); ++t) {
    if (!graph_.actors[t].collective) continue;
    const Group& group = graph_.groups[graph_.actors[t].collective->group];
    for (std::uint32_t list = 0; list < group.lists.size(); ++list) make_collective(t, list);
    for (const std::uint32_t rank : graph_.actors[t].on) {
      if (group.list_of(rank) != kNoIndex) continue;
      error_once(graph_.actors[t].collective->place,
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
    const std::uint32_t id = find(actor_template, rank);
    anyone = anyone || id != kNoIndex;
    members.push_back({RankId{rank}, id == kNoIndex ? ActorId() : ActorId{id}});
  }
  if (!anyone) return;
  builder_.add_collective(communicator_of(from.communicator, list, from.group), std::move(members));
}

// One of its own for a collective that names none, else that of the list.
sim::CommunicatorId Lowering::communicator_of(std::uint32_t communicator, std::uint32_t list,
                                              std::uint32_t group) {
  const bool named = communicator != kNoIndex;
  const auto known = shared_communicators_.find({communicator, list});
  if (named && known != shared_communicators_.end()) return known->second;
  const CreationRule& rule = named ? graph_.communicators[communicator].creation : graph_.creation;
  std::vector<RankId> ranks;
  for (const std::uint32_t rank : graph_.groups[group].lists[list]) ranks.push_back(RankId{rank});
  const sim::CommunicatorId id =
      builder_.add_communicator(std::move(ranks), rule.at_first_use, rule.waits_for_device);
  faults_.set_up(id, communicator, graph_.groups[group].lists[list]);
  if (named) shared_communicators_.emplace(std::pair(communicator, list), id);
  return id;
}

}  // namespace

std::optional<Lowered> lower(const TaskGraph& graph, Diagnostics& diagnostics) {
  return Lowering(graph, diagnostics).run();
}

}  // namespace pipesim::models
