"""The corpus tasks for GPU kernels, chosen from many networks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph_net.corpus.pack import Pack
from graph_net.graph import Graph
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.triton.graphs import graph_of
from graph_net.programs.triton.layers import Module
from graph_net.programs.triton.match import find_matches
from graph_net.programs.triton.space import TritonSpace, workload_of
from graph_net.programs.triton.target import H200
from graph_net.results import canonical

MOST_TASKS = 10
"""Most tasks taken from one network, so that tasks come from many networks."""


@dataclass(frozen=True)
class Network:
    """A graph of the corpus as it is measured: its dtype, and a multiple of its own batch."""

    graph: str
    batch: int
    dtype: str

    @property
    def name(self) -> str:
        """The network's name as its tasks give it: graph, batch and dtype."""
        return f"{self.graph}@{self.batch}:{self.dtype}"


def _networks(dtype: str, text: str) -> list[Network]:
    pairs = (word.rsplit("@", 1) for word in text.split())
    return [Network(name, int(batch), dtype) for name, batch in pairs]


NETWORKS: tuple[Network, ...] = (
    *_networks(
        "float16",
        """torchvision/mobilenet_v2@32 torchvision/densenet121@8 torchvision/swin_t@16
        torchvision/vit_b_16@16 torchvision/inception_v3@16 torchvision/deeplabv3_resnet50@4
        transformers/BertModel@64 transformers/T5Model@32 transformers/OPTModel@16
        transformers/ASTModel@4 transformers/Data2VecAudioModel@8
        diffusers/UNet2DConditionModel@2 open_clip/ViT-B-32@32 open_clip/RN50@16
        monai/SEResNet50-2d@8 monai/UNETR@2 transformers/EsmModel@16
        transformers/PerceiverModel@4 transformers/DecisionTransformerModel@64""",
    ),
    *_networks(
        "bfloat16",
        """torchvision/efficientnet_b0@16 torchvision/convnext_tiny@16 torchvision/vit_l_16@8
        torchvision/maxvit_t@8 torchvision/fcn_resnet101@4 transformers/GPT2Model@16
        transformers/Qwen2Model@32 transformers/MixtralModel@16 transformers/GemmaModel@16
        transformers/ModernBertModel@32 transformers/FalconModel@16
        diffusers/StableAudioDiTModel@2 diffusers/FluxTransformer2DModel@1
        diffusers/SD3Transformer2DModel@2 open_clip/ViT-L-14@8 transformers/TimesFmModel@8
        monai/ViT@4 transformers/Qwen2_5_VisionTransformerPretrainedModel@4""",
    ),
    *_networks(
        "tf32",
        """torchvision/vgg16@8 torchvision/regnet_y_8gf@8 torchvision/squeezenet1_1@32
        transformers/DistilBertModel@32 transformers/ElectraModel@32 transformers/BloomModel@8
        transformers/SEWModel@8 transformers/EncodecModel@4 open_clip/coca_ViT-B-32@8
        monai/DenseNet121-2d@8 transformers/PatchTSTModel@16 transformers/AutoformerModel@16
        torch_geometric/Polynormer@16 transformers/Blip2QFormerModel@32""",
    ),
)
"""Networks of all six categories, at batches that fill a GPU."""
HELD_OUT = frozenset(
    network.name
    for network in NETWORKS
    if network.graph.rpartition("/")[2]
    in ("vit_l_16", "mobilenet_v2", "BertModel", "Qwen2Model", "UNet2DConditionModel", "EsmModel")
)
"""Networks held out: no model is trained on their tasks."""


def find_tasks(pack: Pack, networks: Sequence[Network] = NETWORKS) -> list[CollectedTask]:
    """Return the tasks of networks without repeats, each with its weight in every network."""
    calls: dict[str, Counter[str]] = {}
    modules: dict[str, Module] = {}
    graphs = dict(pack.graphs(sorted({network.graph for network in networks})))
    for network in networks:
        if network.graph not in graphs:
            raise ValueError(f"{network.graph} is not in {pack.path}")
        for module, count in _heaviest(network, graphs[network.graph]):
            key = canonical(module)
            modules[key] = module
            calls.setdefault(key, Counter())[network.name] += count
    return [kernel_task(modules[key], calls[key]) for key in modules]


def kernel_task(module: Module, weights: Mapping[str, int]) -> CollectedTask:
    """Return the portable task of a kernel that networks call."""
    workload = workload_of(module)
    graph = graph_of(TritonSpace(workload, H200.text).family)
    return CollectedTask(workload, graph.structure, graph.id, weights=dict(weights), portable=True)


def _heaviest(network: Network, graph: Graph) -> Iterable[tuple[Module, int]]:
    """Return a network's tasks with the most work, taken in turn from each kind of kernel."""
    counts: Counter[str] = Counter()
    modules: dict[str, Module] = {}
    for match in find_matches(graph, network.dtype, network.batch):
        key = canonical(match.module)
        modules[key] = match.module
        counts[key] += 1
    kinds: dict[str, list[str]] = defaultdict(list)
    for key, module in modules.items():
        kinds[module["kernel"]].append(key)
    for keys in kinds.values():
        keys.sort(key=lambda key: counts[key] * workload_of(modules[key]).flops)
    chosen: list[str] = []
    while any(kinds.values()) and len(chosen) < MOST_TASKS:
        chosen += [keys.pop() for keys in kinds.values() if keys]
    return [(modules[key], counts[key]) for key in chosen[:MOST_TASKS]]
