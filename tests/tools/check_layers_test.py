"""tools/check_layers.py on small trees: includes that it must accept, and includes that it must
reject."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

# A tree without violations.
GOOD = {
    "sim/time.hpp": "#pragma once\n#include <cstdint>\n",
    "sim/engine.cpp": '#include "sim/time.hpp"\n\n#include <vector>\n',
    "models/graph.hpp": '#pragma once\n#include "sim/time.hpp"\n',
    "models/graph.cpp": '#include "models/graph.hpp"\n#include <boost/graph/graph_traits.hpp>\n',
    "formats/yaml.hpp": '#pragma once\n#include "models/graph.hpp"\n',
    "formats/yaml.cpp": '#include "formats/yaml.hpp"\n#include <yaml-cpp/yaml.h>\n',
    "viz/dot.hpp": '#pragma once\n#include "models/graph.hpp"\n',
    "viz/dot.cpp": '#include "viz/dot.hpp"\n#include <graphviz/cgraph.h>\n#include <cgraph.h>\n',
    "app/cli/main.cpp": '#include <unistd.h>\n#include "formats/yaml.hpp"\n#include "viz/dot.hpp"\n',
    "include/pipesim/run.hpp": '#pragma once\n#include <string>\n#include "pipesim/graph.hpp"\n',
    "include/pipesim/graph.hpp": "#pragma once\n",
    "include/pipesim/task_graph.hpp": '#pragma once\n#include "models/graph.hpp"\n',
    "include/pipesim/catch2.hpp": '#include <catch2/catch.hpp>\n#include "pipesim/run.hpp"\n',
    "library/run.cpp": '#include "pipesim/run.hpp"\n#include "viz/dot.hpp"\n#include <fmt/core.h>\n',
    "tests/twin/spec.hpp": "#pragma once\n#include <vector>\n",
    "tests/twin/twin.cpp": '#include "tests/twin/spec.hpp"\n',
    "tests/twin/to_plan.cpp": '#include "sim/time.hpp"\n#include "tests/twin/spec.hpp"\n',
}


class CheckLayers(unittest.TestCase):
    def run_on(self, files):
        """Returns exit code and output for the good tree with these files added or replaced."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **files}.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
            done = subprocess.run(
                [sys.executable, TOOL, "--root", root], capture_output=True, text=True, check=False
            )
            return done.returncode, done.stdout + done.stderr

    def assert_passes(self, files):
        self.assertEqual(self.run_on(files), (0, ""))

    def assert_fails(self, path, text, message):
        self.assertEqual(self.run_on({path: text}), (1, f"{path}:{message}\n"))

    def test_the_good_tree_passes(self):
        self.assert_passes({})

    def test_a_tree_without_sources_fails(self):
        with tempfile.TemporaryDirectory() as root:
            done = subprocess.run([sys.executable, TOOL, "--root", root], capture_output=True)
        self.assertEqual(done.returncode, 1)

    def test_no_room_includes_one_above_it(self):
        tree = {
            "models/graph/task_graph.hpp": "#pragma once\n",
            "models/explain/explanation.hpp": '#include "models/graph/task_graph.hpp"\n',
        }
        self.assert_passes(tree)
        below = {"models/graph/task_graph.hpp": '#include "models/explain/explanation.hpp"\n'}
        message = "must not include 'models/explain/explanation.hpp': see ROOMS"
        self.assertEqual(
            self.run_on({**tree, **below}),
            (1, f"models/graph/task_graph.hpp:1: error: models/graph {message}\n"),
        )
        ground = {"models/graph.hpp": '#include "models/explain/explanation.hpp"\n'}
        self.assertEqual(
            self.run_on({**tree, **ground}), (1, f"models/graph.hpp:1: error: models {message}\n")
        )

    def test_no_source_is_longer_than_800_lines(self):
        self.assert_passes({"sim/long.cpp": "\n" * 800})
        self.assert_fails("sim/long.cpp", "\n" * 801, "1: error: 801 lines, and 800 are the limit")
        self.assert_fails("tools/long.py", "\n" * 801, "1: error: 801 lines, and 800 are the limit")

    def test_every_room_is_known(self):
        code, output = self.run_on({"models/attic/box.hpp": "#pragma once\n"})
        self.assertEqual(code, 1)
        self.assertIn("models/attic:1: error: ROOMS in tools/check_layers.py does not know", output)

    def test_a_room_has_at_most_32_sources(self):
        room = {f"models/graph/part{i}.hpp": "#pragma once\n" for i in range(32)}
        self.assert_passes(room)
        code, output = self.run_on({**room, "models/graph/part32.hpp": "#pragma once\n"})
        self.assertEqual(code, 1)
        self.assertIn("models/graph:1: error: 33 sources in one folder", output)

    def test_no_arrow_points_back(self):
        self.assert_fails(
            "sim/bad.cpp",
            '\n#include "models/graph.hpp"\n',
            "2: error: sim must not include 'models/graph.hpp': it may use nothing of ours",
        )
        self.assert_fails(
            "models/bad.hpp",
            '#include "formats/yaml.hpp"\n',
            "1: error: models must not include 'formats/yaml.hpp': it may use sim",
        )

    def test_formats_and_viz_do_not_see_each_other(self):
        for one, other in (("formats/bad.cpp", "viz/dot.hpp"), ("viz/bad.cpp", "formats/yaml.hpp")):
            code, output = self.run_on({one: f'#include "{other}"\n'})
            self.assertEqual(code, 1)
            self.assertIn(f"must not include '{other}': it may use models, sim", output)

    def test_nothing_includes_a_test(self):
        self.assert_fails(
            "viz/bad.cpp",
            '#include "tests/twin/spec.hpp"\n',
            "1: error: viz must not include 'tests/twin/spec.hpp'",
        )

    def test_third_party_headers_stand_in_sources_only(self):
        self.assert_fails(
            "models/bad.hpp",
            "#include <boost/graph/graph_traits.hpp>\n",
            "1: error: third-party header <boost/graph/graph_traits.hpp> in a header of ours",
        )

    def test_third_party_headers_stand_in_their_folder_only(self):
        for path, header in (
            ("sim/bad.cpp", "boost/graph/graph_traits.hpp"),
            ("sim/bad.cpp", "fmt/core.h"),
            ("models/bad.cpp", "yaml-cpp/yaml.h"),
            ("viz/bad.cpp", "boost/graph/graph_traits.hpp"),
            ("formats/bad.cpp", "graphviz/cgraph.h"),
            ("app/bad.cpp", "yaml-cpp/yaml.h"),
            ("app/bad.cpp", "boost/graph/graph_traits.hpp"),
        ):
            folder = path.split("/")[0]
            self.assert_fails(
                path, f"#include <{header}>\n", f"1: error: {folder} must not use <{header}>"
            )

    def test_public_headers_show_nothing_of_the_inside(self):
        self.assert_fails(
            "include/pipesim/bad.hpp",
            '#include "sim/time.hpp"\n',
            "1: error: include/pipesim must not include 'sim/time.hpp': it may use nothing of ours",
        )
        # The header that exposes models exposes nothing else.
        self.assert_fails(
            "include/pipesim/task_graph.hpp",
            '#include "viz/dot.hpp"\n',
            "1: error: include/pipesim must not include 'viz/dot.hpp': it may use nothing of ours",
        )
        self.assert_fails(
            "include/pipesim/bad.hpp",
            "#include <catch2/catch.hpp>\n",
            "1: error: third-party header <catch2/catch.hpp> in a header of ours",
        )
        self.assert_fails(
            "app/bad.cpp",
            '#include "pipesim/run.hpp"\n',
            "1: error: app must not include 'include/pipesim/run.hpp': it may use formats, viz, "
            "models, sim",
        )

    def test_sim_has_no_floating_point(self):
        for text in ("double x;", "float x;", "auto x = 1.5;", "f(static_cast<double>(n));"):
            code, output = self.run_on({"sim/bad.cpp": text + "\n"})
            self.assertEqual(code, 1, text)
            self.assertIn("sim/bad.cpp:1: error: floating point in sim", output)
        self.assert_passes({"models/good.cpp": "double cost;\n"})

    def test_words_in_comments_and_literals_are_no_code(self):
        self.assert_passes(
            {
                "sim/good.cpp": "// no double here: 1.5\n/* float\n#include <fmt/core.h> */\n"
                'const char* text = "// double";  const char* raw = R"(" 2.5 double)";\n'
                "constexpr int big = 1'000'000;  char quote = '\"';  // float\n"
            }
        )

    def test_code_after_a_literal_is_code(self):
        code, _ = self.run_on({"sim/bad.cpp": "const char* text = \"/*\"; double x; // */\n"})
        self.assertEqual(code, 1)

    def test_sim_has_no_clock_and_no_output(self):
        self.assert_fails(
            "sim/bad.cpp", "#include <chrono>\n", "1: error: sim has no use for <chrono>"
        )

    def test_includes_are_paths_from_the_root(self):
        self.assert_fails(
            "sim/bad.cpp",
            '#include "../sim/time.hpp"\n',
            "1: error: '../sim/time.hpp' is not a path from the root",
        )
        self.assert_fails(
            "sim/bad.cpp",
            '#include "time.hpp"\n',
            "1: error: 'time.hpp' is not a file below the root",
        )
        self.assert_fails(
            "sim/bad.cpp",
            "#include <sim/time.hpp>\n",
            "1: error: <sim/time.hpp> is ours: write it in quotes",
        )

    def test_c_headers_are_written_the_way_of_cpp(self):
        self.assert_fails(
            "models/bad.hpp", "#include <stdint.h>\n", "1: error: <stdint.h>: write <cstdint>"
        )

    def test_the_twin_shares_no_code_with_the_engine(self):
        self.assert_fails(
            "tests/twin/machine.cpp",
            '#include "sim/time.hpp"\n',
            "1: error: the twin shares no code: 'sim/time.hpp'",
        )

    def test_all_mistakes_are_reported(self):
        code, output = self.run_on({"sim/a.cpp": "float x;\n#include <fmt/core.h>\ndouble y;\n"})
        self.assertEqual((code, output.count("error:")), (1, 3))


if __name__ == "__main__":
    unittest.main()
