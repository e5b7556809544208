#include "formats/scenario/schedule_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/document/map_reader.hpp"
#include "formats/document/versions.hpp"
#include "formats/scenario/cluster_reader.hpp"
#include "formats/scenario/keys.hpp"
#include "formats/scenario/schedule_csv.hpp"
#include "formats/scenario/section_readers.hpp"
#include "formats/scenario/stage_op_reader.hpp"
#include "models/lowering/cost.hpp"
#include "models/schedules/generators.hpp"
#include "models/schedules/schedule_lowering.hpp"

namespace pipesim::formats {

using models::Pipeline;
using models::Schedule;
using models::ScheduleShape;
using models::StageAmounts;

namespace {

constexpr std::int64_t kMaxStages = 1 << 14;
constexpr std::int64_t kMaxCalls = 1 << 10;  // limit on calls per kind and moment
constexpr std::uint64_t kMaxCosts = 1 << 20;
constexpr std::uint64_t kMaxActions = 40'000'000;

class PipelineReader {
 public:
  PipelineReader(const ValueReader& values, const models::RankGrid* grid,
                 const std::optional<YamlValue>& cluster, models::LayerOps& ops)
      : values_(values),
        diagnostics_(values.diagnostics()),
        grid_(grid),
        cluster_(cluster),
        ops_(ops) {
    if (grid == nullptr) return;
    pipeline_.row_of_rank = grid->row_of_rank;
    pipeline_.stride = grid->pipeline_stride;
    rows_ = *std::max_element(grid->row_of_rank.begin(), grid->row_of_rank.end()) + 1;
  }

  std::optional<Pipeline> run(const YamlValue& value) {
    const std::size_t errors = diagnostics_.error_count();
    static constexpr const KeyTable* kForms[] = {&keys::kScheduleRows, &keys::kSchedule};
    const KeyTable* table = table_with_head(value, kForms);
    MapReader map(value, table == nullptr ? keys::kSchedule : *table, diagnostics_);
    map.take_text("about");
    pipeline_.place = value.place();
    std::optional<Schedule> schedule = read_rows_or_kind(map);
    const auto layers = map.take("layers");
    // Without a valid schedule, errors in the other keys could be consequences.
    if (schedule || has_form_) {
      const Schedule none;
      read_costs(map, schedule ? std::as_const(*schedule) : none, layers);
      map.finish();
    }
    if (!schedule || diagnostics_.error_count() > errors) return std::nullopt;
    if (follows_costs_) schedule = models::make_schedule(with_costs(*follows_costs_));
    if (grid_ != nullptr && schedule->ranks.size() != rows_) {
      diagnostics_.error(
          value.place(), models::Code::kRankCount,
          fmt::format("the schedule is for pipelines of {} ranks, but 'parallel' has {}",
                      schedule->ranks.size(), rows_));
      return std::nullopt;
    }
    schedule = with_messages(std::move(*schedule));
    if (!schedule) return std::nullopt;
    pipeline_.schedule = std::move(*schedule);
    return std::move(pipeline_);
  }

 private:
  using MessageModel = models::MessageModel;
  using MessageOrder = models::MessageOrder;
  using StageMoment = models::StageMoment;

  std::optional<Schedule> with_messages(Schedule schedule) {
    if (!check_message_order(schedule)) return std::nullopt;
    const bool has_messages = schedule.has_messages();
    if (unsharded_place_ && has_messages && !has_fsdp(schedule)) {
      diagnostics_
          .error(*unsharded_place_, models::Code::kConflictingKeys,
                 "'unsharded' needs UNSHARD in the rows, which have sends and recvs already")
          .notes.emplace_back("add 0UNSHARD and 0RESHARD there, or leave out the sends and recvs");
      return std::nullopt;
    }
    if (!has_messages) {
      auto sent = models::add_send_recv(with_its_collectives(std::move(schedule)), diagnostics_);
      if (!sent) return std::nullopt;
      schedule = std::move(*sent);
    } else if (schedule.partial) {
      schedule = models::without_half_messages(schedule);
    }
    if (!is_megatron()) return models::reorder_messages(std::move(schedule), order_);
    return models::in_megatron_order(schedule, pipeline_.messages == MessageModel::kOverlap);
  }

  bool is_megatron() const {
    return pipeline_.messages == MessageModel::kBatch ||
           pipeline_.messages == MessageModel::kOverlap;
  }

