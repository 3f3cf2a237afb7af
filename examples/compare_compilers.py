"""Compare two compilers on a few graphs: measure, store, score.

python examples/compare_compilers.py [COMPILERS]      # such as inductor,onnxruntime
"""

import sys
from pathlib import Path

from graph_net.corpus.pack import Pack
from graph_net.corpus.shipped import shipped_corpus
from graph_net.corpus.subjects import read_subjects
from graph_net.measure import MeasureLimits, Protocol, measure
from graph_net.measure.device import describe
from graph_net.measure.plan import make_tasks, parse_compilers
from graph_net.score import estimate, load
from graph_net.store.records import RecordStore

GRAPHS = ["monai/Classifier", "monai/FullyConnectedNet"]
TRACED = Path(__file__).with_name("add_a_compiler.py")

words = sys.argv[1] if len(sys.argv) > 1 else f"eager,{TRACED}:Traced"
configs = parse_compilers(words)
graphs = read_subjects(Pack(shipped_corpus()), GRAPHS)
# 0.1 s is enough to see how it works, not to judge a compiler; graph-net bench takes 5 s.
todo = make_tasks(graphs, configs, describe("cpu"), Protocol(seconds=0.1), MeasureLimits())
store = RecordStore(Path("build/records"))
with store.locked(), store.journal() as journal:
    for record in measure(todo, jobs=2, compilers=[config.name for config in configs]):
        journal.add(record)  # from here on it survives a kill
        outcome = "failed" if record.speedup is None else f"{record.speedup.value:.2f}×"
        print(f"{record.subject.name} under {record.config.label}: {outcome}")
for compiler, samples in load([store.path]).items():
    print(f"{compiler}: S(-3) = {estimate(samples).at('s', -3).value:.3f} ({len(samples)} graphs)")
