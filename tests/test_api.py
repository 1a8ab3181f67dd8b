"""The public functions: what they take, what each option means, what they return and raise."""

import copy
import io
import json
import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonrepair_lark import (
    Repair,
    RepairError,
    RepairStream,
    Result,
    from_file,
    load,
    loads,
    repair,
    repair_arguments,
    repair_json,
)

from .support import laws

CUT: Final = '{"a": [1, 2'
REFUSED: Final = '{"a": [1, {"b'


def kinds(result: Result) -> list[str]:
    return [edit.kind for edit in result.repairs]


def outcome(text: Any, **options: Any) -> Any:
    """The value, or the reason in a list of its own so that it is no string value."""
    result = repair(text, **options)
    return {"refused": result.reason} if result.status == "rejected" else result.value


def refused(reason: str) -> dict[str, str]:
    return {"refused": reason}


# -- bare values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CUT, CUT.encode(), '{"a": [1, 2]}', '{"a": [1, 2,],}}'])
def test_loads_returns_the_bare_value(text: str | bytes) -> None:
    assert loads(text) == {"a": [1, 2]}
    assert loads(s=text) == {"a": [1, 2]}


@pytest.mark.parametrize("text", ["null", "0", "false", '""', "[]", "{}"])
def test_loads_returns_values_that_are_false(text: str) -> None:
    assert laws.same(loads(text), json.loads(text))


def test_load_reads_text_and_binary_files(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text('{"a": "é", "b": [1', encoding="utf-8")
    expected = {"a": "é", "b": [1]}
    with path.open(encoding="utf-8") as text:
        assert load(text) == expected
    with path.open("rb") as binary:
        assert load(binary) == expected
    assert load(io.StringIO(CUT)) == {"a": [1, 2]}
    assert load(fp=io.BytesIO(b"[NaN"), nonfinite="null") == [None]
    with path.open("rb") as binary, pytest.raises(RepairError):
        load(binary, profile="strict")


def test_from_file_takes_a_path(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_bytes('{"a": "é", "b": [1'.encode("utf-16"))
    assert from_file(path) == {"a": "é", "b": [1]}
    assert from_file(str(path)) == {"a": "é", "b": [1]}
    assert from_file(filename=path, number_at_end="accept") == {"a": "é", "b": [1]}
    with pytest.raises(RepairError):
        from_file(path, finish_reason="length")
    with pytest.raises(FileNotFoundError):
        from_file(tmp_path / "missing.json")


def test_repair_json_returns_text_or_objects() -> None:
    assert repair_json(CUT) == '{"a": [1, 2]}'
    assert repair_json(json_str=CUT) == '{"a": [1, 2]}'
    assert repair_json(CUT, return_objects=True) == {"a": [1, 2]}
    assert repair_json(CUT, True) == {"a": [1, 2]}  # noqa: FBT003 - as in json_repair
    assert repair_json(' {"a" :1 } ') == ' {"a" :1 } '
    assert repair_json("[NaN", return_objects=True, nonfinite="null") == [None]
    for objects in (False, True):
        with pytest.raises(RepairError):
            repair_json(REFUSED, return_objects=objects)
        with pytest.raises(RepairError):
            repair_json(return_objects=objects)


@pytest.mark.parametrize("function", [loads, repair_json])
def test_a_refusal_is_a_json_decode_error_with_the_result(function: Callable[[str], Any]) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        function('{"a":\n 1, "b"')
    error = caught.value
    assert isinstance(error, RepairError)
    assert error.result == repair('{"a":\n 1, "b"')
    rejection = error.result.rejection
    assert rejection is not None
    assert (error.msg, error.doc, error.pos) == (rejection.message, '{"a":\n 1, "b"', 13)
    assert (error.lineno, error.colno) == (rejection.line, rejection.column) == (2, 8)
    assert str(error) == str(rejection)


def test_the_place_of_an_undecodable_byte_is_that_of_the_rejection() -> None:
    with pytest.raises(RepairError) as caught:
        loads(b'"\xc3\xa9\n\xff"')
    rejection = caught.value.result.rejection
    assert rejection is not None
    assert (rejection.offset, rejection.line, rejection.column) == (4, 2, 1)
    assert str(caught.value) == str(rejection)


@pytest.mark.parametrize("text", [REFUSED, b'{"a": "\xff', "", '{"a": "' + "x" * 1000])
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],  # noqa: S301
)
def test_an_error_is_picklable_and_copyable(text: str, copied: Callable[[Any], Any]) -> None:
    with pytest.raises(RepairError) as caught:
        loads(text)
    error = caught.value
    other = copied(error)
    assert type(other) is RepairError
    assert other.result == error.result
    assert str(other) == str(error)
    assert other.args == error.args
    for name in ("msg", "doc", "pos", "lineno", "colno"):
        assert getattr(other, name) == getattr(error, name)


