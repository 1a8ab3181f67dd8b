"""Calls in Python's syntax: literals mean what Python says, and a forgotten escape is no guess."""

import ast
import json
import warnings
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from jsonrepair_lark import ParsedCalls, parse_calls

from .support import laws
from .support.calls import parse_pieces
from .support.documents import split_at
from .test_formats_growth import MILLION, check_growth

FEW: Final = settings(max_examples=max(10, settings().max_examples // 3))
PREFIXES: Final = ("", "u", "U", "r", "R", "f", "F", "rf", "fR", "Rf", "FR")
QUOTES: Final = ("'", '"', "'''", '"""')
WORDS: Final = (
    *("echo", "sed", "-n", "x", "b", "f", "r", "rf", "u", "os", "1", "0", "é", "{", "}", "{}"),
    *("(", ")", "[", "]", ",", ":", "=", ", a=1", "), g(", " ", " ", "\n", "\t", "\\", "|", "<"),
    *("'", "'", '"', '"', "''", '""', "#", "<|tool_call_end|>", "]<|", "$x", "--n=1", "\\n"),
)


def read(argument: str, **options: Any) -> ParsedCalls:
    return parse_calls(f"[f(a={argument})]", format="pythonic", **options)


def json_of(node: ast.expr) -> Any:
    """What a literal is in JSON, from Python's own tree; sets keep the order of the text."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [json_of(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [json_of(key) for key in node.keys if key is not None]
        return dict(zip(keys, map(json_of, node.values), strict=True))
    if isinstance(node, ast.JoinedStr):
        return "".join(json_of(value) for value in node.values)
    return ast.literal_eval(node)


def meaning(source: str) -> Any:
    with warnings.catch_warnings():
        # A backslash that starts no escape stands for itself, which Python warns of.
        warnings.simplefilter("ignore")
        return json_of(ast.parse(f"({source})", mode="eval").body)


# -- literals --------------------------------------------------------------------------------------


@st.composite
def strings(draw: st.DrawFn) -> str:
    """A string literal of any kind that Python reads, as source text."""
    prefix = draw(st.sampled_from(PREFIXES))
    quote = draw(st.sampled_from(QUOTES))
    pieces = st.sampled_from(
        [
            *("a", "é", "😀", " ", "\t", "'", '"', "{{", "}}", "#", ")", "]", ", b=", "\x7f"),
            *("\\n", "\\\\", "\\'", '\\"', "\\x41", "\\u00e9", "\\U0001f600", "\\101", "\\0"),
            *("\\N{BULLET}", "\\d", "\\\n", "\\a", "\\8", "<|tool_call_end|>"),
        ]
    )
    body = "".join(draw(st.lists(pieces, max_size=8)))
    source = prefix + quote + body + quote
    try:
        meaning(source)
    except (SyntaxError, ValueError):
        # Not a literal, such as a quote of the own kind.
        return repr(body)
    return source


def numbers() -> st.SearchStrategy[str]:
    signs = st.sampled_from(["", "-", "+", "- "])
    magnitudes = st.one_of(
        st.integers(0).map(str),
        st.integers(0).map("{:_}".format),
        st.integers(0).map(hex),
        st.integers(0).map("{:#_X}".format),
        st.integers(0).map(oct),
        st.integers(0).map("{:#b}".format),
        st.floats(0, allow_infinity=False, allow_nan=False).map(repr),
        st.sampled_from(["1.", ".5", "1e3", "1E-3", "1_0.0_1", "1.e5", "00", "0_0", "0."]),
    )
    return st.tuples(signs, magnitudes).map("".join)


def literals() -> st.SearchStrategy[str]:
    scalars = st.one_of(
        strings(),
        st.text(st.characters(exclude_categories=["Cs"])).map(repr),
        numbers(),
        st.sampled_from(["True", "False", "None"]),
        st.lists(strings(), min_size=2, max_size=3).map(" ".join),
    )
    spaces = st.sampled_from(["", " ", "\n", "\t "])

    def containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        items = st.lists(inner, max_size=4)
        hashable = st.lists(scalars, min_size=1, max_size=4)
        pairs = st.lists(
            st.tuples(strings(), inner), max_size=3, unique_by=lambda pair: meaning(pair[0])
        ).map(lambda found: [f"{key}: {value}" for key, value in found])
        return st.one_of(
            st.tuples(spaces, items).map(lambda x: f"[{x[0]}" + f",{x[0]}".join(x[1]) + "]"),
            items.map(lambda x: "(" + "".join(f"{item}, " for item in x) + ")"),
            hashable.map(lambda x: "{" + ", ".join(x) + "}"),
            pairs.map(lambda x: "{" + ", ".join(x) + "}"),
            inner.map("({})".format),
        )

    return st.recursive(scalars, containers, max_leaves=8)


def check_value(parsed: ParsedCalls, value: Any) -> None:
    assert parsed.rejected == ()
    (call,) = parsed.calls
    assert call.repairs == ()
    assert laws.same(call.value, {"a": value}), (call.value, value)
    assert laws.same(json.loads(call.arguments), {"a": value}), call.arguments


@given(literals())
@example("'ab' \"cd\" '''ef'''")
@example("{'a': {1, 2}, 'b': (1,)}")
def test_a_literal_means_what_python_says(source: str) -> None:
    check_value(read(source), meaning(source))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\\'")))
@example("raw\nnewline\r\n\ttab\0nul")
def test_a_string_may_hold_what_python_does_not_allow(text: str) -> None:
    check_value(read(f"'{text}'"), text)
    if '"' not in text:
        check_value(read(f'r"{text}"'), text)
    if "{" not in text and "}" not in text and not text.endswith('"') and '"""' not in text:
        check_value(read(f'f"""{text}"""'), text)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("quote", QUOTES)
def test_every_kind_of_string(prefix: str, quote: str) -> None:
    source = f"{prefix}{quote}a\\tb\\\\{quote}"
    check_value(read(source), meaning(source))
    check_value(read(f"{prefix}{quote}{quote}"), "")
    check_value(read(f"{prefix}{quote}a\nb{quote}"), "a\nb")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("07", 7),
        ("-01", -1),
        ("00", 0),
        ("007.5", 7.5),
        ("--1", 1),
        ("-+-2", 2),
        ("-(3)", -3),
        ("- 4", -4),
        ("-0.0", -0.0),
        ("true", True),
        ("false", False),
        ("null", None),
        ("[true, [false], {'k': null}]", [True, [False], {"k": None}]),
        ("'\\ud83d\\ude00'", "😀"),
    ],
)
def test_what_models_write_beyond_python(source: str, value: Any) -> None:
    check_value(read(source), value)


