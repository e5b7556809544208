// The reader of records. Each line is one object, and its first key gives the kind of line.
#include "features/record/record_reader.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "formats/document/json_reader.hpp"
#include "models/graph/whole_number.hpp"

#include "features/record/record_checks.hpp"
#include "features/record/record_line.hpp"

namespace pipesim::formats {
namespace {

using models::Diagnostics;
using models::kIncompleteBasis;
using models::kNotSaid;
using models::Operation;
using models::Place;
using models::RankRecord;
using models::Record;
using models::RecordEnd;
using models::RecordEntry;
using EntryKind = RecordEntry::Kind;

constexpr std::int64_t kMaxRecordRanks = 1 << 16;
// The largest integer that all JSON readers keep exact.
constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;
constexpr int kRecordVersion = 1;

// Exception for an invalid line, caught in this file. `key` is the key with the mistake.
struct BadLine {
  BadLine(std::string says, std::string what_helps, std::string at)
      : message(std::move(says)), help(std::move(what_helps)), key(std::move(at)) {}

  std::string message;
  std::string help;
  std::string key;
};

// A hash for maps with string keys, so that a lookup by a part of a line needs no copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using Ids = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

// Adds strings to Record::texts and returns their indices. Equal strings share an index.
class TextTable {
 public:
  explicit TextTable(std::vector<models::OutsideText>& texts) : texts_(texts) {}

  std::uint32_t number(std::string_view text) {
    const auto known = numbers_.find(text);
    if (known != numbers_.end()) return known->second;
    const auto next = static_cast<std::uint32_t>(texts_.size());
    numbers_.emplace(text, next);
    texts_.emplace_back(text);
    return next;
  }

 private:
  std::vector<models::OutsideText>& texts_;
  Ids numbers_;
};

// Checks the fields of one line. Reading a key checks its type; finish() reports keys that were
// never read.
class Fields {
 public:
  Fields() = default;
  explicit Fields(const YamlValue& object) {
    line_.read(object);
    start();
  }

  // Replaces the fields by those of another line. Returns false if the line is not plain; read()
  // then reads its document.
  bool read_plain(std::string_view line) {
    if (!line_.read_plain(line)) return false;
    start();
    return true;
  }
  void read(const YamlValue& object) {
    line_.read(object);
    start();
  }

  std::string_view head() const { return line_.fields().front().key; }

  bool has(std::string_view key) { return find(key) != nullptr; }

  const RecordField* find(std::string_view key) {
    asked_.push_back(key);
    return line_.find(key);
  }

  std::string_view text(std::string_view key,
                        std::optional<std::string_view> otherwise = std::string_view()) {
    const RecordField* const field = find(key);
    if (field == nullptr) return required(key, otherwise);
    if (field->kind != FieldKind::kText) must_be(key, "a string");
    return printable(field->text);
  }

  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max,
                       std::optional<std::int64_t> otherwise) {
    const RecordField* const field = find(key);
    if (field == nullptr) return required(key, otherwise);
    if (field->kind != FieldKind::kInteger) must_be_within(key, min, max);
    return checked(field->integer, key, min, max);
  }

  bool truth(std::string_view key) {
    const RecordField* const field = find(key);
    if (field == nullptr) return false;
    if (field->kind != FieldKind::kTrue && field->kind != FieldKind::kFalse) {
      must_be(key, "true or false");
    }
    return field->kind == FieldKind::kTrue;
  }

  // Reads a number or a list of numbers.
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t max) {
    const RecordField* const field = find(key);
    if (field == nullptr) return required(key, std::optional<std::vector<std::int64_t>>());
    if (field->kind == FieldKind::kInteger) return {checked(field->integer, key, 0, max)};
    std::vector<std::int64_t> result;
    if (field->kind == FieldKind::kIntegers) {
      result.assign(line_.integers().begin() + field->first, line_.integers().begin() + field->end);
      for (const std::int64_t each : result) checked(each, key, 0, max);
      return result;
    }
    if (field->kind != FieldKind::kOther || !field->value.is_list()) must_be_within(key, 0, max);
    result.reserve(field->value.size());
    field->value.for_each_item([&](const YamlValue& item) {
      const auto found = item.integer<std::int64_t>();
      if (!found) must_be_within(key, 0, max);
      result.push_back(checked(*found, key, 0, max));
    });
    return result;
  }

