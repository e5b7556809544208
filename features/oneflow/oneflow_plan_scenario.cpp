// Converts plans to scenarios. A plan has a task for each op and rank; an actor of a scenario
// covers many ranks. Tasks share an actor if their name, kind, stream and counts are equal. Reads
// and credits may differ between the ranks of an actor.
#include "features/oneflow/oneflow_plan_scenario.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/document/value_writer.hpp"
#include "formats/scenario/scenario_text.hpp"
#include "models/graph/operation.hpp"

namespace pipesim::formats {
namespace {

using models::Diagnostics;
using models::Operation;

// The form of a task type in a scenario. Durations are parameters with made-up defaults, because a
// plan has no times.
struct TaskKind {
  std::string_view type;
  std::string_view kind;
  std::string_view parameter;
  std::string_view stream;  // name of a thread with such tasks
};

constexpr std::array<TaskKind, 30> kTaskKinds = {{
    {"kNormalForward", "compute", "t_op", "COMPUTE"},
    {"kCopyHd", "copy", "t_copy", "COPY"},
    {"kCopyCommNet", "comm_net", "t_comm_net", "COMM_NET"},
    {"kDeviceTick", "tick", "t_tick", "COMPUTE"},
    {"kPack", "pack", "t_boxing", "COMPUTE"},
    {"kUnpack", "unpack", "t_boxing", "COMPUTE"},
    {"kRepeat", "repeat", "t_repeat", "COMPUTE"},
    {"kAcc", "accumulate", "t_acc", "COMPUTE"},
    {"kSrcSubsetTick", "tick", "t_tick", "TICK"},
    {"kDstSubsetTick", "tick", "t_tick", "TICK"},
    {"kSourceTick", "source_tick", "t_tick", "TICK"},
    {"kTick", "tick", "t_tick", "TICK"},
    {"kAccTick", "acc_tick", "t_tick", "COMPUTE"},
    {"kWaitAndSendIds", "wait_and_send_ids", "t_tick", "WAIT_AND_SEND_IDS"},
    {"kCriticalSectionWaitTick", "critical_section_wait", "t_tick", "CRITICAL_SECTION"},
    {"kCallbackNotify", "callback_notify", "t_tick", "CALLBACK_NOTIFY"},
    {"kForeignInput", "compute", "t_tick", "FOREIGN_INPUT"},
    {"kForeignOutput", "compute", "t_tick", "FOREIGN_OUTPUT"},
    {"kDistributeConcat", "compute", "t_boxing", "COMPUTE"},
    {"kDistributeSplit", "compute", "t_boxing", "COMPUTE"},
    {"kSliceBoxing", "compute", "t_boxing", "COMPUTE"},
    {"kCollectiveBoxingGeneric", "collective_boxing", "t_collective", "NCCL"},
    {"kCollectiveBoxingPack", "compute", "t_boxing", "COMPUTE"},
    {"kCollectiveBoxingUnpack", "compute", "t_boxing", "COMPUTE"},
    {"kBoxingIdentity", "compute", "t_boxing", "COMPUTE"},
    {"kBoxingZeros", "zeros", "t_zeros", "COMPUTE"},
    {"kNcclSendRecvBoxing", "compute", "t_collective", "COMPUTE"},
    {"kDecodeH2D", "copy", "t_copy", "DECODE_H2D"},
    {"kSspVariableProxy", "compute", "t_op", "COMPUTE"},
    {"kAccCtrlTick", "compute", "t_tick", "COMPUTE"},
}};

// Default values of the duration parameters. A scenario gets only the parameters that it uses.
struct Duration {
  std::string_view parameter;
  std::string_view value;
  std::string_view about;
};

constexpr std::array<Duration, 10> kDurations = {{
    {"t_op", "10us", "an op that computes"},
    {"t_collective", "10us", "a collective"},
    {"t_copy", "2us", "a copy between host and device"},
    {"t_comm_net", "5us", "a copy from another rank"},
    {"t_boxing", "2us", "slices, packs and other boxing"},
    {"t_buffer", "1us", "a buffer between stages"},
    {"t_repeat", "1us", "a repeat"},
    {"t_acc", "1us", "an accumulate"},
    {"t_zeros", "1us", "zeros that stand in for a tensor"},
    {"t_tick", "0us", "what only gives order"},
}};

// Returns the collective of an op; nullopt for other ops.
std::optional<Operation> collective_of(const PlanTask& task) {
  const std::string& op = task.op_type;
  const bool logical = op.rfind("_nccl_logical", 0) == 0;
  if (!logical && task.type != "kCollectiveBoxingGeneric") return std::nullopt;
  if (op.find("s2s") != std::string::npos) return Operation::kAllToAll;
  const std::optional<Operation> found = models::operation_in(op);
  // Members of other collectives also enter together, as in a barrier.
  return found && models::is_collective(*found) ? *found : Operation::kBarrier;
}

std::string collective_name(const PlanTask& task) {
  const std::optional<Operation> operation = collective_of(task);
  return operation ? models::operation_name(*operation) : "";
}

constexpr std::int64_t kCpu = 1;

std::int64_t device_type(const PlanTask& task) { return task.thread >> 19 & 31; }

// Whether the task runs on the host. Since 2021, `thread` consists of rank, device and stream.
// Older numbers do not show the device.
bool is_on_host(const PlanTask& task) {
  return task.thread >> 24 == static_cast<std::int64_t>(task.rank) && device_type(task) == kCpu;
}

TaskKind kind_of(const PlanTask& task) {
  const auto known = std::find_if(kTaskKinds.begin(), kTaskKinds.end(),
                                  [&](const TaskKind& kind) { return kind.type == task.type; });
  TaskKind kind = known == kTaskKinds.end() ? kTaskKinds.front() : *known;
  if (task.op_type == "identity_buffer") {
    kind.kind = "buffer";
    kind.parameter = "t_buffer";
  }
  if (collective_of(task)) kind.parameter = "t_collective";
  return kind;
}

bool counts(std::string_view kind) {
  return kind == "repeat" || kind == "unpack" || kind == "accumulate" || kind == "pack" ||
         kind == "acc_tick";
}

// The name of a register in the reads of actors.
struct Label {
  std::uint32_t task = 0;
  std::uint32_t number = 0;  // 0: `out`, or `ctrl`
  bool control = false;

