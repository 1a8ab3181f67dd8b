"""Streamed calls: events of what is certain, in any pieces, equal to reading the whole."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsonrepair_lark import (
    ArgumentsDelta,
    CallFinished,
    CallRejected,
    CallStarted,
    CallStream,
    ContentDelta,
    Event,
    ReasoningDelta,
    RepairStream,
    api,
    astream,
    formats,
    parse_calls,
    repair,
)
from jsonrepair_lark.streaming import event_data

from .support import calls, hostile, laws
from .support import documents as docs
from .support.corpus import Case
from .support.documents import split_at
from .support.renderers import TEMPLATES, Template, format_of
from .test_corpus import CALL_CASES, each_call_case

FEW: Final = settings(max_examples=max(6, settings().max_examples // 6))
N_SPLITS: Final = 6
DELTAS: Final = (ContentDelta, ReasoningDelta, ArgumentsDelta)

each = pytest.mark.parametrize("key", TEMPLATES)


def events_of(pieces: Iterable[str], arguments: dict[str, Any]) -> tuple[list[Event], CallStream]:
    """The events of a stream, with neighbouring deltas of one kind as one."""
    stream = CallStream(**arguments)
    found = [event for piece in pieces for event in stream.feed(piece)]
    found += stream.finish()
    assert stream.finish() == []
    return merged(found), stream


def merged(events: list[Event]) -> list[Event]:
    joined: list[Event] = []
    for event in events:
        last = joined[-1] if joined else None
        if isinstance(event, ArgumentsDelta) and isinstance(last, ArgumentsDelta):
            if event.index == last.index:
                joined[-1] = ArgumentsDelta(event.index, last.text + event.text)
                continue
        elif isinstance(event, ContentDelta) and isinstance(last, ContentDelta):
            joined[-1] = ContentDelta(last.text + event.text)
            continue
        elif isinstance(event, ReasoningDelta) and isinstance(last, ReasoningDelta):
            joined[-1] = ReasoningDelta(last.text + event.text)
            continue
        joined.append(event)
    return joined


def check(pieces: Iterable[str], text: str, arguments: dict[str, Any]) -> list[Event]:
    """Check the laws of a stream over a text; return its events."""
    whole = parse_calls(text, **arguments)
    events, stream = events_of(pieces, arguments)
    assert stream.result == whole
    content = [event.text for event in events if isinstance(event, ContentDelta)]
    assert "".join(content) == whole.content
    reasoning = [event.text for event in events if isinstance(event, ReasoningDelta)]
    assert "".join(reasoning) == whole.reasoning
    assert [event.call for event in events if isinstance(event, CallFinished)] == list(whole.calls)
    rejected = [event.rejected for event in events if isinstance(event, CallRejected)]
    assert rejected == list(whole.rejected)
    check_calls(events)
    return settled(events)


def settled(events: list[Event]) -> list[Event]:
    """Events without the arguments of calls that were rejected: how much of those is handed on
    before the call fails may depend on the pieces."""
    refused = {event.index for event in events if isinstance(event, CallRejected)}
    return [e for e in events if not (isinstance(e, ArgumentsDelta) and e.index in refused)]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def check_calls(events: list[Event]) -> None:
    """Check that each call starts once, gets its arguments and ends, before the next starts."""
    started: list[CallStarted] = []
    arguments = ""
    is_open = False
    for event in events:
        if isinstance(event, CallStarted):
            assert not is_open
            assert event.index == len(started)
            started.append(event)
            arguments, is_open = "", True
        elif isinstance(event, ArgumentsDelta):
            assert is_open
            assert event.index == len(started) - 1
            assert event.text
            arguments += event.text
        elif isinstance(event, CallFinished):
            assert is_open
            assert event.index == len(started) - 1
            assert event.call.name == started[-1].name
            assert arguments == event.call.arguments
            is_open = False
        elif isinstance(event, CallRejected) and event.index is not None:
            assert is_open
            assert not is_json(arguments), "what was handed on of a refused call can't be run"
            assert event.index == len(started) - 1
            is_open = False
    assert not is_open


# -- the laws --------------------------------------------------------------------------------------


@each_call_case
def test_a_message_in_pieces_gives_the_same_events(case: Case) -> None:
    text, arguments = case.text, calls.arguments_of(case)
    events = check([text], text, arguments)
    assert check(text, text, arguments) == events
    rng = Random(case.name)
    for _ in range(N_SPLITS):
        cuts = sorted(rng.randint(0, len(text)) for _ in range(rng.randint(1, 6)))
        assert check(split_at(text, cuts), text, arguments) == events


@each_call_case
def test_what_was_handed_on_stands_whatever_comes(case: Case) -> None:
    text, arguments = case.text, calls.arguments_of(case)
    rng = Random(case.name)
    for _ in range(N_SPLITS):
        other = rng.choice(CALL_CASES).text
        cut = rng.randint(0, len(text))
        mixed = text[:cut] + other[rng.randint(0, len(other)) :]
        check(split_at(mixed, [cut]), mixed, arguments)


@each
@FEW
@given(data=st.data())
def test_hostile_messages_give_the_same_events(key: str, data: st.DataObject) -> None:
    case = data.draw(hostile.cases(key, most=2, max_size=4))
    for arguments in ({"format": format_of(key)}, {"format": format_of(key), "tools": case.tools}):
        events = check(case.text, case.text, arguments)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(case.text)), max_size=4)))
        assert check(split_at(case.text, cuts), case.text, arguments) == events
        # A call that is all right streams from its start to its end.
        kinds = [type(event) for event in events if not isinstance(event, DELTAS)]
        assert kinds == [CallStarted, CallFinished] * len(case.calls)


@each
@FEW
@given(data=st.data())
def test_any_text_gives_the_same_events(key: str, data: st.DataObject) -> None:
    text = data.draw(hostile.soups(key))
    for arguments in ({"format": format_of(key)}, {"format": format_of(key), "tools": {"f": {}}}):
        events = check(text, text, arguments)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
        assert check(split_at(text, cuts), text, arguments) == events


@each
@FEW
@given(data=st.data())
def test_partial_arguments_are_sound(key: str, data: st.DataObject) -> None:
    case = data.draw(hostile.cases(key, most=2, max_size=3))
    stream = CallStream(format_of(key), case.tools)
    started = 0
    for cut, char in enumerate(case.text):
        started += sum(isinstance(event, CallStarted) for event in stream.feed(char))
        for index in range(started):
            partial = stream.partial(index)
            is_cut = case.text[cut].isdigit()
            assert partial is None or laws.is_sound(
                partial, case.calls[index][1], number_is_cut=is_cut
            ), partial
    started += sum(isinstance(event, CallStarted) for event in stream.finish())
    assert [stream.partial(index) for index in range(started)] == [
        arguments for _, arguments in case.calls
    ]


@pytest.mark.parametrize("name", [one.name for one in formats()])
def test_an_unknown_tool_never_starts(name: str) -> None:
    text = next(one.example for one in formats() if one.name == name)
    for unknown in ("content", "drop"):
        events = check(text, text, {"format": name, "tools": {"no": {}}, "unknown": unknown})
        assert not any(isinstance(event, CallStarted | ArgumentsDelta) for event in events)
        assert any(isinstance(event, CallRejected) for event in events)


def test_the_end_of_a_cut_message_obeys_the_finish_reason() -> None:
    text = '<tool_call>{"name": "f", "arguments": {"a": [1, 2'
    stream = CallStream("hermes")
    events = stream.feed(text) + stream.finish("length")
    assert stream.result == parse_calls(text, format="hermes", finish_reason="length")
    assert isinstance(events[-1], CallRejected)
    assert events[-1].index == 0
    assert stream.partial(0) == {"a": [1]} or stream.partial(0) == {"a": [1, 2]}


# -- prompt ----------------------------------------------------------------------------------------

# How many characters may come before a character is handed on, where it differs from what the
# format's longest sentinel explains; docs/streaming.md says why.
PROSE: Final = "Plain words go on and on, one after another, and mean no call at all. " * 3
VALUE: Final = "plain words of a value " * 8


def lags(template: Template, key: str) -> tuple[int, int]:
    """The longest lags of prose and of a text argument, in characters."""
    before = PROSE if template.has_prose else ""
    text = template.message(template.calls([("f", {"path": VALUE})]), before)
    stream = CallStream(format_of(key))
    content = arguments = ""
    content_lag = argument_lag = 0
    begin = text.index(VALUE)
    for fed, char in enumerate(text, 1):
        for event in stream.feed(char):
            if isinstance(event, ContentDelta):
                content += event.text
            elif isinstance(event, ArgumentsDelta):
                arguments += event.text
        if before and fed <= text.index(before) + len(before):
            content_lag = max(content_lag, fed - text.index(before) - len(content))
        n_sent = len(arguments.partition(VALUE[:6])[2]) + 6 if VALUE[:6] in arguments else 0
        if begin + 6 < fed <= begin + len(VALUE):
            argument_lag = max(argument_lag, fed - begin - n_sent)
    return content_lag, argument_lag


@each
def test_text_is_handed_on_as_it_comes(key: str) -> None:
    template = TEMPLATES[key]
    content_lag, argument_lag = lags(template, key)
    assert content_lag <= 2
    assert argument_lag <= 8


# -- around it -------------------------------------------------------------------------------------


def test_an_asynchronous_iterator_gives_the_same_events() -> None:
    text = 'Hi <tool_call>{"name": "f", "arguments": {"a": [1, 2]}}</tool_call> bye'

    async def deltas() -> AsyncIterator[str]:
        for char in text:
            yield char

    async def collected() -> list[Event]:
        return [event async for event in astream(deltas(), "hermes", {"f": {}})]

    expected, _ = events_of(text, {"format": "hermes", "tools": {"f": {}}})
    assert merged(asyncio.run(collected())) == expected


def test_the_events_of_a_message() -> None:
    text = '<think>hm</think>Hi <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    events, stream = events_of([text], {"format": "hermes"})
    (call,) = stream.result.calls
    assert events == [
        ReasoningDelta("hm"),
        ContentDelta("Hi "),
        CallStarted(0, events[2].id, "f"),  # type: ignore[union-attr]  # compared just before
        ArgumentsDelta(0, '{"a": 1}'),
        CallFinished(0, call),
    ]


def test_a_stream_in_batches_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"a": [1, 2, {"b": "' + "x" * 3000 + '"}, tru'
    whole = repair(text)
    for size in (1, 7, 512):
        monkeypatch.setattr(api, "BATCH_CHARACTERS", size)
        stream = RepairStream()
        for at, char in enumerate(text):
            stream.feed(char)
            if at == 100:
                assert stream.value == {"a": [1, 2, {}]}
                assert stream.preview.value == {"a": [1, 2, {"b": "x" * 81}]}
                assert stream.preview.unfinished == "$.a[2].b"
        assert stream.finish() == whole
        assert stream.preview.unfinished is None


def test_arguments_come_as_soon_as_they_are_sure() -> None:
    stream = CallStream("lfm2")
    stream.feed("<|tool_call_start|>[run(command='sed -n ")
    # A quote that may close or not is held back, and what comes after it.
    assert stream.feed("'360") == []
    assert stream.feed(",450p' f.py") == []
    events = stream.feed("')]<|tool_call_end|>") + stream.finish()
    assert stream.result.calls[0].value == {"command": "sed -n '360,450p' f.py"}
    assert isinstance(events[-1], CallFinished)
    stream = CallStream("lfm2")
    stream.feed("<|tool_call_start|>[run(")
    # What may hold a placeholder, and a list that may be a comprehension, wait for their end.
    assert stream.feed("a=") == [ArgumentsDelta(0, '{"a": ')]
    assert stream.feed("f'text") == []
    assert stream.feed("', b=") == [ArgumentsDelta(0, '"text"'), ArgumentsDelta(0, ', "b": ')]
    assert stream.feed("[1, 2") == []
    assert stream.feed("], ") == [ArgumentsDelta(0, "[1, 2]")]


def test_a_typed_parameter_comes_when_it_is_complete() -> None:
    tools = {"f": {"properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}}
    stream = CallStream("qwen3_coder", tools)
    stream.feed("<tool_call>\n<function=f>\n<parameter=n>\n")
    assert stream.feed("12") == []
    assert stream.feed("\n</parameter>\n<parameter=") == [ArgumentsDelta(0, "12")]
    assert stream.feed("s>\n") == [ArgumentsDelta(0, ', "s": ')]
    assert stream.feed('as "it" ') == [ArgumentsDelta(0, '"as \\"it\\" ')]
    assert stream.feed("comes\n</par") == [ArgumentsDelta(0, "comes")]


def test_a_stream_is_used_as_it_is_meant() -> None:
    with pytest.raises(ValueError, match="auto"):
        CallStream("auto")
    with pytest.raises(LookupError):
        CallStream("no such format")
    stream = CallStream("hermes")
    with pytest.raises(TypeError):
        stream.feed(b"x")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError, match="not finished"):
        _ = stream.result
    with pytest.raises(IndexError):
        stream.partial(0)
    assert stream.finish() == []
    assert stream.result == parse_calls("", format="hermes")
    with pytest.raises(ValueError, match="finished"):
        stream.feed("x")


def test_an_event_is_data_for_json() -> None:
    text = '<tool_call>{"name": "f", "arguments": {"a": [1,]}}</tool_call><tool_call>{}</tool_call>'
    events, _ = events_of([text], {"format": "hermes"})
    data = [json.loads(json.dumps(event_data(event))) for event in events]
    assert [one["type"] for one in data] == [
        "CallStarted",
        "ArgumentsDelta",
        "CallFinished",
        "CallRejected",
    ]
    assert data[2]["call"]["arguments"] == {"a": [1]}
    assert data[3]["rejected"]["reason"] == "missing_name"


@given(data=st.data())
def test_the_live_value_is_the_partial_value(data: st.DataObject) -> None:
    document = data.draw(docs.any_documents())
    stream = RepairStream()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(document.text)), max_size=8)))
    at = 0
    for cut in cuts:
        stream.feed(document.text[at:cut])
        at = cut
        result = repair(document.text[:cut])
        expected = result.partial
        # What is complete only because the text ends there is not shown while it may go on.
        assert stream.value is None or laws.is_sound(stream.value, document.value)
        if result.status == "rejected":
            assert laws.same(stream.value, expected), (document.text[:cut], stream.value)


def test_the_live_value_is_one_object() -> None:
    stream = RepairStream()
    stream.feed('{"a": [1, 2')
    first = stream.value
    stream.feed(', {"b": "x", "a": 1, "a": [')
    assert stream.value is first
    assert first == {"a": [1, 2, {"b": "x", "a": []}]}
    stream.feed("2]}, 3")
    assert stream.value == {"a": [1, 2, {"b": "x", "a": [2]}]}
    stream.feed("]}")
    assert stream.finish().value == {"a": [1, 2, {"b": "x", "a": [2]}, 3]}
