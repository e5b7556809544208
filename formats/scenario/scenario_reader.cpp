// Reads scenarios: the top level of the file here, `actors:` in actor_reader.cpp.
//
// Keys are read in the order of their dependencies, not in file order: parameters, ranks, sets and
// groups, threads and streams, actors, programs, expectations.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "formats/document/map_reader.hpp"
#include "formats/document/parameters.hpp"
#include "formats/document/patch.hpp"
#include "formats/document/value_reader.hpp"
#include "formats/document/versions.hpp"
#include "formats/document/yaml_document.hpp"
#include "formats/scenario/actor_reader.hpp"
#include "formats/scenario/cluster_reader.hpp"
#include "formats/scenario/field_reader.hpp"
#include "formats/scenario/keys.hpp"
#include "formats/scenario/program_reader.hpp"
#include "formats/scenario/scenario.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "formats/scenario/section_readers.hpp"
#include "models/graph/by_name.hpp"
#include "models/layers/pass_pipeline.hpp"

namespace pipesim::formats {

using models::Diagnostics;
using models::Expr;
using models::kNoIndex;
using models::RankSet;

namespace {

constexpr std::int64_t kMaxBlockTimes = std::numeric_limits<std::uint32_t>::max();

class ScenarioReader {
 public:
  ScenarioReader(const std::vector<GivenSetting>& settings, Diagnostics& diagnostics,
                 const ReadOptions& options, YamlDocument& document)
      : settings_(settings),
        options_(options),
        diagnostics_(diagnostics),
        document_(document),
        values_(scope_, diagnostics) {
    scope_.parameters = &scenario_.parameters;
  }

  std::optional<Scenario> run();

 private:
  bool check_schema(MapReader& map);
  void read_model(const YamlValue& value, MapReader& map);
  void build_model();
  void read_work(MapReader& map, bool open_streams, bool has_schedule);
  void read_device(const YamlValue& value);
  void read_what_names_ops(MapReader& map);
  std::vector<YamlValue> take_items(MapReader& map, const char* key);
  void read_rests_on(MapReader& map);
  void read_undecided(const YamlValue& value);
  void read_lock(const YamlValue& value);
  void read_processes(const YamlValue& value);
  void read_names(MapReader& map);
  void read_parameters(MapReader& map);
  void read_sizes(MapReader& map);
  void read_threads(const YamlValue& value);
  void read_streams(const YamlValue& value);
  void read_stream(const std::string& name, models::Place place, const YamlValue* fields);
  void read_communicators(const YamlValue& value);
  void read_calls_of(MapReader& map, models::CommunicatorTemplate& communicator);
  void read_reading(MapReader& map);
  void read_backend(MapReader& map);
  void read_defaults(const YamlValue& value);
  void read_programs();
  std::vector<models::ProgramStep> read_program(const YamlValue& value, std::uint32_t thread);
  std::optional<models::ProgramStep> read_step(const YamlValue& value, std::uint32_t thread);

