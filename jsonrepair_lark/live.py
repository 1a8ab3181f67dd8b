"""The value of a JSON stream while it is written: one object that grows with the text.

What is complete on the parse stack is added to the containers that are open, so that asking for the
value costs what has come since it was asked for last, and not what the containers hold.
"""

from typing import Any

from jsonrepair_lark.scanner import local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Inline, Token
from jsonrepair_lark.values import MISSING, partial_value

_CONTAINERS: dict[str, type[list[Any]] | type[dict[str, Any]]] = {"LSQB": list, "LBRACE": dict}


class _Open:
    """A container that is open: its opener, its value so far, and what of it may still go away.

    Attributes:
        opener: the token that opens it.
        value: the list or dict.
        n_taken: how many complete items or members it was given.
        inner: where the container stands in it that is open inside, or `MISSING`.
        hidden: what a repeated key had before, or `MISSING`.
    """

    __slots__ = ("hidden", "inner", "n_taken", "opener", "value")

    def __init__(self, opener: Token) -> None:
        self.opener = opener
        self.value: Any = _CONTAINERS[local_name(opener.terminal)]()
        self.n_taken = 0
        self.inner: Any = MISSING
        self.hidden: Any = MISSING

    def take(self, children: list[Any]) -> None:
        """Take the items or members that have become complete."""
        self._take_out_inner()
        fresh = children[self.n_taken :]
        self.n_taken = len(children)
        if isinstance(self.value, list):
            self.value += fresh
        else:
            self.value.update(fresh)

    def put(self, key: Any, inner: "_Open") -> None:
        """Show a container that is open inside, as the next item or under a key."""
        if isinstance(self.value, list):
            self.inner = len(self.value)
            self.value.append(inner.value)
        elif isinstance(key, str):
            self.inner = key
            self.hidden = self.value.get(key, MISSING)
            self.value[key] = inner.value

    def _take_out_inner(self) -> None:
        if self.inner is MISSING:
            return
        if self.hidden is MISSING:
            del self.value[self.inner]
        else:
            self.value[self.inner] = self.hidden
        self.inner = self.hidden = MISSING


class LiveValue:
    """The value so far of a session over JSON.

    Args:
        session: the session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: list[_Open] = []

    def get(self) -> Any:
        """Return the largest sound value, or `MISSING`; the same object, as long as it is open."""
        depth = 0
        key: Any = None
        before: Any = None
        for value in self._session.values:
            if type(value) is Token:
                if local_name(value.terminal) in _CONTAINERS:
                    self._enter(depth, value, key)
                    depth += 1
                    key = None
            elif type(value) is Inline:
                if type(before) is Token and depth and before is self._open[depth - 1].opener:
                    self._open[depth - 1].take(value)
            else:
                key = value
            before = value
        del self._open[depth:]
        return self._open[0].value if self._open else partial_value(self._session)

    def _enter(self, depth: int, opener: Token, key: Any) -> None:
        """Go into a container that is open, `depth` of them around it."""
        if depth == len(self._open) or self._open[depth].opener is not opener:
            del self._open[depth:]
            self._open.append(_Open(opener))
        if depth and self._open[depth - 1].inner is MISSING:
            self._open[depth - 1].put(key, self._open[depth])
