"""A server that speaks OpenAI's protocol with `CallStream`, and OpenAI's own client that reads it.

Nothing is faked: the chunks go over a socket. What the client puts together from them is what
`parse_calls` reads in the model's text.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any, Final

import pytest

from jsonrepair_lark import (
    ArgumentsDelta,
    CallFinished,
    CallRejected,
    CallStarted,
    CallStream,
    ContentDelta,
    Event,
    ParsedCalls,
    ReasoningDelta,
    parse_calls,
)

from .support.renderers import TEMPLATES

openai = pytest.importorskip("openai")

MOST_SECONDS: Final = 10  # for the client to answer a server that waits for it
LONGEST_PIECE: Final = 5

WRITE: Final = {"path": "a<b.py", "text": 'if a["x"] < "ü":\n\treturn "\\n"\n', "line": 3}
LOOK: Final = {"path": "True", "all": True, "tags": ["a", {"b": None}]}


def tool(name: str, **types: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": one} for key, one in types.items()}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS: Final = [
    tool("write", path="string", text="string", line="integer"),
    tool("look", path="string", all="boolean", tags="array"),
    tool("f", a="integer"),  # what the templates' bad calls call
]


# -- the server


@dataclass(slots=True)
class Writer:
    """Turns events into the deltas of chunks.

    A call that has started and is then rejected was told of already, and the protocol has no word
    to take it back. Nothing is held back for its sake, as that would delay the arguments of all
    other calls: what came of it stays as it is, maybe even whole JSON, and the last chunk lists it
    in a field of its own, which OpenAI's client hands on. A client that executes calls before the
    last chunk must not be given this server; one that waits for it leaves the listed calls out.
    """

    n_finished: int = 0
    rejected: list[int] = field(default_factory=list)

    def delta(self, event: Event) -> dict[str, Any] | None:
        """Return the delta of an event, or None if it has none."""
        match event:
            case ContentDelta(text):
                return {"content": text}
            case ReasoningDelta(text):
                return {"reasoning_content": text}
            case CallStarted(index, own_id, name):
                function = {"name": name, "arguments": ""}
                return calls_delta(index, id=own_id, type="function", function=function)
            case ArgumentsDelta(index, text):
                return calls_delta(index, function={"arguments": text})
            case CallFinished():
                self.n_finished += 1
            case CallRejected(int(index)):
                self.rejected.append(index)
        return None

    def choices(self, events: Iterable[Event]) -> Iterator[dict[str, Any]]:
        for event in events:
            delta = self.delta(event)
            if delta is not None:
                yield {"index": 0, "delta": delta, "finish_reason": None}

    def last(self) -> dict[str, Any]:
        """Return the last choice."""
        reason = "tool_calls" if self.n_finished else "stop"
        return {"index": 0, "delta": {}, "finish_reason": reason, "rejected_calls": self.rejected}


def calls_delta(index: int, **call: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **call}]}


def choices_of(pieces: Iterable[str], request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Read a model's pieces; give the choice of each chunk as soon as it is certain."""
    stream = CallStream(request["model"], request["tools"])
    writer = Writer()
    yield {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    for piece in pieces:
        yield from writer.choices(stream.feed(piece))
    yield from writer.choices(stream.finish())
    yield writer.last()


class Handler(BaseHTTPRequestHandler):
    """Answers `/v1/chat/completions` with the model's text in chunks; the model is its format."""

    pieces: Iterable[str] = ()

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions" or not request["stream"]:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for choice in choices_of(self.pieces, request):
            chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0}
            chunk |= {"model": request["model"], "choices": [choice]}
            self.send(json.dumps(chunk))
        self.send("[DONE]")

    def send(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def client_of(pieces: Iterable[str]) -> Iterator[Any]:
    """Give OpenAI's client of a server whose model writes these pieces."""
    handler = type("Model", (Handler,), {"pieces": pieces})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with openai.OpenAI(
                base_url=f"http://127.0.0.1:{server.server_port}/v1",
                api_key="none",
                max_retries=0,
                # The variables of a proxy must not matter.
                http_client=openai.DefaultHttpxClient(trust_env=False),
            ) as client:
                yield client
        finally:
            server.shutdown()
            thread.join()


# -- the client


@dataclass(slots=True)
class Message:
    """What a client puts together."""

    content: str = ""
    reasoning: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    finish_reason: str = ""

    def take(self, choice: Any) -> None:
        delta = choice.delta
        self.content += delta.content or ""
        self.reasoning += (delta.model_extra or {}).get("reasoning_content", "")
        for call in delta.tool_calls or ():
            if call.id:
                assert call.index == len(self.calls)
                self.calls.append({"id": call.id, "name": call.function.name, "arguments": ""})
            self.calls[call.index]["arguments"] += call.function.arguments
        if choice.finish_reason:
            self.finish_reason = choice.finish_reason
            self.rejected = choice.model_extra["rejected_calls"]

    @property
    def finished(self) -> list[tuple[str, str]]:
        """The names and arguments of the calls that may be executed."""
        kept = (call for at, call in enumerate(self.calls) if at not in self.rejected)
        return [(call["name"], call["arguments"]) for call in kept]


def chunks_of(client: Any, name: str) -> Any:
    messages = [{"role": "user", "content": "Go on."}]
    return client.chat.completions.create(model=name, messages=messages, tools=TOOLS, stream=True)


def read(pieces: Iterable[str], name: str) -> Message:
    """Have the client read what the server makes of a model's pieces."""
    message = Message()
    with client_of(pieces) as client:
        for chunk in chunks_of(client, name):
            message.take(chunk.choices[0])
    return message


def cut(text: str, rng: Random) -> list[str]:
    """Cut a text into pieces, as a model's tokens come."""
    pieces = []
    while text:
        size = rng.randint(1, LONGEST_PIECE)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def check(text: str, name: str) -> tuple[ParsedCalls, Message]:
    """Check that the client reads in a text what `parse_calls` does."""
    whole = parse_calls(text, format=name, tools=TOOLS)
    message = read(cut(text, Random(text)), name)
    assert message.content == whole.content
    assert message.reasoning == whole.reasoning
    assert message.finished == [(call.name, call.arguments) for call in whole.calls]
    assert message.finish_reason == ("tool_calls" if whole.calls else "stop")
    assert len({call["id"] for call in message.calls}) == len(message.calls)
    return whole, message


each = pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "lfm2", "deepseek_v3", "gpt_oss"])


