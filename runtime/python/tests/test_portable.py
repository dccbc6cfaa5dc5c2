"""The API of upstream's `portable_lib`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from conftest import PROGRAMS
from executorch_runtime import portable_lib

ONES = np.ones((2, 4), np.float32)
TWOS = [[2.0] * 4] * 2


@pytest.fixture
def loaded(add_path):
    return portable_lib._load_for_executorch(str(add_path))


def test_modules(loaded, add_path):
    data = add_path.read_bytes()
    for module in (
        loaded,
        portable_lib._load_for_executorch(add_path, None, False, 0, portable_lib.Verification.Minimal),
        portable_lib._load_for_executorch_from_buffer(data),
        portable_lib._load_for_executorch_from_buffer(bytearray(data), enable_etdump=False),
    ):
        assert module.method_names() == ["forward"]
        assert module([ONES, ONES])[0].tolist() == TWOS
        assert module.forward((ONES, ONES))[0].tolist() == TWOS
        assert module.run_method("forward", [ONES, ONES], clone_outputs=False)[0].tolist() == TWOS
        assert module.plan_execute("forward")[0].tolist() == TWOS
        assert module.method_meta("forward").num_inputs() == 2
        assert not module.has_etdump()
        with pytest.raises(RuntimeError, match="No etdump found"):
            module.write_etdump_result_to_file("nowhere")
        for call in (lambda: module.run_method("nope", [ONES]), lambda: module.method_meta("nope")):
            with pytest.raises(RuntimeError, match="nope"):
                call()


def test_a_single_tensor_is_one_input():
    module = portable_lib._load_for_executorch(str(PROGRAMS / "dynamic_mlp.pte"))
    array = np.ones(module.method_meta("forward").input_tensor_meta(0).sizes(), np.float32)
    np.testing.assert_array_equal(module(array)[0], module([array])[0])


def test_external_data_from_a_buffer():
    data = next(PROGRAMS.glob("*.ptd"))
    program = PROGRAMS / "external_weights.pte"
    by_path = portable_lib._load_for_executorch(str(program), str(data))
    by_buffer = portable_lib._load_for_executorch_from_buffer(program.read_bytes(), data.read_bytes())
    array = np.ones(by_path.method_meta("forward").input_tensor_meta(0).sizes(), np.float32)
    np.testing.assert_array_equal(by_path([array])[0], by_buffer([array])[0])


def test_bad_external_data_is_told_when_a_method_is_loaded():
    module = portable_lib._load_for_executorch_from_buffer((PROGRAMS / "external_weights.pte").read_bytes(), b"invalid")
    assert module.method_names() == ["forward"]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="InvalidExternalData"):
            module.forward([ONES])


def test_programs_and_methods(add_path):
    for program in (
        portable_lib._load_program(str(add_path)),
        portable_lib._load_program_from_buffer(add_path.read_bytes()),
    ):
        assert program.num_methods() == 1 and program.get_method_name(0) == "forward"
        for kind in (IndexError, RuntimeError):
            with pytest.raises(kind, match="the program has 1"):
                program.get_method_name(1)
        with pytest.raises(RuntimeError, match="nope"):
            program.load_method("nope")
        method = program.load_method("forward")
        assert method.method_meta().name() == program.method_meta("forward").name() == "forward"
        assert method([ONES, ONES])[0].tolist() == method.call([ONES, ONES])[0].tolist() == TWOS
        method.set_inputs([ONES, ONES * 3])
        with pytest.raises(RuntimeError, match="run it first"):
            method.get_outputs()
        method.execute()
        assert (
            method.get_outputs()[0].tolist() == method.get_outputs(clone_outputs=False)[0].tolist() == [[4.0] * 4] * 2
        )
        first, second = method.get_outputs()[0], method.get_outputs()[0]
        assert not np.shares_memory(first, second)


def test_inputs_of_a_method_are_checked(add_path):
    method = portable_lib._load_program(str(add_path)).load_method("forward")
    for bad in ([ONES], [ONES, ONES.astype(np.float64)], [ONES, "x"], [ONES, ONES[:1]]):
        with pytest.raises(RuntimeError):
            method.set_inputs(bad)
    with pytest.raises(RuntimeError):
        portable_lib._load_program(str(add_path)).load_method("forward").execute()


def test_attributes():
    program = portable_lib._load_program(str(PROGRAMS / "state_counter.pte"))
    meta = program.method_meta("forward")
    try:
        method = program.load_method("forward")
    except RuntimeError as error:
        pytest.skip(str(error))
    for index in range(meta.num_attributes()):
        info = meta.attribute_tensor_meta(index)
        assert method.get_attribute(info.name()).shape == info.sizes()
    with pytest.raises(RuntimeError, match="nope"):
        method.get_attribute("nope")


def test_registries_and_the_profiler_that_is_not_there():
    assert "aten::add.out" in portable_lib._get_operator_names()
    assert isinstance(portable_lib._get_registered_backend_names(), list)
    assert portable_lib._is_available("nope") is False
    portable_lib._create_profile_block("block")
    assert portable_lib._dump_profile_results() == b""
    portable_lib._reset_profile_results()


def test_arguments_have_upstreams_names():
    for function, names in {
        "_load_for_executorch": "program_path data_path enable_etdump debug_buffer_size program_verification",
        "_load_for_executorch_from_buffer": "buffer data_map_buffer enable_etdump debug_buffer_size program_verification",
        "_load_program": "path enable_etdump debug_buffer_size program_verification data_path",
        "_load_program_from_buffer": "buffer enable_etdump debug_buffer_size program_verification data_path",
    }.items():
        assert list(inspect.signature(getattr(portable_lib, function)).parameters) == names.split()
    for name in portable_lib.__all__:
        assert hasattr(portable_lib, name)