  // Reads a string or a list of strings.
  std::vector<std::string> texts(std::string_view key) {
    const RecordField* const field = find(key);
    if (field == nullptr) return required(key, std::optional<std::vector<std::string>>());
    if (field->kind == FieldKind::kText) return {std::string(printable(field->text))};
    std::vector<std::string> result;
    if (field->kind != FieldKind::kOther || !field->value.is_list()) {
      must_be(key, "a list of strings");
    }
    field->value.for_each_item([&](const YamlValue& item) {
      if (!item.is_text()) must_be(key, "a list of strings");
      result.emplace_back(printable(item.text()));
    });
    return result;
  }

  void finish() const {
    for (const RecordField& field : line_.fields()) {
      if (field.is_known) continue;
      const std::vector<std::string> known(asked_.begin(), asked_.end());
      const std::string nearest = models::nearest_name(field.key, known);
      throw BadLine(fmt::format("unknown key '{}'", models::printable(field.key)),
                    nearest.empty() ? "a newer pipesim may know it"
                                    : fmt::format("did you mean '{}'?", nearest),
                    std::string(field.key));
    }
  }

  [[noreturn]] void must_be(std::string_view key, const std::string& expected) const {
    throw BadLine(fmt::format("'{}' must be {}", key, expected), "", std::string(key));
  }

 private:
  using FieldKind = RecordField::Kind;

  void start() {
    asked_.clear();
    changed_.clear();
    find(head());
  }

  std::string_view printable(std::string_view text) {
    if (!models::has_control_characters(text)) return text;
    return changed_.emplace_back(models::printable(text));
  }

  template <typename T>
  T required(std::string_view key, std::optional<T> otherwise) const {
    if (otherwise) return std::move(*otherwise);
    throw BadLine(fmt::format("'{}' is missing", key), "", std::string(head()));
  }

  [[noreturn]] void must_be_within(std::string_view key, std::int64_t min, std::int64_t max) const {
    must_be(key, fmt::format("an integer from {} to {}", min, max));
  }

  std::int64_t checked(std::int64_t value, std::string_view key, std::int64_t min,
                       std::int64_t max) const {
    if (value < min || value > max) must_be_within(key, min, max);
    return value;
  }

  RecordLine line_;
  std::vector<std::string_view> asked_;
  std::deque<std::string> changed_;  // strings whose control characters were replaced
};

constexpr JsonKind kLineKind = {"a line of a record", models::Code::kRecordLine};

// Whether the document is an object with at least one key; reports an error if not.
bool is_object(const YamlDocument& document, Place place, Diagnostics& diagnostics) {
  if (document.root().is_map() && document.root().size() > 0) return true;
  diagnostics.error(place, models::Code::kRecordLine,
                    "expected a JSON object with at least one key");
  return false;
}

// Reports a mistake at its key in the line that begins at `place`.
void report(const BadLine& bad, const YamlValue& line, Place place, Diagnostics& diagnostics) {
  line.for_each_entry([&](const YamlValue::Entry& entry) {
    const Place key = entry.key.place();
    if (entry.key.text() == bad.key) place = {key.line, key.column, place.file};
  });
  models::Diagnostic& error = diagnostics.error(place, models::Code::kRecordLine, bad.message);
  if (!bad.help.empty()) error.notes.push_back(bad.help);
}

// Texts, frames, places and groups that the ranks of a record share.
class Job {
 public:
  explicit Job(Record& record) : record_(record), texts_(record.texts) {}

  std::uint32_t text(std::string_view text) { return texts_.number(text); }

  std::uint32_t frame(models::RecordFrame frame) {
    const auto next = static_cast<std::uint32_t>(record_.frames.size());
    const auto [at, is_new] = frames_.emplace(std::move(frame), next);
    if (is_new) {
      record_.frames.push_back(at->first);
      place_of_frame_.push_back(place(models::place_of_stack(record_.frames, next)));
    }
    return at->second;
  }

  std::uint32_t place_of(std::uint32_t frame) const {
    return frame == kNotSaid ? kNotSaid : place_of_frame_[frame];
  }

  // Returns the index of a group. `time`: how many groups with this name and these ranks the rank
  // has created before. A group that is created again after destroy_process_group is a new group
  // and numbers its calls from the start.
  std::uint32_t group(models::RecordGroup group, std::uint32_t time) {
    const auto next = static_cast<std::uint32_t>(record_.groups.size());
    const auto [at, is_new] =
        groups_.emplace(std::tuple(group.name, group.ranks, group.nccl, time), next);
    if (is_new) {
      record_.groups.push_back(std::move(group));
    } else {
      record_.groups[at->second].init_at_once =
          record_.groups[at->second].init_at_once || group.init_at_once;
    }
    return at->second;
  }

