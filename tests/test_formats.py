"""Formats of tool calls: what a model means by a text in its format comes back, exactly."""

import json
import re
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsonrepair_lark import GrammarNotFoundError, ParsedCalls, formats, parse_calls

from .support import hostile, laws
from .support.hostile import Case
from .support.renderers import TEMPLATES, Template, format_of

FORMATS: Final = {one.name: one for one in formats()}
SOME: Final = settings(max_examples=max(6, settings().max_examples // 3))
Calls = list[tuple[str, dict[str, Any]]]
NEWLINES: Final = "one\ntwo\n\n\tthree"

each = pytest.mark.parametrize("key", TEMPLATES)


def where(condition: Any) -> pytest.MarkDecorator:
    """Run a test for the templates of some kind."""
    keys = [key for key, template in TEMPLATES.items() if condition(template)]
    return pytest.mark.parametrize("key", keys)


def read(key: str, text: str, **options: Any) -> ParsedCalls:
    return parse_calls(text, format=format_of(key), **options)


def pairs(parsed: ParsedCalls) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.value) for call in parsed.calls]


def squeezed(text: str) -> str:
    return "".join(text.split())


def check_read(key: str, case: Case) -> ParsedCalls:
    """Check that all of a case comes back, and return what was read."""
    text = case.text
    parsed = read(key, text, tools=case.tools)
    assert parsed.rejected == ()
    assert [call.name for call in parsed.calls] == [name for name, _ in case.calls]
    at = 0
    for index, (call, (_, arguments), written) in enumerate(
        zip(parsed.calls, case.calls, case.template.calls(case.calls), strict=True)
    ):
        assert laws.same(call.value, arguments), call.value
        assert laws.same(json.loads(call.arguments), arguments), call.arguments
        assert call.index == index
        assert re.fullmatch("call_[0-9a-f]{12}", call.id)
        assert call.repairs == ()
        start, end = call.span
        assert at <= start < end
        assert text[start:end].strip() == written.strip()
        at = end
    check_prose(parsed.content, case.before, case.after)
    assert parsed.reasoning == ""
    assert parsed.text == text
    assert parsed.format == format_of(key)
    return parsed


def check_prose(content: str, before: str, after: str) -> None:
    """Check that the content is the prose, but for white space between calls."""
    assert content.startswith(before)
    assert content.endswith(after)
    assert content[len(before) : len(content) - len(after)].strip() == ""


def test_every_format_has_a_template() -> None:
    assert {format_of(key) for key in TEMPLATES} == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_the_head_of_a_format_is_read(name: str) -> None:
    one = FORMATS[name]
    assert one.title
    assert one.source
    assert len(set(one.aliases)) == len(one.aliases)
    parsed = parse_calls(one.example, format=name)
    assert parsed.calls
    assert not parsed.rejected
    for alias in one.aliases:
        assert parse_calls(one.example, format=alias) == parsed


def test_no_two_formats_share_a_name() -> None:
    names = [name for one in formats() for name in (one.name, *one.aliases)]
    assert len(set(names)) == len(names)


def test_an_unknown_format_is_refused_with_the_known_names() -> None:
    with pytest.raises(GrammarNotFoundError, match="hermes"):
        parse_calls("", format="no_such_format")
    # A grammar that is the grammar of no format.
    with pytest.raises(GrammarNotFoundError):
        parse_calls("", format="json")


# -- what is meant comes back ----------------------------------------------------------------------


@each
@SOME
@given(data=st.data())
def test_calls_come_back_exactly(key: str, data: st.DataObject) -> None:
    check_read(key, data.draw(hostile.cases(key)))


@each
@SOME
@given(data=st.data())
def test_one_call_without_prose_comes_back_and_has_the_same_id_again(
    key: str, data: st.DataObject
) -> None:
    made = data.draw(hostile.calls(key, most=1))
    case = Case(TEMPLATES[key], made, "", "")
    parsed = check_read(key, case)
    assert read(key, case.text, tools=case.tools) == parsed


@where(lambda template: template.has_prose)
@SOME
@given(data=st.data())
def test_prose_stands_between_calls(key: str, data: st.DataObject) -> None:
    template = TEMPLATES[key]
    made = data.draw(hostile.calls(key))
    said = [data.draw(hostile.prose(key)) for _ in range(len(made) + 1)]
    text, content = "", ""
    for prose, call in zip(said, made, strict=False):
        text += template.message(template.calls([call]), before=prose)
        content += prose
    text += template.said(said[-1])
    case = Case(template, made, "", "")
    parsed = read(key, text, tools=case.tools)
    assert parsed.rejected == ()
    assert pairs(parsed) == made
    assert squeezed(parsed.content) == squeezed(content + said[-1])


