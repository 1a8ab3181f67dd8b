"""A session that survives a bad part: it rejects the part, finds its end and goes on.

Some rules are *recoverable*, in the formats of tool calls the call. Where the session stops inside
one, the rule is reduced all the same, to a `Rejected` value, and the parse goes on behind it: at
the part's own closer, or where the next part can begin, whichever comes first and is followed by
what the grammar allows there. One bad part never costs its siblings.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from jsonrepair_lark import completion
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.limits import Limits, Stop
from jsonrepair_lark.scanner import local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Program
from jsonrepair_lark.strings import strings_of

BALANCE_BUDGET_PER_CHARACTER: Final = 4
"""How often, on average, a character may be looked at to balance brackets."""
_HELD: Final = -1
"""Stands for the end of a part that is yet to come."""


@dataclass(slots=True, eq=False)
class Rejected:
    """A part that was refused.

    Attributes:
        start, end: its span in the input; `end` is where the parse went on.
        stop: why and where it was refused.
        values: what it had read: for each open rule, innermost first, its name and its values.
    """

    start: int
    end: int
    stop: Stop
    values: list[tuple[str, list[Any]]]


@dataclass(slots=True, eq=False)
class _Bad:
    """A bad part whose end is not found yet: its rule, the state before it, its open brackets.

    `is_bare` tells that it had no bracket yet, so that it may end where it failed.

    `inside` are the states where it failed, until the text that is open there is skipped. Up to
    `balanced_to`, an offset in the whole text, `depth` counts the brackets.
    """

    rejected: Rejected
    origin: str
    state: int
    depth: int
    inside: list[int] | None
    is_bare: bool
    balanced_to: int = 0


class RecoveringSession(Session):
    """A session over a grammar with recoverable rules.

    Args:
        program: the grammar and its actions.
        limits: what the session may do.
        recoverable: the local names of the rules that it survives.

    Attributes:
        on_failed: called when a part fails, while all that it has read is there, or None.
        on_rejected: gets each part that was refused when its end is found, or None.
    """

    __slots__ = ("_bad", "_balance_budget", "_recoverable", "on_failed", "on_rejected")

    def __init__(self, program: Program, limits: Limits, recoverable: frozenset[str]) -> None:
        super().__init__(program, limits, recoverable=recoverable)
        self._recoverable = recoverable
        self._part_heads = part_heads(program.grammar, recoverable)
        self._bad: _Bad | None = None
        self.on_failed: Callable[[], Any] | None = None
        self.on_rejected: Callable[[Rejected], Any] | None = None
        self._balance_budget = 0
        # Text without any part is a text too.
        self._has_content = True

    def _scan(self, *, final: bool) -> None:
        goes_on = True
        while goes_on:
            bad = self._bad
            if bad is not None and not (
                self._skip_text(bad, final=final) and self._find_end(bad, final=final)
            ):
                return
            super()._scan(final=final)
            goes_on = self._reject()

    def _finish_end(self) -> None:
        super()._finish_end()
        while self._reject():
            self._scan(final=True)
            if not self._is_stopped():
                super()._finish_end()

    def _is_stopped(self) -> bool:
        return self.stop is not None

    def _reject(self) -> bool:
        """Take the innermost open recoverable rule off the stack; False if there is no need."""
        stop = self.stop
        if stop is None:
            return False
        part = completion.innermost(self.grammar, self.states, self._recoverable)
        if part is None:
            return False
        if self.on_failed is not None:
            self.on_failed()
        chain = completion.open_rules(self)
        at = part.index
        rule = chain[at]
        if stop.reason is None:
            stop = Stop(self._reason_inside(stop), stop.offset)
        rejected = Rejected(rule.start, stop.offset, stop, completion.open_values(self, chain[at:]))
        inside = self.states.copy()
        is_bare = not part.openers and not self.grammar.is_terminal(rule.stacked[0])
        del self.states[rule.position + 1 :]
        del self.values[rule.position :]
        del self.starts[rule.position :]
        self.edits = [edit for edit in self.edits if not edit.is_inside(rule.start)]
        # A part that a pattern opens, and no bracket, is one more level.
        depth = self._depth + (not part.is_bracket)
        self._depth = sum(
            symbol in self.grammar.openers for r in chain[:at] for symbol in r.stacked
        )
        self.stop = None
        # The last token may be the beginning of a sentinel that the part did not expect; text is
        # text, since a stream has handed it on.
        last = None if self._text is not None else self.last_token
        is_last = last is not None and rule.start < last.start < stop.offset == last.end
        if last is not None and is_last and self._openers_at(last.start - self._base):
            self._pos = max(0, last.start - self._base)
        else:
            self._pos = max(self._pos, stop.offset - self._base)
        self.last_token = self._text = None
        self._bad = _Bad(
            rejected, part.origin, self.states[-1], depth - self._depth, inside, is_bare
        )
        return True

    def _reason_inside(self, stop: Stop) -> str:
        start = stop.offset - self._base
        longest = self.grammar.longest_closer + 1
        return completion.reason_inside(self, self._buffer[start : start + longest])

    def finish(self, text: str = "") -> None:
        """Take the last piece of the text and end it; see `Session.finish`."""
        self._balance_budget += BALANCE_BUDGET_PER_CHARACTER * (len(self.rest) + len(text))
        super().finish(text)

    def _close_outer(self, start: int, *, final: bool) -> bool:
        """Close what is open before an outer closer, or before the sentinel of the next part."""
        if not final and self._may_begin_part(start):
            self._hold(start)
            return False
        inner: list[str] | None = None
        for opener in self._openers_at(start):
            inner = completion.closers_before(self, opener)
            if inner:
                self._pos = start
                self._insert(inner)
                return True
        return super()._close_outer(start, final=final)

    def _may_begin_part(self, start: int) -> bool:
        rest = self._buffer[start : start + self.grammar.longest_fixed]
        return any(
            len(text) > len(rest) and text.startswith(rest)
            for text in map(
                self.grammar.fixed_texts.__getitem__, part_openers(self.grammar, self._recoverable)
            )
        )

    def _openers_at(self, pos: int) -> list[str]:
        """Return the sentinels at `pos` that a recoverable part can begin with."""
        grammar = self.grammar
        return [
            opener
            for opener in sorted(part_openers(grammar, self._recoverable))
            if self._buffer.startswith(grammar.fixed_texts[opener], pos)
        ]

    def _balanced_end(self, bad: _Bad, reach: int, *, final: bool) -> int:
        """Return where a part's open brackets are closed, strings skipped; -1 if they are not.

        Args:
            bad: the part; what was counted is noted in it.
            reach: how near to the end of what is there of the text a token is not sure.
            final: whether nothing comes after that.
        """
        grammar, strings = self.grammar, strings_of(self.grammar)
        pos = max(self._pos, bad.balanced_to - self._base)
        limit = len(self._buffer) - (0 if final else reach)
        while pos < limit and self._balance_budget > 0:
            self._balance_budget -= 1
            bracket = strings.bracket_from(self._buffer, pos, final=final)
            if bracket is None:
                # A string whose end is yet to come may hold brackets.
                break
            terminal, end = bracket
            depth = bad.depth + (terminal in grammar.openers) - (terminal in grammar.closers)
            if depth <= 0:
                return end
            bad.depth, pos = depth, end
            bad.balanced_to = self._base + pos
        return -1

    def _skip_text(self, bad: _Bad, *, final: bool) -> bool:
        """Go behind the text that is open where a part failed; False if its end is yet to come."""
        if bad.inside is not None:
            start = max(self._pos, bad.balanced_to - self._base)
            end, sure = completion.text_end(
                self.grammar, bad.inside, self._buffer, start, final=final
            )
            if end is None:
                bad.balanced_to = self._base + sure
                self._hold(self._pos)
                return False
            bad.inside = None
            # Where nothing closes the text, all of it is looked at.
            self._pos = end if end > start else self._pos
            bad.balanced_to = 0
        return True

    def _find_end(self, bad: _Bad, *, final: bool) -> bool:
        """Look for the end of a bad part and reduce its rule there; False if it is yet to come."""
        _, closers, reach = _ends(self.grammar, bad.origin)
        end: int | None = None
        if closers and max(map(len, closers)) == 1:
            # The closer is a bracket that the part may hold many of: count them.
            end = self._bare_end(bad, reach, final=final)
            if end is None and bad.depth:
                end = self._bracketed_end(bad, reach, final=final)
        if end is None:
            end = self._marked_end(bad, final=final)
        if end == _HELD:
            return False
        self._reduce_bad(bad, end)
        return True

    def _bare_end(self, bad: _Bad, reach: int, *, final: bool) -> int | None:
        """Return the end of a part that failed before it had a bracket: where it failed."""
        pos = self._pos
        if not bad.is_bare:
            return None
        if not final and len(self._buffer) - pos < reach:
            self._hold(pos)
            return _HELD
        bad.is_bare = False
        is_last = self.grammar.skip(self._buffer, pos) == len(self._buffer)
        return pos if not is_last and self._goes_on(self._after(bad), pos) else None

    def _bracketed_end(self, bad: _Bad, reach: int, *, final: bool) -> int | None:
        """Return the end of a part where its brackets are closed."""
        if not final:
            self._balance_budget = BALANCE_BUDGET_PER_CHARACTER * len(self._buffer)
        end = self._balanced_end(bad, reach, final=final)
        is_there = final or len(self._buffer) - end >= reach
        if end > 0 and is_there and self._goes_on(self._after(bad), end):
            return end
        if final:
            return None
        self._hold(self._pos)
        return _HELD

    def _marked_end(self, bad: _Bad, *, final: bool) -> int:
        """Return the end of a part where its closer or the next part's sentinel stands."""
        pattern, closers, reach = _ends(self.grammar, bad.origin)
        buffer, pos = self._buffer, self._pos
        for found in pattern.finditer(buffer, pos) if pattern else ():
            end = found.end() if found[0] in closers else found.start()
            if not final and len(buffer) - end < reach:
                # What follows decides, and is not all there.
                self._hold(found.start())
                return _HELD
            if self._goes_on(self._after(bad), end):
                return end
        if final:
            return len(buffer)
        self._hold(max(pos, len(buffer) - reach))
        return _HELD

    def _after(self, bad: _Bad) -> int:
        return self.grammar.gotos[bad.state][bad.origin]

    def _goes_on(self, state: int, pos: int) -> bool:
        """Tell whether the grammar allows what stands at `pos` in the state after a part."""
        grammar = self.grammar
        plan = grammar.plan(state) if grammar.defaults[state] is None else None
        if plan is None or plan.text_terminal is not None:
            return True
        start = grammar.skip(self._buffer, pos)
        if start == len(self._buffer):
            return True
        return plan.match is not None and plan.match(self._buffer, pos) is not None

    def _reduce_bad(self, bad: _Bad, end: int) -> None:
        self._bad = None
        bad.rejected.end = self._base + end
        self._pos = end
        self.values.append(bad.rejected)
        self.starts.append(bad.rejected.start)
        self.states.append(self.grammar.gotos[bad.state][bad.origin])
        self.last_end = self._base + end
        if self.on_rejected is not None:
            self.on_rejected(bad.rejected)
        self.reduce_defaults()

    @property
    def failed(self) -> Rejected | None:
        """The part that was refused and whose end is yet to come."""
        return self._bad.rejected if self._bad is not None else None