  const std::vector<GivenSetting>& settings_;
  const ReadOptions& options_;
  Diagnostics& diagnostics_;
  YamlDocument& document_;
  Scenario scenario_;
  models::TaskGraph& graph_ = scenario_.graph;
  Scope scope_;
  ValueReader values_;
  FieldReader fields_{values_, graph_};
  ActorDefaults defaults_;
  bool open_streams_ = true;  // whether the first use of a stream adds the stream
  models::PassRegistry passes_ = models::shipped_passes();
  std::vector<models::PassCall> calls_;   // calls in `passes`, for the model
  std::optional<models::RankGrid> grid_;  // grid of `parallel`, without a model
  // Pipeline of `schedule`, until added to the graph.
  std::optional<models::Pipeline> pipeline_;
  // Layer ops of `schedule`, until added to the graph.
  models::LayerOps ops_;
  std::map<std::uint32_t, YamlValue> programs_;  // programs by thread, read once actors are known
};

std::optional<Scenario> ScenarioReader::run() {
  MapReader map(document_.root(), keys::kScenario, diagnostics_);
  if (diagnostics_.has_errors() || !check_schema(map)) return std::nullopt;
  if (const auto name = map.take("name")) graph_.name = values_.word(*name).value_or("");
  scenario_.about = map.take_text("about");
  read_rests_on(map);
  if (const auto undecided = map.take("undecided")) read_undecided(*undecided);
  read_parameters(map);
  read_reading(map);
  const auto parallel = map.has("model") ? std::nullopt : map.take("parallel");
  if (parallel) grid_ = read_rank_grid(*parallel, values_);
  if (parallel && !grid_) return std::nullopt;  // the number of ranks is unknown
  const auto schedule = map.take("schedule");
  const auto cluster = map.take("cluster");
  if (schedule) {
    pipeline_ = read_pipeline(*schedule, values_, grid_ ? &*grid_ : nullptr, cluster, ops_);
  }
  if (schedule && !pipeline_) return std::nullopt;  // the number of ranks is unknown
  const auto model = map.take("model");
  if (model) read_model(*model, map);
  if (model && !graph_.logical) return std::nullopt;  // the number of ranks is unknown
  read_sizes(map);
  scope_.sets = &scenario_.sets;
  if (grid_) graph_.groups = std::move(grid_->groups);
  read_sets_and_groups(map, values_, scenario_);
  if (const auto processes = map.take("processes")) read_processes(*processes);
  if (const auto memory = map.take("memory")) {
    graph_.memory = values_.expr(*memory, ValueType::kBytes);
  }
  if (cluster) graph_.cluster = read_cluster(*cluster, values_, graph_.ranks);
  if (const auto defaults = map.take("defaults")) read_defaults(*defaults);
  if (const auto threads = map.take("threads")) read_threads(*threads);
  const std::optional<YamlValue> streams = map.take("streams");
  open_streams_ = !streams;
  if (streams) read_streams(*streams);
  read_backend(map);
  if (const auto value = map.take("communicators")) read_communicators(*value);
  if (const auto device = map.take("device")) read_device(*device);
  if (const auto timeouts = map.take("guards")) read_timeouts(*timeouts, values_, graph_);
  read_names(map);
  if (!model) {
    read_work(map, open_streams_, schedule.has_value());
  } else if (options_.build_model) {
    build_model();
  }
  read_what_names_ops(map);
  map.finish();
  if (diagnostics_.has_errors()) return std::nullopt;
  return std::move(scenario_);
}

// Reads faults, the programs of threads, and expectations: they name ops. Skips faults and
// expectations if the graph is still a model, which has no ops.
void ScenarioReader::read_what_names_ops(MapReader& map) {
  const auto faults = map.take("faults");
  const auto expect = map.take("expect");
  if (faults && !graph_.logical) read_faults(*faults, values_, graph_);
  read_programs();
  if (expect && !graph_.logical) read_expectations(*expect, values_, scenario_);
}

// Reads a model, which excludes other work. Sets the number of ranks.
void ScenarioReader::read_model(const YamlValue& value, MapReader& map) {
  for (const char* other : {"actors", "programs", "schedule"}) {
    const std::optional<YamlValue> found = map.take(other);
    if (!found) continue;
    diagnostics_.error(
        found->place(), models::Code::kConflictingKeys,
        fmt::format("'{}' cannot be used with 'model', whose passes build everything", other));
  }
  std::optional<models::LogicalGraph> logical = formats::read_model(value, map, values_);
  const auto passes = read_passes(map.take("passes"), passes_, values_);
  if (!logical || !passes) return;
  graph_.logical = std::move(logical);
  for (const models::PassCall& call : *passes) {
    if (!scenario_.passes.empty()) scenario_.passes += ',';
    scenario_.passes += call.text;
  }
  calls_ = *passes;
}

void ScenarioReader::build_model() {
  if (diagnostics_.has_errors()) return;
  models::run_passes(graph_, calls_, {}, diagnostics_);
}

// Reads the work of the job: actors, host programs, a pipeline schedule, or several of them.
void ScenarioReader::read_work(MapReader& map, bool open_streams, bool has_schedule) {
  const auto actors = map.take("actors");
  const auto blocks = map.take("blocks");
  const auto programs = map.take("programs");
  if (actors) ActorReader(values_, defaults_, open_streams, document_, graph_).read(*actors);
  if (pipeline_) models::add_pipeline(std::move(*pipeline_), ops_, graph_, diagnostics_);
  if (programs) {
    ProgramReader reader(values_, defaults_, open_streams, graph_);
    if (blocks) reader.read_blocks(*blocks);
    reader.read(*programs);
  }
  if (!actors && !programs && !has_schedule) {
    diagnostics_.error(map.place(), models::Code::kMissingKey,
                       "a scenario needs the key 'actors', 'programs', 'schedule' or 'model'");
  }
}

// Returns the items of the list under `key`; empty without the key.
std::vector<YamlValue> ScenarioReader::take_items(MapReader& map, const char* key) {
  const std::optional<YamlValue> value = map.take(key);
  if (!value || value->is_list()) return value ? value->items() : std::vector<YamlValue>();
  diagnostics_.error(value->place(), models::Code::kWrongType,
                     fmt::format("'{}' must be a list, found {}", key, value->described()));
  return {};
}

void ScenarioReader::read_rests_on(MapReader& map) {
  for (const YamlValue& item : take_items(map, "rests_on")) {
    if (item.is_scalar()) {
      scenario_.rests_on.emplace_back(item.text());
    } else {
      diagnostics_.error(item.place(), models::Code::kWrongType,
                         fmt::format("must be a sentence, found {}", item.described()));
    }
  }
}

void ScenarioReader::read_undecided(const YamlValue& value) {
  MapReader map(value, keys::kUndecided, diagnostics_);
  scenario_.undecided.proved = map.take_text("proved");
  scenario_.undecided.hang = map.take_text("hang");
  scenario_.undecided.possible = map.take_text("possible");
  map.finish();
}

// Reads a lock: its name, or a map with its scope.
void ScenarioReader::read_lock(const YamlValue& value) {
  models::LockTemplate lock;
  if (!value.is_map()) {
    lock.name = values_.word(value).value_or("");
  } else {
    MapReader fields(value, keys::kLock, diagnostics_);
    if (const auto name = fields.require("lock")) lock.name = values_.word(*name).value_or("");
    if (const auto scope = fields.take("scope")) {
      lock.of_rank = values_.one_of(*scope, fields.words("scope")) == "rank";
    }
    fields.finish();
  }
  if (!lock.name.empty()) graph_.locks.push_back(std::move(lock));
}

// Reads `processes`: the group whose lists of ranks are the processes.
void ScenarioReader::read_processes(const YamlValue& value) {
  const std::optional<std::string> name = values_.word(value);
  if (!name) return;
  graph_.processes.group = models::index_of(graph_.groups, *name);
  if (graph_.processes.group != models::kNoIndex) return;
  models::Diagnostic& error = diagnostics_.error(value.place(), models::Code::kUnknownGroup,
                                                 fmt::format("unknown group '{}'", *name));
  models::suggest_name(error, *name, models::names_of(graph_.groups));
}

// Reads the declarations of phases, locks, events and keys, which fix their order. Without a
// declaration, the first use of a name adds it.
void ScenarioReader::read_names(MapReader& map) {
  for (const YamlValue& item : take_items(map, "phases")) {
    if (const auto name = values_.word(item)) graph_.phases.push_back(*name);
  }
  for (const YamlValue& item : take_items(map, "locks")) read_lock(item);
  for (const YamlValue& item : take_items(map, "events")) {
    MapReader fields(item, keys::kEvent, diagnostics_);
    models::EventTemplate event;
    event.place = item.place();
    const std::optional<YamlValue> key = fields.take("key");
    event.shared = key.has_value();
    const std::optional<YamlValue> name = key ? key : fields.require("event");
    fields.finish();
    if (name) event.name = values_.word(*name).value_or("");
    graph_.events.push_back(std::move(event));
  }
}

// Reads the limits and the launch order of each device.
void ScenarioReader::read_device(const YamlValue& value) {
  MapReader map(value, keys::kDevice, diagnostics_);
  fields_.read(map, graph_.device);
  if (map.has("sms") && graph_.device.resident != Expr()) {
    diagnostics_
        .error(map.place_of("sms"), models::Code::kConflictingKeys,
               "'sms' and 'resident' both limit what a device runs")
        .notes.emplace_back("leave one of them out: 'resident' counts kernels, 'sms' their CTAs");
  }
  map.finish();
}

bool ScenarioReader::check_schema(MapReader& map) {
  const std::optional<YamlValue> schema = map.take("schema");
  if (!schema) {
    models::Diagnostic& error =
        diagnostics_.error(map.place(), models::Code::kSchema,
                           fmt::format("a scenario begins with 'schema: {}'", kScenarioSchema));
    if (map.has("patch")) {
      error.notes.emplace_back("this is a patch: give it after the scenario, with --patch");
    }
    return false;
  }
  if (schema->is_scalar() && schema->text() == kScenarioSchema) return true;
  diagnostics_.error(
      schema->place(), models::Code::kSchema,
      fmt::format("this pipesim reads schema {}, found {}", kScenarioSchema, schema->described()));
  return false;
}

void ScenarioReader::read_parameters(MapReader& map) {
  if (const auto params = map.take("params")) {
    scenario_.parameters = formats::read_parameters(*params, settings_, diagnostics_);
  }
  check_settings(scenario_.parameters, settings_, diagnostics_);
}

// Reads `reading`. Unless a parameter has this name, the setting `reading` (--reading) overrides
// the value in the file.
void ScenarioReader::read_reading(MapReader& map) {
  const std::vector<std::string> words = map.words("reading");
  std::string chosen = "cold";
  if (const auto value = map.take("reading"))
    chosen = values_.one_of(*value, words).value_or(chosen);
  const bool is_parameter =
      std::any_of(scenario_.parameters.begin(), scenario_.parameters.end(),
                  [](const Parameter& parameter) { return parameter.name == "reading"; });
  for (const GivenSetting& given : settings_) {
    if (is_parameter || given.setting.first != "reading") continue;
    chosen = given.setting.second;
    if (std::find(words.begin(), words.end(), chosen) != words.end()) continue;
    diagnostics_.error(given.place, models::Code::kParameterValue,
                       fmt::format("'{}' is not an NCCL model: contract, real or cold", chosen));
  }
  graph_.nccl_mode = chosen == "contract" ? models::NcclMode::kContract
                     : chosen == "real"   ? models::NcclMode::kReal
                                          : models::NcclMode::kCold;
}

void ScenarioReader::read_sizes(MapReader& map) {
  const auto ranks = map.take("ranks");
  if (ranks) {
    const auto count = values_.integer(*ranks, "ranks", 1, kMaxRanks);
    if (count) graph_.ranks = static_cast<std::uint32_t>(*count);
  }
  if (pipeline_ || grid_ || graph_.logical) {
    const auto needed = grid_       ? static_cast<std::uint32_t>(grid_->row_of_rank.size())
                        : pipeline_ ? pipeline_->rank_count()
                                    : graph_.logical->layout.ranks();
    if (ranks && graph_.ranks != needed) {
      diagnostics_.error(ranks->place(), models::Code::kRankCount,
                         fmt::format("the {} needs {} rank{}, but 'ranks' is {}",
                                     pipeline_ && !grid_ ? "schedule" : "layout under 'parallel'",
                                     needed, needed == 1 ? "" : "s", graph_.ranks));
    }
    graph_.ranks = needed;
  }
  scope_.ranks = graph_.ranks;
  scope_.rank = true;
  if (const auto value = map.take("micro_batches")) {
    graph_.micro_batches = values_.constant(*value, ValueType::kNumber).value_or(0);
    if (graph_.micro_batches < 0) {
      diagnostics_.error(
          value->place(), models::Code::kOutOfRange,
          fmt::format("'micro_batches' must be at least 0, found {}", graph_.micro_batches));
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Threads, streams, communicators, defaults

void ScenarioReader::read_threads(const YamlValue& value) {
  for (const YamlValue::Entry& entry : named_entries(value, "'threads'", diagnostics_)) {
    models::HostThread thread;
    thread.name = entry.key.text();
    thread.place = entry.key.place();
    if (!entry.value.is_null()) {
      MapReader map(entry.value, keys::kThread, diagnostics_);
      map.take_text("about");
      const std::optional<YamlValue> order = map.take("order");
      const std::optional<YamlValue> program = map.take("program");
      const std::vector<std::string> words = map.words("order");
      map.finish();
      if (order) {
        const auto name = values_.one_of(*order, words);
        if (name == "program") thread.order = sim::ThreadOrder::kProgram;
      }
      if (program) {
        programs_.emplace(static_cast<std::uint32_t>(graph_.threads.size()), *program);
        thread.order = sim::ThreadOrder::kProgram;
      }
    }
    graph_.threads.push_back(std::move(thread));
  }
}

void ScenarioReader::read_streams(const YamlValue& value) {
  if (value.is_list()) {
    for (const YamlValue& item : value.items()) {
      const std::optional<std::string> name = values_.word(item);
      if (name) read_stream(*name, item.place(), nullptr);
    }
    return;
  }
  for (const YamlValue::Entry& entry : named_entries(value, "'streams'", diagnostics_)) {
    read_stream(std::string(entry.key.text()), entry.key.place(),
                entry.value.is_null() ? nullptr : &entry.value);
  }
}

// Reads a stream. Without a stated thread, a stream has its own thread of the same name, as in
// actor runtimes.
void ScenarioReader::read_stream(const std::string& name, models::Place place,
                                 const YamlValue* fields) {
  models::StreamTemplate stream;
  stream.name = name;
  stream.place = place;
  stream.launch_queue = graph_.launch_queue;
  std::string thread = name;
  std::optional<models::Place> place_of_thread;
  if (fields != nullptr) {
    MapReader map(*fields, keys::kStream, diagnostics_);
    fields_.read(map, stream);
    const std::optional<YamlValue> value = map.take("thread");
    map.finish();
    if (value && value->is_null()) {  // only programs launch on the stream
      graph_.streams.push_back(std::move(stream));
      return;
    }
    if (value) {
      thread = values_.word(*value).value_or(name);
      place_of_thread = value->place();
    }
  }
  const auto known = std::find_if(graph_.threads.begin(), graph_.threads.end(),
                                  [&](const models::HostThread& t) { return t.name == thread; });
  stream.thread = static_cast<std::uint32_t>(known - graph_.threads.begin());
  if (known == graph_.threads.end()) {
    if (place_of_thread && !programs_.empty()) {
      std::vector<std::string> names;
      for (const models::HostThread& t : graph_.threads) names.push_back(t.name);
      models::Diagnostic& error =
          diagnostics_.error(*place_of_thread, models::Code::kUnknownStream,
                             fmt::format("unknown host thread '{}'", thread));
      models::suggest_name(error, thread, names);
    }
    models::HostThread own;
    own.name = thread;
    own.place = place;
    graph_.threads.push_back(std::move(own));
  }
  graph_.streams.push_back(std::move(stream));
}

void ScenarioReader::read_communicators(const YamlValue& value) {
  MapReader map(value, keys::kCommunicators, diagnostics_);
  fields_.read(map, graph_.init);
  if (const auto named = map.take("named")) {
    for (const YamlValue::Entry& entry : named_entries(*named, "'named'", diagnostics_)) {
      models::CommunicatorTemplate communicator;
      communicator.name = entry.key.text();
      communicator.place = entry.key.place();
      communicator.init = graph_.init;
      MapReader fields(entry.value, keys::kCommunicator, diagnostics_);
      fields_.read(fields, communicator.init);
      read_calls_of(fields, communicator);
      fields.finish();
      graph_.communicators.push_back(std::move(communicator));
    }
  }
  map.finish();
}

// Reads the backend, which decides the communicators that PyTorch makes:
// docs/reference/scenario-cluster.md, Backends.
void ScenarioReader::read_backend(MapReader& map) {
  const auto backend = map.take("backend");
  const auto device_id = map.take("device_id");
  const std::string name =
      backend ? values_.one_of(*backend, map.words("backend")).value_or("nccl2") : "nccl2";
  const bool bound = device_id && values_.truth(*device_id).value_or(false);
  defaults_.is_gloo = name == "gloo";
  defaults_.on_host = name == "gloo" || name == "mpi";
  defaults_.by_pairs = name == "nccl-lazy" || (name == "nccl-legacy" && !bound);
  defaults_.sends_empty = options_.sends_empty_parts.value_or(backend && name == "nccl2");
  defaults_.of_nccl = backend && !defaults_.on_host;
  if (bound) graph_.init.said = true;
  if (const auto nccl = map.take("nccl")) {
    graph_.destroy_meets = values_.one_of(*nccl, map.words("nccl")).value_or("2.31") != "2.30";
  }
  graph_.process_groups = {backend ? name : std::string(), bound, false, defaults_.sends_empty};
}

// Reads the keys that only matter to the calls of programs.
void ScenarioReader::read_calls_of(MapReader& map, models::CommunicatorTemplate& communicator) {
  communicator.on_host = defaults_.on_host;
  communicator.is_gloo = defaults_.is_gloo;
  communicator.in_calls = defaults_.on_host && !defaults_.is_gloo;
  fields_.read(map, communicator);
  if (const auto gloo = map.take("gloo")) {
    communicator.is_gloo = values_.truth(*gloo).value_or(false);
  }
  if (const auto host = map.take("host")) {
    communicator.on_host = values_.truth(*host).value_or(false);
    if (map.has("gloo") && communicator.is_gloo && !communicator.on_host) {
      diagnostics_.error(host->place(), models::Code::kConflictingKeys,
                         "gloo's calls are done by the host: 'host' cannot be off");
    }
    communicator.is_gloo = communicator.is_gloo && communicator.on_host;
  }
  communicator.on_host = communicator.on_host || communicator.is_gloo;
  communicator.in_calls = communicator.in_calls && communicator.on_host && !communicator.is_gloo;
  // Schedules use this size to declare that no send waits.
  constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();
  if (communicator.eager_bytes.value_or(kAnySize) != kAnySize && !communicator.on_host) {
    diagnostics_
        .warning(map.place_of("eager"), models::Code::kConflictingKeys,
                 "'eager' has no effect: NCCL has no such size")
        .notes.emplace_back(
            "its buffers have 8 steps for each connection; calls of the host need 'host: on'");
  }
  const auto stream = map.take("stream");
  const std::optional<std::string> name = stream ? values_.word(*stream) : std::nullopt;
  if (!name) return;
  if (communicator.on_host) {
    refuse_stream_of_host(diagnostics_, stream->place());
    return;
  }
  communicator.stream = index_of(graph_.streams, *name);
  if (communicator.stream != kNoIndex) return;
  if (!open_streams_ && *name != "compute") {
    models::Diagnostic& error = diagnostics_.error(stream->place(), models::Code::kUnknownStream,
                                                   fmt::format("unknown stream '{}'", *name));
    models::suggest_name(error, *name, names_of(graph_.streams));
    error.notes.emplace_back("the scenario lists its streams under 'streams'");
    return;
  }
  models::StreamTemplate made;
  made.name = *name;
  made.place = stream->place();
  made.launch_queue = graph_.launch_queue;
  communicator.stream = static_cast<std::uint32_t>(graph_.streams.size());
  graph_.streams.push_back(std::move(made));
}

void ScenarioReader::read_defaults(const YamlValue& value) {
  MapReader map(value, keys::kDefaults, diagnostics_);
  if (const auto field = map.take("launch_overhead")) {
    defaults_.launch_overhead = values_.expr(*field, ValueType::kTime).value_or(Expr());
  }
  if (const auto field = map.take("launch_queue")) {
    graph_.launch_queue = values_.expr(*field, ValueType::kNumber).value_or(graph_.launch_queue);
  }
  if (const auto field = map.take("blocking")) defaults_.blocking = values_.truth(*field);
  if (const auto field = map.take("messages")) {
    const auto when = values_.one_of(*field, map.words("messages"));
    if (when) defaults_.immediate = *when == "immediate";
  }
  if (const auto field = map.take("symmetric_memory")) {
    const std::vector<std::string> words = map.words("symmetric_memory");
    const auto found = std::find(words.begin(), words.end(), values_.one_of(*field, words));
    if (found != words.end()) {
      defaults_.symmetric_memory = static_cast<SymmetricMemory>(found - words.begin());
    }
  }
  map.finish();
}

// ---------------------------------------------------------------------------------------------
// Programs

void ScenarioReader::read_programs() {
  for (std::uint32_t i = 0; i < graph_.threads.size(); ++i) {
    models::HostThread& thread = graph_.threads[i];
    const auto own = programs_.find(i);
    if (own != programs_.end()) {
      thread.program = read_program(own->second, i);
    } else if (thread.order == sim::ThreadOrder::kProgram && thread.program.empty()) {
      diagnostics_.error(thread.place, models::Code::kMissingKey,
                         fmt::format("thread '{}' needs its 'program'", thread.name));
    }
  }
}

std::vector<models::ProgramStep> ScenarioReader::read_program(const YamlValue& value,
                                                              std::uint32_t thread) {
  std::vector<models::ProgramStep> steps;
  if (!value.is_list()) {
    diagnostics_.error(
        value.place(), models::Code::kWrongType,
        fmt::format("a program must be a list of steps, found {}", value.described()));
    return steps;
  }
  for (const YamlValue& item : value.items()) {
    std::optional<models::ProgramStep> step = read_step(item, thread);
    if (step) steps.push_back(std::move(*step));
  }
  return steps;
}

std::optional<models::ProgramStep> ScenarioReader::read_step(const YamlValue& value,
                                                             std::uint32_t thread) {
  const std::optional<YamlValue> picked = values_.resolved(value);
  if (!picked || picked->is_null()) return std::nullopt;
  models::ProgramStep step;
  step.place = picked->place();
  if (picked->is_map()) {
    MapReader map(*picked, keys::kThreadBlock, diagnostics_);
    const std::optional<YamlValue> on = map.take("on");
    if (on) step.on = values_.rank_set(*on);
    // A block needs a repeat count or ranks, else it would have no effect.
    if (const auto times = on ? map.take("repeat") : map.require("repeat")) {
      step.times = values_.integer(*times, "repeat", 0, kMaxBlockTimes).value_or(1);
    }
    if (const auto block = map.require("do")) step.block = read_program(*block, thread);
    map.finish();
    return step;
  }
  const std::optional<std::string> name = values_.word(*picked);
  if (!name) return std::nullopt;
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < graph_.actors.size(); ++i) {
    const models::ActorTemplate& actor = graph_.actors[i];
    const std::uint32_t own = actor.thread != kNoIndex   ? actor.thread
                              : actor.stream != kNoIndex ? graph_.streams[actor.stream].thread
                                                         : kNoIndex;
    if (own != thread) continue;
    if (actor.name == *name) step.actor = i;
    names.push_back(actor.name);
  }
  if (step.actor != kNoIndex) return step;
  models::Diagnostic& error = diagnostics_.error(
      picked->place(), models::Code::kUnknownActor,
      fmt::format("thread '{}' has no actor '{}'", graph_.threads[thread].name, *name));
  models::suggest_name(error, *name, names);
  return std::nullopt;
}

}  // namespace

std::optional<Scenario> read_scenario(const std::string& text, const std::vector<Setting>& settings,
                                      Diagnostics& diagnostics, const ReadOptions& options) {
  std::optional<YamlDocument> document = YamlDocument::parse(text, diagnostics);
  if (!document) return std::nullopt;
  return read_scenario(std::move(*document), settings, diagnostics, options);
}

std::optional<Scenario> read_scenario(YamlDocument document, const std::vector<Setting>& settings,
                                      Diagnostics& diagnostics, const ReadOptions& options) {
  std::vector<GivenSetting> given;
  if (!apply_patches(document, options.patches, given, diagnostics)) return std::nullopt;
  for (const Setting& setting : settings) given.push_back({setting, {}});
  return ScenarioReader(given, diagnostics, options, document).run();
}

std::vector<Parameter> read_parameters_of(const std::string& text, Diagnostics& diagnostics) {
  const std::optional<YamlDocument> document = YamlDocument::parse(text, diagnostics);
  if (!document) return {};
  for (const YamlValue::Entry& entry : document->root().entries()) {
    if (entry.key.text() == "params") return read_parameters(entry.value, {}, diagnostics);
  }
  return {};
}

}  // namespace pipesim::formats
