"""Time `split` and `extract` against json_repair, which returns lists for such texts.

    python tests/bench/several.py [--rounds N] [--limit SECONDS] [--size BYTES] [CASE ...]

Each tool first reads every text once in a process of its own, on ever larger parts of it; a tool
that does not finish within the limit is stopped, and the table tells how far it came. Then the
tools take turns in one process, each round starting with another one, and a ratio is the median of
the ratios within the rounds.

The tables are Markdown. A cell says how many times as long as this library a tool took. Answers are
judged as well: the objects that went into the text are known.
"""

import argparse
import gc
import importlib.metadata
import importlib.util
import json
import multiprocessing
import platform
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from random import Random
from timeit import Timer
from typing import Final, NamedTuple

from documents import LARGE_BYTES, dense_item, human_size, word
from repair import CLIMB, MEASURE, STARTUP_SECONDS, Tool, human_time, write_table

FAULTY_SHARE: Final = 0.1


class Mixture(NamedTuple):
    """A text, and the values in it from left to right."""

    text: str
    values: list[object]


class Case(NamedTuple):
    """A kind of text, and what reads it here."""

    title: str
    build: Callable[[Random, int], Mixture]
    ours: Tool


def with_fault(rng: Random, item: str) -> str:
    """Return the text of an object with one of the faults that are repaired."""
    return rng.choice(
        (
            item[:-1] + ",}",
            item.replace('"ok": true', '"ok": True').replace('"ok": false', '"ok": False'),
            item.replace('"at": [', '"at": [ ').replace("]", ",]", 1),
        )
    )


def side_by_side(separator: str, *, faulty: bool) -> Callable[[Random, int], Mixture]:
    """Return a builder of small objects one after the other."""

    def build(rng: Random, size: int) -> Mixture:
        pieces: list[str] = []
        values: list[object] = []
        length = 0
        while length < size:
            item = dense_item(rng, len(values))
            values.append(json.loads(item))
            pieces.append(with_fault(rng, item) if faulty and rng.random() < FAULTY_SHARE else item)
            length += len(item) + len(separator)
        return Mixture(separator.join(pieces), values)

    return build


def sentence(rng: Random) -> str:
    """Return a sentence; some mention names in braces or brackets."""
    words = [word(rng) for _ in range(rng.randint(5, 15))]
    if rng.random() < 0.3:
        place = rng.randrange(len(words))
        words[place] = rng.choice(("{%s}", "[%s]", "`%s()`", '"%s"')) % words[place]
    return f"{' '.join(words).capitalize()}. "


def prose(*, faulty: bool) -> Callable[[Random, int], Mixture]:
    """Return a builder of paragraphs with fenced JSON between them."""

    def build(rng: Random, size: int) -> Mixture:
        pieces: list[str] = []
        values: list[object] = []
        length = 0
        while length < size:
            paragraph = "".join(sentence(rng) for _ in range(rng.randint(2, 6)))
            items = [dense_item(rng, number) for number in range(rng.randint(1, 8))]
            whole = f'{{"items": [{", ".join(items)}], "name": "{word(rng)}"}}'
            values.append(json.loads(whole))
            written = json.dumps(values[-1], indent=2)
            if faulty and rng.random() < FAULTY_SHARE:
                written = f"{written[:-2]},\n}}"
            pieces.append(f"{paragraph}\n\n```json\n{written}\n```\n\n")
            length += len(pieces[-1])
        return Mixture("".join(pieces), values)

    return build


SPLIT: Final = Tool("jsonrepair_lark", "[result.value for result in jsonrepair_lark.split(text)]")
EXTRACT: Final = Tool("jsonrepair_lark", "list(jsonrepair_lark.extract(text).values)")
PEERS: Final = {
    "json_repair": Tool("json_repair", "json_repair.loads(text)"),
    "json_repair, no json.loads first": Tool(
        "json_repair", "json_repair.loads(text, skip_json_loads=True)"
    ),
}
CASES: Final = {
    "objects": Case("objects side by side", side_by_side("", faulty=False), SPLIT),
    "lines": Case("objects on lines", side_by_side("\n", faulty=False), SPLIT),
    "faulty-objects": Case(
        "objects side by side, one in ten faulty", side_by_side("", faulty=True), SPLIT
    ),
    "prose": Case("prose with fenced JSON", prose(faulty=False), EXTRACT),
    "faulty-prose": Case("prose with fenced JSON, one in ten faulty", prose(faulty=True), EXTRACT),
}


