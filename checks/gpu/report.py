"""Prints the table for docs/cuda.md, and fails if a result is wrong: python report.py FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def cell(entry: dict) -> str:
    if "error" in entry:
        return "failed: " + entry["error"]
    return f"{entry['ms']:.3f} ms" + ("" if entry["right"] else f", WRONG by {entry['gap']:.2g}")


def main() -> int:
    out = Path(sys.argv[1])
    results = {name: json.loads((out / f"{name}.json").read_text()) for name in ("ours", "upstream") if (out / f"{name}.json").exists()}
    columns = [(who, how) for who in results for how in next(iter(results[who].values()))]
    print("| program | eager | AOTInductor in PyTorch | " + " | ".join(f"{who}, {how}" for who, how in columns) + " |")
    print("|" + "---|" * (3 + len(columns)))
    for about in sorted((out / "programs").glob("*.json")):
        times = json.loads(about.read_text())["ms"]
        cells = [cell(results[who][about.stem][how]) for who, how in columns]
        print(f"| {about.stem} | {times['eager']:.3f} ms | {times['aotinductor']:.3f} ms | " + " | ".join(cells) + " |")
    wrong = [name for name, entry in results["ours"].items() if not all(b.get("right") for b in entry.values())]
    print("all results of ours are right" if not wrong else f"wrong or failed: {' '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
