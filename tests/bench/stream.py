"""Time streams of small deltas: documents against other libraries, and tool calls by themselves.

    PYTHONPATH=. python tests/bench/stream.py [--rounds N] [--budget SECONDS] [--limit SECONDS]
        [--size BYTES ...] [--only documents|calls]

Documents of 4 KB, 64 KB and 1 MB arrive in deltas of four characters. Some peers are incremental
parsers; the others parse the text so far after each delta. A round runs every tool once, each round
starting with another one, and a ratio is the median of the ratios within the rounds. A tool is
stopped at the limit, and the table tells how far it came; a tool that has used up its budget sits
out the other rounds. A peer that is not installed is named and left out. stream-json-repair is not
among the peers: it installs a package of the same name as partial-json-stream.

Incremental parsers are measured twice: when they are only fed, and when they are asked for the
value so far after each delta. What a parser does meanwhile differs: parse-broken-json's `feed` only
keeps the text until it is asked, jsonmend's gives the value each time, and json-decode-streaming
gives text and no values.

Then messages with calls go through `CallStream`, which has no peer among them.
"""

import argparse
import contextlib
import gc
import importlib
import importlib.metadata
import json
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from time import perf_counter
from typing import Any, Final, NamedTuple

from documents import STREAM_SIZES, human_size, program, stream_documents
from jsonrepair_lark import CallStream, RepairStream
from repair import human_time, write_table
from tests.support.renderers import TEMPLATES

DELTA_CHARACTERS: Final = 4
PART_DELTAS: Final = 1_000
BLOCK_DELTAS: Final = 50  # the clock is read once for so many
GOAL_BYTES: Final = STREAM_SIZES[1]

CALL_FORMATS: Final = ("hermes", "qwen3_coder", "lfm2")
CALL_COUNT: Final = 10_000
TOOLS: Final = {"write_file": {"properties": {"path": {}, "content": {"type": "string"}}}}


class Reader(NamedTuple):
    """One stream: feeds a delta, gives the value so far, and ends with the value."""

    feed: Callable[[str], object]
    ask: Callable[[], object] | None
    end: Callable[[], Any]


def ours() -> Reader:
    """Begin a stream of this package."""
    stream = RepairStream()
    return Reader(stream.feed, lambda: stream.value, lambda: stream.finish().value)


def parse_broken_json(module: Any) -> Reader:
    """Begin a stream of parse-broken-json."""
    parser = module.StreamParser(multiple="first")
    return Reader(parser.feed, lambda: parser.value, lambda: parser.finish().value)


def jsonmend(module: Any) -> Reader:
    """Begin a stream of jsonmend, whose `feed` returns the value so far."""
    mender = module.Mender()
    return Reader(mender.feed, None, mender.close)


def json_decode_streaming(module: Any) -> Reader:
    """Begin a stream of json-decode-streaming, which closes the text and leaves it to be parsed."""
    state = module.RepairState()
    return Reader(state.feed, state.snapshot, lambda: json.loads(state.finalize()))


def partial_json_stream(module: Any) -> Reader:
    """Begin a stream of partial-json-stream."""
    parser = module.JsonStreamParser()

    def end() -> Any:
        parser.end()
        return parser.snapshot().value

    return Reader(parser.push, lambda: parser.snapshot().value, end)


def jiter(module: Any, mode: str) -> Reader:
    """Begin to parse each prefix with jiter.

    Args:
        module: jiter itself.
        mode: its ``partial_mode``: ``"on"`` leaves an unfinished string out, and
            ``"trailing-strings"`` gives what has come of it.
    """
    buffer = bytearray()
    value = None

    def feed(delta: str) -> None:
        nonlocal value
        buffer.extend(delta.encode())
        value = module.from_json(bytes(buffer), partial_mode=mode)

    return Reader(feed, None, lambda: value)


