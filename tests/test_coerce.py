"""Coercion to the types of a JSON Schema: what changes, what stays, and that nothing is lost."""

import copy
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from jsonrepair_lark import Coercion, Result, coerce, repair

from .support import documents as docs
from .support import laws
from .test_growth import Hostile, check_growth

INTEGER: Final = {"type": "integer"}
NUMBER: Final = {"type": "number"}
BOOLEAN: Final = {"type": "boolean"}
NULL: Final = {"type": "null"}
STRING: Final = {"type": "string"}
ARRAY: Final = {"type": "array"}
OBJECT: Final = {"type": "object"}

LONGEST: Final = "9" * 4300  # digits that Python turns into an integer by default

# A schema, a value, and what the value becomes; None where it stays as it is.


class Stays:
    """Stands for the value itself; its name is the same in every process, as test names must be."""

    def __repr__(self) -> str:
        return "stays"


STAYS: Final = Stays()
CASES: Final[list[tuple[Any, Any, Any]]] = [
    # Integers
    (INTEGER, "42", 42),
    (INTEGER, "-0", 0),
    (INTEGER, "0", 0),
    (INTEGER, "\r\n\t 7 ", 7),
    (INTEGER, "9007199254740993", 9007199254740993),
    (INTEGER, "-123456789012345678901234567890", -123456789012345678901234567890),
    (INTEGER, LONGEST, int(LONGEST)),
    (INTEGER, "1" + LONGEST, STAYS),
    (INTEGER, "3.0", 3),
    (INTEGER, "3.000", 3),
    (INTEGER, "-2.50e1", -25),
    (INTEGER, "1e3", 1000),
    (INTEGER, "1E+3", 1000),
    (INTEGER, "1500e-2", 15),
    (INTEGER, "1e23", 10**23),
    (INTEGER, "1e4299", 10**4299),
    (INTEGER, "1e4300", STAYS),
    (INTEGER, "1e999999999", STAYS),
    (INTEGER, "-1e999999999", STAYS),
    (INTEGER, "1e-999999999", STAYS),
    (INTEGER, "1e" + "9" * 50, STAYS),
    (INTEGER, "1e-" + "9" * 50, STAYS),
    (INTEGER, "1.5e" + "9" * 5000, STAYS),
    (INTEGER, "9007199254740993.0", 9007199254740993),
    (INTEGER, "9007199254740993.5", STAYS),
    (INTEGER, "1.5", STAYS),
    (INTEGER, "1e-1", STAYS),
    (INTEGER, "0.1e1", 1),
    (INTEGER, "+1", STAYS),
    (INTEGER, "01", STAYS),
    (INTEGER, "1.", STAYS),
    (INTEGER, ".5", STAYS),
    (INTEGER, "1,000", STAYS),
    (INTEGER, "1_000", STAYS),
    (INTEGER, "0x10", STAYS),
    (INTEGER, "1 2", STAYS),
    (INTEGER, "- 1", STAYS),
    (INTEGER, "\u0661", STAYS),
    (INTEGER, "\uff11", STAYS),
    (INTEGER, "\u00b2", STAYS),
    (INTEGER, "1\u00a0", STAYS),
    (INTEGER, "\ufeff1", STAYS),
    (INTEGER, "1\x0b", STAYS),
    (INTEGER, "", STAYS),
    (INTEGER, " ", STAYS),
    (INTEGER, "one", STAYS),
    (INTEGER, "true", STAYS),
    (INTEGER, "null", STAYS),
    (INTEGER, "NaN", STAYS),
    (INTEGER, "Infinity", STAYS),
    (INTEGER, "[1]", STAYS),
    (INTEGER, '"1"', STAYS),
    (INTEGER, 3.0, 3),
    (INTEGER, -0.0, 0),
    (INTEGER, 3.5, STAYS),
    (INTEGER, 1e300, STAYS),
    (INTEGER, 2.0**53, 2**53),
    (INTEGER, float("inf"), STAYS),
    (INTEGER, True, STAYS),
    (INTEGER, None, STAYS),
    (INTEGER, [1], STAYS),
    # Numbers
    (NUMBER, "1", 1),
    (NUMBER, "1.5", 1.5),
    (NUMBER, " -1.5e-3\n", -0.0015),
    (NUMBER, "12345678901234567890", 12345678901234567890),
    (NUMBER, "1e400", STAYS),
    (NUMBER, "NaN", STAYS),
    (NUMBER, "-Infinity", STAYS),
    (NUMBER, "inf", STAYS),
    (NUMBER, "1/2", STAYS),
    (NUMBER, "50%", STAYS),
    (NUMBER, "1", 1),
    (NUMBER, 3.0, STAYS),
    (NUMBER, False, STAYS),
    ({"type": ["integer", "number"]}, "3.5", 3.5),
    ({"type": ["integer", "null"]}, "3.0", 3),
    # Booleans
    (BOOLEAN, "true", True),
    (BOOLEAN, "True", True),
    (BOOLEAN, "TRUE", True),
    (BOOLEAN, " yes ", True),
    (BOOLEAN, "On", True),
    (BOOLEAN, "1", True),
    (BOOLEAN, "false", False),
    (BOOLEAN, "fAlSe", False),
    (BOOLEAN, "NO", False),
    (BOOLEAN, "off", False),
    (BOOLEAN, "0", False),
    (BOOLEAN, 1, True),
    (BOOLEAN, 0, False),
    (BOOLEAN, 2, STAYS),
    (BOOLEAN, -1, STAYS),
    (BOOLEAN, "2", STAYS),
    (BOOLEAN, "y", STAYS),
    (BOOLEAN, "t", STAYS),
    (BOOLEAN, "", STAYS),
    (BOOLEAN, "null", STAYS),
    (BOOLEAN, "\u0661", STAYS),
    (BOOLEAN, None, STAYS),
    (BOOLEAN, [], STAYS),
    # Null
    (NULL, "null", None),
    (NULL, " null ", None),
    (NULL, "NULL", STAYS),
    (NULL, "", STAYS),
    (NULL, 0, STAYS),
    (NULL, False, STAYS),
    ({"type": ["integer", "null"]}, "null", None),
    ({"type": ["integer", "null"]}, "7", 7),
    ({"type": ["string", "null"]}, "null", STAYS),
    ({"anyOf": [STRING, NULL]}, "null", STAYS),
    ({"anyOf": [INTEGER, NULL]}, "null", None),
    ({"oneOf": [INTEGER, NULL]}, "7", 7),
    # Strings
    (STRING, "1", STAYS),
    (STRING, 1, STAYS),
    (STRING, None, STAYS),
    (STRING, ["a"], STAYS),
    ({"type": ["integer", "string"]}, "1", STAYS),
    # Lists and objects as text
    (ARRAY, "[]", []),
    (ARRAY, ' [1, "a", null] ', [1, "a", None]),
    (ARRAY, '["a"', ["a"]),
    (ARRAY, '["a",]', ["a"]),
    (ARRAY, '["a", "b', STAYS),
    (ARRAY, '["a",', STAYS),
    (ARRAY, "[", STAYS),
    (ARRAY, "[1] [2]", STAYS),
    (ARRAY, "[1] and", STAYS),
    (ARRAY, "[NaN]", STAYS),
    (ARRAY, "a, b", STAYS),
    (ARRAY, "a", STAYS),
    (ARRAY, '{"a": 1}', STAYS),
    (ARRAY, {"a": 1}, STAYS),
    (ARRAY, "['a', \"b\"]", ["a", "b"]),
    (ARRAY, "['a', True, None, -1.5e3]", ["a", True, None, -1500.0]),
    (ARRAY, "('a', ('b',), ())", ["a", ["b"], []]),
    (ARRAY, "(1, 2)", [1, 2]),
    (ARRAY, "(1)", STAYS),
    (ARRAY, r"['it\'s', '\\', '\n\x41\u00e9\101']", ["it's", "\\", "\nAéA"]),
    (ARRAY, r"['\ud800']", STAYS),
    (ARRAY, r"['\N{BULLET}']", STAYS),
    (ARRAY, r"['\q']", STAYS),
    (ARRAY, "[b'a']", STAYS),
    (ARRAY, "[f'a']", STAYS),
    (ARRAY, "['a'", STAYS),
    (ARRAY, "['a', ...]", STAYS),
    (ARRAY, "[a]", STAYS),
    (ARRAY, "[1 + 1]", STAYS),
    (ARRAY, "[1j]", STAYS),
    (ARRAY, "[nan]", STAYS),
    (ARRAY, "['a', 1e999]", STAYS),
    (ARRAY, "['a', 007]", STAYS),
    (ARRAY, "['a', 1_000]", STAYS),
    (ARRAY, "['a', " + "1" * 5000 + "]", STAYS),
    (ARRAY, "[" * 501 + "]" * 501, STAYS),
    (ARRAY, "('a'," * 501 + ")" * 501, STAYS),
    (ARRAY, "__import__('os').getcwd()", STAYS),
    (OBJECT, "{}", {}),
    (OBJECT, '{"a": {"b": [1]}}', {"a": {"b": [1]}}),
    (OBJECT, '{"a": 1', {"a": 1}),
    (OBJECT, '{"a": ', STAYS),
    (OBJECT, "{'a': {'b': (1, False)}}", {"a": {"b": [1, False]}}),
    (OBJECT, "{'a': 1,}", {"a": 1}),
    (OBJECT, "{1: 2}", STAYS),
    (OBJECT, "{'a'}", STAYS),
    (OBJECT, "[1]", STAYS),
    (OBJECT, '"{}"', STAYS),
    (OBJECT, [["a", 1]], STAYS),
    ({"type": ["object", "null"]}, "{'a': None}", {"a": None}),
    ({"type": ["array", "string"]}, "[1]", STAYS),
    ({"type": "array", "items": ARRAY}, '["[1]", "[[2]]"]', [[1], [[2]]]),
    ({"type": "object", "properties": {"a": INTEGER}}, "{'a': '5'}", {"a": 5}),
    # Members
    ({"properties": {"a": INTEGER}}, {"a": "1", "b": "1"}, {"a": 1, "b": "1"}),
    ({"properties": {"a": INTEGER}}, ["1"], STAYS),
    ({"properties": {"a": {"properties": {"b": NULL}}}}, {"a": {"b": "null"}}, {"a": {"b": None}}),
    ({"additionalProperties": INTEGER}, {"a": "1"}, {"a": 1}),
    (
        {"properties": {"a": STRING}, "additionalProperties": INTEGER},
        {"a": "1", "b": "2"},
        {"a": "1", "b": 2},
    ),
    ({"additionalProperties": False}, {"a": "1"}, STAYS),
    ({"patternProperties": {"^n_": INTEGER}}, {"n_a": "1", "an_": "1"}, {"n_a": 1, "an_": "1"}),
    (
        {"patternProperties": {"^n_": INTEGER}, "additionalProperties": BOOLEAN},
        {"n_a": "1", "b": "1"},
        {"n_a": 1, "b": True},
    ),
    ({"properties": {"a": True}, "patternProperties": {"a": INTEGER}}, {"a": "1"}, {"a": 1}),
    ({"patternProperties": {"(": INTEGER}}, {"(": "1"}, STAYS),
    # Items
    ({"items": INTEGER}, ["1", "x", 2], [1, "x", 2]),
    ({"items": INTEGER}, {"0": "1"}, STAYS),
    ({"prefixItems": [INTEGER]}, ["1", "2"], [1, "2"]),
    ({"prefixItems": [INTEGER], "items": BOOLEAN}, ["1", "1", "no"], [1, True, False]),
    ({"prefixItems": [INTEGER, INTEGER]}, ["1"], [1]),
    ({"items": False}, ["1"], STAYS),
    # Enumerations
    ({"enum": [1, 2]}, "1", 1),
    ({"enum": [1, 2]}, "3", STAYS),
    ({"enum": ["1", 1]}, "1", STAYS),
    ({"enum": ["1", "2"]}, 1, STAYS),
    ({"enum": [True]}, "yes", True),
    ({"enum": [None, "a"]}, "null", STAYS),
    ({"enum": [None, 5]}, "null", None),
    ({"enum": [[1, 2]]}, "[1, 2]", [1, 2]),
    ({"const": 5}, "5", 5),
    ({"const": 5}, "6", STAYS),
    ({"const": None}, "null", None),
    ({"const": 1}, True, STAYS),
    ({"const": True}, "on", True),
    ({"type": "integer", "enum": [1, 2]}, "2", 2),
    ({"type": "string", "enum": ["1", "2"]}, "2", STAYS),
    # Alternatives
    ({"anyOf": [INTEGER, BOOLEAN]}, "1", 1),
    ({"anyOf": [BOOLEAN, INTEGER]}, "1", 1),
    ({"anyOf": [INTEGER, BOOLEAN]}, "yes", True),
    ({"anyOf": [INTEGER, STRING]}, "1", STAYS),
    ({"anyOf": [ARRAY, OBJECT]}, "{'a': 1}", {"a": 1}),
    ({"anyOf": [INTEGER, NULL]}, "x", STAYS),
    ({"anyOf": [{"items": INTEGER}, {"items": NULL}]}, ["1", "2"], [1, 2]),
    ({"anyOf": [{"items": INTEGER}, {"items": NULL}]}, ["1", "null"], STAYS),
    (
        {"oneOf": [{"required": ["a"], "properties": {"a": INTEGER}}, {"required": ["b"]}]},
        {"a": "1"},
        {"a": 1},
    ),
    (
        {
            "anyOf": [
                {"properties": {"k": {"const": "i"}, "v": INTEGER}},
                {"properties": {"k": {"const": "s"}, "v": STRING}},
            ]
        },
        {"k": "i", "v": "1"},
        {"k": "i", "v": 1},
    ),
    (
        {
            "anyOf": [
                {"properties": {"k": {"const": "i"}, "v": INTEGER}},
                {"properties": {"k": {"const": "s"}, "v": STRING}},
            ]
        },
        {"k": "s", "v": "1"},
        STAYS,
    ),
    ({"allOf": [INTEGER, {"minimum": 5}]}, "7", 7),
    (
        {"allOf": [{"properties": {"a": INTEGER}}, {"properties": {"b": NULL}}]},
        {"a": "1", "b": "null"},
        {"a": 1, "b": None},
    ),
    # References
    ({"$ref": "#/$defs/n", "$defs": {"n": INTEGER}}, "1", 1),
    ({"$ref": "#/definitions/n", "definitions": {"n": INTEGER}}, "1", 1),
    ({"$ref": "#/$defs/a~1b~0c~01", "$defs": {"a/b~c~1": INTEGER}}, "1", 1),
    ({"$ref": "#/$defs/a%20b%25", "$defs": {"a b%": INTEGER}}, "1", 1),
    ({"$ref": "#/allOf/0", "allOf": [INTEGER]}, "1", 1),
    ({"$ref": "#/$defs/", "$defs": {"": INTEGER}}, "1", 1),
    ({"$ref": "#/$defs/m", "$defs": {"n": INTEGER, "m": {"$ref": "#/$defs/n"}}}, "1", 1),
    ({"$ref": "#/$defs/n", "$defs": {}}, "1", STAYS),
    ({"$ref": "#/$defs/x/y", "$defs": {"x": 5}}, "1", STAYS),
    ({"$ref": "#nowhere", "items": INTEGER}, ["['1']"], STAYS),
    ({"$ref": "other.json", "type": "integer"}, "1", 1),
    ({"$ref": "http://127.0.0.1:9/schema"}, "1", STAYS),
    ({"$ref": "#/allOf/" + "9" * 5000, "allOf": [INTEGER]}, "1", 1),
    ({"$ref": "#/allOf/\u0660", "allOf": [INTEGER]}, "1", 1),
    (
        {"properties": {"v": INTEGER, "next": {"$ref": "#"}}},
        {"v": "1", "next": {"v": "2", "next": {"v": "3"}}},
        {"v": 1, "next": {"v": 2, "next": {"v": 3}}},
    ),
    # Schemas that say nothing
    (True, "1", STAYS),
    (False, "1", STAYS),
    ({}, "1", STAYS),
    ({"minimum": 3}, "1", STAYS),
    ({"type": "date"}, "1", STAYS),
    ({"type": ["date", "integer"]}, "1", 1),
]