@FEW
@given(literals(), literals(), st.data())
def test_no_prefix_and_no_chunking_gives_anything_else(
    one: str, other: str, data: st.DataObject
) -> None:
    text = f"[f(a={one}, b={other}), g(c={one})]"
    whole = parse_calls(text, format="pythonic")
    assert [call.name for call in whole.calls] == ["f", "g"]
    arguments = {"format": "pythonic"}
    assert parse_pieces(text, arguments) == whole
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    assert parse_pieces(split_at(text, cuts), arguments) == whole
    for cut in range(len(text)):
        for call, later in zip(
            parse_calls(text[:cut], format="pythonic").calls, whole.calls, strict=False
        ):
            assert call.name == later.name
            is_cut = text[cut - 1].isalnum() or text[cut - 1] in "_.)"
            is_beside = text[:cut].rstrip()[-1:] in ("'", '"')
            sound = laws.is_sound(call.value, later.value, number_is_cut=is_cut)
            # As with a number, a string at the very end counts as whole, though one beside it
            # may follow.
            assert sound or is_beside, (cut, call.value)


# -- what is no literal ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "x=b'abc'",
        "x=Rb'abc'",
        "x=...",
        "x=1j",
        "x=1+2j",
        "x=f'{y}'",
        "x=f'a' f'{y!r}'",
        "x=rf'{y}'",
        "x=[i for i in y]",
        "x={i for i in y}",
        "x={i: i for i in y}",
        "x=(i for i in y)",
        "x=lambda: 1",
        "x=lambda y: (y, 'a')",
        "x=1 + 2",
        "x='a' + 'b'",
        "x='a' % 1",
        "x=not True",
        "x=1 if y else 2",
        "x=os",
        "x=os.path",
        "x=int('3')",
        "x=y[0]",
        "x='a'.upper()",
        "x={1: 2}",
        "x={None: 2}",
        "x={('a',): 2}",
        "x={**y}",
        "x=[*y]",
        "3",
        "'a'",
        "a=1, 3",
        "a=1, a=2",
        "*y",
        "**y",
        "a=1, **{'b': 2}",
        "x=True1",
        "x=-True",
        "x=0x",
        "x=1__0",
        "x='\\x4'",
        "x='\\u00e'",
        "x='\\N{NO SUCH NAME}'",
        "x='\\U00110000'",
        "x='\\ud800'",
        "x=1e999",
        "x",
        "x=",
        "=1",
        "x==1",
        "x:=1",
    ],
)
@pytest.mark.parametrize("name", ["lfm2", "pythonic", "olmo3", "llama4_pythonic"])
def test_what_is_no_literal_rejects_its_call_alone(name: str, arguments: str) -> None:
    opening, between, closing = {
        "lfm2": ("<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
        "pythonic": ("[", ", ", "]"),
        "olmo3": ("<function_calls>", "\n", "</function_calls>"),
        "llama4_pythonic": ("<|python_start|>[", ", ", "]<|python_end|>"),
    }[name]
    bad = f"f({arguments})"
    text = opening + between.join(["g(ok=1)", bad, "h(z='2')"]) + closing
    parsed = parse_calls(text, format=name)
    assert [(call.name, call.value) for call in parsed.calls] == [
        ("g", {"ok": 1}),
        ("h", {"z": "2"}),
    ]
    (rejected,) = parsed.rejected
    assert rejected.name == "f"
    assert text[slice(*rejected.span)] == bad
    assert parsed.content == ""


@pytest.mark.parametrize("digits", ["9" * 4301, "0x" + "f" * 4000, "0" * 4301])
def test_an_integer_over_the_digit_limit_is_rejected(digits: str) -> None:
    (rejected,) = read(digits).rejected
    assert rejected.reason == "number_too_long"


# -- quotes that lack their escape -----------------------------------------------------------------


def is_python(text: str) -> bool:
    """Tell whether what a string was put into is read without a repair."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.replace("\n", " ").replace("\0", " "))
    except (SyntaxError, ValueError):
        return False
    return True


SHELL: Final = (
    "sed -n {q}360,450p{q} f.py",
    "python3 -c {q}print(1){q}",
    "echo {q}hi there{q} | grep -c {q}h{q}",
    "git commit -m {q}it is done{q} && git push",
    "awk {q}{{print $1}}{q} log.txt",
    "find . -name {q}*.py{q} -exec grep -l {q}a, b{q} {{}} +",
    "jq {q}.[] | .a{q} x.json",
    "it{q}s",
    "d[{q}k{q}] = e[{q}j{q}]",
    "print({q}a{q}, b)",
    "ssh host {q}cd /tmp && ls{q}",
    "{q}quoted{q} at the start",
    "ends in {q}quotes{q}",
)


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("command", SHELL)
def test_what_agents_write_comes_back_or_is_rejected(command: str, quote: str) -> None:
    text = command.format(q=quote)
    parsed = read(f"{quote}{text}{quote}, n=1")
    assert [call.value for call in parsed.calls] in ([{"a": text, "n": 1}], [])
    assert len(parsed.calls) + len(parsed.rejected) == 1


def check_nested(text: str, quote: str) -> str:
    """Check that a text in quotes without escapes is that text or rejected; tell which."""
    source = f"f(a={quote}{text}{quote})"
    if is_python(source):
        return "is read as it stands"
    parsed = parse_calls(f"<|tool_call_start|>[{source}]<|tool_call_end|>", format="lfm2")
    values = [call.value for call in parsed.calls]
    if not values:
        return "rejected"
    assert values == [{"a": text}], (text, values)
    (call,) = parsed.calls
    assert {repair.kind for repair in call.repairs} <= {"unescaped_quote"}
    return "recovered"


@given(
    st.lists(st.sampled_from([word for word in WORDS if "\\" not in word]), max_size=9),
    st.sampled_from("'\""),
)
def test_a_nested_quote_gives_the_text_or_a_rejection(words: list[str], quote: str) -> None:
    # A text that holds the end of a call and a whole call is not told from calls.
    assume("), g(" not in words)
    check_nested(" ".join(words), quote)
    check_nested("".join(words), quote)


def test_most_nested_quotes_of_shell_commands_are_recovered() -> None:
    tally: Counter[str] = Counter()
    random = Random(5)
    for _ in range(300):
        quote = random.choice("'\"")
        text = random.choice(SHELL).format(q=quote)
        if random.random() < 0.5:
            text += random.choice((" | ", " && ", "; ")) + random.choice(SHELL).format(q=quote)
        tally[check_nested(text, quote)] += 1
    assert tally["recovered"] > 5 * tally["rejected"], tally


# -- growth ----------------------------------------------------------------------------------------


def block(body: str, end: str = "]<|tool_call_end|>") -> str:
    return f"<|tool_call_start|>[{body}{end}"


# Each writes a text with so many units of what its name tells.
GROWING: Final[dict[str, Callable[[int], str]]] = {
    "raw text": lambda n: block("f(a='" + "x < \n" * n + "')"),
    "raw text without an end": lambda n: block("f(a='" + "x < \n" * n, ""),
    "triple-quoted text": lambda n: block('f(a="""' + 'x "" ' * n + '""")'),
    "triple-quoted text without an end": lambda n: block('f(a="""' + 'x "" ' * n, ""),
    "escapes": lambda n: block("f(a='" + "\\n\\u00e9\\'" * n + "')"),
    "escapes without an end": lambda n: block("f(a='" + "\\n\\u00e9\\'" * n, ""),
    "bad escapes": lambda n: block("f(a='" + "\\x4 \\u1 " * n + "')"),
    "constant f-strings": lambda n: block("f(a=f'" + "{{x}}" * n + "')"),
    "placeholders": lambda n: block("f(a=f'" + "{x}" * n + "')"),
    "calls": lambda n: block("f(a='x'), " * n),
    "blocks": lambda n: block("f(a='x')") * n,
    "bad calls": lambda n: block("f(a=os), " * n),
    "arguments": lambda n: block("f(" + "".join(f"a{at}='x', " for at in range(n)) + ")"),
    "items": lambda n: block(f"f(a=[{'1, ' * n}])"),
    "pairs": lambda n: block("f(a={" + "".join(f"'{at}': 1, " for at in range(n)) + "})"),
    "signs": lambda n: block(f"f(a={'-' * n}1)"),
    "operators": lambda n: block(f"f(a=1{' + 1' * n})"),
    "attributes": lambda n: block(f"f(a='x'{'.y' * n})"),
    "dotted names": lambda n: block(f"f{'.g' * n}(a=1)"),
    "digits of a name": lambda n: f"[f{'1' * n}",
    "parts of a name": lambda n: f"[f{'.g' * n} (",
    "adjacent strings": lambda n: block("f(a=" + "'x' " * n + ")"),
    "adjacent strings without an end": lambda n: block("f(a=" + "'x' " * n, ""),
    "inner quotes": lambda n: block("f(a='" + "x ' " * n + "')"),
    "inner quotes without an end": lambda n: block("f(a='" + "x ' " * n, ""),
    "inner triple quotes": lambda n: block("f(a='''" + "x ''' y " * n + "''')"),
    "candidates": lambda n: block("f(a='x" + "', b='" * n + "y')"),
    "candidates of which none fits": lambda n: block("f(a='x" + "', b='" * n + "y' z)"),
    "candidates without an end": lambda n: block("f(a='it's" + "', b='x" * n, ""),
    "candidates that end calls": lambda n: block("f(a='it's" + "'), g(b='x" * n + "')"),
    "candidates that end blocks": lambda n: block("f(a='it's')") * n,
    "repaired calls": lambda n: block("f(a='x 'y' z'), " * n),
    "a race to the end of text": lambda n: block("f(a='it's', b='" + "x, " * n, ""),
    "a race to the end of lists": lambda n: block("f(a='it's', b=[" + "1, " * n, ""),
    "races to the end of the text": lambda n: block("f(a='it's', b='x'y, " * n, ""),
}


@pytest.mark.parametrize(
    "what",
    list(GROWING),
)
@pytest.mark.parametrize("size", [0, 4], ids=["whole", "pieces"])
def test_cost_grows_with_the_length(size: int, what: str) -> None:
    # A list of calls is told by its first name, which nothing but the text begins with.
    key = "pythonic" if what.endswith("of a name") else "lfm2"
    check_growth(key, GROWING[what], MILLION // 10 if size else MILLION, size)
