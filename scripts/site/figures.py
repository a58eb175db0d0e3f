"""The figures that sentences quote, by name: `{= tp8.weights =}` in a page.

Names are computed when a page first asks. A figure that is typed instead is a defect.
"""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import chapter_figures
from accuracy_tables import exact_cases, judged_rows
from claims import count
from counts import recorded
from group_tables import count as group_count
from rate_tables import provenance_counts, ridge_tokens
from speed_tables import judged_points, worst
from vllm_parallel import (
    RULES,
    Budget,
    Cluster,
    Deployment,
    KvCache,
    Layout,
    Ledger,
    Settings,
    Verdict,
    gpu_names,
    load_gpu,
    load_model,
    model_names,
)
from vllm_parallel.catalog.rates import pinned_factors
from vllm_parallel.constraints import Known
from vllm_parallel.layouts import CONCURRENCY, CONTEXT
from vllm_parallel.ledger import stage_shards
from vllm_parallel.overhead.rounding import UNIT as ALLOCATOR_BLOCK
from vllm_parallel.render.numbers import gib, size, to
from vllm_parallel.term import RELEASE, Span
from vllm_parallel.units import GIB
from vllm_parallel.verdict import MEMORY_RULES
from vllm_parallel.weight import VOCABULARY_MULTIPLE

ROOT: Final = Path(__file__).resolve().parents[2]
MODEL: Final = load_model("llama-3.1-70b")
GPU: Final = load_gpu("h100-80gb")
NODE: Final = Cluster(gpu=GPU, gpus_per_node=8)
SETTINGS: Final = Settings(
    max_model_len=8192,
    max_num_batched_tokens=8192,
    gpu_memory_utilization=0.90,
    prefix_caching=False,
)
SPREAD: Final = 0.20  # a price of this release may be off by so much, either way


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """One layout of the guide: Llama-3.1-70B on eight H100."""

    deployment: Deployment

    @property
    def verdict(self) -> Verdict:
        """Accepted, with its capacity."""
        return Verdict.of(self.deployment)

    @property
    def budget(self) -> Budget:
        """The budget of the rank with least left."""
        shards = stage_shards(self.deployment)
        budgets = [Budget.of(Ledger.of(shard), GPU) for shard in shards]
        return min(budgets, key=lambda budget: budget.available_kv_bytes)

    @property
    def overhead(self) -> Span:
        """What the tightest rank takes beside its weights and before blocks."""
        return self.budget.ledger.overhead

    @property
    def overhead_likely(self) -> str:
        """The likely overhead."""
        return gib(self.overhead.likely)

    @property
    def weights(self) -> str:
        """Weights of a rank."""
        return gib(self.budget.ledger.terms[0].bytes)

    @property
    def cache(self) -> KvCache:
        """The cache of an engine."""
        return KvCache.of(self.deployment)

    @property
    def kv_of_a_token(self) -> str:
        """KV of one token on a rank."""
        return size(self.cache.block_bytes(0) // self.cache.block_size)

    @property
    def kv_heads(self) -> int:
        """KV heads of a layer on a rank."""
        model, layout = self.deployment.model, self.deployment.layout
        return max(1, model.kv_heads // layout.tp)

    @property
    def layers(self) -> int:
        """Layers on a rank of the first stage."""
        return self.cache.layers(0)

    @property
    def pool_tokens(self) -> int:
        """Tokens in one pool."""
        capacity = self.verdict.capacity
        return 0 if capacity is None else capacity.pool.tokens

    @property
    def service_tokens(self) -> int:
        """Tokens in all pools."""
        capacity = self.verdict.capacity
        return 0 if capacity is None else capacity.tokens


def guide(layout: Layout) -> Guide:
    """A layout of the guide, under its settings."""
    deployment = Deployment(model=MODEL, layout=layout, settings=SETTINGS, cluster=NODE)
    return Guide(deployment=deployment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What the source text's own arithmetic gives for a layout."""

    tokens: int

    @property
    def block_tokens(self) -> int:
        """The same in whole blocks of 16."""
        return self.tokens // 16 * 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """How much is held against the engine, counted in the recorded answers."""

    verdicts: int
    builds: int
    groups: int
    buffers: int
    rules: int
    rules_recorded: int
    models: int
    architectures: int
    gpus: int
    collectives: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """The step that the page of collectives shows."""

    requests: int = 64
    dcp: int = 8
    width: int = MODEL.dtype.bytes


tp8 = guide(Layout(tp=8))
tp4pp2 = guide(Layout(tp=4, pp=2))
tp4dp2 = guide(Layout(tp=4, dp=2))
guide_layouts = (tp8, tp4pp2, tp4dp2)

estimate = runpy.run_path(str(ROOT / "snippets" / "guide" / "source_estimate.py"))
source_tp8 = Source(tokens=estimate["tokens_per_pool"](8, 1))
source_tp4pp2 = Source(tokens=estimate["tokens_per_pool"](4, 2))
source_tp4dp2 = Source(tokens=estimate["tokens_per_pool"](4, 1))

ARCHITECTURES: Final = {load_model(name).architecture for name in model_names()}
known = [rule.known for rule in RULES] + [rule.known for rule in MEMORY_RULES]
verified = Verified(
    verdicts=recorded("verdicts"),
    builds=recorded("builds"),
    groups=recorded("groups"),
    buffers=recorded("deployed-buffers"),
    rules=len(known),
    rules_recorded=known.count(Known.RECORDED),
    models=len(model_names()),
    architectures=len(ARCHITECTURES),
    gpus=len(gpu_names()),
    collectives=recorded("collectives"),
)
release = RELEASE
step = ShownStep()
settings = SETTINGS
vocabulary_multiple = VOCABULARY_MULTIPLE
claim_count = count()
allocator_block = size(ALLOCATOR_BLOCK)
overhead = gib(tp8.overhead.likely, 1)
overhead_range = to(*(gib(end, 1) for end in (tp8.overhead.least, tp8.overhead.most)))
standing = f"computed, no {'.'.join(RELEASE.split('.')[:2])} GPU launch behind it"
source_overhead = estimate["OVERHEAD_GIB"]
runtime_memory = gib(GPU.runtime_memory_bytes)
smi_memory = gib(GPU.smi_memory_bytes or 0)
weights_apart = size(
    tp8.budget.ledger.terms[0].bytes - tp4pp2.budget.ledger.terms[0].bytes,
)
norms = size(MODEL.hidden * MODEL.dtype.bytes)
norm_count = 2 * MODEL.layers + 1
dp_share = 1 - tp4dp2.service_tokens / tp8.service_tokens
extra_weights = gib(tp4dp2.budget.ledger.terms[0].bytes - tp8.budget.ledger.terms[0].bytes)
source_total = estimate["GPU_GIB"]
source_weights = gib(round(estimate["WEIGHT_GIB"] * GIB))
accuracy_judged = judged_rows()
cases_exact = exact_cases()
speed_judged = judged_points()
speed_worst = f"{worst().point.id}, {worst().error:+.0%}"
pin_count = len(pinned_factors())
price_spread = f"±{SPREAD:.0%}"
price_stages = tp4pp2.deployment.layout.pp
price_ridge = ridge_tokens(GPU.name)
rate_counts = provenance_counts()
search_load = f"{CONCURRENCY} requests of {CONTEXT} tokens"
group_layouts = group_count()
chapter = chapter_figures
