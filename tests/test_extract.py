"""Extraction: the JSON in other text, nothing else, and the rest of the text as it was."""

import random
from typing import Any, Final

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from jsonrepair_lark import Extraction, Result, extract, repair

from .support import documents as docs
from .support import laws
from .test_growth import MILLION, Hostile, check_growth, explained

TOKENS: Final = (
    *'" \n`,:\\.1-é😀\u2028\ufeff\x00',
    "```json\n",
    "\n```\n",
    "word ",
    "null",
    '"a": ',
    "</tool_call>",
)
STRAYS: Final = ("{", "[", "{name}", "[x]", "{{", "[[", "{'a': 1}", '{"a": oops', '["', '{"')

proses = st.lists(st.sampled_from(TOKENS), max_size=8).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="[]{}"), max_size=12
)


@st.composite
def containers(draw: st.DrawFn, *, faulty: bool = False) -> tuple[str, object]:
    """An object or array without anything around it: its text and its value."""
    is_container = lambda tree: isinstance(tree, dict | list)  # noqa: E731
    tree = draw(docs.trees().filter(is_container))
    seed = draw(docs.SEEDS)
    writer = docs.Writer(random.Random(seed), plain=seed == 0, may_fault=faulty)
    writer.value(tree)
    return "".join(writer.pieces), docs.plain_value(tree)


Piece = tuple[str, object]


@st.composite
def mixtures(
    draw: st.DrawFn, noise: st.SearchStrategy[str], items: st.SearchStrategy[Piece]
) -> tuple[list[str], list[Piece]]:
    """Pieces of noise, and the documents that stand between them."""
    pieces = draw(st.lists(items, max_size=4))
    size = len(pieces) + 1
    return draw(st.lists(noise, min_size=size, max_size=size)), pieces


