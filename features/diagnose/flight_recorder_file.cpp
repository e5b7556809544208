// Reads the schema of torch/csrc/distributed/c10d/FlightRecorder*.hpp. JSON has some numbers as
// texts, pickles do not, and builds omit different fields. So a number may be a text, and optional
// fields may be missing.
#include "features/diagnose/flight_recorder_file.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "formats/document/json_text.hpp"
#include "formats/document/json_tree.hpp"
#include "formats/document/plain_tree.hpp"
#include "models/graph/whole_number.hpp"

#include "features/diagnose/pickle.hpp"

namespace pipesim::formats {
namespace {

using models::Diagnostics;
using models::Evidence;
using models::RecordedCall;
using Index = PlainTree::Index;
using Kind = PlainTree::Kind;

constexpr const char* kHint =
    "dumps of the Flight Recorder are what PyTorch writes on a timeout (TORCH_FR_DUMP_TEMP_FILE), "
    "as "
    "JSON or pickled";

// Limits of the tensors, dimensions and frames of an entry, and of the entries of a dump. They keep
// a damaged file from filling memory.
constexpr std::size_t kMaxTensors = 4096;
constexpr std::size_t kMaxDimensions = 64;
constexpr std::size_t kMaxDumpFrames = 256;
constexpr std::size_t kMaxEntries = 1'000'000;
// A pickle holds a text once, however often it is used. Copies of such texts may take at most twice
// the size of the file plus this many bytes. Names of groups and types are short.
constexpr std::size_t kSharedText = std::size_t{1} << 20;

bool looks_like_json(const std::string& bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first == std::string::npos || bytes[first] == '{' || bytes[first] == '[';
}

// Exception for an invalid dump, caught in this file.
class NoDump {
 public:
  explicit NoDump(std::string message, models::Code code = models::Code::kDump)
      : message_(std::move(message)), code_(code) {}
  models::Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
  models::Code code_;
};

class DumpReader {
 public:
  DumpReader(const PlainValue& value, std::size_t bytes)
      : tree_(value.tree),
        root_(value.root),
        was_read_(value.tree.size(), false),
        max_shared_(kSharedText + 2 * bytes) {}

  FlightRecorderDump run() {
    if (tree_.kind(root_) != Kind::kMap || !tree_.find(root_, "version")) {
      throw NoDump("not a Flight Recorder dump: it has no 'version'");
    }
    if (!tree_.find(root_, "pg_config") && !tree_.find(root_, "entries")) {
      throw NoDump("not a Flight Recorder dump: it has neither 'pg_config' nor 'entries'");
    }
    where_ = "the dump";
    dump_.version = text(root_, "version");
    if (const auto rank = integral(root_, "rank")) dump_.rank = rank_number(*rank);
    read_groups();
    read_status();
    read_entries();
    return std::move(dump_);
  }

  bool has_rank() const { return tree_.find(root_, "rank").has_value(); }

 private:
  // Returns a copy of a text.
  models::OutsideText text(Index value) {
    if (was_read_[value]) share(tree_.text(value).size());
    was_read_[value] = true;
    return std::string(tree_.text(value));
  }

  // Counts another copy of a text that the file has once.
  void share(std::size_t size) {
    shared_ += size;
    if (shared_ <= max_shared_) return;
    throw NoDump(fmt::format("the entries of a dump share texts of at most twice its size, and "
                             "these are more from {} on: such a dump is damaged, or made to fill "
                             "memory",
                             where_),
                 models::Code::kLimit);
  }

  // Returns a view of a text.
  std::string_view view(Index map, std::string_view key) const {
    const auto found = tree_.find(map, key);
    if (!found || tree_.kind(*found) == Kind::kNull) return {};
    if (tree_.kind(*found) == Kind::kText) return tree_.text(*found);
    throw NoDump(fmt::format("'{}' of {} must be a string", key, where_));
  }

