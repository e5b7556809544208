"""Runs one golden case and compares the program's output with the expectation.

    run_golden.py PROGRAM CASE

A case is a folder with `args` (one argument per line; the program runs in the folder) and any of
`stdout`, `stderr`, `exit` and `graph.dot` (a file that the run writes as out.dot). A file's
presence is the expectation. Without `exit`, the exit status must be 0; without `stderr`, standard
error must be empty.

Instead of `args`, a case can have `commands`: one command line per line, as a shell reads it,
optionally preceded by NAME=VALUE for the environment. OUT is a folder for output files, and VERSION
is the program's version. `stdout` and `stderr` then have the output of all commands, each below its
command line, and all commands must end with `exit`. PIPESIM_UPDATE_GOLDEN=1 writes the actual
output into the existing files; read the diff.
"""

import difflib
import functools
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def run(program, case, args, given):
    """Returns (stdout, stderr, exit) of one command line."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    for name, value in os.environ.items():  # sanitizer options
        if name.endswith("SAN_OPTIONS"):
            environment[name] = value
    run = subprocess.run(
        [program, *args], cwd=case, stdin=subprocess.DEVNULL, capture_output=True,
        env=environment | given, check=False,
    )
    return run.stdout, run.stderr, b"%d\n" % run.returncode


def run_commands(program, case, work):
    """Returns (stdout, stderr, exit) of all lines of `commands`. If the exit statuses of the lines
    differ, `exit` is all of them, joined.
    """
    stdout, stderr, exits = b"", b"", []
    version = run(program, case, ["--version"], {})[0].splitlines()[0].split()[-1]
    for line in (case / "commands").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        words = shlex.split(line)
        given = dict(itertools.takewhile(lambda word: len(word) == 2, (w.split("=") for w in words)))
        args = [re.sub(r"\bOUT\b", work, word) for word in words[len(given) :]]
        out, err, code = run(program, case, args, given)
        command = line.index(words[len(given)])
        header = f"$ {line[:command]}pipesim {line[command:]}\n".encode()
        names = ((os.fsencode(work), b"OUT"), (version, b"VERSION"))
        out, err = (functools.reduce(lambda t, n: t.replace(*n), names, text) for text in (out, err))
        stdout += header + out if out else b""
        stderr += header + err if err else b""
        exits.append(code)
    return stdout, stderr, exits[0] if len(set(exits)) == 1 else b"".join(exits)


def main():
    program, case = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as work:
        dot = pathlib.Path(work) / "out.dot"
        if (case / "commands").exists():
            stdout, stderr, code = run_commands(program, case, work)
        else:
            args = (case / "args").read_text(encoding="utf-8").splitlines()
            args = [arg.replace("OUT.dot", str(dot)) for arg in args]
            stdout, stderr, code = run(program, case, args, {})
        found = {"stdout": stdout, "stderr": stderr, "exit": code}
        found["graph.dot"] = dot.read_bytes() if dot.exists() else b""
    defaults = {"exit": b"0\n", "stderr": b""}
    differs = False
    for name, text in found.items():
        # Hides the version in the command that made a report.
        text = re.sub(rb"pipesim \d[\w.+-]*:", b"pipesim VERSION:", text)
        path = case / name
        if not path.exists() and name not in defaults:
            continue
        if os.environ.get("PIPESIM_UPDATE_GOLDEN") == "1" and path.exists():
            path.write_bytes(text)
            continue
        expected = path.read_bytes() if path.exists() else defaults[name]
        if expected == text:
            continue
        differs = True
        sys.stdout.writelines(
            difflib.unified_diff(
                expected.decode("utf-8", "replace").splitlines(keepends=True),
                text.decode("utf-8", "replace").splitlines(keepends=True),
                f"{path} (expected)", f"{name} (found)",
            )
        )
    sys.exit(1 if differs else 0)


if __name__ == "__main__":
    main()
