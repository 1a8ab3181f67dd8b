"""The engine is general: languages that are not JSON, Lark's tables by hand, grammars' form."""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Tree

from jsonrepair_lark import GrammarFormatError, GrammarNotFoundError, registry, tables
from jsonrepair_lark.completion import open_rules
from jsonrepair_lark.grammar import Grammar
from jsonrepair_lark.limits import Limits, Stop
from jsonrepair_lark.policies import SAFE
from jsonrepair_lark.scanner import is_text, pattern_of
from jsonrepair_lark.session import Session
from jsonrepair_lark.stack import Action, Program, Token, actions_for
from jsonrepair_lark.tables import RuleRow, Tables, TerminalRow
from jsonrepair_lark.trees import tree_of

# -- a small language with closers, text up to a sentinel and a repair of its own ------------------

TOY: Final = r"""
%ignore SPACE
%declare NOTE_TEXT

start: block

block: BEGIN name _statements END
     | BEGIN name END

name: WORD

_statements: _statement
           | _statements _statement

_statement: block
          | list
          | note

list: "(" ")"
    | "(" _items ")"

_items: _item
      | _items comma _item

_item: WORD
     | list

comma: ","
     | DOUBLED_COMMA -> repair_doubled_comma

note: NOTE_OPEN NOTE_CLOSE
    | NOTE_OPEN NOTE_TEXT NOTE_CLOSE

BEGIN: "begin"
END: "end"
NOTE_OPEN: "<note>"
NOTE_CLOSE: "</note>"
DOUBLED_COMMA.2: /,(?:[ \n]*,)+/
WORD: /(?!(?:begin|end)(?!\w))[a-z]\w*/
SPACE: /[ \n]+/
"""
TOY_KINDS: Final = frozenset({"missing_closer", "doubled_comma"})


def tree_program(grammar: Grammar) -> Program:
    """Trees as lists: the rule's name, then tokens by the text that the parse goes on with."""

    def leaf(value: Any) -> Any:
        return value.text if isinstance(value, Token) else value

    def node(name: str) -> Action:
        return lambda children: Tree(name, [leaf(child) for child in children])

    return Program(grammar, actions_for(grammar, node, lambda name, _kind: node(name)))


def plain(tree: Any) -> Any:
    if not isinstance(tree, Tree):
        return str(tree)
    return [str(tree.data), *map(plain, tree.children)]


GRAMMAR: Final = Grammar("toy", tables.build(TOY, "toy"))
PROGRAM: Final = tree_program(GRAMMAR)


def run(*pieces: str, program: Program = PROGRAM, **limits: Any) -> Session:
    session = Session(program, Limits(**{"allowed": TOY_KINDS, "traced": True, **limits}))
    for piece in pieces[:-1]:
        session.feed(piece)
    session.finish(pieces[-1])
    return session


def edits(session: Session) -> list[tuple[str, int, int, str | None]]:
    """Return the edits of a session; closers at one place are one, as in its repairs."""
    found: list[tuple[str, int, int, str | None]] = []
    for edit in session.edits:
        made = (edit.kind, edit.start, edit.end, edit.replacement)
        if found and edit.kind == "missing_closer" and found[-1][:3] == made[:3]:
            made = (*made[:3], (found.pop()[3] or "") + (edit.replacement or ""))
        found.append(made)
    return found


def repaired(text: str, session: Session) -> str:
    for _, start, end, replacement in reversed(edits(session)):
        text = text[:start] + (replacement or "") + text[end:]
    return text


def facts(session: Session) -> tuple[Any, ...]:
    """All that a session says of its text."""
    rules = [str(rule) for rule in open_rules(session)]
    return (
        plain(tree_of(session)),
        edits(session),
        session.stop,
        session.closers,
        rules if session.stop else session.open_at_end,
        session.rest,
    )


