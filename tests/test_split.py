"""Splitting: values side by side, each with its span and a result of its own, and nothing lost."""

import json
from typing import Any, Final

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from jsonrepair_lark import Result, repair, split

from .support import documents as docs
from .support import laws
from .support.documents import WHITE_SPACE, Document
from .test_growth import MILLION, Hostile, check_growth, explained, seconds

# What a session is fed at first, and where its next pieces end, counted from the start of a value.
EDGES: Final = (512, 2560, 10752)

spaces = st.text(st.sampled_from(WHITE_SPACE), max_size=3)
sometimes_blank = st.text(st.sampled_from(WHITE_SPACE), min_size=1, max_size=3)


def is_glued(left: str, right: str) -> bool:
    """Tell whether two values would read as one number or word without space between them."""
    return all(char.isalnum() or char in "_.+-" for char in (left[-1:], right[:1]))


@st.composite
def rows(draw: st.DrawFn, items: st.SearchStrategy[Document]) -> tuple[str, list[Document]]:
    """Documents side by side, with white space where it is needed and sometimes elsewhere."""
    text = draw(spaces)
    documents = draw(st.lists(items, max_size=5))
    for document in documents:
        glued = is_glued(text, document.text)
        text += draw(sometimes_blank if glued else spaces | st.just("")) + document.text
    return text + draw(spaces), documents


def check_tiles(text: str, results: list[Result]) -> None:
    """Check that the spans are right and in order, and that only white space is between them."""
    at = 0
    for result in results:
        start, end = result.span
        assert at <= start < end <= len(text)
        assert result.input == text[start:end]
        assert not text[at:start].strip(WHITE_SPACE)
        at = end
    assert not text[at:].strip(WHITE_SPACE)


def check_split(text: str, **options: Any) -> list[Result]:
    """Check what must hold of the split of any text, and return it."""
    results = split(text, **options)
    check_tiles(text, results)
    for result in results:
        if result.reason is not None and result.reason != "duplicate_key":
            # Where an object with a repeated key ends is known, where others end is not.
            assert result is results[-1]
        laws.check_result(result.input, result, options)
        alone = repair(result.input, **options)
        if alone.reason == "incomplete_number" and result.reason is None:
            # What follows the number proves that it is complete.
            assert options["number_at_end"] == "reject"
            assert result.span[1] < len(text)
            alone = repair(result.input + " ", **options)
            assert laws.same(result.value, alone.value)
            continue
        assert laws.describe(result) == laws.describe(alone)
        assert laws.same(result.value, alone.value)
        assert laws.same(result.partial, alone.partial)
    return results


def stripped(results: list[Result]) -> list[str]:
    """Return the parts; a last one that is no valid JSON keeps the white space after it."""
    inputs = [result.input for result in results]
    return [*inputs[:-1], *(text.rstrip(WHITE_SPACE) for text in inputs[-1:])]


# -- values side by side ---------------------------------------------------------------------------


@given(rows(docs.documents()))
def test_documents_side_by_side_come_back(row: tuple[str, list[Document]]) -> None:
    text, documents = row
    results = check_split(text)
    assert [result.input for result in results] == [d.text.strip(WHITE_SPACE) for d in documents]
    assert all(result.status == "valid" for result in results)
    assert laws.same([r.value for r in results], [d.value for d in documents])


@given(rows(docs.any_documents()))
def test_faulty_documents_side_by_side_come_back(row: tuple[str, list[Document]]) -> None:
    text, documents = row
    results = check_split(text)
    assert stripped(results) == [document.text.strip(WHITE_SPACE) for document in documents]
    assert laws.same([r.value for r in results], [d.value for d in documents])
    for result, document in zip(results, documents, strict=True):
        assert result.status == ("repaired" if document.faults else "valid")


@given(rows(docs.any_documents()), docs.any_documents(), st.data())
def test_the_last_value_is_closed_or_refused(
    row: tuple[str, list[Document]], last: Document, data: st.DataObject
) -> None:
    text, documents = row
    cut = last.text[: data.draw(st.integers(0, len(last.text)))]
    whole = text + " " + cut
    results = check_split(whole)
    if not cut.strip(WHITE_SPACE):
        assert len(results) == len(documents)
        return
    assert len(results) == len(documents) + 1
    alone = repair(cut.lstrip(WHITE_SPACE))
    event(alone.status)
    assert stripped(results[-1:]) == [cut.strip(WHITE_SPACE)]
    assert (results[-1].status, results[-1].reason) == (alone.status, alone.reason)
    assert laws.same(results[-1].value, alone.value)
    assert laws.same(results[-1].partial, alone.partial)


