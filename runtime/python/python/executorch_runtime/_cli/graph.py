"""What backends say of delegates' payloads, as text. The form of a description: `et_backend_t::describe`."""

from __future__ import annotations

from executorch_runtime._cli.text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def lines(delegate: dict[str, Any], nodes: bool) -> list[str]:
    """A delegate's graph: how many nodes of each kind run where, or every node."""
    if delegate["graph_error"]:
        return [f"cannot be described: {delegate['graph_error']}"]
    graph = delegate["graph"]
    if graph is None:
        return ["the backend does not describe its payloads"] if nodes and delegate["registered"] else []
    try:
        return list(_all(graph) if nodes else _summary(graph))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # It comes from somebody else's library.
        return [f"cannot be described: the backend's description has another form: {type(error).__name__}: {error}"]


def _head(graph: dict[str, Any]) -> str:
    name = f"{graph['format']}, " if graph.get("format") else ""
    return f"{name}{counted(len(graph['nodes']), 'node')}"


def _summary(graph: dict[str, Any]) -> Iterator[str]:
    yield _head(graph)
    executors: dict[str, dict[str, int]] = {}
    for node in graph["nodes"]:
        kinds = executors.setdefault(node.get("executor", ""), {})
        kinds[node["name"]] = kinds.get(node["name"], 0) + 1
    width = max((len(executor) for executor in executors), default=0)
    for executor, kinds in executors.items():
        ordered = sorted(kinds.items(), key=lambda item: -item[1])
        listed = ", ".join(name if count == 1 else f"{name} x{count}" for name, count in ordered)
        yield f"{executor:{width}}  {listed}" if executor else listed
    yield from graph.get("notes", [])


def _all(graph: dict[str, Any]) -> Iterator[str]:
    yield _head(graph)
    values = {value["id"]: value for value in graph.get("values", [])}
    names = max((len(node["name"]) for node in graph["nodes"]), default=0)
    executors = max((len(node.get("executor", "")) for node in graph["nodes"]), default=0)
    for number, node in enumerate(graph["nodes"]):
        given = ", ".join(_name(values, identity) for identity in node.get("inputs", []))
        made = ", ".join(_typed(values, identity) for identity in node.get("outputs", []))
        detail = f"  ({node['detail']})" if node.get("detail") else ""
        yield f"{number:4} {node['name']:{names}} {node.get('executor', ''):{executors}}  {given} -> {made}{detail}"
    yield from graph.get("notes", [])


def _name(values: dict[int, dict[str, Any]], identity: int) -> str:
    return str(values.get(identity, {}).get("name") or f"%{identity}")


def _typed(values: dict[int, dict[str, Any]], identity: int) -> str:
    value = values.get(identity, {})
    shape = f" [{', '.join(str(size) for size in value['shape'])}]" if "shape" in value else ""
    dtype = f" {value['dtype']}" if value.get("dtype") else ""
    return f"{_name(values, identity)}{dtype}{shape}"
