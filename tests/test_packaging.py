"""What is installed: files, metadata, what an import loads, and which way imports point."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import requires
from importlib.resources import files
from pathlib import Path

import pytest

import jsonrepair_lark

PACKAGE = Path(jsonrepair_lark.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
MODEL_NAMES = re.compile(
    "hermes|qwen|lfm2|kimi|mistral|deepseek|minimax|glm4|llama|gemma|longcat", re.IGNORECASE
)


def loaded_after(statement: str) -> set[str]:
    """Top-level names of the modules that a fresh process has loaded after ``statement``.

    -P, because the folder of the process would else go before what is installed.
    """
    code = f"{statement}\nimport sys, json; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_valid_json_loads_neither_lark_nor_regex() -> None:
    loaded = loaded_after(
        "import jsonrepair_lark\n"
        """assert jsonrepair_lark.repair('{"a": 1}').status == 'valid'"""
    )
    assert "jsonrepair_lark" in loaded
    assert not loaded & {"lark", "regex"}


def test_a_repair_does_not_load_lark_where_tables_are_shipped() -> None:
    if not (files("jsonrepair_lark") / "grammars" / "json.tables.json").is_file():
        pytest.skip("not installed from a wheel: a checkout has no parse tables")
    loaded = loaded_after(
        "import jsonrepair_lark\n"
        """assert jsonrepair_lark.repair('{"a": [1, 2').text == '{"a": [1, 2]}'"""
    )
    assert "lark" not in loaded


def test_public_names_exist_once() -> None:
    names = jsonrepair_lark.__all__
    assert [name for name in names if not hasattr(jsonrepair_lark, name)] == []
    assert len(set(names)) == len(names)


def test_the_type_marker_is_shipped() -> None:
    assert (files("jsonrepair_lark") / "py.typed").is_file()


def test_lark_and_regex_are_the_only_requirements() -> None:
    lines = [line for line in requires("jsonrepair-lark") or [] if "extra ==" not in line]
    names = {match[0] for line in lines if (match := re.match(r"[\w.-]+", line))}
    assert names == {"lark", "regex"}


def module_name(path: Path) -> str:
    """Name of a module below the package, ``__init__`` for the package itself."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that run, or are read by a type checker, when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from outside_functions(child)


def imported_names(node: ast.AST, module: str) -> Iterator[str]:
    """Dotted names of what an import statement of ``module`` asks of its own package."""
    root = PACKAGE.name
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        above = [root, *module.split(".")][: -node.level] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        names = [f"{base}.{alias.name}" for alias in node.names]
    else:
        names = []
    yield from (name for name in names if name.split(".")[0] == root)


def imports() -> dict[str, set[str]]:
    """For each module of the package, those it imports outside of functions."""
    modules = {module_name(path) for path in SOURCES}
    graph: dict[str, set[str]] = {}
    for path in SOURCES:
        module = module_name(path)
        graph[module] = set()
        for node in outside_functions(ast.parse(path.read_text(encoding="utf-8"))):
            for name in imported_names(node, module):
                # What is not a module is a name inside one: `from .edits import apply`.
                tail = name.split(".")[1:]
                while tail and ".".join(tail) not in modules:
                    tail.pop()
                graph[module].add(".".join(tail) or "__init__")
    return graph


def test_imports_run_one_way() -> None:
    graph = imports()
    assert graph["__init__"], "the package imports nothing of its own: is the test still right?"
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other: " + " <- ".join(error.args[1]))


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_no_model_is_named_in_python(path: Path) -> None:
    # A model's format is a grammar; code that knows its name would be a second home for it.
    assert MODEL_NAMES.findall(path.read_text(encoding="utf-8")) == []
