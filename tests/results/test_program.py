"""A program is made of what a record is made of, and its line on disk stays what it was."""

from __future__ import annotations

import dataclasses
import json

import pytest

from graph_net.results import (
    Config,
    ConfigKind,
    Device,
    Failure,
    Program,
    RecordError,
    Samples,
    Stage,
    Symptom,
    Task,
    program_from_json,
    program_to_json,
)

TASK = Task("ansor", "w", "k", "llvm", "{}")
SCHEDULE = Config(ConfigKind.SCHEDULE, "ansor", "v1", {"schedule": '[["SP",1]]'})
DEVICE = Device("cpu", "AMD EPYC", 2, 4, 8 << 30, "Linux", "3.11", {"tvm": "0.27"})
SLOW = Failure(Stage.COMPILE, Symptom.TIMEOUT, "slow")
RAN = Program(TASK, SCHEDULE, Samples((0.5, 2.5e-6)), None, None, 1.5, 2.0, '{"a":1}')
RAN_LINE = (
    '{"costs":[0.5,2.5e-06],"extra":"{\\"a\\":1}","failure":null,"measured":2.0,'
    '"schedule":"[[\\"SP\\",1]]","seconds":1.5,"task":{"details":"{}","format":"ansor",'
    '"kernel":"k","target":"llvm","workload":"w"},"version":"v1"}'
)
FAILED = Program.from_log(Task("triton", "w"), '{"a":1}', failure=SLOW)
FAILED_LINE = (
    '{"costs":[],"extra":"","failure":{"message":"slow","signal":null,"signature":"",'
    '"stage":"compile","symptom":"timeout"},"measured":null,"schedule":"{\\"a\\":1}",'
    '"seconds":null,"task":{"details":"","format":"triton","kernel":"","target":"",'
    '"workload":"w"},"version":""}'
)


@pytest.mark.parametrize(("program", "line"), [(RAN, RAN_LINE), (FAILED, FAILED_LINE)])
def test_a_program_without_a_device_is_the_same_line_as_ever(program: Program, line: str) -> None:
    assert program_to_json(program) == line
    assert program_from_json(line) == program


def test_a_device_is_written_and_read_with_its_program() -> None:
    program = dataclasses.replace(RAN, device=DEVICE)
    line = program_to_json(program)
    assert json.loads(line)["device"]["name"] == "AMD EPYC"
    assert program_from_json(line) == program


def test_half_a_device_is_refused() -> None:
    tree = json.loads(RAN_LINE) | {"device": {"name": "K80"}}
    with pytest.raises(RecordError, match=r"missing .* arguments: 'kind', 'cores'"):
        program_from_json(json.dumps(tree))


def test_a_log_line_becomes_the_nouns_of_a_record() -> None:
    program = Program.from_log(TASK, '[["SP",1]]', (0.5,), version="v1")
    assert program.config == SCHEDULE
    assert program.samples == Samples((0.5,))
    assert (program.schedule, program.costs, program.version) == ('[["SP",1]]', (0.5,), "v1")
    assert program.device is None


@pytest.mark.parametrize(
    "config",
    [
        Config(ConfigKind.COMPILER, "ansor", "", {"schedule": "[]"}),
        Config(ConfigKind.SCHEDULE, "triton", "", {"schedule": "[]"}),
    ],
    ids=["another kind", "another space"],
)
def test_the_configuration_of_a_program_is_a_schedule_of_its_task(config: Config) -> None:
    with pytest.raises(RecordError, match="a schedule of its task's format, ansor, not a"):
        Program(TASK, config, Samples((1.0,)))


@pytest.mark.parametrize("options", [{}, {"schedule": ""}, {"schedule": 1}])
def test_a_program_without_a_schedule_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(RecordError, match="a workload and a schedule"):
        Program(TASK, dataclasses.replace(SCHEDULE, options=options), Samples((1.0,)))


def test_a_program_has_either_samples_or_a_failure() -> None:
    for samples, failure in ((None, None), (Samples((1.0,)), SLOW)):
        with pytest.raises(RecordError, match="either costs or a failure"):
            Program(TASK, SCHEDULE, samples, failure)


def test_a_time_that_stands_for_none_is_no_cost() -> None:
    with pytest.raises(RecordError, match=r"under 1e.09 seconds"):
        Program.from_log(TASK, "[]", (1e10,))
