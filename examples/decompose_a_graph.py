"""Decompose a graph into subgraphs of several kinds.

python examples/decompose_a_graph.py [GRAPH]      # the name of a graph of the corpus
"""

import sys
from collections import Counter

from graph_net.corpus.pack import Pack
from graph_net.corpus.shipped import shipped_corpus
from graph_net.graph.execute import run
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.kinds import kind_of

name = sys.argv[1] if len(sys.argv) > 1 else "monai/Classifier"
graph = Pack(shipped_corpus()).graph(name)
carver = Carver(graph)

for kind in ("sole_op", "task", "block"):
    pieces = [carver.carve(group, kind=kind) for group in kind_of(kind)(graph)]
    structures = Counter(piece.structure for piece in pieces)
    print(f"{kind}: {len(pieces)} subgraphs, {len(structures)} structures")

pieces = [carver.carve(group, kind="task") for group in kind_of("task")(graph)]
largest = max(pieces, key=lambda piece: len(piece.nodes))
print("the largest task:", " → ".join(node.target for node in largest.nodes))
outputs = run(largest)  # a subgraph is a graph like any other
print("its outputs:", [tuple(output.shape) for output in outputs])
