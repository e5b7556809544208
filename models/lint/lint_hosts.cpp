// Rules about hosts that wait for each other: first-use in a fresh job, send-sync by contract.
// Walks the programs of all hosts side by side. Hosts wait only for certain reasons: first-use
// synchronization, a synchronize with calls that a peer has not made, and launches that block.
// Devices have unlimited kernel slots and are infinitely fast, and unknown conditions never block.
// A host that is stuck in this walk is therefore stuck in every run.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/lint/lint_rules.hpp"
#include "models/lowering/names.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::CallId;
using sim::CallKind;
using sim::ChannelId;
using sim::CommunicatorId;
using sim::MeetingId;
using sim::MeetingKind;
using sim::ThreadId;

// Longer programs are cut; no host waits for the part after the cut.
constexpr std::uint32_t kMaxActsOfHost = 4'096;
constexpr std::uint64_t kMaxActsOfHosts = 1'000'000;

// A condition for the end of a call: the number of calls that a peer must have made.
struct Needed {
  std::uint32_t count = 0;  // calls of the peer, or of each peer
  ActorId actor;            // actor of the waiting call
};

// Needed calls by kind, and by communicator or channel.
using NeededCalls = std::map<std::pair<CallKind, std::uint32_t>, Needed>;

void merge(NeededCalls& into, const NeededCalls& from) {
  for (const auto& [key, needed] : from) {
    Needed& known = into[key];
    if (known.count < needed.count) known = needed;
  }
}

// The next wait of a host in its current op, in this order.
enum class HostStage : std::uint8_t { kOpen, kCreation, kMessages, kCollectives, kLaunched };

class HostWalk {
 public:
  HostWalk(const TaskGraph& graph, const Lowered& lowered, bool fresh)
      : graph_(graph), plan_(lowered.plan), names_(graph, lowered), fresh_(fresh) {}

  // Returns a finding, or nullopt if every host may reach its end.
  std::optional<LintFinding> run();

 private:
  // The position of a thread.
  struct Host {
    std::uint32_t at = 0;  // position in the program
    std::uint32_t end = 0;
    bool cut = false;
    HostStage stage = HostStage::kOpen;
    std::map<std::uint32_t, NeededCalls> of_stream;
    std::map<std::uint32_t, NeededCalls> of_event;
  };
  struct Stuck {
    ThreadId thread;
    std::uint32_t peer = 0;  // rank that the thread waits for
    std::optional<Needed> needed;
    CallKind kind = CallKind::kCollective;  // kind of the needed calls
  };

  bool is_broken() const;
  void read_programs();
  void walk(ThreadId id);
  void come(ThreadId id);
  void launch(ThreadId id);
  void next(ThreadId id);
  void progress(std::uint32_t rank);
  std::optional<Stuck> waits_for(ThreadId id) const;
  std::optional<Stuck> missing_of(ThreadId id, const NeededCalls& calls) const;
  NeededCalls calls_needed(ThreadId id) const;
  std::optional<Stuck> at_creation(ThreadId id) const;
  std::optional<Stuck> at_meetings(ThreadId id, MeetingKind kind) const;
  std::optional<LintFinding> finding_of(const std::vector<Stuck>& chain, bool is_cycle) const;
  std::string first_use_of(const Stuck& stuck) const;

  ActorId actor(ThreadId id) const { return plan_.act(plan_.threads[id], hosts_[id].at); }
  std::uint32_t rank_of(ThreadId id) const { return plan_.threads[id].rank.value; }
  bool is_over(ThreadId id) const { return hosts_[id].at == hosts_[id].end; }
  bool is_free(std::uint32_t rank) const { return free_.contains(rank); }
  bool is_first_use(ThreadId id) const {
    const HostStage stage = hosts_[id].stage;
    return stage != HostStage::kLaunched && plan_.actors[actor(id)].role != sim::Role::kMeet;
  }
  std::vector<CommunicatorId> creates(ActorId id) const;
  std::uint32_t count_of(const std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>& in,
                         std::uint32_t id, std::uint32_t rank) const {
    const auto found = in.find({id, rank});
    return found == in.end() ? 0 : found->second;
  }

