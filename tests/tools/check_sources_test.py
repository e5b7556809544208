"""tools/check_includes.py and tools/check_sim.py on small trees: what they accept and reject."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"

# A tree without mistakes.
GOOD = {
    "sim/time.hpp": "#pragma once\n#include <cstdint>\n",
    "sim/engine/engine.cpp": '#include "sim/time.hpp"\n#include <vector>\n',
    "models/graph/graph.hpp": '#pragma once\n#include "sim/time.hpp"\n',
    "formats/document/yaml.cpp": '#include "models/graph/graph.hpp"\n#include <yaml-cpp/yaml.h>\n',
    "app/input/input_kinds.cpp": '#include "features/fix/fix.hpp"\n',
    "features/check/check.hpp": '#pragma once\n#include "models/graph/graph.hpp"\n',
    "features/fix/fix.hpp": '#pragma once\n#include "features/check/check.hpp"\n',
    "tests/twin/spec.hpp": "#pragma once\n#include <vector>\n",
    "tests/twin/twin.cpp": '#include "tests/twin/spec.hpp"\n',
    "tests/twin/to_plan.cpp": '#include "sim/time.hpp"\n#include "tests/twin/spec.hpp"\n',
}


class CheckSources(unittest.TestCase):
    def run_on(self, tool, files):
        """Returns exit code and output for the good tree with these files added or replaced."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **files}.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
            command = [sys.executable, TOOLS / tool, "--root", root]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def assert_refused(self, path, include):
        code, output = self.run_on("check_includes.py", {path: f'\n#include "{include}"\n'})
        self.assertEqual((1, f"{path}:2: error: must not include '{include}'\n"), (code, output))

    def test_the_good_tree_passes(self):
        for tool in ("check_includes.py", "check_sim.py"):
            self.assertEqual((0, ""), self.run_on(tool, {}))

    def test_a_kernel_folder_includes_no_later_one(self):
        self.assert_refused("sim/bad.cpp", "models/graph/graph.hpp")
        self.assert_refused("sim/time.cpp", "sim/engine/engine.hpp")
        self.assert_refused("models/graph/bad.hpp", "formats/document/yaml.hpp")

    def test_an_unknown_folder_includes_nothing(self):
        self.assert_refused("models/attic/box.hpp", "sim/time.hpp")
        self.assert_refused("features/fix/bad.cpp", "models/attic/box.hpp")

    def test_the_kernel_includes_no_feature(self):
        self.assert_refused("app/commands/run_command.cpp", "features/fix/fix.hpp")

    def test_a_feature_includes_only_the_features_on_its_list(self):
        self.assert_refused("features/check/bad.cpp", "features/fix/fix.hpp")
        self.assert_refused("features/lint/lint.cpp", "features/check/check.hpp")

    def test_there_are_at_most_five_pairs_of_features(self):
        sys.path.insert(0, str(TOOLS))
        import check_includes

        self.assertLessEqual(sum(map(len, check_includes.PAIRS.values())), 5)

    def test_third_party_headers_are_in_sources_only(self):
        path = "models/graph/bad.hpp"
        code, output = self.run_on("check_includes.py", {path: "#include <boost/any.hpp>\n"})
        self.assertEqual(1, code)
        self.assertEqual(f"{path}:1: error: third-party <boost/any.hpp> in a header\n", output)

    def test_sim_has_no_floating_point(self):
        for text in ("double x;", "float x;", "auto x = 1.5;", 'f("/*"); double x; // */'):
            code, output = self.run_on("check_sim.py", {"sim/bad.cpp": text + "\n"})
            self.assertEqual(1, code, text)
            self.assertIn("sim/bad.cpp:1: error: floating point in sim", output)

    def test_words_in_comments_and_literals_are_not_code(self):
        text = (
            "// no double here: 1.5\n/* float\n#include <cstdio> */\n"
            'const char* text = "// double";  const char* raw = R"(" 2.5 double)";\n'
            "constexpr int big = 1'000'000;  char quote = '\"';  // float\n"
        )
        self.assertEqual((0, ""), self.run_on("check_sim.py", {"sim/good.cpp": text}))

    def test_sim_has_no_clock_output_or_library(self):
        for header in ("chrono", "iostream", "fmt/core.h"):
            code, output = self.run_on("check_sim.py", {"sim/bad.cpp": f"#include <{header}>\n"})
            self.assertEqual((1, f"sim/bad.cpp:1: error: sim must not use <{header}>\n"), (code, output))

    def test_the_twin_shares_no_code_with_the_engine(self):
        path = "tests/twin/machine.cpp"
        code, output = self.run_on("check_sim.py", {path: '#include "sim/time.hpp"\n'})
        self.assertEqual((1, f"{path}:1: error: the twin shares no code: 'sim/time.hpp'\n"), (code, output))


if __name__ == "__main__":
    unittest.main()
