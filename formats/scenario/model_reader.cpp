// Reads layers in order, because the default input of an op is the output of the previous op.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "formats/scenario/keys.hpp"
#include "formats/scenario/section_readers.hpp"

namespace pipesim::formats {

using models::LogicalGraph;
using models::ModelLayer;
using models::ModelOp;
using models::ModelVariable;
using models::NdSbp;
using models::TensorType;

namespace {

constexpr std::int64_t kMaxLayers = 1 << 16;
constexpr std::size_t kMaxOps = 20'000;  // ops of all layers; passes take quadratic time
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

class ModelReader {
 public:
  explicit ModelReader(const ValueReader& values)
      : values_(values), diagnostics_(values.diagnostics()) {}

  std::optional<LogicalGraph> run(const YamlValue& value, MapReader& top) {
    const std::size_t errors = diagnostics_.error_count();
    MapReader map(value, keys::kModel, diagnostics_);
    map.take_text("about");
    graph_.model.place = value.place();
    type_.shape = {1};
    if (const auto input = map.take("input")) {
      MapReader fields(*input, keys::kModelInput, diagnostics_);
      read_type(fields, type_);
      if (const auto signature = fields.take("signature")) {
        graph_.model.input_signature = nd_sbp(*signature).value_or(signature_);
      }
      fields.finish();
    }
    signature_ = graph_.model.input_signature;
    graph_.model.input = type_;
    if (const auto system = map.take("system")) read_system(*system);
    if (const auto layers = map.require("layers")) read_layers(*layers);
    map.finish();
    if (const auto parallel = top.take("parallel")) read_parallel(*parallel);
    if (const auto train = top.take("train")) read_train(*train);
    if (graph_.layout.stages_place.line == 0) graph_.layout.stages_place = value.place();
    if (diagnostics_.error_count() > errors) return std::nullopt;
    return std::move(graph_);
  }

 private:
  // -------------------------------------------------------------------------------------------
  // Layers

  void read_layers(const YamlValue& value) {
    const std::vector<YamlValue> items = list(value, "'layers' must be a list of layers");
    for (const YamlValue& item : items) read_layer(item);
    if (value.is_list() && items.empty()) {
      diagnostics_.error(value.place(), models::Code::kEmpty, "a model needs at least one layer");
    }
  }

  void read_layer(const YamlValue& value) {
    MapReader map(value, keys::kLayer, diagnostics_);
    map.take_text("about");
    ModelLayer layer;
    layer.place = value.place();
    if (const auto name = map.require("name")) layer.name = values_.word(*name).value_or("");
    const std::int64_t count = whole(map, "count", 1, kMaxLayers);
    const bool several = map.has("count");
    if (const auto stage = map.take("stage")) {
      layer.stage = values_.constant(*stage, ValueType::kNumber).value_or(0);
    }
    const auto ops = map.require("ops");
    map.finish();
    if (!ops) return;
    const std::string name = layer.name;
    std::int64_t& number = numbers_[name];
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t errors = diagnostics_.error_count();
      layer.name = several ? name + std::to_string(number++) : name;
      layer.ops.clear();
      read_ops(*ops, layer);
      if (diagnostics_.error_count() > errors) return;  // reports each mistake once
      ops_ += layer.ops.size();
      if (ops_ > kMaxOps) {
        diagnostics_.error(
            layer.place, models::Code::kLimit,
            fmt::format("the model has more than {1} ops up to layer '{0}'", layer.name, kMaxOps));
        return;
      }
      const auto known =
          std::find_if(graph_.model.layers.begin(), graph_.model.layers.end(),
                       [&](const ModelLayer& other) { return other.name == layer.name; });
      if (known != graph_.model.layers.end()) {
        diagnostics_.error(layer.place, models::Code::kDuplicateName,
                           fmt::format("duplicate layer '{}'", layer.name));
        return;
      }
      graph_.model.layers.push_back(layer);
    }
  }

