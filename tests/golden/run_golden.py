"""Runs one golden case and compares what the program says with what the case expects.

    run_golden.py PROGRAM CASE

A case is a folder with `args` (one argument per line; the program runs in the folder) and any of
`stdout`, `stderr`, `exit`, `graph.dot` (a file that the run writes as out.dot): a file's presence is
the expectation. Without `exit`, 0 is expected; without `stderr`, silence.
PIPESIM_UPDATE_GOLDEN=1 writes what was found into the files that are there; read the diff.
"""

import difflib
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    program, case = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    args = (case / "args").read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as work:
        dot = pathlib.Path(work) / "out.dot"
        args = [arg.replace("OUT.dot", str(dot)) for arg in args]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        for name, value in os.environ.items():  # those of the sanitizers
            if name.endswith("SAN_OPTIONS"):
                environment[name] = value
        run = subprocess.run(
            [program, *args], cwd=case, stdin=subprocess.DEVNULL, capture_output=True,
            env=environment, check=False,
        )
        found = {"stdout": run.stdout, "stderr": run.stderr, "exit": b"%d\n" % run.returncode}
        found["graph.dot"] = dot.read_bytes() if dot.exists() else b""
    defaults = {"exit": b"0\n", "stderr": b""}
    differs = False
    for name, text in found.items():
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