def case_id(part: object) -> str | None:
    """Return a short name of a part of a case, so that a failure is found without counting."""
    return repr(part)[:60] if not isinstance(part, str) else repr(part[:30])


@pytest.mark.parametrize(("schema", "value", "expected"), CASES, ids=case_id)
def test_what_a_value_becomes(schema: Any, value: Any, expected: Any) -> None:
    after = check_coerce(value, schema)
    if expected is STAYS:
        assert after is value
    else:
        assert laws.same(after, expected)


# -- laws ------------------------------------------------------------------------------------------


def put(value: Any, steps: tuple[str | int, ...], before: Any, after: Any) -> Any:
    """Return a value with one place in it changed, where `before` has to be."""
    if not steps:
        assert same_or_nan(value, before)
        return after
    first, *rest = steps
    value[first] = put(value[first], tuple(rest), before, after)
    return value


def same_or_nan(left: object, right: object) -> bool:
    return repr(left) == repr(right)


def is_lossless(before: Any, after: Any) -> bool:
    """Tell whether a change says the same in another type."""
    if isinstance(before, str) and type(after) is int:
        return Decimal(before.strip(" \t\n\r")) == after
    if isinstance(before, str) and isinstance(after, float):
        return float(before) == after
    if isinstance(after, bool):
        return before in ("true", "false", 0, 1) or isinstance(before, str)
    if isinstance(before, str):
        return (before.strip(" \t\n\r"), after) == ("null", None) or isinstance(after, dict | list)
    return isinstance(before, float) and type(after) is int and before == after


