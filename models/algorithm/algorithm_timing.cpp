#include "models/algorithm/algorithm_timing.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "models/lowering/cost.hpp"

namespace pipesim::models {
namespace {

constexpr std::uint32_t kNoWork = 0xffffffff;

// A time and its cause: the end of work, the end of a message at its sender, or its arrival.
struct When {
  std::int64_t ns = 0;
  std::uint32_t work = kNoWork;
  bool arrival = false;
};

const When& later(const When& a, const When& b) { return b.ns > a.ns ? b : a; }

// A message, or work on one rank.
struct Work {
  std::uint32_t node = 0;
  std::uint32_t round = 0;
  std::uint32_t from = 0, to = 0;
  std::uint64_t bytes = 0;
  std::int64_t begin_ns = 0, latency_ns = 0, busy_ns = 0;
  std::int64_t flow_ns = 0;  // arrival of the first byte
  AlgoCause cause = AlgoCause::kStart;
  When start;    // the event that `begin_ns` waited for
  When receive;  // the receiver's previous message, if it ended after the first byte arrived
};

AlgoCause wait_cause(sim::WaitKind kind) {
  switch (kind) {
    case sim::WaitKind::kPeerOfMessage:
    case sim::WaitKind::kPacket:
      return AlgoCause::kMessage;
    case sim::WaitKind::kSlot:
      return AlgoCause::kSlot;
    default:
      return AlgoCause::kDependency;
  }
}

// Exception for missing times: no link, or times beyond 64 bits.
struct Untimed {
  std::string why;
};

class Timer {
 public:
  Timer(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network, const Cluster& cluster,
        const AlgoTimingOptions& options, std::uint64_t chunk_bytes)
      : algorithm_(algorithm),
        network_(network),
        cluster_(cluster),
        slots_(options.slots),
        xml_(algorithm.format == AlgoFormat::kMscclXml),
        chunk_bytes_(chunk_bytes),
        piece_bytes_(xml_ ? std::min(chunk_bytes, slot_bytes(algorithm.protocol)) : chunk_bytes),
        posted_(network.counters.size()),
        taken_(network.counters.size(), 0),
        posts_per_round_(network.counters.size(), 0),
        first_waiter_(network.counters.size(), kNoAlgoIndex),
        next_waiter_(network.block_count(), kNoAlgoIndex),
        blocks_(network.block_count()),
        node_done_(network.node_count()),
        sends_(algorithm.ranks.size() * cluster.links.size()),
        receives_(sends_.size()) {
    if (xml_ && chunk_bytes_ > piece_bytes_) {
      rounds_ = chunk_bytes_ / piece_bytes_ + (chunk_bytes_ % piece_bytes_ != 0 ? 1 : 0);
    }
    if (rounds_ > kMaxTimedSteps / std::max(1U, network.node_count())) {
      throw std::length_error("the message takes " + std::to_string(rounds_) + " rounds of " +
                              std::to_string(network.node_count()) +
                              " steps, too many to be timed (at most " +
                              std::to_string(kMaxTimedSteps) + " in all)");
    }
    for (const std::uint32_t counter : network.posts) ++posts_per_round_[counter];
  }

  AlgoTiming run() {
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      blocks_[block].next = network_.blocks[block].nodes_begin;
      schedule(block);
    }
    while (!queue_.empty()) {
      const Entry next = queue_.top();
      queue_.pop();
      begin_node(next.block);
      if (wait_for_port(next)) continue;
      do_node();
      schedule(next.block);
    }
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      const bool empty =
          network_.blocks[block].nodes_begin == network_.blocks[block + 1].nodes_begin;
      if (!empty && blocks_[block].round < rounds_) {
        throw Untimed{"it does not complete: see 'pipesim verify'"};
      }
    }
    AlgoTiming timing;
    timing.makespan_ns = end_.ns;
    timing.chunk_bytes = chunk_bytes_;
    timing.rounds = rounds_;
    timing.messages = messages_;
    timing.path = path();
    find_busiest(timing);
    return timing;
  }

