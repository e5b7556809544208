#include "formats/scenario/keys.hpp"

#include <deque>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/document/parameters.hpp"
#include "models/graph/actor_kinds.hpp"
#include "models/graph/cluster.hpp"
#include "models/graph/logical_graph.hpp"
#include "models/graph/pipeline.hpp"
#include "models/graph/task_graph.hpp"
#include "models/layers/pass_pipeline.hpp"
#include "models/result/expectation.hpp"
#include "models/schedules/generators.hpp"

namespace pipesim::formats::keys {
namespace {

// Returns the keys of a struct that is described in models/graph/.
template <typename T>
constexpr auto keys_of() {
  constexpr auto is_key = [](const models::Field<T>& field) { return !field.meaning.empty(); };
  constexpr std::size_t kCount =
      std::count_if(std::begin(models::kFields<T>), std::end(models::kFields<T>), is_key);
  std::array<Key, kCount> keys;
  std::size_t next = 0;
  for (const models::Field<T>& field : models::kFields<T>) {
    if (!is_key(field)) continue;
    keys[next++] = {field.name, field.value.type, field.meaning, field.otherwise};
  }
  return keys;
}

template <std::size_t kFirst, std::size_t kSecond>
constexpr auto joined(const std::array<Key, kFirst>& first,
                      const std::array<Key, kSecond>& second) {
  std::array<Key, kFirst + kSecond> keys;
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), keys.begin()));
  return keys;
}

using models::kRequired;
constexpr std::string_view kAllRanks = "all";

// ---------------------------------------------------------------------------------------------
// Top level

constexpr Key kScenarioRows[] = {
    {"schema", "schema_version", "Version of the format: 1", kRequired},
    {"name", "name", "Name of the scenario, for reports"},
    {"about", "text", "What the scenario shows, for people"},
    {"rests_on", "[text]",
     "Assumptions behind the answer of `check`, one sentence each, which the report repeats: "
     "made-up values, a record that ends early"},
    {"undecided", "undecided",
     "Answers for which the scenario does not say enough: `check` is undecided instead"},
    {"params", "params", "Parameters that `--set` can change"},
    {"ranks", "integer 1..", "Number of ranks", "1, or as many as the schedule or model needs"},
    {"micro_batches", "integer",
     "Micro-batches of a step. Reports name the micro-batch of each op of an actor that runs this "
     "often"},
    {"memory", "size(rank)",
     "Memory that a rank holds all the time: weights, optimizer state. See "
     "[Memory](../explanation/models-devices.md#memory)"},
    {"sets", "{ranks}", "Named sets of ranks: `stage0: 0..3`, `others: [stage0, tp]`"},
    {"groups", "{group}", "Ranks that communicate with each other, see [Groups](#groups)"},
    {"cluster", "cluster", "Hosts, devices and links, which set the times of communication"},
    {"defaults", "defaults", "Defaults of actors, steps and streams"},
    {"threads", "{thread|~}", "Host threads. By default each stream has a thread of the same name"},
    {"streams", "[name]|{stream|~}", "Streams", "those that actors and steps name"},
    {"reading", "'contract'|'real'|'cold'",
     "The NCCL behavior that a run assumes, see [NCCL models](scenario-cluster.md#nccl-models). "
     "`--reading` overrides it",
     "`cold`"},
    {"backend", "'nccl2'|'nccl-legacy'|'nccl-lazy'|'gloo'|'mpi'",
     "Backend of PyTorch's process groups, which decides the communicators of messages, see "
     "[Backends](scenario-cluster.md#backends)",
     "a group's communicator, as `nccl2`"},
    {"device_id", "on/off",
     "on: `init_process_group(device_id=...)`: communicators of groups are initialized at the "
     "start, "
     "and `nccl-legacy` sends all messages over them",
     "off"},
    {"nccl", "'2.30'|'2.31'",
     "Version of NCCL: `2.31` and later, in which ranks of a host meet in `destroy` and "
     "`finalize`, or `2.30` and earlier",
     "2.31"},
    {"communicators", "communicators",
     "When communicators are initialized, and communicators that several collectives share"},
    {"device", "device", "Concurrency limits of each device"},
    {"faults", "[fault]", "What goes wrong"},
    {"guards", "timeouts", "Timeouts of the runtime"},
    {"phases", "[name]", "Order of the phases in reports", "order of first use"},
    {"processes", "name",
     "Group whose lists are the processes of the job, see "
     "[Processes](scenario-cluster.md#processes)",
     "each rank is a process"},
    {"locks", "[name|lock]", "Order and scope of the locks", "order of first use"},
    {"events", "[event]", "Order of events and keys: `[{event: copied}, {key: ready}]`",
     "order of first use"},
    {"actors", "{actor}", "What each actor of an actor runtime does"},
    {"programs", "program|[program]", "What the host program of each rank does"},
    {"blocks", "{steps}", "Named lists of steps that programs call"},
    {"schedule", "schedule|schedule_rows", "A pipeline schedule, by name or row by row"},
    {"model", "model", "A model of layers; passes make the task graph from it"},
    {"parallel", "parallel",
     "Parallel dimensions of the job, which give its ranks and groups, see "
     "[Parallel dimensions](#parallel-dimensions)"},
    {"train", "train", "One training step of the model"},
    {"passes", "passes", "Options of the passes that build the model's task graph"},
    {"expect", "expectation|[expectation]", "Expected results, for `pipesim test`"},
};

