"""What the ends of the model and of its stages exchange."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from vllm_parallel.collectives.call import Caller
from vllm_parallel.collectives.collective import Collective, Device, Kind
from vllm_parallel.dtype import Dtype
from vllm_parallel.layout import Axis
from vllm_parallel.units import round_up
from vllm_parallel.weight import VOCABULARY_MULTIPLE

SYNCHRONISED: Final = 6  # numbers that every engine tells the others before a step


def before_layers(caller: Caller) -> Iterator[Collective]:
    """The engines' synchronisation, and what brings in the hidden states.

    Source: vllm/v1/worker/gpu/dp_utils.py; vllm/model_executor/layers/vocab_parallel_embedding.py,
    VocabParallelEmbedding.forward; vllm/distributed/parallel_state.py, irecv_tensor_dict (v0.32.0)
    """
    layout = caller.deployment.layout
    if caller.deployment.model.is_moe:
        yield Collective(
            group=Axis.DP,
            kind=Kind.ALL_REDUCE,
            shape=(SYNCHRONISED, layout.dp),
            dtype=Dtype.INT32,
            where="tokens of every engine",
            device=Device.CPU,
        )
    if caller.is_first:
        yield caller.tp_reduce("embedding")
        return
    for name in _between_stages(caller):
        yield caller.call(Axis.PP, Kind.RECV, _slice(caller), name)
        if _is_sliced(caller):
            yield caller.call(Axis.TP, Kind.ALL_GATHER, _slice(caller), name)


def after_layers(caller: Caller) -> Iterator[Collective]:
    """What sends the hidden states on, or gathers them and their logits.

    Source: vllm/distributed/parallel_state.py, isend_tensor_dict;
    vllm/v1/worker/gpu/pcp_manager.py, restore_hidden_states;
    vllm/model_executor/layers/logits_processor.py; vllm/v1/worker/gpu/pp_utils.py (v0.32.0)
    """
    model, layout = caller.deployment.model, caller.deployment.layout
    sampled = caller.batch.sampled
    if caller.is_last:
        yield caller.call(Axis.PCP, Kind.ALL_GATHER, caller.hidden_shape, "before sampling")
        columns = round_up(model.vocab, VOCABULARY_MULTIPLE) // layout.tp
        yield caller.call(Axis.TP, Kind.ALL_GATHER, (sampled, columns), "logits")
    else:
        for name in _between_stages(caller):
            yield caller.call(Axis.PP, Kind.SEND, _slice(caller), name)
    tokens = "sampled tokens"
    yield caller.call(Axis.PP, Kind.BROADCAST, (sampled, 1), tokens).typed(Dtype.INT64)
    yield caller.call(Axis.PP, Kind.BROADCAST, (2, sampled), tokens).typed(Dtype.INT32)


def _between_stages(caller: Caller) -> tuple[str, ...]:
    carries = caller.deployment.model.traits.carries_residual
    return ("hidden states", "residual") if carries else ("hidden states",)


def _is_sliced(caller: Caller) -> bool:
    """Whether a TP rank sends a slice of the tensor, which the receiving stage gathers."""
    return prod(caller.hidden_shape) % caller.deployment.layout.tp == 0


def _slice(caller: Caller) -> tuple[int, ...]:
    if not _is_sliced(caller):
        return caller.hidden_shape
    return (prod(caller.hidden_shape) // caller.deployment.layout.tp,)
