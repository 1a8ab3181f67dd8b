"""The formats of tool calls: each is a grammar whose tree has calls, found by name or alias."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from jsonrepair_lark import registry
from jsonrepair_lark.errors import GrammarNotFoundError
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.scanner import local_name

CALL_RULE: Final = "tool_call"
"""The rule of the contract that a grammar has if it is the grammar of a format."""

_KEY: Final = re.compile(r"// (aliases|source|example): ?(.*)")


@dataclass(frozen=True, slots=True)
class Format:
    """What the head of a format's grammar says.

    Attributes:
        name: the name of the grammar.
        title: what the format is.
        aliases: other names of it.
        source: where it is described, and when that was read.
        example: a text in the format.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    source: str
    example: str


@cache
def formats() -> tuple[Format, ...]:
    """Return all formats, shipped and plugged in, by name."""
    found = []
    for name in registry.names():
        text = registry.read(name)
        if re.search(rf"^\??{CALL_RULE}\b|\b{CALL_RULE}\b", text, re.MULTILINE):
            found.append(_format(name, text))
    return tuple(found)


def _format(name: str, text: str) -> Format:
    head = text[: text.find("\n\n")].split("\n")
    keys = {match[1]: match[2].strip() for line in head if (match := _KEY.match(line))}
    aliases = tuple(a.strip() for a in keys.get("aliases", "").split(",") if a.strip())
    return Format(
        name=name,
        title=head[0].removeprefix("// "),
        aliases=aliases,
        source=keys.get("source", ""),
        example=keys.get("example", "").replace("\\n", "\n"),
    )


@cache
def grammar_of(name: str) -> Grammar:
    """Return the grammar of a format.

    Args:
        name: the format's name or one of its aliases.

    Raises:
        GrammarNotFoundError: if no format, or several, have that name.
    """
    if name in registry.names():
        grammar = Grammar.of(name)
        if any(local_name(rule.origin) == CALL_RULE for rule in grammar.rules):
            return grammar
    found = [one.name for one in formats() if name in one.aliases]
    if len(found) == 1:
        return Grammar.of(found[0])
    if found:
        raise GrammarNotFoundError(f"Several formats have the alias {name!r}: {', '.join(found)}")
    known = ", ".join(one.name for one in formats())
    raise GrammarNotFoundError(f"No format named {name!r}; known: {known}")