def join(noise: list[str], pieces: list[Piece]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of a mixture and the spans of its documents."""
    text = noise[0]
    spans = []
    for (piece, _), after in zip(pieces, noise[1:], strict=True):
        spans.append((len(text), len(text) + len(piece)))
        text += piece + after
    return text, spans


def check_tiles(text: str, found: Extraction) -> None:
    """Check that noise and results in turn are the text."""
    noise = iter(found.noise)
    at = 0
    for result in found.results:
        start, end = result.span
        assert at <= start < end <= len(text)
        assert result.input == text[start:end]
        if at < start:
            assert next(noise) == text[at:start]
        at = end
    if at < len(text):
        assert next(noise) == text[at:]
    assert next(noise, None) is None


def check_extract(text: str, **options: Any) -> Extraction:
    """Check what must hold of the extraction from any text, and return it."""
    found = extract(text, **options)
    check_tiles(text, found)
    accepted = [result for result in found.results if result.status != "rejected"]
    assert laws.same(list(found.values), [result.value for result in accepted])
    assert all(isinstance(value, dict | list) for value in found.values)
    for result in found.results:
        if result.status == "rejected":
            laws.check_explained(result.input, result)
            assert result.reason == "duplicate_key" or result.span[1] == len(text)
    for result in accepted:
        laws.check_result(result.input, result, options)
        alone = repair(result.input, **options)
        assert laws.describe(result) == laws.describe(alone)
        assert laws.same(result.value, alone.value)
        assert result.input[-1] in "]}", "nothing is closed at the end of the text"
    return found


# -- documents in noise ----------------------------------------------------------------------------


@given(mixtures(proses, containers()))
def test_documents_in_prose_are_found(mixture: tuple[list[str], list[Piece]]) -> None:
    text, spans = join(*mixture)
    found = check_extract(text)
    assert [result.span for result in found.results] == spans
    assert all(result.status == "valid" for result in found.results)
    assert laws.same(list(found.values), [value for _, value in mixture[1]])
    assert found.noise == tuple(filter(None, mixture[0]))


@given(mixtures(proses, containers(faulty=True)))
def test_documents_in_prose_are_repaired(mixture: tuple[list[str], list[Piece]]) -> None:
    text, spans = join(*mixture)
    found = check_extract(text)
    assert [result.span for result in found.results] == spans
    assert laws.same(list(found.values), [value for _, value in mixture[1]])
    assert found.noise == tuple(filter(None, mixture[0]))


@given(mixtures(proses, containers(faulty=True)), containers(faulty=True), st.data())
def test_a_tail_that_is_cut_is_refused(
    mixture: tuple[list[str], list[Piece]], last: Piece, data: st.DataObject
) -> None:
    before, spans = join(*mixture)
    cut = last[0][: data.draw(st.integers(1, len(last[0]) - 1))]
    found = check_extract(before + cut)
    assert [result.span for result in found.results[:-1]] == spans
    tail = found.results[-1]
    assert tail.input == cut
    assert tail.status == "rejected"
    alone = repair(cut, finish_reason="length")
    assert tail.reason == alone.reason
    assert laws.same(tail.partial, alone.partial)


@given(mixtures(proses | st.sampled_from(STRAYS), containers()))
def test_stray_brackets_and_quotes_lose_no_document(
    mixture: tuple[list[str], list[Piece]],
) -> None:
    text, spans = join(*mixture)
    results = check_extract(text).results
    for start, end in spans:
        # Unless it is found as it stands, it starts within another one: in a string, or in a
        # bracket that happens to fit.
        (around,) = [result for result in results if result.span[0] <= start < result.span[1]]
        event("found" if around.span == (start, end) else "within another")
        assert around.span[0] < start or around.span == (start, end)


@given(
    mixtures(st.sampled_from([s for s in STRAYS if '"' not in s]).map("{} ".format), containers())
)
def test_brackets_without_quotes_hide_nothing(mixture: tuple[list[str], list[Piece]]) -> None:
    noise, pieces = mixture
    # No bracket is open where a document starts, since a word is no JSON.
    text, spans = join([f"{piece} so " for piece in noise], pieces)
    found = check_extract(text)
    assert [result.span for result in found.results] == spans


@given(docs.any_texts() | mixtures(proses, containers()).map(lambda m: join(*m)[0]), docs.options())
def test_any_text_is_searched_without_loss(text: str, options: dict[str, Any]) -> None:
    found = check_extract(text, **options)
    event(f"{min(len(found.values), 3)} values")


@given(st.binary(max_size=60), docs.options())
def test_any_bytes_are_searched(data: bytes, options: dict[str, Any]) -> None:
    found = extract(data, **options)
    if found.results and found.results[-1].reason == "invalid_encoding":
        assert found.values == ()
        assert found.results[-1].span == (0, len(found.results[-1].input))
        return
    check_tiles("".join(pieces_of(found)), found)


def pieces_of(found: Extraction) -> list[str]:
    """Return noise and results in the order of the text."""
    noise = list(found.noise)
    pieces = []
    at = 0
    for result in found.results:
        if at < result.span[0]:
            pieces.append(noise.pop(0))
        pieces.append(result.input)
        at = result.span[1]
    return pieces + noise


# -- by example ------------------------------------------------------------------------------------

FENCED: Final = """\
Here is what you asked for:

```json
{
  "path": "a.py",
  "lines": [1, 2,],
}
```

and then `[3]`, but not [this] or {that}.
"""

# What is found in a text, as the values, and the reason of a tail that is refused.
EXAMPLES: Final[dict[str, tuple[list[Any], str | None]]] = {
    "": ([], None),
    "nothing here": ([], None),
    '"a string" 12 null': ([], None),
    FENCED: ([{"path": "a.py", "lines": [1, 2]}, [3]], None),
    '\ufeff{"a":1}\ufeff[2]\ufeff': ([{"a": 1}, [2]], None),
    '{"a":1}\u2028{"b":2}\u2029\u0085\u00a0[3]': ([{"a": 1}, {"b": 2}, [3]], None),
    '{"a":1}{"b":2}': ([{"a": 1}, {"b": 2}], None),
    '{"a":1}}]{"b":2}]': ([{"a": 1}, {"b": 2}], None),
    "[]{}": ([[], {}], None),
    '<tool_call>{"a": "</tool_call>"}</tool_call>': ([{"a": "</tool_call>"}], None),
    'He said "{" and then {"a": 1} follows': ([{"a": 1}], None),
    '{" is a brace and {"a": 1} an object': ([{"a": 1}], None),
    '{"a": } and {"b": 1}': ([{"b": 1}], None),
    '{"a": nul} and {"b": 1}': ([{"b": 1}], None),
    '{"a": 1.} and {"b": 1}': ([{"b": 1}], None),
    '{"a": "\\x"} and {"b": 1}': ([{"b": 1}], None),
    '{"a"} and {"b": 1}': ([{"b": 1}], None),
    '[1,,2] and {"b": 1}': ([{"b": 1}], None),
    '{"a": {"b": oops {"c": 3} end': ([{"c": 3}], None),
    '{"a": [1, 2} x': ([{"a": [1, 2]}], None),
    '{"a": None, "b": "x\ny",} x': ([{"a": None, "b": "x\ny"}], None),
    'see {"a": 1': ([], "truncated"),
    'see {"a": [1, ': ([], "dangling_comma"),
    'see {"a": "x': ([], "incomplete_string"),
    "see {": ([], "empty_container"),
    'see {"a"': ([], "missing_colon"),
    'see {"a":': ([], "missing_value"),
    "see [nul": ([], "incomplete_literal"),
    "see [1.": ([], "incomplete_number"),
    '[{"a":1} oops': ([{"a": 1}], None),
    "[1,[2] oops [3]": ([[2], [3]], None),
    '[1] see {"a": 1': ([[1]], "truncated"),
    "[see this]": ([], None),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples(text: str) -> None:
    found = check_extract(text)
    values, reason = EXAMPLES[text]
    assert list(found.values) == values
    rejected = [result for result in found.results if result.status == "rejected"]
    assert [result.reason for result in rejected] == ([reason] if reason else [])


def test_a_refused_tail_keeps_what_is_certain() -> None:
    (result,) = extract('Calling {"name": "f", "args": {"x": [1, "tw').results
    assert result.partial == {"name": "f", "args": {"x": [1]}}
    assert result.span == (8, 43)
    assert result.rejection is not None
    assert result.rejection.offset == 35


def test_offsets_of_repairs_are_those_of_the_part() -> None:
    (result,) = extract('Well: {"a": [1,]} done').results
    assert result.span == (6, 17)
    assert [(repair.kind, repair.offset) for repair in result.repairs] == [("trailing_comma", 8)]


@pytest.mark.parametrize("blank", [None, b"", ""])
def test_no_text_holds_nothing(blank: Any) -> None:
    assert extract(blank) == Extraction((), (), ())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "utf-8-sig"])
def test_bytes_are_searched_in_every_encoding(encoding: str) -> None:
    assert extract('é: {"a": "é😀"} and [1,]'.encode(encoding)).values == ({"a": "é😀"}, [1])


def test_undecodable_bytes_are_one_rejected_result() -> None:
    found = extract(b'x {"a": 1} \xff')
    assert found.values == ()
    assert [result.reason for result in found.results] == ["invalid_encoding"]
    assert found.noise == ()


@pytest.mark.parametrize("text", [1, ["[1]"], object()])
def test_what_is_no_text_is_a_type_error(text: Any) -> None:
    with pytest.raises(TypeError, match=type(text).__name__):
        extract(text)


def test_options_that_do_not_exist_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="no_such"):
        extract("[1]", no_such=1)


# -- policies --------------------------------------------------------------------------------------

# Options, a text, and the values that are found in it under these options and by default.
POLICIES: Final[list[tuple[dict[str, Any], str, list[Any], list[Any]]]] = [
    ({"profile": "strict"}, "x [1,] y [2]", [[2]], [[1], [2]]),
    ({"profile": "strict"}, 'x {"a": [1} y {"b": 2}', [{"b": 2}], [{"a": [1]}, {"b": 2}]),
    ({"profile": "strict"}, 'x ["a\nb"] y', [], [["a\nb"]]),
    ({"nonfinite": "null"}, "x [NaN] y [1e999,]", [[None], [None]], []),
    ({"lone_surrogates": "replace"}, 'x ["\\ud800"] y ["\ud800",]', [["\ufffd"], ["\ufffd"]], []),
    ({"duplicate_keys": "reject"}, 'x {"a":1,"a":2} y', [], [{"a": 2}]),
    ({"duplicate_keys": "reject"}, 'x {"a":1,"a":2,} y', [], [{"a": 2}]),
    ({"duplicate_keys": "reject"}, 'x {"a":1,"b":2,} y', [{"a": 1, "b": 2}], [{"a": 1, "b": 2}]),
    ({"max_depth": 1}, "x [1] y [2,]", [[1], [2]], [[1], [2]]),
    ({"number_at_end": "reject"}, "x [1]", [[1]], [[1]]),
    ({"finish_reason": "length"}, "x [1] y [2,]", [[1], [2]], [[1], [2]]),
    ({"empty_container": "close"}, "x [1] y [", [[1]], [[1]]),
]


@pytest.mark.parametrize(("options", "text", "found", "by_default"), POLICIES)
def test_options_are_obeyed(
    options: dict[str, Any], text: str, found: list[Any], by_default: list[Any]
) -> None:
    accepted = [result.value for result in extract(text, **options).results if not result.reason]
    assert accepted == found
    assert list(extract(text, **options).values) == found
    assert list(extract(text).values) == by_default


def test_integers_are_no_longer_than_python_reads() -> None:
    assert check_extract("x [" + "1" * 4300 + "] y").values == ([int("1" * 4300)],)
    assert check_extract("x [" + "1" * 4301 + "] y").values == ()


def test_what_is_found_is_no_deeper_than_allowed() -> None:
    for depth in (1, 2, 5):
        for text in ("[" * 6 + "1" + "]" * 6, "[" * 6 + "1," + "]" * 6, '[[{"a":[[[]]]}]] x'):
            for result in check_extract(text, max_depth=depth).results:
                assert repair(result.input, max_depth=depth).reason == result.reason


# -- size ------------------------------------------------------------------------------------------

SHAPES: Final = {
    "object-openers": Hostile(lambda n: "{" * n, ""),
    "list-openers": Hostile(lambda n: "[" * n, ""),
    "openers-then-object": Hostile(lambda n: "{" * n + '{"a": 1} x', ""),
    "openers-in-strings": Hostile(lambda n: '["[",' * n, ""),
    "openers-in-strings-then-broken": Hostile(lambda n: '["[",' * n + "x", ""),
    "quotes-after-openers": Hostile(lambda n: '{"' * n, ""),
    "openers-in-one-string": Hostile(lambda n: '{"a":"' + "[" * n, ""),
    "openers-in-one-string-then-broken": Hostile(lambda n: '{"a":"' + "[" * n + '" x', ""),
    "quoted-openers-in-one-string": Hostile(lambda n: '["' + '[\\"' * n + '" x', ""),
    "prose": Hostile(lambda n: "lorem ipsum " * n, ""),
    "words-in-braces": Hostile(lambda n: "use {name} " * n, ""),
    "words-in-brackets-on-lines": Hostile(lambda n: "use [name]\n" * n, ""),
    "objects": Hostile(lambda n: 'x {"a":1}' * n, ""),
    "objects-to-repair": Hostile(lambda n: 'x {"a":1,}' * n, ""),
    "almost-objects": Hostile(lambda n: '{"a":1,"b":oops}' * n, ""),
    "almost-objects-nested": Hostile(lambda n: '{"a":[1,{"b":' * n + "oops", ""),
    "long-almost-list": Hostile(lambda n: "[" + '{"a":1},' * n + "oops", ""),
    "long-almost-lists": Hostile(lambda n: ("[" + "[1]," * 1000 + "x") * (n // 1000), ""),
    "long-almost-list-with-fault": Hostile(lambda n: "[" + '{"a":1,},' * n + "oops", ""),
    "truncated-tail": Hostile(lambda n: "x [" + '{"a":1},' * n, ""),
    "long-string-in-tail": Hostile(lambda n: 'x {"a":"' + "y" * n, ""),
    "brackets-that-do-not-match": Hostile(lambda n: "[}{]" * n, ""),
    "repeated-keys": Hostile(lambda n: 'x {"a":1,"a":2}' * n, "", {"duplicate_keys": "reject"}),
    "too-deep": Hostile(lambda n: "[" * n + "]" * n, ""),
}


@pytest.mark.parametrize("name", SHAPES)
def test_cost_grows_with_the_length(name: str) -> None:
    def read(text: str, options: dict[str, Any]) -> None:
        results: tuple[Result, ...] = extract(text, **options).results
        for result in results:
            explained(result)

    check_growth(read, SHAPES[name], MILLION // 16)
