"""`executorch-runtime inspect`."""

from __future__ import annotations

import json
import os
import time

from executorch_runtime import ExecuTorchError, Program, Runtime
from executorch_runtime import _executorch_runtime as _native
from executorch_runtime._cli import graph
from executorch_runtime._cli.text import counted, seconds, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

# Keys of named data that are printed.
SHOWN_KEYS = 3
_RELEASE = "this release lacks them; upgrade executorch-runtime, or load a library that registers them with --load"
# Operators of these namespaces are upstream's own; others come from libraries of their users.
_KNOWN = {
    "aten": _RELEASE,
    "dim_order_ops": _RELEASE,
    "quantized_decomposed": "install a release that ships libexecutorch_kernels_quantized",
    "et_copy": "the operator copies between devices; install the wheel of the row for that device",
}
_CUSTOM = "load the library that registers it: --load LIBRARY, or executorch_runtime.load_library in Python"


def explain(info: dict[str, Any], data_given: bool) -> list[dict[str, str]]:
    """Why methods cannot run here, and what to do about each reason."""
    found = []
    for method in info["methods"]:
        name = method["name"]
        absent: dict[str, list[str]] = {}
        for operator in method["operators"]:
            if not operator["available"]:
                fix = _KNOWN.get(operator["name"].partition("::")[0], _CUSTOM)
                absent.setdefault(fix, []).append(operator["name"])
        for fix, names in absent.items():
            what = f"{counted(len(names), 'operator')} not registered: {', '.join(names)}"
            found.append({"method": name, "what": what, "fix": fix})
        backends: dict[str, dict[str, Any]] = {}
        for delegate in method["delegates"]:
            backends.setdefault(delegate["backend"], delegate)
        for backend, delegate in backends.items():
            if not delegate["registered"]:
                fix = "install the wheel that has it, load its library with --load, or export without its partitioner"
                found.append({"method": name, "what": f"backend {backend} is not registered", "fix": fix})
            elif not delegate["available"]:
                fix = "its library is here but its hardware or driver is not; run `executorch-runtime env`"
                found.append({"method": name, "what": f"backend {backend} cannot run on this machine", "fix": fix})
        missing = method["external_data_missing"]
        if missing:
            what = f"{counted(len(missing), 'tensor')} in external data, such as {missing[0]!r}"
            fix = (
                "the .ptd file does not belong to this program: export both again together"
                if data_given
                else "give the .ptd file that was exported with the program: --ptd FILE"
            )
            found.append({"method": name, "what": what, "fix": fix})
        devices = {buffer["device"] for buffer in method["planned_buffers"] if not buffer["available"]}
        for device in sorted(devices):
            fix = "install the wheel of the row for that device and run where it is, or export for the CPU"
            found.append({"method": name, "what": f"memory is planned on {device}", "fix": fix})
    return found


def load_all(
    program: Program, info: dict[str, Any], backend_options: dict[str, dict[str, bool | int | str]]
) -> list[dict[str, str]]:
    """Loads every method; what fails although nothing is missing."""
    found = []
    for method in info["methods"]:
        started = time.perf_counter()
        try:
            program.load_method(method["name"], backend_options=backend_options)
        except ExecuTorchError as error:
            fix = "see the message; if the file is sound, please report it"
            found.append({"method": method["name"], "what": str(error), "fix": fix})
        method["load_s"] = time.perf_counter() - started
    return found


def command(options: argparse.Namespace) -> int:
    """Prints what is in a program; status 0 although it cannot run here, 1 if the file cannot be read."""
    program = Runtime.get().load_program(options.model, data_path=options.ptd)
    told = options.backend_options
    found = _native.inspect(program, backend_options=told)
    info = {"file": options.model, "file_bytes": os.path.getsize(options.model), **found}
    info["problems"] = explain(info, options.ptd is not None) or load_all(program, info, told)
    info["can_run_here"] = not info["problems"]
    if options.json:
        print(json.dumps(info, indent=1))
    else:
        print("\n".join(_lines(info, options.nodes)))
    return 0