# -- arguments of a tool call ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (' {"a" :1.0}\n', ' {"a" :1.0}\n'),
        ("{}", "{}"),
        ('{"a": 1', '{"a": 1}'),
        ('{"a": None,}}', '{"a": null}'),
        (b'{"a": "\xc3\xa9"', '{"a": "é"}'),
    ],
)
def test_arguments_are_the_text_of_an_object(text: str | bytes, expected: str) -> None:
    assert repair_arguments(text) == expected


@pytest.mark.parametrize("text", ["", " \n\t", None, "None", " None\n", b"", b"None"])
def test_no_arguments_give_the_fallback_without_a_warning(
    text: str | bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert repair_arguments(text) == "{}"
    assert repair_arguments(text, fallback='{"none": true}') == '{"none": true}'
    assert repair_arguments(text, profile="strict") == "{}"
    assert caplog.records == []


def test_null_gives_the_fallback() -> None:
    assert repair_arguments("null") == "{}"
    assert repair_arguments("null", fallback="?") == "?"


@pytest.mark.parametrize(
    ("text", "options", "reason", "place"),
    [
        ("[1]", {}, "not_an_object", 0),
        ("[1", {}, "not_an_object", 0),
        ('"x"', {}, "not_an_object", 0),
        ("17", {}, "not_an_object", 0),
        ("true", {}, "not_an_object", 0),
        ('{"city": ', {}, "missing_value", 9),
        ('{"city": "Par', {}, "incomplete_string", 13),
        ('{"a": 1} and', {}, "trailing_text", 9),
        ('{"a": 1}{"b": 2}', {}, "concatenated", 8),
        ('{"a": NaN}', {}, "nonfinite_number", 6),
        ('{"a": 1', {"finish_reason": "length"}, "truncated", 7),
        ('{"a": 1', {"profile": "strict"}, "repair_not_allowed", 7),
        (b'{"a": "\xff"}', {}, "invalid_encoding", 7),
    ],
)
def test_refused_arguments_give_the_fallback_and_a_warning(
    text: str | bytes,
    options: dict[str, Any],
    reason: str,
    place: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert repair_arguments(text, **options) == "{}"
    assert repair_arguments(text, fallback="", **options) == ""
    first, second = caplog.records
    assert first.name == "jsonrepair_lark"
    assert first.levelno == logging.WARNING
    assert reason in first.getMessage()
    assert f"character {place}" in first.getMessage()
    assert first.getMessage() == second.getMessage()


@pytest.mark.parametrize(
    "character", ["x", "é", "\x00", "\ud800", "\U0001f600", "\\", "'", "\u2028"]
)
@pytest.mark.parametrize(
    "frame", ["{}", '{{"a": "b", {}', '{{"a": 1}} {}', "{}{{", '["{}"]', "\n\n{}"]
)
def test_a_warning_quotes_little_of_the_text(
    character: str, frame: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = frame.format(character * 400)
    assert repair_arguments(text) == "{}"
    (record,) = caplog.records
    message = record.getMessage()
    assert "\n" not in message
    # As written or escaped, at most 80 characters of it, and the log can be encoded.
    assert message.encode("utf-8")
    assert character * 81 not in message
    escaped = ascii(character)[1:-1]
    assert message.count(escaped) <= 80
    assert len(message) < 80 * len(escaped) + 120


@given(st.one_of(st.text(), st.binary()))
def test_arguments_are_an_object_whatever_the_text(text: str | bytes) -> None:
    logging.getLogger("jsonrepair_lark").disabled = True
    try:
        arguments = repair_arguments(text)
    finally:
        logging.getLogger("jsonrepair_lark").disabled = False
    assert isinstance(json.loads(arguments), dict)


# -- results ---------------------------------------------------------------------------------------

LOOKS: Final[dict[str, Callable[[Result], Any]]] = {
    "fresh": lambda result: result.status,
    "explained": lambda result: result.rejection,
    "partial": lambda result: result.partial,
    "tree": lambda result: result.tree,
    "all": lambda result: (result.tree, result.partial, result.rejection),
}
TEXTS: Final[list[str | bytes]] = [
    "[1]",
    CUT,
    REFUSED,
    "",
    "[1e999",
    '{"a": 1} x',
    b'"\xff"',
    '{"a": {"b": "x\ny"}, "c": ',
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))],  # noqa: S301
)
def test_a_result_is_picklable_and_copyable(
    text: str | bytes, look: str, copied: Callable[[Any], Any]
) -> None:
    result = repair(text)
    LOOKS[look](result)
    other = copied(result)
    assert other == result
    assert hash(other) == hash(result)
    assert repr(other) == repr(result)
    assert (other.status, other.text, other.reason) == (result.status, result.text, result.reason)
    assert laws.same(other.value, result.value)
    assert laws.same(other.partial, result.partial)
    assert other.repairs == result.repairs
    assert [edit.line for edit in other.repairs] == [edit.line for edit in result.repairs]
    assert other.rejection == result.rejection
    assert other.tree == result.tree