  // Whether `message_order` can move the sends and recvs of this schedule.
  bool check_message_order(const Schedule& schedule) {
    const auto refuse = [&](const char* why, const char* what_to_do) {
      diagnostics_.error(order_place_, models::Code::kConflictingKeys, why)
          .notes.emplace_back(what_to_do);
      return false;
    };
    if (order_ == MessageOrder::kInTurn) return true;
    if (is_megatron()) {
      return refuse("'message_order' cannot be used with the messages of Megatron-LM",
                    "'batch' and 'overlap' have messages where Megatron-LM has them: leave it out");
    }
    if (order_ == MessageOrder::kDeferred) return true;
    if (schedule.has_messages()) {
      return refuse("the rows have sends and recvs already, which 'message_order' cannot move",
                    "leave them out of the rows, or leave out 'message_order'");
    }
    // A rank with several stages would receive in the order of use, and its peer would send in the
    // order of production.
    return schedule.stages <= schedule.ranks.size() ||
           refuse(
               "this 'message_order' is for schedules with one stage on each rank, and here ranks "
               "have several",
               "leave it out, or say 'message_order: in_turn'");
  }

  std::optional<Schedule> read_rows_or_kind(MapReader& map) {
    const auto rows = map.take("rows");
    const auto kind = map.take("kind");
    if (rows && map.has("kind")) {
      diagnostics_.error(map.place(), models::Code::kConflictingKeys,
                         "'kind' and 'rows' cannot be used together");
      return std::nullopt;
    }
    has_form_ = rows || kind;
    if (rows) return read_rows(map, *rows);
    if (kind) return read_kind(map, *kind);
    diagnostics_.error(map.place(), models::Code::kMissingKey, "a schedule needs 'kind' or 'rows'");
    return std::nullopt;
  }

  std::optional<Schedule> read_rows(MapReader& map, const YamlValue& value) {
    const std::int64_t pipelines = whole(map, "pipelines", 1, 2);
    const auto partial = map.take("partial");
    const bool is_partial = partial && is_on(*partial);
    if (!value.is_list()) {
      diagnostics_.error(
          value.place(), models::Code::kWrongType,
          fmt::format("'rows' must be a list with one row per rank, found {}", value.described()));
      return std::nullopt;
    }
    if (value.items().empty()) {
      diagnostics_.error(value.place(), models::Code::kEmpty,
                         "the schedule has no rows; it needs one per rank");
      return std::nullopt;
    }
    std::vector<ScheduleRow> rows;
    for (const YamlValue& item : value.items()) {
      if (!item.is_scalar()) {
        diagnostics_.error(item.place(), models::Code::kWrongType,
                           fmt::format("expected a row of actions separated by commas, found {}",
                                       item.described()));
        return std::nullopt;
      }
      models::Place place = item.place();
      if (item.quoted()) ++place.column;
      rows.push_back({item.text(), place});
    }
    return read_schedule(rows, static_cast<std::uint32_t>(pipelines), diagnostics_, is_partial);
  }

  std::optional<Schedule> read_kind(MapReader& map, const YamlValue& value) {
    const std::size_t errors = diagnostics_.error_count();
    const auto name = values_.one_of(value, models::schedule_kind_names());
    const auto stages = grid_ == nullptr ? map.require("stages") : map.take("stages");
    const auto micro_batches = map.require("micro_batches");
    ScheduleShape shape;
    if (name) shape.kind = *models::find_schedule_kind(*name);
    const auto at_most = [&](const std::optional<YamlValue>& field, const char* key,
                             std::int64_t most) {
      return field ? static_cast<std::uint32_t>(whole(*field, key, most)) : 1;
    };
    shape.stages = at_most(stages, "stages", kMaxStages);
    shape.micro_batches = at_most(micro_batches, "micro_batches", kMaxMicroBatches);
    shape.chunks = models::usual_chunks(shape.kind);
    const auto chunks = map.take("chunks");
    if (chunks) shape.chunks = at_most(chunks, "chunks", kMaxStages);
    if (grid_ != nullptr && !stages) {
      const std::uint64_t all = std::uint64_t{rows_} * shape.chunks;
      if (all > kMaxStages) {
        diagnostics_.error(
            value.place(), models::Code::kLimit,
            fmt::format("a schedule can have at most {} stages, and {} ranks with {} each "
                        "are more",
                        kMaxStages, rows_, shape.chunks));
      }
      shape.stages = static_cast<std::uint32_t>(all);
    }
    const auto group = map.take("micro_batch_group");
    if (group) shape.group = at_most(group, "micro_batch_group", kMaxMicroBatches);
    const auto combined = map.take("combined");
    shape.combined = combined && is_on(*combined);
    if (shape.combined && !group) shape.group = shape.ranks();
    if (diagnostics_.error_count() > errors) return std::nullopt;
    if (std::uint64_t{shape.stages} * shape.micro_batches * 2 > kMaxActions) {
      diagnostics_.error(stages ? stages->place() : value.place(), models::Code::kLimit,
                         fmt::format("a schedule can have at most {} forwards and "
                                     "backwards, and {} stages of {} "
                                     "micro-batches are more",
                                     kMaxActions, shape.stages, shape.micro_batches));
      return std::nullopt;
    }
    const std::string problem = models::shape_problem(shape);
    if (!problem.empty()) {
      const models::Place place = place_of_problem(shape, stages.value_or(value), *micro_batches,
                                                   chunks, group ? group : combined);
      diagnostics_.error(place, models::Code::kScheduleShape, problem);
      return std::nullopt;
    }
    if (!models::follows_costs(shape.kind)) return models::make_schedule(shape);
    follows_costs_ = shape;
    Schedule head;  // fields that costs depend on
    head.stages = shape.stages;
    head.micro_batches = shape.micro_batches;
    return head;
  }

