"""Reads tool calls while they are written: one session fed in pieces, and events of what is sure.

There is no second parser: the session tells of each rule of the contract when it is complete, and
of what is still open a region (`regions`) gives the text that can no longer change. The rest of a
call's arguments comes when they are complete, so that the pieces are the text that `parse_calls`
gives.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from jsonrepair_lark.assembler import call_id
from jsonrepair_lark.calls import (
    AUTO,
    CALL_FIELDS,
    RECOVERABLE,
    Call,
    Field,
    ParsedCalls,
    Part,
    RejectedCall,
    ToolCall,
    call_data,
    call_program,
)
from jsonrepair_lark.coercion import is_any_text
from jsonrepair_lark.completion import open_rules
from jsonrepair_lark.policies import options_from
from jsonrepair_lark.reading import Reading, begin_thought
from jsonrepair_lark.recovery import RecoveringSession, Rejected
from jsonrepair_lark.regions import Region, RestRegion, TokenRegion, argument_region
from jsonrepair_lark.scanner import is_text
from jsonrepair_lark.stack import Token
from jsonrepair_lark.tools import Tools, schema_of_argument, schemas_of
from jsonrepair_lark.transcript import Transcript


@dataclass(frozen=True, slots=True)
class ContentDelta:
    """More of the content.

    Attributes:
        text: what comes next.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the text between the format's thinking markers.

    Attributes:
        text: what comes next.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call of a tool that may be called.

    Attributes:
        index: its place among the calls that have started.
        id: the format's own id if it has come, else one made of name and index: that of the
            finished call is made of the arguments as well, which are not known yet.
        name: the name of the tool.
    """

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """More of a call's arguments.

    Attributes:
        index: which call.
        text: what comes next of the JSON text.
    """

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call that may be executed.

    Attributes:
        index: which call; a call that was rejected after its start has an index too, so that
            `call.index` may be less.
        call: the call.
    """

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallRejected:
    """A call that was refused.

    Attributes:
        index: which call; None if it had not started.
        rejected: what is known of it.
    """

    index: int | None
    rejected: RejectedCall


Event = ContentDelta | ReasoningDelta | CallStarted | ArgumentsDelta | CallFinished | CallRejected


def event_data(event: Event) -> dict[str, Any]:
    """Return an event as data for JSON; `type` is the name of its class."""
    data: dict[str, Any] = {"type": type(event).__name__}
    for field in fields(event):
        value = getattr(event, field.name)
        is_call = isinstance(value, ToolCall | RejectedCall)
        data[field.name] = call_data(value) if is_call else value
    return data


class _OpenCall:
    """A call that is not complete.

    Attributes:
        index: its place among the started calls; None if it has not started.
        name, own_id: what has been read of it.
        n_sent: how many characters of its arguments were handed on.
        n_arguments: how many of its arguments were begun, where each is a field of its own.
        argument: the text of the open one's name and what follows that, or None.
        n_argument: how many characters of that argument were handed on.
        looked_at: what the parse looked like when no region had begun.
    """

    __slots__ = (
        "argument",
        "index",
        "looked_at",
        "n_argument",
        "n_arguments",
        "n_sent",
        "name",
        "own_id",
    )

    def __init__(self) -> None:
        self.index: int | None = None
        self.name = ""
        self.own_id = ""
        self.n_sent = 0
        self.n_arguments = 0
        self.argument: str | None = None
        self.n_argument = 0
        self.looked_at = (0, 0)