 private:
  std::uint32_t place(models::RecordPlace place) {
    const auto next = static_cast<std::uint32_t>(record_.places.size());
    const auto [at, is_new] = places_.emplace(std::move(place), next);
    if (is_new) record_.places.push_back(at->first);
    return at->second;
  }

  Record& record_;
  TextTable texts_;
  std::map<models::RecordPlace, std::uint32_t> places_;
  std::map<models::RecordFrame, std::uint32_t> frames_;
  std::vector<std::uint32_t> place_of_frame_;
  std::map<std::tuple<std::string, std::vector<std::uint32_t>, bool, std::uint32_t>, std::uint32_t>
      groups_;
};

// A set of numbers that are mostly inserted in ascending order.
class Works {
 public:
  // Returns false if the set already contains the number.
  bool insert(std::int64_t work) {
    if (ascending_.empty() || work > ascending_.back()) {
      ascending_.push_back(work);
      return true;
    }
    return !contains(work) && others_.insert(work).second;
  }
  bool contains(std::int64_t work) const {
    return std::binary_search(ascending_.begin(), ascending_.end(), work) ||
           (!others_.empty() && others_.count(work) > 0);
  }

 private:
  std::vector<std::int64_t> ascending_;
  std::unordered_set<std::int64_t> others_;
};

// Reads the file of one rank.
class RankReader {
 public:
  // `rank` comes from the file name.
  RankReader(std::uint32_t rank, std::uint32_t world, Record& record, Job& job, std::uint32_t file,
             Diagnostics& diagnostics)
      : number_(rank),
        world_(world),
        record_(record),
        job_(job),
        file_(file),
        diagnostics_(diagnostics) {
    rank_.streams.push_back({"compute", 0});
    streams_.emplace("", 0);
  }

  RankRecord run(const std::string& text);

 private:
  void read_line(std::string_view text);
  void read_header(Fields& fields);
  void read_definition(Fields& fields);
  void read_end(Fields& fields);
  void read_ask(Fields& fields);
  void read_group_entry(Fields& fields, RecordEntry& entry);
  void read_call(Fields& fields, RecordEntry& entry);
  void read_after(const RecordField& after, const Fields& fields, RecordEntry& entry);
  void read_data(Fields& fields, RecordEntry& entry);
  void read_splits(Fields& fields, RecordEntry& entry);
  void read_wait(Fields& fields, RecordEntry& entry);
  void read_host_wait(Fields& fields, RecordEntry& entry);
  bool read_store(Fields& fields, RecordEntry& entry);
  void read_entry(Fields& fields);
  void read_note(Fields& fields, RecordEntry& entry);

  std::uint32_t id(Fields& fields, std::string_view key, const Ids& ids, const char* what,
                   std::optional<std::uint32_t> otherwise = {}) {
    const std::string_view name = fields.text(key, otherwise ? std::optional("") : std::nullopt);
    if (otherwise && name.empty() && !fields.has(key)) return *otherwise;
    const auto found = ids.find(name);
    if (found != ids.end()) return found->second;
    throw BadLine(fmt::format("no {} '{}' is defined before this line", what, name),
                  fmt::format("a line {{\"def\": \"{}\", ...}} defines it", name),
                  std::string(key));
  }
  std::uint32_t frame(Fields& fields, std::string_view key = "l") {
    return id(fields, key, frames_, "place", kNotSaid);
  }
  std::uint32_t rank_field(Fields& fields, std::string_view key) {
    return static_cast<std::uint32_t>(fields.integer(key, 0, world_ - 1, std::nullopt));
  }

  std::uint32_t number_;  // the rank of the file
  std::uint32_t world_;
  Record& record_;
  Job& job_;
  std::uint32_t file_;
  Diagnostics& diagnostics_;
  RankRecord rank_;
  Ids frames_;  // frames by place id
  Ids groups_;
  // [name, ranks, whether the backend is NCCL]: number of such groups that the rank has created.
  std::map<std::tuple<std::string, std::vector<std::uint32_t>, bool>, std::uint32_t> made_;
  Ids streams_;
  Ids events_;
  Works works_;
  JsonTexts lines_{kLineKind};
  Fields fields_;
  std::uint32_t line_ = 0;
  bool has_header_ = false;
  bool has_end_ = false;
};

// Returns an upper bound of the number of entries, to reserve memory. The shortest entry has 12
// bytes.
std::size_t count_lines(std::string_view text) {
  constexpr std::size_t kShortest = 12;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    at = std::min(text.find('\n', std::min(at + kShortest, text.size())), text.size() - 1) + 1;
  }
  return lines;
}

