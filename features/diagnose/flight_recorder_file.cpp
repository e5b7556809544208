// Reads the schema of torch/csrc/distributed/c10d/FlightRecorder*.hpp. JSON has some numbers as
// strings, pickles do not, and builds omit different fields. So a number may be a string, and
// optional fields may be missing.
#include "features/diagnose/flight_recorder_file.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "formats/document/json_reader.hpp"
#include "models/graph/whole_number.hpp"

#include "features/diagnose/pickle.hpp"

namespace pipesim::formats {
namespace {

using models::Diagnostics;
using models::Evidence;
using models::RecordedCall;

constexpr const char* kHint =
    "dumps of the Flight Recorder are what PyTorch writes on a timeout (TORCH_FR_DUMP_TEMP_FILE), "
    "as JSON or pickled";

// Maximum numbers of tensors, dimensions and frames per entry, and of entries per dump. They keep a
// damaged file from filling memory.
constexpr std::size_t kMaxTensors = 4096;
constexpr std::size_t kMaxDimensions = 64;
constexpr std::size_t kMaxDumpFrames = 256;
constexpr std::size_t kMaxEntries = 1'000'000;
// A pickle holds a string once, however often it is used. Copies of such strings may take at most
// twice the size of the file plus this many bytes. Names of groups and types are short.
constexpr std::size_t kSharedText = std::size_t{1} << 20;

bool looks_like_json(const std::string& bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first == std::string::npos || bytes[first] == '{' || bytes[first] == '[';
}

// Exception for an invalid dump, caught in this file.
struct NoDump {
  NoDump(models::Place at, std::string says, models::Code of = models::Code::kDump)
      : place(at), message(std::move(says)), code(of) {}

  models::Place place;  // none in a pickle
  std::string message;
  models::Code code;
};

class DumpReader {
 public:
  DumpReader(const YamlDocument& document, std::size_t bytes)
      : root_(document.root()),
        was_read_(document.size(), false),
        max_shared_(kSharedText + 2 * bytes) {}

  FlightRecorderDump run() {
    if (!root_.find("version")) {
      throw NoDump({}, "not a Flight Recorder dump: it has no 'version'");
    }
    if (!root_.find("pg_config") && !root_.find("entries")) {
      throw NoDump({}, "not a Flight Recorder dump: it has neither 'pg_config' nor 'entries'");
    }
    where_ = "the dump";
    dump_.version = text(root_, "version");
    if (const auto rank = integral(root_, "rank")) {
      dump_.rank = rank_number(*root_.find("rank"), *rank);
    }
    read_groups();
    read_status();
    read_entries();
    return std::move(dump_);
  }

  bool has_rank() const { return root_.find("rank").has_value(); }

 private:
  // Returns a copy of a string. Counts repeated copies.
  models::OutsideText copy(const YamlValue& value) {
    if (was_read_[value.number()]) share(value, value.text().size());
    was_read_[value.number()] = true;
    return value.text();
  }

  // Counts another copy of a string that the file has once. Throws if copies take too much memory.
  void share(const YamlValue& value, std::size_t size) {
    shared_ += size;
    if (shared_ <= max_shared_) return;
    throw NoDump(value.place(),
                 fmt::format("the entries of a dump share texts of at most twice its size, and "
                             "these are more from {} on: such a dump is damaged, or made to fill "
                             "memory",
                             where_),
                 models::Code::kLimit);
  }

  [[noreturn]] void must(const YamlValue& value, std::string_view key, const char* expected) const {
    throw NoDump(value.place(), fmt::format("'{}' of {} must {}", key, where_, expected));
  }

  // Returns the value of a key; nullopt if it is missing or null.
  static std::optional<YamlValue> find(const YamlValue& map, std::string_view key) {
    const auto found = map.find(key);
    return found && !found->is_null() ? found : std::nullopt;
  }

  // Returns a view of the string at `key`; empty if it is missing.
  std::string_view view(const YamlValue& map, std::string_view key) const {
    const auto found = find(map, key);
    if (!found) return {};
    if (!found->is_text()) must(*found, key, "be a string");
    return found->text();
  }