  models::OutsideText text(Index map, std::string_view key) {
    const auto found = tree_.find(map, key);
    if (!found || tree_.kind(*found) == Kind::kNull) return {};
    if (tree_.kind(*found) == Kind::kText) return text(*found);
    if (tree_.kind(*found) == Kind::kInteger) return std::to_string(tree_.integer(*found));
    throw NoDump(fmt::format("'{}' of {} must be a string", key, where_));
  }

  std::optional<std::int64_t> integral(Index map, std::string_view key) const {
    const auto found = tree_.find(map, key);
    if (!found || tree_.kind(*found) == Kind::kNull) return std::nullopt;
    if (tree_.kind(*found) == Kind::kInteger) return tree_.integer(*found);
    if (tree_.kind(*found) == Kind::kText) {
      if (const auto value = models::whole_number<std::int64_t>(tree_.text(*found))) return value;
    }
    throw NoDump(fmt::format("'{}' of {} must be an integer", key, where_));
  }

  std::uint64_t natural(Index map, std::string_view key) const {
    const std::int64_t value = integral(map, key).value_or(0);
    if (value >= 0) return static_cast<std::uint64_t>(value);
    throw NoDump(fmt::format("'{}' of {} must not be negative", key, where_));
  }

  bool truth(Index map, std::string_view key) const {
    const auto found = tree_.find(map, key);
    if (!found) return false;
    if (tree_.kind(*found) == Kind::kTruth) return tree_.truth(*found);
    return tree_.kind(*found) == Kind::kInteger && tree_.integer(*found) != 0;
  }

  std::uint32_t rank_number(std::int64_t rank) const {
    if (rank >= 0 && rank < models::kMaxEvidenceRanks) return static_cast<std::uint32_t>(rank);
    throw NoDump(fmt::format("{} has rank {}: ranks go from 0 to {}", where_, rank,
                             models::kMaxEvidenceRanks - 1));
  }

  std::vector<std::uint32_t> rank_list(Index map);
  void read_groups();
  void read_status();
  void read_entries();
  void read_entry(Index at);
  void read_name(std::string_view whole, FlightRecorderDump::Entry& entry) const;
  models::TensorSizes sizes(Index entry, std::string_view key) const;
  std::vector<models::OutsideText> types(Index entry, std::string_view key);
  std::string place(Index entry) const;

  const PlainTree& tree_;
  Index root_;
  std::string where_;  // location for messages
  std::vector<bool> was_read_;
  std::size_t shared_ = 0;  // bytes of repeated copies
  std::size_t max_shared_;
  FlightRecorderDump dump_;
};

// Reads ranks from the text "[0, 1, 2]" or from a list.
std::vector<std::uint32_t> DumpReader::rank_list(Index map) {
  std::set<std::uint32_t> ranks;
  const auto found = tree_.find(map, "ranks");
  if (found && tree_.kind(*found) == Kind::kList) {
    for (const Index item : tree_.items(*found)) {
      if (tree_.kind(item) != Kind::kInteger) {
        throw NoDump(fmt::format("'ranks' of {} must be integers", where_));
      }
      ranks.insert(rank_number(tree_.integer(item)));
    }
  } else {
    const std::string list = text(map, "ranks");
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t begin = list.find_first_not_of("[](), ", at);
      if (begin == std::string::npos) break;
      at = std::min(list.find_first_of("[](), ", begin), list.size());
      const auto rank =
          models::whole_number<std::int64_t>(std::string_view(list).substr(begin, at - begin));
      if (!rank) throw NoDump(fmt::format("'ranks' of {} must be integers", where_));
      ranks.insert(rank_number(*rank));
    }
  }
  return {ranks.begin(), ranks.end()};
}

void DumpReader::read_groups() {
  const auto config = tree_.find(root_, "pg_config");
  if (!config || tree_.kind(*config) != Kind::kMap) return;
  const std::span<const Index> items = tree_.items(*config);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (tree_.kind(items[i]) != Kind::kText || tree_.kind(items[i + 1]) != Kind::kMap) {
      throw NoDump("'pg_config' must be a map from group names to maps");
    }
    FlightRecorderDump::Group group;
    group.name = text(items[i]);
    where_ = fmt::format("group '{}'", group.name);
    group.description = text(items[i + 1], "desc");
    group.ranks = rank_list(items[i + 1]);
    dump_.groups.push_back(std::move(group));
  }
}