RankRecord RankReader::run(const std::string& text) {
  constexpr std::size_t kMaxErrors = 20;
  rank_.entries.reserve(count_lines(text));
  const std::size_t before = diagnostics_.error_count();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++line_;
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    begin = end + 1;
    if (line.size() > kMaxRecordLineBytes) {
      diagnostics_.error({line_, 1, file_}, models::Code::kLimit,
                         fmt::format("a line has at most {} MiB", kMaxRecordLineBytes >> 20));
    } else if (!line.empty()) {
      read_line(line);
    }
    if (diagnostics_.error_count() - before >= kMaxErrors) break;
    // Without a valid header line, the file is not a record.
    if (!has_header_ && diagnostics_.error_count() > before) break;
  }
  if (line_ == 0) {
    diagnostics_.error({1, 1, file_}, models::Code::kRecordLine,
                       "the file is empty: it needs a header line");
  }
  return std::move(rank_);
}

void RankReader::read_line(std::string_view text) {
  const Place place{line_, 1, file_};
  Fields& fields = fields_;
  if (!fields.read_plain(text)) {
    const YamlDocument* const document = lines_.read(text, diagnostics_, place);
    if (document == nullptr || !is_object(*document, place, diagnostics_)) return;
    fields.read(document->root());
  }
  try {
    const std::string_view head = fields.head();
    if (!has_header_) {
      read_header(fields);
    } else if (has_end_) {
      throw BadLine("a line after the end of the record", "", std::string(head));
    } else if (head == "def") {
      read_definition(fields);
    } else if (head == "end") {
      read_end(fields);
    } else {
      read_entry(fields);
    }
    fields.finish();
  } catch (const BadLine& bad) {
    const std::optional<YamlDocument> document = read_json(text, kLineKind, diagnostics_, place);
    report(bad, document->root(), place, diagnostics_);
  }
}

int check_version(Fields& fields) {
  if (fields.head() != "record") {
    throw BadLine("expected the header {\"record\": 1, ...}", "", std::string(fields.head()));
  }
  const auto version =
      static_cast<int>(fields.integer("record", 1, std::numeric_limits<int>::max(), std::nullopt));
  if (version != kRecordVersion) {
    throw BadLine(fmt::format("version {} of the record format; this pipesim reads version {}",
                              version, kRecordVersion),
                  "record again with 'pipesim record', or use a newer pipesim", "record");
  }
  return version;
}

void RankReader::read_header(Fields& fields) {
  check_version(fields);
  const std::int64_t world = fields.integer("world", 1, kMaxRecordRanks, std::nullopt);
  if (world != world_) {
    throw BadLine(fmt::format("a rank of {}, in a record of {} ranks", world, world_),
                  "this file is of another record", "world");
  }
  const std::uint32_t found = rank_field(fields, "rank");
  if (found != number_) {
    throw BadLine(fmt::format("this is rank {}, in the file of rank {}", found, number_),
                  fmt::format("rename the file to rank{}.jsonl", found), "rank");
  }
  has_header_ = true;
}

void RankReader::read_definition(Fields& fields) {
  const std::string name(fields.text("def", std::nullopt));
  bool is_new = false;
  if (fields.has("at")) {
    models::RecordFrame line{fields.text("at"), fields.text("in"), fields.text("call"),
                             fields.truth("lib"), frame(fields, "up")};
    is_new = frames_.emplace(name, job_.frame(std::move(line))).second;
  } else if (fields.has("group")) {
    models::RecordGroup group;
    group.name = fields.text("group");
    for (const std::int64_t rank : fields.integers("ranks", world_ - 1)) {
      group.ranks.push_back(static_cast<std::uint32_t>(rank));
    }
    const std::set<std::uint32_t> once(group.ranks.begin(), group.ranks.end());
    if (once.size() != group.ranks.size() || once.empty()) {
      fields.must_be("ranks", "different ranks, at least one");
    }
    const std::string_view backend = fields.text("backend");
    if (!backend.empty() && backend != "gloo" && backend != "nccl") {
      fields.must_be("backend", "gloo or nccl");
    }
    group.description = fields.text("desc");
    group.place = job_.place_of(frame(fields));
    group.init_at_once = fields.truth("eager");
    group.nccl = backend.empty() ? record_.backend == "nccl" : backend == "nccl";
    const std::uint32_t time = ++made_[{group.name, group.ranks, group.nccl}];
    const std::uint32_t index = job_.group(std::move(group), time);
    rank_.defined.push_back(index);
    is_new = groups_.emplace(name, index).second;
  } else if (fields.has("stream")) {
    const auto device = static_cast<std::uint32_t>(fields.integer("device", 0, 1 << 10, 0));
    frame(fields);
    is_new = streams_.emplace(name, rank_.streams.size()).second;
    rank_.streams.push_back({fields.text("stream"), device});
  } else if (fields.has("event")) {
    frame(fields);
    is_new = events_.emplace(name, rank_.events.size()).second;
    rank_.events.emplace_back(fields.text("event"));
  } else {
    throw BadLine("a definition has 'at', 'group', 'stream' or 'event'", "", "def");
  }
  if (!is_new) throw BadLine(fmt::format("'{}' is defined twice", name), "", "def");
}