  // Returns a copy of the string or integer at `key`; empty if it is missing.
  models::OutsideText text(const YamlValue& map, std::string_view key) {
    const auto found = find(map, key);
    if (!found) return {};
    if (!found->is_text() && !found->integer<std::int64_t>()) must(*found, key, "be a string");
    return copy(*found);
  }

  std::optional<std::int64_t> integral(const YamlValue& map, std::string_view key) const {
    const auto found = find(map, key);
    if (!found) return std::nullopt;
    const auto value = models::whole_number<std::int64_t>(found->text());
    if (!value) must(*found, key, "be an integer");
    return value;
  }

  std::uint64_t natural(const YamlValue& map, std::string_view key) const {
    const std::int64_t value = integral(map, key).value_or(0);
    if (value < 0) must(*map.find(key), key, "not be negative");
    return static_cast<std::uint64_t>(value);
  }

  static bool truth(const YamlValue& map, std::string_view key) {
    const auto found = map.find(key);
    return found &&
           (found->truth().value_or(false) || found->integer<std::int64_t>().value_or(0) != 0);
  }

  std::uint32_t rank_number(const YamlValue& value, std::int64_t rank) const {
    if (rank >= 0 && rank < models::kMaxEvidenceRanks) return static_cast<std::uint32_t>(rank);
    throw NoDump(value.place(), fmt::format("{} has rank {}: ranks go from 0 to {}", where_, rank,
                                            models::kMaxEvidenceRanks - 1));
  }

  std::vector<std::uint32_t> rank_list(const YamlValue& map);
  void read_groups();
  void read_status();
  void read_entries();
  void read_entry(const YamlValue& at);
  void read_name(const YamlValue& value, FlightRecorderDump::Entry& entry);
  models::TensorSizes sizes(const YamlValue& entry, std::string_view key) const;
  std::vector<models::OutsideText> types(const YamlValue& entry, std::string_view key);
  std::string place(const YamlValue& entry) const;

