"""Time a stream of small deltas, against jiter that parses the text so far after each of them.

    python tests/bench/stream.py [--rounds N]

Documents of 64 KB arrive in deltas of four characters. The totals are compared within rounds that
run every tool once, and the median ratio is told. For ours, the time of the last thousand deltas
over that of the first thousand shows whether a delta costs more the more came before it.
"""

import argparse
import functools
import gc
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple

import jiter

from documents import human_size, stream_documents
from jsonrepair_lark import RepairStream

DELTA_CHARACTERS: Final = 4
PART_DELTAS: Final = 1_000


class Times(NamedTuple):
    """Seconds for the first thousand deltas, the last thousand, and everything."""

    first: float
    last: float
    total: float


def timed(deltas: Sequence[str], feed: Callable[[str], object]) -> Times:
    """Feed the deltas and time the parts."""
    seconds = []
    for part in (deltas[:PART_DELTAS], deltas[PART_DELTAS:-PART_DELTAS], deltas[-PART_DELTAS:]):
        start = perf_counter()
        for delta in part:
            feed(delta)
        seconds.append(perf_counter() - start)
    return Times(seconds[0], seconds[-1], sum(seconds))


def ours(deltas: Sequence[str], whole: object) -> Times:
    """Time a stream from its making to the value of its result."""
    start = perf_counter()
    stream = RepairStream()
    begun = perf_counter()
    times = timed(deltas, stream.feed)
    ended = perf_counter()
    value = stream.finish().value
    finished = perf_counter()
    if value != whole:
        raise SystemExit("The stream gave another value than json.loads")
    return times._replace(total=times.total + (begun - start) + (finished - ended))


def reparsed(deltas: Sequence[str], whole: object, mode: Any) -> Times:
    """Time jiter on the text so far after every delta.

    Args:
        mode: jiter's ``partial_mode``: ``"on"`` leaves an unfinished string out, and
            ``"trailing-strings"`` gives what has come of it.
    """
    buffer = bytearray()
    value = None

    def feed(delta: str) -> None:
        nonlocal value
        buffer.extend(delta.encode())
        value = jiter.from_json(bytes(buffer), partial_mode=mode)

    times = timed(deltas, feed)
    if value != whole:
        raise SystemExit("jiter gave another value than json.loads")
    return times


MODES: Final = ("on", "trailing-strings")
TOOLS: Final[dict[str, Callable[[Sequence[str], object], Times]]] = {
    "ours": ours,
    **{mode: functools.partial(reparsed, mode=mode) for mode in MODES},
}


def measure(text: str, rounds: int) -> dict[str, list[Times]]:
    """Run every tool once in each round, after a stream that loads what is loaded lazily."""
    whole = json.loads(text)
    starts = range(0, len(text), DELTA_CHARACTERS)
    deltas = [text[start : start + DELTA_CHARACTERS] for start in starts]
    ours(deltas, whole)
    times: dict[str, list[Times]] = {name: [] for name in TOOLS}
    for turn in range(rounds):
        for name in list(TOOLS)[:: 1 if turn % 2 else -1]:
            gc.collect()
            times[name].append(TOOLS[name](deltas, whole))
    return times


def main() -> None:
    """Measure each document and write a Markdown table."""
    parser = argparse.ArgumentParser(description="Time a stream of small deltas.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    heads = ["streamed", "size", "total", "a delta", "last / first thousand deltas"]
    heads += [f"jiter, partial_mode={mode!r}" for mode in MODES]
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)]]
    for title, text in stream_documents().items():
        times = measure(text, rounds)
        mine = times["ours"]
        total = statistics.median(run.total for run in mine)
        flatness = statistics.median(run.last / run.first for run in mine)
        line = [title, human_size(len(text)), f"{total * 1e3:.1f} ms"]
        line += [f"{total / len(text) * DELTA_CHARACTERS * 1e6:.2f} µs", f"{flatness:.2f}"]
        for mode in MODES:
            pairs = zip(times[mode], mine, strict=True)
            line.append(f"{statistics.median(peer.total / own.total for peer, own in pairs):.1f}")
        lines.append(line)
    sys.stdout.writelines(f"| {' | '.join(line)} |\n" for line in lines)
    sys.stdout.write(
        "\nDeltas of four characters. jiter parses the text so far after each delta and gives its "
        "value;\nits columns say how many times as long as `RepairStream` it took in all.\n"
    )


if __name__ == "__main__":
    main()