constexpr Key kRegularGroupRows[] = {
    {"size", "integer 1..", "Ranks in each list", "all"},
    {"stride", "integer 1..", "Distance between neighboring ranks of a list", "1"},
};

constexpr Key kClusterRows[] = {
    {"hosts", "integer 1..|[name]+*",
     "Number of hosts, which are then called `node0`, `node1`, ..., or their names", "1"},
    {"devices", "integer 1..", "Devices of each host", "an equal share of the ranks"},
    {"ranks", "'round robin'|per_host|[host]*",
     "Placement of the ranks: `8 per host` fills host after host, `round robin` deals them out, a "
     "list gives the host of each rank. The k-th rank of a host has its k-th device",
     "as many per host as it has devices"},
    {"links", "link_classes?", "Available link classes, each with its figures", "all"},
    {"inside_host", "link|[link]?", "Link classes between ranks of one host, best first",
     "`nvlink`, `pcie`, `shared_memory`, as far as available"},
    {"between_hosts", "link|[link]?", "Link classes between ranks of different hosts, best first",
     "`infiniband`, `ethernet`, as far as available"},
    {"algorithm", "algorithm", "Algorithm of collectives", "`ring`"},
    {"interfaces", "{interface_link}",
     "Network interfaces of every host, each with the link class it leads to, or `nowhere`"},
};

constexpr Key kLinkClassesRows[] = {
    {"device", "link_class?", "Inside a device: a group of one rank, a message to oneself",
     "0s, 5000GB/s"},
    {"nvlink", "link_class?", "An H100 with 18 links", "3.4us, 370.8GB/s"},
    {"pcie", "link_class?", "PCIe Gen4 x16", "5.7us, 24GB/s"},
    {"shared_memory", "link_class?", "Host memory, across sockets", "5.7us, 22GB/s"},
    {"infiniband", "link_class?", "InfiniBand NDR, 400 Gb/s", "14us, 48GB/s"},
    {"ethernet", "link_class?", "TCP over 10 Gb/s Ethernet", "30us, 1.2GB/s"},
};

constexpr auto kLinkClassRows = keys_of<models::LinkClass>();

constexpr Key kThreadRows[] = {
    {"order", "'arrival'|'program'",
     "`arrival`: handles messages as they come; `program`: runs a fixed list of ops", "`arrival`"},
    {"program", "[thread_step]",
     "Names of actors, and blocks `{repeat: N, do: [...]}` or `{on: 0, do: [...]}`. Names each "
     "actor of the thread as often as it runs; a rank without the actor skips it"},
    {"about", "text", "For people"},
};

constexpr Key kThreadBlockRows[] = {
    {"do", "[thread_step]", "Its steps", kRequired},
    {"repeat", "integer 0..", "How often", "1"},
    {"on", "ranks", "Ranks that run the block", kAllRanks},
};

constexpr auto kStreamRows = keys_of<models::StreamTemplate>();

constexpr auto kInitRows = keys_of<models::InitRule>();
constexpr KeyTable kInit{"initialization", "", "Initialization of a communicator", kInitRows};

