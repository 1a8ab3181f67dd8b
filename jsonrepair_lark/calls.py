"""What a message with tool calls holds, and the rule names by which every format tells it.

The contract, which is all that the library knows of a format: `content`, `reasoning`, `tool_call`
with `tool_name`, `tool_id`, `tool_args` (the arguments as one JSON value), `tool_arg` with
`arg_name` and `arg_value` (JSON) or `arg_text` (raw text, never decoded). A call that is refused
never costs its siblings (`recovery`).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from jsonrepair_lark.formats import CALL_RULE, grammar_of
from jsonrepair_lark.result import Repair
from jsonrepair_lark.stack import Action, Program, Span, Token, actions_for
from jsonrepair_lark.values import MAKERS, repaired_value

AUTO: Final = "auto"
"""What stands for a format that is to be recognised."""
RECOVERABLE: Final = frozenset({CALL_RULE})
CALL_FIELDS: Final = frozenset(
    {
        *("content", "reasoning", CALL_RULE, "tool_name", "tool_id", "tool_args"),
        *("tool_arg", "arg_name", "arg_value", "arg_text"),
    }
)
"""The rules of the contract that a message is made of."""
SPANNED: Final = frozenset({"content", "reasoning", CALL_RULE, "tool_args", "arg_value"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that may be executed.

    Attributes:
        index: its place among the calls.
        id: the format's own id, else one made of name, arguments and index.
        name: the name of the tool.
        arguments: the text of a JSON object.
        value: the arguments as a dict.
        span: where it stands in the text.
        repairs: the edits inside it.
    """

    index: int
    id: str
    name: str
    arguments: str
    value: dict[str, Any]
    span: tuple[int, int]
    repairs: tuple[Repair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedCall:
    """A call that was seen and refused.

    Attributes:
        span: where it stands in the text.
        reason: a reason code of `repair`, or `missing_name`, `unknown_tool`.
        offset: where in the text it was refused.
        name: the name of the tool, if it was read.
        partial: the largest sound value of its arguments, or None.
    """

    span: tuple[int, int]
    reason: str
    offset: int
    name: str | None
    partial: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCalls:
    """What a message holds.

    Attributes:
        content: the text outside the calls, in order.
        reasoning: the text between the format's thinking markers.
        calls: the calls, in order.
        rejected: the calls that were refused, in order.
        text: the message.
        format: the name of the format's grammar.
    """

    content: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    rejected: tuple[RejectedCall, ...]
    text: str
    format: str

    @property
    def tree(self) -> Any:
        """The lark `Tree` of the parse, made by parsing the text once more."""
        if self.format == AUTO:
            from lark import Tree

            return Tree("start", [Tree("content", [self.text])])
        from jsonrepair_lark.trees import calls_tree

        return calls_tree(self.text, grammar_of(self.format), RECOVERABLE)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of text of the message: content or reasoning; its tokens may still grow."""

    rule: str
    children: list[Any]

    @property
    def text(self) -> str:
        """The text so far."""
        return _text(self.children)


@dataclass(frozen=True, slots=True)
class Field:
    """A named value of a call: a rule of the contract, its value and its span if it has one.

    `given` is the value, or what text is made of, whose tokens may still grow; `inner` are fields
    inside it, such as a name that is part of an id.
    """

    rule: str
    given: Any
    span: Span | None = None
    inner: tuple["Field", ...] = ()
    is_text: bool = False

    @property
    def value(self) -> Any:
        """The value; of text, as far as it has come."""
        return _text(self.given) if self.is_text else self.given


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it was read: where it stands and its fields."""

    span: Span
    fields: tuple[Field, ...]

    @property
    def has_arguments(self) -> bool:
        """Whether it says what its arguments are."""
        return any(field.rule in ("tool_args", "tool_arg") for field in self.fields)


def _text(children: list[Any]) -> str:
    pieces = (child.value if isinstance(child, Field) else child for child in children)
    return "".join(piece.text if isinstance(piece, Token) else str(piece) for piece in pieces)


def _fields(children: list[Any]) -> tuple[Field, ...]:
    return tuple(child for child in children if isinstance(child, Field))


def _field_maker(name: str) -> Action:
    return lambda children: Field(name, children, None, _fields(children), is_text=True)


def _spanned_field(name: str) -> Action:
    return lambda children: Field(name, children[1], children[0])


def _part_maker(name: str) -> Action:
    return lambda children: Part(name, children[1:])


_CALL_MAKERS: Final[dict[str, Action]] = {
    **MAKERS,
    "start": lambda children: children,
    "content": _part_maker("content"),
    "reasoning": _part_maker("reasoning"),
    "tool_name": _field_maker("tool_name"),
    "tool_id": _field_maker("tool_id"),
    "tool_args": _spanned_field("tool_args"),
    "tool_arg": lambda children: Field("tool_arg", tuple(children)),
    "arg_name": _field_maker("arg_name"),
    "arg_value": _spanned_field("arg_value"),
    "arg_text": _field_maker("arg_text"),
    CALL_RULE: lambda children: Call(
        children[0],
        tuple(one for field in _fields(children) for one in (*field.inner, field)),
    ),
}


@cache
def call_program(name: str) -> Program:
    """Return the program that reads the calls of a format, made once per process.

    Raises:
        GrammarNotFoundError: if there is no such format.
    """
    grammar = grammar_of(name)
    actions = actions_for(grammar, _CALL_MAKERS.__getitem__, repaired_value, SPANNED)
    return Program(grammar, actions, SPANNED)


def message_data(parsed: ParsedCalls) -> dict[str, Any]:
    """Return what a message holds as data for JSON."""
    return {
        "content": parsed.content,
        "reasoning": parsed.reasoning,
        "calls": list(map(call_data, parsed.calls)),
        "rejected": list(map(call_data, parsed.rejected)),
        "format": parsed.format,
    }


def call_data(call: ToolCall | RejectedCall) -> dict[str, Any]:
    """Return a call as data for JSON."""
    if isinstance(call, ToolCall):
        return {
            "index": call.index,
            "id": call.id,
            "name": call.name,
            "arguments": call.value,
            "span": list(call.span),
        }
    return {
        "span": list(call.span),
        "reason": call.reason,
        "offset": call.offset,
        "name": call.name,
        "partial": call.partial,
    }
