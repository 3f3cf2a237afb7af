"""Directories to serve: packs, two runs, programs and a model, with hostile names among them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from graph_net.corpus.pack import PackWriter
from graph_net.learn.cost_model import Domain, ModelHeader
from graph_net.results import Config, ConfigKind, Failure, Record, Stage, Subject, Symptom
from programs.view.shown_programs import shown
from report.synthetic import EVIL, stored, synthetic
from report.test_programs_page import evil_programs
from serve.drawn_graphs import LAYER, chain, layers

FORMULA = "=HYPERLINK(1)"
DEEP = layers(60, "deep")
OTHER = chain((*LAYER * 30, "torch.exp", *LAYER * 29, "torch.relu", "torch.tanh"), name="other")


def make(folder: Path) -> Path:
    """Write everything into a folder."""
    with PackWriter(folder / "pack") as writer:
        writer.add("deep", DEEP)
        writer.add("other", OTHER)
        for number, name in enumerate((EVIL, FORMULA)):
            writer.add(name, chain(("torch.relu", *LAYER[: number + 1]), name=EVIL))
        for number in range(60):
            writer.add(f"small{number:02d}", chain(("torch.exp",) * (number + 2), name="small"))
    stored(folder / "old", [*synthetic(36), *of_deep()])
    stored(folder / "new", [*synthetic(36, seed=0)[:18], *synthetic(36, seed=5)[18:], *hostile()])
    shown(folder / "tuned", *evil_programs())
    model(folder / "model")
    return folder


def of_deep() -> list[Record]:
    """Measurements of the deep graph, one of which failed."""
    good = next(record for record in synthetic(9) if record.failure is None)
    bad = next(record for record in synthetic(90) if record.outputs == ())
    subject = Subject(DEEP.id, DEEP.structure, "deep", "tests", "deep", "nlp")
    return [replace(one, subject=subject) for one in (good, bad)]


def hostile() -> list[Record]:
    """Records whose every text means harm."""
    good, bad = synthetic(2, seed=1)
    subject = replace(good.subject, id=EVIL, name=EVIL, model=EVIL, category=EVIL)
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, EVIL, EVIL)
    config = Config(ConfigKind.COMPILER, "inductor", "1.0", {"mode": EVIL})
    good = replace(good, subject=subject, config=config, environment={EVIL: EVIL})
    return [good, replace(bad, subject=subject, failure=failure, timing=None, outputs=())]


def model(folder: Path) -> None:
    """A saved model, as far as its page reads it."""
    folder.mkdir()
    domain = Domain(("flops",), (0.0,), (1.0,), ("matmul",), (EVIL,), 3, 40)
    header = ModelHeader("lightgbm", 0, json.dumps({"rounds": 7}), domain)
    (folder / "model.json").write_text(json.dumps(asdict(header)))
    card = f"# Cost model\n\n{EVIL} `code`\n\n| metric | model |\n|---|---|\n| top-1 | {EVIL} |\n"
    (folder / "README.md").write_text(card)
