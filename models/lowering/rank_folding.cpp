#include "models/lowering/rank_folding.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "models/graph/parts.hpp"

namespace pipesim::models {
namespace {

// Folding pays off from this number of ranks, or of actors and steps of a rank.
constexpr std::uint32_t kMinRanks = 16;
constexpr std::size_t kMinActors = 1'000;
// Minimum ratio of all ranks to kept ranks, because the kept ranks need a second plan and op times.
constexpr std::size_t kMinGain = 4;
// Maximum number of refinement rounds. In each round, a difference spreads by one rank.
constexpr int kMaxRounds = 64;

// A partition of the ranks, refined by splitting.
class Classes {
 public:
  explicit Classes(std::uint32_t ranks) : of_(ranks, 0) {}

  std::uint32_t operator[](std::uint32_t rank) const { return of_[rank]; }

  /// Separates the ranks of `on` from all other ranks, and from each other if `value(rank)`
  /// differs.
  template <typename Value>
  void split(const RankSet& on, Value value) {
    parts_.clear();
    std::pair<std::uint32_t, std::uint64_t> last;
    std::uint32_t part = kNoIndex;
    for (const std::uint32_t rank : on) {
      const std::pair<std::uint32_t, std::uint64_t> key(of_[rank],
                                                        static_cast<std::uint64_t>(value(rank)));
      if (part == kNoIndex || key != last) {
        const auto [known, is_new] = parts_.try_emplace(key, next_);
        if (is_new) ++next_;
        part = known->second;
        last = key;
      }
      of_[rank] = part;
    }
  }

  /// Renumbers the classes by their first ranks, and returns the number of classes.
  std::uint32_t renumber() {
    std::vector<std::uint32_t> numbers(next_, kNoIndex);
    next_ = 0;
    for (std::uint32_t& of : of_) {
      if (numbers[of] == kNoIndex) numbers[of] = next_++;
      of = numbers[of];
    }
    return next_;
  }

 private:
  std::vector<std::uint32_t> of_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> parts_;
  std::uint32_t next_ = 1;
};

class Folder {
 public:
  explicit Folder(const TaskGraph& graph)
      : graph_(graph), all_(RankSet::range(0, graph.ranks)), classes_(graph.ranks) {}

  std::optional<RankFolding> run();

 private:
  struct Port {
    std::uint32_t rank = 0;  // owner of the port
    std::uint32_t peer = 0;
  };

  // Calls of steps on the same ranks that name their peers by the same expression.
  struct PeerRule {
    const RankSet* on = nullptr;
    const Expr* peer = nullptr;
    std::uint32_t group = 0;
  };

  bool knows_all() const;
  void use_groups();
  void find_peer_rules();
  void split_by_peers(const PeerRule& rule);
  void split_by_set(const RankSet& on);
  void split_by(const Expr& expr, const RankSet& on);
  void split_by_values();
  void split_by_blocks(const std::vector<ProgramStep>& steps);
  void split_by_ports();
  void split_by_lists(std::uint32_t group);
  void find_ports();
  std::uint32_t port_of(std::uint32_t rank, std::uint32_t peer) const;
  std::uint64_t places_of(std::uint32_t a, std::uint32_t b) const;
  bool refine();
  void keep(std::uint32_t rank);
  void keep_of_list(const std::vector<std::uint32_t>& list);
  std::optional<RankFolding> kept();
  bool receives_from_any() const;
  bool agrees_on_roots() const;

