// What `pipesim new` writes. tests/unit/app/commands/new_command_test.cpp does what the comments
// say.
#include "app/commands/starting_scenarios.hpp"

#include <array>

namespace pipesim::app {
namespace {

constexpr std::string_view kProgram =
    R"yaml(# What the Python of each rank does, step by step: the form for PyTorch, Megatron-LM or DeepSpeed.
# Replace the steps below by those of your own job, and FILE by the name of this file:
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
  dp: all                        # who does collectives together; pairs of neighbours: {size: 2}

# Other steps are send, recv, group (of calls, as batch_isend_irecv), wait, record, barrier and more, and
# a rank has several threads and streams if you like: docs/reference/scenario-format.md, "Host programs".
programs:
  do:                            # in the order of your code, on all ranks unless `on` names some
    - repeat: batches
      do:
        - {host: load_batch, takes: 100us}               # time on the host thread
        - {compute: forward, takes: 1ms}                 # a kernel: the host goes on at once
        - {compute: backward, takes: backward}
        # A call of NCCL, after what stream `compute` was given so far. Reports name what `at` says.
        - {all_reduce: dp, bytes: 64MiB, takes: 500us, after: [compute], at: "train.py:40 step"}
        - {synchronize: device, at: "train.py:41 step"}  # the host waits, as for .item()
    # Expressions may use parameters, `ranks` and `rank`; a word stands in quotes there.
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
    R"yaml(# Actors that hand each other what they made: the form for actor runtimes, such as OneFlow's.
# Replace the actors below by those of your own job, and FILE by the name of this file:
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
  # What hands the gradient on to the backward.
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
    R"yaml(# Layers and how they are laid out over ranks: passes make the task graph of it, as OneFlow does.
# Replace the layers below by those of your own model, and FILE by the name of this file:
#
#   pipesim run FILE                 completes
#   pipesim run FILE --set tensor=1  completes, on half as many ranks: these follow from the layout
#   pipesim opt FILE                 prints the actors that the passes make
#   pipesim lint FILE                names the buffers that a collective may stand in front of
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
        # How a tensor lies on the ranks: S(axis) cut, B a copy on each, P a sum of what all have;
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
  system: {copy: 5us, collective: 10us}  # how long takes what the passes put in

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
    R"yaml(# A pipeline schedule by its name: how long a step takes, and what each rank waits for.
# Put in the times and sizes of your own model, and replace FILE by the name of this file:
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
  kind: $kind                    # $ stands before a parameter that holds a word
  stages: stages
  micro_batches: micro_batches
  forward: 2ms                   # of one micro-batch in one stage; for unequal stages a list
  input_grad: 2ms                # the backward has two parts: the gradient of the input, which the
  weight_grad: 1ms               # stage before waits for, and that of the weights
  message: 24MB                  # what a stage sends to the next
  message_takes: 100us           # leave it out with a `cluster:`, from which the time then follows
  messages: pg                   # all on one communicator, as PyTorch does; `edge`: one for each edge
  activation: 1GiB               # memory of a micro-batch in a stage, until its backward
  weights: 8GiB                  # memory of a stage that is always there

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed, idle: {together: on, at_most: 45%}}
  - {with: {kind: zb1p}, verdict: completed, idle: {together: on, at_most: 25%}}
)yaml";

constexpr std::string_view kMegatron =
    R"yaml(# A training step of Megatron-LM: 1F1B over `pipeline` stages, tensor parallel inside a stage, data
# parallel across. Put in the layout and the times of your own job, and replace FILE by the name of
# this file:
#
#   pipesim run FILE                        completes
#   pipesim run FILE --set p2p=send_first   hangs: two stages both send before they receive
#   pipesim check FILE                      proves that no timing makes it hang
#   pipesim test FILE                       checks the runs against `expect` at the end
#
# docs/reference/scenario-format.md has all keys.
schema: 1
name: my_megatron

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  pipeline:      {default: 4, at_least: 2, about: "stages"}
  tensor:        {default: 2, at_least: 1, about: "tensor-parallel ranks of a stage"}
  data:          {default: 2, at_least: 1, about: "data-parallel replicas"}
  micro_batches: {default: 8, at_least: 1, about: "micro-batches of a step"}
  layers:        {default: 2, at_least: 1, about: "layers of a stage"}
  activation:    {default: 64MiB, about: "size of what a stage sends for a micro-batch"}
  p2p:
    {default: batched, one_of: [batched, send_first], about: "messages of the steady state"}