CLOSED: Final = {
    # Text, what it becomes, and the tree.
    "begin a end": ("begin a end", ["block", "begin", ["name", "a"], "end"]),
    " begin\na(b , c)\n end ": (
        " begin\na(b , c)\n end ",
        ["block", "begin", ["name", "a"], ["list", "b", ["comma"], "c"], "end"],
    ),
    "begin ending () end": (
        "begin ending () end",
        ["block", "begin", ["name", "ending"], ["list"], "end"],
    ),
    # A closer that is a word does not become one with the word before it.
    "begin a": ("begin a end", ["block", "begin", ["name", "a"], "end"]),
    "begin a begin b \n": (
        "begin a begin b end end \n",
        ["block", "begin", ["name", "a"], ["block", "begin", ["name", "b"], "end"], "end"],
    ),
    "begin a ()": ("begin a ()end", ["block", "begin", ["name", "a"], ["list"], "end"]),
    "begin a (b, (c \n": (
        "begin a (b, (c))end \n",
        ["block", "begin", ["name", "a"], ["list", "b", ["comma"], ["list", "c"]], "end"],
    ),
    "begin a begin b (c, (d end end": (
        "begin a begin b (c, (d)) end end",
        [
            "block",
            "begin",
            ["name", "a"],
            ["block", "begin", ["name", "b"], ["list", "c", ["comma"], ["list", "d"]], "end"],
            "end",
        ],
    ),
    "begin a ((b, c) end": (
        "begin a ((b, c)) end",
        ["block", "begin", ["name", "a"], ["list", ["list", "b", ["comma"], "c"]], "end"],
    ),
    "begin a (b,,c) end": (
        "begin a (b,c) end",
        ["block", "begin", ["name", "a"], ["list", "b", ["comma", ","], "c"], "end"],
    ),
    "begin a (b, ,\n,c": (
        "begin a (b,c)end",
        ["block", "begin", ["name", "a"], ["list", "b", ["comma", ","], "c"], "end"],
    ),
    "begin a <note></note>": (
        "begin a <note></note>end",
        ["block", "begin", ["name", "a"], ["note", "<note>", "</note>"], "end"],
    ),
    "begin a <note> ( end </not < </NOTE> </</note> end": (
        "begin a <note> ( end </not < </NOTE> </</note> end",
        [
            "block",
            "begin",
            ["name", "a"],
            ["note", "<note>", " ( end </not < </NOTE> </", "</note>"],
            "end",
        ],
    ),
    "begin a <note>x </note> (b": (
        "begin a <note>x </note> (b)end",
        [
            "block",
            "begin",
            ["name", "a"],
            ["note", "<note>", "x ", "</note>"],
            ["list", "b"],
            "end",
        ],
    ),
}

REFUSED: Final = {
    "": Stop("empty", 0),
    " \n": Stop("empty", 2),
    "begin": Stop("empty_container", 5),
    "begin a (": Stop("empty_container", 9),
    "begin a (b, ( ": Stop("empty_container", 14),
    "begin a (b,": Stop("dangling_comma", 11),
    "begin a (b,,": Stop("dangling_comma", 12),
    "begin a (b, end ": Stop("dangling_comma", 12),
    "begin a ( end\n": Stop("empty_container", 10),
    "begin a <note>": Stop("truncated", 14),
    "begin a <note>x (b, end": Stop("truncated", 23),
    "begin a <note>x</not": Stop("truncated", 20),
    "begin a <not": Stop("truncated", 8),
    "begin a (b))": Stop("unexpected_input", 11),
    "begin a (b</note>": Stop("unexpected_input", 10),
    "begin a (b c)": Stop("unexpected_input", 11),
    "begin a ?": Stop("unexpected_input", 8),
    "end": Stop("unexpected_input", 0),
    "begin a endb": Stop("unexpected_input", 8),
    "begin a (b endx": Stop("unexpected_input", 11),
    "begin a () end_ ": Stop("unexpected_input", 11),
    "begin a end begin b end": Stop("concatenated", 12),
    "begin a end ?": Stop("trailing_text", 12),
}


