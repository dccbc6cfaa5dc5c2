"""Trains the digits model and exports it: digits.pte, digits_xnnpack.pte, digits_xnnpack_q8.pte and digits_test.bin.

Needs checks/conformance/requirements.txt. Takes a few seconds; the seed is fixed. Each program is run by upstream's runtime.
"""

from __future__ import annotations

import struct
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.runtime import Runtime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

HERE = Path(__file__).resolve().parent


def network() -> nn.Sequential:
    """8x8 grey images to ten scores."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


def export(model: nn.Module, images: torch.Tensor) -> torch.export.ExportedProgram:
    """The model as a graph, for batches of 1 to 64, with these images as the example."""
    return torch.export.export(model, (images,), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},))


def quantized(exported: torch.export.ExportedProgram, images: torch.Tensor) -> nn.Module:
    """The graph in static int8, with a scale for every output channel, calibrated on some images."""
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(exported.module(), quantizer)
    for part in images.split(32):
        prepared(part)
    return convert_pt2e(prepared)


def lowered(exported: torch.export.ExportedProgram) -> bytes:
    """The program for the XNNPACK delegate."""
    return bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


def save(name: str, program: bytes, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Writes a program, and prints what upstream's runtime makes of it."""
    (HERE / f"{name}.pte").write_bytes(program)
    method = Runtime.get().load_program(program).load_method("forward")
    guesses = torch.cat([method.execute([part.contiguous()])[0].argmax(1) for part in images.split(50)])
    print(f"{name}: {int((guesses == labels).sum())} of {len(labels)} right, {len(program)} bytes")


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    labels = torch.tensor(labels)
    train, test = train_test_split(torch.arange(len(labels)).numpy(), test_size=0.25, random_state=0, stratify=labels)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    epochs = 25
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for chosen in torch.tensor(train)[torch.randperm(len(train))].split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        right = (model(images[test]).argmax(1) == labels[test]).float().mean().item()
    print(f"test_accuracy={right:.4f}")
    if right < 0.97:
        raise SystemExit("the model is worse than 97 %: not exported")

    portable = to_edge(export(model, images[:2])).to_executorch()
    save("digits", bytes(portable.buffer), images[test], labels[test])
    # An example of fewer than 16 images would make 15 the largest batch: tracing convolutions looks at that bound.
    exported = export(model, images[:16])
    save("digits_xnnpack", lowered(exported), images[test], labels[test])
    integer = quantized(export(model, images[:16]), images[train[:128]])
    save("digits_xnnpack_q8", lowered(export(integer, images[:16])), images[test], labels[test])
    header = struct.pack("<8sIII", b"DIGITS01", len(test), 8, 8)
    pixels = images[test].numpy().astype("<f4").tobytes()
    (HERE / "digits_test.bin").write_bytes(header + pixels + bytes(labels[test].tolist()))


if __name__ == "__main__":
    main()
