#include "features/diagnose/record_of_dumps.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "features/diagnose/collective_match.hpp"

namespace pipesim::models {
namespace {

struct DumpType {
  std::string_view name;  // name in the spelling of c10::toString
  const char* type;
  std::int64_t bytes;
};

constexpr std::array<DumpType, 12> kTypes = {{{"Float", "float32", 4},
                                              {"BFloat16", "bfloat16", 2},
                                              {"Half", "float16", 2},
                                              {"Double", "float64", 8},
                                              {"Long", "int64", 8},
                                              {"Int", "int32", 4},
                                              {"Short", "int16", 2},
                                              {"Char", "int8", 1},
                                              {"Byte", "uint8", 1},
                                              {"Bool", "bool", 1},
                                              {"Float8_e4m3fn", "float8_e4m3fn", 1},
                                              {"Float8_e5m2", "float8_e5m2", 1}}};

const DumpType* find_type(std::string_view name) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const DumpType& type) {
    return type.name == name || type.type == name;
  });
  return found == kTypes.end() ? nullptr : found;
}

// End marks of a call on tensors of several sizes. Dumps record such a call as its broadcasts or
// reduces, followed by the mark.
constexpr std::string_view kGathers = "ALLGATHER_coalesced";
constexpr std::string_view kReduces = "REDUCE_SCATTER_coalesced";

// Returns the bytes of tensors with `sizes`, or 0 on overflow, which a damaged file can cause.
std::int64_t bytes_of(const TensorSizes& sizes, const std::vector<OutsideText>& types) {
  const DumpType* type = types.empty() ? nullptr : find_type(types.front());
  std::int64_t bytes = 0;
  const bool fits =
      !__builtin_mul_overflow(elements(sizes), type == nullptr ? 4 : type->bytes, &bytes);
  return fits ? std::max<std::int64_t>(bytes, 0) : 0;
}

std::optional<Operation> operation_of(const RecordedCall& call, const RecordedOp& op) {
  if (op.message) return op.is_send() ? Operation::kSend : Operation::kReceive;
  if (op.name.find("barrier") != std::string::npos) return Operation::kBarrier;
  if (call.end_name == kGathers) return Operation::kAllGather;
  if (call.end_name == kReduces) return Operation::kReduceScatter;
  const auto found = op.operation();
  return found && *found < Operation::kSplit ? found : std::nullopt;
}

// The key that matches sends with recvs, in order: group, sender, receiver.
using DumpedEnds = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

DumpedEnds ends_of(const RecordedCall& call, const RecordedOp& op) {
  return {call.group, op.source, op.target};
}

class DumpWriter {
 public:
  explicit DumpWriter(const Evidence& evidence) : evidence_(evidence) {}

  DumpedRecord run();

 private:
  void find_common();
  bool is_common(const RecordedCall& call) const;
  void add_rank(std::uint32_t rank);
  void add_call(std::uint32_t rank, const RecordedCall& call);
  RecordEntry entry_of(const RecordedCall& call, const RecordedOp& op);
  void agree_on_sizes();
  std::uint32_t text(const std::string& text);
  std::uint32_t place(const std::string& at);

  const Evidence& evidence_;
  DumpedRecord result_;
  std::map<CollectiveKey, std::set<std::uint32_t>> called_;
  std::map<DumpedEnds, std::array<std::size_t, 2>> messages_;  // numbers of sends (0) and recvs (1)
  // Numbers of sends and recvs skipped so far: the oldest, if the other end recorded fewer.
  std::map<DumpedEnds, std::array<std::size_t, 2>> skipped_;
  std::map<std::string, std::uint32_t> texts_;
  std::map<RecordPlace, std::uint32_t> places_;
  std::set<std::pair<std::uint32_t, std::int64_t>> uneven_;  // calls: group, sequence number
  std::uint32_t batches_ = 0;
};

std::uint32_t DumpWriter::text(const std::string& text) {
  auto& texts = result_.record.texts;
  const auto [at, is_new] = texts_.emplace(text, static_cast<std::uint32_t>(texts.size()));
  if (is_new) texts.emplace_back(text);
  return at->second;
}

// Returns the index of a place such as "train.py:88 step", which it adds if it is new.
std::uint32_t DumpWriter::place(const std::string& at) {
  if (at.empty()) return kNotSaid;
  const std::size_t space = std::min(at.find(' '), at.size());
  RecordPlace found{at.substr(0, space), at.substr(std::min(space + 1, at.size())), ""};
  auto& places = result_.record.places;
  const auto [known, is_new] =
      places_.emplace(std::move(found), static_cast<std::uint32_t>(places.size()));
  if (is_new) places.push_back(known->first);
  return known->second;
}

void DumpWriter::find_common() {
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    for (const RecordedCall& call : evidence_.ranks[rank].calls) {
      if (!call.messages) called_[key_of(call)].insert(rank);
      for (const RecordedOp& op : call.ops) {
        if (op.message) ++messages_[ends_of(call, op)][op.is_send() ? 0 : 1];
      }
    }
  }
}

bool DumpWriter::is_common(const RecordedCall& call) const {
  const std::vector<std::uint32_t>& members = evidence_.groups[call.group].ranks;
  const auto& called = called_.at(key_of(call));
  return std::all_of(members.begin(), members.end(),
                     [&](std::uint32_t member) { return called.count(member) > 0; });
}