void DumpReader::read_status() {
  const auto status = tree_.find(root_, "pg_status");
  if (!status || tree_.kind(*status) != Kind::kMap) return;
  const std::span<const Index> items = tree_.items(*status);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const bool text = tree_.kind(items[i]) == Kind::kText;
    const auto id = text ? models::whole_number<std::int64_t>(tree_.text(items[i]))
                    : tree_.kind(items[i]) == Kind::kInteger
                        ? std::optional(tree_.integer(items[i]))
                        : std::nullopt;
    if (!id || tree_.kind(items[i + 1]) != Kind::kMap) {
      throw NoDump("'pg_status' must be a map from group ids to maps");
    }
    where_ = fmt::format("the status of group {}", *id);
    models::GroupProgress progress;
    progress.called = integral(items[i + 1], "last_enqueued_collective").value_or(-1);
    progress.started = integral(items[i + 1], "last_started_collective").value_or(-1);
    progress.completed = integral(items[i + 1], "last_completed_collective").value_or(-1);
    dump_.status[*id] = progress;
  }
}

models::TensorSizes DumpReader::sizes(Index entry, std::string_view key) const {
  models::TensorSizes result;
  const auto found = tree_.find(entry, key);
  if (!found || tree_.kind(*found) != Kind::kList) return result;
  for (const Index tensor : tree_.items(*found)) {
    if (result.size() == kMaxTensors) break;
    std::vector<std::int64_t>& dimensions = result.emplace_back();
    if (tree_.kind(tensor) != Kind::kList) {
      throw NoDump(fmt::format("'{}' of {} must be lists of integers", key, where_));
    }
    for (const Index size : tree_.items(tensor)) {
      if (tree_.kind(size) != Kind::kInteger) {
        throw NoDump(fmt::format("'{}' of {} must be lists of integers", key, where_));
      }
      if (dimensions.size() < kMaxDimensions) dimensions.push_back(tree_.integer(size));
    }
  }
  return result;
}

std::vector<models::OutsideText> DumpReader::types(Index entry, std::string_view key) {
  std::vector<models::OutsideText> result;
  const auto found = tree_.find(entry, key);
  if (!found) return result;
  if (tree_.kind(*found) == Kind::kText && !tree_.text(*found).empty()) {
    result.push_back(text(*found));
  }
  if (tree_.kind(*found) != Kind::kList) return result;
  for (const Index type : tree_.items(*found)) {
    if (result.size() == kMaxTensors) break;
    if (tree_.kind(type) == Kind::kText) result.push_back(text(type));
  }
  return result;
}

// Returns the innermost frame outside of PyTorch, or else the innermost frame: "train.py:88 step".
std::string DumpReader::place(Index entry) const {
  const auto frames = tree_.find(entry, "frames");
  if (!frames || tree_.kind(*frames) != Kind::kList) return {};
  std::string innermost;
  std::size_t count = 0;
  for (const Index frame : tree_.items(*frames)) {
    if (++count > kMaxDumpFrames || tree_.kind(frame) != Kind::kMap) break;
    const std::string_view file = view(frame, "filename");
    const bool is_own = file.find("torch/") == std::string_view::npos;
    if (!is_own && !innermost.empty()) continue;
    std::string told = fmt::format("{}:{} {}", file.substr(file.rfind('/') + 1),
                                   integral(frame, "line").value_or(0), view(frame, "name"));
    if (is_own) return told;
    innermost = std::move(told);
  }
  return innermost;
}