@cache
def part_openers(grammar: Grammar, recoverable: frozenset[str]) -> frozenset[str]:
    """Return the sentinels, longer than a bracket, that a recoverable part can begin with."""
    origins = {r.origin for r in grammar.rules if local_name(r.origin) in recoverable}
    return frozenset(
        symbol
        for origin in origins
        for symbol in grammar.first(origin)
        if len(grammar.fixed_texts.get(symbol, "")) > 1
    )


@cache
def part_heads(grammar: Grammar, recoverable: frozenset[str]) -> frozenset[str]:
    """Return the characters that these sentinels begin with."""
    return frozenset(
        grammar.fixed_texts[opener][0] for opener in part_openers(grammar, recoverable)
    )


@cache
def _ends(grammar: Grammar, origin: str) -> tuple[re.Pattern[str] | None, frozenset[str], int]:
    """Return what can end a bad part: a pattern, the texts in it that are closers, its reach."""
    closers = {
        grammar.fixed_texts[rule.expansion[-1]]
        for rule in grammar.rules
        if rule.origin == origin and rule.expansion and rule.expansion[-1] in grammar.fixed_texts
    }
    openers = {
        grammar.fixed_texts[symbol]
        for symbol in grammar.first(origin)
        if symbol in grammar.fixed_texts
    }
    texts = sorted(closers | openers, key=lambda text: (-len(text), text))
    pattern = re.compile("|".join(map(re.escape, texts))) if texts else None
    longest = max(map(len, grammar.fixed_texts.values()), default=0) + 16
    return pattern, frozenset(closers), longest
