#include "features/record/record_scenario.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "formats/document/value_writer.hpp"
#include "formats/scenario/scenario_text.hpp"
#include "models/graph/operation.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

#include "features/record/fold.hpp"
#include "features/record/implied_waits.hpp"

namespace pipesim::formats {
namespace {

using models::Channel;
using models::FoldedStep;
using models::HostCall;
using models::HostPrograms;
using models::HostStep;
using models::kNotSaid;
using models::RankSet;
using models::Record;
using models::RecordPeer;
using models::RecordRules;
using StepKind = HostStep::Kind;
using Members = std::vector<std::uint32_t>;
using RankPairs = std::vector<std::pair<std::int64_t, std::int64_t>>;  // rank, peer

class RecordWriter {
 public:
  RecordWriter(const Record& record, RecordRules rules, bool for_people)
      : record_(record), programs_(models::host_programs(record, rules)), for_people_(for_people) {
    if (for_people) models::drop_implied_waits(programs_);
  }

  /// Makes the scenario, whose programs refer to this writer.
  ScenarioText scenario(const std::string& name, const models::RecordDoubts& doubts);

 private:
  bool device() const { return programs_.device; }
  std::uint32_t rank_count() const { return static_cast<std::uint32_t>(record_.ranks.size()); }
  const Channel& channel(std::uint32_t index) const { return programs_.channels.all()[index]; }
  bool on_host(std::uint32_t index) const { return channel(index).on_host; }

  std::string about() const;
  void add_parameters(ScenarioText& scenario) const;
  void add_groups(ScenarioText& scenario) const;
  ScenarioMap communicators() const;
  void add_programs(ScenarioText& scenario);
  YamlNode steps(const std::vector<FoldedStep>& folded, const RankSet& on) const;
  std::string event(const HostStep& step) const;
  ScenarioMap action(const HostStep& step, const RankSet& on) const;
  ScenarioMap step(const HostStep& step, const RankSet& on) const;
  ScenarioMap calls(const HostStep& step, const RankSet& on) const;
  ScenarioMap call(const HostCall& call, const RankSet& on) const;
  YamlNode channel_name(std::uint32_t index, std::uint32_t shared, const std::string& before) const;
  YamlNode stream_of(std::uint32_t index, std::uint32_t shared) const;
  YamlNode peer(const HostCall& call, const RankSet& on) const;

  struct Program {
    RankSet on;
    std::vector<FoldedStep> steps;
  };

