"""The most that one profiled step holds at once: T tokens through the model, S through the sampler.

T is `max_num_batched_tokens`, S `max_num_seqs`, h the hidden size, V the padded vocabulary, d the
bytes of the dtype. Kernels are fused, so a layer's peak counts the tensors that must exist.
"""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import DenseMlp, Experts, Mlp
from vllm_parallel.layout import Layout
from vllm_parallel.overhead.coefficients import Coefficients
from vllm_parallel.overhead.repacking import is_repacked
from vllm_parallel.shard import Shard
from vllm_parallel.term import Span
from vllm_parallel.units import ceil_div, round_up
from vllm_parallel.weight import VOCABULARY_MULTIPLE

FP32: Final = 4
INT32: Final = 4
LISTS: Final = (1024, 1024, 1024, 128, 1024, 129)  # allowed, biased, biases, stops, bad, offsets
GATED_TENSORS: Final = 3  # gate and up in one tensor, and their product
PLAIN_TENSORS: Final = 2  # up, and what the activation makes of it
RESIDUAL_TENSORS: Final = 4  # layer input, residual, their normed sum, the output


def sampler_peak(shard: Shard, known: Coefficients) -> Span:
    """What the last stage holds while tokens are drawn from S rows of logits; 0 elsewhere.

    Source: vllm/v1/worker/gpu/model_runner.py, _dummy_sampler_run (v0.32.0)
    """
    deployment = shard.deployment
    if not is_last(shard):
        return Span.exactly(0)
    model, rows = deployment.model, deployment.max_num_seqs
    vocab = round_up(model.vocab, VOCABULARY_MULTIPLE)
    logits = rows * vocab
    hidden = (deployment.max_num_batched_tokens + rows) * model.hidden * model.dtype.bytes
    held = hidden + known.logit_rows * vocab * FP32 + known.sampler_rest
    drawn = [
        logits * (model.dtype.bytes + FP32 * copies)
        for copies in (known.logit_copies.least, known.logit_copies.likely, known.logit_copies.most)
    ]
    gathered = held + gathered_logits(deployment.layout, logits * model.dtype.bytes)
    least, likely, most = (max(held + amount, gathered) for amount in drawn)
    return Span(least=least, likely=likely, most=most)


def sampler_state(shard: Shard) -> int:
    """What the last stage keeps for each of S sequences, whether or not a request asks for it.

    A count of every token, two masks of a bit a token, and lists of allowed and biased tokens with
    their biases, of stop tokens and of bad words.

    Source: vllm/v1/worker/gpu/sample/penalties.py, logit_bias.py, bad_words.py and
    vllm/v1/worker/gpu/structured_outputs.py (v0.32.0)
    """
    if not is_last(shard):
        return 0
    vocab = shard.deployment.model.vocab
    words = vocab + 2 * ceil_div(vocab, 32) + sum(LISTS)
    return shard.deployment.max_num_seqs * words * INT32


def gathered_logits(layout: Layout, logits_bytes: int) -> int:
    """A rank's own columns, all ranks' one after the other, and the same in order.

    Source: vllm/distributed/device_communicators/base_device_communicator.py, all_gather
    (v0.32.0)

    >>> gathered_logits(Layout(tp=4), 100), gathered_logits(Layout(), 100)
    (225, 100)
    """
    if layout.tp == 1:
        return logits_bytes
    return ceil_div(logits_bytes, layout.tp) + 2 * logits_bytes


def forward_peak(shard: Shard, known: Coefficients) -> int:
    """What a stage holds in its widest layer."""
    model = shard.deployment.built
    widest = max((_columns(model.kinds[kind].mlp, shard) for kind in shard.kinds), default=0)
    row = ceil_div(widest, shard.cut.tp) + RESIDUAL_TENSORS * model.hidden
    return shard.deployment.max_num_batched_tokens * row * model.dtype.bytes + known.forward_rest


def _columns(mlp: Mlp | None, shard: Shard) -> int:
    """Columns of the tensors that exist at once, over all ranks; routed experts have scratch."""
    match mlp:
        case DenseMlp():
            return mlp.intermediate * (GATED_TENSORS if mlp.gated else PLAIN_TENSORS)
        case Experts():
            copied = shard.cut.tp if shard.cut.copies_shared else 1
            return GATED_TENSORS * mlp.shared_intermediate * copied
        case None:
            return 0


def expert_scratch(shard: Shard) -> int:
    """Two buffers that all MoE layers share and keep: every token once for each of its experts.

    With data parallelism the tokens of all replicas arrive. Triton's mxfp4 kernels use none.

    Source: vllm/model_executor/layers/fused_moe/experts/triton_moe.py, workspace_shapes (v0.32.0)
    """
    deployment = shard.deployment
    if is_repacked(shard):
        return 0
    model, rows = deployment.built, deployment.max_num_batched_tokens * deployment.layout.dp
    return max(
        (
            rows * mlp.per_token * _scratch_row(mlp, shard) * model.dtype.bytes
            for mlp in (model.kinds[kind].mlp for kind in shard.kinds)
            if isinstance(mlp, Experts)
        ),
        default=0,
    )


def _scratch_row(mlp: Experts, shard: Shard) -> int:
    hidden = shard.deployment.model.hidden
    width = ceil_div(mlp.intermediate, shard.cut.expert_slices)
    return max(width, hidden) + max(2 * width, hidden)


def stage_buffers(shard: Shard) -> int:
    """Hidden states and residual between stages, for T tokens; one more on the first.

    Source: vllm/v1/worker/gpu/model_runner.py, load_model (v0.32.0)
    """
    deployment = shard.deployment
    if deployment.layout.pp == 1:
        return 0
    model = deployment.model
    tensors = 3 if shard.rank.pp == 0 else 2
    return tensors * deployment.max_num_batched_tokens * model.hidden * model.dtype.bytes


def is_last(shard: Shard) -> bool:
    """Whether a rank is of the last stage, where tokens are drawn."""
    return shard.rank.pp == shard.deployment.layout.pp - 1
