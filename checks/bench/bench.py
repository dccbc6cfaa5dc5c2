"""Measures this runtime and upstream's in turn, and writes docs/benchmarks.md.

    python bench.py --models DIR --ours PYTHON --upstream PYTHON [--threads 1,2] [--only GLOB] [--write FILE]

DIR holds NAME.pte with NAME.npz (input_0 ...), and optionally _default_external_constant.ptd. The two PYTHONs are
interpreters in which `executorch_runtime` and `executorch` 1.5.1 are installed. Leave out one of them to measure
only the other. Every program gets a process of each runtime; the two take turns, a slice at a time, so that a
noisy machine is noisy for both. Beside NAME_portable.pte, upstream also runs NAME_xnnpack.pte if there is one: what
its delegate makes of the same model. Needs only the standard library.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTERNAL = "_default_external_constant.ptd"
# Upstream on the program that its XNNPACK delegate runs.
DELEGATED = "delegated"
BEGIN, END = "<!-- bench: models -->", "<!-- bench: end -->"


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


class Worker:
    """A process that speaks the protocol of worker.py."""

    def __init__(self, kind: str, python: str, threads: int) -> None:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [python, str(HERE / f"{kind}.py"), str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip
        self.ready = self.reply()

    def reply(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"the worker ended with status {self.process.wait()}"}
        return json.loads(line)

    def ask(self, *words: str) -> dict:
        try:
            self.process.stdin.write("\t".join(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"the worker ended with status {self.process.wait()}"}
        return self.reply()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def load(program: Path) -> list[str]:
    """The command that loads a program's `forward`."""
    external = program.parent / EXTERNAL
    words = ["load", str(program), str(program.with_suffix(".npz")), "forward"]
    if program.stem.startswith("ptd") and external.exists():
        words.append(str(external))
    return words


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


def span(seconds: float) -> str:
    """A time with three significant digits."""
    value, unit = (seconds * 1e3, "ms") if seconds >= 1e-4 else (seconds * 1e6, "µs")
    return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"


def machine() -> str:
    """Processor, cores, kernel."""
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {len(os.sched_getaffinity(0))} logical CPUs, {platform.system()} {platform.release().split('-')[0]}"


def table(rows: list[tuple[str, int, dict[str, Measured]]]) -> list[str]:
    """The rows as a markdown table; ratios are ours to upstream's, so below 1 is better."""
    lines = [
        "| program | threads | ours (median, p10) | upstream (median, p10) | ratio | upstream with XNNPACK | ratio | load: ours, upstream | first call: ours, upstream | peak MiB: ours, upstream |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, threads, results in rows:
        ours, upstream, delegated = (results.get(kind) for kind in ("ours", "upstream", DELEGATED))

        def cell(measured: Measured | None, show) -> str:
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


def imports(rows: list[tuple[str, int, dict[str, Measured]]]) -> list[str]:
    """Median cost of importing each runtime, over all processes that were started."""
    lines = []
    for kind, label in (("ours", "`import executorch_runtime`"), ("upstream", "`import executorch.runtime`")):
        good = [r[kind] for _, _, r in rows if kind in r and not r[kind].error]
        if good:
            seconds = statistics.median(m.import_s for m in good)
            kib = statistics.median(m.import_kib for m in good)
            lines.append(f"{label} and `Runtime.get()`: {span(seconds)}, {kib / 1024:.0f} MiB (median of {len(good)} processes).  ")
    return lines


def write(path: Path, text: str) -> None:
    """Replaces the part of the file between the markers, or adds it at the end."""
    old = path.read_text() if path.exists() else "# Benchmarks\n\n"
    block = f"{BEGIN}\n{text}\n{END}\n"
    if BEGIN in old and END in old:
        before, _, rest = old.partition(BEGIN)
        after = rest.partition(END)[2].lstrip("\n")
        path.write_text(before + block + after)
    else:
        path.write_text(old.rstrip("\n") + "\n\n" + block)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--ours", help="python with executorch_runtime")
    parser.add_argument("--upstream", help="python with executorch 1.5.1")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="*")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each runtime on each program")
    parser.add_argument("--slices", type=int, default=6, help="how often the runtimes take turns")
    parser.add_argument("--write", type=Path, help="markdown file whose bench section to replace")
    parser.add_argument("--json", type=Path, help="file for the raw numbers")
    options = parser.parse_args()
    pythons = {kind: python for kind in ("ours", "upstream") if (python := getattr(options, kind))}
    if not pythons:
        parser.error("give --ours, --upstream or both: an interpreter with that runtime installed")
    programs = [p for p in sorted(options.models.glob("*.pte")) if fnmatch.fnmatch(p.stem, options.only)]
    if not programs:
        parser.error(f"no program in {options.models} matches {options.only!r}")

    rows = []
    for program in programs:
        for threads in map(int, options.threads.split(",")):
            results = measure(pythons, program, threads, options.seconds, options.slices)
            rows.append((program.stem, threads, results))
            said = ", ".join(f"{k} {m.error or span(m.median())}" for k, m in results.items())
            print(f"{program.stem} ({threads} threads): {said}", file=sys.stderr, flush=True)
    command = f"cargo xtask bench --models {options.models} --threads {options.threads} --seconds {options.seconds:g}"
    text = "\n".join(
        [
            f"Measured {datetime.date.today().isoformat()} on {machine()}, with `{command}`; upstream is executorch 1.5.1 from PyPI.",
            "Each call goes through Python. Both runtimes take turns in one run. Ratio: ours to upstream's, below 1 is faster.",
            "",
            *imports(rows),
            "",
            *table(rows),
        ]
    )
    print(text)
    if options.write:
        write(options.write, text)
    if options.json:
        raw = [[name, threads, {k: vars(m) for k, m in results.items()}] for name, threads, results in rows]
        options.json.write_text(json.dumps(raw))
    return 1 if any(m.error for _, _, results in rows for k, m in results.items() if k == "ours") else 0


if __name__ == "__main__":
    sys.exit(main())
