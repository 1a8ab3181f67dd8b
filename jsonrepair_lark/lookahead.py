"""Looks ahead: whether what stands at a place can follow, and where a failed part ends.

Nothing here changes a parse: tokens are tried on its states, without values.
"""

from enum import Enum, auto
from functools import partial
from typing import Final

from jsonrepair_lark import completion
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.scanner import is_word
from jsonrepair_lark.strings import strings_of
from jsonrepair_lark.tables import END

LOOKAHEAD_TOKENS: Final = 8
"""How many tokens have to be able to follow what closes a string, unless another string comes."""
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


class PartAround:
    """The part that a string is in, and whether a parse is still inside of it.

    Args:
        grammar: the grammar.
        states: the states of a parse inside of the string; not changed.
        names: the local names of the rules that are parts; with none, the text is one.
    """

    def __init__(self, grammar: Grammar, states: list[int], names: frozenset[str]) -> None:
        self._find = partial(completion.innermost, grammar, states, names)
        # How many states there are before the part; -1 if there is none, None if not looked for.
        self._place: int | None = None
        self._inner: list[int] = []

    def is_open(self, states: list[int], *, before_closer: bool) -> bool:
        """Tell whether the part is open in states that no closer was fed to, or some after them."""
        if self._place is None:
            # Only a closer can end the part, and few strings have one behind them.
            if not before_closer:
                return True
            found = self._find()
            self._place = found.position if found else -1
            self._inner = states[self._place + 1 : self._place + 2]
        place = self._place
        return place < 0 or states[place + 1 : place + 2] == self._inner


def verdict_at(
    grammar: Grammar,
    states: list[int],
    text: str,
    pos: int,
    *,
    part: PartAround,
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
        part: the part around the string.
        final: whether nothing comes after `text`.
    """
    strings = strings_of(grammar)
    is_inside = True
    after_separator = False
    for n_tokens in range(LOOKAHEAD_TOKENS):
        terminal, start, end = next_token(grammar, states[-1], text, pos, final=final)
        if terminal == UNKNOWN:
            return Verdict.UNKNOWN
        if terminal == END:
            break
        if terminal in strings.starts:
            is_first = n_tokens == 0
            return _beside(grammar, text, terminal, end, final) if is_first else Verdict.YES
        is_closer = terminal in grammar.closers
        is_inside = is_inside and part.is_open(states, before_closer=is_closer)
        after = completion.step(grammar, states, terminal, may_delete=True)
        if after is None and after_separator:
            break
        if after is None and not is_inside:
            return Verdict.LATER
        if after is None:
            return _outer(grammar, states, text, (start, n_tokens), final=final)
        if after_separator and not is_closer:
            break
        is_opener = not is_closer and terminal not in grammar.separators
        if is_inside and is_opener and terminal in grammar.fixed_texts:
            break
        # Behind a separator at the very end of a list what closes the list counts.
        after_separator = is_inside and terminal in grammar.separators
        states, pos = after, end
    return Verdict.YES


CUT_CHARACTERS: Final = 64
"""How long a token may be that the end of the whole text cuts, such as half a name."""
UNKNOWN: Final = "?"
_NONE: Final = ""


def next_token(
    grammar: Grammar, state: int, text: str, pos: int, *, final: bool
) -> tuple[str, int, int]:
    """Return the next token in a state: terminal, start and end.

    The terminal is `$END` at the end of the text and where free text follows, which nothing has to
    be known of; it is `UNKNOWN` where more text could change it, `_NONE` where there is none.
    """
    plan = grammar.plan(state)
    start = grammar.skip(text, pos)
    if plan.text_terminal is not None or (final and start == len(text)):
        return END, start, start
    found = plan.match(text, pos) if plan.match is not None else None
    if found is not None:
        group = found.lastgroup or ""
        start, end = found.span(group)
        is_near = not final or end < len(text) <= start + CUT_CHARACTERS
        if is_near and plan.may_grow(text, start):
            return END if final else UNKNOWN, start, end
        return plan.groups[group], start, end
    if start == len(text) or plan.may_begin(text, start):
        # The end of the whole text may cut a token.
        return END if final else UNKNOWN, start, start
    return _NONE, start, start


def _beside(grammar: Grammar, text: str, terminal: str, end: int, final: bool) -> Verdict:  # noqa: FBT001
    """Return the verdict on a string that follows another: one quote too many begins no string."""
    strings = strings_of(grammar)
    if terminal in strings.ends:
        start = text.rfind(text[end - 1], 0, end - 1)
        return Verdict.NO if strings.has_sentinel(text, start, end) else Verdict.BESIDE
    if terminal in strings.prefixes or terminal not in grammar.fixed_texts:
        return Verdict.BESIDE
    closing = text.find(grammar.fixed_texts[terminal], end)
    if strings.has_sentinel(text, end, closing if closing >= 0 else len(text)):
        return Verdict.NO
    if closing >= 0:
        return Verdict.BESIDE
    return Verdict.NO if final else Verdict.UNKNOWN


def _outer(
    grammar: Grammar, states: list[int], text: str, place: tuple[int, int], *, final: bool
) -> Verdict:
    """Return the verdict on text that the parser does not expect, at an offset, after some tokens.

    An outer bracket may be closed there, if what follows its closer can follow.
    """
    start, n_tokens = place
    if n_tokens:
        return Verdict.NO
    for closer in grammar.closers_at(text, start):
        behind = completion.states_behind(grammar, states, "", closer)
        if behind is not None:
            end = start + len(grammar.fixed_texts[closer])
            terminal, _, _ = next_token(grammar, behind[-1], text, end, final=final)
            known = Verdict.UNKNOWN if terminal == UNKNOWN else Verdict.OUTER
            return Verdict.NO if terminal == _NONE else known
    rest = text[start:]
    if not final and any(
        len(closer) >= len(rest) + (not is_word(closer)) and closer.startswith(rest)
        for closer in grammar.closer_texts
    ):
        return Verdict.UNKNOWN
    return Verdict.NO


def balanced_end(
    grammar: Grammar, text: str, pos: int, closers: list[str], *, final: bool
) -> int | None:
    """Return where the last of `closers` stands at its level, brackets and strings skipped.

    Returns:
        The offset behind it; -1 if there is none near, None if it may be yet to come.
    """
    strings = strings_of(grammar)
    limit = pos + SKIP_MAX_CHARACTERS
    while closers and pos < min(len(text), limit):
        bracket = strings.bracket_from(text, pos, final=final)
        if bracket is None or (not final and len(text) - pos <= grammar.longest_closer):
            return None
        terminal, pos = bracket
        if terminal in grammar.openers:
            closers.append(strings.closer_of[terminal])
        elif terminal and closers.pop() != grammar.fixed_texts.get(terminal):
            # Another bracket, or a quote that nothing closes: the part does not end here.
            return -1
        if not closers:
            return pos
    return -1 if final or pos >= limit else None