 private:
  struct Block {
    std::uint32_t next = 0;
    std::uint64_t round = 0;
    When ready;  // ready time of `next`, if it is queued
    AlgoCause cause = AlgoCause::kStart;
    When issued;  // start of the previous node
    When done;    // end of all previous nodes
  };
  // A queued block: its node can begin at `ns`, and was ready at `ready_ns` except for its port.
  struct Entry {
    std::int64_t ns = 0, ready_ns = 0;
    std::uint32_t block = 0;

    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  struct Port {
    When free;
    std::uint64_t bytes = 0;
    std::int64_t busy_ns = 0;
  };

  // -------------------------------------------------------------------------------------------
  // Start times of nodes

  // Queues a block, or adds it to the waiters of a counter.
  void schedule(std::uint32_t index) {
    Block& block = blocks_[index];
    const std::uint32_t begin = network_.blocks[index].nodes_begin;
    const std::uint32_t end = network_.blocks[index + 1].nodes_begin;
    if (begin == end) return;
    if (block.next == end) {
      if (++block.round == rounds_) return;
      block.next = begin;
      block.issued = block.done;
    }
    const AlgoNode& node = network_.nodes[block.next];
    const AlgoNode& after = network_.nodes[block.next + 1];
    for (std::uint32_t i = node.needs_begin; i < after.needs_begin; ++i) {
      const std::uint32_t counter = network_.needs[i].counter;
      if (has(network_.needs[i], block.round)) continue;
      next_waiter_[index] = first_waiter_[counter];
      first_waiter_[counter] = index;
      return;
    }
    block.ready = block.issued;
    block.cause = block.ready.ns == 0 ? AlgoCause::kStart : AlgoCause::kOrder;
    for (std::uint32_t i = node.after_begin; i < after.after_begin; ++i) {
      consider(block, node_done_[network_.after[i]], AlgoCause::kOrder);
    }
    for (std::uint32_t i = node.needs_begin; i < after.needs_begin; ++i) {
      const AlgoNeed& need = network_.needs[i];
      const std::uint64_t post = post_for(need, block.round);
      if (network_.counters[need.counter].contested) ++taken_[need.counter];
      if (post == 0) continue;
      consider(block, posted_[need.counter][post - 1],
               wait_cause(network_.counters[need.counter].kind));
    }
    queue_.push({block.ready.ns, block.ready.ns, index});
  }

  static void consider(Block& block, const When& when, AlgoCause cause) {
    if (when.ns <= block.ready.ns) return;
    block.ready = when;
    block.cause = cause;
  }

  // Returns the raise that a need waits for, from 1; 0: none.
  std::uint64_t post_for(const AlgoNeed& need, std::uint64_t round) const {
    const AlgoCounter& counter = network_.counters[need.counter];
    std::uint64_t count = need.count;
    if (counter.contested) {
      count = taken_[need.counter] + std::uint64_t{1};
    } else if (need.count != kNeverReached) {
      count += round * posts_per_round_[need.counter];
    }
    std::uint64_t given = counter.initial;
    if (counter.kind == sim::WaitKind::kSlot) given += slots_;
    return count - std::min(count, given);
  }

  bool has(const AlgoNeed& need, std::uint64_t round) const {
    return need.count != kNeverReached && post_for(need, round) <= posted_[need.counter].size();
  }

  // -------------------------------------------------------------------------------------------
  // Effects of a node

  void begin_node(std::uint32_t index) {
    now_ = &blocks_[index];
    node_ = now_->next;
    rank_ = network_.blocks[index].rank;
    const AlgoBlock& block = algorithm_.ranks[rank_].blocks[network_.blocks[index].block];
    step_ = &block.steps[network_.nodes[node_].step];
    peer_ = block.send_peer;
    if (!xml_) find_remote();
  }

  // Whether the node must wait for its port; if so, queues it again. The first ready message is
  // sent first, and messages are received in the order of sending: all messages of a port have the
  // same latency.
  bool wait_for_port(const Entry& entry) {
    std::uint32_t from = rank_;
    std::uint32_t to = peer_;
    if (!xml_) {
      if (reads_.empty() && writes_.empty()) return false;
      if (!reads_.empty()) from = reads_.begin()->first;
      to = reads_.empty() ? writes_.begin()->first : rank_;
    } else if (!sends(step_->kind)) {
      return false;
    }
    const auto link = cluster_.path(from, to);
    if (!link) return false;
    const When& free = port(sends_, from, *link).free;
    if (free.ns <= now_->ready.ns) return false;
    now_->ready = free;
    now_->cause = AlgoCause::kPort;
    queue_.push({free.ns, entry.ready_ns, entry.block});
    return true;
  }

