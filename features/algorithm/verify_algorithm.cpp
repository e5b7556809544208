#include "features/algorithm/verify_algorithm.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace pipesim::models {
namespace {

AlgoStepRef ref_of(const AlgoNetwork& network, std::uint32_t node) {
  const AlgoNode& of = network.nodes[node];
  const AlgoNetworkBlock& block = network.blocks[of.block];
  return {block.rank, block.block, of.step, of.launch};
}

FoundRace describe_race(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                        const AlgoRace& race) {
  return {ref_of(network, race.first), ref_of(network, race.second), race.first_writes,
          race.second_writes, describe_cell(algorithm, network.memory, race.cell)};
}

std::pair<AlgoStepRef, AlgoStepRef> steps_of(const FoundRace& race) {
  return {race.first, race.second};
}

class Verifier {
 public:
  Verifier(const CollectiveAlgorithm& algorithm, const VerifyOptions& options)
      : algorithm_(algorithm), options_(options), xml_(algorithm.format == AlgoFormat::kMscclXml) {}

  VerifyReport run() {
    report_.steps = algorithm_.step_count();
    report_.in_place_checked = algorithm_.in_place;
    report_.out_of_place_checked = algorithm_.out_of_place || !algorithm_.in_place;
    set_range();
    ask_hangs();
    if (completes_) {
      ask_left_over();
      for (const bool in_place : {false, true}) {
        const bool wanted = in_place ? report_.in_place_checked : report_.out_of_place_checked;
        if (wanted) ask_about_data(in_place);
      }
    }
    decide();
    return std::move(report_);
  }

 private:
  AlgoNetworkOptions network_options(std::uint32_t chunks_per_slot) const {
    AlgoNetworkOptions options;
    options.in_place = !report_.out_of_place_checked;
    options.chunks_per_slot = chunks_per_slot;
    return options;
  }

  void set_range() {
    report_.min_bytes = options_.bytes.value_or(algorithm_.min_bytes);
    report_.max_bytes = options_.bytes.value_or(algorithm_.max_bytes.value_or(kMaxUndeclaredBytes));
    report_.range_declared = algorithm_.max_bytes.has_value() || options_.bytes;
    if (xml_) report_.slots = options_.slots.value_or(protocol_slots(algorithm_.protocol));
    most_per_slot_ = chunks_per_slot(algorithm_, report_.min_bytes);
    least_per_slot_ = chunks_per_slot(algorithm_, report_.max_bytes);
  }

  std::uint32_t slots() const { return xml_ ? report_.slots : kUnlimitedSlots; }

  // -------------------------------------------------------------------------------------------
  // Hangs

  void ask_hangs() {
    const AlgoNetwork network = build_network(algorithm_, network_options(most_per_slot_));
    report_.uneven_barrier = network.uneven_barrier;
    AlgoRun free = run_network(network, kUnlimitedSlots);
    report_.steps_done = report_.steps;
    if (network.searched_only) {
      AlgoSearchResult found = search_orders(network, kUnlimitedSlots, options_.max_states);
      report_.searched = true;
      report_.states = found.states;
      if (found.found == AlgoSearch::kGaveUp) report_.hangs = AlgoAnswer::kUndecided;
      if (found.found == AlgoSearch::kHangs) free = std::move(found.hang);
    }
    if (network.uneven_barrier) report_.hangs = AlgoAnswer::kUndecided;
    if (!free.completed && report_.hangs != AlgoAnswer::kUndecided &&
        free.order.size() != network.node_count()) {
      hangs(network, free, kUnlimitedSlots);
      return;
    }
    completes_ = free.order.size() == network.node_count();
    if (!xml_ || !completes_) return;
    AlgoRun run = run_network(network, slots());
    report_.slots_needed = slots_needed(network);
    if (!run.completed) {
      hangs(network, run, slots());
      return;
    }
    look_for_large_messages();
  }

  void hangs(const AlgoNetwork& network, const AlgoRun& run, std::uint32_t slots) {
    report_.hangs = AlgoAnswer::kYes;
    report_.hang = explain_hang(algorithm_, network, run, slots);
    report_.steps_done = report_.hang->explanation.ops_done;
  }

