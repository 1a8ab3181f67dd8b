"""The public functions that repair one JSON text."""

import json
import os
from typing import IO, Any, Final, Literal, overload

from jsonrepair_lark.coercion import Schema
from jsonrepair_lark.live import LiveValue
from jsonrepair_lark.policies import DEFAULTS, options_from
from jsonrepair_lark.reader import Text, before_duplicate, json_program, read, result_of
from jsonrepair_lark.result import Result
from jsonrepair_lark.session import Session
from jsonrepair_lark.transcript import Transcript
from jsonrepair_lark.typed import typed
from jsonrepair_lark.values import MISSING, KeyCheck, Preview, partial_value, preview_of

BATCH_CHARACTERS: Final = 512
"""A stream parses so many characters at once, unless its value is asked for before."""
LOGGED_MAX_CHARACTERS: Final = 80


class RepairError(json.JSONDecodeError):
    """A text was refused by a function that returns a bare value or text.

    Attributes:
        result: the whole result: reason, partial value, explanation.
        msg, doc, pos, lineno, colno: as in `json.JSONDecodeError`.
    """

    def __init__(self, result: Result) -> None:
        rejection = result.rejection
        message, pos = (rejection.message, rejection.offset) if rejection else ("Refused", 0)
        super().__init__(message, result.input, pos)
        if rejection is not None and rejection.reason == "invalid_encoding":
            # The place is one of bytes, not of the text.
            self.lineno, self.colno = rejection.line, rejection.column
            self.args = (str(rejection),)
        self.result = result

    def __reduce__(self) -> tuple[type["RepairError"], tuple[Result]]:
        """Return how to make it again: the arguments of `JSONDecodeError` are in the result."""
        return RepairError, (self.result,)


def repair(
    text: Text, *, schema: Schema | None = None, validate: bool = False, **options: Any
) -> Result:
    """Repair JSON text, or refuse it with a reason; never raises on any text.

    Args:
        text: str, or bytes in UTF-8, UTF-16 or UTF-32 (as `json.detect_encoding` tells them
            apart); None is empty text.
        schema: a JSON Schema; the value is brought to its types (see `coerce`), each change is in
            the result's `coercions` and is a repair of kind `coercion`.
        validate: whether to validate the value against the schema with `jsonschema` (the extra
            of that name); the errors are in the result's `schema_errors`.
        **options: with their defaults:
            `profile="safe"`: the repairs that are allowed: `"safe"`, `"strict"` (none), or a
            collection of kinds.
            `number_at_end="accept"`: whether a number at the very end of the text counts as
            complete; or `"reject"`.
            `empty_container="reject"`: what to do with a container that was just opened where
            the text ends; or `"close"`.
            `nonfinite="reject"`: NaN, Infinity and numbers that overflow; or `"null"`.
            `lone_surrogates="reject"`; or `"replace"`, by U+FFFD.
            `duplicate_keys="last"`: the last one wins; or `"reject"`.
            `max_depth=500`: how deep containers may nest.
            `finish_reason=None`: what the model's API said; with `"length"` nothing is closed at
            the end of the text.

    Returns:
        The result: `status`, `text`, `value`, `repairs`, `reason`, `rejection`, `partial`.

    Raises:
        TypeError: if `text` is neither text nor bytes nor None, or for an unknown option.
        ValueError: for a value that an option does not take.
        ImportError: with `validate`, if `jsonschema` is not installed.
    """
    result = read(text, DEFAULTS if not options else options_from(options))
    if schema is None or result.status == "rejected":
        return result
    return typed(result, schema, validate=validate)


def loads(s: Text, **options: Any) -> Any:
    """Return the value of JSON text, repaired if need be; options as in `repair`.

    Raises:
        RepairError: if the text is refused; a `json.JSONDecodeError` with the `result`.
        TypeError, ValueError: as `repair`.
    """
    result = repair(s, **options)
    if result.status == "rejected":
        raise RepairError(result)
    return result.value


def load(fp: IO[Any], **options: Any) -> Any:
    """Return the value of the JSON text in an open file, text or binary; see `loads`.

    Raises:
        RepairError: if the text is refused.
        TypeError, ValueError: as `repair`.
    """
    return loads(fp.read(), **options)


def from_file(filename: "str | os.PathLike[str]", **options: Any) -> Any:
    """Return the value of the JSON text in a file; see `loads`.

    Raises:
        RepairError: if the text is refused.
        OSError: if the file can't be read.
        TypeError, ValueError: as `repair`.
    """
    with open(filename, "rb") as file:  # noqa: PTH123 - pathlib is not imported for one call
        return loads(file.read(), **options)


