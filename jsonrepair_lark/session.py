"""The engine: an incremental LALR session over any grammar.

Theory of operation. `feed` takes text in any pieces and `finish` ends it. The scanner of the
current parser state finds the next token; a token is shifted, after the reductions that it asks
for, and a state that can only reduce does so at once. A token that can't be shifted is tried as
the closer of an outer rule (`completion`); if that fails too, the session stops there and keeps
what follows unread. At the end of the text the completion that needs closers only is applied.

Chunk-proof by construction: at the end of a piece that is not the last one, a token is taken only
if no more text could change it; else it is held back. Open-ended text needs no holding back:
neighbouring pieces of it are one token.

Linear: each character is scanned by a bounded number of attempts. Native scanners that fail have
a budget, and a long token that is held back is looked at again only when it has grown by a part
of its length.

A repair production never changes the text at once: it leaves an edit, and the token that the
parse goes on with has the replaced text.
"""

from typing import Final

from jsonrepair_lark import completion
from jsonrepair_lark.driver import Driver
from jsonrepair_lark.lexemes import LINE_COUNT_DISCOUNT, find_lone_surrogate
from jsonrepair_lark.limits import Limits, Stop
from jsonrepair_lark.quotes import Piece, Quotes
from jsonrepair_lark.scanner import StatePlan, is_word
from jsonrepair_lark.stack import Edit, Inline, Program, Token
from jsonrepair_lark.strings import strings_of
from jsonrepair_lark.tables import END

NATIVE_MIN_CHARACTERS: Final = 32
"""Shorter pieces of a stream are not worth a native scanner's set-up."""
NATIVE_BUDGET_PER_CHARACTER: Final = 8
"""How often, on average, a character may be scanned by native scanners that fail."""
HELD_MAX_CHARACTERS: Final = 4096
HELD_GROWTH: Final = 8
"""A held-back token longer than the first is looked at again when an eighth of it has come."""


