"""No output contains control characters from input text that a terminal, a page or an editor would
obey.

    control_characters_test.py PROGRAM

The test appends ESC, U+009B (CSI), U+202E (right-to-left override) and U+2066 to each word of each
sample, one word at a time and all of them at once. It searches everything that the commands print
and write for these characters.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
HOSTILE = "\x1b\x9b\u202e\u2066"
WORD = re.compile(r"[A-Za-z_]{3,}")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

FILES = ["--dot", "o.dot", "--draw", "o.svg", "--html", "o.html", "--as-scenario", "o.yaml"]
SCENARIO = r"""schema: 1
name: two words
ranks: 2
groups: {dp: all}
programs:
  - do:
      - {send: dp, to: 1 - rank, bytes: 8B, at: "train.py:8 step"}
      - {recv: dp, from: 1 - rank, bytes: 8B, at: "train.py:9 step"}
"""
BOXING = """src_op_name,dst_op_name,src_parallel_desc,dst_parallel_desc,src_nd_sbp,dst_nd_sbp,lbi,dtype,shape,builder,comment
embed,norm,(0:0-1),(0:0-1),(B),(P),embed/out,float,(1),NaiveBToPSubTskGphBuilder,-
"""
GOAL = """num_ranks 2
rank 0 {
first: recv 8b from 1 tag 1
}
rank 1 {
second: calc 100
}
"""
PYSPY = json.dumps([
    {"pid": 41, "thread_name": "MainThread", "thread_id": 1, "active": True, "owns_gil": False,
     "process_info": {"pid": 41, "command_line": "python train.py", "parent": None},
     "frames": [{"name": "all_reduce", "filename": "distributed_c10d.py", "line": 7},
                {"name": "step", "filename": "train.py", "line": 9}]}
])


def diagnose(kind, name):
    return [["diagnose", kind, name, "--all", "--why", *FILES], ["diagnose", kind, name, "--json"]]


def scenario(name):
    return [
        ["run", name, "--all", "--dot", "o.dot", "--html", "o.html", "--trace", "o.json"],
        ["run", name, "--json"], ["check", name], ["check", name, "--json"], ["lint", name],
        ["draw", name, "--what", "wait-for", "-o", "o.svg"],
        ["draw", name, "--what", "timeline", "-o", "o.svg"], ["reduce", name, "-o", "o.yaml"],
    ]


# Per sample: the folder copied from tests/golden, or the text to write, and the commands.
SAMPLES = {
    "dumps": ("diagnose_cycle/dumps", diagnose("flight-recorder", "in")),
    "dumps as a program": ("check_dumps/job", [["check", "in"], ["run", "in"], ["import", "record", "in"]]),
    "evidence of several kinds": ("diagnose_folder/evidence", [["diagnose", "in", "--all", "--why", *FILES]]),
    "RAS": ("diagnose_folder/evidence/ras.txt", diagnose("ras", "in")),
    "a log of NCCL": ("diagnose_nccl_log/job.log", diagnose("nccl-log", "in")),
    "logs of launches": ("diagnose_logs/logs", diagnose("oneflow", "in") + [["diagnose", "oneflow", "in", "--group", "0-1"]]),
    "stacks": ("diagnose_stacks/srun.txt", diagnose("stacks", "in")),
    "stacks in JSON": (PYSPY, diagnose("stacks", "in")),
    "a boxing log": (BOXING, [["diagnose", "boxing", "in"], ["diagnose", "boxing", "in", "--json"]]),
    "a plan of OneFlow": ("import_plan/job_step_plan", [["import", "oneflow-plan", "in"]]),
    "a record": ("compare_record/record", [["check", "in"], ["run", "in", "--html", "o.html"], ["import", "record", "in"], ["lint", "in"]]),
    "a record and dumps": ("compare_record", [["compare", "in/early", "in/record"], ["compare", "in/later", "in/early"]]),
    "an algorithm": ("verify_samples/race.xml", [["verify", "in"], ["verify", "in", "--json"]]),
    "a plan of MSCCL++": ("verify_plan/both_wait_first.json", [["verify", "in"], ["verify", "in", "--json"]]),
    "GOAL": (GOAL, [["run", "in.goal", "--html", "o.html", "--dot", "o.dot"], ["run", "in.goal", "--json"]]),
    "a scenario": (SCENARIO, scenario("in")),
}


def texts_in(value, change):
    if isinstance(value, dict):
        return {key: texts_in(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [texts_in(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def hostile(text, words):
    """Returns `text` with HOSTILE after each of these words: escaped in YAML and JSON, and in JSON
    only within strings."""
    change = lambda part: WORD.sub(lambda m: m[0] + HOSTILE if m[0] in words else m[0], part)
    try:
        lines = [text] if text.lstrip().startswith("[") else text.splitlines()
        parsed = [json.loads(text)] if len(lines) == 1 or text.startswith("{\n") else [json.loads(line) for line in lines]
        return "\n".join(json.dumps(texts_in(value, change)) for value in parsed)
    except json.JSONDecodeError:
        pass
    if not text.startswith("schema:"):
        return change(text)
    quoted = lambda m: json.dumps(json.loads(change(json.dumps(json.loads(m[0]))), strict=False))
    return re.sub(r'"[^"]*"', quoted, text)


class ControlCharacters(unittest.TestCase):
    maxDiff = 1000

    def read_sample(self, source):
        if "\n" in source or source.startswith("["):
            return {"": source}
        path = GOLDEN / source
        if path.is_file():
            return {"": path.read_text()}
        return {
            str(file.relative_to(path)): file.read_text()
            for file in sorted(path.rglob("*"))
            if file.is_file() and file.name not in ("stdout", "exit", "commands") and file.read_bytes()[0] < 0x80
        }

    def run_on(self, files, words, commands):
        """Returns the number of commands that printed a changed word."""
        shown = 0
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                for top in (["in", "in.goal"] if name == "" else ["in"]):
                    path = pathlib.Path(folder, top, name) if name else pathlib.Path(folder, top)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(hostile(text, words))
            for command in commands:
                run = subprocess.run([PROGRAM, *command], cwd=folder, capture_output=True, check=False)
                self.assertIn(run.returncode, (0, 1, 2, 3), (command, words, run.stderr))
                outputs = {"stdout": run.stdout, "stderr": run.stderr}
                for file in pathlib.Path(folder).glob("o.*"):
                    outputs[file.name] = file.read_bytes()
                    file.unlink()
                for name, output in outputs.items():
                    text = output.decode(errors="replace")
                    if name == "o.dot":
                        text = text.replace("\t", "")
                    found = CONTROLS.search(text)
                    where = text[max(0, found.start() - 60):found.end() + 20] if found else ""
                    self.assertIsNone(found, (command, sorted(words)[:3], name, where))
                    shown += any(word + "?" in text for word in words)
        return shown

    def test_every_kind(self):
        for name, (source, commands) in SAMPLES.items():
            with self.subTest(name):
                files = self.read_sample(source)
                words = sorted({word for text in files.values() for word in WORD.findall(text)})
                shown = self.run_on(files, set(words), commands)
                for word in words:
                    shown += self.run_on(files, {word}, commands)
                # A sample is useless if no output contains any of its words.
                self.assertGreater(shown, 0)


if __name__ == "__main__":
    unittest.main()
