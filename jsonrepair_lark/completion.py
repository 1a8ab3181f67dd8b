"""What the parse stack says: which closers complete it, which rules are open, why it is refused.

Everything here looks at a parse stack and changes nothing. Tokens are tried on the states alone,
without semantic values (a LALR state lists tokens that only reduce and then fail).

A completion feeds closers, and only where the last token is not open-ended text, not an opener
(the bracket was just opened) and where no token has to be dropped for it (a comma at the end
promised a value, also where the grammar allows it before a closer). At each step exactly one closer
may fit.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.scanner import is_text, local_name
from jsonrepair_lark.stack import ParseStack, Token, flattened
from jsonrepair_lark.tables import END, RuleRow

REMEMBERED_STATES: Final = 32
REMEMBERED_MAX: Final = 4096
"""Completions of stacks up to the first size are remembered, up to the second number of them."""

INCOMPLETE: Final = {
    "string": "incomplete_string",
    "number": "incomplete_number",
    "true": "incomplete_literal",
    "false": "incomplete_literal",
    "null": "incomplete_literal",
    "python_string": "incomplete_string",
    "raw_string": "incomplete_string",
    "format_string": "incomplete_string",
    "raw_format_string": "incomplete_string",
    "python_number": "incomplete_number",
}
"""Reason by the visible rule that an unfinished token belongs to."""


def step(
    grammar: Grammar,
    states: list[int],
    terminal: str,
    *,
    may_delete: bool,
    is_inserted: bool = False,
) -> list[int] | None:
    """Return the states after feeding a terminal, or None if it is not accepted.

    The result shares nothing with `states`. For `$END` it is the stack of the accepted parse.

    Args:
        grammar: the grammar.
        states: the states of a parse.
        terminal: what is fed.
        may_delete: whether a token may be dropped for it.
        is_inserted: whether the terminal does not stand in the text.
    """
    tables = grammar.tables
    actions = grammar.actions
    action = actions[states[-1]].get(terminal)
    if action is None:
        return states if terminal == END and states[-1] == tables.end else None
    after = states.copy()
    while action < 0:
        rule = -1 - action
        hook = grammar.hooks[rule]
        if hook is not None and hook.deletes and not may_delete:
            return None
        _reduce(grammar, after, rule)
        if terminal == END and after[-1] == tables.end:
            return after
        action = actions[after[-1]].get(terminal)
        if action is None:
            return None
    after.append(action)
    if is_inserted and grammar.defaults[action] in grammar.exact_rules:
        return None
    reduce_defaults(grammar, after)
    return after


def reduce_defaults(grammar: Grammar, states: list[int]) -> None:
    """Reduce what nothing can stop, in place."""
    while (default := grammar.defaults[states[-1]]) is not None:
        _reduce(grammar, states, default)


def _reduce(grammar: Grammar, states: list[int], rule: int) -> None:
    row = grammar.rules[rule]
    if row.expansion:
        del states[-len(row.expansion) :]
    states.append(grammar.gotos[states[-1]][row.origin])


def is_accepted(stack: ParseStack, terminal: str) -> bool:
    """Tell whether the parser would shift `terminal` now."""
    return step(stack.grammar, stack.states, terminal, may_delete=True) is not None


def closers_before(stack: ParseStack, target: str) -> list[str] | None:
    """Return the closers, innermost first, after which `target` is accepted.

    Args:
        stack: the stack of a parse; not changed.
        target: a terminal, or `$END`.

    Returns:
        An empty list if it is accepted as it stands, None if no closers lead there or several do.
    """
    grammar = stack.grammar
    states = stack.states
    last = stack.last_token.terminal if stack.last_token else ""
    if len(states) > REMEMBERED_STATES:
        return _find_closers(grammar, states, last, target, close_empty=stack.close_empty)
    # Texts of one kind end in few states, over and over.
    key = (*states, last, target, stack.close_empty)
    known = grammar.completions
    if key not in known:
        if len(known) >= REMEMBERED_MAX:
            known.clear()
        known[key] = _find_closers(grammar, states, last, target, close_empty=stack.close_empty)
    return known[key]


def _find_closers(
    grammar: Grammar, states: list[int], last: str, target: str, *, close_empty: bool
) -> list[str] | None:
    closers: list[str] = []
    while step(grammar, states, target, may_delete=False) is None:
        if not _may_close_after(grammar, last, close_empty=close_empty):
            return None
        fitting = [
            (closer, after)
            for closer in sorted(grammar.closers & grammar.actions[states[-1]].keys())
            if (after := step(grammar, states, closer, may_delete=False, is_inserted=True))
        ]
        if len(fitting) != 1:
            return None
        last, states = fitting[0]
        closers.append(last)
    return closers


def states_behind(grammar: Grammar, states: list[int], last: str, closer: str) -> list[int] | None:
    """Return the states behind the closer of an outer bracket, missing ones put in before it.

    Args:
        grammar: the grammar.
        states: the states of a parse; not changed.
        last: the terminal of its last token.
        closer: a terminal.

    Returns:
        None if no closers lead there, or several do.
    """
    closers = _find_closers(grammar, states, last, closer, close_empty=False)
    if closers is None:
        return None
    after: list[int] | None = states
    for inserted in closers:
        after = after and step(grammar, after, inserted, may_delete=False, is_inserted=True)
    return after and step(grammar, after, closer, may_delete=False)


def may_close(stack: ParseStack, closer: str, inner: list[str]) -> bool:
    """Tell whether `closer` may be inserted after the closers `inner`: see `closers_before`."""
    last = inner[-1] if inner else (stack.last_token.terminal if stack.last_token else "")
    return closer in stack.grammar.closers and _may_close_after(
        stack.grammar, last, close_empty=stack.close_empty
    )


def _may_close_after(grammar: Grammar, last: str, *, close_empty: bool) -> bool:
    if is_text(last) or last in grammar.text_openers or last in grammar.separators:
        return False
    return close_empty or last not in grammar.openers


@dataclass(frozen=True, slots=True)
class OpenRule:
    """A rule that has begun and is not reduced.

    Attributes:
        rule: its name, local to its grammar.
        start: offset where it begins.
        seen: the symbols that stand on the stack.
        waits: the symbols that have to follow.
        notation: the alternative as a person reads it, with a dot where it stands.
        position: index of its first symbol in the value stack.
        stacked: the symbols that stand there; a native terminal among them is a short cut for
            what `seen` tells.
        kept: the indexes of those that leave a node.
        origin: the rule's full name.
    """

    rule: str
    start: int
    seen: tuple[str, ...]
    waits: tuple[str, ...]
    notation: str
    position: int = field(compare=False, repr=False)
    stacked: tuple[str, ...] = field(compare=False, repr=False)
    kept: tuple[int, ...] = field(compare=False, repr=False)
    origin: str = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.rule}: {self.notation}"


def _notation(grammar: Grammar, seen: tuple[str, ...], waits: tuple[str, ...]) -> str:
    def shown(symbol: str) -> str:
        fixed = grammar.fixed_texts.get(symbol)
        return repr(fixed) if fixed is not None else local_name(symbol).removeprefix("_")

    return " ".join((*map(shown, seen), "•", *map(shown, waits)))


def open_rules(stack: ParseStack) -> list[OpenRule]:
    """Return the open rules, outermost first, inlined ones too.

    The chain is followed down from the top of the stack: an item whose dot is `n` symbols in has
    begun `n` symbols below, in a state that waits for a symbol which can begin with its rule.
    """
    grammar = stack.grammar
    chain = []
    for row, dot, position in _open_items(grammar, stack.states):
        stacked, waits = row.expansion[:dot], row.expansion[dot:]
        seen = _without_natives(grammar, row, dot)
        chain.append(
            OpenRule(
                local_name(row.origin),
                stack.starts[position],
                seen,
                waits,
                _notation(grammar, seen, waits),
                position,
                stacked,
                tuple(index for index in row.kept if index < dot),
                row.origin,
            )
        )
    return chain


def _open_items(grammar: Grammar, states: list[int]) -> list[tuple[RuleRow, int, int]]:
    """Return the items of the open rules, outermost first: rule, dot, index of the first symbol."""
    items: list[tuple[RuleRow, int, int]] = []
    top = len(states) - 1
    begun: str | None = None
    while top > 0:
        item = _item_waiting_for(grammar, states[top], begun)
        if item is None:
            break
        rule, dot = item
        row = grammar.rules[rule]
        top -= dot
        items.append((row, dot, top))
        begun = row.origin
    return items[::-1]


def inside_of(stack: ParseStack, names: frozenset[str]) -> tuple[str, list[tuple[str, int]]] | None:
    """Return what is open of the innermost awaited rule of some names.

    Args:
        stack: the stack of a parse; not changed.
        names: local names.

    Returns:
        The rule's local name, and the local names of the rules that are open inside of it with the
        index of their first symbol in the value stack; None if no such rule has begun.
    """
    grammar = stack.grammar
    items = _open_items(grammar, stack.states)
    for index in range(len(items) - 1, 0, -1):
        row, dot, _ = items[index - 1]
        inner = items[index][0].origin
        # A helper rule may begin with the awaited one.
        begun = grammar.leftmost(row.expansion[dot]) if dot < len(row.expansion) else ()
        for symbol in sorted(begun):
            if local_name(symbol) in names and inner in grammar.leftmost(symbol):
                inside = [(local_name(r.origin), position) for r, _, position in items[index:]]
                return local_name(symbol), inside
    return None


def block_opener(grammar: Grammar, states: list[int]) -> str:
    """Return the text that the outermost open rule begins with, if that is a sentinel."""
    for row, dot, _ in _open_items(grammar, states):
        text = grammar.fixed_texts.get(row.expansion[0], "")
        if dot and len(text) > 1:
            return text
    return ""


@dataclass(frozen=True, slots=True)
class OpenPart:
    """The innermost open rule of some names.

    Attributes:
        origin: its full name.
        index: its place among the open rules.
        position: index of its first symbol in the value stack.
        openers: the opening terminals on the stack from there on.
        is_bracket: whether it has an opener itself, and not only what is inside of it.
    """

    origin: str
    index: int
    position: int
    openers: tuple[str, ...]
    is_bracket: bool


def innermost(grammar: Grammar, states: list[int], names: frozenset[str]) -> OpenPart | None:
    """Return the innermost open rule whose local name is one of `names`.

    A rule that has begun with another one, which is not complete, is not open by itself yet.
    """
    items = _open_items(grammar, states)
    for index in range(len(items) - 1, -1, -1):
        row, dot, position = items[index]
        origins = [row.origin] if local_name(row.origin) in names else []
        origins += (
            origin
            for origin in grammar.gotos[states[position]]
            if local_name(origin) in names and row.origin in grammar.leftmost(origin)
        )
        if origins:
            stacked = [inner.expansion[:n] for inner, n, _ in items[index:]]
            openers = tuple(s for symbols in stacked for s in symbols if s in grammar.openers)
            is_bracket = not grammar.openers.isdisjoint(row.expansion[:dot])
            return OpenPart(origins[0], index, position, openers, is_bracket)
    return None


def open_values(stack: ParseStack, chain: list[OpenRule]) -> list[tuple[str, list[Any]]]:
    """Return the open rules of a chain, innermost first, each with the values that it has so far.

    Tokens that leave no node are left out, and inlined children are in their place.
    """
    above = len(stack.values)
    found = []
    for rule in reversed(chain):
        values = stack.values[rule.position : above]
        kept = flattened([values[index] for index in rule.kept])
        found.append((rule.rule, [value for value in kept if not isinstance(value, Token)]))
        above = rule.position
    return found


def _without_natives(grammar: Grammar, row: RuleRow, dot: int) -> tuple[str, ...]:
    """Return what stands before the dot, in the alternative that has no native terminal there."""
    natives = set(grammar.native_terminals)
    if natives.isdisjoint(row.expansion[:dot]):
        return row.expansion[:dot]
    waits = row.expansion[dot:]
    for other in grammar.rules:
        before = other.expansion[: len(other.expansion) - len(waits)]
        if (other.origin, other.expansion) == (row.origin, before + waits) and natives.isdisjoint(
            before
        ):
            return before
    return row.expansion[:dot]


def _item_waiting_for(grammar: Grammar, state: int, symbol: str | None) -> tuple[int, int] | None:
    """Return the kernel item of a state that waits for `symbol`; for None, any item.

    Of several, one that does not wait for a repair, and of those the one that tells most.
    """

    def waits_for(item: tuple[int, int]) -> tuple[bool, int]:
        waits = grammar.rules[item[0]].expansion[item[1] :]
        is_repair = grammar.hooks[item[0]] is not None or not grammar.repair_rules.isdisjoint(waits)
        return not is_repair, len(waits)

    items = [
        item
        for item in grammar.tables.kernels[state]
        if symbol is None
        or _can_begin(grammar, grammar.rules[item[0]].expansion[item[1] :], symbol)
    ]
    return max(items, key=waits_for, default=None)


def _can_begin(grammar: Grammar, waits: tuple[str, ...], symbol: str) -> bool:
    """Tell whether what an item waits for can begin with `symbol`."""
    for awaited in waits:
        if symbol in grammar.leftmost(awaited):
            return True
        if awaited not in grammar.nullable:
            return False
    return False


EDGE_CHARACTERS: Final = 16
"""How near to the end of what is there of a text a token inside a string is not sure."""


def text_end(
    grammar: Grammar, states: list[int], text: str, pos: int, *, final: bool
) -> tuple[int | None, int]:
    """Return where a bracket around open-ended text is closed that is open in a parser state.

    Args:
        grammar: the grammar.
        states: the states of a parse.
        text: what is there of the text.
        pos: where to look from.
        final: whether nothing comes after `text`.

    Returns:
        The offset behind its closer; `pos` if no such bracket is open or nothing closes it, None
        if its closer may be yet to come. And from where to look on then.
    """
    states = states.copy()
    reduce_defaults(grammar, states)
    item = _item_waiting_for(grammar, states[-1], None)
    plan = grammar.plan(states[-1]) if item else None
    if item is None or plan is None or plan.match is None or item[0] not in grammar.text_brackets:
        return pos, pos
    closer = grammar.rules[item[0]].expansion[-1]
    at = sure = pos
    while at < len(text):
        if at <= len(text) - EDGE_CHARACTERS:
            sure = at
        found = plan.match(text, at)
        if found is None:
            at += 1
        elif plan.groups[found.lastgroup or ""] == closer:
            return found.end(), sure
        else:
            at = found.end()
    return (pos if final else None), sure


def reason_at_end(stack: ParseStack) -> str:
    """Return the reason code for a text that ends where the parse stands."""
    grammar = stack.grammar
    item = _item_waiting_for(grammar, stack.states[-1], None)
    if item is None:
        return "unexpected_input"
    rule, dot = item
    row = grammar.rules[rule]
    if row.expansion[0] in grammar.text_openers:
        return INCOMPLETE.get(grammar.owner(row.expansion[0]), "truncated")
    return _reason_of_wait(grammar, row, dot)


def _reason_of_wait(grammar: Grammar, row: RuleRow, dot: int) -> str:
    """Return the reason code for an alternative that ends before its dot is through."""
    awaited = row.expansion[dot] if dot < len(row.expansion) else ""
    if row.expansion[0] == row.origin and dot > 1 and awaited not in grammar.nullable:
        return "dangling_comma"
    previous = row.expansion[dot - 1]
    if not awaited or not grammar.is_terminal(previous):
        return "missing_colon" if local_name(awaited) == "COLON" else "truncated"
    is_empty = previous in grammar.openers and grammar.bracket(row)
    return "empty_container" if is_empty else "missing_value"


def reason_at(stack: ParseStack, rest: str) -> tuple[str, bool]:
    """Explain `rest`, text that the parse could not go on with.

    Returns:
        The reason code, and whether the place is the end of the text: half an escape is no place
        of its own, the text ends inside the string.
    """
    grammar = stack.grammar
    unfinished = grammar.plan(stack.states[-1]).unfinished(rest)
    if unfinished is not None:
        return INCOMPLETE.get(grammar.owner(unfinished), "truncated"), is_text(unfinished)
    return _reason_of_unexpected(stack, rest), False


def reason_inside(stack: ParseStack, rest: str) -> str:
    """Return the reason code for `rest` inside a rule that something may follow."""
    if not rest:
        return reason_at_end(stack)
    for closer in stack.grammar.closers_at(rest, 0):
        if any(closer in rule.waits for rule in open_rules(stack)):
            return reason_at_end(stack)
    return "unexpected_input"


def _reason_of_unexpected(stack: ParseStack, rest: str) -> str:
    grammar = stack.grammar
    for closer in grammar.closers_at(rest, 0):
        if any(closer in rule.waits for rule in open_rules(stack)):
            return reason_at_end(stack)
    if step(grammar, stack.states, END, may_delete=True) is None:
        return "unexpected_input"
    found = grammar.any_terminal.match(rest)
    if found is None:
        return "trailing_text"
    terminal = grammar.patterned[int((found.lastgroup or "t0")[1:])].name
    return "concatenated" if terminal in grammar.first("start") else "unexpected_input"
