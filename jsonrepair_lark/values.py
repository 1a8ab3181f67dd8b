"""Makes Python values from the rules of JSON that every grammar shares, whole or partial.

The names are the contract: `object array pair string number true false null`, `raw_string` for text
in no notation, and `python_string format_string raw_format_string concatenation python_number` for
Python's. A value is made when its rule is reduced, so
that what is there can be had at any time, and the rules that are still open tell the path to what
is missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from jsonrepair_lark.completion import OpenRule, open_rules, open_values
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.lexemes import (
    decode_number,
    decode_python_number,
    decode_python_string,
    decode_string,
)
from jsonrepair_lark.paths import step_text
from jsonrepair_lark.scanner import is_text, local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Action, Inline, Program, Token, actions_for, flattened

MISSING: Final = object()
"""Stands for a value that is not there."""


def _string(children: list[Any]) -> str:
    if len(children) == 1:
        return decode_string(children[0].source[1:-1])
    return decode_string("".join(token.text for token in children[1:-1]))


def _first(children: list[Any]) -> Any:
    return children[0]


def _raw_string(children: list[Any]) -> str:
    return "".join(token.text for token in children)


def _python_text(children: list[Any]) -> str:
    """Return what stands between the quotes of a string that is one token or comes in pieces."""
    if [child for child in children if child.repair or is_text(child.terminal)] == children:
        return "".join(map(_python_piece, children))
    return str(children[0].source[1:-1])


def _python_piece(token: Token) -> str:
    # In a format string a brace is written twice.
    return token.text[::2] if local_name(token.terminal) == "BRACES_TEXT" else token.text


def _python_string(children: list[Any]) -> str:
    return decode_python_string(_python_text(children))


def _python_number(children: list[Any]) -> int | float:
    if len(children) == 1:
        return decode_python_number(children[0].source)
    number: int | float = children[1]
    return -number if children[0].source == "-" else number


MAKERS: Final[dict[str, Action]] = {
    "array": list,
    "object": dict,
    "pair": tuple,
    "string": _string,
    "python_string": _python_string,
    "format_string": _python_string,
    "raw_format_string": _python_text,
    "raw_string": _raw_string,
    "concatenation": "".join,
    "python_number": _python_number,
    "number": lambda children: decode_number(children[0].source),
    "true": lambda _children: True,
    "false": lambda _children: False,
    "null": lambda _children: None,
    "start": _first,
}
"""What makes the value of each rule of the contract from its children."""
OTHER_NOTATIONS: Final = frozenset(
    {"python_string", "raw_string", "format_string", "raw_format_string", "python_number"}
)
"""The rules among them whose text is no JSON."""


def repaired_value(name: str, kind: str) -> Action:
    """Return what makes the value of a repair production."""
    del kind
    # A repaired literal is what its rule says. What a repair drops leaves no value; a repaired
    # piece of a string stays a piece.
    return MAKERS.get(name) or (
        lambda children: Inline(t for t in children if t.repair and t.repair.replacement != "")
    )


def value_program(grammar: Grammar) -> Program:
    """Return the program that makes values; the start rule's is the text's value."""
    return Program(grammar, actions_for(grammar, MAKERS.__getitem__, repaired_value))


class _Located(str):
    """A key that knows where it starts."""

    __slots__ = ("offset",)
    offset: int


class KeyCheck:
    """A program that makes values and notes the keys that their object has already.

    Attributes:
        program: for one session, without native scanners.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._closed: list[_Located] = []
        makers: dict[str, Action] = {
            **MAKERS,
            "array": _plain_list,
            "object": self._object,
            "pair": lambda children: (children[0], _plain(children[1])),
            "start": lambda children: _plain(children[0]),
            "string": self._string,
        }
        self.program = Program(grammar, actions_for(grammar, makers.__getitem__, repaired_value))

    def first(self, session: Session) -> tuple[int, str] | None:
        """Return offset and name of the first repeated key in what the session has read."""
        repeated = list(self._closed)
        for rule, children in open_values(session, open_rules(session)):
            if rule == "object" or rule.startswith("_"):
                repeated += _repeated(child for child in children if isinstance(child, tuple))
        return min(((key.offset, str(key)) for key in repeated), default=None)

    @staticmethod
    def _string(children: list[Any]) -> str:
        key = _Located(_string(children))
        key.offset = children[0].start
        return key

    def _object(self, pairs: list[tuple[_Located, Any]]) -> dict[str, Any]:
        self._closed += _repeated(pairs)
        return _plain_dict(pairs)


