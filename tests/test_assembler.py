"""Assembling calls from the deltas of an API: any pieces, any order, several calls in a slot."""

import itertools
import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any, Final

import openai
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall

from jsonrepair_lark import ArgumentAssembler, AssembledCall, RepairStream, repair, split

from .support import documents as docs
from .support import laws
from .support.documents import Document
from .test_growth import MILLION, Hostile, check_growth

MADE_ID: Final = re.compile(r"call_[0-9a-f]{12}")
NAMES: Final = ("get_weather", "f", "écrire", "a.b-c", "search", "")


def delta(
    index: int | None = 0,
    arguments: str | None = None,
    name: str | None = None,
    id: str | None = None,  # noqa: A002 - as the API calls it
) -> dict[str, Any]:
    """Return a delta as the API's JSON has it; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    fields = {"index": index, "id": id, "type": "function" if id else None}
    return {
        **{key: value for key, value in fields.items() if value is not None},
        "function": {key: value for key, value in function.items() if value is not None},
    }


def as_mapping(source: dict[str, Any]) -> Any:
    return source


def as_object(source: dict[str, Any]) -> Any:
    return SimpleNamespace(**source | {"function": SimpleNamespace(**source["function"])})


def as_sdk_object(source: dict[str, Any]) -> Any:
    return ChoiceDeltaToolCall.model_validate(source)


FORMS: Final = {"mapping": as_mapping, "object": as_object, "SDK's object": as_sdk_object}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def assemble(*deltas: Any, **options: Any) -> list[AssembledCall]:
    """Feed the deltas and return the calls."""
    finish_reason = options.pop("finish_reason", None)
    assembler = ArgumentAssembler(**options)
    for one in deltas:
        assembler.feed(one)
    calls = assembler.finish(finish_reason)
    check_calls(calls)
    return calls


def check_calls(calls: list[AssembledCall]) -> None:
    """Check what must hold of the calls of any message."""
    assert [call.index for call in calls] == list(range(len(calls)))
    assert [call.slot for call in calls] == sorted(call.slot for call in calls)
    for call in calls:
        assert call.complete == (call.reason is None)
        if call.complete:
            assert call.name
            assert call.arguments is not None
            assert isinstance(call.value, dict)
            assert laws.same(laws.strict_loads(call.arguments), call.value)
            assert laws.same(call.partial, call.value)
        else:
            assert call.arguments is None
            assert call.value is None
            assert call.result is None or call.partial is not None or call.result.partial is None


# -- any calls in any pieces -----------------------------------------------------------------------

objects = docs.any_documents().filter(lambda document: isinstance(document.value, dict))


@st.composite
def messages(draw: st.DrawFn) -> tuple[list[tuple[str, str, list[Document]]], list[dict[str, Any]]]:
    """Slots with id, name and the objects in them, and deltas that bring them, interleaved."""
    slots = [
        (f"id{number}", draw(st.sampled_from(NAMES[:5])), draw(st.lists(objects, max_size=3)))
        for number in range(draw(st.integers(0, 3)))
    ]
    queues = []
    for index, (identifier, name, documents) in enumerate(slots):
        text = "".join(document.text for document in documents)
        pieces = draw(docs.chunkings(st.just(text)))
        first = delta(index, draw(st.sampled_from([None, ""])), name, identifier)
        queues.append([first, *(delta(index, piece) for piece in pieces)])
    rng = random.Random(draw(docs.SEEDS))
    order = [index for index, queue in enumerate(queues) for _ in queue]
    rng.shuffle(order)
    iterators = [iter(queue) for queue in queues]
    return slots, [next(iterators[index]) for index in order]


@each_form
@given(messages())
def test_calls_come_back_from_any_pieces_in_any_order(
    form: Any, message: tuple[list[tuple[str, str, list[Document]]], list[dict[str, Any]]]
) -> None:
    slots, deltas = message
    calls = assemble(*map(form, deltas))
    expected = [
        (number, identifier if place == 0 else None, name, value)
        for number, (identifier, name, documents) in enumerate(slots)
        for place, value in enumerate([document.value for document in documents] or [{}])
    ]
    assert len(calls) == len(expected)
    for call, (number, identifier, name, value) in zip(calls, expected, strict=True):
        assert call.complete, call.reason
        assert (call.slot, call.name) == (number, name)
        assert laws.same(call.value, value)
        if identifier is not None:
            assert call.id == identifier
        else:
            assert MADE_ID.fullmatch(call.id)
    assert len({call.id for call in calls}) == len(calls)
    assert assemble(*map(form, deltas)) == calls


@given(docs.chunkings(docs.any_texts()), docs.options())
def test_pieces_give_what_the_whole_gives(pieces: tuple[str, ...], options: dict[str, Any]) -> None:
    first = delta(0, None, "f", "id")
    apart = assemble(first, *map(argument, pieces), **options)
    whole = assemble(first, argument("".join(pieces)), **options)
    event(f"{min(len(whole), 3)} calls")
    assert [facts(call) for call in apart] == [facts(call) for call in whole]
    for call, other in zip(apart, whole, strict=True):
        assert laws.same(call.value, other.value)
        assert laws.same(call.partial, other.partial)


def argument(piece: str) -> dict[str, Any]:
    return delta(0, piece)


def facts(call: AssembledCall) -> tuple[Any, ...]:
    return (call.index, call.id, call.complete, call.arguments, call.reason)


@given(st.lists(docs.any_documents() | objects, max_size=3), docs.soups())
def test_a_slot_holds_what_split_finds(documents: list[Document], rest: str) -> None:
    text = " ".join([*(document.text for document in documents), rest])
    calls = assemble(delta(0, text, "f"))
    # A byte order mark alone says no more of the arguments than no text.
    results = [result for result in split(text) if result.reason != "empty"]
    if not results:
        assert [call.value for call in calls] == [{}]
        return
    assert len(calls) == len(results)
    for call, result in zip(calls, results, strict=True):
        if isinstance(result.value, dict):
            assert laws.same(call.value, result.value)
        elif result.status == "rejected":
            assert call.reason == result.reason
            assert laws.same(call.partial, result.partial)
        elif not isinstance(result.value, str):
            assert call.reason == "not_an_object"
            assert laws.same(call.partial, result.value)


@given(objects, objects, st.data())
def test_what_is_partial_is_sound_at_every_step(
    first: Document, second: Document, data: st.DataObject
) -> None:
    """Everything shown is in the value at the end, and everything that was whole is shown."""
    for prefix in ("", first.text):
        assembler = ArgumentAssembler()
        stream = RepairStream()
        assembler.feed(delta(5, prefix, "f"))
        for piece in data.draw(docs.chunkings(st.just(second.text))):
            assembler.feed(delta(5, piece))
            stream.feed(piece)
            partial = assembler.partial(5)
            if prefix and stream.value is None:
                assert laws.same(partial, first.value)
                continue
            assert partial is None or laws.is_sound(partial, second.value)
            assert laws.same(partial, stream.value)
        assert laws.same(assembler.finish()[-1].value, second.value)


@given(messages(), docs.SEEDS, st.sampled_from(["length", "tool_calls", None]))
def test_a_message_that_ends_anywhere_gives_calls(
    message: tuple[list[tuple[str, str, list[Document]]], list[dict[str, Any]]],
    seed: int,
    finish_reason: str | None,
) -> None:
    slots, deltas = message
    cut = random.Random(seed).randint(0, len(deltas))
    for call in assemble(*deltas[:cut], finish_reason=finish_reason):
        values = [document.value for document in slots[call.slot][2]] or [{}]
        shown = call.value if call.complete else call.partial
        # What is shown is a part of one of the slot's values, and whole where nothing is closed.
        assert shown is None or any(
            laws.is_sound(shown, value, number_is_cut=True) for value in values
        )
        if finish_reason == "length" and call.complete and call.result is not None:
            assert any(laws.same(shown, value) for value in values)


scraps = st.none() | st.integers(-1, 3) | st.booleans() | st.text(max_size=3) | st.just(1.5)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["index", "id", "function", "type"]),
            scraps | st.fixed_dictionaries({}, optional={"name": scraps, "arguments": scraps}),
        ),
        max_size=6,
    ),
    scraps.filter(lambda value: value is None or isinstance(value, str)),
)
def test_no_delta_is_an_error(deltas: list[dict[str, Any]], finish_reason: str | None) -> None:
    assemble(*deltas, finish_reason=finish_reason)
    objects_of = [SimpleNamespace(**one) for one in deltas]
    assert assemble(*objects_of, finish_reason=finish_reason) == assemble(
        *deltas, finish_reason=finish_reason
    )


# -- slots -----------------------------------------------------------------------------------------


@each_form
def test_deltas_may_come_one_by_one_or_together(form: Any) -> None:
    deltas = [
        form(delta(0, '{"a"', "f", "x")),
        form(delta(1, "{}", "g", "y")),
        form(delta(0, ":1}")),
    ]
    apart = assemble(*deltas)
    assert [(call.id, call.name, call.value) for call in apart] == [
        ("x", "f", {"a": 1}),
        ("y", "g", {}),
    ]
    assert assemble(deltas) == apart
    assert assemble(tuple(deltas[:2]), None, [], iter(deltas[2:])) == apart


def test_calls_are_in_the_order_of_their_index() -> None:
    calls = assemble(delta(2, "{}", "c"), delta(0, "{}", "a"), delta(1, "{}", "b"))
    assert [(call.slot, call.name) for call in calls] == [(0, "a"), (1, "b"), (2, "c")]


def test_several_objects_in_a_slot_are_several_calls() -> None:
    first, second, third = assemble(delta(0, '{"a":1}{"b":2} {"c":[3', "f", "x"))
    assert [call.value for call in (first, second, third)] == [{"a": 1}, {"b": 2}, {"c": [3]}]
    assert [call.name for call in (first, second, third)] == ["f"] * 3
    assert first.id == "x"
    assert MADE_ID.fullmatch(second.id)
    assert second.id != third.id
    assert third.result is not None
    assert [edit.kind for edit in third.result.repairs] == ["missing_closer"]


def test_equal_objects_in_a_slot_are_calls_of_their_own() -> None:
    calls = assemble(delta(0, "{}{}{}", "f", "x"))
    assert len({call.id for call in calls}) == 3


def test_what_follows_an_object_is_not_dropped() -> None:
    first, second = assemble(delta(0, '{"a":1} and {"b":2}', "f", "x"))
    assert first.value == {"a": 1}
    assert (second.complete, second.reason) == (False, "unexpected_input")
    assert second.result is not None
    assert "and" in second.result.input


def test_excess_closers_make_no_call() -> None:
    (call,) = assemble(delta(0, '{"a":1}', "f"), delta(0, "}"), delta(0, "\n"))
    assert call.value == {"a": 1}
    assert call.arguments is not None
    assert call.arguments.strip() == '{"a":1}'


def test_ids_are_made_the_same_way_every_time() -> None:
    calls = assemble(delta(0, '{"a":1}', "f"), delta(1, '{"a":1}', "f"), delta(2, "{}", "f"))
    again = assemble(*(delta(n, t, "f") for n, t in enumerate(['{"a":1}', '{"a":1}', "{}"])))
    assert [call.id for call in calls] == [call.id for call in again]
    assert len({call.id for call in calls}) == 3
    # What other processes and later releases have to make as well.
    assert calls[0].id == "call_690525c8f3a7"


def test_ids_of_an_api_stay_as_they_are() -> None:
    assert assemble(delta(0, "{}", "f", " x "))[0].id == " x "
    assert MADE_ID.fullmatch(assemble(delta(0, "{}", "f", ""))[0].id)
    # Some servers send it with every delta, others only later.
    assert assemble(delta(0, "{", "f", "x"), delta(0, "}", None, "x"))[0].id == "x"
    assert assemble(delta(0, "{", "f"), delta(0, "}", None, "x"))[0].id == "x"


def test_another_id_in_the_same_slot_is_another_call() -> None:
    calls = assemble(
        delta(0, '{"a":', "f", "x"),
        delta(0, "1}"),
        delta(0, '{"b":', "g", "y"),
        delta(0, "2}"),
        delta(0, "", None, "x"),
    )
    assert [(call.id, call.name, call.value) for call in calls] == [
        ("x", "f", {"a": 1}),
        ("y", "g", {"b": 2}),
    ]


def test_without_an_index_the_id_tells_the_slot() -> None:
    calls = assemble(
        delta(None, '{"a":', "f", "x"),
        delta(None, '{"b":', "g", "y"),
        delta(None, "1}", None, "x"),
        delta(None, "2}", None, "y"),
    )
    assert [(call.id, call.name, call.value) for call in calls] == [
        ("x", "f", {"a": 1}),
        ("y", "g", {"b": 2}),
    ]


def test_without_index_and_id_a_piece_belongs_to_the_last_slot() -> None:
    calls = assemble(
        delta(None, '{"a":', "f", "x"),
        delta(None, "1}"),
        delta(None, '{"b":', "g", "y"),
        delta(None, "2}"),
    )
    assert [call.value for call in calls] == [{"a": 1}, {"b": 2}]
    (call,) = assemble(delta(None, '{"a":', "f"), delta(None, "1}"))
    assert call.value == {"a": 1}


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (["get_weather"], "get_weather"),
        (["get_", "weather"], "get_weather"),
        (["get_", None, "", "weather"], "get_weather"),
        (["get_weather", "get_weather", "get_weather"], "get_weather"),
        (["", "f", ""], "f"),
        ([None, "f"], "f"),
    ],
)
def test_names_come_in_pieces_or_again_and_again(names: list[str | None], name: str) -> None:
    (call,) = assemble(*(delta(0, None, piece, "x") for piece in names), delta(0, "{}"))
    assert (call.name, call.complete) == (name, True)


@pytest.mark.parametrize("arguments", [[None], [""], [None, "", None], [" ", "\n"], []])
def test_no_arguments_are_an_empty_object(arguments: list[str | None]) -> None:
    (call,) = assemble(delta(0, None, "f", "x"), *(delta(0, piece) for piece in arguments))
    assert (call.complete, call.arguments, call.value) == (True, "{}", {})
    assert call.reason is None


def test_no_function_is_no_arguments() -> None:
    (call,) = assemble({"index": 0, "id": "x"}, {"index": 0, "function": None}, delta(0, "{}", "f"))
    assert (call.id, call.name, call.value) == ("x", "f", {})


def test_a_call_without_a_name_is_incomplete() -> None:
    (call,) = assemble(delta(0, '{"a": 1}'))
    assert (call.complete, call.reason) == (False, "missing_name")
    assert call.partial == {"a": 1}


def test_arguments_in_a_string_are_decoded() -> None:
    (call,) = assemble(delta(0, json.dumps('{"a": "é",}'), "f"))
    assert call.value == {"a": "é"}
    assert call.arguments == '{"a": "é"}'
    (call,) = assemble(delta(0, json.dumps('{"a": '), "f"))
    assert not call.complete
    (call,) = assemble(delta(0, '"text"', "f"))
    assert call.reason == "not_an_object"


@pytest.mark.parametrize("text", ["[1]", "1", "null", '"a"', "true", "None", "[{}]"])
def test_other_values_are_no_arguments(text: str) -> None:
    (call,) = assemble(delta(0, text, "f", "x"))
    assert (call.complete, call.reason) == (False, "not_an_object")
    assert laws.same(call.partial, repair(text).value)


REFUSED: Final = {
    '{"a": 1, "b": "x': ("incomplete_string", {"a": 1}),
    '{"a": 1,': ("dangling_comma", {"a": 1}),
    '{"a": 1, "b"': ("missing_colon", {"a": 1}),
    '{"a": 1, "b":': ("missing_value", {"a": 1}),
    '{"a": [1, nul': ("incomplete_literal", {"a": [1]}),
    '{"a": [1, 2.': ("incomplete_number", {"a": [1]}),
    '{"a": [1, {': ("empty_container", {"a": [1, {}]}),
    "{": ("empty_container", {}),
    '{"a": NaN}': ("nonfinite_number", {}),
    '{"a": 1 "b": 2}': ("unexpected_input", {"a": 1}),
    "oops": ("unexpected_input", None),
}


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_slot_is_an_incomplete_call(text: str, size: int) -> None:
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    (call,) = assemble(delta(0, None, "f", "x"), *map(argument, pieces))
    reason, partial = REFUSED[text]
    assert (call.complete, call.arguments, call.value) == (False, None, None)
    assert (call.reason, call.partial) == (reason, partial)
    assert call.id == "x"
    assert call.result is not None
    assert call.result.rejection is not None
    assert call.result.input == text


def test_one_refused_slot_costs_no_other() -> None:
    calls = assemble(
        delta(0, '{"a": 1}{"b": ', "f", "x"), delta(1, "{", "g", "y"), delta(2, "{}", "h", "z")
    )
    assert [(call.slot, call.complete) for call in calls] == [
        (0, True),
        (0, False),
        (1, False),
        (2, True),
    ]
    assert MADE_ID.fullmatch(calls[1].id)


# -- the end of a message --------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["length", "LENGTH", "max_tokens"])
def test_nothing_is_closed_where_the_api_cut_the_message(reason: str) -> None:
    deltas = [
        delta(0, '{"a": 1}', "f"),
        delta(1, '{"a": [true', "g"),
        delta(2, '{"a": "', "h"),
        delta(3, None, "i"),
    ]
    calls = assemble(*deltas, finish_reason=reason)
    assert [call.complete for call in calls] == [True, False, False, False]
    assert [call.reason for call in calls] == [None, "truncated", "incomplete_string", "empty"]
    assert calls[1].partial == {"a": [True]}
    for other in ("tool_calls", "stop", None, ""):
        calls = assemble(*deltas, finish_reason=other)
        assert [call.complete for call in calls] == [True, True, False, True]
        assert calls[1].value == {"a": [True]}


def test_the_finish_reason_may_be_an_option() -> None:
    (call,) = assemble(delta(0, '{"a": [true', "f"), finish_reason="stop")
    assert call.value == {"a": [True]}
    assembler = ArgumentAssembler(finish_reason="length")
    assembler.feed(delta(0, '{"a": [true', "f"))
    (call,) = assembler.finish()
    assert (call.reason, call.partial) == ("truncated", {"a": [True]})


def test_finishing_again_gives_the_same_calls() -> None:
    assembler = ArgumentAssembler()
    assembler.feed(delta(0, "{}", "f"))
    calls = assembler.finish("stop")
    assert assembler.finish("length") is calls


def test_nothing_can_be_fed_after_the_end() -> None:
    assembler = ArgumentAssembler()
    assert assembler.finish() == []
    late: Any
    for late in (delta(0, "{}", "f"), None, []):
        with pytest.raises(ValueError, match="assembled"):
            assembler.feed(late)


@pytest.mark.parametrize("text", ["x", b"{}", ""])
def test_text_is_no_delta(text: Any) -> None:
    with pytest.raises(TypeError, match=type(text).__name__):
        ArgumentAssembler().feed(text)


def test_options_that_do_not_exist_are_an_error() -> None:
    with pytest.raises(TypeError, match="no_such"):
        ArgumentAssembler(no_such=1)
    with pytest.raises(ValueError, match="nonfinite"):
        ArgumentAssembler(nonfinite="maybe")


# -- partial values and policies -------------------------------------------------------------------


def test_the_partial_value_grows() -> None:
    assembler = ArgumentAssembler()
    assert assembler.partial(0) is None
    shown = []
    for piece in ("", '{"a"', ": ", "12", ', "b": "x', 'y"', ', "c": [nul', "l]}"):
        assembler.feed(delta(0, piece, "f"))
        shown.append(assembler.partial(0))
    assert shown[0] is None
    assert shown[-1] == {"a": 12, "b": "xy", "c": [None]}
    for before, after in itertools.pairwise(shown):
        assert before is None or laws.is_sound(before, after)
    assert assembler.partial(1) is None


@pytest.mark.parametrize(
    ("options", "text", "value", "reason"),
    [
        ({"profile": "strict"}, '{"a": 1,}', None, "repair_not_allowed"),
        ({"profile": "strict"}, '{"a": 1', None, "repair_not_allowed"),
        ({"nonfinite": "null"}, '{"a": NaN}', {"a": None}, None),
        ({}, '{"a": 1e999}', None, "nonfinite_number"),
        ({"lone_surrogates": "replace"}, '{"a": "\\ud800"}', {"a": "\ufffd"}, None),
        ({}, '{"a": "\\ud800"}', None, "lone_surrogate"),
        ({"duplicate_keys": "reject"}, '{"a": 1, "a": 2}', None, "duplicate_key"),
        ({"duplicate_keys": "reject"}, '{"a": 1, "a": 2,}', None, "duplicate_key"),
        ({}, '{"a": 1, "a": 2}', {"a": 2}, None),
        ({"max_depth": 2}, '{"a": [[]]}', None, "too_deep"),
        ({"empty_container": "close"}, '{"a": [', {"a": []}, None),
        ({}, '{"a": ' + "1" * 5000 + "}", None, "number_too_long"),
        ({"number_at_end": "reject"}, '{"a": 1', None, "incomplete_number"),
        ({"number_at_end": "reject"}, '{"a": 1}', {"a": 1}, None),
    ],
)
def test_options_are_obeyed_in_every_place(
    options: dict[str, Any], text: str, value: Any, reason: str | None
) -> None:
    for before in ("", '{"x": 0}'):
        for size in (1, len(text)):
            pieces = (text[at : at + size] for at in range(0, len(text), size))
            calls = assemble(delta(0, before, "f"), *map(argument, pieces), **options)
            assert len(calls) == 1 + bool(before)
            assert (calls[-1].value, calls[-1].reason) == (value, reason)


def test_a_partial_value_takes_nothing_back() -> None:
    assembler = ArgumentAssembler(duplicate_keys="reject")
    shown = []
    for piece in ('{"a": [1], ', '"b": 2, "a"', ": 3", "}"):
        assembler.feed(delta(0, piece, "f"))
        shown.append(assembler.partial(0))
    (call,) = assembler.finish()
    assert call.reason == "duplicate_key"
    assert call.partial == {"a": [1], "b": 2}
    assert all(laws.is_sound(value, call.partial) for value in shown)


# -- size ------------------------------------------------------------------------------------------

SHAPES: Final = {
    "objects-in-a-delta": Hostile(lambda n: '{"a":1}' * n, ""),
    "objects-to-repair": Hostile(lambda n: '{"a":1,}\n' * n, ""),
    "one-long-string": Hostile(lambda n: '{"a":"' + "x" * n, ""),
    "openers": Hostile(lambda n: '{"a":' * n, ""),
    "excess-closers": Hostile(lambda n: "{}" + "}" * n, ""),
    "white-space": Hostile(lambda n: "{}" + " " * n + "{}", ""),
}


@pytest.mark.parametrize("size", [4, 0])
@pytest.mark.parametrize("name", SHAPES)
def test_cost_grows_with_the_length(name: str, size: int) -> None:
    def read(text: str, options: dict[str, Any]) -> None:
        assembler = ArgumentAssembler(**options)
        for at in range(0, len(text), size or len(text)):
            assembler.feed(delta(0, text[at : at + (size or len(text))], "f"))
        assembler.finish()

    check_growth(read, SHAPES[name], MILLION // 16)


# -- end to end ------------------------------------------------------------------------------------

MESSAGE: Final = [
    delta(0, "", "get_weather", "call_of_the_api"),
    delta(0, '{"city": "Pa'),
    delta(0, 'ris"}{"ci'),
    delta(1, "", "get_time", "call_of_the_api_2"),
    delta(0, 'ty": "Ro'),
    delta(1, '{"zone": "CET"'),
    delta(0, 'me"}'),
]


def chunk(choice: dict[str, Any]) -> dict[str, Any]:
    """Return what the API calls a chat.completion.chunk."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": None, "delta": {}, **choice}],
    }


