"""The inverse of the formats: a template for each writes calls and prose as its model would.

A template is found by the name of its format; a format whose model writes in several ways has a
template for each of them, told apart by a word behind the name. Nothing here comes from the
grammars, so that a grammar can't be wrong in the same way as its template.
"""

# ruff: noqa: RUF001 - what stands in for a bar is part of the syntax of some formats

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """How a model writes.

    Attributes:
        call: writes one call, of its name, its arguments and its place among the calls.
        tags: what the format's syntax is made of, to write hostile values with.
        opening, between, closing: what stands before the first call, between two and after the
            last one.
        end: the end sentinel of a call if the text may end without it. A closing tag of an argument
            is one only by what follows it, so that it can't be the end of the text.
        notation: how arguments are written: as one JSON object, as raw text that gets its type from
            the schema, as raw text or JSON with a mark that tells which, in a notation of the
            format's own, or in Python's syntax.
        value_close: the tag that ends an argument written as raw text.
        closes: what ends such an argument: that tag, if what follows can follow an argument.
        bad: what can stand in place of a call and is none.
        nameless: a call without a name, where it is seen as one.
        empty: calls of the tool `f` without arguments, as the format can write them.
        string: a call of `f` with the given text in place of its arguments; only where arguments
            are one JSON object.
        thought: what stands around reasoning.
        said: writes prose; as it is in most formats.
        most_calls: how many calls a text can hold.
        has_prose: whether prose can stand beside calls.
        ends_itself: whether a call ends where its own text ends; where not, only the next call's
            sentinel ends a bad one.
        is_told_by_first: whether only its first item tells a list of calls from another list.
    """

    call: Callable[[str, Arguments, int], str]
    tags: tuple[str, ...]
    opening: str = ""
    between: str = ""
    closing: str = ""
    end: str
    notation: Literal["json", "text", "marked", "own", "python"] = "json"
    value_close: str = ""
    closes: re.Pattern[str] | None = None
    bad: tuple[str, ...]
    nameless: str = ""
    empty: tuple[str, ...]
    string: Callable[[str], str] | None = None
    thought: tuple[str, str] | None = None
    said: Callable[[str], str] = str
    most_calls: int = 100_000
    has_prose: bool = True
    ends_itself: bool = True
    is_told_by_first: bool = False

    def calls(self, calls: Iterable[tuple[str, Arguments]]) -> list[str]:
        """Write calls, each by itself."""
        return [self.call(name, arguments, at) for at, (name, arguments) in enumerate(calls)]

    def message(self, written: Sequence[str], before: str = "", after: str = "") -> str:
        """Write a text of calls that are written already, and prose around them."""
        calls = self.opening + self.between.join(written) + self.closing if written else ""
        return (self.said(before) if before else "") + calls + (self.said(after) if after else "")

    def can_name(self, name: str, *, is_tool: bool = False) -> bool:
        """Tell whether a tool or an argument can have this name in this format."""
        if self.notation != "python":
            return True
        parts = name.split(".") if is_tool else [name]
        return all(map(str.isidentifier, parts))

    def can_write(self, value: object) -> bool:
        """Tell whether a value of an argument has just one reading in this format.

        A value written as raw text has more than one where it holds the closing tag of an argument
        followed by what may follow an argument. In the notation of `gemma4` no string can hold
        its own quote.
        """
        if self.notation == "own":
            return OWN_QUOTE not in json.dumps(value, ensure_ascii=False).replace('\\"', '"')
        if self.closes is None:
            return True
        text = value if isinstance(value, str) else dumps(value)
        found = self.closes.search(text + self.value_close)
        return found is not None and found.start() == len(text)


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def raw(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def call_object(name: str, arguments: Arguments, key: str = "arguments") -> str:
    return f'{{"name": {dumps(name)}, "{key}": {dumps(arguments)}}}'


# What is wrong between the sentinels of a call that is an object. A string or an argument that is
# not closed is not here: what follows it is its text, so that it takes its siblings with it.
BAD_OBJECTS: Final = (
    "?!",
    "{",
    "}",
    '{"name": "f", "arguments": {"a": }}',
    '{"name": "f", "arguments": {"a": 1} oops}',
    '{"name" "f"}',
    '{"name": "f", "arguments": [1]}',
    '{"name": "f", "arguments": "no"}',
    "42",
    "",
)
# The same for items of a list.
BAD_ITEMS: Final = (
    '{"name": "f", "arguments": {"a": }}',
    '{"name": "f", "arguments": {"a": 1} oops}',
    '{"name" "f"}',
    '{"name": "f", "arguments": [1]}',
    '{"name": "f", "arguments": "no"}',
    "42",
    "{}",
)
BAD_ARGUMENTS: Final = (
    '{"a": }',
    "?!",
    "[1]",
    '{"a" 1}',
    '{"a": 1 oops}',
    '"no"',
    '{"a": 1}{"b": 2}',
)
NO_ARGUMENTS: Final = (
    '{"name": "f", "arguments": {}}',
    '{"name": "f", "arguments": { } }',
    '{"name": "f"}',
    '{"name": "f", "arguments": null}',
    '{"arguments": {}, "name": "f"}',
)
# Without sentinels only the two keys side by side make a call of an object.
BARE_EMPTY: Final = tuple(text for text in NO_ARGUMENTS if '"arguments"' in text)
NAMELESS: Final = '{"arguments": {"x": 1}}'


def object_template(
    opening: str,
    closing: str,
    *,
    key: str = "arguments",
    empty: tuple[str, ...] = NO_ARGUMENTS,
    **more: Any,
) -> Template:
    """Return the template of a format that puts an object between sentinels for each call."""

    def wrapped(body: str) -> str:
        return opening + body + closing

    more.setdefault("bad", tuple(map(wrapped, BAD_OBJECTS)))
    return Template(
        call=lambda name, arguments, _: wrapped(call_object(name, arguments, key)),
        tags=tuple(text.strip() for text in (opening, closing) if text),
        end=closing,
        nameless=wrapped(NAMELESS),
        empty=tuple(wrapped(text.replace("arguments", key)) for text in empty),
        string=lambda text: wrapped(f'{{"name": "f", "{key}": {text}}}'),
        **more,
    )


def list_template(opening: str, closing: str, **more: Any) -> Template:
    """Return the template of a format that puts a list of objects between sentinels."""
    return Template(
        call=lambda name, arguments, _: call_object(name, arguments),
        tags=tuple(text for text in (opening, closing, opening.rstrip("["), "[", "]") if text),
        opening=opening,
        between=", ",
        closing=closing,
        end=closing,
        bad=BAD_ITEMS,
        nameless=NAMELESS,
        empty=NO_ARGUMENTS,
        string=lambda text: f'{{"name": "f", "arguments": {text}}}',
        **more,
    )


def named_template(
    head: Callable[[str, int], str],
    tail: str,
    *,
    bodies: tuple[str, ...] = ("{}", "{ }", "null", ""),
    **more: Any,
) -> Template:
    """Return the template of a format that writes the name and then the arguments as JSON.

    Args:
        head: what stands before the arguments, of the call's name and place.
        tail: what stands after them.
        bodies: how it can write that there are no arguments.
    """

    def wrapped(body: str) -> str:
        return head("f", 0) + body + tail

    more.setdefault("bad", tuple(map(wrapped, BAD_ARGUMENTS)))
    return Template(
        call=lambda name, arguments, at: head(name, at) + dumps(arguments) + tail,
        end=tail,
        nameless=head("", 0) + "{}" + tail,
        empty=tuple(map(wrapped, bodies)),
        string=wrapped,
        **more,
    )


def element_template(
    head: Callable[[str], str],
    argument: Callable[[str, object], str],
    tail: str,
    *,
    tags: tuple[str, ...],
    value_close: str,
    follows: str,
    newline: str = "",
    **more: Any,
) -> Template:
    """Return the template of a format with an element for each argument.

    Args:
        head: what stands before the arguments, of the call's name.
        argument: writes one argument.
        tail: what stands after the arguments.
        tags: all tags.
        value_close: the tag that closes an argument.
        follows: a pattern of what may follow that tag, also where the call's end is lost.
        newline: a pattern of what the template puts before that tag.
        **more: as in `Template`.
    """
    more.setdefault("notation", "text")
    call = head("f") + tail
    return Template(
        call=lambda name, arguments, _: (
            head(name) + "".join(argument(*pair) for pair in arguments.items()) + tail
        ),
        tags=(*tags, value_close + tags[0], value_close + tail.strip(), value_close + "\n"),
        value_close=value_close + re.search(r"<[^<]*$", tail)[0],  # type: ignore[index]
        closes=re.compile(newline + re.escape(value_close) + rf"(?=\s*(?:{follows}))"),
        bad=(
            head("f") + "oops" + tail,
            head("f") + "<oops>" + tail,
            head("f") + argument("a", "1") * 2 + tail,
        ),
        nameless=head("") + tail,
        empty=(call, head("f") + "\n" + tail),
        **more,
    )


def invoke_template(prefix: str, wrapper: tuple[str, str], **more: Any) -> Template:
    """Return the template of a format with elements `invoke` and `parameter`."""
    invoke, parameter = f"<{prefix}invoke", f"<{prefix}parameter"
    close_invoke, close = f"</{prefix}invoke>", f"</{prefix}parameter>"
    marked = more.get("notation") == "marked"

    def argument(name: str, value: object) -> str:
        kind = f' string="{dumps(isinstance(value, str))}"' if marked else ""
        return f'{parameter} name="{name}"{kind}>{raw(value)}{close}\n'

    defaults = {
        "opening": wrapper[0] + "\n",
        "between": "\n",
        "closing": "\n" + wrapper[1],
        "end": "",
        "tail": close_invoke,
        "head": lambda name: f'{invoke} name="{name}">\n',
    }
    settings = {**defaults, **more}
    head, tail = settings.pop("head"), settings.pop("tail")
    return element_template(
        head,
        argument,
        tail,
        tags=(f'{parameter} name="x">', f'{invoke} name="f">', close_invoke, *wrapper),
        value_close=close,
        follows=rf'{parameter} name="|</?{prefix}invoke\b|</?{wrapper[0][1:8]}',
        thought=("<think>", "</think>"),
        **settings,
    )


def function_template(wrapper: tuple[str, str], newline: str, **more: Any) -> Template:
    """Return the template of a format with elements `function=` and `parameter=`."""
    return element_template(
        lambda name: f"{wrapper[0]}\n<function={name}>\n",
        lambda name, value: f"<parameter={name}>{newline}{raw(value)}{newline}</parameter>\n",
        f"</function>\n{wrapper[1]}",
        tags=("<parameter=x>", "<function=f>", "</function>", *wrapper),
        value_close="</parameter>",
        follows=f"<parameter=|</function>|</?{wrapper[0][1:]}",
        newline=newline and "\n?",
        between="\n",
        end=wrapper[1],
        **more,
    )


def glm_template(newline: str) -> Template:
    return element_template(
        lambda name: f"<tool_call>{name}{newline}",
        lambda name, value: (
            f"<arg_key>{name}</arg_key>{newline}<arg_value>{raw(value)}</arg_value>{newline}"
        ),
        "</tool_call>",
        tags=("<arg_key>", "</arg_key>", "<arg_value>", "<tool_call>", "</tool_call>"),
        end="",
        value_close="</arg_value>",
        follows="<arg_key>|</?tool_call>",
        between=newline,
        thought=("<think>", "</think>"),
    )


DSML: Final = "｜DSML｜"
THINK: Final = ("<think>", "</think>")
OWN_QUOTE: Final = '<|"|>'


def own_value(value: object) -> str:
    """Write a value as `gemma4` does."""
    if isinstance(value, str):
        return f"{OWN_QUOTE}{value}{OWN_QUOTE}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{own_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(own_value, value)) + "]"
    return dumps(value)