// Reads "nccl:all_reduce", "nccl:send 1->2" or "nccl:recv 3<-0".
void DumpReader::read_name(std::string_view whole, FlightRecorderDump::Entry& entry) const {
  std::string_view name = whole;
  const std::size_t colon = name.find(':');
  if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
  const std::size_t space = std::min(name.find(' '), name.size());
  entry.op.name = name.substr(0, space);
  if (!entry.op.is_send() && !entry.op.is_receive()) return;
  const std::string_view ends = name.substr(std::min(space + 1, name.size()));
  const bool sends = entry.op.is_send();
  const std::size_t arrow = ends.find(sends ? "->" : "<-");
  const auto first =
      models::whole_number<std::int64_t>(ends.substr(0, std::min(arrow, ends.size())));
  // Without an arrow, there is no second number.
  const auto second = models::whole_number<std::int64_t>(
      ends.substr(arrow == std::string_view::npos ? ends.size() : arrow + 2));
  if (!first || !second) {
    throw NoDump(fmt::format(
        "'profiling_name' of {} must say who sends to whom, as in 'nccl:send 1->2', found '{}'",
        where_, whole));
  }
  entry.op.message = true;
  entry.local_source = rank_number(sends ? *first : *second);
  entry.local_target = rank_number(sends ? *second : *first);
}

void DumpReader::read_entry(Index at) {
  if (tree_.kind(at) != Kind::kMap) throw NoDump(fmt::format("{} must be a map", where_));
  FlightRecorderDump::Entry entry;
  entry.op.record = natural(at, "record_id");
  const auto group = tree_.find(at, "process_group");
  const bool named = group && tree_.kind(*group) == Kind::kList && !tree_.items(*group).empty();
  if (!named) throw NoDump(fmt::format("{} has no 'process_group'", where_));
  const std::span<const Index> names = tree_.items(*group);
  for (const Index name : names) {
    if (tree_.kind(name) != Kind::kText) {
      throw NoDump(fmt::format("'process_group' of {} must be strings", where_));
    }
  }
  entry.group = text(names.front());
  if (names.size() > 1) entry.description = text(names[1]);
  entry.group_id = integral(at, "pg_id").value_or(-1);
  const std::string_view name = view(at, "profiling_name");
  if (name.empty()) throw NoDump(fmt::format("{} has no 'profiling_name'", where_));
  read_name(name, entry);
  entry.messages = truth(at, "is_p2p") || entry.op.message;
  // Uses the first of these keys that the dump has. Older dumps have only `seq_id`, which numbers
  // collectives, sends and recvs together.
  const char* key = entry.messages && tree_.find(at, "p2p_seq_id") ? "p2p_seq_id"
                    : tree_.find(at, "collective_seq_id")          ? "collective_seq_id"
                                                                   : "seq_id";
  entry.sequence = natural(at, key);
  entry.op.input_sizes = sizes(at, "input_sizes");
  entry.op.output_sizes = sizes(at, "output_sizes");
  entry.op.input_types = types(at, "input_dtypes");
  entry.op.output_types = types(at, "output_dtypes");
  const std::string_view state = view(at, "state");
  if (state == "completed" || truth(at, "retired")) {
    entry.op.state = models::CallState::kCompleted;
  } else if (state == "started") {
    entry.op.state = models::CallState::kStarted;
  } else if (state != "scheduled") {
    throw NoDump(fmt::format("'state' of {} must be scheduled, started or completed, found '{}'",
                             where_, state));
  }
  entry.at = place(at);
  share(entry.op.name.size() + entry.at.size());
  dump_.entries.push_back(std::move(entry));
}

void DumpReader::read_entries() {
  const auto entries = tree_.find(root_, "entries");
  if (!entries || tree_.kind(*entries) == Kind::kNull) return;
  if (tree_.kind(*entries) != Kind::kList) throw NoDump("'entries' must be a list");
  const std::span<const Index> items = tree_.items(*entries);
  if (items.size() > kMaxEntries) {
    throw NoDump(
        fmt::format("a dump may have at most {} entries, found {}", kMaxEntries, items.size()),
        models::Code::kLimit);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    where_ = fmt::format("entry {}", i + 1);
    read_entry(items[i]);
  }
  std::stable_sort(dump_.entries.begin(), dump_.entries.end(),
                   [](const auto& a, const auto& b) { return a.op.record < b.op.record; });
}

