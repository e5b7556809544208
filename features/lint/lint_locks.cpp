// Rules lock-order and lock-held, about locks that the threads of a process take.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "features/lint/lint_rules.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::LockId;
using sim::Role;
using sim::ThreadId;

class LockLint : PlanLint {
 public:
  using PlanLint::PlanLint;

  void run() {
    if (plan_.locks.empty()) return;
    for (const ThreadId id : ids_of(plan_.threads)) read(id);
    for (const auto& [locks, taken] : taken_) check_order(locks, taken);
    for (const Held& held : held_) check_held(held);
  }

 private:
  // A step that takes a lock, and its thread.
  struct Taken {
    ThreadId thread;
    ActorId actor;
  };
  // A wait of a thread that holds a lock.
  struct Held {
    LockId lock;
    ThreadId thread;
    ActorId wait;
  };
  using Locks = std::pair<LockId, LockId>;  // a held lock, and a lock taken meanwhile

  void read(ThreadId id);
  bool waits_for_others(ActorId id) const;
  bool leads_back(LockId from, LockId to, ThreadId other_than) const;
  void check_order(const Locks& locks, const std::vector<Taken>& taken);
  void check_held(const Held& held);
  const std::string& name_of(LockId id) const;

  std::map<Locks, std::vector<Taken>> taken_;  // by locks: each thread's first step
  std::map<LockId, std::set<ThreadId>> takers_;
  std::vector<Held> held_;                     // first wait of each thread and lock
  std::map<LockId, std::uint32_t> templates_;  // index in TaskGraph::locks
};

void LockLint::read(ThreadId id) {
  const sim::Thread& thread = plan_.threads[id];
  const std::uint32_t end = std::min(thread.program_end, thread.program + kMaxOpsOfThread);
  std::vector<LockId> holds;
  std::set<LockId> waited;
  for (std::uint32_t i = thread.program; i < end; ++i) {
    const ActorId actor = plan_.op(thread, i);
    const sim::Actor& step = plan_.actors[actor];
    if (step.role == Role::kLock) {
      templates_.emplace(step.lock, names_.actor(actor).step->lock);
      takers_[step.lock].insert(id);
      for (const LockId held : holds) {
        std::vector<Taken>& taken = taken_[{held, step.lock}];
        if (taken.empty() || taken.back().thread != id) taken.push_back({id, actor});
      }
      holds.push_back(step.lock);
    } else if (step.role == Role::kUnlock) {
      std::erase(holds, step.lock);
    } else if (waits_for_others(actor)) {
      for (const LockId held : holds) {
        if (waited.insert(held).second) held_.push_back({held, id, actor});
      }
    }
  }
}

// Whether the host waits for its device or for other ranks in this step.
bool LockLint::waits_for_others(ActorId id) const {
  const sim::Actor& actor = plan_.actors[id];
  if (actor.role == Role::kCalls) return actor.blocking || actor.needs != actor.needs_end;
  return sim::facts(actor.role).awaits_work || actor.role == Role::kMeet;
}

// Whether a chain of locks leads from `from` to `to`: while it holds a lock of the chain, some
// thread other than `other_than` takes the next lock.
bool LockLint::leads_back(LockId from, LockId to, ThreadId other_than) const {
  std::set<LockId> seen = {from};
  std::vector<LockId> left = {from};
  while (!left.empty()) {
    const LockId lock = left.back();
    left.pop_back();
    for (const auto& [locks, taken] : taken_) {
      const bool other = std::any_of(taken.begin(), taken.end(),
                                     [&](const Taken& by) { return by.thread != other_than; });
      if (locks.first != lock || !other) continue;
      if (locks.second == to) return true;
      if (seen.insert(locks.second).second) left.push_back(locks.second);
    }
  }
  return false;
}

const std::string& LockLint::name_of(LockId id) const {
  return graph_.locks[templates_.find(id)->second].name;
}

// Reports two locks if a thread takes one while it holds the other, and other threads take them in
// reverse order.
void LockLint::check_order(const Locks& locks, const std::vector<Taken>& taken) {
  for (const Taken& by : taken) {
    if (!leads_back(locks.second, locks.first, by.thread)) continue;
    const ActorTemplate& step = names_.actor(by.actor);
    findings_.push_back(
        {.rule = kLockOrder,
         .place = step.place,
         .message =
             fmt::format("thread '{}' takes lock '{}' while it holds '{}', and another "
                         "thread takes them in the opposite order",
                         names_.thread(by.thread), name_of(locks.second), name_of(locks.first)),
         .ops = {step.name},
         .ranks = RankSet({plan_.actors[by.actor].rank.value}),
         .why = "each thread can hold one of the locks and wait for the other",
         .advice = "take the locks in one order in all threads, or one wider lock"});
    return;
  }
}

// Reports a wait of a thread that holds a lock, if another thread also takes this lock.
void LockLint::check_held(const Held& held) {
  const std::set<ThreadId>& takers = takers_.find(held.lock)->second;
  if (takers.size() < 2) return;
  const ActorTemplate& step = names_.actor(held.wait);
  findings_.push_back(
      {.rule = kLockHeld,
       .place = step.place,
       .message = fmt::format("thread '{}' waits in '{}' while it holds lock '{}'",
                              names_.thread(held.thread), step.name, name_of(held.lock)),
       .ops = {step.name},
       .ranks = RankSet({plan_.actors[held.wait].rank.value}),
       .why = "if what it waits for needs a thread that takes this lock, neither goes on",
       .advice = "release the lock before the wait, or wait before taking it"});
}

}  // namespace

void lint_locks(const TaskGraph& graph, const Lowered& lowered,
                std::vector<LintFinding>& findings) {
  LockLint(graph, lowered, findings).run();
}

}  // namespace pipesim::models
