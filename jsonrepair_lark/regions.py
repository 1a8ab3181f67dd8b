"""Text that a stream hands on while the rule that it belongs to is still open.

A region gives, after each delta, what has come and can no longer change. It need not give all that:
what is left comes when its rule is complete. But what it gives must stand.
"""

import json
from collections.abc import Iterable
from typing import Final, Protocol

from jsonrepair_lark.completion import inside_of
from jsonrepair_lark.lexemes import decode_python_string
from jsonrepair_lark.recovery import RecoveringSession
from jsonrepair_lark.scanner import is_text
from jsonrepair_lark.stack import Token
from jsonrepair_lark.transcript import Transcript
from jsonrepair_lark.values import OTHER_NOTATIONS

AWAITED: Final = frozenset({"tool_args", "arg_value", "arg_text"})


def escaped(text: str) -> str:
    """Return text as it stands between the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


class Region(Protocol):
    """What gives text as it comes."""

    def more(self) -> str:
        """Return what has come since the last time."""
        ...


class TokenRegion:
    """The text of an open-ended token, which may still grow.

    Args:
        transcript: the text of the stream.
        token: the token.
        quoted: whether the text becomes a JSON string.
    """

    def __init__(self, transcript: Transcript, token: Token, *, quoted: bool = False) -> None:
        self._transcript = transcript
        self._token = token
        self._quoted = quoted
        self._at = token.start
        self._begun = not quoted

    def more(self) -> str:
        """Return what has come since the last time."""
        text = self._transcript[self._at : self._token.end]
        self._at = self._token.end
        if not self._quoted:
            return text
        opener = "" if self._begun else '"'
        self._begun = True
        return opener + escaped(text)


class WholeRegion:
    """A value that nothing is handed on of before it is complete."""

    def more(self) -> str:
        """Return no text."""
        return ""


class RestRegion:
    """All text from an offset on."""

    def __init__(self, transcript: Transcript, start: int) -> None:
        self._transcript = transcript
        self._at = start

    def more(self) -> str:
        """Return what has come since the last time."""
        text = self._transcript[self._at :]
        self._at += len(text)
        return text


class JsonRegion:
    """The text of an open JSON value with its repairs, as it will stand in the arguments.

    Args:
        transcript: the text of the stream.
        session: what reads it.
        position: index of the value's first symbol in the value stack.
    """

    def __init__(self, transcript: Transcript, session: RecoveringSession, position: int) -> None:
        self._transcript = transcript
        self._session = session
        self._position = position
        self._opener = session.values[position]
        self._at = session.starts[position]
        edits = session.edits
        self._n_edits = len(edits)
        while self._n_edits and edits[self._n_edits - 1].is_inside(self._at):
            self._n_edits -= 1

    def _stable_end(self) -> int:
        """Return up to where nothing can change any more."""
        session = self._session
        last = session.last_token
        is_waiting = last is not None and session.values[-1:] == [last]
        if last is not None and is_waiting and last.terminal in session.grammar.deletable:
            # A comma may turn out to be one too many.
            return last.start
        return session.last_end

    def more(self) -> str:
        """Return what has come since the last time; nothing once the value is complete."""
        if self._session.values[self._position : self._position + 1] != [self._opener]:
            return ""
        end = self._stable_end()
        edits = self._session.edits
        pieces = []
        while self._n_edits < len(edits) and edits[self._n_edits].start <= end:
            edit = edits[self._n_edits]
            pieces.append(self._transcript[self._at : edit.start])
            if edit.replacement is not None:
                pieces.append(edit.replacement)
            else:
                start = max(self._at, edit.start)
                pieces.append(edit.replace(self._transcript[start : edit.end]))
            self._at = max(self._at, edit.end)
            if edit.replacement is None and edit.end == end:
                # The token that it changes may still grow.
                return "".join(pieces)
            self._n_edits += 1
        if end > self._at:
            pieces.append(self._transcript[self._at : end])
            self._at = end
        return "".join(pieces)


class PythonStringRegion:
    """The text of an open string in Python's notation, as a JSON string.

    Args:
        transcript: the text of the stream.
        session: what reads it.
        opener: the string's opening quote, and its index in the value stack.
        is_raw: whether backslashes stand for themselves.
    """

    def __init__(
        self,
        transcript: Transcript,
        session: RecoveringSession,
        opener: tuple[Token, int],
        *,
        is_raw: bool,
    ) -> None:
        self._transcript = transcript
        self._session = session
        self._opener, self._position = opener
        self._is_raw = is_raw
        self._at = self._opener.end
        self._begun = False

    def more(self) -> str:
        """Return what has come since the last time; nothing once the string is closed."""
        session = self._session
        is_open = len(session.values) > self._position + 1 and (
            session.values[self._position] is self._opener
        )
        if not is_open or session.last_end <= self._at:
            return ""
        text = self._transcript[self._at : session.last_end]
        self._at = session.last_end
        opener = "" if self._begun else '"'
        self._begun = True
        return opener + escaped(text if self._is_raw else decode_python_string(text))


def argument_region(
    transcript: Transcript, session: RecoveringSession, *, has_text: bool
) -> Region | None:
    """Return the region of the arguments, or of the argument, that has begun; None while none has.

    Args:
        transcript: the text of the stream.
        session: what reads it.
        has_text: whether an untyped argument that is open is a string whatever it says.
    """
    begun = inside_of(session, AWAITED)
    if begun is None:
        return None
    awaited, inside = begun
    rule, position = inside[0]
    if awaited == "arg_text":
        if not has_text:
            return WholeRegion()
        token = session.values[-1]
        is_alone = isinstance(token, Token) and is_text(token.terminal) and len(inside) == 1
        return TokenRegion(transcript, token, quoted=True) if is_alone else None
    if session.grammar.reaches(awaited, OTHER_NOTATIONS):
        return _python_string(transcript, session, inside)
    if rule == "object" or (awaited == "arg_value" and rule in ("array", "string")):
        return JsonRegion(transcript, session, position)
    return WholeRegion()


def _python_string(
    transcript: Transcript, session: RecoveringSession, inside: Iterable[tuple[str, int]]
) -> Region | None:
    """Return the region of a string that is a whole argument, unless it may hold placeholders."""
    visible = {rule for rule, _ in inside if not rule.startswith("_")}
    is_string = visible <= {"python_string"} or visible == {"raw_string"}
    # Where surrogates are replaced, the text that came is not what it stands for.
    if not is_string or "lone_surrogate" in session.limits.allowed:
        return WholeRegion()
    openers = session.grammar.text_openers
    for position in range(len(session.values) - 1, -1, -1):
        value = session.values[position]
        if isinstance(value, Token) and value.terminal in openers:
            return PythonStringRegion(
                transcript, session, (value, position), is_raw="raw_string" in visible
            )
    return None
