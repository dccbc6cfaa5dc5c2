"""Exports programs for the GPU of this machine with upstream's CUDA partitioner: python export.py FOLDER.

Each becomes NAME.pte and NAME.ptd (the host's memory at the boundary), NAME_device.pte (the device's), and NAME.npz with inputs
and what eager PyTorch gives on the GPU, with its time and that of AOTInductor run by PyTorch in NAME.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.cuda.cuda_backend import CudaBackend
from executorch.backends.cuda.cuda_partitioner import CudaPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig
from torch import nn


class Mlp(nn.Module):
    """Large products: the GPU is busy."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Chain(nn.Module):
    """Many small kernels: launching them is most of the time."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(48))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.softmax(layer(x), dim=-1) + x
        return x


class Attention(nn.Module):
    """Scaled dot-product attention."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(512, 1536), nn.Linear(512, 512)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.unflatten(-1, (8, 64)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


MODELS: dict[str, tuple[nn.Module, tuple[int, ...], torch.dtype]] = {
    "mlp": (Mlp(), (64, 1024), torch.bfloat16),
    "chain": (Chain(), (1, 64), torch.float32),
    "attention": (Attention(), (1, 256, 512), torch.bfloat16),
}


def milliseconds(call: Any) -> float:
    """Median time of a call on the GPU."""
    for _ in range(20):
        call()
    times = []
    for _ in range(100):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return float(np.median(times))


def export(name: str, folder: Path) -> None:
    module, shape, dtype = MODELS[name]
    module = module.eval().to(dtype)
    x = torch.randn(shape).to(dtype)
    exported = torch.export.export(module, (x,))
    for suffix, device in (("", False), ("_device", True)):
        partitioner = CudaPartitioner([CudaBackend.generate_method_name_compile_spec("forward")])
        edge = to_edge_transform_and_lower(
            exported, partitioner=[partitioner], compile_config=EdgeCompileConfig(_check_ir_validity=False)
        )
        config = ExecutorchBackendConfig(
            propagate_device_config=PropagateDeviceConfig(
                skip_h2d_for_method_inputs=device, skip_d2h_for_method_outputs=device
            ),
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=not device, alloc_graph_output=not device),
        )
        program = edge.to_executorch(config)
        (folder / f"{name}{suffix}.pte").write_bytes(program.buffer)
        program.write_tensor_data_to_file(str(folder))
        (folder / "aoti_cuda_blob.ptd").rename(folder / f"{name}{suffix}.ptd")
    cuda, on_gpu = module.cuda(), x.cuda()
    with torch.no_grad():
        expected = cuda(on_gpu)
        compiled = torch._inductor.aoti_load_package(
            torch._inductor.aoti_compile_and_package(torch.export.export(cuda, (on_gpu,)))
        )
        times = {"eager": milliseconds(lambda: cuda(on_gpu)), "aotinductor": milliseconds(lambda: compiled(on_gpu))}
    np.savez(folder / f"{name}.npz", x=x.float().numpy(), expected=expected.float().cpu().numpy())
    (folder / f"{name}.json").write_text(json.dumps({"dtype": str(dtype).removeprefix("torch."), "ms": times}))
    print(f"exported {name}: eager {times['eager']:.3f} ms, AOTInductor in PyTorch {times['aotinductor']:.3f} ms")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name in MODELS:
        export(name, folder)


if __name__ == "__main__":
    main()
