"""Brings values to the types of a JSON Schema, without loss.

A value that fits is never touched. Text is read as JSON first, then as one of the words for
booleans; an integer never passes through a float. What can't be brought over exactly, or in more
than one way, stays as it is.

Read: `type` (also a list), `properties`, `patternProperties`, `additionalProperties`, `items`,
`prefixItems`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`, `required`, local `$ref`. Source: JSON
Schema 2020-12, https://json-schema.org/draft/2020-12.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any, Final

from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.lexemes import is_float
from jsonrepair_lark.paths import Steps
from jsonrepair_lark.policies import DEFAULTS, Options
from jsonrepair_lark.reader import WHITE_SPACE, read, valid_value
from jsonrepair_lark.result import Coercion
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Program
from jsonrepair_lark.values import MISSING, value_program

Schema = Mapping[str, Any] | bool

LEVELS_MAX: Final = 100
"""Values nested deeper, and chains of references longer than this, stay as they are."""
STEPS_MIN: Final = 20_000
STEPS_PER_NODE: Final = 200
"""How many schemas a value is held against at most; beyond that it stays as it is."""
INDEX_MAX_DIGITS: Final = 9
EXACT_FLOAT_MAX: Final = 2**53
"""Integers up to this size have a float of their own."""

BOOLEAN_WORDS: Final = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch

_IS_OF_TYPE: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def coerce(value: Any, schema: Schema, changes: list[Coercion] | None = None) -> Any:
    """Return `value` with the types that a JSON Schema asks for, where that loses nothing.

    Args:
        value: what `json.loads` could return; not changed.
        schema: a JSON Schema as a mapping, or a boolean.
        changes: each change is appended to it, in the order of the value.

    Returns:
        The value itself where nothing changes, else a copy of the containers around a change.
    """
    return coerced(value, schema, DEFAULTS, changes if changes is not None else [])


def coerced(value: Any, schema: Schema, options: Options, changes: list[Coercion]) -> Any:
    """Return what `coerce` does; JSON given as text obeys the options."""
    coercer = _Coercer(schema, options, STEPS_MIN + STEPS_PER_NODE * _n_nodes(value))
    try:
        after = coercer.coerce(value, schema, (), 0)
    except _TooManySteps:
        return value
    changes += coercer.changes
    return after


_SAY_NOTHING: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"}
    | {"minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType", "$comment"}
)


def is_any_text(schema: Any) -> bool:
    """Tell whether a schema keeps every text as the text that it is, so that it can be streamed."""
    if not isinstance(schema, Mapping):
        return True
    return schema.get("type", "string") == "string" and schema.keys() <= {"type", *_SAY_NOTHING}


class _TooManySteps(Exception):  # noqa: N818 - control flow of this module
    """A schema sends the same value through too many alternatives."""


def _n_nodes(value: Any) -> int:
    count = 0
    pending = [value]
    while pending:
        item = pending.pop()
        count += 1
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return count


class _Coercer:
    """Coerces one value; keeps the changes and the root that references start from."""

    def __init__(self, root: Schema, options: Options, steps: int) -> None:
        self._root = root
        # Text inside a string is whole: what ends it is the quote.
        self._options = replace(options, number_at_end="accept", finish_reason=None)
        self._steps = steps
        self._active: set[tuple[int, int]] = set()
        self.changes: list[Coercion] = []

    def coerce(self, value: Any, schema: Any, path: Steps, level: int) -> Any:
        if not isinstance(schema, Mapping) or level > LEVELS_MAX:
            return value
        self._step()
        # A schema that refers to itself without going into the value says nothing more.
        key = (id(schema), len(path))
        if key in self._active:
            return value
        self._active.add(key)
        after = self._coerce(value, schema, path, level + 1)
        self._active.discard(key)
        return after

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise _TooManySteps

    def _coerce(self, value: Any, schema: Mapping[str, Any], path: Steps, level: int) -> Any:
        if "$ref" in schema:
            value = self.coerce(value, self._resolve(schema["$ref"]), path, level)
        for part in _parts(schema, "allOf"):
            value = self.coerce(value, part, path, level)
        value = self._coerce_to_listed(value, schema, path)
        value = self._coerce_to_types(value, schema, path)
        for keyword in ("anyOf", "oneOf"):
            value = self._coerce_to_some(value, _parts(schema, keyword), path, level)
        if isinstance(value, dict):
            return self._coerce_object(value, schema, path, level)
        if isinstance(value, list):
            return self._coerce_array(value, schema, path, level)
        return value

    def _changed(self, before: Any, after: Any, path: Steps) -> Any:
        self.changes.append(Coercion(path, before, after))
        return after

    def _converted(self, value: Any, types: list[str]) -> Any:
        """Return a value of one of the types that says exactly what `value` does, or `MISSING`."""
        if isinstance(value, str):
            return (
                MISSING
                if "string" in types
                else self._text_converted(value.strip(WHITE_SPACE), types)
            )
        if "integer" in types and isinstance(value, float) and value.is_integer():
            return int(value) if abs(value) <= EXACT_FLOAT_MAX else MISSING
        if "boolean" in types and type(value) is int and value in (0, 1):
            return value == 1
        return MISSING

    def _text_converted(self, text: str, types: list[str]) -> Any:
        as_json = valid_value(text, self._options)
        if as_json is not MISSING and _has_type(as_json, types):
            return as_json
        if "integer" in types and _NUMBER(text) and is_float(text):
            return _integer(text)
        if "boolean" in types and text.casefold() in BOOLEAN_WORDS:
            return BOOLEAN_WORDS[text.casefold()]
        if text[:1] in ("[", "{", "("):
            container = _read_container(text, self._options)
            if container is not MISSING and _has_type(container, types):
                return container
        return MISSING

    def _coerce_to_types(self, value: Any, schema: Mapping[str, Any], path: Steps) -> Any:
        types = _types(schema)
        if not types or _has_type(value, types):
            return value
        after = self._converted(value, types)
        return value if after is MISSING else self._changed(value, after, path)

    def _coerce_to_listed(self, value: Any, schema: Mapping[str, Any], path: Steps) -> Any:
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(listed, list) or any(is_same(value, item) for item in listed):
            return value
        kinds = [name for name, is_of in _IS_OF_TYPE.items() if any(map(is_of, listed))]
        after = self._converted(value, kinds)
        if after is MISSING or not any(is_same(after, item) for item in listed):
            return value
        return self._changed(value, after, path)

    def _coerce_to_some(self, value: Any, parts: list[Any], path: Steps, level: int) -> Any:
        """Coerce to the one alternative that a value can be brought to."""
        if not parts or any(self.fits(value, part, level) for part in parts):
            return value
        outcomes: list[tuple[Any, list[Coercion]]] = []
        for part in parts:
            before = self.changes
            self.changes = []
            after = self.coerce(value, part, path, level)
            if self.changes and self.fits(after, part, level):
                outcomes.append((after, self.changes))
            self.changes = before
        if not outcomes:
            return value
        after, changes = outcomes[0]
        if isinstance(value, str):
            # Text that reads as JSON is that before it is a word.
            as_json = valid_value(value, self._options)
            same = (outcome for outcome in outcomes if is_same(outcome[0], as_json))
            after, changes = next(same, outcomes[0])
        elif any(not is_same(after, other) for other, _ in outcomes):
            return value
        self.changes += changes
        return after

    def _coerce_object(
        self, value: dict[str, Any], schema: Mapping[str, Any], path: Steps, level: int
    ) -> dict[str, Any]:
        after = value
        for key, item in value.items():
            changed = item
            for part in _schemas_of_key(schema, key):
                changed = self.coerce(changed, part, (*path, key), level)
            if changed is not item:
                after = dict(value) if after is value else after
                after[key] = changed
        return after

    def _coerce_array(
        self, value: list[Any], schema: Mapping[str, Any], path: Steps, level: int
    ) -> list[Any]:
        after = value
        for index, item in enumerate(value):
            changed = self.coerce(item, _schema_of_item(schema, index), (*path, index), level)
            if changed is not item:
                after = list(value) if after is value else after
                after[index] = changed
        return after

    def fits(self, value: Any, schema: Any, level: int = 0) -> bool:
        """Tell whether a value has what the keywords that are read ask for."""
        if not isinstance(schema, Mapping) or level > LEVELS_MAX:
            return schema is not False
        self._step()
        level += 1
        if "$ref" in schema and not self.fits(value, self._resolve(schema["$ref"]), level):
            return False
        types = _types(schema)
        if types and not _has_type(value, types):
            return False
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(listed, list) and not any(is_same(value, item) for item in listed):
            return False
        for keyword, quantifier in (("allOf", all), ("anyOf", any), ("oneOf", any)):
            parts = _parts(schema, keyword)
            if parts and not quantifier(self.fits(value, part, level) for part in parts):
                return False
        return self._children_fit(value, schema, level)

    def _children_fit(self, value: Any, schema: Mapping[str, Any], level: int) -> bool:
        if isinstance(value, dict):
            required = schema.get("required")
            if isinstance(required, list) and any(
                isinstance(key, str) and key not in value for key in required
            ):
                return False
            return all(
                self.fits(item, part, level)
                for key, item in value.items()
                for part in _schemas_of_key(schema, key)
            )
        if isinstance(value, list):
            return all(
                self.fits(item, _schema_of_item(schema, index), level)
                for index, item in enumerate(value)
            )
        return True

    def _resolve(self, reference: Any) -> Any:
        """Return the schema that a local reference (RFC 6901) names; True if there is none."""
        if not isinstance(reference, str) or not (reference == "#" or reference[:2] == "#/"):
            return True
        if "%" in reference:
            from urllib.parse import unquote

            reference = unquote(reference)
        target: Any = self._root
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and key in target:
                target = target[key]
            elif (
                isinstance(target, list)
                and key.isdecimal()
                and len(key) <= INDEX_MAX_DIGITS
                and int(key) < len(target)
            ):
                target = target[int(key)]
            else:
                return True
        return target


def _parts(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    parts = schema.get(keyword)
    return parts if isinstance(parts, list) else []


def _types(schema: Mapping[str, Any]) -> list[str]:
    types = schema.get("type")
    listed = types if isinstance(types, list) else [types]
    return [name for name in listed if isinstance(name, str) and name in _IS_OF_TYPE]


def _has_type(value: Any, types: list[str]) -> bool:
    return any(_IS_OF_TYPE[name](value) for name in types)


def _schemas_of_key(schema: Mapping[str, Any], key: str) -> list[Any]:
    """Return the schemas that apply to the value of a key."""
    found = []
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        found.append(properties[key])
    patterns = schema.get("patternProperties")
    if isinstance(patterns, Mapping):
        found += [part for pattern, part in patterns.items() if _is_found(pattern, key)]
    if not found and "additionalProperties" in schema:
        found.append(schema["additionalProperties"])
    return found


def _is_found(pattern: Any, key: str) -> bool:
    try:
        return isinstance(pattern, str) and re.search(pattern, key) is not None
    except re.error:
        return False


def _schema_of_item(schema: Mapping[str, Any], index: int) -> Any:
    """Return the schema of a list's item; a list of `items` is an older draft's `prefixItems`."""
    items = schema.get("items")
    prefix = schema.get("prefixItems", items)
    if isinstance(prefix, list):
        if index < len(prefix):
            return prefix[index]
        return schema.get("additionalItems", True) if prefix is items else items
    return items


def is_same(value: Any, other: Any) -> bool:
    """Tell JSON equality: 1 is 1.0, but True is not 1."""
    pending = [(value, other)]
    while pending:
        one, two = pending.pop()
        if isinstance(one, bool) or isinstance(two, bool):
            if one is not two:
                return False
        elif isinstance(one, dict) and isinstance(two, dict):
            if one.keys() != two.keys():
                return False
            pending += [(item, two[key]) for key, item in one.items()]
        elif isinstance(one, list) and isinstance(two, list):
            if len(one) != len(two):
                return False
            pending += zip(one, two, strict=True)
        elif isinstance(one, dict | list) or isinstance(two, dict | list) or one != two:
            return False
    return True


def _integer(text: str) -> Any:
    """Return the integer that a number with a fraction or an exponent is, or `MISSING`."""
    try:
        number = Decimal(text)
    except ArithmeticError:
        # An exponent that even a decimal has no room for.
        return MISSING
    limit = sys.get_int_max_str_digits() or sys.maxsize
    if number == 0:
        return 0
    # A million digits may take six characters to write.
    if number.adjusted() >= limit or number != number.to_integral_value():
        return MISSING
    return int(number)


def _read_container(text: str, options: Options) -> Any:
    """Return the list or dict that text is in JSON with faults, or as a Python literal."""
    result = read(text, options)
    if result.status != "rejected":
        return result.value
    limits = replace(options.limits, allowed=frozenset(), natives=False)
    session = Session(_python_literals(), limits)
    session.finish(text)
    if session.stop is not None or options.duplicate_keys == "reject":
        return MISSING
    return session.values[-1]


@cache
def _python_literals() -> Program:
    return value_program(Grammar.of("python_literal"))
