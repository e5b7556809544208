"""Input that is too large or broken, or a full disk, gives a message and an exit code
(docs/reference/limits.md).

    limits_test.py PROGRAM

The test generates inputs that are just large enough. It limits memory, so that a reader that keeps
all its input fails.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
SWIN = os.path.abspath("scenarios/swin_2x2x2.yaml")
DUMPS = os.path.abspath("tests/golden/diagnose_cycle/dumps")
# The sanitizers of the preset asan reserve terabytes of addresses, so memory is not limited then.
MOST_MEMORY = 4 << 30 if b"__asan_init" not in open(PROGRAM, "rb").read() else resource.RLIM_INFINITY


def limited(most_bytes=None):
    """Returns the function that a process runs before it becomes the program."""

    def apply():
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return apply


class Limits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def run_it(self, *arguments, most_bytes=None, **options):
        return subprocess.run(
            [PROGRAM, *arguments],
            capture_output="stdout" not in options,
            stderr=subprocess.PIPE if "stdout" in options else None,
            cwd=self.folder.name,
            timeout=250,
            check=False,
            preexec_fn=limited(most_bytes),
            **options,
        )

    def check_refused(self, message, *arguments, code=2, **options):
        run = self.run_it(*arguments, **options)
        self.assertIn(message, run.stderr.decode(errors="replace")[:2000])
        self.assertEqual(run.returncode, code)

    def scenario_refused(self, message, content):
        self.check_refused(message, "run", self.write("scenario.yaml", content))

    # ---- Scenarios

    def test_nesting(self):
        deep = "schema: 1\nactors: " + "[" * 100_000
        self.scenario_refused("error[E0107]: nested more than 100 deep", deep)
        self.scenario_refused("nested more than 100 deep", "- " * 100_000)
        self.scenario_refused("error[E0107]: nested more than 100 deep", "schema: 1\nactors: " + "[" * 20_000_000)
        self.scenario_refused("error[E0107]: nested more than 100 deep", "a: " + "{b: " * 5_000_000)
        # Closed brackets, and brackets in strings, do not count.
        text = "schema: 1\nabout: |\n  %s\nactors: {a: {source: 1, about: '%s'}}\n" % ("[" * 5000, "[]" * 20_000)
        self.assertEqual(self.run_it("run", self.write("good.yaml", text)).returncode, 0)

    def test_nesting_of_json(self):
        deep, message = "[" * 1_000_000, "nested more than 100 deep"
        for head, *arguments in (
            ("", "diagnose", "flight-recorder", "in_0"),
            ('{"name": ', "verify", "in_0"),
            ('{"fingerprint": ', "diff", SWIN, "in_0"),
            ('{"pipesim_order": 1, "x": ', "run", SWIN, "--replay", "in_0"),
            ('{"pipesim_sweep": 2, "x": ', "sweep", "--merge", "in_0"),
        ):
            with self.subTest(arguments):
                self.write("in_0", head + deep + "\n")
                self.check_refused(message, *arguments)
        os.mkdir(self.path("record"))
        self.write("record/record.json", '{"record": 1, "world": 1}')
        self.write("record/rank0.jsonl", '{"record": 1, "rank": 0, "world": 1}\n{"call": ' + deep)
        self.check_refused("rank0.jsonl:2:109: error[E0107]: " + message, "check", "record")
        # Brackets in strings do not count.
        self.write("record/record.json", '{"record": 1, "world": 1, "torch": "%s\\"{"}' % ("[" * 1000))
        self.write("record/rank0.jsonl", '{"record": 1, "rank": 0, "world": 1}\n{"end": "finished"}')
        self.assertEqual(self.run_it("check", "record").returncode, 0)

    def test_many_changes(self):
        # The program must not compare each change with all earlier ones, which takes more than a
        # minute.
        new = "".join("  +a%d: {source: 1}\n" % i for i in range(100_000))
        patch = self.write("patch.yaml", "patch: 1\nactors:\n" + new + "  a: ~\n  +a: {source: 2}\n")
        scenario = self.write("scenario.yaml", "schema: 1\nactors: {a: {source: 1}}\n")
        self.assertEqual(self.run_it("run", scenario, "--patch", patch, "--params").returncode, 0)

    def test_aliases_that_explode(self):
        text = "schema: 1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for i in range(1, 12):
            text += "a%d: &a%d [%s]\n" % (i, i, ", ".join(["*a%d" % (i - 1)] * 10))
        self.scenario_refused("aliases of this file expand to more than 1000", text)

    def test_texts_that_aliases_stand_for(self):
        text = "schema: 1\nname: &x %s\nprograms:\n  do:\n" % ("A" * 4000) + "    - {compute: *x, takes: 1us}\n" * 100_000
        self.scenario_refused("bytes of text", text)
        self.assertIn(b"write out what this alias stands for", self.run_it("run", self.write("x.yaml", text)).stderr)

    def test_names(self):
        name = "x" * (1 << 20)
        self.scenario_refused(
            "2:7: error[E0106]: a name can have at most 4096 bytes, found 1048576",
            "schema: 1\nname: %s\nactors: {a: {source: 1}}\n" % name)
        self.scenario_refused(
            "1:1: error[E0202]: a scenario needs",
            "schema: 1\nname: %s\n" % ("x" * 4096))
        self.scenario_refused(
            "a name cannot contain line breaks", b"schema: 1\nname: a\0b\nactors: {a: {source: 1}}\n")

    def test_broken_utf8(self):
        for broken in (b"\xff", b"\xc3(", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"):
            text = b"schema: 1\nname: \xc3\xa4" + broken + b"\nactors: {a: {source: 1}}\n"
            self.scenario_refused("scenario.yaml:2:8: error[E0102]: invalid UTF-8", text)
        good = "schema: 1\nname: \u00e4\u20ac\U0001f600\nactors: {a: {source: 1}}\n"
        self.assertEqual(self.run_it("run", self.write("good.yaml", good)).returncode, 0)
        wide = "schema: 1\nname: \u00e4\nactors: {a: {source: 1}}\n".encode("utf-16")
        self.assertEqual(self.run_it("run", self.write("wide.yaml", wide)).returncode, 0)

    def test_numbers_out_of_range(self):
        scenario = "schema: 1\nactors:\n  a: {source: %s, takes: %s}\n"
        self.scenario_refused("3:15: error[E0304]: number out of range", scenario % ("9" * 30, "1us"))
        self.scenario_refused("but must be at most 4294967294", scenario % (5_000_000_000, "1us"))
        self.scenario_refused("but must be at least 0", scenario % (-4, "1us"))
        self.scenario_refused("number out of range", scenario % (1, "99999999999s"))
        self.scenario_refused("'ranks' must be between 1 and 1048576", "schema: 1\nranks: 10000000\n")

    def test_times_that_overflow(self):
        end = "schema: 1\nactors:\n  a: {source: 4, takes: 9223372036854775807ns}\n"
        run = self.run_it("run", self.write("scenario.yaml", end))
        self.assertIn(b"LIMIT (end of simulated time)", run.stdout)
        self.assertEqual(run.returncode, 3)

    def test_many_actors(self):
        ranks = "schema: 1\nranks: 1000000\nactors:\n"
        actors = "".join("  a%d: {source: 1}\n" % i for i in range(11))
        self.scenario_refused(
            "up to 'a10' the actors and steps come to more than 10000000 on all ranks", ranks + actors)
        many = "".join("  a%d: {source: 1}\n" % i for i in range(102))
        self.scenario_refused("104:3: error[E0107]: more than 100000000 ranks up to here",
                              ranks + many)
        groups = "".join("  g%d: all\n" % i for i in range(1000))
        self.scenario_refused("more than 100000000 ranks up to here",
                              "schema: 1\nranks: 1000000\ngroups:\n%sactors: {a: {source: 1}}\n" % groups)

        pairs = "schema: 1\nranks: 100000\ngroups: {g: all}\n" \
            "actors: {a: {source: 1}, b: {reads: [{from: a, each: g}]}}\n"
        self.scenario_refused("4:38: error[E0107]: up to this one the reads come to more than 50000000 on all ranks",
                              pairs)

    def test_many_parameters(self):
        parameters = "".join("  p%d: 1\n" % i for i in range(10001))
        self.scenario_refused("a scenario has at most 10000 parameters",
                              "schema: 1\nparams:\n%sactors: {a: {source: 1}}\n" % parameters)

    def test_many_stages(self):
        schedule = "schema: 1\nschedule: {kind: gpipe, stages: %d, micro_batches: %d, forward: 1us}\n"
        self.scenario_refused("2:33: error[E0205]: 'stages' must be between 1 and 16384, found 16385", schedule % (16385, 1))
        self.scenario_refused("a schedule can have at most 40000000 forwards and backwards",
                              schedule % (8000, 60000))

    def test_a_model_with_many_tasks(self):
        self.scenario_refused(
            "the tasks of this model come to more than 10000000 on all ranks",
            "schema: 1\nparallel: {data: 1000000}\nmodel:\n  input: {shape: [1000000]}\n  layers:\n"
            "    - {name: b, count: 100, ops: {x: {takes: 1us}}}\n")
        self.scenario_refused(
            "6:7: error[E0107]: the model has more than 20000 ops up to layer 'b20000'",
            "schema: 1\nparallel: {data: 2}\nmodel:\n  input: {shape: [1000000]}\n  layers:\n"
            "    - {name: b, count: 60000, ops: {x: {takes: 1us}}}\n")

    # ---- Inputs that are not files or never end

    def test_endless_input(self):
        self.check_refused("/dev/zero: error[E0107]: a scenario can have at most 128 MiB", "run", "/dev/zero")
        with open("/dev/zero", "rb") as zero:
            self.check_refused("standard input: error[E0107]: a scenario can have at most 128 MiB",
                               "lint", "-", stdin=zero)
        self.check_refused("a patch can have at most 128 MiB", "run", SWIN, "--patch", "/dev/zero")

    def test_folders_and_pipes(self):
        self.check_refused("is a directory without record.json", "run", self.folder.name)
        self.check_refused("Is a directory", "run", SWIN, "--dot", self.folder.name, code=74)
        pipe = self.path("pipe.yaml")
        os.mkfifo(pipe)
        with subprocess.Popen([PROGRAM, "run", pipe], stdout=subprocess.PIPE) as run:
            with open(SWIN, "rb") as scenario, open(pipe, "wb") as end:
                end.write(scenario.read())
            self.assertIn(b"DEADLOCK", run.stdout.read())
        # The command searches a folder for files, and must skip the pipe, which has no writer.
        self.assertNotEqual(self.run_it("test", self.folder.name).returncode, 0)

    # ---- Disks that are full

    def test_standard_output_is_full(self):
        for arguments in (["run", SWIN], ["run", "--json", SWIN], ["lint", SWIN], ["new"], ["--help"]):
            with open("/dev/full", "wb") as full:
                run = self.run_it(*arguments, stdout=full)
            self.assertIn(b"cannot write to standard output", run.stderr)
            self.assertEqual(run.returncode, 74)

    def test_the_disk_is_full(self):
        outputs = [
            ["run", SWIN, "--dot", "x"], ["run", SWIN, "--html", "x"], ["run", SWIN, "--trace", "x"],
            ["run", SWIN, "--trace", "x.gz"], ["run", SWIN, "--log", "x"],
            ["check", SWIN, "--order", "x"],
            ["draw", SWIN, "--what", "tasks", "-o", "x.svg"],
            ["test", SWIN, "--junit", "x"], ["new", "-o", "x"],
            ["diagnose", "flight-recorder", DUMPS, "--html", "x"],
            ["sweep", SWIN, "--seeds", "30", "-o", "x"],
        ]
        for arguments in outputs:
            with self.subTest(arguments):
                run = self.run_it(*arguments, most_bytes=100)
                self.assertIn(b"File too large", run.stderr)
                self.assertEqual(run.returncode, 74)
                # The file of a sweep is extended, so it keeps the finished runs.
                left = [] if arguments[0] != "sweep" else ["x"]
                self.assertEqual(os.listdir(self.folder.name), left)

    def test_what_was_there_stays(self):
        self.write("x", "as it was")
        self.assertEqual(self.run_it("run", SWIN, "--html", "x", most_bytes=100).returncode, 74)
        with open(self.path("x"), "rb") as file:
            self.assertEqual(file.read(), b"as it was")
        self.assertEqual(os.listdir(self.folder.name), ["x"])

    # ---- Pipes and signals

    def test_a_pipe_that_nobody_reads(self):
        read, write = os.pipe()
        os.close(read)
        run = self.run_it("run", SWIN, stdout=write)
        os.close(write)
        self.assertEqual((run.returncode, run.stderr), (-signal.SIGPIPE, b""))

    def test_no_half_of_a_file_is_left_by_a_signal(self):
        # The trace of four million ops takes seconds to write.
        scenario = self.write("scenario.yaml", "schema: 1\nactors:\n  a: {source: 2000000, takes: 1us}\n"
                                               "  b: {reads: [a], takes: 1us}\n")
        for number, code in ((signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)):
            with subprocess.Popen([PROGRAM, "run", scenario, "--trace", self.path("x.json")],
                                  stdout=subprocess.DEVNULL) as run:
                deadline = time.monotonic() + 200
                while not self.begun() and time.monotonic() < deadline and run.poll() is None:
                    time.sleep(0.002)
                self.assertTrue(self.begun() or run.poll() is not None)
                run.send_signal(number)
                found = run.wait(60)
            if found == 0:
                continue  # the program finished before the signal
            self.assertEqual(found, code)
            self.assertEqual(os.listdir(self.folder.name), ["scenario.yaml"])

    def begun(self):
        return any(name.endswith(".tmp") for name in os.listdir(self.folder.name))

    def test_a_planted_link_is_not_followed(self):
        # exec keeps the process id, so this plants a link with the temporary name that an earlier
        # version used.
        victim = self.write("victim", "precious")
        run = subprocess.run(["sh", "-c", 'ln -s "$1" "$2.$$.tmp"; exec "$3" run "$4" --dot "$2"', "sh",
                              victim, self.path("out.dot"), PROGRAM, SWIN],
                             stdout=subprocess.DEVNULL, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("digraph", open(self.path("out.dot"), encoding="utf-8").read())
        self.assertEqual(open(victim, encoding="utf-8").read(), "precious")

    def test_the_report_of_many_ranks(self):
        run = self.run_it("run", self.write("ranks.goal", "num_ranks 1048576"), "--json")
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        self.assertEqual(len(json.loads(run.stdout)["ranks"]), 1048576)

    # ---- Options

    def test_standard_output_is_no_file(self):
        for arguments in (["run", SWIN, "--dot", "-"], ["run", SWIN, "--html", "-"],
                          ["sweep", SWIN, "--plot", "-"], ["check", SWIN, "--dot", "-"],
                          ["fix", SWIN, "-o", "-"]):
            self.check_refused("cannot write to standard output", *arguments)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_names_of_files_are_shown_without_control_characters(self):
        bad = self.write("bad\033[31m.yaml", "schema: 1\nranks: x\n")
        for arguments in (["run", bad], ["test", bad], ["lint", bad], ["run", bad + "x"],
                          ["diagnose", "stacks", bad], ["run", bad, "--fo\033[31m"],
                          ["sweep", bad], ["diff", bad, bad]):
            with self.subTest(arguments):
                run = self.run_it(*arguments)
                self.assertNotEqual(run.stdout + run.stderr, b"")
                self.assertNotIn(b"\033", run.stdout + run.stderr)

    def test_seeds_beyond_the_last(self):
        last = (1 << 64) - 1
        self.check_refused("leaves fewer than 2 seeds", "sweep", SWIN, "--seeds", "2",
                           "--first-seed", str(last))
        run = self.run_it("sweep", SWIN, "--seeds", "1", "--first-seed", str(last))
        self.assertIn(str(last).encode(), run.stdout)


if __name__ == "__main__":
    unittest.main()
