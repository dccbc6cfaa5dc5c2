"""Measures this runtime and upstream's in turn, and writes docs/benchmarks.md.

    python bench.py --models DIR --ours PYTHON --upstream PYTHON [--threads 1,2] [--only GLOB] [--write FILE]

DIR holds NAME.pte with NAME.npz (input_0 ...), and optionally _default_external_constant.ptd. The two PYTHONs are
interpreters in which `executorch_runtime` and `executorch` 1.5.1 are installed. Leave out one of them to measure
only the other. Three things are measured:

- latency of every program, by processes of both runtimes that take turns, a slice at a time, so that a noisy machine is
  noisy for both (latency.py). Beside NAME_portable.pte, upstream also runs NAME_xnnpack.pte if there is one: what
  its delegate makes of the same model;
- load and first call of every NAME_xnnpack.pte in fresh processes (starts.py);
- calls a second of every NAME_xnnpack.pte with several modules at once (together.py).

Needs only the standard library.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import sys
from pathlib import Path
from typing import Any

import latency
import starts
import together
from text import machine, span, write

# The kinds of results that are this runtime's.
OURS = {"ours", starts.COLD, starts.WARM}


def arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--ours", help="python with executorch_runtime")
    parser.add_argument("--upstream", help="python with executorch 1.5.1")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="*", help="glob over the names of programs")
    parser.add_argument("--parts", default="latency,starts,together", help="which of the three to measure")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each runtime on each program")
    parser.add_argument("--slices", type=int, default=6, help="how often the runtimes take turns")
    parser.add_argument("--starts", type=int, default=5, help="fresh processes of each kind for each program")
    parser.add_argument("--modules", default="1,2,4", help="how many modules run at once")
    parser.add_argument("--write", type=Path, help="markdown file whose bench section to replace")
    parser.add_argument("--json", type=Path, help="file for the raw numbers")
    return parser, parser.parse_args()


def tell(name: str, threads: int, results: dict[str, Any], show: Any) -> None:
    """Progress, on stderr."""
    said = ", ".join(f"{kind} {result.error or show(result)}" for kind, result in results.items())
    print(f"{name} ({threads} threads): {said}", file=sys.stderr, flush=True)


def main() -> int:
    parser, options = arguments()
    pythons = {kind: python for kind in ("ours", "upstream") if (python := getattr(options, kind))}
    if not pythons:
        parser.error("give --ours, --upstream or both: an interpreter with that runtime installed")
    programs = [p for p in sorted(options.models.glob("*.pte")) if fnmatch.fnmatch(p.stem, options.only)]
    if not programs:
        parser.error(f"no program in {options.models} matches {options.only!r}")
    delegated = [p for p in programs if p.stem.endswith("_xnnpack")]
    threads = list(map(int, options.threads.split(",")))
    modules = list(map(int, options.modules.split(",")))
    parts = options.parts.split(",")
    rows: dict[str, list[Any]] = {"latency": [], "starts": [], "together": []}
    if unknown := set(parts) - set(rows):
        parser.error(f"--parts takes {', '.join(rows)}, not {', '.join(sorted(unknown))}")

    if "latency" in parts:
        for program in programs:
            for count in threads:
                found = latency.measure(pythons, program, count, options.seconds, options.slices)
                rows["latency"].append((program.stem, count, found))
                tell(program.stem, count, found, lambda m: span(m.median()))
    if "starts" in parts:
        for program in delegated:
            found = starts.measure(pythons, program, max(threads), options.starts)
            rows["starts"].append((program.stem, max(threads), found))
            tell(program.stem, max(threads), found, lambda m: span(m.total()))
    if "together" in parts:
        for program in delegated:
            found = together.measure(pythons, program, max(threads), modules, options.seconds, options.slices)
            rows["together"].append((program.stem, max(threads), found))
            tell(program.stem, max(threads), found, lambda m: ", ".join(f"{n}: {m.median(n):.3g}/s" for n in modules))

    text = "\n".join(report(options, rows, modules))
    print(text)
    if options.write:
        write(options.write, text)
    if options.json:
        raw = {part: [[n, t, {k: vars(m) for k, m in r.items()}] for n, t, r in found] for part, found in rows.items()}
        options.json.write_text(json.dumps(raw))
    every = [result for found in rows.values() for _, _, results in found for kind, result in results.items() if kind in OURS]
    return 1 if any(result.error for result in every) else 0


def report(options: argparse.Namespace, rows: dict[str, list[Any]], modules: list[int]) -> list[str]:
    """The tables of what was measured, and how."""
    command = f'cargo xtask bench --models {options.models} --threads {options.threads} --seconds {options.seconds:g} --only "{options.only}"'
    lines = [
        f"Measured {datetime.date.today().isoformat()} on {machine()}, with `{command}`; upstream is executorch 1.5.1 from PyPI.",
        "Each call goes through Python. Both runtimes take turns in one run. Ratio: ours to upstream's, below 1 is faster.",
        "",
    ]
    if rows["latency"]:
        lines += [*latency.imports(rows["latency"]), "", *latency.table(rows["latency"])]
    if rows["starts"]:
        about = f"Load and first call in fresh processes, the file in the page cache, without the import; medians of {options.starts}."
        lines += ["", f"{about} The cache folder is `{starts.CACHE}`'s.", "", *starts.table(rows["starts"])]
    if rows["together"]:
        about = "Calls a second of one process in which as many threads each run a module of their own, all on one pool."
        note = "Upstream's Python module holds the interpreter's lock during a call, beside its own lock over XNNPACK."
        lines += ["", f"{about} {note} Above 1 is faster.", "", *together.table(rows["together"], modules)]
    return lines


if __name__ == "__main__":
    sys.exit(main())
