"""The widths that a model admits on each axis, and what refuses the others, in vLLM's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

from gridded import Subject
from model_ways import MOST, placed, way_out, with_width
from vllm_parallel.catalog import gpu_names, load_gpu
from vllm_parallel.constraints import RULES
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.model import ModelConfig
from vllm_parallel.render.html import Cell, table
from vllm_parallel.verdict import MEMORY_RULES

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


class Asked(NamedTuple):
    """What every width is held against."""

    subject: Subject
    gpu: str


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
    admitted: tuple[int, ...]
    refused: tuple[tuple[str, Said, tuple[int, ...]], ...]  # layout, its refusal, widths

    @classmethod
    def of(cls, asked: Asked, axis: Axis, beside: Layout) -> Widths:
        """The widths of an axis beside others; memory is left aside."""
        admitted: list[int] = []
        found: dict[str, tuple[str, Said, list[int]]] = {}
        for width in range(1, (beside.tp if axis is Axis.DCP else MOST) + 1):
            layout = with_width(beside, axis, width)
            refusal = asked.subject.judge.check(placed(asked.subject, asked.gpu, layout))
            if refusal is None:
                admitted.append(width)
            elif refusal.name in found:
                found[refusal.name][2].append(width)
            else:
                way = way_out(refusal.fix, asked.subject, asked.gpu, layout)
                said = Said(refusal.name, refusal.message, way)
                found[refusal.name] = (str(layout), said, [width])
        refused = tuple((text, one, tuple(widths)) for text, one, widths in found.values())
        return cls(axis=axis, beside=beside, admitted=tuple(admitted), refused=refused)

    @property
    def cells(self) -> tuple[str, str]:
        """What is admitted, and what is refused by which rule."""
        refused = (f"{runs(widths)}: {rule.rule}" for _, rule, widths in self.refused)
        return runs(self.admitted), "; ".join(refused)

    @property
    def title(self) -> str:
        """The axis, and beside which widths."""
        if self.axis is Axis.TP and not self.admitted:
            return "any way"
        beside = f", beside {self.beside}" if self.beside.ranks > 1 else ""
        return f"{NAMES[self.axis]} ({self.axis.value}){beside}"


def all_widths(asked: Asked) -> tuple[Widths, ...]:
    """Every axis that has a width of its own; DCP beside the widest tp, if there is any."""
    tensor = Widths.of(asked, Axis.TP, Layout())
    if not tensor.admitted:
        return (tensor,)
    alone = [Widths.of(asked, axis, Layout()) for axis in (Axis.PP, Axis.DP, Axis.PCP)]
    return (tensor, *alone, Widths.of(asked, Axis.DCP, Layout(tp=max(tensor.admitted))))


def widths(asked: Asked, sized: Sequence[str]) -> str:
    """What each axis admits on a GPU, and the sentence of each refusal; others where they differ.

    `sized` are the GPUs that can be sized.
    """
    found = all_widths(asked)
    same = {(one.title, *one.cells) for one in found}
    rows = {(one.title, *one.cells): [""] for one in found}
    cards = {rule.rule: card(rule, example) for one in found for example, rule, _ in one.refused}
    for names in alike(sized):
        there = asked._replace(gpu=names[0])
        for one in all_widths(there):
            if (one.title, *one.cells) in same:
                continue
            rows.setdefault((one.title, *one.cells), []).extend(map(_label, names))
            for example, rule, _ in one.refused:
                known = f"{example} on {_label(names[0])}"
                cards.setdefault(rule.rule, card(rule, known))
    cells = [
        [Cell(title + (f", on {', '.join(on)}" if any(on) else "")), Cell(admitted), Cell(refused)]
        for (title, admitted, refused), on in rows.items()
    ]
    unsized = labels_of(gpu for gpu in gpu_names() if gpu not in sized)
    missing = f" Not modelled: {unsized}." if unsized else ""
    caption = (
        f"Widths up to {MOST}, each axis by itself, on {_label(asked.gpu)} and wherever no row "
        f"names another GPU; memory is left aside. A way out names the widths up to {MOST} that "
        f"pass every rule.{missing} Computed."
    )
    text = table(("way to split", "admitted", "refused, by"), cells, caption=caption)
    return text + "".join(cards.values()) + _experts(asked.subject.model)


def alike(gpus: Iterable[str]) -> list[list[str]]:
    """GPUs by architecture: what vLLM's rules go by."""
    found: dict[str, list[str]] = {}
    for gpu in gpus:
        found.setdefault(load_gpu(gpu).architecture, []).append(gpu)
    return list(found.values())


def labels_of(gpus: Iterable[str]) -> str:
    """What GPUs are called, in one line."""
    return ", ".join(map(_label, gpus))


def _label(gpu: str) -> str:
    return load_gpu(gpu).label


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
