"""Paths into a JSON value, such as `$.edits[1].new`."""

import json
import re
from typing import Final

Steps = tuple[str | int, ...]
"""The keys and indexes that lead to a part of a value."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


def step_text(step: str | int) -> str:
    """Return a step as a path shows it: `.new`, `[1]`, `["a key"]`."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _IDENTIFIER(step) else f"[{json.dumps(step, ensure_ascii=False)}]"


def path_text(steps: Steps) -> str:
    """Return the path that the steps make up, from the root `$`."""
    return "$" + "".join(map(step_text, steps))