  // Number of stages and micro-batches by which values can differ; 0: unknown, or irrelevant.
  struct Counts {
    std::uint32_t stages = 0;
    std::uint32_t micro_batches = 0;
    bool between = false;  // whether values differ per pair of neighboring stages, not per stage
  };

  // Sets the costs of `shape` from the costs of stages, like ZB-V's authors: averages each cost
  // over the stages of a rank, then takes the median over ranks.
  ScheduleShape with_costs(ScheduleShape shape) const {
    const auto of_stages = [&](std::int64_t models::StageCost::*cost) {
      std::vector<std::int64_t> of_ranks;
      const std::size_t each =  // number of costs per stage
          std::max<std::size_t>(1, pipeline_.costs.size() / shape.stages);
      for (std::uint32_t rank = 0; rank < shape.ranks(); ++rank) {
        std::int64_t sum = 0;
        for (const std::uint32_t stage : {rank, shape.stages - 1 - rank}) {
          for (std::size_t i = 0; i < each; ++i) sum += pipeline_.costs[stage * each + i].*cost;
        }
        of_ranks.push_back(sum / static_cast<std::int64_t>(2 * each));
      }
      return std::max<std::int64_t>(1, middle(std::move(of_ranks)));
    };
    shape.costs = {of_stages(&models::StageCost::forward_ns),
                   of_stages(&models::StageCost::input_grad_ns),
                   of_stages(&models::StageCost::weight_grad_ns), message_time(shape.ranks())};
    return shape;
  }

  // Returns the median of the stated times of sends and recvs or, in a cluster, of the transfer
  // times between neighboring ranks.
  std::int64_t message_time(std::uint32_t rows) const {
    if (pipeline_.message_ns || !cluster_ || !pipeline_.message_bytes) {
      return pipeline_.message_ns ? middle(pipeline_.message_ns->values) : 0;
    }
    const std::uint32_t pipelines =
        grid_ == nullptr ? 1 : static_cast<std::uint32_t>(grid_->row_of_rank.size()) / rows_;
    Scope scope = values_.scope();
    scope.ranks = rows * pipelines;
    models::Diagnostics unheard;
    const auto cluster = read_cluster(*cluster_, ValueReader(scope, unheard), rows * pipelines);
    std::vector<std::int64_t> times;
    for (std::uint32_t row = 0; cluster && row + 1 < rows; ++row) {
      const std::uint32_t from = row * pipeline_.stride;
      const auto time = models::message_time(*cluster, from, from + pipeline_.stride,
                                             pipeline_.message_bytes->of(row, 0));
      if (time) times.push_back(time->latency_ns + time->transfer_ns);
    }
    return times.empty() ? 0 : middle(std::move(times));
  }

