"""``--ray`` with and without an address, and a machine without Ray."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cli.calling import Cli
from cli.conftest import cli as cli
from graph_net.cluster.address import is_address, with_address
from graph_net.cluster.connection import Cluster, ClusterError, connected


@pytest.mark.parametrize("text", ["local", "auto", "10.0.0.1:6379", "head:6379", "[::1]:6379"])
def test_addresses_are_a_host_and_a_port_or_a_word(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize("text", ["", "pack", "head", "dir/pack:name", "a:b", "--jobs", "h:123456"])
def test_other_words_are_no_address(text: str) -> None:
    assert not is_address(text)


@pytest.mark.parametrize(
    ("words", "complete"),
    [
        ([], []),
        (["--ray"], ["--ray=local"]),
        (["pack", "--ray"], ["pack", "--ray=local"]),
        (["--ray", "pack"], ["--ray=local", "pack"]),
        (["--ray", "--jobs", "2"], ["--ray=local", "--jobs", "2"]),
        (["--ray", "head:6379", "pack"], ["--ray", "head:6379", "pack"]),
        (["--ray=head:6379", "pack"], ["--ray=head:6379", "pack"]),
    ],
)
def test_ray_alone_is_a_local_cluster(words: list[str], complete: list[str]) -> None:
    assert with_address(words) == complete


def test_a_word_that_is_no_address_is_told_with_the_way_out() -> None:
    with pytest.raises(ClusterError, match=r"'lunch' is not the address.*HOST:PORT, auto"):
        Cluster("lunch")


def test_without_an_address_there_is_no_cluster() -> None:
    with connected(None) as cluster:
        assert cluster is None


def test_a_machine_without_ray_is_told_which_extra_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match=r"pip install 'graph-net\[ray\]'"):
        Cluster("head:6379")


@pytest.mark.parametrize(
    "verb",
    ["bench", "collect", "validate", "decompose", "study", "programs collect", "programs features"],
)
def test_every_verb_that_scales_out_has_the_option(verb: str, cli: Cli) -> None:
    assert "--ray" in cli(*verb.split(), "--help").out


def test_ray_is_not_imported_unless_it_is_asked_for() -> None:
    program = (
        "import sys, graph_net.api.bench, graph_net.cluster.measure_cluster; "
        "import graph_net.cluster.program_bench, graph_net.cluster.cluster_pool; "
        "print('ray' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
