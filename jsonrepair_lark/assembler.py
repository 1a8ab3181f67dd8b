"""Assembles tool calls from the pieces that an API streams.

Each slot, which is an `index` of the API, has a session that is fed as its pieces come. Where a
slot holds several objects side by side, each is a call. A slot that is refused is an incomplete
call with the reason and what was sound; it never becomes a call without arguments.

Source: OpenAI's chat completion chunks, `choices[].delta.tool_calls[]`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from jsonrepair_lark.policies import CUT, Options, options_from
from jsonrepair_lark.reader import before_duplicate, json_program, read, result_of
from jsonrepair_lark.result import Result
from jsonrepair_lark.session import Session
from jsonrepair_lark.several import has_value
from jsonrepair_lark.values import MISSING, KeyCheck, partial_value

NO_ARGUMENTS: Final = "{}"
PIECE_CHARACTERS: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledCall:
    """One call.

    Attributes:
        index: its place among all calls.
        slot: the API's index of the slot that it came in.
        id: the API's id; one of its own for a further call of a slot, or where the API sent none.
        name: the name of the function; empty if none came.
        complete: whether the call may be executed; if not, `arguments` and `value` are None.
        arguments: the text of a JSON object.
        value: the arguments as a dict.
        reason: why the call is incomplete, or None: a reason code of `repair`, or `missing_name`.
        partial: the largest sound value of the arguments; None where nothing was complete.
        result: the result of the repair; None if the API sent no arguments.
    """

    index: int
    slot: int
    id: str
    name: str
    complete: bool
    arguments: str | None
    value: dict[str, Any] | None
    reason: str | None
    partial: Any
    result: Result | None


def call_id(name: str, arguments: str, index: int) -> str:
    """Return the id of a call that has none: `call_` and 12 hexadecimal digits.

    The same name, arguments and index give the same id, in every process.
    """
    content = "\0".join((name, arguments, str(index)))
    # A lone surrogate in a name is the caller's affair, and no reason to raise here.
    return "call_" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class _Slot:
    """What came of one slot: its name and id, and the values that its pieces make up."""

    def __init__(self, number: int, options: Options) -> None:
        self.number = number
        self.id = ""
        self.name = ""
        self._options = options
        self._results: list[Result] = []
        self._pieces: list[str] = []
        self._begin()

    def _begin(self) -> None:
        """Begin the next value of the slot."""
        checks = self._options.duplicate_keys == "reject"
        self._check = KeyCheck(json_program().grammar) if checks else None
        program = self._check.program if self._check else json_program()
        self._session = Session(program, self._options.limits)

    def add_name(self, name: str) -> None:
        # Some servers send the whole name with every piece.
        if name != self.name:
            self.name += name

    def feed(self, text: str) -> None:
        # Each value of a slot is fed what is left of the piece that the one before ended in.
        for start in range(0, len(text), PIECE_CHARACTERS):
            self._feed_piece(text[start : start + PIECE_CHARACTERS])

    def _feed_piece(self, text: str) -> None:
        self._pieces.append(text)
        self._session.feed(text)
        while self._session.stop is not None and has_value(self._session):
            session = self._session
            source = "".join(self._pieces)
            part, rest = source[: session.last_end], session.rest
            session.accept()
            self._results.append(self._result(session, part))
            self._begin()
            self._pieces = [rest]
            self._session.feed(rest)

    def _result(self, session: Session, part: str) -> Result:
        if self._options.duplicate_keys == "reject":
            return read(part, self._options)
        return result_of(session, part, self._options)

    def partial(self) -> Any:
        session = self._session
        duplicate = self._check.first(session) if self._check else None
        if duplicate is not None:
            # What was shown before the repeated key came is not taken back.
            session = before_duplicate("".join(self._pieces), self._options, *duplicate)
        value = partial_value(session)
        if value is MISSING:
            return self._results[-1].value if self._results else None
        return value

    def finish(self, *, is_cut: bool) -> list[Result]:
        session = self._session
        if is_cut:
            session.limits = replace(session.limits, truncated=True)
        session.finish()
        last = self._result(session, "".join(self._pieces))
        if last.reason == "empty" and (self._results or not is_cut):
            return self._results
        return [*self._results, last]


class ArgumentAssembler:
    """Assembles the tool calls of one message from streamed deltas.

    Args:
        **options: as in `repair`; `finish_reason` can also be given to `finish`.

    Raises:
        TypeError, ValueError: as `repair`.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options_from(options)
        self._slots: list[_Slot] = []
        self._calls: list[AssembledCall] | None = None

    def feed(self, delta: Any) -> None:
        """Take a delta of one tool call, or several.

        Args:
            delta: a mapping or an object with `index`, `id`, `function.name` and
                `function.arguments`, each of which may be missing or None; an iterable of such;
                or None.

        Raises:
            TypeError: for text.
            ValueError: after `finish`.
        """
        if self._calls is not None:
            raise ValueError("the calls are assembled")
        if delta is None:
            return
        if isinstance(delta, str | bytes):
            raise TypeError(f"a delta must not be of type {type(delta).__name__}")
        # The SDK's objects are iterable too: over their fields.
        if (
            isinstance(delta, Iterable)
            and not hasattr(delta, "function")
            and not isinstance(delta, Mapping)
        ):
            for one in delta:
                self.feed(one)
            return
        slot = self._slot_of(_field(delta, "index"), _field(delta, "id"))
        function = _field(delta, "function")
        name = _field(function, "name")
        if isinstance(name, str):
            slot.add_name(name)
        arguments = _field(function, "arguments")
        if isinstance(arguments, str):
            slot.feed(arguments)

    def _slot_of(self, index: Any, identifier: Any) -> _Slot:
        """Return the slot that a delta belongs to: by index, by id, else the last one."""
        known = isinstance(identifier, str) and identifier != ""
        if isinstance(index, int):
            found = [slot for slot in self._slots if slot.number == index]
            # Some servers count every call as the first: another id is another call.
            if known and found and found[-1].id and all(s.id != identifier for s in found):
                found = []
            elif known and found:
                found = [s for s in found if s.id == identifier] or found
        elif known:
            found = [slot for slot in self._slots if slot.id == identifier]
        else:
            found = self._slots[-1:]
        if found:
            slot = found[-1]
        else:
            number = index if isinstance(index, int) else len(self._slots)
            slot = _Slot(number, self._options)
            self._slots.append(slot)
        if known and not slot.id:
            slot.id = identifier
        return slot

    def partial(self, index: int) -> Any:
        """Return the largest sound value of a slot so far, of several objects the last.

        Args:
            index: the API's index of the slot.

        Returns:
            None where nothing is complete yet, or there is no such slot.
        """
        found = [slot for slot in self._slots if slot.number == index]
        return found[-1].partial() if found else None

    def finish(self, finish_reason: str | None = None) -> list[AssembledCall]:
        """End the message and return its calls, by slot; the same list when called again.

        Args:
            finish_reason: what the API said: with `"length"` a slot that is open is incomplete.
        """
        if self._calls is None:
            is_cut = self._options.is_cut or (finish_reason or "").casefold() in CUT
            self._calls = []
            for slot in sorted(self._slots, key=lambda slot: slot.number):
                results: list[Result | None] = [*slot.finish(is_cut=is_cut)]
                for place, result in enumerate(results or [None]):
                    self._calls.append(self._call(slot, result, is_first=place == 0))
        return self._calls

    def _call(self, slot: _Slot, result: Result | None, *, is_first: bool) -> AssembledCall:
        assert self._calls is not None  # noqa: S101 - finish has made it
        index = len(self._calls)
        reason, text, value = _arguments(result)
        if reason is None and not slot.name:
            reason = "missing_name"
        source = text or (result.input if result else "")
        return AssembledCall(
            index=index,
            slot=slot.number,
            id=(slot.id if is_first else "") or call_id(slot.name, source, index),
            name=slot.name,
            complete=reason is None,
            arguments=text if reason is None else None,
            value=value if reason is None else None,
            reason=reason,
            partial=result.partial if result and value is None else value,
            result=result,
        )


def _arguments(result: Result | None) -> tuple[str | None, str | None, dict[str, Any] | None]:
    """Return the reason to refuse a result as arguments, or their text and value."""
    if result is None:
        return None, NO_ARGUMENTS, {}
    if isinstance(result.value, str):
        # Arguments that a model wrote as a string that holds them.
        inner = read(result.value, result.options)
        if isinstance(inner.value, dict):
            return None, inner.text, inner.value
    if isinstance(result.value, dict):
        return None, result.text, result.value
    return result.reason or "not_an_object", None, None


def _field(source: Any, name: str) -> Any:
    """Return a member of a mapping or an object, None where it has none."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