  void do_node() {
    const std::uint32_t number = now_->next++;
    arrived_ = now_->ready;
    const When done = xml_ ? do_step() : do_op();
    node_done_[number] = done;
    now_->issued = now_->ready;
    now_->done = later(now_->done, done);
    end_ = later(end_, later(done, arrived_));
    const std::uint32_t end = network_.nodes[number + 1].posts_begin;
    for (std::uint32_t i = network_.nodes[number].posts_begin; i < end; ++i) {
      post(network_.posts[i], done);
    }
  }

  // Runs a step of MSCCL: received data is there, and a send occupies the thread block.
  When do_step() {
    const std::uint64_t bytes = move_count() * round_bytes();
    if (sends(step_->kind)) {
      return send(now_->ready, {rank_}, {peer_}, bytes_with_flags(bytes, algorithm_.protocol));
    }
    const bool local = step_->kind == AlgoStepKind::kCopy || step_->kind == AlgoStepKind::kReduce;
    return local ? work_here(now_->ready, bytes) : now_->ready;
  }

  // Returns the bytes per chunk in this round; the last round has the rest.
  std::uint64_t round_bytes() const {
    const std::uint64_t before = std::min(chunk_bytes_, now_->round * piece_bytes_);
    return std::min(piece_bytes_, chunk_bytes_ - before);
  }

  std::uint64_t move_count() const {
    return network_.nodes[node_ + 1].moves_begin - network_.nodes[node_].moves_begin;
  }

  // Counts the cells that an op of MSCCL++ reads and writes on each other rank.
  void find_remote() {
    reads_.clear();
    writes_.clear();
    for (std::uint32_t m = network_.nodes[node_].moves_begin;
         m < network_.nodes[node_ + 1].moves_begin; ++m) {
      const AlgoMove& move = network_.moves[m];
      const AlgoMove& next = network_.moves[m + 1];
      for (std::uint32_t i = move.reads_begin; i < next.reads_begin; ++i) {
        ++reads_[rank_of(network_.reads[i])];
      }
      for (std::uint32_t i = move.writes_begin; i < next.writes_begin; ++i) {
        ++writes_[rank_of(network_.writes[i])];
      }
    }
    reads_.erase(rank_);
    writes_.erase(rank_);
  }

  // Runs an op of MSCCL++: it first reads from other ranks, then writes.
  When do_op() {
    const std::uint64_t cells = move_count();
    if (reads_.empty() && writes_.empty()) {
      return cells == 0 ? now_->ready : work_here(now_->ready, cell_bytes(cells));
    }
    const AlgoStepKind kind = step_->kind;
    When ready = now_->ready;
    if (kind == AlgoStepKind::kSwitchReduce && !reads_.empty()) {
      send(ready, keys(reads_), {rank_}, cell_bytes(cells));
    } else {
      for (const auto& [rank, count] : reads_) send(ready, {rank}, {rank_}, cell_bytes(count));
    }
    if (!reads_.empty()) ready = arrived_;
    When done = ready;
    const std::uint64_t flags = writes_packets(kind) ? 2 : 1;
    const bool to_all =
        kind == AlgoStepKind::kSwitchStore || kind == AlgoStepKind::kSwitchStorePackets;
    if (to_all && !writes_.empty()) {
      done = send(ready, {rank_}, keys(writes_), flags * cell_bytes(cells));
    } else {
      for (const auto& [rank, count] : writes_) {
        done = later(done, send(ready, {rank_}, {rank}, flags * cell_bytes(count)));
      }
    }
    // A proxy sends while the thread block continues.
    return step_->port && kind != AlgoStepKind::kPutSignalFlush ? now_->ready : done;
  }

  static bool writes_packets(AlgoStepKind kind) {
    return kind == AlgoStepKind::kPutPackets || kind == AlgoStepKind::kReadPutPackets ||
           kind == AlgoStepKind::kReduceSendPackets ||
           kind == AlgoStepKind::kReduceCopySendPackets ||
           kind == AlgoStepKind::kSwitchStorePackets;
  }

