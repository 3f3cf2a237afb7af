"""One small ``forward`` for each kind of statement and expression that samples hold."""

from __future__ import annotations

from dataclasses import dataclass

ARGUMENTS = "x: torch.Tensor, i: torch.Tensor, b: torch.Tensor, s: torch.SymInt"
IMPORTS = "import torch\nimport math\nfrom torch import device\nfrom torch import inf\n\n\n"
FIRST_LINE = 9
"""The line of a model's source on which its body begins."""


def source_of(body: str, arguments: str = ARGUMENTS) -> str:
    """A ``model.py`` whose ``forward`` has this body."""
    lines = [f"        {line}" for line in body.split("\n")]
    head = ["class GraphModule(torch.nn.Module):", f"    def forward(self, {arguments}):"]
    return IMPORTS + "\n".join([*head, *lines, ""])


@dataclass(frozen=True, slots=True)
class Construct:
    """The body of a ``forward(x, i, b, s)`` and the calls it must be read as."""

    what: str
    body: str
    calls: str
    output: str


CONSTRUCTS = (
    # -- assignments
    Construct("a call", "y = torch.relu(x)\nreturn (y,)", "y = torch.relu(x)", "(y,)"),
    Construct("no call", "return (x, i)", "", "(x, i)"),
    Construct("an alias", "y = x\nz = y\nreturn torch.relu(z)",
              "relu_v1 = torch.relu(x)", "relu_v1"),
    Construct(
        "a freed value",
        "y = torch.relu(x);  x = None\nz = y.abs();  y = None\nreturn (z,)",
        "y = torch.relu(x)\nz = method:abs(y)",
        "(z,)",
    ),
    Construct("freed together", "y = x + 1\nx = y = i = None\nreturn (y, x)",
              "y = operator.add(x, 1)", "(None, None)"),
    Construct(
        "a name used again",
        "y = torch.relu(x)\ny = torch.abs(y)\nreturn y",
        "y = torch.relu(x)\ny_v1 = torch.abs(y)",
        "y_v1",
    ),
    Construct(
        "an argument's name used again",
        "x = torch.relu(x)\nreturn x",
        "x_v1 = torch.relu(x)",
        "x_v1",
    ),
    Construct(
        "an argument's other name used again",
        "y = x\nz = torch.relu(y)\ny = torch.abs(z)\nreturn y - x",
        "z = torch.relu(x)\ny = torch.abs(z)\nsub_v1 = operator.sub(y, x)",
        "sub_v1",
    ),
    Construct("one other name for two arguments", "t = x\ny = t.abs()\nt = i\nreturn (t, x, y)",
              "y = method:abs(x)", "(i, x, y)"),
    Construct("an argument's name for another", "i = x\ny = i.abs()\nreturn (i, x, y)",
              "y = method:abs(x)", "(x, x, y)"),
    Construct("chained", "y = z = x.abs()\nreturn (y, z)", "abs_v1 = method:abs(x)",
              "(abs_v1, abs_v1)"),
    Construct("annotated", "y: torch.Tensor = x.abs()\nreturn y", "y = method:abs(x)", "y"),
    Construct(
        "a statement that is only a call",
        "torch._C._log_api_usage_once('a')\nx.add_(1)\nreturn x",
        "log_api_usage_once_v1 = torch._C._log_api_usage_once('a')\nadd_v2 = method:add_(x, 1)",
        "x",
    ),
    Construct(
        "unpacking",
        "v, w = x.topk(2)\nreturn (v, w)",
        "topk_v1 = method:topk(x, 2)\nv = operator.getitem(topk_v1, 0)\n"
        "w = operator.getitem(topk_v1, 1)",
        "(v, w)",
    ),
    Construct(
        "nested unpacking",
        "(p, (q, r)) = (x, i.chunk(2))\nreturn (p, q, r)",
        "chunk_v1 = method:chunk(i, 2)\nq = operator.getitem(chunk_v1, 0)\n"
        "r = operator.getitem(chunk_v1, 1)",
        "(x, q, r)",
    ),
    Construct("swapping", "x, i = i, x\nreturn (x, i)", "", "(i, x)"),
    Construct(
        "in-place operator as FX writes it",
        "x += 1;  y = x;  x = None\nreturn y",
        "y = operator.iadd(x, 1)",
        "y",
    ),
    Construct(
        "in-place operator on an alias",
        "y = x\ny *= 2\nreturn (x, y)",
        "imul = operator.imul(x, 2)",
        "(x, imul)",
    ),
    Construct(
        "in-place operator on a number",
        "t = s\nt += 1\nreturn (s, t)",
        "iadd = operator.iadd(s, 1)",
        "(s, iadd)",
    ),
    Construct(
        "in-place operator on a slice",
        "x[0] += 1\nreturn x",
        "getitem_v1 = operator.getitem(x, 0)\niadd = operator.iadd(getitem_v1, 1)\n"
        "setitem = operator.setitem(x, 0, iadd)",
        "x",
    ),
    Construct("in-place method", "y = x.mul_(2)\nreturn (x, y)", "y = method:mul_(x, 2)", "(x, y)"),
    Construct(
        "a write into a slice as FX writes it",
        "x[slice(None, 1, None)] = 0;  setitem = x;  x = setitem = None\nreturn i",
        "setitem = operator.setitem(x, slice(None, 1, None), 0)",
        "i",
    ),
    Construct(
        "a write into places",
        "y = x.clone()\ny[..., None, 0:2:1, -1] = y[1, 1, 0]\ny[b] = 5\nreturn y",
        "y = method:clone(x)\ngetitem_v1 = operator.getitem(y, (1, 1, 0))\n"
        "setitem = operator.setitem(y, (..., None, slice(0, 2, 1), -1), getitem_v1)\n"
        "setitem_v2 = operator.setitem(y, b, 5)",
        "y",
    ),
    # -- subscripts
    Construct(
        "slices",
        "y = x[:, 1:, ::2]\nreturn y",
        "y = operator.getitem(x, (slice(None, None, None), slice(1, None, None), "
        "slice(None, None, 2)))",
        "y",
    ),
    Construct(
        "slices as calls",
        "y = x[(slice(None, s, None), Ellipsis, None)]\nz = x[slice(1)]\nreturn (y, z)",
        "y = operator.getitem(x, (slice(None, s, None), ..., None))\n"
        "z = operator.getitem(x, slice(None, 1, None))",
        "(y, z)",
    ),
    Construct("by a tensor", "y = x[[0, 1], i.abs()]\nreturn y",
              "abs_v1 = method:abs(i)\ny = operator.getitem(x, ([0, 1], abs_v1))", "y"),
    # -- calls
    Construct(
        "keywords",
        "y = torch.sum(x, dim = (0, -1), keepdim = True)\nreturn y",
        "y = torch.sum(x, dim=(0, -1), keepdim=True)",
        "y",
    ),
    Construct(
        "a method of a call",
        "return torch.relu(x).mean(0).sum((0, 1))",
        "relu_v1 = torch.relu(x)\nmean_v2 = method:mean(relu_v1, 0)\n"
        "sum_v3 = method:sum(mean_v2, (0, 1))",
        "sum_v3",
    ),
    Construct(
        "private names",
        "y = torch._C._nn.gelu(x, approximate = 'tanh')\n"
        "z = torch.functional.einsum('ijk->kj', y)\n"
        "return torch._C._fft.fft_rfft(z)",
        "y = torch.nn.functional.gelu(x, approximate='tanh')\nz = torch.einsum('ijk->kj', y)\n"
        "rfft_v1 = torch.fft.rfft(z)",
        "rfft_v1",
    ),
    Construct(
        "registered operators",
        "y = torch.ops.aten.index(x, [None, b[0]])\nreturn torch.ops.aten.sym_size.int(y, 0)",
        "getitem_v1 = operator.getitem(b, 0)\ny = aten.index(x, [None, getitem_v1])\n"
        "int_v2 = aten.sym_size.int(y, 0)",
        "int_v2",
    ),
    Construct(
        "globals of FX",
        "y = s == 3\nreturn _operator_not_(y)",
        "y = operator.eq(s, 3)\nnot_v1 = operator.not_(y)",
        "not_v1",
    ),
    Construct("math", "import_free = math.floor(s / 2)\nreturn import_free",
              "truediv_v1 = operator.truediv(s, 2)\nimport_free = math.floor(truediv_v1)",
              "import_free"),
    Construct("builtins", "return (max(s, 3), min(s, 3), abs(s), float(s), int(s), bool(s))",
              "max_v1 = builtins.max(s, 3)\nmin_v2 = builtins.min(s, 3)\n"
              "abs_v3 = builtins.abs(s)\nfloat_v4 = builtins.float(s)\n"
              "int_v5 = builtins.int(s)\nbool_v6 = builtins.bool(s)",
              "(max_v1, min_v2, abs_v3, float_v4, int_v5, bool_v6)"),
    # -- attributes, sizes
    Construct(
        "attributes",
        "y = x.shape[0]\nz = x.mT\nreturn (y, z, i.ndim, x.topk(1).values)",
        "getattr_v1 = builtins.getattr(x, 'shape')\ny = operator.getitem(getattr_v1, 0)\n"
        "z = builtins.getattr(x, 'mT')\ngetattr_v2 = builtins.getattr(i, 'ndim')\n"
        "topk_v3 = method:topk(x, 1)\ngetattr_v4 = builtins.getattr(topk_v3, 'values')",
        "(y, z, getattr_v2, getattr_v4)",
    ),
    Construct(
        "arithmetic on sizes",
        "size = x.size();  n = size[1]\nm = (n + 3) // 2 * s\n"
        "return x.new_zeros(m, n % 2 + 1, -s + 9)",
        "size = method:size(x)\nn = operator.getitem(size, 1)\nadd_v1 = operator.add(n, 3)\n"
        "floordiv_v2 = operator.floordiv(add_v1, 2)\nm = operator.mul(floordiv_v2, s)\n"
        "mod_v3 = operator.mod(n, 2)\nadd_v4 = operator.add(mod_v3, 1)\nneg_v5 = operator.neg(s)\n"
        "add_v6 = operator.add(neg_v5, 9)\nnew_zeros_v7 = method:new_zeros(x, m, add_v4, add_v6)",
        "new_zeros_v7",
    ),
    Construct("torch.Size", "y = torch.Size([s, 3])\nreturn torch.zeros(y)",
              "y = torch.Size([s, 3])\nzeros_v1 = torch.zeros(y)", "zeros_v1"),
    # -- constants
    Construct(
        "infinities",
        "y = x.masked_fill(b, -inf)\nz = torch.full((2,), inf)\n"
        "return (y, z, x.clamp(max = float('inf')))",
        "y = method:masked_fill(x, b, -inf)\nz = torch.full((2,), inf)\n"
        "float_v1 = builtins.float('inf')\nclamp_v2 = method:clamp(x, max=float_v1)",
        "(y, z, clamp_v2)",
    ),
    Construct("nan", "return torch.full((1,), torch.nan)", "full_v1 = torch.full((1,), nan)",
              "full_v1"),
    Construct("negative numbers", "return x.sum(-1) * -1.5 + +2 - 1e-05",
              "sum_v1 = method:sum(x, -1)\nmul_v2 = operator.mul(sum_v1, -1.5)\n"
              "add_v3 = operator.add(mul_v2, 2)\nsub_v4 = operator.sub(add_v3, 1e-05)", "sub_v4"),
    Construct("complex numbers", "return x * 2j + complex(0.5, -1.0)",
              "mul_v1 = operator.mul(x, 2j)\nadd_v2 = operator.add(mul_v1, (0.5-1j))", "add_v2"),
    Construct(
        "dtypes and layouts",
        "y = x.to(torch.float64).to(dtype = torch.half)\nz = i.to(torch.long)\n"
        "return (y, z, x[None].contiguous(memory_format = torch.channels_last), "
        "torch.zeros(2, layout = torch.strided))",
        "to_v1 = method:to(x, torch.float64)\ny = method:to(to_v1, dtype=torch.float16)\n"
        "z = method:to(i, torch.int64)\ngetitem_v2 = operator.getitem(x, None)\n"
        "contiguous_v3 = method:contiguous(getitem_v2, memory_format=torch.channels_last)\n"
        "zeros_v4 = torch.zeros(2, layout=torch.strided)",
        "(y, z, contiguous_v3, zeros_v4)",
    ),
    Construct(
        "devices",
        "y = torch.zeros(2, device = device(type='cuda', index=0))\n"
        "z = torch.ones(2, device = 'cuda:0').to(device(type='cuda'))\n"
        "return (y, z.to('cuda'), z.cuda(), z.cpu(), torch.eye(2, device = torch.device('cpu')))",
        "y = torch.zeros(2, device=<device>)\nones_v1 = torch.ones(2, device=<device>)\n"
        "z = method:to(ones_v1, <device>)\nto_v2 = method:to(z, <device>)\n"
        "to_v3 = method:to(z, <device>)\nto_v4 = method:to(z, <device>)\n"
        "eye_v5 = torch.eye(2, device=<device>)",
        "(y, to_v2, to_v3, to_v4, eye_v5)",
    ),
    Construct(
        "nested containers",
        "y = torch.cat([x, torch.stack((x[0], x[1]))], 0)\n"
        "return {'y': [y, (x, {'deep': None})], 'n': (1, 'a', True)}",
        "getitem_v1 = operator.getitem(x, 0)\ngetitem_v2 = operator.getitem(x, 1)\n"
        "stack_v3 = torch.stack((getitem_v1, getitem_v2))\ny = torch.cat([x, stack_v3], 0)",
        "{'y': [y, (x, {'deep': None})], 'n': (1, 'a', True)}",
    ),
)  # fmt: skip
