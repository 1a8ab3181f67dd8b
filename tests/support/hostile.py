"""Generated tool calls whose values are full of their format's syntax; what a text holds."""

import json
import re
from functools import cache
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from .renderers import TEMPLATES, Arguments, Template

JSON_BITS: Final = (
    '"',
    '"',
    "\\",
    "\\",
    '\\"',
    "\n",
    "\t",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "/",
    ",",
    ":",
    "'",
    "`",
    "null",
    "1",
    "e",
    '"}',
    '"}}\n',
    '{"name": "x", "arguments": {}}',
    "é",
    "名",
    "😀",
    "\u2028",
    "\xa0",
    "</",
    "&lt;",
    "<think>",
)
TOOL_NAMES: Final = ("f", "get_weather", "fs.read", "a-b", "x1", "Größe")
ARGUMENT_NAMES: Final = ("path", "a-b", "x.y", "größe", "名", "n1")
WORDS: Final = (
    "Hello",
    " ",
    "\n",
    "<",
    ">",
    "a < b",
    "{",
    "x }",
    "{}",
    "[1]",
    '"quoted"',
    "it's",
    "“x”",
    "日本",
    "😀",
    "\\n",
    "&amp;",
    "`code`",
    "<b>bold</b>",
)
STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class Case(NamedTuple):
    """Calls, as written in a format, with prose before and after."""

    template: Template
    calls: list[tuple[str, Arguments]]
    before: str
    after: str

    @property
    def text(self) -> str:
        return self.template.message(self.template.calls(self.calls), self.before, self.after)

    @property
    def tools(self) -> dict[str, Any]:
        """The tools that the calls call, with the types of the arguments that they give."""
        return {
            name: {
                "type": "object",
                "properties": {key: {"type": type_of(item)} for key, item in arguments.items()},
            }
            for name, arguments in self.calls
        }


def type_of(value: object) -> str:
    types = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else types.get(type(value), "object")


def strings(template: Template, max_size: int) -> st.SearchStrategy[str]:
    bits = st.lists(st.sampled_from([*JSON_BITS, *template.tags * 3]), max_size=max_size)
    return bits.map("".join) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@cache
def values(key: str, max_size: int) -> st.SearchStrategy[Any]:
    """Values of arguments that the format can write in a way that has one reading."""
    template = TEMPLATES[key]
    texts = strings(template, max_size)
    scalars = (
        st.sampled_from([None, True, False, 0, -1, 10**20])
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts
    )
    # Only JSON quotes its keys.
    keys = texts if template.notation != "own" else st.sampled_from(ARGUMENT_NAMES)
    nested = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=5,
    )
    return (texts | nested).filter(template.can_write)


@st.composite
def calls(
    draw: st.DrawFn, key: str, *, most: int = 3, max_size: int = 6
) -> list[tuple[str, Arguments]]:
    """Calls of different tools."""
    template = TEMPLATES[key]
    names = st.sampled_from(ARGUMENT_NAMES)
    if template.notation == "json":
        names |= strings(template, 3)
    arguments = st.dictionaries(names, values(key, max_size), max_size=3)
    count = min(most, template.most_calls)
    tools = draw(st.lists(st.sampled_from(TOOL_NAMES), min_size=1, max_size=count, unique=True))
    return [(name, draw(arguments)) for name in tools]


def prose(key: str) -> st.SearchStrategy[str]:
    """Prose with brackets in it, and with what begins like a tag of the format."""
    template = TEMPLATES[key]
    if not template.has_prose:
        return st.just("")
    begun = [tag[: len(tag) // 2] + " " for tag in template.tags]
    words = st.lists(st.sampled_from([*WORDS, *begun]), max_size=6)
    # A bracket that follows a call may belong to it.
    return words.map("".join).map(str.strip).filter(lambda text: text[:1] not in ("}", "]"))


@st.composite
def cases(draw: st.DrawFn, key: str, *, most: int = 3, max_size: int = 6) -> Case:
    """Texts of calls and prose."""
    made = draw(calls(key, most=most, max_size=max_size))
    return Case(TEMPLATES[key], made, draw(prose(key)), draw(prose(key)))


def soups(key: str) -> st.SearchStrategy[str]:
    """What a format is made of, in any order."""
    template = TEMPLATES[key]
    pieces = [
        *template.tags * 3,
        *(tag[: len(tag) // 2] for tag in template.tags),
        *(tag[len(tag) // 2 :] for tag in template.tags),
        *(template.thought or ()),
        template.call("f", {"a": "x"}, 0),
        template.call("g", {}, 1),
        template.opening,
        template.closing,
        template.end,
        *template.bad,
        *JSON_BITS,
        *WORDS,
        '"name": "f"',
        '"arguments": {',
        '"arguments": "{\\"a\\": [1',
        "f",
    ]
    return st.lists(st.sampled_from(pieces), max_size=12).map("".join)


class Held:
    """The scalars that a text holds, in whatever notation: what a call may be made of."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._strings: set[str] = set()
        self._numbers: set[float] = set()
        self._collect(text)

    def _collect(self, text: str) -> None:
        self._numbers.update(json.loads(found[0]) for found in NUMBER.finditer(text))
        for start in re.finditer('"', text):
            found = STRING.match(text, start.start())
            if found is None or found[0] in self._strings:
                continue
            try:
                string = json.loads(found[0], strict=False)
            except ValueError:
                continue
            if string not in self._strings:
                self._strings.add(string)
                if string.lstrip()[:1] in ("{", "["):
                    # Arguments may be written as a string that holds them.
                    self._collect(string)

    def holds(self, value: Any) -> bool:
        """Tell whether every scalar of a value, and every key, is in the text."""
        if isinstance(value, dict):
            return all(self.holds(key) and self.holds(item) for key, item in value.items())
        if isinstance(value, list):
            return all(map(self.holds, value))
        if isinstance(value, str):
            return value in self._text or value in self._strings
        if value is None or isinstance(value, bool):
            return json.dumps(value) in self._text or str(value) in self._text
        return value in self._numbers
