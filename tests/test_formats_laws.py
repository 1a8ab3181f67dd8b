"""The laws over every format: nothing is invented and nothing raises, whatever the text."""

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsonrepair_lark import ParsedCalls, parse_calls

from .support import hostile, laws
from .support.hostile import Case, Held
from .support.renderers import TEMPLATES, Template, format_of

# Each example of a law about prefixes or deletions parses a few hundred texts.
FEW: Final = settings(max_examples=max(3, settings().max_examples // 16))
MANY: Final = settings(max_examples=max(12, settings().max_examples // 2))
REASONS: Final = laws.REASONS | {"missing_name", "unknown_tool"}

each = pytest.mark.parametrize("key", TEMPLATES)


def read(key: str, text: str, **options: Any) -> ParsedCalls:
    """Parse and check what must hold of any text."""
    parsed = parse_calls(text, format=format_of(key), **options)
    at = 0
    covered = []
    for index, call in enumerate(parsed.calls):
        assert call.index == index
        assert call.name
        assert laws.same(json.loads(call.arguments), call.value)
        start, end = call.span
        assert at <= start < end <= len(text)
        at = end
        covered.append(call.span)
        for repair in call.repairs:
            assert start <= repair.offset <= end
            assert text.startswith(repair.removed, repair.offset)
    for one in parsed.rejected:
        start, end = one.span
        assert 0 <= start <= one.offset <= end <= len(text)
        assert one.reason in REASONS
        if one.reason != "unknown_tool":
            covered.append(one.span)
    check_is_left(parsed.content, text, covered)
    return parsed


def check_is_left(content: str, text: str, covered: list[tuple[int, int]]) -> None:
    """Check that the content stands in the text in this order, outside of the calls."""
    at = 0
    left = []
    for start, end in sorted(covered):
        assert start >= at, "two calls overlap"
        left.append(text[at:start])
        at = end
    rest = iter("".join([*left, text[at:]]))
    assert all(char in rest for char in content), (content, covered)


def ends_in_doubt(template: Template, case: Case, text: str) -> bool:
    """Tell whether a text ends with a tag that a value holds: it can't be told from its end."""
    close = template.value_close.partition(">")[0] + ">"
    return (
        bool(template.value_close)
        and any(
            close in json.dumps(item, ensure_ascii=False)
            for _, arguments in case.calls
            for item in arguments.values()
        )
        and text.rstrip().endswith(close)
    )


@each
@FEW
@given(data=st.data())
def test_a_prefix_has_only_what_the_whole_has(key: str, data: st.DataObject) -> None:
    template = TEMPLATES[key]
    case = data.draw(hostile.cases(key, most=2, max_size=4))
    text = case.text
    ends: list[int] = []
    for written in template.calls(case.calls):
        ends.append(text.index(written, ends[-1] if ends else len(case.before)) + len(written))
    for cut in range(len(text)):
        parsed = read(key, text[:cut], tools=case.tools)
        assert len(parsed.calls) <= len(case.calls)
        if not ends_in_doubt(template, case, text[:cut]):
            for call, (name, arguments) in zip(parsed.calls, case.calls, strict=False):
                assert call.name == name
                # In Python, a number may end in its point.
                is_cut = text[cut - 1] in "0123456789."
                assert laws.is_sound(call.value, arguments, number_is_cut=is_cut), call.value
        # A call that is all there is never lost.
        assert len(parsed.calls) >= sum(end <= cut for end in ends), text[:cut]


@pytest.mark.parametrize("key", [key for key, one in TEMPLATES.items() if one.thought])
def test_a_cut_thought_has_no_calls(key: str) -> None:
    template = TEMPLATES[key]
    assert template.thought
    opening, closing = template.thought
    calls = template.message(template.calls([("f", {"a": "x"}), ("g", {})]))
    text = f"{opening}I could write {calls} here.{closing}"
    for cut in range(len(text) + 1):
        parsed = read(key, text[:cut])
        assert parsed.calls == (), text[:cut]


@each
@FEW
@given(data=st.data())
def test_a_lost_character_invents_nothing(key: str, data: st.DataObject) -> None:
    case = data.draw(hostile.cases(key, most=2, max_size=4))
    whole = case.text
    for at in range(len(whole)):
        text = whole[:at] + whole[at + 1 :]
        parsed = read(key, text)
        held = Held(text, case.template)
        for call in parsed.calls:
            assert held.holds(call.name), (call.name, text)
            assert held.holds(call.value), (call.value, text)


@each
@MANY
@given(data=st.data())
def test_any_text_gives_a_result_that_invents_nothing(key: str, data: st.DataObject) -> None:
    text = data.draw(hostile.soups(key))
    parsed = read(key, text)
    held = Held(text, TEMPLATES[key])
    for call in parsed.calls:
        assert held.holds(call.name), call.name
        assert held.holds(call.value), call.value
    offers: tuple[dict[str, Any], ...] = ({"f": {}}, {})
    for tools in offers:
        offered = read(key, text, tools=tools, unknown="drop")
        assert [call.name for call in offered.calls] == [
            call.name for call in parsed.calls if call.name in tools
        ]


@each
@MANY
@given(text=st.text(max_size=40))
def test_text_of_any_characters_gives_a_result(key: str, text: str) -> None:
    read(key, text)
