"""The exact words of refusals, one table: reason, place, what was expected and what was there."""

from typing import Any, Final

import pytest

from jsonrepair_lark import RepairError, RepairStream, loads, repair

from .support import laws

# Reason: text, options, message with its place.
MESSAGES: Final[dict[str, list[tuple[str | bytes, dict[str, Any], str]]]] = {
    "empty": [
        ("", {}, "Expected a value, got end of text: line 1 column 1 (char 0)"),
        (" \n", {}, "Expected a value, got end of text: line 2 column 1 (char 2)"),
        ("\ufeff", {}, "Expected a value, got end of text: line 1 column 2 (char 1)"),
    ],
    "truncated": [
        (
            '{"a": [1, 2',
            {"finish_reason": "length"},
            "Expected a whole text, got end of text: line 1 column 12 (char 11)",
        ),
    ],
    "dangling_comma": [
        ("[1,", {}, "Expected a value, got end of text: line 1 column 4 (char 3)"),
        ('{"a": 1, ', {}, "Expected a key, got end of text: line 1 column 10 (char 9)"),
        ('{"a": [1, }', {}, "Expected a value, got '}': line 1 column 11 (char 10)"),
    ],
    "incomplete_string": [
        ('["', {}, "Expected '\"', got end of text: line 1 column 3 (char 2)"),
        ('["x\ny', {}, "Expected '\"', got end of text: line 2 column 2 (char 5)"),
        ('{"a": 1, "ke', {}, "Expected '\"', got end of text: line 1 column 13 (char 12)"),
        ('{"a": "b\\', {}, "Expected '\"', got end of text: line 1 column 10 (char 9)"),
        ('{"a": "b\\u12', {}, "Expected '\"', got end of text: line 1 column 13 (char 12)"),
    ],
    "incomplete_number": [
        ("[-", {}, "Expected a complete number, got '-': line 1 column 2 (char 1)"),
        ("[1.", {}, "Expected a complete number, got '1.': line 1 column 2 (char 1)"),
        ("1e+", {}, "Expected a complete number, got '1e+': line 1 column 1 (char 0)"),
        (
            "[1, 2",
            {"number_at_end": "reject"},
            "Expected a complete number, got '2': line 1 column 5 (char 4)",
        ),
    ],
    "incomplete_literal": [
        ("[tru", {}, "Expected ']' or a value, got 'tru': line 1 column 2 (char 1)"),
        ('{"a": Fal', {}, "Expected a value, got 'Fal': line 1 column 7 (char 6)"),
        ("n", {}, "Expected a value, got 'n': line 1 column 1 (char 0)"),
    ],
    "missing_value": [
        (
            '{"city":',
            {},
            "Expected a value for $.city, got end of text: line 1 column 9 (char 8)",
        ),
        (
            '[{"a\\nb": }',
            {},
            "Expected a value for $[0][\"a\\nb\"], got '}': line 1 column 11 (char 10)",
        ),
    ],
    "missing_colon": [
        ('{"a"', {}, "Expected ':', got end of text: line 1 column 5 (char 4)"),
        ('{"a" }', {}, "Expected ':', got '}': line 1 column 6 (char 5)"),
    ],
    "empty_container": [
        ("[", {}, "Expected ']' or a value, got end of text: line 1 column 2 (char 1)"),
        ('{"a": {\n', {}, "Expected '}' or a key, got end of text: line 2 column 1 (char 8)"),
        ('{"a": [}', {}, "Expected ']' or a value, got '}': line 1 column 8 (char 7)"),
    ],
    "unexpected_input": [
        ("nope", {}, "Expected a value, got 'nope': line 1 column 1 (char 0)"),
        ("]", {}, "Expected a value, got ']': line 1 column 1 (char 0)"),
        ("[1 2]", {}, "Expected ']' or ',', got '2]': line 1 column 4 (char 3)"),
        ("[1,, 2]", {}, "Expected a value, got ', 2]': line 1 column 4 (char 3)"),
        ("[,]", {}, "Expected ']' or a value, got ',]': line 1 column 2 (char 1)"),
        ("[01]", {}, "Expected ']' or a value, got '01]': line 1 column 2 (char 1)"),
        ("{a: 1}", {}, "Expected '}' or a key, got 'a: 1}': line 1 column 2 (char 1)"),
        ('{"a" 1}', {}, "Expected ':', got '1}': line 1 column 6 (char 5)"),
        ('{"a": 1 "b": 2}', {}, "Expected '}' or ',', got '\"b\": 2}': line 1 column 9 (char 8)"),
        ('{"a": [1]]}', {}, "Expected '}' or ',', got ']}': line 1 column 10 (char 9)"),
        ("[1\u00a0]", {}, "Expected ']' or ',', got '\\xa0]': line 1 column 3 (char 2)"),
        ("[\x00]", {}, "Expected ']' or a value, got '\\x00]': line 1 column 2 (char 1)"),
        (
            "[@" + "x" * 100,
            {},
            "Expected ']' or a value, got '@xxxxxxxxxxxxxxxxxxx…': line 1 column 2 (char 1)",
        ),
        (
            "[@" + "x" * 19,
            {},
            "Expected ']' or a value, got '@xxxxxxxxxxxxxxxxxxx': line 1 column 2 (char 1)",
        ),
    ],
    "invalid_escape": [
        ('["\\d"]', {}, "Expected an escape of JSON, got '\\\\d\"]': line 1 column 3 (char 2)"),
        (
            '{"p": "C:\\Users"}',
            {},
            "Expected an escape of JSON, got '\\\\Users\"}': line 1 column 10 (char 9)",
        ),
    ],
    "concatenated": [
        ("[1][2]", {}, "Expected one value, got '[2]': line 1 column 4 (char 3)"),
        ("null\ntrue", {}, "Expected one value, got 'true': line 2 column 1 (char 5)"),
    ],
    "trailing_text": [
        ('{"a": 1}\n```', {}, "Expected end of text, got '```': line 2 column 1 (char 9)"),
        ("[1] done", {}, "Expected end of text, got 'done': line 1 column 5 (char 4)"),
    ],
    "nonfinite_number": [
        ("[NaN]", {}, "Expected a finite number, got 'NaN]': line 1 column 2 (char 1)"),
        ("-1e999", {}, "Expected a finite number, got '-1e999': line 1 column 1 (char 0)"),
    ],
    "number_too_long": [
        (
            "[" + "1" * 5000 + "]",
            {},
            (
                "Expected an integer within Python's limit of digits, "
                "got '11111111111111111111…': line 1 column 2 (char 1)"
            ),
        ),
    ],
    "lone_surrogate": [
        (
            '["a\\ud800"]',
            {},
            "Expected a surrogate pair, got '\\\\ud800\"]': line 1 column 4 (char 3)",
        ),
        ('["\ud800"]', {}, "Expected a surrogate pair, got '\\ud800\"]': line 1 column 3 (char 2)"),
    ],
    "duplicate_key": [
        (
            '{"a":1,\n"a":2}',
            {"duplicate_keys": "reject"},
            "Expected each key once, got '\"a\":2}': line 2 column 1 (char 8)",
        ),
    ],
    "too_deep": [
        (
            "[[[1]]]",
            {"max_depth": 2},
            "Expected at most 2 levels of nesting, got '[1]]]': line 1 column 3 (char 2)",
        ),
        (
            "[" * 501,
            {},
            "Expected at most 500 levels of nesting, got '[': line 1 column 501 (char 500)",
        ),
    ],
    "invalid_encoding": [
        (b'"\xff"', {}, "Expected utf-8, got byte 0xff: line 1 column 2 (char 1)"),
        (
            b"\xff\xfe[\x00\x00",
            {},
            "Expected utf-16-le, got byte 0x00: line 1 column 5 (char 4)",
        ),
    ],
    "repair_not_allowed": [
        (
            "[1",
            {"profile": "strict"},
            (
                "Expected text that needs no repair of kind missing_closer, got end of text: "
                "line 1 column 3 (char 2)"
            ),
        ),
        (
            "[1]]",
            {"profile": "strict"},
            (
                "Expected text that needs no repair of kind excess_closer, got ']': "
                "line 1 column 4 (char 3)"
            ),
        ),
        (
            "[None]",
            {"profile": {"missing_closer"}},
            (
                "Expected text that needs no repair of kind python_literal, got 'None]': "
                "line 1 column 2 (char 1)"
            ),
        ),
    ],
}
ROWS: Final = [
    pytest.param(reason, *row, id=f"{reason}-{index}")
    for reason, rows in MESSAGES.items()
    for index, row in enumerate(rows)
]


