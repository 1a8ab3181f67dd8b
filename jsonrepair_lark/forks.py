"""Forks of a parse: where a quote inside a string either closes it or lacks its escape.

A closing terminal has a *rival* if a repair takes the same text for a part of what it would close
(`Grammar.rivals`). The first such text in a string closes it if the next tokens can follow, which
`verdict_at` tells; so what parses without a repair is never touched. Where they can't, the parse
forks at each later one that could close, and the forks race: each parses the rest of the block,
without values and without any closer put in. The repair is sure if exactly one comes through, up to
the next sentinel or the end of the text.

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
from jsonrepair_lark.scanner import is_word
from jsonrepair_lark.tables import END

LOOKAHEAD_TOKENS: Final = 8
"""How many tokens have to be able to follow what closes a string, unless another string comes."""
LIVE_MAX: Final = 16
FORKS_MAX: Final = 256
SKIP_MAX_CHARACTERS: Final = 4096
"""How long the rest of a failed part may be for a fork to go on behind it."""


class Verdict(Enum):
    """Whether the tokens at a place can follow."""

    YES = auto()
    BESIDE = auto()
    """Another string follows at once."""
    OUTER = auto()
    """What follows closes an outer rule, with closers missing before it."""
    LATER = auto()
    """They close the part that the string is in; what can't follow is behind that."""
    NO = auto()
    UNKNOWN = auto()
    """Not all of the text is there that tells."""


def verdict_at(
    grammar: Grammar,
    states: list[int],
    text: str,
    pos: int,
    *,
    part: int,
    final: bool,
) -> Verdict:
    """Tell whether what stands at `text[pos:]` can follow in a parser state.

    A separator is enough: what comes after it is an item of its own. What closes the part that the
    string is in has to be followed by what can be another one.

    Args:
        grammar: the grammar.
        states: the states of the parse; not changed.
        text: what is there of the text.
        pos: the place.
        part: how many states there are before the part, -1 if nothing is known of it.
        final: whether nothing comes after `text`.
    """
    inner = states[part + 1 : part + 2]
    is_inside = True
    after_separator = False
    for n_tokens in range(LOOKAHEAD_TOKENS):
        terminal, start, end = _next_token(grammar, states[-1], text, pos, final=final)
        if terminal == _UNKNOWN:
            return Verdict.UNKNOWN
        if terminal == END:
            break
        if terminal in grammar.text_starts:
            is_first = n_tokens == 0
            return _beside(grammar, text, terminal, end, final) if is_first else Verdict.YES
        is_inside = is_inside and (part < 0 or states[part + 1 : part + 2] == inner)
        after = completion.step(grammar, states, terminal, may_delete=True)
        if after is None and after_separator:
            break
        if after is None:
            return _outer(grammar, text, start, final=final) if is_inside else Verdict.LATER
        if after_separator and terminal not in grammar.closers:
            break
        is_fixed = terminal in grammar.fixed_texts and terminal not in grammar.closers
        if is_inside and is_fixed and terminal not in grammar.separators:
            break
        # Behind a separator at the very end of a list what closes the list counts.
        after_separator = is_inside and terminal in grammar.separators
        states, pos = after, end
    return Verdict.YES


_UNKNOWN: Final = "?"
_NONE: Final = ""


def _next_token(
    grammar: Grammar, state: int, text: str, pos: int, *, final: bool
) -> tuple[str, int, int]:
    """Return the next token in a state: terminal, start and end.

    The terminal is `$END` at the end of the text and where free text follows, which nothing has to
    be known of; it is `_UNKNOWN` where more text could change it, `_NONE` where there is none.
    """
    plan = grammar.plan(state)
    start = grammar.skip(text, pos)
    if plan.text_terminal is not None or (final and start == len(text)):
        return END, start, start
    found = plan.match(text, pos) if plan.match is not None else None
    if found is not None:
        group = found.lastgroup or ""
        start, end = found.span(group)
        is_sure = final or not plan.may_grow(text, start)
        return plan.groups[group] if is_sure else _UNKNOWN, start, end
    if start == len(text) or plan.may_begin(text, start):
        # The end of the whole text may cut a token.
        return END if final else _UNKNOWN, start, start
    return _NONE, start, start


