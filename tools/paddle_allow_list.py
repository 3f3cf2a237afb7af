"""Writes src/graph_net/graph/paddle_targets.txt from the PaddlePaddle that is installed.

Each line names one call; an operator carries the names of its arguments in the order Paddle's
eager interface takes them, which a PIR program does not say, and how many values it gives.
Names are added, never removed, so that a graph written with one version is readable with another;
a newer signature replaces an older one.
"""

from __future__ import annotations

import re
from pathlib import Path

import paddle
from paddle.base import core

OUTPUT = Path(__file__).parents[1] / "src/graph_net/graph/paddle_targets.txt"
HEADERS = Path(paddle.__file__).parent / "include/paddle/phi/api/include"
_DECLARED = re.compile(r"PADDLE_API (?P<result>.+?) (?P<name>\w+)\((?P<arguments>.*)\);")
_OUTSIDE = ("predefined_out",)
"""Arguments of the C++ interface that the Python one does not have."""

# Ways out of the tensor world (files, other processes, devices, memory beyond a tensor's own), the
# inner workings of executors, and the steps of optimizers, which are no part of a model.
REFUSED = frozenset(
    """
all_gather all_reduce all_to_all ap_facade ap_trivial_fusion_begin ap_trivial_fusion_end
ap_variadic barrier broadcast check_numerics coalesce_tensor copy_to data decode_jpeg depend
disable_check_model_nan_inf enable_check_model_nan_inf global_gather global_scatter memcpy_d2h
memcpy_h2d mp_allreduce_sum npu_identity partial_allgather print read_file reduce reduce_scatter
save_combine load_combine set share_data share_var sync_calc_stream sync_comm_stream trans_layout
adadelta_ adagrad_ adam_ adamax_ adamw_ asgd_ average_accumulates_ check_finite_and_unscale_
decayed_adagrad dgc dgc_clip_by_norm dgc_momentum dpsgd ftrl fused_adam_ lamb_ lars_momentum_
merged_adam_ merged_momentum_ momentum_ nadam_ radam_ rmsprop_ rprop_ sgd_ sparse_momentum
update_loss_scaling_ accuracy_check as_strided view_slice sync_batch_norm
""".split()
)
_REFUSED_FAMILIES = re.compile(r"c_\w+|partial_\w*(send|recv)\w*|(send|recv)_v2|\w+_grad_?")

CREATION = """
arange assign bernoulli cast complex diag diagflat empty empty_like eye full full_like linspace
logspace meshgrid multinomial normal ones ones_like polar rand randint randn randperm shape
standard_normal to_tensor tril_indices triu_indices uniform zeros zeros_like
""".split()
FUNCTIONS_REFUSED = frozenset(
    """
create_parameter create_tensor is_tensor tolist numpy item fill_constant print save load apply
apply_ set_ coalesce register_hook data_ptr set_printoptions as_strided
""".split()
)


def operators() -> dict[str, str]:
    """``paddle._C_ops.slice`` → the line that allows it."""
    callable_here = set(dir(core.eager.ops))
    found = {}
    for header in ("fused_api.h", "api.h"):
        for line in (HEADERS / header).read_text("utf-8").splitlines():
            match = _DECLARED.match(line)
            if not match or match["name"] not in callable_here:
                continue
            name = match["name"]
            base = name.removesuffix("_")  # what is refused is refused in place too
            if {name, base} & REFUSED or _REFUSED_FAMILIES.fullmatch(name):
                continue
            target = f"paddle._C_ops.{name}"
            names = ", ".join(parameters(match["arguments"]))
            found[target] = f"{target}({names}){outputs(match['result'])}"
    return found


def parameters(text: str) -> list[str]:
    """The names in a C++ parameter list: the last word of each, before its default."""
    names = [part.partition("=")[0].split()[-1] for part in split(text) if part.strip()]
    return [name for name in names if name not in _OUTSIDE]


def outputs(text: str) -> str:
    """How many values a C++ result type holds, where they are not one."""
    if text == "std::vector<Tensor>":
        return " -> list"
    inside = text.removeprefix("std::tuple<").removesuffix(">")
    return f" -> {len(split(inside))}" if inside != text else ""


def split(text: str) -> list[str]:
    """What stands between the commas that are in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<({") - (letter in ">)}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def functions() -> set[str]:
    """Public functions on tensors: those that are methods of a tensor too, and creation."""
    methods = set(paddle.tensor.tensor_method_func) | set(CREATION)
    return {
        f"paddle.{name}"
        for name in methods - FUNCTIONS_REFUSED
        if not name.startswith("_")
        and callable(getattr(paddle, name, None))
        and not isinstance(getattr(paddle, name), type)
    }


def main() -> None:
    lines: dict[str, str] = {}
    if OUTPUT.exists():
        for line in OUTPUT.read_text("utf-8").splitlines():
            if not line.startswith("#"):
                lines[line.partition("(")[0]] = line
    lines |= {name: name for name in functions()} | operators()
    head = "# Made by tools/paddle_allow_list.py: what a level-paddle graph may call.\n"
    OUTPUT.write_text(head + "\n".join(sorted(lines.values())) + "\n", "utf-8")
    print(f"{len(lines)} names in {OUTPUT.name}")


if __name__ == "__main__":
    main()
