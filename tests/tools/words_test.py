"""Texts for users follow the glossary.

    words_test.py PROGRAM

Each entry of WORDS is a regular expression for wording to avoid, and its replacement. Code in
backquotes and code blocks is not wording, so keys, options and values stay as they are.
"""

import ast
import io
import pathlib
import re
import subprocess
import sys
import tokenize
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/golden"))
import cases  # noqa: E402

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

WORDS = {
    # Terms.
    r"acts?": "op, ops",
    r"circles?": "cycle",
    r"ring of waits": "cycle",
    r"at rest": "quiescent",
    r"comes? to rest": "quiescent",
    r"nothing happens any ?more": "no further progress",
    r"nothing (?:can happen|moves) any ?more": "no further progress",
    r"(?:does|do|did) not get done": "stuck",
    r"never comes?": "missing",
    r"stands? in its stream": "queued behind",
    r"in (?:which|what) order events": "interleaving",
    r"(?:all|every|any|no|another|other|an|each) orders? (?:hangs?|that hangs?|that differ|of the (?:acts|ops|events))": "interleaving",
    r"all (?:its )?orders": "every interleaving",
    r"forks?": "branch point",
    r"other end of (?:its|the) message": "matching send, matching recv",
    r"creation of (?:a|the|its|their) communicators?": "communicator initialization",
    r"communicators? (?:is|are) created": "initialized",
    r"communicator creation": "communicator initialization",
    r"rounds? that (?:were|was|it|each)": "sequence number",
    r"rooms? (?:of|on) (?:a|the|each) device": "kernel slots",
    r"(?:finds?|has|have|with|is) (?:no )?room for": "kernel slots",
    r"finds? no room": "no free kernel slot",
    r"guards?": "timeout, watchdog",
    r"aftermath": "teardown",
    r"odd ones?(?: out)?": "straggler",
    r"eager": "buffered",
    # Sentences.
    r"waits? for what died": "waits for rank 9, which died",
    r"cannot get over": "cannot reach",
    r"what met and does not fit": "mismatched calls",
    r"wait for each other in circles": "independent cycles",
    r"each of these changes alone": "any one of these changes",
    r"wait \d+ goes": "breaks wait 1",
    r"tried without use": "tried, still hangs",
    r"has no place for them": "cannot be written as a patch",
    r"as wished": "success",
    r"which of these timings": "random seed",
    r"so many random timings": "random timings per setting",
    r"its ending says how": "the extension selects the format",
    r"(?:hold|holds|held)(?: \w+){0,3} against": "check against",
    r"say(?:s)? nothing of": "suppress",
    r"standard input is there once": "only one input may be '-'",
    r"is no YAML": "invalid YAML",
    r"indented as none of": "indentation matches no enclosing block",
    r"is nothing ever put|nothing is ever put": "unknown stream",
    r"is a whole number, found": "expected an integer, found",
    r"whole numbers?": "integer",
    r"the schedule is one of \d": "this schedule needs",
    r"a block is done": "`repeat` must be between",
    r"has no meaning here": "cannot be used here",
    r"is left as it is": "not overwritten",
    r"the heart of (?:a|the) hang": "a reduced hang",
    # Habits.
    r"(?:is|are) told": "is printed, is reported",
    r"has to hold before": "",
    r"where that is": "",
    r"likewise": "also",
    r"of (?:one's|its|their) own sort": "",
    r"one of its own": "its own",
    r"it is what": "",
    r"(?<!there )(?:is|are) no (?!longer|more|less|fewer)\w+(?= *(?:[.,;:]|$))": "is not a",
    r"nothing where": "",
    r"for ever": "forever",
    r"k(?:Most|Least)\w+": "kMax, kMin",
    r"# The house|# Words|# Messages": "Architecture, Glossary, Error messages",
}
BAD = re.compile(r"(?<![\w-])(?:" + "|".join(WORDS) + r")(?![\w-])", re.IGNORECASE | re.MULTILINE)

# Places where such a word is a name: OneFlow's eager mode, a key of the scenario format or of JSON,
# a name in a test.
NAMES = re.compile(
    r"known here: [^$]*?\n(?=\S)|eager boxings?|LogGOPSim: eager|'(?:guards|eager|act|guard(?:\.\w+)?)'|\b(?:guards|eager|act):"
    # Values of JSON, which programs depend on.
    r"|(?m:^(?:no circle|other orders hang|odd ones out|not at rest|at an act|communicator creation)$)"
    r"|(?m:^guards \w+$)|:register=guard\b|\bregisters that guard\b"
    r'|"acts?":|\bacts\.yaml|:register=guard\b|(?m:^ ?guard$)'
)
# Texts written by users: commands, and lines of their files above a caret.
QUOTED = re.compile(r"^(?:\$ .*|.*\n +\^)$", re.MULTILINE)

