#include "features/oneflow/oneflow_plan_reader.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "features/oneflow/text_proto.hpp"

namespace pipesim::formats {
namespace {

using models::Diagnostics;
using models::Place;
using Index = TextProto::Index;

constexpr std::int64_t kMaxRanks = 1 << 16;
constexpr std::int64_t kMaxSlots = 1 << 20;
constexpr std::size_t kMaxTasks = 1'000'000;

class OneflowPlanReader {
 public:
  OneflowPlanReader(const TextProto& tree, Diagnostics& diagnostics)
      : tree_(tree), diagnostics_(diagnostics) {}

  std::optional<OneflowPlan> run() {
    const std::vector<Index> tasks = tree_.all(0, "task");
    if (tasks.empty()) {
      diagnostics_
          .error({1, 1}, models::Code::kPlanText, "not a OneFlow plan: it has no 'task { ... }'")
          .notes.emplace_back(
              "OneFlow writes 'job_<graph>_plan' below its log directory with "
              "ONEFLOW_DEBUG_MODE=1");
      return std::nullopt;
    }
    if (tasks.size() > kMaxTasks) {
      diagnostics_.error(tree_.place(tasks[kMaxTasks]), models::Code::kLimit,
                         fmt::format("a plan can have at most {} tasks", kMaxTasks));
      return std::nullopt;
    }
    collect_ops();
    for (const Index task : tasks) read_task(task);
    if (diagnostics_.has_errors()) return std::nullopt;
    return std::move(plan_);
  }

 private:
  // Collects ops by job and name, because the plan describes an op of many tasks only once.
  void collect_ops() {
    for (const Index job : tree_.all(0, "job_id2op_attribute_ref_table")) {
      const auto table = tree_.find(job, "value");
      if (!table || !is_message(job)) continue;
      const std::int64_t id = optional_integer(job, "key", 0);
      for (const Index entry : tree_.all(*table, "op_name2op_attribute")) {
        const auto name = tree_.find(entry, "key");
        const auto op = tree_.find(entry, "value");
        if (name && op) ops_[{id, tree_.text(*name)}] = *op;
      }
    }
  }

  bool is_message(Index field) {
    if (tree_[field].kind == TextProtoKind::kMessage) return true;
    diagnostics_.error(tree_.place(field), models::Code::kPlanText,
                       fmt::format("'{}' must be a message: '{} {{ ... }}'", tree_[field].name,
                                   tree_[field].name));
    return false;
  }

  std::int64_t integer(Index field) {
    if (const auto value = tree_.integer(field)) return *value;
    diagnostics_.error(tree_.place(field), models::Code::kPlanText,
                       fmt::format("'{}' must be an integer", tree_[field].name));
    return 0;
  }

  std::int64_t optional_integer(Index message, std::string_view name, std::int64_t otherwise) {
    const auto field = tree_.find(message, name);
    return field ? integer(*field) : otherwise;
  }

  std::int64_t needed_integer(Index message, std::string_view name) {
    if (const auto field = tree_.find(message, name)) return integer(*field);
    diagnostics_.error(tree_.place(message), models::Code::kPlanText,
                       fmt::format("'{}' needs '{}'", tree_[message].name, name));
    return 0;
  }

  std::int64_t within(Index message, std::string_view name, std::int64_t value, std::int64_t least,
                      std::int64_t most) {
    if (value >= least && value <= most) return value;
    const auto field = tree_.find(message, name);
    diagnostics_.error(
        tree_.place(field ? *field : message), models::Code::kPlanText,
        fmt::format("'{}' is {}, and from {} to {} is possible", name, value, least, most));
    return least;
  }

  void read_task(Index field) {
    if (!is_message(field)) return;
    PlanTask task;
    task.place = tree_.place(field);
    const std::size_t errors = diagnostics_.error_count();
    task.id = needed_integer(field, "task_id");
    const bool has_id = diagnostics_.error_count() == errors;
    const auto type = tree_.find(field, "task_type");
    if (!type) {
      diagnostics_.error(task.place, models::Code::kPlanText, "'task' needs 'task_type'");
    } else {
      task.type = tree_.text(*type);
    }
    task.rank = static_cast<std::uint32_t>(
        within(field, "machine_id", needed_integer(field, "machine_id"), 0, kMaxRanks - 1));
    task.thread = needed_integer(field, "thrd_id");
    if (const auto set = tree_.find(field, "task_set_info")) {
      // Since OneFlow #10102, the plan has a task's position only within its chain.
      const bool in_graph = tree_.find(*set, "order_in_graph").has_value();
      task.order = optional_integer(*set, in_graph ? "order_in_graph" : "order_in_chain", 0);
    }
    if (const auto parallel = tree_.find(field, "parallel_ctx")) {
      task.parallel_id = optional_integer(*parallel, "parallel_id", 0);
    }
    if (has_id && !places_.emplace(task.id, task.place).second) {
      diagnostics_
          .error(task.place, models::Code::kPlanText, fmt::format("duplicate task_id {}", task.id))
          .notes.push_back(fmt::format("the first: {}", models::line_text(places_[task.id])));
    }
    read_op(field, task);
    for (const Index entry : tree_.all(field, "produced_regst_desc")) read_register(entry, task);
    for (const Index entry : tree_.all(field, "consumed_regst_desc_id")) {
      const auto set = is_message(entry) ? tree_.find(entry, "value") : std::nullopt;
      if (!set || !is_message(*set)) continue;
      for (const Index id : tree_.all(*set, "regst_desc_id")) {
        task.takes.push_back({integer(id), tree_.place(id)});
      }
    }
    plan_.tasks.push_back(std::move(task));
  }

