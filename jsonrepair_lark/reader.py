"""Reads one JSON text: the valid one with the standard library, any other with a session.

Every function that takes a whole text ends here.
"""

import codecs
import json
import os
from functools import cache
from typing import Any, Final

from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.lexemes import (
    OVERLONG,
    find_lone_surrogate,
    has_duplicate_key,
    is_deeper,
    is_plain,
    scan_once,
    skip_white_space,
)
from jsonrepair_lark.limits import Stop
from jsonrepair_lark.policies import DEFAULTS, Options
from jsonrepair_lark.result import Repair, Result, apply
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Edit, Program
from jsonrepair_lark.values import MISSING, KeyCheck, value_program

Text = str | bytes | bytearray | memoryview | None
"""What can be repaired; None counts as empty text."""

WHITE_SPACE: Final = " \t\n\r"
"""The white space of JSON (RFC 8259 section 2)."""
_CLOSERS: Final = {"{": "}", "[": "]"}

JSON: Final = "json"
"""The name of the grammar that repairs JSON."""


def read(text: Text, options: Options) -> Result:
    """Return the result of a text under the options.

    Raises:
        TypeError: if `text` is neither text nor bytes nor None.
    """
    if not isinstance(text, str):
        decoded = decoded_text(text, options)
        if isinstance(decoded, Result):
            return decoded
        text = decoded
    value = valid_value(text, options)
    if value is not MISSING:
        return Result("valid", text, value, text, options)
    if options.duplicate_keys == "reject":
        return _checked(text, options)
    session = Session(json_program(), options.limits, failed_at=skip_white_space(text, 0))
    session.finish(text)
    return result_of(session, text, options)


def _checked(text: str, options: Options) -> Result:
    """Repair text whose repeated keys are refused."""
    check = KeyCheck(json_program().grammar)
    session = Session(check.program, options.limits)
    session.finish(text)
    duplicate = check.first(session)
    if duplicate is not None:
        session = before_duplicate(text, options, *duplicate)
    return result_of(session, text, options)


def before_duplicate(text: str, options: Options, offset: int, key: str) -> Session:
    """Return a session that has stopped at a repeated key: what stands before it is sound."""
    session = Session(json_program(), options.limits)
    session.finish(text[:offset])
    session.stop = Stop("duplicate_key", offset, key=key)
    return session


def valid_value(text: str, options: Options) -> Any:
    """Return the value of text that is valid under the options, or `MISSING`."""
    start = 0 if text[:1] > " " else skip_white_space(text, 0)
    closer = _CLOSERS.get(text[start : start + 1])
    if closer is not None and text[-1] != closer and not text.rstrip(WHITE_SPACE).endswith(closer):
        # A container that does not end in its closer is not worth a try.
        return MISSING
    try:
        value, end = scan_once(text, start)
    except (ValueError, StopIteration, RecursionError):
        return MISSING
    if end != len(text) and skip_white_space(text, end) != len(text):
        return MISSING
    return value if is_allowed(value, text, options) else MISSING


def is_allowed(value: Any, text: str, options: Options) -> bool:
    """Tell whether the options let `value`, which `text` is the valid JSON text of, pass."""
    if not is_plain(value, text, options.max_depth) and (
        find_lone_surrogate(text) >= 0 or is_deeper(value, text, options.max_depth)
    ):
        return False
    if options is DEFAULTS:
        return True
    if options.number_at_end == "reject" and type(value) in (int, float) and text[-1:].isalnum():
        return False
    return options.duplicate_keys == "last" or not has_duplicate_key(text)


_BYTES: Final[tuple[type, ...]] = (bytes, bytearray, memoryview)


def decoded_text(text: object, options: Options) -> str | Result:
    """Return the text of bytes, byte order mark included, or a refusal."""
    if text is None:
        return ""
    if isinstance(text, str):
        return text
    if not isinstance(text, _BYTES):
        kind = type(text).__name__
        raise TypeError(f"the text must be str, bytes, bytearray, memoryview or None, not {kind}")
    data = bytes(memoryview(text))  # type: ignore[arg-type]  # one of _BYTES
    encoding = _encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        from jsonrepair_lark.explain import undecodable

        source = data.decode(encoding, "replace")
        rejection = undecodable(error, data)
        return Result("rejected", source, None, source, options, rejection=rejection)


def _encoding(data: bytes) -> str:
    """Return the codec of JSON bytes, one that keeps a byte order mark."""
    for mark, codec in (
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF8, "utf-8"),
    ):
        if data.startswith(mark):
            return codec
    return json.detect_encoding(data)


@cache
def json_program() -> Program:
    """Return the program that reads JSON, made once per process."""
    return value_program(Grammar.of(JSON))


def result_of(session: Session, text: str, options: Options) -> Result:
    """Return the result of a finished session over `text`."""
    if session.stop is not None:
        return Result("rejected", text, None, text, options, session=session)
    value = session.values[-1]
    repairs = repairs_of(session.edits, text)
    repaired = apply(text, repairs)
    return Result(
        "repaired" if repairs else "valid", repaired, value, text, options, repairs=repairs
    )


def repairs_of(edits: list[Edit], text: str) -> tuple[Repair, ...]:
    """Return the repairs that edits amount to: those of one kind in one string are one."""
    repairs: list[Repair] = []
    last: Edit | None = None
    removed: list[str] = []
    inserted: list[str] = []
    start = end = 0
    for edit in edits:
        old = text[edit.start : edit.end]
        new = edit.replace(old)
        if edit.kind in OVERLONG:
            n_same = len(os.path.commonprefix((old[::-1], new[::-1])))  # noqa: RUF071 - characters
            old, new = old[: len(old) - n_same], new[: len(new) - n_same]
        if last is not None and edit.belongs_to(last):
            between = text[end : edit.start]
            removed += (between, old)
            inserted += (between, new)
        else:
            if last is not None:
                repairs.append(_repair(last.kind, start, removed, inserted, text))
            removed, inserted = [old], [new]
            start = edit.start
        end = edit.start + len(old)
        last = edit
    if last is not None:
        repairs.append(_repair(last.kind, start, removed, inserted, text))
    return tuple(repairs)


def _repair(kind: str, offset: int, removed: list[str], inserted: list[str], text: str) -> Repair:
    return Repair(kind, offset, "".join(removed), "".join(inserted), text)
