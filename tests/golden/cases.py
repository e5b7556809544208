"""Reads and writes golden cases: one file NAME.test has the commands, their inputs and outputs.

    # The first lines are a comment on the purpose of the case.
    $ pipesim run hang.yaml  # exit 1
    its standard output
    -- stderr --
    its standard error
    -- hang.yaml --
    the contents of this input file

A command is a line as a shell reads it, and NAME=VALUE may come before `pipesim`. It must end with
the given exit status, or 0. With exit status 2, the text below it is standard error up to a line
`-- stdout --`; otherwise it is standard output up to a line `-- stderr --`. Other lines in dashes
start a file:

    -- NAME --             an input; all exist before the first command, wherever they are written
    -- NAME, escaped --    an input in Python's escapes; line ends are only those written as \\n
    -- NAME, repeated --   an input in which a line with {1..9} stands for nine; several ranges in a
                           line count together
    -- NAME, from BASE --  a copy of an input, or of a file in tests/golden; each pair of `- old` and
                           `+ new` replaces a text wherever it occurs, and `+ new` alone appends a
                           line; new lines can be repeated
    -- NAME, written --    a file that a command writes

JSON is shown in filled lines, and then stands for exactly the bytes that json.dumps(value, indent=2)
writes: any other layout is shown, and compared, as it is. Graphviz's output is also filled. Errors
are shown without their source line and caret, if they are those of the place, and without the help
"see 'pipesim help CODE'". After `| without hang.ranks next[1:]`, the member `ranks` of `hang`, and
all but the first of `next`, are not shown.
"""

import dataclasses
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent
WIDTH = 100
COMMAND = re.compile(
    r"\$ (?P<line>(?:\w+=\S* )*pipesim(?: .*?)?)"
    r"(?: \| without (?P<removed>.*?))?(?:  # exit (?P<exit>\d+))?"
)
REPEATED = re.compile(r"\{(\d+)\.\.(\d+)\}")
ERROR = re.compile(
    r"(?:(?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+): |[^\[]*: )?"
    r"(?:error|warning)\[(?P<code>E\d{4})\]: "
)
STREAM = re.compile(r"-- (stdout|stderr) --")
FILE = re.compile(
    r"-- (?P<name>[^\s,]+)(?:, (?P<how>escaped|repeated|written|from (?P<base>\S+)))? --"
)


@dataclasses.dataclass
class Command:
    line: str
    exit: int = 0
    removed: list = dataclasses.field(default_factory=list)  # members of JSON that are not shown
    stdout: str = ""
    stderr: str = ""


@dataclasses.dataclass
class File:
    name: str
    how: str = ""
    base: str = ""
    text: str = ""


def flow(value, indent=0, before=0):
    """Returns JSON whose lines are filled up to WIDTH: an object or list takes one line if it fits.
    Otherwise its members are aligned, and each larger object in a list begins a line. `before` is
    the width of the key.
    """
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or indent + before + len(line) < WIDTH:
        return line
    indent += 1
    lines, full = [], True  # whether the last line can take no more members
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        name = json.dumps(key, ensure_ascii=False) + ": " if isinstance(value, dict) else ""
        text = name + flow(member, indent, len(name)) + ","
        larger = isinstance(value, list) and isinstance(member, dict) and len(member) > 1
        alone = larger or "\n" in text
        if full or alone or indent + len(lines[-1]) + len(text) >= WIDTH:
            lines.append(text)
        else:
            lines[-1] += " " + text
        full = alone
    text = ("\n" + " " * indent).join(lines)[:-1]
    return "{" + text + "}" if isinstance(value, dict) else "[" + text + "]"


def dot_flow(text):
    """Returns what Graphviz writes, with the attributes of a statement in filled lines."""
    lines = []
    for line in text.splitlines():
        attribute = line.lstrip("\t")
        before = lines[-1] if lines else ""
        fits = before.endswith(",") and len(before + attribute) < WIDTH
        if fits and line.startswith("\t\t"):
            lines[-1] += " " + attribute
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def without(value, path):
    """Removes a member of a JSON value: KEY.KEY, or all but the first of a list with KEY[1:]."""
    keys = path.split(".")
    for key in keys[:-1]:
        value = value[key]
    if keys[-1].endswith("[1:]"):
        del value[keys[-1][:-4]][1:]
    else:
        del value[keys[-1]]


def excerpt(line, at):
    """Returns the lines in which an error shows a line of ASCII, and a caret below the place."""
    before = after = ""
    if len(line) > 72 and at > 36:
        line, at, before = line[at - 36 :], 36, "..."
    if len(line) > 72:
        line, after = line[:72], "..."
    return [f"  {before}{line}{after}", " " * (2 + len(before) + at) + "^"]