class Session(Driver):
    """One parse of one text.

    Args:
        program: the grammar and its actions.
        limits: what the session may do.
        failed_at: an offset in the first piece where no complete value starts, if known.
        recoverable: the local names of the rules whose failure the session survives.

    Attributes:
        closers: the closers inserted at the end of the text.
        open_at_end: the rules that those close, outermost first, where the session is traced.
        consumed: how far the text is parsed.
    """

    __slots__ = (
        "_base",
        "_buffer",
        "_doubtful",
        "_failed_at",
        "_is_clean",
        "_native_budget",
        "_natives",
        "_part_heads",
        "_pos",
        "_quotes",
        "_unread",
        "_unread_size",
        "_wait",
        "closers",
        "open_at_end",
    )

    def __init__(
        self,
        program: Program,
        limits: Limits,
        *,
        failed_at: int = -1,
        recoverable: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(program, limits)
        self.closers: list[str] = []
        self.open_at_end: list[completion.OpenRule] = []
        self._buffer = ""
        self._base = 0
        self._pos = 0
        self._unread: list[str] = []
        self._unread_size = 0
        self._wait = 0
        self._natives = limits.natives and bool(program.grammar.native_terminals)
        self._native_budget = 0
        # Whether the buffer has no lone surrogate; None until a native scanner wants to know.
        self._is_clean: bool | None = None
        self._failed_at: tuple[int, ...] = (failed_at,)
        # What the sentinels of parts begin with, where a session survives parts; see `recovery`.
        self._part_heads: frozenset[str] = frozenset()
        self._doubtful = strings_of(program.grammar).doubtful
        if self._doubtful:
            self._quotes = Quotes(program.grammar, limits.allowed, recoverable)

    @property
    def consumed(self) -> int:
        """How many characters are parsed."""
        return self._base + self._pos

    @property
    def rest(self) -> str:
        """The text that is not parsed."""
        return "".join((self._buffer[self._pos :], *self._unread))

    def feed(self, text: str) -> None:
        """Take the next piece of the text; never raises on any text."""
        self._unread.append(text)
        self._unread_size += len(text)
        if self.stop is None and self._unread_size >= self._wait:
            self._take_unread()
            self._scan(final=False)

    def finish(self, text: str = "") -> None:
        """Take the last piece of the text and end it: close what is open, or stop."""
        self._unread.append(text)
        self._unread_size += len(text)
        if self.stop is None:
            self._take_unread()
            self._scan(final=True)
        if self.stop is None:
            self._finish_end()
        elif self.stop.reason is None:
            rest = self.rest
            reason, at_end = completion.reason_at(self, rest)
            self.stop = Stop(reason, self.consumed + len(rest) if at_end else self.stop.offset)

    def _take(self, terminal: str, start: int, end: int, at_end: bool) -> bool:  # noqa: FBT001
        """Shift `buffer[start:end]` as a token, if the parser takes it."""
        return self._accept(terminal, self._buffer[start:end], self._base + start, at_end)

    def _take_unread(self) -> None:
        self._native_budget += NATIVE_BUDGET_PER_CHARACTER * self._unread_size
        self._base += self._pos
        self._buffer = self.rest
        self._pos = 0
        self._wait = 0
        self._is_clean = None
        self._unread = []
        self._unread_size = 0

    def _hold(self, start: int) -> None:
        self._pos = start
        held = len(self._buffer) - start
        self._wait = held // HELD_GROWTH if held > HELD_MAX_CHARACTERS else 0

    def _scan(self, *, final: bool) -> None:  # noqa: C901 - one hot loop
        """Scan tokens from the buffer until it is used up, the session stops or a token waits."""
        grammar = self.grammar
        plans = grammar.plans
        states = self.states
        buffer = self._buffer
        size = len(buffer)
        while self._pos < size and self.stop is None:
            pos = self._pos
            plan = plans[states[-1]] or grammar.plan(states[-1])
            if self._text is not None:
                plan = self._plan_in_text(self._text, plan)
            if self._natives and plan.natives and self._scan_native(plan, pos, final):
                continue
            found = plan.match(buffer, pos) if plan.match is not None else None
            if found is None:
                if self._scan_other(plan, pos, final=final):
                    continue
                return
            group = found.lastgroup or ""
            start, end = found.span(group)
            if not final and (
                plan.may_grow(buffer, start)
                or (buffer[start] in self._part_heads and self._may_begin_part(start))
            ):
                self._hold(start)
                return
            terminal = plan.groups[group]
            if terminal in self._doubtful:
                terminal, end = self._decide(terminal, start, end, final=final)
                if not terminal:
                    return
            if self._take(terminal, start, end, final and end == size):
                self._pos = end
            elif not self._close_outer(start, final=final):
                return

    def _decide(self, terminal: str, start: int, end: int, *, final: bool) -> tuple[str, int]:
        """Decide what `buffer[start:end]` is, which may begin or end a string.

        Returns:
            The terminal and where it ends; no terminal if the session waits or stops.
        """
        before = self.last_token.terminal if self.last_token else ""
        piece = Piece(self._buffer, self._base, final)
        decided = self._quotes.decide(self.states, before, terminal, (start, end), piece)
        if not decided.terminal:
            self._hold(start)
        elif decided.is_lost:
            # The stop is behind the string, so that what follows is looked at as it stands there.
            self._take(decided.terminal, start, end, False)  # noqa: FBT003 - not at the end
            self._pos = end
            self._refuse("unexpected_input", self._base + end)
            return "", end
        return decided.terminal, decided.end

    def _may_begin_part(self, start: int) -> bool:
        """Tell whether a sentinel of another part may begin at `buffer[start:]`."""
        del start
        return False

    def _plan_in_text(self, text: Token, plan: StatePlan) -> StatePlan:
        """Return how to scan after open-ended text, which the parser may have gone past."""
        state = self.states[-1]
        if text.terminal in self._table[state] or text.end != self.consumed:
            return plan
        return self.grammar.plan_in_text(state, text.terminal)

    def _scan_native(self, plan: StatePlan, pos: int, final: bool) -> bool:  # noqa: FBT001
        """Try the native scanners of a state; tell whether one took something."""
        buffer = self._buffer
        if not final and len(buffer) - pos < NATIVE_MIN_CHARACTERS:
            return False
        # What starts with neither white space nor a control character is not ignored.
        start = pos if buffer[pos] > " " else self.grammar.skip(buffer, pos)
        if start == len(buffer):
            return False
        if self._is_clean is None:
            self._is_clean = find_lone_surrogate(buffer, pos) < 0
        if not self._is_clean:
            return False
        has_failed = start in self._failed_at
        room = self.limits.max_depth - self._depth
        for terminal, scan, is_single, is_bounded in plan.natives:
            if has_failed and not is_bounded:
                continue
            values, end, stopped, failed = scan(buffer, start, room, final)
            if failed:
                self._failed_at = failed
            if stopped != end:
                self._charge_native(start, stopped)
            if not values:
                continue
            self.last_token = self._text = None
            self._has_content = True
            self._pos = end
            value = values[0] if is_single else Inline(values)
            self._shift(terminal, self._base + start, self._base + end, value)
            return True
        return False

    def _charge_native(self, start: int, stopped: int) -> None:
        """Take the cost of a native scanner that failed off the budget."""
        # Where a policy decides, the grammar's own terminals find it. The error of the C scanner
        # counts the lines before its place, which is fast but not free.
        self._native_budget -= stopped - start + stopped // LINE_COUNT_DISCOUNT
        if stopped < 0 or self._native_budget < 0:
            self._natives = False

    def _scan_free_text(self, plan: StatePlan, pos: int, *, final: bool) -> bool:
        """Take text up to a sentinel, then the sentinel; False if what follows is held back."""
        buffer = self._buffer
        size = len(buffer)
        while True:
            if not final:
                start = plan.find_edge(buffer, pos)
            else:
                hit = plan.find_sentinel(buffer, pos) if plan.find_sentinel else None
                start = hit.start() if hit else size
            found = plan.sentinel(buffer, start) if plan.sentinel and start < size else None
            if start > self._pos:
                self._take(plan.text_terminal or "", self._pos, start, final and start == size)
                self._pos = start
                if self.stop is not None:
                    return True
            if found is None or (not final and plan.may_grow(buffer, start)):
                self._hold(start)
                return start == size
            terminal = plan.groups[found.lastgroup or ""]
            if self._take(terminal, start, found.end(), final and found.end() == size):
                self._pos = found.end()
                return True
            # No sentinel here, whatever it looks like: the text goes on.
            pos = start + 1

    def _scan_other(self, plan: StatePlan, pos: int, *, final: bool) -> bool:
        """Where no pattern matches: take free text, skip what is ignored, hold, close, or stop."""
        if plan.text_terminal is not None:
            return self._scan_free_text(plan, pos, final=final)
        buffer = self._buffer
        start = self.grammar.skip(buffer, pos)
        if start == len(buffer):
            self._pos = start
            return True
        if not final and plan.may_begin(buffer, start):
            self._hold(start)
            return False
        return self._close_outer(start, final=final)

    def _close_outer(self, start: int, *, final: bool) -> bool:
        """Take the closer of an outer open rule, with the missing inner closers before it."""
        buffer = self._buffer
        rest = len(buffer) - start
        if not final and any(
            len(text) >= rest + (not is_word(text)) and text.startswith(buffer[start:])
            for text in self.grammar.closer_texts
        ):
            self._hold(start)
            return False
        self._pos = start
        for closer in self.grammar.closers_at(buffer, start):
            inner = completion.closers_before(self, closer)
            if not inner:
                continue
            self._insert(inner)
            if self.stop is None:
                end = start + len(self.grammar.fixed_texts[closer])
                self._take(closer, start, end, final and end == len(buffer))
                self._pos = end
            return True
        if final and rest < self.grammar.longest_closer and self._complete_closer(buffer[start:]):
            self._pos = len(buffer)
            return True
        self._refuse(None, self._base + start)
        return False

    def _complete_closer(self, rest: str) -> bool:
        """Take the beginning of a closer, which the end of the text cuts, for the whole closer."""
        for closer in sorted(self.grammar.closers):
            text = self.grammar.fixed_texts[closer]
            if not text.startswith(rest) or self.limits.truncated:
                continue
            inner = completion.closers_before(self, closer)
            if inner is None or not completion.may_close(self, closer, inner):
                continue
            if inner:
                self._insert(inner)
            if self.stop is None:
                start = self._base + self._pos
                end = start + len(rest)
                self.edits.append(Edit("missing_closer", end, end, text.removeprefix(rest)))
                self._accept(closer, rest, start, at_end=True)
            return True
        return False

    def _finish_end(self) -> None:
        """At the end of the text: accept, close, or stop with the reason."""
        if not self._has_content:
            self._refuse("empty", self.consumed)
            return
        closers = completion.closers_before(self, END)
        if closers is None:
            self._refuse(completion.reason_at_end(self), self._base + len(self._buffer))
        elif closers and self.limits.truncated:
            self._refuse("truncated", self._base + len(self._buffer))
        else:
            if closers:
                if self.limits.traced:
                    self.open_at_end = completion.open_rules(self)
                self._insert(closers)
                self.closers = closers if self.stop is None else []
            if self.stop is None:
                self.accept()
