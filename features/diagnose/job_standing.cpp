// Finds the calls of a job in the record of its script. Two calls correspond if their groups have
// the same members and their sequence numbers agree. The Flight Recorder counts a batch of sends
// and recvs as one call, which also uses up a number of the group's collectives. A record numbers
// each send and recv.
#include "features/diagnose/job_standing.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "features/record/record_ends.hpp"
#include "features/record/record_text.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

// A call of one rank: its group in the record, whether it is a send or recv, and its number as in
// dumps.
using CallNumber = std::tuple<std::uint32_t, bool, std::int64_t>;

// Returns the group of the record for each group of the evidence. Groups correspond if they have
// the same members. If several groups have these members, their names decide, else their order.
std::vector<std::uint32_t> same_groups(const Record& record, const Evidence& evidence) {
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> by_members;
  for (std::uint32_t i = 0; i < record.groups.size(); ++i) {
    std::vector<std::uint32_t> members = record.groups[i].ranks;
    std::sort(members.begin(), members.end());
    by_members[std::move(members)].push_back(i);
  }
  std::map<std::vector<std::uint32_t>, std::size_t> met;
  std::vector<std::uint32_t> result;
  for (const EvidenceGroup& group : evidence.groups) {
    const auto found = by_members.find(group.ranks);
    if (found == by_members.end()) {
      result.push_back(kNotSaid);
      continue;
    }
    const auto named =
        std::find_if(found->second.begin(), found->second.end(),
                     [&](std::uint32_t i) { return record.groups[i].name == group.name; });
    const std::size_t nth = met[group.ranks]++;
    result.push_back(named != found->second.end() ? *named
                     : nth < found->second.size() ? found->second[nth]
                                                  : kNotSaid);
  }
  return result;
}

// The calls of a rank's record, numbered as in dumps.
class NumberedCalls {
 public:
  explicit NumberedCalls(const RankRecord& rank) : rank_(rank) {
    for (std::size_t i = 0; i < rank.entries.size(); ++i) add(i);
  }

  struct Found {
    std::size_t entry = 0;
    std::int64_t rounds = 0;
  };

  std::optional<Found> find(const CallNumber& wanted) const {
    const auto at = calls_.find(wanted);
    return at == calls_.end() ? std::nullopt : std::optional(Found{at->second, 0});
  }

  // Finds a call after the end of the record, as if the job repeated the last step of the record.
  std::optional<Found> find_repeated(const CallNumber& wanted) const {
    const auto [group, message, number] = wanted;
    if (steps_.size() < 2 || numbers_.count({group, message}) == 0) return std::nullopt;
    // The numbers of the last step: `size` numbers up to `end`.
    const std::int64_t end = number_at(group, message, steps_.back());
    const std::int64_t size = end - number_at(group, message, steps_[steps_.size() - 2]);
    if (size <= 0 || number <= end) return std::nullopt;
    const auto repeated = calls_.find({group, message, end - size + 1 + (number - end - 1) % size});
    if (repeated == calls_.end()) return std::nullopt;
    return Found{repeated->second, (number - end - 1) / size + 1};
  }

  // Returns the number of steps that are done before repetition `rounds` of the last step; 0 if
  // `rounds` is 0, since the call is then in the record itself.
  std::int64_t steps_done(std::int64_t rounds) const {
    return rounds == 0 ? 0 : rank_.entries[steps_.back()].number + rounds - 1;
  }

  // Returns the entry of the next call after the call, or batch, of entry `i`.
  std::optional<std::size_t> next_call(std::size_t i) const {
    const std::uint32_t batch = rank_.entries[i].batch;
    for (std::size_t k = i + 1; k < rank_.entries.size(); ++k) {
      const RecordEntry& entry = rank_.entries[k];
      if (entry.kind != EntryKind::kCall) continue;
      if (batch == kNotSaid || entry.batch != batch) return k;
    }
    return std::nullopt;
  }

