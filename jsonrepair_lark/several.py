"""Several values in one text: side by side (`split`), or in noise (`extract`).

Both read value after value, each with a session of its own that is fed in growing pieces: a value
costs what it is long, and the session tells where it ends. Where a session that started at a brace
in prose fails, its open rules tell which braces are prose too, and the search goes on behind it.
What failed is read again for that, as often as a budget allows; then the search goes on at the
place of the failure, so that any text costs linear time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from jsonrepair_lark import completion
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.lexemes import LINE_COUNT_DISCOUNT, scan_once, skip_white_space
from jsonrepair_lark.limits import Limits
from jsonrepair_lark.policies import Options, options_from
from jsonrepair_lark.reader import (
    WHITE_SPACE,
    Text,
    decoded_text,
    is_allowed,
    json_program,
    read,
    result_of,
)
from jsonrepair_lark.result import Result
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Program
from jsonrepair_lark.tables import END
from jsonrepair_lark.values import value_program

ENCLOSED: Final = "json_value"
"""The grammar of one object or array that other text may follow."""

FIRST_PIECE_CHARACTERS: Final = 512
PIECE_GROWTH: Final = 4
"""How much a session is fed at first, and how much larger each next piece is."""
BUDGET_PER_CHARACTER: Final = 8
"""How often, on average, a character may be read in vain."""
OUTSIDE_REASONS: Final = frozenset({None, "concatenated", "trailing_text", "unexpected_input"})
"""The reasons of a session that what follows a value stopped."""
CUT_REASONS: Final = frozenset(
    {
        "truncated",
        "dangling_comma",
        "incomplete_string",
        "incomplete_number",
        "incomplete_literal",
        "missing_value",
        "missing_colon",
        "empty_container",
    }
)
"""The reasons of a session that the end of the text stopped."""

_OPENER: Final = re.compile(r"[\[{]")


@cache
def _enclosed_program() -> Program:
    return value_program(Grammar.of(ENCLOSED))


class _Scout:
    """Reads valid values with the standard library, as long as that does not cost too much.

    Its error counts the lines before a place, so that failures late in a long text add up; after
    too many of them the sessions read everything.
    """

    def __init__(self, text: str, options: Options) -> None:
        self._text = text
        self._options = options
        self._budget = BUDGET_PER_CHARACTER * len(text)

    def read(self, pos: int) -> Result | None:
        """Return the result of the valid value at `pos`, or None."""
        if self._budget < 0:
            return None
        try:
            value, end = scan_once(self._text, pos)
        except (ValueError, StopIteration, RecursionError) as error:
            stopped = getattr(error, "pos", pos)
            self._budget -= stopped - pos + stopped // LINE_COUNT_DISCOUNT + FIRST_PIECE_CHARACTERS
            return None
        text = self._text[pos:end]
        if (text[-1] not in '"]}' and self._text[end : end + 1].strip()) or not is_allowed(
            value, text, self._options
        ):
            # A number or a word may go on, and the options have a say: the session's to find out.
            return None
        return Result("valid", text, value, text, self._options, span=(pos, end))


def _read(program: Program, limits: Limits, text: str, pos: int) -> Session:
    """Feed a session with `text[pos:]` until it stops, or finish it at the end of the text."""
    session = Session(program, limits)
    size = FIRST_PIECE_CHARACTERS
    while session.stop is None and pos < len(text):
        session.feed(text[pos : pos + size])
        pos += size
        size *= PIECE_GROWTH
    if session.stop is None:
        session.finish()
    return session


def has_value(session: Session) -> bool:
    """Tell whether what a stopped session has read is a value that is complete as it stands."""
    stop = session.stop
    if stop is not None and stop.reason not in OUTSIDE_REASONS:
        # The value itself was refused.
        return False
    return bool(session.values) and completion.closers_before(session, END) == []


def split(text: Text, **options: Any) -> list[Result]:
    """Return every top-level value of a text of values side by side, left to right.

    Between values stands nothing or the white space of JSON. The last value may be closed; where
    something stands that is no value, the rest of the text from there is one rejected result, so
    that nothing is lost.

    Args:
        text: as in `repair`.
        **options: as in `repair`.

    Returns:
        The results in order, each that of its own part of the text (offsets are its own), with
        its `span` in the whole; an empty list for blank text.

    Raises:
        TypeError, ValueError: as `repair`.
    """
    chosen = options_from(options)
    source = decoded_text(text, chosen)
    if isinstance(source, Result):
        return [source]
    return list(_values_side_by_side(source, chosen))


def _values_side_by_side(text: str, options: Options) -> Iterator[Result]:
    scout = _Scout(text, options)
    pos = skip_white_space(text, 0)
    while pos < len(text):
        valid = scout.read(pos)
        if valid is not None and _is_followed_by_value(text, valid.span[1]):
            yield valid
            pos = skip_white_space(text, valid.span[1])
            continue
        session = _read(json_program(), options.limits, text, pos)
        stop = session.stop
        if stop is None or not has_value(session):
            # White space proves a number complete; else it is no part of a value.
            end = len(text) if options.number_at_end == "reject" else len(text.rstrip(WHITE_SPACE))
            rest = read(text[pos:end], options)
            rest.span = (pos, end)
            yield rest
            return
        end = pos + session.last_end
        yield _accepted(text, pos, end, session, options)
        pos += stop.offset


def _is_followed_by_value(text: str, end: int) -> bool:
    """Tell whether what follows can't be an excess closer, which would belong to the value."""
    at = skip_white_space(text, end)
    return text[at : at + 1] not in ("]", "}")


