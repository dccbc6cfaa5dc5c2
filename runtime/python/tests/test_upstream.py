"""Upstream's runtime and this one in one process, where upstream is installed: the same answers, side by side."""

from __future__ import annotations

import conformance
import pytest
from conftest import PROGRAMS

upstream = pytest.importorskip("executorch.runtime")
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["dynamic_mlp", "mlp", "identity"])
def test_both_give_the_same_answers(runtime, name):
    suite = conformance.Suite(PROGRAMS / f"{name}.json")
    theirs = upstream.Runtime.get().load_program(str(suite.program))
    ours = runtime.load_program(suite.program)
    for case in suite.cases:
        inputs = [torch.from_numpy(suite.given(value).copy()) for value in case["inputs"]]
        expected = theirs.load_method(case["method"]).execute(inputs)
        found = ours.load_method(case["method"]).execute(inputs)
        for a, b in zip(expected, found):
            assert type(a) is type(b) and a.dtype == b.dtype
            torch.testing.assert_close(b, a, rtol=case["rtol"], atol=case["atol"])


def test_public_names_are_there():
    import executorch_runtime as ours
    from executorch.extension.pybindings import portable_lib as theirs
    from executorch_runtime import portable_lib

    # Bundled programs, custom loaders: not in this release.
    lacking = {
        "BundledModule",
        "_load_bundled_program_from_buffer",
        "_load_for_executorch_from_bundled_program",
        "_load_for_executorch_from_data_loader",
    }
    names = {name for name in dir(theirs._C if hasattr(theirs, "_C") else theirs) if not name.startswith("__")}
    public = {
        name for name in names if name.startswith(("_load", "_get", "_is", "_unsafe", "_thread", "Execu", "Method"))
    }
    assert {name for name in public if not hasattr(portable_lib, name)} <= lacking
    assert [level.name for level in ours.Verification] == ["Minimal", "InternalConsistency"]
    for name in ("Runtime", "Program", "Method", "BackendRegistry", "OperatorRegistry", "MethodMeta"):
        for attribute in dir(getattr(upstream, name)):
            if not attribute.startswith("_"):
                assert hasattr(getattr(ours, name), attribute), (name, attribute)
