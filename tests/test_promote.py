"""Promotion: calls that an API left in the content of a message become structured calls."""

import copy
import json
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

import jsonrepair_lark
from jsonrepair_lark import GrammarNotFoundError, formats, parse_calls, promote, recognise

from .support import hostile
from .support.renderers import TEMPLATES, format_of

TOOLS: Final = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]
CALL: Final = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
TYPED: Final = (
    "<tool_call>get_weather<arg_key>city</arg_key><arg_value>12</arg_value>"
    "<arg_key>days</arg_key><arg_value>12</arg_value></tool_call>"
)
LEAKED: Final = {"role": "assistant", "content": f"Let me look.\n{CALL}"}
SOME: Final = settings(max_examples=max(5, settings().max_examples // 10))


@pytest.fixture(autouse=True)
def _switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JSONREPAIR_LARK_PROMOTE", raising=False)


def called(message: Any) -> list[tuple[str, Any]]:
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message["tool_calls"]
    ]


def test_a_leaked_call_becomes_a_structured_one() -> None:
    before = copy.deepcopy(LEAKED)
    message = promote(LEAKED, TOOLS)
    assert before == LEAKED
    assert message is not LEAKED
    assert message["role"] == "assistant"
    assert message["content"] == "Let me look."
    [call] = message["tool_calls"]
    assert call["type"] == "function"
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    assert call["id"] == parse_calls(CALL, format="hermes").calls[0].id
    assert promote(LEAKED, TOOLS) == message
    # What was promoted stays as it is.
    assert promote(message, TOOLS) is message


def test_content_of_nothing_but_a_call_is_none() -> None:
    for content in (CALL, f"\n{CALL}\n"):
        assert promote({"content": content}, TOOLS)["content"] is None


def test_other_members_of_a_message_stay() -> None:
    message = {"content": CALL, "tool_calls": None, "name": "x", "extra": [1]}
    promoted = promote(message, TOOLS)
    assert {**promoted, "content": CALL, "tool_calls": None} == message
    assert called(promote({"content": CALL, "tool_calls": []}, TOOLS)) == [
        ("get_weather", {"city": "Oslo"})
    ]


def test_the_same_call_twice_stays_two_calls() -> None:
    promoted = promote({"content": CALL + CALL}, TOOLS)
    assert called(promoted) == [("get_weather", {"city": "Oslo"})] * 2
    first, second = promoted["tool_calls"]
    assert first["id"] != second["id"]


def test_arguments_have_the_types_of_the_tool() -> None:
    promoted = promote({"content": TYPED}, TOOLS)
    assert called(promoted) == [("get_weather", {"city": "12", "days": 12})]


@pytest.mark.parametrize(
    "message",
    [
        {"content": CALL, "tool_calls": [{"id": "1"}]},
        {"content": None},
        {"content": ""},
        {"content": "No calls here."},
        {"content": [{"type": "text", "text": CALL}]},
        {"role": "assistant"},
        {"content": CALL.replace("get_weather", "get_Weather")},
        {"content": CALL.replace("get_weather", "weather")},
        {"content": CALL.replace('"Oslo"}}', '"Os')},
        {"content": "The tool get_weather would tell."},
        {"content": '```json\n{"city": "Oslo"}\n```'},
    ],
    ids=str,
)
def test_where_there_is_nothing_to_do_the_message_itself_comes_back(message: Any) -> None:
    before = copy.deepcopy(message)
    assert promote(message, TOOLS) is message
    assert message == before


@pytest.mark.parametrize("tools", [None, [], {}])
def test_without_tools_nothing_is_done(tools: Any) -> None:
    assert promote(LEAKED, tools) is LEAKED


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert promote(LEAKED, TOOLS, enabled=False) is LEAKED
    monkeypatch.setenv("JSONREPAIR_LARK_PROMOTE", "0")
    assert promote(LEAKED, TOOLS) is LEAKED
    assert promote(LEAKED, TOOLS, enabled=True) is LEAKED
    monkeypatch.setenv("JSONREPAIR_LARK_PROMOTE", "1")
    assert called(promote(LEAKED, TOOLS))


def test_the_format_can_be_given() -> None:
    content = '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]'
    assert called(promote({"content": content}, TOOLS, format="bare_json")) == [
        ("get_weather", {"city": "Oslo"})
    ]
    assert called(promote({"content": CALL}, TOOLS, format="qwen25"))
    message = {"content": CALL}
    assert promote(message, TOOLS, format="kimi_k2") is message
    with pytest.raises(GrammarNotFoundError):
        promote(message, TOOLS, format="no_such_format")


def test_an_object_of_the_sdk_stays_one() -> None:
    message = ChatCompletionMessage(role="assistant", content=f"So: {CALL}{CALL}", refusal="x")
    before = message.model_copy(deep=True)
    promoted = promote(message, TOOLS)
    assert message == before
    assert isinstance(promoted, ChatCompletionMessage)
    assert (promoted.role, promoted.content, promoted.refusal) == ("assistant", "So:", "x")
    assert promoted.tool_calls
    assert len({call.id for call in promoted.tool_calls}) == 2
    for call in promoted.tool_calls:
        assert call.type == "function"
        assert call.function.name == "get_weather"
        assert json.loads(call.function.arguments) == {"city": "Oslo"}
    assert promote(promoted, TOOLS) is promoted
    for content in (None, "", "No calls."):
        plain = ChatCompletionMessage(role="assistant", content=content)
        assert promote(plain, TOOLS) is plain


# -- recognising -----------------------------------------------------------------------------------


@pytest.mark.parametrize("one", formats(), ids=lambda one: one.name)
def test_the_example_of_a_format_is_recognised(one: Any) -> None:
    own = parse_calls(one.example, format=one.name)
    found = recognise(one.example)
    if found is None:
        # Only what has no sentinel of its own can't be told.
        assert one.name in ("bare_json", "llama3_json", "pythonic")
    else:
        # Several formats have the same syntax: what counts is what was read.
        assert [(call.name, call.value) for call in found.calls] == [
            (call.name, call.value) for call in own.calls
        ]


@pytest.mark.parametrize("key", TEMPLATES)
@SOME
@given(data=st.data())
def test_what_is_recognised_is_what_was_meant(key: str, data: st.DataObject) -> None:
    case = data.draw(hostile.cases(key, most=2))
    found = recognise(case.text, tools=case.tools)
    if found is not None:
        assert [(call.name, call.value) for call in found.calls] == case.calls


@pytest.mark.parametrize("key", TEMPLATES)
def test_plain_calls_of_every_template_are_promoted(key: str) -> None:
    template = TEMPLATES[key]
    text = template.message(template.calls([("get_weather", {"city": "Oslo"})]))
    promoted = promote({"content": text}, TOOLS)
    # Without sentinels nothing announces calls.
    if key in ("bare_json", "bare_json one", "llama3_json", "pythonic", "llama4_pythonic bare"):
        promoted = promote({"content": text}, TOOLS, format=format_of(key))
    assert called(promoted) == [("get_weather", {"city": "Oslo"})]
    assert promoted["content"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No calls.",
        "<tool_call>",
        CALL[:-20],
        # Two formats, and which is meant can't be told.
        f"{CALL}[TOOL_CALLS]get_weather{{}}",
    ],
)
def test_what_no_format_or_more_than_one_fits_is_not_recognised(text: str) -> None:
    assert recognise(text, tools=TOOLS) is None


def test_a_call_of_a_tool_that_was_not_offered_is_not_recognised() -> None:
    assert recognise(CALL, tools={"other": {}}) is None
    assert recognise(CALL) is not None


def test_auto_reads_what_the_one_fitting_format_reads() -> None:
    text = 'Hi. <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'
    parsed = jsonrepair_lark.parse_calls(text, format="auto", tools={"f": {}})
    assert [(call.name, call.value) for call in parsed.calls] == [("f", {"x": 1})]
    assert parsed.content.strip() == "Hi."


def test_auto_leaves_text_that_no_format_fits() -> None:
    for text in ("", "No calls.", "<tool_call>", '{"name": "f", "arguments": {}}'):
        parsed = jsonrepair_lark.parse_calls(text, format="auto", tools={"f": {}})
        assert (parsed.content, parsed.calls, parsed.rejected) == (text, (), ())
        assert parsed.tree.data == "start"
