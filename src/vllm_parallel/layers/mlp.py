"""The weights of dense MLPs and of experts."""

from __future__ import annotations

from vllm_parallel.block import DenseMlp, Experts, Mlp
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import replace
from vllm_parallel.layers.storage import Storage
from vllm_parallel.weight import Part, Split, Weight, whole


def mlp_weights(mlp: Mlp, storage: Storage) -> list[Weight]:
    """The parameters of one layer's MLP."""
    match mlp:
        case DenseMlp():
            even = Split.EVEN if mlp.copied_uneven else Split.TENSOR
            split = Split.TOKENS if mlp.with_tokens else even
            width = Part(mlp.intermediate, 1, split, "columns of the MLP")
            return _feed_forward("mlp", mlp, width, storage)
        case Experts():
            return [*_router(mlp, storage), *_routed(mlp, storage), *_shared(mlp, storage)]


def _feed_forward(name: str, mlp: DenseMlp, width: Part, storage: Storage) -> list[Weight]:
    up, rows = ("gate_up_proj", (width, width)) if mlp.gated else ("up_proj", (width,))
    return [
        *storage.linear(f"{name}.{up}", rows, storage.across, bias=mlp.bias),
        *storage.linear(f"{name}.down_proj", storage.across, (width,), bias=mlp.bias),
    ]


def _latent(e: Experts, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/models/nemotron_h.py, NemotronHMoE (v0.32.0)."""
    if e.latent is None:
        return []
    narrow, across = whole(e.latent), storage.across
    return [
        *storage.linear("mlp.fc1_latent_proj", narrow, across, bias=e.latent_bias),
        *storage.linear("mlp.fc2_latent_proj", across, narrow, bias=e.latent_bias),
    ]


def _router(e: Experts, storage: Storage) -> list[Weight]:
    router = replace(storage, dtype=e.router_dtype or storage.dtype)
    weights = router.linear("mlp.gate", whole(e.count), storage.across, bias=e.bias)
    if e.correction_bias:
        name = "mlp.gate.e_score_correction_bias"
        weights.append(Weight(name, (whole(e.count),), Dtype.FLOAT32))
    return weights


def _routed(e: Experts, storage: Storage) -> list[Weight]:
    """All experts in two weights.

    Source: vllm/model_executor/layers/fused_moe/unquantized_fused_moe_method.py,
    create_weights (v0.32.0)
    """
    scheme = storage.scheme("mlp.experts")
    if scheme is not None:
        from vllm_parallel.layers.experts import expert_weights  # noqa: PLC0415  # as in storage

        return [*_latent(e, storage), *expert_weights(e, scheme, storage)]
    count = (Part(e.count, 1, Split.EXPERTS, "experts"),)
    width = Part(e.intermediate, 1, Split.EXPERT_WIDTH, "columns of an expert")
    across, dtype = whole(e.latent or storage.hidden), storage.dtype
    rows = (width, width) if e.gated else (width,)
    weights = [
        *_latent(e, storage),
        Weight("mlp.experts.w13_weight", (count, rows, across), dtype),
        Weight("mlp.experts.w2_weight", (count, across, (width,)), dtype),
    ]
    if e.bias:
        weights += [
            Weight("mlp.experts.w13_bias", (count, rows), dtype),
            Weight("mlp.experts.w2_bias", (count, across), dtype),
        ]
    return weights


def _shared(e: Experts, storage: Storage) -> list[Weight]:
    weights: list[Weight] = []
    if e.shared_intermediate:
        width = Part(e.shared_intermediate, 1, Split.SHARED, "columns of the shared experts")
        shared = DenseMlp(intermediate=e.shared_intermediate, gated=e.gated)
        weights += _feed_forward("mlp.shared_experts", shared, width, storage)
    if e.shared_gate:
        gate = ((Part(1),), storage.across)
        weights.append(Weight("mlp.shared_expert_gate.weight", gate, storage.dtype))
    return weights