  static std::vector<std::uint32_t> keys(const std::map<std::uint32_t, std::uint64_t>& of) {
    std::vector<std::uint32_t> result;
    for (const auto& [key, value] : of) result.push_back(key);
    return result;
  }

  std::uint32_t rank_of(std::uint32_t cell) const {
    const auto& begins = network_.memory.rank_begin;
    return static_cast<std::uint32_t>(std::upper_bound(begins.begin(), begins.end(), cell) -
                                      begins.begin()) -
           1;
  }

  std::uint64_t cell_bytes(std::uint64_t cells) const {
    const std::uint64_t parts = network_.memory.parts;
    return (cells * chunk_bytes_ + parts - 1) / parts;
  }

  void post(std::uint32_t counter, const When& done) {
    const AlgoCounter& of = network_.counters[counter];
    When when = done;
    if (of.kind == sim::WaitKind::kPeerOfMessage || of.kind == sim::WaitKind::kPacket) {
      when = arrived_;
    } else if (of.kind == sim::WaitKind::kSignal && of.channel != kNoAlgoIndex) {
      when = signal(done, of.rank);
    }
    // Raises of a counter arrive in order.
    if (!posted_[counter].empty()) when = later(posted_[counter].back(), when);
    posted_[counter].push_back(when);
    for (std::uint32_t waiter = first_waiter_[counter]; waiter != kNoAlgoIndex;) {
      const std::uint32_t next = next_waiter_[waiter];
      woken_.push_back(waiter);
      waiter = next;
    }
    first_waiter_[counter] = kNoAlgoIndex;
    while (!woken_.empty()) {
      const std::uint32_t waiter = woken_.back();
      woken_.pop_back();
      schedule(waiter);
    }
  }

  // Returns the arrival of a signal: the latency of its link, but not before data that was sent
  // earlier.
  When signal(const When& done, std::uint32_t to) {
    if (to == rank_) return done;
    const auto sent = data_arrival_.find({rank_, to});
    const std::uint32_t work = add_work(done, rank_, to, 0);
    const Work& of = works_[work];
    const When arrival{of.begin_ns + of.latency_ns, work, true};
    return sent == data_arrival_.end() ? arrival : later(sent->second, arrival);
  }

  // -------------------------------------------------------------------------------------------
  // Messages

  std::uint32_t add_work(const When& start, std::uint32_t from, std::uint32_t to,
                         std::uint64_t bytes) {
    std::string why;
    const auto time = message_time(cluster_, from, to, static_cast<std::int64_t>(bytes), {}, &why);
    if (!time) throw Untimed{why};
    Work work;
    work.node = node_;
    work.round = static_cast<std::uint32_t>(now_->round);
    work.from = from;
    work.to = to;
    work.bytes = bytes;
    work.begin_ns = start.ns;
    work.latency_ns = time->latency_ns;
    work.busy_ns = time->transfer_ns;
    work.start = start;
    work.cause = now_->cause;
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / 4;
    if (start.ns > kMax || work.latency_ns > kMax || work.busy_ns > kMax) {
      throw Untimed{"the times leave 64 bits"};
    }
    work.flow_ns = work.begin_ns + work.latency_ns;
    works_.push_back(work);
    return static_cast<std::uint32_t>(works_.size() - 1);
  }

  When work_here(const When& start, std::uint64_t bytes) {
    const std::uint32_t work = add_work(start, rank_, rank_, bytes);
    Work& of = works_[work];
    of.busy_ns += of.latency_ns;
    of.latency_ns = 0;
    const When done{of.begin_ns + of.busy_ns, work, false};
    arrived_ = later(arrived_, done);
    return done;
  }

  Port& port(std::vector<Port>& ports, std::uint32_t rank, std::uint32_t link) {
    return ports[std::size_t{rank} * cluster_.links.size() + link];
  }

