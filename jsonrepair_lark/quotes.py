"""Decides what a quote inside a string is: its end, or a character whose escape was forgotten.

The session asks here for each token that begins or ends a string whose closing terminal has a rival
(`strings`). The first quote closes if what stands behind it can follow; else forks find the
one place where the string can end, and their answer is kept for the quotes up to there.
"""

from typing import Final, NamedTuple

from jsonrepair_lark import completion
from jsonrepair_lark.forks import Forks
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.lookahead import PartAround, Verdict, verdict_at
from jsonrepair_lark.strings import strings_of


class Piece(NamedTuple):
    """What is there of a text: its characters from `base` on, and whether nothing comes after."""

    text: str
    base: int
    final: bool


class Decision(NamedTuple):
    """What a token is and where it ends, in the piece.

    `terminal` is empty while it is undecided; `is_lost` tells that the string has no sure end.
    """

    terminal: str
    end: int
    is_lost: bool = False


LOST_MAX: Final = 16
"""After so many races on end that found no one reading, what lacks an escape is refused at once."""

_CLOSES: Final = frozenset({Verdict.YES, Verdict.BESIDE})


class Quotes:
    """The quotes of one parse.

    Args:
        grammar: the grammar.
        allowed: the kinds of repair that are allowed.
        recoverable: the local names of the rules whose failure the parse survives.
    """

    def __init__(
        self, grammar: Grammar, allowed: frozenset[str], recoverable: frozenset[str]
    ) -> None:
        self._grammar = grammar
        self._strings = strings_of(grammar)
        self._rivals = {
            terminal: rival
            for terminal, rival in self._strings.rivals.items()
            if self._strings.repair_of(rival) in allowed
        }
        self._recoverable = recoverable
        # Whether the string that is open stands right behind another one.
        self._is_beside = False
        self._forks: Forks | None = None
        # Where strings end, as forks found out, up to the offset where that is decided.
        self._closings: tuple[int, ...] = ()
        self._decided = 0
        self._n_lost = 0

    def decide(
        self,
        states: list[int],
        before: str,
        terminal: str,
        span: tuple[int, int],
        piece: Piece,
    ) -> Decision:
        """Decide on a token.

        Args:
            states: the states of the parse, which takes the token; not changed.
            before: the terminal of the token before it.
            terminal: what the scanner takes it for.
            span: where it stands in the piece.
            piece: what is there of the text.
        """
        grammar = self._grammar
        start, end = span
        if terminal in self._strings.starts and before not in self._strings.prefixes:
            self._is_beside = before in self._strings.ends
        if terminal not in self._strings.ends:
            return Decision(terminal, end)
        verdict = self._verdict(states, terminal, span, piece)
        if verdict is Verdict.UNKNOWN:
            return Decision("", end)
        rival = self._rivals.get(terminal, "")
        if terminal in self._strings.starts and verdict not in _CLOSES:
            opener = self._strings.opener_at(states[-1], piece.text, start)
            return Decision(opener, start + len(grammar.fixed_texts[opener]))
        can_go_on = rival in grammar.actions[states[-1]]
        if verdict in _CLOSES or not (can_go_on or verdict is Verdict.LATER):
            return Decision(terminal, end)
        if piece.base + start < self._decided:
            return Decision(rival, end)
        return self._race(states, terminal, end, piece, verdict)

    def _verdict(
        self, states: list[int], terminal: str, span: tuple[int, int], piece: Piece
    ) -> Verdict:
        offset = piece.base + span[0]
        if offset < self._decided:
            return Verdict.YES if offset in self._closings else Verdict.NO
        after = completion.step(self._grammar, states, terminal, may_delete=True)
        if after is None:
            return Verdict.YES
        part = PartAround(self._grammar, states, self._recoverable)
        return verdict_at(self._grammar, after, piece.text, span[1], part=part, final=piece.final)

    def _race(
        self, states: list[int], terminal: str, end: int, piece: Piece, verdict: Verdict
    ) -> Decision:
        """Let forks find out whether the string goes on behind a quote that ends at `end`."""
        rival = self._rivals.get(terminal, "")
        can_go_on = not self._is_beside and rival in self._grammar.actions[states[-1]]
        is_later = verdict is Verdict.LATER
        if self._n_lost >= LOST_MAX or not (can_go_on or is_later):
            return Decision(terminal, end, is_lost=True)
        closed = None
        if is_later:
            closed = completion.step(self._grammar, states, terminal, may_delete=True)
        forks = self._forks or Forks(
            self._grammar,
            self._recoverable,
            states,
            rival if can_go_on else "",
            piece.base + end,
            closed=closed,
        )
        found = forks.run(piece.text, piece.base, final=piece.final)
        if found is None:
            self._forks = forks
            return Decision("", end)
        self._forks = None
        self._n_lost = 0 if found or forks.closes else self._n_lost + 1
        if found:
            self._closings = found
            self._decided = found[-1] + 1
            return Decision(rival, end)
        is_lost = not forks.closes and (verdict is not Verdict.OUTER or forks.n_through > 0)
        return Decision(terminal, end, is_lost=is_lost)
