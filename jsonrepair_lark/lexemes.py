"""What the standard library does with pieces of JSON text: native terminals, lexemes, escapes.

A grammar that declares `VALUE`, `ITEMS`, `PAIRS` or `KEY` (`%declare`) gets complete values, runs
of complete list items and of complete pairs, and keys as one token each, scanned and decoded by the
C scanner of `json`. The scanner is told to fail where the policies have something to decide (a
number that is not finite, an integer over the digit limit, a lone surrogate): then the grammar's
own terminals find the place.

Source: RFC 8259; `json.decoder`, `json.scanner`.
"""

import json
import re
from collections.abc import Callable
from json import decoder
from typing import Any, Final, Never

Run = tuple[list[Any], int, int, tuple[int, ...]]
"""What a native scanner returns.

The values for the stack, none if it found nothing; the end of what it scanned; where the C scanner
stopped after that (the same end if it did not fail, -1 if it met something that a policy decides);
the offsets where it found that nothing complete starts.
"""


class NotScannable(ValueError):  # noqa: N818 - not an error of the caller's
    """The C scanner met something that a policy decides."""


def _finite(lexeme: str) -> float:
    value = float(lexeme)
    # Infinity minus itself is not a number; cheaper than math.isfinite on this hot path.
    if value - value == 0:
        return value
    raise NotScannable(lexeme)


def _no_constant(lexeme: str) -> Never:
    raise NotScannable(lexeme)


DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
# Both are in the standard library for long, and in none of its type stubs.
scan_once: Final[Callable[[str, int], tuple[Any, int]]] = getattr(DECODER, "scan_once")  # noqa: B009
scan_string: Final[Callable[[str, int, bool], tuple[str, int]]] = getattr(decoder, "scanstring")  # noqa: B009

_WHITE_SPACE: Final = re.compile(r"[ \t\n\r]++").match
LINE_COUNT_DISCOUNT: Final = 16
"""An error of the C scanner counts the lines before its place, this much faster than it scans."""
LOOK_CHARACTERS: Final = 128
"""How many characters of text there have to be for one look at a decoded value."""

_CONTAINERS: Final = frozenset({dict, list})

_COMMA: Final = re.compile(r"[ \t\n\r]*+,[ \t\n\r]*+").match
_COLON: Final = re.compile(r"[ \t\n\r]*+:[ \t\n\r]*+").match
# What may not follow a number or a literal: see NUMBER in json.lark.
_GLUED: Final = re.compile(r"[\w.+-]").match
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB]..)(\\u[dD][c-fC-F]..)?|u([dD][c-fC-F]..)|.)", re.DOTALL
)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]").search
_LONE: Final = re.compile(r"\\u....|[\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x1f]")


def skip_white_space(text: str, pos: int) -> int:
    """Return where the white space of JSON (RFC 8259 section 2) ends that starts at `pos`."""
    found = _WHITE_SPACE(text, pos)
    return found.end() if found else pos


_FAILED: Final = object()
_CLOSERS: Final = {"[": "]", "{": "}", '"': '"'}


def _scan(text: str, pos: int, room: int) -> tuple[Any, int]:
    """Scan one value that nests at most `room` deep; `_FAILED` and where if there is none."""
    # Without its closer in the text a value is cut, which is cheaper to see than to try.
    closer = _CLOSERS.get(text[pos : pos + 1])
    if closer is not None and text.find(closer, pos + 1) < 0:
        return _FAILED, pos + 1
    try:
        value, end = scan_once(text, pos)
    except StopIteration as error:
        return _FAILED, error.value
    except json.JSONDecodeError as error:
        return _FAILED, error.pos
    except (ValueError, RecursionError):
        return _FAILED, -1
    if end - pos > room and is_deeper(value, text, room, pos, end):
        return _FAILED, -1
    return value, end


def _is_open(text: str, end: int, *, final: bool) -> bool:
    """Tell whether a value that ends at `end` could go on there."""
    if end == len(text):
        return not final and text[end - 1] not in '"]}'
    return _GLUED(text, end) is not None


