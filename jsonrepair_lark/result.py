"""What a repair returns: the status, the value, the edits, the explanation of a refusal."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from jsonrepair_lark.paths import Steps, path_text
from jsonrepair_lark.transcript import Source

if TYPE_CHECKING:
    from lark import Tree

    from jsonrepair_lark.explain import Rejection
    from jsonrepair_lark.policies import Options
    from jsonrepair_lark.session import Session

Status = Literal["valid", "repaired", "rejected"]


@dataclass(frozen=True, slots=True)
class Repair:
    """One edit of the text.

    Attributes:
        kind: the kind of repair.
        offset: where, in code points of the input.
        removed: the text of the input that goes away.
        inserted: the text that comes in its place.
        line, column: the place, both counted from 1.
    """

    kind: str
    offset: int
    removed: str
    inserted: str
    _source: Source = field(default="", repr=False, compare=False)

    @property
    def line(self) -> int:
        """The line of the edit, counted from 1."""
        return self._source.count("\n", 0, self.offset) + 1

    @property
    def column(self) -> int:
        """The column of the edit in its line, counted from 1."""
        return self.offset - self._source.rfind("\n", 0, self.offset)


@dataclass(frozen=True, slots=True)
class Coercion:
    """One change of a value.

    Attributes:
        steps: where: the keys and indexes that lead there.
        before: the value as it was.
        after: the value that the schema's type asks for.
    """

    steps: Steps
    before: Any
    after: Any

    @property
    def path(self) -> str:
        """Where, such as `$.items[0].n`."""
        return path_text(self.steps)


def apply(text: str, repairs: "tuple[Repair, ...]") -> str:
    """Return `text` with the edits applied.

    Args:
        text: the text that the offsets refer to.
        repairs: in the order of the text, none overlapping another.
    """
    pieces = []
    at = 0
    for repair in repairs:
        pieces += [text[at : repair.offset], repair.inserted]
        at = repair.offset + len(repair.removed)
    return "".join((*pieces, text[at:]))


class Result:
    """What became of one text.

    Attributes:
        status: `"valid"` (the text is JSON as it stands), `"repaired"` or `"rejected"`.
        text: the JSON text; of a rejected text, the input as it is.
        value: the Python value; None where rejected.
        repairs: the edits that make `text` of the input, in the order of the text.
        reason: None, or the reason code of the refusal.
        rejection: None, or the explanation of the refusal; made on first access.
        partial: the largest sound value: `value`, or of a rejected text what was complete; None
            where nothing was. Made on first access.
        tree: the lark `Tree` of the whole or partial parse; made on first access by parsing the
            input once more, token by token.
        input: the text as it was given, bytes decoded.
        options: the options it was repaired under.
        span: where `input` stands in the text that it is a part of, as start and end; the whole
            of it unless `split` or `extract` found it.
        coercions: how the value was brought to the types of a schema, where one was given.
        schema_errors: what `jsonschema` found wrong with the value, where it was asked.
    """

    __slots__ = (
        "_partial",
        "_rejection",
        "_session",
        "_tree",
        "coercions",
        "input",
        "options",
        "reason",
        "repairs",
        "schema_errors",
        "span",
        "status",
        "text",
        "value",
    )

    def __init__(
        self,
        status: Status,
        text: str,
        value: Any,
        source: str,
        options: "Options",
        *,
        repairs: tuple[Repair, ...] = (),
        session: "Session | None" = None,
        rejection: "Rejection | None" = None,
        partial: Any = None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.status: Status = status
        self.text = text
        self.value = value
        self.input = source
        self.options = options
        self.span = (0, len(source)) if span is None else span
        self.repairs = repairs
        self.coercions: tuple[Coercion, ...] = ()
        self.schema_errors: tuple[str, ...] = ()
        self._session = session
        self._rejection = rejection
        self._partial = partial
        self._tree: Tree[Any] | None = None
        self.reason: str | None = None
        if rejection is not None:
            self.reason = rejection.reason
        elif session is not None and session.stop is not None:
            self.reason = session.stop.reason

    @property
    def rejection(self) -> "Rejection | None":
        """The explanation of a refusal, or None."""
        self._explain()
        return self._rejection

    @property
    def partial(self) -> Any:
        """The largest sound value."""
        self._explain()
        return self.value if self.status != "rejected" else self._partial

    @property
    def tree(self) -> "Tree[Any]":
        """The lark `Tree` of the parse; the open rules of a rejected text are nodes too."""
        if self._tree is None:
            from jsonrepair_lark.trees import parse_tree

            self._tree = parse_tree(self.input, self.options)
        return self._tree

    def _explain(self) -> None:
        """Make what a refusal tells, and let go of the session."""
        if self._session is None or self._session.stop is None:
            return
        from jsonrepair_lark.explain import explain
        from jsonrepair_lark.values import MISSING, partial_value

        session, self._session = self._session, None
        stop = session.stop
        if stop is not None:
            self._rejection = explain(session, stop, self.input)
            partial = partial_value(session)
            self._partial = None if partial is MISSING else partial

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self.status, self.input, self.repairs))

    def _facts(self) -> tuple[Any, ...]:
        return (
            self.input,
            self.span,
            self.options,
            self.status,
            self.text,
            self.repairs,
            # The values follow from these; comparing them would take 1 for True, and recurse.
            self.rejection,
        )

    def __repr__(self) -> str:
        if self.status == "rejected":
            return f"Result(status='rejected', reason={self.reason!r})"
        return f"Result(status={self.status!r}, value={self.value!r}, repairs={self.repairs!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the session and the tree, which can be made again."""
        self._explain()
        left_out = ("_session", "_tree")
        return {name: getattr(self, name) for name in self.__slots__ if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._session = None
        self._tree = None
        for name, value in state.items():
            setattr(self, name, value)
