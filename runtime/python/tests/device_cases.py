"""What tests/test_devices.py runs, each in a process of its own: a device changes what the process has.

The device is the one that every machine has (runtime/core/tests/device/fake.c): whoever reads or writes its memory on the
host ends the process.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from pathlib import Path

import executorch_runtime
from executorch_runtime import Runtime, Tensor, portable_lib

PROGRAMS = Path(__file__).resolve().parents[3] / "checks" / "conformance" / "devices"
A = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
B = [[0.5, -1.0, 2.25, 0.0], [8.0, -3.5, 1.0, 4.0]]
SUMS = [[a + b for a, b in zip(*rows)] for rows in zip(A, B)]
BETWEEN = [[(a * b + b) * a for a, b in zip(*rows)] for rows in zip(A, B)]
CUDA = 2


class Counts(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in "allocations alive bytes to_device to_host on_device synchronized bad_frees runs handles".split()
    ]


class Device:
    """The device's counters."""

    def __init__(self, path: str) -> None:
        executorch_runtime.load_library(path)
        self.library = ctypes.CDLL(path)

    @property
    def counts(self) -> Counts:
        found = Counts()
        self.library.fake_counts(ctypes.byref(found))
        return found


def load(name: str, method: str = "forward"):
    return Runtime.get().load_program(PROGRAMS / f"{name}.pte").load_method(method)


def refuses(call, *parts: str) -> None:
    try:
        call()
    except Exception as error:
        for part in parts:
            assert part in str(error), f"{part!r} is not in {error!r}"
    else:
        raise AssertionError(f"accepted, expected {parts}")


def every_way_to_run(device: Device) -> None:
    for name, expected in (("device_copies", BETWEEN), ("device_given", BETWEEN), ("device_labels", BETWEEN)):
        path = PROGRAMS / f"{name}.pte"
        for _ in range(2):
            (out,) = load(name).execute([A, B])
            assert out.tolist() == expected and out.device == "cpu"
        module = portable_lib._load_for_executorch(str(path))
        assert module.forward([A, B])[0].tolist() == expected
        assert module.run_method("forward", [A, B], clone_outputs=False)[0].tolist() == expected
        module = portable_lib._load_for_executorch_from_buffer(path.read_bytes())
        assert module([A, B])[0].tolist() == expected
        program = portable_lib._load_program(str(path))
        method = program.load_method("forward")
        assert method([A, B])[0].tolist() == expected
        method.set_inputs([B, A])
        method.execute()
        assert method.get_outputs()[0].tolist() == [[(b * a + a) * b for a, b in zip(*r)] for r in zip(A, B)]
        del module, program, method, out
        gc.collect()
        assert device.counts.alive == 0
    program = Runtime.get().load_program(PROGRAMS / "device_methods.pte")
    methods = [program.load_method(name) for name in ("forward", "again", "host")]
    assert device.counts.alive == 2
    assert all(method.execute([A, B])[0].tolist() == BETWEEN for method in methods * 2)


def memory_stays_on_the_device(device: Device) -> None:
    a, b = Tensor(A).to("cuda:0"), Tensor(B).to("cuda")
    assert (a.device, a.shape, a.dtype) == ("cuda:0", (2, 4), "float32")
    method = load("device_resident")
    before = device.counts
    (first,) = method.execute([a, b])
    (second,) = method.execute([a, b])
    after = device.counts
    assert (after.to_host, after.to_device, after.on_device) == (before.to_host, before.to_device, before.on_device)
    # Nobody chose a stream, so the call waits for the device.
    assert after.synchronized - before.synchronized == 2
    assert first.device == "cuda:0" and first.data_ptr() != second.data_ptr()
    assert repr(first) == "Tensor(shape=(2, 4), dtype='float32', device='cuda:0')"
    for read in (
        first.tolist, first.tobytes, first.numpy, lambda: first[0], lambda: first[0:1], lambda: first[0, 0],
        lambda: Tensor([1.0]).to("cuda").item(), lambda: float(Tensor([1.0]).to("cuda")),
    ):  # fmt: skip
        refuses(read, "cuda:0", ".cpu()")
    assert not hasattr(first, "__array_struct__") and not hasattr(first, "__array_interface__")
    assert first.cpu().tolist() == second.cpu().tolist() == SUMS
    assert first.to("cuda:1").to("cpu").tolist() == SUMS
    assert Tensor(first).device == "cuda:0" and Tensor(first).cpu().tolist() == SUMS
    assert first.cpu().cpu().device == "cpu"
    # An output is the next call's input.
    assert method.execute([first, second])[0].cpu().tolist() == [[2 * x for x in row] for row in SUMS]
    del first, second, method, a, b
    gc.collect()
    assert device.counts.alive == 0 and device.counts.bad_frees == 0
    refuses(lambda: Tensor(A).to("cuda:9"), "devices 0 and 1 only")
    refuses(lambda: Tensor(A).to("xpu"), "xpu", "cuda:1")


