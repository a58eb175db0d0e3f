"""What one rank holds of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from vllm_parallel.block import Experts
from vllm_parallel.cuts import cut_of
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass, replace
from vllm_parallel.graph import ModelGraph
from vllm_parallel.model import ModelConfig
from vllm_parallel.ranks import Rank
from vllm_parallel.weight import Cut, Layer, buffer_bytes, copy_bytes, weight_bytes

if TYPE_CHECKING:
    from vllm_parallel.scheme import Quantisation
    from vllm_parallel.tower import Tower

ATTENTION_SCALES: Final = 4  # q, k, v and probability scale of each attention layer, fp32


class Slice(NamedTuple):
    """A run of a model's layers, cut to widths: all that decides the tensors of a rank."""

    model: ModelConfig
    towers: tuple[Tower, ...]
    start: int
    stop: int
    first: bool  # of the stages
    last: bool
    cut: Cut


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shard:
    """One rank's part of a model: a run of layers, cut to the rank's widths."""

    deployment: Deployment
    rank: Rank
    start: int  # first layer of its stage
    stop: int  # one past the last
    cut: Cut

    @classmethod
    def of(cls, deployment: Deployment, number: int) -> Shard:
        """The shard of a rank.

        Source: vllm/model_executor/models/utils.py, make_layers (v0.32.0)

        Raises:
            CatalogError: adapters or a draft model, whose weights are not modelled.

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.layout import Layout
        >>> model = load_model("llama-3.1-70b")
        >>> Shard.of(Deployment(model=model, layout=Layout(tp=8)), 0).weight_bytes
        17640734720
        """
        _refuse_unsized(deployment)
        layout = deployment.layout
        rank = Rank.of(layout, number)
        bounds = deployment.stage_bounds
        return cls(
            deployment=deployment,
            rank=rank,
            start=bounds[rank.pp],
            stop=bounds[rank.pp + 1],
            cut=cut_of(deployment, rank),
        )

    @property
    def slice(self) -> Slice:
        """What decides the tensors on this rank; ranks alike in it hold the same bytes."""
        return _slice(self)

    @property
    def kinds(self) -> Counter[int]:
        """How many layers of each kind of block are on this rank."""
        return _kinds(self.deployment.built, self.start, self.stop)

    @property
    def layers(self) -> Mapping[Layer, int]:
        """The weights that are built together on this rank, and how often."""
        return layers_of(self.slice)

    @property
    def weight_bytes(self) -> int:
        """Bytes of the parameters, as the model is built."""
        return tensors_of(self.slice).weights

    @property
    def loaded_weight_bytes(self) -> int:
        """The same once `--quantization` has quantised them, as far as no kernel repacks them."""
        loaded = self.deployment.model.loaded
        if loaded is None:
            return self.weight_bytes
        return replace(self, deployment=replace(self.deployment, model=loaded)).weight_bytes

    @property
    def copy_bytes(self) -> int:
        """Bytes of the copies that loading makes (latent attention keeps two)."""
        return tensors_of(self.slice).copies

    @property
    def post_load_bytes(self) -> int | None:
        """Bytes that loading adds; None where a kernel stores quantised weights in its own way."""
        return self.copy_bytes if self.deployment.model.quantisation is None else None

    @property
    def buffer_bytes(self) -> int:
        """Bytes of what stays beside the parameters: rotary tables, scales, maps, views.

        Source: vllm/model_executor/layers/rotary_embedding/base.py (v0.32.0)
        """
        return tensors_of(self.slice).buffers


@lru_cache(maxsize=64)
def _slice(shard: Shard) -> Slice:
    model, stage = shard.deployment.built, shard.rank.pp
    last = stage == shard.deployment.layout.pp - 1
    # An MTP module finds the embedding on its own stage, or keeps one.
    ends = (stage == 0 or (last and shard.deployment.predicts_with_mtp), last)
    return Slice(model, shard.deployment.towers, shard.start, shard.stop, *ends, shard.cut)