  static std::int64_t middle(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  // Returns the place of the key to blame: the group, the chunks or the micro-batches, if another
  // value would be valid; else the stages.
  static models::Place place_of_problem(ScheduleShape shape, const YamlValue& stages,
                                        const YamlValue& micro_batches,
                                        const std::optional<YamlValue>& chunks,
                                        const std::optional<YamlValue>& group) {
    if (group) {
      ScheduleShape without = shape;
      without.group = 0;
      if (models::shape_problem(without).empty()) return group->place();
    }
    const auto fits = [&] { return models::shape_problem(shape).empty(); };
    shape.chunks = models::usual_chunks(shape.kind);
    if (chunks && fits()) return chunks->place();
    shape.micro_batches = 2 * shape.stages;
    return fits() ? micro_batches.place() : stages.place();
  }

  // Reads the costs of stages, and the keys about collectives, ops and transfers. If `layers` is
  // given, all costs are per layer, and are multiplied by the layers of a stage.
  void read_costs(MapReader& map, const Schedule& schedule,
                  const std::optional<YamlValue>& layers) {
    const std::uint32_t depth = schedule.depth();
    if (layers) pipeline_.layers = layers_of_stages(*layers, depth);
    const auto share = [&](std::uint32_t stage) {
      return pipeline_.layers.empty() ? 1 : std::int64_t{pipeline_.layers[stage]};
    };
    const Counts each{depth, schedule.micro_batches};
    if (const auto collectives = map.take("collectives")) read_collectives(*collectives, each);
    const StageAmounts one{{1000}};
    const StageAmounts none{{0}};
    const auto ops = map.take("ops");
    if (ops) read_ops(*ops, map, each);
    const bool op_by_op = !ops_.empty();
    const StageAmounts forward = op_by_op ? sum(ops_.forward, false, each)
                                          : amounts(map, "forward", ValueType::kTime, each, one);
    const StageAmounts input = op_by_op
                                   ? sum(ops_.backward, false, each)
                                   : amounts(map, "input_grad", ValueType::kTime, each, forward);
    const StageAmounts weight = op_by_op
                                    ? sum(ops_.backward, true, each)
                                    : amounts(map, "weight_grad", ValueType::kTime, each, forward);
    const StageAmounts activation = amounts(map, "activation", ValueType::kBytes, each, none);
    const Counts all_the_time{depth, 0};
    const StageAmounts weights = amounts(map, "weights", ValueType::kBytes, all_the_time, none);
    const auto unsharded = map.take("unsharded");
    if (unsharded) unsharded_place_ = unsharded->place();
    const StageAmounts gathered = amounts(map, "unsharded", ValueType::kBytes, all_the_time, none);
    const bool differ = forward.by_micro_batch() || input.by_micro_batch() ||
                        weight.by_micro_batch() || activation.by_micro_batch();
    const std::uint32_t columns = differ ? schedule.micro_batches : 1;
    for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
      const std::uint32_t i = stage % depth;
      for (std::uint32_t m = 0; m < columns; ++m) {
        const auto of = [&](const StageAmounts& all) { return all.of(i, m) * share(i); };
        pipeline_.costs.push_back(
            {of(forward), of(input), of(weight), of(activation), of(weights), of(gathered)});
        pipeline_.has_memory =
            pipeline_.has_memory || of(activation) > 0 || of(weights) > 0 || of(gathered) > 0;
      }
    }
    pipeline_.costs_differ = differ;
    pipeline_.overlap_ns = amounts_if_said(map, "overlapped", ValueType::kTime, each);
    if (pipeline_.overlap_ns && !pipeline_.layers.empty()) {
      const StageAmounts of_layer = *std::exchange(pipeline_.overlap_ns, StageAmounts());
      pipeline_.overlap_ns->micro_batches = of_layer.micro_batches;
      for (std::uint32_t stage = 0; stage < depth; ++stage) {
        for (std::uint32_t m = 0; m < of_layer.micro_batches; ++m) {
          pipeline_.overlap_ns->values.push_back(of_layer.of(stage, m) * share(stage));
        }
      }
    }
    const Counts between{std::max(depth, 1U) - 1, schedule.micro_batches, true};
    pipeline_.message_bytes = amounts_if_said(map, "message", ValueType::kBytes, between);
    pipeline_.message_ns = amounts_if_said(map, "message_takes", ValueType::kTime, between);
    if (const auto model = map.take("messages")) {
      const auto name = values_.one_of(*model, models::message_model_names());
      if (name) pipeline_.messages = *models::find_message_model(*name);
    }
    if (const auto order = map.take("message_order")) {
      const auto name = values_.one_of(*order, models::message_order_names());
      if (name) order_ = *models::find_message_order(*name);
      order_place_ = order->place();
    }
    read_shapes(map);
  }