def outputs_in_planned_memory(device: Device) -> None:
    method = load("device_planned_outputs")
    before = device.counts
    (out,) = method.execute([A, B])
    assert device.counts.on_device - before.on_device == 1 and device.counts.to_host == before.to_host
    again = Tensor([[1.0] * 4] * 2)
    method.execute([again, again])
    assert out.cpu().tolist() == SUMS
    module = portable_lib._load_for_executorch(str(PROGRAMS / "device_planned_outputs.pte"))
    (shared,) = module.forward([A, B], clone_outputs=False)
    assert shared.device == "cuda:0" and device.counts.on_device - before.on_device == 2
    module.forward([again, again], clone_outputs=False)
    assert shared.cpu().tolist() == [[2.0] * 4] * 2
    refuses(lambda: load("device_planned").execute([A, B]), "input 0", "MemoryPlanningPass(alloc_graph_input=False)")
    (out,) = load("device_outputs").execute([A, B])
    assert out.device == "cuda:0" and out.cpu().tolist() == SUMS


class Producer:
    """An array of another library on the device; notes how it is asked for."""

    def __init__(self, values, device: str = "cuda:0") -> None:
        self.tensor = Tensor(values).to(device)
        self.asked: list[dict] = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **given):
        self.asked.append(given)
        return self.tensor.__dlpack__(stream=-1, max_version=given.get("max_version"))


class Old(Producer):
    """As libraries were before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        self.asked.append({"stream": stream})
        return self.tensor.__dlpack__(stream=-1)


def arrays_of_other_libraries(device: Device) -> None:
    method = load("device_resident")
    for kind in (Producer, Old):
        a, b = kind(A), kind(B)
        before = device.counts
        (out,) = method.execute([a, b])
        assert device.counts.to_device == before.to_device and device.counts.on_device == before.on_device
        # Ready on CUDA's legacy default stream, which the delegates' own come after.
        assert [asked["stream"] for asked in a.asked + b.asked] == [1, 1]
        assert out.device == "cuda:0" and out.cpu().tolist() == SUMS
    advice = "skip_h2d_for_method_inputs=True"
    refuses(lambda: load("device_copies").execute([Producer(A), B]), "input 0", "cuda:0", advice)
    refuses(lambda: load("device_given").execute([Producer(A), B]), "aten::mul.out", "argument 0", "cuda:0")
    refuses(lambda: method.execute([A, B]), "input 0", "memory of the host", '.to("cuda:0")')
    refuses(lambda: method.execute([Producer(A), B]), "input 1", "memory of the host")
    refuses(lambda: method.execute([Producer(A), Producer(B, "cuda:1")]), "one device")
    assert method.execute([Producer(A), Producer(B)])[0].cpu().tolist() == SUMS

    class Elsewhere(Producer):
        def __dlpack_device__(self):
            return (10, 0)

    refuses(lambda: method.execute([Elsewhere(A), B]), "(10, 0) of DLPack")

    class Liar(Producer):
        def __dlpack_device__(self):
            return (CUDA, 1)

    refuses(lambda: method.execute([Liar(A), B]), "(2, 1)", "(2, 0)")


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def contents(capsule) -> DLTensor:
    """The tensor in a capsule without a version."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return DLTensor.from_address(pointer(capsule, b"dltensor"))


def tensors_for_other_libraries(device: Device) -> None:
    tensor = Tensor(A).to("cuda:1")
    assert tensor.__dlpack_device__() == (CUDA, 1)
    for stream in (None, 1, 2, -1, 0x7F00):
        capsule = tensor.__dlpack__(stream=stream)
        found = contents(capsule)
        assert (found.device_type, found.device_id, found.data) == (CUDA, 1, tensor.data_ptr())
        assert [found.shape[i] for i in range(found.ndim)] == [2, 4]
    # Nothing is pending: nobody chose a stream.
    assert device.counts.synchronized == 0
    refuses(lambda: tensor.__dlpack__(stream=0), "ambiguous")
    capsule = tensor.__dlpack__(dl_device=(1, 0))
    assert contents(capsule).device_type == 1
    values = (ctypes.c_float * 8).from_address(contents(capsule).data)
    assert list(values) == A[0] + A[1]
    refuses(lambda: tensor.__dlpack__(dl_device=(1, 0), copy=False), "without a copy")
    refuses(lambda: tensor.__dlpack__(dl_device=(CUDA, 0)), "cuda:1 or the CPU only")
    before = device.counts.on_device
    capsule = tensor.__dlpack__(copy=True)
    assert contents(capsule).data != tensor.data_ptr() and device.counts.on_device == before + 1
    capsule = tensor.__dlpack__()
    data = tensor.data_ptr()
    del tensor
    gc.collect()
    assert contents(capsule).data == data and device.counts.alive == 1
    del capsule
    gc.collect()
    assert device.counts.alive == 0