constexpr Key kCommunicatorsRows[] = {
    {"named", "{communicator}", "Communicators that several collectives share, by name"},
};

constexpr auto kCommunicatorRows = keys_of<models::CommunicatorTemplate>();

constexpr Key kDefaultsRows[] = {
    {"launch_overhead", "time(rank)", "Time that a launch takes on its thread", "0"},
    {"blocking", "on/off", "on: a launch returns once its op is done (`CUDA_LAUNCH_BLOCKING=1`)",
     "off"},
    {"messages", "'immediate'|'gated'",
     "`immediate`: an op's own thread learns of it at its launch; `gated`: at its end",
     "`gated` for collectives, else `immediate`"},
    {"launch_queue", "integer(rank)",
     "Launched ops that may be pending on a stream before a launch blocks", "1024"},
    {"symmetric_memory", "'cuda'|'nccl'|'nvshmem'",
     "Backend of symmetric memory (`TORCH_SYMMMEM`), which decides who waits in its steps",
     "`cuda`"},
};

constexpr auto kDeviceRows = keys_of<models::DeviceRule>();

constexpr Key kLockRows[] = {
    {"lock", "name", "Name of the lock", kRequired},
    {"scope", "'process'|'rank'", "Ranks that share it: those of a process, or none", "`process`"},
};

constexpr Key kEventRows[] = {
    {"event", "name", "An event that is recorded on a stream"},
    {"key", "name", "A key that hosts `set`"},
};

// ---------------------------------------------------------------------------------------------
// Actors

constexpr auto kActorRows = keys_of<models::ActorTemplate>();

constexpr auto kRegisterRows = keys_of<models::RegisterTemplate>();

constexpr auto kReadRows = keys_of<models::ReadTemplate>();

constexpr std::string_view kOfGroup = "A collective of this group";
constexpr std::array<Key, 9> kCollectives = {{
    {"all_gather", "name", kOfGroup},
    {"all_reduce", "name", kOfGroup},
    {"all_to_all", "name", kOfGroup},
    {"barrier", "name", kOfGroup},
    {"broadcast", "name", kOfGroup},
    {"gather", "name", kOfGroup},
    {"reduce", "name", kOfGroup},
    {"reduce_scatter", "name", kOfGroup},
    {"scatter", "name", kOfGroup},
}};
constexpr auto kCollectiveRows = joined(kCollectives, keys_of<models::CollectiveTemplate>());

constexpr auto kOutsideInputRows = keys_of<models::OutsideInputTemplate>();

// ---------------------------------------------------------------------------------------------
// Pipeline schedules

