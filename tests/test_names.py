"""One word, one meaning: names that the whole package shares."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/graph_net"
VAGUE = set("nouns forms known plain making parts sources utils helpers misc".split())


def test_a_public_class_name_is_defined_once() -> None:
    files = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_a_module_says_what_is_inside() -> None:
    assert [path for path in SOURCE.rglob("*") if path.stem in VAGUE] == []
