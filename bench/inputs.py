"""Scenarios for several scripts of bench/."""


def half(name, takes, after=""):
    """Returns the steps of half a layer and of the tensor parallel all-reduce after it."""
    after = f", after: [{after}]" if after else ""
    return [
        f"{{compute: {name}, takes: {takes}{after}}}",
        "{all_reduce: tp, bytes: 8MiB, takes: 100us}",
    ]


def forward(stage, stages, ranks_of_stage):
    first, last = stage == 0, stage == stages - 1
    steps = [] if first else [f"{{recv: down, from: rank - {ranks_of_stage}, bytes: 8MiB}}"]
    steps += half("attention", "1ms", "" if first else "down") + half("mlp", "1ms")
    if not last:
        steps.append(f"{{send: down, to: rank + {ranks_of_stage}, bytes: 8MiB, after: [compute]}}")
    return steps


def backward(stage, stages, ranks_of_stage):
    first, last = stage == 0, stage == stages - 1
    steps = [] if last else [f"{{recv: up, from: rank + {ranks_of_stage}, bytes: 8MiB}}"]
    steps += half("mlp_backward", "2ms", "" if last else "up") + half("attention_backward", "2ms")
    if not first:
        steps.append(f"{{send: up, to: rank - {ranks_of_stage}, bytes: 8MiB, after: [compute]}}")
    return steps


def megatron(tensor, data, stages, micro_batches, absent=None):
    """Returns a training step with Megatron-LM's layout, without the rank `absent` if given."""
    of_stage = tensor * data
    groups = (
        f"tp: {{size: {tensor}}}, dp: {{size: {data}, stride: {tensor}}}, "
        f"pp: {{size: {stages}, stride: {of_stage}}}"
    )
    lines = [
        "schema: 1",
        f"name: megatron_{of_stage * stages}",
        f"ranks: {of_stage * stages}",
        f"groups: {{{groups}}}",
        "communicators:",
        "  named:",
        "    tp: {group: tp, stream: compute}",
        "    dp: {group: dp}",
        "    down: {group: pp, stream: down}",
        "    up: {group: pp, stream: up}",
        "programs:",
    ]
    if absent is not None:
        lines.append(f"  on: rank != {absent}")
    lines.append("  do:")
    for stage in range(stages):
        warm_up = min(stages - 1 - stage, micro_batches)
        there = forward(stage, stages, of_stage)
        back = backward(stage, stages, of_stage)
        lines += [f"    - on: {stage * of_stage}..{(stage + 1) * of_stage - 1}", "      do:"]
        for times, steps in (
            (warm_up, there),
            (micro_batches - warm_up, there + back),
            (warm_up, back),
        ):
            if times > 0:
                lines += [f"        - repeat: {times}", "          do:"]
                lines += [f"            - {step}" for step in steps]
    lines += [
        "    - {all_reduce: dp, bytes: 64MiB, takes: 5ms, after: [compute]}",
        "    - {synchronize: device}",
    ]
    return "\n".join(lines) + "\n"


def philosophers(count, ordered):
    """Returns dining philosophers who eat twice. If `ordered`, the last philosopher starts with the
    right fork, the others with the left fork."""
    lines = ["schema: 1", "name: philosophers", "ranks: 1", "programs:"]
    for i in range(count):
        first, second = i, (i + 1) % count
        if ordered and i + 1 == count:
            first, second = second, first
        steps = [f"lock: f{first}", f"lock: f{second}", f"unlock: f{second}", f"unlock: f{first}"]
        do = ", ".join(f"{{{step}}}" for step in steps)
        lines.append(f"  - {{thread: p{i}, do: [{{repeat: 2, do: [{do}]}}]}}")
    return "\n".join(lines) + "\n"