# Megatron's order of ranks: those of a tensor-parallel group are neighbors, and the stages of a
# pipeline are tensor * data ranks apart.
ranks: pipeline * tensor * data
groups:
  tp: {size: tensor}
  dp: {size: data, stride: tensor}
  pp: {size: pipeline, stride: tensor * data}

programs:
  do:
    - call: step
      with:
        stage: rank / (tensor * data)
        next: rank + tensor * data
        previous: rank - tensor * data
    - {all_reduce: dp, bytes: 512MiB, takes: 5ms, after: [compute], at: "finalize_model_grads.py"}
    - {synchronize: device, at: "training.py train_step"}

# `with` gives names to what differs from rank to rank: which ranks take a branch, and how often
# they repeat a loop, as in the Python.
blocks:
  step: [{call: rounds, with: {warmup: "min(pipeline - 1 - stage, micro_batches)"}}]
  rounds:
    - repeat: warmup
      do:
        - {call: recv_forward}
        - {call: forward}
        - {call: send_forward}
    - {when: warmup < micro_batches, call: recv_forward}
    - repeat: micro_batches - warmup
      index: i
      do:
        - {call: forward}
        - when: stage < pipeline - 1
          do:
            - when: p2p == 'batched'   # one batch_isend_irecv: neither waits for the other
              name: send_forward_recv_backward
              group:
                - {send: pp, to: next, bytes: activation, takes: 1ms}
                - {recv: pp, from: next, bytes: activation}
              after: [compute]
              at: "schedules.py send_forward_recv_backward"
            - {when: p2p == 'send_first', call: send_forward}
            - {when: p2p == 'send_first', call: recv_backward}
        - {call: backward}
        - when: stage > 0 and i + warmup < micro_batches - 1
          do:
            - when: p2p == 'batched'
              name: send_backward_recv_forward
              group:
                - {send: pp, to: previous, bytes: activation, takes: 1ms}
                - {recv: pp, from: previous, bytes: activation}
              after: [compute]
              at: "schedules.py send_backward_recv_forward"
            - {when: p2p == 'send_first', call: send_backward}
            - {when: p2p == 'send_first', call: recv_forward}
        - {when: i + warmup == micro_batches - 1, call: send_backward}
    - repeat: warmup
      do:
        - {call: recv_backward}
        - {call: backward}
        - {call: send_backward}

  # The stream of the computation runs the tensor-parallel collectives, too: PyTorch puts calls
  # without async_op=True there. Messages have a stream of their own, `nccl pp`.
  forward:
    - {compute: forward, takes: 100us * layers, after: [nccl pp], phase: forward}
    - repeat: 2 * layers
      do:
        - {all_reduce: tp, bytes: activation, takes: 200us, stream: compute, at: "mappings.py"}
  backward:
    - {compute: backward, takes: 200us * layers, after: [nccl pp], phase: backward}
    - repeat: 2 * layers
      do:
        - {all_reduce: tp, bytes: activation, takes: 200us, stream: compute, at: "mappings.py"}
  recv_forward:
    - {when: stage > 0, recv: pp, from: previous, bytes: activation,
       at: "p2p_communication.py recv_forward"}
  recv_backward:
    - {when: stage < pipeline - 1, recv: pp, from: next, bytes: activation,
       at: "p2p_communication.py recv_backward"}
  send_forward:
    - {when: stage < pipeline - 1, send: pp, to: next, bytes: activation, takes: 1ms,
       after: [compute], at: "p2p_communication.py send_forward"}
  send_backward:
    - {when: stage > 0, send: pp, to: previous, bytes: activation, takes: 1ms,
       after: [compute], at: "p2p_communication.py send_backward"}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {p2p: send_first}, verdict: deadlock}
  - {with: {pipeline: 2, tensor: 4, data: 1, micro_batches: 3}, verdict: completed}
)yaml";

