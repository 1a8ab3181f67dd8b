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
from time import process_time
from typing import Any, Final, NamedTuple

import pytest

from jsonrepair_lark import RepairStream, Result, repair

MILLION: Final = 1_000_000
FLOOR: Final = 0.02  # seconds: below it, a measurement says more about the clock
BUDGET: Final = 0.4  # seconds for the smaller of the two texts, so that all cases stay affordable
MOST_GROWTH: Final = 2.6
MOST_BYTES_A_CHARACTER: Final = 60
DELTA: Final = 4  # characters
N_TRIES: Final = 4


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
REFUSED: Final = [name for name, case in HOSTILE.items() if case.status == "rejected"]

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
    """Processor time for one text of size `n`, in seconds, without that of building it."""
    text = case.build(n)
    gc.collect()
    start = process_time()
    read(text, case.options)
    return process_time() - start


def measurable_size(read: Read, case: Hostile, most: int) -> tuple[int, float]:
    """Find the largest size up to `most` that keeps to the budget, and its cost.

    Doubling from a small size, so that something quadratic is found long before it hangs.
    """
    n = 1000
    spent = cost(read, case, n)
    while 2 * n <= most and spent < BUDGET / 2:
        n *= 2
        spent = cost(read, case, n)
    return n, spent


def check_growth(read: Read, case: Hostile, most: int) -> None:
    read(case.build(1000), case.options)  # whatever is loaded on first need
    n, first = measurable_size(read, case, most // 2)
    second = cost(read, case, 2 * n)
    for _ in range(N_TRIES):
        if second < FLOOR or second / first < MOST_GROWTH:
            return
        # Other processes only ever add to a measurement: the least of several is the best.
        first = min(first, cost(read, case, n))
        second = min(second, cost(read, case, 2 * n))
    pytest.fail(f"{2 * n} units cost {second:.3f} s, {n} units {first:.3f} s")


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
    n, _ = measurable_size(read_whole, case, MILLION)
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