constexpr Key kScheduleRowsOfName[] = {
    {"kind", "schedule_kind", "Name of the schedule"},
    {"stages", "integer 1..",
     "Stages of the model, all chunks together; a pipeline has stages / chunks ranks",
     "`pipeline` of `parallel` x `chunks`"},
    {"micro_batches", "integer 1..", "Micro-batches of a step", kRequired},
    {"chunks", "integer 1..", "Stages on each rank",
     "1, or 2 for interleaved kinds, `looped_bfs`, `zbv`, `zbv_greedy`, `v_half`, `v_min` and "
     "`dualpipe_v`"},
    {"micro_batch_group", "integer 1..",
     "Of `interleaved_1f1b`: micro-batches that a chunk takes in a row, as Megatron's "
     "`--microbatch-group-size-per-virtual-pipeline-stage`; at least the ranks",
     "PyTorch's rounds"},
    {"combined", "on/off",
     "Of `interleaved_1f1b`: on: one more forward ahead, then a forward and a backward as one, as "
     "Megatron's `--overlap-moe-expert-parallel-comm`",
     "off"},
};
constexpr Key kScheduleRowsRows[] = {
    {"rows", "[value]",
     "What each rank does, as in [PyTorch's files](schedules.md#pytorchs-files). Sends and recvs "
     "are added if there are none"},
    {"pipelines", "integer 1..2",
     "2: the second half of the stages is a pipeline in the opposite direction", "1"},
    {"partial", "on/off",
     "on: the end of a longer schedule, as from a log: what is in no row was done before", "off"},
};
constexpr Key kCostRows[] = {
    {"layers", "integer 1..|[integer 1..]",
     "Layers of the model, which stages share evenly, or those of each stage, also as an "
     "expression "
     "of `stage`. Times and memory are then those of one layer"},
    {"forward", "time|[time|[time]]", "Forward of a stage", "1us"},
    {"input_grad", "time|[time|[time]]", "Gradient of the stage's input", "that of `forward`"},
    {"weight_grad", "time|[time|[time]]", "Gradient of the stage's weights", "that of `forward`"},
    {"overlapped", "time|[time|[time]]",
     "A forward and a backward that overlap; differs as the forward does", "their sum"},
    {"message", "size|[size|[size]]",
     "Message between a stage and the next, in both directions: a list has one fewer than there "
     "are "
     "stages; with a `cluster`, its time follows from it"},
    {"message_takes", "time|[time|[time]]", "Duration of a message, a list as of `message`", "0"},
    {"messages", "message_model", "How messages are exchanged: see [schedules](schedules.md)",
     "`pg`"},
    {"message_order", "'in_turn'|'deferred'|'send_first'|'recv_first'",
     "Where sends and recvs are placed in the rows, see "
     "[schedules](schedules.md#the-order-of-messages)",
     "`in_turn`"},
    {"shape_exchange", "on/off",
     "With `messages: batch`, on: before each batch ranks exchange shapes, and the host waits "
     "(Megatron's `variable_seq_lengths`)",
     "off"},
    {"collectives", "[stage_collective]",
     "Collectives of the ranks that share a stage, see [Schedules](schedules.md)"},
    {"ops", "stage_ops",
     "What a layer does, op by op, instead of `forward`, `input_grad`, `weight_grad` and "
     "`overlapped`: see [Schedules](schedules.md#ops-of-a-layer)"},
    {"activation", "size|[size|[size]]", "Memory of a micro-batch in a stage"},
    {"weights", "size|[size]", "Memory that a stage holds all the time"},
    {"unsharded", "size|[size]",
     "With FSDP: memory of a stage's gathered weights, from each `UNSHARD` to its `RESHARD`"},
    {"about", "text", "For people"},
};
constexpr Key kStageCollectiveRows[] = {
    {"call", "'all_gather'|'all_reduce'|'all_to_all'|'barrier'|'reduce_scatter'|'ring_exchange'",
     "The collective, or `ring_exchange`: each rank sends to the next of its group and receives "
     "from "
     "the one before it",
     kRequired},
    {"over", "name", "Its group, or a communicator of `named`", kRequired},
    {"order", "'batch'|'send_first'|'recv_first'",
     "Of a `ring_exchange`: its send and recv in one group, or one after the other", "`batch`"},
    {"in", "stage_moment",
     "`forward`, `backward`: within each, which waits for it. `last_backward`: within the last "
     "backward of a stage, which does not. `gradients`: after that. `unshard`: before weights are "
     "used. `step`: after everything that a rank computes",
     kRequired},
    {"times", "integer 1..", "How often; within an action, for each of the stage's `layers`",
     "1; of a `ring_exchange` one less than the ranks, in a backward as many"},
    {"bytes", "size|[size|[size]]", "Size of the data; with a `cluster`, the time follows from it"},
    {"takes", "time|[time|[time]]", "Duration", "0"},
};
constexpr KeyTable kCosts{"schedule_costs", "", "Of every schedule", kCostRows};

// ---------------------------------------------------------------------------------------------
// Models

