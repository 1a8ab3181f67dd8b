"""What the parse stack says: which closers complete it, which rules are open, why it is refused.

Everything here looks at a parse stack and changes nothing. Tokens are tried on the states alone,
without semantic values (a LALR state lists tokens that only reduce and then fail).

A completion feeds closers, and only where the last token is not open-ended text, not an opener
(the bracket was just opened) and where no token has to be dropped for it (a comma at the end
promised a value). At each step exactly one closer may fit.
"""

from dataclasses import dataclass
from typing import Final

from jsonrepair_lark.grammar import Grammar, is_text, local_name
from jsonrepair_lark.stack import ParseStack
from jsonrepair_lark.tables import END

INCOMPLETE: Final = {
    "string": "incomplete_string",
    "number": "incomplete_number",
    "true": "incomplete_literal",
    "false": "incomplete_literal",
    "null": "incomplete_literal",
}
"""Reason by the visible rule that an unfinished token belongs to."""


def _step(
    grammar: Grammar, states: list[int], terminal: str, *, may_delete: bool
) -> list[int] | None:
    """Return the states after feeding a terminal, or None if it is not accepted.

    The result shares nothing with `states`. For `$END` it is the stack of the accepted parse.
    """
    tables = grammar.tables
    kept = len(states)
    above: list[int] = []
    while True:
        state = above[-1] if above else states[kept - 1]
        if terminal == END and state == tables.end:
            break
        action = tables.actions[state].get(terminal)
        if action is None:
            return None
        if action >= 0:
            above.append(action)
            break
        kept = _reduce(grammar, states, kept, above, -1 - action)
        hook = grammar.hooks[-1 - action]
        if hook is not None and hook.deletes and not may_delete:
            return None
    while terminal != END and (rule := grammar.defaults[above[-1]]) is not None:
        kept = _reduce(grammar, states, kept, above, rule)
    return states[:kept] + above


def _reduce(grammar: Grammar, states: list[int], kept: int, above: list[int], rule: int) -> int:
    """Reduce a rule on `states[:kept] + above`, changing `above`; return the new `kept`."""
    row = grammar.rules[rule]
    size = len(row.expansion)
    from_above = min(size, len(above))
    if from_above:
        del above[-from_above:]
    kept -= size - from_above
    below = above[-1] if above else states[kept - 1]
    above.append(grammar.tables.gotos[below][row.origin])
    return kept


def is_accepted(stack: ParseStack, terminal: str) -> bool:
    """Tell whether the parser would shift `terminal` now."""
    return _step(stack.grammar, stack.states, terminal, may_delete=True) is not None


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
    closers: list[str] = []
    while _step(grammar, states, target, may_delete=False) is None:
        if not _may_close_after(stack, last):
            return None
        fitting = [
            (closer, after)
            for closer in sorted(grammar.closers & grammar.tables.actions[states[-1]].keys())
            if (after := _step(grammar, states, closer, may_delete=False)) is not None
        ]
        if len(fitting) != 1:
            return None
        last, states = fitting[0]
        closers.append(last)
    return closers


def _may_close_after(stack: ParseStack, last: str) -> bool:
    grammar = stack.grammar
    if is_text(last) or last in grammar.text_openers:
        return False
    return stack.close_empty or last not in grammar.openers


@dataclass(frozen=True, slots=True)
class OpenRule:
    """A rule that has begun and is not reduced.

    Attributes:
        rule: its name, local to its grammar.
        start: offset where it begins.
        seen: the symbols that stand on the stack.
        waits: the symbols that have to follow.
        position: index of its first symbol in the value stack.
    """

    rule: str
    start: int
    seen: tuple[str, ...]
    waits: tuple[str, ...]
    position: int

    def __str__(self) -> str:
        symbols = map(local_name, (*self.seen, "•", *self.waits))
        return f"{self.rule}: {' '.join(symbols)}"


