"""One word, one meaning: names that the whole package shares."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/graph_net"
UNSAFE = {"pickle", "shelve", "dill", "cloudpickle", "joblib"}
VAGUE = set("nouns forms known plain making parts sources utils helpers misc".split())
MOST_VAGUE = {
    "found": 205, "place": 182, "known": 101, "word": 64, "given": 27, "made": 12, "of": 4,
}  # fmt: skip
"""Variables and parameters whose names hide what they hold. These numbers only fall."""


def test_a_public_class_name_is_defined_once() -> None:
    files = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_every_package_says_what_is_public() -> None:
    """A package with an empty list offers modules alone."""
    packages = sorted(SOURCE.rglob("__init__.py"))
    assert [path for path in packages if "__all__" not in _assigned(path)] == []


def _assigned(path: Path) -> set[str]:
    """Return the names that a module assigns at its top level."""
    nodes = ast.parse(path.read_text("utf-8")).body
    targets = [t for node in nodes if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in nodes if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_a_module_says_what_is_inside() -> None:
    assert [path for path in SOURCE.rglob("*") if path.stem in VAGUE] == []


def test_no_more_variables_hide_what_they_hold() -> None:
    """Name a new one for what it holds; lower a number when some are renamed."""
    counts = Counter(
        node.arg if isinstance(node, ast.arg) else node.id
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )
    vague = {name: counts[name] for name in MOST_VAGUE}
    assert {name: n for name, n in vague.items() if n > MOST_VAGUE[name]} == {}


def test_nothing_is_unpickled() -> None:
    """Not even what a process of our own says: it may have read a stranger's file.

    The other way is safe: a worker unpickles the items that the process which forked it sends.
    """
    found = [
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else node.names)
        if (name.name if isinstance(name, ast.alias) else name or "").partition(".")[0] in UNSAFE
    ]
    assert found == ["isolate/worker.py"]
