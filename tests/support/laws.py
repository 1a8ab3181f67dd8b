"""The laws as checks on one result: each raises an AssertionError that names what is broken."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from jsonrepair_lark import RepairStream, Result, repair

REASONS: Final = frozenset(
    {
        "empty",
        "truncated",
        "dangling_comma",
        "incomplete_string",
        "incomplete_number",
        "incomplete_literal",
        "missing_value",
        "missing_colon",
        "empty_container",
        "unexpected_input",
        "invalid_escape",
        "concatenated",
        "trailing_text",
        "nonfinite_number",
        "number_too_long",
        "lone_surrogate",
        "duplicate_key",
        "too_deep",
        "invalid_encoding",
        "not_an_object",
        "repair_not_allowed",
    }
)
KINDS: Final = frozenset(
    {
        "missing_closer",
        "excess_closer",
        "trailing_comma",
        "control_character",
        "python_literal",
        "byte_order_mark",
        "nonfinite_number",
        "lone_surrogate",
    }
)

# How many prefixes ended how, over the whole run; printed at its end under the soak profile.
tally: Counter[str] = Counter()


def same(left: object, right: object) -> bool:
    """Equality that tells 1 from True and 1.0, and 0.0 from -0.0; NaN equals nothing.

    Walks with a stack of its own: the values of deep documents would exhaust Python's.
    """
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict) and isinstance(other, dict):
            if list(one) != list(other):
                return False
            pairs += [(one[key], other[key]) for key in one]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif one != other or is_minus_zero(one) != is_minus_zero(other):
            return False
    return True


def is_minus_zero(value: object) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_sound(part: object, whole: object, *, number_is_cut: bool = False) -> bool:
    """Say whether `part` holds nothing that `whole` does not hold at the same path.

    Args:
        part: the value of a prefix.
        whole: the value of the whole document.
        number_is_cut: the prefix ends inside a number, so its last scalar may be another number.
    """
    if isinstance(part, dict) and isinstance(whole, dict):
        last = next(reversed(part), None)
        return all(
            key in whole and is_sound(item, whole[key], number_is_cut=number_is_cut and key == last)
            for key, item in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(
            is_sound(item, other, number_is_cut=number_is_cut and index + 1 == len(part))
            for index, (item, other) in enumerate(zip(part, whole, strict=False))
        )
    if number_is_cut and is_number(part) and (is_number(whole) or whole is None):
        # None is what a number that overflows can be made of.
        return True
    return same(part, whole)


def strict_loads(text: str) -> object:
    """`json.loads` without its leniency about NaN and Infinity."""

    def refuse(name: str) -> object:
        msg = f"{name} is not JSON"
        raise ValueError(msg)

    return json.loads(text, parse_constant=refuse)


def apply_repairs(text: str, result: Result) -> str:
    """Apply the edits to the input; they must be in order, apart, and remove what is there."""
    pieces, at = [], 0
    for edit in result.repairs:
        assert edit.offset >= at, f"{edit} overlaps the edit before it or is out of order"
        end = edit.offset + len(edit.removed)
        assert text[edit.offset : end] == edit.removed, f"{edit} removes what is not there"
        assert edit.removed or edit.inserted, f"{edit} does nothing"
        assert edit.kind in KINDS, edit
        pieces += [text[at : edit.offset], edit.inserted]
        at = end
    return "".join([*pieces, text[at:]])


def check_result(text: str, result: Result, options: Mapping[str, Any] | None = None) -> None:
    """Check what must hold of a result whatever the text was: laws 3, 5, 7 and the edits."""
    if result.status == "valid":
        assert result.text == text
        assert not result.repairs
        assert result.reason is None
        assert result.rejection is None
        assert same(result.value, strict_loads(text)), result.value
    elif result.status == "repaired":
        assert result.repairs
        assert result.reason is None
        assert result.rejection is None
        assert apply_repairs(text, result) == result.text
        assert same(result.value, strict_loads(result.text)), (result.value, result.text)
        check_idempotent(result, options or {})
    else:
        assert result.status == "rejected"
        assert result.text == text
        assert result.value is None
        check_explained(text, result)


def check_idempotent(result: Result, options: Mapping[str, Any]) -> None:
    """Law 7. The depth limit goes with the text; the other policies have been answered already."""
    depth = {key: value for key, value in options.items() if key == "max_depth"}
    again = repair(result.text, **depth)
    assert again.status == "valid", (again.reason, result.text)
    assert again.text == result.text
    assert same(again.value, result.value)


def check_explained(text: str, result: Result) -> None:
    """Law 3: a refusal says what, where, inside of what and instead of what."""
    rejection = result.rejection
    assert rejection is not None
    assert result.reason in REASONS
    assert rejection.reason == result.reason
    offset = rejection.offset
    assert 0 <= offset <= len(text)
    assert rejection.line == text.count("\n", 0, offset) + 1
    assert rejection.column == offset - text.rfind("\n", 0, offset)
    assert rejection.path.startswith("$")
    assert rejection.message
    assert "\n" not in rejection.message, "a message is one line"
    assert not rejection.message.endswith(".")
    assert rejection.open_rules is not None
    assert rejection.expected is not None


def stream(pieces: Iterable[str], **options: Any) -> Result:
    """Feed the pieces one by one and finish."""
    session = RepairStream(**options)
    for piece in pieces:
        session.feed(piece)
    return session.finish()


def check_chunks(pieces: Iterable[str], whole: Result, **options: Any) -> None:
    """Law 6: the pieces give what the whole text gave."""
    pieces = tuple(pieces)
    got = stream(pieces, **options)
    assert describe(got) == describe(whole), pieces
    assert same(got.value, whole.value), pieces
    assert same(got.partial, whole.partial), pieces
    assert got == whole, pieces


def describe(result: Result) -> tuple[object, ...]:
    """Everything of a result that can be compared with `==`."""
    edits = [(edit.kind, edit.offset, edit.removed, edit.inserted) for edit in result.repairs]
    rejection = result.rejection
    place = rejection and (
        rejection.offset,
        rejection.line,
        rejection.column,
        rejection.path,
        rejection.message,
    )
    return (result.status, result.text, result.reason, edits, place)
