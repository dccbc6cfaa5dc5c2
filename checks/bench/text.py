"""What the report is made of: times, the machine, and the place in the file that it replaces."""

from __future__ import annotations

import os
import platform
from pathlib import Path

BEGIN, END = "<!-- bench: models -->", "<!-- bench: end -->"


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
