"""Builds lark trees of whole and partial parses, token by token."""

from dataclasses import replace
from typing import Any

from lark import Token as LarkToken
from lark import Tree

from jsonrepair_lark.completion import open_rules
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.policies import DEFAULTS, Options
from jsonrepair_lark.recovery import RecoveringSession, Rejected
from jsonrepair_lark.scanner import local_name
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Action, Inline, Program, Token, actions_for, flattened


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


def tree_session(grammar: Grammar, options: Options, *, natives: bool = False) -> Session:
    """Return a session whose values are lark trees."""
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


def calls_tree(text: str, grammar: Grammar, recoverable: frozenset[str]) -> Tree[Any]:
    """Parse a message once more, every token by itself, and return the tree.

    A part that was refused is a node `rejected` with its text.
    """
    limits = replace(DEFAULTS.limits, natives=False)
    program = Program(grammar, actions_for(grammar, _node, _repaired))
    session = RecoveringSession(program, limits, recoverable)
    session.finish(text)
    tree = tree_of(session)
    tree.children = [
        Tree("rejected", [LarkToken("TEXT", text[c.start : c.end], c.start, end_pos=c.end)])
        if isinstance(c, Rejected)
        else c
        for c in tree.children
    ]
    return tree


def parse_tree(text: str, options: Options, grammar: str = "json") -> Tree[Any]:
    """Parse `text` once more, every token by itself, and return the tree."""
    session = tree_session(Grammar.of(grammar), options)
    session.finish(text)
    return tree_of(session)
