"""Layers dealt to groups that share a block table; all groups draw on one pool of blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.kv.specs import LOCAL, KvKind, KvSpec
from vllm_parallel.units import ceil_div

if TYPE_CHECKING:
    from vllm_parallel.kv.state import StateSpec

    CacheSpec = KvSpec | StateSpec
    Buckets = Mapping[CacheSpec, Sequence[int]]

FEW_PADDING_LAYERS: Final = 1.5  # kv_cache_utils.py: up to here the largest bucket sets the size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class KvGroup:
    """Layers that share a block table, by what they keep; numbered over all stages.

    One spec in all but one case: layers whose pages differ while their blocks agree.

    Source: vllm/v1/kv_cache_interface.py, KVCacheGroupSpec and UniformTypeKVCacheSpecs (v0.32.0)
    """

    parts: tuple[tuple[CacheSpec, tuple[int, ...]], ...]

    @property
    def spec(self) -> CacheSpec:
        """What the first layer keeps."""
        return self.parts[0][0]

    @property
    def layers(self) -> tuple[int, ...]:
        """The numbers of the group's layers; one that keeps two caches comes twice."""
        return tuple(sorted(layer for _, layers in self.parts for layer in layers))

    def pages_bytes(self, start: int, stop: int) -> int:
        """Bytes of one block over the group's layers in this run of layers."""
        return sum(
            (bisect_left(layers, stop) - bisect_left(layers, start)) * spec.page_bytes
            for spec, layers in self.parts
        )

    def blocks(self, length: int, *, dcp: int, in_flight_tokens: int) -> int:
        """Blocks that a request of this length takes: as many for each part."""
        return self.spec.blocks(length, dcp=dcp, in_flight_tokens=in_flight_tokens)


def dealt(
    forms: Sequence[tuple[CacheSpec, ...]], plan: Sequence[int], *, whole: bool
) -> tuple[KvGroup, ...] | str:
    """The groups of layers, or the sentence with which vLLM refuses to make any.

    `forms` are the sets of caches that layers have, `plan` the form of each layer. With `whole`
    windows are allocated like full attention.

    Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_groups (v0.32.0)
    """
    buckets: dict[CacheSpec, list[int]] = defaultdict(list)
    for layer, form in enumerate(plan):
        for spec in forms[form]:
            buckets[spec].append(layer)
    found: Buckets = buckets
    if whole:
        promoted = allocated_whole(buckets)
        if isinstance(promoted, str):
            return promoted
        found = promoted
    if uniform(found):
        return (KvGroup(parts=tuple((spec, tuple(found[spec])) for spec in found)),)
    pages = on_one_page(found)
    if pages is not None:
        return in_equal_hands(pages)
    promoted = allocated_whole(found)
    if isinstance(promoted, str) or not _latent_with_windows(found):
        return "page size is not divisible by the maximum page size and cannot be padded."
    return (KvGroup(parts=tuple((spec, tuple(promoted[spec])) for spec in promoted)),)


def uniform(specs: Iterable[CacheSpec]) -> bool:
    """Whether all layers need the same blocks, whatever their pages are.

    Source: vllm/v1/kv_cache_interface.py, UniformTypeKVCacheSpecs.is_uniform_type (v0.32.0)
    """
    return len({spec.family for spec in specs}) <= 1


def on_one_page(buckets: Buckets) -> Buckets | None:
    """All layers on the largest page, None where latent attention cannot be.

    Source: vllm/v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size (v0.32.0)
    """
    page = max(spec.page_bytes for spec in buckets)
    found: dict[CacheSpec, list[int]] = defaultdict(list)
    for spec, layers in buckets.items():
        enlarged = spec.with_page(page)
        if enlarged is None:
            return None
        found[enlarged] += layers
    return {spec: sorted(layers) for spec, layers in found.items()}


def in_equal_hands(buckets: Buckets) -> tuple[KvGroup, ...]:
    """Each bucket dealt to groups of equal size, as many layers as the smallest bucket has.

    Source: vllm/v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size (v0.32.0)
    """
    sizes = [len(layers) for layers in buckets.values()]
    size = max(sizes) if max(sizes) < min(sizes) * FEW_PADDING_LAYERS else min(sizes)
    groups = []
    for spec, layers in buckets.items():
        count = ceil_div(len(layers), size)
        groups += [KvGroup(parts=((spec, tuple(layers[i::count])),)) for i in range(count)]
    return tuple(groups)


def allocated_whole(buckets: Buckets) -> Buckets | str:
    """Windows and chunks that keep all tokens, where full attention is beside them.

    Source: vllm/v1/core/kv_cache_utils.py, _promote_local_kv_cache_specs (v0.32.0)
    """
    if uniform(buckets):
        return buckets
    full = [spec for spec in buckets if _keeps_all(spec)]
    reaches = {
        spec.reach for spec in buckets if isinstance(spec, KvSpec) and spec.kind is KvKind.WINDOW
    }
    found: dict[CacheSpec, list[int]] = defaultdict(list)
    blocks = {spec.block_size for spec in full}
    for spec, layers in buckets.items():
        found[_whole(spec, blocks) if full else spec] += layers
    if full and len(reaches) > 1 and all(isinstance(spec, KvSpec) for spec in buckets):
        return "All attention layers in the same KV cache group must have the same window size."
    if not uniform(found):
        return "Failed to promote local KV cache specs to one unified type."
    return {spec: sorted(layers) for spec, layers in found.items()}


def _keeps_all(spec: CacheSpec) -> bool:
    return isinstance(spec, KvSpec) and spec.kind not in LOCAL


def _whole(spec: CacheSpec, blocks: set[int]) -> CacheSpec:
    """The spec without its reach, in blocks of full attention if that has one size."""
    if not isinstance(spec, KvSpec) or spec.kind not in LOCAL:
        return spec
    block = next(iter(blocks)) if len(blocks) == 1 else spec.block_size
    padded = spec.padded_bytes
    if padded is not None:
        padded = max(padded, block * spec.token_bytes)
    return replace(spec, kind=KvKind.FULL, reach=0, block_size=block, padded_bytes=padded)


def _latent_with_windows(buckets: Buckets) -> bool:
    """Source: vllm/v1/core/kv_cache_utils.py, _try_get_full_allocation_fallback_groups."""
    kinds = {spec.kind for spec in buckets if isinstance(spec, KvSpec)}
    return KvKind.WINDOW in kinds and bool(kinds & {KvKind.LATENT, KvKind.INDEX})