void RankReader::read_end(Fields& fields) {
  constexpr std::array kEnds = {"finished", "exited", "raised", "killed", "cut"};
  constexpr std::array kCuts = {"rest", "outside", "steps", "seconds", "made_up", "killed"};
  const std::string_view end = fields.text("end", std::nullopt);
  const auto* known = std::find(kEnds.begin(), kEnds.end(), end);
  if (known == kEnds.end()) fields.must_be("end", "finished, exited, raised, killed or cut");
  rank_.end.kind = static_cast<RecordEnd::Kind>(known - kEnds.begin());
  if (rank_.end.kind == RecordEnd::Kind::kCut) {
    const std::string_view why = fields.text("why", std::nullopt);
    const auto* cut = std::find(kCuts.begin(), kCuts.end(), why);
    if (cut == kCuts.end())
      fields.must_be("why", "rest, outside, steps, seconds, made_up or killed");
    rank_.end.cut = static_cast<RecordEnd::Cut>(cut - kCuts.begin());
  }
  rank_.end.code = fields.integer("code", -kMaxInteger, kMaxInteger, 0);
  rank_.end.text = fields.text("text");
  rank_.end.frame = frame(fields);
  rank_.end.place = job_.place_of(rank_.end.frame);
  has_end_ = true;
  if (rank_.end.kind == RecordEnd::Kind::kCut && rank_.end.cut == RecordEnd::Cut::kOutside) {
    RecordEntry outside;  // the work of the rank before its next call
    outside.kind = EntryKind::kStoreGet;
    outside.outside = true;
    outside.text = job_.text("the end of the work outside torch.distributed");
    outside.frame = rank_.end.frame;
    outside.place = rank_.end.place;
    rank_.entries.push_back(outside);
  }
}

// ---------------------------------------------------------------------------------------------
// Entries

void RankReader::read_entry(Fields& fields) {
  RecordEntry entry;
  entry.frame = frame(fields);
  entry.place = job_.place_of(entry.frame);
  entry.stream = id(fields, "s", streams_, "stream", 0);
  entry.kernels =
      static_cast<std::uint32_t>(fields.integer("k", 0, std::numeric_limits<int>::max(), 0));
  if (fields.has("th")) entry.thread = job_.text(fields.text("th", std::nullopt));
  if (const RecordField* const after = fields.find("after")) read_after(*after, fields, entry);
  const std::string_view head = fields.head();
  if (head == "call") {
    read_call(fields, entry);
  } else if (head == "wait" || head == "poll" || head == "drop") {
    read_wait(fields, entry);
  } else if (head == "init" || head == "new_group" || head == "destroy") {
    read_group_entry(fields, entry);
  } else if (head == "record" || head == "stream_wait") {
    entry.kind = head == "record" ? EntryKind::kRecordEvent : EntryKind::kStreamWait;
    entry.event = id(fields, head, events_, "event");
  } else if (head == "synchronize") {
    read_host_wait(fields, entry);
  } else if (head == "read") {
    entry.kind = EntryKind::kRead;
    entry.text = job_.text(fields.text("read", std::nullopt));
  } else if (head == "store") {
    if (!read_store(fields, entry)) return;
  } else if (head == "backward") {
    entry.kind = EntryKind::kBackward;
    fields.text("backward", std::nullopt);
  } else if (head == "step") {
    entry.kind = EntryKind::kStep;
    entry.number = fields.integer("step", 0, kMaxInteger, std::nullopt);
  } else if (head == "ask") {
    return read_ask(fields);
  } else if (head == "note") {
    read_note(fields, entry);
  } else {
    throw BadLine(fmt::format("unknown entry '{}'", models::printable(head)),
                  "a line begins with 'def', 'call', 'wait', 'poll', 'drop', 'init', 'new_group', "
                  "'destroy', 'record', 'stream_wait', 'synchronize', 'read', 'store', 'backward', "
                  "'step', 'note', 'ask' or 'end'",
                  std::string(head));
  }
  rank_.entries.push_back(std::move(entry));
}