constexpr std::string_view kTorchtitan =
    R"yaml(# A training step of torchtitan: a schedule of torch.distributed.pipelining over the stages, FSDP2 and
# tensor parallel inside a stage. Put in the layout and the times of your own job, and replace FILE by
# the name of this file:
#
#   pipesim run FILE                     completes
#   pipesim run FILE --set kind=1f1b     completes, with one stage per rank
#   pipesim check FILE                   proves that no timing makes it hang
#   pipesim draw FILE -o step.svg        draws who did what when
#   pipesim test FILE                    checks both runs against `expect` at the end
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
  layers: {default: 16, at_least: 1, about: "layers of the model"}
  kind:
    default: interleaved_1f1b
    one_of: [gpipe, 1f1b, interleaved_1f1b, looped_bfs]
    about: "pipeline_parallel_schedule"
  messages: {default: pg, one_of: [pg, direction, edge], about: "communicators of messages"}

# Ranks and groups follow from it: neighbors share the tensors, stages are tp * dp ranks apart.
parallel: {pipeline: pp, tensor: tp, data: dp}

schedule:
  kind: $kind
  micro_batches: micro_batches
  layers: layers                 # times and memory are those of one layer
  forward: 1ms
  input_grad: 1ms
  weight_grad: 1ms
  message: 32MiB                 # activations that a stage sends for a micro-batch
  message_takes: 1ms
  messages: $messages
  collectives:
    # Within each forward and backward, for each layer: the sums of attention and feed-forward.
    - {call: reduce_scatter, over: tensor, in: forward, times: 2, bytes: 32MiB, takes: 100us}
    - {call: reduce_scatter, over: tensor, in: backward, times: 2, bytes: 32MiB, takes: 100us}
    # FSDP2: a stage's weights are gathered ahead of its use, its gradients reduced at the end.
    - {call: all_gather, over: data, in: unshard, bytes: 512MiB, takes: 4ms}
    - {call: reduce_scatter, over: data, in: gradients, bytes: 512MiB, takes: 4ms}
    # The loss, and the norm of the gradients over all stages.
    - {call: all_reduce, over: pipeline, in: step, bytes: 4B, takes: 30us}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {kind: 1f1b}, verdict: completed}
)yaml";

constexpr std::string_view kFsdp =
    R"yaml(# A training step of FSDP2: each layer's weights are gathered before it runs and dropped behind it,
# and its gradients are reduced to their owners. Put in your own layers and times, and replace FILE
# by the name of this file:
#
#   pipesim run FILE                    completes
#   pipesim run FILE --set skips=on     hangs: one rank skips a layer, and with it a collective
#   pipesim test FILE                   checks both runs against `expect` at the end
#
# docs/reference/scenario-format.md has all keys.
schema: 1
name: my_fsdp

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  shards:  {default: 8, at_least: 2, about: "ranks that share the weights"}
  layers:  {default: 4, at_least: 1, about: "layers that are wrapped by fully_shard"}
  weights: {default: 400MB, about: "size of a layer's weights"}
  skips:   {default: off, about: "the last rank has no tokens for the last layer, and skips it"}

ranks: shards
groups: {dp: all}

