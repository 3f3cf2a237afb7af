"""A stored configuration chooses a compiler; it starts nothing and imports nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch._inductor.config as inductor_config
from hypothesis import given
from hypothesis import strategies as st

from graph_net.compilers import CompilerError, Option, compiler_names, create
from graph_net.compilers.inductor_options import STORED
from graph_net.compilers.option import option_of
from graph_net.compilers.trusted import UntrustedConfig, config_here, trusted_config
from graph_net.results import Config, ConfigKind

OWN = """
from pathlib import Path
from graph_net.compilers import Compiler

Path(__file__).with_name("imported").touch()


class Mine(Compiler):
    name = "mine"
    defaults = {"depth": 2, "tool": "ld"}

    def compile(self, job):
        raise NotImplementedError
"""


def stored(name: str = "inductor", **options: Any) -> Config:
    return Config(ConfigKind.COMPILER, name, "of another machine", options)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(OWN)
    return f"{tmp_path / 'mine.py'}:Mine"


@pytest.mark.parametrize("name", compiler_names())
def test_the_defaults_of_every_compiler_are_taken(name: str) -> None:
    assert trusted_config(Config(ConfigKind.COMPILER, name, "", create(name).options)).name == name


def test_the_version_is_that_of_this_machine() -> None:
    assert trusted_config(stored()).version == create("inductor").version()


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "max-autotune", "epilogue_fusion": False},
        {"freezing": True, "coordinate_descent_tuning": True, "max_fusion_size": 4},
        {"triton.cudagraphs": True},
    ],
)
def test_harmless_options_are_taken(options: dict[str, Any]) -> None:
    taken = trusted_config(stored(**options))
    assert taken.options == {"mode": "default", "fullgraph": True, **options}


def test_a_record_from_before_fullgraph_was_an_option_is_run_as_it_was() -> None:
    old, new = stored(mode="default"), create("inductor")
    assert new.options["fullgraph"] is False
    assert trusted_config(old).options == {"mode": "default", "fullgraph": True}
    assert trusted_config(stored(fullgraph=False)).options["fullgraph"] is False
    assert old.hash != replace(old, options=dict(new.options)).hash


@pytest.mark.parametrize(
    "options",
    [
        {"cpp.march": "native -wrapper /somewhere/run"},
        {"cpp.cxx": [None, "/somewhere/run"]},
        {"cpp-cxx": "/somewhere/run"},
        {"aot_inductor.output_path": "/somewhere/file"},
        {"cuda.cuda_cxx": "/somewhere/run"},
        {"trace.debug_dir": "/somewhere"},
        {"post_grad_custom_post_pass": "os.system"},
        {"compile_threads": 4096},
        {"freezing": "yes"},
        {"freezing": 1},
        {"max_fusion_size": 10**9},
        {"mode": ["default"]},
        {"mode": "default -wrapper x"},
        {"Mode": "default"},
        {"mode\n": "default"},
    ],
)
def test_other_options_are_refused_with_the_way_out(options: dict[str, Any]) -> None:
    with pytest.raises(UntrustedConfig, match="on the command line") as caught:
        trusted_config(stored(**options))
    assert "\n" not in str(caught.value)


def test_no_reviewed_option_holds_a_text() -> None:
    """A switch or a count of torch's own that is listed here, and nothing that could be a path."""
    there = inductor_config.get_config_copy()
    for name, option in STORED.items():
        assert isinstance(option.default, (bool, int)), name
        assert isinstance(there.get(name), (bool, int, type(None))), name
        assert not name.startswith(("cpp.", "aot_inductor.", "cuda.")), name


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_free_text_of_a_file_reaches_a_compiler(key: str, text: str) -> None:
    try:
        taken = trusted_config(stored(**{key: text}))
    except CompilerError:
        return
    assert (key, text) in {("mode", mode) for mode in ("default", "max-autotune")}
    assert taken.options["mode"] == text


@pytest.mark.parametrize("name", compiler_names())
@given(value=st.recursive(st.text() | st.none() | st.integers(), st.lists, max_leaves=4))
def test_a_declared_option_keeps_its_type(name: str, value: Any) -> None:
    for declared in create(name).defaults.values():
        option = option_of(declared)
        if option.takes_stored(value):
            assert type(value) is type(option.default)
            assert not isinstance(value, str) or value in (option.default, *option.choices)


def test_a_file_is_not_imported_because_a_record_names_it(mine: str, tmp_path: Path) -> None:
    with pytest.raises(UntrustedConfig, match="name it on the command line"):
        trusted_config(stored(mine))
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("name", ["", "eager ", "os:system", "../eager", "graph_net.x:Y", "e\nr"])
def test_a_name_that_is_not_registered_is_refused(name: str) -> None:
    with pytest.raises(UntrustedConfig, match="unknown compiler") as caught:
        trusted_config(stored(name))
    assert "\n" not in str(caught.value)


def test_naming_the_file_on_the_command_line_allows_it(mine: str) -> None:
    typed = config_here(mine, {})
    assert trusted_config(stored(mine, depth=3, tool="ld"), [typed]).options["depth"] == 3


def test_its_options_are_still_data(mine: str) -> None:
    typed = config_here(mine, {})
    with pytest.raises(UntrustedConfig, match="'tool'"):
        trusted_config(stored(mine, tool="/somewhere/run"), [typed])


def test_options_typed_again_are_taken() -> None:
    typed = config_here("inductor", {"cpp.march": "native"})
    assert (
        trusted_config(Config(ConfigKind.COMPILER, "inductor", "", typed.options), [typed]) == typed
    )
    with pytest.raises(UntrustedConfig, match="march"):
        trusted_config(stored(mode="default", **{"cpp.march": "other"}), [typed])


def test_another_kind_of_configuration_is_no_compiler() -> None:
    with pytest.raises(UntrustedConfig, match="kind schedule is not"):
        trusted_config(Config(ConfigKind.SCHEDULE, "eager"))


def test_an_option_says_what_it_takes() -> None:
    level = Option(3, least=0, most=5)
    assert level.takes(5)
    assert not level.takes(6)
    assert not level.takes(True)
    assert not level.takes(json.loads("3.0"))
    assert Option(1.0).takes(2)
    assert not Option(1.0).takes(float("nan"))
    assert Option(None).takes("anything")
    assert not Option(None).takes_stored("anything")


def test_a_compiler_of_ones_own_has_one_name_however_it_is_typed(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = (mine, "mine.py:Mine", "./mine.py:Mine", "mine.py")
    assert {config_here(name, {}).name for name in typed} == {mine}
    assert config_here(mine, {}).label == "mine.py:Mine[depth=2,tool=ld]"
