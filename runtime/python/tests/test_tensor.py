"""`Tensor`: made of anything, indexed, and taken by others without a copy."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from executorch_runtime import Tensor

NUMPY_TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
               "uint64", "bool", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4), (1, 2, 3, 4)])
def test_round_trips(dtype, shape):
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    tensor = Tensor(array)
    assert (tensor.shape, tensor.dtype, tensor.ndim, tensor.size) == (shape, dtype, len(shape), array.size)
    assert tensor.nbytes == array.nbytes and tensor.tobytes() == array.tobytes()
    assert tensor.tolist() == array.tolist()
    for back in (np.asarray(tensor), np.from_dlpack(tensor), tensor.numpy(), Interface(tensor).numpy()):
        assert back.dtype == array.dtype and back.shape == shape
        np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(np.asarray(Tensor(array.tobytes(), dtype=dtype, shape=shape)), array)


class Interface:
    """Shows only the array interface of a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__array_interface__ = tensor.__array_interface__

    def numpy(self):
        return np.asarray(self)


def test_memory_is_shared():
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]])
    views = [np.asarray(tensor), np.from_dlpack(tensor), tensor.numpy()]
    for view in views:
        assert view.ctypes.data == tensor.data_ptr()
    views[0][0, 0] = 9
    assert tensor[0, 0] == 9 and views[1][0, 0] == 9
    copy = np.from_dlpack(tensor, copy=True)
    copy[0, 0] = 1
    assert tensor[0, 0] == 9


def test_views_keep_the_memory():
    tensor = Tensor(list(range(1000)))
    views = [np.asarray(tensor), np.from_dlpack(tensor), tensor[10:]]
    gone = weakref.ref(tensor)
    del tensor
    gc.collect()
    filler = [Tensor(list(range(1000, 2000))) for _ in range(50)]
    assert views[1].tolist() == list(range(1000)) and views[2].tolist() == list(range(10, 1000))
    del views, filler
    gc.collect()
    assert gone() is None


def test_unused_capsules_are_freed():
    tensor = Tensor([1.0])
    for version in (None, (1, 0), (0, 8)):
        capsule = tensor.__dlpack__(max_version=version)
        assert ("dltensor_versioned" in repr(capsule)) == (version == (1, 0))
        del capsule
    assert tensor.__dlpack_device__() == (1, 0)
    for arguments in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            tensor.__dlpack__(**arguments)


def test_indices():
    array = np.arange(24).reshape(2, 3, 4)
    tensor = Tensor(array)
    assert len(tensor) == 2
    assert tensor[1].tolist() == array[1].tolist() == tensor[-1].tolist()
    assert tensor[1, 2].tolist() == array[1, 2].tolist()
    assert tensor[1, 2, 3] == 23 and type(tensor[1, 2, 3]) is int
    assert tensor[-1, -1, -1] == 23
    for part in (slice(None), slice(1, None), slice(None, None, -1), slice(0, 0), slice(None, None, 2)):
        assert tensor[part].tolist() == array[part].tolist()
    assert [row.tolist() for row in tensor] == array.tolist()
    for index in (2, -3, (0, 3), (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            tensor[index]
    with pytest.raises(TypeError):
        tensor["x"]


def test_a_tensor_of_one_element_is_a_number():
    assert float(Tensor(1.5)) == 1.5 and int(Tensor([2])) == 2 and bool(Tensor([[True]]))
    assert Tensor(3).item() == 3 and Tensor(3).shape == () and Tensor(2 + 1j).item() == 2 + 1j
    with pytest.raises(ValueError, match="one element"):
        float(Tensor([1.0, 2.0]))
    with pytest.raises(TypeError):
        len(Tensor(1.0))


def test_element_types_follow_the_numbers():
    assert Tensor([1, 2]).dtype == "int64" and Tensor([1, 2.0]).dtype == "float32"
    assert Tensor([True]).dtype == "bool" and Tensor([1j]).dtype == "complex64"
    assert Tensor([1, 2], dtype=np.dtype("float64")).tolist() == [1.0, 2.0]
    for data, dtype, part in [
        ([300], "uint8", "300"),
        ([-1], "uint64", "-1"),
        ([1.5], "int32", "float"),
        ([2], "bool", "2"),
        ([1], "float33", "float33"),
        (np.ones(2), "float32", "float64"),
    ]:
        with pytest.raises((ValueError, TypeError), match=part):
            Tensor(data, dtype=dtype)
    with pytest.raises(ValueError, match="bytes"):
        Tensor(b"12345", dtype="float32", shape=(2,))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_numbers(dtype):
    tensor = Tensor([1.5, -2.0, 0.0, float("inf")], dtype=dtype)
    assert tensor.tolist() == [1.5, -2.0, 0.0, float("inf")] and tensor.nbytes == 8
    if dtype == "bfloat16":
        assert tensor.tobytes()[:2] == b"\xc0\x3f"
        with pytest.raises(AttributeError, match="bfloat16"):
            tensor.__array_interface__


def test_lists_that_contain_themselves():
    endless = []
    endless.append(endless)
    deep = [1.0]
    for _ in range(15):
        deep = [deep]
    assert Tensor(deep).ndim == 16
    for data in (endless, [endless], [1.0, endless], [deep]):
        for arguments in ({}, {"dtype": "float32"}):
            with pytest.raises(ValueError, match="deep|ragged"):
                Tensor(data, **arguments)


def test_representation():
    assert repr(Tensor([1.0, 2.0])) == "Tensor([1.0, 2.0], dtype='float32')"
    assert repr(Tensor(np.zeros((100, 2)))) == "Tensor(shape=(100, 2), dtype='float64')"
