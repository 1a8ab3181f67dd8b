"""Run every case of tests/corpus: as expected, in pieces, cut anywhere, and repaired twice.

`pytest tests/test_corpus.py --update-corpus` writes what the library gives now into the sections
that are there. It refuses to turn an accepted case into a refused one or back: that is a decision,
to be made by hand with the attribute `:error`.
"""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from jsonrepair_lark import Result, extract, parse_calls, repair
from jsonrepair_lark.dumps import dump

from .support import calls, corpus, laws
from .support.corpus import Case
from .support.documents import split_at

HERE: Final = Path(__file__).resolve().parent
CORPUS: Final = HERE / "corpus"
N_SPLITS: Final = 20

ALL_CASES: Final = corpus.read_folder(CORPUS)
CASES: Final = [case for case in ALL_CASES if case.grammar not in calls.FORMATS]
CALL_CASES: Final = [case for case in ALL_CASES if case.grammar in calls.FORMATS]


def parametrised(case: Case) -> Any:
    marks = []
    if "skip" in case.attributes:
        marks.append(pytest.mark.skip(reason=case.attributes["skip"]))
    return pytest.param(case, id=case.id, marks=marks)


each_case = pytest.mark.parametrize("case", [parametrised(case) for case in CASES])
each_call_case = pytest.mark.parametrize("case", [parametrised(case) for case in CALL_CASES])


# -- sections --------------------------------------------------------------------------------------


def section_text(case: Case, result: Result) -> str:
    return case.encode(result.text)


def section_value(case: Case, result: Result) -> str:
    return dumped(case, result.value)


def section_partial(case: Case, result: Result) -> str:
    return dumped(case, result.partial)


def dumped(case: Case, value: object) -> str:
    return json.dumps(value, ensure_ascii="escapes" in case.attributes)


def section_repairs(_: Case, result: Result) -> str:
    return "\n".join(
        f"{edit.offset}..{edit.offset + len(edit.removed)} {edit.kind}" for edit in result.repairs
    )


def section_error(_: Case, result: Result) -> str:
    rejection = result.rejection
    if rejection is None:
        return ""
    return (
        f"{rejection.reason}: {rejection.message}: "
        f"line {rejection.line} column {rejection.column} (char {rejection.offset})"
    )


def section_path(_: Case, result: Result) -> str:
    return result.rejection.path if result.rejection else ""


def section_tree(_: Case, result: Result) -> str:
    return dump(result).rstrip("\n")


def section_values(case: Case, _: Result) -> str:
    return dumped(case, list(extract(case.text, **case.options).values))


def section_noise(case: Case, _: Result) -> str:
    return dumped(case, list(extract(case.text, **case.options).noise))


def section_spans(case: Case, _: Result) -> str:
    results = extract(case.text, **case.options).results
    spans = (f"{result.span[0]}..{result.span[1]}" for result in results)
    return "\n".join(
        f"{span} {result.reason or result.status}"
        for span, result in zip(spans, results, strict=True)
    )


SECTIONS: Final[dict[str, Callable[[Case, Result], str]]] = {
    "text": section_text,
    "repairs": section_repairs,
    "value": section_value,
    "error": section_error,
    "path": section_path,
    "partial": section_partial,
    "tree": section_tree,
    "values": section_values,
    "noise": section_noise,
    "spans": section_spans,
}
# Sections about the values in a text that need not be JSON as a whole.
EXTRACTED: Final = frozenset({"values", "noise", "spans"})


def is_equal(name: str, got: str, expected: str) -> bool:
    """Compare a section; values compare as values, so that they may be laid out freely."""
    if name in {"value", "partial", "values", "noise"}:
        try:
            return laws.same(json.loads(got), json.loads(expected))
        except ValueError:
            return False
    return got == expected


# -- the cases -------------------------------------------------------------------------------------


@each_case
def test_case_gives_what_is_expected(case: Case, request: pytest.FixtureRequest) -> None:
    check_case(case, update=bool(request.config.getoption("--update-corpus")))


