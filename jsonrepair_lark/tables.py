"""Lark's parse table as plain data: every use of Lark's internals is in this module.

Lark reads the grammar and computes the LALR(1) table with its item sets. What a session needs of
that are numbers and names, kept here as `Tables`, which can be written as JSON: a built wheel
ships them, so that a fresh process neither imports Lark (some 75 ms) nor builds a table (some
30 ms) to repair one payload.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from jsonrepair_lark import registry
from jsonrepair_lark.errors import GrammarFormatError, GrammarNotFoundError

if TYPE_CHECKING:
    from lark.grammar import Rule

END: Final = "$END"
VERSION: Final = 1
"""Raised when the layout of `Tables` changes: tables of another version are not read."""


@dataclass(frozen=True, slots=True)
class TerminalRow:
    """A terminal: its pattern, or `pattern=None` for one that the grammar only declares.

    `fixed` is the text of a terminal that has just one, else None.
    """

    name: str
    pattern: str | None
    fixed: str | None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One alternative of a rule.

    `kept` holds the indexes of `expansion` that leave a node in the tree; `inlined` tells that
    the rule's own node never stands in the tree, `expand1` that it does not with one child.
    """

    origin: str
    expansion: tuple[str, ...]
    kept: tuple[int, ...]
    alias: str | None
    inlined: bool
    expand1: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """An LALR(1) parse table.

    Attributes:
        terminals: in the order in which a scanner tries them.
        ignored: names of the terminals that are skipped.
        rules: the alternatives; a reduction names one by its index.
        actions: for each state, terminal to action: the state to shift to, or `-1 - rule`.
        gotos: for each state, rule name to the state after that rule was reduced.
        kernels: for each state, its kernel items as (rule, index of the dot).
        start, end: the state that a parse begins in, and the one that it accepts in.
    """

    terminals: tuple[TerminalRow, ...]
    ignored: tuple[str, ...]
    rules: tuple[RuleRow, ...]
    actions: tuple[dict[str, int], ...]
    gotos: tuple[dict[str, int], ...]
    kernels: tuple[tuple[tuple[int, int], ...], ...]
    start: int
    end: int

    def dumps(self) -> str:
        """Return the tables as JSON text."""
        return json.dumps({"version": VERSION, **asdict(self)}, separators=(",", ":"))

    @classmethod
    def loads(cls, text: str | bytes) -> "Tables | None":
        """Read what `dumps` wrote; None if another version of this library wrote it."""
        data = json.loads(text)
        if data.pop("version") != VERSION:
            return None
        data["terminals"] = tuple(TerminalRow(**row) for row in data["terminals"])
        data["rules"] = tuple(
            RuleRow(**{**row, "expansion": tuple(row["expansion"]), "kept": tuple(row["kept"])})
            for row in data["rules"]
        )
        data["kernels"] = tuple(tuple((r, i) for r, i in kernel) for kernel in data["kernels"])
        for name in ("ignored", "actions", "gotos"):
            data[name] = tuple(data[name])
        return cls(**data)


def load(name: str) -> Tables:
    """Return the tables of the grammar `name`: those of the wheel, or computed now.

    Raises:
        GrammarNotFoundError: if there is no such grammar.
        GrammarFormatError: if Lark refuses the grammar.
    """
    shipped = registry.read_tables(name)
    tables = Tables.loads(shipped) if shipped is not None else None
    return tables or build(registry.read(name), name)


def compile_all() -> dict[str, str]:
    """Return the tables of every grammar in the folder, as JSON text by grammar name."""
    return {name: build(registry.read(name), name).dumps() for name in registry.names()}


def _resolver() -> Callable[[object, str], tuple[str, str]]:
    def resolve(_base: object, path: str) -> tuple[str, str]:
        try:
            # Lark keys its check for changed files on the first item.
            return f"<grammars>/{path}", registry.read(path.removesuffix(registry.SUFFIX))
        except GrammarNotFoundError as error:
            raise FileNotFoundError(path) from error

    return resolve


