"""What the answers of the self-check need beyond the guide's own figures."""

from __future__ import annotations

from typing import Final

from figure import assumed
from guided import GPU, RESTS, SEQUENCES, SETTINGS, guide, tp8
from vllm_parallel import Layout, load_model
from vllm_parallel.constraints import admitted
from vllm_parallel.layout import Axis
from vllm_parallel.ledger import Budget
from vllm_parallel.render.markdown import table
from vllm_parallel.render.numbers import gib

MODELS: Final = (  # name, tp
    ("llama-3.1-70b", 8),
    ("llama-3.1-70b", 16),
    ("qwen3-235b-a22b", 8),
    ("qwen3-32b", 8),
    ("deepseek-r1", 8),
    ("kimi-k2", 16),
)


def _budget() -> Budget:
    return guide(Layout(tp=8)).budget


sequences = SEQUENCES
sequences_dp2 = SEQUENCES // 2
usable = gib(_budget().requested_bytes)
left = assumed(gib(_budget().available_kv_bytes), RESTS)
used = assumed(gib(_budget().ledger.used_bytes - _budget().ledger.terms[0].bytes), RESTS)
utilization = SETTINGS.gpu_memory_utilization
total = gib(GPU.runtime_memory_bytes)
blocks = assumed(0 if tp8.verdict.capacity is None else tp8.verdict.capacity.pool.num_blocks, RESTS)


def dcp_widths() -> str:
    """Models and tp, their KV heads, and the dcp above 1 that vLLM takes."""
    rows = []
    for name, tp in MODELS:
        model = load_model(name, as_bf16=True)
        widths = admitted(model, Axis.DCP, beside=Layout(tp=tp), up_to=tp)[1:]
        copies = max(1, tp // model.kv_heads)
        found = ", ".join(map(str, widths)) or "none"
        heads = f"{model.kv_heads} (latent)" if model.is_latent else str(model.kv_heads)
        rows.append((name, str(tp), heads, str(copies), found))
    head = ("model", "tp", "KV heads", "copies", "dcp above 1")
    return table(head, rows, right=(1, 2, 3))