def test_results_are_equal_by_what_they_say() -> None:
    for text in TEXTS:
        assert repair(text) == repair(text)
        assert hash(repair(text)) == hash(repair(text))
    different = [
        "1",
        "1.0",
        "true",
        "[1]",
        "[1",
        "[1]]",
        " [1]",
        "[True]",
        "[true]",
        '"1"',
        "",
        "{",
    ]
    assert len({repair(text) for text in different}) == len(different)
    assert repair("[1") != "[1]"
    assert repair('{"a": 1, "b": 2}') != repair('{"b": 2, "a": 1}')
    assert repair("[1") == repair("[1", profile="safe", max_depth=500)


def test_a_result_says_what_it_is() -> None:
    assert repr(repair("[1]")) == "Result(status='valid', value=[1], repairs=())"
    assert repr(repair("[1")) == (
        "Result(status='repaired', value=[1], repairs=(Repair(kind='missing_closer', offset=2, "
        "removed='', inserted=']'),))"
    )
    assert repr(repair("[")) == "Result(status='rejected', reason='empty_container')"


def test_a_repair_knows_line_and_column() -> None:
    result = repair('{"a":\n  [1,\r\n2,]\n')
    assert [(edit.kind, edit.offset, edit.line, edit.column) for edit in result.repairs] == [
        ("trailing_comma", 14, 3, 2),
        ("missing_closer", 16, 3, 4),
    ]
    assert result.repairs[0] == Repair("trailing_comma", 14, ",", "")
    assert hash(result.repairs[0]) == hash(Repair("trailing_comma", 14, ",", ""))


def test_a_tree_has_the_names_of_the_grammar() -> None:
    tree = repair('{"a": [1, tru').tree
    assert tree.data == "object"
    names = [node.data for node in [tree, *tree.find_pred(lambda node: node is not tree)]]
    assert sorted(names) == ["array", "number", "object", "pair", "string"]
    whole = repair('{"a": [1, true]}').tree
    assert whole.data == "start"
    tokens = [
        (str(token), token.start_pos, token.end_pos)
        for token in whole.scan_values(lambda value: isinstance(value, str))
    ]
    assert tokens == [('"a"', 1, 4), ("1", 7, 8), ("true", 10, 14)]


# -- what is text ----------------------------------------------------------------------------------