void RankReader::read_note(Fields& fields, RecordEntry& entry) {
  entry.kind = EntryKind::kNote;
  const std::string_view note = fields.text("note", std::nullopt);
  const std::string_view says = fields.text("text");
  const bool incomplete = note == "incomplete";
  entry.text = incomplete ? job_.text(std::string(kIncompleteBasis).append(says))
                          : job_.text(note == "other" && !says.empty() ? says : note);
  entry.read_made_up = note == "cut_read";
  entry.bytes = fields.integer("bytes", 0, kMaxInteger, 0);
}

// Reads a free answer. Keeps its kind and its file; the verdict needs no other fields.
void RankReader::read_ask(Fields& fields) {
  models::FreeAnswer answer;
  answer.kind = job_.text(fields.text("ask", std::nullopt));
  if (fields.has("path")) answer.path = job_.text(fields.text("path", std::nullopt));
  answer.writes = fields.truth("writes");
  for (const char* key : {"about", "got"}) fields.text(key);
  if (fields.has("of")) fields.texts("of");
  rank_.free_answers.push_back(answer);
}

void RankReader::read_group_entry(Fields& fields, RecordEntry& entry) {
  const std::string_view head = fields.head();
  entry.kind = head == "init"        ? EntryKind::kInit
               : head == "new_group" ? EntryKind::kNewGroup
                                     : EntryKind::kDestroy;
  entry.group = id(fields, head, groups_, "group");
  if (entry.kind == EntryKind::kDestroy) return;
  entry.number = fields.integer("key", 0, kMaxInteger, -1);
  entry.store_barrier = fields.truth("store_barrier");
  fields.truth("split");  // allowed but not used: `parent` is enough
  entry.parent = id(fields, "parent", groups_, "group", kNotSaid);
  if (entry.parent == kNotSaid) return;
  const models::RecordGroup& parent = record_.groups[entry.parent];
  if (parent.position(number_) == kNotSaid) {
    throw BadLine(fmt::format("rank {} is not in group '{}'", number_, parent.name), "", "parent");
  }
}

void RankReader::read_call(Fields& fields, RecordEntry& entry) {
  entry.kind = EntryKind::kCall;
  const std::string_view name = fields.text("call", std::nullopt);
  const std::optional<Operation> operation = models::find_operation(name);
  if (!operation || is_of_host(*operation)) {
    fields.must_be("call", "a collective, send or recv");
  }
  entry.operation = *operation;
  entry.group = id(fields, "g", groups_, "group");
  entry.number = fields.integer("n", 0, kMaxInteger, std::nullopt);
  read_data(fields, entry);
  const auto refuse_other = [&](std::uint32_t rank, const char* key) {
    const models::RecordGroup& group = record_.groups[entry.group];
    if (group.position(rank) != kNotSaid) return;
    throw BadLine(fmt::format("rank {} is not in group '{}'", rank, group.name), "", key);
  };
  refuse_other(number_, "g");
  if (!models::is_collective(*operation)) {
    entry.peer = rank_field(fields, "peer");
    refuse_other(entry.peer, "peer");
    entry.tag = fields.integer("tag", -kMaxInteger, kMaxInteger, 0);
    entry.any_source = fields.truth("any");
  } else if (models::has_root(*operation)) {
    entry.peer = rank_field(fields, "root");
    refuse_other(entry.peer, "root");
  }
  if (fields.has("to") || fields.has("from")) read_splits(fields, entry);
  entry.work = fields.integer("w", 0, kMaxInteger, -1);
  if (entry.work >= 0 && !works_.insert(entry.work)) {
    throw BadLine(fmt::format("work {} is there twice", entry.work), "", "w");
  }
  entry.sync = fields.truth("sync");
  entry.batch = static_cast<std::uint32_t>(fields.integer("batch", 0, kNotSaid - 1, kNotSaid));
  entry.made_up = fields.truth("made_up");
  entry.blocks_host = fields.truth("blocking");
  entry.on_device = fields.truth("on_device");
}

// Reads how many calls of other threads precede this call.
void RankReader::read_after(const RecordField& after, const Fields& fields, RecordEntry& entry) {
  constexpr const char* kExpected = "a map of threads and numbers of calls";
  if (after.kind != RecordField::Kind::kOther || !after.value.is_map())
    fields.must_be("after", kExpected);
  std::vector<std::pair<std::uint32_t, std::int64_t>> calls_before;
  after.value.for_each_entry([&](const YamlValue::Entry& thread) {
    const auto calls = thread.value.integer<std::int64_t>();
    if (!calls || *calls < 0 || *calls > kMaxInteger) fields.must_be("after", kExpected);
    const std::string name = models::printable(thread.key.text());
    calls_before.emplace_back(name.empty() ? kNotSaid : job_.text(name), *calls);
  });
  entry.after = std::move(calls_before);
}