# Other texts for users. False only while these texts are being rewritten.
REPORTS = True  # expected outputs, pictures, and the examples of the pages
HELP = True  # --help, man pages, and what `pipesim new` writes


def prose(markdown, samples):
    """Returns a page without code. With `samples`, the output of its examples counts."""
    def block(found):
        return "\n" + found[2] if samples and found[1] == "console" else "\n"

    text = re.sub(r"^```(\w*)[^\n]*\n(.*?)^```$", block, markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?<=\n\n)(?:    .*\n)+", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"`[^`]*`", "``", text)


def comments(yaml):
    """Returns the comments of a scenario, and its descriptions of parameters."""
    about = [text.strip("'\"") for text in re.findall(r"\babout: *('[^']*'|\"[^\"]*\"|[^,}\n]*)", yaml)]
    return re.sub(r"`[^`]*`", "``", "\n".join([*re.findall(r"(?:^|\s)# (.*)", yaml), *about]))


def sentences(code):
    """Returns the string literals of C++, JavaScript or Python that read as text: two words or
    more."""
    code = re.sub(r"^ *(?://|#(?!include)).*$|^#include.*$", "", code, flags=re.MULTILINE)
    code = re.sub(r'"\s*\n\s*"', "", code)  # one literal on several lines
    literals = re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)
    literals += [re.sub(r"\$\{[^}]*\}", "{}", text) for text in re.findall(r"`([^`]*)`", code)]
    texts = [re.sub(r"\\.", " ", text) for text in literals if re.search(r"[a-z'}] [a-z{'}]", text)]
    return re.sub(r"`[^`]*`|'[\w:-]+:?'|<[^>]*>", "``", "\n\n".join(texts))


