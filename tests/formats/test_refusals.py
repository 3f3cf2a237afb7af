"""Bad samples: each is refused with a GraphError that names the place, and nothing is executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from formats.bad_samples import write
from formats.constructs import FIRST_LINE, IMPORTS, source_of
from graph_net.formats.graphnet import read_sample
from graph_net.graph import GraphError

# -- what the body of forward may not hold ------------------------------------------------------

BODIES = {
    "an unknown name": ("return torch.relu(q)", "unknown name 'q'"),
    "an unknown function": ("return torch.fire_missiles(x)", "torch.fire_missiles"),
    "an unknown method": ("return x.fire_missiles()", "fire_missiles"),
    "a function that loads code": ("return torch.load('p')", "torch.load"),
    "a function that loads a library": ("torch.ops.load_library('p')\nreturn x", "load_library"),
    "a compiler": ("return torch.compile(x)", "torch.compile"),
    "an unknown attribute": ("return x.__class__", "__class__"),
    "an attribute of a function": ("return torch.relu.__globals__", "__globals__"),
    "a private attribute": ("return x.grad_fn", "grad_fn"),
    "a method with underscores": ("return x.__reduce__()", "__reduce__"),
    "a call of a call": ("return torch.relu(x)(i)", "Call"),
    "a call of a subscript": ("return x[0](i)", "Subscript"),
    "a lambda": ("return (lambda: x)()", "Lambda"),
    "a comprehension": ("return [y for y in x]", "ListComp"),
    "a generator": ("return sum(y for y in x)", "GeneratorExp"),
    "an f-string": ("return x.view(f'{x}')", "JoinedStr"),
    "a conditional": ("return x if s else i", "IfExp"),
    "a boolean operator": ("return x and i", "BoolOp"),
    "a chain of comparisons": ("return 0 < s < 3", "Compare"),
    "membership": ("return s in (1, 2)", "Compare"),
    "bytes": ("return x.view(b'a')", "Constant"),
    "a set": ("return {x}", "Set"),
    "a named expression": ("return (y := x)", "NamedExpr"),
    "await": ("return await_(x)", "await_"),
    "star arguments": ("return torch.cat(*x)", "Starred"),
    "star unpacking": ("y, *z = x.unbind()\nreturn y", "Starred"),
    "**keywords": ("return torch.relu(x, **i)", r"\*\*keywords"),
    "a key that is no string": ("return {1: x}", "key"),
    "spreading a dictionary": ("return {**x}", "key"),
    "another length": ("y, z = (x, i, b)\nreturn y", "another length"),
    "a write to an attribute": ("x.data = i\nreturn x", "x.data"),
    "an in-place write to an attribute": ("x.data += i\nreturn x", "x.data"),
    "if": ("if s:\n    pass\nreturn x", "If"),
    "for": ("for y in x:\n    pass\nreturn x", "For"),
    "while": ("while s:\n    pass\nreturn x", "While"),
    "with": ("with x:\n    pass\nreturn x", "With"),
    "try": ("try:\n    pass\nfinally:\n    pass\nreturn x", "Try"),
    "raise": ("raise x", "Raise"),
    "assert": ("assert x", "Assert"),
    "an import": ("import os\nreturn x", "Import"),
    "global": ("global x\nreturn x", "Global"),
    "a function inside": ("def f():\n    pass\nreturn x", "FunctionDef"),
    "a class inside": ("class C:\n    pass\nreturn x", "ClassDef"),
    "a device that is no call": ("return x.to(torch.device)", "torch.device"),
}


@pytest.mark.parametrize(("body", "reason"), BODIES.values(), ids=BODIES)
def test_what_no_graph_can_hold(tmp_path: Path, body: str, reason: str) -> None:
    with pytest.raises(GraphError, match=reason) as caught:
        read_sample(write(tmp_path / "sample", body))
    assert f"(line {FIRST_LINE}" in str(caught.value)
    assert caught.value.line == FIRST_LINE


ATTACKS = (
    'os.system("touch SENTINEL")',
    'posix.system("touch SENTINEL")',
    'subprocess.run(["touch", "SENTINEL"])',
    'pathlib.Path("SENTINEL").touch()',
    'open("SENTINEL", "w")',
    'eval("open(\'SENTINEL\', \'w\')")',
    'exec("open(\'SENTINEL\', \'w\')")',
    '__import__("os").system("touch SENTINEL")',
    '__builtins__["open"]("SENTINEL", "w")',
    'getattr(x, "__class__")',
    'getattr(torch, "os").system("touch SENTINEL")',
    'torch.os.system("touch SENTINEL")',
    'torch.ops.os.system.evil.deep("touch SENTINEL")',
    'operator.methodcaller("touch")("SENTINEL")',
    'torch.save(x, "SENTINEL")',
    'torch.utils.cpp_extension.load("SENTINEL")',
    'torch.hub.load("SENTINEL", "x")',
    'x.numpy().tofile("SENTINEL")',
    'torch.from_file("SENTINEL", True, 3)',
    'torch.ops.aten.from_file("SENTINEL", True, 3)',
    '().__class__.__base__.__subclasses__()',
    'relu("touch SENTINEL")',
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("place", ["in the body", "in the module", "in the class", "as a default"])
def test_nothing_is_executed(
    tmp_path: Path, attack: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    imports = "import os, posix, subprocess, pathlib, operator\nfrom os import system as relu\n"
    body = source_of(f"{attack}\nreturn x")
    if place == "in the module":
        body = f"{source_of('return x')}\n{attack}\n"
    elif place == "in the class":
        body = f"{source_of('return x')}    y = {attack}\n"
    elif place == "as a default":
        body = source_of("return x").replace("s: torch.SymInt", f"s: torch.SymInt = {attack}")
    directory = write(tmp_path / "sample")
    (directory / "model.py").write_text(imports + body)
    with pytest.raises(GraphError, match=r"\(line \d+"):
        read_sample(directory)
    assert [left.name for left in tmp_path.iterdir()] == ["sample"]


# -- the module around it -----------------------------------------------------------------------

MODULES = {
    "nothing": ("", "no class with a forward"),
    "no class": ("import torch\n", "no class with a forward"),
    "no forward": ("class A:\n    pass\n", "no class with a forward"),
    "no return": (source_of("y = x"), "returns nothing"),
    "a syntax error": (source_of("return ((x)"), "model.py is not valid Python.*line"),
    "a null character": (source_of("return x\0"), "model.py .*null"),
    "star arguments": (source_of("return x", "*x"), "line 8"),
    "keyword-only arguments": (source_of("return x", "*, x"), "line 8"),
    "no self": ("class A:\n    def forward():\n        return 1\n", "line 2"),
    "a decorator": (
        "class A:\n    @torch.compile\n    def forward(self):\n        return 1\n", "line 3"),
    "a class decorator": (
        "@torch.compile\nclass A:\n    def forward(self):\n        return 1\n", "line 1"),
    "another forward": (source_of("return x") + "    def forward(self):\n        return 1\n",
                        "line 10"),
    "another method": (source_of("return x") + "    def __call__(self):\n        return 1\n",
                       "line 10"),
    "another class": (source_of("return x") + "class B:\n    pass\n", "line 10"),
    "code around it": (IMPORTS + "torch.relu = torch.sigmoid\n" + source_of("return x"), "line 7"),
    "many brackets": (source_of("return " + "(" * 150 + "x" + ",)" * 150), "nested|parsed|valid"),
    "many signs": (source_of("return " + "-" * 100_000 + "x"), "nested|parsed|valid"),
    "many terms": (source_of("return " + "x + " * 50_000 + "x"), "nested|parsed|valid"),
    "many attributes": (source_of("return x" + ".T" * 50_000), "nested|parsed|valid"),
    "many unknown attributes": (source_of("return q" + ".T" * 900), "nested|unknown name"),
    "many methods": (source_of("return x" + ".t()" * 20_000), "nested|parsed|valid"),
    "many subscripts": (source_of("return x" + "[0]" * 900), "nested|parsed|valid"),
    "a huge number": (source_of("return x + 1" + "0" * 10_000), "valid|parsed|large"),
    "a lone surrogate": (source_of("return x.view('\\ud800')"), "lone surrogate.*node view_v1"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "reason"), MODULES.values(), ids=MODULES)
def test_a_module_that_is_no_model(tmp_path: Path, source: str, reason: str) -> None:
    directory = write(tmp_path / "sample")
    (directory / "model.py").write_text(source)
    with pytest.raises(GraphError, match=reason):
        read_sample(directory)