def call_python(name: str, arguments: Arguments, _: int = 0) -> str:
    """Write a call as Python would read it; its keywords can be names of arguments here."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


# What is wrong with a call in Python's syntax. As above, a string that is not closed is not here.
BAD_CALLS: Final = (
    "f(a=)",
    "f(a=os)",
    "f(1)",
    "f(a=1, a=2)",
    "f(x=f'{y}')",
    "f(x=[i for i in 'ab'])",
    "f(x=g(1))",
    "f(**{'a': 1})",
    "f(x=1 + 2)",
    "f(x=b'y')",
    "f(x='y'.strip(), z=')')",
    "f(a={1: 2})",
)


def python_template(opening: str, closing: str, between: str = ", ", **more: Any) -> Template:
    """Return the template of a format that writes calls in Python's syntax between sentinels."""
    more.setdefault("bad", BAD_CALLS)
    begun = (opening.rstrip("["), closing.lstrip("]"))
    return Template(
        call=call_python,
        tags=tuple(
            filter(None, (opening, closing, *begun, between.strip(), "f(", ")", "'", "a='"))
        ),
        opening=opening,
        between=between,
        closing=closing,
        end=closing,
        notation="python",
        empty=("f()", "f( )", "f (\n)"),
        **more,
    )


def harmony(name: str, _: int = 0) -> str:
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"


