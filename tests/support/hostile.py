"""Generated tool calls whose values are full of their format's syntax; what a text holds."""

import ast
import json
import re
import warnings
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
# What calls in Python's syntax are made of, to be mixed with the above.
PYTHON_BITS: Final = (
    *("f(", "g.h(", ")", "a=", "b=", ", ", "'", "'''", '"""', "r'", "f'", "b'", "\\'", "\\x41"),
    *("True", "None", "'k': ", "('x', ", "{'y', ", "0x1f", "1_0", "007", "-", ".5", "[i for i in "),
    *(" + ", "{{", "'x' 'y'", "'a 'b' c'", "lambda: ", "...", "**", "[f(a=1", "), g(b='", "\\\n"),
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
PYTHON_NUMBER: Final = re.compile(
    r"(?<![\w.])(?:0[xX]\w+|0[oO]\w+|0[bB]\w+|(?:[0-9][0-9_]*)?\.?[0-9][0-9_]*\.?(?:[eE][-+]?[0-9_]+)?)"
)
PYTHON_OPENING: Final = re.compile(r"\s*([rR]?[fF]?[rR]?|[uU])('''|\"\"\"|'|\")")
PYTHON_ESCAPE: Final = re.compile(
    r"\\(?:\r\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.DOTALL
)
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
    # The notation of `gemma4` does not quote its keys.
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
    names = st.sampled_from(list(filter(template.can_name, ARGUMENT_NAMES)))
    if template.notation == "json":
        names |= strings(template, 3)
    arguments = st.dictionaries(names, values(key, max_size), max_size=3)
    count = min(most, template.most_calls)
    callable_ = [name for name in TOOL_NAMES if template.can_name(name, is_tool=True)]
    tools = draw(st.lists(st.sampled_from(callable_), min_size=1, max_size=count, unique=True))
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
        *(PYTHON_BITS if template.notation == "python" else ()),
    ]
    return st.lists(st.sampled_from(pieces), max_size=12).map("".join)


class Held:
    """The scalars that a text holds, in the notation of a template: what a call may be made of."""

    def __init__(self, text: str, template: Template) -> None:
        self._text = text
        self._is_python = template.notation == "python"
        self._strings: set[str] = set()
        self._numbers: set[float] = set()
        self._collect(text)
        if self._is_python:
            found = [number[0] for number in PYTHON_NUMBER.finditer(text)]
            self._numbers.update(size for one in found for size in magnitudes(one))

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
            is_plain = value in self._text or value in self._strings
            return is_plain or (self._is_python and is_spelled(value, self._text))
        if value is None or isinstance(value, bool):
            return json.dumps(value) in self._text or str(value) in self._text
        return value in self._numbers or (self._is_python and -value in self._numbers)


def magnitudes(written: str) -> list[float]:
    """What a number of Python is, whose zeros in front don't count."""
    try:
        return [ast.literal_eval(re.sub(r"^0[0_]*(?=[0-9])", "", written))]
    except (SyntaxError, ValueError):
        return []


def is_spelled(value: str, text: str) -> bool:
    """Tell whether string literals of Python that stand side by side in a text make up a string.

    A quote ends a literal or is a part of it: both are followed, as its escape may be missing.
    """
    starts = (opened(text, start, 0) for start in range(len(text)))
    todo = {start for start in starts if start is not None}
    seen = set(todo)
    while todo:
        literal, pos, at = todo.pop()
        following = set()
        if text.startswith(literal.quote, pos):
            if at == len(value):
                return True
            following.add(opened(text, pos + len(literal.quote), at))
        unit, end = spelled_unit(text, pos, literal.prefix)
        if end > pos and value.startswith(unit, at):
            following.add((literal, end, at + len(unit)))
        todo |= {one for one in following if one is not None} - seen
        seen |= todo
    return False


class Literal(NamedTuple):
    """What a string literal of Python opens with; the prefix in lower case."""

    prefix: str
    quote: str


def opened(text: str, pos: int, at: int) -> tuple[Literal, int, int] | None:
    """Return the literal that opens at a place, where its text begins, and the place in a value."""
    found = PYTHON_OPENING.match(text, pos)
    return found and (Literal(found[1].lower(), found[2]), found.end(), at)


def spelled_unit(text: str, pos: int, prefix: str) -> tuple[str, int]:
    """Return the character that stands in a literal at a place, and where what spells it ends."""
    escape = PYTHON_ESCAPE.match(text, pos)
    if escape is not None:
        return (escape[0] if "r" in prefix else unescaped(escape[0])), escape.end()
    is_doubled = "f" in prefix and text[pos : pos + 2] in ("{{", "}}")
    return text[pos : pos + 1], min(pos + 1 + is_doubled, len(text))


def unescaped(escape: str) -> str:
    # A line's end behind a backslash is none; a backslash before most characters is itself.
    if escape[1:] in ("\n", "\r", "\r\n"):
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(ast.literal_eval(f"'{escape}'"))
    except (SyntaxError, ValueError):
        return escape