def mixture(name: str, size: int) -> Mixture:
    """Build the text of a case; the same on every machine."""
    return CASES[name].build(Random(f"{name}/{size}"), size)


def climb(tool: Tool, name: str, size: int, progress: Connection) -> None:
    """Run a tool on ever larger texts of a case, and send each size and its time."""
    for part in CLIMB:
        text = mixture(name, size // part).text
        timer = tool.timer(MEASURE, [text], [])
        progress.send("built")
        progress.send((size // part, timer.timeit(1)))


def why_stopped(tool: Tool, name: str, size: int, limit: float) -> str | None:
    """Try a tool in a process that is stopped at the limit; say how far it came, if stopped."""
    spawn = multiprocessing.get_context("spawn")
    progress, sender = spawn.Pipe()
    process = spawn.Process(target=climb, args=(tool, name, size, sender))
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
            part, seconds = progress.recv()
            reached = f"{human_size(part)}: {human_time(seconds)}"
    except EOFError:
        return f"crashed ({reached})"
    finally:
        process.kill()
        process.join()
    return None


def mark(tool: Tool, chosen: Mixture) -> str:
    """Return the mark for a tool's answer: ‡ and how many values are right, if not all of them."""
    answers: list[object] = []
    judge = "for text, data in inputs: answers.append({call})"
    tool.timer(judge, [chosen.text], answers).timeit(1)
    answer = answers[0]
    if answer == chosen.values:
        return ""
    given = Counter(map(json.dumps, answer if isinstance(answer, list) else [answer]))
    found = given & Counter(map(json.dumps, chosen.values))
    return f" ‡ {found.total():,}"


def row(name: str, size: int, rounds: int, limit: float) -> list[str]:
    """Measure one case, and return its line of the table."""
    case = CASES[name]
    chosen = mixture(name, size)
    tools = {"": case.ours, **PEERS}
    cells: dict[str, str] = {}
    timers: dict[str, Timer] = {}
    for tool_name, tool in tools.items():
        reason = why_stopped(tool, name, size, limit)
        if reason:
            cells[tool_name] = reason
            continue
        cells[tool_name] = mark(tool, chosen)
        timers[tool_name] = tool.timer(MEASURE, [chosen.text], [])
    seconds: dict[str, list[float]] = {tool_name: [] for tool_name in timers}
    for turn in range(rounds):
        gc.collect()
        names = list(timers)
        first = turn % max(1, len(names))
        for tool_name in names[first:] + names[:first]:
            seconds[tool_name].append(timers[tool_name].timeit(1))
    for tool_name, taken in seconds.items():
        if not tool_name:
            cells[""] = human_time(statistics.median(taken)) + cells[""]
        elif "" in seconds:
            ratio = statistics.median(
                mine / other for mine, other in zip(taken, seconds[""], strict=True)
            )
            cells[tool_name] = f"{ratio:.{0 if ratio >= 10 else 2}f}{cells[tool_name]}"
    reader = "split" if case.ours is SPLIT else "extract"
    return [case.title, human_size(size), f"{len(chosen.values):,}", f"`{reader}`", *cells.values()]


def write_tables(names: Sequence[str], size: int, rounds: int, limit: float) -> None:
    """Measure the cases and write their table."""
    rows = []
    for name in names:
        sys.stderr.write(f"{name}\n")
        rows.append(row(name, size, rounds, limit))
    write_table(["text", "size", "values", "reader", "time", *PEERS], rows)
    sys.stdout.write(
        "time: of the reader, for one text. The others: times as long.\n"
        "‡ not the values that are in the text; how many of them.\n"
    )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description="Time split and extract against json_repair.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one text")
    parser.add_argument("--size", type=int, default=LARGE_BYTES, help="of each text")
    parser.add_argument("case", nargs="*", help=f"one of {', '.join(CASES)}")
    arguments = parser.parse_args()
    unknown = set(arguments.case) - set(CASES)
    if unknown:
        parser.error(f"unknown case: {', '.join(sorted(unknown))}")
    if not importlib.util.find_spec("json_repair"):
        parser.error("missing json_repair: see tests/bench/requirements.txt")
    version = importlib.metadata.version("json_repair")
    sys.stdout.write(f"Python {platform.python_version()}, json_repair {version}.\n\n")
    gc.freeze()
    chosen = arguments.case or list(CASES)
    write_tables(chosen, arguments.size, arguments.rounds, arguments.limit)


if __name__ == "__main__":
    main()
