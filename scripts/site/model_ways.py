"""Ways out as the pages of models give them: of the widths that a rule names, those that start.

A rule speaks for itself alone. Here the widths that it offers are held against all the others.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from gridded import cluster_of
from vllm_parallel.constraints.constraint import listed
from vllm_parallel.constraints.table import check
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import Settings

MOST: Final = 16
FLAGS: Final = {
    Axis.TP: "--tensor-parallel-size",
    Axis.DCP: "--decode-context-parallel-size",
}
PRODUCT: Final = re.compile(r"use a product of [\d, ]+$")
ANY_PRODUCT: Final = "use widths whose product divides the columns of an expert"

_OFFER: Final = re.compile(
    r"use a (?:smaller )?(?P<flag>--[a-z-]+-parallel-size)"
    r"(?: of (?:at most )?[\d, ]+| that (?:divides|leaves) [^,:]+)?(?P<rest>:.*)?$"
)


def on_gpus(gpu: str, model: ModelConfig, layout: Layout, settings: Settings) -> Deployment:
    """A layout on just as many GPUs as it has ranks."""
    cluster = cluster_of(gpu, layout.ranks)
    return Deployment(model=model, layout=layout, settings=settings, cluster=cluster)


def way_out(fix: str, deployment: Deployment) -> str:
    """The way out of a refusal; widths of an axis that it offers are those that pass every rule.

    Memory is left aside, and so is what is wider than `MOST`.
    """
    found = _OFFER.match(fix)
    axis = next((axis for axis, flag in FLAGS.items() if found and found["flag"] == flag), None)
    if found is None or axis is None:
        return PRODUCT.sub(ANY_PRODUCT, fix)
    widths = passing(deployment, axis)
    rest = found["rest"] or ""
    if widths:
        return f"use a {FLAGS[axis]} of {listed(widths)}{rest}"
    others = replace(deployment.layout, **{axis.value: 1})  # type: ignore[arg-type]  # a width
    return f"change another width too: beside {others} no {FLAGS[axis]} up to {MOST} starts{rest}"


def passing(deployment: Deployment, axis: Axis) -> list[int]:
    """The widths of an axis that no rule refuses, all else as it is; memory is left aside."""
    return [width for width in range(1, MOST + 1) if _passes(deployment, axis, width)]


def _passes(deployment: Deployment, axis: Axis, width: int) -> bool:
    layout = replace(deployment.layout, **{axis.value: width})  # type: ignore[arg-type]  # a width
    gpu = deployment.cluster.gpu
    if gpu is None:
        raise ValueError("a way out is of a GPU")
    one = on_gpus(gpu.name, deployment.model, layout, deployment.settings)
    return check(one) is None