  // Returns the smallest number of slots without a hang, by bisection: with more slots, a run gets
  // at least as far.
  static std::uint32_t slots_needed(const AlgoNetwork& network) {
    std::uint32_t low = 1;
    std::uint32_t high = 1;
    std::vector<std::uint32_t> posts(network.counters.size(), 0);
    for (const std::uint32_t counter : network.posts) ++posts[counter];
    for (const AlgoConnection& connection : network.connections) {
      high = std::max(high, posts[connection.filled]);
    }
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (run_network(network, middle).completed) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  // Searches larger messages for hangs. A larger message has fewer chunks per slot, so steps of
  // several chunks need more slots.
  void look_for_large_messages() {
    std::set<std::uint32_t> counts;
    for (const AlgoRank& rank : algorithm_.ranks) {
      for (const AlgoBlock& block : rank.blocks) {
        for (const AlgoStep& step : block.steps) {
          if (sends(step.kind) || receives(step.kind)) counts.insert(step.count);
        }
      }
    }
    if (counts.empty()) return;
    const auto pieces = [&](std::uint32_t per_slot) {
      std::vector<std::uint32_t> result;
      for (const std::uint32_t count : counts) result.push_back((count + per_slot - 1) / per_slot);
      return result;
    };
    const std::uint32_t first = std::min(*counts.rbegin(), most_per_slot_);
    const std::uint32_t last = options_.bytes ? least_per_slot_ : 1;
    for (std::uint32_t per_slot = first; per_slot-- > last;) {
      if (per_slot == 0 || pieces(per_slot) == pieces(per_slot + 1)) continue;
      const AlgoNetwork network = build_network(algorithm_, network_options(per_slot));
      const AlgoRun run = run_network(network, slots());
      if (run.completed) continue;
      report_.hangs_from = smallest_message(algorithm_, per_slot);
      report_.hang_chunks_per_slot = per_slot;
      if (per_slot >= least_per_slot_) hangs(network, run, slots());
      return;
    }
  }

  // -------------------------------------------------------------------------------------------
  // Messages and signals left over

  void ask_left_over() {
    const AlgoNetwork network = build_network(algorithm_, network_options(kMaxStepCount - 1));
    report_.left_over = AlgoAnswer::kNo;
    if (xml_) {
      for (const AlgoConnection& of : network.connections) compare(network, of);
    } else {
      count_signals(network);
    }
    if (!report_.left.empty()) report_.left_over = AlgoAnswer::kYes;
  }

  void compare(const AlgoNetwork& network, const AlgoConnection& of) {
    const auto step_at = [&](std::uint32_t block, std::uint32_t step) {
      return AlgoStepRef{network.blocks[block].rank, network.blocks[block].block, step};
    };
    if (of.sent.size() != of.received.size()) {
      LeftOver left;
      left.from = of.from;
      left.to = of.to;
      left.channel = of.channel;
      left.sent = static_cast<std::uint32_t>(of.sent.size());
      left.taken = static_cast<std::uint32_t>(of.received.size());
      report_.left.push_back(left);
    }
    for (std::size_t i = 0; i < std::min(of.sent.size(), of.received.size()); ++i) {
      const AlgoStepRef sender = step_at(of.sender, of.sent[i]);
      const AlgoStepRef receiver = step_at(of.receiver, of.received[i]);
      if (step(sender).count == step(receiver).count) continue;
      LeftOver left;
      left.from = of.from;
      left.to = of.to;
      left.channel = of.channel;
      left.sent = step(sender).count;
      left.taken = step(receiver).count;
      left.sizes_differ = true;
      left.sender = sender;
      left.receiver = receiver;
      report_.left.push_back(left);
    }
  }

  const AlgoStep& step(const AlgoStepRef& ref) const {
    return algorithm_.ranks[ref.rank].blocks[ref.block].steps[ref.step];
  }

  void count_signals(const AlgoNetwork& network) {
    std::vector<std::uint32_t> raised(network.counters.size(), 0);
    std::vector<std::uint32_t> taken(network.counters.size(), 0);
    for (const std::uint32_t counter : network.posts) ++raised[counter];
    for (const AlgoNeed& need : network.needs) ++taken[need.counter];
    for (std::uint32_t i = 0; i < network.counters.size(); ++i) {
      const AlgoCounter& counter = network.counters[i];
      const bool counts =
          counter.kind == sim::WaitKind::kSignal || counter.kind == sim::WaitKind::kSemaphore;
      if (!counts || raised[i] == taken[i]) continue;
      LeftOver left;
      left.kind = counter.kind;
      left.from = counter.peer;
      left.to = counter.rank;
      left.channel = counter.kind == sim::WaitKind::kSemaphore || counter.channel == kNoAlgoIndex
                         ? counter.channel
                         : algorithm_.channels[counter.channel].number;
      left.sent = raised[i];
      left.taken = taken[i];
      report_.left.push_back(left);
    }
  }

  // -------------------------------------------------------------------------------------------
  // Data

  void ask_about_data(bool in_place) {
    AlgoNetworkOptions options;
    options.in_place = in_place;
    // The smallest pieces impose the least order. If sizes differ, small pieces may not match at
    // all; then whole steps are used.
    options.chunks_per_slot = least_per_slot_;
    AlgoNetwork network = build_network(algorithm_, options);
    AlgoRun run = run_network(network, kUnlimitedSlots);
    if (!run.completed) {
      options.chunks_per_slot = kMaxStepCount - 1;
      network = build_network(algorithm_, options);
      run = run_network(network, kUnlimitedSlots);
      if (!run.completed) return;
    }
    ask_races(network, run);
    if (!xml_) ask_launches(options);
    if (report_.races == AlgoAnswer::kYes) {
      report_.right_result = AlgoAnswer::kNotAsked;
      report_.same_bits = AlgoAnswer::kNotAsked;
      return;
    }
    ask_result(network, run, in_place);
  }

  void ask_races(const AlgoNetwork& network, const AlgoRun& run) {
    const std::vector<AlgoRace> races = find_races(network, run.order);
    if (report_.races == AlgoAnswer::kNotAsked) report_.races = AlgoAnswer::kNo;
    std::set<std::pair<std::uint32_t, std::uint32_t>> with_slots;
    if (!races.empty() && xml_) {
      AlgoRaceOptions ordered;
      ordered.slots = slots();
      // Only a run with slots shows the order that slots enforce.
      const AlgoRun limited = run_network(network, slots());
      if (limited.completed) {
        for (const AlgoRace& race : find_races(network, limited.order, ordered)) {
          with_slots.insert(std::minmax(race.first, race.second));
        }
      } else {
        for (const AlgoRace& race : races) with_slots.insert(std::minmax(race.first, race.second));
      }
    }
    for (const AlgoRace& race : races) {
      const bool remains = !xml_ || with_slots.count(std::minmax(race.first, race.second)) != 0;
      auto& list = remains ? report_.found_races : report_.ordered_by_slots;
      list.push_back(describe_race(algorithm_, network, race));
    }
    if (!report_.found_races.empty()) report_.races = AlgoAnswer::kYes;
    if (xml_ || !races.empty()) return;
    AlgoRaceOptions strict;
    strict.relaxed = false;
    strict.reads_after_writes_only = true;
    for (const AlgoRace& race : find_races(network, run.order, strict)) {
      report_.relaxed.push_back(describe_race(algorithm_, network, race));
    }
  }

  void ask_launches(AlgoNetworkOptions options) {
    if (report_.safe_launches != AlgoAnswer::kNotAsked) return;
    report_.launches = algorithm_.double_scratch ? 3 : 2;
    options.launches = report_.launches;
    const AlgoNetwork network = build_network(algorithm_, options);
    const AlgoRun run = run_network(network, kUnlimitedSlots);
    report_.safe_launches = AlgoAnswer::kYes;
    if (!run.completed) {
      report_.launches_hang = true;
      report_.safe_launches = network.searched_only ? AlgoAnswer::kUndecided : AlgoAnswer::kNo;
      return;
    }
    std::set<std::pair<AlgoStepRef, AlgoStepRef>> within;
    for (const FoundRace& race : report_.found_races) within.insert(steps_of(race));
    for (const AlgoRace& race : find_races(network, run.order)) {
      FoundRace found = describe_race(algorithm_, network, race);
      FoundRace alone = found;
      if (found.first.launch == found.second.launch && found.first.block != kNoAlgoIndex &&
          found.second.block != kNoAlgoIndex) {
        alone.first.launch = alone.second.launch = 0;
        if (within.count(steps_of(alone)) != 0) continue;
      }
      report_.launch_races.push_back(found);
    }
    if (!report_.launch_races.empty()) report_.safe_launches = AlgoAnswer::kNo;
  }

  void ask_result(const AlgoNetwork& network, const AlgoRun& run, bool in_place) {
    const AlgoValues values(algorithm_, network, run.order);
    if (values.unwritten_node() != kNoAlgoIndex && !report_.reads_unwritten) {
      const std::uint32_t cell = values.unwritten_cell();
      if (cell < network.memory.rank_begin.back()) {
        report_.reads_unwritten.emplace(ref_of(network, values.unwritten_node()),
                                        describe_cell(algorithm_, network.memory, cell));
      }
    }
    if (algorithm_.collective == AlgoCollective::kOther) return;
    if (report_.right_result == AlgoAnswer::kNotAsked) {
      report_.right_result = AlgoAnswer::kYes;
    }
    check_outputs(network, values, in_place);
    if (report_.wrong_count > 0) {
      report_.right_result = AlgoAnswer::kNo;
      report_.same_bits = AlgoAnswer::kNotAsked;
      return;
    }
    if (algorithm_.collective == AlgoCollective::kAllReduce) compare_ranks(network, values);
  }

  // The inputs whose sum belongs in output chunk `chunk` of `rank`: the same chunk of the `count`
  // ranks that begin with `first`.
  struct Expected {
    std::uint32_t first = 0, count = 0, chunk = 0;
  };

  Expected expected(const AlgoMemory& memory, std::uint32_t rank, std::uint32_t chunk) const {
    const auto ranks = static_cast<std::uint32_t>(algorithm_.ranks.size());
    switch (algorithm_.collective) {
      case AlgoCollective::kAllReduce:
        return {0, ranks, chunk};
      case AlgoCollective::kAllGather:
        return {chunk / memory.input_chunks, 1, chunk % memory.input_chunks};
      case AlgoCollective::kAllToAll: {
        const std::uint32_t each = memory.output_chunks / ranks;
        return {chunk / each, 1, rank * each + chunk % each};
      }
      case AlgoCollective::kReduceScatter:
        return {0, ranks, rank * memory.output_chunks + chunk};
      case AlgoCollective::kOther:
        break;
    }
    return {};
  }

  void check_outputs(const AlgoNetwork& network, const AlgoValues& values, bool in_place) {
    const AlgoMemory& memory = network.memory;
    // A cache for equal sums. By value and expectation: whether they match.
    std::map<std::tuple<AlgoValue, std::uint32_t, std::uint32_t>, bool> right;
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      for (std::uint32_t chunk = 0; chunk < memory.output_chunks; ++chunk) {
        const Expected wanted = expected(memory, rank, chunk);
        for (std::uint32_t part = 0; part < memory.parts; ++part) {
          const AlgoValue value =
              values.at(cell_of(algorithm_, memory, rank, AlgoBuffer::kOutput, chunk, part));
          const auto key = std::tuple(value, wanted.first, wanted.chunk * memory.parts + part);
          const auto known = right.find(key);
          if (known != right.end() && known->second) continue;
          WrongChunk wrong = compare(values.parts(value), wanted, part);
          const bool good = !wrong.unwritten && wrong.missing.empty() && wrong.foreign.empty() &&
                            wrong.repeated.empty();
          right[key] = good;
          if (good) continue;
          wrong.rank = rank;
          wrong.chunk = chunk;
          if (report_.wrong_count++ == 0) report_.in_place_result = in_place;
          constexpr std::size_t kMaxWrong = 100;
          if (report_.wrong.size() < kMaxWrong) report_.wrong.push_back(std::move(wrong));
          break;  // one wrong part is enough
        }
      }
    }
  }

