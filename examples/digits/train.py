"""Trains the digits model and exports it: digits.pte and digits_test.bin.

Needs checks/conformance/requirements.txt. Takes a few seconds; the seed is fixed.
"""

from __future__ import annotations

import struct
from pathlib import Path

import torch
from executorch.exir import to_edge
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HERE = Path(__file__).resolve().parent


def network() -> nn.Sequential:
    """8x8 grey images to ten scores."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


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

    batch = torch.export.Dim("batch", min=1, max=64)
    exported = torch.export.export(model, (images[:2],), dynamic_shapes=({0: batch},))
    (HERE / "digits.pte").write_bytes(bytes(to_edge(exported).to_executorch().buffer))
    header = struct.pack("<8sIII", b"DIGITS01", len(test), 8, 8)
    pixels = images[test].numpy().astype("<f4").tobytes()
    (HERE / "digits_test.bin").write_bytes(header + pixels + bytes(labels[test].tolist()))


if __name__ == "__main__":
    main()