@given(rows(docs.any_documents()), docs.soups(), docs.options())
def test_options_and_what_follows_are_obeyed(
    row: tuple[str, list[Document]], rest: str, options: dict[str, Any]
) -> None:
    check_split(row[0] + rest, **options)


@given(docs.any_texts(), docs.options())
def test_any_text_is_split_without_loss(text: str, options: dict[str, Any]) -> None:
    results = check_split(text, **options)
    event(f"{min(len(results), 3)} results")


@given(st.binary(max_size=60), docs.options())
def test_any_bytes_are_split(data: bytes, options: dict[str, Any]) -> None:
    results = split(data, **options)
    try:
        text = data.decode(json.detect_encoding(data))
    except ValueError:
        assert [result.reason for result in results] == ["invalid_encoding"]
        return
    if text.strip(WHITE_SPACE):
        # A byte order mark is gone from `text`, so the status may differ, but nothing else.
        others = split(text, **options)
        assert [result.reason for result in results] == [other.reason for other in others]
        assert laws.same([r.value for r in results], [other.value for other in others])


@pytest.mark.parametrize("blank", ["", " ", "\r\n\t ", None, b"", b" \n"])
def test_blank_text_has_no_values(blank: str | bytes | None) -> None:
    assert split(blank) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_bytes_are_split_in_every_encoding(encoding: str) -> None:
    results = split('{"a": "é😀"}[1,]'.encode(encoding))
    assert [result.value for result in results] == [{"a": "é😀"}, [1]]


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_kinds_of_bytes_are_split(kind: type) -> None:
    assert [result.value for result in split(kind(b"[1] 2"))] == [[1], 2]


def test_undecodable_bytes_are_one_rejected_result() -> None:
    (result,) = split(b'{"a": 1}{"b": "\xff"}')
    assert (result.status, result.reason) == ("rejected", "invalid_encoding")
    assert result.span == (0, len(result.input))


@pytest.mark.parametrize("text", [1, ["[1]"], object()])
def test_what_is_no_text_is_a_type_error(text: Any) -> None:
    with pytest.raises(TypeError, match=type(text).__name__):
        split(text)


def test_options_that_do_not_exist_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="no_such"):
        split("[1]", no_such=1)
    with pytest.raises(ValueError, match="nonfinite"):
        split("[1]", nonfinite="maybe")


# -- where a value ends ----------------------------------------------------------------------------

PLACES: Final[dict[str, list[tuple[str, str | None]]]] = {
    '{"a":1}{"b":2}': [('{"a":1}', None), ('{"b":2}', None)],
    '"a""b"': [('"a"', None), ('"b"', None)],
    "[][]{}": [("[]", None), ("[]", None), ("{}", None)],
    "1 2": [("1", None), ("2", None)],
    "1[2]": [("1", None), ("[2]", None)],
    '1"a"': [("1", None), ('"a"', None)],
    '"a"1': [('"a"', None), ("1", None)],
    "null true": [("null", None), ("true", None)],
    "None False\n": [("None", None), ("False", None)],
    "nulltrue": [("nulltrue", "unexpected_input")],
    "1-2": [("1-2", "unexpected_input")],
    "1.2.3": [("1.2.3", "unexpected_input")],
    "1 -": [("1", None), ("-", "incomplete_number")],
    "1 2.": [("1", None), ("2.", "incomplete_number")],
    "1 nul": [("1", None), ("nul", "incomplete_literal")],
    "1, 2": [("1", None), (", 2", "unexpected_input")],
    '{"a":1},{"b":2}': [('{"a":1}', None), (',{"b":2}', "unexpected_input")],
    '{"a":1} x {"b":2}': [('{"a":1}', None), ('x {"b":2}', "unexpected_input")],
    '{"a":1}\u2028{"b":2}': [('{"a":1}', None), ('\u2028{"b":2}', "unexpected_input")],
    '{"a":1}\u00a0{"b":2}': [('{"a":1}', None), ('\u00a0{"b":2}', "unexpected_input")],
    '{"a":1}{"b":': [('{"a":1}', None), ('{"b":', "missing_value")],
    '{"a":1}{"b"': [('{"a":1}', None), ('{"b"', "missing_colon")],
    '{"a":1}{"b': [('{"a":1}', None), ('{"b', "incomplete_string")],
    '{"a":1}[1,': [('{"a":1}', None), ("[1,", "dangling_comma")],
    '{"a":1}[': [('{"a":1}', None), ("[", "empty_container")],
    '{"a":1}[{"b":2}': [('{"a":1}', None), ('[{"b":2}', None)],
    '{"a":[1}{"b":2}': [('{"a":[1}', None), ('{"b":2}', None)],
    '\ufeff{"a":1} \ufeff[2]': [('\ufeff{"a":1}', None), ("\ufeff[2]", None)],
    "[1]\x00": [("[1]", None), ("\x00", "unexpected_input")],
    "hello": [("hello", "unexpected_input")],
}