std::optional<PlainValue> read_plain(const std::string& bytes, Diagnostics& diagnostics) {
  const auto refuse = [&](models::Place place, models::Code code, const std::string& message) {
    diagnostics.error(place, code, message).notes.emplace_back(kHint);
    return std::nullopt;
  };
  if (bytes.size() > kMaxDumpBytes) {
    return refuse({}, models::Code::kLimit,
                  fmt::format("a dump can have at most {} MiB", kMaxDumpBytes >> 20));
  }
  if (looks_like_json(bytes)) {
    JsonProblem problem;
    std::optional<JsonTree> json = read_json_tree(bytes, problem);
    if (json) return PlainValue{std::move(json->tree), json->root};
    if (!problem.limit.empty()) {
      return refuse(place_of_byte(bytes, problem.byte), models::Code::kLimit, problem.limit);
    }
    const std::size_t last = bytes.find_last_not_of(" \t\r\n");
    const bool ends = last == std::string::npos || problem.byte > last;
    return refuse(place_of_byte(bytes, problem.byte), models::Code::kDump,
                  ends ? "truncated dump: the file ends too early"
                       : "not a Flight Recorder dump: invalid JSON");
  }
  PlainProblem problem;
  std::optional<PlainValue> value = read_pickle(bytes, problem);
  if (!value) {
    return refuse({}, models::Code::kPickle,
                  fmt::format("byte {}: {}", problem.byte, problem.message));
  }
  return value;
}

/// Merges dumps.
class Merger {
 public:
  explicit Merger(std::vector<FlightRecorderDump> dumps) : dumps_(std::move(dumps)) {}

  Evidence run() {
    for (const FlightRecorderDump& dump : dumps_) {
      grow(dump.rank);
      for (const auto& group : dump.groups) {
        if (!group.ranks.empty()) grow(group.ranks.back());
      }
    }
    find_groups();
    for (FlightRecorderDump& dump : dumps_) add(dump);
    if (!dumps_.empty()) evidence_.format = "Flight Recorder " + dumps_.front().version;
    return std::move(evidence_);
  }

 private:
  void grow(std::uint32_t rank) {
    if (evidence_.ranks.size() <= rank) evidence_.ranks.resize(rank + 1);
  }
  void find_groups();
  void add(FlightRecorderDump& dump);
  void add_status(const FlightRecorderDump& dump, models::RankEvidence& rank);
  void place_ends(const FlightRecorderDump::Entry& entry, std::uint32_t group,
                  models::RecordedOp& op);
  static void extend(std::vector<RecordedCall>& calls, std::size_t at, models::RecordedOp op);
  std::uint32_t group_of(std::uint32_t rank, const std::string& name) const {
    return group_of_.at({rank, name});
  }

  std::vector<FlightRecorderDump> dumps_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> group_of_;
  Evidence evidence_;
};

// Finds the groups. Ranks may use one name for groups of different members; these are different
// groups. If no configuration describes a group, its members are the ranks that called something in
// it.
void Merger::find_groups() {
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> known;
  const auto add = [&](std::uint32_t rank, const std::string& name, const std::string& description,
                       const std::vector<std::uint32_t>& ranks) {
    const auto next = static_cast<std::uint32_t>(evidence_.groups.size());
    const auto [at, is_new] = known.emplace(std::pair(name, ranks), next);
    if (is_new) evidence_.groups.push_back({name, description, ranks});
    group_of_.emplace(std::pair(rank, name), at->second);
  };
  std::map<std::string, std::pair<std::string, std::set<std::uint32_t>>> untold;
  for (const FlightRecorderDump& dump : dumps_) {
    std::set<std::string> used;
    for (const auto& entry : dump.entries) used.insert(entry.group);
    std::set<std::string> told;
    for (const auto& group : dump.groups) {
      if (group.ranks.empty()) continue;
      told.insert(group.name);
      // A rank that calls something in a group is a member.
      std::set<std::uint32_t> ranks(group.ranks.begin(), group.ranks.end());
      if (used.count(group.name) > 0) ranks.insert(dump.rank);
      add(dump.rank, group.name, group.description, {ranks.begin(), ranks.end()});
    }
    for (const auto& entry : dump.entries) {
      if (told.count(entry.group) > 0) continue;
      auto& [description, ranks] = untold[entry.group];
      description = entry.description;
      ranks.insert(dump.rank);
    }
  }
  for (const auto& [name, group] : untold) {
    for (const std::uint32_t rank : group.second) {
      add(rank, name, group.first, {group.second.begin(), group.second.end()});
    }
  }
}

