"""Brings a result to the types of a schema: the value, and the text by edits of its own.

A change of type is an edit like any other: the value's place in the text is found by parsing it
once more, and its text gives way to the new one.
"""

import json
import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter
from typing import Any, Final

from jsonrepair_lark.coercion import Schema, coerced, is_same
from jsonrepair_lark.paths import Steps
from jsonrepair_lark.policies import DEFAULTS
from jsonrepair_lark.reader import WHITE_SPACE, json_program, valid_value
from jsonrepair_lark.result import Coercion, Repair, Result, apply
from jsonrepair_lark.scanner import local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Action, Program, Token, flattened
from jsonrepair_lark.values import MISSING

KIND: Final = "coercion"


def typed(result: Result, schema: Schema, *, validate: bool = False) -> Result:
    """Return a result like `result` whose value has the types of `schema`, where that is exact.

    Args:
        result: a result that is not rejected.
        schema: a JSON Schema.
        validate: whether `jsonschema` validates the value.

    Raises:
        ImportError: with `validate`, if `jsonschema` is not installed.
    """
    changes: list[Coercion] = []
    value = coerced(result.value, schema, result.options, changes)
    if changes:
        repairs = _with_coercions(result, value, changes)
        text = apply(result.input, repairs)
        span = result.span
        if valid_value(text, result.options) is MISSING:
            # JSON given as text may hold what the options refuse, such as another level.
            return result
        result = Result(
            "repaired", text, value, result.input, result.options, repairs=repairs, span=span
        )
        result.coercions = tuple(changes)
    if validate:
        result.schema_errors = _errors(value, schema)
    return result


def _errors(value: Any, schema: Schema) -> tuple[str, ...]:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema)
    try:
        if isinstance(schema, Mapping):
            kind.check_schema(dict(schema))
        errors = list(kind(schema).iter_errors(value))
    except (SchemaError, Unresolvable) as error:
        raise ValueError(
            f"the schema is no JSON Schema that can be used: {_first_line(error)}"
        ) from error
    return tuple(f"{error.json_path}: {error.message}" for error in errors)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _with_coercions(result: Result, value: Any, changes: Sequence[Coercion]) -> tuple[Repair, ...]:
    """Return the repairs of a result with those that change types, in the order of the text."""
    spans = _Spans(result)
    done: set[Steps] = set()
    edits: list[tuple[int, int, str]] = []
    for change in changes:
        # What lies inside a changed value is part of its new text.
        if any(change.steps[:length] in done for length in range(len(change.steps) + 1)):
            continue
        done.add(change.steps)
        after = value
        for step in change.steps:
            after = after[step]
        start, end = spans.of(change.steps)
        edits.append((start, end, _json_text(change.before, after)))
    return _merged(result, sorted(edits))


def _json_text(before: Any, after: Any) -> str:
    """Return the text of the new value: the old one's own where that is it, as for `"1.50"`."""
    if isinstance(before, str):
        as_json = valid_value(before, DEFAULTS)
        if type(as_json) is type(after) and is_same(as_json, after):
            return before.strip(WHITE_SPACE)
    return json.dumps(after, ensure_ascii=False)


def _merged(result: Result, edits: list[tuple[int, int, str]]) -> tuple[Repair, ...]:
    """Return the repairs of a result and edits of its text as repairs of its input."""
    places = _Places(result.repairs)
    made = []
    covered: list[tuple[int, int]] = []
    for start, end, inserted in edits:
        before, after = places.input_offset(start), places.input_offset(end)
        covered.append((before, after))
        made.append(Repair(KIND, before, result.input[before:after], inserted, result.input))
    kept = [repair for repair in result.repairs if not _is_covered(repair.offset, covered)]
    return tuple(sorted((*kept, *made), key=lambda repair: repair.offset))


def _is_covered(offset: int, spans: list[tuple[int, int]]) -> bool:
    """Tell whether one of the spans, which are in order, holds an offset."""
    at = bisect_right(spans, (offset, sys.maxsize)) - 1
    return at >= 0 and offset < spans[at][1]


class _Places:
    """Tells offsets of the input for offsets of the text that repairs make of it."""

    def __init__(self, repairs: Sequence[Repair]) -> None:
        self._ends: list[int] = []
        self._shifts = [0]
        shift = 0
        for repair in repairs:
            self._ends.append(repair.offset + shift + len(repair.inserted))
            shift += len(repair.inserted) - len(repair.removed)
            self._shifts.append(shift)

    def input_offset(self, offset: int) -> int:
        return offset - self._shifts[bisect_right(self._ends, offset)]


class _Node:
    """A value's place in the text, and those of its members or items."""

    __slots__ = ("children", "end", "members", "start")

    def __init__(self, start: int, end: int, children: list[Any]) -> None:
        self.start = start
        self.end = end
        self.children = children
        self.members: dict[str, _Node] | None = None


class _Spans:
    """Where the values of a JSON text stand."""

    def __init__(self, result: Result) -> None:
        session = Session(_span_program(), replace(result.options.limits, natives=False))
        session.finish(result.text)
        self._text = result.text
        self._root: _Node = session.values[-1]

    def of(self, steps: Steps) -> tuple[int, int]:
        """Return start and end of the value that the steps lead to."""
        node = self._root
        for step in steps:
            node = node.children[step] if isinstance(step, int) else self._members(node)[step]
        return node.start, node.end

    def _members(self, node: _Node) -> dict[str, _Node]:
        if node.members is None:
            # Of a repeated key the last one counts.
            node.members = {
                json.loads(self._text[key.start : key.end]): value for key, value in node.children
            }
        return node.members


def _node(children: list[Any]) -> _Node:
    inner = [child for child in flattened(children) if not isinstance(child, Token)]
    return _Node(children[0].start, children[-1].end, inner)


@cache
def _span_program() -> Program:
    program = json_program()
    actions: list[Action] = []
    for rule, action in zip(program.grammar.rules, program.actions, strict=True):
        name = local_name(rule.origin)
        if name == "pair":
            actions.append(itemgetter(0, -1))
        elif name in ("object", "array", "string", "number", "true", "false", "null"):
            actions.append(_node)
        else:
            actions.append(action)
    return Program(program.grammar, actions)
