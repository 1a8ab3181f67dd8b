"""Forks of a parse: where a quote inside a string either closes it or lacks its escape.

A closing terminal has a *rival* if a repair takes the same text for a part of what it would close
(`strings`). The first such text in a string closes it if the next tokens can follow, which
`verdict_at` tells; so what parses without a repair is never touched. Where they can't, the parse
forks at each later one that could close, and the forks race: each parses the rest of the block,
without values and without any closer put in. The repair is sure if exactly one comes through, up to
the sentinel that begins the next block or the end of the text.

A fork whose part fails goes on behind the part's own end, as the session would: a reading with a
rejected part is a reading too. Strings side by side, which stand for one, take no part in this: an
inner quote would be one of their own.

Bounded: all forks advance in the order of the text, at most `LIVE_MAX` at a time and `FORKS_MAX` in
all, each over the text once; a race that needs more is lost for all of them.
"""

import heapq
from enum import Enum, auto
from itertools import count
from typing import Final

from jsonrepair_lark import completion
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.lookahead import (
    UNKNOWN,
    PartAround,
    Verdict,
    balanced_end,
    next_token,
    verdict_at,
)
from jsonrepair_lark.strings import strings_of
from jsonrepair_lark.tables import END

LIVE_MAX: Final = 16
FORKS_MAX: Final = 256


class _Fork:
    """A parse without values.

    Attributes:
        states: its parser states.
        pos: how far it has come, in the whole text.
        closings: the offsets of what it took for the end of a string.
        last: the last terminal.
        is_beside: whether the string that is open stands right behind another one.
        is_inner: whether the string that is open has a quote that does not close it.
        is_several: whether it stands for more than one reading.
        is_closed: whether one of them is that in which the first quote closes.
    """

    __slots__ = (
        "closings",
        "is_beside",
        "is_closed",
        "is_inner",
        "is_several",
        "last",
        "pos",
        "states",
    )

    def __init__(self, states: list[int], pos: int, closings: tuple[int, ...]) -> None:
        self.states = states
        self.pos = pos
        self.closings = closings
        self.last = ""
        self.is_beside = False
        self.is_inner = False
        self.is_several = False
        self.is_closed = False

    def is_like(self, other: "_Fork") -> bool:
        """Tell whether two forks can only go on in the same way."""
        return (self.states, self.is_beside, self.is_inner) == (
            other.states,
            other.is_beside,
            other.is_inner,
        )


class _Step(Enum):
    """What became of a fork by one token."""

    ON = auto()
    DEAD = auto()
    THROUGH = auto()
    UNKNOWN = auto()


