"""The room that LoRA adapters take on a rank: two narrow matrices beside each linear layer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from vllm_parallel.block import Experts
from vllm_parallel.constraints.adapters import EMBEDDED
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass
from vllm_parallel.graph import ModelGraph, plain_twin
from vllm_parallel.model import ModelConfig
from vllm_parallel.shard import Shard
from vllm_parallel.units import exact_div, round_up
from vllm_parallel.weight import VOCABULARY_MULTIPLE, Cut, Layer, Part, Split, Weight, extent

ASKED: Final = (  # the other classes that vLLM was asked about
    "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen2MoeForCausalLM", "Glm4MoeForCausalLM",
    "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
    "GptOssForCausalLM", "GemmaForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM",
    "Qwen2_5_VLForConditionalGeneration", "Gemma3ForConditionalGeneration",
)  # fmt: skip
FUSED_EXPERTS: Final = ("GptOssForCausalLM",)  # gate and up share one first matrix
PACKED: Final = {  # what adapters call the parts of a layer that vLLM builds at once
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"),
}
ROUTERS: Final = {"GptOssForCausalLM": "router", "Llama4ForCausalLM": "router"}
NEVER: Final = "wk_weights_proj"  # the indexer's: no LoRA layer of vLLM takes its place
MATRIX: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Adapters:
    """The adapters that a rank holds room for, and how it cuts them.

    Source: vllm/lora/layers/base_linear.py, create_lora_weights (v0.32.0)
    """

    slots: int
    rank: int
    cut: Cut
    sharded: bool
    shared_outer: bool

    def linear(self, rows: tuple[Part, ...], columns: tuple[Part, ...]) -> int:
        """Elements beside a layer; matrices that are made at once have adapters of their own.

        >>> whole = (Part(512),)
        >>> one = Adapters(slots=1, rank=16, cut=Cut(), sharded=False, shared_outer=False)
        >>> one.linear(whole, whole)
        16384
        """
        into, out = extent(columns, self.cut), extent(rows, self.cut)
        narrow = self._shards(rows)
        return self.slots * (
            len(rows) * exact_div(self.rank, narrow, "rank of adapters") * into
            + self.rank * exact_div(out, self._shards(columns), "columns of an adapter")
        )

    def experts(self, experts: Experts, hidden: int, *, fused: bool) -> int:
        """Elements beside the experts of a layer.

        Source: vllm/lora/layers/fused_moe.py, FusedMoEWithLoRA (v0.32.0)
        """
        held = self.cut.experts(experts.count)
        outer = 1 if self.shared_outer else held
        width = exact_div(experts.intermediate, self.cut.expert_slices, "columns of an expert")
        shards = self.cut.expert_slices if self.sharded else 1
        first = (1 if fused and not self.shared_outer else 2) * outer
        return self.slots * (
            first * exact_div(self.rank, shards, "rank of adapters") * hidden
            + 2 * held * width * self.rank
            + held * self.rank * width
            + outer * exact_div(hidden, shards, "columns of an adapter") * self.rank
        )

    def _shards(self, parts: Iterable[Part]) -> int:
        widths = {self.cut.width(part.split) for part in parts if part.split is not Split.COPY}
        return max(widths, default=1) if self.sharded else 1


@lru_cache(maxsize=64)
def adapter_bytes(shard: Shard) -> int:
    """Bytes of the adapters' matrices on a rank, 0 without `--enable-lora`.

    Raises:
        CatalogError: of a family that vLLM was not asked about, or with flags that are not
            modelled beside adapters.
        UnevenSplitError: `--fully-sharded-loras` cannot split the rank.
    """
    deployment, settings = shard.deployment, shard.deployment.settings
    if not settings.lora:
        return 0
    refuse_unasked(deployment)
    adapters = Adapters(
        slots=settings.max_loras,
        rank=settings.max_lora_rank,
        cut=shard.cut,
        sharded=settings.fully_sharded_loras,
        shared_outer=settings.moe_shared_loras,
    )
    graph = ModelGraph.of(plain_twin(deployment.model))  # adapters are as wide as the layers
    elements = sum(
        count * _block(deployment, graph.kinds[kind], adapters, kind)
        for kind, count in shard.kinds.items()
    )
    elements += _ends(shard, adapters)
    dtype = deployment.model.dtype if settings.lora_dtype == "auto" else Dtype(settings.lora_dtype)
    return elements * dtype.bytes + _tables(shard)


def refuse_unasked(deployment: Deployment) -> None:
    """Refuse what the sums below would count wrongly."""
    model, targets = deployment.model, deployment.settings.lora_target_modules
    if model.architecture not in (*EMBEDDED, *ASKED):
        raise CatalogError(
            subject="--enable-lora",
            problem=f"is not modelled for a {model.architecture}",
            fix="drop it",
        )
    if deployment.predicts_with_mtp:
        raise CatalogError(
            subject="--enable-lora",
            problem="is not modelled beside an MTP module",
            fix="drop one of them",
        )
    if deployment.replicates_queries:
        raise CatalogError(
            subject="--enable-lora",
            problem="is not modelled beside --dcp-q-replicate",
            fix="drop one of them",
        )
    ends = {"embed_tokens", "lm_head"} & set(targets or ())
    if ends and model.architecture not in EMBEDDED:
        raise CatalogError(
            subject="--lora-target-modules",
            problem=f"names {min(ends)}, which is not modelled for a {model.architecture}",
            fix="leave it out",
        )


def _block(deployment: Deployment, layer: Layer, adapters: Adapters, kind: int) -> int:
    model = deployment.model
    elements = sum(
        adapters.linear(*_parts(weight))
        for weight in layer.weights
        if _is_linear(weight) and _targeted(deployment, _suffix(weight, model))
    )
    mlp = model.kinds[kind].mlp
    if isinstance(mlp, Experts) and _targeted(deployment, "experts"):
        fused = model.architecture in FUSED_EXPERTS and not deployment.settings.mixed_moe_loras
        elements += adapters.experts(mlp, model.hidden, fused=fused)
    return elements


def _ends(shard: Shard, adapters: Adapters) -> int:
    """Adapters of embedding and head, over the whole vocabulary on every rank.

    Source: vllm/lora/layers/vocab_parallel_embedding.py, logits_processor.py (v0.32.0)
    """
    model = shard.deployment.model
    width = adapters.slots * adapters.rank * (model.vocab + model.hidden)
    return width * (_holds(shard, "embed_tokens") + _holds(shard, "lm_head"))


def _tables(shard: Shard) -> int:
    """Flags of the slots for each layer of experts, and where a cut vocabulary lies."""
    deployment, table = shard.deployment, 0
    layers = sum(
        count
        for kind, count in shard.kinds.items()
        if isinstance(deployment.model.kinds[kind].mlp, Experts)
    )
    if shard.cut.tp > 1 and _holds(shard, "lm_head"):
        table = round_up(deployment.model.vocab, VOCABULARY_MULTIPLE) * Dtype.INT64.bytes
    flags = (deployment.settings.max_loras + 1) * Dtype.INT32.bytes
    return table + (layers * flags if _targeted(deployment, "experts") else 0)


def _holds(shard: Shard, name: str) -> bool:
    """Whether embedding or head is on the rank, and takes adapters."""
    model = shard.deployment.model
    if model.architecture not in EMBEDDED or not _targeted(shard.deployment, name):
        return False
    last = shard.rank.pp == shard.deployment.layout.pp - 1
    whole = model.traits.whole_ends
    if name == "lm_head":
        return last or whole
    return shard.rank.pp == 0 or whole or (last and model.tied)


def _is_linear(weight: Weight) -> bool:
    name = weight.name.removesuffix(".weight")
    matrix = len(weight.dimensions) == MATRIX and name != weight.name
    return matrix and not name.endswith(("norm", NEVER))


def _suffix(weight: Weight, model: ModelConfig) -> str:
    name = weight.name.removesuffix(".weight").rpartition(".")[2]
    return ROUTERS.get(model.architecture, name) if name == "gate" else name


def _targeted(deployment: Deployment, name: str) -> bool:
    """Whether a layer is among `--lora-target-modules`, by its own name or that of a part.

    Source: vllm/lora/utils.py, is_in_target_modules (v0.32.0)
    """
    targets = deployment.settings.lora_target_modules
    return targets is None or any(one in targets for one in (name, *PACKED.get(name, ())))


def _parts(weight: Weight) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    rows, columns = (
        tuple(part for part in dimension if isinstance(part, Part))
        for dimension in weight.dimensions
    )
    return rows, columns
