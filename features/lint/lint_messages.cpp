// Rules about sends and receives. Executes the calls of each communicator separately, by NCCL's
// contract: each send together with its receive, and all calls in order. Ignores the rest of the
// programs, which can only add waits. A program therefore hangs by contract if these calls do not
// end.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "features/lint/lint_rules.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::CallId;
using sim::CallKind;
using sim::ChannelId;
using sim::CommunicatorId;
using sim::ThreadId;

// Maximum number of ops of a rank on a communicator. A communicator with more is not checked.
constexpr std::size_t kMaxOpsOfRank = 4'096;
// Maximum number of ops of all ranks together; nothing is checked in a job with more.
constexpr std::uint64_t kMaxOps = 1'000'000;

// The calls of one rank on one communicator.
struct Line {
  ThreadId thread;
  std::vector<ActorId> ops;
  bool whole = true;              // false: `ops` is incomplete, or the order is unknown
  std::size_t at = 0;             // index of the current op in `ops`
  std::vector<bool> done;         // whether each call of the current op is done
  std::uint32_t collectives = 0;  // number of collectives reached
};

class MessageLint : PlanLint {
 public:
  using PlanLint::PlanLint;

  void run();

 private:
  void read(ThreadId id);
  void check(CommunicatorId id);
  void enter(std::uint32_t rank);
  void settle(std::uint32_t rank, std::size_t call);
  bool match(ChannelId id);
  void meet(CommunicatorId id);
  std::vector<std::uint32_t> awaited(CommunicatorId id, std::uint32_t rank) const;
  void find_cycle(CommunicatorId id);
  void report_cycle(const std::vector<std::uint32_t>& ranks);
  void report_size(CallId send, CallId receive);
  bool is_one_sided(ActorId actor) const {
    const auto& calls = names_.actor(actor).step->calls;
    return graph_.communicators[calls.front().communicator].one_sided;
  }
  const ActorTemplate& step(std::uint32_t rank) const {
    const Line& line = lines_.at(rank);
    return names_.actor(line.ops[line.at]);
  }
  std::uint32_t rank_of(std::uint32_t member) const {
    return plan_.communicator_ranks[member].value;
  }
  bool is_open(std::uint32_t rank) const {
    const auto found = lines_.find(rank);
    return found != lines_.end() && found->second.at < found->second.ops.size();
  }

  // A blocked send or recv: a call of the current op of its rank.
  struct Waiting {
    std::uint32_t rank = 0;
    std::size_t call = 0;
  };
  struct Ends {
    std::deque<Waiting> sends;
    std::deque<Waiting> receives;
  };

  std::uint64_t ops_ = 0;
  std::vector<std::map<std::uint32_t, Line>> of_communicator_;
  std::map<std::uint32_t, Line> lines_;  // by rank, for the current communicator
  std::map<std::uint32_t, Ends> channels_;
  std::deque<std::uint32_t> changed_;  // ranks whose current op may be done
};

void MessageLint::read(ThreadId id) {
  const sim::Thread& thread = plan_.threads[id];
  for (std::uint32_t i = thread.program; i < thread.program_end && ops_ < kMaxOps; ++i) {
    const ActorId actor = plan_.op(thread, i);
    CommunicatorId last;
    for (const CallId call : plan_.calls_of(actor)) {
      const CommunicatorId communicator = plan_.calls[call].communicator;
      if (communicator == last) continue;
      last = communicator;
      ++ops_;
      Line& line = of_communicator_[communicator.value][thread.rank.value];
      // The rule does not model the signals of one-sided sends, which never wait.
      if (is_one_sided(actor)) line.whole = false;
      // The send that a recv from any rank matches is unknown.
      if (plan_.calls[call].from_any()) line.whole = false;
      // Calls of two threads have no order.
      if (!line.ops.empty() && line.thread != id) line.whole = false;
      line.thread = id;
      if (line.ops.size() == kMaxOpsOfRank) line.whole = false;
      if (line.whole) line.ops.push_back(actor);
    }
  }
}

void MessageLint::run() {
  of_communicator_.resize(plan_.communicators.size());
  for (const ThreadId id : ids_of(plan_.threads)) read(id);
  if (ops_ >= kMaxOps) return;
  for (const CommunicatorId id : ids_of(plan_.communicators)) {
    lines_ = std::move(of_communicator_[id.value]);
    check(id);
  }
}