def _value(value: dict[str, Any]) -> str:
    if value["kind"] != "tensor":
        return str(value["kind"])
    sizes = ", ".join(str(n) for n in value["shape"])
    parts = [f"{value['dtype']} [{sizes}]"]
    if value["is_dynamic"]:
        parts.append("at most")
    if value["dim_order"] != sorted(value["dim_order"]):
        parts.append(f"dim order {value['dim_order']}")
    if value["device"] != "cpu":
        parts.append(value["device"])
    if not value["is_memory_planned"]:
        parts.append("memory of the caller")
    if value["name"]:
        parts.append(value["name"])
    return ", ".join(parts)


def _lines(info: dict[str, Any], nodes: bool) -> Iterator[str]:
    constants, mutable = info["constants"], info["mutable_initial_values"]
    yield f"{info['file']}: {size(info['file_bytes'])}, {counted(len(info['methods']), 'method')}"
    yield f"  structure   {size(info['structure_bytes'])}"
    yield f"  constants   {counted(constants['count'], 'tensor')}, {size(constants['bytes'])}"
    if mutable["count"]:
        yield f"  state       {counted(mutable['count'], 'initial value')}, {size(mutable['bytes'])}"
    total = sum(segment["bytes"] for segment in info["segments"])
    yield f"  segments    {len(info['segments'])}, {size(total)}"
    if info["named_data"]:
        # A delegate's keys are often digests, hundreds of them; `--json` has them all.
        keys = info["named_data"]
        rest = f" and {len(keys) - SHOWN_KEYS} more" if len(keys) > SHOWN_KEYS else ""
        yield f"  named data  {', '.join(keys[:SHOWN_KEYS])}{rest}"
    for method in info["methods"]:
        yield ""
        yield from _method(method, nodes)
    yield ""
    if info["can_run_here"]:
        yield "can run here: yes"
        return
    yield "can run here: no"
    for problem in info["problems"]:
        yield f"  {problem['method']}: {problem['what']}"
        yield f"    -> {problem['fix']}"


def _method(method: dict[str, Any], nodes: bool) -> Iterator[str]:
    loaded = f", loads in {seconds(method['load_s'])}" if "load_s" in method else ""
    yield f"method {method['name']} ({counted(method['instructions'], 'instruction')}{loaded})"
    for what in ("inputs", "outputs", "attributes"):
        for index, value in enumerate(method[what]):
            yield f"  {what[:-1]} {index}: {_value(value)}"
    buffers = method["planned_buffers"]
    where = {buffer["device"] for buffer in buffers}
    on = f" on {', '.join(sorted(where))}" if where - {"cpu"} else ""
    total = sum(buffer["bytes"] for buffer in buffers)
    yield f"  memory: {size(total)} planned in {counted(len(buffers), 'buffer')}{on}"
    if method["external_data"]:
        state = "missing" if method["external_data_missing"] else "found"
        yield f"  external data: {counted(len(method['external_data']), 'tensor')}, {state}"
    if method["delegates"]:
        yield f"  {counted(len(method['delegates']), 'delegate')}:"
    for delegate in method["delegates"]:
        state = "" if delegate["available"] else "  CANNOT RUN HERE" if delegate["registered"] else "  NOT REGISTERED"
        calls = counted(delegate["calls"], "call")
        specs = f", {counted(delegate['compile_specs'], 'compile spec')}" if delegate["compile_specs"] else ""
        yield f"    {delegate['backend']:24} {size(delegate['payload_bytes']):>10}, {calls}{specs}{state}"
        yield from (f"      {line}" for line in graph.lines(delegate, nodes))
    if method["operators"]:
        calls = sum(operator["calls"] for operator in method["operators"])
        yield f"  {counted(len(method['operators']), 'operator')}, {counted(calls, 'call')}:"
    for operator in method["operators"]:
        state = "" if operator["available"] else "  MISSING"
        yield f"    {operator['name']:48} {operator['calls']:5}{state}"