ENCODINGS: Final = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
WRAPPED: Final[list[Callable[[bytes], Any]]] = [bytes, bytearray, memoryview]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("wrap", WRAPPED)
def test_bytes_are_decoded(encoding: str, wrap: Callable[[bytes], Any]) -> None:
    for text in ('{"a": "é\U0001f600"}', '{"a": "é\U0001f600", "b": [1', '["é', "", "17"):
        assert repair(wrap(text.encode(encoding))) == repair(text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_byte_order_mark_is_an_edit(encoding: str) -> None:
    result = repair('\ufeff{"a": "é"}'.encode(encoding))
    assert result == repair('\ufeff{"a": "é"}')
    assert (result.status, result.text) == ("repaired", '{"a": "é"}')
    assert [(edit.kind, edit.offset, edit.removed) for edit in result.repairs] == [
        ("byte_order_mark", 0, "\ufeff")
    ]
    assert outcome('\ufeff{"a": 1}', profile="strict") == refused("repair_not_allowed")
    assert outcome("\ufeff".encode(encoding)) == refused("empty")
    assert outcome('\ufeff\ufeff{"a": 1}') == refused("unexpected_input")


def test_a_memory_view_may_be_of_any_form() -> None:
    assert outcome(memoryview(b"[.1.,.2.]")[::2]) == [1, 2]
    assert outcome(memoryview(b"[1, 2]").cast("H")) == [1, 2]


@pytest.mark.parametrize(
    ("data", "offset", "line", "column"),
    [
        (b'{"a": "\xff"}', 7, 1, 8),
        (b"\xff", 0, 1, 1),
        (b'{"a":\n"\xc3', 7, 2, 2),
        (b'"\xed\xa0\x80"', 1, 1, 2),
        ("[1".encode("utf-16") + b"\x00", 6, 1, 7),
        (b"\xef\xbb\xbf\xff", 3, 1, 4),
    ],
)
def test_undecodable_bytes_are_refused(data: bytes, offset: int, line: int, column: int) -> None:
    result = repair(data)
    assert (result.status, result.reason, result.value) == ("rejected", "invalid_encoding", None)
    rejection = result.rejection
    assert rejection is not None
    assert (rejection.offset, rejection.line, rejection.column) == (offset, line, column)
    assert rejection.path == "$"
    assert result.partial is None


def test_none_is_empty_text() -> None:
    assert repair(None) == repair("")
    assert outcome(None) == refused("empty")


@pytest.mark.parametrize("function", [repair, loads, repair_json, repair_arguments])
@pytest.mark.parametrize(
    "text", [1, 1.5, True, [1], {"a": 1}, object(), Path("x"), io.StringIO("1")]
)
def test_what_is_no_text_is_a_type_error(function: Callable[..., Any], text: object) -> None:
    with pytest.raises(TypeError, match=type(text).__name__):
        function(text)


def test_subclasses_of_str_are_text() -> None:
    class Name(str):
        __slots__ = ()

    assert repair(Name('{"a": 1')) == repair('{"a": 1')
    assert outcome(Name('{"a": 1}')) == {"a": 1}


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [repair, loads, repair_json, repair_arguments])
@pytest.mark.parametrize("text", ["[1]", "[1", "["])
@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"strict": True}, TypeError, "strict"),
        ({"Profile": "safe"}, TypeError, "Profile"),
        ({"profile": "lenient"}, ValueError, "lenient"),
        ({"profile": {1}}, (TypeError, ValueError), "profile"),
        ({"profile": None}, TypeError, "profile.*NoneType"),
        ({"profile": 5}, TypeError, "profile.*int"),
        ({"number_at_end": "maybe"}, ValueError, "number_at_end.*'maybe'"),
        ({"number_at_end": True}, (TypeError, ValueError), "number_at_end"),
        ({"number_at_end": []}, (TypeError, ValueError), "number_at_end"),
        ({"empty_container": "fill"}, ValueError, "empty_container.*'fill'"),
        ({"nonfinite": None}, (TypeError, ValueError), "nonfinite"),
        ({"nonfinite": "NULL"}, ValueError, "nonfinite.*'NULL'"),
        ({"lone_surrogates": "ignore"}, ValueError, "lone_surrogates.*'ignore'"),
        ({"duplicate_keys": "first"}, ValueError, "duplicate_keys.*'first'"),
        ({"max_depth": 0}, ValueError, "max_depth.*0"),
        ({"max_depth": -1}, ValueError, "max_depth.*-1"),
        ({"max_depth": "9"}, TypeError, "max_depth.*str"),
        ({"max_depth": 1.0}, TypeError, "max_depth.*float"),
        ({"max_depth": True}, TypeError, "max_depth.*bool"),
        ({"max_depth": None}, TypeError, "max_depth.*NoneType"),
        ({"finish_reason": 1}, TypeError, "finish_reason.*int"),
        ({"finish_reason": ["length"]}, TypeError, "finish_reason.*list"),
    ],
)
def test_wrong_options_are_refused_whatever_the_text(
    function: Callable[..., Any],
    text: str,
    options: dict[str, Any],
    error: type[Exception],
    named: str,
) -> None:
    with pytest.raises(error, match=named) as caught:
        function(text, **options)
    assert not isinstance(caught.value, RepairError)


def test_wrong_options_are_refused_although_equal_ones_were_taken() -> None:
    assert outcome("[1]", max_depth=1) == [1]
    for wrong in (True, 1.0):
        with pytest.raises(TypeError, match=type(wrong).__name__):
            repair("[1]", max_depth=wrong)


