#include "features/diagnose/stack_evidence.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipesim::models {
namespace {

bool is_main(const std::string& thread) { return thread == "MainThread" || thread == "main"; }

void decide(StackDiagnosis& diagnosis) {
  std::set<std::uint32_t> waiting;
  std::set<std::uint32_t> others;
  for (const StackGroup& group : diagnosis.groups) {
    // Skips idle threads of an actor runtime. Also skips threads of a simulated run that wait for a
    // lock or for input, because it is unknown whom they wait for.
    const bool ours = !group.frames.empty() && group.frames.front().place == "pipesim";
    const bool open = ours && (group.place == WaitPlace::kLock || group.place == WaitPlace::kInput);
    if (group.place == WaitPlace::kMessages || group.place == WaitPlace::kFinished || open)
      continue;
    // A backward pass that computes shows neither a wait nor a straggler.
    if (group.place == WaitPlace::kBackward && group.active) continue;
    const bool waits = waits_for_others(group.place);
    (waits ? waiting : others).insert(group.ranks.begin(), group.ranks.end());
  }
  // A rank waits if any of its threads waits.
  for (const std::uint32_t rank : waiting) others.erase(rank);
  if (waiting.empty()) return;
  const bool alike =
      std::all_of(diagnosis.groups.begin(), diagnosis.groups.end(),
                  [&](const StackGroup& group) { return group.ranks.size() == diagnosis.ranks; });
  if (!others.empty()) {
    diagnosis.verdict = StackVerdict::kStragglers;
    diagnosis.roots.assign(others.begin(), others.end());
  } else if (alike) {
    diagnosis.verdict = StackVerdict::kAlike;
  } else {
    diagnosis.verdict = StackVerdict::kDifferent;
  }
}

sim::WaitKind kind_of(WaitPlace place) {
  switch (place) {
    case WaitPlace::kCollective:
      return sim::WaitKind::kPeerOfCollective;
    case WaitPlace::kMessage:
      return sim::WaitKind::kPeerOfMessage;
    case WaitPlace::kInit:
      return sim::WaitKind::kCommunicatorInit;
    default:
      return sim::WaitKind::kHostWait;
  }
}

// Adds a wait of each waiting rank for each of at most kMaxRoots stragglers.
void add_waits(StackDiagnosis& diagnosis) {
  constexpr std::size_t kMaxRoots = 16;
  Explanation& explanation = diagnosis.explanation;
  explanation.verdict = sim::Verdict::kLimit;
  if (diagnosis.verdict != StackVerdict::kStragglers) return;
  explanation.verdict = sim::Verdict::kStarved;
  explanation.cause = Cause::kAbsentMember;
  std::vector<WaitParty> waiting;
  std::vector<sim::WaitKind> kinds;
  for (const StackGroup& group : diagnosis.groups) {
    if (!waits_for_others(group.place)) continue;
    for (const std::uint32_t rank : group.ranks) {
      WaitParty party;
      party.rank = party.op.rank = rank;
      party.op.actor = sim::ActorId{static_cast<std::uint32_t>(waiting.size())};
      party.op.name = group.op;
      party.op.stream = party.op.thread = group.thread;
      party.op.in_program = true;
      party.op.stage = OpStage::kEntered;
      waiting.push_back(std::move(party));
      kinds.push_back(kind_of(group.place));
    }
  }
  explanation.stuck = explanation.collateral = static_cast<std::uint32_t>(waiting.size());
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    for (std::size_t r = 0; r < std::min(kMaxRoots, diagnosis.roots.size()); ++r) {
      Wait wait;
      wait.from = waiting[i];
      wait.to.kind = sim::WaitNodeKind::kRank;
      wait.to.rank = diagnosis.roots[r];
      wait.kind = kinds[i];
      diagnosis.waits.push_back(std::move(wait));
    }
  }
  for (std::size_t r = 0; r < std::min(kMaxRoots, diagnosis.roots.size()); ++r) {
    const Wait& first = diagnosis.waits[r];
    Root root;
    root.party = first.to;
    root.first = first;
    root.waiting = explanation.stuck;
    explanation.roots.push_back(std::move(root));
  }
}

}  // namespace

std::string_view verdict_name(StackVerdict verdict) {
  switch (verdict) {
    case StackVerdict::kStragglers:
      return "odd ones out";
    case StackVerdict::kDifferent:
      return "different waits";
    case StackVerdict::kAlike:
      return "all alike";
    case StackVerdict::kUndecided:
      break;
  }
  return "undecided";
}

namespace {

// Whether the thread is a helper thread, such as a monitor, a queue or a memory pinner.
bool is_background(const ThreadStack& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [](const StackFrame& frame) {
    return frame.place.find("_monitor.py") != std::string::npos ||
           frame.place.find("queue") != std::string::npos ||
           frame.place.find("pin_memory") != std::string::npos ||
           frame.place.find("selectors.py") != std::string::npos ||
           frame.place.find("_debug_handlers") != std::string::npos;
  });
}

