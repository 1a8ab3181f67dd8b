"""The text of a stream so far: pieces that can be sliced by their offsets in the whole."""

from bisect import bisect_right
from typing import Final, Protocol

JOINED_PIECES: Final = 256
"""So many small pieces become one, as a piece costs many times what a character does."""


class Source(Protocol):
    """A text that parts are cut out of: a `str` or a `Transcript`."""

    def __getitem__(self, span: slice, /) -> str:
        """Return a part of it."""
        ...

    def count(self, part: str, start: int, end: int, /) -> int:
        """Count a part between two offsets."""
        ...

    def rfind(self, part: str, start: int, end: int, /) -> int:
        """Return where a part stands last between two offsets, -1 if nowhere."""
        ...


class Transcript:
    """Text that comes in pieces.

    Attributes:
        size: how many characters have come.
    """

    __slots__ = ("_is_finished", "_n_joined", "_pieces", "_starts", "size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._n_joined = 0
        self._is_finished = False
        self.size = 0

    def add(self, piece: str) -> None:
        """Take the next piece.

        Raises:
            TypeError: if it is not a str.
            ValueError: after `finish`.
        """
        if not isinstance(piece, str):
            raise TypeError(f"a delta must be a str, not {type(piece).__name__}")
        if self._is_finished:
            raise ValueError("the stream is finished")
        if not piece:
            return
        if len(self._pieces) - self._n_joined >= JOINED_PIECES:
            joined = "".join(self._pieces[self._n_joined :])
            del self._pieces[self._n_joined :], self._starts[self._n_joined :]
            self._pieces.append(joined)
            self._starts.append(self.size - len(joined))
            self._n_joined += 1
        self._pieces.append(piece)
        self._starts.append(self.size)
        self.size += len(piece)

    def finish(self) -> str:
        """End the text and return it."""
        self._is_finished = True
        text = str(self)
        if text:
            self._pieces, self._starts = [text], [0]
        return text

    def __str__(self) -> str:
        return "".join(self._pieces)

    def __getitem__(self, span: slice) -> str:
        start, end, _ = span.indices(self.size)
        if start >= end:
            return ""
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, end - 1)
        base = self._starts[first]
        return "".join(self._pieces[first:last])[start - base : end - base]

    def count(self, part: str, start: int, end: int) -> int:
        """Count a part between two offsets."""
        return self[start:end].count(part)

    def rfind(self, part: str, start: int, end: int) -> int:
        """Return where a part stands last between two offsets, -1 if nowhere."""
        found = self[start:end].rfind(part)
        return found if found < 0 else start + found
