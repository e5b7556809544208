"""The documentation and the code use the same names, and links resolve."""

import ast
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "bench/README.md",
         ROOT / "tests/oracle/README.md", *sorted((ROOT / "docs").rglob("*.md"))]

sys.path.insert(0, str(ROOT / "tools"))
import check_includes  # noqa: E402


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def anchors(markdown):
    """Returns the anchors of a page's headings, as GitHub names them."""
    titles = re.findall(r"^#+ (.*)$", markdown, re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def rules_of_lint():
    """Returns the names of lint's rules, by the names of their constants without the k."""
    header = read("features/lint/lint_rules.hpp")
    return dict(re.findall(r'inline constexpr std::string_view k(\w+) = "([\w-]+)";', header))


class Docs(unittest.TestCase):
    def test_every_kind_of_actor_is_on_its_page(self):
        kinds = set(re.findall(r'\.name = "(\w+)"', read("models/graph/actor_kinds.cpp")))
        self.assertTrue(kinds)
        cells = re.findall(r"^\| *((?:`\w+`(?:, *)?)+) *\|", read("docs/explanation/models.md"), re.M)
        self.assertEqual(set(), kinds - {name for cell in cells for name in re.findall(r"\w+", cell)})

    def test_every_rule_of_lint_is_on_its_page(self):
        names = rules_of_lint()
        listed = re.findall(r"^      \{k(\w+),", read("features/lint/lint.cpp"), re.M)
        self.assertEqual(list(names), listed)
        page = read("docs/reference/lint.md").split("## The rules")[1]
        self.assertEqual(list(names.values()), re.findall(r"^### ([\w-]+)$", page, re.M))

    def test_the_reports_of_each_rule_of_lint_are_in_its_section(self):
        table = read("features/lint/lint.cpp").split("kRules = {")[1].split("\n  };")[0]
        rules = re.findall(r"^      \{k(\w+),.*?\{((?:\"[^\"]+\",?\s*)+)\}\}", table, re.M | re.S)
        sections = read("docs/reference/lint.md").split("\n### ")[1:]
        self.assertEqual(len(sections), len(rules))
        for section, (name, reports) in zip(sections, rules):
            title, text = section.split("\n", 1)
            self.assertEqual(title, rules_of_lint()[name])
            for number in re.findall(r"[#:]([\d.]+)\"", reports):
                with self.subTest(rule=title, report=number):
                    self.assertRegex(text, rf"(#|arXiv ){re.escape(number)}\b")

    def test_every_key_of_json_is_on_its_page(self):
        # Sources that print JSON for users; pages, traces, files and SARIF have their own formats.
        reports = [*(ROOT / "viz" / "report").glob("*.cpp"), *(ROOT / "features").rglob("*.cpp")]
        sources = [path for path in reports if re.search("Json|Section", path.read_text(encoding="utf-8"))
                   and not re.search("sarif|_(?:file|reader|page|command)$", path.stem)]  # fmt: skip
        self.assertGreater(len(sources), 10)
        keys = re.compile(r'\{"(\w+)",(?! "\w+", &)|\bjson\["(\w+)"\]|\b(?:say|list|with)\(\s*"(\w+)"')
        names = {name for path in sources for found in keys.findall(self.json_code(path))
                 for name in found if name}  # fmt: skip
        self.assertGreater(len(names), 200)
        # A key is in backquotes by itself, or as the last part of its path.
        page = re.sub(r"^```.*?^```$", "", read("docs/reference/json.md"), flags=re.M | re.S)
        told = {name for code in re.findall(r"`([^`]+)`", page)
                for name in re.findall(r"(?:^|\.)(\w+)(?:\[\w?\])?(?=$|\.)", code)}  # fmt: skip
        self.assertEqual(set(), names - told)

    @staticmethod
    def json_code(path):
        """Returns the functions that make JSON, even of a source that also prints text."""
        text = path.read_text(encoding="utf-8")
        if path.stem.endswith(("_json", "json_report")):
            return text
        functions = re.findall(r"^[^\s/#}].*?^\}", text, re.M | re.S)
        return "\n".join(each for each in functions if re.search(r"[Jj]son", each))

    def test_every_scenario_is_in_the_catalogue(self):
        shipped = {path.name for path in (ROOT / "scenarios").glob("*.yaml")}
        named = set(re.findall(r"\]\(\.\./\.\./scenarios/([\w.]+)\)", read("docs/reference/scenarios.md")))
        self.assertEqual(shipped, named)

    def test_the_code_on_the_library_page_is_compiled(self):
        sources = read("tests/consumer/CMakeLists.txt") + read("tests/consumer/scheduler_test.cpp")
        blocks = re.findall(r"^```(?:cpp|cmake)\n(.*?)^```$", read("docs/how-to/library.md"), re.M | re.S)
        self.assertGreaterEqual(len(blocks), 5)
        for block in blocks:
            self.assertIn(block, sources)

    def test_every_matcher_is_on_its_page(self):
        matchers = set(re.findall(r"^(?:inline )?auto (\w+)\(", read("include/pipesim/catch2.hpp"), re.M))
        named = set(re.findall(r"^\| `(\w+)\(", read("docs/how-to/library.md"), re.M))
        self.assertEqual(matchers, named)

    def test_every_public_header_is_on_its_page(self):
        headers = {f"pipesim/{path.name}" for path in (ROOT / "include/pipesim").glob("*.hpp")}
        self.assertEqual(headers, set(re.findall(r"^\| `(pipesim/\w+\.hpp)`", read("docs/how-to/library.md"), re.M)))

    def test_links_lead_to_every_page(self):
        pages = [ROOT / "README.md"]
        for page in pages:  # the list grows
            for link in re.findall(r"\]\(([^)#]+\.md)", page.read_text(encoding="utf-8")):
                found = (page.parent / link).resolve()
                if found not in pages and ROOT in found.parents:
                    pages.append(found)
        self.assertEqual(set(), {*(ROOT / "docs").rglob("*.md")} - {*pages})

    def test_links_lead_somewhere(self):
        for path in PAGES:
            for link, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8")):
                if link.startswith("https://"):
                    continue
                with self.subTest(page=path.name, link=link, anchor=anchor):
                    page = path.parent / link if link else path
                    self.assertTrue(page.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(page.read_text(encoding="utf-8")))

    def test_every_folder_is_on_its_page(self):
        page = read("docs/explanation/architecture.md").split("\n## Kernel and features\n")[1].split("\n## ")[0]
        folders = re.findall(r"^\| `([\w/]+)` \|", page, re.M)
        features = sorted(path.name for path in (ROOT / "features").iterdir() if path.is_dir())
        self.assertEqual([*check_includes.KERNEL, *features], folders)

    def test_a_page_says_first_who_needs_it(self):
        for path in sorted((ROOT / "docs").glob("*/*.md")):
            with self.subTest(page=path.name):
                self.assertRegex(path.read_text(encoding="utf-8"), r"\A# .+\n\nFor [^.]+[.?]")

    def test_pages_are_short(self):
        for path in PAGES[:1] + sorted((ROOT / "docs").rglob("*.md")):
            limit = {"rules.md": 800}.get(path.name, 500)
            with self.subTest(page=path.name):
                self.assertLessEqual(len(path.read_text(encoding="utf-8").splitlines()), limit)

    def test_the_first_screen_leads_from_a_hang_to_its_command(self):
        first = "\n".join(read("README.md").splitlines()[:20])
        for page, command in (("my-job-hangs", "pipesim collect"), ("diagnose", "pipesim diagnose "),
                              ("record", "pipesim record ")):  # fmt: skip
            self.assertRegex(first, rf"\[`{command}[^`]*`\]\(docs/how-to/{page}\.md\)")
            self.assertRegex("\n".join(read(f"docs/how-to/{page}.md").splitlines()[:12]), f"(?m)^    {command}")

    def test_the_python_api_is_on_its_page(self):
        module = ast.parse(read("python/pipesim/api.py"))
        named = {node.name: node for node in module.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        page = read("docs/reference/python.md")
        arguments = named["record"].args
        expected = [each.arg for each in arguments.args + arguments.kwonlyargs]
        self.assertEqual(expected, re.findall(r"^\| `(\w+)` \|", page.split("## record\n")[1].split("\n## ")[0], re.M))
        for title, name in (("Record, the result", "Record"), ("Report", "Report")):
            public = {item.target.id if isinstance(item, ast.AnnAssign) else item.name
                      for item in named[name].body if isinstance(item, (ast.AnnAssign, ast.FunctionDef))}  # fmt: skip
            rows = "".join(re.findall(r"^\|[^|]*\|", page.split(f"## {title}\n")[1].split("\n## ")[0], re.M))
            told = set(re.findall(r"`(\w+)", rows))
            self.assertEqual({each for each in public if not each.startswith("_")}, told)

    def test_prose_is_wrapped(self):
        for path in PAGES:
            text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
            long = [line for line in text.splitlines() if len(line) > 100 and not line.startswith(("|", "<", "    ", "!["))]
            with self.subTest(page=path.name):
                self.assertEqual([], long)


if __name__ == "__main__":
    unittest.main()
