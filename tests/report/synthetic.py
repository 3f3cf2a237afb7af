"""Made-up records, and a page made of them as a browser would read it."""

from __future__ import annotations

import json
import random
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from graph_net.corpus.pack import Pack
from graph_net.graph.work import Work
from graph_net.report.page import write_page
from graph_net.results import (
    Config,
    ConfigKind,
    Cost,
    Device,
    Failure,
    Interval,
    Output,
    Record,
    Samples,
    Stage,
    Subject,
    Symptom,
    Timing,
    Verdict,
    to_json,
)
from graph_net.results.peaks import Peaks, identity
from graph_net.roofline.store import Rooflines, write_rooflines
from graph_net.store.records import RecordStore

DEVICE = Device("cpu", "a processor", 2, 1, 8 << 30, "Linux x86_64", "3.11", {"torch": "2.13.0"})
COMPILERS = ("inductor", "tvm", "onnxruntime")
CATEGORIES = ("computer_vision", "nlp", "audio", "multimodal")
FAMILIES = "resnet vit bert gpt swin unet convnext whisper clip mixer esm yolo".split()
EVIL = "<script>window.harmed = 1</script><img src=x onerror='window.harmed=1'>\"'&</script>"
FAILURES = (
    (Stage.COMPILE, Symptom.UNSUPPORTED, "Unsupported: aten.grid_sampler_2d"),
    (Stage.FIRST_RUN, Symptom.EXCEPTION, "RuntimeError: shapes 3 and 4 do not match"),
    (Stage.COMPILE, Symptom.TIMEOUT, "compiling took more than 600 s"),
    (Stage.VERIFY, Symptom.NON_FINITE, "output 0 is not finite"),
)
FREE = (
    (Stage.MEASURE, Symptom.TOO_NOISY, "eager differs from itself by 80 %"),
    (Stage.LOAD, Symptom.INFRASTRUCTURE, "the worker was killed from outside"),
)


def timing(speedup: float, noise: float, draw: random.Random, blocks: int = 5) -> Timing:
    """Samples around a speedup, as noisy as asked for."""

    def arm(seconds: float) -> Samples:
        return Samples(tuple(seconds * draw.lognormvariate(0, noise) for _ in range(4 * blocks)))

    verdict = Verdict.FASTER if speedup > 1.05 else Verdict.SAME
    verdict = Verdict.SLOWER if speedup < 0.95 else verdict
    off = draw.lognormvariate(0, noise / 4)
    return Timing(
        arm(1e-3), arm(1e-3), arm(1e-3 / speedup),
        Interval(speedup, speedup * (1 - noise), speedup * (1 + noise)),
        Interval(off, off * (1 - noise / 2), off * (1 + noise / 2)), verdict,
    )  # fmt: skip


def synthetic(count: int, seed: int = 0, blocks: int = 5) -> list[Record]:
    """Records of ``count`` measurements: successes, failures and what counts against nobody."""
    draw = random.Random(seed)  # noqa: S311
    made = []
    for number in range(count):
        graph, compiler = divmod(number, len(COMPILERS))
        family = FAMILIES[graph % len(FAMILIES)]
        subject = Subject(
            f"{graph:032x}", f"s{graph}", f"timm/{family}{graph}", "timm", f"{family}{graph}",
            CATEGORIES[graph % len(CATEGORIES)],
        )  # fmt: skip
        known: dict[str, Any] = {
            "subject": subject,
            "config": Config(ConfigKind.COMPILER, COMPILERS[compiler], "1.0"),
            "device": DEVICE,
            "protocol": "p",
            "cost": Cost(draw.uniform(1, 60), draw.uniform(0.1, 9), 5.0, 1 << 28, 1 << 26, 1 << 27),
            "environment": {"load": 1.5},
            "started": f"2026-11-15T08:{number % 60:02d}:00Z",
        }
        speedup = draw.lognormvariate(0.3 - 0.3 * compiler, 0.5)
        times = timing(speedup, 0.02, draw, blocks)
        output = Output("float32", (2, 3), draw.uniform(-7, 0), 1e-4, 1e-5, -6.5, -6.4)
        kind = draw.random()
        if kind < 0.82:
            known |= {"timing": times, "outputs": (output,)}
        else:
            choice = draw.choice(FREE if kind > 0.95 else FAILURES)
            known["failure"] = Failure(*choice)
            if choice[1] is Symptom.TOO_NOISY:
                known |= {"timing": times, "outputs": (output,)}
        made.append(Record(**known))
    return made


def stored(path: Path, records: list[Record]) -> Path:
    """A store of records, as parts."""
    path.mkdir(parents=True, exist_ok=True)
    # A journal in one go: the real one is synced after every record.
    (path / "run-0.jsonl").write_text("".join(f"{to_json(record)}\n" for record in records))
    RecordStore(path).compact()
    return path


class Reader(HTMLParser):
    """What a browser would make of a page: elements with their attributes, and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        self._open = [*self._open, found.get("id") or tag] if tag == "script" else self._open

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open[:-1] if tag == "script" else self._open

    def handle_data(self, data: str) -> None:
        key = self._open[-1] if self._open else "text"
        self.inside[key] = self.inside.get(key, "") + data


def page_of(tmp_path: Path, records: list[Record], pack: Pack | None = None) -> Reader:
    """The page of records, parsed."""
    target = tmp_path / "report.html"
    write_page(stored(tmp_path / "records", records), target, pack)
    return Reader(target.read_text("utf-8"))


def unpacked(line: str) -> Any:
    return json.loads(zlib.decompress(b64decode(line)))


def floored(records: list[Record], path: Path, seconds: float) -> None:
    """Keep a roofline beside records, by which every graph takes so long at least."""
    peaks = Peaks("x", "a processor", 1e9, 1e9, 0, {"float32": 1e9})
    work = {record.subject.id: Work(int(seconds * 1e9), 0) for record in records}
    write_rooflines(path, Rooflines({identity(DEVICE): peaks}, work))