  static WrongChunk compare(const AlgoValues::Parts& parts, const Expected& wanted,
                            std::uint32_t part) {
    constexpr std::size_t kMaxShown = 4;
    WrongChunk wrong;
    wrong.expected = wanted.count;
    wrong.unwritten = parts.unwritten;
    const auto add = [](std::vector<AlgoInput>& list, const AlgoInput& input) {
      if (list.size() < kMaxShown) list.push_back(input);
    };
    std::set<std::uint32_t> there;
    for (const auto& [input, times] : parts.inputs) {
      const bool belongs = input.rank >= wanted.first && input.rank < wanted.first + wanted.count &&
                           input.chunk == wanted.chunk && input.part == part;
      if (!belongs) {
        add(wrong.foreign, input);
      } else {
        there.insert(input.rank);
        if (times > 1) add(wrong.repeated, input);
      }
    }
    for (std::uint32_t rank = wanted.first; rank < wanted.first + wanted.count; ++rank) {
      if (there.count(rank) == 0) add(wrong.missing, {rank, wanted.chunk, part});
    }
    return wrong;
  }

  void compare_ranks(const AlgoNetwork& network, const AlgoValues& values) {
    constexpr std::size_t kMaxTree = 200;
    const AlgoMemory& memory = network.memory;
    if (report_.same_bits == AlgoAnswer::kNotAsked) report_.same_bits = AlgoAnswer::kYes;
    std::uint32_t chunks = 0;
    std::optional<DifferentSum> first;
    for (std::uint32_t chunk = 0; chunk < memory.output_chunks; ++chunk) {
      bool differs = false;
      for (std::uint32_t part = 0; part < memory.parts && !differs; ++part) {
        const auto value = [&](std::uint32_t rank) {
          return values.at(cell_of(algorithm_, memory, rank, AlgoBuffer::kOutput, chunk, part));
        };
        for (std::uint32_t rank = 1; rank < algorithm_.ranks.size() && !differs; ++rank) {
          if (value(rank) == value(0)) continue;
          differs = true;
          if (first) continue;
          first = DifferentSum{
              chunk, 0, rank, values.tree(value(0), kMaxTree), values.tree(value(rank), kMaxTree),
              0};
        }
      }
      if (differs) ++chunks;
    }
    if (!first || report_.difference) return;
    first->chunks = chunks;
    report_.difference = std::move(first);
    report_.same_bits = AlgoAnswer::kNo;
  }

