"""Finds the grammars: the folder is the registry.

Grammars lie in `grammars/` at the top of a checkout and inside the package once it is installed.
Other distributions add folders through the entry point group `jsonrepair_lark.grammars`, whose
values name packages that hold `.lark` files.
"""

from functools import cache
from typing import TYPE_CHECKING, Final

from jsonrepair_lark.errors import GrammarNotFoundError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

SUFFIX: Final = ".lark"
TABLES_SUFFIX: Final = ".tables.json"
ENTRY_POINTS: Final = "jsonrepair_lark.grammars"


@cache
def bundled_folder() -> "Traversable":
    """Return the folder of the grammars that this library ships.

    Raises:
        GrammarNotFoundError: if neither the package nor the checkout around it holds them.
    """
    from importlib.resources import files
    from pathlib import Path

    built = files("jsonrepair_lark") / "grammars"
    checkout = Path(__file__).resolve().parent.parent / "grammars"
    # The name of a file of ours is checked: a folder `grammars` beside the package may be
    # another project's.
    for candidate in (built, checkout):
        if (candidate / "json.lark").is_file():
            return candidate
    raise GrammarNotFoundError(f"No bundled grammars at {built} or {checkout}")


@cache
def _plugin_folders() -> tuple["Traversable", ...]:
    from importlib.metadata import entry_points
    from importlib.resources import files

    return tuple(files(point.value) for point in entry_points(group=ENTRY_POINTS))


def names() -> tuple[str, ...]:
    """Return the names of all grammars, shipped and plugged in, in alphabetical order."""
    folders = (bundled_folder(), *_plugin_folders())
    return tuple(
        sorted(
            entry.name.removesuffix(SUFFIX)
            for folder in folders
            for entry in folder.iterdir()
            if entry.name.endswith(SUFFIX)
        )
    )


def read(name: str) -> str:
    """Return the text of the grammar `name`.

    Raises:
        GrammarNotFoundError: if there is no such grammar, or more than one.
    """
    shipped = bundled_folder() / (name + SUFFIX)
    if shipped.is_file():
        found = [shipped]
    else:
        found = [
            folder / (name + SUFFIX)
            for folder in _plugin_folders()
            if (folder / (name + SUFFIX)).is_file()
        ]
    if len(found) == 1:
        return found[0].read_text("utf-8")
    if found:
        places = ", ".join(map(str, found))
        raise GrammarNotFoundError(f"Several grammars named {name!r}: {places}")
    raise GrammarNotFoundError(f"No grammar named {name!r}; known: {', '.join(names())}")


def read_tables(name: str) -> bytes | None:
    """Return the compiled tables that a built wheel ships for the grammar `name`, or None.

    A checkout has none, so that an edited grammar is always the one that runs.
    """
    import pkgutil

    try:
        # Works in a zip too, and costs a fraction of what importing `importlib.resources` does.
        return pkgutil.get_data("jsonrepair_lark", f"grammars/{name}{TABLES_SUFFIX}")
    except OSError:
        return None