FAULTS: Final = {
    "missing_closer": ("[1", [1]),
    "excess_closer": ("[1]]", [1]),
    "trailing_comma": ("[1,]", [1]),
    "control_character": ('["a\nb"]', ["a\nb"]),
    "python_literal": ("[None]", [None]),
    "byte_order_mark": ("\ufeff[1]", [1]),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_profile_is_a_set_of_kinds(kind: str) -> None:
    text, value = FAULTS[kind]
    assert kinds(repair(text)) == [kind]
    for allowing in ({kind}, [kind], (kind,), frozenset({kind}), set(FAULTS)):
        assert outcome(text, profile=allowing) == value
    for refusing in ("strict", (), set(FAULTS) - {kind}):
        result = repair(text, profile=refusing)
        assert result.reason == "repair_not_allowed"
        assert result.rejection is not None
        assert result.rejection.kind == kind
        assert kind in result.rejection.message
    assert outcome("[1]", profile="strict") == [1]


def test_kinds_of_options_come_on_top_of_a_profile() -> None:
    assert outcome("[NaN]", profile="strict", nonfinite="null") == [None]
    assert outcome('["\\ud800"]', profile="strict", lone_surrogates="replace") == ["\ufffd"]
    assert outcome("[NaN", profile="strict", nonfinite="null") == refused("repair_not_allowed")


@pytest.mark.parametrize("word", ["length", "LENGTH", "Length"])
def test_known_to_be_cut_text_gets_no_closer_at_its_end(word: str) -> None:
    for text in ("[1", '{"a": [1]', '{"a": [{"b": 1}]'):
        assert outcome(text, finish_reason=word) == refused("truncated")
    assert outcome("[1,", finish_reason=word) == refused("dangling_comma")
    assert outcome("[1]", finish_reason=word) == [1]
    assert outcome("[1,]]", finish_reason=word) == [1]
    assert outcome('{"a": [1}', finish_reason=word) == {"a": [1]}
    assert outcome("[", finish_reason=word, empty_container="close") == refused("truncated")
    result = repair('{"a": [1, 2', finish_reason=word)
    assert result.partial == {"a": [1, 2]}
    assert result.rejection is not None
    assert result.rejection.offset == 11


@pytest.mark.parametrize("word", [None, "stop", "tool_calls", "end_turn", ""])
def test_other_finish_reasons_change_nothing(word: str | None) -> None:
    assert outcome(CUT, finish_reason=word) == {"a": [1, 2]}


def test_a_number_at_the_very_end() -> None:
    for text, value in {"[1, 2": [1, 2], "17": 17, "-0.5e1": -5.0, '{"a": 1e5': {"a": 1e5}}.items():
        assert outcome(text) == value
        assert outcome(text, number_at_end="reject") == refused("incomplete_number")
        closed = outcome(text + "\n", number_at_end="reject")
        assert closed == value, "white space after it shows that it is complete"
    assert outcome("[1, 2]", number_at_end="reject") == [1, 2]
    assert outcome("[1, true", number_at_end="reject") == [1, True]
    assert repair("[1, 2", number_at_end="reject").partial == [1]
    assert outcome("[1e999", number_at_end="reject", nonfinite="null") == (
        refused("incomplete_number")
    )


def test_a_container_just_opened() -> None:
    for text, value in {"[": [], "{": {}, '{"a": [': {"a": []}, "[1, {": [1, {}]}.items():
        assert outcome(text) == refused("empty_container")
        assert outcome(text, empty_container="close") == value
        assert outcome(text + " \n", empty_container="close") == value
    assert outcome('{"a": [}', empty_container="close") == {"a": []}
    assert outcome('{"a": [}') == refused("empty_container")
    assert outcome('{"a":', empty_container="close") == refused("missing_value")
    assert outcome("[1,", empty_container="close") == refused("dangling_comma")
    assert outcome('["', empty_container="close") == refused("incomplete_string")
    assert outcome("[", empty_container="close", profile="strict") == refused("repair_not_allowed")


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400 + ".0"]
)
def test_numbers_that_are_not_finite(literal: str) -> None:
    for before, after, value in (
        ("", "", None),
        ("[1, ", "]", [1, None]),
        ("[1, ", ", 2", [1, None, 2]),
        ("[1, ", ",]", [1, None]),
        ('{"a": ', "}", {"a": None}),
    ):
        text = before + literal + after
        result = repair(text)
        assert result.reason == "nonfinite_number"
        assert result.rejection is not None
        assert result.rejection.offset == len(before)
        changed = repair(text, nonfinite="null")
        assert laws.same(changed.value, value)
        assert changed.status == "repaired"
        edit = changed.repairs[0]
        assert (edit.kind, edit.offset, edit.removed, edit.inserted) == (
            "nonfinite_number",
            len(before),
            literal,
            "null",
        )
    assert repair(f"[1, {literal}]").partial == [1]