  // -------------------------------------------------------------------------------------------

  void decide() {
    VerifyReport& of = report_;
    if (of.hangs == AlgoAnswer::kYes) {
      of.verdict = of.hangs_from ? AlgoVerdict::kHangsForLarge : AlgoVerdict::kDeadlock;
    } else if (of.left_over == AlgoAnswer::kYes) {
      of.verdict = AlgoVerdict::kUnbalanced;
    } else if (of.races == AlgoAnswer::kYes || !of.ordered_by_slots.empty()) {
      of.verdict = AlgoVerdict::kRace;
    } else if (of.right_result == AlgoAnswer::kNo || of.reads_unwritten) {
      of.verdict = AlgoVerdict::kWrongResult;
    } else if (of.same_bits == AlgoAnswer::kNo) {
      of.verdict = AlgoVerdict::kRanksDiffer;
    } else if (of.safe_launches == AlgoAnswer::kNo) {
      of.verdict = AlgoVerdict::kUnsafeLaunches;
    } else if (of.hangs == AlgoAnswer::kUndecided || of.safe_launches == AlgoAnswer::kUndecided ||
               algorithm_.collective == AlgoCollective::kOther) {
      of.verdict = AlgoVerdict::kUndecided;
    }
  }

  const CollectiveAlgorithm& algorithm_;
  const VerifyOptions& options_;
  const bool xml_;
  // Maximum and minimum number of chunks per slot, over the range of message sizes.
  std::uint32_t most_per_slot_ = 1, least_per_slot_ = 1;
  bool completes_ = false;  // whether it completes with unlimited slots
  VerifyReport report_;
};

}  // namespace

VerifyReport verify(const CollectiveAlgorithm& algorithm, const VerifyOptions& options) {
  return Verifier(algorithm, options).run();
}

}  // namespace pipesim::models
