"""Messages with tool calls: parsing them in pieces, and what a corpus file says about them."""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from jsonrepair_lark import CallStream, ParsedCalls, formats, parse_calls

from .corpus import Case
from .laws import is_sound, same

FORMATS: Final = frozenset(one.name for one in formats())

PYTHONIC: Final = frozenset({"lfm2", "pythonic", "llama4_pythonic", "olmo3"})
PYTHON_NUMBER: Final = r"[0-9a-fA-F.][0-9a-fA-F._xXoObB+-]"


@cache
def read_tools(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def arguments_of(case: Case) -> dict[str, Any]:
    """The keyword arguments of `parse_calls` that a case asks for."""
    options = {**case.options, "format": case.grammar}
    if "tools" in case.attributes:
        options["tools"] = read_tools(case.path.parent / case.attributes["tools"])
    return options


def parse_pieces(pieces: Iterable[str], arguments: dict[str, Any]) -> ParsedCalls:
    """Feed the pieces one by one, and return what the stream has read."""
    stream = CallStream(**arguments)
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    return stream.result


def check_prefix(text: str, cut: int, whole: ParsedCalls, arguments: dict[str, Any]) -> None:
    """Law 1: a call of a prefix holds nothing that the call at its place does not hold."""
    is_python = arguments["format"] in PYTHONIC
    number = PYTHON_NUMBER if is_python else r"[0-9][0-9.eE+-]"
    number_is_cut = re.match(number, text[max(cut - 1, 0) :]) is not None
    # A quote at the very end counts as the string's own, though another string may stand beside it
    # or more of its text follow.
    at = max(len(text[:cut].rstrip()) - 1, 0)
    if is_python and re.match(r"""['"]\s*[^\s,:)\]}]""", text[at:]):
        return
    known = {call.span[0]: call for call in whole.calls}
    for call in parse_calls(text[:cut], **arguments).calls:
        assert same(json.loads(call.arguments), call.value), call
        # What comes later can refuse a call that a prefix closed; there is nothing to compare then.
        if (later := known.get(call.span[0])) is not None:
            assert call.name == later.name, cut
            assert is_sound(call.value, later.value, number_is_cut=number_is_cut), cut


# -- sections --------------------------------------------------------------------------------------


def section_calls(case: Case, parsed: ParsedCalls) -> str:
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in parsed.calls]
    return "\n".join(json.dumps(call, ensure_ascii="escapes" in case.attributes) for call in calls)


def section_content(case: Case, parsed: ParsedCalls) -> str:
    return case.encode(parsed.content)


def section_reasoning(case: Case, parsed: ParsedCalls) -> str:
    return case.encode(parsed.reasoning)


def section_rejected(_: Case, parsed: ParsedCalls) -> str:
    return "\n".join(
        " ".join(filter(None, (f"{call.span[0]}..{call.span[1]}", call.reason, call.name)))
        for call in parsed.rejected
    )


def section_repairs(_: Case, parsed: ParsedCalls) -> str:
    return "\n".join(
        f"{edit.offset}..{edit.offset + len(edit.removed)} {edit.kind}"
        for call in parsed.calls
        for edit in call.repairs
    )


SECTIONS: Final = {
    "calls": section_calls,
    "content": section_content,
    "reasoning": section_reasoning,
    "rejected": section_rejected,
    "repairs": section_repairs,
}


def is_equal(name: str, got: str, expected: str) -> bool:
    """Compare a section; calls compare as values, so that they may be laid out freely."""
    if name != "calls":
        return got == expected
    try:
        lines = [cast("object", json.loads(line)) for line in expected.splitlines()]
    except ValueError:
        return False
    return same([json.loads(line) for line in got.splitlines()], lines)