def open_rules(stack: ParseStack) -> list[OpenRule]:
    """Return the open rules, outermost first, inlined ones too.

    The chain is followed down from the top of the stack: an item whose dot is `n` symbols in has
    begun `n` symbols below, in a state that waits for a symbol which can begin with its rule.
    """
    grammar = stack.grammar
    chain: list[OpenRule] = []
    top = len(stack.states) - 1
    begun: str | None = None
    while top > 0:
        item = _item_waiting_for(grammar, stack.states[top], begun)
        if item is None:
            break
        rule, dot = item
        row = grammar.rules[rule]
        top -= dot
        chain.append(
            OpenRule(
                local_name(row.origin),
                stack.starts[top],
                row.expansion[:dot],
                row.expansion[dot:],
                top,
            )
        )
        begun = row.origin
    return chain[::-1]


def _item_waiting_for(grammar: Grammar, state: int, symbol: str | None) -> tuple[int, int] | None:
    """Return the kernel item of a state that waits for `symbol`, or the one that needs most."""
    items = grammar.tables.kernels[state]
    if symbol is not None:
        for rule, dot in items:
            expansion = grammar.rules[rule].expansion
            for index in range(dot, len(expansion)):
                if symbol in grammar.leftmost(expansion[index]):
                    return rule, dot
                if expansion[index] not in grammar.nullable:
                    break
        return None
    # A repair is not what a rule waits for, and the longest alternative says most.
    return max(
        items,
        key=lambda item: (
            grammar.hooks[item[0]] is None,
            len(grammar.rules[item[0]].expansion) - item[1],
        ),
        default=None,
    )


def reason_at_end(stack: ParseStack) -> str:
    """Return the reason code for a text that ends where the session stands."""
    grammar = stack.grammar
    item = _item_waiting_for(grammar, stack.states[-1], None)
    if item is None:
        return "unexpected_input"
    rule, dot = item
    row = grammar.rules[rule]
    if row.expansion[:1] and row.expansion[0] in grammar.text_openers:
        return INCOMPLETE.get(local_name(row.origin), "truncated")
    if dot == len(row.expansion):
        return "truncated"
    previous, awaited = row.expansion[dot - 1], row.expansion[dot]
    if grammar.is_terminal(awaited):
        return _missing(awaited)
    if not grammar.is_terminal(previous):
        return "truncated"
    if row.expansion[0] == row.origin:
        return "dangling_comma"
    if previous in grammar.openers and grammar.bracket(row):
        return "empty_container"
    return "missing_value"


def _missing(terminal: str) -> str:
    return "missing_colon" if local_name(terminal) == "COLON" else "truncated"


def reason_at(stack: ParseStack, rest: str) -> str:
    """Return the reason code for `rest`, text that the session could not go on with."""
    grammar = stack.grammar
    unfinished = _unfinished(stack, rest)
    if unfinished is not None:
        return INCOMPLETE.get(grammar.owner(unfinished), "truncated")
    for closer in grammar.closers_at(rest, 0):
        if any(closer in rule.waits for rule in open_rules(stack)):
            return reason_at_end(stack)
    if _step(grammar, stack.states, END, may_delete=True) is None:
        return "unexpected_input"
    found = grammar.any_terminal.match(rest)
    if found is None:
        return "trailing_text"
    terminal = grammar.patterned[int((found.lastgroup or "t0")[1:])].name
    return "concatenated" if terminal in grammar.first("start") else "unexpected_input"


def _unfinished(stack: ParseStack, rest: str) -> str | None:
    """Return the terminal that `rest`, up to the end of the text, is the beginning of."""
    import regex  # noqa: PLC0415 - only a text that ends inside a token asks for it

    plan = stack.grammar.plan(stack.states[-1])
    for row in plan.terminals:
        found = regex.fullmatch(stack.grammar.pattern_of(row), rest, partial=True)
        if found is not None:
            return row.name
    return None