def _accepted(text: str, start: int, end: int, session: Session, options: Options) -> Result:
    """Return the result of the part of the text that a stopped session has read completely."""
    part = text[start:end]
    if options.duplicate_keys == "reject":
        # What follows the part proves a number complete.
        result = read(part, replace(options, number_at_end="accept"))
    else:
        session.accept()
        result = result_of(session, part, options)
    result.span = (start, end)
    return result


@dataclass(frozen=True, slots=True)
class Extraction:
    """What `extract` found.

    Attributes:
        values: the complete objects and arrays, in the order of the text.
        results: their results, each with its `span`; rejected are a value that the end of the text
            cuts, which is the last, and values with a repeated key where the options refuse those.
        noise: the pieces of text between the spans of the results, in order, empty ones left out.
    """

    values: tuple[Any, ...]
    results: tuple[Result, ...]
    noise: tuple[str, ...]


def extract(text: Text, **options: Any) -> Extraction:
    """Find the JSON objects and arrays in other text: prose, markdown fences, log lines.

    Each is repaired as the options allow, but nothing is closed at the end of the text: a value
    that is cut there is reported as a rejected result. Braces in prose are no JSON.

    Args:
        text: as in `repair`.
        **options: as in `repair`.

    Raises:
        TypeError, ValueError: as `repair`.
    """
    chosen = options_from(options)
    source = decoded_text(text, chosen)
    if isinstance(source, Result):
        return Extraction((), (source,), ())
    results = tuple(_values_in_noise(source, chosen))
    pieces = []
    at = 0
    for result in results:
        pieces.append(source[at : result.span[0]])
        at = result.span[1]
    pieces.append(source[at:])
    return Extraction(
        tuple(result.value for result in results if result.status != "rejected"),
        results,
        tuple(piece for piece in pieces if piece),
    )


def _values_in_noise(text: str, options: Options) -> Iterator[Result]:
    scout = _Scout(text, options)
    limits = replace(options.limits, truncated=True)
    budget = BUDGET_PER_CHARACTER * len(text)
    # Offsets of openers that a failed session had open: from there it would fail in the same way.
    prose: set[int] = set()
    pos = 0
    while (opener := _OPENER.search(text, pos)) is not None:
        start = opener.start()
        pos = start + 1
        if start in prose:
            prose.remove(start)
            continue
        valid = scout.read(start)
        if valid is not None:
            yield valid
            pos = valid.span[1]
            continue
        session = _read(_enclosed_program(), limits, text, start)
        if has_value(session):
            pos = start + session.last_end
            yield _accepted(text, start, pos, session, options)
        elif session.stop is not None and session.stop.reason in CUT_REASONS:
            rest = text[start:]
            span = (start, len(text))
            yield Result("rejected", rest, None, rest, options, session=session, span=span)
            return
        elif session.stop is not None:
            stopped = start + session.stop.offset
            budget -= session.stop.offset
            if budget < 0:
                pos = max(stopped, pos)
            else:
                prose.update(
                    start + rule.start
                    for rule in completion.open_rules(session)
                    if session.grammar.is_terminal(rule.stacked[0])
                )