class Words(unittest.TestCase):
    def check(self, name, text):
        text = NAMES.sub("", text)
        # A phrase can continue on the next line.
        flat = re.sub(r"\n(?:[ #>*-]*)(?=\w)", " ", text)
        found = [f"'{hit[0]}' in ...{flat[max(0, hit.start() - 40):hit.end() + 40]}..." for hit in BAD.finditer(flat)]
        with self.subTest(text=name):
            self.assertEqual([], found)

    def test_pages(self):
        pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")]
        for page in [*pages, *sorted((ROOT / "docs").rglob("*.md"))]:
            text = page.read_text(encoding="utf-8")
            self.check(str(page.relative_to(ROOT)), prose(text, REPORTS))

    def test_scenarios(self):
        for path in sorted((ROOT / "scenarios").glob("*.yaml")):
            self.check(path.name, comments(path.read_text(encoding="utf-8")))

    @unittest.skipUnless(REPORTS, "reports")
    def test_reports(self):
        for path in sorted((ROOT / "tests/golden").glob("*.test")):
            outputs = [
                QUOTED.sub("", output)
                for part in cases.read_case(path)[1] if isinstance(part, cases.Command)
                for output in (part.stdout, part.stderr) if output[:1] != "{"
            ]
            self.check(str(path.relative_to(ROOT)), "\n".join(outputs))
        for path in sorted((ROOT / "docs/pictures").glob("*.svg")):
            words = re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", path.read_text(encoding="utf-8"))
            self.check(path.name, "\n".join(words))

    @unittest.skipUnless(HELP, "help")
    def test_help(self):
        def pipesim(*arguments):
            return subprocess.run([str(PROGRAM), *arguments], check=True, stdout=subprocess.PIPE,
                                  text=True, encoding="utf-8").stdout  # fmt: skip

        for command in ["", *pipesim("help", "--list").split()]:
            names = [command] if command else []
            self.check(f"help {command}", pipesim("help", *names))
            self.check(f"man {command}", pipesim("help", "--man", *names))
        for kind in re.findall(r"^\w+", pipesim("new", "--list"), re.MULTILINE):
            self.check(f"new {kind}", comments(pipesim("new", kind)))

    def test_messages(self):
        for folder in ("app", "features", "formats", "library", "models", "viz", "python/pipesim"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in (".cpp", ".hpp", ".py", ".js"):
                    text = sentences(path.read_text(encoding="utf-8"))
                    self.check(str(path.relative_to(ROOT)), text)
        page = (ROOT / "viz/page/files/page.html").read_text(encoding="utf-8")
        self.check("page.html", re.sub(r"<[^>]*>", " ", page))

    def test_the_words_are_found(self):
        for bad in ("two acts", "An act is", "in a\ncircle", "'x' is no unit", "the guards", "the other end of its message,",
                    "Wait 2 goes:", "each is told,", "finds no room on"):  # fmt: skip
            self.assertTrue(BAD.search(re.sub(r"\n", " ", bad)), bad)
        for good in ("acted", "There is no unit.", "`act`", "is no longer", "fact", "no further progress"):
            self.assertFalse(BAD.search(prose(good, True)), good)


# In code: names with an old word as a part; comments and titles of tests with an old word, or a first
# word that makes readers stumble.
PARTS = set("act creation kahn guard room circle guilty aftermath".split())
OLD_NAMES = re.compile(r"k(?:Most|Least|Few)(?:[A-Z]\w*)?|(?:at|after)_rest|Reading|reading_name")
OLD_WORDS = re.compile(
    r"\b(?:acts?(?! (?:at|on|as|like)\b)|circles?|at rest|comes? to rest|guards?"
    r"|creations? of (?:a|the|its) communicators?|rooms? (?:of|on) (?:a|the|its) device|aftermath"
    r"|odd ones?|likewise|so many|(?:is|are) told|one of its own(?! \w)|made once more"
    r"|nothing where)\b", re.IGNORECASE)  # fmt: skip
FIRST_WORDS = re.compile(
    r"(?:Of|What|Whatever|Which|Who|Whoever|Whom|Whose|Those|As|By|With|Where|Nothing|None|Likewise"
    r"|Both|One of|It|They|There|Here|In which|Behind|Beside)\b")  # fmt: skip
# Names that may contain an old word: lock_guard of C++, the option memory_guard of a pass, and JSON
# keys in the scripts of the page.
RIGHT_NAMES = {"lock_guard", "memory_guard"}
KEYS_OF_JSON = re.compile(r"\b(?:data|run)\.(?:acts|guilty|at_rest)\b")
LITERAL = r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\b\d[\w\'.]*'
LITERAL += r"|'(?:\\.|[^'\\\n])*'|`[^`]*`"
TITLE = re.compile(r'\bTEST_CASE\(\s*"((?:\\.|[^"\\])*)"')
COMMENT = r"(//[^\n]*(?:\n *//[^\n]*)*|/\*(?:.|\n)*?\*/)"


def names_and_comments(path):
    """Returns the identifiers and the comments of a source. Adjacent lines are one comment."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        found = [hit[2] for hit in re.finditer(f"{LITERAL}|{COMMENT}", text) if hit[2]]
        code = re.sub(f"{LITERAL}|{COMMENT}|#include[^\n]*", " ", text)
        return re.findall(r"[A-Za-z_]\w*", KEYS_OF_JSON.sub("", code)), found
    names, found, last = [], [], -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            names.append(token.string)
        elif token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            if token.start[0] == last + 1 and token.line.lstrip().startswith("#"):
                found[-1] += " " + token.string
            else:
                found.append(token.string)
            last = token.start[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(ast.get_docstring(node) or "")
    return names, found


def is_old(name):
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    old = any(part.lower().rstrip("s") in PARTS for part in parts) or OLD_NAMES.fullmatch(name)
    return bool(old) and name not in RIGHT_NAMES


def wrong_in(comment):
    """Returns what is wrong with a comment, or None. Quotes and code are not wording."""
    text = re.sub(r"[\s/*#!]+", " ", comment).strip()
    prose = re.sub(r"`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'|edge \(guard\)", "``", text)
    return FIRST_WORDS.match(text) or OLD_WORDS.search(prose)


class Code(unittest.TestCase):
    def test_names_and_comments(self):
        folders = "app bench examples features formats include library models python sim tests tools viz"
        for path in sorted(path for f in folders.split() for path in (ROOT / f).rglob("*.*")):
            if path.suffix not in (".cpp", ".hpp", ".js", ".py"):
                continue
            names, found = names_and_comments(path)
            found += TITLE.findall(path.read_text(encoding="utf-8"))
            with self.subTest(source=str(path.relative_to(ROOT))):
                self.assertEqual([], sorted({name for name in names if is_old(name)}))
                self.assertEqual([], [comment for comment in found if wrong_in(comment)])

    def test_old_names_and_comments_are_found(self):
        for bad in "kActs act_text ActInfo device_room kMostRanks Reading creation".split():
            self.assertTrue(is_old(bad), bad)
        for good in "exact actor kernel_slots kMax DumpReading created lock_guard".split():
            self.assertFalse(is_old(good), good)
        for bad in ("// Of the ops that", "# Returns the acts of", "/// Which one", "// A circle"):
            self.assertTrue(wrong_in(bad), bad)
        for good in ("// Returns the op, whose `act` is right", "# Offers", "// acts on it"):
            self.assertFalse(wrong_in(good), good)


if __name__ == "__main__":
    unittest.main()
