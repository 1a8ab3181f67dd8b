"""Shows a result to a person or a program: reports of edits and refusals, dumps of the parse.

A report tells what was done to a text; a dump adds the tree so far, the open rules with what each
waits for and the closers chosen. Both come as text for a terminal or as JSON.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from jsonrepair_lark.completion import OpenRule, open_rules
from jsonrepair_lark.explain import Rejection
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.result import Repair, Result
from jsonrepair_lark.scanner import local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.trees import tree_of, tree_session

CONTEXT_CHARACTERS: Final = 36
"""How much of a line is shown on either side of a place."""
LEAF_MAX_CHARACTERS: Final = 60
CHILDREN_MAX: Final = 200
TOKENS_MAX_CHARACTERS: Final = 1_000_000
"""In longer texts, complete values are single leaves of a dump."""

RED: Final = "31"
GREEN: Final = "32"
BOLD: Final = "1"
DIM: Final = "2"


def _paint(text: str, code: str, *, color: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if color and text else text


def _one_line(text: str) -> str:
    """Return text of the same length whose characters all stand on one line."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def excerpt(text: str, offset: int, *, color: bool = False) -> str:
    """Return the line around `offset` with a caret under the place."""
    start = max(text.rfind("\n", 0, offset) + 1, offset - CONTEXT_CHARACTERS)
    end = text.find("\n", offset)
    end = min(len(text) if end < 0 else end, offset + CONTEXT_CHARACTERS)
    before = "…" if start and text[start - 1] != "\n" else ""
    after = "…" if end < len(text) and text[end] != "\n" else ""
    shown = before + _one_line(text[start:end]) + after
    caret = " " * (len(before) + offset - start) + _paint("^", RED, color=color)
    return f"{shown}\n{caret}"


def _repair_lines(repair: Repair, *, color: bool) -> Iterator[str]:
    place = f"line {repair.line} column {repair.column} (char {repair.offset})"
    yield f"{_paint(repair.kind, BOLD, color=color)} at {place}"
    if repair.removed:
        yield "  " + _paint(f"- {_shortened(repair.removed)}", RED, color=color)
    if repair.inserted:
        yield "  " + _paint(f"+ {_shortened(repair.inserted)}", GREEN, color=color)


def _shortened(text: str) -> str:
    shown = text[:LEAF_MAX_CHARACTERS]
    return repr(shown) + ("…" if len(text) > len(shown) else "")


def _rejection_lines(result: Result, rejection: Rejection, *, color: bool) -> Iterator[str]:
    yield f"{_paint(rejection.reason, RED, color=color)} at {rejection.path}: {rejection}"
    if rejection.reason != "invalid_encoding":
        for line in excerpt(result.input, rejection.offset, color=color).split("\n"):
            yield f"  {line}"


def report(result: Result, *, color: bool = False) -> str:
    """Return a readable account of each edit, or of the refusal with a caret under the place.

    Args:
        result: the result to tell of.
        color: whether to use the colours of a terminal.
    """
    lines = [f"status: {result.status}"]
    for repair in result.repairs:
        lines += _repair_lines(repair, color=color)
    lines += [f"schema: {error}" for error in result.schema_errors]
    if result.rejection is not None:
        lines += _rejection_lines(result, result.rejection, color=color)
        partial = json.dumps(_shown_value(result.partial))
        lines.append(f"sound so far: {_cut(partial)}")
    return "\n".join(lines) + "\n"


def _cut(text: str) -> str:
    most = 10 * LEAF_MAX_CHARACTERS
    return text if len(text) <= most else text[:most] + "…"


def report_data(result: Result, *, with_text: bool = True) -> dict[str, Any]:
    """Return what `report` tells as data for JSON: status, text, repairs, rejection, partial."""
    data: dict[str, Any] = {"status": result.status}
    if with_text and result.status != "rejected":
        data["text"] = result.text
    data["span"] = list(result.span)
    data["repairs"] = [
        {
            "kind": repair.kind,
            "offset": repair.offset,
            "line": repair.line,
            "column": repair.column,
            "removed": repair.removed,
            "inserted": repair.inserted,
        }
        for repair in result.repairs
    ]
    if result.coercions:
        data["coercions"] = [
            {"path": change.path, "from": change.before, "to": change.after}
            for change in result.coercions
        ]
    if result.schema_errors:
        data["schema_errors"] = list(result.schema_errors)
    rejection = result.rejection
    if rejection is not None:
        data["reason"] = rejection.reason
        data["rejection"] = {
            "offset": rejection.offset,
            "line": rejection.line,
            "column": rejection.column,
            "path": rejection.path,
            "open_rules": [_open_rule_data(rule) for rule in rejection.open_rules],
            "expected": list(rejection.expected),
            "kind": rejection.kind,
            "message": rejection.message,
        }
        data["partial"] = _shown_value(result.partial)
    return data


