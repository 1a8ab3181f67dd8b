"""Time repairs against json_repair, fast-json-repair, jiter and partial-json-parser.

    python tests/bench/repair.py [--rounds N] [--budget SECONDS] [--limit SECONDS] [CASE ...]

All tools run in one process on the same documents. A round times every tool once, each round
starting with another tool, and a ratio is the median of the ratios within the rounds: what slows
the machine for a while slows both sides of a ratio. Every tool is asked for the value, so that
a result which builds its value on demand gains nothing by it. A large document is first given to
each tool in a process of its own; a tool that does not finish within the limit is stopped, and
the table tells the largest smaller document that it managed.

The tables are Markdown. A cell says how many times as long as ``repair()`` a tool took, and for
valid documents how many times as long as ``json.loads``. Answers are judged as well, by the
document that the text was cut from.
"""

import argparse
import functools
import gc
import importlib.metadata
import importlib.util
import json
import math
import multiprocessing
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from timeit import Timer
from typing import Final, NamedTuple

from documents import CASES, LARGE_BYTES, VALID, Document, human_size

MIN_BATCH_SECONDS: Final = 0.002  # a measurement shorter than this is mostly noise
STARTUP_SECONDS: Final = 60.0  # for a new process to import its tool and build the documents
CLIMB: Final = (16, 8, 4, 2, 1)  # a large document is tried at these fractions of its size first

MEASURE: Final = """
for text, data in inputs:
    try: {call}
    except Exception: pass
"""
JUDGE: Final = """
for text, data in inputs:
    try: answers.append({call})
    except Exception: answers.append(None)
"""


class Tool(NamedTuple):
    """One library: what to import, and the expression that gives the value of a text.

    The expression is compiled into the loop that is timed, since a wrapper function would weigh on
    documents of 40 bytes. It may use ``text``, and ``data``, the same as UTF-8.
    """

    module: str
    call: str

    def timer(self, loop: str, documents: Sequence[str], answers: list[object]) -> Timer:
        """Return a timer of one pass over the documents, with garbage collection as for users."""
        inputs = [(text, text.encode()) for text in documents]
        return Timer(
            loop.format(call=self.call),
            f"import gc, {self.module}; gc.enable()",
            globals={"inputs": inputs, "answers": answers},
        )


OURS: Final = "repair()"
STANDARD: Final = "json.loads"
PEERS: Final = {
    "json_repair": Tool("json_repair", "json_repair.loads(text)"),
    "fast-json-repair": Tool("fast_json_repair", "fast_json_repair.loads(text)"),
    "jiter": Tool("jiter", "jiter.from_json(data, partial_mode=True)"),
    "partial-json-parser": Tool("partial_json_parser", "partial_json_parser.loads(text)"),
}
TOOLS: Final = {
    OURS: Tool("jsonrepair_lark", "jsonrepair_lark.repair(text).value"),
    "loads()": Tool("jsonrepair_lark", "jsonrepair_lark.loads(text)"),
    **PEERS,
}


class Options(NamedTuple):
    """How long to measure: rounds, seconds for one tool and case, seconds for one document."""

    rounds: int
    budget: float
    limit: float


class Row(NamedTuple):
    """What was measured for one case, by tool: a missing round is None."""

    seconds: Mapping[str, Sequence[float | None]]
    marks: Mapping[str, str]
    stopped: Mapping[str, str]

    def ratio(self, tool: str, base: str) -> float | None:
        """Return the median of the ratios in the rounds that ran both, or None."""
        pairs = zip(self.seconds.get(tool, ()), self.seconds.get(base, ()), strict=False)
        ratios = [mine / other for mine, other in pairs if mine and other]
        return statistics.median(ratios) if ratios else None

    def cell(self, tool: str, base: str) -> str:
        """Write the ratio of a tool, or how far it came, and the mark of its answers."""
        if tool in self.stopped:
            return self.stopped[tool]
        ratio = self.ratio(tool, base)
        if ratio is None:
            return "-"
        return f"{ratio:.{0 if ratio >= 10 else 2}f}{self.marks[tool]}"

    def time(self, tool: str) -> str:
        """Write the median time of a tool for one document, and the mark of its answers."""
        if tool in self.stopped:
            return self.stopped[tool]
        median = statistics.median(second for second in self.seconds[tool] if second)
        return human_time(median) + self.marks[tool]


def human_time(seconds: float) -> str:
    """Write a time as people say it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-6:.3g} µs"


def is_sound(value: object, whole: object) -> bool:
    """Tell whether every part of a value is in the whole document, at the same path."""
    if type(value) is not type(whole):
        return False
    if isinstance(value, dict) and isinstance(whole, dict):
        return all(key in whole and is_sound(value[key], whole[key]) for key in value)
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) <= len(whole) and all(map(is_sound, value, whole))
    return value == whole


def mark(answers: Sequence[object], documents: Sequence[Document]) -> str:
    """Return the mark for a tool's answers: † if it refused one, ‡ if one is not in the text."""
    given = [(answer, document) for answer, document in zip(answers, documents, strict=True)]
    if any(a is not None and not is_sound(a, json.loads(d.whole)) for a, d in given):
        return " ‡"
    return " †" if None in answers else ""


@functools.cache
def inputs_of(case: str, size: int, *, valid: bool) -> list[Document]:
    """Return the documents of a case at a size; the text is the whole where ``valid``."""
    documents = CASES[case].documents(size)
    return [Document(whole, whole) for _, whole in documents] if valid else documents


