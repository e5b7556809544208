// Names the steps of a recorded job. The scenario of a record only folds loops and names steps, so
// the k-th step of a scenario program is the k-th step that host_steps.cpp makes.
#include "features/record/recorded_job.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "features/record/first_difference.hpp"
#include "features/record/record_parts.hpp"
#include "features/record/record_text.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using StepKind = HostStep::Kind;

class RecordedJob : public Recorded, public RecordedParts {
 public:
  RecordedJob(std::shared_ptr<const Record> record, RecordRules rules, const TaskGraph& graph)
      : record_(std::move(record)), rules_(rules), threads_(graph.threads) {
    failures = failures_of(*record_);
    for (std::uint32_t rank = 0; rank < record_->ranks.size(); ++rank) {
      const std::vector<RecordEntry>& entries = record_->ranks[rank].entries;
      if (std::any_of(entries.begin(), entries.end(), [](const RecordEntry& entry) {
            return entry.kind == EntryKind::kCall && entry.thread != kNotSaid;
          })) {
        threaded.insert(rank);
      }
    }
    for (const ActorTemplate& actor : graph.actors) {
      actors_.push_back({actor.name, actor.on, actor.step && actor.step->implied});
    }
  }

  const FirstDifference* first_difference() const override {
    const std::lock_guard lock(mutex_);
    if (!looked_) difference_ = models::first_difference(*record_);
    looked_ = true;
    return difference_ ? &*difference_ : nullptr;
  }

  std::string name(std::uint32_t rank, const std::string& op, std::uint32_t number) const override {
    const std::lock_guard lock(mutex_);
    const auto& steps = program(rank).steps;
    const auto found = steps.find(op);
    if (found == steps.end() || number == 0 || number > found->second.size()) return "";
    return program(rank).names[found->second[number - 1]];
  }

  std::optional<NamedOp> find(std::uint32_t rank, const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    if (rank >= record_->ranks.size()) return std::nullopt;
    for (const auto& [op, steps] : program(rank).steps) {
      for (std::uint32_t i = 0; i < steps.size(); ++i) {
        if (program(rank).names[steps[i]] == name) return NamedOp{op, i + 1};
      }
    }
    return std::nullopt;
  }

  const std::vector<RecordedPart>& parts(std::uint32_t rank) const override {
    const std::lock_guard lock(mutex_);
    return program(rank).parts.all;
  }

  std::optional<std::uint32_t> part(std::uint32_t rank, const std::string& op,
                                    std::uint32_t number) const override {
    const std::lock_guard lock(mutex_);
    const Program& of = program(rank);
    const auto found = of.steps.find(op);
    if (found == of.steps.end() || number == 0 || number > found->second.size()) {
      return std::nullopt;
    }
    const std::uint32_t index = found->second[number - 1];
    const std::uint32_t entry = host().entries[rank][index];
    if (entry == kNotSaid) return std::nullopt;
    const bool computes = host().steps[host().program_of(rank)[index]].kind == StepKind::kCompute;
    const std::uint32_t part = (computes ? of.parts.of_kernels : of.parts.of_entry)[entry];
    return part == kNotSaid ? std::nullopt : std::optional(part);
  }

  std::string stream_name(std::uint32_t rank, const std::string& stream) const override {
    const std::lock_guard lock(mutex_);
    constexpr std::string_view kNccl = "nccl ";
    const bool of_nccl = stream.starts_with(kNccl);
    // The channel of the store exists only if a program uses the store. The other channels are
    // known without the programs, which take long to build.
    const Channels& known = stream == "store" ? host().channels : this->channels();
    const auto& channels = known.all();
    const auto found = std::find_if(channels.begin(), channels.end(), [&](const Channel& channel) {
      return channel.name == (of_nccl ? stream.substr(kNccl.size()) : stream);
    });
    if (found == channels.end() || found->list_of(rank) == nullptr) return "";
    return known.text(static_cast<std::uint32_t>(found - channels.begin()), rank);
  }

 private:
  struct ActorHead {
    std::string name;
    RankSet on;
    bool implied = false;
  };
  // The program of one rank: the step indices of each op, the names of all steps, and the parts of
  // its training steps.
  struct Program {
    std::map<std::string, std::vector<std::uint32_t>> steps;
    std::vector<std::string> names;
    RankParts parts;
  };

  const HostPrograms& host() const {
    if (!host_) host_ = std::make_unique<HostPrograms>(host_programs(*record_, rules_, true));
    return *host_;
  }
  const Channels& channels() const {
    if (host_) return host_->channels;
    if (!channels_) channels_ = std::make_unique<Channels>(channels_of(*record_, rules_));
    return *channels_;
  }
  const Program& program(std::uint32_t rank) const;
  void expand(const std::vector<ProgramStep>& steps, std::uint32_t rank,
              std::vector<std::uint32_t>& actors) const;
  std::vector<std::string> names_of(std::uint32_t rank) const;

  const std::shared_ptr<const Record> record_;
  const RecordRules rules_;
  const std::vector<HostThread> threads_;
  std::vector<ActorHead> actors_;
  mutable std::mutex mutex_;
  mutable bool looked_ = false;  // whether `difference_` has been computed
  mutable std::optional<FirstDifference> difference_;
  mutable std::unique_ptr<HostPrograms> host_;  // built when the first name is requested
  mutable std::unique_ptr<Channels> channels_;  // built when the first stream is requested
  mutable std::map<std::uint32_t, Program> programs_;
};