// Whether the thread runs Python. gloo's threads do not; they work for the calls of other threads.
bool has_python_frame(const ThreadStack& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [](const StackFrame& frame) {
    return frame.place.find(".py:") != std::string::npos;
  });
}

bool has_user_frame(const ThreadStack& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), is_of_user);
}

bool is_strong_wait(const ThreadStack& thread) {
  const FoundPlace found = find_place(thread.frames);
  return waits_for_others(found.place) && found.place != WaitPlace::kBackward &&
         !found.only_waits_for_work;
}

// Returns the threads that show the position of a rank.
std::vector<const ThreadStack*> telling_threads(const std::vector<const ThreadStack*>& all) {
  const auto main = std::find_if(all.begin(), all.end(),
                                 [](const ThreadStack* thread) { return is_main(thread->thread); });
  if (main == all.end()) return all;
  const FoundPlace own = find_place((*main)->frames);
  if (is_strong_wait(**main) || !(own.only_waits_for_work || waits_for_thread((*main)->frames))) {
    return {*main};
  }
  const ThreadStack* best = nullptr;
  for (const ThreadStack* thread : all) {
    if (thread == *main || thread->frames.empty() || is_background(*thread)) continue;
    if (is_strong_wait(*thread)) return {thread};
    if (best == nullptr || (thread->active && !best->active)) best = thread;
  }
  // `best` can be the thread of the backward pass, which PyTorch does not name.
  const bool works = best != nullptr && own.place == WaitPlace::kBackward;
  return {works ? best : *main};
}

// Returns the positions of a rank's other threads that run the user's program and do not wait for
// other ranks. One of them may hold the lock that `thread` waits for.
std::vector<OutsideText> other_threads(const std::vector<const ThreadStack*>& all,
                                       const ThreadStack& thread) {
  constexpr std::size_t kMaxOthers = 3;
  std::vector<OutsideText> result;
  for (const ThreadStack* other : all) {
    if (other == &thread || is_background(*other) || result.size() == kMaxOthers) continue;
    const FoundPlace found = find_place(other->frames);
    const bool waits = waits_for_others(found.place) || waits_for_thread(other->frames);
    if (waits || !has_user_frame(*other)) continue;
    result.emplace_back("thread " + other->thread + " is in " + host_text(other->frames, found));
  }
  return result;
}

// Returns the positions of other threads if `thread` may wait for one of them.
std::vector<OutsideText> threads_to_name(const std::vector<const ThreadStack*>& all,
                                         const ThreadStack& thread) {
  const FoundPlace found = find_place(thread.frames);
  const bool open = found.place == WaitPlace::kUnknown || found.place == WaitPlace::kLock;
  return open && !thread.active && all.size() > 1 ? other_threads(all, thread)
                                                  : std::vector<OutsideText>();
}

// Returns a thread name that ranks share: "backward" for a thread without its own name.
std::string shared_name(const ThreadStack& thread) {
  const bool number = thread.thread.find_first_not_of("0123456789abcdefx") == std::string::npos;
  return number || thread.thread.starts_with("pt_autograd") ? "backward" : thread.thread;
}

struct RankThreads {
  std::vector<const ThreadStack*> all;
  std::vector<const ThreadStack*> telling;
};

std::map<std::uint32_t, RankThreads> threads_of_ranks(const StackDumps& dumps) {
  std::map<std::uint32_t, RankThreads> result;
  for (const ThreadStack& thread : dumps.threads) result[thread.rank].all.push_back(&thread);
  for (auto& [rank, threads] : result) threads.telling = telling_threads(threads.all);
  return result;
}

// Notes ranks whose main thread and another thread are in collectives at once. If both threads use
// one group, the ranks can match their calls in different orders.
void note_two_threads(const std::map<std::uint32_t, RankThreads>& ranks,
                      StackDiagnosis& diagnosis) {
  std::map<std::string, std::set<std::uint32_t>> ranks_with;
  for (const auto& [rank, threads] : ranks) {
    if (threads.telling.size() != 1 || !is_main(threads.telling.front()->thread)) continue;
    const ThreadStack& main = *threads.telling.front();
    if (find_place(main.frames).place != WaitPlace::kCollective) continue;
    for (const ThreadStack* other : threads.all) {
      const FoundPlace found = find_place(other->frames);
      // Requires another thread name, because another file can have the same thread at another
      // time.
      const bool also = other->thread != main.thread && found.place == WaitPlace::kCollective &&
                        is_strong_wait(*other) && has_python_frame(*other);
      if (!also) continue;
      ranks_with[main.thread + " in " + find_place(main.frames).op + ", " + other->thread + " in " +
                 found.op]
          .insert(rank);
    }
  }
  for (const auto& [what, of] : ranks_with) {
    diagnosis.notes.emplace_back(
        fmt::format("Two threads are in collectives at once on rank{} {}: {}",
                    of.size() == 1 ? "" : "s", fmt::join(of, ", "), what));
  }
}

}  // namespace

