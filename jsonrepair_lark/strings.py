"""What a grammar says of strings whose quotes may lack their escape, and of brackets around them.

A closing terminal has a *rival* if a repair takes the same text for a part of what it would close:
a quote inside a string closes it, or its escape was forgotten.
"""

import re
from functools import cache, cached_property
from typing import Final

from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.scanner import local_name, pattern_of
from jsonrepair_lark.tables import TerminalRow

SENTINEL_REACH: Final = 4096
"""How far a sentinel is looked for behind a quote that nothing closes yet."""


class Strings:
    """The strings of a grammar; `strings_of` gives the one for each."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    @cached_property
    def rivals(self) -> dict[str, str]:
        """For a closing terminal, that of a repair which takes the same text for a part of it.

        A quote inside a string is such a text: it closes the string, or its escape was forgotten.
        """
        repairs = {
            self._grammar.fixed_texts[rule.expansion[0]]: rule.expansion[0]
            for rule, hook in zip(self._grammar.rules, self._grammar.hooks, strict=True)
            if hook is not None and hook.replacement is None and len(rule.expansion) == 1
            if rule.expansion[0] in self._grammar.fixed_texts
        }
        closing = {rule.expansion[-1] for rule in self._grammar.rules if len(rule.expansion) > 1}
        return {
            terminal: repairs[text]
            for terminal, text in self._grammar.fixed_texts.items()
            if terminal in closing and repairs.get(text, terminal) != terminal
        }

    def repair_of(self, terminal: str) -> str | None:
        """Return the kind of the repair that a terminal makes by itself."""
        hooks = zip(self._grammar.rules, self._grammar.hooks, strict=True)
        return next((h.kind for rule, h in hooks if h and rule.expansion == (terminal,)), None)

    @cached_property
    def starts(self) -> frozenset[str]:
        """The terminals that a text begins with whose closing terminal has a rival."""
        owners = {
            rule.origin
            for rule in self._grammar.rules
            if rule.expansion[-1:] and rule.expansion[-1] in self.rivals
        }
        while hidden := {owner for owner in owners if local_name(owner).startswith("_")}:
            users = {
                rule.origin
                for rule in self._grammar.rules
                if rule.expansion and rule.expansion[-1] in hidden
            }
            owners = (owners - hidden) | users
        return frozenset(terminal for owner in owners for terminal in self._grammar.first(owner))

    @cached_property
    def ends(self) -> frozenset[str]:
        """The terminals that such a text ends with, also where it takes no inner quotes."""
        closing = {
            rule.expansion[-1]
            for rule in self._grammar.rules
            if len(rule.expansion) > 1 and rule.expansion[0] in self._grammar.text_openers
            if rule.expansion[0] in self.starts
        }
        return frozenset(closing) | (self._grammar.pieced & self.starts)

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """The terminals that stand before the opener of such a text."""
        return self.starts - self.ends - self._grammar.text_openers

    @cached_property
    def doubtful(self) -> frozenset[str]:
        """The terminals that begin or end such a text."""
        return self.starts | self.ends

    @cached_property
    def closer_of(self) -> dict[str, str]:
        """The text of the closer by opener."""
        pairs = filter(None, map(self._grammar.bracket, self._grammar.rules))
        return {opener: self._grammar.fixed_texts[closer] for opener, closer in pairs}

    def opener_at(self, state: int, text: str, pos: int) -> str:
        """Return the longest opener of open-ended text at `text[pos:]` that a state accepts."""
        return max(
            (
                opener
                for opener in self._grammar.text_openers & self._grammar.actions[state].keys()
                if text.startswith(self._grammar.fixed_texts.get(opener, "\0"), pos)
            ),
            key=lambda opener: (len(self._grammar.fixed_texts[opener]), opener),
        )

    @cached_property
    def bracketing(self) -> tuple[TerminalRow, ...]:
        """What tells brackets from what only looks like them: complete texts, then fixed texts."""
        whole = [row for row in self._grammar.patterned if row.name in self._grammar.pieced]
        fixed = self._grammar.openers | self._grammar.closers | self._grammar.text_openers
        rows = [
            row for row in self._grammar.patterned if row.fixed is not None and row.name in fixed
        ]
        return (*whole, *sorted(rows, key=lambda row: -len(row.fixed or "")))

    @cached_property
    def _bracket_at(self) -> re.Pattern[str]:
        parts = [f"(?P<t{n}>{pattern_of(row)})" for n, row in enumerate(self.bracketing)]
        return re.compile("|".join(parts) or "(?!)")

    @cached_property
    def _sentinel(self) -> re.Pattern[str]:
        """What no string that lacks an escape is taken to hold: the longer brackets."""
        texts = {
            self._grammar.fixed_texts[name]
            for name in self._grammar.openers | self._grammar.closers
        }
        found = sorted(text for text in texts if len(text) > 1) if self.rivals else []
        return re.compile("|".join(map(re.escape, found)) or "(?!)")

    def has_sentinel(self, text: str, start: int, end: int) -> bool:
        """Tell whether a sentinel of the block stands in `text[start:end]`."""
        return self._sentinel.search(text, start, end) is not None

    def bracket_from(self, text: str, pos: int, *, final: bool) -> tuple[str, int] | None:
        """Return the bracket or lone quote at `text[pos:]` and where to look on.

        Complete strings are skipped, and what is neither has an empty name; None where a string
        may be, whose end is yet to come.
        """
        found = self._bracket_at.match(text, pos)
        if found is None:
            return "", pos + 1
        terminal = self.bracketing[int((found.lastgroup or "t0")[1:])].name
        end = found.end()
        if terminal in self._grammar.pieced:
            # One quote too many makes a string of what stands between two blocks.
            return (terminal, pos + 1) if self.has_sentinel(text, pos, end) else ("", end)
        if terminal not in self._grammar.text_openers:
            return terminal, end
        if final or self.has_sentinel(text, end, end + SENTINEL_REACH):
            return terminal, end
        return None


@cache
def strings_of(grammar: Grammar) -> Strings:
    """Return what a grammar says of its strings, made once per grammar."""
    return Strings(grammar)
