// Frames are judged by function names of PyTorch, Megatron-LM, DeepSpeed, OneFlow, NCCL and CUDA.
// The innermost frame with a known name counts. Frames that occur in every wait (a lock, a
// condition) count only if no other frame has a known name.
#include "features/diagnose/stack_evidence.hpp"

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

// Meanings of function names, in the order in which they are tried for a frame.
constexpr std::array kMeanings = {
    Meaning{"ncclCommInitRank", WaitPlace::kInit, false},
    Meaning{"commInit", WaitPlace::kInit, false},
    Meaning{"GetCommForDevice", WaitPlace::kInit, false},
    Meaning{"PullKV", WaitPlace::kInit, false},
    Meaning{"new_group", WaitPlace::kInit, true},
    Meaning{"init_process_group", WaitPlace::kInit, true},
    Meaning{"_store_based_barrier", WaitPlace::kStore, true},
    Meaning{"broadcast_tensors", WaitPlace::kUnknown, true},
    Meaning{"broadcast_to", WaitPlace::kUnknown, true},
    Meaning{"gloo::", WaitPlace::kCollective, false},
    Meaning{"waitRecv", WaitPlace::kCollective, false},
    Meaning{"waitSend", WaitPlace::kCollective, false},
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

// Classifies a frame of pipesim's own stacks: "all_reduce dp#1 (started, spins) (pipesim)".
WaitPlace place_of_ours(const std::string& function) {
  const auto has = [&](const char* part) { return function.find(part) != std::string::npos; };
  if (has("<finished>")) return WaitPlace::kFinished;
  if (has("<waits for messages>")) return WaitPlace::kMessages;
  if (has("creating the communicator")) return WaitPlace::kInit;
  if (has("waiting for input")) return WaitPlace::kInput;
  if (function.rfind("send ", 0) == 0 || function.rfind("recv ", 0) == 0)
    return WaitPlace::kMessage;
  if (function.rfind("synchronize ", 0) == 0) return WaitPlace::kDevice;
  if (function.rfind("lock ", 0) == 0) return WaitPlace::kLock;
  return has("spins") ? WaitPlace::kCollective : WaitPlace::kDevice;
}

const Meaning* meaning_of(const StackFrame& frame) {
  // Pipes and sockets between processes of one host are not part of a communicator.
  const auto is_of = [&](const char* part) { return frame.place.find(part) != std::string::npos; };
  if (is_of("multiprocessing") || is_of("socket") || is_of("zmq") || is_of("asyncio")) {
    return nullptr;
  }
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

// Finds the wait of a stack. Waits for a device happen inside a collective, and locks inside every
// wait, so an outer frame is more specific.
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
    if (meaning == nullptr || meaning->place == WaitPlace::kUnknown) continue;
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
    // Idle threads of an actor runtime are skipped. So are threads of a simulated run that wait for
    // a lock or for input, because the party that they wait for is unknown.
    const bool ours = !group.frames.empty() && group.frames.front().place == "pipesim";
    const bool open = ours && (group.place == WaitPlace::kLock || group.place == WaitPlace::kInput);
    if (group.place == WaitPlace::kMessages || group.place == WaitPlace::kFinished || open)
      continue;
    const bool waits = waits_for_others(group.place);
    (waits ? waiting : others).insert(group.ranks.begin(), group.ranks.end());
  }
  // A rank waits if any of its threads waits.
  for (const std::uint32_t rank : waiting) others.erase(rank);
  if (waiting.empty()) return;
  std::set<std::string> threads;
  for (const StackGroup& group : diagnosis.groups) threads.insert(group.thread);
  if (!others.empty()) {
    diagnosis.verdict = StackVerdict::kStragglers;
    diagnosis.roots.assign(others.begin(), others.end());
  } else if (diagnosis.groups.size() == threads.size()) {
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

// Adds a wait of each waiting rank for each straggler, for at most kMaxRoots stragglers.
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

bool waits_for_others(WaitPlace place) {
  return place == WaitPlace::kCollective || place == WaitPlace::kMessage ||
         place == WaitPlace::kInit || place == WaitPlace::kDevice || place == WaitPlace::kStore;
}

std::string_view place_name(WaitPlace place) {
  switch (place) {
    case WaitPlace::kUnknown:
      break;
    case WaitPlace::kCollective:
      return "in a collective";
    case WaitPlace::kMessage:
      return "in a message";
    case WaitPlace::kInit:
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

// Whether the main thread leaves the work to another thread and waits for it.
bool waits_for_thread(const ThreadStack& thread) {
  constexpr std::array kWaits = {
      std::string_view("_engine_run_backward"), std::string_view("run_backward"),
      std::string_view("join"), std::string_view("result"), std::string_view("run_until_complete")};
  const std::size_t count = std::min<std::size_t>(4, thread.frames.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& function = thread.frames[i].function;
    if (std::find(kWaits.begin(), kWaits.end(), function) != kWaits.end()) return true;
  }
  return false;
}

WaitPlace place_of(const ThreadStack& thread) {
  StackGroup group;
  group.frames = thread.frames;
  find_place(group);
  return group.place;
}

// Whether the thread is a helper: a monitor, a queue, a memory pinner.
bool is_background(const ThreadStack& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [](const StackFrame& frame) {
    return frame.place.find("_monitor.py") != std::string::npos ||
           frame.place.find("queue") != std::string::npos ||
           frame.place.find("pin_memory") != std::string::npos ||
           frame.place.find("selectors.py") != std::string::npos ||
           frame.place.find("_debug_handlers") != std::string::npos;
  });
}

// Returns the threads that show the position of a rank.
std::vector<const ThreadStack*> telling_threads(const std::vector<const ThreadStack*>& all) {
  const auto main = std::find_if(all.begin(), all.end(),
                                 [](const ThreadStack* thread) { return is_main(thread->thread); });
  if (main == all.end()) return all;
  if (waits_for_others(place_of(**main)) || !waits_for_thread(**main)) return {*main};
  // The backward pass runs in a thread that PyTorch does not name.
  const ThreadStack* best = nullptr;
  for (const ThreadStack* thread : all) {
    if (thread == *main || thread->frames.empty() || is_background(*thread)) continue;
    if (waits_for_others(place_of(*thread))) return {thread};
    if (best == nullptr || (thread->active && !best->active)) best = thread;
  }
  return {best == nullptr ? *main : best};
}

// Returns a thread name that ranks share: "backward" for a thread without its own name.
std::string shared_name(const ThreadStack& thread) {
  const bool number = thread.thread.find_first_not_of("0123456789abcdefx") == std::string::npos;
  return number || thread.thread.starts_with("pt_autograd") ? "backward" : thread.thread;
}

std::map<std::uint32_t, std::vector<const ThreadStack*>> threads_of_ranks(const StackDumps& dumps) {
  std::map<std::uint32_t, std::vector<const ThreadStack*>> result;
  for (const ThreadStack& thread : dumps.threads) result[thread.rank].push_back(&thread);
  for (auto& [rank, threads] : result) threads = telling_threads(threads);
  return result;
}

}  // namespace

StackDiagnosis diagnose(const StackDumps& dumps) {
  std::map<std::pair<std::string, std::vector<StackFrame>>, std::set<std::uint32_t>> ranks_of;
  std::set<std::uint32_t> ranks;
  for (const auto& [rank, threads] : threads_of_ranks(dumps)) {
    ranks.insert(rank);
    const bool has_main = threads.size() == 1;
    for (const ThreadStack* thread : threads) {
      const OutsideText name = has_main ? OutsideText(shared_name(*thread)) : thread->thread;
      ranks_of[{name, thread->frames}].insert(rank);
    }
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
    for (const ThreadStack* thread : threads) {
      StackGroup group;
      group.frames = thread->frames;
      find_place(group);
      const bool idle = group.place == WaitPlace::kMessages || group.place == WaitPlace::kFinished;
      if (idle || group.frames.empty()) continue;
      // The frame that shows the wait, or else the innermost frame.
      const auto said = std::find_if(group.frames.begin(), group.frames.end(),
                                     [&](const auto& it) { return it.function == group.op; });
      const StackFrame& frame = said == group.frames.end() ? group.frames.front() : *said;
      const bool ours = frame.place == "pipesim";
      const bool waits = waits_for_others(group.place) || ours;
      const auto known = result.find(rank);
      if (known != result.end() && (known->second.waits || !waits)) continue;
      HostStanding standing;
      standing.waits = waits;
      standing.at = frame.function;
      if (!frame.place.empty() && !ours) standing.at = frame.function + " (" + frame.place + ")";
      standing.place = thread->source;
      result[rank] = std::move(standing);
    }
  }
  return result;
}

}  // namespace pipesim::models