  // Returns the call after `last`, as if the last step were repeated.
  std::optional<Found> next_repeated(const Found& last) const {
    if (steps_.size() < 2) return std::nullopt;
    const auto next = next_call(last.entry);
    const bool same_round = last.rounds > 0 && next && *next < steps_.back();
    if (same_round) return Found{*next, last.rounds};
    const auto first = next_call(steps_[steps_.size() - 2]);
    if (!first || *first > steps_.back()) return std::nullopt;
    return Found{*first, last.rounds + 1};
  }

 private:
  void add(std::size_t i) {
    const RecordEntry& entry = rank_.entries[i];
    if (entry.kind == EntryKind::kStep) steps_.push_back(i);
    if (entry.kind != EntryKind::kCall) return;
    const bool message = !is_collective(entry.operation);
    const bool goes_on = entry.batch != kNotSaid && entry.batch == batch_;
    batch_ = entry.batch;
    if (goes_on) return;
    const std::int64_t number = ++last_[{entry.group, message}];
    calls_.emplace(CallNumber{entry.group, message, number}, i);
    numbers_[{entry.group, message}].emplace_back(i, number);
    if (message && entry.batch != kNotSaid) {
      const std::int64_t taken = ++last_[{entry.group, false}];
      numbers_[{entry.group, false}].emplace_back(i, taken);
    }
  }

  // Returns the number of the group's last call before entry `i`: of its last send or recv if
  // `message` is set, else of its last collective.
  std::int64_t number_at(std::uint32_t group, bool message, std::size_t i) const {
    std::int64_t result = 0;
    for (const auto& [entry, number] : numbers_.at({group, message})) {
      if (entry < i) result = number;
    }
    return result;
  }

  const RankRecord& rank_;
  std::map<CallNumber, std::size_t> calls_;  // first entry of each call
  std::map<std::pair<std::uint32_t, bool>, std::int64_t> last_;
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::pair<std::size_t, std::int64_t>>>
      numbers_;
  std::vector<std::size_t> steps_;  // indices of the entries that end an optimizer step
  std::uint32_t batch_ = kNotSaid;
};

class JobFinder {
 public:
  JobFinder(const Record& record, const Evidence& evidence)
      : record_(record), evidence_(evidence), groups_(same_groups(record, evidence)) {}

  RankPlace find(std::uint32_t rank) const;

 private:
  std::string text_of(std::uint32_t rank, const RecordedCall& call) const {
    return call_name(call, evidence_.groups[call.group], rank) + "#" +
           std::to_string(call.sequence);
  }
  static bool fits(const RecordedCall& call, const RecordEntry& entry);
  void place_next(const NumberedCalls& calls, const NumberedCalls::Found& last,
                  RankPlace& place) const;

  const Record& record_;
  const Evidence& evidence_;
  std::vector<std::uint32_t> groups_;
};

// Whether `entry` of the record has the operation of `call`. Dumps record a barrier as an
// all_reduce.
bool JobFinder::fits(const RecordedCall& call, const RecordEntry& entry) {
  if (call.ops.empty() || call.coalesced) return true;
  const RecordedOp& op = call.ops.front();
  if (op.message) {
    const bool sends = op.is_send();
    const bool same = (entry.operation == Operation::kSend) == sends &&
                      entry.peer == (sends ? op.target : op.source);
    return same || entry.batch != kNotSaid;
  }
  const bool barrier = entry.operation == Operation::kBarrier;
  const std::optional<Operation> operation = op.operation();
  return !operation || *operation == entry.operation ||
         (barrier && *operation == Operation::kAllReduce);
}

void JobFinder::place_next(const NumberedCalls& calls, const NumberedCalls::Found& last,
                           RankPlace& place) const {
  std::optional<NumberedCalls::Found> next;
  if (last.rounds == 0) {
    if (const auto entry = calls.next_call(last.entry)) next = NumberedCalls::Found{*entry, 0};
  }
  if (!next && (last.rounds > 0 || is_cut_short(record_.ranks[place.rank]))) {
    next = calls.next_repeated(last);
  }
  place.standing = next ? JobStanding::kBefore : JobStanding::kAtEnd;
  if (!next) return;
  place.entry = &record_.ranks[place.rank].entries[next->entry];
  place.steps = calls.steps_done(next->rounds);
}