@pytest.mark.parametrize("text", ["-NaN", "+Infinity", "nan", "Infinit", "inf", "NaNs"])
def test_other_words_for_numbers_are_not_known(text: str) -> None:
    assert repair(f"[{text}]", nonfinite="null").reason == "unexpected_input"


def test_the_largest_numbers_are_kept() -> None:
    for lexeme in ("1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "1e-999", "-0"):
        for text in (f"[{lexeme}]", f"[{lexeme}", lexeme):
            result = repair(text)
            assert laws.same(
                result.value, json.loads(f"[{lexeme}]") if "[" in text else json.loads(lexeme)
            )
            assert lexeme in result.text


@pytest.fixture
def digits() -> Iterator[Callable[[int], None]]:
    before = sys.get_int_max_str_digits()
    yield sys.set_int_max_str_digits
    sys.set_int_max_str_digits(before)


FRAMES: Final = ["{}", "[{}]", "[{}", "[1, {},]", '{{"a": {}', "[{}, None]"]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("sign", ["", "-"])
def test_the_limit_of_digits(frame: str, sign: str, digits: Callable[[int], None]) -> None:
    digits(4300)
    at = frame.format(sign + "9" * 4300)
    over = frame.format(sign + "9" * 4301)
    assert repair(at).status != "rejected"
    result = repair(over)
    assert result.reason == "number_too_long"
    assert result.rejection is not None
    assert over[result.rejection.offset :].startswith(sign + "999")
    assert result.rejection.offset == over.index(sign + "999")
    assert repair(over, nonfinite="null").reason == "number_too_long"
    digits(5000)
    assert repair(over).status != "rejected"
    digits(640)
    assert repair(at).reason == "number_too_long"
    assert repair(frame.format(sign + "9" * 640)).status != "rejected"
    digits(0)
    assert repair(frame.format(sign + "9" * 6000)).status != "rejected"


@pytest.mark.parametrize("frame", FRAMES)
def test_a_float_may_have_many_digits(frame: str) -> None:
    for lexeme in (
        "0." + "1" * 5000,
        "1" * 5000 + "e-4990",
        "1e-" + "0" * 5000 + "1",
        "-" + "0.5e" + "0" * 5000,
    ):
        assert repair(frame.format(lexeme)).status != "rejected", lexeme[:10]
    assert repair(frame.format("1" * 5000 + ".5")).reason == "nonfinite_number"


SURROGATES: Final = {
    # The body of a string, and what it becomes; None where it has no lone surrogate.
    "\\ud83d\\ude00": None,
    "\\uD83D\\uDE00\\n": None,
    "\U0001f600": None,
    "\\\\ud800": None,
    "\\ud800": "\ufffd",
    "a\\uDC00b": "a\ufffdb",
    "\ud800": "\ufffd",
    "a\udfffb": "a\ufffdb",
    "\\ud83d\\ude00\\ud800": "\U0001f600\ufffd",
    "\\ud800\\ud83d\\ude00": "\ufffd\U0001f600",
    "\\ude00\\ud83d\\n": "\ufffd\ufffd\n",
    "\\\\\\ud800": "\\\ufffd",
    "\ude00\ud83d": "\ufffd\ufffd",
    "\\ud83d\ude00": "\ufffd\ufffd",
    "\\ud83d \\ude00": "\ufffd \ufffd",
    "x\ny\\ud800": "x\ny\ufffd",
}


@pytest.mark.parametrize("body", SURROGATES)
@pytest.mark.parametrize(
    "frame", ['"{}"', '["{}"]', '["{}", 1', '{{"{}": 1}}', '{{"k": "{}",}}', '{{"{}": [1']
)
def test_lone_surrogates(frame: str, body: str) -> None:
    text = frame.format(body)
    replaced = repair(text, lone_surrogates="replace")
    expected = SURROGATES[body]
    if expected is None:
        assert repair(text).status != "rejected"
        assert "lone_surrogate" not in kinds(replaced)
        assert replaced.value == repair(text).value
        return
    result = repair(text)
    assert result.reason == "lone_surrogate"
    assert replaced.status == "repaired"
    assert expected in strings(replaced.value)
    assert "lone_surrogate" in kinds(replaced)
    replaced.text.encode("utf-8")
    laws.check_result(text, replaced, {"lone_surrogates": "replace"})


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)


