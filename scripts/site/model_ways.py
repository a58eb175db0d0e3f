"""Ways out as the pages of models give them: of the widths that a rule names, those that start.

A rule speaks for itself alone. Here the widths that it offers are held against all the others.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from gridded import Subject, cluster_of
from vllm_parallel.constraints.constraint import listed
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Axis, Layout

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


def placed(subject: Subject, gpu: str, layout: Layout) -> Deployment:
    """A layout on just as many GPUs as it has ranks."""
    return Deployment(
        model=subject.model,
        layout=layout,
        settings=subject.settings,
        cluster=cluster_of(gpu, layout.ranks),
    )


def way_out(fix: str, subject: Subject, gpu: str, layout: Layout) -> str:
    """The way out of a refusal; widths of an axis that it offers are those that pass every rule.

    Memory is left aside, and so is what is wider than `MOST`.
    """
    found = _OFFER.match(fix)
    axis = next((axis for axis, flag in FLAGS.items() if found and found["flag"] == flag), None)
    if found is None or axis is None:
        return PRODUCT.sub(ANY_PRODUCT, fix)
    others = with_width(layout, axis, 1)
    layouts = [with_width(layout, axis, width) for width in range(1, MOST + 1)]
    passing = [one for one in layouts if subject.judge.check(placed(subject, gpu, one)) is None]
    rest = found["rest"] or ""
    if passing:
        widths = [getattr(one, axis.value) for one in passing]
        return f"use a {FLAGS[axis]} of {listed(widths)}{rest}"
    return f"change another width too: beside {others} no {FLAGS[axis]} up to {MOST} starts{rest}"


def with_width(layout: Layout, axis: Axis, width: int) -> Layout:
    """The layout with another width on one axis."""
    return replace(layout, **{axis.value: width})  # type: ignore[arg-type]  # a width
