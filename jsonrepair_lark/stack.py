"""The parse stack and what lies on it: tokens, inlined children, edits, semantic actions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.lexemes import REPLACEMENTS, SINGLE
from jsonrepair_lark.scanner import local_name
from jsonrepair_lark.tables import RuleRow
from jsonrepair_lark.transcript import JOINED_PIECES

Action = Callable[[list[Any]], Any]
"""Makes a rule's semantic value of its children's."""


class Token:
    """One token: terminal, offsets in the input, its text as pieces, and the repair it needs."""

    __slots__ = ("_n_joined", "end", "pieces", "repair", "start", "terminal")

    def __init__(self, terminal: str, start: int, end: int, text: str) -> None:
        self.terminal = terminal
        self.start = start
        self.end = end
        self.pieces = [text]
        self.repair: Edit | None = None
        self._n_joined = 0

    def extend(self, text: str) -> None:
        """Add the text that follows in the input."""
        self.pieces.append(text)
        self.end += len(text)
        if len(self.pieces) - self._n_joined > JOINED_PIECES:
            self.pieces[self._n_joined :] = ["".join(self.pieces[self._n_joined :])]
            self._n_joined += 1

    @property
    def source(self) -> str:
        """The text as it stands in the input."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
            self._n_joined = 1
        return self.pieces[0]

    @property
    def text(self) -> str:
        """The text that the parse goes on with: repaired where it needs a repair."""
        return self.source if self.repair is None else self.repair.replace(self.source)


class Span(NamedTuple):
    """Where a rule stands in the input: start and end, in code points.

    `n_edits` is the number of edits that the session had when the rule was reduced; those from
    `start` on among them are the rule's.
    """

    start: int
    end: int
    n_edits: int


class Inline(list[Any]):
    """The children of a rule that leaves no node of its own; the parent takes them over."""


@dataclass(slots=True, eq=False)
class Edit:
    """A change that a repair production asks for: `start` to `end` gives way to `replacement`.

    `replacement` is None where a function of the kind (`lexemes`) makes it from the text.
    Edits of one kind and one `group`, which is the offset of a string, are one repair, and so are
    closers at one place.
    """

    kind: str
    start: int
    end: int
    replacement: str | None
    group: int | None = None

    def is_inside(self, start: int) -> bool:
        """Tell whether a rule that starts at `start` holds the edit, if it comes after the start.

        A closer inserted there is one of what stands before the rule.
        """
        return self.start > start or (self.start == start and self.kind != "missing_closer")

    def belongs_to(self, before: "Edit") -> bool:
        """Tell whether this edit and the one before it are one repair."""
        if self.kind != before.kind:
            return False
        if self.kind == "missing_closer":
            return self.start == before.start
        return self.group is not None and self.group == before.group

    def replace(self, source: str) -> str:
        """Return what stands in place of `source`."""
        return REPLACEMENTS[self.kind](source) if self.replacement is None else self.replacement


class ParseStack:
    """The stack of a parse.

    Attributes:
        grammar: the grammar.
        states: parser states, one more than the others.
        values: semantic values.
        starts: offsets where the symbols start.
        last_token: the last token shifted, or None after a native one.
        close_empty: whether a bracket that was just opened may be closed.
    """

    __slots__ = ("close_empty", "grammar", "last_token", "starts", "states", "values")

    def __init__(self, grammar: Grammar, *, close_empty: bool) -> None:
        self.grammar = grammar
        self.states = [grammar.tables.start]
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.last_token: Token | None = None
        self.close_empty = close_empty


def flattened(children: Sequence[Any]) -> list[Any]:
    """Return children with those of inlined rules in their place."""
    flat: list[Any] = []
    for child in children:
        if type(child) is Inline:
            flat.extend(child)
        else:
            flat.append(child)
    return flat