// Adds the counters of `pg_status`, whose group ids are local to the process. Only entries map ids
// to names. Ids and names both increase in creation order, so with equal numbers of ids and names,
// the k-th id has the k-th name. This mapping is used if it agrees with all entries.
void Merger::add_status(const FlightRecorderDump& dump, models::RankEvidence& rank) {
  std::map<std::int64_t, std::string> name_of;
  for (const auto& entry : dump.entries) {
    if (entry.group_id >= 0) name_of.emplace(entry.group_id, entry.group);
  }
  std::map<std::int64_t, std::string> by_number;
  for (const auto& group : dump.groups) {
    if (const auto number = models::whole_number<std::int64_t>(group.name))
      by_number.emplace(*number, group.name);
  }
  if (by_number.size() == dump.status.size() && by_number.size() == dump.groups.size()) {
    std::map<std::int64_t, std::string> in_order;
    auto name = by_number.begin();
    for (const auto& [id, progress] : dump.status) in_order.emplace(id, (name++)->second);
    const bool agrees = std::all_of(name_of.begin(), name_of.end(), [&](const auto& known) {
      const auto at = in_order.find(known.first);
      return at == in_order.end() || at->second == known.second;
    });
    if (agrees) name_of.insert(in_order.begin(), in_order.end());
  }
  for (const auto& [id, progress] : dump.status) {
    const auto name = name_of.find(id);
    if (name == name_of.end() || group_of_.count({dump.rank, name->second}) == 0) continue;
    rank.progress.push_back(progress);
    rank.progress.back().group = group_of(dump.rank, name->second);
  }
  std::sort(rank.progress.begin(), rank.progress.end(),
            [](const auto& a, const auto& b) { return a.group < b.group; });
}

// Adds the dump of one rank. Moves the entries out of `dump`: they take most of the memory.
void Merger::add(FlightRecorderDump& dump) {
  models::RankEvidence& rank = evidence_.ranks[dump.rank];
  rank.has_dump = true;
  rank.source = dump.path;
  const models::EvidencePlace place{static_cast<std::uint32_t>(evidence_.files.size()), 0};
  evidence_.files.emplace_back(dump.path);
  add_status(dump, rank);
  for (models::GroupProgress& progress : rank.progress) progress.place = place;
  std::map<std::uint32_t, std::size_t> last;  // index of the last call of each group
  for (FlightRecorderDump::Entry& entry : dump.entries) {
    const std::uint32_t group = group_of(dump.rank, entry.group);
    models::RecordedOp op = std::move(entry.op);
    if (op.message) place_ends(entry, group, op);
    std::vector<RecordedCall>& calls = evidence_.ranks[dump.rank].calls;
    const auto before = last.find(group);
    const bool same_number = before != last.end() &&
                             calls[before->second].messages == entry.messages &&
                             calls[before->second].sequence == entry.sequence;
    if (same_number && calls[before->second].end_name.empty()) {
      extend(calls, before->second, std::move(op));
      if (calls.back().group == group) before->second = calls.size() - 1;
      continue;
    }
    RecordedCall call;
    call.place = place;
    call.group = group;
    call.messages = entry.messages;
    call.sequence = entry.sequence;
    if (same_number) call.repeat = calls[before->second].repeat + 1;
    call.state = op.state;
    call.at = std::move(entry.at);
    call.last_record = op.record;
    call.ops.push_back(std::move(op));
    last[group] = calls.size();
    calls.push_back(std::move(call));
  }
  dump.entries = {};
}