  std::string text() const {
    const std::string name = control ? "ctrl" : "out";
    return number == 0 ? name : fmt::format("{}_{}", name, number + 1);
  }
};

struct Read {
  std::string from;
  std::string label;
  bool control = false;
  std::int64_t away = 0;  // rank of the producer minus rank of the reader
  std::vector<std::uint32_t> ranks;
  // Whether the reader's first output uses the memory of the register. Such a read comes first.
  bool in_place = false;
};

struct Actor {
  std::string name;
  std::vector<std::uint32_t> tasks;  // sorted by rank
  std::vector<Read> reads;
};

class PlanWriter {
 public:
  PlanWriter(const OneflowPlan& plan, Diagnostics& diagnostics)
      : plan_(plan), diagnostics_(diagnostics) {}

  std::optional<std::string> run(const std::string& name);

 private:
  const PlanTask& task(std::uint32_t index) const { return plan_.tasks[index]; }

  void label_registers();
  void find_readers();
  void count();
  void name_threads();
  void make_actors();
  void check_collectives();
  void warn_of_types();
  void add_params(ScenarioText& scenario) const;
  void add_groups(ScenarioText& scenario) const;
  void add_streams(ScenarioText& scenario) const;
  void find_reads(Actor& actor) const;
  std::int64_t times_of(std::uint32_t index) const;
  std::int64_t shape_ratio(const PlanTask& task) const;
  std::string count_text(std::int64_t value) const;
  std::string source_of(std::uint32_t index) const;
  std::optional<std::int64_t> in_place_of(const PlanTask& task) const;
  std::string signature(std::uint32_t index) const;
  std::vector<std::vector<std::uint32_t>> group_of(const Actor& actor) const;
  std::string group_name(const Actor& actor);
  YamlNode slots_of(const std::map<std::uint32_t, std::int64_t>& by_rank) const;
  YamlNode ranks_text(const std::vector<std::uint32_t>& ranks) const;
  void add_registers(const Actor& actor, ScenarioMap& fields) const;
  void add_reads(const Actor& actor, ScenarioMap& fields) const;
  ScenarioMap actor_fields(const Actor& actor);
  std::vector<std::uint32_t> ranks_of(const Actor& actor) const;