constexpr Key kModelRows[] = {
    {"layers", "[layer]+", "Layers, in the order of the forward", kRequired},
    {"input", "model_input", "Input of one micro-batch"},
    {"system", "system_costs", "Durations of what the passes insert"},
    {"about", "text", "For people"},
};
constexpr Key kTensorRows[] = {
    {"shape", "[integer 1..]", "Shape over all ranks: `[16, 64]`", "that of the op's input"},
    {"dtype", "dtype", "Type of the elements", "that of the op's input"},
};
constexpr KeyTable kTensor{"tensor", "", "Shape and type of a tensor", kTensorRows};
constexpr Key kModelInputRows[] = {
    {"signature", "signature", "How it is distributed", "[S(0), B]"},
};
constexpr Key kLayerRows[] = {
    {"name", "name", "Its ops are called NAME-OP", kRequired},
    {"ops", "{op}+", "Ops by name, in order; each reads the one before it", kRequired},
    {"count", "integer 1..",
     "Number of such layers, called NAME0, NAME1, ...; numbering continues over layers of one name",
     "1"},
    {"stage", "integer", "Its stage; negative: counted from the last", "an equal share"},
    {"about", "text", "For people"},
};
constexpr Key kOpRows[] = {
    {"takes", "time", "Forward of one micro-batch on one rank", "0"},
    {"in", "signature", "Signature in which it takes its input", "that of its input"},
    {"out", "signature", "Signature of its output", "that of `in`"},
    {"saves", "'input'|'output'|'nothing'", "What its gradient reads of the forward", "`input`"},
    {"gradient", "gradient", "Its gradient, if it is not the usual one"},
    {"only", "'backward'", "`backward`: it has no part in the forward"},
    {"variables", "{variable}", "Its weights by name"},
    {"about", "text", "For people"},
};
constexpr Key kGradientRows[] = {
    {"takes", "time", "Duration", "twice the forward"},
    {"in", "signature", "Signature in which it takes the gradient of the output", "from `out`"},
    {"out", "signature", "Signature in which it gives the gradient of the input",
     "from `in` and `out`"},
};
constexpr Key kVariableRows[] = {
    {"signature", "signature", "How it is distributed", "[B, B]"},
    {"gradient", "signature", "Signature of its gradient", "from its own"},
    {"like", "signature|~", "Signature in which the op's gradient reads it; `~`: it does not",
     "its own"},
    {"about", "text", "For people"},
};
constexpr Key kSystemRows[] = {
    {"input", "time", "The user's input", "0"},
    {"copy", "time", "Each copy: D2H, COMM_NET, H2D", "0"},
    {"buffer", "time", "A buffer", "0"},
    {"repeat", "time", "A repeat", "0"},
    {"zeros", "time", "The zeros of a partial sum", "0"},
    {"accumulate", "time", "An accumulate", "0"},
    {"pack", "time", "A pack or an unpack", "0"},
    {"slice", "time", "Assembling the pieces of a boxing", "0"},
    {"collective", "time", "A NCCL op; with a `cluster`, its time follows from the tensor", "0"},
    {"update", "time", "The optimizer, for one variable", "0"},
};
constexpr Key kParallelRows[] = {
    {"data", "integer 1..", "Ranks that share the batch", "1"},
    {"tensor", "integer 1..", "Ranks that share each layer", "1"},
    {"pipeline", "integer 1..", "Ranks that share the layers among them", "1"},
    {"context", "integer 1..", "Ranks that share each sequence", "1"},
    {"expert", "integer 1..", "Ranks that share the experts, among those of a stage", "1"},
    {"expert_tensor", "integer 1..", "Ranks that share each expert", "`tensor`"},
    {"order", "name", "Dimensions as Megatron writes them, the one that varies fastest first",
     "`tp-cp-ep-dp-pp`"},
};
constexpr Key kTrainRows[] = {
    {"accumulation", "integer 1..", "Micro-batches of a step", "1"},
    {"optimizer", "on/off", "on: gradients are accumulated and variables updated", "off"},
};

// ---------------------------------------------------------------------------------------------
// Faults and timeouts

constexpr Key kFaultRows[] = {
    {"when", "on/off", "off: it does not happen", "on"},
    {"about", "text", "For people"},
};
constexpr KeyTable kFault{"fault_common", "", "Of every fault", kFaultRows};
constexpr auto kRankFaultRows = keys_of<models::RankFault>();
constexpr auto kLinkFaultRows = keys_of<models::LinkFault>();
constexpr auto kPortFaultRows = keys_of<models::PortFault>();
constexpr auto kDeniedFaultRows = keys_of<models::DeniedFault>();
constexpr auto kTimeoutsRows = keys_of<models::TimeoutRules>();

// ---------------------------------------------------------------------------------------------
// Expectations