RecordEntry DumpWriter::entry_of(const RecordedCall& call, const RecordedOp& op) {
  RecordEntry entry;
  entry.kind = RecordEntry::Kind::kCall;
  entry.operation = *operation_of(call, op);
  entry.sync = true;
  entry.group = call.group;
  entry.number = static_cast<std::int64_t>(call.sequence);
  entry.place = place(call.at);
  entry.any_source = op.message && op.source == kAnyRank;
  if (op.message && !entry.any_source)
    entry.peer = entry.operation == Operation::kSend ? op.target : op.source;
  // Dumps do not name the root. Any rank is suitable as long as all members use it.
  if (has_root(entry.operation)) entry.peer = evidence_.groups[call.group].ranks.front();
  if (entry.operation == Operation::kBarrier) return entry;
  const bool gives = entry.operation != Operation::kReceive &&
                     entry.operation != Operation::kScatter && !op.input_sizes.empty();
  const std::vector<OutsideText>& types = gives ? op.input_types : op.output_types;
  entry.bytes = bytes_of(gives ? op.input_sizes : op.output_sizes, types);
  if (entry.operation == Operation::kScatter) {
    const auto members = static_cast<std::int64_t>(evidence_.groups[call.group].ranks.size());
    if (__builtin_mul_overflow(entry.bytes, members, &entry.bytes)) entry.bytes = 0;
  }
  if (!types.empty()) entry.type = text(type_of_dump(types.front()));
  return entry;
}

void DumpWriter::add_call(std::uint32_t rank, const RecordedCall& call) {
  std::vector<RecordEntry> made;
  for (const RecordedOp& op : call.ops) {
    if (!operation_of(call, op)) continue;
    if (op.message && op.source != op.target) {
      const DumpedEnds ends = ends_of(call, op);
      const std::size_t end = op.is_send() ? 0 : 1;
      const auto& counts = messages_.at(ends);
      std::size_t& skipped = skipped_[ends].at(end);
      if (counts.at(end) - skipped > std::min(counts[0], counts[1])) {
        ++skipped;
        ++result_.left_out;
        continue;
      }
    }
    made.push_back(entry_of(call, op));
    if (call.end_name != kGathers && call.end_name != kReduces) continue;
    uneven_.emplace(call.group, static_cast<std::int64_t>(call.sequence));
    break;
  }
  if (made.size() > 1) {
    for (RecordEntry& entry : made) entry.batch = batches_;
    ++batches_;
  } else if (call.coalesced && !made.empty() && !is_collective(made.front().operation)) {
    made.front().batch = batches_++;  // a batch of one also runs on the communicator of the group
  }
  auto& entries = result_.record.ranks[rank].entries;
  for (RecordEntry& entry : made) entries.push_back(std::move(entry));
}

void DumpWriter::add_rank(std::uint32_t rank) {
  RankRecord& own = result_.record.ranks[rank];
  own.streams.push_back({"compute", 0});
  own.end.kind = RecordEnd::Kind::kFinished;
  for (const RecordedCall& call : evidence_.ranks[rank].calls) {
    if (!call.messages && !is_common(call)) {
      ++result_.left_out;
      continue;
    }
    add_call(rank, call);
  }
}

// Gives all members of a call the largest size if sizes can differ between members (all_to_all,
// scatter, tensors of several sizes). The sizes need no check, because a completed call certainly
// matched.
void DumpWriter::agree_on_sizes() {
  using Key = std::tuple<std::uint32_t, std::int64_t, Operation>;
  std::map<Key, std::int64_t> largest;
  const auto for_all = [&](const auto& action) {
    for (RankRecord& rank : result_.record.ranks) {
      for (RecordEntry& entry : rank.entries) {
        const Key key{entry.group, entry.number, entry.operation};
        const bool varies = entry.operation == Operation::kAllToAll ||
                            entry.operation == Operation::kScatter ||
                            uneven_.count({entry.group, entry.number}) > 0;
        if (varies) action(entry, largest[key]);
      }
    }
  };
  for_all([](const RecordEntry& entry, std::int64_t& most) { most = std::max(most, entry.bytes); });
  for_all([](RecordEntry& entry, std::int64_t most) { entry.bytes = most; });
}

DumpedRecord DumpWriter::run() {
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    if (!evidence_.ranks[rank].has_dump) result_.absent.push_back(rank);
  }
  if (!result_.absent.empty()) return std::move(result_);
  Record& record = result_.record;
  record.backend = "nccl";
  record.waits_assumed = true;
  for (const EvidenceGroup& group : evidence_.groups) {
    record.groups.push_back({group.name, group.ranks, group.description});
    record.groups.back().nccl = true;
  }
  record.ranks.resize(evidence_.ranks.size());
  find_common();
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) add_rank(rank);
  agree_on_sizes();
  return std::move(result_);
}

}  // namespace

std::string type_of_dump(std::string_view name) {
  const DumpType* type = find_type(name);
  return type == nullptr ? std::string(name) : type->type;
}

DumpedRecord record_of_dumps(const Evidence& evidence) { return DumpWriter(evidence).run(); }

}  // namespace pipesim::models
