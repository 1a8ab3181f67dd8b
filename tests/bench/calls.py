"""Time reading tool calls out of messages, against SGLang's detectors, format by format.

    PYTHONPATH=. python tests/bench/calls.py [--rounds N] [--budget SECONDS] [FORMAT ...]

A message has 2 KB of prose and three calls with 300 bytes of arguments; a file write is one call
whose arguments take 100 KB as JSON. Both are written by the templates of the tests, as the format's
model writes them. SGLang's detectors are those that `llm-router-utils` ships. A format that it does
not have is compared with json_repair, which is given the calls as JSON objects and so neither finds
them nor reads the prose.

Rounds are interleaved as in repair.py, and a ratio is the median of the ratios within the rounds.
Both are asked for the calls as their users are: a detector is made for each message, as SGLang's
server does, while the tools are made once. Times are those of the processor. The answers are
compared with the calls that were written.
"""

import argparse
import contextlib
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import logging
import math
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from time import process_time
from timeit import Timer
from typing import Any, Final, NamedTuple

import json_repair

from documents import program, word
from jsonrepair_lark import formats, parse_calls
from repair import MIN_BATCH_SECONDS, human_time, write_table
from tests.support import renderers
from tests.support.renderers import Template, call_object, object_template

Call = tuple[str, dict[str, Any]]

PROSE_BYTES: Final = 2_000
CALL_BYTES: Final = 300
CALLS: Final = 3
FILE_BYTES: Final = 100_000

PEER: Final = "llm-router-utils"
PEER_MODULES: Final = "llm_router_utils.sglang.srt"
DETECTORS: Final = {
    "deepseek_v3": "deepseekv3",
    "deepseek_v31": "deepseekv31",
    "deepseek_v32": "deepseekv32",
    "deepseek_v4": "deepseekv4",
    "gemma4": "gemma4",
    "glm45": "glm45",
    "glm47": "glm47",
    "gpt_oss": "gpt-oss",
    "hermes": "hermes",
    "internlm": "interns1",
    "kimi_k2": "kimi_k2",
    "llama3_json": "llama3",
    "minimax_m2": "minimax-m2",
    "mistral": "mistral",
    "qwen3_coder": "qwen3_coder",
    "step3": "step3",
}
"""What SGLang calls the detector of a format."""

TEMPLATES: Final = {
    **renderers.TEMPLATES,
    # Where models write in several ways, as SGLang's detector takes it.
    "gpt_oss": replace(
        renderers.TEMPLATES["gpt_oss"],
        opening="<|start|>assistant",
        said="<|channel|>commentary<|message|>{}<|end|>".format,
    ),
    "internlm": object_template(
        "<|action_start|> <|plugin|>\n", "<|action_end|>", key="parameters"
    ),
    "llama3_json": replace(renderers.TEMPLATES["llama3_json"], opening="<|python_tag|>"),
}


def tool(name: str, **types: str) -> dict[str, Any]:
    """Return a tool as chat APIs take it."""
    properties = {argument: {"type": kind} for argument, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(types)}
    function = {"name": name, "description": "", "parameters": schema}
    return {"type": "function", "function": function}


TOOLS: Final = (
    tool("edit_file", path="string", line="integer", replace="boolean", text="string"),
    tool("write_file", path="string", content="string"),
)


def prose(rng: Random, size: int) -> str:
    """Return paragraphs of sentences."""
    text = ""
    while len(text) < size:
        words = " ".join(word(rng, 2) for _ in range(rng.randint(4, 14)))
        ending = rng.choice((". ", ". ", f" `{word(rng)}`. ", f' ("{word(rng)}"): ', ".\n\n"))
        text += words.capitalize() + ending
    return text[: size - 2] + ".\n"


def path(rng: Random) -> str:
    """Return the path of a file."""
    return f"src/{word(rng)}/{word(rng)}.py"


def edit(rng: Random, size: int) -> Call:
    """Return a call with arguments of several types."""
    arguments: dict[str, Any] = {
        "path": path(rng),
        "line": rng.randint(1, 999),
        "replace": rng.random() < 0.5,
        "text": "",
    }
    rest = size - len(json.dumps(arguments))
    arguments["text"] = program(rng, rest, ensure_ascii=False)[:rest].rstrip()
    return "edit_file", arguments


def write(rng: Random, size: int) -> Call:
    """Return a call that writes a file."""
    arguments = {"path": path(rng), "content": program(rng, size, ensure_ascii=False)}
    return "write_file", arguments


class Message(NamedTuple):
    """A text, the calls that it was written from, and these calls as JSON objects."""

    text: str
    calls: list[Call]
    bodies: list[str]

    @classmethod
    def of(cls, template: Template, calls: list[Call], before: str = "") -> "Message":
        """Write calls in a format, after prose where the format can have any."""
        text = template.message(template.calls(calls), before if template.has_prose else "")
        return cls(text, calls, [call_object(*call) for call in calls])


def messages(template: Template) -> list[Message]:
    """Return the message and the file write in a format; their calls are the same in all."""
    rng = Random("calls")
    before = prose(rng, PROSE_BYTES)
    calls = [edit(rng, CALL_BYTES) for _ in range(CALLS)]
    file = [write(rng, FILE_BYTES)]
    return [Message.of(template, calls, before), Message.of(template, file)]