def streams(device: Device, library: str) -> None:
    chooser = ctypes.CDLL(library)
    chooser.et_caller_stream_set.argtypes = [ctypes.c_void_p]
    method = load("device_resident")
    a, b = Producer(A), Producer(B)
    chooser.et_caller_stream_set(0x5000)
    (out,) = method.execute([a, b])
    # All is in order on the chosen stream, and nothing waits.
    assert [asked["stream"] for asked in a.asked + b.asked] == [0x5000] * 2
    assert device.counts.synchronized == 0
    out.__dlpack__(stream=0x5000)
    out.__dlpack__(stream=-1)
    method.execute([out, b])
    assert device.counts.synchronized == 0
    for stream, waits in ((1, 1), (None, 2), (0x6000, 3)):
        out.__dlpack__(stream=stream)
        assert device.counts.synchronized == waits, stream
    # The stream is no longer chosen, but the work on it may not be done.
    chooser.et_caller_stream_clear()
    out.cpu()
    assert device.counts.synchronized == 4
    method.execute([out, b])
    assert device.counts.synchronized == 6, "once for the input, once for the run"
    chooser.et_caller_stream_set(None)
    (other,) = method.execute([a, b])
    assert a.asked[-1]["stream"] == 1, "the null stream is the legacy default one"
    other.__dlpack__(stream=1)
    assert device.counts.synchronized == 6


def chosen_streams(device: Device, library: str) -> None:
    """`executorch_runtime.cuda.stream`, with the streams of several libraries."""
    ctypes.CDLL(library)
    from executorch_runtime import cuda

    method = load("device_resident")
    a, b = Producer(A), Producer(B)

    def used() -> int:
        method.execute([a, b])
        return a.asked[-1]["stream"]

    kinds = (
        (types.SimpleNamespace(cuda_stream=0x5000), 0x5000), (types.SimpleNamespace(ptr=0x6000), 0x6000),
        (types.SimpleNamespace(__cuda_stream__=lambda: (0, 0x7000)), 0x7000), (0x8000, 0x8000), (None, 1),
    )  # fmt: skip
    for stream, expected in kinds:
        with cuda.stream(stream):
            assert used() == expected, stream
    outer = cuda.stream(0x5000)
    with outer:
        with cuda.stream(0x6000), outer:
            assert used() == 0x5000
        assert used() == 0x5000
        try:
            with cuda.stream(0x6000):
                raise KeyError
        except KeyError:
            assert used() == 0x5000, "a block that fails brings the stream before it back, too"
    before = device.counts.synchronized
    method.execute([a, b])
    assert device.counts.synchronized > before, "no stream is chosen any more"
    for wrong, error in (("stream", TypeError), (object(), TypeError), (-1, ValueError), (1 << 64, ValueError)):
        try:
            cuda.stream(wrong)
        except error as told:
            assert "cudaStream_t" in str(told)
        else:
            raise AssertionError(wrong)


def pytorch(device: Device) -> None:
    torch = types.ModuleType("torch")

    class TorchTensor(Producer):
        is_cpu, is_cuda = False, True

        def detach(self):
            return self

    class Taken:
        def __init__(self, source) -> None:
            self.source, self.capsule = source, source.__dlpack__(stream=7)

    torch.Tensor, torch.from_dlpack = TorchTensor, Taken
    torch.utils = types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=None))
    sys.modules["torch"] = torch
    (out,) = load("device_resident").execute([TorchTensor(A), TorchTensor(B)])
    assert isinstance(out, Taken) and contents(out.capsule).device_type == CUDA
    assert out.source.cpu().tolist() == SUMS
    module = portable_lib._load_for_executorch(str(PROGRAMS / "device_resident.pte"))
    assert isinstance(module.forward([TorchTensor(A), TorchTensor(B)])[0], Taken)
    assert isinstance(Tensor(A).to("cuda").torch(), Taken)

    class Meta(TorchTensor):
        is_cuda, device = False, "meta"

    refuses(lambda: load("device_resident").execute([Meta(A), B]), "device meta")


def metadata(device: Device) -> None:
    meta = load("device_two").metadata
    devices = [meta.memory_planned_buffer_device(i) for i in range(meta.num_memory_planned_buffers())]
    assert devices == ["cpu", "cuda:0", "cuda:1"]
    assert [meta.memory_planned_buffer_size(i) for i in range(3)] == [64, 96, 96]
    refuses(lambda: meta.memory_planned_buffer_device(3), "planned buffer 3")
    assert meta.input_tensor_meta(0).device() == "cpu"
    assert load("device_resident").metadata.output_tensor_meta(0).device() == "cuda:0"


def failures(device: Device) -> None:
    device.library.fake_fail_allocation(0)
    refuses(lambda: load("device_copies"), "planned buffer 1", "out of memory")
    method = load("device_outputs")
    device.library.fake_fail_allocation(0)
    refuses(lambda: method.execute([A, B]), "output 0", "out of memory")
    device.library.fake_fail_copy(1)
    refuses(lambda: method.execute([A, B]), "_h2d_copy", "the copy failed")
    assert method.execute([A, B])[0].cpu().tolist() == SUMS


def run(name: str, library: str, *more: str) -> None:
    device = Device(library)
    globals()[name](device, *more)
    gc.collect()
    assert device.counts.bad_frees == 0, name
    print("done")
