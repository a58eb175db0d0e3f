"""The figures that sentences quote, by name: `{= tp8.weights =}` in a page.

Names are computed when a page first asks. A figure that is typed instead is a defect.
"""

from __future__ import annotations

import importlib
import runpy
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

import chapter_figures
import launch_figures
from accuracy_tables import exact_cases, judged_rows
from claims import count
from counts import recorded
from coverage_tables import count as item_count
from figure import assumed, measured
from group_tables import count as group_count
from guided import GPU, GPU_SEEN, MODEL, RESTS, SETTINGS, tp4dp2, tp4pp2, tp8
from rate_tables import provenance_counts, ridge_tokens
from speed_tables import judged_points, worst
from vllm_parallel import (
    RULES,
    gpu_names,
    load_model,
    model_names,
)
from vllm_parallel.catalog.rates import pinned_factors
from vllm_parallel.constraints import Known
from vllm_parallel.layouts import CONCURRENCY, CONTEXT
from vllm_parallel.overhead import CURRENT
from vllm_parallel.overhead.allocator import UNIT as ALLOCATOR_BLOCK
from vllm_parallel.render.numbers import gib, size, to
from vllm_parallel.term import RELEASE
from vllm_parallel.units import GIB
from vllm_parallel.verdict import MEMORY_RULES
from vllm_parallel.weight import VOCABULARY_MULTIPLE

ROOT: Final = Path(__file__).resolve().parents[2]
SPREAD: Final = 0.20  # a price of this release may be off by so much, either way


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


estimate = runpy.run_path(str(ROOT / "snippets" / "guide" / "estimate.py"))
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
model = MODEL
step = ShownStep()
settings = SETTINGS
vocabulary_multiple = VOCABULARY_MULTIPLE
claim_count = count()
coverage_items = item_count()
allocator_block = size(ALLOCATOR_BLOCK)
overhead = assumed(gib(tp8.overhead.likely, 1), RESTS)
overhead_range = assumed(
    to(*(gib(end, 1) for end in (tp8.overhead.least, tp8.overhead.most))), RESTS
)
standing = CURRENT.standing
source_overhead = estimate["OVERHEAD_GIB"]
runtime_memory = measured(gib(GPU.runtime_memory_bytes), GPU_SEEN)
smi_memory = measured(gib(GPU.smi_memory_bytes or 0), GPU_SEEN)
weights_apart = size(
    tp8.budget.ledger.terms[0].bytes - tp4pp2.budget.ledger.terms[0].bytes,
)
norms = size(MODEL.hidden * MODEL.dtype.bytes)
norm_count = 2 * MODEL.layers + 1
dp_share = assumed(1 - tp4dp2.service_tokens / tp8.service_tokens, RESTS)
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
launch = launch_figures

NEIGHBOURS: Final = (
    "bench_load",
    "choosing",
    "dcp",
    "evidence_figures",
    "prices",
    "replica_figures",
    "self_check",
    "verdict_tables",
)


def __getattr__(name: str) -> ModuleType:
    """A neighbour, when a page first asks: `{= dcp.gain =}`."""
    if name not in NEIGHBOURS:
        raise AttributeError(f"no figure and no neighbour is called {name}")
    return importlib.import_module(name)