def _beside(grammar: Grammar, text: str, terminal: str, end: int, final: bool) -> Verdict:  # noqa: FBT001
    """Return the verdict on a string that follows another: one quote too many begins no string."""
    if terminal in grammar.text_ends:
        start = text.rfind(text[end - 1], 0, end - 1)
        return Verdict.NO if grammar.has_sentinel(text, start, end) else Verdict.BESIDE
    if terminal in grammar.text_prefixes or terminal not in grammar.fixed_texts:
        return Verdict.BESIDE
    closing = text.find(grammar.fixed_texts[terminal], end)
    if grammar.has_sentinel(text, end, closing if closing >= 0 else len(text)):
        return Verdict.NO
    if closing >= 0:
        return Verdict.BESIDE
    return Verdict.NO if final else Verdict.UNKNOWN


def _outer(grammar: Grammar, text: str, start: int, *, final: bool) -> Verdict:
    """Return the verdict on text that the parser does not expect."""
    if grammar.closers_at(text, start):
        return Verdict.OUTER
    rest = text[start:]
    if not final and any(
        len(closer) >= len(rest) + (not is_word(closer)) and closer.startswith(rest)
        for closer in grammar.closer_texts
    ):
        return Verdict.UNKNOWN
    return Verdict.NO


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
        self._recoverable = recoverable
        self._opener = completion.block_opener(grammar, states)
        self._start = pos
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
        pos, order, fork = self._heap[0]
        for other_pos, other_order, other in self._heap[1:]:
            if other_pos == pos and other.is_like(fork):
                other.is_several = True
                other.is_closed = other.is_closed or fork.is_closed
                heapq.heappop(self._heap)
                return (other_pos, other_order) > (pos, order)
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
        terminal, start, end = _next_token(grammar, state, self._text, pos, final=self._final)
        if terminal == _UNKNOWN:
            return _Step.UNKNOWN
        if terminal == END:
            is_through = grammar.plan(state).text_terminal or completion.step(
                grammar, fork.states, END, may_delete=False
            )
            return _Step.THROUGH if is_through else _Step.DEAD
        if terminal in grammar.text_ends:
            return self._take_end(fork, terminal, start, end)
        return self._take(fork, terminal, end) or self._skip_part(fork, start)

    def _take(self, fork: _Fork, terminal: str, end: int) -> _Step | None:
        """Shift a token that ends at `end`; None if the parser does not take it."""
        grammar = self._grammar
        after = completion.step(grammar, fork.states, terminal, may_delete=False)
        if after is None:
            return None
        if terminal in grammar.text_starts and fork.last not in grammar.text_prefixes:
            fork.is_beside = fork.last in grammar.text_ends
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
        part = completion.innermost(grammar, fork.states, self._recoverable)
        verdict = verdict_at(
            grammar,
            after,
            self._text,
            end,
            part=part.position if part else -1,
            final=self._final,
        )
        if verdict is Verdict.UNKNOWN:
            return _Step.UNKNOWN
        closes = verdict is Verdict.YES or (verdict is Verdict.BESIDE and not fork.is_inner)
        if terminal in grammar.text_starts:
            if closes:
                fork.closings += (self._base + end - 1,)
            else:
                terminal = grammar.opener_at(fork.states[-1], self._text, start)
                end = start + len(grammar.fixed_texts[terminal])
            return self._take(fork, terminal, end) or _Step.DEAD
        rival = grammar.rivals[terminal]
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
            verdict = verdict_at(grammar, states, self._text, end, part=-1, final=self._final)
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
        closers = [grammar.closer_of[opener] for opener in part.openers]
        return _balanced_end(grammar, text, inside, closers, final=self._final)


def _balanced_end(
    grammar: Grammar, text: str, pos: int, closers: list[str], *, final: bool
) -> int | None:
    """Return where the last of `closers` stands at its level, brackets and strings skipped.

    Returns:
        The offset behind it; -1 if there is none near, None if it may be yet to come.
    """
    limit = pos + SKIP_MAX_CHARACTERS
    while closers and pos < min(len(text), limit):
        bracket = grammar.bracket_from(text, pos, final=final)
        if bracket is None or (not final and len(text) - pos <= grammar.longest_closer):
            return None
        terminal, pos = bracket
        if terminal in grammar.openers:
            closers.append(grammar.closer_of[terminal])
        elif terminal and closers.pop() != grammar.fixed_texts.get(terminal):
            # Another bracket, or a quote that nothing closes: the part does not end here.
            return -1
        if not closers:
            return pos
    return -1 if final or pos >= limit else None
