#!/usr/bin/env python3
"""Checks that the sources keep to the layers of the design.

    library --> app --> viz, formats --> models --> sim --> (C++ standard library only)

    tools/check_layers.py [--root DIR]

Reads the #include lines of the C++ sources. Prints one line per mistake; exits with 1 if there are
any. The rules:

* A folder includes itself and the folders to which an arrow leads. viz and formats do not include
  each other.
* Within a folder, a subfolder includes only the subfolders that `ROOMS` allows, and at most
  `MAX_FILES` sources are directly in a folder.
* No source is longer than `MAX_LINES` lines.
* Our headers are included by their path from the root, in quotes, and exist.
* The public headers include one another and no other header of ours, except `PUBLIC_INSIDE`.
* No header of ours includes a third-party header; a source may if `USES` lists the header.
* sim uses no floating point, no input or output, no host clock, and no random numbers of the
  standard library.
* tests/twin shares no code with the code under test, except in files that compare the results of
  both.
"""

import argparse
import collections
import pathlib
import re
import sys

# The folders that each folder may include besides itself.
MAY_INCLUDE = {
    "sim": (),
    "models": ("sim",),
    "formats": ("models", "sim"),
    "viz": ("models", "sim"),
    "app": ("formats", "viz", "models", "sim"),
    "include/pipesim": (),
    "library": ("include/pipesim", "app", "formats", "viz", "models", "sim"),
}

# The subfolders of each folder, bottom-up, with the subfolders of the same folder that each may
# include. Files directly in the folder are the base: every subfolder may include them, and they
# include no subfolder.
ROOMS = {
    "sim": {
        "engine": (),
        "interleavings": (),
        "fixed_order": (),
        "loggops": (),
        "waits": (),
    },
    "models": {
        "graph": (),
        "lowering": ("graph",),
        "logical": ("graph", "lowering"),
        "schedules": ("graph", "lowering"),
        "passes": ("graph", "lowering", "logical"),
        "lint": ("graph", "lowering"),
        "explain": ("graph", "lowering"),
        "algorithm": ("graph", "lowering", "explain"),
        "measure": ("graph", "lowering", "schedules", "explain"),
        "search": ("graph", "lowering", "explain", "measure"),
        "postmortem": ("graph", "lowering", "explain", "measure"),
        "record": ("graph", "postmortem"),
    },
    "formats": {
        "yaml": (),
        "torch": ("yaml",),
        "goal": (),
        "algorithm": (),
        "keys": ("yaml",),
        "scenario": ("yaml", "torch", "keys"),
        "edits": ("yaml", "scenario"),
        "files": ("yaml", "scenario"),
        "evidence": ("yaml", "torch"),
        "oneflow": ("yaml", "torch"),
        "record": ("yaml",),
    },
    "viz": {
        "text": (),
        "json": ("text",),
        "draw": ("text",),
        "trace": (),
        "html": ("text", "draw"),
        "evidence": ("text", "json"),
    },
    "app": {
        "output": (),
        "input": ("output",),
        "commands": ("output", "input"),
        "cli": ("output", "input", "commands"),
    },
}

# Maximum number of sources directly in a folder; nobody keeps track of more.
MAX_FILES = 32

# Maximum number of lines of a source. A longer source has several subjects; split it by subject.
MAX_LINES = 800

# The public header that exposes internals, for authors of passes.
PUBLIC_INSIDE = {"include/pipesim/task_graph.hpp": ("models",)}

# The public header that includes a third-party header, which its users have.
HEADER_USES = {"include/pipesim/catch2.hpp": r"catch2/"}

