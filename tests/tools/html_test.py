"""The pages of `--html` (run, check, sweep, diff) in a browser: they open without errors, request
nothing, and work in narrow and wide windows, light and dark, with mouse, keys and touch.

    html_test.py PROGRAM
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, why_not

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

PAGES = {
    "swin": ("scenarios/swin_2x2x2.yaml",),
    "completed": ("scenarios/pipeline_1f1b.yaml",),
    "crash": ("scenarios/rank_segfault.yaml",),
    "collectives": ("scenarios/ddp_2x8_all_reduce.yaml",),
    "large": ("scenarios/pipeline_1f1b.yaml", "--set", "stages=64"),
    "dense": ("scenarios/pipeline_1f1b.yaml", "--set", "micro_batches=256"),
    "unfolded": ("scenarios/swin_2x2x2.yaml", "--all"),
    "chunks": ("scenarios/pipeline_interleaved.yaml",),
    "guilty": ("tests/pictures/job.yaml", "--set", "skips=5"),
    "many": ("scenarios/pipeline_1f1b.yaml", "--set", "stages=512", "--set", "micro_batches=8"),
    "folded": ("tests/pictures/job.yaml", "--set", "pipeline=8", "--set", "data=256"),
    "folded_hang": ("tests/pictures/job.yaml", "--set", "pipeline=8", "--set", "data=256", "--set", "skips=5"),
    "stopped": ("scenarios/swin_2x2x2.yaml", "--until", "20us"),
}

# All ranks except two do the same: one rank never calls the collective, and one rank is late.
ALIKE = """
schema: 1
name: alike
ranks: 64
groups: {dp: all}
streams: [compute, comm]
programs:
  - on: all
    do:
      - {compute: F, takes: {case: rank, 37: 90us, else: 10us}, stream: compute, at: "train.py:12"}
      - {all_reduce: dp, stream: comm, when: rank != 5, takes: 5us, at: "train.py:15"}
"""
# Pages of `pipesim check`.
CHECKS = {
    "proved": ("scenarios/pipeline_1f1b.yaml",),
    "possible": ("scenarios/buffer_on_the_wrong_stream.yaml",),
    "readings": ("scenarios/broadcast_root_ahead.yaml",),
    "faults": ("scenarios/rank_segfault.yaml",),
}

# Pages of `pipesim sweep` and `pipesim diff`.
OTHERS = {
    "sweep": ("sweep", "scenarios/swin_2x2x2.yaml", "--vary", "acc=1..40", "--vary", "zeros_slots=1..2",
              "--vary", "jitter=0,10%", "--seeds", "2", "-j", "2"),
    "diff": ("diff", "scenarios/buffer_on_the_wrong_stream.yaml", "scenarios/buffer_on_the_right_stream.yaml"),
    "hangs": ("diff", "scenarios/swin_2x2x2.yaml", "--set-a", "acc=3"),
}
SIZES = ((400, 812), (1400, 900))
SCHEMES = ("light", "dark")

# Returns the pairs of timeline labels that overlap.
OVERLAPS = """
  const boxes = [...document.querySelectorAll("#timeline-frame .label, #timeline-frame .axis text")]
      .map((label) => [label.textContent, label.getBoundingClientRect()]);
  const found = [];
  for (let i = 0; i < boxes.length; ++i) {
    for (let k = i + 1; k < boxes.length; ++k) {
      const [a, b] = [boxes[i][1], boxes[k][1]];
      const over = a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
      const axis = a.bottom <= document.querySelector("#timeline-frame .axis").getBoundingClientRect().bottom;
      if (over && !axis) found.push([boxes[i][0], boxes[k][0]]);
    }
  }
  return found;