  void read_ops(const YamlValue& value, MapReader& map, const Counts& each) {
    for (const char* key : {"forward", "input_grad", "weight_grad", "overlapped"}) {
      const auto other = map.take(key);
      if (!other) continue;
      diagnostics_
          .error(other->place(), models::Code::kConflictingKeys,
                 fmt::format("'{}' cannot be used with 'ops'", key))
          .notes.emplace_back("costs are those of the ops: leave it out");
    }
    for (const models::StageCollective& one : pipeline_.collectives) {
      if (one.moment != StageMoment::kForward && one.moment != StageMoment::kBackward) continue;
      diagnostics_
          .error(one.place, models::Code::kConflictingKeys,
                 "with 'ops', a collective within a forward or backward must be one of the ops")
          .notes.emplace_back("move it to its place there: {call: ..., over: ..., name: ...}");
    }
    const auto read = [&](MapReader& op, const char* key, ValueType type) {
      return amounts_if_said(op, key, type, each);
    };
    if (auto found = read_layer_ops(value, values_, read)) ops_ = std::move(*found);
  }

  // Sums the times of ops in sequence; in a backward, either of the weight gradients or of the
  // other ops.
  static StageAmounts sum(const std::vector<models::StageOp>& ops, bool weight_grad,
                          const Counts& each) {
    const bool differ =
        std::any_of(ops.begin(), ops.end(), [](const auto& op) { return op.by_micro_batch(); });
    StageAmounts result;
    result.micro_batches = differ ? each.micro_batches : 1;
    for (std::uint32_t stage = 0; stage < std::max(1U, each.stages); ++stage) {
      for (std::uint32_t m = 0; m < result.micro_batches; ++m) {
        std::int64_t ns = 0;
        for (const models::StageOp& op : ops) {
          if (op.weight_grad == weight_grad) ns += op.takes(stage, m);
        }
        result.values.push_back(ns);
      }
    }
    return result;
  }

  void read_shapes(MapReader& map) {
    const auto shapes = map.take("shape_exchange");
    if (!shapes) return;
    pipeline_.shape_exchange = values_.truth(*shapes).value_or(false);
    if (pipeline_.shape_exchange && pipeline_.messages != MessageModel::kBatch) {
      diagnostics_
          .error(shapes->place(), models::Code::kConflictingKeys,
                 "'shape_exchange' needs 'messages: batch'")
          .notes.emplace_back("Megatron-LM exchanges shapes in a batch before each batch");
    }
  }

  void read_collectives(const YamlValue& value, const Counts& each) {
    if (!value.is_list()) {
      diagnostics_.error(value.place(), models::Code::kWrongType,
                         fmt::format("'collectives' must be a list, found {}", value.described()));
      return;
    }
    for (const YamlValue& item : value.items()) {
      MapReader map(item, keys::kStageCollective, diagnostics_);
      models::StageCollective collective;
      collective.place = item.place();
      read_stage_call(map, values_, collective);
      const bool ring = collective.ring != models::RingOrder::kNone;
      if (const auto moment = map.require("in")) {
        const auto name = values_.one_of(*moment, models::stage_moment_names());
        if (name) collective.moment = *models::find_stage_moment(*name);
        if (ring && name && collective.moment != StageMoment::kForward &&
            collective.moment != StageMoment::kBackward) {
          diagnostics_
              .error(moment->place(), models::Code::kConflictingKeys,
                     "a ring exchange must be within a forward or a backward")
              .notes.emplace_back("say 'in: forward' or 'in: backward'");
        }
      }
      collective.times = static_cast<std::uint32_t>(whole(map, "times", ring ? 0 : 1, kMaxCalls));
      const Counts counts = counts_at(collective.moment, each);
      collective.bytes = amounts_if_said(map, "bytes", ValueType::kBytes, counts);
      collective.takes_ns = amounts_if_said(map, "takes", ValueType::kTime, counts);
      map.finish();
      pipeline_.collectives.push_back(std::move(collective));
    }
  }

  // Adds the actions that collectives need to the rows, in the same positions as PyTorch's passes.
  Schedule with_its_collectives(Schedule schedule) const {
    const auto asked = [&](StageMoment moment) {
      return std::any_of(pipeline_.collectives.begin(), pipeline_.collectives.end(),
                         [&](const models::StageCollective& one) { return one.moment == moment; });
    };
    if ((asked(StageMoment::kUnshard) || unsharded_place_) && !has_fsdp(schedule)) {
      schedule = models::add_unshard_reshard(schedule);
    }
    if (asked(StageMoment::kGradients) && !has_action(schedule, models::ActionKind::kReduceGrad)) {
      schedule = models::add_reduce_grad(schedule);
    }
    return schedule;
  }

  static bool has_fsdp(const Schedule& schedule) {
    return has_action(schedule, models::ActionKind::kUnshard) ||
           has_action(schedule, models::ActionKind::kReshard);
  }

