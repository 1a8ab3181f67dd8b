"""Time `parse_calls` on calls in Python's syntax against Python's own parser.

    PYTHONPATH=. python tests/bench/pythonic.py [--rounds N] [--budget SECONDS]

The text is valid Python, as agents write calls: strings with code, numbers, lists and dicts.
`ast.parse` only makes a tree; the other column walks it as well and gives the values of the
keywords by `ast.literal_eval`. Rounds are interleaved as in repair.py. Unlike there, a ratio is how
many times as long as its peer `parse_calls()` took: the goal is a number of times of `ast.parse`.
"""

import argparse
import ast
import gc
import math
import platform
import statistics
import sys
from collections.abc import Callable
from random import Random
from timeit import Timer
from typing import Any, Final

from documents import human_size, program, word
from jsonrepair_lark import parse_calls
from repair import MIN_BATCH_SECONDS, human_time, write_table
from tests.support.renderers import TEMPLATES

SIZES: Final = (100, 10_000, 1_000_000)
MOST_CODE: Final = 600  # characters of a call's code

Call = tuple[str, dict[str, Any]]


def edit(rng: Random, size: int) -> Call:
    """Return a call that edits a file; its code fills it up to about a size."""
    arguments: dict[str, Any] = {"path": f"{word(rng)}.py", "lines": [rng.randint(1, 99)] * 2}
    if size > 200:
        arguments["at"] = {"x": round(rng.uniform(-9, 9), 2), "tag": word(rng), "ok": True}
        arguments["limit"] = rng.choice((None, False, -1, 1e-3))
    rest = min(MOST_CODE, size - len(str(arguments)))
    arguments["code"] = program(rng, rest, ensure_ascii=False)[: max(0, rest - 10)]
    return "edit_file", arguments


def calls_of(size: int) -> tuple[str, list[Call]]:
    """Return a text of about a size, and the calls in it."""
    rng = Random("pythonic")
    template = TEMPLATES["pythonic"]
    calls: list[Call] = []
    length = 0
    while not calls or length < size - 2 * MOST_CODE:
        calls.append(edit(rng, min(size - 20, rng.randint(100, MOST_CODE))))
        length += len(template.call(*calls[-1], 0)) + 2
    return template.message(template.calls(calls)), calls


def ours(text: str) -> list[Call]:
    """Read the calls with this package."""
    return [(c.name, c.value) for c in parse_calls(text, format="pythonic").calls]


def walked(text: str) -> list[Call]:
    """Read the calls with Python's parser."""
    made: Any = ast.parse(text, mode="eval").body
    return [
        (one.func.id, {word.arg: ast.literal_eval(word.value) for word in one.keywords})
        for one in made.elts
    ]


READERS: Final[dict[str, Callable[[str], object]]] = {
    "parse_calls()": ours,
    "`ast.parse`": lambda text: ast.parse(text, mode="eval"),
    "`ast.parse`, `literal_eval`": walked,
}


def measure(text: str, rounds: int, budget: float) -> dict[str, list[float]]:
    """Time each reader on a text in interleaved rounds, until the budget for all is spent."""
    timers = {
        name: Timer(lambda read=read: read(text), "import gc; gc.enable()")  # type: ignore[misc]
        for name, read in READERS.items()
    }
    passes = {
        name: max(1, math.ceil(MIN_BATCH_SECONDS / timer.timeit(1)))
        for name, timer in timers.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in READERS}
    spent = 0.0
    for turn in range(rounds):
        if spent > budget:
            break
        gc.collect()
        for name in list(READERS)[:: -1 if turn % 2 else 1]:
            taken = timers[name].timeit(passes[name])
            spent += taken
            seconds[name].append(taken / passes[name])
    return seconds


def row(size: int, rounds: int, budget: float) -> list[str]:
    """Measure the text of a size; return its line of the table."""
    text, calls = calls_of(size)
    for read in (ours, walked):
        if read(text) != calls:
            raise SystemExit(f"{read.__name__} gave other calls at {human_size(size)}")
    seconds = measure(text, rounds, budget)
    mine, *peers = seconds.values()
    cells = [human_size(len(text)), f"{len(calls):,}", human_time(statistics.median(mine))]
    for peer in peers:
        own = statistics.median(one / other for one, other in zip(mine, peer, strict=True))
        cells.append(f"{own:.{0 if own >= 10 else 2}f}")
    return cells


def main() -> None:
    """Measure each size and write a Markdown table."""
    parser = argparse.ArgumentParser(description="Time calls in Python's syntax.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--budget", type=float, default=5.0, help="seconds for a size")
    arguments = parser.parse_args()
    gc.freeze()
    rows = [row(size, arguments.rounds, arguments.budget) for size in SIZES]
    sys.stdout.write(f"Python {platform.python_version()}.\n\n")
    mine, *peers = READERS
    write_table(["size", "calls", mine, *(f"/ {name}" for name in peers)], rows)
    sys.stdout.write(
        "`parse_calls()`: time for one text; then how many times as long as each peer it took.\n"
    )


if __name__ == "__main__":
    main()
