"""Whether intervals of scores hold the truth as often as they say.

Claim: of 200 simulated runs in each of several worlds, 95 % intervals of S(0) hold the true score
in at least 93 %. In a world every sample of every arm is simulated: eager, the control and the
candidate, block by block, as ``measure`` takes them, and what they give goes through the same
functions as what was measured: ``timing_of``, ``sample_of``, ``estimate``. A busy machine has
spells that last several blocks and slow everything in them, interruptions that hit one sample, and
for each measurement a small offset of each arm that all of its blocks share.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.common import show, verdict
from graph_net.measure.protocol import Protocol
from graph_net.measure.timing import timing_of
from graph_net.results import Config, ConfigKind, Device, Output, Record, Samples, Subject
from graph_net.score import ScoredGraph, columns, estimate, sample_of
from graph_net.score.samples import Floats

RUNS = 200
LEAST = 0.93
PER_BLOCK = 4
DRAWS = 400
CONFIG = Config(ConfigKind.COMPILER, "some")
DEVICE = Device("cpu", "simulated", 1, 1, 1 << 30, "none", "none")


@dataclass(frozen=True)
class Noise:
    """How a machine disturbs samples, as shares of their time."""

    jitter: float
    """Of each sample."""
    spells: float
    """Of all samples of a block, and of the next ones, that are alike."""
    struck: float
    """The share of samples that are interrupted …"""
    strike: float
    """… and for how long on average."""
    offset: float
    """Of all samples of an arm in one measurement."""
    blocks: int


QUIET = Noise(jitter=0.004, spells=0.01, struck=0.02, strike=0.3, offset=0.0005, blocks=10)
BUSY = Noise(jitter=0.05, spells=0.5, struck=0.4, strike=2.0, offset=0.01, blocks=8)


@dataclass(frozen=True)
class World:
    """Graphs of some families under a compiler on a machine."""

    name: str
    noise: Noise
    families: int
    each: int = 1
    mean: float = 0.0
    """Of the logarithm of the speedup over all families there could be."""
    between: float = 0.0
    within: float = 0.0


def worlds() -> Iterator[World]:
    """A/A and known speedups, on a quiet and on a busy machine, for one graph and for many."""
    for machine, noise in (("quiet", QUIET), ("busy", BUSY)):
        for families in (1, 2, 5, 30):
            graphs = "1 graph" if families == 1 else f"{families} graphs"
            yield World(f"A/A, {machine}, {graphs}", noise, families)
        yield World(f"1.3×, {machine}, 1 graph", noise, 1, mean=math.log(1.3))
        for families in (3, 8, 30):
            name = f"about 1.3×, {machine}, {families} families of 2"
            yield World(name, noise, families, 2, math.log(1.3), 0.25, 0.05)


def arm_of(random: np.random.Generator, seconds: float, load: Floats, noise: Noise) -> Samples:
    """The samples of one arm, block by block."""
    size = (noise.blocks, PER_BLOCK)
    struck = random.random(size) < noise.struck
    times = seconds * load * np.exp(noise.jitter * np.abs(random.standard_normal(size)))
    times *= 1 + struck * random.exponential(noise.strike, size)
    times *= math.exp(random.normal(0, noise.offset))
    return Samples(tuple(times.ravel().tolist()))


def load_of(random: np.random.Generator, noise: Noise) -> Floats:
    """How much slower everything is, block by block: spells that come and go, and drift within."""
    level, levels = 0.0, []
    for _ in range(noise.blocks):
        level = 0.7 * level + random.normal(0, noise.spells)
        levels.append(level)
    drift = random.normal(0, noise.spells / 20, (noise.blocks, PER_BLOCK))
    return np.asarray(np.exp(np.abs(np.array(levels))[:, None] + drift), np.float64)


def measured(
    random: np.random.Generator, name: str, family: str, log: float, noise: Noise
) -> ScoredGraph:
    """What a measurement of a graph with this speedup comes to."""
    load = load_of(random, noise)
    eager, control, candidate = (
        arm_of(random, seconds, load, noise) for seconds in (1e-3, 1e-3, 1e-3 * math.exp(-log))
    )
    timing = timing_of(eager, control, candidate, Protocol(), PER_BLOCK)
    subject = Subject(name, name, name, "simulated", family)
    outputs = (Output("float32", (1,), -64.0),)
    record = Record(subject, CONFIG, DEVICE, "p", timing=timing, outputs=outputs)
    found = sample_of(record)
    assert found is not None
    return replace(found, family=family)


def holds(world: World, seed: int, measuring: bool = True) -> tuple[bool, float]:
    """Whether the interval of one simulated run holds the truth, and how wide it is (as a log).

    Without ``measuring`` the doubt of each measurement is left out, as it was once.
    """
    random = np.random.default_rng([seed, world.families, world.noise.blocks])
    rows = []
    for family in range(world.families):
        centre = random.normal(world.mean, world.between)
        for member in range(world.each):
            log = random.normal(centre, world.within)
            rows.append(measured(random, f"{family}.{member}", str(family), log, world.noise))
    if not measuring:
        rows = [replace(row, doubt=0.0, control=None) for row in rows]
    found = estimate(columns(rows), ts=[0.0], draws=DRAWS, seed=seed).at("s", 0.0)
    return found.low <= math.exp(world.mean) <= found.high, math.log(found.high / found.low)


def coverage(world: World, runs: int = RUNS, measuring: bool = True) -> tuple[float, float]:
    """The share of runs whose interval holds the truth, and the median width."""
    found = [holds(world, seed, measuring) for seed in range(runs)]
    return sum(held for held, _ in found) / runs, float(np.median([width for _, width in found]))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    given = options.parse_args()
    rows, worst = [], 1.0
    for world in worlds():
        share, width = coverage(world, given.runs)
        without, _ = coverage(world, given.runs, measuring=False)
        worst = min(worst, share)
        rows.append([world.name, f"{share:.1%}", f"{without:.1%}", f"±{math.expm1(width / 2):.1%}"])
    header = ["world", "holds the truth", "without measuring", "median half width"]
    show(f"95 % intervals of S(0) in {given.runs} simulated runs", header, rows)
    claim = f"at least {LEAST:.0%} hold the truth in every world; the fewest are {worst:.1%}"
    return 0 if verdict(worst >= LEAST, claim) else 1


if __name__ == "__main__":
    sys.exit(main())