@pytest.mark.parametrize(("reason", "text", "options", "message"), ROWS)
def test_the_words_of_a_refusal(
    reason: str, text: str | bytes, options: dict[str, Any], message: str
) -> None:
    result = repair(text, **options)
    assert (result.reason, str(result.rejection)) == (reason, message)
    with pytest.raises(RepairError) as caught:
        loads(text, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(("reason", "text", "options", "message"), ROWS)
def test_a_stream_says_the_same(
    reason: str, text: str | bytes, options: dict[str, Any], message: str
) -> None:
    if not isinstance(text, str):
        pytest.skip("a stream takes text only")
    result = laws.stream(text, **options)
    assert (result.reason, str(result.rejection)) == (reason, message)


@pytest.mark.parametrize(("reason", "text", "options", "message"), ROWS)
def test_messages_keep_to_their_form(
    reason: str, text: str | bytes, options: dict[str, Any], message: str
) -> None:
    del reason
    rejection = repair(text, **options).rejection
    assert rejection is not None
    assert rejection.message.startswith("Expected ")
    assert ", got " in rejection.message
    assert not rejection.message.endswith(".")
    assert rejection.message.isascii() or "…" in rejection.message
    assert rejection.message.isprintable()
    assert message == (
        f"{rejection.message}: line {rejection.line} column {rejection.column} "
        f"(char {rejection.offset})"
    )
    # Characters are named, not terminals.
    assert not any(name in rejection.message for name in ("COMMA", "COLON", "RSQB", "RBRACE"))


def test_every_reason_has_its_words() -> None:
    # What is no object is a reason of `repair_arguments` alone, which warns: see test_api.
    assert set(MESSAGES) == laws.REASONS - {"not_an_object"}


def test_the_open_rules_of_a_refusal_wait_for_something() -> None:
    rejection = repair('{"a": [1, {"b"').rejection
    assert rejection is not None
    assert [rule.rule for rule in rejection.open_rules] == [
        "object",
        "pair",
        "array",
        "object",
        "pair",
    ]
    assert [rule.start for rule in rejection.open_rules] == [0, 1, 6, 10, 11]
    assert all(rule.waits for rule in rejection.open_rules)
    innermost = rejection.open_rules[-1]
    assert (innermost.seen, innermost.waits) == (("string",), ("COLON", "value"))
    assert rejection.path == "$.a[1].b"
    assert rejection.expected == ("':'",)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[", "$"),
        ('{"a": [', "$.a"),
        ("[1, ", "$[1]"),
        ('{"edits": [{"old": "x"}, {"new": "', "$.edits[1].new"),
        ('{"a b": {"": [[], [tru', '$["a b"][""][1][0]'),
        ('{"é": ', '$["é"]'),
        ('{"a\\"b": ', '$["a\\"b"]'),
        ("[[1, 2], [3, 4], [5, x", "$[2][1]"),
        ('{"a": 1, "b', "$"),
        ('[{"a": 1}, {"b": NaN}]', "$[1].b"),
    ],
)
def test_the_path_of_what_is_incomplete(text: str, path: str) -> None:
    rejection = repair(text).rejection
    assert rejection is not None
    assert rejection.path == path
    stream = RepairStream()
    for character in text:
        stream.feed(character)
    assert stream.finish().rejection == rejection
