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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jsonrepair_lark import completion
from jsonrepair_lark.lexemes import LINE_COUNT_DISCOUNT, find_lone_surrogate
from jsonrepair_lark.scanner import StatePlan, is_word, joined
from jsonrepair_lark.stack import Edit, Inline, ParseStack, Program, Span, Token
from jsonrepair_lark.tables import END

Refine = Callable[[str, bool], tuple[str | None, str | None]]

NATIVE_MIN_CHARACTERS: Final = 32
"""Shorter pieces of a stream are not worth a native scanner's set-up."""
NATIVE_BUDGET_PER_CHARACTER: Final = 8
"""How often, on average, a character may be scanned by native scanners that fail."""
HELD_MAX_CHARACTERS: Final = 4096
HELD_GROWTH: Final = 8
"""A held-back token longer than the first is looked at again when an eighth of it has come."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why and where a session stopped.

    Attributes:
        reason: reason code; None until `finish` has seen what follows.
        offset: place in the input.
        kind: the repair that would be needed and is not allowed, or None.
        key: the key that is refused, or None.
    """

    reason: str | None
    offset: int
    kind: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a session may do.

    Attributes:
        allowed: kinds of repair.
        max_depth: how deep brackets may nest.
        close_empty: whether a bracket that was just opened may be closed.
        truncated: whether the text is known to be cut, so that its end takes no closer.
        refine: by local name of a terminal: a function of lexeme and "is at the very end of the
            text" that returns the terminal that the lexeme really is, or a reason to refuse it.
        natives: whether native scanners may be used.
        traced: whether the open rules are kept that closers at the end of the text close.
        refusals: reason codes; a repair that is not allowed is refused by its own name if it is
            one of them, else as `repair_not_allowed`.
    """

    allowed: frozenset[str]
    max_depth: int = 500
    close_empty: bool = False
    truncated: bool = False
    refine: Mapping[str, Refine] = field(default_factory=dict)
    natives: bool = True
    traced: bool = False
    refusals: frozenset[str] = frozenset()


class Session(ParseStack):
    """One parse of one text.

    Args:
        program: the grammar and its actions.
        limits: what the session may do.
        failed_at: an offset in the first piece where no complete value starts, if known.

    Attributes:
        limits: as given.
        edits: what repair productions and closers ask for, in the order of the text.
        closers: the closers inserted at the end of the text.
        open_at_end: the rules that those close, outermost first, where the session is traced.
        stop: why the session stopped, or None.
        consumed: how far the text is parsed.
        last_end: the end of the last token, where a missing closer goes.
    """

    __slots__ = (
        "_base",
        "_buffer",
        "_depth",
        "_end",
        "_facts",
        "_failed_at",
        "_has_content",
        "_hot",
        "_is_clean",
        "_native_budget",
        "_natives",
        "_pos",
        "_refine",
        "_table",
        "_text",
        "_unread",
        "_unread_size",
        "_wait",
        "closers",
        "edits",
        "last_end",
        "limits",
        "open_at_end",
        "stop",
    )

    def __init__(self, program: Program, limits: Limits, *, failed_at: int = -1) -> None:
        grammar = program.grammar
        super().__init__(grammar, close_empty=limits.close_empty)
        self.limits = limits
        self.edits: list[Edit] = []
        self.closers: list[str] = []
        self.open_at_end: list[completion.OpenRule] = []
        self.stop: Stop | None = None
        self.last_end = 0
        self._table = grammar.actions
        self._end = grammar.tables.end
        self._hot = (
            self.states,
            self.values,
            self.starts,
            grammar.actions,
            program.rows,
            grammar.gotos,
            grammar.defaults,
        )
        self._depth = 0
        self._buffer = ""
        self._base = 0
        self._pos = 0
        self._unread: list[str] = []
        self._unread_size = 0
        self._wait = 0
        self._natives = limits.natives and bool(grammar.native_terminals)
        self._native_budget = 0
        # Whether the buffer has no lone surrogate; None until a native scanner wants to know.
        self._is_clean: bool | None = None
        self._text: Token | None = None
        self._failed_at: tuple[int, ...] = (failed_at,)
        self._has_content = False
        self._refine = limits.refine
        self._facts = grammar.facts

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

    def accept(self) -> None:
        """Take what a stopped session has read for the whole text; it is complete as it stands."""
        self.stop = None
        if self.states[-1] != self._end:
            self._shift(END, self.last_end, self.last_end, None)

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

    def _refuse(self, reason: str | None, offset: int, kind: str | None = None) -> None:
        if self.stop is None:
            self.stop = Stop(reason, offset, kind)

    def _scan(self, *, final: bool) -> None:
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
            if not final and plan.may_grow(buffer, start):
                self._hold(start)
                return
            if self._accept(plan.groups[group], start, end, final and end == size):
                self._pos = end
            elif not self._close_outer(start, final=final):
                return

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
                found = plan.sentinel.match(buffer, start) if plan.sentinel else None
            else:
                found = plan.sentinel.search(buffer, pos) if plan.sentinel else None
                start = found.start() if found else size
            if start > self._pos:
                self._accept(plan.text_terminal or "", self._pos, start, final and start == size)
                self._pos = start
                if self.stop is not None:
                    return True
            if found is None or (not final and plan.may_grow(buffer, start)):
                self._hold(start)
                return start == size
            terminal = plan.groups[found.lastgroup or ""]
            if self._accept(terminal, start, found.end(), final and found.end() == size):
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
                self._accept(closer, start, end, final and end == len(buffer))
                self._pos = end
            return True
        self._refuse(None, self._base + start)
        return False

    def _insert(self, closers: list[str]) -> None:
        """Insert missing closers after the last token; one edit for all of them."""
        if "missing_closer" not in self.limits.allowed:
            self._refuse("repair_not_allowed", self.last_end, "missing_closer")
            return
        at = self.last_end
        before = self.last_token.source if self.last_token else ""
        self._text = None
        for closer in closers:
            text = self.grammar.fixed_texts[closer]
            inserted = joined(before, text) if self.grammar.has_word_closers else text
            self.edits.append(Edit("missing_closer", at, at, inserted))
            self.last_token = Token(closer, at, at, text)
            self._shift(closer, at, at, self.last_token)
            before = text

    def _accept(self, terminal: str, start: int, end: int, at_end: bool) -> bool:  # noqa: FBT001
        """Shift `buffer[start:end]` as a token, if the parser takes it."""
        text = self._buffer[start:end]
        start += self._base
        end += self._base
        is_opener, is_open_text, local = self._facts[terminal]
        if local in self._refine:
            other, reason = self._refine[local](text, at_end)
            if reason is not None:
                self._refuse(reason, start)
                return True
            if other is not None:
                terminal = terminal.removesuffix(local) + other
        if is_open_text and self._extend_text(terminal, start, end, text):
            return True
        action = self._table[self.states[-1]].get(terminal)
        if action is None or (action < 0 and not completion.is_accepted(self, terminal)):
            return False
        if is_opener:
            if self._depth >= self.limits.max_depth:
                self._refuse("too_deep", start)
                return True
            self._depth += 1
        if not self._has_content:
            self._has_content = terminal not in self.grammar.deletable
        token = Token(terminal, start, end, text)
        self.last_token = token
        self._text = token if is_open_text else None
        self._shift(terminal, start, end, token)
        return True

    def _extend_text(self, terminal: str, start: int, end: int, text: str) -> bool:
        """Add open-ended text to the token before, if that is of the same terminal."""
        last = self.last_token
        if last is None or last.terminal != terminal or last.end != start:
            return False
        last.pieces.append(text)
        last.end = self.last_end = end
        if last.repair is not None:
            last.repair.end = end
        return True

    def _shift(  # noqa: C901, PLR0912, PLR0915 - one hot loop
        self, terminal: str, start: int, end: int, value: Any
    ) -> None:
        """Reduce as the terminal asks for, shift it, and reduce what nothing can stop.

        For `$END` there is nothing to shift: the reductions end in the accepted parse. A repair
        that is not allowed stops the session with the stack as it was before it.
        """
        states, values, starts, table, rows, gotos, defaults = self._hot
        rule: int | None
        action = table[states[-1]].get(terminal, 0)
        rule = -1 - action if action < 0 else None
        if terminal == "":
            rule = defaults[states[-1]]
            if rule is None:
                return
        while True:
            if rule is None:
                states.append(action)
                values.append(value)
                starts.append(start)
                self.last_end = end
                terminal = ""
            else:
                size, hook, n_openers, is_text_bracket, is_spanned, origin, make = rows[rule]
                if hook is not None and hook.kind not in self.limits.allowed:
                    self._refuse_repair(hook.kind, starts[-size])
                    return
                if size == 1:
                    children = [values.pop()]
                    begin = starts.pop()
                    states.pop()
                    self._depth -= n_openers
                elif size:
                    children = values[-size:]
                    begin = starts[-size]
                    del states[-size:]
                    del values[-size:]
                    del starts[-size:]
                    self._depth -= n_openers
                else:
                    children = []
                    begin = self.last_end
                if hook is not None:
                    self._record(hook.kind, hook.replacement, children)
                elif is_text_bracket:
                    self._group(begin)
                if is_spanned:
                    children = [Span(begin, self.last_end, len(self.edits)), *children]
                values.append(make(children))
                starts.append(begin)
                states.append(gotos[states[-1]][origin])
            if terminal == "":
                rule = defaults[states[-1]]
                if rule is None:
                    return
            elif terminal == END and states[-1] == self._end:
                return
            else:
                action = table[states[-1]][terminal]
                rule = -1 - action if action < 0 else None

    def reduce_defaults(self) -> None:
        """Reduce what nothing can stop."""
        self._shift("", self.last_end, self.last_end, None)

    def _refuse_repair(self, kind: str, offset: int) -> None:
        reason = kind if kind in self.limits.refusals else "repair_not_allowed"
        self._refuse(reason, offset, kind)

    def _record(self, kind: str, replacement: str | None, tokens: list[Token]) -> None:
        first, last = tokens[0], tokens[-1]
        edit = Edit(kind, first.start, last.end, replacement)
        self.edits.append(edit)
        for token in tokens:
            token.repair = edit

    def _group(self, start: int) -> None:
        """Make the edits of one kind inside a text that ends here one repair."""
        for edit in reversed(self.edits):
            if edit.start < start:
                break
            if edit.group is None and edit.kind != "missing_closer":
                edit.group = start

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