@where(lambda template: template.has_prose)
@given(data=st.data())
@SOME
def test_text_without_calls_is_content(key: str, data: st.DataObject) -> None:
    prose = data.draw(hostile.prose(key))
    parsed = read(key, TEMPLATES[key].said(prose))
    assert (parsed.content, parsed.calls, parsed.rejected) == (prose, (), ())


@where(lambda template: template.has_prose)
def test_white_space_around_the_markers_is_no_matter(key: str) -> None:
    template = TEMPLATES[key]
    case = Case(template, [("f", {"a": "x"}), ("g", {"b": [1]})], "", "")
    written = template.calls(case.calls)
    spaced = [f"\n {written[0]} \n", f" {written[1]}\n\n"]
    text = template.message(spaced, "Now:\n\n ", "\n\nDone.\n")
    parsed = read(key, text, tools=case.tools)
    assert parsed.rejected == ()
    assert pairs(parsed) == case.calls
    assert parsed.content.split() == ["Now:", "Done."]


@where(lambda template: template.thought)
def test_calls_in_reasoning_are_no_calls(key: str) -> None:
    template = TEMPLATES[key]
    assert template.thought
    written = template.message(template.calls([("f", {"a": "x"})]))
    # A thought about calls, not one that could end the thought.
    thought = f"I could write {written} here."
    text = thought.join(template.thought) + template.message(
        template.calls([("g", {"a": "x"})]), before="Prose."
    )
    parsed = read(key, text)
    assert pairs(parsed) == [("g", {"a": "x"})]
    assert parsed.rejected == ()
    assert parsed.content.strip() == "Prose."
    assert parsed.reasoning.strip() == thought


@where(lambda template: template.most_calls > 1)
def test_the_same_call_twice_is_two_calls(key: str) -> None:
    template = TEMPLATES[key]
    call = ("f", {"a": "x"})
    parsed = read(key, template.message(template.calls([call, call])))
    assert pairs(parsed) == [call, call]
    first, second = parsed.calls
    assert first.arguments == second.arguments
    assert first.id != second.id


# -- arguments -------------------------------------------------------------------------------------


@each
def test_a_call_may_have_no_arguments(key: str) -> None:
    template = TEMPLATES[key]
    for written in template.empty:
        parsed = read(key, template.message([written]))
        assert pairs(parsed) == [("f", {})], written
        assert parsed.calls[0].arguments.replace(" ", "") == "{}"
        assert parsed.rejected == ()


@where(lambda template: template.string)
@SOME
@given(data=st.data())
def test_arguments_may_be_a_string_that_holds_them(key: str, data: st.DataObject) -> None:
    template = TEMPLATES[key]
    assert template.string
    [(_, arguments)] = data.draw(hostile.calls(key, most=1))
    inner = json.dumps(arguments, ensure_ascii=data.draw(st.booleans()))
    parsed = read(key, template.message([template.string(json.dumps(inner))]))
    assert parsed.rejected == ()
    assert [call.name for call in parsed.calls] == ["f"]
    assert laws.same(parsed.calls[0].value, arguments)
    assert parsed.calls[0].arguments == inner


@where(lambda template: template.string)
def test_raw_newlines_in_strings_are_repaired(key: str) -> None:
    template = TEMPLATES[key]
    assert template.string
    body = json.dumps({"a": NEWLINES, "b": 1})
    raw = body.replace("\\n", "\n").replace("\\t", "\t")
    assert raw != body
    parsed = read(key, template.message([template.string(raw)]))
    assert pairs(parsed) == [("f", {"a": NEWLINES, "b": 1})]
    call = parsed.calls[0]
    assert call.arguments == body
    assert {repair.kind for repair in call.repairs} == {"control_character"}
    for repair in call.repairs:
        assert parsed.text.startswith(repair.removed, repair.offset)


@where(lambda template: template.string)
def test_a_comma_too_many_and_words_of_python_are_repaired(key: str) -> None:
    template = TEMPLATES[key]
    assert template.string
    parsed = read(key, template.message([template.string('{"a": [True, None,],}')]))
    assert pairs(parsed) == [("f", {"a": [True, None]})]
    assert parsed.calls[0].arguments == '{"a": [true, null]}'