  const TaskGraph& graph_;
  RankSet all_;
  Classes classes_;
  std::uint32_t count_ = 0;  // number of classes
  std::set<const std::uint32_t*> sets_;
  std::set<std::uint32_t> groups_;
  std::vector<PeerRule> peer_rules_;
  // Peers of each rank, in the order of first use; the peers of a rank start at first_port_[rank].
  std::vector<std::uint32_t> peers_;
  std::vector<std::uint32_t> first_port_;
  std::uint32_t most_ports_ = 0;
  std::vector<std::uint8_t> is_kept_;
  std::vector<std::uint32_t> to_look_at_;
};

// Whether folding supports all ways in which ranks of this job depend on each other.
bool Folder::knows_all() const {
  if (graph_.ranks < kMinRanks && graph_.actors.size() < kMinActors) return false;
  if (graph_.faults != Faults() || graph_.memory || graph_.logical) return false;
  if (graph_.processes.group != kNoIndex) return false;  // ranks of a process share locks
  const bool keys = std::any_of(graph_.events.begin(), graph_.events.end(),
                                [](const EventTemplate& event) { return event.shared; });
  if (keys) return false;
  return std::all_of(graph_.actors.begin(), graph_.actors.end(), [&](const ActorTemplate& actor) {
    if (!actor.registers.empty() || !actor.reads.empty()) return false;
    if (!actor.step) return true;
    return std::none_of(
        actor.step->calls.begin(), actor.step->calls.end(), [&](const CallTemplate& call) {
          // The ranks of a host destroy a communicator together; in gloo's
          // broadcast tree, each rank has its own position.
          return (is_of_host(call.operation) && call.operation != Operation::kSplit) ||
                 (call.operation == Operation::kBroadcast &&
                  graph_.communicators[call.communicator].is_gloo);
        });
  });
}

// Collects the groups that communicate, because their lists matter.
void Folder::use_groups() {
  for (const ActorTemplate& actor : graph_.actors) {
    if (actor.collective) groups_.insert(actor.collective->group);
    if (!actor.step) continue;
    const auto use = [&](std::uint32_t communicator) {
      if (communicator != kNoIndex) groups_.insert(graph_.communicators[communicator].group);
    };
    use(actor.step->communicator);
    for (const CallTemplate& call : actor.step->calls) use(call.communicator);
  }
}

// Splits the classes by `on`, but only once per set, because steps share their sets of ranks.
void Folder::split_by_set(const RankSet& on) {
  if (sets_.insert(on.begin()).second) {
    classes_.split(on, [](std::uint32_t) { return 0; });
  }
}

void Folder::split_by(const Expr& expr, const RankSet& on) {
  if (!expr.depends_on_rank()) return;
  classes_.split(on, [&](std::uint32_t rank) {
    return expr.value(rank).value_or(std::numeric_limits<std::int64_t>::max());
  });
}

// Splits the classes by all values that differ between ranks, except the peers of calls.
void Folder::split_by_values() {
  for (const ActorTemplate& actor : graph_.actors) split_by_set(actor.on);
  split_by(graph_.launch_queue, all_);
  for_each_part(graph_, [&](const auto& part, const RankSet& on) {
    for_each_expr(part, [&](const Expr& expr, const auto& field) {
      if (field.value.to != To::kRank) split_by(expr, on);
    });
  });
}

// Splits the classes by the index of the called peer, and by whether a list of the group contains
// caller and peer.
void Folder::split_by_peers(const PeerRule& rule) {
  const Group& group = graph_.groups[rule.group];
  classes_.split(*rule.on, [&](std::uint32_t rank) -> std::uint64_t {
    const auto peer = rule.peer->value(rank);
    if (!peer || *peer < 0 || *peer >= graph_.ranks) return 0;
    const auto other = static_cast<std::uint32_t>(*peer);
    const bool together = group.list_of(rank) == group.list_of(other);
    return 2 + 2 * std::uint64_t{port_of(rank, other)} + (together ? 1 : 0);
  });
}

void Folder::split_by_blocks(const std::vector<ProgramStep>& steps) {
  for (const ProgramStep& step : steps) {
    if (step.on) split_by_set(*step.on);
    split_by_blocks(step.block);
  }
}

// Collects the peer rules without duplicates: a block repeats a send for each phase, so in a large
// job many calls share a rule. Rules of one rank are not compared: a rank can have a rule per rank
// of the job, so the search would cost more than it saves.
void Folder::find_peer_rules() {
  std::unordered_map<const std::uint32_t*, std::vector<PeerRule>> known;
  for (const ActorTemplate& actor : graph_.actors) {
    if (!actor.step) continue;
    for (const CallTemplate& call : actor.step->calls) {
      if (!call.peer) continue;
      const PeerRule rule = {&actor.on, &*call.peer, graph_.communicators[call.communicator].group};
      if (actor.on.size() > 1) {
        std::vector<PeerRule>& same_ranks = known[actor.on.begin()];
        const bool is_known =
            std::any_of(same_ranks.begin(), same_ranks.end(), [&](const PeerRule& other) {
              return other.group == rule.group && *other.peer == *rule.peer;
            });
        if (is_known) continue;
        same_ranks.push_back(rule);
      }
      peer_rules_.push_back(rule);
    }
  }
}

void Folder::find_ports() {
  std::vector<Port> ports;
  for (const PeerRule& rule : peer_rules_) {
    for (const std::uint32_t rank : *rule.on) {
      const auto peer = rule.peer->value(rank);
      if (!peer || *peer < 0 || *peer >= graph_.ranks) continue;
      ports.push_back({rank, static_cast<std::uint32_t>(*peer)});
    }
  }
  std::stable_sort(ports.begin(), ports.end(),
                   [](const Port& a, const Port& b) { return a.rank < b.rank; });
  first_port_.assign(graph_.ranks + std::size_t{1}, 0);
  auto next = ports.begin();
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    const auto begin = peers_.size();
    for (; next != ports.end() && next->rank == rank; ++next) {
      const auto own = peers_.begin() + static_cast<std::ptrdiff_t>(begin);
      if (std::find(own, peers_.end(), next->peer) == peers_.end()) peers_.push_back(next->peer);
    }
    first_port_[rank + 1] = static_cast<std::uint32_t>(peers_.size());
    most_ports_ = std::max(most_ports_, first_port_[rank + 1] - first_port_[rank]);
  }
}

// Returns the index of `peer` among the peers of `rank`; if `peer` is not a peer, their number.
std::uint32_t Folder::port_of(std::uint32_t rank, std::uint32_t peer) const {
  const auto begin = peers_.begin() + first_port_[rank];
  const auto end = peers_.begin() + first_port_[rank + 1];
  return static_cast<std::uint32_t>(std::find(begin, end, peer) - begin);
}

// Returns a code for the factors that decide the path between two ranks: same rank, same device,
// same host.
std::uint64_t Folder::places_of(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return 3;
  if (!graph_.cluster || !graph_.cluster->same_host(a, b)) return 0;
  return graph_.cluster->same_device(a, b) ? 2 : 1;
}

void Folder::split_by_ports() {
  for (std::uint32_t port = 0; port < most_ports_; ++port) {
    std::vector<std::uint32_t> on;
    for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
      if (first_port_[rank] + port < first_port_[rank + 1]) on.push_back(rank);
    }
    // Computes all values first, because splitting changes the classes of the peers.
    std::vector<std::uint64_t> values;
    values.reserve(on.size());
    for (const std::uint32_t rank : on) {
      const std::uint32_t peer = peers_[first_port_[rank] + port];
      values.push_back(std::uint64_t{classes_[peer]} << 32 |
                       std::uint64_t{port_of(peer, rank)} << 2 | places_of(rank, peer));
    }
    auto value = values.begin();
    classes_.split(RankSet(std::move(on)), [&](std::uint32_t) { return *value++; });
  }
}

