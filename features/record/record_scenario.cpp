#include "features/record/record_scenario.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "formats/document/value_writer.hpp"
#include "formats/document/versions.hpp"
#include "formats/document/yaml_writer.hpp"
#include "models/graph/operation.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

#include "features/record/fold.hpp"

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
  RecordWriter(const Record& record, RecordRules rules)
      : record_(record), programs_(models::host_programs(record, rules)) {}

  std::string run(const std::string& name, const models::RecordDoubts& doubts);

 private:
  bool device() const { return programs_.device; }
  std::uint32_t rank_count() const { return static_cast<std::uint32_t>(record_.ranks.size()); }
  const Channel& channel(std::uint32_t index) const { return programs_.channels.all()[index]; }
  bool on_host(std::uint32_t index) const { return channel(index).on_host; }

  std::string about() const;
  YamlNode parameters() const;
  YamlNode groups() const;
  YamlNode communicators() const;
  YamlNode programs() const;
  YamlNode steps(const std::vector<FoldedStep>& folded, const RankSet& on) const;
  YamlNode event(const HostStep& step) const;
  static void add_stream(YamlNode& map, const HostStep& step);
  YamlNode action(const HostStep& step, const RankSet& on) const;
  YamlNode step(const HostStep& step, const RankSet& on) const;
  YamlNode calls(const HostStep& step, const RankSet& on) const;
  void add_call(YamlNode& map, const HostCall& call, const RankSet& on) const;
  YamlNode channel_name(std::uint32_t index, std::uint32_t shared, const std::string& before) const;
  YamlNode stream_of(std::uint32_t index, std::uint32_t shared) const;
  YamlNode peer(const HostCall& call, const RankSet& on) const;

  const Record& record_;
  HostPrograms programs_;
};

