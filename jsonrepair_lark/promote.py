"""Finds calls in messages whose API left them in the content.

`recognise` tells the format of a text by its sentinels; `promote` makes a chat message with
structured calls of one without.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

from jsonrepair_lark.calls import AUTO, ParsedCalls
from jsonrepair_lark.formats import CALL_RULE, formats, grammar_of
from jsonrepair_lark.reading import read_calls
from jsonrepair_lark.recovery import part_openers
from jsonrepair_lark.scanner import local_name, pattern_of
from jsonrepair_lark.tools import Tools, field, schemas_of

SWITCH: Final = "JSONREPAIR_LARK_PROMOTE"
"""The environment variable that switches `promote` off if it is `0`."""
_WORD: Final = re.compile(r"[A-Za-z]{3}").search


@cache
def _sentinel(name: str) -> re.Pattern[str] | None:
    """Return what announces a call in a format; None for a format that nothing does."""
    grammar = grammar_of(name)
    rules = frozenset({CALL_RULE})
    # A rule around the calls, such as a list of them, may begin with the sentinel.
    around = {
        row.expansion[0]
        for row in grammar.rules
        if row.expansion
        and any(local_name(s) == CALL_RULE or grammar.reaches(s, rules) for s in row.expansion[1:])
    }
    announcing = [
        pattern_of(grammar.terminal_rows[symbol])
        for symbol in sorted(around | part_openers(grammar, rules))
        if symbol in grammar.terminal_rows
    ]
    # A bracket or a separator announces nothing: a sentinel has a word in it.
    patterns = [pattern for pattern in announcing if _WORD(pattern)]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else None


def recognise(text: str, *, tools: Tools = None, **options: Any) -> ParsedCalls | None:
    """Return what the one format that fits reads in a text, None if none or several fit.

    A format fits if one of its sentinels is in the text and it reads calls there and rejects
    none. Formats that read the same calls are one.

    Args:
        text: what the model wrote.
        tools: as in `parse_calls`.
        **options: as in `parse_calls`.

    Raises:
        TypeError, ValueError: as `parse_calls`.
    """
    fitting: dict[tuple[tuple[str, str], ...], ParsedCalls] = {}
    for one in formats():
        sentinel = _sentinel(one.name)
        if sentinel is None or not sentinel.search(text):
            continue
        parsed = read_calls(text, format=one.name, tools=tools, **options)
        if parsed.calls and not parsed.rejected:
            read = tuple((call.name, call.arguments) for call in parsed.calls)
            known = fitting.get(read)
            # Of formats that read the same calls, the one that leaves the least text fits best.
            if known is None or len(parsed.content) < len(known.content):
                fitting[read] = parsed
    return next(iter(fitting.values())) if len(fitting) == 1 else None


def parse_calls(
    text: str,
    *,
    format: str,  # noqa: A002 - what callers call it
    tools: Tools = None,
    unknown: Literal["content", "drop"] = "content",
    thinking: bool = False,
    **options: Any,
) -> ParsedCalls:
    """Return the content and the tool calls of a message; never raises on any text.

    Args:
        text: what the model wrote.
        format: the format's name or one of its aliases (see `formats`); `"auto"` for the one
            format whose sentinels and calls are in the text. Where none or several fit, all of it
            is content.
        tools: the tools that were offered (see `schemas_of`); with them, only calls of these
            names, exactly, are calls, and untyped arguments get the types of their schemas.
        unknown: whether the text of a call of another name stays in the content.
        thinking: whether the text begins inside of a thought, as where the chat template has
            opened it; only then is text before a closing marker without an opening one reasoning.
        **options: as in `repair`.

    Raises:
        GrammarNotFoundError: if there is no such format.
        TypeError, ValueError: as `repair`; TypeError for a tool without a name.
    """
    if format != AUTO:
        return read_calls(
            text, format=format, tools=tools, unknown=unknown, thinking=thinking, **options
        )
    if not isinstance(text, str):
        raise TypeError(f"the text must be a str, not {type(text).__name__}")
    recognised = recognise(text, tools=tools, unknown=unknown, thinking=thinking, **options)
    return recognised or ParsedCalls(
        content=text, reasoning="", calls=(), rejected=(), text=text, format=AUTO
    )


def promote(
    message: Any,
    tools: Tools,
    *,
    format: str = AUTO,  # noqa: A002 - what callers call it
    enabled: bool = True,
    **options: Any,
) -> Any:
    """Return a chat message with the calls that its content holds as structured calls.

    The message itself is returned where there is nothing to do: it has structured calls, no tools
    were offered, no format fits, `enabled` is false or the environment variable
    `JSONREPAIR_LARK_PROMOTE` is `0`.

    Args:
        message: a mapping with `content` and `tool_calls`, or an object of the SDK's; not changed.
        tools: the tools that were offered; only their names, exactly, are calls.
        format: the format of the content; by default it is recognised.
        enabled: whether to look at all.
        **options: as in `parse_calls`.

    Raises:
        GrammarNotFoundError: if there is no such format.
        TypeError, ValueError: as `parse_calls`.
    """
    content = field(message, "content")
    is_off = not enabled or os.environ.get(SWITCH) == "0"
    schemas = schemas_of(tools)
    if is_off or not schemas or not isinstance(content, str) or field(message, "tool_calls"):
        return message
    parsed = parse_calls(content, format=format, tools=schemas, **options)
    if not parsed.calls:
        return message
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in parsed.calls
    ]
    changed = {"content": parsed.content.strip() or None, "tool_calls": calls}
    if isinstance(message, Mapping):
        return {**message, **changed}
    return type(message).model_validate({**message.model_dump(), **changed})
