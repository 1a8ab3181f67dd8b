"""The command line, `jsonrepair-lark`: one command for each thing the library does."""

import argparse
import codecs
import json
import os
import sys
from collections.abc import Iterator
from typing import IO, Any, Final

from jsonrepair_lark.api import repair
from jsonrepair_lark.calls import message_data
from jsonrepair_lark.formats import formats
from jsonrepair_lark.policies import CHOICES, PROFILES
from jsonrepair_lark.promote import parse_calls
from jsonrepair_lark.result import Result
from jsonrepair_lark.several import extract, split
from jsonrepair_lark.streaming import CallStream, Event, event_data

REFUSED: Final = 1
USAGE: Final = 2
READ_BYTES: Final = 65536


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jsonrepair-lark",
        description="Repair the JSON that language models write; refuse what would be invented.",
        epilog="Exit status: 0 valid or repaired, 1 refused, 2 usage.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    repairing = argparse.ArgumentParser(add_help=False)
    options = repairing.add_argument_group("options of the repair")
    options.add_argument("--profile", choices=sorted(PROFILES))
    for name, choices in CHOICES.items():
        options.add_argument(f"--{name.replace('_', '-')}", choices=choices)
    options.add_argument("--max-depth", type=int, metavar="N")
    options.add_argument("--finish-reason", metavar="WORD", help="what the model's API said")
    common = argparse.ArgumentParser(add_help=False, parents=[repairing])
    common.add_argument("file", nargs="?", default="-", help="the text; - (default) is stdin")
    common.add_argument("--lines", action="store_true", help="each line is a text of its own")
    common.add_argument("--json", action="store_true", help="report as JSON, one object a text")
    calling = argparse.ArgumentParser(add_help=False)
    calling.add_argument("--format", required=True, help="see the command formats; calls: or auto")
    calling.add_argument("--tools", metavar="FILE", help="the tools that were offered, as JSON")
    calling.add_argument("--thinking", action="store_true", help="the text begins in a thought")
    report = argparse.ArgumentParser(add_help=False)
    report.add_argument("--report", action="store_true", help="write an account of each edit")
    for name, text in (
        ("repair", "write the repaired text; a refusal goes to stderr"),
        ("split", "write every value of a text of values side by side, a line each"),
        ("extract", "write the objects and arrays found in other text, a line each"),
    ):
        commands.add_parser(name, parents=[common, report], help=text, description=text)
    text = "write the repaired text with the types of a JSON Schema"
    command = commands.add_parser("coerce", parents=[common, report], help=text, description=text)
    command.add_argument("--schema", required=True, metavar="FILE", help="the schema, as JSON")
    command.add_argument("--validate", action="store_true", help="validate (needs jsonschema)")
    text = "print the content and the tool calls of a message as JSON"
    commands.add_parser("calls", parents=[common, calling], help=text, description=text)
    text = "read standard input as it comes; print the events of a message as JSON Lines"
    commands.add_parser("stream", parents=[repairing, calling], help=text, description=text)
    text = "list the formats of tool calls"
    commands.add_parser("formats", help=text, description=text)
    text = "print the parse: tree, open rules, closers, repairs"
    commands.add_parser("tree", parents=[common], help=text, description=text)
    return parser


def _json_of(file: IO[bytes]) -> Any:
    """Return what a JSON file holds; an error names the file."""
    try:
        return json.load(file)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from error


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("profile", *CHOICES, "max_depth", "finish_reason")
    given = {name: getattr(arguments, name) for name in names}
    options = {name: value for name, value in given.items() if value is not None}
    if arguments.command == "coerce":
        with open(arguments.schema, "rb") as file:  # noqa: PTH123 - a path from the command line
            options["schema"] = _json_of(file)
        options["validate"] = arguments.validate
    return options


def _results(arguments: argparse.Namespace, text: bytes, options: dict[str, Any]) -> list[Result]:
    """Return the results that a command has for one text."""
    if arguments.command == "split":
        return split(text, **options)
    if arguments.command == "extract":
        return list(extract(text, **options).results)
    return [repair(text, **options)]