class Reader(NamedTuple):
    """A way to read a message: what is timed, and how its answer says the calls."""

    name: str
    read: Callable[[Message], Any]
    calls: Callable[[Any], list[Call]]


def ours(name: str) -> Reader:
    """Return this package's reader of a format."""
    return Reader(
        "parse_calls()",
        lambda message: parse_calls(message.text, format=name, tools=TOOLS),
        lambda parsed: [(call.name, json.loads(call.arguments)) for call in parsed.calls],
    )


def sglang(name: str) -> Reader:
    """Return SGLang's reader of a format."""
    protocol = importlib.import_module(f"{PEER_MODULES}.entrypoints.openai.protocol")
    parser = importlib.import_module(f"{PEER_MODULES}.function_call.function_call_parser")
    detector = parser.FunctionCallParser.ToolCallParserEnum[DETECTORS[name]]
    tools = [protocol.Tool.model_validate(one) for one in TOOLS]
    return Reader(
        f"SGLang `{DETECTORS[name]}`",
        lambda message: detector().detect_and_parse(message.text, tools),
        lambda result: [(call.name, json.loads(call.parameters)) for call in result.calls],
    )


def json_only() -> Reader:
    """Return json_repair as a reader of the calls' JSON."""
    return Reader(
        "json_repair",
        lambda message: [json_repair.loads(body) for body in message.bodies],
        lambda values: [(value["name"], value["arguments"]) for value in values],
    )


def stripped(calls: Sequence[Call]) -> list[Call]:
    """Return calls without the white space around their strings."""
    return [
        (name, {key: v.strip() if isinstance(v, str) else v for key, v in arguments.items()})
        for name, arguments in calls
    ]


def mark(reader: Reader, message: Message) -> str:
    """Read a message once, and return the mark of the calls."""
    try:
        calls = reader.calls(reader.read(message))
    except Exception:  # noqa: BLE001 - whatever another library may raise
        return " ‡"
    if calls == message.calls:
        return ""
    if stripped(calls) == stripped(message.calls):
        return " °"
    return f" † {sum(call in message.calls for call in calls)}/{len(message.calls)}"


def timer(reader: Reader, message: Message) -> Timer:
    """Return a timer of reading a message, in processor time and with garbage collection."""

    def read() -> None:
        with contextlib.suppress(Exception):  # the mark tells of it
            reader.read(message)

    return Timer(read, "import gc; gc.enable()", process_time)


class Options(NamedTuple):
    """How long to measure: rounds, and seconds for one reader and message."""

    rounds: int
    budget: float


def measure(readers: tuple[Reader, Reader], message: Message, options: Options) -> list[str]:
    """Measure both readers in interleaved rounds; return our time and the ratio, as cells."""
    marks = [mark(reader, message) for reader in readers]
    timers = [timer(reader, message) for reader in readers]
    passes = [max(1, math.ceil(MIN_BATCH_SECONDS / one.timeit(1))) for one in timers]
    times: list[tuple[float, float]] = []
    spent = 0.0
    for turn in range(options.rounds):
        if turn and spent >= 2 * options.budget:
            break
        gc.collect()
        taken = [0.0, 0.0]
        for which in (0, 1)[:: -1 if turn % 2 else 1]:
            taken[which] = timers[which].timeit(passes[which])
        spent += sum(taken)
        times.append((taken[0] / passes[0], taken[1] / passes[1]))
    own = statistics.median(mine for mine, _ in times)
    ratio = statistics.median(other / mine for mine, other in times)
    return [human_time(own) + marks[0], f"{ratio:{'.0f' if ratio >= 10 else '.2g'}}{marks[1]}"]


def main() -> None:
    """Measure each format and write a Markdown table."""
    known = [one.name for one in formats() if one.name in TEMPLATES]
    parser = argparse.ArgumentParser(description="Time reading tool calls.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for a tool and message")
    parser.add_argument("format", nargs="*", help=f"one of {', '.join(known)}")
    arguments = parser.parse_args()
    unknown = set(arguments.format) - set(known)
    if unknown:
        parser.error(f"unknown format: {', '.join(sorted(unknown))}")
    if not importlib.util.find_spec(PEER_MODULES.partition(".")[0]):
        parser.error(f"missing {PEER}: see tests/bench/requirements.txt")
    logging.disable()
    options = Options(arguments.rounds, arguments.budget)
    peers = {name: sglang(name) for name in known if name in DETECTORS}
    gc.freeze()
    rows = []
    for name in arguments.format or known:
        sys.stderr.write(f"{name}\n")
        readers = ours(name), peers.get(name) or json_only()
        cells = [measure(readers, message, options) for message in messages(TEMPLATES[name])]
        rows.append([name, readers[1].name, *cells[0], *cells[1]])
    versions = [f"{name} {importlib.metadata.version(name)}" for name in (PEER, "json_repair")]
    sys.stdout.write(f"Python {platform.python_version()}, {', '.join(versions)}.\n\n")
    write_table(["format", "peer", "message", "peer", "file write", "peer"], rows)
    sys.stdout.write(
        "`parse_calls()`: time for one text. The peer: times as long as `parse_calls()`.\n"
        "† gave other calls (how many of them right). ‡ raised an error.\n"
        "° took off white space at the ends of strings.\n"
    )


if __name__ == "__main__":
    main()
