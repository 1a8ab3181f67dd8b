"""A grammar ready to be run: its tables, one scanner per parser state, closers and repairs.

What a grammar says is read from its tables by a few rules, the same for every grammar:

* A terminal whose name ends in `TEXT` is open-ended: more text may belong to it. With a pattern it
  matches that; one that is only declared (`%declare CONTENT_TEXT`) matches up to the next terminal
  that may follow it.
* An alternative with the alias `repair_<kind>` tolerates a fault. What it puts in place is said by
  a function of that kind (`lexemes`), else by the sibling alternative that has a fixed text; a
  rule that has only repairs is deleted from the text.
* A bracket is an alternative that ends in a terminal of fixed text, its closer, and has another
  such terminal before that, its opener.
* An alternative with the alias `exact_<name>` is a bracket that is never closed for the text.
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
from jsonrepair_lark.lexemes import NATIVES, REPLACEMENTS
from jsonrepair_lark.scanner import StatePlan, is_text, is_word, local_name, pattern_of
from jsonrepair_lark.tables import RuleRow, Tables, TerminalRow

REPAIR_PREFIX: Final = "repair_"
EXACT_PREFIX: Final = "exact_"
TEXT_SUFFIX: Final = "TEXT"


@dataclass(frozen=True, slots=True)
class RepairHook:
    """A repair production: its kind, and what it puts in place (None: a function's to say)."""

    kind: str
    replacement: str | None

    @property
    def deletes(self) -> bool:
        """Tell whether the production drops its token."""
        return self.replacement == ""


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
        self.skip_pattern = "|".join(f"(?:{pattern_of(row)})" for row in ignored)
        self._skip = re.compile(f"(?:{self.skip_pattern})++").match if ignored else None
        self.free_texts = tuple(
            row.name for row in source.terminals if row.pattern is None and is_text(row.name)
        )
        declared = {local_name(row.name): row.name for row in source.terminals if not row.pattern}
        self.native_terminals = tuple(declared[name] for name in NATIVES if name in declared)
        for row in source.terminals:
            if row.pattern is None and row.name not in (*self.free_texts, *self.native_terminals):
                raise GrammarFormatError(
                    f"Grammar {name!r} declares {row.name}, which nothing scans"
                )
        self._reached: dict[tuple[str, frozenset[str]], bool] = {}
        self._plans_in_text: dict[tuple[int, str], StatePlan] = {}
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
            made = self.plans[state] = self._make_plan(state)
        return made

    def plan_in_text(self, state: int, text_terminal: str) -> StatePlan:
        """Return how to scan in `state`, which open-ended text led to that may still go on."""
        key = (state, text_terminal)
        if key not in self._plans_in_text:
            accepted = {*self.actions[state], text_terminal}
            free = text_terminal if text_terminal in self.free_texts else None
            rows = tuple(row for row in self.patterned if row.name in accepted)
            self._plans_in_text[key] = StatePlan(
                rows,
                natives=(),
                skip=self.skip_pattern,
                text_terminal=free,
                sentinels=rows,
                pieced=self.pieced,
            )
        return self._plans_in_text[key]

    def _make_plan(self, state: int) -> StatePlan:
        accepted = self.actions[state]
        text_terminal = next((name for name in self.free_texts if name in accepted), None)
        return StatePlan(
            tuple(row for row in self.patterned if row.name in accepted),
            natives=tuple(name for name in self.native_terminals if name in accepted),
            skip=self.skip_pattern,
            text_terminal=text_terminal,
            sentinels=self.sentinels(state, text_terminal) if text_terminal else (),
            pieced=self.pieced,
        )

    def skip(self, text: str, pos: int) -> int:
        """Return where the ignored text ends that starts at `pos`."""
        found = self._skip(text, pos) if self._skip else None
        return found.end() if found else pos

    def is_terminal(self, symbol: str) -> bool:
        """Tell terminals from rules."""
        return symbol in self.terminal_rows

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
        fixed = (s for s in reversed(before) if s in self.fixed_texts)
        opener = next((s for s in fixed if s not in self.separators), None)
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
            if rule.expansion and self.is_terminal(rule.expansion[-1])
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
                self._begins_with(rule.expansion[0], opener)
                for other in self.rules
                if other.origin == rule.origin and other.expansion[:1] != rule.expansion
                for opener in self._first_of(other) & self.text_openers
            )
        )

    def _first_of(self, rule: RuleRow) -> frozenset[str]:
        """Return the terminals that an alternative's first symbol can begin with."""
        return self.first(rule.expansion[0]) if rule.expansion else frozenset()

    def _begins_with(self, terminal: str, opener: str) -> bool:
        """Tell whether the pattern of a terminal begins with the fixed text of another."""
        pattern = self.terminal_rows[terminal].pattern or ""
        return pattern.startswith(re.escape(self.fixed_texts.get(opener, "\0")))

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
        """Return every symbol that a derivation of `symbol` can begin with."""
        return self._leftmost.get(symbol, frozenset((symbol,)))

    def first(self, symbol: str) -> frozenset[str]:
        """Return the terminals that `symbol` can begin with."""
        return frozenset(filter(self.is_terminal, self.leftmost(symbol)))

    def reaches(self, rule: str, names: frozenset[str]) -> bool:
        """Tell whether a rule can derive a rule of one of the local names.

        Args:
            rule: its full name, or its local one.
            names: local names.
        """
        key = (rule, names)
        if key not in self._reached:
            self._reached[key] = self._reaches(rule, names)
        return self._reached[key]

    def _reaches(self, rule: str, names: frozenset[str]) -> bool:
        pending = [r.origin for r in self.rules if rule in (r.origin, local_name(r.origin))]
        seen = set(pending)
        while pending:
            origin = pending.pop()
            for row in self.rules:
                if row.origin == origin:
                    fresh = [s for s in row.expansion if s not in seen]
                    seen.update(fresh)
                    pending += fresh
        return any(local_name(symbol) in names for symbol in seen)

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
    def exact_rules(self) -> frozenset[int]:
        """The alternatives whose closer has to stand in the text."""
        return frozenset(
            index
            for index, rule in enumerate(self.rules)
            if local_name(rule.alias or "").startswith(EXACT_PREFIX)
        )

    @cached_property
    def repair_rules(self) -> frozenset[str]:
        """The rules that are nothing but repairs."""
        hooked = {r.origin for r, h in zip(self.rules, self.hooks, strict=True) if h}
        plain = {r.origin for r, h in zip(self.rules, self.hooks, strict=True) if not h}
        return frozenset(hooked - plain)

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
    def separators(self) -> frozenset[str]:
        """The terminals between the items of a list, which promise another item."""
        return frozenset(
            rule.expansion[1]
            for rule in self.rules
            if len(rule.expansion) > 2  # noqa: PLR2004 - list, separator, item
            and rule.expansion[0] == rule.origin
            and self.is_terminal(rule.expansion[1])
        )

    @cached_property
    def longest_closer(self) -> int:
        """The length of the longest closer."""
        return max(map(len, self.closer_texts), default=0)

    @cached_property
    def longest_fixed(self) -> int:
        """The length of the longest fixed text."""
        return max(map(len, self.fixed_texts.values()), default=0)

    @cached_property
    def has_word_closers(self) -> bool:
        """Whether some closer is a word, which must not run into the one before it."""
        return any(is_word(text[:1]) for text in self.closer_texts)

    @cached_property
    def closer_texts(self) -> tuple[str, ...]:
        """The fixed texts of the closers."""
        return tuple(sorted(self.fixed(closer) for closer in self.closers))

    def fixed(self, terminal: str) -> str:
        """Return the text of a terminal that has just one."""
        return self.fixed_texts.get(terminal, "")

    def closers_at(self, text: str, pos: int) -> list[str]:
        """Return the closers that stand at `text[pos:]`, the longest first."""
        found = []
        for closer in sorted(self.closers):
            fixed = self.fixed_texts[closer]
            if text.startswith(fixed, pos):
                end = pos + len(fixed)
                if not (is_word(fixed) and is_word(text[end : end + 1])):
                    found.append(closer)
        return sorted(found, key=lambda closer: -len(self.fixed_texts[closer]))

    @cached_property
    def any_terminal(self) -> re.Pattern[str]:
        """A scanner for all terminals but open-ended text; its groups index `patterned`."""
        parts = [
            f"(?P<t{index}>{pattern_of(row)})"
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
