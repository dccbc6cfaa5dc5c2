"""How long a call takes once a program is loaded; both runtimes take turns."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from process import Worker, load
from text import span

# Upstream on the program that its XNNPACK delegate runs.
DELEGATED = "delegated"
Row = tuple[str, int, dict[str, "Measured"]]


@dataclass
class Measured:
    """One program on one runtime."""

    load_s: float = 0.0
    first_s: float = 0.0
    peak_kib: int = 0
    import_s: float = 0.0
    import_kib: int = 0
    seconds: list[float] = field(default_factory=list)
    error: str | None = None

    def median(self) -> float:
        return statistics.median(self.seconds)

    def p10(self) -> float:
        return sorted(self.seconds)[len(self.seconds) // 10]


def measure(pythons: dict[str, str], program: Path, threads: int, budget_s: float, slices: int) -> dict[str, Measured]:
    """Alternates the runtimes over one program until each has had its time."""
    workers = {kind: Worker(kind, python, threads) for kind, python in pythons.items()}
    programs = dict.fromkeys(workers, program)
    delegated = program.with_name(program.name.replace("_portable", "_xnnpack"))
    if "upstream" in workers and delegated != program and delegated.exists():
        workers[DELEGATED] = Worker("upstream", pythons["upstream"], threads)
        programs[DELEGATED] = delegated
    results = {kind: Measured() for kind in workers}
    try:
        for kind, worker in workers.items():
            result = results[kind]
            loaded = worker.ready if "error" in worker.ready else worker.ask(*load(programs[kind]))
            if "error" in loaded:
                result.error = loaded["error"]
                continue
            result.import_s, result.import_kib = worker.ready["import_s"], worker.ready["import_kib"]
            result.load_s, result.first_s = loaded["load_s"], loaded["first_s"]
        for _ in range(slices):
            for kind, worker in workers.items():
                result = results[kind]
                if result.error:
                    continue
                guess = result.median() if result.seconds else result.first_s
                calls = max(1, min(20000, int(budget_s / slices / max(guess, 1e-7))))
                answer = worker.ask("run", str(calls))
                if "error" in answer:
                    result.error = answer["error"]
                else:
                    result.seconds += answer["seconds"]
        for kind, worker in workers.items():
            if not results[kind].error:
                results[kind].peak_kib = worker.ask("memory").get("peak_kib", 0)
    finally:
        for worker in workers.values():
            worker.close()
    return results


def table(rows: list[Row]) -> list[str]:
    """The rows as a markdown table; ratios are ours to upstream's, so below 1 is better."""
    lines = [
        "| program | threads | ours (median, p10) | upstream (median, p10) | ratio | upstream with XNNPACK | ratio | load: ours, upstream | first call: ours, upstream | peak MiB: ours, upstream |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, threads, results in rows:
        ours, upstream, delegated = (results.get(kind) for kind in ("ours", "upstream", DELEGATED))

        def cell(measured: Measured | None, show: Callable[[Measured], str]) -> str:
            if measured is None:
                return "-"
            return "failed" if measured.error else show(measured)

        def ratio(other: Measured | None) -> str:
            if ours is None or other is None or ours.error or other.error:
                return "-"
            return f"{ours.median() / other.median():.3g}"

        pairs = [
            f"{cell(ours, show)}, {cell(upstream, show)}"
            for show in (lambda m: span(m.load_s), lambda m: span(m.first_s), lambda m: f"{m.peak_kib / 1024:.0f}")
        ]
        timing = [cell(m, lambda m: f"{span(m.median())}, {span(m.p10())}") for m in (ours, upstream, delegated)]
        cells = [timing[0], timing[1], ratio(upstream), timing[2], ratio(delegated), *pairs]
        lines.append(f"| {name} | {threads} | {' | '.join(cells)} |")
    return lines


def imports(rows: list[Row]) -> list[str]:
    """Median cost of importing each runtime, over all processes that were started."""
    lines = []
    for kind, label in (("ours", "`import executorch_runtime`"), ("upstream", "`import executorch.runtime`")):
        good = [r[kind] for _, _, r in rows if kind in r and not r[kind].error]
        if good:
            seconds = statistics.median(m.import_s for m in good)
            kib = statistics.median(m.import_kib for m in good)
            lines.append(f"{label} and `Runtime.get()`: {span(seconds)}, {kib / 1024:.0f} MiB (median of {len(good)} processes).  ")
    return lines
