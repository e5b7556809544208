#include "models/lowering/programs.hpp"

#include <algorithm>
#include <string>

namespace pipesim::models {
namespace {

// Limit on the ops of all programs together; each op takes 4 bytes of the plan.
constexpr std::int64_t kMaxProgramOps = 100'000'000;

}  // namespace

using sim::ActorId;

Programs::StepsOfRanks::StepsOfRanks(const std::vector<ProgramStep>& program, std::uint32_t ranks)
    : program_(program), first_(ranks + std::size_t{1}, 0) {
  // Whether the step is a block of few ranks; an index of blocks with more ranks does not pay off.
  const auto is_of_few = [&](const ProgramStep& step) {
    return step.on && step.on->size() * std::size_t{64} <= ranks;
  };
  for (const ProgramStep& step : program) {
    if (!is_of_few(step)) continue;
    for (const std::uint32_t rank : *step.on) ++first_[rank + 1];
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) first_[rank + 1] += first_[rank];
  of_rank_.resize(first_[ranks]);
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    if (!is_of_few(program[i])) {
      of_many_.push_back(i);
      continue;
    }
    for (const std::uint32_t rank : *program[i].on) of_rank_[next[rank]++] = i;
  }
}

// Counts how often each actor template occurs in the program of `rank`.
void Programs::count_program(std::uint32_t thread, std::uint32_t rank, Counts& counts) {
  steps_[thread].for_each(rank,
                          [&](const ProgramStep& step) { count_step(step, rank, 1, counts); });
}

void Programs::count_step(const ProgramStep& step, std::uint32_t rank, std::int64_t times,
                          Counts& counts) {
  if (step.actor != kNoIndex) {
    counts[step.actor] += times;
  } else if (!step.list.empty()) {
    count_list(step.list, times, counts);
  } else if (!step.on || step.on->contains(rank)) {
    std::int64_t all = 0;
    if (__builtin_mul_overflow(times, step.times, &all)) all = kMaxNs;
    for (const ProgramStep& inner : step.block) {
      count_step(inner, rank, std::min(all, kMax32), counts);
    }
  }
}

void Programs::count_list(const ShortList<std::uint32_t>& list, std::int64_t times,
                          Counts& counts) {
  list_counts_.resize(graph_.actors.size(), 0);
  std::vector<std::uint32_t> found;
  for (const std::uint32_t actor : list) {
    if (list_counts_[actor]++ == 0) found.push_back(actor);
  }
  for (const std::uint32_t actor : found) {
    std::int64_t all = 0;
    const std::int64_t count = std::exchange(list_counts_[actor], 0);
    if (__builtin_mul_overflow(times, count, &all)) all = kMaxNs;
    counts[actor] += std::min(all, kMax32);
  }
}

std::int64_t Programs::count(ActorId id) {
  const std::uint32_t thread = placement_.actor(id).thread;
  const auto [found, is_new] = program_counts_.try_emplace({thread, placement_.rank_of(id)});
  if (is_new) count_program(thread, placement_.rank_of(id), found->second);
  const std::int64_t count = found->second[placement_.template_of(id)];
  if (count < kMax32) return count;
  diagnostics_.error_once(placement_.actor(id).place, Code::kLimit,
                          "'" + placement_.actor(id).name + "' would run more than " +
                              std::to_string(kMax32) + " times");
  return 0;
}

void Programs::check_counts(const std::vector<std::int64_t>& ops) {
  for (std::uint32_t t = 0; t < graph_.threads.size(); ++t) {
    const HostThread& thread = graph_.threads[t];
    if (thread.order != sim::ThreadOrder::kProgram) continue;
    Counts own;
    Counts* counts = &own;
    std::uint32_t counted_rank = kNoIndex;
    for (const ActorId id : placement_.ids()) {
      if (placement_.thread_of(id) != t) continue;
      if (counted_rank != placement_.rank_of(id)) {
        counted_rank = placement_.rank_of(id);
        const auto known = program_counts_.find({t, counted_rank});
        counts = known == program_counts_.end() ? &own : &known->second;
        if (counts == &own) {
          own.clear();
          count_program(t, counted_rank, own);
        }
      }
      const std::int64_t found = (*counts)[placement_.template_of(id)];
      if (found == ops[id.value]) continue;
      diagnostics_.error_once(thread.place, Code::kProgramCount,
                              "the program of thread '" + thread.name + "' has '" +
                                  placement_.actor(id).name + "' " + std::to_string(found) +
                                  " times, but it runs " + std::to_string(ops[id.value]) +
                                  " times on " + rank_text(placement_.rank_of(id)));
    }
  }
  program_counts_.clear();  // frees one entry per step and rank
}

void Programs::check_size(const std::vector<std::int64_t>& ops) {
  for (const ActorId id : placement_.ids()) {
    const std::uint32_t thread = placement_.thread_of(id);
    if (thread == kNoIndex || graph_.threads[thread].order != sim::ThreadOrder::kProgram) continue;
    program_ops_ += ops[id.value];
    if (program_ops_ <= kMaxProgramOps) continue;
    diagnostics_.error_once(placement_.actor(id).place, Code::kLimit,
                            "the programs have more than " + std::to_string(kMaxProgramOps) +
                                " ops with this one: '" + placement_.actor(id).name + "' runs " +
                                std::to_string(ops[id.value]) + " times on " +
                                rank_text(placement_.rank_of(id)));
    return;
  }
}