@pytest.mark.parametrize("text", CLOSED)
def test_a_text_becomes_a_tree(text: str) -> None:
    session = run(text)
    after, tree = CLOSED[text]
    assert session.stop is None
    assert plain(tree_of(session)) == ["start", tree]
    assert repaired(text, session) == after


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_certain_is_refused(text: str) -> None:
    session = run(text)
    assert session.stop == REFUSED[text]
    assert session.closers == []


def test_closers_at_the_end_are_one_edit_after_the_last_token() -> None:
    session = run("begin a begin b (c, (d \n")
    assert edits(session) == [("missing_closer", 22, 22, "))end end")]
    assert session.closers == ["RPAR", "RPAR", "END", "END"]


def test_an_outer_closer_puts_the_inner_ones_before_it() -> None:
    assert edits(run("begin a ((b end")) == [("missing_closer", 11, 11, "))")]
    inner = run("begin a begin b (c end (d) end")
    assert edits(inner) == [("missing_closer", 18, 18, ")")]
    assert inner.closers == []


def test_a_bracket_just_opened_is_closed_where_that_is_allowed() -> None:
    session = run("begin a (b, (", close_empty=True)
    assert session.stop is None
    assert edits(session) == [("missing_closer", 13, 13, "))end")]
    # Text is not a bracket that may be closed, whatever is allowed.
    assert run("begin a <note>", close_empty=True).stop == Stop("truncated", 14)


def test_known_to_be_cut_text_is_not_closed() -> None:
    assert run("begin a (b", truncated=True).stop == Stop("truncated", 10)
    assert run("begin a (b end", truncated=True).stop is None
    assert run("begin a (b,,c) end", truncated=True).stop is None


def test_a_repair_production_is_an_edit_and_its_text_is_replaced() -> None:
    session = run("begin a (b, ,c) end")
    assert edits(session) == [("doubled_comma", 10, 13, ",")]
    assert plain(tree_of(session))[1][3] == ["list", "b", ["comma", ","], "c"]


def test_a_repair_that_is_not_allowed_is_refused_by_its_name() -> None:
    session = run("begin a (b, ,c) end", allowed={"missing_closer"})
    assert session.stop == Stop("repair_not_allowed", 10, "doubled_comma")
    assert session.edits == []
    session = run("begin a (b, ,c) end", allowed=set(), refusals={"doubled_comma"})
    assert session.stop == Stop("doubled_comma", 10, "doubled_comma")
    for text, offset in {"begin a (b": 10, "begin a (b end": 10}.items():
        session = run(text, allowed={"doubled_comma"})
        assert session.stop == Stop("repair_not_allowed", offset, "missing_closer")
        assert session.edits == []
        assert session.closers == []


def test_brackets_nest_as_deep_as_allowed_and_text_is_no_level() -> None:
    deepest = "begin a (((b))) <note>x</note> end"
    assert run(deepest, max_depth=4).stop is None
    assert run(deepest, max_depth=3).stop == Stop("too_deep", 10)
    assert run("begin a <note>x</note> end", max_depth=1).stop is None


def test_open_rules_tell_what_they_wait_for() -> None:
    session = run("begin a <note>n</note> (b, (c, ")
    shown = [rule for rule in open_rules(session) if not rule.rule.startswith("_")]
    assert [(rule.rule, rule.start, rule.seen, rule.waits) for rule in shown] == [
        ("block", 0, ("BEGIN", "name"), ("_statements", "END"))
        if shown[0].seen == ("BEGIN", "name")
        else ("block", 0, ("BEGIN", "name", "_statements"), ("END",)),
        ("list", 23, ("LPAR",), ("_items", "RPAR"))
        if shown[1].seen == ("LPAR",)
        else ("list", 23, ("LPAR", "_items"), ("RPAR",)),
        ("list", 27, ("LPAR",), ("_items", "RPAR"))
        if shown[2].seen == ("LPAR",)
        else ("list", 27, ("LPAR", "_items"), ("RPAR",)),
    ]
    innermost = open_rules(session)[-1]
    assert (innermost.rule, innermost.seen, innermost.waits) == (
        "_items",
        ("_items", "comma"),
        ("_item",),
    )
    assert str(innermost) == "_items: items comma • item"


