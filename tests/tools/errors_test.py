"""Holds three things together: the messages in the code, docs/reference/errors.md, and expected outputs.

    errors_test.py [list | unlisted | unpinned]

A message is what stands behind "error:" or "warning:". They are collected from the sources of
formats/, models/, viz/ and app/: from the arguments of the functions that are named below, with `…`
for what the program puts in. Each has to be in docs/reference/errors.md, and nothing else. Each has to stand
in some `stderr` of tests/golden too, or among the strings of a test that is named below; and so has
each help, a note of a diagnostic. With a word, only that list is printed.
"""

import collections
import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("formats", "models", "viz", "app")
PAGE = "docs/reference/errors.md"
GAP = "…"

# Functions of which the last argument is a message. One that hands its own argument on belongs
# here too: its callers say what is printed.
REPORTERS = {
    "error", "error_once", "warning", "fail", "refuse", "InputError", "FileError", "NoDump",
    "NoReport", "PickleError", "Stop", "DrawingError",
}  # fmt: skip

# Functions of which the first argument is a message, and the second a help.
HELPED = {"UsageError"}

# Functions of which the first argument is a message, and the others are none, by file.
LEADING = {"app/cli/command_line.cpp": {"fail"}}

# Likewise, where the name means something else in other files.
REPORTERS_OF = {
    "models/graph/graph_edit.cpp": {"find_or_tell"},
    "models/passes/build_forward.cpp": {"tell"},
}

# Variables that take a message, and functions that return one, by file.
TAKING = {"problem", "problem_", "why"}
TAKING_OF = {"app/input/evidence_input.cpp": {"kNoEvidence", "kNoDump"}}
RETURNING = {
    "app/commands/goal_command.cpp": {"read_parameter"},
    "app/commands/sweep_command.cpp": {"problem_of"},
    "formats/promela/promela_writer.cpp": {"promela_obstacle"},
    "formats/yaml/yaml_document.cpp": {"explained"},
    "models/lowering/cost.cpp": {"no_link"},
    "models/schedules/generators.cpp": {"shape_problem", "both_ways_problem"},
}

# Functions that return a help, by file.
RETURNING_HELPS = {
    "app/cli/command_line.cpp": {"help_after"},
    "app/command.cpp": {"choice_help"},
}

# Calls that hand a whole message on which is collected elsewhere, as "file: argument".
HANDED_ON = {
    "app/cli/command_line.cpp": {"error.what()"},  # of what is thrown with a message
    "app/output/files.cpp": {"path", "path_"},  # of fail() itself
    "app/commands/goal_command.cpp": {
        "read_loggops(*given,parameters)",
        "read_parameter(part,parameters,given)",
    },
    "app/commands/sweep_command.cpp": {
        "fmt::format({}: {},parts.front().path,problem)",  # of lay_out
        "item.message",  # of the readers and of lower
        "problem",  # of lay_out, problem_of
        "problem_of(parts,*cases)",
    },
    "app/input/evidence_input.cpp": {"nothing"},  # of kNoEvidence, kNoDump
    "app/input/text_input.cpp": {"message"},  # of fail() itself
    "app/output/sweep_journal.cpp": {
        "errno",  # of fail() itself
        "viz::diagnostic_text(found,path_,text,colour_)",  # of its own, and of read_sweep_file
    },
    "app/commands/test_command.cpp": {"viz::unmet_text(unmet)"},  # what was expected and is not so
    "app/workers.cpp": {"problem", "std::current_exception()"},  # no texts
    "formats/yaml/expression.cpp": {"std::move(message)"},
    "formats/torch/flight_recorder_file.cpp": {"message", "problem.message()"},
    "formats/goal/goal_reader.cpp": {"std::move(message)"},
    "formats/files/order_file.cpp": {"message"},
    "formats/yaml/parameters.cpp": {
        "fmt::format({}: {},source,problem.message)",  # of parse_expression
        "problems.sorted().front()",
        "fmt::format({}: {},source,why)",  # of models/graph/expr
    },
    "formats/torch/pickle.cpp": {"opcode", "{error.message(),reader.at()}"},
    "formats/files/report_file.cpp": {"problem.what()"},
    "formats/scenario/schedule_reader.cpp": {"models::shape_problem(shape)", "problem"},
    "formats/files/state_file.cpp": {"message"},
    "formats/files/sweep_file.cpp": {"message"},
    "formats/oneflow/text_proto.cpp": {"std::move(message)"},
    "formats/yaml/value_reader.cpp": {"why"},  # of models/graph/expr
    "formats/yaml/yaml_document.cpp": {"stop.message", "explained(error.msg,builder.innermost())"},
    "models/lowering/cost.cpp": {"no_link(cluster,from,to)"},
    "models/graph/expr.cpp": {"reason"},
    "models/graph/graph_edit.cpp": {"message"},
    "models/lowering/rank_diagnostics.cpp": {"std::move(message)"},
    "models/search/parameter_sweep.cpp": {"text_+: +why", "why"},
    "models/passes/pass_pipeline.cpp": {"item.message", "std::move(message)"},
    "models/passes/build_forward.cpp": {"std::move(message)"},
    "models/graph/schedule.cpp": {"std::move(message)"},
    "models/schedules/generators.cpp": {"both_ways_problem(shape)"},
    "models/passes/verifier.cpp": {"item.message"},
}