def reparsed(module: Any, **options: Any) -> Reader:
    """Begin to parse each prefix with the `loads` of a library."""
    text = ""
    value = None

    def feed(delta: str) -> None:
        nonlocal text, value
        text += delta
        # What it raises on a prefix is taken as no value; the last value is judged.
        with contextlib.suppress(Exception):
            value = module.loads(text, **options)

    return Reader(feed, None, lambda: value)


class Peer(NamedTuple):
    """A library: its name on PyPI, what to import, and how to begin a stream of it."""

    package: str
    module: str
    begin: Callable[[Any], Reader]


OURS: Final = "ours"
INCREMENTAL: Final = {
    "parse-broken-json": Peer("parse-broken-json", "parse_broken_json", parse_broken_json),
    "jsonmend": Peer("jsonmend", "jsonmend", jsonmend),
    "json-decode-streaming": Peer("json-decode-streaming", "repair_json", json_decode_streaming),
    "partial-json-stream": Peer("partial-json-stream", "partial_json_stream", partial_json_stream),
}
JITER: Final = ("jiter, on", "jiter, trailing-strings")
REPARSING: Final = {
    JITER[0]: Peer("jiter", "jiter", partial(jiter, mode="on")),
    JITER[1]: Peer("jiter", "jiter", partial(jiter, mode="trailing-strings")),
    "json_repair": Peer("json_repair", "json_repair", partial(reparsed, stream_stable=True)),
    "partial-json-parser": Peer("partial-json-parser", "partial_json_parser", reparsed),
}
PEERS: Final = {**INCREMENTAL, **REPARSING}
ASKED: Final = ", asked"  # behind the name of a stream that is asked for the value after each delta


class Options(NamedTuple):
    """Rounds, seconds for one tool and document in all of them, and for one run."""

    rounds: int
    budget: float
    limit: float


class Run(NamedTuple):
    """Seconds of a whole stream, of its first and last thousand deltas, and how much of it came."""

    total: float
    first: float
    last: float
    share: float
    is_right: bool


def cut(text: str) -> list[str]:
    """Cut a text into deltas."""
    return [text[at : at + DELTA_CHARACTERS] for at in range(0, len(text), DELTA_CHARACTERS)]


def timed(blocks: Iterable[Sequence[str]], reader: Reader, limit: float) -> list[float]:
    """Feed blocks of deltas; return the seconds of each, as far as the limit allows."""
    feed, ask, _ = reader
    seconds: list[float] = []
    spent = 0.0
    for block in blocks:
        start = perf_counter()
        if ask is None:
            for delta in block:
                feed(delta)
        else:
            for delta in block:
                feed(delta)
                ask()
        seconds.append(perf_counter() - start)
        spent += seconds[-1]
        if spent > limit:
            break
    return seconds


def run(begin: Callable[[], Reader], text: str, whole: object, limit: float) -> Run:
    """Time a stream from its making to its value, and compare that."""
    deltas = cut(text)
    blocks = [deltas[at : at + BLOCK_DELTAS] for at in range(0, len(deltas), BLOCK_DELTAS)]
    gc.collect()
    start = perf_counter()
    reader = begin()
    begun = perf_counter()
    seconds = timed(blocks, reader, limit)
    ended = perf_counter()
    share = len(seconds) / len(blocks)
    value = reader.end() if share == 1 else None
    total = begun - start + sum(seconds) + perf_counter() - ended
    # The last block may be short.
    full, part = len(deltas) // BLOCK_DELTAS, PART_DELTAS // BLOCK_DELTAS
    last = sum(seconds[max(0, full - part) : full])
    return Run(total, sum(seconds[:part]), last, share, value == whole)


Beginners = Mapping[str, Callable[[], Reader]]
Runs = dict[str, list[Run | None]]


def fed(begin: Callable[[], Reader]) -> Reader:
    """Begin a stream that is only fed."""
    return begin()._replace(ask=None)


