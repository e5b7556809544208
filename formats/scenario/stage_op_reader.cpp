#include "formats/scenario/stage_op_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/scenario/keys.hpp"
#include "models/graph/operation.hpp"

namespace pipesim::formats {
namespace {

using models::Code;
using models::LayerOps;
using models::StageOp;

class LayerOpsReader {
 public:
  LayerOpsReader(const ValueReader& values, const AmountsReader& amounts)
      : values_(values), diagnostics_(values.diagnostics()), amounts_(amounts) {}

  std::optional<LayerOps> run(const YamlValue& value) {
    const std::size_t errors = diagnostics_.error_count();
    MapReader map(value, keys::kStageOps, diagnostics_);
    if (const auto list = map.require("forward")) read_list(*list, "forward", ops_.forward);
    if (const auto list = map.require("backward")) read_list(*list, "backward", ops_.backward);
    const auto overlapped = map.take("overlapped");
    map.finish();
    if (diagnostics_.error_count() == errors && overlapped) read_order(*overlapped);
    if (diagnostics_.error_count() > errors) return std::nullopt;
    return std::move(ops_);
  }

 private:
  void read_list(const YamlValue& value, const char* key, std::vector<StageOp>& ops) {
    if (!value.is_list() || value.items().empty()) {
      diagnostics_.error(value.place(), value.is_list() ? Code::kEmpty : Code::kWrongType,
                         fmt::format("'{}' must be a list of ops, found {}", key,
                                     value.is_list() ? "none" : value.described()));
      return;
    }
    for (const YamlValue& item : value.items()) {
      StageOp op = read_op(item);
      if (op.weight_grad && &ops == &ops_.forward) {
        diagnostics_.error(item.place(), Code::kConflictingKeys,
                           "a forward has no 'weight_grad': only ops of the backward have");
      }
      const bool twice = std::any_of(ops.begin(), ops.end(),
                                     [&](const StageOp& other) { return other.name == op.name; });
      if (twice) {
        diagnostics_
            .error(item.place(), Code::kDuplicateName,
                   fmt::format("'{}' has two ops '{}'", key, op.name))
            .notes.emplace_back(op.call ? "give the call a 'name'" : "give them different names");
      }
      ops.push_back(std::move(op));
    }
  }

  StageOp read_op(const YamlValue& item) {
    static constexpr const KeyTable* kForms[] = {&keys::kStageCompute, &keys::kStageCall};
    const KeyTable* table = table_with_head(item, kForms);
    const bool calls = table == &keys::kStageCall;
    MapReader map(item, calls ? keys::kStageCall : keys::kStageCompute, diagnostics_);
    StageOp op;
    op.place = item.place();
    if (calls) {
      read_call(map, op);
    } else if (const auto name = map.require("compute")) {
      op.name = values_.word(*name).value_or("");
      op.takes_ns = amounts_(map, "takes", ValueType::kTime).value_or(op.takes_ns);
      const auto weight_grad = map.take("weight_grad");
      op.weight_grad = weight_grad && values_.truth(*weight_grad).value_or(false);
    }
    map.finish();
    return op;
  }

  void read_call(MapReader& map, StageOp& op) {
    models::StageCollective& call = op.call.emplace();
    call.place = op.place;
    op.name = read_stage_call(map, values_, call);
    if (const auto name = map.take("name")) op.name = values_.word(*name).value_or("");
    call.bytes = amounts_(map, "bytes", ValueType::kBytes);
    call.takes_ns = amounts_(map, "takes", ValueType::kTime);
  }

