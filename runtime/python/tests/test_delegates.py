"""Delegate wheels: loaded at first use through their entry point; a broken one is named."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import executorch_runtime
import pytest
from conftest import PROGRAMS


@pytest.fixture
def wheel(tmp_path):
    """Installs a distribution with an entry point into a folder of its own."""

    def install(name: str, value: str, module: str, source: str) -> str:
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[executorch_runtime.delegates]\n{name} = {value}\n")
        return str(tmp_path)

    return install


def test_a_module_and_a_function_are_loaded_once_and_late(python, wheel):
    wheel("by-module", "by_module", "by_module", "print('module')")
    path = wheel("by-function", "by_function:load", "by_function", "def load():\n    print('function')")
    code = """
import executorch_runtime
print('imported')
runtime = executorch_runtime.Runtime.get()
runtime.backend_registry.registered_backend_names
runtime.operator_registry.operator_names
print(executorch_runtime.registration_errors())
"""
    lines = python(code, PYTHONPATH=path).split("\n")
    assert lines[0] == "imported" and sorted(lines[1:3]) == ["function", "module"] and lines[3] == "[]"


def test_a_delegate_may_use_the_runtime_while_it_loads(python, wheel):
    source = (
        "import executorch_runtime as e\nprint('aten::add.out' in e.Runtime.get().operator_registry.operator_names)"
    )
    path = wheel("curious", "curious", "curious", source)
    assert python("import executorch_runtime as e; e.registration_errors()", PYTHONPATH=path) == "True\n"


def test_a_broken_delegate_is_named_and_does_no_harm(python, wheel, add_path):
    path = wheel("acme-npu", "acme_npu", "acme_npu", "raise OSError('libacme.so: cannot open')")
    code = f"""
import warnings, executorch_runtime
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    runtime = executorch_runtime.Runtime.get()
    program = runtime.load_program({str(add_path)!r})
assert len(caught) == 1 and caught[0].category is RuntimeWarning, caught
print(caught[0].message)
print(executorch_runtime.registration_errors())
print(program.load_method("forward").metadata.name())
try:
    runtime.load_program({str(add_path.with_name("add_xnnpack.pte"))!r}).load_method("forward")
except LookupError as error:
    print(error)
"""
    warned, listed, name, failed, _ = python(code, PYTHONPATH=path).split("\n")
    for text in (warned, listed, failed):
        assert all(part in text for part in ("acme-npu", "acme_npu", "OSError", "libacme.so: cannot open")), text
    assert name == "forward"


def test_a_library_that_cannot_be_loaded(python, tmp_path):
    (tmp_path / "liboops.so").write_bytes(b"not a library")
    code = f"""
import executorch_runtime
try:
    executorch_runtime.load_library({str(tmp_path / "liboops.so")!r})
except RuntimeError as error:
    print(error)
"""
    assert "liboops.so could not be loaded" in python(code)


def test_entry_points_in_other_folders_are_found(python, wheel):
    path = wheel("late", "late", "late", "print('late')")
    code = f"import sys; sys.path.append({path!r}); import executorch_runtime as e; e.registration_errors()"
    assert python(code, PYTHONPATH=os.pathsep) == "late\n"


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture
def built(tmp_path):
    """Compiles the core's delegate in C against the installed headers and library."""

    def build(name: str, *macros: str) -> str:
        package = Path(executorch_runtime.__file__).parent
        source = PROGRAMS.parents[2] / "runtime" / "core" / "tests" / "delegate" / "demo.c"
        library = tmp_path / f"lib{name}.so"
        places = ["-I", package / "include", source, "-o", library, "-L", package / "lib", "-l:libexecutorch.so.1"]
        subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", *macros, *places], check=True)
        return str(library)

    return build


@needs_compiler
def test_a_delegate_in_c_joins_the_process(python, wheel, built):
    """Found by its entry point, run from Python."""
    load = f"import ctypes\ndef load():\n    ctypes.CDLL({built('demo')!r})"
    path = wheel("demo", "demo_wheel:load", "demo_wheel", load)
    folder = PROGRAMS.with_name("delegates")
    code = f"""
import conformance, pathlib
from executorch_runtime import Runtime
suite = conformance.Suite(pathlib.Path({str(folder / "delegate.json")!r}))
runtime = Runtime.get()
method = runtime.load_program(suite.program).load_method("forward")
for case in suite.cases:
    for value, found in zip(case["expected"], method.execute([suite.given(v) for v in case["inputs"]])):
        suite.check(value, found, case)
(name,) = runtime.backend_registry.registered_backend_names
print(name, runtime.backend_registry.is_available(name))
"""
    name, available = python(code, PYTHONPATH=os.pathsep.join([path, str(Path(__file__).parent)])).split()
    assert available == "True"
    command = ["inspect", str(folder / "delegate.pte")]
    inspected = python(f"from executorch_runtime._cli import main; main({command!r})", PYTHONPATH=path)
    assert name in inspected and "can run here: yes" in inspected


@needs_compiler
def test_a_library_of_another_abi_is_refused(python, wheel, built):
    library = built("future", "-DMAJOR=9")
    code = f"""
import executorch_runtime
try:
    executorch_runtime.load_library({library!r})
except RuntimeError as error:
    print(error)
"""
    text = python(code)
    assert "libfuture.so was refused" in text and "9" in text
    path = wheel("future", "future:load", "future", f"import ctypes\ndef load():\n    ctypes.CDLL({library!r})")
    code = """
import warnings, executorch_runtime
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    executorch_runtime.Runtime.get().backend_registry.registered_backend_names
    executorch_runtime.Runtime.get().backend_registry.registered_backend_names
print(len(caught), caught[0].category.__name__, caught[0].message)
"""
    text = python(code, PYTHONPATH=path)
    assert text.startswith("1 RuntimeWarning a library was refused") and "libfuture.so" in text


@needs_compiler
def test_the_command_loads_libraries(python, built):
    program = PROGRAMS.with_name("delegates") / "delegate.pte"
    command = ["run", str(program), "--load", built("demo"), "--inputs", "ones", "--json"]
    assert python(f"from executorch_runtime._cli import main; main({command!r})").startswith("[[[")
    command = ["inspect", str(program), "--load", built("absent", '-DNAME="AbsentBackend"', "-DAVAILABLE=false")]
    assert "NOT REGISTERED" in python(f"from executorch_runtime._cli import main; main({command!r})")