void RankReader::read_data(Fields& fields, RecordEntry& entry) {
  entry.sized = fields.has("bytes");
  entry.bytes = fields.integer("bytes", 0, kMaxInteger, 0);
  const std::string_view type = fields.text("type");
  if (!type.empty()) entry.type = job_.text(type);
}

void RankReader::read_splits(Fields& fields, RecordEntry& entry) {
  const std::size_t members = record_.groups[entry.group].ranks.size();
  std::vector<std::int64_t> splits;
  for (const char* key : {"to", "from"}) {
    const std::vector<std::int64_t> sizes = fields.integers(key, kMaxInteger);
    if (sizes.size() != members) {
      fields.must_be(key,
                     fmt::format("a list of integers, one per member of the group ({})", members));
    }
    splits.insert(splits.end(), sizes.begin(), sizes.end());
  }
  entry.amounts = std::move(splits);
}

void RankReader::read_wait(Fields& fields, RecordEntry& entry) {
  const std::string_view head = fields.head();
  entry.kind = head == "wait"   ? EntryKind::kWait
               : head == "poll" ? EntryKind::kPoll
                                : EntryKind::kDrop;
  entry.amounts = fields.integers(head, kMaxInteger);
  if (entry.kind == EntryKind::kWait) {
    entry.at_exit = fields.truth("exit");
    entry.blocks_host = fields.truth("blocking");
    entry.timed_out = fields.truth("timed_out");
  } else if (entry.kind == EntryKind::kPoll) {
    entry.never = fields.truth("never");
  }
  for (const std::int64_t work : entry.amounts) {
    if (works_.contains(work)) continue;
    throw BadLine(fmt::format("no call before this line has the work {}", work), "",
                  std::string(head));
  }
}

void RankReader::read_host_wait(Fields& fields, RecordEntry& entry) {
  const std::string_view what = fields.text("synchronize", std::nullopt);
  if (what == "event") {
    entry.kind = EntryKind::kWaitForEvent;
    entry.event = id(fields, "e", events_, "event");
  } else if (what == "stream" || what == "device") {
    entry.kind = what == "stream" ? EntryKind::kWaitForStream : EntryKind::kWaitForDevice;
  } else {
    fields.must_be("synchronize", "event, stream or device");
  }
}

// Reads a store operation. Returns false if the operation neither waits nor releases other ranks.
bool RankReader::read_store(Fields& fields, RecordEntry& entry) {
  const std::string_view what = fields.text("store", std::nullopt);
  const std::vector<std::string> keys =
      fields.has("keys") ? fields.texts("keys")
                         : std::vector{std::string(fields.text("key", std::nullopt))};
  entry.number = fields.integer("amount", -kMaxInteger, kMaxInteger, 0);
  entry.result = fields.integer("result", -kMaxInteger, kMaxInteger, 0);
  const bool was_set = fields.truth("set");
  entry.timed_out = fields.truth("timed_out");
  entry.differs = fields.truth("differs");
  if (what == "set" || (what == "compare_set" && was_set)) {
    entry.kind = EntryKind::kStoreSet;
  } else if (what == "get" || what == "wait") {
    entry.kind = EntryKind::kStoreGet;
  } else if (what == "add") {
    entry.kind = EntryKind::kStoreAdd;
  } else if (what == "compare_set" || what == "check" || what == "delete") {
    return false;
  } else {
    fields.must_be("store", "set, get, wait, add, check, compare_set or delete");
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    entry.text = job_.text(keys[i]);
    if (i + 1 < keys.size()) rank_.entries.push_back(entry);
  }
  return !keys.empty();
}

// ---------------------------------------------------------------------------------------------
// The job

// Reads the recording settings that reports mention. Ignores all other settings.
void read_settings(const YamlValue& settings, Record& record) {
  const auto number = [&](const char* key) {
    const auto found = settings.find(key);
    const auto value = found ? found->integer<std::int64_t>() : std::nullopt;
    return value >= 0 && value <= kMaxInteger ? *value : 0;
  };
  record.limit = number("limit");
  record.steps = number("steps");
  record.seconds = number("seconds");
}