def check_coerce(value: Any, schema: Any) -> Any:
    """Check what must hold of the coercion of any value to any schema, and return its outcome."""
    was = copy.deepcopy(value)
    schema_was = copy.deepcopy(schema)
    changes: list[Coercion] = []
    after = coerce(value, schema, changes)
    assert same_or_nan(value, was), "the value itself is left alone"
    assert same_or_nan(schema, schema_was)
    assert (after is value) == (not changes)
    for change in changes:
        assert change.path.startswith("$")
        assert not same_or_nan(change.before, change.after)
        assert is_lossless(change.before, change.after), change
    assert same_or_nan(replayed(value, changes), after)
    return after


def replayed(value: Any, changes: list[Coercion]) -> Any:
    """Return a copy of a value with the changes made in it, one after the other."""
    value = copy.deepcopy(value)
    for change in changes:
        # A copy, so that a later change does not change the account of one before.
        value = put(value, change.steps, change.before, copy.deepcopy(change.after))
    return value


LEAVES: Final = (
    *("1", "0", "3.0", "1e3", " 7 ", "-1.5", "007", "1e999", "9" * 20, "\u0661"),
    *("true", "YES", "off", "null", "None", "", "x", '"1"'),
    *(
        "[]",
        '["1", "true"]',
        "['1', None]",
        "('1',)",
        '{"a": "1"}',
        "{'a': 'no', 'b': 1}",
        '{"a": ',
    ),
    *(0, 1, 2, -1, 10**20, 0.0, 1.0, 1.5, 1e300, True, False, None),
)
KEYS: Final = ("a", "b", "ab", "c")
TYPES: Final = ("integer", "number", "boolean", "null", "string", "array", "object")

