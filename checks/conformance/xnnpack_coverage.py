"""Whether every kind of XNNPACK node, and every way to represent numbers, is in a method of xnnpack/ that a case calls.

    python xnnpack_coverage.py            says what is missing, and then exits with 1
    python xnnpack_coverage.py --table    lists the methods for every kind and datatype as well

Goes by the descriptions (`delegates` in NAME.json), which the tests of the delegate compare with the payloads; so it needs
nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from xnnpack_kinds import KINDS

PROGRAMS = Path(__file__).resolve().parent / "xnnpack"

# The schema has it, but nothing writes it, and the reader refuses it.
NOT_REACHED = {"ScaledDotProductAttention"}

# What weights are multiplied in: floating point, static int8 by tensor and by channel, dynamic int8 with weights of
# 8 bits by channel, of 4 bits by channel, and of 4 bits by groups.
_DYNAMIC = {f"qd8*{weights}->{result}" for weights in ("qc8w", "qc4w", "qb4w") for result in ("f32", "f16")}
DATATYPES = {
    "FullyConnected": {"f32*f32", "f16*f16", "bf16*bf16", "qs8*qs8", "qs8*qc8w", "qd8*qb4w->bf16"} | _DYNAMIC,
    "Conv2d": {"f32*f32", "f16*f32", "qs8*qs8", "qs8*qc8w", "qd8*qc8w->f32"},
    "DepthwiseConv2d": {"f32*f32", "f16*f32", "qs8*qs8", "qs8*qc8w"},
    "ConvTranspose2d": {"f32*f32", "f16*f32", "qs8*qc8w", "qd8*qc8w->f32"},
    "Convert": {"f32->qs8", "qs8->f32", "f32->qd8", "f16->qd8", "bf16->qd8"},
}


def covered() -> dict[str, Counter[str]]:
    """For every kind, how many methods with a case hold it, by datatype."""
    methods: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS.values()}
    for path in sorted(PROGRAMS.glob("*.json")):
        content = json.loads(path.read_text())
        called = {case["method"] for case in content["cases"] if case.get("compare", True)}
        for method, parts in content["delegates"].items():
            if method not in called:
                continue
            for node in {node for part in parts for node in part.split(", ")}:
                kind, datatype = node.split(" ")
                methods[kind][datatype] += 1
    return methods


def missing(methods: dict[str, Counter[str]]) -> list[str]:
    """What no method holds, in words."""
    kinds = [kind for kind, counts in methods.items() if not counts and kind not in NOT_REACHED]
    pairs = [f"{kind} {datatype}" for kind, all_of in DATATYPES.items() for datatype in sorted(all_of - set(methods[kind]))]
    return kinds + [pair for pair in pairs if pair.split(" ")[0] not in kinds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="list the methods for every kind and datatype")
    options = parser.parse_args()
    methods = covered()
    if options.table:
        for kind, counts in methods.items():
            print(f"{kind:26} " + ", ".join(f"{datatype} {count}" for datatype, count in sorted(counts.items())))
    absent = missing(methods)
    reached = sum(1 for counts in methods.values() if counts)
    print(f"{reached} of {len(KINDS)} kinds of XNNPACK nodes have a case ({len(NOT_REACHED)} cannot)")
    for what in absent:
        print(f"no case in checks/conformance/xnnpack: {what}; add a method to fixtures/xnnpack and run export.py")
    return 1 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
