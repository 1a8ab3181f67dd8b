"""Streams of small deltas: what a delta costs does not depend on what came before it.

What is shared with test_formats_growth.py is the rule; here the text is in deltas of four
characters, so that anything done again for each of them shows at a small size already.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from time import process_time
from typing import Any, Final

import pytest

from jsonrepair_lark import ArgumentsDelta, CallStream

from .support.renderers import TEMPLATES, Template, format_of
from .test_formats_growth import FLOOR, IS_LONG, MOST_GROWTH, N_TRIES

DELTA_CHARACTERS: Final = 4
# Seconds for the smaller of the two texts: there are many formats.
BUDGET: Final = 0.25 if IS_LONG else 0.02
MOST_CHARACTERS: Final = 4_000_000 if IS_LONG else 400_000
PART_DELTAS: Final = 1_000
FLAT_CHARACTERS: Final = 200_000
MOST_STEEPNESS: Final = 2.0
UNIT: Final = 'ab "c" <d>: e\\f\n'
TOOLS: Final = {"f": {"properties": {"text": {"type": "string"}}}}

each = pytest.mark.parametrize("key", TEMPLATES)


def deltas_of(text: str) -> Iterator[str]:
    return (text[at : at + DELTA_CHARACTERS] for at in range(0, len(text), DELTA_CHARACTERS))


@contextmanager
def uncollected() -> Iterator[None]:
    """Turn the collector off: it looks at all objects again as they grow more."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cost(name: str, text: str) -> float:
    """Processor time of a stream from its making to its result."""
    with uncollected():
        start = process_time()
        stream = CallStream(name, TOOLS)
        for delta in deltas_of(text):
            stream.feed(delta)
        stream.finish()
        return process_time() - start


def check_growth(name: str, build: Callable[[int], str], n: int) -> None:
    """Double a text until it costs enough to be measured; twice more must not cost too much.

    Args:
        name: the format.
        build: writes a text of so many units.
        n: how many units to begin with.
    """
    cost(name, build(1))  # loads what is loaded lazily
    first = cost(name, build(n))
    while first < BUDGET and len(build(8 * n)) <= MOST_CHARACTERS:
        n *= 2
        first = cost(name, build(n))
    # Two doublings at once, as what other processes add is then a smaller part.
    second = cost(name, build(4 * n))
    for _ in range(N_TRIES):
        if second < FLOOR or second / first < MOST_GROWTH**2:
            return
        # Other processes only ever add to a measurement: the least of several is the best.
        first = min(first, cost(name, build(n)))
        second = min(second, cost(name, build(4 * n)))
    pytest.fail(f"{build(2)[:60]!r}: {n} units {first:.3f} s, {4 * n} units {second:.3f} s")


def one_call(template: Template, n: int) -> str:
    """Write a call with a string of `n` characters."""
    text = (UNIT * (n // len(UNIT) + 1))[:n]
    return template.message(template.calls([("f", {"text": text})]))


@each
def test_cost_of_a_string_grows_with_its_length(key: str) -> None:
    template = TEMPLATES[key]
    check_growth(format_of(key), lambda n: one_call(template, n), 2000)


@each
def test_cost_of_calls_grows_with_their_number(key: str) -> None:
    template = TEMPLATES[key]
    if template.most_calls > 1:
        calls = [("f", {"text": "x"})]
        check_growth(format_of(key), lambda n: template.message(template.calls(calls * n)), 30)


@each
def test_cost_of_content_grows_with_its_length(key: str) -> None:
    if TEMPLATES[key].has_prose:
        check_growth(format_of(key), lambda n: "abcd<" * n, 400)


def times_of(stream: CallStream, deltas: Iterator[str]) -> tuple[list[float], list[Any]]:
    """Feed deltas; return the seconds of each thousand of them, and the events."""
    seconds, events = [], []
    while part := list(islice(deltas, PART_DELTAS)):
        start = process_time()
        for delta in part:
            events += stream.feed(delta)
        if len(part) == PART_DELTAS:
            seconds.append(process_time() - start)
    return seconds, events


@pytest.mark.parametrize("key", ["hermes", "qwen3_coder"])
def test_the_last_deltas_cost_what_the_first_do(key: str) -> None:
    text = one_call(TEMPLATES[key], FLAT_CHARACTERS)
    firsts, lasts = [], []
    for _ in range(N_TRIES):
        stream = CallStream(key, TOOLS)
        with uncollected():
            seconds, events = times_of(stream, deltas_of(text))
        # The arguments come as they are written, not all at the end.
        assert sum(isinstance(event, ArgumentsDelta) for event in events) > PART_DELTAS
        firsts.append(seconds[0])
        lasts.append(seconds[-1])
        if min(lasts) / min(firsts) < MOST_STEEPNESS:
            return
    pytest.fail(f"{key}: first thousand {min(firsts):.4f} s, last thousand {min(lasts):.4f} s")