void Programs::expand(const ProgramStep& step, std::uint32_t rank,
                      std::vector<ActorId>& ops) const {
  if (step.actor != kNoIndex) {
    const ActorId id = placement_.find(step.actor, rank);
    if (id.valid()) ops.push_back(id);
    return;
  }
  if (!step.list.empty()) return expand_list(step.list, rank, ops);
  if (step.times == 0 || (step.on && !step.on->contains(rank))) return;
  const std::size_t begin = ops.size();
  for (const ProgramStep& inner : step.block) expand(inner, rank, ops);
  const std::size_t round = ops.size() - begin;
  ops.reserve(begin + round * static_cast<std::size_t>(step.times));
  for (std::int64_t i = 1; i < step.times && round > 0; ++i) {
    ops.insert(ops.end(), ops.begin() + static_cast<std::ptrdiff_t>(begin),
               ops.begin() + static_cast<std::ptrdiff_t>(begin + round));
  }
}

// Expands a list, with one lookup per distinct actor, because a list repeats few actors.
void Programs::expand_list(const ShortList<std::uint32_t>& list, std::uint32_t rank,
                           std::vector<ActorId>& ops) const {
  std::uint32_t least = kNoIndex;
  std::uint32_t most = 0;
  for (const std::uint32_t actor : list) {
    least = std::min(least, actor);
    most = std::max(most, actor);
  }
  std::vector<ActorId> ids(std::size_t{most} - least + 1);
  for (std::uint32_t actor = least; actor <= most; ++actor) {
    ids[actor - least] = placement_.find(actor, rank);
  }
  ops.reserve(ops.size() + list.size());
  for (const std::uint32_t actor : list) {
    if (ids[actor - least].valid()) ops.push_back(ids[actor - least]);
  }
}

// Reports an unlock by a thread that does not hold the lock.
void Programs::check_locks(std::uint32_t rank, const std::vector<ActorId>& ops) {
  if (graph_.locks.empty()) return;
  std::vector<std::uint8_t> held(graph_.locks.size(), 0);
  for (const ActorId id : ops) {
    const auto& step = placement_.actor(id).step;
    if (!step || step->lock == kNoIndex) continue;
    if (step->role == sim::Role::kUnlock && held[step->lock] == 0) {
      diagnostics_.error_once(placement_.actor(id).place, Code::kUseAfter,
                              "'" + graph_.locks[step->lock].name +
                                  "' is unlocked by a thread that does not hold it, on " +
                                  rank_text(rank));
    }
    held[step->lock] = step->role == sim::Role::kLock ? 1 : 0;
  }
}

// Reports uses of a communicator after a call destroyed it. Stops at the first error of a program,
// because in a loop every later use would be an error.
void Programs::check_destroyed(std::uint32_t rank, const std::vector<ActorId>& ops) {
  std::map<std::uint32_t, Place> destroyed;
  const auto is_gone = [&](std::uint32_t communicator, Place place) {
    const auto found = destroyed.find(communicator);
    if (found == destroyed.end()) return false;
    Diagnostic* error =
        diagnostics_.error_once(place, Code::kUseAfter,
                                "communicator '" + graph_.communicators[communicator].name +
                                    "' is used after it was destroyed, on " + rank_text(rank));
    if (error == nullptr) return true;
    error->notes.push_back("it is destroyed in " + line_text(found->second) +
                           "; a new one is listed under 'communicators', 'named'");
    return true;
  };
  for (const ActorId id : ops) {
    const auto& step = placement_.actor(id).step;
    if (!step) continue;
    if (is_gone(step->communicator, placement_.actor(id).place)) return;
    for (const CallTemplate& call : step->calls) {
      if (is_gone(call.communicator, call.place)) return;
      if (call.operation == Operation::kDestroy) destroyed.emplace(call.communicator, call.place);
    }
  }
}

bool Programs::destroys_any() const {
  return std::any_of(graph_.actors.begin(), graph_.actors.end(), [](const ActorTemplate& from) {
    return from.step && from.step->calls.size() == 1 &&
           from.step->calls[0].operation == Operation::kDestroy;
  });
}

void Programs::make(const std::vector<std::vector<sim::ThreadId>>& threads,
                    sim::PlanBuilder& builder) {
  const bool destroys = destroys_any();
  builder.reserve_programs(static_cast<std::size_t>(program_ops_));
  std::vector<ActorId> ops;
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    for (std::uint32_t t = 0; t < graph_.threads.size(); ++t) {
      if (graph_.threads[t].order != sim::ThreadOrder::kProgram) continue;
      if (threads[rank].empty() || !threads[rank][t].valid()) continue;
      ops.clear();
      steps_[t].for_each(rank, [&](const ProgramStep& step) { expand(step, rank, ops); });
      check_locks(rank, ops);
      if (destroys) check_destroyed(rank, ops);
      builder.set_program(threads[rank][t], ops);
    }
  }
}

}  // namespace pipesim::models