@where(lambda template: template.string and template.most_calls > 1)
@pytest.mark.parametrize("braces", ["}", "}}", " }\n}"])
def test_braces_too_many_are_dropped(key: str, braces: str) -> None:
    template = TEMPLATES[key]
    good = template.call("f", {"a": {"b": "}"}}, 0)
    at = good.rindex("}") + 1
    written = good[:at] + braces + good[at:]
    parsed = read(key, template.message([written, template.call("g", {}, 1)]))
    assert pairs(parsed) == [("f", {"a": {"b": "}"}}), ("g", {})]
    assert parsed.rejected == ()
    # At the end of the text as well.
    assert pairs(read(key, template.message([template.call("g", {}, 0), written]))) == [
        ("g", {}),
        ("f", {"a": {"b": "}"}}),
    ]


@where(lambda template: template.string and (template.end or template.closing))
def test_braces_too_few_are_added_before_the_end_sentinel(key: str) -> None:
    template = TEMPLATES[key]
    good = template.message(template.calls([("f", {"a": {"b": "}"}})]))
    text = re.sub(r"\}+(?=[^}]*$)", "}", good)
    assert text != good
    parsed = read(key, text)
    assert pairs(parsed) == [("f", {"a": {"b": "}"}})]
    assert parsed.rejected == ()


@where(lambda template: template.notation == "text")
def test_without_a_schema_raw_text_stays_text(key: str) -> None:
    template = TEMPLATES[key]
    arguments = {"path": 1, "n1": None, "x.y": [1, "a"], "a-b": " x ", "größe": ""}
    text = template.message(template.calls([("f", arguments)]))
    expected = {"path": "1", "n1": "null", "x.y": '[1, "a"]', "a-b": " x ", "größe": ""}
    offers: tuple[Any, ...] = (None, {"f": {}}, {"f": {"properties": {}}})
    for tools in offers:
        assert pairs(read(key, text, tools=tools)) == [("f", expected)]


@where(lambda template: template.notation == "text")
def test_text_that_its_type_does_not_fit_stays_text(key: str) -> None:
    template = TEMPLATES[key]
    text = template.message(template.calls([("f", {"path": "12 apples", "n1": "1.5"})]))
    schema = {"properties": {"path": {"type": "integer"}, "n1": {"type": "integer"}}}
    assert pairs(read(key, text, tools={"f": schema})) == [
        ("f", {"path": "12 apples", "n1": "1.5"})
    ]


@where(lambda template: template.value_close)
def test_a_closing_tag_in_a_value_is_text_where_there_is_one_reading(key: str) -> None:
    template = TEMPLATES[key]
    close = template.value_close.partition(">")[0] + ">"
    for value in (close, f"a{close}", f"{close}b", f"a{close}b{close}", f"a{close} {close}\n."):
        assert template.can_write(value), value
        made = [("f", {"path": value}), ("g", {})]
        parsed = read(key, template.message(template.calls(made)))
        assert pairs(parsed) == made, value


# -- what is not meant for a call ------------------------------------------------------------------


def bad_ones(template: Template) -> list[str]:
    """All that is written between two good calls in the tests below."""
    return [*template.bad, *filter(None, [template.nameless])]


@where(lambda template: template.most_calls > 1)
def test_a_bad_call_is_rejected_and_its_siblings_stand(key: str) -> None:
    template = TEMPLATES[key]
    good: Calls = [("g", {"a": "x"}), ("h", {"b": [1, {"c": "d"}]})]
    tools = {"f": {}, "g": {}, "h": {"properties": {"b": {"type": "array"}}}}
    first, second = template.calls(good)
    said = ("Before", "After") if template.has_prose and template.ends_itself else ("", "")
    for bad in bad_ones(template):
        text = template.message([first, bad, second], *said)
        parsed = read(key, text, tools=tools, unknown="drop")
        assert pairs(parsed) == good, bad
        assert len(parsed.rejected) == 1, (bad, parsed.rejected)
        start, end = parsed.rejected[0].span
        assert start >= text.index(first) + len(first)
        assert start <= parsed.rejected[0].offset <= end
        assert "g" not in parsed.content.replace("oops", "")
        check_prose(parsed.content, *said)
        # First, and last.
        if not template.is_told_by_first:
            parsed = read(key, template.message([bad, first, second]), tools=tools)
            assert pairs(parsed) == good, bad
            assert len(parsed.rejected) == 1, bad
        parsed = read(key, template.message([first, second, bad]), tools=tools)
        assert pairs(parsed) == good, bad
        assert len(parsed.rejected) == 1, bad


@where(lambda template: template.nameless)
def test_a_call_without_a_name_is_rejected(key: str) -> None:
    template = TEMPLATES[key]
    parsed = read(key, template.message([template.nameless]))
    assert parsed.calls == ()
    assert len(parsed.rejected) == 1
    assert not parsed.rejected[0].name