STEP: Final = ("<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜>")

TEMPLATES: Final[dict[str, Template]] = {
    "hermes": object_template("<tool_call>\n", "\n</tool_call>", between="\n", thought=THINK),
    "ernie45": object_template("<tool_call>\n", "\n</tool_call>", between="\n", thought=THINK),
    "longcat": object_template(
        "<longcat_tool_call>",
        "</longcat_tool_call>",
        thought=("<longcat_think>", "</longcat_think>"),
    ),
    "longcat elements": element_template(
        lambda name: f"<longcat_tool_call>{name}\n",
        lambda name, value: (
            f"<longcat_arg_key>{name}</longcat_arg_key>\n"
            f"<longcat_arg_value>{raw(value)}</longcat_arg_value>\n"
        ),
        "</longcat_tool_call>",
        tags=("<longcat_arg_key>", "<longcat_arg_value>", "<longcat_tool_call>"),
        end="",
        value_close="</longcat_arg_value>",
        follows="<longcat_arg_key>|</longcat_tool_call>",
    ),
    "internlm": object_template(
        "<|action_start|><|plugin|>", "<|action_end|>", key="parameters", thought=THINK
    ),
    "jamba": list_template("<tool_calls>[", "]</tool_calls>"),
    "hunyuan_a13b": list_template("<tool_calls>[", "]</tool_calls>", thought=THINK),
    "granite": list_template("<|tool_call|>[", "]", thought=THINK),
    "phi4_mini_json": list_template("functools[", "]", is_told_by_first=True),
    "mistral list": list_template("[TOOL_CALLS] [", "]", thought=("[THINK]", "[/THINK]")),
    "mistral": named_template(
        lambda name, _: f"[TOOL_CALLS]{name}[ARGS]",
        "",
        tags=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]"),
        bodies=("{}", "{ }", "null"),
        bad=tuple(f"[TOOL_CALLS]f[ARGS]{text}" for text in BAD_ARGUMENTS if "}{" not in text),
        ends_itself=False,
        thought=("[THINK]", "[/THINK]"),
    ),
    # A name and null without a mark between them are one word.
    "mistral bare": named_template(
        lambda name, _: f"[TOOL_CALLS]{name}",
        "",
        tags=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]"),
        bodies=("{}", "{ }", " {}"),
        bad=tuple(f"[TOOL_CALLS]f{text}" for text in BAD_ARGUMENTS if "}{" not in text),
        ends_itself=False,
    ),
    "bare_json": list_template("[", "]", has_prose=False, is_told_by_first=True),
    "bare_json one": object_template("", "", empty=BARE_EMPTY, has_prose=False, most_calls=1),
    "llama3_json": object_template(
        "",
        "",
        key="parameters",
        empty=BARE_EMPTY,
        between="; ",
        bad=tuple(text for text in BAD_OBJECTS if text.startswith('{"name":')),
        ends_itself=False,
    ),
    "kimi_k2": named_template(
        lambda name, at: f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        tags=(
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "<|tool_call_argument_begin|>",
            "<|tool_call_end|>",
            "<|tool_calls_section_end|>",
        ),
        opening="<|tool_calls_section_begin|>",
        closing="<|tool_calls_section_end|>",
        thought=THINK,
    ),
    "deepseek_v3": named_template(
        lambda name, _: f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n",
        "\n```<｜tool▁call▁end｜>",
        tags=("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "```", "<｜tool▁call▁end｜>"),
        opening="<｜tool▁calls▁begin｜>",
        between="\n",
        closing="<｜tool▁calls▁end｜>",
        thought=THINK,
    ),
    "deepseek_v31": named_template(
        lambda name, _: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        tags=("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
        opening="<｜tool▁calls▁begin｜>",
        closing="<｜tool▁calls▁end｜>",
        thought=THINK,
    ),
    "gemma_function": named_template(
        lambda name, _: f'<function name="{name}">',
        "</function>",
        tags=('<function name="f">', "</function>"),
    ),
    "qwen3_coder": function_template(("<tool_call>", "</tool_call>"), "\n", thought=THINK),
    "seed_oss": function_template(
        ("<seed:tool_call>", "</seed:tool_call>"),
        "",
        thought=("<seed:think>", "</seed:think>"),
    ),
    "glm45": glm_template("\n"),
    "glm47": glm_template(""),
    "minimax_m2": invoke_template("", ("<minimax:tool_call>", "</minimax:tool_call>")),
    "minimax_m2 unwrapped": invoke_template(
        "", ("<minimax:tool_call>", "</minimax:tool_call>"), opening="", closing=""
    ),
    "deepseek_v32": invoke_template(
        DSML, (f"<{DSML}function_calls>", f"</{DSML}function_calls>"), notation="marked"
    ),
    "deepseek_v4": invoke_template(
        DSML, (f"<{DSML}tool_calls>", f"</{DSML}tool_calls>"), notation="marked"
    ),
    "step3": invoke_template(
        "steptml:",
        ("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
        head=lambda name: f'{STEP[0]}<steptml:invoke name="{name}">',
        tail=f"</steptml:invoke>{STEP[1]}",
        end=STEP[1],
    ),
    "gpt_oss": named_template(
        harmony,
        "<|call|>",
        tags=("<|channel|>", "<|message|>", "<|call|>", "<|end|>", "<|start|>", "<|constrain|>"),
        between="<|start|>assistant",
        bodies=("{}", "{ }", "null"),
        said="<|channel|>final<|message|>{}<|end|>".format,
    ),
    "gemma4": Template(
        call=lambda name, arguments, _: (
            f"<|tool_call>call:{name}{own_value(arguments)}<tool_call|>"
        ),
        tags=("<|tool_call>", "<tool_call|>", "call:f{", "<|channel>", "<channel|>"),
        end="<tool_call|>",
        notation="own",
        bad=(
            "<|tool_call>?!<tool_call|>",
            "<|tool_call>call:f{a:}<tool_call|>",
        ),
        nameless="<|tool_call>call:{}<tool_call|>",
        empty=("<|tool_call>call:f{}<tool_call|>",),
        thought=("<|channel>thought\n", "<channel|>"),
    ),
    "lfm2": python_template("<|tool_call_start|>[", "]<|tool_call_end|>", thought=THINK),
    "pythonic": python_template("[", "]", has_prose=False),
    "llama4_pythonic": python_template("<|python_start|>[", "]<|python_end|>"),
    # Text may follow, but none may come first.
    "llama4_pythonic bare": python_template("[", "]", has_prose=False),
    "olmo3": python_template("<function_calls>", "</function_calls>", "\n", thought=THINK),
}


def format_of(key: str) -> str:
    """Return the name of the format that a template is for."""
    return key.partition(" ")[0]
