"""Rules of a model against a layout, in the order in which vLLM tests them."""

from __future__ import annotations

from functools import partial
from typing import Final

from vllm_parallel.block import GroupedQueryAttention
from vllm_parallel.constraints.constraint import (
    Constraint,
    Known,
    RuleRow,
    config_rule,
    divisors,
)
from vllm_parallel.deployment import Deployment

SOURCE: Final = "vllm/config/model.py, verify_with_parallel_config"


def asks_dcp(d: Deployment) -> bool:
    """DCP on a model whose KV heads limit it; latent attention has no such limit."""
    return d.layout.dcp > 1 and d.model.kv_heads > 0 and not d.model.is_latent


def queries_per_kv_head(d: Deployment) -> int:
    """Query heads that share a KV head, 0 for latent attention."""
    attention = next(iter(d.model.attentions), None)
    if not isinstance(attention, GroupedQueryAttention):
        return 0
    return attention.queries_per_kv_head


def dcp_options(d: Deployment) -> list[int]:
    """Every dcp that this model and tp admit without PCP."""
    most = d.layout.tp // d.model.kv_heads
    queries = queries_per_kv_head(d)
    return [dcp for dcp in divisors(d.layout.tp) if dcp <= max(most, 1) and queries % dcp == 0]


model_rule: RuleRow = partial(config_rule, source=SOURCE)

MODEL_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    model_rule(
        name="mixers-need-chunks",
        broken=lambda d: d.model.is_hybrid and d.prefix_caching and not d.settings.chunked_prefill,
        says="Chunked prefill is required for mamba cache mode 'align'.",
        fix="drop --no-enable-chunked-prefill, or add --no-enable-prefix-caching",
        source="vllm/model_executor/models/config.py, MambaModelConfig",
        known=Known.RAISED,
    ),
    model_rule(
        name="heads-divide-by-tp",
        broken=lambda d: d.model.heads % d.layout.tp != 0,
        says="Total number of attention heads ({model.heads}) must be divisible by tensor "
        "parallel size ({layout.tp}).",
        options=lambda d: divisors(d.model.heads),
        fix="use a --tensor-parallel-size of {options}",
        known=Known.RECORDED,
    ),
    model_rule(
        name="ep-needs-experts",
        broken=lambda d: d.layout.expert_parallel and not d.model.is_moe,
        says="Number of experts in the model must be greater than 0 when expert parallelism is "
        "enabled.",
        fix="drop --enable-expert-parallel: {model.name} is dense",
        source="vllm/config/model.py, _verify_with_expert_parallelism",
        known=Known.RECORDED,
    ),
    model_rule(
        name="pp-supported",
        broken=lambda d: d.layout.pp > 1 and not d.model.traits.pipeline,
        says="Pipeline parallelism is not supported for this model. Supported models implement "
        "the `SupportsPP` interface.",
        fix="use --pipeline-parallel-size 1",
        known=Known.RAISED,
    ),
    model_rule(
        name="dcp-needs-tp-above-kv-heads",
        broken=lambda d: asks_dcp(d) and d.layout.tp <= d.model.kv_heads,
        says="Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` "
        "({layout.tp}) to be greater than the model's total number of KV heads "
        "({model.kv_heads}). Increase `--tensor-parallel-size` or set "
        "`--decode-context-parallel-size 1`.",
        fix="drop --decode-context-parallel-size: no KV head is held twice at tp={layout.tp}",
        known=Known.RECORDED,
    ),
    model_rule(
        name="dcp-needs-kv-heads",
        broken=lambda d: d.layout.dcp > 1 and d.model.kv_heads == 0,
        says="integer division or modulo by zero",
        fix="drop --decode-context-parallel-size: {model.name} has no attention",
        known=Known.RAISED,
    ),
    model_rule(
        name="dcp-at-most-copies",
        broken=lambda d: asks_dcp(d) and d.layout.dcp > d.layout.tp // d.model.kv_heads,
        says="`--decode-context-parallel-size` ({layout.dcp}) exceeds the maximum supported value "
        "({options}) for `--tensor-parallel-size` ({layout.tp}) and {model.kv_heads} model KV "
        "heads.",
        options=lambda d: d.layout.tp // d.model.kv_heads,
        fix="use a --decode-context-parallel-size of at most {options}",
        known=Known.RECORDED,
    ),
    model_rule(
        name="queries-divide-by-dcp",
        broken=lambda d: asks_dcp(d) and queries_per_kv_head(d) % d.layout.dcp != 0,
        says="The model's number of query heads per KV head ({model.attention.queries_per_kv_head}"
        ") must be divisible by `--decode-context-parallel-size` ({layout.dcp}) for GQA/MQA.",
        options=dcp_options,
        fix="use a --decode-context-parallel-size of {options}",
        known=Known.RECORDED,
    ),
)
