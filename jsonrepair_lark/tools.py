"""The tools that a caller offers to a model, in the shapes of the common APIs."""

from collections.abc import Iterable, Mapping
from typing import Any

Tools = Mapping[str, Any] | Iterable[Any] | None


def schemas_of(tools: Tools) -> dict[str, Any] | None:
    """Return the schema of each tool's arguments by the tool's name; None for no tools.

    Args:
        tools: a mapping of name to schema, or a list of tools as OpenAI (with or without the
            `function` wrapper, `parameters`) or Anthropic (`input_schema`) write them; mappings
            or objects with such attributes.

    Raises:
        TypeError: for a tool without a name.
    """
    if tools is None:
        return None
    if isinstance(tools, Mapping):
        return dict(tools)
    schemas: dict[str, Any] = {}
    for tool in tools:
        described = field(tool, "function") or tool
        name = field(described, "name")
        if not isinstance(name, str):
            raise TypeError(f"a tool must have a name: {tool!r}")
        schema = field(described, "parameters") or field(described, "input_schema")
        schemas[name] = schema if isinstance(schema, Mapping) else {}
    return schemas


def schema_of_argument(schema: Any, name: str) -> Any:
    """Return the schema of one argument, also where only an alternative of the schema has it."""
    if not isinstance(schema, Mapping):
        return {}
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and name in properties:
        return properties[name]
    found = [
        part
        for keyword in ("allOf", "anyOf", "oneOf")
        for branch in schema.get(keyword) or ()
        if (part := schema_of_argument(branch, name))
    ]
    if len(found) > 1:
        return {"anyOf": found}
    return found[0] if found else {}


def field(source: Any, name: str) -> Any:
    """Return a member of a mapping or an object, None where it has none."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