def test_the_rules_that_closers_close_are_kept() -> None:
    session = run("begin a (b")
    shown = [str(rule) for rule in session.open_at_end if not rule.rule.startswith("_")]
    assert shown == ["block: 'begin' name • statements 'end'", "list: '(' • items ')'"]


# -- completions -----------------------------------------------------------------------------------

TWO_WAYS: Final = r"""
start: list

list: OPEN word SQUARE
    | OPEN word ROUND
    | OUTER list OUTER_CLOSE

word: WORD

OPEN: "["
SQUARE: "]"
ROUND: ")"
OUTER: "{"
OUTER_CLOSE: "}"
WORD: /\w+/
"""
WORD_BEFORE_CLOSER: Final = r"""
start: item
item: OPEN WORD CLOSE
    | OPEN WORD EQUALS WORD CLOSE
OPEN: "["
CLOSE: "]"
EQUALS: "="
WORD: /\w+/
"""


def test_where_two_completions_are_possible_none_is_chosen() -> None:
    program = tree_program(Grammar("two", tables.build(TWO_WAYS, "two")))
    for text in ("[a", "{[a", "{[a}"):
        stop = run(text, program=program).stop
        assert stop is not None
        assert (stop.reason, stop.offset) == ("truncated", len(text.rstrip("}"))), text
    only_one = run("{{[a)", program=program)
    assert only_one.stop is None
    assert edits(only_one) == [("missing_closer", 5, 5, "}}")]


def test_a_word_before_a_closer_is_not_an_opener() -> None:
    program = tree_program(Grammar("word", tables.build(WORD_BEFORE_CLOSER, "word")))
    session = run("[a", program=program)
    assert session.stop is None
    assert edits(session) == [("missing_closer", 2, 2, "]")]
    assert run("[", program=program).stop == Stop("empty_container", 1)
    refused = run("[a=", program=program)
    assert refused.stop is not None
    assert refused.stop.offset == 3
    assert run("[a=b", program=program).stop is None


# -- imports ---------------------------------------------------------------------------------------

IMPORTING: Final = """
%import .json (value, WS)
%ignore WS
start: OPEN value CLOSE
OPEN: "<"
CLOSE: ">"
"""


@pytest.mark.parametrize(
    "body",
    ['[1, [], {"a": "b\nc", "d": [2, null]}]', "[1, 2,]", '{"a": {"b": [true, {"c": 1.5', '"x"'],
)
@pytest.mark.parametrize("natives", [False, True])
def test_imported_rules_are_those_of_their_grammar(body: str, *, natives: bool) -> None:
    program = tree_program(Grammar("importing", tables.build(IMPORTING, "importing")))
    limits: dict[str, Any] = {"allowed": SAFE, "natives": natives}
    alone = run(body, program=tree_program(Grammar.of("json")), **limits)
    session = run(f"<{body}>", program=program, **limits)
    assert session.stop is None
    assert plain(tree_of(session)) == ["start", "<", *plain(tree_of(alone))[1:], ">"]
    assert edits(session) == [
        (kind, start + 1, end + 1, replacement) for kind, start, end, replacement in edits(alone)
    ]


def test_open_imported_rules_have_their_own_names() -> None:
    program = tree_program(Grammar("importing", tables.build(IMPORTING, "importing")))
    session = run('<[1, {"a": [2, ', program=program, natives=False)
    assert session.stop == Stop("dangling_comma", 15)
    names = [rule.rule for rule in open_rules(session)]
    assert [name for name in names if not name.startswith("_")] == [
        "start",
        "array",
        "object",
        "pair",
        "array",
    ]
    assert set(names) <= {"start", "array", "object", "pair", "_items", "_pairs"}


# -- pieces ----------------------------------------------------------------------------------------


def splits(text: str) -> Iterator[tuple[str, ...]]:
    """One, two and three pieces in every way, empty ones too, and one character at a time."""
    yield tuple(text) or ("",)
    for cuts in (*combinations(range(len(text) + 1), 1), *combinations(range(len(text) + 1), 2)):
        yield tuple(text[start:end] for start, end in pairwise((0, *cuts, len(text))))


