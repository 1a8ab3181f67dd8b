"""Hostile texts: the cost grows with their length and no faster, and memory stays in bounds.

A text is doubled until reading it takes long enough to be measured; then twice the size must cost
less than 2.6 times as much. Something quadratic would cost 4 times. Where even a million units are
read in next to no time, as with a text that is refused at its first character, there is nothing to
compare and that alone is shown.
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any, Final, NamedTuple

import pytest

from jsonrepair_lark import RepairStream, Result, repair

MILLION: Final = 1_000_000
FLOOR: Final = 0.02  # seconds: below it, a measurement says more about the clock
BUDGET: Final = 0.15  # seconds for the smaller of the two texts, so that all cases stay affordable
MOST_GROWTH: Final = 2.6
MOST_BYTES_A_CHARACTER: Final = 60
DELTA: Final = 4  # characters
N_TRIES: Final = 4
N_DOUBLINGS: Final = 3


class Hostile(NamedTuple):
    """A kind of text by its size."""

    build: Callable[[int], str]
    status: str
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed


HOSTILE: Final = {
    "openers": Hostile(lambda n: "[" * n, "rejected"),
    "openers-no-limit": Hostile(lambda n: "[" * n, "rejected", {"max_depth": 10 * MILLION}),
    "openers-then-value": Hostile(lambda n: "[" * min(n, 500) + "1" + " " * n, "repaired"),
    "object-openers": Hostile(lambda n: '{"a":' * n, "rejected"),
    "object-openers-no-limit": Hostile(
        lambda n: '{"a":' * n, "rejected", {"max_depth": 10 * MILLION}
    ),
    "mixed-openers": Hostile(lambda n: '{"a":[' * n, "rejected"),
    "openers-after-items": Hostile(lambda n: "[1," * n, "rejected"),
    "openers-after-items-no-limit": Hostile(
        lambda n: "[1," * n, "rejected", {"max_depth": 10 * MILLION}
    ),
    "balanced-pairs-while-deeper": Hostile(lambda n: "[[]," * n, "rejected"),
    "nested-whole": Hostile(lambda n: "[" * n + "]" * n, "rejected"),
    "nested-then-broken": Hostile(lambda n: "[" * n + "]" * (n - 1) + "}", "rejected"),
    "closers": Hostile(lambda n: "]" * n, "rejected"),
    "closers-after-value": Hostile(lambda n: '{"a":1}' + "}" * n, "repaired"),
    "closers-after-value-then-text": Hostile(lambda n: '{"a":1}' + "}" * n + "x", "rejected"),
    "quotes": Hostile(lambda n: '"' * n, "rejected"),
    "quote-and-backslash": Hostile(lambda n: '"\\' * n, "rejected"),
    "quote-then-backslashes": Hostile(lambda n: '"' + "\\" * n, "rejected"),
    "escapes-in-open-string": Hostile(lambda n: '"' + "\\n" * n, "rejected"),
    "escapes-in-string-in-open-list": Hostile(lambda n: '["' + "\\n" * n + '"', "repaired"),
    "unicode-escapes-in-open-string": Hostile(lambda n: '"' + "\\u00e9" * n, "rejected"),
    "lone-surrogates": Hostile(lambda n: '["' + "\\ud800" * n + '"', "rejected"),
    "lone-surrogates-replaced": Hostile(
        lambda n: '["' + "\\ud800" * n + '"', "repaired", {"lone_surrogates": "replace"}
    ),
    "controls-in-open-string": Hostile(lambda n: '"' + "\x01" * n, "rejected"),
    "controls-in-string": Hostile(lambda n: '"' + "\n" * n + '"', "repaired"),
    "lines-in-open-string": Hostile(lambda n: '"' + "a\n" * n, "rejected"),
    "lines-in-string": Hostile(lambda n: '{"a":"' + "a\n" * n + '"', "repaired"),
    "digits": Hostile(lambda n: "1" * n, "rejected"),
    "digits-of-a-fraction": Hostile(lambda n: "[1." + "1" * n, "repaired"),
    "digits-then-broken": Hostile(lambda n: "[1." + "1" * n + "x", "rejected"),
    "minus-signs": Hostile(lambda n: "-" * n, "rejected"),
    "commas": Hostile(lambda n: "," * n, "rejected"),
    "commas-in-list": Hostile(lambda n: "[1" + "," * n, "rejected"),
    "trailing-commas": Hostile(lambda n: "[" + "[1,]," * n, "rejected"),
    "trailing-commas-open": Hostile(lambda n: "[" + "[1,]," * n + "1", "repaired"),
    "colons": Hostile(lambda n: '{"a"' + ":" * n, "rejected"),
    "white-space": Hostile(lambda n: " \n" * n, "rejected"),
    "white-space-in-open-list": Hostile(lambda n: "[1" + " \n" * n, "repaired"),
    "byte-order-marks": Hostile(lambda n: "\ufeff" * n, "rejected"),
    "objects-side-by-side": Hostile(lambda n: '{"a":1}' * n, "rejected"),
    "numbers-side-by-side": Hostile(lambda n: "[" + "1 " * n, "rejected"),
    "items-in-open-list": Hostile(lambda n: "[" + '{"a":1},' * n + "1", "repaired"),
    "items-then-broken": Hostile(lambda n: "[" + '{"a":1},' * n + "x", "rejected"),
    "open-item-after-each-item": Hostile(lambda n: "[" + '{"a":[1},' * n + "1", "repaired"),
    "python-literals": Hostile(lambda n: "[" + "None," * n + "1", "repaired"),
    "not-a-number-nulled": Hostile(
        lambda n: "[" + "NaN," * n + "1", "repaired", {"nonfinite": "null"}
    ),
    "one-key-again-and-again": Hostile(lambda n: "{" + '"a":1,' * n + '"a":1', "repaired"),
    "many-keys": Hostile(
        lambda n: "{" + ",".join(f'"{key}":1' for key in range(n)),
        "repaired",
        {"duplicate_keys": "reject"},
    ),
    "words": Hostile(lambda n: "[" + "nul " * n, "rejected"),
    "letters": Hostile(lambda n: "a" * n, "rejected"),
    "almost-literals": Hostile(lambda n: "[" + "t" * n, "rejected"),
}
# Without a depth limit the lists of the partial value alone take more than that for each bracket.
REFUSED: Final = [
    name
    for name, case in HOSTILE.items()
    if case.status == "rejected" and "max_depth" not in case.options
]

each = pytest.mark.parametrize("name", HOSTILE)


def read_whole(text: str, options: dict[str, Any]) -> None:
    """Repair and look at everything that is made on first access."""
    explained(repair(text, **options))


def explained(result: Result) -> Result:
    assert result.rejection is None or result.rejection.message
    assert result.partial is None or result.status
    return result


def read_in_deltas(text: str, options: dict[str, Any]) -> None:
    stream = RepairStream(**options)
    for at in range(0, len(text), DELTA):
        stream.feed(text[at : at + DELTA])
    explained(stream.finish())


Read = Callable[[str, dict[str, Any]], None]


def cost(read: Read, case: Hostile, n: int) -> float:
    """Cost of reading one text of size `n`, in seconds, without that of building it."""
    text = case.build(n)
    return seconds(lambda: read(text, case.options))


def seconds(action: Callable[[], object]) -> float:
    """Processor time that an action takes."""
    gc.collect()
    start = process_time()
    action()
    return process_time() - start


def measurable_size(
    read: Read, case: Hostile, most: int, budget: float = BUDGET
) -> tuple[int, float]:
    """Find the largest size up to `most` that keeps to the budget in seconds, and its cost.

    Doubling from a small size, so that something quadratic is found long before it hangs.
    """
    n = 1000
    spent = cost(read, case, n)
    while 2 * n <= most:
        n *= 2
        before, spent = spent, cost(read, case, n)
        # Below the depth limit, a few levels can cost much and all that follows nothing.
        if spent > budget / 2 and spent > 1.5 * before:
            break
    return n, spent


def check_growth(read: Read, case: Hostile, most: int) -> None:
    read(case.build(1000), case.options)  # whatever is loaded on first need
    n, first = measurable_size(read, case, most // 2)
    tried = []
    for _ in range(N_DOUBLINGS):
        second = cost(read, case, 2 * n)
        for _ in range(N_TRIES):
            if second < FLOOR or second / first < MOST_GROWTH:
                return
            # Other processes only ever add to a measurement: the least of several is the best.
            first = min(first, cost(read, case, n))
            second = min(second, cost(read, case, 2 * n))
        tried.append(f"{n} units {first:.3f} s, {2 * n} units {second:.3f} s")
        # On a busy machine a short run can be lucky again and again, a longer one never. What is
        # quadratic shows all the more when everything is doubled once more.
        n, first = 2 * n, second
    pytest.fail("; ".join(tried))


@each
def test_cost_grows_with_the_length(name: str) -> None:
    check_growth(read_whole, HOSTILE[name], MILLION)


@each
def test_cost_in_small_deltas_grows_with_the_length(name: str) -> None:
    check_growth(read_in_deltas, HOSTILE[name], MILLION // 4)


@each
def test_the_text_is_judged_as_its_kind_says(name: str) -> None:
    """Small sizes, so that what is measured above is what its name says."""
    case = HOSTILE[name]
    for n in (600, 1200):
        result = repair(case.build(n), **case.options)
        if name == "digits" and n < sys.get_int_max_str_digits():
            assert result.status == "valid"
        else:
            assert result.status == case.status, result.reason


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_text_needs_little_memory(name: str) -> None:
    case = HOSTILE[name]
    repair(case.build(1000), **case.options)
    # Tracing makes everything several times slower, so the budget decides about the size here too.
    n, _ = measurable_size(read_whole, case, MILLION, budget=0.15)
    text = case.build(n)
    gc.collect()
    tracemalloc.start()
    try:
        result = explained(repair(text, **case.options))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.status == "rejected"
    assert peak / len(text) < MOST_BYTES_A_CHARACTER


class Place(NamedTuple):
    """Where faulty units can stand: what opens and ends the text, and what pads it."""

    head: str
    tail: str
    long: str  # one token of some millions of characters
    many: str  # ten thousand tokens


LONG: Final = "x" * 2 * MILLION
PLACES: Final = {
    "list": Place("[", "1", f'"{LONG}",', "1," * 10_000),
    "object": Place("{", '"z":1', f'"k":"{LONG}",', '"k":1,' * 5_000),
    "string": Place('["', '"', LONG, "\\/" * 100_000),
}
UNITS: Final = [
    ("list", '"a\nb",', {}),
    ("list", '{"a":[1},', {}),
    ("list", "[1,],", {}),
    ("list", '{"a":1,},', {}),
    ("list", "[[[None]]],", {}),
    ("list", "True,", {}),
    ("list", "NaN,", {"nonfinite": "null"}),
    ("list", '"\\ud800",', {"lone_surrogates": "replace"}),
    ("list", '{"a":1},', {"duplicate_keys": "reject"}),
    ("object", '"a":"a\nb",', {}),
    ("object", '"a\nb":1,', {}),
    ("object", '"a":[1,],', {}),
    ("object", '"a":None,', {}),
    ("string", "\n", {}),
    ("string", "a\n", {}),
    ("string", "\\n", {}),
    ("string", "\\ud800", {"lone_surrogates": "replace"}),
]
N_UNITS: Final = 500
SLACK: Final = 0.03  # seconds


@pytest.mark.parametrize("pad", ["long", "many"])
@pytest.mark.parametrize(("place", "unit", "options"), UNITS)
def test_cost_of_a_fault_does_not_depend_on_what_is_around_it(
    place: str, unit: str, options: dict[str, Any], pad: str
) -> None:
    """Read hundreds of faults beside a large pad.

    A fault that costs next to nothing for each character around it makes the whole quadratic, but
    so slowly that doubling the text shows it only after minutes. The pad shows it at once.
    """
    head, tail, *_ = PLACES[place]
    padding = getattr(PLACES[place], pad)
    unit_deltas = [unit[at : at + DELTA] for at in range(0, len(unit), DELTA)]
    for few in ([unit * N_UNITS], unit_deltas * N_UNITS):
        many = few * 3
        alone = [head, *few, *few, tail]
        check_pad([head, padding, *few, tail], [head, padding, *many, tail], alone, options)
        check_pad([head, *few, padding, tail], [head, *many, padding, tail], alone, options)


def check_pad(few: list[str], many: list[str], alone: list[str], options: dict[str, Any]) -> None:
    """Compare what more faults cost beside a pad with what as many cost without it.

    A few faults are there in any case, for they can make the pad itself slower to read, which is no
    matter of growth.
    """
    best = dict.fromkeys(("few", "many", "alone"), float("inf"))
    for _ in range(N_TRIES):
        for name, pieces in (("few", few), ("many", many), ("alone", alone)):
            spent = seconds(partial(read_pieces, pieces, options))
            best[name] = min(best[name], spent)
        if best["many"] < best["few"] + 2 * best["alone"] + SLACK:
            return
    pytest.fail(str(best))


def read_pieces(pieces: list[str], options: dict[str, Any]) -> None:
    stream = RepairStream(**options)
    for piece in pieces:
        stream.feed(piece)
    assert stream.finish().status == "repaired"
