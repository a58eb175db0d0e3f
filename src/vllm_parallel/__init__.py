"""What each rank of a vLLM deployment holds, sends and waits for, computed before launch.

>>> from vllm_parallel import Deployment, Layout, Verdict, load_gpu, load_model
>>> from vllm_parallel import Cluster
>>> cluster = Cluster(gpu=load_gpu("h100-80gb"), gpus_per_node=8)
>>> model = load_model("llama-3.1-70b")
>>> verdict = Verdict.of(Deployment(model=model, layout=Layout(tp=8), cluster=cluster))
>>> verdict.accepted, verdict.capacity.pool.tokens
(True, 1350832)
"""

from __future__ import annotations

from vllm_parallel.catalog import gpu_names, load_gpu, load_model, model_names
from vllm_parallel.cluster import Cluster, Gpu
from vllm_parallel.constraints import RULES, check, require, violations
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import (
    CatalogError,
    LayoutError,
    ParseError,
    UnevenSplitError,
    VllmParallelError,
)
from vllm_parallel.kv import KvCache
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.ledger import Budget, Capacity, Ledger, Pool
from vllm_parallel.model import ModelConfig
from vllm_parallel.ranks import Group, Rank, all_groups
from vllm_parallel.settings import Settings
from vllm_parallel.shard import Shard
from vllm_parallel.verdict import Verdict
from vllm_parallel.version import __version__ as __version__  # no name of the list

__all__ = [
    "RULES",
    "Axis",
    "Budget",
    "Capacity",
    "CatalogError",
    "Cluster",
    "Deployment",
    "Gpu",
    "Group",
    "KvCache",
    "Layout",
    "LayoutError",
    "Ledger",
    "ModelConfig",
    "ParseError",
    "Pool",
    "Rank",
    "Settings",
    "Shard",
    "UnevenSplitError",
    "Verdict",
    "VllmParallelError",
    "all_groups",
    "check",
    "gpu_names",
    "load_gpu",
    "load_model",
    "model_names",
    "require",
    "violations",
]
