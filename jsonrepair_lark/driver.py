"""Drives the parse table: shifts and reduces, and leaves edits where repairs are asked for.

A LALR driver in one loop over the tables that Lark made. It is here and not Lark's own, because a
state that can only reduce does so at once (what is complete is known as soon as it is), because
the tables come without Lark, and because an edit is due at the reduction that asks for it.
"""

from typing import Any

from jsonrepair_lark import completion
from jsonrepair_lark.limits import Limits, Stop
from jsonrepair_lark.scanner import joined
from jsonrepair_lark.stack import Edit, ParseStack, Program, Span, Token
from jsonrepair_lark.tables import END


class Driver(ParseStack):
    """A parse that tokens are fed to.

    Args:
        program: the grammar and its actions.
        limits: what the parse may do.

    Attributes:
        limits: as given.
        edits: what repair productions and closers ask for, in the order of the text.
        stop: why the parse stopped, or None.
        last_end: the end of the last token, where a missing closer goes.
    """

    __slots__ = (
        "_depth",
        "_end",
        "_facts",
        "_has_content",
        "_hot",
        "_refine",
        "_table",
        "_text",
        "edits",
        "last_end",
        "limits",
        "stop",
    )

    def __init__(self, program: Program, limits: Limits) -> None:
        grammar = program.grammar
        super().__init__(grammar, close_empty=limits.close_empty)
        self.limits = limits
        self.edits: list[Edit] = []
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
        self._has_content = False
        # The last token if it is open-ended text, which may go on.
        self._text: Token | None = None
        self._refine = limits.refine
        self._facts = grammar.facts

    def _refuse(self, reason: str | None, offset: int, kind: str | None = None) -> None:
        if self.stop is None:
            self.stop = Stop(reason, offset, kind)

    def accept(self) -> None:
        """Take what a stopped session has read for the whole text; it is complete as it stands."""
        self.stop = None
        if self.states[-1] != self._end:
            self._shift(END, self.last_end, self.last_end, None)

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

    def _accept(self, terminal: str, text: str, start: int, at_end: bool) -> bool:  # noqa: FBT001
        """Shift `text`, which starts at `start`, as a token, if the parser takes it.

        Args:
            terminal: what the scanner took it for.
            text: the lexeme.
            start: its offset in the input.
            at_end: whether the whole text ends with it.
        """
        end = start + len(text)
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
        last.extend(text)
        self.last_end = end
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

    def begin(self, terminal: str) -> None:
        """Take a terminal that does not stand in the text but before it."""
        self._shift(terminal, 0, 0, Token(terminal, 0, 0, ""))

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