std::string RecordWriter::run(const std::string& name, const models::RecordDoubts& doubts) {
  YamlNode top = YamlNode::map();
  const auto add = [&top](const char* key, YamlNode value) {
    if (!value.empty()) top.add(key, std::move(value));
  };
  top.add("schema", YamlNode::value(kScenarioSchema));
  if (!name.empty()) top.add("name", YamlNode::text(name));
  top.add("about", YamlNode::text(about()));
  YamlNode sentences = YamlNode::lines();
  for (const std::string& each : doubts.rests_on) sentences.add(YamlNode::text(each));
  add("rests_on", std::move(sentences));
  YamlNode undecided = YamlNode::map();
  if (!doubts.proved.empty()) undecided.add("proved", YamlNode::text(doubts.proved));
  if (!doubts.hang.empty()) undecided.add("hang", YamlNode::text(doubts.hang));
  if (!doubts.possible.empty()) undecided.add("possible", YamlNode::text(doubts.possible));
  add("undecided", std::move(undecided));
  add("params", parameters());
  top.add("ranks", number(rank_count()));
  add("groups", groups());
  add("communicators", communicators());
  top.add("programs", programs());
  return top.document({"rests_on", "undecided", "params", "groups", "communicators", "programs"});
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

// Returns the parameters: only settings that NCCL leaves open, and facts that dumps do not contain.
YamlNode RecordWriter::parameters() const {
  YamlNode all = YamlNode::map();
  const auto add = [&](const char* name, YamlNode value, const char* about) {
    YamlNode map = YamlNode::map();
    map.add("default", std::move(value));
    if (std::string_view(name) == "p2p") {
      YamlNode words = YamlNode::list();
      words.add(YamlNode::text("pair"));
      words.add(YamlNode::text("group"));
      map.add("one_of", std::move(words));
    }
    map.add("about", YamlNode::text(about));
    all.add(name, std::move(map));
  };
  if (record_.waits_assumed) {
    add("waits", truth(true),
        "on: what follows a call waits for it, as without async_op; off: nothing does");
  }
  if (!device()) return all;
  add("lazy", truth(programs_.lazy),
      "on: the first call makes a communicator; off: it is made at once (device_id=)");
  if (programs_.has_pairs) {
    add("p2p", YamlNode::text(programs_.lazy ? "pair" : "group"),
        "communicator of sends and recvs outside of a batch: of the pair, or of the group");
  }
  if (programs_.has_kernels) add("kernel", time(5000), "time of a kernel");
  return all;
}

YamlNode RecordWriter::groups() const {
  YamlNode all = YamlNode::map();
  for (const Channel& channel : programs_.channels.all()) {
    const bool own = channel.group == kNotSaid;
    if (own && channel.used) all.add(channel.name, group_lists(channel.lists, rank_count()));
  }
  return all;
}

YamlNode RecordWriter::communicators() const {
  YamlNode map = YamlNode::map();
  YamlNode named = YamlNode::map();
  for (std::uint32_t i = 0; i < programs_.channels.all().size(); ++i) {
    if (!channel(i).used || !on_host(i)) continue;
    YamlNode fields = YamlNode::map();
    const std::uint32_t group = channel(i).group;
    fields.add("group", YamlNode::text(channel(group == kNotSaid ? i : group).name));
    fields.add(channel(i).is_gloo ? "gloo" : "host", truth(true));
    if (device()) fields.add("creation", YamlNode::text("start"));
    named.add(channel(i).name, std::move(fields));
  }
  if (device()) {
    YamlNode when = YamlNode::map();
    when.add("case", YamlNode::value("lazy"));
    when.add("on", YamlNode::text("first_use"));
    when.add("off", YamlNode::text("start"));
    map.add("creation", std::move(when));
  }
  if (!named.empty()) map.add("named", std::move(named));
  return map;
}

// Returns the programs, sorted by the first rank of each.
YamlNode RecordWriter::programs() const {
  std::map<Members, Members> ranks_of;  // ranks by program
  for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
    ranks_of[programs_.ranks[rank]].push_back(rank);
  }
  std::vector<std::pair<Members, const Members*>> ordered;  // ranks, program
  for (const auto& [program, ranks] : ranks_of) ordered.emplace_back(ranks, &program);
  std::sort(ordered.begin(), ordered.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  YamlNode list = YamlNode::list();
  for (const auto& [members, program] : ordered) {
    const RankSet on(members);
    YamlNode map = YamlNode::map();
    if (on.size() != rank_count()) map.add("on", ranks(on, rank_count()));
    map.add("do", steps(models::fold_loops(*program), on));
    list.add(std::move(map));
  }
  return list;
}

YamlNode RecordWriter::steps(const std::vector<FoldedStep>& folded, const RankSet& on) const {
  YamlNode list = YamlNode::list();
  for (const FoldedStep& item : folded) {
    if (item.block.empty()) {
      list.add(step(programs_.steps[item.step], on));
      continue;
    }
    YamlNode map = YamlNode::map();
    map.add("repeat", number(static_cast<std::int64_t>(item.times)));
    map.add("do", steps(item.block, on));
    list.add(std::move(map));
  }
  return list;
}

// Returns the name of a channel. If parameter p2p chooses between the pair's and the group's
// channel, returns the choice.
YamlNode RecordWriter::channel_name(std::uint32_t index, std::uint32_t shared,
                                    const std::string& before) const {
  const auto name = [&](std::uint32_t of) { return YamlNode::text(before + channel(of).name); };
  if (shared == kNotSaid) return name(index);
  YamlNode choice = YamlNode::map();
  choice.add("case", YamlNode::value("p2p"));
  choice.add("pair", name(index));
  choice.add("group", name(shared));
  return choice;
}

YamlNode RecordWriter::stream_of(std::uint32_t index, std::uint32_t shared) const {
  return channel_name(index, shared, on_host(index) ? "" : "nccl ");
}

YamlNode RecordWriter::event(const HostStep& step) const {
  const bool own = step.channel == kNotSaid;
  return YamlNode::text(own ? step.name
                            : fmt::format("work {} of {}", step.slot, channel(step.channel).name));
}

// Adds the stream of a kernel or event outside of channels. The default, `compute`, is not written.
void RecordWriter::add_stream(YamlNode& map, const HostStep& step) {
  if (step.stream != "compute") map.add("stream", YamlNode::text(step.stream));
}

// Returns the action of a step, without its name and place.
YamlNode RecordWriter::action(const HostStep& step, const RankSet& on) const {
  YamlNode map = YamlNode::map();
  const bool of_channel = step.channel != kNotSaid;
  switch (step.kind) {
    case StepKind::kCalls:
      return calls(step, on);
    case StepKind::kCompute:
      map.add("compute", YamlNode::text("kernels"));
      map.add("takes", YamlNode::value(step.number == 1 ? "kernel"
                                                        : fmt::format("{} * kernel", step.number)));
      add_stream(map, step);
      break;
    case StepKind::kRecord:
      map.add("record", event(step));
      if (of_channel) map.add("stream", stream_of(step.channel, step.shared));
      if (!of_channel) add_stream(map, step);
      break;
    case StepKind::kWait:
      map.add("wait", event(step));
      add_stream(map, step);
      break;
    case StepKind::kAwait:
      map.add("await", event(step));
      break;
    case StepKind::kSynchronize:
      map.add("synchronize", of_channel
                                 ? stream_of(step.channel, step.shared)
                                 : YamlNode::text(step.stream.empty() ? "device" : step.stream));
      break;
    case StepKind::kCreate:
      map.add("create", YamlNode::text(channel(step.channel).name));
      break;
    case StepKind::kSplit:
      map.add("split", YamlNode::text(channel(step.channel).name));
      break;
    case StepKind::kSet:
      map.add("set", YamlNode::text(step.name));
      break;
    case StepKind::kGet:
      map.add("get", YamlNode::text(step.name));
      if (step.number != 1) map.add("times", number(step.number));
      break;
    case StepKind::kRaise:
      map.add("raise", YamlNode::text(step.name));
      break;
    case StepKind::kExit:
      map.add("exit", number(step.number));
      break;
  }
  return map;
}

YamlNode RecordWriter::step(const HostStep& step, const RankSet& on) const {
  YamlNode map = action(step, on);
  // Steps that belong to a call, such as the record of its event, get no name.
  if (step.later && (step.kind == StepKind::kCreate || step.kind == StepKind::kSplit)) {
    map.add("name", YamlNode::text("later new_group"));
  } else if (step.later && !step.calls.empty()) {
    map.add("name", YamlNode::text("later " + operation_name(step.calls.front().operation)));
  }
  if (step.assumed && step.kind != StepKind::kCalls) map.add("when", YamlNode::value("waits"));
  if (step.place != kNotSaid) {
    std::string at = record_.place_of(step.place);
    if (!step.thread.empty()) at += ", thread '" + step.thread + "'";
    map.add("at", YamlNode::text(at));
  }
  return map;
}

YamlNode RecordWriter::calls(const HostStep& step, const RankSet& on) const {
  YamlNode map = YamlNode::map();
  if (step.calls.size() == 1) {
    add_call(map, step.calls.front(), on);
  } else {
    YamlNode list = YamlNode::list();
    for (const HostCall& call : step.calls) {
      YamlNode fields = YamlNode::map();
      add_call(fields, call, on);
      list.add(std::move(fields));
    }
    map.add("group", std::move(list));
  }
  if (on_host(step.channel)) {
    if (step.assumed) map.add("blocking", YamlNode::value("waits"));
    if (!step.blocking) map.add("blocking", truth(false));
  }
  if (!step.stream.empty()) {
    YamlNode streams = YamlNode::list();
    streams.add(YamlNode::text(step.stream));
    map.add("after", std::move(streams));
  }
  return map;
}

void RecordWriter::add_call(YamlNode& map, const HostCall& call, const RankSet& on) const {
  map.add(operation_name(call.operation), channel_name(call.channel, call.shared, ""));
  if (call.peer.kind != RecordPeer::Kind::kNone) {
    const char* key = call.operation == models::Operation::kSend      ? "to"
                      : call.operation == models::Operation::kReceive ? "from"
                                                                      : "root";
    map.add(key, peer(call, on));
  }
  if (call.bytes != 0 || call.sized) map.add("bytes", bytes(call.bytes));
  if (!call.type.empty()) map.add("type", YamlNode::text(call.type));
}

bool fits(const RankPairs& pairs, const std::function<std::int64_t(std::int64_t)>& value) {
  return std::all_of(pairs.begin(), pairs.end(),
                     [&](const auto& pair) { return value(pair.first) == pair.second; });
}

// Returns the peer among `count` ranks as an expression that fits all ranks, or nullopt if there is
// no such expression.
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

// Returns the peer in groups of `size` ranks that are `stride` apart, if such an expression fits.
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

// Returns the shortest expression of the peer that fits all ranks of `on`.
YamlNode RecordWriter::peer(const HostCall& call, const RankSet& on) const {
  if (call.peer.kind == RecordPeer::Kind::kAny) return YamlNode::text("any");
  const Channel& of = channel(call.channel);
  RankPairs pairs;
  for (const std::uint32_t rank : on) {
    pairs.emplace_back(rank, call.peer.of(rank, *of.list_of(rank)));
  }
  if (auto plain = plain_peer(pairs, rank_count())) return std::move(*plain);
  if (auto regular = regular_peer(pairs, of.lists.front(), call.peer)) return std::move(*regular);
  YamlNode choice = YamlNode::map();
  choice.add("case", YamlNode::value("rank"));
  for (const auto& [rank, wanted] : pairs) choice.add(std::to_string(rank), number(wanted));
  return choice;
}

}  // namespace

std::string record_scenario(const Record& record, RecordRules rules, const std::string& name,
                            const models::RecordDoubts& doubts) {
  return RecordWriter(record, rules).run(name, doubts);
}

}  // namespace pipesim::formats
