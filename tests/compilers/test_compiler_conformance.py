"""Every compiler that can run here passes the conformance kit, each in processes of its own."""

from __future__ import annotations

import pytest

from graph_net.compilers import create
from graph_net.testing.compiler import check_compiler, examine


def usable(name: str) -> None:
    missing = create(name).missing()
    if missing:
        pytest.skip(missing)


def test_inductor_takes_graphs_that_trip_compilers_up() -> None:
    """Those that other tests of Inductor have nothing like; each costs seconds of g++."""
    graphs = ("mutation", "nested", "strided", "views", "bfloat16")
    report = check_compiler(create("inductor"), graphs=graphs)
    assert report.unsupported == {}


def test_onnxruntime_refuses_bfloat16_on_a_cpu_and_names_both_operators() -> None:
    usable("onnxruntime")
    report = check_compiler(create("onnxruntime"))
    assert report.unsupported["bfloat16"] == ["MatMul(tensor(bfloat16))", "Tanh(tensor(bfloat16))"]


@pytest.mark.parametrize("name", ["tvm", "xla", "iree"])
def test_the_others_take_all_but_what_their_importers_lack(name: str) -> None:
    usable(name)
    report = check_compiler(create(name))
    assert set(report.unsupported) <= {"fourier", "sorted", "bfloat16"}
    assert any("fft" in reason for reason in report.unsupported["fourier"])


def test_openvino_is_right_or_its_death_is_survived_and_reported() -> None:
    """On some processors OpenVINO kills the process with SIGILL at the first inference."""
    usable("openvino")
    report = examine(create("openvino"), graphs=("matmul", "mutation", "bfloat16"))
    deaths = [finding for finding in report.findings if finding.endswith("died of SIGILL")]
    assert report.findings == deaths
    assert len(deaths) + len(report.taken) == 3
