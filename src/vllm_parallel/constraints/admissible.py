"""The reverse question: which widths does a model admit?"""

from __future__ import annotations

from vllm_parallel.constraints.table import check
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import replace
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.model import ModelConfig


def admitted(
    model: ModelConfig, axis: Axis, *, beside: Layout | None = None, up_to: int = 64
) -> list[int]:
    """Widths of one axis that no rule refuses, the other widths being as in `beside`.

    Memory and the number of GPUs are left aside. EP has no width of its own.

    >>> from vllm_parallel.catalog import load_model
    >>> admitted(load_model("qwen3-235b-a22b", as_bf16=True), Axis.DCP, beside=Layout(tp=8))
    [1, 2]
    """
    layout = beside or Layout()
    widths = []
    for width in range(1, up_to + 1):
        candidate = replace(layout, **{axis.value: width})  # type: ignore[arg-type]  # a width
        if check(Deployment(model=model, layout=candidate)) is None:
            widths.append(width)
    return widths
