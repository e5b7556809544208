// The text of the scenarios that `pipesim new` writes. tests/unit/app/commands/new_command_test.cpp
// makes the changes that their comments suggest.
#include "app/commands/starting_scenarios.hpp"

#include <array>

namespace pipesim::app {
namespace {

constexpr std::string_view kProgram =
    R"yaml(# What the Python of each rank does, step by step: the form for PyTorch, Megatron-LM or DeepSpeed.
# Replace the steps below with those of your own job, and FILE with the name of this file:
#
#   pipesim run FILE                    completes
#   pipesim run FILE --set logs=rank0   hangs: rank 0 alone reduces the loss, to log it
#   pipesim test FILE                   checks both runs against `expect` at the end
#
# docs/reference/scenario-format.md has all keys, docs/reference/scenarios.md lists known hangs.
schema: 1
name: my_program

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  batches:  {default: 3, at_least: 1, about: "batches before the loss is logged"}
  backward: 2ms                  # a time; numbers, sizes, and on or off are written the same way
  logs:     {default: all, one_of: [all, rank0], about: "who reduces the loss to log it"}

ranks: 2                         # processes, as torchrun's WORLD_SIZE
groups:
  dp: all                        # ranks that share collectives; pairs of neighbors: {size: 2}

# Other steps are send, recv, group (of calls, as batch_isend_irecv), wait, record, barrier and more, and
# a rank has several threads and streams if you like: docs/reference/scenario-format.md, "Host programs".
programs:
  do:                            # in the order of your code, on all ranks unless `on` names some
    - repeat: batches
      do:
        - {host: load_batch, takes: 100us}               # time on the host thread
        - {compute: forward, takes: 1ms}                 # a kernel: the host goes on at once
        - {compute: backward, takes: backward}
        # A NCCL call, ordered after all work queued on stream `compute` so far. Reports show `at`.
        - {all_reduce: dp, bytes: 64MiB, takes: 500us, after: [compute], at: "train.py:40 step"}
        - {synchronize: device, at: "train.py:41 step"}  # the host waits, as for .item()
    # Expressions may use parameters, `ranks` and `rank`; words need quotes there.
    - on: rank == 0 or logs == 'all'
      do:
        - {all_reduce: dp, bytes: 4B, takes: 20us, at: "train.py:52 log_loss"}
        - {synchronize: device, at: "train.py:53 log_loss"}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {logs: rank0}, verdict: starved, cause: absent member}
)yaml";

constexpr std::string_view kActors =
    R"yaml(# Actors that pass data to each other: the form for actor runtimes, such as OneFlow's.
# Replace the actors below with those of your own job, and FILE with the name of this file:
#
#   pipesim run FILE                              completes
#   pipesim run FILE --set buffer_stream=forward  hangs: a cycle of waits across both ranks
#   pipesim test FILE                             checks both runs against `expect` at the end
#
# docs/reference/scenario-format.md has all keys, docs/reference/scenarios.md lists known hangs.
schema: 1
name: my_actors

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  acc: {default: 3, at_least: 1, about: "micro-batches per step"}
  buffer_stream: {default: backward, one_of: [forward, backward], about: "where `buffer` runs"}

ranks: 2
micro_batches: acc
groups:
  tp: all                        # who does collectives together; of more ranks: {size: 2}
streams: [forward, backward]     # first in, first out; each has a host thread of its own

# An actor runs once all that it `reads` has arrived and a slot for its output is free. It is on all
# ranks unless `on` names some, has one slot, and runs once per input.
actors:
  # A source: runs this many times, without input.
  batch:  {source: acc, slots: acc, takes: 1us}
  # Only on rank 1, with two slots: so that rank may be two micro-batches ahead of its backward.
  table:  {on: 1, source: acc, slots: 2, stream: forward, takes: 1us}
  # A collective ends on all ranks of its group at once; until then it holds its stream.
  gather:
    phase: forward               # what its ops count for in reports
    stream: forward
    slots: acc
    takes: 1us
    collective: {all_gather: tp}
    reads: [batch, {from: table, on: 1}]
  loss:   {phase: forward, takes: 10us, reads: [gather]}
  # Passes the gradient on to the backward.
  buffer: {phase: backward, stream: $buffer_stream, takes: 1us, reads: [loss]}
  reduce:
    phase: backward
    stream: backward
    takes: 1us
    collective: {all_reduce: tp}
    reads: [buffer, {from: table, on: 1}]

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {buffer_stream: forward}, verdict: deadlock, cycle_through: [buffer, gather]}
)yaml";

