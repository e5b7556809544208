"""Gathers inputs for the fuzz targets from existing files of the repository.

    tests/fuzz/corpus.py FOLDER

Makes FOLDER/TARGET/NAME for each target: sample files, and every string in the tests of a reader,
because these tests contain the odd cases. Also makes FOLDER/scenario.dict, the keys of the scenario
format. Nothing is kept in the repository.
"""

import ast
import glob
import hashlib
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "golden"))
import cases  # noqa: E402

SCENARIOS = ["scenarios/*.yaml", "data/new/*.yaml", "tests/golden/*/*.yaml", "tests/consumer/*.yaml"]
SCENARIO_TESTS = [
    "tests/unit/formats/**/*_reader_test.cpp",
    "tests/unit/formats/**/*_writer_test.cpp",
    "tests/unit/models/**/*_test.cpp",
    "tests/unit/app/**/*_test.cpp",
    "tests/unit/features/**/*_test.cpp",
    "tests/scenarios/*_test.cpp",
    "docs/**/*.md",
]

# For each target: files that are inputs, and C++ files whose literals are inputs. The inputs in the
# golden case NAME.test also count as files of the folder NAME.
SOURCES = {
    "scenario": (SCENARIOS, SCENARIO_TESTS + ["tests/unit/formats/document/patch_test.cpp"]),
    "plan": (SCENARIOS, SCENARIO_TESTS),
    "run": (SCENARIOS, SCENARIO_TESTS),
    "explain": (SCENARIOS, SCENARIO_TESTS),
    "reduce": (SCENARIOS, SCENARIO_TESTS),
    "draw": (SCENARIOS, SCENARIO_TESTS),
    "write": (SCENARIOS, SCENARIO_TESTS),
    "expression": ([], ["tests/unit/formats/document/expression*_test.cpp", "tests/unit/models/graph/expr_test.cpp"]),
    "query": ([], ["tests/unit/app/**/*_test.cpp", "tests/unit/models/result/jitter_test.cpp",
                   "tests/unit/models/layers/passes_test.cpp",
                   "tests/unit/features/sweep/parameter_sweep_test.cpp"]),
    "schedule": (["tests/golden/*/*.csv"], ["tests/unit/formats/**/schedule_*_test.cpp",
                                            "tests/unit/models/schedules/schedule_lowering_test.cpp",
                                            "docs/reference/schedules.md"]),
    "goal": (["tests/golden/*/*.goal"], ["tests/unit/features/goal/goal_reader_test.cpp",
                                         "tests/unit/features/goal/goal_command_test.cpp", "docs/reference/goal.md",
                                         "tests/scenarios/goal_test.cpp"]),
    "algorithm": (["tests/golden/verify_*/*.xml", "tests/golden/verify_*/*.json",
                   "tests/golden/errors_in_algorithms/*/*.xml",
                   "tests/golden/errors_in_algorithms/*/*.json"],
                  ["tests/unit/features/algorithm/algorithm_file_test.cpp",
                   "tests/unit/features/algorithm/verify_algorithm_test.cpp"]),
    "plan_dump": (["tests/golden/*/job_step_plan"], ["tests/unit/features/oneflow/oneflow_*_test.cpp",
                                                     "tests/unit/features/oneflow/text_proto_test.cpp"]),
    "order": ([], ["tests/unit/formats/scenario/order_file_test.cpp"]),
    "sweep": ([], ["tests/unit/features/sweep/sweep_file_test.cpp"]),
    "report": ([], ["tests/unit/features/diff/report_file_test.cpp"]),
    "record": (["tests/golden/*record*/*/*.json*"], ["tests/unit/features/record/*_test.cpp"]),
    "flight_recorder": (["tests/golden/*/dumps/*", "tests/golden/*/*/trace_rank_*"],
                        ["tests/unit/features/diagnose/flight_recorder_file_test.cpp",
                         "tests/unit/features/diagnose/pickle_test.cpp",
                         "tests/unit/features/diagnose/diagnose_command_test.cpp"]),
    "pickle": (["tests/golden/*/dumps/*"], ["tests/unit/features/diagnose/pickle_test.cpp"]),
    "nccl_log": (["tests/golden/*/*.log"], ["tests/unit/features/diagnose/nccl_*_reader_test.cpp"]),
    "ras": ([], ["tests/unit/features/diagnose/ras_reader_test.cpp"]),
    "facts": ([], ["tests/unit/features/diagnose/facts_reader_test.cpp"]),
    "launch_log": (["tests/golden/*/logs/*.log"], ["tests/unit/features/diagnose/launch_log_reader_test.cpp"]),
    "stacks": (["tests/golden/*stacks*/*.txt"],
               ["tests/unit/features/diagnose/stack_reader_test.cpp"]),
    "boxing": (["tests/golden/*/*.csv"], ["tests/unit/features/diagnose/boxing_reader_test.cpp"]),
}

