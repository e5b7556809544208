// What frames say is a matter of names: of PyTorch, Megatron-LM, DeepSpeed, OneFlow, NCCL and CUDA.
// The innermost frame that says something counts, but for those that every wait ends in (a lock,
// a condition): these count only if no other says more.
#include "models/postmortem/stack_evidence.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace pipesim::models {
namespace {

struct Meaning {
  std::string_view function;
  WaitPlace place;
  bool exact;
};

// In the order in which they are tried for one frame.
constexpr std::array kMeanings = {
    Meaning{"ncclCommInitRank", WaitPlace::kCreation, false},
    Meaning{"commInit", WaitPlace::kCreation, false},
    Meaning{"GetCommForDevice", WaitPlace::kCreation, false},
    Meaning{"PullKV", WaitPlace::kCreation, false},
    Meaning{"new_group", WaitPlace::kCreation, true},
    Meaning{"init_process_group", WaitPlace::kCreation, true},
    Meaning{"_store_based_barrier", WaitPlace::kStore, true},
    Meaning{"all_reduce", WaitPlace::kCollective, false},
    Meaning{"allreduce", WaitPlace::kCollective, false},
    Meaning{"all_gather", WaitPlace::kCollective, false},
    Meaning{"allgather", WaitPlace::kCollective, false},
    Meaning{"reduce_scatter", WaitPlace::kCollective, false},
    Meaning{"all_to_all", WaitPlace::kCollective, false},
    Meaning{"alltoall", WaitPlace::kCollective, false},
    Meaning{"broadcast", WaitPlace::kCollective, false},
    Meaning{"barrier", WaitPlace::kCollective, false},
    Meaning{"batch_isend_irecv", WaitPlace::kMessage, true},
    Meaning{"send_forward", WaitPlace::kMessage, false},
    Meaning{"send_backward", WaitPlace::kMessage, false},
    Meaning{"recv_forward", WaitPlace::kMessage, false},
    Meaning{"recv_backward", WaitPlace::kMessage, false},
    Meaning{"isend", WaitPlace::kMessage, true},
    Meaning{"irecv", WaitPlace::kMessage, true},
    Meaning{"send", WaitPlace::kMessage, true},
    Meaning{"recv", WaitPlace::kMessage, true},
    Meaning{"ncclGroupEnd", WaitPlace::kCollective, false},
    Meaning{"_try_get_data", WaitPlace::kInput, true},
    Meaning{"_get_data", WaitPlace::kInput, true},
    Meaning{"_next_data", WaitPlace::kInput, true},
    Meaning{"StreamSynchronize", WaitPlace::kDevice, false},
    Meaning{"DeviceSynchronize", WaitPlace::kDevice, false},
    Meaning{"EventSynchronize", WaitPlace::kDevice, false},
    Meaning{"synchronize", WaitPlace::kDevice, true},
    Meaning{"item", WaitPlace::kDevice, true},
};

constexpr std::array kLocks = {std::string_view("take_gil"), std::string_view("acquire"),
                               std::string_view("PyThread_acquire_lock"),
                               std::string_view("pthread_mutex_lock")};

// A frame of our own: "all_reduce dp#1 (started, spins) (pipesim)".
WaitPlace place_of_ours(const std::string& function) {
  const auto has = [&](const char* part) { return function.find(part) != std::string::npos; };
  if (has("<finished>")) return WaitPlace::kFinished;
  if (has("<waits for messages>")) return WaitPlace::kMessages;
  if (has("creating the communicator")) return WaitPlace::kCreation;
  if (has("waiting for input")) return WaitPlace::kInput;
  if (function.rfind("send ", 0) == 0 || function.rfind("recv ", 0) == 0)
    return WaitPlace::kMessage;
  if (function.rfind("synchronize ", 0) == 0) return WaitPlace::kDevice;
  if (function.rfind("lock ", 0) == 0) return WaitPlace::kLock;
  return has("spins") ? WaitPlace::kCollective : WaitPlace::kUnknown;
}

const Meaning* meaning_of(const StackFrame& frame) {
  const auto* found = std::find_if(kMeanings.begin(), kMeanings.end(), [&](const Meaning& meaning) {
    return meaning.exact ? frame.function == meaning.function
                         : frame.function.find(meaning.function) != std::string::npos;
  });
  return found == kMeanings.end() ? nullptr : found;
}

bool is_lock(const StackFrame& frame) {
  return std::any_of(kLocks.begin(), kLocks.end(),
                     [&](std::string_view lock) { return frame.function.rfind(lock, 0) == 0; });
}

// A device is waited for within a collective, and locks are in every wait: what is outside of them
// says more.
void find_place(StackGroup& group) {
  const auto say = [&](WaitPlace place, const std::string& op) {
    group.place = place;
    group.op = op;
  };
  for (const StackFrame& frame : group.frames) {
    if (frame.place == "pipesim") {
      say(place_of_ours(frame.function), frame.function.substr(0, frame.function.find(" (")));
      return;
    }
    const Meaning* meaning = meaning_of(frame);
    if (meaning == nullptr) continue;
    const bool says_more =
        group.place == WaitPlace::kUnknown || meaning->place != WaitPlace::kDevice;
    if (says_more) say(meaning->place, frame.function);
    if (meaning->place != WaitPlace::kDevice) return;
  }
  if (group.place != WaitPlace::kUnknown) return;
  const auto lock = std::find_if(group.frames.begin(), group.frames.end(), is_lock);
  if (lock != group.frames.end()) say(WaitPlace::kLock, lock->function);
}

bool is_main(const std::string& thread) { return thread == "MainThread" || thread == "main"; }

void decide(StackDiagnosis& diagnosis) {
  std::set<std::uint32_t> waiting;
  std::set<std::uint32_t> others;
  for (const StackGroup& group : diagnosis.groups) {
    // A thread of an actor runtime that has nothing to do is no news.
    if (group.place == WaitPlace::kMessages || group.place == WaitPlace::kFinished) continue;
    const bool waits = waits_for_others(group.place);
    (waits ? waiting : others).insert(group.ranks.begin(), group.ranks.end());
  }
  // A rank with several threads waits if one of them does.
  for (const std::uint32_t rank : waiting) others.erase(rank);
  if (waiting.empty()) return;
  std::set<std::string> threads;
  for (const StackGroup& group : diagnosis.groups) threads.insert(group.thread);
  if (!others.empty()) {
    diagnosis.verdict = StackVerdict::kOddOnes;
    diagnosis.roots.assign(others.begin(), others.end());
  } else if (diagnosis.groups.size() == threads.size()) {
    diagnosis.verdict = StackVerdict::kAlike;
  } else {
    diagnosis.verdict = StackVerdict::kDifferent;
    // Of a thread in which ranks differ, all but the largest group.
    std::set<std::uint32_t> few;
    for (std::size_t i = 1; i < diagnosis.groups.size(); ++i) {
      const bool same = diagnosis.groups[i].thread == diagnosis.groups[i - 1].thread;
      if (same) few.insert(diagnosis.groups[i].ranks.begin(), diagnosis.groups[i].ranks.end());
    }
    diagnosis.roots.assign(few.begin(), few.end());
  }
}

sim::WaitKind kind_of(WaitPlace place) {
  switch (place) {
    case WaitPlace::kCollective:
      return sim::WaitKind::kPeerOfCollective;
    case WaitPlace::kMessage:
      return sim::WaitKind::kPeerOfMessage;
    case WaitPlace::kCreation:
      return sim::WaitKind::kCommunicatorCreation;
    default:
      return sim::WaitKind::kHostWait;
  }
}

// Of many odd ones the first ones stand for the rest.
void add_waits(StackDiagnosis& diagnosis) {
  constexpr std::size_t kMaxRoots = 16;
  Explanation& explanation = diagnosis.explanation;
  explanation.verdict = sim::Verdict::kLimit;
  if (diagnosis.verdict != StackVerdict::kOddOnes) return;
  explanation.verdict = sim::Verdict::kStarved;
  explanation.cause = Cause::kAbsentMember;
  std::vector<WaitParty> waiting;
  std::vector<sim::WaitKind> kinds;
  for (const StackGroup& group : diagnosis.groups) {
    if (!waits_for_others(group.place)) continue;
    for (const std::uint32_t rank : group.ranks) {
      WaitParty party;
      party.rank = party.act.rank = rank;
      party.act.actor = sim::ActorId{static_cast<std::uint32_t>(waiting.size())};
      party.act.op = group.op;
      party.act.stream = party.act.thread = group.thread;
      party.act.in_program = true;
      party.act.stage = ActStage::kEntered;
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
    explanation.roots.push_back({first.to, first, explanation.stuck});
  }
}

}  // namespace

bool waits_for_others(WaitPlace place) {
  return place == WaitPlace::kCollective || place == WaitPlace::kMessage ||
         place == WaitPlace::kCreation || place == WaitPlace::kDevice || place == WaitPlace::kStore;
}

std::string_view place_name(WaitPlace place) {
  switch (place) {
    case WaitPlace::kUnknown:
      break;
    case WaitPlace::kCollective:
      return "in a collective";
    case WaitPlace::kMessage:
      return "in a message";
    case WaitPlace::kCreation:
      return "creating a communicator";
    case WaitPlace::kDevice:
      return "for the device";
    case WaitPlace::kStore:
      return "for the store";
    case WaitPlace::kLock:
      return "for a lock";
    case WaitPlace::kInput:
      return "for input";
    case WaitPlace::kMessages:
      return "for messages";
    case WaitPlace::kFinished:
      return "finished";
  }
  return "elsewhere";
}

std::string_view verdict_name(StackVerdict verdict) {
  switch (verdict) {
    case StackVerdict::kOddOnes:
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

StackDiagnosis diagnose(const StackDumps& dumps) {
  const bool has_main =
      std::any_of(dumps.threads.begin(), dumps.threads.end(),
                  [](const ThreadStack& thread) { return is_main(thread.thread); });
  std::map<std::pair<std::string, std::vector<StackFrame>>, std::set<std::uint32_t>> ranks_of;
  std::set<std::uint32_t> ranks;
  for (const ThreadStack& thread : dumps.threads) {
    ranks.insert(thread.rank);
    if (has_main && !is_main(thread.thread)) continue;
    ranks_of[{thread.thread, thread.frames}].insert(thread.rank);
  }
  StackDiagnosis diagnosis;
  diagnosis.ranks = static_cast<std::uint32_t>(ranks.size());
  for (const auto& [key, of] : ranks_of) {
    StackGroup group;
    group.thread = key.first;
    group.frames = key.second;
    group.ranks.assign(of.begin(), of.end());
    find_place(group);
    diagnosis.groups.push_back(std::move(group));
  }
  std::stable_sort(diagnosis.groups.begin(), diagnosis.groups.end(),
                   [](const StackGroup& a, const StackGroup& b) {
                     return std::tuple(a.thread, b.ranks.size(), a.ranks.front()) <
                            std::tuple(b.thread, a.ranks.size(), b.ranks.front());
                   });
  decide(diagnosis);
  add_waits(diagnosis);
  return diagnosis;
}

}  // namespace pipesim::models