class CallStream:
    """Reads a message that arrives in pieces; the result is that of `parse_calls` on the whole.

    A delta costs what it is long, whatever came before. Nothing that an event says is taken back;
    a call that has started can still be rejected.

    Args:
        format: the format's name or one of its aliases; not `auto`, which needs the whole text.
        tools: as in `parse_calls`.
        unknown: as in `parse_calls`.
        thinking: as in `parse_calls`.
        **options: as in `repair`.

    Raises:
        GrammarNotFoundError: if there is no such format.
        TypeError, ValueError: as `parse_calls`; ValueError for `auto`.
    """

    def __init__(
        self,
        format: str,  # noqa: A002 - what callers call it
        tools: Tools = None,
        *,
        unknown: Literal["content", "drop"] = "content",
        thinking: bool = False,
        **options: Any,
    ) -> None:
        if format == AUTO:
            raise ValueError("the format of a stream must be known: auto needs the whole text")
        self._options = options_from(options)
        self._parts: list[Any] = []
        self._events: list[Event] = []
        self._transcript = Transcript()
        program = call_program(format).listened(CALL_FIELDS, self._parts.append)
        self._session = RecoveringSession(program, self._options.limits, RECOVERABLE)
        self._session.on_rejected = self._parts.append
        self._session.on_failed = self._take_failing
        if thinking:
            begin_thought(self._session)
        self._unknown = unknown
        self._reading = Reading(
            self._session, self._transcript, schemas_of(tools), self._options, unknown=unknown
        )
        self._part: Part | None = None
        self._region: Region | None = None
        self._region_rule = ""
        self._call: _OpenCall | None = None
        self._values: list[Any] = []
        self._result: ParsedCalls | None = None

    def feed(self, delta: str) -> list[Event]:
        """Take the next piece of the text; return the events that it makes certain.

        Raises:
            TypeError: if `delta` is not a str.
            ValueError: after `finish`.
        """
        self._transcript.add(delta)
        self._session.feed(delta)
        return self._take_events()

    def finish(self, finish_reason: str | None = None) -> list[Event]:
        """End the text and return the last events; none when called again.

        Args:
            finish_reason: what the model's API said, as the option of `repair`.

        Raises:
            TypeError: if it is no str.
        """
        if self._result is not None:
            return []
        if finish_reason is not None:
            self._options = replace(self._options, finish_reason=finish_reason)
            self._session.limits = self._options.limits
        self._session.finish()
        events = self._take_events()
        self._end_part()
        self._result = self._reading.finish(self._transcript.finish())
        return events + self._drain()

    @property
    def result(self) -> ParsedCalls:
        """What the message holds, as `parse_calls` returns it.

        Raises:
            ValueError: before `finish`.
        """
        if self._result is None:
            raise ValueError("the stream is not finished")
        return self._result

    def partial(self, index: int) -> Any:
        """Return the largest sound value of a call's arguments so far; None if there is none.

        Args:
            index: which call, as events tell it.

        Raises:
            IndexError: if no such call has started.
        """
        if index < 0 or index >= len(self._values):
            raise IndexError(f"no call {index} has started")
        if self._call is not None and self._call.index == index:
            return self._reading.open_partial()
        return self._values[index]

    def _drain(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _take_events(self) -> list[Event]:
        self._take_parts()
        self._advance()
        return self._drain()

    def _take_failing(self) -> None:
        """Hand on what is sure of a call that fails, wherever the pieces of the text end."""
        self._take_parts()
        if self._call is not None and self._region is None:
            self._find_argument(self._call)
        self._send_region()

    def _take_parts(self) -> None:
        for part in self._parts:
            self._take(part)
        self._parts.clear()

    # -- what is complete

    def _take(self, part: Any) -> None:
        """Take a part that the session tells of."""
        if isinstance(part, Part):
            self._take_part(part)
            return
        self._end_part()
        if isinstance(part, Field):
            self._take_field(part)
        elif isinstance(part, Call | Rejected):
            self._take_call(part)

    def _take_part(self, part: Part) -> None:
        """Take content or reasoning, whose last token may still grow."""
        if self._region_rule == part.rule == "reasoning" and self._part is None:
            # It was handed on before it was complete.
            self._part = part
            self._end_part()
            return
        self._end_part()
        self._part = part
        if part.children:
            self._region = TokenRegion(self._transcript, part.children[-1])
            self._region_rule = part.rule

    def _end_part(self) -> None:
        """Hand on what is left of content or reasoning."""
        if self._region_rule in ("content", "reasoning"):
            self._send_region()
            self._region, self._region_rule = None, ""
        if self._part is not None:
            self._reading.take(self._part)
            self._part = None

    def _take_field(self, field: Field) -> None:
        call = self._call = self._call or _OpenCall()
        if field.rule == "tool_id":
            call.own_id = field.value
        elif field.rule == "tool_name":
            self._take_name(call, field.value)
        elif field.rule == "tool_args":
            reason, text, _ = self._reading.whole_arguments(field)
            self._region = None
            if reason is None:
                # The last brace comes when the call is complete: whoever runs what parses must not
                # run a call that is still rejected.
                self._send_arguments(call, text[call.n_sent : -1])
        elif field.rule == "arg_name":
            self._take_argument_name(call, field.value)
        elif field.rule == "arg_text" and self._is_text(call):
            token = field.given[0] if len(field.given) == 1 else None
            if isinstance(token, Token) and is_text(token.terminal):
                self._region = TokenRegion(self._transcript, token, quoted=True)
        elif field.rule == "tool_arg":
            _, text, _ = self._reading.argument(field, self._reading.schema_of(call.name))
            self._region = None
            self._send_arguments(call, text[call.n_argument :])
            call.argument = None

    def _take_name(self, call: _OpenCall, name: str) -> None:
        if call.name:
            return
        call.name = name
        if not self._reading.is_offered(name):
            return
        call.index = len(self._values)
        self._values.append(None)
        made_id = call.own_id or call_id(name, "", call.index)
        self._events.append(CallStarted(call.index, made_id, name))

    def _take_argument_name(self, call: _OpenCall, name: str) -> None:
        before = ", " if call.n_arguments else "{"
        call.n_arguments += 1
        call.argument = name
        self._send_arguments(call, f"{before}{json.dumps(name, ensure_ascii=False)}: ")
        call.n_argument = 0

    def _is_text(self, call: _OpenCall) -> bool:
        """Tell whether the open argument is a string whatever it says."""
        schema = self._reading.schema_of(call.name)
        return is_any_text(schema_of_argument(schema, call.argument or ""))

    def _take_call(self, part: Call | Rejected) -> None:
        """Take a call that is complete or refused."""
        call = self._call or _OpenCall()
        made = self._reading.take(part)
        if isinstance(made, ToolCall):
            self._send_arguments(call, made.arguments[call.n_sent :])
            index = call.index if call.index is not None else made.index
            self._values[index] = made.value
            self._events.append(CallFinished(index, made))
        elif made is not None:
            if call.index is not None:
                self._values[call.index] = made.partial
            if made.reason == "unknown_tool" and self._unknown == "content":
                self._events.append(ContentDelta(self._transcript[made.span[0] : made.span[1]]))
            self._events.append(CallRejected(call.index, made))
        self._call = self._region = None
        self._region_rule = ""

    # -- what is open

    def _send_arguments(self, call: _OpenCall, text: str) -> None:
        if text and call.index is not None:
            call.n_sent += len(text)
            call.n_argument += len(text)
            self._events.append(ArgumentsDelta(call.index, text))

    def _send_region(self) -> None:
        """Hand on what is sure of the text that is open."""
        text = self._region.more() if self._region is not None else ""
        if not text:
            return
        if self._region_rule == "content":
            self._events.append(ContentDelta(text))
        elif self._region_rule == "reasoning":
            self._events.append(ReasoningDelta(text))
        elif self._call is not None:
            self._send_arguments(self._call, text)

    def _advance(self) -> None:
        """Look for text that is open, and hand on what is sure of it."""
        session = self._session
        if session.stop is not None:
            self._advance_rest()
        elif self._region is None and session.failed is None:
            if self._call is not None:
                self._find_argument(self._call)
            else:
                self._find_thought()
        self._send_region()

    def _find_argument(self, call: _OpenCall) -> None:
        session = self._session
        # What has not begun yet begins only with another token.
        looks = (len(session.states), session.states[-1])
        if call.index is None or looks == call.looked_at:
            return
        call.looked_at = looks
        if call.argument is None and call.n_sent:
            return
        has_text = call.argument is not None and self._is_text(call)
        self._region = argument_region(self._transcript, session, has_text=has_text)

    def _find_thought(self) -> None:
        session = self._session
        last = session.last_token
        is_open = last is not None and session.values[-1:] == [last]
        if last is None or not is_open or not is_text(last.terminal):
            return
        if open_rules(session)[-1].rule == "reasoning":
            self._region = TokenRegion(self._transcript, last)
            self._region_rule = "reasoning"

    def _advance_rest(self) -> None:
        """Hand on what a session that stopped outside of a call has left over."""
        rest = self._reading.rest()
        if rest is None or isinstance(self._region, RestRegion):
            return
        kind, start = rest
        if kind == "reasoning" and self._region_rule == kind:
            start = self._region_end()
        else:
            self._end_part()
        self._region = RestRegion(self._transcript, start)
        self._region_rule = kind

    def _region_end(self) -> int:
        """Return the end of the token that the region hands on, once that is done."""
        self._send_region()
        last = self._session.last_token
        return last.end if last is not None else self._session.last_end


async def astream(
    deltas: AsyncIterable[str],
    format: str,  # noqa: A002 - what callers call it
    tools: Tools = None,
    **options: Any,
) -> AsyncIterator[Event]:
    """Yield the events of a message whose pieces an asynchronous iterator gives.

    Args:
        deltas: the pieces.
        format: as in `CallStream`, like all other arguments.
        tools: see there.
        **options: see there.

    Raises:
        GrammarNotFoundError, TypeError, ValueError: as `CallStream`.
    """
    stream = CallStream(format, tools, **options)
    async for delta in deltas:
        for event in stream.feed(delta):
            yield event
    for event in stream.finish():
        yield event