def streams() -> tuple[Beginners, list[str]]:
    """Return how to begin a stream of each tool and way; and the packages that are missing."""
    found: dict[str, Callable[[], Reader]] = {OURS: partial(fed, ours), OURS + ASKED: ours}
    missing = []
    for name, peer in PEERS.items():
        try:
            begin = partial(peer.begin, importlib.import_module(peer.module))
        except ImportError:
            missing.append(peer.package)
            continue
        found[name] = partial(fed, begin)
        if begin().ask is not None:
            found[name + ASKED] = begin
    return found, sorted(set(missing))


def measure(beginners: Beginners, text: str, options: Options) -> Runs:
    """Run every stream once in each round, after one of ours that loads what is loaded lazily."""
    whole = json.loads(text)
    run(beginners[OURS], text, whole, options.limit)
    runs: Runs = {name: [] for name in beginners}
    names = list(beginners)
    for turn in range(options.rounds):
        first = turn * 3 % len(names)
        for name in names[first:] + names[:first]:
            done = [one for one in runs[name] if one]
            spent = sum(one.total for one in done)
            if done and (spent > options.budget or done[0].share < 1):
                runs[name].append(None)
                continue
            runs[name].append(run(beginners[name], text, whole, options.limit))
            if name.startswith(OURS) and not is_right(runs[name]):
                raise SystemExit(f"{name} gave another value than json.loads")
    return runs


def is_right(runs: Sequence[Run | None]) -> bool:
    """Tell whether all runs that came to the end gave the right value."""
    return all(one.is_right for one in runs if one and one.share == 1)


def is_complete(runs: Runs, name: str) -> bool:
    """Tell whether a stream was never stopped."""
    return all(one.share == 1 for one in runs[name] if one)


def ratio(runs: Runs, name: str, base: str) -> float | None:
    """Return the median ratio of two streams in the rounds that ran both to the end, or None."""
    pairs = zip(runs.get(name, ()), runs[base], strict=False)
    ratios = [
        peer.total / own.total
        for peer, own in pairs
        if peer and own and peer.share == own.share == 1
    ]
    return statistics.median(ratios) if ratios else None


def median_total(runs: Runs, name: str) -> float:
    """Return the median seconds of a stream."""
    return statistics.median(one.total for one in runs[name] if one)


def time_cell(runs: Runs, name: str) -> str:
    """Write how long a stream took, or how far it came."""
    if name not in runs:
        return "missing"
    shares = [one.share for one in runs[name] if one]
    if min(shares) < 1:
        return f"stopped at {min(shares):.1%}"
    return human_time(median_total(runs, name)) + ("" if is_right(runs[name]) else " ‡")


def ratio_cell(runs: Runs, name: str, base: str) -> str:
    """Write how many times as long as another one a stream took; its time if that was stopped."""
    value = ratio(runs, name, base)
    if value is None:
        return time_cell(runs, name)
    return f"{value:.{0 if value >= 10 else 2}f}{'' if is_right(runs[name]) else ' ‡'}"


def flatness_cell(runs: Runs, name: str) -> str:
    """Write the time of the last thousand deltas over that of the first thousand."""
    done = [one for one in runs.get(name, ()) if one and one.share == 1]
    return f"{statistics.median(one.last / one.first for one in done):.2f}" if done else "-"


def chosen_way(runs: Runs, name: str, *, ask: bool) -> str:
    """Return the name of a tool's stream that is asked, where asking is a step of its own."""
    return name + ASKED if ask and name + ASKED in runs else name


Measured = dict[tuple[str, int], Runs]


def write_ratios(measured: Measured, *, ask: bool) -> None:
    """Write the table of totals, of streams that are only fed or asked after each delta."""
    rows = []
    for (title, size), runs in measured.items():
        own = chosen_way(runs, OURS, ask=ask)
        row = [title, human_size(size), time_cell(runs, own)]
        # Of as much as came, where it was stopped.
        came = [one.total / one.share for one in runs[own] if one]
        row.append(human_time(statistics.median(came) / size * DELTA_CHARACTERS))
        row += [ratio_cell(runs, chosen_way(runs, name, ask=ask), own) for name in PEERS]
        rows.append(row)
    way = "asked for the value after each delta" if ask else "only fed"
    write_table([way, "size", "ours", "a delta", *PEERS], rows)


