"""Delegate wheels: loaded at first use through their entry point; a broken one is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import executorch_runtime
import pytest
from conftest import PROGRAMS

ROOT = PROGRAMS.parents[2]
EXAMPLES = ROOT / "delegates" / "sdk" / "examples"
CORE_WATCH = ROOT / "runtime" / "core" / "tests" / "delegate" / "watched.c"
# A program with a part for the examples' backend.
PROGRAM = PROGRAMS.with_name("delegates") / "delegate.pte"


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
    runtime.load_program({str(PROGRAM)!r}).load_method("forward")
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
    """Compiles the example in C against the installed headers and library, watched by the core's tests or as it is."""

    def build(name: str, *macros: str, registration: Path = CORE_WATCH) -> str:
        package = Path(executorch_runtime.__file__).parent
        library = tmp_path / f"lib{name}.so"
        folders = ["-I", package / "include", "-I", EXAMPLES / "c"]
        places = [EXAMPLES / "c" / "demo.c", registration, "-o", library, "-L", package / "lib"]
        command = ["cc", "-std=c11", "-shared", "-fPIC", *macros, *folders, *places, "-l:libexecutorch.so.1"]
        subprocess.run(command, check=True)
        return str(library)

    return build


def checked(python, path: str) -> str:
    """Runs the program through a delegate that is found by its entry point, and compares with PyTorch's results."""
    code = f"""
import conformance, pathlib
from executorch_runtime import Runtime
suite = conformance.Suite(pathlib.Path({str(PROGRAM.with_suffix(".json"))!r}))
runtime = Runtime.get()
method = runtime.load_program(suite.program).load_method("forward")
for case in suite.cases:
    for value, found in zip(case["expected"], method.execute([suite.given(v) for v in case["inputs"]])):
        suite.check(value, found, case)
assert set(runtime.backend_registry.registered_backend_names) == {{"DemoBackend", "XnnpackBackend"}}
print("DemoBackend", runtime.backend_registry.is_available("DemoBackend"))
"""
    return python(code, PYTHONPATH=os.pathsep.join([path, str(Path(__file__).parent)]))


def command(python, path: str, *arguments: str) -> str:
    """What the command prints in a process that finds the delegate in `path`."""
    return python(f"from executorch_runtime._cli import main; main({arguments!r})", PYTHONPATH=path)


@needs_compiler
def test_a_delegate_in_c_joins_the_process(python, wheel, built):
    """Found by its entry point, run from Python. Its table is of the first release, which had no descriptions."""
    load = f"import ctypes\ndef load():\n    ctypes.CDLL({built('demo')!r})"
    path = wheel("demo", "demo_wheel:load", "demo_wheel", load)
    assert checked(python, path) == "DemoBackend True\n"
    inspected = command(python, path, "inspect", str(PROGRAM))
    assert "DemoBackend" in inspected and "2 compile specs" in inspected and "can run here: yes" in inspected
    assert "does not describe its payloads" in command(python, path, "inspect", "--nodes", str(PROGRAM))


@needs_compiler
def test_a_delegate_describes_its_payload(python, built):
    load = ["--load", built("described", registration=EXAMPLES / "c" / "register.c")]
    summary = command(python, "", "inspect", str(PROGRAM), *load)
    assert "DEMO 1, 2 nodes" in summary and "loop  Add, Scale" in summary
    nodes = command(python, "", "inspect", "--nodes", str(PROGRAM), *load, "--option", "DemoBackend.gain=7")
    assert "0 Add   loop  a, b -> sum float32" in nodes
    assert "1 Scale loop  sum, demo.scale -> out float32  (bias 0.25, gain 7)" in nodes
    found = json.loads(command(python, "", "inspect", "--json", str(PROGRAM), *load))
    (delegate,) = found["methods"][0]["delegates"]
    assert delegate["graph_error"] is None
    assert [node["outputs"] for node in delegate["graph"]["nodes"]] == [[4], [3]]
    assert delegate["graph"]["values"][2] == {
        "id": 2,
        "name": "demo.scale",
        "dtype": "float32",
        "shape": [4],
        "role": "constant",
    }
    refused = command(python, "", "inspect", str(PROGRAM), *load, "--option", "DemoBackend.speed=fast")
    assert "cannot be described: delegate 0 (DemoBackend): the demo has the options" in refused
    assert "can run here: no" in refused


