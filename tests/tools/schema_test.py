"""The JSON Schema of scenarios accepts whatever the program accepts, and rejects the errors that it
can detect.

    schema_test.py PROGRAM

tests/unit/formats/scenario/keys_test.cpp compares its keys with those of the readers. This test checks
whole files, and the probes of tests/support/schema_probes.txt with errors in them. It reads YAML as
editors do: by the core schema of YAML 1.2, in which `on` is a word.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import with_yaml  # isort: skip  # noqa: F401

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/golden"))
import cases  # noqa: E402

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SHIPPED = sorted((ROOT / "scenarios").glob("*.yaml"))
UNKNOWN = "zzz_unknown"
NO_VALUE_HAS_THIS_TYPE = f"[[{{{UNKNOWN}: {{{UNKNOWN}: 1}}}}]]"


class Loader(yaml.SafeLoader):
    pass


Loader.yaml_implicit_resolvers = {}
for kind, pattern, first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+.0123456789"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(f"^(?:{pattern})$"), list(first))


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=ROOT, capture_output=True, check=False)


SCHEMA = json.loads(run("schema").stdout)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def mistakes(text):
    """Returns the schema's errors for a scenario."""
    # Older validators sort the names of unknown keys, so numbers must become text, as in JSON.
    value = json.loads(json.dumps(yaml.load(text, Loader)))
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in VALIDATOR.iter_errors(value)]


def understood(path):
    """Whether the program reads the scenario without an error."""
    return run("run", path, "--params").returncode == 0


