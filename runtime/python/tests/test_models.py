"""The models of ../shared/models, where that folder is, against eager PyTorch's results."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import MODELS

# Errors relative to the spread of the expected output: the largest one, and their root mean square. Rounding in 8 bits
# may fall the other way in every layer.
EXACT, EIGHT_BITS = (1e-4, 1e-5), (0.5, 0.1)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.pte")), ids=lambda path: path.stem)
def test_model(runtime, path):
    arrays = np.load(path.with_suffix(".npz"))
    external = MODELS / "_default_external_constant.ptd"
    program = runtime.load_program(path, data_path=external if path.stem.startswith("ptd") else None)
    count = sum(name.startswith("input_") for name in arrays.files)
    outputs = program.load_method("forward").execute([arrays[f"input_{i}"] for i in range(count)])
    expected = [arrays[name] for name in arrays.files if name.startswith("expected_")]
    assert len(outputs) == len(expected)
    largest, typical = EIGHT_BITS if "_q8_" in path.stem else EXACT
    for found, wanted in zip(outputs, expected):
        found = np.asarray(found)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        error = np.abs(found.astype(np.float64) - wanted) / max(float(wanted.std()), 1e-6)
        assert error.max() <= largest and np.sqrt(np.mean(error**2)) <= typical, (error.max(), np.mean(error**2) ** 0.5)