def _open_rule_data(rule: OpenRule) -> dict[str, Any]:
    return {
        "rule": rule.rule,
        "start": rule.start,
        "seen": [local_name(symbol) for symbol in rule.seen],
        "waits": [local_name(symbol) for symbol in rule.waits],
    }


def _traced(result: Result, grammar: Grammar) -> Session:
    natives = len(result.input) > TOKENS_MAX_CHARACTERS
    session = tree_session(grammar, result.options, natives=natives)
    session.finish(result.input)
    return session


def _open_rules_of(session: Session) -> list[OpenRule]:
    rules = session.open_at_end if session.stop is None else open_rules(session)
    return [rule for rule in rules if not rule.rule.startswith("_")]


def dump(result: Result, *, grammar: str = "json", color: bool = False) -> str:
    """Return the tree so far, the open rules, the closers chosen, the repairs and the refusal.

    Args:
        result: the result to show; its input is parsed once more, token by token.
        grammar: the name of the grammar to parse it with.
        color: whether to use the colours of a terminal.
    """
    session = _traced(result, Grammar.of(grammar))
    lines = [_paint("tree", BOLD, color=color)]
    lines += (f"  {line}" for line in _tree_lines(tree_of(session), color=color))
    rules = _open_rules_of(session)
    if rules:
        lines.append(
            _paint("open rules, outermost first: • is where each stands", BOLD, color=color)
        )
        lines += (f"  {rule} {_paint(f'from {rule.start}', DIM, color=color)}" for rule in rules)
    if session.closers:
        texts = "".join(session.grammar.fixed(closer) for closer in session.closers)
        lines.append(f"{_paint('closers', BOLD, color=color)} {texts!r} at {session.last_end}")
    lines.append(report(result, color=color))
    return "\n".join(lines)


def dump_data(result: Result, *, grammar: str = "json") -> dict[str, Any]:
    """Return what `dump` shows as data for JSON; the tree is a list of nodes with their depth."""
    session = _traced(result, Grammar.of(grammar))
    return {
        "tree": _tree_data(tree_of(session)),
        "open_rules": [_open_rule_data(rule) for rule in _open_rules_of(session)],
        "closers": [session.grammar.fixed(closer) for closer in session.closers],
        **report_data(result),
    }


def _tree_lines(tree: Any, *, color: bool) -> Iterator[str]:
    """Yield a line a node, two spaces a level, without recursion."""
    pending: list[tuple[int, Any]] = [(0, tree)]
    while pending:
        level, node = pending.pop()
        indent = "  " * level
        if hasattr(node, "children"):
            yield f"{indent}{node.data}"
            shown = node.children[:CHILDREN_MAX]
            if len(node.children) > len(shown):
                n_more = len(node.children) - len(shown)
                pending.append((level + 1, _More(f"… {n_more} more")))
            pending += [(level + 1, child) for child in reversed(shown)]
        elif hasattr(node, "start_pos"):
            span = _paint(f"{node.start_pos}..{node.end_pos}", DIM, color=color)
            yield f"{indent}{node.type} {_shortened(str(node))} {span}"
        else:
            yield indent + (node.text if isinstance(node, _More) else _cut(repr(node)))


class _More:
    """Stands for children that are not shown."""

    def __init__(self, text: str) -> None:
        self.text = text


def _tree_data(tree: Any) -> list[dict[str, Any]]:
    """Return the nodes of a tree in the order of the text, each with its depth.

    A flat list, because JSON of nested nodes would nest deeper than `json` can write.
    """
    nodes: list[dict[str, Any]] = []
    pending: list[tuple[int, Any]] = [(0, tree)]
    while pending:
        depth, node = pending.pop()
        if hasattr(node, "children"):
            nodes.append({"depth": depth, "rule": str(node.data)})
            pending += [(depth + 1, child) for child in reversed(node.children)]
        elif hasattr(node, "start_pos"):
            nodes.append(
                {
                    "depth": depth,
                    "token": node.type,
                    "text": str(node),
                    "start": node.start_pos,
                    "end": node.end_pos,
                }
            )
        else:
            nodes.append({"depth": depth, "value": _shown_value(node)})
    return nodes


def _shown_value(value: Any) -> Any:
    """Return a value that `json` can write, which one that nests too deep is not."""
    try:
        json.dumps(value)
    except RecursionError:
        return "(nests too deep to show)"
    return value