def climb(tool: Tool, case: str, progress: Connection, *, valid: bool) -> None:
    """Run a tool on ever larger documents of a case, and send each size and its time."""
    for part in CLIMB:
        size = CASES[case].size // part
        document = inputs_of(case, size, valid=valid)[0]
        timer = tool.timer(MEASURE, [document.text], [])
        progress.send("built")
        progress.send((size, timer.timeit(1)))


def why_stopped(tool: Tool, case: str, limit: float, *, valid: bool) -> str | None:
    """Try a tool in a process that is stopped at the limit; say how far it came, if stopped."""
    spawn = multiprocessing.get_context("spawn")
    progress, sender = spawn.Pipe()
    process = spawn.Process(target=climb, args=(tool, case, sender), kwargs={"valid": valid})
    process.start()
    sender.close()
    reached = "nothing smaller"
    try:
        for _ in CLIMB:
            if not progress.poll(STARTUP_SECONDS):
                return "did not start"
            progress.recv()
            if not progress.poll(limit):
                return f"> {limit:.0f} s ({reached})"
            size, seconds = progress.recv()
            reached = f"{human_size(size)}: {human_time(seconds)}"
    except EOFError:
        return f"crashed ({reached})"
    finally:
        process.kill()
        process.join()
    return None


def judge(tool: Tool, documents: Sequence[Document]) -> tuple[str, float]:
    """Run a tool once; return the mark of its answers, and the seconds it took."""
    answers: list[object] = []
    seconds = tool.timer(JUDGE, [document.text for document in documents], answers).timeit(1)
    return mark(answers, documents), seconds


def measure(case: str, tools: Mapping[str, Tool], options: Options, *, valid: bool) -> Row:
    """Measure the tools on the documents of a case, in interleaved rounds."""
    size = CASES[case].size
    documents = inputs_of(case, size, valid=valid)
    texts = [document.text for document in documents]
    stopped, marks, passes = {}, {}, {}
    for name, tool in tools.items():
        if size >= LARGE_BYTES:
            reason = why_stopped(tool, case, options.limit, valid=valid)
            if reason:
                stopped[name] = reason
                continue
        marks[name], once = judge(tool, documents)
        passes[name] = max(1, math.ceil(MIN_BATCH_SECONDS / once))
    timers = {name: tools[name].timer(MEASURE, texts, []) for name in passes}
    seconds: dict[str, list[float | None]] = {name: [] for name in passes}
    spent = dict.fromkeys(passes, 0.0)
    names = list(passes)
    for turn in range(options.rounds):
        gc.collect()
        first = turn % max(1, len(names))
        for name in names[first:] + names[:first]:
            if turn and spent[name] >= options.budget:
                seconds[name].append(None)
                continue
            taken = timers[name].timeit(passes[name])
            spent[name] += taken
            seconds[name].append(taken / passes[name] / len(texts))
    return Row(seconds, marks, stopped)


def write_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a Markdown table; all columns but the first are aligned right."""
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    sys.stdout.writelines(f"| {' | '.join(line)} |\n" for line in lines)
    sys.stdout.write("\n")


def broken_table(names: Sequence[str], options: Options) -> None:
    """Measure the cut documents and write their table."""
    rows = []
    for name in names:
        sys.stderr.write(f"{name}\n")
        row = measure(name, TOOLS, options, valid=False)
        ratios = [row.cell(tool, OURS) for tool in TOOLS if tool != OURS]
        case = CASES[name]
        rows.append([case.title, human_size(case.size), row.time(OURS), *ratios])
    write_table(["cut documents", "size", *TOOLS], rows)
    sys.stdout.write(
        "`repair()`: time for one document. The others: times as long as `repair()`.\n"
        "† refused at least one of the documents. "
        "‡ gave a value that is not in the document the text was cut from.\n\n"
    )


def valid_table(names: Sequence[str], options: Options) -> None:
    """Measure the whole documents and write their table."""
    tools = {STANDARD: Tool("json", "json.loads(text)"), **TOOLS}
    rows = []
    for name in names:
        sys.stderr.write(f"{name}, valid\n")
        case = CASES[VALID[name]]
        row = measure(VALID[name], tools, options, valid=True)
        ratios = [row.cell(tool, STANDARD) for tool in TOOLS]
        rows.append([name.removesuffix("-large"), human_size(case.size), row.time(STANDARD)])
        rows[-1] += ratios
    write_table(["valid documents", "size", *tools], rows)
    sys.stdout.write("`json.loads`: time for one document. The others: times as long.\n")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description="Time repairs against other libraries.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for a tool and case")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a large document")
    parser.add_argument("case", nargs="*", help=f"one of {', '.join(CASES)}")
    arguments = parser.parse_args()
    unknown = set(arguments.case) - set(CASES)
    if unknown:
        parser.error(f"unknown case: {', '.join(sorted(unknown))}")
    missing = [name for name, tool in TOOLS.items() if not importlib.util.find_spec(tool.module)]
    if missing:
        parser.error(f"missing {', '.join(missing)}: see tests/bench/requirements.txt")
    options = Options(arguments.rounds, arguments.budget, arguments.limit)
    chosen = arguments.case or list(CASES)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PEERS]
    sys.stdout.write(f"Python {platform.python_version()}, {', '.join(versions)}.\n\n")
    gc.freeze()
    broken_table(chosen, options)
    valid_table([name for name in VALID if VALID[name] in chosen], options)


if __name__ == "__main__":
    main()
