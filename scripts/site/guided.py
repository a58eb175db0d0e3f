"""The three layouts of the guide: Llama-3.1-70B on eight H100, as its commands launch them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from figure import Figure, assumed
from held import Held
from vllm_parallel import (
    Budget,
    Cluster,
    Deployment,
    Layout,
    Settings,
    load_gpu,
    load_model,
)
from vllm_parallel.block import rank_kv_heads
from vllm_parallel.ledger import budgets_on
from vllm_parallel.render.numbers import size, times
from vllm_parallel.render.tables import side_by_side
from vllm_parallel.term import RELEASE, Span

MODEL: Final = load_model("llama-3.1-70b")
GPU: Final = load_gpu("h100-80gb")
NODE: Final = Cluster(gpu=GPU, gpus_per_node=8)
SETTINGS: Final = Settings(
    max_model_len=8192,
    max_num_batched_tokens=8192,
    gpu_memory_utilization=0.90,
    prefix_caching=False,
)
RESTS: Final = f"the overhead, computed by parts; no launch of {RELEASE} stands behind it"
GPU_SEEN: Final = "public logs that the catalog of GPUs names"
SEQUENCES: Final = 128  # --max-num-seqs of the whole service
INPUT, OUTPUT = 2048, 256  # tokens of each request of the guide's load


class Guide(Held):
    """One layout of the guide: Llama-3.1-70B on eight H100."""

    __slots__ = ()

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budget of the first rank of each stage."""
        return budgets_on(self.deployment, GPU)

    @property
    def overhead(self) -> Span:
        """What the tightest rank takes beside its weights and before blocks."""
        return self.budget.ledger.overhead

    @property
    def kv_of_a_token(self) -> str:
        """KV of one token on a rank."""
        return size(self.cache.token_bytes)

    @property
    def kv_heads(self) -> int:
        """KV heads of a layer on a rank."""
        model, layout = self.deployment.model, self.deployment.layout
        return rank_kv_heads(model.kv_heads, layout.tp)

    @property
    def layers(self) -> int:
        """Layers on a rank of the first stage."""
        return self.cache.layers(0)

    @property
    def pool_tokens(self) -> Figure:
        """Tokens in one pool, to be quoted."""
        return assumed(self.tokens, RESTS)

    @property
    def service_tokens(self) -> int:
        """Tokens in all pools."""
        return self.capacity.tokens

    @property
    def engines(self) -> int:
        """Engines, each with a pool."""
        return self.deployment.layout.dp

    @property
    def total_layers(self) -> int:
        """Layers of the model."""
        return self.deployment.model.layers

    @property
    def sequences(self) -> int:
        """`--max-num-seqs` of an engine."""
        return SEQUENCES // self.engines

    @property
    def batch_tokens(self) -> int:
        """Tokens that all engines together may compute in a step."""
        return self.engines * self.deployment.max_num_batched_tokens

    @property
    def in_flight(self) -> int:
        """Batches that an engine keeps in flight."""
        return self.deployment.in_flight_tokens // self.deployment.max_num_batched_tokens

    @property
    def concurrency(self) -> str:
        """Full-length requests of a pool, as vLLM prints them."""
        return times(self.full_requests)


def guide(layout: Layout) -> Guide:
    """A layout of the guide, under its settings."""
    settings = replace(SETTINGS, max_num_seqs=SEQUENCES // layout.dp)
    deployment = Deployment(model=MODEL, layout=layout, settings=settings, cluster=NODE)
    return Guide(deployment=deployment)


tp8 = guide(Layout(tp=8))
tp4pp2 = guide(Layout(tp=4, pp=2))
tp4dp2 = guide(Layout(tp=4, dp=2))
guide_layouts = (tp8, tp4pp2, tp4dp2)


def three_ways(lead: str = "") -> str:
    """The three layouts side by side, as a table."""
    caption = f"{lead}Computed; italic figures rest on vLLM's own overhead, assumed: no GPU launch"
    return side_by_side(
        [one.deployment for one in guide_layouts],
        caption=f"{caption} of {RELEASE} stands behind it.",
    )