  const TaskGraph& graph_;
  const sim::Plan& plan_;
  Names names_;
  bool fresh_;  // reading cold; else contract: connections exist, and a send waits for its recv
  sim::IdVector<ThreadId, Host> hosts_;
  std::set<std::uint32_t> free_;  // ranks whose program was cut and is over
  // Communicators called by several threads of a rank.
  std::set<std::uint32_t> loose_communicators_;
  std::set<std::uint32_t> loose_meetings_;  // meetings joined by several threads of a rank
  std::set<std::uint32_t> loose_channels_;  // channels whose messages have different tags
  // Keys are pairs of a communicator, channel or meeting, and a rank.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> collectives_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> come_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> created_;
  std::map<std::uint32_t, std::uint32_t> sends_;     // by channel
  std::map<std::uint32_t, std::uint32_t> receives_;  // by channel
  // Number of the rank's meeting, by Need::join.
  std::map<std::uint32_t, std::uint32_t> joined_;
  std::map<std::uint32_t, std::set<ThreadId>> waiting_;  // by awaited rank
  std::deque<ThreadId> open_;
};

// Whether the job contains deaths or failures. The program is not the cause of such hangs.
bool HostWalk::is_broken() const {
  return !plan_.deaths.empty() || !plan_.links.empty() ||
         std::any_of(plan_.calls.begin(), plan_.calls.end(),
                     [](const sim::Call& call) { return call.fatal; }) ||
         std::any_of(plan_.actors.begin(), plan_.actors.end(), [](const sim::Actor& of) {
           return of.dies_at != sim::kNoAct || of.fails_at != sim::kNoAct;
         });
}

