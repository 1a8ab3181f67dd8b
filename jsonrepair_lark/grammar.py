"""A grammar ready to be run: its tables, one scanner per parser state, closers and repairs.

What a grammar says is read from its tables by a few rules, the same for every grammar:

* A terminal whose name ends in `TEXT` is open-ended: more text may belong to it. With a pattern it
  matches that; one that is only declared (`%declare CONTENT_TEXT`) matches up to the next terminal
  that may follow it.
* An alternative with the alias `repair_<kind>` tolerates a fault. What it puts in place is said by
  a function of that kind (`lexemes`), else by the sibling alternative that has a fixed text; a
  rule that has only repairs is deleted from the text.
* A bracket is an alternative that ends in a terminal of fixed text, its closer, and has another
  terminal before that, its opener.
* A fixed terminal that ends in a letter or digit is a word: it matches only where no such
  character follows.
* Other declared terminals are scanned by a function of that name (`lexemes`), a complete piece of
  the language as one token.

State plans are made on first use, since most texts visit few states.
"""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from jsonrepair_lark import tables
from jsonrepair_lark.errors import GrammarFormatError
from jsonrepair_lark.lexemes import BOUNDED, NATIVES, REPLACEMENTS, SINGLE
from jsonrepair_lark.tables import RuleRow, Tables, TerminalRow

REPAIR_PREFIX: Final = "repair_"
TEXT_SUFFIX: Final = "TEXT"


def local_name(name: str) -> str:
    """Return `name` without the prefix that Lark gives to imported rules and terminals."""
    return name.rsplit("__", 1)[-1]


def is_text(terminal: str) -> bool:
    """Tell whether more text may always belong to a token of this terminal."""
    return terminal.endswith(TEXT_SUFFIX)


@dataclass(frozen=True, slots=True)
class RepairHook:
    """A repair production: its kind, and what it puts in place (None: a function's to say)."""

    kind: str
    replacement: str | None

    @property
    def deletes(self) -> bool:
        """Tell whether the production drops its token."""
        return self.replacement == ""


class StatePlan:
    """How to scan in one parser state.

    Attributes:
        match: the compiled scanner's `match`, or None where no terminal has a pattern.
        natives: terminals scanned by functions, in the order to try them.
        sentinel: for a state that takes text up to a sentinel: the compiled search for it.
        text_terminal: the terminal of that text, or None.
    """

    __slots__ = (
        "_edge",
        "_search",
        "grammar",
        "groups",
        "match",
        "natives",
        "sentinel",
        "terminals",
        "text_terminal",
    )

    def __init__(self, grammar: "Grammar", state: int) -> None:
        accepted = grammar.actions[state]
        self.grammar = grammar
        self.natives = tuple(
            (
                name,
                NATIVES[local_name(name)],
                local_name(name) in SINGLE,
                local_name(name) in BOUNDED,
            )
            for name in grammar.native_terminals
            if name in accepted
        )
        free_text = [name for name in grammar.free_texts if name in accepted]
        self.text_terminal = free_text[0] if free_text else None
        self.sentinel: re.Pattern[str] | None = None
        self.terminals = tuple(row for row in grammar.patterned if row.name in accepted)
        # In free text, white space is text: nothing is skipped before a terminal.
        skip = "" if self.text_terminal else grammar.skip_pattern
        pattern = grammar.alternation(self.terminals, skip)
        self.match = re.compile(pattern).match if pattern else None
        if self.text_terminal:
            self.terminals = grammar.sentinels(state, self.text_terminal)
            pattern = grammar.alternation(self.terminals, "")
            self.sentinel = re.compile(pattern) if pattern else None
        self.groups = {f"t{n}": row.name for n, row in enumerate(self.terminals)}
        self._edge: tuple[tuple[str, ...], Any, Any] | None = None
        self._search: Any = None

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

    def find_edge(self, buffer: str, start: int) -> int:
        """Return where in `buffer[start:]` a sentinel begins or could still begin; else the end."""
        if not self.terminals:
            return len(buffer)
        import regex  # noqa: PLC0415 - only a stream has edges

        if self._search is None:
            self._search = regex.compile(self.grammar.alternation(self.terminals, ""))
        found = self._search.search(buffer, start, partial=True)
        return found.start() if found else len(buffer)

    def _prepare_edge(self) -> tuple[tuple[str, ...], Any, Any]:
        """Return what to ask at an edge: fixed texts, patterns of tokens, patterns of text."""
        import regex  # noqa: PLC0415 - only a stream has edges

        grammar = self.grammar
        fixed = []
        growing = []
        text = []
        for row in self.terminals:
            if is_text(row.name):
                text.append(grammar.pattern_of(row))
            elif row.fixed is not None and not is_word(row.fixed):
                fixed.append(row.fixed)
            elif row.name not in grammar.pieced:
                growing.append(grammar.pattern_of(row))

        def compiled(patterns: list[str]) -> Any:
            return regex.compile("|".join(f"(?:{p})" for p in patterns)) if patterns else None

        return tuple(fixed), compiled(growing), compiled(text)


