"""Checks that every graph of a pack loads with another torch: its names, its calls, its shapes.

    python -m tools.check_stability make corpus -o build/stability.zip   # here
    python build/stability.zip -o resolves.txt                           # there

``make`` needs this package installed; the file it writes holds the graphs and the code, and needs
torch, numpy and the standard library. There each graph is read, every target resolved, and every
call made on tensors without values; what comes out is compared with what the graph says. The names
that resolve are written down, one a line, under a line that says with which torch and how many
graphs passed. ``tests/corpus/test_stability.py`` holds the corpus against that file.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CODE = ("graph", "rewrite")
MODULES = ("__init__.py", "printable.py", "user_file.py")
_MAIN = (
    "import sys\n\nsys.dont_write_bytecode = True\nfrom check_stability import check\n\ncheck()\n"
)
Verdict = tuple[str, str, list[str]]
"""A graph's name, what is wrong with it (nothing if nothing), and the names that resolve."""


def make(pack: Path, output: Path) -> None:
    """Write graphs and code into one file."""
    import graph_net
    from graph_net.corpus.pack import Pack
    from graph_net.graph import to_bytes

    source = Path(graph_net.__file__).parent
    opened = Pack(pack)
    names = opened.names()
    output.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("__main__.py", _MAIN)
        bundle.write(__file__, "check_stability.py")
        for module in MODULES:
            bundle.write(source / module, f"graph_net/{module}")
        for package in CODE:
            for file in sorted((source / package).rglob("*")):
                if file.suffix in (".py", ".txt"):
                    bundle.write(file, f"graph_net/{file.relative_to(source)}")
        for number, (_, graph) in enumerate(opened.graphs(names)):
            bundle.writestr(f"graphs/{number}", to_bytes(graph))
        bundle.writestr("names.json", json.dumps(names))
    print(f"{output}: {len(names)} graphs; run `python {output.name}`")


def check(arguments: list[str] | None = None) -> None:
    """Check the graphs of the file that this runs from."""
    parser = argparse.ArgumentParser(prog="python stability.zip")
    parser.add_argument("-o", "--output", type=Path, help="where the names that resolve go")
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=int, help="at most so many graphs")
    parser.add_argument(
        "--every", type=int, default=1, help="call every so-manieth graph without values; read all"
    )
    parser.add_argument("--bundle", default=sys.path[0], help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    verdicts = list(_verdicts(given.bundle, given.jobs, given.limit, given.every))
    failures = {name: why for name, why, _ in verdicts if why}
    resolved = sorted({target for _, _, targets in verdicts for target in targets})
    head = headline(len(verdicts) - len(failures), len(verdicts), given.every)
    for name, why in failures.items():
        print(f"{name}: {why}")
    print(head)
    if given.output is not None:
        given.output.write_text("\n".join([f"# {head}", *resolved]) + "\n", "utf-8")
    sys.exit(1 if failures else 0)


def headline(passed: int, total: int, every: int) -> str:
    """What was checked, with which torch."""
    import torch

    part = "" if every == 1 else f" (these one in {every})"
    what = f"graphs load, resolve and propagate{part}"
    return f"torch {torch.__version__}: {passed} of {total} {what}"


def _verdicts(bundle: str, jobs: int, limit: int | None, every: int) -> Iterator[Verdict]:
    import torch

    torch.set_num_threads(1)  # a parent of forks runs no threads
    with zipfile.ZipFile(bundle) as opened:
        names = json.loads(opened.read("names.json"))[:limit]
    work = [(bundle, number, name, number % every == 0) for number, name in enumerate(names)]
    seen: Counter[bool] = Counter()
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=200) as pool:
        for verdict in pool.imap_unordered(_verdict, work, chunksize=4):
            seen[not verdict[1]] += 1
            if sys.stderr.isatty() or sum(seen.values()) % 200 == 0:
                print(f"{sum(seen.values())}/{len(work)}, {seen[False]} fail", file=sys.stderr)
            yield verdict


def _verdict(work: tuple[str, int, str, bool]) -> Verdict:
    from graph_net.graph import GraphError, from_bytes
    from graph_net.graph.resolve import resolve

    bundle, number, name, call = work
    try:
        with zipfile.ZipFile(bundle) as opened:
            graph = from_bytes(opened.read(f"graphs/{number}"))
    except GraphError as error:
        return name, f"does not load: {error}", []
    resolved, missing = [], []
    for target in sorted({node.target for node in graph.nodes}):
        try:
            resolve(target)
            resolved.append(target)
        except GraphError as error:
            missing.append(str(error))
    if missing:
        return name, "; ".join(missing), resolved
    return name, wrong_shapes(graph) if call else "", resolved


def wrong_shapes(graph: object) -> str:
    """What a run without values finds that the graph does not say; nothing where all agrees."""
    from graph_net.graph import Graph, GraphError, TensorSpec
    from graph_net.rewrite.variant.propagate import propagate

    assert isinstance(graph, Graph)
    try:
        found = propagate(graph)
    except GraphError as error:
        return f"does not propagate: {error}"
    except Exception as error:
        return f"does not propagate: {type(error).__name__}: {str(error).strip()[:200]}"
    for before, after in zip(graph.nodes, found.nodes, strict=True):
        old, new = before.result, after.result
        if isinstance(old, TensorSpec) and isinstance(new, TensorSpec):
            known = all(isinstance(size, int) for size in (*old.shape, *new.shape))
            if old.dtype != new.dtype or (known and old.shape != new.shape):
                return f"{before.name} is {new.dtype}{new.shape}, not {old.dtype}{old.shape}"
    return ""


def main(arguments: list[str] | None = None) -> None:
    """``make PACK -o FILE`` here; ``check --bundle FILE`` without copying it anywhere."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["make"]:
        parser = argparse.ArgumentParser(prog="python -m tools.check_stability make")
        parser.add_argument("pack", type=Path)
        parser.add_argument("-o", "--output", type=Path, default=Path("build/stability.zip"))
        given = parser.parse_args(words[1:])
        make(given.pack, given.output)
    elif words[:1] == ["check"]:
        check(words[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