// Splits members by the classes of the ranks in their list, and by the layout of the list over
// hosts and devices. Times depend only on which members share a host or device, so hosts and
// devices are numbered in list order.
void Folder::split_by_lists(std::uint32_t group) {
  std::map<std::vector<std::uint32_t>, std::uint64_t> sorts;
  std::vector<std::uint64_t> sort_of_list;
  for (const std::vector<std::uint32_t>& list : graph_.groups[group].lists) {
    std::vector<std::uint32_t> sort;
    for (const std::uint32_t rank : list) sort.push_back(classes_[rank]);
    std::sort(sort.begin(), sort.end());
    if (graph_.cluster) {
      std::unordered_map<std::uint32_t, std::uint32_t> hosts;
      std::unordered_map<std::uint64_t, std::uint32_t> devices;
      const auto number = [](auto& known, auto of) {
        return known.try_emplace(of, static_cast<std::uint32_t>(known.size())).first->second;
      };
      for (const std::uint32_t rank : list) {
        const std::uint32_t host = graph_.cluster->host_of_rank[rank];
        sort.push_back(number(hosts, host));
        sort.push_back(
            number(devices, std::uint64_t{host} << 32 | graph_.cluster->device_of_rank[rank]));
      }
    }
    sort_of_list.push_back(sorts.try_emplace(std::move(sort), sorts.size()).first->second);
  }
  classes_.split(graph_.groups[group].members(), [&](std::uint32_t rank) {
    return sort_of_list[graph_.groups[group].list_of(rank)];
  });
}

// Refines the classes until they are stable. Returns false if there are too many classes or rounds.
bool Folder::refine() {
  for (int round = 0; round < kMaxRounds; ++round) {
    split_by_ports();
    for (const std::uint32_t group : groups_) split_by_lists(group);
    const std::uint32_t count = classes_.renumber();
    if (std::size_t{count} * kMinGain > graph_.ranks) return false;
    if (count == count_) return true;
    count_ = count;
  }
  return false;
}

