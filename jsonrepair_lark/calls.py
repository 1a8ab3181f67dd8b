"""Reads tool calls out of what a model wrote, by the rule names that all formats share.

The contract, which is all that this module knows of a format: `content`, `reasoning`, `tool_call`
with `tool_name`, `tool_id`, `tool_args` (the arguments as one JSON value), `tool_arg` with
`arg_name` and `arg_value` (JSON) or `arg_text` (raw text, never decoded). A call that is refused
never costs its siblings (`recovery`).
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Literal

from jsonrepair_lark.assembler import call_id
from jsonrepair_lark.coercion import coerce
from jsonrepair_lark.completion import open_rules
from jsonrepair_lark.formats import CALL_RULE, grammar_of
from jsonrepair_lark.policies import Options, options_from
from jsonrepair_lark.reader import read, repairs_of
from jsonrepair_lark.recovery import RecoveringSession, Rejected
from jsonrepair_lark.result import Repair, apply
from jsonrepair_lark.stack import Action, Edit, Program, Span, Token, actions_for
from jsonrepair_lark.tools import Tools, schema_of_argument, schemas_of
from jsonrepair_lark.values import MAKERS, OTHER_NOTATIONS, partial_of, repaired_value

AUTO: Final = "auto"
"""What stands for a format that is to be recognised."""
RECOVERABLE: Final = frozenset({CALL_RULE})
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
class _Part:
    """A piece of text of the message: content or reasoning; its tokens may still grow."""

    rule: str
    children: list[Any]

    @property
    def text(self) -> str:
        return _text(self.children)


@dataclass(frozen=True, slots=True)
class _Field:
    """A named value of a call: a rule of the contract, its value and its span if it has one.

    `given` is the value, or what text is made of, whose tokens may still grow; `inner` are fields
    inside it, such as a name that is part of an id.
    """

    rule: str
    given: Any
    span: Span | None = None
    inner: tuple["_Field", ...] = ()
    is_text: bool = False

    @property
    def value(self) -> Any:
        return _text(self.given) if self.is_text else self.given


@dataclass(frozen=True, slots=True)
class _Call:
    span: Span
    fields: tuple[_Field, ...]

    @property
    def has_arguments(self) -> bool:
        return any(field.rule in ("tool_args", "tool_arg") for field in self.fields)


def _text(children: list[Any]) -> str:
    pieces = (child.value if isinstance(child, _Field) else child for child in children)
    return "".join(piece.text if isinstance(piece, Token) else str(piece) for piece in pieces)


def _fields(children: list[Any]) -> tuple[_Field, ...]:
    return tuple(child for child in children if isinstance(child, _Field))


def _field_maker(name: str) -> Action:
    return lambda children: _Field(name, children, None, _fields(children), is_text=True)


def _spanned_field(name: str) -> Action:
    return lambda children: _Field(name, children[1], children[0])


def _part_maker(name: str) -> Action:
    return lambda children: _Part(name, children[1:])


_CALL_MAKERS: Final[dict[str, Action]] = {
    **MAKERS,
    "start": lambda children: children,
    "content": _part_maker("content"),
    "reasoning": _part_maker("reasoning"),
    "tool_name": _field_maker("tool_name"),
    "tool_id": _field_maker("tool_id"),
    "tool_args": _spanned_field("tool_args"),
    "tool_arg": lambda children: _Field("tool_arg", tuple(children)),
    "arg_name": _field_maker("arg_name"),
    "arg_value": _spanned_field("arg_value"),
    "arg_text": _field_maker("arg_text"),
    CALL_RULE: lambda children: _Call(
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


def read_calls(
    text: str,
    *,
    format: str,  # noqa: A002 - what callers call it
    tools: Tools = None,
    unknown: Literal["content", "drop"] = "content",
    **options: Any,
) -> ParsedCalls:
    """Read a message in one format, not `auto`; arguments and errors as in `parse_calls`."""
    chosen = options_from(options)
    if not isinstance(text, str):
        raise TypeError(f"the text must be a str, not {type(text).__name__}")
    session = RecoveringSession(call_program(format), chosen.limits, RECOVERABLE)
    session.finish(text)
    return _Reading(session, text, schemas_of(tools), chosen, unknown=unknown).parsed()


def call_data(parsed: ParsedCalls) -> dict[str, Any]:
    """Return what a message holds as data for JSON."""
    return {
        "content": parsed.content,
        "reasoning": parsed.reasoning,
        "calls": [
            {
                "index": call.index,
                "id": call.id,
                "name": call.name,
                "arguments": call.value,
                "span": list(call.span),
            }
            for call in parsed.calls
        ],
        "rejected": [
            {
                "span": list(call.span),
                "reason": call.reason,
                "offset": call.offset,
                "name": call.name,
                "partial": call.partial,
            }
            for call in parsed.rejected
        ],
        "format": parsed.format,
    }


class _Reading:
    """Turns what a finished session has read into calls."""

    def __init__(
        self,
        session: RecoveringSession,
        text: str,
        schemas: dict[str, Any] | None,
        options: Options,
        *,
        unknown: str,
    ) -> None:
        self._session = session
        self._text = text
        self._schemas = schemas
        self._options = options
        self._unknown = unknown
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._last_end = 0
        self._calls: list[ToolCall] = []
        self._rejected: list[RejectedCall] = []

    def parsed(self) -> ParsedCalls:
        session = self._session
        for part in _parts(session.values):
            if isinstance(part, _Part):
                (self._content if part.rule == "content" else self._reasoning).append(part.text)
            elif isinstance(part, _Call):
                self._last_end = part.span.end
                self._read_call(part)
            elif isinstance(part, Rejected):
                self._last_end = part.end
                self._reject(part)
        thought = next((r for r in open_rules(session) if r.rule == "reasoning"), None)
        if session.stop is not None and thought is not None:
            self._reasoning.append(self._text[thought.start :])
        elif session.stop is not None:
            # What the format does not know outside of calls is text like any other.
            self._content.append(self._text[_start_of_rest(session, self._last_end) :])
        return ParsedCalls(
            content="".join(self._content),
            reasoning="".join(self._reasoning),
            calls=tuple(self._calls),
            rejected=tuple(self._rejected),
            text=self._text,
            format=session.grammar.name,
        )

    def _refuse(self, call: _Call, reason: str, name: str | None, partial: Any = None) -> None:
        start, end, _ = call.span
        rejected = RejectedCall(
            span=(start, end), reason=reason, offset=start, name=name, partial=partial
        )
        self._rejected.append(rejected)

    def _reject(self, part: Rejected) -> None:
        fields = [v for _, values in part.values for v in values if isinstance(v, _Field)]
        name = next((field.value for field in fields if field.rule == "tool_name"), None)
        self._rejected.append(
            RejectedCall(
                span=(part.start, part.end),
                reason=part.stop.reason or "unexpected_input",
                offset=min(part.stop.offset, part.end),
                name=name,
                partial=_partial_arguments(part, fields),
            )
        )

    def _read_call(self, call: _Call) -> None:
        start, end, _ = call.span
        names = [field.value for field in call.fields if field.rule == "tool_name"]
        name = names[0] if names else ""
        schema = self._schemas.get(name) if self._schemas is not None else None
        reason, arguments, value = self._arguments(call, schema)
        if reason is None and not call.has_arguments and self._is_cut_inside(call.span):
            reason = "truncated"
        if not name:
            reason = "missing_name"
        elif len(names) > 1:
            reason = "duplicate_key"
        elif self._schemas is not None and name not in self._schemas:
            reason = "unknown_tool"
            if self._unknown == "content":
                self._content.append(self._text[start:end])
        if reason is not None:
            self._refuse(call, reason, name or None, value)
            return
        index = len(self._calls)
        own_id = next((f.value for f in call.fields if f.rule == "tool_id"), "")
        repairs = repairs_of(self._edits_in(call.span), self._text)
        self._calls.append(
            ToolCall(
                index=index,
                id=own_id or call_id(name, arguments, index),
                name=name,
                arguments=arguments,
                value=value,
                span=(start, end),
                repairs=repairs,
            )
        )

    def _arguments(self, call: _Call, schema: Any) -> tuple[str | None, str, Any]:
        """Return the reason to refuse a call's arguments, or their text and value."""
        whole = [field for field in call.fields if field.rule == "tool_args"]
        single = [field for field in call.fields if field.rule == "tool_arg"]
        if len(whole) > 1 or (whole and single):
            return "duplicate_key", "", None
        if whole:
            return self._whole_arguments(whole[0])
        value: dict[str, Any] = {}
        texts = []
        for field in single:
            name, given = field.value[0].value, field.value[1:]
            if name in value:
                return "duplicate_key", "", value
            value[name], text = self._argument(given[0] if given else None, name, schema)
            texts.append(f"{json.dumps(name, ensure_ascii=False)}: {text}")
        return None, "{" + ", ".join(texts) + "}", value

    def _argument(self, given: _Field | None, name: str, schema: Any) -> tuple[Any, str]:
        """Return value and JSON text of one argument."""
        if given is not None and given.rule == "arg_value" and given.span is not None:
            if self._session.grammar.reaches("arg_value", OTHER_NOTATIONS):
                return given.value, json.dumps(given.value, ensure_ascii=False)
            return given.value, self._repaired(given.span)
        text = given.value if given is not None else ""
        value = coerce(text, schema_of_argument(schema, name))
        return value, json.dumps(value, ensure_ascii=False)

    def _whole_arguments(self, field: _Field) -> tuple[str | None, str, Any]:
        value = field.value
        if value is None:
            return None, "{}", {}
        if isinstance(value, str):
            # Arguments that a model wrote as a string that holds them.
            inner = read(value, self._options)
            if not isinstance(inner.value, dict):
                return inner.reason or "not_an_object", "", inner.partial
            return None, inner.text, inner.value
        if not isinstance(value, dict):
            return "not_an_object", "", value
        if field.span is None or self._session.grammar.reaches("tool_args", OTHER_NOTATIONS):
            return None, json.dumps(value, ensure_ascii=False), value
        return None, self._repaired(field.span), value

    def _is_cut_inside(self, span: Span) -> bool:
        """Tell whether a bracket of the call itself was closed, so that more may have come."""
        return any(
            edit.kind == "missing_closer" and len(edit.replacement or "") == 1
            for edit in self._edits_in(span)
        )

    def _edits_in(self, span: Span) -> list[Edit]:
        edits = self._session.edits[: span.n_edits]
        return [edit for edit in edits if edit.is_inside(span.start)]

    def _repaired(self, span: Span) -> str:
        """Return the text of a span with its edits applied."""
        part = self._text[span.start : span.end]
        moved = [
            replace(repair, offset=repair.offset - span.start)
            for repair in repairs_of(self._edits_in(span), self._text)
        ]
        return apply(part, tuple(moved))