// Posts the calls of the op that the rank has reached.
void MessageLint::enter(std::uint32_t rank) {
  Line& line = lines_.at(rank);
  if (line.at == line.ops.size()) return;
  std::size_t index = 0;
  line.done.assign(plan_.calls_of(line.ops[line.at]).size(), false);
  for (const CallId id : plan_.calls_of(line.ops[line.at])) {
    const sim::Call& call = plan_.calls[id];
    const Waiting waiting{rank, index++};
    if (call.kind == CallKind::kCollective) {
      ++line.collectives;
    } else if (call.kind == CallKind::kSend) {
      channels_[call.channel.value].sends.push_back(waiting);
    } else {
      channels_[call.channel.value].receives.push_back(waiting);
    }
  }
  changed_.push_back(rank);
}

void MessageLint::settle(std::uint32_t rank, std::size_t call) {
  Line& line = lines_.at(rank);
  line.done[call] = true;
  const bool over = std::all_of(line.done.begin(), line.done.end(), [](bool done) { return done; });
  if (!over) return;
  ++line.at;
  enter(rank);
}

// Completes a send and its receive. Returns false if the channel has no such pair.
bool MessageLint::match(ChannelId id) {
  Ends& ends = channels_[id.value];
  if (ends.sends.empty() || ends.receives.empty()) return false;
  const Waiting send = ends.sends.front();
  const Waiting receive = ends.receives.front();
  ends.sends.pop_front();
  ends.receives.pop_front();
  const auto call_of = [&](const Waiting& end) {
    const Line& line = lines_.at(end.rank);
    const CallId first = *plan_.calls_of(line.ops[line.at]).begin();
    return CallId{first.value + static_cast<std::uint32_t>(end.call)};
  };
  report_size(call_of(send), call_of(receive));
  settle(send.rank, send.call);
  settle(receive.rank, receive.call);
  return true;
}

// Completes the collective that all ranks have reached.
void MessageLint::meet(CommunicatorId id) {
  const sim::Communicator& communicator = plan_.communicators[id];
  std::uint32_t least = ~0u;
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const auto found = lines_.find(rank_of(i));
    least = std::min(least, found == lines_.end() ? 0 : found->second.collectives);
  }
  for (auto& [rank, line] : lines_) {
    if (line.at == line.ops.size() || line.collectives > least) continue;
    std::size_t index = 0;
    const std::size_t at = line.at;
    for (const CallId call : plan_.calls_of(line.ops[at])) {
      const bool open = plan_.calls[call].kind == CallKind::kCollective && !line.done[index];
      if (open) settle(rank, index);
      if (line.at != at) break;
      ++index;
    }
  }
}

void MessageLint::check(CommunicatorId id) {
  const bool has_messages = std::any_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
    return std::any_of(entry.second.ops.begin(), entry.second.ops.end(), [&](ActorId actor) {
      const auto calls = plan_.calls_of(actor);
      return std::any_of(calls.begin(), calls.end(), [&](CallId call) {
        return plan_.calls[call].kind != CallKind::kCollective;
      });
    });
  });
  const bool known = std::all_of(lines_.begin(), lines_.end(),
                                 [](const auto& entry) { return entry.second.whole; });
  if (!has_messages || !known) return;
  channels_.clear();
  for (const auto& [rank, line] : lines_) enter(rank);
  while (!changed_.empty()) {
    const std::uint32_t rank = changed_.front();
    changed_.pop_front();
    if (!is_open(rank)) continue;
    const Line& line = lines_.at(rank);
    bool collective = false;
    std::vector<ChannelId> channels;
    for (const CallId call : plan_.calls_of(line.ops[line.at])) {
      collective = collective || plan_.calls[call].kind == CallKind::kCollective;
      if (plan_.calls[call].kind != CallKind::kCollective) {
        channels.push_back(plan_.calls[call].channel);
      }
    }
    for (const ChannelId channel : channels) {
      while (match(channel)) {
      }
    }
    if (collective) meet(id);
  }
  find_cycle(id);
}

// Returns the ranks for which the current op of `rank` waits.
std::vector<std::uint32_t> MessageLint::awaited(CommunicatorId id, std::uint32_t rank) const {
  std::vector<std::uint32_t> ranks;
  const Line& line = lines_.at(rank);
  std::size_t index = 0;
  for (const CallId call_id : plan_.calls_of(line.ops[line.at])) {
    const sim::Call& call = plan_.calls[call_id];
    if (line.done[index++] || call.communicator != id) continue;
    if (call.kind != CallKind::kCollective) {
      ranks.push_back(rank_of(call.peer));
      continue;
    }
    for (const auto& [other, of_other] : lines_) {
      if (of_other.collectives < line.collectives) ranks.push_back(other);
    }
  }
  return ranks;
}