constexpr Key kExpectationRows[] = {
    {"with", "{value}", "Parameters to set for this expectation: `{acc: 2}`"},
    {"verdict", "verdict", "How the run ends"},
    {"cause", "cause", "Why it ends so"},
    {"time", "time|time_bounds?", "Time of the last progress: exact, or its bounds"},
    {"cycle_through", "name|[name]", "Actors that are on the cycle"},
    {"cycle_length", "integer", "Waits in the cycle"},
    {"roots", "ranks", "Exactly the ranks at which waits end without a cycle"},
    {"idle", "idle|[idle]", "How idle ranks are"},
    {"memory", "expected_memory|[expected_memory]",
     "Memory that ranks need: exact (the maximum of all ranks), or its bounds"},
    {"order", "[ordered_op]|[[ordered_op]]", "Ops that start in this order: `[F0#1, B0#1]`"},
};
constexpr Key kTimeBoundsRows[] = {
    {"at_least", "time", "Lower bound"},
    {"at_most", "time", "Upper bound"},
    {"about", "time", "A value near which it is; needs `within`"},
    {"within", "share|time", "How far from `about`: a share of it (`1%`) or a time"},
};
constexpr Key kMemoryBoundsRows[] = {
    {"on", "ranks", "Ranks it is about; the one that needs most counts", kAllRanks},
    {"exactly", "size", "The exact size"},
    {"at_least", "size", "Lower bound"},
    {"at_most", "size", "Upper bound"},
    {"about", "size", "A value near which it is; needs `within`"},
    {"within", "share|size", "How far from `about`: a share of it (`1%`) or a size"},
    {"reserved", "on/off",
     "on: memory that is set aside, not peak use "
     "([Memory](../explanation/models-devices.md#memory))",
     "off"},
};
constexpr Key kIdleRows[] = {
    {"on", "ranks", "Ranks it is about", kAllRanks},
    {"at_least", "share", "Lower bound: `20%`, `12.5%`"},
    {"at_most", "share", "Upper bound"},
    {"together", "on/off", "on: the ranks taken together, not each of them", "off"},
};

}  // namespace

constinit const KeyTable kScenario{"scenario",
                                   "a scenario",
                                   "A scenario of pipesim",
                                   kScenarioRows,
                                   {},
                                   0,
                                   R"("if": {"required": ["model"]},
  "then": {"properties": {"actors": false, "programs": false, "blocks": false, "schedule": false}},
  "else": {"properties": {"train": false, "passes": false},
    "anyOf": [{"required": ["actors"]}, {"required": ["programs"]}, {"required": ["schedule"]}]})"};
constinit const KeyTable kRegularGroup{"regular_group", "a group",
                                       "Groups of ranks at equal distances", kRegularGroupRows};
constinit const KeyTable kCluster{"cluster_map", "'cluster'", "Hosts, devices and links",
                                  kClusterRows};
constinit const KeyTable kLinkClasses{"link_classes", "'links'", "The link classes of a cluster",
                                      kLinkClassesRows};
constinit const KeyTable kLinkClass{"link_class", "a link class", "The figures of a link class",
                                    kLinkClassRows};
constinit const KeyTable kThread{"thread", "a thread", "A host thread", kThreadRows};
constinit const KeyTable kThreadBlock{
    "thread_block",
    "a block",
    "A block of a thread's program",
    kThreadBlockRows,
    {},
    0,
    R"("anyOf": [{"required": ["repeat"]}, {"required": ["on"]}])"};
constinit const KeyTable kStream{"stream", "a stream", "A stream", kStreamRows};
constinit const KeyTable kCommunicators{
    "communicators", "'communicators'", "Communicators", kCommunicatorsRows, {&kInit}};
constinit const KeyTable kCommunicator{"communicator",
                                       "a communicator",
                                       "A communicator that several collectives share",
                                       kCommunicatorRows,
                                       {&kInit}};
constinit const KeyTable kDefaults{"defaults", "'defaults'",
                                   "Defaults of actors, steps and streams", kDefaultsRows};
constinit const KeyTable kDevice{"device", "'device'", "Concurrency limits of each device",
                                 kDeviceRows};
constinit const KeyTable kLock{"lock", "a lock", "A lock of a process", kLockRows};
constinit const KeyTable kEvent{"event",    "an event", "An event of streams, or a key of hosts",
                                kEventRows, {},         2};

constinit const KeyTable kActor{"actor", "an actor", "An actor, on each of its ranks", kActorRows};
constinit const KeyTable kRegister{"register", "a register", "An output of an actor",
                                   kRegisterRows};
constinit const KeyTable kRead{
    "read", "an input", "An input of an actor, in long form",      kReadRows,
    {},     0,          R"("not": {"required": ["rank", "each"]})"};
