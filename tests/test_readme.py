"""The examples of the README run, in order, in one namespace, and say what it says they do."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

README: Final = Path(__file__).resolve().parent.parent / "README.md"
BLOCK: Final = re.compile(r"^```python[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)

COMMAND: Final = re.compile(
    r"^\$ printf ('[^'\n]*') \| jsonrepair-lark ([^|\n]*)\n(.*?)(?=^\$ |^```)",
    re.MULTILINE | re.DOTALL,
)


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Each Python block with the line that it starts at."""
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start(1)), found[1]


def run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the blocks of a text, in `folder`, and return how many there are.

    A block with prompts is a doctest; another runs as it is, with its `assert` lines.
    """
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {"__name__": "readme"}
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    report: list[str] = []
    n_blocks = 0
    for line, source in blocks(text):
        n_blocks += 1
        if ">>> " not in source:
            # Line numbers of a traceback are those of the file.
            exec(compile("\n" * line + source, README.name, "exec"), namespace)  # noqa: S102
            continue
        case = parser.get_doctest(source, namespace, README.name, README.name, line)
        runner.run(case, out=report.append, clear_globs=False)
        namespace.update(case.globs)
    assert runner.failures == 0, "".join(report)
    return n_blocks


def test_the_examples_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not README.is_file():
        pytest.skip("there is no README.md here: an sdist's tests, or a checkout without it")
    assert run(README.read_text("utf-8"), tmp_path, monkeypatch) > 0, "no ```python block"


def test_an_example_that_is_not_true_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = "```python\nvalue = 1\n```\n\n```python\n>>> value\n1\n>>> value = 2\n```\n"
    assert run(good + "```python\nassert value == 2\n```\n", tmp_path, monkeypatch) == 3
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run(good + "```python\n>>> value\n3\n```\n", tmp_path, monkeypatch)
    with pytest.raises(AssertionError, match="NameError"):
        run("```python\n>>> nothing\n```\n", tmp_path, monkeypatch)
    with pytest.raises(ZeroDivisionError):
        run("```python\n1 / 0\n```\n", tmp_path, monkeypatch)


def test_the_commands_of_the_readme_print_what_it_shows(tmp_path: Path) -> None:
    if not README.is_file():
        pytest.skip("there is no README.md here: an sdist's tests, or a checkout without it")
    for text, arguments, shown in COMMAND.findall(README.read_text("utf-8")):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "jsonrepair_lark", *shlex.split(arguments)],
            input=shlex.split(text)[0].encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
        )
        assert done.returncode in (0, 1)
        # What is shown may be the beginning.
        assert done.stdout.decode()[: len(shown)] == shown, arguments