constexpr std::string_view kModel =
    R"yaml(# Layers and their layout over ranks, from which passes build the task graph, as OneFlow's do.
# Replace the layers below with those of your own model, and FILE with the name of this file:
#
#   pipesim run FILE                 completes
#   pipesim run FILE --set tensor=1  completes, on half as many ranks: these follow from the layout
#   pipesim opt FILE                 prints the actors that the passes make
#   pipesim lint FILE                names the buffers that can get queued behind a collective
#   pipesim test FILE                checks both runs against `expect` at the end
#
# docs/explanation/model-to-tasks.md says what the passes do, docs/reference/scenario-format.md has all keys.
schema: 1
name: my_model

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  acc:      {default: 4, at_least: 1, about: "micro-batches per step (gradient accumulation)"}
  data:     {default: 2, at_least: 1, about: "data-parallel ranks"}
  tensor:   {default: 2, at_least: 1, about: "tensor-parallel ranks"}
  pipeline: {default: 2, at_least: 1, about: "stages"}

model:
  input: {shape: [16, 64]}       # of a micro-batch, over all data-parallel ranks
  layers:                        # in the order of the forward; each op reads the one before it
    - name: embed
      stage: 0                   # layers that do not say it are shared out equally
      ops: {table: {takes: 1us}}
    - name: block
      count: 4                   # block0 to block3
      ops:
        # How a tensor is distributed: S(axis) split, B a copy on each rank, P a partial sum on each;
        # first over the data-parallel ranks, then over the tensor-parallel ones.
        up:
          takes: 2us
          out: [S(0), S(1)]
          variables: {w: {shape: [64, 256], signature: [B, S(1)]}}
        down:
          takes: 2us
          out: [S(0), P]
          variables: {w: {shape: [256, 64], signature: [B, S(0)]}}
        norm:
          takes: 1us
          in: [S(0), B]          # the sum has to become a copy: an all-reduce
  system: {copy: 5us, collective: 10us}  # durations of what the passes insert

parallel: {data: data, tensor: tensor, pipeline: pipeline}
train: {accumulation: acc, optimizer: on}

# Options of the passes; `pipesim opt --list` has them all.
passes:
  insert-nccl-logical: {first_subgraph: NCCL_COMPUTE}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {tensor: 1}, verdict: completed}
)yaml";

constexpr std::string_view kSchedule =
    R"yaml(# A pipeline schedule by name: how long a step takes, and what each rank waits for.
# Put in the times and sizes of your own model, and replace FILE with the name of this file:
#
#   pipesim run FILE                       completes; the table says how idle each rank is
#   pipesim run FILE --set kind=zb1p       completes earlier: gradients of weights fill the gaps
#   pipesim draw FILE -o FILE.svg          draws when each rank does what
#   pipesim test FILE                      checks both runs against `expect` at the end
#
# docs/reference/schedules.md has the kinds, and what `messages` can be. A schedule of PyTorch's, as CSV, runs
# as it is.
schema: 1
name: my_schedule

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  kind:          {default: 1f1b, one_of: [gpipe, 1f1b, zb1p], about: "the schedule"}
  stages:        {default: 4, at_least: 1, about: "stages, one on each rank"}
  micro_batches: {default: 8, at_least: 1, about: "micro-batches of a step"}

schedule:
  kind: $kind                    # $ refers to a parameter whose value is a word
  stages: stages
  micro_batches: micro_batches
  forward: 2ms                   # of one micro-batch in one stage; for unequal stages a list
  input_grad: 2ms                # the backward has two parts: the gradient of the input, which the
  weight_grad: 1ms               # stage before waits for, and that of the weights
  message: 24MB                  # what a stage sends to the next
  message_takes: 100us           # leave it out with a `cluster:`, which then determines the time
  messages: pg                   # all on one communicator, as PyTorch does; `edge`: one for each edge
  activation: 1GiB               # memory of a micro-batch in a stage, until its backward
  weights: 8GiB                  # memory of a stage that is always there

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed, idle: {together: on, at_most: 45%}}
  - {with: {kind: zb1p}, verdict: completed, idle: {together: on, at_most: 25%}}
)yaml";