def _texts(source: IO[bytes], *, lines: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the texts, each with what reports call it."""
    if not lines:
        yield "", source.read()
        return
    for number, line in enumerate(source, 1):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if text.strip():
            yield f"line {number}: ", text


def _has_color(stream: IO[str]) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _show(arguments: argparse.Namespace, result: Result, label: str) -> None:
    """Write what was asked for of one result."""
    out = sys.stdout
    if arguments.command == "tree":
        from jsonrepair_lark.dumps import dump, dump_data

        if arguments.json:
            out.write(json.dumps(dump_data(result)) + "\n")
        else:
            out.write(label + dump(result, color=_has_color(out)))
    elif arguments.json or arguments.report:
        from jsonrepair_lark.dumps import report, report_data

        if arguments.json:
            out.write(json.dumps(report_data(result)) + "\n")
        else:
            out.write(label + report(result, color=_has_color(out)))
    elif result.status != "rejected":
        out.write(result.text)
        # One text comes out as it is, but one of several, and a prompt, need their newline.
        is_one_of_several = arguments.lines or arguments.command in ("split", "extract")
        if (is_one_of_several or out.isatty()) and not result.text.endswith("\n"):
            out.write("\n")
        for error in result.schema_errors:
            sys.stderr.write(f"{label}schema: {error}\n")
    else:
        from jsonrepair_lark.dumps import report

        out.flush()
        sys.stderr.write(label + report(result, color=_has_color(sys.stderr)))


def _tools(arguments: argparse.Namespace) -> Any:
    """Return the tools that were offered, None for none given."""
    if arguments.tools is None:
        return None
    with open(arguments.tools, "rb") as file:  # noqa: PTH123 - a path from the command line
        return _json_of(file)


def _calls(arguments: argparse.Namespace, text: bytes, options: dict[str, Any]) -> int:
    """Write the calls of one message; 1 if some were rejected."""
    message = text.decode("utf-8", "replace")
    how = {"format": arguments.format, "thinking": arguments.thinking, **options}
    data = message_data(parse_calls(message, tools=_tools(arguments), **how))
    sys.stdout.write(json.dumps(data, ensure_ascii=False) + "\n")
    return REFUSED if data["rejected"] else 0


def _stream(arguments: argparse.Namespace, source: IO[bytes]) -> int:
    """Write the events of a message as it comes; 1 if calls were rejected."""
    options = _options(arguments)
    finish_reason = options.pop("finish_reason", None)
    stream = CallStream(arguments.format, _tools(arguments), thinking=arguments.thinking, **options)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while piece := os.read(source.fileno(), READ_BYTES):
        _write_events(stream.feed(decoder.decode(piece)))
    _write_events(stream.feed(decoder.decode(b"", final=True)))
    _write_events(stream.finish(finish_reason))
    return REFUSED if stream.result.rejected else 0


def _write_events(events: list[Event]) -> None:
    for event in events:
        sys.stdout.write(json.dumps(event_data(event), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _list_formats() -> int:
    for one in formats():
        aliases = f" ({', '.join(one.aliases)})" if one.aliases else ""
        sys.stdout.write(f"{one.name}{aliases}: {one.title}\n")
    return 0


def _run(arguments: argparse.Namespace, source: IO[bytes]) -> int:
    options = _options(arguments)
    status = 0
    for label, text in _texts(source, lines=arguments.lines):
        if arguments.command == "calls":
            status = max(status, _calls(arguments, text, options))
            continue
        for result in _results(arguments, text, options):
            if result.status == "rejected" or result.schema_errors:
                status = REFUSED
            _show(arguments, result, label)
    return status


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        argv: the arguments without the program's name; those of the process by default.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        # Texts are UTF-8 whatever the terminal says, and newlines come out as they went in.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="")
    if arguments.command == "formats":
        return _list_formats()
    try:
        if arguments.command == "stream":
            return _stream(arguments, sys.stdin.buffer)
        if arguments.file == "-":
            return _run(arguments, sys.stdin.buffer)
        with open(arguments.file, "rb") as source:  # noqa: PTH123 - a path from the command line
            return _run(arguments, source)
    except BrokenPipeError:
        # The reader went away; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError, TypeError, LookupError, ImportError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
