"""A few tasks for kernels on a GPU, of two networks."""

from graph_net.programs.collection.kernel_tasks import HELD_OUT, kernel_task
from graph_net.programs.collection.task import CollectedTask
from graph_net.programs.triton.layers import along, batched, conv, linear

TRAINED = "torchvision/vgg16@8:tf32"
TESTED = min(HELD_OUT)
TASKS: list[CollectedTask] = [
    kernel_task(conv(8, 56, 64, 64, 3, "float16", "bias_relu"), {TRAINED: 3}),
    kernel_task(linear(512, 768, 768, "float16", "bias_gelu"), {TESTED: 2}),
    kernel_task(linear(128, 3072, 768, "bfloat16"), {TRAINED: 2}),
    kernel_task(batched(12, 197, 64, 197, "bfloat16", False), {TESTED: 12}),
    kernel_task(along("softmax", 1536, 1000, "float32"), {TRAINED: 1}),
    kernel_task(along("layer_norm", 512, 768, "float16"), {TESTED: 24}),
]
"""Products, a convolution and rows; one of the networks is held out."""
