"""What methods take, and what they say of what they cannot take."""

from __future__ import annotations

import array
import ctypes

import conformance
import numpy as np
import pytest
from conftest import PROGRAMS
from executorch_runtime import Tensor

ONES = [[1.0] * 4] * 2
TWOS = [[2.0] * 4] * 2


class Interface:
    """An array of the array interface, without NumPy; `base` keeps the memory."""

    def __init__(self, base, **changes):
        self.base = base
        self.__array_interface__ = {**base.__array_interface__, **changes}


class Dlpack:
    """An array of DLPack alone."""

    def __init__(self, base):
        self.base = base

    def __dlpack__(self, **arguments):
        return self.base.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.base.__dlpack_device__()


class OldDlpack(Dlpack):
    """A producer from before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.base.__dlpack__()


def every_kind():
    ones = np.ones((2, 4), np.float32)
    frozen = ones.copy()
    frozen.flags.writeable = False
    flat = array.array("f", [1.0] * 8)
    return {
        "lists": ONES,
        "tuples": ((1, 1, 1, 1), (True, 1.0, 1, 1)),
        "numpy": ones,
        "read-only": frozen,
        "transposed": np.ones((4, 2), np.float32).T,
        "strided": np.ones((4, 8), np.float32)[::2, ::2],
        "reversed": np.ones((2, 4), np.float32)[::-1, ::-1],
        "unaligned": np.frombuffer(b"x" + ones.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 4),
        "tensor": Tensor(ONES),
        "interface": Interface(ones),
        "interface with strides": Interface(np.ones((4, 2), np.float32).T),
        "dlpack": Dlpack(ones),
        "old dlpack": OldDlpack(ones),
        "memoryview": memoryview(flat).cast("B").cast("f", (2, 4)),
        "ctypes": ((ctypes.c_float * 4) * 2)((1, 1, 1, 1), (1, 1, 1, 1)),
    }


@pytest.mark.parametrize("kind", every_kind())
def test_every_kind_of_array(add, kind):
    (result,) = add.execute([every_kind()[kind], TWOS])
    assert result.tolist() == [[3.0] * 4] * 2


def test_strides_are_followed(add):
    rows = np.arange(8, dtype=np.float32).reshape(4, 2).T
    columns = np.arange(64, dtype=np.float32).reshape(4, 16)[::2, ::-4]
    (result,) = add.execute([rows, Interface(columns)])
    np.testing.assert_array_equal(result, rows + columns)


def test_outputs_follow_inputs(add):
    ones = np.ones((2, 4), np.float32)
    assert type(add.execute([ONES, ones])[0]) is np.ndarray
    assert type(add.execute([ones, Tensor(ONES)])[0]) is np.ndarray
    assert type(add.execute([Tensor(ONES), TWOS])[0]) is Tensor
    assert type(add.execute([Dlpack(ones), TWOS])[0]) is Tensor


def test_numpy_outputs_can_be_written(add):
    ones = np.ones((2, 4), np.float32)
    (result,) = add.execute([ones, ones])
    assert result.flags.writeable and result.flags.c_contiguous
    result += 1
    assert add.execute([ones, ones])[0].tolist() == TWOS


def test_inputs_are_sequences(add):
    ones = np.ones((2, 4), np.float32)
    for inputs in ([ones, ones], (ones, ones), iter([ones, ones])):
        assert add.execute(inputs)[0].tolist() == TWOS
    assert add([ones, ones])[0].tolist() == TWOS


@pytest.mark.parametrize(
    ("inputs", "kind", "parts"),
    [
        ([ONES], ValueError, ["takes 2 inputs", "1 were given"]),
        ([ONES] * 3, ValueError, ["takes 2 inputs", "3 were given"]),
        ([ONES, np.ones((2, 4))], ValueError, ["input 1", "float32", "float64", 'astype("float32")']),
        ([ONES, np.ones((2, 4), np.int64)], ValueError, ["input 1", "float32", "int64"]),
        ([ONES, np.ones((2, 5), np.float32)], ValueError, ["input 1", "[2, 4]", "[2, 5]"]),
        ([ONES, np.ones(8, np.float32)], ValueError, ["input 1", "[2, 4]", "[8]"]),
        ([ONES, [[1.0] * 4] * 3], ValueError, ["input 1", "[2, 4]", "[3, 4]"]),
        ([ONES, 1.0], ValueError, ["input 1", "[2, 4]"]),
        ([ONES, [[1.0] * 4, [1.0] * 3]], ValueError, ["input 1", "ragged", "[1]", "4 items", "3 items"]),
        ([ONES, [[1.0] * 4, 1.0]], ValueError, ["input 1", "ragged", "[1]"]),
        ([ONES, [[1.0] * 4, ["x"] * 4]], TypeError, ["input 1", "[1][0]", "str"]),
        ([ONES, "text"], TypeError, ["input 1", "float32[2, 4]", "str"]),
        ([ONES, None], TypeError, ["input 1", "NoneType"]),
        ([ONES, object()], TypeError, ["input 1", "object"]),
        ([ONES, np.ones((2, 4), ">f4")], TypeError, ["input 1", ">f4"]),
        ([ONES, np.array([["a"] * 4] * 2)], TypeError, ["input 1", "<U1"]),
        ([ONES, Interface(np.ones((2, 4), np.float32), typestr=">f4")], TypeError, ["input 1", ">f4"]),
        ([ONES, Interface(np.ones((2, 4), np.float32), data=None)], ValueError, ["input 1", "data"]),
        ([ONES, Interface(np.ones((2, 4), np.float32), shape=(2, -4))], ValueError, ["input 1"]),
        ([ONES, np.ones((1,) * 17, np.float32)], ValueError, ["input 1", "16 dimensions"]),
        (3, TypeError, ["sequence", "int"]),
        ("ab", TypeError, ["sequence", "str"]),
        ({1: 2}, TypeError, ["sequence", "dict"]),
        (np.ones((2, 4), np.float32), ValueError, ["takes 2 inputs", "1 were given"]),
    ],
)
def test_bad_inputs_are_explained(add, inputs, kind, parts):
    with pytest.raises(kind) as caught:
        add.execute(inputs)
    assert isinstance(caught.value, RuntimeError)
    assert all(part in str(caught.value) for part in parts), str(caught.value)
    assert add.execute([ONES, ONES])[0].tolist() == TWOS


def test_failures_of_producers_are_the_cause(add):
    class Broken:
        def __dlpack__(self, **_):
            raise BufferError("no export today")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(ValueError, match="input 1: BufferError: no export today") as caught:
        add.execute([ONES, Broken()])
    assert type(caught.value.__cause__) is BufferError
    for huge in (10**400, [[10**400] * 4] * 2):
        with pytest.raises(ValueError, match="input 0: OverflowError"):
            add.execute([huge, ONES])


def test_memory_of_unknown_devices_is_refused(add):
    class Metal:
        def __dlpack__(self, **_):
            raise AssertionError("not to be called")

        def __dlpack_device__(self):
            return (8, 0)

    with pytest.raises(ValueError, match="expected memory of the CPU or of a CUDA device"):
        add.execute([ONES, Metal()])


def test_numbers_and_strings(runtime):
    suite = conformance.Suite(PROGRAMS / "scalar_inputs.json")
    method = runtime.load_program(suite.program).load_method("forward")
    good = [suite.given(value) for value in suite.cases[0]["inputs"]]
    kinds = [method.metadata.input_kind(i) for i in range(len(good))]
    assert kinds[:4] == ["tensor", "int", "float", "bool"]
    for index in range(1, len(kinds)):
        for wrong in (object(), good[0]):
            with pytest.raises(TypeError, match=f"input {index}: expected"):
                method.execute([*good[:index], wrong, *good[index + 1 :]])
    with pytest.raises(ValueError, match="input 1: .*exported with 3.*found 4"):
        method.execute([good[0], 4, *good[2:]])
    # An int serves for a float, as in Python; what the program does not read may be anything constant.
    for last in ("tanh", None):
        assert len(method.execute([*good[:4], last])) == 1


def test_a_dynamic_dimension(runtime):
    method = runtime.load_program(PROGRAMS / "dynamic_mlp.pte").load_method("forward")
    bound = method.metadata.input_tensor_meta(0).sizes()
    sizes = set()
    for count in (1, 2, bound[0], 3):
        (result,) = method.execute([np.zeros((count, *bound[1:]), np.float32)])
        sizes.add(result.shape[0])
    assert sizes == {1, 2, 3, bound[0]}
    with pytest.raises(ValueError, match="at most"):
        method.execute([np.zeros((bound[0] + 1, *bound[1:]), np.float32)])


def test_channels_last_is_used_in_place_and_row_major_copied(runtime):
    path = PROGRAMS / "channels_last_cnn.pte"
    info = runtime.load_program(path).metadata("forward").input_tensor_meta(0)
    assert sorted(info.dim_order()) == list(range(len(info.sizes())))
