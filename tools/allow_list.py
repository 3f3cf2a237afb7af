"""Writes the lists of what a graph may call, from the torch that is installed.

``allowed_targets.txt`` holds functions and methods, ``operators/aten.txt`` overloads. Run it with
each supported torch; names that one version lacks stay, so that a graph written with another is
readable, unless the review (``tools/operator_families.py``) now refuses them. What a name resolves
to is looked up when a graph is run.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.overrides

from tools import operator_list
from tools.operator_families import is_refused

OUTPUT = Path(__file__).parents[1] / "src/graph_net/graph/allowed_targets.txt"

NAMESPACES = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.fft": torch.fft,
    "torch.linalg": torch.linalg,
    "torch.special": torch.special,
}
# Where Dynamo's code finds the same functions under a private name.
PRIVATE = {
    "torch._C._nn": ("torch.nn.functional", ""),
    "torch._C._fft": ("torch.fft", "fft_"),
    "torch._C._linalg": ("torch.linalg", "linalg_"),
    "torch._C._special": ("torch.special", "special_"),
    "torch.functional": ("torch", ""),
}
CREATION = """
arange as_strided as_tensor asarray bartlett_window blackman_window complex empty empty_like
empty_permuted empty_strided eye fill finfo full full_like hamming_window hann_window iinfo
is_tensor kaiser_window linspace logspace normal ones ones_like polar promote_types rand
rand_like randint randint_like randn randn_like randperm range result_type scalar_tensor tensor
tril_indices triu_indices vander zeros zeros_like broadcast_shapes Size sym_int sym_float
sym_max sym_min sym_not sym_ite sym_sum sym_sqrt
""".split()
PRIVATE_FUNCTIONS = """
torch._native_multi_head_attention torch._weight_norm torch._check torch._check_is_size
torch._check_value torch._check_tensor_all torch._assert torch._assert_async
torch._transformer_encoder_layer_fwd torch._softmax torch._log_softmax torch._shape_as_tensor
torch._addmm_activation torch._foreach_add torch._foreach_mul torch._unique2
torch._standard_gamma torch._sym_sqrt torch._grouped_mm
torch._scaled_mm torch._int_mm torch._embedding_bag torch._conj
torch._C._log_api_usage_once torch._C._set_grad_enabled torch._C._nn._pad_enum
torch.amp.autocast_mode._enter_autocast torch.amp.autocast_mode._exit_autocast
torch.autograd.function.FunctionCtx torch.autograd.grad_mode._enter_inference_mode
torch.autograd.grad_mode._exit_inference_mode torch.nn.functional._canonical_mask
torch.nn.functional._none_or_dtype torch.nn.functional._in_projection_packed
torch.nn.functional._in_projection torch.nn.functional._mha_shape_check
torch.nn.functional.hardsigmoid torch.nn.functional.hardswish torch.nn.functional.sigmoid
torch.nn.functional.tanh torch.nn.functional.upsample torch.nn.functional.upsample_nearest
torch.nn.functional.upsample_bilinear torch.nn.functional.scaled_mm
torch.nn.functional.grouped_mm
""".split()
# Ways out of the tensor world: to numpy, to a pickle, to memory addresses, to callbacks, to files.
METHODS_REFUSED = frozenset(
    """
__array__ __array_wrap__ __deepcopy__ __dlpack__ __dlpack_device__ __format__ __reduce_ex__
__repr__ __setstate__ __long__ __nonzero__ __div__ __rdiv__ __idiv__ numpy data_ptr storage
untyped_storage _typed_storage storage_type share_memory_ backward register_hook retain_grad
register_post_accumulate_grad_hook apply_ map_ map2_ set_ module_load record_stream as_subclass
_make_subclass reinforce names rename rename_ align_to align_as refine_names cuda xpu ipu
pin_memory is_shared is_pinned mtia const_data_ptr dim_order _clear_non_serializable_cached_data
_autocast_to_full_precision _autocast_to_reduced_precision __index__ __contains__ __complex__
__reversed__ __len__ tofile
new
""".split()
)
METHODS_ADDED = """
item tolist size dim numel stride new_empty new_full new_ones new_zeros new_tensor
new_empty_strided unflatten to type type_as cpu float double half bfloat16 int long short bool
char byte contiguous detach detach_ clone requires_grad_ is_floating_point is_complex
is_contiguous element_size storage_offset get_device ndimension nelement as_strided __and__
__or__ __xor__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __getitem__ __setitem__ __invert__
__neg__ __abs__ __pow__ __rpow__ __rtruediv__ __itruediv__ __bool__ __int__ __float__ __ipow__
__ixor__ masked_fill __rsub__ unfold split_with_sizes _is_all_true _is_any_true _conj _neg_view
""".split()


def main() -> None:
    names: set[str] = set()
    if OUTPUT.exists():
        names.update(line for line in OUTPUT.read_text().splitlines() if not line.startswith("#"))
    overridable = torch.overrides.get_overridable_functions()
    for prefix, module in NAMESPACES.items():
        for name in {f.__name__ for f in overridable.get(module, ())}:
            value = getattr(module, name, None)
            if callable(value) and not name.startswith("_") and not isinstance(value, type):
                names.add(f"{prefix}.{name}")
        for name in dir(module):  # in-place forms, which torch.overrides does not list
            base = f"{prefix}.{name.removesuffix('_')}"
            if name.endswith("_") and not name.startswith("_") and base in names:
                names.add(f"{prefix}.{name}")
        if prefix == "torch":
            for function in overridable[torch.functional]:
                names.add(f"torch.{function.__name__}")
    names |= {f"torch.{name}" for name in CREATION if hasattr(torch, name)}
    names |= {name for name in PRIVATE_FUNCTIONS if name.rpartition(".")[2]}
    for path, (public, prefix) in PRIVATE.items():
        module = torch
        for part in path.split(".")[1:]:
            module = getattr(module, part)
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value) or isinstance(value, type):
                continue
            home = NAMESPACES[public]
            twin = name.removeprefix(prefix)
            if getattr(home, twin, None) is value:
                names.add(f"{path}.{name}={public}.{twin}")
                names.add(f"{public}.{twin}")
            elif path.startswith("torch._C"):
                names.add(f"{path}.{name}")
    methods = {f.__name__ for f in overridable[torch.Tensor] if hasattr(f, "__name__")}
    methods = {name for name in methods if not name.startswith("_") or name.startswith("__")}
    names |= {f"method:{m}" for m in methods | set(METHODS_ADDED) if m not in METHODS_REFUSED}
    named = {*CREATION, *METHODS_ADDED}
    refused = {name for name in names if _last(name) not in named and is_refused(_last(name))}
    refused |= {"torch.frombuffer", "torch.from_numpy", "torch.typename"}
    refused |= {f"method:{name}" for name in METHODS_REFUSED}
    head = (
        "# Made by tools/allow_list.py: what a graph may call. `private=public` names an alias.\n"
    )
    OUTPUT.write_text(head + "\n".join(sorted(names - refused)) + "\n")
    print(f"{len(names - refused)} names in {OUTPUT.name}")
    print(f"{operator_list.write()} overloads in {operator_list.OUTPUT.name}")


def _last(name: str) -> str:
    """The bare name of a function or method: ``relu`` of ``torch._C._nn.relu=torch.relu``."""
    return name.rpartition("=")[2].rpartition(".")[2].removeprefix("method:")


if __name__ == "__main__":
    main()
