"""Explains a refusal: the place, what was expected in the user's notation, the message.

Form of a message: `Expected <what>, got <what>`; characters are named, not terminals.
"""

from dataclasses import dataclass
from typing import Final

from jsonrepair_lark.completion import OpenRule, open_rules
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.limits import Stop
from jsonrepair_lark.paths import step_text
from jsonrepair_lark.scanner import is_text, local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.tables import END, RuleRow
from jsonrepair_lark.values import path_of

QUOTED_MAX_CHARACTERS: Final = 20
EXPECTED_MAX: Final = 4

WORDS: Final = {
    "value": "a value",
    "object": "an object",
    "array": "a list",
    "pair": "a key",
    "string": "a string",
    "number": "a number",
}
"""What the user calls the rules of the contract."""

POLICY_WORDS: Final = {
    "invalid_escape": "an escape of JSON",
    "lone_surrogate": "a surrogate pair",
    "nonfinite_number": "a finite number",
    "number_too_long": "an integer within Python's limit of digits",
    "duplicate_key": "each key once",
    "incomplete_number": "a complete number",
    "truncated": "a whole text",
    "concatenated": "one value",
    "trailing_text": "end of text",
    "invalid_encoding": "decodable bytes",
    "not_an_object": "an object",
    "empty": "a value",
}
"""What was expected where the reason tells more than the parser's state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why and where a text was refused.

    Attributes:
        reason: the reason code.
        offset: where, in code points of the input (bytes for `invalid_encoding`).
        line, column: the same place, both counted from 1; a line ends at LF.
        path: the path of what is incomplete, such as `$.edits[1].new`.
        open_rules: the rules that had begun, outermost first, with what each waits for.
        expected: what would have been accepted, in the user's notation.
        kind: the repair that was needed and is not allowed, or None.
        message: the whole in one sentence, without the place.
    """

    reason: str
    offset: int
    line: int
    column: int
    path: str
    open_rules: tuple[OpenRule, ...]
    expected: tuple[str, ...]
    kind: str | None
    message: str

    def __str__(self) -> str:
        return f"{self.message}: line {self.line} column {self.column} (char {self.offset})"


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def explain(session: Session, stop: Stop, text: str) -> Rejection:
    """Return the explanation of a stop of a session that has read `text`."""
    reason = stop.reason or "unexpected_input"
    expected = expected_by(session)
    got = _quoted(text[stop.offset :]) if stop.offset < len(text) else "end of text"
    path = path_of(session, into_empty=reason != "empty_container")
    if stop.key is not None:
        path += step_text(stop.key)
    wanted = POLICY_WORDS.get(reason) or _listed(expected)
    if reason == "too_deep":
        wanted = f"at most {session.limits.max_depth} levels of nesting"
    elif reason == "repair_not_allowed":
        wanted = f"text that needs no repair of kind {stop.kind}"
    elif reason == "missing_value" and path != "$":
        wanted = f"a value for {path}"
    line, column = line_and_column(text, stop.offset)
    return Rejection(
        reason=reason,
        offset=stop.offset,
        line=line,
        column=column,
        path=path,
        open_rules=tuple(r for r in open_rules(session) if not r.rule.startswith("_")),
        expected=expected,
        kind=stop.kind,
        message=f"Expected {wanted}, got {got}",
    )


def undecodable(error: UnicodeDecodeError, data: bytes) -> Rejection:
    """Return the explanation for bytes that are no text; the places are those of bytes."""
    offset = error.start
    return Rejection(
        reason="invalid_encoding",
        offset=offset,
        line=data.count(b"\n", 0, offset) + 1,
        column=offset - data.rfind(b"\n", 0, offset),
        path="$",
        open_rules=(),
        expected=(error.encoding,),
        kind=None,
        message=f"Expected {error.encoding}, got byte {data[offset]:#04x}",
    )


def _quoted(text: str) -> str:
    shown = text[:QUOTED_MAX_CHARACTERS]
    return repr(shown + "…" if len(text) > QUOTED_MAX_CHARACTERS else shown)


def _listed(expected: tuple[str, ...]) -> str:
    if len(expected) > EXPECTED_MAX + 1:
        n_others = len(expected) - EXPECTED_MAX
        return ", ".join(expected[:EXPECTED_MAX]) + f" or {n_others} others"
    *first, last = expected or ("end of text",)
    return f"{', '.join(first)} or {last}" if first else last


def expected_by(session: Session) -> tuple[str, ...]:
    """Return what a session would go on with, in the user's notation."""
    grammar = session.grammar
    state = session.states[-1]
    if state == grammar.tables.end:
        return ("end of text",)
    found: dict[str, None] = {}
    items = grammar.tables.kernels[state]
    if not items:
        _add_symbol(grammar, "start", found, set())
    for rule, dot in items:
        if grammar.hooks[rule] is None:
            _add_sequence(grammar, grammar.rules[rule], dot, found, set())
    if not session.grammar.actions[state].keys() - {END} or _accepts_end(session):
        found["end of text"] = None
    return tuple(found)


def _accepts_end(session: Session) -> bool:
    return len(session.states) > 1 and END in session.grammar.actions[session.states[-1]]


def _add_sequence(
    grammar: Grammar, row: RuleRow, dot: int, found: dict[str, None], seen: set[str]
) -> None:
    """Add what `row` can go on with after its dot, repairs aside."""
    for symbol in row.expansion[dot:]:
        if symbol in grammar.repair_rules:
            return
        _add_symbol(grammar, symbol, found, seen)
        if symbol not in grammar.nullable:
            return


def _add_symbol(grammar: Grammar, symbol: str, found: dict[str, None], seen: set[str]) -> None:
    if symbol in seen:
        return
    seen.add(symbol)
    name = local_name(symbol)
    if grammar.is_terminal(symbol):
        if symbol not in grammar.native_terminals and not is_text(symbol):
            found[_shown(grammar, symbol)] = None
    elif name in WORDS:
        found[WORDS[name]] = None
    else:
        for index, row in enumerate(grammar.rules):
            if row.origin == symbol and grammar.hooks[index] is None:
                _add_sequence(grammar, row, 0, found, seen)


def _shown(grammar: Grammar, terminal: str) -> str:
    fixed = grammar.fixed(terminal)
    return repr(fixed) if fixed else local_name(terminal).lower().replace("_", " ")