# Inputs, by target, in formats that no file of the repository has.
WRITTEN = {
    "order": ['{"pipesim_order": 1, "scenario": "x", "settings": [["acc", "4"]], "count": 2,\n'
              ' "steps": [\n  {"event": "thread wakes", "id": 3, "what": "rank 0: a#1"},\n'
              '  {"event": "op ends", "id": 7, "what": ""}\n]}\n'],
    "query": ["12ms", "rank0:all_gather#3", "rank 0 all_gather#3", "10%", "free", "acc=1..9:2",
              "3/64", "canonicalize,set-slots=Repeat:slots=4:register=ctrl"],
}

TEXT = re.compile(r'R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"', re.DOTALL)
LONGEST = 64 << 10


def unescaped(text):
    """Returns the bytes of a C++ literal."""
    try:
        return ast.literal_eval('b"' + text.encode("unicode_escape").decode().replace("\\\\", "\\") + '"')
    except (SyntaxError, ValueError):
        return text.encode()


def examples_in(page):
    """Returns the code blocks of a Markdown page."""
    return [block.encode() for block in re.findall(r"^```\w*\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]


def texts_in(source):
    """Returns the literals of C++ source; adjacent literals are joined."""
    result, end = [], -1
    for found in TEXT.finditer(source):
        raw = found.group("raw")
        piece = raw.encode() if raw is not None else unescaped(found.group("text"))
        if result and not source[end:found.start()].strip():
            result[-1] += piece
        else:
            result.append(piece)
        end = found.end()
    return result


def files_of(patterns):
    return sorted(path for pattern in patterns for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))


def samples_of(pattern):
    """Yields the folder and the bytes of each sample."""
    for path in files_of([pattern]):
        with open(path, "rb") as file:
            yield os.path.dirname(path), file.read()
    golden = "tests/golden/"
    if pattern.startswith(golden):
        for case, name, text in cases.inputs(pattern[len(golden):]):
            yield os.path.dirname(golden + case + "/" + name), text


def reports():
    """Returns the JSON reports of the golden cases."""
    parts = [part for path in cases.FOLDER.glob("*.test") for part in cases.read_case(path)[1]]
    outputs = [part.stdout for part in parts if isinstance(part, cases.Command)]
    return [text.encode() for text in outputs if text[:1] == "{"]


def inputs_of(target):
    samples, tests = SOURCES[target]
    inputs, by_folder = reports() if target == "report" else [], {}
    for pattern in samples:
        for folder, text in samples_of(pattern):
            inputs.append(text)
            by_folder.setdefault(folder, []).append(text)
    # Files of one folder often belong to one job: the dumps of its ranks, or a scenario and its
    # patches.
    inputs += [b"\n%%%\n".join(all) for all in by_folder.values() if len(all) > 1]
    for path in files_of(tests):
        with open(path, encoding="utf-8") as file:
            inputs += (examples_in if path.endswith(".md") else texts_in)(file.read())
    inputs += [text.encode() for text in WRITTEN.get(target, [])]
    if target in ("scenario", "plan", "run", "explain", "reduce", "draw", "write"):
        inputs = [text for text in inputs if b":" in text]
    return [text for text in inputs if 0 < len(text) <= LONGEST]


def main(folder):
    os.chdir(os.path.join(HERE, "..", ".."))
    for target in SOURCES:
        place = os.path.join(folder, target)
        os.makedirs(place, exist_ok=True)
        for text in inputs_of(target):
            with open(os.path.join(place, hashlib.sha256(text).hexdigest()[:16]), "wb") as file:
                file.write(text)
    names = set()
    for table in glob.glob("formats/scenario/*keys.cpp"):  # keys, and words in their types
        with open(table, encoding="utf-8") as file:
            for row in re.findall(r'^    \{"(\w+)",\s*"([^"]*)"', file.read(), re.M):
                names |= {row[0], *re.findall(r"'([^']+)'", row[1])}
    if not names:
        sys.exit("no keys were found for the dictionary: where are the tables?")
    with open(os.path.join(folder, "scenario.dict"), "w", encoding="utf-8") as file:
        for name in sorted(names):
            if re.fullmatch(r"[\w -]+", name):
                file.write('"%s"\n' % name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))