"""


class Html(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.pages = {}
        for name, arguments in {**PAGES, **CHECKS}.items():
            path = pathlib.Path(temporary.name, f"{name}.html")
            cls.pages[name] = path
            command = "check" if name in CHECKS else "run"
            subprocess.run([PROGRAM, command, *arguments, "--html", path], cwd=ROOT, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for name, arguments in OTHERS.items():
            cls.pages[name] = pathlib.Path(temporary.name, f"{name}.html")
            subprocess.run([PROGRAM, *arguments, "--html", cls.pages[name]], cwd=ROOT, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        alike = pathlib.Path(temporary.name, "alike.yaml")
        alike.write_text(ALIKE, "utf-8")
        cls.pages["alike"] = alike.with_suffix(".html")
        subprocess.run([PROGRAM, "run", alike.name, "--html", cls.pages["alike"]], cwd=temporary.name, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        # A record, next to its script.
        shutil.copytree(ROOT / "tests/golden/check_record/nccl", pathlib.Path(temporary.name, "record"))
        pathlib.Path(temporary.name, "train.py").write_text(
            "".join(f"work({line})\n" for line in range(1, 61)), "utf-8")
        cls.pages["record"] = pathlib.Path(temporary.name, "record.html")
        subprocess.run([PROGRAM, "check", "record", "--html", "record.html"], cwd=temporary.name, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        cls.browser = Browser()
        cls.browser.__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, name, width=1280, height=900, scheme="light"):
        browser = self.browser
        browser.size(width, height)
        browser.media(scheme)
        browser.open(self.pages[name])
        browser.js("try { localStorage.clear(); } catch (error) {}")
        browser.frame()
        return browser

    def test_narrow_ops_keep_their_colour(self):
        for width in (400, 1400):
            for scheme in ("light", "dark"):
                browser = self.open("dense", width, scheme=scheme)
                kinds, strokes, fills = browser.js(
                    "const found = [...document.querySelectorAll('#timeline-frame .thin')];"
                    "const of = (name) => [...new Set(found.map((rect) => getComputedStyle(rect)[name]))];"
                    "return [[...new Set(found.map((rect) => rect.getAttribute('class')))],"
                    " of('stroke'), of('fill')];")
                self.assertTrue(any("k-forward" in kind for kind in kinds), kinds)
                self.assertEqual(["none"], strokes)
                self.assertGreater(len(fills), 1)  # forward and backward have different colors

    def test_the_page_of_a_record_shows_the_source_and_who_differs(self):
        browser = self.open("record", 400)
        heads = self.texts("#source h3")
        self.assertEqual(["train.py:44 evaluate > all_reduce rank 0", "train.py:52 barrier ranks 1 to 3"], heads)
        self.assertIn(">   44  work(44)", self.texts("#source pre")[0])
        self.assertIn("work(47)", self.texts("#source pre")[0])
        differs = self.texts("#differs li")
        self.assertTrue(any("train.py:44 evaluate > all_reduce: calls of rank 0 1, of ranks 1 to 3 none" in line
                            for line in differs), differs)
        self.assertEqual(0, browser.js("return document.documentElement.scrollWidth - innerWidth;"))
        browser.type_in("#op-search", "train.py:44")
        browser.press("Enter")
        self.assertRegex(self.texts("#op-found")[0], r"^1 of \d+$")
        self.assertIn("all_reduce", self.texts("#selection")[0])

    def texts(self, selector):
        return self.browser.js(
            "return [...document.querySelectorAll(arguments[0])].map((found) => found.textContent.trim());",
            selector)

    def tooltip(self):
        return self.browser.js("const tooltip = document.getElementById('tooltip');"
                               "return tooltip.hidden ? null : tooltip.innerText;")

    def selected_nodes(self, name="selected"):
        return sorted(self.browser.js(
            "return [...document.querySelectorAll(`#graph-frame g.node.${arguments[0]}`)]"
            ".map((node) => node.dataset.name);", name))

    def ranks_of_lanes(self):
        return self.browser.js("return [...new Set([...document.querySelectorAll("
                               "'#timeline-frame text.rank')].map((text) => text.textContent))];")

    def test_it_opens_without_errors_and_asks_for_nothing(self):
        for name, path in self.pages.items():
            self.assertLess(path.stat().st_size, 3_500_000 if name == "many" else 1_000_000, name)
            # The dark scheme moves nothing, so one width is enough for it.
            for width, height, scheme in ((375, 812, "light"), (400, 812, "dark"), (1400, 900, "light")):
                with self.subTest(page=name, width=width, scheme=scheme):
                    browser = self.browser
                    browser.addresses()
                    self.open(name, width, height, scheme)
                    self.assertEqual([], browser.console())
                    asked = [address for address in browser.addresses()
                             if not address.startswith("data:")]
                    self.assertEqual([path.as_uri()], asked)
                    shown = browser.js("return [document.documentElement.scrollWidth, innerWidth];")
                    self.assertEqual(width, shown[1])
                    self.assertLessEqual(shown[0], width)
                    self.assertEqual([], browser.js(OVERLAPS))

    def test_it_says_what_hangs(self):
        self.open("swin")
        self.assertEqual(["deadlock"], self.texts("#verdict"))
        self.assertEqual(["swin_2x2x2 hangs"], self.texts("h1"))
        self.assertEqual(["The cycle: 10 waits, ranks 0 and 1, micro-batches 1 to 3"], self.texts("#cycle h2"))
        self.assertEqual(10, len(self.texts("#table-cycle tbody tr")))
        self.assertEqual(["BdstBuf feeds stream 'backward' but runs on 'forward', queued behind "
                          "nccl-1998 (micro-batch 3)."], self.texts("#look-at li"))
        self.assertEqual(3, len(self.texts("#remedies li")))
        self.open("crash")
        self.assertIn("rank 9 died at 15 ms", self.texts("#broken li")[0])
        self.assertIn("rank 9 is dead", self.texts("#roots li")[0])
        # The timeline starts with the rank that died.
        self.assertIn("rank 9", self.ranks_of_lanes())

    def test_a_check_says_what_it_answers_in_each_reading(self):
        self.open("readings")
        self.assertEqual(["runs by buffers"], self.texts("#verdict"))
        rows = [[cell.strip() for cell in self.texts(f"#readings tbody tr:nth-child({i}) td")] for i in (1, 2, 3)]
        self.assertEqual(["contract", "real", "cold"], [row[0] for row in rows])
        self.assertEqual(["hang certain"] + ["runs, thanks to NCCL's buffers"] * 2, [row[2] for row in rows])
        self.assertRegex(rows[0][3], r"^hangs at .* \(deadlock\)$")
        # The page shows the cycle of the reading that hangs.
        self.assertIn("rank 1", rows[0][4].lower())
        self.assertEqual(["", ""], [row[4] for row in rows[1:]])
        # The search is skipped, because all interleavings end alike; the page shows one of them.
        steps = self.texts("#steps li")
        self.assertTrue(self.shown("#steps"))
        self.assertRegex(steps[0], r"^rank \d: .+#1 is (launched|entered|done)$")
        self.assertFalse([step for step in steps if "#" not in step])
        self.assertTrue(any(line.startswith("rule 9.4") for line in self.texts("#rests-on li")))
        self.open("proved")
        self.assertEqual(["proved"], self.texts("#verdict"))
        self.assertEqual(["proved"] * 3, self.texts("#readings td:nth-child(3)"))
        self.assertFalse(self.shown("#steps"))
        self.assertFalse(self.shown("#cycle"))
        self.open("swin")
        for part in ("#readings", "#rests-on", "#steps"):
            self.assertFalse(self.shown(part))

    def shown(self, selector):
        return self.browser.js("return !document.querySelector(arguments[0]).hidden;", selector)

    def test_the_interleaving_of_a_check_can_be_walked_through(self):
        browser = self.open("possible")
        self.assertEqual(["hang possible"], self.texts("#verdict"))
        self.assertFalse(self.shown("#readings"))  # a single reading
        listed = subprocess.run([PROGRAM, "check", CHECKS["possible"][0], "--order", "-"], cwd=ROOT, check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
        steps = [step["what"] for step in json.loads(listed)["steps"]]
        self.assertEqual(steps, self.texts("#steps li"))
        selected = lambda: self.texts("#steps li[aria-selected='true']")
        self.assertEqual([], selected())
        def press(key):
            browser.js("document.querySelector('#steps ol').dispatchEvent("
                       "new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}));", key)
        for key, at in (("ArrowDown", 0), ("ArrowDown", 1), ("ArrowUp", 0), ("End", -1), ("Home", 0)):
            press(key)
            self.assertEqual([steps[at]], selected())
        browser.js("[...document.querySelectorAll('#steps button')].find((b) => b.textContent === 'Last').click();")
        self.assertEqual([steps[-1]], selected())
        self.assertEqual(f"Step {len(steps)}: {steps[-1]}", browser.js("return document.getElementById('live').textContent;"))
        browser.js("document.querySelector('#steps li:nth-child(3)').click();")
        self.assertEqual([steps[2]], selected())
        # The page shows the op of this step.
        name = steps[2].split(": ")[1].split(" ")[0]
        self.assertIn(name, browser.js("return document.getElementById('selection').innerText;"))

    def test_a_check_of_faults_shows_the_steps_of_the_run(self):
        self.open("faults")
        steps = self.texts("#steps li")
        died = steps.index("rank 9: dies")
        self.assertIn("rank 9: load#2 is done", steps[:died])
        self.assertFalse([step for step in steps[died + 1:] if step.startswith("rank 9: ")])

    def test_the_whole_report_is_there_without_scripts(self):
        text = self.pages["swin"].read_text("utf-8").split("<noscript>")[1].split("</noscript>")[0]
        self.assertIn("The cycle: 10 waits, ranks 0 and 1, micro-batches 1 to 3", text)

    def test_hovering_shows_an_op_and_what_it_waits_for(self):
        browser = self.open("swin")
        self.assertIsNone(self.tooltip())
        browser.hover("#graph-frame g.node[data-name='rank 0 BdstBuf#1']")
        self.assertIn("rank 0 BdstBuf#1", self.tooltip())
        self.assertIn("queued behind nccl-1998#3", self.tooltip())
        browser.hover("#graph-frame g.edge[data-name='rank 1 Repeat#3->rank 1 Zeros#2'] text")
        self.assertIn("waits for Zeros#2 to free a slot of register 'ctrl'", self.tooltip())
        # The first chip of rank 0 is the op at the head of its stream.
        browser.hover("#timeline-frame .chip.cycle")
        self.assertIn("queued behind nccl-1998#3", self.tooltip())
        browser.hover("#timeline-frame .slice.k-forward[data-slice]")
        self.assertRegex(self.tooltip(), r"^rank 0 F0#1\nmicro-batch 1, stream forward, forward, from 300 ns to 1.3 us: 1 us")
        browser.hover("h1")
        self.assertIsNone(self.tooltip())

    def both_ends_are_shown(self, first, second):
        browser = self.browser
        self.assertEqual(sorted([first, second]), self.selected_nodes())
        inside = browser.js("""
          const inside = (box, frame) => box.left >= frame.left - 1 && box.right <= frame.right + 1 &&
              box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
          const all = (selector, frame) => [...document.querySelectorAll(selector)].map((found) =>
              inside(found.getBoundingClientRect(), document.querySelector(frame).getBoundingClientRect()));
          return [all("#graph-frame g.node.selected", "#graph-frame"),
                  all("#timeline-frame .selected-mark", "#timeline-frame"),
                  all("#waits tr.selected", "#waits .table-frame")];""")
        nodes, marks, rows = inside
        self.assertEqual([True, True], nodes)
        self.assertGreaterEqual(len(marks), 2)
        self.assertTrue(all(marks), marks)
        self.assertEqual([True], rows)
        self.assertEqual(1, len(self.texts("#timeline-frame .wait-arrow")))

    def test_a_click_on_a_wait_goes_to_both_ends(self):
        browser = self.open("swin")
        browser.click("#table-cycle tbody tr:nth-child(8) button")
        self.both_ends_are_shown("rank 0 nccl-2108#1", "rank 0 B0#1")
        # The click also scrolls the picture into the window.
        self.assertTrue(browser.js(
            "const box = document.getElementById('graph-frame').getBoundingClientRect();"
            "return box.top < innerHeight / 2 && box.bottom > innerHeight / 2;"))
        self.assertTrue(self.texts("#selection")[0].startswith("Wait 8 of the cycle"))
        browser.click("#graph-frame g.edge[data-name='rank 1 F1#3->rank 1 Repeat#3'] text")
        self.both_ends_are_shown("rank 1 F1#3", "rank 1 Repeat#3")
        self.assertTrue(self.texts("#selection")[0].startswith("Wait 3 of the cycle"))
        # The last wait closes the cycle.
        browser.click("#table-cycle tbody tr:nth-child(10) button")
        self.both_ends_are_shown("rank 0 BdstBuf#1", "rank 0 nccl-1998#3")
        browser.js("[...document.querySelectorAll('#selection button')]"
                   ".find((button) => button.textContent === 'Next').click();")
        browser.frame()
        self.both_ends_are_shown("rank 0 nccl-1998#3", "rank 1 nccl-1998#3")
        browser.press("Escape")
        self.assertEqual([], self.selected_nodes())
        self.assertEqual([], self.texts("tr.selected"))
        self.assertTrue(browser.js("return document.getElementById('selection').hidden;"))

    def test_a_click_on_an_op_shows_what_it_waits_for(self):
        browser = self.open("swin")
        browser.click("#graph-frame g.node[data-name='rank 0 BdstBuf#1']")
        self.assertEqual(["rank 0 BdstBuf#1"], self.selected_nodes())
        self.assertEqual(["rank 0 nccl-1998#3"], self.selected_nodes("end"))
        self.assertEqual(["BdstBuf#1"], self.texts("#waits tr.selected td:nth-child(3)"))
        browser.click("#timeline-frame .chip.cycle")  # the same op
        self.assertEqual(["rank 0 BdstBuf#1"], self.selected_nodes())

    def test_without_a_cycle_the_roots_are_strong(self):
        browser = self.open("crash")
        self.assertEqual(["rank 0 all_reduce world#1", "rank 9"], sorted(browser.js(
            "return [...document.querySelectorAll('#graph-frame g.node.on-cycle')]"
            ".map((node) => node.dataset.name);")))
        browser.click("#graph-frame g.node[data-name='rank 9']")
        self.assertEqual(["rank 0 all_reduce world#1"], self.selected_nodes())
        self.assertIn("waits for rank 9, which died", " ".join(self.texts("#selection")))
        # A spinning op keeps spinning: its slice ends with the picture, not with the last progress.
        ends = browser.js("""
          const strong = [...document.querySelectorAll("#timeline-frame .slice[data-cycle]")];
          const moment = document.querySelector("#timeline-frame .lanes .moment").getBoundingClientRect();
          return strong.map((slice) => slice.getBoundingClientRect().right - moment.right);""")
        self.assertGreater(len(ends), 0)
        self.assertGreater(min(ends), 5)

    def test_the_filter_leaves_ranks_out(self):
        browser = self.open("swin")
        browser.type_in("#rank-filter", "1, 6-7")
        self.assertEqual(["rank 1", "rank 6", "rank 7"], self.ranks_of_lanes())
        self.assertEqual(["1", "6", "7"], self.texts("#table-ranks tbody td.c-rank"))
        self.assertEqual({"1", "6", "7"}, set(self.texts("#table-actors tbody td.c-rank")))
        self.assertIn("rank 0 B0#1", browser.js(
            "return [...document.querySelectorAll('g.node.faded')].map((node) => node.dataset.name);"))
        browser.type_in("#rank-filter", "8")
        self.assertEqual(["there is no rank 8, only 0 to 7"], self.texts("#ranks-help"))
        self.assertEqual(["rank 1", "rank 6", "rank 7"], self.ranks_of_lanes())
        # A link to an op of another rank shows this rank.
        browser.click("#table-cycle tbody tr:nth-child(9) button")
        self.assertEqual(["rank 0", "rank 1", "rank 6", "rank 7"], self.ranks_of_lanes())
        browser.js("document.querySelectorAll('#rank-buttons button')[0].click();")  # All
        browser.frame()
        self.assertEqual(8, len(self.texts("#table-ranks tbody td.c-rank")))
        browser.js("document.querySelectorAll('#rank-buttons button')[1].click();")  # Cycle
        browser.frame()
        self.assertEqual(["rank 0", "rank 1"], self.ranks_of_lanes())
        self.assertEqual("0-1", browser.js("return document.getElementById('rank-filter').value;"))

    def test_equal_ranks_are_shown_once_and_unfold(self):
        for width in (400, 1400):
            browser = self.open("alike", width)
            prefix = "" if width == 400 else "rank "
            folded = [prefix + text for text in ("0", "1 \u00d761", "5", "37")]
            self.assertEqual(folded, self.ranks_of_lanes())
            browser.hover("#timeline-frame text[data-fold]")
            self.assertIn("2-4, 6-36, 38-63", self.tooltip())
            browser.click("#timeline-frame text[data-fold]")
            browser.frame()
            self.assertEqual([prefix + str(rank) for rank in range(5)], self.ranks_of_lanes()[:5])
            browser.click("#timeline-frame text[data-fold]")
            browser.frame()
            self.assertEqual(folded, self.ranks_of_lanes())
            # A folded rank shows the same content as its representative.
            browser.type_in("#rank-filter", "61")
            browser.frame()
            self.assertEqual([prefix + "61"], self.ranks_of_lanes())
            browser.hover("#timeline-frame .slice.k-compute")
            self.assertIn("rank 61 F", self.tooltip())
            self.assertIn("from 0 ns to 10 us", self.tooltip())

    def test_equal_ranks_share_a_row_of_a_table(self):
        for browser in self.views("alike"):
            ranks = self.texts("#table-ranks td.c-ranks")
            self.assertEqual(["0-4, 6-63 (\u00d763)", "5"], ranks)
            self.assertEqual("ranks 0-4, 6-63 (\u00d763)",
                             browser.js("return document.querySelector('#table-ranks td.c-ranks').title;"))
            browser.type_in("#rank-filter", "5")
            self.assertEqual(["5"], self.texts("#table-ranks td.c-ranks"))
            browser.type_in("#rank-filter", "61")
            self.assertEqual(["0-4, 6-63 (\u00d763)"], self.texts("#table-ranks td.c-ranks"))

    def test_an_op_is_found_by_its_name(self):
        browser = self.open("swin")
        browser.type_in("#op-search", "bdstbuf#1")
        browser.press("\ue007")
        self.assertEqual(["rank 0 BdstBuf#1"], self.selected_nodes())
        self.assertIn("1 of", self.texts("#op-found")[0])
        browser.type_in("#op-search", "no such op")
        browser.press("\ue007")
        self.assertEqual(["none"], self.texts("#op-found"))
        browser = self.open("alike")
        browser.type_in("#op-search", "rank 44 all_reduce")
        browser.press("\ue007")
        browser.frame()
        self.assertEqual(["rank 44"], self.ranks_of_lanes())

    def test_a_page_says_where_calls_stand_and_what_made_it(self):
        self.open("alike")
        self.assertIn("train.py:15", self.texts("#table-waits td.n-source")[0])
        self.assertRegex(self.texts("#made")[0], r"^Made by pipesim \d\S*: pipesim run alike\.yaml\. Fingerprint")
        self.open("possible")
        self.assertIn("pipesim check scenarios/buffer_on_the_wrong_stream.yaml.", self.texts("#made")[0])
        self.open("large")
        self.assertIn("pipesim run scenarios/pipeline_1f1b.yaml --set stages=64.", self.texts("#made")[0])

    def test_tables_sort(self):
        browser = self.open("swin")
        missing = "#table-actors thead th:nth-child(8) button"
        column = "#table-actors tbody td:nth-child(8)"
        browser.js("document.querySelector('#actors .more-rows').click();")
        before = self.texts("#table-actors tbody tr")

        def numbers():
            return [int(text or 0) for text in self.texts(column)]

        browser.js("document.querySelector(arguments[0]).click();", missing)
        self.assertEqual(sorted(numbers()), numbers())
        self.assertEqual("ascending", browser.js(
            "return document.querySelector('#table-actors th[aria-sort]').getAttribute('aria-sort');"))
        browser.js("document.querySelector(arguments[0]).click();", missing)
        self.assertEqual(sorted(numbers(), reverse=True), numbers())
        self.assertEqual(460 - 284, sum(numbers()))  # the verdict's number of ops that are not done
        browser.js("document.querySelector(arguments[0]).click();", missing)
        self.assertEqual(before, self.texts("#table-actors tbody tr"))
        # Names are sorted, with numbers in numeric order.
        self.open("large")
        browser.js("document.querySelector('#actors .more-rows').click();"
                   "document.querySelector('#table-actors thead th:nth-child(2) button').click();")
        names = self.texts("#table-actors tbody td:nth-child(2)")
        self.assertLess(names.index("2B"), names.index("10B"))

    def test_the_keyboard_is_enough(self):
        browser = self.open("swin")
        reached = []
        for _ in range(60):
            browser.press("Tab")
            name = browser.js("const now = document.activeElement;"
                              "return now.id || now.closest('[id]')?.id || '';")
            outline = browser.js("return getComputedStyle(document.activeElement).outlineStyle;")
            self.assertNotEqual("none", outline, name)
            reached.append(name)
        for name in ("rank-filter", "theme", "table-cycle", "graph-frame", "timeline-frame", "table-ranks"):
            self.assertIn(name, reached)

        browser.js("document.getElementById('timeline-frame').focus();")
        browser.press("Right")
        said = self.texts("#live")[0]
        self.assertIn("rank 0 nccl-1998#3", said)
        self.assertIn("waits for rank 1 to join", said)
        self.assertEqual(1, len(self.texts(".focus-mark")))
        browser.press("Left")
        self.assertNotEqual(said, self.texts("#live")[0])
        browser.press("Right", "Enter")
        self.assertEqual(["rank 0 nccl-1998#3"], self.selected_nodes())
        browser.press("Down")
        self.assertIn("rank 0 ", self.texts("#live")[0])
        self.assertNotIn("stream forward", self.texts("#live")[0])
        browser.press("Escape")
        self.assertEqual([], self.selected_nodes())

        browser.js("document.getElementById('graph-frame').focus();")
        browser.press("Down")
        first = browser.js("return document.querySelector('#graph-frame .focused').dataset.name;")
        self.assertEqual("rank 0 nccl-1998#3", first)  # the first op of the cycle
        browser.press("Down", "Enter")
        second = browser.js("return document.querySelector('#graph-frame .focused').dataset.name;")
        self.assertNotEqual(first, second)
        self.assertEqual([second] if second.count("#") else [], self.selected_nodes())

        # In a table, Enter selects the focused row, which keeps the focus.
        browser.js("document.querySelector('#table-cycle tbody tr:nth-child(4) button').focus();")
        browser.press("Enter")
        self.assertEqual(["rank 1 Repeat#3", "rank 1 Zeros#2"], self.selected_nodes())
        self.assertEqual("Repeat#3", browser.js("return document.activeElement.textContent;"))

    def ticks(self):
        return self.texts("#timeline-frame .axis text[text-anchor]")

    def test_the_pictures_move(self):
        browser = self.open("swin")
        whole = self.ticks()
        self.assertIn("40 us", whole)
        browser.js("document.getElementById('timeline-frame').focus();")
        browser.press("+", "+", "+")
        zoomed = self.ticks()
        self.assertNotEqual(whole, zoomed)
        self.assertEqual([], browser.js(OVERLAPS))
        browser.press("0")
        self.assertEqual(whole, self.ticks())
        browser.wheel("#timeline-frame .axis", -200, with_control=True)
        self.assertNotEqual(whole, self.ticks())
        self.assertEqual([], browser.js(OVERLAPS))
        before = self.ticks()
        browser.drag("#timeline-frame text.rank", 120, 0)
        self.assertNotEqual(before, self.ticks())
        browser.press("0")

        view = "return document.querySelector('#graph-frame svg').getAttribute('viewBox');"
        fitted = browser.js(view)
        browser.wheel("#graph-frame", -200, with_control=True)
        near = browser.js(view)
        self.assertLess(float(near.split()[2]), float(fitted.split()[2]))
        browser.drag("#graph-frame g.node[data-name='rank 1 B2#1']", 50, 40)
        moved = browser.js(view)
        self.assertEqual(near.split()[2:], moved.split()[2:])
        self.assertLess(float(moved.split()[0]), float(near.split()[0]))
        self.assertEqual([], self.selected_nodes())  # a drag is not a click
        # Without Control, the wheel scrolls the page.
        browser.wheel("#graph-frame", 200, with_control=False)
        self.assertEqual(moved, browser.js(view))

    def test_a_large_run_begins_with_what_tells_most(self):
        browser = self.open("large")
        lanes = set(self.texts("#timeline-frame text.lane"))
        self.assertEqual({"compute"}, lanes)
        self.assertLess(browser.js("return document.querySelectorAll('#timeline-frame rect').length;"), 4000)
        browser.js("[...document.querySelectorAll('#timeline .tools button')]"
                   ".find((button) => button.textContent === 'All streams').click();")
        browser.frame()
        self.assertIn("nccl 0 to 1", self.texts("#timeline-frame text.lane"))

    def test_each_rank_can_be_reached(self):
        for width in (400, 1400):
            prefix = "" if width == 400 else "rank "
            # 512 ranks that all differ, and 16,384 ranks with few distinct programs.
            for name, ranks in (("many", 512), ("folded", 16384)):
                browser = self.open(name, width)
                for rank in (ranks // 2 + 1, ranks - 1):
                    browser.type_in("#rank-filter", str(rank))
                    browser.frame()
                    self.assertEqual([f"{prefix}{rank}"], self.ranks_of_lanes())
                    self.assertNotEqual([], self.texts("#timeline-frame .slice"), (name, rank))
                # Buttons page through all ranks.
                browser.js("document.querySelectorAll('#rank-buttons button')[0].click();")
                seen = []
                for _ in range(2):
                    browser.js("document.querySelector('#rank-buttons [aria-label=\"Show the next ranks\"]').click();")
                    seen.append(browser.js("return document.getElementById('rank-filter').value;"))
                browser.js("document.querySelector('#rank-buttons [aria-label=\"Show the ranks before\"]').click();")
                seen.append(browser.js("return document.getElementById('rank-filter').value;"))
                self.assertEqual(["0-31", "32-63", "0-31"], seen)
                # A search also finds the ops of ranks that are not shown.
                browser.type_in("#op-search", f"rank {ranks - 3}")
                browser.press("Enter")
                browser.frame()
                self.assertIn(f"{prefix}{ranks - 3}", self.ranks_of_lanes())

    def test_the_timeline_has_what_the_picture_has(self):
        browser = self.open("chunks", 1400)
        legend = [text.strip() for text in self.texts("#legend span")]
        for name in ("forward, chunk 0", "forward, chunk 1", "backward, chunk 0", "backward, chunk 1"):
            self.assertIn(name, legend)
        fills = browser.js(
            "return ['.k-forward:not(.s-1)', '.k-forward.s-1', '.k-backward.s-1'].map((name) =>"
            " getComputedStyle(document.querySelector(`#timeline-frame ${name}`)).fill);")
        self.assertEqual(["rgb(90, 169, 221)", "rgb(179, 218, 244)", "rgb(253, 235, 200)"], fills)
        self.assertEqual(["Idle: bubble 15.8 %."], self.texts("#idle"))
        browser = self.open("guilty", 1400)
        self.assertEqual(["rank 5"], self.texts("#timeline-frame text.rank.guilty"))
        self.assertEqual(["rank 5 never joins"], self.texts("#timeline-frame .label.guilty"))
        for width, height in SIZES:
            for scheme in SCHEMES:
                browser = self.open("guilty", width, height, scheme)
                label, name = browser.js(
                    "return ['.label.guilty', 'text.rank.guilty'].map((found) =>"
                    " getComputedStyle(document.querySelector(`#timeline-frame ${found}`)).fill);")
                self.assertEqual(name, label, scheme)
        browser = self.open("guilty", 400)
        self.assertEqual(["never joins"], self.texts("#timeline-frame .label.guilty"))
        # A stream that only waits for an event is idle.
        browser.type_in("#rank-filter", "0")
        browser.frame()
        self.assertEqual([], [text for text in self.texts("#timeline-frame .label") if text.startswith("wait for")])

    def test_a_narrow_window_breaks_no_word_of_a_button_and_shows_waits_as_cards(self):
        browser = self.open("guilty", 400)
        heights = browser.js("return [...document.querySelectorAll('.tools button')]"
                             ".map((found) => found.getBoundingClientRect().height);")
        self.assertGreater(len(heights), 5)
        self.assertLess(max(heights), 40)
        self.assertEqual(["cards"], browser.js(
            "return [...document.querySelectorAll('[id^=table-waits]')].map((found) => found.className);"))
        wide = browser.js("return [...document.querySelectorAll('[id^=table-waits] td')]"
                          ".filter((found) => found.getBoundingClientRect().right > innerWidth).length;")
        self.assertEqual(0, wide)

    def test_labels_of_a_timeline_keep_off_the_line_at_its_end(self):
        for width in (400, 1400):
            browser = self.open("guilty", width)
            labels, crossed = browser.js("""
              const line = document.querySelector("#timeline-frame .axis .moment").getBoundingClientRect().x;
              const texts = [...document.querySelectorAll("#timeline-frame .axis text:not([class]), "
                  + "#timeline-frame .label:not(.chip-text)")];
              const crossed = texts.map((text) => text.getBoundingClientRect())
                  .filter((box) => box.left < line && box.right > line);
              return [document.querySelectorAll("#timeline-frame .axis text:not([class])").length, crossed.length];""")
            self.assertGreater(labels, 0, width)
            self.assertEqual(0, crossed, width)

    def test_the_models_of_a_check_fit_a_narrow_window(self):
        browser = self.open("readings", 400)
        self.assertEqual([], browser.js(
            "return [...document.querySelectorAll('#readings td')]"
            ".filter((found) => found.getBoundingClientRect().right > innerWidth).map((found) => found.textContent);"))

    def test_the_button_for_dark_is_next_to_the_links(self):
        browser = self.open("readings", 1400)
        links, button = browser.js(
            "return ['#contents', '#theme'].map((part) => document.querySelector(part).getBoundingClientRect().bottom);")
        self.assertLess(abs(links - button), 30)

    def test_the_graph_fits_a_narrow_window(self):
        browser = self.open("swin", 400, 812)
        inside = browser.js("""
          const frame = document.getElementById("graph-frame").getBoundingClientRect();
          return [...document.querySelectorAll("#graph-frame g.node")].map((node) => node.getBoundingClientRect())
              .map((box) => box.left >= frame.left - 1 && box.right <= frame.right + 1);""")
        self.assertGreater(len(inside), 10)
        self.assertTrue(all(inside), inside)

    def test_light_and_dark(self):
        background = "return getComputedStyle(document.body).backgroundColor;"
        browser = self.open("swin", scheme="light")
        light = browser.js(background)
        browser = self.open("swin", scheme="dark")
        dark = browser.js(background)
        self.assertEqual(("rgb(255, 255, 255)", True), (light, light != dark))
        browser.click("#theme")
        self.assertEqual(light, browser.js(background))
        browser.open(self.pages["swin"])  # the choice persists
        self.assertEqual(light, browser.js(background))

    def views(self, name):
        """Yields the page in narrow and wide windows, light and dark."""
        for width, height in SIZES:
            for scheme in SCHEMES:
                yield self.open(name, width, height, scheme)

    def test_text_can_be_read_in_light_and_dark(self):
        # WCAG 2 requires a contrast of 4.5 for text. A transparent background has the color
        # underneath.
        faint = """
          const light = (text) => {
            const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
                .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const behind = (found) => {
            for (let now = found; now; now = now.parentElement) {
              const colour = getComputedStyle(now).backgroundColor;
              if (!/, 0\\)$/.test(colour)) return colour;
            }
            return "rgb(255, 255, 255)";
          };
          return [...document.querySelectorAll("p, li, td, th, h1, h2, button, a, label, .plot text")]
              .filter((found) => found.offsetParent !== null || found.closest("svg"))
              .filter((found) => found.textContent.trim() !== "")
              .map((found) => {
                const style = getComputedStyle(found);
                const own = light(found.closest("svg") ? style.fill : style.color);
                const other = light(behind(found));
                return [found.textContent.slice(0, 40),
                        (Math.max(own, other) + 0.05) / (Math.min(own, other) + 0.05)];
              }).filter(([, contrast]) => contrast < 4.5);"""
        for name in ("swin", "crash", "possible", "sweep", "diff", "hangs"):
            for browser in self.views(name):
                self.assertEqual([], browser.js(faint))

    def test_a_sweep_says_which_settings_hang(self):
        for browser in self.views("sweep"):
            self.assertEqual(["some do not complete"], self.texts("#verdict"))
            # acc <= 2 completes with one slot of Zeros, acc <= 3 with two slots: see
            # swin_2x2x2.yaml.
            rows = [self.texts(f"#table-endings tbody tr:nth-child({i}) td")[:2] for i in (1, 2, 3, 4)]
            self.assertEqual([["acc=1,2", "completes"], ["acc=3 zeros_slots=2", "completes"]],
                             [row for row in rows if row[1] == "completes"])
            self.assertEqual({("acc=4..40", "A"), ("acc=3 zeros_slots=1", "A")},
                             {tuple(row) for row in rows if row[1] != "completes"})
            # The page shows only the first of 160 settings, until the user asks for all settings.
            self.assertEqual(60, len(self.texts("#table-settings tbody tr")))
            browser.js("document.querySelector('#settings .more-rows').click();")
            self.assertEqual(160, len(self.texts("#table-settings tbody tr")))
            self.assertEqual(10, len(self.texts("#table-cycle-A tbody tr")))
            self.assertIn("queued behind nccl-1998#3", self.texts("#table-cycle-A tbody tr:nth-child(10)")[0])
            self.assertEqual(1, browser.js("return document.querySelectorAll('#plot svg').length;"))

    def test_rows_are_found_by_their_words(self):
        for browser in self.views("sweep"):
            browser.type_in("#op-search", "acc=3 zeros_slots=1 jitter=10%")
            self.assertEqual(1, len(self.texts("#table-settings tbody tr")))
            self.assertEqual(["3", "1", "10%"], self.texts("#table-settings tbody td")[:3])
            browser.type_in("#op-search", "acc=nothing")
            self.assertEqual(["No such row."], self.texts("#table-settings tbody td"))
            self.assertEqual(["0 rows"], self.texts("#op-found"))

    def test_a_sweep_takes_keys_and_touch(self):
        for browser in self.views("sweep"):
            head = "#table-settings thead th:nth-child(1)"
            browser.js("document.querySelector(arguments[0]).querySelector('button').focus();", head)
            browser.press("Enter", "Enter")
            self.assertEqual("40", self.texts("#table-settings tbody td")[0])
            browser.tap(f"{head} button")
            self.assertEqual("1", self.texts("#table-settings tbody td")[0])
            browser.tap("#theme")
            self.assertIn(browser.js("return document.documentElement.dataset.theme;"), SCHEMES)

    def test_a_diff_stands_side_by_side(self):
        for browser in self.views("hangs"):
            self.assertEqual(["different"], self.texts("#verdict"))
            tops = browser.js("return ['cycle-A', 'cycle-B'].map((id) => {"
                              "const box = document.getElementById(id).getBoundingClientRect();"
                              "return [box.left, box.top, box.width];});")
            (left, top, width), (other_left, other_top, _) = tops
            if browser.js("return innerWidth;") > 1000:
                self.assertEqual(top, other_top)
                self.assertGreaterEqual(other_left, left + width)
            else:
                self.assertEqual(left, other_left)
                self.assertGreater(other_top, top)
            self.assertEqual(10, len(self.texts("#table-cycle-A tbody tr")))
            self.assertEqual(["yes"] * 10, self.texts("#table-cycle-B td:last-child"))
        self.open("diff")
        self.assertEqual(["No ops wait for each other in a cycle."], self.texts("#cycle-B li"))
        self.assertEqual(["actor", "buffer", "stream", "forward", "backward", "line 23", "line 17"],
                         self.texts("#table-graph-changes tbody tr:nth-child(1) td"))
        self.assertRegex(self.texts("#made")[0], r"^Made by pipesim \d\S*: pipesim diff scenarios/")

    def test_fingers_do_what_a_mouse_does(self):
        for browser in self.views("swin"):
            # A tap selects, without a tooltip that would hide the content below the finger. (A
            # narrow window shows a part of the graph.)
            browser.js("document.getElementById('graph').scrollIntoView();")
            node = browser.js("""
              return [...document.querySelectorAll("#graph-frame g.node.on-cycle")].find((found) => {
                const box = found.getBoundingClientRect();
                const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                return there && found.contains(there);
              }).dataset.name;""")
            browser.tap(f"#graph-frame g.node[data-name='{node}']")
            self.assertEqual([node], self.selected_nodes())
            self.assertIsNone(self.tooltip())
            browser.tap("#selection .close")
            self.assertEqual([], self.selected_nodes())
            browser.tap("#table-cycle tbody tr:nth-child(8) button")
            self.assertEqual(["rank 0 B0#1", "rank 0 nccl-2108#1"], self.selected_nodes())
            browser.tap("#selection .close")
            browser.tap("#timeline-frame .chip.cycle")
            self.assertEqual(["rank 0 BdstBuf#1"], self.selected_nodes())
            browser.tap("#selection .close")
            # Two fingers zoom, one finger moves sideways; vertical moves scroll the page.
            browser.js("document.getElementById('timeline').scrollIntoView();")
            whole = self.ticks()
            browser.spread("#timeline-frame", 30, 120)
            near = self.ticks()
            self.assertNotEqual(whole, near)
            browser.swipe("#timeline-frame", -200, 0)
            self.assertNotEqual(near, self.ticks())
            self.assertEqual([], browser.js(OVERLAPS))
            view = "return Number(document.querySelector('#graph-frame svg').getAttribute('viewBox').split(' ')[2]);"
            browser.js("document.getElementById('graph').scrollIntoView();")
            fitted = browser.js(view)
            browser.spread("#graph-frame", 30, 120)
            self.assertLess(browser.js(view), fitted)
            self.assertEqual([], self.selected_nodes())

    def test_it_can_be_printed(self):
        browser = self.open("swin", scheme="dark")
        drawn = len(self.texts("#timeline-frame text.rank"))
        self.assertLess(drawn, 8)  # the others are outside the visible part
        browser.js("dispatchEvent(new Event('beforeprint'));")
        browser.media("dark", "print")
        self.assertEqual(8, len(self.texts("#timeline-frame text.rank")))
        self.assertEqual("rgb(255, 255, 255)",
                         browser.js("return getComputedStyle(document.body).backgroundColor;"))
        self.assertEqual("none", browser.js("return getComputedStyle(document.getElementById('bar')).display;"))
        browser.js("dispatchEvent(new Event('afterprint'));")
        browser.media("dark")
        browser.frame()
        self.assertEqual(drawn, len(self.texts("#timeline-frame text.rank")))

    def test_what_is_said_to_who_does_not_see(self):
        browser = self.open("swin")
        unnamed = browser.js("""
          return [...document.querySelectorAll("button, input, [tabindex='0'], a")].filter((found) => {
            const label = found.id && document.querySelector(`label[for="${found.id}"]`);
            return !(found.textContent.trim() || found.getAttribute("aria-label") || label);
          }).map((found) => found.outerHTML);""")
        self.assertEqual([], unnamed)
        self.assertEqual([], browser.js("""
          const ids = [...document.querySelectorAll("[id]")].map((found) => found.id);
          return ids.filter((id, index) => ids.indexOf(id) !== index);"""))


if __name__ == "__main__":
    reason = why_not()
    if reason is None:
        unittest.main()
    elif os.environ.get("PIPESIM_BROWSER") == "yes":
        sys.exit(f"FAILED: {reason}")
    else:
        print(f"SKIPPED: {reason}")
