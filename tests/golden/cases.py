"""Reads and writes golden cases: one file NAME.test has the commands, their inputs and outputs.

    # What the case shows, as a comment before anything else.
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

    -- NAME --              an input; all exist before the first command, wherever they are written
    -- NAME, escaped --     an input in Python's escapes; line ends are only those written as \\n
    -- NAME, from BASE --   a copy of an input, or of a file in tests/golden; each pair of `- old` and
                            `+ new` replaces a text that occurs once, and `+ new` alone appends a line
    -- NAME, written --     a file that a command writes

JSON is shown with small objects on one line, and then stands for exactly the bytes that
json.dumps(value, indent=2) writes: any other layout is shown, and compared, as it is.
"""

import dataclasses
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent
WIDTH = 100
COMMAND = re.compile(r"\$ (?P<line>(?:\w+=\S* )*pipesim(?: .*?)?)(?:  # exit (?P<exit>\d+))?")
STREAM = re.compile(r"-- (stdout|stderr) --")
FILE = re.compile(r"-- (?P<name>[^\s,]+)(?:, (?P<how>escaped|written|from (?P<base>\S+)))? --")


@dataclasses.dataclass
class Command:
    line: str
    exit: int = 0
    stdout: str = ""
    stderr: str = ""


@dataclasses.dataclass
class File:
    name: str
    how: str = ""
    base: str = ""
    text: str = ""


def flow(value, indent=0, before=0):
    """Returns JSON whose objects and lists take one line if they fit into WIDTH, else one line per
    member. Lists of numbers and texts fill their lines. `before` is the width of the key.
    """
    line = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, (dict, list)) or indent + before + len(line) < WIDTH:
        return line
    start = "\n" + " " * (indent + 1)
    if isinstance(value, dict):
        members = []
        for key, member in value.items():
            name = json.dumps(key, ensure_ascii=False) + ": "
            members.append(start + name + flow(member, indent + 1, len(name)))
        return "{" + ",".join(members) + start[:-1] + "}"
    if any(isinstance(item, (dict, list)) for item in value):
        return "[" + ",".join(start + flow(item, indent + 1) for item in value) + start[:-1] + "]"
    lines = [""]
    for item in value:
        text = json.dumps(item, ensure_ascii=False) + ","
        if lines[-1] and indent + len(lines[-1]) + len(text) > WIDTH - 2:
            lines.append("")
        lines[-1] += " " + text if lines[-1] else text
    return "[" + start + start.join(lines)[:-1] + start[:-1] + "]"


def shown(text):
    """Returns an output as a case has it: JSON in short form, everything else unchanged."""
    if text[:1] in "{[":
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if text == json.dumps(value, indent=2, ensure_ascii=False) + "\n":
            return flow(value) + "\n"
    return text


def read_case(path):
    """Returns the comment at the top of a case, and its commands and files."""
    comment, parts, stream = "", [], None
    for line in path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")[:-1]:
        if command := COMMAND.fullmatch(line):
            parts.append(Command(command["line"], int(command["exit"] or 0)))
            stream = "stderr" if parts[-1].exit == 2 else "stdout"
        elif (found := STREAM.fullmatch(line)) and isinstance(parts[-1], Command):
            stream = found[1]
        elif found := FILE.fullmatch(line):
            parts.append(File(found["name"], (found["how"] or "").split(" ")[0], found["base"] or ""))
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
        text += f"$ {part.line}" + (f"  # exit {part.exit}" if part.exit else "") + "\n"
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
            if text.count(old) != 1:
                raise ValueError(f"{where}: {text.count(old)} times in the base: {old}")
            text, old = text.replace(old, lines), None
    return text


def groups(changes):
    """Yields the kind and the text of consecutive lines that begin with the same sign."""
    kind, lines = "", []
    for line in changes.splitlines():
        if line[:1] != kind and lines:
            yield kind, "\n".join(lines)
            lines = []
        kind = line[:1]
        lines.append(line[2:])
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