# Messages that no golden case can have: the test that has them, or why there is none.
VERIFIER = "tests/unit/models/passes/verifier_test.cpp"  # what only passes of others can do wrong
LIMITS = "tests/tools/too_large_test.py"
ELSEWHERE = {
    "'…' is of the kind '…', but waits for no input": VERIFIER,
    "'…' is of the kind '…', which reads no data, but it reads '…'": VERIFIER,
    "'…' is a step of a host program, which has no registers and reads nothing": VERIFIER,
    "'…' waits for input, but nothing determines how often it is to act": VERIFIER,
    "the control register '…' of '…' carries no data, but names …": VERIFIER,
    "the first register of '…' is not its output 'out'": VERIFIER,
    "the program of thread '…' has actors and steps of a host program": VERIFIER,
    "there are two … '…'": VERIFIER,
    "there is no kind of actor '…'": "only passes of others can write one, and no test does",
    "what '…' reads has no producer: '…' has … registers, and this is number …": VERIFIER,
    "… refers to … number …, but there are …": VERIFIER,
    "the passes made a task graph that cannot be written: the text reads as another one":
        "only passes of others can make such a graph, and no test has one",
    "a boxing log has at most … MiB": LIMITS,
    "an order file has at most … MiB": LIMITS,
    "a report has at most … MiB": LIMITS,
    "a schedule file has at most 256 MiB": LIMITS,
    "a … has at most … MiB": "tests/tools/limits_test.py",
    "a file of runs has at most … GiB": "a file of that size is too much for a test",
    "a dump may have at most … entries, found …": LIMITS,
    "a dump has at most … MiB": LIMITS,
    "a file of stacks has at most … MiB": LIMITS,
    "a log has at most … MiB": "a log of 1 GiB is too much for a test",
    "a plan has at most … tasks": LIMITS,
    "a scenario that is no UTF-8 cannot be saved": "tests/unit/formats/files/state_file_test.cpp",
    "convert the file to UTF-8, and run it again": "it stands below the message above",
    "a scenario takes at most … patches, found …": LIMITS,
    "a state file has at most … MiB": LIMITS,
    "larger than a plan dump of 512 MiB": "too much for a test",
    "more than … fields": LIMITS,
    "the file has … bytes, and … can be read": "a GOAL file of 4 GiB is too much for a test",
    "more than … ops": "2147483647 of them are too much for a test",
    "more than … ops in these logs": LIMITS,
    "more than … threads": LIMITS,
    "this file has more than … values": LIMITS,
    "this pickle has more than … values": LIMITS,
    "cannot write to standard output": LIMITS,
    "an expression has at most … characters": "tests/unit/formats/scenario/scenario_reader_test.cpp",
    "it is too large for SPIN": "tests/unit/formats/promela/promela_writer_test.cpp",
    "the tasks of collective '…' differ: on rank … … on stream …, on rank … … on stream …":
        "tests/unit/formats/oneflow/oneflow_plan_scenario_test.cpp",
    "…, but it simulates it differently": "tests/unit/app/output/views_test.cpp",
    "this cannot be written as a scenario that hangs in the same way":
        "what it writes it has run before, and no test knows what reads otherwise",
    "the file was changed, or one of the two is a modified build": "tests/unit/app/output/views_test.cpp",
    "a verdict is only updated with --update-verdicts":
        "tests/unit/app/commands/test_command_test.cpp",
    "not updated: not a plain figure, or shared by tests that differ":
        "tests/unit/app/commands/test_command_test.cpp",
    "another sweep is writing to this file": "tests/tools/sweep_test.py",
    "run … does not belong to this sweep": "tests/unit/app/commands/sweep_command_test.cpp",
    "'…' and '…' cannot be used together":
        "each line of it fits `'--…' and '--…' cannot be used together` too: usage_errors has one",
    "cannot read option '…'": "no command line is known that Boost refuses for another reason",
    "out of memory": "no test takes all memory",
    "Graphviz cannot draw this as …: …": "no test knows what Graphviz cannot draw",
}

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*)
      | R"(?P<fence>[^(\s]*)\((?P<raw>.*?)\)(?P=fence)"
      | "(?P<text>(?:[^"\\\n]|\\.)*)"
      | (?P<char>'(?:[^'\\\n]|\\.)+')
      | (?P<word>[A-Za-z_]\w*|\d[\w.']*)
      | (?P<mark>::|->|<<|>>|[<>=!]=|&&|\|\||\+\+|--|\+=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
OPENING, CLOSING = set("([{"), set(")]}")

Token = collections.namedtuple("Token", "kind text line column")
Message = collections.namedtuple("Message", "text path line argument is_help")


def tokens_of(source):
    tokens, line, begin = [], 1, 0
    for match in TOKEN.finditer(source):
        kind, column = match.lastgroup, match.start() - begin
        if match["raw"] is not None:
            tokens.append(Token("text", match["raw"], line, column))
        elif kind == "text":
            text = ESCAPE.sub(
                lambda m: chr(int(m[1], 16)) if m[1] else ESCAPES.get(m[2], m[2]), match["text"]
            )
            tokens.append(Token("text", text, line, column))
        elif kind != "space":
            tokens.append(Token(kind, match[0], line, column))
        if "\n" in match[0]:
            line += match[0].count("\n")
            begin = match.start() + match[0].rindex("\n") + 1
    return tokens


def is_mark(token, texts):
    return token.kind == "mark" and token.text in texts


def closing(tokens, at):
    """The index of what closes the bracket at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += is_mark(tokens[i], OPENING) - is_mark(tokens[i], CLOSING)
        if depth == 0:
            return i
    raise ValueError(f"a bracket of line {tokens[at].line} is not closed")


def outside(tokens):
    """The indices of the tokens that are in no bracket; an opening one counts."""
    i = 0
    while i < len(tokens):
        yield i
        i = closing(tokens, i) + 1 if is_mark(tokens[i], OPENING) else i + 1


def split(tokens, mark):
    """The parts between those `mark` that are in no bracket."""
    ends = [i for i in outside(tokens) if is_mark(tokens[i], {mark})]
    return [tokens[a:b] for a, b in zip([0, *(i + 1 for i in ends)], [*ends, len(tokens)])]


# What functions with one argument make of it; and the constants of the function that is read.
MADE = {"rank_text": f"rank {GAP}", "quoted": f"'{GAP}'"}
CONSTANTS = {}


def texts_of(tokens):
    """All texts that an expression may come to, with `…` for what is not known here."""
    marks = {i: tokens[i].text for i in outside(tokens) if is_mark(tokens[i], {"?", ":"})}
    if "?" in marks.values():
        depth, question = 0, min(i for i, mark in marks.items() if mark == "?")
        for i, mark in marks.items():
            depth += {"?": 1, ":": -1}[mark]
            if i > question and depth == 0:
                texts = texts_of(tokens[question + 1 : i]) | texts_of(tokens[i + 1 :])
                return {"s"} if texts == {"", "s"} else texts  # of many, where it may be one
    terms = split(tokens, "+")
    if len(terms) > 1:
        return {"".join(parts) for parts in itertools.product(*map(texts_of, terms))}
    if tokens and all(token.kind == "text" for token in tokens):
        return {"".join(token.text for token in tokens)}
    if len(tokens) == 1 and tokens[0].text in CONSTANTS:
        return texts_of(CONSTANTS[tokens[0].text])
    call = next((i for i, token in enumerate(tokens) if token.text == "("), None)
    if call is None or closing(tokens, call) != len(tokens) - 1:
        return {GAP}
    name = "".join(token.text for token in tokens[:call])
    inside = split(tokens[call + 1 : -1], ",")
    if name == "fmt::format":
        return set().union(*(filled(text, inside[1:]) for text in texts_of(inside[0])))
    if name in MADE:
        return {MADE[name]}
    return texts_of(inside[0]) if name in ("", "std::string", "std::move") else {GAP}


def filled(text, arguments):
    """The texts of a format: where an argument is one of some texts, those; else `…`."""
    parts = re.split(r"(\{\{|\}\}|\{[^{}]*\})", text)
    choices, next_argument = [], 0
    for part in parts:
        if part in ("{{", "}}"):
            choices.append({part[0]})
        elif part.startswith("{"):
            index = re.match(r"\{(\d*)", part)[1]
            index = int(index) if index else next_argument
            next_argument = index + 1
            found = texts_of(arguments[index]) if index < len(arguments) else {GAP}
            choices.append(found if GAP not in "".join(found) else {GAP})
        else:
            choices.append({part})
    return {"".join(choice) for choice in itertools.product(*choices)}


def is_declaration(tokens):
    """Whether this is `std::string message`, no value."""
    plain = all(token.kind == "word" or token.text in ("::", "&", "*") for token in tokens)
    typed = len(tokens) > 1 and (tokens[-2].kind == "word" or tokens[-2].text in "&*")
    return not tokens or (plain and typed and tokens[-1].kind == "word")


def arguments_of(tokens, path):
    """(line, tokens, whether it is a help) of each expression that is a message or a help."""
    CONSTANTS.clear()
    leading = LEADING.get(path, set())
    reporters = REPORTERS | HELPED | leading | REPORTERS_OF.get(path, set())
    taking = TAKING | TAKING_OF.get(path, set())
    helping = RETURNING_HELPS.get(path, set())
    returning = RETURNING.get(path, set()) | helping
    for i, token in enumerate(tokens[:-1]):
        if token.column == 0 and is_mark(token, {"}"}):
            CONSTANTS.clear()
        if token.kind != "word":
            continue
        following = tokens[i + 1]
        if is_mark(following, {"="}) and words_before(tokens, i) == "const std::string":
            end = next(j for j in range(i, len(tokens)) if is_mark(tokens[j], {";"}))
            CONSTANTS[token.text] = tokens[i + 2 : end]
        if token.text in reporters and is_mark(following, {"(", "{"}):
            if i and tokens[i - 1].text in ("struct", "class"):
                continue
            parts = split(tokens[i + 2 : closing(tokens, i + 1)], ",")
            if token.text in HELPED | leading:
                if not is_declaration(parts[0]):
                    yield token.line, parts[0], False
                    if token.text in HELPED and len(parts) > 1:
                        yield token.line, parts[1], True
            elif not is_declaration(parts[-1]):
                yield token.line, parts[-1], False
        elif is_help(tokens, i):
            yield token.line, tokens[i + 2 : closing(tokens, i + 1)], True
        elif token.text in taking and is_mark(following, {"="}):
            if token.text == "why" and tokens[i - 1].text != "*":
                continue
            end = next(j for j in range(i, len(tokens)) if is_mark(tokens[j], {";", ")"}) and
                       (tokens[j].text == ";" or closing_of(tokens, i, j)))
            yield token.line, tokens[i + 2 : end], False
        elif token.text in returning and is_mark(following, {"("}):
            body = closing(tokens, i + 1) + 1
            if not is_mark(tokens[body], {"{"}):
                continue
            inside = tokens[body + 1 : closing(tokens, body)]
            for j, word in enumerate(inside):
                if word.text != "return":
                    continue
                end = next(k for k in range(j, len(inside)) if is_mark(inside[k], {";"}))
                if end > j + 1 and inside[j + 1].text != "{":
                    yield word.line, inside[j + 1 : end], token.text in helping


def is_help(tokens, i):
    """Whether this is `error.notes.push_back`; the notes of evidence are none of a mistake."""
    before = [token.text for token in tokens[max(0, i - 4) : i]]
    return (
        tokens[i].text in ("push_back", "emplace_back")
        and len(before) == 4
        and before[0] in (")", "diagnostic", "error", "told")
        and before[1] in (".", "->")
        and before[2:] == ["notes", "."]
    )


def words_before(tokens, i):
    texts = [token.text for token in tokens[max(0, i - 4) : i]]
    return f"{texts[0]} {''.join(texts[1:])}" if len(texts) == 4 else ""


def closing_of(tokens, begin, at):
    """Whether the bracket that closes at `at` opens before `begin`."""
    depth = 0
    for token in tokens[begin : at + 1]:
        depth += is_mark(token, OPENING) - is_mark(token, CLOSING)
    return depth < 0


def messages():
    for folder in FOLDERS:
        sources = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".cpp", ".hpp")]
        for source in sorted(sources):
            path = str(source.relative_to(ROOT))
            yield from messages_in(path, source.read_text(encoding="utf-8"))


def has_words(text):
    return any(c.isalpha() for c in text.replace(GAP, ""))


def pattern_of(text):
    return re.compile(".*".join(re.escape(part) for part in text.split(GAP)))


def words_in(text):
    return len(text.replace(GAP, ""))


def told_in(paths):
    """The messages of expected outputs, with what stands in them behind a colon, and the helps."""
    told, helps = set(), set()
    for path in paths:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("  help: "):
                helps.add(line.split(": ", 1)[1])
            found = re.match(r"(?:.*?: )?(?:error|warning): (.*)", line)
            parts = found[1].split(": ") if found else ()
            told.update(": ".join(parts[i:]) for i in range(len(parts)))
    return told, helps


def pinned_among(texts, told):
    """Those of `texts` that a line is: of several that fit a line, that which says most."""
    patterns = [(pattern_of(text), text) for text in sorted(texts, key=words_in, reverse=True)]
    return {
        next((text for pattern, text in patterns if pattern.fullmatch(line)), None) for line in told
    }


def strings_of(path):
    """The strings of a source, and of each what stands behind a colon."""
    tokens = tokens_of((ROOT / path).read_text(encoding="utf-8"))
    text, strings = "", []
    for token in [*tokens, Token("mark", ";", 0, 0)]:
        if token.kind == "text":
            text += token.text
        elif text:
            strings += text.splitlines()
            text = ""
    return {": ".join(s.split(": ")[i:]) for s in strings for i in range(s.count(": ") + 1)}


def listed():
    """The messages of the page: the first column of its tables, where that is code."""
    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    return [found[1] for line in lines if (found := re.match(r"\| `([^`]+)` \|", line))]


# What is collected from all ways in which messages are put together.
SAMPLE = r'''
void read(Diagnostics& error, const char* why) {
  const std::string name = "'" + actor.name + "'";
  diagnostics.error(place, "plain, and "
                           "joined");
  diagnostics_.error(  // no "comment"
      place, fmt::format("{{braces}} and {} '{:02x}'", f(a, "text"), b)).notes.push_back("a note");
  if (bad) return fail(at, good ? "one" : name + " the other");
  throw UsageError(fmt::format("{} is {}", is ? "this" : "that", value));
  throw UsageError(name + " is used", near.empty() ? "" : fmt::format("a help, {}", near));
  problem = std::string("of ") + std::to_string(n) + " run" + (n == 1 ? "" : "s");
  error(place, message);
}
void Reader::error(Place place, std::string message);
explicit UsageError(const std::string& message, std::string help = {});
'''
SAMPLED = [
    "plain, and joined", f"{{braces}} and {GAP} '{GAP}'", "a note", f"'{GAP}' the other", "one",
    f"that is {GAP}", f"this is {GAP}", f"'{GAP}' is used", f"a help, {GAP}", f"of {GAP} runs", GAP,
]  # fmt: skip


def messages_in(path, source):
    tokens = tokens_of(source)
    for line, argument, is_of_help in arguments_of(tokens, path):
        told = "".join(token.text for token in argument).split("\n")[0]
        for text in sorted(texts_of(argument)):
            text = re.sub(f"{GAP}+", GAP, text.split("\n")[0])
            if text and told != "nullptr":
                yield Message(text, path, line, told, is_of_help)


def main():
    sampled = [message.text for message in messages_in("sample.cpp", SAMPLE)]
    assert sampled == SAMPLED, f"the reader of sources is broken: {sampled}"
    found, helps = {}, {}
    problems = []
    handed_on = {(path, argument) for path, own in HANDED_ON.items() for argument in own}
    for message in messages():
        if has_words(message.text):
            (helps if message.is_help else found).setdefault(message.text, message)
        if has_words(message.text) or message.is_help:
            continue
        handed_on.discard((message.path, message.argument))
        if message.argument not in HANDED_ON.get(message.path, ()):
            problems.append(
                f"{message.path}:{message.line}: nothing is known of the message"
                f" `{message.argument}`: see HANDED_ON in {pathlib.Path(__file__).name}"
            )
    for path, argument in sorted(handed_on):
        problems.append(f"HANDED_ON: {path} does not hand on `{argument}`")
    on_page = listed()
    unlisted = [m for text, m in found.items() if text not in on_page]
    told, told_helps = told_in(ROOT.glob("tests/golden/*/stderr"))
    pinned = pinned_among(found, told) | pinned_among(helps, told_helps)
    both = [*found.items(), *helps.items()]
    unpinned = [m for text, m in both if text not in pinned and text not in ELSEWHERE]
    if len(sys.argv) > 1:
        for message in {"list": found.values(), "unlisted": unlisted, "unpinned": unpinned}[
            sys.argv[1]
        ]:
            print(f"{message.path}:{message.line}: {message.text}")
        return
    for message in unlisted:
        problems.append(f"{message.path}:{message.line}: {PAGE} lacks `{message.text}`")
    for text, count in collections.Counter(on_page).items():
        if text not in found:
            problems.append(f"{PAGE}: nothing in the code says `{text}`")
        elif count > 1:
            problems.append(f"{PAGE}: it has `{text}` {count} times")
    for message in unpinned:
        problems.append(
            f"{message.path}:{message.line}: no stderr of tests/golden has `{message.text}`:"
            " add it to a case errors_*"
        )
    for text, where in ELSEWHERE.items():
        if text not in found and text not in helps:
            problems.append(f"ELSEWHERE: nothing in the code says `{text}`")
        elif text in pinned:
            problems.append(f"ELSEWHERE: tests/golden has `{text}` by now")
        elif where.startswith("tests/") and not any(
            pattern_of(text).fullmatch(string) for string in strings_of(where)
        ):
            problems.append(f"ELSEWHERE: {where} does not have `{text}`")
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
