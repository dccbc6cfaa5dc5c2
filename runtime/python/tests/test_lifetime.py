"""Outputs own their memory, whatever happens to what they came from."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from conftest import CORE_PROGRAMS, PROGRAMS
from executorch_runtime import portable_lib


def churn():
    """Frees what is free and fills memory with something else."""
    gc.collect()
    return [np.full((2, 4), -7, np.float32) for _ in range(200)]


def test_outputs_outlive_runs_methods_and_programs(runtime, add_path):
    method = runtime.load_program(add_path.read_bytes()).load_method("forward")
    kept = [method.execute([np.full((2, 4), i, np.float32)] * 2)[0] for i in range(5)]
    del method
    filler = churn()
    assert [array.tolist() for array in kept] == [[[2.0 * i] * 4] * 2 for i in range(5)]
    del filler


@pytest.mark.parametrize("name", ["planned_none", "planned_inputs", "planned_outputs", "identity"])
def test_outputs_are_nobody_elses(runtime, name):
    """Programs whose inputs or outputs have no planned memory, or are the same."""
    program = runtime.load_program(PROGRAMS / f"{name}.pte")
    try:
        method = program.load_method("forward")
    except RuntimeError as error:
        pytest.skip(str(error))
    infos = [method.metadata.input_tensor_meta(i) for i in range(method.metadata.num_inputs())]
    inputs = [np.full(info.sizes(), 1, info.dtype_name()) for info in infos]
    first = method.execute(inputs)
    values = [np.array(output) for output in first]
    second = method.execute([array + 1 for array in inputs])
    for output, value, other in zip(first, values, second):
        np.testing.assert_array_equal(output, value)
        assert not np.shares_memory(output, other)
        assert not any(np.shares_memory(output, array) for array in inputs)
    for array in inputs:
        np.testing.assert_array_equal(array, 1)
    del method, program, inputs, infos
    filler = churn()
    for output, value in zip(first, values):
        np.testing.assert_array_equal(output, value)
    del filler


def test_memory_is_used_again_once_outputs_are_gone(runtime):
    program = runtime.load_program(PROGRAMS / "planned_none.pte")
    try:
        method = program.load_method("forward")
    except RuntimeError as error:
        pytest.skip(str(error))
    infos = [method.metadata.input_tensor_meta(i) for i in range(method.metadata.num_inputs())]
    inputs = [np.ones(info.sizes(), info.dtype_name()) for info in infos]
    addresses = {method.execute(inputs)[0].ctypes.data for _ in range(5)}
    assert len(addresses) <= 2


def test_shared_outputs_keep_the_method(add_path):
    module = portable_lib._load_for_executorch(str(add_path))
    ones = np.ones((2, 4), np.float32)
    (shared,) = module.forward([ones, ones], clone_outputs=False)
    assert shared.tolist() == [[2.0] * 4] * 2
    module.forward([ones, shared])
    assert shared.tolist() == [[3.0] * 4] * 2
    del module
    filler = churn()
    assert shared.tolist() == [[3.0] * 4] * 2
    del filler


def test_shared_outputs_that_are_inputs(runtime):
    module = portable_lib._load_for_executorch(str(PROGRAMS / "identity.pte"))
    info = module.method_meta("forward").input_tensor_meta(0)
    outputs = module.forward([np.full(info.sizes(), 5, info.dtype_name())], clone_outputs=False)
    del module
    filler = churn()
    for output in outputs:
        assert (np.asarray(output) == 5).all()
    del filler


def test_inputs_that_were_set_stay_alive(add_path):
    method = portable_lib._load_program(str(add_path)).load_method("forward")
    method.set_inputs([np.full((2, 4), 3, np.float32), np.full((2, 4), 4, np.float32)])
    filler = churn()
    for _ in range(2):
        method.execute()
        assert method.get_outputs()[0].tolist() == [[7.0] * 4] * 2
    del filler


XNNPACK = f"""
import ctypes, gc, _ctypes
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

library = Path(find_spec("executorch_runtime").submodule_search_locations[0]) / "lib" / "libexecutorch_backend_xnnpack.so.1"

def reopen():
    for _ in range(10):
        _ctypes.dlclose(ctypes.CDLL(str(library))._handle)

def is_mapped():
    return library.name in Path("/proc/self/maps").read_text()

def work(times):
    import numpy as np
    from executorch_runtime import Runtime
    ones = np.ones((2, 4), np.float32)
    for _ in range(times):
        method = Runtime.get().load_program({str(CORE_PROGRAMS / "add_xnnpack.pte")!r}).load_method("forward")
        assert all((output == 2).all() for output in method.execute([ones, ones]))
    return True

def threads(times):
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [times] * 4))
    gc.collect()
"""


def test_delegated_programs_leave_no_memory_behind(python):
    code = """
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

threads(200)
before = resident()
threads(1000)
print(resident() - before)
"""
    # A thousand bytes for each load would be four megabytes.
    assert int(python(XNNPACK + code)) < 2 << 20


def test_the_delegate_s_library_stays_whoever_closes_it(python):
    """Opened and closed before the package is there, while programs run, and afterwards."""
    code = """
assert not is_mapped()
reopen()
assert is_mapped()
work(1)
with ThreadPoolExecutor(1) as other:
    running = other.submit(threads, 50)
    while not running.done():
        reopen()
    running.result()
reopen()
work(1)
from executorch_runtime import Runtime, registration_errors
assert registration_errors() == [], registration_errors()
print(Runtime.get().backend_registry.registered_backend_names)
"""
    assert python(XNNPACK + code) == "['XnnpackBackend']\n"