constexpr std::string_view kMegatron =
    R"yaml(# A training step of Megatron-LM: 1F1B over the pipeline, tensor and sequence parallel inside a
# stage, data parallel across. Put in the layout and the sizes of your own job, and replace FILE by
# the name of this file:
#
#   pipesim run FILE                         completes
#   pipesim run FILE --set p2p_order=send_first --set messages=pg  hangs: two stages both send first
#   pipesim run FILE --set network=ethernet  completes later
#   pipesim check FILE                       proves that no timing makes it hang
#   pipesim draw FILE -o step.svg            draws who did what when
#   pipesim test FILE                        checks the runs against `expect` at the end
#
# docs/reference/schedules.md lists the schedules, docs/reference/scenario-format.md has all keys.
schema: 1
name: my_megatron

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  pp: {default: 4, at_least: 2, about: "--pipeline-model-parallel-size"}
  tp: {default: 2, at_least: 1, about: "--tensor-model-parallel-size"}
  dp: {default: 2, at_least: 1, about: "data-parallel replicas"}
  micro_batches: {default: 8, at_least: 1, about: "micro-batches of a step"}
  layers:  {default: 16, at_least: 4, about: "--num-layers"}
  messages:                        # batch: send_forward_recv_backward is one batch_isend_irecv
    default: batch                 # overlap: --overlap-p2p-communication
    one_of: [batch, overlap, pg, pair, edge]
    about: "how stages send and receive"
  p2p_order:
    default: in_turn               # others: with `messages` pg, pair or edge
    one_of: [in_turn, deferred, send_first, recv_first]
    about: "order of sends and recvs"
  network: {default: infiniband, one_of: [infiniband, ethernet], about: "between hosts"}
  hosts:   {default: 2, at_least: 1, about: "hosts, which share the ranks equally"}

# Ranks and groups follow from it, in Megatron's order: neighbors share the tensors, stages are
# tp * dp ranks apart. `context` and `expert` are further dimensions.
parallel: {pipeline: pp, tensor: tp, data: dp}
cluster: {hosts: hosts, between_hosts: $network}   # times of communication follow from sizes

schedule:
  kind: 1f1b                       # or interleaved_1f1b
  micro_batches: micro_batches
  layers: layers                   # times are those of one layer
  forward: 1ms
  input_grad: 1ms
  weight_grad: 1ms
  message: 32MiB                   # activations that a stage sends for a micro-batch
  messages: $messages
  message_order: $p2p_order
  collectives:
    # --sequence-parallel, in each layer, before and after attention and feed-forward.
    - {call: all_gather, over: tensor, in: forward, times: 2, bytes: 16MiB}
    - {call: reduce_scatter, over: tensor, in: forward, times: 2, bytes: 32MiB}
    - {call: all_gather, over: tensor, in: backward, times: 2, bytes: 16MiB}
    - {call: reduce_scatter, over: tensor, in: backward, times: 2, bytes: 32MiB}
    # --use-distributed-optimizer: gradients to their owners, then weights to all.
    - {call: reduce_scatter, over: data, in: gradients, bytes: 512MiB}
    - {call: all_gather, over: data, in: step, bytes: 256MiB}
    # The norm of the gradients over all stages.
    - {call: all_reduce, over: pipeline, in: step, bytes: 4B}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {messages: pg, p2p_order: send_first}, verdict: deadlock}
  - {with: {pp: 2, tp: 4, dp: 1, micro_batches: 3, hosts: 1}, verdict: completed}
)yaml";

constexpr std::string_view kTorchtitan =
    R"yaml(# A training step of torchtitan: a schedule of torch.distributed.pipelining over the stages, FSDP2 and