  // Finds an op written as "F.attention" or "B.combine"; nullopt if there is no such op.
  std::optional<models::OverlappedOp> find(const std::string& text) const {
    const bool forward = text.starts_with("F.");
    if (!forward && !text.starts_with("B.")) return std::nullopt;
    const std::vector<StageOp>& ops = ops_.of(forward);
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].name == text.substr(2)) return models::OverlappedOp{forward, i};
    }
    return std::nullopt;
  }

  void read_order(const YamlValue& value) {
    if (!value.is_list()) {
      if (values_.one_of(value, {"megatron"})) set_megatron_order(value.place());
    } else {
      for (const YamlValue& item : value.items()) {
        const std::string text = values_.word(item).value_or("");
        const auto step = find(text);
        if (!step) {
          unknown(item.place(), text);
          return;
        }
        ops_.overlapped.push_back(*step);
      }
    }
    check_order(value.place());
  }

  void unknown(models::Place place, const std::string& text) {
    models::Diagnostic& error =
        diagnostics_.error(place, Code::kUnknownOp, fmt::format("unknown op '{}'", text));
    models::suggest_name(error, text, all_names());
  }

  std::vector<std::string> all_names() const {
    std::vector<std::string> names;
    for (const StageOp& op : ops_.forward) names.push_back("F." + op.name);
    for (const StageOp& op : ops_.backward) names.push_back("B." + op.name);
    return names;
  }

  // Uses Megatron-LM's order, restricted to the ops that this layer has.
  void set_megatron_order(models::Place place) {
    const std::vector<std::string>& order = models::megatron_overlap();
    for (const std::string& name : all_names()) {
      if (std::find(order.begin(), order.end(), name) != order.end()) continue;
      diagnostics_
          .error(place, Code::kUnknownOp, fmt::format("Megatron-LM's order has no op '{}'", name))
          .notes.push_back(fmt::format(
              "its ops are {}: use these names, or list all ops in an order of your own",
              fmt::join(order, ", ")));
      return;
    }
    for (const std::string& name : order) {
      if (const auto step = find(name)) ops_.overlapped.push_back(*step);
    }
  }

  // Checks that each op occurs once, after the ops it depends on.
  void check_order(models::Place place) {
    if (ops_.overlapped.empty()) return;
    if (auto why = fault_of_order()) {
      diagnostics_.error(place, Code::kScheduleOrder, std::move(*why));
    }
  }

  std::optional<std::string> fault_of_order() const {
    std::vector<char> seen[2];
    seen[0].assign(ops_.backward.size(), 0);
    seen[1].assign(ops_.forward.size(), 0);
    for (const models::OverlappedOp& step : ops_.overlapped) {
      const std::vector<StageOp>& ops = ops_.of(step.forward);
      const char* side = step.forward ? "F" : "B";
      std::vector<char>& done = seen[step.forward ? 1 : 0];
      if (done[step.op] != 0) {
        return fmt::format("'overlapped' has op '{}.{}' twice", side, ops[step.op].name);
      }
      for (std::uint32_t i = 0; i < step.op; ++i) {
        if (done[i] != 0 || ops[i].weight_grad) continue;
        return fmt::format("'overlapped' has '{0}.{1}' before '{0}.{2}', for which it waits", side,
                           ops[step.op].name, ops[i].name);
      }
      done[step.op] = 1;
    }
    for (const bool forward : {true, false}) {
      const std::vector<StageOp>& ops = ops_.of(forward);
      for (std::size_t i = 0; i < ops.size(); ++i) {
        if (seen[forward ? 1 : 0][i] != 0) continue;
        return fmt::format("'overlapped' lacks op '{}.{}'", forward ? "F" : "B", ops[i].name);
      }
    }
    return std::nullopt;
  }

  const ValueReader& values_;
  models::Diagnostics& diagnostics_;
  const AmountsReader& amounts_;
  LayerOps ops_;
};

}  // namespace

std::string read_stage_call(MapReader& map, const ValueReader& values,
                            models::StageCollective& call) {
  std::string name;
  const std::vector<std::string> calls = map.words("call");
  if (const auto word = map.require("call")) {
    name = values.one_of(*word, calls).value_or("");
    if (const auto operation = models::find_operation(name)) {
      call.operation = *operation;
    } else if (!name.empty()) {
      call.ring = models::RingOrder::kBatch;
    }
  }
  if (const auto over = map.require("over")) {
    call.over = values.word(*over).value_or("");
    call.place = over->place();
  }
  const auto order = map.take("order");
  if (!order) return name;
  const auto found = values.one_of(*order, models::ring_order_names());
  if (!found || name.empty()) return name;
  if (call.ring != models::RingOrder::kNone) {
    call.ring = *models::find_ring_order(*found);
    return name;
  }
  values.diagnostics()
      .error(order->place(), Code::kConflictingKeys, "'order' needs 'call: ring_exchange'")
      .notes.emplace_back("a collective has no send and no recv: leave it out");
  return name;
}

std::optional<LayerOps> read_layer_ops(const YamlValue& value, const ValueReader& values,
                                       const AmountsReader& amounts) {
  return LayerOpsReader(values, amounts).run(value);
}

}  // namespace pipesim::formats
