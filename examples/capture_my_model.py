"""Capture a model of your own and look at its graph.

python examples/capture_my_model.py
"""

import torch
from torch import nn

from graph_net.capture import capture
from graph_net.corpus.pack import Pack, PackWriter
from graph_net.graph.flops import count_flops


class MyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.head = nn.Linear(64, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.embed(tokens)).mean(1))


tokens = torch.randint(0, 1000, (2, 16))
captured = capture(MyModel().eval(), (tokens,))
(graph,) = captured.graphs  # several, where the model breaks the graph

print(f"captured with {captured.way}: {len(graph.nodes)} calls, {len(graph.inputs)} inputs")
print(f"structure {graph.structure}, id {graph.id}")
print(f"{count_flops(graph).total:,} floating-point operations")
for node in graph.nodes[:5]:
    print(f"  {node.name} = {node.target}")

with PackWriter("my.pack") as writer:
    writer.add("my_model", graph)
print("graphs in my.pack:", Pack("my.pack").names())
