"""The seven laws, as properties over generated documents, their prefixes, edits and chunkings."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from jsonrepair_lark import Result, repair

from .support import documents as docs
from .support import laws
from .support.documents import Document

DOCUMENTS = docs.any_documents()


def prefixes(document: Document, **options: Any) -> Iterator[tuple[int, Result]]:
    """Each cut of a document with the result for the text before it."""
    for cut in range(len(document.text) + 1):
        yield cut, repair(document.text[:cut], **options)


# -- the oracle itself -----------------------------------------------------------------------------


@given(docs.documents())
def test_rendered_documents_are_valid_json(document: Document) -> None:
    assert laws.same(laws.strict_loads(document.text), document.value)
    assert document.faults == 0
    assert document.n_open[-1] == 0
    assert document.reasons[-1] is None


@given(docs.documents())
def test_cuts_of_a_document_are_valid_only_where_nothing_is_open(document: Document) -> None:
    for cut in range(len(document.text) + 1):
        try:
            laws.strict_loads(document.text[:cut])
        except ValueError:
            whole = False
        else:
            whole = True
        assert whole == (document.reasons[cut] is None and document.n_open[cut] == 0), cut


# -- law 1: sound ----------------------------------------------------------------------------------


@given(DOCUMENTS)
def test_no_prefix_gives_what_the_document_does_not_hold(document: Document) -> None:
    for cut, result in prefixes(document):
        number_is_cut = cut in document.inside_number
        if result.status == "rejected":
            laws.tally["prefixes refused"] += 1
            assert result.partial is None or laws.is_sound(result.partial, document.value), cut
            continue
        laws.tally["prefixes closed" if document.n_open[cut] else "prefixes whole"] += 1
        assert laws.is_sound(result.value, document.value, number_is_cut=number_is_cut), cut
        assert laws.same(result.partial, result.value), cut


@given(DOCUMENTS)
def test_a_number_at_the_end_is_not_an_exception_if_the_caller_says_so(document: Document) -> None:
    for cut, result in prefixes(document, number_at_end="reject"):
        found = result.partial if result.status == "rejected" else result.value
        if result.status != "rejected" or found is not None:
            assert laws.is_sound(found, document.value), cut
        if cut in document.after_number or cut in document.inside_number:
            assert result.reason == "incomplete_number", cut


@given(DOCUMENTS)
def test_a_cut_text_is_never_closed_if_the_model_was_cut(document: Document) -> None:
    for cut, result in prefixes(document, finish_reason="length"):
        if document.reasons[cut] is None:
            reason = "truncated" if document.n_open[cut] else None
            assert result.reason == reason, cut
        else:
            assert result.status == "rejected", cut


@given(docs.edited_texts() | docs.soups())
def test_no_closer_is_put_at_the_end_of_any_text_if_the_model_was_cut(text: str) -> None:
    for edit in repair(text, finish_reason="length").repairs:
        rest = text[edit.offset :].strip(docs.WHITE_SPACE)
        assert edit.kind != "missing_closer" or rest


# -- law 2: complete -------------------------------------------------------------------------------


@given(DOCUMENTS)
def test_a_complete_last_value_is_never_refused(document: Document) -> None:
    for cut, result in prefixes(document):
        if document.reasons[cut] is None:
            assert result.status != "rejected", (cut, result.reason)


@given(DOCUMENTS)
def test_the_whole_document_is_read(document: Document) -> None:
    result = repair(document.text)
    event(result.status)
    assert result.status == ("repaired" if document.faults else "valid"), result.reason
    assert laws.same(result.value, document.value)
    laws.check_result(document.text, result)


# -- law 3: explained ------------------------------------------------------------------------------


@given(DOCUMENTS)
def test_the_reason_is_that_of_the_place(document: Document) -> None:
    for cut, result in prefixes(document):
        assert result.reason == document.reasons[cut], cut


@given(DOCUMENTS)
def test_a_refused_prefix_keeps_all_that_was_complete(document: Document) -> None:
    for cut, result in prefixes(document):
        if result.status != "rejected":
            continue
        laws.check_explained(document.text[:cut], result)
        complete = document.complete_before(cut)
        if complete is not None:
            before = repair(document.text[:complete]).value
            assert laws.is_sound(before, result.partial), (cut, before, result.partial)


# -- laws 4 and 5: total, unchanged ----------------------------------------------------------------


@given(docs.any_texts(), docs.options())
def test_any_text_gives_a_result(text: str, options: dict[str, Any]) -> None:
    result = repair(text, **options)
    event(result.reason or result.status)
    laws.check_result(text, result, options)


@given(docs.any_texts(), docs.options())
def test_any_text_has_a_tree(text: str, options: dict[str, Any]) -> None:
    tree = repair(text, **options).tree
    # Building the tree reads the text once more: what it holds has to come from the text.
    assert all(str(token) in text for token in tree.scan_values(lambda _: True))


@given(docs.edited_texts() | docs.soups())
def test_what_is_json_is_valid(text: str) -> None:
    try:
        value = laws.strict_loads(text)
        # A value with a lone surrogate or an infinity is JSON to Python but refused by policy.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        assert repair(text).status != "valid"
    else:
        assert repair(text).status == "valid"


@given(docs.documents())
def test_a_valid_document_is_not_changed(document: Document) -> None:
    result = repair(document.text)
    assert result.status == "valid"
    assert result.text == document.text
    assert list(result.repairs) == []
    assert laws.same(result.value, document.value)


@given(st.binary(max_size=60), docs.options())
def test_any_bytes_give_a_result(data: bytes, options: dict[str, Any]) -> None:
    result = repair(data, **options)
    try:
        text = data.decode(json.detect_encoding(data))
    except ValueError:
        assert result.reason == "invalid_encoding"
        return
    whole = repair(text, **options)
    # A byte order mark is gone from `text`, so the status may differ, but nothing else.
    assert result.reason == whole.reason
    assert laws.same(result.value, whole.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@given(document=DOCUMENTS, data=st.data())
def test_bytes_are_read_in_every_encoding_of_json(
    encoding: str, document: Document, data: st.DataObject
) -> None:
    text = document.text[: data.draw(st.integers(0, len(document.text)))]
    encoded = text.encode(encoding)
    if encoded.decode(json.detect_encoding(encoded), "replace") != text:
        # A text of two characters can be too short to tell the encoding, and a mark is dropped.
        return
    result, whole = repair(encoded), repair(text)
    assert (result.status, result.reason) == (whole.status, whole.reason)
    assert laws.same(result.value, whole.value)


@pytest.mark.parametrize("value", [12, 1.5, ["{}"], {"a": 1}, object()])
def test_what_is_neither_text_nor_bytes_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match=type(value).__name__):
        repair(value)  # type: ignore[arg-type]


# -- law 6: chunk-proof ----------------------------------------------------------------------------


@given(docs.chunkings(docs.any_texts()), docs.options())
def test_pieces_give_what_the_whole_gives(pieces: tuple[str, ...], options: dict[str, Any]) -> None:
    whole = repair("".join(pieces), **options)
    event(whole.reason or whole.status)
    laws.check_chunks(pieces, whole, **options)


@given(docs.any_texts())
def test_single_characters_give_what_the_whole_gives(text: str) -> None:
    laws.check_chunks(tuple(text), repair(text))


@given(DOCUMENTS, st.data())
def test_pieces_of_a_prefix_give_what_the_prefix_gives(
    document: Document, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(document.text)))
    text = document.text[:cut]
    middle = data.draw(st.integers(0, cut))
    laws.check_chunks(docs.split_at(text, [middle]), repair(text))


# -- law 7: idempotent, and the edits --------------------------------------------------------------


@given(DOCUMENTS)
def test_repairing_a_repaired_prefix_changes_nothing(document: Document) -> None:
    for cut, result in prefixes(document):
        laws.check_result(document.text[:cut], result)


@given(docs.edited_texts(), docs.options())
def test_repairing_a_repaired_edited_text_changes_nothing(
    text: str, options: dict[str, Any]
) -> None:
    result = repair(text, **options)
    event(result.status)
    laws.check_result(text, result, options)