def test_a_surrogate_cut_before_its_partner_is_an_incomplete_string() -> None:
    for cut in ("\\ud83d", "\\ud83d\\", "\\ud83d\\u", "\\ud83d\\ude0", "\\ud83"):
        assert outcome(f'["a{cut}') == refused("incomplete_string")
        assert outcome(f'["a{cut}', lone_surrogates="replace") == refused("incomplete_string")


@pytest.mark.parametrize(
    ("text", "path", "offset", "partial"),
    [
        ('{"a": 1, "a": 2}', "$.a", 9, {"a": 1}),
        ('{"a": 1, "a": 1}', "$.a", 9, {"a": 1}),
        ('[{"x": {"b": 1, "c": 2, "b": 3}}]', "$[0].x.b", 24, [{"x": {"b": 1, "c": 2}}]),
        ('[{"a": 1, "\\u0061": 2', "$[0].a", 10, [{"a": 1}]),
        ('{"a": {"b": 1, "b": 2}, "a": 3}', "$.a.b", 15, {"a": {"b": 1}}),
        (
            '{"a": 1, "b": [{"k": 1}, {"k": 1, "k": None,}]',
            "$.b[1].k",
            34,
            {"a": 1, "b": [{"k": 1}, {"k": 1}]},
        ),
        ('{"": 0, "": 0}', '$[""]', 8, {"": 0}),
        ('{"a\\nb": 0, "a\nb": 0}', '$["a\\nb"]', 12, {"a\nb": 0}),
    ],
)
def test_duplicate_keys(text: str, path: str, offset: int, partial: Any) -> None:
    assert repair(text).status != "rejected"
    result = repair(text, duplicate_keys="reject")
    assert result.reason == "duplicate_key"
    assert result.rejection is not None
    assert (result.rejection.path, result.rejection.offset) == (path, offset)
    assert result.partial == partial


def test_the_last_of_duplicate_keys_wins_at_any_depth() -> None:
    for text in ('{"a": {"b": 1, "c": 0, "b": 2}}', '{"a": {"b": 1, "c": 0, "b": 2'):
        assert outcome(text) == {"a": {"b": 2, "c": 0}}
    assert outcome('{"a": 1, "a": {"b": 1}', duplicate_keys="last") == {"a": {"b": 1}}
    for text in ('{"a": {"a": 1}, "b": {"a": 1}}', '[{"a": 1}, {"a": 1}]', '[{"a": 1}, {"a": 1}'):
        assert outcome(text, duplicate_keys="reject") == outcome(text)


@pytest.mark.parametrize(
    "unit", [("[", "1", "]"), ('{"a":', "1", "}"), ("[0,", "[]", "]"), ('{"a":0,"b":', "{}", "}")]
)
@pytest.mark.parametrize("limit", [1, 2, 7, 500])
def test_depth_is_limited_exactly(unit: tuple[str, str, str], limit: int) -> None:
    opener, value, closer = unit
    inner = 0 if value == "1" else 1
    for depth in (limit, limit + 1):
        n_outer = depth - inner
        whole = opener * n_outer + value + closer * n_outer
        texts = {
            "valid": whole,
            "padded": f" {whole}\n",
            "cut": whole[: len(opener) * n_outer + len(value)],
            "comma": opener * n_outer + value + "," + closer * n_outer if n_outer else whole,
            "excess": whole + closer,
            "literal": opener * depth + "None" if not inner else whole,
        }
        for name, text in texts.items():
            result = repair(text, max_depth=limit)
            if depth == limit:
                assert result.status != "rejected", (name, result)
                continue
            assert result.reason == "too_deep", (name, result)
            assert result.rejection is not None
            assert text[result.rejection.offset] in "[{"
            assert (
                text[: result.rejection.offset].count("[")
                + text[: result.rejection.offset].count("{")
                == limit
            )
        broken = opener * depth + "x"
        expected = "unexpected_input" if depth == limit else "too_deep"
        assert repair(broken, max_depth=limit).reason == expected
    assert outcome("1", max_depth=1) == 1


def test_the_limit_of_depth_counts_nesting_and_not_brackets() -> None:
    assert outcome("[" + "[]," * 1000 + "[]", max_depth=2) == [[]] * 1001
    assert outcome('["' + "[" * 1000 + '"', max_depth=1) == ["[" * 1000]
    assert outcome("[[1], [[2]]", max_depth=2) == refused("too_deep")
    assert outcome("[[1], [[2]]]", max_depth=2) == refused("too_deep")