def _start_of_rest(session: RecoveringSession, last_end: int) -> int:
    """Return where the text starts that a stopped session has made no part of.

    Args:
        session: a session that stopped outside of a call.
        last_end: the end of the last call, read or rejected.
    """
    grammar = session.grammar
    stopped = session.stop.offset if session.stop else session.consumed
    begun = (
        session.starts[rule.position + index]
        for rule in open_rules(session)
        for index, symbol in enumerate(rule.stacked)
        if grammar.is_terminal(symbol)
    )
    start = next(begun, stopped)
    # What stands around calls that were read, such as a wrapper's tag, is no content.
    return start if start >= last_end else stopped


def _parts(values: list[Any]) -> list[Any]:
    """Return the parts of a message from the values of a stack, finished or not."""
    parts: list[Any] = []
    for value in values:
        if isinstance(value, list):
            parts += value
        else:
            parts.append(value)
    return parts


def _partial_arguments(part: Rejected, fields: list[_Field]) -> Any:
    """Return the largest sound value of a refused call's arguments."""
    whole = next((field.value for field in fields if field.rule == "tool_args"), None)
    if whole is not None:
        return whole
    single = {
        field.value[0].value: field.value[1].value
        for field in fields
        if field.rule == "tool_arg" and len(field.value) > 1
    }
    if single:
        return single
    inside = [(rule, list(values)) for rule, values in part.values]
    at = next((n for n, (rule, _) in enumerate(inside) if rule == "tool_args"), None)
    return partial_of(inside[:at]) if at else None
