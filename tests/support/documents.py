"""Generated JSON documents that know, for every place where they can be cut, what is open there.

A tree is drawn by Hypothesis and written by a small renderer of this module, so that nothing under
test and nothing of `json.dumps` decides how the text looks. While it writes, the renderer notes
after each character what a cut at this place would leave: a complete value (`None`), or the reason
code for which a repair has to refuse. That is the oracle for the laws of completeness and refusal.

Spelling (white space, escapes, faults) is drawn from a `random.Random` with a drawn seed, because
one draw for each character would make examples slow and hard to shrink. Seed 0 is the plainest
spelling, so shrinking ends there.
"""

import dataclasses
import itertools
import json
import random
import re
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

WHITE_SPACE: Final = " \t\n\r"
# Every character that a JSON scanner could trip over when it stands inside a string.
TRICKY: Final = '"\\/{}[],: \n\t\b\f\r\x00\x1b\x1f\x7f\x85\u2028\ufeffabuntfe0123é中\ufffd😀𝄞'
FRAGMENTS: Final = (
    '"',
    '"',
    "\\",
    "\\",
    "\\\\",
    "\n",
    "\t",
    "😀",
    '\\"',
    '"}',
    '":',
    '",',
    "\\n",
    "\\u00",
    "]}",
)
SHORT_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
COMPLETE_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


@dataclasses.dataclass(frozen=True)
class Number:
    """A number by its spelling; its value is what `json.loads` makes of it."""

    lexeme: str


@dataclasses.dataclass(frozen=True)
class Document:
    """A text, its value, and what a cut after each of its characters leaves.

    Attributes:
        text: the document; valid JSON if `faults` is 0.
        value: what it holds.
        faults: number of tolerated faults written into the text.
        reasons: one entry for each cut from 0 to `len(text)`: the reason code for which the text
            before the cut has to be refused, or None where its last value is complete.
        n_open: one entry for each cut: number of containers that are open there.
        inside_number: the cuts between two characters of one number.
        after_number: the cuts directly after a number.
    """

    text: str
    value: object
    faults: int
    reasons: tuple[str | None, ...]
    n_open: tuple[int, ...]
    inside_number: frozenset[int]
    after_number: frozenset[int]

    def complete_before(self, cut: int) -> int | None:
        """Last place up to `cut` where the last value is complete, however the text goes on."""
        for place in range(cut, -1, -1):
            if self.reasons[place] is None and place not in self.inside_number:
                return place
        return None

    def __repr__(self) -> str:
        """Only the text: the rest follows from it and would bury it in a failure report."""
        return f"Document({self.text!r}, faults={self.faults})"


# -- the renderer ----------------------------------------------------------------------------------