@needs_compiler
def test_options_reach_the_backend(python, built):
    library = built("options", registration=EXAMPLES / "c" / "register.c")
    code = f"""
import executorch_runtime as e
e.load_library({library!r})
program = e.Runtime.get().load_program({str(PROGRAM)!r})
zeros = [e.Tensor([[0.0] * 4] * 2, dtype="float32")] * 2
load = lambda **options: program.load_method("forward", backend_options={{"DemoBackend": options}})
for method in (program.load_method("forward"), load(gain=-4), load(gain=2, label="x", fails=False)):
    print(method.execute(zeros)[0].tolist()[0][0])
assert program.load_method("forward") is program.load_method("forward") is not load(gain=1)
for options in ({{"gain": 0.5}}, {{"gain": 1 << 40}}, {{"label": "x" * 256}}, {{"gain": True}}):
    try:
        load(**options)
    except (TypeError, OverflowError, e.InvalidArgumentError) as error:
        print(type(error).__name__, error)
try:
    program.load_method("forward", backend_options={{"DemoBackend": 1}})
except TypeError as error:
    print(error)
"""
    lines = python(code).split("\n")
    assert lines[:3] == ["0.25", "-1.0", "0.5"]
    assert "gain" in lines[3] and "float" in lines[3] and lines[4].startswith("OverflowError")
    assert "256 bytes" in lines[5] and "gain (int)" in lines[6] and "DemoBackend" in lines[7]
    run = ["run", str(PROGRAM), "--load", library, "--option", "DemoBackend.gain=3", "--json"]
    assert json.loads(command(python, "", *run)) == [[[0.75] * 4] * 2]


def test_a_description_of_another_form_does_no_harm():
    from executorch_runtime._cli.graph import lines

    for graph in ([], [1], {}, {"nodes": 3}, {"nodes": [{}]}, {"nodes": [{"name": "x", "inputs": 5}]}, "text"):
        delegate = {"registered": True, "graph": graph, "graph_error": None}
        assert "cannot be described" in lines(delegate, True)[-1]
    named = {"nodes": [{"name": "x"}, {"name": "x"}, {"name": "y"}], "notes": ["slow"], "more": 1}
    delegate = {"registered": True, "graph": named, "graph_error": None}
    assert lines(delegate, False) == ["3 nodes", "x x2, y", "slow"]


@pytest.fixture(scope="session")
def rust_wheel(tmp_path_factory) -> Path:
    """The wheel of the example in Rust, built in a folder outside of the repository."""
    folder = tmp_path_factory.mktemp("rust") / "demo-delegate"
    shutil.copytree(EXAMPLES / "rust", folder, ignore=shutil.ignore_patterns("target", "*.lock"))
    manifest = folder / "Cargo.toml"
    text = manifest.read_text()
    assert 'path = "../.."' in text
    manifest.write_text(text.replace("../..", str(EXAMPLES.parent)))
    # The versions that are here already; what is built is kept from run to run.
    shutil.copy(ROOT / "Cargo.lock", folder)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "demo-delegate")}
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", str(folder)]
    wheels = []
    for place in ("first", "second"):
        out = folder.with_name(place)
        subprocess.run([*build, "-w", str(out)], check=True, env=environment)
        wheels += out.glob("*.whl")
    assert len(wheels) == 2 and wheels[0].read_bytes() == wheels[1].read_bytes()
    return wheels[0]


needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")


@needs_cargo
def test_a_wheel_in_rust(python, rust_wheel, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(tmp_path)]
    subprocess.run([*install, str(rust_wheel)], check=True)
    assert checked(python, str(tmp_path)) == "DemoBackend True\n"
    nodes = command(python, str(tmp_path), "inspect", "--nodes", str(PROGRAM))
    assert "DEMO 1, 2 nodes" in nodes and "sum, demo.scale -> out" in nodes and "can run here: yes" in nodes
    # Broken, the wheel is named, and so is what is wrong with it.
    (tmp_path / "demo_delegate" / "libdemo_delegate.so").write_bytes(b"not a library")
    code = f"""
import warnings, executorch_runtime
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    program = executorch_runtime.Runtime.get().load_program({str(PROGRAM)!r})
    try:
        program.load_method("forward")
    except LookupError as error:
        print(error)
print(caught[0].message)
"""
    failed, warned, _ = python(code, PYTHONPATH=str(tmp_path)).split("\n")
    for text in (failed, warned):
        assert "'demo' of demo-delegate" in text and "libdemo_delegate.so" in text, text


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
    run = ["run", str(PROGRAM), "--load", built("demo"), "--inputs", "ones", "--json"]
    assert command(python, "", *run).startswith("[[[")
    absent = built("absent", '-DNAME="AbsentBackend"', "-DAVAILABLE=false")
    assert "NOT REGISTERED" in command(python, "", "inspect", str(PROGRAM), "--load", absent)