// Converts the ends of a send or recv from ranks of the group to ranks of the job.
void Merger::place_ends(const FlightRecorderDump::Entry& entry, std::uint32_t group,
                        models::RecordedOp& op) {
  const std::vector<std::uint32_t>& members = evidence_.groups[group].ranks;
  const auto global = [&](std::uint32_t local) {
    return local < members.size() ? members[local] : local;
  };
  op.source = global(entry.local_source);
  op.target = global(entry.local_target);
  grow(std::max(op.source, op.target));
}

// Adds an op that shares the number of call `at`, because both are coalesced. Two of the end marks
// imply the names of the coalesced ops. Earlier ops with other names then stay in `call`, and the
// ops of the mark become a new call.
void Merger::extend(std::vector<RecordedCall>& calls, std::size_t at, models::RecordedOp op) {
  constexpr std::string_view kEnd = "coalesced";
  const bool ends = !op.message && op.name.ends_with(kEnd);
  RecordedCall& call = calls[at];
  call.coalesced = true;
  call.last_record = op.record;
  call.state = std::min(call.state, op.state);
  if (!ends) {
    call.ops.push_back(std::move(op));
    return;
  }
  call.end_name = op.name;
  call.state = op.state;
  const char* inner = op.name == "ALLGATHER_coalesced"        ? "_broadcast_oop"
                      : op.name == "REDUCE_SCATTER_coalesced" ? "_reduce_oop"
                                                              : nullptr;
  auto first = call.ops.end();
  while (first != call.ops.begin() && inner != nullptr && std::prev(first)->name == inner) --first;
  if (inner == nullptr || first == call.ops.begin() || first == call.ops.end()) return;
  RecordedCall own = call;
  own.ops.assign(first, call.ops.end());
  own.repeat = call.repeat + 1;
  call.ops.erase(first, call.ops.end());
  call.coalesced = call.ops.size() > 1;
  call.end_name = call.coalesced ? "coalesced" : "";
  call.state = call.ops.back().state;
  call.last_record = call.ops.back().record;
  calls.push_back(std::move(own));
}

}  // namespace

std::optional<std::uint32_t> rank_of_dump(const std::string& path) {
  std::string_view name = path;
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  for (const std::string_view ending : {".json", ".pickle", ".pkl"}) {
    const bool has =
        name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending;
    if (has) name.remove_suffix(ending.size());
  }
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::string_view digits = last == std::string_view::npos ? name : name.substr(last + 1);
  const auto rank = models::whole_number<std::int64_t>(digits);
  if (!rank || *rank >= models::kMaxEvidenceRanks) return std::nullopt;
  return static_cast<std::uint32_t>(*rank);
}

std::optional<FlightRecorderDump> read_flight_recorder(const std::string& bytes,
                                                       std::optional<std::uint32_t> rank,
                                                       Diagnostics& diagnostics) {
  const std::optional<PlainValue> value = read_plain(bytes, diagnostics);
  if (!value) return std::nullopt;
  DumpReader reader(*value, bytes.size());
  try {
    FlightRecorderDump dump = reader.run();
    if (!reader.has_rank()) {
      if (!rank) throw NoDump("cannot tell the rank of this dump from its contents or its name");
      dump.rank = *rank;
    }
    return dump;
  } catch (const NoDump& problem) {
    diagnostics.error({}, problem.code(), problem.message()).notes.emplace_back(kHint);
    return std::nullopt;
  }
}

Evidence flight_recorder_evidence(std::vector<FlightRecorderDump> dumps) {
  return Merger(std::move(dumps)).run();
}

}  // namespace pipesim::formats