constinit const KeyTable kCollective{
    "collective", "a collective", "A collective of an actor", kCollectiveRows, {}, 9};
constinit const KeyTable kOutsideInput{"outside_input", "'waits_for_input'",
                                       "Outside input that a source waits for", kOutsideInputRows};

constinit const KeyTable kSchedule{"schedule",          "'schedule'", "A pipeline schedule by name",
                                   kScheduleRowsOfName, {&kCosts},    1};
constinit const KeyTable kStageCollective{"stage_collective", "a collective",
                                          "A collective of the ranks that share a stage",
                                          kStageCollectiveRows};
constinit const KeyTable kScheduleRows{
    "schedule_rows",   "'schedule'", "A pipeline schedule row by row",
    kScheduleRowsRows, {&kCosts},    1};

constinit const KeyTable kModel{"model", "'model'", "A model of layers", kModelRows};
constinit const KeyTable kModelInput{
    "model_input", "'input'", "The input of one micro-batch", kModelInputRows, {&kTensor}};
constinit const KeyTable kLayer{"layer", "a layer", "A layer", kLayerRows};
constinit const KeyTable kOp{"op", "an op", "An op of a layer", kOpRows, {&kTensor}};
constinit const KeyTable kGradient{"gradient", "'gradient'", "The gradient of an op",
                                   kGradientRows};
constinit const KeyTable kVariable{
    "variable", "a variable", "A weight of an op", kVariableRows, {&kTensor}};
constinit const KeyTable kSystemCosts{"system_costs", "'system'",
                                      "Durations of what the passes insert", kSystemRows};
constinit const KeyTable kParallel{"parallel", "'parallel'", "Parallel dimensions of a job",
                                   kParallelRows};
constinit const KeyTable kTrain{"train", "'train'", "A training step", kTrainRows};

constinit const KeyTable kRankFault{
    "rank_fault",
    "a fault",
    "Ranks that die, or whose device fails",
    kRankFaultRows,
    {&kFault},
    1,
    R"("oneOf": [{"required": ["dies", "at"]}, {"required": ["dies", "act"]}, )"
    R"({"required": ["fails", "act"]}])"};
constinit const KeyTable kLinkFault{
    "link_fault",
    "a fault",
    "Links that are down or slow",
    kLinkFaultRows,
    {&kFault},
    1,
    R"("anyOf": [{"required": ["down"]}, {"required": ["slower"]}])"};
constinit const KeyTable kPortFault{"port_fault",   "a fault", "A port that cannot be reached",
                                    kPortFaultRows, {&kFault}, 1};
constinit const KeyTable kDeniedFault{
    "denied_fault",   "a fault", "Ranks that may not read each other's memory",
    kDeniedFaultRows, {&kFault}, 1};
constinit const KeyTable kTimeouts{"timeouts", "'guards'", "Timeouts of the runtime",
                                   kTimeoutsRows};

constinit const KeyTable kExpectation{"expectation", "an expectation",
                                      "Expected results; what is not given is not checked",
                                      kExpectationRows};
constinit const KeyTable kTimeBounds{"time_bounds",
                                     "'time'",
                                     "Bounds of a time",
                                     kTimeBoundsRows,
                                     {},
                                     0,
                                     R"("dependencies": {"about": ["within"], "within": ["about"]},
  "anyOf": [{"required": ["at_least"]}, {"required": ["at_most"]}, {"required": ["about"]}])"};
constinit const KeyTable kMemoryBounds{
    "memory_bounds",
    "'memory'",
    "A size or its bounds, and of which ranks",
    kMemoryBoundsRows,
    {},
    0,
    R"("dependencies": {"about": ["within"], "within": ["about"]},
  "oneOf": [{"required": ["exactly"],
    "properties": {"at_least": false, "at_most": false, "about": false, "within": false}},
    {"properties": {"exactly": false},
    "anyOf": [{"required": ["at_least"]}, {"required": ["at_most"]}, {"required": ["about"]}]}])"};
constinit const KeyTable kIdle{
    "idle",
    "'idle'",
    "How idle ranks are",
    kIdleRows,
    {},
    0,
    R"("anyOf": [{"required": ["at_least"]}, {"required": ["at_most"]}])"};

