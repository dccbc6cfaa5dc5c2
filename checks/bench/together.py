"""How many calls a second one process does with several modules at once, each with a thread of its own."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path

from process import Worker, load


@dataclass
class Throughput:
    """Calls a second of all modules, for each count of modules, turn by turn."""

    rates: dict[int, list[float]] = field(default_factory=dict)
    error: str | None = None

    def median(self, modules: int) -> float:
        return statistics.median(self.rates[modules])


def measure(
    pythons: dict[str, str], program: Path, threads: int, counts: list[int], budget_s: float, slices: int
) -> dict[str, Throughput]:
    """Alternates the runtimes; every count of modules gets its time."""
    workers = {kind: Worker(kind, python, threads) for kind, python in pythons.items()}
    results = {kind: Throughput() for kind in workers}
    try:
        for kind, worker in workers.items():
            loaded = worker.ready if "error" in worker.ready else worker.ask(*load(program))
            results[kind].error = loaded.get("error")
        for _ in range(slices):
            for modules in counts:
                for kind, worker in workers.items():
                    result = results[kind]
                    if result.error:
                        continue
                    answer = worker.ask("together", str(modules), str(budget_s / slices))
                    if "error" in answer:
                        result.error = answer["error"]
                    else:
                        result.rates.setdefault(modules, []).append(answer["calls"] / answer["seconds"])
    finally:
        for worker in workers.values():
            worker.close()
    return results


def table(rows: list[tuple[str, int, dict[str, Throughput]]], counts: list[int]) -> list[str]:
    """Calls a second; ratios are ours to upstream's, so above 1 is better."""
    heads = " | ".join(f"{n} module{'s' * (n > 1)}: ours, upstream | ratio" for n in counts)
    lines = [f"| program | threads | {heads} |", "|---|---|" + "---|---|" * len(counts)]
    for name, threads, results in rows:
        ours, upstream = results.get("ours"), results.get("upstream")
        cells = []
        for count in counts:
            cells.append(f"{cell(ours, count)}, {cell(upstream, count)}")
            good = ours and upstream and not ours.error and not upstream.error
            cells.append(f"{ours.median(count) / upstream.median(count):.3g}" if good else "-")
        lines.append(f"| {name} | {threads} | {' | '.join(cells)} |")
    return lines


def cell(throughput: Throughput | None, modules: int) -> str:
    """The rate, or why there is none."""
    if throughput is None:
        return "-"
    return "failed" if throughput.error else f"{throughput.median(modules):.3g}"