def write_flatness(measured: Measured) -> None:
    """Write the table of the last thousand deltas over the first thousand."""
    rows = []
    names = [OURS, OURS + ASKED]
    for name in INCREMENTAL:
        names += [name, *([] if name == "jsonmend" else [name + ASKED])]
    for (title, size), runs in measured.items():
        # Shorter documents have no thousand deltas that come later.
        if size >= 2 * PART_DELTAS * DELTA_CHARACTERS:
            rows.append([title, human_size(size), *(flatness_cell(runs, name) for name in names)])
    if rows:
        write_table(["last / first thousand deltas", "size", *names], rows)


def met(is_met: bool) -> str:  # noqa: FBT001 - it is what is said
    """Write whether a goal is met."""
    return "met" if is_met else "NOT met"


def faster_in_total(chosen: Sequence[Runs], *, ask: bool) -> list[str]:
    """Return the peers that took less than ours for all documents together."""
    own = sum(median_total(runs, chosen_way(runs, OURS, ask=ask)) for runs in chosen)
    faster = []
    for peer in PEERS:
        names = [chosen_way(runs, peer, ask=ask) for runs in chosen]
        pairs = list(zip(chosen, names, strict=True))
        if all(runs.get(name) and is_complete(runs, name) for runs, name in pairs):
            total = sum(median_total(runs, name) for runs, name in pairs)
            faster += [f"{peer}, {total / own:.2f} of ours"] if total < own else []
    return faster


def best_ratio(ratios: Mapping[str, float | None], names: Iterable[str]) -> tuple[float, str]:
    """Return the least ratio of some peers, and the peer's name; infinite if there is none."""
    return min((ratios[name] or float("inf"), name) for name in names)


def write_goals(measured: Measured, *, ask: bool) -> None:
    """Say which goals are met at 64 KB."""
    chosen = {title: runs for (title, size), runs in measured.items() if is_goal_size(size)}
    if not chosen:
        return
    faster = faster_in_total(list(chosen.values()), ask=ask)
    way = "asked after each delta" if ask else "only fed"
    lines = [f"Goals at 64 KB, {way}:", ""]
    behind = f" (faster: {'; '.join(faster)})" if faster else ""
    lines.append(f"- both documents together, ahead of each peer: {met(not faster)}{behind}.")
    for title, runs in chosen.items():
        own = chosen_way(runs, OURS, ask=ask)
        ratios = {name: ratio(runs, chosen_way(runs, name, ask=ask), own) for name in PEERS}
        least, _ = best_ratio(ratios, JITER)
        if least < float("inf"):
            lines.append(f"- {title}, 5 times less than jiter: {met(least >= 5)} ({least:.1f}).")
        least, best = best_ratio(ratios, PEERS)
        said = f"({1 / least:.2f} times {best})"
        lines.append(f"- {title}, within 2 times of the best: {met(least >= 0.5)} {said}.")
    sys.stdout.write("\n".join(lines) + "\n\n")


def is_goal_size(size: int) -> bool:
    """Tell whether a document has the size that the goals are for, give or take its ending."""
    return abs(size - GOAL_BYTES) < GOAL_BYTES / 10


def write_documents(sizes: Sequence[int], options: Options) -> None:
    """Measure each document, and write the tables."""
    beginners, missing = streams()
    packages = sorted({peer.package for peer in PEERS.values()} - set(missing))
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    sys.stdout.write(f"Python {platform.python_version()}, {', '.join(versions)}.\n")
    sys.stdout.write(f"Missing: {', '.join(missing) or 'none'}.\n\n")
    measured: Measured = {}
    for size in sizes:
        for title, text in stream_documents(size).items():
            sys.stderr.write(f"{title}, {human_size(size)}\n")
            measured[title, len(text)] = measure(beginners, text, options)
    for ask in (False, True):
        write_ratios(measured, ask=ask)
    sys.stdout.write(
        "Deltas of four characters. The peers: times as long as `RepairStream`, in all (their own\n"
        "time where that was stopped). jiter, json_repair and partial-json-parser parse the text\n"
        "so far after each delta.\n"
        "‡ the last value is not that of `json.loads`.\n\n"
    )
    write_flatness(measured)
    for ask in (False, True):
        write_goals(measured, ask=ask)