def actions_for(
    grammar: Grammar,
    maker: Callable[[str], Action],
    repaired: Callable[[str, str], Action],
    spanned: frozenset[str] = frozenset(),
) -> list[Action]:
    """Return the semantic action of each rule of a grammar.

    Args:
        grammar: the grammar.
        maker: returns, for a rule's local name, what makes the value of a node from its children:
            tokens and values, inlined rules flattened, filtered tokens left out.
        repaired: the same for a repair production, with its kind after the name.
        spanned: the local names of the rules whose maker gets the rule's `Span` first.
    """
    inlined = _inlined_symbols(grammar)

    def action_of(index: int) -> Action:
        rule = grammar.rules[index]
        name = local_name(rule.origin)
        hook = grammar.hooks[index]
        if hook is not None:
            return repaired(name, hook.kind)
        if rule.inlined:
            return _inline_action(rule.kept, recursive=rule.expansion[:1] == (rule.origin,))
        if rule.expand1 and len(rule.kept) == 1:
            return itemgetter(rule.kept[0])
        if name in spanned:
            return _spanned_action(rule, maker(name))
        return _node_action(rule, maker(name), inlined)

    return [action_of(index) for index in range(len(grammar.rules))]


def _node_action(rule: RuleRow, make: Action, inlined: set[str]) -> Action:
    kept = rule.kept
    pick: Callable[[list[Any]], Any]
    if len(kept) > 1:
        pick = itemgetter(*kept)
    else:

        def pick(children: list[Any]) -> Any:
            return [children[index] for index in kept]

    if any(rule.expansion[index] in inlined for index in kept):
        if len(kept) == 1:
            return _single_inline_action(kept[0], make)
        return lambda children: make(flattened(pick(children)))
    if kept == tuple(range(len(rule.expansion))):
        return make
    return lambda children: make(pick(children))


def _single_inline_action(index: int, make: Action) -> Action:
    def action(children: list[Any]) -> Any:
        child = children[index]
        return make(child if type(child) is Inline else [child])

    return action


def _spanned_action(rule: RuleRow, make: Action) -> Action:
    kept = [index + 1 for index in rule.kept]
    return lambda children: make(flattened([children[0], *(children[index] for index in kept)]))


def _inlined_symbols(grammar: Grammar) -> set[str]:
    """Return the symbols whose value may be `Inline`."""
    found = {name for name in grammar.native_terminals if local_name(name) not in SINGLE}
    for rule, hook in zip(grammar.rules, grammar.hooks, strict=True):
        if rule.inlined or hook is not None:
            found.add(rule.origin)
    while True:
        more = {
            rule.origin
            for rule in grammar.rules
            if rule.expand1 and len(rule.kept) == 1 and rule.expansion[rule.kept[0]] in found
        }
        if more <= found:
            return found
        found |= more


def _inline_action(kept: tuple[int, ...], *, recursive: bool) -> Action:
    def collect(children: list[Any]) -> Any:
        # A left-recursive list grows in place: copying it for each item would be quadratic.
        flat = children[0] if recursive and type(children[0]) is Inline else Inline()
        for index in kept:
            child = children[index]
            if child is flat:
                continue
            if type(child) is Inline:
                flat.extend(child)
            else:
                flat.append(child)
        return flat

    return collect


class Program:
    """A grammar with the actions that give its rules a meaning, ready for sessions.

    Attributes:
        grammar: the grammar.
        actions: the action of each rule.
        rows: for each rule what a reduction needs: the number of its symbols, its repair hook,
            how many openers it holds, whether it is a bracket around text, whether its action
            wants its span before its children, its name, its action.
    """

    def __init__(
        self, grammar: Grammar, actions: list[Action], spanned: frozenset[str] = frozenset()
    ) -> None:
        self.grammar = grammar
        self.actions = actions
        self.spanned = spanned
        self.rows = [
            (
                len(rule.expansion),
                grammar.hooks[index],
                grammar.n_openers[index],
                index in grammar.text_brackets,
                local_name(rule.origin) in spanned,
                rule.origin,
                actions[index],
            )
            for index, rule in enumerate(grammar.rules)
        ]

    def listened(self, names: frozenset[str], listen: Callable[[Any], Any]) -> "Program":
        """Return this program for one session, which tells of the values of some rules.

        Args:
            names: the local names of the rules.
            listen: gets each of their values when it is made.
        """

        def told(action: Action) -> Action:
            def act(children: list[Any]) -> Any:
                value = action(children)
                listen(value)
                return value

            return act

        actions = [
            told(action) if local_name(rule.origin) in names else action
            for rule, action in zip(self.grammar.rules, self.actions, strict=True)
        ]
        return Program(self.grammar, actions, self.spanned)
