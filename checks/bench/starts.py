"""How long a fresh process takes to load a program and run it once; also with XNNPACK's packed weights kept in a folder.

The program's file is in the page cache. Importing the runtime is not counted.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from process import Worker, load
from text import span

# Names the folder; nothing is kept without it.
CACHE = "EXECUTORCH_XNNPACK_CACHE_DIR"
OURS, COLD, WARM, UPSTREAM = "ours", "cold", "warm", "upstream"


@dataclass
class Starts:
    """Seconds of `load_method` and of the first call, process by process."""

    load_s: list[float] = field(default_factory=list)
    first_s: list[float] = field(default_factory=list)
    error: str | None = None

    def total(self) -> float:
        """The median of their sum."""
        return statistics.median(a + b for a, b in zip(self.load_s, self.first_s))

    def add(self, kind: str, python: str, program: Path, threads: int, **environment: str) -> None:
        """Starts one process more."""
        if self.error:
            return
        worker = Worker(kind, python, threads, **environment)
        try:
            answer = worker.ready if "error" in worker.ready else worker.ask(*load(program))
        finally:
            worker.close()
        if "error" in answer:
            self.error = answer["error"]
        else:
            self.load_s.append(answer["load_s"])
            self.first_s.append(answer["first_s"])


def measure(pythons: dict[str, str], program: Path, threads: int, times: int) -> dict[str, Starts]:
    """Starts processes in turn: ours without a cache folder, with an empty one, with that one again, then upstream's."""
    program.read_bytes()
    results: dict[str, Starts] = {}
    for _ in range(times):
        if "ours" in pythons:
            with tempfile.TemporaryDirectory() as folder:
                for state, environment in ((OURS, {}), (COLD, {CACHE: folder}), (WARM, {CACHE: folder})):
                    results.setdefault(state, Starts()).add("ours", pythons["ours"], program, threads, **environment)
        if "upstream" in pythons:
            results.setdefault(UPSTREAM, Starts()).add("upstream", pythons["upstream"], program, threads)
    return results


def table(rows: list[tuple[str, int, dict[str, Starts]]]) -> list[str]:
    """Load and first call together; ratios are to upstream's, so below 1 is better."""
    lines = [
        "| program | threads | upstream | ours | ratio | ours, empty cache folder | ratio | ours, filled cache folder | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, threads, results in rows:
        cells = [cell(results.get(UPSTREAM))]
        for state in (OURS, COLD, WARM):
            cells += [cell(results.get(state)), ratio(results.get(state), results.get(UPSTREAM))]
        lines.append(f"| {name} | {threads} | {' | '.join(cells)} |")
    return lines


def cell(starts: Starts | None) -> str:
    """The total, or why there is none."""
    if starts is None:
        return "-"
    return "failed" if starts.error else span(starts.total())


def ratio(ours: Starts | None, upstream: Starts | None) -> str:
    """Ours to upstream's, where both ran."""
    if ours is None or upstream is None or ours.error or upstream.error:
        return "-"
    return f"{ours.total() / upstream.total():.3g}"
