"""Repairs the JSON that language models write, and refuses what it would have to invent."""

from jsonrepair_lark.api import (
    RepairError,
    RepairStream,
    from_file,
    load,
    loads,
    repair,
    repair_arguments,
    repair_json,
)
from jsonrepair_lark.assembler import ArgumentAssembler, AssembledCall
from jsonrepair_lark.calls import ParsedCalls, RejectedCall, ToolCall
from jsonrepair_lark.coercion import coerce
from jsonrepair_lark.errors import GrammarFormatError, GrammarNotFoundError
from jsonrepair_lark.formats import Format, formats
from jsonrepair_lark.promote import parse_calls, promote, recognise
from jsonrepair_lark.result import Coercion, Repair, Result
from jsonrepair_lark.several import Extraction, extract, split
from jsonrepair_lark.streaming import (
    ArgumentsDelta,
    CallFinished,
    CallRejected,
    CallStarted,
    CallStream,
    ContentDelta,
    Event,
    ReasoningDelta,
    astream,
)
from jsonrepair_lark.values import Preview

__all__ = [
    "ArgumentAssembler",
    "ArgumentsDelta",
    "AssembledCall",
    "CallFinished",
    "CallRejected",
    "CallStarted",
    "CallStream",
    "Coercion",
    "ContentDelta",
    "Event",
    "Extraction",
    "Format",
    "GrammarFormatError",
    "GrammarNotFoundError",
    "ParsedCalls",
    "Preview",
    "ReasoningDelta",
    "RejectedCall",
    "Repair",
    "RepairError",
    "RepairStream",
    "Result",
    "ToolCall",
    "astream",
    "coerce",
    "extract",
    "formats",
    "from_file",
    "load",
    "loads",
    "parse_calls",
    "promote",
    "recognise",
    "repair",
    "repair_arguments",
    "repair_json",
    "split",
]