def check_case(case: Case, *, update: bool) -> None:
    """Compare the sections of a case with what the library gives, or write that into them."""
    result = repair(case.text, **case.options)
    laws.check_result(case.text, result, case.options)
    if not case.sections.keys() <= EXTRACTED:
        # Not even an update passes here: whether a text is refused is decided by hand.
        assert (result.status == "rejected") == case.is_error, result.reason or result.text
    got = {name: SECTIONS[name](case, result) for name in case.sections}
    wrong = {
        name: text for name, text in got.items() if not is_equal(name, text, case.sections[name])
    }
    if update:
        corpus.update(case, wrong)
    else:
        assert wrong == {name: case.sections[name] for name in wrong}


@each_case
def test_case_in_pieces_gives_the_same(case: Case) -> None:
    text = case.text
    whole = repair(text, **case.options)
    laws.check_chunks(text, whole, **case.options)
    # Seeded by the name: the splits of a case stay the same when its neighbours change.
    rng = random.Random(case.name)
    for _ in range(N_SPLITS):
        n_cuts = rng.randint(1, 6)
        cuts = sorted(rng.randint(0, len(text)) for _ in range(n_cuts))
        laws.check_chunks(split_at(text, cuts), whole, **case.options)


@each_case
def test_case_cut_anywhere_obeys_the_laws(case: Case) -> None:
    text = case.text
    whole = repair(text, **case.options)
    has_repeated_key = whole.status != "rejected" and repeats_a_key(whole.text)
    for cut in range(len(text)):
        result = repair(text[:cut], **case.options)
        laws.check_result(text[:cut], result, case.options)
        if whole.status == "rejected" or has_repeated_key:
            # A refused text has no value to compare with, and where a key is repeated the last
            # one wins, so that an earlier value is given and then replaced.
            continue
        number_is_cut = re.match(r"[0-9][0-9.eE+-]", text[max(cut - 1, 0) :]) is not None
        found = result.partial if result.status == "rejected" else result.value
        if found is not None or result.status != "rejected":
            assert laws.is_sound(found, whole.value, number_is_cut=number_is_cut), cut


def repeats_a_key(text: str) -> bool:
    repeated = False

    def look(pairs: list[tuple[str, object]]) -> None:
        nonlocal repeated
        repeated |= len(dict(pairs)) < len(pairs)

    json.loads(text, object_pairs_hook=look)
    return repeated


# -- messages with tool calls ----------------------------------------------------------------------


@each_call_case
def test_message_gives_what_is_expected(case: Case, request: pytest.FixtureRequest) -> None:
    parsed = parse_calls(case.text, **calls.arguments_of(case))
    got = {name: calls.SECTIONS[name](case, parsed) for name in case.sections}
    wrong = {
        name: text
        for name, text in got.items()
        if not calls.is_equal(name, text, case.sections[name])
    }
    if request.config.getoption("--update-corpus"):
        corpus.update(case, wrong)
    else:
        assert wrong == {name: case.sections[name] for name in wrong}


@each_call_case
def test_message_in_pieces_gives_the_same(case: Case) -> None:
    text = case.text
    arguments = calls.arguments_of(case)
    whole = parse_calls(text, **arguments)
    assert calls.parse_pieces(text, arguments) == whole
    rng = random.Random(case.name)
    for _ in range(N_SPLITS):
        n_cuts = rng.randint(1, 6)
        cuts = sorted(rng.randint(0, len(text)) for _ in range(n_cuts))
        pieces = tuple(split_at(text, cuts))
        assert calls.parse_pieces(pieces, arguments) == whole, pieces


@each_call_case
def test_message_cut_anywhere_obeys_the_laws(case: Case) -> None:
    text = case.text
    arguments = calls.arguments_of(case)
    whole = parse_calls(text, **arguments)
    for cut in range(len(text)):
        calls.check_prefix(text, cut, whole, arguments)