void Folder::keep(std::uint32_t rank) {
  if (is_kept_[rank] != 0) return;
  is_kept_[rank] = 1;
  to_look_at_.push_back(rank);
}

// Keeps one rank of each class in `list`, preferably one that is already kept.
void Folder::keep_of_list(const std::vector<std::uint32_t>& list) {
  std::map<std::uint32_t, std::uint32_t> chosen;  // keyed by class
  for (const std::uint32_t rank : list) {
    const auto [known, is_new] = chosen.try_emplace(classes_[rank], rank);
    const auto order = [&](std::uint32_t of) { return std::pair(is_kept_[of] == 0, of); };
    if (!is_new && order(rank) < order(known->second)) known->second = rank;
  }
  for (const auto& [sort, rank] : chosen) keep(rank);
}

std::optional<RankFolding> Folder::kept() {
  is_kept_.assign(graph_.ranks, 0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> lists;  // already visited
  std::vector<std::uint32_t> first_of(count_, kNoIndex);
  std::size_t number = 0;
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    if (first_of[classes_[rank]] == kNoIndex) {
      first_of[classes_[rank]] = rank;
      keep(rank);
    }
    while (!to_look_at_.empty()) {
      const std::uint32_t looked = to_look_at_.back();
      to_look_at_.pop_back();
      if (++number * kMinGain > graph_.ranks) return std::nullopt;
      for (std::uint32_t i = first_port_[looked]; i < first_port_[looked + 1]; ++i) keep(peers_[i]);
      for (const std::uint32_t group : groups_) {
        const std::uint32_t list = graph_.groups[group].list_of(looked);
        if (list == kNoIndex || !lists.insert({group, list}).second) continue;
        keep_of_list(graph_.groups[group].lists[list]);
      }
    }
  }
  RankFolding folding;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    if (is_kept_[rank] != 0) ranks.push_back(rank);
    folding.stands_for.push_back(first_of[classes_[rank]]);
  }
  folding.kept = RankSet(std::move(ranks));
  return folding;
}

// Whether a recv accepts any sender. Its choice depends on rank numbers, so equal ranks can behave
// differently.
bool Folder::receives_from_any() const {
  return std::any_of(graph_.actors.begin(), graph_.actors.end(), [](const ActorTemplate& actor) {
    return actor.step && std::any_of(actor.step->calls.begin(), actor.step->calls.end(),
                                     [](const CallTemplate& call) { return call.from_any(); });
  });
}

// Whether the members of each list name the same root. The classes do not show this: if each rank
// names itself, all look alike, but the roots differ.
bool Folder::agrees_on_roots() const {
  for (const ActorTemplate& actor : graph_.actors) {
    if (!actor.step) continue;
    for (const CallTemplate& call : actor.step->calls) {
      if (!has_root(call.operation) || !call.peer || !call.peer->depends_on_rank()) continue;
      const Group& group = graph_.groups[graph_.communicators[call.communicator].group];
      std::vector<std::optional<std::int64_t>> roots(group.lists.size());
      for (const std::uint32_t rank : actor.on) {
        const std::uint32_t list = group.list_of(rank);
        const std::optional<std::int64_t> root = call.peer->value(rank);
        if (list == kNoIndex || !root) return false;  // invalid, reported by lowering
        if (roots[list].value_or(*root) != *root) return false;
        roots[list] = root;
      }
    }
  }
  return true;
}

std::optional<RankFolding> Folder::run() {
  if (!knows_all() || receives_from_any() || !agrees_on_roots()) return std::nullopt;
  use_groups();
  find_peer_rules();
  find_ports();
  split_by_values();
  for (const PeerRule& rule : peer_rules_) split_by_peers(rule);
  for (const HostThread& thread : graph_.threads) split_by_blocks(thread.program);
  if (!refine()) return std::nullopt;
  return kept();
}

}  // namespace

std::vector<std::uint32_t> RankFolding::copies() const {
  std::vector<std::uint32_t> result(stands_for.size(), 0);
  for (const std::uint32_t first : stands_for) ++result[first];
  return result;
}

std::optional<RankFolding> fold_ranks(const TaskGraph& graph) { return Folder(graph).run(); }

}  // namespace pipesim::models