@pytest.mark.parametrize("text", [*CLOSED, *REFUSED])
def test_pieces_do_not_matter(text: str) -> None:
    whole = facts(run(text))
    for pieces in splits(text):
        assert facts(run(*pieces)) == whole, pieces


TOY_WORDS: Final = st.sampled_from(
    [
        *("begin", "end", "a", "bc", "(", ")", ",", ",,", " ", "\n", "begin x", "(b", "0"),
        *("<note>", "</note>", "<", "</", "note", ">", "?", "\x00", "\ud800", "É"),
    ]
)
TOY_STARTS: Final = st.sampled_from(["", "begin a ", "begin a (b", "begin a <note>"])
TOY_TEXTS: Final = st.one_of(
    st.text(max_size=40),
    st.builds(lambda start, words: start + "".join(words), TOY_STARTS, st.lists(TOY_WORDS)),
)


@given(TOY_TEXTS, st.randoms(use_true_random=False))
def test_any_text_gives_a_result_whatever_its_pieces(text: str, chance: random.Random) -> None:
    session = run(text)
    cuts = sorted(chance.choices(range(len(text) + 1), k=chance.randint(0, 6)))
    pieces = tuple(text[start:end] for start, end in pairwise((0, *cuts, len(text))))
    assert facts(run(*pieces)) == facts(session), pieces
    assert facts(run(*(text or [""]))) == facts(session)
    if session.stop is not None:
        assert session.stop.reason
        assert 0 <= session.stop.offset <= len(text)
    else:
        assert {edit[0] for edit in edits(session)} <= TOY_KINDS
        again = run(repaired(text, session))
        assert (again.stop, again.edits) == (None, [])


# -- Lark's tables, by hand ------------------------------------------------------------------------

TINY: Final = """
start: "(" ")" | "(" _items ")"
_items: item | _items "," item
?item: WORD | start
WORD: /[a-z]+/
%ignore " "
"""


def test_the_tables_of_a_known_grammar_are_those_made_by_hand() -> None:
    """Fails if Lark's analysis no longer says what `tables` reads out of it.

    Item sets, shifts, reductions and gotos were worked out on paper. The numbers of rules and
    states are free; the test reads them off the kernels and compares everything else.
    """
    made = tables.build(TINY, "tiny")
    rules = {
        ("start", ("LPAR", "RPAR")): "empty",
        ("start", ("LPAR", "_items", "RPAR")): "full",
        ("_items", ("item",)): "first",
        ("_items", ("_items", "COMMA", "item")): "more",
        ("item", ("WORD",)): "word",
        ("item", ("start",)): "nested",
    }
    assert {(row.origin, row.expansion) for row in made.rules} == set(rules)
    name = [rules[row.origin, row.expansion] for row in made.rules]

    kernels = [frozenset((name[rule], dot) for rule, dot in kernel) for kernel in made.kernels]
    opened = frozenset({("empty", 1), ("full", 1)})
    items = frozenset({("full", 2), ("more", 1)})
    # State by kernel: what is shifted or reduced on which terminal, where rules lead.
    word, nested, first = (frozenset({(rule, 1)}) for rule in ("word", "nested", "first"))
    comma, more = frozenset({("more", 2)}), frozenset({("more", 3)})
    empty, full = frozenset({("empty", 2)}), frozenset({("full", 3)})
    follow_item = ("COMMA", "RPAR")
    follow_start = ("COMMA", "RPAR", "$END")
    expected: dict[frozenset[tuple[str, int]], tuple[dict[str, Any], dict[str, Any]]] = {
        opened: (
            {"RPAR": empty, "LPAR": opened, "WORD": word},
            {"_items": items, "item": first, "start": nested},
        ),
        items: ({"RPAR": full, "COMMA": comma}, {}),
        comma: ({"LPAR": opened, "WORD": word}, {"item": more, "start": nested}),
        word: (dict.fromkeys(follow_item, "word"), {}),
        nested: (dict.fromkeys(follow_item, "nested"), {}),
        first: (dict.fromkeys(follow_item, "first"), {}),
        more: (dict.fromkeys(follow_item, "more"), {}),
        empty: (dict.fromkeys(follow_start, "empty"), {}),
        full: (dict.fromkeys(follow_start, "full"), {}),
    }

    def read(row: dict[str, int]) -> dict[str, Any]:
        return {symbol: kernels[to] if to >= 0 else name[-1 - to] for symbol, to in row.items()}

    got = {
        kernels[state]: (read(made.actions[state]), read(made.gotos[state]))
        for state in range(len(kernels))
        if state not in (made.start, made.end)
    }
    assert got == expected
    assert read(made.actions[made.start]) == {"LPAR": opened}
    assert made.gotos[made.start] == {"start": made.end}
    assert (made.actions[made.end], made.gotos[made.end]) == ({}, {})
    assert kernels[made.start] == kernels[made.end] == frozenset()
    assert len(kernels) == len(expected) + 2


