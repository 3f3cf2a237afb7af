"""The sentence that a table of scores comes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_net.cli.main import main
from graph_net.results import Record, Stage, Symptom
from graph_net.score import Parameters, columns, estimate, sample_of, sentence
from score.some_samples import record
from score.test_records_scored import stored


def said_of(records: list[Record]) -> str:
    samples = columns([sample for each in records if (sample := sample_of(each)) is not None])
    return sentence({"mine": samples}, {"mine": estimate(samples, Parameters())})


def test_a_compiler_that_takes_all_graphs() -> None:
    said = said_of([record(f"m{n}", speedup=1.25) for n in range(12)])
    assert said == "mine is 1.25× as fast as eager (1.25 to 1.25) on these 12 graphs"


def test_what_failed_is_counted_apart() -> None:
    broken = record("m", (Stage.COMPILE, Symptom.UNSUPPORTED))
    said = said_of([broken, *(record(f"m{n}", speedup=2.0) for n in range(3))])
    assert said.endswith("on 3 of 4 graphs (1 failed)")


def test_a_speed_that_may_be_eagers_is_said_to_be() -> None:
    said = said_of([record(f"m{n}", speedup=speedup) for n, speedup in enumerate([0.5, 2.0] * 6)])
    assert said.startswith(
        "mine is not significantly different from eager, 1.00× as fast as eager ("
    )


def test_a_compiler_that_gets_nothing_right() -> None:
    said = said_of([record("m", (Stage.COMPILE, Symptom.CRASH))])
    assert said == "mine is right and timed on none of 1 graph"


def test_the_report_ends_with_it_and_the_address_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = stored(tmp_path / "records", [record(f"m{n}", speedup=1.5) for n in range(12)])
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as ended:
        main(["report", str(records), "-o", str(page)])
    assert not ended.value.code
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("inductor is 1.50× as fast as eager")
    assert last.endswith(f"on these 12 graphs: {page.as_uri()}")
