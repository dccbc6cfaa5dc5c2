"""What the tests share. They run against the installed wheel: `cargo xtask test`, or pytest with it installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from executorch_runtime import Method, Runtime

PROGRAMS = Path(__file__).resolve().parents[3] / "checks" / "conformance" / "programs"
# Larger models, in a folder beside the repository that not everybody has.
MODELS = Path(__file__).resolve().parents[4] / "shared" / "models"
CORE_PROGRAMS = Path(__file__).resolve().parents[2] / "core" / "tests" / "programs"


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    return Runtime.get()


@pytest.fixture(scope="session")
def add_path() -> Path:
    """`forward(a, b)` adds two float32 [2, 4]; all memory is planned."""
    return CORE_PROGRAMS / "add.pte"


@pytest.fixture
def add(runtime: Runtime, add_path: Path) -> Method:
    return runtime.load_program(add_path).load_method("forward")


@pytest.fixture
def python():
    """Runs code in another interpreter and returns what it printed; further variables are its environment's."""

    def run(code: str, **environment: str) -> str:
        import os

        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **environment},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
