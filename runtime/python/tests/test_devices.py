"""Memory on a device, with a device that every machine has. The cases are in device_cases.py."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import executorch_runtime
import pytest
from conftest import PROGRAMS

FAKE = Path(__file__).resolve().parents[2] / "core" / "tests" / "device" / "fake.c"
COPIES = PROGRAMS.with_name("devices") / "device_copies.pte"
CASES = (
    "every_way_to_run", "memory_stays_on_the_device", "outputs_in_planned_memory", "arrays_of_other_libraries",
    "tensors_for_other_libraries", "pytorch", "metadata", "failures",
)  # fmt: skip
# Keeps the caller's stream, as libexecutorch_extension_cuda.so.1 does, for one thread.
CHOOSER = """
#include <stdbool.h>
#include <stddef.h>
static void *chosen; static bool any;
bool et_caller_stream_get(void **out) { if (any && out != NULL) { *out = chosen; } return any; }
void et_caller_stream_set(void *stream) { chosen = stream; any = true; }
void et_caller_stream_clear(void) { any = false; }
"""

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def fake(tmp_path_factory) -> str:
    package = Path(executorch_runtime.__file__).parent
    library = tmp_path_factory.mktemp("fake") / "libfake.so"
    command = ["cc", "-std=c11", "-shared", "-fPIC", "-pthread", "-I", package / "include", FAKE, "-o", library]
    subprocess.run([*command, "-L", package / "lib", "-l:libexecutorch.so.1"], check=True)
    return str(library)


def case(python, *arguments: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import device_cases as d; d.run(*{arguments!r})"
    assert python(code) == "done\n"


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_case(python, fake, name):
    case(python, name, fake)


@needs_compiler
@pytest.mark.parametrize("name", ("streams", "chosen_streams"))
def test_streams(python, fake, tmp_path, name):
    source, library = tmp_path / "chooser.c", tmp_path / "libchooser.so"
    source.write_text(CHOOSER)
    soname = "-Wl,-soname,libexecutorch_extension_cuda.so.1"
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", soname, source, "-o", library], check=True)
    case(python, name, fake, str(library))


def test_a_wheel_without_cuda_has_no_streams(python):
    code = """
from executorch_runtime import cuda
try:
    cuda.stream(None)
except LookupError as error:
    print(error)
"""
    library = Path(executorch_runtime.__file__).parent / "lib" / "libexecutorch_extension_cuda.so.1"
    if library.exists():
        pytest.skip("this wheel has CUDA")
    assert "cu130" in python(code)


def test_a_missing_device_is_told(python):
    code = f"""
from executorch_runtime import Runtime, Tensor
for call in (
    lambda: Runtime.get().load_program({str(COPIES)!r}).load_method("forward"),
    lambda: Tensor([1.0]).to("cuda"),
):
    try:
        call()
    except Exception as error:
        print(error)
"""
    lines = python(code).strip().split("\n")
    assert len(lines) >= 2
    told = lines[0] + lines[-1]
    assert "DeviceDemoBackend" in told or "libexecutorch_backend_cuda.so.1" in told, told
    assert "libexecutorch_backend_cuda.so.1" in lines[-1]


@needs_compiler
def test_inspect_tells_devices(python, fake):
    def inspect(*more: str) -> dict:
        arguments = ["inspect", str(COPIES), "--json", *more]
        return json.loads(
            python(
                "import sys\nfrom executorch_runtime._cli import main\n"
                f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass"
            )
        )

    found = inspect()
    buffers = found["methods"][0]["planned_buffers"]
    assert [(b["device"], b["available"]) for b in buffers] == [("cpu", True), ("cuda:0", False)]
    assert any("memory is planned on cuda:0" in str(reason) for reason in found["problems"])
    found = inspect("--load", fake)
    buffers = found["methods"][0]["planned_buffers"]
    assert [(b["device"], b["available"]) for b in buffers] == [("cpu", True), ("cuda:0", True)]
    assert not found["problems"]
