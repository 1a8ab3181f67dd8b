"""Makes calls of the parts that a session reads, in the order of the text.

One-shot and streaming use the same `Reading`: the one hands it all parts at the end, the other each
as it comes.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Literal

from jsonrepair_lark.assembler import call_id
from jsonrepair_lark.calls import (
    RECOVERABLE,
    Call,
    Field,
    ParsedCalls,
    Part,
    RejectedCall,
    ToolCall,
    call_program,
)
from jsonrepair_lark.coercion import coerce
from jsonrepair_lark.completion import innermost, open_rules, open_values
from jsonrepair_lark.policies import Options, options_from
from jsonrepair_lark.reader import read, repairs_of
from jsonrepair_lark.recovery import RecoveringSession, Rejected
from jsonrepair_lark.result import Repair, apply
from jsonrepair_lark.scanner import is_text, local_name
from jsonrepair_lark.stack import Edit, Span
from jsonrepair_lark.tools import Tools, schema_of_argument, schemas_of
from jsonrepair_lark.transcript import Source
from jsonrepair_lark.values import MISSING, OTHER_NOTATIONS, partial_of

THOUGHT_OPENER: Final = "_THINK_OPEN"
"""The terminal of the contract that opens a thought."""


def read_calls(
    text: str,
    *,
    format: str,  # noqa: A002 - what callers call it
    tools: Tools = None,
    unknown: Literal["content", "drop"] = "content",
    thinking: bool = False,
    **options: Any,
) -> ParsedCalls:
    """Read a message in one format, not `auto`; arguments and errors as in `parse_calls`."""
    chosen = options_from(options)
    if not isinstance(text, str):
        raise TypeError(f"the text must be a str, not {type(text).__name__}")
    session = RecoveringSession(call_program(format), chosen.limits, RECOVERABLE)
    if thinking:
        begin_thought(session)
    session.finish(text)
    reading = Reading(session, text, schemas_of(tools), chosen, unknown=unknown)
    for part in parts_of(session):
        reading.take(part)
    return reading.finish(text)


def begin_thought(session: RecoveringSession) -> None:
    """Begin a session inside of a thought, where its format has any."""
    grammar = session.grammar
    accepted = grammar.actions[session.states[-1]]
    opener = next((name for name in accepted if local_name(name) == THOUGHT_OPENER), None)
    if opener is not None:
        session.begin(opener)


def parts_of(session: RecoveringSession) -> Iterable[Any]:
    """Yield the parts of a message from a session, finished or not."""
    for value in session.values:
        if isinstance(value, list):
            yield from value
        else:
            yield value


class Reading:
    """The calls, the content and the reasoning of one message.

    Args:
        session: what reads the message.
        text: the message, as far as it has come.
        schemas: the schema of each tool that was offered by its name, or None.
        options: the caller's.
        unknown: see `parse_calls`.

    Attributes:
        calls: the calls so far.
        rejected: the calls so far that were refused.
        last_end: the end of the last call, read or rejected.
    """

    def __init__(
        self,
        session: RecoveringSession,
        text: Source,
        schemas: dict[str, Any] | None,
        options: Options,
        *,
        unknown: str,
    ) -> None:
        self._session = session
        self._text = text
        self._schemas = schemas
        # Text inside a string is whole: what ends it is the quote.
        self._options = replace(options, finish_reason=None)
        self._unknown = unknown
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self.last_end = 0
        self.calls: list[ToolCall] = []
        self.rejected: list[RejectedCall] = []

    def take(self, part: Any) -> ToolCall | RejectedCall | None:
        """Take the next part; return the call that it is, read or rejected."""
        if isinstance(part, Part):
            (self._content if part.rule == "content" else self._reasoning).append(part.text)
        elif isinstance(part, Call):
            self.last_end = part.span.end
            return self._read_call(part)
        elif isinstance(part, Rejected):
            self.last_end = part.end
            return self._reject(part)
        return None

    def rest(self) -> tuple[str, int] | None:
        """Tell what a session that stopped outside of a call has left over.

        Returns:
            Whether it is `content` or `reasoning`, and where it starts; None if there is none.
        """
        session = self._session
        if session.stop is None:
            return None
        thought = next((r for r in open_rules(session) if r.rule == "reasoning"), None)
        if thought is not None:
            # What opens the thought is no part of it.
            symbols = enumerate(thought.stacked, thought.position)
            texts = (session.starts[place] for place, symbol in symbols if is_text(symbol))
            return "reasoning", next(texts, session.last_end)
        # What the format does not know outside of calls is text like any other.
        return "content", _start_of_rest(session, self.last_end)

    def finish(self, text: str) -> ParsedCalls:
        """Return what the whole message holds."""
        rest = self.rest()
        if rest is not None:
            kind, start = rest
            (self._content if kind == "content" else self._reasoning).append(text[start:])
        return ParsedCalls(
            content="".join(self._content),
            reasoning="".join(self._reasoning),
            calls=tuple(self.calls),
            rejected=tuple(self.rejected),
            text=text,
            format=self._session.grammar.name,
        )

    def is_offered(self, name: str) -> bool:
        """Tell whether a tool may be called."""
        return bool(name) and (self._schemas is None or name in self._schemas)

    def schema_of(self, tool: str) -> Any:
        """Return the schema of a tool's arguments, or None."""
        return self._schemas.get(tool) if self._schemas is not None else None

    def _refused(self, rejected: RejectedCall) -> RejectedCall:
        self.rejected.append(rejected)
        return rejected

    def _reject(self, part: Rejected) -> RejectedCall:
        fields = [v for _, values in part.values for v in values if isinstance(v, Field)]
        name = next((field.value for field in fields if field.rule == "tool_name"), None)
        return self._refused(
            RejectedCall(
                span=(part.start, part.end),
                reason=part.stop.reason or "unexpected_input",
                offset=min(part.stop.offset, part.end),
                name=name,
                partial=self.partial(part.values),
            )
        )

    def _read_call(self, call: Call) -> ToolCall | RejectedCall:
        start, end, _ = call.span
        names = [field.value for field in call.fields if field.rule == "tool_name"]
        name = names[0] if names else ""
        reason, arguments, value = self._arguments(call, self.schema_of(name))
        if reason is None and not call.has_arguments and self._is_cut_inside(call.span):
            reason = "truncated"
        if not name:
            reason = "missing_name"
        elif len(names) > 1:
            reason = "duplicate_key"
        elif not self.is_offered(name):
            reason = "unknown_tool"
            if self._unknown == "content":
                self._content.append(self._text[start:end])
        if reason is not None:
            return self._refused(
                RejectedCall(
                    span=(start, end), reason=reason, offset=start, name=name or None, partial=value
                )
            )
        index = len(self.calls)
        own_id = next((f.value for f in call.fields if f.rule == "tool_id"), "")
        made = ToolCall(
            index=index,
            id=own_id or call_id(name, arguments, index),
            name=name,
            arguments=arguments,
            value=value,
            span=(start, end),
            repairs=self._repairs(call.span),
        )
        self.calls.append(made)
        return made

    def _arguments(self, call: Call, schema: Any) -> tuple[str | None, str, Any]:
        """Return the reason to refuse a call's arguments, or their text and value."""
        whole = [field for field in call.fields if field.rule == "tool_args"]
        single = [field for field in call.fields if field.rule == "tool_arg"]
        if len(whole) > 1 or (whole and single):
            return "duplicate_key", "", None
        if whole:
            return self.whole_arguments(whole[0])
        value: dict[str, Any] = {}
        texts = []
        for field in single:
            name, text, item = self.argument(field, schema)
            if name in value:
                return "duplicate_key", "", value
            value[name] = item
            texts.append(f"{json.dumps(name, ensure_ascii=False)}: {text}")
        return None, "{" + ", ".join(texts) + "}", value

    def argument(self, field: Field, schema: Any) -> tuple[str, str, Any]:
        """Return name, JSON text and value of one argument, a field of the rule `tool_arg`.

        Args:
            field: the argument.
            schema: the schema of all arguments of the tool, or None.
        """
        name: str = field.value[0].value
        given: Field | None = field.value[1] if len(field.value) > 1 else None
        if given is not None and given.rule == "arg_value" and given.span is not None:
            value = given.value
            if not self._session.grammar.reaches("arg_value", OTHER_NOTATIONS):
                return name, self._repaired(given.span), value
        else:
            text = given.value if given is not None else ""
            value = coerce(text, schema_of_argument(schema, name))
        return name, json.dumps(value, ensure_ascii=False), value

    def whole_arguments(self, field: Field) -> tuple[str | None, str, Any]:
        """Return the reason to refuse a field of the rule `tool_args`, or its text and value."""
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

    def open_partial(self) -> Any:
        """Return the largest sound value of the arguments of the call that is open, or None."""
        session = self._session
        if session.failed is not None:
            return self.partial(session.failed.values)
        part = innermost(session.grammar, session.states, RECOVERABLE)
        if part is None:
            return None
        return self.partial(open_values(session, open_rules(session)[part.index :]))

    def _is_cut_inside(self, span: Span) -> bool:
        """Tell whether a bracket of the call itself was closed, so that more may have come."""
        return any(
            edit.kind == "missing_closer" and len(edit.replacement or "") == 1
            for edit in self._edits_in(span)
        )

    def _edits_in(self, span: Span) -> list[Edit]:
        edits = self._session.edits
        # Those of a call that was refused are gone.
        first = min(span.n_edits, len(edits))
        while first > 0 and edits[first - 1].start >= span.start:
            first -= 1
        return [edit for edit in edits[first : span.n_edits] if edit.is_inside(span.start)]

    def _local_repairs(self, span: Span) -> tuple[str, tuple[Repair, ...]]:
        """Return the text of a span and its repairs, with offsets in that text."""
        start = span.start
        moved = [
            replace(edit, start=edit.start - start, end=edit.end - start)
            for edit in self._edits_in(span)
        ]
        part = self._text[start : span.end]
        return part, repairs_of(moved, part)

    def _repairs(self, span: Span) -> tuple[Repair, ...]:
        return tuple(
            Repair(one.kind, one.offset + span.start, one.removed, one.inserted, self._text)
            for one in self._local_repairs(span)[1]
        )

    def _repaired(self, span: Span) -> str:
        """Return the text of a span with its edits applied."""
        return apply(*self._local_repairs(span))

    def partial(self, values: list[tuple[str, list[Any]]]) -> Any:
        """Return the largest sound value of the arguments of a call that is not complete.

        Args:
            values: the call's open rules and the values that each has so far, as `open_values`
                gives them.
        """
        fields = [v for _, inside in values for v in inside if isinstance(v, Field)]
        name = next((field.value for field in fields if field.rule == "tool_name"), "")
        whole = next((field.value for field in fields if field.rule == "tool_args"), None)
        if whole is not None:
            return whole
        single: dict[str, Any] = {}
        for field in fields:
            if field.rule == "tool_arg":
                argument, _, value = self.argument(field, self.schema_of(name))
                single[argument] = value
        inside = _partial_value(values)
        begun = next((v[0].value for rule, v in values if rule == "tool_arg" and v), None)
        # In other notations what has begun may still become something else: `{` a dict or a set.
        is_json = not self._session.grammar.reaches("arg_value", OTHER_NOTATIONS)
        if begun is not None and inside is not MISSING and is_json:
            single[begun] = inside
        if single or begun is not None:
            return single
        return inside if isinstance(inside, dict) else None


def _partial_value(values: list[tuple[str, list[Any]]]) -> Any:
    """Return the partial value of the outermost object or array among open rules, or `MISSING`."""
    containers = [place for place, (rule, _) in enumerate(values) if rule in ("object", "array")]
    if not containers:
        return MISSING
    return partial_of([(rule, list(inside)) for rule, inside in values[: containers[-1] + 1]])


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