  // Sends a message and returns when its senders are done. Through a switch, a message can have
  // several senders or receivers.
  When send(When start, const std::vector<std::uint32_t>& from,
            const std::vector<std::uint32_t>& to, std::uint64_t bytes) {
    ++messages_;
    const auto link = cluster_.path(from.front(), to.front());
    AlgoCause cause = now_->cause;
    if (link) {
      for (const std::uint32_t rank : from) {
        const When& free = port(sends_, rank, *link).free;
        if (free.ns > start.ns) {
          start = free;
          cause = AlgoCause::kPort;
        }
      }
    }
    const std::uint32_t number = add_work(start, from.front(), to.front(), bytes);
    Work& work = works_[number];
    work.cause = cause;
    for (const std::uint32_t rank : to) {
      const When& free = port(receives_, rank, *link).free;
      if (free.ns > work.flow_ns) {
        work.flow_ns = free.ns;
        work.receive = free;
      }
    }
    const When sent{work.begin_ns + work.busy_ns, number, false};
    const When arrival{work.flow_ns + work.busy_ns, number, true};
    for (const std::uint32_t rank : from) use(port(sends_, rank, *link), sent, work);
    for (const std::uint32_t rank : to) {
      use(port(receives_, rank, *link), arrival, work);
      if (xml_) continue;
      When& last = data_arrival_[{rank_, rank}];
      last = later(last, arrival);
    }
    arrived_ = later(arrived_, arrival);
    return sent;
  }

  static void use(Port& port, const When& until, const Work& work) {
    port.free = until;
    port.bytes += work.bytes;
    port.busy_ns += work.busy_ns;
  }

  // -------------------------------------------------------------------------------------------
  // Results