  YamlValue root_;
  std::string where_;  // location for messages
  std::vector<bool> was_read_;
  std::size_t shared_ = 0;  // bytes of repeated copies
  std::size_t max_shared_;
  FlightRecorderDump dump_;
};

// Reads ranks from the string "[0, 1, 2]" or from a list.
std::vector<std::uint32_t> DumpReader::rank_list(const YamlValue& map) {
  std::set<std::uint32_t> ranks;
  const auto found = find(map, "ranks");
  if (!found) return {};
  if (found->is_list()) {
    found->for_each_item([&](const YamlValue& item) {
      const auto rank = item.integer<std::int64_t>();
      if (!rank) must(item, "ranks", "be integers");
      ranks.insert(rank_number(item, *rank));
    });
    return {ranks.begin(), ranks.end()};
  }
  const std::string_view list = found->text();
  constexpr std::string_view kBetween = "[](), ";
  for (std::size_t begin = list.find_first_not_of(kBetween); begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(kBetween, begin), list.size());
    const auto rank = models::whole_number<std::int64_t>(list.substr(begin, end - begin));
    if (!rank) must(*found, "ranks", "be integers");
    ranks.insert(rank_number(*found, *rank));
    begin = list.find_first_not_of(kBetween, end);
  }
  return {ranks.begin(), ranks.end()};
}

void DumpReader::read_groups() {
  const auto config = root_.find("pg_config");
  if (!config) return;
  config->for_each_entry([&](const YamlValue::Entry& entry) {
    if (!entry.key.is_text() || !entry.value.is_map()) {
      throw NoDump(entry.key.place(), "'pg_config' must be a map from group names to maps");
    }
    FlightRecorderDump::Group group;
    group.name = copy(entry.key);
    where_ = fmt::format("group '{}'", group.name);
    group.description = text(entry.value, "desc");
    dump_.of_gloo = dump_.of_gloo || group.name.empty();
    group.ranks = rank_list(entry.value);
    dump_.groups.push_back(std::move(group));
  });
}

void DumpReader::read_status() {
  const auto status = root_.find("pg_status");
  if (!status) return;
  status->for_each_entry([&](const YamlValue::Entry& entry) {
    const auto id = models::whole_number<std::int64_t>(entry.key.text());
    if (!id || !entry.value.is_map()) {
      throw NoDump(entry.key.place(), "'pg_status' must be a map from group ids to maps");
    }
    where_ = fmt::format("the status of group {}", *id);
    models::GroupProgress progress;
    progress.called = integral(entry.value, "last_enqueued_collective").value_or(-1);
    progress.started = integral(entry.value, "last_started_collective").value_or(-1);
    progress.completed = integral(entry.value, "last_completed_collective").value_or(-1);
    dump_.status[*id] = progress;
  });
}

models::TensorSizes DumpReader::sizes(const YamlValue& entry, std::string_view key) const {
  constexpr const char* kExpected = "be lists of integers";
  models::TensorSizes result;
  const auto found = entry.find(key);
  if (!found || !found->is_list()) return result;
  found->for_each_item([&](const YamlValue& tensor) {
    if (result.size() == kMaxTensors) return;
    if (!tensor.is_list()) must(tensor, key, kExpected);
    std::vector<std::int64_t>& dimensions = result.emplace_back();
    tensor.for_each_item([&](const YamlValue& item) {
      const auto size = item.integer<std::int64_t>();
      if (!size) must(item, key, kExpected);
      if (dimensions.size() < kMaxDimensions) dimensions.push_back(*size);
    });
  });
  return result;
}

std::vector<models::OutsideText> DumpReader::types(const YamlValue& entry, std::string_view key) {
  std::vector<models::OutsideText> result;
  const auto found = entry.find(key);
  if (!found) return result;
  if (found->is_text() && !found->text().empty()) result.push_back(copy(*found));
  found->for_each_item([&](const YamlValue& type) {
    if (result.size() < kMaxTensors && type.is_text()) result.push_back(copy(type));
  });
  return result;
}

// Returns the innermost frame outside of PyTorch: "train.py:88 step". If all frames are in PyTorch,
// returns the innermost frame.
std::string DumpReader::place(const YamlValue& entry) const {
  const auto frames = entry.find("frames");
  if (!frames || !frames->is_list()) return {};
  std::string innermost;
  std::size_t count = 0;
  for (const YamlValue& frame : frames->items()) {
    if (++count > kMaxDumpFrames || !frame.is_map()) break;
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

// Reads "nccl:all_reduce", "nccl:send 1->2", "nccl:recv 3<-0" or, for any source, "nccl:recv 3<-?".
void DumpReader::read_name(const YamlValue& value, FlightRecorderDump::Entry& entry) {
  std::string_view name = value.text();
  dump_.of_gloo = dump_.of_gloo || name.starts_with("gloo:");
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
  // `peer` is empty if there is no arrow.
  const std::string_view peer =
      ends.substr(arrow == std::string_view::npos ? ends.size() : arrow + 2);
  const auto second = models::whole_number<std::int64_t>(peer);
  const bool from_any = !sends && peer == "?";
  if (!first || (!second && !from_any)) {
    throw NoDump(value.place(),
                 fmt::format("'profiling_name' of {} must say who sends to whom, as in 'nccl:send "
                             "1->2', found '{}'",
                             where_, value.text()));
  }
  entry.op.message = true;
  const std::uint32_t own = rank_number(value, *first);
  const std::uint32_t other = from_any ? models::kAnyRank : rank_number(value, *second);
  entry.local_source = sends ? own : other;
  entry.local_target = sends ? other : own;
}

void DumpReader::read_entry(const YamlValue& at) {
  if (!at.is_map()) throw NoDump(at.place(), fmt::format("{} must be a map", where_));
  FlightRecorderDump::Entry entry;
  entry.op.record = natural(at, "record_id");
  const auto group = at.find("process_group");
  if (!group || !group->is_list() || group->size() == 0) {
    throw NoDump(at.place(), fmt::format("{} has no 'process_group'", where_));
  }
  const std::vector<YamlValue> names = group->items();
  for (const YamlValue& name : names) {
    if (!name.is_text()) must(name, "process_group", "be strings");
  }
  entry.group = copy(names.front());
  if (names.size() > 1) entry.description = copy(names[1]);
  entry.group_id = integral(at, "pg_id").value_or(-1);
  if (view(at, "profiling_name").empty()) {
    throw NoDump(at.place(), fmt::format("{} has no 'profiling_name'", where_));
  }
  read_name(*at.find("profiling_name"), entry);
  entry.messages = truth(at, "is_p2p") || entry.op.message;
  // Uses the first of these keys that the dump has. Older dumps have only `seq_id`, which numbers
  // collectives, sends and recvs together.
  const char* key = entry.messages && at.find("p2p_seq_id") ? "p2p_seq_id"
                    : at.find("collective_seq_id")          ? "collective_seq_id"
                                                            : "seq_id";
  entry.sequence = natural(at, key);
  entry.op.input_sizes = sizes(at, "input_sizes");
  entry.op.output_sizes = sizes(at, "output_sizes");
  entry.op.input_types = types(at, "input_dtypes");
  entry.op.output_types = types(at, "output_dtypes");
  const std::string_view state = view(at, "state");
  const bool retired = truth(at, "retired");
  if (state == "completed" || retired) {
    entry.op.state = models::CallState::kCompleted;
    entry.over = state != "completed";
  } else if (state == "started") {
    entry.op.state = models::CallState::kStarted;
  } else if (state != "scheduled") {
    throw NoDump(at.find("state").value_or(at).place(),
                 fmt::format("'state' of {} must be scheduled, started or completed, found '{}'",
                             where_, state));
  }
  entry.at = place(at);
  share(at, entry.op.name.size() + entry.at.size());
  dump_.entries.push_back(std::move(entry));
}

void DumpReader::read_entries() {
  const auto entries = find(root_, "entries");
  if (!entries) return;
  if (!entries->is_list()) throw NoDump(entries->place(), "'entries' must be a list");
  if (entries->size() > kMaxEntries) {
    throw NoDump(
        {},
        fmt::format("a dump may have at most {} entries, found {}", kMaxEntries, entries->size()),
        models::Code::kLimit);
  }
  std::size_t number = 0;
  entries->for_each_item([&](const YamlValue& entry) {
    where_ = fmt::format("entry {}", ++number);
    read_entry(entry);
  });
  std::stable_sort(dump_.entries.begin(), dump_.entries.end(),
                   [](const auto& a, const auto& b) { return a.op.record < b.op.record; });
}

// Reads a dump as a document. `bytes` must outlive the document.
std::optional<YamlDocument> read_values(const std::string& bytes, Diagnostics& diagnostics) {
  if (bytes.size() > kMaxDumpBytes) {
    diagnostics
        .error({}, models::Code::kLimit,
               fmt::format("a dump can have at most {} MiB", kMaxDumpBytes >> 20))
        .notes.emplace_back(kHint);
    return std::nullopt;
  }
  constexpr JsonKind kKind = {"a Flight Recorder dump", models::Code::kDump, kHint};
  if (looks_like_json(bytes)) return read_json(bytes, kKind, diagnostics);
  PickleProblem problem;
  std::optional<YamlDocument> document = read_pickle(bytes, problem);
  if (!document) {
    diagnostics
        .error({}, models::Code::kPickle, fmt::format("byte {}: {}", problem.byte, problem.message))
        .notes.emplace_back(kHint);
  }
  return document;
}

/// Merges the dumps of a job into evidence.
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
  std::set<std::string> add_described_groups(const FlightRecorderDump& dump);
  void add_group(std::uint32_t rank, const std::string& name, const std::string& description,
                 const std::vector<std::uint32_t>& ranks, bool all_members);
  void add_gaps(const FlightRecorderDump& dump);
  void add(FlightRecorderDump& dump);
  void add_status(const FlightRecorderDump& dump, models::RankEvidence& rank);
  void place_ends(const FlightRecorderDump::Entry& entry, std::uint32_t group,
                  models::RecordedOp& op);
  static void extend(std::vector<RecordedCall>& calls, std::size_t at, models::RecordedOp op);
  std::uint32_t group_of(std::uint32_t rank, const std::string& name) const {
    return group_of_.at({rank, name});
  }

  std::vector<FlightRecorderDump> dumps_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> known_groups_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> group_of_;
  Evidence evidence_;
};

// Returns the name of an entry's group among the groups of its rank. Entries under
// TORCH_DISTRIBUTED_DEBUG=DETAIL do not name their group, and its id is local to the process.
std::string own_group(const FlightRecorderDump::Entry& entry) {
  return entry.group.empty() ? fmt::format("\n{}", entry.group_id) : std::string(entry.group);
}

// Finds the groups. Ranks may use one name for groups with different members, which are different
// groups. If no configuration describes a group, its members are at least the ranks that called
// something in it. Exceptions: a group without a name is not shared between ranks, because nothing
// shows that it is the same group, and the default group has all ranks. gloo's only configuration
// has no name, and lists the members of its latest group.
void Merger::find_groups() {
  struct Untold {
    std::string description;
    std::set<std::uint32_t> ranks;
  };
  std::map<std::string, Untold> untold;
  for (const FlightRecorderDump& dump : dumps_) {
    const std::set<std::string> told = add_described_groups(dump);
    for (const auto& entry : dump.entries) {
      const std::string name = own_group(entry);
      if (told.count(name) > 0) continue;
      if (entry.group.empty()) {
        add_group(dump.rank, name, entry.description, {dump.rank}, false);
        continue;
      }
      Untold& group = untold[name];
      group.description = entry.description;
      group.ranks.insert(dump.rank);
    }
  }
  for (auto& [name, group] : untold) {
    const std::set<std::uint32_t> callers = group.ranks;
    if (group.description == "default_pg") {
      for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) group.ranks.insert(rank);
    }
    for (const std::uint32_t rank : callers) {
      add_group(rank, name, group.description, {group.ranks.begin(), group.ranks.end()}, false);
    }
  }
}

// Adds the groups that the configuration of a dump describes. Returns their names.
std::set<std::string> Merger::add_described_groups(const FlightRecorderDump& dump) {
  std::set<std::string> used;
  for (const auto& entry : dump.entries) used.insert(own_group(entry));
  std::set<std::string> described;
  for (const auto& group : dump.groups) {
    if (group.ranks.empty() || group.name.empty()) continue;
    described.insert(group.name);
    // A rank that calls something in a group is a member.
    std::set<std::uint32_t> ranks(group.ranks.begin(), group.ranks.end());
    if (used.count(group.name) > 0) ranks.insert(dump.rank);
    add_group(dump.rank, group.name, group.description, {ranks.begin(), ranks.end()}, true);
  }
  return described;
}

void Merger::add_group(std::uint32_t rank, const std::string& name, const std::string& description,
                       const std::vector<std::uint32_t>& ranks, bool all_members) {
  const auto next = static_cast<std::uint32_t>(evidence_.groups.size());
  const auto [at, is_new] = known_groups_.emplace(std::pair(name, ranks), next);
  if (is_new) {
    const bool is_named = !name.starts_with('\n');
    evidence_.groups.push_back({is_named ? name : "", description, ranks, all_members});
  }
  group_of_.emplace(std::pair(rank, name), at->second);
}

// Adds a gap for each kind of call that the dumps do not record but that can block a rank.
void Merger::add_gaps(const FlightRecorderDump& dump) {
  // A rank that waits for the store or for a communicator has made no call.
  if (dump.entries.empty()) add_gap(evidence_, "a dump without calls shows nothing of its rank");
  if (dump.of_gloo) {
    add_gap(evidence_, "dumps of gloo record no sends, no recvs and no monitored_barrier");
  }
  const auto unnamed = std::find_if(dump.entries.begin(), dump.entries.end(),
                                    [](const auto& entry) { return entry.group.empty(); });
  if (unnamed != dump.entries.end()) {
    add_gap(evidence_,
            unnamed->group_id >= 0
                ? "with TORCH_DISTRIBUTED_DEBUG=DETAIL, dumps do not name groups, and record a "
                  "call only when all its ranks have come"
                : "the table of 'torchfrtrace -j' names no groups; that of 'torchfrtrace -j -v' "
                  "does");
  }
  std::map<std::string, bool> ends_over;  // whether the last call of each group is over
  for (const auto& entry : dump.entries) ends_over[own_group(entry)] = entry.over;
  const bool over = std::any_of(ends_over.begin(), ends_over.end(),
                                [](const auto& group) { return group.second; });
  if (over && !dump.of_gloo) {
    add_gap(evidence_, "the last calls are over, and the dumps do not show whether they failed");
  }
}

// Adds the counters of `pg_status`. Its group ids are local to the process, and only entries map
// ids to names. Ids and names both increase in creation order. So if there are equal numbers of ids
// and names, the k-th id has the k-th name. Uses this mapping if it agrees with all entries.
void Merger::add_status(const FlightRecorderDump& dump, models::RankEvidence& rank) {
  std::map<std::int64_t, std::string> name_of;
  for (const auto& entry : dump.entries) {
    if (entry.group_id >= 0) name_of.emplace(entry.group_id, own_group(entry));
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

// Adds the dump of one rank. Moves the entries out of `dump`, because they take most of the memory.
void Merger::add(FlightRecorderDump& dump) {
  models::RankEvidence& rank = evidence_.ranks[dump.rank];
  rank.has_dump = true;
  rank.source = dump.path;
  add_gaps(dump);
  const models::EvidencePlace place{static_cast<std::uint32_t>(evidence_.files.size()), 0};
  evidence_.files.emplace_back(dump.path);
  add_status(dump, rank);
  for (models::GroupProgress& progress : rank.progress) progress.place = place;
  std::map<std::uint32_t, std::size_t> last;  // index of the last call of each group
  for (FlightRecorderDump::Entry& entry : dump.entries) {
    const std::uint32_t group = group_of(dump.rank, own_group(entry));
    models::RecordedOp op = std::move(entry.op);
    if (op.message) place_ends(entry, group, op);
    std::vector<RecordedCall>& calls = evidence_.ranks[dump.rank].calls;
    const auto before = last.find(group);
    const bool same_number = before != last.end() &&
                             calls[before->second].messages == entry.messages &&
                             calls[before->second].sequence == entry.sequence;
    if (same_number && calls[before->second].end_name.empty()) {
      calls[before->second].over = calls[before->second].over || entry.over;
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
    call.over = entry.over;
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
  if (op.source != models::kAnyRank) grow(op.source);
  grow(op.target);
}

// Adds an op with the sequence number of call `at`, which means that the two are coalesced. Two of
// the end marks imply the names of the coalesced ops. Earlier ops with other names then stay in the
// call, and the ops of the mark become a new call.
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
  const std::optional<YamlDocument> document = read_values(bytes, diagnostics);
  if (!document) return std::nullopt;
  DumpReader reader(*document, bytes.size());
  try {
    FlightRecorderDump dump = reader.run();
    if (!reader.has_rank()) {
      if (!rank) {
        throw NoDump({}, "cannot tell the rank of this dump from its contents or its name");
      }
      dump.rank = *rank;
    }
    return dump;
  } catch (const NoDump& problem) {
    diagnostics.error(problem.place, problem.code, problem.message).notes.emplace_back(kHint);
    return std::nullopt;
  }
}

Evidence flight_recorder_evidence(std::vector<FlightRecorderDump> dumps) {
  return Merger(std::move(dumps)).run();
}

}  // namespace pipesim::formats
