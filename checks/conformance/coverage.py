"""Whether every operator of upstream's registry (operators.txt) is in a program of programs/ that has cases.

    python coverage.py             says what is missing, and then exits with 1; needs nothing but Python
    python coverage.py --update    writes operators.txt again, from the registry of upstream's runtime
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
REGISTRY = HERE / "operators.txt"

# Copies between host and device: they need a device allocator, which the conformance programs do without.
NOT_REACHED = {"et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"}


def update() -> None:
    """Writes the names in upstream's registry, one a line."""
    from executorch.runtime import Runtime

    names = sorted(set(Runtime.get().operator_registry.operator_names))
    REGISTRY.write_text("".join(f"{name}\n" for name in names))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write operators.txt again, with upstream's runtime")
    if parser.parse_args().update:
        update()
    known = set(REGISTRY.read_text().split())
    named: set[str] = set()
    results: dict[str, int] = {}
    for path in sorted(PROGRAMS.glob("*.json")):
        content = json.loads(path.read_text())
        if content["cases"]:
            named.update(content["operators"])
        for case in content["cases"]:
            result = case["upstream"]["result"]
            results[result] = results.get(result, 0) + 1
    print(f"{len(named & known)} of {len(known)} operators have a case ({len(NOT_REACHED)} cannot); upstream: {results}")
    missing = sorted(known - named - NOT_REACHED)
    for name in missing:
        print(f"no case in checks/conformance/programs: {name}; add one to fixtures/operators and run export.py")
    for name in sorted(NOT_REACHED - known):
        print(f"not an operator of operators.txt: {name}; take it off NOT_REACHED")
    return 1 if missing or NOT_REACHED - known else 0


if __name__ == "__main__":
    sys.exit(main())