// Reads the fields of record.json. Returns the number of ranks, or 0 after mistakes.
std::uint32_t read_job(const RecordText& file, Record& record, Diagnostics& diagnostics) {
  const Place place{1, 1, 0};
  const std::optional<YamlDocument> document =
      read_json(file.text, {"a record", models::Code::kRecordLine}, diagnostics, place);
  if (!document || !is_object(*document, place, diagnostics)) return 0;
  Fields fields(document->root());
  try {
    check_version(fields);
    const auto world = fields.integer("world", 1, kMaxRecordRanks, std::nullopt);
    if (fields.has("command")) {
      for (const std::string& word : fields.texts("command")) {
        record.command = record.command + (record.command.empty() ? "" : " ") + word;
      }
    }
    record.backend = fields.text("backend", "gloo");
    if (record.backend != "gloo" && record.backend != "nccl") {
      fields.must_be("backend", "gloo or nccl");
    }
    const std::string_view device = fields.text("device", "cpu");
    if (device != "cpu" && device != "cuda") fields.must_be("device", "cpu or cuda");
    record.device_is_cuda = device == "cuda";
    record.torch = fields.text("torch");
    for (const char* key : {"python", "ends"}) fields.has(key);
    if (const RecordField* const settings = fields.find("settings")) {
      read_settings(settings->value, record);
    }
    fields.finish();
    return static_cast<std::uint32_t>(world);
  } catch (const BadLine& bad) {
    report(bad, document->root(), place, diagnostics);
    return 0;
  }
}

// Returns "rank 3" or "ranks 3, 5 and 12 more".
std::string missing_text(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(kShown, ranks.size()); ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : ",", ranks[i]);
  }
  if (ranks.size() > kShown) text += fmt::format(" and {} more", ranks.size() - kShown);
  return text;
}

void check_ranks(const std::vector<std::uint32_t>& file_of, Diagnostics& diagnostics) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < file_of.size(); ++rank) {
    if (file_of[rank] == 0) missing.push_back(rank);
  }
  if (missing.empty()) return;
  diagnostics
      .error({}, models::Code::kRecordRanks,
             fmt::format("the record has no file of {} (of {} ranks)", missing_text(missing),
                         file_of.size()))
      .notes.push_back(
          fmt::format("copy rank{}.jsonl here from the machine that recorded it", missing.front()));
}

}  // namespace

std::optional<std::uint32_t> rank_in_name(std::string_view name, std::string_view ending) {
  constexpr std::string_view kHead = "rank";
  if (!name.starts_with(kHead) || !name.ends_with(ending)) return std::nullopt;
  name.remove_prefix(kHead.size());
  name.remove_suffix(ending.size());
  return models::whole_number<std::uint32_t>(name);
}

std::optional<std::uint32_t> rank_of_record_file(std::string_view name) {
  const auto rank = rank_in_name(name, ".jsonl");
  return rank && *rank < kMaxRecordRanks ? rank : std::nullopt;
}

std::optional<Record> read_record(const std::vector<RecordText>& files, Diagnostics& diagnostics,
                                  const ReadText& read) {
  Record record;
  const auto is_too_large = [&](std::uint32_t file, const std::string& text) {
    if (text.size() <= kMaxRecordBytes) return false;
    diagnostics.error({1, 1, file}, models::Code::kLimit,
                      fmt::format("a file of a record has at most {} MiB", kMaxRecordBytes >> 20));
    return true;
  };
  if (files.empty() || is_too_large(0, files.front().text)) return std::nullopt;
  const std::uint32_t world = read_job(files.front(), record, diagnostics);
  if (world == 0) return std::nullopt;
  std::vector<std::uint32_t> file_of(world, 0);
  for (std::uint32_t i = 1; i < files.size(); ++i) {
    const std::string& path = files[i].path;
    const std::size_t slash = path.rfind('/');
    const auto rank = rank_of_record_file(
        std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1));
    if (!rank) continue;
    if (*rank >= world) {
      diagnostics.error({1, 1, i}, models::Code::kRecordRanks,
                        fmt::format("rank {} of {} ranks", *rank, world));
    } else if (file_of[*rank] != 0) {
      diagnostics.error({1, 1, i}, models::Code::kRecordRanks,
                        fmt::format("rank {} has two files", *rank));
    } else {
      file_of[*rank] = i;
    }
  }
  check_ranks(file_of, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  Job job(record);
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    const std::uint32_t file = file_of[rank];
    const std::string text = files[file].is_in_file ? read(files[file].path) : "";
    const std::string& lines = files[file].is_in_file ? text : files[file].text;
    if (is_too_large(file, lines)) return std::nullopt;
    record.ranks.push_back(RankReader(rank, world, record, job, file, diagnostics).run(lines));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  return record;
}

}  // namespace pipesim::formats
