"""What a session may do, and why one stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Refine = Callable[[str, bool], tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why and where a session stopped.

    Attributes:
        reason: reason code; None until `finish` has seen what follows.
        offset: place in the input.
        kind: the repair that would be needed and is not allowed, or None.
        key: the key that is refused, or None.
    """

    reason: str | None
    offset: int
    kind: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a session may do.

    Attributes:
        allowed: kinds of repair.
        max_depth: how deep brackets may nest.
        close_empty: whether a bracket that was just opened may be closed.
        truncated: whether the text is known to be cut, so that its end takes no closer.
        refine: by local name of a terminal: a function of lexeme and "is at the very end of the
            text" that returns the terminal that the lexeme really is, or a reason to refuse it.
        natives: whether native scanners may be used.
        traced: whether the open rules are kept that closers at the end of the text close.
        refusals: reason codes; a repair that is not allowed is refused by its own name if it is
            one of them, else as `repair_not_allowed`.
    """

    allowed: frozenset[str]
    max_depth: int = 500
    close_empty: bool = False
    truncated: bool = False
    refine: Mapping[str, Refine] = field(default_factory=dict)
    natives: bool = True
    traced: bool = False
    refusals: frozenset[str] = frozenset()