class Tensors(NamedTuple):
    """Bytes of a rank's parameters, of the copies that loading makes, and of its buffers."""

    weights: int
    copies: int
    buffers: int


@lru_cache(maxsize=1024)
def tensors_of(part: Slice) -> Tensors:
    """The bytes of all tensors of a slice."""
    layers, cut = layers_of(part), part.cut
    return Tensors(
        weights=sum(weight_bytes(layer, cut) * n for layer, n in layers.items()),
        copies=sum(copy_bytes(layer, cut) * n for layer, n in layers.items()),
        buffers=_own_buffers(part)
        + sum(buffer_bytes(layer, cut) * n for layer, n in layers.items())
        + sum(tower.buffer_bytes for tower in part.towers),
    )


def _own_buffers(part: Slice) -> int:
    """Rotary tables, scales of attention and maps of experts."""
    model, kinds = part.model, _kinds(part.model, part.start, part.stop)
    found = [(model.kinds[kind].attention, count) for kind, count in kinds.items()]
    read = {attention.rotary for attention, _ in found if attention and attention.rotates}
    tables = sum(model.rotaries[table].bytes for table in read)
    layers = sum(count for attention, count in found if attention is not None)
    scales = layers * ATTENTION_SCALES * Dtype.FLOAT32.bytes
    return tables + scales + _expert_map_bytes(part, kinds)


def _expert_map_bytes(part: Slice, kinds: Counter[int]) -> int:
    if part.cut.local_experts is None:
        return 0
    entries = 0
    for kind, layers in kinds.items():
        mlp = part.model.kinds[kind].mlp
        if isinstance(mlp, Experts):
            entries += layers * (mlp.count + part.cut.redundant_experts)
    return entries * Dtype.INT32.bytes


@lru_cache(maxsize=1024)
def _kinds(model: ModelConfig, start: int, stop: int) -> Counter[int]:
    return Counter(model.pattern[start:stop])


@lru_cache(maxsize=1024)
def layers_of(part: Slice) -> Mapping[Layer, int]:
    """The layers of a slice with the ends of the model that its stage has."""
    graph = ModelGraph.of(part.model)
    ends = graph.ends(first=part.first, last=part.last)
    kinds = _kinds(part.model, part.start, part.stop)
    layers = {graph.kinds[kind]: count for kind, count in kinds.items()} | dict.fromkeys(ends, 1)
    for tower in part.towers:
        layers |= graph.towers[tower]
    return layers


def _refuse_unsized(deployment: Deployment) -> None:
    """Weights that would be left out silently are refused instead."""
    settings, quantisation = deployment.settings, deployment.model.quantisation
    if quantisation is not None:
        _refuse_unknown_layouts(deployment, quantisation)
    if settings.speculative_method not in (None, "ngram") and not deployment.predicts_with_mtp:
        raise CatalogError(
            subject=f"speculative method {settings.speculative_method!r}",
            problem="adds weights that are not modelled",
            fix="use ngram, or drop --speculative-config",
        )


def _refuse_unknown_layouts(deployment: Deployment, quantisation: Quantisation) -> None:
    """Quantised weights that vLLM would not build, or on a GPU where nobody asked it."""
    model, gpu = deployment.model, deployment.cluster.gpu
    refused = quantisation.refused_at_config or quantisation.refused_at_load
    if refused is not None:
        raise CatalogError(
            subject=model.name,
            problem="has quantised weights that vLLM does not build",
            fix=refused,
        )
    if deployment.settings.lora and "mxfp4" in quantisation.method:
        raise CatalogError(
            subject="--enable-lora",
            problem=f"makes {model.name} take another kernel, whose padding is not modelled",
            fix="drop it, or ask for the unquantised twin with --as-bf16",
        )
    if gpu is not None and not gpu.architecture.isdigit():
        raise CatalogError(
            subject=model.name,
            problem=f"is quantised, which is not modelled on a {gpu.label}",
            fix="take an NVIDIA GPU, or ask for its unquantised twin with --as-bf16",
        )