def scan_value(text: str, pos: int, room: int, final: bool) -> Run:  # noqa: FBT001
    """Scan one complete value."""
    value, end = _scan(text, pos, room)
    if value is _FAILED or _is_open(text, end, final=final):
        return [], pos, end, (pos,)
    return [value], end, end, ()


def scan_items(text: str, pos: int, room: int, final: bool) -> Run:  # noqa: FBT001
    """Scan values with commas between them, as many as are complete."""
    values: list[Any] = []
    last = pos
    while True:
        value, end = _scan(text, pos, room)
        if value is _FAILED:
            return values, last, end, (pos,)
        comma = _COMMA(text, end)
        if comma is None:
            break
        values.append(value)
        last = end
        pos = comma.end()
    if not _is_open(text, end, final=final):
        values.append(value)
        last = end
    return values, last, last, (pos,)


def scan_pairs(text: str, pos: int, room: int, final: bool) -> Run:  # noqa: FBT001
    """Scan members of an object with commas between them, as many as are complete."""
    pairs: list[Any] = []
    last = pos
    while text.startswith('"', pos):
        try:
            key, end = scan_string(text, pos + 1, True)  # noqa: FBT003 - C function
        except json.JSONDecodeError as error:
            return pairs, last, error.pos, (pos,)
        colon = _COLON(text, end)
        if colon is None:
            break
        start = colon.end()
        value, end = _scan(text, start, room)
        if value is _FAILED:
            return pairs, last, end, (pos, start)
        comma = _COMMA(text, end)
        if comma is None:
            if not _is_open(text, end, final=final):
                pairs.append((key, value))
                last = end
            break
        pairs.append((key, value))
        last = end
        pos = comma.end()
    return pairs, last, last, (pos,)


def scan_key(text: str, pos: int, room: int, final: bool) -> Run:  # noqa: FBT001
    """Scan the key of a pair and its colon."""
    del room, final
    if text.startswith('"', pos):
        try:
            key, end = scan_string(text, pos + 1, True)  # noqa: FBT003 - C function
        except json.JSONDecodeError:
            return [], pos, pos, ()
        colon = _COLON(text, end)
        if colon is not None:
            end = text.index(":", end) + 1
            return [key], end, end, ()
    return [], pos, pos, ()


NATIVES: Final[dict[str, Callable[..., Run]]] = {
    "ITEMS": scan_items,
    "PAIRS": scan_pairs,
    "KEY": scan_key,
    "VALUE": scan_value,
}
"""Scanners by the local name of their terminal, in the order to try them."""
BOUNDED: Final = frozenset({"KEY"})
"""The native terminals whose scanners look no further than one token."""
SINGLE: Final = frozenset({"KEY", "VALUE"})
"""The native terminals that stand for just one value."""


def is_deeper(value: Any, text: str, limit: int, start: int = 0, end: int | None = None) -> bool:
    """Tell whether `value`, decoded from `text[start:end]`, nests more than `limit` deep."""
    if text.count("[", start, end) + text.count("{", start, end) <= limit:
        return False
    level = [value]
    depth = 0
    while not _CONTAINERS.isdisjoint(map(type, level)):
        depth += 1
        if depth > limit:
            return True
        inner: list[Any] = []
        for item in level:
            if type(item) is dict:
                inner.extend(item.values())
            elif type(item) is list:
                inner.extend(item)
        level = inner
    return False


def is_plain(value: Any, text: str, limit: int) -> bool:
    """Tell whether a value has no surrogates and nests at most `limit` deep, if cheap to see.

    In a text of few long strings a look at the value costs less than one at each character.
    """
    budget = len(text) // LOOK_CHARACTERS
    level = [value]
    depth = 0
    while level:
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                if not item.isascii() and not _is_encodable(item):
                    return False
            elif kind is dict:
                inner += item
                inner += item.values()
            elif kind is list:
                inner += item
        budget -= len(inner)
        depth += 1
        if budget < 0 or depth > limit:
            return False
        level = inner
    return True


