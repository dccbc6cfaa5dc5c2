"""Which kinds of XNNPACK nodes the programs in xnnpack/ hold, and on what datatypes.

Reads the payloads themselves. Exits with 1 when a kind is missing that upstream's exporter can write.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from fixtures.xnnpack import payload

PROGRAMS = Path(__file__).resolve().parent / "xnnpack"

# The schema has it, but nothing writes it, and the reader refuses it.
NOT_REACHED = {"ScaledDotProductAttention"}


def main() -> int:
    methods: dict[str, Counter[str]] = {tag: Counter() for tag in payload.TAGS.values()}
    programs = sorted(PROGRAMS.glob("*.pte"))
    for path in programs:
        for parts in payload.delegates(path.read_bytes()).values():
            for node in {node for part in parts for node in part}:
                methods[node.tag][node.datatype] += 1
    print(f"{len(programs)} programs; for every kind of node, the methods that hold it, by datatype")
    for tag, counts in methods.items():
        print(f"{tag:26} " + ", ".join(f"{datatype} {count}" for datatype, count in sorted(counts.items())))
    missing = [tag for tag, counts in methods.items() if not counts and tag not in NOT_REACHED]
    for tag in missing:
        print(f"not covered: {tag}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