def test_depths_beyond_the_stack_of_python_are_no_exception() -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000 + "1", "[" * 100_000 + "]" * 100_000):
        assert outcome(text) == refused("too_deep")
    deep = repair("[" * 20_000 + "1", max_depth=10**6)
    assert deep.status == "repaired"
    assert len(deep.text) == 40_001
    assert repair(deep.text, max_depth=10**6).status == "valid"


# -- streams ---------------------------------------------------------------------------------------


def test_a_stream_has_a_sound_value_at_any_time() -> None:
    stream = RepairStream()
    assert stream.value is None
    seen: list[Any] = []
    for delta in (
        '{"a"',
        ":",
        " [1",
        "2",
        ",",
        ' "x',
        'y"',
        ', {"b": tr',
        "ue",
        "}",
        "]",
        ', "c": nul',
    ):
        stream.feed(delta)
        seen.append(copy.deepcopy(stream.value))
    assert seen == [
        {},
        {},
        {"a": []},
        {"a": []},
        {"a": [12]},
        {"a": [12]},
        {"a": [12, "xy"]},
        {"a": [12, "xy", {}]},
        {"a": [12, "xy", {}]},
        {"a": [12, "xy", {"b": True}]},
        {"a": [12, "xy", {"b": True}]},
        {"a": [12, "xy", {"b": True}]},
    ]
    result = stream.finish()
    assert result.reason == "incomplete_literal"
    assert stream.value == result.partial == seen[-1]


def test_looking_at_the_value_of_a_stream_changes_nothing() -> None:
    text = '{"a": [1, {"b": "x\ny"}], "c": [1.50,],}}'
    stream = RepairStream()
    for character in text:
        stream.feed(character)
        assert json.dumps(stream.value) == json.dumps(stream.value)
    assert stream.finish() == repair(text)


def test_a_finished_stream_stays_finished() -> None:
    stream = RepairStream()
    stream.feed("[1, ")
    stream.feed("2")
    result = stream.finish()
    assert result == repair("[1, 2")
    assert stream.finish() is result
    assert stream.value == [1, 2]
    for delta in ("]", ""):
        with pytest.raises(ValueError, match="finished"):
            stream.feed(delta)
    assert stream.finish() is result


def test_a_stream_takes_text_only() -> None:
    stream = RepairStream()
    stream.feed("[1")
    for delta in (b"]", None, 1, ["]"]):
        with pytest.raises(TypeError, match=type(delta).__name__):
            stream.feed(delta)  # type: ignore[arg-type]  # what is tested
    assert stream.finish().value == [1]
    with pytest.raises(TypeError, match="unknown"):
        RepairStream(unknown=1)
    with pytest.raises(ValueError, match="max_depth"):
        RepairStream(max_depth=0)


def test_a_stream_without_text_is_empty() -> None:
    assert RepairStream().finish() == repair("")
    stream = RepairStream()
    stream.feed("")
    assert stream.finish() == repair("")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("[1, 2", {"number_at_end": "reject"}),
        ('{"a": [', {"empty_container": "close"}),
        ("[1e999, NaN", {"nonfinite": "null"}),
        ('["\\ud800", "\ud83d"', {"lone_surrogates": "replace"}),
        ('{"a": 1, "a": 2}', {"duplicate_keys": "reject"}),
        ("[[[1", {"max_depth": 2}),
        ("[1", {"finish_reason": "length"}),
        ("[1,]", {"profile": "strict"}),
        ("[" + "1" * 4301, {}),
    ],
)
def test_a_stream_has_the_options_of_repair(text: str, options: dict[str, Any]) -> None:
    whole = repair(text, **options)
    laws.check_chunks([text], whole, **options)
    laws.check_chunks(list(text), whole, **options)
    laws.check_chunks([text[:3], "", text[3:]], whole, **options)


def test_after_a_refusal_a_stream_goes_on_taking_text() -> None:
    stream = RepairStream()
    for delta in ("[1, x", "yz", "]" * 10, '{"a": 1}'):
        stream.feed(delta)
        assert stream.value == [1]
    result = stream.finish()
    assert result == repair('[1, xyz]]]]]]]]]]{"a": 1}')
    assert result.input == '[1, xyz]]]]]]]]]]{"a": 1}'


def test_what_a_stream_shows_is_not_taken_back() -> None:
    stream = RepairStream(duplicate_keys="reject")
    stream.feed('{"a": 1, "a": 2, ')
    assert stream.value == {"a": 1}
    assert stream.finish().partial == {"a": 1}