RankPlace JobFinder::find(std::uint32_t rank) const {
  RankPlace place;
  place.rank = rank;
  if (rank >= evidence_.ranks.size() || evidence_.ranks[rank].calls.empty()) return place;
  const std::vector<RecordedCall>& made = evidence_.ranks[rank].calls;
  const auto pending = std::find_if(made.begin(), made.end(), [](const RecordedCall& call) {
    return call.state != CallState::kCompleted;
  });
  const RecordedCall& call = pending != made.end() ? *pending : made.back();
  place.call = text_of(rank, call);
  place.standing = JobStanding::kNotThere;
  const std::uint32_t group = groups_[call.group];
  if (group == kNotSaid) return place;
  const NumberedCalls calls(record_.ranks[rank]);
  const CallNumber number{group, call.messages, static_cast<std::int64_t>(call.sequence)};
  const std::vector<RecordEntry>& entries = record_.ranks[rank].entries;
  auto found = calls.find(number);
  if (!found || !fits(call, entries[found->entry])) {
    const auto repeated = calls.find_repeated(number);
    if (repeated && (!found || fits(call, entries[repeated->entry]))) found = repeated;
  }
  if (!found) return place;
  const RecordEntry& entry = entries[found->entry];
  place.steps = calls.steps_done(found->rounds);
  if (!fits(call, entry)) {
    place.standing = JobStanding::kDiffers;
    place.entry = &entry;
  } else if (pending != made.end()) {
    place.standing = JobStanding::kIn;
    place.entry = &entry;
  } else {
    place_next(calls, *found, place);
  }
  return place;
}

// ---------------------------------------------------------------------------------------------
// Notes of a real job

// The calls of a rank's main thread between two optimizer steps.
struct Stretch {
  std::vector<const RecordEntry*> calls;
  std::int64_t number = 0;  // of the step that ends it
  bool is_done = false;     // whether a step ends it
};

std::vector<Stretch> stretches_of(const RankRecord& rank) {
  std::vector<Stretch> found(1);
  for (const RecordEntry& entry : rank.entries) {
    if (entry.thread != kNotSaid || entry.later) continue;
    if (entry.kind == EntryKind::kCall) found.back().calls.push_back(&entry);
    if (entry.kind != EntryKind::kStep) continue;
    found.back().number = entry.number;
    found.back().is_done = true;
    found.emplace_back();
  }
  found.back().number = found.size() < 2 ? 1 : found[found.size() - 2].number + 1;
  return found;
}

class JobComparison {
 public:
  JobComparison(const Record& record, const Record& job) : record_(record), job_(job) {}

  RankPlace find(std::uint32_t rank) const;

 private:
  bool same(const RecordEntry& recorded, const RecordEntry& made) const;
  bool differs(const Stretch* recorded, const Stretch& made, RankPlace& place) const;
  void stand(const Stretch* recorded, const Stretch& made, RankPlace& place) const;

  const Record& record_;
  const Record& job_;
};

// The recorded calls of a rank. Beyond their end, the last step is repeated if the recording was
// cut short.
class RecordedSteps {
 public:
  explicit RecordedSteps(const RankRecord& rank)
      : stretches_(stretches_of(rank)), repeats_(is_cut_short(rank) && stretches_.size() > 1) {}

  std::int64_t steps() const { return static_cast<std::int64_t>(stretches_.size()) - 1; }
  bool is_repeated(std::int64_t number) const { return repeats_ && number > steps(); }

  // Returns the calls of the step with this number, or null.
  const Stretch* find(std::int64_t number) const {
    const auto index = static_cast<std::size_t>(number - 1);
    if (is_repeated(number)) return &stretches_[stretches_.size() - 2];
    return index < stretches_.size() ? &stretches_[index] : nullptr;
  }