def test_every_format_has_a_corpus_and_every_corpus_a_grammar() -> None:
    folders = {path.name for path in CORPUS.iterdir() if any(path.glob("*.txt"))}
    assert folders - calls.FORMATS == {"json", "json_value"}
    assert calls.FORMATS - folders == set(), "formats without a corpus"
    assert {path.name for path in CORPUS.iterdir()} == folders, "a folder without a corpus file"


# -- the format ------------------------------------------------------------------------------------

SAMPLE: Final = """\
================================================================================
One
:options(max_depth=3, number_at_end=reject, name="a, b")
================================================================================
[1,

2]
---- text
[1,

2]
---- repairs

================================================================================|||
Two, whose input looks like a case
:error
:escapes
================================================================================|||
===
Three
===
\\u0000 \\u005cu0041 \\ud800
---- text
====
----||| text
x
----||| error
y
"""


def test_a_corpus_file_is_read() -> None:
    one, two = corpus.parse(SAMPLE, Path("corpus/json/sample.txt"))
    assert one.id == "json/sample: One"
    assert one.text == "[1,\n\n2]"
    assert one.options == {"max_depth": 3, "number_at_end": "reject", "name": "a, b"}
    assert one.sections == {"text": "[1,\n\n2]", "repairs": ""}
    assert not one.is_error
    assert two.text == "===\nThree\n===\n\0 \\u0041 \ud800\n---- text\n===="
    assert two.sections == {"text": "x", "error": "y"}
    assert two.is_error
    assert two.decode(two.encode(two.text)) == two.text


def test_a_corpus_file_is_written_as_it_was_read() -> None:
    assert corpus.write(corpus.parse(SAMPLE, Path("sample.txt"))) == SAMPLE


def test_the_corpus_of_this_project_is_written_as_it_was_read() -> None:
    for path in CORPUS.glob("*/*.txt"):
        assert corpus.write(corpus.read(path)).encode() == path.read_bytes(), path


def test_a_case_is_updated_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(SAMPLE, "utf-8")
    one, two = corpus.read(path)
    corpus.update(one, {"text": "much\nlonger\ntext", "repairs": "1..2 kind", "value": "1"})
    corpus.update(two, {"text": "x2", "error": "y2"})
    one, two = corpus.read(path)
    assert one.sections == {"text": "much\nlonger\ntext", "repairs": "1..2 kind"}
    assert two.sections == {"text": "x2", "error": "y2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a case header first"),
        ("hello\n" + SAMPLE, "expected a case header first"),
        (SAMPLE + "\n" + SAMPLE, "two cases are named 'One'"),
        ("===\nA\n===\n1\n", "a case needs a section"),
        ("===\nA\n===\n1\n---- text\n1\n---- text\n1\n", "a section is given twice"),
        ("===\nA\n:eror\n===\n1\n---- text\n1\n", "unknown attribute ':eror'"),
    ],
)
def test_a_broken_corpus_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(corpus.CorpusError, match=message):
        corpus.parse(text, Path("sample.txt"))


@pytest.mark.parametrize(("attributes", "source"), [("", "[1,"), (":error\n", "[1")])
def test_an_update_does_not_decide_what_is_refused(
    tmp_path: Path, attributes: str, source: str
) -> None:
    path = tmp_path / "sample.txt"
    written = f"===\nA\n{attributes}===\n{source}\n---- text\n?\n"
    path.write_text(written, "utf-8")
    with pytest.raises(AssertionError):
        check_case(*corpus.read(path), update=True)
    assert path.read_text("utf-8") == written


def test_an_update_writes_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text("===\nA\n===\n[1\n---- text\n?\n---- value\n[ 1 ]\n", "utf-8")
    check_case(*corpus.read(path), update=True)
    (case,) = corpus.read(path)
    assert case.sections == {"text": "[1]", "value": "[ 1 ]"}
