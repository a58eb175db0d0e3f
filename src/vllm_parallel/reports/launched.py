"""The deployment that a log is of: from the options of the call, else from the log's own lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vllm_parallel.catalog import load_gpu, model_source
from vllm_parallel.catalog.gpus import gpu_names
from vllm_parallel.constraints import require
from vllm_parallel.deployment import Deployment
from vllm_parallel.engine.log import ServeLog
from vllm_parallel.engine.options import options
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass
from vllm_parallel.question import Question
from vllm_parallel.units import GIB

CHOSEN: Final = {
    "tensor_parallel_size": "tensor_parallel_size",
    "pipeline_parallel_size": "pipeline_parallel_size",
    "data_parallel_size": "data_parallel_size",
    "decode_context_parallel_size": "decode_context_parallel_size",
    "max_model_len": "max_seq_len",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "max_num_seqs": "max_num_seqs",
}
NEAR_GIB: Final = 0.02
CPU_BLOCK: Final = 128
# Options of a launch that size nothing; a log repeats them.
ASIDE: Final = (
    "model",
    "model_tag",
    "tokenizer",
    "host",
    "port",
    "served_model_name",
    "load_format",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What the call says of the deployment; all of it may be left to the log."""

    model: str | None = None
    gpu: str | None = None
    as_bf16: bool | None = None
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A deployment, the model's word, and how the GPU is known."""

    deployment: Deployment
    model: str
    gpu_words: str

    @classmethod
    def of(cls, log: ServeLog, meant: Meant, folder: Path) -> Launched | None:
        """The deployment to estimate; None where nobody names a model that is known.

        The model is the call's, else the log's if the catalog has it, else that of a `config.json`
        in the folder of the log.

        Raises:
            VllmParallelError: it cannot be read, or vLLM refuses it.
        """
        named = _source(log, meant, folder)
        if named is None:
            return None
        word, source = named
        args = dict(meant.args) if meant.args else log_args(log)
        if log.engines and log.engines[0].device == "CPU":
            args.setdefault("block_size", CPU_BLOCK)
        gpu, words = _gpu(log, meant)
        question = {"model": source, "args": args, "gpu": gpu, "as_bf16": meant.as_bf16}
        asked = Question.of({key: value for key, value in question.items() if value})
        require(asked.deployment)
        return cls(deployment=asked.deployment, model=word, gpu_words=words)


def _source(log: ServeLog, meant: Meant, folder: Path) -> tuple[str, str] | None:
    """The model's word, and what the catalog takes for it."""
    if meant.model is not None:
        return meant.model, model_source(meant.model)
    word, beside = log.asked.model, folder / "config.json"
    try:
        return None if word is None else (word, model_source(word))
    except CatalogError:
        return (str(beside), str(beside)) if beside.is_file() else None


def why_not(log: ServeLog, meant: Meant) -> str:
    """Why there is no estimate beside the log, and the way out."""
    word = meant.model or log.asked.model
    if word is None:
        return "no estimate: the log names no model; give one with --model"
    return f"no estimate: the model {word} is not in the catalog; name its config with --model"


def log_args(log: ServeLog) -> dict[str, object]:
    """The options that the log itself prints, as far as vLLM 0.32.0 has them.

    What was not given is taken from lines that say what the engine chose: defaults of releases
    differ.
    """
    known = options()
    given = {
        name: value
        for name, value in log.asked.args.items()
        if name in known and name not in ASIDE and value is not None
    }
    return {**_chosen(log), **given}


def _chosen(log: ServeLog) -> dict[str, object]:
    """Settings that lines of the engine tell."""
    config = log.asked.config
    found: dict[str, object] = {
        name: int(config[key])
        for name, key in CHOSEN.items()
        if re.fullmatch(r"\d{1,9}", config.get(key, ""))
    }
    if config.get("enforce_eager") == "True":
        found["enforce_eager"] = True
    if config.get("enable_prefix_caching") in ("True", "False"):
        found["enable_prefix_caching"] = config["enable_prefix_caching"] == "True"
    for worker in log.workers[:1]:
        if worker.budget_gib and worker.total_gib:
            found["gpu_memory_utilization"] = round(worker.budget_gib / worker.total_gib, 2)
    return found


def _gpu(log: ServeLog, meant: Meant) -> tuple[str | None, str]:
    """The catalog's GPU, as it was named or by the memory that workers print."""
    if meant.gpu is not None:
        return meant.gpu, load_gpu(meant.gpu).label
    totals = [worker.total_gib for worker in log.workers if worker.total_gib]
    if not totals:
        on_cpu = any(pool.device == "CPU" for pool in log.engines)
        return None, "on the CPU" if on_cpu else "no GPU given"
    near = [
        name
        for name in gpu_names()
        if abs(load_gpu(name).runtime_memory_bytes / GIB - totals[0]) <= NEAR_GIB
    ]
    if not near:
        return None, f"a GPU of {totals[0]:g} GiB"
    return near[0], f"{load_gpu(near[0]).label}, by its {totals[0]:g} GiB"