@pytest.mark.parametrize("text", PLACES)
def test_values_end_where_they_end(text: str) -> None:
    results = check_split(text)
    reasons = [result.reason for result in results]
    assert list(zip(stripped(results), reasons, strict=True)) == PLACES[text]


def test_excess_closers_belong_to_the_value_before_them() -> None:
    for text in ('{"a":1}}', '{"a":1}}]\n', '{"a":1,}}'):
        for following in ("", '{"b":2}', " [2"):
            first, *rest = check_split(text + following)
            assert first.value == {"a": 1}
            assert first.repairs[-1].kind == "excess_closer"
            assert len(rest) == bool(following)


def test_offsets_are_those_of_the_part() -> None:
    first, second = split(' [1] \n {"a":\n [2,]')
    assert first.span == (1, 4)
    assert second.span == (7, 18)
    assert [(repair.offset, repair.line) for repair in second.repairs] == [(9, 2), (11, 2)]
    (_, refused) = split('[1] {"a" 2}')
    assert refused.rejection is not None
    assert refused.rejection.offset == 5


# -- policies --------------------------------------------------------------------------------------

STRICT: Final = {"profile": "strict"}
# Options, a value that they decide on, and the reason to refuse it or None.
POLICIES: Final[list[tuple[dict[str, Any], str, str | None]]] = [
    (STRICT, "[1,]", "repair_not_allowed"),
    (STRICT, '{"a":[1}', "repair_not_allowed"),
    (STRICT, '["a\nb"]', "repair_not_allowed"),
    (STRICT, "None ", "repair_not_allowed"),
    ({}, "[NaN]", "nonfinite_number"),
    ({}, "[1,-Infinity,]", "nonfinite_number"),
    ({}, "1e999 ", "nonfinite_number"),
    ({"nonfinite": "null"}, "[NaN]", None),
    ({"nonfinite": "null"}, "1e999 ", None),
    ({}, '["\\ud800"]', "lone_surrogate"),
    ({}, '["\ud800"]', "lone_surrogate"),
    ({"lone_surrogates": "replace"}, '["\\ud800"]', None),
    ({"lone_surrogates": "replace"}, '["\ud800",]', None),
    ({}, "[" + "1" * 5000 + "]", "number_too_long"),
    ({}, "1" * 5000 + " ", "number_too_long"),
    ({}, '{"a":1,"a":2}', None),
    ({"duplicate_keys": "reject"}, '{"a":1,"a":2}', "duplicate_key"),
    ({"duplicate_keys": "reject"}, '[{"a":1,"a":2},]', "duplicate_key"),
    ({"duplicate_keys": "reject"}, '{"a":{"b":1},"c":{"b":1}}', None),
    ({"max_depth": 2}, "[[[]]]", "too_deep"),
    ({"max_depth": 2}, "[[1],]", None),
    ({}, "[" * 501 + "]" * 501, "too_deep"),
    ({"number_at_end": "reject"}, "1 ", None),
    ({"number_at_end": "reject", "duplicate_keys": "reject"}, "1 ", None),
    ({"finish_reason": "length"}, "[1]", None),
    ({"finish_reason": "length"}, '{"a":[1}', None),
]


@pytest.mark.parametrize("after", ["", "[0]", "[0,]"])
@pytest.mark.parametrize("before", ["", "[0] ", "[0,] "])
@pytest.mark.parametrize(("options", "value", "reason"), POLICIES)
def test_options_are_obeyed_on_every_path(
    options: dict[str, Any], value: str, reason: str | None, before: str, after: str
) -> None:
    if options is STRICT:
        before, after = before.replace(",", ""), after.replace(",", "")
    results = check_split(before + value + after, **options)
    result = results[bool(before)]
    assert result.reason == reason
    if reason is None or reason == "duplicate_key":
        assert result.input.strip(" ") == value.strip(" ")
        assert len(results) == bool(before) + 1 + bool(after)
    else:
        assert result is results[-1]
        assert result.input.strip(" ") == (value + after).strip(" ")


def test_only_the_last_value_is_at_the_end() -> None:
    for options in ({}, {"duplicate_keys": "reject"}, {"max_depth": 3}):
        first, last = check_split("1 2", number_at_end="reject", **options)
        assert (first.value, last.reason) == (1, "incomplete_number")
    first, last = check_split("[1,] [2", finish_reason="length")
    assert (first.value, last.reason) == ([1], "truncated")
    first, last = check_split("[] [", empty_container="close")
    assert (first.value, last.value) == ([], [])


