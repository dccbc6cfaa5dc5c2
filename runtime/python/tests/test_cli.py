"""The command: `executorch-runtime run|inspect|bench|env`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import CORE_PROGRAMS, MODELS, PROGRAMS


def run(*arguments: object, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "executorch_runtime", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("executorch-runtime")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith("executorch-runtime 1.5.")


def test_run_with_made_inputs(add_path):
    assert json.loads(run("run", add_path, "--inputs", "ones", "--json")) == [[[2.0] * 4] * 2]
    assert "float32 [2, 4]  [[0.0" in run("run", add_path)
    random = json.loads(run("run", add_path, "--inputs", "random", "--json"))
    assert random == json.loads(run("run", add_path, "--inputs", "random", "--json"))
    assert len({number for row in random[0] for number in row}) == 8


def test_run_with_a_file(add_path, tmp_path):
    a, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.full((2, 4), 0.5, np.float32)
    np.savez(tmp_path / "in.npz", input_0=a, input_1=b, expected_0=a)
    run("run", add_path, "--inputs", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["output_0"], a + b)
    np.savez(tmp_path / "plain.npz", a, b)
    assert json.loads(run("run", add_path, "--inputs", tmp_path / "plain.npz", "--json")) == [(a + b).tolist()]


def test_run_explains_a_wrong_file(add_path, tmp_path):
    np.savez(tmp_path / "in.npz", np.zeros((2, 4)), np.zeros((2, 4)))
    assert "expected a tensor of float32, found float64" in run(
        "run", add_path, "--inputs", tmp_path / "in.npz", status=1
    )
    assert "no/such.npz" in run("run", add_path, "--inputs", "no/such.npz", status=1)
    assert "no/such.pte" in run("run", "no/such.pte", status=1)
    assert "backward" in run("run", add_path, "--method", "backward", status=1)
    assert "--method" in run("run", status=2)


def test_run_with_external_data():
    program, data = PROGRAMS / "external_weights.pte", next(PROGRAMS.glob("*.ptd"))
    assert "output 0" in run("run", program, "--ptd", data)
    assert ".ptd" in run("run", program, status=1)


def test_inspect_for_people(add_path):
    text = run("inspect", add_path)
    for part in ("method forward", "input 1: float32 [2, 4]", "aten::add.out", "can run here: yes"):
        assert part in text


def test_inspect_explains_a_missing_backend():
    program = PROGRAMS.with_name("delegates") / "delegate.pte"
    info = json.loads(run("inspect", program, "--json"))
    assert not info["can_run_here"]
    (problem,) = info["problems"]
    assert "DemoBackend" in problem["what"] and problem["fix"]
    (delegate,) = info["methods"][0]["delegates"]
    assert delegate["payload_bytes"] > 0 and delegate["calls"] == 1 and not delegate["registered"]
    assert "can run here: no" in run("inspect", program)


def test_inspect_shows_the_nodes_of_an_xnnpack_delegate():
    program = CORE_PROGRAMS / "add_xnnpack.pte"
    info = json.loads(run("inspect", program, "--json"))
    assert info["can_run_here"]
    (delegate,) = info["methods"][0]["delegates"]
    (node,) = delegate["graph"]["nodes"]
    assert delegate["registered"] and node["name"] == "XNNAdd" and node["executor"]
    assert "XNNAdd" in run("inspect", program, "--nodes")


def test_inspect_explains_missing_external_data():
    program, data = PROGRAMS / "external_weights.pte", next(PROGRAMS.glob("*.ptd"))
    info = json.loads(run("inspect", program, "--json"))
    assert info["methods"][0]["external_data_missing"] and "--ptd" in info["problems"][0]["fix"]
    assert json.loads(run("inspect", program, "--ptd", data, "--json"))["can_run_here"]


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.pte")), ids=lambda path: path.stem)
def test_inspect_counts_what_the_program_names(path):
    """Every operator that the case file lists is found, with a call; checked in this process for speed."""
    from executorch_runtime import Runtime, _executorch_runtime

    about = json.loads(path.with_suffix(".json").read_text())
    info = _executorch_runtime.inspect(Runtime.get().load_program(path))
    operators = {operator["name"] for method in info["methods"] for operator in method["operators"]}
    assert operators == set(about["operators"])
    assert all(operator["calls"] > 0 for method in info["methods"] for operator in method["operators"])
    assert sum(segment["bytes"] for segment in info["segments"]) <= path.stat().st_size
    json.dumps(info)


@pytest.mark.skipif(not MODELS.is_dir(), reason="the larger models are not here")
def test_inspect_explains_every_larger_model():
    for path in sorted(MODELS.glob("*.pte")):
        info = json.loads(run("inspect", path, "--json"))
        assert info["can_run_here"] == (not info["problems"])
        assert all(problem["what"] and problem["fix"] for problem in info["problems"])
        needs_xnnpack = path.stem.endswith("_xnnpack")
        assert needs_xnnpack == any(method["delegates"] for method in info["methods"])


def test_inspect_of_what_is_no_program(tmp_path):
    (tmp_path / "x.pte").write_bytes(b"hello" * 100)
    text = run("inspect", tmp_path / "x.pte", status=1)
    assert "x.pte" in text and "ET12" in text


def test_a_reader_that_stops_early(add_path):
    command = [sys.executable, "-m", "executorch_runtime", "inspect", str(add_path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(60) == 1


def test_bench(add_path):
    result = json.loads(run("bench", add_path, "--seconds", "0.05", "--threads", "1", "--json"))
    assert result["runs"] > 0 and result["threads"] == 1
    assert result["min_s"] <= result["p50_s"] <= result["p90_s"] <= result["p99_s"]
    assert "p99" in run("bench", add_path, "--seconds", "0.05")


def test_env():
    found = json.loads(run("env", "--json"))
    assert "aten::add.out" in found["operators"] and found["registration_errors"] == []
    assert "libexecutorch.so.1" in found["libraries"] and found["threads"] >= 1
    assert "aten::add.out" in run("env", "--operators") and "aten::add.out" not in run("env")