  static bool has_action(const Schedule& schedule, models::ActionKind kind) {
    return std::any_of(schedule.ranks.begin(), schedule.ranks.end(), [&](const auto& row) {
      return std::any_of(row.begin(), row.end(),
                         [&](const models::Action& action) { return action.kind == kind; });
    });
  }

  // Returns the layers per stage: an equal share of the model's layers, a list, or an expression of
  // `stage`. Returns an empty list until the number of stages is known.
  std::vector<std::uint32_t> layers_of_stages(const YamlValue& value, std::uint32_t stages) {
    models::Diagnostics unheard;
    const bool of_model =
        !value.is_list() &&
        ValueReader(values_.scope(), unheard).expr(value, ValueType::kNumber).has_value();
    if (of_model) {
      return std::vector<std::uint32_t>(
          stages, static_cast<std::uint32_t>(layers_per_stage(value, stages)));
    }
    std::vector<std::uint32_t> layers(stages, 1);
    std::vector<YamlValue> of_each(stages, value);
    if (value.is_list() && stages > 0) {
      of_each = value.items();
      if (!has_count(value, "layers", of_each.size(), stages, "stage", "stages")) return layers;
    }
    const std::size_t errors = diagnostics_.error_count();
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      Named by_stage(values_, {"stage"}, diagnostics_);
      by_stage.set("stage", stage);
      const auto found = by_stage.values.constant(of_each[stage], ValueType::kNumber);
      if (found && (*found < 1 || *found > kMaxStages)) {
        diagnostics_.error(of_each[stage].place(), models::Code::kOutOfRange,
                           fmt::format("'layers' of a stage must be between 1 and {}, found {}",
                                       kMaxStages, *found));
      }
      if (diagnostics_.error_count() > errors) break;
      layers[stage] = static_cast<std::uint32_t>(*found);
    }
    return layers;
  }

  std::int64_t layers_per_stage(const YamlValue& value, std::uint32_t stages) {
    const std::size_t errors = diagnostics_.error_count();
    const std::int64_t layers = whole(value, "layers", kMaxStages);
    if (stages == 0 || diagnostics_.error_count() > errors) return 1;
    if (layers < stages) {
      diagnostics_.error(
          value.place(), models::Code::kStages,
          fmt::format("{} stages cannot share {} layers: each needs at least one", stages, layers));
      return 1;
    }
    if (layers % stages != 0) {
      diagnostics_
          .error(value.place(), models::Code::kStages,
                 fmt::format("{} layers cannot be divided among {} stages", layers, stages))
          .notes.push_back(shares_note(layers, stages));
      return 1;
    }
    return layers / stages;
  }

  // Suggests a valid list, in which the first stages have one more layer.
  static std::string shares_note(std::int64_t layers, std::uint32_t stages) {
    constexpr std::uint32_t kMaxShown = 8;
    if (stages > kMaxShown) {
      return "where stages differ, give the layers of each: a list, or an expression of 'stage'";
    }
    std::vector<std::int64_t> shares(stages, layers / stages);
    for (std::int64_t i = 0; i < layers % stages; ++i) ++shares[static_cast<std::size_t>(i)];
    return fmt::format("where stages differ, give the layers of each: layers: [{}]",
                       fmt::join(shares, ", "));
  }

  // Returns the dimensions by which a collective can differ at this moment.
  static Counts counts_at(StageMoment moment, const Counts& each) {
    switch (moment) {
      case StageMoment::kForward:
      case StageMoment::kBackward:
        return each;
      case StageMoment::kLastBackward:
      case StageMoment::kGradients:
      case StageMoment::kUnshard:
        return {each.stages, 0};
      case StageMoment::kStep:
        return {};
    }
    return {};
  }

  // Reads one amount for all stages, or a list with one amount per stage. Each can differ by
  // micro-batch, as a list or an expression of `micro_batch`. Expressions can also use `stage`.
  StageAmounts amounts(MapReader& map, const char* key, ValueType type, const Counts& counts,
                       StageAmounts otherwise) {
    const auto value = map.take(key);
    if (!value) return otherwise;
    models::Diagnostics unheard;
    const bool of_all =
        !value->is_list() && ValueReader(values_.scope(), unheard).expr(*value, type).has_value();
    if (of_all || (counts.stages == 0 && !value->is_list())) {
      return {{checked(*value, key, type, values_)}};
    }
    if (counts.stages == 0) {
      for (const YamlValue& item : value->items()) row_of(item, key, type, 0, 0);
      return otherwise;
    }
    std::vector<YamlValue> stages(counts.stages, *value);
    if (value->is_list()) {
      stages = value->items();
      const char* one = counts.between ? "pair of neighboring stages" : "stage";
      const char* many = counts.between ? "pairs of neighboring stages" : "stages";
      if (!has_count(*value, key, stages.size(), counts.stages, one, many)) return otherwise;
    }
    const std::size_t errors = diagnostics_.error_count();
    std::vector<std::vector<std::int64_t>> rows;
    bool differ = false;
    for (std::uint32_t stage = 0; stage < counts.stages; ++stage) {
      rows.push_back(row_of(stages[stage], key, type, stage, counts.micro_batches));
      if (diagnostics_.error_count() > errors) return otherwise;
      differ = differ || rows.back().size() > 1;
      if (differ && has_too_many(counts, value->place())) return otherwise;
    }
    return joined(rows, differ ? counts.micro_batches : 1);
  }