  const OneflowPlan& plan_;
  Diagnostics& diagnostics_;
  std::uint32_t ranks_ = 0;
  std::int64_t acc_ = 0;                  // micro-batches; 0: not given
  std::vector<std::uint32_t> order_;      // tasks in plan order
  std::map<std::int64_t, Label> labels_;  // labels by register id
  std::set<std::int64_t> read_;           // registers with a consumer
  std::vector<std::string> streams_;      // stream of each task
  std::vector<std::uint32_t> actor_of_;   // actor of each task
  std::vector<Actor> actors_;
  using Lists = std::vector<std::vector<std::uint32_t>>;
  std::vector<std::pair<std::string, Lists>> groups_;
  std::map<Lists, std::string> group_names_;
};

// Finds the registers with a consumer. The scenario omits other registers, because they block
// nothing.
void PlanWriter::find_readers() {
  for (const PlanTask& task : plan_.tasks) {
    for (const PlanTask::Taken& taken : task.takes) {
      read_.insert(taken.id);
      if (labels_.count(taken.id) > 0) continue;
      diagnostics_
          .error(taken.place, models::Code::kPlanTasks,
                 fmt::format("no task produces register {}", taken.id))
          .notes.emplace_back("the plan has to have the tasks of all ranks");
    }
  }
}

void PlanWriter::label_registers() {
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    for (const PlanRegister& reg : task(i).registers) {
      if (labels_.emplace(reg.id, Label{i, 0, reg.control}).second) continue;
      diagnostics_.error(task(i).place, models::Code::kPlanTasks,
                         fmt::format("register {} is already produced by another task", reg.id));
    }
  }
  find_readers();
  for (const PlanTask& task : plan_.tasks) {
    std::array<std::uint32_t, 2> next = {0, 0};
    for (const PlanRegister& reg : task.registers) {
      if (read_.count(reg.id) > 0) labels_[reg.id].number = next[reg.control ? 1 : 0]++;
    }
  }
}

// Returns the ratio between the task's inputs and outputs per step (the larger number divided by
// the smaller one), or 0 if the plan does not give these numbers.
std::int64_t PlanWriter::shape_ratio(const PlanTask& task) const {
  std::int64_t out = 0;
  std::int64_t in = 0;
  for (const PlanRegister& reg : task.registers) {
    if (!reg.control) out = std::max(out, reg.ops);
  }
  for (const PlanTask::Taken& taken : task.takes) {
    const Label& label = labels_.at(taken.id);
    if (label.control) continue;
    for (const PlanRegister& reg : plan_.tasks[label.task].registers) {
      if (reg.id == taken.id) in = std::max(in, reg.ops);
    }
  }
  if (out == 0 || in == 0) return 0;
  return std::max(out / in, in / out);
}

std::int64_t PlanWriter::times_of(std::uint32_t index) const {
  if (!counts(kind_of(task(index)).kind)) return 0;
  return task(index).times > 0 ? task(index).times : shape_ratio(task(index));
}

void PlanWriter::count() {
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    ranks_ = std::max(ranks_, task(i).rank + 1);
    acc_ = std::max(acc_, times_of(i));
    order_.push_back(i);
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return task(a).order < task(b).order; });
}

// Gives streams names that all ranks share, so that an actor can cover many ranks. A thread's
// number contains the rank, and its last part depends on which stream was created first.
void PlanWriter::name_threads() {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::string> names;
  for (const std::uint32_t i : order_) {
    std::string& name = names[{task(i).rank, task(i).thread}];
    if (!task(i).stream_hint.empty()) name = task(i).stream_hint;
    if (!name.empty()) continue;
    name = kind_of(task(i)).stream;
    if (name == "COMPUTE" && is_on_host(task(i))) name = "CPU_COMPUTE";
    if (name == "COPY" && !task(i).op_type.empty()) name = task(i).op_type;
  }
  std::set<std::pair<std::uint32_t, std::string>> taken;
  for (auto& [key, name] : names) {
    const std::string plain = models::printable(name);
    name = plain;
    for (int n = 2; !taken.emplace(key.first, name).second; ++n) {
      name = fmt::format("{}_{}", plain, n);
    }
  }
  for (const PlanTask& task : plan_.tasks) streams_.push_back(names[{task.rank, task.thread}]);
}

std::string PlanWriter::count_text(std::int64_t value) const {
  return value == acc_ || value == 0 ? "acc" : std::to_string(value);
}

// Returns the number of times that a task without inputs executes; empty for other tasks.
std::string PlanWriter::source_of(std::uint32_t index) const {
  if (!task(index).takes.empty()) return {};
  const std::string_view kind = kind_of(task(index)).kind;
  if (kind == "repeat" || kind == "unpack") return count_text(times_of(index));
  std::int64_t ops = 1;
  for (const PlanRegister& reg : task(index).registers) ops = std::max(ops, reg.ops);
  return ops == 1 ? "1" : count_text(ops);
}