StackDiagnosis diagnose(const StackDumps& dumps) {
  struct Found {
    std::set<std::uint32_t> ranks;
    std::vector<OutsideText> others;
    bool active = false;
  };
  std::map<std::pair<std::string, std::vector<StackFrame>>, Found> found_at;
  std::set<std::uint32_t> ranks;
  const std::map<std::uint32_t, RankThreads> by_rank = threads_of_ranks(dumps);
  for (const auto& [rank, threads] : by_rank) {
    ranks.insert(rank);
    const bool has_main = threads.telling.size() == 1;
    for (const ThreadStack* thread : threads.telling) {
      const OutsideText name = has_main ? OutsideText(shared_name(*thread)) : thread->thread;
      Found& found = found_at[{name, thread->frames}];
      found.ranks.insert(rank);
      found.active = found.active || thread->active;
      if (has_main && found.others.empty()) found.others = threads_to_name(threads.all, *thread);
      const auto workers = dumps.workers.find(rank);
      const bool loads = find_place(thread->frames).place == WaitPlace::kInput;
      if (loads && workers != dumps.workers.end()) found.others = workers->second;
    }
  }
  StackDiagnosis diagnosis;
  diagnosis.ranks = static_cast<std::uint32_t>(ranks.size());
  for (const auto& [key, found] : found_at) {
    StackGroup group;
    group.thread = key.first;
    group.frames = key.second;
    group.ranks.assign(found.ranks.begin(), found.ranks.end());
    group.others = found.others;
    group.active = found.active;
    const FoundPlace at = find_place(group.frames);
    group.place = at.place;
    group.op = at.op;
    diagnosis.groups.push_back(std::move(group));
  }
  std::stable_sort(diagnosis.groups.begin(), diagnosis.groups.end(),
                   [](const StackGroup& a, const StackGroup& b) {
                     return std::tuple(a.thread, b.ranks.size(), a.ranks.front()) <
                            std::tuple(b.thread, a.ranks.size(), b.ranks.front());
                   });
  note_two_threads(by_rank, diagnosis);
  decide(diagnosis);
  add_waits(diagnosis);
  return diagnosis;
}

Evidence stack_evidence(const StackDumps& dumps, const StackDiagnosis& diagnosis) {
  Evidence evidence;
  evidence.name = dumps.name;
  evidence.format = "stacks";
  std::uint32_t count = 0;
  std::map<std::string, std::set<std::uint32_t>> ranks_in;
  for (const StackGroup& group : diagnosis.groups) {
    count = std::max(count, group.ranks.empty() ? 0 : group.ranks.back() + 1);
    if (waits_for_others(group.place)) {
      ranks_in[group.op].insert(group.ranks.begin(), group.ranks.end());
    }
  }
  evidence.ranks.resize(count);
  for (const StackGroup& group : diagnosis.groups) {
    for (const std::uint32_t rank : group.ranks) {
      evidence.ranks[rank].has_dump = true;
      evidence.ranks[rank].complete = false;
    }
  }
  if (diagnosis.verdict != StackVerdict::kStragglers) return evidence;
  for (const auto& [op, ranks] : ranks_in) {
    const auto number = static_cast<std::uint32_t>(evidence.groups.size());
    std::set<std::uint32_t> members = ranks;
    members.insert(diagnosis.roots.begin(), diagnosis.roots.end());
    evidence.groups.push_back({op, "", {members.begin(), members.end()}});
    for (const std::uint32_t rank : diagnosis.roots) {
      evidence.ranks[rank].progress.push_back({number, 0, -1, 0, false, {}});
    }
    for (const std::uint32_t rank : ranks) {
      std::vector<RecordedCall>& calls = evidence.ranks[rank].calls;
      RecordedCall call;
      call.group = number;
      call.sequence = 1;
      call.last_record = calls.size() + 1;
      call.ops.emplace_back().name = op;
      call.ops.back().record = call.last_record;
      calls.push_back(std::move(call));
    }
  }
  return evidence;
}

std::map<std::uint32_t, HostStanding> host_standings(const StackDumps& dumps) {
  std::map<std::uint32_t, HostStanding> result;
  for (const auto& [rank, threads] : threads_of_ranks(dumps)) {
    if (dumps.names.count(rank) > 0) continue;  // its rank is unknown
    for (const ThreadStack* thread : threads.telling) {
      std::optional<HostStanding> standing = host_at(thread->frames, thread->source);
      if (!standing) continue;
      const auto known = result.find(rank);
      if (known != result.end() && (known->second.waits || !standing->waits)) continue;
      std::vector<OutsideText> others = threads_to_name(threads.all, *thread);
      const auto workers = dumps.workers.find(rank);
      const bool loads = find_place(thread->frames).place == WaitPlace::kInput;
      if (loads && workers != dumps.workers.end()) others = workers->second;
      for (const OutsideText& other : others) standing->at = standing->at + "; " + other;
      standing->alone = other_threads(threads.all, *thread).empty();
      result[rank] = std::move(*standing);
    }
  }
  return result;
}

}  // namespace pipesim::models
