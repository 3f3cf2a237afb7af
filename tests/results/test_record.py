"""Config, Device and Record: what cannot be built, and JSON both ways."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_net.results import (
    Config,
    ConfigKind,
    Cost,
    Device,
    Failure,
    Interval,
    Output,
    ProtocolSettings,
    Record,
    RecordError,
    Samples,
    Stage,
    Subject,
    Symptom,
    Timing,
    Verdict,
    from_json,
    to_json,
)

DEVICE = Device("cpu", "a processor", 2, 2, 1 << 30, "Linux", "3.11", {"torch": "2.13.0"})
ARM = Samples((1e-3, 1.1e-3), 3)
TIMING = Timing(ARM, ARM, ARM, Interval(1, 0.9, 1.1), Interval(1, 1, 1), Verdict.SAME)
OUTPUT = Output("float32", (2, 3), -5.5, 1e-6, 1e-7, -6.0, -6.1, (-5.0, -5.0, -5.5, None))


def record(**changes: Any) -> Record:
    known: dict[str, Any] = {
        "subject": Subject("id", "structure", "name"),
        "config": Config(ConfigKind.COMPILER, "inductor", "2.13", {"mode": "default"}),
        "device": DEVICE,
        "protocol": "p",
        "timing": TIMING,
        "outputs": (OUTPUT,),
    }
    return Record(**(known | changes))


def crash(stage: Stage = Stage.COMPILE) -> Failure:
    return Failure(stage, Symptom.CRASH, "died", "died", 11)


def test_a_success_needs_samples() -> None:
    with pytest.raises(RecordError, match="samples"):
        record(timing=None)


def test_a_success_needs_outputs() -> None:
    with pytest.raises(RecordError, match="outputs"):
        record(outputs=())


def test_a_success_has_no_output_that_never_passes() -> None:
    with pytest.raises(RecordError, match="tolerance"):
        record(outputs=(Output("float32", (), None),))


def test_a_compile_failure_has_no_samples() -> None:
    with pytest.raises(RecordError, match="no samples"):
        record(failure=crash())


def test_a_crash_has_a_signal() -> None:
    with pytest.raises(RecordError, match="signal"):
        Failure(Stage.COMPILE, Symptom.CRASH, "died")


def test_only_a_crash_has_a_signal() -> None:
    with pytest.raises(RecordError, match="signal"):
        Failure(Stage.COMPILE, Symptom.TIMEOUT, "slow", signal=9)


def test_a_mismatch_is_found_when_verifying() -> None:
    with pytest.raises(RecordError, match="verify"):
        record(timing=None, failure=Failure(Stage.COMPILE, Symptom.NUMERIC, "differs"))


NOISE = Failure(Stage.MEASURE, Symptom.TOO_NOISY, "eager differs from itself by 80%")


def test_noise_shows_its_samples() -> None:
    with pytest.raises(RecordError, match="samples"):
        record(timing=None, failure=NOISE)


def test_noise_needs_outputs_that_were_compared() -> None:
    with pytest.raises(RecordError, match="compared outputs"):
        record(outputs=(), failure=NOISE)


def test_noise_cannot_hide_an_output_that_never_passes() -> None:
    with pytest.raises(RecordError, match="pass at some tolerance"):
        record(outputs=(OUTPUT, Output("float32", (), None)), failure=NOISE)


def test_noise_is_found_when_measuring() -> None:
    with pytest.raises(RecordError, match="measure"):
        record(failure=Failure(Stage.VERIFY, Symptom.TOO_NOISY, "noise"))


def test_noise_withholds_the_speedup_and_keeps_the_level() -> None:
    noisy = record(failure=NOISE)
    assert noisy.too_noisy
    assert noisy.compared
    assert noisy.speedup is None
    assert noisy.t == record().t == -5.5
    assert record().speedup == TIMING.speedup
    assert from_json(to_json(noisy)) == noisy


@pytest.mark.parametrize("values", [(), (0.0,), (-1.0,), (float("inf"),), (float("nan"),)])
def test_samples_are_positive_numbers(values: tuple[float, ...]) -> None:
    with pytest.raises(RecordError):
        Samples(values)


def test_an_interval_is_in_order() -> None:
    with pytest.raises(RecordError, match="interval"):
        Interval(1.0, 1.1, 1.2)


@pytest.mark.parametrize("ends", [(0.0, 1.1), (-1.0, 1.1), (0.9, float("inf"))])
def test_a_timing_has_ratios_of_times_that_a_clock_can_show(ends: tuple[float, float]) -> None:
    with pytest.raises(RecordError, match="interval"):
        dataclasses.replace(TIMING, speedup=Interval(1.0, *ends))


def test_an_interval_contains_its_ends() -> None:
    interval = Interval(2.0, 1.0, 3.0)
    assert [interval.contains(number) for number in (0.9, 1.0, 3.0, 3.1)] == [
        False,
        True,
        True,
        False,
    ]


def test_equal_configurations_have_equal_hashes() -> None:
    first = Config(ConfigKind.COMPILER, "x", "1", {"a": 1, "b": 2})
    assert first.hash == Config(ConfigKind.COMPILER, "x", "1", {"b": 2, "a": 1}).hash
    assert first.hash != Config(ConfigKind.COMPILER, "x", "2", {"a": 1, "b": 2}).hash
    assert first.hash != Config(ConfigKind.COMPILER, "x", "1", {"a": 1, "b": 3}).hash


def test_a_key_is_graph_config_device_and_protocol() -> None:
    one = record()
    assert one.key == record(cost=Cost(1.0), seconds=3.0).key
    others = [
        record(subject=Subject("other", "structure", "name")),
        record(config=Config(ConfigKind.COMPILER, "inductor", "2.14", {"mode": "default"})),
        record(device=dataclasses.replace(DEVICE, threads=1)),
        record(protocol="q"),
    ]
    assert len({one.key, *(other.key for other in others)}) == 5


SETTINGS = ProtocolSettings(2, {"seconds": 5.0, "seed": 0, "exact": True})


def test_a_record_holds_its_whole_protocol() -> None:
    one = record(settings=SETTINGS, protocol=SETTINGS.hash)
    again = from_json(to_json(one))
    assert again == one
    assert again.settings == SETTINGS
    assert again.key == record(protocol=SETTINGS.hash).key  # the settings add nothing to it


def test_settings_that_do_not_hash_to_the_protocol_are_refused() -> None:
    tree = json.loads(to_json(record(settings=SETTINGS, protocol=SETTINGS.hash)))
    for change in ({"version": 3}, {"values": {"seconds": 6.0, "seed": 0, "exact": True}}):
        changed = tree | {"settings": tree["settings"] | change}
        with pytest.raises(RecordError, match="do not have its hash"):
            from_json(json.dumps(changed))


def test_a_record_of_an_earlier_version_has_the_hash_alone() -> None:
    tree = json.loads(to_json(record()))
    del tree["settings"]
    assert from_json(json.dumps(tree)) == record()
    assert record().settings is None


def test_only_noise_and_infrastructure_are_measured_again() -> None:
    assert record().final
    assert record(timing=None, failure=crash()).final
    for symptom in (Symptom.TOO_NOISY, Symptom.INFRASTRUCTURE):
        assert not record(failure=Failure(Stage.MEASURE, symptom, "why")).final


def test_the_level_of_a_record_is_its_worst_output() -> None:
    better = dataclasses.replace(OUTPUT, t=-9.0)
    assert record(outputs=(better, OUTPUT)).t == -5.5
    assert record(timing=None, failure=crash()).t is None


def test_json_gives_the_record_back() -> None:
    full = record(cost=Cost(1.0, 0.5, 0.9, 1, 2, 3), environment={"load": 0.5, "list": [1, None]})
    for one in (full, record(timing=None, outputs=(), failure=crash())):
        assert from_json(to_json(one)) == one
        assert from_json(to_json(one)).key == one.key


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("subject",), None),
        (("subject", "id"), 3),
        (("subject", "more"), "x"),
        (("timing", "verdict"), "quick"),
        (("timing", "eager", "wall"), "abc"),
        (("timing", "eager", "wall"), [True]),
        (("timing", "eager", "inner"), 1.5),
        (("outputs",), {}),
        (("failure",), {"stage": "lunch", "symptom": "crash", "message": "m"}),
    ],
)
def test_what_is_no_record_is_told_with_its_place(path: tuple[str, ...], value: Any) -> None:
    tree = json.loads(to_json(record()))
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(RecordError):
        from_json(json.dumps(tree))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_an_error(data: bytes) -> None:
    with pytest.raises(RecordError):
        from_json(data)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("inductor", "inductor"),
        ("/home/me/work/mine.py:Traced", "mine.py:Traced"),
        ("mine.py", "mine.py"),
        ("a/b", "a/b"),
    ],
)
def test_only_a_file_of_ones_own_is_shortened(name: str, short: str) -> None:
    assert Config(ConfigKind.COMPILER, name).label == short