# Third-party headers that the sources (never the headers) of a folder may include, as regular
# expressions.
USES = {
    "models": (r"boost/",),
    "formats": (r"yaml-cpp/", r"expat\.h$", r"nlohmann/", r"simdjson\.h$", r"fmt/"),
    "viz": (r"fmt/", r"nlohmann/", r"(graphviz/)?(cgraph|gvc|gvplugin_textlayout)\.h$", r"fcntl\.h$",
            r"spawn\.h$", r"sys/wait\.h$", r"unistd\.h$"),
    "app": (r"boost/program_options", r"fmt/", r"fcntl\.h$", r"sys/(file|ioctl|stat)\.h$", r"unistd\.h$",
            r"zlib\.h$"),
    "library": (r"fmt/",),
}

# Folders in which only the form of includes is checked, not their targets.
OTHER_FOLDERS = ("tests", "bench", "examples", "python", "tools")

# The files of tests/twin that compare the twin with the code under test, and so can include both.
TWIN_SEES_SIM = re.compile(r"tests/twin/((to|from)_plan\.[ch]pp|.*_test\.cpp)$")

STANDARD_HEADERS = frozenset(
    """
    algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts
    condition_variable coroutine deque exception execution filesystem format forward_list fstream
    functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits
    list locale map memory memory_resource mutex new numbers numeric optional ostream queue random
    ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream
    stack stdexcept stop_token streambuf string string_view strstream syncstream system_error thread
    tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
    version
    cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg
    cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype
    """.split()
)

# Headers that the engine must not use: input and output, the host's clock and locale, floating
# point.
NOT_IN_SIM = frozenset(
    """
    chrono ctime clocale cmath cfloat complex filesystem fstream iomanip ios iostream istream locale
    ostream random regex sstream valarray
    """.split()
)

# Matches comments, string and character literals; a literal can contain text that looks like a
# comment.
COMMENT_OR_LITERAL = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?\*/ )
    | R"(?P<end>[^()\s\\]{0,16})\(.*?\)(?P=end)"
    | "(?:[^"\\\n]|\\.)*"
    | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'
    """,
    re.VERBOSE | re.DOTALL,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<form>[<"])(?P<path>[^>"]*)[>"]', re.MULTILINE)
FLOATING_POINT = re.compile(r"\b(?:double|float)\b|(?<![\w.])\d[\d']*\.\d")


def blank(text):
    """Replaces everything except line ends by spaces, so that line numbers stay the same."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return COMMENT_OR_LITERAL.sub(
        lambda found: blank(found[0]) if found["comment"] else found[0], text
    )


def without_comments_and_literals(text):
    return COMMENT_OR_LITERAL.sub(lambda found: blank(found[0]), text)


def room_of(path, folder):
    """Returns the subfolder of `folder` that contains `path`, or None if `folder` itself does."""
    first, slash, _ = path[len(folder) + 1 :].partition("/")
    return first if slash else None


def folder_of(path, folders):
    """Returns the folder that contains `path` (relative to the root), or None."""
    for folder in folders:
        if path.startswith(folder + "/"):
            return folder
    return None