@dataclasses.dataclass
class Writer:
    """Writes a tree as JSON text and keeps the books about every cut."""

    rng: random.Random
    plain: bool
    may_fault: bool
    pieces: list[str] = dataclasses.field(default_factory=list)
    reasons: list[str | None] = dataclasses.field(default_factory=lambda: ["empty"])
    n_open: list[int] = dataclasses.field(default_factory=lambda: [0])
    inside_number: set[int] = dataclasses.field(default_factory=set)
    after_number: set[int] = dataclasses.field(default_factory=set)
    depth: int = 0
    faults: int = 0

    def chance(self, share: float) -> bool:
        return not self.plain and self.rng.random() < share

    def fault(self, share: float) -> bool:
        """Decide for or against a fault, and count it."""
        chosen = self.may_fault and self.rng.random() < share
        self.faults += chosen
        return chosen

    def put(self, text: str, inside: str | None, after: str | None) -> None:
        """Append `text`; a cut within it leaves `inside`, a cut after it leaves `after`."""
        if not text:
            return
        self.pieces.append(text)
        self.reasons += [inside] * (len(text) - 1) + [after]
        self.n_open += [self.depth] * len(text)

    def space(self) -> None:
        """White space changes nothing about what is open."""
        if self.chance(0.3):
            state = self.reasons[-1]
            self.put("".join(self.rng.choices(WHITE_SPACE, k=self.rng.randint(1, 3))), state, state)

    def value(self, node: object, *, drop_closer: bool = False) -> None:
        if isinstance(node, Number):
            self.number(node.lexeme)
        elif isinstance(node, str):
            self.string(node, after=None)
        elif isinstance(node, dict | list):
            self.container(node, drop_closer=drop_closer)
        else:
            name = repr(node)
            if not self.fault(0.3):
                name = {"None": "null", "True": "true", "False": "false"}[name]
            self.put(name, "incomplete_literal", None)

    def number(self, lexeme: str) -> None:
        start = len(self.reasons) - 1
        self.put(lexeme, None, None)
        for length in range(1, len(lexeme)):
            self.inside_number.add(start + length)
            if not COMPLETE_NUMBER.fullmatch(lexeme, 0, length):
                self.reasons[start + length] = "incomplete_number"
        self.after_number.add(start + len(lexeme))

    def string(self, text: str, after: str | None) -> None:
        body = "".join(map(self.character, text))
        self.put('"' + body + '"', "incomplete_string", after)

    def character(self, char: str) -> str:
        """One of the spellings that JSON has for a character."""
        code = ord(char)
        if code < ord(" ") and self.fault(0.5):
            return char
        if char in SHORT_ESCAPES and (char != "/" or self.chance(0.3)) and not self.chance(0.2):
            return SHORT_ESCAPES[char]
        if code >= ord(" ") and char not in '"\\' and not self.chance(0.2):
            return char
        units = char.encode("utf-16-be")
        hexes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
        return "".join("\\u" + (h.upper() if self.chance(0.5) else h) for h in hexes)

    def container(
        self, node: dict[str, object] | list[object], *, drop_closer: bool = False
    ) -> None:
        """Write a list or an object, with a fault or two if faults are wanted.

        A closer is only left out directly before that of an outer container of the other kind:
        everywhere else the text would read as another value, and no repair could tell.
        """
        opener, closer = "{}" if isinstance(node, dict) else "[]"
        self.depth += 1
        self.put(opener, "empty_container", "empty_container")
        self.space()
        trailing_comma = bool(node) and not drop_closer and self.fault(0.15)
        items = list(node.items()) if isinstance(node, dict) else [(None, item) for item in node]
        for index, (key, item) in enumerate(items):
            if index:
                self.comma()
            if key is not None:
                self.string(key, after="missing_colon")
                self.space()
                self.put(":", "missing_value", "missing_value")
                self.space()
            may_drop = index + 1 == len(items) and not trailing_comma and not drop_closer
            other_kind = isinstance(item, dict | list) and isinstance(item, dict) != isinstance(
                node, dict
            )
            drop = may_drop and other_kind and bool(item) and self.fault(0.3)
            self.value(item, drop_closer=drop)
            self.space()
            # The closer of this container will close the inner one as well.
            self.depth -= drop
        if trailing_comma:
            self.comma()
        if not drop_closer:
            self.depth -= 1
            self.put(closer, None, None)

    def comma(self) -> None:
        self.put(",", "dangling_comma", "dangling_comma")
        self.space()


def render(tree: object, seed: int, *, faulty: bool = False) -> Document:
    """Write a tree of None, bool, `Number`, str, list and dict as a document."""
    rng = random.Random(seed)
    writer = Writer(rng, plain=seed == 0, may_fault=faulty)
    if writer.fault(0.1):
        writer.put("\ufeff", "empty", "empty")
    writer.space()
    writer.value(tree)
    writer.space()
    if writer.fault(0.15):
        for _ in range(rng.randint(1, 3)):
            writer.put(rng.choice("]}"), None, None)
    return Document(
        text="".join(writer.pieces),
        value=plain_value(tree),
        faults=writer.faults,
        reasons=tuple(writer.reasons),
        n_open=tuple(writer.n_open),
        inside_number=frozenset(writer.inside_number),
        after_number=frozenset(writer.after_number),
    )