  void read_register(Index entry, PlanTask& task) {
    const auto field = is_message(entry) ? tree_.find(entry, "value") : std::nullopt;
    if (!field || !is_message(*field)) return;
    PlanRegister reg;
    reg.id = needed_integer(*field, "regst_desc_id");
    const std::string_view slots =
        tree_.find(*field, "register_num") ? "register_num" : "min_register_num";
    reg.slots = within(*field, slots, optional_integer(*field, slots, 1), 1, kMaxSlots);
    reg.control = tree_.find(*field, {"regst_desc_type", "ctrl_regst_desc"}).has_value();
    auto shape = tree_.find(*field, {"regst_desc_type", "data_regst_desc", "time_shape"});
    if (!shape) shape = tree_.find(*field, "time_shape");
    if (shape) reg.ops = elements(*shape);
    if (const auto other = tree_.find(*field, "inplace_consumed_regst_desc_id")) {
      if (const std::int64_t id = integer(*other); id >= 0) reg.in_place_of = id;
    }
    task.registers.push_back(reg);
  }

  // Returns the product of the dimensions, or 1 after an error.
  std::int64_t elements(Index shape) {
    std::int64_t product = 1;
    for (const Index dim : tree_.all(shape, "dim")) {
      const std::int64_t value = integer(dim);
      if (value < 1 || value > kMaxSlots || product > kMaxSlots / value) {
        diagnostics_.error(tree_.place(dim), models::Code::kPlanText,
                           fmt::format("a time shape must have 1 to {} elements", kMaxSlots));
        return 1;
      }
      product *= value;
    }
    return product;
  }

  void read_op(Index field, PlanTask& task) {
    const auto kernel = tree_.find(field, {"exec_sequence", "exec_node", "kernel_conf"});
    if (!kernel) return;
    auto op = tree_.find(*kernel, "op_attribute");
    if (const auto reference = tree_.find(*kernel, "op_attribute_ref"); reference && !op) {
      task.op = tree_.text(*reference);
      const auto found = ops_.find({optional_integer(field, "job_id", 0), task.op});
      if (found == ops_.end()) return;
      op = found->second;
    }
    if (!op) return;
    if (const auto name = tree_.find(*op, {"op_conf", "name"})) task.op = tree_.text(*name);
    if (const auto hint = tree_.find(*op, {"op_conf", "stream_name_hint"})) {
      task.stream_hint = tree_.text(*hint);
    }
    if (const auto user = tree_.find(*op, {"op_conf", "user_conf"})) read_user_op(*user, task);
    if (const auto tick = tree_.find(*op, {"op_conf", "acc_tick_conf", "max_acc_num"})) {
      task.times = within_times(*tick);
    }
    if (const auto copy = tree_.find(*op, {"op_conf", "copy_hd_conf", "type"})) {
      task.op_type = tree_.text(*copy);
    }
    if (const auto boxing = tree_.find(*op, {"op_conf", "collective_boxing_generic_conf",
                                             "rank_desc", "op_desc", "op_type"})) {
      task.op_type = tree_.text(*boxing);
    }
    if (const auto shape =
            tree_.find(*op, {"parallel_conf_signature", "op_parallel_conf", "hierarchy"})) {
      for (const Index dim : tree_.all(*shape, "dim")) task.hierarchy.push_back(integer(dim));
    }
  }

  void read_user_op(Index user, PlanTask& task) {
    if (const auto type = tree_.find(user, "op_type_name")) task.op_type = tree_.text(*type);
    for (const Index entry : tree_.all(user, "attr")) {
      const auto key = tree_.find(entry, "key");
      const auto value = tree_.find(entry, "value");
      if (!key || !value || tree_[*value].end == *value + 1) continue;
      const std::string name = tree_.text(*key);
      if (name == "repeat_num" || name == "max_acc_num" || name == "unpack_num" ||
          name == "pack_num") {
        task.times = within_times(*value + 1);  // the only field, at_int32 or at_int64
      }
    }
  }

  std::int64_t within_times(Index field) {
    const std::int64_t times = integer(field);
    if (times >= 1 && times <= kMaxSlots) return times;
    diagnostics_.error(tree_.place(field), models::Code::kPlanText,
                       fmt::format("'{}' is {}, and from {} to {} is possible", tree_[field].name,
                                   times, 1, kMaxSlots));
    return 1;
  }

  const TextProto& tree_;
  Diagnostics& diagnostics_;
  OneflowPlan plan_;
  std::map<std::pair<std::int64_t, std::string>, Index> ops_;  // ops by job and name
  std::map<std::int64_t, Place> places_;                       // places of tasks, by id
};

}  // namespace

std::optional<OneflowPlan> read_oneflow_plan(std::string_view text, Diagnostics& diagnostics) {
  // Refuses light plans. They are summaries that PlanUtil::GenLightPlan writes next to the plan.
  const bool is_light =
      text.starts_with("rank : ") && text.find(" actor id : ") != std::string_view::npos;
  if (is_light) {
    diagnostics
        .error({1, 1}, models::Code::kPlanText,
               "this is a light plan, which leaves out what a run needs")
        .notes.emplace_back(
            "give the plan itself: 'job_<graph>_plan', beside "
            "'job_<graph>_plan_rank_<n>_light_plan'");
    return std::nullopt;
  }
  const auto tree = read_text_proto(text, diagnostics);
  if (!tree) return std::nullopt;
  return OneflowPlanReader(*tree, diagnostics).run();
}

}  // namespace pipesim::formats