class Checker:
    def __init__(self, root):
        self.root = root
        self.errors = []

    def error(self, path, line, message):
        self.errors.append((path, line, message))

    def check_tree(self):
        """Checks every source below the root; returns their number."""
        paths = self.sources("*.hpp", "*.cpp", "*.h", "*.cc")
        for path in paths:
            self.check_file(path.relative_to(self.root).as_posix(), path.read_text("utf-8"))
        for path in paths + self.sources("*.py", "*.js", "*.pml"):
            lines = path.read_text("utf-8").count("\n")
            if lines > MAX_LINES:
                name = path.relative_to(self.root).as_posix()
                self.error(name, 1, f"{lines} lines, and {MAX_LINES} are the limit")
        for folder, count in sorted(collections.Counter(path.parent for path in paths).items()):
            name = folder.relative_to(self.root).as_posix()
            if count > MAX_FILES:
                self.error(name, 1, f"{count} sources in one folder, and {MAX_FILES} are the limit")
            parent, _, room = name.rpartition("/")
            if parent in ROOMS and room not in ROOMS[parent]:
                self.error(name, 1, f"ROOMS in tools/check_layers.py does not know '{room}'")
        return len(paths)

    def sources(self, *patterns):
        """Returns the files in our folders whose names match one of the patterns."""
        return sorted(
            path
            for folder in (*MAY_INCLUDE, *OTHER_FOLDERS)
            for pattern in patterns
            for path in (self.root / folder).rglob(pattern)
        )

    def check_file(self, path, text):
        if not path.endswith((".hpp", ".cpp")):
            self.error(path, 1, "sources end in .cpp and headers in .hpp")
        code = without_comments(text)
        for found in INCLUDE.finditer(code):
            line = code.count("\n", 0, found.start("path")) + 1
            self.check_include(path, line, found["form"], found["path"])
        if path.startswith("sim/"):
            bare = without_comments_and_literals(text)
            for found in FLOATING_POINT.finditer(bare):
                line = bare.count("\n", 0, found.start()) + 1
                self.error(path, line, f"floating point in sim: '{found[0]}'")

    def check_include(self, path, line, form, included):
        if included.startswith(("./", "../", "/")) or "/../" in included:
            self.error(path, line, f"'{included}' is not a path from the root")
        elif form == '"':
            self.check_ours(path, line, included)
        elif folder_of(included, (*MAY_INCLUDE, *OTHER_FOLDERS)):
            self.error(path, line, f"<{included}> is ours: write it in quotes")
        elif folder := folder_of(path, MAY_INCLUDE):
            self.check_foreign(path, line, folder, included)

    def check_ours(self, path, line, included):
        # Public headers are included as "pipesim/...", from include/.
        included = re.sub(r"^pipesim/", "include/pipesim/", included)
        if not (self.root / included).is_file():
            self.error(path, line, f"'{included}' is not a file below the root")
            return
        source = folder_of(path, MAY_INCLUDE)
        target = folder_of(included, MAY_INCLUDE)
        if source is None:
            if path.startswith("tests/twin/") and not TWIN_SEES_SIM.match(path):
                if not included.startswith("tests/twin/"):
                    self.error(path, line, f"the twin shares no code: '{included}'")
        elif target is None:
            self.error(path, line, f"{source} must not include '{included}'")
        elif target in PUBLIC_INSIDE.get(path, ()):
            pass
        elif target != source and target not in MAY_INCLUDE[source]:
            allowed = ", ".join(MAY_INCLUDE[source]) or "nothing of ours"
            self.error(
                path, line, f"{source} must not include '{included}': it may use {allowed}"
            )
        elif target == source:
            self.check_rooms(path, line, source, included)

    def check_rooms(self, path, line, folder, included):
        here, there = room_of(path, folder), room_of(included, folder)
        if there is None or there == here:
            return
        if there not in ROOMS.get(folder, {}).get(here, ()):
            room = f"{folder}/{here}" if here else folder
            self.error(path, line, f"{room} must not include '{included}': see ROOMS")

    def check_foreign(self, path, line, folder, included):
        if included in STANDARD_HEADERS:
            if folder == "sim" and included in NOT_IN_SIM:
                self.error(path, line, f"sim has no use for <{included}>")
        elif included.endswith(".h") and "c" + included[:-2] in STANDARD_HEADERS:
            self.error(path, line, f"<{included}>: write <c{included[:-2]}>")
        elif path in HEADER_USES and re.match(HEADER_USES[path], included):
            pass
        elif path.endswith(".hpp"):
            self.error(path, line, f"third-party header <{included}> in a header of ours")
        elif not any(re.match(pattern, included) for pattern in USES.get(folder, ())):
            self.error(path, line, f"{folder} must not use <{included}>")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default_root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=default_root, metavar="DIR")
    checker = Checker(parser.parse_args(arguments).root)
    count = checker.check_tree()
    for path, line, message in sorted(checker.errors):
        print(f"{path}:{line}: error: {message}")
    if count == 0:
        print(f"{checker.root}: error: no sources found")
        return 1
    return 1 if checker.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