void MessageLint::find_cycle(CommunicatorId id) {
  for (const auto& [first, line] : lines_) {
    std::vector<std::uint32_t> path;
    std::uint32_t rank = first;
    while (is_open(rank) && std::find(path.begin(), path.end(), rank) == path.end()) {
      path.push_back(rank);
      const std::vector<std::uint32_t> next = awaited(id, rank);
      const auto open = std::find_if(next.begin(), next.end(),
                                     [&](std::uint32_t other) { return is_open(other); });
      if (open == next.end()) break;
      rank = *open;
    }
    const auto begin = std::find(path.begin(), path.end(), rank);
    if (path.size() < 2 || begin == path.end() || path.end() - begin < 2) continue;
    report_cycle({begin, path.end()});
    return;
  }
}

void MessageLint::report_cycle(const std::vector<std::uint32_t>& ranks) {
  const auto sends = [&](std::uint32_t rank) {
    const ShortList<CallTemplate>& calls = step(rank).step->calls;
    return std::all_of(calls.begin(), calls.end(),
                       [](const CallTemplate& call) { return call.kind == CallKind::kSend; });
  };
  const bool all_send = std::all_of(ranks.begin(), ranks.end(), sends);
  const ActorTemplate& first = step(ranks.front());
  const ActorTemplate& second = step(ranks[1]);
  const std::string& communicator =
      graph_.communicators[first.step->calls.front().communicator].name;
  std::set<std::string> others;
  for (const std::uint32_t rank : ranks) others.insert(step(rank).name);
  others.erase(first.name);
  std::vector<std::string> ops = {first.name};
  ops.insert(ops.end(), others.begin(), others.end());
  const std::string& at = second.step->at;
  findings_.push_back(
      {.rule = all_send ? kSendFirst : kMessageOrder,
       .place = first.place,
       .message = fmt::format(
           "{}, which is in '{}'{}",
           all_send ? fmt::format("{} ranks each send before they receive on '{}': '{}' to rank {}",
                                  ranks.size(), communicator, first.name, ranks[1])
                    : fmt::format("calls of {} ranks on '{}' wait for each other because of their "
                                  "order: '{}' waits for rank {}",
                                  ranks.size(), communicator, first.name, ranks[1]),
           second.name, at.empty() ? "" : fmt::format(" ({})", at)),
       .ops = std::move(ops),
       .ranks = RankSet(ranks),
       .why = "calls on one communicator run in order, and a send may block until its recv: this "
              "works only while the data fits into NCCL's buffers, and never in a fresh job",
       .advice = all_send
                     ? "put the send and the recv into one group, or let one rank of each pair "
                       "receive first"
                     : "make the calls in one order on both sides, or give each direction a "
                       "communicator"});
}

void MessageLint::report_size(CallId send, CallId receive) {
  const auto from = [&](CallId id) -> const CallTemplate& {
    const ActorId actor = plan_.calls[id].actor;
    return names_.actor(actor).step->calls[id.value - (*plan_.calls_of(actor).begin()).value];
  };
  const std::int64_t sent = plan_.calls[send].signature.count;
  const std::int64_t received = plan_.calls[receive].signature.count;
  if (sent == received || !from(send).sized || !from(receive).sized) return;
  const ActorId actor = plan_.calls[receive].actor;
  findings_.push_back(
      {.rule = kMessageSize,
       .place = names_.actor(actor).place,
       .message = fmt::format("'{}' receives {} bytes, and '{}' sends {}", names_.name(actor),
                              received, names_.name(plan_.calls[send].actor), sent),
       .ops = {names_.name(actor)},
       .ranks = RankSet({plan_.actors[actor].rank.value}),
       .why = received > sent ? "the recv waits for the rest, or takes it from the next message"
                              : "the excess stays in NCCL's buffers for the next recv",
       .advice =
           "give both the same size; if two sends are swapped, use the same order on both sides"});
}

}  // namespace

void lint_messages(const TaskGraph& graph, const Lowered& lowered,
                   std::vector<LintFinding>& findings) {
  MessageLint(graph, lowered, findings).run();
}

}  // namespace pipesim::models