  void read_ops(const YamlValue& value, ModelLayer& layer) {
    const auto entries = named_entries(value, "'ops'", diagnostics_);
    for (const YamlValue::Entry& entry : entries) {
      ModelOp op;
      op.name = entry.key.text();
      op.place = entry.key.place();
      read_op(entry.value, op);
      layer.ops.push_back(std::move(op));
    }
    if (entries.empty())
      diagnostics_.error(value.place(), models::Code::kEmpty, "a layer needs at least one op");
  }

  void read_op(const YamlValue& value, ModelOp& op) {
    MapReader map(value, keys::kOp, diagnostics_);
    map.take_text("about");
    op.takes_ns = time(map, "takes", 0);
    op.gradient_takes_ns = 2 * op.takes_ns;
    if (const auto only = map.take("only")) {
      op.only_backward = values_.one_of(*only, map.words("only")).has_value();
    }
    op.in = signature(map, "in", signature_);
    op.out = signature(map, "out", op.in);
    op.type = type_;
    read_type(map, op.type);
    read_saves(map, op);
    op.gradient_in = models::gradient_taken(op.out);
    op.gradient_out = models::gradient_given(op.in, op.out);
    if (const auto gradient = map.take("gradient")) {
      MapReader fields(*gradient, keys::kGradient, diagnostics_);
      op.gradient_takes_ns = time(fields, "takes", op.gradient_takes_ns);
      op.gradient_in = signature(fields, "in", op.gradient_in);
      op.gradient_out = signature(fields, "out", op.gradient_out);
      fields.finish();
    }
    const auto variables = map.take("variables");
    if (variables) read_variables(*variables, op);
    if (variables && op.only_backward) {
      diagnostics_.error(variables->place(), models::Code::kConflictingKeys,
                         "an op with 'only: backward' cannot have variables");
    }
    map.finish();
    if (op.only_backward) return;
    signature_ = op.out;
    type_ = op.type;
  }

  void read_saves(MapReader& map, ModelOp& op) {
    const auto value = map.take("saves");
    const auto saves = value ? values_.one_of(*value, map.words("saves")) : std::nullopt;
    if (saves == "output") op.saves = models::Saved::kOutput;
    if (saves == "nothing") op.saves = models::Saved::kNothing;
  }

  void read_variables(const YamlValue& value, ModelOp& op) {
    for (const YamlValue::Entry& entry : named_entries(value, "'variables'", diagnostics_)) {
      ModelVariable variable;
      variable.name = entry.key.text();
      variable.place = entry.key.place();
      MapReader map(entry.value, keys::kVariable, diagnostics_);
      map.take_text("about");
      variable.type.shape = {1};
      read_type(map, variable.type);
      variable.signature = signature(map, "signature", variable.signature);
      variable.gradient = models::gradient_given(variable.signature, op.out);
      variable.gradient = signature(map, "gradient", variable.gradient);
      variable.like = variable.signature;
      if (const auto like = map.take("like")) {
        variable.read_by_gradient = !like->is_null();
        if (variable.read_by_gradient) variable.like = nd_sbp(*like).value_or(variable.like);
      }
      map.finish();
      op.variables.push_back(std::move(variable));
    }
  }

  // -------------------------------------------------------------------------------------------
  // Keys next to the layers

  void read_system(const YamlValue& value) {
    MapReader map(value, keys::kSystemCosts, diagnostics_);
    models::SystemCosts& costs = graph_.model.costs;
    costs.input_ns = time(map, "input", 0);
    costs.copy_ns = time(map, "copy", 0);
    costs.buffer_ns = time(map, "buffer", 0);
    costs.repeat_ns = time(map, "repeat", 0);
    costs.zeros_ns = time(map, "zeros", 0);
    costs.accumulate_ns = time(map, "accumulate", 0);
    costs.pack_ns = time(map, "pack", 0);
    costs.slice_ns = time(map, "slice", 0);
    costs.collective_ns = time(map, "collective", 0);
    costs.update_ns = time(map, "update", 0);
    map.finish();
  }