  std::optional<StageAmounts> amounts_if_said(MapReader& map, const char* key, ValueType type,
                                              const Counts& counts) {
    if (!map.has(key)) return std::nullopt;
    return amounts(map, key, type, counts, {{0}});
  }

  // Joins rows of `columns` values each; a row can have a single value for all columns.
  static StageAmounts joined(const std::vector<std::vector<std::int64_t>>& rows,
                             std::uint32_t columns) {
    StageAmounts result;
    result.micro_batches = columns;
    for (const std::vector<std::int64_t>& row : rows) {
      for (std::uint32_t m = 0; m < columns; ++m) {
        result.values.push_back(row.size() == 1 ? row.front() : row[m]);
      }
    }
    const auto& values = result.values;
    if (std::equal(values.begin() + 1, values.end(), values.begin())) return {{values.front()}};
    return result;
  }

  bool has_too_many(const Counts& counts, models::Place place) {
    if (std::uint64_t{counts.stages} * counts.micro_batches <= kMaxCosts) return false;
    diagnostics_.error(place, models::Code::kLimit,
                       fmt::format("costs can differ for at most {} forwards, and {} stages of {} "
                                   "micro-batches are more",
                                   kMaxCosts, counts.stages, counts.micro_batches));
    return true;
  }

  // Reads the amounts of one stage: a single amount, or an amount for each of `micro_batches`.
  std::vector<std::int64_t> row_of(const YamlValue& value, const char* key, ValueType type,
                                   std::uint32_t stage, std::uint32_t micro_batches) {
    std::vector<std::int64_t> row;
    if (value.is_list() && micro_batches > 0) {
      for (const YamlValue& item : value.items()) row.push_back(checked(item, key, type, values_));
      if (!has_count(value, key, row.size(), micro_batches, "micro-batch", "micro-batches")) {
        row.assign(1, 0);
      }
      return row;
    }
    models::Diagnostics unheard;
    Named trial(values_, {"stage"}, unheard);
    trial.set("stage", stage);
    const bool is_same = trial.values.expr(value, type).has_value();
    if (is_same || micro_batches == 0) {
      Named by_stage(values_, {"stage"}, diagnostics_);
      by_stage.set("stage", stage);
      return {checked(value, key, type, by_stage.values)};
    }
    const std::size_t errors = diagnostics_.error_count();
    Named by_both(values_, {"stage", "micro_batch"}, diagnostics_);
    by_both.set("stage", stage);
    for (std::uint32_t m = 0; m < micro_batches; ++m) {
      by_both.set("micro_batch", m);
      row.push_back(checked(value, key, type, by_both.values));
      if (diagnostics_.error_count() > errors) return {0};
    }
    return row;
  }

  // Reads values in which some names are numbers, unless parameters have these names.
  class Named {
   public:
    Named(const ValueReader& from, std::initializer_list<const char*> names,
          models::Diagnostics& diagnostics)
        : scope_(from.scope()), values(scope_, diagnostics) {
      if (scope_.parameters != nullptr) parameters_ = *scope_.parameters;
      first_ = parameters_.size();
      for (const char* name : names) {
        if (scope_.find(name) == nullptr) parameters_.emplace_back().name = name;
      }
      scope_.parameters = &parameters_;
    }
    Named(const Named&) = delete;
    Named& operator=(const Named&) = delete;

    void set(std::string_view name, std::uint32_t number) {
      for (std::size_t i = first_; i < parameters_.size(); ++i) {
        if (parameters_[i].name == name) parameters_[i].value = Value::number(number);
      }
    }

   private:
    std::vector<Parameter> parameters_;
    std::size_t first_ = 0;  // index of the first added parameter
    Scope scope_;