namespace {

constexpr const KeyTable* kFaults[] = {&kRankFault, &kLinkFault, &kPortFault, &kDeniedFault};
constexpr const KeyTable* kShared[] = {&kInit, &kCosts, &kTensor, &kFault};

// The tables of passes, made from the options that each pass declares.
struct PassTables {
  std::deque<std::string> texts;
  std::deque<std::vector<Key>> rows;
  std::deque<KeyTable> options;
  std::vector<Key> passes;
  KeyTable all{"passes", "'passes'", "Passes that make the task graph of a model", {}};

  PassTables() {
    const models::PassRegistry registry = models::shipped_passes();
    for (const std::string& name : models::model_passes()) {
      const models::Pass& pass = *registry.find(name);
      std::vector<Key>& keys = rows.emplace_back();
      for (const models::PassOption& option : pass.options) {
        keys.push_back({kept(option.name), kept(type_of(option)), kept(option.about),
                        kept(option.otherwise.value_or(std::string(kRequired)))});
      }
      options.push_back(
          {kept("pass_" + name), kept(fmt::format("pass '{}'", name)), kept(pass.about), keys});
      passes.push_back({kept(name), options.back().name, options.back().meaning});
    }
    all.own = passes;
  }

  std::string_view kept(std::string text) { return texts.emplace_back(std::move(text)); }

  static std::string type_of(const models::PassOption& option) {
    if (option.type == models::OptionType::kTruth) return "on/off";
    if (option.type == models::OptionType::kNumber) return "integer";
    return option.one_of.empty() ? "name" : fmt::format("'{}'", fmt::join(option.one_of, "'|'"));
  }
};

const PassTables& pass_tables() {
  static const PassTables kTables;
  return kTables;
}

}  // namespace

std::span<const KeyTable* const> faults() { return kFaults; }
std::span<const KeyTable* const> shared_tables() { return kShared; }

std::vector<std::string> words_of(std::string_view type) {
  std::vector<std::string> words;
  if (type == "algorithm") words = {"ring", "tree", "direct"};
  if (type == "cause") words = models::cause_names();
  if (type == "dtype") words = models::dtype_names();
  if (type == "message_model") words = models::message_model_names();
  if (type == "schedule_kind") words = models::schedule_kind_names();
  if (type == "stage_moment") words = models::stage_moment_names();
  if (type == "verdict") {
    words = {"completed", "deadlock", "starved", "mismatch", "crashed", "limit"};
  }
  if (type == "link" || type == "interface_link") words = models::link_names();
  if (type == "interface_link") words.emplace_back("nowhere");
  if (type == "actor_kind") {
    for (const models::ActorKind& kind : models::actor_kinds()) words.emplace_back(kind.name);
  }
  return words;
}

const KeyTable& passes() { return pass_tables().all; }

const KeyTable& options_of(std::string_view pass) {
  const std::deque<KeyTable>& options = pass_tables().options;
  return *std::find_if(options.begin(), options.end(), [&](const KeyTable& table) {
    return table.name.substr(std::string_view("pass_").size()) == pass;
  });
}

std::vector<const KeyTable*> all_tables() {
  std::vector<const KeyTable*> tables = {
      &kScenario,     &parameter_keys(), &kRegularGroup, &kCluster,
      &kLinkClass,    &kLinkClasses,     &kThread,       &kThreadBlock,
      &kStream,       &kCommunicators,   &kCommunicator, &kDefaults,
      &kActor,        &kRegister,        &kRead,         &kCollective,
      &kOutsideInput, &kProgram,         &kWait,         &kDevice,
      &kEvent,        &kSchedule,        &kScheduleRows, &kStageCollective,
      &kStageOps,     &kStageCompute,    &kStageCall,    &kModel,
      &kModelInput,   &kLayer,           &kOp,           &kGradient,
      &kVariable,     &kSystemCosts,     &kParallel,     &kTrain,
      &kTimeouts,     &kExpectation,     &kTimeBounds,   &kIdle,
      &kMemoryBounds, &kUndecided,       &kLock,         &passes()};
  for (const auto& more : {steps(), calls_of_group(), faults()}) {
    tables.insert(tables.end(), more.begin(), more.end());
  }
  for (const KeyTable& options : pass_tables().options) tables.push_back(&options);
  return tables;
}

}  // namespace pipesim::formats::keys