def test_the_rows_of_a_known_grammar_are_those_made_by_hand() -> None:
    made = tables.build(TINY, "tiny")
    assert [row for row in made.terminals if row.name not in made.ignored] == [
        TerminalRow("COMMA", ",", ","),
        TerminalRow("LPAR", r"\(", "("),
        TerminalRow("RPAR", r"\)", ")"),
        TerminalRow("WORD", "[a-z]+", None),
    ]
    assert [row.pattern for row in made.terminals if row.name in made.ignored] in ([" "], [r"\ "])
    rows = {(row.origin, row.expansion): row for row in made.rules}
    assert rows["start", ("LPAR", "_items", "RPAR")] == RuleRow(
        "start", ("LPAR", "_items", "RPAR"), (1,), None, inlined=False, expand1=False
    )
    assert rows["_items", ("_items", "COMMA", "item")] == RuleRow(
        "_items", ("_items", "COMMA", "item"), (0, 2), None, inlined=True, expand1=False
    )
    assert rows["item", ("WORD",)] == RuleRow(
        "item", ("WORD",), (0,), None, inlined=False, expand1=True
    )


def test_kept_symbols_aliases_and_declared_terminals_are_read() -> None:
    made = tables.build(
        """
        start: a b c
        a: "x" Y "z"
        !b: "x" Y
        c: _HIDDEN -> other
         | DECLARED
        %declare DECLARED
        Y.-1: /y+/i
        _HIDDEN.3: "h"
        """,
        "rows",
    )
    by_origin = {(row.origin, row.expansion[0]): row for row in made.rules}
    assert by_origin["a", "X"].kept == (1,)
    assert by_origin["b", "X"].kept == (0, 1)
    assert by_origin["c", "_HIDDEN"].kept == ()
    assert by_origin["c", "_HIDDEN"].alias == "other"
    assert by_origin["c", "DECLARED"].alias is None
    # By priority; fixed ones before patterns; then those that are only declared.
    assert [row.name for row in made.terminals] == ["_HIDDEN", "X", "Z", "Y", "DECLARED"]
    assert made.terminals[-1] == TerminalRow("DECLARED", None, None)
    assert made.terminals[3].fixed is None
    pattern = made.terminals[3].pattern
    assert pattern is not None
    assert re.fullmatch(pattern, "yY")


@pytest.mark.parametrize("name", registry.names())
def test_tables_survive_being_written(name: str) -> None:
    made = tables.build(registry.read(name), name)
    assert Tables.loads(made.dumps()) == made
    assert Tables.loads(made.dumps().replace('"version":', '"version":1000', 1)) is None


def test_tables_are_the_same_in_every_process() -> None:
    code = (
        "import sys, json; from jsonrepair_lark import tables\n"
        "made = tables.compile_all(); made['toy'] = tables.build(sys.stdin.read(), 'toy').dumps()\n"
        "print(json.dumps(made))"
    )

    def made(seed: int) -> Any:
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            input=TOY,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        return json.loads(done.stdout)

    first = made(1)
    assert set(first) == {*registry.names(), "toy"}
    assert made(2) == first
    assert made(3) == first


