"""The caches of every layer and the block size of every stage, before layers are grouped."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from vllm_parallel.block import Block, GroupedQueryAttention, LatentAttention
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass
from vllm_parallel.kv.groups import KvGroup, dealt
from vllm_parallel.kv.layers import Slot, attention_spec, index_spec
from vllm_parallel.kv.memory import remembered
from vllm_parallel.kv.paging import Paging
from vllm_parallel.kv.settling import settled
from vllm_parallel.kv.words import skipped_layers

if TYPE_CHECKING:
    from vllm_parallel.kv.groups import CacheSpec

    Form = tuple[CacheSpec, ...]  # the caches that one layer has


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class KvPlan:
    """The caches that workers report. `plan` is the form of each layer in order.

    `bounds` are the first layer of each pipeline stage and the end of the last.
    """

    forms: tuple[Form, ...]
    plan: tuple[int, ...]
    bounds: tuple[int, ...]
    pagings: tuple[Paging, ...]

    groups: tuple[KvGroup, ...] | str  # vLLM's sentence where they cannot be made

    @classmethod
    def of(cls, deployment: Deployment) -> KvPlan:
        """The plan of a deployment, made once for all that agree on their caches.

        Source: vllm/v1/worker/gpu/attn_utils.py, get_kv_cache_spec (v0.32.0)
        """
        return _plan(deployment)

    def caches(self, stage: int) -> int:
        """How many caches a stage has."""
        return _caches(self, stage)

    def specs(self, stage: int) -> Iterable[CacheSpec]:
        """The kinds of cache on a stage."""
        return (spec for form in set(self._of(stage)) for spec in self.forms[form])

    def _of(self, stage: int) -> tuple[int, ...]:
        return self.plan[self.bounds[stage] : self.bounds[stage + 1]]


@lru_cache(maxsize=1024)
def _caches(plan: KvPlan, stage: int) -> int:
    of_stage = plan.plan[plan.bounds[stage] : plan.bounds[stage + 1]]
    return sum(len(plan.forms[form]) for form in of_stage)


@remembered
def _plan(deployment: Deployment) -> KvPlan:
    slots, numbers = slots_of(deployment)
    bounds = tuple(deployment.stage_bounds)
    forms: dict[Form, int] = {}
    known: dict[tuple[int, ...], tuple[Paging, dict[int, int]]] = {}
    pagings: list[Paging] = []
    plan: list[int] = []
    for start, stop in pairwise(bounds):
        here = numbers[start:stop]
        order = tuple(dict.fromkeys(here))
        if order not in known:
            paging = settled(deployment, tuple(slots[number] for number in order))
            made = {number: form_of(slots[number], deployment, paging) for number in order}
            places = {n: forms.setdefault(form, len(forms)) for n, form in made.items()}
            known[order] = paging, places
        paging, places = known[order]
        pagings.append(paging)
        plan += [places[number] for number in here]
    whole = deployment.keeps_whole_caches
    return KvPlan(
        forms=tuple(forms),
        plan=tuple(plan),
        bounds=bounds,
        pagings=tuple(pagings),
        groups=dealt(tuple(forms), plan, whole=whole),
    )


def slots_of(deployment: Deployment) -> tuple[list[Slot], tuple[int, ...]]:
    """The kinds of layer, and the kind of each layer; left-out layers are kinds of their own."""
    model, skipped = deployment.built, skipped_layers(deployment)
    slots = [(block, False) for block in model.kinds]
    if not skipped:
        return slots, model.pattern
    count = len(slots)
    numbers = tuple(
        kind + count if str(layer) in skipped or _windowed(model.kinds[kind], skipped) else kind
        for layer, kind in enumerate(model.pattern)
    )
    return slots + [(block, True) for block in model.kinds], numbers


def _windowed(block: Block, skipped: frozenset[str]) -> bool:
    attention = block.attention
    windowed = isinstance(attention, GroupedQueryAttention) and attention.window is not None
    return windowed and "sliding_window" in skipped


def form_of(slot: Slot, deployment: Deployment, paging: Paging) -> Form:
    """The caches of one layer: none if it reads another's, two with an indexer or a mixer.

    Source: vllm/v1/worker/gpu/attn_utils.py, get_kv_cache_spec (v0.32.0)
    """
    block, skipped = slot
    attention, found = block.attention, list["CacheSpec"]()
    if isinstance(attention, LatentAttention) and attention.indexer is not None:
        found.append(index_spec(attention.indexer.head_dim, paging.block_size))
    borrows = isinstance(attention, GroupedQueryAttention) and attention.borrows_kv
    if attention is not None and not borrows:
        found.append(attention_spec(attention, deployment, paging, skipped=skipped))
    if block.mixer is not None:
        from vllm_parallel.kv.hybrid import state_spec  # noqa: PLC0415  # such models pay for it

        found.append(state_spec(block.mixer, deployment, paging))
    return tuple(found)