def probes():
    """Returns names in the schema, each with a scenario that has @ where a map of this name can
    have another key."""
    lines = (ROOT / "tests/support/schema_probes.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(" ", 1)) for line in lines]


def keys_of(name):
    schema = SCHEMA if name == "scenario" else SCHEMA["definitions"][name]
    return schema["properties"]


def references(value):
    """Yields all `$ref` in a part of the schema."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner] if key == "$ref" else references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


class Schema(unittest.TestCase):
    def test_it_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)

    def test_every_reference_resolves(self):
        """Checks that no reference is dangling; otherwise, an editor suggests no keys at all."""
        defined = {f"#/definitions/{name}" for name in SCHEMA["definitions"]}
        used = set(references(SCHEMA))
        self.assertGreater(len(used), 100)
        self.assertEqual(set(), used - defined)

    def test_every_shipped_scenario_is_valid_and_names_the_schema(self):
        self.assertTrue(SHIPPED)
        for path in SHIPPED:
            with self.subTest(scenario=path.name):
                text = path.read_text(encoding="utf-8")
                self.assertEqual([], mistakes(text))
                # Editors ignore the comment after a key.
                head = text[: re.search(r"^\w+:", text, re.M).start()]
                named = re.findall(r"^# yaml-language-server: \$schema=(\S+)$", head, re.M)
                self.assertEqual(["scenario.schema.json"], named)

    def test_every_scenario_of_the_tests_that_is_understood_is_valid(self):
        good = 0
        for case, name, text in cases.inputs("*.yaml"):
            with self.subTest(scenario=f"{case}: {name}"), tempfile.NamedTemporaryFile(suffix=".yaml") as file:
                file.write(text)
                file.flush()
                if understood(file.name):
                    good += 1
                    self.assertEqual([], mistakes(text.decode("utf-8")))
        self.assertGreater(good, 20)

    def test_what_opt_writes_is_valid(self):
        written = {path.name: run("opt", path, "--passes", "canonicalize") for path in SHIPPED}
        good = {name: done.stdout.decode("utf-8") for name, done in written.items() if done.returncode == 0}
        self.assertGreater(len(good), 15)
        for name, text in good.items():
            with self.subTest(scenario=name):
                self.assertEqual([], mistakes(text))

    def test_every_whole_scenario_of_the_pages_is_valid(self):
        page = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference").glob("scenario-*.md"))
        whole = [block for block in re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S) if block.startswith("schema:")]
        self.assertGreaterEqual(len(whole), 2)
        for block in whole:
            self.assertEqual([], mistakes(block))

    def test_every_key_says_what_it_means(self):
        for name in ["scenario", *SCHEMA["definitions"]]:
            schema = SCHEMA if name == "scenario" else SCHEMA["definitions"][name]
            for key, value in schema.get("properties", {}).items():
                about = value.get("description") or SCHEMA["definitions"][value["$ref"].split("/")[-1]].get("description")
                with self.subTest(object=name, key=key):
                    self.assertTrue(about)
                    self.assertNotIn("\n", about)

    def test_an_unknown_key_is_refused_in_every_object(self):
        for name, probe in probes():
            with self.subTest(object=name, probe=probe):
                self.assertEqual([], mistakes(probe.replace("@", "")))
                self.assertNotEqual([], mistakes(probe.replace("@", f"{UNKNOWN}: 1")))

    def test_the_message_names_a_mistyped_key(self):
        """Checks the message of the whole schema, not only those of its alternatives."""
        scenarios = (
            ("{}: {{a: {{source: 1}}}}", "actors", "actrs"),
            ("actors: {{a: {{source: 1, {}: 2ms}}}}", "takes", "taeks"),
            ("actors: {{a: {{source: 1, takes: {{{}: rank, 3: 20us, else: 1us}}}}}}", "case", "cse"),
            ("actors: {{a: {{source: 1}}, b: {{reads: [{{{}: a}}]}}}}", "from", "form"),
            ("groups: {{g: all}}\nactors: {{a: {{collective: {{{}: g}}}}}}", "all_reduce", "all_reduse"),
            ("actors: {{}}\nexpect: {{memory: [3GiB, {{{}: 1MiB}}]}}", "exactly", "exaclty"),
            ("actors: {{}}\nfaults: [{{{}: 3, fails: x, act: a}}]", "rank", "rnk"),
            ("programs: {{do: [{{{}: a, takes: 2ms}}]}}", "compute", "compuet"),
            ("programs: {{do: [{{compute: a, {}: 2ms}}]}}", "takes", "taeks"),
            ("groups: {{g: all}}\nprograms: {{do: [{{group: [{{send: g, to: 0, {}: 8B}}]}}]}}", "bytes", "byts"),
            ("programs: {{do: [{{{}: mode, own: {{compute: a}}, else: ~}}]}}", "case", "cse"),
            ("schedule: {{{}: gpipe, stages: 2, micro_batches: 2}}", "kind", "knid"),
        )
        for scenario, right, wrong in scenarios:
            with self.subTest(scenario=scenario):
                self.assertEqual([], mistakes("schema: 1\n" + scenario.format(right)))
                found = mistakes("schema: 1\n" + scenario.format(wrong))
                self.assertRegex("\n".join(found), rf"Additional properties .*\b{wrong}'")

    def test_a_wrong_type_is_refused_of_every_key(self):
        for name, probe in probes():
            for key in keys_of(name):
                if re.search(rf"\b{key}:", probe):
                    continue  # the key is already there
                with self.subTest(object=name, key=key):
                    self.assertNotEqual([], mistakes(probe.replace("@", f"{key}: {NO_VALUE_HAS_THIS_TYPE}")))

    def test_an_unknown_word_is_refused_of_every_list_of_words(self):
        for name, probe in probes():
            for key, value in keys_of(name).items():
                forms = SCHEMA["definitions"][value["$ref"].split("/")[-1]].get("anyOf", [{}])
                if "enum" not in forms[0] or "on" in forms[0]["enum"] or re.search(rf"\b{key}:", probe):
                    continue
                for word in forms[0]["enum"]:
                    with self.subTest(object=name, key=key, word=word):
                        self.assertEqual([], mistakes(probe.replace("@", f"{key}: {word}")))
                self.assertNotEqual([], mistakes(probe.replace("@", f"{key}: {UNKNOWN}")), key)

    def test_values_of_each_type(self):
        actor = "schema: 1\nactors: {{a: {{source: 1, {}}}}}"
        good = (
            "takes: 2ms", "takes: 0", "takes: 0.3us", "takes: t + 3us", "takes: -t", "takes: {case: rank, 3: 20us, else: 1us}", "takes: '0'",
            "slots: 4", "slots: 2 * acc", "slots: 'if(rank == 3, 2, 1)'", "slots: ranks", "slots: {case: mode, own: 2, else: 1}",
            "bytes: 8MiB", "bytes: 0", "bytes: 2 * size", "when: on", "when: mode == 'own'", "when: true", "when: acc > 1 and not fast",
            "stream: $where", "stream: 1", "stream: {case: mode, own: a, shared: b}", "on: 0..3", "on: rank % 4 != 0", "on: [0, 2..3]", "on: ~", "on: 2",
            "reads: ~", "reads: [a, {from: b, rank: rank - 4}, {case: mode, own: b, shared: ~}]", "reads: {case: mode, own: [b], else: ~}",
            "kind: $kind", "kind: {case: mode, own: buffer, else: copy}",
        )
        bad = (
            "takes: 2", "takes: 2.5", "takes: 8MiB", "takes: 3GB/s", "takes: on", "takes: true", "takes: ~", "takes: [2ms]", "takes: {a: 2ms}", "takes: 2ms$",
            "takes: {case: rank, 3: 2}", "slots: 2ms", "slots: 1.5", "slots: on", "slots: ~", "bytes: 8", "bytes: 2ms", "bytes: off",
            "when: 1", "when: 2ms", "when: rank == 0", "when: ~", "stream: ~", "stream: [a]", "on: {a: b}", "on: 1.5", "on: -1",
            "reads: a", "reads: [{rank: 0}]", "reads: [{from: a, rank: 0, each: g}]", "kind: bufer", "kind: 3", "kind: {case: mode, own: bufer}",
        )
        for values, accepted in ((good, True), (bad, False)):
            for value in values:
                with self.subTest(value=value):
                    self.assertEqual(accepted, not mistakes(actor.format(value)))

    def test_what_goes_together(self):
        good = (
            "schedule: {kind: gpipe, stages: 2, micro_batches: 2, forward: [1ms, 2ms]}", "schedule: {rows: ['0F0'], pipelines: 1}",
            "actors: {}\nexpect: {time: {about: 5ms, within: 1%}, idle: [{at_most: 12.5%}], memory: [3GiB, {on: 0, exactly: 1MiB}], order: [[a#1], [rank 0 b#2]]}",
            "actors: {}\nfaults: [{rank: 3, fails: x, act: a#3}, {link: ethernet, slower: 10}, ~]",
            "model: {layers: [{name: a, ops: {o: {variables: {w: {like: ~, signature: [B, S(1)]}}}}}]}\nparallel: {data: 2}",
            "actors: {}\nparams: {a: 1, b: 2 * a, c: {default: shared, one_of: [shared, own]}, d: {default: 3ms, at_least: 0}}",
            "actors: {}\nparallel: {data: 2}",
            "actors: {}\ncluster: {hosts: [a, b], ranks: 8 per host, links: {ethernet: {}, nvlink: ~}, interfaces: {lo: nowhere}}",
        )
        bad = (
            "ranks: 2", "actors: {}\ntrain: {accumulation: 2}", "model: {layers: [{name: a, ops: {o: {}}}]}\nactors: {}", "model: {layers: []}",
            "schedule: {kind: gpipe, rows: []}", "schedule: {stages: 2, micro_batches: 2}", "schedule: {kind: gpipe, stages: 2, micro_batches: 2, pipelines: 1}",
            "actors: {}\nfaults: [{rank: 3, dies: x}]", "actors: {}\nfaults: [{rank: 3, fails: x, at: 5s}]", "actors: {}\nfaults: [{rank: 3, dies: x, at: 5s, act: a}]",
            "actors: {}\nfaults: [{link: ethernet}]", "actors: {}\nexpect: {time: {about: 5ms}}", "actors: {}\nexpect: {time: {}}", "actors: {}\nexpect: {idle: {at_most: 120%}}",
            "actors: {}\nexpect: {memory: {exactly: 1MiB, at_most: 2MiB}}", "actors: {}\nexpect: {order: [a]}", "actors: {a: {collective: {all_reduce: g, barrier: g}}}",
            "actors: {}\nparams: {rank: 1}", "actors: {}\nparams: {a: 1 $ 2}", "actors: {}\nparams: {a: {about: x}}", "actors: {}\nevents: [{event: a, key: b}]",
            "actors: {}\nthreads: {t: {program: [{do: [a]}]}}", "programs: {do: [{compute: a, root: 0}]}", "programs: {do: [{send: g}]}", "programs: {do: [{takes: 2ms}]}",
            "programs: {do: [{broadcast: g}]}", "programs: {do: [{host: a, stream: b}]}", "programs: {do: [{repeat: 2}]}", "programs: [{thread: a}]",
        )
        for values, accepted in ((good, True), (bad, False)):
            for value in values:
                with self.subTest(scenario=value):
                    self.assertEqual(accepted, not mistakes("schema: 1\n" + value))

    def test_no_words_after_it(self):
        done = run("schema", "x")
        self.assertEqual(2, done.returncode)


if __name__ == "__main__":
    unittest.main()
