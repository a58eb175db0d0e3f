"""The catalog's models and GPUs as tables, each figure computed from its entry."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

from vllm_parallel import Deployment, KvCache, Layout, Settings, gpu_names, load_gpu, load_model
from vllm_parallel.block import GroupedQueryAttention, LatentAttention
from vllm_parallel.catalog.hub import hub_names
from vllm_parallel.catalog.models import model_names
from vllm_parallel.catalog.sources import ModelSource, model_sources
from vllm_parallel.cluster import Gpu
from vllm_parallel.model import ModelConfig
from vllm_parallel.render.html import Cell, computed, table
from vllm_parallel.render.numbers import gib, whole
from vllm_parallel.shard import Shard

REQUEST = 32_768
HEAD = ("model", "weights", "KV of a request", "layers", "attention", "experts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What one rank without splitting would hold of a model, and of one request."""

    weight_bytes: int
    request_tokens: int
    request_bytes: int


@cache
def held(name: str) -> Held:
    """Bytes of a catalog model's weights and of one request of a usual length."""
    model = load_model(name)
    length = min(REQUEST, model.context.max_model_len)
    deployment = Deployment(model=model, layout=Layout(), settings=Settings(max_model_len=length))
    return Held(
        weight_bytes=Shard.of(deployment, 0).weight_bytes,
        request_tokens=length,
        request_bytes=KvCache.of(deployment).request_bytes(length),
    )


def models_table() -> str:
    """Every model: what it is made of, and what one rank without splitting would hold."""
    rows = [_model_row(name, load_model(name)) for name in model_names()]
    caption = (
        f"Weights of the whole model as vLLM holds them; KV of one request of {whole(REQUEST)} "
        "tokens, or of the longest that the model allows, at tp 1. Computed."
    )
    return table(HEAD, rows, caption=caption)


def model_sources_list() -> str:
    """Every model: its names on the hub, where its config was read, what it was held against."""
    sources = model_sources()
    return "\n".join(_source_line(name, sources[name]) for name in model_names())


def gpu_sources_list() -> str:
    """Every GPU: who saw its memory."""
    return "\n".join(f"- `{name}`: {load_gpu(name).source}." for name in gpu_names())


def gpus_table() -> str:
    """Every GPU: the memory that vLLM multiplies by the utilization, and who saw it."""
    rows = [_gpu_row(load_gpu(name)) for name in gpu_names()]
    head = ("name", "GPU", "capability", "vLLM sees", "nvidia-smi shows")
    return table(head, rows, caption="One figure for each GPU; drivers differ by some MiB.")


def _model_row(name: str, model: ModelConfig) -> list[Cell]:
    return [
        Cell(name, anchor=name),
        computed(gib(held(name).weight_bytes)),
        computed(gib(held(name).request_bytes)),
        computed(str(model.layers)),
        Cell(shape_of(model)),
        Cell(experts_of(model)),
    ]


def shape_of(model: ModelConfig) -> str:
    """Heads of each kind of attention, and how many layers see a window or mix instead."""
    counts = Counter(model.pattern)
    heads: dict[str, None] = {}
    others: Counter[str] = Counter()
    for kind, block in enumerate(model.kinds):
        match block.attention:
            case LatentAttention() as a:
                heads[f"latent {a.latent_dim}{', indexer' if a.indexer else ''}"] = None
            case GroupedQueryAttention() as a:
                heads[f"{a.heads}/{a.kv_heads} × {a.head_dim}"] = None
                if a.window or a.chunk:
                    others[f"see {whole(a.window or a.chunk or 0)}"] += counts[kind]
        if block.mixer is not None:
            others[f"mix by {type(block.mixer).__name__}"] += counts[kind]
    return "; ".join([*heads, *(f"{count} layers {what}" for what, count in others.items())])


def experts_of(model: ModelConfig) -> str:
    experts = model.experts
    if experts is None:
        return "none"
    shared = ", shared" if experts.shared_intermediate else ""
    return f"{experts.per_token} of {experts.count}{shared}"


def _source_line(name: str, source: ModelSource) -> str:
    checks = [source.check] if source.check else []
    if source.published:
        checks.append(f"{source.published.figure} parameters, {source.published.source}")
    names = ", ".join(hub_names().get(name, ()))
    held = f" Held against {'; '.join(checks)}." if checks else ""
    known = f" On the hub: {names}." if names else ""
    page = f"[`{name}`](../../models/{name}/)"
    return f"- {page}, {load_model(name).architecture}.{known} Read in {source.config}.{held}"


def _gpu_row(gpu: Gpu) -> list[Cell]:
    smi = "not written down" if gpu.smi_memory_bytes is None else gib(gpu.smi_memory_bytes)
    return [
        Cell(gpu.name, anchor=gpu.name),
        Cell(gpu.label),
        Cell(gpu.architecture),
        Cell(gib(gpu.runtime_memory_bytes), gpu.provenance),
        Cell(smi),
    ]