def _plain(value: Any) -> Any:
    """Return a value without the place of a string in it."""
    return str(value) if type(value) is _Located else value


def _plain_list(children: Iterable[Any]) -> list[Any]:
    return [_plain(child) for child in children]


def _plain_dict(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {_plain(key): value for key, value in pairs}


def _repeated(pairs: Iterable[tuple[_Located, Any]]) -> list[_Located]:
    seen: set[str] = set()
    repeated = []
    for key, _ in pairs:
        if key in seen:
            repeated.append(key)
        seen.add(key)
    return repeated


def partial_value(session: Session) -> Any:
    """Return the largest sound value of what a session has read, or `MISSING`.

    Each scalar in it was complete; lists and objects hold what they were given so far. The
    session is not changed.
    """
    if session.states[-1] == session.grammar.tables.end:
        return session.values[-1]
    return partial_of(open_values(session, open_rules(session)))


@dataclass(frozen=True, slots=True)
class Preview:
    """What a stream could show while it is written; for display only, as not all of it is sure.

    Attributes:
        value: the value so far, with the string that is not finished as it stands; None where
            there is nothing yet.
        unfinished: the path of that string, such as `$.text`; None if no string is open, and then
            the value is sound.
    """

    value: Any
    unfinished: str | None


def preview_of(session: Session) -> Preview:
    """Return what a session has read, with the string that is open; the session is not changed."""
    chain = open_rules(session)
    text = _open_string(session, chain)
    if text is None:
        value = partial_value(session)
        return Preview(None if value is MISSING else value, None)
    value = partial_of(open_values(session, chain), text)
    return Preview(value, path_of(session, into_empty=True))


def _open_string(session: Session, chain: list[OpenRule]) -> str | None:
    """Return the text so far of an open string that is no key, else None."""
    place = next((n for n, rule in enumerate(chain) if rule.rule == "string"), None)
    # Right inside of an object it is a key.
    if place is None or (place and chain[place - 1].rule in ("object", "_pairs")):
        return None
    tokens = flattened(session.values[chain[place].position :])
    texts = [token.text for token in tokens if isinstance(token, Token) and is_text(token.terminal)]
    return decode_string("".join(texts))


def partial_of(values: list[tuple[str, list[Any]]], text: str | None = None) -> Any:
    """Return the largest sound value of open rules, innermost first, or `MISSING`.

    Args:
        values: the rules' names and the values that each has so far, as `open_values` gives them.
        text: what to take for the value of an open string; None for nothing.
    """
    inner = MISSING
    for rule, children in values:
        if rule == "string" and text is not None:
            inner = text
            continue
        inner = _partial(rule, children if inner is MISSING else [*children, inner])
    return inner


def _partial(rule: str, children: list[Any]) -> Any:
    if rule.startswith("_"):
        return Inline(flattened(children))
    if rule == "array":
        return _plain_list(flattened(children))
    if rule == "object":
        return _plain_dict(flattened(children))
    if rule == "pair":
        return tuple(children) if len(children) == 2 else MISSING  # noqa: PLR2004 - key and value
    if rule == "start":
        return next((child for child in children if child is not MISSING), MISSING)
    return MISSING


def path_of(session: Session, *, into_empty: bool) -> str:
    """Return the path of what a session waits for, such as `$.edits[1].new`.

    Args:
        session: a session; not changed.
        into_empty: whether a list that was just opened waits for its first item, or is itself
            what is incomplete.
    """
    steps: list[str] = []
    n_items: int | None = None
    for rule, children in reversed(open_values(session, open_rules(session))):
        if rule.startswith("_"):
            n_items = None if n_items is None else n_items + len(children)
            continue
        if n_items is not None:
            steps.append(f"[{n_items}]")
        n_items = len(children) if rule == "array" else None
        if rule == "pair" and children:
            steps.append(step_text(children[0]))
    if n_items is not None and _waits_for_item(session, into_empty=into_empty):
        steps.append(f"[{n_items}]")
    return "$" + "".join(steps)


def _waits_for_item(session: Session, *, into_empty: bool) -> bool:
    innermost = open_rules(session)[-1]
    last = innermost.stacked[-1]
    return session.grammar.is_terminal(last) and (into_empty or last not in session.grammar.openers)
