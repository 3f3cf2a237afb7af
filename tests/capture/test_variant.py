"""Zoos captured in another mode or dtype."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graph_net.capture.collect import collect
from graph_net.capture.worker import Spool
from graph_net.capture.zoo.variant import Variant
from graph_net.capture.zoo.zoo import Call, ZooEntry
from graph_net.isolate import Limits
from graph_net.testing.models import case


class Small:
    """One model."""

    library = "small"

    def entries(self) -> Iterator[ZooEntry]:
        yield ZooEntry("small", "decoder", "nlp", "causal LM", ("tiny",))

    def build(self, entry: ZooEntry) -> Call:
        assert entry == next(self.entries())
        chosen = case(entry.name)
        return Call(chosen.build(), chosen.inputs())


def test_a_variant_says_what_was_done_and_to_which_model(tmp_path: Path) -> None:
    zoo, spool = Variant(Small(), "training", "bfloat16"), Spool(tmp_path)
    (result,) = collect(zoo, zoo.entries(), spool, 1, Limits.of(180, 10.0))
    assert result.ok, result.reason
    assert result.entry.name == "decoder@training@bfloat16"
    (graph,) = spool.graphs(result)
    assert graph.provenance.model == "decoder"
    assert graph.provenance.tags == ("tiny", "training", "bfloat16")
    assert graph.provenance.option("mode") == "training"
    assert "tangents_1" in {entry.name for entry in graph.inputs}
    assert "bfloat16" in str(graph.inputs[0].spec)