@each
def test_only_tools_that_were_offered_are_called_and_only_by_their_exact_name(key: str) -> None:
    template = TEMPLATES[key]
    made = [("get", {"a": "x"}), ("Get", {"a": "y"}), ("gets", {}), ("get", {"a": "z"})]
    if template.most_calls == 1:
        made = made[1:2]
    written = template.calls(made)
    said = ("Before", "After") if template.has_prose else ("", "")
    text = template.message(written, *said)
    good = [call for call in made if call[0] == "get"]
    bad = [name for name, _ in made if name != "get"]
    for unknown in ("content", "drop"):
        parsed = read(key, text, tools={"get": {}}, unknown=unknown)
        assert pairs(parsed) == good
        assert [call.index for call in parsed.calls] == list(range(len(good)))
        assert [(one.reason, one.name) for one in parsed.rejected] == [
            ("unknown_tool", name) for name in bad
        ]
        assert parsed.content.startswith(said[0])
        assert parsed.content.endswith(said[1])
        for name, one in zip(made, written, strict=True):
            is_shown = unknown == "content" and name[0] != "get"
            assert (one.strip() in parsed.content) == is_shown, (one, parsed.content)
    parsed = read(key, text, tools=[])
    assert parsed.calls == ()
    assert len(parsed.rejected) == len(made)


@where(lambda template: template.end or template.closing)
def test_the_end_sentinel_may_be_missing_at_the_end(key: str) -> None:
    template = TEMPLATES[key]
    made: Calls = [("f", {"path": "x"}), ("g", {"n1": "y", "path": {"a": ["}"]}})]
    made = made[: template.most_calls]
    case = Case(template, made, "", "")
    text = template.message(template.calls(made))
    bare = text.removesuffix(template.closing).rstrip().removesuffix(template.end.strip()).rstrip()
    assert bare != text
    for cut in (bare, bare + "\n", text.removesuffix(template.closing)):
        parsed = read(key, cut, tools=case.tools)
        assert pairs(parsed) == made, cut
        assert parsed.rejected == ()
        assert parsed.content.strip() == ""


# -- tools -----------------------------------------------------------------------------------------

SCHEMA: Final = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
}
PLAIN: Final = {"name": "f", "description": "d", "parameters": SCHEMA}
WAYS: Final = {
    "mapping": {"f": SCHEMA},
    "openai": [{"type": "function", "function": PLAIN}],
    "openai-unwrapped": [{"type": "function", **PLAIN}],
    "bare": [PLAIN],
    "anthropic": [{"name": "f", "description": "d", "input_schema": SCHEMA}],
    "tuple": ({"type": "function", "function": PLAIN},),
    "objects": [SimpleNamespace(name="f", parameters=SCHEMA)],
    "wrapped-objects": [SimpleNamespace(function=SimpleNamespace(name="f", parameters=SCHEMA))],
    "anthropic-objects": [SimpleNamespace(name="f", input_schema=SCHEMA)],
}


@pytest.mark.parametrize("way", WAYS)
@where(lambda template: template.notation == "text")
def test_tools_are_taken_in_all_shapes(key: str, way: str) -> None:
    template = TEMPLATES[key]
    text = template.message(template.calls([("f", {"n": 12, "s": "12"}), ("g", {})]))
    parsed = read(key, text, tools=WAYS[way])
    assert pairs(parsed) == [("f", {"n": 12, "s": "12"})]
    assert [one.name for one in parsed.rejected] == ["g"]


def test_the_types_of_an_alternative_of_the_schema_count() -> None:
    text = "<tool_call>f<arg_key>n</arg_key><arg_value>12</arg_value></tool_call>"
    for keyword in ("anyOf", "oneOf", "allOf"):
        parsed = parse_calls(text, format="glm45", tools={"f": {keyword: [{}, SCHEMA]}})
        assert pairs(parsed) == [("f", {"n": 12})]


@pytest.mark.parametrize("tools", [[{}], [{"function": {}}], [{"name": 1}], [1]])
def test_a_tool_without_a_name_is_an_error(tools: Any) -> None:
    with pytest.raises(TypeError, match="name"):
        parse_calls("", format="hermes", tools=tools)


@pytest.mark.parametrize("text", [None, b"x", 1])
def test_only_text_is_parsed(text: Any) -> None:
    with pytest.raises(TypeError):
        parse_calls(text, format="hermes")


def test_the_tree_has_the_rules_of_the_contract() -> None:
    for key, template in TEMPLATES.items():
        text = template.message(template.calls([("f", {"a": "x"})]))
        tree = read(key, text).tree
        names = {subtree.data for subtree in tree.iter_subtrees()}
        assert {"start", "tool_call", "tool_name"} <= names, key