  void read_parallel(const YamlValue& value) {
    MapReader map(value, keys::kParallel, diagnostics_);
    models::ParallelLayout& layout = graph_.layout;
    layout.stages_place = value.place();
    if (const auto stages = map.take("pipeline")) {
      layout.stages_place = stages->place();
      layout.stages = static_cast<std::uint32_t>(whole(*stages, "pipeline", kMaxLayers));
    }
    layout.hierarchy.data = static_cast<std::uint32_t>(whole(map, "data", 1, kMaxRanks));
    layout.hierarchy.tensor = static_cast<std::uint32_t>(whole(map, "tensor", 1, kMaxRanks));
    for (const char* key : {"context", "expert", "expert_tensor", "order"}) {
      const auto other = map.take(key);
      if (!other) continue;
      diagnostics_.error(other->place(), models::Code::kConflictingKeys,
                         fmt::format("'{}' cannot be used with 'model'", key));
    }
    map.finish();
    const std::uint64_t ranks = std::uint64_t{layout.hierarchy.data} * layout.hierarchy.tensor;
    if (ranks <= kMaxRanks && ranks * layout.stages <= kMaxRanks) return;
    diagnostics_.error(
        value.place(), models::Code::kLimit,
        fmt::format("a job can have at most {} ranks, and {} x {} x {} are more", kMaxRanks,
                    layout.hierarchy.data, layout.hierarchy.tensor, layout.stages));
    layout = {};
  }

  void read_train(const YamlValue& value) {
    MapReader map(value, keys::kTrain, diagnostics_);
    graph_.training.accumulation = whole(map, "accumulation", 1, kMaxMicroBatches);
    if (const auto optimizer = map.take("optimizer")) {
      graph_.training.has_optimizer = values_.truth(*optimizer).value_or(false);
    }
    map.finish();
  }

  // -------------------------------------------------------------------------------------------
  // Values

  std::vector<YamlValue> list(const YamlValue& value, const char* expected) {
    if (value.is_list()) return value.items();
    diagnostics_.error(value.place(), models::Code::kWrongType,
                       fmt::format("{}, found {}", expected, value.described()));
    return {};
  }

  void read_type(MapReader& map, TensorType& type) {
    if (const auto shape = map.take("shape")) {
      type.shape.clear();
      for (const YamlValue& item : list(*shape, "a shape must be a list of numbers")) {
        type.shape.push_back(whole(item, "shape", kMaxElements));
      }
      std::int64_t elements = 1;
      for (const std::int64_t size : type.shape) {
        if (size <= kMaxElements / elements) {
          elements *= size;
          continue;
        }
        diagnostics_.error(shape->place(), models::Code::kLimit,
                           fmt::format("a tensor can have at most {} elements", kMaxElements));
        type.shape = {1};
        break;
      }
    }
    if (const auto dtype = map.take("dtype")) {
      type.dtype = values_.one_of(*dtype, models::dtype_names()).value_or(type.dtype);
    }
  }

  NdSbp signature(MapReader& map, const char* key, const NdSbp& otherwise) {
    const auto value = map.take(key);
    return value ? nd_sbp(*value).value_or(otherwise) : otherwise;
  }

  // Reads [S(0), B]: the split over the data dimension, then over the tensor dimension.
  std::optional<NdSbp> nd_sbp(const YamlValue& value) {
    const auto wrong = [&](const YamlValue& where) {
      diagnostics_
          .error(where.place(), models::Code::kSignature,
                 fmt::format("expected a signature, two of S(axis), B and P, found {}",
                             where.described()))
          .notes.emplace_back(
              "[S(0), B]: split along axis 0 over the data-parallel ranks, replicated on the "
              "tensor-parallel ones");
      return std::nullopt;
    };
    const std::optional<YamlValue> picked = values_.resolved(value);
    if (!picked) return std::nullopt;
    const std::vector<YamlValue> items = picked->items();
    if (!picked->is_list() || items.size() != 2) return wrong(*picked);
    NdSbp result;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto sbp = models::find_sbp(items[i].text());
      if (!sbp) return wrong(items[i]);
      result[i] = *sbp;
    }
    return result;
  }

