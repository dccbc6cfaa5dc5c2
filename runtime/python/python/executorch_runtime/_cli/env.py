"""`executorch-runtime env`."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

import executorch_runtime
from executorch_runtime import Runtime, portable_lib
from executorch_runtime import _executorch_runtime as _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any


def command(options: argparse.Namespace) -> int:
    """Says what this installation and machine have."""
    runtime = Runtime.get()
    folder = Path(executorch_runtime.__file__).parent
    operators = sorted(runtime.operator_registry.operator_names)
    backends = {
        name: runtime.backend_registry.is_available(name) for name in runtime.backend_registry.registered_backend_names
    }
    errors = executorch_runtime.registration_errors()
    libraries = sorted(path.name for path in (folder / "lib").glob("*.so*"))
    found: dict[str, Any] = {
        "version": executorch_runtime.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {'-'.join(platform.libc_ver())}",
        "cpu_features": _native.cpu_features(),
        "cpus": len(os.sched_getaffinity(0)),
        "threads": portable_lib._threadpool_get_thread_count(),
        "package": str(folder),
        "libraries": libraries,
        "numpy": _version("numpy"),
        "torch": _version("torch"),
        "operators": operators,
        "backends": backends,
        "registration_errors": errors,
    }
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    for key, value in found.items():
        if key == "operators" and not options.operators:
            print(f"{key:20} {len(value)} (list them with --operators)")
        elif key == "operators":
            print(f"{key:20} {len(value)}")
            for name in value:
                print(f"  {name}")
        elif key == "backends":
            states = [f"{name} ({'available' if here else 'cannot run here'})" for name, here in value.items()]
            print(f"{key:20} {', '.join(states) or 'none'}")
        elif isinstance(value, list):
            separator = "\n" + " " * 21 if key == "registration_errors" else " "
            print(f"{key:20} {separator.join(value) or 'none'}")
        else:
            print(f"{key:20} {value}")
    return 0


def _version(package: str) -> str:
    """The version of a package that the caller may bring, without importing it."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "imported" if package in sys.modules else "not installed"
