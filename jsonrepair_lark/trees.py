"""Builds lark trees of whole and partial parses, token by token."""

from typing import TYPE_CHECKING, Any

from lark import Token as LarkToken
from lark import Tree

from jsonrepair_lark.completion import open_rules
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.scanner import local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Action, Inline, Program, Token, actions_for, flattened

if TYPE_CHECKING:
    from jsonrepair_lark.policies import Options


def _leaf(value: Any) -> Any:
    if not isinstance(value, Token):
        return value
    return LarkToken(
        local_name(value.terminal), value.source, start_pos=value.start, end_pos=value.end
    )


def _node(name: str) -> Action:
    return lambda children: Tree(name, [_leaf(child) for child in children])


def _repaired(name: str, kind: str) -> Action:
    del name
    return _node(kind)


def tree_session(grammar: Grammar, options: "Options", *, natives: bool = False) -> Session:
    """Return a session whose values are lark trees."""
    from dataclasses import replace

    limits = replace(options.limits, natives=natives, traced=True)
    return Session(Program(grammar, actions_for(grammar, _node, _repaired)), limits)


def tree_of(session: Session) -> Tree[Any]:
    """Return the tree of what a session has parsed; open rules are nodes like closed ones."""
    if session.states[-1] == session.grammar.tables.end:
        root = session.values[-1]
        return root if isinstance(root, Tree) else Tree("start", [root])
    inner: Any = None
    above = len(session.values)
    for rule in reversed(open_rules(session)):
        values = session.values[rule.position : above]
        children = flattened([values[index] for index in rule.kept])
        if inner is not None:
            children = flattened([*children, inner])
        above = rule.position
        leaves = [_leaf(child) for child in children]
        inner = Inline(leaves) if rule.rule.startswith("_") else Tree(rule.rule, leaves)
    return inner if isinstance(inner, Tree) else Tree("start", flattened([inner] if inner else []))


def parse_tree(text: str, options: "Options", grammar: str = "json") -> Tree[Any]:
    """Parse `text` once more, every token by itself, and return the tree."""
    session = tree_session(Grammar.of(grammar), options)
    session.finish(text)
    return tree_of(session)
