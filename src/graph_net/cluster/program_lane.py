"""The lane of a device for programs, as a Ray actor: runs the process that measures turns."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from graph_net.cluster.dispatch import FailedPlace
from graph_net.cluster.lane import forget_thread_count, node_name
from graph_net.cluster.lane_crew import LaneReport, jobs_of
from graph_net.cluster.turn_messages import TurnAnswer, TurnResults
from graph_net.isolate.deaths import Death, death_of_started, oom_kills
from graph_net.isolate.messages import Inbox, encode
from graph_net.isolate.workdir import remove_tree
from graph_net.measure.runner import server_environment
from graph_net.programs.collection.bench import LostTurn
from graph_net.programs.spaces.space import Workload
from graph_net.results import Device


class ProgramLane:
    """Measures turns of programs, one at a time, with the bench of its node."""

    def __init__(self, device: str, workload: Workload | None, room: int) -> None:
        forget_thread_count()
        self.device, self.workload, self.jobs = device, workload, jobs_of(room)
        self.node, self.folder = node_name(), Path(mkdtemp(prefix="graph-net-lane-"))
        self.process: subprocess.Popen[bytes] | None = None
        self.oom_kills = 0
        self.described: Device | None = None

    def report(self) -> LaneReport:
        """Describe this node; raise if programs cannot be measured here."""
        if self.described is None:
            self._start()
        assert self.described is not None
        return LaneReport(self.node, self.described, 1)

    def turn(self, tree: dict[str, Any], drawn: bytes) -> TurnAnswer | FailedPlace:
        """Measure a turn, given the schedules drawn so far; a process that dies is replaced."""
        results = TurnResults()
        try:
            for message, blob in self._ask(tree, drawn):
                match message["event"]:
                    case "program":
                        results.programs.append(blob)
                    case "lost":
                        results.lost.append(LostTurn(message["text"], message["task"]))
                    case "end":
                        return self._answer(results, blob)
        except RuntimeError as error:
            return FailedPlace(str(error))
        why = f"the process of programs on {self.node} ended: {self._death()}"
        results.lost.append(LostTurn(why))
        return self._answer(results, b"")

    def close(self) -> None:
        """Stop the process, and remove its files."""
        self._end()
        remove_tree(self.folder)

    def _answer(self, results: TurnResults, drawn: bytes) -> TurnAnswer:
        return TurnAnswer(self.node, tuple(results.programs), tuple(results.lost), drawn)

    def _ask(self, tree: dict[str, Any], drawn: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        if self.process is None:
            self._start()
        self._send(tree, drawn)
        return self._messages()

    def _start(self) -> None:
        command = ["-P", "-m", "graph_net.cluster.turn_process", self.device, str(self.jobs)]
        self.oom_kills = oom_kills()
        self.process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, *command, str(self.folder), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=server_environment(),
        )
        self._send({"workload": None if self.workload is None else asdict(self.workload)}, b"")
        for message, _ in self._messages():
            self.described = Device(**message["device"])
            return
        raise RuntimeError(f"programs cannot be measured on {self.node}: {self._death()}")

    def _send(self, tree: dict[str, Any], blob: bytes) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # reading reports the same
            self.process.stdin.write(encode(tree, blob))
            self.process.stdin.flush()

    def _messages(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        assert self.process is not None
        assert self.process.stdout is not None
        inbox = Inbox()
        while data := os.read(self.process.stdout.fileno(), 1 << 20):
            yield from inbox.feed(data)

    def _death(self) -> Death:
        """Return what the process died of; the next turn starts another."""
        assert self.process is not None
        death = death_of_started(self.process, self.oom_kills)
        self._end()
        return death

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
