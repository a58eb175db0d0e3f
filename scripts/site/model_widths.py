"""The widths that a model admits on each axis, and what refuses the others, in vLLM's words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Final, NamedTuple

from vllm_parallel.catalog import gpu_names, load_gpu
from vllm_parallel.cluster import Cluster, Gpu
from vllm_parallel.constraints import RULES
from vllm_parallel.constraints.table import check
from vllm_parallel.deployment import Deployment
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.render.html import Cell, table
from vllm_parallel.verdict import MEMORY_RULES

MOST: Final = 16
LISTED: Final = re.compile(r"(?P<option>use a --[a-z-]+) of (?P<widths>\d+(?:, \d+)*)")
OURS: Final = "vLLM has no sentence for it; the words are ours."
ROOT: Final = "../.."  # from models/NAME/ to the site
BARE: Final = {rule.name for rule in RULES if rule.bare}
KNOWN: Final = {rule.name for rule in RULES} | {rule.name for rule in MEMORY_RULES}
SHARING: Final = (2, 4, 8, 16)  # ranks that may share experts
NAMES: Final = {
    Axis.TP: "tensor",
    Axis.PP: "pipeline",
    Axis.DP: "data",
    Axis.PCP: "prefill-context",
    Axis.DCP: "decode-context",
}


class Said(NamedTuple):
    """A refusal: the rule, vLLM's sentence, the way out."""

    rule: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """What is admitted on one axis up to `MOST`, and the first refusal of each rule."""

    axis: Axis
    beside: Layout
    gpu: Gpu
    admitted: tuple[int, ...]
    refused: tuple[tuple[str, Said, tuple[int, ...]], ...]  # layout, its refusal, widths

    @classmethod
    def of(cls, model: ModelConfig, axis: Axis, beside: Layout, gpu: Gpu) -> Widths:
        """The widths of an axis beside others; memory and the number of GPUs are left aside."""
        admitted: list[int] = []
        found: dict[str, tuple[str, Said, list[int]]] = {}
        for width in range(1, (beside.tp if axis is Axis.DCP else MOST) + 1):
            layout = replace(beside, **{axis.value: width})  # type: ignore[arg-type]  # a width
            refusal = check(Deployment(model=model, layout=layout, cluster=Cluster(gpu=gpu)))
            if refusal is None:
                admitted.append(width)
            else:
                said = Said(refusal.name, refusal.message, refusal.fix)
                found.setdefault(refusal.name, (str(layout), said, []))[2].append(width)
        refused = tuple(
            (text, one._replace(fix=_narrowed(one.fix, admitted)), tuple(widths))
            for text, one, widths in found.values()
        )
        return cls(axis=axis, beside=beside, gpu=gpu, admitted=tuple(admitted), refused=refused)


def _narrowed(fix: str, admitted: Sequence[int]) -> str:
    """A way out that lists widths, without those that another rule refuses.

    >>> _narrowed("use a --tensor-parallel-size of 1, 2, 4, 5, 8, 10, 20, 40", [1, 2, 4, 8])
    'use a --tensor-parallel-size of 1, 2, 4, 8'
    """
    listed = LISTED.fullmatch(fix)
    if listed is None:
        return fix
    left = [width for width in listed["widths"].split(", ") if int(width) in admitted]
    return f"{listed['option']} of {', '.join(left)}" if left else fix


def all_widths(model: ModelConfig, gpu: Gpu) -> tuple[Widths, ...]:
    """Every axis that has a width of its own; DCP beside the widest tp, also where it differs."""
    alone = [
        Widths.of(model, axis, Layout(), gpu) for axis in (Axis.TP, Axis.PP, Axis.DP, Axis.PCP)
    ]
    widest = Layout(tp=max(alone[0].admitted))
    dcp = Widths.of(model, Axis.DCP, widest, gpu)
    others: dict[tuple[int, ...], Widths] = {}
    for name in gpu_names():
        one = Widths.of(model, Axis.DCP, widest, load_gpu(name))
        if one.admitted not in ((), dcp.admitted):
            others.setdefault(one.admitted, one)
    return (*alone, dcp, *others.values())


def widths(model: ModelConfig, gpu: Gpu) -> str:
    """What each axis admits on a GPU, and the sentence of each refusal."""
    found = all_widths(model, gpu)
    rows = [
        [
            Cell(f"{NAMES[one.axis]} ({one.axis.value}){_beside(one)}{_on(one, gpu)}"),
            Cell(runs(one.admitted)),
            Cell("; ".join(f"{runs(widths)}: {rule.rule}" for _, rule, widths in one.refused)),
        ]
        for one in found
    ]
    caption = (
        f"Widths up to {MOST} on {gpu.label}, each axis by itself; memory is left aside. Computed."
    )
    text = table(("way to split", "admitted", "refused, by"), rows, caption=caption)
    cards: dict[str, str] = {}
    for one in found:
        for example, rule, _ in one.refused:
            cards.setdefault(rule.rule, card(rule, example))
    return text + "".join(cards.values()) + _experts(model)


def card(said: Said, example: str) -> str:
    """A refusal: its rule, an example, the sentence and the way out."""
    says = escape(said.message).replace("\n", "<br>")
    name = f"<code>{said.rule}</code>"
    bare = f'<p class="rule-bare">{OURS}</p>' if said.rule in BARE else ""
    if said.rule in KNOWN:
        name = f'<a href="{ROOT}/reference/constraints/#{said.rule}">{name}</a>'
    return (
        f'<div class="rule"><p class="rule-name">{name}'
        f'<span class="known">{escape(example)}</span></p>'
        f'<p class="rule-says"><code>{says}</code></p>{bare}'
        f'<p class="rule-fix">Way out: {escape(said.fix)}.</p></div>'
    )


def runs(widths: Iterable[int]) -> str:
    """Widths, with three or more neighbours as a run.

    >>> runs((1, 2, 3, 4, 8)), runs((1, 2, 4))
    ('1 to 4, 8', '1, 2, 4')
    """
    return ", ".join(_runs(tuple(widths))) or "none"


def _runs(widths: tuple[int, ...]) -> Iterator[str]:
    at = 0
    while at < len(widths):
        end = at
        while end + 1 < len(widths) and widths[end + 1] == widths[end] + 1:
            end += 1
        if end - at > 1:
            yield f"{widths[at]} to {widths[end]}"
            at = end + 1
        else:
            yield str(widths[at])
            at += 1


def _beside(one: Widths) -> str:
    return f", beside {one.beside}" if one.beside.ranks > 1 else ""


def _on(one: Widths, gpu: Gpu) -> str:
    return "" if one.gpu == gpu else f", on {one.gpu.label}"


def _experts(model: ModelConfig) -> str:
    """Expert parallelism has no width: the experts are dealt to the ranks of tp, pcp and dp."""
    if not model.is_moe or model.experts is None:
        return "<p>It has no experts, so <code>--enable-expert-parallel</code> changes nothing.</p>"
    each = model.experts.count
    uneven = [ranks for ranks in SHARING if each % ranks]
    dealt = f"unevenly to {runs(uneven)}" if uneven else f"evenly to {runs(SHARING)}"
    return (
        "<p>Experts whole on ranks, <code>--enable-expert-parallel</code>, have no width of their "
        f"own: all ranks of tp × pcp × dp of a stage share the {each}, {dealt} ranks.</p>"
    )