 private:
  std::vector<Stretch> stretches_;
  bool repeats_;
};

bool JobComparison::same(const RecordEntry& recorded, const RecordEntry& made) const {
  const auto type = [](const Record& of, const RecordEntry& entry) {
    return entry.type == kNotSaid ? std::string() : std::string(of.texts[entry.type]);
  };
  const bool any_source = recorded.any_source && made.any_source;
  return recorded.operation == made.operation && recorded.bytes == made.bytes &&
         recorded.tag == made.tag && (any_source || recorded.peer == made.peer) &&
         type(record_, recorded) == type(job_, made) &&
         record_.groups[recorded.group].ranks == job_.groups[made.group].ranks;
}

// Whether the calls differ; then describes the first that does.
bool JobComparison::differs(const Stretch* recorded, const Stretch& made, RankPlace& place) const {
  const auto text = [](const Record& of, const RecordEntry& entry) {
    return is_collective(entry.operation) ? call_text(of, entry) : operation_name(entry.operation);
  };
  const std::size_t count = recorded == nullptr ? 0 : recorded->calls.size();
  for (std::size_t i = 0; i < made.calls.size(); ++i) {
    const std::string at = job_.place_of(made.calls[i]->place);
    place.call = text(job_, *made.calls[i]) + (at.empty() ? "" : " at " + at);
    place.standing = JobStanding::kNotThere;
    if (i >= count) return true;
    place.standing = JobStanding::kDiffers;
    place.entry = recorded->calls[i];
    place.recorded = text(record_, *place.entry);
    if (!same(*place.entry, *made.calls[i])) return true;
  }
  if (!made.is_done || made.calls.size() >= count) return false;
  place.standing = JobStanding::kDiffers;
  place.call = "step " + std::to_string(made.number) + " of the optimizer";
  place.entry = recorded->calls[made.calls.size()];
  place.recorded = text(record_, *place.entry);
  return true;
}

// Describes where the rank is, after calls that the record has too.
void JobComparison::stand(const Stretch* recorded, const Stretch& made, RankPlace& place) const {
  const bool waits = ends_in_call(job_.ranks[place.rank]);
  const std::size_t next = made.calls.size();
  const bool has_next = recorded != nullptr && next < recorded->calls.size();
  if (place.call.empty()) place.call = "nothing";
  if (waits && next > 0) {
    place.standing = JobStanding::kIn;
    place.entry = recorded->calls[next - 1];
  } else {
    place.standing = has_next ? JobStanding::kBefore : JobStanding::kAtEnd;
    place.entry = has_next ? recorded->calls[next] : nullptr;
  }
}

RankPlace JobComparison::find(std::uint32_t rank) const {
  RankPlace place;
  place.rank = rank;
  if (rank >= job_.ranks.size()) return place;
  const RecordedSteps recorded(record_.ranks[rank]);
  std::int64_t first = 1;
  for (const Stretch& made : stretches_of(job_.ranks[rank])) {
    // The notes leave out steps that are like the next one.
    const std::int64_t last = std::min(made.number, recorded.steps() + 1);
    for (std::int64_t number = std::min(first, last); number <= last; ++number) {
      place.steps = recorded.is_repeated(made.number) ? made.number - 1 : 0;
      if (differs(recorded.find(number), made, place)) return place;
    }
    if (!made.is_done) stand(recorded.find(last), made, place);
    first = made.number + 1;
  }
  return place;
}

}  // namespace

std::vector<RankPlace> job_places(const Record& record, const Record& job) {
  const JobComparison comparison(record, job);
  std::vector<RankPlace> places;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    places.push_back(comparison.find(rank));
  }
  return places;
}

std::vector<RankPlace> job_places(const Record& record, const Evidence& evidence) {
  const JobFinder finder(record, evidence);
  std::vector<RankPlace> places;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    places.push_back(finder.find(rank));
  }
  return places;
}

}  // namespace pipesim::models
