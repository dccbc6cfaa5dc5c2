"""Builds the wheel (PEP 517) with nothing but Python and cargo: `pip wheel .`

The environment needs `executorch_runtime`, to whose library the delegate links: build with `--no-build-isolation`, or say
where its `lib` folder is in EXECUTORCH_LIB.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import subprocess
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
# The same bytes each time.
DATE = (1980, 1, 1, 0, 0, 0)


def _project() -> dict:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        from pip._vendor import tomli as tomllib
    return tomllib.loads((HERE / "pyproject.toml").read_text())["project"]


def _library() -> bytes:
    environment = dict(os.environ)
    if "EXECUTORCH_LIB" not in environment:
        found = importlib.util.find_spec("executorch_runtime")
        if found is None or found.origin is None:
            raise RuntimeError("executorch_runtime is not installed here: install it, or set EXECUTORCH_LIB")
        environment["EXECUTORCH_LIB"] = str(Path(found.origin).parent / "lib")
    subprocess.run(["cargo", "build", "--release"], cwd=HERE, env=environment, check=True)
    target = Path(environment.get("CARGO_TARGET_DIR", HERE / "target"))
    return (target / "release" / "libdemo_delegate.so").read_bytes()


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Writes the wheel and returns its name."""
    project = _project()
    name, version = project["name"].replace("-", "_"), project["version"]
    # Any Python; this machine's platform. A release is built against an old glibc and tagged manylinux.
    tag = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {dependency}" for dependency in project["dependencies"]),
    ]
    entries = []
    for group, points in project["entry-points"].items():
        entries += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": (HERE / "python" / name / "__init__.py").read_bytes(),
        f"{name}/lib{name}.so": _library(),
        f"{info}/METADATA": "\n".join(metadata + [""]).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: {name}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        f"{info}/entry_points.txt": "\n".join(entries + [""]).encode(),
    }
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return wheel