   public:
    ValueReader values;
  };

  bool has_count(const YamlValue& value, const char* key, std::size_t found, std::size_t wanted,
                 const char* one, const char* many) {
    if (found == wanted) return true;
    diagnostics_.error(
        value.place(), models::Code::kStages,
        fmt::format("'{}' has {} value{}, but there {} {} {}", key, found, found == 1 ? "" : "s",
                    wanted == 1 ? "is" : "are", wanted, wanted == 1 ? one : many));
    return false;
  }

  // Reads a time or size, limited so that sums cannot overflow.
  std::int64_t checked(const YamlValue& value, const char* key, ValueType type,
                       const ValueReader& values) {
    constexpr std::int64_t kMaxAmount = std::numeric_limits<std::int64_t>::max() >> 24;
    const std::int64_t found = values.constant(value, type).value_or(0);
    if (found >= 0 && found <= kMaxAmount) return found;
    const std::string limit =
        to_text(Value{type, models::Expr::constant(found < 0 ? 0 : kMaxAmount), {}});
    diagnostics_.error(value.place(), models::Code::kOutOfRange,
                       fmt::format("'{}' must be at {} {}, found {}", key,
                                   found < 0 ? "least" : "most", limit, value.described()));
    return 0;
  }

  std::int64_t whole(const YamlValue& value, const char* key, std::int64_t most) {
    return values_.integer(value, key, 1, most).value_or(1);
  }

  bool is_on(const YamlValue& value) {
    return values_.constant(value, ValueType::kTruth).value_or(0) != 0;
  }

  std::int64_t whole(MapReader& map, const char* key, std::int64_t otherwise, std::int64_t most) {
    const auto value = map.take(key);
    return value ? whole(*value, key, most) : otherwise;
  }

  const ValueReader& values_;
  models::Diagnostics& diagnostics_;
  const models::RankGrid* grid_;
  const std::optional<YamlValue>& cluster_;
  models::LayerOps& ops_;
  std::uint32_t rows_ = 0;  // rows of the grid
  Pipeline pipeline_;
  MessageOrder order_ = MessageOrder::kInTurn;
  models::Place order_place_;
  std::optional<models::Place> unsharded_place_;
  // Shape of a schedule that is built once costs are known.
  std::optional<ScheduleShape> follows_costs_;
  bool has_form_ = false;  // whether `rows` or `kind` is given, valid or not
};

}  // namespace

std::optional<Pipeline> read_pipeline(const YamlValue& value, const ValueReader& values,
                                      const models::RankGrid* grid,
                                      const std::optional<YamlValue>& cluster,
                                      models::LayerOps& ops) {
  return PipelineReader(values, grid, cluster, ops).run(value);
}

std::string pipeline_scenario(const Schedule& schedule, const std::string& name) {
  std::string text = fmt::format("schema: {}\n", kScenarioSchema);
  if (!name.empty()) text += fmt::format("name: {}\n", name);
  text += fmt::format(
      "params:\n"
      "  forward: {{default: 1us, about: \"time of the forward of a stage\"}}\n"
      "  input_grad: {{default: forward, about: \"time of the gradient of its input\"}}\n"
      "  weight_grad: {{default: forward, about: \"time of the gradient of its weights\"}}\n"
      "  overlapped: {{default: forward + input_grad + weight_grad, about: \"time of a forward and "
      "a backward that overlap\"}}\n"
      "  message: {{default: 0B, about: \"size of what stages send\"}}\n"
      "  message_takes: {{default: 0s, about: \"time of a message\"}}\n"
      "  messages: {{default: pg, one_of: [{}], about: \"how messages are done\"}}\n"
      "  activation: {{default: 0B, about: \"memory of a micro-batch in a stage\"}}\n"
      "  weights: {{default: 0B, about: \"memory of the weights of a stage\"}}\n",
      fmt::join(models::message_model_names(), ", "));
  text += "schedule:\n";
  for (const char* key : {"forward", "input_grad", "weight_grad", "overlapped", "message",
                          "message_takes", "activation", "weights"}) {
    text += fmt::format("  {}: {}\n", key, key);
  }
  text += "  messages: $messages\n";
  if (schedule.pipelines > 1) text += fmt::format("  pipelines: {}\n", schedule.pipelines);
  if (schedule.partial) text += "  partial: on\n";
  text += "  rows:\n";
  for (const std::string& row : schedule_row_texts(schedule)) {
    text += fmt::format("    - \"{}\"\n", row);
  }
  return text;
}

}  // namespace pipesim::formats