// Collects the actors of a rank's steps in program order. Skips implied actors, which have no
// entry.
void RecordedJob::expand(const std::vector<ProgramStep>& steps, std::uint32_t rank,
                         std::vector<std::uint32_t>& actors) const {
  const auto add = [&](std::uint32_t actor) {
    if (actors_[actor].on.contains(rank) && !actors_[actor].implied) actors.push_back(actor);
  };
  for (const ProgramStep& step : steps) {
    if (step.actor != kNoIndex) {
      add(step.actor);
      continue;
    }
    for (const std::uint32_t actor : step.list) add(actor);
    if (!step.list.empty() || (step.on && !step.on->contains(rank))) continue;
    for (std::int64_t i = 0; i < step.times; ++i) expand(step.block, rank, actors);
  }
}

const RecordedJob::Program& RecordedJob::program(std::uint32_t rank) const {
  const auto [known, is_new] = programs_.try_emplace(rank);
  Program& program = known->second;
  if (!is_new) return program;
  std::vector<std::uint32_t> actors;
  for (const HostThread& thread : threads_) expand(thread.program, rank, actors);
  program.names = names_of(rank);
  program.parts = rank_parts(*record_, rank);
  if (actors.size() != program.names.size()) return program;  // a parameter removes steps
  for (std::uint32_t i = 0; i < actors.size(); ++i) {
    program.steps[actors_[actors[i]].name].push_back(i);
  }
  return program;
}

// Names the entries of one rank.
class EntryNames {
 public:
  EntryNames(const Record& record, std::uint32_t rank, const HostPrograms& host)
      : record_(record), own_(record.ranks[rank]), host_(host) {
    std::map<std::tuple<std::uint32_t, Operation, std::uint32_t, std::int64_t>, std::int64_t> sent;
    messages_.resize(own_.entries.size(), 0);
    for (std::size_t i = 0; i < own_.entries.size(); ++i) {
      const RecordEntry& entry = own_.entries[i];
      if (entry.kind != EntryKind::kCall) continue;
      if (entry.work >= 0) of_work_[entry.work] = i;
      if (is_collective(entry.operation)) continue;
      const std::uint32_t peer = entry.any_source ? kNotSaid : entry.peer;
      messages_[i] = ++sent[{entry.group, entry.operation, peer, entry.tag}];
    }
  }

  std::string step(const HostStep& step, std::uint32_t index) const {
    if (index == kNotSaid) return of_end(step);
    const RecordEntry& entry = own_.entries[index];
    switch (entry.kind) {
      case EntryKind::kCall:
        if (step.kind == StepKind::kCalls) return call(index, step.calls.size());
        if (step.kind == StepKind::kWait || step.kind == StepKind::kAwait) {
          return "wait for " + call(index, 1);
        }
        if (step.kind == StepKind::kRecord) return "end of " + call(index, 1);
        return step.kind == StepKind::kSynchronize ? call(index, 1) : "";
      case EntryKind::kWait:
        if (step.kind != StepKind::kWait && step.kind != StepKind::kAwait) return "";
        return entry.amounts.size() == 1 ? wait_for(entry.amounts.front()) : "wait for calls";
      case EntryKind::kInit:
        return "init_process_group";
      case EntryKind::kNewGroup:
        return "new_group " + members_text(record_.groups[entry.group].ranks);
      case EntryKind::kStoreGet:
        return entry.outside ? "work outside torch.distributed" : "";
      default:
        return "";
    }
  }

 private:
  std::string of_end(const HostStep& step) const {
    if (step.kind != StepKind::kGet) return "";
    return step.name == kEndOfRecord ? "wait at the end of its record" : step.name;
  }

  std::string wait_for(std::int64_t work) const {
    const auto found = of_work_.find(work);
    return found == of_work_.end() ? "" : "wait for " + call(found->second, 1);
  }

  // Names a call, or a batch of calls. `parts`: number of calls in the step.
  std::string call(std::size_t index, std::size_t parts) const {
    const RecordEntry& entry = own_.entries[index];
    const std::string on = " on " + group_text(record_, entry.group);
    const std::string name = (entry.later ? "later " : "") + operation_name(entry.operation);
    if (is_collective(entry.operation)) {
      return name + " #" + std::to_string(entry.number) + on;
    }
    const bool batch =
        entry.batch != kNotSaid && record_.groups[entry.group].under_nccl(host_.rules);
    if (batch && parts > 0) return "batch #" + std::to_string(entry.batch) + " of messages" + on;
    const bool sends = entry.operation == Operation::kSend;
    const std::string peer = entry.any_source ? "any rank" : "rank " + std::to_string(entry.peer);
    std::string text =
        name + " #" + std::to_string(messages_[index]) + (sends ? " to " : " from ") + peer;
    if (entry.tag != 0) text += " with tag " + std::to_string(entry.tag);
    return on == " on the world group" ? text : text + on;
  }

  const Record& record_;
  const RankRecord& own_;
  const HostPrograms& host_;
  // [entry]: its number among the sends or recvs with the same group, peer and tag.
  std::vector<std::int64_t> messages_;
  std::unordered_map<std::int64_t, std::size_t> of_work_;
};

std::vector<std::string> RecordedJob::names_of(std::uint32_t rank) const {
  const EntryNames names(*record_, rank, host());
  std::vector<std::string> result;
  const auto& steps = host().program_of(rank);
  const auto& entries = host().entries[rank];
  result.reserve(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    result.push_back(names.step(host().steps[steps[i]], entries[i]));
  }
  return result;
}

}  // namespace

std::shared_ptr<const Recorded> recorded_job(std::shared_ptr<const Record> record,
                                             RecordRules rules, const TaskGraph& graph) {
  return std::make_shared<RecordedJob>(std::move(record), rules, graph);
}

}  // namespace pipesim::models