  const Record& record_;
  HostPrograms programs_;
  bool for_people_;
  std::deque<Program> written_;  // the programs of the scenario
};

// Whether destroy_process_group of this version of torch aborts NCCL's communicators. Other
// versions finalize them.
bool destroy_aborts(const std::string& torch) {
  return torch.starts_with("2.3.") || torch.starts_with("2.4.") || torch.starts_with("2.5.");
}

ScenarioText RecordWriter::scenario(const std::string& name, const models::RecordDoubts& doubts) {
  ScenarioText scenario(name);
  scenario.set("about", YamlNode::text(about()));
  YamlNode sentences = YamlNode::lines();
  for (const std::string& each : doubts.rests_on) sentences.add(YamlNode::text(each));
  scenario.set_any("rests_on", std::move(sentences));
  scenario.set_any("undecided", ScenarioMap()
                                    .optional_text("proved", doubts.proved)
                                    .optional_text("hang", doubts.hang)
                                    .optional_text("possible", doubts.possible));
  add_parameters(scenario);
  if (programs_.destroys) {
    scenario.set_any("nccl", ScenarioMap("case", "nccl").text("2.30", "2.30").text("2.31", "2.31"));
  }
  scenario.set_ranks(rank_count());
  add_groups(scenario);
  scenario.set_any("communicators", communicators());
  add_programs(scenario);
  return scenario;
}

std::string RecordWriter::about() const {
  std::string text = record_.waits_assumed     ? "the calls in dumps of a job"
                     : record_.command.empty() ? "recorded from a script"
                                               : "recorded from " + record_.command;
  const auto& all = programs_.channels.all();
  const bool both = device() && std::any_of(all.begin(), all.end(), [](const Channel& channel) {
                      return channel.used && channel.is_gloo;
                    });
  text += both       ? ", under the rules of NCCL and gloo"
          : device() ? ", under the rules of NCCL"
                     : ", under the rules of gloo";
  if (!record_.torch.empty()) text += fmt::format("; torch {}", record_.torch);
  return text;
}

// Adds a parameter for each setting that NCCL leaves open, and for each fact that dumps do not
// contain.
void RecordWriter::add_parameters(ScenarioText& scenario) const {
  const auto add = [&](const char* name, ScenarioMap fields, const char* about) {
    scenario.add("params", name, std::move(fields.text("about", about)));
  };
  if (record_.waits_assumed) {
    add("waits", ScenarioMap().truth("default", true),
        "on: what follows a call waits for it, as without async_op; off: nothing does");
  }
  if (!device()) return;
  add("lazy", ScenarioMap().truth("default", programs_.lazy),
      "on: the first call makes a communicator; off: it is made at once (device_id=)");
  if (programs_.has_pairs) {
    add("p2p",
        ScenarioMap("default", programs_.lazy ? "pair" : "group")
            .names("one_of", {"pair", "group"}),
        "communicator of sends and recvs outside of a batch: of the pair, or of the group");
  }
  if (programs_.destroys) {
    add("nccl", ScenarioMap().text("default", "2.30").names("one_of", {"2.30", "2.31"}),
        "version of NCCL: from 2.31 on, destroy_process_group waits for the ranks of the host");
  }
  if (programs_.has_kernels) {
    add("kernel", ScenarioMap().add("default", time(5000)), "time of a kernel");
  }
}

void RecordWriter::add_groups(ScenarioText& scenario) const {
  for (const Channel& channel : programs_.channels.all()) {
    if (channel.group != kNotSaid || !channel.used) continue;
    scenario.add("groups", channel.name, group_lists(channel.lists, rank_count()));
  }
}

ScenarioMap RecordWriter::communicators() const {
  ScenarioMap named;
  for (std::uint32_t i = 0; i < programs_.channels.all().size(); ++i) {
    if (!channel(i).used || !on_host(i)) continue;
    const std::uint32_t group = channel(i).group;
    ScenarioMap fields("group", channel(group == kNotSaid ? i : group).name);
    fields.truth(channel(i).is_gloo ? "gloo" : "host", true);
    if (device()) fields.text("creation", "start");
    named.add(channel(i).name, std::move(fields));
  }
  ScenarioMap all;
  if (device()) {
    all.add("creation",
            ScenarioMap().value("case", "lazy").text("on", "first_use").text("off", "start"));
  }
  if (!named.empty()) all.add("named", std::move(named));
  return all;
}

// Adds the programs, sorted by the first rank of each.
void RecordWriter::add_programs(ScenarioText& scenario) {
  // Programs are numbered in the order of their first ranks.
  std::vector<Members> ranks_of(programs_.programs.size());
  for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
    ranks_of[programs_.ranks[rank]].push_back(rank);
  }
  for (std::size_t program = 0; program < ranks_of.size(); ++program) {
    const Program& made = written_.emplace_back(
        Program{RankSet(ranks_of[program]), models::fold_loops(programs_.programs[program])});
    ScenarioMap fields;
    if (made.on.size() != rank_count()) fields.add("on", ranks(made.on, rank_count()));
    fields.add("do", steps(made.steps, made.on));
    scenario.add("programs", std::move(fields));
  }
}

YamlNode RecordWriter::steps(const std::vector<FoldedStep>& folded, const RankSet& on) const {
  const auto made = [this, &folded, &on](std::size_t index) -> YamlNode {
    const FoldedStep& item = folded[index];
    if (item.block.empty()) return step(programs_.steps[item.step], on);
    ScenarioMap loop;
    return loop.number("repeat", static_cast<std::int64_t>(item.times))
        .add("do", steps(item.block, on));
  };
  if (!for_people_) return YamlNode::made(folded.size(), made);
  YamlNode list = YamlNode::lines();  // only the keys of a step share lines
  for (std::size_t i = 0; i < folded.size(); ++i) list.add(made(i));
  return list;
}

// Returns the name of a channel. If parameter p2p chooses between the pair's and the group's
// channel, returns the choice.
YamlNode RecordWriter::channel_name(std::uint32_t index, std::uint32_t shared,
                                    const std::string& before) const {
  const auto name = [&](std::uint32_t of) { return YamlNode::text(before + channel(of).name); };
  if (shared == kNotSaid) return name(index);
  return ScenarioMap().value("case", "p2p").add("pair", name(index)).add("group", name(shared));
}

YamlNode RecordWriter::stream_of(std::uint32_t index, std::uint32_t shared) const {
  return channel_name(index, shared, on_host(index) ? "" : "nccl ");
}

std::string RecordWriter::event(const HostStep& step) const {
  const bool own = step.channel == kNotSaid;
  return own ? std::string(step.name)
             : fmt::format("work {} of {}", step.slot, channel(step.channel).name);
}

// Returns the action of a step, without its name and place.
ScenarioMap RecordWriter::action(const HostStep& step, const RankSet& on) const {
  const bool of_channel = step.channel != kNotSaid;
  // Adds the stream of a kernel or event outside of channels, unless it is the default.
  const auto on_stream = [&](ScenarioMap fields) {
    return step.stream == "compute" ? fields : fields.text("stream", step.stream);
  };
  switch (step.kind) {
    case StepKind::kCalls:
      return calls(step, on);
    case StepKind::kCompute:
      return on_stream(ScenarioMap("compute", "kernels")
                           .value("takes", step.number == 1
                                               ? "kernel"
                                               : fmt::format("{} * kernel", step.number)));
    case StepKind::kRecord: {
      ScenarioMap record("record", event(step));
      if (!of_channel) return on_stream(std::move(record));
      return record.add("stream", stream_of(step.channel, step.shared));
    }
    case StepKind::kWait:
      return on_stream(ScenarioMap("wait", event(step)));
    case StepKind::kAwait:
      return ScenarioMap("await", event(step));
    case StepKind::kSynchronize:
      if (of_channel) return ScenarioMap().add("synchronize", stream_of(step.channel, step.shared));
      return ScenarioMap("synchronize", step.stream.empty() ? "device" : step.stream);
    case StepKind::kCreate:
      return ScenarioMap("create", channel(step.channel).name);
    case StepKind::kSplit:
      return ScenarioMap("split", channel(step.channel).name);
    case StepKind::kDestroy: {
      ScenarioMap destroy(destroy_aborts(record_.torch) ? "abort" : "finalize",
                          channel(step.channel).name);
      if (step.number == 0) return destroy;
      return destroy.value("when", step.number == 1 ? "p2p == 'pair'" : "p2p == 'group'");
    }
    case StepKind::kSet:
      return ScenarioMap("set", step.name);
    case StepKind::kGet: {
      ScenarioMap get("get", step.name);
      return step.number == 1 ? get : get.number("times", step.number);
    }
    case StepKind::kRaise:
      return ScenarioMap("raise", step.name);
    case StepKind::kExit:
      return ScenarioMap().number("exit", step.number);
  }
  return {};
}

ScenarioMap RecordWriter::step(const HostStep& step, const RankSet& on) const {
  ScenarioMap fields = action(step, on);
  // A step that only belongs to a call, such as the record of its event, gets no name.
  if (step.later && (step.kind == StepKind::kCreate || step.kind == StepKind::kSplit)) {
    fields.text("name", "later new_group");
  } else if (step.later && !step.calls.empty()) {
    fields.text("name", "later " + operation_name(step.calls.front().operation));
  }
  if (step.assumed && step.kind != StepKind::kCalls) fields.value("when", "waits");
  if (step.place != kNotSaid) {
    const std::string thread = step.thread.empty() ? "" : ", thread '" + step.thread + "'";
    fields.text("at", record_.place_of(step.place) + thread);
  }
  return fields;
}

ScenarioMap RecordWriter::calls(const HostStep& step, const RankSet& on) const {
  ScenarioMap fields;
  if (step.calls.size() == 1) {
    fields = call(step.calls.front(), on);
  } else {
    YamlNode list = YamlNode::list();
    for (const HostCall& each : step.calls) list.add(call(each, on));
    fields.add("group", std::move(list));
  }
  if (on_host(step.channel)) {
    if (step.assumed) fields.value("blocking", "waits");
    if (!step.blocking) fields.truth("blocking", false);
  }
  if (!step.stream.empty()) fields.names("after", {step.stream});
  return fields;
}

ScenarioMap RecordWriter::call(const HostCall& call, const RankSet& on) const {
  ScenarioMap fields;
  fields.add(operation_name(call.operation), channel_name(call.channel, call.shared, ""));
  if (call.peer.kind != RecordPeer::Kind::kNone) {
    fields.add(peer_key(call.operation), peer(call, on));
  }
  if (call.bytes != 0 || call.sized) fields.add("bytes", bytes(call.bytes));
  return fields.optional_text("type", call.type);
}

bool fits(const RankPairs& pairs, const std::function<std::int64_t(std::int64_t)>& value) {
  return std::all_of(pairs.begin(), pairs.end(),
                     [&](const auto& pair) { return value(pair.first) == pair.second; });
}

// Returns the peer among `count` ranks as an expression that is right for all pairs, or nullopt if
// there is no such expression.
std::optional<YamlNode> plain_peer(const RankPairs& pairs, std::int64_t count) {
  const auto [first, peer] = pairs.front();
  const std::int64_t distance = peer - first;
  const std::int64_t sum = first + peer;
  const std::int64_t forward = (distance % count + count) % count;
  if (fits(pairs, [&, &only = peer](std::int64_t) { return only; })) return number(peer);
  if (fits(pairs, [&](std::int64_t rank) { return rank + distance; })) {
    return YamlNode::value(distance < 0   ? fmt::format("rank - {}", -distance)
                           : distance > 0 ? fmt::format("rank + {}", distance)
                                          : "rank");
  }
  if (fits(pairs, [&](std::int64_t rank) { return (rank + forward) % count; })) {
    return YamlNode::value(fmt::format("(rank + {}) % ranks", forward));
  }
  if (fits(pairs, [&](std::int64_t rank) { return sum - rank; })) {
    return YamlNode::value(fmt::format("{} - rank", sum));
  }
  return std::nullopt;
}

// Returns the peer as an expression for groups of `size` ranks that are `stride` apart, or nullopt
// if it is not right for all pairs.
std::optional<YamlNode> regular_peer(const RankPairs& pairs, const Members& list,
                                     const RecordPeer& peer) {
  const auto size = static_cast<std::int64_t>(list.size());
  const std::int64_t stride =
      size > 1 ? static_cast<std::int64_t>(list[1]) - static_cast<std::int64_t>(list[0]) : 1;
  if (stride <= 0) return std::nullopt;
  const auto value = static_cast<std::int64_t>(peer.value);
  const bool position = peer.kind == RecordPeer::Kind::kPosition;
  const auto regular = [&](std::int64_t rank) {
    const std::int64_t own = rank / stride % size;
    return rank + ((position ? value : (own + value) % size) - own) * stride;
  };
  if (!fits(pairs, regular)) return std::nullopt;
  const std::string own =
      stride == 1 ? fmt::format("rank % {}", size) : fmt::format("rank / {} % {}", stride, size);
  const std::string wanted =
      position ? std::to_string(value) : fmt::format("({} + {}) % {}", own, value, size);
  const std::string times = stride == 1 ? "" : fmt::format(" * {}", stride);
  if (wanted == "0") return YamlNode::value(fmt::format("rank - {}{}", own, times));
  return YamlNode::value(fmt::format("rank + ({} - {}){}", wanted, own, times));
}

// Returns the simplest expression of the peer that is right for all ranks of `on`.
YamlNode RecordWriter::peer(const HostCall& call, const RankSet& on) const {
  if (call.peer.kind == RecordPeer::Kind::kAny) return YamlNode::text("any");
  const Channel& of = channel(call.channel);
  RankPairs pairs;
  for (const std::uint32_t rank : on) {
    pairs.emplace_back(rank, call.peer.of(rank, *of.list_of(rank)));
  }
  if (auto plain = plain_peer(pairs, rank_count())) return std::move(*plain);
  if (auto regular = regular_peer(pairs, of.lists.front(), call.peer)) return std::move(*regular);
  ScenarioMap choice;
  choice.value("case", "rank");
  for (const auto& [rank, wanted] : pairs) choice.number(std::to_string(rank), wanted);
  return choice;
}

}  // namespace

std::string record_scenario(const Record& record, RecordRules rules, const std::string& name,
                            const models::RecordDoubts& doubts, bool for_people) {
  RecordWriter writer(record, rules, for_people);
  return writer.scenario(name, doubts).take_text(for_people);
}

std::optional<YamlDocument> record_document(const Record& record, RecordRules rules,
                                            const std::string& name,
                                            const models::RecordDoubts& doubts) {
  RecordWriter writer(record, rules, false);
  return writer.scenario(name, doubts).take_tree();
}

}  // namespace pipesim::formats
