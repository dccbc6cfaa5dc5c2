"""PyTorch's tensors in and out, where PyTorch is installed."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS
from executorch_runtime import Tensor, portable_lib

torch = pytest.importorskip("torch")


def test_tensors_in_and_out(add):
    a, b = torch.randn(2, 4), torch.randn(2, 4)
    (result,) = add.execute([a, b])
    assert type(result) is torch.Tensor and torch.equal(result, a + b)
    result += 1
    assert torch.equal(add.execute([a, b])[0], a + b)
    assert type(add.execute([a, b.numpy()])[0]) is torch.Tensor


def test_views_parameters_and_lazy_signs(add):
    a = torch.randn(4, 4)
    cases = [
        a[::2],
        a.t()[1:3],
        torch.nn.Parameter(a[:2].clone()),
        torch.complex(a[:2], a[2:]).conj().imag,
        a[:2].detach(),
    ]
    for case in cases:
        assert torch.equal(add.execute([case, torch.zeros(2, 4)])[0], case.detach().resolve_neg())


def test_bad_tensors_are_explained(add):
    a = torch.ones(2, 4)
    for bad, part in [
        (a.double(), r"\.to\(torch.float32\)"),
        (a.to("meta"), "meta"),
        (a.t(), r"\[4, 2\]"),
        (torch.ones(2, 4, dtype=torch.bfloat16), "bfloat16"),
    ]:
        with pytest.raises(ValueError, match=part):
            add.execute([a, bad])


DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_round_trips(dtype):
    tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    ours = Tensor(tensor)
    assert ours.dtype == dtype
    for back in (torch.from_dlpack(ours), ours.torch()):
        assert back.dtype == tensor.dtype and torch.equal(back, tensor)
        assert back.data_ptr() == ours.data_ptr()


def test_bfloat16_programs(runtime):
    try:
        method = runtime.load_program(PROGRAMS / "mlp_bf16.pte").load_method("forward")
    except RuntimeError as error:
        pytest.skip(str(error))
    info = method.metadata.input_tensor_meta(0)
    (result,) = method.execute([torch.ones(info.sizes(), dtype=torch.bfloat16)])
    assert result.dtype == torch.bfloat16


def test_portable_lib_gives_pytorch_without_inputs():
    module = portable_lib._load_for_executorch(str(PROGRAMS / "constant_output.pte"))
    meta = module.method_meta("forward")
    try:
        outputs = module.forward([torch.ones(meta.input_tensor_meta(i).sizes()) for i in range(meta.num_inputs())])
    except RuntimeError as error:
        pytest.skip(str(error))
    assert all(type(output) is torch.Tensor for output in outputs)