void HostWalk::read_programs() {
  hosts_ = sim::IdVector<ThreadId, Host>(plan_.threads.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, ThreadId> of_communicator;
  std::map<std::pair<std::uint32_t, std::uint32_t>, ThreadId> of_meeting;
  const auto note = [](auto& known, std::set<std::uint32_t>& loose, std::uint32_t id,
                       std::uint32_t rank, ThreadId thread) {
    const auto [first, is_new] = known.try_emplace({id, rank}, thread);
    if (!is_new && first->second != thread) loose.insert(id);
  };
  std::map<std::uint32_t, std::uint32_t> tags;  // by channel: the first tag
  for (const sim::Call& call : plan_.calls) {
    if (call.kind == CallKind::kCollective) continue;
    const bool is_alike = tags.try_emplace(call.channel.value, call.tag).first->second == call.tag;
    if (!is_alike || call.tag_step != 0) loose_channels_.insert(call.channel.value);
  }
  for (const ThreadId id : ids_of(plan_.threads)) {
    const sim::Thread& thread = plan_.threads[id];
    Host& host = hosts_[id];
    host.at = thread.program;
    host.end = std::min(thread.program_end, thread.program + kMaxActsOfHost);
    host.cut = host.end < thread.program_end;
    for (std::uint32_t i = host.at; i < host.end; ++i) {
      const ActorId actor = plan_.act(thread, i);
      for (const CallId call : plan_.calls_of(actor)) {
        note(of_communicator, loose_communicators_, plan_.calls[call].communicator.value,
             thread.rank.value, id);
      }
      const sim::Actor& of = plan_.actors[actor];
      for (std::uint32_t need = of.needs; need < of.needs_end; ++need) {
        note(of_meeting, loose_meetings_, plan_.needs[need].meeting.value, thread.rank.value, id);
      }
    }
    open_.push_back(id);
  }
}

// Returns the communicators that must be initialized before the op is entered.
std::vector<CommunicatorId> HostWalk::creates(ActorId id) const {
  std::vector<CommunicatorId> result;
  const auto add = [&](CommunicatorId communicator) {
    if (communicator.valid() && plan_.communicators[communicator].at_first_use) {
      result.push_back(communicator);
    }
  };
  add(plan_.actors[id].communicator);
  for (const CallId call : plan_.calls_of(id)) add(plan_.calls[call].communicator);
  return result;
}

// Makes the host reach its op, or the next stage of its op, and wakes the threads that wait for the
// rank.
void HostWalk::come(ThreadId id) {
  const ActorId at = actor(id);
  const std::uint32_t rank = rank_of(id);
  Host& host = hosts_[id];
  const auto join = [&](MeetingKind kind) {
    const sim::Actor& of = plan_.actors[at];
    for (std::uint32_t i = of.needs; i < of.needs_end; ++i) {
      const sim::Need& need = plan_.needs[i];
      if (plan_.meetings[need.meeting].kind != kind) continue;
      std::uint32_t& times = come_[{need.meeting.value, rank}];
      if (need.join == sim::kNoAct) {
        ++times;
      } else if (joined_.try_emplace(need.join, times + 1).second) {
        ++times;
      }
    }
  };
  switch (host.stage) {
    case HostStage::kOpen:
      host.stage = HostStage::kCreation;
      for (const CommunicatorId communicator : creates(at)) {
        created_.insert({communicator.value, rank});
      }
      break;
    case HostStage::kCreation:
      host.stage = HostStage::kMessages;
      join(MeetingKind::kMessage);
      join(MeetingKind::kHosts);
      break;
    case HostStage::kMessages:
      host.stage = HostStage::kCollectives;
      join(MeetingKind::kCollective);
      break;
    case HostStage::kCollectives:
      launch(id);
      host.stage = HostStage::kLaunched;
      break;
    case HostStage::kLaunched:
      next(id);
      break;
  }
  progress(rank);
}

void HostWalk::launch(ThreadId id) {
  const ActorId at = actor(id);
  const sim::Actor& of = plan_.actors[at];
  Host& host = hosts_[id];
  NeededCalls* stream = of.stream.valid() ? &host.of_stream[of.stream.value] : nullptr;
  if (stream != nullptr && of.behind.valid()) merge(*stream, host.of_stream[of.behind.value]);
  if (stream != nullptr && of.role == sim::Role::kRecord) host.of_event[of.signal.value] = *stream;
  if (stream != nullptr && of.role == sim::Role::kWait) {
    merge(*stream, host.of_event[of.signal.value]);
  }
  for (const CallId call_id : plan_.calls_of(at)) {
    const sim::Call& call = plan_.calls[call_id];
    const bool loose = loose_communicators_.contains(call.communicator.value);
    if (call.kind == CallKind::kCollective) {
      const std::uint32_t count = ++collectives_[{call.communicator.value, rank_of(id)}];
      if (stream != nullptr && !loose) {
        merge(*stream, {{{call.kind, call.communicator.value}, {count, at}}});
      }
      continue;
    }
    const bool sends = call.kind == CallKind::kSend;
    const std::uint32_t count = ++(sends ? sends_ : receives_)[call.channel.value];
    // The message for a recv is unknown if the recv accepts any rank, or matches by tag.
    const bool matched = !call.from_any() && !plan_.channels[call.channel].any.valid() &&
                         !loose_channels_.contains(call.channel.value) && call.member != call.peer;
    const bool waits = !sends || (!fresh_ && !call.eager);
    if (stream != nullptr && !loose && matched && waits) {
      merge(*stream, {{{call.kind, call.channel.value}, {count, at}}});
    }
  }
}

void HostWalk::next(ThreadId id) {
  Host& host = hosts_[id];
  ++host.at;
  host.stage = HostStage::kOpen;
  if (host.at == host.end && host.cut) free_.insert(rank_of(id));
}

void HostWalk::progress(std::uint32_t rank) {
  const auto waiting = waiting_.find(rank);
  if (waiting == waiting_.end()) return;
  open_.insert(open_.end(), waiting->second.begin(), waiting->second.end());
  waiting_.erase(waiting);
}

void HostWalk::walk(ThreadId id) {
  while (!is_over(id)) {
    if (const std::optional<Stuck> stuck = waits_for(id)) {
      waiting_[stuck->peer].insert(id);
      return;
    }
    come(id);
  }
}

std::optional<HostWalk::Stuck> HostWalk::at_creation(ThreadId id) const {
  for (const CommunicatorId communicator : creates(actor(id))) {
    const sim::Communicator& of = plan_.communicators[communicator];
    for (std::uint32_t i = of.ranks; i < of.ranks_end; ++i) {
      const std::uint32_t rank = plan_.communicator_ranks[i].value;
      if (!is_free(rank) && !created_.contains({communicator.value, rank})) {
        return Stuck{id, rank, std::nullopt, CallKind::kCollective};
      }
    }
  }
  return std::nullopt;
}

std::optional<HostWalk::Stuck> HostWalk::at_meetings(ThreadId id, MeetingKind kind) const {
  const sim::Actor& of = plan_.actors[actor(id)];
  for (std::uint32_t i = of.needs; i < of.needs_end; ++i) {
    const sim::Need& need = plan_.needs[i];
    const sim::Meeting& meeting = plan_.meetings[need.meeting];
    if (meeting.kind != kind || loose_meetings_.contains(need.meeting.value)) continue;
    const auto joined = joined_.find(need.join);
    const std::uint32_t time =
        joined == joined_.end() ? count_of(come_, need.meeting.value, rank_of(id)) : joined->second;
    for (std::uint32_t k = meeting.ranks; k < meeting.ranks_end; ++k) {
      const std::uint32_t rank = plan_.meeting_ranks[k].value;
      if (!is_free(rank) && count_of(come_, need.meeting.value, rank) < time) {
        return Stuck{id, rank, std::nullopt, CallKind::kCollective};
      }
    }
  }
  return std::nullopt;
}

// Returns the calls that must be made before the host can leave its launched op.
NeededCalls HostWalk::calls_needed(ThreadId id) const {
  const ActorId at = actor(id);
  const sim::Actor& of = plan_.actors[at];
  const Host& host = hosts_[id];
  NeededCalls calls;
  const auto add = [&](const std::map<std::uint32_t, NeededCalls>& from, std::uint32_t key) {
    const auto found = from.find(key);
    if (found != from.end()) merge(calls, found->second);
  };
  if (of.role == sim::Role::kSynchronize) {
    const bool only_cold = names_.actor(at).step && names_.actor(at).step->only_cold;
    if (only_cold && !fresh_) return calls;
    for (std::uint32_t i = of.streams; i < of.streams_end; ++i) {
      add(host.of_stream, plan_.synchronized[i].value);
    }
  } else if (of.role == sim::Role::kAwait && plan_.signals[of.signal].recorded()) {
    add(host.of_event, of.signal.value);
  } else if (of.role == sim::Role::kCalls && of.blocking) {
    add(host.of_stream, of.stream.value);
  }
  return calls;
}

std::optional<HostWalk::Stuck> HostWalk::missing_of(ThreadId id, const NeededCalls& calls) const {
  for (const auto& [key, needed] : calls) {
    const auto [kind, number] = key;
    if (kind == CallKind::kCollective) {
      const sim::Communicator& of = plan_.communicators[CommunicatorId{number}];
      for (std::uint32_t i = of.ranks; i < of.ranks_end; ++i) {
        const std::uint32_t rank = plan_.communicator_ranks[i].value;
        if (!is_free(rank) && count_of(collectives_, number, rank) < needed.count) {
          return Stuck{id, rank, needed, kind};
        }
      }
      continue;
    }
    const sim::Channel& channel = plan_.channels[ChannelId{number}];
    const bool sends = kind == CallKind::kSend;
    const auto& others = sends ? receives_ : sends_;
    const std::uint32_t rank = plan_.communicator_ranks[sends ? channel.to : channel.from].value;
    const auto made = others.find(number);
    if (!is_free(rank) && (made == others.end() ? 0 : made->second) < needed.count) {
      return Stuck{id, rank, needed, kind};
    }
  }
  return std::nullopt;
}

std::optional<HostWalk::Stuck> HostWalk::waits_for(ThreadId id) const {
  switch (hosts_[id].stage) {
    case HostStage::kOpen:
      return std::nullopt;
    case HostStage::kCreation:
      return fresh_ ? at_creation(id) : std::nullopt;
    case HostStage::kMessages:
      if (const auto hosts = at_meetings(id, MeetingKind::kHosts)) return hosts;
      return fresh_ ? at_meetings(id, MeetingKind::kMessage) : std::nullopt;
    case HostStage::kCollectives:
      return fresh_ ? at_meetings(id, MeetingKind::kCollective) : std::nullopt;
    case HostStage::kLaunched:
      return missing_of(id, calls_needed(id));
  }
  return std::nullopt;
}

std::optional<LintFinding> HostWalk::run() {
  std::uint64_t acts = 0;
  for (const sim::Thread& thread : plan_.threads) {
    acts += std::min(thread.program_end - thread.program, kMaxActsOfHost);
  }
  if (is_broken() || acts == 0 || acts > kMaxActsOfHosts) return std::nullopt;
  read_programs();
  while (!open_.empty()) {
    const ThreadId id = open_.front();
    open_.pop_front();
    walk(id);
  }
  std::map<std::uint32_t, Stuck> stuck;  // by rank: its first stuck thread
  for (const ThreadId id : ids_of(plan_.threads)) {
    if (is_over(id)) continue;
    if (const auto waits = waits_for(id)) stuck.try_emplace(rank_of(id), *waits);
  }
  for (const auto& [first, unused] : stuck) {
    std::vector<Stuck> chain;
    std::vector<std::uint32_t> path;
    std::uint32_t rank = first;
    while (stuck.contains(rank) && std::find(path.begin(), path.end(), rank) == path.end()) {
      path.push_back(rank);
      chain.push_back(stuck.at(rank));
      rank = chain.back().peer;
    }
    const auto start = std::find(path.begin(), path.end(), rank);
    const bool is_cycle = start != path.end();
    if (is_cycle) chain.erase(chain.begin(), chain.begin() + (start - path.begin()));
    if (auto finding = finding_of(chain, is_cycle)) return finding;
  }
  return std::nullopt;
}

// Describes the call of the peer for which a host waits at a first use.
std::string HostWalk::first_use_of(const Stuck& stuck) const {
  switch (hosts_[stuck.thread].stage) {
    case HostStage::kCreation:
      return "joins its communicator";
    case HostStage::kMessages:
      for (const CallId id : plan_.calls_of(actor(stuck.thread))) {
        const sim::Call& call = plan_.calls[id];
        if (call.kind == CallKind::kCollective || call.from_any()) continue;
        if (plan_.communicator_ranks[call.peer].value != stuck.peer) continue;
        return call.kind == CallKind::kSend ? "calls the matching recv (first message)"
                                            : "calls the matching send (first message)";
      }
      [[fallthrough]];
    default:
      return "calls it, too (first collective)";
  }
}

std::optional<LintFinding> HostWalk::finding_of(const std::vector<Stuck>& chain,
                                                bool is_cycle) const {
  const auto is_meant = [&](const Stuck& stuck) {
    if (fresh_) return is_first_use(stuck.thread);
    return stuck.needed && stuck.kind != CallKind::kCollective;
  };
  const auto meant = std::find_if(chain.begin(), chain.end(), is_meant);
  // Other rules report calls that a rank never makes, by contract.
  if (meant == chain.end() || (!fresh_ && !is_cycle)) return std::nullopt;
  const auto other =
      meant + 1 == chain.end() ? (is_cycle ? chain.begin() : chain.end()) : meant + 1;
  const ActorTemplate& step = names_.actor(actor(meant->thread));
  LintFinding finding;
  finding.rule = fresh_ ? kFirstUse : kSendSync;
  finding.place = step.place;
  finding.ops = {step.name};
  const std::string peer = "rank " + std::to_string(meant->peer);
  if (fresh_) {
    finding.message =
        quoted(step.name) + " blocks its host until " + peer + " " + first_use_of(*meant);
    finding.why =
        "in a fresh job, the first message of two ranks, the first collective of each operation "
        "and the initialization of a communicator block the host until its peers make the same "
        "call";
    finding.advice =
        "connect before the first step, in one order on all ranks; or put a send and a recv that "
        "cross into one group";
  } else {
    const std::string& call = names_.op(meant->needed->actor);
    finding.message = (call == step.name ? quoted(step.name) + " blocks its host until "
                                         : "the host waits in " + quoted(step.name) + " until ") +
                      peer + " calls the ";
    const std::string end = meant->kind == CallKind::kSend ? "recv" : "send";
    finding.message +=
        call == step.name ? "matching " + end : end + " that " + quoted(call) + " is matched with";
    finding.why = meant->kind == CallKind::kSend
                      ? "a send may block until its recv, which that host does not reach"
                      : "a recv waits for its send, which that host does not reach";
    finding.advice = "call both ends before a host waits, or put them into one group";
  }
  if (other == chain.end()) {
    finding.message += "; " + peer + " never does";
    finding.ranks = RankSet({rank_of(meant->thread)});
    return finding;
  }
  const ActorTemplate& there = names_.actor(actor(other->thread));
  if (there.step->implied) {
    finding.message += "; one thread drives both ranks, and is still in this call";
  } else {
    finding.message += "; " + peer + " is in " + quoted(there.name);
    if (!there.step->at.empty()) finding.message += " (" + there.step->at + ")";
  }
  if (is_cycle && chain.size() > 2) {
    finding.message += ", in a cycle of " + std::to_string(chain.size()) + " ranks";
  }
  std::vector<std::uint32_t> ranks;
  for (const Stuck& stuck : chain) ranks.push_back(rank_of(stuck.thread));
  finding.ranks = RankSet(std::move(ranks));
  return finding;
}

}  // namespace

void lint_hosts(const TaskGraph& graph, const Lowered& lowered,
                std::vector<LintFinding>& findings) {
  const auto has_any = [&](const std::set<std::string_view>& rules) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const LintFinding& it) { return rules.contains(it.rule); });
  };
  // These rules already report calls that differ, are missing or block each other.
  if (has_any({kCollectiveOrder, kCollectiveBranch, kMeeting, kSendFirst, kMessageOrder,
               kMessageSize, kSendSync})) {
    return;
  }
  std::optional<LintFinding> finding = HostWalk(graph, lowered, false).run();
  if (!finding && !has_any({kGroupOrder})) finding = HostWalk(graph, lowered, true).run();
  if (finding) findings.push_back(std::move(*finding));
}

}  // namespace pipesim::models