class Forks:
    """A race of forks from one quote on.

    Args:
        grammar: the grammar.
        recoverable: the local names of the rules whose failure a parse survives.
        states: the states of the parse before the quote; not changed.
        rival: the terminal that the quote is if it does not close its string; empty if it has to.
        pos: where the quote ends, in the whole text.
        closed: the states of the parse if the quote closes its string, to race as well.

    Attributes:
        n_through: how many readings came through.
        closes: whether that one came through.
    """

    def __init__(
        self,
        grammar: Grammar,
        recoverable: frozenset[str],
        states: list[int],
        rival: str,
        pos: int,
        *,
        closed: list[int] | None = None,
    ) -> None:
        self._grammar = grammar
        self._strings = strings_of(grammar)
        self._recoverable = recoverable
        self._opener = completion.block_opener(grammar, states)
        self._order = count()
        self._n_forks = 1
        self._heap: list[tuple[int, int, _Fork]] = []
        self._through: list[tuple[int, _Fork]] = []
        # Where the next block begins, in the whole text: no string goes on past that.
        self._limit: int | None = None
        self._searched = pos
        self._text = ""
        self._base = 0
        self._final = False
        self.n_through = 0
        self.closes = False
        if closed is not None:
            fork = _Fork(closed, pos, ())
            fork.is_closed = True
            self._push(fork)
        after = completion.step(grammar, states, rival, may_delete=False) if rival else None
        if after is not None:
            first = _Fork(after, pos, ())
            first.is_inner = True
            self._push(first)

    def run(self, text: str, base: int, *, final: bool) -> tuple[int, ...] | None:
        """Run the race over what is there of the text.

        Args:
            text: the text from `base` on.
            base: the offset where it starts in the whole text.
            final: whether nothing comes after it.

        Returns:
            None while it is undecided; else the offsets where strings end in the one reading that
            came through, which is an empty tuple if none or several did.
        """
        self._text, self._base, self._final = text, base, final
        while self._heap:
            pos, _, fork = self._heap[0]
            if self._is_over(pos):
                break
            if self._is_doubled():
                continue
            outcome = self._advance(fork)
            if outcome is _Step.UNKNOWN:
                return None
            heapq.heappop(self._heap)
            if outcome is _Step.THROUGH:
                self._through.append((fork.pos, fork))
            elif outcome is _Step.ON:
                self._push(fork)
            if len(self._heap) > LIVE_MAX or self._n_forks > FORKS_MAX:
                return ()
        readings = [
            fork for pos, fork in self._through if self._limit is None or pos <= self._limit
        ]
        self.closes = any(fork.is_closed for fork in readings)
        self.n_through = sum(1 + fork.is_several for fork in readings)
        return readings[0].closings if self.n_through == 1 and not self.closes else ()

    def _push(self, fork: _Fork) -> None:
        heapq.heappush(self._heap, (fork.pos, next(self._order), fork))

    def _is_doubled(self) -> bool:
        """Make one of two forks at the foremost place that can only go on in the same way."""
        pos, _, fork = self._heap[0]
        for other_pos, _, other in self._heap[1:]:
            if other_pos == pos and other.is_like(fork):
                other.is_several = True
                other.is_closed = other.is_closed or fork.is_closed
                heapq.heappop(self._heap)
                return True
        return False

    def _is_over(self, pos: int) -> bool:
        """Tell whether the text from `pos` on has no say: another block has begun."""
        if self._limit is None and self._opener and pos > self._searched:
            reach = len(self._opener) - 1
            found = self._text.find(
                self._opener, max(0, self._searched - self._base), pos - self._base + reach
            )
            if found >= 0:
                self._limit = self._base + found
            self._searched = max(self._searched, pos - reach)
        return self._limit is not None and pos >= self._limit

    def _advance(self, fork: _Fork) -> _Step:
        """Take one token."""
        grammar, pos = self._grammar, fork.pos - self._base
        state = fork.states[-1]
        terminal, start, end = next_token(grammar, state, self._text, pos, final=self._final)
        if terminal == UNKNOWN:
            return _Step.UNKNOWN
        if terminal == END:
            is_through = grammar.plan(state).text_terminal or completion.step(
                grammar, fork.states, END, may_delete=False
            )
            # Where the text is cut, what comes before the cut part needs no repair either.
            return _Step.THROUGH if is_through or fork.is_closed else _Step.DEAD
        if terminal in self._strings.ends:
            return self._take_end(fork, terminal, start, end)
        return self._take(fork, terminal, end) or self._skip_part(fork, start)

    def _take(self, fork: _Fork, terminal: str, end: int) -> _Step | None:
        """Shift a token that ends at `end`; None if the parser does not take it."""
        grammar = self._grammar
        after = completion.step(grammar, fork.states, terminal, may_delete=False)
        if after is None:
            return None
        if terminal in self._strings.starts and fork.last not in self._strings.prefixes:
            fork.is_beside = fork.last in self._strings.ends
        fork.states = after
        fork.last = terminal
        fork.pos = self._base + end
        return _Step.ON

    def _take_end(self, fork: _Fork, terminal: str, start: int, end: int) -> _Step:
        """Take a complete string, or what may close the one that is open: in both ways if so."""
        grammar = self._grammar
        after = completion.step(grammar, fork.states, terminal, may_delete=False)
        if after is None:
            return self._skip_part(fork, start)
        part = PartAround(grammar, fork.states, self._recoverable)
        verdict = verdict_at(grammar, after, self._text, end, part=part, final=self._final)
        if verdict is Verdict.UNKNOWN:
            return _Step.UNKNOWN
        closes = verdict is Verdict.YES or (verdict is Verdict.BESIDE and not fork.is_inner)
        if terminal in self._strings.starts:
            if closes:
                fork.closings += (self._base + end - 1,)
            else:
                terminal = self._strings.opener_at(fork.states[-1], self._text, start)
                end = start + len(grammar.fixed_texts[terminal])
            return self._take(fork, terminal, end) or _Step.DEAD
        rival = self._strings.rivals.get(terminal, "")
        can_go_on = not fork.is_beside and rival in grammar.actions[fork.states[-1]]
        if closes and can_go_on and fork.is_inner:
            self._n_forks += 1
            self._push(self._split(fork, terminal, start, end))
        elif closes or not can_go_on:
            fork.closings += (self._base + start,)
            fork.is_inner = False
            return self._take(fork, terminal, end) or _Step.DEAD
        fork.is_inner = True
        return self._take(fork, rival, end) or _Step.DEAD

    def _split(self, fork: _Fork, terminal: str, start: int, end: int) -> _Fork:
        """Return a fork that takes a quote for the end of the string."""
        closed = _Fork(fork.states, fork.pos, (*fork.closings, self._base + start))
        closed.last = fork.last
        closed.is_several = fork.is_several
        closed.is_closed = fork.is_closed
        self._take(closed, terminal, end)
        return closed

    def _skip_part(self, fork: _Fork, pos: int) -> _Step:
        """Go on behind the part that a fork fails in, if the part has an end of its own."""
        grammar = self._grammar
        part = completion.innermost(grammar, fork.states, self._recoverable)
        if part is None:
            return _Step.DEAD
        end = self._part_end(fork, part, pos)
        if end is None:
            return _Step.UNKNOWN
        states = fork.states[: part.position + 1]
        states.append(grammar.gotos[states[-1]][part.origin])
        completion.reduce_defaults(grammar, states)
        verdict = Verdict.NO
        if end >= 0:
            around = PartAround(grammar, states, frozenset())
            verdict = verdict_at(grammar, states, self._text, end, part=around, final=self._final)
        if verdict is not Verdict.YES:
            return _Step.UNKNOWN if verdict is Verdict.UNKNOWN else _Step.DEAD
        fork.states = states
        fork.pos = self._base + end
        fork.last = ""
        fork.is_inner = False
        return _Step.ON

    def _part_end(self, fork: _Fork, part: completion.OpenPart, pos: int) -> int | None:
        """Return where a failed part ends; -1 if nowhere near, None if that is yet to come."""
        grammar, text = self._grammar, self._text
        if not part.openers:
            return pos
        inside, _ = completion.text_end(grammar, fork.states, text, pos, final=self._final)
        if inside is None:
            return None
        closers = [self._strings.closer_of[opener] for opener in part.openers]
        return balanced_end(grammar, text, inside, closers, final=self._final)