@overload
def repair_json(
    json_str: Text = "",
    return_objects: Literal[False] = False,  # noqa: FBT002 - as in json_repair
    **options: Any,
) -> str: ...
@overload
def repair_json(json_str: Text, return_objects: Literal[True], **options: Any) -> Any: ...
@overload
def repair_json(json_str: Text = "", *, return_objects: Literal[True], **options: Any) -> Any: ...
def repair_json(json_str: Text = "", return_objects: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002 - see above
    """Return the repaired JSON text, or its value; first parameters as in `json_repair`.

    Args:
        json_str: the text.
        return_objects: whether to return the value and not the text.
        **options: as in `repair`.

    Raises:
        RepairError: if the text is refused.
        TypeError, ValueError: as `repair`.
    """
    result = repair(json_str, **options)
    if result.status == "rejected":
        raise RepairError(result)
    return result.value if return_objects else result.text


def repair_arguments(text: Text, *, fallback: str = "{}", **options: Any) -> str:
    """Return the text of a JSON object, for arguments of a tool call about to be executed.

    Empty text and the word `None` count as no arguments. What is refused or is no object gives
    the fallback and a warning to the logger `jsonrepair_lark`, which names reason and place and
    quotes no more than 80 characters of the text.

    Args:
        text: the arguments as the model wrote them.
        fallback: what to return where there are none that are certain.
        **options: as in `repair`.

    Raises:
        TypeError, ValueError: as `repair`, never for the content of a text.
    """
    result = repair(text, **options)
    if isinstance(result.value, dict):
        return result.text
    if result.reason == "empty" or result.input.strip(" \t\n\r") == "None":
        return fallback
    if result.status == "rejected":
        rejection = result.rejection
        reason, place = result.reason, rejection.offset if rejection else 0
    else:
        reason, place = "not_an_object", 0
    half = LOGGED_MAX_CHARACTERS // 2
    # Imported here, as `logging` takes longer to import than a payload to repair.
    import logging

    logging.getLogger("jsonrepair_lark").warning(
        "tool-call arguments refused: %s at character %d: %s",
        reason,
        place,
        ascii(result.input[max(0, place - half) : place + half]),
    )
    return fallback


class RepairStream:
    """Repairs JSON that arrives in pieces; the result is that of `repair` on the whole.

    A delta costs what it is long, whatever came before.

    Args:
        **options: as in `repair`.

    Raises:
        TypeError, ValueError: as `repair`.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options_from(options)
        self._check: KeyCheck | None = None
        if self._options.duplicate_keys == "reject":
            self._check = KeyCheck(json_program().grammar)
        program = self._check.program if self._check else json_program()
        self._session = Session(program, self._options.limits)
        self._live = LiveValue(self._session)
        self._transcript = Transcript()
        self._pending: list[str] = []
        self._n_pending = 0
        self._result: Result | None = None

    def feed(self, delta: str) -> None:
        """Take the next piece of the text.

        Raises:
            TypeError: if `delta` is not a str.
            ValueError: after `finish`.
        """
        self._transcript.add(delta)
        self._pending.append(delta)
        self._n_pending += len(delta)
        if self._n_pending >= BATCH_CHARACTERS:
            self._parse_pending()

    def _parse_pending(self) -> None:
        if not self._pending:
            return
        self._session.feed("".join(self._pending))
        self._pending = []
        self._n_pending = 0

    def _stop_at_duplicate(self) -> None:
        self._parse_pending()
        duplicate = self._check.first(self._session) if self._check else None
        if duplicate is not None:
            self._session = before_duplicate(str(self._transcript), self._options, *duplicate)
            self._live = LiveValue(self._session)
            self._check = None

    @property
    def value(self) -> Any:
        """The largest sound value of what has come so far; None where nothing is complete yet.

        It is live: one object that grows as text comes, so copy it to keep it as it is.
        """
        if self._result is not None:
            return self._result.partial
        self._stop_at_duplicate()
        value = partial_value(self._session) if self._check else self._live.get()
        return None if value is MISSING else value

    @property
    def preview(self) -> Preview:
        """What has come so far with the string that is not finished, for display only."""
        if self._result is not None:
            return Preview(self._result.partial, None)
        self._stop_at_duplicate()
        return preview_of(self._session)

    def finish(self) -> Result:
        """End the text and return the result; the same one when called again."""
        if self._result is None:
            self._session.finish("".join(self._pending))
            self._pending = []
            self._stop_at_duplicate()
            text = self._transcript.finish()
            self._result = result_of(self._session, text, self._options)
        return self._result