# -- messages with calls


def small_calls(name: str) -> str:
    """Return a message of many small calls in a format."""
    template = TEMPLATES[name]
    calls = [("write_file", {"path": f"{at}.py", "content": "x"}) for at in range(CALL_COUNT)]
    return template.message(template.calls(calls))


def file_call(name: str, size: int) -> str:
    """Return a message of one call in a format, with a string of a size."""
    template = TEMPLATES[name]
    content = program(Random("calls"), size, ensure_ascii=False)
    return template.message(template.calls([("write_file", {"path": "a.py", "content": content})]))


MESSAGES: Final[dict[str, Callable[[str], str]]] = {
    **{
        f"one call, a string of {human_size(size)}": partial(file_call, size=size)
        for size in STREAM_SIZES[1:]
    },
    f"{CALL_COUNT:,} small calls": small_calls,
    "1 MB of content, each fifth `<`": lambda _: "abcd<" * (STREAM_SIZES[-1] // 5),
}


def call_reader(name: str) -> Reader:
    """Begin a stream of calls; its value is what was read."""
    stream = CallStream(name, TOOLS)

    def end() -> Any:
        stream.finish()
        result = stream.result
        return len(result.calls), len(result.rejected), result.content.strip()

    return Reader(stream.feed, None, end)


def call_row(name: str, title: str, options: Options) -> list[str]:
    """Measure a message in a format; return its line of the table."""
    text = MESSAGES[title](name)
    content = text if title.startswith("1 MB") else ""
    n_calls = CALL_COUNT if "small" in title else 0 if content else 1
    runs: list[Run] = []
    while len(runs) < options.rounds and sum(one.total for one in runs) <= options.budget:
        begin = partial(call_reader, name)
        runs.append(run(begin, text, (n_calls, 0, content), options.limit))
        if runs[-1].share < 1:
            return [
                title,
                name,
                human_size(len(text)),
                f"stopped at {runs[-1].share:.1%}",
                "-",
                "-",
            ]
    total = statistics.median(one.total for one in runs)
    flatness = statistics.median(one.last / one.first for one in runs)
    wrong = "" if is_right(runs) else " ‡"
    cells = [human_size(len(text)), human_time(total) + wrong]
    cells += [human_time(total / len(text) * DELTA_CHARACTERS), f"{flatness:.2f}"]
    return [title, name, *cells]


def write_calls(options: Options) -> None:
    """Measure each message in each format, and write the table."""
    rows = []
    for title in MESSAGES:
        for name in CALL_FORMATS:
            sys.stderr.write(f"{title}, {name}\n")
            rows.append(call_row(name, title, options))
    heads = ["message", "format", "size", "total", "a delta", "last / first thousand deltas"]
    write_table(heads, rows)
    sys.stdout.write(
        "`CallStream`, deltas of four characters. ‡ not the calls and the content of the message.\n"
    )


def main() -> None:
    """Measure what the command line asks for, and write Markdown tables."""
    parser = argparse.ArgumentParser(description="Time streams of small deltas.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds for a tool and text")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("--size", type=int, nargs="*", default=STREAM_SIZES, help="of documents")
    parser.add_argument("--only", choices=("documents", "calls"))
    arguments = parser.parse_args()
    options = Options(arguments.rounds, arguments.budget, arguments.limit)
    gc.freeze()
    if arguments.only != "calls":
        write_documents(arguments.size, options)
    if arguments.only != "documents":
        write_calls(options)


if __name__ == "__main__":
    main()
