// The keys of host programs. The first key of a step is its operation, which decides the other
// keys.
#include "formats/scenario/keys.hpp"

namespace pipesim::formats::keys {
namespace {

constexpr Key kProgramRows[] = {
    {"do", "steps", "Its steps", "required"},
    {"on", "ranks", "Ranks that run it", "all"},
    {"thread", "name", "Host thread that runs it. Programs of one thread run one after the other",
     "`main`"},
    {"one_thread", "name",
     "Group of which one host thread drives all ranks of a list (`ncclCommInitAll`, "
     "`nccl-tests -g`): outside a `group`, the step of each rank follows that of the rank before"},
    {"about", "text", "For people"},
};

constexpr Key kUndecidedRows[] = {
    {"proved", "text",
     "Why it proves nothing that no interleaving hangs: the record of a rank ends early"},
    {"hang", "text",
     "Why a hang decides nothing: calls of several threads, of which a program has one order"},
    {"possible", "text", "Why a hang is not certain, although every interleaving hangs"},
};

constexpr Key kWhereRows[] = {
    {"on", "ranks", "Ranks that have it", "all"},
    {"when", "on/off(rank)", "Ranks on which it is off do not have it", "on"},
};
constexpr KeyTable kWhere{"step_where", "", "Of every step", kWhereRows};

constexpr Key kStepRows[] = {
    {"name", "name",
     "Name in reports, which may have expressions in it: `F{i}`. The second step of a name is "
     "called `name.2`",
     "what the step does"},
    {"at", "text", "Source line of your program, for reports: `\"engine.py:540 step\"`"},
    {"phase", "name", "Phase that its ops count for in reports"},
    {"launch_overhead", "time(rank)",
     "Time on the thread before it: of the launch or, in a step of the host, before its own work",
     "that of `defaults`; 0 for `host`"},
    {"numbers", "[integer]2*",
     "`[first, step]`: its ops are named by the step's name and a number: `0F` with `[0, 1]` runs "
     "as 0F0, 0F1, ..."},
    {"about", "text", "For people"},
};
constexpr KeyTable kStep{"step_common", "", "Of every step that does something", kStepRows};

constexpr Key kOnStreamRows[] = {
    {"stream", "name",
     "Stream that it is launched on. Calls of a rank on one communicator run one after the other, "
     "whatever their streams",
     "`compute`, or that of the communicator"},
    {"after", "name|[name]?",
     "Streams whose work so far it waits for: an event is recorded there and waited for here"},
    {"blocking", "on/off", "on: the launch returns once it is done",
     "that of `defaults`; off for `record` and `wait`"},
};
constexpr KeyTable kOnStream{"step_on_stream", "", "Of a step on a stream", kOnStreamRows};

constexpr Key kSlotRows[] = {
    {"behind", "name",
     "Stream: the op starts once everything launched there before it is done. Like `after`, but "
     "takes no time and is not a step"},
    {"waits_for", "waits",
     "Steps on other streams: `[1RECV_F, {step: 1RECV_B, ahead: 2}]`. Op k starts once op k (or k "
     "+ `ahead`) of that step is done"},
    {"ctas", "integer(rank)",
     "SMs that it takes one by one and holds until it is done, where the `device` says `sms`",
     "0 for kernels; for calls that of their communicators"},
    {"cooperative", "on/off", "on: it takes its SMs only once all of them are free", "off"},
    {"cluster", "integer 1..",
     "CTAs of a thread block cluster: it takes its SMs so many at a time (`NCCL_CGA_CLUSTER_SIZE`)",
     "1"},
};
constexpr KeyTable kSlot{"step_waits", "", "Of a kernel or a call", kSlotRows};

constexpr Key kMovesRows[] = {
    {"bytes", "size(rank)",
     "Size of the data. All ranks must agree. With a `cluster`, the time follows from it unless "
     "`takes` is given"},
    {"takes", "time(rank)", "Duration on its stream", "0"},
    {"type", "name", "Type of the data; all ranks must agree"},
};
constexpr KeyTable kMoves{"call_data", "", "Of a call", kMovesRows};

constexpr Key kAlgorithmRows[] = {
    {"algorithm", "algorithm", "Algorithm of the collective", "that of the communicator"},
};
constexpr KeyTable kAlgorithm{"call_algorithm", "", "Of a collective call", kAlgorithmRows};

constexpr Key kTagRows[] = {
    {"tag", "tag", "Tag of the message: a word or a number, which may use `rank`"},
    {"tag_numbers", "[integer]2*", "`[first, step]`: a number for the tag, as `numbers`"},
};
constexpr KeyTable kTag{"message_tag", "", "Of a send or a receive", kTagRows};

constexpr Key kTimeoutRows[] = {
    {"timeout", "time", "The rank dies if the step takes this long; 0: never",
     "`guards.store` for `get`, else none"},
};
constexpr KeyTable kTimeout{"step_timeout", "", "Of a step of the host", kTimeoutRows};

constexpr Key kComputeRows[] = {
    {"compute", "name", "Launches a kernel of this name"},
    {"takes", "time(rank)", "Duration of the kernel", "0"},
};
constexpr std::string_view kCallOn = "Calls the collective on this communicator or group";
constexpr std::string_view kBarrier =
    "All members meet: the hosts or, on a communicator listed under `named` and with a `backend` "
    "of "
    "NCCL, in a call that the host waits for";
constexpr Key kCallRows[] = {
    {"all_gather", "name", kCallOn},
    {"all_reduce", "name", kCallOn},
    {"barrier", "name", kBarrier},
    {"reduce_scatter", "name", kCallOn},
};
constexpr Key kCallStepRows[] = {
    kCallRows[0],
    kCallRows[1],
    kCallRows[2],
    kCallRows[3],
    {"implied", "on/off",
     "on, of a `barrier`: part of what `one_thread` means, as `pipesim opt` writes it; reports do "
     "not count it",
     "off"},
};
constexpr Key kExchangeRows[] = {
    {"all_to_all", "name", kCallOn},
    {"splits", "[size(rank)]",
     "Instead of `bytes`: what the rank sends to each rank of its group, in their order, as a "
     "group of sends and recvs. A part of 0B is sent with the backends `nccl2` and `gloo` only"},
};
constexpr Key kRootedCallRows[] = {
    {"broadcast", "name", kCallOn},
    {"gather", "name", kCallOn},
    {"reduce", "name", kCallOn},
    {"scatter", "name", kCallOn},
    {"root", "integer(rank)", "Rank of the root", "required"},
};
constexpr Key kSendRows[] = {
    {"send", "name", "Sends a message over this communicator or group"},
    {"to", "integer(rank)", "Rank that receives it", "required"},
    {"registered", "on/off",
     "on: its buffer is registered with NCCL, as those of captured CUDA graphs can be: it waits "
     "for its recv",
     "that of the communicator"},
};
constexpr Key kRecvRows[] = {
    {"recv", "name", "Receives a message over this communicator or group"},
    {"from", "integer(rank)",
     "Rank that sends it, or `any` on a communicator of the host: the first send to arrive",
     "required"},
};
constexpr Key kCommunicatorStepRows[] = {
    {"split", "name",
     "Splits this communicator: synchronizes the hosts of all its ranks, independently of the "
     "order of their calls (`ncclCommSplit`)"},
    {"destroy", "name",
     "Destroys this communicator: waits for the rank's calls on it and, from NCCL 2.31 on, for its "
     "ranks of the same host; it cannot be used again. After `finalize` or `revoke` it waits for "
     "nobody. gloo waits for the rank's collectives only"},
    {"finalize", "name",
     "Finalizes this communicator: waits as `destroy` does; it can only be destroyed or aborted "
     "then (`ncclCommFinalize`)"},
    {"revoke", "name",
     "Ends the rank's calls on this communicator, as `abort` does; then it can be destroyed, split "
     "or shrunk (`ncclCommRevoke`)"},
    {"suspend", "name",
     "Waits until the device is idle, then for the hosts of all ranks (`ncclCommSuspend`)"},
    {"resume", "name", "Waits for the hosts of all ranks (`ncclCommResume`)"},
    {"drain", "name", "Waits for the rank's calls on this communicator"},
};
constexpr Key kAbortRows[] = {
    {"abort", "name|[name]?",
     "Ends the rank's calls on this communicator, also running ones, and waits until they and all "
     "that precedes them in their streams are done (`ncclCommAbort`). Calls of other ranks that "
     "need them never end. Several communicators are aborted as in one NCCL group: all their calls "
     "end before the host waits"},
    {"waits", "on/off", "off: ends the calls, but does not wait", "on"},
};
constexpr Key kShrinkRows[] = {
    {"shrink", "name",
     "Waits for the rank's calls on this communicator, for a smaller one of the ranks that have "
     "this step (`ncclCommShrink`)"},
    {"aborts", "on/off", "on: ends these calls first, as `abort` does (`NCCL_SHRINK_ABORT`)",
     "off"},
    {"into", "name", "The communicator that it makes: a `create` of this communicator follows"},
};
constexpr Key kSymmetricStepRows[] = {
    {"register", "name",
     "Registers a window on this communicator: waits for the hosts of all its ranks "
     "(`ncclCommWindowRegister`)"},
    {"device_communicator", "name",
     "Makes a communicator for kernels: waits for the hosts of all ranks of this one "
     "(`ncclDevCommCreate`)"},
    {"symmetric_alloc", "name",
     "Allocates symmetric memory (`symm_mem.empty`). `cuda`: waits for stream `compute`; `nccl`: "
     "for nothing; `nvshmem`: for the hosts of all ranks of the job"},
    {"symmetric_free", "name",
     "Frees symmetric memory, as Python's collector does. `cuda`: waits for the device; `nccl`: "
     "for "
     "nothing; `nvshmem`: for the hosts of all ranks of the job"},
    {"rendezvous", "name",
     "Exchanges the addresses of symmetric memory: waits for the hosts of all ranks of this group "
     "or, with `nvshmem`, of the job"},
};
constexpr Key kGroupStepRows[] = {
    {"group", "calls",
     "Calls that progress together (`ncclGroupStart`, `batch_isend_irecv`), each with its own `on` "
     "and `when`. A rank without calls has no step"},
};
constexpr Key kEventStepRows[] = {
    {"record", "name", "Records this event on its stream"},
    {"wait", "name", "Blocks its stream until the last `record` of this event before it is done"},
    {"implied", "on/off",
     "on: part of what `after` means, as `pipesim opt` writes it; reports do not count it", "off"},
};
constexpr Key kHostStepRows[] = {
    {"host", "name", "Works on the host thread"},
    {"takes", "time(rank)", "Duration of the work, after the launch overhead", "0"},
};
constexpr Key kPauseRows[] = {
    {"synchronize", "name|[name]?",
     "Waits until `device`, a stream or a list of streams is idle, as cudaMalloc and cudaFree do"},
    {"load", "name",
     "Loads this kernel at its first use: in a cold run waits until `device` is idle, as CUDA does "
     "with lazy loading"},
    {"await", "name", "Waits for this event, as last recorded by the rank"},
    {"set", "name", "Sets a key that all ranks share"},
    {"lock", "name", "Takes a lock of the process, such as the GIL; first come, first served"},
    {"unlock", "name", "Releases a lock of the process"},
    {"create", "name", "Initializes this communicator here: waits for all its ranks"},
    {"raise", "name", "The rank dies here of this exception"},
    {"exit", "name", "The rank exits here with this status"},
};
constexpr Key kGetRows[] = {
    {"get", "name", "Waits until this key is set"},
    {"times", "integer 0..", "How often it must have been set", "1"},
};
constexpr Key kInputStepRows[] = {
    {"input", "name", "Waits for outside input"},
};
constexpr Key kRepeatRows[] = {
    {"repeat", "integer(rank) 0..", "Repeats the steps this often"},
    {"index", "name",
     "Name of the iteration number (from 0), for expressions. Steps that do not depend on it are "
     "counted through, as without an index"},
    {"do", "steps", "The steps", "required"},
};
constexpr Key kBlockRows[] = {
    {"do", "steps", "Steps that only the ranks of `on` run"},
};
constexpr Key kBlockCallRows[] = {
    {"call", "name", "Runs the steps of this block of `blocks`"},
    {"with", "{expression*}", "Values of names that the block uses: `{name: value}`"},
};
constexpr Key kAgainRows[] = {
    {"again", "name", "Runs an earlier step of the same ranks once more, as the same step"},
};
constexpr Key kWaitRows[] = {
    {"step", "name", "Name of the step", "required"},
    {"ahead", "integer 0..", "Op k waits for op k + `ahead`", "0"},
};

constexpr std::string_view kA = "a step";
constexpr KeyTable kRepeat{"repeat_step", kA, "Repeated steps", kRepeatRows, {&kWhere}, 1};
constexpr KeyTable kBlock{"block_step", kA, "Steps of some ranks", kBlockRows, {&kWhere}, 1};
constexpr KeyTable kBlockCall{"block_call_step", kA,        "The steps of a block",
                              kBlockCallRows,    {&kWhere}, 1};
constexpr KeyTable kAgain{"again_step", kA,        "One more run of an earlier step",
                          kAgainRows,   {&kWhere}, 1};
constexpr KeyTable kCompute{
    "compute_step", kA, "A kernel", kComputeRows, {&kOnStream, &kSlot, &kWhere, &kStep}, 1};
constexpr KeyTable kEventStep{
    "event_step", kA, "An event of streams", kEventStepRows, {&kOnStream, &kWhere, &kStep}, 2};
constexpr KeyTable kGroupStep{"group_step",
                              kA,
                              "Calls that progress together",
                              kGroupStepRows,
                              {&kOnStream, &kSlot, &kWhere, &kStep},
                              1};
constexpr KeyTable kCallStep{"call_step",
                             kA,
                             "A collective call",
                             kCallStepRows,
                             {&kMoves, &kAlgorithm, &kOnStream, &kSlot, &kWhere, &kStep},
                             4};
constexpr KeyTable kExchangeStep{"exchange_step",
                                 kA,
                                 "An exchange of parts",
                                 kExchangeRows,
                                 {&kMoves, &kAlgorithm, &kOnStream, &kSlot, &kWhere, &kStep},
                                 1};
constexpr KeyTable kRootedCallStep{"rooted_call_step",
                                   kA,
                                   "A collective call with a root",
                                   kRootedCallRows,
                                   {&kMoves, &kAlgorithm, &kOnStream, &kSlot, &kWhere, &kStep},
                                   4};
constexpr KeyTable kSendStep{
    "send_step", kA, "A send", kSendRows, {&kMoves, &kTag, &kOnStream, &kSlot, &kWhere, &kStep}, 1};
constexpr KeyTable kRecvStep{"recv_step",
                             kA,
                             "A receive",
                             kRecvRows,
                             {&kMoves, &kTag, &kOnStream, &kSlot, &kWhere, &kStep},
                             1};
constexpr KeyTable kCommunicatorStep{"communicator_step",
                                     kA,
                                     "A step of the host that changes a communicator",
                                     kCommunicatorStepRows,
                                     {&kMoves, &kAlgorithm, &kOnStream, &kSlot, &kWhere, &kStep},
                                     std::size(kCommunicatorStepRows)};
constexpr KeyTable kSymmetricStep{"symmetric_step",
                                  kA,
                                  "A step about windows or symmetric memory",
                                  kSymmetricStepRows,
                                  {&kWhere, &kStep},
                                  std::size(kSymmetricStepRows)};
constexpr KeyTable kAbortStep{"abort_step",      kA, "An abort of communicators", kAbortRows,
                              {&kWhere, &kStep}, 1};
constexpr KeyTable kShrinkStep{
    "shrink_step", kA, "A communicator without some ranks", kShrinkRows, {&kWhere, &kStep}, 1};
constexpr KeyTable kHostStep{
    "host_step", kA, "Work of the host", kHostStepRows, {&kTimeout, &kWhere, &kStep}, 1};
constexpr KeyTable kPause{
    "pause_step",         kA, "What the host does itself", kPauseRows, {&kTimeout, &kWhere, &kStep},
    std::size(kPauseRows)};
constexpr KeyTable kGet{
    "get_step", kA, "A wait for a key that all ranks share", kGetRows, {&kTimeout, &kWhere, &kStep},
    1};
constexpr KeyTable kInputStep{"input_step",
                              kA,
                              "A wait for outside input",
                              kInputStepRows,
                              {&kOutsideInput, &kTimeout, &kWhere, &kStep},
                              1};
constexpr const KeyTable* kSteps[] = {
    &kRepeat,           &kBlock,          &kBlockCall,  &kAgain,
    &kCompute,          &kEventStep,      &kGroupStep,  &kCallStep,
    &kExchangeStep,     &kRootedCallStep, &kSendStep,   &kRecvStep,
    &kCommunicatorStep, &kAbortStep,      &kShrinkStep, &kSymmetricStep,
    &kHostStep,         &kPause,          &kGet,        &kInputStep};

constexpr Key kCallNameRows[] = {
    {"name", "name", "Name in reports, beside that of the group; may have expressions in it"},
};
constexpr KeyTable kCallName{"call_name", "", "Of a call of a group", kCallNameRows};

constexpr std::string_view kCall = "a call";
constexpr KeyTable kGroupCall{"group_call",
                              kCall,
                              "A collective call of a group",
                              kCallRows,
                              {&kMoves, &kAlgorithm, &kCallName, &kWhere},
                              4};
constexpr KeyTable kGroupExchange{"group_exchange",
                                  kCall,
                                  "An exchange of parts, of a group",
                                  kExchangeRows,
                                  {&kMoves, &kAlgorithm, &kCallName, &kWhere},
                                  1};
constexpr KeyTable kGroupRootedCall{"group_rooted_call",
                                    kCall,
                                    "A collective call with a root, of a group",
                                    kRootedCallRows,
                                    {&kMoves, &kAlgorithm, &kCallName, &kWhere},
                                    4};
constexpr KeyTable kGroupSend{
    "group_send", kCall, "A send of a group", kSendRows, {&kMoves, &kTag, &kCallName, &kWhere}, 1};
constexpr KeyTable kGroupRecv{"group_recv",
                              kCall,
                              "A receive of a group",
                              kRecvRows,
                              {&kMoves, &kTag, &kCallName, &kWhere},
                              1};
constexpr const KeyTable* kGroupCalls[] = {&kGroupCall, &kGroupExchange, &kGroupRootedCall,
                                           &kGroupSend, &kGroupRecv};

constexpr const KeyTable* kSharedBySteps[] = {&kWhere,     &kStep, &kOnStream, &kSlot,    &kMoves,
                                              &kAlgorithm, &kTag,  &kTimeout,  &kCallName};

constexpr ObjectStep kObjectSteps[] = {
    {"record", sim::Role::kRecord},   {"wait", sim::Role::kWait},     {"await", sim::Role::kAwait},
    {"get", sim::Role::kAwait, true}, {"set", sim::Role::kSet, true}, {"lock", sim::Role::kLock},
    {"unlock", sim::Role::kUnlock},   {"create", sim::Role::kCreate},
};

}  // namespace

constinit const KeyTable kProgram{"program", "a program", "A host program", kProgramRows};
constinit const KeyTable kUndecided{
    "undecided", "'undecided'", "Why `check` is undecided in place of an answer", kUndecidedRows};
constinit const KeyTable kWait{"wait", "a wait", "A wait for the ops of another step", kWaitRows};

std::span<const KeyTable* const> steps() { return kSteps; }
std::span<const ObjectStep> object_steps() { return kObjectSteps; }
std::span<const KeyTable* const> calls_of_group() { return kGroupCalls; }
std::span<const KeyTable* const> shared_by_steps() { return kSharedBySteps; }

}  // namespace pipesim::formats::keys
