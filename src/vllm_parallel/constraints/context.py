"""Rules of context parallelism that workers meet: attention, windows, PCP's runner, interleave."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from vllm_parallel.constraints.caches import smallest_block
from vllm_parallel.constraints.constraint import Constraint, Known, RuleRow, Test, load_rule
from vllm_parallel.deployment import Deployment

PCP_MANAGER: Final = "vllm/v1/worker/gpu/pcp_manager.py, PCPManager.validate_config"


def interleave(d: Deployment) -> int:
    """Neighbouring tokens that stay on one DCP rank.

    The older `--dcp-kv-cache-interleave-size` takes over only on workers with a KV connector,
    after the check.
    """
    given = d.settings.context.interleave
    return 1 if given is None else given


def deals_blocks(d: Deployment) -> bool:
    """Whether block and interleave are compared; NIXL aligns them by itself."""
    return d.layout.dcp > 1 and d.settings.kv_connector != "NixlConnector"


def interleave_cuts_block(d: Deployment) -> bool:
    """Whether a block is no multiple of the interleave; negative divisors pass in vLLM."""
    size = interleave(d)
    if not deals_blocks(d) or size == 0:
        return False
    block = smallest_block(d)
    return size > block or block % size != 0


class BlockAndInterleave(NamedTuple):
    """The two numbers that have to divide."""

    block_size: int
    interleave: int


def with_pcp(test: Test) -> Test:
    """A test that only prefill-context parallelism brings."""
    return lambda d: d.layout.pcp > 1 and test(d)


pcp_rule: RuleRow = partial(load_rule, known=Known.READ, source=PCP_MANAGER)

PCP_BACKEND_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="pcp-attention-backend",
        broken=lambda d: d.layout.pcp > 1 and not d.model.is_latent,
        says="No valid attention backend found for cuda: PCP not supported",
        fix="use --prefill-context-parallel-size 1: {model.name} has no latent attention",
        source="vllm/platforms/cuda.py, get_attn_backend_cls",
        known=Known.RECORDED,
        bare=True,
    ),
)

BOTH_CONTEXT_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="mla-pcp-with-dcp",
        broken=lambda d: (
            d.layout.pcp > 1
            and d.layout.dcp > 1
            and d.model.is_latent
            and not d.model.traits.sparse_attention
        ),
        says="MLAAttention does not support PCP+DCP.",
        fix="use either -pcp or -dcp: both together need sparse attention",
        source="vllm/model_executor/layers/attention/mla_attention.py, MLAAttention",
        known=Known.RECORDED,
    ),
)

WINDOW_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="dcp-without-windows",
        broken=lambda d: (
            d.layout.dcp > 1
            and d.model.has_windows
            and not d.settings.caches.disable_hybrid_kv_cache_manager
        ),
        says="DCP not support sliding window.",
        fix="use --decode-context-parallel-size 1: {model.name} has windowed layers",
        source="vllm/v1/kv_cache_interface.py, SlidingWindowSpec",
        known=Known.RECORDED,
        bare=True,
    ),
)

PCP_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    pcp_rule(
        name="pcp-without-towers",
        broken=with_pcp(lambda d: bool(d.towers)),
        says="MRV2 PCP does not support MM inputs yet.",
        fix="add --language-model-only",
    ),
    pcp_rule(
        name="pcp-without-lora",
        broken=with_pcp(lambda d: d.settings.lora),
        says="MRV2 PCP does not support LoRA yet.",
        fix="drop --enable-lora",
    ),
    pcp_rule(
        name="pcp-speculative-method",
        broken=with_pcp(lambda d: d.settings.speculative_method not in (None, "mtp", "dspark")),
        says="MRV2 PCP only supports DSpark or single-module MTP speculative decoding.",
        fix="drop --speculative-config, or use its mtp method",
    ),
    pcp_rule(
        name="pcp-cuda-graphs",
        broken=with_pcp(
            lambda d: (
                d.model.traits.sparse_attention
                and d.layout.dcp == 1
                and not d.settings.enforce_eager
            )
        ),
        says="MRV2 sparse MLA PCP does not support CUDA graphs yet. Set -cc.cudagraph_mode=NONE.",
        fix="add --enforce-eager, or give -dcp the width of -pcp",
    ),
    pcp_rule(
        name="pcp-dcp-backend",
        broken=with_pcp(lambda d: d.layout.dcp > 1 and d.dcp_comm_backend != "ag_rs"),
        says="MRV2 PCP + DCP requires dcp_comm_backend='ag_rs'; got '{options}'.",
        options=lambda d: d.dcp_comm_backend,
        fix="use --dcp-comm-backend ag_rs",
    ),
)

INTERLEAVE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    load_rule(
        name="interleave-not-zero",
        broken=lambda d: deals_blocks(d) and interleave(d) == 0,
        says="integer modulo by zero",
        fix="use a --cp-kv-cache-interleave-size of at least 1",
        source="vllm/config/vllm.py, validate_block_size",
        known=Known.RECORDED,
    ),
    load_rule(
        name="interleave-divides-block",
        broken=interleave_cuts_block,
        says="Block_size({options.block_size}) should be greater than or equal to and divisible "
        "by cp_kv_cache_interleave_size ({options.interleave}).",
        options=lambda d: BlockAndInterleave(smallest_block(d), interleave(d)),
        fix="use a --cp-kv-cache-interleave-size that divides the block of {options.block_size}",
        source="vllm/config/vllm.py, validate_block_size",
        known=Known.RECORDED,
    ),
)