@each
def test_a_client_reads_prose_and_calls(name: str) -> None:
    template = TEMPLATES[name]
    calls = [("write", WRITE), ("look", LOOK), ("write", WRITE | {"text": ""})]
    whole, message = check(template.message(template.calls(calls), "I'll look.\n"), name)
    assert [(call.name, call.value) for call in whole.calls] == calls
    assert message.rejected == []
    assert "I'll look." in message.content


@each
def test_a_rejected_call_between_others_is_not_executed(name: str) -> None:
    template = TEMPLATES[name]
    first, last = template.calls([("write", WRITE), ("look", LOOK)])
    n_started = 0
    for bad in template.bad:
        whole, message = check(template.message([first, bad, last], "Now.\n"), name)
        assert [call.name for call in whole.calls] == ["write", "look"]
        assert len(whole.rejected) == 1
        assert message.rejected in ([], [1])
        n_started += len(message.rejected)
    # Some of them are refused only after the client was told that they start.
    assert n_started


@each
def test_a_call_that_is_cut_off_is_not_executed(name: str) -> None:
    template = TEMPLATES[name]
    first, last = template.calls([("look", LOOK), ("write", WRITE)])
    text = template.message([first, last])
    _, message = check(text[: text.rindex("return")], name)
    assert [call["name"] for call in message.calls] == ["look", "write"]
    assert message.rejected == [1]


@each
def test_a_message_without_calls_stops(name: str) -> None:
    _, message = check(TEMPLATES[name].said("Is 1 < 2?"), name)
    assert (message.content, message.calls, message.finish_reason) == ("Is 1 < 2?", [], "stop")


def test_a_client_reads_reasoning() -> None:
    template = TEMPLATES["hermes"]
    text = "<think>Hm <b>.</think>" + template.message(template.calls([("look", LOOK)]), "So:\n")
    _, message = check(text, "hermes")
    assert message.reasoning == "Hm <b>."


def test_arguments_arrive_before_the_model_has_written_them_all() -> None:
    template = TEMPLATES["hermes"]
    text = template.message(template.calls([("write", WRITE)]))
    middle = text.index("return")
    has_arrived = threading.Event()

    def pieces() -> Iterator[str]:
        yield text[:middle]
        assert has_arrived.wait(MOST_SECONDS)
        yield text[middle:]

    message = Message()
    with client_of(pieces()) as client:
        for chunk in chunks_of(client, "hermes"):
            message.take(chunk.choices[0])
            if message.calls and "if a" in message.calls[0]["arguments"]:
                has_arrived.set()
    assert json.loads(message.finished[0][1]) == WRITE


def test_variables_of_a_proxy_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert read(["Yes."], "hermes").content == "Yes."