  std::int64_t time(MapReader& map, const char* key, std::int64_t otherwise) {
    constexpr std::int64_t kMaxTime = std::numeric_limits<std::int64_t>::max() >> 24;
    const auto value = map.take(key);
    if (!value) return otherwise;
    const std::int64_t found = values_.constant(*value, ValueType::kTime).value_or(0);
    if (found >= 0 && found <= kMaxTime) return found;
    const std::int64_t limit = found < 0 ? 0 : kMaxTime;
    diagnostics_.error(
        value->place(), models::Code::kOutOfRange,
        fmt::format("'{}' must be at {} {}, found {}", key, found < 0 ? "least" : "most",
                    to_text(Value{ValueType::kTime, models::Expr::constant(limit), {}}),
                    value->described()));
    return 0;
  }

  std::int64_t whole(const YamlValue& value, const char* key, std::int64_t most) {
    return values_.integer(value, key, 1, most).value_or(1);
  }

  std::int64_t whole(MapReader& map, const char* key, std::int64_t otherwise, std::int64_t most) {
    const auto value = map.take(key);
    return value ? whole(*value, key, most) : otherwise;
  }

  const ValueReader& values_;
  models::Diagnostics& diagnostics_;
  LogicalGraph graph_;
  NdSbp signature_ = {models::Sbp::split(0),
                      models::Sbp::broadcast()};  // signature of the next op's input
  TensorType type_;                               // type of the next op's input
  std::map<std::string, std::int64_t> numbers_;   // number of layers so far, by name
  std::size_t ops_ = 0;                           // number of ops in all layers so far
};

// Returns the value of an option as text; nullopt after an error.
std::optional<std::string> option_text(const YamlValue& value, const models::Pass& pass,
                                       const models::PassOption& option,
                                       const ValueReader& values) {
  std::optional<std::string> text;
  if (option.type == models::OptionType::kTruth) {
    const std::optional<bool> truth = values.truth(value);
    if (truth) text = *truth ? "on" : "off";
  } else if (option.type == models::OptionType::kNumber) {
    const auto number = values.constant(value, ValueType::kNumber);
    if (number) text = std::to_string(*number);
  } else {
    text = values.word(value);
  }
  if (!text || models::is_option_value(*text, option)) return text;
  models::Diagnostic& error = values.diagnostics().error(
      value.place(), models::Code::kPassOption,
      fmt::format("option '{}' of pass '{}' is {}, found '{}'", option.name, pass.name,
                  models::option_values(option), *text));
  const std::string near = models::nearest_name(*text, option.one_of);
  if (!near.empty()) error.notes.push_back(fmt::format("did you mean '{}'?", near));
  return std::nullopt;
}

void read_options(const YamlValue& value, models::PassCall& call, const ValueReader& values) {
  MapReader map(value, keys::options_of(call.pass->name), values.diagnostics());
  for (const models::PassOption& option : call.pass->options) {
    const auto field = map.take(option.name);
    if (!field) continue;
    if (const auto text = option_text(*field, *call.pass, option, values)) {
      call.options.set(option.name, *text);
      call.text += ':' + option.name + '=' + *text;
    }
  }
  map.finish();
}

}  // namespace

std::optional<LogicalGraph> read_model(const YamlValue& value, MapReader& map,
                                       const ValueReader& values) {
  return ModelReader(values).run(value, map);
}

std::optional<std::vector<models::PassCall>> read_passes(const std::optional<YamlValue>& value,
                                                         const models::PassRegistry& registry,
                                                         const ValueReader& values) {
  const std::size_t errors = values.diagnostics().error_count();
  std::vector<models::PassCall> calls;
  for (const std::string& name : models::model_passes()) {
    models::PassCall& call = calls.emplace_back();
    call.pass = registry.find(name);
    call.text = name;
    for (const models::PassOption& option : call.pass->options) {
      call.options.set(option.name, option.otherwise.value_or(""));
    }
  }
  if (value) {
    MapReader map(*value, keys::passes(), values.diagnostics());
    for (models::PassCall& call : calls) {
      if (const auto options = map.take(call.pass->name)) read_options(*options, call, values);
    }
    map.finish();
  }
  if (values.diagnostics().error_count() > errors) return std::nullopt;
  return calls;
}

}  // namespace pipesim::formats
