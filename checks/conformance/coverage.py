"""Which operators of upstream's registry the programs in programs/ name, and which not.

Exits with 1 when an operator is missing that is not in NOT_REACHED.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"

# Copies between host and device: they need a device allocator, which the conformance programs do without.
NOT_REACHED = {"et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"}


def main() -> int:
    from executorch.runtime import Runtime

    known = set(Runtime.get().operator_registry.operator_names)
    named: set[str] = set()
    results: dict[str, int] = {}
    for path in sorted(PROGRAMS.glob("*.json")):
        content = json.loads(path.read_text())
        named.update(content["operators"])
        for case in content["cases"]:
            result = case["upstream"]["result"]
            results[result] = results.get(result, 0) + 1
    missing = known - named - NOT_REACHED
    print(f"{len(named & known)} of {len(known)} operators are covered; cases by upstream's result: {results}")
    for name in sorted(missing):
        print(f"not covered: {name}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
