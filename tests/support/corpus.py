"""The corpus format: cases by example in text files, one folder for each grammar.

A file is a list of cases. A header names the case and may carry attributes; the input follows, then
named sections with what is expected:

    ================================================================================
    A trailing comma is dropped
    :options(max_depth=3)
    ================================================================================
    [1, 2,]
    ---- text
    [1, 2]
    ---- repairs
    5..6 trailing_comma

The last newline before a divider belongs to the divider. Where the input holds lines that look like
dividers, the header gets a suffix (`====|||`), and then only dividers with this suffix count
(`----||| text`). Attributes:

* `:error`: the input is refused; without it the input is accepted.
* `:skip(reason)`: the case is not run.
* `:escapes`: `\\uXXXX` in the input and in the section `text` stands for that character (and
  `\\u005c` for a backslash), for what an editor would not show or not keep.
* `:tools(file.json)`: the tools that were offered, from a file of the folder.
* `:options(name=value, ...)`: keyword arguments; numbers and quoted strings as in JSON,
  other values are plain words.

Cases are found by their name, never by line, so that a file can be rewritten case by case.
"""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, Final

RULE: Final = "=" * 80
HEADER: Final = re.compile(
    r"^={3,}(?P<suffix>[^=\s]*)\n(?P<name>[^:=\n][^\n]*)\n(?P<attributes>(?::[^\n]*\n)*)={3,}(?P=suffix)\n",
    re.MULTILINE,
)
ATTRIBUTE: Final = re.compile(r":(?P<name>error|skip|escapes|options|tools)(?:\((?P<value>.*)\))?")
OPTION: Final = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>\"(?:[^\"\\]|\\.)*\"|[^,]*)(?:,|$)")
ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")


class CorpusError(Exception):
    """A corpus file that can't be read; the message says where and why."""


@dataclasses.dataclass
class Case:
    """One case: `sections` are in the order of the file and as written in it."""

    path: Path
    name: str
    attributes: dict[str, str]
    suffix: str
    source: str
    sections: dict[str, str]

    @property
    def grammar(self) -> str:
        return self.path.parent.name

    @property
    def id(self) -> str:
        return f"{self.grammar}/{self.path.stem}: {self.name}"

    @property
    def is_error(self) -> bool:
        return "error" in self.attributes

    @property
    def text(self) -> str:
        """The input."""
        return self.decode(self.source)

    @property
    def options(self) -> dict[str, Any]:
        return {
            match["name"]: option_value(match["value"].strip())
            for match in OPTION.finditer(self.attributes.get("options", ""))
        }

    def decode(self, written: str) -> str:
        """Text as meant, of text as written in the file."""
        if "escapes" not in self.attributes:
            return written
        return ESCAPE.sub(lambda match: chr(int(match[1], 16)), written)

    def encode(self, text: str) -> str:
        """Text as written in the file; what `decode` turns back into `text`."""
        if "escapes" not in self.attributes:
            return text
        units = ESCAPE.sub(lambda match: "\\u005c" + match[0][1:], text)
        return "".join(
            char if char.isprintable() or char == "\n" else f"\\u{ord(char):04x}" for char in units
        )

    def __str__(self) -> str:
        attributes = "".join(
            f":{name}({value})\n" if value else f":{name}\n"
            for name, value in self.attributes.items()
        )
        rule = RULE + self.suffix
        sections = "".join(
            f"----{self.suffix} {name}\n" + (f"{body}\n" if body else "")
            for name, body in self.sections.items()
        )
        source = f"{self.source}\n" if self.source else ""
        return f"{rule}\n{self.name}\n{attributes}{rule}\n{source}{sections}"


def option_value(written: str) -> object:
    """A number, a quoted string or a boolean as in JSON; everything else is a plain word."""
    is_json = re.match(r'[-0-9"]|(?:true|false)$', written)
    return json.loads(written) if is_json else written


def parse(text: str, path: Path) -> list[Case]:
    """Read all cases of a file.

    Raises:
        CorpusError: if the text has no case, text before the first one, an unknown attribute, a
            case without a section, a section given twice, or two cases of one name.
    """
    cases: dict[str, Case] = {}
    header = HEADER.search(text)
    if header is None or text[: header.start()].strip():
        msg = f"{path}: expected a case header first"
        raise CorpusError(msg)
    while header is not None:
        following = next_header(text, header)
        end = following.start() if following else len(text)
        case = read_case(header, text[header.end() : end], path, last=following is None)
        if case.name in cases:
            msg = f"{path}: two cases are named {case.name!r}"
            raise CorpusError(msg)
        cases[case.name] = case
        header = following
    return list(cases.values())


def next_header(text: str, header: re.Match[str]) -> re.Match[str] | None:
    """Find the next header, after the first section: an input may look like a header."""
    divider = re.compile(rf"^----{re.escape(header['suffix'])} \w+$", re.MULTILINE)
    first = divider.search(text, header.end())
    return HEADER.search(text, first.end() if first else header.end())


def read_case(header: re.Match[str], body: str, path: Path, *, last: bool) -> Case:
    """Read one case from its header and all that stands up to the next one."""
    where = f"{path}: {header['name']}"
    # One blank line sets the cases of a file apart.
    body = body if last else body.removesuffix("\n")
    pieces = re.split(rf"^----{re.escape(header['suffix'])} (\w+)\n", body, flags=re.MULTILINE)
    names = pieces[1::2]
    if not names:
        msg = f"{where}: a case needs a section, such as '---- text'"
        raise CorpusError(msg)
    if len(set(names)) < len(names):
        msg = f"{where}: a section is given twice"
        raise CorpusError(msg)
    attributes = {}
    for line in header["attributes"].splitlines():
        match = ATTRIBUTE.fullmatch(line)
        if match is None:
            msg = f"{where}: unknown attribute {line!r}"
            raise CorpusError(msg)
        attributes[match["name"]] = match["value"] or ""
    contents = [piece.removesuffix("\n") for piece in pieces[::2]]
    return Case(
        path=path,
        name=header["name"],
        attributes=attributes,
        suffix=header["suffix"],
        source=contents[0],
        sections=dict(zip(names, contents[1:], strict=True)),
    )


def write(cases: list[Case]) -> str:
    """The text of a file that holds these cases."""
    return "\n".join(map(str, cases))


def read(path: Path) -> list[Case]:
    """Read the cases of one file; line ends are kept as they are."""
    return parse(path.read_bytes().decode(), path)


def read_folder(folder: Path) -> list[Case]:
    """Read the cases of all files of all grammars."""
    return [case for path in sorted(folder.glob("*/*.txt")) for case in read(path)]


def update(case: Case, sections: dict[str, str]) -> None:
    """Write new contents into sections that a case has, and leave its neighbours alone."""
    cases = read(case.path)
    target = next(other for other in cases if other.name == case.name)
    target.sections |= {name: sections[name] for name in target.sections if name in sections}
    case.path.write_bytes(write(cases).encode())