// Returns the consumed register whose memory holds the op's first output; nullopt if there is none.
std::optional<std::int64_t> PlanWriter::in_place_of(const PlanTask& task) const {
  if (kind_of(task).kind != "compute") return std::nullopt;
  for (const PlanRegister& reg : task.registers) {
    if (reg.control || !reg.in_place_of || read_.count(reg.id) == 0) continue;
    if (labels_.at(reg.id).number != 0) continue;
    for (const PlanTask::Taken& taken : task.takes) {
      if (taken.id == *reg.in_place_of) return taken.id;
    }
  }
  return std::nullopt;
}

// Returns the properties that all tasks of an actor share.
std::string PlanWriter::signature(std::uint32_t index) const {
  return fmt::format("{} {} {} {} {} {} {}", kind_of(task(index)).kind, streams_[index],
                     times_of(index), source_of(index), collective_name(task(index)),
                     in_place_of(task(index)).has_value(), kind_of(task(index)).parameter);
}

void PlanWriter::make_actors() {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> known;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> on_rank;
  std::set<std::string> names;
  actor_of_.resize(plan_.tasks.size());
  for (const std::uint32_t i : order_) {
    std::string name = task(i).op;
    if (name.empty()) name = fmt::format("{}_{}", task(i).type, task(i).id);
    const std::string equal = signature(i);
    const std::uint32_t copy = on_rank[{name, equal, task(i).rank}]++;
    const auto [at, is_new] =
        known.emplace(std::tuple(name, equal, copy), static_cast<std::uint32_t>(actors_.size()));
    if (is_new) {
      std::string own = name;
      for (int n = 2; !names.insert(own).second; ++n) own = fmt::format("{}_{}", name, n);
      actors_.push_back({std::move(own), {}, {}});
    }
    actors_[at->second].tasks.push_back(i);
    actor_of_[i] = at->second;
  }
  for (Actor& actor : actors_) {
    std::sort(actor.tasks.begin(), actor.tasks.end(),
              [&](std::uint32_t a, std::uint32_t b) { return task(a).rank < task(b).rank; });
  }
}

void PlanWriter::check_collectives() {
  std::map<std::string, std::uint32_t> first;  // first task of each op, by op name
  for (const Actor& actor : actors_) {
    const PlanTask& own = task(actor.tasks.front());
    if (!collective_of(own)) continue;
    const auto [at, is_new] = first.emplace(own.op, actor.tasks.front());
    if (is_new) continue;
    diagnostics_.error(
        own.place, models::Code::kPlanTasks,
        fmt::format("the tasks of collective '{}' differ: on rank {} {} on stream {}, on "
                    "rank {} {} on stream {}",
                    own.op, own.rank, collective_name(own), streams_[actor.tasks.front()],
                    task(at->second).rank, collective_name(task(at->second)),
                    streams_[at->second]));
  }
}

void PlanWriter::find_reads(Actor& actor) const {
  std::map<std::tuple<std::uint32_t, std::string, std::int64_t>, std::size_t> known;
  for (const std::uint32_t i : actor.tasks) {
    const auto memory = in_place_of(task(i));
    for (const PlanTask::Taken& taken : task(i).takes) {
      const Label& label = labels_.at(taken.id);
      const std::int64_t away = static_cast<std::int64_t>(task(label.task).rank) -
                                static_cast<std::int64_t>(task(i).rank);
      const std::uint32_t from = actor_of_[label.task];
      const auto [at, is_new] =
          known.emplace(std::tuple(from, label.text(), away), actor.reads.size());
      if (is_new) {
        actor.reads.push_back({actors_[from].name, label.text(), label.control, away, {}, false});
      }
      Read& read = actor.reads[at->second];
      if (read.ranks.empty() || read.ranks.back() != task(i).rank) {
        read.ranks.push_back(task(i).rank);
      }
      if (memory == taken.id) read.in_place = true;
    }
  }
  std::stable_partition(actor.reads.begin(), actor.reads.end(),
                        [](const Read& read) { return read.in_place; });
}

std::vector<std::uint32_t> PlanWriter::ranks_of(const Actor& actor) const {
  std::vector<std::uint32_t> ranks;
  for (const std::uint32_t i : actor.tasks) ranks.push_back(task(i).rank);
  return ranks;
}

