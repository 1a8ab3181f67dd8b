"""The documents that the benchmarks repair, built by seeded code.

Every document is made whole first and then cut, so that a benchmark knows what the text stood for.
The same case at the same size is the same text on every machine and in every Python version.
"""

import json
import string
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

ARGUMENTS_BYTES: Final = 40
FILE_WRITE_BYTES: Final = 9_000
DENSE_BYTES: Final = 17_000
LARGE_BYTES: Final = 1_000_000
STREAM_SIZES: Final = (4 * 1024, 64 * 1024, 1024 * 1024)


class Document(NamedTuple):
    """A cut text, and the valid text that it was cut from."""

    text: str
    whole: str


class Case(NamedTuple):
    """A kind of document at one size; ``copies`` documents of it are measured together."""

    title: str
    size: int
    copies: int
    build: Callable[[Random, int], Document]

    def documents(self, size: int | None = None) -> list[Document]:
        """Build the documents of this case, at another size if one is given."""
        wanted = size or self.size
        seeds = (f"{self.title}/{wanted}/{index}" for index in range(self.copies))
        return [self.build(Random(seed), wanted) for seed in seeds]


def word(rng: Random, shortest: int = 3, longest: int = 9) -> str:
    """Return a word of lower-case letters."""
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(shortest, longest)))


def arguments(ending: Callable[[Random], str]) -> Callable[[Random, int], Document]:
    """Return a builder of short arguments that stop two characters before their end.

    Args:
        ending: gives the last value and the brace; the cut falls into it.
    """

    def build(rng: Random, size: int) -> Document:
        head, last = f'{{"{word(rng, 4, 6)}": "', f'", "{word(rng, 2, 4)}": {ending(rng)}'
        filler = size - len(head) - len(last)
        whole = head + word(rng, filler, filler) + last
        return Document(whole[:-2], whole)

    return build


def two_closers(rng: Random) -> str:
    """Return an ending that loses two closers: its last value is complete."""
    return rng.choice(('["{}"]}}', '{{"{}": true}}}}', '{{"{}": null}}}}')).format(word(rng, 3, 3))


def quote_and_brace(rng: Random) -> str:
    """Return an ending that loses a quote: its last string is incomplete."""
    return f'"{word(rng, 3, 6)}"}}'


def letter_and_brace(rng: Random) -> str:
    """Return an ending that loses a letter of a literal."""
    return rng.choice(("true}", "false}", "null}"))


def digit_and_brace(rng: Random) -> str:
    """Return an ending that loses all digits after a decimal point."""
    return f"{rng.randint(1, 99)}.{rng.randint(1, 9)}}}"


def code_line(rng: Random) -> str:
    """Return a line of program text: quotes, tabs, backslashes, brackets, a few accents."""
    indent = "\t" * rng.randint(0, 3) if rng.random() < 0.5 else "    " * rng.randint(0, 3)
    name, other = word(rng), word(rng)
    form = rng.choice(
        (
            f"if {name}[\"{other}\"] != '{word(rng)}':",
            f'{name} = {other}("{word(rng)}", {{"{word(rng)}": {rng.randint(0, 999)}}})',
            f're.sub(r"\\{rng.choice("sdw")}+[{word(rng)}]", "{other}", {name})',
            f"# {name} {other} {word(rng)}, {word(rng)}: caf\N{LATIN SMALL LETTER E WITH ACUTE}",
            f"return [{name}, {other}, {{{word(rng)}}}]",
            f'print(f"{name}: {{{other}}}\\n")',
            "",
        )
    )
    return f"{indent if form else ''}{form}\n"


def program(rng: Random, size: int, *, ensure_ascii: bool) -> str:
    """Return program text that takes about ``size`` characters inside a JSON string."""
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(code_line(rng))
        length += len(json.dumps(lines[-1], ensure_ascii=ensure_ascii)) - 2
    return "".join(lines)


def file_write(rng: Random, size: int) -> Document:
    """Build the arguments of a file-writing tool that lack only the closing brace."""
    path = f"src/{word(rng)}/{word(rng)}.py"
    ensure_ascii = rng.random() < 0.5
    content = program(rng, size - len(path) - 30, ensure_ascii=ensure_ascii)
    whole = json.dumps({"path": path, "content": content}, ensure_ascii=ensure_ascii)
    return Document(whole[:-1], whole)


def dense_item(rng: Random, number: int) -> str:
    """Return a small object with values of every kind; its last value is a string."""
    item = {
        "id": number,
        "ok": rng.random() < 0.5,
        "at": [rng.randint(0, 99), round(rng.uniform(-9, 9), 2)],
        "was": rng.choice((None, word(rng), rng.randint(0, 10**6))),
        "tag": word(rng),
    }
    return json.dumps(item)


def dense(back: int) -> Callable[[Random, int], Document]:
    """Return a builder of a list of small objects that stops inside one of them.

    Args:
        back: how many characters before that object's closing brace to cut: 0 leaves its last
            value complete, more than one leaves it inside that value's string.
    """

    def build(rng: Random, size: int) -> Document:
        items: list[str] = []
        length = len('{"items": []}')
        while length < size:
            items.append(dense_item(rng, len(items)))
            length += len(items[-1]) + 2
        head = f'{{"items": [{", ".join(items)}'
        rest = [dense_item(rng, len(items) + more) for more in range(5)]
        return Document(head[: len(head) - 1 - back], f"{', '.join([head, *rest])}]}}")

    return build


CASES: Final[dict[str, Case]] = {
    "arguments-closers": Case(
        "arguments, two closers missing", ARGUMENTS_BYTES, 8, arguments(two_closers)
    ),
    "arguments-quote": Case(
        "arguments, quote and brace missing", ARGUMENTS_BYTES, 8, arguments(quote_and_brace)
    ),
    "arguments-literal": Case(
        "arguments, cut in a literal", ARGUMENTS_BYTES, 8, arguments(letter_and_brace)
    ),
    "arguments-number": Case(
        "arguments, cut in a number", ARGUMENTS_BYTES, 8, arguments(digit_and_brace)
    ),
    "file-write": Case("file write, brace missing", FILE_WRITE_BYTES, 4, file_write),
    "dense": Case("dense objects, cut after a value", DENSE_BYTES, 4, dense(0)),
    "dense-string": Case("dense objects, cut in a string", DENSE_BYTES, 4, dense(3)),
    "file-write-large": Case("file write, brace missing", LARGE_BYTES, 1, file_write),
    "dense-large": Case("dense objects, cut after a value", LARGE_BYTES, 1, dense(0)),
    "dense-string-large": Case("dense objects, cut in a string", LARGE_BYTES, 1, dense(3)),
}

VALID: Final[dict[str, str]] = {
    "arguments": "arguments-closers",
    "file-write": "file-write",
    "dense": "dense",
    "file-write-large": "file-write-large",
    "dense-large": "dense-large",
}
"""Which case each valid document is the whole of."""


def stream_documents(size: int) -> dict[str, str]:
    """Return the documents of a size that are streamed, by name: one long string, a dense list."""
    rng = Random("stream")
    return {
        "one long string": json.dumps({"content": program(rng, size, ensure_ascii=True)}),
        "dense list": dense(0)(rng, size).whole,
    }


def human_size(size: int) -> str:
    """Write a number of bytes as people say it."""
    for unit, name in ((1_000_000, "MB"), (1_000, "KB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"