# -- pieces ----------------------------------------------------------------------------------------

CROSSING: Final = {
    "escape": '\\n"',
    "quote": '\\""',
    "backslashes": '\\\\\\\\"',
    "unicode escape": '\\u00e9"',
    "pair of escapes": '\\ud83d\\ude00"',
    "raw astral": '😀"',
    "control characters": 'a\r\n\tb"',
    "number": '", -12345.678e+90',
    "literal": '", null, false, None',
    "white space": '" \r\n\t ',
    "containers": '", [[{"a": {}}]]',
    "comma": '" , ',
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("crossing", CROSSING)
def test_nothing_depends_on_where_a_piece_ends(edge: int, crossing: str) -> None:
    unit = CROSSING[crossing]
    for shift in range(-1, len(unit) + 2):
        head = '["'
        value = head + "x" * (edge - len(head) - shift) + unit
        for closed in (value.rstrip(", ") + "]", value.rstrip(", ") + ",]"):
            whole = repair(closed)
            for following in ("", "[2,]", ' {"a": 1}'):
                results = split(closed + following)
                assert laws.describe(results[0]) == laws.describe(whole)
                assert laws.same(results[0].value, whole.value)
                assert len(results) == 1 + bool(following)


@pytest.mark.parametrize("edge", EDGES)
def test_values_may_end_where_a_piece_ends(edge: int) -> None:
    for size in range(edge - 4, edge + 5):
        for value in (
            '["' + "x" * (size - 5) + '",]',
            '{"a":' + " " * (size - 10) + "None}",
            '"' + "x" * (size - 3) + '\n"',
            "1" + "." + "0" * (size - 2),
        ):
            assert len(value) == size or "None" in value
            for following, options in ((" [1,]", {}), (" 2", {"duplicate_keys": "reject"})):
                results = split(value + following, **options)
                assert results[0].input == value
                assert laws.same(results[0].value, repair(value).value)
                assert len(results) == 2


# -- size ------------------------------------------------------------------------------------------

SHAPES: Final = {
    "objects": Hostile(lambda n: '{"a":1}' * n, ""),
    "objects-on-lines": Hostile(lambda n: '{"a":1}\r\n' * n, ""),
    "objects-to-repair": Hostile(lambda n: '{"a":1,}\n' * n, ""),
    "objects-then-text": Hostile(lambda n: '{"a":1}' * n + "x", ""),
    "one-fault-in-a-thousand": Hostile(lambda n: ('{"a":1}\n' * 999 + "[1,]") * (n // 1000), ""),
    "strings": Hostile(lambda n: '"a"' * n, ""),
    "strings-with-controls": Hostile(lambda n: '"a\nb"' * n, ""),
    "numbers": Hostile(lambda n: "1 " * n, ""),
    "python-literals": Hostile(lambda n: "None " * n, ""),
    "excess-closers": Hostile(lambda n: "[1]]" * n, ""),
    "missing-closers": Hostile(lambda n: '{"a":[1}' * n, ""),
    "openers": Hostile(lambda n: "[" * n, ""),
    "closers": Hostile(lambda n: "[]" + "]" * n, ""),
    "one-long-string": Hostile(lambda n: '[1,]"' + "x" * n, ""),
    "large-objects-to-repair": Hostile(
        lambda n: ('{"a":[' + "1," * 5000 + "None]}") * (n // 10000), ""
    ),
    "byte-order-marks": Hostile(lambda n: "\ufeff1 " * n, ""),
    "repeated-keys": Hostile(lambda n: '{"a":1,"b":2}' * n, "", {"duplicate_keys": "reject"}),
    "numbers-not-at-the-end": Hostile(lambda n: "1 " * n, "", {"number_at_end": "reject"}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_cost_grows_with_the_length(name: str) -> None:
    def read(text: str, options: dict[str, Any]) -> None:
        for result in split(text, **options):
            explained(result)

    check_growth(read, SHAPES[name], MILLION // 16)


@pytest.mark.parametrize("value", ["[1]", "[1,]", '"a\nb"', "1 ", "[1]]"])
def test_cost_of_a_value_does_not_depend_on_what_follows(value: str) -> None:
    pad = '"' + "x" * 20 * MILLION + '"'
    tried = []
    for _ in range(3):
        apart = seconds(lambda: split(pad)) + seconds(lambda: split(value * 1000))
        together = seconds(lambda: split(value * 1000 + pad))
        if together < 2 * apart + 0.1:
            return
        tried.append(f"{together:.2f} s, and {apart:.2f} s apart")
    pytest.fail("; ".join(tried))