class Streamer(BaseHTTPRequestHandler):
    """Answers every request with the message, as server-sent events."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        choices: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": None}}]
        choices += [{"delta": {"tool_calls": [one]}} for one in MESSAGE]
        choices.append({"finish_reason": "tool_calls"})
        for choice in choices:
            self.wfile.write(f"data: {json.dumps(chunk(choice))}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in its base
        """Say nothing: pytest shows what a test has to say."""


@contextmanager
def server() -> Iterator[str]:
    """Run a server in a thread, and give its address."""
    with HTTPServer(("127.0.0.1", 0), Streamer) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/v1"
        finally:
            http.shutdown()
            thread.join()


def test_two_calls_in_one_slot_of_a_real_stream_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    # The test is about this machine, whatever proxy its environment names.
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assembler = ArgumentAssembler()
    finish_reason: str | None = None
    with server() as address, openai.OpenAI(base_url=address, api_key="none") as client:
        stream = client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "How is the weather?"}],
            stream=True,
        )
        for part in stream:
            choice = part.choices[0]
            assembler.feed(choice.delta.tool_calls)
            finish_reason = choice.finish_reason or finish_reason
    assert assembler.partial(1) == {"zone": "CET"}
    calls = assembler.finish(finish_reason)
    assert [(call.slot, call.name, call.value) for call in calls] == [
        (0, "get_weather", {"city": "Paris"}),
        (0, "get_weather", {"city": "Rome"}),
        (1, "get_time", {"zone": "CET"}),
    ]
    assert [call.id for call in calls][::2] == ["call_of_the_api", "call_of_the_api_2"]
    assert MADE_ID.fullmatch(calls[1].id)
    assert [call.complete for call in calls] == [True, True, True]