def is_word(fixed: str) -> bool:
    """Tell whether a fixed text ends like a word, so that more letters would make another word."""
    return fixed[-1:].isalnum() or fixed[-1:] == "_"


class Grammar:
    """A compiled grammar, shared by all sessions that run it; `of` gives the one per process."""

    def __init__(self, name: str, source: Tables) -> None:
        self.name = name
        self.tables = source
        self.rules = source.rules
        rows = {row.name: row for row in source.terminals}
        self.terminal_rows = rows
        self.fixed_texts = {name: row.fixed for name, row in rows.items() if row.fixed is not None}
        ignored = [rows[name] for name in source.ignored]
        self.completions: dict[tuple[Any, ...], list[str] | None] = {}
        self.patterned = tuple(
            row for row in source.terminals if row.pattern is not None and row not in ignored
        )
        self.skip_pattern = self.alternation_body(ignored)
        self.skip = re.compile(f"(?:{self.skip_pattern})*+" if ignored else "").match
        self.free_texts = tuple(
            row.name for row in source.terminals if row.pattern is None and is_text(row.name)
        )
        declared = {local_name(row.name): row.name for row in source.terminals if not row.pattern}
        self.native_terminals = tuple(declared[name] for name in NATIVES if name in declared)
        for row in source.terminals:
            if row.pattern is None and row.name not in (*self.free_texts, *self.native_terminals):
                raise GrammarFormatError(f"Grammar {name!r} declares {row.name}, which nothing scans")
        self.plans: list[StatePlan | None] = [None] * len(source.actions)
        self.hooks = tuple(self._hook(rule) for rule in self.rules)
        self.defaults = tuple(map(_default_reduction, source.actions))
        self.actions = tuple(
            {t: self._without_units(state, to) for t, to in row.items()}
            for state, row in enumerate(source.actions)
        )
        self.gotos = tuple(
            {name: self._without_units(state, to) for name, to in row.items()}
            for state, row in enumerate(source.gotos)
        )
        self.openers = frozenset(
            opener
            for opener, _ in filter(None, map(self.bracket, self.rules))
            if opener not in self.text_openers
        )
        self.facts = {
            name: (name in self.openers, is_text(name), local_name(name)) for name in rows
        }
        self.n_openers = tuple(
            sum(symbol in self.openers for symbol in rule.expansion) for rule in self.rules
        )

    def _without_units(self, state: int, target: int) -> int:
        """Return where a symbol leads once the reductions that change nothing are done.

        A rule marked `?` with one symbol, as `?value: number`, only renames what stands on the
        stack; where nothing else can be done, the target is already the state after it.
        """
        while target >= 0 and (rule := self.defaults[target]) is not None:
            row = self.rules[rule]
            if not (row.expand1 and len(row.expansion) == len(row.kept) == 1):
                break
            target = self.tables.gotos[state][row.origin]
        return target

    def plan(self, state: int) -> StatePlan:
        """Return the plan of `state`, made on first use."""
        made = self.plans[state]
        if made is None:
            made = self.plans[state] = StatePlan(self, state)
        return made

    def is_terminal(self, symbol: str) -> bool:
        """Tell terminals from rules."""
        return symbol in self.terminal_rows

    def pattern_of(self, row: TerminalRow) -> str:
        """Return the regular expression of a terminal."""
        if row.fixed is not None and is_word(row.fixed):
            return f"{row.pattern}(?!\\w)"
        return row.pattern or "(?!)"

    def alternation_body(self, rows: "list[TerminalRow]") -> str:
        """Return an alternation without groups."""
        return "|".join(f"(?:{self.pattern_of(row)})" for row in rows)

    def alternation(self, rows: tuple[TerminalRow, ...], skip: str) -> str:
        """Return a pattern whose group `t<n>` is the n-th of `rows`.

        Open-ended text comes first and takes what lies before it for text; before the others,
        what `skip` matches is skipped.
        """
        numbered = list(enumerate(rows))
        parts = [f"(?P<t{n}>{self.pattern_of(r)})" for n, r in numbered if is_text(r.name)]
        others = [f"(?P<t{n}>{self.pattern_of(r)})" for n, r in numbered if not is_text(r.name)]
        if others:
            body = "|".join(others)
            parts.append(f"(?:{skip})*+(?:{body})" if skip else body)
        return "|".join(parts)

    def sentinels(self, state: int, text_terminal: str) -> tuple[TerminalRow, ...]:
        """Return the terminals that end free text: what stands here or after the text."""
        actions = self.actions
        accepted = set(actions[state])
        after = actions[state][text_terminal]
        if after < 0:
            # Something empty comes before the text; where that leads depends on the stack, so
            # what stands here has to do.
            return tuple(row for row in self.patterned if row.name in accepted)
        default = self.defaults[after]
        follow = set(actions[after]) if default is None else set()
        return tuple(row for row in self.patterned if row.name in accepted | follow)

    def bracket(self, rule: RuleRow) -> tuple[str, str] | None:
        """Return opener and closer of an alternative that is a bracket, else None."""
        *before, last = rule.expansion or ("",)
        row = self.terminal_rows.get(last)
        if row is None or row.fixed is None:
            return None
        opener = next((s for s in reversed(before) if self.is_terminal(s)), None)
        return (opener, last) if opener else None

    @cached_property
    def closers(self) -> frozenset[str]:
        """The terminals that close a bracket whose content is not open-ended text."""
        brackets = filter(None, map(self.bracket, self.rules))
        return frozenset(closer for opener, closer in brackets if opener not in self.text_openers)

    @cached_property
    def text_openers(self) -> frozenset[str]:
        """The terminals that open a bracket around open-ended text, such as a quote."""
        return frozenset(
            symbol
            for rule in self.rules
            for symbol, following in zip(rule.expansion, rule.expansion[1:], strict=False)
            if self.is_terminal(symbol) and any(map(is_text, self.first(following)))
        )

    @cached_property
    def pieced(self) -> frozenset[str]:
        """The terminals that have a form in pieces, such as a complete string."""
        return frozenset(
            rule.expansion[0]
            for rule in self.rules
            if len(rule.expansion) == 1
            and self.is_terminal(rule.expansion[0])
            and any(
                len(other.expansion) > 1 and other.expansion[0] in self.text_openers
                for other in self.rules
                if other.origin == rule.origin
            )
        )

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The rules that may be empty."""
        found: set[str] = set()
        while True:
            more = {r.origin for r in self.rules if all(s in found for s in r.expansion)}
            if more <= found:
                return frozenset(found)
            found |= more

    @cached_property
    def _leftmost(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {rule.origin: {rule.origin} for rule in self.rules}
        changed = True
        while changed:
            changed = False
            for rule in self.rules:
                mine = found[rule.origin]
                size = len(mine)
                for symbol in rule.expansion:
                    mine |= found.get(symbol, {symbol})
                    if symbol not in self.nullable:
                        break
                changed |= len(mine) > size
        return {name: frozenset(symbols) for name, symbols in found.items()}

    def leftmost(self, symbol: str) -> frozenset[str]:
        """Return every symbol, rules and terminals, that a derivation of `symbol` can begin with."""
        return self._leftmost.get(symbol, frozenset((symbol,)))

    def first(self, symbol: str) -> frozenset[str]:
        """Return the terminals that `symbol` can begin with."""
        return frozenset(filter(self.is_terminal, self.leftmost(symbol)))

    def owner(self, terminal: str) -> str:
        """Return the local name of the visible rule that a terminal belongs to."""
        symbol, seen = terminal, {terminal}
        while True:
            origins = [r.origin for r in self.rules if symbol in r.expansion]
            origin = next((o for o in origins if o not in seen), None)
            if origin is None:
                return local_name(symbol)
            if not local_name(origin).startswith("_"):
                return local_name(origin)
            seen.add(origin)
            symbol = origin

    @cached_property
    def text_brackets(self) -> frozenset[int]:
        """The alternatives that are brackets around open-ended text."""
        return frozenset(
            index
            for index, rule in enumerate(self.rules)
            if len(rule.expansion) > 1 and rule.expansion[0] in self.text_openers
        )

    @cached_property
    def deletable(self) -> frozenset[str]:
        """The terminals that some repair drops."""
        return frozenset(
            symbol
            for rule, hook in zip(self.rules, self.hooks, strict=True)
            if hook is not None and hook.deletes
            for symbol in rule.expansion
        )

    @cached_property
    def closer_texts(self) -> tuple[str, ...]:
        """The fixed texts of the closers."""
        return tuple(sorted(self.fixed(closer) for closer in self.closers))

    def fixed(self, terminal: str) -> str:
        """Return the text of a terminal that has just one."""
        return self.fixed_texts.get(terminal, "")

    def closers_at(self, text: str, pos: int) -> list[str]:
        """Return the closers that stand at `text[pos:]`, the longest first."""
        found = [c for c in sorted(self.closers) if text.startswith(self.fixed(c), pos)]
        return sorted(found, key=lambda closer: -len(self.fixed(closer)))

    @cached_property
    def any_terminal(self) -> re.Pattern[str]:
        """A scanner for all terminals but open-ended text; its groups index `patterned`."""
        parts = [
            f"(?P<t{index}>{self.pattern_of(row)})"
            for index, row in enumerate(self.patterned)
            if not is_text(row.name)
        ]
        return re.compile("|".join(parts))

    def _hook(self, rule: RuleRow) -> RepairHook | None:
        alias = local_name(rule.alias or "")
        if not alias.startswith(REPAIR_PREFIX):
            return None
        if not all(map(self.is_terminal, rule.expansion)):
            raise GrammarFormatError(
                f"Grammar {self.name!r}: {rule.alias} is a repair of more than terminals"
            )
        kind = alias.removeprefix(REPAIR_PREFIX)
        siblings = [r for r in self.rules if r.origin == rule.origin and not r.alias]
        if kind in REPLACEMENTS:
            return RepairHook(kind, None)
        for sibling in siblings:
            fixed = [self.terminal_rows[s].fixed for s in sibling.expansion if self.is_terminal(s)]
            if len(fixed) == len(sibling.expansion) and None not in fixed:
                return RepairHook(kind, "".join(map(str, fixed)))
        if siblings:
            raise GrammarFormatError(
                f"Grammar {self.name!r}: nothing says what {rule.alias} puts in place"
            )
        return RepairHook(kind, "")

    @staticmethod
    @cache
    def of(name: str) -> "Grammar":
        """Return the compiled grammar `name`, made once per process.

        Raises:
            GrammarNotFoundError: if there is no such grammar.
            GrammarFormatError: if it can't be compiled.
        """
        return Grammar(name, tables.load(name))


def _default_reduction(actions: dict[str, int]) -> int | None:
    """Return the rule that a state reduces whatever comes, so that it can be done at once."""
    kinds = set(actions.values())
    only = next(iter(kinds)) if len(kinds) == 1 else 0
    return -1 - only if only < 0 else None
