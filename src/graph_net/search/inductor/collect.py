"""Measure Inductor's choices for operations of the corpus: ATen, its own tiles, and drawn ones.

    python -m graph_net.search.inductor.collect -o timings.jsonl --seconds 540

Runs from the repository's root with torch, triton and numpy alone. The same command continues the
file. Processes generate code and compile side by side, and one at a time measures: on an H200 with
16 cores a case of 64 choices took 2.4 s.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from multiprocessing.connection import wait
from pathlib import Path

from graph_net.isolate import Finished, Limits
from graph_net.isolate.lane import Lane
from graph_net.isolate.workdir import temporary_directory
from graph_net.printable import printable
from graph_net.programs.triton.cuda_bench import ask_process
from graph_net.results import read_as
from graph_net.search.inductor.case import FILE, KernelCase, load_cases
from graph_net.search.inductor.collection_journal import CollectionJournal
from graph_net.search.inductor.collector import probe, worker
from graph_net.search.inductor.timed_call import TimedCall

GROUP = 2
"""Operations that are compiled together."""
WINDOW = 24
"""Number of cases of the most frequent kind over which kinds are balanced."""
LONGEST = 240
"""Seconds after which the process of a group is killed."""
Group = tuple[KernelCase, ...]


def next_group(cases: Sequence[KernelCase], journal: CollectionJournal) -> Group:
    """Return the cases to compile next: similar ones together, a case that failed once alone."""
    by_key = {case.key: case for case in cases}
    left = [by_key[key] for key in journal.pending(by_key)]
    fresh = [case for case in left if not journal.begun[case.key]]
    if not fresh:
        return tuple(left[:1])
    alike = [case for case in fresh if case.kind == fresh[0].kind]
    return tuple(alike[:GROUP])


def collect(
    cases: Sequence[KernelCase], journal: CollectionJournal, lane: Lane[Group], until: float
) -> None:
    """Measure cases until all are measured or time is up; running groups are awaited."""
    waiting: set[str] = set()
    while True:
        idle = [case for case in cases if case.key not in waiting]
        while lane.free and time.monotonic() < until and (group := next_group(idle, journal)):
            journal.begin([case.key for case in group])
            waiting |= {case.key for case in group}
            idle = [case for case in idle if case not in group]
            lane.give(group)
        if not lane.busy:
            return
        wait(lane.descriptors(), timeout=0.5)
        for done in lane.take_finished():
            waiting -= {case.key for case in done.item}
            _note(done, journal)


def _note(done: Finished[Group], journal: CollectionJournal) -> None:
    """Record a group's results; give up a case that returned nothing when run alone."""
    answer = done.answer or {"lines": [], "why": str(done.death)}
    for line in answer["lines"]:
        journal.add(read_as(TimedCall, line, "timed operation of Inductor"))
    why = answer.get("why", "Inductor had no choice to make")
    for case in done.item:
        if case.key not in journal.measured and len(done.item) == 1:
            journal.fail(case.key, why)
            print(printable(f"{case.key}: {why}"), file=sys.stderr, flush=True)
    print(f"{len(journal.measured)} measured, {done.seconds:.0f} s", flush=True)


def interleaved(cases: Sequence[KernelCase]) -> list[KernelCase]:
    """Return cases in an order in which any prefix has some of each kind."""
    kinds: dict[str, list[KernelCase]] = defaultdict(list)
    for case in cases:
        kinds[case.kind].append(case)
    most = max(map(len, kinds.values()), default=0)
    ranked = [
        (place * most / len(alike), case)
        for alike in kinds.values()
        for place, case in enumerate(alike)
    ]
    return [case for _, case in sorted(ranked, key=lambda pair: pair[0] // WINDOW)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect what is missing in a file; return 0, even if time ran out."""
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cases", type=Path, default=FILE)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--count", type=int, default=64, help="choices of an operation")
    parser.add_argument("--seconds", type=float, default=540.0, help="start nothing after")
    jobs = max(1, (os.cpu_count() or 3) - 2)
    parser.add_argument("-j", "--jobs", type=int, default=jobs, help="processes")
    parser.add_argument("--held-out", action="store_true", help="cases that no model learns from")
    parser.add_argument("--kernels", nargs="*", help="cases of these kernels alone")
    parser.add_argument("--most", type=int, default=1 << 20, help="cases, at most")
    given = parser.parse_args(arguments)
    cases = [
        case
        for case in load_cases(given.cases)
        if case.held_out == given.held_out and case.kernel in (given.kernels or (case.kernel,))
    ]
    probed = ask_process(probe(given.device), "describe", 120)
    if probed.death is not None:
        print(printable(str(probed.death)), file=sys.stderr)
        return 2
    journal = CollectionJournal(given.output)
    print(f"{probed.answer['name']}, {len(cases)} cases", flush=True)
    with temporary_directory("inductor-") as folder:
        make = worker(given.device, given.count, folder / "lock")
        lane: Lane[Group] = Lane(make, given.jobs, Limits(LONGEST, None))
        try:
            chosen = interleaved(cases)[: given.most]
            collect(chosen, journal, lane, began + given.seconds)
        finally:
            lane.stop()
            journal.close()
    print(f"{len(journal.measured)} measured, {len(journal.failed)} failed", flush=True)
    return 0 if journal.measured else 2


if __name__ == "__main__":
    raise SystemExit(main())