// Formats ranks as `3` or `[0..3, 7]`.
YamlNode PlanWriter::ranks_text(const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    parts.push_back(last == i ? std::to_string(ranks[i])
                              : fmt::format("{}..{}", ranks[i], ranks[last]));
    i = last + 1;
  }
  if (parts.size() == 1) return YamlNode::value(parts.front());
  YamlNode list = YamlNode::list();
  for (const std::string& part : parts) list.add(YamlNode::value(part));
  return list;
}

// Returns the lists of ranks that communicate. If the placement of the op has two dimensions, the
// op can communicate along one of them. Sorted by parallel id, tasks with the same index in the
// first dimension are adjacent.
std::vector<std::vector<std::uint32_t>> PlanWriter::group_of(const Actor& actor) const {
  std::vector<std::uint32_t> tasks = actor.tasks;
  std::stable_sort(tasks.begin(), tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return task(a).parallel_id < task(b).parallel_id;
  });
  const PlanTask& first = task(tasks.front());
  std::size_t inner = tasks.size();
  if (first.hierarchy.size() == 2 && first.hierarchy[1] > 0) {
    inner = static_cast<std::size_t>(first.hierarchy[1]);
  }
  const bool same_first = first.op_type.find("same_dim0") != std::string::npos;
  const bool same_second = first.op_type.find("same_dim1") != std::string::npos;
  if ((!same_first && !same_second) || tasks.size() % inner != 0) inner = tasks.size();
  const std::size_t outer = tasks.size() / inner;
  const bool along_second = same_first || outer == 1;
  std::vector<std::vector<std::uint32_t>> lists(along_second ? outer : inner);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    lists[along_second ? i / inner : i % inner].push_back(task(tasks[i]).rank);
  }
  return lists;
}

std::string PlanWriter::group_name(const Actor& actor) {
  auto lists = group_of(actor);
  const auto [at, is_new] =
      group_names_.emplace(lists, fmt::format("group_{}", group_names_.size() + 1));
  if (is_new) groups_.emplace_back(at->second, std::move(lists));
  return at->second;
}

YamlNode PlanWriter::slots_of(const std::map<std::uint32_t, std::int64_t>& by_rank) const {
  const std::int64_t usual = by_rank.begin()->second;
  ScenarioMap choice;
  choice.value("case", "rank");
  for (const auto& [rank, slots] : by_rank) {
    if (slots != usual) choice.number(std::to_string(rank), slots);
  }
  if (choice.size() == 1) return number(usual);
  return choice.number("else", usual);
}

// Adds the registers. A repeat's data register is a single piece of memory with one credit per
// repetition, whatever the plan says, and the actor's kind implies these credits. All other credits
// come from the plan.
void PlanWriter::add_registers(const Actor& actor, ScenarioMap& fields) const {
  std::map<std::pair<bool, std::uint32_t>, std::map<std::uint32_t, std::int64_t>> slots;
  std::map<std::pair<bool, std::uint32_t>, std::string> names;
  for (const std::uint32_t i : actor.tasks) {
    for (const PlanRegister& reg : task(i).registers) {
      if (read_.count(reg.id) == 0) continue;
      const Label& label = labels_.at(reg.id);
      slots[{label.control, label.number}][task(i).rank] = reg.slots;
      names[{label.control, label.number}] = label.text();
    }
  }
  const bool repeat = kind_of(task(actor.tasks.front())).kind == "repeat";
  ScenarioMap others;
  for (const auto& [key, by_rank] : slots) {
    const auto [control, number] = key;
    if (!control && number == 0) {
      if (!repeat) fields.add("slots", slots_of(by_rank));
      continue;
    }
    ScenarioMap reg;
    if (control) reg.truth("control", true);
    others.add(names[key], reg.add("slots", slots_of(by_rank)));
  }
  if (!others.empty()) fields.add("registers", std::move(others));
}

void PlanWriter::add_reads(const Actor& actor, ScenarioMap& fields) const {
  YamlNode data = YamlNode::list();
  YamlNode control = YamlNode::list();
  for (const Read& read : actor.reads) {
    ScenarioMap entry("from", read.from);
    if (read.label != "out") entry.text("register", read.label);
    if (read.ranks.size() != actor.tasks.size()) entry.add("on", ranks_text(read.ranks));
    if (read.away != 0) {
      entry.value("rank", fmt::format("rank {} {}", read.away < 0 ? '-' : '+',
                                      read.away < 0 ? -read.away : read.away));
    }
    (read.control ? control : data)
        .add(entry.size() == 1 ? YamlNode::text(read.from) : YamlNode(std::move(entry)));
  }
  if (!data.empty()) fields.add("reads", std::move(data));
  if (!control.empty()) fields.add("after", std::move(control));
}