# -- grammars that are refused ---------------------------------------------------------------------

MALFORMED: Final = {
    "%declare THING\nstart: THING": "Grammar 'bad' declares THING, which nothing scans",
    'start: x\nx: A\n | y -> repair_z\ny: "b"\nA: "a"': (
        "Grammar 'bad': repair_z is a repair of more than terminals"
    ),
    'start: x\nx: A\n | B -> repair_z\nA: /a+/\nB: "b"': (
        "Grammar 'bad': nothing says what repair_z puts in place"
    ),
}
REFUSED_BY_LARK: Final = {
    "start: (": r"Grammar 'bad': .*line 1 column 9",
    'start: x | y\nx: A\ny: A\nA: "a"': r"Grammar 'bad': Reduce/Reduce collision",
    "start: missing": r"Grammar 'bad': .*missing",
    "start: A\nA: /(/": r"Grammar 'bad': ",
    "start: A\nA: /a*/": r"Grammar 'bad': .*zero-width",
    "%import .no_such_grammar (x)\nstart: x": r"Grammar 'bad': .*no_such_grammar",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_grammar_that_breaks_a_rule_of_the_library_is_refused(text: str) -> None:
    with pytest.raises(GrammarFormatError) as caught:
        Grammar("bad", tables.build(text, "bad"))
    assert str(caught.value) == MALFORMED[text]


@pytest.mark.parametrize("text", REFUSED_BY_LARK)
def test_a_grammar_that_lark_refuses_is_refused(text: str) -> None:
    with pytest.raises(GrammarFormatError, match=re.compile(REFUSED_BY_LARK[text], re.DOTALL)):
        tables.build(text, "bad")


def test_a_replacement_is_told_by_the_sibling_or_by_its_absence() -> None:
    grammar = Grammar("toy", tables.build(TOY, "toy"))
    hooks = {
        rule.expansion: (hook.kind, hook.replacement, hook.deletes)
        for rule, hook in zip(grammar.rules, grammar.hooks, strict=True)
        if hook
    }
    assert hooks == {("DOUBLED_COMMA",): ("doubled_comma", ",", False)}
    dropped = Grammar(
        "drop", tables.build('start: extra A\nextra: B -> repair_extra\nA: "a"\nB: "b"', "drop")
    )
    assert [(h.kind, h.replacement, h.deletes) for h in dropped.hooks if h] == [("extra", "", True)]


def test_an_unknown_grammar_is_refused_with_the_known_names() -> None:
    with pytest.raises(GrammarNotFoundError) as caught:
        Grammar.of("no_such_grammar")
    assert str(caught.value) == (
        f"No grammar named 'no_such_grammar'; known: {', '.join(registry.names())}"
    )
    assert isinstance(caught.value, LookupError)
    assert "json" in registry.names()


# -- the grammars that are shipped -----------------------------------------------------------------

CONTRACT: Final = frozenset(
    {
        *("start", "content", "reasoning", "tool_call", "tool_id", "tool_name", "tool_args"),
        *("tool_arg", "arg_name", "arg_value", "arg_text"),
        *("object", "array", "pair", "string", "number", "true", "false", "null"),
        *("python_string", "raw_string", "format_string", "raw_format_string"),
        *("concatenation", "python_number"),
        # A repair needs an alias, which Lark gives to visible rules only.
        *("bom", "excess", "comma", "control", "surrogate", "escape"),
        *("inner_single", "inner_double"),
        *("operator", "subscript", "called"),
    }
)


def header(name: str) -> list[str]:
    lines = registry.read(name).split("\n")
    end = next(index for index, line in enumerate(lines) if not line.startswith("//"))
    return [line.removeprefix("//") for line in lines[:end]]


@pytest.mark.parametrize("name", registry.names())
def test_the_header_of_a_grammar_has_its_keys(name: str) -> None:
    title, *rest = header(name)
    assert re.fullmatch(r" [^:]+: .+", title), f"{name}.lark: first line `// <Name>: <what>.`"
    keys = dict(line.strip().partition(":")[::2] for line in rest)
    for key in ("aliases", "source", "example"):
        assert key in keys, f"{name}.lark: add a line `// {key}: …` after its title"
    assert list(keys) == ["aliases", "source", "example"], f"{name}.lark: keys in this order"
    assert re.fullmatch(r" (https?://\S+|docs/\S+), read \d{4}-\d{2}-\d{2}", keys["source"]), (
        f"{name}.lark: `// source: <URL>, read <YYYY-MM-DD>`"
    )
    assert re.fullmatch(r"|( [a-z0-9_]+)(, [a-z0-9_]+)*", keys["aliases"]), name
    assert keys["example"].strip(), f"{name}.lark: an example that the grammar takes"


@pytest.mark.parametrize("name", registry.names())
def test_the_example_of_a_grammar_is_taken_as_it_is(name: str) -> None:
    # A newline in an example is written as an escape.
    example = header(name)[-1].partition(":")[2].strip().replace("\\n", "\n")
    session = run(example, program=tree_program(Grammar.of(name)), allowed=frozenset())
    assert session.stop is None, example
    assert session.edits == []


@pytest.mark.parametrize("name", registry.names())
def test_visible_rules_are_those_of_the_contract(name: str) -> None:
    made = tables.build(registry.read(name), name)
    # Lark puts the underscore of an imported rule before the prefix, and one before what it makes
    # of `x*` and of templates.
    visible = {
        row.origin.rsplit("__", 1)[-1] for row in made.rules if not row.origin.startswith("_")
    }
    helpers = {row.origin.rsplit("__", 1)[-1] for row in made.rules if row.expand1}
    unknown = visible - helpers - CONTRACT
    assert not unknown, f"{name}.lark: {sorted(unknown)}: begin helper rules with `_` or `?`"


@pytest.mark.parametrize("name", registry.names())
def test_repairs_of_a_grammar_have_kinds_and_names_that_are_known(name: str) -> None:
    kinds = {hook.kind for hook in Grammar.of(name).hooks if hook}
    refused = {"nonfinite_number", "lone_surrogate", "invalid_escape", "unexpected_input"}
    assert kinds <= SAFE | refused


@pytest.mark.parametrize("name", registry.names())
def test_a_grammar_has_no_conflicts(name: str) -> None:
    assert tables.build(registry.read(name), name, strict=True).rules


def greedy(pattern: str) -> str:
    """A form that interegular reads; it matches whatever the pattern matches, and maybe more."""
    return re.sub(r"(?<!\\)([*+?])\+", r"\1", pattern)


def machine(pattern: str) -> Any:
    """The automaton of a pattern, or None where it looks around in a way that has none."""
    interegular = pytest.importorskip("interegular", reason="not installed")
    try:
        return interegular.parse_pattern(greedy(pattern)).to_fsm()
    except interegular.Unsupported:
        assert re.search(r"\(\?[=!]", pattern), pattern
        return None


# The automata of a format's tags take minutes to make; those of the shared terminals do not.
@pytest.mark.parametrize("name", ["json"])
def test_no_two_terminals_of_a_state_match_the_same_text(name: str) -> None:
    grammar = Grammar.of(name)
    machines = {
        row.name: made
        for row in grammar.patterned
        if (made := machine(pattern_of(row))) is not None
    }
    collisions = {
        pair
        for actions, default in zip(grammar.actions, grammar.defaults, strict=True)
        # Nothing is scanned in a state that reduces whatever comes.
        if default is None
        for pair in combinations(sorted(machines.keys() & actions.keys()), 2)
        # Text stands before what is ignored and before all others: see `scanner.alternation`.
        if is_text(pair[0]) == is_text(pair[1])
        and not machines[pair[0]].isdisjoint(machines[pair[1]])
    }
    assert collisions == set()