def plain_value(tree: object) -> object:
    """The tree as Python's `json` would give it."""
    if isinstance(tree, Number):
        return json.loads(tree.lexeme)
    if isinstance(tree, dict):
        return {key: plain_value(item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [plain_value(item) for item in tree]
    return tree


# -- strategies ------------------------------------------------------------------------------------

SEEDS: Final = st.integers(0, 2**32 - 1)


def strings(max_size: int = 12) -> st.SearchStrategy[str]:
    """Text full of what is special in JSON; never a lone surrogate, which is a fault."""
    # Characters in any order, and fragments that look like the syntax around the string.
    tricky = st.lists(st.sampled_from([*TRICKY, *FRAGMENTS]), max_size=max_size).map("".join)
    return tricky | tricky | st.text(st.characters(exclude_categories=["Cs"]), max_size=max_size)


def numbers() -> st.SearchStrategy[Number]:
    """Numbers of every form that JSON has, none of which overflows to infinity."""
    exponents = st.builds(
        lambda e, sign, digits: e + sign + digits,
        st.sampled_from("eE"),
        st.sampled_from(["", "+", "-"]),
        st.sampled_from(["0", "1", "5", "05", "19", "007", "120"]),
    )
    wholes = st.integers(0, 99) | st.integers(0, 10**30)
    digits = st.text("0123456789", min_size=1, max_size=6)
    lexemes = st.builds(
        lambda sign, whole, fraction, exponent: f"{sign}{whole}{fraction}{exponent}",
        st.sampled_from(["", "-"]),
        wholes,
        st.just("") | digits.map(".{}".format),
        st.just("") | exponents,
    )
    return lexemes.map(Number)


def scalars() -> st.SearchStrategy[object]:
    return st.sampled_from([None, True, False]) | numbers() | strings() | strings()


def trees() -> st.SearchStrategy[object]:
    """Broad trees and deep ones."""
    broad = st.recursive(
        scalars(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings(4), inner, max_size=4),
        max_leaves=10,
    )
    return broad | deep_trees()


@st.composite
def deep_trees(draw: st.DrawFn) -> object:
    """A value inside up to 30 containers, some of which have other members before or after it."""
    tree = draw(scalars() | st.just([]) | st.just({}))
    siblings = st.lists(scalars(), max_size=1)
    depth = draw(st.integers(1, 30))
    for is_object in draw(st.lists(st.booleans(), min_size=depth, max_size=depth)):
        members = [tree]
        if draw(st.integers(0, 3)) == 0:
            members = [*draw(siblings), tree, *draw(siblings)]
        if is_object:
            keys = draw(
                st.lists(strings(3), min_size=len(members), max_size=len(members), unique=True)
            )
            tree = dict(zip(keys, members, strict=True))
        else:
            tree = members
    return tree


def documents(*, faulty: bool = False) -> st.SearchStrategy[Document]:
    """Documents, with a few tolerated faults written into them if `faulty`."""
    return st.builds(lambda tree, seed: render(tree, seed, faulty=faulty), trees(), SEEDS)


def text_of(document: Document) -> str:
    return document.text


def any_documents() -> st.SearchStrategy[Document]:
    return documents() | documents(faulty=True)


DELIMITERS: Final = (
    *'{}[],:"\\ \n\x00-+.eE019aé😀\ufeff\ud83d',
    "null",
    "None",
    "NaN",
    "tru",
    "\\u",
    "\\ud83d",
    "1e999",
    '""',
    '"a":',
    "[]",
    "{}",
    "]}",
    ",}",
    "//",
    "```",
)


@st.composite
def edited_texts(draw: st.DrawFn) -> str:
    """Documents in which spans were deleted, doubled or swapped and delimiters inserted."""
    text = draw(any_documents().map(text_of))
    for _ in range(draw(st.integers(1, 4))):
        text = edit(draw, text)
    return text


def edit(draw: st.DrawFn, text: str) -> str:
    """One random edit."""
    kind = draw(st.sampled_from(["insert", "delete", "duplicate", "swap", "cut"]))
    at = draw(st.integers(0, len(text)))
    if kind == "insert":
        inserted: str = draw(st.sampled_from(DELIMITERS))
        return text[:at] + inserted + text[at:]
    if kind == "cut":
        return text[:at]
    # One character is the commonest slip, so short spans come first.
    end = min(len(text), at + draw(st.integers(1, 3) | st.integers(1, 40)))
    span = text[at:end]
    if kind == "delete":
        return text[:at] + text[end:]
    if kind == "duplicate":
        return text[:at] + span + text[at:]
    later_end = min(len(text), end + len(span))
    return text[:at] + text[end:later_end] + span + text[later_end:]


def soups() -> st.SearchStrategy[str]:
    """Texts made of JSON's tokens in any order, and texts of any characters at all."""
    tokens = st.lists(st.sampled_from(DELIMITERS), max_size=30).map("".join)
    return tokens | st.text(max_size=40) | st.text(st.characters(), max_size=20)


def any_texts() -> st.SearchStrategy[str]:
    """Every kind of text that the laws speak about."""
    return edited_texts() | soups() | any_documents().map(text_of)


@st.composite
def chunkings(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, ...]:
    """A text in pieces, empty ones among them."""
    text = draw(texts)
    if draw(st.booleans()):
        size = draw(st.integers(1, 5))
        return tuple(text[at : at + size] for at in range(0, len(text), size))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return split_at(text, cuts)


def split_at(text: str, cuts: Sequence[int]) -> tuple[str, ...]:
    """Pieces of `text` between the sorted `cuts`."""
    edges = [0, *cuts, len(text)]
    return tuple(text[start:end] for start, end in itertools.pairwise(edges))


def options() -> st.SearchStrategy[dict[str, Any]]:
    """Any combination of the options that `repair` takes."""
    return st.fixed_dictionaries(
        {},
        optional={
            "number_at_end": st.sampled_from(["accept", "reject"]),
            "empty_container": st.sampled_from(["reject", "close"]),
            "nonfinite": st.sampled_from(["reject", "null"]),
            "lone_surrogates": st.sampled_from(["reject", "replace"]),
            "duplicate_keys": st.sampled_from(["last", "reject"]),
            "max_depth": st.sampled_from([1, 2, 3, 500]),
            "finish_reason": st.sampled_from([None, "stop", "tool_calls", "length"]),
        },
    )