def _is_encodable(text: str) -> bool:
    try:
        # Text of one byte a character has no surrogates, and this copies it.
        text.encode("latin-1")
    except UnicodeEncodeError:
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def find_lone_surrogate(text: str, start: int = 0, end: int | None = None) -> int:
    """Return the offset of the first surrogate, escaped or raw, that is not part of a pair; or -1.

    The text between `start` and `end` is JSON, cut at token boundaries.
    """
    if text.find("\\", start, end) < 0 and text.isascii():
        return -1
    end = len(text) if end is None else end
    found = -1
    if text.find("\\u", start, end) >= 0 and _SURROGATE(text, start, end):
        for escape in _ESCAPE.finditer(text, start, end):
            if escape[3] or (escape[1] and not escape[2]):
                found = escape.start()
                break
    if not text.isascii():
        try:
            text[start:end].encode()
        except UnicodeEncodeError as error:
            raw = start + error.start
            found = raw if found < 0 else min(raw, found)
    return found


def decode_string(body: str) -> str:
    """Return the value of a string from what stands between its quotes; escapes are valid."""
    if "\\" not in body:
        return body
    return scan_string(body + '"', 0, False)[0]  # noqa: FBT003 - C function


def decode_number(lexeme: str) -> int | float:
    """Return the value of a number: an int unless it has a fraction or an exponent."""
    return float(lexeme) if is_float(lexeme) else int(lexeme)


def is_float(lexeme: str) -> bool:
    """Tell whether a number has a fraction or an exponent."""
    return "." in lexeme or "e" in lexeme or "E" in lexeme


_PYTHON_ESCAPE: Final = re.compile(
    r"\\(?:(\r\n?|\n)|([0-7]{1,3})|u([dD][89abAB]..)\\u([dD][c-fC-F]..)"
    r"|(x..|u....|U.{8}|N\{[^}]*\}|[\\'\"abfnrtv]))"
)


def decode_python_string(body: str) -> str:
    """Return the value of a Python string from what stands between its quotes; escapes are valid.

    Two escapes that are the halves of one character in UTF-16 stand for that character, as in JSON.

    Source: https://docs.python.org/3/reference/lexical_analysis.html#escape-sequences.
    """
    return _PYTHON_ESCAPE.sub(_python_escape, body) if "\\" in body else body


def _python_escape(escape: re.Match[str]) -> str:
    line_end, octal, high, low, other = escape.groups()
    if line_end:
        return ""
    if octal:
        return chr(int(octal, 8))
    if high:
        return str(json.loads(f'"\\u{high}\\u{low}"'))
    return escape[0].encode("ascii").decode("unicode_escape") if other else escape[0]


def has_base(lexeme: str) -> bool:
    """Tell whether an integer in Python's notation is written in another base than ten."""
    return lexeme[1:2] in frozenset("xXoObB")


def decode_python_number(lexeme: str) -> int | float:
    """Return the value of a number in Python's notation; zeros before an integer are allowed.

    Source: https://docs.python.org/3/reference/lexical_analysis.html#numeric-literals.
    """
    if has_base(lexeme):
        return int(lexeme, 0)
    return float(lexeme) if is_float(lexeme) else int(lexeme)


def escape_controls(text: str) -> str:
    """Return `text` with its control characters as JSON escapes (RFC 8259 section 7)."""
    return _CONTROL.sub(lambda found: json.dumps(found[0])[1:-1], text)


def replace_surrogates(lexeme: str) -> str:
    """Return an escaped U+FFFD for each lone surrogate in `lexeme`, escaped or raw."""
    return _LONE.sub(r"\\ufffd", lexeme)


def escape_quotes(quotes: str) -> str:
    """Return quotes with a backslash before each, as JSON and Python escape them in a string."""
    return "".join("\\" + quote for quote in quotes)


REPLACEMENTS: Final[dict[str, Callable[[str], str]]] = {
    "control_character": escape_controls,
    "lone_surrogate": replace_surrogates,
    "unescaped_quote": escape_quotes,
}
"""What a repair puts in place of a lexeme, for kinds whose grammar has no fixed text for it."""
OVERLONG: Final = frozenset({"control_character"})
"""The kinds among them whose lexeme goes on after the fault, up to the next token."""


def has_duplicate_key(text: str) -> bool:
    """Tell whether some object in a JSON text has a key twice."""
    found = False

    def note(pairs: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len(pairs) != len(dict(pairs))

    json.loads(text, object_pairs_hook=note)
    return found