def short_errors(text, folder):
    """Removes what an error repeats: the line of the file in `folder` at its place with a caret
    below the column, and the help that only names its code. An error without help gets a remark.
    """
    lines, result = text.split("\n"), []
    while lines:
        result.append(lines.pop(0))
        found = ERROR.match(result[-1])
        if not found:
            continue
        end = next(i for i, line in enumerate(lines) if not line.startswith("  "))
        details, lines = lines[:end], lines[end:]
        if found["file"] and (folder / found["file"]).is_file():
            source = (folder / found["file"]).read_text(encoding="utf-8", errors="surrogateescape")
            line = (source.split("\n") + [""] * int(found["line"]))[int(found["line"]) - 1]
            if details[:2] == excerpt(line, int(found["column"]) - 1):
                details = details[2:]
        if not any(line.startswith("  help: ") for line in details):
            details.append("  (no help)")
        usual = f"  help: see 'pipesim help {found['code']}'"
        result += [line for line in details if line != usual]
    return "\n".join(result)


def shown(text, folder, removed=()):
    """Returns an output as a case has it: JSON, dot and errors in short form."""
    if text.startswith("digraph "):
        return dot_flow(text)
    if text[:1] in "{[":
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if text == json.dumps(value, indent=2, ensure_ascii=False) + "\n":
            for path in removed:
                without(value, path)
            return flow(value) + "\n"
    return short_errors(text, folder)


def read_case(path):
    """Returns the comment at the top of a case, and its commands and files."""
    comment, parts, stream = "", [], None
    for line in path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")[:-1]:
        if command := COMMAND.fullmatch(line):
            removed = (command["removed"] or "").split()
            parts.append(Command(command["line"], int(command["exit"] or 0), removed))
            stream = "stderr" if parts[-1].exit == 2 else "stdout"
        elif (found := STREAM.fullmatch(line)) and isinstance(parts[-1], Command):
            stream = found[1]
        elif found := FILE.fullmatch(line):
            how = (found["how"] or "").split(" ")[0]
            parts.append(File(found["name"], how, found["base"] or ""))
            stream = "text"
        elif parts:
            setattr(parts[-1], stream, getattr(parts[-1], stream) + line + "\n")
        else:
            comment += line + "\n"
    return comment, parts


def written(comment, parts):
    """Returns the text of a case."""
    text = comment
    for part in parts:
        if isinstance(part, File):
            base = f" {part.base}" if part.base else ""
            text += f"-- {part.name}{', ' + part.how + base if part.how else ''} --\n{part.text}"
            continue
        text += f"$ {part.line}"
        text += f" | without {' '.join(part.removed)}" if part.removed else ""
        text += (f"  # exit {part.exit}" if part.exit else "") + "\n"
        first, second = ("stderr", "stdout") if part.exit == 2 else ("stdout", "stderr")
        text += getattr(part, first)
        if getattr(part, second):
            text += f"-- {second} --\n{getattr(part, second)}"
    return text


def changed(text, changes, where):
    """Returns `text` with the changes of a file that is made from another one."""
    old = None
    for kind, lines in groups(changes):
        if kind == "-":
            old = lines
        elif old is None:
            text += lines + "\n"
        else:
            if old not in text:
                raise ValueError(f"{where}: not in the base: {old}")
            text, old = text.replace(old, lines), None
    return text


def repeated(line):
    """Returns the lines that a line with ranges like {1..9} stands for."""
    ranges = [range(int(found[1]), int(found[2]) + 1) for found in REPEATED.finditer(line)]
    if not ranges:
        return [line]
    if len({len(numbers) for numbers in ranges}) > 1:
        raise ValueError(f"ranges of different lengths: {line}")
    texts = REPEATED.sub("\0", line).split("\0")
    return [
        texts[0] + "".join(str(number) + text for number, text in zip(numbers, texts[1:]))
        for numbers in zip(*ranges)
    ]


def groups(changes):
    """Yields the kind and the text of consecutive lines that begin with the same sign."""
    kind, lines = "", []
    for line in changes.splitlines():
        if line[:1] != kind and lines:
            yield kind, "\n".join(lines)
            lines = []
        kind = line[:1]
        lines += repeated(line[2:]) if kind == "+" else [line[2:]]
    if lines:
        yield kind, "\n".join(lines)


def contents(parts):
    """Returns the bytes of each input file."""
    files = {}
    for part in parts:
        if not isinstance(part, File) or part.how == "written":
            continue
        data = part.text.encode("utf-8", "surrogateescape")
        if part.how == "escaped":
            data = part.text.replace("\n", "").encode().decode("unicode_escape").encode("latin-1")
        elif part.how == "repeated":
            lines = [line for text in part.text.splitlines() for line in repeated(text)]
            data = "".join(line + "\n" for line in lines).encode()
        elif part.how == "from":
            base = files[part.base] if part.base in files else (FOLDER / part.base).read_bytes()
            data = changed(base.decode("utf-8", "surrogateescape"), part.text, part.name)
            data = data.encode("utf-8", "surrogateescape")
        files[part.name] = data
    return files


def inputs(pattern):
    """Yields (case, name, bytes) of the inputs of all cases whose CASE/NAME fits the pattern."""
    for path in sorted(FOLDER.glob("*.test")):
        for name, data in contents(read_case(path)[1]).items():
            if pathlib.PurePath(path.stem, name).match(pattern):
                yield path.stem, name, data