  // Returns the critical path, traced back from the end through the cause of each time.
  std::vector<AlgoPathPart> path() const {
    std::vector<AlgoPathPart> parts;
    When at = end_;
    while (at.work != kNoWork) {
      const Work& work = works_[at.work];
      AlgoPathPart part;
      const AlgoNetworkBlock& block = network_.blocks[network_.nodes[work.node].block];
      part.rank = block.rank;
      part.block = block.block;
      part.step = network_.nodes[work.node].step;
      part.round = work.round;
      part.from = work.from;
      part.to = work.to;
      const auto link =
          work.from == work.to ? cluster_.device_link : cluster_.path(work.from, work.to);
      part.over_link = link.has_value();
      part.link = link.value_or(0);
      part.bytes = work.bytes;
      part.busy_ns = work.busy_ns;
      part.begin_ns = work.begin_ns;
      part.cause = work.cause;
      const bool queued = at.arrival && work.flow_ns > work.begin_ns + work.latency_ns;
      if (queued) {
        part.begin_ns = work.flow_ns;
        part.cause = AlgoCause::kPort;
      } else if (at.arrival) {
        part.latency_ns = work.latency_ns;
      }
      at = queued ? work.receive : work.start;
      parts.push_back(part);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  void find_busiest(AlgoTiming& timing) const {
    for (const bool receives : {false, true}) {
      const std::vector<Port>& ports = receives ? receives_ : sends_;
      for (std::size_t i = 0; i < ports.size(); ++i) {
        if (ports[i].busy_ns == 0) continue;
        if (timing.busiest && ports[i].busy_ns <= timing.busiest->busy_ns) continue;
        timing.busiest = {static_cast<std::uint32_t>(i / cluster_.links.size()),
                          static_cast<std::uint32_t>(i % cluster_.links.size()), receives,
                          ports[i].bytes, ports[i].busy_ns};
      }
    }
  }

  const CollectiveAlgorithm& algorithm_;
  const AlgoNetwork& network_;
  const Cluster& cluster_;
  const std::uint32_t slots_;
  const bool xml_;
  const std::uint64_t chunk_bytes_;
  const std::uint64_t piece_bytes_;  // bytes of a chunk in one round
  std::uint64_t rounds_ = 1;
  std::vector<std::vector<When>> posted_;  // times of the raises, per counter
  std::vector<std::uint64_t> taken_;       // number of takes, per contested counter
  std::vector<std::uint64_t> posts_per_round_;
  std::vector<std::uint32_t> first_waiter_;  // list of waiting blocks, per counter
  std::vector<std::uint32_t> next_waiter_;
  std::vector<std::uint32_t> woken_;
  std::vector<Block> blocks_;
  std::vector<When> node_done_;  // end of each node in the current round
  std::vector<Port> sends_;      // ports by rank and link
  std::vector<Port> receives_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, When> data_arrival_;
  std::vector<Work> works_;
  std::uint64_t messages_ = 0;
  When end_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  // State of the current node:
  Block* now_ = nullptr;
  const AlgoStep* step_ = nullptr;
  std::uint32_t node_ = 0;
  std::uint32_t rank_ = 0;
  std::uint32_t peer_ = kNoPeer;                  // MSCCL: receiver of the thread block's sends
  std::map<std::uint32_t, std::uint64_t> reads_;  // MSCCL++: number of cells per other rank
  std::map<std::uint32_t, std::uint64_t> writes_;
  When arrived_;  // arrival of its last message
};

// Returns the size of a chunk, rounded up as in NCCL.
std::uint64_t chunk_size(const CollectiveAlgorithm& algorithm, std::uint64_t bytes) {
  std::uint64_t chunks = algorithm.chunks_per_loop;
  for (const AlgoRank& rank : algorithm.ranks) {
    if (algorithm.chunks_per_loop != 0) break;
    chunks = std::max<std::uint64_t>({chunks, rank.input_chunks, rank.output_chunks});
  }
  chunks = std::max<std::uint64_t>(1, chunks);
  return bytes / chunks + (bytes % chunks != 0 ? 1 : 0);
}

}  // namespace

std::optional<AlgoTiming> time_algorithm(const CollectiveAlgorithm& algorithm,
                                         const Cluster& cluster, const AlgoTimingOptions& options,
                                         std::string& why) {
  AlgoNetworkOptions how;
  how.in_place = algorithm.in_place && !algorithm.out_of_place;
  how.chunks_per_slot = chunks_per_slot(algorithm, options.bytes);
  const AlgoNetwork network = build_network(algorithm, how);
  try {
    return Timer(algorithm, network, cluster, options, chunk_size(algorithm, options.bytes)).run();
  } catch (const Untimed& untimed) {
    why = untimed.why;
    return std::nullopt;
  }
}

Cluster usual_cluster(std::uint32_t ranks) {
  constexpr std::uint32_t kDevices = 8;
  Cluster cluster;
  cluster.devices = kDevices;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (rank % kDevices == 0) cluster.hosts.push_back("node" + std::to_string(rank / kDevices));
    cluster.host_of_rank.push_back(rank / kDevices);
    cluster.device_of_rank.push_back(rank % kDevices);
  }
  cluster.links.assign(known_links().begin(), known_links().end());
  for (std::uint32_t link = 0; link < cluster.links.size(); ++link) {
    const std::string& name = cluster.links[link].name;
    if (name == "device") cluster.device_link = link;
    if (name == "nvlink") cluster.inside_host = {link};
    if (name == "infiniband") cluster.between_hosts = {link};
  }
  return cluster;
}

void set_protocol_latencies(Cluster& cluster, AlgoProtocol protocol) {
  struct Latencies {
    std::string_view link;
    std::int64_t ll, ll128;
  };
  static constexpr std::array<Latencies, 4> kLatencies = {{{"nvlink", 600, 1'900},
                                                           {"pcie", 1'000, 2'500},
                                                           {"shared_memory", 1'000, 2'500},
                                                           {"infiniband", 2'700, 4'000}}};
  if (protocol == AlgoProtocol::kSimple) return;
  for (LinkClass& link : cluster.links) {
    for (const LinkClass& known : known_links()) {
      if (known.name != link.name || known.latency_ns != link.latency_ns) continue;
      for (const Latencies& of : kLatencies) {
        if (of.link != link.name) continue;
        link.latency_ns = protocol == AlgoProtocol::kLl ? of.ll : of.ll128;
      }
    }
  }
}

std::uint64_t bytes_with_flags(std::uint64_t bytes, AlgoProtocol protocol) {
  switch (protocol) {
    case AlgoProtocol::kSimple:
      return bytes;
    case AlgoProtocol::kLl:
      return 2 * bytes;
    case AlgoProtocol::kLl128:
      break;
  }
  return bytes + (bytes + 14) / 15;
}

std::optional<double> bus_bandwidth_factor(const CollectiveAlgorithm& algorithm) {
  const auto ranks = static_cast<double>(algorithm.ranks.size());
  switch (algorithm.collective) {
    case AlgoCollective::kAllReduce:
      return 2 * (ranks - 1) / ranks;
    case AlgoCollective::kAllGather:
    case AlgoCollective::kAllToAll:
    case AlgoCollective::kReduceScatter:
      return (ranks - 1) / ranks;
    case AlgoCollective::kOther:
      break;
  }
  return std::nullopt;
}

}  // namespace pipesim::models