programs:
  do:
    - repeat: layers
      index: i
      do:
        - when: not (skips and rank == shards - 1 and i == layers - 1)
          do:
            - {all_gather: dp, name: "unshard{i}", bytes: weights / shards, takes: 2ms,
               at: "_fsdp_param_group.py unshard"}
            - {compute: "forward{i}", takes: 3ms, after: [nccl dp], phase: forward}
    - repeat: layers
      index: i
      do:
        - {all_gather: dp, name: "unshard{layers - 1 - i}", bytes: weights / shards, takes: 2ms,
           at: "_fsdp_param_group.py unshard"}
        - {compute: "backward{layers - 1 - i}", takes: 6ms, after: [nccl dp], phase: backward}
        - {reduce_scatter: dp, name: "reduce{layers - 1 - i}", bytes: weights, takes: 3ms,
           after: [compute], at: "_fsdp_param_group.py post_backward"}
    - {compute: optimizer, takes: 1ms, after: [nccl dp]}
    - {synchronize: device, at: "train.py loss.item"}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {skips: on}, verdict: mismatch}
)yaml";

constexpr std::string_view kVllm =
    R"yaml(# Steps of an inference engine with data-parallel attention and expert-parallel layers, as vLLM's:
# ranks without requests have to run a dummy batch, since the others' experts wait for them. Put in
# your own steps, and replace FILE by the name of this file:
#
#   pipesim run FILE                    completes
#   pipesim run FILE --set dummy=off    hangs: the others' experts wait for the idle rank
#   pipesim test FILE                   checks the runs against `expect` at the end
#
# docs/reference/scenario-format.md has all keys.
schema: 1
name: my_vllm

# What `--set NAME=VALUE` can change; `pipesim run FILE --params` lists it.
params:
  engines: {default: 4, at_least: 2, about: "data-parallel ranks"}
  idle:    {default: 1, at_least: 0, about: "how many of them have no request"}
  dummy:   {default: on, about: "ranks without requests run a dummy batch"}
  steps:   {default: 8, at_least: 1, about: "steps of the engine"}
  layers:  {default: 2, at_least: 1, about: "expert-parallel layers"}

ranks: engines
sets:
  busy: rank < ranks - idle
groups: {ep: all, votes: all}
communicators:
  named: {votes: {group: votes, host: on}}   # gloo, on the host

programs:
  do:
    - repeat: steps
      index: step
      do:
        - on: [busy, "dummy"]
          do:
            - repeat: layers
              do:
                - {compute: attention, takes: 200us, after: [nccl ep]}
                - {all_to_all: ep, name: dispatch, bytes: 8MiB, takes: 100us, after: [compute],
                   at: "fused_moe.py dispatch"}
                - {compute: experts, takes: 300us, after: [nccl ep]}
                - {all_to_all: ep, name: combine, bytes: 8MiB, takes: 100us, after: [compute],
                   at: "fused_moe.py combine"}
            - {synchronize: device, at: "core.py step"}
        # Every fourth step the engines agree on whether any of them has work left.
        - {when: step % 4 == 3, all_reduce: votes, bytes: 8B, takes: 50us,
           at: "core.py has_unfinished_dp"}

# The expected results, for `pipesim test`. Each entry is a test; `with` sets parameters.
expect:
  - {verdict: completed}
  - {with: {dummy: off}, verdict: starved, cause: absent member, roots: [3]}
  - {with: {dummy: off, idle: 0}, verdict: completed}
)yaml";

constexpr std::array kKinds = {
    StartingScenario{"program", "what the Python of each rank does, step by step (the default)",
                     kProgram},
    StartingScenario{"actors", "actors that hand each other what they made, as in OneFlow",
                     kActors},
    StartingScenario{"model", "layers and their layout, of which passes make actors", kModel},
    StartingScenario{"schedule", "a pipeline schedule by its name", kSchedule},
    StartingScenario{"megatron", "a step of Megatron-LM: pipeline, tensor and data parallel",
                     kMegatron},
    StartingScenario{"torchtitan", "a step of torchtitan: schedule, FSDP2 and tensor parallel",
                     kTorchtitan},
    StartingScenario{"fsdp", "a step of FSDP2: weights gathered and gradients reduced by layer",
                     kFsdp},
    StartingScenario{"vllm", "an engine with data-parallel attention and experts, as vLLM's",
                     kVllm},
};

}  // namespace

std::span<const StartingScenario> starting_scenarios() { return kKinds; }

}  // namespace pipesim::app
