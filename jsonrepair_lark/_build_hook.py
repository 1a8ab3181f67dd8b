"""Ships the parse tables of the grammars inside the wheel; run by hatchling, not installed.

Building a grammar with Lark takes longer than most repairs, so a wheel carries the result
as `grammars/<name>.tables.json` beside `grammars/<name>.lark`. The tables never lie in the
source tree, where they could go stale: an editable install has none and builds its grammars
at run time. A wheel built from an unpacked sdist makes its tables in the same way.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TablesHook(BuildHookInterface[BuilderConfig]):
    """Adds one file of parse tables for each grammar to a wheel that is not editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the grammars to files outside the tree and name them in ``build_data``.

        Args:
            version: ``"editable"`` for an editable install, which gets no tables.
            build_data: hatchling's description of the wheel; its ``force_include`` is extended.
        """
        if version == "editable":
            return
        # Kept until hatchling has packed the files; goes away with the hook if a build fails.
        self._folder = TemporaryDirectory(prefix="jsonrepair_lark-tables-")
        for name, text in self._compiled().items():
            path = Path(self._folder.name, f"{name}.tables.json")
            path.write_text(text, encoding="utf-8", newline="\n")
            build_data["force_include"][str(path)] = f"jsonrepair_lark/grammars/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files that ``initialize`` made."""
        del build_data, artifact_path
        if version != "editable":
            self._folder.cleanup()

    def _compiled(self) -> dict[str, str]:
        """Call the package being built, leaving neither bytecode nor an entry on the path."""
        before = sys.dont_write_bytecode
        sys.dont_write_bytecode = True
        sys.path.insert(0, self.root)
        try:
            from jsonrepair_lark.tables import compile_all

            return compile_all()
        finally:
            sys.path.remove(self.root)
            sys.dont_write_bytecode = before
