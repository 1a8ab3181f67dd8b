"""Scans in one parser state: the next token, and what more text could still change about it.

One alternation a state is compiled for `re`. Where a piece of a stream ends, the `regex` module's
partial matching tells whether the tail could still become a token; it is imported only then.
"""

import re
from typing import Any, Final

from jsonrepair_lark.lexemes import BOUNDED, NATIVES, SINGLE
from jsonrepair_lark.tables import TerminalRow

TEXT_SUFFIX: Final = "TEXT"


def local_name(name: str) -> str:
    """Return `name` without the prefix that Lark gives to imported rules and terminals."""
    # Lark keeps an underscore in front: `_pairs` of `json` becomes `_json__pairs`.
    hidden = "_" if name.startswith("_") else ""
    return hidden + name.removeprefix("_").rsplit("__", 1)[-1]


def is_text(terminal: str) -> bool:
    """Tell whether more text may always belong to a token of this terminal."""
    return terminal.endswith(TEXT_SUFFIX)


def is_word(fixed: str) -> bool:
    """Tell whether a fixed text ends like a word, so that more letters would make another word."""
    return fixed[-1:].isalnum() or fixed[-1:] == "_"


def joined(before: str, text: str) -> str:
    """Return a fixed text as it has to follow `before`: with a space if words would run together.

    Where nothing is known of what comes before, a word gets its space.
    """
    return " " + text if is_word(before or "_") and is_word(text[:1]) else text


def pattern_of(row: TerminalRow) -> str:
    """Return the regular expression of a terminal; a word ends where it ends."""
    if row.fixed is not None and is_word(row.fixed):
        return f"{row.pattern}(?!\\w)"
    return row.pattern or "(?!)"


def alternation(rows: tuple[TerminalRow, ...], skip: str) -> str:
    """Return a pattern whose group `t<n>` is the n-th of `rows`.

    Open-ended text comes first and takes what lies before it for text; before the others, what
    `skip` matches is skipped.
    """
    numbered = list(enumerate(rows))
    parts = [f"(?P<t{n}>{pattern_of(row)})" for n, row in numbered if is_text(row.name)]
    others = [f"(?P<t{n}>{pattern_of(row)})" for n, row in numbered if not is_text(row.name)]
    if others:
        body = "|".join(others)
        parts.append(f"(?:{skip})*+(?:{body})" if skip else body)
    return "|".join(parts)


class StatePlan:
    """How to scan in one parser state.

    Args:
        rows: the terminals with a pattern that the state accepts, in the order to try them.
        natives: those that functions scan.
        skip: the pattern of what is ignored between tokens.
        text_terminal: the terminal of text up to a sentinel, or None.
        sentinels: the terminals that end such text.
        pieced: the terminals that have a form in pieces.

    Attributes:
        match: the compiled scanner's `match`, or None where no terminal has a pattern.
        terminals: what it scans for; in free text, the sentinels.
        groups: terminal by the name of its group in the compiled scanner.
        natives: terminals scanned by functions, in the order to try them, each with its function,
            whether it stands for one value, and whether it looks no further than one token.
        find_sentinel: for a state that takes text up to a sentinel: the search for it.
        sentinel: the match that tells which it is.
        text_terminal: the terminal of that text, or None.
    """

    __slots__ = (
        "_beginnings",
        "_edge",
        "_search",
        "find_sentinel",
        "groups",
        "match",
        "natives",
        "pieced",
        "sentinel",
        "terminals",
        "text_terminal",
    )

    def __init__(
        self,
        rows: tuple[TerminalRow, ...],
        *,
        natives: tuple[str, ...],
        skip: str,
        text_terminal: str | None,
        sentinels: tuple[TerminalRow, ...],
        pieced: frozenset[str],
    ) -> None:
        self.natives = tuple(
            (name, NATIVES[local], local in SINGLE, local in BOUNDED)
            for name, local in ((name, local_name(name)) for name in natives)
        )
        self.pieced = pieced
        self.text_terminal = text_terminal
        self.terminals = sentinels if text_terminal else rows
        pattern = alternation(self.terminals, "" if text_terminal else skip)
        self.match = re.compile(pattern).match if pattern and not text_terminal else None
        self.sentinel = re.compile(pattern).match if pattern and text_terminal else None
        # Without groups `re` finds what all alternatives begin with, which is much faster.
        bare = "|".join(f"(?:{pattern_of(row)})" for row in self.terminals)
        self.find_sentinel = re.compile(bare).search if bare and text_terminal else None
        self.groups = {f"t{n}": row.name for n, row in enumerate(self.terminals)}
        self._edge: tuple[tuple[str, ...], Any, Any] | None = None
        self._search: Any = None
        self._beginnings: dict[str, Any] = {}

    def may_grow(self, buffer: str, start: int) -> bool:
        """Tell whether `buffer[start:]` could still become a token longer than it shows.

        Open-ended text is left out, since it is emitted as it comes, and so are terminals that
        have a form in pieces: their opener stands for them.
        """
        if self._edge is None:
            self._edge = self._prepare_edge()
        fixed, growing, _ = self._edge
        size = len(buffer) - start
        for text in fixed:
            if len(text) > size and text.startswith(buffer[start:]):
                return True
        return growing is not None and bool(growing.fullmatch(buffer, start, partial=True))

    def may_begin(self, buffer: str, start: int) -> bool:
        """Tell whether `buffer[start:]`, which is no token, could become one."""
        if self.may_grow(buffer, start):
            return True
        text = (self._edge or self._prepare_edge())[2]
        return text is not None and bool(text.fullmatch(buffer, start, partial=True))

    def unfinished(self, rest: str) -> str | None:
        """Return the terminal that `rest`, up to the end of the text, is the beginning of."""
        for row in self.terminals:
            if row.fixed is not None:
                if row.fixed.startswith(rest):
                    return row.name
                continue
            beginning = self._beginnings.get(row.name)
            if beginning is None:
                import regex

                beginning = self._beginnings[row.name] = regex.compile(pattern_of(row))
            if beginning.fullmatch(rest, partial=True):
                return row.name
        return None

    def find_edge(self, buffer: str, start: int) -> int:
        """Return where in `buffer[start:]` a sentinel begins or could still begin; else the end."""
        if not self.terminals:
            return len(buffer)
        import regex

        if self._search is None:
            self._search = regex.compile(alternation(self.terminals, ""))
        found = self._search.search(buffer, start, partial=True)
        return found.start() if found else len(buffer)

    def _prepare_edge(self) -> tuple[tuple[str, ...], Any, Any]:
        """Return what to ask at an edge: fixed texts, patterns of tokens, patterns of text."""
        import regex

        fixed = []
        growing = []
        text = []
        for row in self.terminals:
            if is_text(row.name):
                text.append(pattern_of(row))
            elif row.fixed is not None and not is_word(row.fixed):
                fixed.append(row.fixed)
            elif row.name not in self.pieced:
                growing.append(pattern_of(row))

        def compiled(patterns: list[str]) -> Any:
            return regex.compile("|".join(f"(?:{p})" for p in patterns)) if patterns else None

        return tuple(fixed), compiled(growing), compiled(text)
