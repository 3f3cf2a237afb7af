"""Read a GraphNet sample without executing its code, run it, and write it again.

python examples/read_a_sample.py [SAMPLE_DIRECTORY]
"""

import sys
from pathlib import Path

from graph_net.corpus.pack import Pack
from graph_net.corpus.shipped import shipped_corpus
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph.execute import run
from graph_net.rewrite.lower import to_aten


def make_sample(directory: Path) -> Path:
    """Write a graph of the corpus as a sample directory, for readers without one."""
    write_sample(Pack(shipped_corpus()).graph("monai/Classifier"), directory)
    return directory


sample = Path(sys.argv[1]) if len(sys.argv) > 1 else make_sample(Path("samples/classifier"))
print(sorted(path.name for path in sample.iterdir()))

graph = read_sample(sample)  # model.py is parsed; nothing in it is called
print(f"level {graph.level.value}: {len(graph.nodes)} calls")
for entry in graph.inputs[:3]:
    print(f"  {entry.name}: {entry.spec}, values from {entry.recipe}")

outputs = run(graph)  # on tensors drawn from the recipes: the same on every machine
print("outputs:", [tuple(output.shape) for output in outputs])

lowered = to_aten(graph)  # pre-dispatch ATen operators, traced without weights
print(f"lowered to level {lowered.level.value}: {len(lowered.nodes)} calls")