# tensor parallel inside a stage. Put in the layout and the times of your own job, and replace FILE by
# the name of this file:
#
#   pipesim run FILE                     completes
#   pipesim run FILE --set kind=1f1b     completes, with one stage per rank
#   pipesim run FILE --set kind=zbv      completes, with gradients of weights put off
#   pipesim run FILE --set p2p_order=deferred  hangs: all messages of a rank share a communicator
#   pipesim check FILE                   proves that no timing makes it hang
#   pipesim draw FILE -o step.svg        draws who did what when
#   pipesim test FILE                    checks the runs against `expect` at the end
#
# docs/reference/schedules.md lists the schedules, docs/reference/scenario-format.md has all keys.
schema: 1
name: my_torchtitan

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  pp:   {default: 4, at_least: 2, about: "pipeline_parallel_degree"}
  tp:   {default: 2, at_least: 1, about: "tensor_parallel_degree"}
  dp:   {default: 2, at_least: 1, about: "data_parallel_shard_degree"}
  micro_batches: {default: 8, at_least: 1, about: "micro-batches of a step"}
  layers: {default: 16, at_least: 8, about: "layers of the model"}
  kind:
    default: interleaved_1f1b
    one_of: [gpipe, 1f1b, interleaved_1f1b, looped_bfs, interleaved_zero_bubble, zbv, dualpipe_v]
    about: "pipeline_parallel_schedule"
  messages: {default: pg, one_of: [pg, direction, pair, edge], about: "communicators of messages"}
  p2p_order:
    default: in_turn
    one_of: [in_turn, deferred]  # deferred: defer_pp_recv; not with zbv and dualpipe_v
    about: "order of sends and recvs"
  network: {default: infiniband, one_of: [infiniband, ethernet], about: "between hosts"}
  hosts: {default: 2, at_least: 1, about: "hosts, which share the ranks equally"}

# Ranks and groups follow from it: neighbors share the tensors, stages are tp * dp ranks apart.
parallel: {pipeline: pp, tensor: tp, data: dp}
cluster: {hosts: hosts, between_hosts: $network}   # times of communication follow from sizes

schedule:
  kind: $kind
  micro_batches: micro_batches
  layers: layers                 # times and memory are those of one layer
  forward: 1ms
  input_grad: 1ms
  weight_grad: 1ms
  message: 32MiB                 # activations that a stage sends for a micro-batch
  messages: $messages
  message_order: $p2p_order
  collectives:
    # Within each forward and backward, for each layer: the sums of attention and feed-forward.
    - {call: reduce_scatter, over: tensor, in: forward, times: 2, bytes: 32MiB}
    - {call: reduce_scatter, over: tensor, in: backward, times: 2, bytes: 32MiB}
    # FSDP2: a stage's weights are gathered ahead of its use, its gradients reduced at the end.
    - {call: all_gather, over: data, in: unshard, bytes: 512MiB}
    - {call: reduce_scatter, over: data, in: gradients, bytes: 512MiB}
    # The loss, and the norm of the gradients over all stages.
    - {call: all_reduce, over: pipeline, in: step, bytes: 4B}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {kind: 1f1b}, verdict: completed}
  - {with: {p2p_order: deferred}, verdict: deadlock}
)yaml";

constexpr std::string_view kFsdp =
    R"yaml(# A training step of FSDP2: each layer's weights are gathered before it runs and freed after it,
# and its gradients are reduced to their owners. Put in your own layers and times, and replace FILE
# by the name of this file:
#
#   pipesim run FILE                       completes
#   pipesim run FILE --set skips=rank==3   hangs: rank 3 skips a layer, and with it a collective
#   pipesim check FILE                     hangs: it tries each rank, and says which may not skip
#   pipesim test FILE                      checks both runs against `expect` at the end
#
# docs/reference/scenario-format.md has all keys.
schema: 1
name: my_fsdp

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  shards:  {default: 8, at_least: 2, about: "ranks that share the weights"}
  hosts:   {default: 1, at_least: 1, about: "hosts, which share the ranks equally"}
  network: {default: infiniband, one_of: [infiniband, ethernet], about: "between hosts"}
  layers:  {default: 4, at_least: 1, about: "layers that are wrapped by fully_shard"}
  weights: {default: 400MB, about: "size of a layer's weights"}
  # What depends on the data: each rank may go either way.
  skips:   {default: off, choice: each_rank, about: "the rank has no tokens for the last layer and skips it"}

parallel: {data: shards}           # the ranks, and their group `data`
cluster: {hosts: hosts, between_hosts: $network}   # times of collectives follow from sizes

programs:
  do:
    - repeat: layers
      index: i
      do:
        - when: not (skips and i == layers - 1)
          do:
            - {all_gather: data, name: "unshard{i}", bytes: weights / shards, at: "fully_shard unshard"}
            - {compute: "forward{i}", takes: 3ms, after: [nccl data], phase: forward}
    - repeat: layers
      index: i
      do:
        - call: backward
          with: {layer: layers - 1 - i}
    - {compute: optimizer, takes: 1ms, after: [nccl data]}
    - {synchronize: device, at: "train.py loss.item"}

