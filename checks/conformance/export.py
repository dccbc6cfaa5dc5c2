"""Makes the conformance programs again, with upstream's exporter.

    python export.py                     all of them, into programs/, delegates/, devices/, xnnpack/ and cuda/
    python export.py --only 'ops_*'      those whose names match
    python export.py --check             nothing is written; fails when a program's bytes or cases would change

Needs the packages in requirements.txt.
"""

from __future__ import annotations

import argparse
import fnmatch
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parent


def all_fixtures(pattern: str) -> Iterator[tuple[str, Any]]:
    """Folders and fixtures: models, operators, delegates, devices, XNNPACK, CUDA; kinds that cannot match are not even built."""
    from fixtures import cuda, delegates, devices, models, operators, xnnpack

    if not pattern.startswith(("ops_", "xnn_", "cuda_")):
        yield from (("programs", fixture) for fixture in models.fixtures())
        yield from (("delegates", fixture) for fixture in delegates.fixtures())
        yield from (("devices", fixture) for fixture in devices.fixtures())
    yield from (("programs", fixture) for fixture in operators.fixtures(pattern))
    yield from (("xnnpack", fixture) for fixture in xnnpack.fixtures(pattern))
    yield from (("cuda", fixture) for fixture in cuda.fixtures(pattern))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE, help="folder whose subfolders are written to")
    parser.add_argument("--only", default="*", help="glob over fixture names")
    parser.add_argument("--check", action="store_true", help="compare with what --out holds instead of writing")
    options = parser.parse_args()

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch

    from fixtures import store, upstream

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    total, changed, departures = 0, [], []
    with tempfile.TemporaryDirectory() as scratch:
        for kind, fixture in all_fixtures(options.only):
            folder = (Path(scratch) if options.check else options.out) / kind
            folder.mkdir(parents=True, exist_ok=True)
            if not fnmatch.fnmatch(fixture.name, options.only):
                continue
            started = time.monotonic()
            if kind != "cuda":
                upstream.annotate(fixture)
            size = store.write(fixture, folder)
            total += size
            odd = [case for case in fixture.cases if case.upstream.get("result") != "matches"]
            departures += [f"{fixture.name}/{case.name or case.method}: {case.upstream}" for case in odd]
            print(f"{fixture.name:28} {len(fixture.cases):4} cases {size / 1024:8.1f} KiB {time.monotonic() - started:5.1f} s"
                  + (f"  upstream departs in {len(odd)}" if odd else ""), file=sys.stderr)  # fmt: skip
            if options.check:
                for ending in ("pte", "json"):
                    name = f"{fixture.name}.{ending}"
                    old = options.out / kind / name
                    if not old.exists() or old.read_bytes() != (folder / name).read_bytes():
                        changed.append(name)
    print(f"{total / 1024:.0f} KiB in all", file=sys.stderr)
    for line in departures:
        print(line)
    for name in changed:
        print(f"{name} would change", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
