"""What both bench workers share: the protocol, and reading test inputs. Standard library only.

A worker reads one command a line on stdin and answers each with one line of JSON on stdout:

    load PROGRAM INPUTS.npz METHOD [DATA.ptd]   {"load_s", "first_s"}: load_method, and the first inference
    run N                                       {"seconds": [...]}: N calls, each timed
    together K SECONDS                          {"calls", "seconds"}: of K modules, each in a thread of its own
    memory                                      {"peak_kib", "now_kib"}: VmHWM and VmRSS
    quit

The first line, without a command, is {"ready", "import_s", "import_kib"}. A failed command answers {"error": "..."}.
"""

from __future__ import annotations

import ast
import json
import sys
import threading
import time
import zipfile
from typing import Any, Callable


def memory() -> dict[str, int]:
    """Peak and present resident size of this process in KiB."""
    sizes = {}
    with open("/proc/self/status") as status:
        for line in status:
            key, _, rest = line.partition(":")
            if key in ("VmHWM", "VmRSS"):
                sizes[key] = int(rest.split()[0])
    return {"peak_kib": sizes["VmHWM"], "now_kib": sizes["VmRSS"]}


def arrays(path: str) -> list[tuple[str, tuple[int, ...], bytes]]:
    """The arrays input_0, input_1, ... of an npz as (numpy type, shape, little-endian bytes)."""
    found = []
    with zipfile.ZipFile(path) as archive:
        names = sorted((n for n in archive.namelist() if n.startswith("input_")), key=lambda n: int(n[6:-4]))
        for name in names:
            content = archive.read(name)
            length = int.from_bytes(content[8:10], "little")
            header = ast.literal_eval(content[10 : 10 + length].decode("latin-1"))
            if header["fortran_order"] and len(header["shape"]) > 1:
                raise ValueError(f"{path}: {name} is in column-major order, which this reader does not know")
            found.append((header["descr"], header["shape"], content[10 + length :]))
    return found


def together(load: Callable[[], Callable[[Any], Any]], inputs: Any, count: int, budget_s: float) -> dict[str, float]:
    """Loads the program `count` times, warms each up, and counts what threads that start at once can call."""
    modules = [load() for _ in range(count)]
    for infer in modules:
        infer(inputs)
    calls, failures = [0] * count, []
    gate = threading.Barrier(count + 1)

    def run(index: int) -> None:
        infer = modules[index]
        gate.wait()
        until = time.perf_counter() + budget_s
        try:
            while time.perf_counter() < until:
                infer(inputs)
                calls[index] += 1
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    gate.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return {"calls": sum(calls), "seconds": time.perf_counter() - started}


def serve(ready: dict[str, Any], given: Callable[..., Any], load: Callable[..., Callable[[Any], Any]]) -> None:
    """Answers commands until `quit`. `given` makes an input of a type, a shape and bytes; `load` takes a program, a method
    and perhaps external data, and returns a function that does one inference on a list of inputs."""
    answer = sys.stdout
    print(json.dumps({"ready": True, **ready}), file=answer, flush=True)
    infer: Callable[[Any], Any] | None = None
    inputs: list[Any] = []
    loaded_from: list[str] = []
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            if command == "quit":
                return
            if command == "load":
                program, archive, *rest = words
                inputs = [given(*array) for array in arrays(archive)]
                loaded_from = [program, *rest]
                started = time.perf_counter()
                infer = load(*loaded_from)
                loaded = time.perf_counter()
                infer(inputs)
                reply: dict[str, Any] = {"load_s": loaded - started, "first_s": time.perf_counter() - loaded}
            elif command == "run" and infer is not None:
                seconds = []
                for _ in range(int(words[0])):
                    started = time.perf_counter()
                    infer(inputs)
                    seconds.append(time.perf_counter() - started)
                reply = {"seconds": seconds}
            elif command == "together" and loaded_from:
                reply = together(lambda: load(*loaded_from), inputs, int(words[0]), float(words[1]))
            elif command == "memory":
                reply = memory()
            else:
                reply = {"error": f"unknown command, or nothing loaded yet: {line.strip()!r}"}
        except Exception as error:  # the driver decides what a failure means
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answer, flush=True)