blocks:
  backward:
    - {all_gather: data, name: "unshard{layer}", bytes: weights / shards, at: "fully_shard unshard"}
    - {compute: "backward{layer}", takes: 6ms, after: [nccl data], phase: backward}
    - {reduce_scatter: data, name: "reduce{layer}", bytes: weights, after: [compute],
       at: "fully_shard post_backward"}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {skips: rank == 3}, verdict: mismatch}
)yaml";

constexpr std::string_view kVllm =
    R"yaml(# Steps of an inference engine with data-parallel attention and expert-parallel layers, as vLLM's:
# engines without requests have to run a dummy batch, since the others' experts wait for them. Put in
# your own steps, and replace FILE with the name of this file:
#
#   pipesim run FILE                    completes
#   pipesim run FILE --set dummy=off    hangs: the others' experts wait for the idle engine
#   pipesim check FILE                  proves that no timing makes it hang
#   pipesim test FILE                   checks the runs against `expect` at the end
#
# docs/reference/scenario-format.md has all keys.
schema: 1
name: my_vllm

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  dp:      {default: 4, at_least: 2, about: "--data-parallel-size: engines"}
  tp:      {default: 2, at_least: 1, about: "--tensor-parallel-size: ranks of an engine"}
  idle:    {default: 1, at_least: 0, about: "engines that have no request: the last ones"}
  dummy:   {default: on, about: "engines without requests run a dummy batch"}
  steps:   {default: 8, at_least: 1, about: "steps of the engine"}
  layers:  {default: 2, at_least: 1, about: "expert-parallel layers"}
  hosts:   {default: 1, at_least: 1, about: "hosts, which share the ranks equally"}
  network: {default: infiniband, one_of: [infiniband, ethernet], about: "between hosts"}

# Ranks and groups follow from it. --enable-expert-parallel: all ranks share the experts.
parallel: {tensor: tp, data: dp, expert: dp * tp, expert_tensor: 1}
cluster: {hosts: hosts, between_hosts: $network}   # times of calls follow from sizes
sets: {busy: rank / tp < dp - idle}
communicators:
  named: {votes: {group: data, host: on}}          # gloo, on the host

programs:
  do:
    - repeat: steps
      index: step
      do:
        - on: [busy, dummy]
          do:
            - {repeat: layers, do: [{call: layer}]}
            - {synchronize: device, at: "core.py step"}
        # Every fourth step the engines agree on whether any of them has work left.
        - {when: step % 4 == 3, all_reduce: votes, bytes: 8B, takes: 50us,
           at: "core.py has_unfinished_dp"}

blocks:
  layer:
    - {compute: attention, takes: 200us, after: [nccl expert]}
    - {all_reduce: tensor, bytes: 8MiB, stream: compute, at: "linear.py o_proj"}
    - {all_to_all: expert, name: dispatch, bytes: 8MiB, after: [compute], at: "fused_moe dispatch"}
    - {compute: experts, takes: 300us, after: [nccl expert]}
    - {all_to_all: expert, name: combine, bytes: 8MiB, after: [compute], at: "fused_moe combine"}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {dummy: off}, verdict: starved, cause: absent member, roots: rank / tp >= dp - idle}
  - {with: {dummy: off, idle: 0}, verdict: completed}
)yaml";

constexpr std::array kKinds = {
    StartingScenario{"program", "a host program: what each rank's Python does (the default)",
                     kProgram},
    StartingScenario{"actors", "actors that pass data to each other, as in OneFlow", kActors},
    StartingScenario{"model", "layers and a layout, from which passes build actors", kModel},
    StartingScenario{"schedule", "a pipeline schedule by name", kSchedule},
    StartingScenario{"megatron", "a step of Megatron-LM: pipeline, tensor and data parallel",
                     kMegatron},
    StartingScenario{"torchtitan", "a step of torchtitan: schedule, FSDP2 and tensor parallel",
                     kTorchtitan},
    StartingScenario{"fsdp", "a step of FSDP2: weights gathered and gradients reduced by layer",
                     kFsdp},
    StartingScenario{"vllm", "an inference engine with data and expert parallelism, as in vLLM",
                     kVllm},
};

}  // namespace

std::span<const StartingScenario> starting_scenarios() { return kKinds; }

}  // namespace pipesim::app
