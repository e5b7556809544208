#include "models/codes.hpp"

#include <algorithm>
#include <array>

namespace pipesim::models {
namespace {

constexpr std::array kTopics = std::to_array<std::string_view>({
    "YAML files",
    "Keys and values",
    "Expressions and parameters",
    "Names",
    "Ranks, groups and hosts",
    "Actors and host programs",
    "Models and passes",
    "Schedules",
    "Faults and expectations",
    "Patches",
    "Evidence of real hangs",
    "GOAL files",
    "Files that pipesim wrote",
    "Runs and pictures",
    "The command line",
    "Files and memory",
    "Collective algorithms",
});

// tests/unit/app/cli/codes_test.cpp proves the examples: the '-' lines produce the code, and the
// '+' lines are correct.
constexpr std::array kCodes = std::to_array<CodeInfo>({
    {Code::kYamlSyntax, "invalid YAML",
     "The file is not valid YAML. A bracket or quote that is not closed is often reported a "
     "few lines below, where the text stops making sense. Indent with spaces, not tabs.",
     R"( schema: 1
-actors: {a: {source: 4, takes: 1us}
+actors: {a: {source: 4, takes: 1us}}
)"},
    {Code::kInvalidUtf8, "invalid UTF-8", "Scenarios and patches are UTF-8. Convert the file.", ""},
    {Code::kYamlAlias, "unsupported use of YAML aliases",
     "An alias (`*name`) repeats a whole value. It cannot be used inside the value it refers "
     "to, and merge keys (`<<`) are not supported: write the keys out.",
     R"( schema: 1
 actors:
   a: &a {source: 4, takes: 1us}
-  b: {<<: *a}
+  b: *a
)"},
    {Code::kOneDocument, "not exactly one YAML document",
     "A file holds exactly one scenario or one patch. An empty file holds none, and whatever "
     "follows `---` is another document: move it to its own file. `pipesim new` writes a scenario "
     "to "
     "start from.",
     R"( schema: 1
 actors: {a: {source: 4}}
----
-schema: 1
-actors: {b: {source: 4}}
)"},
    {Code::kDuplicateKey, "duplicate key",
     "A map has the same key twice, and the second would hide the first. Merge the two, or "
     "rename one.",
     R"( schema: 1
-actors: {a: {source: 4, source: 8}}
+actors: {a: {source: 8}}
)"},
    {Code::kBadName, "invalid name",
     "Names are printed in reports, so they must be short and must not contain line breaks or "
     "other control characters. Names of parameters are used in expressions: they consist of "
     "letters, digits and `_`, and must not be a keyword such as `min`.",
     R"( schema: 1
-params: {micro-batches: 4}
+params: {micro_batches: 4}
 actors: {a: {source: 4}}
)"},
    {Code::kLimit, "larger than pipesim supports",
     "A file, or what it describes, exceeds a limit; docs/reference/limits.md lists them "
     "all. Fewer ranks, stages or micro-batches usually show the same hang.",
     R"( schema: 1
-schedule: {kind: gpipe, stages: 64, micro_batches: 1000000}
+schedule: {kind: gpipe, stages: 64, micro_batches: 64}
)"},
    {Code::kSchema, "unsupported schema version",
     "Scenarios begin with `schema: 1`, patches with `patch: 1`, and files that pipesim "
     "writes carry a version too. This version of pipesim does not know the one it found: "
     "use the version that wrote the file.",
     R"(-schema: 2
+schema: 1
 actors: {a: {source: 4}}
)"},

    {Code::kUnknownKey, "unknown key",
     "The key is misspelled, or indented too deep or not deep enough. "
     "docs/reference/scenario-format.md lists the keys of every map.",
     R"( schema: 1
-actors: {a: {source: 4, take: 1us}}
+actors: {a: {source: 4, takes: 1us}}
)"},
    {Code::kMissingKey, "missing key", "The map needs a key that it does not have.",
     R"( schema: 1
-params: {n: {at_least: 1}}
+params: {n: {default: 4, at_least: 1}}
 actors: {a: {source: n}}
)"},
    {Code::kConflictingKeys, "keys that cannot be used together",
     "Each key is valid on its own, but not together with the other. The first key of a step or a "
     "fault determines which others it can have.",
     R"( schema: 1
-schedule: {kind: gpipe, stages: 2, micro_batches: 2, rows: ["0F0,0B0"]}
+schedule: {kind: gpipe, stages: 2, micro_batches: 2}
)"},
    {Code::kWrongType, "value of the wrong type",
     "A list, a map, a name, a number, a time or a size was expected, and something else was "
     "found. Times and sizes have units: `10us`, `4MiB`.",
     R"( schema: 1
-actors: {a: {source: 4, takes: 3}}
+actors: {a: {source: 4, takes: 3us}}
)"},
    {Code::kOutOfRange, "value out of range",
     "The value is too small or too large; the message gives the bounds.",
     R"( schema: 1
-ranks: 0
+ranks: 1
 actors: {a: {source: 4}}
)"},
    {Code::kUnknownWord, "unknown word",
     "The key takes one of a few words, which the message lists.",
     R"( schema: 1
-threads: {main: {order: programm}}
+threads: {main: {order: arrival}}
 actors: {a: {source: 4}}
)"},
    {Code::kDuplicateName, "duplicate name",
     "Two things of one kind have the same name. Rename one of them.", ""},
    {Code::kEmpty, "nothing to do here",
     "A step, a group of calls, a layer, a row of a schedule or a list of hosts is empty. "
     "Fill it, or remove it.",
     R"( schema: 1
 programs:
   do:
-    - {stream: compute}
+    - {compute: forward, stream: compute}
)"},
    {Code::kChoice, "invalid choice",
     "A map with `case` picks the value whose key equals the expression. The keys must have the "
     "type of the expression, and `else` covers all other values. A choice by `rank` always needs "
     "an `else`.",
     R"( schema: 1
 ranks: 4
-actors: {a: {source: 4, takes: {case: rank, 0: 1us}}}
+actors: {a: {source: 4, takes: {case: rank, 0: 1us, else: 2us}}}
)"},

    {Code::kExpressionSyntax, "invalid expression",
     "The expression ends too early, has a word too many, or lacks a parenthesis or quote.",
     R"( schema: 1
-actors: {a: {source: 2 * (1 + 1, takes: 1us}}
+actors: {a: {source: 2 * (1 + 1), takes: 1us}}
)"},
    {Code::kExpressionType, "operands that do not fit",
     "Sums and comparisons need two values of one type, a product needs a plain number on "
     "one side, and `and`, `or`, `not` and `if` need conditions. Often a unit is missing.",
     R"( schema: 1
-actors: {a: {source: 4, takes: 10us + 5}}
+actors: {a: {source: 4, takes: 10us + 5us}}
)"},
    {Code::kUnit, "unknown unit, or not an integer",
     "Times are whole nanoseconds and sizes whole bytes; nothing is rounded. Units are ns, "
     "us, ms, s, min; B, kB, MB, GB, KiB, MiB, GiB; and these per second.",
     R"( schema: 1
-actors: {a: {source: 4, takes: 1 sec}}
+actors: {a: {source: 4, takes: 1s}}
)"},
    {Code::kArithmetic, "value that cannot be computed",
     "The expression divides by zero or exceeds 63 bits, perhaps on some ranks only; the "
     "message names the first of them.",
     R"( schema: 1
 ranks: 4
-actors: {a: {source: 4, takes: 12us / rank}}
+actors: {a: {source: 4, takes: 12us / (rank + 1)}}
)"},
    {Code::kDependsOnRank, "value that differs between ranks",
     "The value must be the same on every rank, so it cannot use `rank`. `on:` selects the "
     "ranks on which an actor or a step exists.",
     R"( schema: 1
 ranks: 4
-actors: {a: {source: 4, when: rank == 0}}
+actors: {a: {source: 4, "on": 0}}
)"},
    {Code::kUnknownParameter, "unknown parameter",
     "There is no such parameter under `params`. If a word was meant, put it in quotes. `pipesim "
     "run "
     "FILE --params` lists the parameters of a scenario.",
     R"( schema: 1
 params: {n: 4}
-actors: {a: {source: m}}
+actors: {a: {source: n}}
)"},
    {Code::kParameterValue, "invalid value of a parameter",
     "The value must have the type of the default, be one of `one_of`, and be at least `at_least`, "
     "if the parameter has these keys.",
     R"( schema: 1
-params: {mode: {default: fast, one_of: [slow, exact]}}
+params: {mode: {default: slow, one_of: [slow, exact]}}
 actors: {a: {source: 4}}
)"},

    {Code::kUnknownActor, "unknown actor or step",
     "No actor or step has this name, or none on the rank or thread in question. If the "
     "actor has `when`, what refers to it needs the same condition.",
     R"( schema: 1
 actors:
   batch: {source: 4}
-  reader: {reads: [bacth]}
+  reader: {reads: [batch]}
)"},
    {Code::kUnknownKind, "unknown kind of actor",
     "docs/reference/scenario-format.md lists the kinds, which are those of OneFlow. An "
     "actor without `kind` runs once per input.",
     R"( schema: 1
-actors: {a: {kind: repaet, times: 2, source: 4}}
+actors: {a: {source: 4}}
)"},
    {Code::kUnknownRegister, "unknown register",
     "`actor.register` names one of the actor's `registers`; `actor` alone is its output.",
     R"( schema: 1
 actors:
   batch: {source: 4}
-  reader: {reads: [batch.data]}
+  reader: {reads: [batch]}
)"},
    {Code::kUnknownStream, "unknown stream or thread",
     "If a scenario lists `streams`, no others exist. Each stream has a host thread of the same "
     "name; list further threads under `threads`.",
     R"( schema: 1
 streams: [forward, backward]
-actors: {a: {source: 4, stream: forwrad}}
+actors: {a: {source: 4, stream: forward}}
)"},
    {Code::kUnknownGroup, "unknown group or communicator",
     "Groups of ranks are listed under `groups`, communicators under `communicators: named:`.",
     R"( schema: 1
 groups: {dp: all}
 programs:
   do:
-    - {all_reduce: pd, bytes: 1MiB}
+    - {all_reduce: dp, bytes: 1MiB}
)"},
    {Code::kUnknownBlock, "unknown block", "`call` runs one of the `blocks`.",
     R"( schema: 1
 blocks: {step: [{compute: forward}]}
 programs:
   do:
-    - {call: setp}
+    - {call: step}
)"},
    {Code::kUnknownEvent, "event that is never recorded",
     "As in CUDA, waiting for an event that was never recorded returns at once, so this wait would "
     "have no effect. The name is probably misspelled.",
     R"( schema: 1
 programs:
   do:
     - {record: ready, stream: compute}
-    - {wait: raedy, stream: comm}
+    - {wait: ready, stream: comm}
)"},
    {Code::kUnknownOp, "unknown op",
     "Ops are counted from 1: `gather#3` is the third run of `gather`, and `rank0:gather#3` "
     "or `'rank 0 gather#3'` is that of rank 0.",
     R"(-$ pipesim why job.yaml nothing#1
)"},

    {Code::kUnknownRank, "rank that does not exist",
     "Ranks are numbered from 0, and `ranks` is their number. A range `0..3` includes both ends.",
     R"( schema: 1
 ranks: 4
-actors: {a: {source: 4, "on": 4}}
+actors: {a: {source: 4, "on": 3}}
)"},
    {Code::kRankSet, "invalid set of ranks",
     "Ranks are `all`, a number, a range `0..3`, the name of a set, a condition such as "
     "`rank % 2 == 0`, or a list of these.",
     R"( schema: 1
 ranks: 4
-actors: {a: {source: 4, "on": evens}}
+actors: {a: {source: 4, "on": rank % 2 == 0}}
)"},
    {Code::kRankCount, "number of ranks that does not fit",
     "`ranks` contradicts the schedule, the layout under `parallel`, or the hosts of the "
     "cluster. If one of these determines the number of ranks, leave out `ranks`.",
     R"( schema: 1
 ranks: 8
-schedule: {kind: gpipe, stages: 4, micro_batches: 4}
+schedule: {kind: gpipe, stages: 8, micro_batches: 8}
)"},
    {Code::kGroupLayout, "group that does not cover the ranks",
     "`size` times `stride` divides the number of ranks, and each rank is in one list of a "
     "group at most.",
     R"( schema: 1
 ranks: 4
-groups: {tp: {size: 3}}
+groups: {tp: {size: 2}}
 actors: {a: {source: 4}}
)"},
    {Code::kNotInGroup, "rank that is not in the group",
     "A collective, a send or a recv runs on the ranks of its group. Run it on these ranks "
     "only, or add the rank to the group.",
     R"( schema: 1
 ranks: 4
 groups: {pp: [[0, 1]]}
 programs:
-  "on": all
+  "on": [0, 1]
   do:
     - {all_reduce: pp, bytes: 1MiB}
)"},
    {Code::kUnknownHost, "unknown host, link or interface",
     "The `cluster` lists its hosts, links and interfaces.", ""},
    {Code::kNoLink, "ranks without a link",
     "Two ranks communicate that no link of the `cluster` joins. Add the link, or move the "
     "ranks.",
     ""},
    {Code::kNoCluster, "scenario without a cluster",
     "Links, ports, hosts and interfaces belong to a `cluster`, which the scenario lacks. "
     "`cluster: {}` is one host with all ranks.",
     ""},

    {Code::kNoCount, "number of runs that nothing determines",
     "The inputs of an actor determine how often it runs. An actor that waits for outside input "
     "needs the number of items, and a source states how often it runs: `source: 4`.",
     ""},
    {Code::kRates, "rates that do not balance",
     "An actor runs once per input, or `times` as often where its kind says so. Two of its inputs "
     "imply different numbers of runs, or a number that is not an integer.",
     R"( schema: 1
 actors:
   a: {source: 4}
-  b: {source: 3}
+  b: {source: 4}
   c: {reads: [a, b]}
)"},
    {Code::kControlAndData, "control register used as data, or the reverse",
     "A control register carries only order: list it under `after`. `reads` is for data.",
     R"( schema: 1
 actors:
   a: {source: 4, registers: {done: {control: on}}}
-  b: {source: 4, reads: [a.done]}
+  b: {source: 4, after: [a.done]}
)"},
    {Code::kNoProducer, "input without a producer",
     "An actor reads from a rank on which that actor does not exist.",
     R"( schema: 1
 ranks: 2
 actors:
   batch: {source: 4, "on": 0}
-  reader: {reads: [batch]}
+  reader: {reads: [{from: batch, rank: 0}]}
)"},
    {Code::kInPlace, "actor that cannot work in place",
     "Only an actor that produces one output per input can reuse the memory of its input.", ""},
    {Code::kThreadOrder, "thread with and without a program",
     "A host thread either runs a program or launches actors as their inputs arrive (`order: "
     "arrival`). It cannot do both.",
     R"( schema: 1
-threads: {main: {order: arrival}}
+threads: {main: {order: program}}
 programs: {do: [{compute: forward}]}
)"},
    {Code::kProgramCount, "program that runs an actor too often or too seldom",
     "The program of a thread must name each actor as often as the actor runs.", ""},
    {Code::kBlockCall, "invalid call of a block",
     "A block cannot call itself, and must use every value passed by `with`.",
     R"( schema: 1
 blocks: {step: [{compute: forward}]}
 programs:
   do:
-    - {call: step, with: {n: 2}}
+    - {call: step}
)"},
    {Code::kStoreKey, "event used as a key of the store, or the reverse",
     "`set` and `get` are for keys of the store, which all ranks share; `record`, `wait` and "
     "`await` are for events of streams.",
     R"( schema: 1
 programs:
   do:
     - {record: ready, stream: compute}
-    - {get: ready}
+    - {await: ready}
)"},
    {Code::kTwoStreams, "used on two streams",
     "A rank records an event on one stream, and waits for steps of other streams.",
     R"( schema: 1
 programs:
   do:
     - {record: ready, stream: compute}
-    - {record: ready, stream: comm}
+    - {record: done, stream: comm}
     - {await: ready}
+    - {await: done}
)"},
    {Code::kUseAfter, "unlocked or used when it is not held",
     "A communicator is used after `destroy`, or a lock is released by a thread that does "
     "not hold it. Reorder the steps.",
     R"( schema: 1
 programs:
   do:
-    - {unlock: gil}
     - {lock: gil}
+    - {unlock: gil}
)"},
    {Code::kNoTime, "collective that takes no time",
     "A warning: `bytes` of an actor is the size of its output. The time of a collective follows "
     "from the `bytes` of the collective itself.",
     R"( schema: 1
 ranks: 2
 cluster: {hosts: 1, devices: 2}
 groups: {dp: all}
 actors:
-  sum: {source: 1, bytes: 64MiB, collective: {all_reduce: dp}}
+  sum: {source: 1, bytes: 64MiB, collective: {all_reduce: dp, bytes: 64MiB}}
)"},

    {Code::kSignature, "tensor that cannot be split like this",
     "A signature says how a tensor lies over the data-parallel and the tensor-parallel "
     "ranks: two of S(axis), B and P. A split axis exists and is divisible by the number of "
     "ranks.",
     ""},
    {Code::kStages, "layers that do not fit the stages",
     "Each stage has at least one layer, stages follow each other as layers do, and lists "
     "with a value per stage have as many values as there are stages.",
     ""},
    {Code::kUnknownPass, "unknown pass", "`pipesim opt --list` lists the passes and their options.",
     R"(-$ pipesim opt job.yaml --passes canonicalise
+$ pipesim opt job.yaml --passes canonicalize
)"},
    {Code::kPassSyntax, "invalid list of passes",
     "Passes are separated by commas, and options follow the name of their pass: "
     "`insert-buffer=loss:to=buffer,canonicalize`.",
     R"(-$ pipesim opt job.yaml --passes ,canonicalize
+$ pipesim opt job.yaml --passes canonicalize
)"},
    {Code::kPassOption, "invalid option of a pass",
     "`pipesim opt --list` lists the options of every pass and the values they take.", ""},
    {Code::kPassOrder, "passes in the wrong order",
     "Passes that turn a model into tasks run once each, in a fixed order, and not on a "
     "graph that has its tasks already.",
     ""},
    {Code::kPassTarget, "pass that cannot do what it was asked",
     "What the pass should change does not exist, or is not of the kind it works on. Passes "
     "of your own report their errors with this code.",
     ""},
    {Code::kBrokenGraph, "task graph that breaks the rules",
     "A pass made a task graph that cannot exist; the verifier names the first violation. "
     "This is a bug of the pass that ran last.",
     ""},

    {Code::kScheduleShape, "schedule that does not fit its numbers",
     "Each kind of schedule constrains the number of ranks, stages, chunks and "
     "micro-batches. docs/reference/schedules.md has these rules.",
     R"( schema: 1
-schedule: {kind: interleaved_1f1b, stages: 7, chunks: 2, micro_batches: 8}
+schedule: {kind: interleaved_1f1b, stages: 8, chunks: 2, micro_batches: 8}
)"},
    {Code::kScheduleAction, "invalid action of a schedule",
     "Actions are written as in PyTorch's schedule files: `0F1` is the forward of stage 0 "
     "for micro-batch 1. docs/reference/schedules.md lists them.",
     R"( schema: 1
-schedule: {rows: ["0G0,0B0"]}
+schedule: {rows: ["0F0,0B0"]}
)"},
    {Code::kScheduleOrder, "schedule that is incomplete or out of order",
     "Every stage runs forward and backward once for each micro-batch, on its own rank, "
     "after what it needs on that rank.",
     R"( schema: 1
-schedule: {rows: ["0B0,0F0"]}
+schedule: {rows: ["0F0,0B0"]}
)"},

    {Code::kFault, "incomplete fault",
     "A fault says where it happens (`rank`, `link`, `port` or `communicator`), what "
     "happens, and when: at a time, or at an op such as `forward#3`.",
     R"( schema: 1
 ranks: 2
 actors: {a: {source: 4, takes: 1us}}
 faults:
-  - {rank: 1}
+  - {rank: 1, dies: segfault, at: 2us}
)"},
    {Code::kExpectation, "invalid expectation",
     "The bounds of an expectation must allow at least one value: `at_least`, `at_most` or both, "
     "or `about` and `within`. Ops in `order` either all name a rank or none does.",
     R"( schema: 1
 actors: {a: {source: 4, takes: 1us}}
-expect: {time: {about: 4us}}
+expect: {time: {about: 4us, within: 10%}}
)"},
    {Code::kUnmet, "expectation not met",
     "The scenario ran, and the result differs from `expect`. Either the change is a "
     "regression, or the expectation is to be updated: `pipesim test --update` does that for "
     "figures.",
     ""},

    {Code::kNotAPatch, "patch that does not apply to this scenario",
     "A patch begins with `patch: 1`, names the scenario it is for, and does not change "
     "`schema`.",
     ""},
    {Code::kPatchTarget, "patch that changes what is not there",
     "A patch can only change or remove what exists, add what does not exist yet (with `+`), and "
     "change each item of a list once.",
     ""},

    {Code::kNoEvidence, "no evidence found",
     "None of the files contains this kind of evidence. The file names of per-rank dumps and logs "
     "must end with the rank; "
     "docs/how-to/diagnose.md shows how to record each kind.",
     ""},
    {Code::kDump, "invalid Flight Recorder dump",
     "The file is not what PyTorch's Flight Recorder writes, or it was cut off while it was "
     "written. Set TORCH_FR_BUFFER_SIZE (before torch 2.9: TORCH_NCCL_TRACE_BUFFER_SIZE), and "
     "collect the dumps after the job has ended.",
     ""},
    {Code::kPickle, "invalid pickle",
     "The dump is not a complete pickle of plain data. A pickle that would import or call "
     "something is refused, and nothing is executed: do not load such a file with Python "
     "either.",
     ""},
    {Code::kDumpRank, "rank of a dump unknown or taken",
     "Each rank has one dump, and the rank is in its contents or at the end of its name, as "
     "in `dump_3`. Keep dumps of different jobs in different folders.",
     ""},
    {Code::kLogFormat, "invalid log",
     "The lines are not those of the log that was asked for: OneFlow's launch log, which "
     "`pipesim run --log` also writes, or a boxing log, which `pipesim opt --explain-boxing` "
     "prints.",
     ""},
    {Code::kPlanText, "invalid OneFlow plan",
     "The file is not the text form of a OneFlow plan, or a field has a value of the wrong "
     "type.",
     ""},
    {Code::kPlanTasks, "tasks of a plan that contradict each other",
     "Each register is produced by one task, and the tasks of a collective agree on their "
     "kind and stream. The plan is probably incomplete: import the files of all ranks "
     "together.",
     ""},
    {Code::kPlanTaskType, "unknown type of task in a plan",
     "A warning: the task is treated as an op that runs once per input.", ""},
    {Code::kRecordLine, "invalid file of a record",
     "A file of the folder that `pipesim record` writes was cut off, edited, or written by a newer "
     "version: docs/reference/record-format.md describes it. Record again.",
     ""},
    {Code::kRecordRanks, "incomplete or mixed record",
     "A record has record.json and one file per rank, rank0.jsonl and so on, in one folder. Copy "
     "the files of all machines there. Dumps of a job that completed are taken as a record if "
     "there is one of each rank.",
     ""},
    {Code::kNewGroupOrder, "new_group in different orders",
     "A warning: members of a group find each other through its number in the store, so ranks that "
     "create groups in different orders meet the wrong peers and hang. Create all groups in the "
     "same order on all ranks, members or not.",
     ""},
    {Code::kOtherLine, "collective that meets from different lines",
     "A warning: calls from different lines match in operation, size and type. Nothing hangs here, "
     "but values may get mixed up, and a rank that makes one call more or less gets stuck later, "
     "somewhere else.",
     ""},
    {Code::kSplits, "splits of all_to_all that disagree",
     "A warning: `output_split_sizes` of a rank must be what the others have for it in "
     "`input_split_sizes`. Exchange the sizes first.",
     ""},
    {Code::kContradiction, "input that contradicts itself",
     "The file is well-formed, and a scenario made from it is not valid: for example, a rank sends "
     "in a group that it does not belong to. Look for the line that the message names; nothing was "
     "written.",
     ""},

    {Code::kGoalSyntax, "invalid GOAL file",
     "docs/reference/goal.md has the grammar. Ops must be inside `rank N { ... }`.", ""},
    {Code::kGoalRank, "invalid rank in a GOAL file",
     "`num_ranks` comes first and once; ranks count from 0, and each has one block.", ""},
    {Code::kGoalLabel, "unknown or duplicate label in a GOAL file",
     "A label is defined once in its rank, above the lines that require it.", ""},
    {Code::kGoalUnmatched, "message that no recv takes",
     "A warning: a send of the GOAL file has no recv with its source, tag and size.", ""},

    {Code::kOwnFile, "invalid file of pipesim",
     "The file is not the kind that was asked for (a report, an order, runs of a sweep), "
     "or it was cut off or edited. Write it again.",
     ""},
    {Code::kOtherRun, "file of another run",
     "The file belongs to another scenario, other settings or another sweep. Use those it "
     "was written with, or name another file.",
     ""},
    {Code::kShards, "shards that do not make up a sweep",
     "`--merge` needs the outputs of all shards of one sweep, each once and finished.", ""},

    {Code::kNothingToDo, "nothing to do",
     "The command is valid, but there is nothing in the input that it applies to: no scenarios, no "
     "test of that name, no schedule, no memory sizes.",
     R"(-$ pipesim diff job.yaml
)"},
    {Code::kEngine, "engine that cannot run this",
     "`--engine sweep` can only run scenarios that complete and have no faults or timeouts, and "
     "`--until` needs an op that is reached. Leave out `--engine` to let pipesim choose.",
     ""},
    {Code::kCannotReduce, "nothing to reduce",
     "`pipesim reduce` needs a scenario that hangs. `pipesim check` looks for an "
     "interleaving that does.",
     R"(-$ pipesim reduce job.yaml
)"},
    {Code::kPictureFormat, "unknown picture format",
     "The extension of the file selects the format: .svg, .png, .pdf or .dot.",
     R"(-$ pipesim draw job.yaml -o picture.jpeg
)"},
    {Code::kPictureSize, "picture too large",
     "Draw some of the ranks (`--ranks 0..3`), or fewer stages or micro-batches (`--set`).", ""},
    {Code::kGraphviz, "Graphviz failed",
     "PNG and PDF files are made by Graphviz's program `dot`: install Graphviz, so that `dot` is "
     "in "
     "PATH. `.svg` files need no other program, and `.dot` files no layout. Other messages are "
     "Graphviz's own.",
     ""},

    {Code::kUnknownCommand, "unknown command or topic", "`pipesim help` lists the commands.",
     R"(-$ pipesim simulate job.yaml
+$ pipesim run job.yaml
)"},
    {Code::kUnknownOption, "unknown option",
     "`pipesim COMMAND --help` lists the options of a command. They cannot be abbreviated.",
     R"(-$ pipesim run job.yaml --jiter 10%
+$ pipesim run job.yaml --jitter 10%
)"},
    {Code::kArguments, "wrong number of arguments",
     "The command needs a file, a kind or a name that is missing, or was given too many.",
     R"(-$ pipesim run
+$ pipesim run job.yaml
)"},
    {Code::kOptionValue, "invalid value of an option",
     "The option needs a value, takes none, or takes other values; the help lists them.",
     R"(-$ pipesim run job.yaml --engine quick
+$ pipesim run job.yaml --engine auto
)"},
    {Code::kOptionConflict, "options that cannot be used together",
     "The options contradict each other or both print to standard output, or the option is "
     "not for this kind of file.",
     R"(-$ pipesim run job.yaml --loggops L=1000
)"},
    {Code::kOptionNeeds, "option that needs another",
     "The option needs another one, which the message names.",
     R"(-$ pipesim draw job.yaml
)"},
    {Code::kStandardStreams, "standard input or output used twice",
     "Only one input can be `-`, and only one output can go to standard output. Give the "
     "others files. This is also reported where standard output cannot be written.",
     R"(-$ pipesim run - --patch -
)"},

    {Code::kFile, "file that cannot be read or written",
     "The reason is that of the operating system. The exit status is 74.",
     R"(-$ pipesim run missing.yaml
)"},
    {Code::kFileExists, "file that already exists",
     "`pipesim new` overwrites nothing: name another file. The exit status is 74.", ""},
    {Code::kMemory, "out of memory",
     "This machine has too little memory for the run. The exit status is 3.", ""},

    {Code::kAlgorithmSyntax, "not an algorithm file",
     "`pipesim verify` reads MSCCL's XML and MSCCL++'s execution plans (JSON); this file is "
     "neither, "
     "or it is cut off. docs/reference/algorithms.md describes both.",
     ""},
    {Code::kAlgorithm, "invalid collective algorithm",
     "The file is XML or JSON, but the algorithm in it is not one that the runtime would load; the "
     "help line says whether RCCL or MSCCL++ refuses the file or ignores it without a message.",
     ""},
    {Code::kAlgorithmIgnored, "part of an algorithm that the runtime ignores",
     "A warning: the runtime loads the file, but this part of it has no effect there, or a "
     "different effect than it seems.",
     ""},
});

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::span<const CodeInfo> all_codes() { return kCodes; }

std::string code_id(Code code) {
  const std::string digits = std::to_string(static_cast<unsigned>(code));
  return "E" + std::string(4 - std::min<std::size_t>(4, digits.size()), '0') + digits;
}

std::string code_help(Code code) { return "see 'pipesim help " + code_id(code) + "'"; }

std::string_view code_topic(Code code) {
  return kTopics.at(static_cast<std::size_t>(code) / 100 - 1);
}

const CodeInfo* find_code(std::string_view id) {
  std::string wanted(id);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), upper);
  const auto* const found = std::find_if(kCodes.begin(), kCodes.end(), [&](const CodeInfo& info) {
    return code_id(info.code) == wanted;
  });
  return found == kCodes.end() ? nullptr : found;
}

}  // namespace pipesim::models