ScenarioMap PlanWriter::actor_fields(const Actor& actor) {
  const std::uint32_t first = actor.tasks.front();
  const TaskKind kind = kind_of(task(first));
  ScenarioMap fields;
  if (actor.tasks.size() < ranks_) fields.add("on", ranks_text(ranks_of(actor)));
  if (kind.kind != "compute") fields.text("kind", kind.kind);
  if (counts(kind.kind)) fields.value("times", count_text(times_of(first)));
  const std::string source = source_of(first);
  if (kind.kind == "wait_and_send_ids" || kind.kind == "critical_section_wait") {
    fields.add("waits_for_input", ScenarioMap().number("items", 1));  // the plan covers one step
  } else if (!source.empty()) {
    fields.value("source", source);
  }
  fields.text("stream", streams_[first]).value("takes", kind.parameter);
  if (in_place_of(task(first))) fields.truth("in_place", true);
  add_registers(actor, fields);
  add_reads(actor, fields);
  if (const auto operation = collective_of(task(first))) {
    fields.add("collective", ScenarioMap(models::operation_name(*operation), group_name(actor)));
  }
  return fields;
}

void PlanWriter::warn_of_types() {
  for (const PlanTask& task : plan_.tasks) {
    const bool known = std::any_of(kTaskKinds.begin(), kTaskKinds.end(),
                                   [&](const TaskKind& kind) { return kind.type == task.type; });
    if (known) continue;
    diagnostics_.warning(
        task.place, models::Code::kPlanTaskType,
        fmt::format("task type '{}' is unknown: it is treated as an op that runs once per input",
                    task.type));
  }
}

void PlanWriter::add_params(ScenarioText& scenario) const {
  std::set<std::string_view> used;
  for (const PlanTask& task : plan_.tasks) used.insert(kind_of(task).parameter);
  scenario.add("params", "acc",
               ScenarioMap()
                   .number("default", std::max<std::int64_t>(acc_, 1))
                   .number("at_least", 1)
                   .text("about", acc_ > 0 ? "micro-batches per step"
                                           : "micro-batches per step; the plan does not say"));
  for (const Duration& duration : kDurations) {
    if (used.count(duration.parameter) == 0) continue;
    scenario.add("params", duration.parameter,
                 ScenarioMap().value("default", duration.value).text("about", duration.about));
  }
}

void PlanWriter::add_groups(ScenarioText& scenario) const {
  for (const auto& [group, lists] : groups_) {
    YamlNode entry = YamlNode::list();
    for (const std::vector<std::uint32_t>& ranks : lists) entry.add(rank_list(ranks));
    scenario.add("groups", group, std::move(entry));
  }
}

void PlanWriter::add_streams(ScenarioText& scenario) const {
  std::map<std::string, bool> on_host;
  std::vector<std::string> in_order;
  for (const std::uint32_t i : order_) {
    const auto [at, is_new] = on_host.emplace(streams_[i], true);
    if (is_new) in_order.push_back(streams_[i]);
    at->second = at->second && is_on_host(task(i));
  }
  for (const std::string& stream : in_order) {
    scenario.add("streams", stream,
                 on_host[stream] ? ScenarioMap().truth("host", true) : ScenarioMap());
  }
}

std::optional<std::string> PlanWriter::run(const std::string& name) {
  warn_of_types();
  label_registers();
  if (diagnostics_.has_errors()) return std::nullopt;
  count();
  name_threads();
  make_actors();
  check_collectives();
  if (diagnostics_.has_errors()) return std::nullopt;
  ScenarioText scenario(name);
  scenario.set("about", YamlNode::text("made from a plan dump of OneFlow; all times are made up"));
  add_params(scenario);
  scenario.set_ranks(ranks_);
  scenario.set("micro_batches", YamlNode::value("acc"));
  for (Actor& actor : actors_) {
    find_reads(actor);
    scenario.add("actors", actor.name, actor_fields(actor));
  }
  add_groups(scenario);
  add_streams(scenario);
  return scenario.take_text();
}

}  // namespace

std::optional<std::string> plan_scenario(const OneflowPlan& plan, const std::string& name,
                                         Diagnostics& diagnostics) {
  return PlanWriter(plan, diagnostics).run(name);
}

}  // namespace pipesim::formats
