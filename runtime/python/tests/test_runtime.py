"""Loading programs and asking for what is in them, as `executorch.runtime` does."""

from __future__ import annotations

import io
import pickle

import executorch_runtime as et
import pytest
from conftest import PROGRAMS
from executorch_runtime import Runtime, Verification

ONES = [[1.0] * 4] * 2


def test_the_runtime_is_one(runtime):
    assert Runtime.get() is runtime
    assert et.__version__.startswith("1.5.")


def test_operators_and_backends_are_listed(runtime):
    assert "aten::add.out" in runtime.operator_registry.operator_names
    assert isinstance(runtime.operator_registry.operator_names, set)
    assert runtime.backend_registry.registered_backend_names.count("XnnpackBackend") == 1
    assert runtime.backend_registry.is_available("XnnpackBackend")
    assert not runtime.backend_registry.is_available("NoSuchBackend")
    assert et.registration_errors() == []


def sources(path):
    data = path.read_bytes()
    return {
        "str": str(path),
        "path": path,
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data)[:],
        "file": io.BytesIO(data),
    }


@pytest.mark.parametrize("kind", ["str", "path", "bytes", "bytearray", "memoryview", "file"])
def test_every_source_gives_the_program(runtime, add_path, kind):
    program = runtime.load_program(sources(add_path)[kind], verification=Verification.Minimal)
    assert program.method_names == {"forward"}
    (result,) = program.load_method("forward").execute([ONES, ONES])
    assert result.tolist() == [[2.0] * 4] * 2


def test_an_open_file_and_a_changed_buffer(runtime, add_path):
    with add_path.open("rb") as file:
        program = runtime.load_program(file)
    data = bytearray(add_path.read_bytes())
    copied = runtime.load_program(data)
    data[:] = bytes(len(data))
    for loaded in (program, copied):
        assert loaded.load_method("forward").execute([ONES, ONES])[0][0, 0] == 2.0


def test_bytes_at_an_odd_address(runtime, add_path):
    view = memoryview(b"x" + add_path.read_bytes())[1:]
    assert runtime.load_program(view).method_names == {"forward"}


def test_methods_are_loaded_once(runtime):
    program = runtime.load_program(PROGRAMS / "methods.pte")
    assert len(program.method_names) > 1
    name = sorted(program.method_names)[0]
    assert program.metadata(name).name() == name


def test_load_method_caches(runtime, add_path):
    program = runtime.load_program(add_path)
    assert program.load_method("forward") is program.load_method("forward")


def test_metadata(add):
    meta = add.metadata
    assert (meta.name(), meta.num_inputs(), meta.num_outputs(), meta.num_attributes()) == ("forward", 2, 1, 0)
    info = meta.input_tensor_meta(1)
    assert (info.sizes(), info.dtype(), info.nbytes(), info.is_memory_planned()) == ((2, 4), 6, 32, True)
    assert (info.dtype_name(), info.dim_order(), info.is_dynamic()) == ("float32", (0, 1), False)
    assert meta.output_tensor_meta(0).sizes() == (2, 4)
    assert meta.input_kind(0) == meta.output_kind(0) == "tensor"
    assert repr(info) == "TensorInfo(sizes=[2, 4], dtype=Float, is_memory_planned=True, nbytes=32)"
    assert repr(meta) == (
        f"MethodMeta(name='forward', num_inputs=2, input_tensor_meta=['{info}', '{info}'], "
        f"num_outputs=1, output_tensor_meta=['{info}'])"
    )
    for call in (meta.input_tensor_meta, meta.output_tensor_meta, meta.attribute_tensor_meta, meta.input_kind):
        with pytest.raises(IndexError, match="the method has"):
            call(7)


def test_attributes_have_names(runtime):
    meta = runtime.load_program(PROGRAMS / "state_counter.pte").metadata("forward")
    names = [meta.attribute_tensor_meta(i).name() for i in range(meta.num_attributes())]
    assert all(names)


@pytest.mark.parametrize(
    ("call", "kinds", "parts"),
    [
        (lambda r, p: p.load_method("backward"), (KeyError, RuntimeError), ["backward", "forward"]),
        (lambda r, p: p.metadata("backward"), (KeyError, RuntimeError), ["backward", "forward"]),
        (lambda r, p: r.load_program("/no/such.pte"), (FileNotFoundError, RuntimeError), ["/no/such.pte"]),
        (lambda r, p: r.load_program(b"short"), (ValueError, RuntimeError), ["5 bytes", "truncated"]),
        (lambda r, p: r.load_program(bytes(1000)), (ValueError, RuntimeError), ["ET12"]),
        (lambda r, p: r.load_program(3), (TypeError,), ["int"]),
        (lambda r, p: r.load_program(io.StringIO("text")), (TypeError,), ['"rb"', "str"]),
        (lambda r, p: r.load_program(b"", verification=3), (TypeError,), ["Verification"]),
        (lambda r, p: r.load_program(b"", data_path=3), (TypeError,), ["path", "int"]),
        (
            lambda r, p: r.load_program(PROGRAMS.with_name("delegates") / "delegate.pte").load_method("forward"),
            (RuntimeError,),
            ["DemoBackend"],
        ),
        (
            lambda r, p: r.load_program(PROGRAMS / "external_weights.pte").load_method("forward"),
            (RuntimeError,),
            ["external", ".ptd"],
        ),
    ],
)
def test_failures_say_what_is_wrong(runtime, add_path, call, kinds, parts):
    program = runtime.load_program(add_path)
    for kind in kinds:
        with pytest.raises(kind) as caught:
            call(runtime, program)
        assert all(part in str(caught.value) for part in parts), str(caught.value)
        assert isinstance(caught.value, et.ExecuTorchError)
        assert caught.value.code > 0 and caught.value.name in str(caught.value)


def test_a_program_with_its_data_file(runtime):
    program = runtime.load_program(PROGRAMS / "external_weights.pte", data_path=str(next(PROGRAMS.glob("*.ptd"))))
    assert program.load_method("forward").metadata.num_outputs() == 1


def test_errors_can_be_pickled(runtime):
    with pytest.raises(et.ExecuTorchError) as caught:
        runtime.load_program(b"short")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy), copy.code) == (type(caught.value), str(caught.value), caught.value.code)


def test_etdump_is_refused_openly(runtime, add_path, tmp_path):
    with pytest.warns(RuntimeWarning, match="ETDump"):
        program = runtime.load_program(add_path, enable_etdump=True, debug_buffer_size=100)
    with pytest.raises(RuntimeError, match="No etdump found"):
        program.write_etdump_result_to_file(str(tmp_path / "a"), str(tmp_path / "b"))


def test_truncated_programs_never_crash(runtime):
    data = (PROGRAMS / "mlp.pte").read_bytes()
    for size in range(0, len(data), 37):
        try:
            program = runtime.load_program(data[:size])
        except et.ExecuTorchError as error:
            assert error.message
        else:
            assert program.method_names