def build(text: str, name: str, *, strict: bool = False) -> Tables:
    """Compute the tables of a grammar.

    Args:
        text: the grammar, in Lark's notation.
        name: what errors call it.
        strict: refuse shift/reduce conflicts instead of shifting.

    Raises:
        GrammarFormatError: if Lark refuses the grammar.
    """
    from lark import Lark
    from lark.exceptions import LarkError
    from lark.lexer import PatternStr

    options: dict[str, Any] = {
        # The scanners are ours; of Lark's parts only the reading of the grammar is needed here.
        "parser": None,
        "lexer": "basic",
        "maybe_placeholders": False,
        "import_paths": [_resolver()],
        "source_path": f"<grammars>/{name}{registry.SUFFIX}",
    }
    try:
        lark = Lark(text, **options)
        table = _item_set_table(lark.rules, strict=strict)
    except (LarkError, OSError, AssertionError) as error:
        raise GrammarFormatError(f"Grammar {name!r}: {error}") from error

    def scan_order(terminal: Any) -> tuple[int, int, int, str]:
        fixed = isinstance(terminal.pattern, PatternStr)
        return (-terminal.priority, not fixed, -len(terminal.pattern.value), terminal.name)

    used = {symbol.name for rule in lark.rules for symbol in rule.expansion}
    patterned = [
        TerminalRow(
            terminal.name,
            terminal.pattern.to_regexp(),
            str(terminal.pattern.value)
            if isinstance(terminal.pattern, PatternStr) and not terminal.pattern.flags
            else None,
        )
        for terminal in sorted(lark.terminals, key=scan_order)
        if terminal.name in used or terminal.name in lark.ignore_tokens
    ]
    return _tables(lark.rules, tuple(lark.ignore_tokens), patterned, table)


def _item_set_table(rules: "list[Rule]", *, strict: bool) -> Any:
    """Return Lark's parse table with item sets for states, which `Lark` itself numbers away."""
    from lark.common import ParserConf
    from lark.parsers.lalr_analysis import LALR_Analyzer

    analyzer = LALR_Analyzer(ParserConf(rules, {}, ["start"]), debug=True, strict=strict)
    analyzer.compute_lalr()  # type: ignore[no-untyped-call]  # Lark does not type it
    return analyzer.parse_table


def _tables(
    rules: "list[Rule]", ignored: tuple[str, ...], patterned: list[TerminalRow], table: Any
) -> Tables:
    from lark.parsers.lalr_analysis import Shift

    rule_index = {rule: index for index, rule in enumerate(rules)}

    def item(pointer: Any) -> tuple[int, int]:
        return rule_index.get(pointer.rule, -1), pointer.index

    # The root item, which is of no rule of the grammar, marks the start and the end; sorting the
    # item sets makes the numbering of the states the same in every process.
    states = sorted(table.states, key=lambda state: sorted(map(item, state)))
    state_index = {state: index for index, state in enumerate(states)}
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    terminals = {symbol.name for rule in rules for symbol in rule.expansion if symbol.is_term}
    for state in states:
        row = {
            str(name): state_index[target] if kind is Shift else -1 - rule_index[target]
            for name, (kind, target) in sorted(table.states[state].items())
        }
        actions.append({name: to for name, to in row.items() if name in terminals or name == END})
        gotos.append({name: to for name, to in row.items() if name not in actions[-1]})
    known = {row.name for row in patterned}
    declared = [TerminalRow(name, None, None) for name in sorted(terminals - known)]
    return Tables(
        terminals=(*patterned, *declared),
        ignored=ignored,
        rules=tuple(map(_rule_row, rules)),
        actions=tuple(actions),
        gotos=tuple(gotos),
        kernels=tuple(
            tuple(sorted(pair for pair in map(item, state) if pair[0] >= 0 and pair[1] > 0))
            for state in states
        ),
        start=state_index[table.start_states["start"]],
        end=state_index[table.end_states["start"]],
    )


def _rule_row(rule: "Rule") -> RuleRow:
    origin = str(rule.origin.name)
    return RuleRow(
        origin=origin,
        expansion=tuple(str(symbol.name) for symbol in rule.expansion),
        kept=tuple(
            index
            for index, symbol in enumerate(rule.expansion)
            if rule.options.keep_all_tokens or not getattr(symbol, "filter_out", False)
        ),
        alias=rule.alias and str(rule.alias),
        inlined=origin.startswith("_"),
        expand1=bool(rule.options.expand1),
    )