leaves = st.sampled_from(LEAVES)
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)
types = st.sampled_from(TYPES) | st.lists(
    st.sampled_from(TYPES), min_size=1, max_size=3, unique=True
)
references = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/$defs/none"]).map(
    lambda name: {"$ref": name}
)


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return schemas whose parts are drawn from others."""
    parts = st.lists(inner, min_size=1, max_size=3)
    # References stand only where the value gets smaller, so that validation comes to an end.
    below = inner | references
    members = st.dictionaries(st.sampled_from(KEYS), below, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types,
            "properties": members,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "."]), below),
            "additionalProperties": below,
            "required": st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
            "items": below,
            "prefixItems": st.lists(below, min_size=1, max_size=2),
            "anyOf": parts,
            "oneOf": parts,
            "allOf": parts,
            "minimum": st.just(1),
            "maxLength": st.just(2),
            "minItems": st.just(1),
        },
    )


parts_of_schemas: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"type": types})
    | st.fixed_dictionaries({"enum": st.lists(values, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"const": values})
    | st.booleans()
    | st.just({}),
    schemas_of,
    max_leaves=6,
)


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """A schema, with definitions that its references mean."""
    schema = draw(parts_of_schemas)
    if isinstance(schema, dict) and draw(st.booleans()):
        definitions = st.fixed_dictionaries({"a": parts_of_schemas, "b": parts_of_schemas})
        return {**schema, "$defs": draw(definitions)}
    return schema


def is_valid(value: Any, schema: Any) -> bool:
    """Tell what jsonschema finds, of schemas whose references do not lead nowhere."""
    assume("#/$defs/none" not in repr(schema))
    assume("#/$defs/" not in repr(schema) or "$defs': " in repr(schema))
    try:
        return Draft202012Validator(schema).is_valid(value)
    except RecursionError:
        assume(False)  # noqa: FBT003 - not an argument that needs a name
        raise


@given(values, schemas())
def test_what_a_coercion_tells_is_what_it_does(value: Any, schema: Any) -> None:
    event("unchanged" if check_coerce(value, schema) is value else "changed")


@given(values, schemas())
def test_a_value_that_is_valid_stays(value: Any, schema: Any) -> None:
    if not is_valid(value, schema):
        event("not valid")
        return
    event("valid")
    after = check_coerce(value, schema)
    # The one change there is: 3.0 is an integer to JSON Schema, but a float to Python.
    assert same_but_for_floats(value, after)
    assert is_valid(after, schema)


def same_but_for_floats(value: Any, after: Any) -> bool:
    if isinstance(value, dict):
        return value.keys() == after.keys() and all(
            same_but_for_floats(item, after[key]) for key, item in value.items()
        )
    if isinstance(value, list):
        return len(value) == len(after) and all(map(same_but_for_floats, value, after))
    if isinstance(value, float) and type(after) is int:
        return value == after
    return laws.same(value, after)


@given(values, schemas())
def test_coercing_again_changes_nothing(value: Any, schema: Any) -> None:
    after = coerce(value, schema)
    assert coerce(after, schema) is after


def documents_of(value: Any) -> st.SearchStrategy[str]:
    """JSON texts of a value, in any spelling and with tolerated faults."""

    def tree(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: tree(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [tree(inner) for inner in item]
        if isinstance(item, int | float) and not isinstance(item, bool):
            return docs.Number(json.dumps(item))
        return item

    return docs.SEEDS.flatmap(
        lambda seed: st.booleans().map(
            lambda faulty: docs.render(tree(value), seed, faulty=faulty).text
        )
    )


ANY_KEYWORD: Final = (
    *("type", "properties", "patternProperties", "additionalProperties", "required", "items"),
    *(
        "prefixItems",
        "additionalItems",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
    ),
)
malformed: st.SearchStrategy[dict[Any, Any]] = st.dictionaries(
    st.sampled_from(ANY_KEYWORD) | st.just(5),
    parts_of_schemas | values | st.lists(values, max_size=2) | references | st.just({5: {}}),
    max_size=4,
)


@given(values, malformed | st.dictionaries(st.sampled_from(ANY_KEYWORD), malformed, max_size=3))
def test_no_schema_is_an_error(value: Any, schema: Any) -> None:
    check_coerce(value, schema)


@given(st.recursive(st.floats() | st.text() | st.integers() | leaves, st.lists), schemas())
def test_no_value_is_an_error(value: Any, schema: Any) -> None:
    check_coerce(value, schema)


@pytest.mark.parametrize("schema", [None, 1, "integer", [INTEGER], object()])
def test_what_is_no_schema_says_nothing(schema: Any) -> None:
    assert coerce("1", schema) == "1"


def test_changes_are_listed_in_the_order_of_the_value() -> None:
    changes: list[Coercion] = []
    schema = {"additionalProperties": {"type": "array", "items": INTEGER}}
    after = coerce({"a": ["1", "x", "2"], "b c": "['3']"}, schema, changes)
    assert after == {"a": [1, "x", 2], "b c": [3]}
    assert [(change.path, change.before, change.after) for change in changes[:2]] == [
        ("$.a[0]", "1", 1),
        ("$.a[2]", "2", 2),
    ]
    assert [change.path for change in changes[2:]] == ['$["b c"]', '$["b c"][0]']
    assert changes[3].after == 3


def test_changes_are_added_to_a_list_that_is_given() -> None:
    changes: list[Coercion] = []
    coerce("1", INTEGER, changes)
    coerce("x", INTEGER, changes)
    coerce("no", BOOLEAN, changes)
    assert [change.after for change in changes] == [1, False]


def test_containers_without_a_change_are_kept() -> None:
    value = {"a": [1, 2], "b": ["1"]}
    after = coerce(value, {"additionalProperties": {"items": INTEGER}})
    assert after["a"] is value["a"]
    assert after["b"] == [1]
    assert value["b"] == ["1"]


# -- size ------------------------------------------------------------------------------------------

CYCLES: Final[list[Any]] = [
    {"$ref": "#"},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    {"$ref": "#", "allOf": [{"$ref": "#"}]},
    {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "type": "integer"},
    {"oneOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}]},
    {"items": {"$ref": "#"}, "allOf": [{"$ref": "#"}, {"items": {"$ref": "#"}}]},
    {"type": ["integer", "array"], "anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]},
    {"additionalProperties": {"$ref": "#"}, "anyOf": [{"$ref": "#"}, INTEGER]},
]


@pytest.mark.parametrize("schema", CYCLES)
@pytest.mark.parametrize("depth", [0, 1, 5, 40, 400])
def test_schemas_that_lead_in_circles_come_to_an_end(schema: Any, depth: int) -> None:
    for inner in ("x", "1", 1):
        value: Any = inner
        for _ in range(depth):
            value = [value]
        coerce(value, schema)
        for _ in range(depth):
            value = value[0]
        assert value is inner


def test_deep_values_are_fine() -> None:
    value = repair("[" * 20_000 + '"1"' + "]" * 20_000, max_depth=10**6).value
    coerce(value, {"items": {"$ref": "#"}, "type": ["array", "integer"]})
    coerce(value, {"enum": [value, 1]})
    coerce(value, INTEGER)


SHAPES: Final[dict[str, tuple[Callable[[int], str], Any]]] = {
    "list": (lambda n: "[" + ",".join(['"1"'] * n) + "]", {"items": INTEGER}),
    "list-unchanged": (lambda n: "[" + ",".join(['"x"'] * n) + "]", {"items": INTEGER}),
    "list-to-repair": (lambda n: "[" + '"1",None,' * n + "]", {"items": INTEGER}),
    "object": (
        lambda n: "{" + ",".join(f'"k{key}":"1"' for key in range(n)) + "}",
        {"additionalProperties": INTEGER},
    ),
    "one-key-again-and-again": (
        lambda n: "{" + ",".join(['"k":"1"'] * n) + "}",
        {"additionalProperties": INTEGER},
    ),
    "objects-in-list": (
        lambda n: "[" + ",".join(['{"a":"1","b":"no"}'] * n) + "]",
        {"items": {"properties": {"a": INTEGER, "b": BOOLEAN}}},
    ),
    "list-as-text": (
        lambda n: json.dumps("[" + ",".join(['"1"'] * n) + "]"),
        {"type": "array", "items": INTEGER},
    ),
    "python-list-as-text": (
        lambda n: json.dumps("[" + ",".join(["'1'"] * n) + "]"),
        {"type": "array", "items": INTEGER},
    ),
    "broken-list-as-text": (lambda n: json.dumps("[" + "'1'," * n + "oops"), ARRAY),
    "openers-as-text": (lambda n: json.dumps("[" * n), ARRAY),
    "parentheses-as-text": (lambda n: json.dumps("(" * n), ARRAY),
    "digits": (lambda n: '"' + "1" * n + '"', INTEGER),
    "zeros": (lambda n: '"1.' + "0" * n + '"', INTEGER),
    "digits-of-an-exponent": (lambda n: '"1e' + "1" * n + '"', INTEGER),
    "zeros-of-an-exponent": (lambda n: '"1e' + "0" * n + '1"', INTEGER),
    "anyof": (
        lambda n: "[" + ",".join(['"1","no"'] * n) + "]",
        {"items": {"anyOf": [INTEGER, BOOLEAN, NULL]}},
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_cost_grows_with_the_length(name: str) -> None:
    build, schema = SHAPES[name]

    def read(text: str, options: dict[str, Any]) -> None:
        del options
        repair(text, schema=schema)

    check_growth(read, Hostile(build, ""), 50_000)


# -- repair with a schema --------------------------------------------------------------------------


def check_typed(text: str, schema: Any, **options: Any) -> Result:
    """Check a repair to the types of a schema: text, value and edits say the same."""
    plain = repair(text, **options)
    result = repair(text, schema=schema, **options)
    changes = list(result.coercions)
    if not {"duplicate_keys", "max_depth"} & options.keys():
        # Those two also decide about text in strings, which `coerce` is not told of.
        changes = []
        coerce(plain.value, schema, changes)
    if plain.status == "rejected" or not changes:
        assert laws.describe(result) == laws.describe(plain)
        assert laws.same(result.value, plain.value)
        assert laws.same(result.partial, plain.partial)
        assert result.coercions == ()
        return result
    assert result.status == "repaired"
    assert result.coercions == tuple(changes)
    assert laws.same(result.value, replayed(plain.value, changes))
    assert apply_edits(text, result) == result.text
    assert laws.same(laws.strict_loads(result.text), result.value), result.text
    depth = {key: value for key, value in options.items() if key == "max_depth"}
    again = repair(result.text, **depth)
    assert again.status == "valid"
    kinds = {edit.kind for edit in result.repairs}
    assert "coercion" in kinds
    assert kinds - {"coercion"} <= {edit.kind for edit in plain.repairs}
    return result


def apply_edits(text: str, result: Result) -> str:
    """Apply the edits to the input; they must be in order, apart, and remove what is there."""
    pieces, at = [], 0
    for edit in result.repairs:
        assert edit.offset >= at
        end = edit.offset + len(edit.removed)
        assert text[edit.offset : end] == edit.removed
        assert edit.removed != edit.inserted
        pieces += [text[at : edit.offset], edit.inserted]
        at = end
    return "".join([*pieces, text[at:]])


@given(values.flatmap(documents_of), schemas())
def test_text_value_and_edits_agree(text: str, schema: Any) -> None:
    event(check_typed(text, schema).status)


WIDE: Final = {
    "type": ["integer", "boolean", "null", "array", "object"],
    "items": {"$ref": "#"},
    "additionalProperties": {"$ref": "#"},
}


@given(values.flatmap(documents_of), docs.options())
def test_text_value_and_edits_agree_where_much_changes(text: str, options: dict[str, Any]) -> None:
    event(check_typed(text, WIDE, **options).status)


@given(docs.any_texts(), docs.options())
def test_any_text_can_be_typed(text: str, options: dict[str, Any]) -> None:
    check_typed(text, WIDE, **options)


def test_changes_are_edits_of_the_text() -> None:
    text = '{"n": "5", "s": "x\ny", "l": ["1", None, {"b": "Yes"}'
    schema = {
        "properties": {
            "n": INTEGER,
            "l": {"items": {"type": ["integer", "object"], "properties": {"b": BOOLEAN}}},
        },
    }
    result = check_typed(text, schema)
    assert result.text == '{"n": 5, "s": "x\\ny", "l": [1, null, {"b": true}]}'
    assert [(edit.kind, edit.removed, edit.inserted) for edit in result.repairs] == [
        ("coercion", '"5"', "5"),
        ("control_character", "\n", "\\n"),
        ("coercion", '"1"', "1"),
        ("python_literal", "None", "null"),
        ("coercion", '"Yes"', "true"),
        ("missing_closer", "", "]}"),
    ]
    assert [change.path for change in result.coercions] == ["$.n", "$.l[0]", "$.l[2].b"]


@pytest.mark.parametrize(
    ("text", "schema", "repaired"),
    [
        ('"1"', INTEGER, "1"),
        (' "1"\n', INTEGER, " 1\n"),
        ('\ufeff"1"', INTEGER, "1"),
        ('"1"}]', INTEGER, "1"),
        ("1", BOOLEAN, "true"),
        ("3.0", INTEGER, "3"),
        ('"3.0"', INTEGER, "3"),
        ('"1e3"', INTEGER, "1000"),
        ('"1e20"', INTEGER, "1" + "0" * 20),
        ('"1.50"', NUMBER, "1.50"),
        ('" 1.50 "', NUMBER, "1.50"),
        ('"\\u0031"', INTEGER, "1"),
        ('"true"', BOOLEAN, "true"),
        ('"on"', BOOLEAN, "true"),
        ('"null"', NULL, "null"),
        ('"[1,\\n 2.50]"', ARRAY, "[1,\n 2.50]"),
        ('"[\\"1\\"]"', {"type": "array", "items": INTEGER}, "[1]"),
        ("\"['é', None]\"", ARRAY, '["é", null]'),
        ('["a\nb", "1"', {"items": INTEGER}, '["a\\nb", 1]'),
        ('["1" , "2" ,]', {"items": INTEGER}, "[1 , 2 ]"),
        ('["1", "2"', {"items": INTEGER}, "[1, 2]"),
        ('[["1"}', {"items": {"items": INTEGER}}, None),
        ('{"a": ["1"}', {"properties": {"a": {"items": INTEGER}}}, '{"a": [1]}'),
        ('["[\n1]"]', {"items": ARRAY}, "[[\n1]]"),
        ('{"a":"1","a":"2"}', {"properties": {"a": INTEGER}}, None),
        ('{"\\u0061":"1"}', {"properties": {"a": INTEGER}}, '{"\\u0061":1}'),
        ('{"a\nb":"1"}', {"additionalProperties": INTEGER}, '{"a\\nb":1}'),
    ],
)
def test_the_text_is_that_of_the_value(text: str, schema: Any, repaired: str | None) -> None:
    result = check_typed(text, schema)
    if repaired is not None:
        assert result.text == repaired


def test_of_a_repeated_key_the_last_value_counts() -> None:
    schema = {"additionalProperties": INTEGER}
    result = check_typed('{"a":"1","b":"3","a":"2"}', schema)
    assert result.value == {"a": 2, "b": 3}
    assert result.text.endswith('"a":2}')
    result = repair('{"a":"1","a":"2"}', schema=schema, duplicate_keys="reject")
    assert result.reason == "duplicate_key"


@pytest.mark.parametrize(
    ("text", "schema", "options"),
    [
        ('["{\\"k\\":1,\\"k\\":2}"]', {"items": OBJECT}, {"duplicate_keys": "reject"}),
        ('["[[[1]]]"]', {"items": ARRAY}, {"max_depth": 2}),
        ('["[NaN]"]', {"items": ARRAY}, {}),
        ('["[\\"\\\\ud800\\"]"]', {"items": ARRAY}, {}),
    ],
)
def test_options_are_obeyed_in_values_given_as_text(
    text: str, schema: Any, options: dict[str, Any]
) -> None:
    result = repair(text, schema=schema, **options)
    assert result.status == "valid", result.text
    assert result.coercions == ()


@pytest.mark.parametrize("text", ["", '{"a": ', '["1",', '"1', "[1] x", "[NaN]"])
def test_a_refused_text_stays_refused(text: str) -> None:
    result = check_typed(text, {"items": INTEGER})
    assert result.status == "rejected"
    assert result.schema_errors == ()
    assert repair(text, schema=INTEGER, validate=True).schema_errors == ()


def test_bytes_can_be_typed() -> None:
    result = repair('["é", "1"'.encode("utf-16"), schema={"items": INTEGER})
    assert result.value == ["é", 1]
    assert result.text == '["é", 1]'


# -- validation ------------------------------------------------------------------------------------


def test_the_coerced_value_is_validated() -> None:
    schema = {
        "properties": {"a": {"type": "integer", "minimum": 5}, "b": {"type": "string"}},
        "required": ["c"],
    }
    result = repair('{"a": "3", "b": "x"', schema=schema, validate=True)
    assert result.value == {"a": 3, "b": "x"}
    assert sorted(result.schema_errors) == [
        "$.a: 3 is less than the minimum of 5",
        "$: 'c' is a required property",
    ]
    result = repair('{"a": "7", "c": 1}', schema=schema, validate=True)
    assert result.schema_errors == ()
    assert result.status == "repaired"


def test_a_value_that_is_not_coerced_is_validated() -> None:
    assert repair("[1]", schema=ARRAY, validate=True).schema_errors == ()
    (error,) = repair("[1]", schema=OBJECT, validate=True).schema_errors
    assert error.startswith("$: ")
    assert "object" in error
    assert repair("[1]", schema=OBJECT).schema_errors == ()
    assert repair("[1]", schema=False, validate=True).schema_errors


def test_without_a_schema_there_is_nothing_to_validate() -> None:
    assert repair("[1]", validate=True).schema_errors == ()


@given(values, schemas())
def test_errors_are_those_of_jsonschema(value: Any, schema: Any) -> None:
    valid = is_valid(coerce(value, schema), schema)
    result = repair(json.dumps(value), schema=schema, validate=True)
    assert bool(result.schema_errors) != valid


@pytest.mark.parametrize("schema", [{"type": "nope"}, {"items": 5}, {"required": "a"}])
def test_a_schema_that_is_none_is_a_value_error(schema: Any) -> None:
    with pytest.raises(ValueError, match="schema"):
        repair("[1]", schema=schema, validate=True)
