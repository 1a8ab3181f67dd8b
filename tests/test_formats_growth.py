"""Hostile messages in every format: the cost grows with their length and no faster."""

import gc
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Final

import pytest
from hypothesis import settings

from jsonrepair_lark import parse_calls

from .support.calls import parse_pieces
from .support.renderers import TEMPLATES, Template, format_of

MOST_GROWTH: Final = 2.6
BUDGET: Final = 0.03  # seconds for the smaller of the two texts: there are many formats
FLOOR: Final = 0.02  # seconds: below it, a measurement says more about the clock
N_TRIES: Final = 8
MILLION: Final = 1_000_000
# Only the soak profile tries all that can be repeated.
IS_LONG: Final = settings().max_examples > 1000
BIG: Final = 10_000 if IS_LONG else 2000
LONG: Final = MILLION if IS_LONG else MILLION // 5

each = pytest.mark.parametrize("key", TEMPLATES)


def cost(key: str, text: str, size: int = 0) -> float:
    """Processor time that a text takes, as a whole or in pieces of a size."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)] if size else []
    # The collector looks at all objects again as they grow more, which is not the library's cost.
    gc.disable()
    start = process_time()
    if size:
        parse_pieces(pieces, {"format": format_of(key)})
    else:
        parse_calls(text, format=format_of(key))
    spent = process_time() - start
    gc.enable()
    return spent


def check_growth(key: str, build: Callable[[int], str], most: int = MILLION, size: int = 0) -> None:
    """Double a text until it costs enough to be measured; twice more must not cost too much.

    Args:
        key: the template of the format.
        build: writes a text of so many units.
        most: how many characters a text may have.
        size: how many characters to feed at once; 0 for the whole text.
    """
    n = 500
    most //= max(1, len(build(n)) // n)
    first = cost(key, build(n), size)
    while first < BUDGET and 8 * n <= most:
        n *= 2
        first = cost(key, build(n), size)
    # Two doublings at once, as what other processes add is then a smaller part.
    second = cost(key, build(4 * n), size)
    for _ in range(N_TRIES):
        if second < FLOOR or second / first < MOST_GROWTH**2:
            return
        # Other processes only ever add to a measurement: the least of several is the best.
        first = min(first, cost(key, build(n), size))
        second = min(second, cost(key, build(4 * n), size))
    pytest.fail(f"{build(2)[:60]!r}: {n} units {first:.3f} s, {4 * n} units {second:.3f} s")


def repeated(template: Template, written: str, n: int) -> str:
    """Write the same call `n` times."""
    return template.message([written] * n)


@each
def test_cost_of_calls_grows_with_their_number(key: str) -> None:
    template = TEMPLATES[key]
    if template.most_calls == 1:
        return
    good = template.call("f", {"a": "x"}, 0)
    check_growth(key, partial(repeated, template, good))
    for bad in template.bad if IS_LONG else template.bad[:2]:
        check_growth(key, partial(repeated, template, bad))


@each
def test_cost_of_content_grows_with_its_length(key: str) -> None:
    template = TEMPLATES[key]
    bits = [" ", "".join(template.tags)]
    if IS_LONG:
        bits += [*template.tags, *(tag[:-1] for tag in template.tags), "<", "{", "[", '"', "\n<"]
    for bit in dict.fromkeys(bits):
        if bit:
            check_growth(key, bit.__mul__)


@each
def test_cost_of_an_argument_grows_with_its_length(key: str) -> None:
    template = TEMPLATES[key]
    close = template.value_close.partition(">")[0] + ">"
    bits = ["<", "\n", *([close, f"{close}\n "] if template.value_close else [])]
    for bit in bits:

        def build(n: int, bit: str = bit) -> str:
            return template.message(template.calls([("f", {"path": bit * n + "."})]))

        check_growth(key, build)
        # The same without an end.
        check_growth(key, lambda n, build=build: build(n)[: len(build(n)) // 2])  # type: ignore[misc]


@each
def test_large_messages_are_read(key: str) -> None:
    template = TEMPLATES[key]
    count = min(BIG, template.most_calls)
    calls = [("f", {"path": "x"})] * count
    parsed = parse_calls(template.message(template.calls(calls)), format=format_of(key))
    assert len(parsed.calls) == count
    assert len({call.id for call in parsed.calls}) == count
    long = "a<\n" * (LONG // 3)
    parsed = parse_calls(
        template.message(template.calls([("f", {"path": long})])), format=format_of(key)
    )
    assert [call.value for call in parsed.calls] == [{"path": long}]
    if template.has_prose:
        parsed = parse_calls("<" * LONG, format=format_of(key))
        assert parsed.content == "<" * LONG
